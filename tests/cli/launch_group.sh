# wick launch: ranks that start together and end together; a group's weights are the same on any number of them, also by mpirun.
group=$(realpath "$3")
. "$(dirname "$0")/lib.sh"
unset WICK_THREADS WICK_GROUP_TIMEOUT WICK_RANK WICK_RANKS WICK_GROUP_FDS

weights() { sed -n 's/^weights //p' "$1"; }
# wait_for FILE...: until all are there, at most 20 s
wait_for() {
    local i
    for i in $(seq 400); do
        ls "$@" >/dev/null 2>&1 && return 0
        sleep 0.05
    done
    fail "no $*"
}
# alive PID: and no zombie, which a container may leave
alive() { [ -n "$1" ] && [ -e "/proc/$1" ] && ! grep -q '^State:.*Z' "/proc/$1/status"; }
# child_of PID: its only one
child_of() {
    local stat pid parent
    for stat in /proc/[0-9]*/stat; do
        read -r pid _ _ parent _ <"$stat" 2>/dev/null && [ "$parent" = "$1" ] && echo "$pid"
    done
}
# within SECONDS COMMAND...: as expect, and it takes no longer
within() {
    local most=$1 began=$SECONDS
    shift
    expect "$@"
    [ $((SECONDS - began)) -le "$most" ] || fail "$((SECONDS - began)) s, more than $most: $*"
}

