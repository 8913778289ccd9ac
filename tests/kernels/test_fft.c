/* Transforms against the sum itself, every length up to some hundred and some longer ones, on every tier. */
#include <math.h>

#include "kernels/kernels.h"
#include "test.h"

static double at(const wick_fourier *f, const void *x, int64_t i) {
    return f->type == WICK_CF64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}
static void set(const wick_fourier *f, void *x, int64_t i, double value) {
    if (f->type == WICK_CF64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}

static int64_t length_in(const wick_fourier *f) {
    return f->what == WICK_FFT_REAL ? f->n : f->what == WICK_FFT_COMPLEX ? 2 * f->n : 2 * (f->n / 2 + 1);
}
static int64_t length_out(const wick_fourier *f) {
    return f->what == WICK_FFT_HERMITIAN ? f->n : f->what == WICK_FFT_COMPLEX ? 2 * f->n : 2 * (f->n / 2 + 1);
}

/* Runs in three ranges, on memory that is not aligned. */
static char *transform(wick_fourier *f, const void *x) {
    wick_fft_prepare(f);
    const size_t elem = f->type == WICK_CF64 ? 8 : 4;
    char *y = calloc((size_t)(length_out(f) * f->rows) + 1, elem);
    void *table = aligned_alloc(64, WICK_ALIGN_UP(f->table + 1, 64)),
         *scratch = aligned_alloc(64, WICK_ALIGN_UP(f->scratch + 1, 64));
    memset(scratch, 0xff, f->scratch); /* NaN */
    wick_fft_tables(f, table);
    const int64_t cut[4] = {0, f->places / 3 / f->unit * f->unit, 2 * f->places / 3 / f->unit * f->unit, f->places};
    for (int i = 0; i < 3; i++) wick_fft_run(f, cut[i], cut[i + 1], x, y, table, scratch);
    free(table), free(scratch);
    return y;
}

/* The largest error over the root of the mean square. */
static double error_of(const wick_fourier *f, const char *y, const char *expected) {
    double worst = 0, square = 0;
    const int64_t n = length_out(f) * f->rows;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(at(f, y, i) - at(f, expected, i)));
        if (isnan(at(f, y, i))) return INFINITY;
        square += at(f, expected, i) * at(f, expected, i);
    }
    return worst / fmax(sqrt(square / (double)n), 1e-30);
}

static void check(wick_fourier f) {
    const size_t elem = f.type == WICK_CF64 ? 8 : 4;
    char *x = malloc((size_t)(length_in(&f) * f.rows + 1) * elem);
    for (int64_t i = 0; i < length_in(&f) * f.rows; i++) set(&f, x, i, test_rand_real(-1, 1));
    const wick_tier before = wick_tier_current();
    wick_tier_force(WICK_TIER_REF);
    char *expected = transform(&f, x);
    for (int tier = 1; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        char *y = transform(&f, x);
        const double error = error_of(&f, y, expected);
        CHECK_MSG(error < (f.type == WICK_CF64 ? 4e-14 : 2.5e-6), "%s n=%lld rows=%lld what=%d inverse=%d: %g",
                  wick_fft_name(&f), (long long)f.n, (long long)f.rows, (int)f.what, (int)f.inverse, error);
        free(y);
    }
    wick_tier_force(before);
    free(x), free(expected);
}

TEST(the_reference_is_the_sum_itself) {
    wick_tier_force(WICK_TIER_REF);
    for (int64_t n = 1; n <= 60; n++) {
        wick_fourier f = {.type = WICK_CF64, .what = WICK_FFT_COMPLEX, .n = n, .rows = 1, .scale = 1, .inner = 1};
        double x[120];
        for (int i = 0; i < 2 * n; i++) x[i] = test_rand_real(-1, 1);
        double *y = (double *)(void *)transform(&f, x);
        for (int64_t k = 0; k < n; k++) {
            double re = 0, im = 0;
            for (int64_t j = 0; j < n; j++) {
                const double a = -2 * acos(-1) * (double)(j * k % n) / (double)n;
                re += x[2 * j] * cos(a) - x[2 * j + 1] * sin(a);
                im += x[2 * j] * sin(a) + x[2 * j + 1] * cos(a);
            }
            CHECK_MSG(fabs(y[2 * k] - re) < 1e-13 && fabs(y[2 * k + 1] - im) < 1e-13, "n=%lld k=%lld", (long long)n,
                      (long long)k);
        }
        free(y);
    }
    wick_tier_force(wick_tier_best());
}

