"""Writes windows.safetensors: values and gradients of PyTorch's convolutions, poolings, padding and resizing, for tests/ops/test_windows.c. Made with
torch==2.13.0. Run: python make_windows.py (in this folder).

A case NAME has the tensors NAME/in0 ..., NAME/out, NAME/r and NAME/grad0 ..., as in cases.py, and NAME/attr: the kind, then lists of
three numbers, by dim and filled up with 0: kernel, stride, dilation, pad, pad_end, output_pad, outputs of an adaptive pooling; then groups,
whether there is a bias, ceil_mode, exclude_pad. PAD: pad and pad_end are the counts of all axes but the first two, the value is 1.5. FLIP: outputs
say which of those axes are flipped. Resizing: outputs.
"""
import torch
import torch.nn.functional as F

from cases import begin, inputs_of, put, rand, result, save

begin(17)
CONV, TRANSPOSED, MAX, AVG, ADAPTIVE_MAX, ADAPTIVE_AVG, PAD, FLIP, NEAREST, LINEAR, CORNERS = range(11)


def three(v, usual=0):
    v = list(v) if v else []
    return v + [usual] * (3 - len(v))


def case(name, kind, fn, inputs, kernel=None, stride=None, dilation=None, pad=None, pad_end=None, output_pad=None, out=None, groups=1, bias=False, ceil=False,
         exclude=False):
    lists = sum((three(v) for v in (kernel, stride, dilation, pad, pad_end, output_pad, out)), [])
    put(f"{name}/attr", torch.tensor([kind] + lists + [groups, bias, ceil, exclude]))
    xs = inputs_of(name, inputs)
    result(name, fn(*xs), xs)


convs = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
transposed = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}
max_pools = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
avg_pools = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def conv(name, x, w, stride, dilation, pad, groups=1, bias=False, pad_end=None):
    rank = len(x) - 2
    inputs = [rand(*x), rand(*w)] + ([rand(w[0])] if bias else [])

    def fn(t, k, b=None):
        if pad_end:  # after the symmetric padding
            t = F.pad(t, sum(([0, e] for e in reversed(pad_end)), []))
        return convs[rank](t, k, b, stride, pad, dilation, groups)

    case("conv." + name, CONV, fn, inputs, stride=stride, dilation=dilation, pad=pad, pad_end=pad_end, groups=groups, bias=bias)


#     name             x                  w              stride     dilation   padding
conv("1d",             (2, 3, 17),        (4, 3, 3),     (1,),      (1,),      (0,))
conv("1d.strided",     (2, 3, 17),        (4, 3, 4),     (3,),      (2,),      (5,), bias=True)
conv("plain",          (2, 1, 7, 9),      (5, 1, 3, 3),  (1, 1),    (1, 1),    (0, 0), bias=True)
conv("same",           (2, 3, 8, 8),      (4, 3, 3, 3),  (1, 1),    (1, 1),    (1, 1))
conv("strided",        (2, 3, 9, 8),      (4, 3, 3, 3),  (2, 2),    (1, 1),    (1, 1), bias=True)
conv("odd",            (1, 2, 11, 5),     (3, 2, 5, 2),  (3, 2),    (1, 1),    (2, 0))
conv("dilated",        (1, 2, 11, 12),    (3, 2, 3, 3),  (1, 2),    (3, 2),    (2, 4))
conv("stride over",    (1, 2, 10, 10),    (3, 2, 2, 1),  (3, 4),    (1, 1),    (0, 1))
conv("far padding",    (1, 1, 3, 4),      (2, 1, 2, 2),  (1, 1),    (1, 1),    (5, 4))
conv("one sided",      (1, 2, 6, 7),      (2, 2, 3, 3),  (2, 1),    (1, 1),    (0, 1), pad_end=(1, 2))
conv("pointwise",      (2, 5, 4, 4),      (6, 5, 1, 1),  (1, 1),    (1, 1),    (0, 0), bias=True)
conv("pointwise half", (2, 5, 5, 4),      (3, 5, 1, 1),  (2, 2),    (1, 1),    (0, 0))
conv("groups",         (2, 6, 5, 6),      (4, 3, 3, 2),  (1, 1),    (1, 1),    (1, 1), groups=2, bias=True)
conv("depthwise",      (2, 5, 6, 6),      (5, 1, 3, 3),  (1, 1),    (1, 1),    (1, 1), groups=5, bias=True)
conv("depthwise half", (1, 4, 9, 7),      (4, 1, 3, 3),  (2, 2),    (1, 1),    (1, 1), groups=4)
conv("multiplied",     (1, 3, 6, 6),      (6, 1, 3, 3),  (1, 1),    (1, 1),    (0, 0), groups=3)
conv("whole",          (2, 3, 4, 5),      (4, 3, 4, 5),  (1, 1),    (1, 1),    (0, 0))
conv("3d",             (1, 2, 4, 5, 6),   (3, 2, 2, 3, 2), (1, 1, 1), (1, 1, 1), (0, 1, 0), bias=True)
conv("3d strided",     (2, 2, 5, 5, 6),   (2, 2, 3, 2, 3), (2, 1, 2), (1, 2, 1), (1, 1, 1))
conv("empty batch",    (0, 3, 6, 6),      (4, 3, 3, 3),  (1, 1),    (1, 1),    (0, 0))


