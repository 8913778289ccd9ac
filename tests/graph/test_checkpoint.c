/* Values made again for gradients instead of kept: marked parts and budgets of memory; the same bits, less memory, and
 * the price known before. */
#include "graph/graphs.h"
#include "wick/optim.h"
#include "wick/transformer.h"
#include "wick/wick.h"

/* tanh(exp(x)) as a segment: the gradient of tanh reads its result, which is kept, that of exp its own, which is not.
 */
static wick_status inner(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_sin(wick_exp(wick_sin(in[0])));
    return WICK_OK;
}

TEST(checkpoint_copies_what_gradients_need) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *y, *g;
    CHECK_OK(b.ctx, wick_recompute(b.ctx, inner, NULL, 1, &x, 1, &y));
    wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &x, &g);
    FIXTURE_COLLECT(&b, g, y);
    fixture_pass(&b, wick_pass_expand_grad);
    fixture_pass(&b, wick_pass_simplify);
    fixture_pass(&b, wick_pass_cse);
    fixture_pass(&b, wick_pass_dce);
    CHECK_INT(fixture_count(&b, "exp"), 1);
    CHECK_INT(fixture_count(&b, "sin"), 2);
    fixture_pass(&b, wick_pass_checkpoint);
    CHECK_INT(fixture_count(&b, "exp"), 2);
    CHECK_INT(fixture_count(&b, "sin"), 3); /* the last one's result nobody needs */
    CHECK_INT(b.graph->recomputed, 2);
    CHECK(b.graph->recomputed_flops == 4);
    int copies = 0;
    bool after_forward = false; /* copies come behind all of the forward pass */
    for (size_t i = 0; i < b.graph->n; i++) {
        const wick_node *node = b.graph->nodes[i];
        copies += (node->flags & WICK_NODE_RECOMPUTED) != 0;
        after_forward |= (node->flags & WICK_NODE_BACKWARD) != 0;
        CHECK(!after_forward || node->flags & (WICK_NODE_BACKWARD | WICK_NODE_IN_GRAPH));
    }
    CHECK_INT(copies, 2);
    fixture_close(&b);
}

TEST(without_marks_or_a_budget_nothing_is_copied) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *y, *g;
    CHECK_OK(b.ctx, inner(b.ctx, &x, &y, NULL));
    wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &x, &g);
    FIXTURE_COLLECT(&b, g);
    fixture_pass(&b, wick_pass_expand_grad);
    fixture_pass(&b, wick_pass_checkpoint);
    CHECK_INT(b.graph->recomputed, 0);
    fixture_close(&b);
}

/* ---- whole steps ------------------------------------------------------------------------------------------------- */

enum { LENGTH = 32, WIDTH = 32, LAYERS = 4, BATCH = 4 };
typedef struct trained {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    int every; /* layers in a segment */
    bool images;
} trained;

static wick_tensor *conv_block(wick_model *m, const char *name, wick_tensor *x) {
    char bn[32];
    snprintf(bn, sizeof bn, "%s_bn", name);
    return wick_relu(wick_nn_batch_norm(
        m, bn, wick_nn_conv(m, name, x, 8, 3, &(wick_nn_conv_options){.same = true, .no_bias = true})));
}
static wick_status two_blocks(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    trained *t = user;
    out[0] =
        wick_add(in[0], wick_nn_dropout(t->model, conv_block(t->model, "b", conv_block(t->model, "a", in[0])), 0.25));
    return WICK_OK;
}

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    trained *t = user;
    wick_tensor *x = in[0], *y;
    if (t->images) {
        y = conv_block(t->model, "stem", x);
        for (int i = 0; i < 2; i++) {
            char name[8];
            snprintf(name, sizeof name, "r%d", i);
            WICK_TRY(wick_model_push(t->model, name));
            wick_tensor *from = y;
            const wick_status status =
                t->every ? wick_recompute(ctx, two_blocks, t, 1, &from, 1, &y) : two_blocks(ctx, &from, &y, t);
            wick_model_pop(t->model);
            WICK_TRY(status);
        }
    } else {
        y = wick_nn_encoder(t->model, "e", x, LAYERS,
                            &(wick_nn_transformer_options){.feedforward = 64,
                                                           .dropout = 0.1,
                                                           .gelu = true,
                                                           .pre_norm = true,
                                                           .checkpoint = t->every,
                                                           .attention = {.heads = 2}});
    }
    wick_tensor *loss = wick_mean(wick_square(y), WICK_ALL_AXES, false);
    out[0] = loss;
    return t->optimizer ? wick_optimizer_step(t->optimizer, loss) : WICK_OK;
}

