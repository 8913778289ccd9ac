# Not-a-number, lying files and missing files: the right code, a line that names the culprit, never a crash.
. "$(dirname "$0")/lib.sh"
make_data data 400 100
quick=(--data data --hidden 16 --epochs 3 --batch 20)

test_not_finite_names_step_and_op() {
    expect 4 "$wick" train "${quick[@]}" --optimizer sgd --schedule constant --warmup 0 --lr 1e30 --out nan --json &&
        valid_json out
    has err "step "
    grep -qE "step [0-9]+ met NaN or Inf" err || fail "no step"
    grep -qE "linear|matmul|mul|square|cross_entropy|exp|sub" err || fail "no op: $(cat err)"
    expect 0 "$wick" info nan/last.safetensors # what was saved is whole
}
test_missing_files() {
    expect 3 "$wick" train --data nowhere --out x && has err nowhere
    expect 3 "$wick" train --data ./nowhere/at/all --out x && has err nowhere
    expect 3 "$wick" eval nowhere.safetensors && has err nowhere
    expect 3 "$wick" info nowhere.safetensors --json && valid_json out
    expect 3 "$wick" predict .
}
test_data_is_not_looked_for_beside_the_folder() {
    make_data shared/data/mnist 40 20
    mkdir -p below
    cd below || return
    expect 3 "$wick" train --data mnist && has err WICK_DATA && lacks err shared
    expect 0 env WICK_DATA=../shared/data "$wick" train --data mnist --epochs 1 --hidden 8
    cd ..
}
test_a_folder_of_a_known_name_without_a_set() {
    mkdir -p empty/cifar10/cifar-10-batches-bin
    expect 3 env WICK_DATA=empty "$wick" train --data cifar10 --out x
    has err "empty/cifar10\" is there, but has no train-images" && has err train.tar.gz && lacks err "none of"
    expect 3 env WICK_DATA=nowhere "$wick" train --data cifar10 --out x && has err "in none of: nowhere/cifar10"
    expect 3 "$wick" train --data nowhere --out x && has err "there is no folder \"nowhere\""
}
test_classes_of_other_names_are_told() {
    make_data named/fashion-mnist 40 20
    expect 0 env WICK_DATA=named "$wick" train --data fashion-mnist --hidden 4 --epochs 1 --out named/run
    expect 0 env WICK_DATA=named "$wick" eval named/run && lacks err matched && has err "reading fashion-mnist"
    expect 0 env WICK_DATA=named "$wick" eval named/run --data data && has err "class 0 is '0' in data, and 'T-shirt/top' to the model"
}
test_files_that_are_no_model() {
    expect 0 "$wick" train "${quick[@]}" --out fine --quiet
    expect 3 "$wick" eval fine/log.jsonl && has err "fine/log.jsonl is JSON, as an index of safetensors in shards is, not a checkpoint of wick train"
    head -c 200 fine/best.safetensors >cut.safetensors
    expect 3 "$wick" eval cut.safetensors && has err "header length" && lacks err "not a safetensors"
    expect 3 "$wick" report fine/best.safetensors && has err "is no folder of a run: give the one"
}
test_run_without_a_whole_epoch() {
    expect 4 "$wick" train "${quick[@]}" --optimizer sgd --schedule constant --warmup 0 --lr 1e30 --out begun
    for command in eval predict info; do
        expect 3 "$wick" $command begun && has err "no epoch is done yet" && has err begun/last.safetensors
    done
    expect 0 "$wick" eval begun/last.safetensors
}
test_lying_idx() {
    for damage in short long magic count zero empty label; do
        rm -rf bad && cp -r data bad
        f=bad/train-images-idx3-ubyte
        case $damage in
            short) truncate -s -7 $f ;;
            long) echo more >>$f ;;
            magic) printf '\1\2\3\4' | dd of=$f conv=notrunc status=none ;;
            count) printf '\177\377\377\377' | dd of=$f bs=1 seek=4 conv=notrunc status=none ;;
            zero) printf '\0\0\0\0' | dd of=$f bs=1 seek=8 conv=notrunc status=none ;;
            empty) : >$f ;;
            label) truncate -s -3 bad/train-labels-idx1-ubyte ;;
        esac
        expect 3 "$wick" train "${quick[@]}" --data bad --out x --quiet || echo "  damage: $damage"
    done
    [ ! -e x ] || fail "a run without data made its folder"
}
test_lying_gzip() {
    command -v gzip >/dev/null || return 0
    rm -rf zipped && cp -r data zipped && gzip -n zipped/*
    expect 0 "$wick" train "${quick[@]}" --data zipped --out unzipped
    expect 0 "$wick" train "${quick[@]}" --out plain
    same_tensors plain/last.safetensors unzipped/last.safetensors
    for cut in -9 -1000; do
        rm -rf bad && cp -r zipped bad && truncate -s $cut bad/train-images-idx3-ubyte.gz
        expect 3 "$wick" train "${quick[@]}" --data bad --out x --quiet
    done
    rm -rf bad && cp -r zipped bad
    printf 'xxxxxxxx' | dd of=bad/train-images-idx3-ubyte.gz bs=1 seek=5000 conv=notrunc status=none
    expect 3 "$wick" train "${quick[@]}" --data bad --out x --quiet
}
test_models_that_do_not_fit() {
    expect 0 "$wick" train "${quick[@]}" --out model
    make_data small 40 20 8
    expect 3 "$wick" eval model --data small && has err pixels
    expect 3 "$wick" predict model --data small
    for size in 0 7 8 100 4000; do
        head -c $size model/best.safetensors >cut.safetensors
        expect 3 "$wick" eval cut.safetensors
    done
    cp model/best.safetensors flipped.safetensors
    last=$(($(stat -c %s flipped.safetensors) - 9))
    printf '\377' | dd of=flipped.safetensors bs=1 seek=$last conv=notrunc status=none
    expect 3 "$wick" eval flipped.safetensors
    # A header that says it is a network of terabytes.
    sed 's/"mlp:16,dropout/"mlp:99,dropout/' model/best.safetensors >lying.safetensors && unseal lying.safetensors
    expect 3 "$wick" eval lying.safetensors
}
# alter FILE KEY VALUE: another text in the metadata; one that is shorter is followed by blanks.
alter() {
    local old new="\"$2\":\"$3\""
    old=$(grep -ao "\"$2\":\"[^\"]*\"" "$1" | head -n 1)
    [ -n "$old" ] && [ ${#new} -le ${#old} ] || { fail "$2 can't become '$3'"; return; }
    sed -i "s|$old|$(printf "%-${#old}s" "$new")|" "$1" && unseal "$1"
}
test_network_without_a_number_for_each_class() {
    local runs=(--data data --epochs 1 --quiet --out no-run)
    expect 2 "$wick" train "${runs[@]}" --net "flatten, linear 20" && has err 'gives 20 numbers an image, the data has 10 classes: end it with "linear classes"'
    expect 2 "$wick" train "${runs[@]}" --net "flatten, linear 7" && has err "gives 7 numbers"
    expect 2 "$wick" train "${runs[@]}" --net "conv 4 3, relu, linear classes" && has err "gives [4, 8, 10]" && has err globalpool
    expect 2 "$wick" train "${runs[@]}" --net "conv 10 10" --json && valid_json out && has err "gives [10, 1, 1]"
    [ ! -e no-run ] || fail "a refused network left a folder"
    # Files that say so: nothing is read or written beyond its end, which a sanitizer would see.
    expect 0 "$wick" train --data data --epochs 1 --quiet --net "flatten, linear 30, linear classes" --out wide
    alter wide/best.safetensors arch "net:flatten, linear 20" && alter wide/last.safetensors option.net "flatten, linear 20"
    for command in eval predict report info; do
        expect 3 "$wick" $command wide --json && valid_json out && has err wide/best.safetensors && has err "gives 20 numbers"
    done
    expect 3 "$wick" train --resume wide --epochs 2 && has err "gives 20 numbers"
}
make_sound() {
    expect 0 "$wick" train "${quick[@]}" --warmup 10 --lr 0.001 --momentum 0.9 --optimizer sgd --nesterov --out sound
    mv sound/last.safetensors.prev sound/last.safetensors # two of three epochs
}
test_checkpoint_with_other_metadata() {
    [ -e sound ] || make_sound
    rm -rf tried && cp -r sound tried
    expect 0 "$wick" train --resume tried --quiet
    while read -r key value; do
        rm -rf tried && cp -r sound tried && alter tried/last.safetensors "$key" "$value"
        for also in "" "--epochs 4"; do
            expect 3 "$wick" train --resume tried $also --json || echo "  metadata: $key = '$value'"
            valid_json out
        done
    done <<'END'
option.arch mlq
option.arch
option.hidden 1x
option.hidden
option.dropout 1
option.data
option.epochs 0
option.batch -1
option.optimizer sgx
option.schedule cosinx
option.warmup 99
option.warmup x
option.lr-min 2
option.momentum 0
option.accumulate x
run.epoch 1
run.sample 7
run.step 41
run.step 99
run.correct 9
run.seen 5
run.stale 9
run.best_epoch 9
END
    expect 2 "$wick" train --resume sound --epochs 4 --lr 1 && has err "can't be changed"
    expect 2 "$wick" train --resume sound --epochs 4 --hidden x && has err "--hidden"
    while read -r key value; do
        cp sound/best.safetensors tried.safetensors && alter tried.safetensors "$key" "$value"
        for command in eval predict; do
            expect 3 "$wick" $command tried.safetensors --json || echo "  metadata: $key = '$value'"
            valid_json out
        done
    done <<'END'
arch mlq:8
arch
dims 10,0
dims 10,x
classes 0
classes 1
mean nan
deviation -1
data
END
    expect 0 "$wick" eval tried.safetensors --data data
}
test_checkpoint_with_a_name_that_no_state_has() {
    [ -e sound ] || make_sound
    rm -rf tried && cp -r sound tried
    unseal tried/last.safetensors
    sed -i 's/"optim\.momentum\.fc1\.bias"/"optim.momentum.fc1.bi\\n"/' \
        tried/last.safetensors
    expect 3 "$wick" train --resume tried --json --quiet && valid_json out && has err "control character"
    [ "$(wc -l <err)" = 1 ] || fail "a name made a line of its own"
}
# Under ever more memory, until it is enough: never an empty message, never the code of a wrong command line or file.
test_out_of_memory() {
    least=1000
    while [ $least -lt 40000 ] && ! (ulimit -v $least && "$wick" --version) >/dev/null 2>&1; do
        least=$((least + 20))
    done 2>/dev/null # the shell tells of those that die while they start
    [ $least -lt 40000 ] || { echo "  skipped: it takes too much memory to start, as under a sanitizer"; return 0; }
    "$wick" train "${quick[@]}" --out model --force --quiet >/dev/null || fail "no model"
    refused=0
    for more in $(seq 0 20 400) $(seq 450 50 6000); do
        rm -rf narrow
        for command in "train --data data --hidden 512,256 --epochs 1 --batch 64 --out narrow --threads 2" \
            "eval model --threads 1" "predict model --threads 1" "info model"; do
            (ulimit -v $((least + more)) && exec "$wick" $command) >out 2>err
            code=$?
            [ $code = 0 ] || [ $code = 127 ] && continue # 127: of the loader
            refused=$((refused + 1))
            with="$command with $((least + more)) KiB"
            [ $code = 1 ] || fail "code $code of $with: $(cat err)"
            tail -n 1 err | grep -qE "^wick [a-z]+: .*[a-z]" || fail "$with said '$(cat err)'"
        done
    done
    [ $refused -gt 10 ] || fail "memory was short only $refused times"
}
test_main
