# wick train on texts: a class of each, and --task tag; tables, lines and CoNLL's files; what other commands make of such a model.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
can() { [ -n "$python" ] && "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# Sentences with a good or a bad word somewhere.
sentences() { awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed); split("the a film was and of it with some very old new long story actor", f, " "); split("Good fine great lovely", g, " "); split("Bad awful dull poor", b, " ")
    for (i = 0; i < n; i++) { s = ""; k = 3 + int(rand() * 6); at = int(rand() * k); c = rand() < 0.5; for (j = 0; j < k; j++) s = s (j ? " " : "") (j == at ? (c ? g[1 + int(rand() * 4)] : b[1 + int(rand() * 4)]) : f[1 + int(rand() * 15)]); print (c ? "good" : "bad") "\t" (i % 5 ? "train" : i % 10 ? "val" : "test") "\t" s "." } }'; }
{ printf 'mood\tsplit\ttext\n'; sentences 1 400; } >moods.tsv
# Persons behind "mr" or "ms", of one or two names; places behind "in".
tagged() { awk -v seed="$1" -v n="$2" 'BEGIN { srand(seed); split("Smith Jones Brown Green Baker Cook", p, " "); split("Paris Rome Oslo Bern", l, " "); split("we saw that today again they walk home", f, " ")
    for (i = 0; i < n; i++) { k = 2 + int(rand() * 4); for (j = 0; j < k; j++) { r = rand(); if (r < 0.3) { print "mr O"; print p[1 + int(rand() * 6)] " B-PER"; if (rand() < 0.5) print p[1 + int(rand() * 6)] " I-PER" } else if (r < 0.6) { print "in O"; print l[1 + int(rand() * 4)] " B-LOC" } else print f[1 + int(rand() * 8)] " O" } print "" } }'; }
mkdir -p names && tagged 1 300 >names/train.conll && tagged 2 60 >names/test.conll
echo 'Yesterday mr Miller Junior went home in Paris' >ask.txt

