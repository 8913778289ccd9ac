/* Shapes, indexing, sorting, reductions and scans against PyTorch's (golden/index.safetensors, made by
 * golden/make_index.py). */
#define GOLDEN_FILE  "index.safetensors"
#define GOLDEN_FLOOR 8
#include "ops/goldens.h"
#include "ops/alike.h"
#include "wick/index.h"
#include "wick/reduce.h"
#include "wick/shape.h"
#include "wick/sort.h"

/* as KINDS of make_index.py */
enum {
    STACK,
    TILE,
    INTERLEAVE,
    ROLL,
    MOVE,
    PAD,
    TRIL,
    TRIU,
    DIAGONAL,
    TAKE,
    PUT,
    SCATTER,
    GATHER_ND,
    SCATTER_ND,
    INDEX,
    INDEX_PUT,
    EMBEDDING,
    BAG,
    BAG_OFFSETS,
    FILL,
    MASKED_SCATTER,
    SELECT,
    NONZERO,
    SORT,
    ARGSORT,
    TOPK,
    TOPK_INDEX,
    KTH,
    KTH_INDEX,
    MEDIAN,
    MEDIAN_INDEX,
    NANMEDIAN,
    QUANTILE,
    SEARCH,
    UNIQUE,
    UNIQUE_INVERSE,
    UNIQUE_COUNTS,
    CONSECUTIVE,
    BINCOUNT,
    BINCOUNT_WEIGHTS,
    HISTOGRAM,
    LOGSUMEXP,
    STD,
    NORM,
    ANY,
    ALL,
    COUNT,
    NANSUM,
    NANMEAN,
    MAX_INDEX,
    MIN_INDEX,
    MAX_VALUE,
    CUMSUM,
    CUMPROD,
    LOGCUMSUMEXP,
    CUMMAX,
    CUMMAX_INDEX,
    CUMMIN,
    CUMMIN_INDEX,
    CUMSUM_WITH,
    MESHGRID,
    EYE,
    LINSPACE,
    LOGSPACE,
    SCATTER_REDUCE
};

static int count_in; /* of the case: goldens.h does not tell */
static wick_tensor *second(wick_tensor *first, wick_tensor *const *index) {
    return wick_tensor_error(first, NULL) ? first : *index;
}

static wick_tensor *build(wick_tensor **in, const int64_t *a) {
    wick_context *ctx = wick_tensor_context(in[0]);
    wick_tensor *x = in[0], *index = NULL, *grid[3];
    const int axis = (int)a[1];
    const bool flag = a[0] >= KTH && a[2];
    int axes[3], n = (int)a[1];
    const int64_t *keep = NULL;
    if (a[0] >= LOGSUMEXP && a[0] <= NANMEAN) {
        for (int i = 0; i < n; i++) axes[i] = (int)a[2 + i];
        keep = a + 5;
    }
    switch (a[0]) {
    case STACK: return wick_stack(count_in, in, axis);
    case TILE: return wick_tile(x, n, a + 2);
    case INTERLEAVE: return wick_repeat_interleave(x, a[1], (int)a[2]);
    case ROLL:
        for (int i = 0; i < n; i++) axes[i] = (int)a[2 + n + i];
        return wick_roll(x, n, a + 2, axes);
    case MOVE: return wick_move_axis(x, axis, (int)a[2]);
    case PAD: return wick_pad_with(x, 4, a + 2, a + 6, (wick_pad_mode)a[1]);
    case TRIL: return wick_tril(x, a[1]);
    case TRIU: return wick_triu(x, a[1]);
    case DIAGONAL: return wick_diagonal_matrix(x, a[1]);
    case TAKE: return wick_take_along_axis(x, axis, in[1]);
    case PUT: return wick_put_along_axis(x, axis, in[1], in[2], (wick_put)a[2]);
    case SCATTER_REDUCE: return wick_scatter_reduce(x, axis, in[1], in[2], (wick_put)a[2], a[3]);
    case SCATTER: return wick_scatter(x, axis, in[1], in[2], (wick_put)a[2]);
    case GATHER_ND: return wick_gather_nd(x, (int)a[1], in[1]);
    case SCATTER_ND: return wick_scatter_nd(x, in[1], in[2], (wick_put)a[1]);
    case INDEX: return wick_index(x, n, in + 1);
    case INDEX_PUT: return wick_index_put(x, n, in + 1, in[1 + n], a[2]);
    case EMBEDDING: return wick_embedding(x, in[1], a[1]);
    case BAG: return wick_embedding_bag(x, in[1], NULL, NULL, (wick_bag)a[1]);
    case BAG_OFFSETS: return wick_embedding_bag(x, in[1], in[2], count_in > 3 ? in[3] : NULL, (wick_bag)a[1]);
    case FILL: return wick_masked_fill(x, in[1], 1.5);
    case MASKED_SCATTER: return wick_masked_scatter(x, in[1], in[2]);
    case SELECT: return wick_masked_select(x, in[1]);
    case NONZERO: return wick_nonzero(x);
    case SORT: return wick_sort(x, axis, a[2], NULL);
    case ARGSORT: return wick_argsort(x, axis, a[2]);
    case TOPK: return wick_topk(x, a[1], (int)a[2], a[3], NULL);
    case TOPK_INDEX: return second(wick_topk(x, a[1], (int)a[2], a[3], &index), &index);
    case KTH: return wick_kthvalue(x, a[3], axis, flag, NULL);
    case KTH_INDEX: return second(wick_kthvalue(x, a[3], axis, flag, &index), &index);
    case MEDIAN: return wick_median(x, axis, flag, NULL);
    case MEDIAN_INDEX: return second(wick_median(x, axis, flag, &index), &index);
    case NANMEDIAN: return wick_nanmedian(x, axis, flag, NULL);
    case QUANTILE: return wick_quantile(x, (double)a[3] / 1000, axis, flag, (wick_quantile_mode)a[4]);
    case SEARCH: return wick_searchsorted(x, in[1], a[1]);
    case UNIQUE: return wick_unique(x, NULL, NULL);
    case UNIQUE_INVERSE: return second(wick_unique(x, &index, NULL), &index);
    case UNIQUE_COUNTS: return second(wick_unique(x, NULL, &index), &index);
    case CONSECUTIVE: return wick_unique_consecutive(x, NULL, NULL);
    case BINCOUNT: return wick_bincount(x, NULL, a[1]);
    case BINCOUNT_WEIGHTS: return wick_bincount(x, in[1], a[1]);
    case HISTOGRAM: return wick_histogram(x, a[1], (double)a[2], (double)a[3], NULL, NULL);
    case LOGSUMEXP: return wick_logsumexp(x, n, axes, *keep);
    case STD: return wick_std(x, n, axes, 1, *keep);
    case NORM: return wick_norm(x, a[6] == 99 ? INFINITY : a[6] == -99 ? -INFINITY : (double)a[6], n, axes, *keep);
    case ANY: return wick_any(x, n, axes, *keep);
    case ALL: return wick_all(x, n, axes, *keep);
    case COUNT: return wick_count_nonzero(x, n, axes, *keep);
    case NANSUM: return wick_nansum(x, n, axes, *keep);
    case NANMEAN: return wick_nanmean(x, n, axes, *keep);
    case MAX_VALUE: return wick_max_with_index(x, axis, false, NULL);
    case MAX_INDEX: return second(wick_max_with_index(x, axis, false, &index), &index);
    case MIN_INDEX: return second(wick_min_with_index(x, axis, false, &index), &index);
    case CUMSUM: return wick_cumsum(x, axis);
    case CUMPROD: return wick_cumprod(x, axis);
    case LOGCUMSUMEXP: return wick_logcumsumexp(x, axis);
    case CUMMAX: return wick_cummax(x, axis, NULL);
    case CUMMAX_INDEX: return second(wick_cummax(x, axis, &index), &index);
    case CUMMIN: return wick_cummin(x, axis, NULL);
    case CUMMIN_INDEX: return second(wick_cummin(x, axis, &index), &index);
    case CUMSUM_WITH: return wick_cumsum_with(x, axis, a[2], a[3]);
    case MESHGRID: return wick_meshgrid(3, in, a[1], grid), grid[a[2]];
    case EYE: return wick_eye(ctx, WICK_I64, a[1], a[2], a[3]);
    case LINSPACE: return wick_linspace(ctx, wick_tensor_dtype(x), (double)a[1], (double)a[2], a[3]);
    case LOGSPACE: return wick_logspace(ctx, wick_tensor_dtype(x), (double)a[1], (double)a[2], a[3], (double)a[4]);
    default: return NULL;
    }
}

