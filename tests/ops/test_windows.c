/* Convolutions, poolings, padding and resizing against PyTorch's (golden/windows.safetensors, made by
 * golden/make_windows.py), on every tier. */
#define GOLDEN_FILE  "windows.safetensors"
#define GOLDEN_FLOOR 8
#include "ops/goldens.h"
#include "wick/image.h"

/* as in make_windows.py */
enum { CONV, TRANSPOSED, MAX, AVG, ADAPTIVE_MAX, ADAPTIVE_AVG, PAD_ALL, FLIP, NEAREST, LINEAR, CORNERS };
enum {
    KERNEL = 1,
    STRIDE = 4,
    DILATION = 7,
    PAD = 10,
    PAD_END = 13,
    OUTPUT_PAD = 16,
    OUT = 19,
    GROUPS = 22,
    BIAS,
    CEIL,
    EXCLUDE
};

static wick_tensor *pad(wick_tensor *x, const int64_t *attr) {
    int64_t before[5] = {0}, after[5] = {0};
    memcpy(before + 2, attr + PAD, 3 * sizeof *before);
    memcpy(after + 2, attr + PAD_END, 3 * sizeof *after);
    return wick_pad(x, wick_tensor_rank(x), before, after, 1.5);
}
static wick_tensor *flip(wick_tensor *x, const int64_t *attr) {
    int axes[3], n = 0;
    for (int d = 0; d < 3; d++)
        if (attr[OUT + d]) axes[n++] = d - wick_tensor_rank(x) + 2;
    return wick_flip(x, n, axes);
}

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    wick_conv_options conv = {.groups = attr[GROUPS]};
    wick_pool_options pool = {.ceil_mode = attr[CEIL], .exclude_pad = attr[EXCLUDE]};
    const struct {
        int64_t *to;
        int from;
    } lists[] = {{conv.stride, STRIDE},   {conv.dilation, DILATION},     {conv.pad, PAD},
                 {conv.pad_end, PAD_END}, {conv.output_pad, OUTPUT_PAD}, {pool.kernel, KERNEL},
                 {pool.stride, STRIDE},   {pool.dilation, DILATION},     {pool.pad, PAD}};
    for (size_t i = 0; i < WICK_COUNTOF(lists); i++) memcpy(lists[i].to, attr + lists[i].from, 3 * sizeof(int64_t));
    switch (attr[0]) {
    case CONV: return wick_conv(in[0], in[1], attr[BIAS] ? in[2] : NULL, &conv);
    case TRANSPOSED: return wick_conv_transpose(in[0], in[1], attr[BIAS] ? in[2] : NULL, &conv);
    case MAX: return wick_max_pool(in[0], &pool);
    case AVG: return wick_avg_pool(in[0], &pool);
    case ADAPTIVE_MAX: return wick_adaptive_max_pool(in[0], attr + OUT);
    case ADAPTIVE_AVG: return wick_adaptive_avg_pool(in[0], attr + OUT);
    case PAD_ALL: return pad(in[0], attr);
    case FLIP: return flip(in[0], attr);
    default: return wick_resize(in[0], attr + OUT, (wick_resize_mode)(attr[0] - NEAREST));
    }
}

