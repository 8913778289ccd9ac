/* transformer.c: multi-head attention, encoder and decoder layers, and stacks of them. */
#include <math.h>
#include <stdio.h>

#include "nn/nn.h"
#include "wick/transformer.h"

static bool bad(const wick_tensor *x) { return !x || x->error; }

/* [N, L, heads D] -> [N, heads, L, D], a view. */
static wick_tensor *to_heads(wick_tensor *x, int64_t heads) {
    if (bad(x)) return x;
    const int64_t *d = wick_tensor_dims(x);
    return wick_permute(wick_reshape(x, 4, (int64_t[]){d[0], d[1], heads, d[2] / heads}), 4, (int[]){0, 2, 1, 3});
}

/* The mask over all of q's heads: mask and key_padding [N, S] together. */
static wick_tensor *joined(wick_tensor *mask, wick_tensor *padding) {
    if (!padding || bad(padding)) return padding ? padding : mask;
    wick_tensor *counts = wick_unsqueeze(wick_unsqueeze(padding, 1), 1);
    if (!mask || bad(mask)) return mask ? mask : counts;
    if (wick_tensor_dtype(mask) == WICK_BOOL) return wick_logical_and(mask, counts);
    return wick_where(counts, mask, wick_like(mask, -INFINITY));
}

