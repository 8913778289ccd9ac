# Sets of JPEG and PNG files, augmentation, and predict on files.
. "$(dirname "$0")/lib.sh"
golden=$(cd "$(dirname "$0")/../golden/images" && pwd)
make_data data 200 50
"$wick" train --data data --hidden 16 --epochs 3 --batch 20 --out grey --quiet >/dev/null || exit 1

make_pictures() {
    mkdir -p set/train/{dark,light,other} set/test/{dark,light}
    for i in 1 2 3 4; do
        cp "$golden"/rgb8.png set/train/dark/$i.png
        cp "$golden"/rgba8.png set/train/light/$i.png
        cp "$golden"/palette4.png set/train/other/$i.png
    done
    cp "$golden"/rgb8.png set/test/dark && cp "$golden"/rgba8.png set/test/light
}
make_pictures
net=(--net "conv 4 3 same, relu, globalpool, linear classes" --batch 5)
if ! "$wick" train --data set "${net[@]}" --epochs 2 --out rgb --quiet >/dev/null 2>err; then
    grep -q 'libspng0' err || { cat err; exit 1; }
    echo "skipped cli/pictures: $(cat err)"
    exit 0
fi

test_a_folder_of_pictures() {
    expect 0 "$wick" eval rgb && has out dark && has out light && has out "images    2"
    expect 0 "$wick" predict rgb && has out "#0: dark, taken for" && has out " other "
    expect 0 "$wick" predict rgb --color always && has out $'\x1b[38;2;' # in full colour
    expect 0 "$wick" info rgb && has out "dark, light, other"
    expect 0 "$wick" info rgb --json && valid_json out && has out '"names": ["dark", "light", "other"]'
    tar -cf train.tar -C set train && mkdir -p tars && mv train.tar tars
    expect 0 "$wick" eval rgb --data tars --split train && has out "images    12"
    mkdir -p swapped/test && cp -r set/test/dark swapped/test/light && cp -r set/test/light swapped/test/dark2
    expect 3 "$wick" eval rgb --data swapped && has err 'is of class "dark2", which is not among the 3 classes that the model knows'
    expect 0 "$wick" eval rgb --data set/train && has out "images    12" && has err "all of it is taken; --split test takes a fifth"
    expect 0 "$wick" eval rgb --data set/train --split test && has out "images    3"
}
test_augmentation() {
    run=(--data set "${net[@]}" --epochs 6 --quiet)
    expect 0 "$wick" train "${run[@]}" --augment flip,crop=2 --out a
    expect 0 "$wick" train "${run[@]}" --augment flip,crop=2 --out b --threads 3
    same_tensors a/last.safetensors b/last.safetensors
    expect 0 "$wick" train "${run[@]}" --out c
    cmp -s <(tensors a/last.safetensors) <(tensors c/last.safetensors) && fail "--augment changed nothing"
    # in two parts
    expect 0 "$wick" train "${run[@]}" --augment flip,crop=2 --epochs 1 --schedule constant --warmup 0 --out d
    expect 0 "$wick" train "${run[@]}" --augment flip,crop=2 --epochs 3 --schedule constant --warmup 0 --out e
    expect 0 "$wick" train --resume d --epochs 3 --quiet
    same_tensors d/last.safetensors e/last.safetensors
    expect 2 "$wick" train --resume d --epochs 4 --augment none && has err "--augment none can't be changed"
}
test_a_part_of_the_data() {
    run=(--data data --hidden 8 --batch 20)
    expect 0 "$wick" train "${run[@]}" --limit 90 --epochs 1 --schedule constant --warmup 0 --out few && has err "90 images"
    expect 0 "$wick" train "${run[@]}" --limit 90 --epochs 2 --schedule constant --warmup 0 --out few2
    expect 0 "$wick" train --resume few --epochs 2
    same_tensors few/last.safetensors few2/last.safetensors
    expect 2 "$wick" train --resume few --epochs 3 --limit 80 && has err "--limit 80 can't be changed"
    expect 0 "$wick" train "${run[@]}" --limit 1000 --epochs 1 --out all && has err "200 images"
}
test_augmentation_that_is_none() {
    for text in flop flip, crop crop= crop=0 crop=-1 crop=x crop=99999999999999999999 none,flip , flip,flip crop=2,crop=3 crop=2,flip,crop=2; do
        expect 2 "$wick" train --data data --augment "$text" && has err "--augment"
    done
    expect 2 "$wick" train --data data --augment crop=10 && has err "10 x 10"
    expect 0 "$wick" train --data data --hidden 4 --epochs 1 --augment crop=9,flip --out edge --quiet
}
test_texts_of_files_give_the_terminal_no_commands() {
    odd=$'x\x1b]0;title\x07\x7f\xc2\x9b1m\xc3\xa9' shown='x\x1b]0;title\x07\x7f\xc2\x9b1mé'
    expect 3 "$wick" info "$odd"$'\n\xff' && has err "$shown\\x0a\\xff"
    mkdir -p "$odd" && cp data/* "$odd"
    expect 0 "$wick" train --data "$odd" --hidden 4 --epochs 1 --out "$odd-run"
    expect 0 "$wick" info "$odd-run" && has out "$shown"
    cp "$golden"/grey8.png "$odd.png"
    expect 0 "$wick" predict grey "$odd.png" && has out "$shown.png"
    ! cat out err | LC_ALL=C tr -d '\n\t' | LC_ALL=C grep -q '[[:cntrl:]]' || fail "a control character"
}
test_predict_on_files() {
    cp "$golden"/grey8.png "$golden"/color420.jpg .
    expect 0 "$wick" predict rgb grey8.png "$golden"/rgb8.png --top 1
    has out "grey8.png: taken for" && has out "rgb8.png: taken for" && [ "$(grep -c ' %' out)" = 2 ] || fail "not two bars"
    expect 0 "$wick" predict grey grey8.png && [ "$(grep -c ' %' out)" = 10 ] || fail "not ten bars"
    # what the data set has, from its file
    expect 0 "$wick" predict grey data/t10k-images-idx3-ubyte --index 0-49 --json --top 1 && valid_json out && mv out files
    expect 0 "$wick" predict grey --index 0-49 --json --top 1
    [ "$(grep -o '"predicted": [0-9]*' out)" = "$(grep -o '"predicted": [0-9]*' files)" ] || fail "other predictions from the file"
    has files '"file": "data/t10k-images-idx3-ubyte"' && lacks files label
    gzip -c data/t10k-images-idx3-ubyte >some.gz
    expect 0 "$wick" predict grey some.gz --top 1 && has out "some.gz #15: taken for" && lacks out "#16" && has err "some.gz has 50 images; these are the first 16"
    expect 0 "$wick" predict grey some.gz --index 3,48-49 --top 1 && has out "#3:" && has out "some.gz #49: taken for" && [ "$(grep -c ' %' out)" = 3 ] || fail "not three"
    lacks err first
    expect 2 "$wick" predict grey some.gz --index 50 && has err "some.gz has 50 images"
    expect 2 "$wick" predict rgb grey8.png --index 3 && has err "grey8.png has 1 image,"
    expect 2 "$wick" predict rgb grey8.png --split test && has err "--split is for images of a data set"
    expect 3 "$wick" predict rgb nowhere.png grey8.png elsewhere.png "$golden"/rgb8.png && has err nowhere.png && has err elsewhere.png
    has out "grey8.png: taken for" && has out "rgb8.png: taken for"
    expect 3 "$wick" predict rgb grey8.png nowhere.png elsewhere.png --json && valid_json out && has out nowhere.png && lacks out grey8
    head -c 100 grey8.png >cut.png
    expect 3 "$wick" predict rgb cut.png --json && valid_json out && has out "cut.png: damaged PNG"
    expect 3 "$wick" predict rgb data/t10k-labels-idx1-ubyte && has err "pictures are u8"
    # JPEG needs another library
    "$wick" predict rgb color420.jpg >out 2>err || has err libturbojpeg0
}
test_main
