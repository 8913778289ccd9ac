# What wick run gives and takes besides tensors: texts, maps and sequences; numbers in --json; inputs with a default; valid files that were once refused.
models=$(cd "$(dirname "$0")/../golden/onnx" && pwd)
. "$(dirname "$0")/lib.sh"

python() { command -v python3 >/dev/null || return 0; python3 "$@" >py.out 2>&1 || { fail "$(tail -n 3 py.out)"; return 1; }; }

# ---- texts ----------------------------------------------------------------------------------------------------------------------------------------
test_texts_are_shown_written_and_read_again() {
    expect 0 "$wick" run "$models/rare_texts_transpose.onnx" --input x=a || return
    has err 'the input x is the text "a"' && has out 'y, string [5, 3]:' && has out '[["a" "a" "a"]'
    expect 0 "$wick" run "$models/rare_texts_transpose.onnx" --input x=a --output o && has err "wrote o/y.npy" && head -c 6 o/y.npy | grep -q NUMPY || return
    expect 2 "$wick" run "$models/rare_texts_transpose.onnx" --input x=o/y.npy && has err "o/y.npy holds string [5, 3], and the input x is string [3, 5]"
    expect 0 "$wick" run "$models/rare_texts_transpose.onnx" --input x=a --json && valid_json out && has out '"dtype": "string", "dims": [5, 3]' && has out '"values": [["a", "a", "a"]'
    expect 2 "$wick" run "$models/rare_texts_transpose.onnx" --input x=random && has err "has no random values"
}
test_files_of_texts_are_read() { # <U2 of 2 texts, and |S3
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<U2', 'fortran_order': False, 'shape': (2, 3), }" >u.npy
    printf 'a\0\0\0\0\0\0\0b\0\0\0\351\0\0\0\0\0\0\0\0\0\0\0d\0\0\0\0\0\0\0\254\040\0\0\0\0\0\0c\0\0\0c\0\0\0' >>u.npy
    cp "$models/rare_texts_nonzero.onnx" m.onnx
    expect 2 "$wick" run m.onnx --input x=u.npy && has err "u.npy holds string [2, 3], and the input x is string [3, 5]"
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '|S3', 'fortran_order': True, 'shape': (3, 5), }" >s.npy
    printf 'a\0\0b\0\0c\0\0d\0\0\0\0\0e\0\0f\0\0g\0\0h\0\0i\0\0j\0\0k\0\0l\0\0m\0\0n\0\0' >>s.npy
    expect 0 "$wick" run "$models/rare_texts_flatten.onnx" --input x=s.npy --json && has out '"values": [["a", "d", "f", "i", "l", "b", "", "g"'
    head -c 140 s.npy >cut.npy
    expect 3 "$wick" run m.onnx --input x=cut.npy && has err "12 bytes of elements (from byte 128), shape and dtype make 45"
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }" >f.npy
    expect 3 "$wick" run m.onnx --input x=f.npy && has err "holds numbers (f32), and texts are wanted"
    expect 3 "$wick" run "$models/rare_bn_spatial_0.onnx" --input x=s.npy && has err "is an array of texts, not of numbers"
}
test_maps_are_shown_and_written() {
    local m=$models/ml_zip_text.onnx
    expect 0 "$wick" run "$m" --input random --dim x0.1=3 --dim x0.0=2 && has out 'sequence of' && has out '0: {"' || return
    expect 0 "$wick" run "$m" --input random --dim x0.1=3 --dim x0.0=2 --json && valid_json out && has out '"kind": "sequence"' && has out '"values": [{"'
    expect 0 "$wick" run "$m" --input random --dim x0.1=3 --dim x0.0=2 --topk 1 && has out '0:'
    expect 0 "$wick" run "$m" --input random --dim x0.1=3 --dim x0.0=2 --topk 1 --json && valid_json out && has out '"top": [[{"label": "'
    expect 0 "$wick" run "$m" --input random --dim x0.1=3 --dim x0.0=2 --output maps && ls maps/*.json >files && valid_json "$(head -n 1 files)"
}
test_sklearns_classifiers_give_names() {
    case_folder strings-cli || return 0
    expect 0 "$wick" run "$dir/sklearn_zipmap.onnx" --input "X=$dir/X.npy" && has out "output_label, string [17]" && has out "output_probability, sequence of 17"
    expect 0 "$wick" run "$dir/text.onnx" --input "x=$dir/x.npy" && has out '["cat" "dog"]'
    expect 0 "$wick" run "$dir/text.onnx" --input "x=$dir/x.pb" && has out '["cat" "dog"]'
    expect 0 "$wick" run "$dir/sklearn_zipmap.onnx" --input "X=$dir/X.npy" --output sk && [ -s sk/output_label.npy ] && valid_json sk/output_probability.json
}

# ---- numbers in --json ----------------------------------------------------------------------------------------------------------------------------
test_json_has_the_numbers() {
    expect 0 "$wick" run "$models/rare_unique_i64.onnx" --input x=9007199254740993 --json && valid_json out && has out '"dims": [1], "values": [9007199254740993]'
    expect 0 "$wick" run "$models/rare_bn_spatial_0.onnx" --input x=nan --json && valid_json out && has out '"NaN"'
    expect 0 "$wick" run "$models/rare_slice_max.onnx" --input x=-inf --json && valid_json out && has out '"values": [["-Infinity"], ["-Infinity"]]'
    expect 0 "$wick" run "$models/rare_slice_max.onnx" --input x=0.1 --json && has out '"values": [[0.100000001], [0.100000001]]'
    expect 0 "$wick" run "$models/rare_empty.onnx" --input random --json && valid_json out && has out '"dims": [3, 0], "values": [[], [], []]'
    expect 0 "$wick" run "$models/rare_bn_spatial_0.onnx" --input random --json --values 23 && valid_json out && has out '"values_left_out": 24' && lacks out '"values":'
    expect 0 "$wick" run "$models/rare_bn_spatial_0.onnx" --input random --json --values 0 && valid_json out && has out '"values": [[[['
    expect 2 "$wick" run "$models/rare_bn_spatial_0.onnx" --input random --values 3 && has err "--values has no effect here"
}
test_json_of_the_case() {
    case_folder run-json || return 0
    expect 0 "$wick" run "$dir/model.onnx" --input "x=$dir/x.npy" --json && valid_json out && has out '"values": ['
}

# ---- inputs with a default ------------------------------------------------------------------------------------------------------------------------
test_defaults_can_be_given() {
    local m=$models/rare_default.onnx
    expect 0 "$wick" run "$m" --input x=1 && has out "[11. 21.]"
    expect 0 "$wick" run "$m" --input x=1 --input w=5 && has out "[6. 6.]"
    expect 0 "$wick" inspect "$m" && has out "default     w  optional float [2]"
    expect 0 "$wick" inspect "$m" --json && valid_json out && has out '"defaults": [{"name": "w"'
    expect 0 "$wick" run "$m" --input x=1 --input w=5 --repeat 2
}

# ---- what was refused -----------------------------------------------------------------------------------------------------------------------------
test_links_of_the_hub_are_followed() {
    case_folder hf-cache || return 0
    mkdir -p hub/blobs hub/snapshots/rev && cp "$dir"/blobs/* hub/blobs && ln -sf ../../blobs/aaa hub/snapshots/rev/a.onnx && ln -sf ../../blobs/bbb hub/snapshots/rev/a.bin
    expect 0 "$wick" run hub/snapshots/rev/a.onnx --input random
    cp hub/blobs/bbb other.bin && ln -sf ../../../other.bin hub/snapshots/rev/a.bin
    expect 3 "$wick" run hub/snapshots/rev/a.onnx --input random && has err "leads out of the folder" && has err "cp -L"
}
test_the_cases_that_were_refused() {
    local name
    for name in pad-wrap-large int4-transpose matmulnbits-g-idx; do
        case_folder "$name" || return 0
        expect 0 "$wick" run "$dir/model.onnx" --check "$dir/test"
    done
    case_folder small-refusals || return 0
    for name in bn-spatial0 einsum-ellipsis hardmax-empty slice-step-min; do expect 0 "$wick" run "$dir/$name.onnx" --input random; done
    expect 0 "$wick" run "$dir/unique-strings.onnx" --input "x=$dir/unique-x.pb" && has out 'string [2]'
    case_folder initializer-default || return 0
    expect 0 "$wick" run "$dir/model.onnx" --input "x=$dir/x.npy" --input "w=$dir/w.npy"
}
test_out_of_range_places_are_told() {
    expect 3 "$wick" run "$models/rare_gather_open.onnx" --input x=1 --input i=7 && has err "index number 0 is 7, outside the axis of 3"
}
# ---- heads that end in probabilities ---------------------------------------------------------------------------------------------------------------
test_a_sigmoid_is_no_part_of_a_fresh_head() {
    case_folder sigmoid-head || return 0
    expect 0 "$wick" train --model "$dir/sig1.onnx" --data "$dir/g.npz" --epochs 80 --batch 16 --lr 0.02 --out run && has err "(Softmax, Sigmoid) is left out"
    tail -n 1 run/log.jsonl >last && lacks last "0.313"
}

test_main
