"""Writes leaves.txt: a network with batch norm, trained by PyTorch in f64 with each batch cut into 4 leaves.

Each leaf normalises by its own statistics and starts from the running ones before the step; their new values are
averaged over the leaves, and the gradients are those of the mean loss. The network: linear [6, 5], batch norm, tanh,
linear [2, 6], mean squared error; SGD, 5 steps on the same 16 samples. Run: python make_leaves.py > leaves.txt
"""
import torch

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__

LEAVES, STEPS = 4, 5
torch.manual_seed(11)
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
X = torch.randn(16, 5)
T = torch.randn(16, 2)
bn = torch.nn.BatchNorm1d(6)
net = torch.nn.Sequential(torch.nn.Linear(5, 6), bn, torch.nn.Tanh(), torch.nn.Linear(6, 2))
NAMES = {"0.weight": "in.weight", "0.bias": "in.bias", "1.weight": "bn.weight", "1.bias": "bn.bias",
         "1.running_mean": "bn.running_mean", "1.running_var": "bn.running_var",
         "3.weight": "out.weight", "3.bias": "out.bias"}


def emit(name, value):
    value = value.detach()
    numbers = [str(value.dim())] + [str(d) for d in value.shape] + ["%.17g" % v for v in value.flatten().tolist()]
    print(name, " ".join(numbers))


def emit_states(step):
    for name, value in net.state_dict().items():
        if name in NAMES:
            emit(f"{NAMES[name]}.{step}", value)


print(f"# torch {torch.__version__.split('+')[0]} make_leaves.py")
emit("x", X)
emit("t", T)
emit_states(0)
optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9, weight_decay=0.01)
for step in range(1, STEPS + 1):
    optimizer.zero_grad()
    before = [bn.running_mean.clone(), bn.running_var.clone()]
    after = [torch.zeros(6), torch.zeros(6)]
    for x, t in zip(X.chunk(LEAVES), T.chunk(LEAVES)):
        bn.running_mean.copy_(before[0])
        bn.running_var.copy_(before[1])
        (torch.nn.functional.mse_loss(net(x), t) / LEAVES).backward()
        after[0] += bn.running_mean / LEAVES
        after[1] += bn.running_var / LEAVES
    bn.running_mean.copy_(after[0])
    bn.running_var.copy_(after[1])
    optimizer.step()
    emit_states(step)
