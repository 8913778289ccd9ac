/* linalg.c: the public functions of factorizations. Each factorization is an op without a gradient; the function wraps
 * its results in one of their own, by the formulas that PyTorch uses (Giles 2008; Walter, Lehmann 2010 for QR; Murray
 * 2016 for Cholesky). Where an op has several results, they are wrapped as one long vector for each matrix and taken
 * apart again. */
#include "ops/factor.h"
#include "wick/linalg.h"

static wick_tensor *transpose_of(wick_tensor *x) { return wick_transpose(x, -1, -2); }
static wick_tensor *times(wick_tensor *x, double by) { return wick_mul(x, wick_like(x, by)); }
static wick_dtype computed_in(const wick_tensor *x) { return wick_tensor_dtype(x) == WICK_F64 ? WICK_F64 : WICK_F32; }
static wick_tensor *back_to(wick_tensor *y, wick_dtype d) { return wick_dtype_is_float(d) ? wick_as(y, d) : y; }

/* What is wrong with a as matrices (square ones), or NULL. */
static wick_tensor *refuse(const char *name, wick_tensor *a, bool square) {
    if (wick_is_bad(a)) return a ? a : NULL;
    if (wick_tensor_rank(a) < 2)
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "%s(%s): needs matrices", name, wick_shown_of(a).text);
    if (square && wick_tensor_dim(a, -1) != wick_tensor_dim(a, -2))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "%s(%s): needs square matrices", name, wick_shown_of(a).text);
    return NULL;
}
/* x [..., a, b] with other leading dims. */
static wick_tensor *with_batch(wick_tensor *x, int rank, const int64_t *batch, int tail) {
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, batch, (size_t)rank * sizeof *dims);
    for (int k = 0; k < tail; k++) dims[rank + k] = wick_tensor_dim(x, k - tail);
    return wick_expand(x, rank + tail, dims);
}
/* The leading dims that a and b broadcast to; false: they do not. */
static bool common_batch(const wick_tensor *a, const wick_tensor *b, wick_type *both) {
    *both = a->value->type;
    wick_type with = b->value->type;
    both->rank = (uint8_t)(both->rank - 2);
    with.rank = (uint8_t)(with.rank - 2);
    return wick_broadcast(both, &with);
}

/* ---- triangular systems ------------------------------------------------------------------------------------------ */

static wick_tensor *solve_by(wick_tensor *t, wick_tensor *b, int64_t flags) { /* of one batch */
    return wick_factor_record(&wick_op_triangular_solve, 2, (wick_tensor *[]){t, b}, wick_tensor_dim(b, -1),
                              wick_tensor_dim(t, -1), flags);
}
wick_tensor *wick_solve_triangular(wick_tensor *a, wick_tensor *b, const wick_triangular_options *options) {
    static const wick_triangular_options lower;
    const wick_triangular_options *o = options ? options : &lower;
    if (!wick_promote_pair(&a, &b, "solve_triangular")) return a;
    wick_tensor *bad = refuse("solve_triangular", a, true);
    if (!bad) bad = refuse("solve_triangular", b, false);
    if (bad) return bad;
    if (wick_tensor_dim(b, o->right ? -1 : -2) != wick_tensor_dim(a, -1))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "solve_triangular(%s, %s): the right side does not fit the matrix",
                           wick_shown_of(a).text, wick_shown_of(b).text);
    const wick_dtype d = wick_tensor_dtype(a), computed = computed_in(a);
    wick_type both;
    if (!common_batch(a, b, &both))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "solve_triangular(%s, %s): leading dims do not broadcast",
                           wick_shown_of(a).text, wick_shown_of(b).text);
    a = with_batch(wick_as(a, computed), both.rank, both.dims, 2);
    b = with_batch(wick_as(b, computed), both.rank, both.dims, 2);
    if (o->right) b = transpose_of(b); /* X A = B is A' X' = B' */
    const bool transposed = o->transposed != o->right;
    wick_tensor *x = solve_by(a, b,
                              (o->upper ? WICK_FACTOR_UPPER : 0) | (o->unit ? WICK_FACTOR_UNIT : 0) |
                                  (transposed ? WICK_FACTOR_TRANSPOSED : 0));
    return back_to(o->right ? transpose_of(x) : x, d);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

