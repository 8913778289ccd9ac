"""Writes elementwise.safetensors: values and gradients of PyTorch's elementwise ops, for tests/ops/test_elementwise.c. Made with torch==2.13.0.
Run: python make_elementwise.py (in this folder). The layout of a case is in cases.py.
"""
import mpmath as mp
import torch
import torch.nn.functional as F

from cases import begin, case, rand, save

begin(9)


inf, nan = float("inf"), float("nan")


def booleans(*shape):
    return torch.rand(*shape) < 0.5


# ---- the elementwise table: one entry per row; the domain is where the row is smooth -----------------------------------------------
unary = {
    "neg": (torch.neg, -4, 4), "abs": (torch.abs, -4, 4), "sign": (torch.sign, -4, 4), "square": (torch.square, -4, 4),
    "sqrt": (torch.sqrt, 0.01, 4), "rsqrt": (torch.rsqrt, 0.01, 4), "reciprocal": (torch.reciprocal, 0.1, 4), "exp": (torch.exp, -9, 9),
    "expm1": (torch.expm1, -2, 2), "log": (torch.log, 0.01, 9), "log1p": (torch.log1p, -0.9, 9), "sin": (torch.sin, -9, 9),
    "cos": (torch.cos, -9, 9), "tanh": (torch.tanh, -4, 4), "erf": (torch.erf, -3, 3), "sigmoid": (torch.sigmoid, -9, 9),
    "softplus": (lambda x: F.softplus(x, threshold=1e9), -9, 9), "relu": (torch.relu, -2, 2), "gelu": (F.gelu, -4, 4), "silu": (F.silu, -9, 9),
    "floor": (torch.floor, -4, 4), "ceil": (torch.ceil, -4, 4), "round": (torch.round, -4, 4), "isfinite": (torch.isfinite, -4, 4),
    "logical_not": (torch.logical_not, None, None), "exp2": (torch.exp2, -9, 9), "log2": (torch.log2, 0.01, 9), "log10": (torch.log10, 0.01, 9),
    "cbrt": (lambda x: x.sign() * x.abs() ** (1 / 3), 0.3, 9), "tan": (torch.tan, -1.4, 1.4), "asin": (torch.asin, -0.95, 0.95),
    "acos": (torch.acos, -0.95, 0.95), "atan": (torch.atan, -4, 4), "sinh": (torch.sinh, -4, 4), "cosh": (torch.cosh, -4, 4),
    "asinh": (torch.asinh, -4, 4), "acosh": (torch.acosh, 1.1, 4), "atanh": (torch.atanh, -0.95, 0.95), "erfc": (torch.erfc, -3, 3),
    "erfinv": (torch.erfinv, -0.95, 0.95), "lgamma": (torch.lgamma, 0.2, 9), "digamma": (torch.digamma, 0.2, 9),
    "logsigmoid": (F.logsigmoid, -9, 9), "hardsigmoid": (lambda x: F.relu6(x + 3) / 6, -4, 4), "relu6": (F.relu6, -3, 9), "selu": (F.selu, -4, 4),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), -4, 4), "mish": (F.mish, -9, 9), "hardswish": (F.hardswish, -4, 4),
    "softsign": (F.softsign, -4, 4), "trunc": (torch.trunc, -4, 4), "frac": (torch.frac, -4, 4), "isnan": (torch.isnan, -4, 4),
    "isinf": (torch.isinf, -4, 4), "signbit": (torch.signbit, -4, 4),
}
binary = {
    "add": (torch.add, -4, 4), "sub": (torch.sub, -4, 4), "mul": (torch.mul, -4, 4), "div": (torch.div, 0.3, 4), "pow": (torch.pow, 0.2, 3),
    "maximum": (torch.maximum, -2, 2), "minimum": (torch.minimum, -2, 2), "eq": (torch.eq, -2, 2), "ne": (torch.ne, -2, 2),
    "lt": (torch.lt, -2, 2), "le": (torch.le, -2, 2), "gt": (torch.gt, -2, 2), "ge": (torch.ge, -2, 2),
    "logical_and": (torch.logical_and, None, None), "logical_or": (torch.logical_or, None, None),
    "logical_xor": (torch.logical_xor, None, None), "floor_divide": (torch.floor_divide, -4, 4),
    "trunc_divide": (lambda a, b: torch.div(a, b, rounding_mode="trunc"), -4, 4), "remainder": (torch.remainder, -4, 4), "fmod": (torch.fmod, -4, 4),
    "fmax": (torch.fmax, -2, 2), "fmin": (torch.fmin, -2, 2), "hypot": (torch.hypot, -4, 4), "atan2": (torch.atan2, -4, 4),
    "copysign": (torch.copysign, -4, 4), "xlogy": (torch.xlogy, 0.2, 4), "logaddexp": (torch.logaddexp, -9, 9),
    "prelu": (lambda a, b: torch.where(a > 0, a, a * b), -4, 4),
}
integers = {
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor, "left_shift": torch.bitwise_left_shift,
    "right_shift": torch.bitwise_right_shift,
}
odd = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 1e30, -1e30, 1e-30, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -3.0, 88.0, 90.0, -90.0,
                    1000.0, -1000.0, 12345.678, 16777217.0])
