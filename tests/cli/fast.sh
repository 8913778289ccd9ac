# --mode fast: sums whose bits depend on the number of ranks, which the run says; all ranks have the same weights still.
. "$(dirname "$0")/lib.sh"
export WICK_GROUP_TIMEOUT=20
make_data data 1000 100 10 3
net="conv 8 3 same nobias, bn, relu, maxpool 2, conv 8 3 same nobias, bn, relu, flatten, linear classes"
run=(--data data --net "$net" --epochs 3 --batch 64 --leaves 8 --threads 1)
ranks() { # N COMMAND...
    local n=$1
    shift
    "$wick" launch -n "$n" "$wick" "$@"
}
exact() { [ -e exact/last.safetensors ] || expect 0 "$wick" train "${run[@]}" --out exact; }
last_loss() { grep -o '"train_loss": [^,]*' "$1/log.jsonl" | tail -n 1 | sed 's/.*: //'; }
near() { # FOLDER: its loss is within 5 % of the exact run's
    awk -v a="$(last_loss exact)" -v b="$(last_loss "$1")" 'BEGIN { exit !(a > 0 && b > 0 && b < 1.05 * a && b > 0.95 * a) }' ||
        fail "$1 ends with a loss of $(last_loss "$1"), the exact run with $(last_loss exact)"
}
differ() { ! cmp -s <(tensors "$1") <(tensors "$2") || fail "the tensors of $1 and $2 are the same"; }
says() { metadata "$1/last.safetensors" | grep -qF "$2" || fail "$1 lacks $2 in its metadata"; }

