# wick train --task track: where in a second picture is what the first shows; its loss and scores by others, and bad tables by line.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# pairs SEED N PART: a bright square or a dark one in the middle of the first picture, both of them somewhere in the second.
pairs() {
    mkdir -p "moved/$3"
    awk -v seed="$1" -v n="$2" -v part="$3" 'function put(x, y, s, v, r, c) { for (r = y; r < y + s; r++) for (c = x; c < x + s; c++) p[r, c] = v + int(20 * rand()) }
        function blank(r, c) { for (r = 0; r < 16; r++) for (c = 0; c < 16; c++) p[r, c] = 100 + int(50 * rand()) }
        function save(f, r, c) { print "P2 16 16 255" >f; for (r = 0; r < 16; r++) for (c = 0; c < 16; c++) print p[r, c] >f; close(f) }
        BEGIN { srand(seed); t = "moved/" part ".csv"; print "template,search,xmin,ymin,xmax,ymax" >t
            for (i = 0; i < n; i++) { bright = rand() < 0.5; name = part "/" 100 + i; s = 4 + int(rand() * 3); y = int(rand() * (16 - s)); left = rand() < 0.5
                x = int(rand() * (9 - s)) + (left ? 0 : 8); z = int(rand() * 4) + (left ? 8 : 0)
                blank(); put(6, 6, 5, bright ? 230 : 10); save("moved/" name "a.pgm"); blank(); put(z, int(rand() * 11), 5, bright ? 10 : 230); put(x, y, s, bright ? 230 : 10); save("moved/" name "b.pgm")
                print name "a.pgm," name "b.pgm," x "," y "," x + s "," y + s >t } }'
}
net="twins(conv 8 3 stride 2 same nobias, bn, relu, conv 8 3 same), correlate, conv 16 3 same nobias, bn, relu, conv classes 1"
pairs 1 160 train && pairs 2 30 test
test_boxes_are_followed() {
    expect 0 "$wick" train --data moved --net "$net" --epochs 16 --batch 16 --lr 0.01 --optimizer adamw --threads 1 --out run --json && valid_json out && has err "--task track, as the data look" && has err "160 pairs of pictures" && [ "$(json out score)" = iou ] || fail train
    expect 0 "$wick" eval run --json && valid_json out && at_least iou 0.4 && has out '"success50"' && expect 0 "$wick" eval run && has out "mean IoU" && lacks out nan || fail eval
    expect 0 "$wick" info run && has out "a tracker by 3 maps" && has out "twin1.conv1.weight" && expect 0 "$wick" plan run && expect 0 "$wick" compile run -o run_c
    expect 0 "$wick" report run -o run.html && has run.html "what is looked for" && has run.html "green: where it is"
    # the first picture counts: with another one another box is found
    expect 0 "$wick" predict run moved/test/100a.pgm moved/test/100b.pgm --draw drawn && has out "moved/test/100b.pgm: box " && [ -s drawn/100b-box.png ] && cp out same || fail predict
    expect 0 "$wick" predict run moved/test.csv --index 0-29 --json && valid_json out && has out '"iou"' && expect 0 "$wick" predict run moved/test.csv --index 0,1 --csv && has out "path,xmin,ymin,xmax,ymax" && expect 0 "$wick" predict run --index 0 --draw drawn && [ -s drawn/0-box.png ] || fail "predict of a table"
    expect 2 "$wick" predict run moved/test/100a.pgm && has err "takes two pictures each" && expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = iou ] && has out '"iou_int8"' && has out drop_bound
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data moved --net "$net" --epochs $epochs --schedule constant --warmup 0 --batch 16 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
}
test_scores_and_onnx_by_others() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" convert run run.onnx && expect 0 "$wick" inspect run.onnx && has out "image  float [N, 2, 16, 16]" && has out "box  float [N, 4]" && expect 0 "$wick" eval run --json && mv out eval.json
    can onnxruntime || return 0
    "$python" - <<'P' || fail "others measure otherwise"
