/* Plans as C files: each kernel that has a printer, compiled and run, gives the bits of the base tier; what has none is
 * refused before anything is written. */
#include <sys/stat.h>

#include "aot/nets.h"
#include "codegen/compiled.h"
#include "wick/wick.h"

static wick_precision precision; /* of the plans */

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    out[0] = ((const net *)user)->body(ctx, in[0]);
    return WICK_OK;
}

/* The plan, or NULL, with x and what it gives. */
static wick_plan *planned(wick_context *ctx, const net *n, double *x, double *want) {
    wick_spec spec = {.dtype = n->dtype, .rank = n->rank};
    int64_t count = 1;
    for (int d = 0; d < n->rank; d++) count *= spec.dims[d] = n->dims[d];
    for (int64_t i = 0; i < count; i++) {
        const double v = test_rand_real(-2, 2);
        if (n->dtype == WICK_F64) x[i] = v;
        else ((float *)x)[i] = (float)v;
    }
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    CHECK_MSG(wick_compile(ctx, record, (void *)(uintptr_t)n, 1, &spec, 1,
                           &(wick_compile_options){.precision = precision}, &plan) == WICK_OK,
              "%s: %s", n->name, wick_context_error(ctx));
    if (!plan || wick_workspace_new(plan, &space) != WICK_OK) return plan;
    CHECK(wick_run(space, (const void *[]){x}, (void *[]){want}) == WICK_OK);
    wick_workspace_free(&space);
    return plan;
}

enum { MOST = 120000 };
static double given[MOST], want[MOST], got[MOST];

static void check_net(const char *folder, const net *n, const wick_c_options *options, const char *flags) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    wick_plan *plan = planned(ctx, n, given, want);
    wick_c_info info;
    if (plan)
        CHECK_MSG(wick_plan_write_c(plan, folder, options, &info) == WICK_OK, "%s: %s", n->name,
                  wick_context_error(ctx));
    const bool wanted = compiled_wanted();
    void *library = plan && wanted ? compiled_load(folder, n->name, flags) : NULL;
    CHECK_MSG(library || !wanted, "%s", n->name);
    char name[64];
    snprintf(name, sizeof name, "%s_run", n->name);
    if (library) {
        const wick_spec out = wick_plan_output(plan, 0);
        const size_t bytes = wick_spec_bytes(&out);
        int (*run)(const void *, void *) = (int (*)(const void *, void *))(uintptr_t)dlsym(library, name);
        int (*run_with)(const void *, const void *, void *) =
            (int (*)(const void *, const void *, void *))(uintptr_t)dlsym(library, name);
        memset(got, 0x55, sizeof got);
        if (options->weights_apart) {
            char path[700];
            snprintf(path, sizeof path, "%s/%s.bin", folder, n->name);
            wick_map map;
            wick_msg msg;
            CHECK(wick_map_read(&map, path, &msg) == WICK_OK && map.size == info.const_bytes);
            char *aligned = aligned_alloc(64, WICK_ALIGN_UP(map.size + 64, 64));
            memcpy(aligned, map.data, map.size);
            CHECK_INT(run_with(NULL, given, got), 1);
            CHECK_INT(run_with(aligned + 4, given, got), 1);
            CHECK_INT(run_with(aligned, given, got), 0);
            free(aligned);
            wick_map_close(&map);
        } else {
            /* nothing of a run is left for the next */
            for (int twice = 0; twice < 2; twice++) CHECK_INT(run(given, got), 0);
        }
        size_t bad = 0;
        while (bad < bytes && ((char *)got)[bad] == ((char *)want)[bad]) bad++;
        CHECK_MSG(bad == bytes, "%s: byte %zu of %zu differs: %a, not %a", n->name, bad, bytes,
                  n->dtype == WICK_F64 ? got[bad / 8] : (double)((float *)got)[bad / 4],
                  n->dtype == WICK_F64 ? want[bad / 8] : (double)((float *)want)[bad / 4]);
        test_count("printed plans", 1);
        dlclose(library);
    }
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* By cc, or by a compiler and level of compiled.h those that it takes; WICK_NET=name: that net, by each of them. */
static void check_by(int way, const net *list, size_t n, wick_c_options options, wick_tier tier, const char *flags) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    char folder[512];
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    const char *only = getenv("WICK_NET");
    bool found = !only || !*only;
    if (!wick_tier_force(tier)) SKIP("the CPU has no such tier");
    for (size_t i = 0; i < n; i++) {
        options.name = list[i].name;
        if (only && *only ? strcmp(only, list[i].name) : !compiled_goes(i, way) || !compiled_in_turn(i, tier)) continue;
        /* gelu, which that tier computes by another polynomial */
        if (tier == WICK_TIER_AVX512 && list[i].body == elementwise) continue;
        check_net(folder, &list[i], &options, flags);
        found = true;
    }
    compiled_remove(folder);
    wick_tier_force(before);
    if (!found) SKIP("WICK_NET names none of these nets");
}
static void check_list(const net *list, size_t n, wick_c_options options, wick_tier tier, const char *flags) {
    check_by(COMPILED_BY_CC, list, n, options, tier, flags);
}
static void check_all(wick_c_options options, wick_tier tier, const char *flags) {
    check_list(nets, WICK_COUNTOF(nets), options, tier, flags);
}

