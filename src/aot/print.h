/* print.h: between the file as a whole (aot.c) and its kernels (products.c, convolutions.c, kernels.c ...). */
#ifndef WICK_AOT_PRINT_H
#define WICK_AOT_PRINT_H

#include "aot/aot.h"
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

/* What a function returns 2 for: a label, an index, weights; 3: a number. */
typedef enum wick_c_fault { WICK_C_LABEL = 1, WICK_C_INDEX = 2, WICK_C_NUMBER = 4, WICK_C_WEIGHT = 8 } wick_c_fault;

typedef struct wick_c_printer {
    const wick_c_model *m;
    const wick_c_function *f; /* that is being printed */
    wick_msg *msg;
    wick_arena arena, step; /* step: of the step that is printed, as weights in their order */
    wick_text functions, calls; /* of kernels; of them in order, for f */
    wick_c_uses uses;
    wick_c_constant_array *constants;
    size_t n_constants, cap_constants, const_bytes;
    wick_c_seen *seen; /* functions that are there: equal ones are printed once */
    size_t n_seen, cap_seen;
    unsigned char *faults; /* by function: those that it looks for, bits of wick_c_fault */
    bool broken; /* a step reads what is nowhere */
} wick_c_printer;

wick_status wick_c_refuse(wick_c_printer *p, const wick_step *s, const char *why);
/* Number of a constant with these elements. */
int wick_c_constant(wick_c_printer *p, wick_dtype dtype, const void *data, int64_t count);
/* Adds the function, "(const float *x) { ... }" with its parameters first, unless there is an equal one, and begins its
 * call: "    conv_3(". Frees text. */
void wick_c_kernel(wick_c_printer *p, const char *kind, wick_text *text);
/* The same of a function that returns whether it met a fault; the call is a condition: "    if (check_3(". */
void wick_c_checking_kernel(wick_c_printer *p, const char *kind, wick_text *text, wick_c_fault fault);
/* Adds an argument to the call: the operand, as elements of dtype; or a constant from element `offset` on. */
void wick_c_argument(wick_c_printer *p, const wick_ref *ref, wick_dtype dtype);
void wick_c_constant_at(wick_c_printer *p, int number, int64_t offset);
bool wick_c_is_data(const wick_c_printer *p, const wick_ref *ref);
const void *wick_c_data(const wick_c_printer *p, const wick_ref *ref); /* of such a one, from its element 0 on */

