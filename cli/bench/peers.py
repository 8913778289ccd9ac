"""What wick bench races against: a program that answers lines. wick bench --peers starts it, with the number of threads as its argument.

A line is a JSON object, "run TIMES PEER" or "memory"; an answer is one line.

    {"row": "gemm/f32_64x64x64", "form": "result|pair|gradients|infer|train|update", "text": "torch.matmul(x, a, out=y)", "optimizer": "sgd|adam LR MOMENTUM",
     "inputs": [{"file": ..., "dtype": "f32", "dims": [64, 64], "complex": false, "kept": false}], "result": {"file": ..., "dtype": ..., "dims": ...} or null,
     "model": a file of ONNX or null, "memory": false}
        the peers that have this row: "PyTorch,OpenBLAS"; a peer whose result is another one has "!" behind its name. With "memory" PyTorch alone, not at its
        fastest settings but at its usual ones
    run 100 PyTorch
        seconds of one run
    instructions
        what each peer says of the instructions that it goes by: "PyTorch AVX2, oneDNN avx2"
    memory
        bytes without a file behind them that the process grew by at most since it had the row's inputs

PyTorch evaluates the text, ONNX Runtime runs the model; where its name is the text, it is the only one. OpenBLAS, BLIS and oneDNN take the text where it is one product of matrices, or one convolution, which
is recorded from it; their calls go through ctypes, and what a call of nothing costs there is subtracted.

Each peer has a process of its own, which is stopped while others are measured: threads of OpenMP and of OpenBLAS go on spinning for a while after their work is
done, and would take a CPU from whoever is next.
"""
import ctypes
import functools
import glob
import itertools
import json
import os
import signal
import sys
import time

ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: it ends with wick bench, however that ends
THREADS = int(sys.argv[1])
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(THREADS)
libraries = os.path.join(sys.prefix, "lib")  # those of packages, which others of them need
if libraries not in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
    os.environ["LD_LIBRARY_PATH"] = ":".join([libraries, *filter(None, [os.environ.get("LD_LIBRARY_PATH")])])
    os.execv(sys.executable, sys.orig_argv)
now = time.process_time if THREADS == 1 else time.perf_counter
answers = os.fdopen(os.dup(1), "w")  # libraries that print do so on standard error
os.dup2(2, 1)


# ---- a process for each ----

class Peer:
    """A process of its own, where making one returns too, as `name`, with lines and answers of its own."""
    name = None  # of this process

    def __init__(self, name):
        global lines, answers
        (read, self.to), (self.back, write) = os.pipe(), os.pipe()
        self.child = os.fork()
        if self.child == 0:
            ctypes.CDLL(None).prctl(1, 9)
            Peer.name, lines, answers = name, os.fdopen(read), os.fdopen(write, "w")
            os.close(self.to), os.close(self.back)
            return
        os.close(read), os.close(write)
        self.to, self.back = os.fdopen(self.to, "w"), os.fdopen(self.back)

    def ask(self, line):
        os.kill(self.child, signal.SIGCONT)
        print(line, end="", file=self.to, flush=True)

    def answer(self):
        answer = self.back.readline().strip()
        if not answer:
            sys.exit(1)
        os.kill(self.child, signal.SIGSTOP)
        os.waitpid(self.child, os.WUNTRACED)
        return answer


def pass_on(peers):
    """What the first process does."""
    for line in sys.stdin:
        if line.startswith("run "):
            asked = [peers[line.strip().split(" ", 2)[2]]]
        elif line.startswith("memory"):
            asked = [peers["PyTorch"]]
        elif line.startswith("instructions"):
            for peer in peers.values():
                peer.ask(line)
            print(", ".join(got for got in [peer.answer() for peer in peers.values()] if got != "-"), file=answers, flush=True)
            continue
        else:
            asked = peers.values()
        for peer in asked:
            peer.ask(line)
        got = [answer for answer in [peer.answer() for peer in asked] if answer != "-"]
        print(",".join(got) or "-", file=answers, flush=True)


