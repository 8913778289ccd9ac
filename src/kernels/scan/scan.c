/* scan.c: running sums and products, whose bits are the same in every tier; extremes are in extremes_tier.c, logarithms
 * of running sums in log_sum_tier.c.
 *
 * A line is what is accumulated in order: a row, a chunk of a long row, or (inner > 1) columns side by side. Four lines
 * of one length are taken together, since each is a chain of dependent additions. f32 accumulates in f64, as PyTorch
 * does. */
#include "kernels/scan/scan.h"

enum { CHUNK = 16384, EXTREMES_CHUNK = 65536, TASK = 16384, COLUMNS = WICK_SCAN_COLUMNS, LINES = 4 };

void wick_scan_prepare(wick_scan *s) {
    const bool sums = s->kind == WICK_SCAN_SUM || s->kind == WICK_SCAN_PROD;
    s->chunk = s->inner > 1 || s->kind == WICK_SCAN_LOG_SUM ? WICK_MAX(s->n, 1)
               : sums                                       ? CHUNK
               : s->reverse                                 ? WICK_MAX(s->n, 1)
                                                            : EXTREMES_CHUNK;
    s->chunks = WICK_MAX(1, (s->n + s->chunk - 1) / s->chunk);
    memset(s->tasks, 0, sizeof s->tasks);
    s->partials = 0;
    s->stages = s->chunks > 1 ? 3 : 1;
    if (s->outer * s->n * s->inner == 0) return;
    if (s->inner > 1) {
        s->per_task = WICK_MAX(1, TASK / (s->n * WICK_MIN(s->inner, COLUMNS))); /* blocks of columns */
        s->tasks[0] = (s->outer * ((s->inner + COLUMNS - 1) / COLUMNS) + s->per_task - 1) / s->per_task;
        return;
    }
    s->per_task = WICK_MAX(sums ? LINES : 1, TASK / WICK_MIN(s->n, s->chunk)); /* lines */
    const int64_t tasks = (s->outer * s->chunks + s->per_task - 1) / s->per_task;
    s->tasks[s->stages - 1] = tasks;
    if (s->chunks > 1) {
        s->tasks[0] = tasks;
        s->tasks[1] = 1;
        s->partials = (size_t)(s->outer * s->chunks) * (sums ? sizeof(double) : 2 * sizeof(double));
    }
}

#define PLUS(a, b)  ((a) + (b))
#define TIMES(a, b) ((a) * (b))

