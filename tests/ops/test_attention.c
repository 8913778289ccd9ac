/* Attention against PyTorch's (golden/attention.safetensors, made by golden/make_attention.py) on every tier, as one op
 * and in plain ops; what memory it takes; dropout; what is refused. */
#define GOLDEN_FILE  "attention.safetensors"
#define GOLDEN_FLOOR 8
#include "ops/goldens.h"
#include "tensor/op.h"
#include "wick/attention.h"
#include "wick/nn.h"

#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))

static bool plain;

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    const wick_attention_options o = {.mask = attr[3] ? in[3] : NULL,
                                      .causal = attr[0] == 1,
                                      .causal_end = attr[0] == 2,
                                      .grouped = attr[1],
                                      .scale = (double)attr[2] / 1000,
                                      .plain = plain};
    return wick_attention(in[0], in[1], in[2], &o);
}

static void check_cases(void) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    CHECK(check_every_case(&ctx, build) > 60);
    wick_context_free(&ctx);
}
TEST(values_and_gradients_agree_on_every_tier) { check_cases(); }
TEST(the_plain_form_agrees_too) {
    plain = true;
    check_cases();
    plain = false;
}
TEST(all_goldens_were_compared) { check_all_compared(); }

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const wick_attention_options *o = user;
    wick_tensor *y = wick_attention(in[0], in[1], in[2], o);
    out[0] = wick_sum(wick_square(y), WICK_ALL_AXES, false);
    wick_grad(out[0], 3, in, out + 1);
    return WICK_OK;
}
static size_t arena(wick_context *ctx, int64_t length, const wick_attention_options *o) {
    wick_spec in[3];
    for (int i = 0; i < 3; i++) in[i] = (wick_spec){.dtype = WICK_F32, .rank = 4, .dims = {1, 2, length, 16}};
    wick_plan *plan = NULL;
    CHECK_MSG(wick_compile(ctx, train, (void *)o, 3, in, 4, NULL, &plan) == WICK_OK, "%s", wick_context_error(ctx));
    if (!plan) return 0;
    const wick_plan_info info = wick_plan_get_info(plan);
    wick_plan_free(&plan);
    return info.arena_bytes + info.scratch_bytes;
}
TEST(memory_grows_with_the_length_and_not_with_its_square) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const wick_attention_options cases[] = {{.causal = false}, {.causal = true}, {.dropout = 0.2}};
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const size_t small = arena(ctx, 2048, &cases[i]), large = arena(ctx, 8192, &cases[i]);
        CHECK_MSG(small && large <= 4 * small && large < 8192 * 16 * 4 * 2 * 24,
                  "case %zu: %zu bytes at 2048, %zu at 8192", i, small, large);
    }
    const wick_attention_options all = {.plain = true};
    CHECK(arena(ctx, 2048, &all) > 12 * arena(ctx, 512, &all)); /* as it must, where it does */
    wick_context_free(&ctx);
}

/* ---- layouts: heads beside each other, as one projection makes them ---------------------------------------------- */

TEST(views_of_one_projection_are_read_in_place) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_random_normal(ctx, WICK_F64, WICK_DIMS(2, 70, 3, 4, 8)), *q[3], *copy[3];
    CHECK_OK(ctx, wick_eval(ctx, 1, &x, NULL));
    for (int i = 0; i < 3; i++) {
        q[i] = wick_permute(wick_squeeze(wick_slice(x, 2, i, i + 1, 1), 2), 4, (int[]){0, 2, 1, 3});
        copy[i] = wick_add(q[i], wick_like(q[i], 0));
    }
    CHECK_OK(ctx, wick_eval(ctx, 3, copy, NULL));
    wick_tensor *a = wick_attention(q[0], q[1], q[2], &(wick_attention_options){.causal = true}), *ga;
    wick_tensor *b = wick_attention(copy[0], copy[1], copy[2], &(wick_attention_options){.causal = true}), *gb[3];
    wick_tensor *back = wick_reshape(wick_permute(a, 4, (int[]){0, 2, 1, 3}), 3, (int64_t[]){2, 70, 32}),
                *other = wick_reshape(wick_permute(b, 4, (int[]){0, 2, 1, 3}), 3, (int64_t[]){2, 70, 32});
    wick_grad(wick_sum(wick_square(back), WICK_ALL_AXES, false), 1, &x, &ga);
    wick_grad(wick_sum(wick_square(other), WICK_ALL_AXES, false), 3, copy, gb);
    for (int i = 0; i < 3; i++) gb[i] = wick_unsqueeze(wick_permute(gb[i], 4, (int[]){0, 2, 1, 3}), 2);
    wick_tensor *off[2] = {wick_max(wick_abs(wick_sub(back, other)), WICK_ALL_AXES, false),
                           wick_max(wick_abs(wick_sub(ga, wick_concat(3, gb, 2))), WICK_ALL_AXES, false)};
    CHECK_OK(ctx, wick_eval(ctx, 2, off, NULL));
    for (int i = 0; i < 2; i++) {
        double v = 1;
        CHECK_OK(ctx, wick_item(off[i], &v));
        CHECK_MSG(v == 0, "%d: %g", i, v);
    }
    wick_context_free(&ctx);
}

