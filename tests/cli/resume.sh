# However a run is interrupted, going on ends in the same bits as a run that was left alone.
. "$(dirname "$0")/lib.sh"
make_data data 2000 100
run=(--data data --hidden 48,24 --dropout 0.3 --epochs 6 --batch 16 --save-every 7 --optimizer adam --accumulate 2)
"$wick" train "${run[@]}" --out whole --log whole.jsonl --quiet >/dev/null || exit 1
cp whole.jsonl whole.expected # runs that go on from a copy of whole write to its log
check_equal() { # FOLDER LOG [WHOLE]
    same_tensors "${3:-whole}/last.safetensors" "$1/last.safetensors"
    same_tensors "${3:-whole}/best.safetensors" "$1/best.safetensors"
    cmp <(without_time "${3:-whole}.expected") <(without_time "$2") || fail "the logs differ"
}

# WICK_KILLS: how often; 50 takes a few minutes. Whatever the number of threads before and after.
kill_often() { # KILLS WHOLE OPTION...: against an undisturbed run in WHOLE, and its log in WHOLE.expected
    wanted=$1 undisturbed=$2
    shift 2
    start=$(date +%s%N)
    "$wick" train "$@" --out timing --force --quiet >/dev/null
    took=$((($(date +%s%N) - start) / 1000000)) # milliseconds of a whole run
    kills=0 resumed=0
    rm -rf killed
    for _ in $(seq $((12 * wanted))); do
        [ $kills -ge $wanted ] && [ $resumed -ge 3 ] && break
        if [ -e killed/last.safetensors ] || [ -e killed/last.safetensors.prev ]; then
            "$wick" train --resume killed --threads $((1 + resumed % 2)) --workers $((resumed % 3)) --quiet >/dev/null 2>killed.err &
            resumed=$((resumed + 1))
        else
            "$wick" train "$@" --out killed --log killed.jsonl --quiet >/dev/null 2>killed.err &
        fi
        pid=$!
        sleep "$(awk -v r=$RANDOM -v t=$took 'BEGIN { printf "%.3f", (0.02 + 0.6 * r / 32768) * t / 1000 }')"
        signals=(KILL KILL KILL HUP PIPE TERM XCPU)
        kill -"${signals[$((RANDOM % 7))]}" $pid 2>/dev/null
        wait $pid 2>/dev/null
        case $? in
            137 | 130 | 129 | 141 | 143 | 152) kills=$((kills + 1)) ;; # at once, saved before, or so early that nothing was to be saved
            0) check_equal killed killed.jsonl "$undisturbed" && rm -rf killed ;; # it was done before: another one
            *) fail "it said: $(cat killed.err)" && break ;;
        esac
    done
    echo "  $kills kills, $resumed times gone on"
    [ $kills -ge "$wanted" ] && [ $resumed -ge 3 ] || fail "too few"
    [ ! -e killed ] || { expect 0 "$wick" train --resume killed && check_equal killed killed.jsonl "$undisturbed"; }
}
test_killed_at_random_moments() { kill_often "${WICK_KILLS:-$(few 5 2)}" whole "${run[@]}"; }
test_convolutional_network_killed_at_random_moments() {
    make_data images 600 60 10 3
    images=(--data images --augment flip,crop=2 --epochs 8 --batch 16 --save-every 7 --net "conv 8 3 same nobias, bn, relu, maxpool 2, dropout 0.2,
        residual(conv 8 3 same, bn, relu, conv 8 3 same nobias, bn), relu, flatten, linear classes")
    expect 0 "$wick" train "${images[@]}" --threads 1 --out images1 --log images1.expected
    expect 0 "$wick" train "${images[@]}" --threads 2 --out images2 --log images2.jsonl
    check_equal images2 images2.jsonl images1
    kill_often "${WICK_KILLS:-4}" images1 "${images[@]}" --threads 2
}
# Waits until FILE has been saved again after a marker.
wait_for() {
    for _ in $(seq 200); do
        [ -e "$1" ] && return 0
        sleep 0.02
    done
    fail "$1 never came"
}
interrupt() { # SIGNAL FOLDER
    "$wick" train "${run[@]}" --epochs 6 --out "$2" --log "$2.jsonl" --json >out 2>err &
    pid=$!
    wait_for "$2/best.safetensors"
    kill -"$1" $pid
    code=0
    wait $pid || code=$?
    [ $code = 130 ] || [ $code = 0 ] || { fail "exit code $code"; cat err; }
    if [ $code = 130 ]; then
        has err "train --resume $2"
        valid_json out
        has out '"exit": 130'
    fi
    expect 0 "$wick" train --resume "$2"
    check_equal "$2" "$2.jsonl"
}
# A background job of a script ignores SIGINT, unless job control is on.
test_ctrl_c() { set -m; interrupt INT int; set +m; }
test_sigterm() { interrupt TERM term; }
test_terminal_that_closes() { interrupt HUP hup; }
test_limit_of_cpu_time() { interrupt XCPU xcpu; }
test_reader_of_the_output_that_is_gone() { interrupt PIPE pipe; }
test_damaged_checkpoint_falls_back() {
    mkdir damaged
    cp whole/last.safetensors.prev damaged/
    head -c 3000 whole/last.safetensors >damaged/last.safetensors
    cp whole.jsonl damaged.jsonl
    expect 0 "$wick" train --resume damaged && has err "going on from the one before"
    same_tensors whole/last.safetensors damaged/last.safetensors
    cmp -n 3000 damaged/last.safetensors.damaged whole/last.safetensors || fail "the damaged file is gone"
    rm damaged/last.safetensors
    expect 0 "$wick" train --resume damaged
    same_tensors whole/last.safetensors damaged/last.safetensors
    echo junk >damaged/last.safetensors
    echo junk >damaged/last.safetensors.prev
    expect 3 "$wick" train --resume damaged
}
# The line of an epoch comes after its last step, and a checkpoint may lie between the two.
test_log_that_is_a_pipe_is_written_and_not_read() {
    expect 0 "$wick" train --data data --hidden 8 --epochs 1 --batch 16 --out piped --log piped.jsonl --quiet
    rm piped.jsonl && mkfifo piped.jsonl
    timeout 60 cat piped.jsonl >got &
    expect 0 timeout 60 "$wick" train --resume piped --epochs 2 --quiet
    wait $!
    has got '"epoch": 2, "train_loss"'
}
test_log_of_a_checkpoint_at_the_end_of_an_epoch() {
    ends=(--data data --validation test --hidden 8 --epochs 2 --batch 16 --save-every 125 --out ends --log ends.jsonl)
    for stop in killed damaged; do
        expect 0 "$wick" train "${ends[@]}" --force && cp ends.jsonl ends.expected
        if [ $stop = killed ]; then
            mv ends/last.safetensors.prev ends/last.safetensors
        else
            truncate -s 2000 ends/last.safetensors
        fi
        expect 0 "$wick" train --resume ends && has err "going on after step 250 of 250"
        cmp <(without_time ends.expected) <(without_time ends.jsonl) || fail "$stop: the logs differ"
    done
    # From the end of the first epoch, with its line and without.
    expect 0 "$wick" train "${ends[@]}" --epochs 1 --schedule constant --force
    cp ends/last.safetensors.prev before.safetensors
    cp ends/last.safetensors after.safetensors
    expect 0 "$wick" train --resume ends --epochs 2 && cp ends.jsonl ends.expected
    for place in before after; do
        rm ends/* && cp $place.safetensors ends/last.safetensors
        expect 0 "$wick" train --resume ends --epochs 2
        cmp <(without_time ends.expected) <(without_time ends.jsonl) || fail "$place: the logs differ"
    done
}
test_second_training_in_a_folder_is_refused() {
    "$wick" train --data data --hidden 8 --epochs 100000 --out two --quiet >/dev/null 2>&1 &
    pid=$!
    wait_for two/best.safetensors
    for again in "--resume two" "--data data --out two" "--data data --out two --force"; do
        expect 1 timeout 20 "$wick" train $again --json && has err "another training is at work in two"
        valid_json out
    done
    expect 0 "$wick" eval two
    disown $pid # bash would tell of its end
    kill -9 $pid
    expect 0 "$wick" train --resume two --epochs 1 && has err "already trained"
}
test_folder_that_can_not_be_locked() {
    mkdir -p lockless/.lock
    expect 0 "$wick" train --data data --hidden 8 --epochs 1 --out lockless
}
test_file_that_can_not_be_opened_is_not_damaged() {
    cp -r whole odd
    rm odd/last.safetensors && mkdir odd/last.safetensors
    expect 3 "$wick" train --resume odd && [ -d odd/last.safetensors ] || fail "it was taken for a damaged file"
}
test_complete_run_is_left_alone() {
    cp -r whole again
    expect 0 "$wick" train --resume again --json && [ "$(json out epochs)" = 6 ] || fail "epochs"
    same_tensors whole/last.safetensors again/last.safetensors
    state() { stat -c '%n %Y %y %s' again again/* whole.jsonl; cksum again/* whole.jsonl; }
    unchanged=$(state)
    expect 0 "$wick" train --resume again && has err "already trained for 6 epochs; --epochs 6 adds nothing: give more than 6"
    [ "$(cat out)" = again/best.safetensors ] || fail "printed '$(cat out)'"
    # 2 epochs have fewer updates than the run's warm-up, and there is no data to open any more.
    mv data elsewhere
    expect 0 "$wick" train --resume again --epochs 2 --json && valid_json out && has out '"epochs": 6'
    mv elsewhere data
    has err "already trained for 6 epochs; --epochs 2 adds nothing" && lacks err "going on"
    [ "$(state)" = "$unchanged" ] || fail "files were touched"
}
test_stopped_run_is_left_alone() {
    expect 0 "$wick" train "${run[@]}" --lr 1e-30 --patience 1 --out stopped && has err "1 epoch without"
    expect 0 "$wick" train --resume stopped && has err "already stopped in epoch 2 of 6" && has err "--patience above 1"
    expect 0 "$wick" train --resume stopped --patience 2 && has err "going on after"
}
test_means_of_weights_go_on() {
    means=(--data data --hidden 24 --batch 50 --optimizer muon --momentum 0 --weight-decay 0.01 --label-smoothing 0.1 --ema 0.95 --schedule constant)
    expect 0 "$wick" train "${means[@]}" --epochs 4 --warmup 3 --out means --log means.expected
    expect 0 "$wick" train "${means[@]}" --epochs 1 --warmup 3 --out parts --log parts.jsonl
    expect 0 "$wick" train --resume parts --epochs 4
    check_equal parts parts.jsonl means
    # What was measured is what was saved.
    expect 0 "$wick" eval means --json
    best=$(json out loss)
    grep -q "\"test_loss\": ${best:0:7}" means.expected || fail "the loss $best of best.safetensors is in no epoch's line"
}
test_the_same_options_may_be_repeated() {
    cp -r whole repeated
    expect 0 "$wick" train --resume repeated --data data --batch 016 --dropout 0.30 --lr-min 0e0
}
test_more_epochs() {
    cp -r whole longer
    expect 0 "$wick" train --resume longer --epochs 7 --json && [ "$(json out epochs)" = 7 ] || fail "epochs"
}
test_options_that_can_not_change() {
    expect 2 "$wick" train --resume whole --lr 0.5 && has err "--lr" && has err "can't be changed"
    expect 2 "$wick" train --resume whole --clip 3 && has err "started with '0': no limit"
    expect 2 "$wick" train --resume whole --out other
    expect 3 "$wick" train --resume nowhere && has err "nowhere"
}
test_another_architecture_is_refused() {
    cp -r whole other
    expect 2 "$wick" train --resume other --hidden 40,24 --epochs 9 && has err "--hidden 40,24 can't be changed"
    expect 2 "$wick" train --resume other --net "flatten, gelu, linear classes" --epochs 9 && has err "can't be changed"
}
test_changed_data() {
    mkdir -p changing && cp data/* changing
    expect 0 "$wick" train --data changing --hidden 8 --epochs 1 --out changed
    make_data changing 2100 100 10
    expect 3 "$wick" train --resume changed --epochs 2 && has err "changed"
}
test_main
