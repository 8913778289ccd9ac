"""Writes index.safetensors: values and gradients of PyTorch's shape, indexing, sorting and scan functions, for tests/ops/test_index.c. Made with
torch==2.13.0. Run: python make_index.py (in this folder).

A case NAME has the tensors NAME/in0 ..., NAME/out and NAME/grad0 ..., as in cases.py, and NAME/attr: the kind, whose number is its place in KINDS,
then what its function in test_index.c takes.
"""
import torch
import torch.nn.functional as F

from cases import begin, inputs_of, put, rand, result, save

begin(23)
KINDS = ("STACK TILE INTERLEAVE ROLL MOVE PAD TRIL TRIU DIAGONAL TAKE PUT SCATTER GATHER_ND SCATTER_ND INDEX INDEX_PUT EMBEDDING BAG BAG_OFFSETS FILL MASKED_SCATTER "
         "SELECT NONZERO SORT ARGSORT TOPK TOPK_INDEX KTH KTH_INDEX MEDIAN MEDIAN_INDEX NANMEDIAN QUANTILE SEARCH UNIQUE UNIQUE_INVERSE UNIQUE_COUNTS CONSECUTIVE BINCOUNT BINCOUNT_WEIGHTS HISTOGRAM "
         "LOGSUMEXP STD NORM ANY ALL COUNT NANSUM NANMEAN MAX_INDEX MIN_INDEX MAX_VALUE CUMSUM CUMPROD LOGCUMSUMEXP CUMMAX CUMMAX_INDEX CUMMIN CUMMIN_INDEX CUMSUM_WITH MESHGRID EYE LINSPACE "
         "LOGSPACE SCATTER_REDUCE").split()
inf, nan = float("inf"), float("nan")


def ints(n, *shape, negative=False):
    return torch.randint(-n if negative else 0, n, shape)


def case(name, kind, fn, *inputs, attr=(), grad=True):
    name = f"{kind.lower()}.{name}"
    put(f"{name}/attr", torch.tensor([KINDS.index(kind), *attr], dtype=torch.int64))
    xs = inputs_of(name, inputs, grad)
    result(name, fn(*xs), xs)


# ---- shapes ------------------------------------------------------------------------------------------------------------------------
for axis in (0, 1, -1):
    case(f"{axis}", "STACK", lambda *t: torch.stack(t, axis), rand(2, 3), rand(2, 3), rand(2, 3), attr=(axis,))
case("scalars", "STACK", lambda *t: torch.stack(t, 0), rand(), rand(), attr=(0,))
case("empty", "STACK", lambda *t: torch.stack(t, 1), rand(0, 2), rand(0, 2), attr=(1,))
for shape, reps in (((3,), (4,)), ((2, 3), (2, 1)), ((2, 3), (3, 2)), ((2, 1, 3), (2, 2, 2)), ((2, 3), (2, 1, 3)), ((2, 3), (2, 0)), ((3,), (1, 1)), ((2, 0), (3, 2))):
    case(f"{shape}x{reps}", "TILE", lambda t: t.repeat(reps), rand(*shape), attr=(len(reps), *reps))
case("fewer", "TILE", lambda t: torch.tile(t, (2,)), rand(2, 3), attr=(1, 2))
for n, axis in ((1, 0), (3, 0), (2, 1), (2, -1), (0, 1)):
    case(f"{n}.{axis}", "INTERLEAVE", lambda t: t.repeat_interleave(n, axis), rand(2, 3, 4), attr=(n, axis))
for shifts, axes in (((1,), (0,)), ((-2,), (1,)), ((7, -9), (0, -1)), ((0,), (0,)), ((1, 1), (0, 0))):
    case(f"{shifts}.{axes}", "ROLL", lambda t: torch.roll(t, shifts, axes), rand(3, 5), attr=(len(axes), *shifts, *axes))
case("empty", "ROLL", lambda t: torch.roll(t, 1, 0), rand(0, 5), attr=(1, 1, 0))
for a, b in ((0, 2), (2, 0), (-1, 1), (1, 1), (0, -1)):
    case(f"{a}.{b}", "MOVE", lambda t: torch.movedim(t, a, b), rand(2, 3, 4), attr=(a, b))
