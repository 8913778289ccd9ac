"""Writes storage.safetensors: dtypes for storage, by ml_dtypes 0.6.0 beside PyTorch 2.13.0 and ONNX 1.23.2's reference, for
tests/ops/test_storage.c. Run: python make_storage.py (in this folder).

values/in: f32 numbers: every code of every f8, the middle between it and the next, the f32s beside those, overflow, denormals, NaN, Inf.
FORMAT/up: what the 256 codes are. FORMAT/out: values/in as codes, not saturated; FORMAT/saturated: by ONNX Cast as it is by default. Codes
are u8. Of NaNs only the kind counts: the sign and payload are the library's.

INT/in: f32 within the range, INT/out: cast and packed as ONNX has it in files. INT/wide, INT/wrapped: the same of i32 beyond the range.
"""
import ml_dtypes
import numpy as np
import torch
from onnx import TensorProto, numpy_helper
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import save_file

FORMATS = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"]
tensors = {}


def codes(x, name):
    return x.astype(getattr(ml_dtypes, name)).view(np.uint8)


def same(a, b, name):
    a, b = (x.view(getattr(ml_dtypes, name)).astype(np.float32) for x in (a, b))
    return ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))


def onnx_cast(x, name):
    to = getattr(TensorProto, name.replace("_", "").upper())
    graph = make_graph([make_node("Cast", ["x"], ["y"], to=to)], "g", [make_tensor_value_info("x", TensorProto.FLOAT, [len(x)])],
                       [make_tensor_value_info("y", to, [len(x)])])
    return ReferenceEvaluator(make_model(graph, opset_imports=[make_opsetid("", 21)])).run(None, {"x": x})[0].view(np.uint8)


hard = [0.0, 1e-45, 1e-40, 1.17549435e-38, 1e-20, 3.4028235e38, 1e6, 464.0, 480.0, 61440.0, np.inf, np.nan]
for name in FORMATS:
    up = np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32)
    assert np.array_equal(up, torch.arange(256, dtype=torch.uint8).view(getattr(torch, name)).float().numpy(), equal_nan=True)
    tensors[name + "/up"] = up
    finite = np.unique(up[np.isfinite(up) & (up >= 0)])
    top = 2 * finite[-1] - finite[-2]  # as if the grid went on
    finite = np.append(finite, [top, 2 * top])
    hard += [*finite, *((finite[1:] + finite[:-1]) / 2)]
x = np.array(hard, np.float32)
with np.errstate(all="ignore"):
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
    x = np.unique(np.concatenate([x, -x]).view(np.uint32)).view(np.float32)
tensors["values/in"] = x
for name in FORMATS:
    out, saturated = codes(x, name), onnx_cast(x, name)
    theirs = torch.from_numpy(x).to(getattr(torch, name)).view(torch.uint8).numpy()
    # PyTorch 2.13 saturates in this one format.
    assert same(saturated if name == "float8_e4m3fn" else out, theirs, name).all()
    tensors[name + "/out"], tensors[name + "/saturated"] = out, saturated
for name, bits, least in [("int4", 4, -8), ("uint4", 4, 0), ("int2", 2, -2), ("uint2", 2, 0)]:
    dtype, most = getattr(ml_dtypes, name), least + 2**bits - 1

    def packed(values):
        return np.frombuffer(numpy_helper.from_array(values.astype(dtype)).raw_data, np.uint8)

    x = np.concatenate([np.linspace(least, most, 53), np.arange(least, most + 1), [0.5, -0.5, -0.0, most + 0.5]]).astype(np.float32)
    wide = np.arange(-40, 41, dtype=np.int32) * 13
    assert len(wide) % 2 and (len(x) + 1) % 4
    tensors[name + "/in"], tensors[name + "/out"] = x, packed(x)
    tensors[name + "/wide"], tensors[name + "/wrapped"] = wide, packed(wide)
save_file(tensors, "storage.safetensors", {"made_by": "make_storage.py"})
print(len(x))
