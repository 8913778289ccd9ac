# A batch cut into leaves: the bits depend on how many there are, and on nothing else.
. "$(dirname "$0")/lib.sh"
make_data data 1000 100 10 3
net="conv 8 3 same nobias, bn, relu, maxpool 2, dropout 0.2, residual(conv 8 3 same, bn, relu, conv 8 3 same nobias, bn), relu, flatten, linear classes"
# 15 whole batches, and one of 40 samples: with 4 leaves of 16 these are full, full, half full and empty
run=(--data data --net "$net" --augment flip,crop=2 --epochs 2 --batch 64 --ema 0.9 --clip 1 --validation 0)

test_one_leaf_gives_the_bits_of_no_leaves() {
    expect 0 "$wick" train "${run[@]}" --out plain
    expect 0 "$wick" train "${run[@]}" --leaves 1 --out one
    same_tensors plain/last.safetensors one/last.safetensors
    same_tensors plain/best.safetensors one/best.safetensors
    cmp <(without_time plain/log.jsonl) <(without_time one/log.jsonl) || fail "the logs differ"
}
test_bits_depend_on_leaves_alone() {
    for leaves in $(few "1 2 4 8" "1 8"); do
        expect 0 "$wick" train "${run[@]}" --leaves $leaves --threads 1 --out a$leaves
        expect 0 "$wick" train "${run[@]}" --leaves $leaves --threads 2 --workers 2 --out b$leaves
        same_tensors a$leaves/last.safetensors b$leaves/last.safetensors
        [ $leaves = 1 ] || ! cmp -s <(tensors a1/last.safetensors) <(tensors a$leaves/last.safetensors) || fail "leaves change nothing"
    done
}
# In the middle of an epoch, by a signal, and at its end, by --epochs.
test_a_run_that_goes_on_ends_in_the_same_bits() {
    expect 0 "$wick" train "${run[@]}" --leaves 4 --out whole
    expect 0 "$wick" train "${run[@]}" --leaves 4 --epochs "$(few 40 12)" --save-every 7 --out long
    "$wick" train "${run[@]}" --leaves 4 --epochs "$(few 40 12)" --save-every 7 --out cut >out 2>err &
    pid=$!
    for _ in $(seq 500); do
        [ -e cut/last.safetensors.prev ] && break
        sleep 0.01
    done
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ $code = 130 ] || [ $code = 0 ] || { fail "exit code $code" && cat err; }
    expect 0 "$wick" train --resume cut --threads 2
    same_tensors long/last.safetensors cut/last.safetensors
    has cut/options.txt "leaves = 4"
    expect 2 "$wick" train --resume cut --leaves 8
}
test_without_batch_norm_leaves_are_the_gradient_of_the_batch() {
    plain=(--data data --hidden 32 --dropout 0 --epochs 1 --batch 64 --validation 0 --optimizer sgd)
    expect 0 "$wick" train "${plain[@]}" --out d0
    for leaves in 2 8 64; do
        expect 0 "$wick" train "${plain[@]}" --leaves $leaves --out d$leaves
        expect 0 "$wick" compare d0/last.safetensors d$leaves/last.safetensors --tolerance 1e-4 --only "fc*"
    done
}
# After one step from the same weights: each leaf's statistics have the same share.
test_running_statistics_are_the_mean_over_leaves() {
    one=(--data data --net "conv 8 3 same, bn, relu, flatten, linear classes" --epochs 1 --batch 1000 --validation 0)
    expect 0 "$wick" train "${one[@]}" --out e0
    expect 0 "$wick" train "${one[@]}" --leaves 8 --out e8
    expect 0 "$wick" compare e0/last.safetensors e8/last.safetensors --tolerance 1e-4 --only "*running_mean"
    expect 0 "$wick" compare e0/last.safetensors e8/last.safetensors --tolerance 0.01 --only "*running_var"
}
test_narrow_numbers_and_other_tasks_take_leaves() {
    expect 0 "$wick" train "${run[@]}" --leaves 4 --precision bf16 --out bf16
    expect 0 "$wick" train --data data --hidden 16 --leaves 4 --epochs 1 --precision f16 --out f16
    awk 'BEGIN { srand(3); print "a,b,y"; for (i = 0; i < 200; i++) { a = rand(); b = rand(); printf "%f,%f,%f\n", a, b, 3 * a - b } }' >rows.csv
    expect 0 "$wick" train --data rows.csv --leaves 4 --epochs 2 --out rows
    expect 0 "$wick" train --data data --task autoencode --hidden 16 --leaves 4 --epochs 1 --out auto
    expect 0 "$wick" train "${run[@]}" --leaves 4 --transform "flip,normalise,mixup=0.2" --augment none --out mixed
    expect 0 "$wick" report bf16 --out report.html
}
# Masks, teachers, and a network from an ONNX file with batch norm: one leaf has the bits of none, and four train.
test_every_way_to_train_takes_leaves() {
    mkdir -p shapes/images shapes/masks
    awk 'BEGIN { srand(4); for (i = 100; i < 124; i++) { x = "shapes/images/p" i ".pgm"; y = "shapes/masks/p" i "_mask.pgm"
        print "P2 12 12 255" >x; print "P2 12 12 255" >y
        for (k = 0; k < 144; k++) { bright = k % 12 > i % 7; print int(80 * bright + 100 * rand()) >x; print bright >y }; close(x); close(y) } }'
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out taught
    expect 0 "$wick" convert taught taught.onnx --quiet
    ways=("--data shapes --task segment --net conv_8_3_same,bn,relu,conv_classes_1 --validation 0"
        "--data data --hidden 16 --teacher taught" "--data data --model taught.onnx --input-range 0,1")
    for way in "${ways[@]}"; do
        read -ra words <<<"$way"
        words=("${words[@]//_/ }")
        for leaves in 0 1 4; do
            expect 0 "$wick" train "${words[@]}" --batch 8 --epochs 1 --limit 60 --leaves $leaves --force --out way$leaves --quiet
        done
        same_tensors way0/last.safetensors way1/last.safetensors
        cmp -s <(tensors way1/last.safetensors) <(tensors way4/last.safetensors) && fail "leaves change nothing: $way"
    done
}
test_what_cannot_be_cut_is_refused() {
    expect 2 "$wick" train "${run[@]}" --leaves 3 --out bad
    has err "--leaves 3 is no power of two"
    expect 2 "$wick" train "${run[@]}" --leaves 128 --out bad
    has err "--leaves 128 does not divide the batch of 64 samples"
    expect 2 "$wick" train "${run[@]}" --batch 4096 --leaves 16 --out bad
    has err "does not divide the batch of 1000 samples, which are all that there are"
    expect 2 "$wick" train "${run[@]}" --leaves 2 --accumulate 2 --out bad
    has err "--leaves and --accumulate: one of them"
    expect 2 "$wick" train --data data --net "flatten, linear 8, bn, relu, linear classes" --batch 64 --leaves 64 --out bad
    has err "makes leaves of 1 sample of a batch of 64"
    [ ! -e bad ] || fail "a folder was made"
    expect 0 "$wick" train "${run[@]}" --leaves 4 --dry-run
}
test_nan_changes_no_weight() {
    expect 4 "$wick" train "${run[@]}" --leaves 4 --lr 1e30 --clip 0 --optimizer sgd --save-every 1 --out nan
    has err "step 2 met NaN or Inf"
    has err "made NaN or Inf from finite inputs"
    has nan/last.safetensors '"run.step":"1"'
}
test_main
