/* Windows, unpooling, resizing, sampling and boxes against PyTorch, ONNX's reference and onnxruntime
 * (golden/vision.safetensors, made by golden/make_vision.py), and what they refuse. */
#define GOLDEN_FILE  "vision.safetensors"
#define GOLDEN_FLOOR 16
#define GOLDEN_F32   2e-6 /* onnxruntime computes in it */
#include "ops/goldens.h"
#include "wick/image.h"
#include "wick/plan.h"

/* As in make_vision.py. */
enum {
    UNFOLD,
    FOLD,
    SLIDE,
    INDICES,
    UNPOOL,
    LP,
    SHUFFLE,
    UNSHUFFLE,
    DCR,
    DEPTH,
    CHANNELS,
    RESIZE,
    GRID,
    AFFINE,
    IOU,
    ROI,
    NMS
};

static wick_tensor *resize(wick_tensor *x, const int64_t *a) {
    static const double start[] = {0.25, -0.3125}, end[] = {0.875, 1.125};
    const double scale[] = {(double)a[7] / 1e6, (double)a[8] / 1e6, (double)a[9] / 1e6};
    return wick_interpolate(x, (int)a[6], NULL, a[10] ? NULL : a + 7,
                            &(wick_interpolate_options){.mode = (wick_interpolation)a[0],
                                                        .coordinates = (wick_coordinates)a[1],
                                                        .rounding = (wick_rounding)a[2],
                                                        .antialias = a[3],
                                                        .exclude_outside = a[4],
                                                        .cubic_a = (double)a[5] / 1e6,
                                                        .scale = a[10] ? scale : NULL,
                                                        .start = start,
                                                        .end = end,
                                                        .extrapolation = -7.5});
}

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    const int64_t *a = attr + 1;
    wick_unfold_options windows;
    wick_pool_options pool = {.ceil_mode = attr[0] == INDICES && a[12]};
    memcpy(windows.kernel, a, 3 * sizeof *a), memcpy(windows.stride, a + 3, 3 * sizeof *a),
        memcpy(windows.dilation, a + 6, 3 * sizeof *a), memcpy(windows.pad, a + 9, 3 * sizeof *a);
    memcpy(pool.kernel, a, 3 * sizeof *a), memcpy(pool.stride, a + 3, 3 * sizeof *a);
    if (attr[0] == INDICES) memcpy(pool.dilation, a + 6, 3 * sizeof *a), memcpy(pool.pad, a + 9, 3 * sizeof *a);
    switch (attr[0]) {
    case UNFOLD: return wick_unfold(in[0], &windows);
    case FOLD: return wick_fold(in[0], 2, a + 12, &windows);
    case SLIDE: return wick_sliding_window(in[0], (int)a[0], a[1], a[2], 1);
    case INDICES: return wick_max_pool_indices(in[0], &pool);
    case UNPOOL: return wick_max_unpool(in[0], in[1], a);
    case LP: return wick_lp_pool(in[0], (double)a[6] / 1e6, &pool);
    case SHUFFLE: return wick_pixel_shuffle(in[0], a[0]);
    case UNSHUFFLE: return wick_pixel_unshuffle(in[0], a[0]);
    case DCR: return wick_depth_to_space(in[0], a[0]);
    case DEPTH: return wick_space_to_depth(in[0], a[0]);
    case CHANNELS: return wick_channel_shuffle(in[0], a[0]);
    case RESIZE: return resize(in[0], a);
    case GRID:
        return wick_grid_sample(in[0], in[1],
                                &(wick_grid_options){.mode = (wick_interpolation)a[0],
                                                     .padding = (wick_grid_padding)a[1],
                                                     .align_corners = a[2]});
    case AFFINE: return wick_affine_grid(in[0], (int)a[3], a, a[4]);
    case IOU: return wick_box_iou(in[0], in[1]);
    case ROI:
        return wick_roi_align(
            in[0], in[1], in[2],
            &(wick_roi_options){
                .out = {a[0], a[1]}, .samples = a[2], .aligned = a[3], .max = a[4], .scale = (double)a[5] / 1e6});
    default:
        return wick_non_max_suppression(in[0], in[1],
                                        &(wick_nms_options){.most = a[0],
                                                            .overlap = (double)a[1] / 1e6,
                                                            .by_score = a[2],
                                                            .score = (double)a[3] / 1e6,
                                                            .center = a[4]});
    }
}