test_powersgd_learns_what_exact_runs_do() {
    low=(--data data --hidden 64,64 --epochs 2 --batch 64 --leaves 8 --threads 1 --optimizer sgd --lr 0.05)
    expect 0 "$wick" train "${low[@]}" --out wide
    for n in 2 3; do
        expect 0 ranks $n train "${low[@]}" --mode fast --wire powersgd:8 --out low$n
        awk -v a="$(last_loss wide)" -v b="$(last_loss low$n)" 'BEGIN { exit !(b > 0.8 * a && b < 1.2 * a) }' || fail "$(last_loss low$n), exact $(last_loss wide)"
        says low$n ";sum=fast;wire=powersgd:8;ranks=$n;over=local"
        differ wide/last.safetensors low$n/last.safetensors
        lacks err "may learn much slower"
        expect 0 ranks $n train "${low[@]}" --mode fast --wire powersgd:8 --out again$n
        same_tensors low$n/last.safetensors again$n/last.safetensors
    done
    expect 2 ranks 2 train --resume low2 --wire powersgd:3 --epochs 3
    has err "--wire powersgd:3 can't be changed on --resume: the run was started with 'powersgd:8'"
    expect 0 ranks 2 train --resume low2 --epochs 3
    # one rank sends nothing, and loses nothing
    expect 0 "$wick" train "${low[@]}" --mode fast --wire powersgd:8 --out low1
    expect 0 "$wick" train "${low[@]}" --mode fast --out plain1
    same_tensors low1/last.safetensors plain1/last.safetensors
}
test_a_wire_that_goes_ill_with_the_optimizer_is_told() {
    expect 0 ranks 2 train "${run[@]}" --epochs 1 --mode fast --wire powersgd:4 --optimizer adamw --out ill
    has err "--wire powersgd:4 keeps parts of gradients back, and adamw divides by their size" && [ "$(grep -c 'much slower' err)" = 1 ] || fail "$(cat err)"
}
test_wires_that_are_none_are_refused() {
    for wire in powersgd powersgd: powersgd:0 powersgd:65 powersgd:4x powersgd:-1 f16; do
        expect 2 "$wick" train "${run[@]}" --mode fast --wire "$wire" --out bad && has err "--wire $wire: f32, bf16, or powersgd:RANK with a RANK of 1 to 64"
    done
    expect 2 "$wick" train "${run[@]}" --mode fast --wire nccl --out bad && has err "NCCL moves the memory of GPUs, and this build computes on CPUs"
}
# After each epoch ranks compare their states to the bit, or the run would end in an error.
test_fast_runs_learn_what_exact_ones_do() {
    local folder
    exact
    for n in 2 3; do
        for wire in f32 bf16; do
            expect 0 ranks $n train "${run[@]}" --mode fast --wire $wire --out $wire$n
            near $wire$n
            differ exact/last.safetensors $wire$n/last.safetensors
            says $wire$n ";sum=fast;wire=$wire;ranks=$n;over=local"
        done
    done
    differ f322/last.safetensors f323/last.safetensors
    # no leaf moves by itself: who adds them up shows in the bits
    expect 0 ranks 3 train "${run[@]}" --mode fast --wire bf16 --json --out again && has out '"shares_by": "even"' && has out '"moves": 0'
    same_tensors bf163/last.safetensors again/last.safetensors
    expect 0 ranks 3 train "${run[@]}" --mode fast --shares shuffle --json --out shuffled && has out '"shares_by": "shuffle"' && has out '"moves": 45'
    near shuffled
    expect 0 ranks 3 train "${run[@]}" --shares speed --json --out balanced && has out '"shares_by": "speed"'
    same_tensors exact/last.safetensors balanced/last.safetensors
}
test_exact_is_the_default_and_says_nothing() {
    exact
    expect 0 ranks 3 train "${run[@]}" --mode exact --out default
    same_tensors exact/last.safetensors default/last.safetensors
    ! metadata exact/last.safetensors | grep -q 'sum=fast' || fail "the key of an exact run says fast"
}
test_a_run_keeps_its_mode() {
    expect 0 ranks 2 train "${run[@]}" --mode fast --wire bf16 --epochs 1 --out kept
    expect 2 ranks 2 train --resume kept --mode exact --epochs 2
    has err "--mode exact can't be changed on --resume: the run was started with 'fast'"
    expect 2 ranks 2 train --resume kept --wire f32 --epochs 2
    has err "--wire f32 can't be changed on --resume: the run was started with 'bf16'"
    expect 0 ranks 2 train --resume kept --epochs 2
    lacks err "same bits"
    expect 0 ranks 3 train --resume kept --epochs 3
    has err "sum=fast;wire=bf16;ranks=2;over=local, and goes on with"
    has err "it will not end in the same bits"
    expect 0 "$wick" train "${run[@]}" --epochs 1 --out keptexact
    expect 2 "$wick" train --resume keptexact --mode fast --epochs 2
    has err "--mode fast can't be changed on --resume: the run was started with 'exact': the same bits on any number of ranks"
}
test_what_makes_no_sense_is_refused() {
    expect 2 "$wick" train --data data --hidden 8 --mode fast --out bad && has err "--mode fast says how leaves are summed: it needs --leaves"
    expect 2 "$wick" train "${run[@]}" --wire bf16 --out bad && has err "--wire is for --mode fast; this is exact"
    expect 2 "$wick" train "${run[@]}" --mode quick --out bad && has err "--mode"
    expect 2 "$wick" train "${run[@]}" --mode fast --wire f16 --out bad && has err "--wire"
    expect 2 "$wick" launch -n 2 sh -c "exec '$wick' train --data data --hidden 8 --batch 64 --leaves 4 --mode \$([ \$WICK_RANK = 0 ] && echo fast || echo exact) --out bad"
    has err "the mode of sums differs: fast, f32, 5 exact on rank 0, exact on rank 1"
    [ ! -e bad ] || fail "a folder was made"
}
test_nan_ends_a_fast_run_too() {
    expect 4 ranks 4 train "${run[@]}" --mode fast --wire bf16 --lr 1e30 --optimizer sgd --save-every 1 --out nan
    has err "step 2 met NaN or Inf"
}
by_mpi() { # LAUNCHER NAME ARGUMENT...
    local launcher=$1 name=$2 folder
    shift 2
    command -v "$launcher" >/dev/null || { echo "  skipped: no $launcher"; return 0; }
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # MPI's own
    exact
    for wire in f32 bf16; do
        folder=$launcher-$wire
        expect 0 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 "$launcher" "$@" -n 3 "$wick" train "${run[@]}" --mode fast --wire $wire --out "$folder"
        near "$folder"
        says "$folder" ";sum=fast;wire=$wire;ranks=3;over=$name"
    done
}
# MPI's own sum can't tell for whom it waits: all are asked then, and who doesn't answer is named.
hangs_by() { # LAUNCHER ARGUMENT...
    local launcher=$1 pid child stopped="" code=0
    shift
    command -v "$launcher" >/dev/null || { echo "  skipped: no $launcher"; return 0; }
    rm -rf hung
    env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 WICK_GROUP_TIMEOUT=4 ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
        timeout 120 "$launcher" "$@" -n 3 "$wick" train "${run[@]}" --mode fast --epochs 4000 --save-every 2 --out hung --quiet >out 2>err &
    pid=$!
    for _ in $(seq 1000); do
        [ -e hung/last.safetensors.prev ] && break
        sleep 0.02
    done
    for child in $(pgrep -f "$wick train.* --out hung"); do
        [ "$(readlink "/proc/$child/exe")" = "$(realpath "$wick")" ] || continue
        tr '\0' '\n' <"/proc/$child/environ" | grep -qE '^(OMPI_COMM_WORLD_RANK|PMI_RANK)=1$' || continue
        kill -STOP "$child" && stopped=$child
    done
    for _ in $(seq 1000); do
        grep -q "did not answer" err && break
        sleep 0.02
    done
    [ -z "$stopped" ] || kill -CONT "$stopped"
    wait $pid || code=$?
    [ "$code" != 0 ] || fail "a rank hung, and the exit code is 0"
    has err "rank 1 did not answer in 4 s"
}
test_a_rank_that_hangs_in_open_mpi_is_named() { hangs_by mpirun.openmpi --oversubscribe; }
test_a_rank_that_hangs_in_mpich_is_named() { hangs_by mpirun.mpich; }
test_sums_by_open_mpi() { by_mpi mpirun.openmpi "Open MPI" --oversubscribe; }
test_sums_by_mpich() { by_mpi mpirun.mpich MPICH; }
test_main
