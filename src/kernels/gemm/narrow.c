/* narrow.c: control flow of products of bf16 and f16. No operand is converted beforehand: panels are, as they are
 * packed. */
#include "kernels/convert/convert.h"
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/gemm/narrow.h"
#include "kernels/packing.h"
#include "kernels/tuning.h"

enum {
    NARROW_DOT = 1,    /* pairs of bf16, else f32 */
    NARROW_PACK_A = 2, /* a task packs its rows of A into its scratch, for all of k */
    NARROW_SWEEP = 8,  /* a few rows, and B where it lies */
    NARROW_SHARE_B = 4, /* stage 0 packs B, else a task does where it is not used in place */
    NARROW_TURNED = 16  /* stage 0 lays out panels of B as halves, one after the other: tasks convert them from there */
};

/* Elements of a column that are widened before they are transposed. */
enum { NARROW_CHUNK = 64, NARROW_COLUMNS = 32 };

/* Why a way is not taken; NULL: it is. */
static const char *dot_refused(const wick_gemm *g) {
    if (g->narrow != WICK_BF16) return "there are none of this dtype";
#ifdef WICK_HAS_AVX512
    if (wick_tier_current() == WICK_TIER_AVX512 && wick_extensions() & WICK_AVX512_BF16) return NULL;
#endif
    return "this CPU has none, or the tier in use";
}
static const wick_dot_kernel *dot_of(const wick_gemm *g) { /* of a product that was prepared */
#ifdef WICK_HAS_AVX512
    if (g->how & NARROW_DOT) return &wick_dot_kernel_avx512;
#endif
    (void)g;
    return NULL;
}
static wick_narrow_sweep_fn *sweep_now(const wick_gemm *g) { /* NULL: none for such */
    static wick_narrow_sweep_fn *const *const sweeps[WICK_TIER_COUNT] = {
        [WICK_TIER_BASE] = NULL,
        WICK_IF_AVX2([WICK_TIER_AVX2] = wick_narrow_sweeps_avx2, )
            WICK_IF_AVX512([WICK_TIER_AVX512] = wick_narrow_sweeps_avx512, )};
    wick_narrow_sweep_fn *const *const now = sweeps[wick_tier_current()];
    if (!now || g->m > WICK_SWEEP_ROWS || g->b_col != 1) return NULL;
    return now[(g->narrow == WICK_F16 ? WICK_SWEEP_ROWS : 0) + (int)g->m - 1];
}
/* dot: there are dot products for it. They go over B in place too, but a panel at a time: what lies in memory is swept.
 */
static const char *sweep_refused(const wick_gemm *g, bool dot) {
    if (g->m > WICK_SWEEP_ROWS) return "there are more rows";
    if (g->b_col != 1) return "rows of B are not contiguous";
    if (!sweep_now(g)) return "this tier has none";
    if (!dot) return NULL;
    if (g->keep) return "B is kept packed for dot products";
    return (double)g->k * (double)g->n * 2 > WICK_GEMM_FAR_BY_ROWS ? NULL
                                                                   : "dot products read B as fast from a near cache";
}

int wick_narrow_rejected(const wick_gemm *g, wick_rejected *out) {
    int n = 0;
    if (g->kernel->rows || !g->tasks) return 0;
    const char *const dot = dot_refused(g), *const sweep = sweep_refused(g, !dot);
    if (dot) out[n++] = (wick_rejected){"dot products of pairs", dot};
    if (sweep) out[n++] = (wick_rejected){"one pass over B for few rows", sweep};
    return n;
}

