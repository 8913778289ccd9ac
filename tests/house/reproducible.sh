#!/usr/bin/env bash
# Runs scripts/demo from a copy of the tree in a folder of another name, which builds the release anew, and compares every byte that is installed
# with BUILD, which has no debug information (that names folders).   reproducible.sh BUILD SOURCE CMAKE [OPTIONS OF wick train]
set -euo pipefail
build=$1 source=$2 cmake=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/a copy"
(cd "$source" && cp -r CMakeLists.txt cmake include src cli scripts "$work/a copy")
WICK_BUILD="$work/else where" "$work/a copy/scripts/demo" "$@"
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
"$cmake" --install "$work/else where" --prefix "$work/second" >/dev/null
diff -r "$work/first" "$work/second" || { echo "the same source in other folders makes other bytes"; exit 1; }
echo "$(find "$work/first" -type f | wc -l) installed files, the same from both folders"