# Wick keeps NaN in sign, where PyTorch says 0; its sine, cosine and tangent are good to 2^30.
without = {"sign": odd[1:], "sin": torch.where(odd.abs() == 1e30, 1e6, odd), "cos": torch.where(odd.abs() == 1e30, 1e6, odd), "tan": torch.where(odd.abs() == 1e30, 1e6, odd)}
pairs = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5, 1e30])
bools = torch.tensor([False, True, True, False])


for name, (fn, lo, hi) in unary.items():
    if lo is None:
        case(name, fn, booleans(6))
        continue
    case(name, fn, rand(3, 5, lo=lo, hi=hi), grad=name != "digamma")  # whose gradient PyTorch has to 1e-10 only
    case(name + ".odd", fn if name != "softplus" else F.softplus, without.get(name, odd), grad=False)
for name, (fn, lo, hi) in binary.items():
    if lo is None:
        case(name, fn, booleans(3, 4), booleans(4))
        continue
    a, b = rand(3, 1, 4, lo=lo, hi=hi), rand(2, 4, lo=lo, hi=hi)
    if name in ("eq", "ne", "le", "ge", "lt", "gt"):
        a, b = a.round(), b.round()
    case(name, fn, a, b, grad=name != "floor_divide")  # for which PyTorch lacks it
    case(name + ".odd", fn, pairs[:, None], pairs[None, :], grad=False)
case("where", torch.where, booleans(3, 1, 4), rand(2, 4), rand(3, 2, 1))
ties = torch.tensor([1.0, -2.0, 0.0, 3.0])
case("maximum.ties", torch.maximum, ties, ties.clone())
case("minimum.ties", torch.minimum, ties, ties.clone())

# ---- integers and bools, three inputs ------------------------------------------------------------------------------------------------
ints, counts = torch.randint(-1000, 1000, (3, 1, 5)), torch.randint(0, 12, (4, 5))
for name, fn in integers.items():
    case(name, fn, ints, counts, grad=False)
    case(name + ".i8", fn, ints.to(torch.int8), counts.to(torch.int8) % 8, grad=False)
    if name.startswith("bitwise"):
        case(name + ".bool", fn, booleans(4), booleans(3, 1), grad=False)
case("bitwise_not", torch.bitwise_not, ints, grad=False)
case("bitwise_not.u8", torch.bitwise_not, ints.to(torch.uint8), grad=False)
case("bitwise_not.bool", torch.bitwise_not, bools, grad=False)
divisors = torch.tensor([1, -1, 3, -3, 7, -7, 100])
for name in ("floor_divide", "trunc_divide", "remainder", "fmod"):
    case(name + ".int", binary[name][0], ints.reshape(15, 1), divisors, grad=False)
    case(name + ".i32", binary[name][0], ints.reshape(15, 1).int(), divisors.int(), grad=False)
    case(name + ".u8", binary[name][0], ints.reshape(15, 1).to(torch.uint8), divisors.abs().to(torch.uint8), grad=False)
a, lo, hi = rand(3, 4, lo=-4, hi=4), rand(4, lo=-3, hi=0), rand(3, 1, lo=-1, hi=3)
case("clamp", torch.clamp, a, lo, hi)
case("clamp.int", torch.clamp, ints, torch.tensor(-100), torch.tensor(500), grad=False)
case("lerp", torch.lerp, a, rand(4), rand(3, 4, lo=-0.5, hi=1.5))
case("scaled_elu", lambda x, b, c: torch.where(x > 0, x, b * torch.expm1(x * c)), a, rand(4, lo=0.5), rand(3, 1, lo=0.5))
case("polygamma", lambda n, x: torch.polygamma(2, x) + 0 * n, torch.full((2, 4), 2.0), rand(2, 4, lo=0.3, hi=9))
case("polygamma.1", lambda n, x: torch.special.zeta(n + 1, x), torch.full((2, 4), 1.0), rand(2, 4, lo=0.3, hi=9), grad=False)
case("fmax.ties", torch.fmax, ties, ties.clone())
case("fmin.ties", torch.fmin, ties, ties.clone())
case("copysign.zero", torch.copysign, torch.tensor([0.0, -0.0, 2.0, -2.0]), torch.tensor([1.0, -1.0, -1.0, 1.0]))
case("lgamma.left", torch.lgamma, rand(12, lo=-6, hi=0.3))
case("digamma.left", torch.digamma, rand(12, lo=-6, hi=0.3), grad=False)

