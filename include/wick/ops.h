/* wick/ops.h: what can be recorded. Every op checks its arguments and infers shape and dtype at once; errors name the
 * op, the shapes and the caller's line. Axes may be negative. Broadcasting is NumPy's. dtypes that differ are promoted:
 * to the wider of a kind, integers with floats to the float, signed with unsigned to a signed type that holds both (u64
 * with signed is an error). The elementwise ops are in wick/elementwise.h, generated from their table. */
#ifndef WICK_OPS_H
#define WICK_OPS_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "n, axes": wick_sum(x, WICK_AXES(0, 2), false). WICK_ALL_AXES reduces everything. C only. */
#define WICK_AXES(...) (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)), (const int[]) { __VA_ARGS__ }
#define WICK_ALL_AXES 0, NULL

/* ---- views: no data moves ---------------------------------------------------------------------------------------- */
/* One extent may be -1: what remains. Copies only when the strides of x leave no other way. */
WICK_API wick_tensor *wick_reshape(wick_tensor *x, int rank, const int64_t *dims);
WICK_API wick_tensor *wick_flatten(wick_tensor *x, int first_axis); /* axes first_axis.. become one */
WICK_API wick_tensor *wick_permute(wick_tensor *x, int rank, const int *axes);
WICK_API wick_tensor *wick_transpose(wick_tensor *x, int a, int b);
/* Python's x[start:stop:step] on one axis; step != 0, may be negative; start and stop clamp and may be negative.
 * INT64_MAX / INT64_MIN as stop mean "to the end" for positive / negative steps. */
WICK_API wick_tensor *wick_slice(wick_tensor *x, int axis, int64_t start, int64_t stop, int64_t step);
WICK_API wick_tensor *wick_expand(wick_tensor *x, int rank, const int64_t *dims); /* as broadcasting x to dims */
WICK_API wick_tensor *wick_squeeze(wick_tensor *x, int axis);
WICK_API wick_tensor *wick_unsqueeze(wick_tensor *x, int axis);
/* The same bits as another dtype of that size (not bool); without a gradient. NumPy's view(dtype), ONNX's BitCast. */
WICK_API wick_tensor *wick_bit_cast(wick_tensor *x, wick_dtype dtype);
/* Diagonal of axes a and b, which move to a last axis; offset > 0 above, < 0 below. */
WICK_API wick_tensor *wick_diagonal(wick_tensor *x, int64_t offset, int a, int b);

/* ---- reductions -------------------------------------------------------------------------------------------------- */
WICK_API wick_tensor *wick_sum(wick_tensor *x, int n, const int *axes, bool keepdims);
WICK_API wick_tensor *wick_mean(wick_tensor *x, int n, const int *axes, bool keepdims); /* float types */
WICK_API wick_tensor *wick_prod(wick_tensor *x, int n, const int *axes, bool keepdims);
WICK_API wick_tensor *wick_max(wick_tensor *x, int n, const int *axes, bool keepdims); /* NaN if any is */
WICK_API wick_tensor *wick_min(wick_tensor *x, int n, const int *axes, bool keepdims);
/* mean((x - mean(x))^2) * N / max(N - correction, 0): NaN or Inf where nothing is left to divide by. */
WICK_API wick_tensor *wick_var(wick_tensor *x, int n, const int *axes, double correction, bool keepdims);
/* i64; the first of equals; NaN counts as largest */
WICK_API wick_tensor *wick_argmax(wick_tensor *x, int axis, bool keepdims);
WICK_API wick_tensor *wick_argmin(wick_tensor *x, int axis, bool keepdims);

/* ---- products ---------------------------------------------------------------------------------------------------- */
/* [..., m, k] x [..., k, n] -> [..., m, n]; leading dims broadcast. A 1-d a is a row, a 1-d b a column, as NumPy's
 * matmul. */
WICK_API wick_tensor *wick_matmul(wick_tensor *a, wick_tensor *b);
/* x [..., in] times w [out, in] transposed, plus b [out] (or NULL). */
WICK_API wick_tensor *wick_linear(wick_tensor *x, wick_tensor *w, wick_tensor *b);

