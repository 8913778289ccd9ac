/* ops_attention.c: attention in its forms, and what stands around it in transformers. */
#define WICK_NO_SITES
#include <math.h>

#include "io/onnx/onnx.h"
#include "wick/attention.h"
#include "wick/image.h"
#include "wick/index.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

static wick_tensor *number(wick_tensor *x, double value) { return wick_like(x, value); }

/* [B, L, H D] -> [B, H, L, D] */
static wick_tensor *heads_apart(onnx_call *c, wick_tensor *x, int64_t heads) {
    if (heads < 1 || wick_tensor_dim(x, 2) % heads)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld features are not of %lld heads",
                              (long long)wick_tensor_dim(x, 2), (long long)heads),
               NULL;
    return wick_transpose(
        wick_reshape(x, WICK_DIMS(wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), heads, wick_tensor_dim(x, 2) / heads)),
        1, 2);
}
/* [B, H, L, D] -> [B, L, H D] */
static wick_tensor *heads_together(wick_tensor *x) {
    return wick_reshape(wick_transpose(x, 1, 2), WICK_DIMS(wick_tensor_dim(x, 0), wick_tensor_dim(x, 2),
                                                           wick_tensor_dim(x, 1) * wick_tensor_dim(x, 3)));
}
/* Heads of k or v repeated for those of q. */
static wick_tensor *repeated(wick_tensor *x, int64_t heads) {
    const int64_t own = wick_tensor_dim(x, 1);
    return own == heads || !own ? x : wick_repeat_interleave(x, heads / own, 1);
}

/* What is added to the scores, 0 or -Inf where it hides: the mask, causality, and keys behind the ends of samples.
 * NULL: nothing is hidden. */
static wick_tensor *bias_of(onnx_call *c, wick_tensor *mask, wick_tensor *lengths, wick_dtype dtype, int64_t lq,
                            int64_t lk, int64_t past) {
    const int64_t left = wick_onnx_int(c, "left_window_size", -1),
                  right = wick_onnx_int(c, "right_window_size", -1); /* -1: all of that side */
    const bool causal = wick_onnx_int(c, "is_causal", 0);
    if (!mask && !lengths && !causal && left < 0 && right < 0) return NULL;
    wick_tensor *bias = NULL, *zero = wick_constant(c->ctx, dtype, 0),
                *hidden = wick_constant(c->ctx, dtype, -INFINITY);
    if (mask) {
        bias = wick_tensor_dtype(mask) == WICK_BOOL ? wick_where(mask, zero, hidden) : wick_cast(mask, dtype);
        const int rank = wick_tensor_rank(bias);
        int64_t before[WICK_MAX_DIMS] = {0}, after[WICK_MAX_DIMS] = {0};
        if (rank && wick_tensor_dim(bias, -1) < lk && wick_tensor_dim(bias, -1) != 1) {
            after[rank - 1] = lk - wick_tensor_dim(bias, -1);
            bias = wick_pad(bias, rank, before, after, -INFINITY);
        }
    }
    wick_tensor *key = wick_reshape(wick_arange(c->ctx, WICK_I64, 0, 1, lk), WICK_DIMS(1, 1, 1, lk));
    if (lengths) lengths = wick_reshape(wick_cast(lengths, WICK_I64), WICK_DIMS(wick_tensor_count(lengths), 1, 1, 1));
    if (causal || left >= 0 || right >= 0) {
        wick_tensor *query = wick_reshape(wick_arange(c->ctx, WICK_I64, (double)past, 1, lq), WICK_DIMS(1, 1, lq, 1));
        if (lengths) query = wick_add(query, wick_sub(lengths, number(lengths, (double)lq)));
        const int64_t ahead = causal ? 0 : right;
        wick_tensor *near = ahead >= 0 ? wick_le(key, wick_add(query, number(query, (double)ahead))) : NULL;
        if (left >= 0) {
            wick_tensor *after = wick_ge(key, wick_sub(query, number(query, (double)left)));
            near = near ? wick_logical_and(near, after) : after;
        }
        wick_tensor *seen = wick_where(near, zero, hidden);
        bias = bias ? wick_add(bias, seen) : seen;
    }
    if (lengths) {
        wick_tensor *seen = wick_where(wick_lt(key, lengths), zero, hidden);
        bias = bias ? wick_add(bias, seen) : seen;
    }
    return bias;
}

