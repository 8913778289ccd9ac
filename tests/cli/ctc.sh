# wick train --task ctc: texts in pictures and recordings; what is read, how it is counted, and what is refused by name.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# lines SEED N FOLDER [MOST [LETTERS]]: pictures of digits, 3 x 5 pixels each made twice as large, at places of chance, and FOLDER.tsv that says which
lines() {
    mkdir -p "$3"
    awk -v seed="$1" -v n="$2" -v dir="$3" -v most="${4:-4}" -v letters="${5:-0123456789}" 'BEGIN { srand(seed); split("75557 26227 71747 71717 55711 74717 74757 71222 75757 75717", f, " ")
        print "path\ttext" >dir ".tsv"; base = dir; sub(/.*\//, "", base)
        for (i = 0; i < n; i++) { w = 48; h = 16; for (y = 0; y < h; y++) for (x = 0; x < w; x++) p[y, x] = int(30 * rand()); k = 1 + int(rand() * most); text = ""; at = 1 + int(rand() * 3)
            for (d = 0; d < k; d++) { c = substr(letters, 1 + int(rand() * length(letters)), 1); text = text c; top = 1 + int(rand() * 4); for (r = 0; r < 5; r++) { row = substr(f[c + 1], r + 1, 1); for (q = 0; q < 3; q++) if (int(row / 2 ^ (2 - q)) % 2) for (u = 0; u < 2; u++) for (v = 0; v < 2; v++) p[top + 2 * r + u, at + 2 * q + v] = 200 + int(50 * rand()) } at += 8 + int(rand() * 3) }
            file = dir "/p" 1000 + i ".pgm"; print "P2", w, h, 255 >file; for (y = 0; y < h; y++) for (x = 0; x < w; x++) print p[y, x] >file; close(file); print base "/p" 1000 + i ".pgm\t" text >dir ".tsv" } }'
}
net="conv 8 3 same nobias, bn, relu, maxpool 2, conv 16 3 same nobias, bn, relu, columns, conv 48 3 same nobias, bn, relu, conv classes 1"
how="--epochs $(few 20 4) --batch 16 --lr 0.01 --optimizer adamw --threads 1"
mkdir -p digits && lines 1 400 digits/train && lines 2 80 digits/test && "$wick" train --data digits --net "$net" $how --out run --json >trained 2>told

test_texts_in_pictures() {
    cp trained out && valid_json out && has told "--task ctc, as the data look" && has told "400 pictures with texts of 10 different characters, 4 at most" && has told "1 - CER" && [ "$(json out score)" = character_accuracy ] && at_least test_score 0.95
    expect 0 "$wick" eval run --json && valid_json out && at_least character_accuracy 0.95 && at_least text_accuracy 0.9 && [ "$(json out samples)" = 80 ] && expect 0 "$wick" eval run && has out "CER" && has out "texts wholly right" && lacks out nan
    expect 0 "$wick" predict run digits/test/p1000.pgm digits/test/p1001.pgm && has out "digits/test/p1000.pgm: \"" && expect 0 "$wick" predict run digits/test.tsv --json && valid_json out && has out '"is": "' && expect 0 "$wick" predict run --index 0-3 && has out '#3: "'
    expect 0 "$wick" info run && has out "a reader of texts, with 11 symbols" && has out columns && expect 0 "$wick" plan run --train && expect 0 "$wick" compile run -o run_c
    expect 0 "$wick" report run -o run.html && has run.html "A reader of texts" && has run.html "<th>is read</th>" && has run.html "data:image/png"
    expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = character_accuracy ] && has out '"character_accuracy_int8"' && has out drop_bound
    # a picture of another size keeps its proportions; what is left is as its edge
    { echo P2 60 20 255; for ((i = 0; i < 1200; i++)); do echo 15; done; } >empty.pgm && expect 0 "$wick" predict run empty.pgm && has out 'empty.pgm: ""'
}
test_errors_are_counted_as_others_do() {
    # a network that learned little makes all kinds of errors; blanks make words
    mkdir -p words && lines 3 300 words/train 3 0123 && lines 4 120 words/test 4 0123 && for p in train test; do sed -i 's/\t\([0-9]\)\([0-9]\)/\t\1 \2/' words/$p.tsv; done
    expect 0 "$wick" train --data words --net "$net" $how --epochs 4 --out poor --quiet
    for beams in 0 6; do
        expect 0 "$wick" eval poor --beams $beams --json && valid_json out && cp out eval$beams.json && expect 0 "$wick" predict poor words/test.tsv --index 0-119 --beams $beams --json && valid_json out && cp out said$beams.json
    done
    expect 0 "$wick" convert poor poor.onnx && can onnxruntime,onnx,PIL,torch || return 0
    "$python" - <<'P' || fail "others count otherwise"
import json, math, numpy as np, onnx, onnxruntime as rt, torch, torch.nn.functional as F
from PIL import Image
def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1): last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]
model = onnx.load("poor.onnx"); doc = model.doc_string or model.graph.doc_string
letters = doc.partition('"lines" pictures ')[2].split("\n")[1]; session = rt.InferenceSession("poor.onnx")
files = [l.split("\t") for l in open("words/test.tsv").read().splitlines()[1:]]
x = np.stack([np.array(Image.open("words/" + f)) for f, _ in files])[:, None].astype(np.float32) / 255
lp = session.run(None, {"image": x})[0]; assert abs(np.exp(lp).sum(1) - 1).max() < 1e-5
def greedy(p):
    best = p.argmax(0); return "".join(letters[k - 1] for i, k in enumerate(best) if k and (not i or best[i - 1] != k)).strip()
