/* Schedules: the documented formulas, PyTorch's rates (golden/schedules.txt), and that the graph and the C function
 * agree at every step. */
#include "golden/golden.h"
#include "test.h"
#include "wick/wick.h"

static const double pi = 3.14159265358979323846;

static const wick_optim_options cases[] = {
    {.lr = 0.3},
    {.kind = WICK_ADAM},
    {.kind = WICK_SGD},
    {.lr = 0.1, .schedule = {.warmup = 5}},
    {.lr = 0.1, .schedule = {.warmup = 1}},
    {.lr = 0.8, .schedule = {.kind = WICK_SCHEDULE_STEP, .gamma = 0.5, .every = 7}},
    {.lr = 0.8, .schedule = {.kind = WICK_SCHEDULE_STEP, .gamma = 0.9, .every = 1, .warmup = 3}},
    {.lr = 0.4, .schedule = {.kind = WICK_SCHEDULE_COSINE, .total = 20}},
    {.lr = 0.4, .schedule = {.kind = WICK_SCHEDULE_COSINE, .total = 25, .warmup = 6, .lr_min = 0.1}},
    {.lr = 0.4, .schedule = {.kind = WICK_SCHEDULE_RESTARTS, .every = 4, .mult = 2, .warmup = 6, .lr_min = 0.1}},
    {.lr = 0.4, .schedule = {.kind = WICK_SCHEDULE_POLYNOMIAL, .total = 25, .warmup = 6, .lr_min = 0.1, .power = 2}},
};
enum { CASES = sizeof cases / sizeof *cases };

TEST(rates_at_chosen_steps_are_as_documented) {
    CHECK(wick_optim_lr_at(&cases[0], 0) == 0.3 && wick_optim_lr_at(&cases[0], 1000000) == 0.3);
    CHECK(wick_optim_lr_at(&cases[1], 3) == 0.001);
    CHECK(wick_optim_lr_at(&cases[2], 3) == 0.01);
    CHECK(wick_optim_lr_at(NULL, 3) == 0.01);
    CHECK(fabs(wick_optim_lr_at(&cases[3], 0) - 0.1 / 5) < 1e-15);
    CHECK(fabs(wick_optim_lr_at(&cases[3], 3) - 0.1 * 4 / 5) < 1e-15);
    CHECK(wick_optim_lr_at(&cases[3], 4) == 0.1 && wick_optim_lr_at(&cases[3], 5) == 0.1);
    CHECK(wick_optim_lr_at(&cases[5], 6) == 0.8 && wick_optim_lr_at(&cases[5], 7) == 0.4 &&
          wick_optim_lr_at(&cases[5], 14) == 0.2);
    CHECK(wick_optim_lr_at(&cases[7], 0) == 0.4);
    CHECK(fabs(wick_optim_lr_at(&cases[7], 10) - 0.2) < 1e-15);
    CHECK(fabs(wick_optim_lr_at(&cases[7], 5) - 0.4 * (1 + cos(pi / 4)) / 2) < 1e-15);
    CHECK(fabs(wick_optim_lr_at(&cases[7], 20)) < 1e-15 && fabs(wick_optim_lr_at(&cases[7], 99)) < 1e-15);
    CHECK(fabs(wick_optim_lr_at(&cases[8], 0) - 0.4 / 6) < 1e-15);
    CHECK(wick_optim_lr_at(&cases[8], 6) == 0.4);
    CHECK(fabs(wick_optim_lr_at(&cases[8], 25) - 0.1) < 1e-15 && fabs(wick_optim_lr_at(&cases[8], 400) - 0.1) < 1e-15);
}