/* ---- convolutions ------------------------------------------------------------------------------------------------ */
typedef struct wick_conv_options {
    int64_t stride[3], dilation[3]; /* by dim, outermost first; 0: 1; strides up to 1024 */
    int64_t pad[3];                 /* zeros before and after */
    int64_t pad_end[3];             /* and so many more after; may be negative, down to -pad */
    int64_t output_pad[3];          /* transposed: extent added to the output, below stride */
    int64_t groups;                 /* 0: 1 */
} wick_conv_options;
/* y[n, o, p] = bias[o] + sum over c, k of x[n, c, p * stride + k * dilation - pad] w[o, c, k]: a correlation, as
 * everywhere in the field. x [N, C, dims], w [O, C / groups, kernel], y [N, O, (dims + padding - dilation * (kernel -
 * 1) - 1) / stride + 1]; 1 to 3 dims, floats. Group g of output channels sees group g of input channels. bias [O] or
 * NULL; options NULL: all defaults. */
WICK_API wick_tensor *wick_conv(wick_tensor *x, wick_tensor *w, wick_tensor *bias, const wick_conv_options *options);
/* The gradient of wick_conv with respect to its input, as an op: x [N, C, dims], w [C, O / groups, kernel], y [N, O,
 * (dims - 1) * stride - padding + dilation * (kernel - 1) + output_pad + 1]. */
WICK_API wick_tensor *wick_conv_transpose(wick_tensor *x, wick_tensor *w, wick_tensor *bias,
                                          const wick_conv_options *options);

/* ---- pooling over the last 1 to 3 dims of [N, C, dims] ----------------------------------------------------------- */
typedef struct wick_pool_options {
    int64_t kernel[3];   /* by dim, outermost first */
    int64_t stride[3];   /* 0: the kernel */
    int64_t dilation[3]; /* 0: 1; max only */
    int64_t pad[3];      /* on both sides, at most half the kernel; never the largest */
    int64_t pad_end[3];  /* added to pad at the end, as TensorFlow's SAME needs; may be below 0. Both together are less
                            than a window */
    bool ceil_mode;      /* a last window may hang over the end */
    bool exclude_pad;    /* averages are over what exists; otherwise padding counts as zeros */
} wick_pool_options;
/* NaN if any is; gradient to the first largest. Floats, and integers of up to 32 bits */
WICK_API wick_tensor *wick_max_pool(wick_tensor *x, const wick_pool_options *options);
WICK_API wick_tensor *wick_avg_pool(wick_tensor *x, const wick_pool_options *options);
/* To `out` extents (NULL: 1 each, global pooling): output o of a dim is over inputs [floor(o in / out), ceil((o + 1) in
 * / out)). */
WICK_API wick_tensor *wick_adaptive_max_pool(wick_tensor *x, const int64_t *out);
WICK_API wick_tensor *wick_adaptive_avg_pool(wick_tensor *x, const int64_t *out);

/* ---- images ------------------------------------------------------------------------------------------------------ */
/* The axes backwards; WICK_ALL_AXES: all. A view. */
WICK_API wick_tensor *wick_flip(wick_tensor *x, int n, const int *axes);
/* before[i] and after[i] times `value` around axis i; below 0 so many elements are cut off instead. Counts for every
 * axis; after NULL: as before: wick_pad(x, WICK_DIMS(0, 0, 1, 1), NULL, 0). value is converted as by wick_cast. */
WICK_API wick_tensor *wick_pad(wick_tensor *x, int rank, const int64_t *before, const int64_t *after, double value);

/* ---- normalisation ----------------------------------------------------------------------------------------------- */
WICK_API wick_tensor *wick_softmax(wick_tensor *x, int axis);
WICK_API wick_tensor *wick_log_softmax(wick_tensor *x, int axis);
/* Over the last axis; weight and bias [d] or NULL. */
WICK_API wick_tensor *wick_layer_norm(wick_tensor *x, wick_tensor *weight, wick_tensor *bias, double eps);
/* (x - mean) / sqrt(var + eps) * weight + bias over axis 1 of [N, C, ...]; all vectors are [C]; weight, bias may be
 * NULL. */
