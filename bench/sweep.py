#!/usr/bin/env python3
"""Layers and small nets over the ranges that users have, beside ONNX Runtime: a chart of ratios, and what is below 0.8.

    python3 -P bench/sweep.py BUILD [--isa avx2] [--only GRID,...] [--seconds S] [--rounds N]
                                    [--against BUILD] [--json FILE] [--svg docs/sweep.svg] [--write docs/benchmarks/sweep.md] [--list]
    python3 -P bench/sweep.py --from FILE --svg ... --write ...     draws what --json kept, without measuring

needs onnxruntime, onnx and numpy. BUILD is a release build with bench_onnx. A grid has two axes; each of its cells is an
ONNX model of one node or a few, written to a temporary folder. Both sides run it on one thread in turn, and every single
run is timed; a cell is ONNX Runtime's time by Wick's, of the lower quartiles of all runs of all turns, which a machine
with other work disturbs less than medians. --against has another build of Wick in place of ONNX Runtime. Outputs are compared: a cell that differs is marked. ONNX Runtime has its
default optimisations, and inputs and outputs bound beforehand. --isa holds Wick to a tier; ONNX Runtime can't be held.
"""
import argparse, itertools, json, math, os, subprocess, sys, tempfile, time

import numpy as np

FINDING = 0.8  # a cell below it is one
KERNELS, STRIDES = (1, 2, 3, 5, 7, 9, 11), (1, 2, 3, 4)
CHANNELS, ROWS = (16, 64, 256, 1024, 2048), (1, 2, 4, 8, 16, 64, 256, 1024, 4096)
BEGIN, END = "<!-- sweep: written by bench/sweep.py -->", "<!-- sweep: end -->"


