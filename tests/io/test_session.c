/* A model by names: set, run, get, in any number of threads; what does not fit is named. */
#include <pthread.h>
#include <unistd.h>

#include "base/counting_alloc.h"
#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static char path[64];

/* y = x w + row, z = the sum of each row of y */
static wick_status network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    out[0] = wick_add(wick_matmul(in[0], wick_model_find(user, "w")), in[1]);
    out[1] = wick_sum(out[0], WICK_AXES(1), false);
    return WICK_OK;
}
enum { K = 3, N = 2 };
static const float w[K * N] = {1, 2, 3, 4, 5, 6}, row[N] = {0.5f, -1};

static bool make_file(wick_context *c) {
    wick_model *model = NULL;
    strcpy(path, "/tmp/wick-session-XXXXXX.onnx");
    const int fd = mkstemps(path, 5);
    if (fd < 0) return false;
    close(fd);
    const wick_spec in[2] = {{.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {2, K}},
                             {.name = "row", .dtype = WICK_F32, .rank = 1, .dims = {N}}};
    const wick_onnx_save_options o = {
        .n_symbols = 1, .symbols = &(wick_onnx_symbol){"batch", 0, 0}, .outputs = (const char *[]){"y", "z"}};
    wick_scope *scope = wick_scope_open(c);
    bool good = wick_model_new(c, &model) == WICK_OK &&
                wick_model_adopt(model, "w", WICK_ROLE_PARAM, wick_from(c, WICK_F32, WICK_DIMS(K, N), w)) == WICK_OK &&
                wick_onnx_save(model, network, model, 2, in, 2, path, &o) == WICK_OK;
    wick_scope_close(&scope);
    wick_model_free(&model);
    return good;
}
static bool set_up(void) { return wick_context_new(NULL, &ctx) == WICK_OK && make_file(ctx); }
static void tear_down(void) {
    unlink(path);
    wick_context_free(&ctx);
}

/* What the session makes of n rows that begin at `from` is right. */
static bool is_right(wick_session *s, int64_t n, float from) {
    float x[8 * K];
    for (int i = 0; i < n * K; i++) x[i] = from + (float)i;
    if (wick_session_set(s, "x", WICK_F32, WICK_DIMS(n, K), x) ||
        wick_session_set(s, "row", WICK_F32, WICK_DIMS(N), row) || wick_session_run(s))
        return printf("  %s\n", wick_session_error(s)), false;
    wick_spec spec;
    const float *z = wick_session_get(s, "z", NULL), *y = wick_session_get(s, "y", &spec);
    bool right = y && z && spec.rank == 2 && spec.dims[0] == n && spec.dims[1] == N && strcmp(spec.name, "y") == 0;
    for (int64_t i = 0; i < n && right; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) {
            double want = (double)row[j];
            for (int k = 0; k < K; k++) want += (double)x[i * K + k] * (double)w[k * N + j];
            right = right && fabs((double)y[i * N + j] - want) < 1e-4;
            sum += want;
        }
        right = right && fabs((double)z[i] - sum) < 1e-3;
    }
    return right;
}

TEST(names_give_the_numbers_for_any_batch) {
    REQUIRE(set_up());
    wick_session *s = NULL;
    CHECK_MSG(wick_session_open(ctx, path, NULL, &s) == WICK_OK, "%s", wick_context_error(ctx));
    REQUIRE(s && wick_session_inputs(s) == 2 && wick_session_outputs(s) == 2);
    const wick_spec x = wick_session_input(s, 0), z = wick_session_output(s, 1);
    CHECK(strcmp(x.name, "x") == 0 && x.dtype == WICK_F32 && x.rank == 2 && x.dims[0] == -1 && x.dims[1] == K);
    CHECK(strcmp(z.name, "z") == 0 && z.rank == 1);
    CHECK(wick_session_input(s, 2).rank == -1 && wick_session_output(s, -1).rank == -1);
    for (int64_t n = 1; n <= 8; n++) CHECK(is_right(s, n, (float)n));
    for (int64_t n = 8; n > 0; n--) CHECK(is_right(s, n, 1));
    wick_session_free(&s);
    CHECK(!s);
    tear_down();
}

