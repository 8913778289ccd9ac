"""Writes transforms.safetensors: pictures before and after the transforms of tests/data/test_transform.c, computed in f64 by NumPy and PyTorch 2.13.0 (resizing:
interpolate(mode="bilinear", antialias=True); hue through HSV by colorsys), with torchvision's formulas. Case NAME, text|seed|epoch|sample, has NAME/in and NAME/out.
"""
import colorsys
import math
import pathlib

import numpy as np
import torch
from safetensors.torch import save_file

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__

CASES = [
    ("normalise=0.5/0.25", (3, 9, 11)), ("normalise=0.49:0.48:0.45/0.2:0.21:0.22", (3, 9, 11)), ("crop=3,flip,normalise=0.4/0.3", (3, 12, 10)), ("flip=1,crop=2,vflip", (1, 7, 9)),
    ("vflip=1,flip=1", (2, 5, 6)), ("center=5x4,flip=1", (3, 12, 9)), ("cut=6x8,vflip=1,normalise=0.1/2", (3, 13, 17)), ("resize=8x10", (3, 20, 33)), ("resize=31x27,flip=1", (3, 14, 12)),
    ("resize=12,center=9x10,vflip=1", (1, 40, 25)), ("center=11x13,resize=7x5,normalise=0.3/0.6", (3, 23, 29)), ("flip,resize=14x14,crop=3,normalise=0.5/0.5", (3, 28, 21)), ("resizedcrop=16x12,flip", (3, 37, 41)),
    ("resizedcrop=10:0.5:0.9,normalise=0.5:0.4:0.3/0.2:0.3:0.4", (3, 24, 18)), ("resizedcrop=9x7:0.9:1", (1, 60, 8)), ("jitter=0.6", (3, 8, 9)), ("jitter=0:0.7,normalise=0.5/0.5", (3, 37, 41)), ("jitter=0.4:0.5", (1, 37, 41)),
    ("jitter=0:0:0.8", (3, 8, 9)), ("jitter=0:0:0:0.5", (3, 16, 19)), ("jitter=0.4:0.4:0.4:0.1,normalise=0.5:0.4:0.3/0.2:0.3:0.4", (3, 41, 39)), ("grey=1", (3, 8, 9)), ("grey=0.5,jitter=0.2,jitter=0.1:0.3", (3, 33, 40)),
    ("crop=2,flip,jitter=0.3:0.3:0.3:0.5,grey=0.3,normalise=0.5/0.2,erase=1", (3, 24, 25)), ("erase", (1, 30, 20)), ("erase=1", (3, 17, 31)),
]


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al., SC 2011)."""
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def resize(x, h, w):
    return torch.nn.functional.interpolate(torch.from_numpy(x.copy())[None], (h, w), mode="bilinear", antialias=True)[0].numpy()


def grey(x):
    return (0.2989 * x[0] + 0.587 * x[1] + 0.114 * x[2])[None]


def blend(x, y, f):
    return np.clip(f * x + (1 - f) * y, 0, 1)


def turn(x, by):
    out = np.empty_like(x)
    for i in np.ndindex(x.shape[1:]):
        h, s, v = colorsys.rgb_to_hsv(*x[(slice(None), *i)])
        out[(slice(None), *i)] = colorsys.hsv_to_rgb((h + by) % 1, s, v)
    return out


def apply(text, picture, seed, epoch, sample):
    words = lambda block: philox([sample & 0xFFFFFFFF, (1 << 31) + block, epoch & 0xFFFFFFFF, epoch >> 32], [seed & 0xFFFFFFFF, seed >> 32])
    below = lambda word, n: word * n >> 32
    between = lambda word, low, high: low + (word + 0.5) / 2**32 * (high - low)
    x, place = picture.astype(np.float64) / 255, words(0)
    for i, step in enumerate(text.split(",")):
        name, _, rest = step.partition("=")
        block, c, h, w = (i + 1) * 16, *x.shape
        chance = lambda word, usual: word >= (1 - (float(rest) if rest else usual)) * 2**32
        size, _, numbers = rest.partition(":")
        if name in ("cut", "center", "resize", "resizedcrop"):
            oh, ow = (int(n) for n in (size if "x" in size else size + "x" + size).split("x"))
        if name == "crop":
            n = int(rest)
            padded = np.zeros((c, h + 2 * n, w + 2 * n))
            padded[:, n : n + h, n : n + w] = x
            top, left = below(place[0], 2 * n + 1), below(place[1], 2 * n + 1)
            x = padded[:, top : top + h, left : left + w]
        elif name == "cut":
            top, left = below(place[0], h - oh + 1), below(place[1], w - ow + 1)
            x = x[:, top : top + oh, left : left + ow]
        elif name == "center":
            top, left = round((h - oh) / 2), round((w - ow) / 2)
            x = x[:, top : top + oh, left : left + ow]
        elif name == "flip":
            x = x[:, :, ::-1] if chance(place[2], 0.5) else x
        elif name == "vflip":
            x = x[:, ::-1] if chance(place[3], 0.5) else x
        elif name == "resize":
            x = resize(x, oh, ow)
        elif name == "resizedcrop":
            low, high = (float(n) for n in numbers.split(":")) if numbers else (0.08, 1.0)
            for t in range(10):
                word = words(block + t)
                area, ratio = h * w * between(word[0], low, high), math.exp(between(word[1], math.log(3 / 4), math.log(4 / 3)))
                pw, ph = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
                if 0 < pw <= w and 0 < ph <= h:
                    top, left = below(word[2], h - ph + 1), below(word[3], w - pw + 1)
                    break
            else:
                pw, ph = w, h
                if w / h < 3 / 4:
                    ph = min(h, round(w / (3 / 4)))
                elif w / h > 4 / 3:
                    pw = min(w, round(h * (4 / 3)))
                top, left = (h - ph) // 2, (w - pw) // 2
            x = resize(x[:, top : top + ph, left : left + pw], oh, ow)
        elif name == "jitter":
            word = words(block)
            for j, most in enumerate(float(n) for n in rest.split(":")):
                f = between(word[j], max(0, 1 - most), 1 + most)
                if most == 0:
                    continue
                if j == 0:
                    x = np.clip(x * f, 0, 1)
                elif j == 1:
                    x = blend(x, (grey(x) if c == 3 else x).mean(), f)
                elif j == 2:
                    x = blend(x, grey(x), f)
                else:
                    x = turn(x, between(word[j], -most, most))
        elif name == "grey":
            x = np.repeat(grey(x), 3, 0) if chance(words(block)[0], 0.1) else x
        elif name == "normalise":
            mean, deviation = ([float(n) for n in part.split(":")] for part in rest.split("/"))
            x = (x - np.array(mean).reshape(-1, 1, 1)) / np.array(deviation).reshape(-1, 1, 1)
        elif name == "erase":
            if not chance(words(block)[0], 0.5):
                continue
            for t in range(1, 11):
                word = words(block + t)
                area, ratio = h * w * between(word[0], 0.02, 0.33), math.exp(between(word[1], math.log(0.3), math.log(3.3)))
                eh, ew = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
                if eh < h and ew < w:
                    top, left = below(word[2], h - eh + 1), below(word[3], w - ew + 1)
                    x = x.copy()
                    x[:, top : top + eh, left : left + ew] = 0
                    break
        else:
            raise ValueError(name)
    return x


rng = np.random.default_rng(1)
tensors = {}
for text, shape in CASES:
    for seed, epoch, sample in ((1, 0, 0), (7, 3, 12), (2**40 + 5, 2**33, 4000000000)):
        picture = rng.integers(0, 256, shape, dtype=np.uint8)
        name = f"{text}|{seed}|{epoch}|{sample}"
        tensors[name + "/in"] = torch.from_numpy(picture)
        tensors[name + "/out"] = torch.from_numpy(np.ascontiguousarray(apply(text, picture, seed, epoch, sample)).astype(np.float32))
save_file(tensors, pathlib.Path(__file__).with_name("transforms.safetensors"))
