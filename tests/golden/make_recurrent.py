"""Writes recurrent.safetensors: values and gradients in f64 of PyTorch's RNN, LSTM and GRU, for tests/nn/test_recurrent.c, and values of ONNX
Runtime's, for what PyTorch lacks: peepholes, coupled gates, clipping, the other order of a GRU's reset, other activations. Made with torch==2.13.0 and
onnxruntime==1.31.1, onnx==1.23.2. Run: python make_recurrent.py (in this folder).

PyTorch's, NAME: attr (cell 0 rnn 1 lstm 2 gru, hidden, layers, bidirectional, batch_first, bias, relu, projection), x, h0, c0, lengths where they are given; the
states by their own names; y, h_n, c_n; ry, rh, rc and grad.*, the gradients of sum(y ry) + sum(h_n rh) + sum(c_n rc), and of some grad2.*, those of
sum(grad^2).
ONNX Runtime's, onnx.NAME, in f32: attr (cell, direction, reset_first, input_forget, 1000 clip, acts of both directions), x, w_ih, w_hh, b_ih, b_hh, peephole, h0, c0,
lengths in PyTorch's order of gates; y [T, B, D H], h_n, c_n.
"""
import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort
import torch
from safetensors.torch import save_file

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
torch.manual_seed(23)
torch.set_num_threads(1)
tensors = {}
f64 = torch.float64


def case(name, cell, T, B, I, H, layers=1, bi=False, batch_first=False, bias=True, relu=False, states=False, lengths=None, projection=0):
    kinds = [torch.nn.RNN, torch.nn.LSTM, torch.nn.GRU]
    extra = {"nonlinearity": "relu"} if relu else {"proj_size": projection} if projection else {}
    m = kinds[cell](I, H, layers, bias=bias, batch_first=batch_first, bidirectional=bi, dtype=f64, **extra)
    D = 2 if bi else 1
    put = lambda k, v: tensors.__setitem__(f"{name}/{k}", v.detach().clone().contiguous())
    put("attr", torch.tensor([cell, H, layers, bi, batch_first, bias, relu, projection]))
    x = torch.randn(*((B, T, I) if batch_first else (T, B, I)), dtype=f64).requires_grad_()
    leaves = {"x": x, **dict(m.named_parameters())}
    hx = None
    if states:
        leaves["h0"] = torch.randn(layers * D, B, projection or H, dtype=f64).requires_grad_()
        hx = leaves["h0"]
        if cell == 1:
            leaves["c0"] = torch.randn(layers * D, B, H, dtype=f64).requires_grad_()
            hx = (leaves["h0"], leaves["c0"])
    given = x
    if lengths:
        put("lengths", torch.tensor(lengths))
        given = torch.nn.utils.rnn.pack_padded_sequence(x, torch.tensor(lengths), batch_first=batch_first, enforce_sorted=False)
    y, last = m(given, hx)
    if lengths:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=batch_first, total_length=T)
    out = {"y": y}
    out["h_n"], c_n = last if cell == 1 else (last, None)
    if cell == 1:
        out["c_n"] = c_n
    loss = 0
    for k, v in out.items():
        put(k, v)
        r = torch.randn(*v.shape, dtype=f64)
        put({"y": "ry", "h_n": "rh", "c_n": "rc"}[k], r)
        loss = loss + (v * r).sum()
    grads = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)
    twice = torch.autograd.grad(sum((g * g).sum() for g in grads), list(leaves.values()))
    for (k, v), g, gg in zip(leaves.items(), grads, twice):
        put(k, v)
        put("grad." + k, g)
        if name.split(".")[1] in ("one", "deep_both", "projected"):
            put("grad2." + k, gg)


for cell, n in enumerate(["rnn", "lstm", "gru"]):
    case(f"{n}.plain", cell, 5, 3, 4, 6)
    case(f"{n}.one", cell, 1, 1, 1, 1, states=True)
    case(f"{n}.wide", cell, 3, 35, 5, 17, states=True)
    case(f"{n}.batch_first", cell, 4, 2, 3, 5, batch_first=True, states=True, bias=False)
    case(f"{n}.deep", cell, 4, 3, 2, 5, layers=3, states=True)
    case(f"{n}.both", cell, 6, 3, 4, 5, bi=True, states=True)
    case(f"{n}.deep_both", cell, 5, 2, 3, 4, layers=2, bi=True, batch_first=True, states=True)
    case(f"{n}.lengths", cell, 6, 4, 3, 5, bi=True, layers=2, states=True, lengths=[6, 1, 4, 2])
case("rnn.relu", 0, 6, 3, 4, 5, relu=True, states=True, bi=True)

ACTS = {"Sigmoid": 1, "Tanh": 2, "Relu": 3, "HardSigmoid": 4, "Softsign": 5}


