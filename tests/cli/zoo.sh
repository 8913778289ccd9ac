# wick zoo: the list, recipes that parse and build, a training on a little set, what it is judged by, times and the page.
. "$(dirname "$0")/lib.sh"
unset WICK_ZOO
# learns MODEL CONDITION [OPTION...]: trains, and of its score s and baseline b the condition holds. Of networks that take long, and of all
# under sanitizers, the data are made ready, which is what can go wrong in memory: training is that of other tests.
long=
learns() {
    local model=$1 condition=$2
    shift 2
    if [ -n "${SANITIZED:-}$long" ] && [ -z "${WICK_LONG:-}" ]; then
        expect 0 "$wick" zoo prepare "$model" --data sets --out zoo
        return 1 # nothing to look at
    fi
    expect 0 "$wick" zoo train "$model" --data sets --out zoo --json "$@" || return
    awk -v s="$(json out score)" -v b="$(json out baseline)" "BEGIN { exit !($condition) }" || fail "$model is not learned: $(json out score), baseline $(json out baseline)"
}
learns_long() {
    local long=1
    learns "$@"
}
# elecdemand.csv of DAYS days, the last fifth of them the test: a day's curve, lower on days without work, and noise.
demand() {
    awk -v days="$1" 'BEGIN { srand(5); print "halfhour,demand_gw,workday,temperature_c,split"
        for (i = 0; i < 48 * days; i++) { d = int(i / 48); w = d % 7 < 5
            printf "%d,%.4f,%d,%.1f,%s\n", i, 4 + w + sin(i * 6.2831853 / 48) + 0.05 * rand(), w, 15 + 5 * sin(i / 700), (d < days * 0.8 ? "train" : "test") } }'
}
mkdir sets && demand 40 >sets/elecdemand.csv

