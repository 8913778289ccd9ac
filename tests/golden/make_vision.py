"""Writes vision.safetensors: windows, unpooling, resizing, sampling and boxes of PyTorch, onnxruntime and ONNX's reference, for tests/ops/test_vision.c.
Made with torch==2.13.0, onnx==1.23.2, onnxruntime==1.31.1. Run: python make_vision.py (in this folder).

A case NAME has the tensors NAME/in0 ..., NAME/out, NAME/r and NAME/grad0 ..., as in cases.py (no gradients from ONNX), and NAME/attr: the kind, then
sixteen numbers that the test reads by kind, reals in millionths.
"""
import numpy as np
import onnx.helper as oh
import onnxruntime
import torch
import torch.nn.functional as F

from cases import begin, inputs_of, put, rand, result, save

begin(29)
(UNFOLD, FOLD, SLIDE, INDICES, UNPOOL, LP, SHUFFLE, UNSHUFFLE, DCR, DEPTH, CHANNELS, RESIZE, GRID, AFFINE, IOU, ROI, NMS) = range(17)


def attr(name, kind, numbers):
    assert len(numbers) <= 16, name
    put(f"{name}/attr", torch.tensor([kind] + [int(v) for v in numbers] + [0] * (16 - len(numbers))))


def known(name, kind, inputs, numbers, out):
    """Of another framework: no gradients."""
    attr(name, kind, numbers)
    inputs_of(name, inputs)
    put(f"{name}/out", out)


def case(name, kind, fn, inputs, numbers=()):
    attr(name, kind, numbers)
    xs = inputs_of(name, inputs)
    result(name, fn(*xs), xs)


def three(v):
    return list(v) + [0] * (3 - len(v))


# Windows.
for x, k, s, d, p in [((2, 3, 7, 6), (3, 2), (1, 1), (1, 1), (0, 0)), ((1, 2, 9, 8), (2, 3), (2, 3), (1, 2), (1, 2)), ((2, 1, 5, 5), (5, 5), (1, 1), (1, 1), (2, 0)),
                      ((0, 2, 4, 4), (2, 2), (2, 2), (1, 1), (0, 0))]:
    numbers = three(k) + three(s) + three(d) + three(p)
    case(f"unfold {x} {k} {s} {d} {p}", UNFOLD, lambda t: F.unfold(t, k, d, p, s), [rand(*x)], numbers)
    cols = F.unfold(rand(*x), k, d, p, s)
    case(f"fold {x} {k} {s} {d} {p}", FOLD, lambda t: F.fold(t, x[2:], k, d, p, s), [rand(*cols.shape)], numbers + three(x[2:]))
for axis, size, step in [(0, 2, 1), (1, 3, 2), (2, 4, 3), (2, 1, 1)]:
    case(f"slide {axis} {size} {step}", SLIDE, lambda t: t.unfold(axis, size, step), [rand(4, 5, 7)], (axis, size, step))
pools = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
unpools = {1: F.max_unpool1d, 2: F.max_unpool2d, 3: F.max_unpool3d}
for x, k, s, p, d, ceil in [((2, 3, 9), (3,), (2,), (1,), (1,), False), ((2, 2, 7, 8), (2, 2), (2, 2), (0, 0), (1, 1), False), ((1, 2, 9, 10), (3, 2), (2, 1), (1, 1), (2, 3), True),
                            ((1, 2, 4, 5, 6), (2, 2, 3), (2, 1, 2), (1, 0, 1), (1, 1, 1), False), ((0, 2, 4, 4), (2, 2), (2, 2), (0, 0), (1, 1), False)]:
    numbers = three(k) + three(s) + three(d) + three(p) + [ceil]
    v = rand(*x)
    case(f"indices {x} {k}", INDICES, lambda t: pools[len(k)](t, k, s, p, d, ceil, True)[1], [v], numbers)
for x, k in [((2, 3, 8), (2,)), ((2, 2, 6, 9), (2, 3)), ((1, 2, 4, 4, 6), (2, 2, 3))]:  # windows that do not overlap: no place twice
    y, at = pools[len(k)](rand(*x), k, k, return_indices=True)
    case(f"unpool {x} {k}", UNPOOL, lambda t, i: unpools[len(k)](t, i, k, k, 0, x[2:]), [y, at], three(x[2:]))
for x, k, s, p in [((1, 2, 6, 7), (2, 3), (2, 2), 2.0), ((2, 1, 5, 4), (2, 2), (1, 1), 4.0)]:
    case(f"lp {x} {p}", LP, lambda t: F.lp_pool2d(t, p, k, s), [rand(*x)], three(k) + three(s) + [p * 1e6])