/* ---- dropout ----------------------------------------------------------------------------------------------------- */

/* With values that are the rows of the unit matrix the result is the weights. */
TEST(dropout_zeroes_a_share_of_the_weights_anew_each_time) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    enum { L = 150, N = 6 * L * L };
    static float eye[L][L], w[2][N];
    for (int i = 0; i < L; i++) eye[i][i] = 1;
    wick_tensor *v = wick_expand(wick_from(ctx, WICK_F32, WICK_DIMS(L, L), eye), 4, (int64_t[]){2, 3, L, L}),
                *q = wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 3, L, 4));
    CHECK_OK(ctx, wick_eval(ctx, 1, &q, NULL));
    for (int k = 0; k < 2; k++)
        CHECK_OK(ctx,
                 wick_read(wick_attention(q, q, v, &(wick_attention_options){.dropout = 0.25}), w[k], sizeof w[k]));
    static float all[N];
    CHECK_OK(ctx, wick_read(wick_attention(q, q, v, NULL), all, sizeof all));
    int zero = 0, both = 0, wrong = 0;
    for (int i = 0; i < N; i++) {
        zero += w[0][i] == 0;
        both += w[0][i] == 0 && w[1][i] == 0;
        wrong += w[0][i] != 0 && fabsf(w[0][i] * 0.75f - all[i]) > 1e-6f;
    }
    CHECK_INT(wrong, 0);
    CHECK_MSG(fabs((double)zero / N - 0.25) < 0.01 && fabs((double)both / N - 0.0625) < 0.01, "%d and %d of %d", zero,
              both, N);
    wick_context_free(&ctx);
}

/* The op with a seed that stays: its gradient is that of what it computed. */
typedef struct attention_attr {
    double scale, dropout;
    int64_t causal, shift, masked, seeded;
} attention_attr;
extern const wick_op wick_op_attention;
static wick_tensor *dropped(wick_context *ctx, wick_tensor *const *x, void *user) {
    (void)user;
    const int64_t seed = 77;
    attention_attr attr = {.scale = 0.6, .dropout = 0.4, .causal = 1, .shift = 1, .seeded = 1};
    wick_tensor *in[4] = {x[0], x[1], x[2], wick_from(ctx, WICK_I64, WICK_DIMS(1), &seed)}, *out[2];
    wick_record_n(NULL, &wick_op_attention, 4, in, &attr, sizeof attr, 2, out);
    return wick_sum(wick_square(out[0]), WICK_ALL_AXES, false);
}
TEST(gradients_with_dropout_are_those_of_the_same_weights) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static double values[2 * 70 * 3 + 131 * 3 + 131 * 2];
    for (size_t i = 0; i < WICK_COUNTOF(values); i++) values[i] = test_rand_real(-2, 2);
    wick_tensor *x[3] = {wick_from(ctx, WICK_F64, WICK_DIMS(1, 2, 70, 3), values),
                         wick_from(ctx, WICK_F64, WICK_DIMS(1, 1, 131, 3), values + 420),
                         wick_from(ctx, WICK_F64, WICK_DIMS(1, 1, 131, 2), values + 813)};
    CHECK_OK(ctx, wick_gradcheck(ctx, dropped, NULL, 3, x, 1e-5, 1e-6, NULL));
    wick_context_free(&ctx);
}

/* Numbers of queries that do not fill vectors, on every tier: values and gradients are those of plain ops. */
TEST(a_few_queries_agree_with_the_plain_form) {
    const wick_tier before = wick_tier_current();
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        wick_context *ctx = golden_context();
        REQUIRE(ctx != NULL);
        for (int64_t queries = 1; queries <= 18; queries++) {
            wick_tensor *x[3] = {wick_random_normal(ctx, WICK_F64, WICK_DIMS(1, 4, queries, 5)),
                                 wick_random_normal(ctx, WICK_F64, WICK_DIMS(1, 2, 131, 5)),
                                 wick_random_normal(ctx, WICK_F64, WICK_DIMS(1, 2, 131, 3))};
            CHECK_OK(ctx, wick_eval(ctx, 3, x, NULL));
            wick_tensor *y[2], *g[2][3], *off[4];
            for (int how = 0; how < 2; how++) {
                y[how] = wick_attention(x[0], x[1], x[2],
                                        &(wick_attention_options){.grouped = true, .causal_end = true, .plain = how});
                wick_grad(wick_sum(wick_square(y[how]), WICK_ALL_AXES, false), 3, x, g[how]);
            }
            for (int i = 0; i < 4; i++)
                off[i] =
                    wick_max(wick_abs(wick_sub(i ? g[0][i - 1] : y[0], i ? g[1][i - 1] : y[1])), WICK_ALL_AXES, false);
            CHECK_OK(ctx, wick_eval(ctx, 4, off, NULL));
            for (int i = 0; i < 4; i++) {
                double v = 1;
                CHECK_OK(ctx, wick_item(off[i], &v));
                CHECK_MSG(v < 1e-12, "tier %d, %d queries, %d: %g", tier, (int)queries, i, v);
            }
        }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
}

