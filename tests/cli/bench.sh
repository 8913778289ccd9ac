# wick bench: rows, JSON, comparisons, pages.
. "$(dirname "$0")/lib.sh"
# All rows that take a moment, once.
quick="--time 0 --size 1K"

test_rows_run() {
    expect 0 "$wick" bench --list && has out "elementwise/add 1K 64K 16M" && has out "gemm/f32_64x64x64" && has out "train/resnet8_64"
    local all="elementwise reduce scans sorting indexing moving norms factors images transforms losses rnn attention startup memory/tensors_1000 memory/1x8x512x64 memory/chain_64_in_arena memory/chain_64_allocating memory/items_64_in_arena memory/items_64_allocating"
    [ -z "${WICK_LONG:-}" ] || all+=" memory" # networks that take seconds a step
    [ -z "${SANITIZED:-}" ] || all="elementwise/add reduce/sum scans moving losses rnn/lstm startup/process" # all of them take minutes then
    expect 0 "$wick" bench $all $quick
    has out "ceilings of 1 thread" && has out "elementwise/add 1K" && has out "% of" && lacks out "not run" && has out "startup/process"
    expect 0 "$wick" bench gemm/matmul "conv/conv_3x3*" infer/mlp_large_1 train/mlp_small_64 --threads 1,2 $quick && has out "ceilings of 2 threads" && has out "train/mlp_small_64"
    expect 0 "$wick" bench --list memory && has out "train/mlp_small_64" && has out "memory/chain_64_in_arena" && lacks out elementwise
    expect 0 "$wick" bench update $quick && has out "update/adam" && has out "% of" && lacks out "not run"
    expect 0 "$wick" bench ceilings && has out "GB/s read" && lacks out suite
}
test_json_and_against() {
    expect 0 "$wick" bench "gemm/f32_8*" elementwise/neg --size 1K --time 0.2 --json && valid_json out && has out '"row": "gemm/f32_8x8x8"' && has out '"share": '
    cp out base.json
    # bases of which all samples are far slower, and far faster
    sed 's/"samples_us": \[[^]]*\]/"samples_us": [9000, 9001, 9002, 9003, 9004, 9005]/g' base.json >slow.json
    sed 's/"samples_us": \[[^]]*\]/"samples_us": [0.001, 0.0011, 0.0012, 0.0013, 0.0014]/g' base.json >fast.json
    expect 0 "$wick" bench "gemm/f32_8*" --time 0.2 --against slow.json && has out "faster" && has out "0 of 1 rows are slower"
    expect 1 "$wick" bench "gemm/f32_8*" --time 0.2 --against fast.json && has out "SLOWER"
    expect 1 "$wick" bench "gemm/f32_8*" --time 0.2 --against fast.json --json && valid_json out && has out '"verdict": "slower"'
    expect 0 "$wick" bench scans/cumsum $quick --against base.json && has out "new"
    expect 3 "$wick" bench scans/cumsum $quick --against nowhere.json && has err nowhere.json && lacks out "ceilings of" # nothing was measured
    head -c 700 base.json >short.json && expect 3 "$wick" bench scans/cumsum $quick --against short.json && has err "byte 700"
    echo '{}' >empty.json && expect 3 "$wick" bench scans/cumsum $quick --against empty.json && has err "has no rows"
}
test_page() {
    expect 0 "$wick" bench scans/cumsum $quick --markdown rows.md && has rows.md "| scans/cumsum 1K | 1 | "
    expect 1 "$wick" bench scans/cumsum $quick --markdown nowhere/rows.md && has err nowhere/rows.md
    expect 0 "$wick" bench "gemm/f32_8*" scans $quick --html page.html && has page.html "<svg" && has page.html "cumsum" && has page.html "Roofline" && has page.html "</html>"
    expect 1 "$wick" bench "gemm/f32_8*" $quick --html nowhere/page.html && has err nowhere/page.html && lacks out "ceilings of"
    # A page is replaced when the new one is whole.
    mkdir kept && cp page.html kept/page.html && ln kept/page.html kept/old.html
    expect 0 "$wick" bench "gemm/f32_8*" $quick --html kept/page.html && cmp -s page.html kept/old.html && ! cmp -s page.html kept/page.html || fail "the page was written in place"
}
# A row by itself, and what other processes tell of it.
test_alone() {
    expect 0 "$wick" bench elementwise/add --size 64K --runs 3 && has out "elementwise/add 64K  3 runs" && has out "0.3 MB planned" && lacks out ceilings
    expect 0 "$wick" bench train/mlp_small_64 --runs 1 --json && valid_json out && has out '"planned_bytes": '
    expect 0 "$wick" bench elementwise/add --size 64K --time 0 --memory --json && valid_json out && has out '"peak_bytes": '
    # 256 KiB of results; code and stacks are a little more
    python3 - <<'END' || fail "memory of a row"
import json
row = json.load(open("out"))["rows"][0]
assert 262144 <= row["planned_bytes"] < 300000 and 262144 <= row["peak_bytes"] < 4e6, row
END
    if perf stat -e instructions:u true 2>&1 | grep -q '[0-9] *instructions:u'; then
        expect 0 "$wick" bench "gemm/f32_8*" $quick && has out "counted by the CPU"
    elif command -v valgrind >/dev/null && [ -z "${SANITIZED:-}" ]; then # valgrind runs no sanitizers
        expect 0 "$wick" bench "gemm/f32_8*" $quick --instructions && has out "counted by callgrind, tier"
    fi
    if ! perf stat -e instructions:u true 2>&1 | grep -q '[0-9] *instructions:u'; then
        PATH=/nowhere expect 1 "$wick" bench "gemm/f32_8*" $quick --instructions && has err "valgrind is not installed (on Debian: apt install valgrind)"
        expect 0 "$wick" bench "gemm/f32_8*" $quick && has out "counters of instructions: " && lacks out "a run, counted by"
    fi
}
test_tables() {
    local goals=${0%/*}/../../bench/goals.py
    command -v python3 >/dev/null || { echo "  skipped: no python3"; return 0; }
    expect 0 python3 "$goals" "$wick" targets --list && has out "gemm/naive_f32_1000x1000x1000" && has out "train/mnist_12m_64"
    [ "$(wc -l <out)" = 17 ] || fail "rows of published figures: $(wc -l <out)"
    expect 0 python3 "$goals" "$wick" goals --list && has out "images/max_pool 64K 16M" && has out "update/adam" && lacks out startup
    # The best peer of each row: 2 of 2 and 3, 0.5 of 4 and 0.5. The third row is of no group.
    python3 - <<'END'
import json
def row(key, us, share, **peers):
    peers = [{"name": name, "ratio": times, "samples_us": 8 * [times * us]} for name, times in peers.items()]
    return {"row": key, "threads": 1, "ran": True, "samples_us": 8 * [us], "share": share, "peers": peers}
rows = [row("gemm/f32_64x64x64", 10, 0.9, PyTorch=2, OpenBLAS=3), row("gemm/f32_2048x2048x2048", 1e5, 0.4, PyTorch=4, OpenBLAS=0.5),
        row("gemm/f32_33x65x129", 100, 0.1, PyTorch=0.1, OpenBLAS=0.1)]
for tier in "avx2", "avx512": # whose goals differ
    json.dump({"ceilings": [{"threads": 1, "tier": tier}], "rows": rows}, open(tier + ".json", "w"))
END
    expect 0 python3 "$goals" avx2.json goals
    has out "| 1 | 2 | the best: 1.00 (1.00 .. 1.00) | 0.50 (gemm/f32_2048x2048x2048) | 60 % (40 %: gemm/f32_2048x2048x2048) | 1.0 times, none below 0.9 | no |"
    has out "| GEMM f32, from 256 up | 1 | 1 | the best: 0.50 (0.50 .. 0.50) | 0.50 (gemm/f32_2048x2048x2048) | 40 % (40 %: gemm/f32_2048x2048x2048) | 85 % | no |"
    lacks out "(AMX)"
    expect 0 python3 "$goals" avx512.json goals
    has out "split into bf16 (AMX) | 1 | 1 | " && has out "| 1.6 times | needs AMX |"
    [ -z "${SANITIZED:-}" ] || { echo "  skipped: the published figures' large products take minutes under sanitizers"; return 0; }
    expect 0 python3 "$goals" "$wick" targets --time 0
    has out "| elementwise, 1M elements: add | 1 | 1 ms | " && has out "| memory of it, with the images | 1 | 0.80 GB | 0."
    [ "$(wc -l <out)" = 27 ] || fail "published figures: $(wc -l <out) lines"
    python3 - <<'END' || fail "targets"
cells = [line.strip("| \n").split(" | ") for line in list(open("out"))[2:]]
times = {c[0]: float(c[4]) for c in cells}
assert all(t > 0 for t in times.values()), times
def value(name):
    number, unit = next(c for c in cells if c[0] == name)[3].split()
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit]
epoch, larger = (f"MNIST epoch of {n} images, batch 64, from a step's time" for n in (10000, 100000))
assert abs(value(larger) / value(epoch) / (1563 / 157) - 1) < 0.02, cells
assert abs(times[epoch] * value(epoch) / 45 - 1) < 0.02, cells
END
}
# A repository whose command is this very one.
test_regress() {
    command -v git >/dev/null && command -v cmake >/dev/null || { echo "  skipped: no git or cmake"; return 0; }
    mkdir repository && cd repository || return
    expect 2 "$wick" bench "gemm/f32_8*" --regress HEAD && has err "git knows no commit HEAD here"
    git init -q . && printf 'cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\nadd_custom_target(wick_cli COMMAND mkdir -p bin && cp "%s" bin/wick)\n' "$wick" >CMakeLists.txt
    git add CMakeLists.txt && git -c user.name=a -c user.email=a@b commit -qm a
    # the two are the same, but what times say is the machine's business
    local code=0
    "$wick" bench "gemm/f32_8*" --regress HEAD --time 0.5 --json >out 2>err || code=$?
    [ "$code" -le 1 ] || fail "exit code $code"
    valid_json out && has out '"verdict": "' && has out '"speedup": ' && has err "building HEAD" && has err "round 14 of 14"
    echo "broken(" >>CMakeLists.txt && git -c user.name=a -c user.email=a@b commit -qam b
    expect 1 "$wick" bench "gemm/f32_8*" --regress HEAD --time 0.5 && has err "HEAD could not be built"
    cd ..
}
test_isa() {
    expect 2 "$wick" bench "gemm/f32_8*" --isa avx3 && has err "any|avx2"
    "$wick" doctor --no-measure | grep -q avx2 || return 0
    expect 0 "$wick" bench "gemm/f32_8*" $quick --isa avx2 && has out "tier avx2"
    python3 -c 'import numpy' 2>err || return 0
    expect 0 "$wick" bench "gemm/f32_8*" $quick --isa avx2 --peers python3 && has out "peers by their own word: " && lacks out "!"
}
test_peers() {
    expect 1 "$wick" bench "gemm/f32_8*" $quick --peers nowhere/python && has err nowhere/python
    expect 1 "$wick" bench "gemm/f32_64x64x64" $quick --peers /bin/false && has out "the peers' process ended"
    python3 -c 'import numpy' 2>/dev/null || { echo "  skipped: no NumPy"; return 0; }
    expect 0 "$wick" bench "gemm/f32_64x64x64" elementwise/add $quick --peers python3 && has out "gemm/f32_64x64x64"
    # vectors, and what is no product of matrices
    expect 0 "$wick" bench gemm/vector_matrix moving/heads --size 1K --time 0.01 --peers python3 && lacks err "axes don't match" && lacks err "out of range"
    # whatever ends it, its peers end too, and no file is left
    for signal in INT TERM KILL; do
        # a background job of a script ignores SIGINT, which env undoes
        env --default-signal=INT "$wick" bench gemm/f32_2048x2048x2048 --time 60 --peers python3 >out 2>err &
        local pid=$! child=
        for _ in $(seq 300); do # the ceilings come before
            child=$(ps -o pid=,comm= --ppid $pid | awk '/python/ { print $1 }')
            [ -z "$child" ] || break
            sleep 0.2
        done
        [ -n "$child" ] || fail "no peer was started"
        sleep 0.5
        kill -$signal $pid
        wait $pid 2>/dev/null || :
        for _ in $(seq 50); do kill -0 "$child" 2>/dev/null || break; sleep 0.1; done
        if kill -0 "$child" 2>/dev/null; then fail "$signal: its peer lives"; fi
    done
    [ -z "$(find /dev/shm /tmp -maxdepth 1 -type f -name 'wick-bench-*' -newer base.json 2>/dev/null)" ] || fail "files of inputs are left"
}
test_wrong_uses() {
    expect 2 "$wick" bench nothing && has err "no row matches 'nothing'"
    expect 2 "$wick" bench elementwice && has err "did you mean elementwise?"
    expect 2 "$wick" bench scans --threads two && has err "--threads needs numbers of threads"
    expect 2 "$wick" bench scans --threads 0 && has err "--threads needs"
    expect 2 "$wick" bench scans --against a --regress b && has err "two different bases"
    expect 2 "$wick" bench scans --size 2K && has err "--size"
}

test_main
