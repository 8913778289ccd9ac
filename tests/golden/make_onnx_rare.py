"""What files may say and few do, with ONNX Runtime's outputs, or NumPy's where it refuses them: tests/golden/onnx/rare_*.onnx and .pb, as make_onnx.py writes them.

    python make_onnx_rare.py [PART OF A NAME]

Needs onnx, onnxruntime and ml_dtypes.
"""
import os
import sys

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
ONLY = sys.argv[1] if len(sys.argv) > 1 else ""
rng = np.random.default_rng(11)


def f32(*dims):
    return rng.standard_normal(dims).astype(np.float32)


def tensor(a, name=""):
    if isinstance(a, onnx.TensorProto):
        a.name = name
        return a
    a = np.asarray(a)
    if a.dtype.kind in "OU":
        return helper.make_tensor(name, T.STRING, a.shape, [str(s).encode() for s in a.ravel()])
    return numpy_helper.from_array(a, name)


def type_of(a):
    return tensor(a).data_type


def save(name, nodes, outputs, weights, values, opset=21, ir=10, got=None, domains=()):
    """outputs: names, or (name, type). got: what ONNX Runtime does not say."""
    name = "rare_" + name
    if ONLY not in name:
        return
    inputs = [helper.make_tensor_value_info(n, type_of(v), np.shape(v)) for n, v in values.items()]
    outs = [helper.make_tensor_value_info(*((o, T.FLOAT) if isinstance(o, str) else o), None) for o in outputs]
    graph = helper.make_graph(nodes, "g", inputs, outs, [tensor(w, n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in domains], ir_version=ir)
    if got is None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        got = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {n: np.asarray(v) for n, v in values.items()})
    data = onnx.SequenceProto(elem_type=3)
    for value in list(values.values()) + list(got):
        data.sequence_values.append(onnx.SequenceProto(elem_type=1, tensor_values=[tensor(value)]))
    for suffix, proto in ((".onnx", model), (".pb", data)):
        with open(os.path.join(HERE, name + suffix), "wb") as f:
            f.write(proto.SerializeToString())
    print(name, [np.shape(v) for v in got])


def one(name, op, inputs, attributes, weights, values, type=T.FLOAT, **more):
    save(name, [helper.make_node(op, inputs, ["y"], **attributes)], [("y", type)], weights, values, **more)


# ---- recurrent layers with other activations, and other numbers of theirs

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(name, op, activations, alpha, beta, direction="forward", lengths=None, states=False, peephole=False, layout=0, **more):
    hidden, steps, batch, features = 3, 5, 2, 2
    d, g = 2 if direction == "bidirectional" else 1, GATES[op]
    weights = {"W": f32(d, g * hidden, features), "R": f32(d, g * hidden, hidden), "B": f32(d, 2 * g * hidden)}
    values = {"x": f32(*((batch, steps, features) if layout else (steps, batch, features)))}
    inputs = ["x", "W", "R", "B", "", "", "", ""]
    if lengths:
        weights["n"] = np.int32(lengths)
        inputs[4] = "n"
    if states:
        values["h"] = f32(*((batch, d, hidden) if layout else (d, batch, hidden)))
        inputs[5] = "h"
    if states and op == "LSTM":
        values["c"] = f32(*((batch, d, hidden) if layout else (d, batch, hidden)))
        inputs[6] = "c"
    if peephole:
        weights["P"] = f32(d, 3 * hidden)
        inputs[7] = "P"
    inputs = inputs[: 8 if op == "LSTM" else 6]
    more |= {n: v for n, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v} | {"hidden_size": hidden, "direction": direction, "activations": activations}
    outputs = ["y", "yh", "yc"] if op == "LSTM" else ["y", "yh"]
    if layout:  # ONNX Runtime has layout 0 only
        turned = [helper.make_node("Transpose", [n], [n + "t"], perm=[1, 0, 2]) for n in values]
        node = helper.make_node(op, [n + "t" if n in values else n for n in inputs], [o + "t" for o in outputs], **more)
        back = [helper.make_node("Transpose", [o + "t"], [o], perm=[2, 0, 1, 3] if o == "y" else [1, 0, 2]) for o in outputs]
        graph = helper.make_graph(turned + [node] + back, "g", [helper.make_tensor_value_info(n, T.FLOAT, None) for n in values],
                                  [helper.make_tensor_value_info(o, T.FLOAT, None) for o in outputs], [tensor(w, n) for n, w in weights.items()])
        got = ort.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()).run(None, values)
        more["layout"] = 1
    node = helper.make_node(op, inputs, outputs, **more)
    save(name, [node], outputs, weights, values, got=got if layout else None)


