/* bench_curves.c: ResNet-8 on CIFAR-10, or the LSTM of examples/char_lstm.c on a text, for bench/curves.py to lay
 * beside PyTorch's from the same start.
 *
 *   bench_curves write resnet8|lstm DIR STEPS BATCH           first values (weights.safetensors) and batches (in0, in1:
 *                                                             raw, one after the other)
 *   bench_curves train resnet8|lstm DIR STEPS BATCH THREADS   trains on those; prints the losses as a JSON list
 *
 * Data are found as the command finds them, the text as $WICK_DATA/text/tinyshakespeare.txt. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick/wick.h"

enum { CLASSES = 10, SIDE = 32, T = 64, UNITS = 256, IN_MAX = 2 };

typedef struct run run;
typedef struct task {
    const char *name;
    int n_in;
    wick_spec in[IN_MAX]; /* a dim of 0 is the batch */
    wick_optim_options optim;
    wick_status (*open)(run *r, int64_t batch);
    wick_tensor *(*loss)(run *r, wick_tensor *const *in);
    wick_status (*draw)(run *r, int64_t batch); /* fills data */
} task;
struct run {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    const task *task;
    wick_spec in[IN_MAX];
    void *data[IN_MAX];
    size_t bytes[IN_MAX];
    wick_network network;
    wick_dataset *set;
    wick_loader *loader;
    unsigned char *text;
    size_t size;
    int64_t id_of[256], symbols;
};

/* ---- ResNet-8 ---------------------------------------------------------------------------------------------------- */

static wick_status resnet8_open(run *r, int64_t batch) {
    wick_loader_options options = {.batch = batch, .shuffle = true, .drop_last = true, .seed = 1};
    wick_status status = wick_zoo_find(r->ctx, "resnet8", &r->network);
    if (status == WICK_OK) status = wick_dataset_open(r->ctx, "cifar10", "train", &r->set);
    if (status != WICK_OK) return status;
    status = wick_dataset_moments(r->ctx, r->set, &options.mean, &options.deviation);
    if (status == WICK_OK) status = wick_loader_new(r->ctx, r->set, &options, &r->loader);
    if (status != WICK_OK || wick_loader_batches(r->loader) > 0) return status;
    return wick_context_fail(r->ctx, WICK_ERR_INVALID, "there is not one batch of so many");
}
static wick_tensor *resnet8_loss(run *r, wick_tensor *const *in) {
    return wick_cross_entropy(wick_zoo_build(&r->network, r->model, in[0], CLASSES), in[1]);
}
static wick_status resnet8_draw(run *r, int64_t batch) {
    (void)batch;
    int64_t n = 0;
    wick_status status;
    do status = wick_loader_next(r->loader, r->data[0], r->data[1], &n);
    while (status == WICK_OK && n == 0); /* an epoch's end */
    return status;
}

/* ---- the LSTM ---------------------------------------------------------------------------------------------------- */

static wick_status lstm_open(run *r, int64_t batch) {
    const char *folder = getenv("WICK_DATA");
    char path[4096];
    (void)batch;
    snprintf(path, sizeof path, "%s/text/tinyshakespeare.txt", folder ? folder : ".");
    FILE *f = fopen(path, "rb");
    if (!f)
        return wick_context_fail(r->ctx, WICK_ERR_IO, "%s: cannot be read; WICK_DATA names the folder of data", path);
    r->text = malloc(1 << 24);
    r->size = r->text ? fread(r->text, 1, 1 << 24, f) : 0;
    fclose(f);
    if (r->size < 1000) return wick_context_fail(r->ctx, WICK_ERR_IO, "%s: too short", path);
    for (size_t i = 0; i < r->size; i++) r->id_of[r->text[i]] = 1;
    for (int i = 0; i < 256; i++)
        if (r->id_of[i]) r->id_of[i] = r->symbols++;
    return WICK_OK;
}
static wick_tensor *lstm_loss(run *r, wick_tensor *const *in) {
    const int64_t places = T * wick_tensor_dim(in[0], 1);
    wick_tensor *ids = wick_slice(in[0], 0, 0, T, 1), *next = wick_slice(in[0], 0, 1, T + 1, 1);
    wick_tensor *y = wick_nn_embedding(r->model, "embed", ids, r->symbols, UNITS, WICK_F32);
    y = wick_nn_linear(r->model, "head", wick_nn_lstm(r->model, "lstm", y, UNITS, NULL, NULL, NULL), r->symbols);
    return wick_cross_entropy(wick_reshape(y, 2, (int64_t[]){places, r->symbols}), wick_reshape(next, 1, &places));
}
static wick_status lstm_draw(run *r, int64_t batch) {
    static uint64_t dice = 1; /* Knuth's MMIX generator */
    int64_t *ids = r->data[0];
    for (int64_t b = 0; b < batch; b++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        const size_t at = (size_t)((double)(dice >> 11) * 0x1p-53 * (double)(r->size - T - 1));
        for (int64_t t = 0; t <= T; t++) ids[t * batch + b] = r->id_of[r->text[at + (size_t)t]];
    }
    return WICK_OK;
}

