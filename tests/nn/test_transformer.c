/* Transformer layers against PyTorch's (golden/transformer.safetensors, made by golden/make_transformer.py): values and
 * all gradients in f64, by the names of its state_dict; positions by their formulas; decoding by the cache against
 * reading all at once. */
#define GOLDEN_FILE  "transformer.safetensors"
#define GOLDEN_FLOOR 100
#include "base/base.h"
#include "golden/cases.h"
#include "wick/wick.h"

#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))

static wick_context *ctx;
static wick_model *model;
static bool setup(void) {
    ctx = NULL, model = NULL;
    return wick_context_new(&(wick_context_options){.threads = 2, .seed = 3}, &ctx) == WICK_OK &&
           wick_model_new(ctx, &model) == WICK_OK;
}
static void teardown(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}

/* ---- goldens ----------------------------------------------------------------------------------------------------- */

typedef wick_tensor *(*build_fn)(wick_tensor **in);

static void check(const char *name, build_fn build) {
    wick_tensor *in[4] = {NULL}, *wrt[64], *grad[64];
    char part[128], of[64][128];
    int n = 0, n_wrt = 0;
    REQUIRE(setup() && open_goldens());
    for (array *t; n < 4 && (snprintf(part, sizeof part, "in%d", n), t = find(name, part)); n++)
        in[n] = load(ctx, t, WICK_F64);
    wick_tensor *y = build(in); /* makes the states */
    const char *text = "";
    CHECK_MSG(wick_tensor_error(y, &text) == WICK_OK, "%s: %s", name, text);
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named state = wick_model_at(model, i);
        const char *inner = strncmp(state.name, "m.", 2) == 0 ? state.name + 2 : state.name;
        snprintf(part, sizeof part, "state.%s", inner);
        array *t = find(name, part);
        CHECK_MSG(t != NULL, "%s has no %s", name, part);
        if (!t || n_wrt == 60) continue;
        CHECK_INT(t->rank, wick_tensor_rank(state.tensor));
        CHECK_OK(ctx,
                 wick_assign(state.tensor, wick_cast(wick_from(ctx, t->dtype, t->rank, t->dims, t->data), WICK_F64)));
        snprintf(of[n_wrt], sizeof of[0], "grad.%s", inner);
        wrt[n_wrt++] = state.tensor;
    }
    CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    for (int i = 0; i < n; i++)
        if (wick_tensor_dtype(in[i]) == WICK_F64) snprintf(of[n_wrt], sizeof of[0], "gin%d", i), wrt[n_wrt++] = in[i];
    y = build(in);
    array *r = find(name, "r");
    wick_tensor *loss = r ? wick_sum(wick_mul(y, load(ctx, r, WICK_F64)), WICK_ALL_AXES, false) : NULL;
    if (loss) wick_grad(loss, n_wrt, wrt, grad);
    for (int i = 0; loss && i < n_wrt; i++) compare(name, of[i], find(name, of[i]), grad[i], WICK_F64);
    compare(name, "out", find(name, "out"), y, WICK_F64);
    teardown();
}

