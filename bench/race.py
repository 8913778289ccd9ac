"""What the side-by-side runs share: a program of Wick's that answers lines, turns with PyTorch, medians, the ratio with its 95 % interval.

A ratio is PyTorch's median by Wick's: above 1 Wick is faster. Its interval is the bootstrap's: rounds are drawn again with repetition, 1000 times.
On one thread time is what a process computed, on both sides, which other programs don't lengthen (though they take caches and memory); on more it
is the clock's.
"""
import math
import os
import re
import statistics
import subprocess
import sys
import time

import numpy as np
import torch


class Server:
    """A program of bench_*.c that answers each line with a line of numbers."""

    def __init__(self, program, *args):
        self.child = subprocess.Popen([program, *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(self, line, data=b""):
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.write(data)
        self.child.stdin.flush()

    def text(self, line):
        self.send(line)
        answer = self.child.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.child.args[0]} ended at: {line}")
        return answer.decode().strip()

    def ask(self, line=""):
        """The numbers of the answer."""
        return np.array(self.text(line).split(), float)

    def close(self):
        self.child.stdin.close()
        self.child.wait()


class Ratio:
    """Of paired times [rounds]: medians, how many times as fast, and its interval."""

    def __init__(self, ours, theirs):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        self.ours, self.theirs, self.rounds = float(np.median(ours)), float(np.median(theirs)), len(ours)
        self.ratio = self.theirs / self.ours
        at = np.random.default_rng(0).integers(0, len(ours), (1000, len(ours)))
        self.low, self.high = (float(v) for v in np.percentile(np.median(theirs[at], 1) / np.median(ours[at], 1), (2.5, 97.5)))

    def __str__(self):
        return f"{self.ours:11.2f} {self.theirs:11.2f}  {self.ratio:5.2f} ({self.low:.2f} .. {self.high:.2f})"


def use(threads):
    """PyTorch at its fastest; the clock of both sides. On one thread both sides have one CPU, the last of those allowed: a side that has to wake
    another CPU for its turn finds it slow."""
    torch.set_num_threads(threads)
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_flush_denormal(True)
    if threads > 1 and os.getloadavg()[0] > 0.5 * os.cpu_count():
        print("other programs want the CPUs: threads that wait for each other are then held up, PyTorch's a thousandfold. These ratios mean nothing.", file=sys.stderr)
    return time.process_time if threads == 1 else time.perf_counter


def turns(ours, theirs, rounds, warmup=1, seconds=math.inf, least=5, pause=0.0):
    """Calls both in turn, each first in every other round; stops after `rounds`, or after `seconds` and the least number of rounds. Two arrays
    [rounds, ...] of what they return. `pause` lets the threads of one side fall asleep before the other begins."""
    a, b, start = [], [], time.perf_counter()
    for i in range(rounds + warmup):
        pair = [None, None]
        for side in (0, 1) if i % 2 else (1, 0):
            time.sleep(pause)
            pair[side] = (ours, theirs)[side]()
        if i >= warmup:
            a.append(pair[0]), b.append(pair[1])
            if len(a) >= least and time.perf_counter() - start > seconds:
                break
    return np.array(a), np.array(b)


def fastest(run, seconds=0.02):
    """Microseconds of the fastest run of a turn."""
    best, runs, start = math.inf, 0, time.perf_counter()
    at = start
    while at - start < seconds or runs < 3:
        run()
        end = time.perf_counter()
        best, at, runs = min(best, end - at), end, runs + 1
    return best * 1e6


def mean(ratios):
    """The geometric one."""
    return math.exp(statistics.mean(map(math.log, ratios))) if ratios else math.nan


def environment(threads):
    cpu = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read())
    return (f"torch {torch.__version__}, {threads} thread{'s' * (threads > 1)}, {cpu[1] if cpu else os.uname().machine}, {os.cpu_count()} cores, "
            f"WICK_ISA={os.environ.get('WICK_ISA', '')}, load {os.getloadavg()[0]:.2f}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())}")
