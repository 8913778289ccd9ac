"""Attention of Wick beside PyTorch's, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap).

    python attention.py BENCH_ATTENTION [THREADS] [ROUNDS]

BENCH_ATTENTION is the program of bench_attention.c. PyTorch: scaled_dot_product_attention, backward by autograd. On one thread time is the
processor's, which other programs don't lengthen; on more, the clock's.
"""
import random
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 31
torch.set_num_threads(threads)
now = time.process_time if threads == 1 else time.perf_counter


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


print(f"torch {torch.__version__}, {threads} threads, {rounds} rounds; ms")
for shape in ((1, 8, 1024, 64), (1, 8, 256, 64), (8, 4, 128, 32), (1, 8, 1024, 128)):
    q, k, v, r = (torch.randn(shape) for _ in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    child = subprocess.Popen([program, str(threads), *map(str, shape)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    ours, theirs = [], []
    for i in range(rounds + 3):
        child.stdin.write("\n")
        child.stdin.flush()
        line = list(map(float, child.stdout.readline().split()))
        other = torch_round(q, k, v, r)
        if i >= 3:
            ours.append(line), theirs.append(other)
    child.stdin.close()
    child.wait()
    for c, name in enumerate(("forward", "forward + backward", "forward, causal", "forward + backward, causal")):
        pairs = [(a[c], b[c]) for a, b in zip(ours, theirs)]
        ratio = lambda ps: statistics.median(p[1] for p in ps) / statistics.median(p[0] for p in ps)
        spread = sorted(ratio(random.choices(pairs, k=len(pairs))) for _ in range(1000))
        print(f"{str(shape):20} {name:28} Wick {statistics.median(p[0] for p in pairs):8.3f}  PyTorch {statistics.median(p[1] for p in pairs):8.3f}  "
              f"ratio {ratio(pairs):.2f} ({spread[25]:.2f} .. {spread[974]:.2f})")
