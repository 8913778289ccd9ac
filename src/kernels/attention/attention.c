/* attention.c: control flow of attention: blocks of queries and keys, what is packed, and which products make what. */
#include "kernels/attention/attention.h"
#include "kernels/random/random_api.h"

enum { BQ = WICK_ATTENTION_QUERIES, BK = WICK_ATTENTION_KEYS };
/* A task has about so many multiply-adds at least; the backward pass is cut into about so many tasks, by heads and by
 * keys, with at most so many parts of gq; operands whose rows are so many bytes apart are copied together first;
 * backward, so many bytes of keys, values and their gradients (at most 64 blocks) stay in the cache. */
enum { TASK_WORK = 800000, BACK_TASKS = 16, MAX_SPLITS = 8, FAR = 2048, BACK_CACHE = 512 << 10 };

static const wick_attention_kernels *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_attention_kernels)};

static int64_t lanes_of(const wick_attention_job *a, int64_t n) { return (int64_t)WICK_ALIGN_UP(n, a->gemm->lanes); }
static const void *at_index(const void *p, const int64_t *strides, int64_t batch, int64_t head, int64_t row,
                            int64_t elem) {
    return p ? (const char *)p + (batch * strides[0] + head * strides[1] + row * strides[2]) * elem : NULL;
}

void wick_attention_draw(const int64_t *seed, int64_t at, int64_t n, float *uniform) {
    const wick_random_key key = {(uint64_t)*seed, 0, 0};
    wick_fill_uniform(WICK_CF32, &key, at, at + n, (float *)((uintptr_t)uniform - (uintptr_t)at * sizeof(float)));
}

/* Of a worker, in elements of the type: where what is in the scratch. */
typedef struct layout {
    int64_t qt, gt, scores, grads, mask, keep, sums, k, v, q, g, lanes, end;
} layout;
static layout layout_of(const wick_attention_job *a, int stage) {
    const int64_t d = lanes_of(a, a->dim), dv = lanes_of(a, a->value_dim);
    const int64_t sizes[] = {a->dim * BQ,
                             stage ? a->value_dim * BQ : 0,
                             BK * BQ,
                             stage ? BK * BQ : 0,
                             a->masked ? BK * BQ : 0,
                             a->dropout > 0 ? BK * BQ : 0,
                             stage ? 0 : BQ * dv,
                             BK * d,
                             BK * dv,
                             stage ? BQ * d : 0,
                             stage ? BQ * dv : 0,
                             4 * BQ};
    int64_t at[13] = {0};
    for (int i = 0; i < 12; i++) at[i + 1] = at[i] + (int64_t)WICK_ALIGN_UP(sizes[i], 16);
    return (layout){at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8], at[9], at[10], at[11], at[12]};
}

void wick_attention_prepare(wick_attention_job *a) {
    a->gemm = wick_gemm_kernel_of(a->type);
    a->code = &tiers[wick_tier_current()]->type[a->type == WICK_CF64];
    const int64_t elem = a->gemm->elem, blocks = wick_ceil_div(a->queries, BQ), key_blocks = wick_ceil_div(a->keys, BK);
    const double work = (double)BQ * (double)a->keys * (double)(a->dim + a->value_dim + 16);
    const int64_t units = a->batch * a->heads * blocks, back = a->batch * a->kv_heads;
    a->per_task = WICK_MAX(1, (int64_t)(TASK_WORK / (work + 1)));
    a->tasks[0] = a->value_dim || a->queries ? wick_ceil_div(units, a->per_task) : 0;
    a->splits = WICK_MAX(1, WICK_MIN(WICK_MIN(MAX_SPLITS, key_blocks), wick_ceil_div(BACK_TASKS, WICK_MAX(1, back))));
    a->split_keys = wick_ceil_div(key_blocks, a->splits) * BK;
    if (key_blocks) a->splits = wick_ceil_div(a->keys, a->split_keys);
    a->tasks[1] = back * a->splits;
    a->tasks[2] = a->splits > 1 ? units : 0;
    a->parts = a->splits > 1 ? (size_t)(a->splits * a->batch * a->heads * a->queries * a->dim * elem) : 0;
    if (a->code->forward) {
        a->scratch[0] = a->scratch[1] = (size_t)(2 * a->keys + 64) * 16;
        return;
    }
    a->scratch[0] = a->queries ? (size_t)(layout_of(a, 0).end * elem) : 0;
    a->scratch[1] = (size_t)(layout_of(a, 1).end * elem);
}

/* C (m x n, columns neighbours) = A (m x k) B (k x n) or += it. B's rows are readable to whole vectors. Scores are made
 * for whole vectors of queries, which tiles store as they are; what is in lanes without a query enters nothing. */
