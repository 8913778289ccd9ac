/* nets.h: networks that test_aot.c prints as C: a NET for each step with a printer, alone and with what it is found
 * beside, and the lists of those that run in f32 and f64, in halves, and in mixed precision. A row is a name, rank and
 * dims of x, the NET, and the dtype of x; it has the NET's name. Constants of a NET are MADE. */
#ifndef WICK_TESTS_AOT_NETS_H
#define WICK_TESTS_AOT_NETS_H

#include "base/base.h"
#include "tensor/tensors.h"
#include "test.h"
#include "wick/wick.h"

/* Weights are captured by the plans. */
static wick_tensor *made(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= dims[d];
    double *data = calloc((size_t)n, sizeof *data);
    for (int64_t i = 0; i < n; i++) {
        const double v = test_rand_real(-1, 1);
        if (dtype == WICK_F64) data[i] = v;
        else ((float *)data)[i] = (float)v;
    }
    wick_tensor *t = wick_from(ctx, dtype, rank, dims, data);
    free(data);
    return t;
}
#define MADE(ctx, ...)                                                                                                 \
    made(ctx, WICK_F32, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})

typedef struct net {
    const char *name;
    int rank;
    int64_t dims[5];
    wick_tensor *(*body)(wick_context *ctx, wick_tensor *x);
    wick_dtype dtype;
} net;