static void attention(onnx_call *c) {
    wick_tensor *q = wick_onnx_tensor(c, 0), *k = q ? wick_onnx_tensor(c, 1) : NULL,
                *v = k ? wick_onnx_tensor(c, 2) : NULL;
    if (!v) return;
    const bool flat = wick_tensor_rank(q) == 3;
    if (flat) {
        q = heads_apart(c, q, wick_onnx_int(c, "q_num_heads", 0));
        k = q ? heads_apart(c, k, wick_onnx_int(c, "kv_num_heads", 0)) : NULL;
        v = k ? heads_apart(c, v, wick_onnx_int(c, "kv_num_heads", 0)) : NULL;
        if (!v) return;
    }
    if (wick_tensor_rank(q) != 4 || wick_tensor_rank(k) != 4 || wick_tensor_rank(v) != 4) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "Q, K and V must have 4 dims, or 3 and numbers of heads");
        return;
    }
    wick_tensor *past_k = wick_onnx_optional(c, 4), *past_v = wick_onnx_optional(c, 5);
    const int64_t past = past_k ? wick_tensor_dim(past_k, 2) : 0;
    if (past_k) k = wick_concat(2, (wick_tensor *[]){past_k, k}, 2);
    if (past_v) v = wick_concat(2, (wick_tensor *[]){past_v, v}, 2);
    wick_onnx_set(c, 1, k);
    wick_onnx_set(c, 2, v);

    const int64_t heads = wick_tensor_dim(q, 1), own = wick_tensor_dim(k, 1), lq = wick_tensor_dim(q, 2),
                  lk = wick_tensor_dim(k, 2);
    if (own < 1 || heads % own || wick_tensor_dim(v, 1) != own) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld heads of queries and %lld of keys", (long long)heads, (long long)own);
        return;
    }
    const wick_dtype dtype = wick_tensor_dtype(q);
    const double scale = wick_onnx_float(c, "scale", 1 / sqrt((double)wick_tensor_dim(q, 3))),
                 cap = wick_onnx_float(c, "softcap", 0);
    wick_tensor *mask = wick_onnx_optional(c, 3), *lengths = wick_onnx_optional(c, 6);
    wick_tensor *bias = bias_of(c, mask, lengths, dtype == WICK_F64 ? WICK_F64 : WICK_F32, lq, lk, past);
    wick_tensor *y;
    if (cap == 0 && !wick_onnx_wants(c, 3) && !(scale <= 0)) {
        const wick_attention_options o = {
            .mask = bias ? wick_cast(bias, dtype) : NULL, .scale = scale, .grouped = heads != own};
        y = wick_attention(q, k, v, &o);
    } else {
        wick_tensor *f = dtype == WICK_F64 ? q : wick_cast(q, WICK_F32),
                    *g = dtype == WICK_F64 ? k : wick_cast(k, WICK_F32);
        wick_tensor *scores = wick_matmul(wick_mul(f, number(f, scale)), wick_transpose(repeated(g, heads), 2, 3)),
                    *stage[4] = {scores};
        if (cap != 0) scores = wick_mul(wick_tanh(wick_div(scores, number(scores, cap))), number(scores, cap));
        stage[1] = scores;
        if (bias) scores = wick_add(scores, bias);
        stage[2] = scores;
        scores = wick_softmax(scores, 3);
        if (bias)
            /* sees nothing */
            scores = wick_where(wick_eq(wick_max(bias, 1, &(int){-1}, true), number(bias, -INFINITY)),
                                number(scores, 0), scores);
        stage[3] = scores;
        const int64_t which = wick_onnx_int(c, "qk_matmul_output_mode", 0);
        if (which < 0 || which > 3) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "qk_matmul_output_mode %lld", (long long)which);
            return;
        }
        wick_onnx_set(c, 3, wick_cast(stage[which], dtype));
        y = wick_matmul(wick_cast(scores, dtype), repeated(v, heads));
    }
    wick_onnx_set(c, 0, flat ? heads_together(y) : y);
}

