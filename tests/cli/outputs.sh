# What eval, predict, info and ops print, as text and as JSON.
. "$(dirname "$0")/lib.sh"
make_data data 400 100
"$wick" train --data data --hidden 16 --epochs 6 --batch 20 --out run --quiet >/dev/null || exit 1

test_eval() {
    expect 0 "$wick" eval run && has out accuracy && has out loss
    expect 0 "$wick" eval run/best.safetensors --json && valid_json out
    [ "$(json out images)" = 100 ] || fail "not all images were counted"
    best=$("$wick" info run --json | sed -n 's/.*"accuracy": "\([^"]*\)".*/\1/p')
    awk -v a="$best" -v b="$(json out accuracy)" 'BEGIN { exit !(a - b < 1e-6 && b - a < 1e-6) }' ||
        fail "eval measured $(json out accuracy), train had said $best"
    expect 0 "$wick" eval run --split train --data data --json && [ "$(json out images)" = 400 ] || fail "train split"
    expect 0 "$wick" eval run/last.safetensors --quiet
}
test_eval_does_not_depend_on_threads() {
    one=$("$wick" eval run --json --threads 1 | sed 's/"seconds.*classes/classes/')
    three=$("$wick" eval run --json --threads 3 | sed 's/"seconds.*classes/classes/')
    [ "$one" = "$three" ] || fail "'$one' and '$three'"
}
test_predict() {
    expect 0 "$wick" predict run --index 0,3-4 && has out "#0:" && has out "#3:" && has out "#4:"
    has out "taken for" && has out "###" && lacks out $'\x1b'
    [ "$(grep -c ' %' out)" = 30 ] || fail "not ten bars for each of three images"
    expect 0 "$wick" predict run --top 3 && [ "$(grep -c ' %' out)" = 3 ] || fail "--top 3"
    expect 0 "$wick" predict run --color always && has out $'\x1b[38;5;' && has out $'\xe2\x96\x80'
    expect 0 "$wick" predict run --index 0-9 --json && valid_json out
    [ "$(grep -o '"predicted":' out | wc -l)" = 10 ] || fail "not ten predictions"
    expect 2 "$wick" predict run --index 100 && has err "0 to 99"
    expect 2 "$wick" predict run --index 0,100 --json && valid_json out
}
test_split_that_is_not_there() {
    mkdir -p train-only && cp data/train-* train-only
    expect 3 "$wick" eval run --data train-only && has err "--split train"
    expect 3 "$wick" predict run --data train-only --json && valid_json out && has out "--split train"
    expect 0 "$wick" eval run --data train-only --split train
    expect 3 "$wick" eval run --data nowhere && lacks err "--split"
}
test_images_that_are_not_flat() {
    mkdir -p deep && cp data/*labels* deep
    for split in train t10k; do
        { printf '\0\0\10\4'; tail -c +5 data/$split-images-idx3-ubyte | head -c 12; printf '\0\0\0\1'
            tail -c +17 data/$split-images-idx3-ubyte; } >deep/$split-images-idx4-ubyte
    done
    expect 0 "$wick" train --data deep --hidden 8 --epochs 1 --out deep-run
    expect 0 "$wick" predict deep-run --index 0-2 && has out "#2:"
    [ "$(grep -c "no pictures: .* 3 dims" err)" = 1 ] || fail "it said: $(cat err)"
    expect 0 "$wick" predict deep-run --json && lacks err pictures
}
test_info() {
    expect 0 "$wick" info && has out version && has out tier && has out threads && has out "numerics  tier="
    expect 0 "$wick" info --json && valid_json out
    expect 0 "$wick" info --threads 1 --json && [ "$(json out threads)" = 1 ] || fail "--threads 1"
    expect 0 "$wick" info run && has out fc1.weight && has out "[16, 100]" && has out "mlp:16" && lacks out optim.
    expect 0 "$wick" info run/last.safetensors && has out optim.step && has out option.epochs
    expect 0 "$wick" info run/last.safetensors --json && valid_json out
}
test_ops() {
    expect 0 "$wick" ops && has out matmul && has out relu && has out "max(a, 0)"
    expect 0 "$wick" ops --json && valid_json out && has out '"name": "softmax"'
}
test_output_that_can_not_be_written() {
    [ -e /dev/full ] || return 0
    code=0
    "$wick" ops >/dev/full 2>err || code=$?
    [ "$code" = 1 ] || fail "exit code $code for a full standard output"
    has err "standard output"
}
test_main