def beam(p, width):  # Hannun et al. 2014, without a language model, written anew
    lae = np.logaddexp; beams = {(): (0.0, -math.inf)}
    for t in range(p.shape[1]):
        new = {}
        def add(k, b, nb): o = new.get(k, (-math.inf, -math.inf)); new[k] = (lae(o[0], b), lae(o[1], nb))
        for pre, (b, nb) in beams.items():
            all_ = lae(b, nb); add(pre, all_ + p[0, t], -math.inf)
            for k in range(1, len(p)):
                if pre and pre[-1] == k: add(pre, -math.inf, nb + p[k, t]); add(pre + (k,), -math.inf, b + p[k, t])
                else: add(pre + (k,), -math.inf, all_ + p[k, t])
        beams = dict(sorted(new.items(), key=lambda kv: -lae(*kv[1]))[:width])
    return "".join(letters[k - 1] for k in max(beams, key=lambda k: lae(*beams[k]))).strip()
for beams in 0, 6:
    said, e = json.load(open(f"said{beams}.json"))["images"], json.load(open(f"eval{beams}.json"))
    is_, read = [s.get("is", s["read"]) for s in said], [s["read"] for s in said]
    assert is_ == [t.strip() for _, t in files]
    want = [beam(p.astype(np.float64), beams) if beams else greedy(p) for p in lp]
    assert sum(a != b for a, b in zip(want, read)) <= (2 if beams else 0), [(a, b) for a, b in zip(want, read) if a != b]
    n = sum(map(len, is_)); c = sum(map(edits, is_, read)); w = sum(edits(a.split(), b.split()) for a, b in zip(is_, read)); m = sum(len(a.split()) for a in is_)
    assert (e["characters"], e["character_edits"], e["words"], e["word_edits"]) == (n, c, m, w) and 0 < c, (e, n, c, m, w)
    assert abs(e["cer"] - c / n) < 1e-8 and abs(e["wer"] - w / m) < 1e-8
    try:
        import jiwer
        keep = [i for i, a in enumerate(is_) if a]; a, b = [is_[i] for i in keep], [read[i] for i in keep]
        assert abs(jiwer.cer(a, b) - e["cer"]) < 1e-8 and abs(jiwer.wer(a, b) - e["wer"]) < 1e-8, (jiwer.cer(a, b), e["cer"])
    except ImportError: print("  skipped: no jiwer")
    for s, p in zip(said, lp):  # the loss of what was read is its probability over all alignments
        y = torch.tensor([[letters.index(ch) + 1 for ch in s["read"]]], dtype=torch.long)
        loss = F.ctc_loss(torch.tensor(p, dtype=torch.float64).T[:, None], y, [p.shape[1]], [y.shape[1]], reduction="none").item()
        assert abs(loss + s["log_probability"]) < 1e-4, (loss, s)
