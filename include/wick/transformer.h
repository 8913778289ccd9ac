/* wick/transformer.h: layers of transformers, with the names, shapes and first values of PyTorch's, so that a
 * state_dict loads. Batches come first: x is [N, L, E]. */
#ifndef WICK_TRANSFORMER_H
#define WICK_TRANSFORMER_H

#include "wick/attention.h"
#include "wick/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* index [...] of integers -> [..., dim]: rows of NAME.weight [count, dim], normal numbers at first. An index outside is
 * a run-time error. */
WICK_API wick_tensor *wick_nn_embedding(wick_model *model, const char *name, wick_tensor *index, int64_t count,
                                        int64_t dim, wick_dtype dtype);
/* x [..., L, E] plus the first L rows of NAME.weight [most, E]: learned positions. */
WICK_API wick_tensor *wick_nn_positions(wick_model *model, const char *name, wick_tensor *x, int64_t most);
/* x [..., dim] -> [..., count] by the weight of the embedding of that name (Press, Wolf 2017): one parameter, used
 * twice. */
WICK_API wick_tensor *wick_nn_tied_linear(wick_model *model, const char *embedding, wick_tensor *x, int64_t count);
/* The weight g v / |v| (Salimans, Kingma 2016), |v| over all axes but the first, for wick_linear or wick_conv:
 * NAME.parametrizations.weight.original0 is g [out, 1, ...], which starts as |v|, and original1 v [out, ...]: those of
 * torch.nn.utils.parametrizations.weight_norm. */
WICK_API wick_tensor *wick_nn_weight_norm(wick_model *model, const char *name, wick_dtype dtype, int rank,
                                          const int64_t *dims);

typedef struct wick_nn_attention_options {
    int64_t heads;     /* divides E */
    /* heads of keys and values, which query heads share; 0: heads. Fewer make in_proj_weight [(heads + 2 kv_heads) D,
     * E] */
    int64_t kv_heads;
    /* q_proj_weight, k_proj_weight and v_proj_weight; needed, and PyTorch's choice, where k or v have another width
     * than q */
    bool separate;
    bool no_bias;
    bool causal;
    bool rotary;       /* q and k are turned by their positions, as rotary_options say */
    wick_rotary_options rotary_options;
    wick_tensor *mask;        /* as wick_attention's: [L, S], [N, heads, L, S] ... */
    wick_tensor *key_padding; /* bool [N, S]: which keys count: PyTorch's key_padding_mask negated; NULL: all */
    double dropout;           /* of weights, in training */
    /* decoding: k and v are added to it and read from there; heads see all up to themselves */
    const wick_kv_cache *cache;
} wick_nn_attention_options;
/* Multi-head attention (Vaswani et al. 2017), torch.nn.MultiheadAttention: q [N, L, E], k [N, S, Ek], v [N, S, Ev] ->
 * [N, L, E]. States: NAME.in_proj_weight [3E, E] by Xavier, or NAME.q_proj_weight ...; NAME.in_proj_bias,
 * NAME.out_proj.weight, NAME.out_proj.bias. */
WICK_API wick_tensor *wick_nn_attention(wick_model *model, const char *name, wick_tensor *q, wick_tensor *k,
                                        wick_tensor *v, const wick_nn_attention_options *options);

typedef struct wick_nn_transformer_options {
    int64_t feedforward;  /* width between linear1 and linear2; 0: 2048 */
    double dropout;       /* in training: of weights, within the feed-forward, and of what is added */
    bool pre_norm;        /* norms before attention and feed-forward (norm_first), not after the sums */
    bool gelu;            /* otherwise ReLU */
    bool final_norm;      /* stacks: NAME.norm at the end */
    /* stacks: every so many layers are a segment (wick_recompute), whose values gradients make again; 0: all are kept
     */
    int checkpoint;
    wick_nn_attention_options attention; /* of x to itself; its dropout is the one above unless set */
    wick_tensor *memory_mask, *memory_padding; /* decoder: as mask and key_padding, of x to memory */
} wick_nn_transformer_options;
/* torch.nn.TransformerEncoderLayer: self_attn, linear1, linear2, norm1, norm2. x [N, L, E]. */
WICK_API wick_tensor *wick_nn_encoder_layer(wick_model *model, const char *name, wick_tensor *x,
                                            const wick_nn_transformer_options *options);
/* torch.nn.TransformerDecoderLayer: also multihead_attn to memory [N, S, E], and norm3. memory NULL: none of that, a
 * decoder alone (GPT). */
WICK_API wick_tensor *wick_nn_decoder_layer(wick_model *model, const char *name, wick_tensor *x, wick_tensor *memory,
                                            const wick_nn_transformer_options *options);
/* NAME.layers.0 ... of n layers, and NAME.norm if final_norm: torch.nn.TransformerEncoder and TransformerDecoder. */
WICK_API wick_tensor *wick_nn_encoder(wick_model *model, const char *name, wick_tensor *x, int n,
                                      const wick_nn_transformer_options *options);
WICK_API wick_tensor *wick_nn_decoder(wick_model *model, const char *name, wick_tensor *x, wick_tensor *memory, int n,
                                      const wick_nn_transformer_options *options);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
/* clang-format off */
#define wick_nn_embedding(...) WICK_TENSOR_HERE(wick_nn_embedding(__VA_ARGS__))
#define wick_nn_positions(...) WICK_TENSOR_HERE(wick_nn_positions(__VA_ARGS__))
#define wick_nn_tied_linear(...) WICK_TENSOR_HERE(wick_nn_tied_linear(__VA_ARGS__))
#define wick_nn_weight_norm(...) WICK_TENSOR_HERE(wick_nn_weight_norm(__VA_ARGS__))
#define wick_nn_attention(...) WICK_TENSOR_HERE(wick_nn_attention(__VA_ARGS__))
#define wick_nn_encoder_layer(...) WICK_TENSOR_HERE(wick_nn_encoder_layer(__VA_ARGS__))
#define wick_nn_decoder_layer(...) WICK_TENSOR_HERE(wick_nn_decoder_layer(__VA_ARGS__))
#define wick_nn_encoder(...) WICK_TENSOR_HERE(wick_nn_encoder(__VA_ARGS__))
#define wick_nn_decoder(...) WICK_TENSOR_HERE(wick_nn_decoder(__VA_ARGS__))
/* clang-format on */
#endif
#endif