import csv, json, numpy as np, onnxruntime as rt
rows = list(csv.DictReader(open("moved/test.csv"))); pgm = lambda f: np.array(open("moved/" + f).read().split()[4:], int).reshape(16, 16)
x = np.stack([np.stack([pgm(r["template"]), pgm(r["search"])]) for r in rows]).astype("f4") / 255; t = np.array([[float(r[k]) for k in ("xmin", "ymin", "xmax", "ymax")] for r in rows]) / 16
p = rt.InferenceSession("run.onnx").run(None, {"image": x})[0]; e = json.load(open("eval.json"))
inside = np.prod(np.clip(np.minimum(p[:, 2:], t[:, 2:]) - np.maximum(p[:, :2], t[:, :2]), 0, None), 1); area = lambda b: np.prod(b[:, 2:] - b[:, :2], 1); iou = inside / (area(p) + area(t) - inside)
for key, want in (("iou", iou.mean()), ("success50", (iou >= 0.5).mean()), ("success75", (iou >= 0.75).mean())): assert abs(e[key] - want) < 1e-4, (key, e[key], want)
P
}
# One step of SGD from the same weights: the loss and the gradients are PyTorch's, of both pictures' shared layers too.
test_step_of_pytorch() {
    can "torch, safetensors" || return 0
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import csv, json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from safetensors.torch import save_file, load_file
torch.manual_seed(0)
rows = list(csv.DictReader(open("moved/train.csv"))); pgm = lambda f: np.array(open("moved/" + f).read().split()[4:], int).reshape(16, 16)
x = torch.tensor(np.stack([np.stack([pgm(r["template"]), pgm(r["search"])]) for r in rows]) / 255.0); x = ((x - x.mean()) / x.std(unbiased=False)).float()
t = torch.tensor([[float(r[k]) for k in ("xmin", "ymin", "xmax", "ymax")] for r in rows]) / 16
w = {"twin1.conv1.weight": torch.randn(4, 1, 3, 3) * 0.3, "twin1.conv1.bias": torch.randn(4) * 0.1, "conv1.weight": torch.randn(3, 20, 1, 1) * 0.2, "conv1.bias": torch.randn(3) * 0.1}; save_file(w, "start.safetensors")
w = {k: v.requires_grad_() for k, v in w.items()}; n = len(x)
a, b = (F.conv2d(F.max_pool2d(x[:, k : k + 1], 4), w["twin1.conv1.weight"], w["twin1.conv1.bias"], padding=1) for k in (0, 1))
alike = torch.einsum("ncp,nchw->nphw", a.flatten(2), b) / 2
y = F.conv2d(torch.cat([alike, b], 1), w["conv1.weight"], w["conv1.bias"]).flatten(2)
at = torch.stack([torch.arange(16) % 4 + 0.5, torch.arange(16) // 4 + 0.5]); log_p = y[:, 0].log_softmax(1); p = log_p.exp()[:, None]
middle, half = (p * at).sum(2) / 4, (p * y[:, 1:]).sum(2).exp() / 8; low, high = middle - half, middle + half
log_q = (-0.5 * ((at - ((t[:, :2] + t[:, 2:]) * 2)[:, :, None]) ** 2).sum(1)).log_softmax(1)
inside = (torch.minimum(high, t[:, 2:]) - torch.maximum(low, t[:, :2])).clamp(0).prod(1); union = (high - low).prod(1) + (t[:, 2:] - t[:, :2]).prod(1) - inside; hull = (torch.maximum(high, t[:, 2:]) - torch.minimum(low, t[:, :2])).prod(1)
loss = ((log_q.exp() * (log_q - log_p)).sum(1) + 2 * (1 - inside / union + (hull - union) / hull)).mean(); loss.backward()
subprocess.run([sys.argv[1], "train", "--data", "moved", "--net", "twins(maxpool 4, conv 4 3 same), correlate, conv classes 1", "--weights", "start.safetensors", "--epochs", "1", "--batch", str(n), "--optimizer", "sgd", "--momentum", "0", "--lr", "0.5", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "step_run", "--force"], check=True, capture_output=True)
got = load_file("step_run/last.safetensors"); log = json.loads(open("step_run/log.jsonl").readline())
assert abs(log["loss"] - loss.item()) < 2e-5, (log["loss"], loss.item())
for k, v in w.items():
    want = (v - 0.5 * v.grad).detach(); assert (got[k] - want).abs().max() < 2e-5, (k, (got[k] - want).abs().max())
P
}
test_wrong_tables_by_line() {
    refused() { printf 'template,search,xmin,ymin,xmax,ymax\ntrain/100a.pgm,train/100b.pgm,1,1,5,5\n%s\n' "$1" >moved/bad.csv && expect 3 "$wick" train --data moved/bad.csv --task track --net "$net" --out no && has err "bad.csv, line 3: $2"; }
    refused "train/100a.pgm,train/nobody.pgm,1,1,5,5" "the picture is not there" && refused "train/100a.pgm,../b.pgm,1,1,5,5" "is no file below" && refused "train/100a.pgm,train/100b.pgm,1,one,5,5" 'ymin is no number: "one"'
    refused "train/100a.pgm,train/100b.pgm,5,1,5,5" "the box has no area" && refused "train/100a.pgm,train/100b.pgm,17,1,25,5" "the box has no area, or lies outside" && refused "train/100a.pgm,train/100b.pgm,1,1,5" "has not the 6 cells"
    printf 'template,xmin\na,1\n' >moved/bad.csv && expect 3 "$wick" train --data moved/bad.csv --task track --out no && has err "line 1: is no header of pairs"
    printf 'P2 15 16 255\n' >moved/train/small.pgm && seq 1 240 | sed 's/.*/9/' >>moved/train/small.pgm && printf 'template,search,xmin,ymin,xmax,ymax\ntrain/100a.pgm,train/small.pgm,1,1,5,5\n' >moved/bad.csv && expect 3 "$wick" train --data moved/bad.csv --task track --out no && has err "small.pgm: 16 x 15 pixels, and the first picture has 16 x 16"
    expect 2 "$wick" train --data moved --transform normalise --out no && has err "one picture a sample" && expect 2 "$wick" train --data moved --net "conv 4 3, conv 2 1" --out no && has err "grid over the second picture" && expect 2 "$wick" train --data moved --net "linear 3, correlate" --out no
    rm moved/bad.csv
}
test_main