wick_status wick_c_print_copy(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_program(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_gemm(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_sparse(wick_c_printer *p, const wick_step *s); /* of a product whose weights are known */
wick_status wick_c_print_conv(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_pool(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_softmax(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_layer_norm(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_join(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_conv_weight(wick_c_printer *p, const wick_step *s);
/* A gradient of the input by strides; weights are packed with taps in order. Dtypes in memory: of weights, of what is
 * read and written. */
void wick_c_print_strided(wick_text *t, const wick_convolution *c, int64_t lanes, wick_dtype held, wick_dtype from,
                          wick_dtype into);
wick_status wick_c_print_conv_sum(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_pool_gradient(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_cross_entropy(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_one_hot(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_check(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_gather(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_along(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_triangle(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_ravel(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_ranging(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_trees(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_random(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_draw(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_arg(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_scan(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_sort(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_resample(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_recurrent(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_attention(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_int4(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_linear8(wick_c_printer *p, const wick_step *s);
bool wick_c_linear8_shares(const wick_step *s, int ref);
wick_status wick_c_print_integers(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_int8_pack(wick_c_printer *p, const wick_step *s);
wick_status wick_c_print_int8(wick_c_printer *p, const wick_step *s);

/* Scratch of steps, as their rows in the table have it (steps.c). Of convolutions, weights and frames; of what packs
 * for products of 8-bit integers, what isn't known when the code is made; of recurrences, the states of a sample and
 * what its gates are made of. */
size_t wick_c_conv_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa);
size_t wick_c_int8_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa);
size_t wick_c_recurrent_scratch(const wick_step *s, const wick_c_buffer *buffers, wick_c_isa isa);
size_t wick_c_int8_own_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs);
size_t wick_c_attention_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs);
size_t wick_c_draw_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs);
size_t wick_c_trees_scratch(const wick_step *s, const wick_c_buffer *buffers, bool pairs);
/* The ref that packed operands are in, or -1. */
int wick_c_recurrent_packed(const wick_step *s);
int wick_c_int8_packed(const wick_step *s);

/* The dtype to print n constants in: bf16 or f16 where all of them have such values, else `dtype`. Weights of a model
 * in halves do, and those that mixed precision rounds: they stay 2 bytes each. */
wick_dtype wick_c_held_as(wick_dtype dtype, const void *data, int64_t n);
/* The constant of these `count` numbers, f32 that are to be held as `held`; data is changed. Its number, or -1. */
int wick_c_held_constant(wick_c_printer *p, wick_dtype held, void *data, int64_t count);

/* Sums acc[width], and total[width] where chains are cut into blocks, of so many rows at once; what is in acc goes to
 * total. */
void wick_c_print_sums(wick_text *t, int depth, int64_t width, bool blocks, const char *type, int rows);
void wick_c_print_flush(wick_text *t, int depth, int64_t width, const char *condition, int rows);
/* y = act(acc[j] (+ total[j]) + bias), for j < width. to: where row 0 goes; the others `step` elements on each. dtype:
 * of y; a sum is rounded to a narrow bias before that is added. */
void wick_c_print_epilogue(wick_text *t, int depth, int64_t width, bool blocks, const char *bias, wick_dtype of_bias,
                           bool relu, const char *to, wick_dtype dtype, int rows, int64_t step);
/* Rows of a product, of arrays a, b and c but for what `names` calls otherwise: pairs " a[", " state[". held: dtype of
 * b in memory. */
void wick_c_print_rows(wick_text *t, int depth, const wick_step_gemm *m, bool packed, wick_dtype held, int64_t lanes,
                       const char *const (*names)[2], int n_names);
/* Number of the constant that it reads a known B [k, n] as, if packed: panels of `lanes` columns, [panel][k][lanes],
 * the last one narrower. */
int wick_c_packed_columns(wick_c_printer *p, const wick_gemm *g, const char *b, wick_dtype held, int64_t lanes);

/* ---- over vectors, in vectors.c ---------------------------------------------------------------------------------- */

/* Where weights [groups * co, ci, taps] are read, seen from what comes out: elements from one group, output, source and
 * tap to the next, and where the first tap is. The gradient of the input has sources and outputs exchanged, and reads
 * its taps from the last one on. */
typedef struct wick_c_weights {
    int64_t of_group, of_out, of_source, tap, of_tap;
} wick_c_weights;
void wick_c_print_vectors(const wick_c_model *m, wick_text *out); /* types and macros */
/* The function, and the number of its weights. Its parameters: image, weights, bias if there is one, frame if there is
 * one, result. */
int wick_c_print_vector_conv(wick_c_printer *p, const wick_convolution *c, wick_c_weights view, const void *weights,
                             wick_text *t);
wick_status wick_c_print_vector_product(wick_c_printer *p, const wick_step *s); /* of a known B */
/* A copy of the image with zeros around it, where outputs reach beyond. */
bool wick_c_has_frame(const wick_convolution *c);
/* Begins the loops over a pooling's images, results and channels; inside, z0 to z1 and so on are what a window covers,
 * n_all the elements that its mean is of. Returns the depth there, and the steps within a window. */
int wick_c_windows(wick_text *t, int depth, const wick_step_pool *m, bool max, int64_t *steps);
size_t wick_c_frame_bytes(const wick_convolution *c);
/* bytes: the frame, and behind it what Winograd's algorithm transforms */
size_t wick_c_vector_scratch(const wick_convolution *c);
/* Its parameters: image, weights in panels of wick_c_panel outputs, bias if there is one, frame if there is one, what
 * lies behind it, result. */
void wick_c_print_vector_winograd(const wick_c_model *m, const wick_convolution *c, wick_text *t);
int64_t wick_c_panel(const wick_c_model *m, int64_t outputs);

/* ---- pairs of 16 bits, in int8_pairs.c --------------------------------------------------------------------------- */

void wick_c_print_pairs(wick_text *out); /* macros and functions */

/* ---- lines, in lines.c ------------------------------------------------------------------------------------------- */

#define LL(x) ((long long)(x))
/* A line at a depth of braces. */
void wick_c_line(wick_text *t, int depth, const char *fmt, ...) WICK_PRINTF(3, 4);

#endif
