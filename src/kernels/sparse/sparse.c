/* sparse.c: control flow of products with sparse weights: which products they are, how B is packed, how C is cut. */
#include "kernels/sparse/sparse.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/sparse/sparse_tuning.h"
#include "kernels/tuning.h"

static const wick_sparse_kernel *const sparse_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_sparse_kernel)};

/* ---- what is packed ---------------------------------------------------------------------------------------------- */

/* Where the parts of packed B lie. */
typedef struct layout {
    int64_t parts, blocks; /* of columns; of k */
    size_t starts, offsets, places, weights, end;
} layout;

/* The block of k by which sums go, as wick_gemm_prepare cuts it. */
static int64_t block_of(const wick_gemm *g) {
    if (g->sparse.block) return g->sparse.block;
    return (int64_t)WICK_ALIGN_UP(wick_ceil_div(g->k, wick_ceil_div(g->k, WICK_GEMM_KC)), 8);
}
static layout layout_of(const wick_gemm *g, const wick_sparse_kernel *q, int64_t room) {
    const bool few = g->sparse.few;
    layout l = {.parts = few ? wick_ceil_div(g->n, q->columns) : g->n, .blocks = wick_ceil_div(g->k, block_of(g))};
    const size_t n = (size_t)room, wide = few ? (size_t)q->columns : 1;
    l.starts = WICK_ALIGN;
    l.offsets = l.starts + WICK_ALIGN_UP((size_t)(l.parts * l.blocks + 1) * sizeof(int32_t), WICK_ALIGN);
    l.places = l.offsets + (few ? WICK_ALIGN_UP(n * sizeof(uint16_t), WICK_ALIGN) : 0);
    l.weights = l.places + WICK_ALIGN_UP(n * wide * (few ? 1 : sizeof(uint16_t)), WICK_ALIGN);
    l.end = l.weights + WICK_ALIGN_UP(n * wide * sizeof(float), WICK_ALIGN);
    return l;
}

static inline float number_at(const wick_gemm *g, const float *b, int64_t p, int64_t j) {
    return b[p * g->b_row + j * g->b_col];
}
/* The next k from p on, below end, whose number in column j is not zero; end: there is none. NaN is a number. */
static inline int64_t next_of(const wick_gemm *g, const float *b, int64_t p, int64_t end, int64_t j) {
    while (p < end && number_at(g, b, p, j) == 0) p++;
    return p;
}

/* Packs, or with to NULL counts what that takes; more than room is not written. Returns steps. */
static int64_t pack_few(const wick_gemm *g, const wick_sparse_kernel *q, const float *b, int64_t room, char *to) {
    enum { MOST = 64 };
    _Static_assert(4 * 16 <= MOST, "the widest vectors");
    const layout l = layout_of(g, q, room);
    const int64_t block = block_of(g), columns = q->columns;
    int32_t *starts = to ? (int32_t *)(void *)(to + l.starts) : NULL;
    uint16_t *offsets = to ? (uint16_t *)(void *)(to + l.offsets) : NULL;
    uint8_t *places = to ? (uint8_t *)to + l.places : NULL;
    float *weights = to ? (float *)(void *)(to + l.weights) : NULL;
    int64_t steps = 0, at[MOST];
    for (int64_t part = 0; part < l.parts; part++)
        for (int64_t i = 0; i < l.blocks; i++) {
            const int64_t end = WICK_MIN(g->k, (i + 1) * block), j0 = part * columns,
                          there = WICK_MIN(columns, g->n - j0);
            if (starts) starts[part * l.blocks + i] = (int32_t)steps;
            int64_t first = end;
            for (int64_t j = 0; j < columns; j++) {
                at[j] = j < there ? next_of(g, b, i * block, end, j0 + j) : end;
                first = WICK_MIN(first, at[j]);
            }
            for (; first < end; steps++) {
                const bool fits = to && steps < room;
                int64_t next = end;
                if (fits) offsets[steps] = (uint16_t)first;
                for (int64_t j = 0; j < columns; j++) {
                    const bool taken = at[j] < end && at[j] < first + q->window;
                    if (fits) {
                        places[steps * columns + j] = taken ? (uint8_t)(at[j] - first) : 0;
                        weights[steps * columns + j] = taken ? number_at(g, b, at[j], j0 + j) : 0;
                    }
                    if (taken) at[j] = next_of(g, b, at[j] + 1, end, j0 + j);
                    next = WICK_MIN(next, at[j]);
                }
                first = next;
            }
            if (to && steps > room) return steps;
        }
    if (starts) starts[l.parts * l.blocks] = (int32_t)steps;
    return steps;
}
static int64_t pack_panel(const wick_gemm *g, const wick_sparse_kernel *q, const float *b, int64_t room, char *to) {
    const layout l = layout_of(g, q, room);
    const int64_t block = block_of(g);
    int32_t *starts = (int32_t *)(void *)(to + l.starts);
    uint16_t *places = (uint16_t *)(void *)(to + l.places);
    float *weights = (float *)(void *)(to + l.weights);
    int64_t n = 0;
    for (int64_t j = 0; j < g->n; j++)
        for (int64_t p = 0; p < g->k; p++) {
            if (p % block == 0) starts[j * l.blocks + p / block] = (int32_t)n;
            const float w = number_at(g, b, p, j);
            if (w == 0) continue;
            if (n == room) return room + 1;
            places[n] = (uint16_t)p;
            weights[n++] = w;
        }
    starts[g->n * l.blocks] = (int32_t)n;
    return n;
}

