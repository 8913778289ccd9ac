"""Writes schedules.txt: the learning rates of PyTorch's schedulers, step by step, from a peak of 0.4 in f64; of ReduceLROnPlateau after each
of a list of metrics. For tests/optim/test_schedule.c. Run: python make_schedules.py > schedules.txt"""
import torch
from torch.optim import lr_scheduler as s

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
STEPS = 40


def emit(name, values):
    print(name, 1, len(values), " ".join("%.17g" % v for v in values))


def run(name, make, steps=STEPS):
    optimizer = torch.optim.SGD([torch.zeros(1, dtype=torch.float64)], lr=0.4)
    scheduler = make(optimizer)
    rates = []
    for step in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    emit(name, rates)


print("# torch", torch.__version__.split("+")[0], "make_schedules.py")
run("step", lambda o: s.StepLR(o, 7, 0.5))
run("cosine", lambda o: s.LambdaLR(o, lambda t: s.math.cos(s.math.pi * min(t, 25) / 25) * 0.5 * (1 - 0.05) + 0.5 * (1 - 0.05) + 0.05))
run("multistep", lambda o: s.MultiStepLR(o, [3, 10, 11, 30], 0.3))
run("exponential", lambda o: s.ExponentialLR(o, 0.93))
run("restarts", lambda o: s.CosineAnnealingWarmRestarts(o, 6, 1, 0.02))
run("restarts.2", lambda o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.01))
run("restarts.3", lambda o: s.CosineAnnealingWarmRestarts(o, 1, 3))
cycle = dict(cycle_momentum=False, total_steps=STEPS)
run("cycle", lambda o: s.OneCycleLR(o, 0.4, **cycle))
run("cycle.linear", lambda o: s.OneCycleLR(o, 0.4, pct_start=0.4, anneal_strategy="linear", div_factor=10, final_div_factor=100, **cycle))
run("cycle.three", lambda o: s.OneCycleLR(o, 0.4, pct_start=0.35, three_phase=True, **cycle))
run("polynomial", lambda o: s.PolynomialLR(o, 30, 2.5))
run("polynomial.1", lambda o: s.PolynomialLR(o, 25))
run("linear", lambda o: s.LinearLR(o, total_iters=9))
run("linear.down", lambda o: s.LinearLR(o, 0.9, 0.1, 33))
run("chained", lambda o: s.ChainedScheduler([s.LinearLR(o, 0.1, 1, 8), s.ExponentialLR(o, 0.95), s.StepLR(o, 10, 0.5)]))
run("sequence", lambda o: s.SequentialLR(o, [s.LinearLR(o, 0.2, 1, 5), s.MultiStepLR(o, [4, 9], 0.5), s.ExponentialLR(o, 0.9)], [5, 20]))

torch.manual_seed(3)
metrics = [1 / (1 + 0.5 * i) if i < 6 else 0.3 + 0.02 * torch.rand(()).item() for i in range(STEPS)]
emit("metrics", metrics)


def plateau(name, sign=1, **options):
    optimizer = torch.optim.SGD([torch.zeros(1, dtype=torch.float64)], lr=0.4)
    scheduler = s.ReduceLROnPlateau(optimizer, **options)
    rates = []
    for m in metrics:
        scheduler.step(sign * m)
        rates.append(optimizer.param_groups[0]["lr"])
    emit(name, rates)


plateau("plateau", factor=0.5, patience=3)
plateau("plateau.max", sign=-1, mode="max", factor=0.5, patience=2, threshold=0.05, threshold_mode="abs", cooldown=3)
plateau("plateau.max_rel", sign=1, mode="max", factor=0.2, patience=4, threshold=0.01)
plateau("plateau.least", factor=0.1, patience=0, min_lr=0.001, cooldown=2)
