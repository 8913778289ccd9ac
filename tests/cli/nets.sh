# Networks by name and in files: how many parameters they have, and what data --arch tcn and transformer take.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy, onnxruntime' 2>/dev/null && python=$try && break; done

test_known_ones_have_as_many_parameters_as_known() {
    expect 0 "$wick" info --arch resnet18 --input 3,64,64 --classes 1000 && has out "11689512"
    expect 0 "$wick" info --arch mobilenetv2 --input 3,64,64 --classes 1000 && has out "3504872"
    expect 2 "$wick" info --arch resnet18:3 --input 3,64,64 && has err "says more than it takes"
    expect 2 "$wick" info --arch tcn:2,3 --input 60 && has err "is no width"
    expect 2 "$wick" info --arch tcn:7 --input 60 && has err "60 numbers are not those of 7 channels"
    expect 2 "$wick" info --net "conv 8 1x9x2, globalpool, linear classes" --input 3,1,64 && has err "the kernel has 3 extents, and samples here have 2 dims"
}
# A file has lines, blanks and comments; what a run keeps of it is one line.
test_a_network_in_a_file() {
    printf '# along time\nconv 8 1x5 same, bn, relu,   # wide\n\n\tglobalpool, linear classes\n' >net.txt
    awk 'BEGIN { srand(2); print "a,b"; for (i = 0; i < 120; i++) printf "%.4f,%.4f\n", sin(i / 3) + 0.1 * rand(), rand() }' >series.csv
    expect 0 "$wick" info --net @net.txt --input 3,1,64 && has out "net:conv 8 1x5 same, bn, relu, globalpool, linear classes"
    expect 0 "$wick" plan --net @net.txt --input 3,1,64
    printf 'sequence 2, conv 4 3 causal, relu, globalpool, linear classes\n' >seq.txt && printf 'net = @seq.txt\n' >options.txt
    expect 0 "$wick" train --data series.csv --target a --window 12 --horizon 2 --epochs 1 --config options.txt --out file && has file/options.txt "net = sequence 2, conv 4 3 causal, relu, globalpool, linear classes"
    expect 3 "$wick" info --net @none.txt --input 3,1,64 && has err "--net @none.txt: cannot be read"
    printf '# nothing\n' >none.txt && expect 3 "$wick" info --net @none.txt --input 3,1,64 && has err "has no layers"
    printf 'a\0b' >none.txt && expect 3 "$wick" info --net @none.txt --input 3,1,64 && has err "is no text"
}
# Series of two channels and texts; ONNX Runtime gives what wick predicts.
test_sequences() {
    awk 'BEGIN { srand(2); print "a,b"; for (i = 0; i < 160; i++) printf "%.4f,%.4f\n", sin(i / 3) + 0.1 * rand(), rand() }' >series.csv
    for arch in tcn:2 transformer:2; do
        expect 0 "$wick" train --data series.csv --target a --window 12 --horizon 2 --epochs 2 --batch 16 --arch $arch --threads 1 --out "run-${arch%:*}" --force && expect 0 "$wick" convert "run-${arch%:*}" "${arch%:*}.onnx"
        expect 0 "$wick" predict "run-${arch%:*}" series.csv --index 0-7 --json && cp out "${arch%:*}.json"
    done
    awk 'BEGIN { srand(3); print "label,text"; for (i = 0; i < 90; i++) printf "%s,it was %s %d\n", (i % 2 ? "yes" : "no"), (i % 2 ? "good" : "bad"), int(9 * rand()) }' >texts.csv
    expect 0 "$wick" train --data texts.csv --label label --arch transformer --epochs 12 --batch 8 --threads 1 --out texts --json && has texts/options.txt "arch = transformer" && awk -v a="$(json out accuracy)" 'BEGIN { exit !(a > 0.9) }' || fail "texts: $(json out accuracy)"
    expect 2 "$wick" train --data texts.csv --label label --arch tcn:3 --out no && has err "texts have no channels"
    [ -n "$python" ] || { echo "  skipped: no onnxruntime"; return 0; }
    "$python" - <<'P' || fail "ONNX Runtime gives something else"
import json, numpy as np, onnxruntime as rt
rows = np.loadtxt("series.csv", delimiter=",", skiprows=1)
for name in "tcn", "transformer":
    said = json.load(open(name + ".json")); s = rt.InferenceSession(name + ".onnx")
    x = np.stack([np.concatenate([rows[i:i + 12, 1], rows[i:i + 12, 0]]) for i in range(8)]).astype("f4")  # targets behind
    y = s.run(None, {s.get_inputs()[0].name: x.reshape([8] + s.get_inputs()[0].shape[1:])})[0]
    got = np.array([list(i["predicted"].values()) for i in said["images"]])
    assert np.allclose(got, y.reshape(8, -1), atol=1e-4), (name, got, y)
P
}
test_main
