/* programs.h: whole programs that come up so often that they are compiled ahead: one loop instead of a pass over L1 per instruction.
 * They are built from the same rows in the same order, so the bits are those of the instructions.
 *
 *   P(NAME, number of inputs, inputs, instructions, outputs)
 *     A(r) an input with an element of its own at each place; S(r) one that is the same number everywhere
 *     I1(r, row, a) I2(r, row, a, b) an instruction; O(i, r) result i
 *
 * Registers are numbered as lowering numbers them: inputs in the order the instructions ask for them, then one an instruction. All
 * of it is f32. */
#ifndef WICK_KERNELS_FUSED_PROGRAMS_H
#define WICK_KERNELS_FUSED_PROGRAMS_H

#include "kernels/fused/fused.h"

/* clang-format off */
#define WICK_PROGRAMS(P) \
    /* Adam: g m 1-b1 v b2 1-b2 . eps . p */ \
    P(adam, 10, A(0) A(1) S(2) A(3) S(4) S(5) S(6) S(7) S(8) A(9), \
      I2(10, sub, 0, 1) I2(11, mul, 10, 2) I2(12, add, 1, 11) \
      I2(13, mul, 3, 4) I1(14, square, 0) I2(15, mul, 14, 5) I2(16, add, 13, 15) \
      I1(17, sqrt, 16) I2(18, mul, 17, 6) I2(19, add, 18, 7) I2(20, div, 12, 19) I2(21, mul, 20, 8) I2(22, sub, 9, 21), \
      O(0, 12) O(1, 16) O(2, 22)) \
    /* SGD with momentum: buffer mu g lr p */ \
    P(momentum, 5, A(0) S(1) A(2) S(3) A(4), \
      I2(5, mul, 0, 1) I2(6, add, 5, 2) I2(7, mul, 6, 3) I2(8, sub, 4, 7), O(0, 6) O(1, 8)) \
    /* SGD: g lr p */ \
    P(sgd, 3, A(0) S(1) A(2), I2(3, mul, 0, 1) I2(4, sub, 2, 3), O(0, 4))
/* clang-format on */

/* in[r], out[i]: f32, n >= 1 elements, or one element for an S. out may be an input of the same elements. */
typedef void (*wick_program_fn)(const float *const *in, float *const *out, size_t n);

#define WICK_PROGRAM_ENUM(name, ...) WICK_PROGRAM_##name,
enum { WICK_PROGRAMS(WICK_PROGRAM_ENUM) WICK_PROGRAM_COUNT };

/* Which one f is, or -1. f is prepared. */
int wick_program_find(const wick_fused *f);
wick_program_fn wick_program_kernel(wick_tier tier, int program);

extern const wick_program_fn wick_program_table_ref[], wick_program_table_base[];
#ifdef __x86_64__
extern const wick_program_fn wick_program_table_avx2[], wick_program_table_avx512[];
#endif

#endif
