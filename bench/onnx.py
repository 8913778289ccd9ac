#!/usr/bin/env python3
"""Imported models beside ONNX Runtime: latency on one and two threads, start-up, memory. One run, interleaved; outputs are compared first.

    python3 bench/onnx.py BUILD [--models DIR] [--seconds S] [--only NAME,...] [--write docs/benchmarks/models.md]

needs onnxruntime, onnx and numpy. BUILD is a release build with bench_onnx. Every model of DIR/onnx and DIR/bench runs on its first reference
input. Both sides are processes that take turns: each turn runs a model for a fraction of a second, and every single run is timed; p50 and p95
are of all runs of all turns. ONNX Runtime has its default optimisations and its inputs and outputs bound beforehand, so that Python is not timed.
Start-up is from the start of the process to the first result, and that without what imports take (main to the first result; of ONNX Runtime the
session and the first run); medians of starts taken in turn. RssAnon is of the whole process; of ONNX Runtime without what Python with NumPy has.
"""
import argparse, glob, json, math, os, statistics, subprocess, sys, tempfile, time

sys.path.pop(0)  # this folder, where onnx is this file

WORKER = r"""
import sys, time
import numpy as np
def rss():
    for l in open("/proc/self/status"):
        if l.startswith("RssAnon"): return int(l.split()[1]) * 1024
base = rss()
import onnxruntime as ort
began = time.perf_counter_ns()
model, threads = sys.argv[1], int(sys.argv[2])
o = ort.SessionOptions()
o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = threads, 1, 3
s = ort.InferenceSession(model, o, providers=["CPUExecutionProvider"])
feeds = {i.name: np.load(f) for i, f in zip(s.get_inputs(), sys.argv[3:])}
names = [x.name for x in s.get_outputs()]
out = s.run(names, feeds)
ready = time.perf_counter_ns() - began
kept = [ort.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(v)) for v in feeds.values()]
into = [ort.OrtValue.ortvalue_from_numpy(np.array(v)) for v in out]
io = s.io_binding()
for n, v in zip(feeds, kept): io.bind_ortvalue_input(n, v)
for n, v in zip(names, into): io.bind_ortvalue_output(n, v)
run, now = s.run_with_iobinding, time.perf_counter_ns
try: run(io)
except Exception: run = lambda _: s.run(names, feeds)  # some files declare outputs of another rank than they give: these can't be bound
print("ready", ready, "bound", flush=True)
for line in sys.stdin:
    if line[0] == "m": print(rss() - base, flush=True); continue
    if line[0] == "o":
        for i, v in enumerate(into): np.save(f"{line[2:].strip()}/output_{i}.npy", v.numpy())
        print(0, flush=True); continue
    times = []
    for _ in range(int(line)):
        t = now(); run(io); times.append(now() - t)
    print(*times, flush=True)
"""


class Side:
    def __init__(self, command, threads):
        start = time.perf_counter()
        env = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        words = self.p.stdout.readline().split()
        if not words: raise RuntimeError(f"no answer from {command[-4:]}")
        self.start_ms, self.load_ms, self.how = (time.perf_counter() - start) * 1e3, int(words[1]) / 1e6, words[2]
        self.ns = []

    def ask(self, what):
        self.p.stdin.write(f"{what}\n"); self.p.stdin.flush()
        return self.p.stdout.readline().split()

    def calibrate(self, seconds):
        first = [int(w) for w in self.ask(2)]
        n = max(2, min(200, int(0.05e9 / first[1])))
        self.n = max(2, min(20000, int(seconds * 1e9 / statistics.median(int(w) for w in self.ask(n)))))

    def turn(self): self.ns += [int(w) for w in self.ask(self.n)]

    def close(self):
        self.p.stdin.close(); self.p.wait()

    def at(self, q):
        v = sorted(self.ns)
        return v[max(0, math.ceil(q * len(v)) - 1)] / 1e3


