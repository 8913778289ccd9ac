/* Mixed precision: products in bf16 and f16, loss scaling, and what training makes of both. */
#include <unistd.h>

#include "graph/graphs.h"
#include "wick/io.h"
#include "wick/optim.h"
#include "wick/transformer.h"
#include "wick/wick.h"

TEST(products_narrow_and_the_rest_stays_wide) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 3)), *w = wick_ones(b.ctx, WICK_F32, WICK_DIMS(3, 3));
    wick_tensor *y = wick_matmul(x, w), *z = wick_matmul(wick_transpose(y, 0, 1), y);
    FIXTURE_COLLECT(&b, wick_exp(z));
    fixture_pass(&b, wick_pass_precision);
    CHECK_INT(fixture_count(&b, "cast"), 0);
    wick_planning planning = {.precision = WICK_BF16};
    b.graph->planning = &planning;
    fixture_pass(&b, wick_pass_precision);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2,3] = data()\n"
                    "%1 f32[3,3] = data()\n"
                    "%2 bf16[2,3] = cast(%0) to=bf16\n"
                    "%3 bf16[3,3] = cast(%1) to=bf16\n"
                    "%4 bf16[2,3] = matmul(%2, %3)\n"
                    "%5 bf16[3,2] = permute(%4) axes=1,0\n"
                    "%6 bf16[3,3] = matmul(%5, %4)\n"
                    "%7 f32[3,3] = cast(%6) to=f32\n"
                    "%8 f32[3,3] = exp(%7)\n"
                    "return %8\n");
    fixture_close(&b);
}

/* Convolutions have kernels of f32 alone: their operands and results are rounded. */
TEST(convolutions_round_operands_and_results) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(1, 1, 4)),
                *w = wick_ones(b.ctx, WICK_F32, WICK_DIMS(1, 1, 2));
    FIXTURE_COLLECT(&b, wick_relu(wick_conv(x, w, NULL, NULL)));
    wick_planning planning = {.precision = WICK_F16};
    b.graph->planning = &planning;
    fixture_pass(&b, wick_pass_precision);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[1,1,4] = data()\n"
                    "%1 f32[1,1,2] = data()\n"
                    "%2 f16[1,1,4] = cast(%0) to=f16\n"
                    "%3 f32[1,1,4] = cast(%2) to=f32\n"
                    "%4 f16[1,1,2] = cast(%1) to=f16\n"
                    "%5 f32[1,1,2] = cast(%4) to=f32\n"
                    "%6 f32[1,1,3] = conv(%3, %5)\n"
                    "%7 f16[1,1,3] = cast(%6) to=f16\n"
                    "%8 f32[1,1,3] = cast(%7) to=f32\n"
                    "%9 f32[1,1,3] = relu(%8)\n"
                    "return %9\n");
    fixture_close(&b);
}

static wick_status product_of_a_convolution(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *w = wick_ones(ctx, WICK_F32, WICK_DIMS(1, 1, 2)),
                *v = wick_full(ctx, WICK_F32, WICK_DIMS(3, 2), 1 / 3.0);
    wick_tensor *y = wick_matmul(wick_conv(in[0], w, NULL, NULL), v);
    out[0] = y;
    wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, in, &out[1]);
    return WICK_OK;
}
static void hear_narrowed(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)place, (void)text;
    if (!strcmp(pass, "precision")) strcat(strncat((char *)user, node, strcspn(node, " ")), " ");
}