static const wick_nn_attention_options two = {.heads = 2};
static wick_tensor *self(wick_tensor **in) { return wick_nn_attention(model, "m", in[0], in[0], in[0], &two); }
static wick_tensor *causal(wick_tensor **in) {
    return wick_nn_attention(model, "m", in[0], in[0], in[0], &(wick_nn_attention_options){.heads = 2, .causal = true});
}
static wick_tensor *no_bias(wick_tensor **in) {
    return wick_nn_attention(model, "m", in[0], in[0], in[0],
                             &(wick_nn_attention_options){.heads = 2, .no_bias = true});
}
static wick_tensor *cross(wick_tensor **in) { return wick_nn_attention(model, "m", in[0], in[1], in[2], &two); }
static wick_tensor *padding(wick_tensor **in) {
    return wick_nn_attention(model, "m", in[0], in[0], in[0],
                             &(wick_nn_attention_options){.heads = 2, .key_padding = in[1]});
}
static wick_tensor *mask(wick_tensor **in) {
    return wick_nn_attention(model, "m", in[0], in[0], in[0], &(wick_nn_attention_options){.heads = 2, .mask = in[1]});
}
#define LAYER(...) (&(wick_nn_transformer_options){.feedforward = 11, .attention = {.heads = 2}, __VA_ARGS__})
static wick_tensor *encoder_post(wick_tensor **in) {
    return wick_nn_encoder_layer(model, "m", in[0], LAYER(.gelu = false));
}
static wick_tensor *encoder_pre(wick_tensor **in) {
    return wick_nn_encoder_layer(model, "m", in[0], LAYER(.gelu = true, .pre_norm = true));
}
#define CAUSAL .attention.causal = true
static wick_tensor *decoder_post(wick_tensor **in) {
    return wick_nn_decoder_layer(model, "m", in[0], in[1], LAYER(CAUSAL, .gelu = true));
}
static wick_tensor *decoder_pre(wick_tensor **in) {
    return wick_nn_decoder_layer(model, "m", in[0], in[1], LAYER(CAUSAL, .pre_norm = true, .memory_mask = in[2]));
}
static wick_tensor *encoder_stack(wick_tensor **in) {
    return wick_nn_encoder(model, "m", in[0], 2, LAYER(.pre_norm = true, .final_norm = true));
}
static wick_tensor *decoder_stack(wick_tensor **in) {
    return wick_nn_decoder(model, "m", in[0], in[1], 2, LAYER(.gelu = false));
}
static wick_tensor *embedding(wick_tensor **in) { return wick_nn_embedding(model, "m", in[0], 7, 4, WICK_F64); }
static wick_tensor *weight_norm(wick_tensor **in) {
    return wick_linear(in[0], wick_nn_weight_norm(model, "m", WICK_F64, WICK_DIMS(3, 5)), NULL);
}

TEST(multi_head_attention_agrees) {
    check("self", self), check("causal", causal), check("no_bias", no_bias), check("cross", cross),
        check("widths", cross), check("padding", padding), check("mask", mask);
}
TEST(encoder_layers_agree) {
    check("encoder_post_relu", encoder_post), check("encoder_pre_gelu", encoder_pre),
        check("encoder_stack", encoder_stack);
}
TEST(decoder_layers_agree) {
    check("decoder_post_gelu", decoder_post), check("decoder_pre_relu", decoder_pre),
        check("decoder_stack", decoder_stack);
}
TEST(embedding_and_weight_norm_agree) { check("embedding", embedding), check("weight_norm", weight_norm); }
TEST(all_goldens_were_compared) { check_all_compared(); }

/* ---- first values ------------------------------------------------------------------------------------------------ */

