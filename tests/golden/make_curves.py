"""Writes curves.txt: 20 steps of PyTorch training ResNet-8 in f64, for tests/zoo/test_curves.c.

Initial values, images and labels come from a formula that both sides compute exactly (number() below), so that only results are stored: the
losses, and of every state at the end its sum, sum of magnitudes, first, middle and last element. The network is the zoo's "resnet8": "same"
padding of a stride of 2 adds a row and a column at the end only. bench/curves.py takes the network from here.
Run: python make_curves.py > curves.txt
"""
import math

import torch
import torch.nn.functional as F

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
BATCH, STEPS, CLASSES = 4, 20, 10


def fnv1a(text):
    h = 2166136261
    for c in text.encode():
        h = (h ^ c) * 16777619 % 2**32
    return h


def number(seed, i):
    """Element i of array `seed`: 32 random bits. Unsigned multiplications modulo 2^32."""
    h = (seed + i * 2654435761) % 2**32
    for factor in (2246822519, 3266489917):
        h = (h ^ h >> 15) * factor % 2**32
    return h ^ h >> 16


def reals(name, shape, scale, offset=0.0):
    """offset + scale * x, x in [-1, 1)"""
    seed = fnv1a(name)
    values = [offset + scale * (number(seed, i) * 2.0**-31 - 1) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


class Net:
    """Parameters and running statistics by the names that Wick gives them."""

    def __init__(self):
        self.params, self.buffers = {}, {}
        self.conv_shape("conv1", 16, 3, 3), self.bn_shape("bn1", 16)
        for i, (inside, out) in enumerate(((16, 16), (16, 32), (32, 64)), 1):
            self.conv_shape(f"res{i}.conv1", out, inside, 3), self.bn_shape(f"res{i}.bn1", out)
            self.conv_shape(f"res{i}.conv2", out, out, 3), self.bn_shape(f"res{i}.bn2", out)
            if inside != out:
                self.conv_shape(f"res{i}.shortcut", out, inside, 1), self.bn_shape(f"res{i}.shortcut_bn", out)
        self.param("fc1.weight", (CLASSES, 64), 1 / math.sqrt(64))
        self.param("fc1.bias", (CLASSES,), 0.25)

    def param(self, name, shape, scale, offset=0.0):
        self.params[name] = reals(name, shape, scale, offset).requires_grad_()

    def conv_shape(self, name, out, inside, kernel):
        self.param(name + ".weight", (out, inside, kernel, kernel), 1 / math.sqrt(inside * kernel * kernel))

    def bn_shape(self, name, channels):
        self.param(name + ".weight", (channels,), 0.25, 1.0)
        self.param(name + ".bias", (channels,), 0.25)
        self.buffers[name + ".running_mean"] = torch.zeros(channels, dtype=torch.float64)
        self.buffers[name + ".running_var"] = torch.ones(channels, dtype=torch.float64)

    def conv_bn(self, conv, bn, x, stride=1):
        w = self.params[conv + ".weight"]
        if w.shape[2] == 3:
            x = F.pad(x, (1, 1, 1, 1) if stride == 1 else (0, 1, 0, 1))
        return F.batch_norm(F.conv2d(x, w, stride=stride), self.buffers[bn + ".running_mean"], self.buffers[bn + ".running_var"],
                            self.params[bn + ".weight"], self.params[bn + ".bias"], training=True, momentum=0.1, eps=1e-5)

    def __call__(self, x):
        x = F.relu(self.conv_bn("conv1", "bn1", x))
        for i, stride in enumerate((1, 2, 2), 1):
            y = F.relu(self.conv_bn(f"res{i}.conv1", f"res{i}.bn1", x, stride))
            y = self.conv_bn(f"res{i}.conv2", f"res{i}.bn2", y)
            if stride != 1:
                x = self.conv_bn(f"res{i}.shortcut", f"res{i}.shortcut_bn", x, stride)
            x = F.relu(y + x)
        return F.linear(x.mean((2, 3)), self.params["fc1.weight"], self.params["fc1.bias"])


def emit(name, values):
    print(name, 1, len(values), " ".join("%.17g" % v for v in values))


def run(name, make):
    net, losses = Net(), []
    optimizer = make(list(net.params.values()))
    for step in range(STEPS):
        x = reals(f"x{step}", (BATCH, 3, 32, 32), 2.0)
        labels = torch.tensor([number(fnv1a(f"labels{step}"), i) % CLASSES for i in range(BATCH)])
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    emit(f"{name}.losses", losses)
    for state, value in {**net.params, **net.buffers}.items():
        v = value.detach().flatten()
        emit(f"{name}.{state}", [v.sum().item(), v.abs().sum().item(), v[0].item(), v[len(v) // 2].item(), v[-1].item()])


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("# torch", torch.__version__.split("+")[0], "make_curves.py")
    run("sgd", lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9))
    run("adam", lambda p: torch.optim.Adam(p, lr=0.001))
