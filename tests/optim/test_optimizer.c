/* Optimizers: PyTorch's trajectories (golden/optim.txt), as a compiled plan and recorded anew each step; state,
 * resuming, refusals. */
#include "base/counting_alloc.h"
#include "golden/golden.h"
#include "context.h"
#include "test.h"
#include "wick/wick.h"

static golden *goldens;

static wick_context *golden_context(void) {
    if (!goldens) goldens = golden_load("optim.txt");
    return goldens ? new_context(.threads = 1) : NULL;
}

/* ---- the tiny problem of make_optim.py --------------------------------------------------------------------------- */

typedef struct problem {
    wick_context *ctx;
    wick_model *model;
    wick_optimizer *optimizer;
    int parts; /* micro-batches a step */
    wick_dtype dtype;
} problem;

static wick_tensor *parameter(problem *p, const char *name) {
    const golden *g = golden_find(goldens, name);
    return wick_model_state(p->model, name, WICK_ROLE_PARAM, p->dtype, g->rank, g->dims, wick_init_constant(0));
}

static wick_tensor *loss_of(problem *p, wick_tensor *x, wick_tensor *t) {
    return wick_mse(wick_tanh(wick_linear(x, parameter(p, "w"), parameter(p, "b"))), t);
}

static wick_tensor *half(problem *p, const char *name, int part) {
    const golden *g = golden_find(goldens, name);
    const int64_t rows = g->dims[0] / p->parts, dims[2] = {rows, g->dims[1]};
    return wick_cast(wick_from(p->ctx, WICK_F64, 2, dims, g->values + part * rows * g->dims[1]), p->dtype);
}

static bool problem_open(problem *p, const wick_optim_options *options, wick_dtype dtype) {
    *p = (problem){.ctx = golden_context(), .parts = options->accumulate > 1 ? options->accumulate : 1, .dtype = dtype};
    if (!p->ctx || wick_model_new(p->ctx, &p->model) != WICK_OK) return false;
    for (int i = 0; i < 2; i++) {
        const golden *g = golden_find(goldens, i ? "b" : "w");
        wick_tensor *value = wick_cast(wick_from(p->ctx, WICK_F64, g->rank, g->dims, g->values), dtype);
        if (wick_assign(parameter(p, g->name), value) != WICK_OK) return false;
    }
    if (wick_eval(p->ctx, 0, NULL, NULL) != WICK_OK) return false;
    return wick_optimizer_new(p->model, options, &p->optimizer) == WICK_OK;
}

static void problem_close(problem *p) {
    wick_optimizer_free(&p->optimizer);
    wick_model_free(&p->model);
    wick_context_free(&p->ctx);
}

/* One micro-batch: the last of a step updates. */
static wick_status record_part(problem *p, wick_tensor *x, wick_tensor *t, bool last, wick_tensor **loss) {
    *loss = loss_of(p, x, t);
    return last ? wick_optimizer_step(p->optimizer, *loss) : wick_optimizer_accumulate(p->optimizer, *loss);
}

typedef struct body_arg {
    problem *p;
    bool last;
} body_arg;
static wick_status part_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    body_arg *arg = user;
    (void)ctx;
    return record_part(arg->p, in[0], in[1], arg->last, out);
}

/* One step, recorded and evaluated. */
static bool step_eagerly(problem *p) {
    wick_scope *scope = wick_scope_open(p->ctx);
    bool ok = scope != NULL;
    for (int part = 0; ok && part < p->parts; part++) {
        wick_tensor *loss;
        ok = record_part(p, half(p, "x", part), half(p, "t", part), part == p->parts - 1, &loss) == WICK_OK &&
             wick_eval(p->ctx, 1, &loss, NULL) == WICK_OK;
    }
    wick_scope_close(&scope);
    return ok;
}

/* averaged: of the mean; 0 where PyTorch has none. */
static double parameter_distance(problem *p, const char *run, const char *name, bool averaged, int step) {
    char at[64], state[64];
    snprintf(at, sizeof at, "%s.%s%s.%d", run, averaged ? "a" : "", name, step);
    snprintf(state, sizeof state, "%s%s", averaged ? WICK_AVERAGE_OF : "", name);
    const golden *g = golden_find(goldens, at);
    double values[64];
    if (!g && averaged) return 0;
    if (!g || g->count > 64) return INFINITY;
    wick_tensor *t = wick_cast(wick_model_find(p->model, state), WICK_F64);
    if (wick_read(t, values, (size_t)g->count * sizeof *values) != WICK_OK) return INFINITY;
    return golden_distance(g, values);
}

