"""Small networks quantised by ONNX Runtime, with its outputs: tests/golden/onnx/quant_*.onnx and .pb, as make_onnx.py writes them.

    python make_onnx_quantised.py

Needs onnx and onnxruntime. Random weights; a convolution, a depthwise one, one of 1 x 1, pooling, a dense layer.
"""
import logging
import os
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

logging.disable(logging.WARNING)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
rng = np.random.default_rng(11)


def net():
    w = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 1, 3, 3), "b2": (8,), "w3": (16, 8, 1, 1), "b3": (16,), "w4": (16 * 9, 10), "b4": (10,)}
    weights = [numpy_helper.from_array((rng.standard_normal(s) / np.sqrt(max(1, np.prod(s[1:])))).astype(np.float32), n) for n, s in w.items()]
    weights += [numpy_helper.from_array(np.float32(0), "lo"), numpy_helper.from_array(np.float32(6), "hi"), numpy_helper.from_array(np.int64([0, -1]), "flat")]
    n = helper.make_node
    nodes = [n("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]), n("Relu", ["c1"], ["r1"]),
             n("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1], strides=[2, 2], group=8), n("Clip", ["c2", "lo", "hi"], ["r2"]),
             n("Conv", ["r2", "w3", "b3"], ["c3"]), n("Relu", ["c3"], ["r3"]), n("MaxPool", ["r3"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             n("Reshape", ["p", "flat"], ["f"]), n("MatMul", ["f", "w4"], ["m"]), n("Add", ["m", "b4"], ["y"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", T.FLOAT, [2, 3, 12, 12])], [info("y", T.FLOAT, [2, 10])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Reader(CalibrationDataReader):
    def __init__(self, xs): self.left = [{"x": x} for x in xs]
    def get_next(self): return self.left.pop() if self.left else None


def save(name, path, x):
    model = onnx.load(path)
    del model.metadata_props[:]
    model.producer_name, model.producer_version, model.doc_string = "", "", ""
    y = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    data = onnx.SequenceProto(elem_type=3)
    for value in (x, y):
        data.sequence_values.append(onnx.SequenceProto(elem_type=1, tensor_values=[numpy_helper.from_array(value)]))
    for suffix, proto in ((".onnx", model), (".pb", data)):
        with open(os.path.join(HERE, name + suffix), "wb") as f:
            f.write(proto.SerializeToString())
    print(f"{name}: {len(model.SerializeToString()) + len(data.SerializeToString())} bytes, {sorted({n.op_type for n in model.graph.node})}, |y| to {np.abs(y).max():.3g}")


x = rng.standard_normal((2, 3, 12, 12)).astype(np.float32)
others = [rng.standard_normal((2, 3, 12, 12)).astype(np.float32) for _ in range(4)]
with tempfile.TemporaryDirectory() as folder:
    source, made = folder + "/net.onnx", folder + "/made.onnx"
    onnx.save(net(), source)
    U, S = QuantType.QUInt8, QuantType.QInt8
    for name, fmt, act, weight, channels in [("qdq_u8s8", QuantFormat.QDQ, U, S, False), ("qdq_s8s8_channels", QuantFormat.QDQ, S, S, True),
                                             ("qoperator_u8u8", QuantFormat.QOperator, U, U, False), ("qoperator_s8s8_channels", QuantFormat.QOperator, S, S, True)]:
        only = ["Conv", "MatMul"] if fmt == QuantFormat.QOperator else None
        quantize_static(source, made, Reader([x] + others), quant_format=fmt, activation_type=act, weight_type=weight, per_channel=channels, op_types_to_quantize=only)
        save("quant_" + name, made, x)
    quantize_dynamic(source, made, weight_type=U)
    save("quant_dynamic", made, x)
