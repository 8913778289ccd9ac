#!/usr/bin/env python3
"""Writes tests/fuzz/seeds/TARGET/*: small files of every format for the fuzz targets to begin with. Usage: make_seeds.py (needs Pillow for the JPEGs and WebPs)."""
import gzip
import io
import json
import pathlib
import struct
import tarfile
import zipfile
import zlib

ROOT = pathlib.Path(__file__).parent / "seeds"


def save(target, name, data):
    folder = ROOT / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


# ---- protocol buffers ----
def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, v):
    return varint(field << 3) + varint(v)


def blob(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dtype, dims, raw=None, extra=b""):
    return b"".join(num(1, d) for d in dims) + num(2, dtype) + blob(8, name) + (b"" if raw is None else blob(9, raw)) + extra


def value(name, dims=None, dtype=1):
    shape = b"" if dims is None else blob(2, b"".join(blob(1, blob(2, d) if isinstance(d, str) else num(1, d)) for d in dims))
    return blob(1, name) + blob(2, blob(1, num(1, dtype) + shape))


def attr(name, kind, data):
    return blob(5, blob(1, name) + data + num(20, kind))


def node(op, ins, outs, attrs=b"", domain=""):
    return blob(1, b"".join(blob(1, i) for i in ins) + b"".join(blob(2, o) for o in outs) + blob(4, op) + attrs + (blob(7, domain) if domain else b""))


def graph(nodes, ins, outs, weights=b"", name="g"):
    return b"".join(nodes) + blob(2, name) + weights + b"".join(blob(11, i) for i in ins) + b"".join(blob(12, o) for o in outs)


def model(g, opset=21, functions=b"", domains=b""):
    return num(1, 10) + blob(7, g) + blob(8, blob(1, "") + num(2, opset)) + domains + functions


f32 = lambda *v: struct.pack(f"<{len(v)}f", *v)
i64 = lambda *v: struct.pack(f"<{len(v)}q", *v)
weight = lambda t: blob(5, t)

add = graph([node("Add", ["x", "w"], ["y"])], [value("x", ["n", 2])], [value("y")], weight(tensor("w", 1, [2], f32(10, 20))))
save("onnx", "add", model(add, 13))
typed = blob(5, num(1, 2) + num(2, 6) + blob(5, varint(3) + varint(4)) + blob(8, "w"))
save("onnx", "typed", model(graph([node("Mul", ["x", "w"], ["y"])], [value("x", [2], 6)], [value("y")], typed)))
sparse = blob(15, blob(1, tensor("w", 1, [2], f32(1, 2))) + blob(2, tensor("", 7, [2], i64(0, 3))) + num(3, 2) + num(3, 2))
save("onnx", "sparse", model(graph([node("MatMul", ["x", "w"], ["y"])], [value("x", [3, 2])], [value("y")], sparse)))
body = graph([node("Identity", ["c"], ["d"]), node("Add", ["s", "x"], ["t"]), node("Mul", ["t", "t"], ["r"])],
             [value("i", [], 7), value("c", [], 9), value("s", [2])], [value("d"), value("t"), value("r")])
save("onnx", "loop", model(graph([node("Loop", ["m", "", "x"], ["y", "z"], attr("body", 5, blob(6, body)))], [value("x", [2])], [value("y"), value("z")],
                                 weight(tensor("m", 7, [], i64(3))))))
branch = lambda op: attr("then_branch" if op == "Relu" else "else_branch", 5, blob(6, graph([node(op, ["x"], ["b"])], [], [value("b")])))
save("onnx", "if", model(graph([node("If", ["c"], ["y"], branch("Relu") + branch("Neg"))], [value("x", [2]), value("c", [], 9)], [value("y")])))
scan = graph([node("Add", ["s", "e"], ["t"]), node("Identity", ["t"], ["r"])], [value("s"), value("e")], [value("t"), value("r")])
save("onnx", "scan", model(graph([node("Scan", ["i", "x"], ["y", "z"], attr("body", 5, blob(6, scan)) + attr("num_scan_inputs", 2, num(3, 1)))],
                                 [value("x", [3, 2])], [value("y"), value("z")], weight(tensor("i", 1, [2], f32(0, 0))))))
function = blob(25, blob(1, "f") + blob(4, "a") + blob(5, "c") + blob(6, "k") + blob(7, node("Mul", ["a", "a"], ["b"])[2:]) +
                blob(7, blob(1, "b") + blob(2, "c") + blob(4, "LeakyRelu") + blob(5, blob(1, "alpha") + num(20, 1) + blob(21, "k"))) +
                blob(9, blob(1, "") + num(2, 18)) + blob(10, "own"))
