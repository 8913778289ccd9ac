/* Softmax, log softmax, negative log likelihood, layer norm and argmax against long double, in every tier. */
#include "kernels/kernels.h"
#include "test.h"

#define EACH_TIER(t)                                                                                                   \
    for (wick_tier t = WICK_TIER_REF; t < WICK_TIER_COUNT; t++)                                                        \
        if (!wick_tier_force(t)) {                                                                                     \
        } else

/* Around every boundary of the kernels: nothing, one, part of a vector, the short and wide paths, chunks of 1024. */
static const int64_t some_cols[] = {0,    1,    2,    3,    7,    10,   15,   16,   17,  31,  32,
                                    33,   34,   63,   64,   65,   100,  127,  128,  129, 255, 257,
                                    1000, 1023, 1024, 1025, 1040, 2047, 2048, 2049, 3001};
enum { MAX_COLS = 3001, MAX_ROWS = 19, MAX = MAX_COLS * MAX_ROWS };

static double in[MAX];
/* aligned: rows may be written by nontemporal stores */
static _Alignas(64) unsigned char raw_x[MAX * 8 + 64], raw_y[MAX * 8 + 64], raw_z[MAX * 8 + 64];
static long double want[MAX_COLS];

static size_t size_of(wick_ctype type) { return type == WICK_CF32 ? 4 : 8; }
static double get(wick_ctype type, const void *p, int64_t i) {
    return type == WICK_CF32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}
static void put(wick_ctype type, void *p, int64_t i, double v) {
    if (type == WICK_CF32)
        ((float *)p)[i] = (float)v;
    else
        ((double *)p)[i] = v;
}
/* Random numbers of that type in raw_x, and what they are exactly in `in`. */
static void fill(wick_ctype type, int64_t n, double lo, double hi) {
    for (int64_t i = 0; i < n; i++) {
        put(type, raw_x, i, test_rand_real(lo, hi));
        in[i] = get(type, raw_x, i);
    }
}
static double eps_of(wick_ctype type) { return type == WICK_CF32 ? 0x1p-24 : 0x1p-53; }
static bool near(double a, long double b, double tolerance) { return fabsl((long double)a - b) <= tolerance; }
static int64_t rows_for(int64_t cols) { return cols > 200 ? 3 : MAX_ROWS; }

/* logsumexp of the row; want = softmax or log softmax. */
static long double exact_softmax(const double *x, int64_t n, bool log) {
    long double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) max = fmaxl(max, x[i]);
    for (int64_t i = 0; i < n; i++) sum += expl(x[i] - max);
    for (int64_t i = 0; i < n; i++) want[i] = log ? x[i] - max - logl(sum) : expl(x[i] - max) / sum;
    return max + logl(sum);
}

TEST(softmax_agrees_with_long_double) {
    EACH_TIER(t) for (int k = 0; k < 4; k++) for (size_t c = 0; c < WICK_COUNTOF(some_cols); c++) {
        const wick_ctype type = k & 1 ? WICK_CF64 : WICK_CF32;
        const bool log = k & 2;
        const int64_t cols = some_cols[c], rows = rows_for(cols);
        const double eps = eps_of(type);
        fill(type, rows * cols, -9, 9);
        memset(raw_y, 0xa5, sizeof raw_y);
        wick_softmax_rows(type, log, false, 0, rows, cols, raw_x, raw_y);
        for (int64_t r = 0; r < rows; r++) {
            exact_softmax(in + r * cols, cols, log);
            for (int64_t i = 0; i < cols; i++) {
                const double got = get(type, raw_y, r * cols + i);
                /* x - max is rounded: an absolute error of the exponent of up to 9 eps or so, relative in the result */
                const double bound = log ? 40 * eps : (double)want[i] * 40 * eps;
                CHECK_MSG(near(got, want[i], bound), "%s %d cols %lld [%lld,%lld]: %.17g, want %.17Lg",
                          wick_tier_name(t), k, (long long)cols, (long long)r, (long long)i, got, want[i]);
            }
        }
        CHECK_INT(raw_y[(size_t)(rows * cols) * size_of(type)], 0xa5);
    }
}

