"""Writes lstm_curves.txt: 20 steps of PyTorch training a small language model (embedding, two LSTM layers, linear) in f64 with Adam, for
tests/nn/test_lstm_curves.c. First values and bytes come from the formula of make_curves.py. bench/curves.py takes the network from here.
Run: python make_lstm_curves.py > lstm_curves.txt
"""
import torch
import torch.nn.functional as F
from make_curves import fnv1a, number, reals

SYMBOLS, UNITS, T, BATCH, STEPS = 11, 16, 12, 5, 20


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


def text(step):
    seed = fnv1a(f"text{step}")
    return torch.tensor([number(seed, i) % SYMBOLS for i in range((T + 1) * BATCH)]).reshape(T + 1, BATCH)


def emit(name, values):
    print(name, 1, len(values), *("%.17g" % v for v in values))


def main():
    torch.set_num_threads(1)
    net = Net(SYMBOLS, UNITS, 2).double()
    with torch.no_grad():
        for name, p in net.named_parameters():
            p.copy_(reals(name, p.shape, 0.25))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for step in range(STEPS):
        ids = text(step)
        loss = net.loss(ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("# torch", torch.__version__.split("+")[0], "make_lstm_curves.py")
    emit("losses", losses)
    for name, p in net.named_parameters():
        v = p.detach().flatten()
        emit(name, [v.sum().item(), v.abs().sum().item(), v[0].item(), v[len(v) // 2].item(), v[-1].item()])


if __name__ == "__main__":
    main()
