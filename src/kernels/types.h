/* types.h: what the contracts of all families share: the types that kernels compute in, names of elementwise rows
 * and of reductions, and how a family tells which ways it did not take. */
#ifndef WICK_KERNELS_TYPES_H
#define WICK_KERNELS_TYPES_H

#include "base/base.h"
#include "kernels/elementwise/table.h"

/* The types kernels compute in. */
typedef enum wick_ctype {
    WICK_CF32,
    WICK_CF64,
    WICK_CI32,
    WICK_CI64,
    WICK_CU64,
    WICK_CBOOL,
    WICK_CTYPE_COUNT
} wick_ctype;
/* f16, bf16, f8 -> f32; i8 i16 u8 u16, packed ones -> i32; u32 -> u64; the rest are their own. Bool registers hold
 * bytes 0 or 1. */
wick_ctype wick_ctype_of(wick_dtype dtype);
size_t wick_ctype_size(wick_ctype type);
/* One step of what is computed in type: CF64, or CF32 by rounding the step's double. */
static inline double wick_rounded_to(wick_ctype type, double v) { return type == WICK_CF64 ? v : (double)(float)v; }

#define WICK_EW_ENUM(name, ...) WICK_EW_##name,
typedef enum wick_ew { WICK_EW_TABLE(WICK_EW_ENUM) WICK_EW_COUNT } wick_ew;

typedef enum wick_red { WICK_RED_SUM, WICK_RED_PROD, WICK_RED_MAX, WICK_RED_MIN, WICK_RED_COUNT } wick_red;

/* Whether row `op` exists for inputs of type t (for where: type of b and c). */
bool wick_ew_has(wick_ew op, wick_ctype t);

/* A way to compute that there is and that was not taken, and the reason. Texts are constants. */
typedef struct wick_rejected {
    const char *kernel, *why;
} wick_rejected;
enum { WICK_REJECTED = 8 }; /* the most of one step */

#endif
