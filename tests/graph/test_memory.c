/* The memory plan: no two buffers that are in use at once share bytes, and the arena is hardly larger than what must be
 * alive. */
#include "exec/mlp.h"
#include "graph/graphs.h"
#include "ops/lowering/steps.h"
#include "wick/transformer.h"
#include "zoo/training.h"

/* The number of a step's first ref that is its rider's, which reads what the step has just written; its own refs come
 * before. */
static int riders_refs(const wick_step *s) {
    const wick_epilogue *r = s->kind == WICK_STEP_GEMM   ? &((const wick_step_gemm *)s->args)->epilogue
                             : s->kind == WICK_STEP_CONV ? &((const wick_step_conv *)s->args)->epilogue
                                                         : NULL;
    return r && r->program ? r->refs : s->n_refs;
}

static void check_plan(const wick_plan *p, const char *what) {
    size_t top = 0;
    for (size_t i = 0; i < p->n_buffers; i++) {
        const wick_buffer *a = &p->buffers[i];
        if (a->kind != WICK_BUFFER_TEMP || a->first < 0) continue;
        CHECK_INT(a->offset % WICK_ALIGN, 0);
        top = WICK_MAX(top, a->offset + a->size);
        for (size_t k = 0; k < i; k++) {
            const wick_buffer *b = &p->buffers[k];
            if (b->kind != WICK_BUFFER_TEMP || b->first < 0 || a->first > b->last || b->first > a->last) continue;
            CHECK_MSG(a->offset + a->size <= b->offset || b->offset + b->size <= a->offset,
                      "%s: buffers %zu and %zu overlap", what, i, k);
        }
    }
    CHECK_MSG(top <= p->arena_bytes, "%s: %zu bytes used of %zu", what, top, p->arena_bytes);
    /* A buffer's life covers every step that names it, and nothing reads what was not written. */
    bool *written = calloc(p->n_buffers + 1, 1);
    for (size_t i = 0; written && i < p->n_steps; i++)
        for (int pass = 0; pass < 4; pass++) /* what the step reads, writes; its rider reads, writes */
            for (int r = pass < 2 ? 0 : riders_refs(&p->steps[i]);
                 r < (pass < 2 ? riders_refs(&p->steps[i]) : p->steps[i].n_refs); r++) {
                const wick_ref *ref = &p->steps[i].refs[r];
                const wick_buffer *b = &p->buffers[ref->buffer];
                if (b->kind != WICK_BUFFER_TEMP) continue;
                CHECK(b->first <= (int32_t)i && (int32_t)i <= b->last);
                if (pass % 2 == 0 && !ref->write)
                    CHECK_MSG(written[ref->buffer], "%s: step %zu (%s) reads buffer %u before it is written", what, i,
                              p->steps[i].name, ref->buffer);
                if (pass % 2 == 1 && ref->write) written[ref->buffer] = true;
            }
    free(written);
}

static void check_tight(wick_context *ctx, wick_function fn, void *user, int n_in, const wick_spec *in, int n_out,
                        const char *what) {
    wick_plan *plan = NULL;
    CHECK_OK(ctx, wick_compile(ctx, fn, user, n_in, in, n_out, NULL, &plan));
    if (!plan) return;
    check_plan(plan, what);
    wick_plan_info info = wick_plan_get_info(plan);
    CHECK_MSG((double)info.arena_bytes <= 1.05 * (double)info.live_bytes, "%s: arena %zu, live %zu", what,
              info.arena_bytes, info.live_bytes);
    CHECK(info.live_bytes > 0);
    wick_workspace *ws = NULL; /* exactly as large as said */
    size_t before = wick_context_get_stats(ctx).tensor_bytes;
    CHECK_INT(wick_workspace_new(plan, &ws), WICK_OK);
    CHECK_INT(wick_context_get_stats(ctx).tensor_bytes, (long long)before);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
}

/* ---- training steps ---------------------------------------------------------------------------------------------- */

