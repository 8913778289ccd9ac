"""check_events.py LOG.jsonl FOLDER [METRICS]: reads what wick train --tensorboard FOLDER --metrics METRICS wrote by
TensorBoard (2.21) and prometheus_client, and holds the curves against the run's log: each step once, to the bit of f32. Exit code
1 where something doesn't hold, 77 where the readers aren't installed."""
import json
import sys

try:
    import numpy as np
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError:
    sys.exit(77)

steps = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "loss" in row:
        steps[row["step"]] = row
curves = EventAccumulator(sys.argv[2], size_guidance={"scalars": 0, "histograms": 0})
curves.Reload()
for tag, key in ("step/loss", "loss"), ("step/lr", "lr"), ("step/accuracy", "accuracy"):
    points = curves.Scalars(tag)
    assert [p.step for p in points] == sorted(steps), (tag, len(points), len(steps))
    exact = key != "lr"  # which the log has 9 digits of a double of
    assert all(np.isclose(np.float32(p.value), np.float32(steps[p.step][key]), rtol=0 if exact else 2e-7, atol=0)
               for p in points), tag
histograms = curves.Tags()["histograms"]
print(f"{len(steps)} steps in {len(curves.Tags()['scalars'])} curves, {len(histograms)} histograms of "
      f"{len(curves.Histograms(histograms[0]))} epochs")
graph = curves.Graph()
names = {node.name for node in graph.node}
assert len(names) == len(graph.node) > 10
assert all(of.split(":")[0] in names for node in graph.node for of in node.input)
assert all("_output_shapes" in node.attr for node in graph.node)
print(f"a graph of {len(names)} nodes: {len({n.split('/')[0] for n in names if '/' in n})} groups")
if len(sys.argv) > 3:
    families = list(text_string_to_metric_families(open(sys.argv[3]).read()))
    print(f"{len(families)} metrics, {sum(len(f.samples) for f in families)} samples")
