/* resnet8_cifar.c: a residual network (He et al. 2016) of 78,000 weights on CIFAR-10, with flips and crops.
 * Usage: resnet8_cifar [DATA] [EPOCHS] [IMAGES], e.g. resnet8_cifar cifar10 30; IMAGES: at most so many of each split,
 * for a quick look */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>
enum { BATCH = 100, SIDE = 32, CLASSES = 10 };
static wick_model *model;
static wick_optimizer *sgd;

/* Convolution without bias (the norm has one), batch norm. Names are paths: "block2.conv1.weight". */
static wick_tensor *conv_norm(const char *conv, const char *norm, wick_tensor *x, int64_t channels, int64_t kernel,
                              int64_t stride) {
    const wick_nn_conv_options options = {.same = true, .stride = stride, .no_bias = true};
    return wick_nn_batch_norm(model, norm, wick_nn_conv(model, conv, x, channels, kernel, &options));
}

/* relu(x + f(x)), f: two convolutions of 3 x 3. Where the shape changes, x goes through a convolution of 1 x 1. */
static wick_tensor *block(const char *name, wick_tensor *x, int64_t channels, int64_t stride) {
    if (wick_model_push(model, name) != WICK_OK) return NULL;
    wick_tensor *f = wick_relu(conv_norm("conv1", "norm1", x, channels, 3, stride));
    f = conv_norm("conv2", "norm2", f, channels, 3, 1);
    if (stride != 1 || wick_tensor_dim(x, 1) != channels) x = conv_norm("shortcut", "norm3", x, channels, 1, stride);
    wick_model_pop(model);
    return wick_relu(wick_add(x, f));
}

static wick_tensor *network(wick_tensor *x) {                         /* [BATCH, 3, 32, 32] */
    x = wick_relu(conv_norm("conv", "norm", x, 16, 3, 1));            /* [BATCH, 16, 32, 32] */
    x = block("block1", x, 16, 1);                                    /* [BATCH, 16, 32, 32] */
    x = block("block2", x, 32, 2);                                    /* [BATCH, 32, 16, 16] */
    x = block("block3", x, 64, 2);                                    /* [BATCH, 64, 8, 8] */
    x = wick_flatten(wick_adaptive_avg_pool(x, NULL), 1);             /* [BATCH, 64] */
    return wick_nn_linear(model, "fc", x, CLASSES);                   /* [BATCH, 10] */
}

/* Records what each batch gives: its mean loss, and the share that is recognised. */
static wick_status measure(wick_tensor *const *in, wick_tensor **out) {
    wick_tensor *logits = network(in[0]), *right = wick_eq(wick_argmax(logits, 1, false), in[1]);
    out[0] = wick_cross_entropy(logits, in[1]);
    out[1] = wick_mean(wick_cast(right, WICK_F32), WICK_ALL_AXES, false);
    return WICK_OK;
}
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, true); /* batch norm takes the batch's statistics, and remembers them */
    const wick_status status = measure(in, out);
    return status == WICK_OK ? wick_optimizer_step(sgd, out[0]) : status;
}
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, false);
    return measure(in, out);
}
#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "cifar10", *splits[] = {"train", "test"};
    const int epochs = argc > 2 ? atoi(argv[2]) : 30, images = argc > 3 ? atoi(argv[3]) : 0;
    static wick_context *ctx;
    static wick_dataset *data[2];
    static wick_loader *loader[2];
    static wick_plan *plan[2];
    static wick_workspace *work[2];
    static float x[BATCH * 3 * SIDE * SIDE], loss, right;
    static int64_t y[BATCH], batches[2];
    wick_spec specs[] = {{"x", WICK_F32, 4, {BATCH, 3, SIDE, SIDE}}, {"y", WICK_I64, 1, {BATCH}}};
    STOP_IF(epochs < 1 || (argc > 3 && images < BATCH), "EPOCHS is at least 1, IMAGES at least 100");
    STOP_IF(wick_context_new(&(wick_context_options){.seed = 1}, &ctx) != WICK_OK, "could not start");
    CHECK(wick_model_new(ctx, &model));
    for (int i = 0; i < 2; i++) {
        CHECK(wick_dataset_open(ctx, name, splits[i], &data[i]));
        if (images) CHECK(wick_dataset_limit(ctx, data[i], images));
        const int64_t *dims = wick_dataset_dims(data[i]);
        STOP_IF(wick_dataset_rank(data[i]) != 3 || dims[0] != 3 || dims[1] != SIDE || dims[2] != SIDE,
                "the images must be 3 x 32 x 32");
        STOP_IF(wick_dataset_classes(data[i]) > CLASSES, "the images must be of 10 classes");
        wick_loader_options loading = {.batch = BATCH, .shuffle = i == 0, .drop_last = true, .seed = 1};
        if (i == 0) loading.flip = true, loading.crop = 2; /* the test images stay as they are */
        CHECK(wick_dataset_moments(ctx, data[0], &loading.mean, &loading.deviation));
        CHECK(wick_loader_new(ctx, data[i], &loading, &loader[i]));
        batches[i] = wick_loader_batches(loader[i]);
    }
    const int64_t steps = epochs * batches[0];
    const wick_optim_options optim = {.kind = WICK_SGD,
                                      .lr = 0.12,
                                      .momentum = 0.9,
                                      .nesterov = true,
                                      .weight_decay = 2e-4,
                                      .schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = steps / 40, .total = steps}};
    CHECK(wick_optimizer_new(model, &optim, &sgd));
    for (int i = 0; i < 2; i++) {
        CHECK(wick_compile(ctx, i ? test : train, NULL, 2, specs, 2, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
    }
    for (int epoch = 0; epoch < epochs; epoch++)
        for (int i = 0; i < 2; i++) { /* training images, then test images */
            double losses = 0, rights = 0;
            CHECK(wick_loader_seek(loader[i], epoch, 0));
            for (int64_t k = 0; k < batches[i]; k++, losses += (double)loss, rights += (double)right) {
                CHECK(wick_loader_next(loader[i], x, y, NULL));
                STOP_IF(wick_run(work[i], (const void *[]){x, y}, (void *[]){&loss, &right}),
                        wick_workspace_error(work[i]));
            }
            if (i == 0) printf("epoch %d", epoch + 1);
            printf("  %s: loss %.4f, accuracy %.4f%s", splits[i], losses / (double)batches[i],
                   rights / (double)batches[i], i ? "\n" : "");
            fflush(stdout);
        }
}
