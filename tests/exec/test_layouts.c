/* Where the elements of a value lie is the plan's business: images have their channels last there from the first
 * convolution on, and results don't show it. Random graphs of images, with gradients and states, give the same bits
 * compiled, without passes, recorded, and op by op, where every value is row-major. */
#include "base/base.h"
#include "tensor/tensors.h"

enum { VALUES_MAX = 32, OUTPUTS = 5, INPUTS = 3, ELEMENTS_MAX = 3000, OUT_BYTES = 8 * ELEMENTS_MAX };

/* What a round is about: the graph follows from the seed. */
typedef struct task {
    uint64_t seed;
    wick_dtype dtype;
    int n;                /* values, inputs among them */
    wick_spec in[INPUTS]; /* two images of one shape, and one of fewer */
    wick_model *model;
    wick_tensor *state;              /* of the first image's shape */
    char trail[VALUES_MAX * 32 + 1]; /* the ops that were recorded */
} task;

#define KINDS_OF(X)                                                                                                    \
    X(conv)                                                                                                            \
    X(depthwise) X(transposed) X(max_pool) X(avg_pool) X(adaptive) X(batch_norm) X(elementwise) X(add)                 \
        X(channel_vector) X(rows) X(flip) X(slice) X(permute) X(merge) X(concat) X(pad) X(resize) X(reduce) X(softmax) \
            X(layer_norm) X(gather) X(matmul) X(cast) X(where) X(expand) X(global) X(linear) X(shared)
#define AS_ENUM(name) KIND_##name,
#define AS_TEXT(name) #name,
enum { KINDS_OF(AS_ENUM) KINDS };
static const char *const kinds[] = {KINDS_OF(AS_TEXT)};

static wick_tensor *numbers(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, double limit) {
    float data[ELEMENTS_MAX];
    int64_t count = 1;
    for (int i = 0; i < rank; i++) count *= dims[i];
    if (count > ELEMENTS_MAX) return wick_zeros(ctx, dtype, rank, dims);
    fill_random(data, count, -limit, limit);
    return wick_cast(wick_from(ctx, WICK_F32, rank, dims, data), dtype);
}

static wick_tensor *convolve(const task *t, wick_context *ctx, wick_tensor *x, bool depthwise, bool transposed) {
    const int rank = wick_tensor_rank(x) - 2;
    const int64_t in = wick_tensor_dim(x, 1), groups = depthwise && in                      ? in
                                                       : in % 2 == 0 && test_rand_int(0, 1) ? 2
                                                                                            : 1;
    /* 16: whole vectors */
    const int64_t out = (depthwise ? 1 : test_rand_int(0, 3) ? test_rand_int(1, 5) : 16) * groups;
    wick_conv_options o = {.groups = groups};
    int64_t dims[5] = {transposed ? in : out, transposed ? out / groups : in / groups}, fan = 2 * dims[1];
    for (int d = 0; d < rank; d++) {
        o.stride[d] = test_rand_int(1, 2);
        o.dilation[d] = test_rand_int(1, 3) / 3 + 1;
        o.pad[d] = test_rand_int(0, 1);
        o.pad_end[d] = transposed ? 0 : test_rand_int(0, 1);
        fan *= dims[d + 2] = test_rand_int(1, 3);
    }
    wick_tensor *w = numbers(ctx, t->dtype, rank + 2, dims, 2 / sqrt((double)fan)),
                *bias = test_rand_int(0, 1) ? numbers(ctx, t->dtype, 1, &out, 1) : NULL;
    return (transposed ? wick_conv_transpose : wick_conv)(x, w, bias, &o);
}
static wick_tensor *pool(wick_tensor *x, bool max) {
    wick_pool_options o = {.ceil_mode = test_rand_int(0, 1), .exclude_pad = !max && test_rand_int(0, 1)};
    for (int d = 0; d < wick_tensor_rank(x) - 2; d++) {
        o.kernel[d] = test_rand_int(1, 3);
        o.stride[d] = test_rand_int(1, 2);
        o.pad[d] = test_rand_int(0, (int)o.kernel[d] / 2);
    }
    return max ? wick_max_pool(x, &o) : wick_avg_pool(x, &o);
}
/* Another value of the shape of x, a new one if there is; else x. */
static wick_tensor *partner(wick_tensor *const *values, int n, wick_tensor *x) {
    for (int i = n; i-- > 0;) {
        bool same = values[i] != x && wick_tensor_rank(values[i]) == wick_tensor_rank(x);
        for (int d = 0; same && d < wick_tensor_rank(x); d++)
            same = wick_tensor_dim(values[i], d) == wick_tensor_dim(x, d);
        if (same && test_rand_int(0, 2)) return values[i];
    }
    return x;
}

