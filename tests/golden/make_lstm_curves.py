"""Writes lstm_curves.txt: 20 steps of PyTorch training a small language model (embedding, two LSTM layers, linear) with Adam, for
tests/nn/test_lstm_curves.c: in f64 the losses, a validation loss every five steps and numbers of the weights at the end; and how far the losses of f32
runs are from them (root mean square), by PyTorch's own kernels and by oneDNN's, and with the samples of batches and the numbers of the embedding in
other orders, which changes the order of sums and nothing else. First values and bytes come from the formula of make_curves.py. bench/curves.py takes
the network from here. Run: python make_lstm_curves.py > lstm_curves.txt
"""
import math

import torch
import torch.nn.functional as F
from make_curves import fnv1a, number, reals

SYMBOLS, UNITS, T, BATCH, STEPS, ORDERS = 11, 16, 12, 5, 20, 24


class Net(torch.nn.Module):
    def __init__(self, symbols, units, layers):
        super().__init__()
        self.embed = torch.nn.Embedding(symbols, units)
        self.lstm = torch.nn.LSTM(units, units, layers)
        self.head = torch.nn.Linear(units, symbols)

    def forward(self, ids):
        return self.head(self.lstm(self.embed(ids))[0])

    def loss(self, text):
        """Of text [T + 1, B]: each symbol is guessed from those before it."""
        return F.cross_entropy(self(text[:-1]).flatten(0, 1), text[1:].flatten())


def text(name):
    seed = fnv1a(name)
    return torch.tensor([number(seed, i) % SYMBOLS for i in range((T + 1) * BATCH)]).reshape(T + 1, BATCH)


def emit(name, values):
    print(name, 1, len(values), *("%.17g" % v for v in values))


def run(dtype, onednn=False, order=0):
    torch.set_num_threads(1)
    torch.backends.mkldnn.set_flags(onednn)
    net = Net(SYMBOLS, UNITS, 2).double()
    samples, units = ((torch.randperm if order else torch.arange)(n) for n in (BATCH, UNITS))
    with torch.no_grad():
        for state, p in net.named_parameters():
            values = reals(state, p.shape, 0.25)
            p.copy_(values[:, units] if state in ("embed.weight", "lstm.weight_ih_l0") else values)
    net = net.to(dtype)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses, checks = [], []
    for step in range(STEPS):
        loss = net.loss(text(f"text{step}")[:, samples])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 5 == 4:
            with torch.no_grad():
                checks.append(net.loss(text("validation")).item())
    return losses, checks, net


if __name__ == "__main__":
    print("# torch", torch.__version__.split("+")[0], "make_lstm_curves.py")
    torch.manual_seed(1)
    exact, checks, net = run(torch.float64)
    emit("losses", exact)
    emit("validation", checks)
    for state, p in net.named_parameters():
        v = p.detach().flatten()
        emit(state, [v.sum().item(), v.abs().sum().item(), v[0].item(), v[len(v) // 2].item(), v[-1].item()])
    emit("f32", [math.dist(run(torch.float32, order % 2 == 1, order)[0], exact) / math.sqrt(STEPS) for order in range(ORDERS)])
