"""Writes files of named tensors with NumPy, the safetensors package and PyTorch, for tests/io/test_weights.c.

weights/stored.npz, weights/deflated.npz: the arrays of `tensors`, one of them big-endian and one with columns first. weights/model.safetensors.index.json and its shards: the
same, as Hugging Face's tools lay them out. weights/archive.pt, weights/legacy.pt, weights/objects.npz: pickles, to be refused. weights/linear.safetensors: what Keras or Flax
would call a dense layer, [in, out]. Run in this folder: python make_weights.py
"""
import json

import numpy as np
import torch
from safetensors.numpy import save_file

tensors = {
    "fc1.weight": (np.arange(12, dtype="f4") / 8 - 0.5).reshape(3, 4),
    "fc1.bias": np.array([0.25, -1.5, 2.0], dtype="f2"),
    "fc2.weight": np.arange(6, dtype="f8").reshape(2, 3),
    "counts": np.arange(6).reshape(2, 3),
    "mask": np.array([True, False, True]),
    "empty": np.zeros((0, 3), dtype="f4"),
    "long": np.tile(np.arange(50, dtype="i4"), 20),
}
written = dict(tensors)
written["fc2.weight"] = np.asfortranarray(tensors["fc2.weight"])
written["counts"] = tensors["counts"].astype(">i8")
np.savez("weights/stored.npz", **written)
np.savez_compressed("weights/deflated.npz", **written)
np.savez("weights/objects.npz", x=np.array([{}, None], dtype=object))

shards = {
    "model-00001-of-00002.safetensors": ["fc1.weight", "fc1.bias", "long"],
    "model-00002-of-00002.safetensors": ["fc2.weight", "counts", "mask", "empty"],
}
for file, names in shards.items():
    save_file({n: tensors[n] for n in names}, "weights/" + file, {"format": "np"})
index = {
    "metadata": {"total_size": sum(t.nbytes for t in tensors.values())},
    "weight_map": {n: file for file, names in shards.items() for n in names},
}
with open("weights/model.safetensors.index.json", "w") as f:
    json.dump(index, f, indent=2, sort_keys=True)

save_file({"params/dense/kernel": np.ascontiguousarray(tensors["fc1.weight"].T), "params/dense/bias": tensors["fc1.bias"].astype("f4")}, "weights/linear.safetensors")
torch.save({"fc1.weight": torch.from_numpy(tensors["fc1.weight"])}, "weights/archive.pt")
torch.save({"fc1.weight": torch.from_numpy(tensors["fc1.weight"])}, "weights/legacy.pt", _use_new_zipfile_serialization=False)
