/* ew.h: block kernels of the elementwise rows: contiguous, n elements, one function per row and ctype and tier. */
#ifndef WICK_KERNELS_EW_H
#define WICK_KERNELS_EW_H

#include "kernels/types.h"

/* dst may be exactly one of the inputs if their elements have the same size; otherwise nothing overlaps. Unused
 * inputs are not looked at. */
typedef void (*wick_ew_fn)(void *dst, const void *a, const void *b, const void *c, size_t n);
typedef wick_ew_fn wick_ew_rows[WICK_EW_COUNT][WICK_CTYPE_COUNT]; /* NULL: the row has no such type */

extern const wick_ew_rows wick_ew_table_ref, wick_ew_table_base, wick_ew_table_avx2, wick_ew_table_avx512;
/* The rows of a tier. */
const wick_ew_rows *wick_ew_kernels(wick_tier tier);

/* Tells the compiler that iterations do not depend on each other: a dst that equals an input is then no obstacle. */
#ifdef __clang__
#define WICK_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define WICK_IVDEP _Pragma("GCC ivdep")
#endif

#define WICK_PASTE_(a, b)        a##b
#define WICK_PASTE(a, b)         WICK_PASTE_(a, b)
/* wick_ew_table_avx2, ...: a symbol of the tier that is being compiled */
#define WICK_TIER_SYMBOL(prefix) WICK_PASTE(prefix, WICK_TIER_NAME)

#endif
