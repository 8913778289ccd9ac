/* recurrent.c: the time loops of recurrent layers: a product of a block of samples' states with packed weights, then
 * each sample's row.
 *
 * A task's scratch, a block of samples high:
 *
 *     h [H]  c [H]  pre [G H]  side [H]  gates [4 H]  y [H]  zeros [4 H, one row]  the product's own
 *
 * Strides of rows that meet products are kept off multiples of a set of the cache. */
#include "kernels/packing.h"
#include "kernels/recurrent/recurrent.h"

/* Fewest samples of a block: below, weights are read from L2 for too few multiply-adds; and most blocks of a direction.
 */
enum { RECURRENT_BLOCK = 16, RECURRENT_BLOCKS = 16 };

static const wick_recurrent_table *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_recurrent_table)};

int wick_cell_gates(wick_cell cell) { return cell == WICK_CELL_RNN ? 1 : cell == WICK_CELL_LSTM ? 4 : 3; }
/* Widths of the saved rows, in H. */
static int saved_of(wick_cell cell) { return cell == WICK_CELL_RNN ? 1 : 4; }

static int64_t stride_for(int64_t n, int64_t elem) { return n * elem % 1024 ? n : n + WICK_ALIGN / elem; }

/* Where things are in the scratch, in bytes. */
typedef struct places {
    size_t h, c, pre, side, gates, y, zeros, gemm, all;
} places;
static places places_of(const wick_recurrent *r) {
    const size_t elem = wick_ctype_size(r->type), rows = (size_t)r->block, n = (size_t)r->hidden;
    const size_t states = WICK_ALIGN_UP(rows * (size_t)r->h_stride * elem, WICK_ALIGN),
                 pre = WICK_ALIGN_UP(rows * (size_t)r->g_stride * elem, WICK_ALIGN);
    places p = {0};
    p.c = p.h + states;
    p.pre = p.c + states;
    p.side = p.pre + pre;
    p.gates = p.side + states;
    p.y = p.gates + WICK_ALIGN_UP(rows * 4 * n * elem, WICK_ALIGN);
    p.zeros = p.y + states;
    p.gemm = p.zeros + WICK_ALIGN_UP(4 * n * elem, WICK_ALIGN);
    p.all = p.gemm;
    return p;
}

void wick_recurrent_prepare(wick_recurrent *r, const wick_tuning *tuning) {
    const int64_t h = r->hidden, gates = wick_cell_gates(r->cell), elem = (int64_t)wick_ctype_size(r->type);
    const bool first = r->cell == WICK_CELL_GRU_RESET_FIRST;
    r->h_stride = stride_for(h, elem);
    r->g_stride = stride_for(gates * h, elem);
    r->blocks = WICK_MAX(1, WICK_MIN(RECURRENT_BLOCKS, r->batch / RECURRENT_BLOCK));
    r->block = WICK_MAX(1, wick_ceil_div(r->batch, r->blocks));
    r->blocks = wick_ceil_div(r->batch, r->block);
    r->tasks = r->batch ? r->blocks * r->directions : 0;
    r->products = first ? 2 : 1;
    size_t gemm_scratch = 0;
    for (int p = 0; p < r->products; p++) {
        /* Gates of this product: all, or r and z, or n. */
        const int64_t part = !first ? gates * h : p ? h : 2 * h;
        for (int last = 0; last < 2; last++) {
            wick_gemm *g = &r->product[p][last];
            memset(g, 0, sizeof *g);
            g->type = r->type;
            g->keep = true;
            g->m = last ? r->batch - (r->blocks - 1) * r->block : r->block;
            g->n = r->backward ? h : part;
            g->k = r->backward ? part : h;
            g->a_row = r->backward ? r->g_stride : r->h_stride;
            g->a_col = 1;
            g->b_row = r->backward ? h : 1;
            g->b_col = r->backward ? 1 : h;
            g->c_row = r->backward ? r->h_stride : r->g_stride;
            g->accumulate = r->backward && p == 0;
            wick_gemm_prepare(g, tuning);
            gemm_scratch = WICK_MAX(gemm_scratch, g->scratch);
        }
        r->packed_each[p] = WICK_ALIGN_UP(r->product[p][0].packed, WICK_ALIGN);
    }
    r->pack_split = r->product[0][0].tasks_pack;
    r->tasks_pack =
        r->tasks && r->steps ? r->directions * (r->pack_split + (first ? r->product[1][0].tasks_pack : 0)) : 0;
    r->packed = (size_t)r->directions * (r->packed_each[0] + r->packed_each[1]);
    r->scratch = places_of(r).all + gemm_scratch;
}

