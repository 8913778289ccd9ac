# The examples run: train_mlp on a small set, and xor solves its puzzle.
xor=$3
. "$(dirname "$0")/lib.sh"

test_train_mlp() {
    make_data data 500 200 28
    expect 0 "$wick" data 3 && [ "$(grep -c '^loss .* accuracy ' out)" = 3 ] || fail "not three epochs"
    make_data other 40 20 8
    expect 1 "$wick" other && has err "28 x 28"
    expect 1 "$wick" nowhere && has err nowhere
}
test_xor() { expect 0 "$xor" && has out "4 of 4 right"; }
test_main
