/* What is drawn by rejection and by weight, as C: run after run the numbers of the plan on the base tier, as every
 * compiler that is here makes them at its levels. */
#include <math.h>

#include "base/base.h"
#include "codegen/compiled.h"
#include "tensor/tensors.h"
#include "wick/wick.h"

enum { MANY = 3000, ROWS = 40, COLS = 30, OUTS = 8, RUNS = 3 };
typedef wick_status (*recorder)(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user);
typedef struct drawing {
    const char *name;
    recorder record;
    wick_spec in;
    double low, high; /* of the input */
    int outs;
} drawing;
#define RECORD(id)                                                                                                     \
    static wick_status id(__attribute__((unused)) wick_context *ctx, __attribute__((unused)) wick_tensor *const *in,   \
                          wick_tensor **out, __attribute__((unused)) void *user)
#define OF(t, ...) {.dtype = t, .rank = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = {__VA_ARGS__}}

/* Shapes from 2^-12 to 2^12, and those that are none. */
RECORD(gammas) {
    wick_tensor *alpha = wick_exp2(in[0]), *none = wick_log(wick_sub(in[0], wick_like(in[0], 3)));
    out[0] = wick_random_gamma(alpha);
    out[1] = wick_random_gamma(wick_cast(alpha, WICK_F32));
    out[2] = wick_random_gamma(wick_maximum(in[0], wick_like(in[0], 0)));
    out[3] = wick_random_gamma(none);
    out[4] = wick_random_gamma(wick_mul(alpha, wick_like(alpha, 1e298)));
    out[5] = wick_cast(wick_random_gamma(wick_cast(alpha, WICK_BF16)), WICK_F32);
    return WICK_OK;
}
/* Beta, Dirichlet and chi-squared numbers, and how a gamma number moves with its shape. */
RECORD(made_of_gammas) {
    wick_tensor *alpha = wick_exp2(in[0]), *x = wick_random_gamma(alpha),
                *y = wick_random_gamma(wick_add(alpha, wick_like(alpha, 1)));
    out[0] = wick_div(x, wick_add(x, y));
    out[1] = wick_div(y, wick_sum(y, WICK_AXES(-1), true));
    out[2] = wick_mul(wick_random_gamma(wick_mul(alpha, wick_like(alpha, 0.5))), wick_like(alpha, 2));
    wick_grad(wick_sum(wick_square(x), WICK_ALL_AXES, false), 1, in, &out[3]);
    return WICK_OK;
}
/* By the whole normal, in a tail, on a short part, mirrored, without bounds, of one number. */
RECORD(truncated) {
    static const double parts[OUTS - 1][4] = {
        {0, 1, -2, 2},           {1, 2, 6, 90}, {0, 1, 0.5, 0.75}, {-0.5, 0.25, -9, -1.25}, {3, 1, -INFINITY, INFINITY},
        {3, 1.5, -INFINITY, -4}, {0, 1, 2, 2}};
    const int64_t many = MANY;
    for (int i = 0; i < OUTS - 1; i++)
        out[i] = wick_random_truncated_normal(ctx, i % 2 ? WICK_F64 : WICK_F32, 1, &many, parts[i][0], parts[i][1],
                                              parts[i][2], parts[i][3]);
    out[OUTS - 1] = wick_random_truncated_normal(ctx, WICK_F32, 1, &many, 0.1, 0.3, -0.2, 0.7);
    return WICK_OK;
}
/* Of weights, some of which are 0. */
RECORD(choices) {
    wick_tensor *w = wick_relu(in[0]), *wide = wick_exp(wick_cast(in[0], WICK_F64));
    out[0] = wick_multinomial(w, 70, true);
    out[1] = wick_multinomial(wide, 5, true);
    out[2] = wick_multinomial(w, 3, false);
    out[3] = wick_multinomial(wide, COLS, false);
    out[4] = wick_multinomial(wick_mean(w, WICK_AXES(0), false), 1, true);
    out[5] = wick_random_categorical(in[0]);
    out[6] = wick_gumbel_softmax(in[0], 0.7, true, -1);
    return WICK_OK;
}
RECORD(whole) {
    const int64_t many = MANY;
    out[0] = wick_random_integers(ctx, WICK_I64, 1, &many, -3, 9);
    out[1] = wick_random_integers(ctx, WICK_I64, 1, &many, INT64_MIN, INT64_MAX);
    out[2] = wick_random_permutation(ctx, 100);
    out[3] = wick_random_shuffle(in[0], 1);
    return WICK_OK;
}

