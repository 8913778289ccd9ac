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
