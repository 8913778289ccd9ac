# Folders and disks that refuse to be written.
. "$(dirname "$0")/lib.sh"
make_data data 400 100
quick=(--data data --hidden 32 --epochs 3 --batch 20)

test_folders_are_made() {
    expect 0 "$wick" train "${quick[@]}" --out deep/er/run --quiet
    [ -s deep/er/run/best.safetensors ] || fail "no file"
}
test_folder_below_a_file() {
    : >file
    expect 1 "$wick" train "${quick[@]}" --out file/run && has err file/run
    expect 1 "$wick" train "${quick[@]}" --out file --quiet
}
test_unwritable_folder() {
    mkdir -p locked && chmod 555 locked
    if touch locked/x 2>/dev/null; then
        rm -f locked/x
        # root writes everywhere, save where nobody can
        [ -d /proc/self ] && expect 1 "$wick" train "${quick[@]}" --out /proc/self/wick
        return 0
    fi
    expect 1 "$wick" train "${quick[@]}" --out locked/run
}
test_log_that_can_not_be_written() {
    expect 1 "$wick" train "${quick[@]}" --out log1 --log "$0/all.jsonl" && has err "$0"
    [ -e /dev/full ] && expect 1 "$wick" train "${quick[@]}" --out log2 --log /dev/full && has err /dev/full
}
# What is no file is written to as it is: a log can go on to another program.
test_log_to_a_stream() {
    local code
    [ -e /dev/stdout ] && [ -d /dev/fd ] || { echo "  skipped: the system has no /dev/fd"; return 0; }
    "$wick" train "${quick[@]}" --out log3 --log /dev/stdout --quiet 2>err | cat >out
    code=${PIPESTATUS[0]}
    [ "$code" = 0 ] || fail "exit code $code: $(cat err)"
    has out '{"step": 60, "epoch": 3, "train_loss"' && has out log3/best.safetensors
    mkfifo streamed
    grep -c step streamed >lines & expect 0 "$wick" train "${quick[@]}" --out log4 --log /dev/fd/7 --quiet 7>streamed
    wait $! && [ "$(cat lines)" = 64 ] || fail "$(cat lines) lines"
    grep -c step streamed >lines & expect 0 "$wick" train --resume log4 --epochs 4 --log /dev/fd/7 --quiet 7>streamed
    wait $! && [ "$(cat lines)" = 22 ] || fail "$(cat lines) lines, resumed"
    # Standard output that is a file is one to a link's end: nothing of it is cut off.
    expect 1 "$wick" train "${quick[@]}" --out log5 --log /dev/stdout && has err "symbolic link"
}
test_full_disk() {
    mkdir -p small
    mount -t tmpfs -o size=200k tmpfs small 2>/dev/null || { echo "  skipped: no tmpfs can be mounted here"; return 0; }
    # The first checkpoints fit, and then something else takes the room.
    expect 0 "$wick" train "${quick[@]}" --out small/run --quiet
    cp small/run/last.safetensors before.safetensors
    head -c 300k /dev/zero >small/filler 2>/dev/null
    expect 1 "$wick" train --resume small/run --epochs 5 && has err "could not"
    expect 1 "$wick" convert small/run small/net.onnx && has err "cannot write" && expect 1 "$wick" compile small/run -o small/c && has err "cannot write"
    expect 1 "$wick" bench "gemm/f32_8*" --time 0 --html small/page.html && has err "cannot write"
    expect 1 "$wick" data pack data small/set.wrec && has err "cannot write" && expect 1 "$wick" report small/run --out small/page.html && has err "cannot write"
    [ -z "$(find small -name '*.tmp*' -o -name 'set*' -o -name 'net*' -o -name page.html -o -name '*.c')" ] || fail "a part of a file was left"
    cmp before.safetensors small/run/last.safetensors || cmp before.safetensors small/run/last.safetensors.prev ||
        fail "the checkpoint was lost"
    rm small/filler
    expect 0 "$wick" train --resume small/run --epochs 5
    umount small
}
test_main
