"""Small models as ONNX Runtime's optimiser and quantiser write them, beside its own outputs: tests/golden/make_onnx.py has the rest."""
from make_onnx import *

import tempfile

import torch
from onnxruntime import quantization as Q


class Data(Q.CalibrationDataReader):
    def __init__(self, inputs):
        self.rows = iter([{k: v for k, v in inputs.items()}])

    def get_next(self):
        return next(self.rows, None)


def optimised(path, out, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.optimized_model_filepath = out
    ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return onnx.load(out)


def variants(name, module, x, plain=True):
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        at = lambda s: os.path.join(folder, s)
        torch.onnx.export(module.eval(), (torch.tensor(x),), at("m.onnx"), input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        inputs, extended = {"x": x}, ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        case(f"ort_{name}_extended", optimised(at("m.onnx"), at("o.onnx"), extended), [x])
        Q.quantize_dynamic(at("m.onnx"), at("d.onnx"), weight_type=Q.QuantType.QInt8)
        if plain:
            case(f"ort_{name}_dynamic", onnx.load(at("d.onnx")), [x])
        case(f"ort_{name}_dynamic_extended", optimised(at("d.onnx"), at("o.onnx"), extended), [x])
        for form in ("QDQ", "QOperator")[:2 if plain else 1]:
            Q.quantize_static(at("m.onnx"), at("s.onnx"), Data(inputs), quant_format=Q.QuantFormat[form], per_channel=False, activation_type=Q.QuantType.QUInt8,
                              weight_type=Q.QuantType.QInt8)
            if plain:
                case(f"ort_{name}_{form.lower()}", onnx.load(at("s.onnx")), [x])
            case(f"ort_{name}_{form.lower()}_extended", optimised(at("s.onnx"), at("o.onnx"), extended), [x])


torch.manual_seed(1)
n = torch.nn


class Residual(n.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = n.Conv2d(3, 6, 3, padding=1), n.Conv2d(6, 6, 3, padding=1)
        self.end = n.Linear(6, 4)

    def forward(self, x):
        y = torch.relu(self.a(x))
        y = n.functional.leaky_relu(self.b(y) + y, .1)
        y = n.functional.max_pool2d(y, 2)
        y = torch.cat([y, torch.sigmoid(y)], 1)[:, :6] * y
        return self.end(y.mean((2, 3)))


class Block(n.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places = n.Embedding(10, 8), n.Parameter(torch.randn(5, 8))
        self.qkv, self.out = n.Linear(8, 24), n.Linear(8, 8)
        self.up, self.down = n.Linear(8, 12), n.Linear(12, 8)
        self.norms = n.ModuleList(n.LayerNorm(8) for _ in range(3))

    def forward(self, ids):
        x = self.norms[0](self.words(ids) + self.places)
        b, s, _ = x.shape
        q, k, v = [t.reshape(b, s, 2, 4).transpose(1, 2) for t in self.qkv(x).chunk(3, -1)]
        w = torch.softmax(q @ k.transpose(-1, -2) / 2, -1)
        x = self.norms[1](x + self.out((w @ v).transpose(1, 2).reshape(b, s, 8)))
        return self.norms[2](x + self.down(n.functional.gelu(self.up(x))))


variants("residual", Residual(), f32(1, 3, 8, 8))
variants("block", Block(), rng.integers(0, 10, (2, 5)), plain=False)