TEST(softmax_sums_to_one_in_long_rows) {
    enum { N = 1 << 20 };
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    for (int i = 0; i < N; i++) x[i] = (float)test_rand_real(-3, 3);
    EACH_TIER(t) {
        double sum = 0;
        wick_softmax_rows(WICK_CF32, false, false, 0, 1, N, x, y);
        for (int i = 0; i < N; i++) sum += (double)y[i];
        CHECK_MSG(fabs(sum - 1) < 1e-6, "%s: %.9g", wick_tier_name(t), sum);
    }
    free(x), free(y);
}

TEST(softmax_of_large_logits_does_not_overflow) {
    EACH_TIER(t) for (int k = 0; k < 2; k++) for (int64_t cols = 2; cols < 50; cols += 41) {
        const wick_ctype type = k ? WICK_CF64 : WICK_CF32;
        for (int64_t i = 0; i < cols; i++) put(type, raw_x, i, i == 1 ? (k ? 1e308 : 3e38) : (k ? -1e308 : -3e38));
        wick_softmax_rows(type, false, false, 0, 1, cols, raw_x, raw_y);
        for (int64_t i = 0; i < cols; i++) CHECK(get(type, raw_y, i) == (i == 1));
        wick_softmax_rows(type, true, false, 0, 1, cols, raw_x, raw_y);
        CHECK(get(type, raw_y, 1) == 0 && get(type, raw_y, 0) < -1e38);
    }
}

/* What PyTorch 2.13 gives for the same rows. */
TEST(softmax_of_special_values_is_that_of_pytorch) {
    static const int64_t cols_of[] = {3, 10, 32, 33, 70, 1500};
    EACH_TIER(t) for (int k = 0; k < 4; k++) for (size_t c = 0; c < WICK_COUNTOF(cols_of); c++) {
        const wick_ctype type = k & 1 ? WICK_CF64 : WICK_CF32;
        const bool log = k & 2;
        const int64_t cols = cols_of[c];
        /* rows: a NaN, a +Inf, all -Inf, one -Inf, an ordinary one */
        fill(type, 5 * cols, -1, 1);
        put(type, raw_x, cols - 1, NAN);
        put(type, raw_x, cols + 1, INFINITY);
        for (int64_t i = 0; i < cols; i++) put(type, raw_x, 2 * cols + i, -INFINITY);
        put(type, raw_x, 3 * cols + 2, -INFINITY);
        wick_softmax_rows(type, log, false, 0, 5, cols, raw_x, raw_y);
        for (int64_t i = 0; i < 3 * cols; i++)
            CHECK_MSG(isnan(get(type, raw_y, i)), "%s %d cols %lld at %lld", wick_tier_name(t), k, (long long)cols,
                      (long long)i);
        for (int64_t i = 3 * cols; i < 5 * cols; i++) {
            const double y = get(type, raw_y, i);
            if (i == 3 * cols + 2)
                CHECK(log ? y == -INFINITY : y == 0);
            else
                CHECK(isfinite(y) && (log ? y < 0 : y > 0));
        }
    }
}