def inputs_of(folder, work):
    """The first reference input of a model, as .npy files."""
    import numpy as np, onnx
    from onnx import numpy_helper
    graph = onnx.load(folder + "/model.onnx").graph
    known = {i.name for i in graph.initializer}
    paths = []
    for i, port in enumerate(x for x in graph.input if x.name not in known):
        path = f"{work}/input_{i}.npy"
        if os.path.exists(f"{folder}/input_{i}.npy"): np.save(path, np.load(f"{folder}/input_{i}.npy"))
        else:
            t = onnx.TensorProto()
            t.ParseFromString(open(f"{folder}/test_data_set_0/input_{i}.pb", "rb").read())
            value = numpy_helper.to_array(t)
            np.save(path, value if port.type.tensor_type.shape.dim else value.reshape(()))  # some sets of data have [1] where the model has a number
        paths.append(path)
    return paths


def steps_of(folder):
    """By output, the step of the quantiser that it comes from, or 0."""
    import onnx
    from onnx import numpy_helper
    graph = onnx.load(folder + "/model.onnx").graph
    known, made = {i.name: i for i in graph.initializer}, {o: n for n in graph.node for o in n.output}
    def step(name):
        node = made.get(name)
        return float(numpy_helper.to_array(known[node.input[1]]).max()) if node and node.op_type == "DequantizeLinear" and node.input[1] in known else 0
    return [step(o.name) for o in graph.output]


def agree(a, b, steps):
    import numpy as np
    n = 0
    while os.path.exists(f"{a}/output_{n}.npy"):
        x, y = np.load(f"{a}/output_{n}.npy"), np.load(f"{b}/output_{n}.npy")
        if x.shape != y.shape or not np.allclose(x, y, rtol=1e-3, atol=1e-4 + steps[n], equal_nan=True): return False
        n += 1
    return n > 0


def race(name, folder, build, seconds, rounds, starts):
    with tempfile.TemporaryDirectory() as work:
        paths = inputs_of(folder, work)
        def start(who, threads):
            head = [f"{build}/bench/bench_onnx"] if who == "wick" else [sys.executable, "-c", WORKER]
            return Side(head + [folder + "/model.onnx", str(threads)] + paths, threads)
        sides = {(who, threads): start(who, threads) for threads in (1, 2) for who in ("wick", "ort")}
        for who in ("wick", "ort"):
            os.mkdir(f"{work}/{who}")
            sides[who, 1].ask(f"o {work}/{who}")
        row = dict(model=name, agrees=agree(f"{work}/ort", f"{work}/wick", steps_of(folder)), how=sides["wick", 1].how)
        for s in sides.values(): s.calibrate(seconds)
        for _ in range(rounds):
            for s in sides.values(): s.turn()
        boots = {"wick": [sides["wick", 1]], "ort": [sides["ort", 1]]}
        for _ in range(starts):
            for who in boots: boots[who].append(start(who, 1))
        for (who, threads), s in sides.items():
            row[f"{who}_p50_{threads}"], row[f"{who}_p95_{threads}"] = s.at(0.5), s.at(0.95)
        for who in boots:
            row[f"{who}_rss"] = int(sides[who, 1].ask("m")[0])
            # the first start also brought the files into memory
            row[f"{who}_start"] = statistics.median(s.start_ms for s in boots[who][1:] or boots[who])
            row[f"{who}_load"] = statistics.median(s.load_ms for s in boots[who][1:] or boots[who])
        for s in [*sides.values(), *boots["wick"][1:], *boots["ort"][1:]]: s.close()
    for threads in (1, 2): row[f"ratio_{threads}"] = row[f"ort_p50_{threads}"] / row[f"wick_p50_{threads}"]
    return row


def ms(us): return f"{us / 1e3:.3f}" if us < 1e5 else f"{us / 1e3:.1f}"