/* The sizes that both kinds have. */
typedef struct narrow_shape {
    int64_t lanes, mr, nr, group; /* group: elements of k in 4 bytes of a panel */
    int64_t width;                /* of a packed tile of A */
} narrow_shape;
static narrow_shape shape_of(const wick_gemm *g) {
    const int64_t lanes = g->kernel->lanes, mr = g->kernel->mr;
    return (narrow_shape){lanes, mr, g->kernel->nr, g->how & NARROW_DOT ? 2 : 1, (int64_t)WICK_ALIGN_UP(mr, lanes)};
}
static int64_t groups_of(const narrow_shape *s, int64_t k) { return wick_ceil_div(k, s->group); }
/* of f32, as far apart */
static int64_t tile_rows(const wick_gemm *g) {
    return wick_gemm_tile_rows(g->kernel, g->how & NARROW_PACK_A ? 1 : g->a_row / 2);
}

/* Columns that go through the tiles at once. */
static int64_t columns_at_once(const wick_gemm *g) {
    if (!(g->how & NARROW_DOT) || g->m > WICK_DOT_FEW) return g->kernel->nr;
    return dot_of(g)->few_columns[g->m - 1];
}

/* What a task's scratch holds, in this order. */
static size_t bytes_of_a(const wick_gemm *g) {
    if (!(g->how & NARROW_PACK_A)) return 0;
    const narrow_shape s = shape_of(g);
    return (size_t)(wick_ceil_div(WICK_MIN(g->mc, g->m), tile_rows(g)) * groups_of(&s, g->k) * s.width) * 4;
}
static size_t bytes_of_b(const wick_gemm *g) {
    const narrow_shape s = shape_of(g);
    return (size_t)(groups_of(&s, WICK_MIN(g->kc, g->k)) * s.nr) * 4;
}
static size_t bytes_of_sums(const wick_gemm *g) {
    const int64_t rows = g->k > g->kc ? WICK_MIN(g->mc, g->m) : WICK_MIN(g->kernel->mr, g->m);
    return (size_t)(rows * columns_at_once(g)) * 4;
}

/* A task may take all rows and pack its columns of B alone: no core then reads or writes over what another packed.
 * Where A is read where it lies, from a near cache. */
static bool packs_its_own(const wick_gemm *g) {
    return g->how & NARROW_DOT && !(g->how & NARROW_PACK_A) && !g->keep &&
           (double)g->m * (double)g->k * 2 <= WICK_GEMM_NARROW_A;
}

/* A constant B whose panels are a part of each of many rows, or that lies by columns, is laid out once: a task then
 * reads it as it lies, and half as much as of f32. */
static bool turns_b(const wick_gemm *g) {
    return !(g->how & (NARROW_DOT | NARROW_SHARE_B)) && g->keep && g->k > 1 &&
           (g->b_col != 1 || (g->n > g->kernel->nr && (double)g->k * (double)g->n * 2 >= WICK_GEMM_NARROW_FAR));
}