TEST(values_and_gradients_agree) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    CHECK(check_every_case(&ctx, build) > 150);
    wick_context_free(&ctx);
}

static double largest(wick_tensor *x) { /* magnitude; -1: an error */
    double value = -1;
    CHECK_MSG(wick_item(wick_max(wick_abs(wick_cast(x, WICK_F64)), WICK_ALL_AXES, false), &value) == WICK_OK, "%s",
              wick_context_error(wick_tensor_context(x)));
    return value;
}
static wick_tensor *ramp(wick_context *ctx, int rank, const int64_t *dims) {
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    return wick_reshape(wick_sin(wick_arange(ctx, WICK_F64, 1, 0.37, n)), rank, dims);
}

TEST(pairs_undo_each_other) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = ramp(ctx, WICK_DIMS(2, 8, 4, 6)), *three = ramp(ctx, WICK_DIMS(1, 2, 4, 6, 8));
    CHECK(largest(wick_sub(wick_pixel_unshuffle(wick_pixel_shuffle(x, 2), 2), x)) == 0);
    CHECK(largest(wick_sub(wick_space_to_depth(wick_depth_to_space(x, 2), 2), x)) == 0);
    CHECK(largest(wick_sub(wick_channel_shuffle(wick_channel_shuffle(x, 2), 4), x)) == 0);
    const wick_unfold_options apart = {.kernel = {2, 3}, .stride = {2, 3}},
                              cube = {.kernel = {2, 2, 4}, .stride = {2, 2, 4}};
    CHECK(largest(wick_sub(wick_fold(wick_unfold(x, &apart), 2, (const int64_t[]){4, 6}, &apart), x)) == 0);
    CHECK(largest(wick_sub(wick_fold(wick_unfold(three, &cube), 3, (const int64_t[]){4, 6, 8}, &cube), three)) == 0);
    const wick_pool_options pool = {.kernel = {2, 2}};
    wick_tensor *y = wick_max_pool(x, &pool),
                *back = wick_max_unpool(y, wick_max_pool_indices(x, &pool), (const int64_t[]){4, 6});
    CHECK(largest(wick_sub(
              wick_max_pool(wick_where(wick_ne(back, wick_like(back, 0)), back, wick_like(back, -2)), &pool), y)) == 0);
    /* A convolution is a product with the windows. */
    wick_tensor *w = ramp(ctx, WICK_DIMS(3, 8, 3, 3)),
                *conv = wick_conv(x, w, NULL, &(wick_conv_options){.pad = {1, 1}, .stride = {2, 1}});
    wick_tensor *product =
        wick_matmul(wick_reshape(w, WICK_DIMS(3, 72)),
                    wick_unfold(x, &(wick_unfold_options){.kernel = {3, 3}, .pad = {1, 1}, .stride = {2, 1}}));
    CHECK(largest(wick_sub(wick_reshape(conv, WICK_DIMS(2, 3, 12)), product)) < 1e-13);
    /* The identity's grid gives the field back. */
    const double identity[] = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0};
    for (int corners = 0; corners < 2; corners++) {
        wick_tensor *grid = wick_affine_grid(wick_from(ctx, WICK_F64, WICK_DIMS(2, 2, 3), identity), 2,
                                             (const int64_t[]){4, 6}, corners);
        CHECK(largest(wick_sub(
                  wick_grid_sample(x, grid, &(wick_grid_options){.mode = WICK_LINEAR, .align_corners = corners}), x)) <
              1e-14);
    }
    wick_context_free(&ctx);
}

