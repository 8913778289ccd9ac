# wick quantize: a trained classifier in 8 bits.
. "$(dirname "$0")/lib.sh"

make_run() { # FOLDER NET
    [ -d data ] || make_data data 600 200 12
    [ -d "$1" ] || expect 0 "$wick" train --data data --net "$2" --batch 50 --epochs 6 --quiet --out "$1"
}
conv="conv 8 3 pad 1, bn, relu, conv 8 3 pad 1, bn, relu, maxpool 2, flatten, linear 32, relu, linear classes"

test_a_run() {
    make_run run "$conv" || return
    expect 0 "$wick" quantize run -o net8.onnx && has err "ranges of 512 images" && has err "judged on 60 images that the training held out" &&
        has out "conv1.weight"
    has out "images lost" && has out "times as fast" && lacks out "stays f32"
    expect 0 "$wick" inspect net8.onnx && has out "QuantizeLinear" && has out "image  float [N, "
    expect 0 "$wick" quantize run -o again.onnx --json && valid_json out && has out '"within": true' && has out '"weight_sqnr_db"'
    cmp net8.onnx again.onnx || fail "the same command makes another file"
    expect 0 "$wick" quantize run -o threads.onnx --threads 1 --quiet && cmp net8.onnx threads.onnx || fail "the number of threads counts"
    # what it says of accuracy is what eval finds
    # --data that names what the run learned from is judged by what it held out
    expect 0 "$wick" quantize run --data ./data -o own.onnx && has err "judged on 60 images that the training held out" && has err "--data ./data is what run learned from"
    expect 0 "$wick" prune run --data data --ratio 0.3 -o own.onnx && has err "is what run learned from" && has out "images that the training held out"
    expect 0 "$wick" quantize run -o all.onnx --images 10 --judge 590 --json && lost=$(json out accuracy_int8)
    expect 0 "$wick" eval run --json && floats=$(json out accuracy)
    expect 0 "$wick" eval net8.onnx --data data --json && integers=$(json out accuracy)
    awk "BEGIN { exit !($floats - $integers < 0.03 && $lost > 0.5) }" || fail "accuracy $floats became $integers"
    # an ONNX file keeps its input and output
    expect 0 "$wick" convert run net.onnx --quiet
    expect 0 "$wick" quantize net.onnx --data data -o onnx8.onnx --quiet && has out "conv1.weight"
    expect 0 "$wick" inspect onnx8.onnx && has out "image  float [N, " && has out "logits  float [N, "
    expect 0 "$wick" eval onnx8.onnx --data data --json && again=$(json out accuracy)
    awk "BEGIN { d = $integers - $again; exit !(d < 0.03 && d > -0.03) }" || fail "$integers from the run, $again from its ONNX"
}
test_options() {
    make_run run "$conv" || return
    for how in mse minmax percentile entropy moving; do
        expect 0 "$wick" quantize run -o $how.onnx --calibration $how --images 64 --judge 64 --quiet && has out "conv2.weight"
    done
    cmp -s minmax.onnx mse.onnx && fail "--calibration has no effect"
    expect 0 "$wick" quantize run -o kept.onnx --keep "conv1*|fc2*" --quiet && grep -q "conv1.weight.*stays f32" out || fail "conv1 does not stay f32"
    grep -q "conv2.weight.*stays f32" out && fail "conv2 stays f32"
    expect 0 "$wick" quantize run -o one.onnx --per-tensor --reduce-range --quiet
    cmp -s one.onnx net8.onnx && fail "--per-tensor has no effect"
    expect 0 "$wick" quantize run -o corrected.onnx --per-tensor --reduce-range --correct-bias --quiet
    cmp -s one.onnx corrected.onnx && fail "--correct-bias has no effect"
    expect 2 "$wick" quantize run -o no.onnx --block 32 --correct-bias && has err "--correct-bias is for 8 bits"
    return 0
}
test_training() {
    make_run run "$conv" || return
    expect 0 "$wick" quantize run -o plain.onnx --per-tensor --reduce-range --json && before=$(json out accuracy_int8)
    expect 0 "$wick" quantize run -o trained.onnx --per-tensor --reduce-range --epochs 2 --lr 0.0003 --json && has err "epoch 2/2" && after=$(json out accuracy_int8)
    awk "BEGIN { exit !($after >= $before) }" || fail "training made $after of $before"
    cmp -s plain.onnx trained.onnx && fail "--epochs has no effect"
    expect 0 "$wick" quantize run -o same.onnx --per-tensor --reduce-range --epochs 2 --lr 0.0003 --threads 1 --quiet && cmp trained.onnx same.onnx || fail "the number of threads counts"
    expect 0 "$wick" quantize run -o steps.onnx --reduce-range --epochs 1 --learn-steps --quiet && has out "in int8"
    expect 0 "$wick" quantize run -o fixed.onnx --reduce-range --epochs 1 --quiet
    cmp -s steps.onnx fixed.onnx && fail "--learn-steps has no effect"
    expect 2 "$wick" quantize run -o b.onnx --learn-steps && has err "--learn-steps is for --epochs"
    expect 0 "$wick" quantize run -o kept.onnx --keep "conv2*" --epochs 1 --quiet && grep -q "conv2.weight.*stays f32" out || fail "conv2 does not stay f32"
    expect 0 "$wick" eval kept.onnx --data data --json && kept=$(json out accuracy)
    expect 0 "$wick" eval run --json && floats=$(json out accuracy)
    awk "BEGIN { exit !($floats - $kept < 0.05) }" || fail "$floats became $kept"
}
test_within_training() {
    [ -d data ] || make_data data 600 200 12
    local how=(--data data --net "$conv" --batch 50 --quantize int8 --augment flip --seed 3)
    expect 0 "$wick" train "${how[@]}" --epochs 4 --quantize-epochs 2 --out both --json && valid_json out && has out '"quantized": {"path": "both/int8.onnx", "metric": "accuracy"' && has err "epoch 2/2" && has err "in int8, of 60 images that the training held out"
    awk "BEGIN { exit !($(json out integers) >= $(json out floats) - 0.02) }" || fail "$(cat out)"
    expect 0 "$wick" eval both --json && floats=$(json out accuracy) && expect 0 "$wick" eval both/int8.onnx --data data --json && awk "BEGIN { exit !($(json out accuracy) > $floats - 0.03) }" || fail "accuracy $floats became $(json out accuracy)"
    # the run is what it is without, and integers come out the same in any number of threads, and of a run that goes on
    expect 0 "$wick" train --data data --net "$conv" --batch 50 --augment flip --seed 3 --epochs 4 --out floats --quiet && same_tensors floats/best.safetensors both/best.safetensors
    expect 0 "$wick" train "${how[@]}" --epochs 4 --quantize-epochs 2 --threads 1 --out again && has out "again/int8.onnx" && cmp both/int8.onnx again/int8.onnx || fail "the number of threads counts"
    expect 0 "$wick" train "${how[@]:0:6}" --augment flip --seed 3 --epochs 2 --schedule constant --warmup 0 --out later --quiet && expect 0 "$wick" train --resume later --epochs 4 --quantize int4 --json && has out '"path": "later/int4.onnx"' && has out '"epochs": 1' && [ -s later/int4.onnx ] || fail "resumed"
    # of a run that held nothing out a fifth judges, and all else is trained on
    expect 0 "$wick" train "${how[@]}" --validation 0 --epochs 1 --quantize-epochs 1 --out whole && has err "judged on 120 training images"
    expect 2 "$wick" train --data data --net "$conv" --quantize-epochs 2 --out no && has err "--quantize-epochs is for --quantize"
    expect 2 "$wick" train --data data --net "$conv" --quantize int2 --out no && has err "--quantize"
    expect 2 "$wick" train --data data --task embed --quantize int8 --out no && has err "--task embed"
}
test_activations_of_16_bits() {
    make_run run "$conv" || return
    expect 0 "$wick" quantize run -o w16.onnx --activation-bits 16 --json && has out '"accuracy_int16x8"' && expect 0 "$wick" inspect w16.onnx && has out "QuantizeLinear"
    expect 0 "$wick" eval w16.onnx --data data --json && sixteen=$(json out loss) && expect 0 "$wick" eval run --json && floats=$(json out loss)
    awk "BEGIN { d = $sixteen - $floats; exit !(d < 0.01 && d > -0.01) }" || fail "loss $floats became $sixteen"
    expect 0 "$wick" compile w16.onnx -o w16.c --dim N=1 --quiet && [ -s w16.c/model.c ] || fail "no C"
    expect 2 "$wick" quantize run -o b.onnx --activation-bits 16 --weight-bits 4 && has err "is for weights of 8 bits"
    expect 2 "$wick" quantize run -o b.onnx --activation-bits 16 --weights-only int8 && has err "--activation-bits is for 8 bits of activations"
    expect 3 "$wick" quantize run -o b.onnx --activation-bits 16 --opset 18 && has err "of 16 bits before opset 21"
}
test_weights_of_few_bits() {
    make_run run "$conv" || return
    expect 0 "$wick" eval run --json && floats=$(json out accuracy)
    expect 0 "$wick" quantize run -o w4.onnx --weight-bits 4 --wide-layers none --json && has out '"accuracy_w4"' && large=$(wc -c <w4.onnx)
    expect 0 "$wick" inspect w4.onnx && has out "21" && expect 0 "$wick" quantize run -o w8.onnx --json && [ $((large * 10)) -lt $(($(wc -c <w8.onnx) * 7)) ] || fail "$large bytes of 4 bits"
    expect 0 "$wick" quantize run -o w4.onnx --weight-bits 4 --epochs 2 && has out "in w4" && has err "epoch 2/2"
    expect 0 "$wick" eval w4.onnx --data data --json && four=$(json out accuracy)
    awk "BEGIN { exit !($floats - $four < 0.05) }" || fail "$floats became $four"
    # the file's weights are packed as bytes, once, and it is written as C; so are those of blocks
    expect 0 "$wick" plan w4.onnx --threads 1 && has out "integers: 4 products" && lacks out gemm
    expect 0 "$wick" compile w4.onnx -o c4 && has out "weights and other constants"
    for kind in "--block 32" "--weights-only int8 --block 32"; do
        expect 0 "$wick" quantize run -o blocks.onnx $kind --quiet && expect 0 "$wick" compile blocks.onnx -o cblocks
    done
    expect 0 "$wick" quantize run -o w3.onnx --weight-bits 3 --wide-layers "conv*" --quiet && has out "in w3"
    expect 2 "$wick" quantize run -o b.onnx --weight-bits 4 --per-tensor && has err "has a scale for each channel"
    expect 2 "$wick" quantize run -o b.onnx --wide-layers "fc*" && has err "--wide-layers is for"
    expect 2 "$wick" quantize run -o b.onnx --weight-bits 4 --block 32 && has err "--weight-bits is for 8 bits"
}
test_weights_of_4_bits() {
    make_run run "$conv" || return
    expect 0 "$wick" quantize run -o four.onnx --block 32 && has out "in int4" && has out "fc1.weight" && lacks out "conv1.weight" && lacks err ranges
    expect 0 "$wick" inspect four.onnx && has out "2 com.microsoft::MatMulNBits"
    expect 0 "$wick" eval four.onnx --data data --json && four=$(json out accuracy)
    expect 0 "$wick" eval run --json && floats=$(json out accuracy)
    awk "BEGIN { exit !($floats - $four < 0.05) }" || fail "$floats became $four"
    expect 2 "$wick" quantize run -o b.onnx --block 24 && has err "no power of 2"
    expect 2 "$wick" quantize run -o b.onnx --block 8 && has err "from 16 on"
    expect 2 "$wick" quantize run -o b.onnx --block 32 --epochs 1 && has err "--epochs is for 8 bits"
}
test_weights_alone() {
    make_run run "$conv" || return
    expect 0 "$wick" eval run --json && floats=$(json out accuracy)
    for kind in int8 f8; do
        expect 0 "$wick" quantize run -o alone.onnx --weights-only $kind && has out "in $kind" && has out "conv1.weight" && lacks err ranges
        expect 0 "$wick" eval alone.onnx --data data --json && alone=$(json out accuracy)
        awk "BEGIN { d = $floats - $alone; exit !(d < 0.03 && d > -0.03) }" || fail "$floats became $alone in $kind"
        expect 0 "$wick" quantize run -o blocks.onnx --weights-only $kind --block 24 --json && has out "accuracy_$kind"
        cmp -s alone.onnx blocks.onnx && fail "--block has no effect on $kind"
    done
    expect 0 "$wick" quantize run -o a.onnx --weights-only int8 --keep "conv1*" --quiet && grep -q "conv1.weight.*stays f32" out || fail "conv1 does not stay f32"
    expect 2 "$wick" quantize run -o b.onnx --weights-only int8 --epochs 1 && has err "--weights-only leaves activations as they are"
    expect 2 "$wick" quantize run -o b.onnx --weights-only int8 --block 1 && has err "--block 1"
}
test_scales_and_roundings() {
    make_run run "$conv" || return
    expect 0 "$wick" quantize run -o plain.onnx --per-tensor --quiet
    for how in "--equalise" "--smooth 0.5"; do
        expect 0 "$wick" quantize run -o moved.onnx --per-tensor $how --json && has out '"within": true'
        cmp -s plain.onnx moved.onnx && fail "$how has no effect"
    done
    expect 0 "$wick" quantize run -o gptq.onnx --block 32 --quiet
    for how in "--rounding nearest" "--rounding adaround" "--rounding hqq" "--awq"; do
        expect 0 "$wick" quantize run -o other.onnx --block 32 $how --quiet && has out "in int4"
        cmp -s gptq.onnx other.onnx && fail "$how has no effect"
    done
    expect 2 "$wick" quantize run -o b.onnx --awq && has err "--awq is for 4 bits"
    expect 2 "$wick" quantize run -o b.onnx --rounding hqq --weights-only int8 && has err "--rounding is for 4 bits"
    expect 0 "$wick" quantize run -o w4.onnx --weight-bits 4 --wide-layers none --quiet
    expect 0 "$wick" quantize run -o other.onnx --weight-bits 4 --wide-layers none --rounding nearest --quiet
    cmp -s w4.onnx other.onnx && fail "--rounding nearest has no effect on --weight-bits 4"
    expect 2 "$wick" quantize run -o b.onnx --weight-bits 4 --rounding hqq && has err "hqq is for --block"
    expect 2 "$wick" quantize run -o b.onnx --weight-bits 7 --rounding nearest && has err "--weight-bits of at most 6"
    expect 2 "$wick" quantize run -o b.onnx --block 32 --smooth 0.5 && has err "--smooth is for 8 bits"
}
# Nothing is below a bound of 0: every flip of the sign counts, or else all is good.
test_the_bound_of_the_drop() {
    make_run coarse "conv 2 3, relu, flatten, linear classes" || return
    local code=0
    "$wick" quantize coarse -o bound.onnx --max-drop 0 --json >out 2>err || code=$?
    [ "$code" = 0 ] || [ "$code" = 6 ] || fail "exit code $code"
    valid_json out
    if [ "$code" = 6 ]; then has out '"within": false' && has err "loses more than --max-drop 0 allows"; else has out '"within": true'; fi
    [ -s bound.onnx ] || fail "bound.onnx is not there"
    expect 0 "$wick" quantize coarse -o bound.onnx --max-drop 100 --json && has out '"within": true' && lacks out logits_rms && lacks out expected_loss
    expect 0 "$wick" quantize coarse -o bound.onnx --keep-score 0.05 --json && has out '"within": true' && has err "5 % of the accuracy"
    expect 2 "$wick" quantize coarse -o bound.onnx --keep-score 0.9 --max-drop 1 && has err "both say"
}
# Which layers have how many bits, by what rounding adds to the loss.
test_layers_under_a_budget() {
    make_run run "$conv" || return
    expect 0 "$wick" quantize run -o few.onnx --weight-bits 2 --wide-layers none --json && small=$(json out file_bytes)
    expect 0 "$wick" quantize run -o wide.onnx --json && large=$(json out file_bytes)
    local most=$(awk "BEGIN { print ($small + 0.4 * ($large - $small)) / 1e3 }")
    expect 0 "$wick" quantize run -o mixed.onnx --weight-bits 2 --max-kb "$most" --json && valid_json out && has err "gradients of 512 samples"
    awk "BEGIN { b = $(json out file_bytes); exit !(b <= 1e3 * $most && b > $small) }" || fail "$(json out file_bytes) bytes, of $most KB"
    grep -q '"bits": 2' out && grep -q '"bits": 8' out && grep -q '"expected_loss": [0-9]' out || fail "$(cat out)"
    expect 0 "$wick" quantize run -o again.onnx --weight-bits 2 --max-kb "$most" --threads 1 --quiet && cmp mixed.onnx again.onnx || fail "the number of threads counts"
    expect 6 "$wick" quantize run -o tiny.onnx --weight-bits 2 --max-kb 0.1 --json && valid_json out && has out '"within": false' && has err "nothing is as small" && [ "$(wc -c <tiny.onnx)" -le "$small" ] || fail "not the smallest"
    # of a bound: by either way, where it isn't held at once
    make_run coarse "conv 2 3, relu, flatten, linear classes" || return
    for way in loss outputs; do
        local code=0
        "$wick" quantize coarse -o bound.onnx --weight-bits 2 --rounding nearest --wide-layers none --max-drop 0 --sensitivity $way --json >out 2>err || code=$?
        [ "$code" = 0 ] || [ "$code" = 6 ] || fail "exit code $code"
        if has err "$([ $way = loss ] && echo "adds to the loss" || echo "which layers it comes from")"; then grep -q '"bits": \(8\|32\)' out || fail "$way: $(cat out)"; fi
    done
    # an ONNX file, and a task whose results are numbers
    expect 0 "$wick" convert run net.onnx --quiet
    expect 0 "$wick" quantize net.onnx --data data -o onnx.onnx --weight-bits 2 --max-kb "$most" --quiet && has out "    loss"
    # one that has to know on the host what a plan of it would compute
    if command -v python3 >/dev/null; then
        python3 "$(dirname "$0")/tiny_onnx.py" && make_data colour 100 100 12 3
        expect 0 "$wick" quantize asks.onnx --data colour -o asks8.onnx --max-kb 6 --quiet && has out "    loss"
    fi
    expect 2 "$wick" quantize run -o b.onnx --sensitivity loss && has err "--sensitivity is for --max-drop"
    expect 2 "$wick" quantize run -o b.onnx --max-kb 9 --sensitivity outputs && has err "not for --max-kb"
    expect 2 "$wick" quantize run -o b.onnx --max-kb -1 && has err "--max-kb"
    # a network of the first and the last layer alone
    make_run short "flatten, linear 16, relu, linear classes" && expect 2 "$wick" quantize short -o b.onnx --weight-bits 4 && has err "there is no other: --wide-layers none"
    expect 0 "$wick" quantize short -o b.onnx --weight-bits 4 --wide-layers none --quiet && has out "in w4"
}
test_bad_input() {
    make_run run "$conv" || return
    expect 2 "$wick" quantize run && has err "--out : the name of what is written ends in .onnx"
    expect 2 "$wick" quantize run -o net.txt && has err "ends in .onnx"
    expect 3 "$wick" quantize nowhere -o b.onnx && has err nowhere
    expect 2 "$wick" quantize run -o b.onnx --keep "nothing*" && has err 'no layer'
    expect 2 "$wick" quantize run -o b.onnx --calibration best && has err "--calibration"
    expect 3 "$wick" quantize run --data missing -o b.onnx && has err missing
    expect 1 "$wick" quantize run -o nowhere/b.onnx && has err nowhere
    expect 0 "$wick" convert run net.onnx --quiet
    expect 2 "$wick" quantize net.onnx --data data -o net.onnx && has err "is the model itself"
    expect 2 "$wick" quantize net.onnx -o b.onnx && has err "give --data"
    expect 0 "$wick" quantize run -o net8.onnx --quiet
    expect 2 "$wick" quantize net8.onnx --data data -o b.onnx && has err "quantised already"
    [ ! -e b.onnx ] || fail "b.onnx was made"
}

test_main
