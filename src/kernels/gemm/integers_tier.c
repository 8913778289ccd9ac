/* integers_tier.c: matrix products of integers for one tier; exact, so every tier gives the same. */
#include "kernels/gemm/integers.h"

#define INT_CAT_(a, b) a##b
#define INT_CAT(a, b)  INT_CAT_(a, b)

#if WICK_TIER_ID == 0
/* The oracle: three loops. */
#define INT_ORACLE(T, name)                                                                                            \
    static void name(int64_t begin, int64_t end, int64_t n, int64_t k, int64_t a_row, int64_t a_col, const void *a,    \
                     const void *b, void *c) {                                                                         \
        for (int64_t i = begin; i < end; i++)                                                                          \
            for (int64_t j = 0; j < n; j++) {                                                                          \
                T sum = 0;                                                                                             \
                for (int64_t p = 0; p < k; p++)                                                                        \
                    sum += ((const T *)a)[i * a_row + p * a_col] * ((const T *)b)[p * n + j];                          \
                ((T *)c)[i * n + j] = sum;                                                                             \
            }                                                                                                          \
    }
INT_ORACLE(uint32_t, of32)
INT_ORACLE(uint64_t, of64)
#else
#define INT_T    uint32_t
#define INT_NAME of32
#include "kernels/gemm/integers_body.h"
#define INT_T    uint64_t
#define INT_NAME of64
#include "kernels/gemm/integers_body.h"
#endif

const wick_integers_table INT_CAT(wick_integers_table_, WICK_TIER_NAME) = {of32, of64};
