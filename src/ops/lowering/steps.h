/* steps.h: what steps compute, for those who do it otherwise than by running them: printers of C. A step of a kind has
 * the arguments given here, and its refs in the order given; a step of no kind says nothing of itself. */
#ifndef WICK_OPS_STEPS_H
#define WICK_OPS_STEPS_H

#include "kernels/attention/run.h"
#include "ops/attrs.h"
#include "ops/lowering/lower.h"

/* COPY: wick_copy; source, destination.
 * PROGRAM: wick_step_program; inputs, results, and with partials these. PROGRAM_END is its second stage, and has no
 * result that the first one's arguments don't say. */

typedef struct wick_step_program {
    wick_fused fused; /* prepared */
    const struct wick_native *native; /* or NULL: none will be there */
} wick_step_program;

/* CHANNEL_LOOP: programs of one channel of images each, run one after the other for each channel
 * (exec/rewrite/channel_loop.c). */
enum { WICK_CHANNEL_LOOP_PARTS = 12 };
typedef struct wick_channel_loop_part {
    wick_fused fused;
    int n_refs, ref[2 * WICK_FUSED_MAX_IO]; /* numbers among the step's refs */
    int64_t step[2 * WICK_FUSED_MAX_IO];    /* bytes from a channel to the next */
    bool full[2 * WICK_FUSED_MAX_IO];       /* there is more than a number of each */
} wick_channel_loop_part;
typedef struct wick_channel_loop {
    int64_t channels;
    size_t head;                /* its step */
    int n, runs, full, n_refs;  /* parts, as many as may join, and those that run in it; those over images; refs */
    wick_ref refs[WICK_STEP_BUFFERS];
    wick_channel_loop_part part[WICK_CHANNEL_LOOP_PARTS];
} wick_channel_loop;

/* A program that a GEMM or CONV runs on what each task has made, while it is in cache (exec/rewrite/epilogue.c). As
 * lowered there is none: it is a step of its own. */
typedef struct wick_epilogue {
    const wick_step_program *program; /* NULL: none */
    int refs;                         /* the number of its first ref among the step's */
    size_t scratch;                   /* where its own begins */
} wick_epilogue;
/* Rows of n elements of what the step writes: wick_fused_run_rows. */
void wick_epilogue_run(const wick_epilogue *e, int64_t at, int64_t rows, int64_t row_step, int64_t n, void *const *ptr,
                       void *scratch);

/* GEMM: A, B, C, packed B if there are tasks_pack, bias if .bias; also of MIRROR, which copies half of C. */
typedef struct wick_step_gemm {
    wick_gemm gemm;
    int batch_rank;
    int64_t batch[WICK_MAX_DIMS], a[WICK_MAX_DIMS], b[WICK_MAX_DIMS]; /* byte strides of leading dims */
    int64_t c;                                                       /* bytes of one product */
    int64_t packed;                                                  /* bytes of one packed B, 0 when all share one */
    int bias;                                                        /* its number among the refs, or 0 */
    wick_epilogue epilogue;
} wick_step_gemm;

/* INTEGERS: A, B, C, of 32 or 64 bits, whose sums wrap; rows of B are contiguous. */
typedef struct wick_step_integers {
    wick_ctype type;
    int64_t m, n, k, a_row, a_col, rows, per_product; /* rows of a task, tasks of a product */
    wick_step_gemm at; /* its batch */
} wick_step_integers;

/* CONV: the stage that computes. Weights are among its refs as they were given. A gradient of weights leaves its parts
 * in what the stages share, [chunk][group][tap][ci][co], depthwise [chunk][tap][group]; CONV_SUM, with the same
 * arguments, adds them up. */
enum {
    WICK_STEP_CONV_A,
    WICK_STEP_CONV_B,
    WICK_STEP_CONV_BIAS,
    WICK_STEP_CONV_DST,
    WICK_STEP_CONV_SHARED,
    WICK_STEP_CONV_REFS
};
typedef struct wick_step_conv {
    wick_convolution conv;
    int at[WICK_STEP_CONV_REFS]; /* numbers among the step's refs, from 1; 0: it has none */
    wick_epilogue epilogue;
} wick_step_conv;