enum { SGD, MOMENTUM, ADAM, ADAMW_CLIPPED, OPTIMIZERS };
typedef struct trainee {
    int optimizer, layers;
    int64_t batch, width;
    double dropout;
    wick_tensor *w[8], *b[8], *m[16], *v[16];
} trainee;

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    trainee *t = user;
    wick_tensor *h = in[0], *params[16], *g[16];
    int n = 0;
    for (int i = 0; i < t->layers; i++) {
        h = wick_linear(h, t->w[i], t->b[i]);
        if (i + 1 < t->layers) h = wick_dropout(wick_relu(h), t->dropout);
        params[n++] = t->w[i];
        params[n++] = t->b[i];
    }
    wick_tensor *loss = wick_cross_entropy(h, in[1]), *scale = wick_constant(ctx, WICK_F32, 1),
                *lr = wick_constant(ctx, WICK_F32, 0.01);
    wick_grad(loss, n, params, g);
    if (t->optimizer == ADAMW_CLIPPED) {
        wick_tensor *sum = wick_constant(ctx, WICK_F32, 0);
        for (int i = 0; i < n; i++) sum = wick_add(sum, wick_sum(wick_square(g[i]), WICK_ALL_AXES, false));
        scale = wick_minimum(scale, wick_rsqrt(wick_add(sum, wick_constant(ctx, WICK_F32, 1e-6))));
    }
    for (int i = 0; i < n; i++) {
        wick_tensor *p = params[i], *gi = t->optimizer == ADAMW_CLIPPED ? wick_mul(g[i], scale) : g[i], *step = gi;
        wick_status status = WICK_OK;
        if (t->optimizer == MOMENTUM) {
            step = wick_add(wick_mul(t->m[i], wick_like(p, 0.9)), gi);
            status = wick_assign(t->m[i], step);
        } else if (t->optimizer >= ADAM) {
            wick_tensor *m = wick_add(wick_mul(t->m[i], wick_like(p, 0.9)), wick_mul(gi, wick_like(p, 0.1)));
            wick_tensor *v =
                wick_add(wick_mul(t->v[i], wick_like(p, 0.99)), wick_mul(wick_square(gi), wick_like(p, 0.01)));
            step = wick_div(m, wick_add(wick_sqrt(v), wick_like(p, 1e-8)));
            status = wick_assign(t->m[i], m);
            if (status == WICK_OK) status = wick_assign(t->v[i], v);
            if (t->optimizer == ADAMW_CLIPPED) step = wick_add(step, wick_mul(p, wick_like(p, 0.01)));
        }
        if (status == WICK_OK) status = wick_assign(p, wick_sub(p, wick_mul(step, lr)));
        if (status != WICK_OK) return status;
    }
    out[0] = loss;
    return WICK_OK;
}

TEST(the_arena_of_a_training_step_is_within_5_percent_of_what_is_alive) {
    static const char *names[] = {"sgd", "momentum", "adam", "adamw with clipping"};
    for (int round = 0; round < 24; round++) {
        wick_context *ctx = context();
        trainee t = {.optimizer = round % OPTIMIZERS,
                     .layers = 2 + round % 3,
                     .batch = 16 + 48 * (round % 5),
                     .dropout = round % 2 ? 0.2 : 0,
                     .width = 40 + 37 * (round % 7)};
        for (int i = 0; i < t.layers; i++) {
            int64_t dims[2] = {i + 1 == t.layers ? 10 : t.width + 5 * i, i ? t.width + 5 * (i - 1) : 64};
            t.w[i] = wick_full(ctx, WICK_F32, 2, dims, 0.01);
            t.b[i] = wick_zeros(ctx, WICK_F32, 1, dims);
            for (int k = 0; k < 2; k++) {
                t.m[2 * i + k] = wick_zeros(ctx, WICK_F32, 2 - k, dims);
                t.v[2 * i + k] = wick_zeros(ctx, WICK_F32, 2 - k, dims);
            }
        }
        wick_spec in[2] = {{"x", WICK_F32, 2, {t.batch, 64}}, {"labels", WICK_I64, 1, {t.batch}}};
        char what[96];
        snprintf(what, sizeof what, "%s, %d layers, batch %d, width %d, dropout %g", names[t.optimizer], t.layers,
                 (int)t.batch, (int)t.width, t.dropout);
        check_tight(ctx, body, &t, 2, in, 1, what);
        wick_context_free(&ctx);
    }
}

