/* layers.c: layers whose graph is one op: linear, convolution, norms, dropout; and lists of layers. */
#include "nn/nn.h"

/* NULL: x can feed the layer; otherwise what to return instead. */
static wick_tensor *refuse(wick_model *model, const char *layer, const char *what, wick_tensor *x) {
    if (!x)
        return wick_poison(wick_model_context(model), WICK_ERR_INVALID, "%s \"%s\": x is NULL", what,
                           layer ? layer : "");
    if (x->error) return x;
    if (!wick_dtype_is_float(wick_tensor_dtype(x)))
        return wick_poison(wick_model_context(model), WICK_ERR_DTYPE, "%s \"%s\": x is %s; layers take floats", what,
                           layer ? layer : "", wick_dtype_name(wick_tensor_dtype(x)));
    if (wick_tensor_rank(x) < 1)
        return wick_poison(wick_model_context(model), WICK_ERR_SHAPE, "%s \"%s\": x is 0-d; it needs a last axis", what,
                           layer ? layer : "");
    return NULL;
}

wick_tensor *wick_nn_linear(wick_model *model, const char *name, wick_tensor *x, int64_t out) {
    wick_tensor *refused = refuse(model, name, "linear", x);
    if (refused) return refused;
    if (out < 1)
        return wick_poison(wick_model_context(model), WICK_ERR_INVALID,
                           "linear \"%s\": out is %lld, and must be at least 1", name ? name : "", (long long)out);
    const int64_t in = wick_tensor_dim(x, -1);
    const wick_dtype dtype = wick_tensor_dtype(x);
    const wick_init init = wick_init_linear(in);
    wick_tensor *weight = wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, WICK_DIMS(out, in), init);
    wick_tensor *bias = wick_layer_state(model, name, "bias", WICK_ROLE_PARAM, dtype, WICK_DIMS(out), init);
    return wick_layer_done(model, "linear", name, x, wick_linear(x, weight, bias));
}

/* The number of one dim: its own, that for all, or the least. */
static int64_t by_dim(const int64_t own[3], int d, int64_t all, int64_t least) {
    return own[d] ? own[d] : all ? all : least;
}

wick_tensor *wick_nn_conv(wick_model *model, const char *name, wick_tensor *x, int64_t out, int64_t kernel,
                          const wick_nn_conv_options *options) {
    static const wick_nn_conv_options plain;
    const wick_nn_conv_options *o = options ? options : &plain;
    wick_tensor *refused = refuse(model, name, "conv", x);
    if (refused) return refused;
    wick_context *ctx = wick_model_context(model);
    const int rank = wick_tensor_rank(x) - 2;
    const int64_t in = wick_tensor_dim(x, 1), groups = o->groups ? o->groups : 1;
    const char *shown = name ? name : "";
    if (rank < 1 || rank > 3)
        return wick_poison(ctx, WICK_ERR_SHAPE, "conv \"%s\": x has %d dims; it needs [N, C, 1 to 3 dims]", shown,
                           rank + 2);
    if (out < 1) return wick_poison(ctx, WICK_ERR_INVALID, "conv \"%s\": %lld channels", shown, (long long)out);
    if (groups < 1 || in < 1 || in % groups || out % groups)
        return wick_poison(ctx, WICK_ERR_SHAPE, "conv \"%s\": %lld channels to %lld do not divide into %lld groups",
                           shown, (long long)in, (long long)out, (long long)groups);
    int64_t dims[5] = {out, in / groups};
    wick_conv_options conv = {.groups = groups};
    double fan_in = (double)(in / groups);
    for (int d = 0; d < rank; d++) {
        const int64_t k = by_dim(o->kernels, d, kernel, 0), stride = by_dim(o->strides, d, o->stride, 1);
        const int64_t dilation = by_dim(o->dilations, d, o->dilation, 1), pad = by_dim(o->pads, d, o->pad, 0);
        if (k < 1 || stride < 1 || dilation < 1 || pad < 0 || WICK_MAX(k, stride) > INT32_MAX ||
            WICK_MAX(dilation, pad) > INT32_MAX)
            return wick_poison(ctx, WICK_ERR_INVALID,
                               "conv \"%s\", dim %d: kernel %lld, stride %lld, dilation %lld, pad %lld", shown, d,
                               (long long)k, (long long)stride, (long long)dilation, (long long)pad);
        dims[d + 2] = k;
        fan_in *= (double)k;
        conv.stride[d] = stride;
        conv.dilation[d] = dilation;
        conv.pad[d] = pad;
        if (!o->same) continue;
        const int64_t n = wick_tensor_dim(x, d + 2),
                      need = WICK_MAX(0, ((n + stride - 1) / stride - 1) * stride + dilation * (k - 1) + 1 - n);
        conv.pad[d] = need / 2;
        conv.pad_end[d] = need - 2 * conv.pad[d];
    }
    const wick_dtype dtype = wick_tensor_dtype(x);
    const wick_init init = wick_init_linear((int64_t)fan_in);
    wick_tensor *weight = wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, rank + 2, dims, init);
    wick_tensor *bias =
        o->no_bias ? NULL : wick_layer_state(model, name, "bias", WICK_ROLE_PARAM, dtype, WICK_DIMS(out), init);
    return wick_layer_done(model, "conv", name, x, wick_conv(x, weight, bias, &conv));
}