TEST(weight_norm_starts_as_the_weight_itself) {
    REQUIRE(setup());
    wick_tensor *w = wick_nn_weight_norm(model, "conv", WICK_F64, WICK_DIMS(4, 3, 5)),
                *v = wick_model_find(model, "conv.parametrizations.weight.original1");
    double off = 1;
    REQUIRE(v != NULL);
    CHECK_OK(ctx, wick_item(wick_max(wick_abs(wick_sub(w, v)), WICK_ALL_AXES, false), &off));
    CHECK_MSG(off < 1e-15, "%g", off);
    teardown();
}
TEST(a_tied_weight_is_one_parameter_with_the_gradients_of_both_uses) {
    REQUIRE(setup());
    const int64_t tokens[3] = {1, 4, 1};
    wick_tensor *x = wick_nn_embedding(model, "wte", wick_from(ctx, WICK_I64, WICK_DIMS(3), tokens), 5, 4, WICK_F64);
    wick_tensor *y = wick_nn_tied_linear(model, "wte", wick_tanh(x), 5);
    CHECK_INT(wick_model_count(model), 1);
    wick_tensor *w = wick_model_find(model, "wte.weight"), *g, *two_uses[2], *a = wick_mul(w, wick_like(w, 1)),
                *b = wick_mul(w, wick_like(w, 1));
    wick_grad(wick_sum(wick_square(y), WICK_ALL_AXES, false), 1, &w, &g);
    wick_tensor *index = wick_from(ctx, WICK_I64, WICK_DIMS(3), tokens);
    wick_grad(wick_sum(wick_square(wick_linear(wick_tanh(wick_gather(a, 0, index)), b, NULL)), WICK_ALL_AXES, false), 2,
              (wick_tensor *[]){a, b}, two_uses);
    wick_tensor *off = wick_max(wick_abs(wick_sub(g, wick_add(two_uses[0], two_uses[1]))), WICK_ALL_AXES, false);
    double v = 1;
    CHECK_OK(ctx, wick_item(off, &v));
    CHECK_MSG(v < 1e-12, "%g", v);
    teardown();
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

TEST(rotary_positions_turn_pairs_both_ways) {
    REQUIRE(setup());
    enum { L = 6, D = 10 };
    static double x[2][L][D], y[2][L][D];
    for (int i = 0; i < 2 * L * D; i++) (&x[0][0][0])[i] = test_rand_real(-1, 1);
    const int64_t at[L] = {3, 0, 700, 5, 5, -2};
    for (int kind = 0; kind < 4; kind++) { /* both pairings, all features and six of them */
        const wick_rotary_options o = {.interleaved = kind & 1, .dims = kind & 2 ? 6 : 0, .base = kind & 2 ? 500 : 0};
        const int dims = kind & 2 ? 6 : D;
        wick_tensor *t = wick_rotary(wick_from(ctx, WICK_F64, WICK_DIMS(2, L, D), x),
                                     wick_from(ctx, WICK_I64, WICK_DIMS(L), at), &o);
        CHECK_OK(ctx, wick_read(t, y, sizeof y));
        for (int n = 0; n < 2; n++)
            for (int l = 0; l < L; l++)
                for (int i = 0; i < D; i++) {
                    double want = x[n][l][i];
                    if (i < dims) {
                        const int pair = kind & 1 ? i / 2 : i % (dims / 2), a = kind & 1 ? 2 * pair : pair,
                                  b = kind & 1 ? a + 1 : a + dims / 2;
                        const double angle = (double)at[l] * pow(kind & 2 ? 500 : 10000, -2.0 * pair / dims);
                        want = i == a ? x[n][l][a] * cos(angle) - x[n][l][b] * sin(angle)
                                      : x[n][l][b] * cos(angle) + x[n][l][a] * sin(angle);
                    }
                    CHECK_MSG(fabs(y[n][l][i] - want) < 1e-12, "kind %d, position %d, feature %d: %g, not %g", kind, l,
                              i, y[n][l][i], want);
                }
    }
    teardown();
}
TEST(sinusoidal_positions_are_the_papers) {
    REQUIRE(setup());
    double y[4][6];
    const int64_t at[4] = {0, 1, 17, 300};
    CHECK_OK(ctx, wick_read(wick_sinusoidal(wick_from(ctx, WICK_I64, WICK_DIMS(4), at), 6, WICK_F64), y, sizeof y));
    for (int l = 0; l < 4; l++)
        for (int i = 0; i < 6; i++) {
            const double angle = (double)at[l] / pow(10000, 2.0 * (i / 2) / 6), want = i % 2 ? cos(angle) : sin(angle);
            CHECK_MSG(fabs(y[l][i] - want) < 1e-12, "%d %d: %g, not %g", l, i, y[l][i], want);
        }
    teardown();
}
/* As a mask it gives the same as the paper's, slope * (key - query). */
TEST(alibi_is_a_bias_by_distance) {
    REQUIRE(setup());
    enum { H = 6, L = 9 };
    static double paper[H][L][L];
    static const double slopes[H] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};
    for (int h = 0; h < H; h++)
        for (int i = 0; i < L; i++)
            for (int j = 0; j < L; j++) paper[h][i][j] = slopes[h] * (j - i);
    wick_tensor *q = wick_random_normal(ctx, WICK_F64, WICK_DIMS(2, H, L, 4));
    wick_tensor *a =
        wick_attention(q, q, q, &(wick_attention_options){.causal = true, .mask = wick_alibi(ctx, WICK_F64, H, L)});
    wick_tensor *b = wick_attention(
        q, q, q,
        &(wick_attention_options){.causal = true, .mask = wick_from(ctx, WICK_F64, WICK_DIMS(H, L, L), paper)});
    double off = 1;
    CHECK_OK(ctx, wick_item(wick_max(wick_abs(wick_sub(a, b)), WICK_ALL_AXES, false), &off));
    CHECK_MSG(off < 1e-13, "%g", off);
    teardown();
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

enum { MOST = 12, E = 8, HEADS = 4, KV = 2 };
typedef struct decoder {
    wick_kv_cache cache;
    bool rotary;
} decoder;
static wick_status decode(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    const decoder *d = user;
    const wick_nn_attention_options o = {.heads = HEADS, .kv_heads = KV, .rotary = d->rotary, .cache = &d->cache};
    out[0] = wick_nn_attention(model, "a", in[0], in[0], in[0], &o);
    wick_tensor *p = d->cache.position;
    return wick_assign(p, wick_add(p, wick_like(p, (double)wick_tensor_dim(in[0], 1))));
}
/* A prompt of five tokens and then one at a time, each by one compiled plan, is what reading everything at once gives.
 */
TEST(decoding_by_the_cache_gives_what_reading_all_gives) {
    for (int rotary = 0; rotary < 2; rotary++) {
        REQUIRE(setup());
        wick_model_set_training(model, false);
        static double x[2][MOST][E], all[2][MOST][E], part[2][MOST][E], got[2][MOST][E];
        for (int i = 0; i < 2 * MOST * E; i++) (&x[0][0][0])[i] = test_rand_real(-2, 2);
        wick_tensor *t = wick_from(ctx, WICK_F64, WICK_DIMS(2, MOST, E), x);
        const wick_nn_attention_options o = {.heads = HEADS, .kv_heads = KV, .rotary = rotary, .causal = true};
        CHECK_OK(ctx, wick_read(wick_nn_attention(model, "a", t, t, t, &o), all, sizeof all));
        decoder d = {{wick_zeros(ctx, WICK_F64, WICK_DIMS(2, KV, MOST, E / HEADS)),
                      wick_zeros(ctx, WICK_F64, WICK_DIMS(2, KV, MOST, E / HEADS)),
                      wick_zeros(ctx, WICK_I64, WICK_DIMS(1))},
                     rotary};
        const int lengths[2] = {5, 1};
        for (int k = 0, at = 0; k < 2; k++) {
            wick_plan *plan = NULL;
            wick_workspace *work = NULL;
            const wick_spec in = {.dtype = WICK_F64, .rank = 3, .dims = {2, lengths[k], E}};
            CHECK_OK(ctx, wick_compile(ctx, decode, &d, 1, &in, 1, NULL, &plan));
            REQUIRE(plan && wick_workspace_new(plan, &work) == WICK_OK);
            for (; at + lengths[k] <= (k ? MOST : 5); at += lengths[k]) {
                for (int n = 0; n < 2; n++)
                    memcpy((double *)part + n * lengths[k] * E, x[n][at], sizeof(double) * (size_t)(lengths[k] * E));
                static double y[2 * MOST * E];
                CHECK_MSG(wick_run(work, (const void *[]){part}, (void *[]){y}) == WICK_OK, "%s",
                          wick_workspace_error(work));
                for (int n = 0; n < 2; n++)
                    memcpy(got[n][at], y + n * lengths[k] * E, sizeof(double) * (size_t)(lengths[k] * E));
            }
            wick_workspace_free(&work);
            wick_plan_free(&plan);
        }
        for (int i = 0; i < 2 * MOST * E; i++)
            CHECK_MSG(fabs((&got[0][0][0])[i] - (&all[0][0][0])[i]) < 1e-12, "rotary %d, element %d: %g, not %g",
                      rotary, i, (&got[0][0][0])[i], (&all[0][0][0])[i]);
        teardown();
    }
}

static wick_kv_cache cache_of(int64_t most) {
    return (wick_kv_cache){wick_zeros(ctx, WICK_F64, WICK_DIMS(2, 3, most, 4)),
                           wick_zeros(ctx, WICK_F64, WICK_DIMS(2, 3, most, 5)),
                           wick_zeros(ctx, WICK_I64, WICK_DIMS(1))};
}
static wick_status append_only(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)out;
    const wick_kv_cache *cache = user;
    wick_tensor *mask;
    const wick_status status = wick_kv_cache_append(cache, in[0], in[1], &mask);
    if (status) return status;
    return wick_assign(cache->position,
                       wick_add(cache->position, wick_like(cache->position, (double)wick_tensor_dim(in[0], 2))));
}
static const wick_spec append_specs[2] = {{.dtype = WICK_F64, .rank = 4, .dims = {2, 3, 2, 4}},
                                          {.dtype = WICK_F64, .rank = 4, .dims = {2, 3, 2, 5}}};
