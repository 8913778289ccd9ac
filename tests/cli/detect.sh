# wick train --task detect: boxes in every form, broken ones by name, scores by others, and what the other commands make of such a model.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# pictures SEED N FOLDER TABLE PREFIX [HIGH WIDE]: pictures of noise with bright squares and dark bars, and the table of their boxes, each picture named PREFIX/pN.pgm
pictures() {
    mkdir -p "$3"
    awk -v seed="$1" -v n="$2" -v a="$3" -v t="$4" -v pre="$5" -v h="${6:-32}" -v w="${7:-32}" 'BEGIN { srand(seed); print "path,class,xmin,ymin,xmax,ymax" >t
        for (i = 0; i < n; i++) { x = a "/p" 100 + i ".pgm"; print "P2", w, h, 255 >x; m = 1 + int(rand() * 2)
            for (b = 0; b < 2; b++) { k[b] = b < m ? int(rand() * 2) : -1; bw = k[b] ? 4 : 8; bh = k[b] ? 10 : 8; x0[b] = int(rand() * (w / 2 - bw)) + b * w / 2; y0[b] = int(rand() * (h - bh)); x1[b] = x0[b] + bw; y1[b] = y0[b] + bh
                if (k[b] >= 0) print pre "/p" 100 + i ".pgm," (k[b] ? "bar" : "square") "," x0[b] "," y0[b] "," x1[b] "," y1[b] >t }
            for (r = 0; r < h; r++) for (c = 0; c < w; c++) { v = 100; for (b = 0; b < m; b++) if (c >= x0[b] && c < x1[b] && r >= y0[b] && r < y1[b]) v = k[b] ? 10 : 200; print int(v + 40 * rand()) >x }
            close(x) } }'
}
net="conv 8 3 stride 2 same, relu, conv 16 3 stride 2 same, relu, conv 16 3 same, relu, conv classes 1"
mkdir -p set && pictures 1 80 set/train set/train.csv train && pictures 2 30 set/test set/test.csv test

test_boxes_of_two_classes() {
    expect 0 "$wick" train --data set --net "$net" --epochs 40 --batch 8 --lr 0.01 --optimizer adamw --transform "flip, vflip, normalise" --threads 1 --out run --json && valid_json out && has err "--task detect, as the data look" && has err "80 pictures with" && has err "of 2 classes, by a table" && has err "mAP50" && [ "$(json out score)" = map50 ] || fail train
    expect 0 "$wick" eval run --json && valid_json out && at_least map50 0.9 && at_least map 0.5 && has out '"name": "bar"' && [ "$(json out samples)" = 30 ] && mv out eval.json || fail eval
    expect 0 "$wick" eval run && has out "mAP50:95" && has out "AP75" && has out "square" && lacks out nan
    expect 0 "$wick" info run && has out "a detector of 2 classes" && expect 0 "$wick" plan run --train && expect 0 "$wick" compile run -o run_c
    expect 0 "$wick" report run -o run.html && has run.html "A detector of 2 classes" && has run.html "what is found" && has run.html "Precision by recall" && has run.html "AP50:95"
    expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = map50 ] && has out '"map50_int8"' && has out drop_bound && expect 2 "$wick" eval run --top 2 && has err "--task detect" && expect 0 "$wick" train --data set --net "$net" --dry-run && has out "a detector of 2 classes"
    expect 0 "$wick" train --data set --epochs 1 --out default && has err "for 80 images: --net"
}
# Boxes are leaves of a batch as other samples are: one leaf has the bits of none, two ranks those of one process.
test_leaves_and_ranks() {
    leaves=(--data set --net "$net" --transform "flip, vflip, normalise" --epochs 2 --batch 16 --validation 0.4 --force --threads 1)
    expect 0 "$wick" train "${leaves[@]}" --out plain
    expect 0 "$wick" train "${leaves[@]}" --leaves 1 --out leaf && same_tensors plain/last.safetensors leaf/last.safetensors
    expect 0 "$wick" train "${leaves[@]}" --leaves 4 --out four
    expect 0 "$wick" launch -n 3 "$wick" train "${leaves[@]}" --leaves 4 --out ranks && same_tensors four/best.safetensors ranks/best.safetensors
    cmp <(sed 's/, "seconds": [^}]*//' four/log.jsonl) <(sed 's/, "seconds": [^}]*//' ranks/log.jsonl) || fail "the logs differ"
}
test_predictions() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" predict run --index 0-29 --json && valid_json out && has out '"there": [{"class": ' && has out '"score": ' && mv out all.json
    expect 0 "$wick" predict run set/test/p100.pgm --draw drawn && has out "p100.pgm: " && has out "score" && [ -s drawn/p100-boxes.png ] && has drawn/p100-boxes.svg "<rect" && has drawn/p100-boxes.svg "data:image/png" || fail drawn
    expect 0 "$wick" predict run --index 0-1 --draw drawn && has out "that are there)" && [ -s drawn/1-boxes.svg ] || fail "drawn of a set"
    expect 0 "$wick" predict run set/test/p100.pgm --score 0.999 && has out ": 0 found" && expect 0 "$wick" predict run set/test/p100.pgm --score 0.999 --csv && has out "p100.pgm,,,,,,"
    # what it prints is a set of boxes, which the same model finds again
    expect 0 "$wick" predict run set/test/p1*.pgm --csv && head -n 1 out | grep -qx "path,class,score,xmin,ymin,xmax,ymax" && cp out again.csv && expect 0 "$wick" eval run --data again.csv --json && at_least map50 0.97
    # frames in the terminal: in the colour of a class, or white
    expect 0 "$wick" predict run set/test/p100.pgm --color always && grep -Eq $'\x1b\\[38;2;(68;119;170|238;102;119|34;136;51)' out || fail "no frame in colour"
    expect 0 "$wick" predict run set/test/p100.pgm && grep -q '@@@@@' out && expect 0 "$wick" predict run set/test/p100.pgm --score 0.999 && ! grep -q '@@@@@' out || fail "no white frame, or one without a box"
    expect 2 "$wick" predict run set/test/p100.pgm --csv --json && has err "--csv" && expect 3 "$wick" predict run nothing.pgm
    can "numpy, PIL" || return 0
    "$python" - "$wick" <<'P' || fail "boxes of larger pictures"