TEST(the_shared_test_network_is_laid_out_tightly) {
    wick_context *ctx = context();
    mlp net;
    mlp_init(&net, ctx, 0.3);
    check_tight(ctx, mlp_body, &net, 2, mlp_specs, 1, "mlp");
    wick_context_free(&ctx);
}

TEST(the_arena_of_convolutional_networks_is_within_5_percent_of_what_is_alive) {
    static const wick_optim_options adam = {.kind = WICK_ADAM}, momentum = {.kind = WICK_SGD, .momentum = 0.9};
    for (int i = 0; i < CONVNETS; i++)
        for (int64_t batch = 8; batch <= 64; batch *= 8)
            for (int with = 0; with < 2; with++) {
                training t;
                char what[128];
                snprintf(what, sizeof what, "%.60s, batch %d, %s", convnets[i].network, (int)batch,
                         with ? "adam" : "momentum");
                if (training_open(&t, context(), convnets[i].network, WICK_F32, convnets[i].dims, batch,
                                  with ? &adam : &momentum))
                    check_tight(t.ctx, training_body, &t, 2, t.in, 1, what);
                training_close(&t);
            }
}

/* ---- random plans ------------------------------------------------------------------------------------------------ */

static wick_status random_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *pool[64];
    int n = 0;
    pool[n++] = in[0];
    pool[n++] = in[1];
    for (int i = 0; i < 40; i++) {
        wick_tensor *a = pool[test_rand_int(n > 12 ? n - 12 : 0, n - 1)], *b = pool[test_rand_int(0, n - 1)];
        int64_t rows = wick_tensor_dim(a, 0), k = wick_tensor_dim(a, 1);
        switch (test_rand_int(0, 6)) {
        case 0: pool[n] = wick_softmax(a, 1); break;
        case 1: pool[n] = wick_matmul(a, wick_transpose(a, 0, 1)); break;
        case 2: pool[n] = wick_concat(2, (wick_tensor *[]){a, a}, test_rand_int(0, 1)); break;
        case 3: pool[n] = wick_slice(a, 0, 0, (rows + 1) / 2, 1); break;
        case 4: pool[n] = wick_layer_norm(a, NULL, NULL, 1e-5); break;
        case 5: pool[n] = wick_add(a, wick_sum(b, WICK_ALL_AXES, false)); break;
        default:
            pool[n] = wick_mul(wick_exp(wick_neg(a)), wick_random_uniform(ctx, WICK_F32, 2, (int64_t[]){rows, k}));
            break;
        }
        if (wick_tensor_count(pool[n]) > 4000) continue;
        n++;
    }
    wick_tensor *total = wick_constant(ctx, WICK_F32, 0);
    for (int i = 2; i < n; i += 3) total = wick_add(total, wick_mean(pool[i], WICK_ALL_AXES, false));
    wick_tensor *g[2];
    wick_grad(wick_add(total, wick_mean(wick_mul(in[0], in[0]), WICK_ALL_AXES, false)), 1, in, g);
    out[0] = g[0];
    out[1] = pool[n - 1];
    return WICK_OK;
}

TEST(no_two_live_buffers_of_random_plans_overlap) {
    for (int round = 0; round < 60; round++) {
        test_seed = 0xABCDEF + (uint64_t)round * 104729;
        wick_context *ctx = context();
        wick_spec in[2] = {{"a", WICK_F32, 2, {test_rand_int(1, 20), test_rand_int(1, 20)}},
                           {"b", WICK_F32, 2, {test_rand_int(1, 9), 3}}};
        for (int passes = 0; passes < 2; passes++) {
            wick_plan *plan = NULL;
            uint64_t seed = test_seed;
            CHECK_OK(ctx, wick_compile(ctx, random_body, NULL, 2, in, 2, &(wick_compile_options){.no_passes = !passes},
                                       &plan));
            test_seed = seed;
            if (!plan) continue;
            check_plan(plan, "random plan");
            CHECK(plan->arena_bytes >= plan->live_bytes);
            wick_plan_free(&plan);
        }
        wick_context_free(&ctx);
    }
}

