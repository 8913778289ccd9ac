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
    train 0 times.csv tr && has err 'column "t" has whole numbers above 2^24, up to 1700000059, which are rounded to 32-bit floats, the largest to multiples of 128'
    expect 0 "$wick" data info times.csv && has out "whole numbers 1700000000 to 1700000059"
    { echo t,label && rows 60 'print i "," (i < 30 ? "A" : "B")'; } >less.csv
    train 0 less.csv tr && lacks err rounded
    numpy 'np.savez("t.npz", x=(1.7e9 + np.arange(60.0))[:, None], y=np.arange(60) // 30)' || return 0
    train 0 t.npz tr && has err '"x" has whole numbers above 2^24, which are rounded to 32-bit floats'
    numpy 'np.savez("t.npz", x=np.arange(60.0)[:, None] + 0.1, y=np.arange(60) // 30)'
    train 0 t.npz tr && lacks err rounded
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
    train 0 r.csv ar --task autoencode && has err "160 training rows" && has err "test, looked at once"
    expect 0 "$wick" eval ar --json && [ "$(json out samples)" = 40 ] || fail "not 40 rows: $(head -c 300 out)"
    train 0 r.csv ar --task autoencode --validation 0.2 && has err "32 of the 160 training rows are held out"
    expect 0 "$wick" eval ar --split validation --json && [ "$(json out samples)" = 32 ] || fail "not 32 rows: $(head -c 300 out)"
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
test_onnx_of_tables() {
    train 0 two.csv tr --epochs 30
    expect 0 "$wick" convert tr two.onnx
    for run in "eval two.onnx --data two.csv" "predict two.onnx two.csv" "quantize two.onnx --data two.csv --out q.onnx"; do
        # shellcheck disable=SC2086
        expect 3 "$wick" $run && has err "two.csv: is a table, and wick doesn't find in an ONNX file how columns become numbers"
    done
    numpy 'r = [l.split(",") for l in open("two.csv").read().split()[1:]]; np.savez("two.npz", x=np.array([[float(v) for v in l[:2]] for l in r], np.float32), y=np.array([int(l[2] == "B") for l in r]))' || return 0
    expect 0 "$wick" eval two.onnx --data two.npz --split all --json && got=$(json out correct)
    expect 0 "$wick" eval tr --split all --json && [ "$(json out correct)" = "$got" ] || fail "$got of the ONNX file, $(json out correct) of the run"
}
test_main
