/* suites.h: rows of wick bench besides the page of ops, in the form of ops.h, and:
 *
 *   PLAIN(...)                                        a ROW that is compiled without passes: a kernel for each op
 *   INFER(NAME, (INPUT), NETWORK, PEER)               a network of wick_zoo_find, "lstm:UNITS" or "encoder:LAYERS", in
 *                                                     evaluation, with fresh weights
 *   TRAIN(NAME, (INPUT, LABELS), NETWORK, OPTIMIZER, PEER)   a step of its training: forward, backward, update
 *   TRAIN_IN(NAME, (INPUT, LABELS), NETWORK, OPTIMIZER, COMPILE_OPTIONS, PEER)      such a step in the suite memory,
 *                                                     under a budget or in another precision
 *   UPDATE(NAME, OPTIMIZER, PEER)                     an update of four parameters of 512 x 512 by given gradients
 *   CALL(SUITE, NAME, FUNCTION)                       of rows.c; PROCESS(...): one that starts a process
 *
 * PEER of INFER and TRAIN makes the network, by a function of peers.py; that of UPDATE makes the optimizers. Where it
 * is empty there is nothing to race. */

/* clang-format off */
#define GEMM(type, m, n, k)    ROW(gemm, type##_##m##x##n##x##k, (type[m,k], type[k,n]), wick_matmul(x, a), torch.matmul(x, a, out=y))
#define GEMM_NT(type, m, n, k) ROW(gemm, type##_nt_##m##x##n##x##k, (type[m,k], type[n,k]), wick_matmul(x, wick_transpose(a, 0, 1)), torch.matmul(x, a.T, out=y))
#define GEMM_TN(type, m, n, k) ROW(gemm, type##_tn_##m##x##n##x##k, (type[k,m], type[k,n]), wick_matmul(wick_transpose(x, 0, 1), a), torch.matmul(x.T, a, out=y))
#define GEMM_TT(type, m, n, k) ROW(gemm, type##_tt_##m##x##n##x##k, (type[k,m], type[n,k]), wick_matmul(wick_transpose(x, 0, 1), wick_transpose(a, 0, 1)), torch.matmul(x.T, a.T, out=y))
#define GEMM_INT8(type, m, n, k) ROW(gemm, type##_i8_##m##x##n##x##k, (type[m,k], i8[k,n]), wick_int8_matmul(x, a, NULL), torch._int_mm(x, a, out=y))
/* Weights of 4 bits in blocks of 32 that stay. */
#define GEMM_INT4(m, n, k, blocks) \
    ROW(gemm, int4_##m##x##n##x##k, (f32[m,k], kept u8[n,blocks,16], kept f32[n,blocks]), wick_int4_linear(x, a, b, NULL, NULL), ONNX Runtime)
/* Weights of 8 bits that stay, a scale for each output. */
#define GEMM_LINEAR8(m, n, k) \
    ROW(gemm, linear8_##m##x##n##x##k, (f32[m,k], kept i8[n,1,k], kept f32[n,1]), wick_int8_linear(x, a, b, NULL, NULL), ONNX Runtime)
GEMM(f32, 64, 64, 64)
GEMM(f32, 128, 128, 128)
GEMM(f32, 256, 256, 256)
GEMM(f32, 512, 512, 512)
GEMM(f32, 1000, 1000, 1000)
GEMM(f32, 1024, 1024, 1024)
GEMM(f32, 2048, 2048, 2048)
GEMM(f32, 64, 10, 128)
GEMM(f32, 64, 128, 784)
GEMM(f32, 256, 512, 512)
GEMM_NT(f32, 512, 512, 512)
GEMM_TN(f32, 512, 512, 512)
GEMM_TT(f32, 512, 512, 512)
GEMM_NT(f32, 256, 128, 784)
GEMM_TN(f32, 128, 784, 256)
GEMM(f32, 4096, 32, 4096)
GEMM(f32, 33, 65, 129)
GEMM(f32, 8, 8, 8)
GEMM_NT(f32, 1, 512, 512)
GEMM(f32, 1, 512, 512)
GEMM_NT(f32, 1, 4096, 4096)
GEMM(f32, 1, 4096, 4096)
GEMM(f64, 256, 256, 256)
GEMM(f64, 1024, 1024, 1024)
GEMM(bf16, 64, 64, 64)
GEMM(bf16, 128, 128, 128)
GEMM(bf16, 256, 256, 256)
GEMM(bf16, 512, 512, 512)
GEMM(bf16, 1024, 1024, 1024)
GEMM(bf16, 2048, 2048, 2048)
GEMM(bf16, 256, 512, 512)
GEMM_NT(bf16, 64, 128, 784)
GEMM_NT(bf16, 512, 512, 512)
GEMM_TN(bf16, 512, 512, 512)
GEMM_TT(bf16, 512, 512, 512)
GEMM(bf16, 1, 4096, 4096)
GEMM(f16, 256, 256, 256)
GEMM(f16, 1024, 1024, 1024)
GEMM(f16, 1, 4096, 4096)
GEMM_INT8(u8, 64, 64, 64)
GEMM_INT8(u8, 128, 128, 128)
GEMM_INT8(u8, 256, 256, 256)
GEMM_INT8(u8, 512, 512, 512)
GEMM_INT8(u8, 1024, 1024, 1024)
GEMM_INT8(u8, 64, 128, 784)
GEMM_INT8(u8, 1, 4096, 4096)
GEMM_INT4(1, 512, 512, 16)
GEMM_INT4(1, 4096, 4096, 128)
GEMM_INT4(4, 4096, 4096, 128)
GEMM_INT4(64, 512, 512, 16)
GEMM_INT4(512, 4096, 4096, 128)
GEMM_LINEAR8(1, 512, 512)
GEMM_LINEAR8(1, 4096, 4096)
GEMM_LINEAR8(4, 4096, 4096)
GEMM_LINEAR8(64, 512, 512)
GEMM_LINEAR8(512, 4096, 4096)
GEMM_INT8(i8, 256, 256, 256)
GEMM_INT8(i8, 1024, 1024, 1024)
ROW(gemm, f32_batched_64x32x32x32, (f32[64,32,32], f32[64,32,32]), wick_matmul(x, a), torch.bmm(x, a, out=y))
ROW(gemm, f32_linear_relu_256x512x512, (f32[256,512], f32[512,512], f32[512]), wick_relu(wick_linear(x, a, b)), torch.relu_(F.linear(x, a, b)))
CALL(gemm, naive_f32_1000x1000x1000, naive_1000)

/* Weights that stay, of which so many percent are zeros: z0 is dense. kernels/sparse/sparse_tuning.h goes by these. */
#define SPARSE(zeros, m, n, k) ROW(sparse, m##x##n##x##k##_z##zeros, (f32[m,k], kept f32[n,k]%zeros), wick_linear(x, a, NULL), )
#define SPARSE_1X1(zeros, hw, ci, co) \
    ROW(sparse, 1x1_##ci##_##co##_##hw##_z##zeros, (f32[1,hw,hw,ci], kept f32[co,ci,1,1]%zeros), nhwc(wick_conv(nchw(x), a, NULL, NULL)), )
#define SPARSE_1X1_S2(zeros, hw, ci, co) \
    ROW(sparse, 1x1_s2_##ci##_##co##_##hw##_z##zeros, (f32[1,hw,hw,ci], kept f32[co,ci,1,1]%zeros), nhwc(wick_conv(nchw(x), a, NULL, &(wick_conv_options){.stride = {2, 2}})), )
#define ZEROS(X, ...) X(0, __VA_ARGS__) X(50, __VA_ARGS__) X(60, __VA_ARGS__) X(70, __VA_ARGS__) X(75, __VA_ARGS__) X(80, __VA_ARGS__) X(90, __VA_ARGS__) X(95, __VA_ARGS__)
ZEROS(SPARSE, 1, 256, 256)
ZEROS(SPARSE, 1, 512, 784)
ZEROS(SPARSE, 1, 1024, 1024)
ZEROS(SPARSE, 2, 512, 512)
ZEROS(SPARSE, 4, 512, 512)
ZEROS(SPARSE, 8, 512, 512)
ZEROS(SPARSE, 16, 512, 512)
ZEROS(SPARSE, 24, 512, 512)
ZEROS(SPARSE, 32, 512, 512)
ZEROS(SPARSE, 64, 256, 256)
ZEROS(SPARSE, 64, 512, 784)
ZEROS(SPARSE, 256, 1024, 1024)
ZEROS(SPARSE_1X1, 7, 512, 512)
ZEROS(SPARSE_1X1, 14, 256, 256)
ZEROS(SPARSE_1X1, 28, 128, 128)
ZEROS(SPARSE_1X1, 56, 64, 64)
ZEROS(SPARSE_1X1_S2, 14, 256, 512)
ZEROS(SPARSE_1X1_S2, 56, 64, 128)
#undef ZEROS

/* ResNet-18 at 224 pixels (He et al. 2015, table 1); n images. As within a network: channels lie last and weights stay, so nothing is laid out anew. */
#define CONV(n, name, ci, hw, co, k, s, p)                                                                                                                            \
    ROW(conv, name##_n##n, (f32[n,hw,hw,ci], kept f32[co,ci,k,k]), nhwc(wick_conv(nchw(x), a, NULL, &(wick_conv_options){.pad = {p, p}, .stride = {s, s}})),          \
        nhwc(F.conv2d(nchw(x), a, padding=p, stride=s)))
#define CONV_GRAD(n, name, ci, hw, co, k, s, p, out)                                                                                                                  \
    GRAD(conv, name##_backward_n##n, (f32[n,hw,hw,ci], kept f32[co,ci,k,k], f32[n,out,out,co]),                                                                       \
         nhwc(wick_conv(nchw(x), a, NULL, &(wick_conv_options){.pad = {p, p}, .stride = {s, s}})), nhwc(F.conv2d(nchw(x), a, padding=p, stride=s)))
#define DEPTHWISE(n, name, c, hw, s, out)                                                                                                                             \
    ROW(conv, name##_n##n, (f32[n,hw,hw,c], kept f32[c,1,3,3]), nhwc(wick_conv(nchw(x), a, NULL, &(wick_conv_options){.pad = {1, 1}, .stride = {s, s}, .groups = c})), \
        nhwc(F.conv2d(nchw(x), a, padding=1, stride=s, groups=c)))                                                                                                    \
    GRAD(conv, name##_backward_n##n, (f32[n,hw,hw,c], kept f32[c,1,3,3], f32[n,out,out,c]),                                                                           \
         nhwc(wick_conv(nchw(x), a, NULL, &(wick_conv_options){.pad = {1, 1}, .stride = {s, s}, .groups = c})), nhwc(F.conv2d(nchw(x), a, padding=1, stride=s, groups=c)))
#define RESNET18(n)                              \
    CONV(n, stem_7x7_s2, 3, 224, 64, 7, 2, 3)    \
    CONV(n, 3x3_64_56, 64, 56, 64, 3, 1, 1)      \
    CONV(n, 3x3_64_128_s2, 64, 56, 128, 3, 2, 1) \
    CONV(n, 1x1_64_128_s2, 64, 56, 128, 1, 2, 0) \
    CONV(n, 3x3_128_28, 128, 28, 128, 3, 1, 1)   \
    CONV(n, 3x3_256_14, 256, 14, 256, 3, 1, 1)   \
    CONV(n, 3x3_512_7, 512, 7, 512, 3, 1, 1)     \
    CONV(n, 1x1_256_64_56, 256, 56, 64, 1, 1, 0) \
    CONV_GRAD(n, stem_7x7_s2, 3, 224, 64, 7, 2, 3, 112) \
    CONV_GRAD(n, 3x3_64_56, 64, 56, 64, 3, 1, 1, 56)    \
    CONV_GRAD(n, 3x3_64_128_s2, 64, 56, 128, 3, 2, 1, 28) \
    CONV_GRAD(n, 3x3_256_14, 256, 14, 256, 3, 1, 1, 14) \
    CONV_GRAD(n, 3x3_512_7, 512, 7, 512, 3, 1, 1, 7)    \
    CONV_GRAD(n, 1x1_256_64_56, 256, 56, 64, 1, 1, 0, 56) \
    DEPTHWISE(n, depthwise_128_56, 128, 56, 1, 56)      \
    DEPTHWISE(n, depthwise_128_56_s2, 128, 56, 2, 28)
RESNET18(1)
RESNET18(16)
/* Of small networks. */
#define SMALL_CONV(name, ci, hw, co, p, out) CONV(64, name, ci, hw, co, 3, 1, p) CONV_GRAD(64, name, ci, hw, co, 3, 1, p, out)
SMALL_CONV(3x3_1_32_28, 1, 28, 32, 0, 26)
SMALL_CONV(3x3_32_64_26, 32, 26, 64, 0, 24)
SMALL_CONV(3x3_3_16_32, 3, 32, 16, 1, 32)
SMALL_CONV(3x3_16_32, 16, 32, 16, 1, 32)
SMALL_CONV(3x3_32_16, 32, 16, 32, 1, 16)
SMALL_CONV(3x3_64_8, 64, 8, 64, 1, 8)

/* One pass over a million elements. */
ROW(elementwise, add_1M, (f32[1048576], f32[1048576]), wick_add(x, a), torch.add(x, a, out=y))
ROW(reduce, sum_1M, (f32[1048576]), wick_sum(x, WICK_ALL_AXES, false), torch.sum(x, 0, out=y))
ROW(fused, relu_mul_add_1M, (f32[1048576], f32[1048576], f32[1048576]), wick_relu(wick_add(wick_mul(x, a), b)), torch.relu_(torch.addcmul(b, x, a, out=y)))
ROW(fused, relu_mul_add_row_1M, (f32[4096,256], f32[4096,256], f32[256]), wick_relu(wick_add(wick_mul(x, a), b)), torch.relu_(torch.addcmul(b, x, a, out=y)))
ROW(fused, gelu_1M, (f32[1048576]), wick_gelu(x), nn.gelu(x, out=y))
ROW(fused, softmax_4096x256, (f32[4096,256]), wick_softmax(x, 1), torch.softmax(x, 1, out=y))

#define ATTENTION(suite, n, heads, l, width)                                                                                                                                \
    ROW(suite, n##x##heads##x##l##x##width, (f32[n,heads,l,width], f32[n,heads,l,width], f32[n,heads,l,width]), wick_attention(x, a, b, NULL), F.scaled_dot_product_attention(x, a, b)) \
    GRAD(suite, n##x##heads##x##l##x##width##_backward, (f32[n,heads,l,width], f32[n,heads,l,width], f32[n,heads,l,width], f32[n,heads,l,width]), wick_attention(x, a, b, NULL), F.scaled_dot_product_attention(x, a, b))
ATTENTION(attention, 1, 8, 256, 64)
ATTENTION(attention, 1, 8, 1024, 64)
ATTENTION(attention, 8, 4, 128, 32)
ATTENTION(attention, 1, 8, 1024, 128)
/* Other widths, short rows, heads that share keys, half types. */
#define ATTENTION_OF(name, type, heads, shared, length, width, how, ...)                                                                                                                      \
    ROW(attention, name, (type[1,heads,length,width], type[1,shared,length,width], type[1,shared,length,width]), wick_attention(x, a, b, how), F.scaled_dot_product_attention(x, a, b, __VA_ARGS__)) \
    GRAD(attention, name##_backward, (type[1,heads,length,width], type[1,shared,length,width], type[1,shared,length,width], type[1,heads,length,width]), wick_attention(x, a, b, how), F.scaled_dot_product_attention(x, a, b, __VA_ARGS__))
ATTENTION_OF(1x8x1024x32, f32, 8, 8, 1024, 32, NULL, None)
ATTENTION_OF(1x8x1024x80, f32, 8, 8, 1024, 80, NULL, None)
ATTENTION_OF(1x8x64x64, f32, 8, 8, 64, 64, NULL, None)
ATTENTION_OF(shared_8_by_2x1024x64, f32, 8, 2, 1024, 64, (&(wick_attention_options){.grouped = true}), enable_gqa=True)
ATTENTION_OF(bf16_1x8x1024x64, bf16, 8, 8, 1024, 64, NULL, None)

/* t steps of n samples, i features, h units; g: of all gates. */
#define LSTM(t, n, i, h, g)                                                                                                                                                 \
    ROW(rnn, lstm_##t##x##n##x##i##x##h, (f32[t,n,i], f32[g,i]*0.1, f32[g,h]*0.1, f32[g]*0.1, f32[g]*0.1, f32[1,n,h], f32[1,n,h]), wick_lstm(x, &(wick_rnn_inputs){.w_ih = a, .w_hh = b, .b_ih = c, .b_hh = d, .h0 = e, .c0 = f}, NULL, NULL, NULL), torch.lstm(x, (e, f), (a, b, c, d), True, 1, 0.0, True, False, False)[0]) \
    GRAD(rnn, lstm_##t##x##n##x##i##x##h##_backward, (f32[t,n,i], f32[g,i]*0.1, f32[g,h]*0.1, f32[g]*0.1, f32[g]*0.1, f32[1,n,h], f32[1,n,h], f32[t,n,h]), wick_lstm(x, &(wick_rnn_inputs){.w_ih = a, .w_hh = b, .b_ih = c, .b_hh = d, .h0 = e, .c0 = f}, NULL, NULL, NULL), torch.lstm(x, (e, f), (a, b, c, d), True, 1, 0.0, True, False, False)[0])
#define GRU(t, n, i, h, g)                                                                                                                                                  \
    ROW(rnn, gru_##t##x##n##x##i##x##h, (f32[t,n,i], f32[g,i]*0.1, f32[g,h]*0.1, f32[g]*0.1, f32[g]*0.1, f32[1,n,h]), wick_gru(x, &(wick_rnn_inputs){.w_ih = a, .w_hh = b, .b_ih = c, .b_hh = d, .h0 = e}, NULL, NULL), torch.gru(x, e, (a, b, c, d), True, 1, 0.0, True, False, False)[0]) \
    GRAD(rnn, gru_##t##x##n##x##i##x##h##_backward, (f32[t,n,i], f32[g,i]*0.1, f32[g,h]*0.1, f32[g]*0.1, f32[g]*0.1, f32[1,n,h], f32[t,n,h]), wick_gru(x, &(wick_rnn_inputs){.w_ih = a, .w_hh = b, .b_ih = c, .b_hh = d, .h0 = e}, NULL, NULL), torch.gru(x, e, (a, b, c, d), True, 1, 0.0, True, False, False)[0])
#define RNN(t, n, i, h)                                                                                                                                                     \
    ROW(rnn, rnn_##t##x##n##x##i##x##h, (f32[t,n,i], f32[h,i]*0.1, f32[h,h]*0.1, f32[h]*0.1, f32[h]*0.1, f32[1,n,h]), wick_rnn(x, &(wick_rnn_inputs){.w_ih = a, .w_hh = b, .b_ih = c, .b_hh = d, .h0 = e}, NULL, NULL), torch.rnn_tanh(x, e, (a, b, c, d), True, 1, 0.0, True, False, False)[0]) \
    GRAD(rnn, rnn_##t##x##n##x##i##x##h##_backward, (f32[t,n,i], f32[h,i]*0.1, f32[h,h]*0.1, f32[h]*0.1, f32[h]*0.1, f32[1,n,h], f32[t,n,h]), wick_rnn(x, &(wick_rnn_inputs){.w_ih = a, .w_hh = b, .b_ih = c, .b_hh = d, .h0 = e}, NULL, NULL), torch.rnn_tanh(x, e, (a, b, c, d), True, 1, 0.0, True, False, False)[0])
LSTM(64, 32, 256, 256, 1024)
LSTM(64, 1, 256, 256, 1024)
LSTM(100, 64, 80, 128, 512)
LSTM(20, 128, 512, 512, 2048)
GRU(64, 32, 256, 256, 768)
GRU(64, 1, 256, 256, 768)
RNN(64, 32, 256, 256)
RNN(64, 1, 256, 256)

/* mnist_12m: 784-2560-2560-1536-10, 12.5 million parameters, which the published figures of MNIST are for at least. */
#define MNIST_12M "mlp:2560,2560,1536"
/* What a node costs that does nearly nothing. */
ROW(infer, chain_1000, (f32[1,8], f32[8,8]), chain_1000(x, a), functools.reduce(lambda v, _: torch.tanh(torch.matmul(v, a)), range(500), x))
INFER(mlp_large_1, (f32[1,784]), "mlp:512,512", mlp(784, 512, 512, 10))
INFER(mlp_large_64, (f32[64,784]), "mlp:512,512", mlp(784, 512, 512, 10))
INFER(resnet8_1, (f32[1,3,32,32]), "resnet8", resnet8())
INFER(resnet8_64, (f32[64,3,32,32]), "resnet8", resnet8())
INFER(mnist_12m_1, (f32[1,784]), MNIST_12M, mlp(784, 2560, 2560, 1536, 10))
INFER(mnist_12m_32, (f32[32,784]), MNIST_12M, mlp(784, 2560, 2560, 1536, 10))
INFER(mnist_12m_64, (f32[64,784]), MNIST_12M, mlp(784, 2560, 2560, 1536, 10))
INFER(lstm_128x28_1, (f32[28,1,28]), "lstm:128", Lstm(28, 128))
INFER(lstm_128x28_64, (f32[28,64,28]), "lstm:128", Lstm(28, 128))
TRAIN(mlp_small_64, (f32[64,784], i64[64]<10), "mlp:128", (.kind = WICK_SGD, .lr = 0.01), mlp(784, 128, 10))
TRAIN(mlp_small_256, (f32[256,784], i64[256]<10), "mlp:128", (.kind = WICK_SGD, .lr = 0.01), mlp(784, 128, 10))
TRAIN(mlp_large_64, (f32[64,784], i64[64]<10), "mlp:512,512", (.kind = WICK_ADAM, .lr = 1e-3), mlp(784, 512, 512, 10))
TRAIN(mlp_large_256, (f32[256,784], i64[256]<10), "mlp:512,512", (.kind = WICK_ADAM, .lr = 1e-3), mlp(784, 512, 512, 10))
TRAIN(cnn_64, (f32[64,1,28,28], i64[64]<10), "net:conv 32 3, relu, conv 64 3, relu, maxpool 2, flatten, linear 128, relu, linear classes", (.kind = WICK_ADAM, .lr = 1e-3), cnn())
TRAIN(resnet8_64, (f32[64,3,32,32], i64[64]<10), "resnet8", (.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9), resnet8())
TRAIN(lstm_128x28_64, (f32[28,64,28], i64[64]<10), "lstm:128", (.kind = WICK_ADAM, .lr = 1e-3), Lstm(28, 128))
TRAIN(mnist_12m_64, (f32[64,784], i64[64]<10), MNIST_12M, (.kind = WICK_ADAM, .lr = 1e-3), mlp(784, 2560, 2560, 1536, 10))

UPDATE(sgd, (.lr = 1e-6), updates("SGD"))
UPDATE(momentum, (.lr = 1e-6, .momentum = 0.9), updates("SGD", momentum=0.9))
UPDATE(momentum_decay, (.lr = 1e-6, .momentum = 0.9, .weight_decay = 1e-4), updates("SGD", momentum=0.9, weight_decay=1e-4))
UPDATE(nesterov_decay, (.lr = 1e-6, .momentum = 0.9, .weight_decay = 1e-4, .nesterov = true), updates("SGD", momentum=0.9, weight_decay=1e-4, nesterov=True))
UPDATE(adam, (.kind = WICK_ADAM, .lr = 1e-6), updates("Adam"))
UPDATE(adam_clip, (.kind = WICK_ADAM, .lr = 1e-6, .clip_norm = 1), updates("Adam", clip=True))
UPDATE(adamw, (.kind = WICK_ADAMW, .lr = 1e-6, .weight_decay = 0.01), updates("AdamW", weight_decay=0.01))
UPDATE(adamw_clip, (.kind = WICK_ADAMW, .lr = 1e-6, .weight_decay = 0.01, .clip_norm = 1), updates("AdamW", weight_decay=0.01, clip=True))
UPDATE(adamw_ema, (.kind = WICK_ADAMW, .lr = 1e-6, .weight_decay = 0.01, .average = {.kind = WICK_AVERAGE_EMA}), updates("AdamW", weight_decay=0.01, ema=True))
UPDATE(adamax, (.kind = WICK_ADAMAX, .lr = 1e-6), updates("Adamax"))
UPDATE(nadam, (.kind = WICK_NADAM, .lr = 1e-6), updates("NAdam"))
UPDATE(radam, (.kind = WICK_RADAM, .lr = 1e-6), updates("RAdam"))
UPDATE(rmsprop, (.kind = WICK_RMSPROP, .lr = 1e-6), updates("RMSprop"))
UPDATE(adagrad, (.kind = WICK_ADAGRAD, .lr = 1e-6), updates("Adagrad"))
UPDATE(adadelta, (.kind = WICK_ADADELTA, .lr = 1e-6), updates("Adadelta"))
UPDATE(lion, (.kind = WICK_LION, .lr = 1e-6), )
UPDATE(lion_decay, (.kind = WICK_LION, .lr = 1e-6, .weight_decay = 0.01), )
UPDATE(lamb, (.kind = WICK_LAMB, .lr = 1e-6), )
UPDATE(muon, (.kind = WICK_MUON, .lr = 1e-6), updates("Muon", weight_decay=0.0))

CALL(startup, context, new_context)
CALL(startup, first_result, first_result)
PROCESS(startup, process, new_process)
PLAIN(startup, plan_64_nodes, (f32[1]), chain_64(x), functools.reduce(lambda v, _: torch.tanh(v), range(64), x))
CALL(startup, record_64_nodes, record_64)
CALL(compile, chain_1000, compile_chain)
CALL(compile, resnet8_training, compile_resnet8_training)
CALL(compile, resnet8_inference, compile_resnet8_inference)
CALL(memory, tensors_1000, make_tensors)
TRAIN_IN(resnet8_64_in_28_MB, (f32[64,3,32,32], i64[64]<10), "resnet8", (.kind = WICK_ADAM), (.memory_budget = 28000000), resnet8())
TRAIN_IN(resnet8_64_bf16, (f32[64,3,32,32], i64[64]<10), "resnet8", (.kind = WICK_ADAM), (.precision = WICK_PRECISION_BF16), resnet8())
/* 6 layers of 256, 8 heads, feed-forward 1024, norms first, over 512 places of 4 samples. */
#define ENCODER(name, network, plan) TRAIN_IN(encoder_6x512##name, (f32[4,512,256], i64[4]<10), network, (.kind = WICK_ADAM), plan, encoder(6))
ENCODER(, "encoder:6", (.memory_budget = 0))
ENCODER(_in_140_MB, "encoder:6", (.memory_budget = 140000000))
ENCODER(_in_100_MB, "encoder:6", (.memory_budget = 100000000))
ENCODER(_by_layer, "encoder:6,1", (.memory_budget = 0))
ENCODER(_by_layer_bf16, "encoder:6,1", (.precision = WICK_PRECISION_BF16))
PLAIN(memory, chain_64_in_arena, (f32[256,256]), chain_64(x), functools.reduce(lambda v, _: torch.tanh(v), range(64), x))
CALL(memory, chain_64_allocating, chain_64_allocating)
PLAIN(memory, items_64_in_arena, (f32[64,64], f32[64,64]), items_64(x, a), functools.reduce(lambda v, _: torch.softmax(torch.relu(v) @ a, 1), range(64), x))
CALL(memory, items_64_allocating, items_64_allocating)
ATTENTION(memory, 1, 8, 512, 64)
ATTENTION(memory, 1, 8, 2048, 64)
ATTENTION(memory, 1, 8, 4096, 64)
GRAD(memory, 1x8x1024x64_plain_backward, (f32[1,8,1024,64], f32[1,8,1024,64], f32[1,8,1024,64], f32[1,8,1024,64]), wick_attention(x, a, b, &(wick_attention_options){.plain = true}), F.scaled_dot_product_attention(x, a, b))
/* clang-format on */
