#!/usr/bin/env bash
# What differs between ranks is refused, with the field's name; and what befalls one of them ends all, or delays all.
server=$(cd "$(dirname "$0")/../data" && pwd)/remote_server.py
. "$(dirname "$0")/lib.sh"
export WICK_GROUP_TIMEOUT=20
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_REGION
servers=() spaces=()
clean() {
    kill "${servers[@]}" 2>/dev/null
    for space in "${spaces[@]}"; do ip netns del "$space" 2>/dev/null; done
    umount "$scratch/small" 2>/dev/null
    rm -rf "$scratch"
}
trap clean EXIT
make_data data 400 40 10 3
run=(--data data --hidden 16 --batch 32 --leaves 4 --epochs 2 --threads 1 --validation 0)
each() { # ARGUMENTS, which know $WICK_RANK: two ranks
    timeout 100 "$wick" launch -n 2 sh -c "exec \"$wick\" train $1 --out differ --leaves 4 --epochs 1 --threads 1"
}
alone() { [ -e alone/last.safetensors ] || expect 0 "$wick" train "${run[@]}" --out alone --quiet; }

test_a_rank_with_other_kernels_is_refused() {
    expect 0 env WICK_ISA=base "$wick" info
    grep -qi "base" out || return 0 # no tier below this machine's
    expect 2 timeout 100 "$wick" launch -n 2 sh -c 'if [ $WICK_RANK = 1 ]; then export WICK_ISA=base; fi; exec "$0" train --data data --hidden 16 --leaves 4 --epochs 1 --out differ' "$wick"
    has err "numerics differs: " && has err "on rank 1"
    [ ! -e differ ] || fail "a folder was made"
    # The tier that all have is taken where it is said.
    WICK_ISA=base expect 0 "$wick" train "${run[@]}" --out low1 --quiet
    WICK_ISA=base expect 0 "$wick" launch -n 2 "$wick" train "${run[@]}" --out low2 --quiet
    same_tensors low1/last.safetensors low2/last.safetensors
}
test_ranks_with_another_network_are_refused() {
    expect 2 each '--data data --hidden $((16 + WICK_RANK))' && has err "--hidden differs: 16 on rank 0, 17 on rank 1"
    expect 2 each '--data data --net "flatten, linear $((16 + WICK_RANK)), relu, linear classes"' && has err "--net differs"
    expect 2 each '--data data --hidden 16 --batch $((32 * (WICK_RANK + 1)))' && has err "--batch differs: 32 on rank 0, 64 on rank 1"
    [ ! -e differ ] || fail "a folder was made"
}
test_a_batch_that_leaves_do_not_divide_is_refused() {
    expect 2 each '--data data --hidden 16 --batch 30' && has err "--leaves 4 does not divide the batch of 30 samples"
    [ ! -e differ ] || fail "a folder was made"
}
shards() { # FOLDER: two of WebDataset's, of two classes
    mkdir -p "$1"
    for s in 0 1; do
        rm -rf shard && mkdir shard
        for i in $(seq $((100 + 40 * s)) $((139 + 40 * s))); do
            { printf 'P5\n4 4\n255\n' && head -c 16 /dev/zero | tr '\0' "$([ $((i % 2)) = 0 ] && echo '\100' || echo '\300')"; } >shard/$i.pgm
            printf '%d' $((i % 2)) >shard/$i.cls
        done
        tar -C shard --format=ustar --sort=name -cf "$1/train-00$s.tar" .
    done
}
test_a_shard_that_is_cut_off_on_one_rank_is_named() {
    shards whole0 && cp -r whole0 whole1
    expect 0 each '--data whole$WICK_RANK --hidden 8 --batch 16 --quiet' && rm -rf differ
    truncate -s $(($(stat -c %s whole1/train-001.tar) * 2 / 3)) whole1/train-001.tar
    "$wick" launch -n 2 sh -c "exec \"$wick\" train --data whole\$WICK_RANK --hidden 8 --batch 16 --out differ --leaves 4" >out 2>err && fail "a cut shard was learned from"
    has err "train-001.tar"
    [ ! -e differ ] || fail "a folder was made"
}
# Ranks of two machines, each of which keeps what it fetches.
test_credentials_that_are_over_on_one_rank_end_all() {
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    mkdir -p far/bucket && awk 'BEGIN { srand(3); print "a,b,label"; for (i = 0; i < 300; i++) { a = rand(); b = rand(); printf "%f,%f,%s\n", a, b, (a > b) ? "yes" : "no" } }' >far/bucket/set.csv
    : >port
    python3 "$server" far --keys KEY:SECRET:TOKEN >port &
    servers+=($!)
    for _ in $(seq 200); do [ -s port ] && break; sleep 0.05; done
    export AWS_ENDPOINT_URL=http://127.0.0.1:$(cat port) AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=SECRET AWS_SESSION_TOKEN=TOKEN
    far() { # COMMAND for rank 1
        timeout 100 "$wick" launch -n 2 sh -c "export WICK_CACHE=$scratch/kept\$WICK_RANK; [ \$WICK_RANK = 0 ] || { $1; }; exec \"$wick\" train --data s3://bucket/set.csv --hidden 8 --leaves 4 --epochs 1 --threads 1 --out differ" >out 2>err
    }
    far "export AWS_SESSION_TOKEN=EXPIRED" && fail "it was learned"
    grep -q libcurl err && { echo "  skipped: no libcurl"; return 0; }
    has err "s3://bucket/set.csv: the server answers 403: ExpiredToken" && has err "(rank 1)" && has err " of 2 failed"
    [ ! -e differ ] || fail "a folder was made"
    # A disk that is full where rank 1 keeps what it fetches.
    mkdir -p small && mount -t tmpfs -o size=8k tmpfs small 2>/dev/null || { echo "  skipped: no tmpfs can be mounted here"; return 0; }
    rm -rf "$scratch/kept1"
    far "export WICK_CACHE=$scratch/small" && fail "it was learned"
    has err "(rank 1)" && has err " of 2 failed" && has err "No space left"
    [ ! -e differ ] || fail "a folder was made"
    umount small
    unset AWS_ENDPOINT_URL AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
}
# Rank 0 saves; its disk fills up after the first checkpoints.
test_a_full_disk_on_one_rank_ends_all_and_loses_no_checkpoint() {
    mkdir -p small && mount -t tmpfs -o size=1m tmpfs small 2>/dev/null || { echo "  skipped: no tmpfs can be mounted here"; return 0; }
    expect 0 "$wick" launch -n 2 "$wick" train "${run[@]}" --out small/run --quiet
    cp small/run/last.safetensors before.safetensors
    head -c 2m /dev/zero >small/filler 2>/dev/null
    expect 1 timeout 60 "$wick" launch -n 2 "$wick" train --resume small/run --epochs 4 --quiet
    has err "No space left"
    cmp -s before.safetensors small/run/last.safetensors || cmp -s before.safetensors small/run/last.safetensors.prev || fail "the checkpoint was lost"
    rm small/filler
    expect 0 "$wick" launch -n 2 "$wick" train --resume small/run --epochs 4 --quiet
    alone && cp -r alone undisturbed && expect 0 "$wick" train --resume undisturbed --epochs 4 --quiet
    same_tensors undisturbed/last.safetensors small/run/last.safetensors
    umount small
}
# A log goes to a reader that takes its time, as a slow disk does: a line in a tenth of a second, and none for 3 s.
test_a_slow_disk_on_one_rank_delays_all() {
    alone
    mkfifo slow.log
    (sleep 1 && while IFS= read -r line; do echo "$line"; sleep 0.05; done) <slow.log >lines &
    expect 0 timeout 100 "$wick" launch -n 2 "$wick" train "${run[@]}" --log slow.log --out slow --quiet
    wait $!
    [ -s lines ] || fail "no log"
    same_tensors alone/last.safetensors slow/last.safetensors
}

