/* window_tier.c: pooling of one tier, for f32 and f64. */
#include <math.h>

#include "kernels/window/window.h"

#define WINDOW_STR_(x)    #x
#define WINDOW_STR(x)     WINDOW_STR_(x)
#define WINDOW_CAT_(a, b) a##b
#define WINDOW_CAT(a, b)  WINDOW_CAT_(a, b)

#if WICK_TIER_ID == 0
#define WINDOW_T       float
#define WINDOW_I       int32_t
#define WINDOW_NAME(x) WINDOW_CAT(x, _f32)
#include "kernels/window/channels_body.h"
#include "kernels/window/window_ref.h"
#undef WINDOW_T
#undef WINDOW_I
#undef WINDOW_NAME
#define WINDOW_T       double
#define WINDOW_I       int64_t
#define WINDOW_NAME(x) WINDOW_CAT(x, _f64)
#include "kernels/window/channels_body.h"
#include "kernels/window/window_ref.h"
#else

/* The largest, NaN above all. */
#define WINDOW_OP              max
#define WINDOW_JOIN(a, b)      ((b) > (a) || (b) != (b) ? (b) : (a))
/* What is not NaN takes one instruction: a of two that are equal, as above. */
#define WINDOW_ORDERED(a, b)   ((b) > (a) ? (b) : (a))
#define WINDOW_UNORDERED(a, b) __builtin_isunordered(a, b)
#define WINDOW_DONE(v, n)      ((void)(n), (v))
#define WINDOW_EMPTY           (-(WINDOW_T)INFINITY)
#define WINDOW_T               float
#define WINDOW_I               int32_t
#define WINDOW_LINE            16 /* elements of 64 bytes */
#define WINDOW_NAME(x)         WINDOW_CAT(x, _f32)
#include "kernels/window/channels_body.h"
#include "kernels/window/halves_body.h"
#include "kernels/window/window_body.h"
#undef WINDOW_T
#undef WINDOW_I
#undef WINDOW_LINE
#undef WINDOW_NAME
#define WINDOW_T       double
#define WINDOW_I       int64_t
#define WINDOW_LINE    8
#define WINDOW_NAME(x) WINDOW_CAT(x, _f64)
#include "kernels/window/channels_body.h"
#include "kernels/window/halves_body.h"
#include "kernels/window/window_body.h"
#undef WINDOW_T
#undef WINDOW_I
#undef WINDOW_LINE
#undef WINDOW_NAME
#undef WINDOW_OP
#undef WINDOW_JOIN
#undef WINDOW_ORDERED
#undef WINDOW_UNORDERED
#undef WINDOW_DONE
#undef WINDOW_EMPTY

#define WINDOW_OP              mean
#define WINDOW_JOIN(a, b)      ((a) + (b))
#define WINDOW_ORDERED         WINDOW_JOIN
#define WINDOW_UNORDERED(a, b) 0
#define WINDOW_DONE(v, n)      ((v) / (WINDOW_T)(n))
#define WINDOW_EMPTY           ((WINDOW_T)0)
#define WINDOW_T               float
#define WINDOW_NAME(x)         WINDOW_CAT(x, _f32)
#include "kernels/window/window_body.h"
#undef WINDOW_T
#undef WINDOW_NAME
#define WINDOW_T       double
#define WINDOW_NAME(x) WINDOW_CAT(x, _f64)
#include "kernels/window/window_body.h"
#define WINDOW_HALVES                                                                                                  \
    {max_halves_f32, max_halves_f64}, {mean_halves_f32, mean_halves_f64}, {put_halves_f32, put_halves_f64}
#endif
#ifdef WINDOW_HALVES
#define WINDOW_CHANNELS {channels_max_f32, channels_max_f64}, {channels_mean_f32, channels_mean_f64}
#else
#define WINDOW_HALVES   {NULL, NULL}, {NULL, NULL}, {NULL, NULL}
#define WINDOW_CHANNELS {NULL, NULL}, {NULL, NULL}
#endif

const wick_window_kernels WINDOW_CAT(wick_window_kernels_, WICK_TIER_NAME) = {
    {"max_pool_" WINDOW_STR(WICK_TIER_NAME), "avg_pool_" WINDOW_STR(WICK_TIER_NAME)},
    {max_f32, max_f64},
    {mean_f32, mean_f64},
    WINDOW_HALVES,
    WINDOW_CHANNELS,
    {channels_pick_f32, channels_pick_f64},
    {channels_put_f32, channels_put_f64},
    {channels_share_f32, channels_share_f64}};
