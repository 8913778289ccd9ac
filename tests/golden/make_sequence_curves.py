"""Writes sequence_curves.txt: 20 steps of PyTorch training three small networks, for tests/nn/test_curves.c. They are the examples char_lstm, keyword
and ctc_digits, smaller. In f64 the losses, a validation loss every five steps and numbers of the weights at the end. In f32 the losses of 24 runs, by
PyTorch's own kernels and by oneDNN's, with samples and channels in other orders, which changes the order of sums and nothing else: how far they are
from those in f64, and the largest distance of two of them (root mean squares over the steps). Numbers come from the formula of make_curves.py.
bench/curves.py takes the LSTM from here. Made with torch==2.13.0 and torchaudio==2.11.0. Run: python make_sequence_curves.py > sequence_curves.txt
"""
import math

import torch
import torch.nn.functional as F
import torchaudio.functional as AF
from torch import nn

from make_curves import fnv1a, number, reals

STEPS, EVERY, RUNS = 20, 5, 24
RATE, SOUND, N_FFT, HOP, MELS, FRAMES, CLASSES = 8000, 400, 64, 20, 12, 21, 5


def integers(name, count, below):
    return torch.tensor([number(fnv1a(name), i) % below for i in range(count)])


class LSTM(nn.Module):
    """A language model: of text [T + 1, B] each symbol is guessed from those before it."""

    def __init__(self, symbols=11, units=16, layers=2):
        super().__init__()
        self.embed, self.lstm, self.head = nn.Embedding(symbols, units), nn.LSTM(units, units, layers), nn.Linear(units, symbols)

    def forward(self, text):
        logits = self.head(self.lstm(self.embed(text[:-1]))[0])
        return F.cross_entropy(logits.flatten(0, 1), text[1:].flatten())

    def reorder(self):
        units = torch.randperm(self.embed.weight.shape[1])
        self.embed.weight.copy_(self.embed.weight[:, units]), self.lstm.weight_ih_l0.copy_(self.lstm.weight_ih_l0[:, units])

    @staticmethod
    def draw(name, dtype, order):
        return (integers(name, 13 * 5, 11).reshape(13, 5)[:, order(5)],)

    @staticmethod
    def optimizer(parameters):
        return torch.optim.Adam(parameters, lr=0.01)

    clip, schedule = None, staticmethod(lambda step: 1.0)


