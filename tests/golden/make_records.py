"""Writes records/*.wrec for tests/data/test_records.c, by docs/data.md alone. Run: python make_records.py (in this folder). Needs zstandard and lz4 (PyPI).
Record i has i * i * 10 bytes, the one at j is (i + j // 16) % 251; its label is i % 3 - 1.
"""
import os
import struct

import lz4.block
import zstandard

TABLE = []
for b in range(256):
    for _ in range(8):
        b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
    TABLE.append(b)


def crc32c(data):
    c = 0xFFFFFFFF
    for b in data:
        c = c >> 8 ^ TABLE[(c ^ b) & 255]
    return c ^ 0xFFFFFFFF


def pad(data):
    return data + bytes(-len(data) % 64)


def sealed(data):
    data += bytes(60 - len(data))
    return data + struct.pack("<I", crc32c(data))


def record(i):
    return bytes((i + j // 16) % 251 for j in range(i * i * 10))


def header(compression, meta, dictionary=b""):
    return pad(sealed(b"WICKREC\n" + struct.pack("<IIIIIIQ", 1, compression, len(meta), crc32c(meta), len(dictionary), crc32c(dictionary), 0)) + meta + dictionary)


def part(at, first, last, pack):
    data, index = b"", b""
    for i in range(first, last):
        plain = record(i)
        stored = min(pack(plain), plain, key=len) if pack and plain else plain
        index += struct.pack("<QIIIi", at + 64 + len(data), len(stored), len(plain), crc32c(stored), i % 3 - 1)
        data += stored
    return sealed(b"RECPART\n" + struct.pack("<QQQQI", at, first, last - first, len(data), crc32c(index))) + pad(data) + pad(index)


os.makedirs("records", exist_ok=True)
meta = b"kind bytes\nclass a\nclass b\n"
dictionary = bytes(j // 16 % 251 for j in range(2000))
packs = {
    "plain": (0, b"", None),
    "lz4": (1, b"", lambda d: lz4.block.compress(d, store_size=False)),
    "zstd": (2, b"", zstandard.ZstdCompressor(write_content_size=True).compress),
    "dictionary": (2, dictionary, zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(dictionary)).compress),
}
for name, (compression, words, pack) in packs.items():
    file = header(compression, meta, words)
    open(f"records/{name}.wrec", "wb").write(file + part(len(file), 0, 12, pack))
file = header(0, meta)
for first, last in (0, 5), (5, 5), (5, 12):
    file += part(len(file), first, last, None)
open("records/appended.wrec", "wb").write(file)
open("records/torn.wrec", "wb").write(file + bytes(64) + b"the head comes last")