/* Layouts are the plan's: what follows a convolution has its channels last. */
TEST(channels_last_inside_a_plan_changes_no_value) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = ramp(ctx, WICK_DIMS(2, 3, 7, 6)), *w = ramp(ctx, WICK_DIMS(5, 3, 3, 3)), *y[2];
    wick_tensor *grid =
        wick_reshape(wick_slice(wick_flatten(ramp(ctx, WICK_DIMS(2, 40, 2)), 0), 0, 0, 160, 1), WICK_DIMS(2, 8, 5, 2));
    REQUIRE(wick_eval(ctx, 3, (wick_tensor *[]){x, w, grid}, NULL) == WICK_OK);
    wick_tensor *at = wick_from(ctx, WICK_I64, WICK_DIMS(2), (const int64_t[]){1, 0}),
                *boxes = wick_from(ctx, WICK_F64, WICK_DIMS(2, 4), (const double[]){0, 1, 3, 4, 2, 0, 5, 5});
    for (int kind = 0; kind < 8; kind++) {
        for (int apart = 0; apart < 2; apart++) {
            wick_tensor *c = wick_conv(x, w, NULL, NULL);
            if (apart) REQUIRE(wick_eval(ctx, 1, &c, NULL) == WICK_OK);
            const int64_t size[] = {9, 3};
            y[apart] =
                kind < 3
                    ? wick_interpolate(c, 2, NULL, size, &(wick_interpolate_options){.mode = (wick_interpolation)kind})
                : kind == 3 ? wick_interpolate(c, 2, (const int[]){1, 0}, size,
                                               &(wick_interpolate_options){.mode = WICK_LINEAR})
                : kind == 4 ? wick_grid_sample(c, grid, NULL)
                : kind == 5 ? wick_cast(wick_max_pool_indices(c, &(wick_pool_options){.kernel = {2, 2}}), WICK_F64)
                : kind == 6 ? wick_unfold(c, &(wick_unfold_options){.kernel = {2, 2}})
                            : wick_roi_align(c, boxes, at, &(wick_roi_options){.out = {2, 2}});
        }
        CHECK_MSG(largest(wick_sub(y[0], y[1])) == 0, "kind %d", kind);
        CHECK(largest(y[0]) > 0);
    }
    wick_context_free(&ctx);
}

TEST(nms_is_torchvisions_for_one_class_and_padded_to_any_size) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const float boxes[] = {0, 0, 2, 2, 0, 0, 2, 1.9f, 5, 5, 6, 6, 0.1f, 0, 2, 2, 5, 5, 6, 7},
                       scores[] = {0.5f, 0.9f, 0.3f, 0.7f, 0.2f};
    wick_tensor *b = wick_from(ctx, WICK_F32, WICK_DIMS(5, 4), boxes),
                *s = wick_from(ctx, WICK_F32, WICK_DIMS(5), scores), *kept = wick_nms(b, s, 0.6), *count;
    int64_t at[5] = {0}, n[1];
    CHECK_INT(wick_tensor_dim(kept, 0), 3);
    CHECK(wick_read(kept, at, 3 * sizeof *at) == WICK_OK);
    CHECK(at[0] == 1 && at[1] == 2 && at[2] == 4);
    kept = wick_nms_padded(wick_unsqueeze(b, 0), wick_reshape(s, WICK_DIMS(1, 1, 5)),
                           &(wick_nms_options){.overlap = 0.4}, &count);
    CHECK(wick_read(kept, at, sizeof at) == WICK_OK && wick_read(count, n, sizeof n) == WICK_OK);
    CHECK(n[0] == 2 && at[0] == 1 && at[1] == 2 && at[2] == -1 && at[3] == -1 && at[4] == -1);
    kept = wick_nms(wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 4)), wick_zeros(ctx, WICK_F32, WICK_DIMS(0)), 0.5);
    CHECK(wick_tensor_error(kept, NULL) == WICK_OK && wick_tensor_count(kept) == 0);
    wick_context_free(&ctx);
}

