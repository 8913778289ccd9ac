# wick train --task dense: a number for each pixel, from PNG of 8 and 16 bits and from .npy; its losses and scores by others, and bad maps by name.
. "$(dirname "$0")/lib.sh"
python=
for try in "${WICK_PYTHON:-}" python3; do [ -n "$try" ] && command -v "$try" >/dev/null && "$try" -c 'import numpy' 2>/dev/null && python=$try && break; done
[ -n "$python" ] || { echo "  skipped: no numpy"; exit 0; }
can() { "$python" -c "import $1" 2>/dev/null || { echo "  skipped: no $1"; return 1; }; }

# Pictures of noise with a bright rectangle, which is near; maps of 16 bits in millimetres (and the same as .npy in metres, and of 8 bits), of which 0 is not known.
"$python" - <<'P'
import numpy as np, os, struct, zlib
def png(path, a):
    bits = 16 if a.dtype == np.uint16 else 8; raw = b"".join(b"\0" + r.astype(">u2" if bits == 16 else "u1").tobytes() for r in a)
    chunk = lambda t, d: struct.pack(">I", len(d)) + t + d + struct.pack(">I", zlib.crc32(t + d))
    open(path, "wb").write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", a.shape[1], a.shape[0], bits, 0, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))
r = np.random.default_rng(0)
for part, n in (("train", 24), ("test", 8)):
    for d in (f"deep/{part}/images", f"deep/{part}/depth", f"arrays/{part}", f"bytes/{part}/images", f"bytes/{part}/maps"): os.makedirs(d, exist_ok=True)
    for i in range(n):
        x = r.integers(0, 60, (12, 16)).astype("u1"); d = np.full((12, 16), 2000, "u2"); a, b = r.integers(0, 9), r.integers(0, 6)
        x[b : b + 5, a : a + 6] += 150; d[b : b + 5, a : a + 6] = 1000; d[0, :3] = 0
        for to in (f"deep/{part}/images/{i:02}", f"arrays/{part}/{i:02}", f"bytes/{part}/images/{i:02}"): open(to + ".pgm", "wb").write(b"P5\n16 12\n255\n" + x.tobytes())
        png(f"deep/{part}/depth/{i:02}.png", d); png(f"bytes/{part}/maps/{i:02}.png", (d // 10).astype("u1"))
        np.save(f"arrays/{part}/{i:02}_depth.npy", np.where(d > 0, d / 1000, np.nan).astype("f4"))
open("deep/maps.txt", "w").write("name depth\nunit m\nscale 0.001\nunknown 0\n"); open("bytes/maps.txt", "w").write("name depth\nunit m\nscale 0.01\nunknown 0\n")
P
net="conv 8 3 same, relu, save a, maxpool 2, conv 8 3 same, relu, upsample 2, concat a, conv classes 1"
test_maps_are_learned() {
    expect 0 "$wick" train --data deep --net "$net" --epochs 12 --batch 4 --lr 0.01 --optimizer adamw --threads 1 --out run --json && valid_json out && has err "--task dense, as the data look" && has err "24 pictures with a depth for each pixel, from 1 to 2 m" && has err "nothing is known of 1.56 %" || fail train
    expect 0 "$wick" eval run --json && valid_json out && at_least delta1 0.85 && [ "$(json out pixels)" = 1512 ] && has out '"abs_rel"' && has out '"rmse"' || fail eval
    expect 0 "$wick" eval run && has out "delta < 1.25" && lacks out nan && expect 0 "$wick" info run && has out "1 number for each pixel"
    expect 0 "$wick" report run -o run.html && has run.html "predicted, on the same scale" && has run.html "map: dark 1, light 2 m"
    expect 0 "$wick" quantize run -o run8.onnx --json && valid_json out && [ "$(json out metric)" = mae ] && has out '"mae_int8"' && has out drop_bound && expect 0 "$wick" plan run && expect 0 "$wick" compile run -o run_c
    # to the bit again, and gone on with
    expect 0 "$wick" train --data deep --net "$net" --epochs 6 --batch 4 --lr 0.01 --optimizer adamw --schedule constant --warmup 0 --threads 2 --out whole --quiet && expect 0 "$wick" train --data deep --net "$net" --epochs 3 --batch 4 --lr 0.01 --optimizer adamw --schedule constant --warmup 0 --threads 1 --out part --quiet && expect 0 "$wick" train --resume part --epochs 6 --quiet && same_tensors whole/last.safetensors part/last.safetensors
}
test_other_forms_of_maps_are_the_same() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" eval run --json && a=$(json out loss) && expect 0 "$wick" eval run --data bytes --json && b=$(json out loss) && expect 0 "$wick" train --data arrays --net "$net" --epochs 1 --out arrays_run && has err "pictures with a value for each pixel, from 1 to 2, as they are in the files" || fail forms
    near "$a" "$b" 1e-6 || fail "16 bits give $a, 8 bits $b"
}
near() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { d = a - b; exit !(a != "" && b != "" && (d < 0 ? -d : d) <= by) }'; }
test_predictions_and_scores_by_others() {
    [ -d run ] || { fail "no model"; return; }
    expect 0 "$wick" predict run --index 0-7 --draw drawn --json && valid_json out && has out '"delta1"' && expect 0 "$wick" predict run deep/test/images/03.pgm --draw one && has out "03.pgm: depth from" && has out " m, mean" && [ -s one/03-map.png ] || fail predict
    expect 0 "$wick" eval run --json && mv out eval.json && "$python" - <<'P' || fail "others measure otherwise"
import json, numpy as np
t = np.stack([np.load(f"arrays/test/{i:02}_depth.npy") for i in range(8)]).astype("f8"); p = np.stack([np.load(f"drawn/{i}-map.npy") for i in range(8)]).astype("f8"); e = json.load(open("eval.json"))
k = ~np.isnan(t); t, p = t[k], p[k]; q = np.maximum(t / p, p / t)
for key, want in (("mae", abs(p - t).mean()), ("rmse", np.sqrt(((p - t) ** 2).mean())), ("abs_rel", (abs(p - t) / t).mean()), ("delta1", (q < 1.25).mean()), ("delta2", (q < 1.25**2).mean()), ("delta3", (q < 1.25**3).mean())):
    assert abs(e[key] - want) < 1e-5, (key, e[key], want)
P
    expect 0 "$wick" convert run run.onnx && expect 0 "$wick" inspect run.onnx && has out "map  float [N, 12, 16]"
    can onnxruntime || return 0
    "$python" - <<'P' || fail "ONNX Runtime has another map"
import numpy as np, onnxruntime as rt
x = np.stack([np.frombuffer(open(f"deep/test/images/{i:02}.pgm", "rb").read()[-192:], "u1").reshape(1, 12, 16) for i in range(8)]).astype("f4") / 255
y = rt.InferenceSession("run.onnx").run(None, {"image": x})[0]
assert y.shape == (8, 12, 16) and max(abs(y[i] - np.load(f"drawn/{i}-map.npy")).max() for i in range(8)) < 1e-4
P
}
# One step of SGD from the same weights: losses and gradients are PyTorch's, pixels that are not known apart.
test_step_of_pytorch() {
    can "torch, safetensors" || return 0
    "$python" - "$wick" <<'P' || fail "another step than PyTorch's"
import json, subprocess, sys, numpy as np, torch, torch.nn.functional as F
from safetensors.torch import save_file, load_file
torch.manual_seed(0)
x = torch.tensor(np.stack([np.frombuffer(open(f"deep/train/images/{i:02}.pgm", "rb").read()[-192:], "u1").reshape(1, 12, 16) for i in range(24)]) / 255.0); x = ((x - x.mean()) / x.std(unbiased=False)).float()
t = torch.tensor(np.stack([np.load(f"arrays/train/{i:02}_depth.npy") for i in range(24)])); k = ~t.isnan(); n = k.sum((1, 2))
start = {"conv1.weight": torch.randn(8, 1, 3, 3) * 0.3, "conv1.bias": torch.randn(8) * 0.1, "conv2.weight": torch.randn(1, 8, 1, 1) * 0.3, "conv2.bias": torch.randn(1) * 0.1}; save_file(start, "start.safetensors")
for loss in ("mae", "huber", "mse", "silog"):
    w = {name: v.clone().requires_grad_() for name, v in start.items()}
    y = F.conv2d(F.relu(F.conv2d(x, w["conv1.weight"], w["conv1.bias"], padding="same")), w["conv2.weight"], w["conv2.bias"])[:, 0]
    z = t.log() if loss == "silog" else t; m, s = z[k].mean(), z[k].std(unbiased=False)
    if loss == "silog":
        d = torch.where(k, y * s + m - torch.where(k, z, 0), 0); each = (d * d).sum((1, 2)) / n - 0.5 * (d.sum((1, 2)) / n) ** 2
    else:
        f = {"mae": F.l1_loss, "huber": F.huber_loss, "mse": F.mse_loss}[loss]; each = (f(y, torch.where(k, (z - m) / s, 0), reduction="none") * k).sum((1, 2)) / n
    value = each.mean(); value.backward()
    subprocess.run([sys.argv[1], "train", "--data", "deep", "--net", "conv 8 3 same, relu, conv classes 1", "--loss", loss, "--weights", "start.safetensors", "--fit", "--epochs", "1", "--batch", "24", "--optimizer", "sgd", "--momentum", "0", "--lr", "0.5", "--schedule", "constant", "--warmup", "0", "--validation", "0", "--out", "step_run", "--force"], check=True, capture_output=True)
    got = load_file("step_run/last.safetensors"); log = json.loads(open("step_run/log.jsonl").readline())
    assert abs(log["loss"] - value.item()) < 2e-5, (loss, log["loss"], value.item())
    for name, v in w.items():
        want = (v - 0.5 * v.grad).detach(); assert (got[name] - want).abs().max() < 2e-5, (loss, name, (got[name] - want).abs().max())
P
}
test_bad_maps_by_name() {
    bad() { rm -rf bad && cp -r deep bad; }
    refused() { expect 3 "$wick" train --data bad --task dense --net "$net" --epochs 1 --out no && has err "$1"; }
    bad && rm bad/train/depth/05.png && refused "train/images/05.pgm: has no map"
    bad && head -c 60 deep/train/depth/02.png >bad/train/depth/02.png && refused "train/depth/02.png: damaged PNG"
    bad && printf 'scale 0\n' >bad/maps.txt && refused "maps.txt, line 1: '0' is no scale" && printf 'name depth\n\nfar 2\n' >bad/maps.txt && refused "maps.txt, line 3"
    bad && rm bad/train/depth/03.png && "$python" -c 'import numpy as np; np.save("bad/train/depth/03.npy", np.zeros((12, 15)))' && refused "train/depth/03.npy: has 12 x 15 pixels, and its picture has 12 x 16"
    bad && rm bad/train/depth/03.png && "$python" -c 'import numpy as np; np.save("bad/train/depth/03.npy", np.full((12, 16), np.inf))' && refused "train/depth/03.npy: pixel (0, 0) is infinite"
    bad && "$python" -c 'import numpy as np, glob, os
for f in glob.glob("bad/train/depth/*.png"): os.remove(f); np.save(f[:-3] + "npy", np.full((12, 16), np.nan))' && refused "nothing is known of any pixel"
    expect 2 "$wick" train --data deep --net "$net" --transform "flip, normalise" --out no && has err "moves pictures and not the numbers" && expect 2 "$wick" train --data deep --net "$net" --loss snr --out no && has err "--loss snr" && expect 2 "$wick" train --data deep --net "conv 4 3 stride 2, conv classes 1" --out no && has err "a number for each of its pixels" && printf 'a,y\n1,2\n' >t.csv && expect 3 "$wick" train --data t.csv --task dense --out no && has err "a folder of pictures and maps"
    expect 2 "$wick" train --data t.csv --task regress --loss silog --out no && has err "--loss silog is for --task dense"
}
test_main
