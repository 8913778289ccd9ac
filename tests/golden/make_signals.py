"""Writes signals.safetensors: recordings and sensors' readings before and after the transforms of tests/data/test_signal.c, computed in f64 by NumPy, SciPy and PyTorch 2.13.0 (torch.stft; the mel
scale and its triangles are torchaudio's formulas, resampling is scipy's dense sum over them). Case NAME, text|rate|seed|epoch|sample, has NAME/in and NAME/out; "noise" is what "noise=" mixes in
where the text begins with a "+", which is not part of it.
"""
import math
import pathlib

import numpy as np
import scipy.fft
import torch
from make_transforms_draws import between, normals, philox
from safetensors.torch import save_file

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__

CASES = [  # text, rate, shape
    ("gain=-6", 16000, (50,)), ("gain=-12:6", 16000, (50,)), ("shift=0.3", 16000, (41,)), ("shift=1", 16000, (20, 3)), ("fit=30", 16000, (50,)), ("fit=70", 16000, (50,)), ("window=30", 16000, (50, 2)),
    ("window=64", 16000, (50, 2)), ("noise=0:20", 16000, (1001,)), ("noise=10:10:0.5", 16000, (30, 4)), ("+noise=-5:15", 16000, (500,)), ("jitter=0.1", 16000, (33, 3)), ("scale=0.2", 16000, (20, 11)),
    ("rotate", 16000, (12, 6)), ("rotate=20,jitter=0.05,scale=0.1,normalise=0.1:0.2:0.3/2:3:4", 16000, (12, 3)), ("resample=8000", 16000, (333,)), ("resample=16000", 11025, (400,)), ("resample=7919", 8000, (300,)),
    ("logmel=40", 8000, (2400,)), ("logmel=23:256:100", 16000, (1700,)), ("logmel=10:63", 8000, (60,)), ("logmel=64:400:160,normalise=-6/4,specaugment=20:30:2:3", 16000, (6000,)), ("logmel=8:64:16", 8000, (9,)),
    ("mfcc=13", 16000, (4000,)), ("mfcc=20:32:200:80", 8000, (1601,)),
    ("resample=8000,gain=-3:3,shift=0.1,noise=10:30,window=2000,logmel=40:200:80,normalise=-5/3,specaugment=8:10", 16000, (5000,)),
]