# Places and channels.
case("shuffle", SHUFFLE, lambda t: F.pixel_shuffle(t, 3), [rand(2, 18, 2, 3)], (3,))
case("unshuffle", UNSHUFFLE, lambda t: F.pixel_unshuffle(t, 2), [rand(2, 3, 4, 6)], (2,))
case("dcr", DCR, lambda t: t.reshape(2, 2, 2, 3, 2, 3).permute(0, 3, 4, 1, 5, 2).reshape(2, 3, 4, 6), [rand(2, 12, 2, 3)], (2,))  # ONNX's text
case("depth", DEPTH, lambda t: t.reshape(2, 3, 2, 2, 3, 2).permute(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3), [rand(2, 3, 4, 6)], (2,))
case("channels", CHANNELS, lambda t: F.channel_shuffle(t, 3), [rand(2, 12, 2, 3)], (3,))


def run_onnx(op, inputs, n_out=1, opset=19, **attrs):
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(inputs)]
    types = {np.dtype("float32"): 1, np.dtype("float64"): 11, np.dtype("int64"): 7}
    infos = [oh.make_tensor_value_info(n, types[v.dtype], v.shape) for n, v in zip(names, inputs) if v is not None]
    outs = [oh.make_tensor_value_info(f"o{k}", 7 if op == "NonMaxSuppression" else types[inputs[0].dtype], None) for k in range(n_out)]
    graph = oh.make_graph([oh.make_node(op, names, [o.name for o in outs], **attrs)], "g", infos, outs)
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=9)
    feed = {n: v for n, v in zip(names, inputs) if v is not None}
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feed)[0]


def reference(op, inputs, opset=19, **attrs):
    from onnx.reference import ReferenceEvaluator
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(inputs)]
    types = {np.dtype("float32"): 1, np.dtype("float64"): 11, np.dtype("int64"): 7}
    infos = [oh.make_tensor_value_info(n, types[v.dtype], v.shape) for n, v in zip(names, inputs) if v is not None]
    graph = oh.make_graph([oh.make_node(op, names, ["o"], **attrs)], "g", infos, [oh.make_tensor_value_info("o", types[inputs[0].dtype], None)])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", opset)], ir_version=9)
    return ReferenceEvaluator(model).run(None, {n: v for n, v in zip(names, inputs) if v is not None})[0]


# Resizing: attr mode, coordinates, rounding, antialias, exclude, a, n of axes, then three sizes or scales, whether these are scales; a crop has fixed bounds.
MODES = ["nearest", "linear", "cubic"]
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
torch_modes = {(1, 1): "linear", (1, 2): "bilinear", (1, 3): "trilinear", (2, 2): "bicubic", (0, 1): "nearest", (0, 2): "nearest", (0, 3): "nearest"}


def resize_torch(x, size, mode, corners, antialias=False, exact=False):
    n = len(size)
    name = torch_modes[(mode, n)] + ("-exact" if exact else "")
    coordinates = 3 if corners else 4 if mode == 0 and not exact else 0
    rounding = 1 if exact else 2
    numbers = [mode, coordinates, rounding, antialias, 0, -500000 if antialias and mode == 2 else 0, n] + three(size) + [0]
    case(f"resize torch {x} {size} {name} {corners} {antialias}", RESIZE,
         lambda t: F.interpolate(t, size, mode=name, align_corners=corners if mode else None, antialias=antialias), [rand(*x)], numbers)


for mode in (1, 2):
    for corners in (False, True):
        for x, size in [((2, 2, 4, 5), (9, 7)), ((1, 2, 7, 9), (3, 4)), ((2, 1, 5, 1), (1, 6)), ((1, 1, 6, 6), (6, 11)), ((0, 2, 3, 3), (5, 5))]:
            resize_torch(x, size, mode, corners)
for x, size in [((1, 2, 9, 12), (4, 5)), ((1, 1, 16, 7), (3, 9)), ((2, 1, 4, 4), (8, 8)), ((1, 1, 30, 5), (1, 5))]:
    for mode in (1, 2):
        resize_torch(x, size, mode, False, True)
for x, size in [((1, 2, 5), (8,)), ((1, 2, 3, 4, 5), (5, 3, 7))]:
    resize_torch(x, size, 1, False)
    resize_torch(x, size, 0, False)
    resize_torch(x, size, 0, False, exact=True)

def resize_onnx(x, mode, coordinates, rounding=0, exclude=False, a=-0.75, sizes=None, scales=None, antialias=False):
    v = rand(*x).numpy()
    attrs = dict(mode=MODES[mode], coordinate_transformation_mode=COORDINATES[coordinates], cubic_coeff_a=a, exclude_outside=int(exclude), nearest_mode=ROUNDINGS[rounding],
                 extrapolation_value=-7.5, antialias=int(antialias), axes=[2, 3])
    roi = np.array([0.25, -0.3125, 0.875, 1.125], np.float32) if coordinates == 5 else None
    # Sizes as an int64 input; scales as float32, exactly what they say. The reference is in the dtype of its inputs: f64.
    inputs = [v.astype(np.float64), roi, np.array(scales, np.float32) if scales else None, np.array(sizes, np.int64) if sizes else None]
    out = reference("Resize", inputs if sizes else inputs[:3], **attrs)
    numbers = [mode, coordinates, rounding, antialias, exclude, round(a * 1e6), 2] + (three(sizes) if sizes else [round(s * 1e6) for s in scales] + [0]) + [not sizes]
    known(f"resize onnx {x} {mode} {coordinates} {rounding} {exclude} {a} {sizes} {scales} {antialias}", RESIZE, [torch.tensor(v)], numbers, torch.tensor(out).float())  # it computes some in f32


