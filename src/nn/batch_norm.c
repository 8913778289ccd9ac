/* batch_norm.c: normalisation by the batch's own statistics (Ioffe, Szegedy 2015), whose running values are buffers of
 * the model that training moves. */
#include "nn/nn.h"

static const double eps = 1e-5, momentum = 0.1;

/* state <- (1 - momentum) state + momentum seen. Gradients don't pass. */
static wick_status move_towards(wick_tensor *state, wick_tensor *seen) {
    wick_tensor *fresh = wick_mul(wick_stop_gradient(seen), wick_like(state, momentum));
    return wick_assign(state, wick_add(wick_mul(state, wick_like(state, 1 - momentum)), fresh));
}

/* All axes but the channels'. */
static int other_axes(int rank, int axes[WICK_MAX_DIMS]) {
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (i != 1) axes[n++] = i;
    return n;
}

/* The gradient of y = (x - mean) scale weight + bias with scale = 1 / sqrt(var + eps), where mean and var are of x
 * itself (Ioffe, Szegedy 2015, section 3, put together): two sums in place of the five that the chain rule finds one by
 * one.
 *
 *   g_bias = sum g    g_weight = scale sum g (x - mean)
 *   g_x = weight scale g - weight scale^2 g_weight / count (x - mean) - weight scale g_bias / count
 *
 * What it takes from x is what the forward pass made, once equal nodes have become one. */
static void gradient(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)y, (void)n;
    int axes[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(xs[0]), n_axes = other_axes(rank, axes);
    const int64_t dims[WICK_MAX_DIMS] = {1, wick_tensor_dim(xs[0], 1), 1, 1, 1, 1, 1, 1};
    wick_tensor *mean = wick_mean(xs[0], n_axes, axes, true), *var = wick_var(xs[0], n_axes, axes, 0, true);
    wick_tensor *scale = wick_rsqrt(wick_add(var, wick_like(var, eps))), *centred = wick_sub(xs[0], mean);
    gx[2] = wick_sum(g, n_axes, axes, false);
    gx[1] = wick_mul(wick_sum(wick_mul(g, centred), n_axes, axes, false), wick_reshape(scale, 1, dims + 1));

    const double share = -(double)dims[1] / (double)wick_tensor_count(xs[0]);
    wick_tensor *of_g = wick_mul(scale, wick_reshape(xs[1], rank, dims)),
                *shared = wick_mul(of_g, wick_like(of_g, share));
    wick_tensor *of_centred = wick_mul(wick_mul(shared, scale), wick_reshape(gx[1], rank, dims));
    wick_tensor *constant = wick_mul(shared, wick_reshape(gx[2], rank, dims));
    gx[0] = wick_add(wick_mul(g, of_g), wick_add(wick_mul(centred, of_centred), constant));
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
    const bool fixed = wick_model_is_frozen(model, mean) || wick_model_is_frozen(model, var);
    if (fixed || !wick_model_training(model))
        return wick_layer_done(model, "batch_norm", name, x, wick_batch_norm(x, mean, var, weight, bias, eps));

    int axes[WICK_MAX_DIMS];
    const int n_axes = other_axes(rank, axes);
    int64_t seen = 1; /* values of one channel */
    for (int i = 0; i < n_axes; i++) seen *= wick_tensor_dim(x, axes[i]);
    if (seen < 2)
        return wick_poison(ctx, WICK_ERR_SHAPE, "batch_norm \"%s\": training needs more than one value per channel",
                           shown);
    wick_tensor *batch_mean = wick_reshape(wick_mean(x, n_axes, axes, true), 1, &channels);
    wick_tensor *batch_var = wick_reshape(wick_var(x, n_axes, axes, 0, true), 1, &channels);
    wick_tensor *y = wick_custom_gradient(wick_batch_norm(x, batch_mean, batch_var, weight, bias, eps), 3,
                                          (wick_tensor *[]){x, weight, bias}, gradient, NULL);
    const double unbias = (double)seen / (double)(seen - 1);
    if (wick_tensor_error(y, NULL) != WICK_OK) return y; /* then nothing is assigned either */
    wick_status status = move_towards(mean, batch_mean);
    if (status == WICK_OK) status = move_towards(var, wick_mul(batch_var, wick_like(batch_var, unbias)));
    wick_layer_left(model);
    return status == WICK_OK ? y : wick_poison(ctx, status, "batch_norm \"%s\": %s", shown, wick_context_error(ctx));
}