void wick_sparse_pack(const wick_gemm *g, const void *b, void *packed) {
    const int64_t room = g->sparse.room,
                  took = (g->sparse.few ? pack_few : pack_panel)(g, g->sparse.kernel, b, room, packed);
    const int64_t fits = took <= room;
    memcpy(packed, &fits, sizeof fits);
}

/* ---- which products ---------------------------------------------------------------------------------------------- */

static int64_t count(const wick_gemm *g, const float *b) {
    /* along the contiguous dim */
    const bool by_rows = g->b_col == 1;
    const int64_t outer = by_rows ? g->k : g->n, inner = by_rows ? g->n : g->k, step = by_rows ? g->b_row : g->b_col,
                  next = by_rows ? 1 : g->b_row;
    int64_t n = 0;
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) n += b[i * step + j * next] != 0;
    return n;
}
double wick_sparse_density(const wick_gemm *g, const void *b) {
    return g->k && g->n ? (double)count(g, b) / ((double)g->k * (double)g->n) : -1;
}

/* A cheap look at numbers all over B. */
static bool has_zeros(const wick_gemm *g, const float *b) {
    const int64_t total = g->k * g->n;
    int zeros = 0;
    uint64_t at = 0;
    for (int i = 0; i < WICK_SPARSE_SAMPLE; i++) {
        at += 0x9E3779B97F4A7C15; /* an even spread, whatever the extents are */
        const int64_t e = (int64_t)((at >> 32) * (uint64_t)total >> 32);
        zeros += number_at(g, b, e / g->n, e % g->n) == 0;
    }
    return zeros >= WICK_SPARSE_SAMPLE_ZEROS;
}

/* In percent of k n: the most that may be gone through. */
static double most_of(const wick_gemm *g, const wick_sparse_kernel *q, bool few) {
    static const int of_few[WICK_TIER_COUNT][3] = WICK_SPARSE_MOST_FEW,
                     of_panel[WICK_TIER_COUNT][3] = WICK_SPARSE_MOST_PANEL;
    const wick_tier tier = wick_tier_current();
    if (few) return of_few[tier][g->m == 1 ? 0 : g->m <= 2 * WICK_SPARSE_FEW ? 1 : 2];
    const int64_t rows = WICK_MIN(g->m, q->lanes * q->vectors), vectors = wick_ceil_div(rows, q->lanes),
                  whole = wick_ceil_div(g->m, q->lanes) * q->lanes;
    const double filled = (double)g->m / (double)whole;
    return of_panel[tier][WICK_MIN(vectors, 3) - 1] * (vectors > 2 ? WICK_MIN(1, 1.2 * filled) : filled);
}

