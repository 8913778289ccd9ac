/* ops_contrib_attention.c: attention as ONNX Runtime's optimiser and exporters of language models write it
 * (com.microsoft). */
#define WICK_NO_SITES
#include "io/onnx/import/contrib.h"

#include <math.h>

#include "wick/attention.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"

static wick_tensor *number(wick_tensor *x, double value) { return wick_like(x, value); }

/* ---- heads ------------------------------------------------------------------------------------------------------- */

/* [B, S, N D] -> [B, N, S, D] */
static wick_tensor *heads_of(onnx_call *c, wick_tensor *x, int64_t heads) {
    if (wick_tensor_rank(x) != 3 || heads < 1 || wick_tensor_dim(x, 2) % heads)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld heads do not divide its features", (long long)heads), NULL;
    return wick_transpose(
        wick_reshape(x, 4,
                     (int64_t[]){wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), heads, wick_tensor_dim(x, 2) / heads}),
        1, 2);
}
/* [B, N, S, D] -> [B, S, N D] */
static wick_tensor *joined(wick_tensor *x) {
    return wick_reshape(
        wick_transpose(x, 1, 2), 3,
        (int64_t[]){wick_tensor_dim(x, 0), wick_tensor_dim(x, 2), wick_tensor_dim(x, 1) * wick_tensor_dim(x, 3)});
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

static wick_tensor *plus(wick_tensor *a, wick_tensor *b) { return a ? b ? wick_add(a, b) : a : b; }

/* What a mask adds to scores [B, N, S, T]: `hidden` where it hides a key. As integers [B], ends of the keys; [2 B],
 * ends and then starts; [3 B + 2], ends first; or 1 and 0 as [B, T], [B, S, T] or [B, 1, most, most]. */
static wick_tensor *mask_bias(onnx_call *c, wick_tensor *mask, int64_t batch, int64_t s, int64_t t, double hidden) {
    if (!mask) return NULL;
    wick_tensor *zero = wick_constant(c->ctx, WICK_F32, 0), *low = wick_constant(c->ctx, WICK_F32, hidden);
    const int rank = wick_tensor_rank(mask);
    mask = wick_cast(mask, WICK_I64);
    const int64_t n = rank ? wick_tensor_dim(mask, 0) : 0;
    if (rank == 1) {
        if (n != batch && n != 2 * batch && n != 3 * batch + 2)
            return wick_onnx_fail(c, WICK_ERR_SHAPE, "a mask of %lld for a batch of %lld", (long long)n,
                                  (long long)batch),
                   NULL;
        wick_tensor *key = wick_reshape(wick_arange(c->ctx, WICK_I64, 0, 1, t), 4, (int64_t[]){1, 1, 1, t});
        wick_tensor *seen =
            wick_lt(key, wick_reshape(wick_slice(mask, 0, 0, batch, 1), 4, (int64_t[]){batch, 1, 1, 1}));
        if (n == 2 * batch && batch)
            seen = wick_logical_and(seen, wick_ge(key, wick_reshape(wick_slice(mask, 0, batch, 2 * batch, 1), 4,
                                                                    (int64_t[]){batch, 1, 1, 1})));
        return wick_where(seen, zero, low);
    }
    if (rank < 2 || rank > 4 || wick_tensor_dim(mask, rank - 1) < t || (rank == 4 && wick_tensor_dim(mask, 2) < t))
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "a mask of %d dims does not fit %lld keys", rank, (long long)t), NULL;
    mask = wick_slice(mask, rank - 1, 0, t, 1);
    if (rank == 2) mask = wick_unsqueeze(wick_unsqueeze(mask, 1), 1);
    if (rank == 3) mask = wick_unsqueeze(mask, 1);
    if (rank == 4) mask = wick_slice(mask, 2, t - s, t, 1);
    return wick_where(wick_gt(mask, number(mask, 0)), zero, low);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* q [B, N, S, D], k and v [B, N or fewer, T, D] -> [B, S, N D]; causal: the last query sees all keys. */
static wick_tensor *attend(wick_tensor *q, wick_tensor *k, wick_tensor *v, wick_tensor *bias, double scale,
                           bool causal) {
    const wick_attention_options o = {.mask = bias ? wick_cast(bias, wick_tensor_dtype(q)) : NULL,
                                      .causal_end = causal,
                                      .scale = scale,
                                      .grouped = wick_tensor_dim(q, 1) != wick_tensor_dim(k, 1)};
    return joined(wick_attention(q, k, v, &o));
}

void wick_onnx_self_attention(onnx_call *c, wick_tensor *qkv, const int64_t sizes[3], int mask, int past_input,
                              int added) {
    const int64_t heads = wick_onnx_int(c, "num_heads", 0), batch = wick_tensor_dim(qkv, 0),
                  s = wick_tensor_dim(qkv, 1);
    wick_tensor *part[3], *past = wick_onnx_optional(c, past_input);
    int64_t at = 0;
    if (wick_onnx_int(c, "do_rotary", 0) || wick_onnx_int(c, "past_present_share_buffer", 0)) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "do_rotary and past_present_share_buffer");
        return;
    }
    for (int i = 0; i < 3; i++) {
        if (!(part[i] = heads_of(c, wick_slice(qkv, 2, at, at + sizes[i], 1), heads))) return;
        at += sizes[i];
    }
    if (past && (wick_tensor_rank(past) != 5 || wick_tensor_dim(past, 0) != 2)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "past must be [2, batch, heads, length, features]");
        return;
    }
    for (int i = 1; i < 3 && past; i++)
        part[i] = wick_concat(2, (wick_tensor *[]){wick_squeeze(wick_slice(past, 0, i - 1, i, 1), 0), part[i]}, 2);
    const int64_t t = wick_tensor_dim(part[1], 2);
    if (wick_onnx_wants(c, 1)) wick_onnx_set(c, 1, wick_stack(2, part + 1, 0));
    wick_tensor *bias =
        mask_bias(c, wick_onnx_optional(c, mask), batch, s, t, wick_onnx_float(c, "mask_filter_value", -10000));
    if (added >= 0) bias = plus(bias, wick_onnx_optional(c, added));
    if (c->status == WICK_OK)
        wick_onnx_set(c, 0,
                      attend(part[0], part[1], part[2], bias, wick_onnx_float(c, "scale", 0),
                             wick_onnx_int(c, "unidirectional", 0)));
}

