/* tridiagonal_body.h: eigenvalues of symmetric matrices, by Householder's reflections to a tridiagonal matrix and
 * implicit QL steps on that (Golub, Van Loan, Matrix Computations, 4th ed., 8.3). Included by dense.c once per type. */

/* x [n, n], symmetric, becomes T = Q' x Q: its diagonal d and subdiagonal e (e[i] couples i and i + 1). Row k of x
 * keeps the reflection H(k) = I - v v' that turned column k, from k + 1 on; Q = H(0) H(1) ... w has room for n. */
static void DENSE_NAME(tridiagonal)(dense_run *r, int64_t n, DENSE_T *x, double *d, double *e, DENSE_T *w) {
    for (int64_t k = 0; k < n; k++) {
        const int64_t left = n - k - 1;
        DENSE_T *v = x + k * n + k + 1, *rest = x + (k + 1) * n + k + 1;
        d[k] = (double)x[k * n + k];
        if (k + 1 < n) e[k] = (double)v[0];
        if (left < 2) continue; /* nothing to turn: x[k][n - 1] stays, and is no reflection */
        double s[3];
        r->loops->dots(left - 1, v + 1, v + 1, s);
        if (s[0] == 0) {
            memset(v, 0, (size_t)left * sizeof *v);
            continue;
        }
        const double first = (double)v[0], length = __builtin_sqrt(first * first + s[0]),
                     other = first > 0 ? -length : length;
        /* v v' is then the whole reflection */
        const double scale = 1 / __builtin_sqrt(length * (length + __builtin_fabs(first)));
        e[k] = other;
        v[0] = (DENSE_T)((first - other) * scale);
        for (int64_t j = 1; j < left; j++) v[j] = (DENSE_T)((double)v[j] * scale);
        memset(w, 0, (size_t)left * sizeof *w); /* w = x v - v (v' x v) / 2: H x H = x - v w' - w v' */
        r->loops->combine(left, left, v, 1, rest, n, w);
        r->loops->dots(left, v, w, s);
        const DENSE_T half = (DENSE_T)(s[2] / 2);
        r->loops->rank_one(1, left, &half, 1, v, w, left);
        r->loops->rank_one(left, left, v, 1, w, rest, n);
        r->loops->rank_one(left, left, w, 1, v, rest, n);
    }
}

/* Q of the reflections in x, into q [n, n]. */
static void DENSE_NAME(reflections)(dense_run *r, int64_t n, const DENSE_T *x, DENSE_T *q, DENSE_T *w) {
    for (int64_t i = 0; i < n * n; i++) q[i] = i % (n + 1) == 0;
    for (int64_t k = n - 3; k >= 0; k--) { /* the last ones first: they touch the last rows alone */
        const int64_t left = n - k - 1;
        const DENSE_T *v = x + k * n + k + 1;
        DENSE_T *rest = q + (k + 1) * n + k + 1;
        memset(w, 0, (size_t)left * sizeof *w);
        r->loops->combine(left, left, v, 1, rest, n, w);
        r->loops->rank_one(left, left, v, 1, w, rest, n);
    }
}

/* The tridiagonal d, e becomes diagonal by rotations, which rows of z [n, n] take part in. Those of one step go down
 * from the end of a block to its begin; the shift is Wilkinson's. */
static void DENSE_NAME(diagonalise)(dense_run *r, int64_t n, double *d, double *e, DENSE_T *z) {
    enum { MOST = 60 };
    if (n) e[n - 1] = 0;
    for (int64_t begin = 0; begin < n; begin++)
        for (int step = 0; step < MOST; step++) {
            int64_t end = begin;
            while (end + 1 < n &&
                   !(__builtin_fabs(e[end]) <= 0x1p-53 * (__builtin_fabs(d[end]) + __builtin_fabs(d[end + 1]))))
                end++;
            if (end == begin) break;
            const double gap = (d[begin + 1] - d[begin]) / (2 * e[begin]), root = __builtin_sqrt(gap * gap + 1);
            double bulge = d[end] - d[begin] + e[begin] / (gap + (gap < 0 ? -root : root)), c = 1, s = 1, moved = 0;
            int64_t i = end - 1;
            for (; i >= begin; i--) {
                const double f = s * e[i], g = c * e[i], length = __builtin_sqrt(f * f + bulge * bulge);
                e[i + 1] = length;
                if (length == 0) break; /* it falls into two blocks */
                s = f / length;
                c = bulge / length;
                const double above = d[i + 1] - moved, change = (d[i] - above) * s + 2 * c * g;
                moved = s * change;
                d[i + 1] = above + moved;
                bulge = c * change - g;
                r->loops->rotate(n, c, s, z + i * n, z + (i + 1) * n);
            }
            if (i >= begin) {
                d[i + 1] -= moved;
                e[end] = 0;
                continue;
            }
            d[begin] -= moved;
            e[begin] = bulge;
            e[end] = 0;
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

/* A V = V diag(values) of the symmetric A whose lower triangle is read; values rise, vectors are columns. */
static void DENSE_NAME(eigh)(dense_run *r, int64_t n, const void *av, void *values, void *vectors) {
    const DENSE_T *a = av;
    const int64_t doubles = n * (int64_t)(sizeof(double) / sizeof(DENSE_T));
    DENSE_T *x = dense_take(r, n * n), *z = dense_take(r, n * n), *value = dense_take(r, n), *order = dense_take(r, n);
    double *d = dense_take(r, doubles), *e = dense_take(r, doubles);
    if (!r->memory) return;
    DENSE_T *w = values, *out = vectors;
    double largest = 0;
    bool finite = true;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) {
            const double size = __builtin_fabs((double)a[i * n + j]);
            largest = size > largest ? size : largest;
            finite &= size - size == 0;
        }
    for (int64_t i = 0; i < n + n * n && !finite; i++) *(i < n ? w + i : out + i - n) = (DENSE_T)__builtin_nan("");
    if (!finite) return;
    const double scale = largest > 0 && largest < 1e300 ? 1 / largest : 1; /* squares stay in range */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) x[i * n + j] = (DENSE_T)((double)a[j <= i ? i * n + j : j * n + i] * scale);
    DENSE_NAME(tridiagonal)(r, n, x, d, e, value);
    DENSE_NAME(reflections)(r, n, x, out, value);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) z[i * n + j] = out[j * n + i];
    DENSE_NAME(diagonalise)(r, n, d, e, z);
    for (int64_t i = 0; i < n; i++) value[i] = (DENSE_T)(-d[i] / scale);
    DENSE_NAME(by_norm)(n, value, order);
    for (int64_t k = 0; k < n; k++) {
        const int64_t j = (int64_t)order[k];
        w[k] = -value[j];
        for (int64_t i = 0; i < n; i++) out[i * n + k] = z[j * n + i];
    }
}
