/* gemm.c: control flow of matrix products: what is packed, how C is cut into tasks, which tile kernels a task calls.
 * The arithmetic is in the tier files; gemm_tuning.h holds every threshold. */
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/gemm/narrow.h"
#include "kernels/packing.h"
#include "kernels/tuning.h"

/* How a product uses its operands; wick_gemm.how. */
enum {
    GEMM_SWAP = 1,    /* computes the transpose of C: B^T A^T, for narrow C */
    GEMM_PACK_B = 2,  /* a task packs each panel of B into its scratch just before use */
    GEMM_SHARE_B = 4, /* stage 0 packs B: [panel][k][nr] */
    GEMM_OUTER = 16,  /* k = 1: rows of C are written one after the other */
    GEMM_THIN = 32,   /* few rows: kernels of their own go over B in place, or over what stage 0 packed */
    GEMM_PACK_A = 8,  /* a task packs its block of A into its scratch: [tile][k][mr rounded up to lanes] */
    GEMM_FAR = 64,    /* of THIN: B comes from memory, or from a cache that other cores share */
};

static const wick_gemm_kernels *const gemm_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_gemm_kernels)};

const wick_gemm_kernel *wick_gemm_kernel_of(wick_ctype type) {
    return &gemm_tiers[wick_tier_current()]->type[type == WICK_CF64];
}

const wick_gemm_kernel *wick_gemm_tiles_of(wick_ctype type, int64_t cols) {
    const wick_gemm_kernel *half = &gemm_tiers[wick_tier_current()]->half;
    return type == WICK_CF32 && half->elem && cols <= half->lanes ? half : wick_gemm_kernel_of(type);
}

/* The product as the tiles see it, after GEMM_SWAP. */
typedef struct gemm_view {
    int64_t m, n, k, a_row, a_col, b_row, b_col, c_row, c_col;
    int bias;
} gemm_view;

static gemm_view gemm_view_of(const wick_gemm *g, uint32_t how) {
    if (how & GEMM_SWAP)
        return (gemm_view){g->n,     g->m,     g->k, g->b_col, g->b_row,
                           g->a_col, g->a_row, 1,    g->c_row, g->bias ? 3 - g->bias : 0};
    return (gemm_view){g->m, g->n, g->k, g->a_row, g->a_col, g->b_row, g->b_col, g->c_row, 1, g->bias};
}

/* In sixteenths of a vector multiply-add, per step of k. */
static int64_t gemm_cost(const wick_gemm_kernel *q, const gemm_view *v) {
    const bool squares = q->squares && v->m <= q->few_by_columns && v->n >= q->columns;
    const int64_t vecs = wick_ceil_div(v->n, q->lanes), pack = v->b_col == 1   ? 0
                                                               : v->b_row != 1 ? 32
                                                               : squares       ? WICK_GEMM_SQUARES_COST
                                                                               : WICK_GEMM_PACK_COST;
    /* Fewer than four rows cannot hide the latency of the multiply-add. */
    return vecs * (16 * WICK_MAX(v->m, 2) + pack * q->lanes);
}

/* Whether rows or columns this far apart share sets of L1. */
static bool share_sets(const wick_gemm_kernel *q, int64_t distance) {
    const int64_t stride = (distance < 0 ? -distance : distance) * q->elem, over = stride % WICK_GEMM_SET_BYTES;
    /* neighbours share a line */
    return stride >= WICK_GEMM_SET_BYTES / 2 && WICK_MIN(over, WICK_GEMM_SET_BYTES - over) < 32;
}

int64_t wick_gemm_tile_rows(const wick_gemm_kernel *q, int64_t a_row) {
    return share_sets(q, a_row) ? WICK_MIN(q->mr, WICK_GEMM_SET_ROWS) : q->mr;
}

bool wick_gemm_c_is_far(int64_t bytes) { return bytes > WICK_GEMM_NEAR_C; }

/* Bytes of a task's packed block of A: [tile][k][mr rounded up to whole vectors]. */
static size_t gemm_packed_a(const wick_gemm *g, const gemm_view *v) {
    const wick_gemm_kernel *q = g->kernel;
    const int64_t tiles = wick_ceil_div(WICK_MIN(g->mc, v->m), q->mr);
    const size_t width = WICK_ALIGN_UP(q->mr, q->lanes);
    return WICK_ALIGN_UP((size_t)(tiles * WICK_MIN(g->kc, v->k) * q->elem) * width, WICK_ALIGN);
}