WICK_API wick_tensor *wick_batch_norm(wick_tensor *x, wick_tensor *mean, wick_tensor *var, wick_tensor *weight,
                                      wick_tensor *bias, double eps);

/* x / sqrt(mean(x^2) + eps) * weight over the last axis (Zhang, Sennrich 2019); weight [d] or NULL. */
WICK_API wick_tensor *wick_rms_norm(wick_tensor *x, wick_tensor *weight, double eps);
/* The channels of x [N, C, ...] in groups of neighbours, each normalised with all its places as layer norm does (Wu, He
 * 2018); weight and bias [C] or NULL. Floats; half types are computed in f32 and rounded once, as are those below. */
WICK_API wick_tensor *wick_group_norm(wick_tensor *x, int64_t groups, wick_tensor *weight, wick_tensor *bias,
                                      double eps);
/* Every channel of x [N, C, dims] on its own, without running statistics (Ulyanov et al. 2016). */
WICK_API wick_tensor *wick_instance_norm(wick_tensor *x, wick_tensor *weight, wick_tensor *bias, double eps);
/* x (k + alpha / size * sum of x^2 over `size` neighbouring channels)^-beta over axis 1 of [N, C, dims]: size / 2 of
 * them before, (size - 1) / 2 after; those that do not exist are 0 (Krizhevsky et al. 2012; alpha as PyTorch's and
 * ONNX's). */
WICK_API wick_tensor *wick_local_response_norm(wick_tensor *x, int64_t size, double alpha, double beta, double k);
/* x / max(norm, eps), norms of order p > 0 (INFINITY: the largest magnitude) along the axis. The gradient of a norm of
 * 0 is 0. */
WICK_API wick_tensor *wick_normalize(wick_tensor *x, double p, int axis, double eps);

/* ---- indexing, joining, converting ------------------------------------------------------------------------------- */
/* NumPy's take: x.dims[:axis] + index.dims + x.dims[axis+1:]. Integer index, negative from the end; one outside is a
 * run-time error (WICK_ERR_INDEX). */
WICK_API wick_tensor *wick_gather(wick_tensor *x, int axis, wick_tensor *index);
/* base with src added at the places that wick_gather(base, axis, index) reads; repeated indices add up, in order. */
WICK_API wick_tensor *wick_scatter_add(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src);
/* index.dims + [classes]; an index outside [0, classes) gives a row of zeros. */
WICK_API wick_tensor *wick_one_hot(wick_tensor *index, int64_t classes, wick_dtype dtype);
/* One dtype, and the same extents on the other axes. */
WICK_API wick_tensor *wick_concat(int n, wick_tensor *const *xs, int axis);
/* Float to integer truncates toward zero and saturates, NaN gives 0; integer to narrower integer wraps; to bool is x !=
 * 0. To a narrower float, f8 too, rounds to nearest even; what is then too large becomes Inf, or NaN where the dtype
 * has no Inf. (ONNX Cast with saturate = 0, ml_dtypes; PyTorch 2.13 too, but that its e4m3fn saturates.) f8 is reached
 * through f32, and from it too. */
WICK_API wick_tensor *wick_cast(wick_tensor *x, wick_dtype dtype);
/* As wick_cast, but what dtype cannot hold, Inf included, becomes the nearest that it can: its largest or smallest
 * finite number. NaN stays NaN, or becomes 0 in integers. To f8 this is ONNX Cast as it is by default (saturate = 1).
 */
WICK_API wick_tensor *wick_cast_saturate(wick_tensor *x, wick_dtype dtype);

/* ---- random ------------------------------------------------------------------------------------------------------ */
/* [0, 1); floats */
WICK_API wick_tensor *wick_random_uniform(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims);
WICK_API wick_tensor *wick_random_normal(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims);
WICK_API wick_tensor *wick_random_bits(wick_context *ctx, int rank, const int64_t *dims); /* u64: 64 random bits each */
/* 1 with the chance p, else 0, in p's shape and float dtype; p <= 0 never, p >= 1 always, NaN never. No gradient flows
 * to p. */