/* MAX_POOL, MEAN_POOL: x, y. MAX_POOL_PUT: x, y, v; MEAN_POOL_SHARE: y, v. Of `planes` planes, or images with channels
 * last. */
typedef struct wick_step_pool {
    wick_windows windows;
    int64_t planes, per_task;
} wick_step_pool;

/* SOFTMAX: x, y; rows are contiguous. */
typedef struct wick_step_softmax {
    wick_ctype type;
    bool log, nontemporal;
    int64_t rows, cols, per_task;
} wick_step_softmax;

/* LAYER_NORM: x, weight and bias if n_in says so, then y, mean if centred, rstd; rows are contiguous. */
typedef struct wick_step_layer_norm {
    wick_ctype type;
    int n_in;
    bool centred, nontemporal;
    int64_t rows, cols, per_task;
    double eps;
} wick_step_layer_norm;

/* CROSS_ENTROPY: logits, labels, weights by class if it is weighted, losses, probabilities; i64 labels. Other: it has
 * weights, smoothing or an ignored label, which change both. */
typedef struct wick_step_cross_entropy {
    wick_ctype type;
    bool other, weighted, ignores;
    double smoothing;
    int64_t ignored; /* label */
    int64_t rows, cols, per_task;
} wick_step_cross_entropy;

/* ONE_HOT: i64 indices, rows. */
typedef struct wick_step_one_hot {
    int64_t count, classes;
    size_t elem;
    uint64_t one; /* an element */
} wick_step_one_hot;

/* CHECK: x, whose elements are to be finite. */
typedef struct wick_step_check {
    bool is_f64;
    int64_t count;
} wick_step_check;

/* JOIN: parts, then the result; all of one dtype. */
typedef struct wick_step_join {
    wick_join join;
    int64_t per_task; /* rows */
} wick_step_join;

/* GATHER: x [outer, n, inner], i64 indices, the result [outer, count, inner]. */
typedef struct wick_step_gather {
    size_t elem;
    int64_t outer, n, inner, count;
    int64_t block, blocks; /* of the index, a task each; of one block: */
    int64_t per_task;      /* rows of outer */
    bool nontemporal;
} wick_step_gather;

/* TRIANGLE: x, y, `rows` rows of matrices [m, n]. */
typedef struct wick_step_triangle {
    triangle_attr attr;
    int64_t m, n, rows, per_task;
    size_t elem;
} wick_step_triangle;

/* RESAMPLE: x, y. */
typedef struct wick_step_resample {
    wick_resample table;
    int64_t rows, per_task;
} wick_step_resample;

/* RECURRENT: what `field` says of each, as places in wick_recurrent_data. */
enum { WICK_STEP_RECURRENT_REFS = 20 };
typedef struct wick_step_recurrent {
    wick_recurrent r;
    int n;
    size_t field[WICK_STEP_RECURRENT_REFS];
} wick_step_recurrent;

/* ATTENTION: the stage of what `at` says. */
enum {
    WICK_ATTENTION_Q,
    WICK_ATTENTION_K,
    WICK_ATTENTION_V,
    WICK_ATTENTION_MASK,
    WICK_ATTENTION_SEED,
    WICK_ATTENTION_Y,
    WICK_ATTENTION_LSE,
    WICK_ATTENTION_GY,
    WICK_ATTENTION_DELTA,
    WICK_ATTENTION_GQ,
    WICK_ATTENTION_GK,
    WICK_ATTENTION_GV,
    WICK_ATTENTION_PARTS,
    WICK_ATTENTION_REFS
};
typedef struct wick_step_attention {
    wick_attention_job a;
    int at[WICK_ATTENTION_REFS]; /* numbers among the step's refs, as in wick_attention_memory; -1: none */
    int stage;
} wick_step_attention;