void wick_narrow_prepare(wick_gemm *g, const wick_tuning *tuning) {
    g->kernel = wick_gemm_kernel_of(WICK_CF32);
    g->how = dot_refused(g) ? 0 : NARROW_DOT;
    g->tasks = g->tasks_pack = 0;
    g->packed = g->scratch = 0;
    /* f16 is cut as f32 is: the same bits as of operands that were cast. */
    const int64_t most = g->narrow == WICK_BF16 ? WICK_GEMM_KC_BF16 : WICK_GEMM_KC;
    g->kc = g->k ? WICK_ALIGN_UP(wick_ceil_div(g->k, wick_ceil_div(g->k, most)), 8) : 8;
    g->mc = g->m;
    g->nc = g->n;
    if (g->m == 0 || g->n == 0) return;
    const double work = (double)g->m * (double)g->n * (double)(g->k + 8),
                 task = (double)tuning->gemm_task_work * (g->how & NARROW_DOT ? 2 : 1);
    if (g->kernel->rows) { /* the reference */
        g->mc = 1 + tuning->gemm_task_work / 8 / (g->n * (g->k + 1));
        g->tasks = wick_ceil_div(g->m, g->mc);
        g->scratch = (size_t)(2 * g->k) * 4 + 4;
        return;
    }
    const narrow_shape s = shape_of(g);
    const bool dot = g->how & NARROW_DOT;
    if (!sweep_refused(g, dot)) {
        g->how = NARROW_SWEEP;
        const int64_t want = work >= WICK_GEMM_MAX_TASKS * task ? WICK_GEMM_MAX_TASKS : 1 + (int64_t)(work / task);
        g->nc = (int64_t)WICK_ALIGN_UP(WICK_MAX(wick_ceil_div(g->n, want), WICK_MIN(g->n, WICK_GEMM_NARROW_SWEEP)),
                                       NARROW_COLUMNS);
        g->tasks = wick_ceil_div(g->n, g->nc);
        g->scratch = (size_t)(g->m * ((int64_t)WICK_ALIGN_UP(g->k, WICK_SWEEP_STEPS) + 2 * g->nc)) * 4;
        return;
    }
    if (!dot || g->a_col != 1) g->how |= NARROW_PACK_A;

    const int64_t panels = wick_ceil_div(g->n, s.nr),
                  want = work >= WICK_GEMM_MAX_TASKS * task ? WICK_GEMM_MAX_TASKS : 1 + (int64_t)(work / task);
    int64_t across = WICK_MIN(panels, want),
            down = WICK_MIN(wick_ceil_div(want, across), wick_ceil_div(g->m, 2 * s.mr));
    down = WICK_MAX(down, wick_ceil_div(g->m, tuning->gemm_block_rows));
    if (g->how & NARROW_PACK_A) /* all of k of a task's rows stay in L2 */
        down =
            WICK_MAX(down, wick_ceil_div(g->m, WICK_MAX(2 * s.mr, WICK_GEMM_NARROW_A /
                                                                      (s.width * 4 * groups_of(&s, g->k) / s.mr + 1))));
    const int64_t widest = WICK_MAX(2, g->n / WICK_GEMM_NARROW_COLUMNS);
    if (g->how & NARROW_PACK_A && g->m > 4 * s.mr && across > widest) { /* tasks of other columns pack A again */
        across = widest;
        down = WICK_MAX(down, WICK_MIN(wick_ceil_div(want, across), wick_ceil_div(g->m, 2 * s.mr)));
    }
    if (packs_its_own(g) && panels >= WICK_MIN(want / 2, WICK_GEMM_FEW_TASKS)) down = 1;
    else if (down > 1)
        across = WICK_MIN(across, wick_ceil_div(want, down));
    across = WICK_MAX(across, wick_ceil_div(g->n, WICK_GEMM_NC));
    g->nc = (int64_t)WICK_ALIGN_UP(wick_ceil_div(g->n, across), columns_at_once(g));
    g->mc = wick_ceil_div(g->m, down);
    if (g->how & NARROW_PACK_A && down > 1) g->mc = (int64_t)WICK_ALIGN_UP(g->mc, s.mr); /* whole tiles */
    down = wick_ceil_div(g->m, g->mc);
    g->tasks = wick_ceil_div(g->n, g->nc) * down;

    if (dot ? g->keep || down > 1 : down > 1) { /* f32 panels are twice what B takes: not for their own sake */
        g->how |= NARROW_SHARE_B;
        g->packed = (size_t)(panels * s.nr * groups_of(&s, g->k)) * 4;
        g->tasks_pack = wick_ceil_div(panels, 1 + WICK_GEMM_PACK_WORK / (s.nr * g->k + 1));
    } else if (turns_b(g)) {
        g->how |= NARROW_TURNED;
        g->packed = (size_t)(panels * s.nr * g->k) * sizeof(uint16_t);
        g->tasks_pack = wick_ceil_div(panels, 1 + WICK_GEMM_PACK_WORK / (s.nr * g->k + 1));
    }
    g->scratch = WICK_ALIGN_UP(bytes_of_a(g), WICK_ALIGN) + WICK_ALIGN_UP(bytes_of_b(g), WICK_ALIGN) + bytes_of_sums(g);
}

/* ---- f32 panels -------------------------------------------------------------------------------------------------- */