/* One op of a kind on x; what does not fit is poisoned. */
static wick_tensor *apply(task *t, wick_context *ctx, int kind, wick_tensor *x, wick_tensor *const *values, int n) {
    const int rank = wick_tensor_rank(x), axis = test_rand_int(0, rank - 1), other = test_rand_int(0, rank - 1);
    const int64_t *dims = wick_tensor_dims(x), extent = dims[axis];
    int64_t to[WICK_MAX_DIMS], more[WICK_MAX_DIMS] = {0};
    int axes[WICK_MAX_DIMS], n_axes = 0;
    memcpy(to, dims, (size_t)rank * sizeof *to);
    char name[16];
    switch (kind) {
    case KIND_conv: return convolve(t, ctx, x, false, false);
    case KIND_depthwise: return convolve(t, ctx, x, true, false);
    case KIND_transposed: return convolve(t, ctx, x, false, true);
    case KIND_max_pool: return pool(x, true);
    case KIND_avg_pool: return pool(x, false);
    case KIND_adaptive:
        for (int d = 2; d < rank; d++) to[d - 2] = test_rand_int(1, 3);
        return test_rand_int(0, 1) ? wick_adaptive_avg_pool(x, to) : wick_adaptive_max_pool(x, to);
    case KIND_batch_norm: return snprintf(name, sizeof name, "bn%d", n), wick_nn_batch_norm(t->model, name, x);
    case KIND_elementwise: return wick_mul(wick_tanh(x), wick_sigmoid(x));
    case KIND_add: return wick_add(wick_mul(x, wick_like(x, 0.75)), partner(values, n, x));
    case KIND_channel_vector: /* [C, 1, 1] */
        for (int d = 2; d < rank; d++) to[d] = 1;
        return wick_mul(x, numbers(ctx, t->dtype, rank - 1, to + 1, 1.5));
    case KIND_rows: /* [N, 1, H, 1] */
        for (int d = 1; d < rank; d += 2) to[d] = 1;
        return wick_sub(x, numbers(ctx, t->dtype, rank, to, 1));
    case KIND_flip: return wick_flip(x, 1, &axis);
    case KIND_slice: return wick_slice(x, axis, test_rand_int(0, 1), INT64_MAX, test_rand_int(1, 2));
    case KIND_permute:
        for (int d = 0; d < rank; d++) axes[d] = d;
        axes[axis] = other, axes[other] = axis;
        return wick_permute(wick_mul(wick_permute(x, rank, axes), wick_like(x, 0.5)), rank, axes);
    case KIND_merge: return wick_reshape(wick_relu(wick_flatten(x, axis)), rank, dims);
    case KIND_concat:
        return wick_concat(2, (wick_tensor *[]){x, test_rand_int(0, 1) ? partner(values, n, x) : x}, axis);
    case KIND_pad:
        for (int d = 0; d < rank; d++) to[d] = test_rand_int(-1, 1), more[d] = test_rand_int(0, 1);
        return wick_pad(x, rank, to, more, 0.5);
    case KIND_resize:
        for (int d = 2; d < rank; d++) to[d] = test_rand_int(1, 6);
        return wick_resize(x, to + 2, (wick_resize_mode)test_rand_int(0, 2));
    case KIND_reduce: /* over random axes, and back */
        for (int d = 0; d < rank; d++)
            if (test_rand_int(0, 1)) axes[n_axes++] = d;
        if (test_rand_int(0, 3) == 0)
            /* all but the channels */
            for (n_axes = 0; n_axes < rank - 1; n_axes++) axes[n_axes] = n_axes + (n_axes > 0);
        if (!n_axes) axes[n_axes++] = 1;
        for (int d = 0; d < n_axes; d++)
            if (!dims[axes[d]]) return wick_sum(x, n_axes, axes, true);
        switch (test_rand_int(0, 3)) {
        case 0: return wick_sub(x, wick_mean(x, n_axes, axes, true));
        case 1: return wick_sub(x, wick_max(x, n_axes, axes, true));
        case 2: return wick_add(x, wick_var(x, n_axes, axes, 0, true));
        default: return wick_mul(wick_tanh(wick_sum(wick_square(x), n_axes, axes, true)), x);
        }
    case KIND_softmax: return extent ? wick_softmax(x, axis) : x;
    case KIND_layer_norm: return wick_layer_norm(x, NULL, NULL, 1e-3);
    case KIND_gather:
        return extent
                   ? wick_gather(x, axis, wick_from(ctx, WICK_I64, WICK_DIMS(3), (const int64_t[]){-1, 0, extent / 2}))
                   : x;
    case KIND_matmul: return wick_mul(wick_matmul(x, wick_transpose(x, -1, -2)), wick_like(x, 0.25));
    case KIND_cast:
        return wick_cast(wick_cast(wick_mul(x, wick_like(x, 0.5)), t->dtype == WICK_F32 ? WICK_F16 : WICK_F32),
                         t->dtype);
    case KIND_where:
        return wick_where(wick_gt(x, wick_like(x, 0)), x, wick_mul(partner(values, n, x), wick_like(x, 0.125)));
    case KIND_expand: to[axis] = 2; return extent == 1 ? wick_add(wick_expand(x, rank, to), wick_like(x, 1)) : x;
    case KIND_global: return wick_mul(x, wick_sigmoid(wick_adaptive_avg_pool(x, NULL)));
    case KIND_linear:
        to[0] = to[1] = dims[rank - 1];
        return to[0] ? wick_linear(x, numbers(ctx, t->dtype, 2, to, 0.5), NULL) : x;
    default: /* shared */
        return wick_add(wick_square(wick_sin(x)),
                        wick_mul(wick_sin(x), wick_like(x, 0.5))); /* two readers of one value */
    }
}

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    task *t = user;
    wick_tensor *values[VALUES_MAX];
    test_seed = t->seed;
    t->trail[0] = 0;
    for (int i = 0; i < INPUTS; i++) values[i] = in[i];
    for (int i = INPUTS; i < t->n; i++) {
        /* a third are convolutions */
        const int kind = test_rand_int(0, 2) ? test_rand_int(0, KINDS - 1) : test_rand_int(KIND_conv, KIND_transposed);
        const int from = test_rand_int(0, 3) ? test_rand_int(WICK_MAX(0, i - 3), i - 1) : test_rand_int(0, i - 1);
        wick_tensor *y = apply(t, ctx, kind, values[from], values, i);
        const wick_status status = wick_tensor_error(y, NULL);
        if (status != WICK_OK && status != WICK_ERR_SHAPE) return status;
        const bool fits =
            status == WICK_OK && wick_tensor_rank(y) == wick_tensor_rank(in[0]) && wick_tensor_count(y) <= ELEMENTS_MAX;
        values[i] = fits ? y : wick_mul(values[from], wick_like(values[from], 0.5));
        snprintf(t->trail + strlen(t->trail), 32, " %d=%s(%d)", i, fits ? kinds[kind] : "half", from);
    }
    /* A loss of all that came last, and of the inputs; its gradients, and one of theirs. */
    wick_tensor *loss = wick_constant(ctx, WICK_F64, 0), *g[2];
    for (int i = 0; i < t->n; i = i == 1 ? WICK_MAX(i + 1, t->n - 8) : i + 1)
        loss = wick_add(loss, wick_cast(wick_sum(wick_tanh(values[i]), WICK_ALL_AXES, false), WICK_F64));
    wick_grad(loss, 2, in, g);
    wick_grad(wick_add(loss, wick_cast(wick_sum(wick_mul(wick_tanh(g[0]), in[1]), WICK_ALL_AXES, false), WICK_F64)), 1,
              in + 1, &out[2]);
    out[0] = g[0];
    out[1] = g[1];
    out[3] = values[t->n - 1 - test_rand_int(0, 3)];
    out[4] = wick_transpose(out[3], 0, 1);
    return wick_assign(t->state, wick_add(wick_mul(t->state, wick_like(t->state, 0.5)), partner(values, t->n, g[0])));
}