import json, subprocess, sys
from PIL import Image
x = Image.open("set/test/p100.pgm"); assert Image.open("drawn/p100-boxes.png").size == (32, 32)
x.resize((128, 96), 0).save("large.png")  # boxes are in its own pixels
p = lambda f: json.loads(subprocess.run([sys.argv[1], "predict", "run", f, "--score", "0.5", "--json", "--draw", "drawn"], capture_output=True, check=True).stdout)["images"][0]
a, b = p("set/test/p100.pgm"), p("large.png")
assert (b["height"], b["width"]) == (96, 128) and Image.open("drawn/large-boxes.png").size == (128, 96) and len(a["boxes"]) == len(b["boxes"]) > 0, (a, b)
for u, v in zip(a["boxes"], b["boxes"]):
    assert u["class"] == v["class"] and all(abs(4 * u[k] - v[k]) < 4 for k in ("xmin", "xmax")) and all(abs(3 * u[k] - v[k]) < 3 for k in ("ymin", "ymax")), (u, v)
P
}
# The network in ONNX, decoded, suppressed and measured by others: the same scores.
test_scores_and_onnx_by_others() {
    [ -s eval.json ] || { fail "no model"; return; }
    expect 0 "$wick" convert run run.onnx && expect 0 "$wick" inspect run.onnx && has out "detections  float [N, 6, 64]"
    can "onnxruntime, torch" && can pycocotools || return 0
    "$python" - <<'P' || fail "others measure otherwise"
import contextlib, csv, glob, io, json, numpy as np, onnxruntime as rt, torch
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
def pgm(path):
    t = open(path).read().split(); return np.array(t[4:], int).reshape(int(t[2]), int(t[1]))
names = sorted(glob.glob("set/test/*.pgm")); x = np.stack([pgm(n) for n in names])[:, None].astype("f4") / 255
q = rt.InferenceSession("run.onnx").run(None, {"image": x})[0]
def nms(box, score, overlap):
    order, kept = list(np.argsort(-score, kind="stable")), []
    while order:
        i = order.pop(0); kept.append(i); a = box[i]
        def iou(b):
            w, h = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
            both = max(w, 0) * max(h, 0); return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)
        order = [k for k in order if iou(box[k]) <= overlap]
    return kept
dt = []
for i, p in enumerate(q):
    for k in range(2):
        at = np.where(p[4 + k] > 0.01)[0]; box, score = p[:4, at].T, p[4 + k, at]
        dt += [{"image_id": i + 1, "category_id": k + 1, "score": float(score[j]), "bbox": [float(box[j][0]), float(box[j][1]), float(box[j][2] - box[j][0]), float(box[j][3] - box[j][1])]} for j in nms(box, score, 0.6)]