TEST(a_row_has_the_same_bits_in_any_range_in_place_and_past_the_caches) {
    EACH_TIER(t) for (int k = 0; k < 6; k++) for (size_t c = 0; c < WICK_COUNTOF(some_cols); c++) {
        const wick_ctype type = k & 1 ? WICK_CF64 : WICK_CF32;
        const int64_t cols = some_cols[c], rows = rows_for(cols);
        const size_t bytes = (size_t)(rows * cols) * size_of(type);
        double stats[2][MAX_ROWS], part[2][MAX_ROWS];
        fill(type, rows * cols, -5, 5);
        memset(raw_z, 0, sizeof raw_z);
        if (k < 4) {
            wick_softmax_rows(type, k & 2, false, 0, rows, cols, raw_x, raw_y);
            for (int64_t r = rows; r > 0; r -= 2)
                wick_softmax_rows(type, k & 2, false, WICK_MAX(r - 2, 0), r, cols, raw_x, raw_z);
        } else {
            wick_layer_norm_rows(type, false, 0, rows, cols, 1e-5, raw_x, NULL, NULL, raw_y, stats[0], stats[1]);
            for (int64_t r = rows; r > 0; r -= 2)
                wick_layer_norm_rows(type, false, WICK_MAX(r - 2, 0), r, cols, 1e-5, raw_x, NULL, NULL, raw_z, part[0],
                                     part[1]);
            CHECK(!memcmp(stats[0], part[0], (size_t)rows * size_of(type)));
            CHECK(!memcmp(stats[1], part[1], (size_t)rows * size_of(type)));
        }
        CHECK_MSG(!memcmp(raw_y, raw_z, bytes), "%s %d cols %lld", wick_tier_name(t), k, (long long)cols);
        memset(raw_z, 0, sizeof raw_z);
        if (k < 4)
            wick_softmax_rows(type, k & 2, true, 0, rows, cols, raw_x, raw_z);
        else
            wick_layer_norm_rows(type, true, 0, rows, cols, 1e-5, raw_x, NULL, NULL, raw_z, part[0], part[1]);
        CHECK_MSG(!memcmp(raw_y, raw_z, bytes), "%s %d cols %lld by nontemporal stores", wick_tier_name(t), k,
                  (long long)cols);
        const bool nontemporal = c % 2;
        if (k < 4)
            wick_softmax_rows(type, k & 2, nontemporal, 0, rows, cols, raw_x, raw_x);
        else
            wick_layer_norm_rows(type, nontemporal, 0, rows, cols, 1e-5, raw_x, NULL, NULL, raw_x, part[0], part[1]);
        CHECK_MSG(!memcmp(raw_y, raw_x, bytes), "%s %d cols %lld in place", wick_tier_name(t), k, (long long)cols);
    }
}

TEST(nll_agrees_with_long_double_and_its_probs_are_softmax) {
    int64_t label[MAX_ROWS];
    EACH_TIER(t) for (int k = 0; k < 4; k++) for (size_t c = 1; c < WICK_COUNTOF(some_cols); c++) {
        const wick_ctype type = k & 1 ? WICK_CF64 : WICK_CF32;
        void *probs = k & 2 ? raw_y : NULL;
        const int64_t cols = some_cols[c], rows = rows_for(cols);
        double loss[MAX_ROWS + 1];
        fill(type, rows * cols, -9, 9);
        for (int64_t r = 0; r < rows; r++)
            label[r] = r % 3 == 0 ? cols - 1 : r % 3 == 1 ? 0 : (int64_t)(test_rand() % (uint64_t)cols);
        CHECK_INT(wick_nll_rows(type, 0, rows, cols, raw_x, label, loss, probs), -1);
        for (int64_t r = 0; r < rows; r++) {
            const long double l = exact_softmax(in + r * cols, cols, false) - in[r * cols + label[r]];
            CHECK_MSG(near(get(type, loss, r), l, 40 * eps_of(type)), "%s %d cols %lld: %.17g, want %.17Lg",
                      wick_tier_name(t), k, (long long)cols, get(type, loss, r), l);
        }
        if (probs) {
            wick_softmax_rows(type, false, false, 0, rows, cols, raw_x, raw_z);
            CHECK(!memcmp(raw_y, raw_z, (size_t)(rows * cols) * size_of(type)));
        }
    }
}

TEST(nll_refuses_labels_outside_and_zeroes_their_rows) {
    static const int64_t wrong[] = {-1, INT64_MIN, INT64_MAX, 0 /* cols */};
    EACH_TIER(t) for (int64_t cols = 5; cols < 60; cols += 40) for (size_t w = 0; w < WICK_COUNTOF(wrong); w++) {
        enum { ROWS = 40 };
        int64_t label[ROWS];
        float loss[ROWS], *p = (float *)raw_y;
        fill(WICK_CF32, ROWS * cols, -2, 2);
        for (int r = 0; r < ROWS; r++) label[r] = r % cols;
        label[20] = label[33] = w == 3 ? cols : wrong[w];
        CHECK_INT(wick_nll_rows(WICK_CF32, 1, ROWS, cols, raw_x, label, loss, p), 20);
        CHECK_INT(wick_nll_rows(WICK_CF32, 21, ROWS, cols, raw_x, label, loss, p), 33);
        CHECK_INT(wick_nll_rows(WICK_CF32, 21, 33, cols, raw_x, label, loss, NULL), -1);
        for (int r = 1; r < ROWS; r++) {
            const bool bad = r == 20 || r == 33;
            CHECK(bad ? loss[r] == 0 : loss[r] > 0);
            for (int64_t i = 0; i < cols; i++) CHECK(bad ? p[r * cols + i] == 0 : p[r * cols + i] > 0);
        }
    }
    int64_t none = 0;
    float loss = 7;
    CHECK_INT(wick_nll_rows(WICK_CF32, 0, 1, 0, raw_x, &none, &loss, NULL), 0);
    CHECK(loss == 0);
}

