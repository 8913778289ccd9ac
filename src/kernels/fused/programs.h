/* programs.h: whole programs that come up so often that they are compiled ahead: one loop instead of a pass over L1 per
 * instruction. They are built from the same rows in the same order, so the bits are those of the instructions.
 *
 *   P(NAME, number of inputs, inputs, instructions, outputs)
 *     A(r) an input with an element of its own at each place, M(r) such a one of bools; S(r) one that is the same
 *     number everywhere, or for runs of elements
 *     I1(r, row, a) I2(r, row, a, b) I3(r, row, a, b, c) an instruction, C2(r, row, a, b) a comparison; O(i, r) result
 *     i, B(i, r) one of bools
 *
 * All but bools is f32. Numbers of registers are names: a program is found by what it makes, whatever the order of its
 * inputs, instructions and results (programs.c). tests/house/test_programs.c says which programs there are, and writes
 * the table from their plans. */
#ifndef WICK_KERNELS_FUSED_PROGRAMS_H
#define WICK_KERNELS_FUSED_PROGRAMS_H

#include "kernels/fused/fused.h"
#include "kernels/fused/programs_table.h"

/* in[r], out[i]: n >= 1 elements, or one for an S. out may be an input of the same elements. */
typedef void (*wick_program_fn)(const void *const *in, void *const *out, size_t n);

#define WICK_PROGRAM_ONE(...) +1
enum { WICK_PROGRAM_COUNT = 0 WICK_PROGRAMS(WICK_PROGRAM_ONE) };

/* Which one f is, or -1. f is prepared but for whole_in, whole_out and reordered, which are 0 and which this sets. */
int wick_program_find(wick_fused *f);
wick_program_fn wick_program_kernel(wick_tier tier, int program);

extern const wick_program_fn wick_program_table_ref[], wick_program_table_base[], wick_program_table_avx2[],
    wick_program_table_avx512[];

#endif