#define NET(id) static wick_tensor *id(__attribute__((unused)) wick_context *ctx, wick_tensor *x)
#define CONV(x, w, b, ...) wick_conv(x, w, b, &(wick_conv_options){.output_pad = {0}, __VA_ARGS__})
NET(conv_padded) { return wick_relu(CONV(x, MADE(ctx, 21, 3, 5, 5), MADE(ctx, 21), .pad = {2, 2})); }
NET(conv_strided) { return CONV(x, MADE(ctx, 6, 3, 3, 2), NULL, .stride = {2, 3}, .pad = {1, 0}, .pad_end = {0, 1}); }
NET(conv_dilated) { return CONV(x, MADE(ctx, 9, 3, 3, 3), MADE(ctx, 9), .dilation = {2, 3}, .pad = {2, 3}); }
NET(conv_grouped) { return wick_relu(CONV(x, MADE(ctx, 24, 4, 3, 3), MADE(ctx, 24), .groups = 3, .pad = {1, 1})); }
/* 630 terms: two blocks of single taps */
NET(conv_grouped_deep) { return CONV(x, MADE(ctx, 4, 70, 3, 3), MADE(ctx, 4), .groups = 2, .pad = {1, 1}); }
/* rows of 420 terms: a block each */
NET(conv_deep) { return wick_relu(CONV(x, MADE(ctx, 10, 140, 3, 3), MADE(ctx, 10), .pad = {1, 1}, .stride = {2, 2})); }
/* rows of 600: cut themselves */
NET(conv_deeper) { return CONV(x, MADE(ctx, 5, 200, 3, 3), NULL, .pad = {1, 1}, .stride = {2, 1}); }
NET(conv_point) { return CONV(x, MADE(ctx, 5, 600, 1, 1), MADE(ctx, 5)); }
/* places where no tap lies inside */
NET(conv_point_padded) {
    return wick_sigmoid(CONV(x, MADE(ctx, 5, 3, 1, 1), MADE(ctx, 5), .pad = {1, 0}, .stride = {2, 1}));
}
/* few channels: read plane by plane in AVX-512 */
NET(conv_of_pictures) {
    return wick_relu(CONV(x, MADE(ctx, 7, 3, 3, 5), MADE(ctx, 7), .pad = {1, 2}, .stride = {2, 2}));
}
NET(conv_inside_pictures) { return CONV(x, MADE(ctx, 4, 2, 3, 3), NULL); }
NET(conv_row_padded) { return wick_sigmoid(CONV(x, MADE(ctx, 5, 3, 1, 3), NULL, .pad = {2, 1})); }
NET(depthwise_padded) { return wick_sigmoid(CONV(x, MADE(ctx, 3, 1, 1, 1), NULL, .groups = 3, .pad = {1, 1})); }
NET(conv_line) { return CONV(x, MADE(ctx, 7, 3, 5), MADE(ctx, 7), .pad = {2}, .stride = {2}); }
NET(conv_solid) { return CONV(x, MADE(ctx, 3, 2, 2, 3, 2), MADE(ctx, 3), .pad = {1, 1, 0}); }
#define TRANSPOSED(x, w, ...) wick_conv_transpose(x, w, NULL, &(wick_conv_options){.output_pad = {0}, __VA_ARGS__})
NET(transposed) { /* by strides, of which some are apart, in groups, by channels */
    wick_tensor *h = wick_relu(TRANSPOSED(x, MADE(ctx, 4, 6, 3, 3), .stride = {2, 2}, .pad = {1, 1}));
    h = TRANSPOSED(wick_mul(h, wick_like(h, 0.5)), MADE(ctx, 6, 5, 2, 3), .stride = {1, 3}, .groups = 2);
    return TRANSPOSED(h, MADE(ctx, 10, 1, 2, 2), .stride = {2, 1}, .groups = 10);
}
NET(transposed_deep) {
    return TRANSPOSED(wick_relu(TRANSPOSED(x, MADE(ctx, 300, 20, 4, 4), .stride = {2, 2}, .pad = {1, 1})),
                      MADE(ctx, 20, 3, 3, 5), .stride = {2, 2}, .dilation = {1, 2});
}
NET(residual) { /* values that are read again, where they are halves and where they aren't */
    wick_tensor *h = wick_relu(CONV(x, MADE(ctx, 6, 6, 3, 3), NULL, .pad = {1, 1}));
    wick_tensor *g = CONV(wick_relu(CONV(h, MADE(ctx, 6, 6, 3, 3), MADE(ctx, 6), .pad = {1, 1})), MADE(ctx, 6, 6, 3, 3),
                          NULL, .pad = {1, 1});
    h = wick_relu(wick_add(h, g));
    g = wick_neg(
        wick_maximum(wick_abs(CONV(h, MADE(ctx, 6, 6, 1, 1), NULL)), wick_relu(CONV(h, MADE(ctx, 6, 6, 1, 1), NULL))));
    return wick_add(wick_max_pool(wick_add(g, h), &(wick_pool_options){.kernel = {2, 2}}),
                    wick_avg_pool(wick_max_pool(g, &(wick_pool_options){.kernel = {2, 2}, .stride = {1, 1}}),
                                  &(wick_pool_options){.kernel = {1, 1}, .stride = {2, 2}}));
}
NET(winograd) { return wick_relu(CONV(x, MADE(ctx, 12, 8, 3, 3), MADE(ctx, 12), .pad = {1, 1})); }
NET(winograd_unpadded) {
    return CONV(wick_relu(CONV(x, MADE(ctx, 4, 4, 3, 3), NULL)), MADE(ctx, 8, 4, 3, 3), NULL, .pad = {2, 0});
}
NET(depthwise) {
    return wick_relu(CONV(x, MADE(ctx, 12, 1, 3, 3), MADE(ctx, 12), .groups = 12, .pad = {1, 1}, .stride = {2, 1}));
}
NET(depthwise_between) {
    wick_tensor *h = wick_relu(CONV(x, MADE(ctx, 20, 3, 1, 1), MADE(ctx, 20)));
    h = CONV(h, MADE(ctx, 20, 1, 3, 3), MADE(ctx, 20), .groups = 20, .pad = {1, 1});
    return CONV(h, MADE(ctx, 4, 20, 1, 1), NULL);
}
NET(pools) {
    wick_tensor *h = wick_max_pool(CONV(x, MADE(ctx, 5, 3, 2, 2), NULL),
                                   &(wick_pool_options){.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}});
    return wick_avg_pool(h, &(wick_pool_options){.kernel = {2, 3}, .stride = {1, 2}, .pad = {1, 1}});
}
NET(pools_of_planes) {
    wick_tensor *h = wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}});
    return wick_avg_pool(
        h, &(wick_pool_options){
               .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .exclude_pad = true, .ceil_mode = true});
}
NET(pools_adaptive) {
    return wick_add(wick_adaptive_max_pool(x, (const int64_t[]){3, 2}),
                    wick_adaptive_avg_pool(x, (const int64_t[]){3, 2}));
}
NET(pool_of_all) { return wick_mean(wick_relu(CONV(x, MADE(ctx, 8, 3, 3, 3), NULL)), WICK_AXES(2, 3), false); }
NET(layers) {
    return wick_softmax(
        wick_linear(wick_tanh(wick_linear(x, MADE(ctx, 40, 700), MADE(ctx, 40))), MADE(ctx, 10, 40), MADE(ctx, 10)),
        -1);
}
NET(log_layers) { return wick_log_softmax(wick_matmul(x, MADE(ctx, 700, 90)), -1); }
NET(long_softmax) { return wick_softmax(wick_mul(x, wick_like(x, 4)), -1); }
NET(products_of_inputs) { return wick_matmul(x, wick_transpose(x, -1, -2)); }
NET(products_of_batches) { return wick_matmul(wick_matmul(x, MADE(ctx, 3, 9, 6)), MADE(ctx, 6, 5)); }
NET(elementwise) {
    return wick_add(wick_gelu(wick_mul(x, MADE(ctx, 9))), wick_sigmoid(wick_sub(x, wick_max(x, WICK_AXES(-1), true))));
}
NET(sums) {
    return wick_div(wick_sum(wick_square(x), WICK_AXES(0), true),
                    wick_add(wick_mean(wick_abs(x), WICK_AXES(1), true), wick_like(x, 0.5)));
}
NET(turned) { return wick_transpose(wick_exp(x), 0, -1); }
NET(cast) { return wick_cast(wick_cast(wick_mul(x, wick_like(x, 100)), WICK_I8), WICK_F32); }
NET(weights_are_folded) {
    return wick_linear(x, wick_mul(MADE(ctx, 12, 9), wick_exp(MADE(ctx, 12, 1))),
                       wick_sum(MADE(ctx, 12, 4), WICK_AXES(1), false));
}
NET(layer_normed) { return wick_layer_norm(x, MADE(ctx, 1100), MADE(ctx, 1100), 1e-5); }
NET(plainly_normed) { return wick_add(wick_layer_norm(x, NULL, NULL, 1e-3), wick_rms_norm(x, MADE(ctx, 9), 1e-6)); }
NET(powers) { return wick_pow(wick_abs(x), MADE(ctx, 9)); } /* of functions whose comments name others */
NET(triangles) { /* of wide and square matrices, with edges inside and beyond, of halves and bytes too */
    wick_tensor *square = wick_slice(x, -1, 0, 5, 1), *half = wick_cast(wick_triu(x, 0), WICK_BF16);
    wick_tensor *low = wick_add(wick_tril(x, -2), wick_triu(x, 3));
    wick_tensor *beyond = wick_add(wick_tril(x, 9), wick_triu(x, 9));
    wick_tensor *parts[] = {low, beyond, wick_cast(wick_tril(half, 1), WICK_F32),
                            wick_cast(wick_triu(wick_cast(x, WICK_I8), 1), WICK_F32),
                            wick_matmul(wick_tril(square, 0), x)};
    return wick_concat(5, parts, 0);
}
NET(joined) { return wick_concat(3, (wick_tensor *[]){x, wick_neg(x), MADE(ctx, 4, 12)}, 1); }
NET(turns) { /* small arguments, and others far beyond what parts of pi/2 reduce */
    wick_tensor *far = wick_mul(x, wick_like(x, 1e25)), *apart = wick_where(wick_gt(x, wick_like(x, 0.5)), far, x);
    return wick_add(wick_sin(far), wick_add(wick_cos(apart), wick_tan(apart)));
}
NET(doubles) {
    return wick_relu(wick_linear(wick_sin(x), made(ctx, WICK_F64, 2, (const int64_t[]){6, 30}),
                                 made(ctx, WICK_F64, 1, (const int64_t[]){6})));
}
/* Weights of a layer, and its input as [steps, samples, features]. */
static wick_rnn_inputs cell_weights(wick_context *ctx, int64_t gates, int64_t features, int64_t units,
                                    int64_t directions) {
    return (wick_rnn_inputs){.w_ih = MADE(ctx, directions, gates * units, features),
                             .w_hh = MADE(ctx, directions, gates * units, units),
                             .b_ih = MADE(ctx, directions, gates * units)};
}
NET(lstm) {
    wick_rnn_inputs in = cell_weights(ctx, 4, 6, 21, 2);
    in.h0 = MADE(ctx, 2, 3, 21), in.c0 = MADE(ctx, 2, 3, 21);
    wick_tensor *h, *c, *y = wick_lstm(x, &in, &(wick_rnn_options){.direction = WICK_RNN_BIDIRECTIONAL}, &h, &c);
    return wick_add(wick_mean(y, WICK_AXES(0), false), wick_reshape(wick_sub(h, c), 2, (const int64_t[]){3, 42}));
}
NET(lstm_with_all) {
    wick_rnn_inputs in = cell_weights(ctx, 4, 6, 7, 2);
    in.peephole = MADE(ctx, 2, 21);
    in.lengths = wick_from(ctx, WICK_I64, 1, (const int64_t[]){3}, (const int64_t[]){5, 0, 3});
    return wick_lstm(x, &in,
                     &(wick_rnn_options){.direction = WICK_RNN_BIDIRECTIONAL,
                                         .clip = 0.4,
                                         .acts = {{WICK_RNN_HARD_SIGMOID, WICK_RNN_SOFTSIGN, WICK_RNN_IDENTITY},
                                                  {0, WICK_RNN_RELU, 0}}},
                     NULL, NULL);
}
NET(lstm_coupled) { /* its weights are made in the run */
    wick_tensor *w = wick_mul(MADE(ctx, 48, 12), wick_mean(x, WICK_ALL_AXES, false)), *h, *c;
    const wick_rnn_inputs in = {.w_ih = MADE(ctx, 48, 6), .w_hh = w};
    (void)wick_lstm(
        x, &in, &(wick_rnn_options){.direction = WICK_RNN_REVERSE, .input_forget = true, .batch_first = true}, &h, &c);
    return wick_concat(2, (wick_tensor *[]){h, c}, 2);
}
NET(gru) {
    wick_rnn_inputs in = cell_weights(ctx, 3, 6, 9, 1);
    in.b_hh = MADE(ctx, 1, 27);
    return wick_gru(x, &in, NULL, NULL);
}
NET(gru_reset_first) {
    const wick_rnn_inputs in = cell_weights(ctx, 3, 6, 10, 2);
    return wick_gru(x, &in, &(wick_rnn_options){.direction = WICK_RNN_BIDIRECTIONAL, .reset_first = true}, NULL);
}
NET(rnn) {
    const wick_rnn_inputs in = cell_weights(ctx, 1, 6, 300, 1); /* sums of several blocks */
    return wick_rnn(x, &in, NULL, NULL);
}
NET(rnn_of_doubles) {
    const wick_rnn_inputs in = {.w_ih = made(ctx, WICK_F64, 2, (const int64_t[]){5, 6}),
                                .w_hh = made(ctx, WICK_F64, 2, (const int64_t[]){5, 5})};
    return wick_rnn(x, &in, &(wick_rnn_options){.acts = {{WICK_RNN_SIGMOID}}}, NULL);
}
NET(gathered) {
    wick_tensor *at = wick_from(ctx, WICK_I64, 2, (const int64_t[]){2, 2}, (const int64_t[]){3, -1, 0, 3});
    wick_tensor *any = wick_cast(
        wick_clip(wick_reshape(wick_slice(wick_slice(x, 1, 0, 2, 1), 2, 0, 1, 1), 2, (const int64_t[]){2, 2}), -2, 2),
        WICK_I64);
    return wick_add(wick_gather(x, 1, at), wick_gather(x, 1, any));
}
/* rows written where they end up */
NET(padded_in_place) {
    return wick_pad_with(x, 4, (const int64_t[]){0, 0, 2, 1}, (const int64_t[]){0, 0, 1, 3}, WICK_PAD_REFLECT);
}
NET(padded_round) {
    return wick_pad_with(x, 4, (const int64_t[]){0, 0, 5, 7}, (const int64_t[]){0, 4, 0, 9}, WICK_PAD_WRAP);
}
NET(bags_of_rows) {
    int64_t at[60 * 20];
    for (int i = 0; i < 60 * 20; i++) at[i] = i * 7 % 11 - (i % 3 == 0 ? 11 : 0);
    return wick_embedding_bag(x, wick_from(ctx, WICK_I64, 2, (const int64_t[]){60, 20}, at), NULL, NULL, WICK_BAG_MEAN);
}
NET(columns_gathered) {
    return wick_gather(x, 2, wick_from(ctx, WICK_I64, 1, (const int64_t[]){3}, (const int64_t[]){4, -5, 2}));
}
#define INTERPOLATED(x, h, w, ...)                                                                                     \
    wick_interpolate(x, 2, NULL, (const int64_t[]){h, w}, &(wick_interpolate_options){__VA_ARGS__})
