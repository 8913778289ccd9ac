/* ops.h: what the op families share, and the list of all definitions. */
#ifndef WICK_OPS_INTERNAL_H
#define WICK_OPS_INTERNAL_H

#include "ops/attrs.h"
#include "ops/lowering/lower.h"
#include "wick/loss.h"
#include "wick/ops.h"

/* Definitions by elementwise code; the cast beside them. */
extern const wick_op wick_ew_ops[WICK_EW_COUNT];
extern const wick_op wick_op_cast;

/* Families, in the order that `wick ops` lists them. */
/* clang-format off */
#define WICK_OP_LIST(X) \
    X(reshape) \
    X(permute) \
    X(slice) \
    X(expand) \
    X(diagonal) \
    X(view_scatter) \
    X(sum) \
    X(mean) \
    X(prod) \
    X(max) \
    X(min) \
    X(argmax) \
    X(argmin) \
    X(cumsum) \
    X(cumprod) \
    X(logcumsumexp) \
    X(cummax) \
    X(cummin) \
    X(matmul) \
    X(conv) \
    X(conv_data) \
    X(conv_weight) \
    X(int8_matmul) \
    X(int8_conv) \
    X(quantize) \
    X(dequantize) \
    X(quantize_dynamic) \
    X(int4_linear) \
    X(dequantize_blocks) \
    X(int8_linear) \
    X(max_pool) \
    X(max_pool_pick) \
    X(max_pool_put) \
    X(avg_pool) \
    X(avg_pool_share) \
    X(max_pool_index) \
    X(plane_put) \
    X(plane_take) \
    X(sliding_window) \
    X(window_sum) \
    X(resample) \
    X(resample_back) \
    X(taps) \
    X(taps_put) \
    X(taps_dot) \
    X(roi_align) \
    X(roi_align_put) \
    X(roi_align_max) \
    X(nms) \
    X(softmax) \
    X(log_softmax) \
    X(layer_norm) \
    X(rms_norm) \
    X(gather) \
    X(scatter_add) \
    X(take_along_axis) \
    X(put_along_axis) \
    X(ravel_index) \
    X(nonzero) \
    X(iota) \
    X(one_hot) \
    X(concat) \
    X(update_slice) \
    X(sort) \
    X(topk) \
    X(kthvalue) \
    X(searchsorted) \
    X(equal_runs) \
    X(bincount) \
    X(cholesky) \
    X(lu) \
    X(lu_solve) \
    X(triangular_solve) \
    X(qr) \
    X(eigh) \
    X(svd) \
    X(triangle) \
    X(check_factor) \
    X(fft) \
    X(rfft) \
    X(irfft) \
    X(frames) \
    X(overlap_add) \
    X(rnn) \
    X(lstm) \
    X(gru) \
    X(rnn_grad) \
    X(lstm_grad) \
    X(gru_grad) \
    X(ctc_loss) \
    X(ctc_loss_grad) \
    X(tree_ensemble) \
    X(attention) \
    X(attention_grad) \
    X(random_uniform) \
    X(random_normal) \
    X(random_bits) \
    X(random_truncated) \
    X(random_integers) \
    X(gamma_draw) \
    X(permutation) \
    X(multinomial) \
    X(cross_entropy) \
    X(bit_cast) \
    X(stop_gradient) \
    X(custom_gradient) \
    X(grad) \
    X(tap) \
    X(check_finite) \
    X(fused) \
    X(scan) \
    X(if)
/* clang-format on */
#define WICK_OP_DECLARE(name) extern const wick_op wick_op_##name;
WICK_OP_LIST(WICK_OP_DECLARE)

/* The flops of ops that compute nothing. */
double wick_no_flops(const wick_node *node);
/* One for each element of the first input. */
double wick_flops_per_input(const wick_node *node);
/* Out of memory, or poison. */
static inline bool wick_is_bad(const wick_tensor *x) { return !x || x->error; }

/* Every op, elementwise ones first. */
int wick_ops_count(void);
const wick_op *wick_ops_at(int i);

/* Axis in [0, rank) from one that may count from the end, or -1. */
static inline int wick_axis(int axis, int rank) {
    if (axis < 0) axis += rank;
    return axis >= 0 && axis < rank ? axis : -1;
}
/* The shape that both broadcast to; false when they do not fit. Symbols fit themselves and 1. */
bool wick_broadcast(wick_type *into, const wick_type *with);
/* x itself, or recorded as a cast to dtype; an error for dtypes that are for storage, which only wick_cast leaves. */
wick_tensor *wick_as(wick_tensor *x, wick_dtype dtype);
/* Casts both to their promoted dtype; false: they are poisoned or have none, and *a is the poison to return. */
bool wick_promote_pair(wick_tensor **a, wick_tensor **b, const char *op);
/* losses, one for each place, as the reduction says; op is for errors. */
wick_tensor *wick_reduced(wick_tensor *losses, wick_reduction reduction, const char *op);
/* g summed over the axes that broadcasting added, to the shape of x. */
wick_tensor *wick_sum_to(wick_tensor *g, const wick_type *x);

/* "f32[2,3]", for messages. */
typedef struct wick_shown {
    char text[160];
} wick_shown;
static inline wick_shown wick_shown_of(const wick_tensor *x) {
    wick_shown s = {"?"};
    wick_str str = wick_str_on(s.text, sizeof s.text);
    if (x && x->value) wick_type_print(&str, &x->value->type);
    return s;
}
/* Any integers as i64, which indices are. */
wick_tensor *wick_as_index(wick_tensor *index);
/* wick_update_slice. grows: x is a state whose slices from start on count as empty until somebody says otherwise: they
 * may be written in place, at once. */
