"""einsum, Fourier transforms and factorizations of Wick beside PyTorch's, in turn, round by round: medians of each turn's fastest run
(turns of 20 ms), and the ratio with its 95 % interval (bootstrap).

    python linalg.py BENCH_LINALG [THREADS] [ROUNDS]

BENCH_LINALG is the program of bench_linalg.c. All in f32.
"""
import math
import random
import statistics
import subprocess
import sys
import time

import torch

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 9
torch.set_num_threads(threads)

EINSUMS = [
    ("ij,jk->ik", (256, 256), (256, 256)), ("ij,jk->ki", (256, 256), (256, 256)), ("bij,bjk->bik", (32, 64, 64), (32, 64, 64)), ("bqhd,bkhd->bhqk", (4, 128, 8, 64), (4, 128, 8, 64)),
    ("bhqk,bkhd->bqhd", (4, 8, 128, 128), (4, 128, 8, 64)), ("bsd,dhe->bshe", (4, 128, 256), (256, 8, 32)), ("bshe,hed->bsd", (4, 128, 8, 32), (8, 32, 256)),
    ("bi,bi->b", (4096, 256), (4096, 256)), ("i,j->ij", (1024,), (1024,)), ("ij,j->i", (1024, 1024), (1024,)), ("bn,anm,bm->ba", (64, 64), (32, 64, 64), (64, 64)),
    ("ij,jk,kl->il", (512, 16), (16, 512), (512, 16)), ("bij->bji", (32, 128, 128)), ("bii->bi", (256, 64, 64)), ("bij->b", (64, 128, 128)), ("bchw,cd->bdhw", (8, 64, 28, 28), (64, 64)),
]
CASES = [(text, *shapes) for text, *shapes in EINSUMS]
CASES += [("fft", (max(1, 262144 // n), n, 2)) for n in (64, 256, 512, 1000, 1024, 1009, 4096, 65536, 1 << 20)]
CASES += [("rfft", (1000, 400)), ("rfft", (512, 512)), ("rfft", (64, 4099)), ("irfft", (512, 257, 2))]
CASES += [("cholesky", (n, n)) for n in (32, 128, 512, 1024)] + [("cholesky", (256, 16, 16))] + [("solve", (n, n), (n, 8)) for n in (32, 128, 512, 1024)]


def torch_run(what, xs):
    if what == "fft":
        return lambda: torch.fft.fft(xs[0])
    if what == "rfft":
        return lambda: torch.fft.rfft(xs[0])
    if what == "irfft":
        return lambda: torch.fft.irfft(xs[0])
    if what == "cholesky":
        return lambda: torch.linalg.cholesky(xs[0])
    if what == "solve":
        return lambda: torch.linalg.solve(*xs)
    return lambda: torch.einsum(what, *xs).contiguous()


child = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
print(f"torch {torch.__version__}, {threads} threads, {rounds} rounds; microseconds")
groups = {}
for what, *shapes in CASES:
    line = what + "".join(" " + "x".join(map(str, s)) for s in shapes)
    xs = [torch.rand(s) for s in shapes]
    if what in ("fft", "irfft"):
        xs = [torch.view_as_complex(xs[0])]
    if what in ("cholesky", "solve"):
        n = shapes[0][-1]
        xs[0] = (xs[0] + xs[0].mT) / 2 + n * torch.eye(n)
    run = torch_run(what, xs)
    pairs = []
    for i in range(rounds + 1):
        child.stdin.write(line + "\n")
        ours = float(child.stdout.readline())
        runs, best, start = 0, math.inf, time.perf_counter()
        at = start
        while at - start < 0.02 or runs < 3:
            run()
            end = time.perf_counter()
            best, at, runs = min(best, end - at), end, runs + 1
        if i:
            pairs.append((ours, best * 1e6))
    ratio = lambda ps: statistics.median(p[1] for p in ps) / statistics.median(p[0] for p in ps)
    spread = sorted(ratio(random.choices(pairs, k=len(pairs))) for _ in range(1000))
    group = what if what in ("cholesky", "solve") else "fft" if what.endswith("fft") else "einsum"
    groups.setdefault(group, []).append(ratio(pairs))
    print(f"{line:50} Wick {statistics.median(p[0] for p in pairs):11.1f}  PyTorch {statistics.median(p[1] for p in pairs):11.1f}  "
          f"ratio {ratio(pairs):.2f} ({spread[25]:.2f} .. {spread[974]:.2f})", flush=True)
for group, ratios in groups.items():
    print(f"{group}: geometric mean of the ratios {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")
child.stdin.close()
child.wait()
