/* Weights that layers share under several names: built, trained, saved and loaded. */
#include <unistd.h>

#include "io/safetensors.h"
#include "tensor/tensors.h"

enum { WORDS = 5, WIDTH = 3 };
static char path[64];

/* A table of words, and a linear layer that reads it as its weight. */
static wick_tensor *network(wick_model *model, bool tie) {
    const int64_t words[] = {1, 4, 2};
    wick_context *ctx = wick_model_context(model);
    wick_tensor *x =
        wick_nn_embedding(model, "wte", wick_from(ctx, WICK_I64, WICK_DIMS(3), words), WORDS, WIDTH, WICK_F32);
    if (tie && wick_model_alias(model, "lm_head.weight", "wte.weight") != WICK_OK)
        return wick_poison(ctx, WICK_ERR_INVALID, "%s", wick_context_error(ctx));
    return wick_nn_linear(model, "lm_head", wick_tanh(x), WORDS);
}

static wick_model *open_model(wick_context *ctx, bool tie) {
    wick_model *model = NULL;
    CHECK_OK(ctx, wick_model_new(ctx, &model));
    const char *text;
    if (model) CHECK_MSG(wick_tensor_error(network(model, tie), &text) == WICK_OK, "%s", text);
    return model;
}

TEST(layers_find_a_state_by_either_name_and_it_is_trained_once) {
    wick_context *ctx = context();
    wick_model *model = open_model(ctx, true);
    REQUIRE(model != NULL);
    CHECK(wick_model_find(model, "lm_head.weight") == wick_model_find(model, "wte.weight"));
    CHECK_INT(wick_model_count(model), 2); /* and lm_head.bias */
    const char *alias, *name;
    CHECK(wick_model_alias_at(model, 0, &alias, &name) && !strcmp(alias, "lm_head.weight") &&
          !strcmp(name, "wte.weight"));
    CHECK(!wick_model_alias_at(model, 1, &alias, &name) && !wick_model_alias_at(model, -1, &alias, &name));

    /* The gradient of both uses together: one step of SGD moves it by their sum. */
    float before[WORDS * WIDTH], after[WORDS * WIDTH], gradient[WORDS * WIDTH];
    wick_optimizer *optimizer;
    wick_tensor *w = wick_model_find(model, "wte.weight"),
                *loss = wick_mean(wick_square(network(model, false)), WICK_ALL_AXES, false), *g;
    wick_grad(loss, 1, &w, &g);
    CHECK_OK(ctx, wick_read(g, gradient, sizeof gradient));
    CHECK_OK(ctx, wick_read(w, before, sizeof before));
    CHECK_OK(ctx,
             wick_optimizer_new(model, &(wick_optim_options){.lr = 0.5, .average = {WICK_AVERAGE_EMA, .decay = 0.25}},
                                &optimizer));
    CHECK_OK(ctx, wick_optimizer_step(optimizer, wick_mean(wick_square(network(model, false)), WICK_ALL_AXES, false)));
    CHECK_OK(ctx, wick_read(w, after, sizeof after));
    for (int i = 0; i < WORDS * WIDTH; i++) CHECK(fabsf(before[i] - 0.5f * gradient[i] - after[i]) < 1e-6f);
    CHECK(wick_model_find(model, "optim.average.wte.weight") &&
          !wick_model_find(model, "optim.average.lm_head.weight"));
    wick_model_set_averaged(model, true); /* the mean, by either name */
    const wick_tensor *mean = wick_model_find(model, "optim.average.wte.weight");
    CHECK(wick_model_state(model, "lm_head.weight", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(WORDS, WIDTH),
                           wick_init_constant(0)) == mean);
    wick_optimizer_free(&optimizer);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

static void write_tensors(int n, const wick_safetensors_tensor *tensors) {
    wick_msg msg;
    CHECK_MSG(wick_safetensors_write(path, tensors, (size_t)n, NULL, 0, &msg) == WICK_OK, "%s", msg.text);
}

static wick_status load(wick_context *ctx, wick_model *model) {
    wick_checkpoint *c;
    wick_status status = wick_checkpoint_open(ctx, path, &c);
    if (status == WICK_OK) status = wick_checkpoint_load(c, model, false);
    wick_checkpoint_free(&c);
    return status;
}

TEST(a_file_has_it_once_and_is_read_under_either_name_or_both) {
    wick_context *ctx = context();
    wick_model *model = open_model(ctx, true);
    REQUIRE(model != NULL);
    snprintf(path, sizeof path, "alias-%d.safetensors", (int)getpid());
    CHECK_OK(ctx, wick_save(model, path, &(wick_save_options){.weights_only = true}));
    wick_safetensors file;
    wick_msg msg;
    REQUIRE(wick_safetensors_open(&file, path, &msg) == WICK_OK);
    CHECK(file.count == 2 && !wick_safetensors_find(&file, "lm_head.weight"));
    const char *first = wick_safetensors_get_meta(&file, "lm_head.weight");
    CHECK(first && !strcmp(first, "wte.weight"));
    wick_safetensors_close(&file);
    CHECK_OK(ctx, load(ctx, model));

    float table[WORDS * WIDTH], other[WORDS * WIDTH], bias[WORDS] = {0}, is[WORDS * WIDTH];
    for (int i = 0; i < WORDS * WIDTH; i++) table[i] = (float)i, other[i] = (float)-i;
    const wick_safetensors_tensor b = {
        .name = "lm_head.bias", .dtype = WICK_F32, .rank = 1, .dims = {WORDS}, .data = bias};
    const wick_safetensors_tensor under[] = {
        {.name = "wte.weight", .dtype = WICK_F32, .rank = 2, .dims = {WORDS, WIDTH}, .data = table},
        {.name = "lm_head.weight", .dtype = WICK_F32, .rank = 2, .dims = {WORDS, WIDTH}, .data = table},
        {.name = "lm_head.weight", .dtype = WICK_F32, .rank = 2, .dims = {WORDS, WIDTH}, .data = other}};
    for (int both = 0; both < 3; both++) { /* the first name, the second, or both */
        wick_safetensors_tensor tensors[3] = {b};
        int n = 1;
        if (both != 1) tensors[n++] = under[0];
        if (both != 0) tensors[n++] = under[1];
        CHECK_OK(ctx, wick_model_reinit(model, "*", wick_init_constant(7)));
        write_tensors(n, tensors);
        CHECK_OK(ctx, load(ctx, model));
        CHECK_OK(ctx, wick_read(wick_model_find(model, "wte.weight"), is, sizeof is));
        CHECK(!memcmp(is, table, sizeof is));
        wick_checkpoint *c;
        wick_load_report report = {0};
        CHECK_OK(ctx, wick_checkpoint_open(ctx, path, &c));
        CHECK_OK(ctx, wick_checkpoint_load_some(c, model, NULL, &report));
        CHECK(report.loaded == 2 && report.unused == 0 && report.kept == 0);
        wick_checkpoint_free(&c);
    }
    /* Both, and they differ: another model's. */
    write_tensors(3, (const wick_safetensors_tensor[]){b, under[0], under[2]});
    CHECK_FAILS(ctx, WICK_ERR_MISMATCH, "lm_head.weight is another tensor there than what it is an alias of here",
                load(ctx, model));
    /* A model that doesn't share takes both. */
    wick_model *apart = open_model(ctx, false);
    CHECK_OK(ctx, load(ctx, apart));
    remove(path);
    wick_model_free(&apart);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(aliases_that_cannot_be_are_refused) {
    wick_context *ctx = context();
    wick_model *model = open_model(ctx, false);
    REQUIRE(model != NULL);
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "a state of its own", wick_model_alias(model, "lm_head.weight", "wte.weight"));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "no state \"nobody\"", wick_model_alias(model, "other", "nobody"));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "is empty", wick_model_alias(model, "", "wte.weight"));
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "no state \"\"", wick_model_alias(model, "other", NULL));
    CHECK_OK(ctx, wick_model_alias(model, "other", "wte.weight"));
    CHECK_OK(ctx, wick_model_alias(model, "other", "wte.weight"));    /* again is nothing new */
    CHECK_OK(ctx, wick_model_alias(model, "another", "other")); /* of an alias: of what it stands for */
    CHECK_FAILS(ctx, WICK_ERR_INVALID, "of its own", wick_model_alias(model, "other", "lm_head.weight"));
    CHECK(wick_model_find(model, "another") == wick_model_find(model, "wte.weight"));
    const char *text;
    wick_tensor *wrong =
        wick_model_state(model, "other", WICK_ROLE_PARAM, WICK_F32, WICK_DIMS(WIDTH, WORDS), wick_init_constant(0));
    CHECK(wick_tensor_error(wrong, &text) == WICK_ERR_SHAPE && strstr(text, "wte.weight"));
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
