/* bidiagonal_body.h: singular values, by Householder's reflections from both sides to a bidiagonal matrix and implicit
 * QR steps on that (Golub, Reinsch, Singular value decomposition and least squares solutions, 1970; Golub, Van Loan,
 * Matrix Computations, 4th ed., 8.6). Included by dense.c once per type, after tridiagonal_body.h. */

/* v [n] becomes the v of the reflection H = I - v v' that turns it into a multiple of the first unit vector, which is
 * the result; 0: H is I, and v zeros. */
static double DENSE_NAME(reflection)(dense_run *r, int64_t n, DENSE_T *v) {
    double s[3] = {0};
    const double first = (double)v[0];
    if (n > 1) r->loops->dots(n - 1, v + 1, v + 1, s);
    if (s[0] == 0) {
        memset(v, 0, (size_t)n * sizeof *v);
        return first;
    }
    const double length = __builtin_sqrt(first * first + s[0]), other = first > 0 ? -length : length;
    const double scale = 1 / __builtin_sqrt(length * (length + __builtin_fabs(first)));
    v[0] = (DENSE_T)((first - other) * scale);
    for (int64_t j = 1; j < n; j++) v[j] = (DENSE_T)((double)v[j] * scale);
    return other;
}

/* x [m, n], m >= n, becomes U' x V, with d on its diagonal and e above it (e[i] couples i - 1 and i). Row k of left [n,
 * m] and of x keep the reflections of column and row k, from k and k + 1 on. w has room for m. */
static void DENSE_NAME(bidiagonal)(dense_run *r, int64_t m, int64_t n, DENSE_T *x, DENSE_T *left, double *d, double *e,
                                   DENSE_T *w) {
    if (n) e[0] = 0;
    for (int64_t k = 0; k < n; k++) {
        DENSE_T *u = left + k * m + k, *rest = x + k * n + k + 1;
        const int64_t cols = n - k - 1;
        for (int64_t i = k; i < m; i++) u[i - k] = x[i * n + k];
        d[k] = DENSE_NAME(reflection)(r, m - k, u);
        if (!cols) continue;
        memset(w, 0, (size_t)cols * sizeof *w);
        r->loops->combine(m - k, cols, u, 1, rest, n, w);
        r->loops->rank_one(m - k, cols, u, 1, w, rest, n);
        e[k + 1] = DENSE_NAME(reflection)(r, cols, rest); /* of row k, which nobody else reads any more */
        for (int64_t i = k + 1; i < m; i++) {
            double s[3];
            r->loops->dots(cols, x + i * n + k + 1, rest, s);
            w[i] = (DENSE_T)s[2];
        }
        r->loops->rank_one(m - k - 1, cols, w + k + 1, 1, rest, x + (k + 1) * n + k + 1, n);
    }
}

/* q [n, n] = (H(0) H(1) ...)' of `count` reflections; H(k) is row k of v, whose rows lie v_row apart, from k + begin
 * on. */
static void DENSE_NAME(turned_back)(dense_run *r, int64_t n, int64_t count, int64_t begin, const DENSE_T *v,
                                    int64_t v_row, DENSE_T *q, DENSE_T *w) {
    for (int64_t i = 0; i < n * n; i++) q[i] = i % (n + 1) == 0;
    for (int64_t k = count - 1; k >= 0; k--) { /* the last ones first: q (I - v v') touches the last columns alone */
        const int64_t at = k + begin, size = n - at;
        const DENSE_T *h = v + k * v_row + at;
        if (size <= 0) continue;
        for (int64_t i = at; i < n; i++) {
            double s[3];
            r->loops->dots(size, q + i * n + at, h, s);
            w[i] = (DENSE_T)s[2];
        }
        r->loops->rank_one(size, size, w + at, 1, h, q + at * n + at, n);
    }
}

/* numbers are scaled: squares stay in range */
static double DENSE_NAME(hypotenuse)(double a, double b) { return __builtin_sqrt(a * a + b * b); }

/* The bidiagonal d, e becomes diagonal, and d no less than 0, by rotations which rows of ut [., m] and vt [n, n] take
 * part in. */
