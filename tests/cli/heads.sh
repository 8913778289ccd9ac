# wick train --heads: a class, numbers and labels that are learned at once, of tables, arrays and pictures; what every other command makes of such a model.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy, sklearn' 2>/dev/null && python=$try && break; done

# Every tenth row has no rhythm, every seventh no pulse, every ninth says nothing of its tags.
awk 'function r() { return 2 * rand() - 1 } BEGIN { srand(5); print "a,b,c,rhythm,hr,tags,l_hot,l_wet,grade"
    for (i = 0; i < 900; i++) {
        a = r(); b = r(); c = r(); t = (a > 0 ? ";cat" : "") (b > 0.2 ? ";dog" : "") (c > 0.5 ? "; owl" : ""); sub(/^;/, "", t)
        printf("%.3f,%.3f,%.3f,%s,%s,%s,%d,%d,%d\n", a, b, c, i % 10 ? (a > 0.3 ? "afib" : b > 0 ? "normal" : "pvc") : "", i % 7 ? sprintf("%.2f", 70 + 20 * a - 10 * b) : "",
            i % 9 ? (t == "" ? "-" : t) : "", a > 0, c > 0, (a + b > 0.5) + (a + b > -0.5))
    } }' >ward.csv
all="rhythm=classes*0.5, hr=number, tags=labels, l_*, grade"

