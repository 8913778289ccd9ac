/* products.c: products by the names that people know them by: expressions of matmul, multiplications and sums. */
#include "ops/ops.h"
#include "wick/linalg.h"
#include "wick/ops.h"

wick_tensor *wick_addmm(wick_tensor *c, wick_tensor *a, wick_tensor *b, double beta, double alpha) {
    wick_tensor *product = wick_matmul(a, b);
    if (alpha != 1) product = wick_mul(product, wick_like(product, alpha));
    if (beta == 0 && c && !c->error && product && !product->error) {
        wick_tensor *zero = wick_constant(c->ctx, wick_tensor_dtype(c), 0);
        return wick_add(wick_expand(zero, wick_tensor_rank(c), wick_tensor_dims(c)), product);
    }
    return wick_add(beta == 1 ? c : wick_mul(c, wick_like(c, beta)), product);
}

static wick_tensor *flat(wick_tensor *x) { return x && !x->error ? wick_reshape(x, WICK_DIMS(-1)) : x; }

wick_tensor *wick_outer(wick_tensor *a, wick_tensor *b) {
    a = flat(a), b = flat(b);
    return wick_mul(a && !a->error ? wick_unsqueeze(a, 1) : a, b);
}
static wick_tensor *dot(const char *name, wick_tensor *a, wick_tensor *b) {
    const bool sound = a && b && !a->error && !b->error;
    if (sound &&
        (wick_tensor_rank(a) != 1 || wick_tensor_rank(b) != 1 || wick_tensor_count(a) != wick_tensor_count(b))) {
        char text[256];
        wick_str s = wick_str_on(text, sizeof text);
        wick_type_print(&s, &a->value->type);
        wick_str_add(&s, ", ");
        wick_type_print(&s, &b->value->type);
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "%s(%s): needs two vectors of one length", name, text);
    }
    wick_tensor *product = wick_mul(a, b);
    return product && !product->error ? wick_as(wick_sum(product, WICK_ALL_AXES, false), wick_tensor_dtype(product))
                                      : product;
}
wick_tensor *wick_dot(wick_tensor *a, wick_tensor *b) { return dot("dot", a, b); }
wick_tensor *wick_vdot(wick_tensor *a, wick_tensor *b) { return dot("vdot", flat(a), flat(b)); }

/* Axes not in `used`, then those of the list (or the list first): a permutation, and the product of the others'
 * extents. */
static bool group(wick_tensor *x, int n, const int *list, bool list_first, int *axes, int64_t *other_dims,
                  int *others) {
    const int rank = wick_tensor_rank(x);
    uint32_t used = 0;
    if (n > rank) return false;
    for (int i = 0; i < n; i++) {
        const int a = wick_axis(list[i], rank);
        if (a < 0 || used >> a & 1) return false;
        used |= 1u << a;
        axes[list_first ? i : rank - n + i] = a;
    }
    *others = 0;
    for (int a = 0; a < rank; a++) {
        if (used >> a & 1) continue;
        axes[list_first ? n + *others : *others] = a;
        other_dims[(*others)++] = wick_tensor_dims(x)[a];
    }
    return true;
}

wick_tensor *wick_tensordot(wick_tensor *a, wick_tensor *b, int n, const int *axes_a, const int *axes_b) {
    if (!a || !b || a->error || b->error) return wick_matmul(a, b); /* which names what is wrong */
    const int ra = wick_tensor_rank(a), rb = wick_tensor_rank(b);
    int last[WICK_MAX_DIMS], first[WICK_MAX_DIMS], pa[WICK_MAX_DIMS], pb[WICK_MAX_DIMS], na, nb;
    int64_t dims[2 * WICK_MAX_DIMS], dims_b[WICK_MAX_DIMS], summed = 1;
    if (n < 0 || n > WICK_MAX_DIMS || !axes_a != !axes_b)
        return wick_poison(a->ctx, WICK_ERR_INVALID, "tensordot: %d axes, lists for both or for none", n);
    for (int i = 0; i < n; i++) last[i] = i - n, first[i] = i;
    if (!axes_a) axes_a = last, axes_b = first;
    if (!group(a, n, axes_a, false, pa, dims, &na) || !group(b, n, axes_b, true, pb, dims_b, &nb))
        return wick_poison(a->ctx, WICK_ERR_SHAPE,
                           "tensordot: the %d axes must be distinct axes of a %d-d and a %d-d tensor", n, ra, rb);
    for (int i = 0; i < n; i++) {
        const int64_t ea = wick_tensor_dims(a)[pa[ra - n + i]], eb = wick_tensor_dims(b)[pb[i]];
        if (ea != eb)
            return wick_poison(a->ctx, WICK_ERR_SHAPE, "tensordot: axes %d and %d have extents %lld and %lld",
                               axes_a[i], axes_b[i], (long long)ea, (long long)eb);
        summed *= ea;
    }
    if (na + nb > WICK_MAX_DIMS)
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "tensordot: the result has %d dims", na + nb);
    int64_t rows = 1, cols = 1;
    for (int i = 0; i < na; i++) rows *= dims[i];
    for (int i = 0; i < nb; i++) cols *= dims_b[i], dims[na + i] = dims_b[i];
    a = wick_reshape(wick_permute(a, ra, pa), WICK_DIMS(rows, summed));
    b = wick_reshape(wick_permute(b, rb, pb), WICK_DIMS(summed, cols));
    return wick_reshape(wick_matmul(a, b), na + nb, dims);
}

wick_tensor *wick_kron(wick_tensor *a, wick_tensor *b) {
    if (!a || !b || a->error || b->error) return wick_mul(a, b);
    const int ra = wick_tensor_rank(a), rb = wick_tensor_rank(b), rank = WICK_MAX(ra, rb);
    int64_t da[2 * WICK_MAX_DIMS], db[2 * WICK_MAX_DIMS], out[WICK_MAX_DIMS];
    if (2 * rank > WICK_MAX_DIMS) return wick_poison(a->ctx, WICK_ERR_SHAPE, "kron: of %d dims; 4 is the most", rank);
    for (int i = 0; i < rank; i++) {
        da[2 * i] = i < rank - ra ? 1 : wick_tensor_dims(a)[i - (rank - ra)];
        db[2 * i + 1] = i < rank - rb ? 1 : wick_tensor_dims(b)[i - (rank - rb)];
        da[2 * i + 1] = db[2 * i] = 1;
        out[i] = da[2 * i] * db[2 * i + 1];
    }
    return wick_reshape(wick_mul(wick_reshape(a, 2 * rank, da), wick_reshape(b, 2 * rank, db)), rank, out);
}

wick_tensor *wick_trace(wick_tensor *a) {
    if (!a || a->error) return a;
    if (wick_tensor_rank(a) < 2)
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "trace: of a %d-d tensor", wick_tensor_rank(a));
    return wick_as(wick_sum(wick_diagonal(a, 0, -2, -1), WICK_AXES(-1), false), wick_tensor_dtype(a));
}