/* Scores and probabilities may be changed by graphs of the node's own. */
static wick_tensor *modified(onnx_call *c, const char *name, wick_tensor *x) {
    const onnx_attr *a = wick_onnx_attr(c, name);
    if (!a) return x;
    const onnx_block *body = wick_onnx_body(c, name);
    if (!body) return NULL;
    if (body->n_in != 1 || body->n_out != 1)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "%s has %d inputs and %d outputs", name, body->n_in, body->n_out),
               NULL;
    const onnx_value in = {{.kind = WICK_VALUE_TENSOR, .tensor = x}, c->dynamic};
    onnx_value out = {0};
    const wick_status status =
        wick_onnx_block(c->run, body, (onnx_frame *)(uintptr_t)c->frame, c->frame->function, 1, &in, &out, c->msg);
    if (status != WICK_OK) return c->status = status, NULL;
    if (out.v.kind != WICK_VALUE_TENSOR) return wick_onnx_fail(c, WICK_ERR_FORMAT, "%s gives no tensor", name), NULL;
    return out.v.tensor;
}

static void flex_attention(onnx_call *c) {
    wick_tensor *q = wick_onnx_tensor(c, 0), *k = q ? wick_onnx_tensor(c, 1) : NULL,
                *v = k ? wick_onnx_tensor(c, 2) : NULL;
    if (!v) return;
    if (wick_tensor_rank(q) != 4 || wick_tensor_rank(k) != 4 || wick_tensor_rank(v) != 4 || wick_tensor_dim(k, 1) < 1 ||
        wick_tensor_dim(q, 1) % wick_tensor_dim(k, 1)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "Q, K and V must have 4 dims, and Q's heads be a multiple of K's");
        return;
    }
    const wick_dtype dtype = wick_tensor_dtype(q);
    wick_dtype precise = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    if (wick_onnx_attr(c, "softmax_precision"))
        (void)wick_onnx_dtype(wick_onnx_int(c, "softmax_precision", 0), &precise);
    const int64_t heads = wick_tensor_dim(q, 1);
    wick_tensor *scores = wick_matmul(q, wick_transpose(repeated(k, heads), 2, 3));
    scores =
        wick_mul(wick_cast(scores, precise),
                 wick_constant(c->ctx, precise, wick_onnx_float(c, "scale", 1 / sqrt((double)wick_tensor_dim(q, 3)))));
    if (!(scores = modified(c, "score_mod", scores)) || !(scores = modified(c, "prob_mod", wick_softmax(scores, 3))))
        return;
    wick_onnx_set(c, 0, wick_matmul(wick_cast(scores, dtype), repeated(v, heads)));
}

