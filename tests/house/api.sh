#!/usr/bin/env bash
# The reference of the API: every function of abi.txt has its place there, every link leads somewhere.   api.sh SOURCE GENERATED
set -euo pipefail
source=$1 generated=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/scripts/api_pages" "$work/api" "$source"/include/wick/*.h "$generated/wick/elementwise.h"
cd "$work/api"
grep -o 'id="[^"]*"' ./*.html | sed 's|^\./||; s|:id="|#|; s|"$||' | LC_ALL=C sort -u >../places
grep -ho 'href="[^"#]*#[^"]*"' ./*.html | sed 's|^href="||; s|"$||' | LC_ALL=C sort -u >../links
grep -ho 'href="[^"#]*"' ./*.html | sed 's|^href="||; s|"$||' | sort -u | while read -r page; do [ -f "$page" ] || { echo "no page $page"; exit 1; }; done
lost=$(LC_ALL=C comm -13 ../places ../links)
[ -z "$lost" ] || { echo "links that lead nowhere:" "$lost"; exit 1; }
[ "$(wc -l <../links)" -gt 1000 ] || { echo "hardly any links"; exit 1; }
grep 'visibility' "$source/tests/house/abi.txt" | grep -o 'wick_[a-z0-9_]*(' | tr -d '(' | sort -u >../functions
[ "$(wc -l <../functions)" -gt 500 ] || { echo "hardly any functions"; exit 1; }
sed 's/.*#//' ../places | sort -u >../names
missing=$(LC_ALL=C comm -23 <(LC_ALL=C sort ../functions) <(LC_ALL=C sort ../names))
[ -z "$missing" ] || { echo "functions without a place:" "$missing"; exit 1; }
