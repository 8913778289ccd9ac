# wick convert: files of one kind into another.
. "$(dirname "$0")/lib.sh"

# NAME.npy: f32 [2, 3], columns first if the second argument says so.
write_npy() {
    local header="{'descr': '<f4', 'fortran_order': ${2:-False}, 'shape': (2, 3), }"
    printf '\223NUMPY\1\0\166\0%-117s\n' "$header" >"$1"
    printf '\0\0\0\0\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\100\0\0\240\100' >>"$1"
}

test_npy() {
    write_npy columns.npy True
    write_npy rows.npy
    expect 0 "$wick" convert columns.npy made.npy && has err "wrote made.npy"
    cmp -s made.npy rows.npy && fail "the order of columns was kept"
    expect 0 "$wick" convert rows.npy again.npy --json && valid_json out && has out '"wrote": "again.npy"'
    cmp again.npy rows.npy || fail "again.npy differs"
}
test_wrong_uses() {
    expect 2 "$wick" convert && has err A
    expect 2 "$wick" convert a.npy && has err "needs two files"
    expect 2 "$wick" convert a.npy b.npy c.npy && has err "takes two files"
    expect 2 "$wick" convert a.npy b.zzz && has err "a.npy does not become b.zzz; what does: "
    expect 3 "$wick" convert nowhere.npy b.npy && has err nowhere.npy
    [ ! -e b.npy ] || fail "b.npy was made"
}

test_main
