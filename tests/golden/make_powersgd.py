"""Sums by PowerSGD (Vogels, Karimireddy, Jaggi, NeurIPS 2019, algorithms 1 and 2) in float64, by NumPy (1.24 or later):

    python tests/golden/make_powersgd.py >tests/golden/powersgd.h
"""
import numpy as np

MATRICES, COUNT, RANK, STEPS = [(2, 6, 5), (35, 8, 4), (67, 1, 3)], 75, 2, 4
MASK = 2**64 - 1


def gradient(rank, step):
    i = np.arange(COUNT, dtype=np.uint64)
    x = (i * 2654435761 + (rank + 16 * step) * 40503) & 0xFFFFFFFF
    return ((x >> 11).astype(np.int64) - 2**20).astype(np.float64) / 2**20


def first_q(matrix, column, cols):
    x = ((matrix + 1) * 0x9E3779B97F4A7C15 + (column + 1) * 0xBF58476D1CE4E5B9) & MASK
    q = []
    for _ in range(cols):
        total = -6.0
        for _ in range(12):
            x = (x * 6364136223846793005 + 1442695040888963407) & MASK
            total += (x >> 33) * 2.0**-31
        q.append(total)
    return np.array(q)


def orthonormal(p):
    # of QR the columns span the same, and the product with Q = M' P doesn't depend on their signs
    return np.linalg.qr(p)[0]


def run(ranks):
    errors = [[np.zeros((rows, cols)) for _, rows, cols in MATRICES] for _ in range(ranks)]
    qs = [np.stack([first_q(m, k, cols) for k in range(min(RANK, rows, cols))], 1)
          for m, (_, rows, cols) in enumerate(MATRICES)]
    out = []
    for step in range(STEPS):
        vectors = [gradient(r, step) for r in range(ranks)]
        total = sum(vectors)
        for m, (begin, rows, cols) in enumerate(MATRICES):
            deltas = [v[begin:begin + rows * cols].reshape(rows, cols) + errors[r][m] for r, v in enumerate(vectors)]
            p = orthonormal(sum(d @ qs[m] for d in deltas) / ranks)
            qs[m] = sum(d.T @ p for d in deltas) / ranks
            mean = p @ qs[m].T
            for r in range(ranks):
                errors[r][m] = deltas[r] - mean
            total[begin:begin + rows * cols] = (mean * ranks).ravel()
        out.append(total)
    return out


print("/* By tests/golden/make_powersgd.py: sums of %d floats of 2 and of 3 ranks, %d steps, rank %d. */"
      % (COUNT, STEPS, RANK))
print("static const wick_group_matrix golden_matrices[] = {%s};" % ", ".join("{%d, %d, %d}" % m for m in MATRICES))
print("enum { GOLDEN_COUNT = %d, GOLDEN_STEPS = %d, GOLDEN_RANK = %d };" % (COUNT, STEPS, RANK))
print("static const float golden_sums[2][GOLDEN_STEPS][GOLDEN_COUNT] = {")
for ranks in (2, 3):
    print("    {")
    for row in run(ranks):
        print("        {")
        text = ["%.9gf" % v if "." in "%.9g" % v or "e" in "%.9g" % v else "%.9g.0f" % v for v in row]
        for k in range(0, COUNT, 6):
            print("            " + ", ".join(text[k:k + 6]) + ",")
        print("        },")
    print("    },")
print("};")
