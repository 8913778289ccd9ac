/* ops_contrib.c: what ONNX Runtime's optimiser makes of floats (com.microsoft): fused products, activations and norms.
 * Sources: its ContribOperators.md, and its results. */
#define WICK_NO_SITES
#include "io/onnx/onnx.h"

#include <math.h>

#include "wick/index.h"
#include "wick/linalg.h"
#include "wick/pointwise.h"
#include "wick/reduce.h"
#include "wick/shape.h"
#include "wick/sort.h"

/* ---- products with what follows ---------------------------------------------------------------------------------- */

/* The activation that a fused node names; p are its parameters, in the order of its own attributes. */
static wick_tensor *activated(onnx_call *c, wick_tensor *y, const double p[3], int n) {
    const wick_bytes name = wick_onnx_text(c, "activation", "");
    if (!name.size) return y;
    if (wick_bytes_are(name, "Relu")) return wick_relu(y);
    if (wick_bytes_are(name, "Tanh")) return wick_tanh(y);
    if (wick_bytes_are(name, "Sigmoid")) return wick_sigmoid(y);
    if (wick_bytes_are(name, "Softplus")) return wick_softplus(y);
    if (wick_bytes_are(name, "Softsign")) return wick_softsign(y);
    if (wick_bytes_are(name, "LeakyRelu")) return wick_leaky_relu(y, n > 0 ? p[0] : 0.01);
    if (wick_bytes_are(name, "Elu")) return wick_elu(y, n > 0 ? p[0] : 1);
    if (wick_bytes_are(name, "ThresholdedRelu")) return wick_threshold(y, n > 0 ? p[0] : 1, 0);
    if (wick_bytes_are(name, "Clip") && n > 1) return wick_clip(y, p[0], p[1]);
    if (wick_bytes_are(name, "HardSigmoid"))
        return wick_clip(wick_add(wick_mul(y, wick_like(y, n > 0 ? p[0] : 0.2)), wick_like(y, n > 1 ? p[1] : 0.5)), 0,
                         1);
    wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "activation \"%.*s\"", (int)WICK_MIN(name.size, (size_t)40), name.at);
    return NULL;
}

static void fused_conv(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *w = x ? wick_onnx_tensor(c, 1) : NULL, *b = wick_onnx_optional(c, 2),
                *z = wick_onnx_optional(c, 3);
    wick_conv_options o;
    const onnx_attr *a = wick_onnx_attr(c, "activation_params");
    if (!w || !wick_onnx_conv_options(c, x, w, &o, NULL)) return;
    double p[3] = {0};
    const int n = a ? (int)WICK_MIN(a->floats.n, (size_t)3) : 0;
    for (int i = 0; i < n; i++) p[i] = (double)a->floats.at[i];
    wick_tensor *y = wick_conv(x, w, b, &o);
    if (z) y = wick_add(y, z);
    wick_onnx_set(c, 0, activated(c, y, p, n));
}

static void fused_gemm(onnx_call *c) {
    const double p[3] = {wick_onnx_float(c, "activation_alpha", 0), wick_onnx_float(c, "activation_beta", 0),
                         wick_onnx_float(c, "activation_gamma", 0)};
    const int n = wick_onnx_attr(c, "activation_beta") ? 2 : wick_onnx_attr(c, "activation_alpha") ? 1 : 0;
    wick_tensor *in[3] = {wick_onnx_tensor(c, 0), wick_onnx_tensor(c, 1), wick_onnx_optional(c, 2)};
    if (c->status != WICK_OK || !wick_onnx_call_as(c, "Gemm", 13, 3, in) || c->out[0].v.kind != WICK_VALUE_TENSOR)
        return;
    wick_onnx_set(c, 0, activated(c, c->out[0].v.tensor, p, n));
}

/* batch: the first dim goes to the place before the last. */
static wick_tensor *transposed(wick_tensor *x, bool batch, bool transposed) {
    const int rank = wick_tensor_rank(x);
    if (batch && rank > 2) x = wick_move_axis(x, 0, rank - 2);
    return transposed && rank > 1 ? wick_transpose(x, -1, -2) : x;
}
static void fused_matmul(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL;
    if (!b) return;
    const double alpha = wick_onnx_float(c, "alpha", 1);
    wick_tensor *y = wick_matmul(transposed(a, wick_onnx_int(c, "transBatchA", 0), wick_onnx_int(c, "transA", 0)),
                                 transposed(b, wick_onnx_int(c, "transBatchB", 0), wick_onnx_int(c, "transB", 0)));
    wick_onnx_set(c, 0, alpha == 1 ? y : wick_mul(y, wick_like(y, alpha)));
}

/* ---- activations ------------------------------------------------------------------------------------------------- */