static void attention(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL, *b = wick_onnx_optional(c, 2);
    if (!w) return;
    if (wick_tensor_rank(x) != 3 || wick_tensor_rank(w) != 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "input must have 3 dims, weights 2");
        return;
    }
    int n;
    const int64_t all = wick_tensor_dim(w, 1), *given = wick_onnx_ints(c, "qkv_hidden_sizes", &n);
    int64_t sizes[3] = {all / 3, all / 3, all / 3};
    for (int i = 0; i < 3 && n == 3; i++) sizes[i] = given[i];
    if (sizes[0] < 1 || sizes[2] < 1 || sizes[0] != sizes[1] || sizes[0] > all || sizes[2] != all - 2 * sizes[0]) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "weights of %lld columns are not those of queries, keys and values",
                       (long long)all);
        return;
    }
    wick_tensor *qkv = wick_matmul(x, w);
    wick_onnx_self_attention(c, b ? wick_add(qkv, b) : qkv, sizes, 3, 4, 5);
}

/* The heads of one of query, key and value with its part of the bias. */
static wick_tensor *with_bias(onnx_call *c, wick_tensor *x, wick_tensor *bias, int64_t from, int64_t heads) {
    if (wick_tensor_rank(x) == 4) return x; /* of a cross-attention, projected before */
    if (wick_tensor_rank(x) != 3)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "%d dims of query, key or value", wick_tensor_rank(x)), NULL;
    if (bias) x = wick_add(x, wick_slice(bias, 0, from, from + wick_tensor_dim(x, 2), 1));
    return heads_of(c, x, heads);
}

