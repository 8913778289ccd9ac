/* wick/attention.h: attention, positions, and the cache of keys and values that decoding reads. */
#ifndef WICK_ATTENTION_H
#define WICK_ATTENTION_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_attention_options {
    /* broadcasts to [..., Lq, Lk]; bool: true where a query sees a key; float: added to the scaled scores. NULL: none
     */
    wick_tensor *mask;
    bool causal;       /* query i sees keys 0 .. i (PyTorch's is_causal). Together with a mask, both hold */
    /* query i sees keys 0 .. i + Lk - Lq: the last query sees all, as when decoding goes on behind Lk - Lq keys */
    bool causal_end;
    /* k and v may have fewer heads (axis -3) that divide q's: query head h reads head h / (Hq / Hkv) (enable_gqa) */
    bool grouped;
    double scale;      /* of the scores; 0: 1 / sqrt(D) */
    double dropout;    /* share of the weights that is zeroed, in [0, 1); the rest is divided by 1 - dropout */
    bool plain;        /* matmul, softmax, matmul, with all weights in memory: the oracle */
} wick_attention_options;
/* softmax(scale q k^T + mask) v (Vaswani et al. 2017): q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv] -> [..., Lq,
 * Dv]; heads are a leading dim, leading dims broadcast. PyTorch's scaled_dot_product_attention. f32 and f64; half types
 * are computed in f32 and rounded once. options may be NULL. A query that sees no key gets 0 (PyTorch's since 2.5 too)
 * and gives no gradient. Memory is O(Lq + Lk), backward too: scores are made tile by tile, and again for the gradient
 * (Dao, Fu, Ermon, Rudra, Re 2022: FlashAttention); only the gradient of a float mask and gradients of gradients take
 * O(Lq Lk). A hidden key's NaN or Inf may reach queries all the same: 0 times NaN is NaN. */
WICK_API wick_tensor *wick_attention(wick_tensor *q, wick_tensor *k, wick_tensor *v,
                                     const wick_attention_options *options);

/* ---- positions --------------------------------------------------------------------------------------------------- */

typedef struct wick_rotary_options {
    double base;       /* 0: 10000 */
    int64_t dims;      /* the first so many features are turned, an even number; 0: all */
    /* features 2i and 2i + 1 are a pair, as in the paper (GPT-J); otherwise i and i + dims / 2 (GPT-NeoX, Llama) */
    bool interleaved;
} wick_rotary_options;
/* Rotary positions (Su et al. 2021): pair i of x [..., L, D] is turned by the angle position * base^(-2i / dims).
 * positions: integers [L]; NULL: 0 .. L - 1. Angles are computed in f64. options may be NULL. */
WICK_API wick_tensor *wick_rotary(wick_tensor *x, wick_tensor *positions, const wick_rotary_options *options);
/* [L, dims] for positions [L]: feature 2i is sin(position / 10000^(2i / dims)), 2i + 1 the cosine (Vaswani et al.
 * 2017). dims is even. */
WICK_API wick_tensor *wick_sinusoidal(wick_tensor *positions, int64_t dims, wick_dtype dtype);
/* ALiBi (Press, Smith, Lewis 2022) as a mask [heads, 1, keys] for wick_attention with causality: slope of the head
 * times the key's position. It differs from the paper's slope * (key - query) by a number per query, which the softmax
 * doesn't see. */
WICK_API wick_tensor *wick_alibi(wick_context *ctx, wick_dtype dtype, int64_t heads, int64_t keys);

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

/* Keys and values of what was read so far, in states of fixed size, so that decoding a token is one plan whatever the
 * position. */
typedef struct wick_kv_cache {
    wick_tensor *k, *v;    /* states [B, Hkv, Lmax, D] and [B, Hkv, Lmax, Dv] */
    wick_tensor *position; /* state i64 [1]: how many positions are filled */
} wick_kv_cache;
/* Records that k [B, Hkv, T, D] and v [B, Hkv, T, Dv] go to positions position .. position + T - 1 of the cache, by
 * assignment, in place: what it costs depends on T alone. A cache without room for them is an error: WICK_ERR_SHAPE
 * here where T > Lmax, else WICK_ERR_INDEX when it runs; then nothing is written. *mask: bool [T, Lmax] for
 * wick_attention over cache->k and cache->v: new token t sees all before it and itself. The position stays: layers
 * share it, and who has them all assigns position + T after the last. Positions from it on count as empty: a run that
 * fails elsewhere may leave them changed. A window that slides, or another policy, is the caller's: shift the states,
 * and the position back, before they are full. */
WICK_API WICK_MUST_CHECK wick_status wick_kv_cache_append(const wick_kv_cache *cache, wick_tensor *k, wick_tensor *v,
                                                          wick_tensor **mask);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_attention(...) WICK_TENSOR_HERE(wick_attention(__VA_ARGS__))
#define wick_rotary(...) WICK_TENSOR_HERE(wick_rotary(__VA_ARGS__))
#define wick_sinusoidal(...) WICK_TENSOR_HERE(wick_sinusoidal(__VA_ARGS__))
#define wick_alibi(...) WICK_TENSOR_HERE(wick_alibi(__VA_ARGS__))
#define wick_kv_cache_append(...) WICK_STATUS_HERE(wick_kv_cache_append(__VA_ARGS__))
/* clang-format on */
#endif
#endif
