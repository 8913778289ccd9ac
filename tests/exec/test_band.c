/* Norms by the batch's statistics over planes, and their gradients, run channel by channel where images come from
 * memory: with the bits of one kernel after the other, at any number of threads. */
#include "base/base.h"
#include "test.h"
#include "wick/wick.h"

typedef struct use {
    wick_model *model;
    int rank;
    int64_t dims[4];
    bool relu, twice;
    int taken;
} use;

static void given(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)user, (void)g, (void)y, (void)n;
    gx[0] = xs[1];
}
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    use *u = user;
    out[0] = wick_nn_batch_norm(u->model, "a", in[0]);
    if (u->relu) out[0] = wick_relu(out[0]);
    if (u->twice) out[0] = wick_nn_batch_norm(u->model, "b", wick_add(out[0], in[0]));
    wick_grad(wick_custom_gradient(wick_constant(ctx, WICK_F32, 1), 2, (wick_tensor *[]){out[0], in[1]}, given, NULL),
              1, (wick_tensor *[]){in[0]}, out + 1);
    return WICK_OK;
}
static void remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)pass, (void)node, (void)place;
    ((use *)user)->taken += strstr(text, "channel by channel with") != NULL;
}

/* Results of two runs, and the running mean and variance after them; bytes: those of images that come from memory. */
static void results(use *u, int64_t bytes, int threads, const float *x, const float *g, float *out[2], float *states) {
    wick_context *ctx;
    /* on any tier: what is cheap where vectors are wide is made again, so programs are the same */
    REQUIRE(!wick_context_new(
        &(wick_context_options){.threads = threads,
                                .tuning = &(wick_tuning){.stream_bytes = bytes, .cost_light_rate = 60000}},
        &ctx));
    REQUIRE(!wick_model_new(ctx, &u->model));
    wick_model_set_training(u->model, true);
    wick_spec in[2] = {{.dtype = WICK_F32, .rank = u->rank}, {.dtype = WICK_F32, .rank = u->rank}};
    for (int k = 0; k < 2; k++) memcpy(in[k].dims, u->dims, sizeof u->dims);
    wick_plan *plan;
    wick_workspace *space;
    u->taken = 0;
    CHECK_MSG(!wick_compile(ctx, record, u, 2, in, 2, &(wick_compile_options){.on_remark = remark, .user = u}, &plan),
              "%s", wick_context_error(ctx));
    REQUIRE(!wick_workspace_new(plan, &space));
    for (int i = 0; i < 2; i++) CHECK(!wick_run(space, (const void *[]){x, g}, (void *[]){out[0], out[1]}));
    for (int i = 0, at = 0; i < wick_model_count(u->model); i++) {
        const void *data;
        CHECK(!wick_data(wick_model_at(u->model, i).tensor, &data));
        const size_t n = (size_t)wick_tensor_count(wick_model_at(u->model, i).tensor);
        memcpy(states + at, data, n * sizeof(float));
        at += (int)n;
    }
    wick_workspace_free(&space);
    wick_plan_free(&plan);
    wick_model_free(&u->model);
    wick_context_free(&ctx);
}

TEST(channels_one_by_one_have_the_bits_of_all_at_once) {
    static const use uses[] = {{.rank = 4, .dims = {3, 20, 40, 31}},
                               {.rank = 4, .dims = {2, 16, 64, 64}, .relu = true},
                               {.rank = 3, .dims = {5, 70, 700}, .twice = true, .relu = true},
                               {.rank = 4, .dims = {1, 33, 50, 50}, .twice = true}};
    for (size_t i = 0; i < WICK_COUNTOF(uses); i++) {
        use u = uses[i];
        int64_t n = 1;
        for (int d = 0; d < u.rank; d++) n *= u.dims[d];
        float *x = malloc((size_t)n * sizeof *x), *g = malloc((size_t)n * sizeof *g), *out[3][2],
              states[3][600] = {{0}};
        for (int64_t k = 0; k < n; k++) x[k] = (float)test_rand_real(-2, 3), g[k] = (float)test_rand_real(-1, 1);
        for (int way = 0; way < 3; way++) {
            for (int k = 0; k < 2; k++) out[way][k] = malloc((size_t)n * sizeof(float));
            results(&u, way ? 65536 : (int64_t)1 << 40, way == 2 ? 3 : 1, x, g, out[way], states[way]);
            CHECK_MSG(way ? u.taken >= 3 : u.taken == 0, "use %d, way %d: %d", (int)i, way, u.taken);
            for (int k = 0; k < 2; k++)
                CHECK_MSG(memcmp(out[0][k], out[way][k], (size_t)n * sizeof(float)) == 0, "use %d, way %d, result %d",
                          (int)i, way, k);
            CHECK(memcmp(states[0], states[way], sizeof states[0]) == 0);
        }
        for (int way = 0; way < 3; way++)
            for (int k = 0; k < 2; k++) free(out[way][k]);
        free(x);
        free(g);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
