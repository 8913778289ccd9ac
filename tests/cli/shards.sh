# --shard-optimizer: ranks that have a part of the optimizer's states end in the bits of one process that has them all.
. "$(dirname "$0")/lib.sh"
export WICK_GROUP_TIMEOUT=20
make_data data 1000 100 10 3
net="conv 8 3 same nobias, bn, relu, maxpool 2, dropout 0.2, residual(conv 8 3 same, bn, relu, conv 8 3 same nobias, bn), relu, flatten, linear classes"
# of a constant rate, which does not depend on how many epochs there are
run=(--data data --net "$net" --augment flip,crop=2 --schedule constant --warmup 0 --epochs 2 --batch 64 --leaves 8 --threads 1)
ranks() { # N COMMAND...
    local n=$1
    shift
    "$wick" launch -n "$n" "$wick" "$@"
}

test_every_rule_has_the_bits_of_one_process() {
    ways=("--optimizer sgd" "--optimizer adamw --clip 1 --ema 0.9" "--optimizer adam --amsgrad --clip 0.5" "--optimizer muon --clip 1"
        "--optimizer lamb" "--optimizer nadam --precision f16 --clip 1" "--optimizer sgd --momentum 0" "--optimizer adamw --precision bf16")
    for way in "${ways[@]}"; do
        read -ra words <<<"$way"
        expect 0 "$wick" train "${run[@]}" "${words[@]}" --force --out one
        for n in $(few "1 2 3 4" 3); do
            expect 0 ranks $n train "${run[@]}" "${words[@]}" --shard-optimizer --force --out on$n
            same_tensors one/last.safetensors on$n/last.safetensors
            same_tensors one/best.safetensors on$n/best.safetensors
            cmp <(without_time one/log.jsonl) <(without_time on$n/log.jsonl) || fail "the logs differ: $n ranks, $way"
        done
    done
}
test_leaves_that_move_between_ranks_change_no_bit() {
    expect 0 "$wick" train "${run[@]}" --clip 1 --ema 0.9 --force --out one
    expect 0 ranks 3 train "${run[@]}" --clip 1 --ema 0.9 --shares shuffle --shard-optimizer --out moving
    same_tensors one/last.safetensors moving/last.safetensors
}
# "the optimizer's states take A MB of this rank, of B MB": rank 0 has as much as any.
test_a_rank_has_its_share_of_the_states() {
    for n in 2 3 4; do
        expect 0 ranks $n train --data data --hidden 64 --optimizer adamw --leaves 8 --batch 64 --shard-optimizer --epochs 1 --force --out share
        awk -v n=$n '/optimizer.s states take/ { found = 1; exit !($5 <= $11 * (1 / n + 0.01)) } END { if (!found) exit 1 }' err ||
            { fail "more than 1 / $n + 1 %" && cat err; }
    done
    # One matrix that is most of the network can't be cut where a rule takes it as a whole, which is said; else it isn't.
    lacks err "takes each matrix as a whole"
    expect 0 ranks 3 train --data data --hidden 64 --optimizer muon --leaves 8 --batch 64 --shard-optimizer --epochs 1 --force --out share
    grep -qE 'rank [012] has 9[0-9]\.[0-9]* % of them, and an even share is 33.33 %: muon takes each matrix as a whole' err || { fail "not said" && cat err; }
    expect 0 ranks 4 train --data data --hidden 64 --leaves 8 --batch 64 --shard-optimizer --dry-run --json
    valid_json out
    expect 0 "$wick" train --data data --hidden 64 --dry-run --json
    [ "$(json out optimizer_bytes)" -gt 100000 ] || fail "optimizer_bytes $(json out optimizer_bytes)"
    expect 0 ranks 4 train --data data --hidden 64 --leaves 8 --batch 64 --shard-optimizer --dry-run
    has out "MB of states on this rank, of "
    expect 0 "$wick" train --data data --hidden 64 --leaves 8 --batch 64 --shard-optimizer --epochs 1 --force --out share
    lacks err "states take"
}
by_mpi() { # LAUNCHER NAME ARGUMENT...
    local launcher=$1 name=$2
    shift 2
    command -v "$launcher" >/dev/null || { echo "  skipped: no $launcher"; return 0; }
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # MPI's own
    local -x OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    for way in "--optimizer adamw --clip 1 --ema 0.9" "--optimizer muon --clip 1"; do
        read -ra words <<<"$way"
        expect 0 "$wick" train "${run[@]}" "${words[@]}" --force --out one
        expect 0 "$launcher" "$@" -n 3 "$wick" train "${run[@]}" "${words[@]}" --shard-optimizer --force --out mpi
        has err "over $name"
        has err "states take"
        same_tensors one/last.safetensors mpi/last.safetensors
        same_tensors one/best.safetensors mpi/best.safetensors
    done
    # What those ranks began one process goes on with, and others with what that saved.
    expect 0 "$wick" train "${run[@]}" "${words[@]}" --epochs 4 --force --out one
    expect 0 "$wick" train --resume mpi --epochs 3 --threads 1
    expect 0 "$launcher" "$@" -n 2 "$wick" train --resume mpi --epochs 4 --threads 1
    same_tensors one/last.safetensors mpi/last.safetensors
}
test_shares_over_open_mpi_have_the_bits_of_one_process() { by_mpi mpirun.openmpi "Open MPI" --oversubscribe; }
test_shares_over_mpich_have_the_bits_of_one_process() { by_mpi mpirun.mpich MPICH; }
test_any_number_of_ranks_goes_on_with_a_run() {
    expect 0 "$wick" train "${run[@]}" --ema 0.9 --clip 1 --epochs 5 --out whole
    expect 0 ranks 4 train "${run[@]}" --ema 0.9 --clip 1 --epochs 1 --shard-optimizer --out moved
    expect 0 ranks 3 train --resume moved --epochs 2 --threads 1
    has err "states take"
    expect 0 "$wick" train --resume moved --epochs 3 --threads 1
    expect 0 ranks 2 train --resume moved --epochs 4 --threads 1
    expect 0 ranks 5 train --resume moved --epochs 5 --threads 1
    same_tensors whole/last.safetensors moved/last.safetensors
    expect 0 ranks 2 train "${run[@]}" --ema 0.9 --clip 1 --epochs 2 --out later
    lacks err "states take"
    expect 0 ranks 3 train --resume later --epochs 5 --shard-optimizer --threads 1
    has err "states take"
    same_tensors whole/last.safetensors later/last.safetensors
}
test_killed_and_gone_on_with_by_fewer_ends_in_the_same_bits() {
    many=("${run[@]}" --epochs "$(few 24 12)" --clip 1 --ema 0.9)
    expect 0 "$wick" train "${many[@]}" --out undisturbed
    killed_ranks restarted "${many[@]}" --shard-optimizer
    same_tensors undisturbed/last.safetensors restarted/last.safetensors
}
test_a_signal_saves_all_ranks_states() {
    "$wick" launch -n 3 "$wick" train "${run[@]}" --epochs 4000 --save-every 5 --quiet --shard-optimizer --out stopped >out 2>err &
    pid=$!
    for _ in $(seq 1000); do
        [ -e stopped/last.safetensors.prev ] && break
        sleep 0.02
    done
    kill -TERM "$(rank_of $pid 2)"
    code=0
    wait $pid || code=$?
    [ $code = 130 ] || { fail "exit code $code" && cat err; }
    has err "interrupted after step"
    epochs=$(($(grep -c train_loss stopped/log.jsonl) + 1))
    expect 0 ranks 2 train --resume stopped --epochs $epochs --quiet
    expect 0 "$wick" train "${run[@]}" --epochs $epochs --quiet --out unstopped
    same_tensors unstopped/last.safetensors stopped/last.safetensors
}
test_a_folder_that_cannot_be_written_ends_all() {
    : >taken
    expect 1 ranks 3 train "${run[@]}" --shard-optimizer --out taken/run
    has err "could not make the folder"
}
test_what_cannot_be_dealt_out_is_refused() {
    expect 2 "$wick" train --data data --hidden 16 --shard-optimizer --out bad
    has err "--shard-optimizer is for ranks that share the --leaves of a batch: give those too"
    expect 2 ranks 2 train --data data --hidden 16 --leaves 4 --mode fast --shard-optimizer --out bad
    has err "--mode fast gives up: one of them"
    [ ! -e bad ] || fail "a folder was made"
}
test_main
