/* attention.h: the seam between the control flow of attention (attention.c) and the kernels of a tier
 * (attention_tier.c).
 *
 * Scores lie with their queries as neighbours, [keys][queries]: the softmax over keys then runs down the rows, each
 * query in a lane of its own, and nothing is folded. All products are the register tiles of gemm.h, which read the
 * scores as they lie:
 *
 *   scores [key][query]  = rows of K times Q^T     (Q^T is packed once a block of queries)
 *   y      [query][..]  += weights^T times rows of V
 *
 * and backward, with G = dL/dy, weights P = exp(scores - lse) and their gradients D = P (V G^T - delta):
 *
 *   gv [key][..] += P times rows of G     gk [key][..] += D times rows of Q     gq [query][..] += D^T times rows of
 *                                         K */
#ifndef WICK_KERNELS_ATTENTION_ATTENTION_H
#define WICK_KERNELS_ATTENTION_ATTENTION_H

#include "kernels/attention/run.h"
#include "kernels/gemm/gemm.h"

/* Blocks of queries and of keys: part of the numerics, the same for every tier and shape. 32 KiB of scores in f32: L1
 * or L2; the block of queries is long enough that moving the maximum and packing Q^T cost little (wick bench
 * attention). */
enum { WICK_ATTENTION_QUERIES = 64, WICK_ATTENTION_KEYS = 128 };

/* A tile of scores. lanes: queries, rounded up to whole vectors, of rows that are WICK_ATTENTION_QUERIES apart. */
typedef struct wick_attention_tile {
    int64_t keys, lanes;
    void *scores;     /* in: products of K and Q. out: the weights */
    const void *mask; /* [keys][queries], added to the scaled scores, or NULL */
    const float *keep; /* [keys][queries] uniform numbers; weights where they are below dropout are dropped; or NULL */
    int64_t first;    /* key i is seen by the queries from first + i on */
    double scale, dropout;
    void *max, *sum, *move; /* forward: of each query so far; move gets the factor for what was summed before */
    void *grads;      /* backward. in: products of V and G. out: gradients of the products of K and Q */
    const void *lse, *delta;
} wick_attention_tile;

typedef struct wick_attention_kernel {
    const char *names[3];
    /* whether a maximum moved: then what was summed before has to be scaled */
    bool (*weights)(const wick_attention_tile *t);
    void (*scale)(void *y, int64_t rows, int64_t cols, int64_t row, const void *by); /* y[i] *= by[i] */
    /* y = sums / sum, lse = max + log(sum) */
    void (*finish)(const wick_attention_tile *t, const void *sums, int64_t rows, int64_t cols, int64_t sums_row,
                   void *y, int64_t y_row, void *lse);
    void (*gradients)(const wick_attention_tile *t);
    void (*add)(int64_t n, int64_t parts, const void *const *from, void *to); /* to = from[0] + from[1] ... */
    /* The reference: units [begin, end) of queries (forward) or keys (backward) of one head. Then the rest is unused.
     */
    void (*forward)(const wick_attention_job *a, int64_t batch, int64_t head, int64_t begin, int64_t end,
                    const wick_attention_memory *at, void *scratch);
    void (*backward)(const wick_attention_job *a, int64_t batch, int64_t kv_head, int64_t split,
                     const wick_attention_memory *at, void *scratch);
} wick_attention_kernel;

typedef struct wick_attention_kernels {
    wick_attention_kernel type[2]; /* f32, f64 */
} wick_attention_kernels;

extern const wick_attention_kernels wick_attention_kernels_ref, wick_attention_kernels_base,
    wick_attention_kernels_avx2, wick_attention_kernels_avx512;

/* How many keys the block of queries that ends before query `end` sees. */
static inline int64_t wick_attention_seen(const wick_attention_job *a, int64_t end) {
    return a->causal ? WICK_MAX(0, WICK_MIN(a->keys, end + a->shift)) : a->keys;
}
/* The place of query 0 (of its block) and key 0 in the stream of dropout's numbers; rows of WICK_ATTENTION_QUERIES. */
static inline int64_t wick_attention_stream(const wick_attention_job *a, int64_t batch, int64_t head, int64_t query,
                                            int64_t key) {
    const int64_t blocks = (a->queries + WICK_ATTENTION_QUERIES - 1) / WICK_ATTENTION_QUERIES;
    return (((batch * a->heads + head) * blocks + query / WICK_ATTENTION_QUERIES) * a->keys + key) *
           WICK_ATTENTION_QUERIES;
}
/* uniform[0 .. n): numbers of that stream from place `at` on. */
void wick_attention_draw(const int64_t *seed, int64_t at, int64_t n, float *uniform);

#endif