TEST(values_and_gradients_agree) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    int cases = 0;
    for (size_t i = 0; i < file.count; i++) {
        char name[112], part[16];
        snprintf(name, sizeof name, "%s", file.tensors[i].name);
        char *slash = strrchr(name, '/');
        if (!slash || strcmp(slash, "/attr")) continue;
        *slash = 0;
        cases++;
        for (count_in = 0; snprintf(part, sizeof part, "in%d", count_in), find(name, part);) count_in++;
        check(ctx, name, build);
    }
    CHECK(cases > 600);
    wick_context_free(&ctx);
}

/* ---- what no golden says ----------------------------------------------------------------------------------------- */

TEST(long_scans_have_the_same_bits_at_any_number_of_threads_and_are_exact_to_f64) {
    wick_context *ctx[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(wick_context_new(&(wick_context_options){.threads = i ? 5 : 1}, &ctx[i]) == WICK_OK);
    for (int reverse = 0; reverse < 2; reverse++)
        for (int exclusive = 0; exclusive < 2; exclusive++) {
            const int64_t n = 16384 * 5 + 3, rows = 3, dims[] = {rows, n};
            float *y[2];
            for (int i = 0; i < 2; i++) {
                test_seed = 5;
                wick_scope *scope = wick_scope_open(ctx[i]);
                wick_tensor *x = noise(ctx[i], WICK_F32, 2, dims);
                const size_t size = (size_t)(rows * n) * sizeof(float);
                y[i] = malloc(size);
                CHECK(wick_read(wick_cumsum_with(x, 1, exclusive, reverse), y[i], size) == WICK_OK);
                const void *data;
                CHECK(wick_data(x, &data) == WICK_OK);
                for (int64_t r = 0; r < rows && !i; r++) {
                    double sum = 0;
                    for (int64_t k = 0; k < n; k++) {
                        const int64_t at = r * n + (reverse ? n - 1 - k : k);
                        const double v = (double)((const float *)data)[at], want = exclusive ? sum : sum + v;
                        if (fabs((double)y[0][at] - want) > 1e-6 * fmax(fabs(want), 1))
                            CHECK_MSG(false, "element %lld: %g, not %g", (long long)at, (double)y[0][at], want);
                        sum += v;
                    }
                }
                wick_scope_close(&scope);
            }
            CHECK(!memcmp(y[0], y[1], (size_t)(rows * n) * sizeof(float)));
            free(y[0]), free(y[1]);
        }
    for (int i = 0; i < 2; i++) wick_context_free(&ctx[i]);
}

/* Long rows go by chunks, short ones by blocks, columns side by side. */
TEST(running_extremes_and_their_places_are_those_of_a_loop) {
    wick_context *ctx[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(wick_context_new(&(wick_context_options){.threads = i ? 3 : 1}, &ctx[i]) == WICK_OK);
    static const struct {
        int64_t outer, n, inner;
    } shapes[] = {{2, 65536 * 3 + 5, 1}, {5, 47, 1}, {2, 70, 67}};
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64};
    for (size_t k = 0; k < WICK_COUNTOF(shapes) * WICK_COUNTOF(dtypes) * 2; k++) {
        const int64_t outer = shapes[k / 8].outer, n = shapes[k / 8].n, inner = shapes[k / 8].inner,
                      dims[] = {outer, n, inner}, count = outer * n * inner;
        const wick_dtype dtype = dtypes[k / 2 % 4];
        const bool min = k & 1, slow = k / 2 % 4 == 1; /* slow: always a little better */
        for (int i = 0; i < 2; i++) {
            test_seed = 21;
            wick_scope *scope = wick_scope_open(ctx[i]);
            wick_tensor *x = wick_round(wick_mul(noise(ctx[i], WICK_F32, 3, dims), wick_scalar(ctx[i], WICK_F32, 8))),
                        *index;
            if (slow)
                x = wick_add(x, wick_reshape(wick_arange(ctx[i], WICK_F32, 0, min ? -1 : 1, n), WICK_DIMS(1, n, 1)));
            if (wick_dtype_is_float(dtype)) /* some NaN, late in the last row */
                x = wick_where(
                    wick_eq(wick_reshape(wick_remainder(wick_arange(ctx[i], WICK_F32, 0, 1, count),
                                                        wick_scalar(ctx[i], WICK_F32, 1 + (double)(count - count / 9))),
                                         WICK_DIMS(outer, n, inner)),
                            wick_scalar(ctx[i], WICK_F32, (double)(count - count / 9))),
                    wick_scalar(ctx[i], WICK_F32, NAN), x);
            x = wick_cast(x, dtype);
            wick_tensor *y = min ? wick_cummin(x, 1, &index) : wick_cummax(x, 1, &index),
                        *wide[] = {wick_cast(x, WICK_F64), wick_cast(y, WICK_F64), index};
            REQUIRE(wick_eval(ctx[i], 3, wide, NULL) == WICK_OK);
            const void *data[3];
            for (int j = 0; j < 3; j++) CHECK(wick_data(wide[j], &data[j]) == WICK_OK);
            int64_t wrong = 0;
            for (int64_t line = 0; line < outer * inner; line++) {
                const int64_t first = line / inner * n * inner + line % inner;
                double best = ((const double *)data[0])[first];
                int64_t at = 0;
                for (int64_t e = 0; e < n; e++) {
                    const double v = ((const double *)data[0])[first + e * inner],
                                 got = ((const double *)data[1])[first + e * inner];
                    if (isnan(v) || (!isnan(best) && (min ? v <= best : v >= best))) best = v, at = e;
                    wrong += ((const int64_t *)data[2])[first + e * inner] != at ||
                             !(got == best || (isnan(got) && isnan(best)));
                }
            }
            CHECK_MSG(!wrong, "%s %s of %lld: %lld wrong", wick_dtype_name(dtype), min ? "cummin" : "cummax",
                      (long long)n, (long long)wrong);
            wick_scope_close(&scope);
        }
    }
    for (int i = 0; i < 2; i++) wick_context_free(&ctx[i]);
}

/* Short rows are joined in one pass, others part by part; strided and empty parts. */
TEST(joined_rows_are_those_of_the_parts) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    static const struct {
        wick_dtype dtype;
        int64_t rows, inner, widths[4];
    } cases[] = {{WICK_F32, 37, 1, {9, 40, 0, 17}},
                 {WICK_F64, 5, 3, {8, 2, 4, 100}},
                 {WICK_U8, 2, 7, {70000, 33, 50, 41}},
                 {WICK_F16, 300, 2, {8, 9, 10, 11}},
                 {WICK_F32, 3, 1, {2, 9, 9, 9}}};
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++)
        for (int turned = 0; turned < 2; turned++) {
            wick_scope *scope = wick_scope_open(ctx);
            int64_t total = 0;
            for (int k = 0; k < 4; k++) total += cases[c].widths[k];
            const int64_t rows = cases[c].rows, inner = cases[c].inner, dims[] = {rows, total + 3, inner};
            wick_tensor *all = wick_cast(
                            wick_round(wick_mul(noise(ctx, WICK_F32, 3, dims), wick_scalar(ctx, WICK_F32, 20))),
                            cases[c].dtype),
                        *parts[4];
            for (int64_t k = 0, at = 0; k < 4; at += cases[c].widths[k++]) {
                parts[k] = wick_slice(all, 1, at, at + cases[c].widths[k], 1); /* views, with gaps between the rows */
                if (turned)
                    parts[k] = wick_transpose(
                        wick_add(wick_transpose(parts[k], 0, 1), wick_scalar(ctx, cases[c].dtype, 0)), 0, 1);
            }
            same(wick_concat(4, parts, 1), wick_slice(all, 1, 0, total, 1));
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

/* An expanded dim has stride 0, which says nothing of those before it. */
TEST(rows_of_expanded_tensors_are_joined_in_their_order) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    const int64_t dims[] = {2, 1, 3, 8}, wide[] = {2, 2, 3, 8}, shift = -1;
    const int axis = 2;
    wick_tensor *x = noise(ctx, WICK_F64, 4, dims), *rolled = wick_roll(wick_expand(x, 4, wide), 1, &shift, &axis);
    same(rolled, wick_expand(wick_concat(2, (wick_tensor *[]){wick_slice(x, 2, 1, 3, 1), wick_slice(x, 2, 0, 1, 1)}, 2),
                             4, wide));
    wick_context_free(&ctx);
}

