# wick train --task segment: pictures and masks in every layout, what masks hold, bad ones by name, and what the other commands make of such a model.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# pictures SEED N FOLDER FOLDER [HIGH WIDE [MASK-VALUES]]: pictures of noise with a bright and a dark rectangle, and masks of 0, 1, 2, or of the three values
pictures() {
    mkdir -p "$3" "$4"
    awk -v seed="$1" -v n="$2" -v a="$3" -v b="$4" -v h="${5:-12}" -v w="${6:-16}" -v values="${7:-0 1 2}" 'BEGIN { srand(seed); split(values, v, " ")
        for (i = 0; i < n; i++) { x = a "/p" 100 + i ".pgm"; y = b "/p" 100 + i "_mask.pgm"; print "P2", w, h, 255 >x; print "P2", w, h, 255 >y
            x0 = int(rand() * w / 2); y0 = int(rand() * h / 2); x1 = x0 + 3 + int(rand() * w / 4); y1 = y0 + 3 + int(rand() * h / 4); cut = int(w * 0.7) + int(rand() * 3)
            for (r = 0; r < h; r++) for (c = 0; c < w; c++) { k = c >= cut ? 2 : c >= x0 && c < x1 && r >= y0 && r < y1 ? 1 : 0; print int((k == 1 ? 190 : k == 2 ? 20 : 100) + 50 * rand()) >x; print v[k + 1] >y }
            close(x); close(y) } }'
}
net="conv 8 3 same, relu, save a, maxpool 2, conv 16 3 same, relu, upsample 2, concat a, conv 8 3 same, relu, conv classes 1"
pictures 1 60 shapes/train/images shapes/train/masks && pictures 2 20 shapes/test/images shapes/test/masks && printf 'ground\nbox\nwall\n' >shapes/classes.txt

test_masks_of_three_classes() {
    expect 0 "$wick" train --data shapes --net "$net" --epochs 25 --batch 8 --lr 0.01 --threads 1 --out run --json && valid_json out && has err "--task segment, as the data look" && has err "60 pictures with masks of 3 classes" && has err "mIoU" && [ "$(json out score)" = miou ] || fail train
    expect 0 "$wick" eval run --json && valid_json out && at_least miou 0.85 && at_least pixel_accuracy 0.9 && has out '"name": "wall"' && [ "$(json out samples)" = 20 ] || fail eval
    expect 0 "$wick" eval run && has out "mIoU" && has out "IoU" && has out "ground" && lacks out nan
    expect 0 "$wick" info run && has out "a segmentation into 3 classes" && expect 0 "$wick" plan run --train && expect 0 "$wick" compile run -o run_c
    expect 0 "$wick" report run -o run.html && has run.html "A segmentation into 3 classes" && has run.html "predicted" && has run.html "most often taken for"
    expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = miou ] && has out '"miou_int8"' && has out drop_bound && expect 2 "$wick" eval run --top 2 && has err "--task segment"
    expect 2 "$wick" train --data shapes --augment flip --out no && has err '--transform "flip, crop=8, normalise"' && expect 0 "$wick" train --data shapes --net "$net" --transform "flip, crop=2, normalise" --epochs 1 --out flipped
}
test_predictions_as_pictures() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" predict run --index 0-19 --draw drawn --json && valid_json out && has out '"pixels": {"ground": ' && has out '"pixel_accuracy"' && [ "$(ls drawn | wc -l)" = 40 ] || fail "drawn: $(ls drawn | wc -l)"
    expect 0 "$wick" predict run --index 0 --color always && grep -Eq $'\x1b\\[38;2;[0-9]+;[0-9]+;[0-9]+;48;2' out && expect 0 "$wick" predict run --index 0 && grep -q '@@@' out || fail "no mask in the terminal"
    pictures 3 1 large large 36 48 && expect 0 "$wick" predict run large/p100.pgm --draw drawn && has out "large/p100.pgm: ground" && [ -s drawn/p100-mask.png ] || fail "no mask"
    # what was written is read: masks with a palette, beside pictures
    mkdir -p again && for i in 100 101 102 103 104 105 106 107; do cp shapes/test/images/p$i.pgm again/p$i.pgm && cp drawn/$((i - 100))-mask.png again/p${i}_mask.png; done
    expect 0 "$wick" eval run --data again --json && has err "all of it is taken" && at_least miou 0.999999 && [ "$(json out samples)" = 8 ] || fail "palette"
    can "numpy, PIL" || return 0
    "$python" - <<'P' || fail "not the numbers that were written"
