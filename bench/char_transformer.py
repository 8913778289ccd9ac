"""examples/char_transformer.c in PyTorch: the same network, options and measure, other random numbers. Prints the same lines, and the time of a step.

    python char_transformer.py TEXT [STEPS [WIDTH [LAYERS [CONTEXT [THREADS]]]]]
"""
import math
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, CHECKS = 12, 20
args = list(map(int, sys.argv[2:])) + [2000, 128, 4, 64, 1][len(sys.argv) - 2 :]
steps, width, n_layers, context, threads = args[:5]
torch.manual_seed(1)
torch.set_num_threads(threads)
text = open(sys.argv[1], "rb").read()
letters = sorted(set(text))
tokens = torch.tensor([letters.index(c) for c in text])
split = len(text) // 10 * 9


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(len(letters), width), nn.Embedding(context, width)
        heads = max(1, width // 32)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(n_layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(letters))
        nn.init.normal_(self.wte.weight, 0, 0.02), nn.init.normal_(self.wpe.weight, 0, 0.02)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(context)
        x = self.wte(x) + self.wpe.weight
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.head(self.norm(x))


def loss_of(model, starts):
    x = torch.stack([tokens[s : s + context] for s in starts])
    y = torch.stack([tokens[s + 1 : s + 1 + context] for s in starts])
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


model, warmup = GPT(), steps // 10 if steps < 1000 else 100
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
spent = 0.0
for step in range(steps):
    along = min(1.0, max(0, step - warmup) / (steps - warmup))
    rate = 1e-3 * (step + 1) / warmup if step < warmup else 1e-4 + (1e-3 - 1e-4) * (1 + math.cos(math.pi * along)) / 2
    for group in optimizer.param_groups:
        group["lr"] = rate
    start = time.perf_counter()
    optimizer.zero_grad()
    loss = loss_of(model, torch.randint(split - context - 1, (BATCH,)))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    spent += time.perf_counter() - start
    if step == 0 or (step + 1) % 100 == 0 or step + 1 == steps:
        with torch.no_grad():
            total = sum(loss_of(model, [split + (k * BATCH + b) * (len(text) - split - context - 1) // (CHECKS * BATCH) for b in range(BATCH)]).item() for k in range(CHECKS))
        print(f"step {step + 1}: loss {loss.item():.4f} validation {total / CHECKS:.4f}  {spent / (step + 1) * 1e3:.1f} ms a step", flush=True)