TEST(ops_that_are_to_stay_wide_do_with_their_gradients) {
    static const struct {
        const char *wide, *narrowed;
    } list[] = {
        {NULL, "conv matmul "}, {"", "conv matmul "}, {"conv", "matmul "}, {"matmul", "conv "}, {"matmul,conv", ""}};
    wick_context *ctx = context();
    const wick_spec in = {.dtype = WICK_F32, .rank = 3, .dims = {1, 1, 4}};
    const float x[4] = {1.01f, 2.03f, -3.07f, 0.11f};
    for (size_t i = 0; i < WICK_COUNTOF(list); i++) {
        char told[400] = "";
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        float y[2], slope[4];
        const wick_compile_options options = {
            .precision = WICK_PRECISION_BF16, .wide = list[i].wide, .on_remark = hear_narrowed, .user = told};
        CHECK_OK(ctx, wick_compile(ctx, product_of_a_convolution, NULL, 1, &in, 2, &options, &plan));
        REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
        CHECK(wick_run(ws, (const void *[]){x}, (void *[]){y, slope}) == WICK_OK);
        CHECK_MSG(!strcmp(told, list[i].narrowed), "%s: %s", list[i].wide ? list[i].wide : "none", told);
        CHECK_INT(fabsf(y[0] + 0.96f / 3) < 1e-6f, !*list[i].narrowed); /* (1.01 + 4.06 - 6.14 + 0.11) / 3 */
        CHECK_INT(fabsf(slope[0] - 2 / 3.0f) < 1e-6f, !*list[i].narrowed);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
    }
    wick_plan *plan = NULL;
    CHECK_INT(wick_compile(ctx, product_of_a_convolution, NULL, 1, &in, 2,
                           &(wick_compile_options){.wide = "conv,softmax"}, &plan),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx),
                  "no op 'softmax'; those that can stay wide: matmul conv conv_data conv_weight attention");
    CHECK_INT(
        wick_compile(ctx, product_of_a_convolution, NULL, 1, &in, 2, &(wick_compile_options){.wide = "conv"}, &plan),
        WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "need a precision");
    wick_context_free(&ctx);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

enum { BATCH = 32, CLASSES = 4, STEPS = 60 };
typedef struct run {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    wick_plan *plan;
    wick_workspace *space;
    bool images;
    float spread; /* by which the logits are multiplied */
} run;

static wick_status step(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    run *r = user;
    wick_tensor *y = in[0];
    if (r->images) {
        y = wick_relu(wick_nn_batch_norm(
            r->model, "bn", wick_nn_conv(r->model, "conv1", y, 8, 3, &(wick_nn_conv_options){.same = true})));
        y = wick_relu(wick_nn_conv(r->model, "conv2", y, 16, 3, &(wick_nn_conv_options){.same = true}));
        y = wick_max_pool(y, &(wick_pool_options){.kernel = {2, 2}});
        y = wick_flatten(y, 1);
    } else {
        y = wick_nn_encoder(
            r->model, "e", wick_nn_linear(r->model, "in", y, 32), 2,
            &(wick_nn_transformer_options){
                .feedforward = 64, .pre_norm = true, .gelu = true, .final_norm = true, .attention = {.heads = 4}});
        y = wick_mean(y, WICK_AXES(1), false);
    }
    y = wick_nn_linear(r->model, "out", y, CLASSES);
    if (r->spread != 0) y = wick_mul(y, wick_like(y, (double)r->spread));
    out[0] = wick_cross_entropy(y, in[1]);
    return wick_optimizer_step(r->optimizer, out[0]);
}

static bool open_run(run *r, bool images, wick_precision precision, int threads, const wick_optim_options *optim) {
    *r = (run){.images = images, .spread = r->spread};
    if (wick_context_new(&(wick_context_options){.threads = threads, .seed = 3}, &r->ctx) != WICK_OK) return false;
    CHECK_OK(r->ctx, wick_model_new(r->ctx, &r->model));
    wick_model_set_training(r->model, true);
    CHECK_OK(r->ctx, wick_optimizer_new(r->model, optim, &r->optimizer));
    const wick_spec in[2] = {images ? (wick_spec){"x", WICK_F32, 4, {BATCH, 1, 8, 8}}
                                    : (wick_spec){"x", WICK_F32, 3, {BATCH, 8, 8}},
                             {"y", WICK_I64, 1, {BATCH}}};
    CHECK_OK(r->ctx,
             wick_compile(r->ctx, step, r, 2, in, 1, &(wick_compile_options){.precision = precision}, &r->plan));
    if (r->plan) CHECK(wick_workspace_new(r->plan, &r->space) == WICK_OK);
    return r->space != NULL;
}
static void close_run(run *r) {
    wick_workspace_free(&r->space);
    wick_plan_free(&r->plan);
    wick_optimizer_free(&r->optimizer);
    wick_model_free(&r->model);
    wick_context_free(&r->ctx);
}

