"""Lengths of zero, no steps, no features, windows longer than what they pool: what ONNX leaves to implementations, with ONNX Runtime's outputs:
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

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
rng = np.random.default_rng(7)


def f32(*dims):
    return rng.standard_normal(dims).astype(np.float32)


def save(name, nodes, outputs, weights, values):
    types = {np.dtype("float32"): T.FLOAT, np.dtype("int32"): T.INT32}
    inputs = [helper.make_tensor_value_info(n, types[v.dtype], None) for n, v in values.items()]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info(o, T.FLOAT, None) for o in outputs], [numpy_helper.from_array(w, n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, values)
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