static void multi_head_attention(onnx_call *c) {
    wick_tensor *q = wick_onnx_tensor(c, 0), *k = wick_onnx_optional(c, 1), *v = wick_onnx_optional(c, 2),
                *b = wick_onnx_optional(c, 3);
    const int64_t heads = wick_onnx_int(c, "num_heads", 0);
    if (!q) return;
    if (wick_onnx_has(c, 8) || wick_onnx_has(c, 9)) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "shared buffers of past keys and values");
        return;
    }
    /* Packed: [B, S, N, 3, D] of all, or [B, T, N, 2, D] of keys and values. */
    if (wick_tensor_rank(q) == 5 || (k && wick_tensor_rank(k) == 5)) {
        wick_tensor *packed = wick_tensor_rank(q) == 5 ? q : k, *part[3] = {NULL};
        const int64_t n = wick_tensor_dim(packed, 3);
        for (int64_t i = 0; i < n && i < 3; i++)
            part[i] = wick_transpose(wick_squeeze(wick_slice(packed, 3, i, i + 1, 1), 3), 1, 2);
        if (b || n != (packed == q ? 3 : 2)) {
            wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "packed query, key or value with a bias, or of %lld", (long long)n);
            return;
        }
        if (packed == q) q = part[0], k = part[1], v = part[2];
        else q = with_bias(c, q, NULL, 0, heads), k = part[0], v = part[1];
    } else {
        if (!k || !v) {
            wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "has no key or no value");
            return;
        }
        const int64_t width = wick_tensor_dim(q, 2);
        q = with_bias(c, q, b, 0, heads);
        k = q ? with_bias(c, k, b, width, heads) : NULL;
        v = k ? with_bias(c, v, b, 2 * width, heads) : NULL;
    }
    if (!v || c->status != WICK_OK) return;
    wick_tensor *past_k = wick_onnx_optional(c, 6), *past_v = wick_onnx_optional(c, 7);
    if (past_k) k = wick_concat(2, (wick_tensor *[]){past_k, k}, 2);
    if (past_v) v = wick_concat(2, (wick_tensor *[]){past_v, v}, 2);
    if (wick_tensor_rank(q) != 4 || wick_tensor_rank(k) != 4) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "query and key do not fit each other");
        return;
    }
    wick_onnx_set(c, 1, k);
    wick_onnx_set(c, 2, v);
    wick_tensor *bias = mask_bias(c, wick_onnx_optional(c, 4), wick_tensor_dim(q, 0), wick_tensor_dim(q, 2),
                                  wick_tensor_dim(k, 2), wick_onnx_float(c, "mask_filter_value", -10000));
    bias = plus(bias, wick_onnx_optional(c, 5));
    if (c->status != WICK_OK) return;
    if (wick_onnx_wants(c, 3)) {
        const double scale = wick_onnx_float(c, "scale", 0);
        wick_onnx_set(c, 3,
                      wick_mul(wick_matmul(q, wick_transpose(k, 2, 3)),
                               number(q, scale != 0 ? scale : 1 / sqrt((double)wick_tensor_dim(q, 3)))));
    }
    wick_onnx_set(c, 0, attend(q, k, v, bias, wick_onnx_float(c, "scale", 0), wick_onnx_int(c, "unidirectional", 0)));
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

