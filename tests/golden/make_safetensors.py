"""Writes mixed.safetensors and empty.safetensors with the format's own Python package, for tests/io/test_safetensors.c.

Every dtype that Wick has as a [2, 3] tensor of 0..5 (BOOL: 0 1 0 1 0 1), a scalar, an empty tensor, a name outside ASCII, metadata.
Run in this folder: python make_safetensors.py
"""
import torch
from safetensors.torch import save_file

DTYPES = {
    "F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16, "I8": torch.int8,
    "I16": torch.int16, "I32": torch.int32, "I64": torch.int64, "U8": torch.uint8, "U16": torch.uint16,
    "U32": torch.uint32, "U64": torch.uint64,
}
tensors = {"all." + name: torch.arange(6).reshape(2, 3).to(dtype) for name, dtype in DTYPES.items()}
tensors["all.BOOL"] = torch.arange(6).reshape(2, 3) % 2 == 1
tensors["scalar"] = torch.tensor(3.5, dtype=torch.float64)
tensors["empty"] = torch.zeros(0, 3)
tensors["gr\u00f6\u00dfe \u2192 \"\U0001f600\"\n"] = torch.tensor([-1], dtype=torch.int8)
save_file(tensors, "mixed.safetensors", {"format": "pt", "note": "tab\t quote\" snow\u2603"})
save_file({}, "empty.safetensors")
