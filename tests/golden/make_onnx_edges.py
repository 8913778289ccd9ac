"""Lengths of zero, no steps, no features, windows longer than what they pool, numbers of f32 that decide over whole ones: what ONNX leaves to
implementations, with ONNX Runtime's outputs, or those of ONNX's own reference or of its formula where ONNX Runtime is not as they are:
tests/golden/onnx/edges_*.onnx and .pb, as make_onnx.py writes them.

    python make_onnx_edges.py

Needs onnx and onnxruntime.
"""
import os

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
rng = np.random.default_rng(7)


def f32(*dims):
    return rng.standard_normal(dims).astype(np.float32)


def save(name, nodes, outputs, weights, values, opset=17, by=None, types_of_outputs=T.FLOAT):
    types = {np.dtype("float32"): T.FLOAT, np.dtype("int32"): T.INT32, np.dtype("float64"): T.DOUBLE}
    if not isinstance(types_of_outputs, list):
        types_of_outputs = [types_of_outputs] * len(outputs)
    inputs = [helper.make_tensor_value_info(n, types[v.dtype], None) for n, v in values.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(o, t, None) for o, t in zip(outputs, types_of_outputs)], [numpy_helper.from_array(w, n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    if callable(by):
        got = by(values)
    elif by:
        got = ReferenceEvaluator(model).run(None, values)
    else:
        got = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, values)
    data = onnx.SequenceProto(elem_type=3)
    for value in list(values.values()) + got:
        data.sequence_values.append(onnx.SequenceProto(elem_type=1, tensor_values=[numpy_helper.from_array(value)]))
    for suffix, proto in ((".onnx", model), (".pb", data)):
        with open(os.path.join(HERE, name + suffix), "wb") as f:
            f.write(proto.SerializeToString())
    print(name, [v.shape for v in got])


def recurrent(name, ops, steps, features, lengths):
    """Each in both directions at once, with states given: what a sample without steps leaves is 0, not its state."""
    hidden, samples = 3, 3
    nodes, outputs, weights = [], [], {}
    values = {"x": f32(steps, samples, features), "h": f32(2, samples, hidden), "c": f32(2, samples, hidden)}
    if "LSTM" not in ops:
        del values["c"]
    if lengths is not None:
        values["n"] = np.int32(lengths)
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        if op not in ops:
            continue
        for part, dims in (("w", (2, gates * hidden, features)), ("r", (2, gates * hidden, hidden)), ("b", (2, 2 * gates * hidden))):
            weights[op + part] = f32(*dims)
        out = [op + o for o in (("y", "yh", "yc") if op == "LSTM" else ("y", "yh"))]
        nodes.append(helper.make_node(op, ["x", op + "w", op + "r", op + "b", "n" if lengths is not None else "", "h"] + (["c"] if op == "LSTM" else []), out,
                                      hidden_size=hidden, direction="bidirectional"))
        outputs += out
    save(name, nodes, outputs, weights, values)


recurrent("edges_lengths", ["LSTM", "GRU", "RNN"], 4, 2, [0, 4, 1])
recurrent("edges_steps", ["LSTM", "RNN"], 0, 2, None)
recurrent("edges_features", ["LSTM", "RNN"], 3, 0, None)
pool = dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
save("edges_pool", [helper.make_node(op, ["x"], [op], **pool) for op in ("MaxPool", "AveragePool")], ["MaxPool", "AveragePool"], {}, {"x": f32(1, 2, 2, 4)})
save("edges_cubic", [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="cubic", cubic_coeff_a=0.0)], ["y"], {"s": np.float32([1, 1, 1.6, 0.7])}, {"x": f32(1, 1, 5, 6)})


def resizes(name, x, cases, opset=19, by=None):
    """Each case a Resize of the last axes: scales, or sizes if they are integers; then attributes."""
    nodes, weights, outputs = [], {}, []
    for i, (to, roi, attributes) in enumerate(cases):
        whole = all(isinstance(t, int) for t in to)
        out, k = "y%d" % i, "k%d" % i
        weights[k] = np.int64(to) if whole else np.float32(to)
        if roi:
            weights["r" + k] = np.float32(roi)
        given = ["x", "r" + k if roi else "", "" if whole else k] + ([k] if whole else [])
        nodes.append(helper.make_node("Resize", given if opset > 10 else ["x", k], [out], **attributes))
        outputs.append(out)
    save(name, nodes, outputs, weights, {"x": x}, opset=opset, by=by)