test_heads_of_a_table() {
    expect 0 "$wick" train --data ward.csv --heads "$all" --threads 1 --out ward --json && valid_json out && [ "$(json out task)" = heads ] || fail task
    has err 'head "rhythm": 3 classes, weight 0.5' && has err 'head "hr": 1 number, weight 1' && has err 'head "tags": 3 labels' && has err 'head "l_*": 2 labels' && has err 'head "grade": 3 classes' && has err '90 of 900 rows say nothing of "rhythm"'
    at_least test_score 0.9 && expect 0 "$wick" eval ward --json && valid_json out && at_least accuracy 0.85 && at_least r2 0.95 && at_least map 0.95 && at_least score 0.9
    expect 0 "$wick" eval ward && has out "mean score of heads" && has out "mean F1" && has out "MAE" && has out "mAP" && lacks out confusion
    expect 0 "$wick" predict ward --index 1-3 && has out "rhythm  " && has out "(is " && expect 0 "$wick" predict ward --index 0-9 --json && valid_json out && has out '"rhythm": {"predicted": "' && has out '"tags": {"predicted": ['
    cut -d, -f1-3 ward.csv | head -n 4 >ask.csv && expect 0 "$wick" predict ward ask.csv && has out "hr  " && lacks out "(is" && lacks out nan
    expect 0 "$wick" predict ward ask.csv --csv && [ "$(head -n 1 out)" = "sample,rhythm,hr,tags,l_*,grade" ] && [ "$(wc -l <out)" = 4 ] && sed -n 2p out | grep -qE '^ask.csv#0,(afib|normal|pvc),[0-9.]+,[a-z;-]+,[a-z_;-]+,[012]$' || fail "csv: $(cat out)"
    expect 2 "$wick" predict ward ask.csv --csv --json && has err "two ways"
    { head -n 1 ward.csv; echo 0.1,0.1,0.1,flutter,70,cat,1,1,1; } >strange.csv && expect 3 "$wick" eval ward --data strange.csv && has err '"rhythm": row 0 is "flutter", which is not among the 3 classes'
    { head -n 1 ward.csv; echo 0.1,0.1,0.1,afib,70,cow,1,1,1; } >strange.csv && expect 3 "$wick" eval ward --data strange.csv && has err '"cow", which is not among the 3 labels'
    expect 3 "$wick" eval ward --data ask.csv && has err 'has no column "rhythm", which is to be learned'
    expect 0 "$wick" report ward -o ward.html && has ward.html "everal heads at once" && has ward.html "<h3>rhythm</h3>" && expect 0 "$wick" info ward && has out "several heads at once, of 12 numbers"
    expect 0 "$wick" plan ward && expect 0 "$wick" plan ward --train && expect 0 "$wick" compile ward -o ward_c
    expect 2 "$wick" eval ward --top 2 && has err "--task heads"
    expect 0 "$wick" quantize ward -o ward8.onnx --json && valid_json out && [ "$(json out metric)" = score ] && has out '"drop_bound"' || fail quantize
    expect 2 "$wick" train --data ward.csv --teacher ward --heads hr --out no && has err "--teacher is for --task classify"
}
test_weights_are_those_of_any_number_of_threads_and_go_on() {
    for n in 1 2; do expect 0 "$wick" train --data ward.csv --heads "$all" --epochs 4 --threads $n --out same$n; done
    same_tensors same1/last.safetensors same2/last.safetensors
    expect 0 "$wick" train --data ward.csv --heads "$all" --epochs 2 --schedule constant --warmup 0 --out half && expect 0 "$wick" train --resume half --epochs 4
    expect 0 "$wick" train --data ward.csv --heads "$all" --epochs 4 --schedule constant --warmup 0 --out whole && same_tensors half/last.safetensors whole/last.safetensors
    expect 0 "$wick" train --config same1/options.txt --epochs 4 --threads 1 --out again && same_tensors same1/last.safetensors again/last.safetensors
}
test_scores_are_those_of_scikit_learn() {
    [ -d ward ] || { fail "no model"; return; }
    [ -n "$python" ] || { echo "  skipped: no scikit-learn"; return 0; }
    expect 0 "$wick" eval ward --json && cp out eval.json && expect 0 "$wick" predict ward --index "0-$(($(json out samples) - 1))" --json && mv out predicted.json
    "$python" - <<'P' || fail "scores are not those of scikit-learn"
import json, numpy as np
from sklearn.metrics import accuracy_score, f1_score, log_loss, r2_score, mean_absolute_error, average_precision_score
p = [i["heads"] for i in json.load(open("predicted.json"))["images"]]; e = json.load(open("eval.json"))
heads = {h["name"]: h for h in e["heads"]}
def near(a, b, what): assert abs(a - b) <= 3e-5 * max(1, abs(b)), (what, a, b)
total, scores = 0, []
for name, h in heads.items():
    rows = [i[name] for i in p if i[name].get("target") is not None]
    assert len(rows) == h["samples"], (name, len(rows), h["samples"])
    y, q = [r["target"] for r in rows], [r["predicted"] for r in rows]
    if h["kind"] == "classes":
        names = [c["name"] for c in h["classes"]]; pr = np.array([[r["probabilities"][n] for n in names] for r in rows])
        near(h["accuracy"], accuracy_score(y, q), name); near(h["f1_macro"], f1_score(y, q, average="macro"), name)
        near(h["loss"], log_loss(y, pr / pr.sum(1, keepdims=True), labels=names), name); scores.append(h["accuracy"])
    elif h["kind"] == "numbers":
        near(h["r2"], r2_score(y, q), name); near(h["mae"], mean_absolute_error(y, q), name); scores.append(h["r2"])
    else:
        names = [c["name"] for c in h["labels"]]; pr = np.array([[r["probabilities"][n] for n in names] for r in rows])
        t = np.array([[n in r["target"] for n in names] for r in rows]); g = np.array([[n in r["predicted"] for n in names] for r in rows])
        near(h["map"], average_precision_score(t, pr, average="macro"), name); near(h["f1_macro"], f1_score(t, g, average="macro"), name); near(h["f1_micro"], f1_score(t, g, average="micro"), name)
        near(h["loss"], np.mean([log_loss(t[:, k], pr[:, k], labels=[False, True]) for k in range(len(names))]), name); scores.append(h["map"])
    total += h["weight"] * h["loss"] * h["samples"] / e["samples"]
near(e["loss"], total, "loss"); near(e["score"], np.mean(scores), "score")
P
}
test_onnx_has_an_output_for_each_head() {
    [ -d ward ] || { fail "no model"; return; }
    expect 0 "$wick" convert ward ward.onnx && expect 0 "$wick" inspect ward.onnx && has out "rhythm  float [N, 3]" && has out "hr  float [N, 1]" && has out "tags  float [N, 3]" && has out "l_*  float [N, 2]"
    [ -n "$python" ] && "$python" -c 'import onnxruntime' 2>/dev/null || { echo "  skipped: no ONNX Runtime"; return 0; }
    expect 0 "$wick" predict ward ward.csv --index 0-49 --json && mv out predicted.json
    "$python" - <<'P' || fail "ONNX gives other numbers"
import csv, json, numpy as np, onnxruntime as rt
rows = np.array([[float(r[k]) for k in "abc"] for r in csv.DictReader(open("ward.csv"))][:50], np.float32)
session = rt.InferenceSession("ward.onnx"); got = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"image": rows})))
for i, heads in enumerate(h["heads"] for h in json.load(open("predicted.json"))["images"]):
    assert abs(got["hr"][i, 0] - heads["hr"]["predicted"]) < 1e-3
    for name in ("rhythm", "tags", "l_*", "grade"): assert np.allclose(got[name][i], list(heads[name]["probabilities"].values()), atol=1e-5), (i, name)
