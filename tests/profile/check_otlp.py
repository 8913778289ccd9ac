"""check_otlp.py SPANS.otlp.jsonl [METRICS.otlp.jsonl]: reads them by OpenTelemetry's own schema (PyPI's
opentelemetry-proto). What must hold: every line is a message with nothing unknown, ids differ, a span lies within its
parent, which there is. Exit code 1 where something doesn't hold, 77 where the schema isn't installed."""
import base64
import json
import sys

try:
    from google.protobuf import json_format
    from opentelemetry.proto.metrics.v1 import metrics_pb2
    from opentelemetry.proto.trace.v1 import trace_pb2
except ImportError:
    sys.exit(77)

IDS = ("traceId", "spanId", "parentSpanId")


def plain(v):  # OTLP's JSON has ids in hexadecimal, where protocol buffers' has base64
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, dict):
        return {k: base64.b64encode(bytes.fromhex(x)).decode() if k in IDS else plain(x) for k, x in v.items()}
    return v


def messages(path, kind):
    for line in open(path):
        yield json_format.ParseDict(plain(json.loads(line)), kind())


spans = [s for m in messages(sys.argv[1], trace_pb2.TracesData) for r in m.resource_spans
         for c in r.scope_spans for s in c.spans]
known = {s.span_id: s for s in spans}
assert spans and len(known) == len(spans) and len({s.trace_id for s in spans}) == 1
assert all(len(s.span_id) == 8 and len(s.trace_id) == 16 for s in spans)
for s in spans:
    assert s.name and 0 < s.start_time_unix_nano <= s.end_time_unix_nano
    if s.parent_span_id:
        p = known[s.parent_span_id]
        assert p.start_time_unix_nano <= s.start_time_unix_nano and s.end_time_unix_nano <= p.end_time_unix_nano
inner = sum(bool(s.parent_span_id) for s in spans)
assert inner
print(f"{len(spans)} spans, {inner} within others, of {sorted({a.value.string_value for s in spans for a in s.attributes if a.key == 'thread.name'})}")
if len(sys.argv) > 2:
    m, = messages(sys.argv[2], metrics_pb2.MetricsData)
    found = {x.name: x for r in m.resource_metrics for c in r.scope_metrics for x in c.metrics}
    assert found["wick.steps"].sum.is_monotonic and found["wick.steps"].sum.data_points[0].as_double > 0
    assert len(found["wick.step"].summary.data_points[0].quantile_values) == 3
    assert found["wick.memory_bytes"].unit == "By" and found["wick.value"].gauge.data_points
    print(f"{len(found)} metrics, {found['wick.steps'].sum.data_points[0].as_double:.0f} steps")
