/* expr_c.h: elementwise programs, and reductions that end them, as plain C11: loops over the program's dims, one scalar
 * of each register. The rows of table.h are printed as functions of their own (ew_relu_f32), from the expression that
 * the row has, so that the bits are those of the kernels. */
#ifndef WICK_CODEGEN_EXPR_C_H
#define WICK_CODEGEN_EXPR_C_H

#include "codegen/text.h"
#include "kernels/kernels.h"

/* What printed code calls, gathered while it is printed; wick_c_used prints it. */
typedef struct wick_c_uses {
    bool row[WICK_EW_COUNT][WICK_CTYPE_COUNT];
    bool cast[WICK_CTYPE_COUNT][WICK_CTYPE_COUNT];
} wick_c_uses;

const char *wick_c_type(wick_ctype type);    /* "float" */
const char *wick_c_suffix(wick_ctype type);  /* "f32" */
/* How memory holds an element: "float", "int8_t", of halves "uint16_t"; NULL: in no way that is printed (8 bits of
 * floats, packed elements). */
const char *wick_c_memory(wick_dtype dtype);
/* What makes a float of such an element, and it of a float, where C's own conversion does not: "wick_f16_to_f32",
 * "wick_f16_from_f32" of halves; else "". */
const char *wick_c_load(wick_dtype dtype);
const char *wick_c_store(wick_dtype dtype);

/* A constant of the type: "0.25f", "INFINITY". */
void wick_c_number(wick_text *out, wick_ctype type, double x);

/* What an instruction does, in letters that a name in C has: "add", "cast". */
const char *wick_c_op(const wick_fused_instr *instr);
/* One instruction on scalars: "ew_add_f32(r0, r1)", "(int32_t)r2" and so on; regs are named r<number>. */
void wick_c_instr(wick_text *out, const wick_fused_instr *instr, wick_c_uses *uses);
/* `static void name(const T *x0, ..., T *y0, ...)`: all of a prepared program. Pointers are at the elements of index 0;
 * an output may lie where an input does, if both are walked alike. false: a dtype that is not printed, which *why
 * names; or out of memory: out has failed. */
bool wick_c_program(wick_text *out, const wick_fused *f, const char *name, wick_c_uses *uses, const char **why);
/* The functions that `uses` has, for use behind them: math functions that they call are not among them (math_c.h). */
void wick_c_used(wick_text *out, const wick_c_uses *uses);

#endif
