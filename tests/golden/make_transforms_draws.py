"""The random numbers of make_transforms.py and make_signals.py."""
import math

import numpy as np


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al., SC 2011)."""
    c, k, mask = list(counter), list(key), 0xFFFFFFFF
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & mask, (p0 >> 32) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def between(word, low, high):
    return low + (word + 0.5) / 2**32 * (high - low)


def normals(seed, stream, offset, n):
    """wick_fill_normal's: Box and Muller on pairs of words of Philox."""
    words = np.array([philox([b & 0xFFFFFFFF, b >> 32, stream & 0xFFFFFFFF, offset & 0xFFFFFFFF], [(seed ^ stream >> 32) & 0xFFFFFFFF, seed >> 32 ^ offset >> 32]) for b in range(-(-n // 4))], dtype=np.uint64).ravel()
    u, t = (words[::2] + 0.5) / 2**32, words[1::2].astype(np.uint32).astype(np.int32) * (math.pi / 2**31)
    r = np.sqrt(-2 * np.log(u))
    return np.stack([r * np.cos(t), r * np.sin(t)], 1).ravel()[:n]