TEST(printed_plans_have_the_bits_of_the_base_tier_by_every_compiler) {
    for (int way = 0; way < COMPILED_WAYS; way++)
        if (compiled_with(way))
            check_by(way, nets, WICK_COUNTOF(nets), (wick_c_options){.lanes = way % 2 ? 16 : 0}, WICK_TIER_BASE, "");
    compiled_with_cc();
}
TEST(halves_have_the_bits_of_the_base_tier) {
    check_list(half_nets, WICK_COUNTOF(half_nets), (wick_c_options){0}, WICK_TIER_BASE, "");
    check_list(half_nets, WICK_COUNTOF(half_nets), (wick_c_options){.lanes = 16, .weights_apart = true}, WICK_TIER_BASE,
               "-O3");
}
TEST(mixed_precision_has_the_bits_of_the_base_tier) {
    for (precision = WICK_PRECISION_BF16; precision <= WICK_PRECISION_F16; precision++)
        check_list(mixed_nets, WICK_COUNTOF(mixed_nets),
                   (wick_c_options){.lanes = precision == WICK_PRECISION_F16 ? 16 : 0}, WICK_TIER_BASE, "");
    precision = WICK_PRECISION_F32;
}
TEST(variants_of_halves_have_the_bits_of_their_tiers) {
    check_list(half_nets, WICK_COUNTOF(half_nets), (wick_c_options){.isa = "avx2"}, WICK_TIER_AVX2, "-mavx2 -mfma");
    check_list(half_nets, WICK_COUNTOF(half_nets), (wick_c_options){.isa = "avx512", .lanes = 16}, WICK_TIER_AVX512,
               "-mavx512f -mavx512vl -mavx512dq -mfma");
}
/* Of every second net: what is read from files, and from where, is the same text in all. */
TEST(lanes_and_files_of_weights_change_no_bit) {
    net some[WICK_COUNTOF(nets)];
    size_t n = 0;
    for (size_t i = 0; i < WICK_COUNTOF(nets); i++)
        if (test_long() || i % 2 == 0) some[n++] = nets[i];
    check_list(some, n, (wick_c_options){.lanes = 3, .weights_apart = true}, WICK_TIER_BASE, "");
}

/* Of bytes, and some of others: by gcc and clang, at two levels. */
TEST(code_for_cortex_m_has_the_bits_of_the_base_tier) {
    net some[WICK_COUNTOF(nets)];
    size_t n = 0;
    for (size_t i = 0; i < WICK_COUNTOF(nets); i++)
        if (strstr(nets[i].name, "byte") || i % 16 == 0) some[n++] = nets[i];
    for (int way = 0; way < COMPILED_WAYS; way++)
        if (compiled_with(way))
            check_by(way, some, n, (wick_c_options){.isa = "cortex-m", .weights_apart = way % 2 == 1}, WICK_TIER_BASE,
                     "");
    compiled_with_cc();
}

/* Lanes are what plain loops take, among them convolutions by Winograd's algorithm. */
TEST(variants_have_the_bits_of_their_tiers) {
    check_all((wick_c_options){.isa = "avx2", .lanes = 8}, WICK_TIER_AVX2, "-O3 -mavx2 -mfma");
    check_all((wick_c_options){.isa = "avx512", .lanes = 32}, WICK_TIER_AVX512,
              "-O3 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma");
}

