/* Any tuning gives the same bits: sizes of tasks, blocks and thresholds, drawn from their ranges, on every tier and on
 * threads. */
#include "kernels/kernels.h"
#include "kernels/tuning.h"
#include "kernels/tuning_caches.h"
#include "exec/mlp.h"

/* Products of all layouts and of few and many rows, sums of every mode, programs with many registers, results that are
 * written by nontemporal stores, a factorisation, whose products are laid out while it runs. */
enum { RESULTS = 29 };
static const wick_spec specs[] = {
    {"a", WICK_F32, 2, {300, 530}},   {"b", WICK_F32, 2, {530, 170}},   {"bt", WICK_F32, 2, {170, 530}},
    {"bytes", WICK_I8, 2, {70, 200}}, {"x", WICK_F32, 3, {6, 210, 70}}, {"pages", WICK_F32, 2, {64, 1024}},
};
enum { INPUTS = WICK_COUNTOF(specs) };

static wick_status many(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *a = in[0], *b = in[1], *bt = in[2], *bytes = in[3], *x = in[4], *pages = in[5];
    wick_tensor *y = wick_tanh(wick_mul(wick_add(x, wick_like(x, 0.25)), wick_exp(wick_neg(wick_square(x)))));
    int n = 0;
    out[n++] = wick_matmul(a, b);
    out[n++] = wick_relu(wick_matmul(a, wick_transpose(bt, 0, 1)));
    out[n++] = wick_matmul(wick_transpose(b, 0, 1), wick_transpose(a, 0, 1));
    out[n++] = wick_matmul(wick_slice(a, 0, 0, 1, 1), b);
    out[n++] = wick_matmul(wick_slice(a, 0, 0, 5, 1), b);
    out[n++] = wick_matmul(wick_slice(a, 0, 0, 40, 1), b);
    out[n++] = wick_matmul(wick_slice(a, 0, 0, 2, 1), wick_transpose(bt, 0, 1)); /* columns, near and far */
    out[n++] = wick_matmul(wick_slice(pages, 0, 0, 1, 1), wick_transpose(pages, 0, 1));
    out[n++] = wick_matmul(wick_slice(pages, 0, 0, 3, 1), wick_transpose(pages, 0, 1));
    out[n++] = wick_matmul(wick_slice(a, 0, 0, 110, 1), wick_transpose(bt, 0, 1));
    out[n++] = wick_matmul(wick_cast(a, WICK_F64), wick_cast(b, WICK_F64));
    out[n++] = wick_matmul(wick_cast(a, WICK_BF16), wick_cast(b, WICK_BF16));
    out[n++] =
        wick_matmul(wick_slice(wick_cast(a, WICK_BF16), 0, 0, 90, 1), wick_transpose(wick_cast(bt, WICK_BF16), 0, 1));
    out[n++] =
        wick_matmul(wick_slice(wick_cast(a, WICK_F16), 0, 0, 90, 1), wick_transpose(wick_cast(bt, WICK_F16), 0, 1));
    out[n++] = wick_matmul(wick_cast(a, WICK_F16), wick_cast(b, WICK_F16));
    out[n++] = wick_int8_matmul(bytes, wick_transpose(bytes, 0, 1), NULL);
    out[n++] = y;
    out[n++] = wick_sum(y, WICK_ALL_AXES, false);
    out[n++] = wick_sum(x, WICK_AXES(0), false);
    out[n++] = wick_sum(x, WICK_AXES(1), false);
    out[n++] = wick_mean(y, WICK_AXES(2), false);
    out[n++] = wick_max(x, WICK_AXES(0, 2), false);
    out[n++] = wick_sum(wick_cast(a, WICK_BF16), WICK_AXES(0), false);
    out[n++] = wick_softmax(a, 1);
    out[n++] = wick_sub(wick_permute(x, WICK_AXES(2, 0, 1)), wick_like(x, 1));
    out[n++] = wick_sum(wick_square(a), WICK_AXES(0), false); /* what the costs decide: fused or not, */
    out[n++] = wick_tanh(wick_matmul(a, b));                  /* within the product or not, */
    out[n++] = wick_exp(wick_sub(x, wick_like(x, 0.5)));      /* made again for each reader or not */
    out[n - 1] = wick_add(out[n - 1], wick_sum(wick_sub(x, wick_like(x, 0.5)), WICK_AXES(0), false));
    wick_tensor *gram = wick_matmul(a, wick_transpose(a, 0, 1));
    out[n++] = wick_cholesky(wick_add(gram, wick_mul(wick_eye(c, WICK_F32, 300, 300, 0), wick_like(gram, 100))), false);
    return WICK_OK;
}

