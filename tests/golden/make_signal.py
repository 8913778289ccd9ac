"""Writes signal.safetensors: Fourier and cosine transforms, spectrograms, windows and mel filters of PyTorch, SciPy and torchaudio, for
tests/ops/test_signal.c. Made with torch==2.13.0, scipy and torchaudio, of which only the
Python part is used: where its library is for another torch, take the library away. Run: python make_signal.py (in this folder).

The layout of a case is that of cases.py; complex numbers have a last dim of 2. Each case has NAME/attr: what test_signal.c builds it from.
"""
import numpy as np
import scipy.fft
import scipy.signal.windows
import torch
import torchaudio.functional as AF
import torchaudio.transforms as AT

from cases import begin, inputs_of, put, rand, result, save

begin(3)
KINDS = ["fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2", "stft", "istft", "window", "filters", "mel", "log_mel", "mfcc", "dct", "abs", "mul"]
NORMS = ["backward", "ortho", "forward"]


def case(name, attr, fn, *inputs, grad=True):
    put(f"{name}/attr", torch.tensor([KINDS.index(attr[0])] + [int(a) for a in attr[1:]] + [0] * 16, dtype=torch.int64))
    xs = inputs_of(name, inputs, grad)
    y = fn(*xs)
    result(name, torch.view_as_real(y.resolve_conj()) if y.is_complex() else y, xs)


def in_f64(fn, *args):
    torch.set_default_dtype(torch.float64)
    y = fn(*args)
    torch.set_default_dtype(torch.float32)
    return y


