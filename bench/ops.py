#!/usr/bin/env python3
"""A page of ops beside PyTorch in one run: at 1K, 64K and 16M elements, each row's ratio and its 95 % interval, geometric means by size, family and
in all, and what is slower.

    python bench/ops.py BUILD_DIR [--threads N] [--only NAME,...] [--sizes 1K,64K,16M] [--json FILE] [--rounds N] [--seconds S]
    python bench/ops.py --table FILE

The rows are in cli/bench/ops.h; --only takes names of rows or families. Both sides get the same numbers; up to 64K elements their results are compared
before they are timed. With out= neither side allocates its results, otherwise both do: ops.h says which. PyTorch is called from Python, as its users
do, with about a microsecond a call; Wick runs a compiled plan. --json writes all figures, --table prints such a file for docs/benchmarks.md.
"""
import argparse
import ctypes
import gc
import itertools
import json
import math
import os
import re
import sys
import time

import torch
import torch.nn.functional as F

import race

SIZES = {"1K": 1 << 10, "64K": 1 << 16, "16M": 1 << 24}
KINDS = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16, "f16": torch.float16, "i64": torch.int64, "i32": torch.int32, "bool": torch.bool,
         "f8_e4m3fn": torch.float8_e4m3fn, "f8_e5m2": torch.float8_e5m2}
NAMES = "xabcdef"


def by_size(small, middle, large):
    return lambda n: {1 << 10: small, 1 << 16: middle, 1 << 24: large}[n]


matrix = by_size((16, 64), (256, 256), (4096, 4096))
images = by_size((1, 4, 16, 16), (4, 16, 32, 32), (16, 64, 128, 128))
square = by_size(32, 256, 1024)  # factorizations: of n^3
left = by_size((32, 32), (256, 256), (16384, 1024))
words = by_size((16, 64), (1024, 64), (262144, 64))
recurrent = by_size((8, 4, 32), (32, 32, 64), (64, 32, 512))  # steps, samples, units
heads = by_size((2, 16, 2, 16), (8, 32, 4, 64), (64, 128, 32, 64))
between = lambda low, high, dtype=torch.float32: lambda *shape: torch.empty(shape, dtype=dtype).uniform_(low, high)
signed, unit, below = between(-3, 3), between(0.01, 0.99), lambda high, *shape: torch.randint(0, high, shape)
weights = lambda gates, both: lambda n: between(-0.1, 0.1)(gates * recurrent(n)[2], *[recurrent(n)[2]] * both)


def definite(n, *batch):
    x = torch.randn(*batch, n, n)
    return x @ x.mT / n + torch.eye(n)