static wick_tensor *with_bias(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *b = wick_onnx_optional(c, 1);
    return x && b ? wick_add(x, b) : x;
}
static void gelu(onnx_call *c) { /* BiasGelu too */
    wick_tensor *x = with_bias(c);
    if (x) wick_onnx_set(c, 0, wick_gelu(x));
}
static void fast_gelu(onnx_call *c) {
    wick_tensor *x = with_bias(c);
    if (x) wick_onnx_set(c, 0, wick_gelu_tanh(x));
}
static void quick_gelu(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x)
        wick_onnx_set(c, 0, wick_mul(x, wick_sigmoid(wick_mul(x, wick_like(x, wick_onnx_float(c, "alpha", 1.702f))))));
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static void reciprocal_deviation(onnx_call *c, int at, wick_tensor *x, bool centred, double eps) {
    wick_tensor *v = centred ? wick_var(x, 1, &(int){-1}, 0, true) : wick_mean(wick_square(x), 1, &(int){-1}, true);
    wick_onnx_set(c, at, wick_rsqrt(wick_add(v, wick_like(v, eps))));
}

/* (input, skip, gamma, [beta], bias): the norm of the sum of input, skip and bias. */
static void skip_norm(onnx_call *c, bool centred) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *skip = x ? wick_onnx_tensor(c, 1) : NULL,
                *weight = skip ? wick_onnx_tensor(c, 2) : NULL;
    if (!weight) return;
    wick_tensor *beta = centred ? wick_onnx_optional(c, 3) : NULL, *bias = wick_onnx_optional(c, centred ? 4 : 3);
    const double eps = wick_onnx_float(c, "epsilon", 1e-12);
    x = wick_add(x, skip);
    if (bias) x = wick_add(x, bias);
    wick_onnx_set(c, 0, centred ? wick_layer_norm(x, weight, beta, eps) : wick_rms_norm(x, weight, eps));
    if (wick_onnx_wants(c, 1)) wick_onnx_set(c, 1, wick_mean(x, 1, &(int){-1}, true));
    if (wick_onnx_wants(c, 2)) reciprocal_deviation(c, 2, x, centred, eps);
    wick_onnx_set(c, 3, x);
}
static void skip_layer_norm(onnx_call *c) { skip_norm(c, true); }
static void skip_rms_norm(onnx_call *c) { skip_norm(c, false); }

/* Over the axes from `axis` on. */
static void simplified_layer_norm(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *weight = x ? wick_onnx_tensor(c, 1) : NULL;
    int axis;
    if (!weight || !wick_onnx_axis(c, wick_onnx_int(c, "axis", -1), wick_tensor_rank(x), &axis)) return;
    const double eps = wick_onnx_float(c, "epsilon", 1e-5f);
    wick_tensor *flat = wick_flatten(x, axis);
    wick_tensor *y = wick_rms_norm(flat, wick_reshape(weight, 1, &(int64_t){-1}), eps);
    wick_onnx_set(c, 0, wick_reshape(y, wick_tensor_rank(x), wick_tensor_dims(x)));
    if (wick_onnx_wants(c, 1)) reciprocal_deviation(c, 1, flat, false, eps);
}

/* Embeddings of words, positions and segments, added and normed; mask_index counts each row's words. */
static void embed_layer_norm(onnx_call *c) {
    wick_tensor *ids = wick_onnx_tensor(c, 0), *segments = wick_onnx_optional(c, 1), *words = wick_onnx_tensor(c, 2),
                *places = wick_onnx_tensor(c, 3);
    wick_tensor *of_segments = wick_onnx_optional(c, 4), *gamma = wick_onnx_tensor(c, 5),
                *beta = wick_onnx_tensor(c, 6), *mask = wick_onnx_optional(c, 7), *at = wick_onnx_optional(c, 8);
    if (c->status != WICK_OK) return;
    if (wick_tensor_rank(ids) != 2 || wick_tensor_rank(places) != 2 ||
        wick_tensor_dim(ids, 1) > wick_tensor_dim(places, 0)) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "input_ids must be [batch, length], no longer than there are positions");
        return;
    }
    wick_tensor *x = wick_add(wick_gather(words, 0, ids),
                              at ? wick_gather(places, 0, at) : wick_slice(places, 0, 0, wick_tensor_dim(ids, 1), 1));
    if (segments && of_segments) x = wick_add(x, wick_gather(of_segments, 0, segments));
    wick_onnx_set(c, 0, wick_layer_norm(x, gamma, beta, wick_onnx_float(c, "epsilon", 1e-12)));
    const int64_t batch = wick_tensor_dim(ids, 0);
    if (wick_onnx_wants(c, 1))
        wick_onnx_set(c, 1,
                      mask ? wick_cast(wick_sum(mask, 1, &(int){1}, false), WICK_I32)
                           : wick_zeros(c->ctx, WICK_I32, 1, &batch));
    wick_onnx_set(c, 2, x);
}

/* ---- others ------------------------------------------------------------------------------------------------------ */

