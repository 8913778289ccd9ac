/* suites.h: rows of wick bench besides the page of ops, in the form of ops.h, and:
 *
 *   INFER(NAME, (INPUT), NETWORK, PEER)               a network of wick_zoo_find in evaluation, with fresh weights
 *   TRAIN(NAME, (INPUT, LABELS), NETWORK, OPTIMIZER, PEER)   a step of its training: forward, backward, update
 *   CALL(SUITE, NAME, FUNCTION)                       of suites.c
 *   TARGET(SECONDS, ...)                              a ROW with a published time, to beat
 *
 * PEER of INFER and TRAIN is a function of peers.py that makes the network. */

/* clang-format off */
#define GEMM(type, m, n, k)    ROW(gemm, type##_##m##x##n##x##k, (type[m,k], type[k,n]), wick_matmul(x, a), torch.matmul(x, a, out=y))
#define GEMM_NT(type, m, n, k) ROW(gemm, type##_nt_##m##x##n##x##k, (type[m,k], type[n,k]), wick_matmul(x, wick_transpose(a, 0, 1)), torch.matmul(x, a.T, out=y))
#define GEMM_TN(type, m, n, k) ROW(gemm, type##_tn_##m##x##n##x##k, (type[k,m], type[k,n]), wick_matmul(wick_transpose(x, 0, 1), a), torch.matmul(x.T, a, out=y))
#define GEMM_TT(type, m, n, k) ROW(gemm, type##_tt_##m##x##n##x##k, (type[k,m], type[n,k]), wick_matmul(wick_transpose(x, 0, 1), wick_transpose(a, 0, 1)), torch.matmul(x.T, a.T, out=y))
GEMM(f32, 64, 64, 64)
GEMM(f32, 128, 128, 128)
GEMM(f32, 256, 256, 256)
GEMM(f32, 512, 512, 512)
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
GEMM(bf16, 256, 256, 256)
GEMM(bf16, 1024, 1024, 1024)
GEMM(f16, 256, 256, 256)
GEMM(f16, 1024, 1024, 1024)
ROW(gemm, f32_batched_64x32x32x32, (f32[64,32,32], f32[64,32,32]), wick_matmul(x, a), torch.bmm(x, a, out=y))
ROW(gemm, f32_linear_relu_256x512x512, (f32[256,512], f32[512,512], f32[512]), wick_relu(wick_linear(x, a, b)), torch.relu_(F.linear(x, a, b)))

/* ResNet-18 at 224 pixels (He et al. 2015, table 1); n images. */
#define CONV(n, name, ci, hw, co, k, s, p)                                                                                                                            \
    ROW(conv, name##_n##n, (f32[n,ci,hw,hw], f32[co,ci,k,k]), wick_conv(x, a, NULL, &(wick_conv_options){.pad = {p, p}, .stride = {s, s}}), F.conv2d(x, a, padding=p, stride=s))
#define CONV_GRAD(n, name, ci, hw, co, k, s, p, out)                                                                                                                  \
    GRAD(conv, name##_backward_n##n, (f32[n,ci,hw,hw], f32[co,ci,k,k], f32[n,co,out,out]), wick_conv(x, a, NULL, &(wick_conv_options){.pad = {p, p}, .stride = {s, s}}), F.conv2d(x, a, padding=p, stride=s))
#define DEPTHWISE(n, name, c, hw, s, out)                                                                                                                             \
    ROW(conv, name##_n##n, (f32[n,c,hw,hw], f32[c,1,3,3]), wick_conv(x, a, NULL, &(wick_conv_options){.pad = {1, 1}, .stride = {s, s}, .groups = c}), F.conv2d(x, a, padding=1, stride=s, groups=c)) \
    GRAD(conv, name##_backward_n##n, (f32[n,c,hw,hw], f32[c,1,3,3], f32[n,c,out,out]), wick_conv(x, a, NULL, &(wick_conv_options){.pad = {1, 1}, .stride = {s, s}, .groups = c}), F.conv2d(x, a, padding=1, stride=s, groups=c))
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

/* One pass over a million elements. */
ROW(fused, relu_mul_add_1M, (f32[1048576], f32[1048576], f32[1048576]), wick_relu(wick_add(wick_mul(x, a), b)), torch.relu_(torch.addcmul(b, x, a)))
ROW(fused, gelu_1M, (f32[1048576]), wick_gelu(x), nn.gelu(x, out=y))
ROW(fused, softmax_4096x256, (f32[4096,256]), wick_softmax(x, 1), torch.softmax(x, 1, out=y))

INFER(mlp_large_1, (f32[1,784]), "mlp:512,512", mlp(784, 512, 512, 10))
INFER(mlp_large_64, (f32[64,784]), "mlp:512,512", mlp(784, 512, 512, 10))
INFER(resnet8_1, (f32[1,3,32,32]), "resnet8", resnet8())
INFER(resnet8_64, (f32[64,3,32,32]), "resnet8", resnet8())
TRAIN(mlp_small_64, (f32[64,784], i64[64]<10), "mlp:128", (.kind = WICK_SGD, .lr = 0.01), mlp(784, 128, 10))
TRAIN(mlp_large_64, (f32[64,784], i64[64]<10), "mlp:512,512", (.kind = WICK_ADAM, .lr = 1e-3), mlp(784, 512, 512, 10))
TRAIN(cnn_64, (f32[64,1,28,28], i64[64]<10), "net:conv 32 3, relu, conv 64 3, relu, maxpool 2, flatten, linear 128, relu, linear classes", (.kind = WICK_ADAM, .lr = 1e-3), cnn())
TRAIN(resnet8_64, (f32[64,3,32,32], i64[64]<10), "resnet8", (.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9), resnet8())

CALL(startup, context, new_context)
CALL(startup, first_result, first_result)
CALL(startup, process, new_process)
CALL(compile, chain_1000, compile_chain)
CALL(compile, resnet8_training, compile_resnet8)
CALL(memory, tensors_1000, make_tensors)
/* clang-format on */
