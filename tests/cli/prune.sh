# wick prune: a trained classifier with fewer channels, or with weights of 0.
. "$(dirname "$0")/lib.sh"

make_run() { # FOLDER NET
    [ -d data ] || make_data data 600 200 12
    [ -d "$1" ] || expect 0 "$wick" train --data data --net "$2" --batch 50 --epochs 6 --quiet --out "$1"
}
conv="conv 16 3 pad 1, bn, relu, conv 16 3 pad 1, bn, relu, maxpool 2, flatten, linear 32, relu, linear classes"
of_products() { json out macs_pruned | awk -v all="$(json out macs_before)" '{ print $1 / all }'; }

test_channels() {
    make_run run "$conv" || return
    expect 0 "$wick" prune run -o small.onnx --macs 0.5 && has out "conv1.weight" && has out "images lost" && has out "times as fast"
    grep -Eq "^conv1.weight +0 +16 +8" out || fail "conv1 has not half of its channels"
    expect 0 "$wick" prune run -o again.onnx --macs 0.5 --json --threads 1 && valid_json out && has out '"within": true'
    cmp small.onnx again.onnx || fail "the same command makes another file"
    awk "BEGIN { exit !($(of_products) <= 0.5 && $(json out weights_pruned) * 1.5 < $(json out weights_before)) }" || fail "$(cat out)"
    # what it says of accuracy is what eval finds
    expect 0 "$wick" prune run -o all.onnx --ratio 0.5 --images 10 --judge 590 --epochs 3 --json && said=$(json out accuracy_pruned)
    expect 0 "$wick" eval all.onnx --data data --json && pruned=$(json out accuracy)
    expect 0 "$wick" eval run --json && whole=$(json out accuracy)
    awk "BEGIN { exit !($whole - $pruned < 0.1 && $said > 0.5) }" || fail "accuracy $whole became $pruned"
    # an ONNX file keeps its input and output, and C can be made of what is left
    expect 0 "$wick" convert run net.onnx --quiet
    expect 0 "$wick" prune net.onnx --data data -o onnx.onnx --ratio 0.5 --quiet && has out " 8"
    expect 0 "$wick" inspect onnx.onnx && has out "image  float [N, " && has out "logits  float [N, "
    expect 0 "$wick" compile small.onnx -o small.c --dim N=1 --quiet && [ -s small.c ] || fail "no C"
}
test_options() {
    make_run run "$conv" || return
    for how in l1 l2 gamma taylor; do
        expect 0 "$wick" prune run -o $how.onnx --ratio 0.4 --multiple 1 --importance $how --judge 64 --quiet && has out conv2.weight
    done
    cmp -s l2.onnx taylor.onnx && fail "--importance has no effect"
    expect 0 "$wick" prune run -o kept.onnx --ratio 0.5 --keep "conv1*" --quiet && grep -Eq "^conv1.weight +0 +16 +16" out || fail "conv1 is pruned"
    expect 0 "$wick" prune run -o global.onnx --ratio 0.4 --multiple 1 --global --quiet
    cmp -s global.onnx l2.onnx && fail "--global has no effect"
    return 0
}
test_weights() {
    make_run run "$conv" || return
    expect 0 "$wick" prune run -o sparse.onnx --sparsity 0.75 --epochs 2 --json && has err "epoch 2/2" &&
        awk "BEGIN { s = $(json out sparsity); exit !(s > 0.74 && s < 0.76) }" || fail "$(json out sparsity) are 0"
    [ "$(json out weights_before)" = "$(json out weights_pruned)" ] || fail "channels went"
    expect 0 "$wick" prune run -o pattern.onnx --pattern 2:4 --json &&
        awk "BEGIN { s = $(json out sparsity); exit !(s > 0.45 && s < 0.55) }" || fail "$(json out sparsity) are 0"
}
test_low_rank() {
    make_run run "$conv" || return
    expect 0 "$wick" prune run -o rank.onnx --low-rank 0.5 --epochs 1 --json &&
        awk "BEGIN { exit !($(json out weights_pruned) * 1.5 < $(json out weights_before)) }" || fail "$(cat out)"
    expect 0 "$wick" eval rank.onnx --data data --json && low=$(json out accuracy)
    awk "BEGIN { exit !($low > 0.5) }" || fail "accuracy $low"
    expect 0 "$wick" prune run -o both.onnx --macs 0.6 --energy 0.9 --multiple 4 --json && awk "BEGIN { exit !($(of_products) <= 0.6) }" || fail "$(cat out)"
    expect 2 "$wick" prune run -o b.onnx --energy 0.9 --low-rank 0.5 && has err "both say"
    # convolutions of 3 x 3, too: fewer numbers, and what eval finds
    for filters in tucker spatial; do
        expect 0 "$wick" prune run -o "$filters.onnx" --low-rank 0.5 --filters $filters --multiple 1 --epochs 1 --json && numbers=$(json out weights_pruned)
        expect 0 "$wick" prune run -o points.onnx --low-rank 0.5 --multiple 1 --json && awk "BEGIN { exit !($numbers < $(json out weights_pruned)) }" || fail "$filters: $numbers"
        expect 0 "$wick" eval "$filters.onnx" --data data --json && low=$(json out accuracy)
        awk "BEGIN { exit !($low > 0.5) }" || fail "$filters: accuracy $low"
    done
    expect 2 "$wick" prune run -o b.onnx --macs 0.5 --filters tucker && has err "needs a rank"
    expect 2 "$wick" prune run -o b.onnx --energy 0.9 --sparsity 0.5 && has err "not for those of low rank"
}
test_bound() {
    make_run run "$conv" || return
    expect 6 "$wick" prune run -o bad.onnx --ratio 0.9 --multiple 1 --max-drop 0 --json && has out '"within": false' &&
        has err "loses more than --max-drop 0 allows"
    [ -s bad.onnx ] || fail "bad.onnx is not there"
    expect 0 "$wick" prune run -o good.onnx --ratio 0.9 --multiple 1 --max-drop 100 --quiet
    # the same as a share of the accuracy
    expect 6 "$wick" prune run -o bad.onnx --ratio 0.9 --multiple 1 --keep-score 1 && has err "100 % of the accuracy: at most 0 points may be lost" && has err "--keep-score 1 allows to lose no more than 0 points"
    expect 0 "$wick" prune run -o good.onnx --ratio 0.9 --multiple 1 --keep-score 0.01 --json && has out '"within": true'
    expect 2 "$wick" prune run -o b.onnx --ratio 0.5 --keep-score 0.9 --max-drop 1 && has err "both say how much may be lost"
    expect 2 "$wick" prune run -o b.onnx --ratio 0.5 --keep-score 1.5 && has err "--keep-score"
}
test_bad_input() {
    make_run run "$conv" || return
    expect 2 "$wick" prune run -o b.onnx && has err "say what is to go"
    expect 2 "$wick" prune run --macs 0.5 && has err "ends in .onnx"
    expect 2 "$wick" prune run -o b.onnx --macs 0.5 --ratio 0.5 && has err "both say"
    expect 2 "$wick" prune run -o b.onnx --sparsity 0.5 --pattern 2:4 && has err "both say"
    expect 2 "$wick" prune run -o b.onnx --sparsity 0.5 --global && has err "--global is about channels"
    expect 2 "$wick" prune run -o b.onnx --pattern 4:2 && has err "--pattern 4:2"
    expect 2 "$wick" prune run -o b.onnx --ratio 1 && has err "--ratio"
    expect 2 "$wick" prune run -o b.onnx --macs 0.0001 && has err "can't be reached"
    expect 2 "$wick" prune run -o b.onnx --ratio 0.5 --keep "nothing*" && has err "no layer"
    expect 3 "$wick" prune nowhere -o b.onnx --macs 0.5 && has err nowhere
    expect 3 "$wick" prune run --data missing -o b.onnx --macs 0.5 && has err missing
    make_run plain "flatten, linear classes" || return
    expect 2 "$wick" prune plain -o b.onnx --ratio 0.5 && has err "no channels that can be removed"
    [ ! -e b.onnx ] || fail "b.onnx was made"
}

test_main