typedef struct outcome {
    wick_plan_info info;
    float losses[3];
    uint64_t weights; /* a hash */
} outcome;

static outcome train(bool images, int every, size_t budget, int threads, wick_precision precision) {
    outcome o = {0};
    trained t = {.every = every, .images = images};
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    if (wick_context_new(&(wick_context_options){.threads = threads, .seed = 5}, &t.ctx) != WICK_OK) return o;
    CHECK_OK(t.ctx, wick_model_new(t.ctx, &t.model));
    wick_model_set_training(t.model, true);
    CHECK_OK(t.ctx, wick_optimizer_new(t.model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 1e-3}, &t.optimizer));
    const wick_spec in = images ? (wick_spec){"x", WICK_F32, 4, {BATCH, 8, 16, 16}}
                                : (wick_spec){"x", WICK_F32, 3, {BATCH, LENGTH, WIDTH}};
    CHECK_OK(t.ctx, wick_compile(t.ctx, step, &t, 1, &in, 1,
                                 &(wick_compile_options){.memory_budget = budget, .precision = precision}, &plan));
    static float x[BATCH * 8 * 16 * 16];
    test_seed = 1;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)(test_rand() % 2001) / 1000 - 1;
    if (plan) {
        o.info = wick_plan_get_info(plan);
        CHECK_OK(t.ctx, wick_workspace_new(plan, &space));
        for (int i = 0; i < 3; i++)
            CHECK_MSG(wick_run(space, (const void *[]){x}, (void *[]){&o.losses[i]}) == WICK_OK, "%s",
                      wick_workspace_error(space));
        for (int i = 0; i < wick_model_count(t.model); i++) {
            const wick_named s = wick_model_at(t.model, i);
            const void *data;
            CHECK_OK(t.ctx, wick_data(s.tensor, &data));
            o.weights = wick_hash(
                data, (size_t)wick_tensor_count(s.tensor) * wick_dtype_size(wick_tensor_dtype(s.tensor)), o.weights);
        }
    }
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_optimizer_free(&t.optimizer);
    wick_model_free(&t.model);
    wick_context_free(&t.ctx);
    return o;
}

static void check_same(const outcome *a, const outcome *b) {
    CHECK(memcmp(a->losses, b->losses, sizeof a->losses) == 0);
    CHECK(a->weights == b->weights && a->weights != 0);
}

/* With dropout, whose numbers are drawn again, and batch norm, whose statistics move once. */
TEST(marked_parts_train_to_the_same_bits_in_less_memory) {
    for (int images = 0; images < 2; images++) {
        const outcome plain = train(images, 0, 0, 1, WICK_PRECISION_F32),
                      marked = train(images, 1, 0, 1, WICK_PRECISION_F32);
        check_same(&plain, &marked);
        CHECK_INT(plain.info.recomputed, 0);
        CHECK(marked.info.recomputed > 0 && marked.info.recomputed_flops > 0);
        CHECK_MSG(marked.info.live_bytes < plain.info.live_bytes, "%zu bytes marked, %zu plain", marked.info.live_bytes,
                  plain.info.live_bytes);
        /* The price is what the plan has more of, but for values that fusion spares. */
        const double more = marked.info.flops - plain.info.flops;
        CHECK_MSG(fabs(more - marked.info.recomputed_flops) <= 0.1 * marked.info.flops, "%.0f FLOP more, %.0f said",
                  more, marked.info.recomputed_flops);
    }
}
TEST(every_other_layer_as_a_segment) {
    const outcome plain = train(false, 0, 0, 1, WICK_PRECISION_F32), two = train(false, 2, 0, 1, WICK_PRECISION_F32);
    check_same(&plain, &two);
    CHECK(two.info.recomputed > 0 && two.info.live_bytes < plain.info.live_bytes);
}

