"""Writes transformer.safetensors: PyTorch's transformer layers in f64, for tests/nn/test_transformer.c. Made with torch==2.13.0.
Run: python make_transformer.py (in this folder).

A case NAME has NAME/in0 ..., NAME/state.S for each S of the module's state_dict, NAME/out, NAME/r, and the gradients of sum(out * r): NAME/grad.S
and NAME/gin0 ... Numbers are those that f32 holds; results are rounded to f32 too but for the outputs.
"""
import torch
from safetensors.torch import save_file
from torch import nn

assert torch.__version__.split("+")[0] == "2.13.0", torch.__version__
torch.manual_seed(4)
torch.set_num_threads(1)
tensors = {}


def rand(*shape):
    return (torch.rand(shape) * 4 - 2).double()


def put(name, t):
    assert name not in tensors, name
    tensors[name] = t.detach().contiguous().clone()


def case(name, module, fn, *inputs):
    module = module.double()
    with torch.no_grad():
        for p in module.parameters():
            p.copy_((torch.rand(p.shape) * 1.2 - 0.6 + (p.dim() == 1)).float())
    for i, x in enumerate(inputs):
        put(f"{name}/in{i}", x.float() if x.dtype == torch.float64 else x)
    xs = [x.clone().requires_grad_() if x.dtype == torch.float64 else x for x in inputs]
    y = fn(module, *xs)
    r = rand(*y.shape)
    (y * r).sum().backward()
    put(f"{name}/out", y)
    put(f"{name}/r", r.float())
    for s, p in module.named_parameters():
        put(f"{name}/state.{s}", p.float())
        put(f"{name}/grad.{s}", p.grad)
    for i, x in enumerate(xs):
        if x.dtype == torch.float64:
            put(f"{name}/gin{i}", x.grad)


def mha(**options):
    return nn.MultiheadAttention(8, 2, batch_first=True, **options)


causal = torch.ones(5, 5).triu(1) == 1
case("self", mha(), lambda m, x: m(x, x, x)[0], rand(2, 5, 8))
case("causal", mha(), lambda m, x: m(x, x, x, attn_mask=causal, need_weights=False)[0], rand(2, 5, 8))
case("no_bias", mha(bias=False), lambda m, x: m(x, x, x)[0], rand(2, 5, 8))
case("cross", mha(), lambda m, q, k, v: m(q, k, v)[0], rand(2, 5, 8), rand(2, 3, 8), rand(2, 3, 8))
case("widths", mha(kdim=3, vdim=6), lambda m, q, k, v: m(q, k, v)[0], rand(2, 5, 8), rand(2, 3, 3), rand(2, 3, 6))
counts = torch.tensor([[True] * 5, [True, True, False, True, False]])
case("padding", mha(), lambda m, x, c: m(x, x, x, key_padding_mask=~c, need_weights=False)[0], rand(2, 5, 8), counts)
case("mask", mha(), lambda m, x, a: m(x, x, x, attn_mask=a, need_weights=False)[0], rand(2, 5, 8), rand(5, 5))
options = dict(nhead=2, dim_feedforward=11, dropout=0.0, batch_first=True)
case("encoder_post_relu", nn.TransformerEncoderLayer(8, **options), lambda m, x: m(x), rand(2, 5, 8))
case("encoder_pre_gelu", nn.TransformerEncoderLayer(8, norm_first=True, activation="gelu", **options), lambda m, x: m(x), rand(2, 5, 8))
memory_mask = torch.ones(5, 3).tril() == 1
memory_mask[:, 0] = True
case("decoder_post_gelu", nn.TransformerDecoderLayer(8, activation="gelu", **options), lambda m, x, y: m(x, y, tgt_mask=causal), rand(2, 5, 8), rand(2, 3, 8))
case("decoder_pre_relu", nn.TransformerDecoderLayer(8, norm_first=True, **options),
     lambda m, x, y, a: m(x, y, tgt_mask=causal, memory_mask=~a), rand(2, 5, 8), rand(2, 3, 8), memory_mask)
case("encoder_stack", nn.TransformerEncoder(nn.TransformerEncoderLayer(8, norm_first=True, **options), 2, nn.LayerNorm(8), enable_nested_tensor=False),
     lambda m, x: m(x), rand(1, 5, 8))
case("decoder_stack", nn.TransformerDecoder(nn.TransformerDecoderLayer(8, **options), 2), lambda m, x, y: m(x, y), rand(1, 4, 8), rand(1, 3, 8))
case("embedding", nn.Embedding(7, 4), lambda m, i: m(i), torch.tensor([[0, 6, 3], [3, 3, 1]]))
case("weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(5, 3, bias=False)), lambda m, x: m(x), rand(4, 5))
save_file(tensors, "transformer.safetensors")
