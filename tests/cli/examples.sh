# The examples run: those of images on small sets, those of speech on a part of the set where there is one, finetune on what the command trained, and xor
# solves its puzzle.
xor=$3 lenet=$4 resnet8=$5 finetune=$6 command=$7 char_lstm=$8 write_c=$9 train_c=${10}
spoken=${WICK_DATA:-nowhere}/fsdd/recordings
. "$(dirname "$0")/lib.sh"

test_write_c() {
    expect 0 "$write_c" written && has out "written/xor.c: " && has written/xor.h "int xor_run(const float *bits, float *answer);"
    command -v cc >/dev/null || return 0
    cat >main.c <<END
#include <stdio.h>
#include "written/xor.h"
int main(void) {
    for (int i = 0; i < 4; i++) {
        float bits[XOR_BITS_SIZE] = {i / 2, i % 2}, answer[XOR_ANSWER_SIZE];
        if (xor_run(bits, answer)) return 1;
        printf("%d", answer[0] > 0.5f);
    }
    return 0;
}
END
    cc -std=c11 -Wall -Wextra -Werror -pedantic main.c written/xor.c -lm -o xor && [ "$(./xor)" = 0110 ] || fail "the C it wrote does not know exclusive or"
    expect 1 "$write_c" /proc/none && has err "/proc/none"
    expect 2 "$write_c"
}
test_train_c() {
    expect 2 "$train_c" letters
    for kind in gru lstm transformer; do
        expect 0 "$train_c" letters "$kind" && has out "letters/letters.c: " && has letters/letters.h "int letters_train(const int64_t *text, const int64_t *next, float *loss);"
        command -v cc >/dev/null || continue
        cat >main.c <<END
#include "letters/letters.h"
int main(void) { /* learns one text */
    int64_t text[LETTERS_TRAIN_TEXT_SIZE], next[LETTERS_TRAIN_NEXT_SIZE];
    float first = 0, loss = 0;
    for (int i = 0; i < LETTERS_TRAIN_TEXT_SIZE; i++) text[i] = i * i % 27, next[i] = (i + 1) * (i + 1) % 27;
    for (int step = 0; step < 200; step++)
        if (letters_train(text, next, step ? &loss : &first)) return 2;
    return !(loss < first / 2);
}
END
        cc -std=c11 -Wall -Wextra -Werror -pedantic main.c letters/letters.c -lm -o learn && ./learn || fail "the $kind in C does not learn"
    done
}
test_train_mlp() {
    make_data data 500 200 28
    expect 0 "$wick" data 3 && [ "$(grep -c '^loss .* accuracy ' out)" = 3 ] || fail "not three epochs"
    make_data other 40 20 8
    expect 1 "$wick" other && has err "28 x 28"
    expect 1 "$wick" nowhere && has err nowhere
}
test_finetune() {
    make_data data 2000 200
    for arch in "--hidden 32" "--arch resnet8"; do
        expect 0 "$command" train --data data --epochs 4 --out run --force --quiet $arch
        expect 0 "$finetune" run/best.safetensors data 3 || return
        [ "$(grep -c '^accuracy after' out)" = 4 ] || fail "not four measurements"
        # The new head knows nothing, and learns.
        awk '/^accuracy/ { a[n++] = $NF } END { exit !(a[0] < 0.4 && a[3] > 0.7) }' out || { fail "it did not learn"; cat out; }
    done
    has out "fc1.* is new"
    make_data small 100 100 6
    expect 0 "$command" train --data small --epochs 1 --out run --force --quiet --hidden 32
    expect 1 "$finetune" run/best.safetensors data && has err "fc1.weight is f32[32,36] there and f32[32,100] here"
    expect 1 "$finetune" nothing.safetensors && has err "nothing.safetensors"
    expect 1 "$finetune" run/best.safetensors nowhere && has err nowhere
    expect 1 "$finetune" && has err usage
}
test_lenet() {
    make_data data28 500 200 28
    expect 0 "$lenet" data28 2 && [ "$(grep -c '^loss .* accuracy ' out)" = 2 ] || fail "not two epochs"
    awk 'NR == 1 { first = $2 } END { exit !($2 < first) }' out || fail "the loss did not fall"
    expect 1 "$lenet" nowhere && has err nowhere
}
test_resnet8_cifar() {
    make_data color 500 100 32 3
    expect 0 "$resnet8" color 2 300 && [ "$(grep -c '^epoch .* test: loss .* accuracy ' out)" = 2 ] || fail "not two epochs"
    awk 'NR == 1 { first = $5 + 0 } END { exit !($5 + 0 < first) }' out || fail "the loss did not fall"
    expect 1 "$resnet8" data28 && has err "3 x 32 x 32"
    expect 1 "$resnet8" color 0 && has err EPOCHS
}
test_char_transformer() {
    char_transformer=$(dirname "$xor")/char_transformer
    for i in $(seq 60); do echo "the quick brown fox jumps over the lazy dog $((i % 10))"; done > text
    expect 0 "$char_transformer" text 200 32 1 16 40 || return
    # Another text than chance would write: the loss of 30 letters at random is 3.4.
    awk '/^step/ { v = $6 } END { exit !(v < 1.5) }' out || { fail "it did not learn"; cat out; }
    awk '!/^step/ { n += length($0) + 1 } END { exit !(n >= 40) }' out || { fail "it wrote too little"; cat out; }
    expect 1 "$char_transformer" nothing && has err "cannot read"
    expect 1 "$char_transformer" text 0 && has err usage
    echo hello > short
    expect 1 "$char_transformer" short && has err "too short"
}
test_char_lstm() {
    awk 'BEGIN { for (i = 0; i < 400; i++) print "the cat sat on the mat " i % 7 }' > text
    expect 0 "$char_lstm" text 150 32 && [ "$(grep -c '^step ' out)" = 1 ] || fail "not one report"
    awk '/^step/ { exit !($NF < 1) }' out || fail "the loss did not fall"
    has out "cat" # what it writes
    expect 1 "$char_lstm" nowhere && has err nowhere
    expect 1 "$char_lstm" && has err usage
}
# speech NAME OPTIONS...: runs it on part of the set; false, and said, where there is none.
speech() {
    local program
    program=$(dirname "$xor")/$1
    expect 1 "$program" && has err usage
    expect 1 "$program" nothing && has err "nothing: no recordings"
    [ -d "$spoken" ] || { echo "  $1 skipped: there is no fsdd in WICK_DATA"; return 1; }
    expect 1 "$program" "$spoken" 0 && has err usage
    expect 0 "$program" "$spoken" "${@:2}"
}
test_keyword() {
    speech keyword 6 16 30 || return
    # A tenth is chance; the full size is at 99 %.
    awk '/^epoch 6/ { exit !($(NF - 1) > 35) }' out || { fail "it did not learn"; cat out; }
}
test_ctc_digits() {
    speech ctc_digits 400 32 30 || return
    # Without a string ever being cut into digits; the full size is below 3 %.
    awk '/digit error rate/ { n++; if ($(NF - 6) > 60) bad = 1 } END { exit bad || n != 2 }' out || { fail "it did not learn"; cat out; }
}
test_xor() { expect 0 "$xor" && has out "4 of 4 right"; }
test_main