TEST(a_budget_is_kept_with_the_same_bits) {
    for (int images = 0; images < 2; images++) {
        const outcome plain = train(images, 0, 0, 1, WICK_PRECISION_F32);
        double last = 0;
        for (int part = 9; part >= 8; part--) {
            const size_t budget = plain.info.arena_bytes * (size_t)part / 10;
            const outcome kept = train(images, 0, budget, 1, WICK_PRECISION_F32);
            CHECK_MSG(kept.info.arena_bytes <= budget && kept.info.arena_bytes > 0, "%zu bytes for a budget of %zu",
                      kept.info.arena_bytes, budget);
            check_same(&plain, &kept);
            CHECK(kept.info.recomputed_flops > 0);
            last = kept.info.recomputed_flops;
        }
        CHECK(last < plain.info.flops); /* less than another pass */
        const outcome roomy = train(images, 0, plain.info.arena_bytes, 1, WICK_PRECISION_F32);
        CHECK_INT(roomy.info.recomputed, 0);
        check_same(&plain, &roomy);
    }
}
TEST(a_budget_gives_the_same_bits_on_more_threads) {
    const outcome plain = train(true, 0, 0, 1, WICK_PRECISION_F32),
                  kept = train(true, 0, plain.info.arena_bytes * 8 / 10, 3, WICK_PRECISION_F32);
    check_same(&plain, &kept);
}

static wick_plan_info info_of(wick_context *ctx, const wick_compile_options *options, wick_status *status) {
    trained t = {.ctx = ctx};
    wick_plan *plan = NULL;
    wick_plan_info info = {0};
    *status = wick_model_new(ctx, &t.model);
    if (*status == WICK_OK)
        *status =
            wick_compile(ctx, step, &t, 1, &(wick_spec){"x", WICK_F32, 3, {BATCH, LENGTH, WIDTH}}, 1, options, &plan);
    if (plan) info = wick_plan_get_info(plan);
    wick_plan_free(&plan);
    wick_model_free(&t.model);
    return info;
}

TEST(a_budget_that_cannot_be_kept_says_what_can) {
    wick_context *ctx = context();
    wick_status status;
    info_of(ctx, &(wick_compile_options){.memory_budget = 1000}, &status);
    CHECK_INT(status, WICK_ERR_NOMEM);
    CHECK_STR_HAS(wick_context_error(ctx), "more than the memory_budget of 1000");
    info_of(ctx, &(wick_compile_options){.memory_budget = 1000, .no_passes = true}, &status);
    CHECK_INT(status, WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "no_passes");
    CHECK_INT(wick_recompute(ctx, NULL, NULL, 0, NULL, 0, NULL), WICK_ERR_INVALID);
    wick_context_free(&ctx);
}

/* ---- the largest batch ------------------------------------------------------------------------------------------- */

static size_t bytes_with(trained *t, int64_t batch) {
    wick_plan *plan = NULL;
    CHECK_OK(t->ctx,
             wick_compile(t->ctx, step, t, 1, &(wick_spec){"x", WICK_F32, 3, {batch, LENGTH, WIDTH}}, 1, NULL, &plan));
    if (!plan) return 0;
    const wick_plan_info i = wick_plan_get_info(plan);
    wick_plan_free(&plan);
    CHECK_INT(i.input_bytes, batch * LENGTH * WIDTH * 4);
    CHECK_INT(i.output_bytes, 4);
    return i.arena_bytes + i.scratch_bytes + i.input_bytes + i.output_bytes + i.state_bytes;
}

