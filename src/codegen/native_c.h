/* native_c.h: an elementwise program as C: one loop that compilers make vectors of, for a tier. */
#ifndef WICK_CODEGEN_NATIVE_C_H
#define WICK_CODEGEN_NATIVE_C_H

#include "codegen/text.h"
#include "kernels/fused/native.h"

/* The name of the function, a wick_native_fn. */
#define WICK_NATIVE_C_FUNCTION "wick_native_loop"

/* Flags of the tier, ended by NULL: those that the library's own kernels have, for the same bits. */
const char *const *wick_native_c_flags(wick_tier tier);
/* The program as a C file. false: out of memory; out has failed. */
bool wick_native_c(wick_text *out, const wick_native_program *p);

#endif
