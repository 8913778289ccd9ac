/* init.c: how a state's first value is made. The formulas' sources are in wick/nn.h. */
#include <math.h>

#include "nn/nn.h"

/* A layer without inputs has weights without elements; its bias then starts at 0, as PyTorch's does. */
static double per_fan(double numerator, double fan) { return fan > 0 ? sqrt(numerator / fan) : 0; }

wick_init wick_init_constant(double value) { return (wick_init){WICK_INIT_CONSTANT, value, 0}; }

wick_init wick_init_xavier(int64_t fan_in, int64_t fan_out) {
    double bound = per_fan(6, (double)fan_in + (double)fan_out);
    return (wick_init){WICK_INIT_UNIFORM, -bound, bound};
}

wick_init wick_init_kaiming(int64_t fan_in) { return (wick_init){WICK_INIT_NORMAL, 0, per_fan(2, (double)fan_in)}; }

wick_init wick_init_linear(int64_t fan_in) {
    double bound = per_fan(1, (double)fan_in);
    return (wick_init){WICK_INIT_UNIFORM, -bound, bound};
}

wick_init wick_init_truncated(double mean, double deviation) {
    return (wick_init){WICK_INIT_TRUNCATED, mean, deviation};
}

/* A draw beyond +-2 is replaced by the first of 16 further draws that is within; all 16 are beyond once in 10^21. The
 * further draws belong to the element's place, so that its value remains a function of seed, name and place. */
#define REDRAW(T, TYPE)                                                      \
    for (int64_t i = 0; i < n; i++) {                                        \
        T *x = (T *)dst + i, z[16];                                          \
        if (*x >= -2 && *x <= 2) continue;                                   \
        wick_random_key own = *key;                                          \
        own.offset = (uint64_t)i + 1;                                        \
        wick_fill_normal(TYPE, &own, 0, 16, z);                              \
        *x = 0;                                                              \
        for (int k = 16; k-- > 0;)                                           \
            if (z[k] >= -2 && z[k] <= 2) *x = z[k];                          \
    }
static void truncate_normal(wick_ctype type, const wick_random_key *key, int64_t n, void *dst) {
    if (type == WICK_CF64)
        REDRAW(double, WICK_CF64)
    else
        REDRAW(float, WICK_CF32)
}

/* Random numbers straight into memory of a type the kernels make: f32 or f64. */
static void fill(const wick_init *init, wick_ctype type, const wick_random_key *key, int64_t n, void *dst) {
    const bool normal = init->kind != WICK_INIT_UNIFORM;
    (normal ? wick_fill_normal : wick_fill_uniform)(type, key, 0, n, dst);
    if (init->kind == WICK_INIT_TRUNCATED) truncate_normal(type, key, n, dst);
    /* uniform: a + (b - a) u; normal and truncated: a + b z */
    const double shift = init->a, scale = normal ? init->b : init->b - init->a;
    if (type == WICK_CF64) {
        double *x = dst;
        for (int64_t i = 0; i < n; i++) x[i] = shift + scale * x[i];
    } else {
        float *x = dst;
        for (int64_t i = 0; i < n; i++) x[i] = (float)(shift + scale * (double)x[i]);
    }
}

static wick_array *fill_narrow(wick_context *ctx, const wick_init *init, const wick_random_key *key,
                               const wick_type *type) {
    const int64_t n = wick_type_count(type);
    const size_t size = (size_t)n * sizeof(float);
    float *wide = wick_alloc(&ctx->alloc, size);
    wick_array *array = wide ? wick_array_contiguous(ctx, type) : NULL;
    if (array) {
        fill(init, WICK_CF32, key, n, wide);
        wick_copy copy = {.rank = 1,
                          .dims = {n},
                          .src_strides = {1},
                          .dst_strides = {1},
                          .src = WICK_F32,
                          .dst = (wick_dtype)type->dtype};
        wick_copy_run(&copy, 0, wick_copy_tasks(&copy), wide, array->storage->data);
    }
    wick_release(&ctx->alloc, wide, size);
    return array;
}

wick_tensor *wick_init_make(wick_context *ctx, const wick_init *init, const char *name, const wick_type *type) {
    const wick_dtype dtype = (wick_dtype)type->dtype;
    if (init->kind == WICK_INIT_CONSTANT) return wick_full(ctx, dtype, type->rank, type->dims, init->a);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "state \"%s\": random values need a float dtype, not %s", name,
                           wick_dtype_name(dtype));
    wick_random_key key = {.stream = wick_hash(name, strlen(name), 0)};
    uint64_t next_stream;
    wick_context_random(ctx, &key.seed, &next_stream);
    wick_array *array;
    if (dtype == WICK_F32 || dtype == WICK_F64) {
        array = wick_array_contiguous(ctx, type);
        if (array) fill(init, wick_ctype_of(dtype), &key, wick_type_count(type), array->storage->data);
    } else {
        array = fill_narrow(ctx, init, &key, type);
    }
    return wick_leaf(ctx, type, array);
}