/* More keys than a task of the backward pass takes at a time, on every tier: some queries see none of the last ones,
 * others all. */
TEST(many_keys_agree_with_the_plain_form) {
    const wick_tier before = wick_tier_current();
    enum { HEADS = 16, QUERIES = 2, DIM = 2 };
    static const int64_t lengths[] = {64 * 128 + 130, 64 * 128, 129};
    for (int tier = 1; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        wick_context *ctx = golden_context();
        REQUIRE(ctx != NULL);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            for (int causal = 0; causal < 3; causal++) {
                wick_tensor *x[3] = {wick_random_normal(ctx, WICK_F64, WICK_DIMS(1, HEADS, QUERIES, DIM)),
                                     wick_random_normal(ctx, WICK_F64, WICK_DIMS(1, HEADS, lengths[k], DIM)),
                                     wick_random_normal(ctx, WICK_F64, WICK_DIMS(1, HEADS, lengths[k], DIM))};
                CHECK_OK(ctx, wick_eval(ctx, 3, x, NULL));
                wick_tensor *y[2], *g[2][3], *off[4];
                for (int how = 0; how < 2; how++) {
                    y[how] = wick_attention(
                        x[0], x[1], x[2],
                        &(wick_attention_options){.causal = causal == 1, .causal_end = causal == 2, .plain = how});
                    wick_grad(wick_sum(wick_square(y[how]), WICK_ALL_AXES, false), 3, x, g[how]);
                }
                for (int i = 0; i < 4; i++)
                    off[i] = wick_max(wick_abs(wick_sub(i ? g[0][i - 1] : y[0], i ? g[1][i - 1] : y[1])), WICK_ALL_AXES,
                                      false);
                CHECK_OK(ctx, wick_eval(ctx, 4, off, NULL));
                for (int i = 0; i < 4; i++) {
                    double v = 1;
                    CHECK_OK(ctx, wick_item(off[i], &v));
                    CHECK_MSG(v < 1e-12, "tier %d, %d keys, causal %d, %d: %g", tier, (int)lengths[k], causal, i, v);
                }
            }
        }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
}

/* ---- half types, and errors -------------------------------------------------------------------------------------- */

TEST(half_types_are_computed_in_f32_and_rounded_once) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const wick_dtype types[2] = {WICK_F16, WICK_BF16};
    for (int i = 0; i < 2; i++) {
        wick_tensor *q = wick_cast(wick_random_normal(ctx, WICK_F32, WICK_DIMS(2, 9, 5)), types[i]),
                    *wide = wick_cast(q, WICK_F32);
        wick_tensor *a = wick_attention(q, q, q, NULL),
                    *b = wick_cast(wick_attention(wide, wide, wide, NULL), types[i]);
        CHECK_INT(wick_tensor_dtype(a), types[i]);
        double same = 0;
        CHECK_OK(ctx, wick_item(wick_min(wick_cast(wick_eq(a, b), WICK_I32), WICK_ALL_AXES, false), &same));
        CHECK(same == 1);
    }
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *q = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 4, 5, 8)),
                *k = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 4, 6, 8));
    wick_tensor *two = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 2, 6, 8)),
                *three = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 3, 6, 8));
    wick_tensor *mask = wick_zeros(ctx, WICK_F32, WICK_DIMS(6, 5)), *ints = wick_zeros(ctx, WICK_I32, WICK_DIMS(5, 6));
    const struct {
        wick_tensor *t;
        const char *says;
    } cases[] = {
        {wick_attention(q, wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 4, 6, 7)), k, NULL), "q has 8 features and k has 7"},
        {wick_attention(q, k, q, NULL), "6 keys and 5 values"},
        {wick_attention(q, two, two, NULL), "need the option grouped"},
        {wick_attention(q, three, three, &(wick_attention_options){.grouped = true}),
         "4 query heads cannot share 3 heads"},
        {wick_attention(q, three, three, &(wick_attention_options){.grouped = true, .plain = true}),
         "4 query heads cannot share 3 heads"},
        {wick_attention(q, k, k, &(wick_attention_options){.mask = mask}),
         "the mask does not broadcast to the scores [2,4,5,6]"},
        {wick_attention(q, k, k, &(wick_attention_options){.mask = ints}), "a mask of i32"},
        {wick_attention(q, k, k, &(wick_attention_options){.dropout = 1}), "dropout 1 is not in [0, 1)"},
        {wick_attention(q, k, k, &(wick_attention_options){.causal = true, .causal_end = true}), "exclude each other"},
        {wick_attention(q, k, wick_zeros(ctx, WICK_F32, WICK_DIMS(8)), NULL), "argument 3 has 1 dims"},
        {wick_attention(ints, ints, ints, NULL), "of i32"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(cases[i].t, &text) != WICK_OK && strstr(text, cases[i].says) &&
                      strstr(text, "test_attention.c:"),
                  "case %zu: %s", i, text);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
