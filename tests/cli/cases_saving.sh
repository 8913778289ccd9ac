# What is saved is whole and stays so: damage is seen, signals and full disks lose nothing, nobody else's file is written.
. "$(dirname "$0")/lib.sh"
make_data data 2000 100
quick=(--data data --hidden 16 --epochs 2 --batch 50 --threads 1)
"$wick" train "${quick[@]}" --out run --quiet >/dev/null || exit 1

# Places that look random and are the same each time.
state=12345
draw() { state=$(((state * 1103515245 + 12345) & 0x7fffffff)) && drawn=$(((state >> 8) % $1)); }
flip() { # FILE PLACE BIT
    local was
    was=$(od -An -t u1 -j "$2" -N 1 "$1")
    printf "\\$(printf %o $((was ^ (1 << $3))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# WICK_FLIPS: how many.
test_no_flipped_bit_of_a_checkpoint_is_accepted() {
    for file in run/best.safetensors run/last.safetensors; do
        size=$(stat -c %s $file) header=$(($(od -An -t u8 -N 8 $file) + 8))
        for i in $(seq "${WICK_FLIPS:-$(few 100 20)}"); do
            draw $((i % 2 ? header : size)) && place=$drawn
            draw 8
            cp $file flipped.safetensors && flip flipped.safetensors $place $drawn
            expect 3 "$wick" verify flipped.safetensors || echo "    $file: bit $drawn of byte $place"
        done
        for _ in $(seq 20); do
            draw $size
            head -c $drawn $file >cut.safetensors
            expect 3 "$wick" verify cut.safetensors || echo "    $file: cut to $drawn bytes"
        done
    done
}
# A digit of a number in the metadata, whose length stays: 0.2 becomes 0.3 or the like.
test_all_commands_refuse_damaged_metadata() {
    rm -rf damaged && cp -r run damaged
    for file in best last; do
        place=$(grep -abo '"mean":"0\.[0-9]' damaged/$file.safetensors | head -n 1 | cut -d: -f1)
        flip damaged/$file.safetensors $((place + 10)) 0
    done
    for command in eval predict report info verify inspect "convert damaged/best.safetensors damaged.npz" "compare run/best.safetensors"; do
        set -- $command
        if [ $# = 1 ]; then expect 3 "$wick" $1 damaged/best.safetensors; elif [ $1 = compare ]; then expect 3 "$wick" $command damaged/best.safetensors; else expect 3 "$wick" $command; fi
        [ $1 = report ] || has err "its checksum is" || echo "    $command"
    done
    expect 3 "$wick" train --data data --hidden 16 --epochs 1 --weights damaged/best.safetensors --out other && has err "its checksum is"
    rm damaged/last.safetensors.prev
    expect 3 "$wick" train --resume damaged --epochs 3 && has err "its checksum is"
    # The seed of another training.
    cp run/last.safetensors damaged/last.safetensors
    place=$(grep -abo '"option.seed":"' damaged/last.safetensors | cut -d: -f1)
    flip damaged/last.safetensors $((place + 15)) 0
    expect 3 "$wick" train --resume damaged --epochs 3
}
test_the_network_in_a_folder_is_covered_too() {
    expect 0 "$wick" convert run net.onnx
    expect 0 "$wick" train --model net.onnx --data data --epochs 1 --batch 50 --out of-onnx
    expect 0 "$wick" eval of-onnx
    expect 0 "$wick" train --resume of-onnx --epochs 2
    size=$(stat -c %s of-onnx/model.onnx)
    for place in $((size / 3)) $((size / 2)); do # among the weights, which the checkpoint's replace
        flip of-onnx/model.onnx $place 2
        expect 3 "$wick" eval of-onnx && has err "of-onnx/model.onnx: damaged"
        expect 3 "$wick" train --resume of-onnx --epochs 3 && has err "model.onnx has changed since the run was started"
        flip of-onnx/model.onnx $place 2
    done
    expect 0 "$wick" train --resume of-onnx --epochs 3
}
test_converted_weights_are_covered_too() {
    expect 0 "$wick" convert run/best.safetensors made.safetensors --dtype f16
    size=$(stat -c %s made.safetensors)
    for _ in $(seq 20); do
        draw $size && place=$drawn
        draw 8
        cp made.safetensors flipped.safetensors && flip flipped.safetensors $place $drawn
        expect 3 "$wick" inspect flipped.safetensors || echo "    bit $drawn of byte $place"
    done
}
test_files_of_an_older_wick_are_read_with_a_note() {
    old=$(dirname "$0")/../golden/checkpoint.safetensors
    expect 0 "$wick" verify "$old" && has out "its metadata has no checksum"
    expect 0 "$wick" info "$old" && has err "was written by an older Wick"
    expect 0 "$wick" info run && lacks err "older"
}

# ---- whose file it is
test_nothing_is_written_through_a_link() {
    local name
    rm -rf links && cp -r run links && echo precious >victim && cp victim precious
    rm links/log.jsonl && ln -s ../victim links/log.jsonl
    expect 1 "$wick" train --resume links --epochs 3 && has err "links/log.jsonl" && has err "symbolic link"
    expect 1 "$wick" train "${quick[@]}" --out links2 --log links/log.jsonl && has err "symbolic link"
    ln -s ../victim links/.lock.new && mv links/.lock.new links/.lock
    expect 1 "$wick" train --resume links --epochs 3 && has err "links/.lock is a symbolic link"
    ln victim links/second
    expect 1 "$wick" train "${quick[@]}" --out links3 --log links/second && has err "hard link"
    mkdir linked
    for name in page.html graph.svg plan.svg net.onnx w.npz w.npy w.safetensors w.safetensors.index.json set.wrec tuning.txt head.svg bench.html model.c model.h set.tar; do
        ln -s ../victim linked/$name
    done
    expect 0 "$wick" report run --out linked/page.html
    expect 0 "$wick" graph run --svg linked/graph.svg
    expect 0 "$wick" plan run --svg linked/plan.svg
    for name in net.onnx w.npz w.safetensors w.safetensors.index.json; do expect 0 "$wick" convert run/best.safetensors linked/$name; done
    expect 0 "$wick" data pack data linked/set.wrec
    expect 0 "$wick" compile run -o linked --name model
    expect 0 "$wick" bench "gemm/f32_8*" --time 0 --html linked/bench.html
    python=$(command -v python3) && "$python" -c '
import math, struct, wave
w = wave.open("tone.wav", "wb"); w.setnchannels(1); w.setsampwidth(2); w.setframerate(8000)
w.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 9))) for i in range(4000)))' && mkdir -p sounds/a && mv tone.wav sounds/a &&
        expect 0 "$wick" data head sounds --svg linked/head.svg
    cmp victim precious || fail "the victim was written"
    for name in page.html graph.svg net.onnx w.npz w.safetensors set.wrec model.c; do [ -L linked/$name ] && fail "linked/$name is still a link"; done
    expect 1 "$wick" data pack data links/second --append
    cmp victim precious || fail "the victim was written"
    ln -s set.wrec linked/link.wrec
    expect 1 "$wick" data pack data linked/link.wrec --append && has err "symbolic link"
}
test_talk_goes_into_no_file() {
    for closed in "0<&-" "1>&-" "2>&-" "0<&- 1>&-" "0<&- 1>&- 2>&-"; do
        rm -rf closed
        (eval "exec $closed" && exec "$wick" train "${quick[@]}" --out closed) >/dev/null 2>&1
        [ $? = 0 ] || fail "with $closed: exit code $?"
        (eval "\"$wick\" train \"\${quick[@]}\" --out closed --force $closed") >/dev/null 2>&1
        [ -s closed/log.jsonl ] || fail "no log with $closed"
        [ "$(grep -vc '^{"step": ' closed/log.jsonl)" = 0 ] || fail "with $closed there is talk in the log: $(grep -v '^{"step": ' closed/log.jsonl | head -n 1)"
        expect 0 "$wick" verify closed/best.safetensors
    done
}