TEST(layer_norm_agrees_with_long_double) {
    static unsigned char weight[MAX_COLS * 8], bias[MAX_COLS * 8];
    EACH_TIER(t) for (int k = 0; k < 8; k++) for (size_t c = 1; c < WICK_COUNTOF(some_cols); c++) {
        const wick_ctype type = k & 1 ? WICK_CF64 : WICK_CF32;
        const int64_t cols = some_cols[c], rows = rows_for(cols);
        double mean[MAX_ROWS], rstd[MAX_ROWS];
        fill(type, rows * cols, -1, 3);
        for (int64_t i = 0; i < cols; i++) {
            put(type, weight, i, test_rand_real(-2, 2));
            put(type, bias, i, test_rand_real(-2, 2));
        }
        memset(raw_y, 0xa5, sizeof raw_y);
        wick_layer_norm_rows(type, false, 0, rows, cols, 1e-3, raw_x, k & 2 ? weight : NULL, k & 4 ? bias : NULL, raw_y,
                             mean, rstd);
        for (int64_t r = 0; r < rows; r++) {
            long double m = 0, v = 0;
            for (int64_t i = 0; i < cols; i++) m += in[r * cols + i];
            m /= cols;
            for (int64_t i = 0; i < cols; i++) v += (in[r * cols + i] - m) * (in[r * cols + i] - m);
            const long double s = 1 / sqrtl(v / cols + 1e-3L);
            const double bound = 64 * eps_of(type) * (double)(1 + s);
            CHECK_MSG(near(get(type, mean, r), m, 16 * eps_of(type)), "%s cols %lld: mean", wick_tier_name(t),
                      (long long)cols);
            CHECK_MSG(near(get(type, rstd, r), s, bound), "%s cols %lld: rstd", wick_tier_name(t), (long long)cols);
            for (int64_t i = 0; i < cols; i++) {
                const long double y =
                    (in[r * cols + i] - m) * s * (k & 2 ? get(type, weight, i) : 1) + (k & 4 ? get(type, bias, i) : 0);
                CHECK_MSG(near(get(type, raw_y, r * cols + i), y, 4 * bound), "%s %d cols %lld: %.17g, want %.17Lg",
                          wick_tier_name(t), k, (long long)cols, get(type, raw_y, r * cols + i), y);
            }
        }
        CHECK_INT(raw_y[(size_t)(rows * cols) * size_of(type)], 0xa5);
    }
}

TEST(layer_norm_of_a_row_far_from_zero_keeps_its_variance) {
    EACH_TIER(t) {
        float *x = (float *)raw_x, *y = (float *)raw_y, mean, rstd;
        for (int i = 0; i < 1000; i++) x[i] = 10000.0f + (float)(i % 2);
        wick_layer_norm_rows(WICK_CF32, false, 0, 1, 1000, 0, x, NULL, NULL, y, &mean, &rstd);
        CHECK_MSG(fabsf(mean - 10000.5f) < 1e-3f && fabsf(rstd - 2) < 1e-3f, "%s: %g %g", wick_tier_name(t),
                  (double)mean, (double)rstd);
    }
}

TEST(layer_norm_of_a_constant_or_broken_row) {
    EACH_TIER(t) {
        float *x = (float *)raw_x, *y = (float *)raw_y, mean[3], rstd[3];
        for (int i = 0; i < 3 * 40; i++) x[i] = 3;
        x[40 + 39] = NAN;
        x[80] = INFINITY;
        wick_layer_norm_rows(WICK_CF32, false, 0, 3, 40, 1e-5, x, NULL, NULL, y, mean, rstd);
        for (int i = 0; i < 40; i++) CHECK(y[i] == 0);
        for (int i = 40; i < 120; i++) CHECK(isnan(y[i]));
        CHECK(mean[0] == 3 && isnan(mean[1]) && mean[2] == INFINITY);
    }
}

