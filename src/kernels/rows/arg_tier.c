/* arg_tier.c: argmax and argmin for one tier. The answer is exact, hence the same in every tier. */
#include "kernels/rows/rows.h"

#define ARG_CAT_(a, b) a##b
#define ARG_CAT(a, b)  ARG_CAT_(a, b)

#if WICK_TIER_ID == 0
#define ARG_BODY "kernels/rows/arg_ref.h"
#else
#define ARG_BODY "kernels/rows/arg_body.h"
#endif

/* ARG_FLAG: an integer as wide as ARG_T, so that a comparison's result needs no conversion. */
#define ARG_T       float
#define ARG_FLAG    uint32_t
#define ARG_NAN(x)  ((x) != (x))
#define ARG_NAME(x) x##_f32
#include ARG_BODY
#undef ARG_T
#undef ARG_FLAG
#undef ARG_NAN
#undef ARG_NAME

#define ARG_T       double
#define ARG_FLAG    uint64_t
#define ARG_NAN(x)  ((x) != (x))
#define ARG_NAME(x) x##_f64
#include ARG_BODY
#undef ARG_T
#undef ARG_FLAG
#undef ARG_NAN
#undef ARG_NAME

#define ARG_T       int32_t
#define ARG_FLAG    uint32_t
#define ARG_NAN(x)  false
#define ARG_NAME(x) x##_i32
#include ARG_BODY
#undef ARG_T
#undef ARG_FLAG
#undef ARG_NAN
#undef ARG_NAME

#define ARG_T       int64_t
#define ARG_FLAG    uint64_t
#define ARG_NAN(x)  false
#define ARG_NAME(x) x##_i64
#include ARG_BODY
#undef ARG_T
#undef ARG_FLAG
#undef ARG_NAN
#undef ARG_NAME

#define ARG_T       uint64_t
#define ARG_FLAG    uint64_t
#define ARG_NAN(x)  false
#define ARG_NAME(x) x##_u64
#include ARG_BODY
#undef ARG_T
#undef ARG_FLAG
#undef ARG_NAN
#undef ARG_NAME

#define ARG_T       uint8_t
#define ARG_FLAG    uint8_t
#define ARG_NAN(x)  false
#define ARG_NAME(x) x##_bool
#include ARG_BODY

const wick_arg_table ARG_CAT(wick_arg_table_, WICK_TIER_NAME) = {{
    [WICK_CF32] = reduce_f32,
    [WICK_CF64] = reduce_f64,
    [WICK_CI32] = reduce_i32,
    [WICK_CI64] = reduce_i64,
    [WICK_CU64] = reduce_u64,
    [WICK_CBOOL] = reduce_bool,
}};