/* Weights of product p in direction d. */
static const char *weights_at(const wick_recurrent *r, const void *w, int64_t d, int p) {
    const int64_t h = r->hidden;
    return (const char *)w + (d * wick_cell_gates(r->cell) + 2 * p) * h * h * (int64_t)wick_ctype_size(r->type);
}
static char *packed_at(const wick_recurrent *r, void *packed, int64_t d, int p) {
    return (char *)packed + (size_t)d * (r->packed_each[0] + r->packed_each[1]) + (p ? r->packed_each[0] : 0);
}

void wick_recurrent_keep_packing(wick_recurrent *r) {
    const wick_recurrent was = *r;
    memset(r, 0, sizeof *r);
    r->type = was.type, r->cell = was.cell, r->hidden = was.hidden, r->directions = was.directions;
    r->tasks_pack = was.tasks_pack, r->pack_split = was.pack_split, r->products = was.products;
    memcpy(r->packed_each, was.packed_each, sizeof r->packed_each);
    for (int p = 0; p < r->products; p++) {
        r->product[p][0] = was.product[p][0];
        wick_gemm_keep_packing(&r->product[p][0]);
    }
}

void wick_recurrent_pack(const wick_recurrent *r, int64_t begin, int64_t end, const void *w, void *packed) {
    const int64_t each = r->tasks_pack / r->directions;
    for (int64_t t = begin; t < end; t++) {
        const int64_t d = t / each, at = t % each;
        const int p = at >= r->pack_split;
        wick_gemm_pack(&r->product[p][0], at - p * r->pack_split, at - p * r->pack_split + 1, weights_at(r, w, d, p),
                       packed_at(r, packed, d, p));
    }
}

/* ---- one task ---------------------------------------------------------------------------------------------------- */

typedef struct loop {
    const wick_recurrent *r;
    const wick_recurrent_data *d;
    const wick_recurrent_table *table;
    int64_t dir, b0, rows, elem;
    bool last;
    char *h, *c, *pre, *side, *gates, *y, *zeros, *gemm;
} loop;

static void product(const loop *l, int p, const char *a, char *c) {
    const wick_gemm *g = &l->r->product[p][l->last];
    wick_gemm_run(g, 0, g->tasks, a, weights_at(l->r, l->d->w, l->dir, p), NULL, c,
                  packed_at(l->r, l->d->packed, l->dir, p), l->gemm);
}

/* Row b of step t in a sequence of rows `width` wide for each direction; NULL stays. */
static char *row_of(const loop *l, const void *seq, int64_t t, int64_t b, int64_t width) {
    if (!seq) return NULL;
    const int64_t at = (t * l->r->step + b * l->r->row) * l->r->directions + l->dir;
    return (char *)(uintptr_t)seq + at * width * l->elem;
}
static char *state_of(const loop *l, const void *state, int64_t b) {
    return state ? (char *)(uintptr_t)state + (l->dir * l->r->batch + b) * l->r->hidden * l->elem : NULL;
}

static void load_states(const loop *l, const void *from, char *to) {
    const size_t bytes = (size_t)(l->r->hidden * l->elem);
    for (int64_t i = 0; i < l->rows; i++) {
        const char *row = state_of(l, from, l->b0 + i);
        if (row)
            memcpy(to + i * l->r->h_stride * l->elem, row, bytes);
        else
            memset(to + i * l->r->h_stride * l->elem, 0, bytes);
    }
}
static void store_states(const loop *l, const char *from, void *to) {
    for (int64_t i = 0; i < l->rows && to; i++)
        memcpy(state_of(l, to, l->b0 + i), from + i * l->r->h_stride * l->elem, (size_t)(l->r->hidden * l->elem));
}