static wick_status keep(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_nms(in[0], in[1], 0.5);
    return WICK_OK;
}
TEST(a_compiled_function_cannot_wait_for_a_size) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const wick_spec in[] = {{.dtype = WICK_F32, .rank = 2, .dims = {5, 4}},
                            {.dtype = WICK_F32, .rank = 1, .dims = {5}}};
    wick_plan *plan = NULL;
    CHECK(wick_compile(ctx, keep, NULL, 2, in, 1, NULL, &plan) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "wick_nms_padded has a fixed size");
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 6, 5, 4)), *v = wick_ones(ctx, WICK_F32, WICK_DIMS(6)),
                *ints = wick_cast(x, WICK_I32);
    wick_tensor *boxes = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 4)), *image = wick_zeros(ctx, WICK_I64, WICK_DIMS(3)),
                *grid = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3, 3, 2));
    const int64_t size[] = {5, 4, 3};
    const double scale[] = {2, -1}, zero[] = {0, 0}, wild[] = {0, INFINITY};
    const wick_unfold_options two = {.kernel = {2, 2}}, big = {.kernel = {6, 2}};
    const refusal cases[] = {
        {wick_sliding_window(x, 4, 1, 1, 1), "sliding_window: axis 4 of a 4-d tensor"},
        {wick_sliding_window(x, 2, 3, 1, 3), "a window of 3 with dilation 3 does not fit into 5"},
        {wick_sliding_window(x, 2, 0, 1, 1), "size 0"},
        {wick_unfold(x, NULL), "unfold: options are NULL"},
        {wick_unfold(x, &big), "unfold: a kernel of 6 with dilation 1 does not fit into 5 padded by 0"},
        {wick_unfold(v, &two), "unfold: needs [N, C, 1 to 3 dims]"},
        {wick_unfold(x, &(wick_unfold_options){.kernel = {1, 1, 1}}), "options for 3 dims, but there are 2"},
        {wick_fold(x, 2, size, &two), "fold: x must be [N, C times 4, 12]"},
        {wick_fold(wick_ones(ctx, WICK_I32, WICK_DIMS(1, 4, 12)), 2, size, &two), "fold: x is i32"},
        {wick_max_unpool(x, x, size), "the places must be i64"},
        {wick_max_unpool(x, wick_zeros(ctx, WICK_I64, WICK_DIMS(2, 6, 5, 3)), size), "different shapes"},
        {wick_max_unpool(x, wick_zeros(ctx, WICK_I64, WICK_DIMS(2, 6, 5, 4)), (const int64_t[]){3, 0}),
         "max_unpool: a size of 0"},
        {wick_lp_pool(x, -1, &(wick_pool_options){.kernel = {2, 2}}), "lp_pool: there is no norm of order -1"},
        {wick_pixel_shuffle(x, 2), "pixel_shuffle: channels of [2,6,5,4] do not divide into blocks of 2"},
        {wick_pixel_unshuffle(x, 2), "pixel_unshuffle: height and width"},
        {wick_depth_to_space(v, 2), "depth_to_space: x has 1 dims"},
        {wick_space_to_depth(x, 0), "blocks of 0"},
        {wick_channel_shuffle(x, 4), "6 channels do not divide into 4 groups"},
        {wick_interpolate(x, 2, NULL, NULL, NULL), "interpolate: needs a size or a scale"},
        {wick_interpolate(x, 2, NULL, NULL, &(wick_interpolate_options){.scale = scale}), "there is no scale of -1"},
        {wick_interpolate(x, 5, NULL, size, NULL), "5 axes of a 4-d tensor"},
        {wick_interpolate(x, 2, (const int[]){1, -3}, size, NULL), "axis -3 of a 4-d tensor is given twice"},
        {wick_interpolate(x, 2, NULL, (const int64_t[]){0, 3}, NULL), "axis 2 of 5 cannot become 0"},
        {wick_interpolate(ints, 2, NULL, size, &(wick_interpolate_options){.mode = WICK_LINEAR}),
         "between values of i32 there are none"},
        {wick_interpolate(x, 2, NULL, size, &(wick_interpolate_options){.coordinates = WICK_CROP_AND_RESIZE}),
         "crop_and_resize needs start and end"},
        {wick_interpolate(x, 2, NULL, size,
                          &(wick_interpolate_options){.coordinates = WICK_CROP_AND_RESIZE, .start = zero, .end = wild}),
         "a crop from 0 to inf"},
        {wick_interpolate(x, 2, NULL, size, &(wick_interpolate_options){.mode = (wick_interpolation)3}),
         "there is no mode 3"},
        {wick_grid_sample(x, boxes, NULL), "grid_sample: the grid must be [2, 2 dims, 2]"},
        {wick_grid_sample(v, grid, NULL), "grid_sample: x has 1 dims"},
        {wick_grid_sample(ints, wick_cast(grid, WICK_I32), NULL), "grid_sample: x is i32"},
        {wick_affine_grid(boxes, 2, size, false), "theta must be [N, 2, 3]"},
        {wick_affine_grid(boxes, 1, size, false), "affine_grid: of 1 dims"},
        {wick_box_iou(v, boxes), "box_iou: boxes must be floats [..., n, 4]"},
        {wick_roi_align(x, boxes, image, NULL), "roi_align: options are NULL"},
        {wick_roi_align(x, boxes, image, &(wick_roi_options){.out = {0, 1}}), "0 x 1 bins"},
        {wick_roi_align(x, v, image, &(wick_roi_options){.out = {1, 1}}), "needs boxes [R, 4]"},
        {wick_roi_align(x, boxes, boxes, &(wick_roi_options){.out = {1, 1}}), "must be i64"},
        {wick_nms(x, v, 0.5), "nms: boxes must be [B, 4] and scores [B]"},
        {wick_nms(boxes, v, 0.5), "needs boxes [N, B, 4] and scores [N, C, B]"},
        {wick_interpolate(ints, 2, NULL, size, NULL), ""},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    CHECK(wick_eval(ctx, 1,
                    (wick_tensor *[]){wick_roi_align(x, boxes, wick_full(ctx, WICK_I64, WICK_DIMS(3), 2),
                                                     &(wick_roi_options){.out = {1, 1}})},
                    NULL) == WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "box 0 is of no image: ");
    CHECK(wick_eval(ctx, 1,
                    (wick_tensor *[]){wick_max_unpool(x, wick_full(ctx, WICK_I64, WICK_DIMS(2, 6, 5, 4), 20),
                                                      (const int64_t[]){5, 4})},
                    NULL) == WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "place number 0 is outside its plane");
    wick_context_free(&ctx);
}

