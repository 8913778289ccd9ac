"""Writes boxes.txt: COCO's metrics of random boxes by pycocotools 2.0.11, for tests/cli/test_boxes.c.
Run: python make_boxes.py > boxes.txt"""
import contextlib
import io

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

rng = np.random.default_rng(30)


def emit(name, value):
    value = np.asarray(value, dtype=np.float64)
    print(name, value.ndim, *value.shape, " ".join("%.17g" % v for v in value.flatten()))


def boxes(n):
    low = rng.integers(0, 480, (n, 2)) / 8
    return np.concatenate([low, low + rng.integers(8, 240, (n, 2)) / 8], 1)


def case(name, pictures, classes, rate, noise, ties):
    """Boxes, and what was found: most of them moved, some twice, some of another class, and some from nowhere."""
    truth, found = [], []
    for i in range(pictures):
        for k in range(classes - 1):  # the last class has no box
            at = boxes(rng.integers(0, rate + 1))
            truth += [(i, k, *b) for b in at]
            for b in at:
                for _ in range(rng.integers(0, 3)):
                    moved = np.round((b + rng.normal(size=4) * noise) * 8) / 8
                    if (moved[2:] > moved[:2]).all():
                        found.append((i, k if rng.random() < 0.9 else rng.integers(0, classes), rng.random(), *moved))
        found += [(i, rng.integers(0, classes), rng.random() * 0.7, *b) for b in boxes(rng.integers(0, 3))]
    found = [(f[0], f[1], np.float32(round(f[2], 1) if ties else f[2]), *f[3:]) for f in found]
    found.sort(key=lambda f: (f[0], f[1], -f[2]))
    images = [{"id": i + 1} for i in range(pictures)]
    wide = lambda b: [b[0], b[1], b[2] - b[0], b[3] - b[1]]
    gt = [{"id": n + 1, "image_id": t[0] + 1, "category_id": t[1] + 1, "bbox": wide(t[2:]), "iscrowd": 0,
           "area": (t[4] - t[2]) * (t[5] - t[3])} for n, t in enumerate(truth)]
    dt = [{"image_id": f[0] + 1, "category_id": int(f[1]) + 1, "score": float(f[2]), "bbox": wide(f[3:])} for f in found]
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = {"images": images, "annotations": gt, "categories": [{"id": k + 1} for k in range(classes)]}
        coco.createIndex()
        e = COCOeval(coco, coco.loadRes(dt), "bbox")
        e.evaluate()
        e.accumulate()
        e.summarize()
    p, r = e.eval["precision"][:, :, :, 0, 2], e.eval["recall"][:, :, 0, 2]  # [share, recall, class], [share, class]
    emit(f"{name}.truth", truth)
    emit(f"{name}.found", found)
    emit(f"{name}.mean", [e.stats[0], e.stats[1], e.stats[2], r[0][r[0] > -1].mean()])
    emit(f"{name}.each", [[p[:, :, k].mean(), p[0, :, k].mean(), p[5, :, k].mean(), r[0, k]] for k in range(classes)])
    emit(f"{name}.precision", p[0].T)


print("# pycocotools 2.0.11, make_boxes.py")
case("usual", 12, 4, 5, 1.5, False)
case("loose", 6, 3, 8, 4, False)
case("ties", 8, 3, 5, 1.5, True)
case("one", 1, 2, 3, 0.5, False)