two, third = dict(axes=[2, 3]), 1 / 3
ramp = np.arange(2 * 9 * 30, dtype=np.float32).reshape(1, 2, 9, 30)
resizes("edges_resize_f32", ramp, [
    ([third, 0.7], None, dict(two, coordinate_transformation_mode="asymmetric", nearest_mode="floor")),
    ([1.2, 0.7], None, dict(two, coordinate_transformation_mode="asymmetric", nearest_mode="ceil")),
    ([2.4, 0.3], None, dict(two, coordinate_transformation_mode="asymmetric", nearest_mode="round_prefer_ceil")),
    ([0.6, 1.3], None, dict(two)),
    ([0.9, 0.3], None, dict(two, coordinate_transformation_mode="pytorch_half_pixel", nearest_mode="round_prefer_ceil")),
    ([0.6, 1.6], None, dict(two, coordinate_transformation_mode="half_pixel_symmetric", nearest_mode="floor")),
    ([14, 18], [0.1, 0.2, 0.9, 1.1], dict(two, coordinate_transformation_mode="tf_crop_and_resize", nearest_mode="ceil", extrapolation_value=-1.0)),
    ([0.7, 0.7], None, dict(two, mode="linear")),
    ([20, 6], None, dict(two, nearest_mode="round_prefer_ceil")),
    ([7, 12], None, dict(two, keep_aspect_ratio_policy="not_smaller", coordinate_transformation_mode="asymmetric", nearest_mode="floor")),
])
resizes("edges_resize_aligned", f32(1, 1, 5, 7), [
    ([0.6, 2.3], None, dict(two, mode=m, coordinate_transformation_mode="align_corners", **more)) for m, more in (("linear", {}), ("cubic", {}), ("nearest", {}), ("cubic", dict(antialias=1)))
] + [([8, 9], None, dict(two, mode="linear", coordinate_transformation_mode="align_corners", keep_aspect_ratio_policy="not_smaller"))], by=True)
resizes("edges_resize_antialias", f32(1, 1, 5, 7), [
    ([2.0, 0.5], None, dict(two, mode=m, antialias=1, **more)) for m in ("linear", "cubic") for more in ({}, dict(exclude_outside=1))
] + [([11, 3], [-0.1, 0.2, 0.8, 0.7], dict(two, mode=m, antialias=1, coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=9.0)) for m in ("linear", "cubic")], by=True)
resizes("edges_resize_10", ramp, [([1, 1, 0.6, 0.7], None, {}), ([1, 1, 1.6, 0.3], None, {}), ([1, 1, 0.6, 1.7], None, dict(mode="linear"))], opset=10)
resizes("edges_resize_11", ramp, [([1, 1, 0.6, 1.7], [0] * 8, dict(coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode=m)) for m in ("floor", "round_prefer_ceil")], opset=11)

boxes = np.float32([[0, 0, 5, 5], [1, 1, 6, 9], [0.3, 2.7, 7.9, 8.1]])
for mode in ("avg", "max"):
    nodes = [helper.make_node("RoiAlign", ["x", "b", "i"], ["y%d" % k], mode=mode, spatial_scale=s, output_height=h, output_width=w, coordinate_transformation_mode=how)
             for k, (s, h, w, how) in enumerate([(0.8, 2, 2, "output_half_pixel"), (0.8, 2, 2, "half_pixel"), (0.1, 1, 1, "half_pixel"), (0.7, 3, 2, "half_pixel"), (0.6, 3, 3, "output_half_pixel")])]
    save("edges_roi_" + mode, nodes, [n.output[0] for n in nodes], {"b": boxes, "i": np.int64([0, 1, 0])}, {"x": f32(2, 2, 8, 9)})

# Boxes that share 7 of 10, 3 of 10 and 2 of 3 with the first, at limits that f32 can only nearly hold.
shared = np.float32([[[0, 0, 1, 1], [0, 0, 0.7, 1], [0, 0, 0.3, 1], [0, 0, 2, 1], [0.2, 0, 1.2, 1], [0, 0, 1, 1]]])
nodes = [helper.make_node("NonMaxSuppression", ["b", "s", "m", "t%d" % k], ["y%d" % k], center_point_box=c) for k, c in enumerate([0, 0, 0, 1])]
save("edges_nms", nodes, [n.output[0] for n in nodes], dict({"m": np.int64([9])}, **{"t%d" % k: np.float32([t]) for k, t in enumerate([0.7, 0.3, 2 / 3, 0.5])}),
     {"b": shared, "s": np.float32([[[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]]])}, types_of_outputs=T.INT64)