const char *wick_sparse_choose(wick_gemm *g, const void *b, int64_t block) {
    static const int few_rows[] = WICK_SPARSE_FEW_ROWS;
    const wick_sparse_kernel *q = sparse_tiers[wick_tier_current()];
    g->sparse = (wick_sparse){.block = g->k > WICK_GEMM_KC ? block : 0};
    if (g->type != WICK_CF32 || g->narrow) return "weights are not f32";
    if (g->accumulate || g->lower || g->bias > 1) return "it is no plain product with weights";
    if (g->m < 1 || g->n < WICK_SPARSE_LEAST || g->k < WICK_SPARSE_LEAST) return "it is small";
    if (g->k > WICK_SPARSE_K || g->k * g->n > INT32_MAX / 4) return "it is too large for places of 16 bits";
    if (!has_zeros(g, b)) return "less than half of the weights are zero";
    g->sparse.few = g->m <= few_rows[wick_tier_current()];
    const int64_t nonzeros = count(g, b);
    const double most = most_of(g, q, g->sparse.few) / 100 * (double)(g->k * g->n);
    int64_t room = nonzeros, gone = nonzeros;
    if (g->sparse.few && (double)nonzeros <= most) room = pack_few(g, q, b, 0, NULL), gone = room * q->columns;
    if ((double)gone > most) return "too few of the weights are zero to be faster";
    g->sparse.nonzeros = nonzeros;
    g->sparse.room = room + room / WICK_SPARSE_SLACK + 1;
    return NULL;
}

/* ---- how C is cut ------------------------------------------------------------------------------------------------ */

static size_t panel_bytes(const wick_gemm *g, const wick_sparse_kernel *q, int64_t vectors) {
    const size_t row = (size_t)(vectors * q->lanes) * sizeof(float);
    return WICK_ALIGN_UP((size_t)g->k * row, WICK_ALIGN) + WICK_SPARSE_OUTPUTS * row; /* and what is turned */
}
/* numbers of a row of A as the form few looks them up */
static int64_t row_of(const wick_gemm *g, const wick_sparse_kernel *q) {
    return (int64_t)WICK_ALIGN_UP(g->k + q->window, WICK_ALIGN / sizeof(float));
}

bool wick_sparse_prepare(wick_gemm *g, const wick_tuning *tuning) {
    g->sparse.kernel = NULL;
    if (!g->sparse.room || g->keep) return false;
    const wick_sparse_kernel *q = g->sparse.kernel = sparse_tiers[wick_tier_current()];
    const double task = (double)tuning->gemm_task_work;
    g->kernel = wick_gemm_kernel_of(g->type);
    g->how = 0;
    g->kc = block_of(g);
    g->packed = layout_of(g, q, g->sparse.room).end;
    g->tasks_pack = 1;
    if (g->sparse.few) {
        const double work = (double)g->sparse.room * (double)(q->columns * g->m) * WICK_SPARSE_THIN_COST;
        const int64_t want = 1 + (int64_t)WICK_MIN(work / task, WICK_GEMM_MAX_TASKS - 1.0);
        g->mc = g->m;
        g->nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(g->n, want), q->columns);
        g->tasks = wick_ceil_div(g->n, g->nc);
        g->scratch = (size_t)(g->m * row_of(g, q)) * sizeof(float);
        g->scratch = WICK_MAX(g->scratch, panel_bytes(g, q, wick_ceil_div(g->m, q->lanes)));
        return true;
    }
    const double work = (double)g->sparse.nonzeros * (double)g->m * WICK_SPARSE_TASK_SHARE;
    const int64_t want = 1 + (int64_t)WICK_MIN(work / task, WICK_GEMM_MAX_TASKS - 1.0), panel = q->lanes * q->vectors,
                  down = WICK_MIN(want, wick_ceil_div(g->m, panel));
    g->mc = wick_ceil_div(wick_ceil_div(g->m, down), panel) * panel;
    if (g->mc > g->m) g->mc = g->m;
    const int64_t rows = wick_ceil_div(g->m, g->mc),
                  least = WICK_SPARSE_LAYS_OUT * g->k * g->n / WICK_MAX(g->sparse.nonzeros, 1),
                  across = WICK_MIN(wick_ceil_div(want, rows), WICK_MAX(1, g->n / least));
    g->nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(g->n, across), WICK_SPARSE_OUTPUTS);
    g->tasks = rows * wick_ceil_div(g->n, g->nc);
    g->scratch = panel_bytes(g, q, wick_ceil_div(WICK_MIN(panel, g->m), q->lanes));
    return true;
}

