#!/usr/bin/env bash
# network.sh: ranks that reach each other only over a slow network: Open MPI across network namespaces of this machine,
# each with one link of RATE to a switch (tc tbf on both ends of a veth pair).
#
#   WICK=build/release/bin/wick SPEED=build/release/examples/group_speed bench/network.sh [RATE]     RATE: 100 (Mbit/s)
#
# OVERLAP=build/release/examples/group_overlap adds a table of steps whose leaves only wait.
# LEAVES (4), BATCHES (64 1024), RANKS (2 3) and NET (384,384,384,384,384) are what the last table trains, on ROWS
# (12288: of 8 steps, so 9 times the largest batch), in MODES (late early bf16). TABLES: which ones of "sums overlap
# steps". PRIORITY: a command before each rank, as "chrt -f 1", by which it goes before what else this machine runs, as
# on a machine of its own.
# Needs Linux, root, ip and tc (Debian: iproute2) and mpirun.openmpi (openmpi-bin). Says what is missing, and exits with
# 77.
# Tables: sums, beside the time that their bytes take on the wire; and steps of `wick train`, beside the longer of
# computing (the same ranks without the limit) and wire. Bytes are those that left the links, with the heads of TCP, IP
# and Ethernet (MTU 9000), as counted by the kernel: the difference between a long and a short run.
set -euo pipefail
tables=" ${TABLES:-sums overlap steps} " priority=${PRIORITY:-}
rate=${1:-100} leaves=${LEAVES:-4} batches=${BATCHES:-64 1024} net=${NET:-384,384,384,384,384}
skip() {
    echo "skipped: $*" >&2
    exit 77
}
[[ $rate =~ ^[1-9][0-9]*$ ]] || { echo "RATE is Mbit/s, a whole number above 0" >&2 && exit 2; }
wick=$(realpath "${WICK:?the command}") speed=$(realpath "${SPEED:?the program group_speed}")
for tool in ip tc mpirun.openmpi; do command -v $tool >/dev/null || skip "no $tool on this machine"; done
[ "$(id -u)" = 0 ] || skip "network namespaces with links between them need root"
work=$(mktemp -d) lan=wick$$ most=3
namespaces=()
clean() {
    for n in "${namespaces[@]}"; do ip netns del "$n" 2>/dev/null || true; done
    rm -rf "$work"
}
trap clean EXIT

# ---- the network: a switch, and machines with the addresses 10.77.0.1 to 10.77.0.3 -----------------------------------

make() { # NAME
    why=$(ip netns add "$1" 2>&1) || skip "ip netns add: $why"
    namespaces+=("$1")
    ip -n "$1" link set lo up
}
make $lan-0
ip -n $lan-0 link add switch type bridge || skip "no bridge in this kernel"
ip -n $lan-0 link set switch mtu 9000 up
for i in $(seq $most); do
    make $lan-$i
    ip -n $lan-$i link add eth0 type veth peer name port$i netns $lan-0 || skip "no veth links in this kernel"
    ip -n $lan-$i addr add 10.77.0.$i/24 dev eth0
    ip -n $lan-0 link set port$i mtu 9000 master switch up
    ip -n $lan-$i link set eth0 mtu 9000 up
done
limit() { # on or off
    for i in $(seq $most); do
        for end in "$lan-$i eth0" "$lan-0 port$i"; do
            read -r space device <<<"$end"
            tc -n "$space" qdisc del dev "$device" root 2>/dev/null || true
            [ "$1" = off ] && continue
            tc -n "$space" qdisc add dev "$device" root tbf rate "${rate}mbit" burst 64kb latency 400ms ||
                skip "no tbf in this kernel"
        done
    done
}
# mpirun starts its daemons by this in place of ssh: HOST COMMAND...
cat >"$work/agent" <<EOF
#!/bin/sh
name=$lan-\${1##*.}
shift
exec ip netns exec \$name unshare --uts sh -c "hostname \$name; \$*"
EOF
chmod +x "$work/agent"
ranks() { # N COMMAND...: a rank in each of the first N namespaces
    local n=$1
    shift
    ip netns exec $lan-1 unshare --uts sh -c 'hostname "$0" && exec "$@"' $lan-1 \
        env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun.openmpi --mca plm_rsh_agent "$work/agent" \
        --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
        --bind-to none -host "$(seq -s, -f "10.77.0.%g:1" "$n")" -n "$n" env WICK_THREADS=1 WICK_JIT=0 $priority "$@"
}
sent() { # N: bytes that left the machines so far, the mean of the first N
    for i in $(seq "$1"); do ip netns exec $lan-"$i" cat /sys/class/net/eth0/statistics/tx_bytes; done |
        awk '{ s += $1 } END { printf "%.0f\n", s / NR }'
}

# ---- sums ------------------------------------------------------------------------------------------------------------

floats=1000000 short=2 long=12
bytes_of() { # N MODE: of one sum, and its median milliseconds
    local before middle after
    before=$(sent "$1")
    ranks "$1" "$speed" --mode "$2" --runs $short $floats >"$work/short"
    middle=$(sent "$1")
    ranks "$1" "$speed" --mode "$2" --runs $long $floats >"$work/long"
    after=$(sent "$1")
    awk -v n=$((after - middle - (middle - before))) -v runs=$((long - short)) 'END { print n / runs, $4 }' "$work/long"
}
limit on
if [[ $tables = *" sums "* ]]; then
    echo "Sums of $floats floats at $rate Mbit/s"
    echo
    echo "| ranks | mode | MB sent | 2 (R - 1) / R n | more | ms | on the wire, ms | times |"
    echo "|---|---|---|---|---|---|---|---|"
fi
for n in ${RANKS:-2 3}; do
    [[ $tables = *" sums "* ]] || continue
    for mode in exact f32 bf16; do
        read -r bytes ms < <(bytes_of $n $mode)
        awk -v r=$n -v m=$mode -v n=$floats -v b="$bytes" -v t="$ms" -v rate="$rate" 'BEGIN {
            least = 2 * (r - 1) / r * n * (m == "bf16" ? 2 : 4); wire = b * 8 / rate / 1e3
            printf "| %d | %s | %.3f | %.3f | %+.1f %% |", r, m, b / 1e6, least / 1e6, 100 * (b / least - 1)
            printf " %.1f | %.1f | %.2f |\n", t, wire, t / wire }'
    done
