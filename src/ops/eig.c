/* eig.c: eigenvalues of general matrices, by LAPACK's dgeev, loaded when it is first asked for. LAPACK allocates and
 * has threads of its own, so it runs outside of plans: the function evaluates its argument, and what it gives is data
 * with a gradient of its own. */
#include <dlfcn.h>

#include "ops/factor.h"
#include "wick/linalg.h"
#include "wick/ops.h"
#include "wick/shape.h"
#include "wick/signal.h"

typedef void dgeev_fn(const char *left, const char *right, const int *n, double *a, const int *a_row, double *re,
                      double *im, double *vl, const int *vl_row, double *vr, const int *vr_row, double *work,
                      const int *work_size, int *info, size_t left_length, size_t right_length);

/* NULL: there is no LAPACK. It stays loaded. ISO C cannot turn the pointer into a function's; POSIX promises that
 * copying the bits works. */
static dgeev_fn *find_dgeev(void) {
    static const char *const files[] = {"liblapack.so.3", "libopenblas.so.0", "liblapack.so", "libopenblas.so"};
    dgeev_fn *function = NULL;
    for (size_t i = 0; i < WICK_COUNTOF(files) && !function; i++) {
        void *library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL), *at = library ? dlsym(library, "dgeev_") : NULL;
        memcpy(&function, &at, sizeof at);
        if (library && !at) dlclose(library);
    }
    return function;
}

/* Element k of x as f64. */
static double number(wick_dtype d, const void *x, int64_t k) {
    return d == WICK_F64 ? ((const double *)x)[k] : (double)((const float *)x)[k];
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* Complex matrices as their two parts. */
typedef struct parts {
    wick_tensor *re, *im;
} parts;
static wick_tensor *transposed(wick_tensor *x) { return wick_transpose(x, -1, -2); }
static parts adjoint(parts x) { return (parts){transposed(x.re), wick_neg(transposed(x.im))}; }
static parts product(parts x, parts y) {
    return (parts){wick_sub(wick_matmul(x.re, y.re), wick_matmul(x.im, y.im)),
                   wick_add(wick_matmul(x.re, y.im), wick_matmul(x.im, y.re))};
}
static wick_tensor *beside(wick_tensor *x, wick_tensor *y, int axis) {
    return wick_concat(2, (wick_tensor *[]){x, y}, axis);
}

/* Values [..., n, 2] and vectors [..., n, n, 2] as one tensor [..., 2 n + 2 n n], and back. */
static wick_tensor *reshaped(wick_tensor *x, int rank, const int64_t *batch, int n_tail, const int64_t *tail) {
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) dims[i] = i < rank - n_tail ? batch[i] : tail[i - (rank - n_tail)];
    return wick_reshape(x, rank, dims);
}
static void unpack(wick_tensor *y, int64_t n, wick_tensor **values, wick_tensor **vectors) {
    *values = *vectors = y;
    if (!y || y->error) return;
    const int rank = wick_tensor_rank(y);
    const int64_t *batch = wick_tensor_dims(y);
    *values = reshaped(wick_slice(y, -1, 0, 2 * n, 1), rank + 1, batch, 2, (const int64_t[]){n, 2});
    *vectors = reshaped(wick_slice(y, -1, 2 * n, INT64_MAX, 1), rank + 2, batch, 3, (const int64_t[]){n, n, 2});
}

/* For A V = V diag(L): V^-H (diag(gL) + (V^H gV - V^H V diag(Re diag(V^H gV))) / conj(E)) V^H, E[i, j] = L[j] - L[i]
 * (Boeddeker, Hanebrink, Drude, Heymann, Haeb-Umbach 2017, with the norms of vectors fixed); A is real, and so is the
 * part of it that counts. Where eigenvalues are equal, their share is 0. */