/* Angles are given by their cosines and sines; pairs are neighbours, or halves. */
static void rotary(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *cosine = x ? wick_onnx_tensor(c, 1) : NULL,
                *sine = cosine ? wick_onnx_tensor(c, 2) : NULL, *at = wick_onnx_optional(c, 3);
    if (!sine) return;
    const bool flat = wick_tensor_rank(x) == 3;
    if (flat && !(x = heads_apart(c, x, wick_onnx_int(c, "num_heads", 0)))) return;
    if (wick_tensor_rank(x) != 4) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "X must have 3 or 4 dims");
        return;
    }
    const int64_t width = wick_tensor_dim(x, 3), given = wick_onnx_int(c, "rotary_embedding_dim", 0),
                  dims = given ? given : width;
    if (dims < 0 || dims > width || dims % 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "rotary_embedding_dim %lld of %lld", (long long)dims, (long long)width);
        return;
    }
    if (at) cosine = wick_gather(cosine, 0, at), sine = wick_gather(sine, 0, at);
    if (wick_tensor_rank(cosine) != 3 || wick_tensor_dim(cosine, 2) != dims / 2 || wick_tensor_rank(sine) != 3 ||
        wick_tensor_dim(sine, 2) != dims / 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "cos_cache and sin_cache must have %lld numbers for each place",
                       (long long)(dims / 2));
        return;
    }
    cosine = wick_unsqueeze(cosine, 1), sine = wick_unsqueeze(sine, 1); /* [B, 1, L, dims / 2] */
    const bool neighbours = wick_onnx_int(c, "interleaved", 0);
    wick_tensor *transposed = wick_slice(x, 3, 0, dims, 1), *rest = wick_slice(x, 3, dims, width, 1);
    wick_tensor *a = neighbours ? wick_slice(transposed, 3, 0, dims, 2) : wick_slice(transposed, 3, 0, dims / 2, 1),
                *b = neighbours ? wick_slice(transposed, 3, 1, dims, 2) : wick_slice(transposed, 3, dims / 2, dims, 1);
    wick_tensor *pair[2] = {wick_sub(wick_mul(cosine, a), wick_mul(sine, b)),
                            wick_add(wick_mul(sine, a), wick_mul(cosine, b))};
    wick_tensor *y =
        neighbours ? wick_reshape(wick_stack(2, pair, 4), 4, wick_tensor_dims(transposed)) : wick_concat(2, pair, 3);
    if (dims < width) y = wick_concat(2, (wick_tensor *[]){y, rest}, 3);
    wick_onnx_set(c, 0, flat ? heads_together(y) : y);
}

/* The recurrence step by step: S = decay S + k (beta (v - S'k))', y = scale q'S; without decay or beta where the rule
 * has none. */
static void linear_attention(onnx_call *c) {
    wick_tensor *q = wick_onnx_tensor(c, 0), *k = q ? wick_onnx_tensor(c, 1) : NULL,
                *v = k ? wick_onnx_tensor(c, 2) : NULL;
    if (!v) return;
    const wick_bytes rule = wick_onnx_text(c, "update_rule", "gated_delta");
    const bool gated = wick_bytes_are(rule, "gated") || wick_bytes_are(rule, "gated_delta"),
               delta = wick_bytes_are(rule, "delta") || wick_bytes_are(rule, "gated_delta");
    const int64_t hq = wick_onnx_int(c, "q_num_heads", 0), hk = wick_onnx_int(c, "kv_num_heads", 0),
                  batch = wick_tensor_dim(q, 0), steps = wick_tensor_dim(q, 1);
    if ((!gated && !delta && !wick_bytes_are(rule, "linear")) || hq < 1 || hk < 1 || hq % hk ||
        wick_tensor_rank(q) != 3 || wick_tensor_rank(k) != 3 || wick_tensor_rank(v) != 3 ||
        wick_tensor_dim(q, 2) % hq || wick_tensor_dim(k, 2) % hk || wick_tensor_dim(v, 2) % hk) {
        wick_onnx_fail(c, WICK_ERR_SHAPE,
                       "query, key and value must be [B, T, heads x features], and the rule one of linear, gated, "
                       "delta, gated_delta");
        return;
    }
    wick_tensor *decay = gated ? wick_onnx_tensor(c, 4) : NULL, *beta = delta ? wick_onnx_tensor(c, 5) : NULL,
                *past = wick_onnx_optional(c, 3);
    if ((gated && !decay) || (delta && !beta)) return;
    const int64_t dk = wick_tensor_dim(q, 2) / hq, dv = wick_tensor_dim(v, 2) / hk;
    const wick_dtype dtype = wick_tensor_dtype(q), precise = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    double scale = wick_onnx_float(c, "scale", 0);
    if (scale == 0) scale = 1 / sqrt((double)dk);
    /* [B, heads, T, features] */
    q = wick_transpose(wick_reshape(wick_cast(q, precise), WICK_DIMS(batch, steps, hq, dk)), 1, 2);
    k = wick_transpose(wick_reshape(wick_cast(k, precise), WICK_DIMS(batch, steps, hk, dk)), 1, 2);
    v = wick_transpose(wick_reshape(wick_cast(v, precise), WICK_DIMS(batch, steps, hk, dv)), 1, 2);
    if (decay)
        decay =
            wick_exp(wick_transpose(wick_reshape(wick_cast(decay, precise), WICK_DIMS(batch, steps, hk, -1)), 1, 2));
    if (beta) beta = wick_transpose(wick_reshape(wick_cast(beta, precise), WICK_DIMS(batch, steps, -1, 1)), 1, 2);
    wick_tensor *state = past ? wick_cast(past, precise) : wick_zeros(c->ctx, precise, WICK_DIMS(batch, hk, dk, dv));
    wick_tensor **rows = wick_onnx_alloc(c, (size_t)steps, sizeof(wick_tensor *));
    for (int64_t t = 0; t < steps && rows; t++) {
        wick_tensor *kt = wick_transpose(wick_slice(k, 2, t, t + 1, 1), 2, 3),
                    *write = wick_slice(v, 2, t, t + 1, 1); /* [B, H, dk, 1], [B, H, 1, dv] */
        if (decay) state = wick_mul(state, wick_transpose(wick_slice(decay, 2, t, t + 1, 1), 2, 3));
        if (beta)
            write = wick_mul(wick_slice(beta, 2, t, t + 1, 1),
                             wick_sub(write, wick_matmul(wick_transpose(kt, 2, 3), state)));
        state = wick_add(state, wick_mul(kt, write));
        rows[t] = wick_mul(wick_matmul(wick_slice(q, 2, t, t + 1, 1), repeated(state, hq)), number(q, scale));
    }
    if (!rows) return;
    wick_tensor *y =
        steps ? wick_concat((int)steps, rows, 2) : wick_zeros(c->ctx, precise, WICK_DIMS(batch, hq, 0, dv));
    wick_onnx_set(c, 0, wick_cast(heads_together(y), dtype));
    wick_onnx_set(c, 1, wick_cast(state, dtype));
}