TEST(counts_are_the_same_in_bins_of_parts_and_of_the_result) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 3}, &ctx) == WICK_OK);
    static const int64_t bins[] = {3, 8192, 8193, 300000};
    for (size_t k = 0; k < WICK_COUNTOF(bins); k++) {
        wick_scope *scope = wick_scope_open(ctx);
        const int64_t n = 4 * 65536 + 11;
        wick_tensor *x = wick_remainder(wick_mul(wick_arange(ctx, WICK_I64, 0, 1, n), wick_scalar(ctx, WICK_I64, 7919)),
                                        wick_scalar(ctx, WICK_I64, (double)bins[k] + 5)),
                    *counts[4];
        counts[0] = wick_bincount_fixed(x, NULL, bins[k]);
        counts[1] = wick_bincount_fixed(x, wick_expand(wick_scalar(ctx, WICK_F64, 1), WICK_DIMS(n)), bins[k]);
        counts[2] = wick_bincount_fixed(x, wick_expand(wick_scalar(ctx, WICK_F32, 1), WICK_DIMS(n)), bins[k]);
        REQUIRE(wick_eval(ctx, 3, counts, NULL) == WICK_OK);
        const void *data[3];
        for (int i = 0; i < 3; i++) CHECK(wick_data(counts[i], &data[i]) == WICK_OK);
        int64_t wrong = 0;
        for (int64_t b = 0; b < bins[k]; b++) {
            const int64_t whole = n / (bins[k] + 5), got = ((const int64_t *)data[0])[b];
            wrong += got < whole || got > whole + 1 || ((const double *)data[1])[b] != (double)got ||
                     (double)((const float *)data[2])[b] != (double)got;
        }
        CHECK_MSG(!wrong, "%lld bins: %lld wrong", (long long)bins[k], (long long)wrong);
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

/* Beside a loop over all pairs of slices; the padded form beside it. */
TEST(distinct_slices_are_in_order_and_say_which_is_which) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    static const struct {
        int64_t dims[3];
        int axis;
        wick_dtype dtype;
    } cases[] = {{{9, 2, 1}, 0, WICK_I64},  {{4, 30, 1}, 1, WICK_F32}, {{3, 40, 2}, -2, WICK_I8},
                 {{2, 1, 50}, 2, WICK_F16}, {{1, 1, 7}, 0, WICK_U64},  {{60, 3, 1}, 0, WICK_BOOL},
                 {{1, 1, 1}, 1, WICK_F64}};
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++) {
        wick_scope *scope = wick_scope_open(ctx);
        const int axis = (cases[c].axis + 3) % 3;
        const int64_t *dims = cases[c].dims, n = dims[axis], count = dims[0] * dims[1] * dims[2], m = count / n;
        wick_tensor *x = wick_cast(wick_abs(wick_round(noise(ctx, WICK_F32, 3, dims))), cases[c].dtype), *inverse,
                    *counts, *padded_counts, *number;
        wick_tensor *y = wick_unique_axis(x, cases[c].axis, &inverse, &counts),
                    *padded = wick_unique_axis_padded(x, cases[c].axis, NULL, &padded_counts, &number);
        double many = 0;
        REQUIRE(wick_item(number, &many) == WICK_OK);
        const int64_t runs = (int64_t)many;
        CHECK_INT(wick_tensor_dim(y, axis), runs);
        same(wick_slice(padded, axis, 0, runs, 1), y);
        same(wick_slice(padded_counts, 0, 0, runs, 1), counts);
        same(wick_gather(y, axis, inverse), x); /* each slice is what inverse says */
        wick_tensor *rows = wick_cast(wick_reshape(wick_move_axis(y, axis, 0), WICK_DIMS(runs, m)), WICK_F64);
        const void *row, *which, *how;
        REQUIRE(wick_data(rows, &row) == WICK_OK && wick_data(inverse, &which) == WICK_OK &&
                wick_data(counts, &how) == WICK_OK);
        for (int64_t r = 0; r < runs; r++) {
            int64_t here = 0, k = 0;
            for (int64_t i = 0; i < n; i++) here += ((const int64_t *)which)[i] == r;
            CHECK_INT(((const int64_t *)how)[r], here);
            const double *a = (const double *)row + r * m;
            while (r && k < m && a[k - m] == a[k]) k++;
            CHECK_MSG(!r || (k < m && a[k - m] < a[k]), "case %d: slices %lld and the next are not in order", (int)c,
                      (long long)r - 1);
        }
        wick_scope_close(&scope);
    }
    wick_scope *scope = wick_scope_open(ctx);
    const char *text = "";
    CHECK(wick_tensor_error(wick_unique_axis(wick_full(ctx, WICK_F32, WICK_DIMS(2, 3), 1), 2, NULL, NULL), &text) ==
              WICK_ERR_SHAPE &&
          strstr(text, "there is no axis 2"));
    CHECK(wick_tensor_error(wick_unique_axis(wick_full(ctx, WICK_F32, WICK_DIMS(2, 0), 1), 0, NULL, NULL), &text) ==
              WICK_ERR_SHAPE &&
          strstr(text, "no elements"));
    wick_scope_close(&scope);
    wick_context_free(&ctx);
}

