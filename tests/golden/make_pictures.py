"""Writes the pictures in pictures/ and pictures.txt, their pixels as [channels, height, width], for tests/data/test_pictures.c: PNM, GIF, TIFF and JPEG 2000, and pictures that say how
they are to be turned. Made with numpy and pillow==13.0.0; pixels are Pillow's, turned by ImageOps.exif_transpose, on white where they show through. Run: python make_pictures.py (in this
folder).
"""
import os

import numpy as np
from PIL import Image, ImageOps, __version__ as pillow

assert pillow == "13.0.0", pillow
rng = np.random.default_rng(7)
os.makedirs("pictures", exist_ok=True)
out = open("pictures.txt", "w")
out.write("# Written by make_pictures.py.\n")
H, W = 7, 11


def golden(name, a):
    a = np.asarray(a)
    a = a[None] if a.ndim == 2 else a.transpose(2, 0, 1)
    out.write(f"{name} 3 {' '.join(map(str, a.shape))} {' '.join(map(str, a.ravel()))}\n")


def read(name):
    """As 8-bit grey or RGB."""
    i = ImageOps.exif_transpose(Image.open(f"pictures/{name}"))
    if i.mode in ("RGBA", "LA") or "transparency" in i.info:
        grey = i.mode == "LA"
        i = i.convert("RGBA")
        i = Image.alpha_composite(Image.new("RGBA", i.size, "white"), i)
        return np.asarray(i)[..., 0] if grey else np.asarray(i)[..., :3]
    if i.mode in ("I;16", "I;16B", "I"):
        return np.round(np.asarray(i) / 257).astype(int)
    return np.asarray(i if i.mode == "L" else i.convert("L" if i.mode == "1" else "RGB"))


def save(image, name, **options):
    image.save(f"pictures/{name}", **options)
    golden(name, read(name))


def write(name, data, pixels):
    open(f"pictures/{name}", "wb").write(data)
    golden(name, pixels)


a = rng.integers(0, 256, (H, W, 3), dtype=np.uint8)
deep = a.astype(np.uint16) * 257 + rng.integers(0, 100, a.shape, dtype=np.uint16).astype(np.uint16) * (a < 255)
alpha = rng.integers(0, 256, (H, W, 1), dtype=np.uint8)
rgb, grey, rgba = Image.fromarray(a), Image.fromarray(a[..., 0]), Image.fromarray(np.concatenate([a, alpha], -1))
bits = Image.fromarray(np.where(a[..., 0] & 1, 255, 0).astype(np.uint8)).convert("1")

save(rgb, "rgb.ppm")
save(grey, "grey.pgm")
save(bits, "bits.pbm")
text = lambda v: " ".join(map(str, v.ravel())).encode()
write("text.ppm", b"P3 # three\n%d # wide\n%d\n255\n" % (W, H) + text(a) + b"\n", a)
write("text.pgm", b"P2\n%d %d 15\n" % (W, H) + text(a[..., 0] % 16), a[..., 0] % 16 * 17)
write("text.pbm", b"P1\n%d %d\n" % (W, H) + b"".join(b"01"[v : v + 1] for v in a[..., 0].ravel() % 2), (1 - a[..., 0] % 2) * 255)
write("deep.ppm", b"P6 %d %d 65535\n" % (W, H) + deep.astype(">u2").tobytes(), np.floor(deep.astype(float) * 255 / 65535 + 0.5).astype(int))

save(rgb.quantize(32), "colors.gif")
save(rgb.quantize(7), "interlaced.gif", interlace=1)
clear = rgb.quantize(16)
save(clear, "clear.gif", transparency=int(np.asarray(clear)[2, 3]))
large = Image.fromarray(rng.integers(0, 256, (90, 80), dtype=np.uint8))
save(large, "long.gif")  # more codes than the table of them holds
rgb.quantize(16).save("pictures/film.gif", save_all=True, append_images=[rgb.rotate(180).quantize(16)])
golden("film.gif", read("film.gif"))

for compression in ["raw", "packbits", "tiff_lzw", "tiff_adobe_deflate"]:
    save(rgb, f"{compression}.tif", compression=compression)
save(grey, "grey.tif")
save(rgba, "rgba.tif")
save(Image.merge("LA", (grey, Image.fromarray(alpha[..., 0]))), "grey_alpha.tif")
save(rgb.quantize(16), "palette.tif")
save(bits, "fax.tif", compression="group4")
save(Image.fromarray(deep[..., 0]), "deep.tif")

save(rgb, "rgb.jp2")
save(grey, "grey.jp2")
save(rgba, "rgba.jp2")
save(grey.convert("LA"), "grey_alpha.jp2")
save(rgb, "stream.j2k")
save(rgb, "tiles.jp2", tile_size=(4, 4))
save(Image.fromarray(deep[..., 0]), "deep.jp2")

# Blank paper takes a bit for each row, or nothing at all.
blank = Image.new("1", (4096, 4096), 1)
blank.save("pictures/blank.tif", compression="group4", strip_size=4096 * 4096)
blank.convert("L").save("pictures/blank.jp2")
blank.convert("RGB").save("pictures/blank.webp", lossless=True)

for turn in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = turn
    save(rgb, f"turn{turn}.jpg", exif=exif, quality=95, subsampling=0)
    if turn in (3, 6):
        save(rgb, f"turn{turn}.png", exif=exif)
        save(rgb, f"turn{turn}.webp", exif=exif, lossless=True)
        save(rgb, f"turn{turn}.tif", exif=exif)