static void inverse(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (x) wick_onnx_set(c, 0, wick_inverse(x));
}
static void expand_dims(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    onnx_host h;
    int axis;
    if (!x || !wick_onnx_host(c, 1, &h)) return;
    if (h.n != 1) wick_onnx_fail(c, WICK_ERR_SHAPE, "%lld axes, not one", (long long)h.n);
    else if (wick_onnx_axis(c, h.ints[0], wick_tensor_rank(x) + 1, &axis)) wick_onnx_set(c, 0, wick_unsqueeze(x, axis));
}
static void range(onnx_call *c) {
    wick_tensor *in[3] = {wick_onnx_tensor(c, 0), wick_onnx_tensor(c, 1), wick_onnx_optional(c, 2)};
    if (c->status != WICK_OK) return;
    if (!in[2]) in[2] = wick_like(in[0], 1);
    wick_onnx_call_as(c, "Range", 11, 3, in);
}
/* Pads are a tensor, which may have a leading dim of 1. */
static void pad(onnx_call *c) {
    wick_tensor *in[3] = {wick_onnx_tensor(c, 0), wick_onnx_tensor(c, 1), wick_onnx_optional(c, 2)};
    if (c->status != WICK_OK) return;
    in[1] = wick_reshape(in[1], 1, &(int64_t){-1});
    wick_onnx_call_as(c, "Pad", 13, 3, in);
}
static void trilu(onnx_call *c) {
    wick_tensor *in[2] = {wick_onnx_tensor(c, 0), wick_onnx_optional(c, 1)};
    if (in[0]) wick_onnx_call_as(c, "Trilu", 14, 2, in);
}
static void gather_nd(onnx_call *c) {
    wick_tensor *in[2] = {wick_onnx_tensor(c, 0), wick_onnx_tensor(c, 1)};
    if (c->status == WICK_OK) wick_onnx_call_as(c, "GatherND", 11, 2, in);
}
/* Of a vector, in the order of first appearance. */
static void unique(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0);
    if (!x) return;
    const bool good = wick_tensor_rank(x) == 1;
    if (!good) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "x has %d dims, not 1", wick_tensor_rank(x));
        return;
    }
    onnx_host h;
    wick_tensor *back, *counts, *sorted;
    if (!wick_onnx_host(c, 0, &h)) return;
    sorted = wick_unique(x, &back, &counts);
    /* Places of the first of each, rising: from sorted order to that of appearance. */
    const int64_t n = wick_tensor_dim(sorted, 0);
    wick_tensor *first = wick_put_along_axis(wick_full(c->ctx, WICK_I64, 1, &n, (double)h.n), 0, back,
                                             wick_arange(c->ctx, WICK_I64, 0, 1, h.n), WICK_PUT_MIN);
    wick_tensor *order = wick_argsort(first, 0, false), *rank = wick_argsort(order, 0, false);
    wick_onnx_set(c, 0, wick_gather(sorted, 0, order));
    wick_onnx_set(c, 1, wick_gather(rank, 0, back));
    wick_onnx_set(c, 2, wick_gather(counts, 0, order));
}
/* Distances between rows: "euclidean", or squared. */
static void cdist(onnx_call *c) {
    wick_tensor *a = wick_onnx_tensor(c, 0), *b = a ? wick_onnx_tensor(c, 1) : NULL;
    if (!b) return;
    if (wick_tensor_rank(a) != 2 || wick_tensor_rank(b) != 2) {
        wick_onnx_fail(c, WICK_ERR_SHAPE, "A and B must have 2 dims");
        return;
    }
    wick_tensor *d = wick_sum(wick_square(wick_sub(wick_unsqueeze(a, 1), wick_unsqueeze(b, 0))), 1, &(int){2}, false);
    wick_onnx_set(c, 0, wick_onnx_text_is(c, "metric", "sqeuclidean", "euclidean") ? wick_sqrt(d) : d);
}

static const onnx_op ops[] = {
    {"FusedConv", 1, 0, fused_conv, {0}},
    {"FusedGemm", 1, 0, fused_gemm, {0}},
    {"FusedMatMul", 1, 0, fused_matmul, {0}},
    {"TransposeMatMul", 1, 0, fused_matmul, {0}},
    {"Gelu", 1, 0, gelu, {0}},
    {"BiasGelu", 1, 0, gelu, {0}},
    {"FastGelu", 1, 0, fast_gelu, {0}},
    {"QuickGelu", 1, 0, quick_gelu, {0}},
    {"SkipLayerNormalization", 1, 0, skip_layer_norm, {0}},
    {"SkipSimplifiedLayerNormalization", 1, 0, skip_rms_norm, {0}},
    {"SimplifiedLayerNormalization", 1, 0, simplified_layer_norm, {0}},
    {"EmbedLayerNormalization", 1, 0, embed_layer_norm, {0}},
    {"Inverse", 1, 0, inverse, {0}},
    {"ExpandDims", 1, 0, expand_dims, {0}},
    {"Range", 1, 0, range, {0}},
    {"Pad", 1, 0, pad, {0}},
    {"Trilu", 1, 0, trilu, {0}},
    {"GatherND", 1, 0, gather_nd, {0}},
    {"Unique", 1, 0, unique, {0}},
    {"CDist", 1, 0, cdist, {0}},
};
/* Those that ONNX Runtime put into ONNX's own domain. */
static const onnx_op older[] = {{"SimplifiedLayerNormalization", 1, 0, simplified_layer_norm, {0}}};
const onnx_family wick_onnx_contrib = {"com.microsoft", ops, WICK_COUNTOF(ops)},
                  wick_onnx_older = {"", older, WICK_COUNTOF(older)};