for mode, number in (("reflect", 0), ("replicate", 1), ("circular", 2)):
    for pads in ((0, 0, 1, 2), (3, 3, 2, 1), (0, 4, 3, 0), (1, 0, 0, 0)):
        case(f"{mode}{pads}", "PAD", lambda t: F.pad(t, pads, mode), rand(1, 2, 4, 5), attr=(number, 0, 0, pads[2], pads[0], 0, 0, pads[3], pads[1]))
    case(f"{mode} crops", "PAD", lambda t: F.pad(t[:, :, 1:], (2, 1, 0, 2), mode), rand(1, 2, 4, 5), attr=(number, 0, 0, -1, 2, 0, 0, 2, 1))
for k in (0, 1, -1, 3, -4, 9):
    case(f"{k}", "TRIL", lambda t: torch.tril(t, k), rand(2, 3, 5), attr=(k,))
    case(f"{k}", "TRIU", lambda t: torch.triu(t, k), rand(4, 3), attr=(k,))
    case(f"{k}", "DIAGONAL", lambda t: torch.diag_embed(t, k), rand(2, 3), attr=(k,))
case("bool", "TRIL", lambda t: torch.tril(t), torch.ones(3, 3, dtype=torch.bool), attr=(0,), grad=False)
case("empty", "DIAGONAL", lambda t: torch.diag_embed(t, 1), rand(0), attr=(1,))
for i in range(3):
    case(f"ij{i}", "MESHGRID", lambda *t: torch.meshgrid(*t, indexing="ij")[i], rand(2), rand(3), rand(4), attr=(0, i))
    case(f"xy{i}", "MESHGRID", lambda *t: torch.meshgrid(*t, indexing="xy")[i], rand(2), rand(3), rand(4), attr=(1, i))
eye_of = lambda n, m, k: torch.diagonal_scatter(torch.zeros(n, m, dtype=torch.int64), torch.ones(torch.diagonal(torch.zeros(n, m), k).shape, dtype=torch.int64), k)
for n, m, k in ((3, 3, 0), (2, 4, 1), (4, 2, -2), (0, 3, 0), (1, 1, 0)):
    case(f"{n}x{m}.{k}", "EYE", lambda t: eye_of(n, m, k), torch.zeros(1, dtype=torch.int64), attr=(n, m, k))
for a, b, n in ((0, 1, 5), (-3, 7, 4), (2, 2, 3), (5, -5, 1), (0, 9, 0), (-1, 1, 100)):
    case(f"{a}.{b}.{n}", "LINSPACE", lambda t: torch.linspace(a, b, n, dtype=torch.float64), torch.zeros(1), attr=(a, b, n), grad=False)
case("2", "LOGSPACE", lambda t: torch.logspace(-2, 3, 6, base=2, dtype=torch.float64), torch.zeros(1), attr=(-2, 3, 6, 2), grad=False)
case("10", "LOGSPACE", lambda t: torch.logspace(-1, 2, 7, dtype=torch.float64), torch.zeros(1), attr=(-1, 2, 7, 10), grad=False)

# ---- indexing ------------------------------------------------------------------------------------------------------------------------
for shape, of, axis in (((5,), (7,), 0), ((4, 3), (2, 3), 0), ((4, 3), (4, 5), 1), ((2, 5, 3), (2, 4, 3), 1), ((2, 5, 3), (1, 9, 2), -2), ((2, 3, 5), (2, 3, 1), 2), ((20, 30), (20, 1), 1),
                        ((3, 4), (0, 4), 0), ((3, 0), (3, 0), 0), ((6, 1, 40), (9, 1, 33), 0), ((3, 2, 17, 5), (3, 2, 6, 5), 2)):
    case(f"{shape}.{of}.{axis}", "TAKE", lambda t, i: torch.gather(t, axis, i), rand(*shape), ints(shape[axis], *of), attr=(axis,))
