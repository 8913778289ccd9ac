# Pictures, recordings and numbers as inputs: what they become, and what is refused instead of being cut off.
tests=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/lib.sh"

# ---- models, byte by byte: texts for printf ------------------------------------------------------------------------------------------------------
octal() { printf '\\%03o' "$1"; }
varint() { if [ "$1" -lt 128 ]; then octal "$1"; else printf '%s%s' "$(octal $(($1 % 128 + 128)))" "$(octal $(($1 / 128)))"; fi; }
sized() { printf '%s%s%s' "$(octal $(($1 * 8 + 2)))" "$(varint "$(printf "$2" | wc -c)")" "$2"; } # FIELD BYTES
number() { printf '%s%s' "$(varint $(($1 * 8)))" "$(varint "$2")"; }                             # FIELD VALUE
port() { # FIELD NAME TYPE DIM...: letters are open ones
    local dims= d
    for d in "${@:4}"; do case $d in [A-Z]) dims+=$(sized 1 "$(sized 2 "$d")") ;; *) dims+=$(sized 1 "$(number 1 "$d")") ;; esac; done
    sized "$1" "$(sized 1 "$2")$(sized 2 "$(sized 1 "$(number 1 "$3")$(sized 2 "$dims")")")"
}
model() { # FILE GRAPH
    printf "$(number 1 8)$(sized 7 "$2$(sized 2 g)")$(sized 8 "$(number 2 17)")" >"$1"
}
FLOAT=1 UINT8=2 INT8=3 INT32=6 INT64=7 BOOL=9 UINT64=13
identity() { model "$1" "$(sized 1 "$(sized 1 x)$(sized 2 y)$(sized 4 Identity)")$(port 11 x "$2" "${@:3}")$(port 12 y "$2" "${@:3}")"; } # FILE TYPE DIM...
# The class of an image of 2 x 2 is the brightest pixel.
brightest() { # FILE TYPE
    local cast flatten
    cast=$(sized 1 "$(sized 1 x)$(sized 2 c)$(sized 4 Cast)$(sized 5 "$(sized 1 to)$(number 3 1)$(number 20 2)")")
    flatten=$(sized 1 "$(sized 1 c)$(sized 2 y)$(sized 4 Flatten)")
    model "$1" "$cast$flatten$(port 11 x "$2" N 1 2 2)$(port 12 y 1 N 4)"
}
npy() { # FILE DESCR DIMS BYTES
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$2', 'fortran_order': False, 'shape': ($3), }" >"$1" && printf "$4" >>"$1"
}
identity f32.onnx $FLOAT N; identity u8.onnx $UINT8 N; identity i8.onnx $INT8 N; identity i64.onnx $INT64 N; identity u64.onnx $UINT64 N; identity bool.onnx $BOOL N