/* Where element p of k goes: of each pair of bf16 the second is first. */
static int64_t place_of(const wick_gemm *g, int64_t p, int64_t k) {
    return g->narrow == WICK_BF16 && (p ^ 1) < k ? p ^ 1 : p;
}

/* dst[place of p][j] = src[p * row + j * col] as f32, zeros to whole vectors. */
static void widen_panel(const wick_gemm *g, int64_t k, int64_t cols, const uint16_t *src, int64_t row, int64_t col,
                        float *dst, int64_t dst_row) {
    const wick_convert_fn load = wick_convert_kernels(wick_tier_current())->load[g->narrow];
    const int64_t padded = (int64_t)WICK_ALIGN_UP(cols, g->kernel->lanes);
    if (col == 1) {
        for (int64_t p = 0; p < k; p++) {
            float *to = dst + place_of(g, p, k) * dst_row;
            load(to, src + p * row, (size_t)cols);
            for (int64_t j = cols; j < padded; j++) to[j] = 0;
        }
        return;
    }
    float wide[NARROW_COLUMNS * NARROW_CHUNK];
    uint16_t line[NARROW_CHUNK];
    for (int64_t p0 = 0; p0 < k; p0 += NARROW_CHUNK) {
        const int64_t n = WICK_MIN(k - p0, NARROW_CHUNK);
        for (int64_t j = 0; j < cols; j++) {
            const uint16_t *from = src + p0 * row + j * col;
            float *to = wide + j * NARROW_CHUNK;
            if (row != 1) {
                for (int64_t p = 0; p < n; p++) line[p] = from[p * row];
                from = line;
            }
            load(to, from, (size_t)n);
            for (int64_t p = 0; g->narrow == WICK_BF16 && p + 1 < n; p += 2) {
                const float first = to[p];
                to[p] = to[p + 1];
                to[p + 1] = first;
            }
        }
        g->kernel->pack(n, cols, wide, 1, NARROW_CHUNK, dst + p0 * dst_row, dst_row);
    }
}

void wick_narrow_keep_packing(wick_gemm *g) { g->how &= NARROW_DOT | NARROW_TURNED; }

/* dst[p][j] = src[p * row + j * col], zeros behind the columns. */
static void turn_panel(int64_t k, int64_t cols, int64_t width, const uint16_t *src, int64_t row, int64_t col,
                       uint16_t *dst) {
    for (int64_t p = 0; p < k; p++, dst += width) {
        if (col == 1)
            memcpy(dst, src + p * row, (size_t)cols * sizeof *dst);
        else
            for (int64_t j = 0; j < cols; j++) dst[j] = src[p * row + j * col];
        memset(dst + cols, 0, (size_t)(width - cols) * sizeof *dst);
    }
}

void wick_narrow_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed) {
    const narrow_shape s = shape_of(g);
    const int64_t panels = wick_ceil_div(g->n, s.nr), per_task = wick_ceil_div(panels, g->tasks_pack),
                  all = groups_of(&s, g->k);
    for (int64_t j = begin * per_task; j < WICK_MIN(panels, end * per_task); j++) {
        const int64_t cols = WICK_MIN(s.nr, g->n - j * s.nr);
        const uint16_t *from = (const uint16_t *)b + j * s.nr * g->b_col;
        char *to = (char *)packed + j * s.nr * all * 4;
        if (g->how & NARROW_TURNED) {
            turn_panel(g->k, cols, s.nr, from, g->b_row, g->b_col, (uint16_t *)packed + j * s.nr * g->k);
            continue;
        }
        if (g->how & NARROW_DOT) {
            dot_of(g)->pack(g->k, cols, from, g->b_row, g->b_col, to, s.nr);
            continue;
        }
        for (int64_t k0 = 0; k0 < g->k; k0 += g->kc)
            widen_panel(g, WICK_MIN(g->kc, g->k - k0), cols, from + k0 * g->b_row, g->b_row, g->b_col,
                        (float *)(void *)to + k0 * s.nr, s.nr);
    }
}