static void check_step(problem *p, const char *run, int step, double tolerance) {
    static const int saved[] = {1, 2, 5, 10, 20};
    for (int i = 0; i < 5; i++) {
        if (saved[i] != step) continue;
        double w = parameter_distance(p, run, "w", false, step), b = parameter_distance(p, run, "b", false, step);
        w = fmax(w, parameter_distance(p, run, "w", true, step));
        b = fmax(b, parameter_distance(p, run, "b", true, step));
        CHECK_MSG(w < tolerance && b < tolerance, "%s step %d: w off by %g, b by %g", run, step, w, b);
    }
}

static const wick_optim_options lion = {.kind = WICK_LION, .lr = 0.01}, slow_sgd = {.lr = 0.05, .momentum = 0.5};
static const wick_param_group groups[] = {{.pattern = "b", .lr_scale = 0.1, .weight_decay = WICK_ZERO}};
static const wick_param_group two_rules[] = {{.pattern = "w*", .weight_decay = 0.2, .rule = &lion},
                                             {.pattern = "*", .rule = &slow_sgd}};

static const struct {
    const char *name;
    wick_optim_options options;
} runs[] = {
    {"sgd", {.lr = 0.1}},
    {"sgd_decay", {.lr = 0.1, .weight_decay = 0.02}},
    {"momentum", {.lr = 0.1, .momentum = 0.9}},
    {"nesterov", {.lr = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}},
    {"adam", {.kind = WICK_ADAM, .lr = 0.05}},
    {"adam_decay", {.kind = WICK_ADAM, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-6, .weight_decay = 0.03}},
    {"adamw", {.kind = WICK_ADAMW, .lr = 0.05, .weight_decay = 0.1}},
    {"clip", {.lr = 0.3, .momentum = 0.9, .clip_norm = 0.25}},
    {"accumulate", {.kind = WICK_ADAMW, .lr = 0.05, .weight_decay = 0.1, .clip_norm = 0.5, .accumulate = 2}},
    {"step", {.lr = 0.2, .schedule = {.kind = WICK_SCHEDULE_STEP, .gamma = 0.5, .every = 3}}},
    {"cosine",
     {.kind = WICK_ADAM,
      .lr = 0.1,
      .schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = 4, .total = 15, .lr_min = 0.01}}},
    {"muon.original", {.kind = WICK_MUON, .lr = 0.02, .weight_decay = 0.1, .muon_rate = WICK_MUON_ORIGINAL}},
    {"muon.match_rms_adamw", {.kind = WICK_MUON, .lr = 0.02, .weight_decay = 0.1}},
    {"muon.plain", {.kind = WICK_MUON, .lr = 0.02, .momentum = WICK_ZERO, .muon_rate = WICK_MUON_ORIGINAL}},
    {"adam.beta1", {.kind = WICK_ADAM, .lr = 0.05, .beta1 = WICK_ZERO, .beta2 = 0.9}},
    {"adam.amsgrad", {.kind = WICK_ADAM, .lr = 0.2, .beta2 = 0.5, .amsgrad = true, .weight_decay = 0.01}},
    {"adamw.amsgrad", {.kind = WICK_ADAMW, .lr = 0.2, .beta2 = 0.5, .amsgrad = true, .weight_decay = 0.1}},
    {"adamax", {.kind = WICK_ADAMAX, .lr = 0.05}},
    {"adamax.decay", {.kind = WICK_ADAMAX, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}},
    {"nadam.plain", {.kind = WICK_NADAM, .lr = 0.05}},
    {"nadam.decay", {.kind = WICK_NADAM, .lr = 0.05, .weight_decay = 0.1}},
    {"nadam.decoupled",
     {.kind = WICK_NADAM,
      .lr = 0.05,
      .weight_decay = 0.1,
      .decoupled = true,
      .beta1 = 0.8,
      .beta2 = 0.95,
      .momentum_decay = 0.5}},
    {"radam.plain", {.kind = WICK_RADAM, .lr = 0.05}},
    {"radam.decay", {.kind = WICK_RADAM, .lr = 0.05, .weight_decay = 0.1}},
    {"radam.decoupled",
     {.kind = WICK_RADAM, .lr = 0.05, .weight_decay = 0.1, .decoupled = true, .beta1 = 0.8, .beta2 = 0.95}},
    {"rmsprop", {.kind = WICK_RMSPROP, .lr = 0.02}},
    {"rmsprop.centered", {.kind = WICK_RMSPROP, .lr = 0.02, .centered = true, .beta2 = 0.9, .weight_decay = 0.1}},
    {"rmsprop.momentum", {.kind = WICK_RMSPROP, .lr = 0.02, .momentum = 0.8}},
    {"rmsprop.both", {.kind = WICK_RMSPROP, .lr = 0.02, .momentum = 0.8, .centered = true, .eps = 1e-4}},
    {"adagrad", {.kind = WICK_ADAGRAD, .lr = 0.1}},
    {"adagrad.options",
     {.kind = WICK_ADAGRAD, .lr = 0.1, .lr_decay = 0.1, .accumulator = 0.3, .weight_decay = 0.1, .eps = 1e-5}},
    {"adadelta", {.kind = WICK_ADADELTA}},
    {"adadelta.options", {.kind = WICK_ADADELTA, .lr = 3, .beta2 = 0.8, .eps = 1e-3, .weight_decay = 0.1}},
    {"lamb", {.kind = WICK_LAMB, .lr = 0.05}},
    {"lamb.decay", {.kind = WICK_LAMB, .lr = 0.05, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = 0.1}},
    {"lion", {.kind = WICK_LION, .lr = 0.01}},
    {"lion.decay", {.kind = WICK_LION, .lr = 0.01, .beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.5}},
    {"groups",
     {.kind = WICK_ADAMW,
      .lr = 0.05,
      .weight_decay = 0.1,
      .n_groups = 1,
      .groups = groups,
      .schedule = {.kind = WICK_SCHEDULE_EXPONENTIAL, .gamma = 0.9}}},
    {"rules", {.n_groups = 2, .groups = two_rules}},