WICK_API wick_tensor *wick_random_bernoulli(wick_tensor *p);
/* -log(1 - u) / rate of uniform u: density rate exp(-rate x). Floats. */
WICK_API wick_tensor *wick_random_exponential(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims,
                                              double rate);
/* The part of a normal distribution that lies in [low, high], also far out in a tail; either may be infinite. Floats.
 */
WICK_API wick_tensor *wick_random_truncated_normal(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims,
                                                   double mean, double deviation, double low, double high);
/* Whole numbers from low to high - 1, alike but for a bias of (high - low) / 2^64; any dtype, as wick_cast converts
 * i64. */
WICK_API wick_tensor *wick_random_integers(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims,
                                           int64_t low, int64_t high);
/* Gamma numbers of shape alpha > 0 and scale 1, in alpha's shape and float dtype (Marsaglia, Tsang 2000). alpha = 0
 * gives 0, below it NaN. The gradient is the implicit one (Figurnov and others 2018): how a number at its place of the
 * distribution moves with alpha. */
WICK_API wick_tensor *wick_random_gamma(wick_tensor *alpha);
WICK_API wick_tensor *wick_random_permutation(wick_context *ctx, int64_t n); /* i64 [n]: 0 to n - 1 in a random order */
/* the slices of x along the axis in a random order */
WICK_API wick_tensor *wick_random_shuffle(wick_tensor *x, int axis);
/* Of weights [..., C] that need not sum to 1, `count` places a row: i64 [..., count]. With replacement, or none twice
 * and in the order in which one after the other would be drawn. A weight below 0, NaN or Inf, or too few above 0, is a
 * run-time error (WICK_ERR_INVALID). */
WICK_API wick_tensor *wick_multinomial(wick_tensor *weights, int64_t count, bool replacement);
/* One place a row with the chances softmax(logits): i64 [...] of [..., C], the largest of logits + Gumbel noise. */
WICK_API wick_tensor *wick_random_categorical(wick_tensor *logits);
/* Zero with probability p, else x / (1 - p). */
WICK_API wick_tensor *wick_dropout(wick_tensor *x, double p);
/* The same for whole channels of x [N, C, ...]: PyTorch's Dropout1d, 2d and 3d. */
WICK_API wick_tensor *wick_dropout_channels(wick_tensor *x, double p);
/* Where dropped SELU's least value, then scaled and moved so that mean 0 and variance 1 stay (Klambauer et al. 2017).
 */
WICK_API wick_tensor *wick_alpha_dropout(wick_tensor *x, double p);
/* softmax((logits + Gumbel noise) / temperature) along the axis (Jang et al. 2017); hard: 1 at its largest and 0
 * elsewhere, with the gradient of the soft one. */
WICK_API wick_tensor *wick_gumbel_softmax(wick_tensor *logits, double temperature, bool hard, int axis);

/* ---- gradients --------------------------------------------------------------------------------------------------- */
/* out[i] = d loss / d wrt[i], for a float 0-d loss. wrt may be any tensors the loss depends on through nodes that are
 * still pending; one that it does not depend on is an error, as is passing through a value that was already evaluated,
 * or is before the gradient: ask for both in one wick_eval, or for the gradient first. The gradient is one node,
 * expanded when a plan is made; take gradients of it freely. On error every out[i] is poisoned. */
WICK_API void wick_grad(wick_tensor *loss, int n, wick_tensor *const *wrt, wick_tensor **out);
WICK_API wick_tensor *wick_stop_gradient(wick_tensor *x);
/* y as it is, with a gradient of your own. The rule gets the gradient g of y, and fills the gradients gx of xs (of
 * their shapes; NULL is zero), built from ops over g, xs and y as it is given them: it runs when a plan is made, in
 * another graph than the recording. xs are the only tensors that gradients flow to. */
typedef void (*wick_gradient_rule)(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs,
                                   wick_tensor **gx);
WICK_API wick_tensor *wick_custom_gradient(wick_tensor *y, int n, wick_tensor *const *xs, wick_gradient_rule rule,
                                           void *user);

