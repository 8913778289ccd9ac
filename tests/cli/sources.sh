# wick train --data of what is no picture in a folder: tables, tensors, shards, recordings; eval and report know what they were.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden" && pwd)
net="flatten, bn, linear 16, relu, linear classes"

# Three kinds of flowers, whose columns tell them apart.
table() { # SEED ROWS
    awk -v seed="$1" -v rows="$2" 'BEGIN { srand(seed); print "long,wide,place,kind"
        for (i = 0; i < rows; i++) { k = i % 3; print k + rand() / 2 "," 5 - 2 * k + rand() "," (rand() < 0.5 ? "hill" : "shore") "," substr("redpinblu", 3 * k + 1, 3) } }'
}
test_tables_are_learned() {
    table 1 150 >flowers.csv
    expect 0 "$wick" train --data flowers.csv --net "$net" --epochs 15 --batch 16 --out flowers && expect 0 "$wick" eval flowers --json && valid_json out
    [ "$(json out images)" = 42 ] || fail "of 150 rows $(json out images) are held out by their hashes"
    awk -v a="$(json out accuracy)" 'BEGIN { exit !(a > 0.9) }' || fail "accuracy $(json out accuracy)"
    has out '"blu"'
    expect 0 "$wick" report flowers -o flowers.html && has flowers.html "blu"
    expect 0 "$wick" predict flowers --index 0-2 && has out "#2: "
    mkdir -p split && table 2 90 >split/train.csv && table 3 30 >split/test.csv
    expect 0 "$wick" train --data split --label kind --net "$net" --epochs 2 --batch 16 --out two && has err "test"
    expect 0 "$wick" eval two --data split --split train
    tr , '\t' <flowers.csv >flowers.tsv && expect 0 "$wick" train --data flowers.tsv --label place --net "$net" --epochs 1 --out places && expect 0 "$wick" eval places && has out "hill"
    expect 3 "$wick" train --data flowers.csv --label none --net "$net" --out bad && has err 'flowers.csv: has no column "none"'
    expect 2 "$wick" train --data flowers.csv --net "$net" --augment flip --out bad && has err "--augment is for pictures"
    printf 'a,b\n1,2\n3\n' >broken.csv && expect 3 "$wick" train --data broken.csv --net "$net" --out bad && has err "line 3"
}
test_a_resumed_run_of_a_table_is_the_undisturbed_one() {
    table 1 150 >flowers.csv
    expect 0 "$wick" train --data flowers.csv --net "$net" --transform "jitter=0.1,gain=-1:1" --schedule constant --epochs 4 --batch 16 --workers 2 --out whole
    expect 0 "$wick" train --data flowers.csv --net "$net" --transform "jitter=0.1,gain=-1:1" --schedule constant --epochs 2 --batch 16 --out halves
    expect 0 "$wick" train --resume halves --epochs 4 && same_tensors whole/last.safetensors halves/last.safetensors
}
test_tensors_are_learned() {
    local header='{"x":{"dtype":"F32","shape":[40,2],"data_offsets":[0,320]},"y":{"dtype":"I64","shape":[40],"data_offsets":[320,640]}} '
    { printf "\\x$(printf %02x ${#header})\0\0\0\0\0\0\0%s" "$header"
      for i in $(seq 20); do printf '\0\0\x80\x3f\0\0\0\0\0\0\0\0\0\0\x80\x3f'; done # 1, 0 and 0, 1 in turn
      for i in $(seq 20); do printf '\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0'; done; } >turns.safetensors
    expect 0 "$wick" train --data turns.safetensors --net "linear classes" --epochs 40 --batch 8 --lr 0.1 --out turns && expect 0 "$wick" eval turns && has out "accuracy  100.00 %" && has out "rows      8"
    expect 3 "$wick" train --data turns.safetensors --label z --net "linear classes" --out bad && has err "--label names the one"
    expect 3 "$wick" train --data nowhere.npz --net "linear classes" --out bad
}
test_shards_are_learned() {
    mkdir -p files shards
    for i in 0 1 2 3 4 5; do
        cp "$golden"/images/$([ $((i % 2)) = 0 ] && echo rgb8 || echo palette4).png files/$i.png && echo $((i % 2)) >files/$i.cls && echo "{}" >files/$i.json
    done
    (cd files && tar -cf ../shards/train-000.tar 0.* 1.* 2.* && tar -cf ../shards/train-001.tar 3.* 4.* && tar -cf ../shards/test-0.tar 5.*)
    expect 0 "$wick" train --data shards --arch cnn --epochs 1 --batch 2 --workers 1 --transform "flip,normalise" --out sharded && has err "5 images"
    expect 0 "$wick" eval sharded && has out "images    1"
    expect 3 "$wick" predict sharded && has err "pixels in memory"
}
test_recordings_are_learned() {
    local list="window=400,logmel=12:64:32,normalise=-5/4,specaugment=2:2"
    for split in train test; do
        mkdir -p sounds/$split/low sounds/$split/high && cp "$golden"/audio/pcm_16_1.wav sounds/$split/low/a.wav && cp "$golden"/audio/float_1.wav sounds/$split/high/b.wav
    done
    expect 0 "$wick" train --data sounds --arch cnn --transform "$list" --epochs 2 --batch 2 --out heard && expect 0 "$wick" eval heard && has out "low" && has out "high"
    expect 0 "$wick" report heard -o heard.html && has heard.html '<section id="sounds">' && has heard.html ", low, taken for" && [ "$(grep -o '<image [^>]*href="data:image/png' heard.html | wc -l)" = 2 ] && lacks heard.html "nan" || fail "recordings in the report"
    expect 0 "$wick" data pack sounds/train sounds2.wrec && mkdir -p packed && mv sounds2.wrec packed/train.wrec
    expect 0 "$wick" train --data packed --arch cnn --transform "$list" --epochs 2 --batch 2 --out packed_run && has err "no test recordings"
    expect 2 "$wick" train --data sounds --arch cnn --out bad && has err "fit=N or window=N"
    # Of several rates: refused, or made one, which the network keeps.
    mkdir -p rates/train rates/test && cp -r sounds/train/* rates/train && cp -r sounds/test/* rates/test
    printf '\x11\x2b\0\0' | dd of=rates/train/high/b.wav bs=1 seek=24 conv=notrunc 2>/dev/null # says 11,025 samples a second
    expect 3 "$wick" train --data rates --arch cnn --transform "$list" --epochs 1 --batch 2 --out bad && has err "different numbers of samples a second: --rate HZ"
    expect 0 "$wick" train --data rates --arch cnn --rate 8000 --transform "$list" --epochs 2 --batch 2 --out rated && expect 0 "$wick" eval rated && has out "low" && [ "$(metadata rated/best.safetensors | grep -c '8000')" -gt 0 ] || fail "the rate is not kept"
    expect 0 "$wick" data bench rates/train --rate 8000 --transform "$list" --time 0.1 --batch 2 --workers 0
    expect 2 "$wick" train --data flowers.csv --rate 8000 --out bad && has err "--rate is for recordings"
    expect 2 "$wick" train --data sounds --arch cnn --transform "flip" --out bad && has err "none of resample"
    expect 0 "$wick" data bench sounds --transform "$list" --workers 0,1 --time 0.1 --batch 2 && has out "samples/s"
}
rounded() { sed 's/\(\.[0-9]\{5\}\)[0-9]*/\1/g' "$1"; }
# The list of a run is what wick run does to a file.
test_used_by_run_the_same_list_serves_wick_run() {
    [ -d heard ] && [ -d sharded ] || { fail "no models"; return; }
    expect 0 "$wick" convert heard heard.onnx && expect 0 "$wick" run heard.onnx --input sounds/test/low/a.wav --transform "window=400,logmel=12:64:32,normalise=-5/4,specaugment=2:2" && has out "logits"
    expect 2 "$wick" run heard.onnx --input sounds/test/low/a.wav --transform "fit=400" && has err "holds f32 [1, 1, 400]"
    expect 2 "$wick" run heard.onnx --input sounds/test/low/a.wav --transform "flip" && has err "none of resample"
    expect 2 "$wick" run heard.onnx --input sounds/test/low/a.wav --transform "fit=400" --rate 8000 && has err "takes no --rate beside it"
    expect 0 "$wick" convert sharded sharded.onnx && expect 0 "$wick" run sharded.onnx --input files/1.png --scale 1/255 --mean 0.5 --std 0.25 && mv out plain
    expect 0 "$wick" run sharded.onnx --input files/1.png --transform "jitter=0.5,flip,normalise=0.5/0.25" && diff <(rounded out) <(rounded plain) >differ || fail "$(cat differ)"
    expect 2 "$wick" run sharded.onnx --input random --transform normalise && has err "a picture or a recording among the inputs"
}
test_main
