/* eig.c: eigenvalues of general matrices, by LAPACK's dgeev, loaded when it is first asked for. LAPACK allocates and has threads of its own, so it runs
 * outside of plans: the function evaluates its argument and gives data. */
#include <dlfcn.h>

#include "ops/factor.h"
#include "wick/linalg.h"

typedef void dgeev_fn(const char *left, const char *right, const int *n, double *a, const int *a_row, double *re, double *im, double *vl, const int *vl_row,
                      double *vr, const int *vr_row, double *work, const int *work_size, int *info, size_t left_length, size_t right_length);

/* NULL: there is no LAPACK. It stays loaded. ISO C cannot turn the pointer into a function's; POSIX promises that copying the bits works. */
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
static double number(wick_dtype d, const void *x, int64_t k) { return d == WICK_F64 ? ((const double *)x)[k] : (double)((const float *)x)[k]; }

void wick_eig(wick_tensor *a, wick_tensor **values, wick_tensor **vectors) {
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
        bad = wick_poison(ctx, WICK_ERR_INVALID, "eig(%s): needs a value, which a function that is being compiled does not have; symmetric matrices have wick_eigh",
                          wick_shown_of(a).text);
    else if (!(dgeev = find_dgeev()))
        bad = wick_poison(ctx, WICK_ERR_UNSUPPORTED, "eig: needs LAPACK (liblapack.so.3 or libopenblas.so.0; Debian: liblapack3), which is not on this machine");
    const void *data = NULL;
    if (!bad) {
        a = wick_as(a, wick_tensor_dtype(a) == WICK_F64 ? WICK_F64 : WICK_F32);
        const wick_status status = wick_data(a, &data);
        if (status) bad = wick_poison(ctx, status, "eig: %s", wick_context_error(ctx));
    }
    *values = *vectors = bad;
    if (bad) return;
    const wick_dtype d = wick_tensor_dtype(a);
    const int64_t count = n ? wick_tensor_count(a) / (n * n) : 0;
    const int order = (int)n, work_size = (int)(8 * n + 1), row = WICK_MAX(order, 1), one = 1;
    /* The matrix, LAPACK's vectors, its two lists of values, its work; then all results. */
    const size_t each = (size_t)(2 * n * n + 2 * n) + (size_t)work_size, results = (size_t)(count * (2 * n + 2 * n * n)), bytes = (each + results + 1) * sizeof(double);
    double *memory = wick_alloc(&ctx->alloc, bytes);
    if (!memory) {
        *values = *vectors = &ctx->nomem;
        return;
    }
    double *matrix = memory, *vr = matrix + n * n, *re = vr + n * n, *im = re + n, *work = im + n, *w = memory + each, *v = w + count * 2 * n;
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
                to[1] = !finite ? __builtin_nan("") : im[k] == 0 ? 0 : second ? -vr[(first + 1) * n + i] : vr[(first + 1) * n + i];
            }
        }
    }
    if (info) {
        *values = *vectors = wick_poison(ctx, WICK_ERR_INVALID, "eig: the iteration did not converge");
    } else {
        int64_t dims[WICK_MAX_DIMS + 1];
        memcpy(dims, wick_tensor_dims(a), (size_t)rank * sizeof *dims);
        dims[rank] = 2;
        *vectors = wick_from_f64(ctx, d, rank + 1, dims, v);
        dims[rank - 1] = 2;
        *values = wick_from_f64(ctx, d, rank, dims, w);
    }
    wick_release(&ctx->alloc, memory, bytes);
}