/* Batch number i of a task: which quarter is brighter, under noise. */
static void make_batch(int i, float *x, int64_t *y) {
    test_seed = 77u + (uint64_t)i;
    for (int n = 0; n < BATCH; n++) {
        y[n] = (int64_t)(test_rand() % CLASSES);
        for (int p = 0; p < 64; p++) {
            const int quarter = (p / 8 >= 4) * 2 + (p % 8 >= 4);
            x[64 * n + p] = (float)(test_rand() % 2001) / 1000 - 1 + (quarter == y[n] ? 0.6f : 0);
        }
    }
}

/* The loss of step i. */
static float train_on(run *r, int i) {
    static float x[BATCH * 64];
    static int64_t y[BATCH];
    float loss = NAN;
    make_batch(i, x, y);
    CHECK_MSG(wick_run(r->space, (const void *[]){x, y}, (void *[]){&loss}) == WICK_OK, "%s",
              wick_workspace_error(r->space));
    return loss;
}
static float last_of(run *r, int from, int to) { /* mean of the last ten */
    float sum = 0;
    for (int i = from; i < to; i++) {
        const float loss = train_on(r, i);
        if (i >= to - 10) sum += loss / 10;
    }
    return sum;
}
static uint64_t weights_of(run *r) {
    uint64_t h = 1;
    for (int i = 0; i < wick_model_count(r->model); i++) {
        const wick_named s = wick_model_at(r->model, i);
        const void *data;
        CHECK_OK(r->ctx, wick_data(s.tensor, &data));
        h = wick_hash(data, (size_t)wick_tensor_count(s.tensor) * wick_dtype_size(wick_tensor_dtype(s.tensor)), h);
    }
    return h;
}

static const wick_optim_options adam = {.kind = WICK_ADAM, .lr = 3e-3},
                                scaled = {.kind = WICK_ADAM, .lr = 3e-3, .loss_scale = {.initial = 65536}};

/* Whether this tier's convolutions read 16-bit operands as they lie. */
static bool narrow_units(void) {
    for (int i = 0; i < wick_isa_count(); i++) {
        const wick_isa isa = wick_isa_at(i);
        if (isa.chosen) return strcmp(isa.name, "ref") && strcmp(isa.name, "base");
    }
    return false;
}

TEST(networks_train_to_the_loss_of_f32) {
    for (int images = 0; images < 2; images++) {
        run r = {0};
        REQUIRE(open_run(&r, images, WICK_PRECISION_F32, 1, &adam));
        const float first = train_on(&r, 1000), plain = last_of(&r, 0, STEPS);
        const size_t plain_bytes = wick_plan_get_info(r.plan).live_bytes;
        const uint64_t weights = weights_of(&r);
        close_run(&r);
        CHECK_MSG(plain < 0.6f * first, "f32 learned nothing: %g, then %g", (double)first, (double)plain);
        for (int half = 1; half <= 2; half++) {
            const wick_precision precision = half == 1 ? WICK_PRECISION_BF16 : WICK_PRECISION_F16;
            REQUIRE(open_run(&r, images, precision, 1, half == 1 ? &adam : &scaled));
            train_on(&r, 1000);
            const float mixed = last_of(&r, 0, STEPS);
            CHECK_MSG(fabsf(mixed - plain) < 0.1f * first, "images %d, precision %d: loss %g, in f32 %g", images, half,
                      (double)mixed, (double)plain);
            CHECK(weights_of(&r) != weights);
            if (images && narrow_units()) /* plain C and the architecture's own vectors widen operands first */
                CHECK_MSG(wick_plan_get_info(r.plan).live_bytes < plain_bytes, "%zu bytes, in f32 %zu",
                          wick_plan_get_info(r.plan).live_bytes, plain_bytes);
            for (int i = 0; i < wick_model_count(r.model); i++) /* master weights */
                CHECK(wick_tensor_dtype(wick_model_at(r.model, i).tensor) != WICK_BF16 &&
                      wick_tensor_dtype(wick_model_at(r.model, i).tensor) != WICK_F16);
            close_run(&r);
        }
    }
}

