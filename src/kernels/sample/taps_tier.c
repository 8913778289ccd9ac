/* taps_tier.c: weighted sums of rows by index, for one tier; loops that compilers vectorise. */
#include "kernels/sample/sample.h"

#define TAPS_CAT_(a, b) a##b
#define TAPS_CAT(a, b)  TAPS_CAT_(a, b)

#define TAPS_T       float
#define TAPS_NAME(x) x##_f32
#include "kernels/sample/taps_body.h"

#define TAPS_T       double
#define TAPS_NAME(x) x##_f64
#include "kernels/sample/taps_body.h"

const wick_taps_table TAPS_CAT(wick_taps_table_,
                               WICK_TIER_NAME) = {{sum_f32, sum_f64}, {put_f32, put_f64}, {dot_f32, dot_f64}};
