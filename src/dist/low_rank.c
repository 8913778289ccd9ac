/* low_rank.c: sums of matrices by PowerSGD (Vogels, Karimireddy, Jaggi: PowerSGD, NeurIPS 2019, algorithms 1 and 2). A
 * rank has D = its matrix + what was lost of those before, and all have the same Q:
 *
 *   P = sum over ranks of D Q          [rows, rank], summed by parts
 *   P = orthonormal columns of it      Gram-Schmidt
 *   Q = sum over ranks of D' P         [cols, rank], summed by parts; the next step begins with it (warm start)
 *   the sum is P Q', and of D  D - P Q' / ranks  is lost, to be added to the next one (error feedback)
 *
 * All that is in no matrix goes with P, as f32. A column of P that depends on those before it is 0, and its column of Q
 * begins anew. Where P or Q is not finite the sum is NaN, and Q and what was lost stay as they were. Matrices are
 * row-major in the vector; P and Q are kept by columns. */
#include "dist/group.h"

#include <math.h>

enum { LANES = 16, COLUMNS = 256 /* of a task */, ROWS = 64 };

/* A column is dependent if so much of it is left. */
static const double DEPENDENT = 1e-6;

/* ---- the plan of a vector ---------------------------------------------------------------------------------------- */

static int rank_of(const group_fast *f, const wick_group_matrix *m) {
    return (int)WICK_MIN((int64_t)f->rank, WICK_MIN(m->rows, m->cols));
}

wick_status wick_group_low_rank_check(wick_group *g, const wick_group_fast *o) {
    size_t end = 0;
    if (o->rank < 1 || o->rank > WICK_POWERSGD_RANK_MAX)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_set_fast: powersgd of rank %d: 1 to %d", o->rank,
                               WICK_POWERSGD_RANK_MAX);
    if (o->n_matrices < 0 || (o->n_matrices && !o->matrices))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_set_fast: %d matrices at %p", o->n_matrices,
                               (const void *)o->matrices);
    for (int i = 0; i < o->n_matrices; i++) {
        const wick_group_matrix *m = &o->matrices[i];
        size_t count, behind;
        if (m->begin < end || m->rows < 1 || m->cols < 1 ||
            wick_mul_overflows((size_t)m->rows, (size_t)m->cols, &count) ||
            wick_add_overflows(m->begin, count, &behind) || behind > PTRDIFF_MAX / sizeof(float))
            return wick_group_fail(g, WICK_ERR_INVALID,
                                   "group_set_fast: matrix %d is %lld x %lld from float %zu on, where %zu is the first "
                                   "behind those before",
                                   i, (long long)m->rows, (long long)m->cols, m->begin, end);
        end = behind;
    }
    return WICK_OK;
}

/* The first numbers of a column of Q, after so many sums: near normal, of mean 0 and variance 1, as sums of twelve
 * uniform ones are; they are the same on all ranks without any function of the math library. */
static void begin_column(float *q, int64_t cols, int matrix, int column, uint64_t sums) {
    uint64_t x = (uint64_t)(matrix + 1) * 0x9E3779B97F4A7C15u + (uint64_t)(column + 1) * 0xBF58476D1CE4E5B9u +
                 sums * 0x94D049BB133111EBu;
    for (int64_t j = 0; j < cols; j++) {
        double sum = -6;
        for (int k = 0; k < 12; k++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            sum += (double)(x >> 33) * 0x1p-31;
        }
        q[j] = (float)sum;
    }
}

bool wick_group_low_rank_fits(const wick_group *g, size_t count) {
    const group_fast *f = &g->fast;
    const wick_group_matrix *last = f->n_matrices ? &f->matrices[f->n_matrices - 1] : NULL;
    return !last || last->begin + (size_t)(last->rows * last->cols) <= count;
}

bool wick_group_low_rank_memory(wick_group *g) {
    group_fast *f = &g->fast;
    const int ranks = g->wire.size;
    size_t p = 0, q = 0, inside = 0;
    for (int i = 0; i < f->n_matrices; i++) {
        const wick_group_matrix *m = &f->matrices[i];
        inside += (size_t)(m->rows * m->cols);
        p += (size_t)(m->rows * rank_of(f, m)), q += (size_t)(m->cols * rank_of(f, m));
    }
    const size_t count = g->sum.count, first = p + (count - inside);
    if (count != f->planned) {
        wick_group_low_rank_free(g);
        f->lost = wick_calloc(&g->ctx->alloc, inside * sizeof *f->lost + 1);
        f->lost_bytes = f->lost ? inside * sizeof *f->lost + 1 : 0;
        f->factors_bytes = (first + 2 * q) * sizeof *f->factors + 1;
        f->factors = wick_calloc(&g->ctx->alloc, f->factors_bytes);
        if (!f->factors) f->factors_bytes = 0;
        if (!f->lost || !f->factors) return false;
        f->planned = count, f->first = first, f->q = q;
        float *at = f->factors + first;
        for (int i = 0; i < f->n_matrices; i++)
            for (int k = 0; k < rank_of(f, &f->matrices[i]); k++, at += f->matrices[i].cols)
                begin_column(at, f->matrices[i].cols, i, k, 0);
    }
    const size_t own = WICK_MAX(wick_part_size(first, g->wire.rank, ranks), wick_part_size(q, g->wire.rank, ranks));
    return wick_group_sum_room(g, own * sizeof(float) * ((size_t)ranks - 1),
                               2 * ((size_t)ranks - 1) * sizeof(wick_parcel));
}