/* All results in one block, or NULL. */
static unsigned char *results(const wick_tuning *tuning, int threads, void *const *in, size_t *bytes) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = threads, .tuning = tuning});
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    unsigned char *block = NULL;
    void *out[RESULTS];
    CHECK_OK(ctx, wick_compile(ctx, many, NULL, INPUTS, specs, RESULTS, NULL, &plan));
    if (plan && wick_workspace_new(plan, &ws) == WICK_OK) {
        *bytes = 0;
        for (int i = 0; i < RESULTS; i++) {
            const wick_spec spec = wick_plan_output(plan, i);
            out[i] = (void *)*bytes;
            *bytes += WICK_ALIGN_UP(wick_spec_bytes(&spec), WICK_ALIGN);
        }
        block = aligned_alloc(WICK_ALIGN, *bytes);
        memset(block, 0, *bytes);
        for (int i = 0; i < RESULTS; i++) out[i] = block + (size_t)out[i];
        const wick_status status = wick_run(ws, (const void *const *)in, out);
        CHECK_MSG(status == WICK_OK, "%s", wick_workspace_error(ws));
    }
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    return block;
}

/* Every field somewhere in its range, its ends often. */
static wick_tuning any_tuning(void) {
    wick_tuning t;
    for (int i = 0; i < wick_tuning_count(); i++) {
        const wick_tuning_field f = wick_tuning_at(i);
        const int which = test_rand_int(0, 5);
        *f.of(&t) = which == 0   ? f.low
                    : which == 1 ? f.high
                    : which == 2 ? 0
                                 : (int64_t)((double)f.low * pow((double)f.high / (double)f.low, test_rand_real(0, 1)));
    }
    return t;
}

TEST(any_tuning_gives_the_same_bits) {
    void *in[INPUTS];
    for (int i = 0; i < INPUTS; i++) {
        const size_t size = wick_spec_bytes(&specs[i]);
        in[i] = malloc(size);
        REQUIRE(in[i] != NULL);
        if (specs[i].dtype == WICK_F32)
            fill_random(in[i], (int64_t)(size / 4), -1, 1);
        else
            for (size_t k = 0; k < size; k++) ((uint8_t *)in[i])[k] = (uint8_t)test_rand();
    }
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        size_t size = 0, other_size = 0;
        unsigned char *first = results(NULL, 1, in, &size);
        REQUIRE(first != NULL);
        for (int round = 0; round < (TEST_SANITIZED ? 4 : 16); round++) {
            const wick_tuning t = any_tuning();
            unsigned char *other = results(&t, 1 + 2 * (round % 2), in, &other_size);
            size_t at = 0;
            while (other && other_size == size && at < size && first[at] == other[at]) at++;
            CHECK_MSG(other && other_size == size && at == size, "%s, round %d: byte %zu of %zu differs",
                      wick_tier_name((wick_tier)tier), round, at, size);
            for (int i = 0; other && at != size && i < wick_tuning_count(); i++) {
                wick_tuning copy = t;
                fprintf(stderr, "  %s %lld\n", wick_tuning_at(i).name, (long long)*wick_tuning_at(i).of(&copy));
            }
            free(other);
        }
        free(first);
    }
    wick_tier_force(wick_tier_best());
    for (int i = 0; i < INPUTS; i++) free(in[i]);
}

TEST(training_gives_the_same_bits_with_any_tuning) {
    static unsigned char first[MLP_MAX_BYTES], other[MLP_MAX_BYTES];
    for (int round = 0; round < 6; round++) {
        const wick_tuning t = any_tuning();
        wick_context *ctx =
            context_with(&(wick_context_options){.threads = 1 + round % 3, .seed = 3, .tuning = round ? &t : NULL});
        mlp net;
        mlp_init(&net, ctx, 0.2);
        for (int step = 0; step < 5; step++) {
            float x[MLP_BATCH * MLP_IN];
            int64_t labels[MLP_BATCH];
            mlp_batch(step, x, labels);
            wick_scope *scope = wick_scope_open(ctx);
            wick_tensor *loss =
                mlp_step(&net, ctx, wick_from(ctx, WICK_F32, 2, mlp_specs[0].dims, x),
                         wick_from(ctx, WICK_I64, 1, mlp_specs[1].dims, labels), wick_constant(ctx, WICK_F32, 0.01));
            CHECK(isfinite(item(loss)));
            wick_scope_close(&scope);
        }
        CHECK_INT(mlp_bytes(&net, round ? other : first, MLP_MAX_BYTES), MLP_MAX_BYTES);
        CHECK_MSG(!round || !memcmp(first, other, sizeof first), "round %d: weights differ", round);
        wick_context_free(&ctx);
    }
}

