"""Writes losses.safetensors: values and gradients of PyTorch's losses, for tests/ops/test_losses.c. Made with torch==2.13.0.
Run: python make_losses.py (in this folder).

A case NAME has NAME/attr, ten i64: which loss (the order of KINDS), the reduction (0 mean, 1 sum, 2 none), and numbers of that loss, fractions
in millionths; NAME/in0 ..., NAME/out, and where there is a gradient NAME/r and NAME/grad0 ..., as in make_ops.py.
"""
import torch
import torch.nn.functional as F
from safetensors.torch import save_file

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
torch.manual_seed(11)
torch.set_num_threads(1)
tensors = {}
REDUCTIONS = ["mean", "sum", "none"]
KINDS = ["cross_entropy"]


def rand(*shape, lo=-2.0, hi=2.0):
    return torch.rand(shape, dtype=torch.float32) * (hi - lo) + lo


def put(name, t):
    assert name not in tensors, name
    tensors[name] = t.detach().contiguous().clone()


def case(name, fn, *inputs, attr=(), grad=True):
    """fn(reduction, *inputs) for every reduction; grad: the inputs that have a gradient, True for all floats."""
    kind = KINDS.index(name.split(".")[0])
    for i, reduction in enumerate(REDUCTIONS):
        at = f"{name}.{reduction}"
        numbers = [kind, i] + [round(a * 1e6) if isinstance(a, float) else int(a) for a in attr]
        put(f"{at}/attr", torch.tensor(numbers + [0] * (10 - len(numbers))))
        for k, x in enumerate(inputs):
            put(f"{at}/in{k}", x)
        xs = [x.double() if x.dtype == torch.float32 else x for x in inputs]
        wrt = [k for k, x in enumerate(xs) if x.dtype == torch.float64 and (grad is True or k in grad)]
        for k in wrt:
            xs[k].requires_grad_()
        y = fn(reduction, *xs)
        put(f"{at}/out", y)
        r = rand(*y.shape)
        put(f"{at}/r", r)
        for k, g in zip(wrt, torch.autograd.grad((y * r.double()).sum(), [xs[k] for k in wrt])):
            put(f"{at}/grad{k}", g)


# ---- cross-entropy: attr is smoothing, whether and which label is ignored, whether there are weights -------------------------------------------
def cross_entropy(smoothing, ignored=None):
    def fn(reduction, x, t, w=None):
        return F.cross_entropy(x, t, weight=w, reduction=reduction, label_smoothing=smoothing, ignore_index=-100 if ignored is None else ignored)
    return fn


shapes = {"1d": (5,), "2d": (7, 4), "one": (3, 1), "wide": (3, 37), "4d": (2, 3, 4, 2)}
for key, shape in shapes.items():
    classes = shape[0] if len(shape) == 1 else shape[1]
    places = shape[:1] * (len(shape) > 1) + shape[2:]
    x, labels, w = rand(*shape, lo=-5, hi=5), torch.randint(classes, places), rand(classes, lo=0.1, hi=3)
    q = torch.softmax(rand(*shape), 1 if len(shape) > 1 else 0)
    some = labels.clone()
    if some.dim():
        some.flatten()[::2] = -7
    for smoothing in (0.0, 0.15):
        tag = f"cross_entropy.{key}.{round(smoothing * 100)}"
        case(tag, cross_entropy(smoothing), x, labels, attr=(smoothing, 0, 0, 0))
        case(tag + ".weight", cross_entropy(smoothing), x, labels, w, attr=(smoothing, 0, 0, 1), grad=[0])
        case(tag + ".ignore", cross_entropy(smoothing, -7), x, some, attr=(smoothing, 1, -7, 0))
        case(tag + ".both", cross_entropy(smoothing, classes - 1), x, labels, w, attr=(smoothing, 1, classes - 1, 1), grad=[0])
        case(tag + ".soft", cross_entropy(smoothing), x, q, attr=(smoothing, 0, 0, 0))
        case(tag + ".soft_weight", cross_entropy(smoothing), x, q, w, attr=(smoothing, 0, 0, 1), grad=[0, 1])
case("cross_entropy.large", cross_entropy(0.1), rand(6, 5, lo=-900, hi=900), torch.tensor([4, 0, 2, 2, 1, 3]), attr=(0.1, 0, 0, 0))
case("cross_entropy.none", cross_entropy(0.1), rand(0, 3), torch.zeros(0, dtype=torch.int64), attr=(0.1, 0, 0, 0))
case("cross_entropy.all_ignored", cross_entropy(0.1, 2), rand(3, 4), torch.tensor([2, 2, 2]), attr=(0.1, 1, 2, 0))

save_file(tensors, "losses.safetensors", metadata={"made_by": "make_losses.py", "torch": "2.13.0"})
print(len(tensors), "tensors")
