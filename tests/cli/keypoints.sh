# wick train --task keypoints: tables of points, broken ones by line, scores and steps by others, and what the other commands make of such a model.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# pictures SEED N FOLDER TABLE PREFIX [HIGH WIDE]: noise with a bright and a dark square and a grey one between them, and the table of their middles; every eighth picture lacks the dark one
pictures() {
    mkdir -p "$3"
    awk -v seed="$1" -v n="$2" -v a="$3" -v t="$4" -v pre="$5" -v h="${6:-32}" -v w="${7:-32}" 'BEGIN { srand(seed); print "image,nose_x,nose_y,tail_x,tail_y,tail_v,mid_x,mid_y,age" >t
        for (i = 0; i < n; i++) { f = a "/p" 100 + i ".pgm"; print "P2", w, h, 255 >f; ax = 2 + int(rand() * (w / 2 - 6)); ay = 2 + int(rand() * (h - 6)); bx = int(w / 2) + int(rand() * (w / 2 - 6)); by = 2 + int(rand() * (h - 6)); dark = i % 8 != 5
            print pre "/p" 100 + i ".pgm," ax + 2 "," ay + 2 "," (dark ? bx + 2 "," by + 2 ",2" : ",,0") "," (ax + bx) / 2 + 2 "," (ay + by) / 2 + 2 "," i >t
            for (r = 0; r < h; r++) for (c = 0; c < w; c++) { v = 100; if (c >= ax && c < ax + 4 && r >= ay && r < ay + 4) v = 210; if (dark && c >= bx && c < bx + 4 && r >= by && r < by + 4) v = 0; print int(v + 40 * rand()) >f }
            close(f) } }'
}
net="conv 12 3 stride 2 same, relu, conv 24 3 stride 2 same, relu, conv 24 5 same, relu, conv 24 5 same, relu, conv classes 1"
mkdir -p set && pictures 1 160 set/train set/train.csv train && pictures 2 40 set/test set/test.csv test