/* Plain loops of a plan for AVX-512 that round as it does; its convolutions of few channels read planes. */
TEST(plain_code_for_pictures_as_they_lie_has_the_bits_of_the_plan) {
    static const net pictures[] = {{"conv_of_pictures", 4, {2, 3, 9, 27}, conv_of_pictures, WICK_F32},
                                   {"conv_inside_pictures", 4, {2, 2, 6, 21}, conv_inside_pictures, WICK_F32}};
    for (int lanes = 0; lanes <= 16; lanes += 8)
        check_list(pictures, WICK_COUNTOF(pictures), (wick_c_options){.lanes = lanes}, WICK_TIER_AVX512,
                   "-O1 -mfma -DCONV_OF_PICTURES_FMA=1 -DCONV_INSIDE_PICTURES_FMA=1");
}

/* Four calls of one kernel, whose x and y are the same places of the arena each time: of such a function gcc 12.2 -O2
 * makes a clone that knows them, takes it for one that stores nothing, and drops the calls. So kernels are declared
 * otherwise, with the words of the file that is printed. */
static const char calls_of_one_kernel[] =
    "static _Alignas(16) unsigned char arena[8448000];\n"
    "#define NOT_INLINE __attribute__((noinline))\n"
    "NOT_INLINE KERNEL void f(const uint8_t *x0, const float *x1, const float *x2, float *y0) {\n"
    "    for (long i = 0; i < 153600; i++) {\n        const int32_t r = x0[i];\n        y0[i] = ((float)r - x1[0]) * "
    "x2[0];\n    }\n}\n"
    "#define CALL(a, b) f((uint8_t *)(void *)(arena + 768000), (const float *)(const void *)(bytes + a), (const float "
    "*)(const void *)(bytes + b), (float *)(void *)(arena + 0))\n"
    "int calls_run(const void *weights, float *y);\n"
    "int calls_run(const void *weights, float *y) {\n    const unsigned char *bytes = weights;\n"
    "    for (long i = 0; i < 153600; i++) arena[768000 + i] = (uint8_t)i;\n"
    "    CALL(0, 16);\n    y[0] = ((float *)(void *)arena)[7];\n    CALL(32, 48);\n    y[1] = ((float *)(void "
    "*)arena)[7];\n"
    "    CALL(0, 48);\n    y[2] = ((float *)(void *)arena)[7];\n    CALL(32, 16);\n    y[3] = ((float *)(void "
    "*)arena)[7];\n    return 0;\n}\n";
TEST(no_call_of_a_kernel_is_dropped) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static const float weights[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4};
    char folder[512], path[600];
    static char printed[200000];
    wick_context *ctx = NULL;
    REQUIRE(compiled_folder(folder, sizeof folder));
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    wick_plan *plan = planned(ctx, &(net){"plain", 2, {7, 9}, elementwise, WICK_F32}, given, want);
    REQUIRE(plan && wick_plan_write_c(plan, folder, &(wick_c_options){.name = "plain"}, NULL) == WICK_OK);
    snprintf(path, sizeof path, "%s/plain.c", folder);
    FILE *file = fopen(path, "rb");
    REQUIRE(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = 0;
    fclose(file);
    CHECK(strstr(printed, "\nKERNEL void map_"));
    CHECK(!strstr(printed, "\nstatic void"));
    char *words = strstr(printed, "#define KERNEL"), *end = words ? strstr(words, "\n\n") : NULL;
    REQUIRE(end);
    *end = 0;
    snprintf(path, sizeof path, "%s/calls.c", folder);
    REQUIRE((file = fopen(path, "wb")) != NULL);
    fprintf(file, "#include <stdint.h>\n%s\n%s", words, calls_of_one_kernel);
    fclose(file);
    for (int way = 0; way < COMPILED_WAYS; way++) {
        if (!compiled_with(way)) continue;
        void *library = compiled_load(folder, "calls", ""), *at = library ? dlsym(library, "calls_run") : NULL;
        int (*run)(const void *, float *);
        float y[4] = {0};
        memcpy(&run, &at, sizeof at);
        REQUIRE(at && run(weights, y) == 0);
        CHECK_MSG(y[0] == 12 && y[1] == 16 && y[2] == 24 && y[3] == 8, "%s %s: %g %g %g %g", compiled_by.cc,
                  compiled_by.level, (double)y[0], (double)y[1], (double)y[2], (double)y[3]);
        dlclose(library);
    }
    compiled_with_cc();
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    compiled_remove(folder);
}