def start():
    peers = {}
    for name in ("PyTorch", "ONNX Runtime", "OpenBLAS", "BLIS", "oneDNN"):
        peers[name] = Peer(name)
        if Peer.name:
            return
    pass_on(peers)
    sys.exit()


lines = None
start()

import numpy as np

torch = onnxruntime = None
try:
    if Peer.name == "PyTorch":
        import torch
        import torch.nn.functional as F
        from torch import nn
        torch.set_num_threads(THREADS)
        torch.set_flush_denormal(True)
    elif Peer.name == "ONNX Runtime":
        import onnxruntime
except ImportError:
    pass

NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i64": np.int64, "i32": np.int32, "u8": np.uint8, "i8": np.int8, "bool": np.bool_,
         "f8_e4m3fn": np.uint8, "f8_e5m2": np.uint8}
NAMES = "xabcdef"


def load(spec):
    return np.fromfile(spec["file"], NUMPY[spec["dtype"]]).reshape(spec["dims"])


def to_torch(spec):
    x, name = torch.from_numpy(load(spec)), spec["dtype"]
    special = {"bf16": "bfloat16", "f8_e4m3fn": "float8_e4m3fn", "f8_e5m2": "float8_e5m2"}
    if name in special:
        x = x.view(getattr(torch, special[name]))
    return torch.view_as_complex(x) if spec["complex"] else x


def same(ours, theirs, loose):
    """To 1e-3 of the largest, of bf16 and f16 to 2e-2."""
    ours, theirs = np.asarray(ours, np.float64).reshape(-1), np.asarray(theirs, np.float64).reshape(-1)
    if ours.shape != theirs.shape:
        return False
    finite = theirs[np.isfinite(theirs)]
    with np.errstate(invalid="ignore"):  # inf less inf: compared below
        far = np.abs(ours - theirs) > (2e-2 if loose else 1e-3) * max(1e-30, np.abs(finite).max(initial=0))
    return not np.any(far & ~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs))))


def repeat(call):
    """A function of how many times, that returns the seconds of one."""
    def run(times):
        start = now()
        for _ in itertools.repeat(None, times):
            call()
        return (now() - start) / times
    return run


class Growth:
    """Of memory that no file stands behind, at its peak since `begin`. See memory.c."""
    before = 0

    @staticmethod
    def status():
        return {name: int(rest.split()[0]) * 1024 for name, rest in (line.split(":") for line in open("/proc/self/status")) if name in ("VmHWM", "RssAnon", "RssFile", "RssShmem")}

    @classmethod
    def begin(cls):
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        cls.before = cls.status()["RssAnon"]

    @classmethod
    def peak(cls):
        now_ = cls.status()
        return max(0, now_["VmHWM"] - now_["RssFile"] - now_["RssShmem"] - cls.before)


# ---- PyTorch ----

def mlp(*widths):
    layers = [nn.Linear(a, b) for a, b in zip(widths, widths[1:])]
    return nn.Sequential(*itertools.chain.from_iterable((layer, nn.ReLU()) for layer in layers[:-1]), layers[-1])


def cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))