import json, numpy as np
from PIL import Image
m = Image.open("drawn/p100-mask.png"); assert m.size == (48, 36) and m.mode == "P", (m.size, m.mode)
assert set(np.unique(np.array(m))) <= {0, 1, 2} and Image.open("drawn/p100-overlay.png").size == (48, 36)
P
}
test_scores_and_onnx_by_others() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" convert run run.onnx && expect 0 "$wick" inspect run.onnx && has out "probabilities  float [N, 3, 12, 16]" && expect 0 "$wick" eval run --json && mv out eval.json
    can "onnxruntime, sklearn" || return 0
    "$python" - <<'P' || fail "others measure otherwise"
import glob, json, numpy as np, onnxruntime as rt
from sklearn.metrics import jaccard_score, accuracy_score, f1_score, recall_score
def pgm(path):
    t = open(path).read().split(); return np.array(t[4:], int).reshape(int(t[2]), int(t[1]))
names = sorted(glob.glob("shapes/test/images/*.pgm"))
x = np.stack([pgm(n) for n in names])[:, None].astype("f4") / 255; y = np.stack([pgm(n.replace("images", "masks").replace(".pgm", "_mask.pgm")) for n in names])
p = rt.InferenceSession("run.onnx").run(None, {"image": x})[0]; e = json.load(open("eval.json")); q = p.argmax(1)
assert np.abs(p.sum(1) - 1).max() < 1e-5
loss = np.mean([-np.log(np.take_along_axis(p[i], y[i][None], 0)).mean() for i in range(len(y))])
for key, want in (("miou", jaccard_score(y.ravel(), q.ravel(), average="macro")), ("pixel_accuracy", accuracy_score(y.ravel(), q.ravel())), ("mean_f1", f1_score(y.ravel(), q.ravel(), average="macro")), ("mean_recall", recall_score(y.ravel(), q.ravel(), average="macro")), ("loss", loss)):
    assert abs(e[key] - want) < 2e-5, (key, e[key], want)
