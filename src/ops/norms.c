/* norms.c: group, instance and local response norm, and vectors of norm 1: expressions of other ops, whose gradients
 * they have. */
#include <math.h>

#include "ops/ops.h"
#include "wick/ops.h"

static bool is_half(wick_dtype d) { return d == WICK_F16 || d == WICK_BF16; }

/* NULL: x can be normalised by op; otherwise what is wrong. */
static wick_tensor *unfit(const char *op, wick_tensor *x, int min_rank) {
    const int rank = wick_tensor_rank(x);
    if (!wick_dtype_is_float(wick_tensor_dtype(x)))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "%s: x is %s; it needs floats: cast", op,
                           wick_dtype_name(wick_tensor_dtype(x)));
    if (rank < min_rank)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: x has %d dims; it needs %s", op, rank,
                           min_rank == 1   ? "an axis"
                           : min_rank == 2 ? "[N, C, ...]"
                                           : "[N, C, dims]");
    return NULL;
}

/* Whether op cannot normalise x, of the others (each may be NULL) that came with it; *bad is what to return then. */
static bool refused(const char *op, wick_tensor *x, wick_tensor *weight, wick_tensor *bias, int min_rank,
                    wick_tensor **bad) {
    *bad = x;
    if (x && !x->error) *bad = unfit(op, x, min_rank);
    else if (!x && (weight || bias))
        *bad = wick_poison((weight ? weight : bias)->ctx, WICK_ERR_INVALID, "%s: x is NULL", op);
    return !x || *bad;
}

/* A vector over the channels, as it stands beside [N, C, ...]. */
static wick_tensor *over_channels(const char *op, wick_tensor *v, const char *which, const wick_tensor *x) {
    if (!v || v->error) return v;
    const int rank = wick_tensor_rank(x);
    int64_t dims[WICK_MAX_DIMS];
    if (wick_tensor_rank(v) != 1 || wick_tensor_dim(v, 0) != wick_tensor_dim(x, 1))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: %s must be [%lld], one a channel", op, which,
                           (long long)wick_tensor_dim(x, 1));
    for (int i = 0; i < rank; i++) dims[i] = 1;
    dims[0] = wick_tensor_dim(v, 0);
    return wick_reshape(v, rank - 1, dims);
}

static wick_tensor *group_norm(const char *op, wick_tensor *x, int64_t groups, wick_tensor *weight, wick_tensor *bias,
                               double eps) {
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    const int64_t *dims = wick_tensor_dims(x), channels = dims[1];
    if (groups < 1 || channels % groups)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: %lld channels do not divide into %lld groups", op,
                           (long long)channels, (long long)groups);
    int64_t rest = channels / groups;
    for (int i = 2; i < rank; i++) rest *= dims[i];
    weight = over_channels(op, weight, "weight", x);
    bias = over_channels(op, bias, "bias", x);
    wick_tensor *y = is_half(dtype) ? wick_as(x, WICK_F32) : x;
    if (is_half(dtype) && weight) weight = wick_as(weight, WICK_F32);
    if (is_half(dtype) && bias) bias = wick_as(bias, WICK_F32);
    /* a group is a row */
    y = wick_layer_norm(wick_reshape(y, 3, (const int64_t[]){dims[0], groups, rest}), NULL, NULL, eps);
    y = wick_reshape(y, rank, dims);
    if (weight) y = wick_mul(y, weight);
    if (bias) y = wick_add(y, bias);
    return wick_as(y, dtype);
}

wick_tensor *wick_group_norm(wick_tensor *x, int64_t groups, wick_tensor *weight, wick_tensor *bias, double eps) {
    wick_tensor *bad;
    return refused("group_norm", x, weight, bias, 2, &bad) ? bad
                                                           : group_norm("group_norm", x, groups, weight, bias, eps);
}

wick_tensor *wick_instance_norm(wick_tensor *x, wick_tensor *weight, wick_tensor *bias, double eps) {
    wick_tensor *bad;
    return refused("instance_norm", x, weight, bias, 3, &bad)
               ? bad
               : group_norm("instance_norm", x, WICK_MAX(wick_tensor_dim(x, 1), 1), weight, bias, eps);
}

wick_tensor *wick_local_response_norm(wick_tensor *x, int64_t size, double alpha, double beta, double k) {
    wick_tensor *bad;
    if (refused("local_response_norm", x, NULL, NULL, 3, &bad)) return bad;
    if (size < 1 || size > INT32_MAX)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "local_response_norm: %lld neighbours", (long long)size);
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    const int64_t *dims = wick_tensor_dims(x), channels = dims[1];
    if (wick_tensor_count(x) == 0) return x;
    wick_tensor *v = is_half(dtype) ? wick_as(x, WICK_F32) : x;
    /* Channels become an axis of images of one channel, of which columns are averaged; those beyond either end count as
     * 0. */
    wick_tensor *squares = wick_reshape(
        wick_square(v), 4, (const int64_t[]){dims[0], 1, channels, wick_tensor_count(x) / dims[0] / channels});
    squares = wick_pad(squares, WICK_DIMS(0, 0, size / 2, 0), (const int64_t[]){0, 0, (size - 1) / 2, 0}, 0);
    wick_tensor *mean = wick_avg_pool(squares, &(wick_pool_options){.kernel = {size, 1}, .stride = {1, 1}});
    mean = wick_reshape(mean, rank, dims);
    wick_tensor *scale =
        wick_pow(wick_add(wick_mul(mean, wick_like(mean, alpha)), wick_like(mean, k)), wick_like(mean, -beta));
    return wick_as(wick_mul(v, scale), dtype);
}

wick_tensor *wick_normalize(wick_tensor *x, double p, int axis, double eps) {
    wick_tensor *bad;
    if (refused("normalize", x, NULL, NULL, 1, &bad)) return bad;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x), a = wick_axis(axis, rank);
    if (a < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "normalize: axis %d of a %d-d tensor", axis, rank);
    if (!(p > 0)) return wick_poison(x->ctx, WICK_ERR_INVALID, "normalize: there is no norm of order %g", p);
    wick_tensor *v = is_half(dtype) ? wick_as(x, WICK_F32) : x, *norm;
    if (isinf(p))
        norm = wick_max(wick_abs(v), 1, &a, true);
    else if (p == 1)
        norm = wick_sum(wick_abs(v), 1, &a, true);
    else { /* where the sum is 0 the root has no gradient: it is taken of 1 there, and not used */
        wick_tensor *sum = wick_sum(p == 2 ? wick_square(v) : wick_pow(wick_abs(v), wick_like(v, p)), 1, &a, true),
                    *zero = wick_eq(sum, wick_like(sum, 0));
        wick_tensor *safe = wick_where(zero, wick_like(sum, 1), sum);
        norm = wick_where(zero, wick_like(sum, 0), p == 2 ? wick_sqrt(safe) : wick_pow(safe, wick_like(sum, 1 / p)));
    }
    return wick_as(wick_div(v, wick_maximum(norm, wick_like(norm, eps))), dtype);
}