# ---- numbers -------------------------------------------------------------------------------------------------------------------------------------
test_numbers_are_held_exactly() {
    while read -r m text shown; do
        expect 0 "$wick" run "$m.onnx" --input "x=$text" && has out "$shown]" # [True] has a space before it
    done <<'LIST'
i64 9007199254740993 9007199254740993
i64 -9223372036854775808 -9223372036854775808
i64 9007199254740993.0 9007199254740993
i64 9.007199254740993e15 9007199254740993
i64 0x20000000000001 9007199254740993
u64 18446744073709551615 18446744073709551615
u8 255 255
u8 -0 0
u8 510/2 255
u8 2.50e1 25
i8 -128 -128
bool 1 True
f32 1/4 0.25
LIST
}
test_numbers_that_an_input_cannot_hold_are_refused() {
    while read -r m text; do
        expect 2 "$wick" run "$m.onnx" --input "x=$text" && has err "x=$text: the input can't hold that"
    done <<'LIST'
i64 0.5
i64 nan
i64 inf
i64 1e400
i64 1e-400
i64 9223372036854775808
i64 -9223372036854775809
i64 1/3
u64 -1
u64 18446744073709551616
u8 300
u8 256
u8 -1
i8 128
bool 2
f32 1e400
f32 1e39
LIST
    expect 2 "$wick" convert u8.onnx new.onnx --input x=300 && has err "can't hold that"
    expect 2 "$wick" inspect u8.onnx --input x=0.5 && has err "can't hold that"
}
test_arrays_of_another_dtype() {
    npy whole.npy '<f4' 2, '\0\0\200\077\0\0\000\100' # 1, 2
    npy part.npy '<f4' 2, '\0\0\200\077\0\0\000\077' # 1, 0.5
    npy nan.npy '<f4' 1, '\0\0\300\177'
    npy large.npy '<i8' 2, '\001\0\0\0\0\0\040\0\001\0\0\0\0\0\0\0' # 2^53 + 1, 1
    npy below.npy '<i8' 1, '\377\377\377\377\377\377\377\377'
    npy most.npy '<u8' 1, '\377\377\377\377\377\377\377\377'
    expect 0 "$wick" run u8.onnx --input x=whole.npy && has out "[1 2]" && has err "whole.npy holds f32: converted to u8 for the input x"
    expect 0 "$wick" run i64.onnx --input x=large.npy && has out "[9007199254740993                1]"
    expect 0 "$wick" run u64.onnx --input x=large.npy && has out "[9007199254740993                1]"
    expect 0 "$wick" run f32.onnx --input x=large.npy && has err "converted to f32 for the input x, which rounds some of them"
    expect 0 "$wick" run f32.onnx --input x=below.npy && lacks err rounds
    for pair in "u8 part" "i64 part" "u8 nan" "u8 large" "u64 below" "i64 most" "bool below" "i8 most"; do
        read -r m file <<<"$pair"
        expect 2 "$wick" run "$m.onnx" --input "x=$file.npy" && has err "$file.npy: the input can't hold that: element"
    done
    expect 2 "$wick" run u8.onnx --input x=part.npy && has err "element 1 is 0.5, and x is uint8 [N], which takes whole numbers from 0 to 255"
    case_folder input-numbers || return 0
    expect 0 "$wick" run "$dir/i64.onnx" --input x=9007199254740993 && has out "[9007199254740993]"
    expect 2 "$wick" run "$dir/u8.onnx" --input x=300
}

