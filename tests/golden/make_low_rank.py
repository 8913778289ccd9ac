"""Writes low_rank.h: a matrix, its singular values, and the product of the r largest; a convolution's weight, what its HOSVD of the ranks that hold
FILTER_ENERGY leaves of it, and what the singular values of its columns and rows of taps leave: for tests/compress/test_pruner.c.

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

O, I, K, E = 9, 7, 3, 0.9
f = sum(np.einsum("o,i,h,w->oihw", *(rng.standard_normal(n) for n in (O, I, K, K))) * np.exp(-k / 20) for k in range(12)).astype(np.float32)


def least(sizes):
    return int(np.searchsorted(np.cumsum(sizes**2) / np.sum(sizes**2), E) + 1)


def unfolded(x, axis):
    return np.moveaxis(x, axis, 0).reshape(x.shape[axis], -1)


whole = f.astype(np.float64)
bases = []
for axis in (0, 1):
    basis, sizes, _ = np.linalg.svd(unfolded(whole, axis), full_matrices=False)
    bases.append(basis[:, : least(sizes)])
a, b = bases
core = np.einsum("oihw,oa,ib->abhw", whole, a, b)
tucker = np.einsum("abhw,oa,ib->oihw", core, a, b)
u, s, vt = np.linalg.svd(whole.transpose(1, 2, 3, 0).reshape(I * K, K * O), full_matrices=False)
r = least(s)
spatial = ((u[:, :r] * s[:r]) @ vt[:r]).reshape(I, K, K, O).transpose(3, 0, 1, 2)
print(f"enum {{ FILTER_O = {O}, FILTER_I = {I}, FILTER_K = {K}, TUCKER_O = {a.shape[1]}, TUCKER_I = {b.shape[1]}, SPATIAL_R = {r} }};")
print(f"static const double filter_energy = {E};")
for name, x in (("filter_weight", f), ("filter_tucker", tucker), ("filter_spatial", spatial)):
    print(f"static const float {name}[FILTER_O * FILTER_I * FILTER_K * FILTER_K] = {{")
    for row in x.reshape(-1, 3):
        print("    " + ", ".join(map(number, row)) + ",")
    print("};")
