# wick train --teacher: what a network learns from another one.
. "$(dirname "$0")/lib.sh"

teach() { # FOLDER OPTIONS...: one step on 50 images
    local folder=$1
    shift
    expect 0 "$wick" train --data data --hidden 6 --batch 50 --limit 50 --epochs 1 --quiet --force --out "$folder" "$@"
}
# The loss of the first step.
loss() { json "$1/log.jsonl" loss; }

test_the_loss_is_what_alpha_and_temperature_say() {
    make_data data 300 60
    [ -d big ] ||     expect 0 "$wick" train --data data --hidden 16 --batch 50 --epochs 4 --quiet --out big || return
    teach labels && teach none --teacher big --alpha 0 && teach all --teacher big --alpha 1 && teach half --teacher big --alpha 0.5 || return
    same_tensors labels/last.safetensors none/last.safetensors
    cmp -s <(tensors labels/last.safetensors) <(tensors half/last.safetensors) && fail "the teacher changes nothing"
    awk "BEGIN { d = ($(loss none) + $(loss all)) / 2 - $(loss half); exit !(d < 1e-5 && d > -1e-5 && $(loss all) > 0) }" ||
        fail "losses $(loss none), $(loss all), $(loss half)"
    # as the temperature rises, T^2 KL goes to the mean square of the centred scores, over 2 C: it stays finite
    teach warm --teacher big --alpha 1 --temperature 10 && teach hot --teacher big --alpha 1 --temperature 30 || return
    awk "BEGIN { r = $(loss warm) / $(loss hot); exit !(r > 0.8 && r < 1.25) }" || fail "losses $(loss warm), $(loss hot)"
    # two teachers that are the same one are one
    teach twice --teacher big --teacher big --alpha 0.5 && same_tensors half/last.safetensors twice/last.safetensors
}
test_an_onnx_file_and_a_resumed_run() {
    make_data data 300 60
    [ -d big ] || expect 0 "$wick" train --data data --hidden 16 --batch 50 --epochs 4 --quiet --out big
    expect 0 "$wick" convert big big.onnx --quiet
    teach onnx --teacher big.onnx && teach run --teacher big || return
    awk "BEGIN { d = $(loss onnx) - $(loss run); exit !(d < 1e-4 && d > -1e-4) }" || fail "$(loss onnx) of the ONNX file, $(loss run) of the run"
    for n in 1 2; do
        expect 0 "$wick" train --data data --hidden 6 --batch 50 --epochs $n --quiet --force --out once$n --teacher big --schedule constant
    done
    (mkdir -p elsewhere && cd elsewhere && expect 0 "$wick" train --resume ../once1 --epochs 2 --quiet)
    same_tensors once1/last.safetensors once2/last.safetensors
    expect 0 "$wick" report once2 --quiet
}
# Layers by name: what --hint adds to the loss, on its own, and to the weights.
test_hints_between_layers() {
    make_data data 300 60
    local net="conv 4 3 pad 1, relu, conv 6 3 pad 1, relu, globalpool, linear classes"
    [ -d guide ] || expect 0 "$wick" train --data data --net "residual(conv 8 3 pad 1, relu), save last, globalpool, linear classes" --batch 50 --epochs 2 --quiet --out guide
    learn() { # FOLDER OPTIONS...
        local folder=$1
        shift
        expect 0 "$wick" train --data data --net "$net" --batch 50 --limit 50 --epochs 1 --quiet --force --out "$folder" --teacher guide --alpha 0 "$@"
    }
    learn none && learn hint --hint res1.conv1=conv2 && learn half --hint res1.conv1=conv2 --hint-weight 0.5 || return
    awk "BEGIN { a = $(loss hint) - $(loss none); b = $(loss half) - $(loss none); exit !(a > 1e-4 && b > 0.49 * a && b < 0.51 * a) }" || fail "losses $(loss none), $(loss half), $(loss hint)"
    cmp -s <(tensors none/best.safetensors) <(tensors hint/best.safetensors) && fail "the hint changes nothing"
    learn two --hint res1.conv1=conv2 --hint last=conv1 && awk "BEGIN { exit !($(loss two) > $(loss hint)) }" || fail "losses $(loss two), $(loss hint)"
    learn maps --hint res1=conv2 --hint-kind attention && awk "BEGIN { exit !($(loss maps) > $(loss none)) }" || fail "losses $(loss maps), $(loss none)"
    # the convolution that it is learned through is no part of the network that comes of it
    expect 0 "$wick" inspect two/best.safetensors && has out "hint.2.weight"
    expect 0 "$wick" eval two && expect 0 "$wick" convert two two.onnx --quiet && expect 0 "$wick" inspect two.onnx && lacks out "hint"
    expect 0 "$wick" quantize two -o two8.onnx --images 20 --judge 20 --quiet
    # a run that goes on has it
    for n in 1 2; do
        expect 0 "$wick" train --data data --net "$net" --batch 50 --epochs $n --quiet --force --out once$n --teacher guide --hint last=conv2 --schedule constant
    done
    expect 0 "$wick" train --resume once1 --epochs 2 --quiet
    same_tensors once1/last.safetensors once2/last.safetensors
    expect 2 "$wick" train --data data --hint a=b --out x && has err "--hint is for --teacher"
    expect 2 "$wick" train --data data --hint-weight 2 --out x && has err "--hint-weight is for --hint"
    expect 2 "$wick" train --data data --net "$net" --teacher guide --hint conv1 --out x && has err "TEACHER=STUDENT"
    expect 2 "$wick" train --data data --net "$net" --teacher guide --hint last=conv9 --out x && has err "the network has no layer conv9"
    expect 2 "$wick" train --data data --net "$net" --teacher guide --hint conv9=conv1 --out x && has err "no teacher has a layer conv9"
    expect 2 "$wick" train --data data --net "conv 4 3, relu, globalpool, linear classes" --teacher guide --hint last=conv1 --out x && has err "agree in all but their channels"
    [ ! -d x ] || [ ! -e x/last.safetensors ] || fail "x was made"
}
test_bad_teachers() {
    make_data data 300 60
    make_data wide 300 60 12
    [ -d big ] || expect 0 "$wick" train --data data --hidden 16 --batch 50 --epochs 4 --quiet --out big
    expect 2 "$wick" train --data data --temperature 2 --out x && has err "--temperature is for --teacher"
    expect 3 "$wick" train --data data --teacher nowhere/run --out x && has err "nowhere/run"
    expect 3 "$wick" train --data wide --teacher big --out x && has err "pixels"
    printf 'a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n1,1,x\n2,2,y\n3,3,x\n4,4,y\n5,5,x\n6,6,y\n' >t.csv
    expect 0 "$wick" train --data t.csv --hidden 4 --epochs 1 --quiet --out table
    expect 3 "$wick" train --data data --teacher table --out x && has err table
    expect 2 "$wick" train --data data --teacher big --alpha 2 --out x && has err "--alpha"
    [ ! -d x ] || [ ! -e x/last.safetensors ] || fail "x was made"
}
test_main
