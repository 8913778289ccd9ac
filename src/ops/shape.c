/* shape.c: arrangements that are expressions of views and concat, whose gradients they have. */
#include "ops/ops.h"
#include "wick/ops.h"
#include "wick/shape.h"

static void poison_all(int n, wick_tensor **out, wick_tensor *poison) {
    for (int i = 0; i < n; i++) out[i] = i && poison ? wick_poison_like(poison->ctx, poison->error) : poison;
}

/* ---- joining and cutting ----------------------------------------------------------------------------------------- */

wick_tensor *wick_stack(int n, wick_tensor *const *xs, int axis) {
    if (n <= 0 || !xs) return NULL;
    wick_context *ctx = NULL;
    for (int i = 0; i < n && !ctx; i++) ctx = xs[i] ? xs[i]->ctx : NULL;
    if (!ctx) return NULL;
    wick_tensor *small[16], **parts = small;
    const size_t size = (size_t)n * sizeof *parts;
    if (n > (int)WICK_COUNTOF(small) && !(parts = wick_alloc(&ctx->alloc, size)))
        return wick_poison(ctx, WICK_ERR_NOMEM, "stack: out of memory for a list of %d tensors", n);
    wick_tensor *y = NULL;
    for (int i = 0; i < n && !y; i++) {
        if (wick_is_bad(xs[i]))
            y = xs[i] ? xs[i] : wick_poison(ctx, WICK_ERR_INVALID, "stack: tensor %d is NULL", i);
        else if (!wick_same_dims(&xs[i]->value->type, &xs[0]->value->type) || wick_tensor_rank(xs[i]) == WICK_MAX_DIMS)
            y = wick_poison(ctx, WICK_ERR_SHAPE,
                            "stack(%s, ...): tensor %d is %s; all must have one shape, of less than %d dims",
                            wick_shown_of(xs[0]).text, i, wick_shown_of(xs[i]).text, WICK_MAX_DIMS);
        else if (wick_axis(axis, wick_tensor_rank(xs[0]) + 1) < 0)
            y = wick_poison(ctx, WICK_ERR_SHAPE, "stack(%s, ...): no axis %d can be added", wick_shown_of(xs[0]).text,
                            axis);
        else
            parts[i] = wick_unsqueeze(xs[i], axis);
    }
    if (!y) y = wick_concat(n, parts, axis);
    if (parts != small) wick_release(&ctx->alloc, parts, size);
    return y;
}

void wick_split(wick_tensor *x, int axis, int n, const int64_t *sizes, wick_tensor **out) {
    if (!out) return;
    if (wick_is_bad(x) || n <= 0) {
        poison_all(n, out, x);
        return;
    }
    const int a = wick_axis(axis, wick_tensor_rank(x));
    int64_t total = 0, at = 0;
    int rest = -1;
    bool good = a >= 0 && sizes;
    for (int i = 0; good && i < n; i++) {
        if (sizes[i] == -1 && rest < 0)
            rest = i;
        else
            good = sizes[i] >= 0 && !wick_add_overflows(total, sizes[i], &total);
    }
    const int64_t extent = a >= 0 ? wick_tensor_dims(x)[a] : 0;
    if (!good || (rest < 0 ? total != extent : total > extent)) {
        poison_all(n, out,
                   a < 0 ? wick_poison(x->ctx, WICK_ERR_SHAPE, "split(%s): axis %d does not exist",
                                       wick_shown_of(x).text, axis)
                         : wick_poison(x->ctx, WICK_ERR_SHAPE,
                                       "split(%s): the %d sizes do not add up to the %lld places of axis %d",
                                       wick_shown_of(x).text, n, (long long)extent, a));
        return;
    }
    for (int i = 0; i < n; i++) {
        const int64_t size = i == rest ? extent - total : sizes[i];
        out[i] = wick_slice(x, a, at, at + size, 1);
        at += size;
    }
}

void wick_chunk(wick_tensor *x, int n, int axis, wick_tensor **out, int *parts) {
    if (!out) return;
    if (parts) *parts = n;
    const int a = wick_is_bad(x) ? 0 : wick_axis(axis, wick_tensor_rank(x));
    if (wick_is_bad(x) || n <= 0 || a < 0) {
        poison_all(n, out,
                   wick_is_bad(x) ? x
                                  : wick_poison(x->ctx, WICK_ERR_SHAPE, "chunk(%s): %d parts of axis %d",
                                                wick_shown_of(x).text, n, axis));
        return;
    }
    const int64_t extent = wick_tensor_dims(x)[a], size = (extent + n - 1) / n;
    int made = 0;
    for (int64_t at = 0; at < extent || !made; at += size) out[made++] = wick_slice(x, a, at, at + size, 1);
    for (int i = made; i < n; i++) out[i] = NULL;
    if (parts) *parts = made;
}

