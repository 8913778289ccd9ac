/* amx.c: control flow of matrix products by tiles (amx.h): of bf16, and of f32 whose operands become sums of bf16 parts
 * while they are packed.
 *
 *   C is cut into tasks of mc x nc. For each block of kc along k a task packs its rows of A and (unless stage 0 did)
 *   its columns of B, in panels of 16:
 *
 *     [panel][part][step of 32][16 lines][16 pairs]
 *
 *   and goes over C in blocks of 32 x 32, whose sums begin at zero and are added to C in f32. A panel of f32 is scaled
 *   by a power of two where that keeps every product and every part normal; where none does (Inf, NaN, numbers that lie
 *   too far apart), its tiles of C take the kernels of multiply-adds for that block of k. */
#include <stdatomic.h>

#include "base/cpu.h"
#include "kernels/convert/convert.h"
#include "kernels/gemm/amx.h"
#include "kernels/gemm/amx_tier.h"
#include "kernels/gemm/gemm_tuning.h"
#include "wick/context.h"

static _Atomic(const wick_amx_kernel *) used;

const wick_amx_kernel *wick_amx_now(void) {
    const wick_amx_kernel *other = atomic_load_explicit(&used, memory_order_relaxed);
    if (WICK_UNLIKELY(other)) return wick_tier_current() == WICK_TIER_REF ? NULL : other;
#if defined(WICK_HAS_AMX) && defined(WICK_HAS_AVX512)
    if (wick_tier_current() == WICK_TIER_AVX512 && (wick_extensions() & WICK_AMX) && wick_amx_permitted())
        return &wick_amx_kernel_avx512;
#endif
    return NULL;
}
void wick_amx_use(const wick_amx_kernel *kernel) { atomic_store_explicit(&used, kernel, memory_order_relaxed); }

/* ---- plan -------------------------------------------------------------------------------------------------------- */

enum { STEP = 32, SIDE = WICK_AMX_SIDE }; /* elements along k of a step */

/* Which parts of A and of B are multiplied, smallest products first: p0 q2 + p2 q0 + p1 q1 + p0 q1 + p1 q0 + p0 q0.
 * What is left out, p1 q2, p2 q1 and p2 q2, is at most 2^-23 of a product, and mostly a small part of that: |p1| <=
 * 2^-8 |x|, |p2| <= 2^-16 |x|. */
static const struct {
    int products;
    int8_t a[6], b[6];
} plans[] = {{1, {0}, {0}}, {3, {1, 0, 0}, {0, 1, 0}}, {6, {2, 0, 1, 1, 0, 0}, {0, 2, 1, 0, 1, 0}}};

static int64_t steps_of(const wick_gemm *g) { return g->kc / STEP; }
static int64_t part_bytes(const wick_gemm *g) { return steps_of(g) * WICK_AMX_TILE; }
static int64_t panel_bytes(const wick_gemm *g) { return g->parts * part_bytes(g); }
static int64_t panels_of(int64_t n) { return wick_ceil_div(n, SIDE); }
static int64_t blocks_of(const wick_gemm *g) { return wick_ceil_div(g->k, g->kc); }

/* A task's scratch, or what stage 0 makes. */
typedef struct amx_room {
    char *a, *b, *transposed, *part; /* panels; one whose lines go the other way; elements of one at an edge */
    float *sums, *plain, *totals;  /* 32 x 32; columns of B for multiply-adds; C where it holds less than f32 */
    int32_t *scale_a, *scale_b;
    size_t bytes;
} amx_room;
static void *take(char *base, size_t *at, int64_t bytes) {
    char *got = base + *at;
    *at += WICK_ALIGN_UP((size_t)bytes, WICK_ALIGN);
    return got;
}
static bool narrows(const wick_gemm *g) { return g->narrow && g->result != WICK_F32; }
static amx_room room_of(const wick_gemm *g, char *base) {
    amx_room r;
    size_t at = 0;
    const int64_t down = panels_of(WICK_MIN(g->mc, g->m)), across = panels_of(WICK_MIN(g->nc, g->n));
    r.transposed = take(base, &at, panel_bytes(g));
    r.part = take(base, &at, SIDE * g->kc * 4);
    r.a = take(base, &at, down * panel_bytes(g));
    r.b = take(base, &at, g->tasks_pack ? 0 : across * panel_bytes(g));
    r.scale_a = take(base, &at, down * 4);
    r.scale_b = take(base, &at, across * 4);
    r.sums = take(base, &at, 4 * SIDE * SIDE * 4);
    r.plain = take(base, &at, g->narrow ? 0 : g->kc * g->kernel->nr * 4);
    r.totals = take(base, &at, narrows(g) ? down * across * SIDE * SIDE * 4 : 0);
    r.bytes = at;
    return r;
}
/* [block of k][panel] of packed panels, then of their scales. */
static int32_t *shared_scales(const wick_gemm *g, const void *packed) {
    return (int32_t *)(void *)((char *)(uintptr_t)packed + blocks_of(g) * panels_of(g->n) * panel_bytes(g));
}