static void product(const wick_gemm_kernel *q, int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row,
                    int64_t a_col, const void *b, int64_t b_row, void *c, int64_t c_row, bool add) {
    if (!m) return;
    const int64_t tiles = wick_ceil_div(m, wick_gemm_tile_rows(q, a_row)), height = m / tiles, taller = m % tiles;
    for (int64_t col = 0; col < n; col += q->nr) {
        wick_gemm_tile t = {.k = k,
                            .a_row = a_row,
                            .a_col = a_col,
                            .b = (const char *)b + col * q->elem,
                            .b_row = b_row,
                            .c_row = c_row,
                            .c_col = 1,
                            .cols = WICK_MIN(q->nr, n - col),
                            .add = add};
        wick_gemm_tile_fn *const *by_rows = q->tiles + (wick_ceil_div(t.cols, q->lanes) - 1) * q->mr - 1;
        for (int64_t i = 0, row = 0; i < tiles; i++) {
            const int64_t rows = height + (i < taller);
            t.a = (const char *)a + row * a_row * q->elem;
            t.c = (char *)c + (row * c_row + col) * q->elem;
            by_rows[rows](&t);
            row += rows;
        }
    }
}

/* Rows of an operand as tiles read them, in place or copied to `to`. */
typedef struct rows {
    const void *p;
    int64_t row;
} rows;
/* Why they are copied; NULL: they are not. */
static const char *in_place_refused(const wick_attention_job *a, const int64_t *strides, int64_t cols) {
    if (strides[3] != 1) return "rows are not contiguous";
    if (cols % a->gemm->lanes) return "rows are no whole vectors";
    return (strides[2] < 0 ? -strides[2] : strides[2]) * a->gemm->elem < FAR ? NULL : "rows are 2 KiB and more apart";
}
static rows rows_of(const wick_attention_job *a, const void *p, const int64_t *strides, int64_t n, int64_t cols,
                    void *to) {
    const wick_gemm_kernel *q = a->gemm;
    if (!in_place_refused(a, strides, cols)) return (rows){p, strides[2]};
    const int64_t width = lanes_of(a, cols);
    q->pack(n, cols, p, strides[2], strides[3], to, width);
    return (rows){to, width};
}

int wick_attention_rejected(const wick_attention_job *a, int stage, wick_rejected *out) {
    const struct {
        const char *kernel;
        const int64_t *strides, cols;
        bool backward;
    } all[] = {{"values where they lie", a->v, a->value_dim, false},
               {"keys where they lie", a->k, a->dim, true},
               {"queries where they lie", a->q, a->dim, true},
               {"gradients where they lie", a->gy, a->value_dim, true}};
    int n = 0;
    if (a->code->forward || !a->tasks[stage] || !a->keys) return 0;
    for (size_t i = 0; i < WICK_COUNTOF(all); i++) {
        const char *why = all[i].backward == (stage == 1) ? in_place_refused(a, all[i].strides, all[i].cols) : NULL;
        if (why) out[n++] = (wick_rejected){all[i].kernel, why};
    }
    return n;
}

/* Where in a tile causality begins: key `key` + i is seen by queries from first + i on; below -BK where all see all. */
static int64_t first_of(const wick_attention_job *a, int64_t query, int64_t key) {
    return a->causal ? key - a->shift - query : -BK;
}

static void tile_mask(const wick_attention_job *a, const wick_attention_memory *at, wick_attention_tile *t,
                      int64_t batch, int64_t head, int64_t query, int64_t queries, int64_t key, void *mask,
                      float *keep) {
    if (a->masked) {
        const char *from = at_index(at->mask, a->mask, batch, head, query, a->gemm->elem);
        a->gemm->pack(t->keys, queries, from + key * a->mask[3] * a->gemm->elem, a->mask[3], a->mask[2], mask, BQ);
        t->mask = mask;
    }
    if (a->dropout > 0) {
        wick_attention_draw(at->seed, wick_attention_stream(a, batch, head, query, key), t->keys * BQ, keep);
        t->keep = keep;
    }
    t->first = first_of(a, query, key);
}