/* Why rows of a direction are not made by one loop with the usual functions in it; NULL: they are. */
static const char *plain_refused(const wick_recurrent *r, int64_t dir, bool peephole, bool ggates) {
    static const uint8_t usual[WICK_CELL_COUNT][3] = {
        [WICK_CELL_RNN] = {WICK_CELL_TANH},
        [WICK_CELL_LSTM] = {WICK_CELL_SIGMOID, WICK_CELL_TANH, WICK_CELL_TANH},
        [WICK_CELL_GRU] = {WICK_CELL_SIGMOID, WICK_CELL_TANH},
        [WICK_CELL_GRU_RESET_FIRST] = {WICK_CELL_SIGMOID, WICK_CELL_TANH}};
    const int n = r->cell == WICK_CELL_RNN ? 1 : r->cell == WICK_CELL_LSTM ? 3 : 2;
    if (memcmp(r->act[dir], usual[r->cell], (size_t)n) != 0) return "activations are others than the usual";
    if (r->clip > 0) return "what goes into activations is clipped";
    if (r->coupled) return "gates are coupled";
    if (peephole && r->backward) return "there are peepholes";
    return ggates ? "gates have gradients of their own" : NULL;
}
static bool is_plain(const loop *l) {
    return !plain_refused(l->r, l->dir, l->d->peephole != NULL, l->d->ggates != NULL);
}

const char *wick_recurrent_name(const wick_recurrent *r) { return wick_gemm_name(&r->product[0][0]); }
int wick_recurrent_rejected(const wick_recurrent *r, const wick_tuning *tuning, bool peephole, bool ggates,
                            wick_rejected *out) {
    if (!r->tasks || !r->steps) return 0;
    int n = wick_gemm_rejected(&r->product[0][0], tuning, out);
    const char *plain = NULL;
    for (int64_t d = 0; d < r->directions && !plain; d++) plain = plain_refused(r, d, peephole, ggates);
    if (plain) out[n++] = (wick_rejected){"rows of gates in one loop", plain};
    return n;
}

/* What all rows of a task share. */
static wick_cell_row row_start(const loop *l) {
    const wick_recurrent *r = l->r;
    const int64_t h = r->hidden;
    return (wick_cell_row){.n = h, .act = r->act[l->dir], .plain = is_plain(l), .coupled = r->coupled, .clip = r->clip,
                           .peephole = l->d->peephole ? (const char *)l->d->peephole + l->dir * 3 * h * l->elem : NULL,
                           .bias = l->d->bias ? (const char *)l->d->bias + l->dir * h * l->elem : NULL};
}
static void row_at(const loop *l, wick_cell_row *q, int64_t i, int64_t t) {
    const wick_recurrent *r = l->r;
    const int64_t b = l->b0 + i, h = r->hidden, saved = saved_of(r->cell) * h;
    q->pre = l->pre + i * r->g_stride * l->elem;
    q->h = l->h + i * r->h_stride * l->elem;
    q->c = l->c + i * r->h_stride * l->elem;
    q->side = l->side + i * r->h_stride * l->elem;
    q->gates = row_of(l, l->d->gates, t, b, saved);
    if (!q->gates) q->gates = l->gates + i * saved * l->elem;
}

static bool is_over(const loop *l, int64_t i, int64_t t) { return l->d->lengths && t >= l->d->lengths[l->b0 + i]; }

static void add_row(const loop *l, char *to, const char *from) {
    if (!from) return;
    if (l->r->type == WICK_CF32)
        for (int64_t j = 0; j < l->r->hidden; j++) ((float *)to)[j] += ((const float *)from)[j];
    else
        for (int64_t j = 0; j < l->r->hidden; j++) ((double *)to)[j] += ((const double *)from)[j];
}

static void clear_row(char *row, int64_t n, int64_t elem) {
    if (row) memset(row, 0, (size_t)(n * elem));
}