/* Two positions at a time into a cache of five: the third time is an error, and changes nothing. */
TEST(a_full_cache_refuses_more) {
    REQUIRE(setup());
    wick_kv_cache cache = cache_of(5);
    wick_plan *plan = NULL;
    wick_workspace *work = NULL;
    CHECK_OK(ctx, wick_compile(ctx, append_only, &cache, 2, append_specs, 0, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &work) == WICK_OK);
    static double k[2][3][2][4], v[2][3][2][5], now[2][3][5][4], got[2][3][5][5];
    int64_t position = 0;
    for (int run = 0; run < 3; run++) {
        for (int i = 0; i < 2 * 3 * 2 * 4; i++) (&k[0][0][0][0])[i] = 100 * run + i;
        for (int i = 0; i < 2 * 3 * 2 * 5; i++) (&v[0][0][0][0])[i] = 100 * run + i;
        const wick_status status = wick_run(work, (const void *[]){k, v}, NULL);
        if (run < 2) CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(work));
        else
            CHECK_MSG(status == WICK_ERR_INDEX && strstr(wick_workspace_error(work), "no room for the values at 4"),
                      "%s", wick_workspace_error(work));
    }
    CHECK_OK(ctx, wick_read(cache.k, now, sizeof now));
    CHECK_OK(ctx, wick_read(cache.v, got, sizeof got));
    CHECK_OK(ctx, wick_read(cache.position, &position, sizeof position));
    CHECK_MSG(position == 4, "%lld", (long long)position);
    for (int n = 0; n < 6; n++)
        for (int at = 0; at < 5; at++) {
            for (int d = 0; d < 4; d++)
                CHECK((&now[0][0])[n][at][d] == (at == 4 ? 0 : 100 * (at / 2) + (n * 2 + at % 2) * 4 + d));
            for (int d = 0; d < 5; d++)
                CHECK((&got[0][0])[n][at][d] == (at == 4 ? 0 : 100 * (at / 2) + (n * 2 + at % 2) * 5 + d));
        }
    wick_workspace_free(&work);
    wick_plan_free(&plan);
    /* What can never fit is known before. */
    wick_tensor *mask;
    cache = cache_of(1);
    CHECK(wick_kv_cache_append(&cache, wick_zeros(ctx, WICK_F64, WICK_DIMS(2, 3, 2, 4)),
                               wick_zeros(ctx, WICK_F64, WICK_DIMS(2, 3, 2, 5)), &mask) == WICK_ERR_SHAPE);
    CHECK_MSG(strstr(wick_context_error(ctx), "2 positions do not fit a cache of 1"), "%s", wick_context_error(ctx));
    teardown();
}
/* Bytes moved and memory of a plan that appends don't depend on how large the cache is. */
TEST(appending_costs_what_is_new) {
    REQUIRE(setup());
    double bytes[2];
    size_t arena[2];
    for (int i = 0; i < 2; i++) {
        wick_kv_cache cache = cache_of(i ? 50000 : 50);
        wick_plan *plan = NULL;
        CHECK_OK(ctx, wick_compile(ctx, append_only, &cache, 2, append_specs, 0, NULL, &plan));
        REQUIRE(plan);
        bytes[i] = wick_plan_get_info(plan).bytes, arena[i] = wick_plan_get_info(plan).arena_bytes;
        wick_plan_free(&plan);
    }
    CHECK_MSG(bytes[0] == bytes[1] && arena[0] == arena[1], "%g and %g bytes, %zu and %zu of arena", bytes[0], bytes[1],
              arena[0], arena[1]);
    teardown();
}
/* An old version of the cache that somebody still reads is kept: eagerly, where the states are ordinary tensors. */
TEST(a_cache_read_before_appending_shows_what_was_there) {
    REQUIRE(setup());
    wick_kv_cache cache = cache_of(4);
    wick_tensor *before = wick_mul(cache.k, wick_like(cache.k, 1)), *mask,
                *ones = wick_ones(ctx, WICK_F64, WICK_DIMS(2, 3, 4, 4));
    CHECK_OK(ctx, wick_kv_cache_append(&cache, ones, wick_ones(ctx, WICK_F64, WICK_DIMS(2, 3, 4, 5)), &mask));
    wick_tensor *after = wick_sum(cache.k, WICK_ALL_AXES, false);
    double sum[2] = {1, 1};
    CHECK_OK(ctx, wick_item(after, &sum[1]));
    CHECK_OK(ctx, wick_item(wick_sum(before, WICK_ALL_AXES, false), &sum[0]));
    CHECK_MSG(sum[0] == 0 && sum[1] == 96, "%g and %g", sum[0], sum[1]);
    teardown();
}

