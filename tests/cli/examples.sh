# The examples run: train_mlp on a small set, finetune on what the command trained, and xor solves its puzzle.
xor=$3 finetune=$4 command=$5
. "$(dirname "$0")/lib.sh"

test_train_mlp() {
    make_data data 500 200 28
    expect 0 "$wick" data 3 && [ "$(grep -c '^loss .* accuracy ' out)" = 3 ] || fail "not three epochs"
    make_data other 40 20 8
    expect 1 "$wick" other && has err "28 x 28"
    expect 1 "$wick" nowhere && has err nowhere
}
test_finetune() {
    make_data data 2000 200
    for arch in "--hidden 32" "--arch resnet8"; do
        expect 0 "$command" train --data data --epochs 4 --out run --force --quiet $arch
        expect 0 "$finetune" run/best.safetensors data 3 || return
        [ "$(grep -c '^accuracy after' out)" = 4 ] || fail "not four measurements"
        # The new head knows nothing, and learns.
        awk '/^accuracy/ { a[n++] = $NF } END { exit !(a[0] < 0.4 && a[3] > 0.7) }' out || { fail "it did not learn"; cat out; }
    done
    has out "fc1.* is new"
    make_data small 100 100 6
    expect 0 "$command" train --data small --epochs 1 --out run --force --quiet --hidden 32
    expect 1 "$finetune" run/best.safetensors data && has err "fc1.weight is f32[32,36] there and f32[32,100] here"
    expect 1 "$finetune" nothing.safetensors && has err "nothing.safetensors"
    expect 1 "$finetune" run/best.safetensors nowhere && has err nowhere
    expect 1 "$finetune" && has err usage
}
test_xor() { expect 0 "$xor" && has out "4 of 4 right"; }
test_main
