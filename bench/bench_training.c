/* bench_training.c: ResNet-8 trained from JPEGs that are decoded on the way: how much of what its CPU time allows is
 * reached. In turn: steps on one batch, over and over; loading alone, by the caller; both together. If a picture takes
 * a seconds of CPU time to load and b to learn from, C CPUs allow C / (a + b) pictures a second.
 *   Usage: bench_training SET [WORKERS] [THREADS] [SECONDS], SET as wick_files_open takes it; THREADS of the steps,
 *   which are the CPUs that are counted */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "wick/datasets.h"
#include "wick/wick.h"

enum { BATCH = 128, CLASSES = 10, TURNS = 5 };
static wick_model *model;
static wick_optimizer *sgd;
static wick_network network;

static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_model_set_training(model, true);
    out[0] = wick_cross_entropy(wick_zoo_build(&network, model, in[0], CLASSES), in[1]);
    return wick_optimizer_step(sgd, out[0]);
}

typedef struct cost { double real, cpu; } cost; /* seconds a picture */
static double now(clockid_t which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define CHECK(call) if ((call) != WICK_OK) fprintf(stderr, "%s\n", wick_context_error(ctx)), exit(1)

static wick_context *ctx;
static wick_workspace *work;
static double seconds = 1;

/* Batches of the loader, or one again and again, with a step of each or without. */
static cost run(wick_loader *loader, bool loads, bool steps) {
    static wick_batch b;
    int64_t n = 0;
    float loss;
    for (int warm = 0; warm < 6 || b.count < BATCH; warm++) { /* the ring is full, threads run */
        CHECK(wick_loader_take(loader, &b));
        if (steps && b.count == BATCH)
            CHECK(wick_run(work, (const void *[]){b.fields[0], b.fields[1]}, (void *[]){&loss}));
    }
    const double real = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    while (now(CLOCK_MONOTONIC) - real < seconds) {
        if (loads) CHECK(wick_loader_take(loader, &b));
        if (steps && b.count) CHECK(wick_run(work, (const void *[]){b.fields[0], b.fields[1]}, (void *[]){&loss}));
        n += b.count;
    }
    return (cost){(now(CLOCK_MONOTONIC) - real) / (double)n, (now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)n};
}

static int by_value(const void *a, const void *b) {
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}
static double median(double *x) { return qsort(x, TURNS, sizeof *x, by_value), x[TURNS / 2]; }

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: bench_training SET [WORKERS] [THREADS] [SECONDS]\n"), 2;
    const int workers = argc > 2 ? atoi(argv[2]) : 1, threads = argc > 3 ? atoi(argv[3]) : 2;
    wick_dataset *set;
    wick_transform *list;
    wick_loader *loader[2]; /* the caller's, with workers */
    wick_plan *plan;
    if (argc > 4) seconds = atof(argv[4]);
    if (wick_context_new(&(wick_context_options){.threads = threads, .seed = 1}, &ctx) != WICK_OK) return 1;
    CHECK(wick_zoo_find(ctx, "resnet8", &network));
    CHECK(wick_dataset_of_files(ctx, argv[1], &(wick_files_options){.split = "test"}, &set));
    CHECK(wick_transform_new(ctx, "crop=4,flip,normalise", &(wick_transform_options){.mean = 0.47, .deviation = 0.25},
                             wick_dataset_field(set, 0), &list));
    for (int i = 0; i < 2; i++)
        CHECK(wick_loader_new(ctx, set,
                              &(wick_loader_options){.batch = BATCH,
                                                     .shuffle = true,
                                                     .drop_last = true,
                                                     .seed = 1,
                                                     .transform = list,
                                                     .workers = i ? workers : 0},
                              &loader[i]));
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_SGD, .lr = 0.01, .momentum = 0.9}, &sgd));
    wick_spec specs[2] = {*wick_loader_field(loader[0], 0), *wick_loader_field(loader[0], 1)};
    CHECK(wick_compile(ctx, train, NULL, 2, specs, 1, NULL, &plan));
    CHECK(wick_workspace_new(plan, &work));
    double load[TURNS], step[TURNS], alone[TURNS], speed[TURNS], cpu[TURNS], part[TURNS];
    for (int t = 0; t < TURNS; t++) {
        const cost s = run(loader[0], false, true), l = run(loader[0], true, false), both = run(loader[1], true, true);
        load[t] = l.cpu * 1e6, step[t] = s.cpu * 1e6, alone[t] = 1 / s.real, speed[t] = 1 / both.real,
        cpu[t] = both.cpu * 1e6;
        part[t] = speed[t] / (threads / (l.cpu + s.cpu));
    }
    printf("%d worker%s, %d threads: a picture takes %.1f us of CPU time to load and %.1f to learn from; %.0f a second "
           "are learned from, %.0f where none is loaded; %.1f us of CPU time for each\n",
           workers, workers == 1 ? "" : "s", threads, median(load), median(step), median(speed), median(alone),
           median(cpu));
    printf("%.3f of what the CPU time allows\n", median(part));
    wick_loader_stats stats;
    wick_loader_get_stats(loader[1], &stats);
    printf("%s\n", stats.advice);
    wick_workspace_free(&work), wick_plan_free(&plan), wick_optimizer_free(&sgd), wick_model_free(&model);
    for (int i = 0; i < 2; i++) wick_loader_free(&loader[i]);
    wick_transform_free(&list), wick_dataset_free(&set), wick_context_free(&ctx);
    return 0;
}