test_a_model_of_points() {
    expect 0 "$wick" train --data set --net "$net" --epochs "$(few 30 4)" --batch 16 --lr 0.006 --optimizer adamw --transform "affine=8:0.06:0.9:1.1, normalise" --threads 1 --out run --json && valid_json out && has err "--task keypoints, as the data look" && has err "160 pictures with 3 points each; columns that are passed over: age" && has err "20 of the points are not there" && [ "$(json out score)" = pck20 ] || fail train
    expect 0 "$wick" eval run --json && valid_json out && at_least pck20 0.85 && has out '"name": "nose"' && [ "$(json out samples)" = 40 ] && mv out eval.json || fail eval
    expect 0 "$wick" eval run && has out "PCK@0.05" && has out "NME" && has out "tail" && lacks out nan
    expect 0 "$wick" info run && has out "a finder of 3 points" && expect 0 "$wick" plan run --train && expect 0 "$wick" compile run -o run_c
    expect 0 "$wick" report run -o run.html && has run.html "A finder of 3 points" && has run.html "what is found" && has run.html "<circle" && expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = pck20 ] && has out '"pck20_int8"' && has out drop_bound
    expect 0 "$wick" train --data set --epochs 1 --out default && has err "for 160 images: --net"
}
# Points are leaves of a batch as other samples are: one leaf has the bits of none, two ranks those of one process.
test_leaves_and_ranks() {
    leaves=(--data set --net "$net" --transform "affine=8:0.06:0.9:1.1, normalise" --epochs 2 --batch 16 --validation 0.4 --force --threads 1)
    expect 0 "$wick" train "${leaves[@]}" --out plain
    expect 0 "$wick" train "${leaves[@]}" --leaves 1 --out leaf && same_tensors plain/last.safetensors leaf/last.safetensors
    expect 0 "$wick" train "${leaves[@]}" --leaves 4 --out four
    expect 0 "$wick" launch -n 3 "$wick" train "${leaves[@]}" --leaves 4 --out ranks && same_tensors four/best.safetensors ranks/best.safetensors
    cmp <(sed 's/, "seconds": [^}]*//' four/log.jsonl) <(sed 's/, "seconds": [^}]*//' ranks/log.jsonl) || fail "the logs differ"
}
test_predictions() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" predict run --index 0-39 --json && valid_json out && has out '"there": [{"point": "nose"' && mv out all.json
    expect 0 "$wick" predict run set/test/p100.pgm --draw drawn && has out "p100.pgm: 3 points" && [ -s drawn/p100-points.png ] && has drawn/p100-points.svg "<circle" || fail drawn
    expect 0 "$wick" predict run --index 0 --draw drawn && has out "pixels from where they are" && [ -s drawn/0-points.svg ] || fail "drawn of a set"
    # what it prints is a table of points, which the same model finds again
    expect 0 "$wick" predict run set/test/p1*.pgm --csv && [ "$(head -n 1 out)" = "path,xnose,ynose,xtail,ytail,xmid,ymid" ] && cp out again.csv && expect 0 "$wick" eval run --data again.csv --json && at_least pck05 0.999 && expect 2 "$wick" predict run set/test/p100.pgm --score 0.5 && has err "--score is for --task detect"
}
# The network in ONNX, its points measured by NumPy: the same scores, in pixels of the pictures' files.
test_scores_and_onnx_by_others() {
    [ -s eval.json ] || { fail "no model"; return; }
    expect 0 "$wick" convert run run.onnx && expect 0 "$wick" inspect run.onnx && has out "points  float [N, 3, 3]"
    can "onnxruntime" || return 0
    "$python" - <<'P' || fail "others measure otherwise"
import csv, json, numpy as np, onnxruntime as rt
def pgm(path):
    t = open(path).read().split(); return np.array(t[4:], int).reshape(int(t[2]), int(t[1]))
rows = list(csv.DictReader(open("set/test.csv"))); x = np.stack([pgm("set/" + r["image"]) for r in rows])[:, None].astype("f4") / 255
q = rt.InferenceSession("run.onnx").run(None, {"image": x})[0]; share, far = [], []
for r, p in zip(rows, q):
    t = np.array([[float(r[f"{k}_x"]), float(r[f"{k}_y"])] if r[f"{k}_x"] else [np.nan] * 2 for k in ("nose", "tail", "mid")]); there = ~np.isnan(t[:, 0])
    side = t[there].max(0) - t[there].min(0); d = np.hypot(*(p[there, :2] - t[there]).T)
    if side.min() <= 0: continue
    share += list(d / side.max()); far += list(d / np.sqrt(side.prod()))
e = json.load(open("eval.json"))
for key, want in (("pck20", np.mean(np.array(share) <= 0.2)), ("pck10", np.mean(np.array(share) <= 0.1)), ("pck05", np.mean(np.array(share) <= 0.05)), ("nme", np.mean(far))): assert abs(e[key] - want) < 1e-4, (key, e[key], want)
P
}
# One step of SGD from the same weights: the loss and the gradients are PyTorch's, of a loss written there by itself.
test_step_of_pytorch() {
    can "torch, safetensors" || return 0
    mkdir -p step && head -n 9 set/train.csv >step/train.csv && cp -r set/train step
    "$python" - "$wick" "$net" <<'P' || fail "another step than PyTorch's"
import csv, json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from safetensors.torch import save_file, load_file
torch.manual_seed(0)
def pgm(path):
    t = open(path).read().split(); return np.array(t[4:], int).reshape(int(t[2]), int(t[1]))
rows = list(csv.DictReader(open("step/train.csv"))); assert len(rows) == 8 and not rows[5]["tail_x"]
x = torch.tensor(np.stack([pgm("step/" + r["image"]) for r in rows])[:, None] / 255.0); x = ((x - x.mean()) / x.std(unbiased=False)).float()
shapes = {"conv1": (12, 1, 3), "conv2": (24, 12, 3), "conv3": (24, 24, 5), "conv4": (24, 24, 5), "conv5": (3, 24, 1)}
w = {f"{k}.weight": torch.randn(o, i, s, s) * (1.5 / (i * s * s)) ** 0.5 for k, (o, i, s) in shapes.items()}
w.update({k.replace("weight", "bias"): torch.randn(len(v)) * 0.1 for k, v in list(w.items())})
save_file(w, "start.safetensors"); w = {k: v.clone().requires_grad_() for k, v in w.items()}
def conv(k, x, stride=1):
    s = w[k + ".weight"].shape[-1]; more = max((-(-x.shape[-1] // stride) - 1) * stride + s - x.shape[-1], 0)
    return F.conv2d(F.pad(x, (more // 2, more - more // 2) * 2), w[k + ".weight"], w[k + ".bias"], stride)
y = x
for k, stride in (("conv1", 2), ("conv2", 2), ("conv3", 1), ("conv4", 1)): y = F.relu(conv(k, y, stride))
y = conv("conv5", y); assert y.shape[1:] == (3, 8, 8), y.shape
row, column = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij"); loss = 0
for i, r in enumerate(rows):
    parts = []
    for k, name in enumerate(("nose", "tail", "mid")):
        if not r[name + "_x"]: continue
        u, v = float(r[name + "_x"]) * 7 / 32, float(r[name + "_y"]) * 7 / 32
        q = torch.exp(-((column - u) ** 2 + (row - v) ** 2) / 2); q = q / q.sum(); p = torch.softmax(y[i, k].flatten(), 0).reshape(8, 8)
        parts.append((q * (q.log() - p.log())).sum() + torch.sqrt(((p * column).sum() - u) ** 2 + ((p * row).sum() - v) ** 2 + 1e-6))
    loss = loss + sum(parts) / len(parts) / len(rows)
loss.backward()
subprocess.run([sys.argv[1], "train", "--data", "step", "--net", sys.argv[2], "--weights", "start.safetensors", "--epochs", "1", "--batch", "8", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.1", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "step_run", "--force"], check=True, capture_output=True)
got = load_file("step_run/last.safetensors"); log = json.loads(open("step_run/log.jsonl").readline())
assert abs(log["loss"] - loss.item()) < 2e-5, (log["loss"], loss.item())
for k, v in w.items():
    want = (v - 0.1 * v.grad).detach(); assert (got[k] - want).abs().max() < 5e-5, (k, (got[k] - want).abs().max())
P
}
# flip=1 mirrors every picture: what is learned is what pictures that were mirrored before, with exchanged columns, teach.
test_mirrors_and_pairs() {
    mkdir -p pair/train mirror/train && awk 'BEGIN { srand(4); for (m = 0; m < 2; m++) print "image,left_hand_x,left_hand_y,right_hand_x,right_hand_y,head_x,head_y" >((m ? "mirror" : "pair") "/train.csv")
        for (i = 0; i < 24; i++) { ax = 2 + int(rand() * 8); bx = 18 + int(rand() * 8); y = 4 + int(rand() * 20); z = 4 + int(rand() * 20); for (k = 0; k < 1024; k++) noise[k] = int(40 * rand())
            for (m = 0; m < 2; m++) { n = (m ? "mirror" : "pair"); f = n "/train/" i ".pgm"; print "P2 32 32 255" >f
                for (r = 0; r < 32; r++) for (c = 0; c < 32; c++) { x = m ? 31 - c : c; v = 100; if (x >= ax && x < ax + 4 && r >= y && r < y + 4) v = 200; if (x >= bx && x < bx + 4 && r >= z && r < z + 4) v = 10; print v + noise[32 * r + x] >f }
                close(f); a = ax + 2; b = bx + 2; h = (a + b) / 2; if (m) print "train/" i ".pgm," 32 - b "," z + 2 "," 32 - a "," y + 2 "," 32 - h ",16" >(n "/train.csv"); else print "train/" i ".pgm," a "," y + 2 "," b "," z + 2 "," h ",16" >(n "/train.csv") } } }'
    with() { expect 0 "$wick" train --net "$net" --epochs 2 --batch 8 --validation 0 --threads 1 --quiet "$@"; }
    with --data mirror --transform normalise --out before
    with --data pair --transform "flip=1, normalise" --out by_names && same_tensors before/last.safetensors by_names/last.safetensors
    with --data pair --transform "flip=1, normalise" --pairs left_hand:right_hand --out by_hand && same_tensors before/last.safetensors by_hand/last.safetensors
    with --data pair --transform "flip=1, vflip=1, normalise" --out turned && with --data pair --transform "flip=1, vflip=1, normalise" --pairs none --out turned_none && same_tensors turned/last.safetensors turned_none/last.safetensors # turned, not mirrored
    with --data pair --transform "flip=1, normalise" --pairs none --out none && ! cmp -s before/last.safetensors none/last.safetensors || fail "--pairs none exchanges points"
    expect 0 "$wick" train --data pair --net "$net" --transform "flip, normalise" --dry-run && has err "1 pair of points changes places, by their names: left_hand and right_hand"
    refused() { expect 2 "$wick" train --data "$1" --net "$net" --transform "$2" --pairs "$3" --out no && has err "$4"; }
    refused pair "flip, normalise" left_hand:tail 'there is no point "tail"' && refused pair "flip, normalise" left_hand 'is no pair' && refused pair "flip, normalise" head:head "point head is there twice" && refused pair normalise left_hand:right_hand "with flip or vflip" && refused pair "flip, normalise" left_hand:right_hand,right_hand:head "point right_hand is there twice"
    sed 's/right_hand/rite_hand/g' pair/train.csv >pair/odd.csv && expect 2 "$wick" train --data pair/odd.csv --net "$net" --transform "flip, normalise" --out no && has err "there is no point right_hand beside left_hand" && rm pair/odd.csv
    sed 's/left_hand/lift_hand/g' pair/train.csv >pair/odd.csv && expect 2 "$wick" train --data pair/odd.csv --net "$net" --transform "flip, normalise" --out no && has err "there is no point left_hand beside right_hand" && expect 0 "$wick" train --data pair/odd.csv --net "$net" --transform "flip, normalise" --pairs lift_hand:right_hand --dry-run && rm pair/odd.csv
}
# COCO's JSON: two things in a picture are two rows, each what its box and the margin hold; the same pictures by themselves, in a table, teach the same.
test_coco() {
    [ -n "$python" ] || { echo "  skipped: no Python"; return 0; }
    mkdir -p alone coco/images/train coco/images/test && pictures 7 48 alone/train alone/train.csv train 40 40 && pictures 8 16 alone/test alone/test.csv test 40 40
    "$python" - <<'P'
import csv, json
def pgm(path): t = open(path).read().split(); return [t[4 + 40 * r : 44 + 40 * r] for r in range(40)]
for part in ("train", "test"):
    rows = list(csv.DictReader(open(f"alone/{part}.csv"))); images, notes = [], []
    for i in range(0, len(rows), 2):
        a, b = (pgm("alone/" + r["image"]) for r in rows[i : i + 2]); name = f"{i}.pgm"
        open(f"coco/images/{part}/{name}", "w").write("P2 80 40 255\n" + "\n".join(" ".join(x + y) for x, y in zip(a, b)))
        images.append({"id": 900 - i, "file_name": name, "width": 80, "height": 40})
        for side, r in enumerate(rows[i : i + 2]):
            k = [n for p, v in (("nose", 2), ("tail", 2), ("mid", 1)) for n in ((float(r[p + "_x"]) + 40 * side, float(r[p + "_y"]), v) if r[p + "_x"] else (0, 0, 0))]
            notes.append({"id": 2 * i + side + 1, "image_id": 900 - i, "category_id": 5, "iscrowd": 0, "area": 1024, "bbox": [4 + 40 * side, 4, 32, 32], "keypoints": k, "num_keypoints": sum(v > 0 for v in k[2::3])})
    more = [{"category_id": 5, "keypoints": [0] * 9, "num_keypoints": 0}, {"category_id": 5, "iscrowd": 1, "keypoints": [1, 1, 2] * 3, "num_keypoints": 3}, {"category_id": 5}, {"category_id": 9}]
    notes += [{"id": 7000 + k, "image_id": 900, "bbox": [1, 1, 9, 9], "area": 81, "iscrowd": 0} | m for k, m in enumerate(more)]
    json.dump({"annotations": notes, "images": images, "categories": [{"id": 9, "name": "cup"}, {"id": 5, "name": "animal", "keypoints": ["nose", "tail", "mid"], "skeleton": [[1, 2]]}]}, open(f"coco/{part}.json", "w"), indent=0)
P
    with() { expect 0 "$wick" train --net "$net" --transform "affine=8:0.06:0.9:1.1, normalise" --epochs 2 --batch 16 --validation 0 --threads 1 "$@"; }
    with --data alone --out coco_alone --quiet && with --data coco --out coco_run && same_tensors coco_alone/last.safetensors coco_run/last.safetensors
    has err "coco/train.json: 48 annotations with 3 points each" && has err "4 annotations without a point, of a crowd or of things without points, are left out" && has err "6 of the points are not there"
    expect 0 "$wick" eval coco_run --json && [ "$(json out samples)" = 16 ] && cp out coco.json && expect 0 "$wick" eval coco_alone --json && [ "$(json out pck10)" = "$(json coco.json pck10)" ] && [ "$(json out nme)" = "$(json coco.json nme)" ] || fail "other scores"
    expect 0 "$wick" predict coco_run --split train --index 0-47 --json && cp out coco_all.json
    mkdir -p kit/annotations && cp -r coco/images/train kit/train2017 && cp -r coco/images/test kit/val2017 && cp coco/train.json kit/annotations/person_keypoints_train2017.json && cp coco/test.json kit/annotations/person_keypoints_val2017.json
    with --data kit --validation val --out coco_kit --force && has err "16 images for validation"
    mkdir -p one && cp coco/images/train/* one && cp coco/train.json one/all.json && with --data one/all.json --out coco_one && expect 0 "$wick" eval coco_one --json && [ "$(json out samples)" = 10 ] || fail "whole: $(json out samples)"
    for p in train test; do sed -i 's/^"name": "cup"/"name": "cup", "keypoints": []/' coco/$p.json; done
    has coco/train.json '"keypoints": []' && with --data coco --out coco_empty && same_tensors coco_alone/last.safetensors coco_empty/last.safetensors # a category without points is left out
    can pycocotools || return 0
    "$python" - <<'P' || fail "others read it otherwise"
import contextlib, io, json
from pycocotools.coco import COCO
with contextlib.redirect_stdout(io.StringIO()): c = COCO("coco/train.json")
names = c.loadCats([5])[0]["keypoints"]; rows = [a for a in c.loadAnns(c.getAnnIds(catIds=[5], iscrowd=False)) if a.get("num_keypoints", 0) > 0]
got = json.load(open("coco_all.json"))["images"]; assert len(got) == len(rows) == 48
for g, a in zip(got, rows):
    k = a["keypoints"]; left = a["bbox"][0] - 4
    assert [(p["point"], round(p["x"], 3), round(p["y"], 3)) for p in g["there"]] == [(n, k[3 * i] - left, k[3 * i + 1]) for i, n in enumerate(names) if k[3 * i + 2] > 0], (g, a)
P
}
test_what_is_wrong_with_coco() {
    mkdir -p wrong && cp set/train/p100.pgm wrong/a.pgm
    local i='"images": [{"id": 1, "file_name": "a.pgm"}]' c='"categories": [{"id": 7, "name": "a", "keypoints": ["l", "r"]}]'
    wrong() { printf '%b' "$1" >wrong/train.json && expect 3 "$wick" train --data wrong --task keypoints --net "$net" --out no && has err "wrong/train.json$2" && has err "$3"; }
    a() { wrong "{$i, $c, \"annotations\": [\\n\\n{\"image_id\": 1, \"category_id\": 7, $1}]}" "$2" "$3"; }
    list() { wrong "{$i, $c, \"annotations\": [\\n$1]}" "$2" "$3"; }
    a '"keypoints": [1, 2, 2, 3, 4]' ", line 3" '"keypoints" are 5 numbers, and 2 points have three each' && a '"keypoints": [1, 2, 2, 3, 4, 3]' ", line 3" 'of r x or y is no number, or v not 0, 1 or 2' && a '"keypoints": [1, 2, 2, null, 4, 1]' ", line 3" 'of r x or y is no number, or v not 0, 1 or 2'
    a '"keypoints": [1, 2, 2, 3, 4, 2], "bbox": [1, 2, 0, 4]' ", line 3" '"bbox" is not x, y, width and height above 0' && a '"keypoints": [1, 2, 2, 3, 4, 2], "bbox": [90, 2, 5, 4]' ", line 3" '"bbox" lies outside of' && a '"keypoints": [0, 0, 0, 0, 0, 0]' "" "no annotation has a point that is labelled" && a '"keypoints": ["x"]' ", line 3" "is no JSON here, or not of COCO's shape"
    list '{"image_id": 2, "category_id": 7}' ", line 2" '"image_id" is that of no image' && list '{"category_id": 7}' ", line 2" '"image_id" is that of no image' && list '{"image_id": 1, "category_id": 8}' ", line 2" '"category_id" is that of no category'
    wrong "{${i/a.pgm/b.pgm}, $c, \"annotations\": []}" ", line 1" "the picture b.pgm is not there" && wrong "{${i/a.pgm/../a.pgm}, $c, \"annotations\": []}" ", line 1" "no file below the folder" && wrong "{$i, $c}" "" 'has no list of "annotations"' && wrong "{$c, \"annotations\": []}" "" 'has no list of "images"'
    wrong "{$i, ${c/'"r"'/'"l"'}, \"annotations\": []}" ", line 1" 'have one name' && wrong "{$i, ${c%]}, {\"id\": 8, \"keypoints\": [\"l\", \"q\"]}], \"annotations\": []}" ", line 1" 'two categories have other "keypoints"' && wrong "{$i, ${c/'"id": 7, '/}, \"annotations\": []}" ", line 1" 'a category has no "id"'
    wrong "{$i, \"annotations\": [], \"categories\": [{\"id\": 1, \"keypoints\": [\"a\"]}]}" "" "the names of two points or more"
    rm wrong/train.json && expect 3 "$wick" train --data wrong --task keypoints --net "$net" --out no && has err "has no points for train: a table train.csv"
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data set --net "$net" --transform "affine=8:0.06:0.9:1.1, normalise" --epochs $epochs --schedule constant --warmup 0 --batch 16 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
}
test_pictures_of_other_sizes() {
    mkdir -p sizes && pictures 5 40 sizes/train sizes/train.csv train 24 48 && pictures 6 8 sizes/small sizes/small.csv small 32 32 && tail -n +2 sizes/small.csv >>sizes/train.csv && rm sizes/small.csv
    expect 3 "$wick" train --data sizes --net "$net" --out no && has err "--image-size HxW makes pictures alike"
    for how in stretch letterbox; do
        [ $how = letterbox ] && more=--letterbox || more=
        expect 0 "$wick" train --data sizes --image-size 32 $more --validation 0 --net "$net" --epochs 50 --batch 8 --lr 0.006 --optimizer adamw --threads 1 --out size_$how && expect 0 "$wick" predict size_$how --split train --index 0-47 --json && mv out size_$how.json && expect 0 "$wick" eval size_$how --split train --json && at_least pck20 0.9
        expect 0 "$wick" predict size_$how sizes/train/p1*.pgm --csv && mv out size_$how.csv
    done
    [ -n "$python" ] || return 0
    "$python" - <<'P' || fail "points of fitted pictures"
import csv, json
truth = list(csv.DictReader(open("sizes/train.csv")))
for how in ("stretch", "letterbox"):
    images = json.load(open(f"size_{how}.json"))["images"]; assert [(i["height"], i["width"]) for i in images] == [(24, 48)] * 40 + [(32, 32)] * 8
    for i, t in zip(images, truth):
        assert [(p["point"], round(p["x"], 3), round(p["y"], 3)) for p in i["there"]] == [(k, float(t[k + "_x"]), float(t[k + "_y"])) for k in ("nose", "tail", "mid") if t[k + "_x"]], (how, i["there"], t)
    far = [((float(r["xnose"]) - float(t["nose_x"])) ** 2 + (float(r["ynose"]) - float(t["nose_y"])) ** 2) ** 0.5 for r, t in zip(csv.DictReader(open(f"size_{how}.csv")), truth)]
    assert sum(far) / len(far) < 3, (how, sum(far) / len(far))
P
}
test_tables_of_points() {
    cp set/train.csv set/whole.csv && expect 0 "$wick" train --data set/whole.csv --net "$net" --epochs 1 --out whole && expect 0 "$wick" eval whole --json && [ "$(json out samples)" = 32 ] || fail whole
    { sed '1s/^/split;/; s/,/;/g; 2,$s/^/train;/' set/train.csv; tail -n +2 set/test.csv | sed 's/,/;/g; 1,9s/^/val;/; 10,$s/^/test;/'; } >set/whole.csv && expect 0 "$wick" train --data set/whole.csv --net "$net" --epochs 1 --out parted && has err "9 images for validation" && expect 0 "$wick" eval parted --json && [ "$(json out samples)" = 31 ] || fail parted
    rm set/whole.csv && mkdir -p bad && cp -r set/train bad
    line() { cp set/train.csv bad/train.csv && sed -i "$1" bad/train.csv && expect 3 "$wick" train --data bad --task keypoints --net "$net" --out no && has err "bad/train.csv, line $2" && has err "$3"; }
    line '3s/.*/train\/none.pgm,1,2,3,4,1,5,6,7/' 3 "the picture is not there" && line '3s/.*/..\/p.pgm,1,2,3,4,1,5,6,7/' 3 "no file below" && line '4s/.*/train\/p101.pgm,1,x,3,4,1,5,6,7/' 4 'column nose is no number: "x"' && line '4s/.*/train\/p101.pgm,nan,2,3,4,1,5,6,7/' 4 "is no number" && line '4s/.*/train\/p101.pgm,1,,3,4,1,5,6,7/' 4 "of point nose one of two numbers is missing"
    line '5s/$/,3/' 5 "has 10 cells, and the header 9" && line '5s/^/"/' 5 "a quote is not closed" && line '1s/.*/image,a,b,c,d,e,f,g,h/' 1 "no header of points" && line '1s/.*/image,nose_x,nose_y,xnose,ynose,e,f,g,h/' 1 'two points are called "nose"'
    cp set/train.csv bad/train.csv && sed -i '4s/.*/train\/p101.pgm,40,2,3,4,1,5,6,7/' bad/train.csv && expect 0 "$wick" train --data bad --net "$net" --epochs 1 --out edge --force && has err "1 of the points lie outside of their pictures"
    expect 2 "$wick" train --data set --transform "flip, normalise" --net "$net" --out no && has err "in a mirror left points are right ones, and their names do not say which; --pairs nose:tail" && expect 2 "$wick" train --data set --augment flip --net "$net" --out no && has err "not their points" && expect 2 "$wick" train --data set --task keypoints --target "nose*" --out no && has err "--target is for numbers" && expect 2 "$wick" train --data set --net "flatten, linear classes" --out no && has err "a heatmap for each of the 3 points"
    [ -d run ] || return 0
    sed '1s/tail/ear/g' set/test.csv >set/other.csv && expect 3 "$wick" eval run --data set/other.csv && has err "are not those that the model knows" && rm set/other.csv
}
# COCO's files of boxes whose categories have lists of no points; and boxes and points of the same pictures.
test_boxes_beside_points() {
    local p i
    for p in train test; do
        mkdir -p both/images/$p both/annotations boxed/images/$p
        for i in 1 2 3 4; do grey=$(seq -s ' ' $i $((255 + i))) && echo "P2 16 16 300 $grey" >both/images/$p/$i.pgm && cp both/images/$p/$i.pgm boxed/images/$p; done
        notes() { for i in 1 2 3 4; do echo "{\"id\": $i, \"image_id\": $i, \"category_id\": 1, \"bbox\": [2, 2, 9, 9], \"area\": 81, \"iscrowd\": 0, \"keypoints\": [$1]}"; done | paste -sd ,; }
        all() { echo "{\"images\": [$(for i in 1 2 3 4; do echo "{\"id\": $i, \"file_name\": \"$i.pgm\", \"width\": 16, \"height\": 16}"; done | paste -sd ,)], \"annotations\": [$(notes "$2")], \"categories\": [{\"id\": 1, \"name\": \"person\", \"keypoints\": [$1]}]}"; }
        all "" "" >boxed/$p.json && cp boxed/$p.json both/annotations/instances_$p.json && all '"nose", "tail"' "3, 3, 2, 8, 8, 2" >both/annotations/person_keypoints_$p.json
    done
    expect 0 "$wick" train --data boxed --dry-run && has err "--task detect, as the data look"
    expect 0 "$wick" train --data both --dry-run && has err "--task detect, as the data look"
    expect 0 "$wick" train --data both --task keypoints --dry-run && has err "4 annotations with 2 points each"
    rm both/annotations/instances_* && expect 0 "$wick" train --data both --dry-run && has err "--task keypoints, as the data look"
}
test_main