recurrent("rnn_affine", "RNN", ["Affine", "LeakyRelu"], [0.3, 0.2], [0.1], "bidirectional")
recurrent("rnn_threshold", "RNN", ["ThresholdedRelu", "ScaledTanh"], [0.4, 1.2], [0.6], "bidirectional", lengths=[5, 2], states=True)
recurrent("rnn_elu_reverse", "RNN", ["Elu"], [0.5], [], "reverse", clip=0.8)
recurrent("rnn_softplus", "RNN", ["Softplus"], [], [])
recurrent("rnn_leaky_default", "RNN", ["LeakyRelu"], [], [])
recurrent("gru_numbers", "GRU", ["HardSigmoid", "ScaledTanh"], [0.3, 0.9], [0.4, 1.1])
recurrent("gru_both", "GRU", ["HardSigmoid", "LeakyRelu", "Sigmoid", "Elu"], [0.3, 0.05, 0.7], [0.4], "bidirectional", lengths=[3, 5], states=True, linear_before_reset=1)
recurrent("gru_clip", "GRU", ["Sigmoid", "Softplus"], [], [], clip=0.7, states=True)
recurrent("lstm_numbers", "LSTM", ["HardSigmoid", "ScaledTanh", "LeakyRelu"], [0.3, 0.9, 0.1], [0.4, 1.1], states=True)
recurrent("lstm_peephole", "LSTM", ["Sigmoid", "Elu", "Tanh", "HardSigmoid", "Tanh", "Affine"], [0.5, 0.3, 0.7], [0.6, 0.1], "bidirectional", lengths=[2, 5], states=True,
          peephole=True)
recurrent("lstm_coupled", "LSTM", ["Sigmoid", "Softplus", "Tanh"], [], [], clip=0.9, input_forget=1)
recurrent("lstm_batch_first", "LSTM", ["Sigmoid", "LeakyRelu", "Tanh"], [0.3], [], states=True, layout=1)

# ---- margins longer than the axis: ONNX Runtime has the wrapped ones, NumPy all

for mode in ("wrap", "reflect", "edge"):
    for i, (shape, before, after) in enumerate((((2, 3), (1, 7), (5, 5)), ((3, 1), (4, 2), (7, 3)), ((2, 5), (2, -2), (3, 11)), ((2, 3, 4), (9, 0, 4), (0, 8, 4)))):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        cut = x[tuple(slice(max(-b, 0), n - max(-a, 0)) for n, b, a in zip(shape, before, after))]
        want = np.pad(cut, [(max(b, 0), max(a, 0)) for b, a in zip(before, after)], mode=mode)
        one(f"pad_{mode}_{i}", "Pad", ["x", "p"], {"mode": mode}, {"p": np.int64(before + after)}, {"x": x}, got=[want])

# ---- numbers packed in bytes, in ops that only move elements: what NumPy makes of them

PACKED = {"i4": (T.INT4, ml_dtypes.int4, T.INT32), "u4": (T.UINT4, ml_dtypes.uint4, T.INT32), "i2": (T.INT2, ml_dtypes.int2, T.INT32), "u2": (T.UINT2, ml_dtypes.uint2, T.INT32),
          "f4": (T.FLOAT4E2M1, ml_dtypes.float4_e2m1fn, T.FLOAT)}


def numbers(kind, *shape):
    a = rng.integers(0, 1 << 30, shape)
    if kind == "f4":
        return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)[a % 15]
    low, high = {"i4": (-8, 7), "u4": (0, 15), "i2": (-2, 1), "u2": (0, 3)}[kind]
    return (low + a % (high - low + 1)).astype(np.int32)


