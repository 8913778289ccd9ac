#!/usr/bin/env python3
"""goals.py: what `wick bench` measures, beside this project's goals for its kernels and beside figures that others
publish. Needs Python alone.

    bench/goals.py WICK goals|targets [OPTION OF WICK BENCH]...     measures their rows, prints a table in Markdown
    bench/goals.py FILE.json goals|targets                          of what wick bench --json wrote
    bench/goals.py WICK goals|targets --list                        the rows

goals: groups of rows, each with the geometric mean of a peer's time by Wick's (--peers), or of the fastest peer's of
each row, the worst row, and the share of the ceilings. targets: published figures, each with the row, or the two rows,
that answer it; an epoch's time is that of its steps. FILE.json may be a run's of all rows. What ran by AVX2 (--isa
avx2, or a machine that has no more) stands beside the goals for such machines.
"""
import fnmatch
import json
import math
import random
import subprocess
import sys

# Rows with their sizes, "!" before a pattern leaves its rows out; the peer that is meant, None: the fastest of each
# row; the least geometric mean of its time by Wick's, the least of a row, the least share of the ceiling; 0: no goal.
NETS = "gemm/f32_64x10x128,gemm/f32_64x128x784,gemm/f32_256x512x512"
LARGE = "gemm/f32_512x512x512,gemm/f32_1024x1024x1024,gemm/f32_2048x2048x2048"
FROM_256 = f"gemm/f32_256x256x256,gemm/f32_256x512x512,{LARGE}"
SQUARES = f"gemm/f32_64x64x64,gemm/f32_128x128x128,gemm/f32_256x256x256,{LARGE},{NETS}"
NAMES = "images/max_pool elementwise/tanh elementwise/gelu norms/batch_norm_training norms/softmax norms/layer_norm " \
        "reduce/sum moving/transpose"
SIZED = ",".join(f"{name} {size}" for name in NAMES.split() for size in ("64K", "16M"))
GOALS = [
    ("GEMM f32, 64 to 2048, and of small networks", SQUARES, None, 1.0, 0.9, 0),
    ("GEMM f32, from 256 up", FROM_256, None, 0, 0, 0.85),
    ("GEMM f32, from 512 up, split into bf16 (AMX)", LARGE, None, 1.6, 0, 0),
    ("one row times a matrix, 512 and 4096", "gemm/f32_*1x512x512,gemm/f32_*1x4096x4096", None, 0, 0, 0.85),
    ("GEMM bf16", "gemm/bf16_*", "oneDNN", 1.0, 0, 0),
    ("GEMM bf16 at 1024 (AMX)", "gemm/bf16_1024x1024x1024", None, 0, 0, 0.6),
    ("GEMM int8", "gemm/u8_i8_*,gemm/i8_i8_*", "oneDNN", 1.0, 0, 0),
    ("convolutions of ResNet-18, N = 1", "conv/*_n1,!conv/*_backward_*,!conv/depthwise_*", "oneDNN", 1.0, 0, 0),
    ("the same, N = 16", "conv/*_n16,!conv/*_backward_*,!conv/depthwise_*", "oneDNN", 1.0, 0, 0),
    ("backward, N = 1", "conv/*_backward_n1,!conv/depthwise_*", "oneDNN", 1.0, 0, 0),
    ("backward, N = 16", "conv/*_backward_n16,!conv/depthwise_*", "oneDNN", 1.0, 0, 0),
    ("depthwise 3x3", "conv/depthwise_*,!*_backward_*", "oneDNN", 1.0, 0, 0),
    ("depthwise 3x3, backward", "conv/depthwise_*_backward_*", "oneDNN", 1.0, 0, 0),
    ("depthwise 3x3, forward and backward", "conv/depthwise_*", "PyTorch", 3.0, 0, 0),
    ("max-pool, tanh, gelu, batch-norm in training, softmax, layer-norm, sum, transpose", SIZED, "PyTorch", 2.0, 0.95,
     0),
    ("one pass over 1M: relu(a*b+c), gelu, Adam", "fused/relu_mul_add_1M,fused/gelu_1M,update/adam", None, 0, 0, 0.85),
    ("attention, 8 heads of 64, length 1024, forward and backward", "attention/1x8x1024x64*", "PyTorch", 1.2, 0, 0.8),
    ("training of small networks", "train/mlp_*,train/cnn_*,train/resnet8_*,train/lstm_*", "PyTorch", 2.0, 0, 0.6),
]
CONVS, BACKWARD = "conv/*_n{},!conv/*_backward_*,!conv/depthwise_*", "conv/*_backward_n{},!conv/depthwise_*"
# Of machines with AVX2 and FMA alone, whose vectors are half as wide.
GOALS_AVX2 = [
    ("GEMM f32, 64 to 2048, and of small networks", SQUARES, None, 1.0, 0.9, 0),
    ("GEMM f32, from 256 up", FROM_256, None, 0, 0, 0.85),
    ("one row times a matrix, 512 and 4096", "gemm/f32_*1x512x512,gemm/f32_*1x4096x4096", None, 1.0, 0, 0.85),
    ("GEMM bf16", "gemm/bf16_*", "ONNX Runtime", 1.0, 0, 0),
    ("GEMM int8", "gemm/u8_i8_*,gemm/i8_i8_*", "oneDNN", 1.0, 0, 0),
    ("convolutions of ResNet-18, N = 1", CONVS.format(1), "oneDNN", 1.2, 0.95, 0),
    ("the same, N = 16", CONVS.format(16), "oneDNN", 1.2, 0.95, 0),
    ("backward, N = 1", BACKWARD.format(1), "oneDNN", 1.1, 0.95, 0),
    ("backward, N = 16", BACKWARD.format(16), "oneDNN", 1.1, 0.95, 0),
    ("depthwise 3x3", "conv/depthwise_*,!*_backward_*", "oneDNN", 1.3, 0, 0),
    ("depthwise 3x3, backward", "conv/depthwise_*_backward_*", "oneDNN", 1.3, 0, 0),
    ("max-pool, tanh, gelu, batch-norm in training, softmax, layer-norm, sum, transpose", SIZED, "PyTorch", 2.0, 0, 0),
    ("the same", SIZED, "ONNX Runtime", 1.0, 0, 0),
    ("attention, 8 heads of 64, length 1024, forward and backward", "attention/1x8x1024x64*", "PyTorch", 1.2, 0, 0),
    ("training of small networks", "train/mlp_*,train/cnn_*,train/resnet8_*,train/lstm_*", "PyTorch", 1.8, 0, 0.65),
]