/* gA = (S + S') / 2, S = L^-T phi(L' gL) L^-1, where phi is the lower triangle with half its diagonal. */
static void rule_cholesky(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    wick_tensor *l = wick_custom_gradient(y, n, xs, rule_cholesky, user);
    wick_tensor *phi = wick_triangle_of(wick_matmul(transpose_of(l), g), false, 0, 0.5);
    wick_tensor *s = solve_by(l, transpose_of(solve_by(l, phi, WICK_FACTOR_TRANSPOSED)), WICK_FACTOR_TRANSPOSED);
    gx[0] = times(wick_add(s, transpose_of(s)), 0.5);
}
wick_tensor *wick_cholesky(wick_tensor *a, bool upper) {
    wick_tensor *bad = refuse("cholesky", a, true), *out[2];
    if (bad || !a) return bad;
    const wick_dtype d = wick_tensor_dtype(a);
    a = wick_as(a, computed_in(a));
    const wick_factor_attr attr = {wick_tensor_dim(a, -1), wick_tensor_dim(a, -1), 0, 0};
    wick_record_n(NULL, &wick_op_cholesky, 1, &a, &attr, sizeof attr, 2, out);
    wick_tensor *l = wick_custom_gradient(wick_check_factor(out[0], out[1], true), 1, &a, rule_cholesky, NULL);
    return back_to(upper ? transpose_of(l) : l, d);
}
wick_tensor *wick_cholesky_solve(wick_tensor *b, wick_tensor *factor, bool upper) {
    const wick_triangular_options first = {.upper = upper, .transposed = upper},
                                  second = {.upper = upper, .transposed = !upper};
    return wick_solve_triangular(factor, wick_solve_triangular(factor, b, &first), &second);
}

/* ---- by LU ------------------------------------------------------------------------------------------------------- */

typedef struct factored {
    wick_tensor *a, *lu, *pivot, *sign, *info;
} factored;
static factored factor(wick_tensor *a) {
    wick_tensor *out[4];
    const wick_factor_attr attr = {wick_tensor_dim(a, -1), wick_tensor_dim(a, -1), 0, 0};
    wick_record_n(NULL, &wick_op_lu, 1, &a, &attr, sizeof attr, 4, out);
    return (factored){a, out[0], out[1], out[2], out[3]};
}

/* X of A X = B, or of A' X = B (user). xs: A, B, lu, pivot. gB = A^-T gX, gA = -gB X'; transposed: gB = A^-1 gX, gA =
 * -X gB'. */
static wick_tensor *solve_factored(wick_tensor *a, wick_tensor *b, wick_tensor *lu, wick_tensor *pivot,
                                   bool transposed);
static void rule_solve(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    wick_tensor *x = wick_custom_gradient(y, n, xs, rule_solve, user);
    wick_tensor *gb = solve_factored(xs[0], g, xs[2], xs[3], !user);
    gx[0] = wick_neg(user ? wick_matmul(x, transpose_of(gb)) : wick_matmul(gb, transpose_of(x)));
    gx[1] = gb;
}
static char transposed_mark;
static wick_tensor *solve_factored(wick_tensor *a, wick_tensor *b, wick_tensor *lu, wick_tensor *pivot,
                                   bool transposed) {
    wick_tensor *x = wick_factor_record(&wick_op_lu_solve, 3, (wick_tensor *[]){lu, pivot, b}, wick_tensor_dim(b, -1),
                                        wick_tensor_dim(a, -1), transposed ? WICK_FACTOR_TRANSPOSED : 0);
    return wick_custom_gradient(x, 4, (wick_tensor *[]){a, b, lu, pivot}, rule_solve,
                                transposed ? &transposed_mark : NULL);
}
/* xs: A. g of the inverse Y: -Y' g Y'. */
static void rule_inverse(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    wick_tensor *inverse = transpose_of(wick_custom_gradient(y, n, xs, rule_inverse, user));
    gx[0] = wick_neg(wick_matmul(inverse, wick_matmul(g, inverse)));
}
static wick_tensor *inverse_factored(wick_tensor *a, wick_tensor *lu, wick_tensor *pivot) {
    const int64_t n = wick_tensor_dim(a, -1);
    wick_tensor *x = wick_factor_record(&wick_op_lu_solve, 2, (wick_tensor *[]){lu, pivot}, n, n, 0);
    return wick_custom_gradient(x, 1, &a, rule_inverse, NULL);
}

