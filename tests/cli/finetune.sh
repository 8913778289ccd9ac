# wick train --model, --weights, --freeze, --input-range: networks and weights of others. The first part needs real models, the last real data.
real=${WICK_DATA:-} # which lib.sh unsets
. "$(dirname "$0")/lib.sh"
models=${WICK_MODELS:-}
make_data data 60 20 28
run=(--data data --batch 16 --quiet --lr 0.001)

# The mnist-8 of ONNX's model zoo: fixed to a batch of 1, and its last weights lie behind a Reshape.
test_an_onnx_file_is_trained() {
    [ -d "$models" ] || { echo "  skipped: WICK_MODELS names no folder of models"; return 0; }
    local mnist=$models/onnx/mnist-8/model.onnx
    expect 0 "$wick" train --model "$mnist" "${run[@]}" --epochs 2 --out tuned --head --freeze "Parameter5|Parameter6" --json && valid_json out
    has out '"arch": "onnx:model.onnx,head"'
    cmp tuned/model.onnx "$mnist" || fail "the copy differs"
    expect 0 "$wick" eval tuned --quiet && has out accuracy
    expect 0 "$wick" predict tuned --quiet && has out "taken for"
    expect 0 "$wick" info tuned && has out "Times212.weight" && has out "Parameter194" && lacks out "Parameter193" # nothing reads it any more
    # The run may be moved, and goes on to the same bits.
    expect 0 "$wick" train --model "$mnist" "${run[@]}" --epochs 2 --out part --head --freeze "Parameter5|Parameter6" --patience 1
    expect 0 "$wick" train --model "$mnist" "${run[@]}" --epochs 1 --out one --head --freeze "Parameter5|Parameter6" --schedule constant
    expect 0 "$wick" train --model "$mnist" "${run[@]}" --epochs 2 --out two --head --freeze "Parameter5|Parameter6" --schedule constant
    mv one moved
    expect 0 "$wick" train --resume moved --epochs 2 --quiet
    same_tensors moved/last.safetensors two/last.safetensors
    # What is frozen is what the file has.
    expect 0 "$wick" compare moved/last.safetensors two/last.safetensors --atol 0
    expect 0 "$wick" compare tuned/best.safetensors two/best.safetensors --atol 0 --only "Parameter5|Parameter6"
    expect 5 "$wick" compare tuned/best.safetensors two/best.safetensors --atol 0 --only "Parameter87"
    # By itself the file is measured, but says nothing of data.
    expect 0 "$wick" eval "$mnist" --data data --quiet --input-range 0,255
    expect 2 "$wick" eval "$mnist" && has err "give --data"
    expect 2 "$wick" eval tuned --input-range 0,1 && has err "--input-range is for an ONNX file"
    rm moved/model.onnx && expect 3 "$wick" eval moved && has err "moved/model.onnx"
}
test_heads_fit_the_classes() {
    local name
    [ -d "$models" ] || return 0
    for name in lenet mnist_cnn; do
        expect 0 "$wick" train --model "$models/bench/$name/model.onnx" "${run[@]}" --epochs 1 --limit 32 --out "$name" && has out best
    done
    expect 0 "$wick" train --model "$models/bench/lenet/model.onnx" "${run[@]}" --epochs 1 --limit 32 --out fresh --head && expect 0 "$wick" info fresh
    has out "f3.weight"
    expect 2 "$wick" train --model "$models/bench/autoencoder/model.onnx" "${run[@]}" --out no && has err "takes images of [640]" && has err "are [28, 28]"
    make_data colour 20 10 32 3
    expect 0 "$wick" train --model "$models/bench/resnet8/model.onnx" --data colour --batch 8 --epochs 1 --quiet --out resnet # ends in a Softmax, which is left out
    # Images of another size, or of one channel, are made what the network takes, in training and ever after.
    expect 0 "$wick" train --model "$models/bench/mobilenetv1_025/model.onnx" --data data --batch 8 --epochs 1 --limit 16 --out small && has err "images of [1, 28, 28] are made [3, 96, 96]"
    expect 0 "$wick" train --model "$models/bench/resnet8/model.onnx" --data data --batch 8 --epochs 1 --limit 16 --quiet --out grey
    expect 0 "$wick" eval grey && has out accuracy
    expect 0 "$wick" predict grey --quiet && has out "taken for"
    expect 0 "$wick" convert grey grey.onnx && expect 0 "$wick" run grey.onnx --input random && expect 0 "$wick" train --resume grey --epochs 2 --quiet
    expect 0 "$wick" eval "$models/bench/resnet8/model.onnx" --data data && has err "images of [1, 28, 28] are made [3, 32, 32]" # the file by itself too
    expect 3 "$wick" eval "$models/bench/lenet/model.onnx" --data colour && has err "have 3072 pixels"
    expect 2 "$wick" train --model "$models/bench/lenet/model.onnx" --data colour --out no && has err "takes images of [1, 28, 28]" && has err "are [3, 32, 32]"
    expect 2 "$wick" train --model "$models/onnx/ppocr_cls/model.onnx" --data colour --head --out no && has err "(for an image of [3, 32, 32])"
    expect 2 "$wick" train --model "$models/onnx/silero_vad_v6/model.onnx" "${run[@]}" --out no && has err "takes no batch of images"
    expect 2 "$wick" train --model "$models/bench/lenet/model.onnx" --arch mlp && has err "takes no --arch beside it"
    expect 3 "$wick" train --model nowhere.onnx "${run[@]}" && has err nowhere.onnx
    [ ! -e no ] || fail "no was made"
}
# A checkpoint names a file of its own folder, and nothing else.
test_checkpoints_lead_nowhere_else() {
    local name
    [ -d "$models" ] || return 0
    expect 0 "$wick" train --model "$models/bench/lenet/model.onnx" "${run[@]}" --epochs 1 --limit 32 --out lead
    for name in ../model.o /model.onx .hide.onnx; do # as long as model.onnx
        mkdir -p bad && sed "s|onnx:model.onnx|onnx:$name|" lead/best.safetensors >bad/best.safetensors && unseal bad/best.safetensors
        expect 3 "$wick" eval bad && has err "bad arch 'onnx:$name'"
    done
}
test_weights_come_by_name() {
    local file
    expect 0 "$wick" train "${run[@]}" --hidden 6 --dropout 0 --epochs 1 --out mlp
    expect 0 "$wick" convert mlp/best.safetensors mlp.npz
    for file in mlp/best.safetensors mlp.npz; do
        expect 0 "$wick" train "${run[@]}" --hidden 6 --dropout 0 --epochs 1 --out same --force --weights "$file" --freeze "*"  --group "fc2.bias:lr=1x"
        expect 0 "$wick" compare mlp/best.safetensors same/best.safetensors --atol 0 --only "fc1.*|fc2.weight"
        expect 5 "$wick" compare mlp/best.safetensors same/best.safetensors --atol 0 --only "fc2.bias"
    done
    expect 3 "$wick" train "${run[@]}" --hidden 6,6 --epochs 1 --out no --weights mlp.npz
    has err "2 missing: fc3.weight, fc3.bias" && has err "of another shape or dtype: fc2.weight is"
    expect 0 "$wick" train --data data --hidden 6,6 --epochs 1 --out some --weights mlp.npz --fit && has err "2 states from" && has err "missing in the file: fc3.weight"
    expect 0 "$wick" train --data data --hidden 6,6 --epochs 1 --out other --weights mlp.npz --fit --rename "fc2.=fc3." --rename "fc1.*=fc1.*" && has err "4 states from"
    expect 2 "$wick" train "${run[@]}" --weights mlp.npz --rename "fc2" && has err "the form is FROM=TO"
    expect 2 "$wick" train "${run[@]}" --weights mlp.npz --rename "a=*" && has err "more stars"
    expect 2 "$wick" train "${run[@]}" --rename "a=b" && has err "--rename is for --weights"
    expect 2 "$wick" train "${run[@]}" --head && has err "--head is for a --model"
    expect 2 "$wick" train "${run[@]}" --input-range 1 && has err "--input-range '1'"
    [ ! -e no ] || fail "no was made"
}
# The accuracy that their makers trained them to, as ONNX Runtime has it: 9,891 of 10,000 right with pixels of 0 to 255.
test_mnist_models_reach_their_accuracy() {
    local name
    [ -d "$models" ] && [ -d "$real/mnist" ] || { echo "  skipped: no real models, or no MNIST"; return 0; }
    for name in mnist-8 mnist-opt; do
        WICK_DATA=$real expect 0 "$wick" eval "$models/onnx/$name/model.onnx" --data mnist --input-range 0,255 --json
        has out '"correct": 9891'
    done
}
test_main
