"""Recurrent layers of Wick beside PyTorch's, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap).

    python recurrent.py BENCH_RECURRENT [THREADS] [ROUNDS]

BENCH_RECURRENT is the program of bench_recurrent.c. PyTorch: nn.LSTM, GRU, RNN, backward by autograd; f32, denormals flushed. With one thread
the times are those of the processor, with more the clock's.
"""
import sys

import torch

import race

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 21
now = race.use(threads)
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


print(race.environment(threads) + f"\n{'':44} {'Wick, ms':>11} {'PyTorch, ms':>11}  ratio (95 %)")
for shape in ((64, 32, 256, 256), (64, 1, 256, 256), (100, 64, 80, 128), (20, 128, 512, 512)):
    T, B, I, H = shape
    layers = [kind(I, H) for kind in (torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN)]
    x, r = torch.randn(T, B, I).requires_grad_(), torch.randn(T, B, H)
    server = race.Server(program, threads, *shape)
    ours, theirs = race.turns(server.ask, lambda: torch_round(layers, x, r), rounds, warmup=2)
    server.close()
    for k, name in enumerate(names):
        print(f"T{T:<3} B{B:<3} I{I:<3} H{H:<3} {name:23} {race.Ratio(ours[:, k], theirs[:, k])}", flush=True)
