/* Schedules: the documented formulas, and that the graph and the C function agree at every step. */
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

TEST(the_graph_and_the_c_function_agree) {
    for (int c = 0; c < CASES; c++) {
        wick_context *ctx;
        wick_model *model;
        wick_optimizer *optimizer;
        REQUIRE(wick_context_new(&ctx, &(wick_context_options){.threads = 1}) == WICK_OK);
        REQUIRE(wick_model_new(ctx, &model) == WICK_OK && wick_optimizer_new(model, &cases[c], &optimizer) == WICK_OK);
        wick_tensor *lr = wick_optimizer_lr(optimizer);
        CHECK(wick_tensor_dtype(lr) == WICK_F64 && wick_tensor_rank(lr) == 0);
        for (int64_t step = 0; step < 40; step++) {
            double value;
            REQUIRE(wick_write(wick_model_find(model, "optim.step"), &step, sizeof step) == WICK_OK);
            wick_status status = wick_item(wick_optimizer_lr(optimizer), &value);
            CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
            CHECK_MSG(fabs(value - wick_optim_lr_at(&cases[c], step)) < 1e-14, "case %d step %lld: %.17g", c,
                      (long long)step, value);
        }
        wick_optimizer_free(&optimizer);
        wick_model_free(&model);
        wick_context_free(&ctx);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