/* ---- argmax and argmin ------------------------------------------------------------------------------------------- */

static double load_any(wick_ctype type, const void *p, int64_t i) {
    switch (type) {
    case WICK_CI32:
        return ((const int32_t *)p)[i];
    case WICK_CI64:
        return (double)((const int64_t *)p)[i];
    case WICK_CU64:
        return (double)((const uint64_t *)p)[i];
    case WICK_CBOOL:
        return ((const uint8_t *)p)[i];
    default:
        return get(type, p, i);
    }
}
static void store_any(wick_ctype type, void *p, int64_t i, double v) {
    switch (type) {
    case WICK_CI32:
        ((int32_t *)p)[i] = (int32_t)v;
        break;
    case WICK_CI64:
        ((int64_t *)p)[i] = (int64_t)v;
        break;
    case WICK_CU64:
        ((uint64_t *)p)[i] = (uint64_t)fabs(v);
        break;
    case WICK_CBOOL:
        ((uint8_t *)p)[i] = v > 0;
        break;
    default:
        put(type, p, i, v);
    }
}

TEST(arg_reduce_finds_the_first_of_ties_in_every_type) {
    static const int64_t shapes[][3] = {{3, 1, 1}, {4, 10, 1},  {2, 255, 1}, {2, 256, 1}, {2, 257, 1}, {1, 3000, 1},
                                        {3, 7, 5}, {2, 33, 17}, {1, 9, 300}, {2, 1, 4},   {0, 5, 5},   {2, 5, 0}};
    EACH_TIER(t)
    for (int type = WICK_CF32; type < WICK_CTYPE_COUNT; type++) for (size_t s = 0; s < WICK_COUNTOF(shapes);
                                                                     s++) for (int k = 0; k < 4; k++) {
        const bool largest = k & 1, floats = type <= WICK_CF64;
        const int64_t outer = shapes[s][0], n = shapes[s][1], inner = shapes[s][2];
        int64_t got[1024];
        /* few distinct values make ties; k & 2 makes many */
        for (int64_t i = 0; i < outer * n * inner; i++) {
            const double wide = test_rand_real(-1e6, 1e6), few = test_rand_int(-2, 2);
            store_any((wick_ctype)type, raw_x, i, floats && test_rand() % 97 == 0 ? NAN : k & 2 ? wide : few);
        }
        wick_arg_reduce((wick_ctype)type, largest, n, inner, 0, outer, raw_x, got);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t l = 0; l < inner; l++) {
                int64_t at = 0;
                for (int64_t i = 1; i < n; i++) {
                    const double v = load_any((wick_ctype)type, raw_x, (o * n + i) * inner + l),
                                 b = load_any((wick_ctype)type, raw_x, (o * n + at) * inner + l);
                    if (!isnan(b) && (isnan(v) || (largest ? v > b : v < b))) at = i;
                }
                CHECK_MSG(got[o * inner + l] == at, "%s type %d shape %zu: %lld, want %lld", wick_tier_name(t), type, s,
                          (long long)got[o * inner + l], (long long)at);
            }
    }
}

TEST(arg_reduce_tells_apart_what_doubles_cannot) {
    EACH_TIER(t) {
        int64_t at, big[3] = {INT64_MAX - 1, INT64_MAX, INT64_MIN};
        uint64_t ubig[3] = {0, UINT64_MAX - 1, UINT64_MAX};
        float inf[3] = {-INFINITY, -INFINITY, INFINITY};
        wick_arg_reduce(WICK_CI64, true, 3, 1, 0, 1, big, &at);
        CHECK_INT(at, 1);
        wick_arg_reduce(WICK_CI64, false, 3, 1, 0, 1, big, &at);
        CHECK_INT(at, 2);
        wick_arg_reduce(WICK_CU64, true, 3, 1, 0, 1, ubig, &at);
        CHECK_INT(at, 2);
        wick_arg_reduce(WICK_CF32, false, 3, 1, 0, 1, inf, &at);
        CHECK_INT(at, 0);
        wick_arg_reduce(WICK_CF32, true, 3, 1, 0, 1, inf, &at);
        CHECK_INT(at, 2);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
