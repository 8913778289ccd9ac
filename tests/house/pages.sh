#!/usr/bin/env bash
# Builds and runs the programs of README.md and of docs/tutorial.md, one after another in one folder, and compares what they
# print with the text below each.   pages.sh SOURCE CC LIBRARY FLAGS...
set -euo pipefail
source=$1 cc=$2 library=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
block() { # PAGE LANGUAGE NUMBER: the text of that block of code
    awk -v fence="\`\`\`$2" -v number="$3" '$0 == fence { inside = ++seen == number; next } /^```/ { inside = 0 } inside' "$source/$1"
}
flags=("$@")
run_page() { # PAGE PROGRAMS
    local n
    for ((n = 1; n <= $2; n++)); do
        block "$1" c "$n" >first.c
        [ -s first.c ] || { echo "$1 shows no program $n"; exit 1; }
        "$cc" -std=c11 -Wall -Wextra -Werror first.c -o first "${flags[@]}" "$library" -lm -pthread -ldl
        ./first >said || { echo "$1: program $n fails"; cat said; exit 1; }
        block "$1" text "$n" | diff - said || { echo "$1: program $n prints something else"; exit 1; }
    done
}
run_page README.md 1
run_page docs/tutorial.md 5