# ---- what is left
leftovers() { find . -path ./cache -prune -o -name '*.tmp-*' -print | head -n 3; } # the cache of compiled programs looks after itself
dead() { # sets `gone` to the number of a process that was
    true &
    gone=$!
    wait $gone
}
test_what_killed_writers_left_is_removed_by_the_next() {
    local name
    rm -rf left && mkdir left && dead
    for name in set.wrec net.onnx w.npz page.html graph.svg model.c report.html set.tar; do
        echo half >left/$name.tmp-$gone-0
        echo alive >left/$name.tmp-$$-0
    done
    mkdir left/files.tmp-$gone-3 && echo half >left/files.tmp-$gone-3/x
    expect 0 "$wick" data pack data left/set.wrec
    expect 0 "$wick" data unpack left/set.wrec left/files
    expect 0 "$wick" convert run left/net.onnx
    expect 0 "$wick" convert run/best.safetensors left/w.npz
    expect 0 "$wick" report run --out left/page.html
    expect 0 "$wick" graph run --svg left/graph.svg
    expect 0 "$wick" compile run -o left --name model
    for name in set.wrec net.onnx w.npz page.html graph.svg model.c files; do
        ls left/$name.tmp-$gone-* >/dev/null 2>&1 && fail "what was left of $name is still there"
    done
    [ "$(find left -name "*.tmp-$$-0" | wc -l)" = 8 ] || fail "a file of a process that is alive was removed"
}