TEST(splits_and_chunks_are_views_of_the_whole) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = noise(ctx, WICK_F32, WICK_DIMS(3, 7)), *parts[4];
    int n = 0;
    wick_split(x, -1, 3, (const int64_t[]){2, -1, 4}, parts);
    CHECK(wick_tensor_dim(parts[1], 1) == 1 && wick_tensor_dim(parts[2], 1) == 4);
    same(wick_concat(3, parts, 1), x);
    wick_chunk(x, 4, 1, parts, &n);
    CHECK(n == 4 && wick_tensor_dim(parts[3], 1) == 1);
    same(wick_concat(n, parts, 1), x);
    wick_chunk(x, 2, 0, parts, &n);
    CHECK(n == 2 && wick_tensor_dim(parts[0], 0) == 2 && wick_tensor_dim(parts[1], 0) == 1);
    wick_chunk(wick_slice(x, 0, 0, 2, 1), 3, 0, parts, &n); /* PyTorch: fewer than asked for */
    CHECK(n == 2 && !parts[2]);
    wick_context_free(&ctx);
}

TEST(of_several_values_for_one_place_the_last_stays) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *base = wick_zeros(ctx, WICK_U8, WICK_DIMS(3)),
                *index = wick_from(ctx, WICK_I32, WICK_DIMS(5), (int32_t[]){1, -1, 1, 2, 1});
    wick_tensor *src = wick_from(ctx, WICK_U8, WICK_DIMS(5), (uint8_t[]){1, 2, 3, 4, 5});
    same(wick_put_along_axis(base, 0, index, src, WICK_PUT_SET),
         wick_from(ctx, WICK_U8, WICK_DIMS(3), (uint8_t[]){0, 5, 4}));
    same(wick_put_along_axis(base, 0, index, src, WICK_PUT_ADD),
         wick_from(ctx, WICK_U8, WICK_DIMS(3), (uint8_t[]){0, 9, 6}));
    /* in f32, the order of a sum shows: 1 is lost beside 2^24 */
    wick_tensor *parts = wick_from(ctx, WICK_F32, WICK_DIMS(3), (float[]){1, 0x1p24f, -0x1p24f}),
                *zero = wick_zeros(ctx, WICK_I64, WICK_DIMS(3));
    same(wick_put_along_axis(wick_zeros(ctx, WICK_F32, WICK_DIMS(1)), 0, zero, parts, WICK_PUT_ADD),
         wick_zeros(ctx, WICK_F32, WICK_DIMS(1)));
    wick_context_free(&ctx);
}

