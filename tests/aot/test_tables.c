/* Decision trees, tuples of indices and weights that many nodes use, as C: the bits of the plan, faults that are
 * returned, and one copy of what is shared. */
#include <math.h>

#include "base/base.h"
#include "codegen/compiled.h"
#include "tensor/tensors.h"
#include "wick/wick.h"

enum { MOST_OUT = 4096 };

/* A plan of one f32 or f64 input, maybe with more inputs of bytes that are given. */
typedef struct subject {
    const char *name;
    wick_status (*record)(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);
    void *user;
    int n_in;
    wick_spec in[3];
    const void *data[3];
} subject;

/* What the C returned. fault: the plan's run fails, and the C returns 2. */
static void check_subject(const subject *s, wick_tier tier, const wick_c_options *more, const char *flags, bool fault,
                          wick_c_info *info) {
    static char want[MOST_OUT], got[MOST_OUT];
    wick_c_options options = *more;
    char folder[512], name[64];
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    const wick_tier before = wick_tier_current();
    if (!wick_tier_force(tier)) return; /* not on this CPU */
    options.name = s->name;
    REQUIRE(compiled_folder(folder, sizeof folder));
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    CHECK_OK(ctx, wick_compile(ctx, s->record, s->user, s->n_in, s->in, 1, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &space) == WICK_OK);
    const wick_spec out = wick_plan_output(plan, 0);
    const size_t bytes = wick_spec_bytes(&out);
    REQUIRE(bytes <= MOST_OUT);
    CHECK((wick_run(space, s->data, (void *[]){want}) == WICK_OK) == !fault);
    CHECK_OK(ctx, wick_plan_write_c(plan, folder, &options, info));
    void *library = compiled_load(folder, s->name, flags);
    REQUIRE(library);
    snprintf(name, sizeof name, "%s_run", s->name);
    void *symbol = dlsym(library, name);
    int code = -1;
    memset(got, 0x55, sizeof got);
    if (s->n_in == 1)
        code = ((int (*)(const void *, void *))(uintptr_t)symbol)(s->data[0], got);
    else if (s->n_in == 2)
        code = ((int (*)(const void *, const void *, void *))(uintptr_t)symbol)(s->data[0], s->data[1], got);
    else
        code = ((int (*)(const void *, const void *, const void *, void *))(uintptr_t)symbol)(s->data[0], s->data[1],
                                                                                              s->data[2], got);
    CHECK_INT(code, fault ? 2 : 0);
    if (!fault) CHECK_MSG(memcmp(got, want, bytes) == 0, "%s: other bits", s->name);
    dlclose(library);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    compiled_remove(folder);
    wick_tier_force(before);
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

enum {
    TREES = 5,
    DEPTH = 3,
    EACH = (1 << (DEPTH + 1)) - 1,
    NODES = TREES * EACH,
    FEATURES = 4,
    TARGETS = 3,
    ROWS = 70
};
typedef struct forest {
    int32_t nodes[NODES][4], roots[TREES], targets[2 * NODES];
    double splits[NODES], weights[2 * NODES];
    wick_dtype dtype;
    wick_tree_sum sum;
    bool known; /* else the table of nodes is an input */
} forest;
static forest trees;
static double samples[ROWS * FEATURES];
static float narrow[ROWS * FEATURES];

/* Full trees. how: the test of all nodes, or 0 for each another. Leaves have none, one or two entries. */
static void make_trees(int how) {
    for (int t = 0; t < TREES; t++) {
        trees.roots[t] = t * EACH;
        for (int i = 0; i < EACH; i++) {
            const int at = t * EACH + i;
            const bool leaf = i >= EACH / 2;
            trees.splits[at] = test_rand_int(0, 4);
            for (int e = 2 * at; e < 2 * at + 2; e++)
                trees.targets[e] = test_rand_int(0, TARGETS - 1), trees.weights[e] = test_rand_real(-1, 1);
            const int32_t test = how ? how : test_rand_int(1, 6) + (test_rand_int(0, 2) ? 0 : WICK_TREE_MISSING);
            const int32_t of_leaf[4] = {WICK_TREE_LEAF, test_rand_int(0, 2), 2 * at, 0};
            const int32_t of_test[4] = {test, test_rand_int(0, FEATURES - 1), at - i + 2 * i + 1, at - i + 2 * i + 2};
            memcpy(trees.nodes[at], leaf ? of_leaf : of_test, sizeof of_leaf);
        }
    }
    for (int i = 0; i < ROWS * FEATURES; i++) {
        samples[i] = test_rand_int(0, 19) ? test_rand_int(0, 5) - 0.5 * test_rand_int(0, 1) : (double)NAN;
        narrow[i] = (float)samples[i];
    }
}
static wick_status record_trees(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    const wick_dtype dtype = trees.dtype;
    const wick_tree_tables t = {
        .nodes = trees.known ? wick_from(ctx, WICK_I32, WICK_DIMS(NODES, 4), trees.nodes) : in[1],
        .splits = wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(NODES), trees.splits), dtype),
        .roots = wick_from(ctx, WICK_I32, WICK_DIMS(TREES), trees.roots),
        .targets = wick_from(ctx, WICK_I32, WICK_DIMS(2 * NODES), trees.targets),
        .weights = wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(2 * NODES), trees.weights), dtype),
        .n_targets = TARGETS,
        .sum = trees.sum};
    out[0] = wick_tree_ensemble(in[0], &t);
    return WICK_OK;
}
static subject trees_subject(void) {
    const bool wide = trees.dtype == WICK_F64;
    return (subject){.name = "trees",
                     .record = record_trees,
                     .n_in = trees.known ? 1 : 2,
                     .in = {{.dtype = trees.dtype, .rank = 2, .dims = {ROWS, FEATURES}},
                            {.dtype = WICK_I32, .rank = 2, .dims = {NODES, 4}}},
                     .data = {wide ? (const void *)samples : narrow, trees.nodes}};
}