P
}
# One step of SGD from the same weights: the loss and the gradients are PyTorch's, with pixels that are ignored.
test_step_of_pytorch() {
    can "torch, safetensors" || return 0
    pictures 4 6 step/train step/train 12 16 "0 1 255"
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import glob, json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from safetensors.torch import save_file, load_file
torch.manual_seed(0)
def pgm(path):
    t = open(path).read().split(); return np.array(t[4:], int).reshape(int(t[2]), int(t[1]))
names = [n for n in sorted(glob.glob("step/train/*.pgm")) if "mask" not in n]
x = torch.tensor(np.stack([pgm(n) for n in names])[:, None] / 255.0); x = ((x - x.mean()) / x.std(unbiased=False)).float()
y = torch.tensor(np.stack([pgm(n.replace(".pgm", "_mask.pgm")) for n in names]))
shapes = {"conv1": (8, 1), "conv2": (16, 8), "conv3": (8, 24)}
w = {f"{k}.weight": torch.randn(o, i, 3, 3) * 0.2 for k, (o, i) in shapes.items()}; w["conv4.weight"] = torch.randn(2, 8, 1, 1)
w.update({k.replace("weight", "bias"): torch.randn(len(v)) * 0.1 for k, v in list(w.items())})
save_file(w, "start.safetensors")
start = w
for weights in (None, [0.5, 3.0], "balanced"):
  w = {k: v.clone().requires_grad_() for k, v in start.items()}
  c = lambda k, x: F.conv2d(x, w[k + ".weight"], w[k + ".bias"], padding="same")
  a = F.relu(c("conv1", x)); b = F.interpolate(F.relu(c("conv2", F.max_pool2d(a, 2))), scale_factor=2, mode="bilinear")
  z = c("conv4", F.relu(c("conv3", torch.cat([a, b], 1))))
  k = torch.bincount(y.ravel(), minlength=256)[:2].float()
  v = torch.ones(2) if weights is None else k.sum() / (2 * k) if weights == "balanced" else torch.tensor(weights)
  loss = sum(F.cross_entropy(z[i : i + 1], y[i : i + 1], ignore_index=255, weight=v) for i in range(len(y))) / len(y); loss.backward()
  net = "conv 8 3 same, relu, save a, maxpool 2, conv 16 3 same, relu, upsample 2 smooth, concat a, conv 8 3 same, relu, conv classes 1"
  extra = [] if weights is None else ["--class-weights", weights if weights == "balanced" else ",".join(map(str, weights))]
  subprocess.run([sys.argv[1], "train", "--data", "step", "--net", net, "--weights", "start.safetensors", "--epochs", "1", "--batch", "6", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.5", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "step_run", "--force"] + extra, check=True, capture_output=True)
  got = load_file("step_run/last.safetensors"); log = json.loads(open("step_run/log.jsonl").readline())
  assert abs(log["loss"] - loss.item()) < 1e-5, (weights, log["loss"], loss.item())
  for k, v in w.items():
    want = (v - 0.5 * v.grad).detach(); assert (got[k] - want).abs().max() < 2e-5, (weights, k, (got[k] - want).abs().max())
P
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data shapes --net "$net" --transform "flip, normalise" --epochs $epochs --schedule constant --warmup 0 --batch 8 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
}
test_layouts_of_folders() {
    # images/SPLIT beside masks/SPLIT; one folder of all, split by the command; pictures and masks in one folder
    mkdir -p inside && for k in images masks; do mkdir -p inside/$k && cp -r shapes/train/$k inside/$k/train && cp -r shapes/test/$k inside/$k/test; done
    expect 0 "$wick" train --data inside --net "$net" --epochs 1 --out inside_run && has err "no pixel is ignored" && expect 0 "$wick" eval inside_run --json && [ "$(json out samples)" = 20 ] || fail inside
    mkdir -p flat && cp shapes/train/images/*.pgm shapes/train/masks/*.pgm flat && expect 0 "$wick" train --data flat --net "$net" --epochs 1 --out flat_run && expect 0 "$wick" eval flat_run --json && [ "$(json out samples)" = 12 ] && has out '"name": "2"' || fail flat
    expect 0 "$wick" train --data flat --image-size 6x8 --net "$net" --epochs 1 --out small_run && expect 0 "$wick" predict small_run flat/p100.pgm --draw small && expect 0 "$wick" train --data flat --arch unet --epochs 1 --out unet_run
}
test_numbers_that_masks_have() {
    pictures 5 20 two two 12 16 "0 255 0" && expect 0 "$wick" train --data two --net "$net" --epochs 1 --out two_run2 && has err "0 and 255 alone: these are classes 0 and 1" && expect 0 "$wick" eval two_run2
    pictures 5 20 ign ign 12 16 "0 1 255" && expect 0 "$wick" train --data ign --net "$net" --epochs 1 --out ign_run && has err "% of the pixels are of no class" && expect 0 "$wick" eval ign_run --json && has out '"miou"' && lacks out '"name": "2"'
    pictures 5 20 gaps gaps 12 16 "0 50 100" && expect 3 "$wick" train --data gaps --task segment --out no && has err "3 numbers from 0 to 100" && has err "classes.txt"
    printf 'ground 0\nbox 50\nignore 100\n' >gaps/classes.txt && expect 0 "$wick" train --data gaps --net "$net" --epochs 1 --out gaps_run && has err "masks of 2 classes" && expect 0 "$wick" eval gaps_run --json && has out '"name": "box"'
    can PIL || return 0
    "$python" - <<'P'
import glob, os, numpy as np
from PIL import Image
for k in ("colour", "palette", "bits", "deep", "alpha"): os.makedirs(k, exist_ok=True)
for i, n in enumerate(sorted(glob.glob("ign/*_mask.pgm"))):
    m = np.array(open(n).read().split()[4:], int).reshape(12, 16).clip(0, 1).astype("u1"); name = os.path.basename(n)[:-4] + ".png"; x = Image.fromarray(np.full((12, 16), 90, "u1") + 100 * m)
    for k in ("colour", "palette", "bits", "deep", "alpha"): x.save(f"{k}/{name.replace('_mask', '')}")
    Image.fromarray(np.array([[10, 20, 30], [200, 0, 0]], "u1")[m]).save("colour/" + name)
    p = Image.fromarray(m, "P"); p.putpalette([7, 7, 7, 7, 7, 7]); p.save("palette/" + name, transparency=0)  # one colour twice: the numbers count
    Image.fromarray(m * 255).convert("1").save("bits/" + name)
    Image.fromarray(m.astype("u2") * 256).save("deep/" + name)
    Image.fromarray(np.dstack([m, m, m, 255 - 100 * m])).save("alpha/" + name)
P
    for k in colour palette bits; do expect 0 "$wick" train --data $k --net "$net" --epochs 12 --batch 4 --lr 0.02 --threads 1 --out ${k}_run --force && expect 0 "$wick" eval ${k}_run --json && at_least miou 0.95; done
    expect 0 "$wick" eval colour_run --json && has out '"name": "#c80000"'
    expect 3 "$wick" train --data deep --task segment --out no && has err "16 bits" && expect 3 "$wick" train --data alpha --task segment --out no && has err "transparency"
    printf 'sky 10 20 30\ncar 200 0 1\n' >colour/classes.txt && expect 3 "$wick" train --data colour --task segment --out no && has err "_mask.png: pixel (" && has err "#c80000"
}
test_what_does_not_fit() {
    bad() { rm -rf bad && cp -r flat bad; }
    bad && rm bad/p103_mask.pgm && expect 3 "$wick" train --data bad --out no && has err "bad/p103.pgm: has no mask"
    bad && printf 'P2 2 2 255 0 1 1 0' >bad/p104_mask.pgm && expect 3 "$wick" train --data bad --out no && has err "p104_mask.pgm: has 2 x 2 pixels, and its picture has 12 x 16"
    bad && printf 'P2 2 2 255 0 1 1 0' >bad/p104.pgm && expect 3 "$wick" train --data bad --out no && has err "p104.pgm" && has err "--image-size HxW makes pictures alike"
    bad && echo none >bad/p105_mask.pgm && expect 3 "$wick" train --data bad --out no && has err "p105_mask.pgm"
    bad && printf 'a\nb 3\n' >bad/classes.txt && expect 3 "$wick" train --data bad --out no && has err "classes.txt, line 2: has 1 number, and the lines above have 0"
    bad && printf 'a 1\nb 300\n' >bad/classes.txt && expect 3 "$wick" train --data bad --out no && has err "classes.txt, line 2: 300 is above 255"
    bad && printf 'a 1\nb 1\n' >bad/classes.txt && expect 3 "$wick" train --data bad --out no && has err "line 2: the lines above have that number"
    bad && printf 'a\nb\n' >bad/classes.txt && expect 3 "$wick" train --data bad --out no && has err "is 2, which is none of the 2 classes"
    expect 2 "$wick" train --data flat --net "conv 4 3 same, conv classes 1, maxpool 2" --out no && has err '"conv classes 1"' && expect 2 "$wick" train --data flat --net "flatten, linear classes" --out no && has err "the network gives"
    expect 2 "$wick" train --data flat --net "conv 4 3 same, concat a, conv classes 1" --out no && has err "nothing was saved by this name" && expect 2 "$wick" train --data flat --net "save a, save a, conv classes 1" --out no && has err "is saved already"
    expect 2 "$wick" train --data flat --net "save a, maxpool 2, conv 1 1, add a, conv classes 1" --out no && has err '"upsample a" in front'
    expect 2 "$wick" train --data flat --class-weights 1,2 --out no && has err "nor 3 numbers" && printf 'a,y\n1,2\n' >t.csv && expect 3 "$wick" train --data t.csv --task segment --out no && has err "a folder of pictures and masks"
    mkdir -p empty && expect 3 "$wick" train --data empty --task segment --out no && has err "no pictures with masks"
    [ -d run ] || return 0
    bad && printf 'ground\nwall\nbox\n' >bad/classes.txt && expect 3 "$wick" eval run --data bad && has err "class 1 is 'wall'" && pictures 9 8 two/test two/test 12 16 "0 1 7" && expect 3 "$wick" eval run --data two/test && has err "is 7, which is none of the 3 classes"
}
test_main