/* ---- repeating and moving ---------------------------------------------------------------------------------------- */

/* The axis `repeats` times: the whole of it, or place by place. */
static wick_tensor *repeat(const char *op, wick_tensor *x, int axis, int64_t repeats, bool places) {
    wick_type t = x->value->type;
    if (repeats < 0 || wick_mul_overflows(t.dims[axis], repeats, &t.dims[axis]) || !wick_type_fits(&t))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s(%s): axis %d %lld times", op, wick_shown_of(x).text, axis,
                           (long long)repeats);
    if (repeats == 1) return x;
    wick_tensor *parts[16];
    /* whole copies are faster than steps of 0 */
    if (!places && repeats > 1 && repeats <= (int64_t)WICK_COUNTOF(parts)) {
        for (int64_t i = 0; i < repeats; i++) parts[i] = x;
        return wick_concat((int)repeats, parts, axis);
    }
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < t.rank; i++) *(i < axis ? &outer : &inner) *= i == axis ? 1 : t.dims[i];
    const int64_t extent = wick_tensor_dims(x)[axis];
    if (places) outer *= extent; else inner *= extent;
    x = wick_expand(wick_reshape(x, WICK_DIMS(outer, 1, inner)), WICK_DIMS(outer, repeats, inner));
    return wick_reshape(x, t.rank, t.dims);
}

wick_tensor *wick_tile(wick_tensor *x, int n, const int64_t *repeats) {
    if (wick_is_bad(x)) return x;
    const int rank = wick_tensor_rank(x);
    if (n < 0 || n > WICK_MAX_DIMS || (n && !repeats))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "tile(%s): %d repeats", wick_shown_of(x).text, n);
    if (n > rank) {
        int64_t dims[WICK_MAX_DIMS];
        for (int i = 0; i < n; i++) dims[i] = i < n - rank ? 1 : wick_tensor_dims(x)[i - (n - rank)];
        x = wick_reshape(x, n, dims);
    }
    /* the last axis first: the least to copy */
    for (int i = n - 1; i >= 0 && !x->error; i--) x = repeat("tile", x, wick_tensor_rank(x) - n + i, repeats[i], false);
    return x;
}

wick_tensor *wick_repeat_interleave(wick_tensor *x, int64_t repeats, int axis) {
    if (wick_is_bad(x)) return x;
    const int a = wick_axis(axis, wick_tensor_rank(x));
    if (a < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "repeat_interleave(%s): axis %d does not exist",
                           wick_shown_of(x).text, axis);
    return repeat("repeat_interleave", x, a, repeats, true);
}

wick_tensor *wick_roll(wick_tensor *x, int n, const int64_t *shifts, const int *axes) {
    if (wick_is_bad(x)) return x;
    if (n < 0 || (n && (!shifts || !axes)))
        return wick_poison(x->ctx, WICK_ERR_INVALID, "roll(%s): %d shifts%s", wick_shown_of(x).text, n,
                           n > 0 ? " at NULL" : "");
    for (int i = 0; i < n; i++) {
        const int a = wick_axis(axes[i], wick_tensor_rank(x));
        if (a < 0)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "roll(%s): axis %d does not exist", wick_shown_of(x).text,
                               axes[i]);
        const int64_t extent = wick_tensor_dims(x)[a], by = extent ? (shifts[i] % extent + extent) % extent : 0;
        if (by)
            x = wick_concat(
                2, (wick_tensor *[]){wick_slice(x, a, extent - by, extent, 1), wick_slice(x, a, 0, extent - by, 1)}, a);
    }
    return x;
}

wick_tensor *wick_move_axis(wick_tensor *x, int from, int to) {
    if (wick_is_bad(x)) return x;
    const int rank = wick_tensor_rank(x), f = wick_axis(from, rank), t = wick_axis(to, rank);
    if (f < 0 || t < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "move_axis(%s): axis %d to %d", wick_shown_of(x).text, from, to);
    int axes[WICK_MAX_DIMS];
    for (int i = 0, k = 0; i < rank; i++) {
        if (i == t) {
            axes[i] = f;
            continue;
        }
        k += k == f;
        axes[i] = k++;
    }
    return wick_permute(x, rank, axes);
}