# Padding that follows from an output_shape: the odd one in front, unless SAME_UPPER says otherwise; also with output_padding, groups and dilations.
transposed = [
    ("x1", (4, 1, 3), dict(strides=[2], output_shape=[8], group=2)), ("x1", (4, 1, 4), dict(strides=[3], output_shape=[13], output_padding=[2], group=2)),
    ("x2", (2, 3, 3, 3), dict(strides=[2, 2], output_shape=[6, 8])), ("x2", (2, 3, 3, 2), dict(strides=[2, 2], dilations=[2, 1], output_shape=[8, 9], auto_pad="SAME_LOWER", output_padding=[1, 0])),
    ("x2", (2, 3, 3, 3), dict(strides=[2, 2], output_shape=[6, 8], auto_pad="SAME_UPPER")), ("x2", (2, 3, 3, 3), dict(strides=[2, 2], auto_pad="SAME_LOWER")),
    ("x2", (2, 3, 2, 2), dict(strides=[3, 2], output_shape=[9, 8])), ("x3", (1, 2, 2, 3, 2), dict(strides=[1, 2, 2], output_shape=[2, 4, 3])),
]
nodes, weights = [], {}
for k, (x, dims, attributes) in enumerate(transposed):
    weights["w%d" % k] = f32(*dims)
    nodes.append(helper.make_node("ConvTranspose", [x, "w%d" % k], ["y%d" % k], **attributes))
save("edges_transposed", nodes, [n.output[0] for n in nodes], weights, {"x1": f32(1, 4, 4), "x2": f32(1, 2, 3, 4), "x3": f32(1, 1, 2, 2, 2)})


def even_norms(values):
    """ONNX's formula: of channels c - floor((size - 1) / 2) to c + ceil((size - 1) / 2)."""
    x, out = values["x"].astype(np.float64), []
    for size in (2, 4, 8):
        sums = np.stack([np.square(x[:, max(0, c - (size - 1) // 2):c + size // 2 + 1]).sum(1) for c in range(x.shape[1])], 1)
        out.append((x / (1 + 0.5 / size * sums) ** 0.75).astype(np.float32))
    return out


nodes = [helper.make_node("LRN", ["x"], ["y%d" % s], size=s, alpha=0.5, beta=0.75, bias=1.0) for s in (2, 4, 8)]
save("edges_lrn_even", nodes, [n.output[0] for n in nodes], {}, {"x": f32(2, 6, 2, 1)}, by=even_norms)

# A range passes over NaN, and of nothing has the scale 1.
nodes, outputs = [], []
for k, x in enumerate(("n", "z", "a")):
    outputs += ["q%d" % k, "s%d" % k, "p%d" % k]
    nodes.append(helper.make_node("DynamicQuantizeLinear", [x], outputs[-3:]))
save("edges_quantise_nan", nodes, outputs, {}, {"n": np.float32([1, np.nan, 2, -3]), "z": np.float32([0, 0, 0]), "a": np.float32([np.nan, np.nan])}, types_of_outputs=[T.UINT8, T.FLOAT, T.UINT8] * 3)
nodes = [helper.make_node("ThresholdedRelu", ["x"], ["t"], alpha=0.5), helper.make_node("Shrink", ["x"], ["s"], lambd=0.5, bias=0.25)]
save("edges_nan_else", nodes, ["t", "s"], {}, {"x": np.float32([1, np.nan, 0.5, -3])})
nodes = [helper.make_node(op, [x], [op + x]) for x in "fd" for op in ("Sin", "Cos", "Tan") if x + op != "dTan"]  # which ONNX Runtime lacks
large = [6381956970095103 * 2.0**797, 6.17e15, 1e22, 1.7976931348623157e308, 2.0**30 + 1, -3.5e17, 0.5]
save("edges_turns", nodes, [n.output[0] for n in nodes], {}, {"f": np.float32([16367173 * 2.0**72, 1e30, 3.4028234e38, 2.0**20 + 0.125, -1e10, 1e7, 0.5]), "d": np.float64(large)},
     types_of_outputs=[T.FLOAT] * 3 + [T.DOUBLE] * 2)

# What opset 28 adds to older ops.
windows = [dict(left_window_size=1), dict(left_window_size=2, is_causal=1), dict(left_window_size=0, right_window_size=1), dict(right_window_size=0)]
nodes = [helper.make_node("Attention", ["q", "k", "v"], ["a%d" % i], **w) for i, w in enumerate(windows)]
nodes += [helper.make_node("SpaceToDepth", ["x"], ["d" + m], blocksize=2, mode=m) for m in ("DCR", "CRD")]
save("edges_opset_28", nodes, [n.output[0] for n in nodes], {}, {"q": f32(1, 2, 5, 4), "k": f32(1, 2, 5, 4), "v": f32(1, 2, 5, 4), "x": f32(1, 3, 4, 2)}, opset=28, by=True)
