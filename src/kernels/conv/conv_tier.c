/* conv_tier.c: the kernels of convolutions of one tier, for f32 and f64. */
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/neon.h"

#define CONV_STR_(x)    #x
#define CONV_STR(x)     CONV_STR_(x)
#define CONV_CAT_(a, b) a##b
#define CONV_CAT(a, b)  CONV_CAT_(a, b)

#if WICK_TIER_ID == 0

#define CONV_T       float
#define CONV_NAME(x) x##_f32
#include "kernels/conv/conv_ref.h"
#undef CONV_T
#undef CONV_NAME
#define CONV_T       double
#define CONV_NAME(x) x##_f64
#include "kernels/conv/conv_ref.h"
#define CONV_FIELDS(bytes, suffix) .elem = bytes, .direct = direct_##suffix

#else

#if WICK_TIER_ID > 1
#include <immintrin.h>
#endif
#define GEMM_INLINE static inline __attribute__((always_inline))
#define GEMM_HIDE(x) __asm__("" : "+r"(x))
#ifdef __clang__
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL _Pragma("GCC unroll 32")
#endif

#define CONV_T         float
#define CONV_NAME(x)   x##_f32
#define GEMM_T         float
#define GEMM_BITS      32
#define GEMM_BITS_T    int32_t
#define GEMM_NAME(x)   x##_f32
#include "kernels/gemm/gemm_vec.h"
#include "kernels/conv/conv_vec.h"
#include "kernels/conv/winograd_vec.h"
static const wick_winograd_kernels winograd_f32 = {L_f32, 1024 * L_f32 *L_f32, winograd_in, winograd_products,
                                                   winograd_out};
#if WICK_TIER_ID == 3
#include "kernels/conv/few_channels_vec.h"
static const wick_few_channels_kernels few_f32 = {L_f32, few_lay, few_line};
#define few_of_f32 &few_f32
#else
#define few_of_f32 NULL
#endif
#define few_of_f64      NULL
#define winograd_of_f32 &winograd_f32
#define winograd_of_f64 NULL
#define row_dots_of_f32 row_dots_f32
#define row_dots_of_f64 NULL
#undef CONV_T
#undef CONV_NAME
#undef GEMM_T
#undef GEMM_BITS
#undef GEMM_BITS_T
#undef GEMM_NAME
#define CONV_T       double
#define CONV_NAME(x) x##_f64
#define GEMM_T       double
#define GEMM_BITS    64
#define GEMM_BITS_T  int64_t
#define GEMM_NAME(x) x##_f64
#include "kernels/gemm/gemm_vec.h"
#include "kernels/conv/conv_vec.h"
#define CONV_FIELDS(bytes, suffix)                                                                                     \
    .elem = bytes, .values = values_##suffix, .row = row_##suffix, .threes = bytes == 4,                               \
    .row_dots = row_dots_of_##suffix, .dots = dots_##suffix, .winograd = winograd_of_##suffix, .few = few_of_##suffix

#endif

#define CONV_NAMES(type)                                                                                      \
    {                                                                                                         \
        "conv_" type "_" CONV_STR(WICK_TIER_NAME), "conv_data_" type "_" CONV_STR(WICK_TIER_NAME),            \
            "conv_weight_" type "_" CONV_STR(WICK_TIER_NAME),                                                 \
            "conv_winograd_" type "_" CONV_STR(WICK_TIER_NAME),                                               \
            "conv_data_winograd_" type "_" CONV_STR(WICK_TIER_NAME)                                           \
    }
const wick_conv_kernels CONV_CAT(wick_conv_kernels_, WICK_TIER_NAME) = {{
    {.names = CONV_NAMES("f32"), CONV_FIELDS(4, f32)},
    {.names = CONV_NAMES("f64"), CONV_FIELDS(8, f64)},
}};