/* ---- ways to run it ---------------------------------------------------------------------------------------------- */

enum { COMPILED, THREADS, NO_PASSES, RECORDED, EAGER, WAYS };
static const char *const ways[WAYS] = {"compiled", "compiled, 3 threads", "no passes", "recorded", "eager"};

/* All results, OUT_BYTES for each, and a hash of all states. */
typedef struct result {
    unsigned char out[OUTPUTS][OUT_BYTES];
    uint64_t states;
} result;

static wick_status run_in(wick_context *ctx, task *t, int way, result *r) {
    static unsigned char data[INPUTS][OUT_BYTES];
    wick_tensor *in[INPUTS], *out[OUTPUTS];
    const void *from[INPUTS];
    void *to[OUTPUTS];
    test_seed = t->seed + 1;
    for (int i = 0; i < INPUTS; i++) {
        in[i] = numbers(ctx, t->dtype, t->in[i].rank, t->in[i].dims, 1);
        from[i] = data[i];
        WICK_TRY(wick_read(in[i], data[i], (size_t)wick_tensor_count(in[i]) * wick_dtype_size(t->dtype)));
    }
    for (int i = 0; i < OUTPUTS; i++) to[i] = r->out[i];
    t->state = wick_zeros(ctx, t->dtype, t->in[0].rank, t->in[0].dims);
    if (way >= RECORDED) {
        WICK_TRY(body(ctx, in, out, t));
        for (int i = 0; i < OUTPUTS; i++) WICK_TRY(wick_tensor_error(out[i], NULL));
        WICK_TRY(wick_eval(ctx, 3, out, NULL)); /* gradients before what they go through */
        for (int i = 0; i < OUTPUTS; i++)
            WICK_TRY(wick_read(out[i], to[i],
                               (size_t)wick_tensor_count(out[i]) * wick_dtype_size(wick_tensor_dtype(out[i]))));
    } else {
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        WICK_TRY(wick_compile(ctx, body, t, INPUTS, t->in, OUTPUTS,
                              &(wick_compile_options){.no_passes = way == NO_PASSES}, &plan));
        wick_status status = wick_workspace_new(plan, &ws);
        if (status == WICK_OK) status = wick_run(ws, from, to);
        CHECK_MSG(status == WICK_OK, "%s", ws ? wick_workspace_error(ws) : "no workspace");
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
        if (status != WICK_OK) return status;
    }
    for (int i = -1; i < wick_model_count(t->model); i++) {
        wick_tensor *state = i < 0 ? t->state : wick_model_at(t->model, i).tensor;
        const size_t bytes = (size_t)wick_tensor_count(state) * wick_dtype_size(t->dtype);
        WICK_TRY(wick_read(state, data[0], bytes));
        r->states = wick_hash(data[0], bytes, r->states);
    }
    return WICK_OK;
}
static bool run(task *t, int way, result *r) {
    memset(r, 0, sizeof *r);
    wick_context *ctx =
        context_with(&(wick_context_options){.threads = way == THREADS ? 3 : 1, .seed = 5, .eager = way == EAGER});
    wick_status status = wick_model_new(ctx, &t->model);
    if (status == WICK_OK) status = run_in(ctx, t, way, r);
    CHECK_MSG(status == WICK_OK, "%s: %s:%s", ways[way], wick_context_error(ctx), t->trail);
    wick_model_free(&t->model);
    wick_context_free(&ctx);
    return status == WICK_OK;
}

