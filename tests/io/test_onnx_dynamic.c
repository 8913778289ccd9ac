/* ONNX models with open dims as functions of many shapes: real ones against plans compiled for each list of extents,
 * and a written one whose dims have names like "past + seq". */
#include "onnx_test.h"

enum { PORTS = 8, RUNS = 6 };

static const char *models(void) { return getenv("WICK_MODELS"); }

/* The dims that a model leaves open, with ranges it takes. rate: its input sr is fixed. */
static const struct open_model {
    const char *name;
    int n;
    wick_dim dims[3];
    bool rate;
    const char *output; /* the first one's shape */
} open_models[] = {
    {"magika_standard_v3_3", 1, {{"unk__214", 1, 4, 0}}, false, "[unk__214, 214]"},
    {"ppocr_cls",
     3,
     {{"p2o.DynamicDimension.0", 1, 3, 0},
      {"p2o.DynamicDimension.1", 48, 64, 0},
      {"p2o.DynamicDimension.2", 48, 192, 4}},
     false,
     "[p2o.DynamicDimension.0, 2]"},
    {"ppocr_v4_det",
     3,
     {{"p2o.DynamicDimension.0", 1, 2, 0},
      {"p2o.DynamicDimension.1", 32, 160, 32},
      {"p2o.DynamicDimension.2", 32, 160, 32}},
     false,
     "[p2o.DynamicDimension.0, 1, p2o.DynamicDimension.1, p2o.DynamicDimension.2]"},
    {"silero_vad_16k_op15", 2, {{"batch", 1, 6, 0}, {"sequence", 576, 576, 0}}, true, "[batch, 1]"},
};

static bool same_as_compiled(wick_onnx *onnx, const wick_runner *r, const void *const *x, void *const *got) {
    wick_spec in[PORTS];
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    void *want[PORTS] = {0};
    const int n_in = wick_onnx_inputs(onnx), n_out = wick_onnx_outputs(onnx);
    for (int i = 0; i < n_in; i++) in[i] = wick_runner_input(r, i);
    bool good = wick_onnx_compile(onnx, in, NULL, &plan) == WICK_OK && wick_workspace_new(plan, &ws) == WICK_OK;
    for (int i = 0; i < n_out && good; i++) {
        const wick_spec s = wick_plan_output(plan, i);
        good = (want[i] = calloc(wick_spec_bytes(&s) + 1, 1)) != NULL;
    }
    good = good && wick_run(ws, x, want) == WICK_OK;
    for (int i = 0; i < n_out && good; i++) {
        const wick_spec s = wick_plan_output(plan, i), t = wick_plan_output(wick_runner_plan(r), i);
        good = wick_spec_bytes(&s) == wick_spec_bytes(&t) && memcmp(want[i], got[i], wick_spec_bytes(&s)) == 0;
    }
    for (int i = 0; i < n_out; i++) free(want[i]);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}

static void run_random(const struct open_model *m, wick_onnx *onnx, wick_dynamic *d, wick_runner *r) {
    int64_t e[3];
    for (int k = 0; k < m->n; k++) {
        const int step = (int)(m->dims[k].multiple ? m->dims[k].multiple : 1);
        e[k] = m->dims[k].min + step * test_rand_int(0, (int)(m->dims[k].max - m->dims[k].min) / step);
        CHECK(strcmp(wick_dynamic_dim(d, k).name, m->dims[k].name) == 0);
    }
    CHECK_MSG(wick_runner_bind_dims(r, e) == WICK_OK, "%s: %s", m->name, wick_runner_error(r));
    if (!wick_runner_plan(r)) return;
    void *x[PORTS] = {0}, *y[PORTS] = {0};
    for (int i = 0; i < wick_onnx_inputs(onnx); i++) {
        const wick_spec s = wick_runner_input(r, i);
        x[i] = calloc(wick_spec_bytes(&s) + 1, 1);
        for (size_t n = 0; s.dtype == WICK_F32 && n < wick_spec_bytes(&s) / 4; n++)
            ((float *)x[i])[n] = (float)test_rand_real(-1, 1);
    }
    for (int i = 0; i < wick_onnx_outputs(onnx); i++) {
        const wick_spec s = wick_plan_output(wick_runner_plan(r), i);
        y[i] = calloc(wick_spec_bytes(&s) + 1, 1);
    }
    CHECK_MSG(wick_runner_run(r, (const void *const *)x, y) == WICK_OK, "%s: %s", m->name, wick_runner_error(r));
    CHECK_MSG(same_as_compiled(onnx, r, (const void *const *)x, y), "%s: other bits than of a plan for these extents",
              m->name);
    for (int i = 0; i < PORTS; i++) free(x[i]), free(y[i]);
}

