/* embedding.c: tables of rows looked up by number, weights used twice, weights by direction and length. */
#include <math.h>
#include <stdio.h>

#include "nn/nn.h"
#include "wick/transformer.h"

static wick_tensor *table(wick_model *model, const char *name, wick_dtype dtype, int64_t count, int64_t dim) {
    return wick_layer_state(model, name, "weight", WICK_ROLE_PARAM, dtype, WICK_DIMS(count, dim),
                            (wick_init){WICK_INIT_NORMAL, 0, 1});
}

wick_tensor *wick_nn_embedding(wick_model *model, const char *name, wick_tensor *index, int64_t count, int64_t dim,
                               wick_dtype dtype) {
    wick_context *ctx = wick_model_context(model);
    if (!index) return wick_poison(ctx, WICK_ERR_INVALID, "embedding \"%s\": index is NULL", name ? name : "");
    if (index->error) return index;
    if (!wick_dtype_is_integer(wick_tensor_dtype(index)))
        return wick_poison(ctx, WICK_ERR_DTYPE, "embedding \"%s\": index is %s; it must be of integers",
                           name ? name : "", wick_dtype_name(wick_tensor_dtype(index)));
    if (count < 1 || dim < 1)
        return wick_poison(ctx, WICK_ERR_INVALID, "embedding \"%s\": %lld rows of %lld", name ? name : "",
                           (long long)count, (long long)dim);
    return wick_layer_done(model, "embedding", name, index,
                           wick_gather(table(model, name, dtype, count, dim), 0, index));
}

wick_tensor *wick_nn_positions(wick_model *model, const char *name, wick_tensor *x, int64_t most) {
    wick_context *ctx = wick_model_context(model);
    if (!x) return wick_poison(ctx, WICK_ERR_INVALID, "positions \"%s\": x is NULL", name ? name : "");
    if (x->error) return x;
    if (wick_tensor_rank(x) < 2 || wick_tensor_dim(x, -2) > most)
        return wick_poison(ctx, WICK_ERR_SHAPE, "positions \"%s\": x must be [..., L, E] with L at most %lld",
                           name ? name : "", (long long)most);
    wick_tensor *rows = wick_slice(table(model, name, wick_tensor_dtype(x), most, wick_tensor_dim(x, -1)), 0, 0,
                                   wick_tensor_dim(x, -2), 1);
    return wick_layer_done(model, "positions", name, x, wick_add(x, rows));
}

wick_tensor *wick_nn_tied_linear(wick_model *model, const char *embedding, wick_tensor *x, int64_t count) {
    if (!x)
        return wick_poison(wick_model_context(model), WICK_ERR_INVALID, "tied_linear \"%s\": x is NULL",
                           embedding ? embedding : "");
    if (x->error) return x;
    return wick_linear(x, table(model, embedding, wick_tensor_dtype(x), count, wick_tensor_dim(x, -1)), NULL);
}

wick_tensor *wick_nn_weight_norm(wick_model *model, const char *name, wick_dtype dtype, int rank, const int64_t *dims) {
    wick_context *ctx = wick_model_context(model);
    if (!dims) return wick_poison(ctx, WICK_ERR_INVALID, "weight_norm: dims is NULL");
    if (rank < 2 || rank > WICK_MAX_DIMS || !wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_SHAPE,
                           "weight_norm \"%s\": a weight of %d dims of %s; it needs floats [out, in, ...]",
                           name ? name : "", rank, wick_dtype_name(dtype));
    double fan = 1;
    int64_t ones[WICK_MAX_DIMS];
    int axes[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) {
        ones[i] = i ? 1 : dims[0];
        if (i) fan *= (double)dims[i], axes[i - 1] = i;
    }
    char full[WICK_NAME_MAX + 64];
    snprintf(full, sizeof full, "%s%s.parametrizations.weight.original0", wick_model_path(model), name ? name : "");
    const bool fresh = !wick_model_find(model, full);
    wick_tensor *v = wick_layer_state(model, name, "parametrizations.weight.original1", WICK_ROLE_PARAM, dtype, rank,
                                      dims, wick_init_linear((int64_t)fan));
    wick_tensor *g = wick_layer_state(model, name, "parametrizations.weight.original0", WICK_ROLE_PARAM, dtype, rank,
                                      ones, wick_init_constant(1));
    if (wick_tensor_error(v, NULL) || wick_tensor_error(g, NULL)) return wick_tensor_error(v, NULL) ? v : g;
    /* g = |v|, from the numbers: making a state is no part of what is recorded */
    if (fresh && (dtype == WICK_F32 || dtype == WICK_F64)) {
        const void *numbers = NULL;
        wick_status status = wick_data(v, &numbers);
        const int64_t out = dims[0], each = out ? wick_tensor_count(v) / out : 0;
        const size_t elem = wick_dtype_size(dtype), bytes = (size_t)out * elem;
        void *norms = status ? NULL : wick_alloc(&ctx->alloc, bytes + 1);
        for (int64_t i = 0; i < out && norms; i++) {
            double sum = 0;
            for (int64_t k = i * each; k < (i + 1) * each; k++) {
                const double x = dtype == WICK_F64 ? ((const double *)numbers)[k] : (double)((const float *)numbers)[k];
                sum += x * x;
            }
            if (dtype == WICK_F64)
                ((double *)norms)[i] = sqrt(sum);
            else
                ((float *)norms)[i] = (float)sqrt(sum);
        }
        if (norms) status = wick_write(g, norms, bytes);
        wick_release(&ctx->alloc, norms, bytes + 1);
        if (status) return wick_poison(ctx, status, "weight_norm \"%s\": %s", name, wick_context_error(ctx));
    }
    return wick_mul(v, wick_div(g, wick_sqrt(wick_sum(wick_square(v), rank - 1, axes, true))));
}
