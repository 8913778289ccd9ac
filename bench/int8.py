#!/usr/bin/env python3
"""8-bit integers beside ONNX Runtime and beside Wick's own f32: single products and convolutions, and the networks of models/bench quantised by ONNX Runtime.

    python3 -P bench/int8.py BUILD [--models DIR] [arguments of bench/onnx.py]

needs onnxruntime, onnx and numpy. Writes models to a temporary folder and has bench/onnx.py race them: f32_* in floats, int8_* the same in integers
(MatMulInteger, QLinearConv), qdq_* whole networks. Outputs of these are compared to one step of their quantiser: ONNX Runtime with its default
optimisations departs from what the ONNX operators say by so much (its softmax of bytes, QLinearSoftmax, in resnet8 and mobilenetv1_025; one of 18,432
results of a convolution there), while Wick gives what onnx.reference and ONNX Runtime without optimisations give.
"""
import logging, os, subprocess, sys, tempfile

import numpy as np, onnx
from onnx import TensorProto as T, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

logging.disable(logging.WARNING)
rng = np.random.default_rng(1)
MATRICES = [(1, 512, 512), (64, 512, 512), (512, 512, 512)]
CONVOLUTIONS = [(64, 64, 28, 3, 1), (128, 128, 14, 3, 1), (64, 256, 28, 1, 1), (64, 64, 56, 3, 64)]  # ci, co, extent, kernel, groups


def put(folder, name, nodes, x, out_type, weights):
    os.makedirs(f"{folder}/bench/{name}")
    types = {"float32": T.FLOAT, "uint8": T.UINT8}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", types[x.dtype.name], x.shape)],
                              [helper.make_tensor_value_info("y", out_type, None)], [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), f"{folder}/bench/{name}/model.onnx")
    np.save(f"{folder}/bench/{name}/input_0.npy", x)


def singles(folder):
    node = helper.make_node
    for m, k, n in MATRICES:
        put(folder, f"f32_matmul_{m}x{k}x{n}", [node("MatMul", ["x", "w"], ["y"])], rng.standard_normal((m, k), np.float32), T.FLOAT,
            {"w": rng.standard_normal((k, n), np.float32)})
        put(folder, f"int8_matmul_{m}x{k}x{n}", [node("MatMulInteger", ["x", "w", "z"], ["y"])], rng.integers(0, 256, (m, k), np.uint8), T.INT32,
            {"w": rng.integers(-128, 128, (k, n), np.int8), "z": np.uint8(7)})
    for ci, co, e, k, g in CONVOLUTIONS:
        name, w = f"{ci}_{co}_{e}x{e}_k{k}" + (f"_g{g}" if g > 1 else ""), (co, ci // g, k, k)
        attrs = dict(pads=[k // 2] * 4, group=g)
        put(folder, "f32_conv_" + name, [node("Conv", ["x", "w", "b"], ["y"], **attrs)], rng.standard_normal((1, ci, e, e), np.float32), T.FLOAT,
            {"w": rng.standard_normal(w, np.float32), "b": rng.standard_normal(co, np.float32)})
        put(folder, "int8_conv_" + name, [node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"], ["y"], **attrs)],
            rng.integers(0, 256, (1, ci, e, e), np.uint8), T.UINT8,
            {"w": rng.integers(-128, 128, w, np.int8), "xs": np.float32(0.02), "xz": np.uint8(7), "ws": np.float32(0.01), "wz": np.int8(0), "ys": np.float32(1),
             "yz": np.uint8(120), "b": rng.integers(-999, 999, co, np.int32)})


class Reader(CalibrationDataReader):
    def __init__(self, name, x): self.left = [{name: x + 0.2 * rng.standard_normal(x.shape).astype(np.float32)} for _ in range(8)]
    def get_next(self): return self.left.pop() if self.left else None


def networks(folder, models):
    for name in sorted(os.listdir(models + "/bench")):
        source = f"{models}/bench/{name}"
        if not os.path.exists(source + "/model.onnx"): continue
        x = np.load(source + "/input_0.npy")
        os.makedirs(f"{folder}/bench/qdq_{name}")
        quantize_static(source + "/model.onnx", f"{folder}/bench/qdq_{name}/model.onnx", Reader(onnx.load(source + "/model.onnx").graph.input[0].name, x),
                        quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        np.save(f"{folder}/bench/qdq_{name}/input_0.npy", x)


arguments = sys.argv[1:]
models = arguments[arguments.index("--models") + 1] if "--models" in arguments else os.environ.get("WICK_MODELS", "../shared/models")
if "--models" in arguments: del arguments[arguments.index("--models"):arguments.index("--models") + 2]
with tempfile.TemporaryDirectory() as folder:
    singles(folder)
    networks(folder, models)
    sys.exit(subprocess.call([sys.executable, "-P", os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx.py"), *arguments, "--models", folder]))