# ---- pixels of a network that takes integers -------------------------------------------------------------------------------------------------------
idx_images() { printf '\0\0\010\003\0\0\0\004\0\0\0\002\0\0\0\002'"$1"; } # 4 of 2 x 2
idx_labels() { printf '\0\0\010\001\0\0\0\004\000\001\002\003'; }
set_of() { # FOLDER PIXELS
    mkdir -p "$1" && for split in train t10k; do
        idx_images "$2" >"$1/$split-images-idx3-ubyte" && idx_labels >"$1/$split-labels-idx1-ubyte"
    done
}
set_of bytes '\200\1\2\3\1\377\2\3\1\2\200\3\1\2\3\377'
set_of small '\2\1\1\1\1\2\1\1\1\1\2\1\1\1\1\2'
test_integer_inputs_get_bytes() {
    for type in $UINT8 $INT32 $INT64 $FLOAT; do
        brightest net.onnx "$type"
        expect 0 "$wick" eval net.onnx --data bytes && has out "accuracy  100.00 %"
        expect 0 "$wick" predict net.onnx --data bytes --index 1 --json && has out '"predicted": 1'
        [ "$type" = $FLOAT ] && continue
        for range in 0,1 -1,1 auto 0,100 0.5,255.5; do
            expect 2 "$wick" eval net.onnx --data bytes --input-range $range && has err "--input-range $range: the input x is" && has err "can't hold the fractions"
        done
        expect 2 "$wick" predict net.onnx --data bytes --input-range 0,1
        expect 2 "$wick" train --model net.onnx --data bytes --epochs 1 --out r --force --input-range 0,1 && has err "can't hold the fractions"
        expect 2 "$wick" train --model net.onnx --data bytes --epochs 1 --out r --force --input-range auto && has err "can't hold the fractions"
        [ "$type" = $UINT8 ] || { expect 0 "$wick" eval net.onnx --data bytes --input-range 0,510 && has out "accuracy  100.00 %"; }
    done
}
test_signed_bytes() {
    brightest net.onnx $INT8
    expect 0 "$wick" eval net.onnx --data small && has out "accuracy  100.00 %"
    expect 2 "$wick" eval net.onnx --data bytes && has err "a pixel is 128, and the input x of the network, int8 [N, 1, 2, 2], can't hold that: --input-range -128,127"
    expect 2 "$wick" predict net.onnx --data bytes && has err "can't hold that"
    expect 0 "$wick" eval net.onnx --data bytes --input-range -128,127 && has out "accuracy  100.00 %"
}
test_integer_pixels() {
    case_folder integer-pixels || return 0
    expect 0 "$wick" eval "$dir/u8.onnx" --data "$dir/set" && has out "accuracy  100.00 %"
    expect 0 "$wick" eval "$dir/f.onnx" --data "$dir/set" && has out "accuracy  100.00 %"
    expect 0 "$wick" train --model "$dir/u8.onnx" --data "$dir/set" --epochs 1 --out trained && expect 0 "$wick" eval trained && has out "accuracy  100.00 %"
}
# ---- recordings, archives, and files of other kinds ------------------------------------------------------------------------------------------------
wav() { # FILE LENGTH: 2 samples, of which the header says LENGTH bytes
    printf 'RIFF\050\0\0\0WAVEfmt \020\0\0\0\001\0\001\0\100\037\0\0\200\076\0\0\002\0\020\0data'"$2"'\0\100\0\300' >"$1"
}
test_lengths_that_a_pipe_leaves() {
    for said in '\377\377\377\377' '\0\360\377\177' '\0\0\0\0'; do
        wav a.wav "$said"
        expect 0 "$wick" run f32.onnx --input x=a.wav && has out "[ 0.5 -0.5]" && has err "a.wav: doesn't say how long it is"
        mkdir -p spoken/{train,test}/{a,b} && for f in spoken/{train,test}/{a,b}/1.wav; do cp a.wav $f; done
        expect 0 "$wick" train --data spoken --transform fit=4 --net "linear classes" --epochs 1 --out r --force && has err "2 of its 2 recordings don't say how long they are"
        expect 0 "$wick" eval r && has err "2 of its 2 recordings don't say how long they are"
    done
    wav a.wav '\004\0\0\0' && expect 0 "$wick" run f32.onnx --input x=a.wav && lacks err "how long it is"
    wav a.wav '\006\0\0\0' && expect 3 "$wick" run f32.onnx --input x=a.wav && has err "promises 6 bytes; 4 are left"
    case_folder wav-length || return 0
    for f in sox-pipe zero-length; do expect 0 "$wick" run "$dir/id.onnx" --input "x=$dir/$f.wav" && has err "101 samples, 8000 a second"; done
}
test_a_sample_of_an_archive_ends_at_the_first_dot() {
    mkdir -p tar && for i in 0 1 2 3 4 5 6 7 8; do echo 1 >tar/a.b$i.cls && printf 'P5 2 2 255 1234' >tar/a.b$i.pgm; done
    mkdir -p dots && tar -cf dots/train-0.tar -C tar .
    expect 3 "$wick" train --data dots --out r --force && has err "a sample's key ends at the first dot of a name, as in WebDataset" && has err "a.b"
    rm tar/* && echo 1 >tar/a.b.cls && printf 'P5 2 2 255 1234' >tar/a.b.pgm && tar -cf dots/train-0.tar -C tar .
    expect 3 "$wick" train --data dots --out r --force && has err "a sample's key ends at the first dot"
    case_folder wds-dots || return 0
    expect 3 "$wick" train --data "$dir/set" --net "flatten, linear classes" --out r --force && has err "a.b0.png, a.b0.cls, a.b1.png ...: a sample's key ends at the first dot"
}
test_files_of_other_kinds_are_named() {
    while read -r what bytes; do
        printf "$bytes" >other
        expect 3 "$wick" run f32.onnx --input x=other && has err "other is ${what//_/ }" && lacks err "wire type" && has err "not an input"
        expect 3 "$wick" predict f32.onnx other && lacks err "wire type"
    done <<'LIST'
an_AIFF FORM\0\0\001\0AIFFCOMM
a_FLAC fLaC\0\0\0\042
a_HEIC \0\0\0\030ftypheic\0\0\0\0
an_AVIF \0\0\0\030ftypavif\0\0\0\0
an_MP4 \0\0\0\030ftypisom\0\0\0\0
a_PDF %%PDF-1.7
a_ZIP PK\003\004\024\0\0\0\0\0\0\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\005\0\0\0x.txt
a_web_page <!DOCTYPE\040html>
a_pickle \200\002}q\0X
a_Parquet PAR1\025\004
of_no_kind \001\002\003\004\005\006
LIST
    case_folder input-messages || return 0
    expect 3 "$wick" run "$dir/id3.onnx" --input "x=$dir/aiff.wav" && has err "is an AIFF recording"
}
# ---- pictures of several sizes, and folders of classes --------------------------------------------------------------------------------------------
ppm() { # FILE WIDTH HEIGHT RED GREEN BLUE
    mkdir -p "${1%/*}" && { printf 'P6 %d %d 255\n' "$2" "$3" && for _ in $(seq $(($2 * $3))); do printf "$4$5$6"; done; } >"$1"
}
test_pictures_of_several_sizes() {
    for split in train test; do
        for i in 1 2 3 4; do
            ppm sizes/$split/red/$i.ppm $((3 + i)) $((8 - i)) '\377' '\0' '\0' && ppm sizes/$split/blue/$i.ppm $((9 - i)) $((2 + i)) '\0' '\0' '\377'
        done
    done
    net=(--net "flatten, linear classes" --lr 0.05 --epochs 8 --batch 4 --force)
    expect 3 "$wick" train --data sizes "${net[@]}" --out r && has err "pixels; the pictures before it are" && has err "--image-size HxW makes pictures alike"
    for size in 5x4 6 4,4; do
        expect 0 "$wick" train --data sizes "${net[@]}" --image-size $size --out r && has err "pictures had another size and were resized to"
        expect 0 "$wick" eval r && has out "accuracy  100.00 %" && has err "were resized to"
    done
    expect 0 "$wick" predict r sizes/test/red/1.ppm --json && has out '"predicted_name": "red"'
    expect 2 "$wick" eval r --image-size 5 && has err "--image-size is for an ONNX file"
    for size in 0 x 5x 5x0 -1 5x4x3 99999999x99999999; do expect 2 "$wick" train --data sizes "${net[@]}" --image-size "$size" --out r && has err "no height and width"; done
    local flatten
    flatten=$(sized 1 "$(sized 1 x)$(sized 2 y)$(sized 4 Flatten)")
    model sized.onnx "$flatten$(port 11 x 1 N 3 5 4)$(port 12 y 1 N 60)"
    expect 2 "$wick" train --model sized.onnx --head --data sizes --epochs 1 --out r --force && has err "were resized to 5 x 4" # and then: no head to replace
    expect 0 "$wick" eval sized.onnx --data sizes && has err "were resized to 5 x 4" && lacks err "--image-size"
    model open.onnx "$flatten$(port 11 x 1 N 3 H W)$(port 12 y 1 N C)"
    expect 3 "$wick" train --model open.onnx --data sizes --epochs 1 --out r --force && has err "--image-size HxW makes pictures alike"
    (cd sizes/test && tar -cf ../train.tar red blue) && mkdir -p archive && mv sizes/train.tar archive
    expect 0 "$wick" train --data archive "${net[@]}" --image-size 5x4 --out r && has err "were resized to 5 x 4"
}
test_folders_of_classes_without_a_split() {
    for i in 1 2 3 4 5 6 7 8 9 10; do ppm pets/cats/$i.ppm 4 4 '\377' '\0' '\0' && ppm pets/dogs/$i.ppm 4 4 '\0' '\377' '\0'; done
    expect 0 "$wick" train --data pets --net "flatten, linear classes" --lr 0.05 --epochs 8 --batch 4 --out p --force && has err "has class folders, but no train/ and test/" && has err "these are the 16 of train" && has err "these are the 4 of test"
    expect 0 "$wick" eval p && has out "images    4" && has out "accuracy  100.00 %" && cp out first
    expect 0 "$wick" eval p && cmp -s out first || fail "another part was held out"
    expect 0 "$wick" eval p --split train && has out "images    16"
    expect 0 "$wick" train --resume p --epochs 9
    mkdir -p mixed/{a,b} && for i in 1 2 3 4 5 6; do ppm mixed/a/$i.ppm $((3 + i)) 5 '\377' '\0' '\0' && ppm mixed/b/$i.ppm 5 $((2 + i)) '\0' '\377' '\0'; done
    expect 3 "$wick" train --data mixed --net "flatten, linear classes" --epochs 1 --out p --force && has err "--image-size HxW makes pictures alike"
    expect 0 "$wick" train --data mixed --net "flatten, linear classes" --epochs 1 --image-size 4 --out p --force && expect 0 "$wick" eval p
    model sized.onnx "$(sized 1 "$(sized 1 x)$(sized 2 y)$(sized 4 Flatten)")$(port 11 x 1 N 3 5 4)$(port 12 y 1 N 60)"
    expect 0 "$wick" eval sized.onnx --data mixed --json && valid_json out
    mkdir -p one && cp -r pets/cats one && expect 3 "$wick" train --data one --out r --force && lacks err "class folders"
}

# ---- pictures that say how they are to be turned --------------------------------------------------------------------------------------------------
test_turned_pictures() {
    local golden
    golden=$(cd "$tests/../golden/pictures" && pwd)
    identity id.onnx $FLOAT 1 3 H W
    if "$wick" run id.onnx --input "x=$golden/turn6.jpg" 2>&1 | grep libturbojpeg0 >why; then
        echo "  skipped: $(cat why)"
        return 0
    fi
    expect 0 "$wick" run id.onnx --input "x=$golden/turn6.jpg" && has out "f32 [1, 3, 11, 7]"
    expect 0 "$wick" run id.onnx --input "x=$golden/turn6.jpg" --as-stored && has out "f32 [1, 3, 7, 11]"
    expect 2 "$wick" run f32.onnx --input x=1 --as-stored && has err "--as-stored has no effect here"
    mkdir -p phone/{train,test}/{a,b} && for f in phone/{train,test}/{a,b}; do cp "$golden/turn6.jpg" "$golden/turn8.jpg" $f; done
    net=(--net "flatten, linear classes" --epochs 1 --force --quiet)
    expect 0 "$wick" train --data phone "${net[@]}" --out turned && expect 0 "$wick" info turned --json && has out "3,11,7"
    expect 0 "$wick" train --data phone "${net[@]}" --as-stored --out stored && expect 0 "$wick" info stored --json && has out "3,7,11"
    expect 0 "$wick" eval turned && lacks err resized && expect 0 "$wick" eval stored && lacks err resized
    expect 2 "$wick" eval stored --as-stored && has err "--as-stored is for an ONNX file"
    expect 0 "$wick" data head phone/train && has out "7 x 11" && expect 0 "$wick" data head phone/train --as-stored && has out "11 x 7"
    mkdir -p packed && expect 0 "$wick" data pack phone/train packed/train.wrec && expect 0 "$wick" train --data packed "${net[@]}" --out q && expect 0 "$wick" info q --json && has out "3,11,7"
    case_folder exif || return 0
    expect 0 "$wick" run "$dir/id3.onnx" --input "x=$dir/exif6.jpg" && has out "f32 [1, 3, 48, 32]"
}
# tone FILE RATE EVERY: half a second of 16 bits, a square wave that turns after EVERY samples
tone() {
    local n=$(($2 / 2)) i turn=0
    {
        printf 'RIFF\0\0\0\0WAVEfmt \020\0\0\0\001\0\001\0'
        printf "$(printf '\\x%02x' $(($2 & 255)) $(($2 >> 8)) 0 0 $((2 * $2 & 255)) $((2 * $2 >> 8)) 0 0 2 0 16 0)data$(printf '\\x%02x' $((2 * n & 255)) $((2 * n >> 8)) 0 0)"
        for ((i = 0; i < n; i++)); do ((i % $3)) || turn=$((1 - turn)); if ((turn)); then printf '\0\060'; else printf '\0\320'; fi; done
    } >"$1"
}
test_a_recording_is_predicted_as_it_was_learned() {
    local i
    mkdir -p tones/{low,high}
    for i in 20 21 22 23 24 25; do tone tones/low/$i.wav 2000 $i && tone tones/high/$i.wav 2000 $((i - 17)); done
    expect 0 "$wick" train --data tones --net "flatten, linear 16, relu, linear classes" --transform "fit=1000,logmel=8:128:64" --epochs 60 --batch 4 --lr 0.01 --out heard --quiet
    expect 0 "$wick" eval heard --split all --json && has out '"accuracy": 1'
    expect 0 "$wick" predict heard tones/low/2?.wav && [ "$(grep -c 'taken for low' out)" = 6 ] || fail "low ones"
    expect 0 "$wick" predict heard tones/high/*.wav --json && valid_json out && [ "$(grep -o '"predicted_name": "high"' out | wc -l)" = 6 ] || fail "high ones"
    tone fast.wav 4000 44 && expect 0 "$wick" predict heard fast.wav && has out "taken for low" && has err "4000 samples a second are resampled to 2000"
    printf 'P6 2 2 255\nabcabcabcabc' >p.ppm && expect 3 "$wick" predict heard p.ppm && has err "not a recording, as those that the model learned from" && lacks out taken
    expect 0 "$wick" convert heard heard.onnx && has err '--transform "fit=1000,logmel=8:128:64" makes of a recording of 2000 samples a second'
    printf 'RIFF\44\0\0\0WAVEfmt \20\0\0\0\1\0\1\0\320\7\0\0\240\17\0\0\2\0\20\0data\0\0\0\0' >none.wav && expect 3 "$wick" predict heard none.wav && has err "none.wav: has no sample"
    printf 'RIFF\0\0\0\0WAVE' >cut.wav && expect 3 "$wick" predict heard cut.wav tones/low/20.wav && has out "taken for low"
}
test_a_picture_is_no_sample_of_numbers() {
    printf 'a,b,label\n' >n.csv && for i in 1 2 3 4 5 6 7 8; do printf '1,2,p\n2,1,q\n' >>n.csv; done
    expect 0 "$wick" train --data n.csv --net "flatten, linear classes" --epochs 1 --out numbers --quiet
    printf 'P6 2 2 255\nabcabcabcabc' >p.ppm && expect 3 "$wick" predict numbers p.ppm && has err "learned from numbers, not from pictures"
}
test_what_a_converted_run_takes_is_said() {
    mkdir -p spots/{train,test}/{red,blue} && for i in 1 2 3 4; do printf 'P6 2 2 255\n\377\20\20\377\20\20\377\20\20\377\20\20' | tee spots/train/red/$i.ppm >spots/test/red/$i.ppm && printf 'P6 2 2 255\n\20\20\377\20\20\377\20\20\377\20\20\377' | tee spots/train/blue/$i.ppm >spots/test/blue/$i.ppm; done
    expect 0 "$wick" train --data spots --net "flatten, linear classes" --epochs 3 --batch 4 --out dotted --quiet
    expect 0 "$wick" convert dotted dotted.onnx && has err "takes pixels of 0 to 1" && has err "--scale 1/255"
    expect 0 "$wick" run dotted.onnx --input spots/test/red/1.ppm && has err "pixels are given as 0 to 255" && has err "--scale 1/255"
    expect 0 "$wick" run dotted.onnx --input spots/test/red/1.ppm --scale 1/255 && lacks err "0 to 255"
    expect 0 "$wick" run dotted.onnx --input random && lacks err "0 to 255"
    expect 0 "$wick" compile dotted -o dotted_c && has err "image: (pixel / 255 - 0." && expect 0 "$wick" compile dotted.onnx -o dotted_onnx && lacks err "pixel /"
    expect 0 "$wick" compile --net "flatten, linear classes" --input 3,2,2 --classes 2 -o by_text && lacks err "pixel /"
    expect 2 "$wick" bench dotted.onnx && has err "wick run MODEL.onnx --bench measures a model"
}
test_main
