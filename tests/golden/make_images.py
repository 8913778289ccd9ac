"""Writes the pictures in images/ and images.txt, their pixels as [channels, height, width], for tests/data/test_image.c. PNG files are put
together here, byte by byte; JPEG files are Pillow's, and so are their pixels. Made with numpy, torch==2.13.0 and pillow==13.0.0. Run: python
make_images.py (in this folder).

NAME/8x5 in images.txt is the picture NAME at another size (height x width), by torch's interpolate, unrounded.
"""
import io
import os
import struct
import zlib

import numpy as np
import torch
from PIL import Image, __version__ as pillow

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
assert pillow == "13.0.0", pillow
rng = np.random.default_rng(5)
os.makedirs("images", exist_ok=True)
out = open("images.txt", "w")
out.write("# Written by make_images.py.\n")
GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
H, W = 9, 13


def golden(name, array):
    array = np.asarray(array)
    values = " ".join("%.6g" % v for v in array.astype(np.float64).ravel())
    out.write(f"{name} {array.ndim} {' '.join(map(str, array.shape))} {values}\n")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def pack(samples, depth):
    """Rows of samples [height, n] as bytes, each behind filter type 0 (none)."""
    rows = b""
    for row in samples:
        if depth == 16:
            body = row.astype(">u2").tobytes()
        else:
            bits = "".join(format(int(v), f"0{depth}b") for v in row)
            bits += "0" * (-len(bits) % 8)
            body = bytes(int(bits[i : i + 8], 2) for i in range(0, len(bits), 8))
        rows += b"\0" + body
    return rows


ADAM7 = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def png(name, samples, depth, kind, extra=b"", interlace=False):
    """samples [height, width, n]"""
    h, w, _ = samples.shape
    passes = [samples[y::dy, x::dx] for y, x, dy, dx in ADAM7] if interlace else [samples]
    data = b"".join(pack(p.reshape(p.shape[0], -1), depth) for p in passes if p.size)
    head = struct.pack(">IIBBBBB", w, h, depth, kind, 0, 0, interlace)
    with open(f"images/{name}", "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


def on_white(color, alpha):
    """color and alpha 0..255, rounded to nearest (no ties: 255 is odd)."""
    return np.floor((color.astype(np.int64) * alpha + 255 * (255 - alpha.astype(np.int64))) / 255 + 0.5).astype(np.int64)


def pixels(*shape, depth=8):
    return rng.integers(0, 1 << depth, (H, W) + shape)


planes = lambda a: np.moveaxis(a, -1, 0)
for depth in (1, 2, 4, 8):
    a = pixels(1, depth=depth)
    png(f"grey{depth}.png", a, depth, GREY)
    golden(f"grey{depth}.png", planes(a * 255 // ((1 << depth) - 1)))
a = pixels(1, depth=16)
png("grey16.png", a, 16, GREY)
golden("grey16.png", planes(a >> 8))
a = pixels(3)
png("rgb8.png", a, 8, RGB)
golden("rgb8.png", planes(a))
png("interlaced.png", a, 8, RGB, interlace=True)
golden("interlaced.png", planes(a))
a = pixels(3, depth=16)
png("rgb16.png", a, 16, RGB)
golden("rgb16.png", planes(a >> 8))
a = pixels(4)
a[0, :, 3] = 0
a[1, :, 3] = 255
png("rgba8.png", a, 8, RGBA)
golden("rgba8.png", planes(on_white(a[..., :3], a[..., 3:])))
a = pixels(2)
png("grey_alpha.png", a, 8, GREY_ALPHA)
golden("grey_alpha.png", planes(on_white(a[..., :1], a[..., 1:])))
palette = rng.integers(0, 256, (16, 3))
a = pixels(1, depth=4)
png("palette4.png", a, 4, PALETTE, chunk(b"PLTE", palette.astype(np.uint8).tobytes()))
golden("palette4.png", planes(palette[a[..., 0]]))
alpha = np.concatenate([rng.integers(0, 256, 5), np.full(11, 255)])
trns = chunk(b"PLTE", palette.astype(np.uint8).tobytes()) + chunk(b"tRNS", alpha[:5].astype(np.uint8).tobytes())
png("palette_transparent.png", a, 4, PALETTE, trns)
golden("palette_transparent.png", planes(on_white(palette[a[..., 0]], alpha[a[..., 0]][..., None])))

# smooth, as photographs are
y, x = np.mgrid[0:37, 0:50]
photo = np.stack([128 + 100 * np.sin(x / 7 + c) * np.cos(y / (5 + c)) for c in range(3)], -1) + rng.normal(0, 9, (37, 50, 3))
photo = np.clip(np.round(photo), 0, 255).astype(np.uint8)
for name, mode, options in [
    ("color420.jpg", "RGB", dict(quality=85, subsampling=2)),
    ("color444.jpg", "RGB", dict(quality=95, subsampling=0)),
    ("progressive.jpg", "RGB", dict(quality=80, subsampling=1, progressive=True)),
    ("grey.jpg", "L", dict(quality=90)),
    ("cmyk.jpg", "CMYK", dict(quality=80)),
]:
    buffer = io.BytesIO()
    Image.fromarray(photo).convert(mode).save(buffer, "JPEG", **options)
    open(f"images/{name}", "wb").write(buffer.getvalue())
    a = np.asarray(Image.open(buffer))
    if mode != "CMYK":
        golden(name, planes(a) if a.ndim == 3 else a[None])
    if name == "color444.jpg":
        golden(name + "/grey", np.asarray(Image.open(buffer).convert("L"))[None])
    if name == "color420.jpg":
        for size in [(8, 5), (37, 20), (50, 60), (1, 1), (37, 50), (20, 111)]:
            t = torch.from_numpy(planes(a).copy()).double()[None]
            r = torch.nn.functional.interpolate(t, size, mode="bilinear", antialias=True, align_corners=False)[0]
            golden(f"{name}/{size[0]}x{size[1]}", r.numpy())
