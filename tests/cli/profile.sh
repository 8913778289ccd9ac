# wick profile, and --profile of train, eval and run: what was found, and the files.
. "$(dirname "$0")/lib.sh"
net=(--arch lenet --input 28,28 --threads 1)
here=$(cd "$(dirname "$0")" && pwd)

# read_by SCRIPT FILE...: by other people's readers, where they are installed.
read_by() {
    local python=${WICK_PYTHON:-python3} code=0
    command -v "$python" >/dev/null || return 0
    "$python" "$here/../profile/$1" "${@:2}" >out 2>err || code=$?
    [ $code = 0 ] || [ $code = 77 ] || { fail "$1 refuses it" && cat err; }
}

test_profile() {
    expect 0 "$wick" profile "${net[@]}" --batch 4 --runs 20
    has out "lenet, f32 [4, 28, 28]" && has out ", 20 runs on 1 thread" && has out "conv  conv1" && has out "of that in kernels" && has out "workspaces"
    expect 0 "$wick" profile "${net[@]}" --train --runs 3 --quiet && has out "backward" && [ ! -s err ] || fail "talk with --quiet"
    expect 0 "$wick" profile "${net[@]}" --runs 7 --json && valid_json out && has out '"runs": 7,' && has out '"clock": "' && has out '{"use": "workspaces", "bytes": '
    expect 2 "$wick" profile && has err "needs MODEL"
    expect 2 "$wick" profile "${net[@]}" --runs 0
}
# Advice about threads was tried.
test_advice_is_raced() {
    [ "$(nproc)" -gt 1 ] || return 0
    local net=(--arch resnet8 --input 3,32,32 --batch 16 --runs 10 --threads 1)
    expect 0 "$wick" profile "${net[@]}" && grep -q "try: .*--threads [0-9].*raced\|try: .*raced, --threads" out || fail "$(grep try: out)"
    expect 0 "$wick" profile "${net[@]}" --json && valid_json out && grep -q '"advice": ".*raced' out || fail "$(grep advice out)"
    expect 0 "$wick" profile "${net[@]}" --no-race && lacks out raced && has out "more threads: --threads"
}
test_profile_files() {
    expect 0 "$wick" profile "${net[@]}" --runs 9 --profile a.pftrace --profile a.svg --profile a.folded --profile a.txt --profile a.json
    has err "wrote a.pftrace" && has a.svg "conv1" && has a.txt "9 runs" && valid_json a.json && has a.folded "main;run;conv1;conv "
    [ "$(head -c 1 a.pftrace | od -An -tx1 | tr -d ' ')" = 0a ] || fail "a.pftrace is no trace"
    expect 0 "$wick" profile "${net[@]}" --runs 9 --profile a.trace.json --quiet && valid_json a.trace.json && has a.trace.json '"ph":"X"'
    expect 0 "$wick" profile "${net[@]}" --runs 9 --profile a.html --quiet && has a.html "wick profile"
    sed -n '/id=events>/,/<.script>$/p' a.html | sed '1d;$d' >events.json && valid_json events.json && has events.json '"ph":"X"'
    expect 0 "$wick" profile "${net[@]}" --runs 9 --profile a.svg --profile a.html --quiet # a profile is replaced
    # Sums are exact: stacks are all of the runs, layers are all of the kernels.
    if command -v python3 >/dev/null; then
        python3 - <<'PY' || fail "sums differ"
import json
d = json.load(open("a.json"))
folded = sum(int(line.rsplit(" ", 1)[1]) for line in open("a.folded"))
for view in "kernels", "ops", "layers":
    assert abs(sum(r["seconds"] for r in d[view]) / d["seconds"]["step"] - 1) < 1e-3, view
assert all(r["count"] == 9 for r in d["kernels"])
assert folded > 0
PY
    fi
}
# Lines are messages, and by OpenTelemetry's own schema where that is installed.
test_opentelemetry() {
    make_data otlp_images 300 50
    expect 0 "$wick" train --data otlp_images --arch mlp:16 --epochs 1 --batch 50 --threads 2 --workers 1 --out otlp --profile s.otlp.jsonl --metrics m.otlp.jsonl --quiet
    has s.otlp.jsonl '{"resourceSpans":' && has s.otlp.jsonl '"parentSpanId":' && has s.otlp.jsonl '"wick.batch"' && has m.otlp.jsonl '"wick.step"'
    [ "$(tail -c 1 s.otlp.jsonl | od -An -tx1 | tr -d ' ')" = 0a ] || fail "the last message has no end"
    head -n 1 s.otlp.jsonl >line.json && valid_json line.json && tail -n 1 s.otlp.jsonl >line.json && valid_json line.json && valid_json m.otlp.jsonl
    read_by check_otlp.py s.otlp.jsonl m.otlp.jsonl
    expect 0 "$wick" profile "${net[@]}" --runs 3 --profile s.otlp.jsonl --quiet # a profile is replaced
    head -c 60 s.otlp.jsonl >mine.otlp.jsonl && echo '"not ours"' >>mine.otlp.jsonl
    expect 2 "$wick" profile "${net[@]}" --runs 3 --profile mine.otlp.jsonl && has err "is no profile"
}
# Where there is no time-stamp counter that can be trusted, or it isn't to be.
test_another_clock() {
    expect 0 env WICK_CLOCK=monotonic "$wick" profile "${net[@]}" --runs 9 --json --profile c.pftrace
    has out '"clock": "clock_gettime"' && has out '"runs": 9,' && read_by check_trace.py c.pftrace
}
# The notes by which tracers find the probes, as binutils read them; where there are none the test ends.
test_probes() {
    case $(uname -sm) in "Linux x86_64" | "Linux aarch64") ;; *) return 0 ;; esac
    command -v readelf >/dev/null || return 0
    readelf -n "$wick" 2>/dev/null >notes
    grep -q "stapsdt" notes || { ldd "$wick" | grep -q libwick && return 0; fail "no probes"; }
    local name
    for name in run__begin run__end step batch checkpoint__begin checkpoint__end; do
        grep -A 3 "Provider: wick" notes | grep -q "Name: $name\$" || fail "no probe $name"
    done
    ! grep "Location:" notes | grep -q "0x0000000000000000, Base" || fail "a probe is nowhere"
}
test_profile_refuses() {
    echo "something else" >mine.svg
    expect 2 "$wick" profile "${net[@]}" --profile mine.svg && has err "is no profile" && has mine.svg "something else"
    expect 2 "$wick" profile "${net[@]}" --profile x.png && has err ".pftrace, .html and .trace.json are timelines"
    expect 2 "$wick" profile "${net[@]}" --profile a.pftrace --profile b.trace.json && has err "one timeline"
    expect 3 "$wick" profile nowhere.onnx
}
test_memory_over_time() {
    expect 0 "$wick" profile "${net[@]}" --train --runs 2 --memory small.tsv --memory m.svg && has m.svg 'svg wick="memory"' && has err "wrote small.tsv"
    expect 0 "$wick" profile "${net[@]}" --train --runs 2 --batch 32 --memory m.html --memory m.svg --memory-before small.tsv --quiet
    has m.html "What changed most" && has m.html "workspaces" && has m.svg "all of it, before"
    expect 2 "$wick" profile "${net[@]}" --memory m.png && has err "written as .svg, .html or .tsv"
    expect 2 "$wick" profile "${net[@]}" --memory-before small.tsv && has err "is for --memory"
    echo "something else" >mine.html
    expect 2 "$wick" profile "${net[@]}" --memory mine.html && has err "is no profile" && has mine.html "something else"
    head -c 300 small.tsv >cut.tsv
    expect 3 "$wick" profile "${net[@]}" --memory x.svg --memory-before cut.tsv && has err "cut.tsv: line "
}
test_profile_of_a_training() {
    make_data images 600 100
    expect 0 "$wick" train --data images --arch mlp:32 --epochs 2 --batch 50 --threads 1 --workers 1 --out with --profile t.json --profile t.pftrace
    has err "profile: " && valid_json t.json && has t.json '"wait for a batch"' && has t.json '"make samples"'
    read_by check_trace.py t.pftrace
    expect 0 "$wick" train --data images --arch mlp:32 --epochs 2 --batch 50 --threads 1 --out without --quiet
    same_tensors with/last.safetensors without/last.safetensors
    expect 0 "$wick" eval with --profile e.txt --threads 1 && has e.txt "runs on 1 thread"
    expect 2 "$wick" train --data images --arch mlp:32 --out again --profile images && has err "written as"
    expect 0 "$wick" convert with net.onnx --quiet
    expect 0 "$wick" run net.onnx --input random --repeat 5 --profile r.json --threads 1 && valid_json r.json && has r.json '"runs": '
    expect 2 "$wick" run net.onnx --input random --profile net.onnx && has err "is the model itself"
}
# Another command as it is, exit code and output too; what bounds it is said last.
test_profile_of_a_command() {
    [ -d images ] || make_data images 600 100
    local train=(train --data images --arch mlp:32 --epochs 1 --threads 1)
    expect 0 "$wick" "${train[@]}" --out plain.c --quiet
    expect 0 "$wick" profile --profile c.json --profile c.svg -- wick "${train[@]}" --out c1
    valid_json c.json && has c.svg "fc1" && has err "wrote c.json" && tail -n 3 err | grep -q "^  *try: " || fail "$(tail -n 4 err)"
    same_tensors plain.c/last.safetensors c1/last.safetensors
    expect 0 "$wick" profile -- "$wick" "${train[@]}" --out c2 --quiet && has err "profile: " && [ "$(grep -c "^profile: " err)" = 1 ] || fail "$(cat err)"
    expect 0 "$wick" profile --quiet -- "${train[@]}" --out c3 --quiet && [ ! -s err ] || fail "$(cat err)"
    expect 0 "$wick" profile -- wick eval c1 --threads 1 --json && valid_json out && has out '"loss"' && has err "profile: "
    expect 3 "$wick" profile -- wick eval no-such-model && has err "no-such-model" && has err "nothing was recorded"
    expect 0 "$wick" profile -- wick eval --help && has out "wick eval"
    expect 2 "$wick" profile -- wick ops && has err "train, eval, run"
    expect 2 "$wick" profile -- ls -l && has err "-- ls: a command of this wick"
    expect 2 "$wick" profile -- wick profile --arch lenet && has err "isn't recorded"
    expect 2 "$wick" profile --runs 3 -- wick eval c1 && has err "--runs before --"
    expect 2 "$wick" profile --profile c.doc -- wick eval c1 && has err "c.doc"
    expect 2 "$wick" profile net.onnx -- wick eval c1 && has err "net.onnx before --"
}
test_curves_and_metrics() {
    [ -d images ] || make_data images 600 100
    expect 0 "$wick" train --data images --arch mlp:32 --epochs 2 --batch 50 --threads 1 --out curves --tensorboard tb --metrics m.txt --json
    valid_json out && has out '"step_seconds": {"mean": ' && has out '"memory_peak_bytes": ' && has out '"instructions": ' && has out '"counters_why": '
    has m.txt "wick_steps_total 22" && has m.txt 'wick_value{name="step/loss"}' && [ "$(tail -n 1 m.txt)" = "# EOF" ] || fail "metrics have no end"
    [ "$(ls tb | wc -l)" = 1 ] && grep -qa "step/loss" tb/* && grep -qa "fc1.weight" tb/* || fail "no curves"
    read_by check_events.py curves/log.jsonl tb m.txt
    expect 0 "$wick" train --resume curves --epochs 3 --tensorboard tb --quiet && [ "$(ls tb | wc -l)" = 2 ] || fail "a run that goes on has no file of its own"
    read_by check_events.py curves/log.jsonl tb
    expect 1 "$wick" train --data images --arch mlp:32 --out other --tensorboard /dev/null/x && has err "--tensorboard: "
    expect 1 "$wick" train --data images --arch mlp:32 --out other2 --metrics /nowhere/m.txt && has err "--metrics: "
    for port in : :x :-1 :65536 :1x; do expect 2 "$wick" train --data images --arch mlp:32 --out other2 --metrics $port && has err "a port is a number"; done
    expect 0 "$wick" train --data images --arch mlp:32 --epochs 1 --out served --metrics :0 && has err "metrics: http://127.0.0.1:"
}
# Prometheus' own checker of its text format.
test_prometheus_text() {
    [ -d images ] || make_data images 600 100
    expect 0 "$wick" train --data images --arch mlp:32 --epochs 1 --threads 1 --out prom --metrics m.prom --quiet
    has m.prom "# TYPE wick_steps_total counter" && has m.prom "wick_value{name=" && lacks m.prom "# EOF" && lacks m.prom "# UNIT"
    [ "$(grep -c '^# HELP' m.prom)" = "$(grep -c '^# TYPE' m.prom)" ] || fail "$(cat m.prom)"
    command -v promtool >/dev/null || return 0
    promtool check metrics <m.prom >out 2>&1 || fail "$(cat out)"
}
test_tune_batch() {
    expect 0 "$wick" tune batch "${net[@]}" --most 8 --time 0.05 --latency 1000
    has out "samples/s" && has out "chosen" && has out "by the usual formula" && [ "$(grep -c '^ *[1248] ' out)" = 4 ] || fail "no four sizes"
    expect 0 "$wick" tune batch "${net[@]}" --most 4 --time 0.05 --latency 1000 --train --json && valid_json out && has out '"chosen": ' && has out '"by_formula": 2'
    expect 0 "$wick" tune batch "${net[@]}" --most 4 --time 0.05 --latency 0.000001 && has out "no size keeps"
    [ -f net.onnx ] && expect 0 "$wick" tune batch net.onnx --most 4 --time 0.05 --threads 1 --latency 1000 && has out "chosen"
    expect 2 "$wick" tune everything && has err "takes nothing, or batch and a MODEL"
    expect 2 "$wick" tune --latency 5 && has err "is for wick tune batch MODEL"
    expect 2 "$wick" tune batch && has err "needs MODEL"
    expect 3 "$wick" tune batch nowhere.onnx
}
# Makes a cgroup whose memory can be limited, of either generation.
can_limit() {
    group=/sys/fs/cgroup/memory/wick-test-$$ limit=memory.limit_in_bytes events=memory.oom_control
    if ! [ -d /sys/fs/cgroup/memory ]; then
        group=/sys/fs/cgroup/wick-test-$$ limit=memory.max events=memory.events
    fi
    mkdir "$group" 2>/dev/null && [ -w "$group/$limit" ] && [ -w "$group/cgroup.procs" ] && return 0
    rmdir "$group" 2>/dev/null
    return 1
}
in_group() (
    echo "$BASHPID" >"$group/cgroup.procs" && exec "$@"
)
# What the search says fits does: of a cgroup it takes what is left, runs sizes up to the largest there, and afterwards
# the step runs there by itself, and a whole training with its data, evaluations and checkpoints. Nobody is killed.
test_batch_in_a_cgroup_of_exactly_the_limit() {
    [ -z "${SANITIZED:-}" ] || return 0 # their shadow takes more
    can_limit || { echo "  skipped: no cgroup with a limit of memory can be made here"; return 0; }
    local bytes batch fits
    make_data images28 1000 200 28
    echo 100000000 >"$group/$limit"
    # a compiler beside it would need more
    expect 0 in_group env WICK_JIT=wait XDG_CACHE_HOME="$scratch/no-cache" "$wick" explain --arch resnet8 --input 3,32,32 && has out "no machine code: the cgroup leaves "
    for bytes in 16777216 33554432; do
        echo $bytes >"$group/$limit"
        expect 0 in_group "$wick" tune batch "${net[@]}" --train --most 4096 --time 0.1 --latency 100000 --json
        [ "$(json out memory)" -lt $bytes ] && [ "$(json out memory)" -gt $((bytes / 2)) ] || fail "$(json out memory) of $bytes"
        fits=$(tr -d '\n' <out | grep -o '"batch": [0-9]*, *"bytes": [0-9]*, *"fits": true' | tail -n 1)
        batch=$(echo "$fits" | grep -o '[0-9]*' | head -n 1)
        [ "$(echo "$fits" | grep -o '[0-9]*' | tail -n 1)" -gt $((bytes / 3)) ] && has out '"fits": false' || fail "$fits is not the largest"
        # advice isn't raced where that would take as much again
        expect 0 in_group "$wick" profile "${net[@]}" --train --batch "$batch" --runs 30 && has out "30 runs"
        [ "$(nproc)" = 1 ] || has err "note: advice about --threads $(nproc) could not be raced: it takes"
        expect 0 in_group env WICK_JIT=1 "$wick" train --data images28 --arch lenet --threads 1 --batch "$batch" --epochs 1 --out exact --force --quiet
        grep -q '^oom_kill 0' "$group/$events" || fail "$(cat "$group/$events")"
    done
    for _ in $(seq 50); do # what ended a moment ago may still be there
        rmdir "$group" 2>/dev/null && return 0
        sleep 0.1
    done
    fail "$group is still in use"
}
test_main