for kind, (type, dtype, shown) in PACKED.items():
    x, other, fill = numbers(kind, 3, 5), numbers(kind, 2, 5), numbers(kind)
    i64 = {"perm": [4, 2], "at": [2, 0], "lo": [1, 4], "hi": [3, -9], "axes": [0, 1], "steps": [1, -2], "size": [2, 3, 5], "pads": [1, 0, 0, 2], "tiles": [2, 1], "flat": [5, -1], "front": [0],
           "split": [2, 3]}
    weights = {n: np.int64(v) for n, v in i64.items()} | {n: helper.make_tensor("", type, np.shape(v), np.ravel(v)) for n, v in (("w", x), ("v", other), ("f", fill))}
    weights["m"] = np.bool_([[1], [0], [1]])
    made = [
        ("Transpose", ["w"], {}, x.T), ("Gather", ["w", "at"], {"axis": 1}, x[:, [2, 0]]), ("Slice", ["w", "lo", "hi", "axes", "steps"], {}, x[1:3, 4::-2]),
        ("Concat", ["w", "v"], {"axis": 0}, np.concatenate([x, other])), ("Expand", ["w", "size"], {}, np.broadcast_to(x, (2, 3, 5))),
        ("Pad", ["w", "pads", "f"], {}, np.pad(x, ((1, 0), (0, 2)), constant_values=fill)), ("Pad", ["w", "pads"], {"mode": "wrap"}, np.pad(x, ((1, 0), (0, 2)), mode="wrap")),
        ("Tile", ["w", "tiles"], {}, np.tile(x, (2, 1))), ("Where", ["m", "w", "f"], {}, np.where([[1], [0], [1]], x, fill)),
        ("Reshape", ["w", "flat"], {}, x.reshape(5, 3)), ("Flatten", ["w"], {"axis": 0}, x.reshape(1, 15)), ("Unsqueeze", ["w", "front"], {}, x[None]), ("Identity", ["w"], {}, x),
        ("Split", ["w", "split"], {"axis": 1}, (x[:, :2], x[:, 2:])), ("Shape", ["w"], {}, np.int64([3, 5])), ("Size", ["w"], {}, np.int64(15)),
    ]
    for half, some in enumerate((made[:8], made[8:])):
        nodes, outputs, got = [], [], []
        for i, (op, inputs, attributes, want) in enumerate(some):
            wants = want if isinstance(want, tuple) else (want,)
            nodes.append(helper.make_node(op, inputs, [f"t{i}_{k}" for k in range(len(wants))], **attributes))
            for k, want in enumerate(wants):
                type_shown = T.INT64 if op in ("Shape", "Size") else shown
                nodes.append(helper.make_node("Cast", [f"t{i}_{k}"], [f"y{i}_{k}"], to=type_shown))
                outputs.append((f"y{i}_{k}", type_shown))
                got.append(np.asarray(want, helper.tensor_dtype_to_np_dtype(type_shown)))
        used = {i for n in nodes for i in n.input}
        save(f"packed_{kind}_{half}", nodes, outputs, {n: w for n, w in weights.items() if n in used}, {}, got=got, opset=25, ir=13)

# ---- texts in ops that move them: what NumPy makes of them, or ONNX Runtime

