# wick compare: two files tensor by tensor, and the layers of a model beside what they gave elsewhere.
. "$(dirname "$0")/lib.sh"
make_data data 60 20
for seed in 1 2; do
    "$wick" train --data data --hidden 4 --dropout 0 --batch 20 --epochs 1 --seed $seed --out run$seed --quiet >/dev/null || exit 1
done

test_files() {
    expect 0 "$wick" compare run1 run1/best.safetensors --atol 0 && has out "4 tensors: 4 the same"
    expect 0 "$wick" compare run1/last.safetensors run1/last.safetensors && has out "optim.step"
    expect 5 "$wick" compare run1 run2 && has out "the first is fc1.weight" && has out "differs    fc2.bias" && has out "f32 [10, 4]"
    expect 5 "$wick" compare run1/last.safetensors run1/best.safetensors && has out "only in A" && lacks out "differs"
    expect 5 "$wick" compare run1/best.safetensors run1/last.safetensors && has out "only in B"
    expect 0 "$wick" compare run1/best.safetensors run1/last.safetensors --only "fc?.weight|fc?.bias"
    expect 0 "$wick" compare run1 run2 --tolerance 1000 && has out "same       fc1.weight"
    expect 0 "$wick" compare run1 run2 --atol 1000
    expect 5 "$wick" compare run1 run2 --rtol 1e-7
    "$wick" train --data data --hidden 5 --dropout 0 --batch 20 --epochs 1 --out wide --quiet >/dev/null
    expect 5 "$wick" compare run1 wide && has out "f32 [4, 100] in A, f32 [5, 100] in B"
}
test_json() {
    expect 5 "$wick" compare run1 run2 --json && valid_json out && has out '"same": false' && has out '"first": "fc1.weight"' && has out '"max_abs"'
    expect 0 "$wick" compare run1 run1 --json && valid_json out && has out '"same": true, "first": null' && has out '"shape": [4, 100]'
    expect 5 "$wick" compare run1/last.safetensors run1/best.safetensors --json && valid_json out && has out '"b": null'
    expect 3 "$wick" compare run1 nowhere --json && valid_json out && has out '"exit": 3'
}
test_wrong_uses() {
    expect 2 "$wick" compare run1 && has err "two files"
    expect 2 "$wick" compare run1 run1 run1 && has err "not 3"
    expect 2 "$wick" compare run1 run1 --only "nobody*" && has err 'nothing to compare of the names "nobody*"'
    expect 2 "$wick" compare run1 run1 --rtol -0.5
    expect 3 "$wick" compare nowhere run1 && has err nowhere
    head -c 100 run1/best.safetensors >short
    expect 3 "$wick" compare run1 short
    expect 3 "$wick" compare --layers run1 run2/best.safetensors && has err '"input"'
}
test_layers() {
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    # What another program has of the first layers, in f32 from sums in f64. OFF is added to one number of fc2.
    cat >other.py <<'PYTHON'
import json, struct, sys
def read(path):
    b = open(path, "rb").read()
    n = struct.unpack("<Q", b[:8])[0]
    head, data = json.loads(b[8:8 + n]), b[8 + n:]
    at = lambda v: data[slice(*v["data_offsets"])]
    return {k: (v["shape"], struct.unpack("<%df" % (len(at(v)) // 4), at(v))) for k, v in head.items() if k != "__metadata__"}
def write(path, tensors):
    head, data = {}, b""
    for name, (shape, values) in tensors.items():
        part = struct.pack("<%df" % len(values), *values)
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)
def linear(x, rows, w, b):
    (out, n), w = w
    return [sum(x[r * n + k] * w[c * n + k] for k in range(n)) + b[1][c] for r in range(rows) for c in range(out)]
t = read(sys.argv[1])
n = t["fc1.weight"][0][1]
x = [(i * 37 % 11 - 5) / 8 for i in range(2 * n)]
y1 = linear(x, 2, t["fc1.weight"], t["fc1.bias"])
y2 = linear([max(v, 0) for v in y1], 2, t["fc2.weight"], t["fc2.bias"])
y2[3] += float(sys.argv[3])
write(sys.argv[2], {"input": ([2, int(sys.argv[4]), n // int(sys.argv[4])], x), "fc1": ([2, 4], y1), "fc2": ([2, 10], y2), sys.argv[5]: ([2, 10], y2)})
PYTHON
    python3 other.py run1/best.safetensors theirs 0 10 output
    expect 0 "$wick" compare --layers run1 theirs && has out "3 layers: 3 the same" && has out fc1 && has out output
    expect 5 "$wick" compare --layers run2 theirs && has out "the first is fc1"
    expect 5 "$wick" compare --layers run1 theirs --atol 0
    python3 other.py run1/best.safetensors theirs 0.5 10 output
    expect 5 "$wick" compare --layers run1 theirs && has out "the first is fc2" && has out "1 of 20" && has out "same       fc1"
    expect 0 "$wick" compare --layers run1 theirs --only fc1
    expect 5 "$wick" compare --layers run1 theirs --json && valid_json out && has out '"layers": [' && has out '"first": "fc2"'
    python3 other.py run1/best.safetensors theirs 0 10 elsewhere
    expect 5 "$wick" compare --layers run1 theirs && has out "only in B  elsewhere"
    python3 other.py run1/best.safetensors theirs 0 1 output # another way to write the same pixels
    expect 0 "$wick" compare --layers run1 theirs
}
test_curves_of_runs() {
    make_data curves 300 100
    expect 0 "$wick" train --data curves --arch mlp:16 --epochs 2 --out c1 --force --quiet
    expect 0 "$wick" train --data curves --arch mlp:16 --epochs 3 --lr 0.01 --out "c<2>" --force --quiet
    expect 0 "$wick" compare c1 "c<2>" --html page.html && has out page.html && has page.html "Training loss by time" && has page.html "c&lt;2&gt;"
    lacks page.html "c<2>"
    lacks page.html "src=" # nothing is fetched
    [ "$(grep -o '<path' page.html | wc -l)" -ge 8 ] || fail "$(grep -c '<path' page.html) lines"
    expect 0 "$wick" compare c1 "c<2>" c1 --html page.html --json && valid_json out && has out '"epochs": 3'
    # the table's figures are those of the log
    best=$(grep -o '"train_loss": *[0-9.e-]*' c1/log.jsonl | grep -o '[0-9.e-]*$' | sort -g | head -n 1)
    [ "$(json out least_loss)" = "$best" ] || fail "$(json out least_loss) is not $best"
    expect 2 "$wick" compare c1/best.safetensors c1 --html page.html && has err "folders of runs"
    expect 2 "$wick" compare c1 --html page.html && has err "two or three runs"
    expect 2 "$wick" compare c1 c1 c1 c1 --html page.html && has err "not 4"
    mkdir -p empty && expect 3 "$wick" compare c1 empty --html page.html && has err "empty/log.jsonl is not there"
    expect 1 "$wick" compare c1 c1 --html nowhere/page.html
}
# A classifier and what was made of it: accuracy on the test set, bytes, time, and the error of each layer.
test_models_before_and_after() {
    make_data pictures 600 200 12
    expect 0 "$wick" train --data pictures --net "conv 8 3 pad 1, bn, relu, maxpool 2, flatten, linear classes" --batch 50 --epochs 3 --quiet --out whole
    expect 0 "$wick" quantize whole -o whole8.onnx --quiet
    expect 0 "$wick" compare whole whole8.onnx --json && valid_json out && has out '"judged": 200' || return
    bytes=$(json out file_bytes_b) a=$(json out accuracy_a) b=$(json out accuracy_b)
    [ "$bytes" = "$(wc -c <whole8.onnx | tr -d ' ')" ] || fail "$bytes bytes"
    # as eval finds them, one by one
    expect 0 "$wick" eval whole --json && one=$(json out accuracy)
    expect 0 "$wick" eval whole8.onnx --data pictures --split test --json && two=$(json out accuracy)
    awk "BEGIN { exit !($a == $one && $b == $two) }" || fail "$a and $b, of eval $one and $two"
    expect 0 "$wick" compare whole whole8.onnx --html both.html && has out "conv1.weight" && has out "times as fast" && has both.html "<code>conv1.weight</code>" && has both.html "points lost"
    awk '/conv1.weight|fc1.weight/ { if ($3 < 20 || $3 > 90) bad = 1; n++ } END { exit bad || n != 2 }' out || fail "$(cat out)"
    # an ONNX file of the same network has no errors to speak of
    expect 0 "$wick" convert whole whole.onnx --quiet
    expect 0 "$wick" compare whole.onnx whole8.onnx --data pictures --json && has out '"sqnr_db"'
    expect 0 "$wick" compare whole whole.onnx --json && has out '"lost": 0'
    expect 0 "$wick" prune whole -o thin.onnx --ratio 0.5 --multiple 1 --quiet
    expect 0 "$wick" compare whole thin.onnx && has out "other extents"
    expect 2 "$wick" compare whole whole8.onnx --rtol 0.1 && has err "--rtol is for files of tensors"
    expect 2 "$wick" compare whole/best.safetensors whole/best.safetensors --data pictures && has err "--data is for models"
    printf 'x,y,z\n' >rows.csv
    for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do echo "$i.5,$((i * 7 % 5)).25,$((3 * i)).125" >>rows.csv; done
    expect 0 "$wick" train --data rows.csv --task regress --target z --epochs 1 --quiet --out rows && expect 0 "$wick" convert rows rows.onnx --quiet
    expect 2 "$wick" compare rows rows.onnx && has err "are classifiers"
}
# B is given the samples themselves, however A takes them.
test_models_that_take_samples_otherwise() {
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    python3 "$(dirname "$0")/tiny_onnx.py" && make_data colour 100 100 12 3
    local one
    expect 0 "$wick" eval first.onnx --data colour --split test --json && one=$(json out loss)
    expect 0 "$wick" compare last.onnx first.onnx --data colour --json && [ "$(json out loss_a)" = "$one" ] && [ "$(json out loss_b)" = "$one" ] && has out '"sqnr_db": null' || fail "$(cat out), not $one"
    expect 2 "$wick" compare small.onnx first.onnx --data colour && has err "small.onnx takes images of [3, 8, 8], and these are [3, 12, 12]"
    expect 0 "$wick" compare first.onnx apart.onnx --data colour --json && [ "$(json out file_bytes_b)" = "$(cat apart.onnx apart.bin | wc -c | tr -d ' ')" ] || fail "$(cat out)"
    expect 0 "$wick" compare first.onnx asks.onnx --data colour --json && [ "$(json out loss_b)" = "$one" ] || fail "$(cat out), not $one"
}
test_main
