# wick plan, explain, graph and compile: networks by name, runs and, where there are models, ONNX files.
. "$(dirname "$0")/lib.sh"
net=(--arch lenet --input 28,28)

test_plan() {
    expect 0 "$wick" plan "${net[@]}" --batch 4 --threads 1 --quiet
    has out "lenet, f32 [4, 28, 28]" && has out " kernels, " && has out "at best: " && has out "conv_pack" && has out "fc3" && has out "f32[4,10]"
    lacks out measured
    has out "predicted: " && has out "by costs that are defaults" && has out "predicted us"
    [ -s err ] && fail "talk with --quiet"
    expect 0 "$wick" plan "${net[@]}" --batch 4 --threads 1 --json && valid_json out && lacks out '"seconds"' && has out '"bound": '
    local bytes=$(json out arena_bytes) live=$(json out live_bytes)
    [ "$live" -gt 0 ] && [ "$bytes" -ge "$live" ] || fail "arena $bytes, live $live"
    expect 0 "$wick" plan "${net[@]}" --batch 8 --threads 1 --json && [ "$(json out live_bytes)" -gt "$live" ] || fail "twice as many images need no more memory"
    expect 0 "$wick" plan "${net[@]}" --svg memory.svg --quiet && has memory.svg "<svg " && has memory.svg "peak " && has memory.svg "<style>"
}
test_ranks() {
    local ranks=(plan --arch resnet8 --input 3,32,32 --batch 64 --train --threads 1 --quiet) link
    expect 0 "$wick" "${ranks[@]}" --ranks 64 --link 2us,12GB/s && has out "f32 [1, 3, 32, 32], a step of training" && has out "on ranks: a batch of 64 in 64 leaves, "
    [ "$(sed -n '/^ *ranks  leaves/,/^$/s/^ *\([0-9][0-9]*\) .*/\1/p' out | tr '\n' ' ')" = "1 2 4 8 16 32 64 " ] || fail "rows: $(cat out)"
    expect 0 "$wick" "${ranks[@]}" --ranks 3 --leaves 16 --link 50us,1Gbit/s,2us --json && valid_json out && has out '"leaves_of_rank": 6, ' && has out '"bandwidth": 1.25e+08' && has out '"overhead_seconds": 2e-06'
    expect 0 "$wick" "${ranks[@]}" --ranks 4 --leaves 4 --link 2us,12GB/s --json && cp out whole
    expect 0 "$wick" "${ranks[@]}" --ranks 4 --leaves 4 --link 2us,12GB/s --json --shard-optimizer && valid_json out
    ! command -v python3 >/dev/null || python3 - whole out <<'END' || fail "states of ranks"
import json, sys
whole, parts = ([r["optimizer_bytes"] for r in json.load(open(path))["ranks"]] for path in sys.argv[1:])
assert min(whole) == max(whole) == parts[0] > 6e5, whole
assert abs(parts[1] - parts[0] / 2) < 16 and abs(parts[2] - parts[0] / 4) < 16, parts
END
    expect 2 "$wick" plan --arch resnet8 --input 3,32,32 --train --shard-optimizer && has err "--shard-optimizer has no effect here: it is for --ranks N"
    expect 0 "$wick" "${ranks[@]}" --ranks 3 --leaves 16 --link 50us,1Gbit/s,2us --json
    # The bytes of the wire: 3 ranks with 2, 3 and 2 subtrees send 3 x 2 / 3 of the vector, and 2 / 3 of the sum.
    command -v python3 >/dev/null && ! python3 - <<'END' && fail "seconds of the wire"
import json
p = json.load(open("out"))
r = p["ranks"][-1]
assert r["ranks"] == 3 and abs(r["bandwidth_seconds"] / (p["summed_bytes"] * (3 * 2 / 3 + 2 / 3) / 1.25e8) - 1) < 1e-4, r
assert abs(r["message_seconds"] - (2 * 50e-6 + (3 + 1) * 2 * 2e-6)) < 1e-9, r
parts = sum(r[k + "_seconds"] for k in ("leaves", "idle", "adding", "update", "bandwidth", "message"))
assert abs(parts / r["step_seconds"] - 1) < 1e-4 and abs(r["leaves_seconds"] + r["idle_seconds"] - 6 * p["leaf_seconds"]) < 1e-6, r
END
    expect 0 "$wick" "${ranks[@]}" --ranks 64 --link 100us,100Mbit/s && [ "$(sed -n 's/^ *64 .*%  //p' out)" = bandwidth ] || fail "not bound by the bandwidth: $(grep %, out)"
    expect 0 "$wick" "${ranks[@]}" --ranks 64 --link 50ms,100GB/s && [ "$(sed -n 's/^ *64 .*%  //p' out)" = latency ] || fail "not bound by the latency"
    # 0.315 MB in 64 parts of 4.9 KB, of which TCP gets 0.77493 of the bandwidth and 1.88101 times the latency.
    expect 0 "$wick" "${ranks[@]}" --ranks 64 --link 50us,1Gbit/s --json && cp out plain.json
    expect 0 "$wick" "${ranks[@]}" --ranks 64 --link 50us,1Gbit/s,tcp --json && has out '"tcp": true' && python3 - plain.json out <<'END' || fail "links by TCP"
import json, sys
a, b = (json.load(open(f))["ranks"][-1] for f in sys.argv[1:])
assert abs(a["bandwidth_seconds"] / b["bandwidth_seconds"] - 0.77493) < 1e-4, (a, b)
assert abs(b["message_seconds"] - a["message_seconds"] - 0.88101 * 100e-6) < 1e-9, (a, b)
END
    expect 0 "$wick" "${ranks[@]}" --ranks 64 --link 50us,1Gbit/s,2us,tcp --json && has out '"overhead_seconds": 2e-06'
    for link in tcp ,tcp 2us,tcp 2us,3GB/s,1us,1us,tcp 2us,3GB/stcp 2us,3GB/s,tcp,tcp $(printf '%099d' 1)us,3GB/s 2us 2,3 2us,3 2us,0GB/s 2us,3GB/s, 2us,3GB/s,x -1us,3GB/s 2us,3GB/s,1us,1us; do expect 2 "$wick" "${ranks[@]}" --ranks 4 --link $link && has err "--link '$link': the latency and the bandwidth"; done
    expect 2 "$wick" "${ranks[@]}" --ranks 4 && has err "--ranks needs --link"
    expect 2 "$wick" "${ranks[@]}" --link 2us,1GB/s && has err "--link has no effect here: it is for --ranks N"
    expect 2 "$wick" "${ranks[@]}" --leaves 4 && has err "--leaves has no effect here"
    expect 2 "$wick" "${ranks[@]}" --ranks 4 --leaves 3 --link 2us,1GB/s && has err "--leaves 3: a power of two"
    expect 2 "$wick" "${ranks[@]}" --ranks 5 --leaves 4 --link 2us,1GB/s && has err "--leaves 4 are too few for 5 ranks"
    expect 2 "$wick" "${ranks[@]}" --ranks 100 --link 2us,1GB/s && has err "--batch 64 is no multiple of 128 leaves"
    expect 2 "$wick" plan "${net[@]}" --ranks 4 --link 2us,1GB/s && has err "it needs --train"
}
test_explain() {
    expect 0 "$wick" explain "${net[@]}" --batch 4 --train --threads 1 --time 0.05
    has out "a step of training with Adam" && has out "measured: " && has out "epilogue: conv f32[4,6,28,28]: relu taken along" && has out "of best"
    has out "conv1.weight" # what the optimizer does is each parameter's
    has out "kernel: conv f32[4,6,28,28]: conv_" && has out "not Winograd's, of 3 x 3: the kernel is not 3 x 3" && has out "kernel: matmul f32[4,120]: gemm_f32_"
    has out "kernel: max_pool f32[4,6,14,14]: max_pool_" && has out "copied by tiles, transposed" && has out "not a product of all pixels (1 x 1): the kernel has more than one tap"
    has out "not with sum (" && has err "measuring what this machine can do"
    expect 0 "$wick" explain "${net[@]}" --threads 1 --time 0.05 --json && valid_json out && has out '"remarks": [' && has out '"seconds": ' && has out '"pass": "epilogue"'
    has out '"prediction_error": ' && has out '"predicted_seconds": ' && has out '"calibrated": false'
    # What the passes save that the cost model decides for: predicted and measured.
    expect 0 "$wick" explain --arch resnet8 --input 3,32,32 --train --batch 2 --threads 1 --time 0.05 --quiet
    has out "predicted to save " && grep -Eq "^fuse saves [-0-9.e+]+ us; predicted: [-0-9.e+]+$" out && grep -Eq "^predicted: [0-9.e+]+ us, [-+][0-9]+ %, by costs" out || fail "no gains"
    expect 0 "$wick" explain --arch resnet8 --input 3,32,32 --train --batch 2 --threads 1 --time 0.05 --json && valid_json out && has out '"passes": [' && has out '"predicted_saved_seconds": '
    expect 0 "$wick" explain --arch resnet8 --input 3,32,32 --train --batch 2 --threads 1 --time 0.05 --quiet --without fuse,ride && lacks out "fuse saves"
    # One decision, too: what each saves, and what the plan is without it.
    expect 0 "$wick" explain --arch resnet8 --input 3,32,32 --threads 1 --time 0.05 --quiet
    grep -Eq "^ +fuse: .*: taken as fuse:[0-9]+: .*; predicted to save [0-9.e+-]+ us of [0-9.e+-]+; measured: [0-9.e+-]+" out || fail "no decision was measured"
    expect 0 "$wick" explain --arch resnet8 --input 3,32,32 --threads 1 --time 0.05 --quiet --without fuse:7 && has out "left out, as asked for: fuse:7: " && has out "fuse saves"
    expect 0 "$wick" explain --arch resnet8 --input 3,32,32 --threads 1 --time 0.05 --json && valid_json out && has out '"saved_seconds": '
    expect 2 "$wick" plan --arch resnet8 --input 3,32,32 --without fuse:900 && has err "there is no decision 'fuse:900' to leave out: fuse took "
    # Each kernel has its time, and together they are about a run's.
    expect 0 "$wick" explain "${net[@]}" --threads 1 --time 0.05 --without epilogue,fuse && lacks out "taken along" && has out "relu"
}
test_graph() {
    expect 0 "$wick" graph "${net[@]}" && has out "return %" && has out "  @ " && lacks out "relu(" && has out "pad=2,2 relu"
    expect 0 "$wick" graph "${net[@]}" --before epilogue && has out "relu("
    expect 0 "$wick" graph "${net[@]}" --without epilogue && has out "= add(" && has out "= relu("
    expect 0 "$wick" graph "${net[@]}" --before recorded --after epilogue
    has out "- %" && has out "+ %" && has out "the same"
    [ "$(grep -c '^- .*relu(' out)" = 4 ] || fail "not four relu went"
    # What a pass leaves alone is no difference.
    expect 0 "$wick" graph "${net[@]}" --before quantize --after quantize && [ "$(grep -c '^[-+]' out)" = 0 ] || fail "quantize changed floats"
    expect 0 "$wick" graph "${net[@]}" --train --after recorded && has out "= grad(" && cp out recorded
    expect 0 "$wick" graph "${net[@]}" --train --before expand_grad && cmp -s out recorded || fail "expand_grad is not the first"
    expect 0 "$wick" graph "${net[@]}" --json && valid_json out && has out '"pass": "recorded"' && has out '"graph": "%0 '
    expect 0 "$wick" graph "${net[@]}" --before fuse --after fuse --json && valid_json out && has out '"before": "' && has out '"after": "'
    expect 0 "$wick" graph "${net[@]}" --train --svg g.svg --dot g.dot && has g.svg "<svg " && has g.svg "images" && has g.svg "conv_weight" && has g.dot "digraph" && has g.dot " -> "
    has g.svg "of them on weights alone: not drawn" && has g.svg ">loss<" && has g.svg ">images<" && [ "$(grep -c 'class="port"' g.svg)" = 3 ] || fail "other ports than images, labels and the loss"
    has g.dot 'label="loss"' && lacks g.dot '"result'
    expect 0 "$wick" graph "${net[@]}" --svg g.svg && [ ! -s out ] && expect 0 "$wick" graph "${net[@]}" --svg g.svg --text && has out "return %" && has g.svg ">scores<"
    # What was fused into a product is part of its name.
    expect 0 "$wick" graph "${net[@]}" --svg g.svg --dot g.dot && has g.svg "conv + bias + relu<" && has g.dot 'label="conv + bias + relu' && has g.svg "matmul + bias<"
    command -v dot >/dev/null && { dot -Tsvg g.dot >/dev/null || fail "Graphviz refuses it"; }
    return 0
}
test_memory_budgets() {
    local step=(--net "conv 16 3 same, relu, conv 16 3 same, relu, conv 16 3 same, relu, conv 16 3 same, relu, globalpool, linear classes" --input 1,16,16 --train --threads 1 --quiet)
    expect 2 "$wick" plan "${step[@]}" --batch 16 --memory-budget 1K && has err "--memory-budget: " && has err "more than the memory_budget of 1024"
    expect 2 "$wick" plan "${step[@]}" --memory-budget 3X && has err "--memory-budget needs bytes such as 64M"
    expect 0 "$wick" plan "${step[@]}" --max-batch 4M --json && valid_json out
    local n=$(json out max_batch)
    [ "$n" -gt 1 ] && [ "$(json out max_batch_bytes)" -le 4194304 ] && [ "$(json out next_batch_bytes)" -gt 4194304 ] || fail "a batch of $n"
    expect 2 "$wick" plan "${step[@]}" --max-batch 10K && has err "--max-batch: " && has err "one sample takes"
    expect 2 "$wick" plan "${step[@]}" --max-batch 4M --batch 3 && has err "takes no --batch"
}
test_precision() {
    expect 0 "$wick" graph "${net[@]}" --precision bf16 --after precision && has out "bf16[1,120] = matmul("
    expect 0 "$wick" graph "${net[@]}" --precision f16 --train && has out "f16["
    expect 0 "$wick" graph "${net[@]}" && lacks out "f16"
    expect 0 "$wick" graph "${net[@]}" --precision bf16 --wide matmul,attention --after precision && has out "f32[1,120] = matmul(" && has out "bf16["
    expect 2 "$wick" plan "${net[@]}" --precision bf16 --wide conv,relu && has err "--wide: mixed precision narrows no op 'relu'; those that can stay wide: matmul conv"
    expect 2 "$wick" plan "${net[@]}" --wide conv && has err "--wide: " && has err "need a precision of bf16 or f16"
    expect 2 "$wick" plan "${net[@]}" --precision f8 && has err "--precision must be one of f32|bf16|f16"
}
test_training() {
    make_data data 60 20
    local run=(--data data --net "conv 8 3 same, bn, relu, conv 8 3 same, bn, relu, globalpool, linear classes" --epochs 2 --batch 20 --quiet)
    expect 0 "$wick" train "${run[@]}" --out plain --json && local loss=$(json out loss)
    expect 0 "$wick" train "${run[@]}" --out kept --memory-budget 500K --json && [ "$(json out loss)" = "$loss" ] || fail "another loss under a budget"
    expect 0 "$wick" train "${run[@]}" --out half --precision f16 --json && has out '"loss_scale": ' && has out '"skipped_updates": '
    expect 0 "$wick" train --resume half --epochs 3 --json --quiet && has out '"loss_scale": '
    expect 2 "$wick" train "${run[@]}" --out bad --precision f16 --wide pool && has err "narrows no op 'pool'"
    expect 2 "$wick" train --resume half --epochs 4 --precision bf16 && has err "can't be changed on --resume"
    expect 2 "$wick" train "${run[@]}" --out less --memory-budget 2K && has err "--memory-budget: "
}
test_runs() {
    make_data data 60 20
    expect 0 "$wick" train --data data --hidden 16 --epochs 1 --out run --quiet
    expect 0 "$wick" plan run --batch 3 --quiet && has out "f32 [3, 10, 10]" && has out fc1
    expect 0 "$wick" graph run/best.safetensors && has out "matmul("
    # A step of training of what was trained, with its weights and an optimizer's states beside them.
    expect 0 "$wick" plan run --batch 3 --train --quiet && has out "a step of training with Adam"
    expect 0 "$wick" plan run --train --max-batch 10M --quiet && has out "largest batch for "
    expect 0 "$wick" compile run -o r --name net --train --batch 3 --quiet && has r/net.h "net_train("
}
test_models() {
    [ -d "${WICK_MODELS:-}" ] || return 0
    expect 0 "$wick" plan "$WICK_MODELS/bench/lenet/model.onnx" --quiet && has out "model.onnx" && has out "conv"
    expect 0 "$wick" explain "$WICK_MODELS/bench/lenet/model.onnx" --time 0.05 --threads 1 --quiet && has out "of best"
    expect 0 "$wick" graph "$WICK_MODELS/bench/lenet/model.onnx" --svg lenet.svg && has lenet.svg "<svg " && has lenet.svg ">y<"
    # Modules are the beginnings of nodes' names, and what is made of weights alone is not in the way.
    expect 0 "$wick" graph "$WICK_MODELS/bench/autoencoder/model.onnx" --svg a.svg && has a.svg '>n/n<' && lacks a.svg '&quot;' && [ "$(grep -c 'class="row"' a.svg)" = 10 ] || fail "not ten products"
    expect 3 "$wick" graph "$WICK_MODELS/onnx/ppocr_cls/model.onnx" && has err "open extents are 1 here (p2o.DynamicDimension.0, p2o." && has err "--dim NAME=N"
    expect 2 "$wick" plan "$WICK_MODELS/bench/lenet/model.onnx" --batch 3 && has err "--dim NAME=N"
    expect 2 "$wick" plan "$WICK_MODELS/bench/lenet/model.onnx" --train && has err "wick train --model"
    expect 2 "$wick" plan "$WICK_MODELS/bench/lenet/model.onnx" --arch lenet && has err "no --arch"
    # An op without a printer is named, and nothing is written.
    [ ! -d "$WICK_MODELS/onnx-tests/node/test_det_2d" ] || { expect 3 "$wick" compile "$WICK_MODELS/onnx-tests/node/test_det_2d/model.onnx" -o d && has err "no printer" && [ ! -e d/model.c ]; }
}
test_ranges() {
    [ -d "${WICK_MODELS:-}" ] || return 0
    local cls=$WICK_MODELS/onnx/ppocr_cls/model.onnx n=p2o.DynamicDimension.0 vad="$WICK_MODELS/onnx/silero_vad_16k_op15/model.onnx --input sr=16000 --dim sequence=576"
    expect 0 "$wick" plan $vad --dim batch=1..8 --quiet && has out "batch in 1..8" && has out "sequence is 576" && has out "proven: plans were made for all 8 lists" &&
        has out "output output: f32[batch, 1]" && has out "the plan for batch=8, sequence=576" && has out "lstm"
    expect 0 "$wick" plan "$cls" --dim $n=1..3 --dim x.2=48..64/4 --dim x.3=48..192 --plans 5 --threads 1 --json --quiet && valid_json out && has out '"proven": false' &&
        has out '"planned": 5' && has out '"points": 2175' && has out '"multiple": 4' && has out "floor((p2o.DynamicDimension.2 + 1) / 2)"
    expect 3 "$wick" plan "$WICK_MODELS/onnx/ppocr_v4_det/model.onnx" --dim $n=1..2 --dim x.2=32..64 --dim x.3=32..64 --quiet && has err "shapes do not broadcast" && has err "with $n="
    expect 2 "$wick" plan $vad --dim batch=8..1 && has err "NAME=A..B"
    expect 2 "$wick" plan $vad --dim batch=1..8/0 && has err "NAME=A..B/M"
    expect 2 "$wick" plan $vad --dim batch=2 --plans 3 && has err "--plans is for ranges"
    expect 2 "$wick" graph $vad --dim batch=1..8 && has err "a range is for wick plan"
}
test_compile() {
    command -v cc >/dev/null || return 0
    expect 0 "$wick" compile "${net[@]}" -o c --name lenet --quiet && has out "c/lenet.c: " && has out "code " && has out "RAM "
    has c/lenet.h "int lenet_run(const float *image, float *scores);" && has c/lenet.h "LENET_IMAGE_SIZE 784"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -O1 -c c/lenet.c -o lenet.o || fail "it does not compile"
    expect 0 "$wick" compile "${net[@]}" --out c2 --name lenet --weights file --lanes 4 --json && valid_json out && has out '"object_code_bytes": '
    [ "$(json out const_bytes)" = "$(stat -c %s c2/lenet.bin)" ] || fail "lenet.bin has not const_bytes"
    [ "$(json out arena_bytes)" -le "$(json out object_ram_bytes)" ] || fail "the arena is larger than the object's RAM"
    has c2/lenet.h "int lenet_run(const void *weights, const float *image, float *scores);"
    # Every machine writes the same.
    expect 0 env WICK_ISA=ref "$wick" compile "${net[@]}" -o c3 --name lenet --quiet && cmp c/lenet.c c3/lenet.c
    # Convolutions that other tiers would not leave to Winograd's algorithm, or would.
    expect 0 env WICK_ISA=base "$wick" compile --arch resnet8 --input 3,32,32 -o c4 --name resnet --quiet && expect 0 "$wick" compile --arch resnet8 --input 3,32,32 -o c5 --name resnet --quiet && cmp c4/resnet.c c5/resnet.c
    expect 2 "$wick" compile "${net[@]}" -o c --isa neon && has err "--isa"
    if grep -q '\bavx2\b.*\bfma\b\|\bfma\b.*\bavx2\b' /proc/cpuinfo; then
        expect 0 "$wick" compile "${net[@]}" -o c6 --name lenet --isa avx2 --quiet && has out "cc -O3 -mavx2 -mfma" && has c6/lenet.c "vector_size(32)"
        expect 0 "$wick" compile "${net[@]}" -o c6 --name lenet --isa avx2 --train --quiet
        cc -std=c11 -Wall -Wextra -Werror -pedantic -O2 -mavx2 -mfma -c c6/lenet.c -o lenet.o || fail "the variant with its training does not compile"
    fi
    # Who is killed while the object is made leaves whole files, and nothing else.
    expect 137 "$wick" compile "${net[@]}" -o k --name lenet --quiet --cc 'kill -9 $PPID #' && [ "$(ls k | tr '\n' ' ')" = "lenet.c lenet.h " ] && cmp k/lenet.c c/lenet.c || fail "$(ls k)"
    expect 0 "$wick" compile "${net[@]}" -o c --cc none-such && has err "--cc COMMAND" && lacks out "code "
    expect 2 "$wick" compile "${net[@]}" && has err "--out DIR"
    expect 2 "$wick" compile "${net[@]}" -o c --name "a b" && has err "no name"
    expect 2 "$wick" plan "${net[@]}" -o c && has err "unknown option -o"
}
test_compile_training() {
    command -v cc >/dev/null || return 0
    expect 0 "$wick" compile "${net[@]}" -o t --name net --train --batch 2 --optimizer sgd --momentum 0.5 --lr 0.02 --freeze 'conv1*' --json && valid_json out && has out '"state_bytes": '
    has t/net.h "int net_train(const float *image, const int64_t *label, float *loss);" && has t/net.h "NET_TRAIN_IMAGE_SIZE 1568" && has t/net.h "fc3.weight: f32[10, 84]" && lacks t/net.h "conv1"
    [ "$(json out state_bytes)" = "$(sed -n 's/#define NET_STATE_BYTES \([0-9]*\).*/\1/p' t/net.h)" ] || fail "NET_STATE_BYTES is not state_bytes"
    cat >main.c <<'END'
#include <stdio.h>
#include <string.h>
#include "t/net.h"
static float x[NET_TRAIN_IMAGE_SIZE], scores[NET_SCORES_SIZE], again[NET_SCORES_SIZE];
static unsigned char all[NET_STATE_BYTES];
int main(void) {
    const int64_t label[2] = {3, 7}, none[2] = {3, 10};
    float loss = 0, first = 0, frozen;
    for (unsigned i = 0; i < sizeof x / sizeof *x; i++) x[i] = (i < sizeof x / sizeof *x / 2 ? i % 28 < 14 : i / 28 % 2) ? 1.0f : -1.0f;
    for (int step = 0; step < 40; step++) {
        if (net_train(x, label, &loss)) return 1;
        if (step == 0) first = loss;
    }
    if (!(loss < 0.2f * first)) return printf("the loss went from %g to %g\n", (double)first, (double)loss), 1;
    net_save(all);
    if (net_run(x, scores) || !(scores[3] > scores[7])) return 1;
    if (net_train(x, none, &loss) != 2) return 1;
    if (net_run(x, again) || memcmp(scores, again, sizeof again)) return printf("a step that failed left something\n"), 1;
    net_train(x, label, &loss);
    net_load(all);
    if (net_run(x, again) || memcmp(scores, again, sizeof again)) return printf("what was saved is not what was loaded\n"), 1;
    net_set_rate(0);
    net_train(x, label, &loss), net_train(x, label, &frozen);
    if (loss != frozen) return printf("a rate of 0 changes the loss\n"), 1;
    for (int i = 0; i < NET_PARAMS; i++)
        if (strncmp(net_states[i].name, "optim.", 6) == 0) return 1;
    return 0;
}
END
    cc -std=c11 -Wall -Wextra -Werror -pedantic -O2 main.c t/net.c -lm -o trained && ./trained || fail "the emitted step does not train"
    expect 0 "$wick" compile "${net[@]}" -o t --name net --train --loss mse --classes 3 --optimizer adamw --quiet && has t/net.h "const float *target" && has t/net.h "target: f32[1, 3]"
    expect 0 "$wick" compile "${net[@]}" -o t --name net --train --label-smoothing 0.1 --quiet && has t/net.c " * total"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -O1 -c t/net.c -o net.o || fail "the step with smoothing does not compile"
    expect 2 "$wick" compile "${net[@]}" -o t --name net --train --label-smoothing 0.1 --loss mse && has err "--label-smoothing is for cross-entropy"
    expect 2 "$wick" compile "${net[@]}" -o t --lr 1 && has err "--lr is for --train"
    expect 2 "$wick" compile "${net[@]}" -o t --train --freeze nothing && has err "no parameter"
    expect 0 "$wick" compile --net "flatten, dropout 0.5, linear classes" --input 28,28 -o t --name net --train --quiet && has t/net.h "train.random: u64[2]"
}
# An ONNX file as wick train --model has it: the step that is written leaves the losses that its steps leave.
test_compile_imported() {
    [ -d "${WICK_MODELS:-}" ] && command -v cc >/dev/null || return 0
    local lenet=$WICK_MODELS/bench/lenet/model.onnx part how=(--optimizer sgd --momentum 0 --lr 0.00001)
    mkdir -p one
    for part in train t10k; do # an image, the last of ten classes
        { printf '\0\0\10\3\0\0\0\1\0\0\0\34\0\0\0\34' && yes wick | head -c 784; } >one/$part-images-idx3-ubyte
        printf '\0\0\10\1\0\0\0\1\11' >one/$part-labels-idx1-ubyte
    done
    expect 0 env WICK_ISA=base "$wick" train --model "$lenet" --data one --batch 1 --epochs 6 "${how[@]}" --schedule constant --warmup 0 --input-range 0,255 --out six --quiet
    expect 0 env WICK_ISA=base "$wick" train --model "$lenet" --data one --batch 1 --epochs 3 "${how[@]}" --schedule constant --warmup 0 --input-range 0,255 --out three --quiet
    sed -n 's/.*"loss": \([^,]*\), "accuracy".*/\1/p' six/log.jsonl >want
    cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "i/net.h"
int main(int argc, char **argv) { /* losses of so many steps */
    static float x[NET_TRAIN_IMAGE_SIZE];
    const int64_t label = 9;
    float loss, first = 0;
    for (unsigned i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)"wick\n"[i % 5];
    for (int step = 0; step < atoi(argv[argc - 1]); step++) {
        if (net_train(x, &label, &loss)) return 1;
        if (step == 0) first = loss;
        printf("%.9g\n", (double)loss);
    }
    return !(loss < first);
}
END
    expect 0 "$wick" compile "$lenet" -o i --name net --train "${how[@]}" --quiet && has out "a step of training" && has i/net.h "f3.weight: f32[10, 84]"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -O2 main.c i/net.c -lm -o imported && ./imported 6 >got || fail "the emitted step of lenet does not train"
    cmp want got || fail "other losses than those of wick train --model"
    # A run goes on with its weights.
    expect 0 "$wick" compile three/last.safetensors -o i --name net --train "${how[@]}" --quiet && cc -std=c11 -O2 main.c i/net.c -lm -o imported && ./imported 3 >got || fail "the emitted step of the run does not train"
    tail -3 want | cmp - got || fail "other losses than those of the run that goes on"
    # Halves, with a state of the loss's scale.
    expect 0 "$wick" compile three -o i --name net --train "${how[@]}" --precision f16 --quiet && has i/net.h "optim.scale.good: i64" && cc -std=c11 -Wall -Wextra -Werror -pedantic -O2 main.c i/net.c -lm -o imported && ./imported 6 >got || fail "the step in f16 does not train"
    expect 0 "$wick" compile "$WICK_MODELS/bench/dscnn/model.onnx" -o i --name net --train --batch 3 --classes 4 --freeze "onnx::Conv*" --loss mse && has err "a fresh head of 4 classes" && has i/net.h "target: f32[3, 4]"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -O1 -c i/net.c -o net.o || fail "the step of dscnn does not compile"
    expect 0 "$wick" compile "$lenet" -o i --name net --train --head && has err "a fresh head of 10 classes"
    expect 2 "$wick" compile "$lenet" -o n --head && has err "--head is for --train"
    expect 2 "$wick" compile three -o n --train --head && has err "--head is for an ONNX file"
    expect 2 "$wick" compile "$lenet" -o n --classes 4 && has err "and for --train of an ONNX file"
    expect 2 "$wick" compile "$lenet" -o n --train --input x=1 && has err "which --train does not take"
    expect 2 "$wick" compile "$lenet" -o n --train --freeze nothing && has err "no parameter"
    expect 3 "$wick" compile "$WICK_MODELS/onnx/silero_vad_v6/model.onnx" -o n --train && has err "takes no batch of images"
    expect 2 "$wick" compile "$WICK_MODELS/onnx/ppocr_cls/model.onnx" -o n --train && has err "has no extent: --dim "
    [ ! -e n ] || fail "n was made"
}
test_compile_halves() {
    command -v cc >/dev/null || return 0
    expect 0 "$wick" compile --arch resnet8 --input 3,32,32 -o h --name net --json && local whole=$(json out const_bytes)
    expect 0 "$wick" compile --arch resnet8 --input 3,32,32 -o h --name net --precision bf16 --json && [ $((2 * $(json out const_bytes))) -lt "$whole" ] || fail "weights in halves take more than half"
    cc -std=c11 -Wall -Wextra -Werror -pedantic -O1 -c h/net.c -o net.o || fail "it does not compile"
    has h/net.c wick_bf16_to_f32 && expect 0 "$wick" compile "${net[@]}" -o h --name net --precision f16 --wide conv --quiet && has h/net.c wick_f16_to_f32
    expect 2 "$wick" compile "${net[@]}" -o h --precision f8 && has err "--precision"
    expect 2 "$wick" compile "${net[@]}" -o h --precision f16 --wide nonesuch && has err "--wide"
}
test_wrong_uses() {
    expect 2 "$wick" plan && has err "needs MODEL, or --arch"
    expect 2 "$wick" plan --arch lenet && has err "--arch needs --input"
    expect 2 "$wick" plan --arch lenet --input 3,4,5,6,7,8,9,1,2 && has err "--input"
    expect 2 "$wick" plan --arch nonesuch --input 28,28 && has err "no architecture"
    expect 3 "$wick" explain nowhere && has err nowhere
    expect 2 "$wick" graph "${net[@]}" --after nonesuch && has err "no pass 'nonesuch' ran; those that did: attention precision expand_grad"
    expect 2 "$wick" plan "${net[@]}" --without dce && has err "--without: nothing runs without the pass 'dce'"
    expect 2 "$wick" plan "${net[@]}" --without nonesuch --json && valid_json out && has out '"ok": false'
    expect 1 "$wick" plan "${net[@]}" --svg nowhere/x.svg --quiet && has err nowhere
    printf 'text' >some.txt
    expect 3 "$wick" plan some.txt && has err some.txt
}
test_main