#define CYCLE .kind = WICK_SCHEDULE_ONE_CYCLE, .total = 24, .cycle_momentum = true
    {"cycle.sgd", {.lr = 0.3, .momentum = 0.9, .nesterov = true, .schedule = {CYCLE}}},
    {"cycle.adam", {.kind = WICK_ADAM, .lr = 0.1, .schedule = {CYCLE, .linear = true}}},
    {"cycle.adamw",
     {.kind = WICK_ADAMW,
      .lr = 0.1,
      .weight_decay = 0.1,
      .schedule = {CYCLE, .three_phases = true, .momentum_least = 0.6, .momentum_most = 0.8}}},
    {"cycle.nadam", {.kind = WICK_NADAM, .lr = 0.1, .schedule = {CYCLE}}},
    {"cycle.adamax", {.kind = WICK_ADAMAX, .lr = 0.1, .schedule = {CYCLE}}},
    {"cycle.radam", {.kind = WICK_RADAM, .lr = 0.1, .schedule = {CYCLE}}},
    {"cycle.rmsprop", {.kind = WICK_RMSPROP, .lr = 0.02, .momentum = 0.8, .schedule = {CYCLE}}},
#undef CYCLE
    {"ema", {.kind = WICK_ADAMW, .lr = 0.05, .weight_decay = 0.1, .average = {WICK_AVERAGE_EMA, .decay = 0.8}}},
    {"ema.every", {.lr = 0.1, .average = {WICK_AVERAGE_EMA, .decay = 0.7, .start = 2, .every = 3}}},
    {"swa", {.lr = 0.1, .average = {WICK_AVERAGE_SWA, .start = 4, .every = 5}}},
};
enum { RUNS = sizeof runs / sizeof *runs };

TEST(recorded_steps_follow_pytorch) {
    for (int r = 0; r < RUNS; r++) {
        problem p;
        REQUIRE(problem_open(&p, &runs[r].options, WICK_F64));
        for (int step = 1; step <= 20; step++) {
            bool ok = step_eagerly(&p);
            CHECK_MSG(ok, "%s: %s", runs[r].name, wick_context_error(p.ctx));
            if (!ok) break;
            check_step(&p, runs[r].name, step, 1e-9);
        }
        double count = 0;
        wick_tensor *steps = wick_model_find(p.model, "optim.step");
        CHECK(steps != NULL && wick_tensor_dtype(steps) == WICK_I64 && wick_item(steps, &count) == WICK_OK &&
              count == 20);
        problem_close(&p);
    }
}