/* x [B, N, S, D] turned by the rows of the caches that at [B or 1, S] names. */
static wick_tensor *turn(onnx_call *c, wick_tensor *x, wick_tensor *at, wick_tensor *cosine, wick_tensor *sine,
                         bool neighbours) {
    const int64_t width = wick_tensor_dim(x, 3), dims = 2 * wick_tensor_dim(cosine, -1);
    if (dims > width || wick_tensor_rank(cosine) != 2)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld features are turned of %lld", (long long)dims, (long long)width),
               NULL;
    cosine = wick_unsqueeze(wick_gather(cosine, 0, at), 1), sine = wick_unsqueeze(wick_gather(sine, 0, at), 1);
    wick_tensor *a = neighbours ? wick_slice(x, 3, 0, dims, 2) : wick_slice(x, 3, 0, dims / 2, 1),
                *b = neighbours ? wick_slice(x, 3, 1, dims, 2) : wick_slice(x, 3, dims / 2, dims, 1);
    wick_tensor *pair[2] = {wick_sub(wick_mul(cosine, a), wick_mul(sine, b)),
                            wick_add(wick_mul(sine, a), wick_mul(cosine, b))};
    const int64_t shape[4] = {wick_tensor_dim(x, 0), wick_tensor_dim(x, 1), wick_tensor_dim(x, 2), dims};
    wick_tensor *y = neighbours ? wick_reshape(wick_stack(2, pair, 4), 4, shape) : wick_concat(2, pair, 3);
    return dims < width ? wick_concat(2, (wick_tensor *[]){y, wick_slice(x, 3, dims, width, 1)}, 3) : y;
}

static void rotary(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *at = wick_onnx_tensor(c, 1), *cosine = wick_onnx_tensor(c, 2),
                *sine = wick_onnx_tensor(c, 3);
    if (c->status != WICK_OK) return;
    if (wick_onnx_int(c, "is_packed_batching", 0) || wick_tensor_rank(cosine) != 2) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "packed batches, or caches that are no matrices");
        return;
    }
    const bool flat = wick_tensor_rank(x) == 3;
    int64_t heads = wick_onnx_int(c, "num_heads", 0);
    if (flat && !heads) heads = wick_tensor_dim(x, 2) / WICK_MAX(2 * wick_tensor_dim(cosine, 1), 1);
    if (flat && !(x = heads_of(c, x, heads))) return;
    if (wick_tensor_rank(x) != 4) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "input must have 3 or 4 dims");
        return;
    }
    const int64_t s = wick_tensor_dim(x, 2);
    at = wick_cast(at, WICK_I64);
    if (wick_tensor_count(at) == 1)
        at = wick_add(wick_reshape(at, 2, (int64_t[]){1, 1}),
                      wick_reshape(wick_arange(c->ctx, WICK_I64, 0, 1, s), 2, (int64_t[]){1, s}));
    x = turn(c, x, at, cosine, sine, wick_onnx_int(c, "interleaved", 0));
    if (x) wick_onnx_set(c, 0, flat ? joined(x) : x);
}

/* ---- grouped queries --------------------------------------------------------------------------------------------- */

/* What was there of sample b, then x: [1, N, most, D], the rest as the buffer had it, or 0. */
static wick_tensor *appended(wick_tensor *past, wick_tensor *x, int64_t b, int64_t before, int64_t most) {
    wick_tensor *parts[3];
    int n = 0;
    x = wick_slice(x, 0, b, b + 1, 1);
    const int64_t after = before + wick_tensor_dim(x, 2), held = past ? wick_tensor_dim(past, 2) : 0;
    if (before) parts[n++] = wick_slice(wick_slice(past, 0, b, b + 1, 1), 2, 0, before, 1);
    parts[n++] = x;
    if (after < most)
        parts[n++] = held == most
                         ? wick_slice(wick_slice(past, 0, b, b + 1, 1), 2, after, most, 1)
                         : wick_zeros(wick_tensor_context(x), wick_tensor_dtype(x), 4,
                                      (int64_t[]){1, wick_tensor_dim(x, 1), most - after, wick_tensor_dim(x, 3)});
    return n == 1 ? parts[0] : wick_concat(n, parts, 2);
}