done

# ---- sums beside a leaf that only waits ------------------------------------------------------------------------------

if [ -n "${OVERLAP:-}" ] && [[ $tables = *" overlap "* ]]; then
    echo
    echo "Steps whose one leaf a rank takes a while, without a CPU; $floats floats"
    echo
    echo "| ranks | on the wire, ms | the leaf, ms | late, ms | of the longer | early, ms | of the longer |"
    echo "|---|---|---|---|---|---|---|"
    for n in ${RANKS:-2 3}; do
        for part in 30 50 75 100 130 150 200; do
            wire=$(awk -v r="$n" -v n=$floats -v rate="$rate" 'BEGIN { print 2 * (r - 1) / r * n * 32 / rate / 1e3 }')
            ms=$(awk -v p=$part -v w="$wire" 'BEGIN { printf "%.0f", p / 100 * w }')
            ranks "$n" "$(realpath "$OVERLAP")" "$ms" $floats 16 >"$work/overlap"
            awk -v r="$n" -v w="$wire" -v c="$ms" '/the sum alone/ {
                late = $(NF - 4); early = $(NF - 1); longer = w > c ? w : c
                printf "| %d | %.1f | %.1f | %.1f | %.2f |", r, w, c, late, late / longer
                printf " %.1f | %.2f |\n", early, early / longer
            }' "$work/overlap"
        done
    done
fi

[[ $tables = *" steps "* ]] || exit 0

# ---- steps -----------------------------------------------------------------------------------------------------------

awk -v rows="${ROWS:-12288}" 'BEGIN {
    srand(1)
    for (k = 0; k < 16; k++) printf "x%d,", k
    print "y"
    for (i = 0; i < rows; i++) {
        for (k = 0; k < 16; k++) printf "%.3f,", rand()
        print "c" int(4 * rand())
    }
}' >"$work/rows.csv"
train() { # N BATCH STEPS MODE...
    local n=$1 batch=$2 steps=$3
    shift 3
    ranks "$n" "$wick" train --data "$work/rows.csv" --hidden $net --validation 0 --batch "$batch" --leaves $leaves \
        --epochs 1 --limit $((steps * batch)) --threads 1 --out "$work/run" --force --quiet "$@" >"$work/out"
}
step_ms() { # the median of a step, by the log; the first three warm up
    sed -n 's/.*"seconds": \([0-9.]*\).*/\1/p' "$work/run/log.jsonl" |
        awk 'NR > 3 { print ($1 - last) * 1e3 } { last = $1 }' | sort -n |
        awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
echo
echo "Steps of \`wick train --hidden $net --leaves $leaves\` at $rate Mbit/s"
echo
echo "| ranks | batch | mode | computing, ms | MB sent | on the wire, ms | a step, ms | of the longer | of both |"
echo "|---|---|---|---|---|---|---|---|---|"
for n in ${RANKS:-2 3}; do
    for batch in $batches; do
        for mode in ${MODES:-late early bf16}; do
            how=(--mode exact --sums "$mode")
            [ "$mode" != bf16 ] || how=(--mode fast --wire bf16)
            limit off
            train $n $batch 8 "${how[@]}"
            computing=$(step_ms)
            limit on
            before=$(sent $n)
            train $n $batch 4 "${how[@]}"
            middle=$(sent $n)
            train $n $batch 8 "${how[@]}"
            after=$(sent $n)
            awk -v r=$n -v k=$batch -v m="$mode" -v c="$computing" -v n=$((after - middle - (middle - before))) \
                -v t="$(step_ms)" -v rate="$rate" 'BEGIN {
                    wire = n / 4 * 8 / rate / 1e3; longer = wire > c ? wire : c
                    printf "| %d | %d | %s | %.1f | %.3f | %.1f |", r, k, m, c, n / 4e6, wire
                    printf " %.1f | %.2f | %.2f |\n", t, t / longer, t / (c + wire) }'
        done
    done
done
