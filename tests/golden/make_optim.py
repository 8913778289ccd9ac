"""Writes optim.txt: trajectories of PyTorch's optimizers on a tiny problem in f64.

The problem: mean((tanh(x w^T + b) - target)^2) with w [3, 4], b [3], x [8, 4]. 20 steps; the parameters after some of them.
Accumulating runs split the batch in 2 and take half the loss of each part. Run: python make_optim.py > optim.txt
"""
import math

import torch

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__

STEPS = [1, 2, 5, 10, 20]
torch.manual_seed(7)
torch.set_num_threads(1)
X = torch.randn(8, 4, dtype=torch.float64)
T = torch.randn(8, 3, dtype=torch.float64)
W = torch.randn(3, 4, dtype=torch.float64)
B = torch.randn(3, dtype=torch.float64)


def emit(name, value):
    value = value.detach().to(torch.float64)
    numbers = [str(value.dim())] + [str(d) for d in value.shape] + ["%.17g" % v for v in value.flatten().tolist()]
    print(name, " ".join(numbers))


def loss_of(w, b, x, t):
    return ((torch.tanh(x @ w.T + b) - t) ** 2).mean()


def run(name, make, clip=None, accumulate=1, schedule=None, average=None, several=False, cycle=None):
    """average: after which steps (from 0) and by which function a torch AveragedModel is updated; emitted as NAME.aw, NAME.ab."""
    w, b = W.clone().requires_grad_(), B.clone().requires_grad_()
    optimizers = make(w, b) if several else [make([w, b])]
    optimizer = optimizers[0]
    holder = torch.nn.ParameterList([w, b])
    mean = torch.optim.swa_utils.AveragedModel(holder, multi_avg_fn=average[1]) if average else None
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule) if schedule else None
    if cycle:
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, **cycle)
    for step in range(1, STEPS[-1] + 1):
        for o in optimizers:
            o.zero_grad()
        for x, t in zip(X.chunk(accumulate), T.chunk(accumulate)):
            (loss_of(w, b, x, t) / accumulate).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_([w, b], clip)
        for o in optimizers:
            o.step()
        if average and average[0](step - 1):
            mean.update_parameters(holder)
        if scheduler:
            scheduler.step()
        if step in STEPS:
            emit(f"{name}.w.{step}", w)
            emit(f"{name}.b.{step}", b)
            if average and mean.n_averaged > 0:
                emit(f"{name}.aw.{step}", mean.module[0])
                emit(f"{name}.ab.{step}", mean.module[1])


