"""Writes format.txt: NumPy's str() of arrays, for tests/exec/test_format.c. Made with numpy==2.4.6.
Run: python make_format.py > format.txt

A case is a line "DTYPE VIEW RANK DIM ... COUNT BITS ..." and the text, each line of it after a "|". BITS are the
elements in hexadecimal, row-major, repeated from the first where COUNT is less than the array holds. VIEW says what is
printed of the array x: "plain": x; "transposed": its axes reversed; "reversed": every second element of the last axis,
from the end; "expanded": three times x, on a new first axis.

NumPy has no bf16: Wick prints it as the same values in f32, so those texts are of float32.
"""
import numpy as np

assert np.__version__ == "2.4.6", np.__version__
np.seterr(all="ignore")  # values go through dtypes that are too small for them
SIGNED, UNSIGNED, FLOAT = ["i8", "i16", "i32", "i64"], ["u8", "u16", "u32", "u64"], ["f16", "f32", "f64", "bf16"]
TYPES = {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": "f4", "bool": "?"}
TYPES.update({name: name[0] + str(int(name[1:]) // 8) for name in SIGNED + UNSIGNED})
VIEWS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[..., ::-2],
    "expanded": lambda x: np.broadcast_to(x, (3, *x.shape)),
}
nan, inf = float("nan"), float("inf")


def case(dtype, values, *shape, view="plain"):
    values = np.array(values).astype(TYPES[dtype]).reshape(-1)
    bits = values.view(f"u{values.itemsize}")
    if dtype == "bf16":
        bits = bits >> 16
        values = (bits << 16).view("f4")  # what bf16 holds of them
    head = [dtype, view, len(shape), *shape, len(bits)] + ["%x" % b for b in bits.tolist()]
    print(*head)
    for line in str(VIEWS[view](np.resize(values, shape))).split("\n"):
        print("|" + line)


def some_shapes(dtype, values):
    case(dtype, values[:1])
    case(dtype, values[-1:], 1)
    case(dtype, values, len(values))
    case(dtype, values, 3, 4, view="reversed")
    case(dtype, [], 0)
    case(dtype, values[1:4], 1001)


def every_shape(dtype, values):
    some_shapes(dtype, values)
    case(dtype, values, 2, 1, 3)
    for view in VIEWS:
        case(dtype, values, 3, 2, view=view)
    for shape in [(2, 0, 3), (0, 4)]:
        case(dtype, [], *shape)
    case(dtype, values[:4], 25)


print("# numpy", np.__version__, "make_format.py")

# ---- every dtype: shapes, views, lines that wrap, arrays that are summarised ----
case("bool", [True])
every_shape("bool", [False, True, True, False, True])
case("bool", [True], 2, 3)  # no False: as wide as if there were
for name in SIGNED + UNSIGNED:
    info = np.iinfo(TYPES[name])
    shapes = every_shape if name in ["i32", "u8"] else some_shapes
    shapes(name, np.array([info.max, 0, 7, info.min, 12, 100, 1], TYPES[name]))
for name in FLOAT:
    every_shape(name, [0.1, -2, 3.25, 1 / 3, 0.75, 1, 100])

# ---- layout ----
case("i32", [1, -20, 300], 2, 2, 2, 2, 2)
case("i8", [-1], *[1] * 8)
case("i8", [1, 2, 3], 2, 1, 2, 1, 2, 1, 2, 2)
case("f32", [1.5, 1, -2], 30, view="transposed")
case("f32", [1, 1.5, 2.25, 2], 2, 2, 30)  # padding goes where a line ends
case("f64", [1 / 3, 2], 1, 1, 1, 12)
case("bool", [True], 8, 125)  # the longest array that is not summarised
case("bool", [True], 7, 143)
for n in range(35, 39):  # lines that end within, at and after column 75
    case("u8", [1], n)
    case("u8", [1], 1, 1, n)
case("i64", [-(2**63), 2**63 - 1], 7)
case("u64", [2**64 - 1, 2**63, 0], 7)
for shape in [(6, 170), (7, 170), (170, 6), (170, 7), (11, 2, 50), (2, 1200), (1200, 1), (7, 5, 6, 5)]:
    case("i16", [1, -20, 300, 4, 5], *shape)
case("f32", [1.5, 1000, 2, 3, 4, 5, 6], 12, 100, view="transposed")
case("f16", [1, 2, 3] + [6e4] * 85 + [4, 5, 6], 11, 91)  # what is not shown has no say in the format
case("f64", [1, 2, 3, 1.25e-9], 1001)

# ---- special values, and where the scientific form begins ----
FLOATS = [
    [-0.0], [0, -0.0], [nan], [inf], [-inf], [nan, inf], [inf, -inf], [nan, 1], [inf, 1], [-inf, 1], [-inf, 1.25],
    [nan, -100.5], [nan, inf, -inf, 0, -0.0, 1.5, -100.25], [1e-7, nan, -inf], [-1e-7, inf], [6e-8, 1e-45, 5e-324],
    [5e-324], [1e-45], [6e-8], [65504], [3.4028234663852886e38], [1.7976931348623157e308], [1e300, -1e-300, 1, nan],
    [1e100, 1], [1e30, 1e-30, 0.1], [1e-4], [9.999e-5], [1e-4, 0.05], [1e-4, 0.1], [1e-4, 0.2], [0.3, 300],
    [0.3, 300.1], [0.3, 301], [1, 999.5], [1, 1000], [1, 1000.5], [999.5], [1000], [999999], [999999.5, 1e5], [1e6],
    [1e6, 1e5], [16777216], [99999999, 1e6], [1e8, 1e6], [123456789], [1e15], [9999999999999998], [1e16], [1e23],
    [1 / 3], [1 / 3, 1 / 3e10], [0.1, 1234], [0.1, 2000], [0.999999996, 0.5], [9.999999996, 1], [0.123456785, 2.5],
    [1.00000001, 2], [33554432.25, 1e7], [2**-9, 2**-12, 0.5], [2**-13, 2**-10],
]
for name in ["f16", "f32", "f64"]:
    for values in FLOATS:
        if len(values) == 1:
            case(name, values)
        case(name, values, len(values))
# Above a power of two the gap to the next number is twice that below.
case("f16", 2.0 ** np.arange(-24, 16), 40)
POWERS = {"f16": range(-24, 16), "f32": range(-149, 128, 9), "f64": [-1074, -1022, -44, -24, 89, 122, 1023]}
for name, powers in POWERS.items():
    for k in powers:
        case(name, [2.0**k])

# ---- random values ----
for name in FLOAT:
    for seed in range(1 if name == "bf16" else 3):
        r = np.random.default_rng(seed)
        case(name, r.normal(size=12), 3, 4)
        case(name, r.normal(size=5) * 1000, 5)
        case(name, r.uniform(0, 1, 20).round(seed + 1), 20)
        case(name, r.normal(size=6) * 10.0 ** r.integers(-12, 12, 6), 2, 3)
        for value in r.normal(size=3) * 10.0 ** r.integers(-5, 5, 3):
            case(name, [value])
for name in SIGNED + UNSIGNED:
    for seed in range(2):
        r, info = np.random.default_rng(seed), np.iinfo(TYPES[name])
        case(name, r.integers(info.min, info.max, 6, dtype=TYPES[name], endpoint=True), 2, 3)