/* ---- effects ----------------------------------------------------------------------------------------------------- */
/* Calls fn with the value of x (contiguous) each time the plan passes there, without changing the plan's results. */
typedef void (*wick_tap_fn)(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data);
WICK_API WICK_MUST_CHECK wick_status wick_tap(wick_tensor *x, wick_tap_fn fn, void *user);
/* A run that meets NaN or Inf in x fails with WICK_ERR_NOT_FINITE and commits no assignment. */
WICK_API WICK_MUST_CHECK wick_status wick_check_finite(wick_tensor *x);

#ifdef __cplusplus
}
#endif

#include "wick/elementwise.h"
#include "wick/loss.h"

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_reshape(...) WICK_TENSOR_HERE(wick_reshape(__VA_ARGS__))
#define wick_flatten(...) WICK_TENSOR_HERE(wick_flatten(__VA_ARGS__))
#define wick_permute(...) WICK_TENSOR_HERE(wick_permute(__VA_ARGS__))
#define wick_transpose(...) WICK_TENSOR_HERE(wick_transpose(__VA_ARGS__))
#define wick_slice(...) WICK_TENSOR_HERE(wick_slice(__VA_ARGS__))
#define wick_expand(...) WICK_TENSOR_HERE(wick_expand(__VA_ARGS__))
#define wick_squeeze(...) WICK_TENSOR_HERE(wick_squeeze(__VA_ARGS__))
#define wick_unsqueeze(...) WICK_TENSOR_HERE(wick_unsqueeze(__VA_ARGS__))
#define wick_bit_cast(...) WICK_TENSOR_HERE(wick_bit_cast(__VA_ARGS__))
#define wick_diagonal(...) WICK_TENSOR_HERE(wick_diagonal(__VA_ARGS__))
#define wick_sum(...) WICK_TENSOR_HERE(wick_sum(__VA_ARGS__))
#define wick_mean(...) WICK_TENSOR_HERE(wick_mean(__VA_ARGS__))
#define wick_prod(...) WICK_TENSOR_HERE(wick_prod(__VA_ARGS__))
#define wick_max(...) WICK_TENSOR_HERE(wick_max(__VA_ARGS__))
#define wick_min(...) WICK_TENSOR_HERE(wick_min(__VA_ARGS__))
#define wick_var(...) WICK_TENSOR_HERE(wick_var(__VA_ARGS__))
#define wick_argmax(...) WICK_TENSOR_HERE(wick_argmax(__VA_ARGS__))
#define wick_argmin(...) WICK_TENSOR_HERE(wick_argmin(__VA_ARGS__))
#define wick_matmul(...) WICK_TENSOR_HERE(wick_matmul(__VA_ARGS__))
#define wick_linear(...) WICK_TENSOR_HERE(wick_linear(__VA_ARGS__))
#define wick_conv(...) WICK_TENSOR_HERE(wick_conv(__VA_ARGS__))
#define wick_conv_transpose(...) WICK_TENSOR_HERE(wick_conv_transpose(__VA_ARGS__))
#define wick_max_pool(...) WICK_TENSOR_HERE(wick_max_pool(__VA_ARGS__))
#define wick_avg_pool(...) WICK_TENSOR_HERE(wick_avg_pool(__VA_ARGS__))
#define wick_adaptive_max_pool(...) WICK_TENSOR_HERE(wick_adaptive_max_pool(__VA_ARGS__))
#define wick_adaptive_avg_pool(...) WICK_TENSOR_HERE(wick_adaptive_avg_pool(__VA_ARGS__))
#define wick_flip(...) WICK_TENSOR_HERE(wick_flip(__VA_ARGS__))
#define wick_pad(...) WICK_TENSOR_HERE(wick_pad(__VA_ARGS__))
#define wick_softmax(...) WICK_TENSOR_HERE(wick_softmax(__VA_ARGS__))
#define wick_log_softmax(...) WICK_TENSOR_HERE(wick_log_softmax(__VA_ARGS__))
#define wick_layer_norm(...) WICK_TENSOR_HERE(wick_layer_norm(__VA_ARGS__))
#define wick_batch_norm(...) WICK_TENSOR_HERE(wick_batch_norm(__VA_ARGS__))
#define wick_rms_norm(...) WICK_TENSOR_HERE(wick_rms_norm(__VA_ARGS__))
#define wick_group_norm(...) WICK_TENSOR_HERE(wick_group_norm(__VA_ARGS__))
#define wick_instance_norm(...) WICK_TENSOR_HERE(wick_instance_norm(__VA_ARGS__))
#define wick_local_response_norm(...) WICK_TENSOR_HERE(wick_local_response_norm(__VA_ARGS__))
#define wick_normalize(...) WICK_TENSOR_HERE(wick_normalize(__VA_ARGS__))
#define wick_gather(...) WICK_TENSOR_HERE(wick_gather(__VA_ARGS__))
#define wick_scatter_add(...) WICK_TENSOR_HERE(wick_scatter_add(__VA_ARGS__))
#define wick_one_hot(...) WICK_TENSOR_HERE(wick_one_hot(__VA_ARGS__))
#define wick_concat(...) WICK_TENSOR_HERE(wick_concat(__VA_ARGS__))
#define wick_cast(...) WICK_TENSOR_HERE(wick_cast(__VA_ARGS__))
#define wick_cast_saturate(...) WICK_TENSOR_HERE(wick_cast_saturate(__VA_ARGS__))
#define wick_dropout_channels(...) WICK_TENSOR_HERE(wick_dropout_channels(__VA_ARGS__))
#define wick_alpha_dropout(...) WICK_TENSOR_HERE(wick_alpha_dropout(__VA_ARGS__))
#define wick_gumbel_softmax(...) WICK_TENSOR_HERE(wick_gumbel_softmax(__VA_ARGS__))
#define wick_dropout(...) WICK_TENSOR_HERE(wick_dropout(__VA_ARGS__))
#define wick_random_uniform(...) WICK_TENSOR_HERE(wick_random_uniform(__VA_ARGS__))
#define wick_random_normal(...) WICK_TENSOR_HERE(wick_random_normal(__VA_ARGS__))
#define wick_random_bits(...) WICK_TENSOR_HERE(wick_random_bits(__VA_ARGS__))
#define wick_random_bernoulli(...) WICK_TENSOR_HERE(wick_random_bernoulli(__VA_ARGS__))
#define wick_random_exponential(...) WICK_TENSOR_HERE(wick_random_exponential(__VA_ARGS__))
#define wick_random_truncated_normal(...) WICK_TENSOR_HERE(wick_random_truncated_normal(__VA_ARGS__))
#define wick_random_integers(...) WICK_TENSOR_HERE(wick_random_integers(__VA_ARGS__))
#define wick_random_gamma(...) WICK_TENSOR_HERE(wick_random_gamma(__VA_ARGS__))
#define wick_random_permutation(...) WICK_TENSOR_HERE(wick_random_permutation(__VA_ARGS__))
#define wick_random_shuffle(...) WICK_TENSOR_HERE(wick_random_shuffle(__VA_ARGS__))
#define wick_multinomial(...) WICK_TENSOR_HERE(wick_multinomial(__VA_ARGS__))
#define wick_random_categorical(...) WICK_TENSOR_HERE(wick_random_categorical(__VA_ARGS__))
#define wick_grad(...) WICK_VOID_HERE(wick_grad(__VA_ARGS__))
#define wick_stop_gradient(...) WICK_TENSOR_HERE(wick_stop_gradient(__VA_ARGS__))
#define wick_custom_gradient(...) WICK_TENSOR_HERE(wick_custom_gradient(__VA_ARGS__))
#define wick_assign(...) WICK_STATUS_HERE(wick_assign(__VA_ARGS__))
#define wick_tap(...) WICK_STATUS_HERE(wick_tap(__VA_ARGS__))
#define wick_check_finite(...) WICK_STATUS_HERE(wick_check_finite(__VA_ARGS__))
/* clang-format on */
#endif
#endif