rows = list(csv.DictReader(open("set/test.csv"))); index = {n.split("/", 1)[1]: i + 1 for i, n in enumerate(names)}
gt = [{"id": n + 1, "image_id": index[r["path"]], "category_id": ["bar", "square"].index(r["class"]) + 1, "iscrowd": 0, "bbox": [float(r["xmin"]), float(r["ymin"]), float(r["xmax"]) - float(r["xmin"]), float(r["ymax"]) - float(r["ymin"])], "area": 1} for n, r in enumerate(rows)]
with contextlib.redirect_stdout(io.StringIO()):
    c = COCO(); c.dataset = {"images": [{"id": i + 1} for i in range(len(names))], "annotations": gt, "categories": [{"id": 1}, {"id": 2}]}; c.createIndex()
    e = COCOeval(c, c.loadRes(dt), "bbox"); e.evaluate(); e.accumulate(); e.summarize()
got = json.load(open("eval.json"))
for key, want in (("map", e.stats[0]), ("map50", e.stats[1]), ("map75", e.stats[2])): assert abs(got[key] - want) < 1e-4, (key, got[key], want)
P
}
# One step of SGD from the same weights: the loss and the gradients are PyTorch's, of a loss written there by itself.
test_step_of_pytorch() {
    can "torch, safetensors" || return 0
    mkdir -p step && head -n 1 set/train.csv >step/train.csv && awk -F, 'NR > 1 && $1 < "train/p106"' set/train.csv >>step/train.csv && cp -r set/train step && printf 'train/p107.pgm,,,,,\n' >>step/train.csv
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import csv, json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from safetensors.torch import save_file, load_file
torch.manual_seed(0)
def pgm(path):
    t = open(path).read().split(); return np.array(t[4:], int).reshape(int(t[2]), int(t[1]))
rows = list(csv.DictReader(open("step/train.csv"))); names = list(dict.fromkeys(r["path"] for r in rows))
x = torch.tensor(np.stack([pgm("step/" + n) for n in names])[:, None] / 255.0); x = ((x - x.mean()) / x.std(unbiased=False)).float()
shapes = {"conv1": (8, 1, 3), "conv2": (16, 8, 3), "conv3": (16, 16, 3), "conv4": (7, 16, 1)}
w = {f"{k}.weight": torch.randn(o, i, s, s) * (0.2 if s == 3 else 0.3) for k, (o, i, s) in shapes.items()}
w.update({k.replace("weight", "bias"): torch.randn(len(v)) * 0.1 for k, v in list(w.items())})
save_file(w, "start.safetensors"); w = {k: v.clone().requires_grad_() for k, v in w.items()}
def conv(k, x, stride=1):
    s = w[k + ".weight"].shape[-1]; high = max((-(-x.shape[-1] // stride) - 1) * stride + s - x.shape[-1], 0)
    return F.conv2d(F.pad(x, (high // 2, high - high // 2) * 2), w[k + ".weight"], w[k + ".bias"], stride)
y = conv("conv4", F.relu(conv("conv3", F.relu(conv("conv2", F.relu(conv("conv1", x, 2)), 2)))))
assert y.shape[1:] == (7, 8, 8), y.shape
loss = 0
for i, n in enumerate(names):
    truth = [([float(r[k]) for k in ("xmin", "ymin", "xmax", "ymax")], ["bar", "square"].index(r["class"])) for r in rows if r["path"] == n and r["class"]]
    part, positive = 0, 0
    for row in range(8):
        for column in range(8):
            v = y[i, :, row, column]; mx, my, best, far = 4 * column + 2, 4 * row + 2, None, 1e9
            for b, k in truth:
                dx, dy = abs(mx - (b[0] + b[2]) / 2), abs(my - (b[1] + b[3]) / 2); d = max(dx, dy) / 4
                inside = b[0] <= mx <= b[2] and b[1] <= my <= b[3]
                if (d <= 0.5 or (d <= 1 and inside)) and d < far: best, far = (b, k), d
            s, q = v[0] + np.log(0.01 / 0.99), torch.tensor(0.0)
            if best is not None:
                b, k = torch.tensor(best[0]), best[1]; positive += 1
                mid = torch.stack([mx + 4 * v[1], my + 4 * v[2]]); half = 2 * torch.exp(v[3:5]); low, high = mid - half, mid + half
                both = (torch.minimum(high, b[2:]) - torch.maximum(low, b[:2])).clamp(min=0).prod(); union = (high - low).prod() + (b[2:] - b[:2]).prod() - both
                hull = (torch.maximum(high, b[2:]) - torch.minimum(low, b[:2])).prod(); q = (both / union).detach()
                part = part + 2 * (1 - (both / union - (hull - union) / hull)) + F.binary_cross_entropy_with_logits(v[5:], F.one_hot(torch.tensor(k), 2).float(), reduction="sum")
            part = part + (q - torch.sigmoid(s)) ** 2 * F.binary_cross_entropy_with_logits(s, q)
    loss = loss + part / max(positive, 1) / len(names)
loss.backward()
net = "conv 8 3 stride 2 same, relu, conv 16 3 stride 2 same, relu, conv 16 3 same, relu, conv classes 1"
subprocess.run([sys.argv[1], "train", "--data", "step", "--net", net, "--weights", "start.safetensors", "--epochs", "1", "--batch", "16", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.1", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "step_run", "--force"], check=True, capture_output=True)
got = load_file("step_run/last.safetensors"); log = json.loads(open("step_run/log.jsonl").readline())
assert abs(log["loss"] - loss.item()) < 2e-5 * max(1, loss.item()), (log["loss"], loss.item())
for k, v in w.items():
    want = (v - 0.1 * v.grad).detach(); assert (got[k] - want).abs().max() < 5e-5, (k, (got[k] - want).abs().max())
P
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data set --net "$net" --transform "flip, affine=10:0.1:0.9:1.1, normalise" --epochs $epochs --schedule constant --warmup 0 --batch 8 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
}
# Each form, written from the one before and read back: the same boxes, and so the same first loss.
test_forms_of_boxes() {
    local first=
    mkdir -p forms && cp -r set/train forms/images && expect 0 "$wick" data boxes set forms/a.json && has err "wrote forms/a.json: 80 pictures" || return
    mkdir -p csv yolo coco voc kit/ImageSets/Main && for k in csv coco; do cp -r set/train $k/train && cp -r set/test $k/test; done
    for part in train test; do
        expect 0 "$wick" data boxes set coco/$part.json --split $part && mkdir -p yolo/$part voc/$part && cp -r set/$part yolo/$part/images && cp -r set/$part voc/$part/JPEGImages
        expect 0 "$wick" data boxes coco yolo/labels --form yolo --split $part && mv yolo/labels/$part yolo/$part/labels && cp yolo/labels/classes.txt yolo && rm -r yolo/labels
        expect 0 "$wick" data boxes yolo voc/xml --form voc --split $part && mkdir -p voc/$part/Annotations && mv voc/xml/*.xml voc/$part/Annotations && rm -r voc/xml
        mkdir -p kit/JPEGImages kit/Annotations && for f in set/$part/*.pgm; do n=$(basename "$f" .pgm); cp "$f" kit/JPEGImages/$part$n.pgm; cp voc/$part/Annotations/$n.xml kit/Annotations/$part$n.xml; echo $part$n >>kit/ImageSets/Main/$part.txt; done
        expect 0 "$wick" data boxes kit csv/x.csv --split $part && sed 's|\.\./||' csv/x.csv | awk -F, -v OFS=, -v p=$part 'NR > 1 { sub(/.*\//, "", $1); sub(p, "", $1); $1 = p "/" $1 } 1' >csv/$part.csv && rm csv/x.csv && { cmp set/$part.csv csv/$part.csv || fail "other boxes"; }
    done
    for k in set coco yolo voc kit csv; do
        expect 0 "$wick" train --data $k --net "$net" --epochs 1 --threads 1 --out form_$k && { [ -z "$first" ] && first=form_$k || same_tensors $first/last.safetensors form_$k/last.safetensors; }
        expect 0 "$wick" eval form_$k --json && [ "$(json out samples)" = 30 ] || fail $k
    done
    for part in train test; do sed -i 's/"name": "bar"/"name": "b\\u00e9\\ud83d\\ude00r"/' coco/$part.json; done && expect 0 "$wick" train --data coco --net "$net" --epochs 1 --out named && expect 0 "$wick" eval named && has out "bé😀r"
    # one file or folder of all: a fifth is the test; a column split; names of Ultralytics' data.yaml
    cp set/train.csv set/train_all.csv && expect 0 "$wick" train --data set/train_all.csv --net "$net" --epochs 1 --out whole && expect 0 "$wick" eval whole --json && [ "$(json out samples)" = 16 ] || fail whole
    { echo "split;file;name;cx;cy;w;h;note"; awk -F, 'NR > 1 { print "train;" $1 ";" $2 ";" ($3 + $5) / 2 ";" ($4 + $6) / 2 ";" $5 - $3 ";" $6 - $4 ";x" }' set/train.csv; awk -F, 'NR > 1 { print (NR < 10 ? "val;" : "test;") $1 ";" $2 ";" ($3 + $5) / 2 ";" ($4 + $6) / 2 ";" $5 - $3 ";" $6 - $4 ";x" }' set/test.csv; } >set/split.csv
    expect 0 "$wick" train --data set/split.csv --net "$net" --epochs 1 --out parted && has err "for validation (validation)" && has err "passed over: note" && expect 0 "$wick" eval parted --json && [ "$(json out samples)" -lt 30 ] || fail parted
    rm -r yolo/classes.txt set/split.csv set/train_all.csv && printf 'nc: 2\nnames:\n  0: bar\n  1: "square" # of 8 x 8\n' >yolo/data.yaml && expect 0 "$wick" eval form_csv --data yolo && rm yolo/data.yaml && expect 0 "$wick" eval form_csv --data yolo
}
test_pictures_of_other_sizes() {
    mkdir -p sizes && pictures 5 12 sizes/train sizes/one.csv train 32 32 && pictures 6 12 sizes/more sizes/two.csv more 24 48 && { cat sizes/one.csv; tail -n +2 sizes/two.csv; } >sizes/train.csv && rm sizes/one.csv sizes/two.csv
    expect 3 "$wick" train --data sizes --net "$net" --out no && has err "--image-size HxW makes pictures alike" && expect 2 "$wick" train --data sizes --letterbox --net "$net" --out no && has err "--letterbox is for --image-size"
    for how in stretch letterbox; do
        [ $how = letterbox ] && more=--letterbox || more=
        expect 0 "$wick" train --data sizes --image-size 32 $more --validation 0 --net "$net" --epochs 60 --batch 8 --lr 0.01 --threads 1 --out size_$how && has err "12 pictures are" && expect 0 "$wick" predict size_$how --split train --index 0-23 --json && mv out size_$how.json
        expect 0 "$wick" predict size_$how sizes/more/p1*.pgm --csv && mv out size_$how.csv && expect 0 "$wick" predict size_$how sizes/more/p100.pgm --draw size_drawn
    done
    expect 0 "$wick" info size_letterbox && [ -n "$python" ] || return 0
    "$python" - <<'P' || fail "boxes of fitted pictures"
import csv, json
truth = [r for r in csv.DictReader(open("sizes/train.csv")) if r["path"].startswith("more")]
for how in ("stretch", "letterbox"):
    images = json.load(open(f"size_{how}.json"))["images"]; right = 0
    sizes = [(i["height"], i["width"]) for i in images]; assert sizes == [(32, 32)] * 12 + [(24, 48)] * 12, sizes
    there = [(b["class"], round(b["xmin"], 2), round(b["ymin"], 2), round(b["xmax"], 2), round(b["ymax"], 2)) for i in images[12:] for b in i["there"]]
    assert there == [(r["class"], *(float(r[k]) for k in ("xmin", "ymin", "xmax", "ymax"))) for r in truth], (how, there)
    found = list(csv.DictReader(open(f"size_{how}.csv")))
    for t in truth:
        for f in found:
            if f["path"].split("/")[-1] != t["path"].split("/")[-1] or f["class"] != t["class"]: continue
            a, b = ([float(r[k]) for k in ("xmin", "ymin", "xmax", "ymax")] for r in (f, t))
            w, h = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            if w > 0 and h > 0 and w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h) > 0.5: right += 1; break
    assert right > 0.8 * len(truth), (how, right, len(truth))
P
}
test_broken_boxes() {
    bad() { rm -rf bad && mkdir bad && cp -r set/train bad && cp set/train.csv bad; } # LINE: what it becomes
    line() { bad && sed -i "$1" bad/train.csv && expect 3 "$wick" train --data bad --task detect --net "$net" --out no && has err "bad/train.csv, line $2" && has err "$3"; }
    line '3s/.*/train\/p100.pgm,bar,5,5,5,9/' 3 "has no area: it is 0 wide" && line '3s/.*/train\/p100.pgm,bar,9,5,5,9/' 3 "-4 wide" && line '4s/.*/train\/p100.pgm,bar,nan,5,9,9/' 4 "no place" && line '2s/.*/train\/p100.pgm,bar,1,inf,9,9/' 2 "no place"
    line '5s/.*/train\/p101.pgm,bar,20,5,40,9/' 5 "lies outside of train/p101.pgm, which is 32 wide and 32 high" && line '5s/.*/train\/p101.pgm,bar,-3,5,4,9/' 5 "lies outside" && line '5s/.*/train\/none.pgm,bar,1,2,3,4/' 5 "bad/train/none.pgm is not there"
    line '5s/.*/..\/set\/train\/p101.pgm,bar,1,2,3,4/' 5 "no file below the table" && line '5s/.*/train\/p101.pgm,bar,1,2,3/' 5 "has 5 cells, and the header 6" && line '5s/.*/train\/p101.pgm,bar,1,2,x,4/' 5 'column 5: "x" is no number' && line '5s/.*/train\/p101.pgm,,1,2,3,4/' 5 'the class "" is no name' && line '5s/.*/"train\/p101.pgm,bar,1,2,3,4/' 5 "a quote is not closed"
    bad && printf 'bar\n' >bad/classes.txt && expect 3 "$wick" train --data bad --net "$net" --out no && has err 'the class "square" is none of the 1 that are known (bar' && line '1s/xmin/left/' 1 "no header of boxes"
    bad && sed -i '5s/.*/train\/p101.pgm,bar,-0.5,5,4,9/' bad/train.csv && expect 0 "$wick" train --data bad --net "$net" --epochs 1 --out edge --force && has err "1 box reaches out of the picture by up to a pixel, and is cut off"
    bad && printf 'none' >bad/train/p103.pgm && expect 3 "$wick" train --data bad --net "$net" --out no && has err "p103.pgm"
    yolo() { rm -rf bad && mkdir bad && cp -r set/train bad/train && printf 'a\nb\n' >bad/classes.txt && for f in bad/train/*.pgm; do echo "0 0.5 0.5 0.2 0.2" >"${f%.pgm}.txt"; done && printf "$1" >bad/train/p105.txt && expect 3 "$wick" train --data bad --net "$net" --out no && has err "bad/train/p105.txt, line $2" && has err "$3"; }
    yolo '0 0.5 0.5 0.2\n' 1 "is not five numbers" && yolo '0 0.5 0.5 0.2 0.2 7\n' 1 "is not five numbers" && yolo '\n2 0.5 0.5 0.2 0.2\n' 2 "class 2 is none of the 2 that are named" && yolo '0 0.5 0.5 -0.2 0.2\n' 1 "shares are from 0 to 1" && yolo '0 12 20 8 8\n' 1 "shares are from 0 to 1" && yolo '0.5 0.5 0.5 0.2 0.2\n' 1 "the number of no class" && yolo '0 0.5 0.5 0 0.2\n' 1 "has no area" && yolo '0 0.05 0.5 0.5 0.2\n' 1 "lies outside of" && yolo '0 nan 0.5 0.5 0.2\n' 1 "shares are from 0 to 1"
    printf 'nc: 1\nnames: [a, b\n' >bad/data.yaml && rm bad/classes.txt && expect 3 "$wick" train --data bad --task detect --net "$net" --out no && has err "the list of names has no end"
    voc() { rm -rf bad && mkdir bad && cp -r set/train bad/train && printf "$1" >bad/train/p105.xml && expect 3 "$wick" train --data bad --net "$net" --out no && has err "bad/train/p105.xml$2" && has err "$3"; }
    local box='<bndbox><xmin>2</xmin><ymin>3</ymin><xmax>9</xmax><ymax>9</ymax></bndbox>'
    voc "<annotation>\n<object><name>a</name><bndbox><xmin>2</xmin></bndbox></object></annotation>" ", line 2" "has no <ymin>" && voc "<annotation><object>$box</object></annotation>" ", line 1" "has no <name>" && voc "<annotation>\n<object>\n<name>a</nam></annotation>" ", line 3" "is not open" && voc "<annotation><object>" ", line 1" "the file ends within an element"
    voc "<annotation><object><name>a</name>${box/>9<\/xmax/>0<\/xmax}</object></annotation>" ", line 1" "has no area" && voc "<annotation><object><name>a</name>${box/>9<\/ymax/>x<\/ymax}</object></annotation>" ", line 1" '<ymax> is "x", which is no number' && voc "<a></a>" "" "has no <annotation>" && voc "<annotation><size><width>40</width><height>32</height></size><object><name>a</name>$box</object></annotation>" "" "says that p105.pgm has 32 x 40 pixels (height, width), and it has 32 x 32"
    voc "<annotation><object><name>a</name>${box/>9<\/xmax/>99<\/xmax}</object></annotation>" ", line 1" "lies outside of"
    coco() { rm -rf bad && mkdir bad && cp -r set/train bad && printf "$1" >bad/train.json && expect 3 "$wick" train --data bad --task detect --net "$net" --out no && has err "bad/train.json$2" && has err "$3"; }
    local i='"images": [{"id": 1, "file_name": "train/p100.pgm", "width": 32, "height": 32}]' c='"categories": [{"id": 7, "name": "a"}]'
    coco "{$i, $c,\n\"annotations\": [\n{\"image_id\": 2, \"category_id\": 7, \"bbox\": [1, 2, 3, 4]}]}" ", line 3" "that of no image" && coco "{$i, $c, \"annotations\": [{\"image_id\": 1, \"category_id\": 8, \"bbox\": [1, 2, 3, 4]}]}" ", line 1" "that of no category" && coco "{$i, $c, \"annotations\": [\n\n{\"image_id\": 1, \"category_id\": 7, \"bbox\": [1, 2, 3]}]}" ", line 3" "no four numbers"
    coco "{$i, $c, \"annotations\": [{\"image_id\": 1, \"category_id\": 7, \"bbox\": [1, 2, -3, 4]}]}" ", line 1" "has no area" && coco "{${i/p100/none}, $c, \"annotations\": []}" ", line 1" "the picture train/none.pgm is not there" && coco "{$i, $c, \"annotations\": [{\"image_id\": 1, \"category_id\": 7, \"bbox\": [1, 2, 3, 44]}]}" ", line 1" "lies outside" && coco "{$i, $c, \"annotations\": [{]}" ", line 1" "is no JSON here" && coco "{$i, \"categories\": [{\"id\": 7}], \"annotations\": []}" ", line 1" 'no "id" or no "name"'
    printf "{$i, $c, \"annotations\": []}" >bad/train.json && expect 3 "$wick" train --data bad --out no && has err 'no picture of "train" has a box'
}
test_what_does_not_fit() {
    expect 2 "$wick" train --data set --net "flatten, linear classes" --out no && has err '"conv classes 1"' && expect 2 "$wick" train --data set --augment flip --out no && has err "not their boxes" && expect 2 "$wick" train --data set --transform "normalise, mixup=0.2" --out no && has err "mixup"
    for option in "--class-weights balanced" "--label-smoothing 0.1" "--loss mae" "--noise 0.1"; do expect 2 "$wick" train --data set $option --out no && has err "this is detect"; done
    mkdir -p empty && expect 3 "$wick" train --data empty --task detect --out no && has err "has no boxes for train" && printf 'path,class,xmin,ymin,xmax,ymax\n' >empty/train.csv && expect 3 "$wick" train --data empty --out no && has err "has no row"
    awk 'BEGIN { print "a,b,y"; for (i = 0; i < 40; i++) print i "," i * i % 7 "," i % 2 }' >t.csv && expect 3 "$wick" train --data t.csv --task detect --out no && has err "t.csv, line 1: is no header of boxes" && expect 2 "$wick" train --data t.csv --letterbox --image-size 8 --out no && has err "--letterbox is for --task detect"
    expect 0 "$wick" train --data t.csv --epochs 1 --out rows && expect 2 "$wick" predict rows t.csv --csv && has err "--csv is for --task detect" && expect 2 "$wick" data boxes set to && has err "--form yolo or voc" && expect 2 "$wick" data info set --form yolo && has err "it is for boxes"
    [ -d run ] || return 0
    mkdir -p cats && pictures 9 8 cats/test cats/test.csv test && sed -i '4s/bar\|square/cat/' cats/test.csv && expect 3 "$wick" eval run --data cats && has err 'line 4: the class "cat" is none of the 2 that are known' && expect 3 "$wick" eval run --data t.csv && has err "boxes"
}
test_main
