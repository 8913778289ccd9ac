/* wick/attention.h: attention, positions, and the cache of keys and values that decoding reads. */
#ifndef WICK_ATTENTION_H
#define WICK_ATTENTION_H

#include "wick/ops.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_attention_options {
    wick_tensor *mask; /* broadcasts to [..., Lq, Lk]; bool: true where a query sees a key; float: added to the scaled scores. NULL: none */
    bool causal;       /* query i sees keys 0 .. i (PyTorch's is_causal). Together with a mask, both hold */
    bool causal_end;   /* query i sees keys 0 .. i + Lk - Lq: the last query sees all, as when decoding goes on behind Lk - Lq keys */
    bool grouped;      /* k and v may have fewer heads (axis -3) that divide q's: query head h reads head h / (Hq / Hkv) (enable_gqa) */
    double scale;      /* of the scores; 0: 1 / sqrt(D) */
    double dropout;    /* share of the weights that is zeroed, in [0, 1); the rest is divided by 1 - dropout */
    bool plain;        /* matmul, softmax, matmul, with all weights in memory: the oracle */
} wick_attention_options;
/* softmax(scale q k^T + mask) v (Vaswani et al. 2017): q [..., Lq, D], k [..., Lk, D], v [..., Lk, Dv] -> [..., Lq, Dv]; heads are a leading dim,
 * leading dims broadcast. PyTorch's scaled_dot_product_attention. f32 and f64; half types are computed in f32 and rounded once. options may be
 * NULL. A query that sees no key gets 0 (PyTorch's since 2.5 too) and gives no gradient. Memory is O(Lq + Lk), backward too: scores are made
 * tile by tile, and again for the gradient (Dao, Fu, Ermon, Rudra, Re 2022: FlashAttention); only the gradient of a float mask and gradients of
 * gradients take O(Lq Lk). A hidden key's NaN or Inf may reach queries all the same: 0 times NaN is NaN. */
WICK_API wick_tensor *wick_attention(wick_tensor *q, wick_tensor *k, wick_tensor *v, const wick_attention_options *options);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_attention(...) WICK_TENSOR_HERE(wick_attention(__VA_ARGS__))
/* clang-format on */
#endif
#endif
