# Wrong command lines are refused with code 2 and a hint; every command explains itself.
. "$(dirname "$0")/lib.sh"

test_help_of_every_command() {
    expect 0 "$wick" --help && for command in train eval predict info ops doctor; do has out "wick $command"; done
    has out "130"
    expect 0 "$wick" --version && has out "wick "
    for command in train eval predict info ops doctor; do
        expect 0 "$wick" $command --help
        has out "--json"
        has out "Exit codes"
    done
    expect 0 "$wick" train -h && has out "--save-every N" && has out "[cosine]" && has out "NaN" && has out "  130  "
    expect 0 "$wick" eval -h && lacks out NaN && lacks out "  130  " && has out "damaged"
    expect 0 "$wick" doctor -h && lacks out damaged
}
test_help_of_a_command_by_either_name() {
    for command in train eval predict info ops doctor; do
        "$wick" $command --help >expected
        expect 0 "$wick" help $command && cmp -s out expected || fail "help $command differs"
    done
    expect 0 "$wick" help && has out "wick train"
    expect 2 "$wick" help trian && has err "did you mean train?"
    expect 2 "$wick" help --man net && has err "wick help net"
}
test_no_command() { expect 2 "$wick" && has err "wick train"; }
test_unknown_command() {
    expect 2 "$wick" trian && has err "did you mean train?"
    expect 2 "$wick" --epochs 3 train && has err "--epochs before a command"
    expect 2 "$wick" -v && has err "-v before a command"
}
test_unknown_option() {
    expect 2 "$wick" train --epoch 3 && has err "did you mean --epochs?"
    expect 2 "$wick" train --optimiser=sgd && has err "did you mean --optimizer?"
    expect 2 "$wick" eval m --batch 3 && lacks err "did you mean --batch"
    expect 2 "$wick" train --zzzzzzzzzz 1 && lacks err "did you mean"
    expect 2 "$wick" train -x
}
# What other tools call it.
test_words_of_other_tools() {
    local line
    while IFS='|' read -r line hint; do
        expect 2 "$wick" $line && has err "unknown" && has err "$hint"
    done <<'END'
infer|wick run MODEL.onnx
export|wick convert RUN net.onnx
sparsify|wick prune MODEL
quantise|wick quantize MODEL
Evaluate|wick eval RUN
version|wick --version
train --version|wick --version shows it
train -V|wick --version shows it
train --learning-rate 1|did you mean --lr?
train --learning_rate=1|did you mean --lr?
train --Epochs 1|did you mean --epochs?
train -epochs 1|did you mean --epochs?
train --device cuda|--threads N
train --gpu|--threads N
train --batch-size 8|did you mean --batch?
train --output x|did you mean --out?
train --num-workers 2|did you mean --workers?
train --lr-scheduler cosine|did you mean --schedule?
train --val-split 0.1|--validation
run m --output-dir x|did you mean --output?
compile m --output x|did you mean --out?
eval m --batch-size 3|--batch is an option of wick train, plan
verify m --epochs 3|--epochs is an option of wick train
END
    expect 0 "$wick" -V && has out "wick "
}
# What is parsed is also accepted.
test_ranges_are_those_that_are_taken() {
    make_data ranges 20 10 6 >/dev/null
    expect 0 "$wick" info --arch mlp:4 --input 3 --threads 1024
    for n in 1025 4096 5000; do expect 2 "$wick" info --arch mlp:4 --input 3 --threads $n && has err "--threads must be from -1 to 1024, not $n"; done
    expect 2 "$wick" bench --threads 1,1025 --time 0 && has err "numbers of threads up to 1024"
    for option in momentum beta1 beta2; do
        kind=$([ $option = momentum ] && echo sgd || echo adam)
        expect 2 "$wick" compile --arch mlp:4 --input 3 --train --out c --optimizer "$kind" --$option -0.5 && has err "--$option -0.5 is below 0"
        expect 2 "$wick" train --data ranges --out r --optimizer "$kind" --$option -0.5 && has err "--$option -0.5 is below 0"
    done
    expect 2 "$wick" run m.onnx --rate 768001 && has err "--rate must be from 0 to 768000"
}
test_bad_values() {
    expect 2 "$wick" train --epochs many && has err "whole number"
    expect 2 "$wick" train --epochs 3x
    expect 2 "$wick" train --epochs 0 && has err "from 1"
    expect 2 "$wick" train --epochs 99999999999999999999
    expect 2 "$wick" train --lr nan
    expect 2 "$wick" train --lr inf
    expect 2 "$wick" train --lr -1
    expect 2 "$wick" train --lr ""
    expect 2 "$wick" train --dropout 1
    expect 2 "$wick" train --optimizer rmspropp && has err "sgd|adam|adamw|muon|adamax"
    expect 2 "$wick" train --label-smoothing 1 && has err "from 0 to 0.999"
    expect 2 "$wick" train --ema 1
    expect 2 "$wick" train --schedule "" && has err "constant|step|cosine|multistep"
    expect 2 "$wick" train --epochs && has err "needs N"
    expect 2 "$wick" train --json=yes && has err "takes no value"
    expect 2 "$wick" eval r --split valid && has err "train|validation|test"
    expect 2 "$wick" predict r --split ""
    for option in data arch hidden out resume log; do
        expect 2 "$wick" train --$option "" && has err "--$option needs"
    done
    expect 2 "$wick" eval r --data "" && has err "--data needs"
}
test_arguments() {
    expect 2 "$wick" train fashion-mnist && has err "unexpected argument"
    expect 2 "$wick" eval && has err "MODEL"
    expect 2 "$wick" eval "" && has err "MODEL"
    expect 2 "$wick" info ""
    expect 3 "$wick" predict a b && expect 2 "$wick" predict a "" && expect 2 "$wick" eval a b
    expect 2 "$wick" predict a --index 3- && has err "--index"
    expect 2 "$wick" predict a --index 5-3
    expect 2 "$wick" predict a --index 0-99999999
    expect 2 "$wick" predict a --index 1,,2
    expect 2 "$wick" predict a --index ""
}
test_usage_error_in_json() {
    expect 2 "$wick" train --json --epochs x && valid_json out && has out '"exit": 2'
    expect 2 "$wick" train --bogus --json && valid_json out && has out '--bogus'
    expect 2 "$wick" trian --json && valid_json out && has out 'trian'
    expect 2 "$wick" eval --threads --json && valid_json out && has out '--threads'
    expect 2 "$wick" train --bogus -- --json && [ ! -s out ] || fail "an argument was taken for an option"
}
test_json_escapes() {
    expect 2 "$wick" train --json $'--bad"quote\\\n\t\xff\xc3\xa9' && valid_json out && has out '\ufffd' && has out é
    expect 3 "$wick" eval --json $'no\xed\xa0\x80\xf5"file' && valid_json out
}
test_architecture() {
    make_data data 40 20
    expect 2 "$wick" train --data data --arch cnm && has err '"cnm"' && has err "mlp" && lacks err 256
    expect 2 "$wick" train --data data --hidden 12,x && has err "--hidden" && has err "width"
    expect 2 "$wick" train --data data --arch mlp:8 --hidden 9 && has err "--hidden"
    expect 2 "$wick" train --data data --arch resnet8 --hidden 9 && has err "--hidden"
    expect 0 "$wick" help net && has out "conv CHANNELS KERNEL" && has out "resnet8"
    expect 2 "$wick" train --data data --net "conv 8 3, rellu" && has err 'column 11, "rellu": is no layer'
    expect 2 "$wick" train --data data --net relu --arch mlp && has err "takes no --arch"
    expect 2 "$wick" train --data data --net "conv 8 99" && has err "does not fit"
    local net="conv 3 3 same, bn, relu, residual(dwconv 3 same, bn), maxpool 2, globalpool, linear classes"
    expect 0 "$wick" train --data data --net "$net" --epochs 2 --batch 8 --out nets --quiet
    expect 0 "$wick" eval nets --data data
    expect 0 "$wick" train --resume nets --epochs 3 --quiet && expect 0 "$wick" info nets && has out "residual(dwconv"
    expect 2 "$wick" train --data data --hidden 8 --momentum 0.9 --optimizer adam && has err "momentum"
    expect 2 "$wick" train --data data --hidden 8 --momentum -0.5 --optimizer sgd && has err "below 0"
    expect 2 "$wick" train --data data --hidden 8 --momentum 0 --nesterov --optimizer sgd && has err "above 0"
    expect 2 "$wick" train --data data --hidden 8 --nesterov && has err "sgd; this is adam"
    expect 2 "$wick" train --data data --hidden 8 --nesterov --optimizer muon && has err "sgd; this is muon"
    expect 2 "$wick" train --data data --hidden 8 --amsgrad --optimizer lion && has err "adam|adamw; this is lion"
    expect 2 "$wick" train --data data --hidden 8 --beta1 0.5 --optimizer sgd && has err "this is sgd"
    expect 2 "$wick" train --data data --hidden 8 --beta1 -0.5 && has err "below 0"
    expect 2 "$wick" train --data data --hidden 8 --schedule multistep && has err "needs --lr-at"
    expect 2 "$wick" train --data data --hidden 8 --schedule multistep --lr-at 5,5 && has err "5,5"
    expect 2 "$wick" train --data data --hidden 8 --schedule multistep --lr-at 5,x
    expect 2 "$wick" train --data data --hidden 8 --schedule onecycle --warmup 3 && has err "--lr-rise"
    expect 2 "$wick" train --data data --hidden 8 --schedule onecycle --epochs 1 --lr-rise 0.01 && has err "1 update is none"
    expect 2 "$wick" train --data data --hidden 8 --schedule plateau --lr-gamma 1 && has err "below 1"
    expect 2 "$wick" train --data data --hidden 8 --schedule plateau --lr-min 1 && has err "above the peak"
    expect 2 "$wick" train --data data --hidden 8 --schedule restarts --lr-gamma 0.1 && has err "this is restarts"
    expect 2 "$wick" train --data data --hidden 8 --cycle-momentum && has err "onecycle; this is cosine"
    expect 2 "$wick" train --data data --hidden 8 --cycle-momentum --schedule onecycle --optimizer adagrad && has err "no momentum"
    expect 2 "$wick" train --data data --hidden 8 --lr-every 9 && has err "--lr-every is for"
    # The one sample that 20 in batches of 19 leave over, known before anything is trained.
    make_data few 20 8
    net="flatten, linear 4, bn, relu, linear classes"
    expect 2 "$wick" train --data few --net "$net" --batch 19 --out few-run && has err '"bn1"' && has err "(at layer bn1)" && has err "1 sample, which 20 in batches of 19 leave over: --batch 20 leaves none" && lacks err cli/
    expect 2 "$wick" train --data few --net "$net" --batch 1 --out few-run && has err "layer bn1" && has err "--batch 2 or more"
    expect 0 "$wick" train --data few --net "$net" --batch 20 --epochs 1 --out few-run --quiet
    # 40 images in batches of 20, 3 epochs: 6 steps
    run=(--data data --hidden 8 --batch 20 --epochs 3)
    expect 2 "$wick" train "${run[@]}" --warmup 1000 && has err "--warmup 1000 " && has err " 6 updates"
    expect 2 "$wick" train "${run[@]}" --warmup 6
    expect 2 "$wick" train "${run[@]}" --accumulate 7 && has err "--accumulate 7:" && has err " 6 steps"
    expect 2 "$wick" train "${run[@]}" --lr 0.01 --lr-min 0.02 && has err "--lr-min 0.02" && has err "--lr 0.01"
    expect 2 "$wick" train "${run[@]}" --lr-min 0.02 && has err "--lr 0.001" # the default
    [ ! -e wick-run ] || fail "a refused run made its folder"
    expect 0 "$wick" train "${run[@]}" --warmup 5 --lr 0.01 --lr-min 0.01 --out edge
}
test_unknown_tier_is_named() {
    for command in --version info ops help "train --bogus"; do
        WICK_ISA=bogus "$wick" $command >out 2>err
        [ "$(grep -c WICK_ISA err)" = 1 ] || fail "$command: $(cat err)"
        has err "WICK_ISA=bogus" && has err avx2
        for isa in base avx512-vnni -avxvnni ref-vnni-avxvnni; do
            WICK_ISA=$isa "$wick" $command >out 2>err
            lacks err WICK_ISA
        done
    done
}
test_main
