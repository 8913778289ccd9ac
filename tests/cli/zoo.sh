# wick zoo: the list, recipes that parse and build, a training on a little set, what it is judged by, times and the page.
. "$(dirname "$0")/lib.sh"
unset WICK_ZOO
# elecdemand.csv of DAYS days, the last fifth of them the test: a day's curve, lower on days without work, and noise.
demand() {
    awk -v days="$1" 'BEGIN { srand(5); print "halfhour,demand_gw,workday,temperature_c,split"
        for (i = 0; i < 48 * days; i++) { d = int(i / 48); w = d % 7 < 5
            printf "%d,%.4f,%d,%.1f,%s\n", i, 4 + w + sin(i * 6.2831853 / 48) + 0.05 * rand(), w, 15 + 5 * sin(i / 700), (d < days * 0.8 ? "train" : "test") } }'
}
mkdir sets && demand 40 >sets/elecdemand.csv

test_list() {
    expect 0 "$wick" zoo list && has out "S6   EnergyPredict" && has out "not there yet: needs" && has out "none stated: for research alone"
    expect 0 "$wick" zoo list --json && valid_json out && [ "$(grep -o '"id": ' out | wc -l)" = 30 ] || fail "not 30 models"
    grep -o '"parameters": [0-9]*' out | awk '{ n++; bad += $2 < 1 || $2 > 100000 } END { exit bad || n < 18 }' || fail "a model has more than 100,000 parameters, or few can be trained"
    expect 0 "$wick" zoo list --free --json && lacks out cwru.npz && lacks out emodb && has out elecdemand.csv
    expect 0 "$wick" zoo list s6 --json && has out '"outputs": 24' && [ "$(grep -o '"id": ' out | wc -l)" = 1 ] || fail "not one"
}
# Each is a file of options that wick train takes; with data that are not there it ends with 3, not 2. Its network takes the shape it says and gives as many numbers.
test_recipes() {
    local id net input outputs
    expect 0 "$wick" zoo list --json || return
    sed 's/{"id": /\n&/g' out | grep '"needs": null' >models
    while read -r line; do
        printf '%s\n' "$line" >model
        id=$(json model id) && net=$(sed 's/.*"net": "\([^"]*\)".*/\1/' model) && outputs=$(json model outputs) && input=$(sed 's/.*"network_input": "\([^"]*\)".*/\1/' model)
        expect 0 "$wick" zoo recipe "$id" && cp out recipe.txt && expect 3 "$wick" train --config recipe.txt --data nowhere.npz --dry-run
        expect 0 "$wick" info --net "$net" --input "$input" --classes "$outputs" && has out "parameters" || fail "$id"
    done <models
}
test_training_on_a_little_set() {
    expect 0 "$wick" zoo train S6 --data sets --out zoo --threads 1 --json && valid_json out && [ "$(json out baseline)" != null ] || fail "no result"
    awk -v s="$(json out score)" -v b="$(json out baseline)" 'BEGIN { exit !(s > 0 && s < b) }' || fail "$(json out score) is no better than $(json out baseline)"
    valid_json zoo/data/EnergyPredict/manifest.json && has zoo/data/EnergyPredict/manifest.json '"groups_shared": false'
    has zoo/EnergyPredict/seed-1/recipe.txt "window = 96" && valid_json zoo/EnergyPredict/seed-1/result.json
    # The score by hand: wick eval has it as a share, of the same weights.
    expect 0 "$wick" eval zoo/EnergyPredict/seed-1/last.safetensors --json && awk -v a="$(grep -o '"score": [^,]*' zoo/EnergyPredict/seed-1/result.json | cut -d' ' -f2)" -v b="$(json out mape)" 'BEGIN { exit !(a / 100 - b < 1e-5 && b - a / 100 < 1e-5) }' || fail "score is not what wick eval says"
    expect 0 "$wick" zoo train EnergyPredict --data sets --out zoo --json --quiet && [ ! -s err ] || fail "trained again"
    expect 0 "$wick" zoo eval S6 --out zoo && has out "EnergyPredict" && has out "baseline"
    expect 0 "$wick" zoo bench S6 --out zoo --trials 20 --json && valid_json out && has out '"p99_ms": ' && has out '"first_output_ms": '
    expect 0 "$wick" zoo report S6 --out zoo && has zoo/report.html "EnergyPredict" && has zoo/report.html "not there yet: needs" && has zoo/report.html "<svg" && lacks zoo/report.html "nan"
}
test_same_weights_for_any_threads() {
    expect 0 "$wick" zoo train S6 --data sets --out one --threads 1 && expect 0 "$wick" zoo train S6 --data sets --out two --threads 2 || return
    same_tensors one/EnergyPredict/seed-1/last.safetensors two/EnergyPredict/seed-1/last.safetensors
}
test_refusals() {
    expect 2 "$wick" zoo paint && has err "it has list, train"
    expect 2 "$wick" zoo train && has err "needs the name of a model"
    expect 2 "$wick" zoo train EnergyPredikt && has err "did you mean EnergyPredict"
    expect 2 "$wick" zoo train V9 && has err "not there yet: needs --task track"
    expect 2 "$wick" zoo train S7 --free --data sets && has err "no free licence"
    expect 2 "$wick" zoo list --force && has err "--force has no effect here"
    expect 2 "$wick" zoo train S6 --shuffle-labels --data sets --out zoo && has err "forecasts a series"
    expect 3 "$wick" zoo train S1 --data sets --out zoo --json && valid_json out && has err "sets/skab.npz: is not there; the set comes from github.com/waico/SKAB"
    expect 3 "$wick" zoo eval S1 --out zoo && has err "is not trained"
    expect 3 "$wick" zoo bench S1 --out zoo && has err "is not there"
    expect 3 "$wick" zoo report --out empty && has err "nothing is trained there"
    mkdir -p bad && sed '30s/.*/1,2,3/' sets/elecdemand.csv >bad/elecdemand.csv && expect 3 "$wick" zoo train S6 --data bad --out zoo && has err "line 30"
    # a day on both sides
    awk -F, 'NR > 1 && $5 == "test" && !done { sub("test", "train"); done = 1 } { print }' sets/elecdemand.csv >bad/elecdemand.csv && expect 3 "$wick" zoo train S6 --data bad --out leak && has err "is in train and in test"
}
# Texts: what is held out is no part of what is learned, and what is no class of the set is left out.
test_texts() {
    { printf 'intent\tsplit\ttext\n'; awk 'BEGIN { for (k = 0; k < 20; k++) for (i = 0; i < 12; i++) printf "kind%02d\t%s\twant thing%d now %d\n", k, (i < 8 ? "train" : i < 10 ? "val" : "test"), k, i }'; printf 'oos\ttrain\tnothing of the kind\nkind00\ttrain\tWant, thing0 now 11!\n'; } >sets/intents.tsv
    expect 0 "$wick" zoo train A9 --data sets --out zoo --json && awk -v s="$(json out score)" 'BEGIN { exit !(s > 0.9) }' || fail "intents are not learned: $(json out score)"
    has err "train: 1 texts are left out" && [ "$(wc -l <zoo/data/IntentClassify/train.tsv)" = 161 ] || fail "not the 160 texts"
    expect 0 "$wick" zoo bench A9 --out zoo --trials 20
    mkdir -p bad && sed '5s/train/dev/' sets/intents.tsv >bad/intents.tsv && expect 3 "$wick" zoo train A9 --data bad --out bad && has err 'line 5: the split is train, val, validation or test, not "dev"'
    sed '7s/\t/ /' sets/intents.tsv >bad/intents.tsv && expect 3 "$wick" zoo train A9 --data bad --out bad && has err "line 7 has 2 cells"
}
# Tags, and what the commonest tag of each word reaches; texts of the other source are put aside.
test_tags() {
    { printf 'source\tsplit\twords\ttags\n'; awk 'BEGIN { split("Ann Bob Eve Tom Kim Sue", who, " "); split("Rome Oslo Bern Lima", where, " ")
        for (i = 0; i < 240; i++) printf "%s\t%s\t%s saw %s day %d\tB-PER O B-LOC O O\n", (i % 4 ? "uner" : "wnut17"), (i < 180 ? "train" : i < 200 ? "validation" : "test"), who[i % 6 + 1], where[i % 4 + 1], i
        printf "wnut17\ttrain\tnew York Inc sold Jazz band to me\tB-LOC I-LOC B-ORG O B-OTH I-OTH O O\nuner\ttrain\tAnn Lee of Big Co\tB-PER I-PER O B-ORG I-ORG\n" }'; } >sets/ner.tsv
    expect 0 "$wick" zoo train S9 --data sets --out zoo --threads 1 --json && awk -v s="$(json out score)" -v b="$(json out baseline)" 'BEGIN { exit !(s > 0.9 && b == 1) }' || fail "tags: $(json out score), baseline $(json out baseline)"
    [ "$(wc -l <zoo/data/NamedEntity/aside.tsv)" = 11 ] && [ "$(wc -l <zoo/data/NamedEntity/test.tsv)" = 31 ] || fail "parts of tags"
}
# Boxes of an archive: each picture keeps its own, and the network has room for twenty classes.
test_boxes() {
    mkdir -p cells/train cells/val cells/test && awk 'BEGIN { srand(8); print "split,image,class,xmin,ymin,xmax,ymax" >"cells/boxes.csv"
        for (i = 0; i < 60; i++) { part = i < 36 ? "train" : i < 44 ? "val" : "test"; n = sprintf("%05d", i); f = "cells/" part "/" n ".jpg"; print "P2 48 48 255" >f; k = i % 2; x = int(rand() * 30); y = int(rand() * 30); s = k ? 14 : 9
            print part "," n "," (k ? "WBC" : "RBC") "," x "," y "," x + s "," y + s >"cells/boxes.csv"; for (r = 0; r < 48; r++) for (c = 0; c < 48; c++) print (c >= x && c < x + s && r >= y && r < y + s ? (k ? 20 : 230) : 120) >f; close(f) } }'
    (cd cells && tar czf ../sets/bccd.tar.gz boxes.csv train val test)
    expect 0 "$wick" zoo train V1 --data sets --out zoo --json && awk -v s="$(json out score)" -v b="$(json out baseline)" 'BEGIN { exit !(s > 0.6 && b < 0.3) }' || fail "boxes are not learned: $(json out score), baseline $(json out baseline)"
    [ "$(wc -l <zoo/data/MicroYOLO-Nano/train.csv)" = 45 ] && [ "$(wc -l <zoo/data/MicroYOLO-Nano/test.csv)" = 17 ] && expect 0 "$wick" eval zoo/MicroYOLO-Nano/seed-1 && has out WBC && lacks out unused && expect 0 "$wick" zoo bench V1 --out zoo --trials 20
    sed -i '1s/image/picture/' cells/boxes.csv && mkdir -p bad && (cd cells && tar czf ../bad/bccd.tar.gz boxes.csv train val test) && expect 3 "$wick" zoo train V1 --data bad --out bad && has err "the columns of boxes.csv are not"
}
test_shuffled_labels() {
    command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null || { echo "  skipped: no NumPy"; return 0; }
    python3 - <<'P'
import numpy as np
r = np.random.default_rng(1)
n = 400
fall = np.arange(n) % 2
x = r.normal(0, 50, (n, 9, 300))
x[fall == 1, 0, 140:160] += 4000
np.savez("sets/umafall.npz", x=x.astype(np.int16), scale=np.full(9, 1e-3, np.float32), person=(np.arange(n) // 2 % 10).astype(np.uint8), fall=fall.astype(np.uint8),
         activity=np.where(fall, 12, 9).astype(np.uint8), impact=np.full(n, 150, np.int16), is_test=(np.arange(n) // 2 % 10 >= 7).astype(np.uint8))
P
    # Gaits: steps that come again every 10 samples of walking and 8 of jogging; noise has none, and is left out.
    python3 - <<'P'
import numpy as np
r = np.random.default_rng(2); n = 60
kind = np.arange(n) % 3; lag = np.array([10, 8, 9])[kind] + (np.arange(n) // 20) * 0.3; t = np.arange(300)
x = r.normal(0, 0.02, (n, 9, 300)); x[:, 2] += 1 + np.array([0.2, 0.8, 0.5])[kind][:, None] * np.sin(2 * np.pi * t / lag[:, None])
x[57:, 2] = 1 + r.normal(0, 0.3, (3, 300))
np.savez("gait.npz", x=(x * 1000).astype(np.int16), scale=np.full(9, 1e-3, np.float32), person=(np.arange(n) // 3 % 10).astype(np.uint8), fall=np.zeros(n, np.uint8),
         activity=np.array([11, 6, 5], np.uint8)[kind], impact=np.full(n, 150, np.int16), is_test=(np.arange(n) // 3 % 10 >= 7).astype(np.uint8))
P
    mkdir -p walks && cp gait.npz walks/umafall.npz && expect 0 "$wick" zoo train S8 --data walks --out zoo --json && valid_json out && has err "3 recordings without a step that comes again are left out" && has err "cadence: mape" && awk -v s="$(json out score)" -v b="$(json out baseline)" 'BEGIN { exit !(s > b + 0.2) }' || fail "gaits are not learned: $(json out score), baseline $(json out baseline)"
    expect 0 "$wick" eval zoo/GaitAnalysis/seed-1 && has out regularity
    expect 0 "$wick" zoo train S5 --data sets --out zoo --json && awk -v s="$(json out score)" 'BEGIN { exit !(s > 0.95) }' || fail "falls are not learned: $(json out score)"
    expect 0 "$wick" zoo train S5 --data sets --out zoo --shuffle-labels --json && has out '"labels_shuffled": true' && awk -v s="$(json out score)" 'BEGIN { exit !(s < 0.85) }' || fail "learned from shuffled labels: $(json out score)"
}
test_main