/* Compiles one part of a step for the problem's rows. */
static wick_status compile_part(problem *p, bool last, wick_plan **plan, wick_workspace **workspace) {
    body_arg arg = {p, last};
    const wick_spec specs[2] = {{.name = "x", .dtype = p->dtype, .rank = 2, .dims = {8 / p->parts, 4}},
                                {.name = "t", .dtype = p->dtype, .rank = 2, .dims = {8 / p->parts, 3}}};
    wick_status status = wick_compile(p->ctx, part_body, &arg, 2, specs, 1, NULL, plan);
    return status == WICK_OK ? wick_workspace_new(*plan, workspace) : status;
}

TEST(compiled_steps_follow_pytorch) {
    for (int r = 0; r < RUNS; r++) {
        problem p;
        REQUIRE(problem_open(&p, &runs[r].options, WICK_F64));
        const golden *x = golden_find(goldens, "x"), *t = golden_find(goldens, "t");
        wick_plan *plans[2] = {NULL, NULL};
        wick_workspace *spaces[2] = {NULL, NULL};
        bool ok = compile_part(&p, true, &plans[0], &spaces[0]) == WICK_OK;
        if (ok && p.parts > 1) ok = compile_part(&p, false, &plans[1], &spaces[1]) == WICK_OK;
        CHECK_MSG(ok, "%s: %s", runs[r].name, wick_context_error(p.ctx));
        for (int step = 1; ok && step <= 20; step++) {
            for (int part = 0; ok && part < p.parts; part++) {
                wick_workspace *space = spaces[part < p.parts - 1];
                double loss;
                const int64_t rows = 8 / p.parts;
                ok = wick_run(space, (const void *[]){x->values + part * rows * 4, t->values + part * rows * 3},
                              (void *[]){&loss}) == WICK_OK;
                CHECK_MSG(ok, "%s: %s", runs[r].name, wick_workspace_error(space));
            }
            check_step(&p, runs[r].name, step, 1e-9);
        }
        for (int i = 0; i < 2; i++) {
            wick_workspace_free(&spaces[i]);
            wick_plan_free(&plans[i]);
        }
        problem_close(&p);
    }
}

TEST(narrow_floats_train_too) {
    const wick_dtype dtypes[] = {WICK_F32, WICK_BF16, WICK_F16};
    const double tolerances[] = {2e-3, 5,
                                 5}; /* relative, with values near 0 among them: only that it goes the same way */
    for (int d = 0; d < 3; d++)
        for (int r = 0; r < RUNS; r++) {
            problem p;
            REQUIRE(problem_open(&p, &runs[r].options, dtypes[d]));
            for (int step = 1; step <= 5; step++) {
                bool ok = step_eagerly(&p);
                CHECK_MSG(ok, "%s %s: %s", runs[r].name, wick_dtype_name(dtypes[d]), wick_context_error(p.ctx));
                if (!ok) break;
                check_step(&p, runs[r].name, step, tolerances[d]);
            }
            wick_tensor *m = wick_model_find(p.model, "optim.m.w");
            if (m) CHECK(wick_tensor_dtype(m) == WICK_F32);
            problem_close(&p);
        }
}

TEST(state_is_named_and_shaped_like_its_parameter) {
    problem p;
    REQUIRE(problem_open(&p, &runs[8].options, WICK_F64)); /* AdamW, accumulating */
    REQUIRE(step_eagerly(&p));
    const char *const names[] = {"optim.m.w",    "optim.v.w",    "optim.m.b", "optim.v.b",
                                 "optim.grad.w", "optim.grad.b", "optim.step"};
    for (int i = 0; i < 7; i++) CHECK_MSG(wick_model_find(p.model, names[i]) != NULL, "%s", names[i]);
    CHECK_INT(wick_model_count(p.model), 9);
    double sums[12];
    CHECK(wick_read(wick_model_find(p.model, "optim.grad.w"), sums, sizeof sums) == WICK_OK);
    for (int i = 0; i < 12; i++) CHECK(sums[i] == 0); /* cleared by the step */
    problem_close(&p);
}

TEST(another_optimizer_goes_on_from_the_models_state) {
    problem p;
    REQUIRE(problem_open(&p, &runs[6].options, WICK_F64));
    for (int step = 1; step <= 20; step++) {
        if (step == 8) {
            wick_optimizer_free(&p.optimizer);
            REQUIRE(wick_optimizer_new(p.model, &runs[6].options, &p.optimizer) == WICK_OK);
        }
        REQUIRE(step_eagerly(&p));
    }
    check_step(&p, "adamw", 20, 1e-9);
    problem_close(&p);
}

static wick_status gradients_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    problem *p = user;
    out[0] = loss_of(p, in[0], in[1]);
    wick_grad(out[0], 2, (wick_tensor *[]){parameter(p, "w"), parameter(p, "b")}, out + 1);
    return WICK_OK;
}