TEST(trees_have_the_bits_of_the_plan) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static const int hows[] = {0, WICK_TREE_LE, WICK_TREE_GT + WICK_TREE_MISSING, WICK_TREE_NE};
    for (int k = 0; k < 16; k++) {
        make_trees(hows[k % 4]);
        trees.sum = (wick_tree_sum)(k / 4), trees.dtype = k % 3 ? WICK_F32 : WICK_F64, trees.known = k % 8 != 7;
        const subject s = trees_subject();
        check_subject(&s, WICK_TIER_BASE, &(wick_c_options){0}, "", false, NULL);
    }
}

/* Tables of the run that lead nowhere are looked at as the plan does; so are constant ones. */
TEST(trees_that_lead_nowhere_are_returned) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static const struct {
        int at, field;
        int32_t value;
    } bad[] = {{0, 1, FEATURES}, {0, 1, -1}, {0, 2, 0}, {0, 3, NODES}, {EACH - 1, 1, 2 * NODES}, {EACH - 1, 2, -1}};
    for (size_t k = 0; k < 2 * WICK_COUNTOF(bad); k++) {
        make_trees(WICK_TREE_LE);
        for (int i = EACH / 2; i < EACH; i++) /* each leaf of the first tree, of which one is met */
            if (bad[k / 2].at) trees.nodes[i][bad[k / 2].field] = bad[k / 2].value;
        trees.nodes[bad[k / 2].at][bad[k / 2].field] = bad[k / 2].value;
        if (bad[k / 2].field == 2 && !bad[k / 2].at) trees.nodes[0][3] = 0; /* whichever way */
        if (bad[k / 2].field == 3) trees.nodes[0][2] = NODES;
        if (bad[k / 2].field == 2 && bad[k / 2].at)
            for (int i = EACH / 2; i < EACH; i++) trees.nodes[i][1] = 1;
        trees.dtype = WICK_F32, trees.sum = WICK_TREES_SUM, trees.known = k % 2;
        const subject s = trees_subject();
        check_subject(&s, WICK_TIER_BASE, &(wick_c_options){0}, "", true, NULL);
    }
}

/* ---- tuples of indices ------------------------------------------------------------------------------------------- */

static wick_status record_tuples(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *read = wick_gather_nd(in[0], 0, in[1]);
    out[0] = wick_scatter_nd(wick_neg(in[0]), in[1], wick_mul(read, read), WICK_PUT_ADD);
    return WICK_OK;
}

TEST(tuples_of_indices_have_the_bits_of_the_plan_or_are_returned) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static const struct {
        int64_t index[4][2];
        bool fault;
    } cases[] = {{{{0, 1}, {-1, -3}, {2, 2}, {0, 1}}, false},
                 {{{0, 1}, {3, 0}, {0, 0}, {0, 0}}, true},
                 {{{0, 1}, {0, 0}, {0, 0}, {-4, 0}}, true},
                 {{{0, 3}, {0, 0}, {0, 0}, {1, 0}}, true},
                 {{{-3, -3}, {2, 2}, {1, 1}, {-1, 0}}, false}};
    float x[3 * 3 * 5];
    for (size_t i = 0; i < WICK_COUNTOF(x); i++) x[i] = (float)test_rand_real(-2, 2);
    for (size_t k = 0; k < WICK_COUNTOF(cases); k++) {
        const subject s = {
            .name = "tuples",
            .record = record_tuples,
            .n_in = 2,
            .in = {{.dtype = WICK_F32, .rank = 3, .dims = {3, 3, 5}}, {.dtype = WICK_I64, .rank = 2, .dims = {4, 2}}},
            .data = {x, cases[k].index}};
        check_subject(&s, WICK_TIER_BASE, &(wick_c_options){0}, "", cases[k].fault, NULL);
    }
}

