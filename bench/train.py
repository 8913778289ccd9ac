#!/usr/bin/env python3
"""Training throughput of Wick beside PyTorch, in one run, interleaved.

    python bench/train.py BUILD_DIR [ROUNDS] [MODEL BATCH]...

Needs torch==2.13.0 (CPU). For each network and batch, both sides run at 1 and at 2 threads, in turns of about 0.3 s; the median of the
turns is taken and each side is reported at its best. PyTorch runs in processes of its own, one per thread count, optimizer form (plain, fused)
and, for images, memory format (contiguous, channels_last), with flush_denormal on, in eager mode.
"""
import json, os, re, statistics, subprocess, sys, time

WORKER = r"""
import sys, time, torch
t0 = time.perf_counter_ns()
model, batch, threads, form = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
fused = {"fused": True} if "fused" in form else {}
torch.set_num_threads(threads); torch.set_flush_denormal(True); torch.manual_seed(1)
from torch import nn
shape, optimizer = (784,), lambda p: torch.optim.Adam(p, lr=1e-3, **fused)
if model == "small":
    net = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = lambda p: torch.optim.SGD(p, lr=0.01, **fused)
elif model == "large":
    net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
elif model == "cnn":
    shape = (1, 28, 28)
    net = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                        nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))
else:
    shape = (3, 32, 32)
    optimizer = lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, **fused)
    class Block(nn.Module):
        def __init__(self, c, out, stride):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(c, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
                                      nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
            self.shortcut = nn.Sequential(nn.Conv2d(c, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if c != out else nn.Identity()
        def forward(self, x): return torch.relu_(self.body(x) + self.shortcut(x))
    net = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
channels_last = "last" in form
if channels_last: net = net.to(memory_format=torch.channels_last)
opt = optimizer(net.parameters())
loss_fn = torch.nn.CrossEntropyLoss()
def rss():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"): return int(line.split()[1]) * 1024
built = time.perf_counter_ns() - t0
x = torch.rand(8192, *shape)
if channels_last: x = x.to(memory_format=torch.channels_last)
y = torch.arange(8192) * 7 % 10
data = x.numel() * 4 + y.numel() * 8
at = 0
def step():
    global at
    opt.zero_grad(set_to_none=True)
    loss = loss_fn(net(x[at:at + batch]), y[at:at + batch])
    loss.backward(); opt.step()
    at = at + batch if at + 2 * batch <= 8192 else 0
    return loss
t1 = time.perf_counter_ns(); step()
print("ready", built + time.perf_counter_ns() - t1, 0, flush=True)
for line in sys.stdin:
    if line[0] == "m": print(rss() - data, flush=True); continue
    n = int(line); t = time.perf_counter_ns()
    for _ in range(n): loss = step()
    print(time.perf_counter_ns() - t, float(loss.detach()), flush=True)
"""


class Side:
    def __init__(self, command, env=None):
        start = time.perf_counter()
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        words = self.p.stdout.readline().split()
        self.start_ms = (time.perf_counter() - start) * 1e3
        self.first_ms, self.flops = int(words[1]) / 1e6, float(words[2])
        self.ns = []

    def ask(self, what):
        self.p.stdin.write(f"{what}\n"); self.p.stdin.flush()
        return self.p.stdout.readline().split()

    def calibrate(self, seconds):
        self.ask(5)
        self.n = max(3, int(seconds * 1e9 / (int(self.ask(20)[0]) / 20)))

    def turn(self):
        self.ns.append(int(self.ask(self.n)[0]) / self.n)

    def done(self):
        rss = int(self.ask("m")[0])
        self.p.stdin.close(); self.p.wait()
        return statistics.median(self.ns), rss


def main():
    build, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7
    try:
        peak = float(re.search(r"([\d.]+) GFLOP/s", subprocess.run([f"{build}/bench/bench_gemm", "avx512", "none"], capture_output=True, text=True).stdout)[1])
    except Exception:
        peak = None
    results, words = [], sys.argv[3:]
    runs = list(zip(words[::2], map(int, words[1::2]))) or [("small", 64), ("small", 256), ("large", 64), ("large", 256), ("cnn", 64), ("resnet8", 64)]
    for model, batch in runs:
        sides = {}
        for threads in (1, 2):
            sides["wick", threads, ""] = Side([f"{build}/bench/bench_train", model, str(batch), str(threads)])
            for form in ("plain", "fused") + (("plain-last", "fused-last") if model in ("cnn", "resnet8") else ()):
                env = dict(os.environ, OMP_NUM_THREADS=str(threads))
                sides["torch", threads, form] = Side([sys.executable, "-c", WORKER, model, str(batch), str(threads), form], env)
        for s in sides.values(): s.calibrate(0.3)
        for _ in range(rounds):
            for s in sides.values(): s.turn()
        best, layers = {}, {}
        for (who, threads, form), s in sides.items():
            if who == "wick": layers[threads] = [l.rsplit(" ", 1) for l in " ".join(s.ask("p")).split(";") if l.strip()]
            ns, rss = s.done()
            if who not in best or ns < best[who]["ns"]:
                best[who] = dict(ns=ns, threads=threads, form=form, rss=rss, start_ms=s.start_ms, first_ms=s.first_ms)
            if who == "wick": flops = s.flops
        w, t = best["wick"], best["torch"]
        row = dict(model=model, batch=batch, wick=batch / w["ns"] * 1e9, wick_threads=w["threads"], torch=batch / t["ns"] * 1e9,
                   torch_threads=t["threads"], torch_form=t["form"], ratio=t["ns"] / w["ns"], gflops=flops / w["ns"],
                   roofline=flops / w["ns"] / (peak * w["threads"]) if peak else None, wick_rss=w["rss"], torch_rss=t["rss"],
                   wick_first_ms=w["start_ms"], torch_first_ms=t["start_ms"], wick_first_step_ms=w["first_ms"])
        if peak: row["layers"] = {name.strip(): round(float(rate) / (peak * w["threads"]), 3) for name, rate in layers[w["threads"]]}
        results.append(row)
        print(f"{model:7} batch {batch:3}: Wick {row['wick']:9.0f}/s ({w['threads']} thr, {row['gflops']:.0f} GFLOP/s"
              + (f", {row['roofline']:.0%} of FMA peak" if peak else "") + f")  PyTorch {row['torch']:9.0f}/s ({t['threads']} thr, {t['form']})"
              f"  ratio {row['ratio']:.2f}  RssAnon {w['rss'] / 2**20:.1f} vs {t['rss'] / 2**20:.1f} MiB  first step {w['first_ms']:.1f} ms after main",
              flush=True)
        for name, share in row.get("layers", {}).items():
            if name.startswith("conv"): print(f"    {name:44} {share:4.0%} of the FMA peak", flush=True)
    print(json.dumps(results))


main()
