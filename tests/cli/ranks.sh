# Several ranks train one model: the same bits on any number of them, and what happens to one happens to all.
. "$(dirname "$0")/lib.sh"
export WICK_GROUP_TIMEOUT=20
make_data data 1000 100 10 3
net="conv 8 3 same nobias, bn, relu, maxpool 2, dropout 0.2, residual(conv 8 3 same, bn, relu, conv 8 3 same nobias, bn), relu, flatten, linear classes"
# 900 samples are learned from: 14 whole batches, and one of 4 samples, which are half of the first leaf
run=(--data data --net "$net" --augment flip,crop=2 --epochs 2 --batch 64 --ema 0.9 --clip 1 --leaves 8)
ranks() { # N COMMAND...
    local n=$1
    shift
    "$wick" launch -n "$n" "$wick" "$@"
}
alone() { [ -e alone/last.safetensors ] || expect 0 "$wick" train "${run[@]}" --out alone; }

test_the_bits_are_those_of_one_process() {
    alone
    for n in $(few "1 2 3 4 8" "3 8"); do
        expect 0 ranks $n train "${run[@]}" --out on$n --threads 1
        same_tensors alone/last.safetensors on$n/last.safetensors
        same_tensors alone/best.safetensors on$n/best.safetensors
        cmp <(without_time alone/log.jsonl) <(without_time on$n/log.jsonl) || fail "the logs of 1 and $n ranks differ"
    done
    expect 0 ranks 3 train "${run[@]}" --out workers --workers 2 --quiet && same_tensors alone/last.safetensors workers/last.safetensors
}
# In every step ranks have other leaves, also while batches were made ahead for those of before.
test_the_bits_stay_while_leaves_move_in_every_step() {
    alone
    for n in $(few "1 2 3 4" 3); do
        expect 0 ranks $n train "${run[@]}" --shares shuffle --out moving$n --threads 1 --workers $((n % 3))
        same_tensors alone/last.safetensors moving$n/last.safetensors
        same_tensors alone/best.safetensors moving$n/best.safetensors
        cmp <(without_time alone/log.jsonl) <(without_time moving$n/log.jsonl) || fail "the logs of 1 and $n ranks differ"
        [ $n = 1 ] || [ "$(grep -c '"shares": \[' moving$n/log.jsonl)" = 30 ] || fail "leaves of $n ranks did not move in every step"
    done
    expect 0 "$wick" report moving3 --out moving.html
    expect 0 ranks 2 train "${run[@]}" --shares even --json --out still && has out '"moves": 0' && has out '"shares": [4, 4]'
    ! grep -q shares still/log.jsonl || fail "leaves moved"
}
# Rank 1 is stopped for most of the time.
test_a_rank_that_is_slow_gets_fewer_leaves() {
    brief && { echo "  skipped: it is about time, of which sanitizers take most"; return 0; }
    expect 0 "$wick" train "${run[@]}" --epochs 20 --out even20
    "$wick" launch -n 2 "$wick" train "${run[@]}" --epochs 20 --out slow --threads 1 --json --profile slow.trace.json >out 2>err &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        child=$(rank_of $pid 1) && kill -STOP "$child" && sleep 0.02 && kill -CONT "$child"
        sleep 0.004
    done 2>/dev/null
    code=0
    wait $pid || code=$?
    [ $code = 0 ] || { fail "exit code $code" && cat err; }
    same_tensors even20/last.safetensors slow/last.safetensors
    cmp <(without_time even20/log.jsonl) <(without_time slow/log.jsonl) || fail "the logs differ"
    grep -q '"shares": \[[567], [123]\]' slow/log.jsonl || fail "no leaf went to rank 0"
    has err 'on rank 1'
    grep -q '"leaves move"' slow.trace.json && grep -q '"sum of ranks"' slow.trace.json || fail "the timeline does not show it"
}
# All ranks write into one file, also where one is killed; a clock that is 5000 s ahead is told and taken off.
test_a_timeline_has_a_process_for_each_rank() {
    alone
    expect 0 ranks 3 train "${run[@]}" --out traced --threads 1 --profile all.trace.json --profile all.txt
    same_tensors alone/last.safetensors traced/last.safetensors
    valid_json all.trace.json
    for n in 1 2 3; do
        has all.trace.json "\"pid\":$n,\"args\":{\"name\":\"wick, rank $((n - 1))\"}"
        [ "$(grep "\"pid\":$n," all.trace.json | grep -c '"sum of ranks"')" = 30 ] || fail "rank $((n - 1)) has other sums"
    done
    [ "$(grep -c '^sum of ranks' all.txt)" = 1 ] || fail "the tables are not those of rank 0"
    expect 0 ranks 2 eval traced --data data --profile all.trace.json && valid_json all.trace.json && has all.trace.json '"wick, rank 1"'
    command -v python3 >/dev/null && unshare -T --monotonic 5000 true 2>/dev/null || return 0
    "$wick" launch -n 2 sh -c '[ $WICK_RANK = 0 ] || set -- unshare -T --monotonic 5000 "$@"; exec "$@"' sh "$wick" train "${run[@]}" --out ahead --threads 1 --profile ahead.trace.json >out 2>err || fail "with another clock"
    python3 - <<'PY' || fail "the clock was not taken off"
import json
sums = [[e for e in json.load(open("ahead.trace.json")) if e.get("name") == "sum of ranks" and e["pid"] == pid] for pid in (1, 2)]
assert len(sums[0]) == len(sums[1]) == 30
# no rank has a sum before the other has begun its own
assert all(a["ts"] < b["ts"] + b["dur"] + 1e5 and b["ts"] < a["ts"] + a["dur"] + 1e5 for a, b in zip(*sums))
PY
}
test_samples_that_are_mixed_and_narrow_numbers_too() {
    mixed=(--transform "flip,normalise,mixup=0.2" --augment none --precision bf16)
    expect 0 "$wick" train "${run[@]}" "${mixed[@]}" --out mixed1
    expect 0 ranks 3 train "${run[@]}" "${mixed[@]}" --out mixed3
    same_tensors mixed1/last.safetensors mixed3/last.safetensors
}
test_plateau_and_patience_follow_rank_0() {
    rows=(--data data --hidden 16 --batch 96 --leaves 4 --epochs 8 --patience 1 --schedule plateau --lr-patience 0 --lr 0.1)
    expect 0 "$wick" train "${rows[@]}" --out plateau1
    expect 0 ranks 4 train "${rows[@]}" --out plateau4
    same_tensors plateau1/last.safetensors plateau4/last.safetensors
    has err "stopped early"
}
# Each rank measures some batches of 100; what comes of all has the bits of one process, for every kind of task.
test_measuring_is_shared_too() {
    make_data many 4000 60 10 1
    awk 'BEGIN { srand(3); print "a,b,y,z"; for (i = 0; i < 3000; i++) { a = rand(); b = rand(); printf "%f,%f,%f,%f\n", a, b, 3 * a - b, a * b } }' >rows.csv
    mkdir -p shapes/images shapes/masks
    awk 'BEGIN { srand(4); for (i = 1000; i < 2800; i++) { x = "shapes/images/p" i ".pgm"; y = "shapes/masks/p" i "_mask.pgm"
        print "P2 6 6 255" >x; print "P2 6 6 255" >y
        for (k = 0; k < 36; k++) { bright = k % 6 > i % 5; print int(80 * bright + 100 * rand()) >x; print bright >y }; close(x); close(y) } }'
    ways=("--data many --hidden 16" "--data many --hidden 16 --class-weights balanced" "--data many --task autoencode --hidden 8"
        "--data rows.csv --target y,z --hidden 8" "--data shapes --task segment --net conv_8_3_same,relu,conv_classes_1")
    for way in "${ways[@]}"; do
        read -ra words <<<"$way"
        words=("${words[@]//_/ }")
        expect 0 "$wick" train "${words[@]}" --validation 0.6 --batch 64 --leaves 4 --epochs 2 --force --out way1
        expect 0 ranks 3 train "${words[@]}" --validation 0.6 --batch 64 --leaves 4 --epochs 2 --force --out way3
        same_tensors way1/best.safetensors way3/best.safetensors
        cmp <(without_time way1/log.jsonl) <(without_time way3/log.jsonl) || fail "the logs differ: $way"
        grep -q valid_loss way1/log.jsonl || fail "nothing was measured: $way"
    done
}
long=("${run[@]}" --epochs 4000 --save-every 5 --quiet)
begin() { # N FOLDER: until it has saved; sets pid
    "$wick" launch -n "$1" "$wick" train "${long[@]}" --out "$2" >out 2>err &
    pid=$!
    for _ in $(seq 1000); do
        [ -e "$2/last.safetensors.prev" ] && return 0
        sleep 0.02
    done
    fail "$2 was never saved" && cat err
}
ended() { # CODE...: within 5 s of now; the code is one of these
    local start=$SECONDS code=0
    wait $pid || code=$?
    [ $((SECONDS - start)) -le 6 ] || fail "it took $((SECONDS - start)) s to end"
    case " $* " in *" $code "*) ;; *) fail "exit code $code, not $*" && cat err ;; esac
}
goes_on() { # FOLDER N: for two epochs more
    expect 0 ranks "$2" train --resume "$1" --epochs $(($(grep -c train_loss "$1/log.jsonl") + 2)) --quiet
}
test_a_signal_to_one_rank_stops_all_at_the_same_step() {
    begin 3 stopped
    kill -TERM "$(rank_of $pid 2)"
    ended 130
    has err "interrupted after step"
    goes_on stopped 2
    begin 2 asked
    kill -TERM $pid
    ended 130
    has err "interrupted after step"
}
test_a_rank_that_is_killed_ends_all_and_is_named() {
    begin 3 killed
    kill -KILL "$(rank_of $pid 1)"
    ended 1 137
    has err "rank 1"
    goes_on killed 2
}
test_killed_and_gone_on_with_by_fewer_ends_in_the_same_bits() {
    many=("${run[@]}" --epochs "$(few 24 12)")
    expect 0 "$wick" train "${many[@]}" --out undisturbed
    for attempt in $(few "4 2 3 1" "4 1"); do
        if [ -e often/last.safetensors ]; then
            "$wick" launch -n $attempt "$wick" train --resume often --threads 1 >out 2>err &
        else
            "$wick" launch -n $attempt "$wick" train "${many[@]}" --save-every 3 --out often --threads 1 >out 2>err &
        fi
        pid=$!
        sleep 0.2
        child=$(rank_of $pid $((attempt - 1))) && kill -KILL "$child"
        wait $pid
    done 2>/dev/null
    if [ -e often/last.safetensors ]; then expect 0 ranks 3 train --resume often; else expect 0 ranks 3 train "${many[@]}" --out often; fi
    same_tensors undisturbed/last.safetensors often/last.safetensors
}
test_ranks_that_differ_are_told_what_differs() {
    each() { "$wick" launch -n 2 sh -c "exec \"$wick\" train $1 --out differ --leaves 4 --epochs 1"; }
    expect 2 each '--data data --hidden 16 --lr 0.0$((WICK_RANK + 1))' && has err "--lr differs: 0.01 on rank 0, 0.02 on rank 1"
    expect 2 each '--data data --hidden 16 --shares $([ $WICK_RANK = 0 ] && echo speed || echo even)' && has err "--shares differs: speed on rank 0, even on rank 1"
    expect 2 each '--data data --hidden 16 --seed $((WICK_RANK + 1))' && has err "--seed differs: 1 on rank 0, 2 on rank 1"
    make_data data0 300 30 10 3
    cp -r data0 data1
    printf 'x' | dd of=data1/train-images-idx4-ubyte bs=1 seek=$((16 + 300 * 130)) conv=notrunc 2>/dev/null
    expect 2 each '--data data$WICK_RANK --hidden 16 --input-range 0,1'
    has err "differs"
    [ ! -e differ ] || fail "a folder was made"
}
test_what_ranks_cannot_share_is_refused() {
    expect 2 ranks 2 train --data data --hidden 16 --out bad && has err "give --leaves V, a power of two of at least 2"
    expect 2 ranks 3 train --data data --hidden 16 --leaves 2 --out bad && has err "--leaves 2 are too few for 3 ranks"
    [ ! -e bad ] || fail "a folder was made"
}
test_restarts_with_fewer_ranks_end_in_the_same_bits() {
    [ -e undisturbed/last.safetensors ] || expect 0 "$wick" train "${run[@]}" --epochs "$(few 24 12)" --out undisturbed
    killed_ranks restarted "${run[@]}" --epochs "$(few 24 12)"
    same_tensors undisturbed/last.safetensors restarted/last.safetensors
}
by_mpi() { # LAUNCHER NAME ARGUMENT...
    local launcher=$1 name=$2
    shift 2
    command -v "$launcher" >/dev/null || { echo "  skipped: no $launcher"; return 0; }
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # MPI's own
    alone
    expect 0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$launcher" "$@" -n 3 "$wick" train "${run[@]}" --out "$name" --threads 1
    has err "over $name"
    same_tensors alone/last.safetensors "$name/last.safetensors"
}
test_ranks_of_open_mpi() { by_mpi mpirun.openmpi "Open MPI" --oversubscribe; }
test_ranks_of_mpich() { by_mpi mpirun.mpich MPICH; }
# A picture that is damaged while ranks train: the rank that needs it says so, the others that it has left.
test_a_sample_that_one_rank_cannot_read_ends_all() {
    mkdir -p pictures/a pictures/b
    for i in $(seq 32); do
        for class in a b; do
            { printf 'P5\n8 8\n255\n' && head -c 64 /dev/zero | tr '\0' $class; } >pictures/$class/$i.pgm
        done
    done
    "$wick" launch -n 4 "$wick" train --data pictures --hidden 8 --batch 32 --leaves 4 --validation 0 --epochs 100000 --save-every 5 --out unread --quiet >out 2>err &
    pid=$!
    for _ in $(seq 1000); do
        [ -e unread/last.safetensors.prev ] && break
        sleep 0.02
    done
    for i in $(seq 32); do head -c 30 pictures/b/$i.pgm >short && mv short pictures/a/$i.pgm; done
    ended 1 3
    has err "damaged PNM"
}
test_sums_that_travel_early_have_the_same_bits() {
    early=("${run[@]}" --epochs 2) # the first is the best one, so the look at the test set is at other weights than the last
    early_net="conv 8 3 same nobias, bn, relu, maxpool 2, dropout 0.2, residual(conv 8 3 same, bn, relu, conv 8 3 same nobias, bn), relu, flatten, linear 256, relu, linear 256, relu, linear classes"
    expect 0 "$wick" train "${early[@]}" --net "$early_net" --force --out ashore
    for how in "2 --sums early" "3 --sums early --shares shuffle" "4 --sums late" "3 --shard-optimizer"; do
        read -ra words <<<"$how"
        expect 0 ranks "${words[@]:0:1}" train "${early[@]}" --net "$early_net" "${words[@]:1}" --force --out afloat
        same_tensors ashore/last.safetensors afloat/last.safetensors
        cmp <(without_time ashore/log.jsonl | sed 's/, "shares.*//') <(without_time afloat/log.jsonl | sed 's/, "shares.*//') || fail "the logs differ: $how"
    done
    expect 4 ranks 3 train "${run[@]}" --sums early --lr 1e30 --clip 0 --optimizer sgd --save-every 1 --force --out nan
    has err "step 2 met NaN or Inf"
    each() { "$wick" launch -n 2 sh -c "exec \"$wick\" train $1 --out differ --leaves 4 --epochs 1"; }
    expect 2 each '--data data --hidden 16 --sums $([ $WICK_RANK = 0 ] && echo early || echo late)' && has err "--sums differs: early on rank 0, late on rank 1"
}
test_the_test_set_is_looked_at_by_all_ranks() {
    few=(--data data --hidden 8 --batch 64 --leaves 4 --epochs 2 --ema 0.9)
    expect 0 "$wick" train "${few[@]}" --out once
    grep -q test_loss once/log.jsonl || fail "no look"
    for way in "" --shard-optimizer "--mode fast --wire bf16"; do
        read -ra words <<<"$way"
        rm -f looks.pftrace
        expect 0 ranks 3 train "${few[@]}" "${words[@]}" --force --out thrice --profile looks.pftrace
        [ "$(grep -ao "look at the test set" looks.pftrace | wc -l)" = 3 ] || fail "not all three looked: $way"
        grep -q test_loss thrice/log.jsonl || fail "no look: $way"
        [[ $way = *fast* ]] && continue
        cmp <(without_time once/log.jsonl) <(without_time thrice/log.jsonl) || fail "the logs differ: $way"
        same_tensors once/last.safetensors thrice/last.safetensors
    done
}
test_nan_on_one_rank_stops_all() {
    expect 4 ranks 4 train "${run[@]}" --lr 1e30 --clip 0 --optimizer sgd --save-every 1 --out nan
    has err "step 2 met NaN or Inf"
    has nan/last.safetensors '"run.step":"1"'
}
test_dry_runs_and_runs_that_are_done_are_told_by_rank_0() {
    alone
    expect 0 ranks 2 train "${run[@]}" --out dry --dry-run
    [ "$(grep -c '^network' out)" = 1 ] || fail "told by several ranks"
    expect 0 ranks 2 train --resume alone
    has err "already trained for 2 epochs"
}
test_main