# kill_writers COMMAND... -- FILE...: killed at random moments, the files are whole or not there, and the next time all of it is as it should be.
kill_writers() {
    local command=() kills=0 file
    while [ "$1" != -- ]; do command+=("$1") && shift; done
    shift
    rm -rf made && mkdir made
    start=$(date +%s%N)
    expect 0 "${command[@]}"
    took=$((($(date +%s%N) - start) / 1000)) # microseconds
    rm -rf whole && cp -r made whole
    for i in $(seq "${WICK_WRITER_KILLS:-$(few 12 4)}"); do
        [ $((i % 3)) = 0 ] && rm -rf made && mkdir made
        "${command[@]}" >/dev/null 2>killed.err &
        pid=$!
        sleep "$(awk -v r=$RANDOM -v t=$took 'BEGIN { printf "%.6f", 1.1 * r / 32768 * t / 1e6 }')"
        signals=(KILL KILL HUP PIPE TERM)
        kill -"${signals[$((RANDOM % 5))]}" $pid 2>/dev/null
        wait $pid 2>/dev/null
        case $? in
            137 | 129 | 130 | 141 | 143) kills=$((kills + 1)) ;;
            0) ;;
            *) fail "it said: $(cat killed.err)" ;;
        esac
        for file; do
            [ ! -e made/$file ] || cmp -s made/$file whole/$file || fail "made/$file is no whole file after: ${command[*]:1}"
        done
    done
    expect 0 "${command[@]}"
    for file; do cmp made/$file whole/$file || fail "made/$file is not as it was"; done
    [ -z "$(leftovers)" ] || fail "left by ${command[*]:1}: $(leftovers)"
    echo "  $kills of ${WICK_WRITER_KILLS:-12} killed: ${command[*]:1}"
}
test_killed_writers_leave_nothing() {
    kill_writers "$wick" data pack data made/set.wrec -- set.wrec
    kill_writers "$wick" convert run made/net.onnx -- net.onnx
    kill_writers "$wick" convert run/best.safetensors made/w.safetensors -- w.safetensors
    kill_writers "$wick" compile run -o made --name model -- model.c model.h
    kill_writers "$wick" graph run --svg made/graph.svg -- graph.svg
}