# What stands behind a name in ops.h, of the given number of elements or what goes with it. "16M" is less where the work grows faster than the elements.
INPUTS = {
    "s": lambda n: signed(n), "u": lambda n: unit(n), "doubles": lambda n: between(-3, 3, torch.float64)(n), "halves": lambda n: signed(n).bfloat16(), "eighths": lambda n: signed(n).to(torch.float8_e4m3fn),
    "ints": lambda n: torch.randint(1, 1000000, (n,)), "flags": lambda n: torch.rand(n) < 0.5, "one": lambda n: torch.tensor([0.25]), "number": lambda n: torch.tensor(1.0),
    "bins": lambda n: below(1000, n), "few_bins": lambda n: below(16, n // 16), "rising": lambda n: torch.linspace(-3, 3, 1000),
    "m": lambda n: signed(*matrix(n)), "row": lambda n: signed(matrix(n)[1]), "column": lambda n: signed(matrix(n)[0], 1), "mask": lambda n: torch.rand(matrix(n)) < 0.01,
    "square": lambda n: signed(*[math.isqrt(n)] * 2), "down": lambda n: signed(matrix(n)[0]), "m_small": lambda n: signed(n // 32, 32), "labels": lambda n: below(matrix(n)[1], matrix(n)[0]), "places": lambda n: below(matrix(n)[1], *matrix(n)),
    "rows": lambda n: below(matrix(n)[0], matrix(n)[0]), "columns": lambda n: below(matrix(n)[1], matrix(n)[1]), "pairs": lambda n: below(matrix(n)[0], n // 16),
    "pairs_values": lambda n: signed(n // 16),
    "words": lambda n: signed(*words(n)), "tokens": lambda n: below(words(n)[0], words(n)[0]), "words_gradient": lambda n: signed(*words(n)), "bags": lambda n: below(words(n)[0], words(n)[0] // 8, 8),
    "images": lambda n: signed(*images(n)), "channels": lambda n: signed(images(n)[1]), "positive": lambda n: unit(images(n)[1]),
    "quarter": lambda n: signed(*images(n)[:2], images(n)[2] // 2, images(n)[3] // 2), "grid": lambda n: between(-1, 1)(images(n)[0], *images(n)[2:], 2),
    "kernels_3x3": lambda n: between(-0.1, 0.1)(images(n)[1], images(n)[1], 3, 3), "kernels_1x1": lambda n: between(-0.1, 0.1)(images(n)[1], images(n)[1], 1, 1),
    "kernels_depthwise": lambda n: between(-0.1, 0.1)(images(n)[1], 1, 3, 3), "kernels_2x2": lambda n: between(-0.1, 0.1)(images(n)[1], images(n)[1] // 4, 2, 2),
    "signals": lambda n: signed(*images(n)[:2], images(n)[2] * images(n)[3]), "kernels_1d": lambda n: between(-0.1, 0.1)(images(n)[1], images(n)[1], 5),
    "left": lambda n: signed(*left(n)), "right": lambda n: signed(left(n)[1], left(n)[1]), "right_row": lambda n: signed(left(n)[1]),
    "left_f64": lambda n: signed(*left(n)).double(), "right_f64": lambda n: signed(left(n)[1], left(n)[1]).double(),
    "left_bf16": lambda n: signed(*left(n)).bfloat16(), "right_bf16": lambda n: signed(left(n)[1], left(n)[1]).bfloat16(), "batch_32": lambda n: signed(n // 1024, 32, 32),
    "spd": lambda n: definite(square(n)), "regular": lambda n: torch.randn(square(n), square(n)) / square(n) ** 0.5 + 2 * torch.eye(square(n)), "sides": lambda n: signed(square(n), 8),
    "spd_batch": lambda n: definite(16, by_size(4, 256, 4096)(n)),
    "complex_rows": lambda n: torch.view_as_complex(signed(matrix(n)[0], matrix(n)[1] // 2, 2)), "complex_odd": lambda n: torch.view_as_complex(signed(max(1, n // 2000), min(n // 2, 1000), 2)),
    "complex_whole": lambda n: torch.view_as_complex(signed(1, n // 2, 2)), "complex_images": lambda n: torch.view_as_complex(signed(*by_size((1, 16, 32), (2, 128, 128), (32, 512, 512))(n), 2)),
    "sound": lambda n: signed(max(1, n >> 18), min(n, 1 << 18)), "window": lambda n: torch.hann_window(400),
    "steps": lambda n: signed(*recurrent(n)), "state": lambda n: signed(1, *recurrent(n)[1:]),
    **{f"{cell}_{part}": weights(gates, both) for cell, gates in (("lstm", 4), ("gru", 3), ("rnn", 1)) for part, both in (("ih", 1), ("hh", 1), ("bias", 0))},
    "queries": lambda n: signed(*by_size((1, 2, 16, 32), (1, 4, 256, 64), (1, 8, 1024, 64))(n)), "heads": lambda n: signed(*heads(n)),
}


def read_rows():
    """The rows of ops.h: what, family, name, inputs, PyTorch's text."""
    for line in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "bench", "ops.h")):
        what, _, rest = line.partition("(")
        if what not in ("ROW", "PAIR", "GRAD"):
            continue
        parts, depth, start = [], 0, 0
        for i, c in enumerate(rest):  # commas outside of brackets
            depth += (c in "([{") - (c in ")]}")
            if c == "," and not depth and len(parts) < 4:
                parts.append(rest[start:i].strip())
                start = i + 1
            elif depth < 0:
                parts.append(rest[start:i].strip())
                break
        yield what, parts[0], parts[1], re.findall(r"\w+", parts[2]), parts[4]


class Inputs:
    """Numbers by kind, in PyTorch and at the server, made once for a size."""

    def __init__(self, server, n):
        self.server, self.n, self.made = server, n, {}
        server.send("forget")

    def get(self, kind, which):
        if (kind, which) not in self.made:
            torch.manual_seed(1 + which)
            x = INPUTS[kind](self.n)
            flat = torch.view_as_real(x) if x.is_complex() else x
            name = next(k for k, v in KINDS.items() if v == flat.dtype)
            slot = len(self.made)
            self.server.send(f"input {slot} {name} {flat.dim()} " + " ".join(map(str, flat.shape)), memoryview(flat.contiguous().view(-1).view(torch.uint8).numpy()))
            self.made[kind, which] = slot, x
        return self.made[kind, which]


def torch_side(what, text, inputs, now):
    """A function of how many times, that returns the microseconds of one; and the first result."""
    scope = {"torch": torch, "F": F, "nn": torch._C._nn, "now": now, "repeat": itertools.repeat, "y": None, **dict(zip(NAMES, inputs))}
    if what == "GRAD":
        scope["r"], wrt = inputs[-1], [x.requires_grad_() for x in inputs[:-1] if x.is_floating_point()]
        scope["wrt"] = wrt
        text = f"y = {text}; torch.autograd.grad(y, wrt, r)"
    else:
        with torch.no_grad():
            scope["y"] = eval(text, scope)
    code = f"def run(times):\n start = now()\n for _ in repeat(None, times): {text}\n return (now() - start) * 1e6 / times\n"
    exec(code.replace("def run(times):\n", "def run(times):\n global y\n" if what == "GRAD" else "def run(times):\n"), scope)
    run = scope["run"]
    if what == "GRAD":
        run(1)
        return run, scope["y"].detach()
    return torch.no_grad()(run), scope["y"][0] if what == "PAIR" else scope["y"]


def same(server, theirs):
    """Whether both computed the same: to 1e-3 of the largest, halves to 2e-2."""
    server.send("result")
    name, _, *dims = server.child.stdout.readline().split()
    dtype, count = KINDS.get(name.decode()), 1
    for d in dims:
        count *= int(d)
    size = torch.empty(0, dtype=dtype).element_size()
    ours = torch.frombuffer(bytearray(server.child.stdout.read(count * size)), dtype=dtype).double()
    flat = (torch.view_as_real(theirs) if theirs.is_complex() else theirs).detach().reshape(-1).double()
    if ours.shape != flat.shape:
        return False
    far = (ours - flat).abs() > (2e-2 if torch.bfloat16 in (dtype, theirs.dtype) else 1e-3) * max(1e-30, flat[flat.isfinite()].abs().max().item() if flat.isfinite().any() else 0)
    return not bool((far & ~((ours == flat) | (ours.isnan() & flat.isnan()))).any())


def repeats_for(run, target=1000):
    """How many calls take about a millisecond."""
    run(1)
    one = run(1)
    return 1 if one > target else max(1, int(target / max(run(max(1, int(target / 10 / one))), 1e-2)))


def run_row(server, inputs, row, options, now):
    what, family, name, kinds, text = row
    slots, xs = zip(*(inputs.get(kind, i) for i, kind in enumerate(kinds)))
    fresh = "out=y" not in text
    why = server.text(f"open {name} {int(fresh)} " + " ".join(map(str, slots)))
    if why != "ok":
        raise RuntimeError(why)
    theirs, result = torch_side(what, text, xs, now)
    ours = lambda times: server.ask(f"run {times}")[0]
    ours(1)
    agree = same(server, result) if result.numel() <= 1 << 18 else None
    mine, other = (repeats_for(ours), repeats_for(theirs)) if inputs.n < 1 << 24 else (1, 1)
    pause = 0.002 if options.threads > 1 else 0
    a, b = race.turns(lambda: ours(mine), lambda: theirs(other), options.rounds, 1, options.seconds, pause=pause)
    for x in xs:
        x.requires_grad_(False) if x.is_floating_point() else None
    return dict(family=family, name=name, fresh=fresh, agree=agree, elements=max(x.numel() * (1 + x.is_complex()) for x in xs), **vars(race.Ratio(a, b)))


def peak(pid):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmHWM")) * 1024


def growth(pid, run):
    """Bytes that the process grew by at most, in a run."""
    open(f"/proc/{pid}/clear_refs", "w").write("5")
    before = peak(pid)
    run()
    return peak(pid) - before


def attention_memory(options, rows):
    """Peak memory of attention with its backward, B1 H8 D64: of the plan, exactly, and what the processes grew by."""
    server = race.Server(f"{options.build}/bench/bench_ops", options.threads)  # with nothing freed that it could use again
    what, _, name, kinds, text = next(row for row in rows if row[2] == "attention_backward")
    print("\npeak memory of attention, forward and backward, B1 H8 D64, results included; MB\n     L   Wick's plan and results   Wick, measured   PyTorch, measured")
    usual, found = INPUTS["queries"], []
    try:
        for length in (1024, 2048, 4096):
            INPUTS["queries"] = lambda n: signed(1, 8, length, 64)
            inputs = Inputs(server, length)
            slots, xs = zip(*(inputs.get(kind, i) for i, kind in enumerate(kinds)))
            command = f"open {name} 1 " + " ".join(map(str, slots))
            server.text(f"open add 1 {slots[0]} {slots[1]}")  # drops the plan before
            mine = growth(server.child.pid, lambda: (server.text(command), server.ask("run 1")))
            planned = server.ask("bytes")[0] + 4 * xs[0].numel() * 4
            [x.requires_grad_() for x in xs]
            gc.collect(), ctypes.CDLL(None).malloc_trim(0)
            other = growth(os.getpid(), lambda: torch.autograd.grad(F.scaled_dot_product_attention(*xs[:3]), xs[:3], xs[3].detach()))
            found.append(dict(length=length, plan=planned, ours=mine, theirs=other))
            print(f"{length:6} {planned / 1e6:25.1f} {mine / 1e6:16.1f} {other / 1e6:19.1f}", flush=True)
    finally:
        INPUTS["queries"] = usual
        server.close()
    return found


def summary(rows):
    sizes = [s for s in SIZES if any(r["size"] == s for r in rows)]
    families = list(dict.fromkeys(r["family"] for r in rows))
    print(f"\n{'geometric mean':16}" + "".join(f"{s:>8}" for s in sizes) + "     all   rows")
    for family in families + [None]:
        of = [r for r in rows if family in (None, r["family"])]
        by = [race.mean([r["ratio"] for r in of if r["size"] == s]) for s in sizes]
        print(f"{family or 'all':16}" + "".join(f"{v:8.2f}" for v in by) + f"{race.mean([r['ratio'] for r in of]):8.2f} {len(of):6}")
    slower = sorted((r for r in rows if r["ratio"] < 1), key=lambda r: r["ratio"])
    print(f"\nslower than PyTorch: {len(slower)} of {len(rows)} rows, {sum(r['high'] < 1 for r in slower)} of them with the whole interval")
    for r in slower:
        print(f"  {r['ratio']:.2f} ({r['low']:.2f} .. {r['high']:.2f})  {r['name']} {r['size']}")
    if different := [f"{r['name']} {r['size']}" for r in rows if r["agree"] is False]:
        print("DIFFERENT RESULTS: " + ", ".join(different))


def table(found):
    """For docs/benchmarks.md: a line for each op."""
    print(found["environment"] + "\n")
    rows = found["rows"]
    by = {(r["name"], r["size"]): r for r in rows}
    print("| family | op | " + " | ".join(SIZES) + " |\n|---|---|" + "---|" * len(SIZES))
    for family, name in dict.fromkeys((r["family"], r["name"]) for r in rows):
        cells = [f"{r['ratio']:.2f} ({r['low']:.2f} .. {r['high']:.2f})" if (r := by.get((name, s))) else "" for s in SIZES]
        print(f"| {family} | {name} | " + " | ".join(cells) + " |")
    summary(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.7, help="of a row, after which it stops when it has 5 rounds")
    parser.add_argument("--json")
    parser.add_argument("--table")
    options = parser.parse_args()
    if options.table:
        return table(json.load(open(options.table)))
    if not options.build:
        parser.error("BUILD_DIR is missing")
    now, start, only = race.use(options.threads), time.perf_counter(), set(filter(None, options.only.split(",")))
    rows = [row for row in read_rows() if not only or {row[1], row[2]} & only]
    server, found, failed = race.Server(f"{options.build}/bench/bench_ops", options.threads), [], 0
    environment = race.environment(options.threads)
    print(environment + f"\n{'op':25} {'size':>4} {'elements':>9} {'Wick, us':>11} {'PyTorch, us':>11}  ratio (95 %)")
    for family, group in itertools.groupby(rows, lambda row: row[1]):
        group = list(group)
        for size in options.sizes.split(","):
            inputs = Inputs(server, SIZES[size])
            for row in group:
                try:
                    r = dict(run_row(server, inputs, row, options, now), size=size)
                except (RuntimeError, TypeError, ValueError) as e:
                    failed += 1
                    print(f"{row[2]:25} {size:>4} not run: {str(e).splitlines()[0]}", flush=True)
                    continue
                found.append(r)
                print(f"{r['name']:25} {size:>4} {r['elements']:9} {r['ours']:11.2f} {r['theirs']:11.2f}  {r['ratio']:5.2f} ({r['low']:.2f} .. {r['high']:.2f})"
                      + "   DIFFERENT RESULTS" * (r["agree"] is False), flush=True)
            del inputs
            gc.collect()
    server.close()
    memory = attention_memory(options, rows) if any(row[2] == "attention_backward" for row in rows) else []
    summary(found)
    print(f"{time.perf_counter() - start:.0f} s, load at the end {os.getloadavg()[0]:.2f}" + f"; {failed} rows not run" * bool(failed))
    if options.json:
        json.dump(dict(environment=environment, rows=found, memory=memory), open(options.json, "w"), indent=1)
    return failed or any(r["agree"] is False for r in found)


sys.exit(main())
