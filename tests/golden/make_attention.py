"""Writes attention.safetensors: values and gradients of scaled dot product attention, for tests/ops/test_attention.c. Made with torch==2.13.0.
Run: python make_attention.py (in this folder).

A case NAME has NAME/in0 ... (q, k, v and perhaps a mask), NAME/out, NAME/r and NAME/grad0 ... as in cases.py, and NAME/attr: causal (1 from the
top left, 2 from the bottom right), grouped, 1000 * scale (0: the default),
whether there is a mask.
"""
import random

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from cases import begin, inputs_of, put, rand, result, save

begin(9)
random.seed(9)
inf, nan = float("inf"), float("nan")


def case(name, q, k, v, mask=None, causal=0, grouped=False, scale=None, grad=True):
    inputs = [q, k, v] + ([mask] if mask is not None else [])
    put(f"{name}/attr", torch.tensor([causal, grouped, round((scale or 0) * 1000), mask is not None]))
    xs = inputs_of(name, inputs, grad)
    seen = xs[3] if mask is not None else None
    lq, lk = q.shape[-2], k.shape[-2]
    if causal:
        hidden = torch.ones(lq, lk).tril(0 if causal == 1 else lk - lq) == 0
        seen = torch.zeros(lq, lk, dtype=torch.float64) if seen is None else seen
        if seen.dtype == torch.bool:
            seen = torch.zeros(seen.shape, dtype=torch.float64).masked_fill(~seen, -inf)
        seen = seen.masked_fill(hidden, -inf)
    with sdpa_kernel(SDPBackend.MATH):
        y = F.scaled_dot_product_attention(xs[0], xs[1], xs[2], attn_mask=seen, scale=scale, enable_gqa=grouped)
    result(name, y, xs)


# Shapes: odd, of one, across the blocks of 64 queries and 128 keys.
for i, (lead, lq, lk, d, dv) in enumerate([((), 1, 1, 1, 1), ((3,), 5, 7, 3, 2), ((2, 3), 8, 8, 8, 8), ((1, 2), 65, 129, 3, 2), ((2, 1, 2), 3, 9, 4, 8),
                                           ((1, 1), 11, 140, 3, 2), ((1, 1), 130, 64, 3, 2), ((2, 1), 1, 17, 16, 18)]):
    q, k, v = rand(*lead, lq, d), rand(*lead, lk, d), rand(*lead, lk, dv)
    case(f"plain{i}", q, k, v)
    case(f"causal{i}", q, k, v, causal=1, scale=0.5)
    if lk >= lq:
        case(f"causal_end{i}", q, k, v, causal=2)
    if i not in (3, 6):  # small files
        case(f"mask{i}", q, k, v, rand(lq, lk))
    case(f"padding{i}", q, k, v, torch.rand(*(1,) * len(lead), 1, lk) < 0.7, causal=i % 3)
# Random ones.
for i in range(12):
    b, kv, group = random.randint(1, 2), random.randint(1, 3), random.randint(1, 3)
    lq, lk, d, dv = random.randint(1, 8), random.randint(1, 18), random.randint(1, 9), random.randint(1, 9)
    q, k, v = rand(b, kv * group, lq, d), rand(b, kv, lk, d), rand(b, kv, lk, dv)
    mask = [None, rand(b, 1, lq, lk), torch.rand(lq, lk) < 0.6, rand(1, kv * group, 1, lk)][i % 4]
    case(f"grouped{i}", q, k, v, mask, causal=random.randint(0, 1), grouped=True, scale=[None, 0.25][i % 2])
# Leading dims that broadcast.
case("broadcast", rand(2, 3, 4, 5), rand(3, 6, 5), rand(1, 1, 6, 2))
# Nothing to see: no keys, and masks that hide all.
case("no_keys", rand(2, 3, 4), rand(2, 0, 4), rand(2, 0, 5))
case("no_queries", rand(2, 0, 4), rand(2, 3, 4), rand(2, 3, 5))
case("no_features", rand(2, 3, 0), rand(2, 4, 0), rand(2, 4, 5), grad=False)
blind = torch.rand(6, 9) < 0.5
blind[2] = False
blind[4] = False
case("blind", rand(2, 6, 4), rand(2, 9, 4), rand(2, 9, 3), blind)
case("blind_causal_end", rand(2, 9, 4), rand(2, 6, 4), rand(2, 6, 3), causal=2)
# NaN and infinities.
for i, bad in enumerate([nan, inf, -inf]):
    for which in range(3):
        xs = [rand(2, 4, 3), rand(2, 5, 3), rand(2, 5, 4)]
        xs[which][1, 2, 1] = bad
        case(f"odd{i}{which}", *xs, grad=False)
mask = rand(4, 5)
mask[1, 2], mask[2, 3], mask[3, 1] = nan, inf, -inf
case("odd_mask", rand(2, 4, 3), rand(2, 5, 3), rand(2, 5, 4), mask, grad=False)
save("attention.safetensors")