NET(nearest) {
    return INTERPOLATED(CONV(x, MADE(ctx, 5, 3, 2, 2), NULL), 12, 5, .coordinates = WICK_ASYMMETRIC,
                        .rounding = WICK_ROUND_FLOOR);
}
NET(linear) {
    return INTERPOLATED(INTERPOLATED(x, 9, 13, .mode = WICK_LINEAR), 4, 30, .mode = WICK_LINEAR,
                        .coordinates = WICK_ALIGN_CORNERS);
}
NET(cubic) { return INTERPOLATED(CONV(x, MADE(ctx, 5, 3, 1, 1), NULL), 11, 3, .mode = WICK_CUBIC); }
NET(shrunk) {
    return INTERPOLATED(x, 2, 3, .mode = WICK_LINEAR, .antialias = true, .scale = (const double[]){2 / 9.0, 3 / 11.0});
}
NET(cropped) {
    static const double start[] = {-0.2, 0.1}, end[] = {0.9, 1.3};
    wick_tensor *near =
        INTERPOLATED(x, 5, 6, .coordinates = WICK_CROP_AND_RESIZE, .start = start, .end = end, .extrapolation = 0.3);
    return wick_add(near, INTERPOLATED(x, 5, 6, .mode = WICK_LINEAR, .coordinates = WICK_CROP_AND_RESIZE,
                                       .start = start, .end = end, .extrapolation = -7));
}
/* Bytes as weights, and a number for each column. */
static wick_tensor *bytes_of(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= dims[d];
    unsigned char *data = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++) data[i] = (unsigned char)test_rand_int(0, 255);
    wick_tensor *t = wick_from(ctx, dtype, rank, dims, data);
    free(data);
    return t;
}
#define BYTES(ctx, dtype, ...)                                                                                         \
    bytes_of(ctx, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
static wick_tensor *scales_of(wick_context *ctx, int64_t n) {
    return wick_mul(wick_exp(MADE(ctx, n)), wick_like(MADE(ctx, 1), 0.02));
}
static wick_tensor *number_of(wick_context *ctx, wick_dtype dtype, double x) {
    return wick_full(ctx, dtype, WICK_SCALAR, x);
}
#define INT8_CONV(x, w, ...) wick_conv_options geometry = {__VA_ARGS__}; return wick_int8_conv(x, w, &geometry, &o)
#define QUANTISED(x, dtype, zero)                                                                                      \
    wick_quantize(x, number_of(ctx, WICK_F32, 0.02), number_of(ctx, dtype, zero), 0, dtype)
NET(bytes_padded) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_U8, 100),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 21),
                                 .scale = number_of(ctx, WICK_F32, 0.3),
                                 .zero = number_of(ctx, WICK_U8, 7),
                                 .bias = wick_cast(wick_mul(MADE(ctx, 21), wick_like(MADE(ctx, 1), 900)), WICK_I32),
                                 .low = 0,
                                 .high = 6};
    INT8_CONV(QUANTISED(x, WICK_U8, 100), BYTES(ctx, WICK_I8, 21, 3, 5, 5), .pad = {2, 2}, .stride = {1, 2});
}
NET(bytes_grouped) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_I8, -3),
                                 .b_zero = BYTES(ctx, WICK_U8, 24),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 24),
                                 .bias = MADE(ctx, 24)};
    INT8_CONV(QUANTISED(x, WICK_I8, -3), BYTES(ctx, WICK_U8, 24, 4, 3, 3), .pad = {1, 1}, .groups = 3,
              .dilation = {1, 2});
}
NET(bytes_depthwise) {
    const wick_int8_options o = {.b_zero = number_of(ctx, WICK_I8, 5),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = number_of(ctx, WICK_F32, 0.01),
                                 .scale = number_of(ctx, WICK_F32, 0.2),
                                 .dtype = WICK_I8};
    INT8_CONV(QUANTISED(x, WICK_U8, 0), BYTES(ctx, WICK_I8, 12, 1, 3, 3), .pad = {1, 1}, .groups = 12,
              .stride = {2, 1});
}
NET(bytes_point) {
    const wick_int8_options o = {.a_scale = number_of(ctx, WICK_F32, 0.02), .b_scale = number_of(ctx, WICK_F32, 0.01)};
    INT8_CONV(QUANTISED(x, WICK_U8, 20), BYTES(ctx, WICK_I8, 6, 600, 1, 1), .groups = 1);
}
NET(byte_sums) {
    return wick_int8_matmul(
        QUANTISED(x, WICK_I8, 9), BYTES(ctx, WICK_U8, 37, 11),
        &(wick_int8_options){.a_zero = number_of(ctx, WICK_I8, 9), .b_zero = BYTES(ctx, WICK_U8, 11)});
}
NET(byte_sums_that_may_wrap) {
    return wick_int8_matmul(QUANTISED(x, WICK_U8, 0), BYTES(ctx, WICK_U8, 33100, 3),
                            &(wick_int8_options){.a_zero = number_of(ctx, WICK_U8, 255)});
}
/* Scales that are powers of 2: results lie at halves again and again. Sums go from one bound to the other. */
NET(bytes_at_halves) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_U8, 128),
                                 .a_scale = number_of(ctx, WICK_F32, 0.03125),
                                 .b_scale = number_of(ctx, WICK_F32, 0.25),
                                 .scale = number_of(ctx, WICK_F32, 0.5),
                                 .zero = number_of(ctx, WICK_U8, 100)};
    return wick_int8_matmul(QUANTISED(x, WICK_U8, 128), BYTES(ctx, WICK_I8, 1, 255), &o);
}
/* Scales with few bits, so that halves come up beside numbers that are next to them; bytes with a sign. */
NET(bytes_next_to_halves) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_I8, -7),
                                 .a_scale = number_of(ctx, WICK_F32, 0.3),
                                 .b_scale = wick_mul(scales_of(ctx, 301), number_of(ctx, WICK_F32, 0.1)),
                                 .scale = number_of(ctx, WICK_F32, 0.7),
                                 .zero = number_of(ctx, WICK_I8, 5),
                                 .bias = wick_cast(wick_mul(MADE(ctx, 301), wick_like(MADE(ctx, 1), 90000)), WICK_I32),
                                 .dtype = WICK_I8,
                                 .low = -30,
                                 .high = 60};
    return wick_int8_matmul(QUANTISED(x, WICK_I8, -7), BYTES(ctx, WICK_I8, 23, 301), &o);
}
/* A column whose scale is a millionth of the others'. */
NET(bytes_of_far_scales) {
    const wick_int8_options o = {.a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = wick_exp(wick_mul(MADE(ctx, 9), wick_like(MADE(ctx, 1), 8))),
                                 .scale = number_of(ctx, WICK_F32, 3)};
    return wick_int8_matmul(QUANTISED(x, WICK_U8, 3), BYTES(ctx, WICK_I8, 40, 9), &o);
}
NET(bytes_of_no_terms) { /* which is the bias */
    const wick_int8_options o = {.a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 5),
                                 .bias = MADE(ctx, 5)};
    return wick_int8_matmul(wick_slice(QUANTISED(x, WICK_U8, 0), 1, 3, 3, 1),
                            wick_full(ctx, WICK_I8, 2, (const int64_t[]){0, 5}, 0), &o);
}
NET(bytes_one_row) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_U8, 9),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 7),
                                 .bias = MADE(ctx, 7)};
    return wick_int8_matmul(QUANTISED(x, WICK_U8, 9), BYTES(ctx, WICK_I8, 41, 7), &o);
}
NET(bytes_transposed) {
    return wick_int8_matmul(wick_transpose(QUANTISED(x, WICK_I8, 0), -1, -2), BYTES(ctx, WICK_I8, 6, 5),
                            &(wick_int8_options){.a_zero = number_of(ctx, WICK_I8, 3)});
}
NET(bytes_points) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_U8, 31),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 10),
                                 .scale = number_of(ctx, WICK_F32, 0.1),
                                 .bias = MADE(ctx, 10)};
    INT8_CONV(QUANTISED(x, WICK_U8, 31), BYTES(ctx, WICK_I8, 10, 7, 1, 1), .groups = 2, .stride = {2, 3});
}
NET(bytes_by_channel) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_U8, 77),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 11),
                                 .scale = number_of(ctx, WICK_F32, 0.2),
                                 .bias = MADE(ctx, 11),
                                 .dtype = WICK_I8};
    INT8_CONV(QUANTISED(x, WICK_U8, 77), BYTES(ctx, WICK_I8, 11, 1, 3, 4), .pad = {2, 3}, .groups = 11,
              .stride = {2, 1}, .dilation = {1, 2});
}
NET(bytes_dilated) {
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_I8, -20),
                                 .a_scale = number_of(ctx, WICK_F32, 0.02),
                                 .b_scale = scales_of(ctx, 5),
                                 .scale = number_of(ctx, WICK_F32, 0.2),
                                 .bias = MADE(ctx, 5)};
    INT8_CONV(QUANTISED(x, WICK_I8, -20), BYTES(ctx, WICK_I8, 5, 6, 3, 3), .pad = {2, 4}, .dilation = {2, 3});
}
/* What is not known until the run: scales, zero points, weights. */
NET(bytes_in_the_run) {
    wick_tensor *most = wick_add(wick_max(wick_abs(x), WICK_ALL_AXES, false), number_of(ctx, WICK_F32, 0.1)),
                *s = wick_div(most, number_of(ctx, WICK_F32, 127));
    wick_tensor *zero = wick_cast(wick_mul(most, number_of(ctx, WICK_F32, 30)), WICK_U8),
                *q = wick_quantize(x, s, zero, 0, WICK_U8),
                *w = wick_transpose(wick_quantize(wick_sin(x), s, NULL, 0, WICK_I8), -1, -2);
    const wick_int8_options o = {.a_zero = zero,
                                 .b_zero = wick_cast(wick_mul(most, number_of(ctx, WICK_F32, 2)), WICK_I8),
                                 .a_scale = s,
                                 .b_scale = scales_of(ctx, 9),
                                 .scale = wick_mul(s, number_of(ctx, WICK_F32, 9)),
                                 .zero = number_of(ctx, WICK_I8, -4),
                                 .bias = MADE(ctx, 9),
                                 .low = -1,
                                 .high = 0.9};
    return wick_int8_matmul(q, w, &o);
}
NET(few_bytes_in_the_run) { /* of which kernels pack nothing beforehand */
    wick_tensor *s = wick_mul(wick_max(wick_abs(x), WICK_ALL_AXES, false), number_of(ctx, WICK_F32, 0.01)),
                *w = wick_quantize(wick_mul(MADE(ctx, 20, 11), s), number_of(ctx, WICK_F32, 0.0001), NULL, 0, WICK_I8);
    const wick_int8_options o = {.b_zero = wick_cast(wick_mul(MADE(ctx, 11), wick_div(s, s)), WICK_I8),
                                 .a_scale = s,
                                 .b_scale = number_of(ctx, WICK_F32, 0.01),
                                 .bias = MADE(ctx, 11)};
    return wick_int8_matmul(wick_quantize(x, s, NULL, 0, WICK_U8), w, &o);
}
/* As exporters of dynamic quantisation write it: sums are scaled and a bias is added by the product, whose scale and
 * zero point are not known until the run. */
