/* Models in files as C: compiled and run, they give the bits of the plan. */
#include "base/base.h"
#include "codegen/compiled.h"
#include "tensor/tensors.h"
#include "wick/wick.h"

static wick_precision precision = WICK_PRECISION_F32;
enum { MOST = 120000 };
static double given[MOST], want[MOST], got[MOST];

static int call_run(void *library, const char *name, int n_in, int n_out, void **x, void **y) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s_run", name);
    void *at = dlsym(library, symbol);
    int (*run)(const void *, void *), (*run_12)(const void *, void *, void *),
        (*run_22)(const void *, const void *, void *, void *);
    memcpy(&run, &at, sizeof at), memcpy(&run_12, &at, sizeof at), memcpy(&run_22, &at, sizeof at);
    return !at                       ? -1
           : n_in == 1 && n_out == 1 ? run(x[0], y[0])
           : n_in == 1 && n_out == 2 ? run_12(x[0], y[0], y[1])
           : n_in == 2 && n_out == 2 ? run_22(x[0], x[1], y[0], y[1])
                                     : -1;
}
static size_t const_bytes, arena_bytes; /* of the last one */
/* A model of up to two inputs and outputs, each f32. */
static void check_model(const char *folder, const char *name, const char *path, const char *isa, const char *flags) {
    wick_context *ctx = NULL;
    wick_onnx *onnx = NULL;
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    wick_c_info info = {0};
    const wick_compile_options options = {.precision = precision};
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    CHECK_OK(ctx, wick_onnx_open(ctx, path, NULL, &onnx));
    wick_spec in[2];
    const int n_in = onnx ? WICK_MIN(wick_onnx_inputs(onnx), 2) : 0;
    for (int i = 0; i < n_in; i++) in[i] = wick_onnx_input_spec(onnx, i);
    if (onnx) CHECK_OK(ctx, wick_onnx_compile(onnx, in, &options, &plan));
    if (plan)
        CHECK_OK(ctx, wick_plan_write_c(plan, folder, &(wick_c_options){.name = name, .lanes = 16, .isa = isa}, &info));
    const bool wanted = compiled_wanted();
    void *library = plan && wanted ? compiled_load(folder, name, flags) : NULL;
    CHECK_MSG(library || !wanted, "%s", name);
    if (library && wick_workspace_new(plan, &space) == WICK_OK) {
        const int n_out = wick_plan_get_info(plan).outputs;
        void *x[2] = {given, NULL}, *planned_to[2] = {want, NULL}, *printed_to[2] = {got, NULL};
        size_t bytes = 0, size[2] = {0};
        REQUIRE(n_out <= 2);
        for (int i = 0; i < n_in; bytes += wick_spec_bytes(&in[i++])) x[i] = (char *)given + bytes;
        REQUIRE(bytes <= sizeof given);
        for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)given)[i] = (float)test_rand_real(-1, 1);
        bytes = 0;
        for (int i = 0; i < n_out; bytes += size[i++]) {
            const wick_spec out = wick_plan_output(plan, i);
            planned_to[i] = (char *)want + bytes, printed_to[i] = (char *)got + bytes;
            size[i] = wick_spec_bytes(&out);
        }
        REQUIRE(bytes <= sizeof want);
        CHECK(wick_run(space, (const void *const *)x, planned_to) == WICK_OK);
        CHECK_INT(call_run(library, name, n_in, n_out, x, printed_to), 0);
        CHECK_MSG(memcmp(want, got, bytes) == 0, "%s by %s %s: other bits", name, compiled_by.cc, compiled_by.level);
        /* which holds packed weights too */
        if (!isa && !precision) CHECK(info.arena_bytes <= wick_plan_get_info(plan).arena_bytes);
        test_count("printed models", 1);
    }
    if (library) dlclose(library);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_onnx_free(&onnx);
    wick_context_free(&ctx);
    const_bytes = info.const_bytes, arena_bytes = info.arena_bytes;
}

