/* resample_tier.c: weighted sums of neighbours along an axis, for one tier; loops that compilers vectorise. */
#include "kernels/resample/resample.h"

#define RESAMPLE_CAT_(a, b) a##b
#define RESAMPLE_CAT(a, b)  RESAMPLE_CAT_(a, b)

#define RESAMPLE_T       float
#define RESAMPLE_NAME(x) x##_f32
#include "kernels/resample/resample_body.h"

#define RESAMPLE_T       double
#define RESAMPLE_NAME(x) x##_f64
#include "kernels/resample/resample_body.h"

const wick_resample_table RESAMPLE_CAT(wick_resample_table_, WICK_TIER_NAME) = {.run = {resample_f32, resample_f64}};
