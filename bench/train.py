#!/usr/bin/env python3
"""Training throughput of Wick beside PyTorch, in one run, interleaved.

    python bench/train.py BUILD_DIR [ROUNDS]

Needs torch==2.13.0 (CPU). For each network and batch, both sides run at 1 and at 2 threads, in turns of about 0.3 s; the median of the
turns is taken and each side is reported at its better thread count. PyTorch runs in processes of its own, one per thread count, with
flush_denormal on, the fastest optimizer form it has (foreach/fused where they win), eager mode.
"""
import json, os, re, statistics, subprocess, sys, time

WORKER = r"""
import sys, time, torch
t0 = time.perf_counter_ns()
model, batch, threads, fused = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "fused"
torch.set_num_threads(threads); torch.set_flush_denormal(True); torch.manual_seed(1)
L = torch.nn.Linear
if model == "large":
    net = torch.nn.Sequential(L(784, 512), torch.nn.ReLU(), L(512, 512), torch.nn.ReLU(), L(512, 10))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, **({"fused": True} if fused else {}))
else:
    net = torch.nn.Sequential(L(784, 128), torch.nn.ReLU(), L(128, 10))
    opt = torch.optim.SGD(net.parameters(), lr=0.01, **({"fused": True} if fused else {}))
loss_fn = torch.nn.CrossEntropyLoss()
def rss():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"): return int(line.split()[1]) * 1024
built = time.perf_counter_ns() - t0
x = torch.rand(8192, 784); y = torch.arange(8192) * 7 % 10
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
    print(time.perf_counter_ns() - t, float(loss), flush=True)
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
    results = []
    for model, batch in (("small", 64), ("small", 256), ("large", 64), ("large", 256)):
        sides = {}
        for threads in (1, 2):
            sides["wick", threads, ""] = Side([f"{build}/bench/bench_train", model, str(batch), str(threads)])
            for form in ("plain", "fused"):
                env = dict(os.environ, OMP_NUM_THREADS=str(threads))
                sides["torch", threads, form] = Side([sys.executable, "-c", WORKER, model, str(batch), str(threads), form], env)
        for s in sides.values(): s.calibrate(0.3)
        for _ in range(rounds):
            for s in sides.values(): s.turn()
        best = {}
        for (who, threads, form), s in sides.items():
            ns, rss = s.done()
            if who not in best or ns < best[who]["ns"]:
                best[who] = dict(ns=ns, threads=threads, form=form, rss=rss, start_ms=s.start_ms, first_ms=s.first_ms)
            if who == "wick": flops = s.flops
        w, t = best["wick"], best["torch"]
        row = dict(model=model, batch=batch, wick=batch / w["ns"] * 1e9, wick_threads=w["threads"], torch=batch / t["ns"] * 1e9,
                   torch_threads=t["threads"], torch_form=t["form"], ratio=t["ns"] / w["ns"], gflops=flops / w["ns"],
                   roofline=flops / w["ns"] / (peak * w["threads"]) if peak else None, wick_rss=w["rss"], torch_rss=t["rss"],
                   wick_first_ms=w["start_ms"], torch_first_ms=t["start_ms"], wick_first_step_ms=w["first_ms"])
        results.append(row)
        print(f"{model:5} batch {batch:3}: Wick {row['wick']:9.0f}/s ({w['threads']} thr, {row['gflops']:.0f} GFLOP/s"
              + (f", {row['roofline']:.0%} of FMA peak" if peak else "") + f")  PyTorch {row['torch']:9.0f}/s ({t['threads']} thr, {t['form']})"
              f"  ratio {row['ratio']:.2f}  RssAnon {w['rss'] / 2**20:.1f} vs {t['rss'] / 2**20:.1f} MiB  first step {w['first_ms']:.1f} ms after main",
              flush=True)
    print(json.dumps(results))


main()
