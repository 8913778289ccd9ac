/* aot_print.h: between the file as a whole (aot.c) and its kernels (aot_kernels.c). */
#ifndef WICK_CODEGEN_AOT_PRINT_H
#define WICK_CODEGEN_AOT_PRINT_H

#include "codegen/aot.h"
#include "codegen/expr_c.h"

typedef struct wick_c_constant_array {
    wick_dtype dtype;
    int64_t count;
    const void *data;
    size_t at; /* in the file of weights */
} wick_c_constant_array;
typedef struct wick_c_seen {
    const char *kind, *text;
} wick_c_seen;

typedef struct wick_c_printer {
    const wick_c_model *m;
    const wick_c_function *f; /* that is being printed */
    wick_msg *msg;
    wick_arena arena;
    wick_text functions, calls; /* of kernels; of them in order, for f */
    wick_c_uses uses;
    wick_c_constant_array *constants;
    size_t n_constants, cap_constants, const_bytes;
    wick_c_seen *seen; /* functions that are there: equal ones are printed once */
    size_t n_seen, cap_seen;
    bool broken; /* a step reads what is nowhere */
} wick_c_printer;

wick_status wick_c_refuse(wick_c_printer *p, const wick_step *s, const char *why);
/* Number of a constant with these elements. */
int wick_c_constant(wick_c_printer *p, wick_dtype dtype, const void *data, int64_t count);
/* Adds the function, "(const float *x) { ... }" with its parameters first, unless there is an equal one, and begins its call: "    conv_3(". Frees text. */
void wick_c_kernel(wick_c_printer *p, const char *kind, wick_text *text);
/* The same of a function that returns whether it met a fault; the call is a condition: "    if (check_3(". */
void wick_c_checking_kernel(wick_c_printer *p, const char *kind, wick_text *text);
/* Adds an argument to the call: the operand, as elements of dtype; or a constant from element `offset` on. */
void wick_c_argument(wick_c_printer *p, const wick_ref *ref, wick_dtype dtype);
void wick_c_constant_at(wick_c_printer *p, int number, int64_t offset);
bool wick_c_is_data(const wick_c_printer *p, const wick_ref *ref);
const void *wick_c_data(const wick_c_printer *p, const wick_ref *ref); /* of such a one, from its element 0 on */

wick_status wick_c_print_copy(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_program(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_gemm(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_conv(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_pool(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_softmax(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_layer_norm(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_join(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_conv_weight(wick_c_printer *p, const wick_step *s);
void wick_c_print_strided(wick_text *t, const wick_convolution *c, int64_t lanes); /* a gradient of the input by strides; weights are packed with taps in order */
wick_status wick_c_print_conv_sum(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_pool_gradient(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_cross_entropy(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_one_hot(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_check(wick_c_printer *p, const wick_step *s);

/* ---- lines, in aot_lines.c ---- */

#define LL(x) ((long long)(x))
/* A line at a depth of braces. */
void wick_c_line(wick_text *t, int depth, const char *fmt, ...) WICK_PRINTF(3, 4);

#endif
