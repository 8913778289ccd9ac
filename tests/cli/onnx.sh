# wick run, inspect and verify: ONNX models.
. "$(dirname "$0")/lib.sh"
[ -d "${WICK_MODELS:-}" ] || { echo "skipped: WICK_MODELS names no folder of models"; exit 77; }
lenet=$WICK_MODELS/bench/lenet
mnist=$WICK_MODELS/onnx/mnist-8
silero=$WICK_MODELS/onnx/silero_vad_v6

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
    expect 0 "$wick" run "$lenet/model.onnx" --input "$lenet/input_0.npy" --repeat 3 && has out "3 runs on " && has out "median"
    expect 0 "$wick" run "$lenet/model.onnx" --input random --json && valid_json out && has out '"dims": [1, 10]'
    cp out first && expect 0 "$wick" run "$lenet/model.onnx" --input random --output made && [ -s made/y.npy ] || fail "made/y.npy is not there"
}
# Names of outputs that would be one file's: Relu gives a/b, Neg gives a_b.
test_outputs_have_files_of_their_own() {
    printf '\010\010:Y\012\016\012\001x\022\003a/b"\004Relu\012\015\012\001x\022\003a_b"\003Neg\022\001gZ\017\012\001x\022\012\012\010\010\001\022\004\012\002\010\002' >two.onnx
    printf 'b\021\012\003a/b\022\012\012\010\010\001\022\004\012\002\010\002b\021\012\003a_b\022\012\012\010\010\001\022\004\012\002\010\002B\004\012\000\020\015' >>two.onnx
    expect 0 "$wick" run two.onnx --input random --output two && [ -s two/a_b.npy ] && [ -s two/a_b_1.npy ] || fail "not two files: $(ls two)"
    cmp -s two/a_b.npy two/a_b_1.npy && fail "both files hold one output"
}
test_wrong_uses() {
    expect 2 "$wick" run && has err MODEL
    expect 2 "$wick" run "$lenet/model.onnx" && has err "the input x, float [1, 1, 28, 28], is missing"
    expect 3 "$wick" run "$silero/model.onnx" --input random && has err "the input input, float [?, ?]: input.0, input.1 of it are 1 here; --dim NAME=N says another"
    expect 2 "$wick" run "$lenet/model.onnx" --input z=random && has err 'no input "z"; it has x'
    expect 3 "$wick" run "$lenet/model.onnx" --input x=nowhere.npy && has err nowhere.npy
    expect 3 "$wick" run nowhere.onnx --input random && has err nowhere.onnx
    expect 2 "$wick" run "$lenet/model.onnx" --input "x=$lenet/output_0.npy" && has err "output_0.npy holds f32 [1, 10], and the input x is float [1, 1, 28, 28]"
    expect 2 "$wick" run "$lenet/model.onnx" --input random --dim batch=2 && has err "all extents of the model's inputs are fixed"
    expect 2 "$wick" run "$silero/model.onnx" --input random --dim input.0=x && has err "--dim needs NAME=N"
    expect 2 "$wick" run "$silero/model.onnx" --input random --dim inptu.0=2 && has err "no input has an open dim 'inptu.0'; there are input.0, input.1, state.1"
    expect 2 "$wick" run "$silero/model.onnx" --input random --state stat=stateN && has err "did you mean state?"
    expect 2 "$wick" run "$silero/model.onnx" --input random --state state && has err "not IN=OUT"
    expect 2 "$wick" run "$silero/model.onnx" --input inpt=random && has err "did you mean input?"
    expect 2 "$wick" run "$lenet/model.onnx" --input random:1,x && has err "after random: stand extents"
}
# Inputs have the sizes that the names of their open dims ask for: 1 where nothing is said, else what --dim says, or an input that was given.
test_open_dims() {
    local vad=$WICK_MODELS/onnx/silero_vad_16k_op15/model.onnx run
    run=("$wick" run "$vad" --input sr=16000)
    npy() { # NAME DIMS COUNT: zeros of f32
        local head="{'descr': '<f4', 'fortran_order': False, 'shape': ($2), }"
        printf '\223NUMPY\001\000\166\000%-117s\n' "$head" >"$1" && head -c $((4 * $3)) /dev/zero >>"$1"
    }
    npy x2.npy 2,576 1152 && npy x7.npy 7,576 4032 && npy s3.npy 2,3,128 768
    expect 0 "${run[@]}" --input input=x2.npy --input random && has out "stateN, f32 [2, 2, 128]"
    expect 0 "${run[@]}" --input random --input state=s3.npy --dim sequence=576 && has out "output, f32 [3, 1]"
    expect 0 "${run[@]}" --input input=random --input state=s3.npy --dim sequence=512..1024/192 && has out "output, f32 [3, 1]" && lacks err "are 1 here"
    expect 0 "${run[@]}" --input input=x2.npy --input input=x2.npy --state state=stateN && has out "stateN, f32 [2, 2, 128]" # zeros at first
    expect 2 "${run[@]}" --input input=x2.npy --input state=s3.npy && has err "input state: dim 1 (batch) is 3, but dim 0 of input input, of the same name, is 2"
    expect 2 "${run[@]}" --input input=x2.npy --input state=s3.npy --bench --repeat 1 --json && valid_json out && has out "of the same name, is 2"
    expect 2 "${run[@]}" --input input=x2.npy --input input=x7.npy --state state=stateN && has err "input state: dim 1 (batch) is 2, but dim 0 of input input, of the same name, is 7"
    expect 0 "${run[@]}" --input input=x7.npy --input random --dim batch=1..8 && has out "f32 [7, 1]"
    expect 2 "${run[@]}" --input input=x7.npy --input random --dim batch=1..4 && has err "x7.npy holds f32 [7, 576], and the input input is float [batch, sequence], with --dim batch=1..4: dim 0 (batch) is 7"
    expect 2 "${run[@]}" --input input=x7.npy --input random --dim batch=1..8/2 && has err "with --dim batch=1..8/2: dim 0 (batch) is 7"
    expect 2 "${run[@]}" --input input=x7.npy --input random --dim batch=3..4/5 && has err "there is no multiple of 5 in that range"
    mkdir -p set && cp x2.npy set/input_0.npy && cp s3.npy set/input_1.npy && cp s3.npy set/output_0.npy
    expect 3 "${run[@]}" --check set && has err "input state: dim 1 (batch) is 3"
    rm set/input_1.npy && expect 5 "${run[@]}" --check set --input random && has out "output: differs"
    expect 0 "$wick" inspect "$vad" && has out "dims        batch: input axis 0, state axis 1" && has out "            sequence: input axis 1" && has out "stateN: f32[2, batch, 128]" &&
        has out "for batch=1..4, sequence=256..640/64"
    expect 0 "$wick" inspect "$vad" --input sr=16000 --dim sequence=576 --dim batch=2..9 --json && valid_json out && has out '"name": "batch", "axes": [{"input": "input", "axis": 0}, {"input": "state", "axis": 1}], "given": true, "min": 2, "max": 9' &&
        has out '"output": "output", "shape": "[batch, 1]", "known": true'
    expect 0 "$wick" inspect "$vad" --dim sequence=8 && has out "shapes      not known in terms of the dims: with batch=" && has out "the kernel covers 256 places"
    expect 0 "$wick" inspect "$lenet/model.onnx" && lacks out "dims   " && lacks out "shapes   "
}
# An option that does nothing where it stands is a mistake, and said to be one.
test_options_without_effect() {
    local run=("$wick" run "$lenet/model.onnx") option
    for option in "--output o" "--topk 1" "--labels names"; do
        expect 2 "${run[@]}" --input random --bench $option && has err "${option% *} has no effect here: it is for a run whose outputs are shown"
        expect 2 "${run[@]}" --check "$lenet" $option && has err "${option% *} has no effect"
        expect 2 "${run[@]}" --input random --repeat 2 --json $option && has err "${option% *} has no effect" && valid_json out
    done
    for option in "--scale garbage" "--mean 1" "--std 1" "--layout nhwc" --bgr "--rate 1" "--hop 1" "--rtol 1" "--atol 1" "--time 1"; do
        expect 2 "${run[@]}" --input random $option && has err "${option% *} has no effect here: it is for "
    done
    for option in --bench "--repeat 3" "--seed 3"; do expect 2 "${run[@]}" --check "$lenet" $option && has err "${option% *} has no effect"; done
    expect 2 "${run[@]}" --input random --bench --repeat 2 --time 1 && has err "--time has no effect here: it is for --bench without --repeat"
    expect 2 "${run[@]}" --input 1 --seed 3 && has err "--seed has no effect here: it is for --input random"
    expect 2 "${run[@]}" --check "$lenet" --input random && has err "--input random has no effect here"
    expect 2 "${run[@]}" --check "$lenet" --input x=1 && has err "--input x has no effect here: the sets in"
    expect 3 "${run[@]}" --check nowhere && has err "no such directory"
    expect 2 "$wick" run "$WICK_MODELS/onnx/espcn_x3/model.onnx" --input random --topk 2 && has err "--topk: no output of" && [ ! -s out ] || fail "something was shown"
    # --dim is not only for chance: a file must be as it says
    expect 2 "$wick" run "$silero/model.onnx" --input input=random:1,576 --input random --input sr=16000 --dim input.1=512 && has err "holds f32 [1, 576]" && has err "with --dim"
    expect 2 "$wick" inspect "$lenet/input_0.npy" --dim x.1=2 && has err "--dim is for the inputs of an ONNX model"
    expect 2 "$wick" convert "$lenet/input_0.npy" x.npz --opset 20 && has err "--opset has no effect here: it is for what becomes ONNX"
    expect 2 "$wick" convert "$lenet/model.onnx" x.onnx --dtype f16 && has err "--dtype has no effect here: it is for tensors"
    expect 2 "$wick" convert "$lenet/input_0.npy" x.npz --max-shard 3 && has err "--max-shard has no effect here"
}
# Messages say what to do.
test_misuses() {
    local run=("$wick" run "$lenet/model.onnx")
    touch file
    expect 2 "${run[@]}" --input random --output file && has err "--output file is a file" && [ ! -s out ] || fail "shown before it is refused"
    expect 3 "${run[@]}" --input random --labels "$lenet/model.onnx" && has err "is an ONNX model, not a list of names, a line each"
    expect 3 "${run[@]}" --input random --labels . && has err ". is a directory, not a list of names"
    yes BMW | head >cars && expect 0 "${run[@]}" --input random --labels cars && has out BMW && expect 0 "${run[@]}" --input random --labels <(cat cars) && has out BMW
    expect 3 "${run[@]}" --check "$WICK_MODELS/onnx/dtln_1" && has err "with the inputs of $WICK_MODELS/onnx/dtln_1/test_data_set_0: model.onnx: Conv"
    expect 2 "${run[@]}" --input random: && has err "after random: stand extents"
    expect 2 "${run[@]}" --input x= && has err "--input x= needs a file, a number or random behind the ="
    expect 3 "${run[@]}" --input x=true && has err "true: cannot be read: No such file or directory; an input is a file, a number, random or random:DIMS"
    expect 2 "$wick" inspect "$silero/model.onnx" --dim input.1=576 --dim input.1=5 && has err "--dim input.1=576 and --dim input.1=5: which of both?"
    expect 3 "$wick" run /dev/null && has err "/dev/null: cannot be read: it is a pipe or a device, no file"
    expect 3 "$wick" convert . made.onnx && has err "best.safetensors: cannot open: no such file, and . is no folder of wick train without it"
    expect 3 "$wick" run "$silero/model.onnx" --input random --input sr=16000 && has err "Conv" && lacks err "(at model.onnx" # once is enough
    echo names >words && expect 3 "$wick" run "$lenet/model.onnx" --input words && has err "words is a text, not an input"
}
test_kinds_of_files() {
    expect 3 "$wick" run "$lenet/input_0.npy" && has err "is an array of numbers (.npy), not an ONNX model; wick run MODEL.onnx --input"
    expect 3 "$wick" run "$mnist/test_data_set_0/input_0.pb" && has err "is a TensorProto (.pb), as in ONNX's test sets, not an ONNX model"
    expect 3 "$wick" run "$lenet/model.onnx" --input "$lenet/model.onnx" && has err "is an ONNX model, not an input"
    expect 3 "$wick" info "$lenet/model.onnx" && has err "is an ONNX model, not a checkpoint of wick train; wick inspect"
    printf 'fLaC\0\0\0\42' >a.wav && expect 3 "$wick" run "$lenet/model.onnx" --input a.wav && has err "a.wav is a FLAC recording, not an input" && has err "ffmpeg -i a.wav"
    printf '\34\0\0\0TFL3' >a.onnx && expect 3 "$wick" run a.onnx && has err "a.onnx is a TensorFlow Lite model, not an ONNX model; python3 -m tf2onnx.convert"
    : >none.onnx && expect 3 "$wick" inspect none.onnx && has err "none.onnx is an empty file"
    echo 'names' >words && expect 3 "$wick" verify words && has err "words is a text, not a file that Wick reads"
    expect 3 "$wick" run . && has err ". is a directory, not an ONNX model"
    expect 2 "$wick" convert "$lenet/model.onnx" x.safetensors && has err "an ONNX model, does not become x.safetensors; what it becomes is a file whose name ends in .onnx"
    expect 0 "$wick" help convert && has out "an ONNX model" && has out "becomes .safetensors.index.json, .safetensors, .npz, .npy"
    expect 0 "$wick" help --man convert && has out ".SH CONVERSIONS"
}
# What a stranger called its nodes, inputs and ops never reaches a terminal as it is, and makes no lines of its own.
test_names_are_escaped() {
    command -v python3 >/dev/null || { echo "  skipped: python3 makes the models"; return 0; }
    python3 - <<'END'
def field(n, b): return bytes([n << 3 | 2] + ([len(b)] if len(b) < 128 else [len(b) & 127 | 128, len(b) >> 7])) + b
name = b"e\nvil\x1b[2J\xe2\x80\xae\xc2\x9b"
port = lambda n: field(1, n) + field(2, field(1, b"\x08\x01" + field(2, field(1, b"\x08\x02"))))
for file, op in ("evil.onnx", b"Relu"), ("lacks.onnx", b"No\nOp\x1b[0m"):
    node = field(1, name) + field(2, name + b"2") + field(3, name) + field(4, op)
    graph = field(1, node) + field(2, name) + field(11, port(name)) + field(12, port(name + b"2"))
    meta = field(1, name) + field(2, name)
    open(file, "wb").write(b"\x08\x08" + field(2, name) + field(7, graph) + field(8, b"\x10\x0d") + field(14, meta))
END
    local command
    for command in "run evil.onnx --input random" "run evil.onnx --input random --output named" "run evil.onnx" "inspect evil.onnx" "inspect lacks.onnx" "verify lacks.onnx" \
        "run lacks.onnx --input random" "convert evil.onnx made.onnx" "convert lacks.onnx made.onnx" "inspect evil.onnx --dim x=1" "run evil.onnx --input y=1" \
        "graph evil.onnx" "graph evil.onnx --before fuse" "plan evil.onnx" "explain evil.onnx"; do
        "$wick" $command >out 2>err
        cat out err | LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]\|\xe2\x80\xae\|\xc2\x9b' && fail "$command prints control characters"
        cat out err | grep -q '^\(vil\|Op\)' && fail "$command lets a name begin a line"
        "$wick" $command --json >out 2>err
        valid_json out
        LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]\|\xe2\x80\xae\|\xc2\x9b' out && fail "$command --json prints control characters"
    done
    expect 0 "$wick" inspect evil.onnx && has out 'e\x0avil\x1b[2J'
    expect 0 "$wick" inspect evil.onnx --svg evil1.svg && expect 0 "$wick" graph evil.onnx --svg evil2.svg && expect 0 "$wick" compile evil.onnx -o evil_c
    cat evil1.svg evil2.svg evil_c/*.[ch] | LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]\|\xe2\x80\xae\|\xc2\x9b' && fail "a drawing or C has control characters"
    has evil1.svg 'vil\x1b[2J\xe2\x80\xae\xc2\x9b'
}
# name INPUTS STATE OUTPUT: a stateful model over the whole of its sequence.
sequence() {
    local dir=$WICK_MODELS/onnx/$1
    expect 0 "$wick" run "$dir/model.onnx" --check "$dir/sequence" --state "$2" ${4:+--input "$4"} --atol 1e-4 && has out "$3: agrees at all"
}
test_sequences() {
    sequence silero_vad_16k_op15 state=stateN output sr=16000
    sequence silero_vad_v6 state=stateN output sr=16000
    sequence silero_vad_openvino_16k state=stateN output
    sequence dtln_1 input_3=tf_op_layer_stack_2 activation_2
    # without its states it differs, and the step where it begins to is named
    local dir=$WICK_MODELS/onnx/dtln_1
    expect 5 "$wick" run "$dir/model.onnx" --check "$dir/sequence" --input input_3=0 --atol 1e-4 && has out "activation_2: differs from step 1 on"
    expect 5 "$wick" run "$dir/model.onnx" --check "$dir/sequence" --input input_3=0 --atol 1e-4 --json && valid_json out && has out '"step": 1'
    expect 3 "$wick" run "$dir/model.onnx" --check "$dir/sequence" && has err "has no input_1.pb or .npy, for input_3; --input input_3=FILE gives what a set lacks, --state input_3=OUTPUT carries"
    # the same without --check: outputs of all steps, and the last state; also as a file for each step
    expect 0 "$wick" run "$dir/model.onnx" --input "input_2=$dir/sequence/input_0_all_steps.npy" --state input_3=tf_op_layer_stack_2 --output all &&
        has out "activation_2, f32 [60, 1, 1, 257]" && has out "tf_op_layer_stack_2, f32 [1, 2, 128, 2]"
    expect 0 "$wick" run "$dir/model.onnx" --input "input_2=$dir/test_data_set_0/input_0.pb" --input "input_2=$dir/test_data_set_1/input_0.pb" \
        --state input_3=tf_op_layer_stack_2 --output two && has out "activation_2, f32 [2, 1, 1, 257]"
    cmp <(tail -c +129 all/activation_2.npy | head -c 2056) <(tail -c +129 two/activation_2.npy) || fail "two steps are not the first two of 60"
    # test sets as steps, the state of the first one to begin with
    mkdir -p steps/test_data_set_0 steps/test_data_set_1
    cp "$dir"/test_data_set_0/{input_0,input_1,output_0}.pb steps/test_data_set_0 && cp "$dir"/test_data_set_1/{input_0,output_0,output_1}.pb steps/test_data_set_1
    expect 0 "$wick" run "$dir/model.onnx" --check steps --state input_3=tf_op_layer_stack_2 --atol 1e-4 && has err "3 outputs of 2 sets agree"
    expect 2 "$wick" run "$dir/model.onnx" --input "input_2=$dir/sequence/input_0_all_steps.npy" --input input_3=random --input input_3=random && has err "has 2 steps"
}
# The recording that the reference's frames of 576 were cut from, each 512 behind the one before; and what has to be said of others.
test_recordings() {
    command -v python3 >/dev/null || { echo "  skipped: python3 makes the recordings"; return 0; }
    python3 - "$silero/sequence/input_0_all_steps.npy" <<'END'
import struct, sys
def floats(name):
    b = open(name, "rb").read()
    at = 10 + struct.unpack("<H", b[8:10])[0]
    return struct.unpack("<%df" % ((len(b) - at) // 4), b[at:])
def wav(name, rate, channels, samples):
    data = struct.pack("<%df" % len(samples), *samples)
    open(name, "wb").write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 3, channels, rate, rate * channels * 4, channels * 4, 32)
                           + b"data" + struct.pack("<I", len(data)) + data)
f = floats(sys.argv[1])
x = [v for k in range(200) for v in f[576 * k + 64 : 576 * (k + 1)]]
wav("speech.wav", 16000, 1, x)
wav("both.wav", 16000, 2, [v * (0.5 if c else 1.5) for v in x for c in range(2)])
wav("tenth.wav", 48000, 1, x[:4800])
END
    local run=("$wick" run "$silero/model.onnx" --input sr=16000 --state state=stateN)
    expect 2 "${run[@]}" --input input=speech.wav && has err "speech.wav is cut into the steps of a sequence" && has err "--dim input.1=512 does"
    expect 2 "${run[@]}" --input input=speech.wav --dim input.1=512 --hop 513 && has err "--hop 513: a step of the input input has 512 samples only"
    expect 0 "${run[@]}" --input input=speech.wav --dim input.1=576 --hop 512 --output vad && has out "output, f32 [200, 1, 1]" && has err "taken as they are; --rate HZ resamples"
    expect 0 "${run[@]}" --input input=both.wav --dim input.1=576 --hop 512 --rate 16000 --output mixed && has err "its 2 channels are mixed to one" && lacks err "taken as"
    cmp vad/output.npy mixed/output.npy || fail "the mean of both channels is the recording"
    python3 - vad/output.npy "$silero/sequence/output_0_all_steps.npy" <<'END' || fail "not the reference's outputs"
import struct, sys
a, b = [struct.unpack("<200f", open(n, "rb").read()[-800:]) for n in sys.argv[1:]]
sys.exit(max(abs(x - y) for x, y in zip(a, b)) > 1e-4)
END
    expect 0 "${run[@]}" --input input=tenth.wav --rate 16000 --dim input.1=576 --hop 512 && has out "output, f32 [4, 1, 1]" && # 1600 samples
        has err "4800 samples, 48000 a second, are resampled to 1600, 16000 a second"
    expect 2 "${run[@]}" --input input=tenth.wav --rate 5 --dim input.1=576 && has err "rates are from 1000 to 768000"
    expect 2 "$wick" run "$mnist/model.onnx" --input tenth.wav && has err "the input Input3, float [1, 1, 28, 28], has no place for that"
    expect 3 "$wick" run tenth.wav && has err "tenth.wav is a WAV recording, not an ONNX model"
}
test_bench() {
    expect 0 "$wick" run "$lenet/model.onnx" --input random --bench --time 0.3 && has out "median" && has out "p99" && has out "nodes a second" && lacks out "y, f32"
    expect 0 "$wick" run "$lenet/model.onnx" --input random --bench --time 0.3 --threads 1 --json && valid_json out && has out '"threads": 1' && has out '"compiled": true' &&
        has out '"p50_interval_ms": ['
    expect 0 "$wick" run "$silero/model.onnx" --input random --input sr=16000 --dim input.1=576 --bench --repeat 3 && has err "sr is taken as a constant" && has out "kernels"
    expect 0 "$wick" run "$lenet/model.onnx" --input random --repeat 5 --json && valid_json out && has out '"runs": 5'
}
test_random() {
    expect 0 "$wick" run "$lenet/model.onnx" --input random && cp out first
    expect 0 "$wick" run "$lenet/model.onnx" --input random --threads 1 && cmp out first
    expect 0 "$wick" run "$lenet/model.onnx" --input random --seed 2 && ! cmp -s out first || fail "another seed gives the same"
}
test_classes() {
    seq -f 'digit %.0f' 0 9 >names
    expect 0 "$wick" run "$mnist/model.onnx" --input "$mnist/test_data_set_0/input_0.pb" --labels names --topk 2 && has out "digit " && [ "$(wc -l <out)" = 3 ] || fail "not 2 classes"
    expect 0 "$wick" run "$mnist/model.onnx" --input "$mnist/test_data_set_0/input_0.pb" --topk 3 --json && valid_json out && has out '"score"' && has out '"label": null'
    expect 3 "$wick" run "$mnist/model.onnx" --input random --labels nothing && has err "nothing: cannot be read"
    # A header line, or a list for another model, would give classes the names of others.
    { echo name; cat names; } >headed
    expect 3 "$wick" run "$mnist/model.onnx" --input random --labels headed && has err "has 11 names, a line each, and $mnist/model.onnx has 10 classes"
    head -n 1 names >one
    expect 3 "$wick" run "$mnist/model.onnx" --input random --labels one --json && has err "has 1 name, "
}
# Whether the process has the pipe open to read it all: not O_NONBLOCK (04000), as for a look at what it is.
reads_waiting() {
    local f
    for f in /proc/"$1"/fd/*; do
        [[ $(readlink "$f") = */waiting ]] && grep -q '^flags:.*[0-3]...$' "/proc/$1/fdinfo/${f##*/}" 2>no.err && return 0
    done
    return 1
}
# A model that another program makes shorter while it is in use: the command waits for labels, which come from a pipe, until that is done.
test_model_cut_off_in_use() {
    cp "$mnist/model.onnx" cut.onnx && mkfifo waiting
    local code=0
    exec 9<>waiting
    "$wick" run cut.onnx --input random --seed 1 --labels waiting >out 2>err 9>&- &
    until reads_waiting $! || ! kill -0 $! 2>no.err; do :; done
    : >cut.onnx
    seq 0 9 >&9
    exec 9>&-
    wait $! || code=$?
    [ "$code" = 3 ] && has err "cut.onnx" && has err "was cut off" || fail "exit code $code: $(cat err)"
    mkdir -p no.names && expect 3 "$wick" run "$mnist/model.onnx" --input random --labels no.names && has err "no.names is a directory, not a list of names"
    expect 3 timeout 60 "$wick" run "$mnist/model.onnx" --input random --labels /dev/zero && has err "/dev/zero: cannot be read: File too large"
}
# Pixels of a PNG, resized to what the input takes, in its layout.
test_pictures() {
    command -v python3 >/dev/null || { echo "  skipped: python3 makes the picture"; return 0; }
    python3 - <<'END'
import struct, zlib
def png(name, rows, kind):
    c = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    w = len(rows[0]) // (3 if kind == 2 else 1)
    raw = b"".join(b"\0" + bytes(r) for r in rows)
    open(name, "wb").write(b"\x89PNG\r\n\x1a\n" + c(b"IHDR", struct.pack(">IIBBBBB", w, len(rows), 8, kind, 0, 0, 0)) + c(b"IDAT", zlib.compress(raw)) + c(b"IEND", b""))
png("grey.png", [[(x + y) * 4 for x in range(28)] for y in range(28)], 0)
png("red.png", [[200, 0, 0] * 40 for _ in range(30)], 2)
def npy(name, shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (shape,)
    head += " " * (117 - len(head)) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%df" % len(values), *values))
npy("grey.npy", (1, 1, 28, 28), [((x + y) * 4 / 255 - 0.5) / 0.25 for y in range(28) for x in range(28)])
npy("red.npy", (1, 3, 96, 96), [0.0] * (2 * 96 * 96) + [(200 - 100) / 2.0] * (96 * 96))
npy("wide.npy", (1, 1, 28, 28), [7.0] * 784)
END
    if ! "$wick" run "$lenet/model.onnx" --input grey.png >/dev/null 2>err; then grep -q spng err && echo "  skipped: no libspng" && return 0; fi
    expect 0 "$wick" run "$lenet/model.onnx" --input grey.png --scale 1/255 --mean 0.5 --std 0.25 --output got
    mkdir -p pair && cp grey.npy pair/input_0.npy && cp got/y.npy pair/output_0.npy && expect 0 "$wick" run "$lenet/model.onnx" --check pair --rtol 1e-5 --atol 1e-5
    local net=$WICK_MODELS/bench/mobilenetv1_025/model.onnx
    expect 0 "$wick" run "$net" --input red.png --bgr --mean 0,0,100 --std 1,1,2 --output got && has err "40 x 30 is resized to 96 x 96"
    mkdir -p pair2 && cp red.npy pair2/input_0.npy && cp got/y.npy pair2/output_0.npy && expect 0 "$wick" run "$net" --check pair2 --rtol 1e-5 --atol 1e-5
    expect 2 "$wick" run "$net" --input red.png --mean 1,2 && has err "--mean 1,2: one number, or one for each of 3 channels"
    expect 2 "$wick" run "$net" --input red.png --mean a && lacks err resized
    expect 2 "$wick" run "$lenet/model.onnx" --input red.png --layout nhwc && has err "whose axis 3 would be theirs: --layout says another"
    expect 2 "$wick" run "$net" --input red.png --scale a && has err "--scale a is no number"
    expect 2 "$wick" run "$net" --input red.png --rate 16000 && has err "--rate has no effect here: it is for a recording among the inputs"
    expect 3 "$wick" run red.png --input random && has err "red.png is a PNG picture, not an ONNX model; wick run MODEL.onnx --input red.png"
    expect 3 "$wick" inspect red.png && has err "red.png is a PNG picture, not a model"
    expect 3 "$wick" convert red.png red.onnx && has err "red.png is a PNG picture, not something that"
    expect 3 "$wick" info red.png && has err "red.png is a PNG picture, not a checkpoint"
    expect 0 "$wick" verify red.png && has out "sound (png)"
    # a size that the model leaves open is the picture's, and said
    expect 3 "$wick" run "$WICK_MODELS/onnx/ppocr_v4_det/model.onnx" --input red.png && has err "red.png: 40 x 30, as the input x leaves that open; --dim p2o.DynamicDimension.2=N and --dim p2o.DynamicDimension.1=N resize it"
    expect 0 "$wick" run "$WICK_MODELS/onnx/ppocr_v4_det/model.onnx" --input red.png --dim x.2=32 --dim x.3=64 && has err "40 x 30 is resized to 64 x 32" && lacks err open
    # any characters in a file's name
    local name
    for name in 'a;b.png' 'w=y.png' 'a,b:c.png' 'random:1.png' '7' "it's \"one\"" $'new\nline'; do
        cp grey.png "$name"
        expect 0 "$wick" run "$lenet/model.onnx" --input "x=./$name" --scale 1/255
        expect 0 "$wick" run "$lenet/model.onnx" --input "./$name" --scale 1/255
    done
    expect 0 "$wick" run "$lenet/model.onnx" --input 'a;b.png' && expect 0 "$wick" run "$lenet/model.onnx" --input 'w=y.png'
    expect 2 "$wick" run "$net" --input red.png --std 0 && has err "nothing can be divided by 0"
    expect 0 "$wick" run "$lenet/model.onnx" --input 7 --output got && cp wide.npy pair/input_0.npy && cp got/y.npy pair/output_0.npy &&
        expect 0 "$wick" run "$lenet/model.onnx" --check pair --rtol 0 --atol 0
}
test_inspect() {
    expect 0 "$wick" inspect "$lenet/model.onnx" && has out "x  float [1, 1, 28, 28]" && has out "2 Conv" && has out "kernels" && has out "IR 7, opset 13" &&
        has out "largest layers" && has out "/b/Conv" && has out "memory" && has out "made by pytorch 1.13"
    expect 0 "$wick" inspect "$lenet/model.onnx" --json && valid_json out && has out '"opset": 13' && has out '"unsupported": ""' && has out '"layers": [{"name": "/b/Conv"' &&
        has out '"weight_bytes"' && has out '"opsets": [{"domain": "", "version": 13}]'
    expect 0 "$wick" inspect "$silero/model.onnx" && has out "plan        none: " && has out "open        input.0, input.1, state.1: 1 here; --dim NAME=N says another" && has out "weights     2.184 MB, with 0 parameters"
    expect 0 "$wick" inspect "$silero/model.onnx" --dim input.1=576 --input sr=16000 && has out "kernels" && has out "open        input.0, state.1: 1"
    expect 2 "$wick" inspect "$silero/model.onnx" --input sr=x && has err "--input needs NAME=NUMBER here, not 'sr=x'"
    expect 0 "$wick" inspect "$WICK_MODELS/onnx/silero_vad_openvino_16k/model.onnx" && has out "weights     1.239 MB, with 308224 parameters" # all are Constants
    local det=$WICK_MODELS/onnx/ppocr_cls/model.onnx
    expect 0 "$wick" inspect "$det" --dim x.2=48 --dim p2o.DynamicDimension.2=192 --json && valid_json out && grep -q '"flops": 1' out || fail "no FLOPs at 48 x 192"
    expect 2 "$wick" inspect "$det" --dim y.2=48 && has err "no input has an open dim 'y.2'"
    expect 3 "$wick" inspect nowhere && has err nowhere
    # all that is lacking, at once
    sed 's/Flatten/Flatter/g; s/MaxPool/MaxPoor/g' "$lenet/model.onnx" >lacks.onnx
    expect 0 "$wick" inspect lacks.onnx --svg lacks.svg && has out "1 Flatter (Wick has no such op)" && has out "MaxPoor-13, Flatter-13" && has lacks.svg 'class="lacking"' && valid_xml lacks.svg
    expect 3 "$wick" run lacks.onnx --input random && has err "uses what Wick does not have: MaxPoor-13, Flatter-13"
    expect 3 "$wick" inspect . && has err "directory"
    echo hello >text && expect 3 "$wick" inspect text && has err "text"
}
test_inspect_files_of_tensors() {
    expect 0 "$wick" inspect "$lenet/input_0.npy" && has out "f32 [1, 1, 28, 28]" && has out "3136 bytes"
    expect 0 "$wick" inspect "$lenet/input_0.npy" --json && valid_json out && has out '"dims": [1, 1, 28, 28]'
    local weights=$WICK_MODELS/safetensors/silero_vad_16k.safetensors
    expect 0 "$wick" inspect "$weights" && has out "final_conv.weight" && has out "f32 [1, 128, 1]" && has out "15 tensors"
    expect 0 "$wick" inspect "$weights" --json && valid_json out && has out '"format": "safetensors"'
    expect 0 "$wick" inspect "$WICK_MODELS/npy/test.npz" && has out "npz" && has out "tensor"
    expect 0 "$wick" inspect "$WICK_MODELS/npy/test.npz" --json && valid_json out && has out '"format": "npz"'
    cp "$weights" a.safetensors && echo '{"weight_map": {' >index.json
    "$wick" inspect "$weights" --json | grep -o '"name": "[^"]*"' | sed 's/"name": \(.*\)/\1: "a.safetensors",/; $ s/,$//' >>index.json && echo '}}' >>index.json
    expect 0 "$wick" inspect index.json && has out "safetensors in shards" && has out "15 tensors"
    printf 'PK\3\4 no archive' >bad.npz && expect 3 "$wick" inspect bad.npz && has err bad.npz
    expect 2 "$wick" inspect "$weights" --svg x.svg && has err "--svg draws the graphs of ONNX models"
}
valid_xml() {
    command -v python3 >/dev/null || return 0
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1" || fail "$1 is no XML"
}
test_drawing() {
    local model
    for model in "$WICK_MODELS"/bench/*/model.onnx "$WICK_MODELS"/onnx/{dtln_1,silero_vad_v6,magika_standard_v3_3,ultraface_version-RFB-320}/model.onnx; do
        expect 0 "$wick" inspect "$model" --svg graph.svg && valid_xml graph.svg
    done
    has graph.svg '>Conv</text>' && has graph.svg 'boxes' && has graph.svg ' more</text>'
    lacks graph.svg '<script' && lacks graph.svg 'href'
    # names of modules stand between an arrow and its box; what stands above the boxes has room
    local long
    long=$(printf '%150s' | tr ' ' n).onnx
    cp "$lenet/model.onnx" "$long" && expect 0 "$wick" inspect "$long" --svg long.svg
    expect 0 "$wick" inspect "$WICK_MODELS/onnx/ppocr_v4_det/model.onnx" --svg graph.svg
    command -v python3 >/dev/null && ! python3 - <<'END' && fail "text is crossed, or too wide"
import re
svg = open("graph.svg").read()
links = [p.split()[-2:] for p in re.findall(r'class="link arrow" d="([^"]*)"', svg)]
names = [(float(x), float(y), 6.7 * len(t)) for x, y, t in re.findall(r'<text class="module" x="([^"]*)" y="([^"]*)">([^<]*)<', svg)]
assert len(names) > 50 and not [1 for x, y in links for a, b, w in names if a < float(x) < a + w and b - 10 < float(y) < b + 8]
assert int(re.search(r'width="(\d+)"', open("long.svg").read()).group(1)) > 150 * 10
END
    # names that a stranger chose
    sed 's#/a/Conv#<\&"x\x01>b#g' "$lenet/model.onnx" >odd.onnx
    expect 0 "$wick" inspect odd.onnx --svg odd.svg && valid_xml odd.svg && has odd.svg '&lt;&amp;&quot;x' && lacks out $'\x01'
    expect 1 "$wick" inspect "$lenet/model.onnx" --svg nowhere/x.svg && has err nowhere
}
test_ops() {
    expect 0 "$wick" ops matmul && has out "wick_tensor *wick_matmul(wick_tensor *a, wick_tensor *b)" && has out "wick/ops.h"
    expect 0 "$wick" ops --onnx && has out "Conv  " && has out "TreeEnsembleRegressor" && has out "ai.onnx.ml"
    expect 0 "$wick" ops --onnx Resize && has out "Resize" && lacks out Conv
    expect 0 "$wick" ops --onnx --json && valid_json out && has out '{"domain": "", "name": "Conv", "since": 1, "until": null}'
    expect 2 "$wick" ops --onnx Resise && has err "did you mean Resize?"
}
test_verify() {
    expect 0 "$wick" verify "$lenet/model.onnx" && has out "is sound"
    head -c 1000 "$lenet/model.onnx" >short.onnx
    expect 3 "$wick" verify short.onnx && has err "short.onnx" && has err "byte"
    expect 3 "$wick" verify short.onnx --json && valid_json out && has out '"ok": false' && has out '"byte": '
    mv short.onnx named.npy && expect 3 "$wick" verify named.npy && has err "byte" && mv named.npy short.onnx # by its bytes, not its name
    expect 0 "$wick" verify "$lenet/input_0.npy" && has out "is sound (npy)"
    printf 'GGUF\3\0\0\0\0\0\0\0\0\0\0\0' >a.gguf && expect 3 "$wick" verify a.gguf && has err "a.gguf is a GGUF model, not a file that Wick reads; export"
    printf '\2\0\0\0\0\0\0\0{}x' >a.safetensors && expect 3 "$wick" verify a.safetensors --json && has out "the tensors end at byte 10"
    printf '\2\0\0\0\0\0\0\0{}' >a.safetensors && expect 0 "$wick" verify a.safetensors --json && has out '"format": "safetensors"'
    expect 3 "$wick" verify nowhere.onnx && has err nowhere.onnx
    mkfifo pipe && expect 3 timeout 20 "$wick" verify pipe && has err "pipe: cannot be read" && expect 3 timeout 20 "$wick" inspect pipe && has err "pipe: cannot be read"
    expect 3 "$wick" verify . && has err directory
    local file code
    for file in "$WICK_MODELS"/malformed/onnx_ort/*; do
        code=0
        timeout 20 "$wick" verify "$file" >out 2>err || code=$?
        [ "$code" = 0 ] || [ "$code" = 3 ] || fail "exit code $code of $file"
    done
}
test_budgets() {
    expect 0 "$wick" run "$lenet/model.onnx" --input random --max-memory 64 --max-tensor 1 --max-output 1 --max-nodes 100 --max-depth 1 --max-seconds 60
    expect 3 "$wick" run "$lenet/model.onnx" --input random --max-nodes 3 && has err "more nodes than the limit of 3"
    expect 1 "$wick" run "$WICK_MODELS/onnx/silero_vad_v6/model.onnx" --input random --max-memory 1 && has err "memory"
    expect 2 "$wick" run "$lenet/model.onnx" --input random --max-seconds soon && has err max-seconds
    expect 3 "$wick" inspect "$lenet/model.onnx" --max-nodes 3 && has out "more nodes than the limit of 3"
    expect 0 "$wick" verify "$lenet/model.onnx" --max-memory 64 --max-seconds 60
    local budget
    for budget in memory tensor output nodes depth seconds; do # 0 is neither a default nor no limit
        expect 2 "$wick" run "$lenet/model.onnx" --input random "--max-$budget" 0 && has err "max-$budget must be from"
        expect 2 "$wick" verify "$lenet/model.onnx" "--max-$budget" 0 && has err "max-$budget must be from"
    done
}
test_example() {
    local program
    program=$(dirname "$wick")/../examples/run_onnx
    [ -x "$program" ] || { echo "  skipped: examples are not built"; return 0; }
    expect 0 "$program" "$lenet/model.onnx" && has out "y:"
    expect 1 "$program" nowhere.onnx && has out nowhere.onnx
    expect 1 "$program" "$WICK_MODELS/onnx/silero_vad_v6/model.onnx" && has out "failed: "
    program=${program%run_onnx}serve_onnx
    expect 0 "$program" "$lenet/model.onnx" 4 200 && has out "200 requests on 4 threads" && has out "p95" && has out "all equal to those of one thread"
    expect 0 "$program" "$WICK_MODELS/onnx/dtln_1/model.onnx" 3 50 && has out "all equal"
    expect 1 "$program" nowhere.onnx && has out nowhere.onnx
    expect 1 "$program" "$lenet/model.onnx" 0 && has out usage
}
test_main