static void forward(const wick_attention_job *a, int64_t batch, int64_t head, int64_t query,
                    const wick_attention_memory *at, char *scratch) {
    const wick_gemm_kernel *g = a->gemm;
    const layout l = layout_of(a, 0);
    const int64_t elem = g->elem, queries = WICK_MIN(BQ, a->queries - query), kv = head / (a->heads / a->kv_heads),
                  dv = lanes_of(a, a->value_dim);
    const int64_t seen = wick_attention_seen(a, query + queries);
    char *const qt = scratch + l.qt * elem, *const scores = scratch + l.scores * elem,
                *const sums = scratch + l.sums * elem, *const lanes = scratch + l.lanes * elem;
    wick_attention_tile t = {.lanes = lanes_of(a, queries),
                             .scores = scores,
                             .scale = a->scale,
                             .dropout = a->dropout,
                             .max = lanes,
                             .sum = lanes + BQ * elem,
                             .move = lanes + 2 * BQ * elem};
    g->pack(a->dim, queries, at_index(at->q, a->q, batch, head, query, elem), a->q[3], a->q[2], qt, BQ);
    for (int64_t key = 0; key < seen; key += BK) {
        t.keys = WICK_MIN(BK, seen - key);
        const void *k = at_index(at->k, a->k, batch, kv, key, elem), *v = at_index(at->v, a->v, batch, kv, key, elem);
        product(g, t.keys, t.lanes, a->dim, k, a->k[2], a->k[3], qt, BQ, scores, BQ, false);
        tile_mask(a, at, &t, batch, head, query, queries, key, scratch + l.mask * elem,
                  (float *)(void *)(scratch + l.keep * elem));
        if (key == 0) t.move = NULL; /* begins */
        const bool moved = a->code->weights(&t);
        t.move = lanes + 2 * BQ * elem;
        if (key && moved) a->code->scale(sums, queries, a->value_dim, dv, t.move);
        const rows b = rows_of(a, v, a->v, t.keys, a->value_dim, scratch + l.v * elem);
        product(g, queries, a->value_dim, t.keys, scores, 1, BQ, b.p, b.row, sums, dv, key > 0);
    }
    if (!seen) t.keys = 0;
    a->code->finish(&t, seen ? sums : NULL, queries, a->value_dim, dv,
                    (char *)at->y + (batch * a->y[0] + head * a->y[1] + query * a->y[2]) * elem, a->y[2],
                    (char *)at->lse + ((batch * a->heads + head) * a->queries + query) * elem);
}

static char *key_row(const wick_attention_job *a, void *p, const int64_t *strides, int64_t batch, int64_t kv,
                     int64_t key) {
    return (char *)p + (batch * strides[0] + kv * strides[1] + key * strides[2]) * a->gemm->elem;
}

/* The keys of a split: their gk and gv, and what they add to gq. */
static void backward(const wick_attention_job *a, int64_t batch, int64_t kv, int64_t split,
                     const wick_attention_memory *at, char *scratch) {
    const wick_gemm_kernel *g = a->gemm;
    const layout l = layout_of(a, 1);
    const int64_t elem = g->elem, group = a->heads / a->kv_heads, end = WICK_MIN(a->keys, (split + 1) * a->split_keys);
    char *const qt = scratch + l.qt * elem, *const gt = scratch + l.gt * elem,
                *const scores = scratch + l.scores * elem, *const grads = scratch + l.grads * elem;
    char *const lanes = scratch + l.lanes * elem;
    wick_attention_tile t = {.scores = scores,
                             .grads = grads,
                             .scale = a->scale,
                             .dropout = a->dropout,
                             .lse = lanes,
                             .delta = lanes + BQ * elem};
    memset(lanes, 0, (size_t)(2 * BQ * elem));
    const int64_t part[4] = {a->heads * a->queries * a->dim, a->queries * a->dim, a->dim, 1},
                  *to = a->splits > 1 ? part : a->gq;
    char *const gq = a->splits > 1 ? (char *)at->parts + split * a->batch * part[0] * elem : at->gq;
    for (int64_t head = kv * group; head < (kv + 1) * group; head++)
        for (int64_t query = 0; query < a->queries; query++)
            memset(gq + (batch * to[0] + head * to[1] + query * to[2]) * elem, 0, (size_t)(a->dim * elem));
    /* Blocks of queries pass by a group of blocks of keys, as many as stay in the cache with their gradients: Q^T and
     * G^T are packed once for all of them. The order of sums is that of one block of keys after the other. */
    const int64_t block_bytes = 2 * BK * (a->dim + a->value_dim) * elem,
                  group_keys = WICK_MAX(1, WICK_MIN(64, BACK_CACHE / WICK_MAX(1, block_bytes))) * BK;
    for (int64_t first = split * a->split_keys; first < end; first += group_keys) {
        const int64_t last = WICK_MIN(end, first + group_keys);
        uint64_t begun = 0; /* of each block of the group */
        for (int64_t head = kv * group; head < (kv + 1) * group; head++) {
            for (int64_t query = 0; query < a->queries; query += BQ) {
                const int64_t queries = WICK_MIN(BQ, a->queries - query),
                              seen = wick_attention_seen(a, query + queries);
                if (seen <= first) continue;
                const void *q = at_index(at->q, a->q, batch, head, query, elem),
                           *gy = at_index(at->gy, a->gy, batch, head, query, elem);
                const int64_t row = ((batch * a->heads + head) * a->queries + query) * elem;
                t.lanes = lanes_of(a, queries);
                memcpy(lanes, (const char *)at->lse + row, (size_t)(queries * elem));
                memcpy(lanes + BQ * elem, (const char *)at->delta + row, (size_t)(queries * elem));
                g->pack(a->dim, queries, q, a->q[3], a->q[2], qt, BQ);
                g->pack(a->value_dim, queries, gy, a->gy[3], a->gy[2], gt, BQ);
                const rows q_rows = rows_of(a, q, a->q, queries, a->dim, scratch + l.q * elem);
                const rows g_rows = rows_of(a, gy, a->gy, queries, a->value_dim, scratch + l.g * elem);
                for (int64_t key = first; key < WICK_MIN(last, seen); key += BK) {
                    const uint64_t bit = (uint64_t)1 << ((key - first) / BK);
                    t.keys = WICK_MIN(BK, end - key);
                    const void *k = at_index(at->k, a->k, batch, kv, key, elem),
                               *v = at_index(at->v, a->v, batch, kv, key, elem);
                    const rows k_rows = rows_of(a, k, a->k, t.keys, a->dim, scratch + l.k * elem);
                    product(g, t.keys, t.lanes, a->dim, k_rows.p, k_rows.row, 1, qt, BQ, scores, BQ, false);
                    product(g, t.keys, t.lanes, a->value_dim, v, a->v[2], a->v[3], gt, BQ, grads, BQ, false);
                    tile_mask(a, at, &t, batch, head, query, queries, key, scratch + l.mask * elem,
                              (float *)(void *)(scratch + l.keep * elem));
                    a->code->gradients(&t);
                    product(g, t.keys, a->value_dim, queries, scores, BQ, 1, g_rows.p, g_rows.row,
                            key_row(a, at->gv, a->gv, batch, kv, key), a->gv[2], begun & bit);
                    product(g, t.keys, a->dim, queries, grads, BQ, 1, q_rows.p, q_rows.row,
                            key_row(a, at->gk, a->gk, batch, kv, key), a->gk[2], begun & bit);
                    product(g, queries, a->dim, t.keys, grads, 1, BQ, k_rows.p, k_rows.row,
                            gq + (batch * to[0] + head * to[1] + query * to[2]) * elem, to[2], true);
                    begun |= bit;
                }
            }
        }
        for (int64_t key = first; key < last; key++) {
            if (begun >> ((key - first) / BK) & 1) continue;
            memset(key_row(a, at->gk, a->gk, batch, kv, key), 0, (size_t)(a->dim * elem));
            memset(key_row(a, at->gv, a->gv, batch, kv, key), 0, (size_t)(a->value_dim * elem));
        }
    }
}