def table(rows):
    lines = ["| model | Wick, 1 thread | ONNX Runtime | ratio | Wick, 2 threads | ONNX Runtime | ratio | start | load | RssAnon |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        cells = [r["model"] + (" ¹" if r["how"] == "recorded" else "") + ("" if r["agrees"] else " ²")]
        for t in (1, 2):
            cells += [f"{ms(r[f'{w}_p50_{t}'])} / {ms(r[f'{w}_p95_{t}'])}" for w in ("wick", "ort")] + [f"{r[f'ratio_{t}']:.2f}"]
        cells += [f"{r['wick_start']:.0f} / {r['ort_start']:.0f}", f"{r['wick_load']:.1f} / {r['ort_load']:.1f}",
                  f"{r['wick_rss'] / 2**20:.1f} / {r['ort_rss'] / 2**20:.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    mean = lambda key: math.exp(statistics.mean(math.log(key(r)) for r in rows))
    worst = {t: min(rows, key=lambda r: r[f"ratio_{t}"]) for t in (1, 2)}
    lines += ["", f"Geometric means over {len(rows)} models: ratio {mean(lambda r: r['ratio_1']):.2f} on one thread and "
              f"{mean(lambda r: r['ratio_2']):.2f} on two; start {mean(lambda r: r['ort_start'] / r['wick_start']):.1f}, load "
              f"{mean(lambda r: r['ort_load'] / r['wick_load']):.1f} and RssAnon {mean(lambda r: r['ort_rss'] / r['wick_rss']):.1f} times less. Worst: "
              f"{worst[1]['model']} with {worst[1]['ratio_1']:.2f} on one thread, {worst[2]['model']} with {worst[2]['ratio_2']:.2f} on two."]
    if any(r["how"] == "recorded" for r in rows): lines += ["", "¹ recorded for every run: its sizes depend on values."]
    if not all(r["agrees"] for r in rows): lines += ["", "² the outputs differ by more than rtol 1e-3, atol 1e-4 and, if they are quantised, a step."]
    return "\n".join(lines)


BEGIN, END = "<!-- onnx: written by bench/onnx.py -->", "<!-- onnx: end -->"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("--models", default=os.environ.get("WICK_MODELS", "../shared/models"))
    p.add_argument("--seconds", type=float, default=0.15, help="of a turn")
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--starts", type=int, default=3)
    p.add_argument("--only", default="")
    p.add_argument("--write", default="", help="put the table between its markers in this file")
    a = p.parse_args()
    import onnxruntime
    rows = []
    for folder in sorted(glob.glob(f"{a.models}/onnx/*/")) + sorted(glob.glob(f"{a.models}/bench/*/")):
        name = os.path.basename(folder.rstrip("/"))
        if a.only and name not in a.only.split(","): continue
        r = race(name, folder.rstrip("/"), a.build, a.seconds, a.rounds, a.starts)
        rows.append(r)
        print(f"{name:50} {ms(r['wick_p50_1']):>9} ms, ONNX Runtime {ms(r['ort_p50_1']):>9}: {r['ratio_1']:.2f}; two threads {r['ratio_2']:.2f}; load "
              f"{r['wick_load']:.1f} / {r['ort_load']:.1f} ms; {r['wick_rss'] / 2**20:.1f} / {r['ort_rss'] / 2**20:.1f} MiB {r['how']}"
              f"{'' if r['agrees'] else ' DIFFERS'}", flush=True)
    load = os.getloadavg()[0]
    text = (f"ONNX Runtime {onnxruntime.__version__}; milliseconds p50 / p95; ratio: ONNX Runtime's p50 by Wick's; start and load (ms) and RssAnon (MiB): "
            f"Wick / ONNX Runtime. Load of the machine at the end: {load:.1f}.\n\n" + table(rows))
    print("\n" + text + "\n")
    if a.write:
        page = open(a.write).read()
        head, rest = page.split(BEGIN, 1)
        open(a.write, "w").write(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END, 1)[1])
    print(json.dumps(rows))


main()
