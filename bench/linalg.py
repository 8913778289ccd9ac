#!/usr/bin/env python3
"""Factorizations beside PyTorch's, which are LAPACK's (MKL): time on one thread, call by call in turn, medians; and the largest |A - product of its factors| over |A|, f64.

    python3 bench/linalg.py build/release/libwick.so
"""
import ctypes as C
import statistics
import sys
import time

import torch

lib = C.CDLL(sys.argv[1])
P = C.c_void_p
lib.wick_from.restype = lib.wick_cholesky.restype = P
lib.wick_from.argtypes = [P, C.c_int, C.c_int, P, P]
lib.wick_cholesky.argtypes = [P, C.c_bool]
lib.wick_qr.argtypes = lib.wick_eigh.argtypes = lib.wick_svd.argtypes = None
lib.wick_read.argtypes = [P, P, C.c_size_t]
lib.wick_eval.argtypes = [P, C.c_int, P, P]
lib.wick_scope_open.restype, lib.wick_scope_open.argtypes, lib.wick_scope_close.argtypes = P, [P], [P]
options = (C.c_int64 * 32)()  # wick_context_options: threads comes first
C.cast(options, C.POINTER(C.c_int))[0] = 1
ctx = P()
assert lib.wick_context_new(options, C.byref(ctx)) == 0
torch.set_num_threads(1)


def wick(op, a):
    """The factors of a, and the seconds that took."""
    dims = (C.c_int64 * 2)(*a.shape)
    out = [P() for _ in range(3)]
    scope = P(lib.wick_scope_open(ctx))
    x = P(lib.wick_from(ctx, 1, 2, dims, a.data_ptr()))
    begin = time.perf_counter()
    if op == "cholesky":
        out[0] = P(lib.wick_cholesky(x, False))
    elif op == "qr":
        lib.wick_qr(x, C.c_bool(False), C.byref(out[0]), C.byref(out[1]))
    elif op == "eigh":
        lib.wick_eigh(x, C.byref(out[0]), C.byref(out[1]))
    else:
        lib.wick_svd(x, C.c_bool(False), C.byref(out[0]), C.byref(out[1]), C.byref(out[2]))
    n = {"cholesky": 1, "qr": 2, "eigh": 2, "svd": 3}[op]
    assert lib.wick_eval(ctx, n, (P * n)(*out[:n]), None) == 0
    took = time.perf_counter() - begin
    shapes = [a.shape[:1] if (op, k) in (("eigh", 0), ("svd", 1)) else a.shape for k in range(n)]
    values = [torch.empty(s, dtype=torch.float64) for s in shapes]
    for handle, value in zip(out, values):
        assert lib.wick_read(handle, value.data_ptr(), value.numel() * 8) == 0
    lib.wick_scope_close(C.byref(scope))
    return values, took


def theirs(op, a):
    begin = time.perf_counter()
    f = {"cholesky": torch.linalg.cholesky, "qr": torch.linalg.qr, "eigh": torch.linalg.eigh, "svd": lambda x: torch.linalg.svd(x, full_matrices=False)}[op](a)
    took = time.perf_counter() - begin
    return ([f] if op == "cholesky" else list(f)), took


def off(op, a, f):
    product = {"cholesky": lambda: f[0] @ f[0].T, "qr": lambda: f[0] @ f[1], "eigh": lambda: f[1] * f[0] @ f[1].T, "svd": lambda: f[0] * f[1] @ f[2]}[op]()
    return ((a - product).abs().max() / a.abs().max()).item()


print("| op | n | Wick ms | PyTorch ms | PyTorch / Wick | Wick off | PyTorch off |\n|---|---|---|---|---|---|---|")
for op in ("cholesky", "qr", "eigh", "svd"):
    for n in (8, 64, 256):
        torch.manual_seed(n)
        a = torch.randn(n, n, dtype=torch.float64)
        a = {"cholesky": a @ a.T + n * torch.eye(n, dtype=torch.float64), "eigh": a + a.T}.get(op, a).contiguous()
        times = ([], [])
        for _ in range(31 if n < 256 else 7):
            ours, t = wick(op, a)
            times[0].append(t)
            other, t = theirs(op, a)
            times[1].append(t)
        w, t = (1e3 * statistics.median(x) for x in times)
        print(f"| {op} | {n} | {w:.3f} | {t:.3f} | {t / w:.2f} | {off(op, a, ours):.1e} | {off(op, a, other):.1e} |", flush=True)