TEST(every_length_agrees_with_the_reference) {
    static const int64_t rows[] = {1, 3, 8, 17, 40};
    for (int64_t n = 1; n <= 300; n++)
        for (int type = 0; type < 2; type++)
            for (int what = 0; what < 4; what++)
                check((wick_fourier){.type = (wick_ctype)type,
                                     .what = what == 3 ? WICK_FFT_COMPLEX : (wick_fourier_what)what,
                                     .inverse = what == 3,
                                     .n = n,
                                     .rows = rows[test_rand() % WICK_COUNTOF(rows)],
                                     .scale = 0.7,
                                     .inner = 1.3});
}
TEST(long_transforms_agree_with_the_reference) {
    static const int64_t lengths[] = {512,  1000, 1024, 1021, 2048,  2310,  3125,   4096,
                                      4099, 4095, 6561, 8192, 10007, 65536, 100000, 131072};
    for (size_t i = 0; i < WICK_COUNTOF(lengths); i++)
        for (int type = 0; type < 2; type++)
            for (int what = 0; what < 4; what++)
                check((wick_fourier){.type = (wick_ctype)type,
                                     .what = what == 3 ? WICK_FFT_COMPLEX : (wick_fourier_what)what,
                                     .inverse = what == 3,
                                     .n = lengths[i],
                                     .rows = 1 + i % 3,
                                     .scale = 1,
                                     .inner = 0.5});
}

/* Columns are what rows are of the same numbers, transposed. */
static void check_columns(wick_fourier f) {
    const size_t pair = f.type == WICK_CF64 ? 16 : 8;
    const int64_t outer = f.rows / f.columns, all = f.rows * f.n;
    char *x = malloc((size_t)all * pair + 1), *transposed = malloc((size_t)all * pair + 1);
    for (int64_t i = 0; i < 2 * all; i++) set(&f, x, i, test_rand_real(-1, 1));
    for (int64_t o = 0; o < outer; o++)
        for (int64_t j = 0; j < f.n; j++)
            for (int64_t c = 0; c < f.columns; c++)
                memcpy(transposed + (size_t)((o * f.columns + c) * f.n + j) * pair,
                       x + (size_t)((o * f.n + j) * f.columns + c) * pair, pair);
    const wick_tier before = wick_tier_current();
    wick_fourier rows = f;
    rows.columns = 0;
    wick_tier_force(WICK_TIER_REF);
    char *expected = transform(&rows, transposed);
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        char *y = transform(&f, x);
        for (int64_t o = 0; o < outer; o++)
            for (int64_t j = 0; j < f.n; j++)
                for (int64_t c = 0; c < f.columns; c++)
                    memcpy(transposed + (size_t)((o * f.columns + c) * f.n + j) * pair,
                           y + (size_t)((o * f.n + j) * f.columns + c) * pair, pair);
        const double error = error_of(&rows, transposed, expected);
        CHECK_MSG(error < (f.type == WICK_CF64 ? 4e-14 : 2.5e-6), "%s n=%lld columns=%lld rows=%lld inverse=%d: %g",
                  wick_fft_name(&f), (long long)f.n, (long long)f.columns, (long long)f.rows, (int)f.inverse, error);
        free(y);
    }
    wick_tier_force(before);
    free(x), free(transposed), free(expected);
}
TEST(columns_agree_with_rows) {
    static const int64_t columns[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 33, 40};
    CHECK(!wick_fft_takes_columns(0) && !wick_fft_takes_columns(17) && !wick_fft_takes_columns(8192));
    for (int64_t n = 1; n <= 4096; n = n < 80 ? n + 1 : n == 80 ? 512 : n == 512 ? 2310 : n == 2310 ? 4096 : n + 1)
        for (int k = 0; k < 4 && wick_fft_takes_columns(n); k++) {
            const int64_t c = columns[test_rand() % WICK_COUNTOF(columns)];
            check_columns((wick_fourier){.type = (wick_ctype)(k & 1),
                                         .what = WICK_FFT_COMPLEX,
                                         .inverse = k > 1,
                                         .n = n,
                                         .rows = c * (n > 80 ? 1 : 1 + (int64_t)(test_rand() % 3)),
                                         .columns = c,
                                         .scale = 0.7,
                                         .inner = 1});
        }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
