#!/usr/bin/env python3
"""What the advice of wick profile is worth: programs that are bound by one thing, their verdict, and how many times as
fast they are with the advice applied. Usage: advice.py WICK [rounds]

Pairs run in turn; times are the program's own (--json), and the ratio is the median of the pairs'. Pictures are made
here: they are decoded and resized by each epoch, so that the training waits for data.
"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import zlib

wick, rounds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
here = tempfile.TemporaryDirectory()
os.chdir(here.name)


def run(*words, want=0):
    done = subprocess.run([wick, *words], capture_output=True, text=True)
    if done.returncode != want:
        sys.exit(f"wick {' '.join(words)}: exit code {done.returncode}\n{done.stderr}")
    return done


def png(path, side, seed):
    """Gray noise that compresses little."""
    rows, state = bytearray(), seed
    for _ in range(side):
        rows.append(0)
        for _ in range(side):
            state = (state * 1103515245 + 12345) & 0x7FFFFFFF
            rows.append(state >> 16 & 255)
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)))
        f.write(chunk(b"IDAT", zlib.compress(bytes(rows), 6)) + chunk(b"IEND", b""))


def pictures(folder, count, side):
    for k in range(count):
        os.makedirs(f"{folder}/{k % 2}", exist_ok=True)
        png(f"{folder}/{k % 2}/{k}.png", side, k + 1)


def first_of(said):
    return said["findings"][0] if said["findings"] else {"name": "nothing", "advice": "none"}


def profiled(*words):
    """Seconds of a run, by the median; and what was found first."""
    said = json.loads(run("profile", *words, "--json").stdout)["profile"]
    return said["run"]["p50"], first_of(said)


def trained(*words):
    """Seconds of a training, and what its profile says bounds it."""
    run("profile", "--profile", "p.json", "--", wick, "train", *words, "--force", "--out", "run", "--quiet")
    said = json.load(open("p.json"))
    return said["wall"], first_of(said)


def race(name, measure, before, after):
    ratios, found = [], None
    for _ in range(rounds):
        first, found = measure(*before)
        second, _ = measure(*after)
        ratios.append(first / second)
    print(f"{name}: {found['name']} ({found['advice']})\n    {' '.join(before)}\n    {' '.join(after)}\n"
          f"    {statistics.median(ratios):.2f} times ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


net = ["--arch", "resnet8", "--input", "3,32,32", "--batch", "32", "--runs", "30", "--no-race"]
race("a convolutional network on one thread", profiled, [*net, "--threads", "1"], [*net, "--threads", "2"])
tiny = ["--arch", "resnet8", "--input", "3,32,32", "--batch", "1", "--runs", "500", "--no-race"]
race("a small network on two threads", profiled, [*tiny, "--threads", "2"], [*tiny, "--threads", "1"])
pictures("pictures", 200, 128)
os.mkdir("packed")
run("data", "pack", "pictures", "packed/train.wrec")
train = ["--arch", "mlp:16", "--epochs", "6", "--batch", "30", "--validation", "0", "--threads", "1"]
race("a training on pictures", trained, ["--data", "pictures", *train],
     ["--data", "packed", *train])
