/* batch_norm.c: normalisation by the batch's own statistics (Ioffe, Szegedy 2015), whose running values are buffers of
 * the model that training moves. */
#include "nn/nn.h"

static const double eps = 1e-5, momentum = 0.1;

/* state <- (1 - momentum) state + momentum seen. Gradients don't pass. */
static wick_status move_towards(wick_tensor *state, wick_tensor *seen) {
    wick_tensor *fresh = wick_mul(wick_stop_gradient(seen), wick_like(state, momentum));
    return wick_assign(state, wick_add(wick_mul(state, wick_like(state, 1 - momentum)), fresh));
}

wick_tensor *wick_nn_batch_norm(wick_model *model, const char *name, wick_tensor *x) {
    wick_context *ctx = wick_model_context(model);
    const char *shown = name ? name : "";
    if (!x) return wick_poison(ctx, WICK_ERR_INVALID, "batch_norm \"%s\": x is NULL", shown);
    if (x->error) return x;
    const wick_dtype dtype = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "batch_norm \"%s\": x is %s; layers take floats", shown,
                           wick_dtype_name(dtype));
    if (rank < 2)
        return wick_poison(ctx, WICK_ERR_SHAPE, "batch_norm \"%s\": x has %d dims; [N, C, ...] is at least 2", shown,
                           rank);

    const int64_t channels = wick_tensor_dim(x, 1);
    const wick_init one = wick_init_constant(1), zero = wick_init_constant(0);
    wick_tensor *weight = wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, 1, &channels, one);
    wick_tensor *bias = wick_layer_state(model, name, "bias", WICK_ROLE_PARAM, dtype, 1, &channels, zero);
    wick_tensor *mean = wick_layer_state(model, name, "running_mean", WICK_ROLE_BUFFER, dtype, 1, &channels, zero);
    wick_tensor *var = wick_layer_state(model, name, "running_var", WICK_ROLE_BUFFER, dtype, 1, &channels, one);
    if (!wick_model_training(model)) return wick_batch_norm(x, mean, var, weight, bias, eps);

    int axes[WICK_MAX_DIMS], n_axes = 0;
    int64_t seen = 1; /* values of one channel */
    for (int i = 0; i < rank; i++) {
        if (i == 1) continue;
        axes[n_axes++] = i;
        seen *= wick_tensor_dim(x, i);
    }
    if (seen < 2)
        return wick_poison(ctx, WICK_ERR_SHAPE, "batch_norm \"%s\": training needs more than one value per channel",
                           shown);
    wick_tensor *batch_mean = wick_mean(x, n_axes, axes, false);
    wick_tensor *batch_var = wick_var(x, n_axes, axes, 0, false);
    wick_tensor *y = wick_batch_norm(x, batch_mean, batch_var, weight, bias, eps);
    const double unbias = (double)seen / (double)(seen - 1);
    if (wick_tensor_error(y, NULL) != WICK_OK) return y; /* then nothing is assigned either */
    wick_status status = move_towards(mean, batch_mean);
    if (status == WICK_OK) status = move_towards(var, wick_mul(batch_var, wick_like(batch_var, unbias)));
    return status == WICK_OK ? y : wick_poison(ctx, status, "batch_norm \"%s\": %s", shown, wick_context_error(ctx));
}
