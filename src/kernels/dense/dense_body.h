/* dense_body.h: Cholesky, LU, triangular solves and QR for one type; included by dense.c with DENSE_T, DENSE_NAME,
 * DENSE_SQRT, DENSE_ABS. */

static void DENSE_NAME(exchange)(int64_t n, DENSE_T *x, DENSE_T *y) {
    for (int64_t j = 0; j < n && x != y; j++) {
        const DENSE_T t = x[j];
        x[j] = y[j];
        y[j] = t;
    }
}

/* dst = -src, both `cols` wide. */
static void DENSE_NAME(negate)(int64_t rows, int64_t cols, const DENSE_T *src, int64_t src_row, DENSE_T *dst) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) dst[i * cols + j] = -src[i * src_row + j];
}

/* X of T X = B, in place. T is lower triangular with any strides (an upper one is a lower one read backwards), B has
 * rows of m. */
static void DENSE_NAME(solve_lower)(dense_run *r, int64_t n, int64_t m, bool unit, const DENSE_T *t, int64_t t_row,
                                    int64_t t_col, DENSE_T *b, int64_t b_row) {
    const size_t before = r->at_product;
    /* of the rows of X that are known: T is multiplied where it lies */
    DENSE_T *negative = dense_take(r, n > r->block ? r->block * m : 0);
    for (int64_t k0 = 0; k0 < n; k0 += WICK_MIN(r->block, n)) {
        const int64_t k1 = n - k0 > r->block ? k0 + r->block : n, width = k1 - k0;
        for (int64_t k = k0; k < k1 && r->memory; k++) {
            if (!unit) {
                const DENSE_T d = t[k * t_row + k * t_col];
                for (int64_t j = 0; j < m; j++) b[k * b_row + j] /= d;
            }
            r->loops->rank_one(k1 - k - 1, m, t + (k + 1) * t_row + k * t_col, t_row, b + k * b_row,
                               b + (k + 1) * b_row, b_row);
        }
        if (k1 == n) break;
        if (r->memory) DENSE_NAME(negate)(width, m, b + k0 * b_row, b_row, negative);
        dense_product(r, n - k1, m, width, r->memory ? t + k1 * t_row + k0 * t_col : NULL, t_row, t_col, negative, m,
                      r->memory ? b + k1 * b_row : NULL, b_row);
    }
    r->at_product = before;
}

static void DENSE_NAME(triangular)(dense_run *r, int64_t n, int64_t m, const wick_triangle *how, const void *av,
                                   int64_t a_row, void *bv) {
    const DENSE_T *a = av;
    DENSE_T *b = bv;
    const int64_t row = how->transposed ? 1 : a_row, col = how->transposed ? a_row : 1;
    if (how->upper == how->transposed) {
        DENSE_NAME(solve_lower)(r, n, m, how->unit, a, row, col, b, m);
    } else { /* backwards */
        const int64_t last = WICK_MAX(n - 1, 0);
        DENSE_NAME(solve_lower)
        (r, n, m, how->unit, r->memory ? a + last * (row + col) : NULL, -row, -col, r->memory ? b + last * m : NULL,
         -m);
    }
}

/* Cholesky and LU go block by block: a panel, which one task factors, and the update of what is beside it, in strips of
 * columns that are tasks. What the two share: panel and negative, [rows below or beside, width] or transposed. */

/* The lower triangle of A + shift I = L L'. info: 0, or minus the order of the first leading minor that is not
 * positive; L is then NaN. */