TEST(real_models_of_any_extents_have_the_bits_of_plans_for_those_extents) {
    if (!models()) SKIP("WICK_MODELS names no folder of models");
    for (size_t i = 0; i < sizeof open_models / sizeof *open_models; i++) {
        const struct open_model *m = &open_models[i];
        char file[512];
        wick_onnx *onnx = NULL;
        wick_dynamic *d = NULL;
        wick_runner *r = NULL;
        wick_shapes *s = NULL;
        REQUIRE(set_up_with(&(wick_context_options){.threads = 2}));
        snprintf(file, sizeof file, "%.400s/onnx/%s/model.onnx", models(), m->name);
        REQUIRE(wick_onnx_open(ctx, file, NULL, &onnx) == WICK_OK);
        if (m->rate)
            CHECK(wick_onnx_fix_input(onnx, wick_onnx_inputs(onnx) - 1, wick_full(ctx, WICK_I64, 0, NULL, 16000)) ==
                  WICK_OK);
        CHECK_MSG(wick_onnx_dynamic(onnx, m->n, m->dims, &(wick_dynamic_options){.plans = 3}, &d) == WICK_OK, "%s",
                  wick_context_error(ctx));
        REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
        for (int k = 0; k < (TEST_SANITIZED ? 2 : RUNS); k++) run_random(m, onnx, d, r);
        CHECK_MSG(wick_dynamic_find_shapes(d, &s) == WICK_OK, "%s: %s", m->name, wick_context_error(ctx));
        if (s) CHECK_STR_HAS(wick_shapes_at(s, wick_shapes_output(s, 0)).text, m->output);
        for (int k = 0; s && k < wick_shapes_count(s); k++)
            CHECK_MSG(wick_shapes_at(s, k).known, "%s: %s", wick_shapes_at(s, k).place, wick_shapes_at(s, k).text);
        wick_shapes_free(&s);
        wick_runner_free(&r);
        wick_dynamic_free(&d);
        wick_onnx_free(&onnx);
        wick_context_free(&ctx);
    }
}

/* name: float [dims], by their names; "" gives a dim none. */
static pb open_value(const char *name, int rank, const char *const *dims) {
    pb v = {0}, type = {0}, tensor = {0}, shape = {0}, dim = {0};
    pb_int(&tensor, 1, 1);
    for (int i = 0; i < rank; i++) {
        if (*dims[i]) pb_text(&dim, 2, dims[i]);
        pb_message(&shape, 1, &dim);
    }
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&v, 1, name);
    pb_message(&v, 2, &type);
    return v;
}

/* y = concat(past, x) + mask, as of a decoder with a cache: past [, p], x [, seq], mask [, "p + seq"]. */
static wick_onnx *open_cache(const char *mask) {
    pb g = {0}, concat = pb_node("Concat", "past", "x", "all"), axis = {0}, add = pb_node("Add", "all", "mask", "y");
    pb_text(&axis, 1, "axis");
    pb_int(&axis, 3, 1);
    pb_int(&axis, 20, 2);
    pb_message(&concat, 5, &axis);
    pb_message(&g, 1, &concat);
    pb_message(&g, 1, &add);
    pb_text(&g, 2, "g");
    pb in[] = {open_value("mask", 2, (const char *[]){"n", mask}), open_value("past", 2, (const char *[]){"n", "p"}),
               open_value("x", 2, (const char *[]){"n", "seq"})};
    for (int i = 0; i < 3; i++) pb_message(&g, 11, &in[i]);
    pb y = pb_value("y", -1);
    pb_message(&g, 12, &y);
    pb m = pb_model(&g, 13);
    return open_model(&m, NULL);
}

