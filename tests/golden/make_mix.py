"""Writes mix.safetensors: batches before and after mixup and cutmix, for tests/data/test_mix.c. What each sample draws is made here again, from Philox up, by NumPy; batches are mixed as torchvision's
MixUp and CutMix do it (v2, 0.26): with the batch rolled by one, and classes as rows of probabilities, but by a share for each sample. PyTorch 2.13.0, f64.
Case NAME, text|seed|epoch, has NAME/in (u8), NAME/label, NAME/x, NAME/y, and NAME/share: what each sample keeps.
"""
import math
import pathlib

import numpy as np
import scipy.stats
import torch
from make_transforms_draws import philox
from safetensors.torch import save_file

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
CLASSES = 5
CASES = [  # text, shape of a batch, seed, epoch
    ("mixup=0.2", (16, 3, 9, 7), 1, 0), ("mixup=1", (13, 1, 8, 8), 7, 3), ("mixup=4:0.5", (24, 2, 3, 5), 2**40 + 5, 2**33), ("cutmix=1", (32, 3, 12, 17), 1, 1), ("cutmix=0.3:0.6", (15, 1, 32, 5), 3, 2),
    ("mixup=0.8,cutmix=1", (40, 3, 10, 11), 5, 4), ("cutmix=0.5:0.7,mixup=0.05:0.9", (21, 3, 6, 6), 9, 0), ("mixup=1", (1, 3, 4, 4), 1, 0), ("cutmix=1", (2, 9, 14), 4, 1), ("normalise=0.4/0.3,mixup=0.4", (11, 3, 5, 6), 6, 6),
]


class Stream:
    """Words of the Philox stream that 64 random bits are the key of."""

    def __init__(self, bits):
        self.key, self.block, self.words = [bits & 0xFFFFFFFF, bits >> 32], 0, []

    def word(self):
        if not self.words:
            self.words = philox([self.block, 0, 1, 0], self.key)
            self.block += 1
        return self.words.pop(0)

    def two(self):
        low = self.word()
        return low | self.word() << 32

    def inside(self):
        return ((self.two() >> 11) + 0.5) * 2.0**-53

    def normal(self):
        u = self.inside()
        return math.sqrt(-2 * math.log(u)) * math.cos(((self.two() >> 11) - 2.0**52) * math.pi / 2**52)


def gamma(alpha, bits):
    """Marsaglia, Tsang 2000, their section 6 for alpha below 1."""
    s = Stream(bits)
    boost = s.inside() ** (1 / alpha) if alpha < 1 else 1
    d = (alpha + 1 if alpha < 1 else alpha) - 1 / 3
    while True:
        x, u = s.normal(), s.inside()
        v = (1 + x / math.sqrt(9 * d)) ** 3
        if v > 0 and math.log(u) < x * x / 2 + d - d * v + d * math.log(v):
            return d * v * boost


def beta(alpha, word):
    a, b = gamma(alpha, word[0] | word[1] << 32), gamma(alpha, word[2] | word[3] << 32)
    return a / (a + b)


def draw(steps, seed, epoch, sample, height, width):
    """The share that a sample keeps, and for cutmix the rectangle top, left, bottom, right."""
    words = lambda block: philox([sample & 0xFFFFFFFF, (1 << 31) + (1 << 19) + block, epoch & 0xFFFFFFFF, epoch >> 32], [seed & 0xFFFFFFFF, seed >> 32])
    word = words(0)
    name = ("cutmix" if word[0] >= 2**31 else "mixup") if len(steps) > 1 else next(iter(steps))
    alpha, chance = steps[name]
    if word[1] >= chance * 2**32:
        return 1.0, None
    share = beta(alpha, words(1))
    if name == "mixup":
        return share, None
    x, y, r = word[2] * width >> 32, word[3] * height >> 32, 0.5 * math.sqrt(1 - share)
    half_w, half_h = int(r * width), int(r * height)
    left, top, right, bottom = max(x - half_w, 0), max(y - half_h, 0), min(x + half_w, width), min(y + half_h, height)
    return 1 - (right - left) * (bottom - top) / (width * height), (top, left, bottom, right)


for alpha in (0.1, 0.4, 1, 3):
    shares = [draw({"mixup": (alpha, 1)}, 1, 0, i, 1, 1)[0] for i in range(4000)]
    assert scipy.stats.kstest(shares, scipy.stats.beta(alpha, alpha).cdf).pvalue > 0.01, alpha

rng = np.random.default_rng(2)
tensors = {}
for text, shape, seed, epoch in CASES:
    pictures, labels = rng.integers(0, 256, shape, dtype=np.uint8), rng.integers(0, CLASSES, shape[0])
    x, y = torch.from_numpy(pictures).double() / 255, torch.nn.functional.one_hot(torch.from_numpy(labels), CLASSES).double()
    steps = {}
    for step in text.split(","):
        name, _, rest = step.partition("=")
        if name == "normalise":
            mean, deviation = (float(n) for n in rest.split("/"))
            x = (x - mean) / deviation
        else:
            steps[name] = tuple(float(n) for n in (rest + ":1").split(":")[:2])
    before, target, shares = x.roll(1, 0), y.roll(1, 0), []
    if shape[0] > 1:
        x, y = x.clone(), y.clone()
        for i in range(shape[0]):
            share, cut = draw(steps, seed, epoch, i, *shape[-2:])
            if cut:
                top, left, bottom, right = cut
                x[i, ..., top:bottom, left:right] = before[i, ..., top:bottom, left:right]
            else:
                x[i] = share * x[i] + (1 - share) * before[i]
            y[i] = share * y[i] + (1 - share) * target[i]
            shares.append(share)
    name = f"{text}|{seed}|{epoch}|{shape[0]}"
    tensors |= {f"{name}/in": torch.from_numpy(pictures), f"{name}/label": torch.from_numpy(labels), f"{name}/x": x.float(), f"{name}/y": y.float(), f"{name}/share": torch.tensor(shares or [1.0], dtype=torch.float64)}
save_file(tensors, pathlib.Path(__file__).with_name("mix.safetensors"))