TEST(half_types_are_computed_in_f32_and_rounded_once) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const int64_t size[] = {7, 9};
    for (int d = 0; d < 2; d++) {
        const wick_dtype dtype = d ? WICK_BF16 : WICK_F16;
        wick_tensor *half = wick_cast(ramp(ctx, WICK_DIMS(1, 4, 5, 6)), dtype), *x = wick_cast(half, WICK_F32),
                    *grid = wick_cast(ramp(ctx, WICK_DIMS(1, 3, 3, 2)), dtype);
        wick_tensor *boxes = wick_from(ctx, WICK_F32, WICK_DIMS(1, 4), (const float[]){0, 1, 4, 4}),
                    *image = wick_zeros(ctx, WICK_I64, WICK_DIMS(1));
        const wick_interpolate_options cubic = {.mode = WICK_CUBIC};
        const wick_pool_options pool = {.kernel = {2, 2}};
        wick_tensor *pairs[][2] = {
            {wick_interpolate(half, 2, NULL, size, &cubic), wick_interpolate(x, 2, NULL, size, &cubic)},
            {wick_interpolate(half, 2, NULL, size, NULL), wick_interpolate(x, 2, NULL, size, NULL)},
            {wick_grid_sample(half, grid, NULL), wick_grid_sample(x, wick_cast(grid, WICK_F32), NULL)},
            {wick_lp_pool(half, 2, &pool), wick_lp_pool(x, 2, &pool)},
            {wick_roi_align(half, boxes, image, &(wick_roi_options){.out = {2, 2}}),
             wick_roi_align(x, boxes, image, &(wick_roi_options){.out = {2, 2}})},
        };
        for (size_t i = 0; i < WICK_COUNTOF(pairs); i++) {
            CHECK_MSG(wick_tensor_dtype(pairs[i][0]) == dtype, "pair %d", (int)i);
            CHECK_MSG(largest(wick_sub(pairs[i][0], wick_cast(pairs[i][1], dtype))) == 0, "pair %d", (int)i);
        }
        /* gradients of what is only copied add up in f32 */
        wick_tensor *grad, *y = wick_interpolate(half, 2, NULL, size, NULL);
        wick_grad(wick_sum(wick_cast(y, WICK_F32), WICK_ALL_AXES, false), 1, &half, &grad);
        CHECK(wick_tensor_dtype(grad) == dtype && largest(grad) == 4);
    }
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