/* of B */
static double gemm_bytes(const wick_gemm_kernel *q, const gemm_view *v) {
    return (double)q->elem * (double)v->k * (double)v->n;
}

/* Bytes of the last cache that operands of a thin product may take, beside what others keep there. */
static double l3_share(const wick_tuning *t) { return (double)t->cost_l3_bytes / WICK_GEMM_L3_SHARE; }

static bool is_crowded(const wick_gemm_kernel *q, const gemm_view *v) {
    return v->b_col != 1 && !q->squares && share_sets(q, v->b_col);
}
/* Whether a product of few rows is laid out for a B that comes from L3 or memory. It does if B is larger than its share
 * of the cache. Columns that share sets of L1 count four times, since only those of one group stay there. */
static bool gemm_is_far(const wick_gemm_kernel *q, const gemm_view *v, const wick_tuning *tuning) {
    const double bytes = gemm_bytes(q, v);
    if (v->b_col == 1) return bytes > WICK_GEMM_FAR_BY_ROWS;
    return bytes * (is_crowded(q, v) ? 4 : 1) > l3_share(tuning);
}

/* Why a way is not taken; NULL: it is. In the order in which they are tried. */
static const char *outer_refused(const wick_gemm *g, const wick_gemm_kernel *q) {
    if (g->k != 1) return "k is not 1";
    if (g->b_col != 1 || g->n < q->nr) return "rows of B are no vectors in memory, or short ones";
    if (g->keep || g->accumulate || g->bias || g->relu) return "B is kept packed, or something is done to the results";
    return NULL;
}
static const char *swap_refused(const wick_gemm *g, const wick_gemm_kernel *q, const gemm_view *v,
                                const gemm_view *transposed) {
    if (g->keep) return "B is kept packed";
    if (g->lower) return "C is symmetric";
    if (v->n > q->mr) return "C is wide";
    return gemm_cost(q, transposed) < gemm_cost(q, v) ? NULL : "it would cost no less";
}
static const char *gemv_refused(const wick_gemm *g, const wick_gemm_kernel *q, const gemm_view *v,
                                const wick_tuning *tuning) {
    if (g->keep) return "B is kept packed";
    if (g->lower) return "C is symmetric";
    if (v->b_col == 1)
        return v->m <= (gemm_is_far(q, v, tuning) ? WICK_GEMM_FEW_FAR : WICK_GEMM_FEW_NEAR) ? NULL
                                                                                            : "there are more rows";
    if (v->b_row != 1) return "B is contiguous along neither dim";
    if (v->m > q->few_by_columns) return "there are more rows";
    return v->n >= q->columns ? NULL : "there are too few columns";
}

/* Few rows of a constant B that lies in L3: panels are read as fast as L3 gives them. Rows of B, each on another page,
 * whose sums wait in L1, take up to twice as long, and so do columns, which have to be transposed. A larger B comes
 * from memory, however it lies. */
static bool gemm_takes_panels(const wick_gemm *g, const wick_gemm_kernel *q, const gemm_view *v,
                              const wick_tuning *tuning) {
    const double bytes = gemm_bytes(q, v);
    return g->b_constant && !g->keep && !g->lower && v->m <= WICK_GEMM_FEW_FAR && bytes > WICK_GEMM_FAR_BY_ROWS &&
           bytes <= (double)tuning->cost_l3_bytes;
}

bool wick_gemm_wants_rows(const wick_gemm *g, const wick_tuning *tuning) {
    tuning = wick_tuning_or_default(tuning);
    const wick_gemm_kernel *q = wick_gemm_kernel_of(g->type);
    const gemm_view v = gemm_view_of(g, 0);
    return !g->narrow && !q->rows && !gemm_takes_panels(g, q, &v, tuning) && v.b_row == 1 && v.b_col != 1 && v.k > 1 &&
           v.n > 1 && v.m <= WICK_GEMM_FEW_NEAR && gemm_bytes(q, &v) <= l3_share(tuning);
}