expect 0 "$group" && want=$(weights out)
[ ${#want} = 16 ] || fail "no weights"

test_weights_are_the_same_on_any_number_of_ranks() {
    for n in $(few "1 2 3 4 5 8" "1 3 8"); do
        expect 0 "$wick" launch -n $n "$group"
        [ "$(weights out)" = "$want" ] || fail "$n ranks: $(cat out)"
        has out "$n by $([ $n = 1 ] && echo none || echo local)"
        [ ! -s err ] || fail "$n ranks said $(cat err)"
    done
    expect 1 "$wick" launch --ranks 9 "$group" && has err "8 leaves are too few for 9 ranks" && has err " of 9 failed: exit code 1"
}
test_ranks_have_an_environment() {
    expect 0 "$wick" launch -n 3 --threads 2 --timeout 7 -- sh -c 'echo "$WICK_RANK $WICK_RANKS $WICK_THREADS $WICK_GROUP_TIMEOUT $WICK_RESTART ${WICK_GROUP_FDS:+fds}" >rank.$WICK_RANK; cat >in.$WICK_RANK' <<<"to rank 0"
    for rank in 0 1 2; do [ "$(cat rank.$rank)" = "$rank 3 2 7 0 fds" ] || fail "rank $rank: $(cat rank.$rank)"; done
    [ "$(cat in.0)" = "to rank 0" ] && [ ! -s in.1 ] || fail "standard input"
    # Arguments of the command are its own, empty ones too, and so are its options.
    expect 0 "$wick" launch -n 1 printf "%s|%s|%s\n" --json "" -n && has out "--json||-n"
    # The CPUs are divided; who has said how many threads is not overruled.
    expect 0 env WICK_THREADS=5 "$wick" launch -n 2 sh -c 'echo threads $WICK_THREADS' && has out "threads 5"
    expect 0 "$wick" launch -n 64 sh -c 'echo threads $WICK_THREADS' && [ "$(grep -c threads out)" = 1 ] || fail "$(cat out)"
    expect 0 env WICK_THREADS=3 "$wick" info && grep -q "^threads *3$" out || fail "$(cat out)"
    expect 0 env WICK_THREADS=many "$wick" info && has err "WICK_THREADS=many is ignored; it may be 1 to 1024"
}
test_wrong_lines_are_refused() {
    expect 2 "$wick" launch true && has err "how many ranks?"
    for n in 0 x 3:2 129 2: :2 1:2:3 -1; do expect 2 "$wick" launch -n $n true && has err "--ranks $n: 1 to 128, or MIN:MAX"; done
    expect 2 "$wick" launch -n 2 && has err "needs COMMAND"
    expect 2 "$wick" launch -n 2 --data x true && has err "unknown option --data"
    expect 127 "$wick" launch -n 2 no-such-command && has err "could not start no-such-command: No such file"
    expect 126 "$wick" launch -n 2 . && has err "could not start ."
}
test_a_rank_that_fails_ends_all() {
    within 6 7 "$wick" launch -n 3 sh -c 'echo rank $WICK_RANK says; [ $WICK_RANK != 1 ] || exit 7; trap "" TERM; sleep 30'
    has err "[1] rank 1 says" && has err "wick: rank 1 of 3 failed: exit code 7" && has out "rank 0 says" && lacks err "rank 2 says"
    within 6 137 "$wick" launch -n 3 sh -c '[ $WICK_RANK != 2 ] || kill -9 $$; sleep 30' && has err "rank 2 of 3 failed: signal 9 (Killed)"
    # What they started ends with them.
    within 6 3 "$wick" launch -n 2 sh -c '[ $WICK_RANK != 0 ] || { sleep 0.3; exit 3; }; sleep 47.11 & echo $! >started; wait'
    sleep 0.1
    ! alive "$(cat started)" || fail "what rank 1 started is left"
    # What all say is said once.
    expect 4 "$wick" launch -n 5 sh -c 'echo no data >&2; exit 4' && [ "$(grep -c "no data" err)" = 2 ] && has err "3 other ranks said the same as rank"
    expect 0 "$wick" launch -n 2 --verbose sh -c 'echo from $WICK_RANK' && has out "from 0" && has err "[1] from 1"
}
test_ranks_that_die_or_hang_are_named() {
    within 8 137 "$wick" launch -n 3 sh -c 'echo $$ >pid.$WICK_RANK; [ $WICK_RANK != 1 ] || (sleep 0.5; kill -9 $$) & exec '"'$group'"' 100000000'
    has err "rank 1 of 3 failed: signal 9 (Killed)"
    has err "rank 0: group: finish: rank 1 is gone"
    within 10 1 "$wick" launch -n 3 --timeout 1 sh -c '[ $WICK_RANK != 1 ] || (sleep 0.5; kill -STOP $$) & exec '"'$group'"' 100000000'
    has err "rank 1 did not answer in"
    within 8 1 "$wick" launch -n 2 sh -c '[ $WICK_RANK != 1 ] || exit 0; exec '"'$group'" && has err "rank 1 is gone: its process ended without joining the group"
    # Ranks with other options are found out at the start.
    expect 1 "$wick" launch -n 3 sh -c "exec '$group' 1\$WICK_RANK" && has err "group: number of steps differs: one value on rank 0"
}
test_signals_go_to_all_ranks() {
    local signal code
    for signal in TERM INT HUP; do
        rm -f up.* got.*
        "$wick" launch -n 3 sh -c 'trap "echo >got.$WICK_RANK; exit 9" '$signal'; echo >up.$WICK_RANK; while :; do sleep 0.05; done' 2>err &
        wait_for up.0 up.1 up.2
        kill -$signal $!
        wait $! && code=0 || code=$?
        [ "$code" = 9 ] && ls got.0 got.1 got.2 >/dev/null || fail "SIG$signal: exit code $code"
    done
    # Ranks end with the process that started them, however that ends.
    rm -f up.*
    "$wick" launch -n 2 sh -c 'echo $$ >up.$WICK_RANK; exec sleep 30' 2>err &
    wait_for up.0 up.1
    sleep 0.1
    kill -9 $!
    wait $! 2>/dev/null
    sleep 0.3
    ! alive "$(cat up.0)" && ! alive "$(cat up.1)" || fail "ranks are left"
}
test_a_rank_that_heeds_no_signal_is_killed_after_a_while() {
    local code grace
    for grace in 1 0; do
        rm -f up.*
        "$wick" launch -n 2 --grace $grace sh -c '[ $WICK_RANK = 1 ] && trap "" TERM || trap "exit 9" TERM; echo >up.$WICK_RANK; for i in $(seq 80); do sleep 0.05; done' 2>err &
        wait_for up.0 up.1
        kill -TERM $!
        wait $! && code=0 || code=$?
        [ "$code" = 9 ] || fail "--grace $grace: exit code $code"
        [ $grace = 0 ] && lacks err "killed" && continue
        has err "rank 1 did not end within 1 s of the signal: killed"
    done
    expect 2 "$wick" launch -n 2 --grace -1 true && has err "--grace"
}
test_restarts() {
    rm -f starts.*
    expect 0 "$wick" launch -n 2:4 --restarts 3 sh -c 'echo $WICK_RANKS >starts.$WICK_RESTART; [ $WICK_RESTART = 3 ] || [ $WICK_RANK != 0 ] || kill -9 $$; [ $WICK_RESTART = 3 ] || sleep 30'
    [ "$(cat starts.* | tr '\n' ' ')" = "4 3 2 2 " ] || fail "ranks of the starts: $(cat starts.* | tr '\n' ' ')"
    has err "restart 1 of 3 with 3 ranks" && has err "restart 3 of 3 with 2 ranks"
    expect 5 "$wick" launch -n 2 --restarts 1 sh -c 'exit 5' && has err "restart 1 of 1 with 2 ranks" && [ "$(grep -c failed err)" = 2 ] || fail "not two failures"
    # A rank that hangs while ranks start is no wrong command line.
    make_data data 100 20
    WICK_GROUP_START_TIMEOUT=4 expect 0 "$wick" launch -n 2 --restarts 1 sh -c '[ $WICK_RANK = 0 ] || [ $WICK_RESTART = 1 ] || kill -STOP $$; exec "$0" train --data data --hidden 8 --epochs 1 --batch 8 --leaves 2 --quiet --threads 1 --out late' "$wick"
    has err "restart 1 of 1 with 2 ranks"
    # What is wrong with the command line would be wrong again.
    expect 2 "$wick" launch -n 2 --restarts 3 "$wick" train --no-such-option && lacks err restart
    expect 127 "$wick" launch -n 2 --restarts 3 no-such-command && lacks err restart
}
test_a_training_goes_on_after_a_kill() {
    local run=(train --data data --hidden 16 --epochs 400 --batch 10 --quiet --threads 1) code
    make_data data 100 20
    expect 0 "$wick" "${run[@]}" --out whole
    "$wick" launch -n 1 --restarts 2 "$wick" "${run[@]}" --out=part >out 2>err &
    wait_for part/last.safetensors.prev
    kill -9 "$(child_of $!)" || fail "no training to kill"
    wait $! && code=0 || code=$?
    [ "$code" = 0 ] || fail "exit code $code: $(cat err)"
    has err "rank 0 of 1 failed: signal 9" && has err "restart 1 of 2 with 1 rank, from the last checkpoint in part"
    same_tensors whole/last.safetensors part/last.safetensors
}
# by_mpi LAUNCHER NAME ARGUMENT...: the same weights with mpirun.
by_mpi() {
    local launcher=$1 name=$2 n
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # MPI's own
    shift 2
    command -v "$launcher" >/dev/null || { echo "  skipped $name: no $launcher on this machine"; return 0; }
    for n in $(few "1 2 3 4" "1 3"); do
        expect 0 timeout 120 "$launcher" "$@" -n $n "$group"
        [ "$(weights out)" = "$want" ] || fail "$name, $n ranks: $(cat out)"
        has out "$n by $([ $n = 1 ] && echo none || echo "$name")"
    done
    expect 1 timeout 120 "$launcher" "$@" -n 2 sh -c 'exec '"'$group'"' 1${PMI_RANK:-$OMPI_COMM_WORLD_RANK}' && grep -q "number of steps differs" out err || fail "$name: $(cat err)"
}
test_open_mpi() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # in a container there is nobody else
    by_mpi mpirun.openmpi "Open MPI" --oversubscribe
}
test_mpich() { by_mpi mpirun.mpich MPICH; }
test_mpi_that_is_missing_or_another_is_told() {
    expect 1 env WICK_MPI=/no/libmpi.so OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$group" && has err "WICK_MPI=/no/libmpi.so: "
    expect 1 env WICK_MPI=libm.so.6 PMI_RANK=0 PMI_SIZE=2 "$group" && has err "libm.so.6 lacks MPI_Get_library_version: it is no MPI library"
    expect 1 env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=3 "$group" && has err "srun started 3 tasks, and gave them nothing by which MPI finds the others: srun --mpi=pmix"
    expect 0 env SLURM_PROCID=0 SLURM_NTASKS=3 "$group" && has out "1 by none" # a batch script
    expect 0 env PMIX_RANK=0 SLURM_STEP_NUM_TASKS=1 "$group" && has out "1 by none"
    if command -v mpirun.mpich >/dev/null; then
        expect 1 env WICK_MPI=libmpich.so.12 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$group" && has err "2 ranks were started, and MPICH here knows of 1"
    fi
    expect 0 env OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 "$group" && has out "1 by none"
}
test_main