words = np.array([["b", "a", "", "dd", "a"], ["c", "a", "b", "", "éa"], ["x", "y", "z", "b", "a"]], object)
S = T.STRING
for name, op, inputs, attributes, weights, want in (
    ("pad", "Pad", ["x", "p", "f"], {}, {"p": np.int64([1, 0, 0, 2]), "f": np.array("no", object)}, np.pad(words, ((1, 0), (0, 2)), constant_values="no")),
    ("pad_empty", "Pad", ["x", "p"], {}, {"p": np.int64([1, 0, 0, 2])}, np.pad(words, ((1, 0), (0, 2)), constant_values="")),
    ("pad_wrap", "Pad", ["x", "p"], {"mode": "wrap"}, {"p": np.int64([4, 0, 0, 7])}, np.pad(words, ((4, 0), (0, 7)), mode="wrap")),
    ("crop", "CenterCropPad", ["x", "s"], {}, {"s": np.int64([5, 3])}, np.pad(words[:, 1:4], ((1, 1), (0, 0)), constant_values="")),
    ("trilu", "Trilu", ["x"], {}, {}, np.where(np.triu(np.ones((3, 5), bool)), words, "")),
    ("one_hot", "OneHot", ["i", "d", "v"], {}, {"i": np.int64([1, 0, -1]), "d": np.int64(3), "v": np.array(["off", "on"], object)},
     np.array([["off", "on", "off"], ["on", "off", "off"], ["off", "off", "on"]], object)),
    ("where", "Where", ["m", "x", "f"], {}, {"m": np.bool_([[1], [0], [1]]), "f": np.array("no", object)}, None),
    ("expand", "Expand", ["x", "s"], {}, {"s": np.int64([2, 1, 1])}, None),
    ("tile", "Tile", ["x", "s"], {}, {"s": np.int64([2, 2])}, None),
    ("gather", "Gather", ["x", "i"], {"axis": 1}, {"i": np.int64([[4, -1]])}, None),
    ("gather_elements", "GatherElements", ["x", "i"], {"axis": 1}, {"i": np.int64([[4], [-1], [0]])}, None),
    ("gather_nd", "GatherND", ["x", "i"], {}, {"i": np.int64([[2, 4], [0, 0]])}, None),
    ("scatter", "ScatterElements", ["x", "i", "u"], {"axis": 1}, {"i": np.int64([[4], [-1], [0]]), "u": np.array([["1"], ["2"], ["3"]], object)}, None),
    ("scatter_nd", "ScatterND", ["x", "i", "u"], {}, {"i": np.int64([[1]]), "u": np.array([["1", "2", "3", "4", "5"]], object)}, None),
    ("slice", "Slice", ["x", "a", "b", "c", "d"], {}, {"a": np.int64([4]), "b": np.int64([-9]), "c": np.int64([1]), "d": np.int64([-2])}, None),
    ("concat", "Concat", ["x", "u"], {"axis": 0}, {"u": np.array([["1", "2", "3", "4", "5"]], object)}, None),
    ("compress", "Compress", ["x", "m"], {"axis": 1}, {"m": np.bool_([0, 1, 1, 0, 1])}, None),
    ("transpose", "Transpose", ["x"], {}, {}, None),
    ("reverse", "ReverseSequence", ["x", "n"], {"time_axis": 1, "batch_axis": 0}, {"n": np.int64([5, 2, 1])}, None),
    ("flatten", "Flatten", ["x"], {"axis": 0}, {}, None),
    ("depth", "DepthToSpace", ["x"], {"blocksize": 2}, {}, None),
    ("space", "SpaceToDepth", ["x"], {"blocksize": 2}, {}, None),
    ("resize", "Resize", ["x", "", "s"], {"mode": "nearest"}, {"s": np.float32([2, 1, 0.5, 2])}, None),
):
    value = words
    if name in ("depth", "space", "resize"):
        value = np.array([str(i) for i in range(16)], object).reshape((1, 4, 2, 2) if name == "depth" else (1, 1, 4, 4))
    if name == "depth":
        want = value.reshape(1, 2, 2, 1, 2, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 1, 4, 4)
    if name == "space":
        want = value.reshape(1, 1, 2, 2, 2, 2).transpose(0, 3, 5, 1, 2, 4).reshape(1, 4, 2, 2)
    if name == "resize":
        want = np.repeat(np.repeat(value[:, :, [0, 2]], 2, 3), 2, 0)
    one("texts_" + name, op, inputs, attributes, weights, {"x": value} if "x" in inputs else {"w": words}, S, got=None if want is None else [want])
seq = [helper.make_node("SplitToSequence", ["x", "n"], ["s"], axis=1), helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)]
save("texts_sequence", seq, [("y", S)], {"n": np.int64([5])}, {"x": words}, got=[words])
save("texts_sequences", [seq[0], helper.make_node("SequenceAt", ["s", "k"], ["a"]), helper.make_node("SequenceConstruct", ["a", "a"], ["t"]),
                         helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0)], [("y", S)], {"n": np.int64([2, 3]), "k": np.int64(1)}, {"x": words},
     got=[np.concatenate([words[:, 2:], words[:, 2:]])])
