# tools.sh: what the scripts share: saying what they do, and getting what is missing from apt. Sourced, by bash.

say() { printf '\n== %s\n' "$*" >&2; }
have() { command -v "$1" >/dev/null 2>&1; }

# A compiler alone lacks the headers of libc.
has_c_compiler() {
    local cc
    for cc in "${CC:-cc}" gcc clang; do
        have "$cc" && echo '#include <stdio.h>' | "$cc" -E -x c - >/dev/null 2>&1 && return 0
    done
    return 1
}
has_library() { /sbin/ldconfig -p 2>/dev/null | grep -qF "$1 "; }

# Packages that every build needs and that are not here, one a line.
missing_to_build() {
    has_c_compiler || printf '%s\n' gcc libc6-dev
    have cmake || echo cmake
    have ninja || have make || echo ninja-build
    has_library libz.so.1 || echo zlib1g
}
# What reads pictures, at run time only: tests that need it are skipped without.
missing_for_pictures() {
    has_library libturbojpeg.so.0 || echo libturbojpeg0
    has_library libspng.so.0 || echo libspng0
    has_library libwebp.so.7 || echo libwebp7
    has_library libtiff.so.6 || echo libtiff6
    has_library libopenjp2.so.7 || echo libopenjp2-7
}

# What gets files over HTTP, at run time only, likewise.
missing_for_remote() { has_library libcurl.so.4 || echo libcurl4; }

# Installs Debian packages; nothing for no arguments. As root, or by sudo.
install_packages() {
    [ $# -gt 0 ] || return 0
    say "installing $*"
    have apt-get || { echo "no apt-get here: install $* by other means" >&2; return 1; }
    local as_root=()
    if [ "$(id -u)" != 0 ]; then
        have sudo || { echo "run as root, or install sudo: $* must be installed" >&2; return 1; }
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# "passed failed" of the CTest whose output is in the file; false when it did not come to an end.
ctest_counts() {
    sed -n 's/.* tests passed, \([0-9]*\) tests failed out of \([0-9]*\).*/\1 \2/p' "$1" |
        { read -r failed total && echo "$((total - failed)) $failed"; }
}
