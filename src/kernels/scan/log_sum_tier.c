/* log_sum_tier.c: the logarithm of running sums of exponentials, in f64: the sum is kept relative to the largest so
 * far. */
#include "kernels/elementwise/math.h"
#include "kernels/scan/scan.h"

#define LOG_SUM(T, t)                                                                                                  \
    static void run_##t(const wick_scan *s, int64_t begin, int64_t end, const void *x_, void *y_) {                    \
        const int64_t step = s->reverse ? -s->inner : s->inner;                                                        \
        for (int64_t line = begin; line < end; line++) {                                                               \
            const int64_t first =                                                                                      \
                line / s->inner * s->n * s->inner + line % s->inner + (s->reverse ? (s->n - 1) * s->inner : 0);        \
            const T *x = (const T *)x_ + first;                                                                        \
            T *y = (T *)y_ + first;                                                                                    \
            double most = -INFINITY, sum = 0;                                                                          \
            for (int64_t k = 0; k < s->n; k++, x += step, y += step) {                                                 \
                const double v = (double)*x;                                                                           \
                if (v > most) { /* what is there counts for less now */                                                \
                    sum = (most == -INFINITY ? 0 : sum * wick_exp_f64(most - v)) + 1;                                  \
                    most = v;                                                                                          \
                } else if (v != v) {                                                                                   \
                    most = sum = v;                                                                                    \
                } else if (v == most) { /* infinities too */                                                           \
                    sum += v != -INFINITY;                                                                             \
                } else                                                                                                 \
                    sum += wick_exp_f64(v - most);                                                                     \
                *y = (T)(most == -INFINITY ? most : most + wick_log_f64(sum));                                         \
            }                                                                                                          \
        }                                                                                                              \
    }
LOG_SUM(float, f32)
LOG_SUM(double, f64)

#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)
const wick_log_sum_table CAT(wick_log_sum_table_, WICK_TIER_NAME) = {{run_f32, run_f64}};