static const drawing drawings[] = {
    {"gammas", gammas, OF(WICK_F64, 3, 1000), -12, 12, 6},
    {"made_of_gammas", made_of_gammas, OF(WICK_F64, ROWS, COLS), -5, 5, 4},
    {"truncated", truncated, OF(WICK_F32, 1), 0, 1, OUTS},
    {"choices", choices, OF(WICK_F32, ROWS, COLS), -1, 2, 7},
    {"whole", whole, OF(WICK_F32, 7, 50), -1, 1, 4},
};

static char x[8 * MANY], want[OUTS][8 * MANY], got[OUTS][8 * MANY];
/* outputs that there are not stay unused */
typedef int (*emitted)(const void *, void *, void *, void *, void *, void *, void *, void *, void *);
/* Denormals are flushed, as in a plan's run: gamma numbers of small shapes come close to 0. */
static int run_emitted(void *library, const char *name) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s_run", name);
    const emitted run = (emitted)(uintptr_t)dlsym(library, symbol);
    const uint64_t word = wick_fp_enter();
    const int code = run ? run(x, got[0], got[1], got[2], got[3], got[4], got[5], got[6], got[7]) : -1;
    wick_fp_restore(word);
    return code;
}

/* Whether results are close, as those of multiply-adds that are rounded once and twice. */
static bool is_close(wick_dtype dtype, const void *a, const void *b, size_t bytes) {
    bool close = true;
    if (dtype != WICK_F32 && dtype != WICK_F64) return memcmp(a, b, bytes) == 0;
    for (size_t i = 0; i < bytes / wick_dtype_size(dtype); i++) {
        const double u = dtype == WICK_F64 ? ((const double *)a)[i] : (double)((const float *)a)[i],
                     v = dtype == WICK_F64 ? ((const double *)b)[i] : (double)((const float *)b)[i];
        close &= u == v || (u != u && v != v) || fabs(u - v) <= 0.01 * fabs(u); /* one of them is of bf16 */
    }
    return close;
}

static void check_drawing(const char *folder, const drawing *d, const char *isa, const char *const *flags,
                          int n_flags) {
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .seed = 11}, &ctx) == WICK_OK);
    CHECK_OK(ctx, wick_compile(ctx, d->record, NULL, 1, &d->in, d->outs, NULL, &plan));
    REQUIRE(plan);
    CHECK_OK(ctx, wick_plan_write_c(plan, folder, &(wick_c_options){.name = d->name, .isa = isa}, NULL));
    for (int f = 0; f < n_flags; f++) {
        wick_workspace *space = NULL;
        if (!compiled_wanted()) continue;
        void *library = compiled_load(folder, d->name, flags[f]);
        CHECK_MSG(library, "%s %s", d->name, flags[f]);
        if (!library || wick_workspace_new(plan, &space) != WICK_OK) continue;
        for (int run = 0; run < RUNS; run++) {
            const bool f64 = d->in.dtype == WICK_F64;
            for (size_t i = 0; i < wick_spec_bytes(&d->in) / (f64 ? 8 : 4); i++) {
                const double v = test_rand_real(d->low, d->high);
                if (f64) ((double *)(void *)x)[i] = v;
                else ((float *)(void *)x)[i] = (float)v;
            }
            CHECK_MSG(wick_run(space, (const void *[]){x},
                               (void *[]){want[0], want[1], want[2], want[3], want[4], want[5], want[6], want[7]}) ==
                          WICK_OK,
                      "%s: %s", d->name, wick_workspace_error(space));
            memset(got, 0x55, sizeof got);
            CHECK_INT(run_emitted(library, d->name), 0);
            for (int k = 0; k < d->outs; k++) {
                const wick_spec out = wick_plan_output(plan, k);
                size_t bytes = wick_spec_bytes(&out), bad = 0;
                REQUIRE(bytes <= sizeof *want);
                if (isa)
                    CHECK_MSG(is_close((wick_dtype)out.dtype, want[k], got[k], bytes),
                              "%s %s: result %d is another one", d->name, isa, k);
                while (!isa && bad < bytes && got[k][bad] == want[k][bad]) bad++;
                CHECK_MSG(isa || bad == bytes, "%s %s: byte %zu of %zu of result %d differs", d->name, flags[f], bad,
                          bytes, k);
            }
        }
        test_count("printed draws", 1);
        wick_workspace_free(&space);
        dlclose(library);
    }
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

