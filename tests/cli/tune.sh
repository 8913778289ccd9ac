# wick tune: what it writes is used, what is damaged or cannot be written is told, and results stay the same.
. "$(dirname "$0")/lib.sh"

# The file, under the scratch folder's cache (lib.sh).
file() { echo "$XDG_CACHE_HOME"/wick/tuning-*.txt; }
tune() { expect 0 "$wick" tune --time 0 --quiet "$@"; }
# The file of an earlier tune, which takes seconds.
tuned() { if [ -e kept/wick ]; then rm -rf "$XDG_CACHE_HOME/wick" && cp -r kept/wick "$XDG_CACHE_HOME"; else tune && mkdir kept && cp -r "$XDG_CACHE_HOME/wick" kept; fi; }

test_measures_and_keeps() {
    tune && has out "gemm_block_rows" && has out "valid for" && has out "$(file)"
    [ -s "$(file)" ] || fail "no file"
    has "$(file)" "wick tuning 2" && has "$(file)" "stream_bytes " && has "$(file)" "cost_gemm_rate " && has out "Cost model" && [ "$(tail -n 1 "$(file)")" = end ] || fail "$(cat "$(file)")"
    tune --json && valid_json out && has out '"gemm_task_work": '
    tune --json --threads 1 && valid_json out
    [ "$(ls "$XDG_CACHE_HOME/wick" | wc -l)" = 1 ] || fail "more than a file: $(ls "$XDG_CACHE_HOME/wick")"
}
test_interrupted_leaves_what_was_there() {
    rm -rf "$XDG_CACHE_HOME/wick"
    "$wick" tune --quiet >/dev/null 2>&1 & # for half a minute
    local pid=$!
    sleep 2
    kill "$pid" && wait "$pid"
    [ -z "$(find "$XDG_CACHE_HOME/wick" -type f)" ] || fail "defaults stand for measurements: $(file)"
}
test_show_and_reset() {
    tuned && sed -i 's/^gemm_task_work .*/gemm_task_work 1234567/' "$(file)"
    expect 0 "$wick" tune --show && has out "1234567 instead of 800000" && has out "used            $(file)"
    expect 0 "$wick" tune --show --json && valid_json out && [ "$(json out gemm_task_work)" = 1234567 ] || fail "$(cat out)"
    expect 0 env WICK_TUNING=off "$wick" tune --show && has out "the defaults hold" && lacks out 1234567
    expect 0 "$wick" doctor --no-measure && has out "$(file)"
    expect 0 "$wick" plan --arch lenet --input 28,28 --threads 1 --quiet && has out "tuned by $(file):" && has out " gemm_task_work=1234567"
    sed -i 's/^cost_conv_rate .*/cost_conv_rate 1000/' "$(file)" # what costs are measured is what plans are predicted by
    expect 0 "$wick" tune --show && has out "cost_conv_rate  1000 instead of"
    expect 0 "$wick" plan --arch lenet --input 28,28 --threads 1 --json && cp out slow.json && has out '"calibrated": true'
    sed -i 's/^cost_conv_rate .*/cost_conv_rate 100000/' "$(file)"
    expect 0 "$wick" plan --arch lenet --input 28,28 --threads 1 --json
    awk -v a="$(json slow.json predicted_seconds)" -v b="$(json out predicted_seconds)" 'BEGIN { exit !(a > 10 * b) }' || fail "$(json slow.json predicted_seconds), $(json out predicted_seconds)"
    cp "$(file)" mine.txt
    expect 0 "$wick" tune --reset && [ ! -e "$(file)" ] || fail "the file is still there"
    expect 0 "$wick" tune --reset && expect 0 "$wick" tune --reset --json && valid_json out
    expect 0 "$wick" tune --show && lacks out 1234567 && has out "the defaults hold"
    expect 0 env WICK_TUNING=mine.txt "$wick" tune --show && has out 1234567
    expect 2 "$wick" tune --show --reset
}
test_what_was_there_stays_until_all_is_measured() {
    tuned && sed -i 's/^stream_bytes .*/stream_bytes 1234567/' "$(file)"
    timeout -s INT 1 "$wick" tune --time 60 --quiet >out 2>err && fail "it was not interrupted"
    expect 0 "$wick" tune --show && has out "1234567 instead of"
}
test_bad_files_are_told_and_not_used() {
    tuned && cp "$(file)" good.txt
    sed 's/; Wick [0-9.]*$/; Wick 99.0.0/' good.txt >"$(file)"
    expect 0 "$wick" info && has err "another CPU, tier or version" && has err "wick tune measures again"
    sed 's/^stream_bytes .*/stream_bytes 5/' good.txt >"$(file)"
    expect 0 "$wick" info && has err "stream_bytes is 5" && expect 0 "$wick" tune --show && has out "the defaults hold"
    sed 's/^cost_memory_rate .*/cost_memory_rate 0/' good.txt >"$(file)"
    expect 0 "$wick" info && has err "cost_memory_rate is 0" && expect 0 "$wick" tune --show && has out "the defaults hold"
    head -c 100 good.txt >"$(file)" && expect 0 "$wick" info && has err "it ends before"
    head -c 3000 /dev/urandom >"$(file)" && expect 0 "$wick" info && has err "line 1 is not"
    expect 0 "$wick" info --json && valid_json out
    expect 0 env WICK_TUNING=off "$wick" info && [ ! -s err ] || fail "$(cat err)"
    expect 0 env WICK_TUNING=nowhere.txt "$wick" info && has err nowhere.txt
    tune && expect 0 "$wick" info && [ ! -s err ] || fail "$(cat err)"
    # another tier has a file of its own
    expect 0 env WICK_ISA=ref "$wick" tune --show && has out "the defaults hold"
}
test_a_place_that_cannot_be_written() {
    : >plain
    expect 1 env XDG_CACHE_HOME="$PWD/plain" "$wick" tune --time 0 && has err plain
    expect 1 env -u XDG_CACHE_HOME -u HOME "$wick" tune --time 0 && has err "XDG_CACHE_HOME nor HOME"
    expect 1 env WICK_TUNING=/proc/none/tuning.txt "$wick" tune --time 0 --json && valid_json out
    expect 0 env -u XDG_CACHE_HOME -u HOME "$wick" tune --show && expect 0 env -u XDG_CACHE_HOME -u HOME "$wick" info
}
test_results_stay_the_same() {
    make_data sets/mnist 40 20
    tuned && sed -i 's/^\(gemm_task_work\|fused_task_work\|parallel_bytes\) .*/\1 50000/; s/^gemm_block_rows .*/gemm_block_rows 28/; s/^stream_bytes .*/stream_bytes 65536/' "$(file)"
    expect 0 "$wick" train --data sets/mnist --hidden 32 --epochs 1 --out tuned --quiet --force
    expect 0 env WICK_TUNING=off "$wick" train --data sets/mnist --hidden 32 --epochs 1 --out plain_run --quiet --force
    same_tensors tuned/last.safetensors plain_run/last.safetensors
}
test_main
