"""How many samples a second wick data bench and PyTorch's DataLoader make of the same files, in turn, each at its best of 0, 1 and 2 workers, and how much memory they hold; and, which other
programs disturb less, how many a second of CPU time without workers.

    python bench/loaders.py WICK MNIST PICTURES RECORDINGS  # the command; a folder of MNIST's IDX files; a folder CLASS/NAME.jpg of 32 x 32; a folder of WAVs of 8 kHz, 16 bits, one channel. ONLY=WORD takes the rows that have it in their names

Needs torch and Pillow (2.13.0 and 12 for the figures of docs/data.md). PyTorch's side decodes by Pillow, whose libjpeg-turbo is its own, and does the rest on tensors without torchvision's checks,
which would only cost it time.
"""
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time
import wave

import numpy as np
import PIL.Image
import torch

wick, mnist, pictures, recordings = sys.argv[1:5]
SECONDS, ROUNDS, BATCH = float(os.environ.get("SECONDS_EACH", 2)), int(os.environ.get("ROUNDS", 3)), 64
WORKERS = (0, 1, 2)


def images(name):
    raw = gzip.open(next(pathlib.Path(mnist).glob(name + "*"))).read()
    return torch.frombuffer(bytearray(raw[16 if "images" in name else 8:]), dtype=torch.uint8)


X = images("train-images").reshape(-1, 28, 28)
Y = images("train-labels").long()
F = X.float() / 255


class Arrays(torch.utils.data.Dataset):
    """Rows of an array of floats: what the loader itself costs."""
    def __len__(self): return len(F)
    def __getitem__(self, i): return F[i], Y[i]


class Bytes(torch.utils.data.Dataset):
    """Bytes to normalised floats."""
    def __len__(self): return len(X)
    def __getitem__(self, i): return (X[i].float() / 255 - 0.1307) / 0.3081, Y[i]


class Files(torch.utils.data.Dataset):
    """JPEG, random crop of a padded picture, flip, normalise."""
    def __init__(self):
        self.files = sorted(str(p) for p in pathlib.Path(pictures).glob("*/*.jpg"))
        classes = sorted({pathlib.Path(f).parent.name for f in self.files})
        self.labels = [classes.index(pathlib.Path(f).parent.name) for f in self.files]
    def __len__(self): return len(self.files)
    def __getitem__(self, i):
        x = torch.from_numpy(np.array(PIL.Image.open(self.files[i]).convert("RGB"))).permute(2, 0, 1)
        drawn = torch.randint(9 * 9 * 2, (1,)).item()
        top, left, mirrored = drawn % 9, drawn // 9 % 9, drawn // 81
        x = torch.nn.functional.pad(x, (4, 4, 4, 4))[:, top:top + 32, left:left + 32]
        if mirrored:
            x = x.flip(2)
        return (x.float() / 255 - 0.5) / 0.25, self.labels[i]


class Recordings(torch.utils.data.Dataset):
    """WAV to a log-mel spectrogram of one second: what torchaudio's MelSpectrogram does, by torch.stft and a product with the filters."""
    def __init__(self):
        self.files = sorted(str(p) for p in pathlib.Path(recordings).glob("**/*.wav"))
        to_mel, to_hz = lambda f: 2595 * np.log10(1 + f / 700), lambda m: 700 * (10 ** (m / 2595) - 1)
        corners, hz = to_hz(np.linspace(0, to_mel(4000), 42)), np.linspace(0, 4000, 101)
        up, down = (hz[:, None] - corners[:-2]) / np.diff(corners)[:-1], (corners[2:] - hz[:, None]) / np.diff(corners)[1:]
        self.filters = torch.from_numpy(np.maximum(0, np.minimum(up, down)).astype(np.float32))
        self.window = torch.hann_window(200)
    def __len__(self): return len(self.files)
    def __getitem__(self, i):
        with wave.open(self.files[i]) as f:
            x = torch.frombuffer(bytearray(f.readframes(8000)), dtype=torch.int16).float() / 32768
        x = torch.nn.functional.pad(x, (0, 8000 - len(x)))
        power = torch.stft(x, 200, 80, window=self.window, return_complex=True).abs() ** 2
        return (torch.log(power.T @ self.filters + 1e-6) + 5) / 4, 0


def anonymous(pid):
    """RssAnon of a process and its children, bytes."""
    total = 0
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("RssAnon"):
                total += int(line.split()[1]) * 1024
        for child in open(f"/proc/{pid}/task/{pid}/children").read().split():
            total += anonymous(child)
    except OSError:
        pass
    return total


class Watch:
    """The most RssAnon while it is open."""
    def __init__(self, pid):
        self.pid, self.most, self.stop = pid, 0, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
    def run(self):
        while not self.stop.wait(0.05):
            self.most = max(self.most, anonymous(self.pid))
    def close(self):
        self.stop.set()
        self.thread.join()
        return self.most


def of_torch(dataset, workers):
    loader = torch.utils.data.DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    watch, n, start = Watch(os.getpid()), 0, None
    while start is None or time.perf_counter() - start < SECONDS:
        for x, _ in loader:
            if start is None: # the first batch is of starting
                start, computed = time.perf_counter(), time.process_time()
            n += len(x)
            if time.perf_counter() - start > SECONDS:
                break
    return (n - BATCH) / (time.perf_counter() - start), watch.close(), (n - BATCH) / (time.process_time() - computed)


def of_wick(path, workers, transform):
    command = [wick, "data", "bench", path, "--batch", str(BATCH), "--workers", str(workers), "--time", str(SECONDS), "--transform", transform, "--json", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    out = process.communicate()[0]
    row = json.loads(out)["rows"][0]
    return row["samples_per_second"], watch.close(), row["samples_per_cpu_second"]


torch.set_num_threads(1)
ROWS = [
    ("MNIST, arrays of floats as they are (PyTorch) against bytes normalised (Wick)", Arrays(), mnist, "normalise"),
    ("MNIST, bytes normalised", Bytes(), mnist, "normalise"),
    ("CIFAR-10, JPEG, crop of a padded picture, flip, normalise", Files(), pictures, "crop=4,flip,normalise"),
    ("spoken digits, WAV to log-mel, 101 x 40", Recordings(), recordings, "fit=8000,logmel=40:200:80,normalise=-5/4"),
]
ROWS = [row for row in ROWS if os.environ.get("ONLY", "") in row[0]]
print(f"| batches of {BATCH} | Wick, samples/s | PyTorch {torch.__version__.split('+')[0]} | ratio | RssAnon, MB | a CPU second, 0 workers | ratio |\n|---|---|---|---|---|---|---|")
for name, dataset, path, transform in ROWS:
    got = {("wick", w): [] for w in WORKERS} | {("torch", w): [] for w in WORKERS}
    for _ in range(ROUNDS):
        for w in WORKERS:
            got["wick", w].append(of_wick(path, w, transform))
            got["torch", w].append(of_torch(dataset, w))
    best = {who: max(((statistics.median(r[0] for r in got[who, w]), w, max(r[1] for r in got[who, w])) for w in WORKERS)) for who in ("wick", "torch")}
    a, b = best["wick"], best["torch"]
    c, d = (statistics.median(r[2] for r in got[who, 0]) for who in ("wick", "torch"))
    print(f"| {name} | {a[0]:,.0f} ({a[1]} workers) | {b[0]:,.0f} ({b[1]} workers) | {a[0] / b[0]:.1f} | {a[2] / 1e6:.0f} and {b[2] / 1e6:.0f} | {c:,.0f} and {d:,.0f} | {c / d:.1f} |", flush=True)