void wick_meshgrid(int n, wick_tensor *const *xs, bool xy, wick_tensor **out) {
    if (!xs || !out) return;
    if (n <= 0) return;
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < n; i++) {
        if (wick_is_bad(xs[i])) {
            poison_all(n, out, xs[i]);
            return;
        }
        if (n > WICK_MAX_DIMS || wick_tensor_rank(xs[i]) > 1) {
            poison_all(n, out,
                       wick_poison(xs[i]->ctx, WICK_ERR_SHAPE,
                                   "meshgrid: takes up to %d vectors; number %d of %d is %s", WICK_MAX_DIMS, i, n,
                                   wick_shown_of(xs[i]).text));
            return;
        }
        dims[i] = wick_tensor_count(xs[i]);
    }
    for (int i = 0; i < n; i++) {
        int64_t along[WICK_MAX_DIMS];
        for (int k = 0; k < n; k++) along[k] = k == i ? dims[i] : 1;
        wick_tensor *grid = wick_expand(wick_reshape(xs[i], n, along), n, dims);
        out[i] = xy && n > 1 ? wick_transpose(grid, 0, 1) : grid;
    }
}

/* `count` places before (after) the axis. */
static wick_tensor *margin(wick_tensor *x, int axis, int64_t count, bool after, wick_pad_mode mode) {
    const int64_t n = wick_tensor_dims(x)[axis];
    int64_t dims[WICK_MAX_DIMS];
    switch (mode) {
    case WICK_PAD_REFLECT:
        return after ? wick_slice(x, axis, n - 2, n - 2 - count < 0 ? INT64_MIN : n - 2 - count, -1)
                     : wick_slice(x, axis, count, 0, -1);
    case WICK_PAD_WRAP:
        return after ? wick_slice(x, axis, 0, count, 1) : wick_slice(x, axis, n - count, n, 1);
    default:
        memcpy(dims, wick_tensor_dims(x), sizeof dims);
        dims[axis] = count;
        return wick_expand(wick_slice(x, axis, after ? n - 1 : 0, after ? n : 1, 1), wick_tensor_rank(x), dims);
    }
}

/* `total` places of the axis gone round (WRAP) or to and fro (REFLECT), x[0] at place `before`: NumPy's pad for counts
 * beyond the extent. */
static wick_tensor *go_round(wick_tensor *x, int axis, int64_t before, int64_t total, wick_pad_mode mode) {
    const int rank = wick_tensor_rank(x);
    const int64_t n = wick_tensor_dims(x)[axis];
    if (mode == WICK_PAD_REFLECT && n > 2)
        x = wick_concat(2, (wick_tensor *[]){x, wick_slice(x, axis, n - 2, 0, -1)},
                        axis); /* 1 2 3 4 becomes 1 2 3 4 3 2 */
    if (x->error) return x;
    const int64_t period = wick_tensor_dims(x)[axis], start = (period - before % period) % period;
    int64_t copies[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) copies[i] = i == axis ? (start + total - 1) / period + 1 : 1;
    return wick_slice(wick_tile(x, rank, copies), axis, start, start + total, 1);
}

wick_tensor *wick_pad_with(wick_tensor *x, int rank, const int64_t *before, const int64_t *after, wick_pad_mode mode) {
    if (wick_is_bad(x)) return x;
    if ((unsigned)mode > WICK_PAD_WRAP)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "pad_with(%s): there is no mode %d", wick_shown_of(x).text,
                           (int)mode);
    if (rank != wick_tensor_rank(x) || (rank && !before))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "pad_with(%s): counts for %d axes", wick_shown_of(x).text, rank);
    if (!after) after = before;
    int64_t cut_before[WICK_MAX_DIMS], cut_after[WICK_MAX_DIMS];
    for (int a = 0; a < rank; a++) {
        cut_before[a] = WICK_MIN(before[a], 0);
        cut_after[a] = WICK_MIN(after[a], 0);
    }
    x = wick_pad(x, rank, cut_before, cut_after, 0);
    /* rows first: what is made of them can be written where it ends up (lower_concat) */
    for (int a = rank - 1; a >= 0 && !x->error; a--) {
        const int64_t n = wick_tensor_dims(x)[a], front = WICK_MAX(before[a], 0), back = WICK_MAX(after[a], 0);
        const int64_t once = mode == WICK_PAD_REFLECT ? n - 1
                             : mode == WICK_PAD_WRAP  ? n
                                                      : INT64_MAX; /* what one margin each has room for */
        if (!front && !back) continue;
        wick_type t = x->value->type;
        int64_t more;
        if (!n || wick_add_overflows(front, back, &more) || wick_add_overflows(n, more, &t.dims[a]) ||
            !wick_type_fits(&t))
            return wick_poison(x->ctx, WICK_ERR_SHAPE,
                               "pad_with(%s): axis %d of %lld places cannot get %lld and %lld more in this mode",
                               wick_shown_of(x).text, a, (long long)n, (long long)before[a], (long long)after[a]);
        if (WICK_MAX(front, back) > once) {
            x = go_round(x, a, front, n + more, mode);
            continue;
        }
        wick_tensor *parts[3];
        int k = 0;
        if (front) parts[k++] = margin(x, a, front, false, mode);
        parts[k++] = x;
        if (back) parts[k++] = margin(x, a, back, true, mode);
        x = wick_concat(k, parts, a);
    }
    return x;
}

