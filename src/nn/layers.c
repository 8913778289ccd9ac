/* layers.c: layers whose graph is one op: linear, layer norm, dropout; and lists of layers. */
#include "nn/nn.h"

/* NULL: x can feed the layer; otherwise what to return instead. */
static wick_tensor *refuse(wick_model *model, const char *layer, const char *what, wick_tensor *x) {
    if (!x || x->error) return x ? x : wick_poison(wick_model_context(model), WICK_ERR_NOMEM, "out of memory");
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
    return wick_linear(x, weight, bias);
}

wick_tensor *wick_nn_layer_norm(wick_model *model, const char *name, wick_tensor *x) {
    wick_tensor *refused = refuse(model, name, "layer_norm", x);
    if (refused) return refused;
    const int64_t d = wick_tensor_dim(x, -1);
    const wick_dtype dtype = wick_tensor_dtype(x);
    wick_tensor *weight = wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, 1, &d, wick_init_constant(1));
    wick_tensor *bias = wick_layer_state(model, name, "bias", WICK_ROLE_PARAM, dtype, 1, &d, wick_init_constant(0));
    return wick_layer_norm(x, weight, bias, 1e-5);
}

wick_tensor *wick_nn_dropout(wick_model *model, wick_tensor *x, double p) {
    if (wick_model_training(model) || !(p >= 0 && p < 1))
        return wick_dropout(x, p); /* which says what is wrong with p */
    return x;
}

wick_tensor *wick_nn_sequential(wick_model *model, int n, const wick_layer *layers, wick_tensor *x) {
    for (int i = 0; i < n; i++) {
        if (!layers[i].fn)
            return wick_poison(wick_model_context(model), WICK_ERR_INVALID,
                               "sequential: layer %d (\"%s\") has no function", i,
                               layers[i].name ? layers[i].name : "");
        x = layers[i].fn(model, layers[i].name, x, layers[i].arg);
    }
    return x;
}
