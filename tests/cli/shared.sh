#!/usr/bin/env bash
# wick eval and wick predict on several ranks: what rank 0 prints is what one process prints, but for the time it took.
. "$(dirname "$0")/lib.sh"
make_data data 300 1800 8 1
awk 'BEGIN { srand(3); print "a,b,y,z"; for (i = 0; i < 1500; i++) { a = rand(); b = rand(); printf "%f,%f,%f,%f\n", a, b, 3 * a - b, a * b } }' >rows.csv
mkdir -p shapes/images shapes/masks
awk 'BEGIN { srand(4); for (i = 1000; i < 1060; i++) { x = "shapes/images/p" i ".pgm"; y = "shapes/masks/p" i "_mask.pgm"
    print "P2 6 6 255" >x; print "P2 6 6 255" >y
    for (k = 0; k < 36; k++) { bright = k % 6 > i % 5; print int(80 * bright + 100 * rand()) >x; print bright >y }; close(x); close(y) } }'
quick=(--epochs 1 --threads 1 --quiet)
"$wick" train --data data --hidden 16 "${quick[@]}" --out classes >out 2>&1 || cat out
"$wick" train --data rows.csv --target y,z --hidden 8 "${quick[@]}" --out numbers >out 2>&1 || cat out
"$wick" train --data shapes --task segment --net 'conv 8 3 same,relu,conv classes 1' "${quick[@]}" --out masks >out 2>&1 || cat out
ranks() { local n=$1 && shift && "$wick" launch -n "$n" "$wick" "$@"; }
timeless() { sed 's/"seconds": [^,]*, "samples_per_second": [^,]*,//' "$1"; }
same_on() { # N ARGUMENT...: as of one process
    local n=$1 && shift
    expect 0 "$wick" "$@" --threads 1 && timeless out >alone && expect 0 ranks "$n" "$@" && timeless out >together
    cmp alone together || fail "$* differs on $n ranks"
    [ -s together ] || fail "$* printed nothing"
}
test_figures_have_the_bits_of_one_process() {
    for n in 2 3; do same_on $n eval classes --json; done
    same_on 2 eval classes
    same_on 4 eval numbers --split all --json
    same_on 3 eval masks --split all --json
    same_on 2 eval masks --split all
}
test_predictions_are_put_together_in_order() {
    same_on 3 predict classes --index 0-20,7
    same_on 2 predict classes --index 3,1000-1010 --json --top 3
    same_on 3 predict numbers rows.csv --index 0-9 --json
    same_on 4 predict classes shapes/images/p10{00,01,02,03,04,05}.pgm --json
    same_on 3 predict numbers rows.csv --index 0-9
    same_on 3 predict classes --index 5 # fewer than ranks
}
test_ranks_of_mpi_print_once() {
    command -v mpirun.mpich >/dev/null || { echo "  skipped: no mpirun.mpich"; return 0; }
    local -x ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # MPI's own
    expect 0 "$wick" eval classes --threads 1 --json && timeless out >alone
    expect 0 mpirun.mpich -n 2 "$wick" eval classes --threads 1 --json && timeless out >together
    cmp alone together || fail "MPICH's ranks print something else"
}
test_what_one_rank_meets_ends_all() {
    expect 2 ranks 3 predict classes --index 0,5000 && has err "rank 1 failed, and has said why"
    has err "--index 5000: the data has images 0 to 1799"
    expect 2 ranks 3 predict classes --index 0,5000 --json && valid_json out && has out '"ok": false'
    each() { "$wick" launch -n 2 sh -c "exec \"$wick\" $1"; }
    cp -r classes classes0
    "$wick" train --data data --hidden 16 "${quick[@]}" --seed 5 --out classes1 >out 2>&1 || cat out
    expect 2 each 'eval classes$WICK_RANK' && has err "differs"
    expect 2 each 'eval classes --split $([ $WICK_RANK = 0 ] && echo test || echo train)' && has err "--split differs: test on rank 0, train on rank 1"
    rm -r classes1
    each 'eval classes$WICK_RANK' >out 2>err && fail "a model that isn't there was measured" # by the code of who ended first
    has err "classes1: cannot open"
}
test_main
