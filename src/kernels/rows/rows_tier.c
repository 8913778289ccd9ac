/* rows_tier.c: softmax, log softmax, negative log likelihood and layer norm over rows, for one tier.
 *
 * What softmax makes of special values is what follows from exp(x - max) / sum, as in PyTorch: a row that holds NaN or
 * +Inf, or nothing but -Inf, becomes NaN throughout; -Inf beside a finite number becomes 0 (-Inf in log softmax). */
#include "kernels/convert/convert.h"
#include "kernels/rows/rows.h"
#include "kernels/rows/rows_exp.h"

#if WICK_TIER_ID > 0 && defined(__x86_64__)
#include <immintrin.h>
#endif

#define ROWS_CAT_(a, b) a##b
#define ROWS_CAT(a, b)  ROWS_CAT_(a, b)

#define ROWS_INLINE static inline __attribute__((always_inline))

#define ROWS_T       float
#define ROWS_BITS    32
#define ROWS_NAME(x) x##_f32
#define ROWS_EXP     wick_weight_exp_f32
#define ROWS_LOG     wick_log_f32
#if WICK_TIER_ID == 3
#define ROWS_EXP_VEC wick_weight_exp_f32x16
#elif WICK_TIER_ID == 2
#define ROWS_EXP_VEC wick_weight_exp_f32x8
#endif
#if WICK_TIER_ID == 0
#include "kernels/rows/rows_ref.h"
#else
#include "kernels/rows/rows_vec.h"
#include "kernels/rows/softmax_body.h"
#include "kernels/rows/layer_norm_body.h"
#endif
#undef ROWS_T
#undef ROWS_BITS
#undef ROWS_NAME
#undef ROWS_EXP
#undef ROWS_LOG
#undef ROWS_EXP_VEC

#define ROWS_T       double
#define ROWS_BITS    64
#define ROWS_NAME(x) x##_f64
#define ROWS_EXP     wick_weight_exp_f64
#define ROWS_LOG     wick_log_f64
#if WICK_TIER_ID == 0
#include "kernels/rows/rows_ref.h"
#else
#include "kernels/rows/rows_vec.h"
#include "kernels/rows/softmax_body.h"
#include "kernels/rows/layer_norm_body.h"
#endif

const wick_rows_table ROWS_CAT(wick_rows_table_, WICK_TIER_NAME) = {
    .softmax = {softmax_f32, softmax_f64},
    .layer_norm = {layer_norm_f32, layer_norm_f64},
    .nll = {nll_f32, nll_f64},
};
