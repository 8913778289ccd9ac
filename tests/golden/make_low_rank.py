"""Writes low_rank.h: a matrix, its singular values, and the product of the r largest, for tests/compress/test_pruner.c.

    python tests/golden/make_low_rank.py > tests/golden/low_rank.h
"""
import numpy as np

assert np.__version__ == "2.4.6", np.__version__

M, N, R = 12, 16, 4
rng = np.random.default_rng(5)
w = (rng.standard_normal((M, N)) * np.exp(-np.arange(N) / 4)).astype(np.float32)
u, s, vt = np.linalg.svd(w.astype(np.float64), full_matrices=False)
best = (u[:, :R] * s[:R]) @ vt[:R]
print("/* Written by make_low_rank.py. */")
print(f"enum {{ LOW_M = {M}, LOW_N = {N}, LOW_R = {R} }};")


def number(x):
    text = f"{float(x):.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


for name, a in (("weight", w), ("best", best)):
    print(f"static const float low_{name}[LOW_M * LOW_N] = {{")
    for row in a.reshape(-1, 4):
        print("    " + ", ".join(map(number, row)) + ",")
    print("};")
energy = np.cumsum(s**2) / np.sum(s**2)
print(f"/* The {R} largest hold this share of the squares, and {R - 1} that. */")
print(f"static const double low_energy = {energy[R - 1]:.12g}, low_less = {energy[R - 2]:.12g};")
