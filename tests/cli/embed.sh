# wick train --task embed: identities that the training never saw, told apart by vectors; pairs, thresholds, who is enrolled, and what is refused.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# marks FIRST LAST N FOLDER: of each identity N pictures of 16 x 16: its own 3 x 3 cells of three greys, moved by chance, in noise
marks() {
    awk -v first="$1" -v last="$2" -v n="$3" -v dir="$4" 'BEGIN { for (k = first; k <= last; k++) { srand(100 + k); for (i = 0; i < 9; i++) cell[i] = 60 + 60 * int(3 * rand()); folder = dir "/id" 100 + k; system("mkdir -p " folder)
        for (j = 0; j < n; j++) { srand(1000 * k + j); file = folder "/" j ".pgm"; print "P2 16 16 255" >file; a = int(4 * rand()); b = int(4 * rand())
            for (y = 0; y < 16; y++) for (x = 0; x < 16; x++) { in_ = y >= a && y < a + 12 && x >= b && x < b + 12; print int((in_ ? cell[3 * int((y - a) / 4) + int((x - b) / 4)] : 20) + 30 * rand()) >file }
            close(file) } } }'
}
net="conv 12 3 same nobias, bn, relu, maxpool 2, conv 24 3 same nobias, bn, relu, maxpool 2, flatten, linear classes"
marks 1 40 10 marks
"$wick" train --data marks --task embed --embedding 16 --net "$net" --epochs 20 --batch 32 --lr 0.005 --optimizer adamw --threads 1 --out run --json >trained 2>told

