#!/usr/bin/env bash
# without_libraries.sh: what is optional is optional for the tests too: they pass, or skip with a word, where a library that Wick opens at run time is absent.
#
#   tests/house/without_libraries.sh BUILD        a build of the tests; .ci/run calls it
#
# The libraries are those that lines of src name ("libz.so.1", "libz.so" ...): one line, one library and its other names. All of them are hidden from dlopen at once.
set -u
build=$(cd "$1" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
shim=$build/tests/house/libhide_libraries.so
tests_all='^(data/.*|io/(weights|npy|untrusted|onnx)|ops/(hostile|linalg)|cli/(cases_ops|cases_values|example_dataset|example_stream))$' # scripts that make pictures need what reads them
mapfile -t libraries < <(grep -rhE '"lib[a-z0-9_]+\.so' "$root/src" --include='*.c' |
    while read -r line; do grep -oE '"lib[a-z0-9_]+\.(so|[0-9])' <<<"$line" | tr -d '"' | sort -u | xargs; done | sort -u)
[ "${#libraries[@]}" -ge 7 ] && [ -f "$shim" ] || { echo "found ${#libraries[@]} libraries, and $(ls "$shim" 2>&1)"; exit 1; }

failed=0
hide() { # NAMES TESTS: what fails is shown
    local began=$SECONDS
    if WICK_HIDDEN_LIBRARIES=$1 LD_PRELOAD=$shim ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" -R "$2" >"$build/without.log" 2>&1 && grep -q 'tests passed' "$build/without.log"; then
        echo "ok without $1 ($((SECONDS - began)) s)"
    else
        grep -vE '^(ok|cases) |Passed|Start ' "$build/without.log" | head -n 60
        echo "FAILED without $1"
        failed=1
    fi
}
# The shim hides what is there: otherwise all that follows says nothing.
WICK_HIDDEN_LIBRARIES=libz.so LD_PRELOAD=$shim "$build/tests/test_data_tar" | grep -q 'no zlib here' || { echo "libz.so is not hidden"; exit 1; }
hide "${libraries[*]}" "$tests_all"
[ "$failed" = 0 ]