/* INT4: C, x, q, scales, then zeros and bias where there are any. */
typedef struct wick_step_int4 {
    wick_int4 product;
    int64_t rows;    /* dequantize_blocks: of a task */
    int zeros, bias; /* numbers of refs; 0: none */
} wick_step_int4;

/* LINEAR8: C, x, what a PACK step made, and what it made that from: q, scales, then zeros where there are any; bias
 * likewise. */
enum { WICK_STEP_LINEAR8_Q = 3 }; /* the ref of q */
typedef struct wick_step_linear8 {
    wick_linear8 product;
    int zeros, bias; /* numbers of refs; 0: none */
} wick_step_linear8;

/* RANDOM: two u64, the stream and the offset, then the result. */
typedef struct wick_step_random {
    wick_ctype type;
    bool normal, bits; /* neither: uniform */
    uint64_t seed;
    int64_t count, per_task;
} wick_step_random;

/* DRAW: what the ops of draws.c take and give; multinomial: weights, uniform f64, i64 places. */
typedef struct wick_step_draw {
    wick_ctype type;
    draw_attr attr;
    int64_t items, per_task, n; /* elements, or rows of permutations and multinomial; n: weights a row */
} wick_step_draw;

/* ARG: x [outer, n, inner], i64 places [outer, inner] of the largest or smallest; the first of equals. */
typedef struct wick_step_arg {
    wick_ctype type;
    bool largest;
    int64_t n, inner, outer, per_task; /* rows of a task */
} wick_step_arg;

/* SCAN, its last stage: x, y, i64 places if it has those, then what stages share, if there are several. */
typedef struct wick_step_scan {
    wick_scan scan;
    int stage;
    bool index;
} wick_step_scan;

/* SORT, its last stage: x [rows, n], the first k of each row, their i64 places, then what stages share. */
typedef struct wick_step_sort {
    wick_sorting sort;
    int stage;
} wick_step_sort;

/* ALONG: wick_along; data, i64 index, what is read or written there. The rank, axis, n, dim, how and reads of `a` are
 * set; the rest follows from the operands. */
wick_status wick_lower_along(wick_lower *l, wick_along *a, const char *name, double flops, const wick_operand *data,
                             const wick_operand *index, const wick_operand *other);

/* RAVEL: i64 tuples [count, n], places of an array of these dims [count]. */
typedef struct wick_step_ravel {
    int n;
    int64_t dims[WICK_MAX_DIMS], count;
} wick_step_ravel;

/* RANGING, its last stage: x, q, scale, zero, then what stages share, if there are two. */
typedef struct wick_step_ranging {
    wick_ranging ranging;
    int stage;
} wick_step_ranging;

/* TREES: wick_forest; x, nodes, splits, roots, targets, weights, the result. */

/* INT8_PACK, INT8: what lays out B and what stands beside it, and the product or convolution, with the same arguments
 * but for `at`; without a packed B (a few rows, few tasks) the second has all. */
enum {
    WICK_INT8_AT_A,
    WICK_INT8_AT_B,
    WICK_INT8_AT_A_ZERO,
    WICK_INT8_AT_B_ZERO,
    WICK_INT8_AT_A_SCALE,
    WICK_INT8_AT_B_SCALE,
    WICK_INT8_AT_SCALE,
    WICK_INT8_AT_ZERO,
    WICK_INT8_AT_BIAS,
    WICK_INT8_AT_C,
    WICK_INT8_AT_PACKED,
    WICK_INT8_REFS
};
typedef struct wick_step_int8 {
    wick_int8 product;
    int at[WICK_INT8_REFS]; /* numbers among the step's refs, from 1; 0: not there */
    int batch_rank;              /* matrices: leading dims, and byte strides of both sides along them */
    int64_t batch[WICK_MAX_DIMS], a[WICK_MAX_DIMS], b[WICK_MAX_DIMS];
    int64_t a_bytes, c_bytes; /* convolutions: of an image; of the result of one product */
} wick_step_int8;

#endif