/* ---- triangles and regular values -------------------------------------------------------------------------------- */

/* rows x cols of column - row, in the narrowest type that holds it and k. */
static wick_tensor *diagonals(wick_context *ctx, int64_t rows, int64_t cols) {
    const wick_dtype d = rows < 1 << 30 && cols < 1 << 30 ? WICK_I32 : WICK_I64;
    return wick_sub(wick_positions(ctx, d, cols), wick_reshape(wick_positions(ctx, d, rows), WICK_DIMS(rows, 1)));
}
static int64_t bounded(int64_t k) { return WICK_MAX(WICK_MIN(k, 1 << 30), -(1 << 30)); }

wick_tensor *wick_diagonal_matrix(wick_tensor *x, int64_t k) {
    if (wick_is_bad(x)) return x;
    const int rank = wick_tensor_rank(x);
    if (rank < 1 || rank == WICK_MAX_DIMS)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "diagonal_matrix(%s): needs 1 to %d axes", wick_shown_of(x).text,
                           WICK_MAX_DIMS - 1);
    const int64_t n = wick_tensor_dims(x)[rank - 1], more = k < 0 ? -k : k;
    if (k < -(1 << 30) || k > 1 << 30)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "diagonal_matrix(%s): diagonal %lld", wick_shown_of(x).text,
                           (long long)k);
    int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
    before[rank - 1] = k > 0 ? k : 0; /* column c of the result shows x[c - max(k, 0)] */
    after[rank - 1] = k < 0 ? more : 0;
    wick_tensor *row = wick_unsqueeze(wick_pad(x, rank, before, after, 0), -2),
                *at = diagonals(x->ctx, n + more, n + more);
    return wick_where(wick_eq(at, wick_is_bad(at) ? at : wick_like(at, (double)k)), row, wick_like(x, 0));
}

wick_tensor *wick_eye(wick_context *ctx, wick_dtype dtype, int64_t rows, int64_t cols, int64_t k) {
    wick_type t;
    if (!wick_type_make(&t, dtype, 2, (int64_t[]){rows, cols}))
        return wick_poison(ctx, WICK_ERR_INVALID, "eye: there is no tensor of %lld x %lld", (long long)rows,
                           (long long)cols);
    wick_tensor *at = diagonals(ctx, rows, cols);
    return wick_cast(wick_eq(at, wick_is_bad(at) ? at : wick_like(at, (double)bounded(k))), dtype);
}

wick_tensor *wick_linspace(wick_context *ctx, wick_dtype dtype, double start, double stop, int64_t count) {
    wick_type type;
    if (!wick_type_make(&type, dtype, 1, &count))
        return wick_poison(ctx, WICK_ERR_INVALID, "linspace: there are no %lld values of dtype %d", (long long)count,
                           (int)dtype);
    wick_array *array = wick_array_contiguous(ctx, &type);
    const double step = count > 1 ? (stop - start) / (double)(count - 1) : 0;
    for (int64_t i = 0; array && i < count; i++)
        wick_element_put(dtype, array->storage->data, i,
                         wick_number_bits(dtype, i < (count + 1) / 2 ? start + step * (double)i
                                                                     : stop - step * (double)(count - 1 - i)));
    return wick_leaf(ctx, &type, array);
}

wick_tensor *wick_logspace(wick_context *ctx, wick_dtype dtype, double start, double stop, int64_t count, double base) {
    wick_tensor *at = wick_linspace(ctx, WICK_F64, start, stop, count);
    return wick_is_bad(at) ? at : wick_cast(wick_pow(wick_like(at, base), at), dtype);
}