int wick_gemm_rejected(const wick_gemm *g, const wick_tuning *tuning, wick_rejected *out) {
    tuning = wick_tuning_or_default(tuning);
    int n = 0;
    if (g->amx || !g->m || !g->n) return 0;
    out[n++] = (wick_rejected){"tiles of AMX", wick_amx_refused(g)};
    if (g->narrow) return n + wick_narrow_rejected(g, out + n);
    if (g->kernel->rows || g->how & GEMM_OUTER || !g->tasks || g->sparse.kernel) return n;
    const wick_gemm_kernel *q = g->kernel;
    const gemm_view plain = gemm_view_of(g, 0), transposed = gemm_view_of(g, GEMM_SWAP),
                    v = g->how & GEMM_SWAP ? transposed : plain;
    out[n++] = (wick_rejected){"rows of C one after the other", outer_refused(g, q)};
    if (!(g->how & GEMM_SWAP))
        out[n++] = (wick_rejected){"the transpose of C instead", swap_refused(g, q, &plain, &transposed)};
    if (!(g->how & GEMM_THIN))
        out[n++] = (wick_rejected){"one pass over B for few rows", gemv_refused(g, q, &v, tuning)};
    return n;
}

/* Tasks of a product that is worth many: so wide that what they read from far caches is used often, and no more than a
 * large product needs. */
static void gemm_cut(const gemm_view *v, double work, int64_t want, const wick_tuning *tuning, int64_t *down,
                     int64_t *across) {
    const int64_t enough = WICK_MIN(want, WICK_MAX(WICK_GEMM_FEW_TASKS, (int64_t)(work / WICK_GEMM_LARGE_WORK)));
    const int64_t rows[2] = {tuning->gemm_block_rows / 2, WICK_GEMM_LEAST_ROWS},
                  cols[2] = {WICK_GEMM_LOW_COLUMNS, WICK_GEMM_LEAST_COLUMNS};
    *down = wick_ceil_div(v->m, tuning->gemm_block_rows);
    *across = wick_ceil_div(v->n, WICK_GEMM_NC);
    for (int i = 0; i < 2; i++) {
        while (*down * *across < enough && wick_ceil_div(v->m, *down) > rows[i]) ++*down;
        while (*down * *across < enough && wick_ceil_div(v->n, *across) > cols[i]) ++*across;
    }
}

/* A panel of B, and rows of A where they are packed. */
static void gemm_scratch(wick_gemm *g, const gemm_view *v, bool panel) {
    const wick_gemm_kernel *q = g->kernel;
    g->scratch = panel ? WICK_ALIGN_UP((size_t)(WICK_MIN(g->kc, v->k) * q->nr * q->elem), WICK_ALIGN) : 0;
    const bool conflicts = v->a_col != 1 || wick_gemm_tile_rows(q, v->a_row) < q->mr;
    if (v->m > 1 && g->nc >= WICK_GEMM_PACK_A_PANELS * q->nr && v->a_row != 0 && v->a_col != 0 && conflicts) {
        g->how |= GEMM_PACK_A;
        g->scratch += gemm_packed_a(g, v);
    }
}

static double gemm_work(const gemm_view *v) { return (double)v->m * (double)v->n * (double)(v->k + 8); }

static int64_t thin_tasks(const gemm_view *v, const wick_tuning *tuning) {
    const double tasks = gemm_work(v) * WICK_GEMM_THIN_COST / (double)tuning->gemm_task_work;
    return WICK_MIN(1 + (int64_t)WICK_MIN(tasks, WICK_GEMM_MAX_TASKS), WICK_GEMM_MAX_TASKS);
}

/* Few rows: a task takes columns of C, and passes over its part of B once. */
static void gemm_cut_few_rows(wick_gemm *g, const gemm_view *v, const wick_tuning *tuning) {
    const wick_gemm_kernel *q = g->kernel;
    const bool by_rows = v->b_col == 1, from_dram = gemm_is_far(q, v, tuning);
    int64_t across = WICK_MIN(thin_tasks(v, tuning),
                              by_rows && from_dram ? wick_ceil_div(v->n * q->elem, gemm_bytes(q, v) <= l3_share(tuning)
                                                                                       ? WICK_GEMM_SWEEP_NEAR
                                                                                       : WICK_GEMM_SWEEP_TASK)
                                                   : wick_ceil_div(v->n, q->lanes));
    do g->nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(v->n, across), q->lanes);
    /* the last one's columns fill a vector */
    while (!by_rows && (v->n - 1) % g->nc + 1 < q->columns && across-- > 1);
    g->how |= GEMM_THIN | (from_dram ? GEMM_FAR : 0);
    g->mc = v->m;
    g->tasks = wick_ceil_div(v->n, g->nc);
}

