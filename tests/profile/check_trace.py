"""check_trace.py TRACE.pftrace [TRACE.trace.json]: reads timelines by other people's readers: packets by the schema of
PyPI's perfetto (0.16), events by json. What must hold: every begin ends, times of a track don't go back, names are
known, tracks have threads' names. Prints counts; exit code 1 where something doesn't hold, 77 where the schema isn't installed."""
import collections
import json
import sys

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
    sys.exit(77)

trace = pb.Trace()
data = open(sys.argv[1], "rb").read()
trace.ParseFromString(data)
names, defaults, tracks, open_, last = {}, {}, {}, collections.defaultdict(list), {}
begins = ends = flows = 0
for p in trace.packet:
    seq = p.trusted_packet_sequence_id
    if p.HasField("trace_packet_defaults"):
        defaults[seq] = p.trace_packet_defaults.track_event_defaults.track_uuid
    if p.HasField("track_descriptor"):
        d = p.track_descriptor
        tracks[d.uuid] = d.name or d.thread.thread_name or d.process.process_name
    for e in p.interned_data.event_names:
        names[seq, e.iid] = e.name
    if not p.HasField("track_event"):
        continue
    track = p.track_event.track_uuid or defaults[seq]
    assert track in tracks, track
    if p.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
        assert (seq, p.track_event.name_iid) in names
        open_[track].append(p.timestamp)
        begins += 1
        flows += len(p.track_event.flow_ids)
    else:
        assert p.track_event.type == pb.TrackEvent.TYPE_SLICE_END
        assert open_[track] and open_[track].pop() <= p.timestamp
        ends += 1
    assert p.timestamp >= last.get(track, 0), (track, p.timestamp, last[track])
    last[track] = p.timestamp
assert begins == ends, (begins, ends)
print(f"{begins} spans on {len(last)} of the tracks {sorted(tracks.values())}, {flows} flow ends, "
      f"{len(data) / max(begins, 1):.1f} bytes a span")
if len(sys.argv) > 2:
    events = json.load(open(sys.argv[2]))
    spans = [e for e in events if e.get("ph") == "X"]
    assert all(e["dur"] >= 0 for e in spans)
    print(f"{len(spans)} spans as Chrome's events")