save("texts_nonzero", [helper.make_node("NonZero", ["x"], ["y"])], [("y", T.INT64)], {}, {"x": words}, got=[np.stack(np.nonzero(words != ""))])
save("texts_equal", [helper.make_node("Equal", ["x", "f"], ["y"])], [("y", T.BOOL)], {"f": np.array("a", object)}, {"x": words})
four = ["y", "i", "v", "c"]
for order in (0, 1):
    save(f"texts_unique_{order}", [helper.make_node("Unique", ["x"], four, sorted=order)], [("y", S)] + [(n, T.INT64) for n in four[1:]], {}, {"x": words})
big = np.int64([2**53 + 1, 2**53, -(2**62) - 1, 2**53 + 1, -(2**62)])
save("unique_i64", [helper.make_node("Unique", ["x"], four)], [(n, T.INT64) for n in four], {}, {"x": big})

# ---- what was once refused

bn = {n: f32(3, 2, 2) for n in ("scale", "bias", "mean")} | {"var": np.abs(f32(3, 2, 2))}
one("bn_spatial_0", "BatchNormalization", ["x", "scale", "bias", "mean", "var"], {"spatial": 0}, bn, {"x": f32(2, 3, 2, 2)}, opset=7, ir=3)
one("einsum_dots", "Einsum", ["x", "v"], {"equation": "ij,j->...i"}, {"v": f32(3)}, {"x": f32(2, 3)})
save("empty", [helper.make_node("Hardmax", ["x"], ["a"]), helper.make_node("Hardmax", ["x"], ["b"], axis=0), helper.make_node("Softmax", ["x"], ["c"])], ["a", "b", "c"], {}, {"x": f32(3, 0)},
     got=[f32(3, 0)] * 3)
for name, start, stop, step in (("min", 3, -9, -(2**63)), ("max", 0, 9, 2**63 - 1), ("far", 4, -(2**63), -(2**63) + 1)):
    one("slice_" + name, "Slice", ["x", "a", "b", "c", "d"], {}, {"a": np.int64([start]), "b": np.int64([stop]), "c": np.int64([1]), "d": np.int64([step])}, {"x": f32(2, 5)})

# ---- 4-bit weights in another order, and their siblings

M = "com.microsoft"
rng = np.random.default_rng(12)
for name, bits, block, k, zeros, ordered, bias in (("order", 4, 16, 64, None, True, False), ("order_zeros", 4, 16, 48, "packed", True, True), ("order_floats", 4, 32, 80, "floats", True, False),
                                                   ("order_8", 8, 16, 64, "packed", True, False), ("plain_8", 8, 32, 40, "packed", False, True), ("order_2", 2, 16, 64, None, True, False),
                                                   ("plain_floats", 4, 16, 40, "floats", False, False)):
    n, blocks = 6, -(-k // block)
    q = rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
    scales = np.abs(rng.standard_normal((n, blocks))).astype(np.float32) * 0.1 + 0.05
    per = 8 // bits
    spread = np.stack([q >> (bits * i) & ((1 << bits) - 1) for i in range(per)], -1).reshape(n, blocks * block)[:, :k].astype(np.float32)
    zero, zero_points = np.full((n, blocks), 1 << (bits - 1), np.float32), None
    if zeros == "floats":
        zero_points = zero = rng.standard_normal((n, blocks)).astype(np.float32)
    if zeros == "packed":
        row = rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)
        zero = np.stack([row >> (bits * i) & ((1 << bits) - 1) for i in range(per)], -1).reshape(n, -1)[:, :blocks].astype(np.float32)
        zero_points = row
    group = rng.permutation(np.arange(k) // block).astype(np.int32) if ordered else (np.arange(k) // block).astype(np.int32)
    weights = {"q": q, "s": scales} | ({"z": zero_points} if zeros else {}) | ({"g": group} if ordered else {}) | ({"b": rng.standard_normal(n).astype(np.float32)} if bias else {})
    inputs = ["x", "q", "s", "z" if zeros else "", "g" if ordered else "", "b" if bias else ""]
    x = rng.standard_normal((3, k)).astype(np.float32)
    want = x @ ((spread - zero[:, group]) * scales[:, group]).T + (weights["b"] if bias else 0)
    one("n_bits_" + name, "MatMulNBits", inputs, {"domain": M, "K": k, "N": n, "bits": bits, "block_size": block}, weights, {"x": x}, got=[want.astype(np.float32)], domains=[(M, 1)])

# ---- quantised far out of range

for name, type in (("i16", T.INT16), ("u16", T.UINT16), ("i8", T.INT8), ("u8", T.UINT8), ("i4", T.INT4), ("u4", T.UINT4)):
    x = np.float32([4e9, -4e9, np.inf, -np.inf, 1e20, -1e20, 2147483648, 3, -3, 0.25])
    for zero in (0, 2):
        high = {"i16": 32767, "u16": 65535, "i8": 127, "u8": 255, "i4": 7, "u4": 15}[name]
        low = 0 if name[0] == "u" else -high - 1
        want = np.clip(np.rint(x.astype(np.float64) / 0.5) + zero, low, high).astype(np.int32)
        nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), helper.make_node("Cast", ["q"], ["y"], to=T.INT32)]
        save(f"quantised_{name}_{zero}", nodes, [("y", T.INT32)], {"s": np.float32(0.5), "z": helper.make_tensor("", type, [], [zero])}, {"x": x}, got=[want])