static void forward(const loop *l) {
    const wick_recurrent *r = l->r;
    const wick_recurrent_data *d = l->d;
    const int64_t h = r->hidden, gates = wick_cell_gates(r->cell), saved = saved_of(r->cell);
    wick_cell_row q = row_start(l);
    load_states(l, d->h0, l->h);
    load_states(l, d->c0, l->c);
    for (int64_t s = 0; s < r->steps; s++) {
        const int64_t t = r->reverse[l->dir] ? r->steps - 1 - s : s;
        for (int64_t i = 0; i < l->rows; i++) {
            if (d->h_prev)
                memcpy(row_of(l, d->h_prev, t, l->b0 + i, h), l->h + i * r->h_stride * l->elem, (size_t)(h * l->elem));
            if (d->c_prev)
                memcpy(row_of(l, d->c_prev, t, l->b0 + i, h), l->c + i * r->h_stride * l->elem, (size_t)(h * l->elem));
        }
        product(l, 0, l->h, l->pre);
        for (int stage = 0; stage < r->products; stage++) {
            if (stage) product(l, 1, l->side, l->pre + 2 * h * l->elem);
            wick_cell_fn *step = stage ? l->table->forward_after[r->type] : l->table->forward[r->type][r->cell];
            for (int64_t i = 0; i < l->rows; i++) {
                const int64_t b = l->b0 + i;
                row_at(l, &q, i, t);
                q.x = (const char *)d->x + (t * r->x_step + b * r->x_row + l->dir * gates * h) * l->elem;
                q.y = row_of(l, d->y, t, b, h);
                if (is_over(l, i, t)) {
                    clear_row(q.y, h, l->elem);
                    if (d->gates && r->cell != WICK_CELL_RNN) clear_row(q.gates, saved * h, l->elem);
                    if (stage + 1 < r->products) clear_row(q.side, h, l->elem);
                    continue;
                }
                if (!q.y) q.y = l->y + i * r->h_stride * l->elem;
                step(&q);
            }
        }
    }
    store_states(l, l->h, d->h);
    store_states(l, l->c, d->c);
}

static void backward(const loop *l) {
    const wick_recurrent *r = l->r;
    const wick_recurrent_data *d = l->d;
    const int64_t h = r->hidden, gates = wick_cell_gates(r->cell);
    wick_cell_row q = row_start(l);
    load_states(l, d->gh, l->h);
    load_states(l, d->gc, l->c);
    for (int64_t s = r->steps; s-- > 0;) {
        const int64_t t = r->reverse[l->dir] ? r->steps - 1 - s : s;
        for (int stage = 0; stage < r->products; stage++) {
            if (stage) product(l, 1, l->pre + 2 * h * l->elem, l->side);
            wick_cell_fn *step = stage ? l->table->backward_after[r->type] : l->table->backward[r->type][r->cell];
            for (int64_t i = 0; i < l->rows; i++) {
                const int64_t b = l->b0 + i;
                row_at(l, &q, i, t);
                q.dx = row_of(l, d->dx, t, b, gates * h);
                char *dside = row_of(l, d->dside, t, b, gates * h);
                if (is_over(l, i, t)) {
                    clear_row(q.dx, gates * h, l->elem);
                    clear_row(q.pre, gates * h, l->elem);
                    clear_row(dside, gates * h, l->elem);
                    continue;
                }
                q.h_prev = row_of(l, d->h_prev, t, b, h);
                q.c_prev = row_of(l, d->c_prev, t, b, h);
                q.ggates = row_of(l, d->ggates, t, b, saved_of(r->cell) * h);
                q.gy = row_of(l, d->gy, t, b, h);
                if (!q.gy) q.gy = l->zeros;
                step(&q);
                if (dside) memcpy(dside, q.pre, (size_t)(gates * h * l->elem));
            }
        }
        for (int64_t i = 0; i < l->rows; i++) {
            add_row(l, l->h + i * r->h_stride * l->elem, row_of(l, d->gh_prev, t, l->b0 + i, h));
            add_row(l, l->c + i * r->h_stride * l->elem, row_of(l, d->gc_prev, t, l->b0 + i, h));
        }
        product(l, 0, l->pre, l->h);
    }
    store_states(l, l->h, d->dh0);
    store_states(l, l->c, d->dc0);
}

void wick_recurrent_run(const wick_recurrent *r, int64_t begin, int64_t end, const wick_recurrent_data *d,
                        void *scratch) {
    const places p = places_of(r);
    char *at = scratch;
    for (int64_t task = begin; task < end; task++) {
        loop l = {.r = r,
                  .d = d,
                  .table = tiers[wick_tier_current()],
                  .elem = (int64_t)wick_ctype_size(r->type),
                  .h = at + p.h,
                  .c = at + p.c,
                  .pre = at + p.pre,
                  .side = at + p.side,
                  .gates = at + p.gates,
                  .y = at + p.y,
                  .zeros = at + p.zeros,
                  .gemm = at + p.gemm};
        l.dir = task / r->blocks;
        l.b0 = task % r->blocks * r->block;
        l.rows = WICK_MIN(r->block, r->batch - l.b0);
        l.last = task % r->blocks == r->blocks - 1;
        memset(l.zeros, 0, (size_t)(4 * r->hidden * l.elem));
        (r->backward ? backward : forward)(&l);
    }
}
