"""Writes hints.h: PyTorch's losses and gradients of hints between layers, for tests/compress/test_hints.c.

    python tests/golden/make_hints.py > tests/golden/hints.h

features: the mean of squares of conv2d(student) - teacher (Romero et al. 2015). attention: the mean of squares of the
difference of both maps, normalised means of squares over the channels, as Zagoruyko and Komodakis' code has it.
"""
import torch
import torch.nn.functional as F

assert torch.__version__.startswith("2.13.0"), torch.__version__

N, S, T, H, W = 3, 4, 5, 2, 3
torch.manual_seed(11)
student = torch.randn(N, S, H, W, dtype=torch.float64)
teacher = torch.randn(N, T, H, W, dtype=torch.float64)
weight = torch.randn(T, S, 1, 1, dtype=torch.float64)
bias = torch.randn(T, dtype=torch.float64)
student = student.float().double()
teacher, weight, bias = (x.float().double() for x in (teacher, weight, bias))


def show(name, x):
    x = x.detach().reshape(-1).tolist()
    print(f"static const float hint_{name}[] = {{")
    for i in range(0, len(x), 4):
        row = [f"{v:.9g}" for v in x[i:i + 4]]
        print("    " + ", ".join(v + ("f" if "." in v or "e" in v else ".0f") for v in row) + ",")
    print("};")


def attention_map(x):
    return F.normalize(x.pow(2).mean(1).view(x.size(0), -1))


print("/* Written by make_hints.py. */")
print(f"enum {{ HINT_N = {N}, HINT_S = {S}, HINT_T = {T}, HINT_H = {H}, HINT_W = {W} }};")
for name, x in (("student", student), ("teacher", teacher), ("weight", weight), ("bias", bias)):
    show(name, x)
leaves = [student.clone().requires_grad_(), weight.clone().requires_grad_(), bias.clone().requires_grad_()]
loss = (F.conv2d(leaves[0], leaves[1], leaves[2]) - teacher).pow(2).mean()
loss.backward()
show("features", loss)
for name, leaf in zip(("features_student", "features_weight", "features_bias"), leaves):
    show(name, leaf.grad)
leaf = student.clone().requires_grad_()
loss = (attention_map(leaf) - attention_map(teacher)).pow(2).mean()
loss.backward()
show("attention", loss)
show("attention_student", leaf.grad)
