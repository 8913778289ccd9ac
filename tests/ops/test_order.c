/* Sorting, the first few of rows, and searching in what is in order, by comparing each element with all. */
#include "base/base.h"
#include "ops/alike.h"
#include "wick/index.h"
#include "wick/shape.h"
#include "wick/sort.h"

#include <math.h>

TEST(long_rows_are_sorted_stably_however_they_are_cut) {
    wick_context *ctx[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(wick_context_new(&(wick_context_options){.threads = i ? 5 : 1}, &ctx[i]) == WICK_OK);
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_U8};
    for (size_t d = 0; d < WICK_COUNTOF(dtypes); d++)
        for (int descending = 0; descending < 2; descending++) {
            const int64_t rows = 2, n = 65536 * 3 + 77, dims[] = {rows, n};
            void *bytes[2][2] = {{NULL}};
            for (int i = 0; i < 2; i++) {
                test_seed = 11;
                wick_scope *scope = wick_scope_open(ctx[i]);
                wick_tensor *x = wick_round(noise(ctx[i], WICK_F32, 2, dims)), *index; /* many ties */
                x = wick_cast(dtypes[d] == WICK_U8 || dtypes[d] == WICK_U64 ? wick_abs(x) : x, dtypes[d]);
                wick_tensor *y = wick_sort(x, 1, descending, &index), *all[2] = {y, index};
                CHECK(wick_eval(ctx[i], 2, all, NULL) == WICK_OK);
                same(y, wick_take_along_axis(x, 1, index));
                /* in order; of equal ones the first comes first */
                wick_tensor *a = wick_slice(y, 1, 0, n - 1, 1), *b = wick_slice(y, 1, 1, n, 1);
                wick_tensor *ia = wick_slice(index, 1, 0, n - 1, 1), *ib = wick_slice(index, 1, 1, n, 1);
                wick_tensor *good = wick_logical_or(descending ? wick_gt(a, b) : wick_lt(a, b),
                                                    wick_logical_and(wick_eq(a, b), wick_lt(ia, ib)));
                double all_good = 0;
                CHECK(wick_item(wick_all(good, WICK_ALL_AXES, false), &all_good) == WICK_OK);
                CHECK_MSG(all_good == 1, "%s is not in order", wick_dtype_name(dtypes[d]));
                for (int k = 1; k < 3; k++) { /* top k of few and of many */
                    const int64_t few = k == 1 ? 9 : n / 3;
                    wick_tensor *places, *top = wick_topk(x, few, 1, descending, &places);
                    same(top, wick_slice(y, 1, 0, few, 1));
                    same(places, wick_slice(index, 1, 0, few, 1));
                    wick_tensor *kth = wick_kthvalue(x, few, 1, true, &places);
                    if (!descending)
                        same(kth, wick_slice(y, 1, few - 1, few, 1)),
                            same(places, wick_slice(index, 1, few - 1, few, 1));
                }
                for (int k = 0; k < 2; k++) {
                    const size_t size = (size_t)(rows * n) * wick_dtype_size(wick_tensor_dtype(all[k]));
                    bytes[i][k] = malloc(size);
                    CHECK(wick_read(all[k], bytes[i][k], size) == WICK_OK);
                    if (i) CHECK_MSG(!memcmp(bytes[0][k], bytes[1][k], size), "other bits with more threads");
                }
                wick_scope_close(&scope);
            }
            for (int i = 0; i < 4; i++) free(bytes[i / 2][i % 2]);
        }
    for (int i = 0; i < 2; i++) wick_context_free(&ctx[i]);
}

