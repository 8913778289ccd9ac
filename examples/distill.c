/* distill.c: a small network learns which of two intertwined spirals a point is of, from labels alone, and from what a
 * large one that has learned says of each point: how many points each has right. Some labels of the training are wrong;
 * the points that count are others. Loss: alpha T^2 KL(teacher, student) + (1 - alpha) cross-entropy (Hinton, Vinyals
 * and Dean 2015, "Distilling the Knowledge in a Neural Network"). */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <wick/wick.h>

enum { POINTS = 512, LARGE = 64, SMALL = 6 };
static const double temperature = 4, alpha = 0.7;
static float points[2][POINTS][2]; /* to learn from, to judge by */
static int64_t spiral[2][POINTS];

typedef struct network {
    wick_model *model;
    int64_t hidden;
} network;

/* [n, 2] -> scores of both spirals. */
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const network *net = user;
    wick_tensor *h = wick_tanh(wick_nn_linear(net->model, "in", in[0], net->hidden));
    out[0] = wick_nn_linear(net->model, "out", wick_tanh(wick_nn_linear(net->model, "mid", h, net->hidden)), 2);
    return WICK_OK;
}

/* T^2 KL(p, q), the mean over points. */
static wick_tensor *divergence(wick_tensor *teacher, wick_tensor *student) {
    wick_tensor *t = wick_stop_gradient(wick_mul(teacher, wick_like(teacher, 1 / temperature)));
    wick_tensor *p = wick_softmax(t, 1), *log_p = wick_log_softmax(t, 1),
                *log_q = wick_log_softmax(wick_mul(student, wick_like(student, 1 / temperature)), 1);
    wick_tensor *sum = wick_sum(wick_mul(p, wick_sub(log_p, log_q)), WICK_ALL_AXES, false);
    return wick_mul(sum, wick_like(sum, temperature * temperature / POINTS));
}

static wick_status train(wick_context *ctx, network *net, network *teacher, int steps) {
    wick_optimizer *optimizer = NULL;
    wick_status status = WICK_OK;
    for (int step = 0; step < steps && !status; step++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(POINTS, 2), points[0]), *scores, *said;
        wick_tensor *labels = wick_from(ctx, WICK_I64, WICK_DIMS(POINTS), spiral[0]);
        status = record(ctx, &x, &scores, net);
        wick_tensor *loss = wick_cross_entropy(scores, labels);
        if (!status && teacher) {
            status = record(ctx, &x, &said, teacher);
            loss = wick_add(wick_mul(divergence(said, scores), wick_like(loss, alpha)),
                            wick_mul(loss, wick_like(loss, 1 - alpha)));
        }
        if (!status && !optimizer)
            status = wick_optimizer_new(net->model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.01}, &optimizer);
        if (!status) status = wick_optimizer_step(optimizer, loss);
        if (!status) status = wick_eval(ctx, 0, NULL, NULL);
        wick_scope_close(&scope);
    }
    wick_optimizer_free(&optimizer);
    return status;
}

static wick_status measure(wick_context *ctx, network *net, int *right) {
    static float scores[POINTS][2];
    const wick_spec spec = {.name = "points", .dtype = WICK_F32, .rank = 2, .dims = {POINTS, 2}};
    wick_plan *plan = NULL;
    wick_workspace *workspace = NULL;
    wick_status status = wick_compile(ctx, record, net, 1, &spec, 1, NULL, &plan);
    if (!status) status = wick_workspace_new(plan, &workspace);
    if (!status) status = wick_run(workspace, (const void *[]){points[1]}, (void *[]){scores});
    *right = 0;
    for (int i = 0; i < POINTS && !status; i++) *right += (scores[i][1] > scores[i][0]) == spiral[1][i];
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    return status;
}

int main(void) {
    static const char *const names[] = {"teacher", "alone", "distilled"};
    wick_context *ctx;
    network nets[3] = {{NULL, LARGE}, {NULL, SMALL}, {NULL, SMALL}};
    int right[3] = {0};
    if (wick_context_new(&(wick_context_options){.seed = 1}, &ctx)) return 1;
    for (int i = 0; i < 2 * POINTS; i++) { /* two arms, a turn and three quarters each */
        const int arm = i % 2, part = i / 2 % 2, at = i / 2 / 2 * 2 + arm;
        const double r = 0.1 + 1.4 * (i / 4 + 0.5 * part) / (POINTS / 2), turn = 3.5 * 3.141592653589793 * r / 1.5;
        points[part][at][0] = (float)(r * cos(turn + arm * 3.141592653589793));
        points[part][at][1] = (float)(r * sin(turn + arm * 3.141592653589793));
        spiral[part][at] = part == 0 && i / 4 % 6 == 3 ? 1 - arm : arm; /* one of six labels is wrong */
    }
    wick_status status = WICK_OK;
    for (int k = 0; k < 3 && !status; k++) {
        status = wick_model_new(ctx, &nets[k].model);
        if (!status) status = train(ctx, &nets[k], k == 2 ? &nets[0] : NULL, 500);
        if (!status) wick_model_set_training(nets[k].model, false);
        if (!status) status = measure(ctx, &nets[k], &right[k]);
    }
    if (status) fprintf(stderr, "distill: %s\n", wick_context_error(ctx));
    for (int k = 0; k < 3; k++) {
        if (!status)
            printf("%-10s %3d of %d right, %lld hidden units a layer\n", names[k], right[k], POINTS,
                   (long long)nets[k].hidden);
        wick_model_free(&nets[k].model);
    }
    wick_context_free(&ctx);
    return status != WICK_OK;
}
