/* draws.c: deviates that take a number of random words which nobody knows before. Every element has 64 random bits of
 * its own: they are the key of a Philox stream, from which it draws for as long as it has to. So an element is a
 * function of its bits and parameters alone.
 *
 * Plain C in double (draw_math.h): rejection is branches. Where tiers have loops for the first try of all elements, it
 * comes from those. */
#include "kernels/random/draw_math.h"
#include "kernels/random/random.h"

void wick_draw_gamma(wick_ctype type, int64_t begin, int64_t end, const void *alpha, const uint64_t *bits, void *dst) {
    const wick_random_table *table = wick_random_kernels();
    double a[WICK_GAMMA_GROUP], y[WICK_GAMMA_GROUP];
    uint64_t taken[WICK_GAMMA_GROUP] = {0};
    for (int64_t at = begin; at < end; at += WICK_GAMMA_GROUP) {
        const size_t n = (size_t)WICK_MIN(end - at, WICK_GAMMA_GROUP);
        for (size_t i = 0; i < n; i++)
            a[i] = type == WICK_CF64 ? ((const double *)alpha)[at + (int64_t)i]
                                     : (double)((const float *)alpha)[at + (int64_t)i];
        if (table->gamma_first) table->gamma_first(n, a, bits + at, y, taken);
        for (size_t i = 0; i < n; i++) {
            const double x =
                taken[i] ? y[i] : wick_gamma_of(a[i], wick_draws_of(bits[at + (int64_t)i], WICK_GAMMA_STREAM));
            if (type == WICK_CF64)
                ((double *)dst)[at + (int64_t)i] = x;
            else
                ((float *)dst)[at + (int64_t)i] = (float)x;
        }
    }
}

void wick_draw_truncated(wick_ctype type, double mean, double deviation, double low, double high, int64_t begin,
                         int64_t end, const uint64_t *bits, void *dst) {
    const double a = (low - mean) / deviation, b = (high - mean) / deviation;
    for (int64_t i = begin; i < end; i++) {
        const double x = mean +
                         deviation *
                             (a < b ? wick_truncated_of(a, b, wick_draws_of(bits[i], WICK_TRUNCATED_STREAM)) : a),
                     y = x < low    ? low
                         : x > high ? high
                                    : x;
        if (type == WICK_CF64)
            ((double *)dst)[i] = y;
        else
            ((float *)dst)[i] = (float)y;
    }
}

void wick_draw_integers(int64_t low, uint64_t range, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst) {
    for (int64_t i = begin; i < end; i++) dst[i] = (int64_t)((uint64_t)low + wick_bits_below(bits[i], range));
}

void wick_draw_permutations(int64_t n, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst) {
    for (int64_t r = begin; r < end; r++)
        wick_permutation_of(n, wick_draws_of(bits[r], WICK_PERMUTATION_STREAM), dst + r * n);
}

/* Rows [begin, end) by one of the two functions; uniform: of row 0, with `numbers` in each. */
static int64_t draw_rows(int (*of)(int64_t, int64_t, double *, const double *, int64_t *), wick_ctype type,
                         int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                         const double *uniform, int64_t numbers, int64_t *dst, double *row) {
    int64_t bad = -1;
    for (int64_t r = begin; r < end; r++) {
        for (int64_t i = 0; i < n; i++)
            row[i] =
                type == WICK_CF64 ? ((const double *)weights)[r * n + i] : (double)((const float *)weights)[r * n + i];
        if (of(n, count, row, uniform + r * numbers, dst + r * count)) continue;
        if (bad < 0) bad = r;
        memset(dst + r * count, 0, (size_t)count * sizeof *dst);
    }
    return bad;
}
int64_t wick_draw_choices(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                          const double *uniform, int64_t *dst, double *scratch) {
    return count ? draw_rows(wick_choices_of, type, begin, end, n, count, weights, uniform, count, dst, scratch) : -1;
}
int64_t wick_draw_distinct(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                           const double *uniform, int64_t *dst, double *scratch) {
    return draw_rows(wick_distinct_of, type, begin, end, n, count, weights, uniform, n, dst, scratch);
}