bool wick_sparse_task_block(const wick_gemm *g, int64_t task, int64_t rows[2], int64_t cols[2]) {
    const int64_t across = wick_ceil_div(g->n, g->nc);
    rows[0] = task / across * g->mc;
    cols[0] = task % across * g->nc;
    rows[1] = WICK_MIN(g->m, rows[0] + g->mc);
    cols[1] = WICK_MIN(g->n, cols[0] + g->nc);
    return true;
}

const char *wick_sparse_name(const wick_gemm *g) { return g->sparse.kernel->names[g->sparse.few]; }

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Rows [r0, r0 + rows) of A, at most a vector for each lane, as [k][lanes]; lanes beyond the rows are finite. */
static void lay_out_panel(const wick_gemm *g, const float *a, int64_t r0, int64_t rows, int64_t wide, float *x) {
    const float *from = a + r0 * g->a_row;
    if (g->kernel->pack) {
        g->kernel->pack(g->k, rows, from, g->a_col, g->a_row, x, wide);
        return;
    }
    for (int64_t p = 0; p < g->k; p++)
        for (int64_t i = 0; i < wide; i++) x[p * wide + i] = i < rows ? from[p * g->a_col + i * g->a_row] : 0;
}
/* Sums [columns][wide] become rows of C, a few at a time and all columns of them: rows that lie a power of two apart
 * share sets of L1. */
static void turn(const wick_gemm *g, int64_t rows, int64_t columns, const float *sums, int64_t wide, float *c) {
    enum { ROWS = 16 };
    if (g->kernel->pack && columns == WICK_SPARSE_OUTPUTS) { /* whole vectors: nothing is padded */
        for (int64_t i = 0; i < rows; i += ROWS)
            g->kernel->pack(WICK_MIN(ROWS, rows - i), columns, sums + i, 1, wide, c + i * g->c_row, g->c_row);
        return;
    }
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) c[i * g->c_row + j] = sums[j * wide + i];
}

/* What lies in scratch: rows [first, first + rows) of A, or none; and whether they are finite. */
typedef struct laid_out {
    int64_t first, rows;
    bool finite;
} laid_out;

/* Rows [r0, r0 + rows) by columns [c0, c1). packed NULL: from B as it lies. */
static void run_panel(const wick_gemm *g, int64_t r0, int64_t rows, int64_t c0, int64_t c1, const float *a,
                      const float *b, const float *bias, float *c, const char *packed, float *x, laid_out *there) {
    const wick_sparse_kernel *q = g->sparse.kernel;
    const int64_t vectors = wick_ceil_div(rows, q->lanes), wide = vectors * q->lanes;
    if (there->first != r0 || there->rows != rows) {
        lay_out_panel(g, a, r0, rows, wide, x);
        *there = (laid_out){r0, rows, q->finite(x, g->k * wide)};
    }
    if (!there->finite) packed = NULL;
    wick_sparse_panel t = {.x = x,
                           .bias = g->bias ? bias : NULL,
                           .relu = g->relu,
                           .sums = x + WICK_ALIGN_UP((size_t)(g->k * wide), WICK_ALIGN / sizeof(float)),
                           .b = b,
                           .b_row = g->b_row,
                           .b_col = g->b_col,
                           .k = g->k,
                           .block = g->kc};
    if (packed) {
        const layout l = layout_of(g, q, g->sparse.room);
        t.blocks = l.blocks;
        t.starts = (const int32_t *)(const void *)(packed + l.starts);
        t.places = (const uint16_t *)(const void *)(packed + l.places);
        t.weights = (const float *)(const void *)(packed + l.weights);
    }
    wick_sparse_panel_fn *const run = (packed ? q->panel : q->whole)[vectors - 1];
    for (t.begin = c0; t.begin < c1; t.begin = t.end) {
        t.end = WICK_MIN(c1, t.begin + WICK_SPARSE_OUTPUTS);
        run(&t);
        turn(g, rows, t.end - t.begin, t.sums, wide, c + r0 * g->c_row + t.begin);
    }
}

