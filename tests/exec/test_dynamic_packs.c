/* What plans of one dynamic function share: weights as kernels read them, and the memory that a runner runs in. */
#include <pthread.h>

#include "base/counting_alloc.h"
#include "tensor/tensors.h"

/* A network with what is packed, and with numbers that follow the extents: [batch, 4, n, 12] -> 5 results. Convolutions
 * of three kinds, a scale that goes into weights, pooling, an LSTM, attention, norms, means, slices, concatenations,
 * padding, positions, and products of any number of rows. */
enum {
    CHANNELS = 4,
    OTHER = 12,
    HIDDEN = 16,
    RESULTS = 5,
    WEIGHTS = 10,
    MOST_BATCH = 6,
    MOST_N = 40,
    MOST_OUT = MOST_BATCH * HIDDEN * (2 * MOST_N + 4) * OTHER
};
typedef struct net {
    wick_tensor *w[WEIGHTS];
} net;

static const int64_t weight_dims[WEIGHTS][4] = {
    {HIDDEN, CHANNELS, 3, 3},   {HIDDEN, 1, 3, 3},          {HIDDEN, HIDDEN, 2, 2},     {1, HIDDEN, 1, 1},
    {1, 4 * HIDDEN, HIDDEN, 0}, {1, 4 * HIDDEN, HIDDEN, 0}, {HIDDEN, 3 * HIDDEN, 0, 0}, {HIDDEN, HIDDEN, 0, 0},
    {70, HIDDEN, 0, 0},         {HIDDEN, HIDDEN, 3, 3}};
static const int weight_rank[WEIGHTS] = {4, 4, 4, 4, 3, 3, 2, 2, 2, 4};

static int64_t weight_data(int i, float *data) {
    int64_t n = 1;
    for (int k = 0; k < weight_rank[i]; k++) n *= weight_dims[i][k];
    fill_random(data, (int)n, -0.4, 0.4);
    return n;
}
static void net_init(net *n, wick_context *ctx) {
    static float data[16384];
    for (int i = 0; i < WEIGHTS; i++) {
        weight_data(i, data);
        n->w[i] = wick_from(ctx, WICK_F32, weight_rank[i], weight_dims[i], data);
    }
}

static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const net *m = user;
    wick_tensor *const *w = m->w, *x = in[0];
    const int64_t batch = wick_tensor_dim(x, 0), n = wick_tensor_dim(x, 2);
    x = wick_mul(wick_conv(x, w[0], NULL, &(wick_conv_options){.pad = {1, 1}}), w[3]);
    x = wick_relu(wick_conv(x, w[9], NULL, &(wick_conv_options){.pad = {1, 1}}));
    x = wick_conv(x, w[1], NULL, &(wick_conv_options){.pad = {1, 1}, .groups = HIDDEN});
    out[0] = wick_pad(wick_concat(2, (wick_tensor *[]){x, wick_slice(x, 2, n / 3, n, 1)}, 2), 4,
                      (int64_t[]){0, 0, 1, 0}, (int64_t[]){0, 0, 1, 0}, 0.5);
    x = wick_max_pool(wick_conv(x, w[2], NULL, &(wick_conv_options){.stride = {2, 2}}),
                      &(wick_pool_options){.kernel = {1, 2}, .stride = {1, 2}});
    x = wick_mean(x, WICK_AXES(3), false);                          /* [batch, HIDDEN, n / 2] */
    x = wick_layer_norm(wick_transpose(x, 1, 2), NULL, NULL, 1e-5); /* [batch, n / 2, HIDDEN] */
    wick_tensor *h, *c;
    x = wick_lstm(x, &(wick_rnn_inputs){.w_ih = w[4], .w_hh = w[5]}, &(wick_rnn_options){.batch_first = true}, &h, &c);
    out[1] = c;
    wick_tensor *qkv = wick_matmul(wick_reshape(x, 2, (int64_t[]){batch * (n / 2), HIDDEN}), w[6]), *part[3];
    for (int k = 0; k < 3; k++)
        part[k] =
            wick_reshape(wick_slice(qkv, 1, k * HIDDEN, (k + 1) * HIDDEN, 1), 4, (int64_t[]){batch, 1, n / 2, HIDDEN});
    wick_tensor *scores = wick_softmax(
        wick_mul(wick_matmul(part[0], wick_transpose(part[1], 2, 3)), wick_constant(ctx, WICK_F32, 1.0 / (double)n)),
        -1);
    x = wick_matmul(wick_reshape(wick_matmul(scores, part[2]), 3, (int64_t[]){batch, n / 2, HIDDEN}), w[7]);
    x = wick_add(x,
                 wick_slice(wick_reshape(wick_arange(ctx, WICK_F32, 0, 1, n), 2, (int64_t[]){n, 1}), 0, 0, n / 2, 1));
    out[2] = wick_mean(x, WICK_AXES(1), false);
    out[3] = wick_linear(x, w[8], NULL);
    out[4] = wick_linear(out[2], w[8], NULL); /* as many rows as the batch */
    for (int i = 0; i < RESULTS; i++) {
        const char *text;
        const wick_status status = wick_tensor_error(out[i], &text);
        if (status != WICK_OK) return wick_context_fail(ctx, status, "output %d: %s", i, text);
    }
    return WICK_OK;
}