/* lines: n elements from x[l] on, `step` apart, onto carry[l]; and the total of n. */
#define SCAN(T, A, t, kind, OP, NOTHING)                                                                               \
    static void kind##_lines_##t(int lines, bool exclusive, int64_t n, int64_t step, const T *const *x, T *const *y,   \
                                 A *carry) {                                                                           \
        if (lines == LINES && !exclusive) {                                                                            \
            const T *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];                                                    \
            T *y0 = y[0], *y1 = y[1], *y2 = y[2], *y3 = y[3];                                                          \
            A a0 = carry[0], a1 = carry[1], a2 = carry[2], a3 = carry[3];                                              \
            for (int64_t i = 0; i != n * step; i += step) {                                                            \
                a0 = OP(a0, (A)x0[i]), a1 = OP(a1, (A)x1[i]), a2 = OP(a2, (A)x2[i]), a3 = OP(a3, (A)x3[i]);            \
                y0[i] = (T)a0, y1[i] = (T)a1, y2[i] = (T)a2, y3[i] = (T)a3;                                            \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int l = 0; l < lines; l++) {                                                                              \
            A a = carry[l];                                                                                            \
            for (int64_t k = 0, i = 0; k < n; k++, i += step) {                                                        \
                const A next = OP(a, (A)x[l][i]);                                                                      \
                y[l][i] = (T)(exclusive ? a : next);                                                                   \
                a = next;                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static A kind##_total_##t(int64_t n, int64_t step, const T *x) {                                                   \
        A a0 = NOTHING, a1 = NOTHING, a2 = NOTHING, a3 = NOTHING;                                                      \
        int64_t k = 0;                                                                                                 \
        for (; k + 4 <= n; k += 4, x += 4 * step)                                                                      \
            a0 = OP(a0, (A)x[0]), a1 = OP(a1, (A)x[step]), a2 = OP(a2, (A)x[2 * step]), a3 = OP(a3, (A)x[3 * step]);   \
        for (; k < n; k++, x += step) a0 = OP(a0, (A)x[0]);                                                            \
        return OP(OP(a0, a1), OP(a2, a3));                                                                             \
    }                                                                                                                  \
    static void kind##_before_##t(int64_t rows, int64_t chunks, void *partials) {                                      \
        A *total = (A *)partials;                                                                                      \
        for (int64_t r = 0; r < rows; r++) {                                                                           \
            A a = NOTHING;                                                                                             \
            for (int64_t c = 0; c < chunks; c++) {                                                                     \
                const A here = total[r * chunks + c];                                                                  \
                total[r * chunks + c] = a;                                                                             \
                a = OP(a, here);                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void kind##_columns_##t(bool exclusive, int64_t n, int64_t step, int64_t width, const T *x, T *y) {         \
        A a[COLUMNS];                                                                                                  \
        for (int64_t l = 0; l < width; l++) a[l] = NOTHING;                                                            \
        for (int64_t k = 0; k < n; k++, x += step, y += step)                                                          \
            for (int64_t l = 0; l < width; l++) {                                                                      \
                const A next = OP(a[l], (A)x[l]);                                                                      \
                y[l] = (T)(exclusive ? a[l] : next);                                                                   \
                a[l] = next;                                                                                           \
            }                                                                                                          \
    }                                                                                                                  \
    static void kind##_##t(const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x_, void *y_,        \
                           void *partials) {                                                                           \
        const T *x = (const T *)x_;                                                                                    \
        T *y = (T *)y_;                                                                                                \
        const int64_t step = s->reverse ? -s->inner : s->inner, first = s->reverse ? (s->n - 1) * s->inner : 0;        \
        if (s->inner > 1) {                                                                                            \
            const int64_t blocks = (s->inner + COLUMNS - 1) / COLUMNS;                                                 \
            for (int64_t b = begin * s->per_task; b < WICK_MIN(s->outer * blocks, end * s->per_task); b++) {           \
                const int64_t l = b % blocks * COLUMNS, at = b / blocks * s->n * s->inner + first + l;                 \
                kind##_columns_##t(s->exclusive, s->n, step, WICK_MIN(COLUMNS, s->inner - l), x + at, y + at);         \
            }                                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        if (s->chunks > 1 && stage == 1) {                                                                             \
            kind##_before_##t(s->outer, s->chunks, partials);                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        const int64_t all = WICK_MIN(s->outer * s->chunks, end * s->per_task);                                         \
        for (int64_t line = begin * s->per_task; line < all;) {                                                        \
            const T *from[LINES];                                                                                      \
            T *to[LINES];                                                                                              \
            A carry[LINES];                                                                                            \
            int64_t n = 0;                                                                                             \
            int lines = 0;                                                                                             \
            for (; lines < LINES && line < all; lines++, line++) {                                                     \
                const int64_t r = line / s->chunks, c = line % s->chunks,                                              \
                              size = WICK_MIN(s->chunk, s->n - c * s->chunk);                                          \
                if (lines && size != n) break;                                                                         \
                n = size;                                                                                              \
                const int64_t at = r * s->n + first + c * s->chunk * step;                                             \
                from[lines] = x + at, to[lines] = y + at;                                                              \
                carry[lines] = s->chunks > 1 ? ((const A *)partials)[line] : NOTHING;                                  \
                if (s->chunks > 1 && stage == 0) ((A *)partials)[line] = kind##_total_##t(n, step, x + at);            \
            }                                                                                                          \
            if (s->chunks == 1 || stage == 2) kind##_lines_##t(lines, s->exclusive, n, step, from, to, carry);         \
        }                                                                                                              \
    }
#define SCANS(T, A, t)                     \
    SCAN(T, A, t, sum, PLUS, (A)0)         \
    SCAN(T, A, t, prod, TIMES, (A)1)
SCANS(float, double, f32)
SCANS(double, double, f64)
SCANS(uint64_t, uint64_t, u64) /* signed ones wrap: the same bits */

static const wick_log_sum_table *const log_sums[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_log_sum_table)};

static const wick_extremes_table *const extremes[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_extremes_table)};

void wick_scan_run(const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x, void *y, int64_t *index,
                   void *partials) {
    if (s->kind == WICK_SCAN_SUM || s->kind == WICK_SCAN_PROD) {
        const bool sum = s->kind == WICK_SCAN_SUM;
        switch (s->type) {
        case WICK_CF32: (sum ? sum_f32 : prod_f32)(s, stage, begin, end, x, y, partials); break;
        case WICK_CF64: (sum ? sum_f64 : prod_f64)(s, stage, begin, end, x, y, partials); break;
        default: (sum ? sum_u64 : prod_u64)(s, stage, begin, end, x, y, partials);
        }
        return;
    }
    /* The others go line by line: rows or chunks of them, or blocks of columns. */
    const int64_t blocks = s->inner > 1 ? (s->inner + COLUMNS - 1) / COLUMNS : s->chunks, from = begin * s->per_task,
                  to = WICK_MIN(s->outer * blocks, end * s->per_task);
    if (s->kind != WICK_SCAN_LOG_SUM) {
        extremes[wick_tier_current()]->run[s->type](s, stage, from, to, x, y, index, partials);
        return;
    }
    void (*const run)(const wick_scan *, int64_t, int64_t, const void *, void *) =
        log_sums[wick_tier_current()]->run[s->type == WICK_CF64];
    if (s->inner == 1) {
        run(s, from, to, x, y);
        return;
    }
    for (int64_t b = from; b < to; b++) {
        const int64_t l = b % blocks * COLUMNS, first = b / blocks * s->inner + l;
        run(s, first, first + WICK_MIN(COLUMNS, s->inner - l), x, y);
    }
}
