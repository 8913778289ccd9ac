"""Writes layers.txt: values and gradients of PyTorch's layers in f64. Gradients are those of sum(y * r) for a random r;
losses are their own scalar. Run: python make_layers.py > layers.txt
"""
import torch
import torch.nn.functional as F

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__

torch.manual_seed(11)
torch.set_num_threads(1)


def rand(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def emit(name, value):
    value = value.detach().to(torch.float64)
    numbers = [str(value.dim())] + [str(d) for d in value.shape] + ["%.17g" % v for v in value.flatten().tolist()]
    print(name, " ".join(numbers))


def case(name, fn, **inputs):
    """Emits NAME.in.X and NAME.grad.X of each input X, NAME.y, and NAME.r unless y is a scalar."""
    for k, v in inputs.items():
        emit(f"{name}.in.{k}", v)
        v.requires_grad_(v.is_floating_point())
    y = fn(**inputs)
    emit(f"{name}.y", y)
    if y.dim():
        r = rand(*y.shape)
        emit(f"{name}.r", r)
        y = (y * r).sum()
    y.backward()
    for k, v in inputs.items():
        if v.is_floating_point():
            emit(f"{name}.grad.{k}", v.grad)


print("# torch", torch.__version__.split("+")[0], "make_layers.py")
case("linear", lambda x, weight, bias: F.linear(x, weight, bias), x=rand(2, 3, 4), weight=rand(5, 4), bias=rand(5))
case("layer_norm", lambda x, weight, bias: F.layer_norm(x, (6,), weight, bias), x=rand(2, 3, 6), weight=rand(6), bias=rand(6))
case("cross_entropy", lambda x, label: F.cross_entropy(x, label), x=rand(5, 4), label=torch.tensor([3, 0, 1, 1, 2]))
case("mse", lambda x, t: F.mse_loss(x, t), x=rand(3, 4), t=rand(3, 4))
case("gelu", lambda x: F.gelu(x), x=rand(9) * 2)
case("silu", lambda x: F.silu(x), x=rand(9) * 2)
case("softplus", lambda x: F.softplus(x), x=rand(9) * 2)
case("log_softmax", lambda x: F.log_softmax(x, -1), x=rand(3, 5))

# Batch norm: two training steps that move the running statistics, then evaluation.
norms = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d, 5: torch.nn.BatchNorm3d}
for name, shape in [("bn2", (7, 3)), ("bn4", (2, 3, 2, 5)), ("bn3", (3, 3, 7)), ("bn5", (2, 3, 3, 1, 5)), ("bn_one", (1, 3, 1, 5))]:
    layer = norms[len(shape)](3, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(rand(3))
        layer.bias.copy_(rand(3))
    emit(f"{name}.weight", layer.weight)
    emit(f"{name}.bias", layer.bias)
    for step in ["train1", "train2", "eval"]:
        layer.train(step != "eval")
        layer.zero_grad()
        x = (rand(*shape) * 1.5 + 0.5).requires_grad_()
        r = rand(*shape)
        y = layer(x)
        (y * r).sum().backward()
        for k, v in [("x", x), ("r", r), ("y", y), ("grad.x", x.grad), ("grad.weight", layer.weight.grad),
                     ("grad.bias", layer.bias.grad), ("mean", layer.running_mean), ("var", layer.running_var)]:
            emit(f"{name}.{step}.{k}", v)