static const task tasks[] = {
    {.name = "resnet8",
     .n_in = 2,
     .in = {{"x", WICK_F32, 4, {0, 3, SIDE, SIDE}}, {"labels", WICK_I64, 1, {0}}},
     .optim = {.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9},
     .open = resnet8_open,
     .loss = resnet8_loss,
     .draw = resnet8_draw},
    {.name = "lstm",
     .n_in = 1,
     .in = {{"text", WICK_I64, 2, {T + 1, 0}}},
     .optim = {.kind = WICK_ADAM, .lr = 0.002, .clip_norm = 1},
     .open = lstm_open,
     .loss = lstm_loss,
     .draw = lstm_draw},
};

/* ---- both -------------------------------------------------------------------------------------------------------- */

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    run *r = user;
    (void)ctx;
    out[0] = r->task->loss(r, in);
    return wick_optimizer_step(r->optimizer, out[0]);
}

/* Batches to files, or from files and through the plan, which may be NULL. */
static wick_status go(run *r, wick_plan *plan, const char *folder, long steps, int64_t batch) {
    FILE *files[IN_MAX] = {NULL};
    wick_workspace *ws = NULL;
    wick_status status = plan ? wick_workspace_new(plan, &ws) : WICK_OK;
    for (int k = 0; status == WICK_OK && k < r->task->n_in; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/in%d", folder, k);
        files[k] = fopen(path, plan ? "rb" : "wb");
        if (!files[k]) status = wick_context_fail(r->ctx, WICK_ERR_IO, "%s: cannot be opened", path);
    }
    for (long i = 0; status == WICK_OK && i < steps; i++) {
        float loss = 0;
        size_t done = 0;
        if (!plan && (status = r->task->draw(r, batch)) != WICK_OK) break;
        for (int k = 0; k < r->task->n_in; k++)
            done += plan ? fread(r->data[k], r->bytes[k], 1, files[k]) : fwrite(r->data[k], r->bytes[k], 1, files[k]);
        if (done != (size_t)r->task->n_in)
            status = wick_context_fail(r->ctx, WICK_ERR_IO, "%s: batch %ld cannot be read or written", folder, i);
        else if (plan && (status = wick_run(ws, (const void *const *)r->data, (void *[]){&loss})) != WICK_OK)
            status = wick_context_fail(r->ctx, status, "%s", wick_workspace_error(ws));
        else if (plan)
            printf("%s%.9g%s", i ? ", " : "[", loss, i == steps - 1 ? "]\n" : "");
    }
    for (int k = 0; k < r->task->n_in; k++)
        if (files[k] && fclose(files[k]) && status == WICK_OK)
            status = wick_context_fail(r->ctx, WICK_ERR_IO, "writing to %s failed", folder);
    wick_workspace_free(&ws);
    return status;
}

int main(int argc, char **argv) {
    const bool writes = argc == 6 && strcmp(argv[1], "write") == 0;
    static run r;
    for (size_t i = 0; argc > 2 && i < sizeof tasks / sizeof *tasks; i++)
        if (strcmp(argv[2], tasks[i].name) == 0) r.task = &tasks[i];
    if (!r.task || (!writes && (argc != 7 || strcmp(argv[1], "train") != 0)))
        return fprintf(stderr, "usage: bench_curves write|train resnet8|lstm DIR STEPS BATCH [THREADS]\n"), 2;
    const long steps = atol(argv[4]), batch = atol(argv[5]);
    for (int k = 0; k < r.task->n_in; k++) {
        r.in[k] = r.task->in[k];
        r.bytes[k] = wick_dtype_size(r.in[k].dtype);
        for (int d = 0; d < r.in[k].rank; d++) {
            if (!r.in[k].dims[d]) r.in[k].dims[d] = batch;
            r.bytes[k] *= (size_t)r.in[k].dims[d];
        }
        if (!(r.data[k] = malloc(r.bytes[k]))) return 1;
    }
    char weights[4096];
    snprintf(weights, sizeof weights, "%s/weights.safetensors", argv[3]);

    wick_plan *plan = NULL;
    if (wick_context_new(&(wick_context_options){.threads = writes ? 1 : atoi(argv[6]), .seed = 1}, &r.ctx)) return 1;
    wick_status status = wick_model_new(r.ctx, &r.model);
    if (status == WICK_OK) status = wick_optimizer_new(r.model, &r.task->optim, &r.optimizer);
    if (status == WICK_OK) status = r.task->open(&r, batch);
    /* makes the states */
    if (status == WICK_OK) status = wick_compile(r.ctx, step, &r, r.task->n_in, r.in, 1, NULL, &plan);
    if (writes) {
        if (status == WICK_OK) status = wick_save(r.model, weights, &(wick_save_options){.weights_only = true});
    } else {
        wick_checkpoint *file = NULL;
        if (status == WICK_OK) status = wick_checkpoint_open(r.ctx, weights, &file);
        if (status == WICK_OK) status = wick_checkpoint_load(file, r.model, false);
        wick_checkpoint_free(&file);
    }
    if (status == WICK_OK) status = go(&r, writes ? NULL : plan, argv[3], steps, batch);
    if (status != WICK_OK) fprintf(stderr, "%s\n", wick_context_error(r.ctx));
    wick_plan_free(&plan);
    wick_optimizer_free(&r.optimizer);
    wick_model_free(&r.model);
    wick_loader_free(&r.loader);
    wick_dataset_free(&r.set);
    wick_context_free(&r.ctx);
    for (int k = 0; k < IN_MAX; k++) free(r.data[k]);
    free(r.text);
    return status != WICK_OK;
}