/* As finish of wick_dot_kernel. */
static void finish(const wick_gemm *g, const wick_dot_finish *f) {
    const wick_convert_table *q = wick_convert_kernels(wick_tier_current());
    const wick_convert_fn load = q->load[g->result], store = q->store[g->result];
    const int64_t elem = g->result == WICK_F32 ? 4 : 2;
    float x[NARROW_COLUMNS], bias[NARROW_COLUMNS];
    uint16_t half[NARROW_COLUMNS];
    for (int64_t i = 0; i < f->rows; i++)
        for (int64_t j0 = 0; j0 < f->cols; j0 += NARROW_COLUMNS) {
            const int64_t n = WICK_MIN(f->cols - j0, NARROW_COLUMNS);
            const float *sums = f->sums + i * f->sums_row + j0, *from = bias;
            char *c = (char *)f->c + (i * f->c_row + j0) * elem;
            if (f->bias_mode) {
                const char *at = (const char *)f->bias + (f->bias_mode == 1 ? j0 : i) * elem;
                const int64_t count = f->bias_mode == 1 ? n : 1;
                if (load) load(bias, at, (size_t)count);
                else from = (const float *)(const void *)at;
                if (store) {
                    store(half, sums, (size_t)n);
                    load(x, half, (size_t)n);
                    sums = x;
                }
                for (int64_t j = 0; j < n; j++) x[j] = sums[j] + from[f->bias_mode == 1 ? j : 0];
                sums = x;
            }
            if (f->relu) {
                for (int64_t j = 0; j < n; j++) x[j] = sums[j] < 0 ? 0 : sums[j];
                sums = x;
            }
            if (store) store(c, sums, (size_t)n);
            else memcpy(c, sums, (size_t)n * 4);
        }
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* Three loops, in f32. */
static void reference(const wick_gemm *g, int64_t r0, int64_t r1, const uint16_t *a, const uint16_t *b,
                      const char *bias, char *c, float *scratch) {
    const wick_convert_fn load = wick_convert_kernels(wick_tier_current())->load[g->narrow];
    const int64_t elem = g->result == WICK_F32 ? 4 : 2;
    float *x = scratch, *y = scratch + g->k;
    for (int64_t i = r0; i < r1; i++) {
        for (int64_t p = 0; p < g->k; p++) load(x + p, a + i * g->a_row + p * g->a_col, 1);
        for (int64_t j = 0; j < g->n; j++) {
            float total = 0;
            for (int64_t p = 0; p < g->k; p++) load(y + p, b + p * g->b_row + j * g->b_col, 1);
            for (int64_t k0 = 0; k0 < g->k; k0 += g->kc) {
                const int64_t n = WICK_MIN(g->k - k0, g->kc);
                float sum = 0;
                for (int64_t p = 0; p < n; p++) sum += x[k0 + place_of(g, p, n)] * y[k0 + place_of(g, p, n)];
                total = total + sum;
            }
            finish(g, &(wick_dot_finish){.rows = 1,
                                         .cols = 1,
                                         .sums = &total,
                                         .bias = bias ? bias + (g->bias == 1 ? j : i) * elem : NULL,
                                         .bias_mode = g->bias,
                                         .relu = g->relu,
                                         .c = c + (i * g->c_row + j) * elem});
        }
    }
}

typedef struct narrow_task {
    const uint16_t *a, *b;
    const char *bias, *packed;
    char *c, *packed_a, *panel;
    float *sums;
    int64_t r0, r1, c0, c1;
    int64_t tiles, height, taller; /* of nearly equal height: the first `taller` are one row higher */
} narrow_task;

/* A tile of rows [row, row + rows) by cols columns, over k elements from k0 on; number i of the task's. */
static void dot_tile(const wick_gemm *g, const narrow_task *t, const narrow_shape *s, int64_t i, int64_t row,
                     int64_t rows, int64_t col, int64_t cols, int64_t k0, int64_t k, bool in_place, const char *b,
                     float *sums, int64_t sums_row) {
    const wick_dot_kernel *q = dot_of(g);
    const int64_t all = groups_of(s, g->k);
    wick_dot_tile d = {.pairs = k / 2,
                       .odd = k & 1,
                       .b = b,
                       .b_row = g->b_row * 2,
                       .b_next = all * s->nr * 4,
                       .sums = sums,
                       .sums_row = sums_row,
                       .add = k0 > 0};
    if (in_place) d.b = (const char *)(t->b + k0 * g->b_row + col * g->b_col);
    if (t->packed_a) {
        d.a = t->packed_a + (i * all + k0 / 2) * s->width * 4;
        d.a_row = 4;
        d.a_pair = s->width * 4;
    } else {
        d.a = (const char *)(t->a + row * g->a_row + k0);
        d.a_row = g->a_row * 2;
        d.a_pair = 4;
    }
    (cols > s->nr ? q->few[in_place][rows - 1] : q->tiles[in_place][(cols > s->lanes ? s->mr : 0) + rows - 1])(&d);
}

static void wide_tile(const wick_gemm *g, const narrow_task *t, const narrow_shape *s, int64_t i, int64_t rows,
                      int64_t cols, int64_t k0, int64_t k, const char *b, float *sums, int64_t sums_row) {
    const int64_t vectors = wick_ceil_div(cols, s->lanes);
    const wick_gemm_tile w = {.k = k,
                              .a = t->packed_a + (i * g->k + k0) * s->width * 4,
                              .a_row = 1,
                              .a_col = s->width,
                              .b = b,
                              .b_row = s->nr,
                              .c = sums,
                              .c_row = sums_row,
                              .c_col = 1,
                              .cols = vectors * s->lanes,
                              .add = k0 > 0};
    g->kernel->tiles[(vectors - 1) * s->mr + rows - 1](&w);
}

static void pack_rows_of_a(const wick_gemm *g, const narrow_task *t) {
    const narrow_shape s = shape_of(g);
    for (int64_t i = 0, row = t->r0, rows; i < t->tiles; i++, row += rows) {
        rows = t->height + (i < t->taller);
        char *to = t->packed_a + i * groups_of(&s, g->k) * s.width * 4;
        if (g->how & NARROW_DOT) {
            dot_of(g)->pack(g->k, rows, t->a + row * g->a_row, g->a_col, g->a_row, to, s.width);
            continue;
        }
        for (int64_t k0 = 0; k0 < g->k; k0 += g->kc)
            widen_panel(g, WICK_MIN(g->kc, g->k - k0), rows, t->a + row * g->a_row + k0 * g->a_col, g->a_col, g->a_row,
                        (float *)(void *)to + k0 * s.width, s.width);
    }
}

static void run_task(const wick_gemm *g, const narrow_task *t) {
    const narrow_shape s = shape_of(g);
    const bool dot = g->how & NARROW_DOT, share = g->how & NARROW_SHARE_B;
    const int64_t elem = g->result == WICK_F32 ? 4 : 2, at_once = columns_at_once(g), all = groups_of(&s, g->k),
                  sums_row = at_once;
    for (int64_t col = t->c0, cols; col < t->c1; col += cols) {
        cols = WICK_MIN(at_once, t->c1 - col);
        /* B is read in place where few tiles do so, since each pairs its rows again. */
        bool in_place = dot && !share && g->b_col == 1 && t->tiles <= WICK_GEMM_IN_PLACE_TILES;
        /* the few of all panels, or of the last ones */
        if (cols > s.nr && (cols < at_once || !(share || in_place))) cols = s.nr;
        if (cols % s.lanes) in_place = false;
        int64_t k0 = 0;
        do { /* once for k = 0 */
            const int64_t k = WICK_MIN(g->kc, g->k - k0);
            const char *b = t->panel;
            if (share) b = t->packed + (col * all + k0 / s.group * s.nr) * 4;
            else if (g->how & NARROW_TURNED)
                widen_panel(g, k, cols, (const uint16_t *)(const void *)t->packed + col * g->k + k0 * s.nr, s.nr, 1,
                            (float *)(void *)t->panel, s.nr);
            else if (!dot)
                widen_panel(g, k, cols, t->b + k0 * g->b_row + col * g->b_col, g->b_row, g->b_col,
                            (float *)(void *)t->panel, s.nr);
            else if (!in_place)
                dot_of(g)->pack(k, cols, t->b + k0 * g->b_row + col * g->b_col, g->b_row, g->b_col, t->panel, s.nr);
            for (int64_t i = 0, row = t->r0, rows; i < t->tiles; i++, row += rows) {
                rows = t->height + (i < t->taller);
                float *sums = t->sums + (g->k > g->kc ? (row - t->r0) * sums_row : 0);
                if (dot) dot_tile(g, t, &s, i, row, rows, col, cols, k0, k, in_place, b, sums, sums_row);
                else wide_tile(g, t, &s, i, rows, cols, k0, k, b, sums, sums_row);
                if (k0 + k < g->k) continue;
                const wick_dot_finish f = {.rows = rows,
                                           .cols = cols,
                                           .sums = sums,
                                           .sums_row = sums_row,
                                           .bias = t->bias ? t->bias + (g->bias == 1 ? col : row) * elem : NULL,
                                           .bias_mode = g->bias,
                                           .relu = g->relu,
                                           .f32 = g->result == WICK_F32,
                                           .c = t->c + (row * g->c_row + col) * elem,
                                           .c_row = g->c_row};
                if (dot) dot_of(g)->finish(&f);
                else finish(g, &f);
            }
            k0 += k;
        } while (k0 < g->k);
    }
}

/* The rows of A as f32 in the order of the chain: [k / 8][rows][8]. */
static void lay_out_rows(const wick_gemm *g, const uint16_t *a, float *to) {
    const wick_convert_fn load = wick_convert_kernels(wick_tier_current())->load[g->narrow];
    float wide[NARROW_CHUNK];
    uint16_t line[NARROW_CHUNK];
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t k0 = 0; k0 < g->k; k0 += g->kc) {
            const int64_t k = WICK_MIN(g->kc, g->k - k0);
            for (int64_t p0 = 0; p0 < k; p0 += NARROW_CHUNK) {
                const int64_t n = WICK_MIN(k - p0, NARROW_CHUNK);
                for (int64_t p = 0; p < n; p++) line[p] = a[i * g->a_row + (k0 + p0 + p) * g->a_col];
                load(wide, line, (size_t)n);
                for (int64_t p = 0; p < n; p++) {
                    const int64_t at = k0 + place_of(g, p0 + p, k);
                    to[(at / WICK_SWEEP_STEPS * g->m + i) * WICK_SWEEP_STEPS + at % WICK_SWEEP_STEPS] = wide[p];
                }
            }
        }
}
/* Columns [c0, c1). */
static void sweep_columns(const wick_gemm *g, int64_t c0, int64_t c1, const float *a, const uint16_t *b,
                          const char *bias, char *c, float *total, float *block) {
    wick_narrow_sweep_fn *const fn = sweep_now(g);
    const int64_t elem = g->result == WICK_F32 ? 4 : 2;
    wick_narrow_sweep t = {.cols = c1 - c0, .sums = total, .sums_row = g->nc, .ahead = WICK_SWEEP_STEPS * g->b_row};
    memset(total, 0, (size_t)(g->m * g->nc) * sizeof *total);
    for (int64_t k0 = 0; k0 < g->k; k0 += g->kc) {
        const int64_t k = WICK_MIN(g->kc, g->k - k0);
        if (k0) memset(t.sums = block, 0, (size_t)(g->m * g->nc) * sizeof *block);
        for (int64_t p0 = 0; p0 < k; p0 += WICK_SWEEP_STEPS) {
            t.steps = (int)WICK_MIN(k - p0, WICK_SWEEP_STEPS);
            t.a = a + (k0 + p0) * g->m;
            for (int p = 0; p < t.steps; p++) t.b[p] = b + (k0 + place_of(g, p0 + p, k)) * g->b_row + c0;
            fn(&t);
        }
        for (int64_t i = 0; k0 && i < g->m * g->nc; i++) total[i] = total[i] + block[i];
    }
    finish(g, &(wick_dot_finish){.rows = g->m,
                                 .cols = c1 - c0,
                                 .sums = total,
                                 .sums_row = g->nc,
                                 .bias = bias ? bias + (g->bias == 1 ? c0 : 0) * elem : NULL,
                                 .bias_mode = g->bias,
                                 .relu = g->relu,
                                 .c = c + c0 * elem,
                                 .c_row = g->c_row});
}

