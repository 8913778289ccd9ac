/* dataset.c: a data set of your own. Readings of an accelerometer, of lengths of their own, are made by a function, cut
 * into windows, turned and disturbed on the way, and a network learns to tell walking from running. In the middle of
 * the second epoch the loader is thrown away; another one, with two threads, goes on where it was, to the same bits as
 * one that was not disturbed. Usage: dataset */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wick/wick.h>

enum { COUNT = 400, AXES = 3, WINDOW = 64, BATCH = 16, EPOCHS = 3 };

/* What is on the device: here a formula. A sample is [rows, 3] and a label. Any thread may ask for any sample. */
static int64_t rows(void *user, int64_t i, int field) { return (void)user, (void)field, 80 + i * 7 % 60; }
static int64_t label(void *user, int64_t i) { return (void)user, i % 2; }
static wick_status read_sample(void *user, int64_t i, void *const *out, wick_fault *fault) {
    if (i >= COUNT) return wick_fault_set(fault, WICK_ERR_IO, "device: recording %lld is missing", (long long)i);
    if (out[0])
        for (int64_t t = 0; t < rows(user, i, 0); t++)
            for (int a = 0; a < AXES; a++)
                ((float *)out[0])[t * AXES + a] =
                    (1 + 0.3f * (float)label(user, i)) *
                    sinf((float)t * (label(user, i) ? 0.55f : 0.35f) + (float)(i % 17 + a));
    if (out[1]) *(int64_t *)out[1] = label(user, i);
    return WICK_OK;
}

static wick_model *model;
static wick_optimizer *adam;
static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *h = wick_relu(wick_nn_linear(model, "fc1", wick_flatten(in[0], 1), 64)); /* [BATCH, WINDOW, AXES] */
    wick_tensor *logits = wick_nn_linear(model, "fc2", h, 2);
    out[0] = wick_cross_entropy(logits, in[1]);
    out[1] = wick_mean(wick_cast(wick_eq(wick_argmax(logits, 1, false), in[1]), WICK_F32), WICK_ALL_AXES, false);
    return wick_optimizer_step(adam, out[0]);
}

#define STOP_IF(failed, why) if (failed) return fprintf(stderr, "%s\n", why), 1
#define CHECK(call) STOP_IF((call) != WICK_OK, wick_context_error(ctx))

int main(void) {
    static float undisturbed[EPOCHS * COUNT][WINDOW * AXES];
    wick_context *ctx;
    wick_dataset *set;
    wick_transform *list;
    wick_loader *loader;
    wick_plan *plan;
    wick_workspace *work;
    wick_batch batch;
    STOP_IF(wick_context_new(NULL, &ctx) != WICK_OK, "could not start");
    const wick_dataset_source device = {.count = COUNT,
                                        .n_fields = 2,
                                        .fields = {{"readings", WICK_F32, 2, {-1, AXES}}, {"label", WICK_I64, 0, {0}}},
                                        .get = read_sample,
                                        .length = rows,
                                        .label = label,
                                        .classes = 2};
    CHECK(wick_dataset_new(ctx, &device, &set));
    CHECK(wick_transform_new(ctx, "window=64,rotate=30,scale=0.1,jitter=0.2", NULL, wick_dataset_field(set, 0), &list));
    wick_loader_options loading = {.batch = BATCH, .shuffle = true, .seed = 1, .transform = list};

    /* What a loader that nobody disturbs hands out. */
    CHECK(wick_loader_new(ctx, set, &loading, &loader));
    for (int64_t epoch = 0, at = 0; epoch < EPOCHS; epoch += !batch.count, at += batch.count) {
        CHECK(wick_loader_take(loader, &batch));
        if (batch.count) memcpy(undisturbed[at], batch.fields[0], (size_t)batch.count * sizeof *undisturbed);
    }
    wick_loader_free(&loader);

    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.003}, &adam));
    const wick_spec specs[] = {{"readings", WICK_F32, 3, {BATCH, WINDOW, AXES}}, {"label", WICK_I64, 1, {BATCH}}};
    CHECK(wick_compile(ctx, train, NULL, 2, specs, 2, NULL, &plan));
    CHECK(wick_workspace_new(plan, &work));
    CHECK(wick_loader_new(ctx, set, &loading, &loader));
    float loss, right;
    double sum = 0;
    int64_t at = 0;
    for (int64_t epoch = 0; epoch < EPOCHS;) {
        CHECK(wick_loader_take(loader, &batch));
        if (!batch.count) {
            printf("epoch %lld: %.1f %% right\n", (long long)++epoch, 100 * sum * BATCH / COUNT), sum = 0;
            continue;
        }
        STOP_IF(memcmp(undisturbed[at], batch.fields[0], (size_t)batch.count * sizeof *undisturbed) != 0,
                "another batch than an undisturbed loader's");
        /* the loader's memory, as it is */
        STOP_IF(wick_run(work, (const void *[]){batch.fields[0], batch.fields[1]}, (void *[]){&loss, &right}) !=
                    WICK_OK,
                wick_workspace_error(work));
        sum += (double)right;
        at += batch.count;
        if (at != COUNT + 10 * BATCH) continue;
        const wick_loader_place place = wick_loader_position(loader); /* what a checkpoint would keep */
        wick_loader_free(&loader);
        loading.workers = 2;
        CHECK(wick_loader_new(ctx, set, &loading, &loader));
        CHECK(wick_loader_return(loader, place));
        printf("goes on in epoch %lld behind sample %lld\n", (long long)place.epoch + 1, (long long)place.sample);
    }
    wick_loader_stats stats;
    wick_loader_get_stats(loader, &stats);
    printf("%.0f bytes of memory; reading %.1f us a sample, the list %.1f us\n%s\n", (double)stats.memory,
           stats.get.mean * 1e6, stats.transform.mean * 1e6, stats.advice);
    STOP_IF(at != EPOCHS * COUNT || !(right > 0.8f), "it was not learned");
    wick_loader_free(&loader), wick_transform_free(&list), wick_dataset_free(&set);
    wick_workspace_free(&work), wick_plan_free(&plan), wick_optimizer_free(&adam), wick_model_free(&model),
        wick_context_free(&ctx);
}
