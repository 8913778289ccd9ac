"""Indexing, sorting, reductions and scans of Wick beside PyTorch's, in turn, round by round: medians of each turn's fastest run (turns of
20 ms), and the ratio with its 95 % interval (bootstrap); the geometric mean of all.

    python index.py BENCH_INDEX [THREADS] [ROUNDS]

BENCH_INDEX is the program of bench_index.c. All in f32, uniform numbers and indices.
"""
import sys

import torch
import torch.nn.functional as F

import race

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 5
race.use(threads)
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
server, ratios = race.Server(program, threads), []
print(race.environment(threads) + f"\n{'op':14} {'rows':>5}   {'columns':8} {'Wick, us':>11} {'PyTorch, us':>11}  ratio (95 %)")
for what, fn in OPS.items():
    for rows, cols in SHAPES:
        x, at, s = torch.rand(rows, cols) * 4 - 2, torch.randint(0, cols, (rows, cols)), torch.linspace(-2, 2, 1000)
        w = x.view(-1, 64)
        r = torch.randint(0, w.shape[0], (w.shape[0],))
        row = race.Ratio(*race.turns(lambda: server.ask(f"{what} {rows} {cols}")[0], lambda: race.fastest(lambda: fn(x, at, s, w, r)), rounds))
        ratios.append(row.ratio)
        print(f"{what:14s} {rows:5d} x {cols:<8d} {row}", flush=True)
print(f"geometric mean of {len(ratios)}: {race.mean(ratios):.2f}")
server.close()
