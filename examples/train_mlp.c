/* train_mlp.c: train a two-layer network on images.   Usage: train_mlp [DATA] [EPOCHS], e.g. train_mlp fashion-mnist 5
 */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>
enum { BATCH = 100, PIXELS = 28 * 28, CLASSES = 10 };
static wick_model *model;
static wick_optimizer *adam;

static wick_tensor *network(wick_tensor *x) { /* [BATCH, 28, 28] -> [BATCH, 10] */
    wick_tensor *h = wick_relu(wick_nn_linear(model, "fc1", wick_flatten(x, 1), 128));
    return wick_nn_linear(model, "fc2", h, CLASSES);
}
/* One step: forward, backward and update become one plan. */
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_cross_entropy(network(in[0]), in[1]);
    return wick_optimizer_step(adam, out[0]);
}
/* The share of a batch that is recognised. */
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *right = wick_eq(wick_argmax(network(in[0]), 1, false), in[1]);
    out[0] = wick_mean(wick_cast(right, WICK_F32), WICK_ALL_AXES, false);
    return WICK_OK;
}
#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "fashion-mnist", *splits[] = {"train", "test"};
    static wick_context *ctx;
    static wick_dataset *data[2];
    static wick_loader *loader[2];
    static wick_plan *plan[2];
    static wick_workspace *work[2];
    static float x[BATCH * PIXELS], value;
    static int64_t y[BATCH];
    wick_spec specs[] = {{"x", WICK_F32, 3, {BATCH, 28, 28}}, {"y", WICK_I64, 1, {BATCH}}};
    STOP_IF(wick_context_new(NULL, &ctx) != WICK_OK, "could not start");
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.001}, &adam));
    for (int i = 0; i < 2; i++) {
        CHECK(wick_dataset_open(ctx, name, splits[i], &data[i]));
        const int64_t *dims = wick_dataset_dims(data[i]);
        STOP_IF(wick_dataset_rank(data[i]) != 2 || dims[0] != 28 || dims[1] != 28, "the images must be 28 x 28");
        wick_loader_options loading = {.batch = BATCH, .shuffle = true, .drop_last = true};
        CHECK(wick_loader_new(ctx, data[i], &loading, &loader[i]));
        CHECK(wick_compile(ctx, i ? test : train, NULL, 2, specs, 1, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
    }
    for (int epoch = 0; epoch < (argc > 2 ? atoi(argv[2]) : 5); epoch++)
        for (int i = 0; i < 2; i++) { /* all of the training images, then all of the test images */
            double sum = 0;
            for (int64_t n = 1; n; sum += n ? (double)value : 0) { /* n 0: the epoch has ended */
                CHECK(wick_loader_next(loader[i], x, y, &n));
                STOP_IF(n && wick_run(work[i], (const void *[]){x, y}, (void *[]){&value}),
                        wick_workspace_error(work[i]));
            }
            printf(i ? "  accuracy %.4f\n" : "loss %.4f", sum / (double)wick_loader_batches(loader[i]));
        }
}