TEST(what_is_drawn_has_the_bits_of_the_base_tier) {
    static const char *const flags[] = {"", "-O3", "-fsanitize=undefined -fsanitize-undefined-trap-on-error", "-Os"};
    char folder[512];
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    REQUIRE(wick_tier_force(WICK_TIER_BASE));
    for (size_t i = 0; i < WICK_COUNTOF(drawings); i++)
        check_drawing(folder, &drawings[i], NULL, flags, WICK_COUNTOF(flags));
    compiled_remove(folder);
    wick_tier_force(before);
}

TEST(variants_draw_what_their_tiers_draw) {
    static const char *const flags[] = {
        [WICK_TIER_AVX2] = "-mavx2 -mfma", [WICK_TIER_AVX512] = "-mavx512f -mavx512vl -mavx512dq -mfma"};
    char folder[512];
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    const wick_tier before = wick_tier_current();
    for (wick_tier tier = WICK_TIER_AVX2; tier <= WICK_TIER_AVX512; tier++)
        for (size_t i = 0; i < WICK_COUNTOF(drawings) && wick_tier_force(tier); i++)
            check_drawing(folder, &drawings[i], wick_tier_name(tier), &flags[tier], 1);
    compiled_remove(folder);
    wick_tier_force(before);
}

RECORD(weighed) {
    out[0] = wick_multinomial(in[0], 2, true);
    out[1] = wick_multinomial(in[0], 2, false);
    return WICK_OK;
}
TEST(weights_that_are_none_are_returned) {
    static const struct {
        float weights[4];
        int code;
    } cases[] = {{{1, 0, 0, 2}, 0},   {{0, 1, 0, 0}, 2},        {{0, 0, 0, 0}, 2}, {{1, -1, 2, 0}, 2},
                 {{1, NAN, 2, 0}, 2}, {{1, 2, INFINITY, 0}, 2}, {{0, 3, 1, 0}, 0}};
    const wick_spec in = OF(WICK_F32, 4);
    char folder[512];
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    wick_workspace *space = NULL;
    if (!compiled_possible()) SKIP("there is no compiler named cc");
    REQUIRE(compiled_folder(folder, sizeof folder));
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    CHECK_OK(ctx, wick_compile(ctx, weighed, NULL, 1, &in, 2, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &space) == WICK_OK);
    CHECK_OK(ctx, wick_plan_write_c(plan, folder, &(wick_c_options){.name = "weighed"}, NULL));
    void *library = compiled_load(folder, "weighed", "");
    REQUIRE(library);
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        memcpy(x, cases[i].weights, sizeof cases[i].weights);
        CHECK_INT(run_emitted(library, "weighed"), cases[i].code);
        CHECK((wick_run(space, (const void *[]){x}, (void *[]){want[0], want[1]}) == WICK_OK) == (cases[i].code == 0));
    }
    dlclose(library);
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    compiled_remove(folder);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