static wick_status record_known_tuples(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    out[0] = wick_gather_nd(in[0], 0, wick_from(ctx, WICK_I64, WICK_DIMS(1, 2), user));
    return WICK_OK;
}

/* Those that are known are looked at in the run, too. */
TEST(known_tuples_outside_are_returned) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static int64_t inside[2] = {2, -1}, outside[2] = {0, 5};
    static const float x[15] = {1, 2, 3};
    for (int k = 0; k < 2; k++) {
        const subject s = {.name = "known",
                           .record = record_known_tuples,
                           .user = k ? outside : inside,
                           .n_in = 1,
                           .in = {{.dtype = WICK_F32, .rank = 2, .dims = {3, 5}}},
                           .data = {x}};
        check_subject(&s, WICK_TIER_BASE, &(wick_c_options){0}, "", k == 1, NULL);
    }
}

/* ---- weights that many nodes use --------------------------------------------------------------------------------- */

enum { UNITS = 48, STEPS = 12 };
static float weight[UNITS * UNITS], taps[3 * 3 * 9], state[2 * UNITS], image[3 * 8 * 8];

/* A cell after another by one matrix, which lies transposed. */
static wick_status record_unrolled(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *w = wick_transpose(wick_from(ctx, WICK_F32, WICK_DIMS(UNITS, UNITS), weight), 0, 1);
    out[0] = in[0];
    for (int i = 0; i < STEPS; i++) out[0] = wick_tanh(wick_matmul(out[0], w));
    return WICK_OK;
}
/* The same convolution after itself. */
static wick_status record_convolved(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *w = wick_from(ctx, WICK_F32, WICK_DIMS(3, 3, 3, 3), taps);
    out[0] = in[0];
    for (int i = 0; i < STEPS; i++) out[0] = wick_relu(wick_conv(out[0], w, NULL, &(wick_conv_options){.pad = {1, 1}}));
    return WICK_OK;
}

TEST(weights_that_many_nodes_use_are_written_once) {
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    static const struct {
        wick_tier tier;
        const char *isa, *flags;
    } ways[] = {{WICK_TIER_BASE, NULL, ""},
                {WICK_TIER_AVX2, "avx2", "-O3 -mavx2 -mfma"},
                {WICK_TIER_AVX512, "avx512", "-O3 -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma"}};
    for (size_t i = 0; i < WICK_COUNTOF(weight); i++) weight[i] = (float)test_rand_real(-0.3, 0.3);
    for (size_t i = 0; i < WICK_COUNTOF(taps); i++) taps[i] = (float)test_rand_real(-0.3, 0.3);
    for (size_t i = 0; i < WICK_COUNTOF(state); i++) state[i] = (float)test_rand_real(-1, 1);
    for (size_t i = 0; i < WICK_COUNTOF(image); i++) image[i] = (float)test_rand_real(-1, 1);
    const subject subjects[] = {{.name = "unrolled",
                                 .record = record_unrolled,
                                 .n_in = 1,
                                 .in = {{.dtype = WICK_F32, .rank = 2, .dims = {2, UNITS}}},
                                 .data = {state}},
                                {.name = "convolved",
                                 .record = record_convolved,
                                 .n_in = 1,
                                 .in = {{.dtype = WICK_F32, .rank = 4, .dims = {1, 3, 8, 8}}},
                                 .data = {image}}};
    static const size_t one[] = {sizeof weight, 64 * 16 * 4 * 4}; /* Winograd's algorithm has 16 for 9, padded */
    for (size_t k = 0; k < 2 * WICK_COUNTOF(ways); k++) {
        wick_c_info info = {0};
        check_subject(&subjects[k % 2], ways[k / 2].tier, &(wick_c_options){.isa = ways[k / 2].isa}, ways[k / 2].flags,
                      false, &info);
        CHECK_MSG(info.const_bytes < 2 * one[k % 2], "%s: %zu bytes of constants", subjects[k % 2].name,
                  info.const_bytes);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