test_identities_never_seen() {
    cp trained out && cp told err && valid_json out && has err "8 of its 40 identities, by a hash of their names, are held out as test" && has err "3 of the 32 training identities are held out for validation" && [ "$(json out score)" = auc ] && at_least test_score 0.9
    expect 0 "$wick" eval run --json && valid_json out && at_least auc 0.9 && at_least nearest_accuracy 0.7 && [ "$(json out samples)" = 80 ] && has out '"threshold": 0.' && expect 0 "$wick" eval run && has out "EER of pairs" && has out "false accepts" && lacks out nan
    expect 0 "$wick" info run && has out "an embedding in 16 numbers" && expect 0 "$wick" plan run --train && expect 0 "$wick" compile run -o run_c && expect 0 "$wick" report run -o run.html && has run.html "Pairs by similarity" && expect 0 "$wick" eval run --split validation --json && [ "$(json out samples)" = 30 ] && expect 0 "$wick" eval run --split train --json && [ "$(json out samples)" = 290 ] || fail parts
    expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = auc ] && has out '"auc_int8"' && has out drop_bound
}
test_vectors_and_who_is_enrolled() {
    local a b
    marks 50 53 4 new && expect 0 "$wick" predict run new/id150/0.pgm --json && valid_json out && has out '"embedding": [' && expect 0 "$wick" predict run new/id150/0.pgm && [ "$(head -n 1 out | wc -w)" = 17 ] || fail "not 16 numbers"
    expect 0 "$wick" predict run new/id150/1.pgm new/id151/1.pgm --enrolled new/id150/0.pgm --json && valid_json out && has out '"nearest": "new/id150/0.pgm"' && has out '"same": ' && a=$(grep -o '"similarity": [^,]*' out | sed -n 1p) && b=$(grep -o '"similarity": [^,]*' out | sed -n 2p) && awk -v a="${a#*: }" -v b="${b#*: }" 'BEGIN { exit !(a > b) }' || fail "$a is not above $b"
    mkdir -p known && cp -r new/id150 new/id151 new/id152 known && for k in 150 151 152; do rm known/id$k/0.pgm; done && expect 0 "$wick" predict run new/id150/0.pgm new/id151/0.pgm new/id152/0.pgm --enrolled known && [ "$(grep -c "nearest is id15" out)" = 3 ] && has out "new/id151/0.pgm: nearest is id151, similarity 0." && has out "the threshold is"
    expect 0 "$wick" eval run --data new --json && [ "$(json out samples)" = 16 ] && at_least auc 0.7
}
test_as_others_measure() {
    expect 0 "$wick" eval run --json && cp out eval.json && expect 0 "$wick" convert run run.onnx && can sklearn,onnxruntime,PIL || return 0
    "$python" - <<'P' || fail "others measure otherwise"
import glob, json, numpy as np, onnxruntime as rt
from PIL import Image
from sklearn.metrics import roc_curve, roc_auc_score
def hash_(s):  # FNV-1a and MurmurHash3's finalizer: which identities are the test
    m = 2 ** 64 - 1; h = 0xcbf29ce484222325
    for c in s.encode(): h = (h ^ c) * 0x100000001b3 & m
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd & m; h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53 & m; return h ^ h >> 33
names = sorted({f.split("/")[1] for f in glob.glob("marks/*/*.pgm")}, key=hash_)[:8]
files = sorted(f for n in names for f in glob.glob(f"marks/{n}/*.pgm")); who = np.array([f.split("/")[1] for f in files])
x = np.stack([np.array(Image.open(f).convert("L")) for f in files])[:, None].astype(np.float32) / 255; s = rt.InferenceSession("run.onnx"); i = s.get_inputs()[0]
if i.shape[1] == 3: x = np.repeat(x, 3, 1)
z = s.run(None, {i.name: x})[0]; assert abs(np.linalg.norm(z, axis=1) - 1).max() < 1e-5
sim = (z.astype(np.float64) @ z.T.astype(np.float64)); a, b = np.tril_indices(len(z), -1); y = who[a] == who[b]; p = sim[a, b].astype(np.float32)
fpr, tpr, t = roc_curve(y, p, drop_intermediate=False); k = np.argmin(abs(1 - tpr - fpr)); e = json.load(open("eval.json"))
right = []
for i in range(len(z)):
    means = {n: z[(who == n) & (np.arange(len(z)) != i)].mean(0) for n in names}; right.append(max(means, key=lambda n: means[n] @ z[i] / np.linalg.norm(means[n])) == who[i])
for key, want, by in (("auc", roc_auc_score(y, p), 1e-5), ("eer", (fpr[k] + 1 - tpr[k]) / 2, 2e-3), ("nearest_accuracy", np.mean(right), 1e-6), ("false_accepts", (p[~y] >= e["threshold"]).mean(), 2e-3), ("false_rejects", (p[y] < e["threshold"]).mean(), 5e-3)):
    assert abs(e[key] - want) < by, (key, e[key], want)
assert e["pairs"] == len(y) and e["pairs_of_one"] == y.sum()
P
}
# One step of SGD from the same weights is that of CosFace in PyTorch.
test_step_of_pytorch() {
    can "torch, safetensors, PIL" || return 0
    mkdir -p step && cp -r marks/id10[1-4] step && mkdir -p parts/train && mv step/* parts/train
    expect 0 "$wick" train --data parts --task embed --embedding 6 --net "flatten, linear classes" --validation 0 --epochs 1 --batch 40 --out shapes && has err "no test" || return
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import glob, json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from PIL import Image
from safetensors.torch import save_file, load_file
from safetensors import safe_open
torch.manual_seed(0); meta = safe_open("shapes/last.safetensors", "pt").metadata(); key = [k for k in meta if k.endswith("deviation")][0]
mean, deviation = float(meta[key.replace("deviation", "mean")]), float(meta[key])
files = sorted(glob.glob("parts/train/*/*.pgm")); names = sorted({f.split("/")[2] for f in files}); y = torch.tensor([names.index(f.split("/")[2]) for f in files])
w = load_file("shapes/best.safetensors"); wide = w["fc1.weight"].shape[1]
x = torch.tensor((np.stack([np.array(Image.open(f)) for f in files]) / 255 - mean) / deviation, dtype=torch.float32).flatten(1).repeat(1, wide // 256)
w = {k: torch.randn(t.shape) * 0.2 for k, t in w.items() if k != "threshold"}; p = {k: t.clone().requires_grad_() for k, t in w.items()}; w["threshold"] = torch.tensor(0.5); save_file(w, "start.safetensors")
cos = F.normalize(x @ p["fc1.weight"].T + p["fc1.bias"]) @ F.normalize(p["identities.weight"]).T
loss = F.cross_entropy(16 * (cos - 0.3 * F.one_hot(y, 4)), y); loss.backward()
subprocess.run([sys.argv[1], "train", "--data", "parts", "--task", "embed", "--embedding", "6", "--margin", "0.3", "--net", "flatten, linear classes", "--weights", "start.safetensors", "--epochs", "1", "--batch", "40", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.05", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "stepped"], check=True, capture_output=True)
log, got = json.loads(open("stepped/log.jsonl").readline()), load_file("stepped/last.safetensors")
assert abs(log["loss"] - loss.item()) < 2e-5 * loss.item(), (log["loss"], loss.item())
for k, t in p.items():
    d = (got[k] - (t - 0.05 * t.grad).detach()).abs().max(); assert d < 2e-5, (k, d)
P
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data marks --task embed --margin 0.3 --net "$net" --epochs $epochs --schedule constant --warmup 0 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
}
test_what_does_not_fit() {
    marks 1 3 3 few && expect 3 "$wick" train --data few --task embed --out no && has err "there are 3 identities, and 2 at least are needed" && mkdir -p two/train two/test && cp -r few/id101 few/id102 two/train && cp -r few/id103 two/test && expect 3 "$wick" train --data two --task embed --net "$net" --epochs 1 --out no && has err "too few to hold any out for validation"
    has err "there is no pair of samples of two identities"
    printf 'a,b,label\n1,2,p\n2,1,q\n' >n.csv && expect 3 "$wick" train --data n.csv --task embed --out no && has err "learns from folders"
    expect 2 "$wick" train --data marks --task embed --net "conv 8 3, relu, flatten, linear 7" --out no && has err "end it with" && expect 2 "$wick" train --data marks --embedding 8 --out no && has err "--embedding is for --task embed" && expect 2 "$wick" train --data marks --task embed --class-weights balanced --out no && expect 2 "$wick" train --data marks --task embed --transform normalise,mixup=0.2 --net "$net" --out no
    expect 3 "$wick" predict run marks/id101/1.pgm --enrolled nowhere.pgm && expect 2 "$wick" predict run marks/id101/1.pgm --top 2 && expect 2 "$wick" eval run --beams 3 && has err "this is embed"
    expect 0 "$wick" train --data marks --net "$net" --epochs 1 --out classes --quiet && expect 2 "$wick" predict classes marks/id101/1.pgm --enrolled marks && has err "--enrolled is for --task embed"
}
test_main