/* Stage 0 packs B. */
static void gemm_pack_for_all(wick_gemm *g, const gemm_view *v) {
    const int64_t nr = g->kernel->nr, panels = wick_ceil_div(v->n, nr);
    g->packed = (size_t)(panels * nr * v->k * g->kernel->elem);
    g->tasks_pack = wick_ceil_div(panels, 1 + WICK_GEMM_PACK_WORK / (nr * v->k + 1));
}

static void gemm_cut_panels(wick_gemm *g, const gemm_view *v, const wick_tuning *tuning) {
    g->nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(v->n, thin_tasks(v, tuning)), WICK_GEMM_PANELS * g->kernel->nr);
    g->how |= GEMM_THIN | GEMM_SHARE_B;
    g->mc = v->m;
    g->tasks = wick_ceil_div(v->n, g->nc);
    gemm_pack_for_all(g, v);
}

/* Which rows and columns of C a task makes; large: of B. Returns into how many parts rows are cut. */
static int64_t gemm_cut_tiles(wick_gemm *g, const gemm_view *v, bool large, const wick_tuning *tuning) {
    const wick_gemm_kernel *q = g->kernel;
    const double work = gemm_work(v);
    const int64_t want = work >= (double)WICK_GEMM_MAX_TASKS * (double)tuning->gemm_task_work
                             ? WICK_GEMM_MAX_TASKS
                             : 1 + (int64_t)(work / (double)tuning->gemm_task_work);
    /* Of small products columns are cut first: such tasks share no part of B. */
    int64_t across = WICK_MIN(wick_ceil_div(v->n, q->nr), want), down = 1;
    if (want >= WICK_GEMM_FEW_TASKS) {
        gemm_cut(v, work, want, tuning, &down, &across);
    } else {
        /* B that tasks read where it lies is the same for all: C is cut by rows first, as what follows an update or an
         * elementwise program is. */
        const bool rows_first = v->b_col == 1 && !large && !(g->how & GEMM_SWAP);
        if (rows_first) across = WICK_MIN(across, wick_ceil_div(want, WICK_MAX(WICK_MIN(want, v->m / (4 * q->mr)), 1)));
        down = WICK_MAX(WICK_MIN(wick_ceil_div(want, across), wick_ceil_div(v->m, 2 * q->mr)),
                        wick_ceil_div(v->m, tuning->gemm_block_rows));
        if (down > 1) across = WICK_MIN(across, wick_ceil_div(want, down));
        across = WICK_MAX(across, wick_ceil_div(v->n, WICK_GEMM_NC));
    }
    g->nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(v->n, across), q->nr);
    g->mc = wick_ceil_div(v->m, down);
    down = wick_ceil_div(v->m, g->mc);
    g->tasks = wick_ceil_div(v->n, g->nc) * down;
    return down;
}

/* Rows of B, `stride` bytes apart, whose lines the cache of a core holds at once: powers of 2 share sets of it. */
static int64_t rows_in_l2(int64_t stride, const wick_tuning *tuning) {
    int64_t apart = WICK_GEMM_LINE;
    while (stride && stride % (2 * apart) == 0) apart *= 2;
    return tuning->cost_l2_bytes / apart;
}

/* Whether B is packed: by stage 0 for all tasks, or by each for itself. Returns whether tasks need room for a panel. */
static bool gemm_place_b(wick_gemm *g, const gemm_view *v, int64_t down, bool large, const wick_tuning *tuning) {
    const wick_gemm_kernel *q = g->kernel;
    const int64_t b_row = (v->b_row < 0 ? -v->b_row : v->b_row) * q->elem;
    bool panel = v->n % q->lanes != 0 && !q->masks;
    if (g->keep) {
        g->how |= GEMM_SHARE_B;
        panel = false;
    } else {
        /* Stage 0 is given only B, which GEMM_SWAP turns into the operand that is not packed. */
        const bool turned_b = v->b_col != 1, often = g->mc >= WICK_GEMM_FAR_TILES * q->mr,
                   pages = b_row >= WICK_GEMM_FAR_ROWS && (often || (g->b_constant && large));
        /* where L2 has just room for them A is in the way, which counts if tiles are small: rows of a line */
        const int64_t rows = WICK_MIN(g->kc, v->k) + (q->nr * q->elem <= WICK_GEMM_LINE);
        const bool crowded = v->m >= WICK_GEMM_FAR_TILES * q->mr && rows_in_l2(b_row, tuning) < rows;
        /* in place, vectors of rows that aren't whole lines lie in two */
        const bool packs = turned_b || pages || crowded,
                   share = packs ? g->b_constant || down > 1 : down > 1 && large && b_row % WICK_GEMM_LINE != 0;
        if (share && !(g->how & GEMM_SWAP))
            g->how |= GEMM_SHARE_B, panel = false;
        else if (packs)
            g->how |= GEMM_PACK_B, panel = true;
    }
    if (g->how & GEMM_SHARE_B) gemm_pack_for_all(g, v);
    return panel;
}

