/* recurrent_tier.c: the elementwise part of a step, for one tier and both types. */
#include "kernels/recurrent/cell_math.h"
#include "kernels/recurrent/recurrent.h"

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* the scalar tier vectorises nothing */
#define CELL_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define CELL_LOOP _Pragma("GCC ivdep")
#endif
#define CELL_INLINE static inline __attribute__((always_inline))
/* How far the usual cells go in vectors; the reference knows no other way than that of any activations. */
#if WICK_TIER_ID == 0
#define CELL_WHOLE(r) 0
#else
enum { CELL_BYTES = WICK_TIER_ID == 3 ? 64 : WICK_TIER_ID == 2 ? 32 : 16 };
#define CELL_WHOLE(r) ((r)->plain ? (r)->n & ~(CELL_BYTES / (int64_t)sizeof(CELL_T) - 1) : 0)
#endif
#define CELL_CAT_(a, b) a##b
#define CELL_CAT(a, b)  CELL_CAT_(a, b)

#define CELL_T       float
#define CELL_NAME(x) x##_f32
#include "kernels/recurrent/cell_body.h"
#undef CELL_T
#undef CELL_NAME
#define CELL_T       double
#define CELL_NAME(x) x##_f64
#include "kernels/recurrent/cell_body.h"

#define CELL_BOTH(what)                                                                                                \
    {                                                                                                                  \
        {what##rnn_f32, what##lstm_f32, what##gru_f32, what##gru_first_f32}, {                                         \
            what##rnn_f64, what##lstm_f64, what##gru_f64, what##gru_first_f64                                          \
        }                                                                                                              \
    }
const wick_recurrent_table CELL_CAT(wick_recurrent_table_, WICK_TIER_NAME) = {
    .forward = CELL_BOTH(forward_),
    .backward = CELL_BOTH(backward_),
    .forward_after = {forward_gru_after_f32, forward_gru_after_f64},
    .backward_after = {backward_gru_after_f32, backward_gru_after_f64},
};