static wick_status twice(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_add(in[0], in[0]);
    return WICK_OK;
}

TEST(the_largest_batch_fits_and_one_more_does_not) {
    trained t = {.ctx = context()};
    CHECK_OK(t.ctx, wick_model_new(t.ctx, &t.model));
    wick_model_set_training(t.model, true);
    CHECK_OK(t.ctx, wick_optimizer_new(t.model, &(wick_optim_options){.kind = WICK_ADAM}, &t.optimizer));
    const wick_spec open = {"x", WICK_F32, 3, {WICK_BATCH, LENGTH, WIDTH}};
    for (size_t bytes = (size_t)1 << 21; bytes <= (size_t)8 << 20; bytes *= 2) {
        wick_batch_fit fit;
        CHECK_OK(t.ctx, wick_plan_max_batch(t.ctx, step, &t, 1, &open, 1, NULL, bytes, &fit));
        REQUIRE(fit.batch > 0);
        CHECK(fit.bytes <= bytes && fit.next_bytes > bytes);
        CHECK_INT(bytes_with(&t, fit.batch), fit.bytes);
        CHECK_INT(bytes_with(&t, fit.batch + 1), fit.next_bytes);
    }
    /* A budget of intermediates lets more in. */
    wick_batch_fit fit, more;
    CHECK_OK(t.ctx, wick_plan_max_batch(t.ctx, step, &t, 1, &open, 1, NULL, (size_t)4 << 20, &fit));
    CHECK_OK(t.ctx,
             wick_plan_max_batch(t.ctx, step, &t, 1, &open, 1,
                                 &(wick_compile_options){.memory_budget = (size_t)3 << 20}, (size_t)4 << 20, &more));
    CHECK_MSG(more.batch >= fit.batch, "%lld with a budget, %lld without", (long long)more.batch, (long long)fit.batch);
    /* More memory than there is anywhere: the search has an end. */
    CHECK_OK(t.ctx, wick_plan_max_batch(t.ctx, twice, NULL, 1, &(wick_spec){"x", WICK_F32, 1, {WICK_BATCH}}, 1, NULL,
                                        SIZE_MAX, &fit));
    CHECK_INT(fit.batch, (int64_t)1 << 40);
    CHECK_INT(fit.next_bytes, 0);
    CHECK_INT(wick_plan_max_batch(t.ctx, step, &t, 1, &open, 1, NULL, 1000, &fit), WICK_ERR_NOMEM);
    CHECK_STR_HAS(wick_context_error(t.ctx), "one sample takes");
    CHECK_INT(wick_plan_max_batch(t.ctx, step, &t, 1, &(wick_spec){"x", WICK_F32, 3, {2, LENGTH, WIDTH}}, 1, NULL,
                                  1 << 20, &fit),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(t.ctx), "WICK_BATCH");
    wick_optimizer_free(&t.optimizer);
    wick_model_free(&t.model);
    wick_context_free(&t.ctx);
}

/* ---- a loop of evaluations --------------------------------------------------------------------------------------- */

TEST(marks_outside_of_compiled_functions_find_their_plan_again) {
    wick_context *ctx = context();
    wick_tensor *w = wick_from(ctx, WICK_F32, WICK_DIMS(3), (float[]){0.1f, 0.2f, 0.3f});
    float first[3] = {0};
    uint64_t built = 0;
    for (int i = 0; i < 4; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *y, *g;
        if (i < 3) CHECK_OK(ctx, wick_recompute(ctx, inner, NULL, 1, &w, 1, &y));
        else CHECK_OK(ctx, inner(ctx, &w, &y, NULL));
        wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &w, &g);
        float now[3];
        CHECK_OK(ctx, wick_read(g, now, sizeof now));
        if (i == 0) memcpy(first, now, sizeof now);
        CHECK(!memcmp(first, now, sizeof now));
        if (i == 1) CHECK_INT(ctx->plans_built, built);
        built = ctx->plans_built;
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
