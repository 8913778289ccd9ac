/* Flip, pad and resize beyond what the goldens of test_windows.c say: views, threads, other dtypes, mistakes. */
#include "context.h"
#include "test.h"
#include "wick/wick.h"

enum { FLIPPED, PADDED, SHRUNK, NEAREST, LINEAR, CORNERS, WAYS };
static wick_tensor *way(int which, wick_tensor *x) { /* [N, C, H, W] */
    const int64_t before[] = {1, 0, -3, 2}, after[] = {0, -1, 5, -7}, size[] = {61, 50}, small[] = {9, 50};
    switch (which) {
    case FLIPPED: return wick_flip(x, WICK_AXES(0, -1));
    case PADDED: return wick_pad(x, 4, before, after, 0.25);
    case SHRUNK: return wick_resize(x, small, WICK_RESIZE_LINEAR);
    default: return wick_resize(x, size, (wick_resize_mode)(which - NEAREST));
    }
}

/* Value and gradient, one after the other. */
static bool run(int which, bool view, int threads, float *out, size_t bytes[2]) {
    wick_context *ctx = new_context(.threads = threads);
    if (!ctx) return false;
    wick_tensor *x = wick_reshape(wick_arange(ctx, WICK_F32, 0, 1, 2 * 23 * 3 * 40), WICK_DIMS(23, 2, 40, 3)), *grad;
    x = wick_sin(x);
    x = wick_slice(wick_permute(x, WICK_AXES(1, 3, 2, 0)), 2, 1, INT64_MAX, 2); /* [2, 3, 20, 23] */
    float values[2 * 3 * 20 * 23];
    bool good = wick_read(x, values, sizeof values) == WICK_OK;
    if (!view) x = wick_from(ctx, WICK_F32, WICK_DIMS(2, 3, 20, 23), values);
    wick_tensor *y = way(which, x);
    wick_grad(wick_sum(wick_mul(y, wick_square(y)), WICK_ALL_AXES, false), 1, &x, &grad);
    wick_tensor *results[] = {y, grad};
    good = good && wick_eval(ctx, 2, results, NULL) == WICK_OK;
    for (int i = 0; i < 2 && good; i++) {
        bytes[i] = (size_t)wick_tensor_count(results[i]) * sizeof *out;
        good = wick_read(results[i], out, bytes[i]) == WICK_OK;
        out += wick_tensor_count(results[i]);
    }
    if (!good) printf("%s\n", wick_context_error(ctx));
    wick_context_free(&ctx);
    return good;
}

TEST(views_and_threads_make_no_difference) {
    static float out[3][80000];
    for (int which = 0; which < WAYS; which++) {
        size_t bytes[3][2];
        REQUIRE(run(which, false, 1, out[0], bytes[0]) && run(which, true, 1, out[1], bytes[1]) &&
                run(which, true, 3, out[2], bytes[2]));
        CHECK(bytes[0][0] > 0 && bytes[0][0] + bytes[0][1] <= sizeof out[0]);
        for (int i = 1; i < 3; i++)
            CHECK_MSG(!memcmp(out[0], out[i], bytes[0][0] + bytes[0][1]), "way %d, run %d", which, i);
    }
}

TEST(any_dtype_can_be_flipped_padded_and_resized_to_the_nearest) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    for (int d = 0; d <= WICK_BOOL; d++) {
        /* 0, 1, 2; bool: 0, 1, 1 */
        wick_tensor *x =
            wick_reshape(wick_cast(wick_arange(ctx, WICK_F32, 0, 1, 3), (wick_dtype)d), WICK_DIMS(1, 1, 3));
        const double two = d == WICK_BOOL ? 1 : 2, expected[] = {two, 1, 0, 0, 0, 1, two, two, 1, 1};
        wick_tensor *all[] = {wick_flip(x, WICK_ALL_AXES), wick_resize(x, (const int64_t[]){4}, WICK_RESIZE_NEAREST),
                              wick_pad(x, WICK_DIMS(0, 0, -2), (const int64_t[]){0, 0, 2}, 1)};
        wick_tensor *joined = wick_concat(3, all, 2);
        CHECK(wick_tensor_dtype(joined) == (wick_dtype)d);
        double values[10];
        CHECK_MSG(wick_read(wick_cast(joined, WICK_F64), values, sizeof values) == WICK_OK, "dtype %d: %s", d,
                  wick_context_error(ctx));
        for (int i = 0; i < 10; i++) CHECK_MSG(values[i] == expected[i], "dtype %d, %d: %g", d, i, values[i]);
    }
    wick_context_free(&ctx);
}

