"""What the make_*.py of cases share. A case NAME has the tensors NAME/in0 ..., NAME/out, perhaps NAME/attr (numbers by which a test builds it), and,
where there is a gradient, NAME/r and NAME/grad0 ...: those of sum(out * r) in the float inputs that PyTorch differentiates. Float inputs are numbers
that f32 holds, stored as such; outputs and gradients are computed in f64 from the same numbers, so one golden, rounded, serves both types.
"""
import torch
from safetensors.torch import save_file

tensors = {}


def begin(seed):
    assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
    torch.manual_seed(seed)
    torch.set_num_threads(1)


def rand(*shape, lo=-2.0, hi=2.0):
    return torch.rand(shape, dtype=torch.float32) * (hi - lo) + lo


def put(name, t):
    assert name not in tensors, name
    tensors[name] = t.detach().contiguous().clone()


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
    r = rand(*y.shape)
    put(f"{name}/r", r)
    found = torch.autograd.grad((y * r.double()).sum(), [x for _, x in wanted], allow_unused=True)
    for (i, _), g in zip(wanted, found):
        if g is not None:  # PyTorch has no gradient in running statistics
            put(f"{name}/grad{i}", g)


def case(name, fn, *inputs, grad=True):
    leaves = inputs_of(name, inputs, grad)
    result(name, fn(*leaves), leaves)


def save(file, metadata=None):
    save_file(tensors, file, metadata)