# Of a row's median and memory, and the other row's: what is measured.
def seconds(times): return "s", lambda row, other: times * row["median_us"] * 1e-6
def per_second(samples): return "/s", lambda row, other: samples / row["median_us"] * 1e6
def bytes_of(row): return row.get("peak_bytes", math.nan)
def memory(more=0): return "B", lambda row, other: bytes_of(row) + more
FASTER = "times", lambda row, other: other["median_us"] / row["median_us"]
SMALLER = "part", lambda row, other: bytes_of(row) / bytes_of(other)


# A network of 784-2560-2560-1536-10, 12.5 million parameters, in f32. An epoch is steps of 64 images; its memory is
# that of training, and of the images as f32 with their labels.
def epoch(images, time, size):
    row = "train/mnist_12m_64"
    return [(f"MNIST epoch of {images} images, batch 64, from a step's time", time, seconds((images + 63) // 64), row),
            ("memory of it, with the images", size, memory(images * (784 * 4 + 8)), row)]
def inference(batch, rate, size):
    row = f"infer/mnist_12m_{batch}"
    return [(f"inference, batch {batch}, samples a second", rate, per_second(batch), row),
            ("memory of it", size, memory(), row)]
def pooled(what, rows):
    rows = f"memory/{rows}_in_arena", f"memory/{rows}_allocating"
    return [(f"pooled ({what}) against allocating: times as fast", 2.5, FASTER, *rows),
            ("memory of it, as part", 0.25, SMALLER, *rows)]
TARGETS = [
    ("matmul 1000 x 1000", 10e-3, seconds(1), "gemm/f32_1000x1000x1000"),
    ("elementwise, 1M elements: add", 1e-3, seconds(1), "elementwise/add_1M"),
    ("reduction, 1M elements: sum", 2e-3, seconds(1), "reduce/sum_1M"),
    ("graph compilation: training of ResNet-8", 100e-3, seconds(1), "compile/resnet8_training"),
    ("GEMM 64", 101e-6, seconds(1), "gemm/f32_64x64x64"),
    ("GEMM 128", 893e-6, seconds(1), "gemm/f32_128x128x128"),
    ("GEMM 256", 10.1e-3, seconds(1), "gemm/f32_256x256x256"),
    ("GEMM 512", 82e-3, seconds(1), "gemm/f32_512x512x512"),
    *epoch(10000, 45, 0.8e9), *epoch(50000, 210, 1.2e9), *epoch(100000, 425, 1.5e9),
    *inference(1, 120, 0.5e9), *inference(32, 2800, 0.7e9), *inference(64, 5200, 0.9e9),
    ("blocked against naive matmul, 1000: times as fast", 100, FASTER, "gemm/f32_1000x1000x1000",
     "gemm/naive_f32_1000x1000x1000"),
    *pooled("64 ops in an arena", "chain_64"), *pooled("64 items of relu, product, softmax", "items_64"),
]


def of_group(patterns, key):
    inside = False
    for pattern in patterns.split(","):
        if fnmatch.fnmatchcase(key, pattern.lstrip("!")):
            inside = not pattern.startswith("!")
    return inside
def of_table(table, key):
    return any(of_group(goal[1], key) for goal in GOALS) if table == "goals" else any(key in t[3:] for t in TARGETS)


def median(values):
    return sorted(values)[math.ceil(len(values) / 2) - 1]
# The geometric mean of ratios of medians, and its 95 % interval by bootstrap over all samples.
def mean_ratio(pairs, draws=1000):
    draw, logs = random.Random(1), []
    for _ in range(draws):
        log = sum(math.log(median(draw.choices(a, k=len(a))) / median(draw.choices(b, k=len(b)))) for a, b in pairs)
        logs.append(log / len(pairs))
    logs.sort()
    mean = sum(math.log(median(a) / median(b)) for a, b in pairs) / len(pairs)
    return math.exp(mean), math.exp(logs[draws // 40 - 1]), math.exp(logs[-draws // 40 - 1])


def goal_lines(run, threads, tier):
    amx = tier == "amx"
    for work, patterns, peer, mean_goal, worst_goal, share_goal in GOALS_AVX2 if tier == "avx2" else GOALS:
        rows = [row for row in run if of_group(patterns, row["row"])]
        if not rows:
            continue
        raced = [(min(peers, key=lambda p: p["ratio"]), row) for row in rows
                 if (peers := [p for p in row["peers"] if p["samples_us"] and peer in (None, p["name"])])]
        shared = [row for row in rows if "share" in row]
        cells, reached = ["", "", ""], []
        if raced:
            mean, low, high = mean_ratio([(p["samples_us"], row["samples_us"]) for p, row in raced])
            worst, at = min(((p["ratio"], row["row"]) for p, row in raced))
            cells[:2] = f"{peer or 'the best'}: {mean:.2f} ({low:.2f} .. {high:.2f})", f"{worst:.2f} ({at})"
            reached += [mean >= mean_goal, worst >= worst_goal]
        if shared:
            share = math.exp(sum(math.log(row["share"]) for row in shared) / len(shared))
            least = min(shared, key=lambda row: row["share"])
            cells[2] = f"{100 * share:.0f} % ({100 * least['share']:.0f} %: {least['row']})"
            reached += [share >= share_goal]
        wanted = [mean_goal and f"{mean_goal:.1f} times", worst_goal and f"none below {worst_goal:.3g}",
                  share_goal and f"{100 * share_goal:.0f} %"]
        told = (raced or not (mean_goal or worst_goal)) and (shared or not share_goal)
        verdict = "needs AMX" if "(AMX)" in work and not amx else ("yes" if all(reached) else "no") if told else ""
        yield work, threads, len(rows), *cells, ", ".join(filter(None, wanted)), verdict


def text_of(value, unit):
    if unit == "s":
        scale, name = next((s, n) for s, n in ((1, "s"), (1e3, "ms"), (1e6, "us")) if value * s >= 1 or n == "us")
        return f"{value * scale:.3g} {name}"
    if unit == "B":
        return f"{value * 1e-6:.3g} MB" if value < 1e8 else f"{value * 1e-9:.2f} GB"
    return f"{value:.4g}" if value < 1e4 else f"{value:.0f}"
def target_lines(run, threads):
    by_key = {row["row"]: row for row in run}
    for name, published, (unit, measure), *keys in TARGETS:
        rows = [by_key.get(key) for key in keys]
        value = measure(rows[0], rows[-1]) if all(rows) else math.nan
        if not math.isnan(value):
            times = value / published if unit in ("/s", "times") else published / value
            yield name, threads, text_of(published, unit), text_of(value, unit), f"{times:.3g}", keys[0]


def listed(wick, table):
    out = subprocess.run([wick, "bench", "--list"], check=True, capture_output=True, text=True).stdout
    for line in out.splitlines():
        name, *sizes = line.split()
        sizes = [size for size in sizes if of_table(table, f"{name} {size}")] if sizes else []
        if sizes or of_table(table, name):
            yield name, sizes


def main(argv):
    if len(argv) < 3 or argv[2] not in ("goals", "targets"):
        sys.exit(__doc__)
    source, table, options = argv[1], argv[2], argv[3:]
    if source.endswith(".json"):
        with open(source, encoding="utf-8") as file:
            result = json.load(file)
    else:
        rows = list(listed(source, table))
        if options == ["--list"]:
            return print("\n".join(" ".join([name, *sizes]) for name, sizes in rows))
        sizes = sorted({size for _, sizes in rows for size in sizes})
        command = [source, "bench", *(name for name, _ in rows), "--json"]
        command += ["--size", ",".join(sizes)] if sizes else []
        run = subprocess.run(command + options, stdout=subprocess.PIPE, text=True)
        if not run.stdout.startswith("{"):
            sys.exit(run.returncode or 1)
        result = json.loads(run.stdout)
    if table == "goals":
        heads = "work", "threads", "rows", "times as fast as", "worst row", "of the ceiling", "goal", "reached"
    else:
        heads = "published figure", "threads", "published", "measured", "times better", "row"
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for ceiling in result["ceilings"]:
        run = [row for row in result["rows"] if row["ran"] and row["threads"] == ceiling["threads"]]
        if table == "goals":
            lines = goal_lines(run, ceiling["threads"], ceiling["tier"])
        else:
            lines = target_lines(run, ceiling["threads"])
        for cells in lines:
            print("| " + " | ".join(str(cell) for cell in cells) + " |")


if __name__ == "__main__":
    main(sys.argv)
