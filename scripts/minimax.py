#!/usr/bin/env python3
"""Prints polynomials for src/kernels/elementwise/math.h: minimax fits by Remez exchange in 50-digit arithmetic (needs mpmath).

A row: name, the function to fit, its interval, degree, and the weight that an error of it has in the result; printed are C constants,
lowest power first, and the largest weighted error before they were rounded, as a power of two. Run: scripts/minimax.py [NAME...]
"""
import sys
import textwrap

import mpmath as mp

mp.mp.dps = 50
mpf = mp.mpf


def remez(f, lo, hi, degree, weight):
    """p of the degree with the least max |weight (p - f)|: solve for equal alternating errors at n + 2 points, move them to the extremes."""
    n = degree + 2
    lo, hi = mpf(lo), mpf(hi)
    at = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * n)) for i in range(n)]
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * i / (24 * n)) for i in range(24 * n + 1)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    for _ in range(30):
        a = mp.matrix(n, n)
        b = mp.matrix(n, 1)
        for i, x in enumerate(at):
            for k in range(degree + 1):
                a[i, k] = x**k
            a[i, degree + 1] = (-1) ** i / weight(x)
            b[i] = f(x)
        c = mp.lu_solve(a, b)
        p = [c[k] for k in range(degree + 1)]
        errors = [w * (mp.polyval(p[::-1], x) - v) for x, v, w in zip(grid, values, weights)]
        peaks = []  # the largest of each run of one sign
        for x, e in zip(grid, errors):
            if peaks and (peaks[-1][1] > 0) == (e > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        if len(peaks) < n:
            break
        worst, least = max(abs(e) for _, e in peaks), min(abs(e) for _, e in peaks)
        at = [x for x, _ in peaks]
        if worst < least * mpf("1.02"):
            break
    return p, max(abs(e) for e in errors)


def even(g, first):
    """(g(sqrt z) / sqrt z - 1) / z, with its limit `first` at 0"""
    return lambda z: mpf(first) if z < mpf(10) ** -20 else (g(mp.sqrt(z)) / mp.sqrt(z) - 1) / z


def erfcx_part(q):
    a = 4 * (1 + q) / (1 - q)
    return mp.erfc(a) * mp.exp(a * a) * (1 + 2 * a)


def erfinv_of(w):  # erfinv(x) / x by w = -log(1 - x^2)
    if w < mpf(10) ** -20:
        return mp.sqrt(mp.pi) / 2
    x = mp.sqrt(-mp.expm1(-w))
    y = mp.sqrt(w) if w > 1 else x  # Newton by erfc: 1 - x keeps its digits
    target = -mp.expm1(-w)
    left = mp.exp(-w) / (1 + x)
    for _ in range(60):
        step = (mp.erfc(y) - left) / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y -= step
        if abs(step) < mpf(10) ** -40:
            break
    return y / x


def stirling(u):
    x = 1 / mp.sqrt(u) if u else mpf(10) ** 9
    return (mp.loggamma(x) - (x - mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x if u > 1e-9 else mpf(1) / 12 - u / 360


def digamma(u):  # log x - 1 / 2x - psi(x) over u
    x = 1 / mp.sqrt(u) if u else 0
    return (mp.log(x) - 1 / (2 * x) - mp.psi(0, x)) / u if u > 1e-9 else mpf(1) / 12 - u / 120


def gelu_bits(x):  # -log2(erfc(x / sqrt 2)) / x
    return -mp.log(mp.erfc(x / mp.sqrt(2)), 2) / x if x > mpf(10) ** -15 else mp.sqrt(2 / mp.pi) / mp.log(2)


one = lambda x: mpf(1)
exp2 = lambda r: mp.log(2) if abs(r) < mpf(10) ** -20 else mp.expm1(r * mp.log(2)) / r
exp2_weight = lambda r: max(abs(r), mpf(10) ** -6) / 2**r
gamma2 = lambda t: 1 - mp.euler if abs(t) < mpf(10) ** -20 else mp.loggamma(2 + t) / t
relative = lambda f: lambda x: 1 / abs(f(x))
wide = lambda f: lambda s: f(s * s)
rows = [  # name, type of the coefficients, function, interval, degree, weight
    ("exp2_c_f32", "float", exp2, -0.501, 0.501, 5, exp2_weight),
    ("exp2_c_f64", "double", exp2, -0.501, 0.501, 11, exp2_weight),
    ("cbrt_c", "double", mp.cbrt, 0.3535, 2.829, 5, lambda x: 1 / mp.cbrt(x)),
    ("asin_c_f32", "double", even(mp.asin, mpf(1) / 6), 0, 0.25, 6, lambda z: max(z, mpf("1e-6"))),
    ("asin_c_f64", "double", even(mp.asin, mpf(1) / 6), 0, 0.25, 12, lambda z: max(z, mpf("1e-6"))),
    ("atan_c_f32", "double", even(mp.atan, mpf(-1) / 3), 0, 1, 10, lambda z: max(z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), mpf("1e-6")) if z else mpf("1e-6")),
    ("gelu_c_f32", "float", gelu_bits, 0, 5.7, 7, lambda x: mp.erfc(x / mp.sqrt(2)) / 2 * mp.log(2) * max(x, mpf("1e-6"))),
    ("atan_c_f64", "double", even(mp.atan, mpf(-1) / 3), 0, 0.1915, 11, lambda z: max(z, mpf("1e-6"))),
    ("asinh_c_f64", "double", even(mp.asinh, mpf(-1) / 6), 0, 0.3601, 13, lambda z: max(z, mpf("1e-6"))),
    ("erfcx_c_f32", "double", erfcx_part, -1, 0.45, 12, relative(erfcx_part)),
    ("erfcx_c_f64", "double", erfcx_part, -1, 0.76, 24, relative(erfcx_part)),
    ("erfinv_c", "double", erfinv_of, 0, 5, 10, relative(erfinv_of)),
    ("erfinv_tail_c", "double", wide(erfinv_of), 2.23, 6.07, 14, relative(wide(erfinv_of))),
    ("lgamma_c", "double", gamma2, -0.5, 0.5, 19, relative(gamma2)),
    ("stirling_c", "double", stirling, 0, mpf(1) / 64, 6, one),
    ("digamma_c", "double", digamma, 0, mpf(1) / 64, 6, one),
]


def hexed(x, kind):
    """float.hex of x rounded to kind, without zeros at its end."""
    digits = 24 if kind == "float" else 53
    with mp.workprec(digits):
        text = float(+x).hex()
    mantissa, exponent = text.split("p")
    return mantissa.rstrip("0").rstrip(".") + "p" + exponent + ("f" if kind == "float" else "")


def gelu_steps():
    """Phi(a) - 1/2 around a = i 3/8, i < 16, as the registers that the AVX-512 kernel looks coefficients up in: [power][i]"""
    phi = lambda a: mp.erf(a / mp.sqrt(2)) / 2
    h, table, worst = mpf(3) / 8, [], mpf(0)
    for i in range(16):
        if i == 0:  # exactly 0 at 0
            p, error = remez(lambda a: phi(a) / a if a else 1 / mp.sqrt(2 * mp.pi), 0, h / 2, 4, lambda a: max(a, mpf("1e-6")))
            p = [mpf(0)] + p
        else:
            p, error = remez(lambda r: phi(i * h + r), -h / 2, h / 2, 5, one)
        table.append(p)
        worst = max(worst, error)
    print(f"static const float wick_gelu_steps[6][16] = {{ /* 2^{float(mp.log(worst, 2)):.1f} */")
    for k in range(6):
        print(textwrap.fill("{" + ", ".join(hexed(p[k], "float") for p in table) + "},", 150, initial_indent="    ", subsequent_indent="     ", break_long_words=False))
    print("};")


if __name__ == "__main__":
    if len(sys.argv) == 1 or "gelu_steps" in sys.argv[1:]:
        gelu_steps()
    for name, kind, f, lo, hi, degree, weight in rows:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        p, error = remez(f, lo, hi, degree, weight)
        text = f"static const {kind} wick_{name}[] = {{/* 2^{float(mp.log(error, 2)):.1f} */ " + ", ".join(hexed(c, kind) for c in p) + "};"
        print(textwrap.fill(text, 118, subsequent_indent="    ", break_long_words=False), flush=True)
