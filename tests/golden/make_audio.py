"""Writes the recordings in audio/ and audio.txt, their samples as [channels, length], for tests/data/test_audio.c. Files and samples are libsndfile's.
Made with numpy and soundfile==0.14.0. Run: python make_audio.py (in this folder).
"""
import os

import numpy as np
import soundfile

rng = np.random.default_rng(7)
os.makedirs("audio", exist_ok=True)
LENGTH = 23
with open("audio.txt", "w") as out:
    out.write("# Written by make_audio.py.\n")
    for kind in ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE"):
        for channels, form in ((1, "WAV"), (2, "WAV"), (3, "WAVEX")):
            name = f"{kind.lower()}_{channels}{'_extensible' * (form == 'WAVEX')}.wav"
            x = np.clip(rng.normal(0, 0.5, (LENGTH, channels)), -1, 0.999)
            x[:2, 0] = -1, 0
            soundfile.write(f"audio/{name}", x, 8000 * channels, kind, format=form)
            got, rate = soundfile.read(f"audio/{name}", dtype="float32", always_2d=True)
            assert rate == 8000 * channels
            print(name, 2, *got.T.shape, *("%.9g" % v for v in got.T.ravel()), file=out)