void wick_group_low_rank_free(wick_group *g) {
    group_fast *f = &g->fast;
    wick_release(&g->ctx->alloc, f->lost, f->lost_bytes);
    wick_release(&g->ctx->alloc, f->factors, f->factors_bytes);
    f->lost = NULL, f->factors = NULL, f->lost_bytes = f->factors_bytes = f->planned = 0;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A matrix while it is summed. */
typedef struct factored {
    int64_t rows, cols;
    int rank, ranks;
    float *d, *lost, *p, *q; /* p [rank][rows], q [rank][cols] */
} factored;

/* In lanes, the same for any number of threads. */
static float dot(const float *restrict a, const float *restrict b, int64_t n) {
    float lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) lanes[k] += a[i + k] * b[i + k];
    for (int k = 0; k < LANES; k++) sum += lanes[k];
    for (; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* d += lost; p = d q */
static void multiply_rows(void *arg, int64_t task, int worker) {
    (void)worker;
    const factored *m = arg;
    for (int64_t i = task * ROWS; i < WICK_MIN((task + 1) * ROWS, m->rows); i++) {
        float *restrict d = m->d + i * m->cols;
        const float *restrict lost = m->lost + i * m->cols;
        for (int64_t j = 0; j < m->cols; j++) d[j] += lost[j];
        for (int k = 0; k < m->rank; k++) m->p[k * m->rows + i] = dot(d, m->q + k * m->cols, m->cols);
    }
}

/* q = d' p */
static void multiply_columns(void *arg, int64_t task, int worker) {
    (void)worker;
    const factored *m = arg;
    const int64_t from = task * COLUMNS, n = WICK_MIN((int64_t)COLUMNS, m->cols - from);
    for (int k = 0; k < m->rank; k++) {
        float *restrict q = m->q + k * m->cols + from;
        memset(q, 0, (size_t)n * sizeof *q);
        for (int64_t i = 0; i < m->rows; i++) {
            const float *restrict d = m->d + i * m->cols + from;
            const float p = m->p[k * m->rows + i];
            for (int64_t j = 0; j < n; j++) q[j] += d[j] * p;
        }
    }
}

/* lost = d - p q' / ranks; d = p q' */
static void restore(void *arg, int64_t task, int worker) {
    (void)worker;
    const factored *m = arg;
    const float share = 1 / (float)m->ranks;
    for (int64_t i = task * ROWS; i < WICK_MIN((task + 1) * ROWS, m->rows); i++) {
        float *restrict d = m->d + i * m->cols, *restrict lost = m->lost + i * m->cols;
        memcpy(lost, d, (size_t)m->cols * sizeof *d);
        memset(d, 0, (size_t)m->cols * sizeof *d);
        for (int k = 0; k < m->rank; k++) {
            const float *restrict q = m->q + k * m->cols;
            const float p = m->p[k * m->rows + i];
            for (int64_t j = 0; j < m->cols; j++) d[j] += p * q[j];
        }
        for (int64_t j = 0; j < m->cols; j++) lost[j] -= d[j] * share;
    }
}

/* Columns of p become orthonormal, one after another; *dependent: bits of those that became 0. */
static void orthonormal(const factored *m, uint64_t *dependent) {
    *dependent = 0;
    for (int k = 0; k < m->rank; k++) {
        float *p = m->p + k * m->rows;
        double before = 0, after = 0;
        for (int64_t i = 0; i < m->rows; i++) before += (double)p[i] * (double)p[i];
        for (int pass = 0; pass < 2; pass++) /* twice is enough (Kahan; Giraud et al. 2005) */
            for (int j = 0; j < k; j++) {
                const float *other = m->p + j * m->rows;
                double product = 0;
                for (int64_t i = 0; i < m->rows; i++) product += (double)other[i] * (double)p[i];
                for (int64_t i = 0; i < m->rows; i++) p[i] = (float)((double)p[i] - product * (double)other[i]);
            }
        for (int64_t i = 0; i < m->rows; i++) after += (double)p[i] * (double)p[i];
        const bool none = !(sqrt(after) > DEPENDENT * sqrt(before));
        const double scale = none ? 0 : 1 / sqrt(after);
        for (int64_t i = 0; i < m->rows; i++) p[i] = (float)((double)p[i] * scale);
        if (none) *dependent |= (uint64_t)1 << k;
    }
}

static bool finite_all(const float *v, size_t n) {
    bool finite = true;
    for (size_t i = 0; i < n; i++) finite &= v[i] - v[i] == 0;
    return finite;
}

/* ---- a sum ------------------------------------------------------------------------------------------------------- */

/* Matrix i; *at: floats of lost, p and q of those before. */
static factored matrix_at(const wick_group *g, int i, size_t at[3], float *q) {
    const group_fast *f = &g->fast;
    const wick_group_matrix *m = &f->matrices[i];
    const int rank = rank_of(f, m);
    const factored x = {m->rows, m->cols, rank, g->wire.size, g->sum.vectors[0] + m->begin, f->lost + at[0],
                        f->factors + at[1], q + at[2]};
    at[0] += (size_t)(m->rows * m->cols), at[1] += (size_t)(m->rows * rank), at[2] += (size_t)(m->cols * rank);
    return x;
}

/* What is in no matrix, behind P, or from there. */
static void move_rest(wick_group *g, bool back) {
    const group_fast *f = &g->fast;
    float *v = g->sum.vectors[0], *rest = f->factors + f->first;
    size_t end = g->sum.count;
    for (int i = f->n_matrices; i >= 0; i--) { /* from the end */
        const wick_group_matrix *m = i ? &f->matrices[i - 1] : NULL;
        const size_t begin = m ? m->begin + (size_t)(m->rows * m->cols) : 0, n = end - begin;
        rest -= n;
        if (n) memcpy(back ? v + begin : rest, back ? rest : v + begin, n * sizeof *v);
        if (m) end = m->begin;
    }
}

static int64_t tasks_of(int64_t n, int64_t size) { return (n + size - 1) / size; }

static void fill_nan(wick_group *g) {
    for (int i = 0; i < g->fast.n_matrices; i++) {
        const wick_group_matrix *m = &g->fast.matrices[i];
        for (int64_t k = 0; k < m->rows * m->cols; k++) g->sum.vectors[0][m->begin + (size_t)k] = NAN;
    }
}

/* Dependent columns begin anew in the next sum, by what all ranks know. */
static void renew(wick_group *g, const uint64_t *dependent) {
    group_fast *f = &g->fast;
    float *q = f->factors + f->first;
    f->sums++;
    for (int i = 0; i < f->n_matrices; i++)
        for (int k = 0; k < rank_of(f, &f->matrices[i]); k++, q += f->matrices[i].cols)
            if (dependent[i] >> k & 1) begin_column(q, f->matrices[i].cols, i, k, f->sums);
}

wick_status wick_group_low_rank_finish(wick_group *g) {
    group_fast *f = &g->fast;
    wick_pool *pool = g->ctx->pool;
    float *q = f->factors + f->first, *next = q + f->q;
    size_t at[3] = {0}, p = 0;
    const size_t bytes = ((size_t)f->n_matrices + 1) * sizeof(uint64_t);
    uint64_t *dependent = wick_alloc(&g->ctx->alloc, bytes);
    if (!dependent) return wick_group_fail(g, WICK_ERR_NOMEM, "group_finish: out of memory");
    const uint64_t word = wick_fp_enter();
    for (int i = 0; i < f->n_matrices; i++) {
        factored m = matrix_at(g, i, at, q);
        wick_pool_run(pool, multiply_rows, &m, tasks_of(m.rows, ROWS));
    }
    p = at[1];
    move_rest(g, false);
    wick_status status = wick_group_sum_floats(g, f->factors, f->first);
    bool finite = finite_all(f->factors, p);
    memset(at, 0, sizeof at);
    for (int i = 0; i < f->n_matrices && status == WICK_OK && finite; i++) {
        factored m = matrix_at(g, i, at, next);
        orthonormal(&m, &dependent[i]);
        wick_pool_run(pool, multiply_columns, &m, tasks_of(m.cols, COLUMNS));
    }
    if (status == WICK_OK && finite) status = wick_group_sum_floats(g, next, f->q);
    finite = finite && finite_all(next, f->q);
    memset(at, 0, sizeof at);
    for (int i = 0; i < f->n_matrices && status == WICK_OK && finite; i++) {
        factored m = matrix_at(g, i, at, next);
        wick_pool_run(pool, restore, &m, tasks_of(m.rows, ROWS));
    }
    if (status == WICK_OK && finite) {
        memcpy(q, next, f->q * sizeof *q);
        renew(g, dependent);
    } else {
        fill_nan(g);
    }
    if (status == WICK_OK) move_rest(g, true);
    wick_fp_restore(word);
    wick_release(&g->ctx->alloc, dependent, bytes);
    return status;
}