static void DENSE_NAME(cholesky_panel)(dense_run *r, int64_t n, double shift, int64_t k0, const void *av, void *lv,
                                       int64_t *info, void *shared) {
    const DENSE_T *a = av;
    DENSE_T *l = lv;
    const int64_t k1 = n - k0 > r->block ? k0 + r->block : n, width = k1 - k0, rest = n - k1;
    DENSE_T *column = shared, *panel = r->memory ? column + n : NULL,
            *negative = r->memory ? panel + n * WICK_MIN(r->block, n) : NULL;
    int64_t bad = 0;
    /* above the diagonal there is only what rows of blocks need to be whole */
    for (int64_t i = 0; i < n && r->memory && !k0; i++) {
        memcpy(l + i * n, a + i * n, (size_t)(i + 1) * sizeof *l);
        memset(l + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof *l);
        l[i * n + i] += (DENSE_T)shift;
    }
    if (r->memory && !k0) *info = 0;
    if (r->memory && *info) return;
    for (int64_t k = k0; k < k1 && r->memory; k++) {
        DENSE_T *d = &l[k * n + k];
        if (*d <= 0) { /* NaN is no such minor: it stays */
            bad = k + 1;
            break;
        }
        *d = DENSE_SQRT(*d);
        for (int64_t i = k + 1; i < k1; i++) column[i - k - 1] = l[i * n + k] /= *d;
        /* Whole rows: what lands above the diagonal is cleared at the end. */
        r->loops->rank_one(k1 - k - 1, k1 - k - 1, column, 1, column, l + (k + 1) * n + k + 1, n);
    }
    if (bad) {
        for (int64_t i = 0; i < n * n; i++) l[i] = (DENSE_T)__builtin_nan("");
        *info = -bad;
        return;
    }
    if (!rest) {
        for (int64_t i = 0; i < n && r->memory; i++) memset(l + i * n + i + 1, 0, (size_t)(n - i - 1) * sizeof *l);
        return;
    }
    if (r->memory) /* the panel below, transposed */
        for (int64_t i = k1; i < n; i++)
            for (int64_t k = k0; k < k1; k++) panel[(k - k0) * rest + i - k1] = l[i * n + k];
    DENSE_NAME(solve_lower)(r, width, rest, false, r->memory ? l + k0 * n + k0 : NULL, n, 1, panel, rest);
    if (!r->memory) return;
    for (int64_t i = k1; i < n; i++)
        for (int64_t k = k0; k < k1; k++) l[i * n + k] = panel[(k - k0) * rest + i - k1];
    DENSE_NAME(negate)(width, rest, panel, rest, negative);
}
static void DENSE_NAME(cholesky_update)(dense_run *r, int64_t n, int64_t k0, int64_t begin, int64_t end, void *lv,
                                        const int64_t *info, const void *shared) {
    const int64_t k1 = n - k0 > r->block ? k0 + r->block : n, rest = n - k1;
    const DENSE_T *panel = r->memory ? (const DENSE_T *)shared + n : NULL,
                  *negative = r->memory ? panel + n * WICK_MIN(r->block, n) : NULL;
    DENSE_T *l = lv;
    if (r->memory && *info) return;
    /* the triangle, in strips */
    for (int64_t c = begin * DENSE_COLUMNS; c < WICK_MIN(rest, end * DENSE_COLUMNS); c += DENSE_COLUMNS)
        dense_product(r, rest - c, WICK_MIN(DENSE_COLUMNS, rest - c), k1 - k0, r->memory ? negative + c : NULL, 1, rest,
                      r->memory ? panel + c : NULL, rest, r->memory ? l + (k1 + c) * n + k1 + c : NULL, n);
}

/* A + shift I = P L U; row k was exchanged with row pivot[k], step by step. sign: of the permutation. info: 0, or minus
 * the number (from 1) of the first pivot that is 0. */
static void DENSE_NAME(lu_panel)(dense_run *r, int64_t n, double shift, int64_t k0, const void *av, void *luv,
                                 int64_t *pivot, void *sign, int64_t *info, void *shared) {
    if (!r->memory) return;
    DENSE_T *a = luv, *odd = sign, *panel = shared, *negative = panel + n * WICK_MIN(r->block, n);
    const int64_t k1 = n - k0 > r->block ? k0 + r->block : n, width = k1 - k0, rest = n - k1;
    if (!k0) {
        memcpy(a, av, (size_t)(n * n) * sizeof *a);
        for (int64_t i = 0; i < n; i++) a[i * n + i] += (DENSE_T)shift;
        *odd = 1;
        *info = 0;
    }
    /* The panel is factored in memory of its own: rows of A may lie so that their columns fall into one set of a cache.
     */
    for (int64_t i = k0; i < n; i++) memcpy(panel + (i - k0) * width, a + i * n + k0, (size_t)width * sizeof *a);
    for (int64_t k = 0; k < width; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n - k0; i++)
            if (DENSE_ABS(panel[i * width + k]) > DENSE_ABS(panel[best * width + k])) best = i;
        pivot[k0 + k] = k0 + best;
        if (best != k) {
            *odd = -*odd;
            DENSE_NAME(exchange)(width, panel + k * width, panel + best * width);
        }
        const DENSE_T d = panel[k * width + k];
        if (d == 0) {
            if (!*info) *info = -(k0 + k + 1);
            continue;
        }
        for (int64_t i = k + 1; i < n - k0; i++) panel[i * width + k] /= d;
        r->loops->rank_one(n - k0 - k - 1, width - k - 1, panel + (k + 1) * width + k, width, panel + k * width + k + 1,
                           panel + (k + 1) * width + k + 1, width);
    }
    for (int64_t i = k0; i < n; i++) memcpy(a + i * n + k0, panel + (i - k0) * width, (size_t)width * sizeof *a);
    if (rest) DENSE_NAME(negate)(rest, width, panel + width * width, width, negative);
}
/* Strips of the columns beside the panel, those before it first. */
static void DENSE_NAME(lu_update)(dense_run *r, int64_t n, int64_t k0, int64_t begin, int64_t end, void *luv,
                                  const int64_t *pivot, const void *shared) {
    const int64_t k1 = n - k0 > r->block ? k0 + r->block : n, width = k1 - k0, rest = n - k1,
                  left = (k0 + DENSE_COLUMNS - 1) / DENSE_COLUMNS;
    const DENSE_T *negative = r->memory ? (const DENSE_T *)shared + n * WICK_MIN(r->block, n) : NULL;
    DENSE_T *a = luv;
    for (int64_t t = begin; t < end; t++) {
        const int64_t c = t < left ? t * DENSE_COLUMNS : k1 + (t - left) * DENSE_COLUMNS,
                      cols = WICK_MIN(DENSE_COLUMNS, (t < left ? k0 : n) - c);
        /* as in the panel */
        for (int64_t k = k0; k < k1 && r->memory; k++) DENSE_NAME(exchange)(cols, a + k * n + c, a + pivot[k] * n + c);
        if (t < left) continue;
        DENSE_T *right = r->memory ? a + k0 * n + c : NULL;
        DENSE_NAME(solve_lower)(r, width, cols, true, r->memory ? a + k0 * n + k0 : NULL, n, 1, right, n);
        dense_product(r, rest, cols, width, negative, width, 1, right, n, r->memory ? a + k1 * n + c : NULL, n);
    }
}