static const wick_dim dims[] = {{"batch", 1, MOST_BATCH, 0}, {"n", 8, MOST_N, 0}};
static const wick_dynamic_input input = {"x", WICK_F32, 4, {"batch", "4", "n", "12"}};
static wick_dynamic *dynamic_of(wick_context *ctx, net *n, const wick_dynamic_options *options) {
    wick_dynamic *d = NULL;
    CHECK_OK(ctx, wick_dynamic_new(ctx, body, n, 2, dims, 1, &input, RESULTS, options, &d));
    return d;
}

typedef struct answers {
    float y[RESULTS][MOST_OUT];
} answers;
static float x[MOST_BATCH * CHANNELS * MOST_N * OTHER];
static answers got, want;

static void *const *places(answers *a) {
    static void *p[RESULTS];
    for (int i = 0; i < RESULTS; i++) p[i] = a->y[i];
    memset(a, 0, sizeof *a);
    return p;
}
/* What a plan for these extents alone gives; how much it packs. */
static size_t alone(wick_context *ctx, net *n, const int64_t *e) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, body, n, 1, &(wick_spec){"x", WICK_F32, 4, {e[0], CHANNELS, e[1], OTHER}}, RESULTS,
                               NULL, &plan));
    CHECK(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    if (!ws) return wick_plan_free(&plan), 0;
    CHECK_INT(wick_run(ws, (const void *[]){x}, places(&want)), WICK_OK);
    const size_t packed = wick_plan_get_info(plan).packed_bytes;
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return packed;
}
static void same(wick_context *ctx, net *n, wick_runner *r, const int64_t *e, size_t *packed) {
    CHECK_MSG(wick_runner_bind_dims(r, e) == WICK_OK, "%s", wick_runner_error(r));
    CHECK_MSG(wick_runner_run(r, (const void *[]){x}, places(&got)) == WICK_OK, "%s", wick_runner_error(r));
    const size_t bytes = alone(ctx, n, e);
    if (packed && bytes > *packed) *packed = bytes;
    CHECK_MSG(!memcmp(&got, &want, sizeof got), "batch=%d, n=%d", (int)e[0], (int)e[1]);
}

TEST(plans_of_a_range_share_what_they_pack_and_give_the_bits_of_plans_alone) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    fill_random(x, (int)WICK_COUNTOF(x), -1, 1);
    wick_dynamic *d = dynamic_of(ctx, &n, &(wick_dynamic_options){.plans = 1000});
    wick_runner *r = NULL;
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    size_t packed = 0;
    int lists = 0;
    for (int64_t b = 1; b <= MOST_BATCH; b++)
        for (int64_t l = 8 + b % 3; l <= MOST_N; l += 3, lists++) same(ctx, &n, r, (int64_t[]){b, l}, &packed);
    const wick_dynamic_info info = wick_dynamic_get_info(d);
    CHECK_INT(info.plans, lists);
    CHECK(packed > 0);
    /* Layouts differ where kernels do, but not from list to list. */
    CHECK_MSG(info.packed_bytes > 0 && info.packed_bytes < 4 * packed, "%zu bytes packed by %d plans, %zu by one",
              info.packed_bytes, lists, packed);
    /* back and forth */
    for (int k = 0; k < 40; k++)
        same(ctx, &n, r, (int64_t[]){test_rand_int(1, MOST_BATCH), test_rand_int(8, MOST_N)}, NULL);
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