case("negative", "TAKE", lambda t, i: torch.gather(t, 0, i % 5), rand(5, 2), ints(5, 6, 2, negative=True), attr=(0,))
case("i64", "TAKE", lambda t, i: torch.gather(t, 1, i), ints(99, 3, 4), ints(4, 3, 2), attr=(1,))
hows = {0: None, 1: "sum", 2: "prod", 3: "amax", 4: "amin", 5: "mean"}
for shape, of, axis in (((6,), (9,), 0), ((4, 3), (6, 3), 0), ((4, 6), (4, 8), 1), ((2, 5, 3), (2, 7, 3), 1), ((3, 4, 20), (2, 6, 17), 1), ((5, 3), (0, 3), 0), ((2, 30), (2, 12), -1)):
    for how, name in hows.items():
        if how == 0:  # PyTorch leaves duplicates undefined
            order = torch.argsort(torch.rand(*of[:axis % len(of)], shape[axis], *of[axis % len(of) + 1:]), axis)
            i = order.narrow(axis, 0, min(of[axis], shape[axis])).contiguous()
            case(f"{shape}.{axis}.set", "PUT", lambda t, j, s: t.scatter(axis, j, s), rand(*shape), i, rand(*i.shape), attr=(axis, 0))
            continue
        i = ints(shape[axis], *of)
        fn = lambda include: lambda t, j, s: t.scatter_reduce(axis, j, s, name, include_self=include)
        case(f"{shape}.{axis}.{name}", "PUT", fn(True), rand(*shape), i, rand(*of), attr=(axis, how))
        if len(shape) < 3 or of[0] == shape[0]:
            case(f"{shape}.{axis}.{name}", "SCATTER_REDUCE", fn(False), rand(*shape), i, rand(*of), attr=(axis, how, 0))
zeros = torch.tensor([0.0, 0.0, 2.0, 3.0, 1.5])
case("zeros", "PUT", lambda t, j, s: t.scatter_reduce(0, j, s, "prod"), torch.tensor([0.0, 2.0, 3.0, 1.0]), torch.tensor([0, 1, 1, 2, 2]), zeros, attr=(0, 2))
case("integers", "PUT", lambda t, j, s: t.scatter_reduce(0, j, s, "amax"), ints(9, 4), ints(4, 7), ints(9, 7), attr=(0, 3))
case("integer means", "PUT", lambda t, j, s: t.scatter_reduce(0, j, s, "mean"), ints(9, 4), ints(4, 7), ints(9, 7), attr=(0, 5))
case("nan", "PUT", lambda t, j, s: t.scatter_reduce(0, j, s, "amax"), torch.tensor([nan, 1.0, -inf]), torch.tensor([0, 1, 1, 2]), torch.tensor([5.0, nan, 3.0, -1.0]), attr=(0, 3), grad=False)
case("add", "SCATTER", lambda t, j, s: t.index_add(1, j, s), rand(2, 4, 3), ints(4, 6), rand(2, 6, 3), attr=(1, 1))
case("copy", "SCATTER", lambda t, j, s: t.index_copy(0, j, s), rand(5, 3), torch.tensor([4, 1, 2]), rand(3, 3), attr=(0, 0))
case("long", "SCATTER", lambda t, j, s: t.index_add(0, j, s), rand(5, 70), ints(5, 12), rand(12, 70), attr=(0, 1))
case("max", "SCATTER", lambda t, j, s: t.index_reduce(0, j, s, "amax"), rand(5, 3), ints(5, 8), rand(8, 3), attr=(0, 3))


def tuples(x, i, b):
    if b == 0:
        return x[tuple(i[..., k] for k in range(i.shape[-1]))]
    return torch.stack([tuples(x[k], i[k], b - 1) for k in range(x.shape[0])])


for shape, of, b in (((4, 3), (5, 1), 0), ((4, 3), (5, 2), 0), ((4, 3, 2), (2, 3, 2), 0), ((2, 4, 3), (2, 5, 1), 1), ((2, 4, 3), (2, 2), 1), ((2, 3, 4, 5), (2, 3, 6, 1), 2), ((4, 3), (2,), 0), ((4, 3), (0, 2), 0)):
    k = of[-1]
    index = torch.stack([ints(shape[b + j], *of[:-1]) for j in range(k)], -1)
    case(f"{shape}.{of}.{b}", "GATHER_ND", lambda t, i: tuples(t, i, b), rand(*shape), index, attr=(b,))
for shape, of, how in (((4, 3), (5, 1), 1), ((4, 3), (6, 2), 1), ((4, 3, 2), (2, 3, 2), 1)):
    index = torch.stack([ints(shape[j], *of[:-1]) for j in range(of[-1])], -1)
    src = rand(*of[:-1], *shape[of[-1]:])
    case(f"{shape}.{of}.add", "SCATTER_ND", lambda t, i, s: t.index_put(tuple(i[..., k] for k in range(i.shape[-1])), s, accumulate=True), rand(*shape), index, src, attr=(1,))