static wick_tensor *sums_scaled(wick_tensor *sums, wick_tensor *scale, wick_tensor *by, wick_tensor *bias) {
    wick_tensor *y = wick_mul(wick_cast(sums, WICK_F32), wick_mul(scale, by));
    return bias ? wick_add(y, bias) : y;
}
NET(bytes_by_their_range) {
    wick_tensor *scale, *zero, *q = wick_quantize_dynamic(x, &scale, &zero);
    const wick_int8_options o = {.a_zero = zero, .b_zero = BYTES(ctx, WICK_I8, 21)};
    wick_tensor *y = sums_scaled(wick_int8_matmul(q, BYTES(ctx, WICK_I8, 33, 21), &o), scale, scales_of(ctx, 21),
                                 MADE(ctx, 21));
    q = wick_quantize_dynamic(y, &scale, &zero);
    return sums_scaled(wick_int8_matmul(q, BYTES(ctx, WICK_U8, 21, 5), &(wick_int8_options){.a_zero = zero}), scale,
                       number_of(ctx, WICK_F32, -0.02), NULL);
}
NET(conv_of_bytes_by_their_range) {
    wick_tensor *scale, *zero, *q = wick_quantize_dynamic(x, &scale, &zero);
    wick_tensor *y = wick_int8_conv(q, BYTES(ctx, WICK_I8, 10, 8, 3, 3), &(wick_conv_options){.pad = {1, 1}},
                                    &(wick_int8_options){.a_zero = zero});
    const int64_t dims[] = {10, 1, 1};
    return sums_scaled(y, scale, number_of(ctx, WICK_F32, 0.03), wick_reshape(MADE(ctx, 10), 3, dims));
}
NET(conv_of_bytes_in_the_run) {
    wick_tensor *s = wick_mul(wick_max(wick_abs(x), WICK_ALL_AXES, false), number_of(ctx, WICK_F32, 0.01));
    wick_tensor *w =
        wick_quantize(wick_mul(MADE(ctx, 10, 4, 3, 3), s), number_of(ctx, WICK_F32, 0.0001), NULL, 0, WICK_I8);
    const wick_int8_options o = {.a_zero = number_of(ctx, WICK_U8, 50),
                                 .b_zero = wick_cast(wick_mul(MADE(ctx, 10), wick_div(s, s)), WICK_I8),
                                 .a_scale = s,
                                 .b_scale = number_of(ctx, WICK_F32, 0.01),
                                 .bias = wick_cast(wick_mul(MADE(ctx, 10), wick_like(MADE(ctx, 1), 900)), WICK_I32)};
    INT8_CONV(wick_quantize(x, s, number_of(ctx, WICK_U8, 50), 0, WICK_U8), w, .pad = {1, 1}, .groups = 2);
}
NET(depthwise_of_bytes_in_the_run) {
    wick_tensor *s = wick_mul(wick_max(wick_abs(x), WICK_ALL_AXES, false), number_of(ctx, WICK_F32, 0.01));
    wick_tensor *w =
        wick_quantize(wick_mul(MADE(ctx, 12, 1, 3, 3), s), number_of(ctx, WICK_F32, 0.0001), NULL, 0, WICK_I8);
    const wick_int8_options o = {.b_zero = wick_cast(wick_mul(MADE(ctx, 12), wick_div(s, s)), WICK_I8)};
    INT8_CONV(wick_quantize(x, s, NULL, 0, WICK_U8), w, .pad = {1, 1}, .groups = 12);
}
static wick_tensor *int4(wick_tensor *x, int64_t n, int64_t block, bool zeros, bool bias) {
    wick_context *ctx = wick_tensor_context(x);
    wick_tensor *scales,
        *points = NULL,
        *q = wick_quantize_blocks(MADE(ctx, n, wick_tensor_dim(x, -1)), block, &scales, zeros ? &points : NULL);
    return wick_int4_linear(x, q, scales, points, bias ? MADE(ctx, n) : NULL);
}
NET(int4_one_row) { return int4(x, 9, 32, false, true); }
NET(int4_short_blocks) { return int4(x, 5, 16, true, false); }
NET(int4_long_blocks) { return int4(x, 3, 128, true, true); }
NET(int4_many_rows) { return int4(x, 6, 16, true, true); }
NET(int4_blocks_of_k) { return int4(x, 3, 64, false, false); }
/* A scale for each block; block 0: one a column, through a pass. Known weights, or those of the run. */
static wick_tensor *int8_weights(wick_tensor *x, int64_t n, int64_t block, wick_dtype dtype, bool bias) {
    wick_context *ctx = wick_tensor_context(x);
    const int64_t k = wick_tensor_dim(x, -1), each = block ? block : k, blocks = (k + each - 1) / each;
    const bool natural = dtype == WICK_U8;
    wick_tensor *q = wick_cast(wick_add(wick_mul(MADE(ctx, n, blocks, each), number_of(ctx, WICK_F32, 90)),
                                        number_of(ctx, WICK_F32, natural ? 120 : 0)),
                               dtype),
                *scales = wick_mul(MADE(ctx, n, blocks), number_of(ctx, WICK_F32, 0.01)),
                *zeros = natural ? wick_cast(wick_add(wick_mul(MADE(ctx, n, blocks), number_of(ctx, WICK_F32, 90)),
                                                      number_of(ctx, WICK_F32, 120)),
                                             dtype)
                                 : NULL,
                *b = bias ? MADE(ctx, n) : NULL;
    if (block) return wick_int8_linear(x, q, scales, zeros, b);
    return wick_linear(x, wick_dequantize(wick_reshape(q, WICK_DIMS(n, k)), wick_reshape(scales, WICK_DIMS(n)),
                                          zeros ? wick_reshape(zeros, WICK_DIMS(n)) : NULL, 0),
                       b);
}
NET(linear8_one_row) { return int8_weights(x, 37, 0, WICK_I8, true); }
NET(linear8_zeros) { return int8_weights(x, 18, 0, WICK_U8, false); }
NET(linear8_blocks) { return int8_weights(x, 21, 24, WICK_U8, true); }
NET(linear8_long) { return int8_weights(x, 3, 1100, WICK_I8, true); }
NET(linear8_many_rows) { return int8_weights(x, 35, 16, WICK_U8, true); }
NET(linear8_many_blocks_of_k) { return int8_weights(x, 6, 0, WICK_I8, true); }
/* Weights that the run makes. */
static wick_tensor *int8_weights_of(wick_tensor *x, wick_dtype dtype, bool bias) {
    wick_context *ctx = wick_tensor_context(x);
    const int64_t n = 19, k = wick_tensor_dim(x, -1), blocks = (k + 15) / 16;
    wick_tensor *s = wick_max(wick_abs(x), WICK_ALL_AXES, false), *one = wick_div(s, s),
                *q = wick_cast(wick_mul(MADE(ctx, n, blocks, 16), wick_mul(one, number_of(ctx, WICK_F32, 90))), dtype),
                *zeros = bias ? wick_cast(wick_mul(MADE(ctx, n, blocks), one), dtype) : NULL;
    return wick_int8_linear(x, q, wick_mul(MADE(ctx, n, blocks), one), zeros, bias ? MADE(ctx, n) : NULL);
}
NET(linear8_in_the_run) { return int8_weights_of(x, WICK_U8, false); }
NET(linear8_of_many_rows_in_the_run) { return int8_weights_of(x, WICK_I8, true); }
/* Steps of 16 bits, of which most numbers are beyond. */
NET(quantised_16) {
    wick_tensor *s = number_of(ctx, WICK_F32, 1e-5);
    return wick_dequantize(wick_quantize(x, s, NULL, 0, WICK_I16), s, NULL, 0);
}
NET(integers) {
    wick_tensor *a = wick_cast(wick_mul(x, wick_like(x, 1e4)), WICK_I32),
                *b = wick_cast(wick_mul(MADE(ctx, 3, 9, 13), wick_like(x, 1e6)), WICK_I32);
    wick_tensor *of32 = wick_matmul(a, b), *of64 = wick_matmul(wick_cast(a, WICK_I64), wick_cast(b, WICK_I64));
    return wick_add(wick_cast(of32, WICK_F32), wick_cast(of64, WICK_F32));
}
NET(attention) {
    return wick_attention(x, MADE(ctx, 2, 2, 150, 8), MADE(ctx, 2, 2, 150, 5),
                          &(wick_attention_options){.mask = MADE(ctx, 1, 4, 1, 150), .grouped = true});
}
NET(attention_causal) {
    return wick_attention(x, wick_sin(x), wick_mul(x, wick_like(x, 0.5)),
                          &(wick_attention_options){.causal = true, .scale = 3});
}
NET(attention_shifted) {
    return wick_attention(x, MADE(ctx, 1, 2, 131, 3), MADE(ctx, 1, 2, 131, 20),
                          &(wick_attention_options){.causal_end = true});
}
/* the first queries see nothing */
NET(attention_blind) {
    return wick_attention(x, MADE(ctx, 1, 2, 20, 3), MADE(ctx, 1, 2, 20, 4),
                          &(wick_attention_options){.causal_end = true});
}
NET(attention_of_doubles) { return wick_attention(x, wick_cos(x), x, NULL); }
/* Losses of rows whose labels are known, one of which is to be ignored. */
static wick_tensor *losses(wick_context *ctx, wick_tensor *x, wick_cross_entropy_options o) {
    const int64_t classes = wick_tensor_dim(x, 1);
    wick_tensor *labels = wick_from(ctx, WICK_I64, 1, (const int64_t[]){5}, (const int64_t[]){1, 0, 3, classes - 1, 3});
    wick_tensor *loss = wick_cross_entropy_with(x, labels, &o), *gradient = NULL;
    wick_grad(loss, 1, &x, &gradient);
    return wick_add(gradient, loss);
}
NET(loss_smoothed) { return losses(ctx, x, (wick_cross_entropy_options){.smoothing = 0.1}); }
NET(loss_weighted) {
    return losses(ctx, x,
                  (wick_cross_entropy_options){.weight = wick_exp(MADE(ctx, 11)), .ignore = true, .ignore_index = 3});
}
NET(loss_of_all) {
    return losses(ctx, x,
                  (wick_cross_entropy_options){
                      .weight = wick_exp(MADE(ctx, 70)), .ignore = true, .ignore_index = 3, .smoothing = 0.3});
}
/* Places, as numbers beside what was found there. */
static wick_tensor *with_places(wick_tensor *y, wick_tensor *index) {
    return wick_concat(2, (wick_tensor *[]){y, wick_cast(index, wick_tensor_dtype(y))}, 0);
}
/* Few different numbers, among them both zeros and NaN. */
static wick_tensor *with_ties(wick_tensor *x) { return wick_sqrt(wick_add(wick_round(x), wick_like(x, 1))); }
NET(places_of_extremes) {
    wick_tensor *y = with_ties(x), *whole = wick_cast(wick_mul(x, wick_like(x, 3)), WICK_I32);
    return wick_cast(wick_concat(4,
                                 (wick_tensor *[]){wick_argmax(y, 1, true), wick_argmin(y, 1, true),
                                                   wick_argmax(whole, 1, true), wick_argmin(wick_abs(whole), 1, true)},
                                 1),
                     WICK_F32);
}
NET(places_in_rows) {
    wick_tensor *index, *most = wick_max_with_index(with_ties(x), -1, true, &index);
    return with_places(most, index);
}
NET(running_sums) { return wick_sub(wick_cumsum(x, 1), wick_cumsum_with(wick_cumprod(x, 0), -1, true, true)); }
NET(running_sums_of_integers) {
    return wick_cast(wick_cumprod(wick_cumsum(wick_cast(wick_mul(x, wick_like(x, 1e6)), WICK_I64), 1), 2), WICK_F32);
}
NET(running_sums_of_long_rows) {
    return wick_add(wick_cumsum(x, 1),
                    wick_mul(wick_cumsum_with(x, 1, true, true),
                             wick_cumprod(wick_add(wick_mul(x, wick_like(x, 1e-4)), wick_like(x, 1)), 1)));
}
NET(running_sums_of_exponentials) {
    return wick_add(wick_logcumsumexp(wick_mul(x, wick_like(x, 30)), 0),
                    wick_logcumsumexp(wick_sqrt(wick_add(x, wick_like(x, 1.5))), 1));
}
NET(running_extremes) {
    wick_tensor *of_max, *of_min, *most = wick_cummax(with_ties(x), 1, &of_max),
                                  *least = wick_cummin(wick_round(x), -1, &of_min);
    return with_places(with_places(most, of_max), with_places(least, of_min));
}
NET(sorted) {
    wick_tensor *up, *down, *least = wick_sort(with_ties(x), 1, false, &up),
                            *most = wick_sort(wick_round(x), -1, true, &down);
    return with_places(with_places(least, up), with_places(most, down));
}
NET(sorted_doubles) {
    wick_tensor *index, *y = wick_sort(x, -1, false, &index);
    return with_places(y, index);
}
NET(sorted_integers) {
    return wick_cast(wick_add(wick_sort(wick_cast(wick_mul(x, wick_like(x, 9)), WICK_I8), 1, true, NULL),
                              wick_cast(wick_argsort(x, 1, false), WICK_I8)),
                     WICK_F32);
}
NET(top) {
    wick_tensor *of_most, *of_least, *most = wick_topk(with_ties(x), 3, -1, true, &of_most),
                                     *least = wick_topk(wick_round(x), 3, -1, false, &of_least);
    return with_places(with_places(most, of_most), with_places(least, of_least));
}
NET(top_gradient) {
    wick_tensor *sum = wick_sum(wick_square(wick_topk(x, 2, 1, true, NULL)), WICK_ALL_AXES, false), *gradient = NULL;
    wick_grad(sum, 1, &x, &gradient);
    return gradient;
}
NET(taken_along) { return wick_take_along_axis(x, 1, wick_argsort(wick_neg(x), 1, false)); }
NET(put_along) {
    wick_tensor *index = wick_cast(wick_mul(x, wick_like(x, 2)), WICK_I64), *sums = wick_sin(x); /* -4 to 3 */
    for (int how = WICK_PUT_ADD; how <= WICK_PUT_MIN; how++)
        sums = wick_put_along_axis(sums, 2, index, with_ties(x), (wick_put)how);
    return wick_put_along_axis(sums, 0, wick_cast(wick_round(wick_sigmoid(x)), WICK_I64), x, WICK_PUT_SET);
}
/* mostly zeros, of which a convolution has other blocks of sums than a product */
static wick_tensor *sparse(wick_context *ctx, int rank, const int64_t *dims) {
    static float data[70 * 700];
    int64_t n = 1;
    for (int d = 0; d < rank; d++) n *= dims[d];
    for (int64_t i = 0; i < n; i++) data[i] = test_rand_int(0, 99) < 93 ? 0 : (float)test_rand_real(-1, 1);
    return wick_from(ctx, WICK_F32, rank, dims, data);
}
NET(sparse_row) { return wick_relu(wick_linear(x, sparse(ctx, WICK_DIMS(70, 700)), MADE(ctx, 70))); }
NET(sparse_rows) {
    return wick_matmul(wick_matmul(x, sparse(ctx, WICK_DIMS(100, 66))), sparse(ctx, WICK_DIMS(66, 67)));
}
NET(sparse_of_odd_numbers) {
    return wick_linear(wick_div(x, wick_sub(wick_round(x), wick_like(x, 1))), sparse(ctx, WICK_DIMS(70, 90)), NULL);
}
NET(sparse_conv) { return wick_relu(CONV(x, sparse(ctx, WICK_DIMS(66, 600, 1, 1)), MADE(ctx, 66))); }
NET(itself) { return x; }