test_list() {
    expect 0 "$wick" zoo list && has out "S6   EnergyPredict" && has out "none stated: for research alone"
    expect 0 "$wick" zoo list --json && valid_json out && [ "$(grep -o '"id": ' out | wc -l)" = 30 ] || fail "not 30 models"
    grep -o '"parameters": [0-9]*' out | awk '{ n++; bad += $2 < 1 || $2 > 100000 } END { exit bad || n != 30 }' || fail "a model has more than 100,000 parameters, or none said"
    expect 0 "$wick" zoo list --free --json && lacks out cwru.npz && lacks out emodb && has out elecdemand.csv
    expect 0 "$wick" zoo list s6 --json && has out '"outputs": 24' && [ "$(grep -o '"id": ' out | wc -l)" = 1 ] || fail "not one"
}
# Each is a file of options that wick train takes; with data that are not there it ends with 3, not 2. Its network takes the shape it says and gives as many numbers.
test_recipes() {
    local id net input outputs
    expect 0 "$wick" zoo list --json || return
    sed 's/{"id": /\n&/g' out | grep '"id": ' >models
    while read -r line; do
        printf '%s\n' "$line" >model
        id=$(json model id) && net=$(sed 's/.*"net": "\([^"]*\)".*/\1/' model) && outputs=$(json model outputs) && input=$(sed 's/.*"network_input": "\([^"]*\)".*/\1/' model)
        expect 0 "$wick" zoo recipe "$id" && cp out recipe.txt && expect 3 "$wick" train --config recipe.txt --data nowhere.npz --dry-run
        expect 0 "$wick" info --net "$net" --input "$input" --classes "$outputs" && has out "parameters" || fail "$id"
    done <models
}
test_data_alone() {
    expect 0 "$wick" zoo prepare S6 --data sets --out ready && has out ready/data/EnergyPredict && valid_json ready/data/EnergyPredict/manifest.json && [ ! -e ready/EnergyPredict ] || fail "more than data"
    expect 0 "$wick" zoo prepare S6 --data sets --out ready --json && valid_json out && [ "$(json out data)" = "$PWD/ready/data/EnergyPredict" ] || fail "not as it was"
    expect 3 "$wick" zoo prepare S6 --data nowhere --out none && has err "is not there"
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
    expect 0 "$wick" zoo report S6 --out zoo && has zoo/report.html "EnergyPredict" && has zoo/report.html "<svg" && lacks zoo/report.html "nan"
}
test_same_weights_for_any_threads() {
    expect 0 "$wick" zoo train S6 --data sets --out one --threads 1 && expect 0 "$wick" zoo train S6 --data sets --out two --threads 2 || return
    same_tensors one/EnergyPredict/seed-1/last.safetensors two/EnergyPredict/seed-1/last.safetensors
}
test_refusals() {
    expect 2 "$wick" zoo paint && has err "it has list, prepare, train"
    expect 2 "$wick" zoo train && has err "needs the name of a model"
    expect 2 "$wick" zoo train EnergyPredikt && has err "did you mean EnergyPredict"
    expect 2 "$wick" zoo train S7 --free --data sets && has err "no free licence"
    expect 2 "$wick" zoo prepare && has err "needs the name of a model"
    expect 2 "$wick" zoo prepare S6 --seed 2 && has err "--seed has no effect here"
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
    { printf 'intent\tsplit\ttext\n'; awk 'BEGIN { for (k = 0; k < 20; k++) for (i = 0; i < 12; i++) printf "kind%02d\t%s\twant thing%d now %d\n", k, (i < 8 ? "train" : i < 10 ? "val" : "test"), k, i }'; printf 'oos\ttrain\tnothing of the kind\nkind00\ttrain\tWant, thing0 now 11!\n'; for i in 1 2 3 4 5 6 7; do printf 'oos\ttest\tno idea %d of thing%d or else\n' $i $((3 * i)); done; } >sets/intents.tsv
    local learned=
    learns A9 "s > 0.9" && learned=1
    has err "train: 1 texts are left out" && [ "$(wc -l <zoo/data/IntentClassify/train.tsv)" = 161 ] || fail "not the 160 texts"
    if [ -n "$learned" ]; then
        # texts of no class are put aside, and told from the test's by the largest probability: every pair by hand
        [ "$(json out outside)" = 7 ] && [ "$(head -n 1 zoo/data/IntentClassify/aside.tsv)" = text ] && cp out learned.json || fail "what is aside"
        for part in test aside; do
            tail -n +2 zoo/data/IntentClassify/$part.tsv | cut -f1 >$part.txt && expect 0 "$wick" predict zoo/IntentClassify/seed-1/last.safetensors $part.txt --index "0-$(($(wc -l <$part.txt) - 1))" --json && mv out $part.json
        done
        expect 0 "$wick" zoo eval A9 --out zoo && has out "tells the test's from 7 of no class"
        command -v python3 >/dev/null && { python3 - <<'P' || fail "another AUC"; }
import json
inside, outside = ([max(i["probabilities"].values()) for i in json.load(open(p + ".json"))["images"]] for p in ("test", "aside"))
want = sum((a > b) + (a == b) / 2 for a in inside for b in outside) / len(inside) / len(outside); got = json.load(open("learned.json"))["results"][0]["outside_auc"]
assert len(inside) == 40 and len(outside) == 7 and abs(got - want) < 0.005, (got, want)
P
    fi
    [ -n "${SANITIZED:-}" ] || expect 0 "$wick" zoo bench A9 --out zoo --trials 20
    mkdir -p bad && sed '5s/train/dev/' sets/intents.tsv >bad/intents.tsv && expect 3 "$wick" zoo train A9 --data bad --out bad && has err 'line 5: the split is train, val, validation or test, not "dev"'
    sed '7s/\t/ /' sets/intents.tsv >bad/intents.tsv && expect 3 "$wick" zoo train A9 --data bad --out bad && has err "line 7 has 2 cells"
}
# Tags, and what the commonest tag of each word reaches; texts of the other source are put aside.
test_tags() {
    { printf 'source\tsplit\twords\ttags\n'; awk 'BEGIN { split("Ann Bob Eve Tom Kim Sue", who, " "); split("Rome Oslo Bern Lima", where, " ")
        for (i = 0; i < 240; i++) printf "%s\t%s\t%s saw %s day %d\tB-PER O B-LOC O O\n", (i % 4 ? "uner" : "wnut17"), (i < 180 ? "train" : i < 200 ? "validation" : "test"), who[i % 6 + 1], where[i % 4 + 1], i
        printf "wnut17\ttrain\tnew York Inc sold Jazz band to me\tB-LOC I-LOC B-ORG O B-OTH I-OTH O O\nuner\ttrain\tAnn Lee of Big Co\tB-PER I-PER O B-ORG I-ORG\n" }'; } >sets/ner.tsv
    learns S9 "s > 0.9 && b == 1" --threads 1
    [ "$(wc -l <zoo/data/NamedEntity/aside.tsv)" = 11 ] && [ "$(wc -l <zoo/data/NamedEntity/test.tsv)" = 31 ] || fail "parts of tags"
}
# Words, drawn by FreeType in fonts whose letters are rectangles: neither a family nor a word is on both sides.
test_words() {
    command -v python3 >/dev/null && python3 -c 'import ctypes; ctypes.CDLL("libfreetype.so.6")' 2>/dev/null || { echo "  skipped: no Python, or no FreeType"; return 0; }
    mkdir -p sets/words/fonts/some && python3 - <<'P'
import random, struct
LETTERS = [c for c in range(48, 123) if chr(c).isalnum()]
def outline(code, wide, high):  # the pixels of 4 x 5 that a letter has, each a rectangle
    ends, points = [], []
    for b in random.Random(code).sample(range(20), 11):
        x, y = b % 4 * wide, b // 4 * high
        points += [(x, y), (x, y + high), (x + wide, y + high), (x + wide, y)]; ends.append(len(points) - 1)
    steps = [(b[0] - a[0], b[1] - a[1]) for a, b in zip([(0, 0)] + points, points)]; xs, ys = zip(*steps)
    data = struct.pack(">hhhhh", len(ends), 0, 0, 4 * wide, 5 * high) + struct.pack(">%dH" % len(ends), *ends) + struct.pack(">H", 0) + b"\1" * len(points) + struct.pack(">%dh" % len(xs), *xs) + struct.pack(">%dh" % len(ys), *ys)
    return data + b"\0" * (-len(data) % 4)
def font(family, path, wide, high, letters=LETTERS):
    glyphs = [b""] + [outline(c, wide, high) for c in letters]; n = len(glyphs); at, loca = 0, []
    for g in glyphs: loca.append(at); at += len(g)
    loca.append(at); named = ((1, family), (2, "Regular"))
    names = b"".join(struct.pack(">HHHHHH", 3, 1, 1033, i, 2 * len(t), 2 * len(family) * (i - 1)) for i, t in named)
    s = [(c, c, (i + 1 - c) & 0xFFFF, 0) for i, c in enumerate(letters)] + [(0xFFFF, 0xFFFF, 1, 0)]; k = len(s); column = lambda i: struct.pack(">%dH" % k, *(q[i] for q in s))
    cmap = struct.pack(">HHHH", 2 * k, 0, 0, 0) + column(1) + struct.pack(">H", 0) + column(0) + column(2) + column(3)
    tables = {b"OS/2": struct.pack(">HhHHH", 4, 500, 400, 5, 0) + b"\0" * 86, b"cmap": struct.pack(">HHHHI", 0, 1, 3, 1, 12) + struct.pack(">HHH", 4, 6 + len(cmap), 0) + cmap, b"glyf": b"".join(glyphs),
              b"head": struct.pack(">IIIIHHQQhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 0, 1000, 0, 0, 0, 0, 4 * wide, 5 * high, 0, 8, 2, 1, 0), b"hhea": struct.pack(">IhhhHhhhhhhhhhhhH", 0x10000, 5 * high, 0, 0, 5 * wide, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, n),
              b"hmtx": struct.pack(">HH", 5 * wide, 0) * n, b"loca": struct.pack(">%dI" % (n + 1), *loca), b"maxp": struct.pack(">IHHHHHHHHHHHHHH", 0x10000, n, 80, 20, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0), b"name": struct.pack(">HHH", 0, 2, 30) + names + (family + "Regular").encode("utf-16-be")}
    head, data, at = struct.pack(">IHHHH", 0x10000, len(tables), 128, 3, 16 * len(tables) - 128), b"", 12 + 16 * len(tables)
    for tag, t in tables.items():
        head += tag + struct.pack(">III", 0, at + len(data), len(t)); data += t + b"\0" * (-len(t) % 4)
    open(path, "wb").write(head + data)
held = ["B612", "CMU Serif", "Comic Neue", "GFS Didot", "Gentium", "Inconsolata", "JetBrains Mono", "Jura", "OCR B", "Roboto"]
for i, f in enumerate(held + ["Lato", "Karla", "Cabin", "Dosis", "Play", "Fanwood", "Hermit", "Vollkorn"]): font(f, "sets/words/fonts/some/%02d.ttf" % i, 90 + 10 * (i % 3), 110 + 10 * (i % 4))
font("Nobody's", "sets/words/fonts/other.ttf", 100, 120); font("Lato", "sets/words/fonts/some/z.ttf", 100, 120); font("Open Sans", "sets/words/fonts/few.ttf", 100, 120, LETTERS[:30])
r = random.Random(1)
open("sets/words/words", "w").write("".join("".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(r.randint(3, 10))) + "\n" for _ in range(900)) + "it's\nof\nextraordinarily\n")
P
    learns_long V6 "b == 100" && { [ "$(json out samples)" = 2000 ] || fail "$(json out samples) samples"; }
    has err "18 faces; 8 of the 49 families" && has err "train: 1080 samples of 8 families" && has err "test: 2000 samples of 10 families" || fail "words: $(json out score)"
    has zoo/data/OCR-Nano/manifest.json '"groups_are": "families of fonts"' && has zoo/data/OCR-Nano/manifest.json "OCR B" && [ "$(awk -F '\t' 'FNR > 1 { print tolower($2) }' zoo/data/OCR-Nano/train.tsv | sort -u | comm -12 - <(awk -F '\t' 'FNR > 1 { print tolower($2) }' zoo/data/OCR-Nano/test.tsv | sort -u) | wc -l)" = 0 ] || fail "a word is on both sides"
    mkdir -p bad/words/fonts && cp sets/words/words bad/words && expect 3 "$wick" zoo train V6 --data bad --out bad && has err 'no font of the family "B612"'
    cp sets/words/fonts/some/0?.ttf sets/words/fonts/some/10.ttf bad/words/fonts && expect 3 "$wick" zoo train V6 --data bad --out bad && has err "has 1 of the families that are learned from, and 8 are needed"
    echo few >bad/words/words && expect 3 "$wick" zoo train V6 --data bad --out bad && has err "are too few"
}
# Voices: a word is on one side alone, whoever says it.
test_voices() {
    command -v python3 >/dev/null || { echo "  skipped: no Python"; return 0; }
    python3 - <<'P'
import math, os, random, struct
r = random.Random(3)
for v in range(50):
    os.makedirs("sets/voices/v%02d" % v)
    for w, n in (("one", 3000), ("seven", 4000), ("house", 5000), ("eight", 3500)):
        s = struct.pack("<%dh" % n, *(int(9000 * math.sin(2 * math.pi * (120 + 60 * v) * t / 8000) + r.randint(-300, 300)) for t in range(n)))
        open("sets/voices/v%02d/%s-1.wav" % (v, w), "wb").write(b"RIFF" + struct.pack("<I", 36 + len(s)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16) + b"data" + struct.pack("<I", len(s)) + s)
P
    learns A5 "b == 0.02"
    has err "train: 150 samples of 3 words and sentences" && has err "test: 50 samples of 1 words" && has zoo/data/SpeakerID-Nano/manifest.json '"eight"' && expect 2 "$wick" zoo train A5 --free --data sets && has err "no free licence"
}
# Boxes of an archive: each picture keeps its own, and the network has room for twenty classes.
test_boxes() {
    mkdir -p cells/train cells/val cells/test && awk 'BEGIN { srand(8); print "split,image,class,xmin,ymin,xmax,ymax" >"cells/boxes.csv"
        for (i = 0; i < 60; i++) { part = i < 36 ? "train" : i < 44 ? "val" : "test"; n = sprintf("%05d", i); f = "cells/" part "/" n ".jpg"; print "P2 48 48 255" >f; k = i % 2; x = int(rand() * 30); y = int(rand() * 30); s = k ? 14 : 9
            print part "," n "," (k ? "WBC" : "RBC") "," x "," y "," x + s "," y + s >"cells/boxes.csv"; for (r = 0; r < 48; r++) for (c = 0; c < 48; c++) print (c >= x && c < x + s && r >= y && r < y + s ? (k ? 20 : 230) : 120) >f; close(f) } }'
    (cd cells && tar czf ../sets/bccd.tar.gz boxes.csv train val test)
    learns V1 "s > 0.6 && b < 0.3"
    [ "$(wc -l <zoo/data/MicroYOLO-Nano/train.csv)" = 45 ] && [ "$(wc -l <zoo/data/MicroYOLO-Nano/test.csv)" = 17 ] || fail "not the boxes of both parts"
    if [ -z "${SANITIZED:-}" ]; then
        expect 0 "$wick" eval zoo/MicroYOLO-Nano/seed-1 && has out WBC && lacks out unused && expect 0 "$wick" zoo bench V1 --out zoo --trials 20
    fi
    sed -i '1s/image/picture/' cells/boxes.csv && mkdir -p bad && (cd cells && tar czf ../bad/bccd.tar.gz boxes.csv train val test) && expect 3 "$wick" zoo train V1 --data bad --out bad && has err "the columns of boxes.csv are not"
}
# Places with things in them, of textures and things that are noise. What is drawn is looked at, not learned.
test_scenes() {
    command -v python3 >/dev/null || { echo "  skipped: no Python"; return 0; }
    python3 - "$(dirname "$0")/../../cli/zoo/prepare_scenes.c" <<'P'
import gzip, os, random, re, struct, sys
random.seed(7)
names = re.findall(r"\b(?:nature|mattn|terrain|buildings|streets|material)/[a-z0-9_]+", open(sys.argv[1]).read())
assert len(names) > 200 and len(set(names)) == len(names)
for n in names:
    os.makedirs(os.path.dirname("sets/textures/tex_" + n), exist_ok=True)
    open("sets/textures/tex_%s.%s" % (n, random.choice(("png", "jpg"))), "wb").write(b"P6 4 4 255\n" + random.randbytes(48))
for folder in "mnist", "fashion-mnist":
    os.makedirs("sets/" + folder, exist_ok=True)
    for part, n in ("train", 40), ("t10k", 20):
        gzip.open(f"sets/{folder}/{part}-images-idx3-ubyte.gz", "wb", 1).write(struct.pack(">IIII", 0x803, n, 28, 28) + random.randbytes(784 * n))
        gzip.open(f"sets/{folder}/{part}-labels-idx1-ubyte.gz", "wb").write(struct.pack(">II", 0x801, n) + bytes(i % 10 for i in range(n)))
P
    mkdir -p places && : >places/SceneUnderstand-Micro && expect 1 "$wick" zoo train V10 --data sets --out places && has err "train: 60 samples" && has err "test: 25 samples" && has err "cannot make the folder"
    local made=places/data/SceneUnderstand-Micro
    valid_json $made/manifest.json && has $made/manifest.json '"nature/' && has $made/manifest.json '"sneaker ' && [ "$(cut -d, -f2 $made/train.csv | sort -u | wc -l)" = 11 ] && grep -Eq ',(meadow|desert|snow|roofs|rocks|wood|street|room|cabin|factory),[a-z;-]+$' $made/test.csv || fail "places"
    expect 0 "$wick" train --data $made --heads "scene=classes, things=labels" --dry-run && expect 1 "$wick" zoo train V10 --shuffle-labels --data sets --out places
    mkdir -p bad && ln -sfn ../sets/textures bad/textures && ln -sfn ../sets/fashion-mnist bad/fashion-mnist && cp -r sets/mnist bad
    cp bad/mnist/train-images-idx3-ubyte.gz bad/mnist/t10k-images-idx3-ubyte.gz && cp bad/mnist/train-labels-idx1-ubyte.gz bad/mnist/t10k-labels-idx1-ubyte.gz && expect 3 "$wick" zoo train V10 --data bad --out bad && has err "is in train and in test"
}
# Figures over photos: 17 joints within each picture, and neither bodies, clothes nor photos on both sides.
test_figures() {
    command -v python3 >/dev/null || { echo "  skipped: no Python"; return 0; }
    python3 - <<'P'
import io, random, tarfile
random.seed(8)
def pack(path, files):
    with tarfile.open(path, "w:gz") as t:
        for name, data in files:
            info = tarfile.TarInfo(name); info.size = len(data); t.addfile(info, io.BytesIO(data))
photos = [b"P6 4 4 255\n" + random.randbytes(48) for _ in range(10)]
import os; os.makedirs("bad", exist_ok=True)
pack("sets/clothing.tar.gz", [("train/hat/%d.jpg" % i, photos[i]) for i in range(8)] + [("test/hat/%d.jpg" % i, photos[i]) for i in (8, 9)])
pack("bad/clothing.tar.gz", [("train/hat/%d.jpg" % i, photos[i]) for i in range(8)] + [("test/hat/%d.jpg" % i, photos[i]) for i in (8, 2)])
P
    mkdir -p figures && : >figures/PoseEstimate-Micro && expect 1 "$wick" zoo train V7 --data sets --out figures && has err "train: 16 samples" && has err "test: 6 samples" && has err "cannot make the folder"
    local made=figures/data/PoseEstimate-Micro
    valid_json $made/manifest.json && has $made/manifest.json '"groups_are": "bodies, clothes and photos"' && has $made/manifest.json '"body '
    awk -F, 'NR > 1 { n++; for (i = 2; i <= 35; i++) bad += $i < 0 || $i > 128 } END { exit bad || NF != 35 || n != 16 }' $made/train.csv || fail "joints are outside"
    expect 0 "$wick" train --data $made --task keypoints --dry-run && has err "17 points"
    expect 3 "$wick" zoo train V7 --data bad --out bad && has err "is in train and in test"
}
# Rooms and what moves over photographs: what is drawn is looked at, not learned.
test_rooms_and_tracks() {
    command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null || { echo "  skipped: no NumPy"; return 0; }
    mkdir -p seen && python3 - <<'P'
import io, os, random, struct, tarfile, zlib
random.seed(9)
def pack(path, files):
    with tarfile.open(path, "w:gz") as t:
        for name, data in files:
            info = tarfile.TarInfo(name); info.size = len(data); t.addfile(info, io.BytesIO(data))
photos = [b"P6 4 4 255\n" + random.randbytes(48) for _ in range(5)]
pack("seen/clothing.tar.gz", [("train/hat/%d.jpg" % i, photos[i]) for i in range(3)] + [("test/hat/%d.jpg" % i, photos[i]) for i in (3, 4)])
os.makedirs("seen/leak"); pack("seen/leak/clothing.tar.gz", [("train/hat/%d.jpg" % i, photos[i]) for i in range(3)] + [("test/hat/%d.jpg" % i, photos[i]) for i in (3, 1)])
chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
for i in range(30): # a coloured thing in white
    rows = b"".join(b"\0" + b"".join(bytes([8 * i, 90, 200 - 5 * i]) if 3 < x < 28 and 5 < y < 20 else b"\xff\xff\xff" for x in range(32)) for y in range(24))
    os.makedirs("seen/stamps/animals", exist_ok=True); open(f"seen/stamps/animals/{chr(97 + i % 26)}{chr(97 + i // 26)}.png", "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 32, 24, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
P
    mkdir -p drawn && : >drawn/DepthEstimate-Lite && : >drawn/ObjectTrack-Nano
    expect 1 "$wick" zoo train V8 --data seen --out drawn && has err "train: 12 samples" && has err "test: 8 samples" && has err "cannot make the folder" && expect 1 "$wick" zoo train V9 --data seen --out drawn && has err "cannot make the folder" && expect 3 "$wick" zoo train V8 --data seen/leak --out leaks && has err "is in train and in test"
    expect 0 "$wick" train --data drawn/data/DepthEstimate-Lite --dry-run && has err "a depth for each pixel" && expect 0 "$wick" train --data drawn/data/ObjectTrack-Nano --dry-run && has err "pairs of pictures"
    python3 - <<'P' || fail "rooms or pairs are not what they should be"
import csv, json, numpy as np
m = json.load(open("drawn/data/DepthEstimate-Lite/manifest.json")); assert m["train"]["groups"] and not set(m["train"]["groups"]) & set(m["test"]["groups"])
d = np.stack([np.load(f"drawn/data/DepthEstimate-Lite/train/depth/{i:05}.npy") for i in range(12)])
assert d.dtype == np.uint16 and d.shape == (12, 128, 128) and 300 < d.min() and d.max() < 10000 and all(x.std() > 50 for x in d)
# a flat side is a plane: of its pixels 1 / depth is linear along a row, so most second differences are nothing
inverse = 1e6 / d.astype("f8"); assert np.median(abs(np.diff(inverse, 2, axis=2))) < 0.5
a = "drawn/data/ObjectTrack-Nano/"; rows = list(csv.DictReader(open(a + "train.csv"))); assert rows and len(rows) % 20 == 0
for r in rows[:20]:
    p = np.frombuffer(open(a + r["search"], "rb").read()[-12288:], "u1").reshape(64, 64, 3); x0, y0, x1, y1 = (int(r[k]) for k in ("xmin", "ymin", "xmax", "ymax"))
    assert 0 <= x0 < x1 <= 64 and 0 <= y0 < y1 <= 64 and 0.4 < (y1 - y0) / (x1 - x0) < 0.9 and p[y0 + 2 : y1 - 2, x0 + 2 : x1 - 2].reshape(-1, 3).std(0).max() < 20, r
P
}
# Hearts are made here, from no file: a folder that can't be made ends the command once they are there.
test_made_hearts() {
    mkdir -p hearts && : >hearts/HealthMonitor && expect 1 "$wick" zoo train S4 --out hearts && has err "train: 10000 samples of 200 persons" && has err "cannot make the folder" && has hearts/data/HealthMonitor/manifest.json '"source": "made here"'
    command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null || { echo "  skipped: no NumPy"; return 0; }
    python3 - <<'P' || fail "hearts are not what they should be"
import json, numpy as np
m = json.load(open("hearts/data/HealthMonitor/manifest.json")); assert not set(m["train"]["groups"]) & set(m["test"]["groups"])
d = np.load("hearts/data/HealthMonitor/test.npz"); x, pulse, rhythm, good = d["x"][:, 0, 0], d["pulse"][:, 0], d["rhythm"], d["quality"] == 1
assert x.shape == (2000, 350) and np.isfinite(x).all() and np.isfinite(pulse).all() and pulse.min() > 30 and pulse.max() < 160
assert [(rhythm == k).sum() > 500 for k in range(3)] == [True] * 3
e = x[(rhythm == 0) & good, :250]; at = (e[:, 1:-1] > 0.6 * e.max(1, keepdims=True)) & (e[:, 1:-1] > e[:, :-2]) & (e[:, 1:-1] >= e[:, 2:])
peaks = [np.flatnonzero(a) for a in at]; rate = np.array([60 * 50 * (len(p) - 1) / (p[-1] - p[0]) for p in peaks])
assert np.median(np.abs(rate - pulse[(rhythm == 0) & good])) < 1, np.median(np.abs(rate - pulse[(rhythm == 0) & good]))
gaps = lambda k: np.median([np.diff(np.flatnonzero(a)).std() / np.diff(np.flatnonzero(a)).mean() for a in (lambda e: (e[:, 1:-1] > 0.6 * e.max(1, keepdims=True)) & (e[:, 1:-1] > e[:, :-2]) & (e[:, 1:-1] >= e[:, 2:]))(x[(rhythm == k) & good, :250])])
assert gaps(1) > 2 * gaps(0), (gaps(0), gaps(1))
P
}
# Speech and noise of three sets that lie beside each other: a little of each, from voices that are made.
mixes() {
    python3 - <<'P'
import io, math, os, random, struct, tarfile, wave
random.seed(4)
def voice(f, length):
    a, b = random.uniform(300, 800), random.uniform(1000, 2400)
    return [(i % 900 < 700) * sum(math.sin(2 * math.pi * f * k * i / 8000) / (1 + abs(f * k - a) / 100 + abs(f * k - b) / 900) for k in range(1, 20)) for i in range(length)]
def noise(length):
    v, out = 0.0, []
    for _ in range(length): v = 0.7 * v + random.gauss(0, 1); out.append(v)
    return out
def wav(x, rate=8000):
    f, most = io.BytesIO(), max(map(abs, x))
    with wave.open(f, "wb") as w:
        w.setnchannels(1); w.setsampwidth(2); w.setframerate(rate); w.writeframes(struct.pack("<%dh" % len(x), *[int(20000 * v / most) for v in x]))
    return f.getvalue()
def pack(path, files):
    with tarfile.open(path, "w:gz") as t:
        for name, data in files:
            info = tarfile.TarInfo(name); info.size = len(data); t.addfile(info, io.BytesIO(data))
for folder in ("sets/fsdd/recordings", "bad/fsdd/recordings", "leak/fsdd"): os.makedirs(folder)
for k, who in enumerate(["george", "jackson", "lucas", "nicolas", "theo", "yweweler"]):
    for take in range(3): open(f"sets/fsdd/recordings/{take}_{who}_0.wav", "wb").write(wav(voice(100 + 20 * k, 3000)))
pack("sets/emodb.tar.gz", [(f"{part}/anger/{who}a01W{c}.wav", wav(voice(90 + 5 * int(who), 9000))) for part, whos in (("train", ("03", "08")), ("test", ("14", "15"))) for who in whos for c in "abc"])
sounds = [(f"fold{fold}/rain/{fold}-{100 * fold + k}-A.wav", wav(noise(12000))) for fold in (1, 2, 5) for k in range(3)]
pack("sets/esc10.tar.gz", sounds)
open("bad/fsdd/recordings/1_george_0.wav", "wb").write(wav(voice(120, 6000), 16000))
pack("bad/emodb.tar.gz", [])
os.symlink(os.path.abspath("sets/fsdd/recordings"), "leak/fsdd/recordings"); os.symlink(os.path.abspath("sets/emodb.tar.gz"), "leak/emodb.tar.gz")
pack("leak/esc10.tar.gz", [("fold5/rain/5-100-B.wav", sounds[0][1]), ("fold1/rain/1-100-A.wav", sounds[0][1])])
P
}
# Speech out of noise: the score and the loss by NumPy, of what predict says of each pair.
enhance() {
    learns A3 "s > 0" --threads 1 || return 0
    python3 -c 'import numpy' 2>/dev/null || return 0
    local run=zoo/SpeechEnhance-Nano/seed-1
    expect 0 "$wick" eval $run/last.safetensors --json && cp out eval.json && expect 0 "$wick" predict $run/last.safetensors zoo/data/SpeechEnhance-Nano/test.npz --index 0-239 --json || return
    python3 - <<'P' || fail "SI-SDR or the loss is not NumPy's"
import json, numpy as np
z, said = np.load("zoo/data/SpeechEnhance-Nano/test.npz"), json.load(open("out"))
x, y = z["x"].reshape(len(z["x"]), -1).astype(float), z["y"].astype(float)
q = np.array([list(p["predicted"].values()) for p in next(v for v in said.values() if isinstance(v, list))])
def si_sdr(e, s):
    target = (e * s).sum(1, keepdims=True) / (s * s).sum(1, keepdims=True) * s
    return 20 * np.log10(np.linalg.norm(target, axis=1) / np.linalg.norm(e - target, axis=1))
score = json.load(open("zoo/SpeechEnhance-Nano/seed-1/result.json"))["score"]
loss = (10 * np.log10(((q - y) ** 2).mean(1) + 1e-8) - 10 * np.log10((y ** 2).mean(1) + 1e-8)).mean()
assert q.shape == y.shape, (q.shape, y.shape)
assert abs((si_sdr(q, y) - si_sdr(x, y)).mean() - score) < 1e-3, ((si_sdr(q, y) - si_sdr(x, y)).mean(), score)
assert abs(loss - json.load(open("eval.json"))["loss"]) < 1e-3, loss
P
}
test_mixes() {
    command -v python3 >/dev/null || { echo "  skipped: no Python"; return 0; }
    mixes
    expect 0 "$wick" zoo list A4 && has out "esc10.tar.gz, CC BY 3.0" && expect 0 "$wick" zoo list A4 --json && valid_json out && has out '"with": '
    learns A4 "s > 0.9" --threads 1
    local manifest=zoo/data/VoiceActivity-Micro/manifest.json
    valid_json $manifest && has $manifest '"made pink"' && has $manifest '"speaker george"' && has $manifest 'esc10.tar.gz'
    # The area by wick eval is that of the score.
    if [ -z "${SANITIZED:-}" ]; then
        expect 0 "$wick" eval zoo/VoiceActivity-Micro/seed-1/last.safetensors --json && awk -v a="$(grep -o '"score": [^,]*' zoo/VoiceActivity-Micro/seed-1/result.json | cut -d' ' -f2)" -v b="$(json out roc_auc)" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' || fail "score is not what wick eval says"
    fi
    enhance
    expect 3 "$wick" zoo train A4 --data bad --out bad && has err "esc10.tar.gz: is not there"
    cp sets/esc10.tar.gz bad && expect 3 "$wick" zoo train A4 --data bad --out bad && has err "1_george_0.wav: has 16000 samples a second, and those of the set 8000"
    expect 3 "$wick" zoo train A4 --data leak --out leak && has err '"recording 100" (speakers and noises) is in train and in test'
}
# Tunes of ten kinds, each in steps of its own, one voice or two: played, learned, and judged by other tunes in other timbres.
test_tunes() {
    tunes() { awk -v OFS='\t' 'BEGIN { print "tradition", "tune", "split", "notes"
        for (k = 0; k < 10; k++) for (i = 0; i < 8; i++) { notes = ""
            for (t = 0; t < 32; t++) notes = notes (t ? " " : "") t * (6 + 6 * (k % 5)) ":" 5 + 6 * (k % 5) ":" (k < 5 ? 84 : 48) + (t * (1 + k % 3) + i) % 8
            print "kind" k, "tune" k "-" i, (i < 6 ? "train" : "test"), notes } }'; }
    tunes >sets/tunes.tsv
    learns_long A6 "s > 0.5"
    valid_json zoo/data/MusicGenre-Micro/manifest.json && has zoo/data/MusicGenre-Micro/manifest.json '"fiddle"' && has zoo/data/MusicGenre-Micro/manifest.json '"tune3-2"'
    mkdir -p bad && local change why
    while IFS='|' read -r change why; do
        sed "$change" sets/tunes.tsv >bad/tunes.tsv && expect 3 "$wick" zoo train A6 --data bad --out bad && has err "$why"
    done <<'T'
3s/:[0-9]* /: /|line 3: a note is ONSET:LENGTH:PITCH
3s/:60$/:128/;3s/:[0-9]*$/:128/|line 3: a note is ONSET:LENGTH:PITCH
4s/train/dev/|line 4: the split is train or test
5s/\t/ /g|line 5: has no four cells
1s/split/part/|its columns are not tradition, tune, split and notes
/kind9/d|has 9 traditions, not 10
/kind4.*test/d|a tradition has nothing to be tested with
2s/kind0/kind10/|line 74: is of an eleventh tradition
8s/tune0-6/tune0-0/|"tune0-0" (tunes and timbres) is in train and in test
T
}
# Which sentence says most: ROUGE-1 and what is picked by Python, of the packages' own sentences.
test_summaries() {
    command -v python3 >/dev/null || { echo "  skipped: no Python"; return 0; }
    python3 - <<'P'
import random
random.seed(10)
nouns = "editor player compiler viewer server client shell parser browser game".split()
with open("sets/packages.tsv", "w") as f:
    print("package\tgroup\tsplit\tsummary\ttext", file=f)
    for i in range(240):
        a, b = random.sample(nouns, 2)
        said = [f"This Package is thing {i}.", f"{a.title()} and {a} for {b}s, a fast {a} of the {b}.", "It contains nothing else:", f"See the manual of C++ number {i % 7}."]
        if i % 3: said[0], said[1] = said[1], said[0]
        print(f"p{i}", f"g{i // 2}", "train" if i < 180 else "test", f"fast {a} for {b}s in C++", " || ".join(said), sep="\t", file=f)
P
    learns S10 "s > b" && json out baseline >baseline && {
    python3 - <<'P' || fail "ROUGE-1 is not Python's"
import collections, re
words = lambda s: collections.Counter(re.findall(r"[a-z0-9+]+", s.lower()))
def rouge(a, b):
    a, b = words(a), words(b)
    return 2 * sum((a & b).values()) / (sum(a.values()) + sum(b.values()))
want, first = [], []
for line in open("sets/packages.tsv").read().splitlines()[1:]:
    _, _, split, summary, text = line.split("\t")
    if split == "test":
        of = [rouge(s, summary) for s in text.split(" || ")]
        first.append(of[0]); want += [(r, r == max(of) > 0) for r in of]
rows = [l.split("\t") for l in open("zoo/data/TextSummarize/test.tsv").read().splitlines()[1:]]
assert len(rows) == len(want) and all(abs(float(r[3]) - w[0]) < 1e-8 and (r[0] == "yes") == w[1] for r, w in zip(rows, want))
assert abs(sum(first) / len(first) - float(open("baseline").read())) < 1e-6
P
    }
    mkdir -p bad && sed '4s/train/dev/' sets/packages.tsv >bad/packages.tsv && expect 3 "$wick" zoo train S10 --data bad --out bad && has err "line 4: the split is train or test"
    sed '5s/\t/ /' sets/packages.tsv >bad/packages.tsv && expect 3 "$wick" zoo train S10 --data bad --out bad && has err "line 5: has not five cells"
    sed '6s/$/ || a || b || c || d || e/' sets/packages.tsv >bad/packages.tsv && expect 3 "$wick" zoo train S10 --data bad --out bad && has err "line 6: has more than eight sentences"
    sed '7s/train/test/' sets/packages.tsv >bad/packages.tsv && expect 3 "$wick" zoo train S10 --data bad --out bad && has err 'is in train and in test'
}
test_shuffled_labels() {
    [ -z "${SANITIZED:-}" ] || { echo "  skipped: more trainings, which take a minute under sanitizers"; return 0; }
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
