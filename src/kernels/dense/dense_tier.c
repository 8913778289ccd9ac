/* dense_tier.c: the inner loops of factorizations for one tier: plain C that compilers vectorise. */
#include "kernels/dense/dense.h"

#define DENSE_CAT_(a, b) a##b
#define DENSE_CAT(a, b)  DENSE_CAT_(a, b)

#define DENSE_LOOPS(T, f)                                                                                              \
    static void rank_one_##f(int64_t rows, int64_t cols, const void *av, int64_t a_row, const void *bv, void *cv,      \
                             int64_t c_row) {                                                                          \
        const T *restrict b = bv;                                                                                      \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            const T x = ((const T *)av)[i * a_row];                                                                    \
            T *restrict c = (T *)cv + i * c_row;                                                                       \
            for (int64_t j = 0; j < cols; j++) c[j] -= x * b[j];                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void combine_##f(int64_t rows, int64_t cols, const void *av, int64_t a_row, const void *cv, int64_t c_row,  \
                            void *wv) {                                                                                \
        T *restrict w = wv;                                                                                            \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            const T x = ((const T *)av)[i * a_row];                                                                    \
            const T *restrict c = (const T *)cv + i * c_row;                                                           \
            for (int64_t j = 0; j < cols; j++) w[j] += x * c[j];                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void rotate_##f(int64_t n, double cosine, double sine, void *xv, void *yv) {                                \
        T *restrict x = xv, *restrict y = yv;                                                                          \
        const T c = (T)cosine, s = (T)sine;                                                                            \
        for (int64_t j = 0; j < n; j++) {                                                                              \
            const T a = x[j], b = y[j];                                                                                \
            x[j] = c * a - s * b;                                                                                      \
            y[j] = s * a + c * b;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void dots_##f(int64_t n, const void *xv, const void *yv, double sums[3]) {                                  \
        const T *restrict x = xv, *restrict y = yv;                                                                    \
        double xx[8] = {0}, yy[8] = {0}, xy[8] = {0};                                                                  \
        int64_t j = 0;                                                                                                 \
        for (; j + 8 <= n; j += 8)                                                                                     \
            for (int l = 0; l < 8; l++) {                                                                              \
                const double a = (double)x[j + l], b = (double)y[j + l];                                               \
                xx[l] += a * a, yy[l] += b * b, xy[l] += a * b;                                                        \
            }                                                                                                          \
        for (int l = 0; j < n; j++, l++) {                                                                             \
            const double a = (double)x[j], b = (double)y[j];                                                           \
            xx[l] += a * a, yy[l] += b * b, xy[l] += a * b;                                                            \
        }                                                                                                              \
        sums[0] = sums[1] = sums[2] = 0;                                                                               \
        for (int l = 0; l < 8; l++) sums[0] += xx[l], sums[1] += yy[l], sums[2] += xy[l];                              \
    }
DENSE_LOOPS(float, f32)
DENSE_LOOPS(double, f64)

const wick_dense_table DENSE_CAT(wick_dense_table_, WICK_TIER_NAME) = {{
    {rank_one_f32, combine_f32, rotate_f32, dots_f32},
    {rank_one_f64, combine_f64, rotate_f64, dots_f64},
}};