void wick_narrow_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                     void *c, const void *packed, void *scratch) {
    if (g->kernel->rows) {
        reference(g, begin * g->mc, WICK_MIN(g->m, end * g->mc), a, b, bias, c, scratch);
        return;
    }
    if (g->how & NARROW_SWEEP) {
        float *rows = scratch, *total = rows + g->m * (int64_t)WICK_ALIGN_UP(g->k, WICK_SWEEP_STEPS);
        lay_out_rows(g, a, rows);
        for (int64_t t = begin; t < end; t++)
            sweep_columns(g, t * g->nc, WICK_MIN(g->n, (t + 1) * g->nc), rows, b, bias, c, total, total + g->m * g->nc);
        return;
    }
    const int64_t across = wick_ceil_div(g->n, g->nc), down = wick_ceil_div(g->m, g->mc);
    /* all of them: rows of A are packed once. Else neighbours have the same columns, which the same core has packed */
    const bool by_rows = begin == 0 && end == g->tasks;
    narrow_task task = {.a = a, .b = b, .bias = bias, .packed = packed, .c = c};
    task.packed_a = g->how & NARROW_PACK_A ? scratch : NULL;
    task.panel = (char *)scratch + WICK_ALIGN_UP(bytes_of_a(g), WICK_ALIGN);
    task.sums = (float *)(void *)(task.panel + WICK_ALIGN_UP(bytes_of_b(g), WICK_ALIGN));
    for (int64_t t = begin; t < end; t++) {
        const int64_t row = by_rows ? t / across : t % down, column = by_rows ? t % across : t / down;
        const bool other_rows = t == begin || (by_rows ? column == 0 : down > 1);
        task.r0 = row * g->mc;
        task.r1 = WICK_MIN(g->m, task.r0 + g->mc);
        task.c0 = column * g->nc;
        task.c1 = WICK_MIN(g->n, task.c0 + g->nc);
        task.tiles = wick_ceil_div(task.r1 - task.r0, tile_rows(g));
        task.height = (task.r1 - task.r0) / task.tiles;
        task.taller = (task.r1 - task.r0) % task.tiles;
        if (task.packed_a && other_rows) pack_rows_of_a(g, &task);
        run_task(g, &task);
    }
}

const char *wick_narrow_name(const wick_gemm *g) {
    static const char *const f16[] = {"gemm_f16_nn", "gemm_f16_nt", "gemm_f16_ns", "gemm_f16_tn", "gemm_f16_tt",
                                      "gemm_f16_ts", "gemm_f16_sn", "gemm_f16_st", "gemm_f16_ss"},
                             *const bf16[] = {"gemm_bf16_nn", "gemm_bf16_nt", "gemm_bf16_ns",
                                              "gemm_bf16_tn", "gemm_bf16_tt", "gemm_bf16_ts",
                                              "gemm_bf16_sn", "gemm_bf16_st", "gemm_bf16_ss"};
    const int a = g->a_col == 1 ? 0 : g->a_row == 1 ? 1 : 2, b = g->b_col == 1 ? 0 : g->b_row == 1 ? 1 : 2;
    const char *const *names = g->how & NARROW_DOT ? dot_of(g)->names : g->narrow == WICK_BF16 ? bf16 : f16;
    return names[a * 3 + b];
}
