"""Recurrent layers of Wick beside PyTorch's, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap).

    python recurrent.py BENCH_RECURRENT [THREADS] [ROUNDS]

BENCH_RECURRENT is the program of bench_recurrent.c. PyTorch: nn.LSTM, GRU, RNN, backward by autograd; f32, denormals flushed. With one thread
the times are those of the processor, with more the clock's.
"""
import random
import statistics
import subprocess
import sys
import time

import torch

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 21
now = time.process_time if threads == 1 else time.perf_counter  # as bench_recurrent.c
torch.set_num_threads(threads)
torch.set_flush_denormal(True)
names = [f"{cell} {what}" for cell in ("lstm", "gru", "rnn") for what in ("forward", "with backward")]


def torch_round(layers, x, r):
    times = []
    for m in layers:
        with torch.no_grad():
            start = now()
            m(x)
            times.append((now() - start) * 1e3)
        x.grad = None
        m.zero_grad(set_to_none=True)
        start = now()
        (m(x)[0] * r).sum().backward()
        times.append((now() - start) * 1e3)
    return times


print(f"torch {torch.__version__}, {threads} threads, {rounds} rounds; ms")
for shape in ((64, 32, 256, 256), (64, 1, 256, 256), (100, 64, 80, 128), (20, 128, 512, 512)):
    T, B, I, H = shape
    layers = [kind(I, H) for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)]
    x, r = torch.randn(T, B, I).requires_grad_(), torch.randn(T, B, H)
    child = subprocess.Popen([program, str(threads), *map(str, shape)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    ours, theirs = [], []
    for i in range(rounds + 2):
        child.stdin.write("\n")
        child.stdin.flush()
        line = list(map(float, child.stdout.readline().split()))
        other = torch_round(layers, x, r)
        if i >= 2:
            ours.append(line), theirs.append(other)
    child.stdin.close()
    child.wait()
    for k, name in enumerate(names):
        pairs = [(a[k], b[k]) for a, b in zip(ours, theirs)]
        ratio = lambda s: statistics.median(b for _, b in s) / statistics.median(a for a, _ in s)
        draws = sorted(ratio([random.choice(pairs) for _ in pairs]) for _ in range(500))
        print(f"T{T} B{B} I{I} H{H} {name:20s} wick {statistics.median(a for a, _ in pairs):9.3f}  torch {statistics.median(b for _, b in pairs):9.3f}"
              f"  ratio {ratio(pairs):5.2f} ({draws[12]:.2f} to {draws[487]:.2f})", flush=True)