def conv_transpose(name, x, w, stride, dilation, pad, output_pad, groups=1, bias=False):
    rank = len(x) - 2
    inputs = [rand(*x), rand(*w)] + ([rand(w[1] * groups)] if bias else [])
    case("transposed." + name, TRANSPOSED, lambda t, k, b=None: transposed[rank](t, k, b, stride, pad, output_pad, groups, dilation), inputs, stride=stride,
         dilation=dilation, pad=pad, output_pad=output_pad, groups=groups, bias=bias)


conv_transpose("1d",      (2, 3, 7),       (3, 4, 3),       (2,),      (1,),      (1,),      (1,), bias=True)
conv_transpose("plain",   (2, 3, 4, 5),    (3, 2, 3, 3),    (1, 1),    (1, 1),    (0, 0),    (0, 0))
conv_transpose("double",  (1, 3, 4, 5),    (3, 2, 2, 2),    (2, 2),    (1, 1),    (0, 0),    (0, 0), bias=True)
conv_transpose("strided", (1, 2, 4, 3),    (2, 3, 3, 4),    (3, 2),    (1, 2),    (1, 2),    (2, 1))
conv_transpose("groups",  (1, 4, 4, 4),    (4, 2, 3, 3),    (2, 2),    (1, 1),    (1, 1),    (1, 1), groups=2)
conv_transpose("3d",      (1, 2, 3, 3, 2), (2, 2, 2, 2, 3), (2, 1, 2), (1, 1, 1), (0, 1, 1), (0, 0, 1))


def pool(name, x, kernel, stride, pad, dilation=None, ceil=False, exclude=False, avg=False):
    rank = len(x) - 2
    if avg:
        fn = lambda t: avg_pools[rank](t, kernel, stride, pad, ceil, not exclude)
    else:
        fn = lambda t: max_pools[rank](t, kernel, stride, pad, dilation or 1, ceil)
    case(("avg." if avg else "max.") + name, AVG if avg else MAX, fn, [rand(*x)], kernel=kernel, stride=stride, pad=pad, dilation=dilation, ceil=ceil,
         exclude=exclude)


for avg in (False, True):
    pool("half",    (2, 3, 6, 8),    (2, 2),    (2, 2),    (0, 0), avg=avg)
    pool("odd",     (1, 2, 7, 5),    (2, 2),    (2, 2),    (0, 0), avg=avg)
    pool("3 by 2",  (1, 2, 9, 8),    (3, 2),    (2, 3),    (1, 1), avg=avg)
    pool("overlap", (1, 2, 6, 7),    (3, 3),    (1, 1),    (1, 0), avg=avg)
    pool("ceil",    (1, 2, 7, 8),    (3, 3),    (2, 3),    (1, 0), ceil=True, avg=avg)
    pool("ceil 2",  (1, 1, 6, 5),    (2, 3),    (3, 3),    (1, 1), ceil=True, avg=avg)
    pool("1d",      (2, 2, 9),       (3,),      (2,),      (1,), avg=avg)
    pool("3d",      (1, 2, 4, 5, 4), (2, 2, 3), (2, 1, 1), (0, 1, 1), avg=avg)
pool("exclude", (1, 2, 7, 8), (3, 3), (2, 2), (1, 1), exclude=True, avg=True)
pool("exclude ceil", (1, 2, 8, 8), (3, 3), (2, 2), (1, 1), exclude=True, ceil=True, avg=True)
pool("dilated", (1, 2, 9, 10), (2, 3), (2, 1), (1, 1), dilation=(3, 2))
for out in ((1, 1), (3, 5), (7, 4), (2, 2)):
    x = [rand(2, 2, 7, 5)]
    case("adaptive max %dx%d" % out, ADAPTIVE_MAX, lambda t: F.adaptive_max_pool2d(t, out), x, out=out)
    case("adaptive avg %dx%d" % out, ADAPTIVE_AVG, lambda t: F.adaptive_avg_pool2d(t, out), x, out=out)