void wick_gemm_prepare(wick_gemm *g, const wick_tuning *tuning) {
    tuning = wick_tuning_or_default(tuning);
    g->sparse.kernel = NULL;
    if (wick_amx_prepare(g) || wick_sparse_prepare(g, tuning)) return;
    if (g->narrow) {
        wick_narrow_prepare(g, tuning);
        return;
    }
    const wick_gemm_kernel *q = wick_gemm_kernel_of(g->type);
    g->kernel = q;
    g->how = 0;
    g->tasks = g->tasks_pack = 0;
    g->packed = g->scratch = 0;
    g->kc = g->k ? WICK_ALIGN_UP(wick_ceil_div(g->k, wick_ceil_div(g->k, WICK_GEMM_KC)), 8) : 8;
    g->mc = g->m;
    g->nc = g->n;
    if (g->m == 0 || g->n == 0) return;
    if (g->k == 0 && g->accumulate && !g->bias && !g->relu) return;
    if (q->rows) {
        g->mc = 1 + tuning->gemm_task_work / 8 / (g->n * (g->k + 1));
        g->tasks = wick_ceil_div(g->m, g->mc);
        return;
    }
    if (!outer_refused(g, q)) {
        g->how = GEMM_OUTER;
        g->mc = 1 + WICK_GEMM_PACK_WORK / g->n;
        g->tasks = wick_ceil_div(g->m, g->mc);
        return;
    }
    gemm_view v = gemm_view_of(g, 0);
    const gemm_view transposed = gemm_view_of(g, GEMM_SWAP);
    if (!swap_refused(g, q, &v, &transposed)) {
        g->how = GEMM_SWAP;
        v = transposed;
    }
    if (!(g->how & GEMM_SWAP) && gemm_takes_panels(g, q, &v, tuning)) {
        gemm_cut_panels(g, &v, tuning);
        return;
    }
    if (!gemv_refused(g, q, &v, tuning)) {
        gemm_cut_few_rows(g, &v, tuning);
        return;
    }
    const bool large = (double)v.k * (double)v.n * (double)q->elem >= (double)tuning->gemm_share_bytes;
    const int64_t down = gemm_cut_tiles(g, &v, large, tuning);
    gemm_scratch(g, &v, gemm_place_b(g, &v, down, large, tuning));
}

void wick_gemm_pack_in_tasks(wick_gemm *g, const wick_tuning *tuning) {
    if (!g->tasks_pack || g->how & GEMM_THIN || g->amx || g->narrow || g->keep || g->lower || g->sparse.kernel) return;
    const wick_gemm_kernel *q = g->kernel;
    tuning = wick_tuning_or_default(tuning);
    const gemm_view v = gemm_view_of(g, g->how);
    const int64_t panels = wick_ceil_div(v.n, q->nr),
                  want = WICK_MIN(1 + (int64_t)(gemm_work(&v) / (double)tuning->gemm_task_work), WICK_GEMM_FEW_TASKS);
    const int64_t across = WICK_MAX(WICK_MIN(panels, want), wick_ceil_div(v.n, WICK_GEMM_NC)),
                  nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(v.n, across), q->nr);
    /* of A, by one panel after the other */
    const double passed = (double)v.m * (double)(nc > q->nr ? WICK_MIN(g->kc, v.k) : v.k) * (double)q->elem;
    if (passed > WICK_GEMM_OWN_A || v.a_col != 1 || panels < want / 2) return;
    g->nc = nc;
    g->mc = v.m;
    g->tasks = wick_ceil_div(v.n, g->nc);
    g->tasks_pack = 0;
    g->packed = 0;
    g->how = (g->how & ~(uint32_t)(GEMM_SHARE_B | GEMM_PACK_A)) | GEMM_PACK_B;
    gemm_scratch(g, &v, true);
}