wick_tensor *wick_solve(wick_tensor *a, wick_tensor *b) {
    if (!wick_promote_pair(&a, &b, "solve")) return a;
    wick_tensor *bad = refuse("solve", a, true);
    if (bad) return bad;
    const int ra = wick_tensor_rank(a), rb = wick_tensor_rank(b);
    bool vectors = rb == 1 || rb == ra - 1; /* as PyTorch tells vectors from matrices */
    for (int k = 0; rb == ra - 1 && k < rb; k++) vectors &= wick_tensor_dims(a)[k] == wick_tensor_dims(b)[k];
    wick_tensor *shown = b;
    if (vectors) b = wick_unsqueeze(b, -1);
    wick_type both;
    if (wick_tensor_rank(b) < 2 || wick_tensor_dim(b, -2) != wick_tensor_dim(a, -1) || !common_batch(a, b, &both))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "solve(%s, %s): the right side does not fit the matrices",
                           wick_shown_of(a).text, wick_shown_of(shown).text);
    const wick_dtype d = wick_tensor_dtype(a), computed = computed_in(a);
    const factored f = factor(wick_as(a, computed));
    wick_tensor *lu = wick_check_factor(f.lu, f.info, false);
    b = with_batch(wick_as(b, computed), both.rank, both.dims, 2);
    wick_tensor *x =
        solve_factored(with_batch(f.a, both.rank, both.dims, 2), b, with_batch(lu, both.rank, both.dims, 2),
                       with_batch(f.pivot, both.rank, both.dims, 1), false);
    return back_to(vectors ? wick_squeeze(x, -1) : x, d);
}
wick_tensor *wick_inverse(wick_tensor *a) {
    wick_tensor *bad = refuse("inverse", a, true);
    if (bad || !a) return bad;
    const factored f = factor(wick_as(a, computed_in(a)));
    return back_to(inverse_factored(f.a, wick_check_factor(f.lu, f.info, false), f.pivot), wick_tensor_dtype(a));
}

/* Numbers, one for each matrix, as [..., 1, 1]. */
static wick_tensor *as_matrix(wick_tensor *x) { return wick_unsqueeze(wick_unsqueeze(x, -1), -1); }
/* xs: A, lu, pivot. Of det: g det A^-T; of log |det| (user): g A^-T. */
static void rule_det(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    wick_tensor *inverse = inverse_factored(xs[0], xs[1], xs[2]);
    wick_tensor *by = user ? g : wick_mul(g, wick_custom_gradient(y, n, xs, rule_det, user));
    gx[0] = wick_mul(as_matrix(by), transpose_of(inverse));
}
wick_tensor *wick_det(wick_tensor *a) {
    wick_tensor *bad = refuse("det", a, true);
    if (bad || !a) return bad;
    const factored f = factor(wick_as(a, computed_in(a)));
    wick_tensor *det = wick_mul(wick_prod(wick_diagonal(f.lu, 0, -2, -1), WICK_AXES(-1), false), f.sign);
    return back_to(wick_custom_gradient(det, 3, (wick_tensor *[]){f.a, f.lu, f.pivot}, rule_det, NULL),
                   wick_tensor_dtype(a));
}
void wick_slogdet(wick_tensor *a, wick_tensor **sign, wick_tensor **log_abs) {
    wick_tensor *unwanted;
    if (!sign) sign = &unwanted;
    if (!log_abs) log_abs = &unwanted;
    wick_tensor *bad = refuse("slogdet", a, true);
    if (bad || !a) {
        *sign = *log_abs = bad;
        return;
    }
    const factored f = factor(wick_as(a, computed_in(a)));
    wick_tensor *diagonal = wick_diagonal(f.lu, 0, -2, -1);
    wick_tensor *log = wick_sum(wick_log(wick_abs(diagonal)), WICK_AXES(-1), false);
    *sign = back_to(wick_mul(f.sign, wick_prod(wick_sign(diagonal), WICK_AXES(-1), false)), wick_tensor_dtype(a));
    *log_abs = back_to(wick_custom_gradient(log, 3, (wick_tensor *[]){f.a, f.lu, f.pivot}, rule_det, &transposed_mark),
                       wick_tensor_dtype(a));
}

