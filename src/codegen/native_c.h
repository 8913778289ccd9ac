/* native_c.h: an elementwise program, or one that ends in a reduction, as C: one loop that compilers make vectors of,
 * for a tier. */
#ifndef WICK_CODEGEN_NATIVE_C_H
#define WICK_CODEGEN_NATIVE_C_H

#include "codegen/text.h"
#include "kernels/fused/native.h"

/* The name of the function, a wick_native_fn or wick_native_lines_fn. */
#define WICK_NATIVE_C_FUNCTION "wick_native_loop"
#define WICK_NATIVE_C_UNITS    "wick_native_units" /* of programs with lines, a wick_native_units_fn */

/* Flags of the tier, ended by NULL: those that the library's own kernels have, for the same bits. */
const char *const *wick_native_c_flags(wick_tier tier);
/* Whether a program would only call a kernel that the tier has already. */
bool wick_native_c_is_call(const wick_native_program *p);
/* The program as a C file. false: out of memory; out has failed. */
bool wick_native_c(wick_text *out, const wick_native_program *p);

#endif