static const net nets[] = {
    {"conv_of_pictures", 4, {2, 3, 9, 27}, conv_of_pictures, WICK_F32},
    {"conv_inside_pictures", 4, {2, 2, 6, 21}, conv_inside_pictures, WICK_F32},
    {"conv_padded", 4, {2, 3, 9, 11}, conv_padded, WICK_F32},
    {"conv_strided", 4, {1, 3, 9, 11}, conv_strided, WICK_F32},
    {"conv_dilated", 4, {2, 3, 9, 11}, conv_dilated, WICK_F32},
    {"conv_grouped", 4, {2, 12, 5, 6}, conv_grouped, WICK_F32},
    {"conv_grouped_deep", 4, {1, 140, 4, 5}, conv_grouped_deep, WICK_F32},
    {"conv_deep", 4, {1, 140, 5, 5}, conv_deep, WICK_F32},
    {"conv_deeper", 4, {1, 200, 5, 4}, conv_deeper, WICK_F32},
    {"conv_point", 4, {1, 600, 3, 3}, conv_point, WICK_F32},
    {"conv_point_padded", 4, {2, 3, 5, 4}, conv_point_padded, WICK_F32},
    {"conv_row_padded", 4, {2, 3, 5, 4}, conv_row_padded, WICK_F32},
    {"depthwise_padded", 4, {2, 3, 5, 4}, depthwise_padded, WICK_F32},
    {"conv_line", 3, {2, 3, 20}, conv_line, WICK_F32},
    {"conv_solid", 5, {1, 2, 4, 5, 6}, conv_solid, WICK_F32},
    {"transposed", 4, {2, 4, 5, 6}, transposed, WICK_F32},
    {"transposed_deep", 4, {1, 300, 3, 4}, transposed_deep, WICK_F32},
    {"winograd", 4, {2, 8, 9, 12}, winograd, WICK_F32},
    {"winograd_unpadded", 4, {1, 4, 10, 11}, winograd_unpadded, WICK_F32},
    {"depthwise", 4, {2, 12, 7, 9}, depthwise, WICK_F32},
    {"depthwise_between", 4, {1, 3, 8, 9}, depthwise_between, WICK_F32},
    {"pools", 4, {2, 3, 12, 13}, pools, WICK_F32},
    {"pools_of_planes", 4, {2, 3, 13, 12}, pools_of_planes, WICK_F32},
    {"pools_adaptive", 4, {1, 3, 7, 7}, pools_adaptive, WICK_F32},
    {"pool_of_all", 4, {2, 3, 12, 12}, pool_of_all, WICK_F32},
    {"layers", 2, {3, 700}, layers, WICK_F32},
    {"log_layers", 2, {2, 700}, log_layers, WICK_F32},
    {"long_softmax", 2, {2, 2500}, long_softmax, WICK_F32},
    {"products_of_inputs", 2, {70, 9}, products_of_inputs, WICK_F32},
    {"products_of_batches", 4, {2, 3, 4, 9}, products_of_batches, WICK_F32},
    {"elementwise", 2, {7, 9}, elementwise, WICK_F32},
    {"turns", 2, {7, 300}, turns, WICK_F32},
    {"turns_of_doubles", 2, {7, 300}, turns, WICK_F64},
    {"sums", 2, {90, 1300}, sums, WICK_F32},
    {"turned", 3, {3, 4, 5}, turned, WICK_F32},
    {"cast", 2, {4, 5}, cast, WICK_F32},
    {"weights_are_folded", 2, {3, 9}, weights_are_folded, WICK_F32},
    {"layer_normed", 2, {3, 1100}, layer_normed, WICK_F32},
    {"plainly_normed", 3, {2, 3, 9}, plainly_normed, WICK_F32},
    {"powers", 2, {5, 9}, powers, WICK_F32},
    {"bytes_padded", 4, {2, 3, 9, 11}, bytes_padded, WICK_F32},
    {"bytes_grouped", 4, {2, 12, 5, 6}, bytes_grouped, WICK_F32},
    {"bytes_depthwise", 4, {2, 12, 7, 9}, bytes_depthwise, WICK_F32},
    {"bytes_point", 4, {1, 600, 3, 3}, bytes_point, WICK_F32},
    {"bytes_at_halves", 2, {255, 1}, bytes_at_halves, WICK_F32},
    {"bytes_next_to_halves", 3, {2, 51, 23}, bytes_next_to_halves, WICK_F32},
    {"bytes_of_far_scales", 2, {6, 40}, bytes_of_far_scales, WICK_F32},
    {"bytes_of_no_terms", 2, {6, 40}, bytes_of_no_terms, WICK_F32},
    {"bytes_one_row", 2, {1, 41}, bytes_one_row, WICK_F32},
    {"bytes_transposed", 3, {2, 6, 7}, bytes_transposed, WICK_F32},
    {"bytes_points", 4, {1, 14, 5, 7}, bytes_points, WICK_F32},
    {"bytes_by_channel", 4, {2, 11, 7, 9}, bytes_by_channel, WICK_F32},
    {"bytes_dilated", 4, {1, 6, 9, 10}, bytes_dilated, WICK_F32},
    {"int4_one_row", 2, {1, 70}, int4_one_row, WICK_F32},
    {"int4_short_blocks", 3, {2, 2, 83}, int4_short_blocks, WICK_F32},
    {"int4_long_blocks", 2, {3, 300}, int4_long_blocks, WICK_F32},
    {"int4_many_rows", 2, {7, 45}, int4_many_rows, WICK_F32},
    {"int4_blocks_of_k", 2, {5, 1100}, int4_blocks_of_k, WICK_F32},
    {"linear8_one_row", 2, {1, 70}, linear8_one_row, WICK_F32},
    {"linear8_zeros", 2, {2, 41}, linear8_zeros, WICK_F32},
    {"linear8_blocks", 3, {2, 2, 83}, linear8_blocks, WICK_F32},
    {"linear8_long", 2, {3, 1100}, linear8_long, WICK_F32},
    {"linear8_many_rows", 2, {7, 45}, linear8_many_rows, WICK_F32},
    {"linear8_many_blocks_of_k", 2, {5, 1100}, linear8_many_blocks_of_k, WICK_F32},
    {"linear8_in_the_run", 2, {3, 45}, linear8_in_the_run, WICK_F32},
    {"linear8_of_many_rows_in_the_run", 2, {6, 32}, linear8_of_many_rows_in_the_run, WICK_F32},
    {"quantised_16", 2, {6, 45}, quantised_16, WICK_F32},
    {"byte_sums", 3, {2, 5, 37}, byte_sums, WICK_F32},
    {"byte_sums_that_may_wrap", 2, {2, 33100}, byte_sums_that_may_wrap, WICK_F32},
    {"bytes_in_the_run", 4, {2, 3, 9, 14}, bytes_in_the_run, WICK_F32},
    {"few_bytes_in_the_run", 2, {3, 20}, few_bytes_in_the_run, WICK_F32},
    {"bytes_by_their_range", 3, {2, 5, 33}, bytes_by_their_range, WICK_F32},
    {"conv_of_bytes_by_their_range", 4, {2, 8, 5, 6}, conv_of_bytes_by_their_range, WICK_F32},
    {"conv_of_bytes_in_the_run", 4, {2, 8, 5, 6}, conv_of_bytes_in_the_run, WICK_F32},
    {"depthwise_of_bytes_in_the_run", 4, {2, 12, 5, 4}, depthwise_of_bytes_in_the_run, WICK_F32},
    {"attention", 4, {2, 4, 70, 8}, attention, WICK_F32},
    {"attention_causal", 4, {1, 3, 150, 6}, attention_causal, WICK_F32},
    {"attention_shifted", 4, {1, 2, 100, 3}, attention_shifted, WICK_F32},
    {"attention_blind", 4, {1, 2, 90, 3}, attention_blind, WICK_F32},
    {"attention_of_doubles", 3, {2, 30, 7}, attention_of_doubles, WICK_F64},
    {"loss_smoothed", 2, {5, 11}, loss_smoothed, WICK_F32},
    {"loss_weighted", 2, {5, 11}, loss_weighted, WICK_F32},
    {"loss_of_all", 2, {5, 70}, loss_of_all, WICK_F32},
    {"integers", 4, {2, 3, 4, 9}, integers, WICK_F32},
    {"lstm", 3, {5, 3, 6}, lstm, WICK_F32},
    {"lstm_with_all", 3, {5, 3, 6}, lstm_with_all, WICK_F32},
    {"lstm_coupled", 3, {2, 4, 6}, lstm_coupled, WICK_F32},
    {"gru", 3, {4, 2, 6}, gru, WICK_F32},
    {"gru_reset_first", 3, {4, 2, 6}, gru_reset_first, WICK_F32},
    {"rnn", 3, {3, 20, 6}, rnn, WICK_F32},
    {"rnn_of_doubles", 3, {4, 2, 6}, rnn_of_doubles, WICK_F64},
    {"gathered", 3, {2, 4, 5}, gathered, WICK_F32},
    {"triangles", 3, {3, 5, 7}, triangles, WICK_F32},
    {"padded_in_place", 4, {2, 3, 20, 33}, padded_in_place, WICK_F32},
    {"padded_round", 4, {2, 3, 4, 3}, padded_round, WICK_F32},
    {"bags_of_rows", 2, {11, 40}, bags_of_rows, WICK_F32},
    {"columns_gathered", 3, {2, 4, 5}, columns_gathered, WICK_F32},
    {"nearest", 4, {2, 3, 7, 9}, nearest, WICK_F32},
    {"linear", 4, {2, 3, 5, 7}, linear, WICK_F32},
    {"cubic", 4, {2, 3, 5, 7}, cubic, WICK_F32},
    {"shrunk", 4, {1, 3, 9, 11}, shrunk, WICK_F32},
    {"cropped", 4, {1, 2, 9, 11}, cropped, WICK_F32},
    {"joined", 2, {4, 20}, joined, WICK_F32},
    {"doubles", 2, {3, 30}, doubles, WICK_F64},
    {"sparse_row", 2, {1, 700}, sparse_row, WICK_F32},
    {"sparse_rows", 2, {9, 100}, sparse_rows, WICK_F32},
    {"sparse_of_odd_numbers", 2, {3, 90}, sparse_of_odd_numbers, WICK_F32},
    {"sparse_conv", 4, {2, 600, 3, 4}, sparse_conv, WICK_F32},
    {"itself", 2, {3, 3}, itself, WICK_F32},
    {"places_of_extremes", 3, {3, 40, 5}, places_of_extremes, WICK_F32},
    {"places_in_rows", 2, {4, 50}, places_in_rows, WICK_F32},
    {"running_sums", 3, {3, 7, 5}, running_sums, WICK_F32},
    {"running_sums_of_integers", 3, {2, 7, 5}, running_sums_of_integers, WICK_F32},
    {"running_sums_of_long_rows", 2, {2, 40003}, running_sums_of_long_rows, WICK_F32},
    {"running_sums_of_exponentials", 2, {30, 9}, running_sums_of_exponentials, WICK_F32},
    {"running_extremes", 3, {2, 20, 6}, running_extremes, WICK_F32},
    {"sorted", 3, {3, 40, 5}, sorted, WICK_F32},
    {"sorted_doubles", 2, {3, 200}, sorted_doubles, WICK_F64},
    {"sorted_integers", 2, {3, 60}, sorted_integers, WICK_F32},
    {"top", 2, {3, 50}, top, WICK_F32},
    {"top_gradient", 2, {5, 7}, top_gradient, WICK_F32},
    {"taken_along", 3, {2, 6, 5}, taken_along, WICK_F32},
    {"put_along", 3, {2, 6, 5}, put_along, WICK_F32},
};

