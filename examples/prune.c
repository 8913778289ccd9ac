/* prune.c: a network that learned to tell points within a ring from those outside loses half of its hidden units, and
 * is trained on: how many points are right at each step, and how many multiply-adds a point takes. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <wick/wick.h>

enum { POINTS = 512, HIDDEN = 32 };
static float points[POINTS][2];
static int64_t inside[POINTS];

/* [n, 2] -> scores of both classes. */
static wick_status network(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *model) {
    (void)ctx;
    wick_tensor *h = wick_relu(wick_nn_linear(model, "in", in[0], HIDDEN));
    out[0] = wick_nn_linear(model, "out", wick_relu(wick_nn_linear(model, "mid", h, HIDDEN)), 2);
    return WICK_OK;
}

/* Trains the parameters of a model that fn uses. */
static wick_status train(wick_context *ctx, wick_model *model, wick_function fn, void *user, int steps) {
    wick_optimizer *optimizer = NULL;
    wick_status status = WICK_OK;
    for (int step = 0; step < steps && !status; step++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(POINTS, 2), points), *scores;
        wick_tensor *labels = wick_from(ctx, WICK_I64, WICK_DIMS(POINTS), inside);
        status = fn(ctx, &x, &scores, user);
        if (!status && !optimizer)
            status = wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.01}, &optimizer);
        if (!status) status = wick_optimizer_step(optimizer, wick_cross_entropy(scores, labels));
        if (!status) status = wick_eval(ctx, 0, NULL, NULL);
        wick_scope_close(&scope);
    }
    wick_optimizer_free(&optimizer);
    return status;
}

/* How many points fn has right. */
static wick_status measure(wick_context *ctx, wick_function fn, void *user, const wick_spec *spec, int *right) {
    static float scores[POINTS][2];
    wick_plan *plan = NULL;
    wick_workspace *workspace = NULL;
    wick_status status = wick_compile(ctx, fn, user, 1, spec, 1, NULL, &plan);
    if (!status) status = wick_workspace_new(plan, &workspace);
    if (!status) status = wick_run(workspace, (const void *[]){points}, (void *[]){scores});
    *right = 0;
    for (int i = 0; i < POINTS && !status; i++) *right += (scores[i][1] > scores[i][0]) == inside[i];
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    return status;
}

int main(void) {
    wick_context *ctx;
    wick_model *model = NULL;
    wick_pruner *p = NULL;
    int whole = 0, pruned = 0, trained = 0;
    double before = 0, after = 0;
    if (wick_context_new(&(wick_context_options){.seed = 1}, &ctx)) return 1;
    for (int i = 0; i < POINTS; i++) { /* along two turns of a spiral, at distances from 0 to 1.5 */
        const double turn = 0.61803398875 * 6.283185307 * i, r = 1.5 * sqrt((i + 0.5) / POINTS);
        points[i][0] = (float)(r * cos(turn)), points[i][1] = (float)(r * sin(turn));
        inside[i] = r > 0.5 && r < 1.1;
    }
    const wick_spec spec = {.name = "points", .dtype = WICK_F32, .rank = 2, .dims = {POINTS, 2}};
    wick_status status = wick_model_new(ctx, &model);
    if (!status) status = train(ctx, model, network, model, 300);
    if (!status) status = measure(ctx, network, model, &spec, &whole);
    if (!status) wick_model_set_training(model, false);
    if (!status) status = wick_pruner_new(ctx, model, network, model, 1, &spec, 1, &p);
    if (!status) status = wick_pruner_cut(p, &(wick_pruning){.ratio = 0.5});
    if (!status) status = measure(ctx, wick_pruner_apply, p, &spec, &pruned);
    if (!status) status = train(ctx, wick_pruner_model(p), wick_pruner_apply, p, 100);
    if (!status) status = measure(ctx, wick_pruner_apply, p, &spec, &trained);
    if (status) {
        fprintf(stderr, "prune: %s\n", wick_context_error(ctx));
    } else {
        wick_pruner_macs(p, &before, &after);
        printf("whole    %d of %d right, %.0f multiply-adds a point\n", whole, POINTS, before / POINTS);
        printf("pruned   %d right, %.0f multiply-adds\n", pruned, after / POINTS);
        printf("trained  %d right\n", trained);
        for (int i = 0; i < wick_pruner_layers(p); i++) {
            const wick_pruner_layer l = wick_pruner_layer_at(p, i);
            printf("  %-12s %lld of %lld units%s%s\n", l.name, (long long)l.left, (long long)l.channels,
                   l.stays ? ", stays: " : "", l.stays ? l.stays : "");
        }
    }
    wick_pruner_free(&p);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
