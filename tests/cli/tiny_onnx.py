"""tiny_onnx.py: writes ONNX files of one product of matrices, for images of 3 channels and 12 x 12, with 10 classes:
first.onnx and last.onnx (the same with the channels last), apart.onnx (its weights in apart.bin), small.onnx (8 x 8),
and asks.onnx, which has to know on the host what a plan of it would compute. Needs Python alone."""
import struct


def number(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def node(op, inputs, output, attribute=b""):
    named = b"".join(field(1, name.encode()) for name in inputs.split())
    return field(1, named + field(2, output.encode()) + field(4, op.encode()) + attribute)


def port(key, name, dims):
    shape = b"".join(field(1, field(2, b"N") if d < 0 else field(1, d)) for d in dims)
    return field(key, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


def cast(to):
    return field(5, field(1, b"to") + field(3, to) + field(20, 2))


def model(path, side, last=False, apart=None, asks=False):
    rows = 3 * side * side
    raw = b"".join(struct.pack("<f", (k * 7919 % 101 - 50) / 500) for k in range(rows * 10))
    weight = field(1, rows) + field(1, 10) + field(2, 1) + field(8, b"w")
    if apart:
        with open(apart, "wb") as out:
            out.write(raw)
        weight += field(13, field(1, b"location") + field(2, apart.encode())) + field(14, 1)
    else:
        weight += field(9, raw)
    nodes, x = b"", "x"
    if last:
        order = field(1, b"perm") + b"".join(field(8, k) for k in (0, 3, 1, 2)) + field(20, 7)
        nodes, x = node("Transpose", "x", "turned", field(5, order)), "turned"
    if asks:
        nodes = node("Shape", "x", "shape") + node("Cast", "shape", "reals", cast(1)) + node("Sqrt", "reals", "roots")
        nodes += node("Mul", "roots roots", "again") + node("Round", "again", "whole")
        nodes, x = nodes + node("Cast", "whole", "to", cast(7)) + node("Reshape", "x to", "shaped"), "shaped"
    nodes += node("Flatten", x, "flat") + node("MatMul", "flat w", "z")
    dims = [-1, side, side, 3] if last else [-1, 3, side, side]
    graph = nodes + field(2, b"g") + field(5, weight) + port(11, b"x", dims) + port(12, b"z", [-1, 10])
    with open(path, "wb") as out:
        out.write(field(1, 8) + field(7, graph) + field(8, field(2, 17)))


model("first.onnx", 12)
model("last.onnx", 12, last=True)
model("apart.onnx", 12, apart="apart.bin")
model("small.onnx", 8)
model("asks.onnx", 12, asks=True)
