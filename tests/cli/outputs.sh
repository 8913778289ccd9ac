# What eval, predict, info and ops print, as text and as JSON.
. "$(dirname "$0")/lib.sh"
make_data data 400 100
"$wick" train --data data --hidden 16 --epochs 6 --batch 20 --validation 0.1 --out run --quiet >/dev/null || exit 1

test_eval() {
    expect 0 "$wick" eval run && has out accuracy && has out loss
    expect 0 "$wick" eval run/best.safetensors --split validation --json && valid_json out
    [ "$(json out images)" = 39 ] || fail "not all images were counted"
    best=$("$wick" info run --json | sed -n 's/.*"accuracy": "\([^"]*\)".*/\1/p')
    awk -v a="$best" -v b="$(json out accuracy)" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' ||
        fail "eval measured $(json out accuracy), train had said $best"
    expect 0 "$wick" eval run --split train --data data --json && [ "$(json out images)" = 361 ] || fail "train split"
    expect 0 "$wick" eval run/last.safetensors --quiet
}
# Scores and matrix once more from what predict says of each image, by the definitions of scikit-learn (zero_division=0).
test_eval_measures_what_predict_says() {
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    expect 0 "$wick" eval run --top 2 --json && mv out eval.json
    expect 0 "$wick" predict run --index 0-99 --json && mv out predict.json
    python3 -c 'import json
e, images = json.load(open("eval.json")), json.load(open("predict.json"))["images"]
n = len(e["classes"])
confusion = [[0] * n for _ in range(n)]
for i in images: confusion[i["label"]][i["predicted"]] += 1
assert e["confusion"] == confusion, confusion
assert 0 < e["correct"] < 100, "a test needs mistakes and hits"
assert e["correct"] == sum(confusion[k][k] for k in range(n))
f1s = []
for k, c in enumerate(e["classes"]):
    hit, truth, taken = confusion[k][k], sum(confusion[k]), sum(row[k] for row in confusion)
    assert (c["correct"], c["images"], c["predicted"]) == (hit, truth, taken), c
    p, r = hit / taken if taken else 0, hit / truth if truth else 0
    f1s.append(2 * p * r / (p + r) if p + r else 0)
    assert max(abs(c["precision"] - p), abs(c["recall"] - r), abs(c["f1"] - f1s[-1])) < 1e-8, c
    assert abs(c["iou"] - hit / max(truth + taken - hit, 1)) < 1e-8, c
assert abs(e["macro"]["f1"] - sum(f1s) / n) < 1e-8, f1s
def area(k):
    p = lambda i: i["probabilities"][str(k)]
    yes, no = [p(i) for i in images if i["label"] == k], [p(i) for i in images if i["label"] != k]
    return sum((a > b) + (a == b) / 2 for a in yes for b in no) / len(yes) / len(no)
assert abs(e["roc_auc"] - sum(map(area, range(n))) / n) < 1e-4, e["roc_auc"]
first = lambda i: sorted(map(int, i["probabilities"]), key=lambda k: (-i["probabilities"][str(k)], k))[:2]
assert e["top"] == {"k": 2, "correct": (top := sum(i["label"] in first(i) for i in images)), "share": top / 100}, top' ||
        fail "eval and predict differ"
}
test_eval_text() {
    expect 0 "$wick" eval run && has out "ROC AUC" && has out "top-5" && has out "macro average" && has out "precision" && has out "confusion:"
    [ "$(sed -n '/^confusion/,$p' out | tail -n +3 | awk '{ for (i = 2; i <= NF; i++) sum += $i } END { print NF, sum }')" = "11 100" ] ||
        fail "no matrix of 100 images"
    expect 0 "$wick" eval run --color always && has out $'\x1b[32m'
    expect 2 "$wick" eval run --top 10 && has err "knows 10 classes"
    expect 2 "$wick" eval run --top -1
}
# Of 61 classes the data have eleven: the others make no rows and no part of the averages, and the matrix is too wide.
test_eval_of_many_classes() {
    rm -rf many && cp -r data many
    printf '\74' | dd of=many/train-labels-idx1-ubyte bs=1 seek=8 conv=notrunc status=none
    expect 0 "$wick" train --data many --hidden 4 --epochs 1 --batch 20 --lr 1e-12 --out many-run --quiet
    expect 0 "$wick" eval many-run --split train && has out "most confused pairs" && lacks out "confusion:" && has out " taken for "
    expect 0 "$wick" eval many-run --split train --json && valid_json out
    mv out many.json
    "$wick" eval many-run --split train --quiet >out
    command -v python3 >/dev/null || return 0
    python3 -c 'import json
e = json.load(open("many.json"))
seen = [c for c in e["classes"] if c["images"] or c["predicted"]]
assert len(e["classes"]) == 61 and len(seen) < 61, len(seen)
for score in "precision", "recall", "f1", "iou":
    assert abs(e["macro"][score] - sum(c[score] for c in seen) / len(seen)) < 1e-8, score
rows = [line for line in open("out") if line.count("%") == 4 and not line.startswith("macro")]
assert len(rows) == len(seen), rows
pairs = [(n, i, k) for i, row in enumerate(e["confusion"]) for k, n in enumerate(row) if n and i != k]
shown = [line.split() for line in open("out") if "taken for" in line]
shown = [(int(w[0]), int(w[1]), int(w[4])) for w in shown]
assert shown == sorted(pairs, key=lambda p: (-p[0], p[1], p[2]))[:10], shown' || fail "classes, averages or pairs"
}
test_eval_does_not_depend_on_threads() {
    one=$("$wick" eval run --json --threads 1 | sed 's/"seconds.*classes/classes/')
    three=$("$wick" eval run --json --threads 3 | sed 's/"seconds.*classes/classes/')
    [ "$one" = "$three" ] || fail "'$one' and '$three'"
}
test_predict() {
    expect 0 "$wick" predict run --index 0,3-4 && has out "#0:" && has out "#3:" && has out "#4:"
    has out "taken for" && has out "###" && lacks out $'\x1b'
    [ "$(grep -c ' %' out)" = 30 ] || fail "not ten bars for each of three images"
    expect 0 "$wick" predict run --top 3 && [ "$(grep -c ' %' out)" = 3 ] || fail "--top 3"
    expect 0 "$wick" predict run --color always && has out $'\x1b[38;5;' && has out $'\xe2\x96\x80'
    expect 0 "$wick" predict run --index 0-9 --json && valid_json out
    [ "$(grep -o '"predicted":' out | wc -l)" = 10 ] || fail "not ten predictions"
    expect 2 "$wick" predict run --index 100 && has err "0 to 99"
    expect 2 "$wick" predict run --index 0,100 --json && valid_json out
}
test_split_that_is_not_there() {
    mkdir -p train-only && cp data/train-* train-only
    expect 3 "$wick" eval run --data train-only && has err "--split train"
    expect 3 "$wick" predict run --data train-only --json && valid_json out && has out "--split train"
    expect 0 "$wick" eval run --data train-only --split train
    expect 3 "$wick" eval run --data nowhere && lacks err "--split"
}
test_images_that_are_not_flat() {
    mkdir -p deep && cp data/*labels* deep
    for split in train t10k; do
        { printf '\0\0\10\4'; tail -c +5 data/$split-images-idx3-ubyte | head -c 12; printf '\0\0\0\1'
            tail -c +17 data/$split-images-idx3-ubyte; } >deep/$split-images-idx4-ubyte
    done
    expect 0 "$wick" train --data deep --hidden 8 --epochs 1 --out deep-run
    expect 0 "$wick" predict deep-run --index 0-2 && has out "#2:"
    [ "$(grep -c "no pictures: .* 3 dims" err)" = 1 ] || fail "it said: $(cat err)"
    expect 0 "$wick" predict deep-run --json && lacks err pictures
}
test_info() {
    expect 0 "$wick" info && has out version && has out tier && has out threads && has out "numerics  tier="
    expect 0 "$wick" info --json && valid_json out
    expect 0 "$wick" info --threads 1 --json && [ "$(json out threads)" = 1 ] || fail "--threads 1"
    expect 0 "$wick" info run && has out fc1.weight && has out "[16, 100]" && has out "mlp:16" && lacks out optim.
    expect 0 "$wick" info run/last.safetensors && has out optim.step && has out option.epochs
    expect 0 "$wick" info run/last.safetensors && grep -q "^  option.dropout  *0.1$" out && grep -Eq "^  run.best  *0\.[0-9]{1,15}$" out || fail "run.best: $(grep run.best out)"
    expect 0 "$wick" info run/last.safetensors --json && valid_json out
}
test_info_shows_the_layers_of_a_network() {
    expect 0 "$wick" info run && has out "layer  kind" && grep -q "^fc1 *linear *16 *1616 *3.22 kFLOP *64 bytes$" out || fail "fc1"
    expect 0 "$wick" info run --json && valid_json out && has out '"network"' && has out '"arena_bytes"'
    # 2 * (27 + 9 * 16 * 2) * 16 * 32^2 for the first three convolutions, and so on: 12.5 M multiply-adds, as MLPerf Tiny says.
    expect 0 "$wick" info --arch resnet8 --input 3,32,32 && grep -q "^total *78042 *25.4 MFLOP " out || fail "resnet8"
    grep -q "^res2.shortcut *conv *32, 16, 16 *512 *262 kFLOP *32 KiB$" out || fail "shortcut"
    expect 0 "$wick" info --net "conv 2 3, relu, flatten, linear classes" --input 1,5,5 --classes 3 --json && valid_json out
    has out '{"name": "fc1", "kind": "linear", "output": [3], "parameters": 57, "flops": 111, "bytes": 12}'
    expect 2 "$wick" info --arch resnet8 && has err "--input"
    expect 2 "$wick" info --arch resnet8 --input 3,32,x && has err "3,32,x"
    expect 2 "$wick" info --arch nothing --input 3,32,32 && has err nothing
    expect 2 "$wick" info --arch lenet --input 4,4 && has err "does not fit"
    expect 2 "$wick" info --net "conv x 3" --input 3,32,32 && has err column
    expect 2 "$wick" info --arch mlp --net "relu" --input 8 && has err "--net"
    expect 2 "$wick" info run --arch mlp --input 8 && has err MODEL
    expect 2 "$wick" info --input 8 && has err "--arch or --net"
    expect 2 "$wick" info --classes 3 --json && valid_json out
}
test_ops() {
    expect 0 "$wick" ops && has out matmul && has out relu && has out "max(a, 0)"
    expect 0 "$wick" ops --json && valid_json out && has out '"name": "softmax"' && has out '"onnx": "Softmax"'
    expect 0 "$wick" ops log && has out "f32 f64" && has out "torch.log" && has out "natural logarithm" && lacks out log1p
    expect 0 "$wick" ops sum --json && valid_json out && has out '"onnx": "ReduceSum"' && has out '"flops": "m"' && lacks out softmax
    expect 0 "$wick" ops mse && has out "built from ops"
    expect 2 "$wick" ops sofmax && has err "did you mean softmax"
    expect 2 "$wick" ops sum mean
}
# What is written is never what is read, nor two things in one file.
test_nothing_is_written_over_what_is_read() {
    { echo a,b,label; for i in 1 2 3 4 5 6 7 8 9 10; do echo "$i,2,x"; echo "-$i,1,y"; done; } >t.csv
    cp t.csv kept.csv
    local option
    for option in log metrics profile; do
        expect 2 "$wick" train --data t.csv --out over --$option ./t.csv && has err "would be written over what --data reads"
    done
    expect 2 "$wick" train --data t.csv --out over --log over/l --metrics over/l && has err "what --log writes too"
    expect 2 "$wick" train --data t.csv --out over --profile a.txt --profile ./a.txt && has err "what --profile writes too"
    expect 2 "$wick" train --data t.csv --out over --metrics over/best.safetensors && has err "that the run in over keeps"
    [ ! -e over ] && cmp t.csv kept.csv || fail "something was written"
    local before
    before=$(cksum run/best.safetensors)
    expect 2 "$wick" report run --out run/best.safetensors && has err "that the run in run keeps"
    expect 2 "$wick" eval run --profile run/last.safetensors && has err "that the run in run keeps"
    expect 2 "$wick" eval run/best.safetensors --profile run/best.safetensors && has err "is the model itself"
    [ "$(cksum run/best.safetensors)" = "$before" ] || fail "the model was written over"
    mkdir -p ta tb && cp run/best.safetensors ta && cp run/best.safetensors tb
    expect 2 "$wick" train --data t.csv --out taught --teacher ta/best.safetensors --teacher tb/best.safetensors --log tb/best.safetensors && has err "what --teacher reads"
    [ "$(cksum <tb/best.safetensors)" = "$(cksum <run/best.safetensors)" ] || fail "a teacher was written over"
    # Two that go nowhere are no clash, and a log may have a folder that is yet to be made.
    expect 0 "$wick" train --data t.csv --out new --log new/logs/l.jsonl --epochs 1 --quiet && [ -s new/logs/l.jsonl ] || fail "no log"
    expect 0 "$wick" train --data t.csv --out new --log /dev/null --epochs 1 --quiet --force
}
test_output_that_can_not_be_written() {
    [ -e /dev/full ] || return 0
    code=0
    "$wick" ops >/dev/full 2>err || code=$?
    [ "$code" = 1 ] || fail "exit code $code for a full standard output"
    has err "standard output"
}
test_main
