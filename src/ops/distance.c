/* distance.c: distances, cosines and covariances, as expressions of other ops. */
#include "ops/ops.h"
#include "wick/distance.h"
#include "wick/linalg.h"
#include "wick/ops.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

static bool is_half(const wick_tensor *x) {
    return wick_tensor_dtype(x) == WICK_F16 || wick_tensor_dtype(x) == WICK_BF16;
}

/* Both in one float dtype that sums well, and the dtype of the result; NULL, or the poison to return. */
static wick_tensor *floats(wick_tensor **a, wick_tensor **b, const char *op, wick_dtype *dtype) {
    if (!wick_promote_pair(a, b, op)) return *a;
    *dtype = wick_tensor_dtype(*a);
    if (!wick_dtype_is_float(*dtype))
        return wick_poison((*a)->ctx, WICK_ERR_DTYPE, "%s: takes floats, not %s; cast", op, wick_dtype_name(*dtype));
    if (is_half(*a)) *a = wick_as(*a, WICK_F32), *b = wick_as(*b, WICK_F32);
    return NULL;
}

/* Both as large as they are together; NULL, or the poison to return. */
static wick_tensor *meet(wick_tensor **a, wick_tensor **b, const char *op) {
    wick_type t = (*a)->value->type;
    if (!wick_broadcast(&t, &(*b)->value->type))
        return wick_poison((*a)->ctx, WICK_ERR_SHAPE, "%s: %s and %s do not broadcast", op, wick_shown_of(*a).text,
                           wick_shown_of(*b).text);
    *a = wick_expand(*a, t.rank, t.dims);
    *b = wick_expand(*b, t.rank, t.dims);
    return NULL;
}

wick_tensor *wick_cosine_similarity(wick_tensor *a, wick_tensor *b, int axis, double eps) {
    wick_dtype dtype = WICK_F32;
    wick_tensor *bad = floats(&a, &b, "cosine_similarity", &dtype);
    if (!bad) bad = meet(&a, &b, "cosine_similarity");
    if (bad) return bad;
    if (wick_axis(axis, wick_tensor_rank(a)) < 0)
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "cosine_similarity: axis %d of %d-d tensors", axis,
                           wick_tensor_rank(a));
    wick_tensor *na = wick_norm(a, 2, WICK_AXES(axis), false), *nb = wick_norm(b, 2, WICK_AXES(axis), false),
                *least = wick_like(na, eps);
    return wick_as(wick_div(wick_sum(wick_mul(a, b), WICK_AXES(axis), false),
                            wick_mul(wick_maximum(na, least), wick_maximum(nb, least))),
                   dtype);
}

wick_tensor *wick_pairwise_distance(wick_tensor *a, wick_tensor *b, double p, double eps, bool keepdims) {
    wick_dtype dtype = WICK_F32;
    wick_tensor *bad = floats(&a, &b, "pairwise_distance", &dtype);
    if (bad) return bad;
    wick_tensor *off = wick_sub(a, b);
    if (eps != 0) off = wick_add(off, wick_like(off, eps));
    return wick_as(wick_norm(off, p, WICK_AXES(-1), keepdims), dtype);
}

wick_tensor *wick_cdist(wick_tensor *a, wick_tensor *b, double p) {
    wick_dtype dtype = WICK_F32;
    wick_tensor *bad = floats(&a, &b, "cdist", &dtype);
    if (bad) return bad;
    if (wick_tensor_rank(a) < 2 || wick_tensor_rank(b) < 2 || wick_tensor_dim(a, -1) != wick_tensor_dim(b, -1))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "cdist: needs [..., n, d] and [..., m, d], not %s and %s",
                           wick_shown_of(a).text, wick_shown_of(b).text);
    wick_tensor *off = wick_sub(wick_unsqueeze(a, -2), wick_unsqueeze(b, -3));
    return wick_as(wick_norm(off, p, WICK_AXES(-1), false), dtype);
}

wick_tensor *wick_cross(wick_tensor *a, wick_tensor *b, int axis) {
    if (!wick_promote_pair(&a, &b, "cross")) return a;
    wick_tensor *bad = meet(&a, &b, "cross");
    if (bad) return bad;
    const int at = wick_axis(axis, wick_tensor_rank(a));
    if (at < 0 || wick_tensor_dim(a, at) != 3)
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "cross: axis %d of %s has not 3 elements", axis,
                           wick_shown_of(a).text);
    static const int64_t one = -1, two = -2; /* element i + 1 and i + 2, in circles */
    wick_tensor *a1 = wick_roll(a, 1, &one, &at), *a2 = wick_roll(a, 1, &two, &at), *b1 = wick_roll(b, 1, &one, &at),
                *b2 = wick_roll(b, 1, &two, &at);
    return wick_sub(wick_mul(a1, b2), wick_mul(a2, b1));
}

wick_tensor *wick_cov(wick_tensor *x, double correction) {
    if (wick_is_bad(x)) return x;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "cov: takes floats, not %s; cast", wick_dtype_name(dtype));
    if (rank < 1 || rank > 2)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "cov: needs [variables, observations], not %s",
                           wick_shown_of(x).text);
    if (is_half(x)) x = wick_as(x, WICK_F32);
    wick_tensor *rows = rank == 2 ? x : wick_unsqueeze(x, 0),
                *off = wick_sub(rows, wick_mean(rows, WICK_AXES(1), true));
    wick_tensor *y = wick_matmul(off, wick_transpose(off, 0, 1));
    y = wick_div(y, wick_like(y, (double)wick_tensor_dim(x, -1) - correction));
    return wick_as(rank == 2 ? y : wick_reshape(y, 0, NULL), dtype);
}

wick_tensor *wick_corrcoef(wick_tensor *x) {
    if (wick_is_bad(x)) return x;
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *c = wick_cov(is_half(x) ? wick_as(x, WICK_F32) : x, 1);
    if (wick_is_bad(c)) return c;
    if (wick_tensor_rank(c) == 0) return wick_as(wick_div(c, c), dtype);
    wick_tensor *deviation = wick_sqrt(wick_diagonal(c, 0, 0, 1));
    return wick_as(wick_clip(wick_div(wick_div(c, wick_unsqueeze(deviation, 1)), deviation), -1, 1), dtype);
}

wick_tensor *wick_diff(wick_tensor *x, int64_t n, int axis) {
    if (wick_is_bad(x)) return x;
    const int at = wick_axis(axis, wick_tensor_rank(x));
    if (at < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "diff: axis %d of a %d-d tensor", axis, wick_tensor_rank(x));
    if (n < 0) return wick_poison(x->ctx, WICK_ERR_INVALID, "diff: %lld times", (long long)n);
    if (n >= wick_tensor_dim(x, at)) return wick_slice(x, at, 0, 0, 1);
    for (; n > 0 && !wick_is_bad(x); n--) {
        wick_tensor *from = wick_slice(x, at, 1, INT64_MAX, 1), *to = wick_slice(x, at, 0, -1, 1);
        x = wick_tensor_dtype(x) == WICK_BOOL ? wick_ne(from, to) : wick_sub(from, to);
    }
    return x;
}
