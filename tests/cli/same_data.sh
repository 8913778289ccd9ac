# Whether data under the name of a training's are still those: rows that were learned from are not measured in silence.
. "$(dirname "$0")/lib.sh"
rows() { # FIRST LAST: rows of two numbers, whose class is drawn
    awk -v a="$1" -v b="$2" 'BEGIN { for (i = a; i <= b; i++) { x = i * 7919 % 1009; printf "%d,%d,%s\n", x, i * 104729 % 997, x * 31 % 97 < 48 ? "p" : "q" } }'
}
table() { echo "a,b,kind" && rows "$1" "$2"; }
train() { "$wick" train --epochs 2 --quiet "$@" >train.out 2>train.err || { fail "train $*: $(cat train.err)"; }; }

test_a_table_that_changed_is_told() {
    table 1 400 >d.csv
    cp d.csv kept.csv
    train --data d.csv --out run
    expect 0 "$wick" eval run --json && lacks err "has changed" && lacks out data_changed
    { head -n 1 kept.csv; tail -n +2 kept.csv | tac; } >d.csv # the same rows in another order
    expect 0 "$wick" eval run --json --quiet && has err "has changed since the training" && has out '"data_changed": true'
    expect 0 "$wick" eval run --split train && has err "has changed since the training"
    expect 0 "$wick" report run --out page.html --json && has out '"data_changed": true' && has page.html "have changed"
    expect 3 "$wick" quantize run --out q.onnx && has err "is not known any more" && lacks err "bits"
    expect 3 "$wick" prune run --sparsity 0.5 --out q.onnx && has err "is not known any more"
    expect 3 "$wick" shrink run --max-drop 1 --out q.onnx && has err "is not known any more"
    [ ! -e q.onnx ] || fail "a file was written"
    table 1 500 >d.csv
    expect 0 "$wick" eval run && has err "has changed since the training"
    table 700 900 >other.csv # which the model never saw
    expect 0 "$wick" eval run --data other.csv && lacks err "has changed"
    cp kept.csv copy.csv # its training rows are no test elsewhere either
    expect 0 "$wick" eval run --data copy.csv --json && has err "holds what the model was trained on" && [ "$(json out images)" = 81 ] || fail "not the test of the copy: $(json out images)"
    cp kept.csv d.csv
    touch -d 2001-01-01 d.csv
    expect 0 "$wick" eval run && lacks err "has changed"
}
test_rows_that_were_learned_from_are_no_test() {
    mkdir -p apart && table 1 200 >apart/train.csv && table 301 360 >apart/test.csv
    train --data apart --out arun
    expect 0 "$wick" eval arun --data apart/train.csv --json && has err "all of apart/train.csv was learned from" && lacks err "held out as test" && [ "$(json out images)" = 200 ] || fail "not all of the rows"
    expect 0 "$wick" eval arun --data apart/test.csv --json && lacks err "learned from" && [ "$(json out images)" = 60 ] || fail "not all of the test"
}
test_resume_refuses_other_samples_where_no_coding_shows_them() {
    command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null || { echo "  skipped: no NumPy"; return; }
    python3 -c '
import numpy as np
x = np.random.default_rng(1).random((100, 4), np.float32)
np.savez("n1.npz", x=x, y=np.arange(100) % 2)
np.savez("n2.npz", x=50 * x[::-1], y=np.arange(100)[::-1] % 2)'
    cp n1.npz n.npz
    train --data n.npz --out nrun
    cp n2.npz n.npz
    expect 3 "$wick" train --resume nrun --epochs 4 && has err "its files hold other samples"
    cp n1.npz n.npz
    expect 0 "$wick" train --resume nrun --epochs 4
}
test_parts_of_a_folder_are_known_by_themselves() {
    make_data images 200 50
    train --data images --out irun
    make_data images2 200 60
    cp images2/t10k-* images/
    expect 0 "$wick" eval irun && has err "its test samples are not those of the training"
    expect 0 "$wick" quantize irun --out i.onnx --max-drop 100 && lacks err "has changed"
    expect 0 "$wick" train --resume irun --epochs 3 && has err "its test samples are others"
    make_data images2 200 50 # the same size, another byte
    printf '\377' | dd of=images/train-images-idx3-ubyte bs=1 seek=99 conv=notrunc status=none
    expect 3 "$wick" train --resume irun --epochs 4 && has err "has changed since the run was started"
    expect 3 "$wick" quantize irun --out i.onnx && has err "is not known any more"
}
test_files_beside_the_data_are_no_part_of_them() {
    make_data beside 200 50
    train --data beside --out beside/run
    expect 0 "$wick" train --resume beside/run --epochs 3
    expect 0 "$wick" eval beside/run && lacks err "has changed"
    echo notes >beside/.notes
    expect 0 "$wick" eval beside/run && lacks err "has changed"
}
test_a_run_in_the_folder_of_its_data() {
    for i in 1 2 3 4 5 6 7 8; do
        mkdir -p classes/b classes/r
        printf "P5\n2 2\n255\n\\x0$i\\x01\\x01\\x01" >classes/b/$i.pgm
        printf "P5\n2 2\n255\n\\xe$i\\xe0\\xe0\\xe0" >classes/r/$i.pgm
    done
    train --data classes --out classes
    expect 0 "$wick" train --resume classes --epochs 3
    expect 0 "$wick" eval classes && lacks err "has changed"
    cp classes/b/1.pgm classes/b/9.pgm
    expect 0 "$wick" eval classes && has err "has changed since the training"
    expect 3 "$wick" train --resume classes --epochs 4 && has err "has changed since the run was started"
}
test_validation_elsewhere_is_known_too() {
    table 1 300 >v.csv
    table 301 400 >held.csv
    train --data v.csv --validation held.csv --out vrun
    table 301 401 >held.csv
    expect 3 "$wick" train --resume vrun --epochs 3 && has err "held.csv has changed"
}
test_parts_for_validation_are_those_of_the_data() {
    mkdir -p parts && table 1 300 >parts/train.csv && table 301 400 >parts/test.csv && echo notes >parts/notes.txt
    train --data parts --out prun # no validation part: what is beside the others is none
    echo more >>parts/notes.txt
    expect 0 "$wick" train --resume prun --epochs 3 && lacks err "has changed"
    table 401 460 >parts/val.csv && mkdir -p val && echo 1 >val/a.csv
    train --data parts --out pval # by parts/val.csv, not by what the working directory has under that name
    echo 2 >>val/a.csv
    expect 0 "$wick" train --resume pval --epochs 3 && expect 0 "$wick" eval pval --split validation && lacks err "has changed"
    table 401 461 >parts/val.csv
    expect 0 "$wick" eval pval --split validation && has err "has changed" && expect 3 "$wick" train --resume pval --epochs 4 && has err "has changed"
    table 461 500 >held2.csv && train --data parts --validation held2.csv --out pother # [2] is of that
    expect 0 "$wick" eval pother --split validation && lacks err "has changed"
}
test_main
