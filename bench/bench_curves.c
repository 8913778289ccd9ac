/* bench_curves.c: ResNet-8 on CIFAR-10, for bench/curves.py to lay beside PyTorch's from the same start.
 *
 *   bench_curves write DIR STEPS BATCH           first values (weights.safetensors) and batches (images.f32, labels.i64)
 *   bench_curves train DIR STEPS BATCH THREADS   trains on those; prints the losses as a JSON list */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick/wick.h"

enum { CLASSES = 10, SAMPLE = 3 * 32 * 32 };

static wick_model *model;
static wick_network network;
static wick_optimizer *optimizer;

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_cross_entropy(wick_zoo_build(&network, model, in[0], CLASSES), in[1]);
    return wick_optimizer_step(optimizer, out[0]);
}

static FILE *open_in(const char *folder, const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    if (!f) perror(path), exit(1);
    return f;
}

static wick_status write_batches(wick_context *ctx, const char *folder, long steps, int64_t batch, float *x, int64_t *labels) {
    wick_dataset *data = NULL;
    wick_loader *loader = NULL;
    wick_loader_options options = {.batch = batch, .shuffle = true, .drop_last = true, .seed = 1};
    wick_status status = wick_dataset_open(ctx, "cifar10", "train", &data);
    if (status != WICK_OK) return status;
    wick_dataset_moments(data, &options.mean, &options.deviation);
    status = wick_loader_new(ctx, data, &options, &loader);
    if (status == WICK_OK && wick_loader_batches(loader) < 1) status = wick_context_fail(ctx, WICK_ERR_INVALID, "there is not one batch of so many");
    FILE *images = open_in(folder, "images.f32", "wb"), *numbers = open_in(folder, "labels.i64", "wb");
    for (long i = 0; status == WICK_OK && i < steps; i++) {
        while (wick_loader_next(loader, x, labels) == 0) continue; /* the epoch's end */
        if (fwrite(x, sizeof *x * SAMPLE, (size_t)batch, images) != (size_t)batch || fwrite(labels, sizeof *labels, (size_t)batch, numbers) != (size_t)batch)
            status = wick_context_fail(ctx, WICK_ERR_IO, "writing to %s failed", folder);
    }
    if ((fclose(images) | fclose(numbers)) && status == WICK_OK) status = wick_context_fail(ctx, WICK_ERR_IO, "writing to %s failed", folder);
    wick_loader_free(&loader);
    wick_dataset_free(&data);
    return status;
}

static wick_status train(wick_context *ctx, wick_plan *plan, const char *folder, long steps, int64_t batch, float *x, int64_t *labels) {
    wick_workspace *ws = NULL;
    wick_status status = wick_workspace_new(plan, &ws);
    FILE *images = open_in(folder, "images.f32", "rb"), *numbers = open_in(folder, "labels.i64", "rb");
    for (long i = 0; status == WICK_OK && i < steps; i++) {
        float loss = 0;
        if (fread(x, sizeof *x * SAMPLE, (size_t)batch, images) != (size_t)batch || fread(labels, sizeof *labels, (size_t)batch, numbers) != (size_t)batch)
            status = wick_context_fail(ctx, WICK_ERR_IO, "%s has fewer than %ld batches of %lld", folder, steps, (long long)batch);
        else if ((status = wick_run(ws, (const void *[]){x, labels}, (void *[]){&loss})) != WICK_OK)
            status = wick_context_fail(ctx, status, "%s", wick_workspace_error(ws));
        else
            printf("%s%.9g", i ? ", " : "[", loss);
    }
    puts("]");
    fclose(images);
    fclose(numbers);
    wick_workspace_free(&ws);
    return status;
}

int main(int argc, char **argv) {
    const bool writes = argc == 5 && strcmp(argv[1], "write") == 0;
    if (!writes && (argc != 6 || strcmp(argv[1], "train") != 0)) return fprintf(stderr, "usage: bench_curves write|train DIR STEPS BATCH [THREADS]\n"), 2;
    const long steps = atol(argv[3]), batch = atol(argv[4]);
    float *x = malloc((size_t)batch * SAMPLE * sizeof *x);
    int64_t *labels = malloc((size_t)batch * sizeof *labels);
    const wick_spec in[2] = {{"x", WICK_F32, 4, {batch, 3, 32, 32}}, {"labels", WICK_I64, 1, {batch}}};
    char weights[4096];
    snprintf(weights, sizeof weights, "%s/weights.safetensors", argv[2]);

    wick_context *ctx;
    wick_plan *plan = NULL;
    if (!x || !labels || wick_context_new(&ctx, &(wick_context_options){.threads = writes ? 1 : atoi(argv[5]), .seed = 1})) return 1;
    wick_status status = wick_model_new(ctx, &model);
    if (status == WICK_OK) status = wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9}, &optimizer);
    if (status == WICK_OK) status = wick_zoo_find(ctx, "resnet8", &network);
    if (status == WICK_OK) status = wick_compile(ctx, step, NULL, 2, in, 1, NULL, &plan); /* makes the states */
    if (writes) {
        if (status == WICK_OK) status = wick_save(model, weights, &(wick_save_options){.weights_only = true});
        if (status == WICK_OK) status = write_batches(ctx, argv[2], steps, batch, x, labels);
    } else {
        wick_checkpoint *file = NULL;
        if (status == WICK_OK) status = wick_checkpoint_open(ctx, weights, &file);
        if (status == WICK_OK) status = wick_checkpoint_load(file, model, false);
        wick_checkpoint_free(&file);
        if (status == WICK_OK) status = train(ctx, plan, argv[2], steps, batch, x, labels);
    }
    if (status != WICK_OK) fprintf(stderr, "%s\n", wick_context_error(ctx));
    wick_plan_free(&plan);
    wick_optimizer_free(&optimizer);
    wick_model_free(&model);
    wick_context_free(&ctx);
    free(x);
    free(labels);
    return status != WICK_OK;
}
