/* extremes_tier.c: running extremes: comparisons alone, so that all tiers give the same bits; loops that compilers
 * vectorise. */
#include "kernels/scan/scan.h"

#define INLINE static inline __attribute__((always_inline))
enum { BLOCK = 16 };

#define FLOATS  1
#define T       float
#define NAME(x) x##_f32
#include "kernels/scan/extremes_body.h"
#define T       double
#define NAME(x) x##_f64
#include "kernels/scan/extremes_body.h"
#undef FLOATS
#define FLOATS  0
#define T       int32_t
#define NAME(x) x##_i32
#include "kernels/scan/extremes_body.h"
#define T       int64_t
#define NAME(x) x##_i64
#include "kernels/scan/extremes_body.h"
#define T       uint64_t
#define NAME(x) x##_u64
#include "kernels/scan/extremes_body.h"

#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)
const wick_extremes_table CAT(wick_extremes_table_, WICK_TIER_NAME) = {{[WICK_CF32] = extremes_f32,
                                                                        [WICK_CF64] = extremes_f64,
                                                                        [WICK_CI32] = extremes_i32,
                                                                        [WICK_CI64] = extremes_i64,
                                                                        [WICK_CU64] = extremes_u64}};
