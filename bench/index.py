"""Indexing, sorting, reductions and scans of Wick beside PyTorch's, in turn, round by round: medians of each turn's fastest run (turns of
20 ms), and their ratio; the geometric mean of all.

    python index.py BENCH_INDEX [THREADS] [ROUNDS]

BENCH_INDEX is the program of bench_index.c. All in f32, uniform numbers and indices.
"""
import math
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 5
torch.set_num_threads(threads)
SHAPES = [(1, 1024), (256, 256), (1024, 1024), (1, 1 << 20)]
OPS = {
    "sort": lambda x, at, s, w, r: torch.sort(x, dim=-1, stable=True), "argsort": lambda x, at, s, w, r: torch.argsort(x, dim=-1, stable=True),
    "topk": lambda x, at, s, w, r: torch.topk(x, 16, -1), "median": lambda x, at, s, w, r: torch.median(x, -1), "searchsorted": lambda x, at, s, w, r: torch.searchsorted(s, x),
    "bincount": lambda x, at, s, w, r: torch.bincount(at.flatten(), minlength=x.shape[1]), "gather": lambda x, at, s, w, r: torch.gather(x, -1, at),
    "scatter_add": lambda x, at, s, w, r: x.scatter_add(-1, at, x), "scatter_amax": lambda x, at, s, w, r: x.scatter_reduce(-1, at, x, "amax"),
    "embedding": lambda x, at, s, w, r: F.embedding(r, w), "index_add": lambda x, at, s, w, r: w.index_add(0, r, w), "cumsum": lambda x, at, s, w, r: torch.cumsum(x, -1),
    "cumsum 0": lambda x, at, s, w, r: torch.cumsum(x, 0), "cumprod": lambda x, at, s, w, r: torch.cumprod(x, -1), "cummax": lambda x, at, s, w, r: torch.cummax(x, -1),
    "logcumsumexp": lambda x, at, s, w, r: torch.logcumsumexp(x, -1), "logsumexp": lambda x, at, s, w, r: torch.logsumexp(x, -1), "norm": lambda x, at, s, w, r: torch.linalg.vector_norm(x),
    "std": lambda x, at, s, w, r: torch.std(x, -1), "max": lambda x, at, s, w, r: torch.max(x, -1), "count_nonzero": lambda x, at, s, w, r: torch.count_nonzero(x),
    "tril": lambda x, at, s, w, r: torch.tril(x), "roll": lambda x, at, s, w, r: torch.roll(x, x.shape[1] // 3, -1), "stack": lambda x, at, s, w, r: torch.stack((x, x)),
    "tile": lambda x, at, s, w, r: torch.tile(x, (1, 2)),
}
child = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
print(f"torch {torch.__version__}, {threads} threads, {rounds} rounds; microseconds")
logs = []
for what, fn in OPS.items():
    for rows, cols in SHAPES:
        x, at, s = torch.rand(rows, cols) * 4 - 2, torch.randint(0, cols, (rows, cols)), torch.linspace(-2, 2, 1000)
        w = x.view(-1, 64)
        r = torch.randint(0, w.shape[0], (w.shape[0],))
        pairs = []
        for i in range(rounds + 1):
            child.stdin.write(f"{what} {rows} {cols}\n")
            ours = float(child.stdout.readline())
            runs, best, start = 0, math.inf, time.perf_counter()
            end = start
            while end - start < 0.02 or runs < 3:
                before = time.perf_counter()
                fn(x, at, s, w, r)
                end = time.perf_counter()
                best, runs = min(best, end - before), runs + 1
            if i:  # the first round warms up
                pairs.append((ours, best * 1e6))
        ours, theirs = (statistics.median(p[k] for p in pairs) for k in (0, 1))
        logs.append(math.log(theirs / ours))
        print(f"{what:14s} {rows:5d} x {cols:<8d} {ours:12.1f} {theirs:12.1f}  {theirs / ours:7.2f}", flush=True)
print(f"geometric mean of {len(logs)}: {math.exp(sum(logs) / len(logs)):.2f}")
