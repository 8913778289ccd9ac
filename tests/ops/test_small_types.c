/* Types that kernels do not compute in are taken all the same, by a wider one: what comes out is what the wider one
 * gives, rounded once. */
#include <math.h>
#include <stdlib.h>

#include "context.h"
#include "test.h"
#include "wick/wick.h"

/* Small whole numbers, which every dtype holds. */
static wick_tensor *numbers(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims) {
    double values[512];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    for (int64_t i = 0; i < n; i++) values[i] = (double)(i * 7 % 11);
    return wick_cast(wick_from(ctx, WICK_F64, rank, dims, values), dtype);
}
/* Whether y is of dtype, and what `wide` gives of f64. */
static bool same(wick_tensor *y, wick_dtype dtype, wick_tensor *wide) {
    const char *text;
    double differ = -1;
    if (wick_tensor_error(y, &text) != WICK_OK) {
        printf("  %s\n", text);
        return false;
    }
    wick_tensor *ne = wick_ne(wick_cast(y, WICK_F64), wick_cast(wick_cast(wide, dtype), WICK_F64));
    return wick_tensor_dtype(y) == dtype &&
           wick_item(wick_count_nonzero(ne, WICK_ALL_AXES, false), &differ) == WICK_OK && differ == 0;
}

TEST(sums_by_index_maxima_and_counts_take_every_type) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    const int64_t at[4] = {2, 0, 2, 2};
    const wick_pool_options window = {.kernel = {3, 2}, .stride = {2, 2}, .pad = {1, 0}};
    for (int i = 0; i <= WICK_BOOL; i++) {
        const wick_dtype d = (wick_dtype)i;
        const char *name = wick_dtype_name(d);
        wick_tensor *index = wick_from(ctx, WICK_I64, WICK_DIMS(4), at), *base = numbers(ctx, d, WICK_DIMS(3, 5)),
                    *src = numbers(ctx, d, WICK_DIMS(4, 5));
        CHECK_MSG(same(wick_scatter_add(base, 0, index, src), d,
                       wick_scatter_add(wick_cast(base, WICK_F64), 0, index, wick_cast(src, WICK_F64))),
                  "scatter_add of %s", name);
        CHECK_MSG(
            same(wick_max(base, WICK_AXES(1), false), d, wick_max(wick_cast(base, WICK_F64), WICK_AXES(1), false)),
            "max of %s", name);
        CHECK_MSG(
            same(wick_min(base, WICK_AXES(0), false), d, wick_min(wick_cast(base, WICK_F64), WICK_AXES(0), false)),
            "min of %s", name);
        wick_tensor *edges, *counts = wick_histogram(base, 4, 1, 9, NULL, &edges);
        CHECK_MSG(same(counts, WICK_I64, wick_histogram(wick_cast(base, WICK_F64), 4, 1, 9, NULL, NULL)),
                  "histogram of %s", name);
        if (d == WICK_BOOL || d == WICK_I64 || d == WICK_U64) continue;
        wick_tensor *image = wick_sub(numbers(ctx, d, WICK_DIMS(2, 3, 7, 6)), wick_like(base, 3)),
                    *wide = wick_cast(image, WICK_F64);
        CHECK_MSG(same(wick_max_pool(image, &window), d, wick_max_pool(wide, &window)), "max_pool of %s", name);
        CHECK_MSG(same(wick_max_pool_indices(image, &window), WICK_I64, wick_max_pool_indices(wide, &window)),
                  "max_pool_indices of %s", name);
    }
    wick_context_free(&ctx);
}

TEST(sums_by_index_of_half_types_are_rounded_once) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    double sum = 0;
    wick_tensor *ones = wick_ones(ctx, WICK_BF16, WICK_DIMS(1000, 1)),
                *zero = wick_zeros(ctx, WICK_BF16, WICK_DIMS(1, 1));
    /* one by one, bf16 would stay at 256 */
    wick_tensor *y = wick_scatter_add(zero, 0, wick_zeros(ctx, WICK_I64, WICK_DIMS(1000)), ones);
    CHECK(wick_item(wick_reshape(y, WICK_SCALAR), &sum) == WICK_OK && sum == 1000);
    wick_context_free(&ctx);
}

TEST(random_numbers_of_half_types_are_those_of_f32_rounded) {
    static const wick_dtype half[] = {WICK_F16, WICK_BF16};
    for (int i = 0; i < 2; i++) {
        wick_context *ctx = new_context(.threads = 1);
        REQUIRE(ctx != NULL);
        double most = 0, mean = 0, differ = 1;
        wick_context_set_random(ctx, 5, 0);
        wick_tensor *u = wick_random_uniform(ctx, half[i], WICK_DIMS(200000)),
                    *n = wick_random_normal(ctx, half[i], WICK_DIMS(1000));
        wick_context_set_random(ctx, 5, 0);
        wick_tensor *wide = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(200000)),
                    *wide_n = wick_random_normal(ctx, WICK_F32, WICK_DIMS(1000));
        CHECK(wick_tensor_dtype(u) == half[i] && wick_tensor_dtype(n) == half[i]);
        CHECK(wick_item(wick_max(wick_cast(u, WICK_F64), WICK_ALL_AXES, false), &most) == WICK_OK && most < 1 &&
              most > 0.99);
        CHECK(wick_item(wick_mean(wick_cast(u, WICK_F64), WICK_ALL_AXES, false), &mean) == WICK_OK &&
              fabs(mean - 0.5) < 0.01);
        wick_tensor *off = wick_gt(wick_abs(wick_sub(wick_cast(u, WICK_F32), wide)), wick_like(wide, 0x1p-8));
        CHECK(wick_item(wick_count_nonzero(off, WICK_ALL_AXES, false), &differ) == WICK_OK && differ == 0);
        CHECK(same(n, half[i], wick_cast(wide_n, WICK_F64)));
        wick_context_free(&ctx);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