TEST(what_does_not_fit_is_named) {
    REQUIRE(set_up());
    wick_session *s = NULL;
    REQUIRE(wick_session_open(ctx, path, NULL, &s) == WICK_OK);
    const float x[K] = {0};
    wick_spec spec;
    CHECK(!wick_session_get(s, "y", &spec) && spec.rank == -1);
    CHECK_STR_HAS(wick_session_error(s), "nothing was run");
    CHECK_INT(wick_session_run(s), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_session_error(s), "input x is not set");
    CHECK_INT(wick_session_set(s, "image", WICK_F32, WICK_DIMS(1, K), x), WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_session_error(s), "no input \"image\"; it has x, row");
    CHECK_INT(wick_session_set(s, "x", WICK_F64, WICK_DIMS(1, K), x), WICK_ERR_DTYPE);
    CHECK_STR_HAS(wick_session_error(s), "input x is f32, not f64");
    CHECK_INT(wick_session_set(s, "x", WICK_F32, WICK_DIMS(K), x), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_session_error(s), "input x has 2 dims, not 1");
    CHECK_INT(wick_session_set(s, "x", WICK_F32, WICK_DIMS(1, 4), x), WICK_ERR_SHAPE);
    CHECK_STR_HAS(wick_session_error(s), "dim 1 of input x is 3, not 4");
    CHECK(is_right(s, 1, 2));
    CHECK(!wick_session_get(s, "logits", NULL));
    CHECK_STR_HAS(wick_session_error(s), "no output \"logits\"; it has y, z");
    CHECK(wick_session_set(s, "x", WICK_F32, 0, NULL, NULL) == WICK_OK); /* takes it back */
    CHECK(wick_session_run(s) == WICK_ERR_INVALID && !wick_session_get(s, "y", NULL));
    wick_session_free(&s);
    CHECK(wick_session_open(ctx, "/nowhere/net.onnx", NULL, &s) != WICK_OK && !s);
    CHECK_STR_HAS(wick_context_error(ctx), "/nowhere/net.onnx");
    wick_session_free(NULL);
    tear_down();
}

enum { THREADS = 4 };
static void *one_thread(void *session) {
    wick_session *s = session;
    long right = 0;
    for (int i = 0; i < 60; i++) right += is_right(s, 1 + i % 7, (float)(i % 5));
    wick_session_free(&s);
    return (void *)right;
}
TEST(forks_run_at_once) {
    REQUIRE(set_up());
    wick_session *s = NULL, *fork[THREADS];
    pthread_t thread[THREADS];
    REQUIRE(wick_session_open(ctx, path, NULL, &s) == WICK_OK);
    for (int i = 0; i < THREADS; i++) REQUIRE(wick_session_fork(s, &fork[i]) == WICK_OK);
    wick_session_free(&s); /* the model stays for the forks */
    for (int i = 0; i < THREADS; i++) REQUIRE(pthread_create(&thread[i], NULL, one_thread, fork[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *right;
        pthread_join(thread[i], &right);
        CHECK_INT((long)right, 60);
    }
    tear_down();
}

static wick_status use_all(void) {
    wick_session *s = NULL, *other = NULL;
    const float x[K] = {1, 2, 3};
    wick_status status = wick_session_open(ctx, path, NULL, &s);
    if (status == WICK_OK) status = wick_session_fork(s, &other);
    if (status == WICK_OK) status = wick_session_set(other, "x", WICK_F32, WICK_DIMS(1, K), x);
    if (status == WICK_OK) status = wick_session_set(other, "row", WICK_F32, WICK_DIMS(N), row);
    if (status == WICK_OK) status = wick_session_run(other);
    wick_session_free(&s);
    wick_session_free(&other);
    return status;
}
TEST(running_out_of_memory_is_an_error_wherever_it_happens) {
    counting c = {.fail_at = -1};
    const wick_allocator allocator = counting_allocator(&c);
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .allocator = &allocator}, &ctx) == WICK_OK &&
            make_file(ctx));
    CHECK(use_all() == WICK_OK);
    const int64_t before = c.calls;
    CHECK(use_all() == WICK_OK);
    const int64_t calls = c.calls - before, live = c.live;
    int failed = 0;
    for (int64_t k = 0; k < calls; k++) {
        c.fail_at = c.calls + k;
        const wick_status status = use_all();
        failed += status == WICK_ERR_NOMEM;
        CHECK_MSG(status == WICK_ERR_NOMEM || status == WICK_OK, "call %lld: %s", (long long)k,
                  wick_status_name(status));
        c.fail_at = -1;
        wick_context_clear_error(ctx);
        CHECK_MSG(c.live <= live + 8, "call %lld: %lld blocks more", (long long)k, (long long)(c.live - live));
    }
    CHECK(failed > 20);
    tear_down();
    CHECK_INT(c.live, 0);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
