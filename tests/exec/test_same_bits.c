/* Bits depend on the graph alone: not on threads, not on being compiled, recorded again, or run op by op. */
#include "exec/mlp.h"

typedef struct run {
    float loss[200];
    unsigned char state[MLP_MAX_BYTES];
} run;

static void train_compiled(const wick_context_options *options, const wick_compile_options *how, double dropout,
                           int steps, run *r) {
    wick_context *ctx = context_with(options);
    mlp net;
    mlp_init(&net, ctx, dropout);
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, mlp_compile(&net, ctx, how, &plan));
    if (plan && wick_workspace_new(plan, &ws) == WICK_OK) {
        for (int i = 0; i < steps; i++) {
            float x[MLP_BATCH * MLP_IN];
            int64_t labels[MLP_BATCH];
            mlp_batch(i, x, labels);
            wick_status status = wick_run(ws, (const void *[]){x, labels}, (void *[]){&r->loss[i]});
            CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(ws));
        }
        CHECK_INT(wick_workspace_offset(ws), steps);
    }
    CHECK_INT(mlp_bytes(&net, r->state, sizeof r->state), MLP_MAX_BYTES);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

static void train_recorded(const wick_context_options *options, double dropout, int steps, run *r) {
    wick_context *ctx = context_with(options);
    mlp net;
    mlp_init(&net, ctx, dropout);
    for (int i = 0; i < steps; i++) {
        float x[MLP_BATCH * MLP_IN];
        int64_t labels[MLP_BATCH];
        mlp_batch(i, x, labels);
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *loss =
            mlp_step(&net, ctx, wick_from(ctx, WICK_F32, 2, mlp_specs[0].dims, x),
                     wick_from(ctx, WICK_I64, 1, mlp_specs[1].dims, labels), wick_constant(ctx, WICK_F32, 0.01));
        r->loss[i] = (float)item(loss);
        wick_scope_close(&scope);
    }
    CHECK_INT(mlp_bytes(&net, r->state, sizeof r->state), MLP_MAX_BYTES);
    wick_context_free(&ctx);
}

static void check_same(const run *a, const run *b, int steps, const char *what) {
    CHECK_MSG(!memcmp(a->loss, b->loss, (size_t)steps * sizeof *a->loss), "%s: losses differ, last %.9g and %.9g", what,
              a->loss[steps - 1], b->loss[steps - 1]);
    CHECK_MSG(!memcmp(a->state, b->state, sizeof a->state), "%s: weights differ", what);
}

TEST(the_same_bits_at_1_2_3_and_7_threads) {
    static run one, other;
    train_compiled(&(wick_context_options){.threads = 1, .seed = 3}, NULL, 0.3, 100, &one);
    CHECK(one.loss[99] < one.loss[0] * 0.8f); /* it learns */
    for (int threads = 2; threads <= 7; threads += threads == 3 ? 4 : 1) {
        train_compiled(&(wick_context_options){.threads = threads, .seed = 3}, NULL, 0.3, 100, &other);
        check_same(&one, &other, 100, "compiled");
        train_recorded(&(wick_context_options){.threads = threads, .seed = 3}, 0, 5, &other);
        static run first;
        if (threads == 2) first = other;
        check_same(&first, &other, 5, "recorded");
    }
}

TEST(a_compiled_step_has_the_bits_of_a_recorded_one) {
    static run compiled, recorded, plain;
    train_compiled(&(wick_context_options){.threads = 2}, NULL, 0, 30, &compiled);
    train_recorded(&(wick_context_options){.threads = 2}, 0, 30, &recorded);
    check_same(&compiled, &recorded, 30, "recorded");
    train_compiled(&(wick_context_options){.threads = 2}, &(wick_compile_options){.no_passes = true}, 0, 30, &plain);
    check_same(&compiled, &plain, 30, "no passes");
    train_recorded(&(wick_context_options){.threads = 2, .eager = true}, 0, 30, &plain);
    check_same(&compiled, &plain, 30, "eager");
}