test_classes_of_texts() {
    expect 0 "$wick" train --data moods.tsv --label mood --epochs 8 --threads 1 --out moods --json && valid_json out && has err "texts as words" && has err "40 samples for validation (val)" && at_least test_accuracy 0.95
    expect 0 "$wick" eval moods --json && valid_json out && at_least accuracy 0.95 && [ "$(json out images)" = 40 ] || fail eval
    printf 'A Lovely old story!\n\nit was dull, very\n' >lines.txt && expect 0 "$wick" predict moods lines.txt && has out '"A Lovely old story!": taken for good' && has out '"it was dull, very": taken for bad'
    expect 0 "$wick" predict moods lines.txt --json && valid_json out && has out '"text": "it was dull, very"' && expect 0 "$wick" predict moods moods.tsv --index 0-3 --json && has out '"label_name"'
    expect 0 "$wick" info moods && has out "embed" && expect 0 "$wick" report moods -o moods.html && expect 0 "$wick" plan moods && expect 0 "$wick" compile moods -o moods_c
    expect 0 "$wick" train --data moods.tsv --label mood --tokens bytes --length 40 --net "embed tokens 16, conv 48 5 same, relu, globalmaxpool, linear classes" --epochs 12 --batch 16 --lr 0.01 --threads 1 --out bytes && has err "texts as bytes, 258" && expect 0 "$wick" eval bytes --json && at_least accuracy 0.9
    expect 0 "$wick" train --data moods.tsv --label mood --vocabulary 5 --length 4 --epochs 1 --out few && has err "7 of them kept apart" && has err "longer than 4 tokens"
}
# Parts of words and characters; another learner and reader of them gives the same tokens, and ONNX Runtime the same answers.
test_subwords_and_characters() {
    { printf 'mood\tsplit\ttext\n'; sentences 1 400 | sed 's/good/better/2; s/Great/Größe/; s/dull/Überdull/; s/actor/ACTORS und  Actor/'; } >parts.tsv
    expect 0 "$wick" train --data parts.tsv --label mood --tokens subwords --vocabulary 60 --epochs 12 --batch 16 --threads 1 --out parts && has err "texts as subwords, 62 of them" && expect 0 "$wick" eval parts --json && at_least accuracy 0.9
    expect 0 "$wick" train --data parts.tsv --label mood --tokens characters --net "embed tokens 16, conv 48 5 same, relu, globalmaxpool, linear classes" --epochs 15 --batch 16 --lr 0.01 --threads 1 --out letters && has err "texts as characters" && expect 0 "$wick" eval letters --json && at_least accuracy 0.9
    printf 'Größe of actörs,  zzz\n%s\n' "$(printf 'long%.0s' $(seq 40))" >ask_parts.txt && expect 0 "$wick" predict parts ask_parts.txt --json && valid_json out && has out "Größe"
    expect 0 "$wick" train --data parts.tsv --label mood --tokens subwords --vocabulary 1 --epochs 1 --out tiny && has err "3 of them kept apart"
    expect 3 "$wick" train --data parts.tsv --label mood --tokens subwords --vocabulary 32001 --out no && has err "at most 32000" && expect 2 "$wick" train --data parts.tsv --tokens letters --out no && has err subwords
    for kind in parts letters; do expect 0 "$wick" convert $kind $kind.onnx && expect 0 "$wick" predict $kind parts.tsv --index 0-39 --json && cp out $kind.json; done
    can "onnxruntime, onnx" || return 0
    "$python" - <<'P' || fail "others learn or read other parts"
import collections, csv, json, re, numpy as np, onnx, onnxruntime as rt
low = lambda s: "".join(c.lower() if c.isascii() else c for c in s)
words_of = lambda s: [low(w) for w in re.findall(r"[A-Za-z0-9\x80-\U0010ffff]+|[^\sA-Za-z0-9\x80-\U0010ffff]", s)]
def learn(texts, most):
    words = collections.Counter(w for t in texts for w in words_of(t)); parts = {w: ["▁", *w] for w in words}
    count = collections.Counter()
    for w, n in words.items():
        for c in parts[w]: count[c] += n
    tokens = [c for c, n in sorted(count.items(), key=lambda e: (-e[1], e[0].encode())) if n > 1][:most]
    while len(tokens) < most:
        pairs = collections.Counter()
        for w, n in words.items():
            for p in zip(parts[w], parts[w][1:]):
                if p[0] in tokens and p[1] in tokens: pairs[p] += n
        if not pairs: break
        a, b = min(pairs, key=lambda p: (-pairs[p], tokens.index(p[0]), tokens.index(p[1])))
        if pairs[a, b] < 2: break
        if a + b not in tokens: tokens.append(a + b)
        for w, p in parts.items():
            i = 0
            while i + 1 < len(p):
                if (p[i], p[i + 1]) == (a, b): p[i : i + 2] = [a + b]
                i += 1
    return tokens
def read(text, v):
    out = []
    for w in words_of(text):
        p = ["▁", *w]
        while True:
            best = min(((v[p[i] + p[i + 1]], i) for i in range(len(p) - 1) if p[i] + p[i + 1] in v), default=None)
            if not best: break
            p[best[1] : best[1] + 2] = [p[best[1]] + p[best[1] + 1]]
        out += [v.get(t, 1) for t in p]
    return out
rows = list(csv.DictReader(open("parts.tsv"), delimiter="\t"))
for kind in ("parts", "letters"):
    m = onnx.load(kind + ".onnx"); lines = (m.doc_string or m.graph.doc_string).partition('"text" ')[2].split("\n")
    n, tokens = int(lines[0].split()[1]), [l for l in lines[2:] if l]; v = {t: i + 2 for i, t in enumerate(tokens)}
    if kind == "parts": assert tokens == learn([r["text"] for r in rows if r["split"] == "train"], 60), tokens
    said = json.load(open(kind + ".json"))["images"]; x = np.zeros((len(said), 1, n), np.int64); assert len(said) > 30
    for i, s in enumerate(said):
        got = read(s["text"], v) if kind == "parts" else [v.get(c, 1) for c in re.sub(r"\s+", "▁", s["text"])]
        x[i, 0, : min(n, len(got))] = got[:n]
    z = rt.InferenceSession(kind + ".onnx").run(None, {"tokens": x})[0]; p = np.exp(z - z.max(1, keepdims=True)); p /= p.sum(1, keepdims=True)
    want = np.array([[s["probabilities"][k] for k in ("bad", "good")] for s in said]); assert np.abs(p - want).max() < 1e-5, (kind, np.abs(p - want).max())
P
}
test_tags_of_words() {
    expect 0 "$wick" train --data names --task tag --epochs 10 --batch 16 --threads 1 --out tags --json && valid_json out && has err "300 texts as tags" && has err "lstm 64 both" && [ "$(json out score)" = span_f1 ] && at_least test_score 0.95
    expect 0 "$wick" eval tags --json && valid_json out && at_least span_f1 0.95 && has out '"name": "B-PER"' && cp out tags.json && expect 0 "$wick" eval tags && has out "span F1" && has out "I-PER" && has err "spans, of which"
    expect 0 "$wick" predict tags ask.txt && has out "mr Miller/B-PER" && has out "Paris/B-LOC" && expect 0 "$wick" predict tags ask.txt --json && valid_json out && has out '"word": "Junior"'
    expect 0 "$wick" predict tags names/test.conll --index 0-59 --json && valid_json out && cp out said.json && has out '"is": "B-LOC"'
    expect 0 "$wick" report tags -o tags.html && has tags.html "A tagger with 4 tags" && expect 0 "$wick" plan tags --train && expect 0 "$wick" quantize tags -o run8.onnx --json && valid_json out && [ "$(json out metric)" = span_f1 ] && has out '"span_f1_int8"' && has out drop_bound
    can sklearn || return 0
    "$python" - <<'P' || fail "others count otherwise"
import json
from sklearn.metrics import f1_score, accuracy_score
e = json.load(open("tags.json")); texts = [i["words"] for i in json.load(open("said.json"))["images"]]
def spans(tags):  # conlleval's rules, written anew
    out, start, kind = set(), None, None
    for k, t in enumerate(tags + ["O"]):
        p, _, name = t.partition("-")
        if start is not None and (p in "OB" or name != kind): out.add((start, k, kind)); start = None
        if p != "O" and start is None: start, kind = k, name
    return out
y = [[w["is"] for w in t] for t in texts]; q = [[w["tag"] for w in t] for t in texts]
a = {(i, *s) for i, t in enumerate(y) for s in spans(t)}; b = {(i, *s) for i, t in enumerate(q) for s in spans(t)}
flat = lambda x: [t for s in x for t in s]
for key, want in (("span_precision", len(a & b) / len(b)), ("span_recall", len(a & b) / len(a)), ("span_f1", 2 * len(a & b) / (len(a) + len(b))), ("tag_f1", f1_score(flat(y), flat(q), average="macro")), ("word_accuracy", accuracy_score(flat(y), flat(q)))):
    assert abs(e[key] - want) < 1e-8, (key, e[key], want)
assert e["spans"]["there"] == len(a) and len(a) > 100
P
}
test_vocabulary_in_onnx() {
    [ -d tags ] && [ -d moods ] || { fail "no models"; return; }
    expect 0 "$wick" convert tags tags.onnx && has err "int64" && expect 0 "$wick" inspect tags.onnx && has out "tokens  int64 [N, 4, " && expect 0 "$wick" convert moods moods.onnx && expect 0 "$wick" predict moods moods.tsv --index 0-99 --json && cp out moods.json
    can "onnxruntime, onnx" || return 0
    "$python" - <<'P' || fail "ONNX Runtime gives other numbers"
import itertools, json, re, numpy as np, onnx, onnxruntime as rt
def vocabulary(path):  # as the doc_string says it
    m = onnx.load(path); doc = m.doc_string or m.graph.doc_string; head, _, rest = doc.partition('"text" '); lines = rest.split("\n")
    return int(lines[0].split()[1]), {t: i + 2 for i, t in enumerate(l for l in lines[2:] if l)}
low = lambda s: "".join(c.lower() if c.isascii() else c for c in s)
n, v = vocabulary("moods.onnx"); said = json.load(open("moods.json"))["images"]; x = np.zeros((len(said), 1, n), np.int64)
for i, s in enumerate(said):
    for k, w in enumerate(re.findall(r"[A-Za-z0-9\x80-\U0010ffff]+|[^\sA-Za-z0-9\x80-\U0010ffff]", s["text"])[:n]): x[i, 0, k] = v.get(low(w), 1)
z = rt.InferenceSession("moods.onnx").run(None, {"tokens": x})[0]; p = np.exp(z - z.max(1, keepdims=True)); p /= p.sum(1, keepdims=True)
want = np.array([[s["probabilities"][k] for k in ("bad", "good")] for s in said]); assert np.abs(p - want).max() < 1e-5, np.abs(p - want).max()
n, v = vocabulary("tags.onnx"); said = json.load(open("said.json"))["images"]; x = np.zeros((len(said), 4, n), np.int64)
def shape(w):
    out = ""
    for k, c in enumerate(w):
        t = "X" if c.isascii() and c.isupper() else "x" if not c.isascii() or c.islower() else "d" if c.isdigit() else "."
        if not out or out[-1] != t: out += t
        elif t == "X" and k == 1: out += "X"
        if len(out) == 6: break
    return out
for i, s in enumerate(said):
    for k, w in enumerate(s["words"]):
        w = w["word"]; x[i, :, k] = [v.get(t, 1) for t in ("w" + low(w), "s" + shape(w), "p" + w[:3], "e" + w[-3:])]
p = rt.InferenceSession("tags.onnx").run(None, {"tokens": x})[0]
for i, s in enumerate(said):
    for k, w in enumerate(s["words"]): assert abs(p[i, :, k].max() - w["probability"]) < 1e-5, (i, k)
P
}
# One step of SGD from the same weights is PyTorch's, with words of no tag behind the sentences.
test_step_of_pytorch() {
    can "torch, safetensors" || return 0
    mkdir -p step && tagged 3 8 >step/train.conll
    expect 0 "$wick" train --data step --task tag --net "embed tokens 6, lstm 5 both, conv classes 1" --validation 0 --epochs 1 --batch 8 --out shapes && expect 0 "$wick" convert shapes shapes.onnx || return
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import json, subprocess, sys, onnx, torch, torch.nn.functional as F
from safetensors.torch import save_file, load_file
torch.manual_seed(0); m = onnx.load("shapes.onnx"); lines = (m.doc_string or m.graph.doc_string).partition('"text" ')[2].split("\n")
n, names, v = int(lines[0].split()[1]), lines[1].split("\t"), {t: i + 2 for i, t in enumerate(l for l in lines[2:] if l)}
texts = [[l.split() for l in s.split("\n")] for s in open("step/train.conll").read().strip().split("\n\n")]
x = torch.zeros(len(texts), 4, n, dtype=torch.long); y = torch.full((len(texts), n), 255)
for i, s in enumerate(texts):
    for k, (w, t) in enumerate(s):
        shape = "X" if len(w) == 1 and w.isupper() else "Xx" if w[0].isupper() else "x"
        x[i, :, k] = torch.tensor([v.get(q, 1) for q in ("w" + w.lower(), "s" + shape, "p" + w[:3], "e" + w[-3:])]); y[i, k] = names.index(t)
w = {k: torch.randn(t.shape) * 0.4 for k, t in load_file("shapes/best.safetensors").items()}; save_file(w, "start.safetensors")
lstm = torch.nn.LSTM(6, 5, bidirectional=True, batch_first=True)
for k, p in lstm.named_parameters(): p.data = w["lstm1." + k].clone()
e, cw, cb = (w[k].clone().requires_grad_() for k in ("emb1.weight", "conv1.weight", "conv1.bias"))
z = F.conv1d(lstm((e[x] * (x != 0)[..., None]).sum(1))[0].transpose(1, 2), cw, cb)
loss = (F.cross_entropy(z, y, ignore_index=255, reduction="none").sum(1) / (y != 255).sum(1)).mean(); loss.backward()
subprocess.run([sys.argv[1], "train", "--data", "step", "--task", "tag", "--net", "embed tokens 6, lstm 5 both, conv classes 1", "--weights", "start.safetensors", "--epochs", "1", "--batch", "8", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.5", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "stepped"], check=True, capture_output=True)
log, got = json.loads(open("stepped/log.jsonl").readline()), load_file("stepped/last.safetensors")
assert abs(log["loss"] - loss.item()) < 1e-5, (log["loss"], loss.item())
for k, p in [("emb1.weight", e), ("conv1.weight", cw), ("conv1.bias", cb)] + [("lstm1." + k, p) for k, p in lstm.named_parameters()]:
    d = (got[k] - (p - 0.5 * p.grad).detach()).abs().max(); assert d < 2e-5, (k, d)
P
}
test_resuming_to_the_bit() {
    for out in one two; do [ $out = one ] && epochs=4 || epochs=2; expect 0 "$wick" train --data names --task tag --epochs $epochs --schedule constant --warmup 0 --threads 1 --out $out --quiet; done
    expect 0 "$wick" train --resume two --epochs 4 --threads 2 --quiet && same_tensors one/last.safetensors two/last.safetensors
    cp -r names other && tagged 9 300 >other/train.conll && expect 0 "$wick" train --data other --task tag --epochs 1 --out changed --quiet && tagged 8 300 >other/train.conll && sed -i 's/Oslo/Lima/' other/train.conll && expect 3 "$wick" train --resume changed --epochs 2 && has err "has changed since the run was started"
}
test_forms_of_tables() {
    { echo 'label,review'; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf 'up,"a ""fine"" one,\nof %s"\r\ndown,"dull; thing %s"\r\n' $i $i; done; } >quoted.csv
    expect 0 "$wick" train --data quoted.csv --epochs 2 --out quoted && has err "a fifth of the texts, by a hash of each" && expect 0 "$wick" predict quoted quoted.csv --index 0 --json && has out 'a \"fine\" one,\u000aof 1'
    tagged 5 40 | awk 'BEGIN { RS = ""; FS = "\n"; print "words\ttags" } { w = t = ""; for (i = 1; i <= NF; i++) { split($i, p, " "); w = w (i > 1 ? " " : "") p[1]; t = t (i > 1 ? " " : "") p[2] } print w "\t" t }' >columns.tsv
    expect 0 "$wick" train --data columns.tsv --task tag --epochs 1 --length 3 --out columns && has err "each is taken in pieces" && expect 0 "$wick" eval columns --json && expect 0 "$wick" predict columns ask.txt && has out "home" && has out Paris
}
# A word may begin with #; lines in front of a sentence may be comments.
test_lines_of_conll() {
    { for i in 1 2 3 4 5 6; do printf -- '-DOCSTART- -X- O\n\n# text = no word\n#tag NN O\nin IN O\nRome NNP B-LOC\n# SYM O\n\n'; done; } >marks.conll && mkdir -p lines && cp marks.conll lines/train.conll
    expect 0 "$wick" train --data lines --task tag --epochs 1 --validation 0 --out marks && expect 0 "$wick" eval marks --data marks.conll --json && [ "$(json out samples)" = 6 ] && has out '"words": 18' && has out '"words": 6' || fail "lines are lost"
    expect 0 "$wick" predict marks marks.conll --index 0 --json && has out '"word": "#tag"' && has out '"word": "#"' && lacks out text
}
test_what_does_not_fit() {
    printf 'text\tlabel\nno good\tbad\n\t\nfine\n' >bad.tsv && expect 3 "$wick" train --data bad.tsv --out no && has err "bad.tsv, line 3: its label is empty"
    printf 'text\tlabel\nno good\tbad\nfine\n' >bad.tsv && expect 3 "$wick" train --data bad.tsv --out no && has err "bad.tsv, line 3: has 1 cells, and the header 2"
    printf 'text,label\n"no end,bad\nfine,good\n' >bad.csv && expect 3 "$wick" train --data bad.csv --out no && has err "bad.csv, line 2: a quote has no end"
    printf 'words\ttags\na b\tO O\nc d\tO\n' >bad.tsv && expect 3 "$wick" train --data bad.tsv --task tag --out no && has err "bad.tsv, line 3: has 2 words and 1 tags"
    printf 'a O\nb\n' >bad.conll && expect 3 "$wick" train --data bad.conll --task tag --out no && has err 'bad.conll, line 2: has a word and no tag: "b"'
    printf 'text\tlabel\nca\377t\tx\n' >bad.tsv && expect 3 "$wick" train --data bad.tsv --out no && has err "bad.tsv, line 2: is no UTF-8"
    printf 'text\tlabel\nca\000t\tx\n' >bad.tsv && expect 3 "$wick" train --data bad.tsv --out no && has err "byte 13 is 0"
    expect 3 "$wick" train --data moods.tsv --label nothing --out no && has err 'has no column "nothing"; there are "mood", "split", "text"' && expect 3 "$wick" train --data moods.tsv --out no && has err "which column is the class?" && has err "--label names it"
    expect 3 "$wick" train --data moods.tsv --text none --label mood --out no && has err 'has no column "none"'
    expect 2 "$wick" train --data names --task tag --net "embed tokens 8, globalmaxpool, linear classes" --out no && has err "the tags of its words" && expect 2 "$wick" train --data names --task tag --net "embed tokens 8, conv 4 3, conv classes 1" --out no && has err "keep its length"
    [ -d tags ] || return 0
    expect 3 "$wick" predict tags none.txt && has err "none.txt"
    printf 'Oslo B-LOC\nand O\nBert B-PET\n' >pets.conll && expect 3 "$wick" eval tags --data pets.conll && has err 'pets.conll, line 1: the tag "B-PET" is none of the 4'
}
test_other_columns_are_told() {
    { echo text,age,label; for i in $(seq 60); do echo "\"a $([ $((i % 2)) = 0 ] && echo good || echo bad) day $i\",$i,$((i % 2))"; done; } >aged.csv
    expect 0 "$wick" train --data aged.csv --epochs 1 --out aged && has err 'the other columns are passed over: "age"'
}
test_main
