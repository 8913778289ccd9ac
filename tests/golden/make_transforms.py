"""Writes transforms.safetensors: pictures before and after the transforms of tests/data/test_transform.c, computed in f64 by NumPy and PyTorch 2.13.0 (resizing:
interpolate(mode="bilinear", antialias=True); affine: grid_sample; blur: conv2d; hue through HSV by colorsys), with torchvision's formulas. Case NAME, text|seed|epoch|sample, has NAME/in and
NAME/out. Cases of JOINT have besides NAME/points, /boxes and /mask, and what becomes of them, step by step, with -out.
"""
import colorsys
import math
import pathlib

import numpy as np
import torch
from make_transforms_draws import between, philox
from safetensors.torch import save_file

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__

CASES = [
    ("normalise=0.5/0.25", (3, 9, 11)), ("normalise=0.49:0.48:0.45/0.2:0.21:0.22", (3, 9, 11)), ("crop=3,flip,normalise=0.4/0.3", (3, 12, 10)), ("flip=1,crop=2,vflip", (1, 7, 9)),
    ("vflip=1,flip=1", (2, 5, 6)), ("center=5x4,flip=1", (3, 12, 9)), ("cut=6x8,vflip=1,normalise=0.1/2", (3, 13, 17)), ("resize=8x10", (3, 20, 33)), ("resize=31x27,flip=1", (3, 14, 12)),
    ("resize=12,center=9x10,vflip=1", (1, 40, 25)), ("center=11x13,resize=7x5,normalise=0.3/0.6", (3, 23, 29)), ("flip,resize=14x14,crop=3,normalise=0.5/0.5", (3, 28, 21)), ("resizedcrop=16x12,flip", (3, 37, 41)),
    ("resizedcrop=10:0.5:0.9,normalise=0.5:0.4:0.3/0.2:0.3:0.4", (3, 24, 18)), ("resizedcrop=9x7:0.9:1", (1, 60, 8)), ("jitter=0.6", (3, 8, 9)), ("jitter=0:0.7,normalise=0.5/0.5", (3, 37, 41)), ("jitter=0.4:0.5", (1, 37, 41)),
    ("jitter=0:0:0.8", (3, 8, 9)), ("jitter=0:0:0:0.5", (3, 16, 19)), ("jitter=0.4:0.4:0.4:0.1,normalise=0.5:0.4:0.3/0.2:0.3:0.4", (3, 41, 39)), ("grey=1", (3, 8, 9)), ("grey=0.5,jitter=0.2,jitter=0.1:0.3", (3, 33, 40)),
    ("crop=2,flip,jitter=0.3:0.3:0.3:0.5,grey=0.3,normalise=0.5/0.2,erase=1", (3, 24, 25)), ("erase", (1, 30, 20)), ("erase=1", (3, 17, 31)),
    ("affine=30", (3, 17, 23)), ("affine=0:0.3", (1, 12, 15)), ("affine=180:0.2:0.5:2:40,normalise=0.4/0.3", (1, 11, 140)), ("affine=0:0:2:2", (2, 9, 8)), ("affine=5:0.9,grey=1,jitter=0:0.5", (3, 16, 16)),
    ("blur=3", (1, 4, 5)), ("blur=9:0.5:4,normalise=0.4:0.5:0.6/0.3:0.2:0.1", (3, 21, 18)), ("crop=2,flip,affine=20:0.1:0.8:1.2:10,jitter=0.3:0.3:0.3:0.1,grey=0.2,blur=5,normalise=0.5/0.25,erase=1", (3, 28, 25)),
]
JOINT = [
    ("crop=3,flip", (3, 20, 24)), ("vflip=1,cut=11x14,flip=1", (1, 20, 24)), ("resize=33x18,flip", (3, 20, 24)), ("center=16x13,resize=31x29,crop=4,vflip", (3, 20, 24)), ("resizedcrop=16x12,flip", (3, 37, 41)),
    ("affine=45:0.1:0.7:1.4:15", (3, 23, 31)), ("flip=1,center=18x20,affine=180:0.2,jitter=0.4", (3, 20, 24)),
]


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


