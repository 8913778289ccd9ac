/* search.c: places in sorted lists, runs of equal elements, counts. Exact, hence the same in every tier. */
#include "kernels/sort/sort_api.h"

/* How many of a rising list are below x, or (right) not above it. NaN is the largest: for it, how many are numbers, or
 * all. The bisection has no jumps that depend on values, half of which would be mispredicted. */
#define INLINE static inline __attribute__((always_inline))
/* Among numbers at about equal distances a straight line finds the place. Its guess never falls as x rises. So if
 * guess(sorted[j]) is j - 1 or j for every j, the answer for any x is its guess, or one or two more: the answer A means
 * A - 2 <= guess(sorted[A - 1]) <= guess(x) <= guess(sorted[A]) <= A. scale is 0 where this does not hold, or where so
 * few numbers are searched that checking it would take longer. */
#define LINE(T, t)                                                                                        \
    INLINE int64_t guess_##t(int64_t n, const T *sorted, T scale, T x) {                                  \
        T at = (x - sorted[0]) * scale;                                                                   \
        at = at > 0 ? at : 0;                                                                             \
        return (int64_t)(at < (T)(n - 2) ? at : (T)(n - 2));                                              \
    }                                                                                                     \
    static T scale_##t(int64_t n, const T *sorted, int64_t count) {                                       \
        if (n < 8 || n > 1 << 20 || count < n / 2) return 0;                                              \
        const T scale = (T)(n - 1) / (sorted[n - 1] - sorted[0]);                                         \
        bool straight = scale > 0 && scale < (T)0x1p100;                                                  \
        for (int64_t j = 0; j < n && straight; j++) {                                                     \
            const int64_t g = guess_##t(n, sorted, scale, sorted[j]);                                     \
            straight = g <= j && g >= j - 1;                                                              \
        }                                                                                                 \
        return straight ? scale : 0;                                                                      \
    }
#define NO_LINE(T, t)                                                                                                  \
    INLINE int64_t guess_##t(int64_t n, const T *sorted, T scale, T x) {                                               \
        return (void)n, (void)sorted, (void)scale, (void)x, 0;                                                         \
    }                                                                                                                  \
    INLINE T scale_##t(int64_t n, const T *sorted, int64_t count) { return (void)n, (void)sorted, (void)count, 0; }
#define SEARCH(T, t, NAN_)                                                                                             \
    INLINE int64_t bisect_##t(const int how, int64_t n, const T *sorted, T x) {                                        \
        int64_t lo = 0;                                                                                                \
        for (int64_t left = n; left > 0; left /= 2) { /* the answer is in [lo, lo + left] */                           \
            const int64_t half = left - left / 2;                                                                      \
            const T m = sorted[lo + half - 1];                                                                         \
            lo += half & -(int64_t)(how == 0 ? m < x : how == 1 ? m <= x : !NAN_(m));                                  \
        }                                                                                                              \
        return lo;                                                                                                     \
    }                                                                                                                  \
    static void search_##t(bool right, int64_t n, const T *sorted, int64_t count, const T *v, int64_t *dst) {          \
        const T scale = scale_##t(n, sorted, count);                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            if (WICK_UNLIKELY(NAN_(v[i])))                                                                             \
                dst[i] = right ? n : bisect_##t(2, n, sorted, v[i]);                                                   \
            else if (scale > 0) {                                                                                      \
                const int64_t g = guess_##t(n, sorted, scale, v[i]);                                                   \
                dst[i] = g + (right ? (sorted[g] <= v[i]) + (sorted[g + 1] <= v[i])                                    \
                                    : (sorted[g] < v[i]) + (sorted[g + 1] < v[i]));                                    \
            } else                                                                                                     \
                dst[i] = right ? bisect_##t(1, n, sorted, v[i]) : bisect_##t(0, n, sorted, v[i]);                      \
        }                                                                                                              \
    }                                                                                                                  \
    static int64_t runs_##t(int64_t n, const T *x, const int64_t *order, T *values, int64_t *inverse,                  \
                            int64_t *counts) {                                                                         \
        int64_t runs = 0;                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            if (i == 0 || !(x[i] == x[i - 1]))                                                                         \
                values[runs] = x[i], counts[runs++] = 0; /* each NaN is one of its own */                              \
            counts[runs - 1]++;                                                                                        \
            inverse[order[i]] = runs - 1;                                                                              \
        }                                                                                                              \
        for (int64_t i = runs; i < n; i++) values[i] = 0, counts[i] = 0;                                               \
        return runs;                                                                                                   \
    }
#define FLOAT_NAN(x) ((x) != (x))
#define NO_NAN(x)    (false)
LINE(float, f32)
LINE(double, f64)
NO_LINE(int32_t, i32)
NO_LINE(int64_t, i64)
NO_LINE(uint64_t, u64)
SEARCH(float, f32, FLOAT_NAN)
SEARCH(double, f64, FLOAT_NAN)
SEARCH(int32_t, i32, NO_NAN)
SEARCH(int64_t, i64, NO_NAN)
SEARCH(uint64_t, u64, NO_NAN)

void wick_search_sorted(wick_ctype type, bool right, int64_t n, const void *sorted, int64_t count, const void *values,
                        int64_t *dst) {
    switch (type) {
    case WICK_CF32: search_f32(right, n, sorted, count, values, dst); break;
    case WICK_CF64: search_f64(right, n, sorted, count, values, dst); break;
    case WICK_CI32: search_i32(right, n, sorted, count, values, dst); break;
    case WICK_CI64: search_i64(right, n, sorted, count, values, dst); break;
    default: search_u64(right, n, sorted, count, values, dst);
    }
}

int64_t wick_equal_runs(wick_ctype type, int64_t n, const void *x, const int64_t *order, void *values, int64_t *inverse,
                        int64_t *counts) {
    switch (type) {
    case WICK_CF32: return runs_f32(n, x, order, values, inverse, counts);
    case WICK_CF64: return runs_f64(n, x, order, values, inverse, counts);
    case WICK_CI32: return runs_i32(n, x, order, values, inverse, counts);
    case WICK_CI64: return runs_i64(n, x, order, values, inverse, counts);
    default: return runs_u64(n, x, order, values, inverse, counts);
    }
}

void wick_count_bins(wick_ctype type, int64_t n, const int64_t *x, const void *weights, int64_t bins, void *dst) {
    memset(dst, 0, (size_t)bins * 8);
    int64_t *counts = dst;
    double *sums = dst;
    const float *w32 = weights;
    const double *w64 = weights;
    for (int64_t i = 0; i < n; i++) {
        if ((uint64_t)x[i] >= (uint64_t)bins) continue;
        if (!weights)
            counts[x[i]]++;
        else
            sums[x[i]] += type == WICK_CF32 ? (double)w32[i] : w64[i];
    }
}

void wick_add_bins(wick_ctype type, bool counts, int64_t parts, int64_t bins, int64_t begin, int64_t end,
                   const void *partial, void *dst) {
    const int64_t *whole = partial;
    const double *sums = partial;
    for (int64_t b = begin; b < end; b++) {
        int64_t n = 0;
        double sum = 0;
        for (int64_t p = 0; p < parts; p++) {
            if (counts)
                n += whole[p * bins + b];
            else
                sum += sums[p * bins + b];
        }
        if (counts)
            ((int64_t *)dst)[b] = n;
        else if (type == WICK_CF32)
            ((float *)dst)[b] = (float)sum;
        else
            ((double *)dst)[b] = sum;
    }
}