/* B becomes X of A X = B (or A' X = B), by the factors of A. */
static void DENSE_NAME(lu_solve)(dense_run *r, int64_t n, int64_t m, bool transposed, const void *lu,
                                 const int64_t *pivot, void *bv) {
    DENSE_T *b = bv;
    const wick_triangle lower = {.unit = true, .transposed = transposed},
                        upper = {.upper = true, .transposed = transposed};
    for (int step = 0; step < 3; step++) {
        const int what = transposed ? 2 - step : step;
        if (what) {
            DENSE_NAME(triangular)(r, n, m, what == 1 ? &lower : &upper, lu, n, b);
        } else {
            for (int64_t i = 0; i < n && r->memory; i++) {
                const int64_t k = transposed ? n - 1 - i : i, other = pivot[k];
                if ((uint64_t)other >= (uint64_t)n) continue; /* not a factorization's */
                DENSE_NAME(exchange)(m, b + k * m, b + other * m);
            }
        }
    }
}

/* Householder: A + shift I [m, n] = Q R, Q [m, columns] (min(m, n) or m), R [columns, n], with LAPACK's signs. */
static void DENSE_NAME(qr)(dense_run *r, int64_t m, int64_t n, int64_t columns, double shift, const void *av, void *qv,
                           void *rv) {
    const int64_t k_max = WICK_MIN(m, n);
    DENSE_T *a = dense_take(r, m * n), *tau = dense_take(r, k_max), *w = dense_take(r, WICK_MAX(n, columns)),
            *v = dense_take(r, m);
    if (!r->memory) return;
    DENSE_T *q = qv, *upper = rv;
    memcpy(a, av, (size_t)(m * n) * sizeof *a);
    for (int64_t k = 0; k < k_max; k++) a[k * n + k] += (DENSE_T)shift;
    double largest = 0; /* squares of f64 stay in range */
    for (int64_t i = 0; i < m * n; i++) largest = WICK_MAX(largest, __builtin_fabs((double)a[i]));
    const double scale = largest > 0x1p400 ? 0x1p-600 : largest > 0 && largest < 0x1p-400 ? 0x1p600 : 1;
    for (int64_t i = 0; scale != 1 && i < m * n; i++) a[i] = (DENSE_T)((double)a[i] * scale);
    for (int64_t k = 0; k < k_max; k++) {
        double below = 0;
        for (int64_t i = k + 1; i < m; i++) below += (double)a[i * n + k] * (double)a[i * n + k];
        const double head = (double)a[k * n + k];
        tau[k] = 0;
        if (below == 0) continue;
        const double norm = __builtin_sqrt(head * head + below), beta = head > 0 ? -norm : norm;
        tau[k] = (DENSE_T)((beta - head) / beta);
        a[k * n + k] = (DENSE_T)beta;
        for (int64_t i = k + 1; i < m; i++) v[i] = a[i * n + k] = (DENSE_T)((double)a[i * n + k] / (head - beta));
        /* (I - tau v v') of the columns behind, v[k] = 1. */
        const int64_t cols = n - k - 1;
        memcpy(w, a + k * n + k + 1, (size_t)cols * sizeof *w);
        r->loops->combine(m - k - 1, cols, v + k + 1, 1, a + (k + 1) * n + k + 1, n, w);
        for (int64_t j = 0; j < cols; j++) w[j] *= tau[k], a[k * n + k + 1 + j] -= w[j];
        r->loops->rank_one(m - k - 1, cols, v + k + 1, 1, w, a + (k + 1) * n + k + 1, n);
    }
    for (int64_t i = 0; i < columns; i++)
        for (int64_t j = 0; j < n; j++)
            upper[i * n + j] = i <= j && i < k_max ? (DENSE_T)((double)a[i * n + j] / scale) : 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < columns; j++) q[i * columns + j] = i == j;
    for (int64_t k = k_max; k-- > 0;) {
        if (tau[k] == 0) continue;
        const int64_t cols = columns - k;
        for (int64_t i = k + 1; i < m; i++) v[i] = a[i * n + k];
        memcpy(w, q + k * columns + k, (size_t)cols * sizeof *w);
        r->loops->combine(m - k - 1, cols, v + k + 1, 1, q + (k + 1) * columns + k, columns, w);
        for (int64_t j = 0; j < cols; j++) w[j] *= tau[k], q[k * columns + k + j] -= w[j];
        r->loops->rank_one(m - k - 1, cols, v + k + 1, 1, w, q + (k + 1) * columns + k, columns);
    }
}
