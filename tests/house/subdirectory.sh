#!/usr/bin/env bash
# Builds a project that has the tree inside by add_subdirectory.   subdirectory.sh SOURCE CC CMAKE
set -euo pipefail
source=$1 cc=$2 cmake=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
# Kernels for some CPUs only: links and runs without the others.
tiers="base"
[ "$(uname -m)" != x86_64 ] || [ -z "${WICK_LONG:-}" ] || tiers="base;avx512"
# Compiled as fast as can be: this is about targets, not about speed.
"$cmake" -S "$source/tests/house/consumer" -B "$work" "${generator[@]}" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DWICK_TIER_LEVEL=-O0 -DWICK_TREE="$source" "-DWICK_TIERS=$tiers" >"$work.log" 2>&1 || { tail -n 30 "$work.log"; exit 1; }
"$cmake" --build "$work" --target wick__wick --parallel 2 >"$work.log" 2>&1 || { tail -n 30 "$work.log"; exit 1; }
rm -f "$work.log"
"$work/wick__wick"
for isa in ref avx2 avx512; do WICK_ISA=$isa "$work/wick__wick"; done # those that are not there stand for the next below
if find "$work" -path '*wick_tier_ref*' -o -path '*wick_tier_avx2*' -name '*.o' | grep -q .; then
    echo "there are kernels of tiers that WICK_TIERS leaves out"
    exit 1
fi
for wrong in avx512 "base;sse"; do
    if "$cmake" -S "$source/tests/house/consumer" -B "$work/wrong" "${generator[@]}" -DCMAKE_C_COMPILER="$cc" -DWICK_TREE="$source" "-DWICK_TIERS=$wrong" >"$work.log" 2>&1 || ! grep -q WICK_TIERS: "$work.log"; then
        echo "WICK_TIERS=$wrong is not refused"
        exit 1
    fi
done
rm -f "$work.log"
# Tests, examples, benchmarks, the command and install rules are for the tree as a project of its own.
if find "$work/wick" -name 'CTestTestfile.cmake' -path '*/tests/*' | grep -q . || [ -d "$work/wick/cli" ]; then
    echo "add_subdirectory brought more than the library"
    exit 1
fi