TEST(short_rows_are_sorted_stably) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    static const int lengths[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129};
    for (size_t l = 0; l < WICK_COUNTOF(lengths); l++)
        for (int descending = 0; descending < 2; descending++) {
            const int n = lengths[l];
            float x[130];
            for (int i = 0; i < n; i++) x[i] = (float)(test_rand() % 40) - 20;
            if (n > 3) x[1] = INFINITY, x[2] = -INFINITY, x[n / 2] = NAN, x[n - 1] = -0.0f;
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *index, *y = wick_sort(wick_from(ctx, WICK_F32, 1, (int64_t[]){n}, x), 0, descending, &index),
                                *all[2] = {y, index};
            REQUIRE(wick_eval(ctx, 2, all, NULL) == WICK_OK);
            const void *at, *sorted;
            REQUIRE(wick_data(index, &at) == WICK_OK && wick_data(y, &sorted) == WICK_OK);
            for (int i = 0; i < n; i++) { /* before it: what is less (NaN the largest), and equals that come first */
                int place = 0;
                for (int j = 0; j < n; j++) {
                    const bool less = x[j] < x[i] || (isnan(x[i]) && !isnan(x[j])),
                               more = x[j] > x[i] || (isnan(x[j]) && !isnan(x[i]));
                    place += descending ? more : less;
                    place += !less && !more && j < i;
                }
                CHECK_MSG(((const int64_t *)at)[place] == i && !memcmp((const float *)sorted + place, x + i, sizeof *x),
                          "%d elements: element %d is not at %d", n, i, place);
            }
            for (int k = 1; k <= n; k += 1 + n / 9) { /* the first k, and the k-th alone */
                wick_tensor *places,
                    *top = wick_topk(wick_from(ctx, WICK_F32, 1, (int64_t[]){n}, x), k, 0, descending, &places);
                wick_tensor *place,
                    *kth = wick_kthvalue(wick_from(ctx, WICK_F32, 1, (int64_t[]){n}, x), k, 0, true, &place);
                same(top, wick_slice(y, 0, 0, k, 1));
                same(places, wick_slice(index, 0, 0, k, 1));
                if (!descending)
                    same(kth, wick_slice(y, 0, k - 1, k, 1)), same(place, wick_slice(index, 0, k - 1, k, 1));
            }
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

/* Rows that rise or fall give the first few up for another way; of many equal ones the first ones are taken. */
TEST(the_first_few_of_rows_are_those_of_the_whole_in_order) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    static const int lengths[] = {64, 65, 143, 700, 1025, 3001};
    enum { RANDOM, EQUALS, RISING, FALLING, WITH_NAN, KINDS, MOST = 3001, ROWS = 3 };
    static float x[ROWS * MOST];
    for (size_t l = 0; l < WICK_COUNTOF(lengths); l++)
        for (int at = 0; at < KINDS * 4; at++) {
            const int n = lengths[l], kind = at / 4, descending = at % 2;
            const wick_dtype dtype = at / 2 % 2 ? WICK_I32 : WICK_F32;
            for (int i = 0; i < ROWS * n; i++) {
                x[i] = kind == RISING    ? (float)(i % n)
                       : kind == FALLING ? (float)-(i % n)
                                         : (float)(test_rand() % (kind == EQUALS ? 5 : 5000)) - 2;
                if (kind == WITH_NAN && dtype == WICK_F32 && test_rand() % 50 == 0)
                    x[i] = test_rand() % 3 ? NAN : i % 2 ? INFINITY : -0.0f;
            }
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *of = wick_cast(wick_from(ctx, WICK_F32, 2, (int64_t[]){ROWS, n}, x), dtype), *index,
                        *y = wick_sort(of, 1, descending, &index);
            for (int k = 1; k <= WICK_MIN(17, n / 8); k += 1 + k / 2) {
                wick_tensor *places, *top = wick_topk(of, k, 1, descending, &places);
                same(top, wick_slice(y, 1, 0, k, 1));
                same(places, wick_slice(index, 1, 0, k, 1));
            }
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

/* Lists on a line are searched by it: straight ones, some with steps and equal ones, and one that only looks straight
 * at its ends. */
TEST(searches_equal_a_count_of_what_is_below) {
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    enum { N = 101, M = 4 * N + 8 };
    for (int how = 0; how < 6; how++)
        for (int f64 = 0; f64 < 2; f64++) {
            double list[N], values[M];
            for (int j = 0; j < N; j++) {
                const double wave = how == 1   ? 0.4 * (j % 3)
                                    : how == 2 ? (double)(j % 2)
                                    : how == 3 ? 5.0 * (j > 50)
                                    : how == 4 ? j * j / 100.0 - j
                                               : 0;
                list[j] = how == 5 ? (j < 50 ? -1 : 1) : -3 + 0.0625 * (j + (wave < 0 ? -wave : wave));
            }
            for (int j = 1; j < N; j++) list[j] = list[j] < list[j - 1] ? list[j - 1] : list[j]; /* rising */
            int m = 0;
            for (int j = 0; j < N; j++)
                values[m++] = list[j], values[m++] = list[j] + 0x1p-12, values[m++] = list[j] - 0x1p-12,
                values[m++] = (test_rand() % 4096) / 256.0 - 6;
            const double odd[] = {INFINITY, -INFINITY, NAN, 0, -0.0, 1e30, -1e30, 1e-40};
            for (int k = 0; k < 8; k++) values[m++] = odd[k];
            for (int right = 0; right < 2; right++) {
                wick_scope *scope = wick_scope_open(ctx);
                /* all numbers are those of f32, but for 1e-40 and what is rounded alike */
                const wick_dtype dtype = f64 ? WICK_F64 : WICK_F32;
                wick_tensor *l = wick_cast(wick_from(ctx, WICK_F64, 1, (int64_t[]){N}, list), dtype),
                            *v = wick_cast(wick_from(ctx, WICK_F64, 1, (int64_t[]){M}, values), dtype);
                wick_tensor *y = wick_searchsorted(l, v, right),
                            *all[3] = {y, wick_cast(l, WICK_F64), wick_cast(v, WICK_F64)};
                REQUIRE(wick_eval(ctx, 3, all, NULL) == WICK_OK);
                const void *got, *ls, *vs;
                REQUIRE(wick_data(y, &got) == WICK_OK && wick_data(all[1], &ls) == WICK_OK &&
                        wick_data(all[2], &vs) == WICK_OK);
                for (int i = 0; i < M; i++) {
                    const double x = ((const double *)vs)[i];
                    int below = 0;
                    for (int j = 0; j < N; j++)
                        below += isnan(x) || (right ? ((const double *)ls)[j] <= x : ((const double *)ls)[j] < x);
                    CHECK_MSG(((const int64_t *)got)[i] == below, "list %d, %s, right %d: %g is at %lld, not %d", how,
                              wick_dtype_name(dtype), right, x, (long long)((const int64_t *)got)[i], below);
                }
                wick_scope_close(&scope);
            }
        }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