# ---- a network that stalls: ranks of Open MPI in two network namespaces ----------------------------------------------

network() { # two machines, 10.79.0.1 and .2; false: not here
    command -v ip >/dev/null && command -v tc >/dev/null && command -v mpirun.openmpi >/dev/null || return 1
    a=wick$$a b=wick$$b
    ip netns add $a 2>/dev/null || return 1
    spaces=("$a")
    ip netns add $b 2>/dev/null || return 1
    spaces+=("$b")
    ip -n $a link add eth0 type veth peer name eth0 netns $b 2>/dev/null || return 1
    ip -n $a link set lo up && ip -n $b link set lo up
    ip -n $a addr add 10.79.0.1/24 dev eth0 && ip -n $b addr add 10.79.0.2/24 dev eth0
    ip -n $a link set eth0 up && ip -n $b link set eth0 up
    printf '#!/bin/sh\nshift\nexec ip netns exec %s unshare --uts sh -c "hostname %s; $*"\n' $b $b >agent
    chmod +x agent
}
# What leaves rank 0's machine is lost: a filter drops what is longer than its bucket.
stall() { tc -n $a qdisc add dev eth0 root tbf rate 8kbit burst 10b limit 10b 2>/dev/null; }
flow() { tc -n $a qdisc del dev eth0 root; }
by_network() { # COMMAND...: in the background; sets pid
    ip netns exec $a unshare --uts sh -c 'hostname "$0" && exec "$@"' $a env OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" mpirun.openmpi \
        --mca plm_rsh_agent "$scratch/agent" --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.79.0.0/24 \
        --mca oob_tcp_if_include 10.79.0.0/24 --bind-to none -host 10.79.0.1:1,10.79.0.2:1 -n 2 "$@" >out 2>err &
    pid=$!
}
saved() { # FOLDER
    for _ in $(seq 1000); do
        [ -e "$1/last.safetensors.prev" ] && return 0
        kill -0 $pid 2>/dev/null || break
        sleep 0.02
    done
    fail "$1 was never saved" && cat err
}
test_a_network_that_stalls_delays_or_ends_all() {
    network || { echo "  skipped: no network namespaces with links between them here"; return 0; }
    by_network env WICK_GROUP_TIMEOUT=30 "$wick" train "${run[@]}" --epochs 60 --save-every 5 --out stalled --quiet
    saved stalled
    stall || { echo "  skipped: no tbf in this kernel"; kill $pid; wait $pid; return 0; }
    sleep 1
    flow
    wait $pid || { fail "it did not go on" && cat err; }
    expect 0 "$wick" train "${run[@]}" --epochs 60 --out unstalled --quiet
    same_tensors unstalled/last.safetensors stalled/last.safetensors
    by_network env WICK_GROUP_TIMEOUT=2 "$wick" train "${run[@]}" --epochs 40000 --save-every 5 --out cut --quiet
    saved cut
    stall
    for _ in $(seq 400); do
        grep -q "rank [01] did not answer in 2 s" err && break
        sleep 0.05
    done
    flow
    wait $pid && fail "the network was cut, and the exit code is 0"
    grep -q "rank [01] did not answer in 2 s" err || { fail "no rank is named" && cat err; } # by who noticed first
    expect 0 "$wick" launch -n 2 "$wick" train --resume cut --epochs $(($(grep -c train_loss cut/log.jsonl) + 1)) --quiet
}
test_main
