"""Elementwise ops of Wick beside PyTorch's, f32, in turn, round by round: medians, and the ratio with its 95 % interval (bootstrap), at 1K,
64K and 16M elements; last the geometric mean of all ratios.

    python elementwise.py BENCH_ELEMENTWISE [THREADS] [ROUNDS] [OP,OP...]

BENCH_ELEMENTWISE is the program of bench_elementwise.c. Wick runs a compiled plan into memory of the caller's; PyTorch the op's form with
out=, which allocates nothing either. On one thread time is the processor's, which other programs don't lengthen; on more, the clock's.
"""
import sys

import torch

import race

program, threads = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
rounds, only = int(sys.argv[3]) if len(sys.argv) > 3 else 15, sys.argv[4].split(",") if len(sys.argv) > 4 else None
now = race.use(threads)
aten = torch.ops.aten
alike1 = """neg abs sign sqrt rsqrt reciprocal exp expm1 exp2 log log1p log2 log10 sin cos tan asin atan sinh cosh tanh asinh atanh erf erfc erfinv
    sigmoid softplus gelu silu mish hardswish hardsigmoid floor ceil round trunc frac lgamma digamma isnan isinf""".split()
alike2 = "add sub mul div maximum minimum fmax fmin floor_divide hypot atan2 copysign logaddexp".split()
# (relu is left out: its out= form allocates)
# Wick's name: PyTorch's function, how many inputs it takes, and the numbers behind them
ops = {n: (getattr(aten, n).out, 1, ()) for n in alike1 if "out" in getattr(aten, n).overloads()}
ops |= {n: (getattr(aten, n).out, 2, ()) for n in alike2}
ops |= {
    "pow": (aten.pow.Tensor_Tensor_out, 2, ()), "remainder": (aten.remainder.Tensor_out, 2, ()), "fmod": (aten.fmod.Tensor_out, 2, ()),
    "xlogy": (aten.xlogy.OutTensor, 2, ()), "eq": (aten.eq.Tensor_out, 2, ()), "lt": (aten.lt.Tensor_out, 2, ()), "lerp": (aten.lerp.Tensor_out, 3, ()),
    "logsigmoid": (aten.log_sigmoid.out, 1, ()), "relu6": (aten.hardtanh.out, 1, (0, 6)), "leaky_relu": (aten.leaky_relu.out, 1, (0.01,)),
    "elu": (aten.elu.out, 1, ()), "clip": (aten.clamp.out, 1, (0.25, 0.75)), "hardshrink": (aten.hardshrink.out, 1, (0.5,)),
    "softshrink": (aten.softshrink.out, 1, (0.5,)), "nan_to_num": (aten.nan_to_num.out, 1, (0, 1, -1)),
}
eighths = {"e4m3fn": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
for n in eighths:
    ops |= {f"f32_to_{n}": (lambda x, out: out.copy_(x), 1, ()), f"{n}_to_f32": (lambda x, out: out.copy_(x), 1, ())}
ops["f32_to_e4m3fn_saturate"] = ops["f32_to_e4m3fn"]  # which is what PyTorch's does
ops = {n: v for n, v in ops.items() if only is None or n in only}


def other(fn, inputs, numbers, out, repeats):
    start = now()
    for _ in range(repeats):
        fn(*inputs, *numbers, out=out)
    return (now() - start) * 1e6 / repeats


server, ratios = race.Server(program, threads), {}
print(race.environment(threads) + f"\n{'op':14} {'elements':>9} {'Wick, us':>11} {'PyTorch, us':>11}  ratio (95 %)")
for n in (1 << 10, 1 << 16, 1 << 24):
    numbers_in = [(((torch.arange(n) + i) * 2654435761) % 1000003 + 1).float() / 1000005 for i in range(3)]  # as the program's
    repeats = max(1, (1 << 20) // n)
    for name, (fn, arity, numbers) in ops.items():
        inputs = numbers_in[:arity]
        dtype = torch.bool if name in ("eq", "lt", "isnan", "isinf") else eighths.get(name.split("_")[2]) if "f32_to" in name else torch.float32
        out = torch.empty(n, dtype=dtype)
        if "to_f32" in name:
            inputs = [(torch.arange(n) * 37 % 120).to(torch.uint8).view(eighths[name.split("_")[0]])]
        with torch.no_grad():
            row = race.Ratio(*race.turns(lambda: server.ask(f"{name} {n} {repeats}")[0], lambda: other(fn, inputs, numbers, out, repeats), rounds))
        ratios.setdefault(n, []).append(row.ratio)
        print(f"{name:14} {n:9} {row}", flush=True)
for n, values in ratios.items():
    print(f"geometric mean at {n}: {race.mean(values):.2f}")
print(f"geometric mean of all: {race.mean([r for values in ratios.values() for r in values]):.2f}")
server.close()
