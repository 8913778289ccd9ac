# Data that hold too little, twice the same name, or numbers that f32 rounds: what is wrong is said, in words that fit.
. "$(dirname "$0")/lib.sh"
train() { # CODE DATA OUT [OPTION...]
    expect "$1" "$wick" train --data "$2" --epochs 2 --force --out "$3" "${@:4}"
}
# rows N AWK: that the program prints of i, u and v
rows() { awk -v n="$1" "BEGIN { srand(1); for (i = 0; i < n; i++) { u = sprintf(\"%.3f\", 4 * rand() - 2); v = sprintf(\"%.3f\", 4 * rand() - 2); $2 } }"; }
picture() { # FILE BYTE: 4 x 4 pixels
    mkdir -p "$(dirname "$1")" && { printf 'P5\n4 4\n255\n' && for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf "\\x$2"; done; } >"$1"
}
numpy() { command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null && python3 -c "import numpy as np; $1"; }

{ echo a,b,label && rows 60 'print u "," v "," (u > 0 ? "A" : "B")'; } >two.csv
test_large_whole_numbers_are_told() {
    { echo t,label && rows 60 'print 1700000000 + i "," (i < 30 ? "A" : "B")'; } >times.csv
    train 0 times.csv tr && has err 'column "t" has whole numbers above 2^24, up to 170000005' && has err ': what is learned from is by how much they are above 1700000000'
    train 0 times.csv tr --epochs 60 && expect 0 "$wick" eval tr --json && at_least accuracy 0.9
    expect 0 "$wick" data info times.csv && has out "whole numbers 1700000000 to 1700000059"
    { echo t,label && rows 60 'print i "," (i < 30 ? "A" : "B")'; } >less.csv
    train 0 less.csv tr && lacks err rounded
    numpy 'np.savez("t.npz", x=(1.7e9 + np.arange(60.0))[:, None], y=np.arange(60) // 30)' || return 0
    train 0 t.npz tr && has err '"x" has whole numbers above 2^24, which are rounded to 32-bit floats'
    numpy 'np.savez("t.npz", x=np.arange(60.0)[:, None] + 0.1, y=np.arange(60) // 30)'
    train 0 t.npz tr && lacks err rounded
}
# A row's side is its own: rows that are shuffled or added change nothing for the others, and rows that are alike have one.
held() { expect 0 "$wick" eval tr --json "$@" && json out images; } # how many
test_rows_keep_their_side() {
    { echo a,b,label && rows 400 'print u "," v "," (u > 0 ? "A" : "B")'; } >all.csv
    head -301 all.csv >kept.csv && { head -1 all.csv && tail -n 100 all.csv; } >added.csv
    local n=0 loss
    train 0 added.csv tr --quiet && n=$(held)
    cp kept.csv rows.csv && train 0 rows.csv tr --quiet && n=$((n + $(held))) && held >count && loss=$(json out loss)
    { [ "$n" -gt 50 ] && [ "$n" -lt 110 ]; } || fail "$n of 400 rows are held out"
    { echo b,a,label && sed 1d kept.csv | awk -F, '{ print $2 "," $1 "," $3 }' | sort; } >rows.csv
    expect 0 "$wick" eval tr --json && [ "$(json out images)" = "$(cat count)" ] || fail "shuffled rows changed sides"
    awk -v a="$loss" -v b="$(json out loss)" 'BEGIN { exit !(a - b < 1e-5 && b - a < 1e-5) }' || fail "others are held out: $loss, $(json out loss)"
    cp all.csv rows.csv && [ "$(held)" = "$n" ] || fail "rows that were added moved others: $(held), not $n"
    { head -1 all.csv && for _ in 1 2 3; do sed 1d all.csv; done; } >rows.csv && [ "$(held)" = $((3 * n)) ] || fail "rows that are alike are on both sides"
    { echo a,label && for i in 1 2 3 4 5 6; do echo "1,A"; echo "1,B"; echo "2,C"; done; } >few.csv
    train 0 few.csv tr --quiet && lacks err "has no training sample"
}
# A model of before, whose coding is of version 2, is judged on what was held out then: a fifth of each class, by places.
test_older_tables_keep_their_parts() {
    { echo a,b,label && rows 50 'print u "," v "," i % 2'; } >old.csv
    train 0 old.csv tr && expect 0 "$wick" eval tr/best.safetensors --data old.csv --split test --json && lacks out '"images": 10,'
    cp tr/best.safetensors older.safetensors && unseal older.safetensors && sed -i 's/\\"table\\",\\"3\\"/\\"table\\",\\"2\\"/' older.safetensors
    grep -q 'table.*,.*"2' older.safetensors || fail "the coding is not of version 2"
    expect 0 "$wick" eval older.safetensors --data old.csv --split test --json && has out '"images": 10,' && has out '"name": "0", "images": 5,'
}
test_columns_of_one_name() {
    { echo label,a,label && rows 40 'print u "," v "," (u > 0 ? "p" : "q")'; } >twice.csv
    train 3 twice.csv tr && has err '2 columns are called "label", and one is to be learned'
    sed '1s/.*/a,a,label/' twice.csv >same.csv
    train 0 same.csv tr && has err 'columns share a name, and each counts as one of its own: "a" (2)'
    sed '1s/.*/y,y,label/' twice.csv >y.csv
    train 3 y.csv tr --target y && has err '2 columns are called "y"'
}
test_texts_with_two_labels() {
    { echo text,label,label && rows 30 'print "word " i "," (u > 0 ? "p" : "q") "," i % 2'; } >texts.csv
    train 3 texts.csv tr && has err 'more than one column is called "label"'
    sed '1s/.*/text,label,other/' texts.csv >plain.csv
    train 0 plain.csv tr && has err 'the other columns are passed over: "other"'
}
test_one_class_is_told() {
    { echo a,b,label && rows 60 'print u "," v ",A"'; } >one.csv
    train 0 one.csv tr --quiet && has err 'all training samples are of one class, "A": there is nothing to tell apart'
    train 0 two.csv tr && lacks err "nothing to tell apart"
}
test_a_class_of_the_test_alone_is_told() {
    for i in 1 2 3 4; do
        picture pics/train/b/$i.pgm 10
        picture pics/train/r/$i.pgm d0
        picture pics/test/b/$i.pgm 11
        picture pics/test/z/$i.pgm 70
    done
    train 0 pics pr --quiet && has err 'class "z" has no training sample, and 4 that are looked at'
    mkdir known && cp -r pics/train/b pics/train/r known/
    expect 0 "$wick" eval pr --data known --json && valid_json out && has out '"name": "z"' && lacks out '"name": null'
}
test_a_column_of_denormals_is_constant() {
    { echo a,b,label && rows 60 'print u "," i % 3 "e-40," (u > 0 ? "A" : "B")'; } >tiny.csv
    train 0 tiny.csv tr
    { echo a,y && rows 60 'print u "," i % 3 "e-40"'; } >tiny.csv
    train 0 tiny.csv tr --target y
}
test_autoencoders_hold_out_rows_of_measurements() {
    { echo a,b,y && rows 200 'print u "," v "," u + v'; } >r.csv
    train 0 r.csv ar --task autoencode && has err "167 training rows" && has err "test, looked at once"
    expect 0 "$wick" eval ar --json && [ "$(json out samples)" = 33 ] || fail "not 33 rows: $(head -c 300 out)"
    train 0 r.csv ar --task autoencode --validation 0.2 && has err "33 of the 167 training rows are held out"
    expect 0 "$wick" eval ar --split validation --json && [ "$(json out samples)" = 33 ] || fail "not 33 rows: $(head -c 300 out)"
}
test_files_that_are_not_there() {
    train 0 two.csv tr
    expect 3 "$wick" predict tr nofile.csv && has err "nofile.csv: cannot open: no such file"
    expect 3 "$wick" predict tr nofile.png && has err "nofile.png: cannot open: no such file"
}
test_labels_that_are_too_few() {
    numpy 'np.savez("short.npz", x=np.zeros((20, 3), np.float32), y=np.zeros(15, int))' || return 0
    train 3 short.npz tr && has err 'short.npz: dataset: column "label" has 15 rows, "x" has 20' && lacks err image-size
}
test_tables_of_few_rows() {
    echo a,b,label >none.csv
    train 3 none.csv tr && has err "has a line of names, and no row below it" && lacks err nan
    printf 'a,b,label\n1,2,A\n2,1,B\n3,1,A\n' >few.csv
    train 0 few.csv tr && has err "3 rows are too few to hold any out as test" && lacks err images
    printf 'a,b,label\n1,2,A\n' >few.csv
    train 0 few.csv tr && has err "1 row is too few to hold any out as test"
    expect 3 "$wick" eval tr && lacks err images
}
# A class whose rows are all alike can't be on both sides: it is learned from.
test_classes_of_rows_that_are_alike() {
    for k in 0 1 2 3 4; do
        { echo a,b,class && rows 40 'print u "," v ",a"' && for _ in 1 2 3 4 5 6 7 8; do echo "0.5,2.$k,b"; done; } >alike.csv
        train 0 alike.csv tr --label class --task classify && expect 0 "$wick" eval tr --split test --json && [ "$(json out images)" -lt 30 ] && lacks out '"name": "b", "samples": 8'
        expect 0 "$wick" eval tr --split train && has out "b  " || fail "2.$k is not learned from"
    done
}
# An ONNX file of a table's classes or numbers keeps the coding of its columns; of series it is the run that is needed.
test_onnx_of_tables() {
    { echo a,town,b,label && rows 200 'print u "," (i % 3 ? "Rome" : "Oslo") "," 1700000000 + i "," (u > 0 ? "yes" : "no")'; } >mixed.csv
    train 0 mixed.csv tr --epochs 30 && expect 0 "$wick" convert tr mixed.onnx && expect 0 "$wick" eval tr --json && cp out run.json
    expect 0 "$wick" eval mixed.onnx --data mixed.csv --json && for k in images correct; do [ "$(json out $k)" = "$(json run.json $k)" ] || fail "$k: $(json out $k), not $(json run.json $k)"; done
    { echo b,more,a && echo 1700000003,7,1.5 && echo 1700000103,7,-1.5; } >rows.csv
    expect 0 "$wick" predict tr rows.csv --json && sed 's/"model": "[^"]*"//' out >run.json && has run.json '"yes"'
    expect 0 "$wick" predict mixed.onnx rows.csv --json && sed 's/"model": "[^"]*"//' out >onnx.json && [ "$(grep -o '"name": "[a-z]*"' run.json)" = "$(grep -o '"name": "[a-z]*"' onnx.json)" ] || fail "$(cat onnx.json)"
    expect 0 "$wick" inspect mixed.onnx && has out "wick.coding"
    { echo a,y && rows 200 'print u "," 3 * u'; } >line.csv
    train 0 line.csv tr --target y --window 4 --horizon 1 && expect 0 "$wick" convert tr line.onnx && expect 3 "$wick" eval line.onnx --data line.csv && has err "line.csv: is a table, and wick doesn't find in this ONNX file how columns become numbers"
    { echo a,town,y,z && rows 200 'print u "," (i % 3 ? "Rome" : "Oslo") "," 50000 + 3000 * u "," i % 3'; } >prices.csv
    for loss in mse huber; do
        train 0 prices.csv tr --target y,z --loss $loss --epochs 5 && expect 0 "$wick" convert tr prices.onnx && expect 0 "$wick" eval tr --json && cp out run.json
        expect 0 "$wick" eval prices.onnx --data prices.csv --json && for k in task samples; do [ "$(json out $k)" = "$(json run.json $k)" ] || fail "$loss, $k: $(json out $k), not $(json run.json $k)"; done
        for k in loss r2 mae rmse; do awk -v a="$(json out $k)" -v b="$(json run.json $k)" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && b != "" && d <= 1e-4 * (b < 0 ? -b : b)) }' || fail "$loss, $k: $(json out $k), not $(json run.json $k)"; done
    done
    { echo a,town && echo 0.5,Rome && echo -0.5,Oslo; } >ask.csv
    expect 0 "$wick" predict tr ask.csv && cp out run.txt && expect 0 "$wick" predict prices.onnx ask.csv && has out y && cmp -s out run.txt || fail "other predictions: $(cat out run.txt)"
    LC_ALL=C sed 's/huber/hubex/' prices.onnx >bad.onnx && expect 3 "$wick" eval bad.onnx --data prices.csv && has err "bad.onnx: its metadata wick.loss is 'hubex'"
    LC_ALL=C sed 's/\(wick\.target..\)[0-9]/\1x/' prices.onnx >bad.onnx && expect 3 "$wick" eval bad.onnx --data prices.csv && has err "bad.onnx: its metadata wick.target are no means and deviations of 2 targets"
    train 0 two.csv tr --epochs 30
    expect 0 "$wick" convert tr two.onnx
    numpy 'r = [l.split(",") for l in open("two.csv").read().split()[1:]]; np.savez("two.npz", x=np.array([[float(v) for v in l[:2]] for l in r], np.float32), y=np.array([int(l[2] == "B") for l in r]))' || return 0
    expect 0 "$wick" eval two.onnx --data two.npz --split all --json && got=$(json out correct)
    expect 0 "$wick" eval tr --split all --json && [ "$(json out correct)" = "$got" ] || fail "$got of the ONNX file, $(json out correct) of the run"
}
test_main
