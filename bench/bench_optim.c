/* bench_optim.c: one update of four f32 parameters [512, 512], gradients given, by each rule; for bench/optim.py to interleave with PyTorch's.
 *
 *   bench_optim THREADS RULE     RULE: one of the table below
 *
 * For every line on stdin runs the update 20 times and prints the median in us: of one thread the time it computed, which others on the machine
 * do not lengthen, of more the time that passed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "wick/wick.h"

enum { PARAMS = 4, SIDE = 512, ROUNDS = 20 };

static const struct {
    const char *name;
    wick_optim_options options;
} rules[] = {
    {"sgd", {.lr = 1e-6}},
    {"momentum", {.lr = 1e-6, .momentum = 0.9}},
    {"adam", {.kind = WICK_ADAM, .lr = 1e-6}},
    {"adamw", {.kind = WICK_ADAMW, .lr = 1e-6, .weight_decay = 0.01}},
    {"adamax", {.kind = WICK_ADAMAX, .lr = 1e-6}},
    {"nadam", {.kind = WICK_NADAM, .lr = 1e-6}},
    {"radam", {.kind = WICK_RADAM, .lr = 1e-6}},
    {"rmsprop", {.kind = WICK_RMSPROP, .lr = 1e-6}},
    {"adagrad", {.kind = WICK_ADAGRAD, .lr = 1e-6}},
    {"adadelta", {.kind = WICK_ADADELTA, .lr = 1e-6}},
    {"lion", {.kind = WICK_LION, .lr = 1e-6}},
    {"lamb", {.kind = WICK_LAMB, .lr = 1e-6}},
    {"muon", {.kind = WICK_MUON, .lr = 1e-6}},
    {"adamw+ema", {.kind = WICK_ADAMW, .lr = 1e-6, .weight_decay = 0.01, .average = {.kind = WICK_AVERAGE_EMA}}},
    {"adamw+clip", {.kind = WICK_ADAMW, .lr = 1e-6, .weight_decay = 0.01, .clip_norm = 1}},
    {"momentum+decay", {.lr = 1e-6, .momentum = 0.9, .weight_decay = 1e-4}},
    {"nesterov+decay", {.lr = 1e-6, .momentum = 0.9, .weight_decay = 1e-4, .nesterov = true}},
    {"lion+decay", {.kind = WICK_LION, .lr = 1e-6, .weight_decay = 0.01}},
    {"adam+clip", {.kind = WICK_ADAM, .lr = 1e-6, .clip_norm = 1}},
};

/* The parameter's gradient is the other tensor, whatever the loss. */
static void given(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)g, (void)y, (void)n;
    gx[0] = xs[1];
}

static wick_optimizer *optimizer;
static wick_status update(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_tensor *loss = wick_constant(ctx, WICK_F32, 0);
    for (int i = 0; i < PARAMS; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", i);
        wick_tensor *p = wick_model_state(user, name, WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(SIDE, SIDE), (wick_init){WICK_INIT_NORMAL, 0, 0.02});
        loss = wick_add(loss, wick_custom_gradient(wick_constant(ctx, WICK_F32, 1), 2, (wick_tensor *[]){p, in[i]}, given, NULL));
    }
    out[0] = loss;
    return wick_optimizer_step(optimizer, loss);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    size_t r = 0;
    while (argc == 3 && r < sizeof rules / sizeof rules[0] && strcmp(argv[2], rules[r].name) != 0) r++;
    if (argc != 3 || r == sizeof rules / sizeof rules[0]) return fprintf(stderr, "usage: bench_optim THREADS RULE\n"), 2;
    wick_context *ctx = NULL;
    wick_model *model = NULL;
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_spec specs[PARAMS];
    static float gradients[PARAMS][SIDE * SIDE];
    const void *in[PARAMS];
    for (int i = 0; i < PARAMS; i++) {
        specs[i] = (wick_spec){.dtype = WICK_F32, .rank = 2, .dims = {SIDE, SIDE}};
        for (int k = 0; k < SIDE * SIDE; k++) gradients[i][k] = (float)((k * 7919 + i * 13) % 2003 - 1001) * 1e-4f;
        in[i] = gradients[i];
    }
    if (wick_context_new(&ctx, &(wick_context_options){.threads = atoi(argv[1])}) || wick_model_new(ctx, &model) ||
        wick_optimizer_new(model, &rules[r].options, &optimizer) || wick_compile(ctx, update, model, PARAMS, specs, 1, NULL, &plan) ||
        wick_workspace_new(plan, &ws))
        return fprintf(stderr, "%s\n", ctx ? wick_context_error(ctx) : "no context"), 1;
    if (getenv("KERNELS")) {
        static char text[1 << 16];
        wick_plan_format(plan, text, sizeof text);
        fputs(text, stderr);
    }
    float loss;
    const bool alone = atoi(argv[1]) == 1;
    for (int c; (c = getchar()) != EOF;) {
        double took[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            const double start = bench_us(alone);
            if (wick_run(ws, in, (void *[]){&loss})) return fprintf(stderr, "%s\n", wick_workspace_error(ws)), 1;
            took[i] = bench_us(alone) - start;
        }
        qsort(took, ROUNDS, sizeof *took, by_size);
        printf("%.1f\n", took[ROUNDS / 2]);
        fflush(stdout);
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_optimizer_free(&optimizer);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return 0;
}