TEST(weights_that_change_are_packed_again_for_all_plans) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    static float data[16384];
    wick_dynamic *d = dynamic_of(ctx, &n, NULL);
    wick_runner *r[2] = {NULL, NULL};
    REQUIRE(d && wick_runner_new(d, &r[0]) == WICK_OK && wick_runner_new(d, &r[1]) == WICK_OK);
    for (int k = 0; k < 30; k++) {
        const int i = test_rand_int(0, WEIGHTS - 1);
        const int64_t count = weight_data(i, data);
        CHECK_OK(ctx, wick_write(n.w[i], data, (size_t)count * sizeof *data));
        same(ctx, &n, r[k % 2], (int64_t[]){1 + k % 3, 8 + k % 5}, NULL);
        same(ctx, &n, r[k % 3 == 0], (int64_t[]){1 + k % 4, 9 + k % 4}, NULL);
    }
    wick_runner_free(&r[0]);
    wick_runner_free(&r[1]);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

TEST(memory_of_the_caller_may_change_at_any_time) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    static float mine[16384];
    const int64_t count = weight_data(9, mine);
    n.w[9] = wick_wrap(ctx, WICK_F32, weight_rank[9], weight_dims[9], NULL, mine, NULL, NULL);
    wick_dynamic *d = dynamic_of(ctx, &n, NULL);
    wick_runner *r = NULL;
    REQUIRE(d && wick_runner_new(d, &r) == WICK_OK);
    for (int k = 0; k < 12; k++) {
        same(ctx, &n, r, (int64_t[]){1 + k % 3, 8 + k % 2}, NULL);
        fill_random(mine, (int)count, -0.4, 0.4);
    }
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
}

TEST(a_runner_takes_the_memory_of_its_largest_run_and_leaves_it_to_the_next) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .allocator = &allocator});
    net n;
    net_init(&n, ctx);
    wick_dynamic *d = dynamic_of(ctx, &n, &(wick_dynamic_options){.plans = 1000});
    wick_dynamic_bound bound;
    wick_runner *r = NULL;
    REQUIRE(d != NULL);
    CHECK_OK(ctx, wick_dynamic_prove(d, 1000, &bound));
    CHECK(bound.proven);
    REQUIRE(wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_runner_bind_dims(r, (int64_t[]){2, 9}), WICK_OK);
    int64_t beside = c.live_bytes; /* without plans, packs, and the runner's memory */
    size_t results = 0;
    for (int i = 0; i < 60; i++) {
        CHECK_INT(wick_runner_bind_dims(r, i ? (int64_t[]){test_rand_int(1, MOST_BATCH), test_rand_int(8, MOST_N)}
                                             : bound.at),
                  WICK_OK);
        CHECK_INT(wick_runner_run(r, (const void *[]){x}, NULL), WICK_OK);
        size_t all = 0;
        for (int k = 0; k < RESULTS; k++) {
            const wick_spec out = wick_plan_output(wick_runner_plan(r), k);
            all += wick_spec_bytes(&out) + 64;
        }
        results = all > results ? all : results;
        const wick_dynamic_info info = wick_dynamic_get_info(d);
        const int64_t other = c.live_bytes - beside - (int64_t)(info.cached_bytes + info.packed_bytes);
        CHECK_MSG(other <= (int64_t)(bound.bytes + results) + 65536,
                  "%lld bytes beside plans, after %d lists; a run takes %zu, and %zu for results", (long long)other,
                  i + 1, bound.bytes, results);
    }
    wick_runner_free(&r);
    const int64_t calls = c.calls;
    REQUIRE(wick_runner_new(d, &r) == WICK_OK);
    CHECK_INT(wick_runner_bind_dims(r, bound.at), WICK_OK); /* plan, workspace and memory are there */
    CHECK_INT(c.calls - calls, 2);                          /* the runner itself */
    wick_runner_free(&r);
    wick_dynamic_free(&d);
    wick_context_free(&ctx);
    CHECK_INT(c.live, 0);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, KINDS = 6, RUNS = 20 };
static answers expected[KINDS];
static const int64_t kinds[KINDS][2] = {{1, 8}, {2, 9}, {3, 8}, {1, 13}, {2, 16}, {5, 11}};

typedef struct job {
    wick_dynamic *d;
    unsigned seed;
    int wrong;
    answers y;
} job;
static void *run_many(void *arg) {
    job *j = arg;
    wick_runner *r = NULL;
    if (wick_runner_new(j->d, &r) != WICK_OK) return j->wrong++, NULL;
    for (int i = 0; i < RUNS; i++) {
        j->seed = j->seed * 1664525u + 1013904223u;
        const int k = (int)((j->seed >> 16) % KINDS);
        void *out[RESULTS];
        memset(&j->y, 0, sizeof j->y);
        for (int o = 0; o < RESULTS; o++) out[o] = j->y.y[o];
        const bool good =
            wick_runner_bind_dims(r, kinds[k]) == WICK_OK && wick_runner_run(r, (const void *[]){x}, out) == WICK_OK;
        j->wrong += !good || memcmp(&j->y, &expected[k], sizeof j->y) != 0;
    }
    wick_runner_free(&r);
    return NULL;
}