TEST(the_bits_are_the_same_on_any_number_of_threads) {
    for (int images = 0; images < 2; images++)
        for (int half = 1; half <= 2; half++) {
            uint64_t weights[2];
            for (int t = 0; t < 2; t++) {
                run r = {0};
                REQUIRE(open_run(&r, images, (wick_precision)half, 1 + 2 * t, &scaled));
                last_of(&r, 0, 3);
                weights[t] = weights_of(&r);
                close_run(&r);
            }
            CHECK(weights[0] == weights[1]);
        }
}

static double state_of(run *r, const char *name) {
    double value = NAN;
    wick_tensor *t = wick_model_find(r->model, name);
    CHECK_MSG(t != NULL, "no state %s", name);
    if (t) CHECK_OK(r->ctx, wick_item(t, &value));
    return value;
}

TEST(a_step_whose_gradients_overflow_changes_the_scale_alone) {
    run r = {0};
    const wick_optim_options optim = {.kind = WICK_ADAM, .lr = 1e-3, .loss_scale = {.initial = 0x1p40, .interval = 3}};
    REQUIRE(open_run(&r, true, WICK_PRECISION_F16, 1, &optim));
    wick_tensor *w = wick_model_find(r.model, "out.weight");
    float before[4], after[4];
    REQUIRE(w != NULL);
    const void *data;
    CHECK_OK(r.ctx, wick_data(w, &data));
    memcpy(before, data, sizeof before);
    double scale;
    int64_t skipped;
    CHECK(isfinite(train_on(&r, 0)));
    CHECK_OK(r.ctx, wick_optimizer_scale(r.optimizer, &scale, &skipped));
    CHECK(scale == 0x1p39 && skipped == 1);
    CHECK_OK(r.ctx, wick_data(w, &data));
    memcpy(after, data, sizeof after);
    CHECK(!memcmp(before, after, sizeof before));
    CHECK(state_of(&r, "optim.step") == 0 && state_of(&r, "optim.scale.good") == 0);
    /* Backs off until gradients are finite; then weights move, and the scale grows after three good steps. */
    int i = 1;
    for (; i < 40 && state_of(&r, "optim.step") == 0; i++) train_on(&r, i);
    CHECK(i < 40 && state_of(&r, "optim.step") == 1 && state_of(&r, "optim.scale.good") == 1);
    CHECK_OK(r.ctx, wick_optimizer_scale(r.optimizer, &scale, &skipped));
    CHECK_INT(skipped, i - 1);
    CHECK(scale == 0x1p40 / pow(2, (double)skipped));
    CHECK_OK(r.ctx, wick_data(w, &data));
    CHECK(memcmp(before, data, sizeof before) != 0);
    double now = scale;
    for (int k = 0; k < 2 && state_of(&r, "optim.skipped") == (double)skipped; k++) train_on(&r, i++);
    if (state_of(&r, "optim.skipped") == (double)skipped)
        now *= 2;
    else
        now /= 2;
    CHECK_OK(r.ctx, wick_optimizer_scale(r.optimizer, &scale, &skipped));
    CHECK(scale == now);
    close_run(&r);
}