def resample(x, from_, to):
    """Each output is a sum over all inputs of a windowed sinc, cut off at 0.95 of the lower Nyquist frequency."""
    cutoff = 0.95 * min(1, to / from_)
    t = (np.arange(len(x))[None] - np.arange(-(-len(x) * to // from_))[:, None] * from_ / to) * cutoff
    return (np.sinc(t) * np.where(np.abs(t) < 32, np.cos(np.pi * t / 64) ** 2, 0) * cutoff) @ x


def mel(x, rate, n_mels, n, hop):
    padded = np.pad(x, n // 2, mode="reflect") if n % 2 == 0 else np.pad(x, n // 2, mode="reflect")
    spectrum = torch.stft(torch.from_numpy(padded), n, hop, window=torch.hann_window(n, dtype=torch.float64), center=False, return_complex=True).abs().numpy() ** 2
    to_mel, to_hz = lambda f: 2595 * math.log10(1 + f / 700), lambda m: 700 * (10 ** (m / 2595) - 1)
    corners = np.array([to_hz(m) for m in np.linspace(0, to_mel(rate / 2), n_mels + 2)])
    hz = np.linspace(0, rate / 2, n // 2 + 1)
    up, down = (hz[:, None] - corners[None, :-2]) / np.diff(corners)[:-1], (corners[None, 2:] - hz[:, None]) / np.diff(corners)[1:]
    return spectrum.T @ np.maximum(0, np.minimum(up, down))


def apply(text, x, rate, seed, epoch, sample, noise):
    words = lambda block: philox([sample & 0xFFFFFFFF, (1 << 31) + block, epoch & 0xFFFFFFFF, epoch >> 32], [seed & 0xFFFFFFFF, seed >> 32])
    below = lambda word, n: word * n >> 32
    x = x.astype(np.float64)
    for i, step in enumerate(text.split(",")):
        name, _, rest = step.partition("=")
        block = (i + 1) * 16
        word, more = words(block), words(block + 1)
        number = [float(n) for n in rest.replace("/", ":").split(":")] if rest else []
        mine = lambda n, offset=0: normals(word[0] | word[1] << 32, word[2], offset, n)
        if name == "resample":
            x, rate = resample(x, rate, int(number[0])), int(number[0])
        elif name == "gain":
            x = x * 10 ** ((number[0] if len(number) == 1 else between(word[0], *number)) / 20)
        elif name == "noise":
            if len(number) > 2 and more[0] >= number[2] * 2**32:
                continue
            snr = between(more[1], *number[:2])
            if noise is None:
                n = mine(x.size).reshape(x.shape)
            else:
                n = np.resize(np.roll(noise[below(more[2], len(noise))], -below(more[3], noise.shape[1])), len(x))
            x = x + n * math.sqrt((x**2).sum() / (n**2).sum()) * 10 ** (-snr / 20)
        elif name == "shift":
            by = round(between(word[0], -number[0], number[0]) * len(x))
            x = np.concatenate([np.zeros_like(x[: max(by, 0)]), x[max(-by, 0) : len(x) - max(by, 0)], np.zeros_like(x[: max(-by, 0)])])
        elif name in ("fit", "window"):
            n = int(number[0])
            start = below(word[0], len(x) - n + 1) if name == "window" and len(x) > n else 0
            x = x[start : start + n]
            x = np.concatenate([x, np.zeros((n - len(x), *x.shape[1:]))])
        elif name == "jitter":
            x = x + number[0] * mine(x.size).reshape(x.shape)
        elif name == "scale":
            c = x.shape[1]
            x = x * (1 + number[0] * np.concatenate([mine(8, at) for at in range(0, c, 8)])[:c])
        elif name == "rotate":
            most = math.radians(number[0] if number else 180)
            z, turn, angle = between(word[0], -1, 1), between(word[1], 0, 2 * math.pi), between(word[2], -most, most)
            a = np.array([math.sqrt(1 - z * z) * math.cos(turn), math.sqrt(1 - z * z) * math.sin(turn), z])
            v = x.reshape(-1, 3)
            x = (v * math.cos(angle) + np.cross(a, v) * math.sin(angle) + np.outer(v @ a, a) * (1 - math.cos(angle))).reshape(x.shape)
        elif name == "logmel":
            n = int(number[1]) if len(number) > 1 else round(0.025 * rate)
            x = np.log(mel(x, rate, int(number[0]), n, int(number[2]) if len(number) > 2 else n // 2 if len(number) > 1 else round(0.01 * rate)) + 1e-6)
        elif name == "mfcc":
            n_mels, n = int(number[1]) if len(number) > 1 else 40, int(number[2]) if len(number) > 2 else round(0.025 * rate)
            db = 10 * np.log10(np.maximum(mel(x, rate, n_mels, n, int(number[3]) if len(number) > 3 else n // 2 if len(number) > 2 else round(0.01 * rate)), 1e-10))
            x = scipy.fft.dct(np.maximum(db, db.max() - 80), type=2, norm="ortho", axis=1)[:, : int(number[0])]
        elif name == "specaugment":
            f, t, nf, nt = [int(n) for n in number + [1, 1][len(number) - 2 :]]
            x = x.copy()
            for k in range(max(nf, nt)):
                w = words(block + k)
                if k < nf:
                    wide = below(w[0], f + 1)
                    first = below(w[1], x.shape[1] - wide + 1)
                    x[:, first : first + wide] = 0
                if k < nt:
                    high = min(below(w[2], t + 1), len(x))
                    top = below(w[3], len(x) - high + 1)
                    x[top : top + high] = 0
        elif name == "normalise":
            x = (x - np.array(number[: len(number) // 2])) / np.array(number[len(number) // 2 :])
        else:
            raise ValueError(name)
    return x


rng = np.random.default_rng(2)
noise = rng.normal(size=(3, 170)).astype(np.float32)
tensors = {"noise": torch.from_numpy(noise)}
for text, rate, shape in CASES:
    for seed, epoch, sample in ((1, 0, 0), (2**40 + 5, 2**33, 4000000000)):
        x = rng.normal(size=shape).astype(np.float32)
        if len(shape) == 1:  # a tone that gets louder
            x = (0.1 * x + np.sin(np.arange(shape[0]) * 0.2) * np.linspace(0, 1, shape[0])).astype(np.float32)
        name = f"{text}|{rate}|{seed}|{epoch}|{sample}"
        tensors[name + "/in"] = torch.from_numpy(x)
        tensors[name + "/out"] = torch.from_numpy(np.ascontiguousarray(apply(text.lstrip("+"), x, rate, seed, epoch, sample, noise if text[0] == "+" else None)).astype(np.float32))
save_file(tensors, pathlib.Path(__file__).with_name("signals.safetensors"))
