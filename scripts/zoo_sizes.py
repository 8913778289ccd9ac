#!/usr/bin/env python3
"""zoo_sizes.py: how many bytes each model of the zoo takes on a Cortex-M4, and how its time follows its widths.

  scripts/zoo_sizes.py code|widths [MODEL...]   all, or these; WICK: the command (default: build/test/bin/wick)

code    code, constants (weights and what is made of them) and the static arena of what wick compile writes, by
        arm-none-eabi-gcc -O2 and -size. Weights are the first ones, of a network that learned nothing: sizes are the same
widths  ms of one sample on one thread here, and of the same network with all widths doubled: the least of three medians
        of 200 runs each, in turns
"""
import json
import os
import re
import subprocess
import sys
import tempfile

CC = "arm-none-eabi-gcc -std=c11 -O2 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -c".split()


def sections(path):
    """Bytes of code, constants and RAM of an object."""
    out = subprocess.run(["arm-none-eabi-size", "-A", path], capture_output=True, text=True, check=True).stdout
    total = {".text": 0, ".rodata": 0, ".bss": 0}
    for line in out.splitlines():
        words = line.split()
        for name in total:
            if words and words[0].startswith(name):
                total[name] += int(words[1])
    return total.values()


def print_code(wick, models):
    print("| | code | constants | of 4 bytes a weight | RAM |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for m in models:
            out = os.path.join(folder, m["id"])
            subprocess.run([wick, "compile", "--net", m["net"], "--input", m["network_input"], "--classes",
                            str(m["outputs"]), "-o", out], capture_output=True, check=True)
            source = next(f for f in os.listdir(out) if f.endswith(".c"))
            subprocess.run(CC + [os.path.join(out, source), "-o", out + ".o"], check=True)
            code, constants, ram = sections(out + ".o")
            share = constants / (4 * m["parameters"])
            print(f"| {m['id']} | {code:,} | {constants:,} | {share:.2f} | {ram:,} |", flush=True)


def median_ms(wick, m, net):
    out = subprocess.run([wick, "profile", "--net", net, "--input", m["network_input"], "--classes", str(m["outputs"]),
                          "--threads", "1", "--runs", "200", "--no-race", "--json", "--quiet"], capture_output=True, text=True, check=True)
    return 1e3 * json.loads(out.stdout)["profile"]["run"]["p50"]


def doubled(net):
    net = re.sub(r"\b(conv|linear|lstm|gru) (\d+)", lambda w: f"{w[1]} {2 * int(w[2])}", net)
    return re.sub(r"\bembed (\d+) (\d+)", lambda w: f"embed {w[1]} {2 * int(w[2])}", net)


def print_widths(wick, models):
    print("| | ms | doubled | times |\n|---|---|---|---|")
    slower = 0
    for m in models:
        turns = [(median_ms(wick, m, m["net"]), median_ms(wick, m, doubled(m["net"]))) for _ in range(3)]
        once, twice = min(t[0] for t in turns), min(t[1] for t in turns)
        slower += twice >= 1.5 * once
        print(f"| {m['id']} | {once:.4f} | {twice:.4f} | {twice / once:.2f} |", flush=True)
    print(f"{slower} of {len(models)} are at least 1.5 times slower")


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    wick = os.environ.get("WICK", os.path.join(root, "build/test/bin/wick"))
    prints = {"code": print_code, "widths": print_widths}
    if len(sys.argv) < 2 or sys.argv[1] not in prints:
        sys.exit(__doc__)
    listed = subprocess.run([wick, "zoo", "list", "--json"], capture_output=True, text=True, check=True).stdout
    models = json.loads(listed)["models"]
    unknown = set(sys.argv[2:]) - {m["id"] for m in models}
    if unknown:
        sys.exit(f"zoo_sizes: there is no model {', '.join(sorted(unknown))}")
    prints[sys.argv[1]](wick, [m for m in models if not sys.argv[2:] or m["id"] in sys.argv[2:]])


if __name__ == "__main__":
    main()