TEST(dropout_without_passes_is_the_same_dropout) {
    static run a, b;
    train_compiled(&(wick_context_options){.threads = 2, .seed = 9}, NULL, 0.5, 20, &a);
    train_compiled(&(wick_context_options){.threads = 2, .seed = 9}, &(wick_compile_options){.no_passes = true}, 0.5,
                   20, &b);
    check_same(&a, &b, 20, "no passes");
    train_compiled(&(wick_context_options){.threads = 2, .seed = 10}, NULL, 0.5, 20, &b);
    CHECK(memcmp(a.loss, b.loss, sizeof a.loss)); /* the seed says which */
}

/* A define-by-run loop with everything that changes from step to step, and an aliased leaf. */
static int train_by_run(bool eager, int steps, float *losses, unsigned char *state) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = 2, .seed = 5, .eager = eager});
    enum { N = 16, D = 8 };
    float data[N * D];
    test_seed = 77;
    fill_random(data, D * D, -0.4, 0.4);
    wick_tensor *w = wick_from(ctx, WICK_F32, WICK_DIMS(D, D), data),
                *velocity = wick_zeros(ctx, WICK_F32, WICK_DIMS(D, D));
    for (int i = 0; i < steps; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        fill_random(data, N * D, -1, 1);
        wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(N, D), data);
        /* w twice, x as input and target */
        wick_tensor *y = wick_linear(wick_dropout(wick_tanh(wick_linear(x, w, NULL)), 0.25), w, NULL);
        wick_tensor *loss = wick_mse(y, x), *g;
        wick_grad(loss, 1, &w, &g);
        wick_tensor *lr = wick_scalar(ctx, WICK_F32, 0.5 / (1 + 0.01 * i));
        wick_tensor *v = wick_add(wick_mul(velocity, wick_like(velocity, 0.9)), g);
        CHECK_OK(ctx, wick_assign(velocity, v));
        CHECK_OK(ctx, wick_assign(w, wick_sub(w, wick_mul(v, lr))));
        losses[i] = (float)item(loss);
        wick_scope_close(&scope);
    }
    CHECK_OK(ctx, wick_read(w, state, 4 * D * D));
    CHECK_OK(ctx, wick_read(velocity, state + 4 * D * D, 4 * D * D));
    wick_context_stats stats = wick_context_get_stats(ctx);
    CHECK_INT(stats.plan_hits + stats.plans_built, steps);
    wick_context_free(&ctx);
    return (int)stats.plans_built;
}

TEST(a_thousand_define_by_run_steps_compile_at_most_2_plans_and_equal_eager_mode) {
    static float losses[2][1000];
    static unsigned char state[2][512];
    int plans = train_by_run(false, 1000, losses[0], state[0]);
    CHECK_MSG(plans <= 2, "%d plans", plans);
    train_by_run(true, 1000, losses[1], state[1]);
    CHECK(!memcmp(losses[0], losses[1], sizeof losses[0]));
    CHECK(!memcmp(state[0], state[1], sizeof state[0]));
    CHECK(losses[0][999] < losses[0][0]);
}

/* Denormals are flushed by arithmetic; passes must not make a difference. */
TEST(passes_keep_every_bit_also_of_denormals_and_negative_zeros) {
    static const float in[] = {1e-40f, -1e-40f, -0.0f, 0.0f, INFINITY, -INFINITY, 1.5f, NAN};
    float out[2][6][8];
    for (int eager = 0; eager < 2; eager++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .eager = eager});
        wick_tensor *x = vec(ctx, 8, in);
        wick_tensor *y[6] = {wick_mul(x, wick_like(x, 1)),
                             wick_div(x, wick_like(x, 1)),
                             wick_sub(x, wick_like(x, 0)),
                             wick_add(x, wick_like(x, 0)),
                             wick_mul(x, wick_mul(wick_like(x, 0.5), wick_like(x, 2))),
                             wick_cast(wick_cast(x, WICK_F32), WICK_F32)};
        CHECK_OK(ctx, wick_eval(ctx, 6, y, NULL));
        for (int i = 0; i < 6; i++) CHECK_OK(ctx, wick_read(y[i], out[eager][i], sizeof in));
        wick_context_free(&ctx);
    }
    for (int i = 0; i < 6; i++) CHECK_MSG(!memcmp(out[0][i], out[1][i], sizeof in), "expression %d", i);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