# ---- functions of wick/pointwise.h ------------------------------------------------------------------------------------------------------
x, y, z = rand(3, 4, lo=-4, hi=4), rand(4), rand(3, 1, lo=0.5)
whole = torch.arange(-4, 5)
edges = torch.tensor([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0])
for tag, t, g in (("", x, True), (".odd", edges, False)):
    case("clip" + tag, lambda v: v.clamp(-1, 1.5), t, grad=g)
    case("clip.low" + tag, lambda v: v.clamp(min=-1), t, grad=g)
    case("threshold" + tag, lambda v: F.threshold(v, 0.1, 20), t, grad=g)
    case("leaky_relu" + tag, lambda v: F.leaky_relu(v, 0.1), t, grad=g)
    case("elu" + tag, lambda v: F.elu(v, 1.5), t, grad=g)
    case("celu" + tag, lambda v: F.celu(v, 1.5), t, grad=g)
    case("softplus_beta" + tag, lambda v: F.softplus(v, 2, 1e9), t, grad=g)
    case("softshrink" + tag, lambda v: F.softshrink(v, 0.5), t[t == t] if tag else t, grad=g)
    case("hardshrink" + tag, lambda v: F.hardshrink(v, 0.5), t, grad=g)
    case("tanhshrink" + tag, F.tanhshrink, t, grad=g)
    case("nan_to_num" + tag, lambda v: torch.nan_to_num(v, 1, 2, -3), t, grad=g)
case("clip.int", lambda v: v.clamp(-2, 3), whole, grad=False)
case("glu", lambda v: F.glu(v, 1), x)
case("logit", lambda v: torch.logit(v, 0.1), rand(12, lo=0, hi=1))
case("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), x, y, z)
case("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), x, y, z)
case("isclose", lambda a, b: torch.isclose(a, b, rtol=1e-2, atol=1e-3), torch.tensor([1.0, 1.0, 0.0, inf, inf, nan, 1.0]),
     torch.tensor([1.005, 1.02, 5e-4, inf, -inf, nan, inf]), grad=False)

# ---- rows that came later (numbers are drawn in order) ------------------------------------------------------------------------------------
a, b = rand(3, 1, 4, lo=-4, hi=4), rand(2, 4, lo=0.2, hi=2)
case("nextafter", torch.nextafter, a, b, grad=False)
case("soft_threshold", lambda x, y: torch.where(x > y, x - y, torch.where(x < -y, x + y, 0 * x)), a, b)
case("hard_threshold", lambda x, y: torch.where((x > y) | (x < -y), x, 0 * x), a, b)
case("hard_threshold.odd", lambda x, y: torch.where(x.abs() <= y, torch.zeros_like(x), x), edges[:, None], edges[4:].abs()[None, :], grad=False)
case("replace_nan", lambda x, y: torch.where(torch.isnan(x), y, x), torch.where(a > 1, nan, a), b)
case("replace_inf", lambda x, y, z: torch.where(x == inf, y, torch.where(x == -inf, z, x)), torch.where(a > 1, inf, torch.where(a < -1, -inf, a)), b, -b)


def implicit(a, x):
    """-(dP(a, x) / da) / p(x), P the incomplete gamma function, p its derivative by x: torch._standard_gamma_grad has 3 digits of it."""
    a, x = mp.mpf(a), mp.mpf(x)
    return -mp.diff(lambda t: mp.gammainc(t, 0, x, regularized=True), a) / mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


mp.mp.dps = 40
shape, draw = torch.tensor([0.3, 1.0, 2.5, 8.0, 40.0]), torch.tensor([0.1, 1.5, 2.0, 9.5, 35.0])
case("gamma_slope", lambda a, x: torch.tensor([float(implicit(*v)) for v in zip(a.tolist(), x.tolist())], dtype=torch.float64), shape, draw, grad=False)

save("elementwise.safetensors", metadata={"made_by": "make_elementwise.py", "torch": "2.13.0"})