wick_tensor *wick_nn_attention(wick_model *model, const char *name, wick_tensor *q, wick_tensor *k, wick_tensor *v,
                               const wick_nn_attention_options *o) {
    wick_context *ctx = wick_model_context(model);
    const char *shown = name ? name : "";
    wick_tensor *const in[3] = {q, k, v};
    for (int i = 0; i < 3; i++) {
        if (!in[i]) return wick_poison(ctx, WICK_ERR_INVALID, "attention \"%s\": %c is NULL", shown, "qkv"[i]);
        if (in[i]->error) return in[i];
        if (wick_tensor_rank(in[i]) != 3 || !wick_dtype_is_float(wick_tensor_dtype(in[i])))
            return wick_poison(ctx, WICK_ERR_SHAPE, "attention \"%s\": %c is %d-d %s; it must be floats [N, L, E]",
                               shown, "qkv"[i], wick_tensor_rank(in[i]), wick_dtype_name(wick_tensor_dtype(in[i])));
    }
    const int64_t e = wick_tensor_dim(q, 2), heads = o ? o->heads : 0,
                  kv_heads = o && o->kv_heads ? o->kv_heads : heads;
    if (heads < 1 || e % heads || kv_heads < 1 || heads % kv_heads)
        return wick_poison(ctx, WICK_ERR_SHAPE,
                           "attention \"%s\": %lld features, %lld heads, %lld of them with keys, do not divide", shown,
                           (long long)e, (long long)heads, (long long)kv_heads);
    const int64_t d = e / heads, widths[3] = {e, kv_heads * d, kv_heads * d}, rows = e + 2 * kv_heads * d;
    const wick_dtype dtype = wick_tensor_dtype(q);
    const bool separate = o->separate || wick_tensor_dim(k, 2) != e || wick_tensor_dim(v, 2) != e;
    const wick_init zero = wick_init_constant(0);
    wick_tensor *weight = NULL, *bias = NULL, *projected[3];
    if (!separate)
        weight = wick_layer_state(model, name, "in_proj_weight", WICK_ROLE_PARAM, dtype, WICK_DIMS(rows, e),
                                  wick_init_xavier(e, rows));
    if (!o->no_bias)
        bias = wick_layer_state(model, name, "in_proj_bias", WICK_ROLE_PARAM, dtype, WICK_DIMS(rows), zero);
    wick_tensor *all = !separate && q == k && q == v ? wick_linear(q, weight, bias) : NULL;
    for (int64_t i = 0, at = 0; i < 3; at += widths[i++]) {
        if (all) {
            projected[i] = wick_slice(all, 2, at, at + widths[i], 1);
            continue;
        }
        static const char *const names[3] = {"q_proj_weight", "k_proj_weight", "v_proj_weight"};
        const int64_t from = wick_tensor_dim(in[i], 2);
        wick_tensor *w = separate ? wick_layer_state(model, name, names[i], WICK_ROLE_PARAM, dtype,
                                                     WICK_DIMS(widths[i], from), wick_init_xavier(from, widths[i]))
                                  : wick_slice(weight, 0, at, at + widths[i], 1);
        projected[i] = wick_linear(in[i], w, bias ? wick_slice(bias, 0, at, at + widths[i], 1) : NULL);
    }
    wick_tensor *hq = to_heads(projected[0], heads), *hk = to_heads(projected[1], kv_heads),
                *hv = to_heads(projected[2], kv_heads);
    wick_attention_options options = {.mask = joined(o->mask, o->key_padding),
                                      .causal = o->causal,
                                      .grouped = kv_heads != heads,
                                      .dropout = wick_model_training(model) ? o->dropout : 0};
    if (o->rotary) {
        wick_tensor *at = NULL;
        if (o->cache && o->cache->position)
            at = wick_add(wick_arange(ctx, WICK_I64, 0, 1, wick_tensor_dim(q, 1)), o->cache->position);
        hq = wick_rotary(hq, at, &o->rotary_options);
        hk = wick_rotary(hk, at, &o->rotary_options);
    }
    if (o->cache) {
        if (bad(hk) || bad(hv)) return bad(hk) ? hk : hv;
        wick_tensor *seen;
        const wick_status status = wick_kv_cache_append(o->cache, hk, hv, &seen);
        if (status) return wick_poison(ctx, status, "attention \"%s\": %s", shown, wick_context_error(ctx));
        hk = o->cache->k, hv = o->cache->v;
        options.mask =
            options.mask
                ? wick_where(seen, joined(options.mask, NULL),
                             wick_like(options.mask, wick_tensor_dtype(options.mask) == WICK_BOOL ? 0 : -INFINITY))
                : seen;
        options.causal = false;
    }
    wick_tensor *y = wick_attention(hq, hk, hv, &options);
    if (bad(y)) return y;
    y = wick_reshape(wick_permute(y, 4, (int[]){0, 2, 1, 3}), 3,
                     (int64_t[]){wick_tensor_dim(q, 0), wick_tensor_dim(q, 1), e});
    wick_tensor *out =
        wick_layer_state(model, name, "out_proj.weight", WICK_ROLE_PARAM, dtype, WICK_DIMS(e, e), wick_init_linear(e));
    wick_tensor *out_bias =
        o->no_bias ? NULL : wick_layer_state(model, name, "out_proj.bias", WICK_ROLE_PARAM, dtype, WICK_DIMS(e), zero);
    return wick_layer_done(model, "attention", name, q, wick_linear(y, out, out_bias));
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static wick_tensor *feed_forward(wick_model *model, wick_tensor *x, const wick_nn_transformer_options *o) {
    if (bad(x)) return x;
    const int64_t e = wick_tensor_dim(x, -1);
    wick_tensor *h = wick_nn_linear(model, "linear1", x, o->feedforward ? o->feedforward : 2048);
    h = wick_nn_dropout(model, o->gelu ? wick_gelu(h) : wick_relu(h), o->dropout);
    return wick_nn_dropout(model, wick_nn_linear(model, "linear2", h, e), o->dropout);
}
static wick_tensor *self_attention(wick_model *model, wick_tensor *x, const wick_nn_transformer_options *o) {
    wick_nn_attention_options a = o->attention;
    if (a.dropout == 0) a.dropout = o->dropout;
    return wick_nn_dropout(model, wick_nn_attention(model, "self_attn", x, x, x, &a), o->dropout);
}
static wick_tensor *to_memory(wick_model *model, wick_tensor *x, wick_tensor *memory,
                              const wick_nn_transformer_options *o) {
    wick_nn_attention_options a = {.heads = o->attention.heads,
                                   .kv_heads = o->attention.kv_heads,
                                   .separate = o->attention.separate,
                                   .no_bias = o->attention.no_bias,
                                   .mask = o->memory_mask,
                                   .key_padding = o->memory_padding,
                                   .dropout = o->attention.dropout != 0 ? o->attention.dropout : o->dropout};
    return wick_nn_dropout(model, wick_nn_attention(model, "multihead_attn", x, memory, memory, &a), o->dropout);
}

static wick_tensor *layer(wick_model *model, const char *name, wick_tensor *x, wick_tensor *memory,
                          const wick_nn_transformer_options *options) {
    static const wick_nn_transformer_options none;
    const wick_nn_transformer_options *o = options ? options : &none;
    wick_context *ctx = wick_model_context(model);
    if (!x) return wick_poison(ctx, WICK_ERR_INVALID, "transformer layer \"%s\": x is NULL", name ? name : "");
    if (x->error) return x;
    const wick_status status = wick_model_push(model, name);
    if (status) return wick_poison(ctx, status, "%s", wick_context_error(ctx));
    const char *last = memory ? "norm3" : "norm2";
    if (o->pre_norm) {
        x = wick_add(x, self_attention(model, wick_nn_layer_norm(model, "norm1", x), o));
        if (memory) x = wick_add(x, to_memory(model, wick_nn_layer_norm(model, "norm2", x), memory, o));
        x = wick_add(x, feed_forward(model, wick_nn_layer_norm(model, last, x), o));
    } else {
        x = wick_nn_layer_norm(model, "norm1", wick_add(x, self_attention(model, x, o)));
        if (memory) x = wick_nn_layer_norm(model, "norm2", wick_add(x, to_memory(model, x, memory, o)));
        x = wick_nn_layer_norm(model, last, wick_add(x, feed_forward(model, x, o)));
    }
    wick_model_pop(model);
    return wick_layer_seen(model, name, x);
}
wick_tensor *wick_nn_encoder_layer(wick_model *model, const char *name, wick_tensor *x,
                                   const wick_nn_transformer_options *options) {
    return layer(model, name, x, NULL, options);
}
wick_tensor *wick_nn_decoder_layer(wick_model *model, const char *name, wick_tensor *x, wick_tensor *memory,
                                   const wick_nn_transformer_options *options) {
    return layer(model, name, x, memory, options);
}

wick_tensor *wick_nn_decoder(wick_model *model, const char *name, wick_tensor *x, wick_tensor *memory, int n,
                             const wick_nn_transformer_options *options) {
    wick_context *ctx = wick_model_context(model);
    if (bad(x)) return x ? x : wick_poison(ctx, WICK_ERR_INVALID, "transformer \"%s\": x is NULL", name ? name : "");
    if (options && options->attention.cache && n > 1)
        return wick_poison(ctx, WICK_ERR_INVALID,
                           "transformer \"%s\": each layer needs a cache of its own; call the layers one by one",
                           name ? name : "");
    const wick_status status = wick_model_push(model, name);
    if (status) return wick_poison(ctx, status, "%s", wick_context_error(ctx));
    const int every = options ? options->checkpoint : 0;
    if (every < 0)
        return wick_poison(ctx, WICK_ERR_INVALID, "transformer \"%s\": checkpoint is negative", name ? name : "");
    const uint32_t outer = ctx->segment;
    for (int i = 0; i < n; i++) {
        char at[32];
        snprintf(at, sizeof at, "layers.%d", i);
        if (every && i % every == 0) wick_segment_leave(ctx, outer), wick_segment_enter(ctx);
        x = layer(model, at, x, memory, options);
    }
    wick_segment_leave(ctx, outer);
    if (options && options->final_norm) x = wick_nn_layer_norm(model, "norm", x);
    wick_model_pop(model);
    return wick_layer_seen(model, name, x);
}
wick_tensor *wick_nn_encoder(wick_model *model, const char *name, wick_tensor *x, int n,
                             const wick_nn_transformer_options *options) {
    return wick_nn_decoder(model, name, x, NULL, n, options);
}
