"""Writes compress.h: weights in 8 bits by PyTorch, scales of cross-layer equalisation by NumPy, and the least error of
rounding of 4 bits by trying all roundings, for tests/compress/test_weights.c.

    python tests/golden/make_compress.py > tests/golden/compress.h
"""
import itertools

import numpy as np
import torch

assert np.__version__ == "2.4.6" and torch.__version__.split("+")[0] == "2.13.0", (np.__version__, torch.__version__)

N, K, BLOCK = 3, 20, 8
rng = np.random.default_rng(7)


def number(x):
    text = f"{float(x):.9g}"
    return text + ("f" if "." in text or "e" in text else ".0f")


def emit(name, a):
    print(f"static const float {name}[] = {{")
    flat = np.asarray(a, np.float32).reshape(-1)
    for i in range(0, flat.size, 6):
        print("    " + ", ".join(map(number, flat[i : i + 6])) + ",")
    print("};")


def held(w, f8):
    """Rows of w in 8 bits and back."""
    t = torch.from_numpy(w)
    scale = t.abs().amax(1, keepdim=True) / (448 if f8 else 127)
    if f8:
        return ((t / scale).to(torch.float8_e4m3fn).float() * scale).numpy()
    return (torch.round(t / scale).clamp(-127, 127) * scale).numpy()


def blocks(w, f8):
    return np.concatenate([held(w[:, i : i + BLOCK], f8) for i in range(0, K, BLOCK)], 1)


w = (rng.standard_normal((N, K)) * np.exp(rng.uniform(-3, 1, (N, K)))).astype(np.float32)
print("/* Written by make_compress.py. */")
print(f"enum {{ HELD_N = {N}, HELD_K = {K}, HELD_BLOCK = {BLOCK} }};")
emit("held_weight", w)
for f8 in (False, True):
    emit(f"held_{'f8' if f8 else 'i8'}", held(w, f8))
    emit(f"held_{'f8' if f8 else 'i8'}_blocks", blocks(w, f8))

# Three layers with ReLU between: sweeps of eq. 11 over both pairs.
sizes = (5, 6, 7, 4)
ws = [(rng.standard_normal((a, b)) * np.exp(rng.uniform(-2, 2, (1, b)))).astype(np.float32) for a, b in zip(sizes, sizes[1:])]
bs = [rng.standard_normal(b).astype(np.float32) for b in sizes[1:]]
print("enum { EQ_0 = %d, EQ_1 = %d, EQ_2 = %d, EQ_3 = %d };" % sizes)
for i, (a, b) in enumerate(zip(ws, bs)):
    emit(f"eq_w{i}", a)
    emit(f"eq_b{i}", b)
eq = [a.astype(np.float64) for a in ws]
for _ in range(200):
    for i in (0, 1):
        s = np.sqrt(np.abs(eq[i]).max(0) / np.abs(eq[i + 1]).max(1))
        eq[i], eq[i + 1] = eq[i] / s, eq[i + 1] * s[:, None]
for i in range(3):
    emit(f"eq_w{i}_equal", eq[i])

# Of ten weights of one block each number is rounded up or down: 1,024 ways, of which one changes x w least.
ROWS, FEW = 64, 10
basis = rng.standard_normal((3, FEW))
x = (rng.standard_normal((ROWS, 3)) @ basis + 0.2 * rng.standard_normal((ROWS, FEW))).astype(np.float32)
v = rng.uniform(-1, 1, FEW).astype(np.float32)
scale = np.float32(v[np.abs(v).argmax()] / -8)
low = np.floor(v.astype(np.float64) / scale)
h = x.astype(np.float64).T @ x
errors = []
for ups in itertools.product((0, 1), repeat=FEW):
    d = v - np.clip(low + np.array(ups), -8, 7) * float(scale)
    errors.append(d @ h @ d)
d = v - np.clip(np.round(v.astype(np.float64) / scale), -8, 7) * float(scale)
print(f"enum {{ ROUND_ROWS = {ROWS}, ROUND_K = {FEW} }};")
emit("round_x", x)
emit("round_w", v)
print(f"static const double round_least = {min(errors):.12g}, round_nearest = {d @ h @ d:.12g};")
