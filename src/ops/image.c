/* image.c: flip, pad and resize: expressions of other ops, whose gradients they have. */
#include "ops/ops.h"
#include "wick/image.h"

typedef struct shown {
    char text[160];
} shown;
static shown show(const wick_tensor *x) {
    shown s;
    wick_str str = wick_str_on(s.text, sizeof s.text);
    wick_type_print(&str, &x->value->type);
    return s;
}

wick_tensor *wick_flip(wick_tensor *x, int n, const int *axes) {
    if (!x || x->error) return x;
    if (n < 0 || (n && !axes))
        return wick_poison(x->ctx, WICK_ERR_INVALID, "flip: %d axes%s", n, n > 0 ? " at NULL" : "");
    const int rank = wick_tensor_rank(x);
    uint32_t flipped = n ? 0 : (1u << rank) - 1;
    for (int i = 0; i < n; i++) {
        const int a = wick_axis(axes[i], rank);
        if (a < 0 || flipped >> a & 1)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "flip(%s): axis %d %s", show(x).text, axes[i],
                               a < 0 ? "does not exist" : "is given twice");
        flipped |= 1u << a;
    }
    for (int a = 0; a < rank; a++)
        if (flipped >> a & 1) x = wick_slice(x, a, -1, INT64_MIN, -1);
    return x;
}

/* ---- pad --------------------------------------------------------------------------------------------------------- */

/* `count` times `value` along the axis, and elsewhere the extents of x. */
static wick_tensor *margin(wick_tensor *x, int axis, int64_t count, double value) {
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, wick_tensor_dims(x), (size_t)wick_tensor_rank(x) * sizeof *dims);
    dims[axis] = count;
    return wick_expand(wick_like(x, value), wick_tensor_rank(x), dims);
}

wick_tensor *wick_pad(wick_tensor *x, int rank, const int64_t *before, const int64_t *after, double value) {
    if (!x || x->error) return x;
    wick_type type = x->value->type, padded = type, checked;
    if (rank != type.rank || (rank && !before))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "pad(%s): counts for %d axes", show(x).text, rank);
    if (!after) after = before;
    for (int a = 0; a < rank; a++) {
        const int64_t extent = type.dims[a], low = -extent;
        if (before[a] < low || after[a] < low || WICK_MIN(before[a], 0) + WICK_MIN(after[a], 0) < low)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "pad(%s): axis %d cannot lose %lld and %lld", show(x).text, a,
                               (long long)-WICK_MIN(before[a], 0), (long long)-WICK_MIN(after[a], 0));
        if (wick_add_overflows(extent + WICK_MIN(before[a], 0), WICK_MAX(before[a], 0), &padded.dims[a]) ||
            wick_add_overflows(padded.dims[a], after[a], &padded.dims[a]) ||
            !wick_type_make(&checked, (wick_dtype)type.dtype, rank, padded.dims))
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "pad(%s): padded by %lld and %lld, axis %d is too large",
                               show(x).text, (long long)before[a], (long long)after[a], a);
    }
    for (int a = 0; a < rank; a++) /* crop first: less to copy */
        if (before[a] < 0 || after[a] < 0)
            x = wick_slice(x, a, -WICK_MIN(before[a], 0), wick_tensor_dim(x, a) + WICK_MIN(after[a], 0), 1);
    /* rows first: what is made of them can be written where it ends up (lower_concat) */
    for (int a = rank - 1; a >= 0; a--) {
        wick_tensor *parts[3];
        int n = 0;
        if (before[a] > 0) parts[n++] = margin(x, a, before[a], value);
        parts[n++] = x;
        if (after[a] > 0) parts[n++] = margin(x, a, after[a], value);
        if (n > 1) x = wick_concat(n, parts, a);
    }
    return x;
}

/* ---- resize ------------------------------------------------------------------------------------------------------ */

wick_tensor *wick_resize(wick_tensor *x, const int64_t *size, wick_resize_mode mode) {
    if (!x || x->error) return x;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const bool linear = mode != WICK_RESIZE_NEAREST;
    wick_type type = x->value->type, checked;
    if ((unsigned)mode > WICK_RESIZE_LINEAR_CORNERS)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "resize: there is no mode %d", (int)mode);
    if (type.rank < 3 || type.rank > 5 || !size)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "resize(%s): needs [N, C, 1 to 3 dims] and a size for each",
                           show(x).text);
    if (linear && !wick_dtype_is_float(dtype))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "resize(%s): between values there are none of this dtype; cast",
                           show(x).text);
    for (int a = 2; a < type.rank; a++) {
        const int64_t in = type.dims[a], out = size[a - 2];
        if (in < 1 || in > INT32_MAX || out < 1 || out > INT32_MAX)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "resize(%s): dim %d of %lld cannot become %lld", show(x).text,
                               a - 2, (long long)in, (long long)out);
        type.dims[a] = out;
    }
    if (!wick_type_make(&checked, dtype, type.rank, type.dims))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "resize(%s): the result is too large", show(x).text);
    const wick_interpolate_options how[] = {
        [WICK_RESIZE_NEAREST] = {.coordinates = WICK_ASYMMETRIC, .rounding = WICK_ROUND_FLOOR},
        [WICK_RESIZE_LINEAR] = {.mode = WICK_LINEAR},
        [WICK_RESIZE_LINEAR_CORNERS] = {.mode = WICK_LINEAR, .coordinates = WICK_ALIGN_CORNERS}};
    return wick_interpolate(x, type.rank - 2, NULL, size, &how[mode]);
}