/* All at once ask for the same packs, anew whenever weights have changed between them; in the second round also for
 * what can't be kept. */
TEST(threads_share_packs_whoever_makes_them) {
    wick_context *ctx = context();
    net n;
    net_init(&n, ctx);
    static float data[16384], mine[16384];
    static job jobs[THREADS];
    weight_data(9, mine);
    for (int round = 0; round < 2; round++) {
        wick_dynamic *d = dynamic_of(ctx, &n, &(wick_dynamic_options){.plans = round ? 3 : 64});
        REQUIRE(d != NULL);
        for (int phase = 0; phase < 4; phase++) {
            for (int i = 0; i < WEIGHTS; i += 1 + phase) {
                const int64_t count = weight_data(i, data);
                CHECK_OK(ctx, wick_write(n.w[i], data, (size_t)count * sizeof *data));
            }
            for (int k = 0; k < KINDS; k++) {
                alone(ctx, &n, kinds[k]);
                expected[k] = want;
            }
            pthread_t threads[THREADS];
            for (int t = 0; t < THREADS; t++) {
                jobs[t] = (job){.d = d, .seed = (unsigned)(17 * phase + t)};
                REQUIRE(pthread_create(&threads[t], NULL, run_many, &jobs[t]) == 0);
            }
            for (int t = 0; t < THREADS; t++) {
                pthread_join(threads[t], NULL);
                CHECK_INT(jobs[t].wrong, 0);
            }
        }
        wick_dynamic_free(&d);
        n.w[9] = wick_wrap(ctx, WICK_F32, weight_rank[9], weight_dims[9], NULL, mine, NULL, NULL);
    }
    wick_context_free(&ctx);
}

/* A network that was unrolled: the same two weights in each step, one of them transposed. */
enum { UNROLLED = 48 };
typedef struct unrolled {
    wick_tensor *w[2];
    int steps;
} unrolled;
static wick_status unroll(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const unrolled *u = user;
    (void)ctx;
    *out = in[0];
    for (int i = 0; i < u->steps; i++) {
        wick_tensor *turned = wick_linear(*out, u->w[0], NULL), *plain = wick_matmul(*out, u->w[1]);
        *out = wick_tanh(i % 2 ? wick_sub(turned, plain) : wick_add(turned, plain));
    }
    return WICK_OK;
}
TEST(weights_that_many_nodes_use_are_packed_once) {
    wick_context *ctx = context();
    static float data[UNROLLED * UNROLLED], rows[UNROLLED], y[2][UNROLLED];
    unrolled u = {.steps = 1};
    for (int i = 0; i < 2; i++) {
        fill_random(data, (int)WICK_COUNTOF(data), -0.4, 0.4);
        u.w[i] = wick_from(ctx, WICK_F32, 2, (int64_t[]){UNROLLED, UNROLLED}, data);
    }
    fill_random(rows, UNROLLED, -1, 1);
    size_t packed[2] = {0, 0};
    for (int many = 0; many < 2; many++) {
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        u.steps = many ? 20 : 1;
        CHECK_OK(ctx, wick_compile(ctx, unroll, &u, 1, &(wick_spec){"x", WICK_F32, 2, {1, UNROLLED}}, 1, NULL, &plan));
        REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
        packed[many] = wick_plan_get_info(plan).packed_bytes;
        for (int round = 0; round < 3; round++) { /* weights that change are packed again */
            CHECK_INT(wick_run(ws, (const void *[]){rows}, (void *const[]){y[0]}), WICK_OK);
            wick_tensor *row = wick_from(ctx, WICK_F32, 2, (int64_t[]){1, UNROLLED}, rows), *eager = NULL;
            CHECK_OK(ctx, unroll(ctx, &row, &eager, &u));
            CHECK_OK(ctx, wick_read(eager, y[1], sizeof y[1]));
            CHECK_MSG(!memcmp(y[0], y[1], sizeof y[0]), "%d steps, round %d", u.steps, round);
            fill_random(data, (int)WICK_COUNTOF(data), -0.4, 0.4);
            CHECK_OK(ctx, wick_write(u.w[round % 2], data, sizeof data));
        }
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
    }
    CHECK(packed[0] > 0);
    CHECK_MSG(packed[1] == packed[0], "%zu bytes, of one step %zu", packed[1], packed[0]);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