static int parts_of(const wick_gemm *g) {
    static const uint8_t parts[] = {
        [WICK_F32_HIGHEST] = 0, [WICK_F32_SPLIT] = 3, [WICK_F32_HIGH] = 2, [WICK_F32_MEDIUM] = 1};
    return g->narrow == WICK_BF16 ? 1 : g->narrow || g->type != WICK_CF32 ? 0 : parts[g->precision];
}

const char *wick_amx_refused(const wick_gemm *g) {
    if (!parts_of(g))
        return g->narrow || g->type != WICK_CF32 ? "they are not for this dtype" : "f32_precision asks for f32";
    if (!g->m || !g->n || !g->k) return "there is nothing to multiply";
    if (!wick_amx_now()) return "this CPU has none, or the tier in use";
    const double work = (double)g->m * (double)g->n * (double)g->k;
    const bool forced = atomic_load_explicit(&used, memory_order_relaxed) != NULL;
    if (!forced && g->narrow &&
        (g->m < WICK_AMX_LEAST_BF16 || g->n < WICK_AMX_LEAST_BF16 || g->k < WICK_AMX_LEAST_BF16))
        return "the product is too small";
    if (!forced && !g->narrow &&
        (WICK_MIN(WICK_MIN(g->m, g->n), g->k) < WICK_AMX_LEAST_F32 || (!g->keep && work < WICK_AMX_WORK_F32)))
        return "the product is too small";
    return NULL;
}

bool wick_amx_prepare(wick_gemm *g) {
    static const int most[] = {0, WICK_AMX_KC_1, WICK_AMX_KC_2, WICK_AMX_KC_3};
    g->amx = NULL;
    g->parts = (uint8_t)parts_of(g);
    if (wick_amx_refused(g)) return false;
    const wick_amx_kernel *q = wick_amx_now();

    g->amx = q;
    g->kernel = wick_gemm_kernel_of(WICK_CF32);
    g->how = 0;
    g->kc = WICK_ALIGN_UP(wick_ceil_div(g->k, wick_ceil_div(g->k, most[g->parts])), STEP);
    /* Blocks of C are halved until there are some tasks: packing is repeated for each, so that they stay large. */
    g->mc = WICK_MIN(WICK_ALIGN_UP(g->m, 2 * SIDE), WICK_AMX_MC);
    g->nc = WICK_MIN(WICK_ALIGN_UP(g->n, 2 * SIDE), WICK_AMX_NC);
    while (wick_ceil_div(g->m, g->mc) * wick_ceil_div(g->n, g->nc) < WICK_AMX_TASKS &&
           WICK_MAX(g->mc, g->nc) > WICK_AMX_SMALL) {
        int64_t *larger = g->mc > g->nc ? &g->mc : &g->nc;
        *larger = (int64_t)WICK_ALIGN_UP(*larger / 2, 2 * SIDE);
    }
    g->tasks = wick_ceil_div(g->m, g->mc) * wick_ceil_div(g->n, g->nc);
    g->tasks_pack = 0;
    g->packed = 0;
    if (g->keep) {
        const int64_t panels = panels_of(g->n);
        g->packed = (size_t)(blocks_of(g) * panels * (panel_bytes(g) + 4));
        g->tasks_pack = wick_ceil_div(panels, 1 + WICK_GEMM_PACK_WORK / (SIDE * g->k));
    }
    g->scratch = room_of(g, NULL).bytes;
    return true;
}

