/* positions.c: where tokens stand: rotary, sinusoidal, linear biases; and the cache of keys and values of decoding. All
 * in plain ops. */
#include <math.h>

#include "ops/ops.h"
#include "wick/attention.h"

/* Integers as f64 [L, 1]; poisoned where they are not [L]. */
static wick_tensor *column(const char *op, wick_tensor *positions) {
    if (!positions || positions->error) return positions;
    if (!wick_dtype_is_integer(wick_tensor_dtype(positions)) || wick_tensor_rank(positions) != 1)
        return wick_poison(positions->ctx, WICK_ERR_SHAPE, "%s: positions are %d-d of %s; they must be integers [L]",
                           op, wick_tensor_rank(positions), wick_dtype_name(wick_tensor_dtype(positions)));
    return wick_unsqueeze(wick_as(positions, WICK_F64), 1);
}
/* position * base^(-2i / dims): [L, dims / 2]. */
static wick_tensor *angles(wick_tensor *positions, double base, int64_t dims) {
    if (!positions || positions->error) return positions;
    wick_tensor *exponent = wick_arange(positions->ctx, WICK_F64, 0, -2 / (double)dims * log(base), dims / 2);
    return wick_mul(positions, wick_exp(exponent));
}
/* Pairs beside each other: [..., n], [..., n] -> [..., 2 n]. */
static wick_tensor *interleave(wick_tensor *a, wick_tensor *b) {
    if (!a || a->error || !b || b->error) return a && a->error ? a : b;
    int64_t dims[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(a);
    memcpy(dims, wick_tensor_dims(a), (size_t)rank * sizeof *dims);
    dims[rank - 1] *= 2;
    return wick_reshape(wick_concat(2, (wick_tensor *[]){wick_unsqueeze(a, -1), wick_unsqueeze(b, -1)}, -1), rank,
                        dims);
}

wick_tensor *wick_rotary(wick_tensor *x, wick_tensor *positions, const wick_rotary_options *options) {
    static const wick_rotary_options none;
    const wick_rotary_options *o = options ? options : &none;
    if (!x || x->error) return x;
    const int rank = wick_tensor_rank(x);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (rank < 2 || !wick_dtype_is_float(dtype))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "rotary: of %d-d %s; it needs floats [..., L, D]", rank,
                           wick_dtype_name(dtype));
    const int64_t length = wick_tensor_dim(x, -2), all = wick_tensor_dim(x, -1), dims = o->dims ? o->dims : all;
    if (dims < 0 || dims > all || dims % 2)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "rotary: %lld of %lld features; it turns pairs", (long long)dims,
                           (long long)all);
    if (!(o->base >= 0) || isinf(o->base)) return wick_poison(x->ctx, WICK_ERR_INVALID, "rotary: base %g", o->base);
    if (rank == WICK_MAX_DIMS && o->interleaved)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "rotary: x has %d dims, and pairs need one more", rank);
    if (dims == 0) return x;
    wick_tensor *at = column("rotary", positions ? positions : wick_arange(x->ctx, WICK_I64, 0, 1, length));
    if (at && !at->error && wick_tensor_dim(at, 0) != length)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "rotary: %lld positions for a length of %lld",
                           (long long)wick_tensor_dim(at, 0), (long long)length);
    at = angles(at, o->base > 0 ? o->base : 10000, dims);
    if (!at || at->error) return at;
    const wick_dtype computed = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    wick_tensor *c = wick_as(wick_cos(at), computed), *s = wick_as(wick_sin(at), computed),
                *turned = wick_as(wick_slice(x, -1, 0, dims, 1), computed), *a, *b;
    a = o->interleaved ? wick_slice(turned, -1, 0, INT64_MAX, 2) : wick_slice(turned, -1, 0, dims / 2, 1);
    b = o->interleaved ? wick_slice(turned, -1, 1, INT64_MAX, 2) : wick_slice(turned, -1, dims / 2, INT64_MAX, 1);
    wick_tensor *left = wick_sub(wick_mul(a, c), wick_mul(b, s)), *right = wick_add(wick_mul(b, c), wick_mul(a, s));
    wick_tensor *y =
        wick_as(o->interleaved ? interleave(left, right) : wick_concat(2, (wick_tensor *[]){left, right}, -1), dtype);
    return dims == all ? y : wick_concat(2, (wick_tensor *[]){y, wick_slice(x, -1, dims, INT64_MAX, 1)}, -1);
}

wick_tensor *wick_sinusoidal(wick_tensor *positions, int64_t dims, wick_dtype dtype) {
    wick_tensor *at = column("sinusoidal", positions);
    if (!at || at->error) return at;
    if (dims < 2 || dims % 2)
        return wick_poison(at->ctx, WICK_ERR_SHAPE, "sinusoidal: %lld features; it makes pairs", (long long)dims);
    at = angles(at, 10000, dims);
    return wick_as(interleave(wick_sin(at), wick_cos(at)), dtype);
}

