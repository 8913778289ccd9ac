"""Writes ops.safetensors: values and gradients of PyTorch's ops, for tests/ops/test_values.c. Made with torch==2.13.0.
Run: python make_ops.py (in this folder).

The layout of a case is in cases.py.
"""
import torch
import torch.nn.functional as F

from cases import begin, case, put, rand, save

begin(9)


inf, nan = float("inf"), float("nan")


def booleans(*shape):
    return torch.rand(*shape) < 0.5


# ---- reductions -------------------------------------------------------------------------------------------------------------------
x = rand(3, 4, 5)
sets = {"all": (0, 1, 2), "0": (0,), "1": (1,), "2": (2,), "02": (0, 2), "12": (1, 2)}


def prod(t, axes, keepdim):
    for a in sorted(axes, reverse=True):
        t = t.prod(a, keepdim=keepdim)
    return t


for key, axes in sets.items():
    for keep in (False, True):
        tag = f".{key}.keep" if keep else f".{key}"
        if keep and key not in ("1", "02"):
            continue
        case("sum" + tag, lambda t: t.sum(axes, keepdim=keep), x)
        case("mean" + tag, lambda t: t.mean(axes, keepdim=keep), x)
        case("prod" + tag, lambda t: prod(t, axes, keep), x)
        case("max" + tag, lambda t: t.amax(axes, keepdim=keep), x)
        case("min" + tag, lambda t: t.amin(axes, keepdim=keep), x)
        case("var" + tag, lambda t: t.var(axes, correction=1, keepdim=keep), x)
case("var.biased", lambda t: t.var((1, 2), correction=0), x)
for a in (0, 1, 2):
    case(f"argmax.{a}", lambda t: t.argmax(a), x, grad=False)
    case(f"argmin.{a}", lambda t: t.argmin(a), x, grad=False)
equal = torch.tensor([[2.0, 2.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 3.0, 3.0]])
case("max.ties", lambda t: t.amax(1), equal)
case("min.ties", lambda t: t.amin((0, 1)), equal)
case("prod.zeros", lambda t: prod(t, (1,), False), torch.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.5, -2.0, 4.0]]))
holes = torch.tensor([[1.0, nan, 3.0], [inf, 2.0, -inf], [4.0, -inf, 4.0]])
case("max.nan", lambda t: t.amax(1), holes, grad=False)
case("min.nan", lambda t: t.amin(0), holes, grad=False)
case("sum.nan", lambda t: t.sum(1), holes, grad=False)
case("argmax.nan", lambda t: t.argmax(1), holes, grad=False)
case("argmin.nan", lambda t: t.argmin(1), holes, grad=False)
case("sum.int", lambda t: t.sum(1), torch.tensor([[2**31 - 1, 1], [-5, 2]], dtype=torch.int32), grad=False)
case("sum.u8", lambda t: t.sum(0), torch.tensor([[200, 255], [100, 255]], dtype=torch.uint8), grad=False)
case("sum.bool", lambda t: t.sum(), booleans(3, 4), grad=False)
case("prod.int", lambda t: t.prod(1), torch.tensor([[70000, 70000], [-5, 2]], dtype=torch.int32), grad=False)
case("max.int", lambda t: t.amax(1), torch.tensor([[3, -7, 3], [-5, -2, -9]], dtype=torch.int32), grad=False)

# ---- products -----------------------------------------------------------------------------------------------------------------------
for key, a, b in [("2d", (4, 5), (5, 3)), ("batch", (2, 4, 5), (2, 5, 3)), ("broadcast", (2, 1, 4, 5), (3, 5, 2)), ("shared", (3, 4, 5), (5, 6)),
                  ("dot", (7,), (7,)), ("vector", (3, 4), (4,)), ("row", (4,), (4, 3)), ("batch_vector", (2, 3, 4), (4,)),
                  ("row_batch", (4,), (2, 4, 3)), ("one", (1, 1), (1, 1))]:
    case("matmul." + key, torch.matmul, rand(*a), rand(*b))
case("matmul.transposed", lambda a, b: a.transpose(0, 1) @ b.transpose(0, 1), rand(5, 4), rand(3, 5))
case("matmul.sliced", lambda a, b: a[::2, 1:] @ b[:, ::3], rand(5, 4), rand(3, 7))
case("linear", F.linear, rand(2, 3, 4), rand(5, 4), rand(5))
case("linear.plain", lambda t, w: F.linear(t, w), rand(3, 4), rand(5, 4))

# ---- normalisation --------------------------------------------------------------------------------------------------------------------
for a in (0, 1, 2):
    case(f"softmax.{a}", lambda t: F.softmax(t, a), x * 3)
    case(f"log_softmax.{a}", lambda t: F.log_softmax(t, a), x * 3)
big = torch.tensor([[1000.0, 1001.0, 999.0], [-1000.0, 0.0, 5.0], [-inf, 1.0, 2.0]])
case("softmax.large", lambda t: F.softmax(t, 1), big, grad=False)
case("log_softmax.large", lambda t: F.log_softmax(t, 1), big, grad=False)
case("layer_norm.plain", lambda t: F.layer_norm(t, (5,), eps=1e-5), rand(2, 3, 5))
case("layer_norm.weight", lambda t, w: F.layer_norm(t, (5,), w, eps=1e-5), rand(4, 5), rand(5))
case("layer_norm.bias", lambda t, b: F.layer_norm(t, (5,), None, b, eps=1e-5), rand(4, 5), rand(5))
case("layer_norm.both", lambda t, w, b: F.layer_norm(t, (5,), w, b, eps=1e-3), rand(4, 5), rand(5), rand(5))
for key, shape in [("2d", (6, 3)), ("4d", (2, 3, 4, 2))]:
    case("batch_norm." + key, lambda t, m, v, w, b: F.batch_norm(t, m.detach(), v.detach(), w, b, training=False, eps=1e-5), rand(*shape), rand(3),
         rand(3, lo=0.2, hi=2), rand(3), rand(3))
