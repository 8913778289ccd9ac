"""make_events.py: bytes of TensorBoard's events as its own code writes them, for tests/profile/test_events.c.
TensorBoard 2.21.0, protobuf as installed with it. Run: python tests/golden/make_events.py > tests/golden/events.h"""
import struct

import numpy as np
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

VALUES = [0.0, 1.0, -1.0, 0.5, 0.5, 1e-13, -3.25, 100.0]


def limits():
    out, v = [], 1e-12
    for _ in range(774):
        out.append(v)
        v *= 1.1
    bounds = [-x for x in reversed(out)] + [0.0] + out
    bounds[-1] = 1.7976931348623157e308
    return bounds


def histogram():
    bounds, x = limits(), np.array(VALUES, np.float32).astype(np.float64)
    counts = [0] * len(bounds)
    for v in x:
        counts[next(i for i, b in enumerate(bounds) if b > v)] += 1
    first = next(i for i, c in enumerate(counts) if c)
    last = max(i for i, c in enumerate(counts) if c)
    kept = [i for i in range(first, last + 1) if i == last or counts[i] or counts[i + 1]]  # runs of zeros are one
    total = squares = 0.0
    for v in x:  # in order, as a loop adds
        total += v
        squares += v * v
    return summary_pb2.HistogramProto(min=x.min(), max=x.max(), num=len(x), sum=total, sum_squares=squares,
                                      bucket_limit=[bounds[i] for i in kept], bucket=[counts[i] for i in kept])


def value(**fields):
    return summary_pb2.Summary(value=[summary_pb2.Summary.Value(**fields)])


text = summary_pb2.Summary.Value(
    tag="a text", tensor=tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, string_val=[b"hello"],
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])),
    metadata=summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text")))
events = [
    event_pb2.Event(wall_time=1, file_version="brain.Event:2"),
    event_pb2.Event(wall_time=1, step=7, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
    event_pb2.Event(wall_time=1, step=8, summary=value(tag="train/loss", simple_value=0.1)),
    event_pb2.Event(wall_time=1, step=1 << 40, summary=value(tag="zero", simple_value=0)),
    event_pb2.Event(wall_time=1, step=9, summary=value(tag="w", histo=histogram())),
    event_pb2.Event(wall_time=1, step=9, summary=value(
        tag="p", image=summary_pb2.Summary.Image(height=2, width=3, colorspace=3, encoded_image_string=b"\x89PNG"))),
    event_pb2.Event(wall_time=1, step=10, summary=summary_pb2.Summary(value=[text])),
]
print("/* Records of TensorBoard 2.21.0 at time 1: made by make_events.py. */")
print("static const char *const golden_events[] = {")
for e in events:
    data = e.SerializeToString()
    head = struct.pack("<Q", len(data))
    record = head + struct.pack("<I", masked_crc32c(head)) + data + struct.pack("<I", masked_crc32c(data))
    digits = record.hex()
    lines = [digits[i:i + 100] for i in range(0, len(digits), 100)]
    quoted = "\n     ".join(f'"{line}"' for line in lines)
    print(f"    ({quoted})," if len(lines) > 1 else f"    {quoted},")
print("};")
