#!/usr/bin/env python3
"""What making a plan costs, beside torch.compile and a session of ONNX Runtime: one run, in turn, milliseconds of processor time, one thread.

    python3 bench/compile.py BENCH_COMPILE [--models DIR] [--rounds N]

needs torch, onnxruntime and numpy. BENCH_COMPILE is that program of a release build. Wick and ONNX Runtime: medians of N rounds, the file read, optimised and
made ready to run (DIR/bench/*/model.onnx). torch.compile, with what its C++ compiler takes: once for the chain of 1,000 nodes and for ResNet-8, without its cache on disk.
"""
import argparse, glob, os, resource, statistics, subprocess, sys, tempfile

args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
args.add_argument("program")
args.add_argument("--models", default=os.environ.get("WICK_MODELS", ""))
args.add_argument("--rounds", type=int, default=30)
o = args.parse_args()
for name in ("OMP_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
    os.environ[name] = "1"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
import numpy as np
import onnxruntime as ort
import torch
from torch import nn

torch.set_num_threads(1)


def ms():
    """Of this process and of those it started and waited for."""
    return 1e3 * sum(getattr(resource.getrusage(who), name) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) for name in ("ru_utime", "ru_stime"))


class Wick:
    def __init__(self, *words):
        self.p = subprocess.Popen([o.program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def time(self, what):
        self.p.stdin.write(what + "\n")
        self.p.stdin.flush()
        return float(self.p.stdout.readline())


def session(path):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    start = ms()
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return ms() - start


def torch_compile(f, x):
    torch._dynamo.reset()
    start = ms()
    with torch.no_grad():
        torch.compile(f)(x)
    return ms() - start


def chain(a):
    x = a
    for i in range(1000):
        x = x @ a if i % 3 == 0 else torch.tanh(x) if i % 3 == 1 else x + a
    return x


class Block(nn.Module):
    def __init__(self, c, out, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(c, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(), nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut = nn.Sequential(nn.Conv2d(c, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if c != out else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


resnet8 = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Linear(64, 10)).eval()

print("| graph | Wick: plan | Wick: file to ready | ONNX Runtime: session | torch.compile |\n|---|---|---|---|---|")
wick = Wick()
ours = statistics.median(wick.time("chain") for _ in range(o.rounds))
print(f"| chain of 1,000 nodes | {ours:.2f} ms | | | {torch_compile(chain, torch.randn(16, 16)):.0f} ms |", flush=True)
for path in sorted(glob.glob(os.path.join(o.models, "bench", "*", "model.onnx"))):
    name = os.path.basename(os.path.dirname(path))
    wick = Wick(path)
    times = [(wick.time("plan"), wick.time("open"), session(path)) for _ in range(o.rounds)]
    plan, ready, other = (statistics.median(t[i] for t in times) for i in range(3))
    torch_ms = f"{torch_compile(resnet8, torch.randn(1, 3, 32, 32)):.0f} ms" if name == "resnet8" else ""
    print(f"| {name} | {plan:.2f} ms | {ready:.2f} ms | {other:.2f} ms | {torch_ms} |", flush=True)