TEST(what_does_not_fit_is_refused_by_name) {
    REQUIRE(setup());
    wick_tensor *x = wick_zeros(ctx, WICK_F32, WICK_DIMS(2, 5, 8)), *index = wick_zeros(ctx, WICK_I64, WICK_DIMS(3));
    const struct {
        wick_tensor *t;
        const char *says;
    } cases[] = {
        {wick_nn_attention(model, "a", x, x, x, &(wick_nn_attention_options){.heads = 3}),
         "attention \"a\": 8 features, 3 heads"},
        {wick_nn_attention(model, "a", index, x, x, &two), "attention \"a\": q is 1-d i64"},
        {wick_nn_attention(model, "a", x, NULL, x, &two), "k is NULL"},
        {wick_nn_embedding(model, "e", x, 5, 4, WICK_F32), "embedding \"e\": index is f32"},
        {wick_nn_embedding(model, "e", index, 0, 4, WICK_F32), "0 rows of 4"},
        {wick_nn_positions(model, "p", x, 4), "L at most 4"},
        {wick_nn_weight_norm(model, "w", WICK_F32, WICK_DIMS(4)), "weight_norm \"w\""},
        {wick_rotary(x, NULL, &(wick_rotary_options){.dims = 5}), "5 of 8 features"},
        {wick_rotary(x, index, NULL), "3 positions for a length of 5"},
        {wick_sinusoidal(x, 4, WICK_F32), "must be integers [L]"},
        {wick_alibi(ctx, WICK_F32, 0, 4), "0 heads"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const char *text = "";
        CHECK_MSG(wick_tensor_error(cases[i].t, &text) != WICK_OK && strstr(text, cases[i].says), "case %zu: %s", i,
                  text);
    }
    teardown();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
