# wick train: it learns, tells how, and does what its options say.
. "$(dirname "$0")/lib.sh"
make_data data 400 100
quick=(--data data --hidden 16 --epochs 3 --batch 30)

test_it_learns() {
    expect 0 "$wick" train --data data --hidden 32 --epochs 12 --batch 20 --out learns --json && valid_json out
    awk -v a="$(json out best_accuracy)" 'BEGIN { exit !(a > 0.9) }' || fail "accuracy $(json out best_accuracy)"
    [ "$(json out steps)" = 240 ] || fail "$(json out steps) steps"
    has err "epoch 12/12"
    lacks err $'\r'
}
test_result_is_a_path() {
    expect 0 "$wick" train "${quick[@]}" --out path
    [ "$(cat out)" = path/best.safetensors ] || fail "printed '$(cat out)'"
}
test_live_line_on_a_terminal() {
    command -v script >/dev/null || return 0
    make_data large 3000 100 28
    local epochs=3
    for columns in 40 80 150; do
        while :; do # a fast machine is done before there is a line to draw: more epochs
            rm -rf live
            script -qec "stty cols $columns; NO_COLOR= '$wick' train --data large --epochs $epochs --hidden 300,300 --out live" \
                /dev/null >out 2>&1 </dev/null
            tr '\r' '\n' <out | sed 's/\x1b\[[0-9;]*[mK]//g' | grep -E ' ([0-9]+:)?[0-9]+:[0-9]{2}( left)?$' >lines
            if [ -s lines ] || [ "$epochs" -gt 1000 ]; then break; fi
            epochs=$((epochs * 4))
        done
        has out $'\r\x1b[2K'
        width=$(awk 'length > most { most = length } END { print most + 0 }' lines)
        [ "$width" -lt "$columns" ] || fail "a line of $width at $columns columns"
        [ -s lines ] || fail "no time left at $columns columns"
        # Once a line was too long they stay short.
        [ "$(sed 's/^\(epoch\).*/\1/; t; s/.*\(left\)$/\1/; t; s/.*/numbers/' lines | uniq | sort | uniq -d)" = "" ] || fail "lines change to and fro"
    done
    [ "$(tr '\r' '\n' <out | grep -c "epoch .*/$epochs")" -ge 3 ] || fail "no epochs"
}
test_quiet() { expect 0 "$wick" train "${quick[@]}" --out quiet --quiet && [ ! -s err ] || fail "it talked"; }
test_same_seed_same_bits() {
    expect 0 "$wick" train "${quick[@]}" --out a --threads 1
    expect 0 "$wick" train "${quick[@]}" --out b --threads 3
    expect 0 "$wick" train "${quick[@]}" --out c --seed 2
    same_tensors a/last.safetensors b/last.safetensors
    ! cmp -s <(tensors a/last.safetensors) <(tensors c/last.safetensors) || fail "another seed made the same weights"
}
test_workers_change_no_bit_and_say_who_waits() {
    make_data images 200 50 10 3
    for workers in 0 1 4; do
        expect 0 "$wick" train --data images --arch cnn --augment flip,crop=2 --epochs 2 --batch 16 --workers $workers --verbose --out w$workers
        has err "images/s"
        has err "$workers worker"
        grep -Eq "(waits [0-9]+ % of the time|Batches wait)" err || fail "nobody waits"
        same_tensors w0/last.safetensors w$workers/last.safetensors
        cmp <(metadata w0/last.safetensors) <(metadata w$workers/last.safetensors) || fail "the metadata differ"
    done
    expect 2 "$wick" train "${quick[@]}" --workers 129 --out many
    has err "--workers must be from 0 to 128"
    expect 0 "$wick" train "${quick[@]}" --out few
    lacks err "images/s"
}
test_transforms() {
    make_data images 200 50 10 3
    # The list says what --augment says, to the bit.
    expect 0 "$wick" train --data images --arch cnn --augment flip,crop=2 --epochs 2 --batch 16 --out augmented
    expect 0 "$wick" train --data images --arch cnn --transform "crop=2,flip,normalise" --epochs 2 --batch 16 --out listed
    same_tensors augmented/last.safetensors listed/last.safetensors
    colours="resizedcrop=10x10:0.5:1,flip=0.3,jitter=0.4:0.4:0.4:0.1,grey=0.2,normalise,erase=0.3"
    for workers in 0 3; do
        expect 0 "$wick" train --data images --arch cnn --transform "$colours" --epochs 2 --batch 16 --workers $workers --adaptive --out colours$workers
    done
    same_tensors colours0/last.safetensors colours3/last.safetensors
    expect 0 "$wick" train --resume colours0 --epochs 3
    # Mixed samples and classes: the same for any number of workers, also when the run goes on within an epoch, and what is learned knows the pictures.
    mixing="flip,normalise,mixup=0.2,cutmix=1"
    for workers in 0 3; do
        expect 0 "$wick" train --data images --arch cnn --transform "$mixing" --label-smoothing 0.1 --epochs 2 --batch 16 --workers $workers --out mixed$workers
        same_tensors mixed0/last.safetensors mixed$workers/last.safetensors
    done
    expect 0 "$wick" train --data images --arch cnn --transform "normalise" --label-smoothing 0.1 --epochs 2 --batch 16 --out unmixed
    ! cmp -s <(tensors mixed0/last.safetensors) <(tensors unmixed/last.safetensors) || fail "nothing was mixed"
    expect 0 "$wick" train --data data --hidden 32 --epochs 12 --batch 20 --transform "normalise,mixup=0.2" --out learns_mixed --json
    awk -v a="$(json out best_accuracy)" 'BEGIN { exit !(a > 0.9) }' || fail "accuracy $(json out best_accuracy) with mixup"
    expect 2 "$wick" train --data images --transform "mixup=1,normalise" --out bad && has err "come last"
    expect 2 "$wick" train --data images --transform "flip,blur,normalise" --out bad
    has err "column 6"
    expect 2 "$wick" train --data images --transform "flip" --out bad
    has err '"normalise" belongs to it'
    expect 2 "$wick" train --data images --transform "normalise=0.5/0.5" --out bad
    expect 2 "$wick" train --data images --transform "cut=8x8,normalise" --out bad
    has err "8 x 8 of those of 10 x 10"
    expect 2 "$wick" train --data images --transform "normalise" --augment flip --out bad
    expect 2 "$wick" train --resume colours0 --transform "normalise"
}
test_convolutional_networks_at_any_number_of_threads() {
    make_data images 200 50 10 3
    for arch in cnn resnet8 dscnn; do
        for threads in 1 2 3; do
            expect 0 "$wick" train --data images --arch $arch --augment flip,crop=2 --epochs 2 --batch 16 --threads $threads --out $arch$threads
        done
        for file in last best; do
            for threads in 2 3; do
                same_tensors ${arch}1/$file.safetensors $arch$threads/$file.safetensors
                cmp <(metadata ${arch}1/$file.safetensors) <(metadata $arch$threads/$file.safetensors) || fail "$arch: the metadata differ"
            done
        done
    done
}
test_options_of_the_optimizers() {
    i=0
    for options in "--optimizer sgd" "--optimizer sgd --nesterov --weight-decay 0.001" "--dropout 0.5" \
        "--optimizer adamw --weight-decay 0.1" "--clip 0.5" "--accumulate 3" "--schedule step --lr-every 5" \
        "--optimizer adamax" "--optimizer nadam" "--optimizer radam --beta2 0.9" "--optimizer rmsprop --momentum 0.5" "--optimizer adagrad" \
        "--optimizer adadelta" "--optimizer lamb --weight-decay 0.01" "--optimizer lion --beta1 0.8" "--optimizer adam --beta1 0 --amsgrad" \
        "--schedule multistep --lr-at 5,20 --lr-gamma 0.1" "--schedule exponential --lr-gamma 0.9" "--schedule restarts --lr-every 10 --lr-mult 2" \
        "--schedule onecycle --lr-rise 0.4" "--schedule polynomial --lr-power 2 --lr-min 0.0001" "--schedule plateau --lr-patience 0" \
        "--optimizer muon --weight-decay 0.01" "--optimizer muon --momentum 0" "--label-smoothing 0.1" "--ema 0.9" \
        "--schedule constant --warmup 4" "--batch 1000" "--lr-min 0.0001" "--hidden 8,8"; do
        i=$((i + 1))
        expect 0 "$wick" train "${quick[@]}" --out options$i $options
    done
}
# At a rate that changes nothing no epoch is better: the rate falls after the third and fifth.
test_plateau_lowers_the_rate_also_of_a_resumed_run() {
    plateau=(--data data --hidden 8 --batch 50 --optimizer sgd --lr 1e-6 --warmup 0 --schedule plateau --lr-patience 1 --lr-gamma 0.1)
    expect 0 "$wick" train "${plateau[@]}" --epochs 6 --out flat --log flat.jsonl
    expect 0 "$wick" train "${plateau[@]}" --epochs 3 --out half --log half.jsonl
    expect 0 "$wick" train --resume half --epochs 6
    same_tensors flat/last.safetensors half/last.safetensors
    rates() { grep -o '"lr": [^,]*' "$1" | uniq; }
    [ "$(rates flat.jsonl | tr '\n' ' ')" = '"lr": 1e-06 "lr": 1e-07 "lr": 1e-08 ' ] || fail "$(rates flat.jsonl)"
    cmp <(rates flat.jsonl) <(rates half.jsonl) || fail "other rates: $(rates half.jsonl)"
}
test_early_stopping() {
    expect 0 "$wick" train "${quick[@]}" --epochs 200 --patience 2 --lr 1e-12 --out early --json
    has out '"stopped_early": true'
    [ "$(json out epochs)" -lt 200 ] || fail "it did not stop"
}
# A small and easy test set is soon recognised as a whole; the loss goes on falling.
test_at_equal_accuracy_the_lower_loss_is_better() {
    expect 0 "$wick" train --data data --hidden 32 --epochs 15 --batch 20 --patience 3 --validation test --out ties --log ties.jsonl \
        --json
    sed -n 's/.*"test_loss": \([^,]*\), "test_accuracy": \([^}]*\)}/\1 \2/p' ties.jsonl | awk '
        $2 > accuracy { accuracy = $2; loss = 1e9 }
        $2 == accuracy { ties++ }
        $2 == accuracy && $1 < loss { loss = $1; epoch = NR }
        END { print epoch, loss, ties }' >best
    read -r epoch loss ties <best
    [ "$ties" -gt 3 ] || fail "only $ties epochs had the same accuracy"
    [ "$(json out best_epoch)" = "$epoch" ] || fail "epoch $(json out best_epoch) instead of $epoch"
    [ "$(json out best_loss)" = "$loss" ] || fail "loss $(json out best_loss) instead of $loss"
    has out '"stopped_early": false'
    expect 0 "$wick" info ties && grep -q "epoch  *$epoch\$" out || fail "another checkpoint"
}
test_one_is_singular() {
    make_data single 1 1
    expect 0 "$wick" train --data single --hidden 1 --epochs 1 --threads 1 --patience 1 --out single-run
    has err "1 image, 1 thread" && has err "1 step in" && ! grep -E '\b1 [a-z]+s\b' err || fail "a plural"
    expect 0 "$wick" eval single-run && has err "1 image in"
}
test_log_is_in_the_folder() {
    expect 0 "$wick" train "${quick[@]}" --out logged --json && [ "$(json out log)" = logged/log.jsonl ] || fail "$(json out log)"
    mv logged moved
    expect 0 "$wick" train --resume moved --epochs 4 --json && [ "$(json out log)" = moved/log.jsonl ] || fail "$(json out log)"
    [ "$(grep -c '"loss"' moved/log.jsonl)" = 56 ] || fail "$(grep -c '"loss"' moved/log.jsonl) steps"
    [ "$(grep -c train_loss moved/log.jsonl)" = 4 ] || fail "epochs"
    expect 0 "$wick" train "${quick[@]}" --out elsewhere --log here.jsonl
    [ -s here.jsonl ] && [ ! -e elsewhere/log.jsonl ] || fail "--log"
}
test_log_has_every_step() {
    expect 0 "$wick" train "${quick[@]}" --out log --log log.jsonl
    [ "$(grep -c '"loss"' log.jsonl)" = 42 ] || fail "$(grep -c '"loss"' log.jsonl) steps"
    [ "$(grep -c train_loss log.jsonl)" = 3 ] || fail "epochs"
    if command -v python3 >/dev/null; then
        python3 -c 'import json, sys
rows = [json.loads(line) for line in open("log.jsonl")]
steps = [row["step"] for row in rows if "loss" in row]
assert steps == list(range(1, 43)), steps
assert sum(row["samples"] for row in rows if "samples" in row) == 1200
assert rows[0]["lr"] < rows[1]["lr"], "warm-up"' || fail "the log's content"
    fi
}
test_a_run_is_not_overwritten() {
    expect 0 "$wick" train "${quick[@]}" --out kept
    expect 2 "$wick" train "${quick[@]}" --out kept && has err "--resume kept"
    expect 0 "$wick" train "${quick[@]}" --out kept --force
}
test_without_test_images() {
    mkdir -p train-only && cp data/train-* train-only
    expect 0 "$wick" train "${quick[@]}" --data train-only --out alone && has err "no test images"
}
test_main
