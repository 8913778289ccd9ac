#!/usr/bin/env python3
"""Loss curves of Wick beside PyTorch's, f32, from the same weights over the same batches.

    python bench/curves.py BUILD_DIR resnet8|lstm [STEPS [BATCH [SVG]]]

resnet8: CIFAR-10 (found as the command finds it: $WICK_DATA/cifar10), SGD with momentum; PyTorch with 1 and 2 threads, contiguous and channels_last.
lstm: the network of examples/char_lstm.c on $WICK_DATA/text/tinyshakespeare.txt, Adam with clipped gradients; PyTorch, which has the same bits with 1
and 2 threads and with and without oneDNN, with samples and units in other orders.
Wick with 1 thread on each tier of the CPU. f32 sums in another order differ in the last bits, and training makes differences grow: the yardstick is
how far PyTorch's own curves are from each other. Needs torch==2.13.0 (CPU), torchaudio==2.11.0 and numpy.
"""
import itertools, json, os, subprocess, sys, tempfile

import numpy as np
import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden"))
import make_curves, make_sequence_curves


def load(path):
    """A safetensors file of f32 tensors."""
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: torch.from_numpy(np.frombuffer(data, "<f4", (t["data_offsets"][1] - t["data_offsets"][0]) // 4, 8 + size + t["data_offsets"][0])
                                   .reshape(t["shape"]).copy()) for name, t in header.items()}


class ResNet8:
    threads, variants = (1, 2), ("contiguous", "channels_last")
    batch, shapes = 64, (("<f4", (3, 32, 32)), ("<i8", ()))

    def __init__(self, start, variant):
        self.net, self.last = make_curves.Net(), variant == "channels_last"
        assert start.keys() == self.net.params.keys() | self.net.buffers.keys()
        self.net.params = {name: self.place(start[name]).requires_grad_() for name in self.net.params}
        self.net.buffers = {name: start[name] for name in self.net.buffers}
        self.optimizer = torch.optim.SGD(self.net.params.values(), lr=0.01, momentum=0.9)

    def place(self, x):
        return x.contiguous(memory_format=torch.channels_last) if self.last and x.dim() == 4 else x

    def loss(self, x, labels):
        return torch.nn.functional.cross_entropy(self.net(self.place(x)), labels)

    def step(self):
        self.optimizer.step()


class LSTM:
    threads, variants = (1,), ("as it is", "samples reversed", "units reordered", "both")
    batch, shapes = 32, (("<i8", (65,)),)  # T + 1, and the batch after it

    def __init__(self, start, variant):
        torch.manual_seed(1)
        self.net, self.reversed = make_sequence_curves.LSTM(*start["embed.weight"].shape, 1), variant in ("samples reversed", "both")
        self.net.load_state_dict(start)
        if variant in ("units reordered", "both"):
            with torch.no_grad():
                self.net.reorder()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.002)

    def loss(self, text):
        text = text.reshape(65, -1)
        return self.net(text.flip(1) if self.reversed else text)

    def step(self):
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimizer.step()


def train_torch(task, folder, steps, batch, threads, variant):
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    run = task(load(f"{folder}/weights.safetensors"), variant)
    files = [np.memmap(f"{folder}/in{k}", dtype, "r", shape=(steps, batch, *shape)) for k, (dtype, shape) in enumerate(task.shapes)]
    losses = []
    for inputs in zip(*files):
        run.optimizer.zero_grad()
        loss = run.loss(*(torch.from_numpy(x.copy()) for x in inputs))
        loss.backward()
        run.step()
        losses.append(loss.item())
    return np.array(losses)


def train_wick(build, name, folder, steps, batch, tier):
    run = subprocess.run([f"{build}/bench/bench_curves", "train", name, folder, str(steps), str(batch), "1"], capture_output=True, text=True,
                         check=True, env=dict(os.environ, WICK_ISA=tier))
    return np.array(json.loads(run.stdout))


def panel(curves, top, title, log):
    """Polylines in a box of 720 x 240 below `top`."""
    values = [np.log10(np.maximum(c, 1e-9)) if log else c for c in curves.values()]
    low, high = min(v.min() for v in values), max(v.max() for v in values)
    out = [f'<text x="60" y="{top - 8}">{title}</text><rect x="60" y="{top}" width="720" height="240" fill="none" stroke="#999"/>']
    for at in (low, high):
        y = top + 240 * (high - at) / (high - low)
        out.append(f'<text x="54" y="{y + 4:.0f}" text-anchor="end">{10**at if log else at:.2g}</text>')
    for name, v in zip(curves, values):
        points = " ".join(f"{60 + 720 * i / max(len(v) - 1, 1):.1f},{top + 240 * (high - a) / (high - low):.1f}" for i, a in enumerate(v))
        out.append(f'<polyline points="{points}" fill="none" stroke="{"#c33" if name.startswith("Wick") else "#888"}" stroke-width="1"/>')
    return out


def write_svg(path, curves, reference):
    others = {name: abs(c - curves[reference]) for name, c in curves.items() if name != reference}
    steps = len(curves[reference])
    body = panel(curves, 30, "loss of each step: Wick red, PyTorch grey", False)
    body += panel(others, 320, f"difference from {reference}", True)
    body.append(f'<text x="60" y="580">step 1</text><text x="780" y="580" text-anchor="end">{steps}</text>')
    with open(path, "w") as f:
        f.write('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 590" font-family="sans-serif" font-size="13">'
                '<rect width="800" height="590" fill="#fff"/>\n' + "\n".join(body) + "\n</svg>\n")


def main():
    build, name = sys.argv[1:3]
    task = {"resnet8": ResNet8, "lstm": LSTM}[name]
    steps, batch = (int(sys.argv[k]) if len(sys.argv) > k else usual for k, usual in ((3, 200), (4, task.batch)))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([f"{build}/bench/bench_curves", "write", name, folder, str(steps), str(batch)], check=True)
        torches = {f"PyTorch, {threads} thread{'s' * (threads > 1)}, {variant}": train_torch(task, folder, steps, batch, threads, variant)
                   for threads in task.threads for variant in task.variants}
        wicks = {f"Wick, {tier}": train_wick(build, name, folder, steps, batch, tier) for tier in ("avx512", "avx2", "base")}
    for upto in sorted({min(steps, n) for n in (1, 10, 50, 100, steps)}):
        def far(a, b):
            return abs(a[:upto] - b[:upto]).max()

        pairs = [far(a, b) for a, b in itertools.combinations(torches.values(), 2)]
        first, *others = torches.values()
        print(f"steps 1 to {upto:3}: PyTorch's among each other {min(pairs):.2g} to {max(pairs):.2g}, "
              + (f"1 thread to 2 {far(first, others[len(task.variants) - 1]):.2g}; " if len(task.threads) > 1 else "")
              + "to the nearest of PyTorch's: "
              + ", ".join(f"{name} {min(far(w, t) for t in torches.values()):.2g}" for name, w in wicks.items()))
    for name, c in {**torches, **wicks}.items():
        print(f"{name:32} loss {c[0]:.6f} at first, {c[-20:].mean():.4f} over the last 20 steps")
    if len(sys.argv) > 5:
        write_svg(sys.argv[5], {**torches, **wicks}, next(iter(torches)))


main()
