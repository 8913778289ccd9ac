#!/usr/bin/env bash
# Installs a build to a folder of its own and uses it as a stranger would.   install.sh BUILD SOURCE VERSION CC CMAKE
set -euo pipefail
build=$1 source=$2 version=$3 cc=$4 cmake=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/first
consumer=$source/tests/house/consumer

"$cmake" --install "$build" --prefix "$prefix" >"$work/log" || { cat "$work/log"; exit 1; }
lib=$(dirname "$(find "$prefix" -name libwick.a)")
for file in include/wick/wick.h include/wick/elementwise.h; do
    [ -f "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
[ -s "$prefix/share/doc/wick/api/contents.html" ] || { echo "the reference of the API is not installed"; exit 1; }
case $version in 0.*) soname=libwick.so.${version%.*} ;; *) soname=libwick.so.${version%%.*} ;; esac # as CMakeLists.txt says
[ "$(readlink "$lib/$soname")" = "libwick.so.$version" ] || { echo "no $soname"; exit 1; }

if [ -x "$prefix/bin/wick" ] && [ -d "$build/pages" ]; then # not when it was compiled for another machine
    for file in share/man/man1/wick.1 share/man/man1/wick-train.1 share/bash-completion/completions/wick \
        share/zsh/site-functions/_wick share/fish/vendor_completions.d/wick.fish; do
        [ -s "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
    done
    "$prefix/bin/wick" completions bash | cmp - "$prefix/share/bash-completion/completions/wick"
fi

# An installed tree may be moved: nothing in it names where it was.
mv "$prefix" "$work/second"
lib=${lib/$prefix/$work/second}
prefix=$work/second
if grep -rIl "$work/first\|$source" "$prefix"; then
    echo "these installed files name the build's folders"
    exit 1
fi

if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$lib/pkgconfig
    [ "$(pkg-config --modversion wick)" = "$version" ]
    define=-DWICK_EXPECTED="\"$version\""
    # shellcheck disable=SC2046 # flags are words
    "$cc" -std=c99 -Wall -Wextra -Werror "$define" "$consumer/consumer.c" -o "$work/shared" \
        $(pkg-config --cflags --libs wick)
    LD_LIBRARY_PATH=$lib "$work/shared"
    # shellcheck disable=SC2046
    "$cc" -Wall "$define" "$consumer/consumer.c" -o "$work/static" $(pkg-config --cflags wick) "$lib/libwick.a" \
        $(pkg-config --static --libs-only-l --libs-only-other wick | sed 's/-lwick//')
    "$work/static"
else
    echo "no pkg-config: wick.pc was not tried"
fi

"$cmake" -S "$consumer" -B "$work/package" -DCMAKE_C_COMPILER="$cc" -DCMAKE_PREFIX_PATH="$prefix" \
    -DWICK_EXPECTED="$version" >"$work/log" || { cat "$work/log"; exit 1; }
"$cmake" --build "$work/package" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
for program in wick__wick wick__static wick__shared; do "$work/package/$program"; done
if [ -x "$work/package/cplusplus" ]; then "$work/package/cplusplus"; else echo "no C++ compiler: C++ was not tried"; fi

# A version of another minor number is refused.
if "$cmake" -S "$consumer" -B "$work/other" -DCMAKE_PREFIX_PATH="$prefix" -DWICK_EXPECTED=99.0 >/dev/null 2>&1; then
    echo "find_package(wick 99.0) was answered"
    exit 1
fi