void wick_gemm_keep_packing(wick_gemm *g) {
    g->m = g->a_row = g->a_col = g->c_row = g->mc = g->nc = g->tasks = 0;
    g->sparse.nonzeros = 0;
    g->accumulate = g->lower = g->relu = g->b_constant = false;
    g->bias = 0;
    g->scratch = 0;
    if (g->narrow && !g->amx)
        wick_narrow_keep_packing(g);
    else
        g->how &= GEMM_SWAP | GEMM_SHARE_B;
}

void wick_gemm_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed) {
    if (g->amx) {
        wick_amx_pack(g, begin, end, b, packed);
        return;
    }
    if (g->narrow) {
        wick_narrow_pack(g, begin, end, b, packed);
        return;
    }
    if (g->sparse.kernel) {
        wick_sparse_pack(g, b, packed);
        return;
    }
    const wick_gemm_kernel *q = g->kernel;
    const gemm_view v = gemm_view_of(g, g->how);
    const int64_t panels = wick_ceil_div(v.n, q->nr), per_task = wick_ceil_div(panels, g->tasks_pack);
    /* Rows are gone through some at a time, each along all of the task's panels: as many streams as a core's
     * prefetching follows. */
    const int64_t first = begin * per_task, last = WICK_MIN(panels, end * per_task),
                  step = v.b_col == 1 ? WICK_GEMM_SWEEP_STEPS : v.k;
    for (int64_t k = 0; k < v.k; k += step)
        for (int64_t j = first; j < last; j++) {
            const int64_t col = j * q->nr;
            q->pack(WICK_MIN(step, v.k - k), WICK_MIN(q->nr, v.n - col),
                    (const char *)b + (k * v.b_row + col * v.b_col) * q->elem, v.b_row, v.b_col,
                    (char *)packed + (col * v.k + k * q->nr) * q->elem, q->nr);
        }
}

/* A task of a thin product: all rows, columns [c0, c1). Of columns that are contiguous the kernel goes through all
 * blocks of k before the next ones. */
static void gemv(const wick_gemm *g, const gemm_view *v, int64_t c0, int64_t c1, const char *a, const char *b,
                 const char *bias, char *c, const char *packed) {
    const wick_gemm_kernel *q = g->kernel;
    const int64_t elem = q->elem;
    const bool panels = g->how & GEMM_SHARE_B, by_rows = panels || v->b_col == 1;
    const int64_t b_step = panels ? q->nr : v->b_row;
    wick_gemm_tile t = {.k = by_rows ? WICK_MIN(g->kc, v->k) : v->k,
                        .a = a,
                        .a_row = v->a_row,
                        .a_col = v->a_col,
                        .b = panels ? packed + c0 * v->k * elem : b + c0 * v->b_col * elem,
                        .b_row = panels    ? q->nr * v->k
                                 : by_rows ? v->b_row
                                           : v->b_col,
                        .k_block = g->kc,
                        .from_dram = g->how & GEMM_FAR,
                        .c = c + c0 * v->c_col * elem,
                        .c_row = v->c_row,
                        .c_col = v->c_col,
                        .cols = c1 - c0,
                        .bias = bias ? bias + (v->bias == 1 ? c0 : 0) * elem : NULL,
                        .add = g->accumulate};
    for (int64_t rest = v->k;; t.add = true) {
        rest -= t.k;
        if (rest <= 0) {
            t.bias_mode = v->bias;
            t.relu = g->relu;
        }
        (panels ? q->gemv_panels : by_rows ? q->gemv_rows : q->gemv_columns)[v->m - 1](&t);
        if (rest <= 0) return;
        t.a = (const char *)t.a + t.k * v->a_col * elem;
        t.b = (const char *)t.b + t.k * b_step * elem;
        t.k = WICK_MIN(t.k, rest);
    }
}