TEST(the_update_of_a_parameter_is_one_kernel) {
    const char *eager = getenv("WICK_EAGER");
    if (eager && eager[0] == '1') SKIP("WICK_EAGER runs op by op");
    problem p;
    REQUIRE(problem_open(&p, &runs[6].options, WICK_F64)); /* AdamW */
    const wick_spec specs[2] = {{.dtype = WICK_F64, .rank = 2, .dims = {8, 4}},
                                {.dtype = WICK_F64, .rank = 2, .dims = {8, 3}}};
    wick_plan *step = NULL, *gradients = NULL;
    wick_workspace *space = NULL;
    REQUIRE(compile_part(&p, true, &step, &space) == WICK_OK);
    REQUIRE(wick_compile(p.ctx, gradients_body, &p, 2, specs, 3, NULL, &gradients) == WICK_OK);
    wick_plan_info info = wick_plan_get_info(step), without = wick_plan_get_info(gradients);
    CHECK_INT(info.assigns, 7); /* p, m, v of two parameters, and the step count */
    static char text[65536];
    wick_plan_format(step, text, sizeof text);
    /* one for each of the two parameters, at most two for the 0-d numbers, and the check of the loss */
    CHECK_MSG(info.kernels <= without.kernels + 5, "%d kernels, %d without the update:\n%s", info.kernels,
              without.kernels, text);
    wick_workspace_free(&space);
    wick_plan_free(&step);
    wick_plan_free(&gradients);
    problem_close(&p);
}

TEST(a_frozen_group_stays_and_one_without_parameters_is_refused) {
    const wick_param_group freeze = {.pattern = "w", .freeze = true}, nobody = {.pattern = "fc*"};
    wick_optim_options options = {.lr = 0.1, .n_groups = 1, .groups = &freeze};
    problem p;
    REQUIRE(problem_open(&p, &options, WICK_F64));
    double before[12], after[12], b[3];
    CHECK(wick_read(wick_model_find(p.model, "w"), before, sizeof before) == WICK_OK);
    REQUIRE(step_eagerly(&p));
    CHECK(wick_read(wick_model_find(p.model, "w"), after, sizeof after) == WICK_OK &&
          wick_read(wick_model_find(p.model, "b"), b, sizeof b) == WICK_OK);
    CHECK(memcmp(before, after, sizeof before) == 0 && memcmp(b, golden_find(goldens, "b")->values, sizeof b) != 0);
    problem_close(&p);
    options.groups = &nobody;
    REQUIRE(problem_open(&p, &options, WICK_F64));
    CHECK_INT(wick_optimizer_step(p.optimizer, loss_of(&p, half(&p, "x", 0), half(&p, "t", 0))), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(p.ctx), "\"fc*\"");
    problem_close(&p);
}

TEST(every_rule_takes_parameters_of_any_shape) {
    const int64_t shapes[][3] = {{0, 3, 2}, {1, 1, 1}, {5, 1, 3}, {2, 7, 1}};
    for (int kind = 0; kind < WICK_OPTIM_KINDS; kind++)
        for (int rank = 0; rank <= 3; rank++)
            for (int shape = 0; shape < (rank ? 4 : 1); shape++) {
                wick_context *ctx = golden_context();
                wick_model *model;
                wick_optimizer *optimizer;
                const wick_optim_options options = {.kind = (wick_optim_kind)kind,
                                                    .lr = 0.1,
                                                    .weight_decay = 0.1,
                                                    .average = {.kind = WICK_AVERAGE_EMA}};
                REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK &&
                        wick_optimizer_new(model, &options, &optimizer) == WICK_OK);
                wick_tensor *p =
                    wick_model_state(model, "p", WICK_ROLE_PARAM, WICK_F32, rank, shapes[shape], wick_init_constant(1));
                for (int step = 0; step < 2; step++) {
                    wick_tensor *loss = wick_sum(wick_square(p), WICK_ALL_AXES, false);
                    const bool ok =
                        wick_optimizer_step(optimizer, loss) == WICK_OK && wick_eval(ctx, 0, NULL, NULL) == WICK_OK;
                    CHECK_MSG(ok, "kind %d, rank %d, shape %d: %s", kind, rank, shape, wick_context_error(ctx));
                }
                float values[42];
                const int64_t n = wick_tensor_count(p);
                CHECK(wick_read(p, values, (size_t)n * sizeof *values) == WICK_OK);
                for (int64_t k = 0; k < n; k++)
                    CHECK_MSG(values[k] < 1 && values[k] > -1, "kind %d, rank %d, shape %d: %g", kind, rank, shape,
                              (double)values[k]);
                wick_optimizer_free(&optimizer);
                wick_model_free(&model);
                wick_context_free(&ctx);
            }
}