wick_tensor *wick_nn_layer_norm(wick_model *model, const char *name, wick_tensor *x) {
    wick_tensor *refused = refuse(model, name, "layer_norm", x);
    if (refused) return refused;
    const int64_t d = wick_tensor_dim(x, -1);
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *weight = wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, 1, &d, wick_init_constant(1));
    wick_tensor *bias = wick_layer_state(model, name, "bias", WICK_ROLE_PARAM, dtype, 1, &d, wick_init_constant(0));
    return wick_layer_done(model, "layer_norm", name, x, wick_layer_norm(x, weight, bias, 1e-5));
}

/* A norm's vectors over `extent`: weight from 1, and bias (or NULL) from 0. */
static void norm_states(wick_model *model, const char *name, wick_tensor *x, int64_t extent, wick_tensor **weight,
                        wick_tensor **bias) {
    const wick_dtype dtype = wick_tensor_dtype(x);
    *weight = wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, 1, &extent, wick_init_constant(1));
    if (bias) *bias = wick_layer_state(model, name, "bias", WICK_ROLE_PARAM, dtype, 1, &extent, wick_init_constant(0));
}

wick_tensor *wick_nn_rms_norm(wick_model *model, const char *name, wick_tensor *x) {
    wick_tensor *refused = refuse(model, name, "rms_norm", x), *weight;
    if (refused) return refused;
    norm_states(model, name, x, wick_tensor_dim(x, -1), &weight, NULL);
    return wick_layer_done(model, "rms_norm", name, x, wick_rms_norm(x, weight, 1e-5));
}

/* NULL: x has channels. */
static wick_tensor *refuse_images(wick_model *model, const char *name, const char *what, wick_tensor *x, int rank) {
    wick_tensor *refused = refuse(model, name, what, x);
    if (refused || wick_tensor_rank(x) >= rank) return refused;
    return wick_poison(wick_model_context(model), WICK_ERR_SHAPE, "%s \"%s\": x has %d dims; it needs [N, C, %s", what,
                       name ? name : "", wick_tensor_rank(x), rank == 2 ? "...]" : "dims]");
}

wick_tensor *wick_nn_group_norm(wick_model *model, const char *name, wick_tensor *x, int64_t groups) {
    wick_tensor *refused = refuse_images(model, name, "group_norm", x, 2), *weight, *bias;
    if (refused) return refused;
    norm_states(model, name, x, wick_tensor_dim(x, 1), &weight, &bias);
    return wick_layer_done(model, "group_norm", name, x, wick_group_norm(x, groups, weight, bias, 1e-5));
}

wick_tensor *wick_nn_instance_norm(wick_model *model, const char *name, wick_tensor *x, bool affine) {
    wick_tensor *refused = refuse_images(model, name, "instance_norm", x, 3), *weight = NULL, *bias = NULL;
    if (refused) return refused;
    if (affine) norm_states(model, name, x, wick_tensor_dim(x, 1), &weight, &bias);
    return wick_layer_done(model, "instance_norm", name, x, wick_instance_norm(x, weight, bias, 1e-5));
}

wick_tensor *wick_nn_dropout(wick_model *model, wick_tensor *x, double p) {
    if (wick_model_training(model) || !(p >= 0 && p < 1))
        return wick_dropout(x, p); /* which says what is wrong with p */
    return x;
}

wick_tensor *wick_nn_sequential(wick_model *model, int n, const wick_layer *layers, wick_tensor *x) {
    if (n > 0 && !layers)
        return wick_poison(wick_model_context(model), WICK_ERR_INVALID, "nn_sequential: layers is NULL");
    for (int i = 0; i < n; i++) {
        if (!layers[i].fn)
            return wick_poison(wick_model_context(model), WICK_ERR_INVALID,
                               "sequential: layer %d (\"%s\") has no function", i,
                               layers[i].name ? layers[i].name : "");
        x = layers[i].fn(model, layers[i].name, x, layers[i].arg);
    }
    return x;
}