/* A depthwise convolution over what came before; the last places are kept for the next call. */
static void causal_conv(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL, *b = wick_onnx_optional(c, 2),
                *past = wick_onnx_optional(c, 3);
    if (!w) return;
    if (wick_tensor_rank(x) != 3 || wick_tensor_rank(w) != 3) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "input and weight must have 3 dims");
        return;
    }
    const int64_t channels = wick_tensor_dim(x, 1), before = wick_tensor_dim(w, 2) - 1;
    if (!past)
        past =
            wick_zeros(c->ctx, wick_tensor_dtype(x), WICK_DIMS(wick_tensor_dim(x, 0), channels, WICK_MAX(before, 0)));
    wick_tensor *all = wick_concat(2, (wick_tensor *[]){past, x}, 2),
                *y = wick_conv(all, w, b, &(wick_conv_options){.groups = channels});
    if (!wick_onnx_text_is(c, "activation", "none", "none")) y = wick_silu(y);
    wick_onnx_set(c, 0, y);
    wick_onnx_set(c, 1, wick_slice(all, 2, wick_tensor_dim(all, 2) - before, wick_tensor_dim(all, 2), 1));
}

static void swiglu(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL;
    if (!b) return;
    const double alpha = wick_onnx_float(c, "alpha", 1);
    wick_onnx_set(c, 0,
                  wick_mul(alpha == 1 ? wick_silu(a) : wick_mul(a, wick_sigmoid(wick_mul(a, number(a, alpha)))), b));
}

static const onnx_op ops[] = {
    {"Attention", 23, 0, attention, {0}},
    {"RotaryEmbedding", 23, 0, rotary, {0}},
    {"LinearAttention", 27, 0, linear_attention, {0}},
    {"CausalConvWithState", 27, 0, causal_conv, {0}},
    {"SwiGLU", 28, 0, swiglu, {0}},
};
static const onnx_op preview[] = {{"FlexAttention", 1, 0, flex_attention, {0}}};
const onnx_family wick_onnx_attention = {"", ops, WICK_COUNTOF(ops)},
                  wick_onnx_preview = {"ai.onnx.preview", preview, WICK_COUNTOF(preview)};