TEST(values_and_gradients_agree) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    CHECK(check_every_case(&ctx, build) > 100);
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 4, 8, 8)),
                *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(6, 4, 3, 3)), *b = wick_zeros(ctx, WICK_F32, WICK_DIMS(6));
    const refusal cases[] = {
        {wick_conv(x, wick_zeros(ctx, WICK_F32, WICK_DIMS(6, 3, 3, 3)), NULL, NULL), "4 input channels"},
        {wick_conv(x, w, NULL, &(wick_conv_options){.groups = 2}), "2 groups"},
        {wick_conv(x, wick_zeros(ctx, WICK_F32, WICK_DIMS(6, 4, 9, 3)), NULL, NULL),
         "a kernel of 9 with dilation 1 does not fit into 8 padded by 0"},
        {wick_conv(x, w, wick_zeros(ctx, WICK_F32, WICK_DIMS(5)), NULL), "bias"},
        {wick_conv(x, wick_zeros(ctx, WICK_I32, WICK_DIMS(6, 4, 3, 3)), b, &(wick_conv_options){.stride = {-1}}),
         "stride -1"},
        {wick_conv(x, w, b, &(wick_conv_options){.pad = {-1}}), "padding of -1"},
        {wick_conv(x, w, b, &(wick_conv_options){.pad = {1}, .pad_end = {-2}}), "padding of 1 and -1"},
        {wick_conv(x, w, b, &(wick_conv_options){.stride = {1, 1, 2}}), "options for 3 dims, but x [N, C, dims] has 2"},
        {wick_conv(x, w, b, &(wick_conv_options){.output_pad = {1}}), "output_pad"},
        {wick_conv(b, w, NULL, NULL), "1 to 3 dims"},
        {wick_conv(x, wick_cast(w, WICK_I64), NULL, NULL), ""}, /* promotes to f32 */
        {wick_conv_transpose(x, wick_zeros(ctx, WICK_F32, WICK_DIMS(4, 2, 3, 3)), NULL,
                             &(wick_conv_options){.output_pad = {1}}),
         "larger stride"},
        {wick_conv_transpose(x, w, NULL, NULL), "output channels"},
        {wick_conv_transpose(x, wick_zeros(ctx, WICK_F32, WICK_DIMS(4, 1, 3, 3)),
                             wick_zeros(ctx, WICK_F32, WICK_DIMS(7)), NULL),
         "bias must be f32[1]"},
        {wick_conv_transpose(x, wick_zeros(ctx, WICK_F32, WICK_DIMS(4, 2, 3, 3)),
                             wick_zeros(ctx, WICK_F64, WICK_DIMS(2)), NULL),
         "bias must be f32[2]"},
        {wick_conv(x, w, b, &(wick_conv_options){.stride = {2000}}), "strides are 1 to 1024"},
        {wick_max_pool(x, NULL), "options are NULL"},
        {wick_flip(x, 2, NULL), "2 axes at NULL"},
        {wick_flip(x, -1, (int[]){0}), "-1 axes"},
        {wick_max_pool(x, &(wick_pool_options){.kernel = {9, 1}}), "a window of 9 does not fit"},
        {wick_max_pool(x, &(wick_pool_options){.kernel = {2}}), "kernel 0"},
        {wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}, .pad = {2}}), "more than half"},
        {wick_avg_pool(x, &(wick_pool_options){.kernel = {2, 2}, .dilation = {2}}), "no dilation"},
        {wick_max_pool(x, &(wick_pool_options){.kernel = {3, 3}, .pad = {1, 1}, .pad_end = {-2, 0}}),
         "no padding is negative"},
        {wick_avg_pool(x, &(wick_pool_options){.kernel = {3, 3}, .pad_end = {0, 3}}),
         "a window would lie in the padding"},
        {wick_adaptive_avg_pool(x, (const int64_t[]){2, 0}), "0 outputs"},
        {wick_max_pool(wick_zeros(ctx, WICK_F32, WICK_DIMS(4)), &(wick_pool_options){.kernel = {2}}), "1 to 3 dims"},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    wick_context_free(&ctx);
}

/* As TensorFlow's SAME has it where strides do not divide: the padding made by an op of its own is another way to the
 * same numbers. */
TEST(padding_at_the_end_alone_is_that_of_a_padded_image) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_random_uniform(ctx, WICK_F64, WICK_DIMS(2, 3, 10, 7));
    x = wick_sub(x, wick_like(x, 2)); /* below 0: padding with zeros would show */
    for (int kernel = 1; kernel <= 4; kernel++)
        for (int stride = 1; stride <= 3; stride++)
            for (int before = 0; before <= kernel / 2; before++)
                for (int end = 0; end < kernel; end++) {
                    wick_pool_options o = {.kernel = {kernel, kernel},
                                           .stride = {stride, stride},
                                           .pad = {before, before},
                                           .pad_end = {end - before, end - before}},
                                      none = o;
                    memset(none.pad, 0, sizeof none.pad), memset(none.pad_end, 0, sizeof none.pad_end);
                    const int64_t low[4] = {0, 0, before, before}, high[4] = {0, 0, end, end};
                    wick_tensor *pairs[2][2] = {
                        {wick_max_pool(x, &o), wick_max_pool(wick_pad(x, 4, low, high, -INFINITY), &none)},
                        {wick_avg_pool(x, &o), wick_avg_pool(wick_pad(x, 4, low, high, 0), &none)}};
                    for (int k = 0; k < 2; k++) {
                        double differ = 1;
                        CHECK_MSG(
                            wick_item(wick_max(wick_abs(wick_sub(pairs[k][0], pairs[k][1])), WICK_ALL_AXES, false),
                                      &differ) == WICK_OK &&
                                differ < 1e-14,
                            "kernel %d stride %d pads %d, %d: off by %g (%s)", kernel, stride, before, end, differ,
                            wick_context_error(ctx));
                    }
                }
    wick_context_free(&ctx);
}

TEST(half_types_are_computed_in_f32_and_rounded_once) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_arange(ctx, WICK_F32, -1, 0.03125, 64),
                *w = wick_full(ctx, WICK_F32, WICK_DIMS(1, 1, 3), 0.3);
    x = wick_reshape(x, WICK_DIMS(1, 1, 64));
    wick_tensor *half = wick_conv(wick_cast(x, WICK_BF16), wick_cast(w, WICK_BF16), NULL, NULL);
    CHECK(wick_tensor_dtype(half) == WICK_BF16);
    wick_tensor *wide = wick_cast(wick_conv(wick_cast(wick_cast(x, WICK_BF16), WICK_F32),
                                            wick_cast(wick_cast(w, WICK_BF16), WICK_F32), NULL, NULL),
                                  WICK_BF16);
    double differ = 1;
    CHECK(wick_item(wick_sum(wick_cast(wick_ne(half, wide), WICK_I64), WICK_ALL_AXES, false), &differ) == WICK_OK);
    CHECK(differ == 0);
    CHECK(wick_tensor_dtype(wick_max_pool(wick_cast(x, WICK_F16), &(wick_pool_options){.kernel = {2}})) == WICK_F16);
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