C = torch.view_as_complex
for i, n in enumerate([1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 23, 30, 32, 37, 48, 64, 97, 100, 121, 128, 169, 210, 256, 400]):
    norm, rows = i % 3, [(3,), (1,), (2, 9), ()][i % 4]
    big = n > 64
    rows = (2,) if big else rows
    case(f"fft.{n}", ("fft", 0, -1, norm), lambda x: torch.fft.fft(C(x), norm=NORMS[norm]), rand(*rows, n, 2), grad=not big)
    case(f"ifft.{n}", ("ifft", 0, -1, norm), lambda x: torch.fft.ifft(C(x), norm=NORMS[norm]), rand(*rows, n, 2), grad=not big)
    case(f"rfft.{n}", ("rfft", 0, -1, norm), lambda x: torch.fft.rfft(x, norm=NORMS[norm]), rand(*rows, n), grad=not big)
    case(f"irfft.{n}", ("irfft", n, -1, norm), lambda x: torch.fft.irfft(C(x), n=n, norm=NORMS[norm]), rand(*rows, n // 2 + 1, 2), grad=not big)
case("fft.axis", ("fft", 0, 0, 0), lambda x: torch.fft.fft(C(x), dim=0), rand(6, 5, 2))
case("fft.cut", ("fft", 4, 1, 1), lambda x: torch.fft.fft(C(x), n=4, dim=1, norm="ortho"), rand(2, 6, 5, 2))
case("ifft.filled", ("ifft", 9, -2, 2), lambda x: torch.fft.ifft(C(x), n=9, dim=-2, norm="forward"), rand(2, 6, 3, 2))
case("rfft.axis", ("rfft", 0, 0, 0), lambda x: torch.fft.rfft(x, dim=0), rand(6, 5))
case("rfft.filled", ("rfft", 10, -1, 2), lambda x: torch.fft.rfft(x, n=10, norm="forward"), rand(2, 7))
case("irfft.default", ("irfft", 0, -1, 0), lambda x: torch.fft.irfft(C(x)), rand(2, 5, 2))
case("irfft.axis", ("irfft", 7, 0, 1), lambda x: torch.fft.irfft(C(x), n=7, dim=0, norm="ortho"), rand(4, 3, 2))
case("irfft.cut", ("irfft", 5, -1, 0), lambda x: torch.fft.irfft(C(x), n=5), rand(2, 6, 2))
case("fft2", ("fft2", 0, 0, 1), lambda x: torch.fft.fft2(C(x), norm="ortho"), rand(2, 6, 5, 2))
case("ifft2", ("ifft2", 0, 0, 0), lambda x: torch.fft.ifft2(C(x)), rand(4, 7, 2))
case("rfft2", ("rfft2", 0, 0, 0), lambda x: torch.fft.rfft2(x), rand(2, 6, 5))
case("irfft2", ("irfft2", 5, 0, 0), lambda x: torch.fft.irfft2(C(x), s=(6, 5)), rand(2, 6, 3, 2))
case("abs", ("abs",), lambda x: C(x).abs(), torch.cat([rand(4, 2), torch.zeros(1, 2)]))
case("mul", ("mul",), lambda x, y: C(x) * C(y), rand(2, 3, 2), rand(3, 2))

PADS = ["reflect", "constant", "replicate", "circular"]
for name, shape, n, hop, win, window, center, pad, normalized, onesided in [
    ("plain", (60,), 16, 4, 16, True, True, 0, False, True), ("batch", (3, 50), 12, 5, 12, True, True, 0, True, True),
    ("short", (2, 40), 16, 4, 10, True, True, 1, False, True), ("odd", (45,), 15, 3, 9, True, True, 2, False, True),
    ("wrap", (40,), 8, 8, 8, False, True, 3, False, True), ("start", (2, 41), 16, 6, 16, True, False, 0, False, True),
    ("sides", (2, 32), 8, 2, 8, True, True, 0, True, False), ("ones", (30,), 10, 3, 7, False, True, 0, False, True),
]:
    w = torch.hann_window(win) * 1.0 if window else None

    def stft(x, *ws):
        return torch.stft(x, n, hop, win, window=ws[0] if ws else None, center=center, pad_mode=PADS[pad], normalized=normalized, onesided=onesided, return_complex=True)

    attr = (n, hop, win, window, not center, pad, normalized, not onesided)
    xs = (rand(*shape),) + ((w,) if window else ())
    if PADS[pad] in ("replicate", "circular"):  # of 1-d signals PyTorch pads these only in a batch
        case(f"stft.{name}", ("stft",) + attr, lambda x, *ws: stft(x[None], *ws)[0], *xs)
    else:
        case(f"stft.{name}", ("stft",) + attr, stft, *xs)
    if name in ("start", "odd") or pad > 1:
        continue
    spec = torch.view_as_real(stft(*[x.double() for x in xs])).float() + 0.1 * rand(1)
    for suffix, length in (("", 0), (".length", shape[-1] - 3)):
        case(f"istft.{name}{suffix}", ("istft",) + attr + (length,),
             lambda x, *ws: torch.istft(C(x), n, hop, win, window=ws[0] if ws else None, center=center, normalized=normalized, onesided=onesided, length=length or None),
             spec, *xs[1:])

for kind, (fn, name) in enumerate([(torch.hann_window, "hann"), (torch.hamming_window, "hamming"), (torch.blackman_window, "blackman"), (torch.kaiser_window, "kaiser"),
                                   (torch.bartlett_window, "bartlett")]):
    for n in (1, 2, 9, 16):
        for periodic in (True, False):
            case(f"window.{name}.{n}.{periodic}", ("window", kind, n, not periodic), lambda x: fn(n, periodic=periodic, dtype=torch.float64), rand(1), grad=False)
            if name == "kaiser" and n > 1:
                want = scipy.signal.windows.kaiser(n, 12.0, sym=not periodic)
                put(f"window.{name}.{n}.{periodic}/out", torch.from_numpy(want))

for i, (freqs, mels, rate, low, high, scale, norm) in enumerate([(51, 20, 16000, 0, 8000, "htk", None), (65, 30, 16000, 20, 7600, "slaney", "slaney"), (65, 12, 8000, 0, 4000, "htk", "slaney"),
                                                                 (80, 16, 22050, 50, 11025, "slaney", None)]):
    case(f"filters.{i}", ("filters", freqs, mels, rate, low, high, scale == "slaney", norm is not None),
         lambda x: in_f64(AF.melscale_fbanks, freqs, float(low), float(high), mels, rate, norm, scale), rand(1), grad=False)

rate = 8000
for name, shape, n, win, hop, mels, power, scale, norm in [("plain", (1, 700), 128, 100, 40, 30, 2, "htk", None), ("slaney", (2, 500), 90, 90, 45, 20, 1, "slaney", "slaney")]:
    x = rand(*shape) * 0.3
    args = dict(sample_rate=rate, n_fft=n, win_length=win, hop_length=hop, n_mels=mels, power=float(power), mel_scale=scale, norm=norm)
    attr = (n, hop, win, mels, power, scale == "slaney", norm is not None, rate)
    mel = AT.MelSpectrogram(**args).double()
    torch.set_default_dtype(torch.float64)
    mel.mel_scale.fb = AF.melscale_fbanks(n // 2 + 1, 0.0, rate / 2, mels, rate, norm, scale)
    mel.spectrogram.window = torch.hann_window(win)
    case(f"mel.{name}", ("mel",) + attr, mel, x)
    case(f"log_mel.{name}.natural", ("log_mel",) + attr + (1,), lambda t: torch.log(mel(t) + 1e-6), x)
    case(f"log_mel.{name}.db", ("log_mel",) + attr + (0,), lambda t: AF.amplitude_to_DB(mel(t), 10, 1e-10, 0, 30.0), x, grad=False)
    mfcc = AF.create_dct(13, mels, "ortho")
    case(f"mfcc.{name}", ("mfcc",) + attr + (0,), lambda t: torch.matmul(AF.amplitude_to_DB(mel(t), 10, 1e-10, 0, 80.0).transpose(-1, -2), mfcc).transpose(-1, -2), x, grad=False)
    torch.set_default_dtype(torch.float32)

# scipy's cosine transforms; their gradients are those of the matrix.
for kind in (1, 2, 3, 4):
    for n in (1, 2, 3, 4, 7, 8, 16, 25):
        if kind == 1 and n == 1:
            continue
        for ortho in (False, True):
            m = torch.from_numpy(scipy.fft.dct(np.eye(n), type=kind, axis=0, norm="ortho" if ortho else None))
            case(f"dct.{kind}.{n}.{ortho}", ("dct", kind, -1, ortho), lambda x: x @ m.T, rand(3, n))
    m = torch.from_numpy(scipy.fft.dct(np.eye(5), type=kind, axis=0))
    case(f"dct.{kind}.axis", ("dct", kind, 0, False), lambda x: m @ x, rand(5, 4))

save("signal.safetensors")
