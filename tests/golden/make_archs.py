"""Writes archs.txt: what architectures of src/zoo/nets.c give in PyTorch, in f64 and evaluation. ResNet-18 and
MobileNetV2 are torchvision's by definition, written anew; the others are as their papers have them. State k, number i
(both in order of making, which is that of wick too) is made of u = frac((i 2654435761 + k 97531) / 2^32) - 1/2: weights
of two and more dims u sqrt(12 / fan in), those of norms 1 + u / 5, running variances 1 + u / 5, all else u / 5; the
input is state 999, itself u. Run: python make_archs.py > archs.txt
"""
import torch
import torch.nn.functional as F
from torch import nn

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def numbers(k, *shape):
    i = torch.arange(torch.Size(shape).numel(), dtype=torch.int64)
    return (((i * 2654435761 + k * 97531) % 2**32).double() / 2**32 - 0.5).reshape(shape)


def fill(module):
    k = 0
    for owner in module.modules():
        own = list(owner.named_parameters(recurse=False)) + list(owner.named_buffers(recurse=False))
        for name, p in own:
            if name == "num_batches_tracked":
                continue
            u = numbers(k, *p.shape)
            k += 1
            norm = isinstance(owner, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm))
            if p.dim() > 1:
                value = u * (12 / (p.numel() / p.shape[0])) ** 0.5
            else:
                value = (1 if norm and name in ("weight", "running_var") else 0) + u / 5
            with torch.no_grad():
                p.copy_(value)
    return module.eval(), k


class Block(nn.Module):
    """torchvision.models.resnet.BasicBlock"""

    def __init__(self, a, b, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b)
        self.conv2, self.bn2 = nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b)
        down = nn.Conv2d(a, b, 1, stride, bias=False), nn.BatchNorm2d(b)
        self.down = nn.Sequential(*down) if stride > 1 or a != b else None

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.down(x) if self.down else x))


def resnet18(classes):
    layers, a = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for b, stride in (64, 1), (128, 2), (256, 2), (512, 2):
        layers += [Block(a, b, stride), Block(b, b, 1)]
        a = b
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


class Inverted(nn.Module):
    """torchvision.models.mobilenetv2.InvertedResidual"""

    def __init__(self, a, b, stride, t):
        super().__init__()
        up = [nn.Conv2d(a, a * t, 1, bias=False), nn.BatchNorm2d(a * t), nn.ReLU6()] if t > 1 else []
        self.body = nn.Sequential(*up, nn.Conv2d(a * t, a * t, 3, stride, 1, groups=a * t, bias=False),
                                  nn.BatchNorm2d(a * t), nn.ReLU6(), nn.Conv2d(a * t, b, 1, bias=False),
                                  nn.BatchNorm2d(b))
        self.same = stride == 1 and a == b

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


def mobilenetv2(classes):
    layers, a = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
    table = (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
    for t, b, n, stride in table:
        for i in range(n):
            layers.append(Inverted(a, b, 1 if i else stride, t))
            a = b
    return nn.Sequential(*layers, nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, classes))


class Causal(nn.Conv1d):
    def forward(self, x):
        return super().forward(F.pad(x, (self.dilation[0] * (self.kernel_size[0] - 1), 0)))


class Dilated(nn.Module):
    def __init__(self, a, d):
        super().__init__()
        self.body = nn.Sequential(Causal(a, 64, 3, dilation=d, bias=False), nn.BatchNorm1d(64), nn.ReLU(),
                                  Causal(64, 64, 3, dilation=d, bias=False), nn.BatchNorm1d(64), nn.ReLU())
        self.short = nn.Sequential(nn.Conv1d(a, 64, 1, bias=False), nn.BatchNorm1d(64)) if a != 64 else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def tcn(channels, classes):
    blocks = [Dilated(64 if i else channels, 2**i) for i in range(4)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, classes))


class Turn(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


class Positions(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(length, 64))

    def forward(self, x):
        return x + self.weight


class Mean(nn.Module):
    def forward(self, x):
        return x.mean(1)


def transformer(channels, length, classes):
    layers = [nn.TransformerEncoderLayer(64, 4, 256, 0.1, "gelu", batch_first=True, norm_first=True) for _ in range(2)]
    for layer in layers:  # in the order of their making in wick
        parts = layer._modules
        first = ["norm1", "self_attn", "norm2", "linear1"]
        layer._modules = {k: parts[k] for k in first + [k for k in parts if k not in first]}
    return nn.Sequential(nn.Conv1d(channels, 64, 1), Turn(), Positions(length), *layers, Mean(), nn.LayerNorm(64),
                         nn.Linear(64, classes))


class CausalRows(nn.Conv2d):
    def forward(self, x):
        return super().forward(F.pad(x, (self.dilation[1] * (self.kernel_size[1] - 1), 0)))


def oblong(classes):
    """conv 6 2x3 stride 1x2 pad 1x0, relu6, dwconv 3x1 pad 1x0, avgpool 1x2, conv 5 1x3 causal dilation 1x2,
    maxpool 2x1 stride 1, globalpool, linear classes"""
    first = nn.Conv2d(3, 6, (2, 3), (1, 2), (1, 0)), nn.ReLU6(), nn.Conv2d(6, 6, (3, 1), 1, (1, 0), groups=6)
    then = nn.AvgPool2d((1, 2), (1, 2)), CausalRows(6, 5, (1, 3), dilation=(1, 2)), nn.MaxPool2d((2, 1), 1)
    return nn.Sequential(*first, *then, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, classes))


print("# torch", torch.__version__.split("+")[0], "make_archs.py")
for name, module, shape in (("resnet18", resnet18(7), (1, 3, 48, 40)), ("mobilenetv2", mobilenetv2(7), (1, 3, 48, 40)),
                            ("tcn", tcn(3, 7), (2, 3, 1, 20)), ("transformer", transformer(3, 20, 7), (2, 3, 1, 20)),
                            ("oblong", oblong(7), (2, 3, 9, 22))):
    module, states = fill(module)
    with torch.no_grad():
        y = module(numbers(999, *shape).reshape(shape if name in ("resnet18", "mobilenetv2", "oblong") else (2, 3, 20)))
    print(name, y.dim(), *y.shape, *["%.17g" % v for v in y.flatten().tolist()])
