"""Updates of Wick's optimizers beside PyTorch's, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap).

    python optim.py BENCH_OPTIM [THREADS] [ROUNDS] [RULE ...]

BENCH_OPTIM is the program of bench_optim.c: four parameters of [512, 512], gradients given. PyTorch: torch.optim with foreach, and fused where it
has that; the faster one counts. LAMB and Lion, which it lacks, stand alone.
"""
import random
import statistics
import subprocess
import sys
import time

import torch

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 21
torch.set_num_threads(threads)
clock = time.process_time if threads == 1 else time.perf_counter  # as bench_optim
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


print(f"torch {torch.__version__}, {threads} threads, {rounds} rounds; us an update of 1,048,576 numbers")
for name in sys.argv[4:] or rules:
    rule = rules[name]
    child = subprocess.Popen([program, str(threads), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    others = []
    for make in makers(*rule) if rule else []:
        params = [torch.nn.Parameter(torch.randn(512, 512) * 0.02) for _ in range(4)]
        for p in params:
            p.grad = torch.randn(512, 512) * 0.05
        mean = o.swa_utils.AveragedModel(torch.nn.ParameterList(params), multi_avg_fn=o.swa_utils.get_ema_multi_avg_fn(0.999)) if "ema" in name else None
        others.append((make(params), params, mean))
    ours, theirs = [], [[] for _ in others]
    for i in range(rounds + 2):
        child.stdin.write("\n")
        child.stdin.flush()
        took = float(child.stdout.readline())
        for k, other in enumerate(others):
            again = statistics.median(step(name, *other) for _ in range(20))
            if i >= 2:
                theirs[k].append(again)
        if i >= 2:
            ours.append(took)
    child.stdin.close()
    child.wait()
    line = f"{name:10} Wick {statistics.median(ours):8.0f}"
    if others:
        best = min(theirs, key=statistics.median)
        pairs = list(zip(ours, best))
        ratio = lambda ps: statistics.median(p[1] for p in ps) / statistics.median(p[0] for p in ps)
        spread = sorted(ratio(random.choices(pairs, k=len(pairs))) for _ in range(1000))
        line += f"  PyTorch {statistics.median(best):8.0f}  ratio {ratio(pairs):.2f} ({spread[25]:.2f} .. {spread[974]:.2f})"
    print(line, flush=True)