TEST(a_new_rate_makes_no_new_plan) {
    wick_optim_options options = {.lr = 0.1, .momentum = 0.5};
    problem p;
    REQUIRE(problem_open(&p, &options, WICK_F64));
    REQUIRE(step_eagerly(&p) && step_eagerly(&p) && step_eagerly(&p));
    uint64_t built = wick_context_get_stats(p.ctx).plans_built;
    wick_optimizer_free(&p.optimizer);
    options.lr = 0.05;
    REQUIRE(wick_optimizer_new(p.model, &options, &p.optimizer) == WICK_OK);
    REQUIRE(step_eagerly(&p));
    CHECK_INT(wick_context_get_stats(p.ctx).plans_built, built);
    problem_close(&p);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

TEST(a_loss_that_is_not_finite_changes_nothing) {
    problem p;
    REQUIRE(problem_open(&p, &runs[6].options, WICK_F64));
    REQUIRE(step_eagerly(&p));
    wick_tensor *w = wick_model_find(p.model, "w");
    double before[12], after[12], count;
    REQUIRE(wick_read(w, before, sizeof before) == WICK_OK);
    const double poison[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        wick_tensor *x = wick_full(p.ctx, WICK_F64, WICK_DIMS(8, 4), 1),
                    *t = wick_full(p.ctx, WICK_F64, WICK_DIMS(8, 3), poison[i]);
        wick_tensor *loss = loss_of(&p, x, t);
        REQUIRE(wick_optimizer_step(p.optimizer, loss) == WICK_OK);
        CHECK_INT(wick_eval(p.ctx, 0, NULL, NULL), WICK_ERR_NOT_FINITE);
        CHECK(wick_read(wick_model_find(p.model, "w"), after, sizeof after) == WICK_OK);
        CHECK(memcmp(before, after, sizeof before) == 0);
        CHECK(wick_item(wick_model_find(p.model, "optim.step"), &count) == WICK_OK && count == 1);
    }
    problem_close(&p);
}

TEST(bad_options_are_refused_with_a_reason) {
    wick_context *ctx = golden_context();
    wick_model *model;
    REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
    const struct {
        wick_optim_options options;
        const char *says;
    } cases[] = {
        {{.lr = -1}, "lr"},
        {{.lr = NAN}, "lr"},
        {{.momentum = -0.5}, "momentum"},
        {{.nesterov = true}, "nesterov"},
        {{.kind = WICK_ADAM, .momentum = 0.9}, "momentum"},
        {{.kind = WICK_ADAM, .beta1 = 1}, "beta1"},
        {{.kind = WICK_ADAM, .beta2 = -0.1}, "beta2"},
        {{.kind = WICK_ADAM, .eps = -1}, "eps"},
        {{.weight_decay = -1}, "weight_decay"},
        {{.clip_norm = NAN}, "clip_norm"},
        {{.accumulate = -2}, "accumulate"},
        {{.kind = WICK_MUON, .momentum = 1}, "Muon"},
        {{.kind = WICK_MUON, .nesterov = true}, "Muon"},
        {{.kind = WICK_MUON, .muon_rate = (wick_muon_rate)2}, "muon_rate"},
        {{.kind = WICK_OPTIM_KINDS}, "optimizer"},
        {{.kind = WICK_RMSPROP, .amsgrad = true}, "amsgrad"},
        {{.kind = WICK_ADAM, .centered = true}, "centered"},
        {{.kind = WICK_ADAM, .lr_decay = 0.1}, "Adagrad"},
        {{.kind = WICK_ADAGRAD, .lr_decay = -0.1}, "lr_decay"},
        {{.kind = WICK_ADAGRAD, .accumulator = NAN}, "accumulator"},
        {{.kind = WICK_NADAM, .momentum_decay = -1}, "momentum_decay"},
        {{.kind = WICK_LION, .nesterov = true}, "nesterov"},
        {{.average = {.kind = (wick_average_kind)3}}, "average"},
        {{.average = {WICK_AVERAGE_EMA, .decay = 1}}, "decay"},
        {{.average = {WICK_AVERAGE_EMA, .decay = NAN}}, "decay"},
        {{.average = {WICK_AVERAGE_SWA, .start = -1}}, "start"},
        {{.average = {WICK_AVERAGE_SWA, .every = -1}}, "every"},
        {{.schedule = {.kind = WICK_SCHEDULE_KINDS}}, "schedule"},
        {{.schedule = {.kind = WICK_SCHEDULE_EXPONENTIAL}}, "gamma"},
        {{.schedule = {.kind = WICK_SCHEDULE_MULTI_STEP, .gamma = 0.5}}, "milestones"},
        {{.schedule = {.kind = WICK_SCHEDULE_MULTI_STEP, .gamma = 0.5, .milestones = {4, 4}}}, "ascend"},
        {{.schedule = {.kind = WICK_SCHEDULE_RESTARTS}}, "every"},
        {{.schedule = {.kind = WICK_SCHEDULE_RESTARTS, .every = 3, .mult = 1.5}}, "mult"},
        {{.schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 3}}, "total"},
        {{.schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 30, .warmup = 2}}, "warmup"},
        {{.schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 30, .rise = 1.2}}, "rise"},
        {{.schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 30, .rise = 0.6, .three_phases = true}}, "phases"},
        {{.schedule = {.kind = WICK_SCHEDULE_POLYNOMIAL}}, "total"},
        {{.schedule = {.kind = WICK_SCHEDULE_POLYNOMIAL, .total = 3, .power = -1}}, "power"},
        {{.schedule = {.kind = WICK_SCHEDULE_LINEAR, .total = 3, .from = -1}}, "factors"},
        {{.schedule = {.kind = WICK_SCHEDULE_CHAINED}}, "parts"},
        {{.schedule = {.kind = WICK_SCHEDULE_SEQUENCE, .n_parts = 2, .parts = (const wick_schedule[]){{0}, {0}}}},
         "milestones"},
        {{.schedule = {.kind = WICK_SCHEDULE_CHAINED, .n_parts = 1, .parts = &(const wick_schedule){.warmup = -1}}},
         "warmup"},
        {{.momentum = 0.9, .schedule = {.kind = WICK_SCHEDULE_COSINE, .total = 9, .cycle_momentum = true}},
         "cycle_momentum"},
        {{.schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 30, .cycle_momentum = true}}, "with momentum"},
        {{.kind = WICK_ADAGRAD, .schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 30, .cycle_momentum = true}},
         "with momentum"},
        {{.momentum = 0.9, .schedule = {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 30, .momentum_most = 1}},
         "momentum_most"},
        {{.plateau = {.factor = 1}}, "factor"},
        {{.plateau = {.factor = 0.5, .cooldown = -1}}, "cooldown"},
        {{.n_groups = 1}, "groups"},
        {{.n_groups = 1, .groups = &(const wick_param_group){0}}, "pattern"},
        {{.n_groups = 1, .groups = &(const wick_param_group){.pattern = "*", .lr_scale = -1}}, "lr_scale"},
        {{.n_groups = 1, .groups = &(const wick_param_group){.pattern = "*", .weight_decay = -1}}, "weight_decay"},
        {{.n_groups = 1,
          .groups = &(const wick_param_group){.pattern = "*", .rule = &(const wick_optim_options){.beta1 = 1}}},
         "beta1"},
        {{.schedule = {.warmup = -1}}, "warmup"},
        {{.schedule = {.kind = WICK_SCHEDULE_STEP, .gamma = 0.5}}, "every"},
        {{.schedule = {.kind = WICK_SCHEDULE_STEP, .every = 3}}, "gamma"},
        {{.schedule = {.kind = WICK_SCHEDULE_COSINE, .warmup = 5, .total = 5}}, "total"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wick_optimizer *optimizer;
        CHECK_INT(wick_optimizer_new(model, &cases[i].options, &optimizer), WICK_ERR_INVALID);
        CHECK(optimizer == NULL);
        CHECK_STR_HAS(wick_context_error(ctx), cases[i].says);
    }
    wick_optimizer_free(NULL);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(steps_that_cannot_be_are_refused) {
    wick_context *ctx = golden_context();
    wick_model *model;
    wick_optimizer *optimizer;
    REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK &&
            wick_optimizer_new(model, NULL, &optimizer) == WICK_OK);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3));
    CHECK_INT(wick_optimizer_step(optimizer, wick_sum(x, WICK_ALL_AXES, false)), WICK_ERR_INVALID); /* no parameters */
    wick_tensor *y = wick_nn_linear(model, "used", x, 2);
    (void)wick_nn_linear(model, "unused", x, 2);
    /* depends on none */
    CHECK_INT(wick_optimizer_step(optimizer, wick_sum(x, WICK_ALL_AXES, false)), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "does not depend");
    CHECK_INT(wick_optimizer_accumulate(optimizer, wick_sum(y, WICK_ALL_AXES, false)), WICK_ERR_INVALID);
    CHECK(wick_optimizer_step(optimizer, y) != WICK_OK);                          /* not a number */
    CHECK_INT(wick_optimizer_step(optimizer, wick_matmul(x, x)), WICK_ERR_SHAPE); /* poisoned */
    CHECK_INT(wick_optimizer_step(optimizer, NULL), WICK_ERR_INVALID);
    wick_optimizer_free(&optimizer);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(parameters_outside_of_the_loss_stay_as_they_are) {
    for (int accumulate = 1; accumulate <= 2; accumulate++) {
        wick_context *ctx = golden_context();
        wick_model *model;
        wick_optimizer *optimizer;
        wick_optim_options options = {
            .kind = WICK_ADAMW, .lr = 0.1, .weight_decay = 0.1, .clip_norm = 1, .accumulate = accumulate};
        REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK &&
                wick_optimizer_new(model, &options, &optimizer) == WICK_OK);
        wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3));
        wick_tensor *a = wick_nn_linear(model, "a", x, 2), *b = wick_nn_linear(model, "b", x, 2);
        double before[2], after[2];
        const char *names[2] = {"a.weight", "b.weight"};
        for (int i = 0; i < 2; i++)
            CHECK_INT(wick_item(wick_sum(wick_model_find(model, names[i]), WICK_ALL_AXES, false), &before[i]), WICK_OK);
        /* With accumulation the first part knows a alone, the second b alone: both are updated. */
        if (accumulate == 2)
            CHECK_INT(wick_optimizer_accumulate(optimizer, wick_sum(a, WICK_ALL_AXES, false)), WICK_OK);
        CHECK_INT(wick_optimizer_step(optimizer, wick_sum(b, WICK_ALL_AXES, false)), WICK_OK);
        CHECK_INT(wick_eval(ctx, 0, NULL, NULL), WICK_OK);
        for (int i = 0; i < 2; i++)
            CHECK_INT(wick_item(wick_sum(wick_model_find(model, names[i]), WICK_ALL_AXES, false), &after[i]), WICK_OK);
        CHECK((before[0] == after[0]) == (accumulate == 1));
        CHECK(before[1] != after[1]);
        wick_optimizer_free(&optimizer);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
}