TEST(random_graphs_of_images_give_the_same_bits_however_values_lie) {
    static const wick_dtype dtypes[] = {WICK_F32, WICK_F32, WICK_F64, WICK_F16, WICK_BF16};
    static result first, other;
    for (int round = 0; round < 400 && test_fails < 4; round++) {
        if (!wick_tier_force((wick_tier)(round % WICK_TIER_COUNT))) continue;
        test_seed = 0x5DEECE66D + (uint64_t)round * 7919;
        task t = {.seed = test_rand(), .dtype = dtypes[round % 5], .n = test_rand_int(INPUTS + 3, VALUES_MAX)};
        const int rank = round % 4 ? 4 : test_rand_int(3, 5);
        for (int i = 0; i < INPUTS; i++) {
            t.in[i] = (wick_spec){"x", t.dtype, rank, {test_rand_int(round % 16 ? 1 : 0, 3), test_rand_int(1, 5)}};
            for (int d = 2; d < rank; d++) t.in[i].dims[d] = test_rand_int(1, rank == 5 ? 3 : 7);
            if (i == 1) memcpy(t.in[1].dims, t.in[0].dims, sizeof t.in[0].dims);
        }
        if (!run(&t, COMPILED, &first)) continue;
        for (int way = COMPILED + 1; way < WAYS; way++) {
            if (!run(&t, way, &other)) continue;
            for (int i = 0; i < OUTPUTS; i++)
                CHECK_MSG(!memcmp(first.out[i], other.out[i], OUT_BYTES), "round %d, %s: result %d:%s", round,
                          ways[way], i, t.trail);
            CHECK_MSG(first.states == other.states, "round %d, %s: states:%s", round, ways[way], t.trail);
        }
    }
    wick_tier_force(wick_tier_best());
}

