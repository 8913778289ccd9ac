"""Updates of Wick's optimizers beside PyTorch's, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap).

    python optim.py BENCH_OPTIM [THREADS] [ROUNDS] [RULE ...]

BENCH_OPTIM is the program of bench_optim.c: four parameters of [512, 512], gradients given. PyTorch: torch.optim with foreach, and fused where it
has that; the faster one counts. LAMB and Lion, which it lacks, stand alone.
"""
import statistics
import sys

import numpy as np
import torch

import race

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 21
clock = race.use(threads)
o = torch.optim
rules = {
    "sgd": (o.SGD, {}), "momentum": (o.SGD, dict(momentum=0.9)), "adam": (o.Adam, {}), "adamw": (o.AdamW, dict(weight_decay=0.01)),
    "adamax": (o.Adamax, {}), "nadam": (o.NAdam, {}), "radam": (o.RAdam, {}), "rmsprop": (o.RMSprop, {}), "adagrad": (o.Adagrad, {}),
    "adadelta": (o.Adadelta, {}), "lion": None, "lamb": None, "muon": (o.Muon, dict(weight_decay=0.0)), "adamw+ema": (o.AdamW, dict(weight_decay=0.01)),
    "adam+clip": (o.Adam, {}), "adamw+clip": (o.AdamW, dict(weight_decay=0.01)), "momentum+decay": (o.SGD, dict(momentum=0.9, weight_decay=1e-4)),
    "nesterov+decay": (o.SGD, dict(momentum=0.9, weight_decay=1e-4, nesterov=True)), "lion+decay": None,
}


def makers(kind, options):
    yield lambda ps: kind(ps, lr=1e-6, **options)
    for how in ("foreach", "fused"):
        try:
            kind([torch.zeros(1)], lr=1e-6, **options, **{how: True})
            yield lambda ps, how=how: kind(ps, lr=1e-6, **options, **{how: True})
        except (TypeError, RuntimeError, ValueError):
            pass


def step(name, optimizer, params, mean):
    start = clock()
    if name.endswith("clip"):
        torch.nn.utils.clip_grad_norm_(params, 1)
    optimizer.step()
    if mean:
        mean.update_parameters(torch.nn.ParameterList(params))
    return (clock() - start) * 1e6


print(race.environment(threads) + f"\nan update of 1,048,576 numbers\n{'':16} {'Wick, us':>11} {'PyTorch, us':>11}  ratio (95 %)")
for name in sys.argv[4:] or rules:
    rule = rules[name]
    server = race.Server(program, threads, name)
    others = []
    for make in makers(*rule) if rule else []:
        params = [torch.nn.Parameter(torch.randn(512, 512) * 0.02) for _ in range(4)]
        for p in params:
            p.grad = torch.randn(512, 512) * 0.05
        mean = o.swa_utils.AveragedModel(torch.nn.ParameterList(params), multi_avg_fn=o.swa_utils.get_ema_multi_avg_fn(0.999)) if "ema" in name else None
        others.append((make(params), params, mean))
    ours, theirs = race.turns(server.ask, lambda: [statistics.median(step(name, *other) for _ in range(20)) for other in others], rounds, warmup=2)
    server.close()
    best = np.median(theirs, 0).argmin() if others else None
    print(f"{name:16} " + (str(race.Ratio(ours[:, 0], theirs[:, best])) if others else f"{np.median(ours):11.2f}"), flush=True)
