"""Two ranks of wick train, one of which may use half a CPU: how many steps a second with leaves that move, beside even shares, and whether the weights have the same bits.

    sudo python bench/shares.py build/release/bin/wick DATA [LEAVES [STEPS [ROUNDS]]]     # default: 32 leaves, 120 steps, 3 rounds

DATA is what `wick train --data` takes: 32 x 32 pictures, for ResNet-8 in batches of 128. Each rank has one thread and a cgroup of its own with far more weight than anything else on the machine; that of rank 1 has a quota of
half a CPU in periods of 10 ms (cpu.max, or of cgroup v1 cpu.cfs_quota_us), which wants root. Kinds of runs take turns; a speed is the median of ROUNDS, by `seconds` of the log, of all steps behind the first 40, in which leaves
find their ranks, and of all but the first. The last two rows are of two ranks without a quota: what looking for differences costs where there are none.
"""
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

wick, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LEAVES, STEPS, ROUNDS = (int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((3, 32), (4, 120), (5, 3)))
BATCH, SETTLED, PERIOD = 128, 40, 10000
root = pathlib.Path("/sys/fs/cgroup")
v1 = root / "cpu" if (root / "cpu" / "cpu.cfs_quota_us").exists() else None
base = v1 or root
groups = [base / f"wick-shares-{os.getpid()}-{rank}" for rank in range(2)]


def set_quota(group, share):
    if v1:
        (group / "cpu.shares").write_text("262144")
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.cfs_quota_us").write_text(str(int(PERIOD * share)) if share < 1 else "-1")
    else:
        (group / "cpu.weight").write_text("10000")
        (group / "cpu.max").write_text(f"{int(PERIOD * share) if share < 1 else 'max'} {PERIOD}")


def weights(path):
    """The SHA-256 of all states, without the file's header."""
    blob = path.read_bytes()
    return hashlib.sha256(blob[8 + int.from_bytes(blob[:8], "little"):]).hexdigest()


def train(folder, shares, share):
    """Steps a second (settled, and of all), the last shares, the states' hash."""
    set_quota(groups[0], 1)
    set_quota(groups[1], share)
    command = ("for group in $WICK_GROUPS; do test $group = ${group%-$WICK_RANK} || echo $$ >$group/cgroup.procs; done; "
               'exec "$0" "$@"')
    epochs = 2
    arguments = [wick, "launch", "-n", "2", "--threads", "1", "sh", "-c", command, wick, "train", "--data", data, "--arch", "resnet8", "--batch", str(BATCH), "--leaves", str(LEAVES), "--limit", str(STEPS * BATCH // epochs), "--epochs",
                 str(epochs), "--validation", "0", "--augment", "flip,crop=4", "--shares", shares, "--out", str(folder), "--force", "--quiet"]
    subprocess.run(arguments, check=True, env={**os.environ, "WICK_GROUPS": " ".join(map(str, groups))}, stdout=subprocess.DEVNULL)
    rows = [json.loads(line) for line in open(folder / "log.jsonl")]
    steps = [row for row in rows if "loss" in row]
    moves = [row["shares"] for row in steps if "shares" in row]
    speed = lambda first: (len(steps) - first) / (steps[-1]["seconds"] - steps[first - 1]["seconds"])
    return speed(SETTLED), speed(1), moves[-1] if moves else [LEAVES // 2] * 2, len(moves), weights(folder / "last.safetensors")


def main():
    kinds = [("even", 0.5), ("speed", 0.5), ("even", 1), ("speed", 1)]
    found = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as work:
        for _ in range(ROUNDS):
            for kind in kinds:
                found[kind].append(train(pathlib.Path(work) / "run", *kind))
    print(f"rank 1 has  --shares  steps/s behind {SETTLED}  of all  shares  moves")
    for (shares, share), runs in found.items():
        print(f"{share:10} {shares:>9} {statistics.median(r[0] for r in runs):18.2f} {statistics.median(r[1] for r in runs):7.2f}  {'/'.join(map(str, runs[-1][2]))}  {runs[-1][3]}")
    for share, what in ((0.5, "one rank at half speed"), (1, "equal ranks")):
        for i, part in ((0, f"behind step {SETTLED}"), (1, "of all steps")):
            ratios = [on[i] / off[i] for on, off in zip(found["speed", share], found["even", share])]
            print(f"{what}: {statistics.median(ratios):.3f} times the steps of even shares, {part} ({min(ratios):.3f} to {max(ratios):.3f})")
    hashes = {r[4] for runs in found.values() for r in runs}
    print(f"SHA-256 of all states: {', '.join(h[:16] for h in hashes)}{'' if len(hashes) == 1 else ': THEY DIFFER'}")
    return len(hashes) != 1


if os.geteuid():
    sys.exit("quotas of CPUs are root's to set")
for g in groups:
    g.mkdir()
try:
    sys.exit(main())
finally:
    for g in groups:
        g.rmdir()