def resnet8():
    class Block(nn.Module):
        def __init__(self, c, out, stride):
            super().__init__()
            self.body = nn.Sequential(nn.Conv2d(c, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
                                      nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
            self.shortcut = nn.Sequential(nn.Conv2d(c, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if c != out else nn.Identity()

        def forward(self, x):
            return torch.relu_(self.body(x) + self.shortcut(x))

    return nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True), Block(16, 16, 1), Block(16, 32, 2), Block(32, 64, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


class Lstm(nn.Module if torch else object):
    def __init__(self, features, units):
        super().__init__()
        self.lstm, self.linear = nn.LSTM(features, units), nn.Linear(units, 10)

    def forward(self, x):
        return self.linear(self.lstm(x)[0][-1])


def encoder(layers, width=256):
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            self.layers, self.linear = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), nn.Linear(width, 10)

        def forward(self, x):
            return self.linear(self.layers(x).mean(1))

    return Encoder()


def fastest(runs):
    for run in runs:
        run(3)
    return min(runs, key=lambda run: min(run(3) for _ in range(5))) if len(runs) > 1 else runs[0]


def updates(kind, clip=False, ema=False, **options):
    """A function of the gradients, of runs: the optimizer as it is, foreach and fused."""
    def make(gradients, first_only):
        runs = []
        for how in ({}, {"foreach": True}, {"fused": True})[:1 if first_only else 3]:
            params = [nn.Parameter(torch.randn_like(g) * 0.02) for g in gradients]
            try:
                optimizer = getattr(torch.optim, kind)(params, lr=1e-6, **options, **how)
            except (TypeError, RuntimeError, ValueError):
                continue
            for p, g in zip(params, gradients):
                p.grad = g
            held = nn.ParameterList(params)
            mean = torch.optim.swa_utils.AveragedModel(held, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)) if ema else None
            def step(params=params, optimizer=optimizer, held=held, mean=mean):
                if clip:
                    nn.utils.clip_grad_norm_(params, 1)
                optimizer.step()
                if mean:
                    mean.update_parameters(held)
            runs.append(repeat(step))
        return runs
    return make


def torch_network(row, inputs):
    """The fastest of PyTorch's settings: images with channels first or last, updates one by one or fused."""
    runs = []
    for last in (False, True)[:1 + (inputs[0].dim() == 4 and not row["memory"])]:
        net, x = eval(row["text"], globals()), inputs[0]
        if last:
            net, x = net.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
        if row["form"] == "infer":
            net.eval()
            runs.append(torch.no_grad()(repeat(lambda net=net, x=x: net(x))))
            continue
        kind, rate, momentum = row["optimizer"].split()
        for fused in ({}, {"fused": True})[:1 if row["memory"] else 2]:
            make = torch.optim.Adam if kind == "adam" else torch.optim.SGD
            extra = {} if kind == "adam" else {"momentum": float(momentum)}
            optimizer = make(net.parameters(), lr=float(rate), **extra, **fused)
            def step(net=net, x=x, optimizer=optimizer):
                optimizer.zero_grad(set_to_none=True)
                F.cross_entropy(net(x), inputs[1]).backward()
                optimizer.step()
            runs.append(repeat(step))
    return fastest(runs)


def open_torch(row):
    inputs = [to_torch(spec) for spec in row["inputs"]]
    Growth.begin()
    if row["form"] in ("infer", "train"):
        return torch_network(row, inputs), None
    if row["form"] == "update":
        return fastest(eval(row["text"], globals())(inputs, row["memory"])), None
    scope = {"torch": torch, "F": F, "nn": torch._C._nn, "functools": functools, "now": now, "repeat": itertools.repeat, "y": None, "nchw": lambda x: x.permute(0, 3, 1, 2), "nhwc": lambda x: x.permute(0, 2, 3, 1), **dict(zip(NAMES, inputs))}
    text = row["text"]
    if row["form"] == "gradients":
        scope["r"], scope["wrt"] = inputs[-1], [x.requires_grad_() for x in inputs[:-1] if x.is_floating_point()]
        text = f"y = {text}; torch.autograd.grad(y, wrt, r)"
    else:
        with torch.no_grad():
            scope["y"] = eval(text, scope)
    exec(f"def run(times):\n global y\n start = now()\n for _ in repeat(None, times): {text}\n return (now() - start) / times\n", scope)
    run = scope["run"] if row["form"] == "gradients" else torch.no_grad()(scope["run"])
    run(1)
    y = scope["y"][0] if row["form"] == "pair" else scope["y"]
    return run, (torch.view_as_real(y) if y.is_complex() else y).detach().double().numpy()


# ---- libraries of C ----

class Recorded(Exception):
    pass


class Recorder:
    """Stands for torch and F: the one call of a text, if it is a product or a convolution."""

    def matmul(self, x, a, out=None):
        return ("matmul", x.reshape(1, -1) if x.ndim == 1 else x, a.reshape(-1, 1) if a.ndim == 1 else a)

    _int_mm = mv = matmul

    def conv2d(self, x, a, bias=None, padding=0, stride=1, groups=1):
        if bias is not None:
            raise Recorded("bias")
        return ("conv", x, a, padding, stride, groups)

    def __getattr__(self, name):
        raise Recorded(name)


def recorded(row, inputs):
    try:
        call = eval(row["text"], {"torch": Recorder(), "F": Recorder(), "y": None, "nchw": lambda x: x.transpose(0, 3, 1, 2), "nhwc": lambda y: y, **dict(zip(NAMES, inputs))})
        return call if isinstance(call, tuple) else None  # x[a, b] is an array
    except (Recorded, TypeError, NameError, AttributeError, ValueError):  # what no array can: x.transpose(1, 2) has other axes there
        return None


libc = ctypes.CDLL(None)


def without_call(run, arguments):
    """Less what a call through ctypes with as many arguments costs; None where that is most of it."""
    if run(1) > 1e-3:
        return run  # a thousandth at most
    function = libc.labs  # of its arguments it looks at one; getpid enters the kernel, which is 0.2 us
    nothing = repeat(lambda: function(*arguments))
    nothing(1000)
    cost = min(nothing(1000) for _ in range(5))
    if run(100) < 2 * cost:
        return None
    return lambda times: max(run(times) - cost, cost / 2)


def pointer(x):
    return ctypes.c_void_p(x.ctypes.data)


def openblas_library():
    """And what its names begin with."""
    try:
        import scipy_openblas32
        return ctypes.CDLL(os.path.join(scipy_openblas32.get_lib_dir(), "libscipy_openblas.so")), "scipy_"
    except (ImportError, OSError):
        return ctypes.CDLL("libopenblas.so.0"), ""


def blis_library():
    try:
        import blis.cy
        return ctypes.CDLL(blis.cy.__file__)
    except (ImportError, OSError):
        return ctypes.CDLL("libblis.so.4")


def openblas():
    library, prefix = openblas_library()
    functions = {np.float32: getattr(library, prefix + "cblas_sgemm"), np.float64: getattr(library, prefix + "cblas_dgemm")}

    def stored(x):
        """CblasNoTrans or CblasTrans, and the distance of its rows."""
        straight = x.strides[1] == x.itemsize
        return (111, x.strides[0] // x.itemsize) if straight else (112, x.strides[1] // x.itemsize)

    def call(m, n, k, x, a, y, real):
        (ta, lda), (tb, ldb) = stored(x), stored(a)
        return functions[x.dtype.type], [101, ta, tb, m, n, k, real(1), pointer(x), lda, pointer(a), ldb, real(0), pointer(y), n]
    return call


def blis():
    library = blis_library()
    functions = {np.float32: library.bli_sgemm, np.float64: library.bli_dgemm}
    library.bli_thread_set_num_threads(ctypes.c_int64(THREADS))

    def call(m, n, k, x, a, y, real):
        whole, place = ctypes.c_int64, lambda z: (pointer(z), *(ctypes.c_int64(s // z.itemsize) for s in z.strides))
        one, zero = real(1), real(0)
        return functions[x.dtype.type], [0, 0, whole(m), whole(n), whole(k), ctypes.byref(one), *place(x), *place(a), ctypes.byref(zero), *place(y)]
    return call


def blas(find):
    prepare = None

    def open_blas(row):
        nonlocal prepare
        if row["form"] != "result" or not row["inputs"] or row["inputs"][0]["dtype"] not in ("f32", "f64"):
            return None
        what = recorded(row, [load(spec) for spec in row["inputs"]])
        if not what or what[0] != "matmul" or what[1].ndim != 2 or what[2].ndim != 2:
            return None
        prepare = prepare or find()
        _, x, a = what
        y = np.empty((x.shape[0], a.shape[1]), x.dtype)
        function, values = prepare(x.shape[0], a.shape[1], x.shape[1], x, a, y, ctypes.c_float if x.dtype == np.float32 else ctypes.c_double)
        run = repeat(lambda: function(*values))
        run(1)
        run = without_call(run, values)
        return run and (run, y, (x, a))
    return open_blas


def onednn_path():
    return [*glob.glob(os.path.join(sys.prefix, "lib", "libdnnl.so.3")), "libdnnl.so.3"][0]


class OneDnn:
    """oneDNN's C interface, version 3: descriptions of memory, primitives, and their execution."""
    TYPES, CPU, ANY = {"f16": 1, "bf16": 2, "f32": 3, "i32": 4, "i8": 5, "u8": 6}, 1, 1
    SRC, DST, WEIGHTS, DIFF_SRC, DIFF_DST, DIFF_WEIGHTS = 1, 17, 33, 129, 145, 161
    QUERY = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DIFF_WEIGHTS: 132, DST: 133, DIFF_DST: 134}
    FORWARD, AUTO = 64, 3

    def __init__(self):
        self.c = ctypes.CDLL(onednn_path())
        self.engine, self.stream, self.kept = ctypes.c_void_p(), ctypes.c_void_p(), []
        self.do("dnnl_engine_create", ctypes.byref(self.engine), self.CPU, ctypes.c_size_t(0))
        self.do("dnnl_stream_create", ctypes.byref(self.stream), self.engine, 1)
        self.c.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.c.dnnl_memory_desc_get_size.restype = ctypes.c_size_t

    def do(self, name, *arguments):
        if status := getattr(self.c, name)(*arguments):
            raise RuntimeError(f"{name}: status {status}")

    def describe(self, dims, dtype, strides=None):
        out, n = ctypes.c_void_p(), len(dims)
        if strides:
            self.do("dnnl_memory_desc_create_with_strides", ctypes.byref(out), n, (ctypes.c_int64 * n)(*dims), self.TYPES[dtype], (ctypes.c_int64 * n)(*strides))
        else:
            self.do("dnnl_memory_desc_create_with_tag", ctypes.byref(out), n, (ctypes.c_int64 * n)(*dims), self.TYPES[dtype], self.ANY)
        return out

    def execution(self, description, data):
        """data: arrays by argument, or None for numbers of its own in the layout that it chose."""
        primitive = ctypes.c_void_p()
        self.do("dnnl_primitive_create", ctypes.byref(primitive), description)

        class Argument(ctypes.Structure):
            _fields_ = [("arg", ctypes.c_int), ("memory", ctypes.c_void_p)]
        arguments = (Argument * len(data))()
        for i, (arg, array) in enumerate(data.items()):
            md, memory = ctypes.c_void_p(self.c.dnnl_primitive_desc_query_md(description, self.QUERY[arg], 0)), ctypes.c_void_p()
            if array is None:
                array = np.random.default_rng(1).uniform(-1, 1, self.c.dnnl_memory_desc_get_size(md) // 4).astype(np.float32)
            self.do("dnnl_memory_create", ctypes.byref(memory), md, self.engine, pointer(array))
            arguments[i] = Argument(arg, memory)
            self.kept.append(array)
        self.kept += [arguments]
        return primitive, len(data), arguments

    def matmul(self, x, a, dtype):
        m, k, n, size = x.shape[0], x.shape[1], a.shape[1], x.itemsize
        bytes_ = size == 1  # whose sums are i32
        y, out = np.empty((m, n), np.int32 if bytes_ else x.dtype), ctypes.c_void_p()
        self.do("dnnl_matmul_primitive_desc_create", ctypes.byref(out), self.engine, self.describe((m, k), dtype, [s // size for s in x.strides]),
                self.describe((k, n), "i8" if bytes_ else dtype, [s // size for s in a.strides]), None, self.describe((m, n), "i32" if bytes_ else dtype, (n, 1)), None)
        return [self.execution(out, {self.SRC: x, self.WEIGHTS: a, self.DST: y})], y

    def conv(self, x, a, padding, stride, groups, gradients):
        two = lambda v: (ctypes.c_int64 * 2)(v, v)
        (n, _, h, w), (co, ci, kh, kw) = x.shape, a.shape
        dst = (n, co, (h + 2 * padding - kh) // stride + 1, (w + 2 * padding - kw) // stride + 1)
        x_, y_ = self.describe(x.shape, "f32"), self.describe(dst, "f32")
        a_ = self.describe((groups, co // groups, ci, kh, kw) if groups > 1 else a.shape, "f32")
        rest = (two(stride), two(0), two(padding), two(padding))
        out = ctypes.c_void_p()
        self.do("dnnl_convolution_forward_primitive_desc_create", ctypes.byref(out), self.engine, self.FORWARD, self.AUTO, x_, a_, None, y_, *rest, None)
        runs = [self.execution(out, {self.SRC: None, self.WEIGHTS: None, self.DST: None})]
        if gradients:
            data, weights = ctypes.c_void_p(), ctypes.c_void_p()
            self.do("dnnl_convolution_backward_data_primitive_desc_create", ctypes.byref(data), self.engine, self.AUTO, x_, a_, y_, *rest, out, None)
            self.do("dnnl_convolution_backward_weights_primitive_desc_create", ctypes.byref(weights), self.engine, self.AUTO, x_, a_, None, y_, *rest, out, None)
            runs.append(self.execution(data, {self.DIFF_SRC: None, self.WEIGHTS: None, self.DIFF_DST: None}))
            runs.append(self.execution(weights, {self.SRC: None, self.DIFF_WEIGHTS: None, self.DIFF_DST: None}))
        return runs, None


dnn = None


def open_onednn(row):
    """Convolutions have all data in the layouts that oneDNN chooses, which a network of its own would keep."""
    global dnn
    inputs = [load(spec) for spec in row["inputs"]]
    dtype, what = row["inputs"][0]["dtype"] if inputs else "", recorded(row, inputs) if row["form"] in ("result", "gradients") else None
    if not what or dtype not in OneDnn.TYPES or what[1].ndim != (2 if what[0] == "matmul" else 4) or (dtype != "f32" and what[0] == "conv"):
        return None
    if what[0] == "matmul" and (row["form"] != "result" or what[2].ndim != 2):
        return None
    dnn = dnn or OneDnn()
    dnn.kept.clear()
    runs, y = dnn.matmul(what[1], what[2], dtype) if what[0] == "matmul" else dnn.conv(*what[1:], row["form"] == "gradients")
    execute, wait, stream = dnn.c.dnnl_primitive_execute, dnn.c.dnnl_stream_wait, dnn.stream

    def call():
        for primitive, n, arguments in runs:
            execute(primitive, stream, n, arguments)
        wait(stream)
    run = repeat(call)
    run(1)
    run = without_call(run, (None, None))
    return run and (run, y if dtype != "bf16" else None)


# ---- ONNX Runtime ----

ELEMENTS = {"f32": 1, "u8": 2, "i8": 3, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11, "bf16": 16}


def open_onnxruntime(row):
    """Inputs are bound beforehand; results too, where Wick's lie in one place."""
    if not row["model"] or not {spec["dtype"] for spec in row["inputs"]} <= ELEMENTS.keys():
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = THREADS, 1, 4
    with open(row["model"], "rb") as f:
        try:
            session = onnxruntime.InferenceSession(f.read(), options, providers=["CPUExecutionProvider"])
        except Exception as e:  # of classes that it doesn't export: what it has no kernel for
            raise RuntimeError(str(e)) from None
    binding, ports, given = session.io_binding(), session.get_inputs(), [spec for spec in row["inputs"] if not spec.get("kept")]
    if len(ports) != len(given):
        return None
    value = lambda x, dtype: onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(x, ELEMENTS[dtype]) if dtype == "bf16" else onnxruntime.OrtValue.ortvalue_from_numpy(x)
    for port, spec in zip(ports, given):
        binding.bind_ortvalue_input(port.name, value(load(spec), spec["dtype"]))
    name = session.get_outputs()[0].name
    binding.bind_output(name, "cpu")
    session.run_with_iobinding(binding)
    y = binding.get_outputs()[0]
    if row["form"] == "infer" or "out=y" in row["text"]:
        binding.clear_binding_outputs()
        binding.bind_ortvalue_output(name, y)
    run = session.run_with_iobinding
    return repeat(lambda: run(binding)), y.numpy() if y.data_type() in ("tensor(float)", "tensor(double)", "tensor(int64)", "tensor(int32)", "tensor(bool)", "tensor(float16)") else None


OPEN = {"PyTorch": torch and open_torch, "ONNX Runtime": onnxruntime and open_onnxruntime, "OpenBLAS": blas(openblas), "BLIS": blas(blis), "oneDNN": open_onednn}[Peer.name]


def open_row(row):
    """What runs it, or None; and this peer's name where there is such a thing."""
    if not OPEN or (row["memory"] and Peer.name != "PyTorch") or (row["text"] == "ONNX Runtime" and Peer.name != row["text"]):
        return None, "-"
    try:
        made = OPEN(row)
    except (OSError, RuntimeError, AttributeError, TypeError, ValueError, IndexError) as e:
        print(f"{Peer.name}: {row['row']}: {str(e).splitlines()[0]}", file=sys.stderr)
        return None, "-"
    if not made:
        return None, "-"
    result = row["result"]
    loose = {"bf16", "f16"} & {spec["dtype"] for spec in row["inputs"] + [result] * bool(result)}
    ours = load(result) if result and result["dtype"] in ("f64", "f32", "f16", "i64", "i32", "bool") else None
    return made, Peer.name + "!" * (ours is not None and made[1] is not None and not same(ours, made[1], loose))


ONEDNN_ISA = {1: "sse41", 3: "avx", 7: "avx2"}  # dnnl_cpu_isa_t


def instructions():
    """What the library says, where it says anything; "!" behind what goes beyond AVX2 and should not."""
    try:
        if Peer.name == "PyTorch":
            name = torch.backends.cpu.get_cpu_capability() if torch else "-"
            return name if name == "-" else "PyTorch " + name + "!" * (name not in ("AVX2", "DEFAULT", "NO AVX"))
        if Peer.name == "ONNX Runtime":
            return "ONNX Runtime whatever the CPU has (it can't be held)" if onnxruntime else "-"
        if Peer.name == "OpenBLAS":
            library, prefix = openblas_library()
            name = getattr(library, prefix + "openblas_get_corename")
            name.restype = ctypes.c_char_p
            found = name().decode()
            return "OpenBLAS " + found + "!" * (found != "Haswell")
        if Peer.name == "BLIS":
            library = blis_library()
            library.bli_arch_string.restype = ctypes.c_char_p
            return f"BLIS {library.bli_arch_string(library.bli_arch_query_id()).decode()} (it isn't held)"
        isa = ctypes.CDLL(onednn_path()).dnnl_get_effective_cpu_isa()
        return "oneDNN " + ONEDNN_ISA.get(isa, f"number {isa:#x}!")
    except (OSError, AttributeError):
        return "-"


def main():
    opened = None
    for line in lines:
        if line.startswith("run "):
            answer = repr(opened[0](int(line.split(" ", 2)[1])))
        elif line.startswith("instructions"):
            answer = instructions()
        elif line.startswith("memory"):
            opened[0](3)
            answer = str(Growth.peak())
        else:
            opened = None  # the inputs of the row before
            opened, answer = open_row(json.loads(line))
        print(answer, file=answers, flush=True)


main()
