# --threads, --pin, --numa, --memory-pool: the same bits everywhere, refusals that are no failures, and bad input.
. "$(dirname "$0")/lib.sh"
train() { "$wick" train --data images --arch mlp:32 --epochs 1 --force --quiet --seed 3 "$@"; }

test_same_bits_everywhere() {
    make_data images 400 100
    expect 0 train --out plain --threads 1
    local n=0 options
    for options in "--threads -1" "--threads 3 --pin compact" "--threads 3 --pin scatter --numa first-touch" "--pin 0" \
        "--threads 2 --numa bind" "--threads 2 --balance" "--threads 3 --balance --pin compact" "--threads 2 --numa interleave:0" "--threads 2 --memory-pool 1G --numa interleave"; do
        n=$((n + 1))
        # shellcheck disable=SC2086
        expect 0 train --out run$n $options && same_tensors plain/best.safetensors run$n/best.safetensors
    done
    for options in "--pin compact" "--balance --threads 2" "--memory-pool 512M" "--numa first-touch"; do
        # shellcheck disable=SC2086
        expect 0 "$wick" eval plain --json $options && mv out eval.$n && [ "$(json eval.$n loss)" = "$("$wick" eval plain --json | grep -o '"loss": [^,]*' | head -n 1 | cut -d' ' -f2)" ] || fail "$options"
        # shellcheck disable=SC2086
        expect 0 "$wick" predict plain --index 3 $options
        # shellcheck disable=SC2086
        expect 0 "$wick" profile --arch mlp:32 --input 28,28 --runs 3 --quiet $options
    done
}
test_shares_of_threads_are_reported() {
    expect 0 "$wick" profile --arch resnet8 --input 3,32,32 --batch 8 --runs 30 --threads 2 --balance --json
    valid_json out && python3 - <<'END' || fail "$(cat out)"
import json
w = json.load(open("out"))["profile"]["workers"]
assert w[0]["worker"] == 0 and w[0]["tasks"] >= w[0]["shared"] > 0 and w[0]["seconds"] > 0, w
assert len(w) == 1 or abs(sum(x["share"] for x in w) - 1) < 1e-5, w
END
    expect 0 "$wick" profile --arch resnet8 --input 3,32,32 --batch 8 --runs 3 --threads 1 --balance && lacks out "steals"
}
test_threads_of_a_list() {
    expect 0 "$wick" profile --arch mlp:32 --input 28,28 --runs 3 --pin 0 && has out "on 1 thread"
}
test_what_is_not_here_is_a_note() {
    expect 0 "$wick" profile --arch mlp:32 --input 28,28 --runs 3 --pin 4000-4001 --numa bind:900
    has err "of CPUs 4000-4001 this process may use 0 of 2: threads are not pinned" && has err "NUMA bind: "
    expect 0 "$wick" profile --arch mlp:32 --input 28,28 --runs 3 --pin 4000 --quiet && [ ! -s err ] || fail "talk with --quiet"
}
test_bad_input() {
    local bad
    for bad in "--pin close" "--pin 3-1" "--pin 99999" "--pin 1," "--numa never" "--numa bind:" "--numa bind:x" "--numa first-touch:0" \
        "--numa interleave:2-1" "--threads -2" "--memory-pool x" "--memory-pool 1000000G"; do
        # shellcheck disable=SC2086
        expect 2 "$wick" profile --arch mlp:32 --input 28,28 --runs 1 $bad
    done
    expect 2 "$wick" profile --arch mlp:32 --input 28,28 --pin close && has err "none, compact, scatter"
    expect 2 "$wick" profile --arch mlp:32 --input 28,28 --pin 3-1 && has err "--pin 3-1"
}
test_a_pool_that_is_full_says_so() {
    expect 1 "$wick" profile --arch mlp:4000,4000 --input 28,28 --batch 64 --runs 1 --memory-pool 8M
    has err "the memory pool of 8.38861 MB is full" && has err "were asked for"
}
test_main