def reorder(w, cell, H, axis=1):
    """From ONNX's order of gates (iofc, zrh) to PyTorch's (ifgo, rzn)."""
    parts = np.split(w, w.shape[axis] // H, axis)
    order = {0: [0], 1: [0, 2, 3, 1], 2: [1, 0, 2]}[cell]
    return np.concatenate([parts[i] for i in order], axis)


def onnx_case(name, cell, T, B, I, H, direction="forward", peephole=False, acts=None, clip=0.0, input_forget=0, reset_first=0, lengths=None):
    D = 2 if direction == "bidirectional" else 1
    G = [1, 4, 3][cell]
    op = ["RNN", "LSTM", "GRU"][cell]
    rng = np.random.default_rng(len(tensors))
    rand = lambda *s: rng.uniform(-1, 1, s).astype(np.float32)
    feeds = {"X": 2 * rand(T, B, I), "W": rand(D, G * H, I), "R": rand(D, G * H, H), "B": rand(D, 2 * G * H)}
    names = ["X", "W", "R", "B", "", "initial_h"]
    feeds["initial_h"] = rand(D, B, H)
    if lengths:
        names[4] = "sequence_lens"
        feeds["sequence_lens"] = np.array(lengths, np.int32)
    if cell == 1:
        feeds["initial_c"] = rand(D, B, H)
        names.append("initial_c")
        if peephole:
            feeds["P"] = rand(D, 3 * H)
            names.append("P")
    attrs = {"hidden_size": H, "direction": direction}
    if acts:
        attrs["activations"] = acts
    if clip:
        attrs["clip"] = clip
    if input_forget:
        attrs["input_forget"] = 1
    if cell == 2:
        attrs["linear_before_reset"] = 1 - reset_first
    outs = ["Y", "Y_h", "Y_c"][: 3 if cell == 1 else 2]
    kind = lambda v: onnx.TensorProto.INT32 if v.dtype == np.int32 else onnx.TensorProto.FLOAT
    graph = oh.make_graph([oh.make_node(op, names, outs, **attrs)], "g", [oh.make_tensor_value_info(k, kind(v), v.shape) for k, v in feeds.items()],
                          [oh.make_tensor_value_info(o, onnx.TensorProto.FLOAT, None) for o in outs])
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 14)], ir_version=8)
    got = dict(zip(outs, ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)))
    per = [1, 3, 2][cell]
    codes = [ACTS[a] for a in acts] if acts else [0] * (per * D)
    codes = [(codes[d * per : (d + 1) * per] if d < D else []) + [0] * 3 for d in range(2)]
    p = f"onnx.{name}/"
    tensors[p + "attr"] = torch.tensor([cell, ["forward", "reverse", "bidirectional"].index(direction), reset_first, input_forget, int(clip * 1000)]
                                       + codes[0][:3] + codes[1][:3])
    b = feeds["B"].reshape(D, 2, G * H)
    data = {"x": feeds["X"], "w_ih": reorder(feeds["W"], cell, H), "w_hh": reorder(feeds["R"], cell, H), "b_ih": reorder(b[:, 0], cell, H),
            "b_hh": reorder(b[:, 1], cell, H), "h0": feeds["initial_h"], "y": got["Y"].transpose(0, 2, 1, 3).reshape(T, B, D * H), "h_n": got["Y_h"]}
    if cell == 1:
        data.update(c0=feeds["initial_c"], c_n=got["Y_c"])
        if peephole:  # i o f
            i, o, f = np.split(feeds["P"], 3, 1)
            data["peephole"] = np.concatenate([i, f, o], 1)
    if lengths:
        data["lengths"] = np.array(lengths, np.int64)
    for k, v in data.items():
        tensors[p + k] = torch.from_numpy(np.ascontiguousarray(v))


onnx_case("lstm.peephole", 1, 5, 3, 4, 6, peephole=True)
onnx_case("lstm.peephole_both", 1, 5, 4, 3, 5, "bidirectional", peephole=True, lengths=[5, 2, 4, 1])
onnx_case("lstm.reverse", 1, 4, 2, 3, 5, "reverse", lengths=[4, 3])
onnx_case("lstm.coupled", 1, 4, 2, 3, 5, input_forget=1)
onnx_case("lstm.clip", 1, 4, 2, 3, 5, clip=0.5)
onnx_case("lstm.acts", 1, 4, 2, 3, 5, "bidirectional", acts=["HardSigmoid", "Softsign", "Tanh", "Sigmoid", "Relu", "Softsign"])
onnx_case("gru.reset_first", 2, 5, 3, 4, 6, reset_first=1)
onnx_case("gru.reset_after", 2, 5, 3, 4, 6)
onnx_case("gru.reset_first_both", 2, 5, 3, 4, 6, "bidirectional", reset_first=1, lengths=[5, 3, 1])
onnx_case("rnn.relu", 0, 4, 3, 2, 5, "reverse", acts=["Relu"])
onnx_case("rnn.clip", 0, 4, 3, 2, 5, clip=0.7)
case("lstm.projected", 1, 4, 3, 2, 5, projection=3, states=True)
case("lstm.projected_deep_both", 1, 4, 3, 3, 5, layers=2, bi=True, batch_first=True, projection=2, states=True)
case("lstm.projected_lengths", 1, 5, 4, 3, 4, bi=True, projection=3, lengths=[5, 1, 4, 2], bias=False)
save_file(tensors, "recurrent.safetensors")
