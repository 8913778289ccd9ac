#!/usr/bin/env python3
"""Compiled against op by op: plans of Wick without and with passes and with machine code, beside PyTorch's eager mode and torch.compile. One run, in turn, medians.

    python3 -P bench/compiled.py BUILD [--models DIR] [--threads 1] [--rounds 15] [--rows PATTERN]

needs torch and the C++ compiler that torch.compile takes. BUILD is a Release build. Prints a table: microseconds of each way, how often Wick with machine code goes into Wick op by op and
into each of PyTorch's ways, and geometric means. An update of torch.compile is compiled as PyTorch's documents say, the whole of optimizer.step().
"""
import argparse, fnmatch, math, os, statistics, subprocess, time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--models", default=os.environ.get("WICK_MODELS", "../shared/models"))
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=15)
parser.add_argument("--rows", default="*")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.manual_seed(1)


def chain(x, y):
    a = (x + y) * 0.5
    b = torch.relu((a - x) * y + x)
    return b * (x - y) - torch.abs(y * 2)


class Residual(nn.Module):
    """A block of ResNet-8 (MLPerf Tiny), batch norm folded, as in the file."""

    def __init__(self, i, o, stride):
        super().__init__()
        self.a, self.b = nn.Conv2d(i, o, 3, stride, 1), nn.Conv2d(o, o, 3, 1, 1)
        self.skip = nn.Conv2d(i, o, 1, stride) if i != o else nn.Identity()

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))) + self.skip(x))


def resnet8():
    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1), nn.ReLU(), Residual(16, 16, 1), Residual(16, 32, 2), Residual(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10), nn.Softmax(-1))


def mobilenet():
    """MobileNetV1 0.25 over 96 x 96, batch norm folded."""
    plan, i, parts = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2)] + [(128, 1)] * 5 + [(256, 2), (256, 1)], 8, [nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU()]
    for o, stride in plan:
        parts += [nn.Conv2d(i, i, 3, stride, 1, groups=i), nn.ReLU(), nn.Conv2d(i, o, 1), nn.ReLU()]
        i = o
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 2), nn.Softmax(-1))


def encoder(train):
    layer = nn.TransformerEncoderLayer(256, 8, 1024, 0.0, "gelu", batch_first=True)
    x = torch.rand(4, 64, 256) * 2 - 1
    if not train:
        layer.eval()
        return lambda ways: (lambda f: (lambda: f(x)))(ways(layer)), torch.inference_mode
    adam = torch.optim.Adam(layer.parameters(), 1e-4)

    def made(ways):
        forward, update = ways(lambda x: layer(x).square().mean()), ways(adam.step)

        def step():
            adam.zero_grad()
            forward(x).backward()
            update()

        return step

    return made, torch.enable_grad


def network(net, *shape):
    net, x = net.eval(), torch.rand(*shape) * 2 - 1
    return lambda ways: (lambda f: (lambda: f(x)))(ways(net)), torch.inference_mode


def elementwise(n):
    x, y = torch.rand(n) * 2 - 1, torch.rand(n) * 2 - 1
    return lambda ways: (lambda f: (lambda: f(x, y)))(ways(chain)), torch.inference_mode


def update():
    w = nn.Parameter(torch.randn(1000000))
    w.grad = torch.rand(1000000)
    adam = torch.optim.Adam([w], 1e-4)
    return lambda ways: ways(adam.step), torch.enable_grad


bench = args.models + "/bench/"
ROWS = {"chain_1024": lambda: elementwise(1024), "chain_65536": lambda: elementwise(65536), "chain_16777216": lambda: elementwise(16777216),
        bench + "resnet8/model.onnx": lambda: network(resnet8(), 1, 3, 32, 32), bench + "mobilenetv1_025/model.onnx": lambda: network(mobilenet(), 1, 3, 96, 96),
        "block": lambda: encoder(False), "block_train": lambda: encoder(True), "adam": update}
WICK = ["plain", "compiled", "jit"]


def ask(p, n):
    p.stdin.write(f"{n}\n")
    p.stdin.flush()
    return [int(t) / 1e3 for t in p.stdout.readline().split()]


def time_torch(f, n):
    times = []
    for _ in range(n):
        start = time.perf_counter_ns()
        f()
        times.append((time.perf_counter_ns() - start) / 1e3)
    return times


print("| graph | Wick op by op | compiled | with machine code | PyTorch | torch.compile | of op by op | of PyTorch | of torch.compile |\n|---|---|---|---|---|---|---|---|---|")
gains = [[], [], []]
for row, make in ROWS.items():
    name = row.split("/")[-2] if "/" in row else row
    if not fnmatch.fnmatch(name, args.rows): continue
    ours = [subprocess.Popen([args.build + "/bench/bench_compiled", row, way, str(args.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for way in WICK]
    for p in ours: assert p.stdout.readline() == "ready\n"
    made, mode = make()
    torch.compiler.reset()
    with mode():
        theirs = [made(lambda f: f), made(torch.compile)]
        for f in theirs: time_torch(f, 3)
        first = max(ask(ours[0], 2)[-1], 1)
        n = max(1, min(2000, int(20e3 / first)))
        times = [[] for _ in range(5)]
        for _ in range(args.rounds):
            for k, p in enumerate(ours): times[k] += ask(p, n)
            for k, f in enumerate(theirs): times[3 + k] += time_torch(f, n)
    for p in ours: p.stdin.close()
    us = [statistics.median(t) for t in times]
    ratios = [us[k] / us[2] for k in (0, 3, 4)]
    for g, r in zip(gains, ratios): g.append(r)
    print(f"| {name} | " + " | ".join(f"{t:.1f}" if t < 1000 else f"{t:.0f}" for t in us) + " | " + " | ".join(f"{r:.2f}" for r in ratios) + " |", flush=True)
if gains[0]:
    means = [math.exp(statistics.fmean(map(math.log, g))) for g in gains]
    print("| geometric mean | | | | | | " + " | ".join(f"{m:.2f}" for m in means) + " |")