save("onnx", "function", model(graph([node("f", ["x"], ["y"], attr("k", 1, b"\x15" + f32(0.5)), "own")], [value("x", [2])], [value("y")]), 18, function,
                               blob(8, blob(1, "own") + num(2, 1))))
shapes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "k"], ["n"]), node("Unsqueeze", ["n", "a"], ["u"]), node("Expand", ["v", "u"], ["y"]),
          node("Range", ["k", "n", "o"], ["q"]), node("Slice", ["x", "a", "u"], ["p"]), node("NonZero", ["p"], ["z"]), node("Tile", ["y", "u"], ["t"])]
save("onnx", "shapes", model(graph(shapes, [value("x", [3, 2])], [value("y"), value("q"), value("z"), value("t")],
                                   weight(tensor("k", 7, [], i64(0))) + weight(tensor("a", 7, [1], i64(0))) + weight(tensor("v", 1, [1], f32(7))) +
                                   weight(tensor("o", 7, [], i64(1))))))
conv = [node("Conv", ["x", "w"], ["c"], attr("pads", 7, b"".join(num(8, 1) for _ in range(4)))), node("MaxPool", ["c"], ["p"], attr("kernel_shape", 7, num(8, 2) * 2)),
        node("Flatten", ["p"], ["f"]), node("Softmax", ["f"], ["y"])]