case("set", "SCATTER_ND", lambda t, i, s: t.index_put((i[:, 0], i[:, 1]), s), rand(4, 3), torch.tensor([[0, 1], [3, 2], [1, 1]]), rand(3), attr=(0,))
case("two", "INDEX", lambda t, i, j: t[i, j], rand(4, 5, 3), ints(4, 2, 1), ints(5, 6), attr=(2,))
case("one", "INDEX", lambda t, i: t[i], rand(4, 5), ints(4, 7, negative=True), attr=(1,))
case("accumulate", "INDEX_PUT", lambda t, i, j, v: t.index_put((i, j), v, accumulate=True), rand(4, 5, 3), ints(4, 2, 1), ints(5, 6), rand(6, 3), attr=(2, 1))
case("set", "INDEX_PUT", lambda t, i, v: t.index_put((i,), v), rand(4, 5), torch.tensor([3, 0]), rand(1), attr=(1, 0))
case("plain", "EMBEDDING", lambda w, i: F.embedding(i, w), rand(7, 4), ints(7, 3, 5), attr=(-1,))
case("padding", "EMBEDDING", lambda w, i: F.embedding(i, w, padding_idx=2), rand(4, 3), ints(4, 6, 2), attr=(2,))
for mode, name in enumerate(("sum", "mean", "max")):
    case(name, "BAG", lambda w, i: F.embedding_bag(i, w, mode=name), rand(7, 4), torch.stack([torch.randperm(7)[:5] for _ in range(3)]), attr=(mode,))
    case(name, "BAG_OFFSETS", lambda w, i, o: F.embedding_bag(i, w, o, mode=name), rand(7, 4), torch.cat([torch.randperm(7) for _ in range(2)]), torch.tensor([0, 3, 3, 7, 14]), attr=(mode,))
case("scaled", "BAG_OFFSETS", lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), rand(7, 4), ints(7, 9), torch.tensor([0, 4]), rand(9), attr=(0,))
case("fill", "FILL", lambda t, m: t.masked_fill(m, 1.5), rand(3, 4), torch.rand(4) < 0.5)
case("scatter", "MASKED_SCATTER", lambda t, m, s: t.masked_scatter(m, s), rand(3, 4), torch.rand(3, 4) < 0.5, rand(12))
case("none", "MASKED_SCATTER", lambda t, m, s: t.masked_scatter(m, s), rand(3), torch.zeros(3, dtype=torch.bool), rand(2))
case("select", "SELECT", lambda t, m: t.masked_select(m), rand(3, 4), torch.rand(3, 4) < 0.5)
case("broadcast", "SELECT", lambda t, m: t.masked_select(m), rand(3, 1), torch.rand(4) < 0.6)
case("none", "SELECT", lambda t, m: t.masked_select(m), rand(3), torch.zeros(3, dtype=torch.bool))
case("2d", "NONZERO", torch.nonzero, (torch.rand(4, 5) < 0.4).float(), grad=False)
case("3d", "NONZERO", torch.nonzero, torch.rand(2, 3, 4) < 0.4)
case("none", "NONZERO", torch.nonzero, torch.zeros(3, 2, dtype=torch.bool))
case("nan", "NONZERO", torch.nonzero, torch.tensor([0.0, nan, -0.0, inf]), grad=False)