/* What is added to scores: -Inf for keys behind `last`, or a window before it. */
static wick_tensor *hidden_keys(onnx_call *c, wick_tensor *places, int64_t all, int64_t window) {
    const int64_t batch = wick_tensor_dim(places, 0), s = wick_tensor_dim(places, 1);
    wick_tensor *key = wick_reshape(wick_arange(c->ctx, WICK_I64, 0, 1, all), 4, (int64_t[]){1, 1, 1, all}),
                *last = wick_reshape(places, 4, (int64_t[]){batch, 1, s, 1});
    wick_tensor *visible = wick_le(key, last);
    if (window > 0) visible = wick_logical_and(visible, wick_gt(key, wick_sub(last, number(last, (double)window))));
    return wick_where(visible, wick_constant(c->ctx, WICK_F32, 0), wick_constant(c->ctx, WICK_F32, -INFINITY));
}

/* Attention whose scores stay within +-cap. */
static wick_tensor *capped(onnx_call *c, wick_tensor *q, wick_tensor *k, wick_tensor *v, wick_tensor *bias,
                           double scale, double cap) {
    const int64_t heads = wick_tensor_dim(q, 1), own = wick_tensor_dim(k, 1);
    if (scale == 0) scale = 1 / sqrt((double)wick_tensor_dim(q, 3));
    const wick_dtype dtype = wick_tensor_dtype(q);
    if (own != heads) k = wick_repeat_interleave(k, heads / own, 1), v = wick_repeat_interleave(v, heads / own, 1);
    wick_tensor *scores = wick_mul(wick_matmul(wick_cast(q, WICK_F32), wick_transpose(wick_cast(k, WICK_F32), 2, 3)),
                                   wick_constant(c->ctx, WICK_F32, scale));
    scores = wick_mul(wick_tanh(wick_div(scores, number(scores, cap))), number(scores, cap));
    return wick_cast(joined(wick_matmul(wick_softmax(wick_add(scores, bias), 3), wick_cast(v, WICK_F32))), dtype);
}

/* Decoders of language models: how many keys each sample has is read from seqlens_k (less one), which has to be known.
 */
