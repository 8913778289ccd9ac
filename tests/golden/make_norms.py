"""Writes norms.safetensors: values and gradients of PyTorch's norms, for tests/ops/test_norms.c. Made with torch==2.13.0. Run: python make_norms.py
(in this folder).

A case NAME has the tensors NAME/in0 ..., NAME/out, NAME/r and NAME/grad0 ..., as in cases.py, and NAME/attr: the kind, whether there is a weight
and a bias, then three numbers of the kind in millionths.
"""
import torch
import torch.nn.functional as F

from cases import begin, inputs_of, put, rand, result, save

begin(23)
GROUP, INSTANCE, RMS, RESPONSE, NORMALIZE = range(5)


def case(name, kind, fn, inputs, weight=False, bias=False, numbers=()):
    numbers = [round(v * 1e6) if v != float("inf") else -1 for v in numbers]
    put(f"{name}/attr", torch.tensor([kind, weight, bias] + numbers + [0] * (3 - len(numbers))))
    xs = inputs_of(name, inputs)
    result(name, fn(*xs), xs)


def vectors(c, weight, bias):
    return [rand(c)] * weight + [rand(c)] * bias


def split(weight, bias, v):
    return v[0] if weight else None, v[-1] if bias else None


for shape, groups in [((2, 6, 4, 5), 3), ((3, 4), 2), ((1, 8, 7), 8), ((2, 3, 2, 3, 2), 1), ((0, 4, 3), 2), ((1, 4, 13, 11), 2)]:
    for weight, bias in [(1, 1), (1, 0), (0, 0)]:
        case(f"group {shape} {groups} {weight}{bias}", GROUP, lambda x, *v: F.group_norm(x, groups, *split(weight, bias, v), 1e-5),
             [rand(*shape)] + vectors(shape[1], weight, bias), weight, bias, (groups,))
for shape in [(2, 3, 7), (2, 5, 4, 6), (1, 2, 3, 4, 5)]:
    for weight, bias in [(1, 1), (0, 0)]:
        case(f"instance {shape} {weight}{bias}", INSTANCE, lambda x, *v: F.instance_norm(x, None, None, *split(weight, bias, v), True, 0.1, 1e-5),
             [rand(*shape)] + vectors(shape[1], weight, bias), weight, bias)
for shape in [(5,), (3, 17), (2, 3, 64), (0, 4), (4, 1)]:
    for weight in (0, 1):
        case(f"rms {shape} {weight}", RMS, lambda x, *v: F.rms_norm(x, shape[-1:], v[0] if weight else None, 1e-3), [rand(*shape)] + vectors(shape[-1], weight, 0),
             weight, 0, (1e-3,))
for shape, size in [((2, 7, 5), 3), ((1, 6, 3, 4), 4), ((2, 3, 2, 3, 2), 5), ((2, 4, 3), 1), ((1, 2, 3), 12)]:
    case(f"response {shape} {size}", RESPONSE, lambda x: F.local_response_norm(x, size, 0.3, 0.75, 1.5), [rand(*shape)], numbers=(size,))
for p in (1.0, 2.0, 3.0, float("inf")):
    for axis in (1, -1):
        x = rand(2, 3, 5)
        x[1, :, 2] = 1e-3
        case(f"normalize {p} {axis}", NORMALIZE, lambda t: F.normalize(t, p, axis, 1e-2), [x], numbers=(p, axis, 1e-2))
zeros = rand(3, 4)
zeros[1] = 0
case("normalize zeros", NORMALIZE, lambda t: F.normalize(t, 2.0, 1, 1e-2), [zeros], numbers=(2, 1, 1e-2))
save("norms.safetensors")
