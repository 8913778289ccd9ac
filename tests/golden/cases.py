"""What the make_*.py of cases share. A case NAME has the tensors NAME/in0 ..., NAME/out, perhaps NAME/attr (numbers by which a test builds it), and,
where there is a gradient, NAME/grad0 ...: those of sum(out * r) in the float inputs that PyTorch differentiates. r follows from the name (weights), unless
NAME/r has it. Float inputs are numbers that f32 holds, stored as such; outputs and gradients are computed in f64 from the same numbers, so one golden,
rounded, serves both types. Where all of a result are numbers that f32 holds, it is stored so, and as exact.
"""
import numpy as np
import torch
from safetensors.torch import save_file

tensors = {}


def begin(seed):
    assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
    torch.manual_seed(seed)
    torch.set_num_threads(1)


def rand(*shape, lo=-2.0, hi=2.0):
    return torch.rand(shape, dtype=torch.float32) * (hi - lo) + lo


def put(name, t, as_is=False):
    """as_is: what is stored has t's dtype."""
    assert name not in tensors, name
    t = t.detach().contiguous().clone()
    tensors[name] = t.float() if not as_is and t.dtype == torch.float64 and torch.equal(t.float().double().view(torch.int64), t.view(torch.int64)) else t


def weights(name, shape):
    """The numbers in [-1, 1) of goldens.h's function of that name, all of which f32 holds."""
    def hashed(h):
        for factor in (2246822519, 3266489917):
            h = (h ^ h >> np.uint32(15)) * np.uint32(factor)
        return h ^ h >> np.uint32(16)

    seed = 2166136261
    for c in name.encode():
        seed = (seed ^ c) * 16777619 & 0xFFFFFFFF
    numbers = hashed(np.uint32(seed) + np.arange(int(np.prod(shape)), dtype=np.uint32) * np.uint32(2654435761))
    return torch.from_numpy((numbers >> np.uint32(8)).astype(np.float64) * 2.0**-23 - 1).reshape(shape)


def inputs_of(name, inputs, grad=True):
    """Stores them, and gives them as f64 leaves. grad: whether they have gradients, or the numbers of those that have."""
    leaves = []
    for i, x in enumerate(inputs):
        put(f"{name}/in{i}", x)
        if x.dtype == torch.float32:
            x = x.double().requires_grad_(grad if isinstance(grad, bool) else i in grad)
        leaves.append(x)
    return leaves


def result(name, y, leaves):
    """Stores y, computed from the leaves, and their gradients."""
    put(f"{name}/out", y)
    wanted = [(i, x) for i, x in enumerate(leaves) if x.requires_grad]
    if not wanted or not y.requires_grad:
        return
    found = torch.autograd.grad((y * weights(name, tuple(y.shape))).sum(), [x for _, x in wanted], allow_unused=True)
    for (i, _), g in zip(wanted, found):
        if g is not None:  # PyTorch has no gradient in running statistics
            put(f"{name}/grad{i}", g)


def case(name, fn, *inputs, grad=True):
    leaves = inputs_of(name, inputs, grad)
    result(name, fn(*leaves), leaves)


def save(file, metadata=None):
    save_file(tensors, file, metadata)
