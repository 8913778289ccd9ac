"""Cases of com.microsoft, ONNX Runtime's own ops: tests/golden/make_onnx.py has the rest."""
from make_onnx import *


def ms(name, op, inputs, outs, **attrs):
    node("ms_" + name, op, inputs, outs, version=1, domain="com.microsoft", static=True, **attrs)


F, U, I = T.FLOAT, T.UINT8, T.INT8
u8 = lambda *shape: rng.integers(0, 256, shape, dtype=np.uint8)
i8 = lambda *shape: rng.integers(-127, 128, shape, dtype=np.int8)
s = lambda v: np.array(v, np.float32)
z = lambda v, t=np.uint8: np.array(v, t)

# ---- floats
x = f32(1, 4, 6, 5)
for i, (name, params) in enumerate([("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [.3]), ("Clip", [-.5, .7]), ("HardSigmoid", [.3, .4])]):
    ms("conv_" + name.lower(), "FusedConv", [x, f32(6, 2, 3, 3), f32(6)], [F], activation=name, activation_params=params, group=2, pads=[1, 0, 1, 1], strides=[1, 2])
ms("conv_sum", "FusedConv", [x, f32(3, 4, 3, 3), f32(3), f32(1, 3, 4, 3)], [F], activation="Relu")
ms("gemm_relu", "FusedGemm", [f32(4, 3), f32(5, 4), f32(5)], [F], activation="Relu", transA=1, transB=1, alpha=.5, beta=2.)
ms("gemm_leaky", "FusedGemm", [f32(3, 4), f32(4, 5), f32(5)], [F], activation="LeakyRelu", activation_alpha=.2)
ms("matmul_alpha", "FusedMatMul", [f32(2, 4, 3), f32(2, 4, 5)], [F], alpha=.25, transA=1)
ms("matmul_batch", "FusedMatMul", [f32(3, 2, 4, 5), f32(2, 4, 6, 5)], [F], transBatchA=1, transB=1)
ms("matmul_batch_both", "FusedMatMul", [f32(5, 2, 4), f32(2, 6, 5)], [F], transBatchA=1, transA=1, transB=1)
ms("gelu", "Gelu", [f32(3, 7)], [F])
ms("bias_gelu", "BiasGelu", [f32(3, 7), f32(7)], [F])
ms("fast_gelu", "FastGelu", [f32(3, 7), f32(7)], [F])
ms("quick_gelu", "QuickGelu", [f32(3, 7)], [F], alpha=1.5)
ms("skip_norm", "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)], [F, None, None, F], epsilon=1e-5)
ms("skip_norm_plain", "SkipLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8)], [F])
ms("skip_norm_broadcast", "SkipLayerNormalization", [f32(2, 3, 8), f32(3, 8), f32(8), f32(8)], [F])
ms("skip_rms", "SkipSimplifiedLayerNormalization", [f32(2, 3, 8), f32(2, 3, 8), f32(8)], [F, None, None, F], epsilon=1e-5)
node("ms_rms", "SimplifiedLayerNormalization", [f32(2, 3, 8), f32(8)], [F, F], domain="", axis=-1, epsilon=1e-4)
node("ms_layer_norm_16", "LayerNormalization", [f32(2, 3, 8), f32(8), f32(8)], [F], domain="", base=16, axis=-1)
ids, words, places, types = np.array([[1, 5, 3], [2, 0, 4]], np.int32), f32(6, 8), f32(4, 8), f32(2, 8)
ms("embed", "EmbedLayerNormalization", [ids, np.array([[0, 1, 1], [0, 0, 1]], np.int32), words, places, types, f32(8), f32(8), np.array([[1, 1, 0], [1, 1, 1]], np.int32)],
   [F, T.INT32, F], epsilon=1e-6)
ms("embed_plain", "EmbedLayerNormalization", [ids, None, words, places, None, f32(8), f32(8)], [F, T.INT32])
ms("inverse", "Inverse", [f32(2, 3, 3)], [F])
ms("expand_dims", "ExpandDims", [f32(2, 3), np.array(-1, np.int32)], [F], weights=(1,))
ms("range", "Range", [z(3, np.int64), z(9, np.int64), z(2, np.int64)], [T.INT64])
ms("pad", "Pad", [f32(2, 3), np.array([1, 0, 0, 2], np.int64), np.array([.5], np.float32)], [F], mode="constant")
ms("trilu", "Trilu", [f32(2, 3, 4), np.array(1, np.int64)], [F], upper=0)
ms("gather_nd", "GatherND", [f32(2, 3, 4), np.array([[0, 1], [1, 2]], np.int64)], [F])
ms("unique", "Unique", [np.array([3, 1, 3, 2, 1, 7], np.float32)], [F, T.INT64, T.INT64])
ms("cdist", "CDist", [f32(3, 4), f32(5, 4)], [F], metric="euclidean")
ms("cdist_square", "CDist", [f32(3, 4), f32(5, 4)], [F], metric="sqeuclidean")

# ---- attention
h = f32(2, 4, 8)
qkv, bias = f32(8, 24) * .4, f32(24)
ms("attention", "Attention", [h, qkv, bias], [F], num_heads=2)
ms("attention_lengths", "Attention", [h, qkv, bias, np.array([2, 4], np.int32)], [F], num_heads=2)
ms("attention_ends_starts", "Attention", [h, qkv, bias, np.array([4, 3, 1, 0], np.int32)], [F], num_heads=4)
ms("attention_mask", "Attention", [h, qkv, bias, np.array([[1, 1, 0, 1], [0, 1, 1, 1]], np.int32)], [F], num_heads=2, scale=.3)
ms("attention_mask_3", "Attention", [h, qkv, bias, np.tril(np.ones((2, 4, 4), np.int32))], [F], num_heads=2)
ms("attention_causal", "Attention", [h, qkv, bias], [F], num_heads=2, unidirectional=1)
ms("attention_past", "Attention", [h, qkv, bias, None, f32(2, 2, 2, 3, 4)], [F, F], num_heads=2, unidirectional=1)
ms("attention_added", "Attention", [h, qkv, bias, None, None, f32(2, 2, 4, 4)], [F], num_heads=2)
ms("attention_sizes", "Attention", [h, f32(8, 20), f32(20)], [F], num_heads=2, qkv_hidden_sizes=[8, 8, 4])
q, k, v = f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 12)
ms("mha", "MultiHeadAttention", [q, k, v], [F], num_heads=2)
ms("mha_bias", "MultiHeadAttention", [q, k, v, f32(28), np.array([[1, 1, 1, 0, 1], [1, 0, 0, 0, 0]], np.int32)], [F], num_heads=4)
ms("mha_past", "MultiHeadAttention", [q, f32(2, 3, 8), f32(2, 3, 8), None, None, None, f32(2, 2, 4, 4), f32(2, 2, 4, 4)], [F, F, F], num_heads=2, unidirectional=1)
ms("mha_added", "MultiHeadAttention", [q, k, f32(2, 5, 8), None, None, f32(1, 2, 3, 5)], [F], num_heads=2, scale=.5)
angles = np.outer(np.arange(10), 1 / 10 ** np.arange(4)).astype(np.float32)
more = np.outer(np.arange(10), 1 / 10 ** (np.arange(8) / 4)).astype(np.float32)
cos, sin = np.cos(angles), np.sin(angles)
ms("rotary", "RotaryEmbedding", [f32(2, 3, 16), np.array([2], np.int64), cos, sin], [F])
ms("rotary_4", "RotaryEmbedding", [f32(2, 2, 3, 8), np.array([[0, 4, 5], [1, 2, 9]], np.int64), cos, sin], [F], interleaved=1)
ms("rotary_part", "RotaryEmbedding", [f32(2, 3, 24), np.array([1], np.int64), cos, sin], [F], num_heads=2, rotary_embedding_dim=8)
cos2, sin2 = np.cos(more), np.sin(more)
i32 = lambda *v: np.array(v, np.int32)
none = np.zeros((2, 1, 0, 16), np.float32)
ms("gqa_prompt", "GroupQueryAttention", [f32(2, 3, 32), f32(2, 3, 16), f32(2, 3, 16), none, none, i32(2, 2), np.array(3, np.int32), cos2, sin2], [F, F, F], num_heads=2,
   kv_num_heads=1, do_rotary=1)
ms("gqa_step", "GroupQueryAttention", [f32(2, 1, 32), f32(2, 1, 16), f32(2, 1, 16), f32(2, 1, 4, 16), f32(2, 1, 4, 16), i32(4, 4), np.array(5, np.int32), cos2, sin2],
   [F, F, F], num_heads=2, kv_num_heads=1, do_rotary=1, scale=.3)
ms("gqa_packed", "GroupQueryAttention", [f32(1, 4, 64), None, None, none[:1], none[:1], i32(3), np.array(4, np.int32), cos2, sin2], [F, F, F], num_heads=2, kv_num_heads=1,
   do_rotary=1, rotary_interleaved=1)
ms("gqa_window", "GroupQueryAttention", [f32(1, 4, 32), f32(1, 4, 16), f32(1, 4, 16), none[:1], none[:1], i32(3), np.array(4, np.int32)], [F, F, F], num_heads=2, kv_num_heads=1,
   local_window_size=2)
ms("gqa_cap", "GroupQueryAttention", [f32(1, 4, 32), f32(1, 4, 16), f32(1, 4, 16), none[:1], none[:1], i32(3), np.array(4, np.int32)], [F, F, F], num_heads=2, kv_num_heads=1, softcap=2.)

# ---- quantised
a, b = u8(2, 3, 5), u8(2, 3, 5)
ms("q_add", "QLinearAdd", [a, s(.1), z(120), b, s(.07), z(100), s(.15), z(128)], [U])
ms("q_add_i8", "QLinearAdd", [i8(2, 6), s(.1), z(-3, np.int8), i8(6), s(.07), z(10, np.int8), s(.15), z(0, np.int8)], [I])
ms("q_mul", "QLinearMul", [a, s(.1), z(120), b, s(.07), z(100), s(.8), z(128)], [U])
ms("q_sigmoid", "QLinearSigmoid", [a, s(.05), z(128), s(1 / 256), z(0)], [U])
ms("q_leaky", "QLinearLeakyRelu", [a, s(.05), z(128), s(.04), z(60)], [U], alpha=.2)
ms("q_where", "QLinearWhere", [np.array([True, False, True, False, True]), a, s(.1), z(120), b, s(.07), z(100), s(.15), z(128)], [U])
ms("q_concat", "QLinearConcat", [s(.1), z(128), u8(2, 3), s(.1), z(128), u8(2, 4), s(.05), z(100)], [U], axis=1, weights=(0, 1, 3, 4, 6, 7))
im = u8(1, 3, 6, 6)
ms("q_pool", "QLinearAveragePool", [im, s(.1), z(128), s(.08), z(120)], [U], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
ms("q_pool_last", "QLinearAveragePool", [u8(1, 6, 6, 3), s(.1), z(128), s(.08), z(120)], [U], kernel_shape=[2, 2], strides=[2, 2], channels_last=1)
ms("q_global_pool", "QLinearGlobalAveragePool", [im, s(.1), z(128), s(.02), z(120)], [U])
ms("q_global_pool_last", "QLinearGlobalAveragePool", [u8(1, 6, 6, 3), s(.1), z(128), s(.02), z(120)], [U], channels_last=1)
ms("q_softmax", "QLinearSoftmax", [a, s(.05), z(128), s(1 / 256), z(0)], [U], axis=-1, opset=13, weights=(1, 2, 3, 4))
ms("q_softmax_11", "QLinearSoftmax", [a, s(.02), z(128), s(1 / 256), z(0)], [U], axis=1, opset=11, weights=(1, 2, 3, 4))
ms("q_gemm", "QGemm", [u8(3, 4), s(.1), z(120), u8(4, 5), s(.05), z(130), np.arange(-2, 3, dtype=np.int32) * 100, s(.3), z(128)], [U])
ms("q_gemm_float", "QGemm", [u8(4, 3), s(.1), z(120), i8(5, 4), s([.05, .04, .03, .02, .01]), z([0, 1, 2, 3, 4], np.int8), None, None, None], [F], transA=1, transB=1, alpha=.5)
ms("nhwc_max_pool", "NhwcMaxPool", [u8(1, 7, 6, 3)], [U], kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 0])
ms("q_conv_last", "QLinearConv", [u8(1, 5, 5, 2), s(.1), z(128), i8(3, 2, 3, 3), s(.05), z(0, np.int8), s(.4), z(120), np.array([10, -200, 30], np.int32)], [U], channels_last=1,
   kernel_shape=[3, 3], weights=(1, 2, 3, 4, 5, 6, 7, 8))
ms("to_float", "MatMulIntegerToFloat", [u8(2, 3, 4), u8(4, 5), s(.1), s([.1, .2, .3, .4, .5]), z(120), z([0, 128, 3, 4, 5]), f32(5)], [F], weights=(1, 3, 5))
ms("to_float_one", "MatMulIntegerToFloat", [u8(2, 3, 4), i8(4, 5), s(.1), s(.2)], [F])
ms("dynamic_matmul", "DynamicQuantizeMatMul", [f32(2, 3, 8), i8(8, 5), s([.1, .2, .3, .4, .5]), None, f32(5)], [F], weights=(1, 2, 4))
for bits, k, block, zeros in ((4, 32, 16, None), (4, 40, 32, "u8"), (4, 48, 16, "f32"), (8, 40, 32, None), (8, 32, 16, "u8"), (2, 32, 16, None)):
    n, blocks = 5, -(-k // block)
    zp = {None: None, "u8": u8(n * ((blocks * bits + 7) // 8)), "f32": (f32(n * blocks) * 3 + 8).astype(np.float32)}[zeros]
    ms(f"bits_{bits}_{k}_{zeros or 'none'}", "MatMulNBits", [f32(2, 3, k), u8(n, blocks, block * bits // 8), f32(n * blocks), zp, None, f32(n)], [F], K=k, N=n, bits=bits,
       block_size=block, weights=(1, 2, 3) if zp is not None else (1, 2))
ms("q_attention", "QAttention", [u8(2, 4, 8), i8(8, 24), f32(24), s(.02), s(.01), np.array([2, 4], np.int32), z(128), z(0, np.int8)], [F], num_heads=2, weights=(1,))
ms("q_attention_past", "QAttention", [u8(2, 4, 8), u8(8, 24), f32(24), s(.02), s(.01), None, z(128), z(120), f32(2, 2, 2, 3, 4)], [F, F], num_heads=2, unidirectional=1, weights=(1,))
w, r = i8(1, 3, 16), i8(1, 4, 16)
ms("dynamic_lstm", "DynamicQuantizeLSTM", [f32(5, 2, 3), w, r, f32(1, 32), None, None, None, None, s([.005]), z([0], np.int8), s([.004]), z([0], np.int8)], [F, F, F], hidden_size=4, weights=(1, 2, 8, 9, 10, 11))
w, r = i8(2, 6, 20), i8(2, 5, 20)
ms("dynamic_lstm_both", "DynamicQuantizeLSTM", [f32(7, 3, 6), w, r, f32(2, 40), None, f32(2, 3, 5), f32(2, 3, 5), None, np.abs(f32(2, 20)) / 100 + s(.001), z(np.zeros((2, 20)), np.int8),
   np.abs(f32(2, 20)) / 100 + s(.001), z(np.zeros((2, 20)), np.int8)], [F, F, F], hidden_size=5, direction="bidirectional", weights=(1, 2, 8, 9, 10, 11))
ms("dynamic_lstm_zeros", "DynamicQuantizeLSTM", [f32(4, 2, 6), u8(1, 6, 20), u8(1, 5, 20), f32(1, 40), None, None, None, None, s([.004]), z([121]), s([.003]), z([133])], [F, F, F],
   hidden_size=5, direction="reverse", weights=(1, 2, 8, 9, 10, 11))