/* Of halves: weights, products, and what is only moved. Inputs go beyond what f16 holds, and below. */
static wick_tensor *halves(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    return wick_cast(made(ctx, WICK_F32, rank, dims), dtype);
}
#define HALVES(ctx, dtype, ...)                                                                                        \
    halves(ctx, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
/* an odd number of terms, and more than a block of them */
static wick_tensor *half_layers(wick_context *ctx, wick_tensor *x, wick_dtype dtype) {
    wick_tensor *h = wick_relu(wick_linear(wick_cast(x, dtype), HALVES(ctx, dtype, 37, 1101), HALVES(ctx, dtype, 37)));
    return wick_cast(wick_softmax(wick_matmul(wick_tanh(h), HALVES(ctx, dtype, 37, 11)), -1), WICK_F32);
}
NET(half_layers_f16) { return half_layers(ctx, x, WICK_F16); }
NET(half_layers_bf16) { return half_layers(ctx, x, WICK_BF16); }
static wick_tensor *half_products(wick_tensor *x, wick_dtype dtype) { /* in the run, in batches, without terms */
    wick_tensor *h = wick_cast(x, dtype), *y = wick_matmul(h, wick_transpose(h, -1, -2));
    return wick_cast(
        wick_add(y, wick_matmul(wick_slice(h, -1, 0, 0, 1), wick_transpose(wick_slice(h, -1, 0, 0, 1), -1, -2))),
        WICK_F32);
}
NET(half_products_f16) { return half_products(x, WICK_F16); }
NET(half_products_bf16) { return half_products(x, WICK_BF16); }
/* convolutions of all kinds, whose weights stay 2 bytes */
static wick_tensor *half_images(wick_context *ctx, wick_tensor *x, wick_dtype dtype) {
    wick_tensor *h =
        wick_relu(CONV(wick_cast(x, dtype), HALVES(ctx, dtype, 21, 3, 5, 5), HALVES(ctx, dtype, 21), .pad = {2, 2}));
    h = CONV(h, HALVES(ctx, dtype, 21, 1, 3, 3), HALVES(ctx, dtype, 21), .groups = 21, .pad = {1, 1});
    h = CONV(h, HALVES(ctx, dtype, 12, 21, 1, 1), NULL);
    h = wick_relu(CONV(h, HALVES(ctx, dtype, 12, 12, 3, 3), HALVES(ctx, dtype, 12), .pad = {1, 1}));
    h = wick_max_pool(CONV(h, HALVES(ctx, dtype, 9, 4, 3, 2), NULL, .groups = 3, .stride = {2, 1}),
                      &(wick_pool_options){.kernel = {2, 2}});
    return wick_cast(
        wick_conv_transpose(h, HALVES(ctx, dtype, 9, 4, 2, 2), NULL, &(wick_conv_options){.stride = {2, 2}}), WICK_F32);
}
NET(half_images_f16) { return half_images(ctx, x, WICK_F16); }
NET(half_images_bf16) { return half_images(ctx, x, WICK_BF16); }
/* weights alone: of the layer's input, which are f32 by then, and of its states */
static wick_tensor *half_gru(wick_context *ctx, wick_tensor *x, wick_dtype dtype) {
    const wick_rnn_inputs in = {.w_ih = wick_cast(HALVES(ctx, dtype, 27, 6), WICK_F32),
                                .w_hh = wick_cast(HALVES(ctx, dtype, 27, 9), WICK_F32),
                                .b_ih = MADE(ctx, 27),
                                .b_hh = MADE(ctx, 27)};
    return wick_gru(x, &in, &(wick_rnn_options){.reset_first = dtype == WICK_F16}, NULL);
}
NET(half_gru_f16) { return half_gru(ctx, x, WICK_F16); }
NET(half_gru_bf16) { return half_gru(ctx, x, WICK_BF16); }
static wick_tensor *half_numbers(wick_tensor *x, wick_dtype dtype) {
    wick_tensor *far = wick_cast(wick_mul(x, wick_exp(wick_mul(x, wick_like(x, 9)))), dtype),
                *near = wick_cast(wick_mul(x, wick_exp(wick_mul(wick_abs(x), wick_like(x, -9)))), dtype);
    wick_tensor *lost = wick_cast(wick_div(x, wick_sub(x, x)), dtype),
                *whole = wick_cast(wick_cast(wick_mul(x, wick_like(x, 9)), WICK_I32), dtype),
                *wide = wick_cast(wick_cast(x, WICK_F64), dtype);
    wick_tensor *all = wick_concat(5, (wick_tensor *[]){far, near, lost, whole, wide}, 0);
    all = wick_concat(2,
                      (wick_tensor *[]){all, wick_gather(all, 0,
                                                         wick_from(wick_tensor_context(x), WICK_I64, 1,
                                                                   (const int64_t[]){3}, (const int64_t[]){4, -5, 2}))},
                      0);
    return wick_concat(
        2,
        (wick_tensor *[]){
            wick_cast(all, WICK_F32),
            wick_cast(wick_add(wick_max(all, WICK_AXES(0), true), wick_mean(near, WICK_ALL_AXES, true)), WICK_F32)},
        0);
}
NET(half_numbers_f16) { return half_numbers(x, WICK_F16); }
NET(half_numbers_bf16) { return half_numbers(x, WICK_BF16); }

static const net half_nets[] = {
    {"half_layers_f16", 2, {3, 1101}, half_layers_f16, WICK_F32},
    {"half_layers_bf16", 2, {3, 1101}, half_layers_bf16, WICK_F32},
    {"half_products_f16", 4, {2, 3, 5, 9}, half_products_f16, WICK_F32},
    {"half_products_bf16", 4, {2, 3, 5, 9}, half_products_bf16, WICK_F32},
    {"half_images_f16", 4, {2, 3, 12, 15}, half_images_f16, WICK_F32},
    {"half_images_bf16", 4, {2, 3, 12, 15}, half_images_bf16, WICK_F32},
    {"half_gru_f16", 3, {4, 2, 6}, half_gru_f16, WICK_F32},
    {"half_gru_bf16", 3, {4, 2, 6}, half_gru_bf16, WICK_F32},
    {"half_numbers_f16", 2, {9, 30}, half_numbers_f16, WICK_F32},
    {"half_numbers_bf16", 2, {9, 30}, half_numbers_bf16, WICK_F32},
};
/* The others in mixed precision. */
static const net mixed_nets[] = {
    {"conv_padded", 4, {2, 3, 9, 11}, conv_padded, WICK_F32},
    {"conv_grouped_deep", 4, {1, 140, 4, 5}, conv_grouped_deep, WICK_F32},
    {"conv_deep", 4, {1, 140, 5, 5}, conv_deep, WICK_F32},
    {"conv_deeper", 4, {1, 200, 5, 4}, conv_deeper, WICK_F32},
    {"winograd", 4, {2, 8, 9, 12}, winograd, WICK_F32},
    {"winograd_unpadded", 4, {1, 4, 10, 11}, winograd_unpadded, WICK_F32},
    {"depthwise_between", 4, {1, 3, 8, 9}, depthwise_between, WICK_F32},
    {"pools", 4, {2, 3, 12, 13}, pools, WICK_F32},
    {"layers", 2, {3, 700}, layers, WICK_F32},
    {"products_of_batches", 4, {2, 3, 4, 9}, products_of_batches, WICK_F32},
    {"products_of_inputs", 2, {70, 9}, products_of_inputs, WICK_F32},
    {"attention_causal", 4, {1, 3, 150, 6}, attention_causal, WICK_F32},
    {"pools_of_planes", 4, {2, 3, 13, 12}, pools_of_planes, WICK_F32},
    {"pools_adaptive", 4, {1, 3, 7, 7}, pools_adaptive, WICK_F32},
    {"pool_of_all", 4, {2, 3, 12, 12}, pool_of_all, WICK_F32},
    {"residual", 4, {2, 6, 9, 10}, residual, WICK_F32},
    {"transposed", 4, {2, 4, 5, 6}, transposed, WICK_F32},
    {"transposed_deep", 4, {1, 300, 3, 4}, transposed_deep, WICK_F32},
    {"lstm", 3, {5, 3, 6}, lstm, WICK_F32},
    {"gru_reset_first", 3, {4, 2, 6}, gru_reset_first, WICK_F32},
    {"cast", 2, {4, 5}, cast, WICK_F32},
    {"joined", 2, {4, 20}, joined, WICK_F32},
    {"turned", 3, {3, 4, 5}, turned, WICK_F32},
    {"sums", 2, {90, 1300}, sums, WICK_F32},
    {"linear", 4, {2, 3, 5, 7}, linear, WICK_F32},
    {"nearest", 4, {2, 3, 7, 9}, nearest, WICK_F32},
};

#endif
