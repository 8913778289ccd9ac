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
    sed 's/"mlp:16,dropout/"mlp:99,dropout/' model/best.safetensors >lying.safetensors
    expect 3 "$wick" eval lying.safetensors
}
test_main