static const wick_schedule warm_fall[] = {
    {.kind = WICK_SCHEDULE_LINEAR, .from = 0.1, .total = 8},
    {.kind = WICK_SCHEDULE_EXPONENTIAL, .gamma = 0.95},
    {.kind = WICK_SCHEDULE_STEP, .gamma = 0.5, .every = 10},
};
static const wick_schedule one_after_the_other[] = {
    {.kind = WICK_SCHEDULE_LINEAR, .from = 0.2, .total = 5},
    {.kind = WICK_SCHEDULE_MULTI_STEP, .gamma = 0.5, .milestones = {4, 9}},
    {.kind = WICK_SCHEDULE_EXPONENTIAL, .gamma = 0.9},
};
static const struct {
    const char *name;
    wick_schedule schedule;
} pytorch[] = {
    {"step", {.kind = WICK_SCHEDULE_STEP, .every = 7, .gamma = 0.5}},
    {"cosine", {.kind = WICK_SCHEDULE_COSINE, .total = 25, .lr_min = 0.02}},
    {"multistep", {.kind = WICK_SCHEDULE_MULTI_STEP, .gamma = 0.3, .milestones = {3, 10, 11, 30}}},
    {"exponential", {.kind = WICK_SCHEDULE_EXPONENTIAL, .gamma = 0.93}},
    {"restarts", {.kind = WICK_SCHEDULE_RESTARTS, .every = 6, .lr_min = 0.02}},
    {"restarts.2", {.kind = WICK_SCHEDULE_RESTARTS, .every = 5, .mult = 2, .lr_min = 0.01}},
    {"restarts.3", {.kind = WICK_SCHEDULE_RESTARTS, .every = 1, .mult = 3}},
    {"cycle", {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 40}},
    {"cycle.linear",
     {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 40, .rise = 0.4, .linear = true, .div = 10, .final_div = 100}},
    {"cycle.three", {.kind = WICK_SCHEDULE_ONE_CYCLE, .total = 40, .rise = 0.35, .three_phases = true}},
    {"polynomial", {.kind = WICK_SCHEDULE_POLYNOMIAL, .total = 30, .power = 2.5}},
    {"polynomial.1", {.kind = WICK_SCHEDULE_POLYNOMIAL, .total = 25}},
    {"linear", {.kind = WICK_SCHEDULE_LINEAR, .total = 9}},
    {"linear.down", {.kind = WICK_SCHEDULE_LINEAR, .total = 33, .from = 0.9, .to = 0.1}},
    {"chained", {.kind = WICK_SCHEDULE_CHAINED, .n_parts = 3, .parts = warm_fall}},
    {"sequence", {.kind = WICK_SCHEDULE_SEQUENCE, .n_parts = 3, .parts = one_after_the_other, .milestones = {5, 20}}},
};

static golden *load(void) {
    static golden *goldens;
    if (!goldens) goldens = golden_load("schedules.txt");
    return goldens;
}

TEST(rates_are_pytorchs) {
    REQUIRE(load() != NULL);
    for (size_t c = 0; c < sizeof pytorch / sizeof *pytorch; c++) {
        const golden *g = golden_find(load(), pytorch[c].name);
        const wick_optim_options options = {.lr = 0.4, .schedule = pytorch[c].schedule};
        REQUIRE(g != NULL && g->count == 40);
        for (int64_t step = 0; step < g->count; step++) {
            const double lr = wick_optim_lr_at(&options, step);
            CHECK_MSG(fabs(lr - g->values[step]) < 1e-14, "%s, step %lld: %.17g, PyTorch has %.17g", pytorch[c].name,
                      (long long)step, lr, g->values[step]);
        }
    }
}

TEST(long_periods_of_restarts_begin_where_they_should) {
    const wick_optim_options options = {.lr = 1, .schedule = {.kind = WICK_SCHEDULE_RESTARTS, .every = 10, .mult = 2}};
    for (int64_t begin = 0, length = 10; begin < 50000000; begin += length, length *= 2) {
        CHECK_MSG(wick_optim_lr_at(&options, begin) > 0.999999, "%lld: %g", (long long)begin,
                  wick_optim_lr_at(&options, begin));
        if (begin)
            CHECK_MSG(wick_optim_lr_at(&options, begin - 1) < 0.03, "%lld: %g", (long long)begin - 1,
                      wick_optim_lr_at(&options, begin - 1));
    }
}