case("batch_norm.plain", lambda t, m, v: F.batch_norm(t, m.detach(), v.detach(), training=False, eps=1e-3), rand(5, 3), rand(3), rand(3, lo=0.2, hi=2))

# ---- indexing, joining ------------------------------------------------------------------------------------------------------------------
index = torch.tensor([[3, 0], [1, -1], [3, -4]])
for a, n in ((0, 4), (1, 5), (2, 6)):
    t = rand(4, 5, 6)
    case(f"gather.{a}", lambda u, i: u.index_select(a, (i % n).flatten()).unflatten(a, (3, 2)), t, index)
case("gather.scalar", lambda u, i: u[i], rand(4, 3), torch.tensor(2))
case("index_select", lambda u, i: u.index_select(0, i), rand(5, 2), torch.tensor([4, 4, 0]))
case("scatter_add.0", lambda u, i, s: u.index_add(0, i, s), rand(4, 3), torch.tensor([1, 1, 3, 0, 1]), rand(5, 3))
case("scatter_add.1", lambda u, i, s: u.index_add(1, i % 3, s), rand(2, 3), torch.tensor([-1, 0, 2]), rand(2, 3))
case("one_hot", lambda i: F.one_hot(i, 5), torch.tensor([[0, 4], [2, 2]]))
case("concat.0", lambda *t: torch.cat(t, 0), rand(1, 3), rand(0, 3), rand(4, 3))
case("concat.1", lambda *t: torch.cat(t, -1), rand(2, 2), rand(2, 3))

# ---- losses -------------------------------------------------------------------------------------------------------------------------------
labels = torch.tensor([3, 0, 1, 1, 2, 3])
case("cross_entropy", lambda t, i: F.cross_entropy(t, i), rand(6, 4, lo=-3, hi=3), labels)
case("cross_entropy.rows", lambda t, i: F.cross_entropy(t, i, reduction="none"), rand(6, 4, lo=-90, hi=90), labels)
case("mse", F.mse_loss, rand(3, 4), rand(3, 4))

# ---- views ----------------------------------------------------------------------------------------------------------------------------------
case("reshape", lambda t: t.reshape(5, 12), x)
case("flatten", lambda t: t.flatten(1), x)
case("permute", lambda t: t.permute(2, 0, 1), x)
case("transpose", lambda t: t.transpose(0, 2), x)
case("slice", lambda t: t[:, 1:4:2], x)
case("slice.back", lambda t: t.flip(2)[:, :, ::2], x)
case("expand", lambda t: t.expand(3, 2, 4), rand(2, 1))
case("squeeze", lambda t: t.squeeze(1).unsqueeze(0), rand(3, 1, 2))
for k in (-2, 0, 1, 9):
    case(f"diagonal.{k}", lambda t: t.diagonal(k, 0, 2), rand(3, 4, 5))
case("views", lambda t: t.permute(2, 0, 1)[::2].reshape(9, 4)[1:, :3].t(), x)

# ---- casts: every pair of dtypes, on values where PyTorch defines the result ------------------------------------------------------------------
dtypes = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i8": torch.int8, "i16": torch.int16,
          "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
          "bool": torch.bool}
reals = [0.0, -0.0, 1.0, -1.0, 0.5, -0.75, 2.75, 100.25, -100.25, 127.0, -128.0, 255.0, 300.5, -3000.0, 65504.0, 70000.0, -2147483648.0,
         4294967296.0, 1e17, 1e-3, 1e-7, 1 / 3, 1.0009765625, 1.00390625, 1e30, 1e300, inf, -inf, nan]
wholes = [0, 1, -1, 5, 127, 128, -128, 200, 255, 256, -300, 2047, 2049, 4099, 32767, 32768, 65535, 65536, 16777217, 2**31 - 1, 2**31, -2**31,
          2**32 - 1, 2**53 + 1, 2**62 + 12345, 2**63 - 1, -2**63, 2**63, 2**64 - 1]


def limits(t):
    return (0, 1) if t == torch.bool else (torch.iinfo(t).min, torch.iinfo(t).max)


for sn, st in dtypes.items():
    if st.is_floating_point:
        values = torch.tensor(reals, dtype=torch.float64).to(torch.float32 if st in (torch.float16, torch.bfloat16) else st).to(st)
    else:
        lo, hi = limits(st)
        values = torch.tensor([v for v in wholes if lo <= v <= hi], dtype=st)
    for dn, dt in dtypes.items():
        v = values
        if st.is_floating_point and not dt.is_floating_point and dt != torch.bool:
            lo, hi = limits(dt)
            v = torch.stack([e for e in v if torch.isfinite(e) and lo <= int(e) <= hi])
        put(f"cast.{sn}.{dn}/in", v, as_is=True)
        put(f"cast.{sn}.{dn}/out", v.to(dt), as_is=True)

save("ops.safetensors", metadata={"made_by": "make_ops.py", "torch": "2.13.0"})