static void rule_eig(void *user, wick_tensor *g, wick_tensor *y, int n_xs, wick_tensor *const *xs, wick_tensor **gx) {
    const int64_t n = wick_tensor_dim(xs[0], -1);
    wick_tensor *values, *vectors, *g_values, *g_vectors;
    unpack(wick_custom_gradient(y, n_xs, xs, rule_eig, user), n, &values, &vectors);
    unpack(g, n, &g_values, &g_vectors);
    const parts l = {wick_real(values), wick_imag(values)}, v = {wick_real(vectors), wick_imag(vectors)},
                vh = adjoint(v);
    const parts gl = {wick_real(g_values), wick_imag(g_values)},
                turn = product(vh, (parts){wick_real(g_vectors), wick_imag(g_vectors)}), gram = product(vh, v);
    /* what would make vectors longer has no say */
    wick_tensor *length = wick_unsqueeze(wick_diagonal(turn.re, 0, -2, -1), -2);
    const parts inside = {wick_sub(turn.re, wick_mul(gram.re, length)), wick_sub(turn.im, wick_mul(gram.im, length))};
    const parts e = {wick_sub(wick_unsqueeze(l.re, -2), wick_unsqueeze(l.re, -1)),
                     wick_sub(wick_unsqueeze(l.im, -2), wick_unsqueeze(l.im, -1))};
    wick_tensor *size = wick_add(wick_square(e.re), wick_square(e.im)), *equal = wick_eq(size, wick_like(size, 0));
    wick_tensor *over =
        wick_where(equal, wick_like(size, 0), wick_reciprocal(wick_where(equal, wick_like(size, 1), size)));
    /* x / conj(e) = x e / |e|^2 */
    wick_tensor *re = wick_mul(wick_sub(wick_mul(inside.re, e.re), wick_mul(inside.im, e.im)), over);
    wick_tensor *im = wick_mul(wick_add(wick_mul(inside.re, e.im), wick_mul(inside.im, e.re)), over);
    const parts sum = {wick_add(re, wick_diagonal_matrix(gl.re, 0)), wick_add(im, wick_diagonal_matrix(gl.im, 0))},
                right = product(sum, vh);
    /* V^H x = right, as real equations. */
    wick_tensor *block = beside(beside(vh.re, wick_neg(vh.im), -1), beside(vh.im, vh.re, -1), -2);
    gx[0] = wick_slice(wick_solve(block, beside(right.re, right.im, -2)), -2, 0, n, 1);
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

void wick_eig(wick_tensor *a, wick_tensor **values, wick_tensor **vectors) {
    wick_tensor *unwanted;
    if (!values) values = &unwanted;
    if (!vectors) vectors = &unwanted;
    *values = *vectors = a;
    if (!a || a->error) return;
    wick_context *ctx = a->ctx;
    const int rank = wick_tensor_rank(a);
    const int64_t n = rank ? wick_tensor_dim(a, -1) : 0;
    dgeev_fn *dgeev = NULL;
    wick_tensor *bad = NULL;
    if (rank < 2 || wick_tensor_dim(a, -2) != n || rank == WICK_MAX_DIMS || n > 32768)
        bad = wick_poison(ctx, WICK_ERR_SHAPE, "eig(%s): needs square matrices", wick_shown_of(a).text);
    else if (ctx->frame->trace || ctx->target)
        bad = wick_poison(ctx, WICK_ERR_INVALID,
                          "eig(%s): needs a value, which a function that is being compiled does not have; symmetric "
                          "matrices have wick_eigh",
                          wick_shown_of(a).text);
    else if (!(dgeev = find_dgeev()))
        bad = wick_poison(
            ctx, WICK_ERR_UNSUPPORTED,
            "eig: needs LAPACK (liblapack.so.3 or libopenblas.so.0; Debian: liblapack3), which is not on this machine");
    const void *data = NULL;
    if (!bad) {
        a = wick_as(a, wick_tensor_dtype(a) == WICK_F64 ? WICK_F64 : WICK_F32);
        /* Not a itself is evaluated, if it is pending: gradients pass on through it. */
        const wick_status status =
            a->error ? WICK_OK : wick_data(wick_tensor_ready(a) ? a : wick_stop_gradient(a), &data);
        if (a->error) bad = a;
        else if (status) bad = wick_poison(ctx, status, "eig: %s", wick_context_error(ctx));
    }
    *values = *vectors = bad;
    if (bad) return;
    const wick_dtype d = wick_tensor_dtype(a);
    const int64_t count = n ? wick_tensor_count(a) / (n * n) : 0;
    const int order = (int)n, work_size = (int)(8 * n + 1), row = WICK_MAX(order, 1), one = 1;
    /* The matrix, LAPACK's vectors, its two lists of values, its work; then all results. */
    const size_t each = (size_t)(2 * n * n + 2 * n) + (size_t)work_size,
                 results = (size_t)(count * (2 * n + 2 * n * n)), bytes = (each + results + 1) * sizeof(double);
    double *memory = wick_alloc(&ctx->alloc, bytes);
    if (!memory) {
        *values = *vectors = &ctx->nomem;
        return;
    }
    double *matrix = memory, *vr = matrix + n * n, *re = vr + n * n, *im = re + n, *work = im + n, *w = memory + each,
           *v = w + count * 2 * n;
    int info = 0;
    for (int64_t t = 0; t < count && !info; t++) {
        bool finite = true;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const double x = matrix[j * n + i] = number(d, data, (t * n + i) * n + j); /* columns are contiguous */
                finite &= x - x == 0;
            }
        memset(re, 0, (size_t)(2 * n) * sizeof *re);
        if (finite)
            dgeev("N", "V", &order, matrix, &row, re, im, NULL, &one, vr, &row, work, &work_size, &info, 1, 1);
        for (int64_t k = 0; k < n; k++) {
            const bool second = im[k] < 0; /* of a pair: the conjugate of the one before */
            const int64_t first = second ? k - 1 : k;
            w[(t * n + k) * 2] = finite ? re[k] : __builtin_nan("");
            w[(t * n + k) * 2 + 1] = finite ? im[k] : __builtin_nan("");
            for (int64_t i = 0; i < n; i++) {
                double *to = v + ((t * n + i) * n + k) * 2;
                to[0] = finite ? vr[first * n + i] : __builtin_nan("");
                to[1] = !finite      ? __builtin_nan("")
                        : im[k] == 0 ? 0
                        : second     ? -vr[(first + 1) * n + i]
                                     : vr[(first + 1) * n + i];
            }
        }
    }
    if (info) {
        *values = *vectors = wick_poison(ctx, WICK_ERR_INVALID, "eig: the iteration did not converge");
    } else {
        int64_t dims[WICK_MAX_DIMS];
        memcpy(dims, wick_tensor_dims(a), (size_t)rank * sizeof *dims);
        dims[rank - 2] = 2 * n;
        wick_tensor *list[2] = {wick_from_f64(ctx, d, rank - 1, dims, w), NULL};
        dims[rank - 2] = 2 * n * n;
        list[1] = wick_from_f64(ctx, d, rank - 1, dims, v);
        unpack(wick_custom_gradient(wick_concat(2, list, -1), 1, &a, rule_eig, NULL), n, values, vectors);
    }
    wick_release(&ctx->alloc, memory, bytes);
}
