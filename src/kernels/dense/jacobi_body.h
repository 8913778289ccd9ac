/* jacobi_body.h: singular values by one-sided rotations (Hestenes 1958; Jacobi 1846): plain, accurate, some ten sweeps of n^3 multiply-adds.
 * Included by dense.c once per type. */

/* Rows of x [n, len] become orthogonal by rotations, which rows of v [n, v_len] take part in. */
static void DENSE_NAME(orthogonalise)(dense_run *r, int64_t n, int64_t len, DENSE_T *x, int64_t v_len, DENSE_T *v) {
    const double tolerance = (sizeof(DENSE_T) == 8 ? 0x1p-52 : 0x1p-23) * 2;
    bool turned = true;
    for (int sweep = 0; sweep < 40 && turned; sweep++) {
        turned = false;
        for (int64_t p = 0; p + 1 < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double s[3];
                r->loops->dots(len, x + p * len, x + q * len, s);
                if (!(s[2] * s[2] > tolerance * tolerance * s[0] * s[1])) continue;
                turned = true;
                const double zeta = (s[1] - s[0]) / (2 * s[2]);
                const double t = (zeta < 0 ? -1 : 1) / (__builtin_fabs(zeta) + __builtin_sqrt(1 + zeta * zeta)), c = 1 / __builtin_sqrt(1 + t * t);
                r->loops->rotate(len, c, c * t, x + p * len, x + q * len);
                r->loops->rotate(v_len, c, c * t, v + p * v_len, v + q * v_len);
            }
    }
}

/* order[i]: rows by falling norm. */
static void DENSE_NAME(by_norm)(int64_t n, const DENSE_T *norm, DENSE_T *order) {
    for (int64_t i = 0; i < n; i++) order[i] = (DENSE_T)i;
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = i; k > 0 && norm[(int64_t)order[k]] > norm[(int64_t)order[k - 1]]; k--) {
            const DENSE_T x = order[k];
            order[k] = order[k - 1];
            order[k - 1] = x;
        }
}

/* Fills rows [have, n) of x [n, n] so that all are orthonormal: unit vectors, the part along the rows before taken out, twice. */
static void DENSE_NAME(complete)(dense_run *r, int64_t have, int64_t n, DENSE_T *x) {
    int64_t unit = 0;
    for (int64_t i = have; i < n; i++) {
        DENSE_T *row = x + i * n;
        double s[3] = {0};
        for (; unit < n && !(s[0] > 0.25 / (double)n); unit++) {
            memset(row, 0, (size_t)n * sizeof *row);
            row[unit] = 1;
            for (int twice = 0; twice < 2; twice++)
                for (int64_t k = 0; k < i; k++) {
                    r->loops->dots(n, x + k * n, row, s);
                    const DENSE_T part = (DENSE_T)s[2];
                    r->loops->rank_one(1, n, &part, 1, x + k * n, row, n);
                }
            r->loops->dots(n, row, row, s);
        }
        const double scale = 1 / __builtin_sqrt(s[0]);
        for (int64_t j = 0; j < n; j++) row[j] = (DENSE_T)((double)row[j] * scale);
    }
}

/* A [m, n], m >= n, = U diag(s) V': U [m, m] (its first n columns are the reduced one's), s [n] falling, V' [n, n]. */
static void DENSE_NAME(svd)(dense_run *r, int64_t m, int64_t n, const void *av, void *uv, void *sv, void *vtv) {
    const DENSE_T *a = av;
    DENSE_T *x = dense_take(r, m * n), *v = dense_take(r, n * n), *ut = dense_take(r, m * m), *norm = dense_take(r, n), *order = dense_take(r, n);
    if (!r->memory) return;
    DENSE_T *u = uv, *s = sv, *vt = vtv;
    double largest = 0;
    bool finite = true;
    for (int64_t i = 0; i < m * n; i++) {
        const double size = __builtin_fabs((double)a[i]);
        largest = size > largest ? size : largest;
        finite &= size - size == 0;
    }
    if (!finite) { /* no rotation makes numbers of it */
        const DENSE_T nan = (DENSE_T)__builtin_nan("");
        for (int64_t i = 0; i < m * m; i++) u[i] = nan;
        for (int64_t i = 0; i < n; i++) s[i] = nan;
        for (int64_t i = 0; i < n * n; i++) vt[i] = nan;
        return;
    }
    const double scale = largest > 0 && largest < 1e300 ? 1 / largest : 1; /* squares stay in range */
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) x[j * m + i] = (DENSE_T)((double)a[i * n + j] * scale);
    for (int64_t i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    DENSE_NAME(orthogonalise)(r, n, m, x, n, v);
    for (int64_t j = 0; j < n; j++) {
        double d[3];
        r->loops->dots(m, x + j * m, x + j * m, d);
        norm[j] = (DENSE_T)__builtin_sqrt(d[0]);
    }
    DENSE_NAME(by_norm)(n, norm, order);
    int64_t rank = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t j = (int64_t)order[k];
        s[k] = (DENSE_T)((double)norm[j] / scale);
        memcpy(vt + k * n, v + j * n, (size_t)n * sizeof *vt);
        if (!(norm[j] <= norm[(int64_t)order[0]] * (DENSE_T)(sizeof(DENSE_T) == 8 ? 0x1p-50 : 0x1p-21))) { /* of smaller ones the direction is noise */
            for (int64_t i = 0; i < m; i++) ut[k * m + i] = x[j * m + i] / norm[j];
            rank = k + 1;
        }
    }
    DENSE_NAME(complete)(r, rank, m, ut);
    for (int64_t i = 0; i < m; i++)
        for (int64_t k = 0; k < m; k++) u[i * m + k] = ut[k * m + i];
}