TEST(small_models_have_the_bits_of_the_base_tier_and_of_others) {
    static const char *const models[] = {"lenet", "dscnn", "autoencoder", "resnet8", "mnist_cnn", "mobilenetv1_025"};
    const char *all = getenv("WICK_MODELS");
    char folder[512], path[1024];
    if (!all) SKIP("WICK_MODELS is not set");
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    REQUIRE(wick_tier_force(WICK_TIER_BASE));
    for (size_t i = 0; i < WICK_COUNTOF(models); i++) {
        snprintf(path, sizeof path, "%s/bench/%s/model.onnx", all, models[i]);
        size_t bytes[3], arena[3];
        for (precision = WICK_PRECISION_F32; precision <= WICK_PRECISION_F16; precision++)
            check_model(folder, models[i], path, NULL, ""), bytes[precision] = const_bytes,
                                                            arena[precision] = arena_bytes;
        precision = WICK_PRECISION_F32;
        for (int way = 0; way < COMPILED_WAYS; way++)
            if (compiled_goes(i, way) && compiled_with(way))
                check_model(folder, models[i], path, NULL, "");
        compiled_with_cc();
        CHECK_MSG(bytes[1] < bytes[0] * 6 / 10 && bytes[2] < bytes[0] * 6 / 10,
                  "%s: %zu bytes of constants, in halves %zu and %zu", models[i], bytes[0], bytes[1], bytes[2]);
        if (arena[0] > 4096)
            CHECK_MSG(arena[1] < arena[0] * 6 / 10 && arena[2] < arena[0] * 6 / 10,
                      "%s: %zu bytes of RAM, in halves %zu and %zu", models[i], arena[0], arena[1], arena[2]);
    }
    static const char *const flags[] = {[WICK_TIER_AVX2] = "-mavx2 -mfma", [WICK_TIER_AVX512] = "-mavx512f -mfma"};
    for (wick_tier tier = WICK_TIER_AVX2; tier <= WICK_TIER_AVX512; tier++)
        for (size_t i = 0; i < WICK_COUNTOF(models) && wick_tier_force(tier); i++) {
            if (!compiled_in_turn(i, tier)) continue;
            snprintf(path, sizeof path, "%s/bench/%s/model.onnx", all, models[i]);
            check_model(folder, models[i], path, wick_tier_name(tier), flags[tier]);
        }
    compiled_remove(folder);
    wick_tier_force(before);
}

TEST(models_as_found_have_the_bits_of_the_base_tier) {
    static const char *const models[][2] = {{"mnist", "mnist-8"},
                                            {"mnist_opt", "mnist-opt"},
                                            {"dtln", "dtln_1"},
                                            {"ultraface", "ultraface_version-RFB-320"}};
    const char *all = getenv("WICK_MODELS");
    char folder[512], path[1024];
    if (!all) SKIP("WICK_MODELS is not set");
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    REQUIRE(wick_tier_force(WICK_TIER_BASE));
    compiled_with(0);
    for (size_t i = 0; i < WICK_COUNTOF(models); i++) {
        snprintf(path, sizeof path, "%s/onnx/%s/model.onnx", all, models[i][1]);
        check_model(folder, models[i][0], path, NULL, "");
    }
    compiled_with_cc();
    compiled_remove(folder);
    wick_tier_force(before);
}

TEST(quantised_models_have_the_bits_of_the_base_tier) {
    static const char *const models[] = {
        "quant_dynamic",        "quant_qdq_s8s8_channels", "quant_qdq_u8s8",         "quant_qoperator_s8s8_channels",
        "quant_qoperator_u8u8", "ort_residual_qdq",        "ort_residual_qoperator", "ort_residual_dynamic"};
    char folder[512], path[1024];
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    REQUIRE(wick_tier_force(WICK_TIER_BASE));
    for (size_t i = 0; i < WICK_COUNTOF(models); i++) {
        snprintf(path, sizeof path, WICK_SOURCE_DIR "/tests/golden/onnx/%s.onnx", models[i]);
        for (int way = 0; way < COMPILED_WAYS; way++)
            if (compiled_goes(i, way) && compiled_with(way))
                check_model(folder, models[i], path, NULL, "");
        compiled_with_cc();
    }
    compiled_remove(folder);
    wick_tier_force(before);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