/* A copy by rows of constant columns is worth a fourth of the last cache. */
TEST(thresholds_follow_the_size_of_the_last_cache) {
    for (int tier = WICK_TIER_BASE; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        const wick_gemm product = {.type = WICK_CF32,
                                   .m = 1,
                                   .n = 128,
                                   .k = 9216,
                                   .a_row = 9216,
                                   .a_col = 1,
                                   .b_row = 1,
                                   .b_col = 9216,
                                   .c_row = 128};
        const wick_tuning small = wick_tuning_whole(&(wick_tuning){.cost_l3_bytes = 16 << 20}),
                          large = wick_tuning_whole(&(wick_tuning){.cost_l3_bytes = 32 << 20});
        CHECK(wick_gemm_wants_rows(&product, &large)); /* 4.5 MiB, of 32 */
        CHECK(!wick_gemm_wants_rows(&product, &small));
    }
    wick_tier_force(wick_tier_best());
}

/* Blocks are at most half of L2 and three fourths of L1, as a Zen 4 has them, and nowhere larger than there. */
TEST(sizes_follow_the_caches) {
    static const struct {
        wick_caches caches;
        int64_t rows, share, block, stream, l3;
    } machines[] = {
        {{32 << 10, 1 << 20, 32 << 20}, 252, 512 << 10, 24 << 10, 32 << 20, 32 << 20},
        {{32 << 10, 512 << 10, 16 << 20}, 126, 256 << 10, 24 << 10, 16 << 20, 16 << 20},
        {{32 << 10, 256 << 10, 8 << 20}, 42, 128 << 10, 24 << 10, 8 << 20, 8 << 20},
        {{48 << 10, 2 << 20, 105 << 20}, 252, 512 << 10, 24 << 10, 32 << 20, 105 << 20},
        {{16 << 10, 128 << 10, 128 << 10}, 42, 64 << 10, 12 << 10, 128 << 10, 128 << 10},
        {{0, 0, 0}, 252, 512 << 10, 24 << 10, 32 << 20, 32 << 20},
        {{4, 2, 1}, 42, 16 << 10, 4 << 10, 64 << 10, 4 << 10},
    };
    for (size_t i = 0; i < WICK_COUNTOF(machines); i++)
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            const wick_tuning t = wick_tuning_for((wick_tier)tier, &machines[i].caches);
            CHECK_INT(t.gemm_block_rows, machines[i].rows);
            CHECK_INT(t.gemm_share_bytes, machines[i].share);
            CHECK_INT(t.fused_block_bytes, machines[i].block);
            CHECK_INT(t.stream_bytes, machines[i].stream);
            CHECK_INT(t.cost_l3_bytes, machines[i].l3);
        }
    /* that of any machine asks none */
    const wick_tuning any = wick_tuning_of_any_machine(),
                      none = wick_tuning_for(wick_tier_current(), &(wick_caches){0});
    CHECK(!memcmp(&any, &none, sizeof any));
    const wick_caches here = wick_caches_found();
    const wick_tuning t = wick_tuning_for(wick_tier_current(), &here);
    CHECK(!memcmp(&t, wick_tuning_or_default(NULL), sizeof t));
}

TEST(zero_is_the_default_and_the_rest_is_kept_within_its_range) {
    wick_tuning t = {0};
    const wick_tuning plain = wick_tuning_whole(NULL);
    CHECK(!memcmp(&plain, wick_tuning_or_default(NULL), sizeof plain));
    for (int i = 0; i < wick_tuning_count(); i++) {
        const wick_tuning_field f = wick_tuning_at(i);
        wick_tuning whole = wick_tuning_whole(&t);
        CHECK(f.low <= f.fallback && f.fallback <= f.high && f.name && f.doc);
        CHECK(*f.of(&whole) == f.fallback);
        *f.of(&t) = -5;
        whole = wick_tuning_whole(&t);
        CHECK(*f.of(&whole) == f.low);
        *f.of(&t) = INT64_MAX;
        whole = wick_tuning_whole(&t);
        CHECK(*f.of(&whole) == f.high);
    }
    CHECK(!wick_tuning_at(-1).name && !wick_tuning_at(wick_tuning_count()).name);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
