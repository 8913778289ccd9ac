/* finetune.c: give a trained network another task: its weights, but a new last layer, which alone is trained.
 * Usage: finetune MODEL [DATA] [EPOCHS], e.g. after wick train --data mnist --arch cnn --out run:
 *        finetune run/best.safetensors fashion-mnist 2 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/wick.h>
enum { BATCH = 50 };
static wick_model *model;
static wick_optimizer *adam;
static wick_network network;
static int64_t classes;

static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_cross_entropy(wick_zoo_build(&network, model, in[0], classes), in[1]);
    return wick_optimizer_step(adam, out[0]);
}
/* The share of a batch that is recognised. */
static wick_status test(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *right = wick_eq(wick_argmax(wick_zoo_build(&network, model, in[0], classes), 1, false), in[1]);
    out[0] = wick_mean(wick_cast(right, WICK_F32), WICK_ALL_AXES, false);
    return WICK_OK;
}
#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))

int main(int argc, char **argv) {
    const char *data = argc > 2 ? argv[2] : "fashion-mnist", *splits[] = {"test", "train"}, *says = NULL;
    static wick_context *ctx;
    static wick_checkpoint *file;
    static wick_dataset *set[2];
    static wick_loader *loader[2];
    static wick_plan *plan[2];
    static wick_workspace *work[2];
    static int64_t y[BATCH];
    wick_loader_options loading = {.batch = BATCH, .shuffle = true, .drop_last = true};
    wick_load_report report;
    STOP_IF(argc < 2, "usage: finetune MODEL [DATA] [EPOCHS]");
    STOP_IF(wick_context_new(NULL, &ctx) != WICK_OK, "could not start");
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.005}, &adam));
    CHECK(wick_checkpoint_open(ctx, argv[1], &file));
    STOP_IF(!(says = wick_checkpoint_meta(file, "arch")),
            "the file does not say which network it is of: wick train writes such files");
    CHECK(wick_zoo_find(ctx, says, &network));
    /* The network goes on seeing pixels as it did. */
    if ((says = wick_checkpoint_meta(file, "mean"))) loading.mean = strtod(says, NULL);
    if ((says = wick_checkpoint_meta(file, "deviation"))) loading.deviation = strtod(says, NULL);

    for (int i = 0; i < 2; i++) CHECK(wick_dataset_open(ctx, data, splits[i], &set[i]));
    wick_spec specs[] = {{"x", WICK_F32, 1 + wick_dataset_rank(set[1]), {BATCH}}, {"y", WICK_I64, 1, {BATCH}}};
    int64_t pixels = BATCH;
    for (int d = 1; d < specs[0].rank; d++) pixels *= specs[0].dims[d] = wick_dataset_dims(set[1])[d - 1];
    float *x = malloc((size_t)pixels * sizeof *x), value;
    STOP_IF(!x, "out of memory");
    classes = wick_dataset_classes(set[1]);

    for (int i = 0; i < 2; i++) {
        wick_model_set_training(model, i);
        CHECK(wick_compile(ctx, i ? train : test, NULL, 2, specs, 1, NULL, &plan[i]));
        CHECK(wick_workspace_new(plan[i], &work[i]));
        CHECK(wick_loader_new(ctx, set[i], &loading, &loader[i]));
        if (i) continue;
        /* Now the model has its states. The head is the layer that was made last: "fc3.weight", "fc3.bias". */
        char head[300];
        snprintf(head, sizeof head, "%s", wick_model_at(model, wick_model_count(model) - 1).name);
        snprintf(strrchr(head, '.'), 3, ".*");
        CHECK(wick_checkpoint_load_some(file, model, &(wick_load_options){.skip = head}, &report));
        printf("%d states of %s; %s is new\n", report.loaded, argv[1], head);
        CHECK(wick_model_freeze(model, "*", true));
        CHECK(wick_model_freeze(model, head, false));
    }
    for (int epoch = 0, epochs = argc > 3 ? atoi(argv[3]) : 2; epoch <= epochs; epoch++)
        /* but for the first time, all of the training images; then all of the test images */
        for (int i = epoch > 0; i >= 0; i--) {
            double sum = 0;
            for (int64_t n = 1; n; sum += n ? (double)value : 0) { /* n 0: the epoch has ended */
                CHECK(wick_loader_next(loader[i], x, y, &n));
                STOP_IF(n && wick_run(work[i], (const void *[]){x, y}, (void *[]){&value}),
                        wick_workspace_error(work[i]));
            }
            if (!i) printf("accuracy after %d epochs: %.4f\n", epoch, sum / (double)wick_loader_batches(loader[i]));
        }
    free(x);
}