wick_tensor *wick_alibi(wick_context *ctx, wick_dtype dtype, int64_t heads, int64_t keys) {
    if (heads < 1 || heads > 1 << 20 || keys < 0)
        return wick_poison(ctx, WICK_ERR_SHAPE, "alibi: %lld heads, %lld keys", (long long)heads, (long long)keys);
    /* Slopes 2^(-8 h / n) for n heads, a power of two; others take those of the power below, and every second of the
     * one above. */
    int64_t n = 1;
    while (2 * n <= heads) n *= 2;
    wick_tensor *slopes = wick_exp(wick_arange(ctx, WICK_F64, -8 / (double)n * log(2), -8 / (double)n * log(2), n));
    if (n < heads)
        slopes = wick_concat(2,
                             (wick_tensor *[]){slopes, wick_exp(wick_arange(ctx, WICK_F64, -4 / (double)n * log(2),
                                                                            -8 / (double)n * log(2), heads - n))},
                             0);
    return wick_as(wick_mul(wick_reshape(slopes, 3, (int64_t[]){heads, 1, 1}), wick_arange(ctx, WICK_F64, 0, 1, keys)),
                   dtype);
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static wick_status bad_cache(wick_context *ctx, const char *what, wick_tensor *state, wick_tensor *fresh) {
    char text[2][96];
    for (int i = 0; i < 2; i++) {
        wick_str s = wick_str_on(text[i], sizeof text[i]);
        wick_type_print(&s, &(i ? fresh : state)->value->type);
    }
    return wick_context_fail(ctx, WICK_ERR_SHAPE,
                             "kv_cache_append: %s is %s and cannot take %s; they are [B, heads, length, features]",
                             what, text[0], text[1]);
}

wick_status wick_kv_cache_append(const wick_kv_cache *cache, wick_tensor *k, wick_tensor *v, wick_tensor **mask) {
    if (!cache || !mask)
        return k ? wick_context_fail(k->ctx, WICK_ERR_INVALID, "kv_cache_append: %s is NULL", cache ? "mask" : "cache")
                 : WICK_ERR_INVALID;
    *mask = NULL;
    wick_tensor *const all[5] = {cache->k, cache->v, cache->position, k, v};
    for (int i = 0; i < 5; i++) {
        const char *text = "";
        if (all[i] && !all[i]->error) continue;
        wick_tensor *some = cache->k ? cache->k : k;
        if (!some) return WICK_ERR_INVALID;
        return all[i]
                   ? (wick_tensor_error(all[i], &text), wick_context_fail(some->ctx, all[i]->error->status, "%s", text))
                   : wick_context_fail(some->ctx, WICK_ERR_INVALID, "kv_cache_append: a tensor is NULL");
    }
    wick_context *ctx = k->ctx;
    wick_tensor *const states[2] = {cache->k, cache->v}, *const fresh[2] = {k, v};
    if (wick_tensor_dtype(cache->position) != WICK_I64 || wick_tensor_count(cache->position) != 1)
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "kv_cache_append: the position must be i64 [1]");
    for (int i = 0; i < 2; i++) {
        bool fits = wick_tensor_rank(states[i]) == 4 && wick_tensor_rank(fresh[i]) == 4 &&
                    wick_tensor_dtype(states[i]) == wick_tensor_dtype(fresh[i]);
        for (int d = 0; d < 4 && fits; d++)
            fits = d == 2 || wick_tensor_dim(states[i], d) == wick_tensor_dim(fresh[i], d);
        if (!fits) return bad_cache(ctx, i ? "v" : "k", states[i], fresh[i]);
    }
    const int64_t most = wick_tensor_dim(cache->k, 2), length = wick_tensor_dim(k, 2);
    if (length > most)
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "kv_cache_append: %lld positions do not fit a cache of %lld",
                                 (long long)length, (long long)most);
    if (wick_tensor_dim(cache->v, 2) != most || wick_tensor_dim(v, 2) != length)
        return bad_cache(ctx, "v", cache->v, v);
    wick_tensor *start = wick_reshape(cache->position, 1, (int64_t[]){1}),
                *at = wick_sub(wick_positions(ctx, WICK_I64, most), start);
    *mask = wick_le(wick_unsqueeze(at, 0), wick_unsqueeze(wick_positions(ctx, WICK_I64, length), 1));
    for (int i = 0; i < 2 && length; i++)
        WICK_TRY(wick_assign(states[i], wick_record_update(states[i], fresh[i], 2, start, true)));
    return WICK_OK;
}
