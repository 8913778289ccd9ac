# wick report: one page about a run, from what the run left behind.
. "$(dirname "$0")/lib.sh"
make_data data 400 100
"$wick" train --data data --hidden 16 --epochs 3 --batch 30 --lr 0.003 --validation test --out run --quiet >/dev/null || exit 1

# What must hold of every page: whole, well-formed SVG, no NaN or infinity in a number, nothing that is fetched.
check_page() {
    has "$1" "</html>" && has "$1" "Content-Security-Policy"
    ! grep -nE '="[^"]*\b(-?nan|-?inf)\b|[MLHV ]-?nan' "$1" | head -n 3 | grep . || fail "$1: a number is none"
    ! grep -oE '(src|href)="[^"]*' "$1" | grep -vE '^(src="data:image/png;base64,|href="data:,)' | head -n 3 | grep . || fail "$1 fetches"
    lacks "$1" "<script" && ! grep -oE "url\([^#].{0,40}" "$1" | grep . || fail "$1 fetches"
    command -v python3 >/dev/null || return 0
    python3 - "$1" <<'PY' || fail "$1: its pictures"
import base64, re, sys, zlib
import xml.etree.ElementTree as xml
page = open(sys.argv[1], encoding="utf-8").read()
charts = re.findall(r"<svg.*?</svg>", page, re.S)
assert len(charts) >= 3, len(charts)
for chart in charts:
    root = xml.fromstring(chart)
    assert root.get("role") == "img" and root[0].tag.endswith("title") and root[0].text
for data in re.findall(r'src="data:image/png;base64,([^"]*)"', page):
    png = base64.b64decode(data, validate=True)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, pixels = 8, b""
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        body = png[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == int.from_bytes(png[at + 8 + size:at + 12 + size], "big")
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
            channels = {0: 1, 2: 3}[body[9]]
        if kind == b"IDAT":
            pixels = zlib.decompress(body)
        at += 12 + size
    assert kind == b"IEND" and at == len(png) and len(pixels) == height * (width * channels + 1)
PY
}

test_page() {
    expect 0 "$wick" report run && [ "$(cat out)" = run/report.html ] || fail "printed '$(cat out)'"
    check_page run/report.html
    for section in curves mistakes layers filters plan memory time options; do has run/report.html "id=\"$section\""; done
    for text in "mlp:16" "Memory of a step" "matmul" "test, after each epoch" "3 of 3 epochs"; do has run/report.html "$text"; done
    accuracy=$("$wick" eval run --json --quiet | sed -n 's/.*"accuracy": \([^,]*\),.*/\1/p' | awk '{ printf "%.2f", 100 * $1 }')
    has run/report.html "<dd>$accuracy<small>"
    expect 0 "$wick" report run --out elsewhere.html --json && valid_json out && [ "$(json out path)" = elsewhere.html ] || fail "--out"
    check_page elsewhere.html
}
# Digits on every cell differ from it as WCAG asks (4.5), in light and in dark; colours of cells lie over the empty one's.
test_matrix_can_be_read() {
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    python3 - run/report.html <<'PY' || fail "contrast"
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
light, dark = (dict(re.findall(r"--(\w+):(#[0-9a-f]+)", block)) for block in re.findall(r":root\{([^}]*)\}", page)[:2])
def rgb(c):
    c = c[1:]
    return [int(c[i:i + 2], 16) for i in (0, 2, 4)] if len(c) == 6 else [17 * int(x, 16) for x in c]
def luminance(c):
    return sum(w * (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4) for w, v in zip((0.2126, 0.7152, 0.0722), (x / 255 for x in c)))
def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)
assert re.search(r"svg \.zero\{fill:var\(--muted\)\}", page)
styles = {}  # class -> fill, light and dark
normal, darkness = page.split("@media(prefers-color-scheme:dark){svg", 1)
for part, theme in ((normal, 0), (darkness, 1)):
    for names, fill in re.findall(r"((?:svg )?\.on\d\d(?:,svg \.on\d\d)*)\{fill:(#\w+)\}", part):
        for name in re.findall(r"on\d\d", names):
            styles.setdefault(name, [None, None])[theme] = fill
cells = re.findall(r'<g class="cell">.*?</g>', page, re.S)
assert len(cells) == 100 and len(styles) == 4, (len(cells), styles)
worst = 99
for cell in cells:
    coloured = re.search(r'class="([ab])" fill-opacity="([0-9.]+)"', cell)
    text = re.search(r'class="mid (\w+)"', cell).group(1)
    for theme, colours in enumerate((light, dark)):
        back = rgb(colours["empty"])
        if coloured:
            top, opacity = rgb(colours[coloured.group(1)]), float(coloured.group(2))
            back = [b + (t - b) * opacity for b, t in zip(back, top)]
        worst = min(worst, contrast(back, rgb(colours["muted"] if text == "zero" else styles[text][theme])))
assert worst >= 4.5, worst
PY
}
test_what_a_reader_looks_for_first() {
    local head
    sed '/<section/,$d' run/report.html >head
    for text in "epochs <b>3</b>" "batch <b>30</b>" "lr <b>0.003</b>" "wick train --data $PWD/data --hidden 16 --epochs 3 --batch 30 --lr 0.003 --validation test<"; do has head "$text"; done
    has run/report.html "<h2>Predictions</h2>" && lacks run/report.html "What it takes for what"
    for id in memory time; do grep -q "<details[^>]*id=\"$id\"" run/report.html || fail "$id is not folded"; done
    printf 'a,b,label\n' >rows.csv && awk 'BEGIN { for (i = 0; i < 60; i++) print i % 7 / 7 "," i % 5 / 5 "," (i % 2 ? "no" : "yes") }' >>rows.csv
    expect 0 "$wick" train --data rows.csv --hidden 4 --epochs 1 --batch 8 --out rows --quiet && expect 0 "$wick" report rows && has err " rows; open it"
    has rows/report.html "rows/s"
    ! sed '1,/<\/style>/d' rows/report.html | grep -nwE 'images?' | head -n 3 | grep . || fail "rows are called images"
}
# Only what the run read, and the numbers it took for the defaults that stand for others: 3 epochs of 14 updates warm up for 2.
test_options_that_applied() {
    local name text
    has run/report.html "--arch</code></td><td>mlp:16,dropout=0.1<" && has run/report.html "--warmup</code></td><td>2<"
    has run/report.html "--lr</code></td><td>0.003<" && has run/report.html "--lr-min</code></td><td>0<"
    for name in net hidden dropout momentum nesterov lr-every lr-gamma; do lacks run/report.html ">--$name<"; done
    expect 0 "$wick" train --data data --net "flatten, linear 8, relu, linear classes" --epochs 1 --optimizer sgd --schedule step --out layers
    expect 0 "$wick" report layers && check_page layers/report.html
    for text in "A network of 3 layers on data" "<code>flatten, linear 8, relu, linear classes</code>" "--net</code></td><td>flatten, linear 8, relu" "--lr</code></td><td>0.01<" \
        "--momentum</code></td><td>0.9<" "--lr-gamma</code></td><td>0.5<" "for 1 of 1 epoch;" "<code>fc1</code></td><td>linear</td><td>8</td>"; do has layers/report.html "$text"; done
    for name in arch lr-min; do lacks layers/report.html ">--$name<"; done
}
# The memory of a step in the head is the sum of what the chart says; a number and its unit are one word.
test_memory_of_a_step_is_a_sum() {
    local tile nb=$'\xc2\xa0'
    tile=$(sed -n "s/.*Memory of a step<.dt><dd>\([^<]*\)<small> \([^<]*\)<.*/\1$nb\2/p" run/report.html)
    [ -n "$tile" ] || fail "no tile"
    has run/report.html "that is the $tile above"
    ! grep -oE '[0-9] (B|[KMGT]iB|%|s|ms|GFLOP|GB/s|GFLOP/s)\b' run/report.html | head -n 3 | grep . || fail "a line may break before a unit"
}
test_times_are_medians() {
    expect 0 "$wick" report run --json && [ "$(json out steps_timed)" = 20 ] || fail "$(json out steps_timed) steps"
    has run/report.html "median of 20 steps"
}
test_loading_is_told() {
    expect 0 "$wick" report run --out told.html && has told.html 'id="loading"' && has told.html "to read a sample" && lacks told.html "nan"
}
test_same_run_same_page() {
    expect 0 "$wick" report run --out one.html --threads 1
    expect 0 "$wick" report run --out two.html --threads 1
    cmp <(sed '/id="time"/,/<\/table>/d' one.html) <(sed '/id="time"/,/<\/table>/d' two.html) || fail "the pages differ"
}
# The page says what each row of the log says: the counts of the matrix are those of eval.
# The means over the classes are those of wick eval and, where it is there, of scikit-learn.
test_ranking_is_that_of_others() {
    expect 0 "$wick" report run && has run/report.html '<section id="ranking">' && has run/report.html "ROC curves" && has run/report.html "Precision over recall" && lacks run/report.html "nan"
    expect 0 "$wick" eval run --json && cp out eval.json && auc=$(printf '%.4f' "$(json eval.json roc_auc)") && has run/report.html "AUC $auc, average precision"
    local python=
    for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import sklearn' 2>/dev/null && python=$try && break; done
    [ -n "$python" ] || { echo "  skipped: no scikit-learn"; return 0; }
    expect 0 "$wick" predict run --index 0-99 --json && mv out ranked.json
    "$python" - <<'P' || fail "another average precision"
import json, re
from sklearn.metrics import average_precision_score, roc_auc_score
images = json.load(open("ranked.json"))["images"]; names = list(images[0]["probabilities"]); page = open("run/report.html").read()
got = [float(x) for x in re.search(r"AUC ([0-9.]+), average precision ([0-9.]+)", page).groups()]; want = [[], []]
for k, name in enumerate(names):
    y = [i["label"] == k for i in images]
    if 0 < sum(y) < len(y):
        for to, score in zip(want, (roc_auc_score, average_precision_score)): to.append(score(y, [i["probabilities"][name] for i in images]))
for g, w in zip(got, want): assert abs(g - sum(w) / len(w)) < 2e-4, (got, want)
worst = min(want[0]); assert re.search(r"AUC %.3f" % worst, page), worst
P
}
test_confusion_is_that_of_eval() {
    "$wick" report run --quiet >/dev/null
    "$wick" eval run --json --quiet | grep -o '"confusion": \[\[.*\]\]' | grep -oE '[0-9]+' >expected
    sed -n '/Confusion matrix/,/<\/svg>/p' run/report.html | grep 'class="cell"' | sed 's/.*taken for [^:]*: \([0-9]*\) of.*/\1/' >counts
    cmp expected counts || fail "$(wc -l <counts) cells"
}
test_names_are_no_markup() {
    odd=$'x<script>alert(1)&\'"\x01\xc3\xa9'
    mkdir "$odd" && cp data/* "$odd"
    expect 0 "$wick" train --data "$odd" --hidden 8 --epochs 1 --out odd
    expect 0 "$wick" report odd && check_page odd/report.html
    has odd/report.html 'x&lt;script&gt;alert(1)&amp;&#39;&quot;'
}
test_colour_images_and_convolutions() {
    make_data flat 300 60 30
    mkdir -p colour && cp flat/*labels* colour
    for split in train t10k; do # 30 x 30 numbers are also 3 x 15 x 20
        { printf '\0\0\10\4'; tail -c +5 flat/$split-images-idx3-ubyte | head -c 4; printf '\0\0\0\3\0\0\0\17\0\0\0\24'
            tail -c +17 flat/$split-images-idx3-ubyte; } >colour/$split-images-idx4-ubyte
    done
    expect 0 "$wick" train --data colour --arch cnn --epochs 1 --out colour-run
    expect 0 "$wick" report colour-run && check_page colour-run/report.html
    has colour-run/report.html "Red, green and blue" && has colour-run/report.html "conv1.weight"
    expect 0 "$wick" train --data colour --hidden 8 --epochs 1 --out colour-mlp
    expect 0 "$wick" report colour-mlp && check_page colour-mlp/report.html
}
# Pictures and curves are thinned out, so that a page stays small.
test_large_images_and_long_runs() {
    make_data large 12 10 300
    expect 0 "$wick" train --data large --hidden 66 --epochs 1 --out large-run --quiet
    expect 0 "$wick" train --data data --hidden 8 --epochs 10 --batch 1 --out long-run --quiet
    for run in large-run long-run; do expect 0 "$wick" report $run && check_page $run/report.html; done
    [ "$(wc -c <large-run/report.html)" -lt 6000000 ] || fail "$(wc -c <large-run/report.html) bytes of large images"
    [ "$(wc -c <long-run/report.html)" -lt 400000 ] || fail "$(wc -c <long-run/report.html) bytes of a long run"
}
test_run_without_test_images() {
    mkdir -p train-only && cp data/train-* train-only
    expect 0 "$wick" train --data train-only --hidden 8 --epochs 2 --out no-test
    expect 0 "$wick" report no-test --json && [ "$(json out split)" = train ] && [ "$(json out images)" = 400 ] || fail "$(cat out)"
    check_page no-test/report.html
    has no-test/report.html "no test images" && lacks no-test/report.html "test, after each epoch"
    local name
    for name in "training, smoothed" "learning rate"; do lacks no-test/report.html ">$name</text>"; done # a single curve has no legend
}
test_accumulating_run() {
    expect 0 "$wick" train --data data --hidden 8 --epochs 2 --batch 20 --accumulate 3 --optimizer sgd --clip 1 --out adding
    expect 0 "$wick" report adding && check_page adding/report.html && has adding/report.html 'id="time"'
}
test_what_the_log_lacks() {
    cp -r run bare && rm bare/log.jsonl
    expect 0 "$wick" report bare && check_page bare/report.html && has bare/report.html "there are no curves"
    # NaN, a missing end and numbers out of reach are gaps; a run of one step has no epoch yet.
    { head -n 1 run/log.jsonl; echo '{"step": 2, "epoch": 1, "loss": null, "accuracy": 1e999, "lr": 1e300, "samples": 30, "seconds": 0}'
        printf '{"step": 3, "ep'; } >bare/log.jsonl
    expect 0 "$wick" report bare && check_page bare/report.html && has bare/report.html ">step</text>"
    : >bare/log.jsonl
    expect 0 "$wick" report bare && check_page bare/report.html
    rm bare/last.safetensors
    expect 0 "$wick" report bare && check_page bare/report.html && has bare/report.html "last.safetensors, which has the options"
}
# The axis holds the whole running mean, from its first value; only batches may be cut off, and the page says how many.
test_axis_holds_the_curve() {
    cp -r run steep
    for i in $(seq 200); do echo "{\"step\": $i, \"loss\": $((i <= 5 ? 200 : i == 100 ? 500 : 1))}"; done >steep/log.jsonl
    expect 0 "$wick" report steep && check_page steep/report.html
    has steep/report.html ">200</text>" && has steep/report.html ">1 batch lies beyond the axis.<"
}
test_extreme_numbers() {
    cp -r run extreme
    row() { printf '{"step": %s, "epoch": 1, "loss": %s, "accuracy": %s, "lr": %s, "samples": 30, "seconds": %s}\n' "$@"; }
    { row 1 1e308 -1e308 inf 1; row 2 -1e308 1e308 nan 2; row 3 -inf 5e-324 1e999 1e308; } >extreme/log.jsonl
    expect 0 "$wick" report extreme && check_page extreme/report.html
    { row 1 5e-324 1e-320 1e-310 1; row 2 1e-323 2e-320 2e-310 2; } >extreme/log.jsonl
    expect 0 "$wick" report extreme && check_page extreme/report.html
    { row 1 1e308 1 1 1; row 2 1e308 1 1 2; } >extreme/log.jsonl
    expect 0 "$wick" report extreme && check_page extreme/report.html
}
test_names_of_several_bytes() {
    cp -r data "données d'été"
    expect 0 "$wick" train --data "données d'été" --hidden 8 --epochs 1 --batch 30 --out named --quiet
    expect 0 "$wick" report named && check_page named/report.html && has named/report.html "/données d&#39;\\&#39;&#39;été&#39;"
}
test_log_that_is_no_file() {
    cp -r run strange && rm strange/log.jsonl && mkfifo strange/log.jsonl
    expect 3 timeout 60 "$wick" report strange && has err "not a regular file"
    ln -sf /dev/zero strange/log.jsonl
    expect 3 timeout 60 "$wick" report strange && has err "not a regular file"
    rm strange/log.jsonl && head -c 100000 /dev/zero >strange/log.jsonl
    expect 3 "$wick" report strange && has err "strange/log.jsonl:1 is no line"
    { head -n 1 run/log.jsonl; head -c 5000 /dev/zero | tr '\0' ' '; head -n 1 run/log.jsonl; } >strange/log.jsonl
    expect 3 "$wick" report strange && has err "strange/log.jsonl:2 is no line"
    truncate -s 2G strange/log.jsonl
    expect 3 "$wick" report strange && has err "more than 1 GiB"
    # A run may write its log to a device; the page then has no curves.
    expect 0 "$wick" train --data data --hidden 8 --epochs 1 --out silent --log /dev/null
    expect 0 "$wick" report silent && has err "not a regular file" && has silent/report.html "there are no curves"
}
test_damaged_log() {
    cp -r run worse && rm -f worse/report.html
    for line in 'no json' '{"step": 3' '{"step": -1}' '{"step": 1}x' '{"loss": 2}' '{"step": "1"}' '{"step": 9007199254740994}'; do
        { cat run/log.jsonl; printf '%s\n' "$line"; } >worse/log.jsonl
        expect 3 "$wick" report worse && has err "worse/log.jsonl:46 "
    done
    { cat run/log.jsonl; head -n 1 run/log.jsonl; } >worse/log.jsonl
    expect 3 "$wick" report worse --json && valid_json out && has err "goes back to step 1"
    [ ! -e worse/report.html ] || fail "a page"
}
test_no_run() {
    expect 2 "$wick" report
    expect 3 "$wick" report nowhere && has err "no folder of a run"
    expect 3 "$wick" report run/best.safetensors && has err "no folder of a run"
    mkdir -p empty && expect 3 "$wick" report empty
    cp -r run unfinished && rm unfinished/best.safetensors
    expect 3 "$wick" report unfinished && has err "no epoch is done yet"
    expect 3 "$wick" report run --data nowhere
    cp -r run damaged && head -c 100 run/last.safetensors >damaged/last.safetensors
    expect 3 "$wick" report damaged && has err last.safetensors
}
test_page_that_can_not_be_written() {
    expect 1 "$wick" report run --out nowhere/page.html && has err nowhere/page.html
    expect 1 "$wick" report run --out run --json && valid_json out
}
# What --quantize made of the run stands beside it.
test_a_run_with_integers() {
    make_data pictures 600 200 12
    expect 0 "$wick" train --data pictures --net "conv 8 3 pad 1, bn, relu, maxpool 2, flatten, linear classes" --batch 50 --epochs 2 --quantize int8 --quiet --out whole
    expect 0 "$wick" report whole -o whole.html --quiet && has whole.html "Before and after" && has whole.html "whole/int8.onnx" && has whole.html "<td><code>conv1.weight</code></td><td>conv</td>" || return
    mv whole/int8.onnx whole/int4.onnx # which is no file of this run
    expect 0 "$wick" report whole -o plain.html --quiet && lacks plain.html "Before and after"
    echo no >whole/int8.onnx
    expect 0 "$wick" report whole -o broken.html && has broken.html "Not measured: whole/int8.onnx" && check_page broken.html || fail "a broken file goes unseen"
    # another run in the folder has none
    expect 0 "$wick" train --data pictures --arch mlp:8 --epochs 1 --force --quiet --out whole
    [ ! -e whole/int8.onnx ] && [ ! -e whole/int4.onnx ] || fail "integers of an earlier run are there"
    expect 0 "$wick" report whole -o other.html --quiet && lacks other.html "Before and after"
}
test_main