TEST(names_of_dims_that_are_sums_of_others_are_expressions) {
    REQUIRE(set_up_with(&(wick_context_options){.threads = 1}));
    wick_onnx *onnx = open_cache("p + seq");
    wick_dynamic *d = NULL;
    wick_runner *r = NULL;
    wick_shapes *s = NULL;
    REQUIRE(onnx != NULL);
    const wick_dim dims[] = {{"seq", 1, 8, 0}, {"n", 1, 4, 0}, {"p", 0, 100, 0}};
    REQUIRE(wick_onnx_dynamic(onnx, 3, dims, NULL, &d) == WICK_OK && wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_dynamic_get_info(d).dims, 3);
    float x[16], y[16], past[16], mask[16];
    for (int i = 0; i < 16; i++) x[i] = (float)i, past[i] = (float)(100 + i), mask[i] = (float)(1000 * i);
    wick_spec in[] = {{"", WICK_F32, 2, {2, 5}}, {"", WICK_F32, 2, {2, 3}}, {"", WICK_F32, 2, {2, 2}}};
    CHECK_MSG(wick_runner_bind(r, in) == WICK_OK, "%s", wick_runner_error(r));
    CHECK_INT(wick_runner_run(r, (const void *[]){mask, past, x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 100 && y[2] == 2102 && y[3] == 3000 && y[4] == 4001 && y[5] == 5103 && y[9] == 9003);
    in[0].dims[1] = 6;
    CHECK_INT(wick_runner_bind(r, in), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_runner_error(r), "input mask: dim 1 (p + seq) is 6, but n=2, p=3, seq=2 makes it 5");
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){1, 0, 8}), WICK_OK); /* an empty cache */
    CHECK_INT(wick_dynamic_find_shapes(d, &s), WICK_OK);
    REQUIRE(s != NULL);
    CHECK_STR_HAS(wick_shapes_at(s, wick_shapes_output(s, 0)).text, "[n, p + seq]");
    wick_shapes_free(&s);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    CHECK(wick_onnx_dynamic(onnx, 1, &(wick_dim){"batch", 1, 2, 0}, NULL, &d) == WICK_ERR_INVALID && !d);
    CHECK_STR_HAS(wick_context_error(ctx), "no input has an open dim \"batch\"");
    wick_onnx_free(&onnx);

    onnx = open_cache("");
    REQUIRE(onnx != NULL);
    REQUIRE(wick_onnx_dynamic(onnx, 3, dims, NULL, &d) == WICK_OK && wick_runner_new(d, &r) == WICK_OK);
    CHECK_STR_HAS(wick_dynamic_dim(d, 1).name, "mask.1");
    CHECK_INT(wick_runner_bind(r, in), WICK_ERR_SHAPE); /* 3 and 2 are no 6: the graph says so */
    CHECK_STR_HAS(wick_runner_error(r), "with n=2, mask.1=6, p=3, seq=2: ");
    in[0].dims[1] = 5;
    CHECK_INT(wick_runner_bind(r, in), WICK_OK);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

TEST(inputs_are_held_to_the_names_of_their_extents) {
    REQUIRE(set_up_with(&(wick_context_options){.threads = 1}));
    wick_onnx *onnx = open_cache("p + seq");
    REQUIRE(onnx != NULL);
    const wick_dim dims[] = {{"seq", 1, 8, 2}, {"n", 1, 4, 0}};
    wick_spec in[] = {{"", WICK_F32, 2, {2, 5}}, {"", WICK_F32, 2, {2, 3}}, {"", WICK_F32, 2, {2, 2}}};
    CHECK_INT(wick_onnx_check_inputs(onnx, in, 2, dims), WICK_OK);
    CHECK_INT(wick_onnx_check_inputs(onnx, in, 0, NULL), WICK_OK);
    in[2].dims[0] = 3;
    CHECK_INT(wick_onnx_check_inputs(onnx, in, 2, dims), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(ctx), "input x: dim 0 (n) is 3, but dim 0 of input mask, of the same name, is 2");
    in[2].rank = -1; /* not given: then p + seq is anything */
    CHECK_INT(wick_onnx_check_inputs(onnx, in, 2, dims), WICK_OK);
    in[2] = (wick_spec){"", WICK_F32, 2, {2, 3}};
    CHECK_INT(wick_onnx_check_inputs(onnx, in, 2, dims), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(ctx), "input x: dim 1 (seq) is 3, the range is 1..8, multiples of 2");
    CHECK_INT(wick_onnx_check_inputs(onnx, in, 0, NULL), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_context_error(ctx), "input mask: dim 1 (p + seq) is 5, but n=2, p=3, seq=3 makes it 6");
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