/* The gradient of a weight frees the activation that it alone still reads: it goes before the gradient of that
 * activation. Six layers of which each is made again: 3.7 MB, and 4.2 where the order of the backward pass is that in
 * which gradients are written. */
typedef struct trained {
    wick_model *model;
    wick_optimizer *optimizer;
} trained;
static wick_status train_encoder(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const trained *t = user;
    (void)ctx;
    wick_tensor *y = wick_nn_encoder(
        t->model, "e", in[0], 6,
        &(wick_nn_transformer_options){
            .feedforward = 256, .gelu = true, .pre_norm = true, .checkpoint = 1, .attention = {.heads = 8}});
    out[0] = wick_sum(wick_square(y), WICK_ALL_AXES, false);
    return wick_optimizer_step(t->optimizer, out[0]);
}
TEST(a_schedule_runs_the_gradient_of_a_weight_before_what_can_wait) {
    wick_context *ctx;
    trained t;
    wick_plan *plan;
    CHECK_INT(wick_context_new(&(wick_context_options){.threads = 1}, &ctx), WICK_OK);
    CHECK_INT(wick_model_new(ctx, &t.model), WICK_OK);
    CHECK_INT(wick_optimizer_new(t.model, &(wick_optim_options){.kind = WICK_ADAM}, &t.optimizer), WICK_OK);
    CHECK_INT(wick_compile(ctx, train_encoder, &t, 1, &(wick_spec){"x", WICK_F32, 3, {4, 128, 64}}, 1, NULL, &plan),
              WICK_OK);
    const wick_plan_info info = wick_plan_get_info(plan);
    CHECK_MSG(info.live_bytes < 3900000, "%zu bytes alive", info.live_bytes);
    CHECK_MSG(info.arena_bytes <= info.live_bytes + info.live_bytes / 20, "%zu bytes of arena for %zu",
              info.arena_bytes, info.live_bytes);
    wick_plan_free(&plan);
    wick_optimizer_free(&t.optimizer);
    wick_model_free(&t.model);
    wick_context_free(&ctx);
}

TEST(a_schedule_runs_what_frees_memory_first) {
    fixture b;
    fixture_open(&b);
    /* Four wide values, each reduced to a number: one of them is enough to be alive, in whatever order they were
     * recorded. */
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(64, 64)), *wide[4], *sum = NULL;
    for (int i = 0; i < 4; i++) wide[i] = wick_softmax(wick_add(x, wick_constant(b.ctx, WICK_F32, i)), 1);
    for (int i = 0; i < 4; i++) {
        wick_tensor *s = wick_sum(wide[i], WICK_ALL_AXES, false);
        sum = sum ? wick_add(sum, s) : s;
    }
    FIXTURE_COLLECT(&b, sum);
    CHECK_INT(wick_run_passes(b.graph, &(wick_pass_choice){0}, &b.msg), WICK_OK);
    wick_lower l = {.ctx = b.ctx, .graph = b.graph, .arena = &b.arena, .temp = &b.arena, .msg = &b.msg};
    wick_layout layout;
    wick_layout_contiguous(&layout, &x->value->type);
    CHECK_INT(wick_lower_graph(&l, &layout), WICK_OK);
    l.node = NULL;
    size_t arena = 0, live = 0;
    CHECK_INT(wick_plan_memory(&l, &arena, &live), WICK_OK);
    CHECK_MSG(live <= 2 * 64 * 64 * 4 + 4096, "%zu bytes alive", live);
    CHECK(arena <= live + live / 20);
    fixture_close(&b);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
