# wick convert: files of one kind into another.
golden=$(cd "$(dirname "$0")/../golden/weights" && pwd)
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
test_a_run_becomes_onnx() {
    make_data data 60 20
    expect 0 "$wick" train --data data --hidden 6 --batch 20 --epochs 1 --quiet --out run || return
    expect 0 "$wick" convert run net.onnx && has err "wrote net.onnx"
    expect 0 "$wick" inspect net.onnx && has out "image" && has out "[N, " && has out "2 Gemm" && has out "logits  float [N, " && has out "opset"
    expect 0 "$wick" verify net.onnx
    # The same from the checkpoint, and from ONNX for another opset with the weights beside it.
    expect 0 "$wick" convert run/best.safetensors same.onnx --quiet && cmp net.onnx same.onnx || fail "a checkpoint and its run make other files"
    expect 0 "$wick" run net.onnx --input image=random --output once
    expect 0 "$wick" convert net.onnx other.onnx --opset 21 --external && has err "wrote other.onnx"
    [ -s other.safetensors ] || fail "other.safetensors is not there"
    expect 0 "$wick" inspect other.onnx --json && has out '"opset": 21' && has out '"dims": ["N"'
    expect 0 "$wick" run other.onnx --input image=random --output twice # random numbers are the same each time
    cmp once/logits.npy twice/logits.npy || fail "other.onnx gives other numbers"
    expect 0 "$wick" convert net.onnx fixed.onnx --dim N=3 && expect 0 "$wick" inspect fixed.onnx && has out "image  float [3, "
    expect 2 "$wick" convert net.onnx fixed.onnx --opset 12 && has err opset
    expect 3 "$wick" convert nowhere.onnx b.onnx && has err nowhere.onnx
    head -c 300 net.onnx >short.onnx && expect 3 "$wick" convert short.onnx b.onnx && has err short.onnx
    [ ! -e b.onnx ] || fail "b.onnx was made"
}
# What a file leaves open stays so where it can; two inputs of one batch needn't say that they are.
test_open_extents() {
    local vad=${WICK_MODELS:-none}/onnx/silero_vad_v6/model.onnx
    [ -f "$vad" ] || { echo "  skipped: no real models"; return 0; }
    expect 3 "$wick" convert "$vad" vad.onnx && has err "open extents are input.0, input.1, state.1" && has err "--input NAME=N" && [ ! -e vad.onnx ] || fail "vad.onnx was made"
    expect 0 "$wick" convert "$vad" vad.onnx --dim input.1=576 --input sr=16000 && expect 0 "$wick" inspect vad.onnx && has out "input  float [input_0, 576]" &&
        has out "state  float [2, input_0, 128]" && lacks out "int64"
    expect 0 "$wick" run vad.onnx --check "$WICK_MODELS/onnx/silero_vad_v6" --atol 1e-5
    expect 0 "$wick" run vad.onnx --input random --dim input_0=3 && has out "f32 [3, 1]"
    expect 2 "$wick" convert "$vad" b.onnx --input sr && has err "--input needs NAME=NUMBER"
    expect 2 "$wick" convert "$vad" b.onnx --input rate=1 && has err "the model has no input 'rate'"
}
test_example() {
    program=$(dirname "$wick")/../examples/export_onnx
    [ -x "$program" ] || { echo "  skipped: examples are not built"; return 0; }
    expect 0 "$program" xor.onnx && has out "xor.onnx, read back:" && [ -s xor.safetensors ] || fail "xor.safetensors is not there"
    expect 1 "$program" && has out "export_onnx NET.onnx"
    expect 0 "$(dirname "$program")/session" xor.onnx && has out " ones" && expect 2 "$(dirname "$program")/session" && has err "usage"
    expect 1 "$(dirname "$program")/session" nowhere.onnx && has err nowhere.onnx
    expect 0 "$wick" verify xor.onnx
}
test_memory_is_bounded() {
    make_data data 60 20
    expect 0 "$wick" train --data data --hidden 600,600 --batch 20 --epochs 1 --quiet --out wide || return
    expect 0 "$wick" convert wide wide.onnx
    expect 1 "$wick" convert wide.onnx less.onnx --max-memory 1 && has err "memory" && [ ! -e less.onnx ] || fail "less.onnx was made"
    expect 0 "$wick" convert wide.onnx less.onnx --max-memory 64
}
# One object, also where it is a file that cannot be written.
test_json_of_a_run_that_fails() {
    make_data data 60 20
    expect 0 "$wick" train --data data --hidden 6 --batch 20 --epochs 1 --quiet --out failing || return
    expect 0 "$wick" convert failing failing.onnx && mkdir -p outputs/logits.npy
    expect 1 "$wick" run failing.onnx --input image=random --json --output outputs && valid_json out && has out '"ok": false' && lacks out '"ok": true'
    expect 0 "$wick" run failing.onnx --input image=random --json --output others && valid_json out && has out '"ok": true' && [ -s others/logits.npy ] || fail "no logits.npy"
}
test_weights() {
    local from
    for from in stored.npz deflated.npz model.safetensors.index.json; do
        expect 0 "$wick" convert "$golden/$from" made.safetensors
        expect 0 "$wick" convert made.safetensors made.npz
        expect 0 "$wick" convert made.npz sharded.safetensors.index.json --max-shard 1 && [ -f sharded-00001-of-00001.safetensors ] || fail "no shard"
        expect 0 "$wick" convert sharded.safetensors.index.json back.safetensors
        expect 0 "$wick" compare made.safetensors back.safetensors --atol 0
    done
    expect 0 "$wick" convert made.safetensors small.npz --compress && expect 0 "$wick" convert small.npz back.safetensors && expect 0 "$wick" compare made.safetensors back.safetensors --atol 0
    [ "$(wc -c <small.npz)" -lt "$(wc -c <made.npz)" ] || fail "--compress: $(wc -c <small.npz) bytes of $(wc -c <made.npz)"
    expect 2 "$wick" convert made.npz back.safetensors --compress && has err "--compress has no effect here: it is for a B whose name ends in .npz"
    if command -v python3 >/dev/null; then # its checksums, sizes and methods by another reader
        expect 0 python3 -m zipfile -t small.npz && has out "Done testing"
        expect 0 python3 -c 'import zipfile; a, b = (zipfile.ZipFile(f) for f in ("small.npz", "made.npz")); assert any(i.compress_type == 8 for i in a.infolist())
assert a.namelist() == b.namelist() and all(a.read(n) == b.read(n) for n in a.namelist())'
    fi
    expect 0 "$wick" convert made.npz half.safetensors --dtype bf16 && expect 0 "$wick" info half.safetensors && has out bf16 && has out i64
    expect 2 "$wick" convert half.safetensors half.npz && has err "NumPy's files have no bf16"
    expect 0 "$wick" convert half.safetensors half.npz --dtype f32
    expect 2 "$wick" convert made.npz made.npy && has err "one tensor, not 7"
    expect 3 "$wick" convert "$golden/archive.pt" no.safetensors && has err "weights_only=True"
    cp "$golden/legacy.pt" legacy.bin && expect 3 "$wick" convert legacy.bin no.safetensors && has err "save_file"
    expect 3 "$wick" eval legacy.bin && has err "could run any code"
    [ ! -e no.safetensors ] || fail "no.safetensors was made"
}
test_wrong_uses() {
    expect 2 "$wick" convert && has err A
    expect 2 "$wick" convert a.npy && has err "needs two files"
    expect 2 "$wick" convert a.npy b.npy c.npy && has err "takes two files"
    printf '\223NUMPY\1\0\166\0%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }" >a.npy
    expect 2 "$wick" convert a.npy b.zzz && has err "a.npy, an array of numbers (.npy), does not become b.zzz; what it becomes is a file whose name ends in .safetensors.index.json, .safetensors, .npz, .npy"
    expect 3 "$wick" convert nowhere.npy b.npy && has err nowhere.npy
    [ ! -e b.npy ] || fail "b.npy was made"
    printf '\2\0\0\0\0\0\0\0{}' >a.safetensors && ln -s a.safetensors link.safetensors && cp a.safetensors before
    expect 2 "$wick" convert a.safetensors a.safetensors && has err "written over what it is made of" && expect 2 "$wick" convert a.safetensors ./link.safetensors
    cmp -s a.safetensors before || fail "the source was changed"
}

test_main
