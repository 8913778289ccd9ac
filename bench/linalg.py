"""einsum, Fourier transforms and factorizations of Wick beside PyTorch's, in turn, round by round: medians of each turn's fastest run
(turns of 20 ms), and the ratio with its 95 % interval (bootstrap).

    python linalg.py BENCH_LINALG [THREADS] [ROUNDS]

BENCH_LINALG is the program of bench_linalg.c. All in f32.
"""
import sys

import torch

import race

program, threads, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1, int(sys.argv[3]) if len(sys.argv) > 3 else 9
race.use(threads)

EINSUMS = [
    ("ij,jk->ik", (256, 256), (256, 256)), ("ij,jk->ki", (256, 256), (256, 256)), ("bij,bjk->bik", (32, 64, 64), (32, 64, 64)), ("bqhd,bkhd->bhqk", (4, 128, 8, 64), (4, 128, 8, 64)),
    ("bhqk,bkhd->bqhd", (4, 8, 128, 128), (4, 128, 8, 64)), ("bsd,dhe->bshe", (4, 128, 256), (256, 8, 32)), ("bshe,hed->bsd", (4, 128, 8, 32), (8, 32, 256)),
    ("bi,bi->b", (4096, 256), (4096, 256)), ("i,j->ij", (1024,), (1024,)), ("ij,j->i", (1024, 1024), (1024,)), ("bn,anm,bm->ba", (64, 64), (32, 64, 64), (64, 64)),
    ("ij,jk,kl->il", (512, 16), (16, 512), (512, 16)), ("bij->bji", (32, 128, 128)), ("bii->bi", (256, 64, 64)), ("bij->b", (64, 128, 128)), ("bchw,cd->bdhw", (8, 64, 28, 28), (64, 64)),
]
CASES = [(text, *shapes) for text, *shapes in EINSUMS]
CASES += [("fft", (max(1, 262144 // n), n, 2)) for n in (64, 256, 512, 1000, 1024, 1009, 4096, 65536, 1 << 20)]
CASES += [("rfft", (1000, 400)), ("rfft", (512, 512)), ("rfft", (64, 4099)), ("irfft", (512, 257, 2))]
CASES += [("cholesky", (n, n)) for n in (32, 128, 512, 1024)] + [("cholesky", (256, 16, 16))] + [("solve", (n, n), (n, 8)) for n in (32, 128, 512, 1024)]


def torch_run(what, xs):
    if what == "fft":
        return lambda: torch.fft.fft(xs[0])
    if what == "rfft":
        return lambda: torch.fft.rfft(xs[0])
    if what == "irfft":
        return lambda: torch.fft.irfft(xs[0])
    if what == "cholesky":
        return lambda: torch.linalg.cholesky(xs[0])
    if what == "solve":
        return lambda: torch.linalg.solve(*xs)
    return lambda: torch.einsum(what, *xs).contiguous()


server, groups = race.Server(program, threads), {}
print(race.environment(threads) + f"\n{'':50} {'Wick, us':>11} {'PyTorch, us':>11}  ratio (95 %)")
for what, *shapes in CASES:
    line = what + "".join(" " + "x".join(map(str, s)) for s in shapes)
    xs = [torch.rand(s) for s in shapes]
    if what in ("fft", "irfft"):
        xs = [torch.view_as_complex(xs[0])]
    if what in ("cholesky", "solve"):
        n = shapes[0][-1]
        xs[0] = (xs[0] + xs[0].mT) / 2 + n * torch.eye(n)
    run = torch_run(what, xs)
    row = race.Ratio(*race.turns(lambda: server.ask(line)[0], lambda: race.fastest(run), rounds))
    group = what if what in ("cholesky", "solve") else "fft" if what.endswith("fft") else "einsum"
    groups.setdefault(group, []).append(row.ratio)
    print(f"{line:50} {row}", flush=True)
for group, ratios in groups.items():
    print(f"{group}: geometric mean of the ratios {race.mean(ratios):.2f}")
server.close()