# ---- limits
# Under limits of a file's size from none to enough: an error with words, or done; then the run goes on and ends in the same bits.
test_limit_of_file_sizes_is_an_error() {
    limited=(--data data --hidden 64 --epochs 3 --batch 50 --threads 1 --save-every 20)
    expect 0 "$wick" train "${limited[@]}" --out unlimited
    failed=0
    whole=$(($(stat -c %s unlimited/last.safetensors) / 1024)) # in blocks of 1024 bytes
    log=$(($(stat -c %s unlimited/log.jsonl) / 1024))
    for blocks in 1 $((log / 2)) $((whole / 2)) $whole $((whole + 1)) $((whole + 10)); do
        rm -rf limited
        (ulimit -f $blocks && exec "$wick" train "${limited[@]}" --out limited --quiet) >out 2>err
        code=$?
        [ $code = 0 ] || [ $code = 1 ] || fail "exit code $code with ulimit -f $blocks: $(cat err)"
        if [ $code = 1 ]; then has err "File too large" && failed=$((failed + 1)); fi
        [ -z "$(leftovers)" ] || fail "left with ulimit -f $blocks: $(leftovers)"
        [ ! -e limited/last.safetensors ] || { expect 0 "$wick" train --resume limited && same_tensors unlimited/last.safetensors limited/last.safetensors; }
        (ulimit -f $blocks && exec "$wick" data pack data made/limited.wrec) >out 2>err
        code=$?
        [ $code = 0 ] || { [ $code = 1 ] && has err "File too large"; } || fail "pack: exit code $code with ulimit -f $blocks: $(cat err)"
    done
    [ $failed -ge 4 ] || fail "only $failed limits were too low"
}
test_log_that_can_not_be_written_loses_no_training() {
    mkfifo pipe.log
    "$wick" train --data data --hidden 16 --epochs 100000 --batch 50 --out unread --log pipe.log --quiet >out 2>err &
    pid=$!
    head -c 2000 pipe.log >/dev/null # and then nobody reads it any more
    code=0
    wait $pid || code=$?
    [ $code = 1 ] && has err "pipe.log" && has err "is saved" || fail "exit code $code: $(cat err)"
    saved=$(sed -n 's/.*; step \([0-9]*\) is saved.*/\1/p' err)
    expect 0 "$wick" info unread/last.safetensors --json && [ "$(json out run.step)" = "$saved" ] || fail "step $saved was not saved"
}
test_damage_to_the_log_loses_no_line_after_it() {
    rm -rf logged && cp -r run logged
    lines=$(wc -l <logged/log.jsonl)
    sed -i '5s/"step": 5/"step": 7005/; 9s/^{/[/' logged/log.jsonl
    expect 0 "$wick" train --resume logged --epochs 3
    [ "$(wc -l <logged/log.jsonl)" -ge $((lines + 36)) ] || fail "of $lines lines and 41 more there are $(wc -l <logged/log.jsonl)"
}