# ---- a default, and an index that is given

inputs = [helper.make_tensor_value_info(n, T.FLOAT, [2]) for n in ("x", "w")]
graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", inputs, [helper.make_tensor_value_info("y", T.FLOAT, [2])], [tensor(np.float32([10, 20]), "w")])
data = onnx.SequenceProto(elem_type=3)
for value in (np.float32([1, 2]), np.float32([11, 22])):
    data.sequence_values.append(onnx.SequenceProto(elem_type=1, tensor_values=[tensor(value)]))
for suffix, proto in ((".onnx", helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)), (".pb", data)):
    with open(os.path.join(HERE, "rare_default" + suffix), "wb") as f:
        f.write(proto.SerializeToString())
one("gather_open", "Gather", ["x", "i"], {}, {}, {"x": f32(3), "i": np.int64([2, 0])})

# ---- loops over texts, and over packed numbers

info = helper.make_tensor_value_info
loop = helper.make_graph([helper.make_node("Identity", ["c"], ["go"]), helper.make_node("StringConcat", ["s", "a"], ["t"]), helper.make_node("Identity", ["t"], ["row"])], "b",
                         [info("i", T.INT64, []), info("c", T.BOOL, []), info("s", S, [2])], [info("go", T.BOOL, []), info("t", S, [2]), info("row", S, [2])])
save("texts_loop", [helper.make_node("Loop", ["n", "", "x"], ["y", "rows"], body=loop)], [("y", S), ("rows", S)], {"n": np.int64(3), "a": np.array("!", object)},
     {"x": np.array(["p", "q"], object)})
scan = helper.make_graph([helper.make_node("StringConcat", ["s", "r"], ["t"]), helper.make_node("Identity", ["t"], ["row"])], "b", [info("s", S, [3]), info("r", S, [3])],
                         [info("t", S, [3]), info("row", S, [3])])
said = [np.array([str(r + 1) + "".join(words[r, 4 - k:][::-1]) for r in range(3)], object) for k in range(5)]
save("texts_scan", [helper.make_node("Scan", ["s", "x"], ["y", "rows"], body=scan, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[-1], scan_input_directions=[1])],
     [("y", S), ("rows", S)], {"s": np.array(["1", "2", "3"], object)}, {"x": words},  # ONNX Runtime 1.32 adds to a state in place, and then reads it
     got=[said[-1], np.stack(said, 1)])
four_bits = helper.make_tensor("", T.INT4, [2, 3], [1, -2, 3, 4, -5, -8])
scan = helper.make_graph([helper.make_node("Identity", ["r"], ["row"])], "b", [info("r", T.INT4, [3])], [info("row", T.INT4, [3])])
save("packed_scan", [helper.make_node("Scan", ["w"], ["rows"], body=scan, num_scan_inputs=1, scan_output_axes=[1]), helper.make_node("Cast", ["rows"], ["y"], to=T.INT32),
                     helper.make_node("ConstantOfShape", ["d"], ["c"], value=helper.make_tensor("", T.UINT4, [1], [9])), helper.make_node("Cast", ["c"], ["z"], to=T.INT32)],
     [("y", T.INT32), ("z", T.INT32)], {"w": four_bits, "d": np.int64([3])}, {}, got=[np.int32([[1, 4], [-2, -5], [3, -8]]), np.int32([9, 9, 9])])
