"""How many samples a second wick data bench, PyTorch's DataLoader, and Grain, SPDL and WebDataset where they are installed, make of the same files, in turn, each at its best of 0, 1 and 2 workers, and
how much memory they hold; and, which other programs disturb less, how many a second of CPU time without workers (SPDL: with a thread).

    python bench/loaders.py WICK MNIST PICTURES RECORDINGS  # the command; a folder of MNIST's IDX files; a folder CLASS/NAME.jpg of 32 x 32; a folder of WAVs of 8 kHz, 16 bits, one channel. ONLY=WORD takes the rows that have it in their names, PEERS=torch,grain those loaders

Needs torch and Pillow (2.13.0 and 12 for the figures of docs/data.md). PyTorch's side decodes by Pillow, whose libjpeg-turbo is its own, and does the rest on tensors without torchvision's checks,
which would only cost it time. The others are given the same samples, as arrays of NumPy's: Grain and SPDL in threads, WebDataset from a .tar through PyTorch's loader.
"""
import atexit
import gzip
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
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
    def __getitem__(self, i): return self.change(PIL.Image.open(self.files[i])), self.labels[i]
    def change(self, picture):
        x = torch.from_numpy(np.array(picture.convert("RGB"))).permute(2, 0, 1)
        drawn = torch.randint(9 * 9 * 2, (1,)).item()
        top, left, mirrored = drawn % 9, drawn // 9 % 9, drawn // 81
        x = torch.nn.functional.pad(x, (4, 4, 4, 4))[:, top:top + 32, left:left + 32]
        if mirrored:
            x = x.flip(2)
        return (x.float() / 255 - 0.5) / 0.25


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


def timed(batches):
    """The same for any iterator of batches."""
    watch, n, start = Watch(os.getpid()), 0, None
    for x in batches:
        if start is None:
            start, computed = time.perf_counter(), time.process_time()
            continue
        n += len(x)
        if time.perf_counter() - start > SECONDS:
            break
    return n / (time.perf_counter() - start), watch.close(), n / (time.process_time() - computed)


def as_arrays(dataset):
    """A sample as Grain and SPDL batch it: NumPy's, without PyTorch's tensors."""
    def get(i):
        x, y = dataset[i]
        return np.asarray(x), int(y)
    return get


def of_grain(dataset, workers):
    import grain.python as grain
    get = as_arrays(dataset)
    source = grain.MapDataset.range(len(dataset)).shuffle(seed=1).repeat().map(lambda i: get(int(i))).batch(BATCH)
    return timed(x for x, _ in source.to_iter_dataset(grain.ReadOptions(num_threads=workers, prefetch_buffer_size=workers and 4)))


def of_spdl(dataset, workers):
    from spdl.pipeline import PipelineBuilder
    get, threads = as_arrays(dataset), max(workers, 1)

    def indices():
        while True:
            yield from map(int, np.random.permutation(len(dataset)))

    collate = lambda samples: np.stack([x for x, _ in samples])
    pipeline = PipelineBuilder().add_source(indices()).pipe(get, concurrency=threads).aggregate(BATCH).pipe(collate).add_sink(4).build(num_threads=threads)
    with pipeline.auto_stop():
        return timed(iter(pipeline))


def of_webdataset(dataset, workers):
    import webdataset
    if not isinstance(dataset, Files):
        return 0, 0, 0 # it reads archives
    if not SHARD.exists():
        with tarfile.open(SHARD, "w") as t:
            for i, f in enumerate(dataset.files):
                t.add(f, f"{i:06d}.jpg")

    def get(sample):
        import io
        return dataset.change(PIL.Image.open(io.BytesIO(sample["jpg"]))), 0

    def batches():
        set = webdataset.WebDataset(str(SHARD), shardshuffle=False, empty_check=False, nodesplitter=None, workersplitter=None).shuffle(1000).map(get).batched(BATCH)
        while True:
            yield from (x for x, _ in torch.utils.data.DataLoader(set, None, num_workers=workers))

    return timed(batches())


def of_wick(path, workers, transform):
    command = [wick, "data", "bench", path, "--batch", str(BATCH), "--workers", str(workers), "--time", str(SECONDS), "--transform", transform, "--json", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    out = process.communicate()[0]
    row = json.loads(out)["rows"][0]
    return row["samples_per_second"], watch.close(), row["samples_per_cpu_second"]


def packed(path):
    """A record file of it, compressed."""
    to = FOLDER / (pathlib.Path(path).name + ".wrec")
    subprocess.run([wick, "data", "pack", path, str(to), "--compression", "zstd", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return str(to)


torch.set_num_threads(1)
FOLDER = pathlib.Path(tempfile.mkdtemp())
atexit.register(shutil.rmtree, FOLDER)
SHARD = FOLDER / "pictures.tar"
LOG_MEL = "fit=8000,logmel=40:200:80,normalise=-5/4"
ROWS = [
    ("MNIST, arrays of floats as they are (PyTorch) against bytes normalised (Wick)", Arrays, mnist, "normalise"),
    ("MNIST, bytes normalised", Bytes, mnist, "normalise"),
    ("CIFAR-10, JPEG, crop of a padded picture, flip, normalise", Files, pictures, "crop=4,flip,normalise"),
    ("packed CIFAR-10, the same JPEGs in a record file by Zstandard (Wick)", Files, pictures, "crop=4,flip,normalise"),
    ("spoken digits, WAV to log-mel, 101 x 40", Recordings, recordings, LOG_MEL),
    ("packed spoken digits, the same WAVs in a record file by Zstandard (Wick)", Recordings, recordings, LOG_MEL),
]
ROWS = [row for row in ROWS if os.environ.get("ONLY", "") in row[0]]
PEERS = {"torch": ("PyTorch " + torch.__version__.split("+")[0], of_torch), "grain": ("Grain", of_grain), "spdl": ("SPDL", of_spdl), "webdataset": ("WebDataset", of_webdataset)}
PEERS = {k: PEERS[k] for k in os.environ.get("PEERS", "torch,grain,spdl,webdataset").split(",")}
best_of = lambda runs: max((statistics.median(r[0] for r in runs[w]), w, max(r[1] for r in runs[w])) for w in WORKERS)
print(f"| batches of {BATCH} | loader | samples/s | Wick's ratio | RssAnon, MB | a CPU second, 0 workers | Wick's ratio |\n|---|---|---|---|---|---|---|")
for name, dataset, path, transform in ROWS:
    dataset, path = dataset(), packed(path) if name.startswith("packed") else path
    got = {who: {w: [] for w in WORKERS} for who in ("wick", *PEERS)}
    for _ in range(ROUNDS):
        for w in WORKERS:
            got["wick"][w].append(of_wick(path, w, transform))
            for who, (_, run) in PEERS.items():
                got[who][w].append(run(dataset, w))
    best, cpu = {who: best_of(got[who]) for who in got}, {who: statistics.median(r[2] for r in got[who][0]) for who in got}
    for who in got:
        if not best[who][0]:
            continue
        title = "Wick" if who == "wick" else PEERS[who][0]
        ratios = ("", "") if who == "wick" else (f"{best['wick'][0] / best[who][0]:.1f}", f"{cpu['wick'] / cpu[who]:.1f}")
        print(f"| {name} | {title} | {best[who][0]:,.0f} ({best[who][1]} workers) | {ratios[0]} | {best[who][2] / 1e6:.0f} | {cpu[who]:,.0f} | {ratios[1]} |", flush=True)