TEST(half_types_and_views_go_everywhere) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const wick_dtype halves[] = {WICK_F16, WICK_BF16, WICK_I8};
    for (size_t d = 0; d < WICK_COUNTOF(halves); d++) {
        wick_tensor *x = wick_cast(noise(ctx, WICK_F32, WICK_DIMS(6, 8)), halves[d]), *index;
        x = wick_transpose(wick_slice(x, 1, -1, INT64_MIN, -2), 0, 1); /* [4, 6], odd strides */
        wick_tensor *wide = wick_cast(x, WICK_F64), *places;
        same(wick_cast(wick_sort(x, 0, true, &index), WICK_F64), wick_sort(wide, 0, true, &places));
        same(index, places);
        same(wick_cast(wick_cummax(x, 1, &index), WICK_F64), wick_cummax(wide, 1, &places));
        same(index, places);
        same(wick_cast(wick_median(x, 0, false, NULL), WICK_F64), wick_median(wide, 0, false, NULL));
        wick_tensor *at = wick_from(ctx, WICK_U8, WICK_DIMS(2, 6), (uint8_t[]){0, 1, 2, 3, 2, 1, 3, 3, 3, 0, 0, 0});
        same(wick_cast(wick_take_along_axis(x, 0, at), WICK_F64), wick_take_along_axis(wide, 0, at));
        for (wick_put how = WICK_PUT_SET; how <= WICK_PUT_MIN; how++) {
            wick_tensor *src = wick_slice(x, 0, 0, 2, 1), *wide_src = wick_cast(src, WICK_F64),
                        *got = wick_put_along_axis(x, 0, at, src, how);
            CHECK(wick_tensor_dtype(got) == halves[d]);
            /* sums of i8 may wrap, of bf16 round in another order */
            if (how != WICK_PUT_MUL && (how != WICK_PUT_ADD || halves[d] == WICK_F16))
                same(got, wick_cast(wick_cast(wick_put_along_axis(wide, 0, at, wide_src, how),
                                              halves[d] == WICK_I8 ? WICK_I32 : WICK_F32),
                                    halves[d]));
        }
        same(wick_cast(wick_tril(x, 1), WICK_F64), wick_tril(wide, 1));
    }
    wick_context_free(&ctx);
}

