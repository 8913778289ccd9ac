# lib.sh: what the tests of the command share. Sourced with: WICK (the command), WRITE (idx_write) as $1 and $2.
# A test is a function named test_*; test_main runs them all, each in the same scratch folder.
set -u
wick=$1 write=$2
export NO_COLOR=1 LC_ALL=C
unset WICK_DATA
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
unset WICK_TUNING
export XDG_CACHE_HOME=$scratch/cache # of wick tune
failures=0

fail() {
    echo "  FAILED in ${FUNCNAME[2]:-?}: $*"
    failures=$((failures + 1))
}
# expect CODE COMMAND...: runs it; leaves its output in out and err.
expect() {
    local want=$1 code=0
    shift
    "$@" >out 2>err || code=$?
    [ "$code" = "$want" ] && return 0
    fail "exit code $code, not $want: $*"
    sed 's/^/    /' out err | tail -n 20
    return 1
}
# has FILE TEXT / lacks FILE TEXT
has() { grep -qF -e "$2" "$1" || { fail "$1 lacks '$2'"; sed 's/^/    /' "$1" | tail -n 20; }; }
lacks() { ! grep -qF -e "$2" "$1" || { fail "$1 has '$2'"; sed 's/^/    /' "$1" | tail -n 20; }; }
# Is this .ci/run's sample under sanitizers? They look at the command's memory: of the same training they see as much in
# few epochs, and on few numbers of ranks. few ALL SOME: what is taken.
brief() { [ -n "${SANITIZED:-}" ] && [ -z "${WICK_LONG:-}" ]; }
few() { if brief; then echo "$2"; else echo "$1"; fi; }
# at_least KEY N: of the JSON in out. A brief training learns little, but has a figure.
at_least() { awk -v a="$(json out "$1")" -v b="$(few "$2" 0)" 'BEGIN { exit !(a ~ /^[0-9]/ && a + 0 >= b) }' || fail "$1 is $(json out "$1"), not $2"; }
valid_json() {
    command -v python3 >/dev/null || return 0
    python3 -m json.tool "$1" >/dev/null || { fail "$1 is no JSON"; head -c 400 "$1"; }
}
# json FILE KEY: the number or text of a key, where it stands first.
json() { grep -o "\"$2\": [^,}]*" "$1" | head -n 1 | sed 's/^[^:]*: //; s/^"\(.*\)"$/\1/'; }
# tensors FILE: the bytes of a safetensors file after its header (8 bytes of length, then JSON).
tensors() { tail -c "+$(($(od -An -t u8 -N 8 "$1") + 9))" "$1"; }
# metadata FILE: its header without the time that training took and the checksum that covers it, which fills up a multiple of 8 bytes.
metadata() { head -c "$(($(od -An -t u8 -N 8 "$1") + 8))" "$1" | tail -c +9 | sed 's/"run.seconds":"[^"]*"//; s/"wick.crc32c":"[^"]*"//; s/ *$//'; }
# unseal FILE: a checkpoint becomes another program's file, which has no checksum to verify.
unseal() { sed -i 's/"wick\.format"/"were.format"/; s/"wick\.crc32c"/"were.crc32c"/' "$1"; }
same_tensors() {
    cmp <(tensors "$1") <(tensors "$2") >cmp.out 2>&1 || fail "the tensors of $1 and $2 differ: $(cat cmp.out)"
}
# without_time LOG: a run's log without its seconds.
without_time() { sed 's/, "seconds": [^}]*//' "$1"; }
# rank_of LAUNCH N: the process of that rank
rank_of() {
    local child
    for child in $(cat "/proc/$1/task/$1/children"); do
        tr '\0' '\n' <"/proc/$child/environ" | grep -qx "WICK_RANK=$2" && echo "$child" && return 0
    done
    return 1
}
# killed_ranks OUT OPTION...: a training of four ranks, of which three are killed one after another, ends.
killed_ranks() {
    local out=$1 pid code=0 rank child
    shift
    "$wick" launch --ranks 2:4 --restarts 3 "$wick" train "$@" --save-every 3 --out "$out" >out 2>err &
    pid=$!
    for rank in 3 0 1; do
        sleep 0.15
        child=$(rank_of $pid $rank) && kill -KILL "$child"
        sleep 0.5
    done 2>/dev/null
    wait $pid || code=$?
    [ $code = 0 ] || { fail "exit code $code" && cat err; }
}
# case_folder NAME: sets `dir` to a folder of WICK_CASES; false, and says so, where there is none.
case_folder() {
    dir=${WICK_CASES:-}/$1
    [ -n "${WICK_CASES:-}" ] && [ -d "$dir" ] && return 0
    echo "  skipped $1: WICK_CASES names no folder with it"
    return 1
}
make_data() { # FOLDER TRAIN TEST [SIDE [CHANNELS]]
    mkdir -p "$1" && "$write" "$@"
}
test_main() {
    local name
    for name in $(declare -F | sed -n 's/^declare -f \(test_.*\)/\1/p'); do
        [ "$name" = test_main ] && continue
        local before=$failures
        "$name"
        [ "$failures" = "$before" ] && echo "ok ${name#test_}"
    done
    echo "$failures failures"
    [ "$failures" = 0 ]
}
