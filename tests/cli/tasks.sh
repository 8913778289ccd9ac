# wick train --task: regression, several labels, autoencoders; validation apart from the test; what every other command makes of such a model.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden" && pwd)
# rows SEED N AWK: N rows that the program prints, of i and four random numbers a, b, c, d from -1 to 1
rows() { awk -v seed="$1" -v n="$2" "function r() { return 2 * rand() - 1 } BEGIN { srand(seed); for (i = 0; i < n; i++) { a = r(); b = r(); c = r(); d = r(); $3 } }"; }
at_most() { awk -v a="$(json out "$1")" -v b="$2" 'BEGIN { exit !(a != "null" && a + 0 <= b) }' || fail "$1 is $(json out "$1"), not below $2"; }
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy, sklearn' 2>/dev/null && python=$try && break; done

# Prices of hundreds of thousands: what is learned has mean 0, what is said has the units of the table.
{ echo size,age,town,price; rows 1 900 'printf "%.4f,%.4f,%s,%.1f\n", 100 + 40 * a, 30 + 20 * b, (c > 0 ? "north" : "south"), 250000 + 90000 * a - 30000 * b + (c > 0 ? 20000 : 0) + 3000 * d'; } >houses.csv
test_regression_in_the_units_of_the_table() {
    expect 0 "$wick" train --data houses.csv --threads 1 --out houses --json && valid_json out && has err '"price" has numbers that are not whole' && has err "--task regress" && has err "72 of the 717 training rows are held out" && [ "$(json out task)" = regress ] || fail task
    at_least test_score 0.97 && [ "$(json out test_looks)" = 1 ] || fail "looks"
    expect 0 "$wick" eval houses --json && valid_json out && at_least r2 0.97 && at_least rmse 2000 && at_most rmse 14000 && at_most mape 0.05 && [ "$(json out samples)" = 183 ] && [ "$(json out name)" = price ] || fail "eval"
    expect 0 "$wick" eval houses && has out "R2" && has out "MAE" && has out "price" && lacks out "accuracy" && lacks out "confusion"
    expect 0 "$wick" predict houses --index 0-4 --json && valid_json out && has out '"predicted": {"price": ' && has out '"target": {"price": ' && lacks out probabilities
    sed -n '1,4s/,[^,]*$//p' houses.csv >ask.csv && expect 0 "$wick" predict houses ask.csv && has out "price" && lacks out "nan"
    expect 0 "$wick" report houses -o houses.html && has houses.html "A regression of 1 target" && has houses.html "Predicted over true" && has houses.html "validation, after each epoch" && lacks houses.html "classifier"
    expect 0 "$wick" info houses && has out "target.deviation" && has out "samples of [4], a regression of 1 target"
    expect 0 "$wick" plan houses && expect 0 "$wick" plan houses --train && expect 0 "$wick" compile houses -o houses_c
    expect 0 "$wick" eval houses --split validation --json && r2=$(json out r2) && expect 0 "$wick" quantize houses -o houses8.onnx --max-drop 0.02 --json && valid_json out && [ "$(json out metric)" = r2 ] && [ "$(json out r2_f32)" = "$r2" ] && at_least r2_int8 0.95 && at_most drop_bound 0.02 && has out '"rmse_int8"' || fail "quantize"
    # what is learned of prices is standardised here too: a loss of millions would say that it isn't
    expect 0 "$wick" prune houses -o small.onnx --ratio 0.5 --epochs 2 && has err "epoch 1/2  loss 0." && has out "R2 " && has out "squared errors in pairs" && expect 2 "$wick" prune houses -o small.onnx --ratio 0.5 --importance taylor && has err "--task regress"
    expect 2 "$wick" quantize houses -o houses8.onnx --anomalies houses.csv && has err "--anomalies is for --task autoencode"
    { echo size,age,price,town; sed 1d houses.csv | awk -F, '{ print $1 "," $2 "," $4 "," $3 }'; } >towns.csv
    expect 2 "$wick" train --data houses.csv --teacher houses --out no && has err "--teacher is for --task classify"
    expect 2 "$wick" eval houses --top 2 && has err "--task regress"
    [ -n "$python" ] || { echo "  skipped: no scikit-learn"; return 0; }
    expect 0 "$wick" eval houses --json && cp out eval.json && expect 0 "$wick" predict houses --index "0-$(($(json out samples) - 1))" --json && mv out predicted.json
    "$python" -c 'import json
from sklearn.metrics import r2_score, mean_absolute_error, mean_squared_error, mean_absolute_percentage_error
p = json.load(open("predicted.json"))["images"]; e = json.load(open("eval.json"))
y = [i["target"]["price"] for i in p]; q = [i["predicted"]["price"] for i in p]
for name, f in (("r2", r2_score), ("mae", mean_absolute_error), ("mape", mean_absolute_percentage_error), ("rmse", lambda a, b: mean_squared_error(a, b) ** 0.5)):
    assert abs(e[name] - f(y, q)) <= 2e-6 * max(1, abs(f(y, q))), (name, e[name], f(y, q))' || fail "scores are not those of scikit-learn"
}
test_regression_of_a_run_as_onnx() {
    [ -d houses ] || { fail "no model"; return; }
    expect 0 "$wick" convert houses houses.onnx && expect 0 "$wick" inspect houses.onnx && has out "predictions  float [N, 1]"
    # rows as the table codes them: size, age, north, south
    expect 0 "$wick" predict houses --index 0 --json && want=$(json out price)
    [ -n "$python" ] || { echo "  skipped: no scikit-learn"; return 0; }
    "$python" -c 'import onnxruntime' 2>/dev/null || { echo "  skipped: no ONNX Runtime"; return 0; }
    "$python" - "$wick" <<'P' || fail "ONNX gives other numbers"
import json, subprocess, sys, numpy as np, onnxruntime as rt, csv
rows = [[float(r["size"]), float(r["age"]), float(r["town"] == "north"), float(r["town"] == "south")] for r in csv.DictReader(open("houses.csv"))][:50]
got = rt.InferenceSession("houses.onnx").run(["predictions"], {"image": np.array(rows, np.float32)})[0][:, 0]
head = open("houses.csv").read().splitlines()[:51]
open("first.csv", "w").write("\n".join(head) + "\n")
out = subprocess.run([sys.argv[1], "predict", "houses", "first.csv", "--index", "0-49", "--json"], capture_output=True, text=True).stdout
want = np.array([i["predicted"]["price"] for i in json.loads(out)["images"]])
assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max(), np.abs(got - want).max()
P
}
test_several_targets_in_any_form_of_table() {
    { rows 2 300 'printf "%.3f;%.3f;%.3f;%.3f;x\n", a, b, 10 * a + b, 1000 - 200 * b' | tr . ,; } >bare.csv
    expect 0 "$wick" train --data bare.csv --separator ';' --no-header --target 3,2 --skip 4 --out two --threads 1 && has err "decimal comma" && expect 0 "$wick" eval two --json && valid_json out && at_least r2 0.95 && [ "$(grep -o '"name": "[23]"' out | wc -l)" = 2 ] || fail "not two targets"
    { printf 'u\tv\ty\n'; rows 3 300 'printf "%s\t%.3f\t%.3f\n", (i % 7 ? a : ""), b, 3 * b'; } >gaps.tsv
    expect 0 "$wick" train --data gaps.tsv --target y --loss huber --out gaps --threads 1 && expect 0 "$wick" eval gaps --json && at_least r2 0.9
    for loss in mae mse; do expect 0 "$wick" train --data gaps.tsv --target y --loss $loss --epochs 2 --out gaps_$loss; done
    expect 3 "$wick" train --data gaps.tsv --target y,none --out no && has err 'has no (other) column "none"'
    printf 'a,y\n1,2.5\n2,\n3,1.5\n' >hole.csv && expect 3 "$wick" train --data hole.csv --target y --out no && has err "line 3" && has err "it is to be learned"
    printf 'a,y\n1,2.5\n2,x\n3,1.5\n' >text.csv && expect 3 "$wick" train --data text.csv --target y --out no && has err "line 3" && has err "is no number"
    expect 2 "$wick" train --data gaps.tsv --task classify --loss mae --out no && has err "--loss is for --task regress"
    expect 2 "$wick" train --data gaps.tsv --noise 0.1 --out no && has err "--noise is for --task autoencode"
    # What is said about data of another kind, or by half, would do nothing.
    for option in "--vocabulary 10" "--length 10" "--tokens bytes" "--inputs a,b" "--image-size 10" --as-stored "--layout nhwc" "--input-range 0,1"; do
        expect 2 "$wick" train --data gaps.tsv $option --out no && has err "${option%% *} has no effect on " && has err ": it is for "
    done
    expect 2 "$wick" train --data gaps.tsv --shares even --out no && has err "--shares are those of --leaves"
    expect 2 "$wick" train --data gaps.tsv --adaptive --out no && has err "--adaptive is for --workers"
    expect 2 "$wick" train --data gaps.tsv --lr 1e-50 --out no && has err "--lr 1e-50 is 0 in f32"
    for option in 0.999 1e-9; do
        expect 2 "$wick" train --data gaps.tsv --validation $option --out no && has err "--validation $option of "
    done
    expect 2 "$wick" train --data gaps.tsv --label-smoothing 0.1 --out no && has err "--label-smoothing is for --task classify"
}
# A table on a terminal has 64 rows of targets at most, and says how many others there are; JSON has all.
test_many_targets_are_counted() {
    awk 'BEGIN { srand(3); for (i = 0; i < 40; i++) { x = rand(); printf "%.3f", x; for (k = 0; k < 70; k++) printf ",%.4f", x * k + rand(); print "" } }' >many.csv
    expect 0 "$wick" train --data many.csv --no-header --target "$(seq -s, 1 70)" --epochs 1 --threads 1 --out many || return
    expect 0 "$wick" eval many && has out "and 6 more targets; --json has all" && [ "$(grep -c '%$' out)" -ge 64 ] && [ "$(wc -l <out)" -lt 90 ] || fail "another number of rows"
    expect 0 "$wick" predict many many.csv --index 0 && has out "and 6 more targets" && expect 0 "$wick" eval many --json && [ "$(grep -o '"zeros"' out | wc -l)" = 70 ] || fail "JSON lacks targets"
}
test_several_labels() {
    { echo a,b,c,hot,wet,dark; rows 4 800 'printf "%.3f,%.3f,%.3f,%d,%d,%d\n", a, b, c, (a > 0), (b > 0.3), (a + c > 0.5)'; } >weather.csv
    expect 0 "$wick" train --data weather.csv --target hot,wet,dark --threads 1 --out weather && has err "--task multi-label, as the data look"
    expect 0 "$wick" eval weather --json && valid_json out && at_least map 0.97 && at_least f1_macro 0.9 && at_least subset_accuracy 0.8 && lacks out confusion
    expect 0 "$wick" eval weather && has out "mAP" && has out "wet" && expect 0 "$wick" predict weather --index 0-2 && has out "hot" && expect 0 "$wick" report weather -o weather.html && has weather.html "have it"
    expect 0 "$wick" convert weather weather.onnx && expect 0 "$wick" inspect weather.onnx && has out "probabilities  float [N, 3]"
    expect 0 "$wick" quantize weather -o weather8.onnx --json && [ "$(json out metric)" = map ] && at_least map_int8 0.9 && has out drop_bound_points || fail "quantize"
    expect 3 "$wick" train --data weather.csv --task multi-label --target a --out no && has err "a label is 0 or 1"
    expect 0 "$wick" train --data weather.csv --task regress --target hot,wet,dark --epochs 1 --out numbers && expect 0 "$wick" eval numbers --json && at_least samples 160 && has out '"r2"'
    [ -n "$python" ] || { echo "  skipped: no scikit-learn"; return 0; }
    expect 0 "$wick" eval weather --json && cp out eval.json && expect 0 "$wick" predict weather --index "0-$(($(json out samples) - 1))" --json && mv out predicted.json
    "$python" -c 'import json, numpy as np
from sklearn.metrics import f1_score, average_precision_score, accuracy_score, hamming_loss
p = json.load(open("predicted.json"))["images"]; e = json.load(open("eval.json")); names = ["hot", "wet", "dark"]
y = np.array([[i["target"][n] for n in names] for i in p]); q = np.array([[i["probabilities"][n] for n in names] for i in p]); t = q > 0.5
for name, v in (("map", average_precision_score(y, q, average="macro")), ("f1_macro", f1_score(y, t, average="macro")), ("f1_micro", f1_score(y, t, average="micro")), ("subset_accuracy", accuracy_score(y, t)), ("hamming_loss", hamming_loss(y, t))):
    assert abs(e[name] - v) < 2e-4, (name, e[name], v)' || fail "scores are not those of scikit-learn"
}
test_autoencoder_finds_what_is_unlike() {
    mkdir -p machine
    plain='x = a; y = b; printf "%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,ok\n", x, y, x + y, x - y, 2 * x, 3 * y'
    { echo p,q,r,s,t,u,label; rows 5 1200 "$plain"; } >machine/train.csv
    { echo p,q,r,s,t,u,label; rows 6 200 "$plain"; rows 7 100 'printf "%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,broken\n", a, b, c, d, b, a'; } >machine/test.csv
    expect 0 "$wick" train --data machine --task autoencode --threads 1 --out machine_run && has err "linear 16, relu, linear 2, linear 16, relu"
    # a class that the training lacks is that of the anomalies
    expect 0 "$wick" eval machine_run --json && valid_json out
    awk -v a="$(grep -o '"name": null[^}]*' out | grep -o '"roc_auc": [0-9.]*' | cut -d' ' -f2)" 'BEGIN { exit !(a > 0.95) }' || fail "AUC: $(cat out)"
    expect 0 "$wick" predict machine_run --index 0,299 && has out "anomaly score" && expect 0 "$wick" report machine_run -o machine.html && has machine.html "Anomaly scores"
    expect 0 "$wick" convert machine_run machine.onnx && expect 0 "$wick" inspect machine.onnx && has out "score  float [N, 1]" && has out "reconstruction  float [N, 6]"
    # 8 bits are judged by how well the anomalies are told apart
    expect 0 "$wick" quantize machine_run -o machine8.onnx --anomalies machine --max-drop 0.01 --json && valid_json out && has err "100 anomalies of machine: those whose class" && [ "$(json out metric)" = roc_auc ] && at_least roc_auc_f32 0.95 && at_most drop 0.01 || fail "AUC: $(cat out)"
    expect 0 "$wick" quantize machine_run -o machine8.onnx && has err "--anomalies DATA judges by AUC" && has out "RMSE  " && has out "squares in pairs"
    { head -1 machine/train.csv; tail -5 machine/train.csv; } >usual.csv && expect 3 "$wick" quantize machine_run -o no.onnx --anomalies usual.csv && has err "have classes that the training had"
    expect 0 "$wick" train --data machine --task autoencode --noise 0.3 --epochs 3 --out noisy && expect 0 "$wick" train --data machine --task autoencode --noise 0.3 --epochs 3 --out noisy2 --threads 2 && same_tensors noisy/last.safetensors noisy2/last.safetensors
}
test_autoencoder_of_pictures() {
    make_data pictures 600 100 12
    expect 0 "$wick" train --data pictures --task autoencode --epochs 3 --out pictures_run && expect 0 "$wick" eval pictures_run --json && valid_json out && at_most loss 1
    expect 0 "$wick" predict pictures_run --index 0 && has out "anomaly score" && expect 0 "$wick" convert pictures_run pictures.onnx && expect 0 "$wick" report pictures_run -o pictures.html
    expect 2 "$wick" train --data pictures --task autoencode --net "flatten, linear 10" --out no && has err "a sample has 144"
    expect 3 "$wick" train --data pictures --task regress --out no && has err "has classes, by its folders or files"
}
test_what_metadata_say_is_checked() {
    [ -d houses ] && [ -d series ] || { fail "no models"; return; }
    local change command
    while IFS='|' read -r run change why; do
        cp $run/best.safetensors lied.safetensors && unseal lied.safetensors && sed -i "s/$change/" lied.safetensors
        cmp -s $run/best.safetensors lied.safetensors && fail "$change changes nothing"
        for command in eval predict; do expect 3 "$wick" $command lied.safetensors && has err "$why"; done
    done <<'LIES'
houses|"task":"regress"/"task":"egresss"|does not know
houses|"task":"regress"/"tusk":"regress"|has no 'classes'
houses|"objective":"mse"/"objective":"mes"|does not know
houses|"standardised":"1"/"standardized":"1"|2 states differ
houses|"validation":"0/"validation":"9|bad validation
series|"window":"24 6"/"window":"24 5"|bad window
series|"window":"24 6"/"window":"00 6"|bad window
series|"window":"24 6"/"window":"12 6"|the model takes 48
LIES
}
test_resumed_runs_are_the_undisturbed_ones() {
    expect 0 "$wick" train --data houses.csv --schedule constant --warmup 3 --epochs 6 --batch 32 --out whole --threads 1
    expect 0 "$wick" train --data houses.csv --schedule constant --warmup 3 --epochs 3 --batch 32 --out halves --threads 2
    expect 0 "$wick" train --resume halves --epochs 6 && has err "looked at more than once" && same_tensors whole/last.safetensors halves/last.safetensors
    expect 2 "$wick" train --resume halves --task classify && has err "can't be changed"
    expect 2 "$wick" train --resume halves --validation 0.5 --epochs 7 && has err "can't be changed"
}
test_validation_is_not_the_test() {
    make_data set 800 200
    expect 0 "$wick" train --data set --hidden 16 --epochs 3 --out valid --json && has err "79 of the 800 training images are held out" && has err "looked at once" && [ "$(json out test_looks)" = 1 ] && best=$(json out best_accuracy) test=$(json out test_accuracy)
    [ "$(grep -c test_accuracy valid/log.jsonl)" = 1 ] && [ "$(grep -c valid_score valid/log.jsonl)" = 3 ] || fail "the log: $(tail -n 2 valid/log.jsonl)"
    expect 0 "$wick" eval valid --json && [ "$(json out accuracy)" = "$test" ] || fail "test $(json out accuracy), not $test"
    expect 0 "$wick" eval valid --split validation --json && [ "$(json out images)" = 79 ] && [ "$(json out accuracy)" = "$best" ] || fail "validation $(json out accuracy), not $best"
    expect 0 "$wick" eval valid --split train --json && [ "$(json out images)" = 721 ] || fail "train"
    expect 0 "$wick" train --data set --hidden 16 --epochs 1 --validation test --out bytest && has err "its figure is no test" && lacks err "looked at once"
    expect 0 "$wick" train --data set --hidden 16 --epochs 1 --validation 0 --out none && has err "best training accuracy"
    expect 2 "$wick" train --data set --hidden 16 --validation 1.5 --out no && has err "is no part of the training samples"
    mkdir -p parts && { head -n 1 houses.csv; sed -n 2,500p houses.csv; } >parts/train.csv && { head -n 1 houses.csv; sed -n 501,600p houses.csv; } >parts/valid.csv && { head -n 1 houses.csv; sed -n 601,700p houses.csv; } >parts/test.csv
    expect 0 "$wick" train --data parts --epochs 2 --out parts_run && has err "100 rows for validation (valid)" && expect 0 "$wick" eval parts_run --split validation --json && [ "$(json out samples)" = 100 ] || fail "the part"
    expect 0 "$wick" train --resume parts_run --epochs 3 && has err "100 rows for validation (valid)"
    expect 0 "$wick" train --data parts --validation 0.2 --epochs 1 --out given && has err "which is passed over" && has err "held out" && expect 0 "$wick" train --resume given --epochs 2 && has err "held out"
    expect 0 "$wick" train --data houses.csv --validation parts/valid.csv --epochs 2 --out other_run && expect 0 "$wick" eval other_run
    local part i
    for part in train validation test; do
        mkdir -p photos/$part/cat photos/$part/dog
        for i in 1 2 3 4; do cp "$golden"/images/rgb8.png photos/$part/cat/$i.png && cp "$golden"/images/grey8.png photos/$part/dog/$i.png; done
    done
    expect 0 "$wick" train --data photos --image-size 12x12 --hidden 8 --epochs 1 --out photos_run && has err "8 images for validation (validation)" && expect 0 "$wick" eval photos_run --split validation --json && [ "$(json out images)" = 8 ] || fail "folders of pictures"
}
recall() { grep -o "\"name\": \"$1\"[^}]*" out | grep -o '"recall": [0-9.]*' | cut -d' ' -f2; }
test_weights_of_classes() {
    { echo u,v,kind; rows 8 1500 'printf "%.3f,%.3f,%s\n", a, b, (a + 0.8 * c > 1.2 ? "rare" : "usual")'; } >rare.csv
    expect 0 "$wick" train --data rare.csv --threads 1 --out plain && expect 0 "$wick" eval plain --json && before=$(recall rare)
    expect 0 "$wick" train --data rare.csv --threads 1 --class-weights balanced --out balanced && expect 0 "$wick" eval balanced --json && after=$(recall rare)
    awk -v a="$before" -v b="$after" 'BEGIN { exit !(b > a + 0.1 && b > 0.7) }' || fail "recall of the rare class: $before, balanced $after"
    expect 0 "$wick" train --data rare.csv --threads 1 --class-weights 1,1 --out ones && same_tensors plain/best.safetensors ones/best.safetensors
    for list in 1 1,2,3 1,x 0,0 -1,1 1,inf; do expect 2 "$wick" train --data rare.csv --class-weights "$list" --out no && has err "is not balanced, nor 2 numbers"; done
    expect 2 "$wick" train --data houses.csv --class-weights balanced --out no && has err "--class-weights is for --task classify"
}
test_dry_run() {
    expect 0 "$wick" train --data houses.csv --dry-run --out dry && has out "regress: a regression of 1 target" && has out "645 for training, 72 for validation, 183 for the test" && [ ! -e dry ] || fail "it wrote"
    expect 0 "$wick" train --data houses.csv --dry-run --out dry --json && valid_json out && [ "$(json out steps)" = 2016 ] && [ ! -e dry ] || fail "$(json out steps) steps"
    expect 2 "$wick" train --data houses.csv --dry-run --loss mean --out dry
}
test_options_of_a_file() {
    expect 0 "$wick" train --data houses.csv --target price --epochs 3 --group "*.bias:decay=0" --group "fc1*:lr=0.5x" --no-standardise --threads 1 --out first && [ -s first/options.txt ] || fail "no options.txt"
    expect 0 "$wick" train --config first/options.txt --threads 1 --out second && same_tensors first/last.safetensors second/last.safetensors && cmp first/options.txt second/options.txt || fail "other options"
    printf '# a comment\n\n  epochs = 2\r\nbatch=64\nno-standardise\nskip = town\n' >some.txt
    expect 0 "$wick" train --data houses.csv --config some.txt --epochs 4 --dry-run --json && [ "$(json out epochs)" = 4 ] && [ "$(json out batch)" = 64 ] && [ "$(json out parameters)" = 257 ] || fail "$(cat out)"
    local line
    for line in "epoks = 2" "epochs" "epochs = two" "epochs = 2
epochs = 3" "quiet" "no-standardise = maybe" "= 3"; do printf '%s\n' "$line" >bad.txt; expect 2 "$wick" train --data houses.csv --config bad.txt --out no && has err "bad.txt:"; done
    printf '\357\273\277epochs = 3\n' >marked.txt && expect 0 "$wick" train --data houses.csv --config marked.txt --dry-run --json && [ "$(json out epochs)" = 3 ] || fail "$(cat out)"
    printf 'data = x\nepochs = 0\n' >bad.txt && expect 2 "$wick" train --config bad.txt --out no && has err "bad.txt:2"
    expect 3 "$wick" train --config nowhere.txt --out no && has err "nowhere.txt"
    expect 2 "$wick" train --resume first --config some.txt && has err "leave out --config"
}
test_forecasts_of_a_series() {
    # two waves and a slow rise: the test has levels that the training never saw
    { echo day,load,heat; awk 'BEGIN { srand(9); for (i = 0; i < 1500; i++) printf "d%d,%.4f,%.4f\n", i, 50 + 0.02 * i + 8 * sin(i / 5) + rand(), 20 + 5 * cos(i / 5) }'; } >series.csv
    expect 0 "$wick" train --data series.csv --skip day --target load --window 24 --horizon 6 --threads 1 --out series && has err "are held out for validation" && has err "the last 117 of the 1171" # 1200 rows: 1200 - 24 - 6 + 1
    expect 0 "$wick" eval series --json && valid_json out && [ "$(json out samples)" = 295 ] && at_least r2 0.9 && has out '"load+6"' || fail "$(cat out)" # 300 rows to forecast: 300 - 6 + 1
    expect 0 "$wick" eval series --split validation --json && [ "$(json out samples)" = 117 ] || fail "validation"
    # beyond the last row nobody knows what it is
    { echo day,load,heat; tail -n 24 series.csv; } >last.csv && expect 0 "$wick" predict series last.csv && has out "load+6" && lacks out "nan" && lacks out "(is" && [ "$(grep -c '^.*last.csv #' out)" = 1 ] || fail "$(cat out)"
    awk '$1 == "load+1" { exit !($2 > 65 && $2 < 95) }' out || fail "$(cat out)"
    expect 0 "$wick" report series -o series.html && has series.html "A regression of 6 targets" && expect 0 "$wick" convert series series.onnx && expect 0 "$wick" inspect series.onnx && has out "predictions  float [N, 6]" && has out "[N, 48]"
    expect 0 "$wick" train --data series.csv --skip day --target load,heat --window 12 --horizon 2 --epochs 2 --out both && expect 0 "$wick" eval both && has out "heat+2" && expect 0 "$wick" train --resume both --epochs 3
    mkdir -p years && head -n 1001 series.csv >years/train.csv && { head -n 1 series.csv; tail -n 400 series.csv; } >years/test.csv && expect 0 "$wick" train --data years --skip day --target load --window 24 --horizon 3 --epochs 2 --out years_run && expect 0 "$wick" eval years_run --json && [ "$(json out samples)" = 374 ] || fail "years"
    head -n 20 series.csv >short.csv && expect 3 "$wick" train --data short.csv --skip day --target load --window 24 --horizon 6 --out no && has err "too few for a window"
    expect 3 "$wick" eval series --data short.csv && has err "too few"
    sed 's/^d700,[^,]*/d700,/' series.csv >hole.csv && expect 3 "$wick" train --data hole.csv --skip day --target load --window 24 --out no && has err "line 702"
    expect 2 "$wick" train --data series.csv --horizon 3 --out no && has err "--horizon is for --window"
    expect 2 "$wick" train --data series.csv --task classify --window 24 --out no && has err "--window forecasts numbers"
    make_data pictures 600 100 12 && expect 3 "$wick" train --data pictures --window 4 --out no && has err "--window is for a table"
}
# spots FOLDER N: grey pictures of 12 x 12 with a bright spot, and a table of where it is
spots() {
    mkdir -p "$1/pictures"
    awk -v folder="$1" -v n="$2" 'BEGIN { srand(11); print "file,x,y,half,top,left"
        for (i = 0; i < n; i++) { u = int(12 * rand()); v = int(12 * rand()); name = "pictures/" i ".pgm"; printf "P2\n12 12\n255\n" >folder "/" name
            for (r = 0; r < 12; r++) for (c = 0; c < 12; c++) print (r == v && c == u ? 255 : int(20 * rand())) >folder "/" name
            close(folder "/" name); print name "," u + 0.5 "," v + 0.5 "," (u < 6 ? "west" : "east") "," (v < 6) "," (u < 6) } }' >"$1/all.csv"
}
test_tables_of_pictures() {
    spots spots 500
    local table="spots/all.csv"
    expect 0 "$wick" train --data $table --target x,y --hidden 64 --dropout 0 --lr 0.003 --epochs 60 --batch 32 --threads 1 --out where && has err '"file" names pictures' && has err "--task regress" && expect 0 "$wick" eval where --json && at_least r2 0.9 && [ "$(json out samples)" = 95 ] || fail "samples: $(json out samples)"
    expect 0 "$wick" predict where spots/pictures/3.pgm --json && valid_json out && has out '"predicted": {"x": '
    # the spot is where the pixel is
    awk -F, 'NR == 5 { print $2 }' $table >want && awk -v a="$(json out x)" -v b="$(cat want)" 'BEGIN { exit !(a != "" && (a - b) ^ 2 < 2) }' || fail "predicted $(cat out), is $(cat want)"
    expect 0 "$wick" predict where $table --index 0 && has out "(is" && expect 0 "$wick" report where -o where.html && has where.html "Predicted over true"
    expect 0 "$wick" convert where where.onnx && expect 0 "$wick" inspect where.onnx && has out "predictions  float [N, 2]" && has out "[N, 1, 12, 12]"
    expect 0 "$wick" train --data $table --label half --epochs 10 --batch 32 --lr 0.01 --out half && expect 0 "$wick" eval half --json && at_least accuracy 0.9 && has out '"west"' && expect 0 "$wick" predict half spots/pictures/0.pgm
    expect 0 "$wick" train --data $table --target top,left --epochs 15 --batch 32 --lr 0.01 --out sides && has err "--task multi-label" && expect 0 "$wick" eval sides --json && at_least map 0.9
    expect 0 "$wick" train --data $table --task autoencode --epochs 2 --out remade && expect 0 "$wick" train --resume where --epochs 61
    # what does not fit
    { cat $table; echo "../houses.csv,1,1,west,0,0"; } >spots/bad.csv && expect 3 "$wick" train --data spots/bad.csv --target x --out no && has err "no file beside the table"
    { cat $table; echo "pictures/none.pgm,1,1,west,0,0"; } >spots/bad.csv && expect 3 "$wick" train --data spots/bad.csv --target x --out no && has err "none.pgm"
    { cat $table; echo "pictures/small.pgm,1,1,west,0,0"; } >spots/bad.csv && printf 'P2 2 2 255 1 2 3 4' >spots/pictures/small.pgm && expect 3 "$wick" train --data spots/bad.csv --target x --out no && has err "--image-size HxW makes pictures alike" && expect 0 "$wick" train --data spots/bad.csv --target x --image-size 12 --epochs 1 --out sized
    expect 3 "$wick" eval where --data houses.csv && has err "no column with names of pictures"
}
test_tensors_of_numbers() {
    [ -n "$python" ] || { echo "  skipped: no NumPy"; return 0; }
    "$python" -c 'import numpy as np
r = np.random.RandomState(0); x = r.randn(400, 5).astype("f4"); y = x @ r.randn(5, 3).astype("f4") * 50 + 7
np.savez("three.npz", x=x, y=y); np.savez("one.npz", x=x, y=y[:, 0]); np.savez("flags.npz", x=x, y=(y > 7).astype("i8"))
np.savez("own.npz", x_train=x[:300], y_train=y[:300], x_val=x[300:350], y_val=y[300:350], x_test=x[350:], y_test=y[350:])
np.savez("bad.npz", x=x, y=np.where(np.arange(400) == 17, np.nan, y[:, 0]))'
    expect 0 "$wick" train --data three.npz --threads 1 --out three && has err '"y" has 3 numbers for each sample' && expect 0 "$wick" eval three --json && at_least r2 0.95 && has out '"y[2]"'
    expect 0 "$wick" train --data one.npz --epochs 30 --out one && has err "not whole" && expect 0 "$wick" predict one --index 0
    expect 0 "$wick" train --data flags.npz --out flags --threads 1 && has err "--task multi-label" && expect 0 "$wick" eval flags --json && at_least map 0.9
    expect 0 "$wick" train --data own.npz --epochs 3 --out own && has err "50 rows for validation (val)" && lacks err "passed over" && expect 0 "$wick" eval own --split validation --json && [ "$(json out samples)" = 50 ] && expect 0 "$wick" eval own --json && [ "$(json out samples)" = 50 ] || fail "val"
    expect 3 "$wick" train --data bad.npz --task regress --out no && has err '"y": row 17 is NaN'
}
# Arrays of different shapes are inputs of one network, by name, in ONNX too.
test_several_inputs() {
    [ -n "$python" ] || { echo "  skipped: no NumPy"; return 0; }
    "$python" -c 'import numpy as np, os
r = np.random.RandomState(0)
def make(n):  # the class is in how fast one input swings, and in the sign of the other
    y = r.randint(0, 3, n); t = np.arange(50) / 50
    wave = np.sin(6.28 * (2 + 2 * (y[:, None] % 2)) * t + r.uniform(0, 6, (n, 1))) + 0.3 * r.randn(n, 50)
    return dict(wave=wave.astype("f4")[:, None, None], light=np.where(y[:, None] == 2, 1, -1) + 0.5 * r.randn(n, 7), y=y)
os.makedirs("two"); np.savez("two/train.npz", **make(600)); np.savez("two/test.npz", **make(200)); z = make(40)
np.savez("nan.npz", wave=np.where(np.arange(40)[:, None, None, None] == 7, np.nan, z["wave"]), light=z["light"], y=z["y"]); np.savez("few.npz", wave=z["wave"], light=z["light"][:39], y=z["y"])'
    both=(--inputs wave,light --net "input wave, conv 16 1x7 same, relu, globalmaxpool, save a, input light, linear 16, relu, concat a, linear classes" --schedule constant --warmup 0)
    expect 0 "$wick" train --data two "${both[@]}" --epochs 12 --threads 1 --out inputs && has err "input light: numbers 50 to 56 of a sample" && expect 0 "$wick" eval inputs --json && at_least accuracy 0.95
    expect 0 "$wick" train --data two "${both[@]}" --epochs 6 --threads 2 --out again && expect 0 "$wick" train --resume again --epochs 12 --quiet && same_tensors inputs/last.safetensors again/last.safetensors
    expect 0 "$wick" predict inputs two/test.npz --index 0-199 --json && valid_json out && cp out inputs.json && expect 0 "$wick" compile inputs -o inputs_c && expect 0 "$wick" report inputs -o inputs.html
    expect 0 "$wick" convert inputs inputs.onnx && expect 0 "$wick" inspect inputs.onnx && has out "wave  float [N, 1, 1, 50]" && has out "light  float [N, 7]"
    expect 2 "$wick" train --data two --inputs wave,light --net "input waves, linear classes" --out no && has err 'there is no input "waves"' && expect 3 "$wick" train --data two --inputs wave,heavy --out no && has err 'has no array "heavy"'
    expect 3 "$wick" train --data two --inputs wave,wave --out no && has err "named twice" && expect 3 "$wick" train --data nan.npz --inputs wave,light --out no && has err '"wave": sample 7 has NaN' && expect 3 "$wick" train --data few.npz --inputs wave,light --out no && has err '"light" has 39 samples, and "wave" 40'
    expect 2 "$wick" train --data two --inputs wave,light --net "input 50 1x8, flatten, linear classes" --out no && has err "takes numbers 50 to 57, and samples have 57" && expect 2 "$wick" train --data houses.csv --target price --net "input a, linear classes" --out no && has err 'there is no input "a"'
    "$python" -c 'import onnxruntime' 2>/dev/null || { echo "  skipped: no ONNX Runtime"; return 0; }
    "$python" - <<'P' || fail "ONNX Runtime gives other numbers"
import json, numpy as np, onnxruntime as rt
z = np.load("two/test.npz"); o = rt.InferenceSession("inputs.onnx").run(None, {"wave": z["wave"], "light": z["light"].astype("f4")})[0]
p = np.exp(o - o.max(1, keepdims=True)); p /= p.sum(1, keepdims=True); said = json.load(open("inputs.json"))["images"]
want = np.array([[s["probabilities"][k] for k in "012"] for s in said]); assert np.abs(p - want).max() < 1e-5 and len(said) == 200
P
}
test_sets_of_scikit_learn() {
    [ -n "$python" ] || { echo "  skipped: no scikit-learn"; return 0; }
    "$python" - "$wick" <<'P' || fail "below scikit-learn"
import json, subprocess, sys, os, numpy as np
from sklearn.datasets import load_iris, load_wine, load_diabetes
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
for name, load in (("iris", load_iris), ("wine", load_wine), ("diabetes", load_diabetes)):
    x, y = load(return_X_y=True)
    ours, theirs = [], []
    for seed in range(3):
        p = np.random.RandomState(seed).permutation(len(y)); n = len(y) // 5
        os.makedirs(name, exist_ok=True)
        for part, rows in (("test", p[:n]), ("train", p[n:])):
            with open(f"{name}/{part}.csv", "w") as f:
                print(*[f"x{i}" for i in range(x.shape[1])], "target", sep=",", file=f)
                for i in rows: print(*x[i], y[i] if name == "diabetes" else f"k{y[i]}", sep=",", file=f)
        m = make_pipeline(StandardScaler(), Ridge() if name == "diabetes" else LogisticRegression(max_iter=1000)).fit(x[p[n:]], y[p[n:]])
        theirs.append(m.score(x[p[:n]], y[p[:n]]))
        out = subprocess.run([sys.argv[1], "train", "--data", name, "--out", name + "_run", "--force", "--quiet", "--json"], capture_output=True, text=True).stdout
        j = json.loads(out); ours.append(j.get("test_score", j.get("test_accuracy")))
    print(" ", name, np.mean(ours).round(4), "scikit-learn", np.mean(theirs).round(4))
    assert np.mean(ours) >= np.mean(theirs) - (0.02 if name == "diabetes" else 0.005), (name, ours, theirs)
P
}
# Waveforms: the loss is the noise over the signal of each sample, and SI-SDR that of what is made of it, both by NumPy.
test_waveforms() {
    [ -n "$python" ] || { echo "  skipped: no NumPy"; return 0; }
    "$python" - <<'P'
import numpy as np
r = np.random.default_rng(4); t = np.arange(64)
for part, n in ("train", 200), ("test", 40):
    y = (r.uniform(0.05, 1, (n, 1)) * np.sin(r.uniform(0.2, 0.6, (n, 1)) * t + r.uniform(0, 6, (n, 1)))).astype("f4"); np.savez(f"wave-{part}.npz", x=(y + 0.3 * np.abs(y).max(1, keepdims=True) * r.standard_normal(y.shape)).astype("f4"), y=y)
P
    mkdir -p waves && mv wave-train.npz waves/train.npz && mv wave-test.npz waves/test.npz
    expect 0 "$wick" train --data waves --task regress --loss snr --net "flatten, linear 64, relu, linear classes" --epochs 8 --validation 0 --threads 1 --out waved && expect 0 "$wick" eval waved --json && mv out waved.json && expect 0 "$wick" eval waved && has out "SI-SDR" && expect 0 "$wick" predict waved --index 0-39 --json && mv out waves.json
    "$python" - <<'P' || fail "another SI-SDR, or another loss"
import json, numpy as np
y = np.load("waves/test.npz")["y"].astype("f8"); e = json.load(open("waved.json")); p = np.array([list(i["predicted"].values()) for i in json.load(open("waves.json"))["images"]])
s = (p * y).sum(1, keepdims=True) / (y * y).sum(1, keepdims=True) * y; want = np.mean(10 * np.log10((s**2).sum(1) / ((p - s) ** 2).sum(1)))
loss = np.mean(10 * np.log10((((p - y) ** 2).mean(1) + 1e-8) / ((y**2).mean(1) + 1e-8))); assert abs(e["si_sdr"] - want) < 1e-3 and abs(e["loss"] - loss) < 1e-3 and want > 1, (e["si_sdr"], want, e["loss"], loss)
P
}
test_main