const char *wick_amx_name(const wick_gemm *g) {
    return g->narrow
               ? "gemm_bf16_amx"
               : (const char *[]){"gemm_f32_bf16x1_amx", "gemm_f32_bf16x3_amx", "gemm_f32_bf16x6_amx"}[g->parts - 1];
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Of a panel: it is scaled by 2^scale, or not fit for tiles. */
#define PLAIN INT32_MIN
/* Between 2^LOW and 2^HIGH nothing happens to a panel: sums of 128 products of two stay below 2^124, and the least bit
 * of a part's product is 2^(2 LOW - 46), which is normal. Wider ranges are moved as far up as goes; APART is how wide
 * they may be. */
enum { HIGH = 57, LOW = -39, APART = HIGH - LOW };

static int exponent(uint32_t bits) { return (int)(bits >> 23) - 127; }

/* What a panel has to be scaled by. */
static int32_t scale_of(wick_amx_range range) {
    if (range.largest >= 0x7f800000) return PLAIN;
    if (range.largest < 0x800000) return 0; /* zeros */
    const int high = exponent(range.largest), low = exponent(range.smallest + 0x800000);
    if (high <= HIGH && low >= LOW) return 0;
    return high - low > APART ? PLAIN : WICK_MIN(HIGH - high, 126);
}
static float power(int e) {
    const uint32_t bits = (uint32_t)(e + 127) << 23;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Elements (i, p) of an operand's panel at src + i * across + p * along, i < width, p < k; with of_a the panel is of A.
 * Returns its scale. */
static int32_t pack_panel(const wick_gemm *g, bool of_a, const char *src, int64_t width, int64_t k, int64_t across,
                          int64_t along, char *dst, char *transposed, char *part) {
    const int64_t elem = g->narrow ? 2 : 4, steps = wick_ceil_div(k, STEP), padded = steps * STEP;
    bool down_k = of_a ? along == 1 : across != 1; /* neighbours are along k */
    if (width < SIDE || k < padded || (along != 1 && across != 1)) {
        down_k = along == 1;
        const int64_t row = down_k ? padded : SIDE, rows = down_k ? width : k, cols = down_k ? k : width;
        const int64_t by_row = down_k ? across : along, by_col = down_k ? along : across;
        memset(part, 0, (size_t)(SIDE * padded * elem));
        for (int64_t i = 0; i < rows; i++) {
            if (by_col == 1) memcpy(part + i * row * elem, src + i * by_row * elem, (size_t)(cols * elem));
            else if (elem == 4)
                for (int64_t j = 0; j < cols; j++)
                    memcpy(part + (i * row + j) * 4, src + (i * by_row + j * by_col) * 4, 4);
            else
                for (int64_t j = 0; j < cols; j++)
                    memcpy(part + (i * row + j) * 2, src + (i * by_row + j * by_col) * 2, 2);
        }
        src = part;
        across = down_k ? padded : 1;
        along = down_k ? 1 : SIDE;
    }
    const bool turn = down_k != of_a; /* lines are rows of A, and rows of B */
    const int64_t step = STEP * along, line = down_k ? across : along, pair = SIDE * along, apart = part_bytes(g);
    char *to = turn ? transposed : dst;
    int32_t scale = 0;
    if (g->narrow) {
        g->amx->pairs(steps, (const uint16_t *)(const void *)src, step, line, pair, to);
    } else {
        wick_amx_split_fn *split = g->amx->split[g->parts - 1];
        scale = scale_of(split(steps, (const float *)(const void *)src, step, line, pair, 1, to, apart));
        if (scale == PLAIN) return PLAIN;
        if (scale) split(steps, (const float *)(const void *)src, step, line, pair, power(scale), to, apart);
    }
    for (int64_t p = 0; turn && p < g->parts; p++)
        for (int64_t s = 0; s < steps; s++) {
            const int64_t at = p * apart + s * WICK_AMX_TILE;
            g->kernel->pack(SIDE, SIDE, transposed + at, 1, SIDE, dst + at, SIDE); /* moves 4 bytes as they are */
        }
    return scale;
}

static int32_t pack_b(const wick_gemm *g, const char *b, int64_t k0, int64_t panel, char *dst, char *transposed,
                      char *part) {
    const int64_t elem = g->narrow ? 2 : 4, col = panel * SIDE;
    return pack_panel(g, false, b + (k0 * g->b_row + col * g->b_col) * elem, WICK_MIN(SIDE, g->n - col),
                      WICK_MIN(g->kc, g->k - k0), g->b_col, g->b_row, dst, transposed, part);
}

enum { PACK_STACK = WICK_AMX_TILE * 16 + WICK_AMX_SIDE * WICK_AMX_KC_1 * 4 };

void wick_amx_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed) {
    _Alignas(64) char room[PACK_STACK]; /* stage 0 has no scratch */
    const int64_t panels = panels_of(g->n), per_task = wick_ceil_div(panels, g->tasks_pack);
    int32_t *scales = shared_scales(g, packed);
    for (int64_t block = 0; block < blocks_of(g); block++)
        for (int64_t j = begin * per_task; j < WICK_MIN(panels, end * per_task); j++) {
            const int64_t at = block * panels + j;
            scales[at] =
                pack_b(g, b, block * g->kc, j, (char *)packed + at * panel_bytes(g), room, room + WICK_AMX_TILE * 16);
        }
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

/* A tile of sums by multiply-adds. */
static void plain_tile(const wick_gemm *g, const float *a, const float *b, int64_t rows, int64_t cols, int64_t k,
                       float *sums, float *panel) {
    const wick_gemm_kernel *q = g->kernel;
    for (int64_t j = 0; j < cols; j += q->nr) {
        wick_gemm_tile t = {.k = k,
                            .a_row = g->a_row,
                            .a_col = g->a_col,
                            .b = panel,
                            .b_row = q->nr,
                            .c_row = 2 * SIDE,
                            .c_col = 1,
                            .cols = WICK_MIN(q->nr, cols - j)};
        q->pack(k, t.cols, b + j * g->b_col, g->b_row, g->b_col, panel, q->nr);
        for (int64_t i = 0; i < rows; i += q->mr) {
            t.a = a + i * g->a_row;
            t.c = sums + i * 2 * SIDE + j;
            q->tiles[(wick_ceil_div(t.cols, q->lanes) - 1) * q->mr + WICK_MIN(q->mr, rows - i) - 1](&t);
        }
    }
}

/* Totals as what C holds: rounded, and what follows rounded again, as two ops would. */
static void narrow_tile(const wick_gemm *g, int64_t rows, int64_t cols, const float *totals, int64_t totals_row,
                        const char *bias, char *c) {
    const wick_convert_table *q = wick_convert_kernels(wick_tier_current());
    const wick_convert_fn load = q->load[g->result], store = q->store[g->result];
    float x[SIDE], y[SIDE];
    for (int64_t i = 0; i < rows; i++, c += g->c_row * 2) {
        memcpy(x, totals + i * totals_row, (size_t)cols * 4);
        if (g->bias) {
            store(c, x, (size_t)cols);
            load(x, c, (size_t)cols);
            load(y, g->bias == 1 ? bias : bias + i * 2, g->bias == 1 ? (size_t)cols : 1);
            for (int64_t j = 0; j < cols; j++) x[j] += y[g->bias == 1 ? j : 0];
        }
        for (int64_t j = 0; g->relu && j < cols; j++) x[j] = x[j] < 0 ? 0 : x[j];
        store(c, x, (size_t)cols);
    }
}

typedef struct amx_task {
    const char *a, *b, *bias;
    char *c;
    int64_t r0, r1, c0, c1, k0, k; /* and the block of k */
    amx_room room;
} amx_task;

/* Tile (i, j), counted in the task, whose sums are made. */
static void finish_tile(const wick_gemm *g, const amx_task *t, int64_t i, int64_t j, int32_t scale_a, int32_t scale_b,
                        float *sums) {
    const int64_t row = t->r0 + i * SIDE, col = t->c0 + j * SIDE, rows = WICK_MIN(SIDE, t->r1 - row),
                  cols = WICK_MIN(SIDE, t->c1 - col);
    const bool last = t->k0 + t->k >= g->k, narrow = narrows(g);
    const int64_t across = panels_of(t->c1 - t->c0);
    wick_amx_finish f = {.rows = (int)rows,
                         .cols = (int)cols,
                         .sums = sums,
                         .sums_row = 2 * SIDE,
                         .scale = {1, 1},
                         .add = g->accumulate || t->k0 > 0,
                         .relu = g->relu && last && !narrow,
                         .bias_mode = last && !narrow ? g->bias : 0,
                         .c_row = narrow ? across * SIDE : g->c_row};
    f.c = narrow ? t->room.totals + (i * across * SIDE + j) * SIDE : (float *)(void *)t->c + row * g->c_row + col;
    if (f.bias_mode) f.bias = (const float *)(const void *)t->bias + (g->bias == 1 ? col : row);
    if (scale_a == PLAIN || scale_b == PLAIN) {
        plain_tile(g, (const float *)(const void *)t->a + row * g->a_row + t->k0 * g->a_col,
                   (const float *)(const void *)t->b + t->k0 * g->b_row + col * g->b_col, rows, cols, t->k, sums,
                   t->room.plain);
    } else if (scale_a + scale_b) { /* taken back; at once where a float holds it, else in two that go the same way */
        const int back = -scale_a - scale_b, most = back < 0 ? WICK_MAX(back, -126) : WICK_MIN(back, 127);
        f.scale[0] = power(most);
        f.scale[1] = power(back - most);
    }
    g->amx->finish(&f);
    if (narrow && last)
        narrow_tile(g, rows, cols, f.c, f.c_row, t->bias ? t->bias + (g->bias == 1 ? col : row) * 2 : NULL,
                    t->c + (row * g->c_row + col) * 2);
}

static void run_block(const wick_gemm *g, const amx_task *t, const char *panels_b, const int32_t *scale_b) {
    const int64_t down = panels_of(t->r1 - t->r0), across = panels_of(t->c1 - t->c0), bytes = panel_bytes(g),
                  apart = part_bytes(g);
    int64_t a_part[6], b_part[6];
    for (int p = 0; p < plans[g->parts - 1].products; p++) {
        a_part[p] = plans[g->parts - 1].a[p] * apart;
        b_part[p] = plans[g->parts - 1].b[p] * apart;
    }
    wick_amx_block block = {.steps = wick_ceil_div(t->k, STEP),
                            .a_step = WICK_AMX_TILE,
                            .b_step = WICK_AMX_TILE,
                            .a_row = WICK_AMX_ROW,
                            .b_row = WICK_AMX_ROW,
                            .a_next = bytes,
                            .b_next = bytes,
                            .products = plans[g->parts - 1].products,
                            .a_part = a_part,
                            .b_part = b_part,
                            .c = t->room.sums,
                            .c_row = 2 * SIDE * 4};
    for (int64_t j = 0; j < across; j += 2) {
        for (int64_t i = 0; i < down; i += 2) {
            const int64_t rows = WICK_MIN(2, down - i), cols = WICK_MIN(2, across - j);
            if (g->lower && t->c0 + j * SIDE >= t->r0 + (i + rows) * SIDE) continue;
            block.a = t->room.a + i * bytes;
            block.b = panels_b + j * bytes;
            g->amx->block[WICK_AMX_BF16][rows - 1][cols - 1](&block);
            for (int64_t y = 0; y < rows; y++)
                for (int64_t x = 0; x < cols; x++)
                    finish_tile(g, t, i + y, j + x, t->room.scale_a[i + y], scale_b[j + x],
                                t->room.sums + y * SIDE * 2 * SIDE + x * SIDE);
        }
    }
}

void wick_amx_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                  void *c, const void *packed, void *scratch) {
    const int64_t across = wick_ceil_div(g->n, g->nc), elem = g->narrow ? 2 : 4;
    amx_task t = {.a = a, .b = b, .bias = bias, .c = c, .room = room_of(g, scratch)};
    g->amx->begin(SIDE, SIDE);
    for (int64_t i = begin; i < end; i++) {
        t.r0 = i / across * g->mc;
        t.r1 = WICK_MIN(g->m, t.r0 + g->mc);
        t.c0 = i % across * g->nc;
        t.c1 = WICK_MIN(g->n, t.c0 + g->nc);
        if (g->lower && t.c0 >= t.r1) continue;
        for (int64_t block = 0; block < blocks_of(g); block++) {
            t.k0 = block * g->kc;
            t.k = WICK_MIN(g->kc, g->k - t.k0);
            for (int64_t p = 0; p < panels_of(t.r1 - t.r0); p++) {
                const int64_t row = t.r0 + p * SIDE;
                t.room.scale_a[p] =
                    pack_panel(g, true, t.a + (row * g->a_row + t.k0 * g->a_col) * elem, WICK_MIN(SIDE, t.r1 - row),
                               t.k, g->a_row, g->a_col, t.room.a + p * panel_bytes(g), t.room.transposed, t.room.part);
            }
            if (g->tasks_pack) {
                const int64_t at = block * panels_of(g->n) + t.c0 / SIDE;
                run_block(g, &t, (const char *)packed + at * panel_bytes(g), shared_scales(g, packed) + at);
                continue;
            }
            for (int64_t p = 0; p < panels_of(t.c1 - t.c0); p++)
                t.room.scale_b[p] =
                    pack_b(g, b, t.k0, t.c0 / SIDE + p, t.room.b + p * panel_bytes(g), t.room.transposed, t.room.part);
            run_block(g, &t, t.room.b, t.room.scale_b);
        }
    }
    g->amx->end();
}