class Lamb(torch.optim.Optimizer):
    """You et al. 2020, algorithm 2, with phi(x) = x; where a norm is 0 the ratio is 1."""

    def __init__(self, params, **options):
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (b1, b2), lr, eps, decay = group["betas"], group["lr"], group["eps"], group["weight_decay"]
            for p in group["params"]:
                s = self.state[p]
                s["t"] = s.get("t", 0) + 1
                s["m"] = b1 * s.get("m", 0) + (1 - b1) * p.grad
                s["v"] = b2 * s.get("v", 0) + (1 - b2) * p.grad ** 2
                u = s["m"] / (1 - b1 ** s["t"]) / ((s["v"] / (1 - b2 ** s["t"])).sqrt() + eps) + decay * p
                of_p, of_u = p.norm(), u.norm()
                p -= lr * (of_p / of_u if of_p > 0 and of_u > 0 else 1) * u


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, params, **options):
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (b1, b2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
            for p in group["params"]:
                m = self.state[p].get("m", torch.zeros_like(p))
                p -= lr * (torch.sign(b1 * m + (1 - b1) * p.grad) + decay * p)
                self.state[p]["m"] = b2 * m + (1 - b2) * p.grad


def cosine(warmup, total, lr, lr_min):
    def factor(t):
        part = min(1.0, max(0.0, (t - warmup) / (total - warmup)))
        rate = lr_min + (lr - lr_min) * (1 + math.cos(math.pi * part)) / 2
        return rate / lr * (min(1.0, (t + 1) / warmup) if warmup else 1.0)
    return factor


optim = torch.optim
print("# torch", torch.__version__.split("+")[0], "make_optim.py")
for name, value in [("x", X), ("t", T), ("w", W), ("b", B)]:
    emit(name, value)
run("sgd", lambda p: optim.SGD(p, lr=0.1))
run("sgd_decay", lambda p: optim.SGD(p, lr=0.1, weight_decay=0.02))
run("momentum", lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
run("nesterov", lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01))
run("adam", lambda p: optim.Adam(p, lr=0.05))
run("adam_decay", lambda p: optim.Adam(p, lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.03))
run("adamw", lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1))
run("clip", lambda p: optim.SGD(p, lr=0.3, momentum=0.9), clip=0.25)
run("accumulate", lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1), clip=0.5, accumulate=2)
run("step", lambda p: optim.SGD(p, lr=0.2), schedule=lambda t: 0.5 ** (t // 3))
run("cosine", lambda p: optim.Adam(p, lr=0.1), schedule=cosine(4, 15, 0.1, 0.01))

# PyTorch's Muon orthogonalises in bf16; in f64 its steps are the same but exact.
torch.Tensor.bfloat16 = lambda t: t.clone()
for rate in ("original", "match_rms_adamw"):
    run("muon." + rate, lambda w, b: [optim.Muon([w], lr=0.02, weight_decay=0.1, adjust_lr_fn=rate), optim.AdamW([b], lr=0.02, weight_decay=0.1)],
        several=True)
run("muon.plain", lambda w, b: [optim.Muon([w], lr=0.02, weight_decay=0, momentum=0), optim.AdamW([b], lr=0.02, weight_decay=0)], several=True)
swa = torch.optim.swa_utils



def plain_mean(means, values, n):  # as get_swa_multi_avg_fn, which divides in f32
    torch._foreach_lerp_(means, values, 1 / (n.item() + 1))


run("ema", lambda p: optim.AdamW(p, lr=0.05, weight_decay=0.1), average=(lambda t: True, swa.get_ema_multi_avg_fn(0.8)))
run("ema.every", lambda p: optim.SGD(p, lr=0.1), average=(lambda t: t >= 2 and (t - 2) % 3 == 0, swa.get_ema_multi_avg_fn(0.7)))
run("swa", lambda p: optim.SGD(p, lr=0.1), average=(lambda t: t >= 4 and (t - 4) % 5 == 0, plain_mean))

torch.set_default_dtype(torch.float64)  # NAdam counts in the default dtype
run("adam.beta1", lambda p: optim.Adam(p, lr=0.05, betas=(0.0, 0.9)))
run("adam.amsgrad", lambda p: optim.Adam(p, lr=0.2, betas=(0.9, 0.5), amsgrad=True, weight_decay=0.01))
run("adamw.amsgrad", lambda p: optim.AdamW(p, lr=0.2, betas=(0.9, 0.5), amsgrad=True, weight_decay=0.1))
run("adamax", lambda p: optim.Adamax(p, lr=0.05))
run("adamax.decay", lambda p: optim.Adamax(p, lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1))
for name, options in [("plain", {}), ("decay", dict(weight_decay=0.1)), ("decoupled", dict(weight_decay=0.1, decoupled_weight_decay=True, betas=(0.8, 0.95)))]:
    run("nadam." + name, lambda p: optim.NAdam(p, lr=0.05, **(options | (dict(momentum_decay=0.5) if name == "decoupled" else {}))))
    run("radam." + name, lambda p: optim.RAdam(p, lr=0.05, **options))
run("rmsprop", lambda p: optim.RMSprop(p, lr=0.02))
run("rmsprop.centered", lambda p: optim.RMSprop(p, lr=0.02, centered=True, alpha=0.9, weight_decay=0.1))
run("rmsprop.momentum", lambda p: optim.RMSprop(p, lr=0.02, momentum=0.8))
run("rmsprop.both", lambda p: optim.RMSprop(p, lr=0.02, momentum=0.8, centered=True, eps=1e-4))
run("adagrad", lambda p: optim.Adagrad(p, lr=0.1))
run("adagrad.options", lambda p: optim.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.3, weight_decay=0.1, eps=1e-5))
run("adadelta", lambda p: optim.Adadelta(p))
run("adadelta.options", lambda p: optim.Adadelta(p, lr=3, rho=0.8, eps=1e-3, weight_decay=0.1))
run("lamb", lambda p: Lamb(p, lr=0.05, betas=(0.9, 0.999), eps=1e-6, weight_decay=0))
run("lamb.decay", lambda p: Lamb(p, lr=0.05, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.1))
run("lion", lambda p: Lion(p, lr=0.01, betas=(0.9, 0.99), weight_decay=0))
run("lion.decay", lambda p: Lion(p, lr=0.01, betas=(0.8, 0.95), weight_decay=0.5))

run("groups", lambda w, b: [optim.AdamW([{"params": [w]}, {"params": [b], "lr": 0.005, "weight_decay": 0.0}], lr=0.05, weight_decay=0.1)],
    several=True, schedule=lambda t: 0.9 ** t)
run("rules", lambda w, b: [Lion([w], lr=0.01, betas=(0.9, 0.99), weight_decay=0.2), optim.SGD([b], lr=0.05, momentum=0.5)], several=True)
for name, make, options in [
        ("sgd", lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True), dict(max_lr=0.3)),
        ("adam", lambda p: optim.Adam(p, lr=0.1), dict(max_lr=0.1, anneal_strategy="linear")),
        ("adamw", lambda p: optim.AdamW(p, lr=0.1, weight_decay=0.1), dict(max_lr=0.1, three_phase=True, base_momentum=0.6, max_momentum=0.8)),
        ("nadam", lambda p: optim.NAdam(p, lr=0.1), dict(max_lr=0.1)),
        ("adamax", lambda p: optim.Adamax(p, lr=0.1), dict(max_lr=0.1)),
        ("radam", lambda p: optim.RAdam(p, lr=0.1), dict(max_lr=0.1)),
        ("rmsprop", lambda p: optim.RMSprop(p, lr=0.02, momentum=0.8), dict(max_lr=0.02))]:
    run("cycle." + name, make, cycle=dict(total_steps=24, **options))