static void DENSE_NAME(diagonal)(dense_run *r, int64_t m, int64_t n, double *d, double *e, DENSE_T *ut, DENSE_T *vt) {
    enum { MOST = 60 };
    double size = 0;
    for (int64_t i = 0; i < n; i++) size = WICK_MAX(size, __builtin_fabs(d[i]) + __builtin_fabs(e[i]));
    const double nothing = 0x1p-53 * size;
    for (int64_t k = n - 1; k >= 0; k--)
        for (int step = 0; step < MOST; step++) {
            int64_t begin = k; /* of the block that ends at k */
            while (begin > 0 && __builtin_fabs(e[begin]) > nothing && __builtin_fabs(d[begin - 1]) > nothing) begin--;
            if (begin > 0 && __builtin_fabs(e[begin]) > nothing) { /* d[begin - 1] is 0: e[begin] is turned away */
                double c = 0, s = 1;
                for (int64_t i = begin; i <= k; i++) {
                    const double f = s * e[i], g = d[i];
                    e[i] *= c;
                    if (__builtin_fabs(f) <= nothing) break;
                    d[i] = DENSE_NAME(hypotenuse)(f, g);
                    c = g / d[i];
                    s = -f / d[i];
                    r->loops->rotate(m, c, -s, ut + (begin - 1) * m, ut + i * m);
                }
            }
            if (begin == k) {
                if (d[k] < 0) {
                    d[k] = -d[k];
                    for (int64_t j = 0; j < n; j++) vt[k * n + j] = -vt[k * n + j];
                }
                break;
            }
            /* The shift is the eigenvalue of the last 2 x 2 block of B'B that is nearer its corner. */
            const double x = d[begin], y = d[k - 1], z = d[k], g = e[k - 1] * (k - 1 > begin), h = e[k];
            const double half = ((y - z) * (y + z) + (g - h) * (g + h)) / (2 * h * y),
                         root = DENSE_NAME(hypotenuse)(half, 1);
            double f = ((x - z) * (x + z) + h * (y / (half + (half < 0 ? -root : root)) - h)) / x, c = 1, s = 1,
                   last = x;
            for (int64_t j = begin; j < k; j++) {
                double above = c * e[j + 1], below = d[j + 1], bulge = s * e[j + 1];
                e[j] = DENSE_NAME(hypotenuse)(f, bulge);
                c = e[j] > 0 ? f / e[j] : 1;
                s = e[j] > 0 ? bulge / e[j] : 0;
                f = last * c + above * s;
                above = above * c - last * s;
                bulge = below * s;
                below *= c;
                r->loops->rotate(n, c, -s, vt + j * n, vt + (j + 1) * n);
                d[j] = DENSE_NAME(hypotenuse)(f, bulge);
                c = d[j] > 0 ? f / d[j] : c;
                s = d[j] > 0 ? bulge / d[j] : s;
                f = c * above + s * below;
                last = c * below - s * above;
                r->loops->rotate(m, c, -s, ut + j * m, ut + (j + 1) * m);
            }
            e[begin] = 0;
            e[k] = f;
            d[k] = last;
        }
}

/* A [m, n], m >= n, = U diag(s) V': U [m, m] (its first n columns are the reduced one's), s [n] falling, V' [n, n]. */
static void DENSE_NAME(svd)(dense_run *r, int64_t m, int64_t n, const void *av, void *uv, void *sv, void *vtv) {
    const DENSE_T *a = av;
    const int64_t doubles = n * (int64_t)(sizeof(double) / sizeof(DENSE_T));
    DENSE_T *x = dense_take(r, m * n), *left = dense_take(r, n * m), *ut = dense_take(r, m * m),
            *v = dense_take(r, n * n), *w = dense_take(r, m);
    DENSE_T *norm = dense_take(r, n), *order = dense_take(r, n);
    double *d = dense_take(r, doubles), *e = dense_take(r, doubles);
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
    for (int64_t i = 0; i < m * n; i++) x[i] = (DENSE_T)((double)a[i] * scale);
    DENSE_NAME(bidiagonal)(r, m, n, x, left, d, e, w);
    DENSE_NAME(turned_back)(r, m, n, 0, left, m, ut, w);
    DENSE_NAME(turned_back)(r, n, n - 1, 1, x, n, v, w);
    DENSE_NAME(diagonal)(r, m, n, d, e, ut, v);
    for (int64_t k = 0; k < n; k++) norm[k] = (DENSE_T)(d[k] / scale);
    DENSE_NAME(by_norm)(n, norm, order);
    for (int64_t k = 0; k < n; k++) {
        const int64_t j = (int64_t)order[k];
        s[k] = norm[j];
        memcpy(vt + k * n, v + j * n, (size_t)n * sizeof *vt);
        for (int64_t i = 0; i < m; i++) u[i * m + k] = ut[j * m + i];
    }
    for (int64_t k = n; k < m; k++)
        for (int64_t i = 0; i < m; i++) u[i * m + k] = ut[k * m + i];
}