TEST(padded_forms_agree_with_those_that_know_the_size) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_from(ctx, WICK_I32, WICK_DIMS(2, 4), (int32_t[]){3, 0, 1, 3, 0, 0, 7, 1}), *count, *inverse,
                *counts, *number, *known;
    same(wick_nonzero_padded(x, 7, -1, &count),
         wick_from(ctx, WICK_I64, WICK_DIMS(7, 2), (int64_t[]){0, 0, 0, 2, 0, 3, 1, 2, 1, 3, -1, -1, -1, -1}));
    same(count, wick_constant(ctx, WICK_I64, 5));
    same(wick_nonzero_padded(x, 2, -1, &count), wick_from(ctx, WICK_I64, WICK_DIMS(2, 2), (int64_t[]){0, 0, 0, 2}));
    same(count, wick_constant(ctx, WICK_I64, 5));
    wick_tensor *padded = wick_unique_padded(x, &inverse, &counts, &number), *with;
    same(number, wick_constant(ctx, WICK_I64, 4));
    same(wick_unique(x, &with, &known), wick_slice(padded, 0, 0, 4, 1));
    same(with, inverse);
    same(known, wick_slice(counts, 0, 0, 4, 1));
    same(wick_slice(counts, 0, 4, 8, 1), wick_zeros(ctx, WICK_I64, WICK_DIMS(4)));
    /* 3 and 7 are not counted */
    same(wick_bincount_fixed(x, NULL, 3), wick_from(ctx, WICK_I64, WICK_DIMS(3), (int64_t[]){3, 2, 0}));
    wick_context_free(&ctx);
}

typedef wick_tensor *(*function)(wick_tensor *x);
static wick_tensor *call_nonzero(wick_tensor *x) { return wick_nonzero(x); }
static wick_tensor *call_select(wick_tensor *x) { return wick_masked_select(x, wick_cast(x, WICK_BOOL)); }
static wick_tensor *call_unique(wick_tensor *x) { return wick_unique(x, NULL, NULL); }
static wick_tensor *call_consecutive(wick_tensor *x) { return wick_unique_consecutive(x, NULL, NULL); }
static wick_tensor *call_bincount(wick_tensor *x) { return wick_bincount(x, NULL, 0); }
static wick_tensor *call_padded(wick_tensor *x) { return wick_nonzero_padded(x, 3, 0, NULL); }
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = (*(function *)user)(in[0]);
    return WICK_OK;
}

/* Rows 1 and 2 of four, and what a slice that reaches out says. */
/* Place i of [x] with margins of any length, as NumPy's pad: in x. */
static int64_t padded_from(int64_t i, int64_t n, wick_pad_mode mode) {
    if (mode == WICK_PAD_EDGE) return i < 0 ? 0 : i >= n ? n - 1 : i;
    const int64_t period = mode == WICK_PAD_WRAP || n == 1 ? n : 2 * n - 2, at = (i % period + period) % period;
    return at < n ? at : period - at;
}
TEST(margins_may_be_longer_than_the_axis_and_have_gradients) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (int mode = 0; mode < 3; mode++)
        for (int64_t n = 1; n <= 4; n++)
            for (int64_t before = 0; before < 12; before += 1 + (before > 5) * 3)
                for (int64_t after = 0; after < 12; after += 1 + (after > 5) * 3) {
                    enum { MOST = 4 + 24 };
                    const int64_t total = before + n + after;
                    float x[8], y[2 * MOST], w[MOST], want[8] = {0}, got[8];
                    for (int i = 0; i < 8; i++) x[i] = (float)(i + 1);
                    for (int i = 0; i < MOST; i++) w[i] = (float)(i * i % 11);
                    wick_tensor *leaf = wick_from(ctx, WICK_F32, 2, (const int64_t[]){2, n}, x), *g;
                    wick_tensor *out = wick_pad_with(leaf, 2, (const int64_t[]){0, before}, (const int64_t[]){0, after},
                                                     (wick_pad_mode)mode);
                    wick_grad(wick_sum(wick_mul(out, wick_from(ctx, WICK_F32, 1, &total, w)), WICK_ALL_AXES, false), 1,
                              &leaf, &g);
                    CHECK(wick_eval(ctx, 2, (wick_tensor *[]){out, g}, NULL) == WICK_OK);
                    CHECK_MSG(wick_read(out, y, (size_t)(2 * total) * sizeof *y) == WICK_OK, "%s",
                              wick_context_error(ctx));
                    for (int64_t i = 0; i < 2 * total; i++) {
                        const int64_t from = padded_from(i % total - before, n, (wick_pad_mode)mode);
                        CHECK(y[i] == x[i / total * n + from]);
                        want[i / total * n + from] += w[i % total];
                    }
                    CHECK_MSG(wick_read(g, got, (size_t)(2 * n) * sizeof *got) == WICK_OK, "%s",
                              wick_context_error(ctx));
                    for (int i = 0; i < 2 * n; i++)
                        CHECK_MSG(got[i] == want[i], "mode %d, %d places, %d before, %d after", mode, (int)n,
                                  (int)before, (int)after);
                }
    wick_context_free(&ctx);
}