/* Values without elements lie in every way at once; kernels must not take one for images. */
TEST(images_without_pixels_or_channels_have_gradients) {
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        wick_context *ctx = context();
        wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 0, 4)),
                    *w = wick_ones(ctx, WICK_F32, WICK_DIMS(5, 3, 2, 2)), *g[2];
        wick_tensor *y = wick_conv(x, w, NULL, &(wick_conv_options){.pad = {1, 0}}); /* [2, 5, 1, 3] of padding alone */
        wick_grad(wick_sum(y, WICK_ALL_AXES, false), 2, (wick_tensor *[]){x, w}, g);
        CHECK_INT(wick_tensor_count(y), 30);
        CHECK(item(wick_sum(wick_abs(y), WICK_ALL_AXES, false)) == 0 &&
              item(wick_sum(wick_abs(g[1]), WICK_ALL_AXES, false)) == 0);
        CHECK_OK(ctx, wick_read(g[0], NULL, 0));

        const wick_pool_options windows = {.kernel = {2, 2}};
        wick_tensor *none = wick_transpose(wick_ones(ctx, WICK_F32, WICK_DIMS(2, 0, 300, 400)), 2, 3), *v,
                    *sum = wick_constant(ctx, WICK_F32, 0);
        for (int i = 0; i < 2; i++) {
            wick_tensor *from = i ? wick_mul(none, wick_like(none, 2)) : none;
            wick_tensor *pooled[3] = {wick_max_pool(from, &windows), wick_avg_pool(from, &windows),
                                      wick_adaptive_avg_pool(from, NULL)};
            for (int k = 0; k < 3; k++) sum = wick_add(sum, wick_sum(pooled[k], WICK_ALL_AXES, false));
        }
        wick_grad(sum, 1, &none, &v);
        CHECK_OK(ctx, wick_read(v, NULL, 0));
        wick_context_free(&ctx);
    }
    wick_tier_force(wick_tier_best());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