P
}
test_heads_of_arrays() {
    [ -n "$python" ] || { echo "  skipped: no NumPy"; return 0; }
    "$python" - <<'P'
import numpy as np
r = np.random.default_rng(1); x = r.uniform(-1, 1, (600, 3)).astype(np.float32); a, b, c = x.T
hr = 70 + 20 * a; hr[::7] = np.nan
kind = np.where(a > 0.3, "afib", np.where(b > 0, "normal", "pvc")).astype("U6"); kind[::5] = ""
y = dict(kind=kind, hr=hr, both=np.stack([a > 0, c > 0], 1).astype(np.int64), place=np.stack([3 * a, 9 * b], 1), grade=np.digitize(a + b, [-0.5, 0.5]))
np.savez("one.npz", x=x, **y); np.savez("two.npz", x_train=x[:450], x_test=x[450:], **{k + "_train": v[:450] for k, v in y.items()}, **{k + "_test": v[450:] for k, v in y.items()})
np.savez("bare.npz", x=x[:5]); np.savez("short.npz", x=x, hr=hr[:20]); np.savez("deep.npz", x=x, hr=np.zeros((600, 2, 2)))
P
    for set in one two; do
        expect 0 "$wick" train --data $set.npz --heads "kind, hr=auto*2, both, place, grade=class" --threads 1 --epochs 40 --out $set --json && at_least test_score 0.85 && has err 'head "kind": 3 classes' && has err 'head "hr": 1 number, weight 2' && has err 'head "both": 2 labels' && has err 'head "place": 2 numbers' && has err 'head "grade": 3 classes'
    done
    expect 0 "$wick" predict two two.npz --index 0 && has out "place[1]" && expect 0 "$wick" predict one bare.npz && has out grade && lacks out "(is"
    expect 3 "$wick" train --data one.npz --heads none --out no && has err 'has no array "none"' && expect 3 "$wick" train --data short.npz --heads hr --out no && has err "has 20 rows, and there are 600 samples"
    expect 3 "$wick" train --data deep.npz --heads hr --out no && has err "has 3 dims" && expect 3 "$wick" train --data one.npz --heads place=classes --out no && has err "a class is one column"
}
test_heads_of_pictures() {
    mkdir -p pics
    { echo file,shade,mean; for i in $(seq 0 79); do v=$((i * 3 + 5)); { printf 'P5 4 4 255\n'; for k in $(seq 16); do printf "\\$(printf %o $v)"; done; } >pics/$i.pgm; [ $v -gt 120 ] && s=light || s=dark; echo "$i.pgm,$s,$v.5"; done; } >pics/train.csv
    cp pics/train.csv pics/test.csv
    expect 0 "$wick" train --data pics --heads "shade, mean=number" --net "flatten, linear 16, relu, linear classes" --epochs 30 --batch 8 --optimizer adamw --lr 0.01 --threads 1 --out shades --json && has err '"file" names pictures' && at_least test_score 0.9
    expect 0 "$wick" predict shades pics/3.pgm && has out "shade  dark" && has out "mean  " && expect 0 "$wick" predict shades --index 2 && has out "(is dark)" && expect 0 "$wick" convert shades shades.onnx && expect 0 "$wick" inspect shades.onnx && has out "mean  float [N, 1]"
}
test_texts_and_numbers_in_target_are_heads() {
    expect 0 "$wick" train --data ward.csv --target rhythm,hr --skip "tags|l_*|grade" --epochs 3 --out mixed && has err "--target names texts and numbers" && has err 'head "rhythm": 3 classes' && has err "--task heads, as the data look"
    expect 0 "$wick" eval mixed --json && has out '"kind": "numbers"'
}
test_what_is_wrong_is_refused() {
    train() { "$wick" train --data ward.csv --out no "$@"; }
    expect 2 train --heads hr=foo && has err "is no kind of head: classes, number, labels or auto"
    expect 2 train --heads hr=number*x && has err "weight that is no number" && expect 2 train --heads hr=number*-1 && has err "weight that is no number"
    expect 2 train --heads hr,hr && has err "'hr' is named twice" && expect 2 train --heads hr,, && has err "names no column"
    expect 2 train --heads hr --task regress && has err "--task regress is one" && expect 2 train --heads hr --target a && has err "no --target beside it"
    expect 2 train --task heads && has err "--heads says what is learned" && expect 2 train --heads hr --window 3 && has err "--window forecasts numbers" && expect 2 train --heads hr --label rhythm && has err "--label is one class"
    expect 2 train --heads rhythm,hr --loss mae && has err "--loss is for --task regress" && expect 2 train --heads rhythm,hr --class-weights balanced && has err "--class-weights is for"
    expect 2 train --heads rhythm --label-smoothing 0.1 && has err "--label-smoothing is for" && expect 2 train --heads rhythm --text tags && has err "--text is for one class"
    expect 3 train --heads rhythm=number && has err 'line 3' && has err '"rhythm"' && has err "is no number" && expect 3 train --heads hr=labels && has err '"hr" has other numbers than 0 and 1'
    expect 3 train --heads "l_*=classes" && has err "a class is one column" && expect 3 train --heads none && has err 'has no column "none"'
    { echo a,word,y; for i in $(seq 40); do echo "$i,w$i,1"; done; } >names.csv && expect 3 "$wick" train --data names.csv --heads word --out no && has err '40 different texts' && expect 3 "$wick" train --data names.csv --heads y=class --out no && has err "there are not two of them"
    { echo text,y; echo "a b,1.5"; echo "c d,2.5"; } >said.csv && expect 3 "$wick" train --data said.csv --heads y --out no && has err "column of texts"
    mkdir -p animals/cats animals/dogs && for k in 1 2 3 4 5 6; do for c in cats dogs; do printf 'P5 4 4 255\n0123456789abcdef' >animals/$c/$k.pgm; done; done && expect 3 "$wick" train --data animals --heads y --out no && has err "numbers or labels beside each"
    [ -d ward ] && cp -r ward torn && unseal torn/best.safetensors && sed -i 's/weight/weihgt/; s/\\"classes\\",\\"rhythm\\",\\"0.5\\"/\\"classes\\",\\"rhythm\\",\\"0,5\\"/' torn/best.safetensors && expect 3 "$wick" eval torn && has err "heads"
}

test_main
