#!/usr/bin/env bash
# Builds and runs the program that README.md shows first.   readme.sh SOURCE CC LIBRARY FLAGS...
set -euo pipefail
source=$1 cc=$2 library=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```c$/ { if (!seen++) inside = 1; next } /^```/ { inside = 0 } inside' "$source/README.md" >"$work/readme.c"
[ -s "$work/readme.c" ] || { echo "README.md shows no program"; exit 1; }
"$cc" -std=c11 -Wall -Wextra -Werror "$work/readme.c" -o "$work/readme" "$@" "$library" -lm -pthread -ldl
"$work/readme" | tee "$work/said"
# What the README says it prints.
awk '/^```text$/ { if (!seen++) inside = 1; next } /^```/ { inside = 0 } inside' "$source/README.md" >"$work/wanted"
diff "$work/wanted" "$work/said"