TEST(half_types_are_resized_in_f32_and_rounded_once) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    wick_tensor *x =
        wick_cast(wick_reshape(wick_arange(ctx, WICK_F32, -1, 0.03, 40), WICK_DIMS(1, 2, 4, 5)), WICK_BF16);
    const int64_t size[] = {7, 3};
    wick_tensor *half = wick_resize(x, size, WICK_RESIZE_LINEAR),
                *wide = wick_cast(wick_resize(wick_cast(x, WICK_F32), size, WICK_RESIZE_LINEAR), WICK_BF16);
    double differ = 1;
    CHECK(wick_tensor_dtype(half) == WICK_BF16);
    CHECK(wick_item(wick_sum(wick_cast(wick_ne(half, wide), WICK_I64), WICK_ALL_AXES, false), &differ) == WICK_OK &&
          differ == 0);
    wick_context_free(&ctx);
}

TEST(mistakes_name_the_op_and_the_shape) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3, 4)), *m = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3)),
                *i = wick_zeros(ctx, WICK_I32, WICK_DIMS(1, 1, 4));
    const int64_t none[] = {0, 0, 0}, size[] = {8}, zero[] = {0}, huge[] = {INT64_MAX}, large[] = {INT32_MAX};
    const struct {
        wick_tensor *t;
        const char *says[2];
    } cases[] = {
        {wick_flip(x, WICK_AXES(3)), {"flip(f32[2,3,4])", "axis 3"}},
        {wick_flip(x, WICK_AXES(0, -3)), {"flip(f32[2,3,4])", "-3 is given twice"}},
        {wick_pad(m, WICK_DIMS(1), NULL, 0), {"pad(f32[2,3])", "1 axes"}},
        {wick_pad(x, 3, NULL, NULL, 0), {"pad(f32[2,3,4])", "3 axes"}},
        {wick_pad(x, WICK_DIMS(0, -2, 0), NULL, 0), {"pad(f32[2,3,4])", "axis 1 cannot lose 2 and 2"}},
        {wick_pad(x, WICK_DIMS(0, -4, 0), (const int64_t[]){0, 9, 0}, 0),
         {"pad(f32[2,3,4])", "axis 1 cannot lose 4 and 0"}},
        {wick_pad(x, WICK_DIMS(INT64_MIN, 0, 0), none, 0), {"pad(f32[2,3,4])", "axis 0"}},
        {wick_pad(x, WICK_DIMS(INT64_MAX, 0, 0), none, 0), {"pad(f32[2,3,4])", "axis 0 is too large"}},
        {wick_pad(x, WICK_DIMS(0, INT64_MAX / 8, 0), none, 0), {"pad(f32[2,3,4])", "axis 1 is too large"}},
        {wick_resize(m, size, WICK_RESIZE_LINEAR), {"resize(f32[2,3])", "1 to 3 dims"}},
        {wick_resize(x, NULL, WICK_RESIZE_LINEAR), {"resize(f32[2,3,4])", "size"}},
        {wick_resize(x, zero, WICK_RESIZE_NEAREST), {"resize(f32[2,3,4])", "dim 0 of 4 cannot become 0"}},
        {wick_resize(x, huge, WICK_RESIZE_NEAREST), {"resize(f32[2,3,4])", "dim 0 of 4"}},
        {wick_resize(wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3, 0)), size, WICK_RESIZE_LINEAR),
         {"resize(f32[2,3,0])", "dim 0 of 0"}},
        {wick_resize(wick_expand(wick_constant(ctx, WICK_F32, 1), WICK_DIMS(1LL << 20, 1 << 20, 4)), large,
                     WICK_RESIZE_NEAREST),
         {"resize(f32[1048576,1048576,4])", "too large"}},
        {wick_resize(i, size, WICK_RESIZE_LINEAR), {"resize(i32[1,1,4])", "cast"}},
        {wick_resize(x, size, (wick_resize_mode)3), {"resize", "no mode 3"}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(cases[k].t, &text) != WICK_OK, "case %d", (int)k);
        for (int p = 0; p < 2; p++)
            CHECK_MSG(strstr(text, cases[k].says[p]), "case %d: \"%s\" lacks \"%s\"", (int)k, text, cases[k].says[p]);
    }
    /* poison travels */
    CHECK(wick_tensor_error(
              wick_resize(wick_pad(wick_flip(m, WICK_AXES(7)), WICK_DIMS(1), NULL, 0), size, WICK_RESIZE_LINEAR),
              NULL) == WICK_ERR_SHAPE);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