# ---- manners
test_readers_that_go_away_are_no_error() {
    "$wick" ops 2>err | head -n 1 >/dev/null
    [ -s err ] && fail "it said: $(cat err)"
    "$wick" train --data data --hidden 16 --epochs 100000 --batch 50 --out left-alone 2>&1 >/dev/null | head -n 2 >/dev/null
    [ "${PIPESTATUS[0]}" = 130 ] || fail "exit code ${PIPESTATUS[0]}"
    expect 0 "$wick" verify left-alone/last.safetensors
    # Where SIGPIPE is ignored, as by a service.
    (trap '' PIPE && "$wick" help --man train 2>err; echo $? >code) | true
    grep -qE '^(0|141)$' code || fail "exit code $(cat code)"
    [ -s err ] && fail "it said: $(cat err)"
    return 0
}
test_nohup_goes_on() {
    (trap '' HUP && exec "$wick" train --data data --hidden 16 --epochs 30 --batch 50 --out nohup --quiet) >out 2>err &
    pid=$!
    for _ in $(seq 200); do [ -e nohup/best.safetensors ] && break || sleep 0.02; done
    kill -HUP $pid
    wait $pid || fail "exit code $?"
}
test_bad_values_of_the_environment_are_said() {
    for bad in WICK_ISA=nonsense WICK_F32=fast WICK_JIT=2 WICK_EAGER=yes WICK_VERIFY=on WICK_DATA=./nowhere WICK_CC=./no/cc; do
        expect 0 env "$bad" "$wick" info && has err "$bad" && [ "$(wc -l <err)" = 1 ] || fail "$bad"
    done
    expect 0 env WICK_F32=high WICK_JIT=0 WICK_EAGER=0 WICK_VERIFY=1 WICK_DATA=. WICK_ISA= "$wick" info && [ ! -s err ] || fail "good values: $(cat err)"
}
test_dumb_terminals_get_no_escapes() {
    command -v script >/dev/null || { echo "  skipped: there is no script(1)"; return 0; }
    env -u NO_COLOR TERM=dumb script -qec "'$wick' train --data data --hidden 16 --epochs 20 --batch 50 --out dumb" /dev/null >shown 2>&1 </dev/null
    LC_ALL=C grep -q $'\x1b' shown && fail "escapes on a dumb terminal"
    grep -q "best accuracy" shown || fail "nothing was shown: $(cat shown)"
}
test_lines_of_several_processes_do_not_mix() {
    mkfifo lines.pipe
    cat lines.pipe >lines &
    reader=$!
    exec 8>lines.pipe
    for i in 1 2 3 4 5 6; do
        "$wick" train --data data --hidden 8 --epochs 12 --batch 50 --threads 1 --out several$i 2>&8 >/dev/null &
        pids[i]=$!
    done
    for i in 1 2 3 4 5 6; do wait ${pids[i]}; done
    exec 8>&-
    wait $reader
    grep -vE '^(reading |mlp:|epoch |[0-9]+ steps in |[0-9]+ of the [0-9]+ training|test, looked at once)' lines >mixed
    [ -s mixed ] && fail "lines are mixed: $(head -n 3 mixed)"
    [ "$(grep -c '^epoch [0-9]*/12  loss' lines)" = 72 ] || fail "$(grep -c '^epoch ' lines) lines of epochs"
}
test_hidden_characters_of_names_are_shown() {
    bidi=$'a\xe2\x80\xaegnp\xe2\x80\x8b' && shown='a\xe2\x80\xaegnp\xe2\x80\x8b'
    rm -rf odd && mkdir -p "odd/train/$bidi" odd/train/b
    command -v python3 >/dev/null || return 0
    python3 - "$bidi" <<'END'
import os, struct, sys, zlib
def png(path, value):
    part = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([value]) * 8 for _ in range(8))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b""))
for k, name in enumerate((sys.argv[1], "b")):
    for i in range(20):
        png(f"odd/train/{name}/{i}.png", 200 * k + i)
END
    expect 0 "$wick" train --data odd --hidden 4 --epochs 1 --out oddly
    hidden=$'\xe2\x80[\xae\x8b]'
    for command in "eval oddly --split train" "predict oddly --split train" "info oddly" "data head odd/train" "data info odd/train" "data stats odd/train" "eval oddly --split train --json" "info oddly --json" \
        "data stats odd/train --json" "data verify odd/train"; do
        expect 0 "$wick" $command || continue
        cat out err | LC_ALL=C grep -q "$hidden" && fail "wick $command shows hidden characters as they are"
    done
    expect 0 "$wick" eval oddly --split train && has out "$shown"
    expect 0 "$wick" eval oddly --split train --json && valid_json out && has out 'a\u202egnp\u200b'
    expect 0 "$wick" report oddly && LC_ALL=C grep -q "$hidden" oddly/report.html && fail "the report has hidden characters"
    has oddly/report.html "$shown"
}
test_what_is_measured_after_a_limit_is_said() {
    expect 0 "$wick" train --data data --hidden 16 --epochs 1 --limit 40 --out few
    expect 0 "$wick" eval few && has err "measured on all 100 of" && has err "--limit 40"
    expect 0 "$wick" eval run && lacks err "--limit"
}
test_main