/* Every allocation fails in turn: recording and running a step either works or says so, and leaves no half of an
 * update. */
TEST(running_out_of_memory_updates_all_or_nothing) {
    counting memory = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&memory);
    if (!goldens) goldens = golden_load("optim.txt");
    int failed = 0;
    for (int limit = 0; limit < 4000; limit++) {
        problem p = {.parts = 1, .dtype = WICK_F64};
        memory.fail_at = -1;
        REQUIRE(goldens &&
                wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &p.ctx) == WICK_OK);
        REQUIRE(wick_model_new(p.ctx, &p.model) == WICK_OK && parameter(&p, "w") && parameter(&p, "b"));
        memory.fail_at = memory.calls + limit;
        bool ok = wick_optimizer_new(p.model, &runs[6].options, &p.optimizer) == WICK_OK && step_eagerly(&p);
        memory.fail_at = -1;
        if (!ok)
            CHECK_MSG(wick_context_status(p.ctx) == WICK_ERR_NOMEM, "limit %d: %s", limit, wick_context_error(p.ctx));
        /* b starts at 0 and moves with the first step, as do the counts. */
        double b[3], steps = 0;
        wick_tensor *count = wick_model_find(p.model, "optim.step");
        CHECK(wick_read(wick_model_find(p.model, "b"), b, sizeof b) == WICK_OK);
        if (count) CHECK(wick_item(count, &steps) == WICK_OK);
        CHECK_MSG((b[0] != 0) == (steps == 1), "limit %d: b %g, steps %g", limit, b[0], steps);
        CHECK_MSG(!ok || steps == 1, "limit %d", limit);
        problem_close(&p);
        CHECK_INT(memory.live, 0);
        failed += !ok;
        if (ok) break;
    }
    CHECK_MSG(failed > 10 && failed < 4000, "%d", failed);
}

int main(int argc, char **argv) {
    int rc = test_main(argc, argv);
    golden_free(goldens);
    return rc;
}
