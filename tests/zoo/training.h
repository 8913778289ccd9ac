/* training.h: training steps of networks of the zoo, compiled or recorded anew each step, for the promises that hold
 * for all of them. */
#ifndef WICK_TESTS_TRAINING_H
#define WICK_TESTS_TRAINING_H

#include "tensor/tensors.h"

enum { CLASSES = 10, SAMPLE_MAX = 3 * 32 * 32, BATCH_MAX = 16 };

/* Convolutional networks, and one sample of theirs. */
typedef struct convnet {
    const char *network; /* as wick_zoo_find reads it */
    int64_t dims[3];
    bool dropout;
} convnet;
static const convnet convnets[] = {
    {"net:conv 32 3, relu, conv 64 3, relu, maxpool 2, flatten, linear 128, relu, linear classes", {1, 28, 28}, false},
    {"net:conv 6 3 stride 2, residual(conv 6 3 same, bn, dropout 0.2, gelu), avgpool 3 stride 2 pad 1, se 3, invres 6 "
     "3, maxpool 3 stride 1, globalpool, "
     "linear classes",
     {2, 19, 22},
     true},
    {"lenet", {1, 28, 28}, false},
    {"cnn", {1, 28, 28}, true},
    {"resnet8", {3, 32, 32}, false},
    {"dscnn", {3, 32, 32}, true},
    {"mobilenet", {3, 32, 32}, false},
};
enum { CONVNETS = sizeof convnets / sizeof convnets[0] };

typedef struct training {
    wick_context *ctx;
    wick_network network;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_spec in[2]; /* x, labels */
    wick_plan *plan;
    wick_workspace *ws;
} training;

static inline wick_tensor *training_loss(training *t, wick_tensor *x, wick_tensor *labels) {
    wick_tensor *loss = wick_cross_entropy(wick_zoo_build(&t->network, t->model, x, CLASSES), labels);
    return wick_optimizer_step(t->optimizer, loss) == WICK_OK ? loss : NULL;
}
static inline wick_status training_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    out[0] = training_loss(user, in[0], in[1]);
    return out[0] ? WICK_OK : wick_context_status(ctx);
}

static inline void training_close(training *t) {
    wick_workspace_free(&t->ws);
    wick_plan_free(&t->plan);
    wick_optimizer_free(&t->optimizer);
    wick_model_free(&t->model);
    wick_context_free(&t->ctx);
}
/* Takes ctx. False, with failed checks: it could not be made; close it all the same. */
static inline bool training_open(training *t, wick_context *ctx, const char *network, wick_dtype dtype,
                                 const int64_t dims[3], int64_t batch, const wick_optim_options *optimizer) {
    *t = (training){.ctx = ctx,
                    .in = {{"x", dtype, 4, {batch, dims[0], dims[1], dims[2]}}, {"labels", WICK_I64, 1, {batch}}}};
    wick_status status = wick_zoo_find(ctx, network, &t->network);
    if (status == WICK_OK) status = wick_model_new(ctx, &t->model);
    if (status == WICK_OK) status = wick_optimizer_new(t->model, optimizer, &t->optimizer);
    CHECK_MSG(status == WICK_OK, "%s: %s", network, wick_context_error(ctx));
    return status == WICK_OK;
}
static inline bool training_compile(training *t, const wick_compile_options *how) {
    wick_status status = wick_compile(t->ctx, training_body, t, 2, t->in, 1, how, &t->plan);
    if (status == WICK_OK) status = wick_workspace_new(t->plan, &t->ws);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(t->ctx));
    return status == WICK_OK;
}
static inline bool training_run(training *t, const void *x, const int64_t *labels, void *loss) {
    wick_status status = wick_run(t->ws, (const void *[]){x, labels}, (void *[]){loss});
    CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(t->ws));
    return status == WICK_OK;
}
/* The same step, recorded and evaluated; f32. */
static inline bool training_record(training *t, const void *x, const int64_t *labels, float *loss) {
    wick_scope *scope = wick_scope_open(t->ctx);
    wick_tensor *l = training_loss(t, wick_from(t->ctx, t->in[0].dtype, 4, t->in[0].dims, x),
                                   wick_from(t->ctx, WICK_I64, 1, t->in[1].dims, labels));
    wick_status status = l ? wick_read(l, loss, sizeof *loss) : wick_context_status(t->ctx);
    CHECK_MSG(status == WICK_OK, "%s", wick_context_error(t->ctx));
    wick_scope_close(&scope);
    return status == WICK_OK;
}

/* f32 images and labels for step `step`. */
static inline void training_batch(const training *t, int step, float *x, int64_t *labels) {
    const int64_t *dims = t->in[0].dims;
    uint64_t seed = test_seed;
    test_seed = 1000 + (uint64_t)step;
    fill_random(x, dims[0] * dims[1] * dims[2] * dims[3], -1, 1);
    for (int64_t i = 0; i < dims[0]; i++) labels[i] = test_rand_int(0, CLASSES - 1);
    test_seed = seed;
}

#endif