/* A power of two scales without rounding: in f32, where nothing overflows, the weights are the same to the bit. */
TEST(scaling_changes_no_bit_of_gradients_in_range) {
    uint64_t weights[2];
    for (int t = 0; t < 2; t++) {
        run r = {0};
        REQUIRE(open_run(&r, true, WICK_PRECISION_F32, 1,
                         t ? &(wick_optim_options){.kind = WICK_ADAM, .lr = 3e-3, .loss_scale = {.initial = 1024}}
                           : &adam));
        last_of(&r, 0, 4);
        weights[t] = 0;
        for (int i = 0; i < wick_model_count(r.model); i++) {
            const wick_named s = wick_model_at(r.model, i);
            const void *data;
            if (s.role != WICK_ROLE_PARAM) continue;
            CHECK_OK(r.ctx, wick_data(s.tensor, &data));
            weights[t] = wick_hash(data, (size_t)wick_tensor_count(s.tensor) * 4, weights[t]);
        }
        close_run(&r);
    }
    CHECK(weights[0] == weights[1]);
}

TEST(micro_batches_are_skipped_together) {
    run r = {0};
    const wick_optim_options optim = {.kind = WICK_SGD, .lr = 1e-3, .accumulate = 2, .loss_scale = {.initial = 0x1p60}};
    REQUIRE(open_run(&r, true, WICK_PRECISION_F16, 1, &optim));
    train_on(&r, 0);
    CHECK(state_of(&r, "optim.skipped") == 1);
    double left = NAN;
    CHECK_OK(
        r.ctx,
        wick_item(wick_max(wick_abs(wick_model_find(r.model, "optim.grad.out.weight")), WICK_ALL_AXES, false), &left));
    CHECK(left == 0); /* cleared, so the next step is not spoiled */
    close_run(&r);
}

TEST(a_resumed_run_has_the_scale_and_goes_on_to_the_bit) {
    char path[256];
    snprintf(path, sizeof path, "/tmp/wick_precision_%d.safetensors", (int)getpid());
    run a = {0}, b = {0};
    const wick_optim_options optim = {.kind = WICK_ADAM, .lr = 1e-3, .loss_scale = {.initial = 0x1p38, .interval = 2}};
    REQUIRE(open_run(&a, false, WICK_PRECISION_F16, 1, &optim));
    for (int i = 0; i < 20; i++) train_on(&a, i);
    CHECK_OK(a.ctx, wick_save(a.model, path, NULL));
    for (int i = 20; i < 26; i++) train_on(&a, i);
    REQUIRE(open_run(&b, false, WICK_PRECISION_F16, 1, &optim));
    wick_checkpoint *file = NULL;
    CHECK_OK(b.ctx, wick_checkpoint_open(b.ctx, path, &file));
    if (file) CHECK_OK(b.ctx, wick_checkpoint_load(file, b.model, true));
    wick_checkpoint_free(&file);
    remove(path);
    CHECK(state_of(&b, "optim.skipped") > 0 && state_of(&b, "optim.scale") < 0x1p38);
    for (int i = 20; i < 26; i++) train_on(&b, i);
    CHECK(weights_of(&a) == weights_of(&b));
    close_run(&a);
    close_run(&b);
}

TEST(bad_options_are_refused) {
    wick_context *ctx = context();
    wick_model *model;
    wick_optimizer *optimizer;
    CHECK_OK(ctx, wick_model_new(ctx, &model));
    CHECK_INT(wick_optimizer_new(model, &(wick_optim_options){.loss_scale = {.initial = -1}}, &optimizer),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "loss_scale");
    CHECK_INT(wick_optimizer_new(model, &(wick_optim_options){.loss_scale = {.initial = 1, .backoff = 2}}, &optimizer),
              WICK_ERR_INVALID);
    wick_plan *plan;
    CHECK_INT(wick_compile(ctx, step, NULL, 0, NULL, 0, &(wick_compile_options){.precision = (wick_precision)7}, &plan),
              WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "precision");
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