/* ---- several results as one -------------------------------------------------------------------------------------- */

typedef struct shape {
    int64_t rows, cols; /* cols -1: a vector of rows */
} shape;
static int64_t count_of(shape s) { return s.cols < 0 ? s.rows : s.rows * s.cols; }
/* x [..., tail dims of s] as [..., count]. */
static wick_tensor *flat(wick_tensor *x, shape s) {
    if (wick_is_bad(x) || s.cols < 0) return x;
    int64_t dims[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(x);
    memcpy(dims, wick_tensor_dims(x), (size_t)rank * sizeof *dims);
    dims[rank - 2] = count_of(s);
    return wick_reshape(x, rank - 1, dims);
}
static wick_tensor *packed(int n, wick_tensor *const *parts, const shape *shapes) {
    wick_tensor *list[3];
    for (int i = 0; i < n; i++) list[i] = flat(parts[i], shapes[i]);
    return wick_concat(n, list, -1);
}
static void unpack(wick_tensor *y, int n, wick_tensor **parts, const shape *shapes) {
    int64_t at = 0, dims[WICK_MAX_DIMS];
    for (int i = 0; i < n; at += count_of(shapes[i++])) {
        parts[i] = wick_slice(y, -1, at, at + count_of(shapes[i]), 1);
        if (wick_is_bad(parts[i]) || shapes[i].cols < 0) continue;
        const int rank = wick_tensor_rank(y);
        memcpy(dims, wick_tensor_dims(y), (size_t)rank * sizeof *dims);
        dims[rank - 1] = shapes[i].rows;
        dims[rank] = shapes[i].cols;
        parts[i] = wick_reshape(parts[i], rank + 1, dims);
    }
}

/* ---- QR ---------------------------------------------------------------------------------------------------------- */

static void shapes_of_qr(const wick_tensor *a, bool complete, shape s[2]) {
    const int64_t m = wick_tensor_dim(a, -2), n = wick_tensor_dim(a, -1), columns = complete ? m : WICK_MIN(m, n);
    s[0] = (shape){m, columns};
    s[1] = (shape){columns, n};
}
/* R square: gA = (gQ + Q sym) R^-T with M = R gR' - gQ' Q, sym its lower triangle and the same mirrored. */
static wick_tensor *backward_qr(wick_tensor *q, wick_tensor *r, wick_tensor *gq, wick_tensor *gr) {
    wick_tensor *m = wick_sub(wick_matmul(r, transpose_of(gr)), wick_matmul(transpose_of(gq), q));
    wick_tensor *symmetric = wick_add(wick_triangle_of(m, false, 0, 1), transpose_of(wick_triangle_of(m, false, 0, 0)));
    /* X R' = B is R X' = B' */
    return transpose_of(solve_by(r, transpose_of(wick_add(gq, wick_matmul(q, symmetric))), WICK_FACTOR_UPPER));
}
static void rule_qr(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    wick_tensor *part[2], *gpart[2], *a = xs[0];
    shape shapes[2];
    const int64_t rows = wick_tensor_dim(a, -2), cols = wick_tensor_dim(a, -1);
    shapes_of_qr(a, user != NULL, shapes);
    unpack(wick_custom_gradient(y, n, xs, rule_qr, user), 2, part, shapes);
    unpack(g, 2, gpart, shapes);
    if (user && rows > cols) {
        gx[0] = wick_poison(a->ctx, WICK_ERR_UNSUPPORTED,
                            "qr: the complete form of high matrices has no gradient; use the reduced one");
    } else if (rows >= cols) {
        gx[0] = backward_qr(part[0], part[1], gpart[0], gpart[1]);
    } else { /* A = [X | Y], R = [U | V]: X = Q U, Y = Q V */
        wick_tensor *u = wick_slice(part[1], -1, 0, rows, 1), *gu = wick_slice(gpart[1], -1, 0, rows, 1),
                    *gv = wick_slice(gpart[1], -1, rows, cols, 1);
        wick_tensor *right = wick_slice(a, -1, rows, cols, 1),
                    *gq = wick_add(gpart[0], wick_matmul(right, transpose_of(gv)));
        gx[0] = wick_concat(2, (wick_tensor *[]){backward_qr(part[0], u, gq, gu), wick_matmul(part[0], gv)}, -1);
    }
}
void wick_qr(wick_tensor *a, bool complete, wick_tensor **q, wick_tensor **r) {
    wick_tensor *unwanted;
    if (!q) q = &unwanted;
    if (!r) r = &unwanted;
    wick_tensor *bad = refuse("qr", a, false), *out[2];
    *q = *r = bad;
    if (bad || !a) return;
    const wick_dtype d = wick_tensor_dtype(a);
    a = wick_as(a, computed_in(a));
    const wick_factor_attr attr = {wick_tensor_dim(a, -2), wick_tensor_dim(a, -1), complete ? WICK_FACTOR_FULL : 0, 0};
    shape shapes[2];
    shapes_of_qr(a, complete, shapes);
    wick_record_n(NULL, &wick_op_qr, 1, &a, &attr, sizeof attr, 2, out);
    unpack(wick_custom_gradient(packed(2, out, shapes), 1, &a, rule_qr, complete ? &transposed_mark : NULL), 2, out,
           shapes);
    *q = back_to(out[0], d);
    *r = back_to(out[1], d);
}

/* ---- eigenvalues of symmetric matrices --------------------------------------------------------------------------- */

/* 1 / x, 0 where x is 0: of equal eigenvalues the gradient does not exist; PyTorch's is infinite. */
static wick_tensor *inverse_or_zero(wick_tensor *x) {
    wick_tensor *zero = wick_eq(x, wick_like(x, 0));
    return wick_where(zero, wick_like(x, 0), wick_reciprocal(wick_where(zero, wick_like(x, 1), x)));
}
/* w[j] - w[i] at [i, j]. */
static wick_tensor *differences(wick_tensor *w) { return wick_sub(wick_unsqueeze(w, -2), wick_unsqueeze(w, -1)); }

/* gA = V (diag(gw) + V' gV / E) V', E[i, j] = w[j] - w[i]. */
static void rule_eigh(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    const int64_t size = wick_tensor_dim(xs[0], -1);
    const shape shapes[2] = {{size, -1}, {size, size}};
    wick_tensor *part[2], *gpart[2];
    unpack(wick_custom_gradient(y, n, xs, rule_eigh, user), 2, part, shapes);
    unpack(g, 2, gpart, shapes);
    wick_tensor *v = part[1],
                *off = wick_mul(wick_matmul(transpose_of(v), gpart[1]), inverse_or_zero(differences(part[0])));
    wick_tensor *inside = wick_add(wick_matmul(v, off), wick_mul(v, wick_unsqueeze(gpart[0], -2)));
    gx[0] = wick_matmul(inside, transpose_of(v));
}
void wick_eigh(wick_tensor *a, wick_tensor **values, wick_tensor **vectors) {
    wick_tensor *unwanted;
    if (!values) values = &unwanted;
    if (!vectors) vectors = &unwanted;
    wick_tensor *bad = refuse("eigh", a, true), *out[2];
    *values = *vectors = bad;
    if (bad || !a) return;
    const wick_dtype d = wick_tensor_dtype(a);
    a = wick_as(a, computed_in(a));
    const int64_t n = wick_tensor_dim(a, -1);
    const wick_factor_attr attr = {n, n, 0, 0};
    const shape shapes[2] = {{n, -1}, {n, n}};
    wick_record_n(NULL, &wick_op_eigh, 1, &a, &attr, sizeof attr, 2, out);
    unpack(wick_custom_gradient(packed(2, out, shapes), 1, &a, rule_eigh, NULL), 2, out, shapes);
    *values = back_to(out[0], d);
    *vectors = back_to(out[1], d);
}

/* ---- singular values --------------------------------------------------------------------------------------------- */

/* A [m, n], m >= n. With k = n columns of U: gA = U (skew(U' gU) / E S + S skew(V' gV) / E + diag(gs)) V' + (I - U U')
 * gU S^-1 V', where E[i, j] = s[j]^2 - s[i]^2 and skew(X) = X - X'. */
static void rule_svd(void *user, wick_tensor *g, wick_tensor *y, int n_xs, wick_tensor *const *xs, wick_tensor **gx) {
    const int64_t m = wick_tensor_dim(xs[0], -2), n = wick_tensor_dim(xs[0], -1);
    const shape shapes[3] = {{m, user ? m : n}, {n, -1}, {n, n}};
    wick_tensor *part[3], *gpart[3];
    unpack(wick_custom_gradient(y, n_xs, xs, rule_svd, user), 3, part, shapes);
    unpack(g, 3, gpart, shapes);
    wick_tensor *u = wick_slice(part[0], -1, 0, n, 1), *gu = wick_slice(gpart[0], -1, 0, n, 1), *s = part[1],
                *vt = part[2], *gv = transpose_of(gpart[2]);
    wick_tensor *over = inverse_or_zero(differences(wick_square(s))), *row = wick_unsqueeze(s, -2),
                *column = wick_unsqueeze(s, -1);
    wick_tensor *ugu = wick_matmul(transpose_of(u), gu), *vgv = wick_matmul(vt, gv);
    wick_tensor *left = wick_mul(wick_mul(wick_sub(ugu, transpose_of(ugu)), over), row),
                *right = wick_mul(wick_mul(wick_sub(vgv, transpose_of(vgv)), over), column);
    wick_tensor *inside = wick_add(wick_matmul(u, wick_add(left, right)), wick_mul(u, wick_unsqueeze(gpart[1], -2)));
    if (m > n)
        inside = wick_add(inside, wick_mul(wick_sub(gu, wick_matmul(u, ugu)), wick_unsqueeze(inverse_or_zero(s), -2)));
    gx[0] = wick_matmul(inside, vt);
}
void wick_svd(wick_tensor *a, bool full, wick_tensor **u, wick_tensor **s, wick_tensor **vt) {
    wick_tensor *unwanted;
    if (!u) u = &unwanted;
    if (!s) s = &unwanted;
    if (!vt) vt = &unwanted;
    wick_tensor *bad = refuse("svd", a, false), *out[3];
    *u = *s = *vt = bad;
    if (bad || !a) return;
    const wick_dtype d = wick_tensor_dtype(a);
    a = wick_as(a, computed_in(a));
    const bool wide = wick_tensor_dim(a, -1) > wick_tensor_dim(a, -2);
    if (wide) a = transpose_of(a); /* A' = V S U' */
    const int64_t m = wick_tensor_dim(a, -2), n = wick_tensor_dim(a, -1);
    const shape shapes[3] = {{m, full ? m : n}, {n, -1}, {n, n}};
    wick_tensor *q = NULL, *r = a;
    if (!full && m > n) wick_qr(a, false, &q, &r); /* of A = Q R: R = U S V', A = (Q U) S V' */
    const wick_factor_attr attr = {q ? n : m, n, 0, 0};
    wick_record_n(NULL, &wick_op_svd, 1, &r, &attr, sizeof attr, 3, out);
    if (q) out[0] = wick_matmul(q, out[0]);
    unpack(wick_custom_gradient(packed(3, out, shapes), 1, &a, rule_svd, full ? &transposed_mark : NULL), 3, out,
           shapes);
    *u = back_to(wide ? transpose_of(out[2]) : out[0], d);
    *s = back_to(out[1], d);
    *vt = back_to(wide ? transpose_of(out[0]) : out[2], d);
}

/* ---- what is solved with them ------------------------------------------------------------------------------------ */

static double default_tolerance(const wick_tensor *a) {
    return (double)WICK_MAX(wick_tensor_dim(a, -1), wick_tensor_dim(a, -2)) *
           (computed_in(a) == WICK_F64 ? 0x1p-52 : 0x1p-23);
}
/* Which singular values count. */
static wick_tensor *above(wick_tensor *s, double tolerance) {
    wick_tensor *top = wick_slice(s, -1, 0, 1, 1);
    return wick_gt(s, times(top, tolerance));
}
wick_tensor *wick_pinv(wick_tensor *a, double tolerance) {
    wick_tensor *bad = refuse("pinv", a, false), *u, *s, *vt;
    if (bad || !a) return bad;
    if (wick_tensor_dim(a, -1) == 0 || wick_tensor_dim(a, -2) == 0) return transpose_of(a);
    const wick_dtype d = wick_tensor_dtype(a);
    wick_svd(wick_as(a, computed_in(a)), false, &u, &s, &vt);
    wick_tensor *counts = above(s, tolerance > 0 ? tolerance : default_tolerance(a));
    wick_tensor *over = wick_where(counts, wick_reciprocal(wick_where(counts, s, wick_like(s, 1))), wick_like(s, 0));
    return back_to(wick_matmul(wick_mul(transpose_of(vt), wick_unsqueeze(over, -2)), transpose_of(u)), d);
}
wick_tensor *wick_matrix_rank(wick_tensor *a, double tolerance) {
    wick_tensor *bad = refuse("matrix_rank", a, false), *u, *s, *vt;
    if (bad || !a) return bad;
    wick_svd(a, false, &u, &s, &vt);
    wick_tensor *counts = wick_tensor_dim(s, -1) ? above(s, tolerance > 0 ? tolerance : default_tolerance(a)) : s;
    return wick_sum(wick_cast(counts, WICK_I64), WICK_AXES(-1), false);
}
wick_tensor *wick_lstsq(wick_tensor *a, wick_tensor *b) {
    if (!wick_promote_pair(&a, &b, "lstsq")) return a;
    wick_tensor *bad = refuse("lstsq", a, false), *q, *r;
    if (!bad) bad = refuse("lstsq", b, false);
    if (bad) return bad;
    if (wick_tensor_dim(b, -2) != wick_tensor_dim(a, -2))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "lstsq(%s, %s): the right side does not fit the matrix",
                           wick_shown_of(a).text, wick_shown_of(b).text);
    const wick_dtype d = wick_tensor_dtype(a);
    a = wick_as(a, computed_in(a));
    b = wick_as(b, computed_in(b));
    const bool wide = wick_tensor_dim(a, -1) > wick_tensor_dim(a, -2);
    wick_qr(wide ? transpose_of(a) : a, false, &q, &r);
    const wick_triangular_options upper = {.upper = true}, lower = {.upper = true, .transposed = true};
    /* A' = Q R: the shortest of all solutions */
    if (wide) return back_to(wick_matmul(q, wick_solve_triangular(r, b, &lower)), d);
    return back_to(wick_solve_triangular(r, wick_matmul(transpose_of(q), b), &upper), d);
}