/* Rows [r0, r1) of C by columns [c0, c1): one task. */
static void gemm_block(const wick_gemm *g, const gemm_view *v, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
                       const char *a, const char *b, const char *bias, char *c, const char *packed, char *scratch) {
    const wick_gemm_kernel *q = g->kernel;
    const int64_t elem = q->elem, nr = q->nr, lanes = q->lanes, kb = WICK_MIN(g->kc, v->k);
    /* Tiles of nearly equal height: 64 rows are 13 + 13 + 13 + 13 + 12, not 4 * 14 + 8. */
    const int64_t highest = g->how & GEMM_PACK_A ? q->mr : wick_gemm_tile_rows(q, v->a_row),
                  tiles = r1 - r0 <= highest ? 1 : wick_ceil_div(r1 - r0, highest);
    const int64_t height = tiles == 1 ? r1 - r0 : (r1 - r0) / tiles, taller = r1 - r0 - height * tiles;
    const int64_t a_width = (int64_t)WICK_ALIGN_UP(q->mr, lanes);
    char *const packed_a = g->how & GEMM_PACK_A ? scratch + g->scratch - gemm_packed_a(g, v) : NULL;
    wick_gemm_tile t = {.c_row = v->c_row, .c_col = v->c_col, .from_dram = wick_gemm_c_is_far(v->m * v->n * elem)};
    int64_t k0 = 0;
    do { /* once for k = 0 */
        const int64_t k = WICK_MIN(g->kc, v->k - k0);
        const bool last = k0 + k >= v->k;
        if (g->how & GEMM_PACK_A) {
            for (int64_t i = 0, row = r0; i < tiles; i++) {
                const int64_t rows = height + (i < taller);
                q->pack(k, rows, a + (row * v->a_row + k0 * v->a_col) * elem, v->a_col, v->a_row,
                        packed_a + i * a_width * kb * elem, a_width);
                row += rows;
            }
        }
        t.k = k;
        t.bias_mode = last ? v->bias : 0;
        t.add = g->accumulate || k0 > 0;
        t.relu = last && g->relu;
        for (int64_t col = c0; col < c1; col += nr) {
            if (g->lower && col >= r1) break;
            t.b_row = nr;
            t.cols = WICK_MIN(nr, c1 - col);
            if (g->how & GEMM_SHARE_B) {
                t.b = packed + (col * v->k + k0 * nr) * elem;
            } else {
                t.b = b + (k0 * v->b_row + col * v->b_col) * elem;
                if ((g->how & GEMM_PACK_B) || (t.cols % lanes && !q->masks)) {
                    q->pack(k, t.cols, t.b, v->b_row, v->b_col, scratch, nr);
                    t.b = scratch;
                } else {
                    t.b_row = v->b_row;
                }
            }
            /* What is packed comes from a far cache: the tiles of a panel ask for the next one. So does B that is read
             * where it lies, whose rows prefetching doesn't follow; large tiles ask with every other step, so that four
             * of them take turns at even and odd rows of its two lines. */
            const bool ask_rows =
                t.b_row == v->b_row && v->b_col == 1 && !(g->how & GEMM_SHARE_B) && tiles >= 4 && col + nr < c1;
            const char *next = NULL;
            int64_t next_bytes = 0;
            if (g->how & GEMM_SHARE_B && k) {
                if (col + nr < c1)
                    next = t.b, next += v->k * nr * elem, next_bytes = k * nr * elem;
                else if (!last)
                    next = packed + (c0 * v->k + (k0 + k) * nr) * elem,
                    next_bytes = WICK_MIN(g->kc, v->k - k0 - k) * nr * elem;
            }
            t.ahead_step = ask_rows ? v->b_row * elem : next ? wick_ceil_div(next_bytes, tiles * k) : 0;
            int64_t vecs = 1;
            while (vecs * lanes < t.cols) vecs++;
            wick_gemm_tile_fn *const *const by_rows = q->tiles + (vecs - 1) * q->mr - 1;
            for (int64_t i = 0, row = r0; i < tiles; i++) {
                const int64_t rows = height + (i < taller);
                if (g->lower && col >= row + rows) {
                    row += rows;
                    continue;
                }
                if (g->how & GEMM_PACK_A) {
                    t.a = packed_a + i * a_width * kb * elem;
                    t.a_row = 1;
                    t.a_col = a_width;
                } else {
                    t.a = a + (row * v->a_row + k0 * v->a_col) * elem;
                    t.a_row = v->a_row;
                    t.a_col = v->a_col;
                }
                t.c = c + (row * v->c_row + col * v->c_col) * elem;
                t.bias = bias ? bias + (v->bias == 1 ? col : row) * elem : NULL;
                t.ahead = ask_rows ? (const char *)t.b + nr * elem + i % 2 * t.ahead_step + i / 2 % 2 * WICK_GEMM_LINE
                          : next   ? next + i * next_bytes / tiles
                                   : NULL;
                by_rows[rows](&t);
                row += rows;
            }
        }
        k0 += k;
    } while (k0 < v->k);
}

