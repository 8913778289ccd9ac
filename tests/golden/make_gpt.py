"""Writes gpt.txt: 20 steps of PyTorch training a small GPT, for tests/zoo/test_gpt.c: in f64, the losses, a validation loss every five steps and the
weights at the end; in f32 on one thread and on two, the losses. Numbers as in make_curves.py. Made with torch==2.13.0.
Run: python make_gpt.py > gpt.txt
"""
import math

import torch
import torch.nn.functional as F
from torch import nn

from make_curves import fnv1a, number, reals

BATCH, LENGTH, VOCABULARY, WIDTH, HEADS, LAYERS, STEPS = 4, 16, 19, 24, 3, 2, 20


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)
        self.double()
        with torch.no_grad():
            for name, p in self.named_parameters():
                norm = p.dim() == 1 and "norm" in name and "weight" in name
                p.copy_(reals(name, p.shape, 0.25 if p.dim() == 1 else 1 / math.sqrt(p.shape[1]), 1.0 if norm else 0.0))

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight
        mask = nn.Transformer.generate_square_subsequent_mask(LENGTH, dtype=x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(self.norm(x))


def tokens(name):
    """A walk through the vocabulary with jumps, so that there is something to learn."""
    seed, rows = fnv1a(name), []
    for b in range(BATCH):
        row = [number(seed, b * (LENGTH + 1)) % VOCABULARY]
        for i in range(1, LENGTH + 1):
            jump = number(seed, b * (LENGTH + 1) + i)
            row.append((row[-1] * 2 + 1 + (jump % 3 == 0)) % VOCABULARY)
        rows.append(row)
    t = torch.tensor(rows)
    return t[:, :-1], t[:, 1:]


def loss_of(model, name):
    x, y = tokens(name)
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def emit(name, values):
    print(name, 1, len(values), " ".join("%.17g" % v for v in values))


def run(name, dtype, threads):
    torch.set_num_threads(threads)
    model, losses, checks = GPT().to(dtype), [], []
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.003, weight_decay=0.1)
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model, f"step{step}")
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step % 5 == 4:
            with torch.no_grad():
                checks.append(loss_of(model, "validation").item())
    emit(f"{name}.losses", losses)
    emit(f"{name}.validation", checks)
    if dtype == torch.float64:
        for state, value in model.named_parameters():
            v = value.detach().flatten()
            emit(f"{name}.{state}", [v.sum().item(), v.abs().sum().item(), v[0].item(), v[len(v) // 2].item(), v[-1].item()])


if __name__ == "__main__":
    print("# torch", torch.__version__.split("+")[0], "make_gpt.py")
    run("f64", torch.float64, 1)
    run("f32_1", torch.float32, 1)
    run("f32_2", torch.float32, 2)