static void group_query_attention(onnx_call *c) {
    wick_tensor *q = wick_onnx_tensor(c, 0), *k = wick_onnx_optional(c, 1), *v = wick_onnx_optional(c, 2),
                *past_k = wick_onnx_optional(c, 3), *past_v = wick_onnx_optional(c, 4),
                *cosine = wick_onnx_optional(c, 7), *sine = wick_onnx_optional(c, 8), *at = wick_onnx_optional(c, 9);
    const int64_t heads = wick_onnx_int(c, "num_heads", 0), own = wick_onnx_int(c, "kv_num_heads", 0),
                  window = wick_onnx_int(c, "local_window_size", -1);
    onnx_host ends, total;
    if (!q || !wick_onnx_host(c, 5, &ends) || !wick_onnx_host(c, 6, &total)) return;
    const double cap = wick_onnx_float(c, "softcap", 0);
    if (wick_onnx_int(c, "smooth_softmax", 0) > 0 || wick_onnx_has(c, 11) || wick_onnx_has(c, 12) ||
        wick_onnx_has(c, 14) || wick_onnx_wants(c, 3)) {
        wick_onnx_fail(c, WICK_ERR_UNSUPPORTED,
                       "smooth_softmax, head sinks, quantised caches, norms of queries, scores as an output");
        return;
    }
    if (heads < 1 || own < 1 || heads % own || wick_tensor_rank(q) != 3 ||
        (past_k && (wick_tensor_rank(past_k) != 4 || !past_v || wick_tensor_rank(past_v) != 4))) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld heads of queries, %lld of keys", (long long)heads, (long long)own);
        return;
    }
    if (!k) { /* packed */
        const int64_t d = wick_tensor_dim(q, 2) / (heads + 2 * own);
        k = wick_slice(q, 2, heads * d, (heads + own) * d, 1),
        v = wick_slice(q, 2, (heads + own) * d, (heads + 2 * own) * d, 1);
        q = wick_slice(q, 2, 0, heads * d, 1);
    }
    q = heads_of(c, q, heads);
    k = q ? heads_of(c, k, own) : NULL;
    v = k && v ? heads_of(c, v, own) : NULL;
    if (!v) return;
    const int64_t batch = wick_tensor_dim(q, 0), s = wick_tensor_dim(q, 2),
                  held = past_k ? wick_tensor_dim(past_k, 2) : 0;
    if (total.n != 1 || total.ints[0] < s || ends.n != batch || total.ints[0] > held + s) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "total_sequence_length %lld is not that of %lld keys and %lld held ones",
                       total.n ? (long long)total.ints[0] : 0, (long long)s, (long long)held);
        return;
    }
    const int64_t all = total.ints[0], most = WICK_MAX(held, all);
    const bool first = all == s; /* a prompt: rows may end before it does */
    int64_t *before = wick_onnx_alloc(c, (size_t)batch, sizeof *before),
            *seen = before ? wick_onnx_alloc2(c, batch, s, sizeof *seen) : NULL;
    wick_tensor **parts = seen ? wick_onnx_alloc2(c, 2, batch, sizeof(wick_tensor *)) : NULL;
    if (!parts) return;
    for (int64_t b = 0; b < batch; b++) {
        before[b] = first ? 0 : ends.ints[b] + 1 - s;
        if (before[b] < 0 || before[b] > held || ends.ints[b] >= all) {
            wick_onnx_fail(c, WICK_ERR_SHAPE, "seqlens_k[%lld] is %lld, of %lld keys", (long long)b,
                           (long long)ends.ints[b], (long long)all);
            return;
        }
        for (int64_t i = 0; i < s; i++) seen[b * s + i] = before[b] + i; /* the last key that query i sees */
    }
    wick_tensor *places = wick_from(c->ctx, WICK_I64, 2, (int64_t[]){batch, s}, seen);
    if (wick_onnx_int(c, "do_rotary", 0)) {
        if (!cosine || !sine) {
            wick_onnx_fail(c, WICK_ERR_FORMAT, "do_rotary needs cos_cache and sin_cache");
            return;
        }
        const bool neighbours = wick_onnx_int(c, "rotary_interleaved", 0);
        at = at ? wick_cast(at, WICK_I64) : places;
        q = turn(c, q, at, cosine, sine, neighbours), k = q ? turn(c, k, at, cosine, sine, neighbours) : NULL;
        if (!k) return;
    }
    for (int64_t b = 0; b < batch; b++) {
        parts[b] = appended(past_k, k, b, before[b], most);
        parts[batch + b] = appended(past_v, v, b, before[b], most);
    }
    k = wick_concat((int)batch, parts, 0), v = wick_concat((int)batch, parts + batch, 0);
    wick_onnx_set(c, 1, k);
    wick_onnx_set(c, 2, v);
    k = wick_slice(k, 2, 0, all, 1), v = wick_slice(v, 2, 0, all, 1);
    wick_tensor *bias = hidden_keys(c, places, all, window);
    if (wick_onnx_has(c, 10))
        bias = wick_add(bias, wick_cast(wick_slice(wick_onnx_tensor(c, 10), 3, 0, all, 1), WICK_F32));
    const double scale = wick_onnx_float(c, "scale", 0);
    wick_onnx_set(c, 0, cap == 0 ? attend(q, k, v, bias, scale, false) : capped(c, q, k, v, bias, scale, cap));
}

static const onnx_op ops[] = {
    {"Attention", 1, 0, attention, {0}},
    {"MultiHeadAttention", 1, 0, multi_head_attention, {0}},
    {"GroupQueryAttention", 1, 0, group_query_attention, {0}},
    {"RotaryEmbedding", 1, 0, rotary, {0}},
};
const onnx_family wick_onnx_contrib_attention = {"com.microsoft", ops, WICK_COUNTOF(ops)};
