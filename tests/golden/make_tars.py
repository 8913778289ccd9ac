"""Writes tars/FORMAT.tar.gz with Python's tarfile, for tests/data/test_tar.c. Run: python make_tars.py (in this folder). The files are the same
in each, but ustar's names end at 255 bytes: file k has k * 300 bytes, the byte at i is (k + i) % 251.
"""
import gzip
import io
import os
import tarfile

os.makedirs("tars", exist_ok=True)
names = ["./top/a.txt", "top/empty", "top/" + "d" * 90 + "/" + "n" * 60, "top/" + "long" * 70 + "/x" * 20, "top/\u00e4", "top/last"]
for kind, form in [("ustar", tarfile.USTAR_FORMAT), ("gnu", tarfile.GNU_FORMAT), ("pax", tarfile.PAX_FORMAT)]:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=form) as t:
        folder = tarfile.TarInfo("top")
        folder.type = tarfile.DIRTYPE
        t.addfile(folder)
        for k, name in enumerate(names):
            if kind == "ustar" and len(name) > 255:
                continue
            info = tarfile.TarInfo(name)
            data = b"" if k == 1 else bytes((k + i) % 251 for i in range(k * 300))
            info.size = len(data)
            if kind == "pax":
                info.mtime = 1.5  # needs a record
            t.addfile(info, io.BytesIO(data))
            link = tarfile.TarInfo("top/link%d" % k)
            link.type = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE][k % 3]
            link.linkname = "top/" + "far" * (30 if kind == "ustar" else 40)
            t.addfile(link)
    with open(f"tars/{kind}.tar.gz", "wb") as f:
        f.write(gzip.compress(raw.getvalue(), 9, mtime=0))