def log_mel(sound):
    torch.set_default_dtype(torch.float64)  # of what is made next
    window = torch.hann_window(N_FFT).to(sound)
    filters = AF.melscale_fbanks(N_FFT // 2 + 1, 0.0, RATE / 2, MELS, RATE, None, "htk").to(sound)
    torch.set_default_dtype(torch.float32)
    power = torch.stft(sound, N_FFT, HOP, window=window, return_complex=True).abs() ** 2
    return torch.log((power.transpose(1, 2) @ filters).transpose(1, 2) + 1e-6)


def sound(name, count, dtype):
    return reals(name, (count, SOUND), 0.5).to(dtype)


class Same(nn.Conv2d):
    """Padded to ceil(extent / stride), one more after than before."""

    def forward(self, x):
        def pads(n):
            total = max(0, (-(-n // self.stride[0]) - 1) * self.stride[0] + self.kernel_size[0] - n)
            return total // 2, total - total // 2

        return super().forward(F.pad(x, (*pads(x.shape[3]), *pads(x.shape[2]))))


class Keyword(nn.Module):
    """Depthwise-separable convolutions on log-mels."""

    def __init__(self, channels=6):
        super().__init__()

        def conv(inside, kernel, stride, groups):
            return nn.ModuleDict({"conv": Same(inside, channels, kernel, stride, groups=groups, bias=False), "norm": nn.BatchNorm2d(channels)})

        self.norm = nn.BatchNorm2d(1)
        self.layers = {"in": conv(1, 3, 2, 1)}
        for i in (1, 2):
            self.layers[f"depth{i}"], self.layers[f"point{i}"] = conv(channels, 3, 2 if i == 1 else 1, channels), conv(channels, 1, 1, 1)
        for name, layer in self.layers.items():
            self.add_module(name, layer)
        self.fc = nn.Linear(channels, CLASSES)

    def forward(self, sound, labels):
        x = self.norm(log_mel(sound).unsqueeze(1))
        for layer in self.layers.values():
            x = F.relu(layer["norm"](layer["conv"](x)))
        return F.cross_entropy(self.fc(x.mean((2, 3))), labels, label_smoothing=0.1)

    def reorder(self):
        channels = torch.randperm(self.fc.in_features)
        for layer in self.layers.values():
            for p in layer.parameters():
                p.copy_(p[channels])
            if layer["conv"].groups == 1 and layer["conv"].in_channels > 1:
                layer["conv"].weight.copy_(layer["conv"].weight[:, channels])
        self.fc.weight.copy_(self.fc.weight[:, channels])

    @staticmethod
    def draw(name, dtype, order):
        order = order(6)
        return sound(name, 6, dtype)[order], integers(name + ".labels", 6, CLASSES)[order]

    @staticmethod
    def optimizer(parameters):
        return torch.optim.AdamW(parameters, lr=0.005, weight_decay=0.01)

    @staticmethod
    def schedule(step, warmup=4):
        return (step + 1) / warmup if step < warmup else (1 + math.cos(math.pi * (step - warmup) / (STEPS - warmup))) / 2

    clip = None


class CTC(nn.Module):
    """Two layers of GRU in both directions on log-mels, for samples of several lengths."""

    def __init__(self, units=8):
        super().__init__()
        self.norm, self.mels = nn.BatchNorm1d(MELS), torch.arange(MELS)
        self.gru, self.head = nn.GRU(MELS, units, 2, bidirectional=True), nn.Linear(2 * units, CLASSES + 1)

    def forward(self, sound, frames, labels, lengths):
        x = self.norm(log_mel(sound)[:, self.mels]).permute(2, 0, 1)
        x = nn.utils.rnn.pack_padded_sequence(x, frames, enforce_sorted=False)
        x, _ = nn.utils.rnn.pad_packed_sequence(self.gru(x)[0], total_length=FRAMES)
        return F.ctc_loss(self.head(x).log_softmax(-1), labels, frames, lengths, CLASSES)

    def reorder(self):
        self.mels = torch.randperm(MELS)
        for p in (self.norm.weight, self.norm.bias):
            p.copy_(p[self.mels])
        for p in (self.gru.weight_ih_l0, self.gru.weight_ih_l0_reverse):
            p.copy_(p[:, self.mels])

    @staticmethod
    def draw(name, dtype, order):
        order = order(5)
        frames, lengths = 12 + integers(name + ".frames", 5, 10), 1 + integers(name + ".lengths", 5, 3)
        return sound(name, 5, dtype)[order], frames[order], integers(name + ".labels", 15, CLASSES).reshape(5, 3)[order], lengths[order]

    @staticmethod
    def optimizer(parameters):
        return torch.optim.Adam(parameters, lr=0.01)

    clip, schedule = 1.0, staticmethod(lambda step: 1.0)


def emit(name, values):
    print(name, 1, len(values), *("%.17g" % v for v in values))


def run(network, dtype, order=0):
    torch.set_num_threads(1)
    torch.backends.mkldnn.set_flags(order % 2 == 1)
    net = network().double()
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(reals(name, p.shape, 0.25, float(name.endswith("norm.weight"))))
        if order:
            net.reorder()
    net = net.to(dtype)
    optimizer = network.optimizer(net.parameters())
    rate, losses, checks = optimizer.param_groups[0]["lr"], [], []
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = rate * network.schedule(step)
        loss = net(*network.draw(f"step{step}", dtype, torch.randperm if order else torch.arange))
        optimizer.zero_grad()
        loss.backward()
        if network.clip:
            nn.utils.clip_grad_norm_(net.parameters(), network.clip)
        optimizer.step()
        losses.append(loss.item())
        if step % EVERY == EVERY - 1:
            net.eval()
            with torch.no_grad():
                checks.append(net(*network.draw("validation", dtype, torch.arange)).item())
            net.train()
    return losses, checks, net


if __name__ == "__main__":
    print("# torch", torch.__version__.split("+")[0], "make_sequence_curves.py")
    torch.manual_seed(1)
    for title, network in ("lstm", LSTM), ("keyword", Keyword), ("ctc", CTC):
        exact, checks, net = run(network, torch.float64)
        emit(f"{title}.losses", exact)
        emit(f"{title}.validation", checks)
        for state, p in net.named_parameters():
            v = p.detach().flatten()
            emit(f"{title}.{state}", [v.sum().item(), v.abs().sum().item(), v[0].item(), v[len(v) // 2].item(), v[-1].item()])
        runs = [run(network, torch.float32, order)[0] for order in range(RUNS)]
        emit(f"{title}.f32", [math.dist(a, exact) / math.sqrt(STEPS) for a in runs])
        emit(f"{title}.spread", [max(math.dist(a, b) for a in runs for b in runs) / math.sqrt(STEPS)])