TEST(a_plateau_lowers_rates_when_pytorchs_does) {
    static const struct {
        const char *name;
        double sign;
        wick_plateau plateau;
    } runs[] = {
        {"plateau", 1, {.factor = 0.5, .patience = 3}},
        {"plateau.max",
         -1,
         {.factor = 0.5, .patience = 2, .threshold = 0.05, .absolute = true, .largest = true, .cooldown = 3}},
        {"plateau.max_rel", 1, {.factor = 0.2, .patience = 4, .threshold = 0.01, .largest = true}},
        {"plateau.least", 1, {.factor = 0.1, .patience = -1, .lr_min = 0.001, .cooldown = 2}},
    };
    const golden *metrics = golden_find(load(), "metrics");
    REQUIRE(metrics != NULL);
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        const golden *g = golden_find(load(), runs[r].name);
        const wick_optim_options options = {.lr = 0.4, .plateau = runs[r].plateau};
        wick_context *ctx;
        wick_model *model;
        wick_optimizer *optimizer;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
        REQUIRE(wick_model_new(ctx, &model) == WICK_OK && wick_optimizer_new(model, &options, &optimizer) == WICK_OK);
        CHECK(wick_optimizer_plateau(optimizer) == 1);
        for (int64_t i = 0; i < metrics->count; i++) {
            double lr;
            if (i == 20) { /* another optimizer goes on from the model's state */
                wick_optimizer_free(&optimizer);
                REQUIRE(wick_optimizer_new(model, &options, &optimizer) == WICK_OK);
            }
            CHECK(wick_optimizer_metric(optimizer, runs[r].sign * metrics->values[i]) == WICK_OK);
            CHECK(wick_item(wick_optimizer_lr(optimizer), &lr) == WICK_OK);
            CHECK_MSG(fabs(lr - g->values[i]) < 1e-14, "%s, metric %lld: %.17g, PyTorch has %.17g", runs[r].name,
                      (long long)i, lr, g->values[i]);
            CHECK(fabs(0.4 * wick_optimizer_plateau(optimizer) - lr) < 1e-15);
        }
        wick_optimizer_free(&optimizer);
        const wick_optim_options without = {.lr = 0.4};
        REQUIRE(wick_optimizer_new(model, &without, &optimizer) == WICK_OK);
        CHECK_INT(wick_optimizer_metric(optimizer, 1), WICK_ERR_INVALID);
        wick_optimizer_free(&optimizer);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
}

TEST(the_graph_and_the_c_function_agree) {
    enum { ALL = CASES + sizeof pytorch / sizeof *pytorch };
    for (int c = 0; c < ALL; c++) {
        const wick_optim_options of = {.lr = 0.4,
                                       .schedule = c < CASES ? (wick_schedule){0} : pytorch[c - CASES].schedule};
        const wick_optim_options *options = c < CASES ? &cases[c] : &of;
        wick_context *ctx;
        wick_model *model;
        wick_optimizer *optimizer;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
        REQUIRE(wick_model_new(ctx, &model) == WICK_OK && wick_optimizer_new(model, options, &optimizer) == WICK_OK);
        wick_tensor *lr = wick_optimizer_lr(optimizer);
        CHECK(wick_tensor_dtype(lr) == WICK_F64 && wick_tensor_rank(lr) == 0);
        for (int64_t step = 0; step < 40; step++) {
            double value;
            REQUIRE(wick_write(wick_model_find(model, "optim.step"), &step, sizeof step) == WICK_OK);
            wick_status status = wick_item(wick_optimizer_lr(optimizer), &value);
            CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
            CHECK_MSG(fabs(value - wick_optim_lr_at(options, step)) < 1e-14, "case %d step %lld: %.17g", c,
                      (long long)step, value);
        }
        wick_optimizer_free(&optimizer);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