# ---- sorting -------------------------------------------------------------------------------------------------------------------------
odd = torch.tensor([[3.0, nan, -inf, 0.0, 2.0, -0.0, inf, 2.0, nan, -1.0], [1.0] * 10])
for d in (0, 1):
    for shape, axis in (((1,), 0), ((9,), 0), ((3, 40), 1), ((40, 3), 0), ((2, 17, 3), 1), ((1, 300), -1), ((0, 4), 1), ((4, 0), 1)):
        x = rand(*shape)
        case(f"{shape}.{axis}.{d}", "SORT", lambda t: torch.sort(t, dim=axis, descending=bool(d), stable=True)[0], x, attr=(axis, d))
        case(f"{shape}.{axis}.{d}", "ARGSORT", lambda t: torch.sort(t, dim=axis, descending=bool(d), stable=True)[1], x, attr=(axis, d), grad=False)
    for name, x in (("odd", odd), ("ties", torch.randint(0, 5, (1, 300)).float())):
        case(f"{name}.{d}", "SORT", lambda t: torch.sort(t, dim=-1, descending=bool(d), stable=True)[0], x, attr=(-1, d), grad=False)
        case(f"{name}.{d}", "ARGSORT", lambda t: torch.sort(t, dim=-1, descending=bool(d), stable=True)[1], x, attr=(-1, d), grad=False)
    for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8, torch.bool):
        x = torch.randint(0, 2, (2, 30), dtype=dtype) if dtype == torch.bool else torch.randint(0, 100, (2, 30), dtype=dtype) if dtype == torch.uint8 else torch.randint(-300, 300, (2, 30), dtype=dtype)
        case(f"{dtype}.{d}", "ARGSORT", lambda t: torch.sort(t, dim=-1, descending=bool(d), stable=True)[1], x, attr=(-1, d))
        case(f"{dtype}.{d}", "SORT", lambda t: torch.sort(t, dim=-1, descending=bool(d), stable=True)[0], x, attr=(-1, d))
    for shape, k, axis in (((9,), 3, 0), ((3, 40), 40, 1), ((40, 3), 2, 0), ((2, 17, 3), 5, 1), ((1, 300), 7, -1), ((5,), 0, 0), ((3, 4), 1, 1)):
        x = rand(*shape)
        case(f"{shape}.{k}.{axis}.{d}", "TOPK", lambda t: torch.topk(t, k, axis, bool(d))[0], x, attr=(k, axis, d))
        case(f"{shape}.{k}.{axis}.{d}", "TOPK_INDEX", lambda t: torch.topk(t, k, axis, bool(d))[1], x, attr=(k, axis, d), grad=False)
