#!/usr/bin/env python3
"""zoo_code.py: how many bytes each model of the zoo takes on a Cortex-M4, as C of wick compile.

  scripts/zoo_code.py [MODEL...]        all, or these; WICK: the command (default: build/test/bin/wick)

Code, constants (weights and what is made of them), and the static arena, by arm-none-eabi-gcc -O2 and -size. Weights are
the first ones, of a network that learned nothing: sizes are the same.
"""
import json
import os
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


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    wick = os.environ.get("WICK", os.path.join(root, "build/test/bin/wick"))
    listed = json.loads(subprocess.run([wick, "zoo", "list", "--json"], capture_output=True, text=True, check=True).stdout)
    wanted = sys.argv[1:]
    print("| | code | constants | of 4 bytes a weight | RAM |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for m in listed["models"]:
            if wanted and m["id"] not in wanted:
                continue
            out = os.path.join(folder, m["id"])
            subprocess.run([wick, "compile", "--net", m["net"], "--input", m["network_input"], "--classes",
                            str(m["outputs"]), "-o", out], capture_output=True, check=True)
            source = next(f for f in os.listdir(out) if f.endswith(".c"))
            subprocess.run(CC + [os.path.join(out, source), "-o", out + ".o"], check=True)
            code, constants, ram = sections(out + ".o")
            share = constants / (4 * m["parameters"])
            print(f"| {m['id']} | {code:,} | {constants:,} | {share:.2f} | {ram:,} |", flush=True)


if __name__ == "__main__":
    main()
