# wick run, inspect and verify: ONNX models.
. "$(dirname "$0")/lib.sh"
[ -d "${WICK_MODELS:-}" ] || { echo "skipped: WICK_MODELS names no folder of models"; exit 77; }
lenet=$WICK_MODELS/bench/lenet
mnist=$WICK_MODELS/onnx/mnist-8

test_check() {
    expect 0 "$wick" run "$lenet/model.onnx" --check "$lenet" && has out "y: agrees" && has err "1 output of 1 set agrees"
    expect 0 "$wick" run "$mnist/model.onnx" --check "$mnist" && has out "test_data_set_4" && has err "5 outputs of 5 sets agree"
    expect 0 "$wick" run "$mnist/model.onnx" --check "$mnist" --json && valid_json out && has out '"ok": true' && has out '"sets": 5'
    mkdir -p other && cp "$lenet/input_0.npy" other/ && expect 0 "$wick" run "$lenet/model.onnx" --input "x=$lenet/input_0.npy" --output other
    mv other/y.npy other/output_0.npy
    expect 0 "$wick" run "$lenet/model.onnx" --check other --rtol 0 --atol 0
    printf '\0\0\0\100' | dd of=other/output_0.npy bs=1 seek=128 conv=notrunc 2>/dev/null # the first number is 2
    expect 5 "$wick" run "$lenet/model.onnx" --check other && has out "y: differs: 1 of 10 differ; worst at 0"
    expect 5 "$wick" run "$lenet/model.onnx" --check other --json && valid_json out && has out '"agrees": false'
    rm other/output_0.npy && expect 3 "$wick" run "$lenet/model.onnx" --check other && has err "no output_0"
    rm other/input_0.npy && expect 3 "$wick" run "$lenet/model.onnx" --check other && has err "no input_0"
}
test_run() {
    expect 0 "$wick" run "$lenet/model.onnx" --input "x=$lenet/input_0.npy" && has out "y, f32 [1, 10]:"
    expect 0 "$wick" run "$lenet/model.onnx" --input "$lenet/input_0.npy" --repeat 3 && has out "3 runs: median"
    expect 0 "$wick" run "$lenet/model.onnx" --input random --json && valid_json out && has out '"dims": [1, 10]'
    cp out first && expect 0 "$wick" run "$lenet/model.onnx" --input random --output made && [ -s made/y.npy ] || fail "made/y.npy is not there"
}
test_wrong_uses() {
    expect 2 "$wick" run && has err MODEL
    expect 2 "$wick" run "$lenet/model.onnx" && has err "the input x, float [1, 1, 28, 28], is missing"
    expect 2 "$wick" run "$lenet/model.onnx" --input z=random && has err 'no input "z"; it has x'
    expect 3 "$wick" run "$lenet/model.onnx" --input x=nowhere.npy && has err nowhere.npy
    expect 3 "$wick" run nowhere.onnx --input random && has err nowhere.onnx
    expect 3 "$wick" run "$lenet/model.onnx" --input "x=$lenet/output_0.npy" && has err "model.onnx"
}
test_inspect() {
    expect 0 "$wick" inspect "$lenet/model.onnx" && has out "x  float [1, 1, 28, 28]" && has out "2 Conv" && has out "kernels"
    expect 0 "$wick" inspect "$lenet/model.onnx" --json && valid_json out && has out '"opset": 13' && has out '"unsupported": ""'
}
test_verify() {
    expect 0 "$wick" verify "$lenet/model.onnx" && has out "is sound"
    head -c 1000 "$lenet/model.onnx" >short.onnx
    expect 3 "$wick" verify short.onnx && has err "short.onnx" && has err "byte"
    expect 3 "$wick" verify short.onnx --json && valid_json out && has out '"ok": false'
    local file code
    for file in "$WICK_MODELS"/malformed/onnx_ort/*; do
        code=0
        timeout 20 "$wick" verify "$file" >out 2>err || code=$?
        [ "$code" = 0 ] || [ "$code" = 3 ] || fail "exit code $code of $file"
    done
}
test_example() {
    local program
    program=$(dirname "$wick")/../examples/run_onnx
    [ -x "$program" ] || { echo "  skipped: examples are not built"; return 0; }
    expect 0 "$program" "$lenet/model.onnx" && has out "y:"
    expect 1 "$program" nowhere.onnx && has out nowhere.onnx
    expect 1 "$program" "$WICK_MODELS/onnx/silero_vad_v6/model.onnx" && has out "depends on the inputs"
}
test_main