/* Weights that several copies put together are known, too. */
NET(joined_weights) {
    return wick_linear(x, wick_concat(2, (wick_tensor *[]){MADE(ctx, 5, 3), MADE(ctx, 5, 4)}, 1), NULL);
}

TEST(what_is_known_is_computed_when_the_code_is_written) {
    char folder[512];
    wick_c_info info = {0};
    wick_context *ctx = NULL;
    REQUIRE(compiled_folder(folder, sizeof folder));
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    wick_plan *plan = planned(ctx, &(net){"joined_weights", 2, {2, 7}, joined_weights, WICK_F32}, given, want);
    REQUIRE(plan);
    CHECK(wick_plan_write_c(plan, folder, NULL, &info) == WICK_OK);
    CHECK_INT(info.kernels, 1);
    CHECK(info.folded >= 2);
    CHECK_INT((int)info.arena_bytes, 0);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    compiled_remove(folder);
}

/* Bytes of constants and of the arena. */
static wick_c_info bytes_of_net(const char *folder, const net *n, wick_precision of) {
    wick_c_info info = {0};
    wick_context *ctx = NULL;
    precision = of;
    CHECK(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    wick_plan *plan = planned(ctx, n, given, want);
    CHECK(plan && wick_plan_write_c(plan, folder, NULL, &info) == WICK_OK);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    precision = WICK_PRECISION_F32;
    return info;
}
/* Weights of transposed convolutions by strides, of recurrences too; images, and what pooling reads and gives. */
TEST(halves_take_half_the_memory) {
    static const net images[] = {{"transposed_deep", 4, {1, 300, 3, 4}, transposed_deep, WICK_F32},
                                 {"pools", 4, {2, 3, 12, 13}, pools, WICK_F32}};
    static const net cells[] = {{"gru", 3, {4, 2, 6}, gru, WICK_F32},
                                {"half_gru_f16", 3, {4, 2, 6}, half_gru_f16, WICK_F32},
                                {"half_gru_bf16", 3, {4, 2, 6}, half_gru_bf16, WICK_F32}};
    char folder[512];
    const wick_tier before = wick_tier_current();
    REQUIRE(compiled_folder(folder, sizeof folder) && wick_tier_force(WICK_TIER_BASE));
    for (size_t i = 0; i < WICK_COUNTOF(images); i++) {
        const wick_c_info wide = bytes_of_net(folder, &images[i], WICK_PRECISION_F32);
        for (wick_precision of = WICK_PRECISION_BF16; of <= WICK_PRECISION_F16; of++) {
            const wick_c_info info = bytes_of_net(folder, &images[i], of);
            CHECK_MSG(info.const_bytes < wide.const_bytes * 6 / 10, "%s: %zu bytes of constants, in f32 %zu",
                      images[i].name, info.const_bytes, wide.const_bytes);
            CHECK_MSG(info.arena_bytes < wide.arena_bytes * 8 / 10, "%s: %zu bytes of RAM, in f32 %zu", images[i].name,
                      info.arena_bytes, wide.arena_bytes);
        }
    }
    const size_t wide = bytes_of_net(folder, &cells[0], WICK_PRECISION_F32).const_bytes;
    for (int i = 1; i < 3; i++) {
        const size_t bytes = bytes_of_net(folder, &cells[i], WICK_PRECISION_F32).const_bytes;
        CHECK_MSG(bytes < wide * 8 / 10, "%s: %zu bytes of constants, in f32 %zu", cells[i].name, bytes, wide);
    }
    compiled_remove(folder);
    wick_tier_force(before);
}

static wick_status record_faults(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const wick_rnn_inputs weights = {.w_ih = MADE(ctx, 3, 2), .w_hh = MADE(ctx, 3, 3), .lengths = in[1]};
    (void)user;
    out[0] = wick_gather(in[0], 0, in[2]);
    out[1] = wick_rnn(in[0], &weights, NULL, NULL);
    return WICK_OK;
}

TEST(an_index_or_a_length_out_of_range_is_returned) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static const struct {
        int64_t lengths[3], index[2];
        int code;
    } cases[] = {{{0, 2, 1}, {1, -2}, 0},
                 {{0, 2, 1}, {1, 2}, 2},
                 {{0, 2, 1}, {-3, 0}, 2},
                 {{0, 3, 1}, {1, 1}, 2},
                 {{0, 2, -1}, {1, 1}, 2}};
    static const wick_spec specs[] = {{.dtype = WICK_F32, .rank = 3, .dims = {2, 3, 2}},
                                      {.dtype = WICK_I64, .rank = 1, .dims = {3}},
                                      {.dtype = WICK_I64, .rank = 1, .dims = {2}}};
    char folder[512];
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    REQUIRE(compiled_folder(folder, sizeof folder));
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    CHECK_OK(ctx, wick_compile(ctx, record_faults, NULL, 3, specs, 2, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &space) == WICK_OK);
    CHECK_OK(ctx, wick_plan_write_c(plan, folder, &(wick_c_options){.name = "faults"}, NULL));
    void *library = compiled_load(folder, "faults", "");
    REQUIRE(library);
    int (*run)(const float *, const int64_t *, const int64_t *, float *, float *) =
        (int (*)(const float *, const int64_t *, const int64_t *, float *, float *))(uintptr_t)dlsym(library,
                                                                                                     "faults_run");
    static const float x[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        float slices[12], states[18];
        CHECK_INT(run(x, cases[i].lengths, cases[i].index, slices, states), cases[i].code);
        CHECK((wick_run(space, (const void *[]){x, cases[i].lengths, cases[i].index}, (void *[]){slices, states}) ==
               WICK_OK) == (cases[i].code == 0));
    }
    dlclose(library);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    compiled_remove(folder);
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

NET(medians) { return wick_median(x, 1, false, NULL); }
static wick_status record_assign(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    wick_tensor *state = user;
    out[0] = wick_add(in[0], state);
    return wick_assign(state, out[0]);
}

TEST(what_has_no_printer_is_refused_and_nothing_is_written) {
    char folder[512], path[600];
    struct stat st;
    REQUIRE(compiled_folder(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/new", folder);
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    wick_plan *plan = planned(ctx, &(net){"medians", 2, {3, 4}, medians, WICK_F32}, given, want);
    REQUIRE(plan);
    CHECK_INT(wick_plan_write_c(plan, path, NULL, NULL), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "kthvalue");
    CHECK_STR_HAS(wick_context_error(ctx), "test_aot.c:"); /* where it was recorded */
    CHECK(stat(path, &st) != 0);
    wick_plan_free(&plan);

    wick_tensor *state = wick_zeros(ctx, WICK_F32, WICK_SCALAR);
    CHECK(wick_compile(ctx, record_assign, state, 1, &(wick_spec){.dtype = WICK_F32}, 1, NULL, &plan) == WICK_OK);
    CHECK_INT(wick_plan_write_c(plan, path, NULL, NULL), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "assigns states");
    wick_plan_free(&plan);

    plan = planned(ctx, &(net){"elementwise", 2, {7, 9}, elementwise, WICK_F32}, given, want);
    REQUIRE(plan);
    CHECK_INT(wick_plan_write_c(plan, path, &(wick_c_options){.name = "no name"}, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_plan_write_c(plan, path, &(wick_c_options){.lanes = 65}, NULL), WICK_ERR_INVALID);
    CHECK_INT(wick_plan_write_c(plan, path, &(wick_c_options){.isa = "sse9"}, NULL), WICK_ERR_INVALID);
    CHECK(stat(path, &st) != 0);
    CHECK_INT(wick_plan_write_c(plan, "/proc/none", NULL, NULL), WICK_ERR_IO);
    /* Words of C, and names that are the file's own, are not taken for parameters. */
    CHECK(wick_plan_write_c(plan, path,
                            &(wick_c_options){.inputs = (const char *[]){"for"}, .outputs = (const char *[]){"w0"}},
                            NULL) == WICK_OK);
    char command[1400];
    snprintf(command, sizeof command, "cc " COMPILED_FLAGS " -c -o '%s/model.o' '%s/model.c'", path, path);
    if (compiled_possible()) CHECK(system(command) == 0);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    compiled_remove(folder);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