TEST(a_slice_is_updated_where_the_run_says) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2}, &ctx) == WICK_OK);
    wick_tensor *x = wick_zeros(ctx, WICK_I32, WICK_DIMS(3, 4)),
                *values =
                    wick_transpose(wick_from(ctx, WICK_I32, WICK_DIMS(2, 3), (int32_t[]){1, 2, 3, 4, 5, 6}), 0, 1);
    int32_t got[3][4];
    for (int64_t at = 0; at <= 2; at++) {
        CHECK(wick_read(wick_update_slice(x, values, -1, wick_from(ctx, WICK_I64, WICK_DIMS(1), &at)), got,
                        sizeof got) == WICK_OK);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++)
                CHECK_MSG(got[i][j] == (j == at       ? i + 1
                                        : j == at + 1 ? i + 4
                                                      : 0),
                          "at %d: [%d][%d] is %d", (int)at, i, j, got[i][j]);
    }
    for (int64_t at = -1; at <= 3; at += 4) {
        CHECK(wick_read(wick_update_slice(x, values, 1, wick_from(ctx, WICK_I64, WICK_DIMS(1), &at)), got,
                        sizeof got) == WICK_ERR_INDEX);
        CHECK_MSG(strstr(wick_context_error(ctx), "no room"), "%s", wick_context_error(ctx));
    }
    wick_context_free(&ctx);
}

TEST(sizes_that_depend_on_values_are_refused_in_compiled_functions_with_what_to_use) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static const struct {
        function call;
        const char *says;
    } cases[] = {{call_nonzero, "wick_nonzero_padded"},  {call_select, "wick_where"},
                 {call_unique, "wick_unique_padded"},    {call_consecutive, "wick_nonzero_padded"},
                 {call_bincount, "wick_bincount_fixed"}, {call_padded, NULL}};
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        wick_plan *plan = NULL;
        function call = cases[i].call;
        const wick_spec spec = {.dtype = WICK_I64, .rank = 1, .dims = {5}};
        const wick_status status = wick_compile(ctx, record, &call, 1, &spec, 1, NULL, &plan);
        CHECK((status == WICK_OK) == !cases[i].says);
        if (cases[i].says) {
            CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
            CHECK_STR_HAS(wick_context_error(ctx), "[5]");
            CHECK_STR_HAS(wick_context_error(ctx), "test_index.c:");
        }
        wick_plan_free(&plan);
    }
    wick_context_free(&ctx);
}