save("onnx", "conv", model(graph(conv, [value("x", [1, 1, 4, 4])], [value("y")], weight(tensor("w", 1, [2, 1, 3, 3], f32(*[1] * 18))))))
pair = lambda k, v: blob(13, blob(1, k) + blob(2, v))
external = tensor("w", 1, [2], None, pair("location", "w.bin") + pair("offset", "8") + pair("length", "8") + num(14, 1))
save("external", "external", model(graph([node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y")], weight(external))))
for place in ("../out.bin", "link.bin", "hard.bin", "up/out.bin", "sub/w.bin"):
    t = tensor("w", 1, [2], None, pair("location", place) + num(14, 1))
    save("external", "at_" + place.replace("/", "_").replace(".", ""), model(graph([node("Add", ["x", "w"], ["y"])], [value("x", [2])], [value("y")], weight(t))))

save("value", "float", b"\0" + tensor("v", 1, [2], f32(1, 2)))
save("value", "bits", b"\0" + tensor("v", 22, [3], b"\x21\x03"))
save("value", "strings", b"\2" + num(1, 2) + num(2, 8) + blob(6, "a") + blob(6, "bc"))
save("value", "sequence", b"\1" + num(2, 1) + blob(3, tensor("", 7, [1], i64(5))) + blob(3, tensor("", 7, [0], b"")))
save("value", "nested", b"\1" + num(2, 3) + blob(5, num(2, 1) + blob(3, tensor("", 1, [], f32(1)))))
save("value", "optional", b"\4" + num(2, 1) + blob(3, tensor("", 1, [1], f32(1))))
save("value", "optional_sequence", b"\5" + num(2, 3) + blob(5, num(2, 1) + blob(3, tensor("", 1, [1], f32(1)))))


# ---- safetensors ----
def tensors(header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


entry = lambda dtype, shape, a, b: {"dtype": dtype, "shape": shape, "data_offsets": [a, b]}
two = {"fc.weight": entry("F32", [3, 2], 0, 24), "fc.bias": entry("F32", [3], 24, 36)}
save("safetensors", "two", tensors(two, f32(*range(9))))
save("safetensors", "empty", tensors({}, b""))
save("safetensors", "kinds", tensors({"__metadata__": {"format": "pt"}, "a": entry("BOOL", [3], 0, 3), "b": entry("F16", [], 3, 5), "c": entry("I64", [0, 4], 5, 5),
                                      "d": entry("F8_E4M3", [1, 1], 5, 6)}, b"\1\0\1\0\x3c\x38"))
own = {"wick.format": "1", "wick.crc32c": "00000000", "wick.numerics": "tier=ref", "wick.seed": "1", "wick.stream": "5"}




save("checkpoint", "foreign", tensors(two, f32(*range(9))))
save("checkpoint", "unsummed", tensors({"__metadata__": {k: v for k, v in own.items() if "crc" not in k}, **two}, f32(*range(9))))
save("checkpoint", "wrong_sum", tensors({"__metadata__": own, **two}, f32(*range(9))))

# ---- .npy ----
for name, descr, order, shape, data in (("f4", "<f4", False, (2, 3), f32(*range(6))), ("columns", "<i8", True, (2, 2), i64(1, 2, 3, 4)),
                                        ("big", ">u2", False, (3,), b"\0\1\0\2\0\3"), ("bool", "|b1", False, (), b"\1"), ("none", "<f8", False, (0, 4), b"")):
    for version in (1, 2):
        text = str({"descr": descr, "fortran_order": order, "shape": shape}).encode()
        fixed = 10 if version == 1 else 12
        text += b" " * (-(fixed + len(text) + 1) % 64) + b"\n"
        save("npy", f"{name}{version}", b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(text)) + text + data)

# ---- JSON ----
save("json", "kinds", b'{"a":[1,-2.5e3,true,false,null,"x\\u00e9\\ud83d\\ude00\\n"],"b":{"c":{}, "d":[]}, "":0, "e":18446744073709551615}')
save("json", "deep", b"[" * 60 + b"]" * 60)
save("json", "header", json.dumps(two).encode())

# ---- data sets ----
idx = lambda kind, dims, data: bytes([0, 0, kind, len(dims)]) + b"".join(struct.pack(">I", d) for d in dims) + data
save("idx", "images", idx(8, (2, 3, 3), bytes(range(18))))
save("idx", "labels", idx(8, (5,), bytes(range(5))))
save("idx", "floats", idx(13, (2, 1), struct.pack(">2f", 1, 2)))
save("idx", "shorts.gz", gzip.compress(idx(11, (2, 2), struct.pack(">4h", 1, -2, 3, -4)), mtime=0))
save("gzip", "one.gz", gzip.compress(bytes(range(64)) * 4, mtime=0))
save("gzip", "two.gz", gzip.compress(b"ab", mtime=0) + gzip.compress(b"", mtime=0))
save("gzip", "named.gz", b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff" + b"\4\0abcd" + b"name\0note\0" + struct.pack("<H", zlib.crc32(b"\x1f\x8b\x08\x1e\0\0\0\0\0\xff\4\0abcdname\0note\0") & 65535) +
     zlib.compress(b"x", 9)[2:-4] + struct.pack("<II", zlib.crc32(b"x"), 1))


def archive(fmt, names, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=fmt) as t:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            t.addfile(info, io.BytesIO(name.encode()))
    return out.getvalue()[: 512 * (2 * len(names) + 8)]


save("tar", "ustar", archive(tarfile.USTAR_FORMAT, ["train/a/1.png", "train/b/2.png"]))
save("tar", "gnu", archive(tarfile.GNU_FORMAT, ["d/" * 60 + "x", "y"]))
save("tar", "pax", archive(tarfile.PAX_FORMAT, ["d/" * 60 + "x", "\u00e9"]))
save("tar", "packed.gz", gzip.compress(archive(tarfile.USTAR_FORMAT, ["a", "b/c"]), mtime=0))


def picture(side):
    rows = b"".join(b"\0" + bytes(range(side)) for _ in range(side))
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def set_of(names, sides):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, side in zip(names, sides):
            info = tarfile.TarInfo(name)
            info.size = len(picture(side))
            t.addfile(info, io.BytesIO(picture(side)))
    return out.getvalue()[: 512 * (2 * len(names) + 2)]


save("dataset", "two_classes", set_of(["train/a/1.png", "train/b/2.png", "train/.a/._1.png", "readme.txt"], (3, 3, 1, 1)))
save("dataset", "sizes_differ", set_of(["train/a/1.png", "train/b/2.png"], (3, 2)))
save("dataset", "packed.gz", gzip.compress(set_of(["x/1.png"], (2,)), mtime=0))


def samples(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as t:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
    return out.getvalue()[: 512 * (3 * len(files) + 2)]


save("webdataset", "pictures", samples([("0.png", picture(3)), ("0.cls", b"1"), ("1.png", picture(3)), ("1.cls", b"0\n")]))
save("webdataset", "packed.gz", gzip.compress(samples([("a/x.json", b"{}"), ("a/x.cls", b"2"), ("a/x.txt", b"words")]), mtime=0))
save("csv", "mixed", b"\0a,b,c\n1,red,0.5\n2,green,NA\n3,red,-1e3\n")
save("csv", "label", b"\x2ca,b,c1\r\n1,p,x\r\n2,q,\"y, z\"\r\n")
save("csv", "semicolons", b"\x4ba;b\n\"1\";2\n3;4")
save("csv", "quoted", b"\0\"a\"\"b\",c\n\"two\nlines\",?\n")


def wav(fmt, data, extra=b""):
    body = b"fmt " + struct.pack("<I", len(fmt)) + fmt + extra + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body


pcm = lambda kind, channels, bits: struct.pack("<HHIIHH", kind, channels, 8000, 8000 * channels * bits // 8, channels * bits // 8, bits)
save("wav", "pcm16", wav(pcm(1, 1, 16), struct.pack("<4h", 0, 1, -1, 32767)))
save("wav", "pcm24", wav(pcm(1, 2, 24), bytes(12)))
save("wav", "float", wav(pcm(3, 1, 32), f32(0.5, -0.5), b"LIST\3\0\0\0abc\0"))
save("wav", "extensible", wav(pcm(0xFFFE, 1, 8) + struct.pack("<HHI", 22, 8, 0) + b"\1\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", b"\x80\x81"))

chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, colour, row, extra=b"", interlace=0):
    lines = b"".join(b"\0" + row for _ in range(height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)) + extra + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


save("image", "grey.png", png(4, 3, 8, 0, b"\0\x55\xaa\xff"))
save("image", "rgb16.png", png(2, 2, 16, 2, bytes(range(12))))
save("image", "palette.png", png(8, 2, 1, 3, b"\x5a", chunk(b"PLTE", b"\0\0\0\xff\xff\xff") + chunk(b"tRNS", b"\x80")))
save("image", "alpha.png", png(2, 2, 8, 6, bytes(range(8))))
save("image", "images.idx", idx(8, (2, 3, 3), bytes(range(18))))
try:
    from PIL import Image

    for name, options in (("lossy.webp", {"quality": 30}), ("lossless.webp", {"lossless": True}), ("alpha.webp", {"quality": 30, "alpha_quality": 50})):
        out = io.BytesIO()
        picture = Image.linear_gradient("L").resize((9, 7)).convert("RGB")
        if "alpha" in name:
            picture.putalpha(Image.radial_gradient("L").resize((9, 7)))
        picture.save(out, "WEBP", **options)
        save("image", name, out.getvalue())
    for name, mode, options in (("grey.jpg", "L", {}), ("colour.jpg", "RGB", {"progressive": True}), ("cmyk.jpg", "CMYK", {})):
        out = io.BytesIO()
        Image.new(mode, (9, 7)).save(out, "JPEG", quality=30, **options)
        save("image", name, out.getvalue())
except ImportError:
    print("without Pillow: the JPEGs and WebPs stay as they are")

# ---- .npz, and the index of shards ----
def npy(descr, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data


for method, name in ((zipfile.ZIP_STORED, "stored"), (zipfile.ZIP_DEFLATED, "deflated")):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as z:
        for entry, data in (("a.npy", npy("<f4", "(2, 3)", bytes(24))), ("b.npy", npy("|b1", "(2,)", b"\1\0")), ("c.npy", npy("<i2", "(3000,)", bytes(6000)))):
            with z.open(zipfile.ZipInfo(entry), "w", force_zip64=True) as f:
                f.write(data)
    save("npz", name, buffer.getvalue())
    save("npz", name + "_cut", buffer.getvalue()[:-30])
save("shards", "one", json.dumps({"metadata": {"total_size": 28}, "weight_map": {"a": "s.safetensors", "b": "s.safetensors"}}).encode())
save("shards", "elsewhere", json.dumps({"weight_map": {"a": "../s.safetensors"}}).encode())

# ---- record files, and Zstandard's streams: of the goldens', the small ones ----
records = pathlib.Path(__file__).parent.parent / "golden" / "records"
for name in ("plain", "lz4", "zstd", "dictionary", "appended", "torn"):
    save("records", name, (records / f"{name}.wrec").read_bytes())
block = b"\x28\xb5\x2f\xfd\x20"  # a frame of one segment, whose size has a byte (RFC 8878, 3.1.1.1)
save("zstd", "raw", block + b"\x05" + b"\x29\0\0" + b"hello")
save("zstd", "repeated", block + b"\x64" + b"\x23\3\0" + b"x")
save("zstd", "two", block + b"\x01\x09\0\0a" + b"\x52\x2a\x4d\x18\2\0\0\0xy" + block + b"\x01\x09\0\0b")