/* All rows, a few, as the form few looks them up. Returns whether they are finite. */
static bool lay_out_few(const wick_gemm *g, const float *a, float *x) {
    const int64_t row = row_of(g, g->sparse.kernel);
    for (int64_t i = 0; i < g->m; i++) {
        float *to = x + i * row;
        const float *from = a + i * g->a_row;
        if (g->a_col == 1) memcpy(to, from, (size_t)g->k * sizeof *to);
        for (int64_t p = 0; p < g->k && g->a_col != 1; p++) to[p] = from[p * g->a_col];
        memset(to + g->k, 0, (size_t)(row - g->k) * sizeof *to);
    }
    return g->sparse.kernel->finite(x, g->m * row);
}
/* All rows by columns [c0, c1), of rows that are laid out in x. */
static void run_few(const wick_gemm *g, int64_t c0, int64_t c1, const float *bias, float *c, const char *packed,
                    float *x) {
    const wick_sparse_kernel *q = g->sparse.kernel;
    const int64_t row = row_of(g, q), columns = q->columns;
    const layout l = layout_of(g, q, g->sparse.room);
    wick_sparse_few t = {.x_row = row,
                         .blocks = l.blocks,
                         .offsets = (const uint16_t *)(const void *)(packed + l.offsets),
                         .places = (const uint8_t *)packed + l.places,
                         .weights = (const float *)(const void *)(packed + l.weights),
                         .relu = g->relu,
                         .c_row = g->c_row};
    for (int64_t j0 = c0; j0 < c1; j0 += columns) {
        t.starts = (const int32_t *)(const void *)(packed + l.starts) + j0 / columns * l.blocks;
        t.there = WICK_MIN(columns, c1 - j0);
        t.bias = g->bias ? bias + j0 : NULL;
        for (int64_t r = 0, rows; r < g->m; r += rows) {
            /* nearly equal parts: 9 rows are 3 + 3 + 3 */
            rows = wick_ceil_div(g->m - r, wick_ceil_div(g->m - r, WICK_SPARSE_FEW));
            t.x = x + r * row;
            t.c = c + r * g->c_row + j0;
            q->few[rows - 1](&t);
        }
    }
}

void wick_sparse_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                     void *c, const void *packed, void *scratch) {
    int64_t fits, panel = g->sparse.kernel->lanes * g->sparse.kernel->vectors;
    laid_out there = {-1, 0, false};
    memcpy(&fits, packed, sizeof fits);
    const bool few = g->sparse.few && fits && begin < end && lay_out_few(g, a, scratch);
    for (int64_t t = begin; t < end; t++) {
        int64_t rows[2], cols[2];
        wick_sparse_task_block(g, t, rows, cols);
        if (few) {
            run_few(g, cols[0], cols[1], bias, c, packed, scratch);
            continue;
        }
        for (int64_t r = rows[0]; r < rows[1]; r += panel)
            run_panel(g, r, WICK_MIN(panel, rows[1] - r), cols[0], cols[1], a, b, bias, c,
                      fits && !g->sparse.few ? packed : NULL, scratch, &there);
    }
}