/* Where task t begins in C. Neighbouring tasks have the same columns where stage 0 packed B, so that the core that
 * packed a panel mostly uses it, and where B is larger than A and C, so that a core mostly reads a part of it.
 * Elsewhere, and where one thread runs all tasks, neighbours have the same rows of A. */
static void gemm_place(const wick_gemm *g, const gemm_view *v, int64_t t, bool all, int64_t *row, int64_t *col) {
    const int64_t across = g->tasks == 1 ? 1 : wick_ceil_div(v->n, g->nc), down = g->tasks / across;
    const bool by_columns = (g->how & GEMM_SHARE_B || v->k * v->n > v->m * (v->k + v->n)) && !all;
    *row = (by_columns ? t % down : t / across) * g->mc;
    *col = (by_columns ? t / down : t % across) * g->nc;
}

void wick_gemm_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                   void *c, const void *packed, void *scratch) {
    if (g->amx) {
        wick_amx_run(g, begin, end, a, b, bias, c, packed, scratch);
        return;
    }
    if (g->narrow) {
        wick_narrow_run(g, begin, end, a, b, bias, c, packed, scratch);
        return;
    }
    if (g->sparse.kernel) {
        wick_sparse_run(g, begin, end, a, b, bias, c, packed, scratch);
        return;
    }
    const wick_gemm_kernel *q = g->kernel;
    if (q->rows) {
        q->rows(g, begin * g->mc, WICK_MIN(g->m, end * g->mc), a, b, bias, c);
        return;
    }
    if (g->how & GEMM_OUTER) {
        const int64_t r0 = begin * g->mc, r1 = WICK_MIN(g->m, end * g->mc);
        q->outer(r1 - r0, g->n, (const char *)a + r0 * g->a_row * q->elem, g->a_row, b,
                 (char *)c + r0 * g->c_row * q->elem, g->c_row);
        return;
    }
    const gemm_view v = gemm_view_of(g, g->how);
    if (g->how & GEMM_SWAP) {
        const void *other = a;
        a = b;
        b = other;
    }
    const bool whole = begin == 0 && end == g->tasks;
    for (int64_t t = begin; t < end; t++) {
        int64_t r0, c0;
        gemm_place(g, &v, t, whole, &r0, &c0);
        if (g->how & GEMM_THIN)
            gemv(g, &v, c0, WICK_MIN(v.n, c0 + g->nc), a, b, bias, c, packed);
        else
            gemm_block(g, &v, r0, WICK_MIN(v.m, r0 + g->mc), c0, WICK_MIN(v.n, c0 + g->nc), a, b, bias, c, packed,
                       scratch);
    }
}

bool wick_gemm_task_block(const wick_gemm *g, int64_t task, int64_t rows[2], int64_t cols[2]) {
    if (g->amx || g->narrow || g->lower) return false;
    if (g->sparse.kernel) return wick_sparse_task_block(g, task, rows, cols);
    const bool whole = g->kernel->rows || g->how & GEMM_OUTER, transposed = !whole && g->how & GEMM_SWAP;
    int64_t *const of_m = transposed ? cols : rows, *const of_n = transposed ? rows : cols;
    const gemm_view v = gemm_view_of(g, transposed ? GEMM_SWAP : 0);
    of_m[0] = task * g->mc;
    of_n[0] = 0;
    if (!whole) gemm_place(g, &v, task, false, &of_m[0], &of_n[0]);
    of_m[1] = WICK_MIN(v.m, of_m[0] + g->mc);
    of_n[1] = whole ? v.n : WICK_MIN(v.n, of_n[0] + g->nc);
    return true;
}

const char *wick_gemm_name(const wick_gemm *g) {
    if (g->amx) return wick_amx_name(g);
    if (g->narrow) return wick_narrow_name(g);
    if (g->sparse.kernel) return wick_sparse_name(g);
    const int a = g->a_col == 1 ? 0 : g->a_row == 1 ? 1 : 2, b = g->b_col == 1 ? 0 : g->b_row == 1 ? 1 : 2;
    return g->kernel->names[a * 3 + b];
}
