/* run.h: attention, y = softmax(scale Q K^T + mask) V over each head, f32 and f64. Stages and tasks as kernels.h
 * has them.
 *
 * Scores are made tile by tile and forgotten: memory is that of q, k, v and the results, both ways (Dao, Fu, Ermon,
 * Rudra, Re 2022; Milakov, Gimelshein 2018 for the softmax that moves its maximum). Strides are in elements, of batch,
 * head, row and column; 0 broadcasts. */
#ifndef WICK_KERNELS_ATTENTION_RUN_H
#define WICK_KERNELS_ATTENTION_RUN_H

#include "kernels/types.h"

typedef struct wick_attention_job {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    /* heads is a multiple of kv_heads: head h reads head h / (heads / kv_heads) of k and v */
    int64_t batch, heads, kv_heads;
    int64_t queries, keys, dim, value_dim;
    int64_t q[4], k[4], v[4], y[4], gy[4]; /* of y, gq, gk and gv the columns are neighbours */
    int64_t gq[4], gk[4], gv[4];
    int64_t mask[4];      /* batch, head, query, key: added to the scores */
    bool masked, causal;  /* causal: query i sees the keys up to i + shift */
    int64_t shift;
    /* dropout: the share of weights that is zeroed, by numbers that the seed fixes; the others are divided by 1 -
     * dropout */
    double scale, dropout;

    /* filled by wick_attention_prepare: stages are the forward pass, the backward pass, and adding up its parts of gq
     * (0 tasks: there is one) */
    int64_t tasks[3];
    size_t scratch[3]; /* bytes that each worker needs */
    size_t parts;      /* bytes between the stages of the backward pass; 0: none */
    int64_t splits, split_keys, per_task;
    const struct wick_attention_kernel *code;
    const struct wick_gemm_kernel *gemm;
} wick_attention_job;
/* lse, delta: [batch, heads, queries]. */
typedef struct wick_attention_memory {
    const void *q, *k, *v, *mask; /* mask: NULL or as strided */
    const int64_t *seed;          /* with dropout */
    /* lse: log of the sum of exp(scores), which the backward pass reads; +Inf where no key is seen, and y is 0 */
    void *y, *lse;
    const void *gy, *delta;       /* delta: sum over columns of gy y, less what arrives for lse */
    void *gq, *gk, *gv, *parts;
} wick_attention_memory;
void wick_attention_prepare(wick_attention_job *a);
void wick_attention_run(const wick_attention_job *a, int stage, int64_t begin, int64_t end,
                        const wick_attention_memory *at, void *scratch);
/* forward and backward; as wick_gemm_rejected */
int wick_attention_rejected(const wick_attention_job *a, int stage, wick_rejected *out);
const char *wick_attention_name(const wick_attention_job *a, int stage); /* "attention_f32_avx512" */

#endif