for coordinates in range(6):
    for mode in range(3):
        for sizes, scales in [([7, 3], None), (None, [1.75, 0.625]), (None, [0.5, 2.5])]:
            if coordinates in (3, 5) and scales:
                continue  # the reference takes in * scale for the extent of the result, which need not be whole; onnxruntime and PyTorch do not
            resize_onnx((1, 2, 4, 6), mode, coordinates, sizes=sizes, scales=scales)
for rounding in range(4):
    resize_onnx((1, 1, 4, 6), 0, 0, rounding, sizes=[8, 3])
    resize_onnx((1, 1, 4, 6), 0, 4, rounding, sizes=[6, 5])
for coordinates in (0, 4):
    resize_onnx((1, 2, 4, 6), 2, coordinates, exclude=True, a=-0.5, sizes=[9, 4])
    resize_onnx((1, 2, 4, 6), 1, coordinates, exclude=True, sizes=[9, 4])
    resize_onnx((1, 2, 4, 6), 2, coordinates, a=-0.6, scales=[1.5, 0.5])
resize_onnx((1, 2, 9, 7), 1, 0, exclude=True, sizes=[4, 3], antialias=True)
resize_onnx((1, 2, 9, 7), 2, 0, exclude=True, a=-0.5, sizes=[4, 3], antialias=True)

# Sampling.
GRID_MODES = {0: "nearest", 1: "bilinear", 2: "bicubic"}
PADDINGS = ["zeros", "border", "reflection"]
for shape, out in [((2, 3, 4, 5), (3, 4)), ((1, 2, 3, 4, 5), (2, 3, 2)), ((1, 9, 1, 6), (2, 5))]:
    rank = len(shape) - 2
    for mode in range(3):
        if mode == 2 and rank == 3:
            continue
        for padding in range(3):
            for corners in (False, True):
                grid = torch.rand(shape[0], *out, rank) * 3.6 - 1.8
                case(f"grid {shape} {mode} {padding} {corners}", GRID, lambda t, g: F.grid_sample(t, g, GRID_MODES[mode], PADDINGS[padding], corners),
                     [rand(*shape), grid], (mode, padding, corners))
for size in [(2, 1, 3, 4), (1, 1, 1, 5), (2, 1, 2, 3, 4)]:
    for corners in (False, True):
        case(f"affine {size} {corners}", AFFINE, lambda t: F.affine_grid(t, size, corners), [rand(size[0], len(size) - 2, len(size) - 1)], three(size[2:]) + [len(size) - 2, corners])


# Boxes.
def boxes(n, low, high):
    a, b = torch.rand(n, 2) * (high - low) + low, torch.rand(n, 2) * (high - low) * 0.6 + 0.5
    return torch.cat([a, a + b], 1)


def iou(a, b):
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    side = (torch.min(a[:, None, 2:], b[None, :, 2:]) - torch.max(a[:, None, :2], b[None, :, :2])).clamp(min=0)
    both = side[..., 0] * side[..., 1]
    return both / (area(a)[:, None] + area(b)[None] - both)


case("iou", IOU, iou, [boxes(5, -2, 6), boxes(7, -2, 6)])
for mode in ("avg", "max"):
    for samples in (0, 1, 2, 3):
        for aligned in (False, True):
            for scale in (1.0, 0.5):
                x, b, at = rand(2, 3, 6, 7), boxes(4, -3, 12), torch.tensor([0, 1, 1, 0])
                b[3, 2:] = b[3, :2] + 0.2
                out = run_onnx("RoiAlign", [x.numpy(), b.numpy(), at.numpy()], opset=16, mode=mode, output_height=3, output_width=2, sampling_ratio=samples, spatial_scale=scale,
                               coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel")
                known(f"roi {mode} {samples} {aligned} {scale}", ROI, [x, b, at], [3, 2, samples, aligned, mode == "max", scale * 1e6], torch.tensor(out))
for most, overlap, score, center in [(3, 0.3, None, 0), (20, 0.5, 0.4, 0), (2, 0.0, 0.2, 1), (20, 0.9, None, 1)]:
    b = torch.stack([boxes(12, 0, 5), boxes(12, 0, 5)])
    s = torch.rand(2, 3, 12)
    s[1, 2] = 0.1
    s[0, 1, 3:6] = 0.75  # ties go by place
    flipped = b.clone()
    flipped[:, ::2] = b[:, ::2][..., [2, 3, 0, 1]]
    out = run_onnx("NonMaxSuppression", [(b if center else flipped).numpy(), s.numpy(), np.array(most), np.array(overlap, np.float32)] + ([np.array(score, np.float32)] if score else []),
                   opset=11, center_point_box=center)
    known(f"nms {most} {overlap} {center}", NMS, [b if center else flipped, s], [most, overlap * 1e6, score is not None, (score or 0) * 1e6, center], torch.tensor(out))

save("vision.safetensors")