/* gq of one block of queries: the parts added up. */
static void add_parts(const wick_attention_job *a, int64_t batch, int64_t head, int64_t query,
                      const wick_attention_memory *at) {
    const int64_t elem = a->gemm->elem, all = a->batch * a->heads * a->queries * a->dim;
    for (int64_t i = query; i < WICK_MIN(a->queries, query + BQ); i++) {
        const void *from[MAX_SPLITS];
        for (int64_t s = 0; s < a->splits; s++)
            from[s] =
                (const char *)at->parts + (s * all + ((batch * a->heads + head) * a->queries + i) * a->dim) * elem;
        a->code->add(a->dim, a->splits, from,
                     (char *)at->gq + (batch * a->gq[0] + head * a->gq[1] + i * a->gq[2]) * elem);
    }
}

void wick_attention_run(const wick_attention_job *a, int stage, int64_t begin, int64_t end,
                        const wick_attention_memory *at, void *scratch) {
    if (stage == 1) {
        for (int64_t i = begin; i < end; i++) {
            const int64_t pair = i / a->splits;
            if (a->code->backward)
                a->code->backward(a, pair / a->kv_heads, pair % a->kv_heads, i % a->splits, at, scratch);
            else
                backward(a, pair / a->kv_heads, pair % a->kv_heads, i % a->splits, at, scratch);
        }
        return;
    }
    const int64_t blocks = wick_ceil_div(a->queries, BQ), units = a->batch * a->heads * blocks,
                  each = stage ? 1 : a->per_task;
    for (int64_t i = begin * each; i < WICK_MIN(units, end * each); i++) {
        const int64_t pair = i / blocks, batch = pair / a->heads, head = pair % a->heads, query = i % blocks * BQ;
        if (stage)
            add_parts(a, batch, head, query, at);
        else if (a->code->forward)
            a->code->forward(a, batch, head, query, WICK_MIN(a->queries, query + BQ), at, scratch);
        else
            forward(a, batch, head, query, at, scratch);
    }
}

const char *wick_attention_name(const wick_attention_job *a, int stage) { return a->code->names[stage]; }
