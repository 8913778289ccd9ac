# wick shrink: all that makes a trained classifier smaller, under a budget.
. "$(dirname "$0")/lib.sh"

make_run() {
    [ -d data ] || make_data data 600 200 12
    [ -d run ] || expect 0 "$wick" train --data data --net "conv 16 3 pad 1, bn, relu, maxpool 2, flatten, linear 64, relu, linear classes" --batch 50 --epochs 6 --quiet --out run
}
# the attempt that was written: its FIELD
written() { python3 -c "import json; print([a for a in json.load(open('out'))['attempts'] if a.get('written')][0]['$1'])"; }

test_budget_of_bytes() {
    make_run || return
    expect 0 "$wick" shrink run -o small.onnx --max-kb 60 --max-drop 20 --json && valid_json out && has out '"within": true' && has out '"network": "low rank, 1/2"' || return
    ls | grep -q try && fail "what was tried is left: $(ls)"
    [ "$(wc -c <small.onnx)" -le 60000 ] || fail "$(wc -c <small.onnx) bytes"
    command -v python3 >/dev/null && [ "$(written file_bytes)" != "$(wc -c <small.onnx | tr -d ' ')" ] && fail "$(written file_bytes) bytes are said of $(wc -c <small.onnx)"
    # it is what eval finds, on other images
    expect 0 "$wick" eval small.onnx --data data --json && found=$(json out accuracy)
    awk "BEGIN { exit !($found > 0.5) }" || fail "accuracy $found"
}
test_front() {
    make_run || return
    expect 0 "$wick" shrink run -o fast.onnx --max-drop 30 --epochs 0 --json && has out '"front": true' || return
    command -v python3 >/dev/null || return 0
    python3 - <<'END' || fail "the front has what others beat"
import json
tried = [a for a in json.load(open("out"))["attempts"] if "seconds" in a]
key = lambda a: (a["file_bytes"], a["seconds"], -a["accuracy"])
for a in tried:
    beaten = any(key(b) != key(a) and all(x <= y for x, y in zip(key(b), key(a))) for b in tried)
    assert a["front"] != beaten, a
END
    brief || expect 0 "$wick" shrink run -o table.onnx --max-drop 30 --epochs 0 --quiet && has out "front" && has out "written" && has out "90 % zeros"
    # without convolutions Tucker-2 is low rank, which is tried once
    [ -d mlp ] || expect 0 "$wick" train --data data --net "flatten, linear 64, relu, linear classes" --batch 50 --epochs 2 --quiet --out mlp
    expect 0 "$wick" shrink mlp -o mlp.onnx --max-drop 90 --epochs 0 --json && has out "it is what low rank makes" && [ "$(grep -o '"network": "Tucker-2' out | wc -l)" = 1 ] || fail "Tucker-2: $(cat out)"
}
test_what_cannot_be_met() {
    make_run || return
    expect 6 "$wick" shrink run -o near.onnx --max-kb 1 --epochs 0 --json && has out '"within": false' && has err "comes nearest" && [ -s near.onnx ] || fail "nothing is written"
    expect 2 "$wick" shrink run -o no.onnx && has err "say what it has to keep to"
    expect 2 "$wick" shrink run -o no.txt --max-kb 1 && has err "ends in .onnx"
    expect 3 "$wick" shrink nothing -o no.onnx --max-kb 1
    [ ! -e no.onnx ] || fail "no.onnx was made"
}
test_an_onnx_file() {
    make_run || return
    expect 0 "$wick" convert run net.onnx --quiet
    expect 0 "$wick" shrink net.onnx --data data -o from.onnx --max-drop 50 --epochs 0 --judge 100 --json && has out '"within": true'
    expect 0 "$wick" inspect from.onnx && has out "image  float [N, "
}
test_the_mobile_preset() {
    brief && { echo "  skipped: what it is made of was run"; return 0; }
    make_run || return
    expect 0 "$wick" shrink run -o mobile.onnx --preset mobile --epochs 0 --json && has err "95 % of the accuracy" && has out '"within": true'
    expect 0 "$wick" shrink run -o mobile.onnx --preset mobile --keep-score 0.5 --epochs 0 --quiet
    expect 0 "$wick" shrink run -o mobile.onnx --preset mobile --max-drop -1 --epochs 0 && lacks err "of the accuracy"
    expect 6 "$wick" shrink run -o mobile.onnx --preset mobile --max-ram 1 --epochs 0 --json && has out '"within": false'
}
# Bytes and memory are those of wick compile; instructions are counted where the tools are.
test_a_microcontroller() {
    make_run || return
    expect 2 "$wick" shrink run -o m4.onnx --max-kb 60 --mhz 100 && has err "is for --target cortex-m4 and aarch64"
    mkdir -p own
    TMPDIR=$PWD/own expect 0 "$wick" shrink run -o m4.onnx --target cortex-m4 --max-kb 60 --max-drop 40 --epochs 0 --mhz 50 --json && has out '"target": "cortex-m4"' || return
    ls own | grep wick-target && fail "the C stays"
    command -v python3 >/dev/null || return 0
    bytes=$(written file_bytes) ram=$(written arena_bytes) count=$(written instructions) seconds=$(written seconds)
    expect 0 "$wick" compile m4.onnx -o m4 --name net --isa cortex-m --json
    [ "$ram" = "$(json out arena_bytes)" ] || fail "$ram bytes of RAM are said of $(json out arena_bytes)"
    constants=$(json out const_bytes) code=$(json out object_code_bytes)
    [ -z "$code" ] || [ "$bytes" -ge $((constants + code)) ] || fail "$bytes bytes are said of $constants and $code"
    [ "$bytes" -le 60000 ] || fail "$bytes bytes"
    awk "BEGIN { exit !($count == 0 || $count / 50e6 / $seconds > 0.999 && $count / 50e6 / $seconds < 1.001) }" || fail "$count instructions take $seconds s"
}
test_an_aarch64() {
    make_run || return
    mkdir -p own64
    TMPDIR=$PWD/own64 expect 0 "$wick" shrink run -o a64.onnx --target aarch64 --max-kb 100 --max-drop 40 --epochs 0 --mhz 500 --json && has out '"target": "aarch64"' && has out '"time_measured": false' || return
    ls own64 | grep wick-target && fail "the C stays"
    cp err searched
    command -v python3 >/dev/null || return 0
    bytes=$(written file_bytes) ram=$(written arena_bytes) count=$(written instructions) seconds=$(written seconds)
    expect 0 "$wick" compile a64.onnx -o a64 --name net --isa plain --json
    [ "$ram" = "$(json out arena_bytes)" ] || fail "$ram bytes of RAM are said of $(json out arena_bytes)"
    if command -v aarch64-linux-gnu-gcc >/dev/null && command -v aarch64-linux-gnu-size >/dev/null; then
        aarch64-linux-gnu-gcc -O3 -std=c11 -c a64/net.c -o a64.o && own=$(aarch64-linux-gnu-size a64.o | awk 'NR == 2 { print $1 + $2 }')
        [ "$bytes" = "$own" ] || fail "$bytes bytes are said of $own"
        command -v qemu-aarch64 >/dev/null && [ "$count" = 0 ] && ! grep -q "could not count" searched && fail "nothing was counted"
    fi
    awk "BEGIN { exit !($count == 0 || $count / 500e6 / $seconds > 0.999 && $count / 500e6 / $seconds < 1.001) }" || fail "$count instructions take $seconds s"
}
test_main
