#!/usr/bin/env bash
# What programs that were compiled against the headers rely on: every declaration and macro of include/wick, one a line,
# as abi.txt stores them. One that changed or went away is a break: programs must be compiled anew, and perhaps changed.
#
#   abi.sh SOURCE GENERATED CC            compares, and then plants seven breaks and finds each
#   abi.sh SOURCE GENERATED CC --store    stores what the headers declare now
#
# Once a version is out, a break goes with a higher minor number in CMakeLists.txt, which the library's soname has until 1.0.
set -euo pipefail
source=$1 generated=$2 cc=$3
stored=$source/tests/house/abi.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of what the preprocessor makes of them, the lines that are Wick's own; white space means nothing.
declared() { # INCLUDES
    echo '#include "wick/wick.h"' | "$cc" -std=c11 -E -dD -I"$1" -I"$generated" -x c - | awk '
        /^# [0-9]+ "/ { ours = $3 ~ /\/wick\/[a-z_]+\.h"$/; next }
        !ours { next }
        /^#define/ { if (!/_H *$/) print; next }
        /^#/ { next }
        {
            for (i = 1; i <= length($0); i++) {
                c = substr($0, i, 1)
                text = text c
                if (c == "{") depth++
                if (c == "}") depth--
                if (depth == 0 && (c == ";" || (c == "}" && text ~ /^ *static/))) { put(text); text = "" }
            }
            text = text " "
        }
        function put(t) {
            gsub(/[ \t]+/, " ", t)
            gsub(/^ | $/, "", t)
            if (t != "") print t
        }' | LC_ALL=C sort -u
}
# Lines of abi.txt that the headers no longer have.
broken() { declared "$1" | LC_ALL=C comm -23 "$stored" -; }

if [ "${4:-}" = --store ]; then
    declared "$source/include" >"$stored"
    exit
fi
gone=$(broken "$source/include")
if [ -n "$gone" ]; then
    echo "changed or gone since abi.txt was stored:"
    echo "$gone"
    echo "If it must be so: say it in CHANGELOG.md under Breaking, and $0 $source $generated $cc --store"
    exit 1
fi

# A break of each kind is found; what is only added is none.
cp -r "$source/include" "$work/include"
plant() { # what, the header, sed's command
    cp "$source/include/wick/$2" "$work/include/wick/$2"
    sed -i "$3" "$work/include/wick/$2"
    if cmp -s "$source/include/wick/$2" "$work/include/wick/$2"; then echo "not planted: $1"; exit 1; fi
    local found
    found=$(broken "$work/include")
    cp "$source/include/wick/$2" "$work/include/wick/$2"
    if [ "$1" = "an addition" ]; then [ -z "$found" ] || { echo "an addition counts as a break: $found"; exit 1; }
    else [ -n "$found" ] || { echo "not found: $1"; exit 1; }; fi
}
plant "a function removed" session.h '/wick_session_free(/d'
plant "a parameter's type" files.h 's/wick_files_class(const wick_files \*files, int64_t label)/wick_files_class(const wick_files *files, int label)/'
plant "the type returned" files.h 's/WICK_API int64_t wick_files_count/WICK_API int wick_files_count/'
plant "a field between others" files.h 's/^    bool salvage;/    int planted;\n    bool salvage;/'
plant "a field at the end of options" session.h 's/^} wick_session_options;/    int planted;\n&/'
plant "an enumerator before others" types.h 's/^\( *\)WICK_OK\b/\1WICK_PLANTED, WICK_OK/'
plant "a const" files.h 's/WICK_API const char \*wick_files_path/WICK_API char *wick_files_path/'
plant "an addition" files.h 's/^WICK_API int64_t wick_files_count/WICK_API int64_t wick_files_planted(const wick_files *files);\n&/'
