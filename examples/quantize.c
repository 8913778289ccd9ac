/* quantize.c: a small network learns to tell points within a ring from those outside, and is then computed in 8 bits:
 * how many points both have right, and the bytes of their weights. */
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

static wick_status train(wick_context *ctx, wick_model *model) {
    wick_optimizer *optimizer = NULL;
    wick_status status = WICK_OK;
    for (int step = 0; step < 300 && !status; step++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(POINTS, 2), points), *scores;
        wick_tensor *labels = wick_from(ctx, WICK_I64, WICK_DIMS(POINTS), inside);
        status = network(ctx, &x, &scores, model);
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

static long bytes_of(wick_model *model) {
    long bytes = 0;
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        if (state.role != WICK_ROLE_OPTIM)
            bytes += (long)wick_dtype_bytes(wick_tensor_dtype(state.tensor), wick_tensor_count(state.tensor));
    }
    return bytes;
}

int main(void) {
    wick_context *ctx;
    wick_model *model = NULL;
    wick_quantizer *q = NULL;
    int floats = 0, integers = 0;
    if (wick_context_new(&(wick_context_options){.seed = 1}, &ctx)) return 1;
    for (int i = 0; i < POINTS; i++) { /* along two turns of a spiral, at distances from 0 to 1.5 */
        const double turn = 0.61803398875 * 6.283185307 * i, r = 1.5 * sqrt((i + 0.5) / POINTS);
        points[i][0] = (float)(r * cos(turn)), points[i][1] = (float)(r * sin(turn));
        inside[i] = r > 0.5 && r < 1.1;
    }
    const wick_spec spec = {.name = "points", .dtype = WICK_F32, .rank = 2, .dims = {POINTS, 2}};
    wick_status status = wick_model_new(ctx, &model);
    if (!status) status = train(ctx, model);
    if (!status) wick_model_set_training(model, false);
    if (!status) status = measure(ctx, network, model, &spec, &floats);
    if (!status) status = wick_quantizer_new(ctx, model, network, model, 1, &spec, 1, NULL, &q);
    if (!status) status = wick_quantizer_observe(q, (const void *[]){points});
    if (!status) status = wick_quantizer_finish(q);
    if (!status) status = measure(ctx, wick_quantizer_apply, q, &spec, &integers);
    if (status) {
        fprintf(stderr, "quantize: %s\n", wick_context_error(ctx));
    } else {
        printf("f32   %d of %d right, %ld bytes\n", floats, POINTS, bytes_of(model));
        printf("int8  %d of %d right, %ld bytes\n", integers, POINTS, bytes_of(wick_quantizer_model(q)));
        for (int i = 0; i < wick_quantizer_layers(q); i++) {
            const wick_quantizer_layer l = wick_quantizer_layer_at(q, i);
            printf("  %-12s input %6.3f .. %.3f, weights %.1f dB\n", l.name, l.low, l.high, l.weight_sqnr);
        }
    }
    wick_quantizer_free(&q);
    wick_model_free(&model);
    wick_context_free(&ctx);
    return status != WICK_OK;
}