class Net:
    """A model in the making: nodes, weights, and inputs with their values."""

    def __init__(self):
        self.nodes, self.weights, self.feeds, self.random = [], {}, {}, np.random.default_rng(1)

    def normal(self, *shape, scale=1.0):
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def bytes(self, *shape, signed=False):
        low, high, dtype = (-127, 128, np.int8) if signed else (0, 256, np.uint8)
        return self.random.integers(low, high, shape, dtype)

    def weight(self, value):
        name = "w%d" % len(self.weights)
        self.weights[name] = np.asarray(value)
        return name

    def feed(self, value):
        name = "x%d" % len(self.feeds)
        self.feeds[name] = np.asarray(value)
        return name

    def put(self, op, inputs, outputs=1, domain="", **attributes):
        from onnx import helper
        names = ["v%d_%d" % (len(self.nodes), i) for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, folder, results):
        import onnx
        from onnx import helper, numpy_helper
        kinds = {k: helper.np_dtype_to_tensor_dtype(v.dtype) for k, v in self.feeds.items()}
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info(k, kinds[k], v.shape) for k, v in self.feeds.items()],
            [helper.make_empty_tensor_value_info(r) for r in results],
            [numpy_helper.from_array(v, k) for k, v in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        model = onnx.shape_inference.infer_shapes(model)
        known = {v.name: v for v in model.graph.value_info}
        for port in model.graph.output:
            if not port.type.HasField("tensor_type") and port.name in known: port.CopyFrom(known[port.name])
        onnx.save(model, folder + "/model.onnx")
        for k, v in self.feeds.items(): np.save("%s/%s.npy" % (folder, k), v)
        return folder + "/model.onnx", ["%s/%s.npy" % (folder, k) for k in self.feeds]


# Layers: each puts its nodes into a net and returns the name of the result.

def conv(net, ci, co, extent, kernel, stride, group=1, dims=2, kind="f32"):
    attributes = dict(pads=[(kernel - 1) // 2] * 2 * dims, strides=[stride] * dims, group=group)
    shape, into = (1, ci) + (extent,) * dims, (co, ci // group) + (kernel,) * dims
    if kind == "int8":
        scale, zero = net.weight(np.float32(0.02)), net.weight(np.uint8(7))
        return net.put("QLinearConv", [net.feed(net.bytes(*shape)), scale, zero, net.weight(net.bytes(*into, signed=True)),
                                       net.weight(np.full(co, 0.01, np.float32)), net.weight(np.zeros(co, np.int8)),
                                       net.weight(np.float32(0.5)), net.weight(np.uint8(120))], **attributes)
    if kind == "dynamic":
        x, scale, zero = net.put("DynamicQuantizeLinear", [net.feed(net.normal(*shape))], 3)
        y = net.put("ConvInteger", [x, net.weight(net.bytes(*into, signed=True)), zero], **attributes)
        return net.put("Mul", [net.put("Cast", [y], to=1), net.put("Mul", [scale, net.weight(np.float32(0.01))])])
    cast = np.float16 if kind == "f16" else np.float32
    w = net.weight(net.normal(*into, scale=1 / math.sqrt(np.prod(into[1:]))).astype(cast))
    return net.put("Conv", [net.feed(net.normal(*shape).astype(cast)), w, net.weight(net.normal(co).astype(cast))],
                   **attributes)


def transposed(net, kernel, stride):
    w = net.weight(net.normal(32, 32, kernel, kernel, scale=0.1))
    return net.put("ConvTranspose", [net.feed(net.normal(1, 32, 16, 16)), w], strides=[stride, stride])


def matmul(net, rows, k, n, kind="f32"):
    if kind == "int8":
        scales = [net.weight(np.float32(s)) for s in (0.02, 0.01, 0.5)]
        zeros = [net.weight(np.uint8(7)), net.weight(np.int8(0)), net.weight(np.uint8(120))]
        return net.put("QLinearMatMul", [net.feed(net.bytes(rows, k)), scales[0], zeros[0],
                                         net.weight(net.bytes(k, n, signed=True)), scales[1], zeros[1], scales[2], zeros[2]])
    if kind == "dynamic":
        x, scale, zero = net.put("DynamicQuantizeLinear", [net.feed(net.normal(rows, k))], 3)
        y = net.put("MatMulInteger", [x, net.weight(net.bytes(k, n, signed=True)), zero, net.weight(np.int8(0))])
        return net.put("Mul", [net.put("Cast", [y], to=1), net.put("Mul", [scale, net.weight(np.float32(0.01))])])
    cast = np.float16 if kind == "f16" else np.float32
    return net.put("MatMul", [net.feed(net.normal(rows, k).astype(cast)),
                              net.weight(net.normal(k, n, scale=1 / math.sqrt(k)).astype(cast))])


def recurrent(net, op, steps, hidden, direction="forward", batch=1):
    gates, d = {"LSTM": 4, "GRU": 3, "RNN": 1}[op], 2 if direction == "bidirectional" else 1
    scale = 1 / math.sqrt(hidden)
    weights = [net.weight(net.normal(d, gates * hidden, hidden, scale=scale)) for _ in range(2)]
    bias = net.weight(net.normal(d, 2 * gates * hidden, scale=scale))
    y = net.put(op, [net.feed(net.normal(steps, batch, hidden)), *weights, bias], hidden_size=hidden, direction=direction)
    return y


def unrolled(net, steps, hidden):
    """LSTM cells one after another, as exporters unroll them: all nodes share two matrices and a bias."""
    scale = 1 / math.sqrt(hidden)
    wx, wh = (net.weight(net.normal(hidden, 4 * hidden, scale=scale)) for _ in range(2))
    bias, h, c = net.weight(net.normal(4 * hidden, scale=scale)), None, None
    for x in net.put("Split", [net.feed(net.normal(steps, hidden))], steps, axis=0, num_outputs=steps) if steps > 1 \
            else [net.feed(net.normal(1, hidden))]:
        g = net.put("Add", [net.put("MatMul", [x, wx]), bias])
        if h: g = net.put("Add", [g, net.put("MatMul", [h, wh])])
        i, o, f, z = net.put("Split", [g], 4, axis=1, num_outputs=4)
        fresh = net.put("Mul", [net.put("Sigmoid", [i]), net.put("Tanh", [z])])
        c = net.put("Add", [net.put("Mul", [net.put("Sigmoid", [f]), c]), fresh]) if c else fresh
        h = net.put("Mul", [net.put("Sigmoid", [o]), net.put("Tanh", [c])])
    return h


def rows_of(net, op, rows, columns):
    x = net.feed(net.normal(rows, columns))
    if op == "LayerNormalization": return net.put(op, [x, net.weight(net.normal(columns)), net.weight(net.normal(columns))])
    if op == "TopK": return net.put(op, [x, net.weight(np.array([min(8, columns)]))], 2, axis=1)[0]
    if op in ("ReduceSum", "ReduceMax"): return net.put(op, [x, net.weight(np.array([1]))])
    return net.put(op, [x], **({"axis": 1} if op == "Softmax" else {}))


def attention(net, steps, width, heads=4):
    """Self-attention of one sequence in plain nodes, scores scaled, no mask."""
    q, k, v = (net.feed(net.normal(1, heads, steps, width)) for _ in range(3))
    scores = net.put("MatMul", [q, net.put("Transpose", [k], perm=[0, 1, 3, 2])])
    shares = net.put("Softmax", [net.put("Mul", [scores, net.weight(np.float32(width ** -0.5))])], axis=-1)
    return net.put("MatMul", [shares, v])


def mlp(net, layers, width, rows=1):
    x, one = net.feed(net.normal(rows, width)), None
    w = net.weight(net.normal(width, width, scale=1 / math.sqrt(width)))
    for _ in range(layers): x = net.put("Relu", [net.put("MatMul", [x, w])])
    return x


def cnn(net, blocks, channels):
    """A stem, blocks of a depthwise and a 1 x 1 layer with a residual, a mean and a dense layer."""
    w = lambda *s: net.weight(net.normal(*s, scale=1 / math.sqrt(np.prod(s[1:]))))
    x = net.put("Relu", [net.put("Conv", [net.feed(net.normal(1, 3, 48, 48)), w(channels, 3, 3, 3)], strides=[2, 2],
                                 pads=[1] * 4)])
    for _ in range(blocks):
        y = net.put("Relu", [net.put("Conv", [x, w(channels, 1, 3, 3)], group=channels, pads=[1] * 4)])
        x = net.put("Add", [x, net.put("Conv", [y, w(channels, channels, 1, 1)])])
    x = net.put("Flatten", [net.put("GlobalAveragePool", [x])])
    return net.put("MatMul", [x, w(channels, 10)])


def window(net, op, kernel, stride):
    return net.put(op, [net.feed(net.normal(1, 64, 56, 56))], kernel_shape=[kernel] * 2, strides=[stride] * 2)


def grids():
    """name: (what, axis of rows, its values, axis of columns, its values, the layer, whether a cell is left out)."""
    g, big = {}, lambda r, c: r * c * c > 1 << 33
    for kind, text in (("f32", "f32"), ("f16", "f16"), ("int8", "8 bits, static"), ("dynamic", "8 bits, dynamic")):
        g["matmul_" + kind] = ("product, " + text, "rows", ROWS, "channels", CHANNELS,
                               lambda n, r, c, kind=kind: matmul(n, r, c, c, kind), big)
        g["conv_" + kind] = ("convolution of 64 channels of 32 x 32, " + text, "kernel", KERNELS, "stride", STRIDES,
                             lambda n, k, s, kind=kind: conv(n, 64, 64, 32, k, s, kind=kind), None)
        g["channels3_" + kind] = ("convolution 3 x 3 of 14 x 14, " + text, "channels in", (1, 3, 16, 64, 256, 1024),
                                  "channels out", (1, 8, 64, 256, 1024),
                                  lambda n, i, o, kind=kind: conv(n, i, o, 14, 3, 1, kind=kind), None)
    g["channels1_f32"] = ("convolution 1 x 1 of 14 x 14, f32", "channels in", (1, 3, 16, 64, 256, 1024, 2048),
                          "channels out", (1, 8, 64, 256, 1024), lambda n, i, o: conv(n, i, o, 14, 1, 1), None)
    g["conv1d"] = ("convolution along time, 64 channels, f32", "kernel", KERNELS, "sequence", (1, 16, 128, 1024, 4096),
                   lambda n, k, t: conv(n, 64, 64, t, k, 1, dims=1), lambda k, t: t + (k - 1) // 2 * 2 < k)
    for kind in ("f32", "int8"):
        g["depthwise_" + kind] = ("depthwise, 64 channels of 32 x 32, " + kind, "kernel", KERNELS[1:], "stride", STRIDES,
                                  lambda n, k, s, kind=kind: conv(n, 64, 64, 32, k, s, group=64, kind=kind), None)
    g["depthwise_channels"] = ("depthwise 3 x 3, f32", "channels", (1, 8, 32, 256, 2048), "extent", (4, 14, 56),
                               lambda n, c, e: conv(n, c, c, e, 3, 1, group=c), None)
    g["transposed"] = ("transposed convolution, 32 channels of 16 x 16", "kernel", KERNELS, "stride", STRIDES, transposed,
                       None)
    for op in ("MaxPool", "AveragePool"):
        g[op.lower()] = (op + ", 64 channels of 56 x 56", "kernel", KERNELS[1:], "stride", STRIDES,
                         lambda n, k, s, op=op: window(n, op, k, s), None)
    for op in ("LSTM", "GRU"):
        for direction in ("forward", "reverse", "bidirectional"):
            g["%s_%s" % (op.lower(), direction)] = (
                "%s, %s, batch 1" % (op, direction), "sequence", (1, 4, 16, 64, 256, 1024, 4096), "hidden", (16, 64, 128, 512),
                lambda n, t, h, op=op, d=direction: recurrent(n, op, t, h, d), lambda t, h: t * h * h > 1 << 27)
    g["lstm_batch"] = ("LSTM, 64 steps", "batch", (2, 8, 64), "hidden", (16, 64, 256),
                       lambda n, b, h: recurrent(n, "LSTM", 64, h, batch=b), None)
    g["unrolled"] = ("LSTM unrolled, shared weights", "steps", (1, 4, 16, 64), "hidden", (16, 64, 256), unrolled, None)
    g["attention"] = ("attention, 4 heads", "sequence", (1, 4, 16, 64, 256, 1024), "width", (16, 32, 64, 128), attention, None)
    for op in ("Softmax", "LayerNormalization", "TopK", "ReduceSum", "ReduceMax", "Tanh", "Sigmoid", "Gelu", "Exp", "Erf"):
        g[op.lower()] = (op, "rows", (1, 64, 4096), "columns", (16, 256, 2048),
                         lambda n, r, c, op=op: rows_of(n, op, r, c), None)
    g["mlp"] = ("dense layers with one shared weight, ReLU", "layers", (1, 4, 16), "width", (16, 128, 512, 1024), mlp, None)
    g["cnn"] = ("depthwise separable residual net", "blocks", (1, 4, 12), "channels", (8, 32, 128), cnn, None)
    return g


class Wick:
    def __init__(self, build, model, feeds, isa):
        env = dict(os.environ, **({"WICK_ISA": isa} if isa else {}))
        self.p = subprocess.Popen([build + "/bench/bench_onnx", model, "1"] + feeds, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        if not self.p.stdout.readline(): raise RuntimeError(self.p.stderr.read().strip())

    def ask(self, what):
        self.p.stdin.write("%s\n" % what)
        self.p.stdin.flush()
        return [int(w) for w in self.p.stdout.readline().split()]

    def outputs(self, folder):
        for i in range(64):
            if os.path.exists("%s/output_%d.npy" % (folder, i)): os.remove("%s/output_%d.npy" % (folder, i))
        self.ask("o " + folder)
        return [np.load("%s/output_%d.npy" % (folder, i)) for i in range(64) if os.path.exists("%s/output_%d.npy" % (folder, i))]

    def close(self):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()
        self.p.stderr.close()


class Peer:
    def __init__(self, model, feeds):
        import onnxruntime
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = 1, 1, 3
        self.session = onnxruntime.InferenceSession(model, o, providers=["CPUExecutionProvider"])
        names = [x.name for x in self.session.get_outputs()]
        self.got = self.session.run(names, feeds)
        value = onnxruntime.OrtValue.ortvalue_from_numpy
        self.kept = [value(np.ascontiguousarray(v)) for v in feeds.values()] + [value(np.array(v)) for v in self.got]
        self.io = self.session.io_binding()
        for n, v in zip(feeds, self.kept): self.io.bind_ortvalue_input(n, v)
        for n, v in zip(names, self.kept[len(feeds):]): self.io.bind_ortvalue_output(n, v)

    def outputs(self, folder): return self.got

    def close(self): pass

    def ask(self, count):
        run, now, io, times = self.session.run_with_iobinding, time.perf_counter_ns, self.io, []
        for _ in range(count):
            began = now()
            run(io)
            times.append(now() - began)
        return times


def agree(a, b):
    """Within the rounding of the type: halves are rounded at other places, bytes may differ by a step."""
    for x, y in zip(a, b):
        if x.shape != y.shape: return False
        near = {"float16": 2e-2, "uint8": 1, "int8": 1}.get(x.dtype.name, 1e-3)
        x, y = x.astype(np.float64), y.astype(np.float64)
        if not np.allclose(x, y, rtol=near if near < 1 else 0, atol=near * max(1.0, np.abs(y).max() if near < 1 else 1.0)):
            return False
    return len(a) == len(b) > 0


def quartile(times):
    return sorted(times)[len(times) // 4] / 1e3


def race(build, layer, at, a):
    net = Net()
    result = layer(net, *at)
    with tempfile.TemporaryDirectory() as folder:
        model, feeds = net.save(folder, [result])
        wick = Wick(build, model, feeds, a.isa)
        peer = Wick(a.against, model, feeds, a.isa) if a.against else Peer(model, net.feeds)
        try:
            cell = dict(differs=not agree(wick.outputs(folder), peer.outputs(folder)))
            sides = []
            for side in (wick, peer):
                side.ask(2)
                sides.append((side, max(1, min(5000, int(a.seconds * 1e9 / min(side.ask(3))))), []))
            for _ in range(a.rounds):
                for side, count, times in sides: times += side.ask(count)
        finally:
            wick.close()
            peer.close()
    cell["wick_us"], cell["peer_us"] = (quartile(times) for _, _, times in sides)
    return dict(cell, ratio=cell["peer_us"] / cell["wick_us"])


def mean(ratios): return math.exp(sum(map(math.log, ratios)) / len(ratios))


def colour(ratio):
    for bound, fill in ((0.8, "#d7604b"), (0.95, "#f0b27a"), (1.1, "#eceff1"), (2, "#b7dcb0"), (math.inf, "#6fb56b")):
        if ratio < bound: return fill


def draw(result):
    """The grids side by side, a rectangle for each cell with its ratio in it."""
    cell_w, cell_h, left, page = 38, 17, 44, 1240
    x = y = tallest = 0
    parts = []
    for grid in result["grids"]:
        w, h = 300, 76 + cell_h * len(grid["rows"])
        if x + w > page: x, y, tallest = 0, y + tallest, 0
        parts += ['<g transform="translate(%d %d)"><text x="4" y="14" font-weight="bold">%s</text>' % (x, y + 30, grid["what"]),
                  '<text x="4" y="30" fill="#555">%s by %s</text>' % (grid["row"], grid["column"])]
        for j, c in enumerate(grid["columns"]):
            parts.append('<text x="%d" y="46" text-anchor="middle">%s</text>' % (left + cell_w * j + cell_w // 2, c))
        for i, r in enumerate(grid["rows"]):
            top = 50 + cell_h * i
            parts.append('<text x="%d" y="%d" text-anchor="end">%s</text>' % (left - 6, top + 13, r))
            for j, c in enumerate(grid["columns"]):
                cell = grid["cells"].get("%s,%s" % (r, c))
                if not cell: continue
                at = left + cell_w * j
                parts.append('<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/><text x="%d" y="%d" '
                             'text-anchor="middle">%s</text>' % (at, top, cell_w - 1, cell_h - 1, colour(cell["ratio"]),
                                                                 at + cell_w // 2, top + 12, short(cell)))
        parts.append("</g>")
        x, tallest = x + w + 10, max(tallest, h)
    height = y + tallest + 40
    head = ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">'
            '<rect width="%d" height="%d" fill="#fff"/>\n<text x="4" y="18" font-size="14">%s</text>\n'
            % (page, height, page, height, "%s's time by Wick's, one thread, %s" % (result["peer"], result["machine"])))
    return head + "\n".join(parts) + "\n</svg>\n"


def short(cell):
    r = cell["ratio"]
    return ("%.0f" % r if r >= 9.95 else "%.1f" % r if r >= 1.95 else "%.2f" % r) + ("*" if cell["differs"] else "")


def page(result):
    lines = ["%s, one thread, %s." % (result["peer"], result["machine"]), "",
             "| grid | cells | mean | worst | below %g |" % FINDING, "|---|---|---|---|---|"]
    found, every = [], []
    for grid in result["grids"]:
        cells = list(grid["cells"].items())
        if not cells: continue
        ratios = [c["ratio"] for _, c in cells]
        every += ratios
        at, worst = min(cells, key=lambda c: c[1]["ratio"])
        low = [(c["ratio"], grid, at, c) for at, c in cells if c["ratio"] < FINDING]
        found += low
        lines.append("| %s | %d | %.2f | %s: %.2f | %s |" % (grid["what"], len(cells), mean(ratios), at.replace(",", " by "),
                                                          worst["ratio"], len(low) or ""))
    lines += ["", "All %d cells: %.2f in the mean, %d below %g." % (len(every), mean(every), len(found), FINDING), "",
              "| finding | ratio | Wick, us | %s, us |" % result["peer"], "|---|---|---|---|"]
    for ratio, grid, at, c in sorted(found, key=lambda f: f[0]):
        r, column = at.split(",")
        lines.append("| %s: %s %s, %s %s | %.2f | %.1f | %.1f |" % (grid["what"], grid["row"], r, grid["column"], column, ratio,
                                                                    c["wick_us"], c["peer_us"]))
    differs = [(g["what"], at) for g in result["grids"] for at, c in g["cells"].items() if c["differs"]]
    failed = [(g["what"], at, text) for g in result["grids"] for at, text in g.get("failed", {}).items()]
    if differs: lines += ["", "Results differ (*): " + "; ".join("%s %s" % d for d in differs) + "."]
    if failed: lines += ["", "Not run: " + "; ".join("%s %s (%s)" % f for f in failed) + "."]
    return "\n".join(lines)


def machine(isa):
    found = {}
    for line in open("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        found.setdefault(key.strip(), value.strip())
    tier = isa or ("AVX-512" if "avx512vl" in found.get("flags", "") else "AVX2" if "avx2" in found.get("flags", "") else "")
    return "%s (family %s, model %s), %s" % (found.get("model name", "a CPU"), found.get("cpu family", "?"),
                                             found.get("model", "?"), tier)


def measure(a):
    import onnxruntime
    peer = a.against or "ONNX Runtime " + onnxruntime.__version__
    result = dict(peer=peer, machine=machine(a.isa), grids=[])
    for name, (what, row, rows, column, columns, layer, skip) in grids().items():
        if a.only and name not in a.only.split(","): continue
        grid = dict(name=name, what=what, row=row, rows=rows, column=column, columns=columns, cells={}, failed={})
        result["grids"].append(grid)
        for at in itertools.product(rows, columns):
            if skip and skip(*at): continue
            try: cell = race(a.build, layer, at, a)
            except Exception as e:
                grid["failed"]["%s,%s" % at] = str(e).split("\n")[0][:200]
                print("%-20s %s" % (name, at), "FAILED:", e, flush=True)
                continue
            grid["cells"]["%s,%s" % at] = cell
            print("%-20s %5s %5s  %9.1f us, the other %9.1f: %.2f%s" % (name, *at, cell["wick_us"], cell["peer_us"],
                  cell["ratio"], " DIFFERS" if cell["differs"] else ""), flush=True)
        if a.json: json.dump(result, open(a.json, "w"))
    return result


def main():
    p = argparse.ArgumentParser()
    p.add_argument("build", nargs="?")
    p.add_argument("--isa", default="", help="the tier that Wick uses at most")
    p.add_argument("--against", default="", help="another build of Wick, instead of ONNX Runtime")
    p.add_argument("--only", default="", help="names of grids")
    p.add_argument("--seconds", type=float, default=0.01, help="of a turn")
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--json", default="", help="keep what was measured in this file")
    p.add_argument("--from", dest="source", default="", help="what --json kept")
    p.add_argument("--svg", default="", help="the chart")
    p.add_argument("--write", default="", help="put the tables between their markers in this file")
    p.add_argument("--list", action="store_true", help="names of grids")
    a = p.parse_args()
    if a.list:
        for name, g in grids().items(): print("%-22s %s: %s %s by %s %s" % (name, g[0], g[1], g[2], g[3], g[4]))
        return
    if not a.source and not a.build: p.error("BUILD or --from FILE")
    result = json.load(open(a.source)) if a.source else measure(a)
    text = page(result)
    print("\n" + text)
    if a.svg: open(a.svg, "w").write(draw(result))
    if a.write:
        old = open(a.write).read()
        head, rest = old.split(BEGIN, 1)
        open(a.write, "w").write(head + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END, 1)[1])


main()
