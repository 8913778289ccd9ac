#!/usr/bin/env bash
# Builds the release of a copy of the tree, in folders of other names, and compares every byte that is installed with BUILD, which has
# no debug information (that names folders).   reproducible.sh BUILD SOURCE CC CMAKE
set -euo pipefail
build=$1 source=$2 cc=$3 cmake=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/a copy"
(cd "$source" && cp -r CMakeLists.txt cmake include src cli "$work/a copy")
generator=()
if command -v ninja >/dev/null; then generator=(-G Ninja); fi
"$cmake" -S "$work/a copy" -B "$work/else where" "${generator[@]}" -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=Release \
    -DWICK_TESTS=OFF -DWICK_EXAMPLES=OFF -DWICK_BENCH=OFF >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
"$cmake" --build "$work/else where" --parallel >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
"$cmake" --install "$work/else where" --prefix "$work/second" >/dev/null
diff -r "$work/first" "$work/second" || { echo "the same source in other folders makes other bytes"; exit 1; }
echo "$(find "$work/first" -type f | wc -l) installed files, the same from both folders"