case("adaptive avg 1d", ADAPTIVE_AVG, lambda t: F.adaptive_avg_pool1d(t, 3), [rand(1, 2, 8)], out=(3,))
case("adaptive avg 3d", ADAPTIVE_AVG, lambda t: F.adaptive_avg_pool3d(t, (2, 1, 3)), [rand(1, 2, 3, 4, 5)], out=(2, 1, 3))

# Appended, so that the numbers above stay.
conv("empty batch 1d", (0, 2, 9), (4, 1, 3), (2,), (1,), (4,), groups=2, bias=True)
conv("kernel of 1 far away", (1, 2, 3, 3), (2, 2, 1, 1), (2, 2), (1, 1), (3, 4), bias=True)
conv("1d groups dilated", (2, 4, 13), (6, 2, 3), (1,), (4,), (7,), groups=2, bias=True)
conv("3d groups dilated", (1, 4, 5, 7, 3), (4, 2, 2, 3, 1), (1, 2, 1), (2, 1, 1), (2, 3, 1), groups=2, bias=True)
conv("3d depthwise", (2, 3, 3, 5, 7), (3, 1, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), groups=3)
conv_transpose("1d far", (2, 3, 5), (3, 2, 2), (1,), (1,), (1,), (0,))
conv_transpose("1d groups dilated", (1, 4, 5), (4, 3, 3), (3,), (2,), (2,), (1,), groups=2, bias=True)
conv_transpose("depthwise odd", (2, 3, 5, 7), (3, 1, 3, 5), (2, 3), (1, 1), (1, 2), (1, 0), groups=3, bias=True)
conv_transpose("3d groups", (2, 4, 2, 3, 3), (4, 1, 3, 2, 3), (1, 2, 2), (2, 1, 1), (1, 0, 1), (0, 1, 1), groups=2, bias=True)
conv_transpose("empty batch", (0, 3, 4, 5), (3, 2, 3, 3), (2, 2), (1, 1), (1, 1), (1, 1), bias=True)
case("adaptive avg empty batch", ADAPTIVE_AVG, lambda t: F.adaptive_avg_pool2d(t, (2, 3)), [rand(0, 2, 5, 7)], out=(2, 3))
pool("empty batch", (0, 2, 7, 5), (2, 3), (2, 2), (1, 1))
pool("empty batch", (0, 2, 7, 5), (2, 3), (2, 2), (1, 1), avg=True)


def pad(name, x, before, after):
    both = sum(([b, a] for b, a in zip(reversed(before), reversed(after))), [])
    case("pad." + name, PAD, lambda t: F.pad(t, both, value=1.5), [rand(*x)], pad=before, pad_end=after)


pad("1d",      (2, 3, 4),       (2,),      (0,))
pad("2d",      (2, 1, 3, 4),    (1, 2),    (0, 3))
pad("crop",    (1, 2, 5, 6),    (-1, 0),   (-2, -3))
pad("shift",   (1, 2, 5, 6),    (-2, 3),   (4, -5))
pad("all",     (1, 2, 3, 2),    (-1, 1),   (-2, 0))
pad("3d",      (1, 2, 2, 3, 4), (1, 0, 2), (0, 0, -1))
pad("nothing", (2, 2, 3),       (0,),      (0,))
pad("batch",   (0, 2, 3),       (1,),      (1,))
case("flip.1d", FLIP, lambda t: t.flip(2), [rand(2, 2, 5)], out=(1,))
case("flip.2d", FLIP, lambda t: t.flip(2, 3), [rand(1, 2, 3, 4)], out=(1, 1))
case("flip.3d", FLIP, lambda t: t.flip(2, 4), [rand(1, 2, 3, 2, 4)], out=(1, 0, 1))
case("flip.batch", FLIP, lambda t: t.flip(2), [rand(0, 2, 5)], out=(1,))
modes = {1: "linear", 2: "bilinear", 3: "trilinear"}
for x, out in [((2, 3, 5), (8,)), ((2, 1, 7), (3,)), ((1, 2, 4, 5), (8, 10)), ((2, 1, 7, 9), (3, 4)), ((1, 2, 3, 8), (7, 5)), ((1, 1, 1, 6), (4, 1)),
               ((2, 2, 5, 3), (5, 4)), ((1, 2, 2, 3, 4), (5, 3, 2)), ((0, 2, 3, 4), (2, 8)), ((1, 1, 5, 7), (11, 13))]:
    tag = "x".join(map(str, x)) + " to " + "x".join(map(str, out))
    case("nearest." + tag, NEAREST, lambda t: F.interpolate(t, out, mode="nearest"), [rand(*x)], out=out)
    for kind, corners in ((LINEAR, False), (CORNERS, True)):
        case(("corners." if corners else "linear.") + tag, kind, lambda t: F.interpolate(t, out, mode=modes[len(out)], align_corners=corners), [rand(*x)], out=out)

save("windows.safetensors")
