"""Writes files with the format's own Python package, for tests/io.

mixed.safetensors: every dtype that Wick has as a [2, 3] tensor of 0..5 (BOOL: 0 1 0 1 0 1), a scalar, an empty tensor,
a name outside ASCII, metadata. empty.safetensors: nothing. state_dict.safetensors: a PyTorch module with a batch norm
and three dtypes. rewritten.safetensors and rewritten2.safetensors: checkpoint.safetensors (wick.format 1) and
checkpoint2.safetensors (2), which Wick wrote, read and written again with their metadata. Run in this folder:
python make_safetensors.py

checkpoint2.safetensors itself: WICK_GOLDEN=checkpoint2.safetensors test_io_checkpoint rewritten_by_python
"""
import struct

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

DTYPES = {
    "F32": torch.float32, "F64": torch.float64, "F16": torch.float16, "BF16": torch.bfloat16, "I8": torch.int8,
    "I16": torch.int16, "I32": torch.int32, "I64": torch.int64, "U8": torch.uint8, "U16": torch.uint16,
    "U32": torch.uint32, "U64": torch.uint64, "F8_E4M3": torch.float8_e4m3fn, "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2": torch.float8_e5m2, "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
}
tensors = {"all." + name: torch.arange(6).reshape(2, 3).to(dtype) for name, dtype in DTYPES.items()}
tensors["all.BOOL"] = torch.arange(6).reshape(2, 3) % 2 == 1
tensors["scalar"] = torch.tensor(3.5, dtype=torch.float64)
tensors["empty"] = torch.zeros(0, 3)
tensors["gr\u00f6\u00dfe \u2192 \"\U0001f600\"\n"] = torch.tensor([-1], dtype=torch.int8)
save_file(tensors, "mixed.safetensors", {"format": "pt", "note": "tab\t quote\" snow\u2603"})
save_file({}, "empty.safetensors")

network = torch.nn.ModuleDict({
    "fc1": torch.nn.Linear(4, 5).double(),
    "bn": torch.nn.BatchNorm1d(5).half(),
    "fc2": torch.nn.Linear(5, 3).bfloat16(),
})
state = network.state_dict()
for name, t in state.items():
    if t.is_floating_point():
        t.copy_((torch.arange(t.numel(), dtype=torch.float64).reshape(t.shape) + len(name)) / 10)
save_file(state, "state_dict.safetensors")


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


for version in ("", "2"):
    with safe_open(f"checkpoint{version}.safetensors", "pt") as f:
        metadata = f.metadata()
        checked = b""
        for name in sorted(f.keys(), key=str.encode):
            part = f.get_slice(name)
            checked += name.encode() + b"\0" + part.get_dtype().encode() + b"\0"
            checked += struct.pack(f"<{len(part.get_shape())}q", *part.get_shape())
            checked += f.get_tensor(name).reshape(-1).view(torch.uint8).numpy().tobytes()
    if version:
        entries = (crc32c(k.encode() + b"\0" + v.encode() + b"\0") for k, v in metadata.items() if k != "wick.crc32c")
        checked += struct.pack("<I", sum(entries) % 2**32)
    assert metadata["wick.crc32c"] == f"{crc32c(checked):08x}"
    save_file(load_file(f"checkpoint{version}.safetensors"), f"rewritten{version}.safetensors", metadata)
