# wick doctor: its facts are those of the system's tools, its advice follows from them, and nothing that is missing stops it.
. "$(dirname "$0")/lib.sh"

facts() { expect 0 "$wick" doctor --no-measure --json "$@" && valid_json out; }

test_text() {
    expect 0 "$wick" doctor && has out "tier in use" && has out "threads" && has out "peak of a core" && has out "Advice"
    [ ! -s err ] || fail "it said $(cat err)"
    expect 0 "$wick" doctor --no-measure && lacks out "peak of a core"
    expect 0 "$wick" doctor --no-measure --color always && has out $'\x1b[1m'
}
test_json() {
    expect 0 "$wick" doctor --json && valid_json out && has out '"core_peak_gflops": '
    for key in version model tier threads quota total huge_pages zlib clang fashion-mnist product_gflops advice; do has out "\"$key\": "; done
    awk -v peak="$(json out core_peak_gflops)" -v product="$(json out product_gflops)" \
        'BEGIN { exit !(peak > 0.01 && product > 0.001 && product < 1.5 * peak) }' || fail "speeds: $(cat out)"
}
test_facts_are_the_systems() {
    facts
    [ "$(json out affinity)" = "$(nproc)" ] || fail "$(json out affinity) CPUs; nproc says $(nproc)"
    [ "$(json out page)" = "$(getconf PAGESIZE)" ] || fail "pages"
    [ ! -r /proc/meminfo ] || [ "$(json out total)" = "$(awk '/^MemTotal:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)" ] || fail "memory"
    [ "$(json out version)" = "$("$wick" --version | cut -d' ' -f2)" ] || fail "version"
    [ "$(json out threads)" = "$("$wick" info --json | grep -o '"threads": [0-9]*' | cut -d' ' -f2)" ] || fail "threads"
    facts --threads 1 && [ "$(json out threads)" = 1 ] || fail "--threads 1"
}
test_advice_on_the_tier() {
    expect 0 env WICK_ISA=ref "$wick" doctor --no-measure && has out "WICK_ISA=ref keeps Wick from using"
    expect 0 env -u WICK_ISA "$wick" doctor --no-measure && lacks out "WICK_ISA="
    expect 0 env WICK_ISA=ref-vnni "$wick" doctor --no-measure && has out "WICK_ISA=ref-vnni keeps Wick from using"
    expect 0 env -u WICK_ISA "$wick" doctor --no-measure && { ! grep -q '^  extensions.*\bvnni' out ||
        { expect 0 env WICK_ISA=-vnni "$wick" doctor --no-measure && has out "not vnni" && has out "WICK_ISA=-vnni keeps Wick from using vnni"; }; }
    expect 0 env WICK_EAGER=1 "$wick" doctor --no-measure && has out "WICK_EAGER=1 runs op by op"
}
test_advice_on_affinity() {
    command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ] || { echo "  skipped: no taskset, or one CPU"; return 0; }
    local first
    first=$(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/')
    expect 0 taskset -c "$first" "$wick" doctor --no-measure && has out "the affinity mask leaves 1 of"
}
test_data() {
    make_data sets/mnist 20 10
    expect 0 env WICK_DATA="$PWD/sets" "$wick" doctor --no-measure --json && [ "$(json out mnist)" = "$PWD/sets/mnist" ] || fail "$(json out mnist)"
    expect 0 env WICK_DATA=sets "$wick" doctor --no-measure && has out "sets/mnist"
}
test_compilers_that_are_missing_or_hang() {
    mkdir -p bin
    printf '#!/bin/sh\n/bin/sleep 1000 & wait\n' >bin/gcc
    printf '#!/bin/sh\n/bin/echo "cc 1.2.3 \\"quoted\\""; exec /bin/sleep 1000\n' >bin/cc
    chmod +x bin/gcc bin/cc
    local start=$SECONDS
    PATH=$PWD/bin "$wick" doctor --no-measure --json >out 2>err || fail "exit code $?"
    [ $((SECONDS - start)) -lt 60 ] || fail "it took $((SECONDS - start)) s"
    valid_json out
    has out '"gcc": null' && has out '"clang": null' && has out '"cc": "cc 1.2.3 \"quoted\""'
    PATH=/nowhere "$wick" doctor --no-measure >out 2>err || fail "exit code $?"
    [ "$(grep -c '^  \(cc\|gcc\|clang\) *not found' out)" = 3 ] || fail "$(grep -A 3 Compilers out)"
}
test_checklist_of_another_machine() {
    local cpu=machine/sys/devices/system/cpu
    mkdir -p machine/proc/self machine/proc/pressure $cpu/intel_pstate machine/sys/kernel/mm/transparent_hugepage
    echo 1 >$cpu/intel_pstate/no_turbo
    echo "always madvise [never]" >machine/sys/kernel/mm/transparent_hugepage/enabled
    expect 0 "$wick" doctor --no-measure --root machine && has out "Checklist" && has out "intel_pstate/no_turbo" && has out "thp: transparent huge pages are off"
    expect 0 "$wick" doctor --no-measure --root machine --json && valid_json out && has out '{"name": "turbo", "state": "bad", "found": "off", "fix": "the CPU does not go'
    has out '{"name": "steal", "state": "unknown", "found": null, "fix": null}'
    expect 3 "$wick" doctor --no-measure --root nowhere && has err "nowhere is no folder"
}
test_main
