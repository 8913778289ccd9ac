"""Attention of Wick beside PyTorch's, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap).

    python attention.py BENCH_ATTENTION [THREADS] [ROUNDS]

BENCH_ATTENTION is the program of bench_attention.c. PyTorch: scaled_dot_product_attention, backward by autograd. On one thread time is the
processor's, which other programs don't lengthen; on more, the clock's.
"""
import sys

import torch
import torch.nn.functional as F

import race

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 31
now = race.use(threads)


def torch_round(q, k, v, r):
    times = []
    for causal in (False, True):
        with torch.no_grad():
            start = now()
            F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            times.append((now() - start) * 1e3)
        for x in (q, k, v):
            x.grad = None
        start = now()
        (F.scaled_dot_product_attention(q, k, v, is_causal=causal) * r).sum().backward()
        times.append((now() - start) * 1e3)
    return times


print(race.environment(threads) + f"\n{'B, H, L, D':20} {'':28} {'Wick, ms':>11} {'PyTorch, ms':>11}  ratio (95 %)")
for shape in ((1, 8, 1024, 64), (1, 8, 256, 64), (8, 4, 128, 32), (1, 8, 1024, 128)):
    q, k, v, r = (torch.randn(shape) for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    server = race.Server(program, threads, *shape)
    ours, theirs = race.turns(server.ask, lambda: torch_round(q, k, v, r), rounds, warmup=3)
    server.close()
    for c, name in enumerate(("forward", "forward + backward", "forward, causal", "forward + backward, causal")):
        print(f"{str(shape):20} {name:28} {race.Ratio(ours[:, c], theirs[:, c])}", flush=True)