def forth(rest, w, h, word, more):
    """Where an affine step takes (x, y, 1)."""
    numbers = [float(n) for n in rest.split(":")]
    most, move, low, high, shear = numbers + [0, 0, 1, 1, 0][len(numbers):]
    angle, s, lean = math.radians(between(word[0], -most, most)), between(word[3], low, high), math.radians(between(more[0], -shear, shear))
    shift = lambda x, y: np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], dtype=np.float64)
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    leaning = np.array([[1, -math.tan(lean), 0], [0, 1, 0], [0, 0, 1]])
    return shift(round(between(word[1], -move, move) * w), round(between(word[2], -move, move) * h)) @ shift(w / 2, h / 2) @ np.diag([s, s, 1]) @ turn @ leaning @ shift(-w / 2, -h / 2)


def apply(text, picture, seed, epoch, sample):
    words = lambda block: philox([sample & 0xFFFFFFFF, (1 << 31) + block, epoch & 0xFFFFFFFF, epoch >> 32], [seed & 0xFFFFFFFF, seed >> 32])
    below = lambda word, n: word * n >> 32
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
        elif name == "affine":
            back = np.linalg.inv(forth(rest, w, h, words(block), words(block + 1)))
            # affine_grid's coordinates: -1 and 1 are the outer edges
            to = np.array([[w / 2, 0, w / 2], [0, h / 2, h / 2], [0, 0, 1]])
            theta = torch.from_numpy((np.linalg.inv(to) @ back @ to)[:2])[None]
            grid = torch.nn.functional.affine_grid(theta, (1, c, h, w), align_corners=False)
            x = torch.nn.functional.grid_sample(torch.from_numpy(np.ascontiguousarray(x))[None], grid, mode="bilinear", padding_mode="zeros", align_corners=False)[0].numpy()
        elif name == "blur":
            n, low, high = (rest + ":0.1:2" if ":" not in rest else rest).split(":")
            n, s = int(n), between(words(block)[0], float(low), float(high))
            k = torch.exp(-0.5 * (torch.arange(n, dtype=torch.float64) - n // 2) ** 2 / s**2)
            k /= k.sum()
            padded = torch.nn.functional.pad(torch.from_numpy(np.ascontiguousarray(x))[:, None], (n // 2,) * 4, mode="reflect")
            x = torch.nn.functional.conv2d(padded, torch.outer(k, k)[None, None])[:, 0].numpy()
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


def joined(text, points, mask, seed, epoch, sample):
    """Points [n, 2] and a mask [H, W] through the same steps, one after the other; of both alone, so that each step is as simple as it is."""
    words = lambda block: philox([sample & 0xFFFFFFFF, (1 << 31) + block, epoch & 0xFFFFFFFF, epoch >> 32], [seed & 0xFFFFFFFF, seed >> 32])
    below = lambda word, n: word * n >> 32
    place, p, m = words(0), points.astype(np.float64), mask
    nearest = lambda m, h, w: torch.nn.functional.interpolate(torch.from_numpy(m.astype(np.float64))[None, None], (h, w), mode="nearest-exact")[0, 0].numpy().astype(np.uint8)
    for i, step in enumerate(text.split(",")):
        name, _, rest = step.partition("=")
        block, h, w = (i + 1) * 16, *m.shape
        if name in ("cut", "center", "resize", "resizedcrop"):
            oh, ow = (int(n) for n in (rest if "x" in rest else rest + "x" + rest).split("x"))
        if name == "crop":
            n = int(rest)
            top, left = below(place[0], 2 * n + 1), below(place[1], 2 * n + 1)
            m, p = np.pad(m, n, constant_values=255)[top : top + h, left : left + w], p + n - [left, top]
        elif name in ("cut", "center"):
            top, left = (below(place[0], h - oh + 1), below(place[1], w - ow + 1)) if name == "cut" else (round((h - oh) / 2), round((w - ow) / 2))
            m, p = m[top : top + oh, left : left + ow], p - [left, top]
        elif name == "flip" and place[2] >= (1 - float(rest or 0.5)) * 2**32:
            m, p = m[:, ::-1], np.array([w, 0]) + p * [-1, 1]
        elif name == "vflip" and place[3] >= (1 - float(rest or 0.5)) * 2**32:
            m, p = m[::-1], np.array([0, h]) + p * [1, -1]
        elif name == "resize":
            m, p = nearest(m, oh, ow), p * [ow / w, oh / h]
        elif name == "resizedcrop":
            for t in range(10):
                word = words(block + t)
                area, ratio = h * w * between(word[0], 0.08, 1), math.exp(between(word[1], math.log(3 / 4), math.log(4 / 3)))
                pw, ph = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
                if 0 < pw <= w and 0 < ph <= h:
                    break
            top, left = below(word[2], h - ph + 1), below(word[3], w - pw + 1)
            m, p = nearest(m[top : top + ph, left : left + pw], oh, ow), (p - [left, top]) * [ow / pw, oh / ph]
        elif name == "affine":
            f = forth(rest, w, h, words(block), words(block + 1))
            y, x = np.mgrid[:h, :w] + 0.5
            back = np.linalg.inv(f) @ np.stack([x.ravel(), y.ravel(), np.ones(h * w)])
            bx, by = (np.floor(v).astype(int).reshape(h, w) for v in back[:2])
            there = (bx >= 0) & (bx < w) & (by >= 0) & (by < h)
            m, p = np.where(there, m[by.clip(0, h - 1), bx.clip(0, w - 1)], 255).astype(np.uint8), (np.column_stack([p, np.ones(len(p))]) @ f.T)[:, :2]
    return p, m


rng = np.random.default_rng(1)
tensors = {}
for text, shape in CASES:
    for seed, epoch, sample in ((1, 0, 0), (7, 3, 12), (2**40 + 5, 2**33, 4000000000)):
        picture = rng.integers(0, 256, shape, dtype=np.uint8)
        name = f"{text}|{seed}|{epoch}|{sample}"
        tensors[name + "/in"] = torch.from_numpy(picture)
        tensors[name + "/out"] = torch.from_numpy(np.ascontiguousarray(apply(text, picture, seed, epoch, sample)).astype(np.float32))
for text, shape in JOINT:
    for seed, epoch, sample in ((1, 0, 0), (7, 3, 12), (2**40 + 5, 2**33, 4000000000)):
        name = f"{text}|{seed}|{epoch}|{sample}"
        h, w = shape[1:]
        mask = rng.integers(0, 9, (h, w), dtype=np.uint8)
        points = rng.uniform(-2, 2 + max(h, w), (6, 2)).astype(np.float32)
        corners = np.sort(rng.uniform(-3, 3 + max(h, w), (5, 2, 2)), axis=1).astype(np.float32) # [box, low or high, x or y]
        p, m = joined(text, points, mask, seed, epoch, sample)
        four = np.stack([corners[:, a, 0] if axis == 0 else corners[:, b, 1] for a in (0, 1) for b in (0, 1) for axis in (0, 1)], 1).reshape(-1, 2)
        moved = joined(text, four, mask, seed, epoch, sample)[0].reshape(5, 4, 2)
        boxes = np.concatenate([moved.min(1), moved.max(1)], 1).clip(0, [m.shape[1], m.shape[0]] * 2)
        for key, value in (("mask", mask), ("mask-out", m), ("points", points), ("points-out", p.astype(np.float32)), ("boxes", corners.reshape(5, 4)), ("boxes-out", boxes.astype(np.float32))):
            tensors[f"{name}/{key}"] = torch.from_numpy(np.ascontiguousarray(value))
save_file(tensors, pathlib.Path(__file__).with_name("transforms.safetensors"))