for shape, axis in (((9,), 0), ((3, 40), 1), ((40, 3), 0), ((2, 17, 3), 1), ((1, 1), 1), ((1, 301), 1)):
    for keep in (0, 1):
        if keep and shape[-1] > 100:
            continue
        x, n = rand(*shape), shape[axis]
        for k in sorted({1} if keep else {1, (n + 1) // 2, n}):
            case(f"{shape}.{axis}.{k}.{keep}", "KTH", lambda t: torch.kthvalue(t, k, axis, bool(keep))[0], x, attr=(axis, keep, k))
            case(f"{shape}.{axis}.{k}.{keep}", "KTH_INDEX", lambda t: torch.kthvalue(t, k, axis, bool(keep))[1], x, attr=(axis, keep, k), grad=False)
        case(f"{shape}.{axis}.{keep}", "MEDIAN", lambda t: torch.median(t, axis, bool(keep))[0], x, attr=(axis, keep))
        case(f"{shape}.{axis}.{keep}", "MEDIAN_INDEX", lambda t: torch.median(t, axis, bool(keep))[1], x, attr=(axis, keep), grad=False)
        if shape[-1] > 100:
            continue
        for q in (0.5,) if keep or n > 20 else (0.0, 0.1, 0.5, 0.875, 1.0):
            for mode, name in enumerate(("linear", "lower", "higher", "nearest", "midpoint") if len(shape) == 1 or q == 0.1 else ("linear",)):
                case(f"{shape}.{axis}.{keep}.{q}.{name}", "QUANTILE", lambda t: torch.quantile(t, q, axis, bool(keep), interpolation=name), x, attr=(axis, keep, int(q * 1000), mode))
case("nan", "MEDIAN", lambda t: torch.median(t, 1)[0], odd, attr=(1, 0), grad=False)
case("nan", "MEDIAN_INDEX", lambda t: torch.median(t, 1)[1], odd[:1], attr=(1, 0), grad=False)
case("nan", "NANMEDIAN", lambda t: torch.nanmedian(t, 1)[0], odd, attr=(1, 0), grad=False)
case("all nan", "NANMEDIAN", lambda t: torch.nanmedian(t, 1)[0], torch.full((1, 3), nan), attr=(1, 0), grad=False)
case("nan", "QUANTILE", lambda t: torch.quantile(t, 0.5, 1), odd, attr=(1, 0, 500, 0), grad=False)
edges = torch.tensor([-1.0, 0.0, 0.0, 1.0, 2.5])
values = torch.tensor([[-2.0, -1.0, 0.0, 0.5], [2.5, 3.0, inf, nan]])
for right in (0, 1):
    case(f"1d.{right}", "SEARCH", lambda s, v: torch.searchsorted(s, v, right=bool(right)), edges, values, attr=(right,), grad=False)
    case(f"2d.{right}", "SEARCH", lambda s, v: torch.searchsorted(s, v, right=bool(right)), torch.sort(rand(3, 9), 1)[0], rand(3, 5), attr=(right,), grad=False)
    case(f"long.{right}", "SEARCH", lambda s, v: torch.searchsorted(s, v, right=bool(right)), torch.sort(ints(50, 300))[0], ints(60, 300), attr=(right,))
    case(f"empty.{right}", "SEARCH", lambda s, v: torch.searchsorted(s, v, right=bool(right)), rand(0), rand(3), attr=(right,), grad=False)
for name, x in (("ints", ints(9, 4, 10)), ("floats", ints(5, 30).float() / 2), ("one", rand(1)), ("none", rand(0)), ("bool", torch.rand(9) < 0.5)):
    for kind, which in (("UNIQUE", 0), ("UNIQUE_INVERSE", 1), ("UNIQUE_COUNTS", 2)):
        case(name, kind, lambda t: torch.unique(t, return_inverse=True, return_counts=True)[which], x, grad=False)
    case(name, "CONSECUTIVE", torch.unique_consecutive, x, grad=False)
for name, x, n in (("plain", ints(6, 40), 0), ("more", ints(3, 9), 8), ("none", ints(1, 0), 3), ("long", ints(200, 300), 0)):
    case(name, "BINCOUNT", lambda t: torch.bincount(t, minlength=n), x, attr=(n,))
    if len(x):
        case(name, "BINCOUNT_WEIGHTS", lambda t, w: torch.bincount(t, w, minlength=n), x, rand(len(x)), attr=(n,), grad=False)
case("plain", "HISTOGRAM", lambda t: torch.histogram(t, 8, range=(-2, 2))[0].long(), torch.cat([rand(200, lo=-3, hi=3), torch.arange(-2, 2.5, 0.5)]), attr=(8, -2, 2), grad=False)

# ---- reductions and scans ------------------------------------------------------------------------------------------------------------
for axes in ((0,), (1,), (0, 2), (-1,), ()):
    for keep in (0, 1):
        over, bits = axes if axes else (0, 1, 2), (len(axes), *axes, *[0] * (3 - len(axes)))
        name = f"{axes}.{keep}"
        x = rand(3, 4, 5)
        some = torch.where(x > 1, nan, x)
        some[0], some[:, 0], some[:, :, 0] = x[0], x[:, 0], x[:, :, 0]
        case(name, "LOGSUMEXP", lambda t: torch.logsumexp(t, over, bool(keep)), x * 20, attr=(*bits, keep))
        case(name, "STD", lambda t: torch.std(t, over, correction=1, keepdim=bool(keep)), x, attr=(*bits, keep))
        case(name, "NANSUM", lambda t: torch.nansum(t, over, bool(keep)), some, attr=(*bits, keep))
        case(name, "NANMEAN", lambda t: torch.nanmean(t, over, bool(keep)), some, attr=(*bits, keep))
        for p in (2,) if keep else (0, 1, 2, 3, -1, 99, -99):
            value = inf if p == 99 else -inf if p == -99 else p
            case(f"{p}.{name}", "NORM", lambda t: torch.linalg.vector_norm(t, value, over, bool(keep)), x, attr=(*bits, keep, p), grad=p != 0)
        b = torch.rand(3, 4, 5) < 0.8
        case(name, "ALL", lambda t: torch.all(t, over, bool(keep)), b, attr=(*bits, keep))
        case(name, "ANY", lambda t: torch.any(t, over, bool(keep)), ~b, attr=(*bits, keep))
        if not keep:
            case(name, "COUNT", lambda t: torch.count_nonzero(t, over), torch.where(b, 0.0, x), attr=(*bits, keep), grad=False)
case("odd", "LOGSUMEXP", lambda t: torch.logsumexp(t, 1), torch.tensor([[inf, 1.0], [-inf, -inf], [nan, 0.0], [-inf, 2.0], [1000.0, 1000.0]]), attr=(1, 1, 0, 0, 0), grad=False)
case("zero", "NORM", lambda t: torch.linalg.vector_norm(t, 2, 1), torch.tensor([[0.0, 0.0], [3.0, 4.0]]), attr=(1, 1, 0, 0, 0, 2))
case("zero 3", "NORM", lambda t: torch.linalg.vector_norm(t, 3, 1), torch.tensor([[0.0, 1.0], [3.0, 4.0]]), attr=(1, 1, 0, 0, 0, 3))
case("zero", "STD", lambda t: torch.std(t, 1), torch.tensor([[1.0, 1.0], [3.0, 4.0]]), attr=(1, 1, 0, 0, 0))
case("floats", "ANY", lambda t: torch.any(t, 1), torch.tensor([[0.0, -0.0], [nan, 0.0]]), attr=(1, 1, 0, 0, 0), grad=False)
case("empty", "ALL", lambda t: torch.all(t, 1), torch.ones(2, 0, dtype=torch.bool), attr=(1, 1, 0, 0, 0))
for axis in (0, 1, -1):
    x = rand(3, 4, 5)
    case(f"{axis}", "MAX_INDEX", lambda t: torch.max(t, axis)[1], x, attr=(axis,), grad=False)
    case(f"{axis}", "MAX_VALUE", lambda t: torch.max(t, axis)[0], x, attr=(axis,))
    case(f"{axis}", "MIN_INDEX", lambda t: torch.min(t, axis)[1], x, attr=(axis,), grad=False)
ties = torch.tensor([[1.0, 3.0, 3.0, 2.0, nan, 5.0, nan], [2.0, 1.0, 1.0, 2.0, 0.0, -inf, inf]])
for shape, axis in (((7,), 0), ((3, 8), 1), ((5, 3), 0), ((2, 5, 70), 1), ((2, 3, 4), -1), ((0, 3), 1), ((3, 0), 1), ((6, 40), 1)):
    x = rand(*shape)
    name = f"{shape}.{axis}"
    case(name, "CUMSUM", lambda t: torch.cumsum(t, axis), x, attr=(axis,))
    case(name, "CUMPROD", lambda t: torch.cumprod(t, axis), x, attr=(axis,))
    case(name, "LOGCUMSUMEXP", lambda t: torch.logcumsumexp(t, axis), x * 2, attr=(axis,))
    for kind, fn in (("CUMMAX", torch.cummax), ("CUMMIN", torch.cummin)):
        case(name, kind, lambda t: fn(t, axis)[0], x, attr=(axis,))
        case(name, kind + "_INDEX", lambda t: fn(t, axis)[1], x, attr=(axis,), grad=False)
for kind, fn in (("CUMMAX", torch.cummax), ("CUMMIN", torch.cummin)):
    case("ties", kind, lambda t: fn(t, 1)[0], ties, attr=(1,), grad=False)
    case("ties", kind + "_INDEX", lambda t: fn(t, 1)[1], ties, attr=(1,), grad=False)
case("zeros", "CUMPROD", lambda t: torch.cumprod(t, 1), torch.tensor([[2.0, 0.0, 3.0, 0.0, 5.0], [1.0, 2.0, 0.0, 4.0, 0.5], [0.0, 1.0, 2.0, 3.0, 4.0]]), attr=(1,))
case("ints", "CUMSUM", lambda t: torch.cumsum(t, 0), torch.randint(-9, 9, (30,), dtype=torch.int16), attr=(0,))
case("bool", "CUMSUM", lambda t: torch.cumsum(t, 0), torch.rand(30) < 0.5, attr=(0,))
case("odd", "LOGCUMSUMEXP", lambda t: torch.logcumsumexp(t, 1), torch.tensor([[-inf, -inf, 1.0, 2.0, 900.0, inf, 3.0], [0.0, nan, 1.0, 2.0, -inf, inf, 3.0]]), attr=(1,), grad=False)


def cumsum_with(t, axis, exclusive, reverse):
    t = t.flip(axis) if reverse else t
    y = torch.cumsum(t, axis) - (t if exclusive else 0)
    return y.flip(axis) if reverse else y


for ex in (0, 1):
    for rev in (0, 1):
        case(f"{ex}{rev}", "CUMSUM_WITH", lambda t: cumsum_with(t, 1, ex, rev), rand(2, 9, 3), attr=(1, ex, rev))

save("index.safetensors")
