/* attention_tier.c: the softmax of attention for one tier, f32 and f64; its products are gemm's. */
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_math.h"
#include "kernels/rows/rows_exp.h"

#define ATT_STR_(x)    #x
#define ATT_STR(x)     ATT_STR_(x)
#define ATT_CAT_(a, b) a##b
#define ATT_CAT(a, b)  ATT_CAT_(a, b)

enum { BQ = WICK_ATTENTION_QUERIES, BK = WICK_ATTENTION_KEYS };

#if WICK_TIER_ID == 0
#define ATT_BODY           "kernels/attention/attention_ref.h"
#define ATT_FIELDS(suffix) .forward = forward_##suffix, .backward = backward_##suffix, .add = add_##suffix
#else
#define ATT_BODY           "kernels/attention/attention_body.h"
#define ATT_FIELDS(suffix)                                                                                             \
    .weights = weights_##suffix, .scale = scale_##suffix, .finish = finish_##suffix, .gradients = gradients_##suffix,  \
    .add = add_##suffix
#endif

#define ATT_T       float
#define ATT_NAME(x) x##_f32
#define ATT_EXP     wick_attention_exp_f32
#define ATT_LOG     wick_log_f32
#include ATT_BODY
#undef ATT_T
#undef ATT_NAME
#undef ATT_EXP
#undef ATT_LOG
#define ATT_T       double
#define ATT_NAME(x) x##_f64
#define ATT_EXP     wick_weight_exp_f64
#define ATT_LOG     wick_log_f64
#include ATT_BODY

#define ATT_NAMES(type)                                                                                                \
    {                                                                                                                  \
        "attention_" type "_" ATT_STR(WICK_TIER_NAME), "attention_grad_" type "_" ATT_STR(WICK_TIER_NAME),             \
            "attention_sum_" type "_" ATT_STR(WICK_TIER_NAME)                                                          \
    }
const wick_attention_kernels ATT_CAT(wick_attention_kernels_, WICK_TIER_NAME) = {{
    {.names = ATT_NAMES("f32"), ATT_FIELDS(f32)},
    {.names = ATT_NAMES("f64"), ATT_FIELDS(f64)},
}};
