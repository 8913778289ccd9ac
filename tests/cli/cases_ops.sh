# Ops of ONNX whose text was read in another way: the models of the reports that said so.
. "$(dirname "$0")/lib.sh"

test_ops_give_what_the_text_says() {
    local name dir
    for name in resize-f32-scale-pixels resize-f32-scale-shape resize-cubic-antialias-grow roialign-f32-scale convtranspose-output-shape lrn-even-size trig-large; do
        case_folder "$name" || continue
        expect 0 "$wick" run "$dir/model.onnx" --check "$dir/test"
    done
}
test_main