TEST(indices_outside_fail_the_run_and_name_the_first) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 4));
    /* 4 and 5 for axis 0; none for axis 1 */
    wick_tensor *bad = wick_from(ctx, WICK_I64, WICK_DIMS(2, 3), (int64_t[]){0, -4, 1, 2, 3, 3});
    const struct {
        wick_tensor *y;
        const char *says;
    } cases[] = {
        {wick_take_along_axis(x, 0, bad), "index number 1 is -4, outside the axis of 3"},
        {wick_take_along_axis(x, 0, wick_transpose(wick_slice(bad, 0, 1, 2, 1), 0, 1)),
         "index number 1 is 3, outside the axis of 3"},
        {wick_put_along_axis(x, 0, wick_slice(bad, 0, 1, 2, 1), wick_zeros(ctx, WICK_F32, WICK_DIMS(1, 3)),
                             WICK_PUT_ADD),
         "index number 1 is 3, outside the axis of 3"},
        {wick_gather(x, 1, wick_from(ctx, WICK_I64, WICK_DIMS(3), (int64_t[]){0, -5, 9})),
         "index number 1 is -5, outside the axis of 4"},
        {wick_scatter_add(x, 0, wick_from(ctx, WICK_I64, WICK_DIMS(2), (int64_t[]){2, 7}),
                          wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 4))),
         "index number 1 is 7, outside the axis of 3"},
        {wick_take_along_axis(x, 1, bad), NULL},
        {wick_gather_nd(x, 0, wick_from(ctx, WICK_I64, WICK_DIMS(2, 2), (int64_t[]){2, 3, 0, 4})),
         "index number 3 is 4, outside its axis of 4"},
        {wick_embedding(x, wick_from(ctx, WICK_I32, WICK_DIMS(2), (int32_t[]){2, 3}), -1),
         "index number 1 is 3, outside the axis of 3"},
        {wick_masked_scatter(x, wick_cast(wick_ones(ctx, WICK_F32, WICK_DIMS(3, 4)), WICK_BOOL),
                             wick_zeros(ctx, WICK_F32, WICK_DIMS(11))),
         "index number 11 "},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        wick_tensor *y = cases[i].y;
        const wick_status status = wick_eval(ctx, 1, &y, NULL);
        CHECK_MSG(status == (cases[i].says ? WICK_ERR_INDEX : WICK_OK), "case %d: %s", (int)i, wick_context_error(ctx));
        if (cases[i].says) CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
    }
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3)), *v = wick_zeros(ctx, WICK_F32, WICK_DIMS(3)),
                *i = wick_zeros(ctx, WICK_I64, WICK_DIMS(2, 3)), *parts[3], *none = NULL;
    wick_tensor *b = wick_cast(x, WICK_BOOL);
    wick_split(x, 1, 2, (const int64_t[]){1, 1}, parts);
    wick_tensor *split = parts[1];
    wick_chunk(x, 3, 2, parts, NULL);
    wick_tensor *chunk = parts[2];
    wick_meshgrid(2, (wick_tensor *[]){v, x}, false, parts);
    const refusal cases[] = {
        {split, "split(f32[2,3]): the 2 sizes do not add up to the 3 places of axis 1"},
        {chunk, "chunk(f32[2,3]): 3 parts of axis 2"},
        {parts[1], "number 1 of 2 is f32[2,3]"},
        {wick_stack(2, (wick_tensor *[]){x, v}, 0), "tensor 1 is f32[3]"},
        {wick_stack(2, (wick_tensor *[]){x, none}, 0), "tensor 1 is NULL"},
        {wick_stack(1, &x, 4), "no axis 4"},
        {wick_tile(x, 1, (const int64_t[]){-1}), "axis 1 -1 times"},
        {wick_repeat_interleave(x, INT64_MAX, 0), "repeat_interleave(f32[2,3]): axis 0"},
        {wick_roll(x, 1, (const int64_t[]){1}, (int[]){2}), "roll(f32[2,3]): axis 2"},
        {wick_move_axis(x, 0, 2), "axis 0 to 2"},
        {wick_pad_with(x, 2, (const int64_t[]){0, INT64_MAX}, NULL, WICK_PAD_REFLECT),
         "axis 1 of 3 places cannot get 9223372036854775807 and 9223372036854775807 more"},
        {wick_pad_with(wick_slice(x, 1, 0, 0, 1), 2, (const int64_t[]){0, 1}, NULL, WICK_PAD_WRAP),
         "axis 1 of 0 places cannot get 1 and 1 more"},
        {wick_pad_with(x, 1, (const int64_t[]){0}, NULL, WICK_PAD_EDGE), "counts for 1 axes"},
        {wick_tril(v, 0), "tril(f32[3]): needs two axes"},
        {wick_take_along_axis(x, 0, wick_zeros(ctx, WICK_I64, WICK_DIMS(1, 4))), "more places than the data in axis 1"},
        {wick_take_along_axis(x, 0, x), "must be of integers"},
        {wick_take_along_axis(x, 2, i), "axis 2 of a 2-d"},
        {wick_put_along_axis(x, 0, i, v, WICK_PUT_ADD), "src must have the shape of the index"},
        {wick_put_along_axis(x, 0, i, i, WICK_PUT_ADD), "different dtypes"},
        {wick_put_along_axis(x, 0, i, x, (wick_put)9), "no reduction 9"},
        {wick_scatter(x, 0, i, x, WICK_PUT_ADD), "shape that gather along axis 0 would read"},
        {wick_gather_nd(x, 2, i), "first 2 axes"},
        {wick_gather_nd(x, 0, i), "name 1 to 2 axes"},
        {wick_scatter_nd(x, i, x, WICK_PUT_SET), "name 1 to 2 axes"},
        {wick_index(x, 3, (wick_tensor *[]){i, i, i}), "3 indices"},
        {wick_index(x, 1, &x), "index 0, f32[2,3], is not of integers"},
        {wick_embedding(v, i, -1), "not [rows, d]"},
        {wick_embedding_bag(x, v, NULL, NULL, WICK_BAG_SUM), "takes weight"},
        {wick_embedding_bag(x, i, NULL, x, WICK_BAG_MAX), "scale is for sums"},
        {wick_masked_fill(x, x, 0), "masked_fill: the mask is f32[2,3]"},
        {wick_masked_select(x, wick_cast(wick_zeros(ctx, WICK_I32, WICK_DIMS(4)), WICK_BOOL)), "do not broadcast"},
        {wick_masked_scatter(v, b, v), "one shape"},
        {wick_sort(x, 2, false, NULL), "sort(f32[2,3]): axis 2"},
        {wick_topk(x, 4, 1, true, NULL), "no 4 elements along the axis, but 3"},
        {wick_topk(x, -1, 1, true, NULL), "k is -1"},
        {wick_kthvalue(x, 0, 1, false, NULL), "element 0 of 3"},
        {wick_median(wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 0)), 1, false, NULL), "no elements"},
        {wick_quantile(x, 1.5, 1, false, WICK_QUANTILE_LINEAR), "q is 1.5"},
        {wick_quantile(i, 0.5, 1, false, WICK_QUANTILE_LINEAR), "not float"},
        {wick_searchsorted(x, v, false), "differ from the values in the last axis only"},
        {wick_update_slice(x, x, 2, i), "update_slice: axis 2 of a 2-d tensor"},
        {wick_update_slice(x, v, 1, wick_zeros(ctx, WICK_I64, WICK_DIMS(1))), "values must have x's dims"},
        {wick_update_slice(x, x, 1, i), "start must be one number"},
        {wick_update_slice(x, i, 1, wick_zeros(ctx, WICK_I64, WICK_DIMS(1))), "different dtypes"},
        {wick_bincount(x, NULL, 0), "takes integers"},
        {wick_bincount(wick_from(ctx, WICK_I64, WICK_DIMS(2), (int64_t[]){1, -3}), NULL, 0), "-3 cannot be counted"},
        {wick_bincount_fixed(i, v, 3), "shape of what is counted"},
        {wick_histogram(x, 0, 0, 1, NULL, NULL), "0 bins"},
        {wick_histogram_edges(x, wick_zeros(ctx, WICK_F64, WICK_DIMS(3)), NULL), "of x's dtype"},
        {wick_logsumexp(i, WICK_ALL_AXES, false), "logsumexp(i64[2,3]): of a dtype that is not float"},
        {wick_norm(x, NAN, WICK_ALL_AXES, false), "p is NaN"},
        {wick_cumsum(x, -3), "cumsum(f32[2,3]): axis -3"},
        {wick_logcumsumexp(i, 0), "not defined for i64"},
        {wick_eye(ctx, WICK_F32, -1, 2, 0), "eye: there is no tensor of -1 x 2"},
        {wick_linspace(ctx, WICK_F32, 0, 1, -2), "linspace: there are no -2 values"},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    for (size_t k = 0; k < WICK_COUNTOF(cases); k++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(cases[k].t, &text) && strstr(text, "test_index.c:"), "case %d: \"%s\" has no line",
                  (int)k, text);
    }
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