wick_tensor *wick_record_update(wick_tensor *x, wick_tensor *values, int axis, wick_tensor *start, bool grows);
/* 0, 1, 2 ... n - 1, of i32 or i64. */
wick_tensor *wick_positions(wick_context *ctx, wick_dtype dtype, int64_t n);
/* The places of tuples index [..., n] in a row-major array. */
wick_tensor *wick_ravel(wick_tensor *index, int n, const int64_t *dims);
/* sum / count; of integers rounded down. */
wick_tensor *wick_mean_of(wick_tensor *sum, wick_tensor *count);
/* For functions whose result's size depends on x: NULL if x has a value, or can have one now; else the poison to
 * return, which names op and what to use in compiled functions. */
wick_tensor *wick_needs_value(wick_tensor *x, const char *op, const char *instead);
/* A leaf of dtype with these values, rounded. */
wick_tensor *wick_from_f64(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, const double *values);

/* Which of the tensors loss depends on through pending ops. None is poisoned. */
wick_status wick_reached(const wick_tensor *loss, int n, wick_tensor *const *wrt, bool *reached);
/* Checks that no value between the loss and the arguments of a recorded grad node has been evaluated since it was
 * recorded. An evaluated value is a leaf, so that gradients would silently lack what is behind it: an error that names
 * the value. Walks the graph, and so overwrites marks and ids of earlier walks, unless nothing was evaluated at all
 * (*walked is false). */
wick_status wick_grad_recheck(wick_context *ctx, const wick_node *grad, bool *walked);

/* matmul: a third input is a bias, a row vector; both are put there by the epilogue pass. */
typedef struct wick_matmul_attr {
    uint64_t relu;
} wick_matmul_attr;
/* Convolutions: lists by dim, zeros before and after; 1 to 3 dims. */
typedef struct wick_conv_attr {
    int64_t stride[3], dilation[3], pad[3], pad_end[3];
    int64_t extent[3]; /* conv_data: of x; conv_weight: of the kernel */
    int64_t groups, rank;
    int64_t relu; /* conv only, put there by the epilogue pass */
} wick_conv_attr;
/* Shapes of a product or a convolution of inputs 0 and 1, whatever their dtypes. */
wick_status wick_infer_product(wick_infer *i, wick_dtype dtype);
wick_status wick_infer_convolution(wick_infer *i, const wick_conv_attr *a, wick_dtype dtype);
/* Attributes for tensors of this rank, or the poison that says what is wrong. */
wick_tensor *wick_conv_attr_of(wick_context *ctx, const char *op, const wick_conv_options *o, int rank,
                               wick_conv_attr *a);

/* A product that wick_lower_sparse chose, of rows that lie at one stride: its steps. refs: A, B, C, and the bias if it
 * has one; there is room for one more. */
wick_status wick_lower_sparse_rows(wick_lower *l, const wick_gemm *rows, wick_ref refs[5]);

/* Products of 8-bit integers: inputs a, b, and those of the others that there are, in this order. */
enum {
    WICK_INT8_A_ZERO,
    WICK_INT8_B_ZERO,
    WICK_INT8_A_SCALE,
    WICK_INT8_B_SCALE,
    WICK_INT8_SCALE,
    WICK_INT8_ZERO,
    WICK_INT8_BIAS,
    WICK_INT8_OPTIONAL
};
typedef struct wick_int8_attr {
    double low, high; /* of results that are quantised, as real numbers */
    int64_t has;      /* bit i: optional input i is there */
    int64_t result;   /* wick_int8_result */
    wick_conv_attr conv;
} wick_int8_attr;
/* Both ways of quantisation. */
typedef struct wick_quantize_attr {
    int64_t axis;  /* of a scale of one dim */
    int64_t dtype; /* quantize: of the result */
} wick_quantize_attr;
/* Weights in blocks: inputs [x,] q, scales, and those of these that there are, in this order. */
enum { WICK_BLOCKS_ZEROS = 1, WICK_BLOCKS_BIAS = 2 };
typedef struct wick_blocks_attr {
    int64_t has; /* of the enum's */
    int64_t k;   /* dequantize_blocks: numbers of a row */
} wick_blocks_attr;
/* What products with such weights have in common (blocks.c): the result's type, once x and the weights are found to
 * fit; the gradients, by the weights in floats. */
typedef wick_tensor *wick_blocks_floats(wick_tensor *q, wick_tensor *scales, wick_tensor *zeros, int64_t k);
wick_status wick_blocks_infer(wick_infer *i);
double wick_blocks_flops(const wick_node *node);
void wick_blocks_grad(wick_gradient *g, wick_blocks_floats *floats);
/* Records op with x widened, and those of zeros and bias that aren't NULL. */
wick_tensor *wick_blocks_linear(const wick_op *op, wick_tensor *x, wick_tensor *q, wick_tensor *scales,
                                wick_tensor *zeros, wick_tensor *bias);
wick_tensor *wick_widened(wick_tensor *x); /* f16 and bf16 as f32 */
/* What a quantize or dequantize node stands for, as elementwise ops of its inputs. */
wick_tensor *wick_quantize_written_out(const wick_node *node, wick_tensor *const *in);

/* Frees the ops that were registered; no node or plan uses them any more. */
void wick_customs_free(wick_context *ctx);

typedef struct wick_custom_attr {
    wick_gradient_rule rule;
    void *user;
} wick_custom_attr;
typedef struct wick_tap_attr {
    wick_tap_fn fn;
    void *user;
} wick_tap_attr;

/* For samples: a number in [lo, hi]. */
static inline int wick_sample_int(wick_sample *s, int lo, int hi) {
    return lo + (int)(s->random() % (uint64_t)(hi - lo + 1));
}
/* Random rank and extents (1..5, sometimes 0). */
void wick_sample_dims(wick_sample *s, wick_type *type, int min_rank, int max_rank);

#endif
