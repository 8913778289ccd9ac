/* math_c.h: the library's own math functions as C that stands alone: the text of the kernels' headers, of which only
 * what is used is printed. So generated code has the bits of the kernels' base tier, whatever the C library's functions
 * give. */
#ifndef WICK_CODEGEN_MATH_C_H
#define WICK_CODEGEN_MATH_C_H

#include "codegen/text.h"

/* Adds the definitions of all functions that `code` names and that the headers define (wick_exp_f32,
 * wick_weight_exp_f32, ...), what they need before them. C11 with math.h, stdint.h and string.h, which the caller
 * includes, as he defines WICK_FMAF(a, b, c) and WICK_FMA(a, b, c), a * b + c of floats and of doubles, in one rounding
 * or two. false: out of memory. */
bool wick_c_math(wick_text *out, const char *code);
/* The same for gcc and clang, with what makes loops over these functions vectors: always inlined, sums of polynomials
 * unrolled. */
bool wick_c_math_gnu(wick_text *out, const char *code);

#endif