P
}
# One step of SGD from the same weights is PyTorch's, with an empty text and repeated characters.
test_step_of_pytorch() {
    can "torch, safetensors, PIL" || return 0
    mkdir -p step && lines 5 8 step/train && sed -i 's/p1000.pgm\t.*/p1000.pgm\t/; s/p1001.pgm\t.*/p1001.pgm\t1331/' step/train.tsv
    expect 0 "$wick" train --data step --net "conv 4 3 same, relu, maxpool 2, columns, conv classes 1" --validation 0 --epochs 1 --batch 8 --out shapes || return
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from PIL import Image
from safetensors.torch import save_file, load_file
from safetensors import safe_open
torch.manual_seed(0); meta = safe_open("shapes/best.safetensors", "pt").metadata()
key = [k for k in meta if k.endswith("coding")][0]; letters = meta[key].split("\n")[1]
mean, deviation = (float(meta[k.replace("coding", w)]) for k in (key,) for w in ("mean", "deviation"))
rows = [l.split("\t") for l in open("step/train.tsv").read().splitlines()[1:]]
x = torch.tensor((np.stack([np.array(Image.open("step/" + f)) for f, _ in rows])[:, None] / 255 - mean) / deviation, dtype=torch.float32)
y = [[letters.index(c) + 1 for c in t] for _, t in rows]; flat = torch.tensor(sum(y, [])); n = torch.tensor([len(t) for t in y])
w = {k: torch.randn(t.shape) * 0.3 for k, t in load_file("shapes/best.safetensors").items()}; save_file(w, "start.safetensors")
p = {k: t.clone().requires_grad_() for k, t in w.items()}
h = F.max_pool2d(F.relu(F.conv2d(x, p["conv1.weight"], p["conv1.bias"], padding=1)), 2); z = F.conv1d(h.flatten(1, 2), p["conv2.weight"], p["conv2.bias"])
loss = F.ctc_loss(F.log_softmax(z.permute(2, 0, 1), -1), flat, torch.full((len(rows),), z.shape[2]), n, reduction="mean", zero_infinity=True); loss.backward()
subprocess.run([sys.argv[1], "train", "--data", "step", "--net", "conv 4 3 same, relu, maxpool 2, columns, conv classes 1", "--weights", "start.safetensors", "--epochs", "1", "--batch", "8", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.5", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "stepped"], check=True, capture_output=True)
log, got = json.loads(open("stepped/log.jsonl").readline()), load_file("stepped/last.safetensors")
assert abs(log["loss"] - loss.item()) < 1e-5 * loss.item(), (log["loss"], loss.item())
for k, t in p.items():
    d = (got[k] - (t - 0.5 * t.grad).detach()).abs().max(); assert d < 5e-5, (k, d)
P
}
# Recordings: a tone for each letter, so high as it is far in the alphabet, with pauses between.
test_texts_in_recordings() {
    can numpy || return 0
    "$python" - <<'P'
import os, struct, numpy as np
rng = np.random.default_rng(0); os.makedirs("tones/a", exist_ok=True)
for part, n in (("train", 240), ("test", 40)):
    with open(f"tones/{part}.csv", "w") as table:
        table.write("audio;transcript;speaker\n")
        for i in range(n):
            text = "".join(rng.choice(list("abcd"), rng.integers(1, 4))); x = [np.zeros(rng.integers(200, 600))]
            for ch in text: x += [0.5 * np.sin(2 * np.pi * (250 * 2 ** (0.5 * "abcd".index(ch))) * np.arange(rng.integers(700, 900)) / 4000), np.zeros(rng.integers(200, 400))]
            s = (32767 * (np.concatenate(x) + 0.01 * rng.standard_normal(sum(map(len, x))))).astype("<i2").tobytes(); name = f"a/{part}{i}.wav"
            open("tones/" + name, "wb").write(b"RIFF" + struct.pack("<I", 36 + len(s)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 4000, 8000, 2, 16) + b"data" + struct.pack("<I", len(s)) + s)
            table.write(f'{name};"{text}";{i % 3}\n')
P
    expect 0 "$wick" train --data tones --task ctc --transform "fit=5000,logmel=24:200:100,normalise=-5/4" --net "conv 8 3 same nobias, bn, relu, rows, conv 48 5 same nobias, bn, relu, conv classes 1" $how --epochs "$(few 40 4)" --out heard --json && valid_json out && has err "240 recordings with texts of 4 different characters, 3 at most" && has err 'other columns are passed over: "speaker"' && at_least test_score 0.95
    expect 0 "$wick" predict heard tones/a/test0.wav && has out 'tones/a/test0.wav: "' && expect 0 "$wick" predict heard tones/test.csv --index 0-39 --json && valid_json out && [ "$(grep -o '"read"' out | wc -l)" = 40 ] && expect 0 "$wick" eval heard --json && at_least cer 0 && expect 0 "$wick" report heard -o heard.html || fail recordings
    expect 3 "$wick" eval heard --data digits && has err "line 2: audio" && expect 0 "$wick" train --data tones --transform "fit=5000,logmel=24:200:100,normalise=-5/4" --epochs 1 --out defaults && has err "rows, conv 96 1"
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data digits --net "$net" --epochs $epochs --schedule constant --warmup 0 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
    cp -r digits other && expect 0 "$wick" train --data other --net "$net" --epochs 1 --out changed --quiet && sed -i 's/\t3/\tx/' other/train.tsv && expect 3 "$wick" train --resume changed --epochs 2 && has err "has changed since the run was started"
}
test_forms_of_tables() {
    # without a header; with a column of parts; quoted texts of other characters than ASCII; one file, of which a fifth is the test
    lines 6 60 one/pictures && tail -n +2 one/pictures.tsv >one/all.tsv && expect 0 "$wick" train --data one/all.tsv --net "$net" --epochs 1 --out headless && has err "a fifth of the texts, by a hash of each" && has err "--task ctc, as the data look" && expect 0 "$wick" eval headless --json && lacks out "samples\": 60"
    awk -F '\t' 'NR == 1 { print "split,image,text" } NR > 1 { t = $2; gsub(1, "\303\251", t); gsub(2, "\346\274\242", t); print (NR % 5 ? "train" : NR % 10 ? "val" : "test") "," $1 ",\" " t " \"" }' one/pictures.tsv >one/split.csv
    expect 0 "$wick" train --data one/split.csv --task ctc --net "$net" --epochs 2 --out parted && has err "for validation (val)" && expect 0 "$wick" predict parted one/split.csv --index 0-59 --json && valid_json out && expect 0 "$wick" eval parted && expect 0 "$wick" report parted -o parted.html
    # characters that the model does not know are named, and wrong
    sed 's/\t3/\tQ/' digits/test.tsv >digits/odd.tsv && expect 0 "$wick" eval run --data digits/odd.tsv --json && has err "none that the model learned" && has err "'Q'" && at_least cer 0.02
    mkdir -p sizes && lines 7 30 sizes/train && { echo P2 90 20 255; for ((i = 0; i < 1800; i++)); do echo 15; done; } >sizes/train/p1003.pgm && expect 3 "$wick" train --data sizes --out no && has err "--image-size HxW" && expect 0 "$wick" train --data sizes --image-size 16x48 --net "$net" --epochs 1 --out sized && expect 0 "$wick" eval sized --split train
}
test_what_does_not_fit() {
    expect 2 "$wick" train --data digits --net "conv 8 3 same, relu, maxpool 2, maxpool 2, maxpool 2, maxpool 2, columns, conv classes 1" --out no && has err "steps" && has err "and the network gives 3"
    expect 2 "$wick" train --data digits --net "conv 8 3 same, relu, flatten, linear classes" --out no && has err 'behind "columns"' && expect 2 "$wick" train --data digits --net "columns, columns, conv classes 1" --out no && has err "net: columns: takes [batch, channels, height, width]"
    expect 2 "$wick" train --data digits --net "$net" --transform flip,normalise --out no && has err "mirrors a text" && expect 2 "$wick" train --data digits --task ctc --label text --out no && has err "--text names"
    expect 2 "$wick" train --data digits --net "$net" --class-weights balanced --out no && has err "--class-weights is for" && expect 2 "$wick" train --data digits --net "$net" --label-smoothing 0.1 --out no && has err "this is ctc"
    expect 3 "$wick" train --data digits --task ctc --text none --out no && has err 'has no column "none"' && expect 3 "$wick" train --data digits/train --task ctc --out no && has err "learns from a table"
    mkdir -p bad && lines 8 6 bad/train && cp bad/train.tsv good.tsv
    bad() { cp good.tsv bad/train.tsv && sed -i "$1" bad/train.tsv && expect 3 "$wick" train --data bad --task ctc --out no && has err "$2"; }
    bad '3s/.*/train\/none.pgm\t1/' "bad/train.tsv, line 3: " && bad '4s/train/..\/train/' 'line 4: "../train/p1002.pgm" is no file beside the table' && bad '2s/\t.*/\ta\x01b/' "line 2: its text has a control character" && bad '5s/$/\textra/' "line 5: has 3 cells, and the header 2" && bad '2,$s/\t.*/\t/' "all texts are empty" && bad '2s/\t.*/\t\xff/' "line 2: is no UTF-8" && bad '1s/path/name/' "which column is the name of a picture or recording"
    bad '1s/text/words and more/' "which column is the text"
    printf 'path\ttext\ntrain/p1000.pgm\t12\n' >bad/train.tsv && echo nonsense >bad/train/p1000.pgm && expect 3 "$wick" train --data bad --task ctc --out no && has err "bad/train.tsv, line 2: " && has err "p1000.pgm"
    expect 2 "$wick" eval run --top 2 && expect 3 "$wick" predict run none.tsv && has err none.tsv && expect 3 "$wick" eval run --data bad
    printf 'a,b,label\n1,2,p\n2,1,q\n' >n.csv && for i in 1 2 3 4 5 6 7 8; do printf '1,2,p\n2,1,q\n' >>n.csv; done && expect 0 "$wick" train --data n.csv --net "flatten, linear classes" --epochs 1 --out numbers --quiet && expect 2 "$wick" eval numbers --beams 4 && has err "--beams is for --task ctc"
}
test_main
