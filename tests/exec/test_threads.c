/* Plans are shared: many threads run one, each in its workspace; states are taken exclusively or the answer is BUSY. */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "exec/mlp.h"

enum { THREADS = 4, RUNS = 100 };

typedef struct job {
    wick_plan *plan;
    const void *const *in;
    float result;
    int good, busy, other, index;
} job;

static void *run_many(void *arg) {
    job *j = arg;
    wick_workspace *ws = NULL;
    if (wick_workspace_new(j->plan, &ws) != WICK_OK) return NULL;
    for (int i = 0; i < RUNS; i++) {
        float y;
        wick_status status = wick_run(ws, j->in, (void *[]){&y});
        if (status == WICK_OK) {
            if (j->good && y != j->result) j->other++;
            j->result = y;
            j->good++;
        } else if (status == WICK_ERR_BUSY && strstr(wick_workspace_error(ws), "in use"))
            j->busy++;
        else
            j->other++;
    }
    wick_workspace_free(&ws);
    return NULL;
}

static wick_status loss_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = mlp_loss(user, in[0], in[1]);
    return WICK_OK;
}

TEST(many_threads_run_one_plan_each_in_its_workspace) {
    wick_context *ctx = context();
    mlp net;
    mlp_init(&net, ctx, 0);
    wick_plan *plan = NULL;
    CHECK_OK(ctx, wick_compile(ctx, loss_body, &net, 2, mlp_specs, 1, NULL, &plan));
    REQUIRE(plan != NULL);
    static float x[THREADS][MLP_BATCH * MLP_IN];
    static int64_t labels[THREADS][MLP_BATCH];
    job jobs[THREADS];
    pthread_t threads[THREADS];
    const void *in[THREADS][2];
    for (int t = 0; t < THREADS; t++) {
        mlp_batch(t, x[t], labels[t]);
        in[t][0] = x[t], in[t][1] = labels[t];
        jobs[t] = (job){.plan = plan, .in = in[t]};
        REQUIRE(pthread_create(&threads[t], NULL, run_many, &jobs[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        CHECK_INT(jobs[t].good, RUNS);
        CHECK_INT(jobs[t].other, 0);
        double want = item(mlp_loss(&net, wick_from(ctx, WICK_F32, 2, mlp_specs[0].dims, x[t]),
                                    wick_from(ctx, WICK_I64, 1, mlp_specs[1].dims, labels[t])));
        CHECK((double)jobs[t].result == want);
    }
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* Threads that train the same weights: each run is whole or refused, and the number of steps taken says so. */
TEST(a_plan_that_assigns_takes_its_state_alone_or_answers_busy) {
    wick_context *ctx = context();
    mlp net;
    mlp_init(&net, ctx, 0);
    wick_plan *plan = NULL;
    CHECK_OK(ctx, mlp_compile(&net, ctx, NULL, &plan));
    REQUIRE(plan != NULL);
    float x[MLP_BATCH * MLP_IN];
    int64_t labels[MLP_BATCH];
    mlp_batch(0, x, labels);
    const void *in[] = {x, labels};
    job jobs[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++) {
        jobs[t] = (job){.plan = plan, .in = in};
        REQUIRE(pthread_create(&threads[t], NULL, run_many, &jobs[t]) == 0);
    }
    int good = 0;
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        good += jobs[t].good;
        CHECK_INT(jobs[t].good + jobs[t].busy, RUNS);
    }
    CHECK(good >= 1);
    CHECK(item(net.t) == good);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* ---- BUSY, seen from inside of a run ----------------------------------------------------------------------------- */

typedef struct inside {
    wick_context *ctx;
    wick_tensor *state;
    wick_workspace *other;
    wick_status run, write, eval;
    int calls;
} inside;

static void try_from_inside(void *user, wick_dtype dtype, int rank, const int64_t *dims, const void *data) {
    (void)dtype, (void)rank, (void)dims, (void)data;
    inside *i = user;
    if (i->calls++) return;
    i->run = wick_run(i->other, NULL, NULL);
    i->write = wick_write(i->state, (float[]){0, 0}, 8);
    i->eval = wick_eval(i->ctx, 0, NULL, NULL);
}
static wick_status double_it(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in, (void)out;
    inside *i = user;
    wick_status status = wick_tap(i->state, try_from_inside, i);
    return status ? status : wick_assign(i->state, wick_add(i->state, i->state));
}
static wick_status read_it(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = wick_neg(((inside *)user)->state);
    return WICK_OK;
}

TEST(a_state_that_a_run_assigns_is_busy_for_others) {
    wick_context *ctx = context();
    inside i = {.ctx = ctx, .state = VEC(ctx, 1, 2)};
    wick_plan *writer = NULL, *reader = NULL;
    CHECK_OK(ctx, wick_compile(ctx, double_it, &i, 0, NULL, 0, NULL, &writer));
    CHECK_OK(ctx, wick_compile(ctx, read_it, &i, 0, NULL, 1, NULL, &reader));
    REQUIRE(writer && reader);
    wick_workspace *ws = NULL;
    REQUIRE(wick_workspace_new(writer, &ws) == WICK_OK && wick_workspace_new(reader, &i.other) == WICK_OK);
    CHECK_INT(wick_run(ws, NULL, NULL), WICK_OK);
    CHECK_INT(i.run, WICK_ERR_BUSY);
    CHECK_INT(i.write, WICK_ERR_BUSY);
    CHECK_INT(i.eval, WICK_OK); /* nothing to do */
    CHECK_STR_HAS(wick_workspace_error(i.other), "in use");
    CHECK_VALUES(i.state, 2, 4);
    CHECK_INT(wick_run(i.other, NULL, NULL), WICK_OK); /* and free again after it */
    wick_workspace_free(&ws);
    wick_workspace_free(&i.other);
    wick_plan_free(&writer);
    wick_plan_free(&reader);
    wick_context_free(&ctx);
}

/* One thread serves, the context's own thread goes on training what is served. */
typedef struct server {
    wick_workspace *ws;
    _Atomic bool stop;
    int good, busy, other, torn;
    double last;
} server;
static void *serve(void *arg) {
    server *s = arg;
    while (!atomic_load(&s->stop)) {
        float y[512];
        wick_status status = wick_run(s->ws, NULL, (void *[]){y});
        if (status == WICK_OK) {
            for (int i = 1; i < 512; i++) s->torn += y[i] != y[0];
            s->torn += y[0] < s->last;
            s->last = y[0];
        }
        s->good += status == WICK_OK;
        s->busy += status == WICK_ERR_BUSY;
        s->other += status != WICK_OK && status != WICK_ERR_BUSY;
    }
    return NULL;
}
static wick_status show_state(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    out[0] = wick_add(user, wick_like(user, 0));
    return WICK_OK;
}
static wick_status raise_state(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in, (void)out;
    return wick_assign(user, wick_add(user, wick_like(user, 1)));
}

TEST(a_served_state_is_seen_whole_while_another_plan_assigns_it) {
    wick_context *ctx = context();
    wick_tensor *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(512));
    wick_plan *reader = NULL, *writer = NULL;
    CHECK_OK(ctx, wick_compile(ctx, show_state, w, 0, NULL, 1, NULL, &reader));
    CHECK_OK(ctx, wick_compile(ctx, raise_state, w, 0, NULL, 0, NULL, &writer));
    server s = {.last = 0};
    wick_workspace *ws = NULL;
    REQUIRE(reader && writer && wick_workspace_new(reader, &s.ws) == WICK_OK &&
            wick_workspace_new(writer, &ws) == WICK_OK);
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, serve, &s) == 0);
    int done = 0, others = 0;
    for (int i = 0; i < 20000 && done < 200; i++) {
        wick_status status = wick_run(ws, NULL, NULL);
        done += status == WICK_OK;
        others += status != WICK_OK && status != WICK_ERR_BUSY;
        if (i % 50 == 0) usleep(50);
    }
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
    CHECK_INT(s.torn, 0);
    CHECK_INT(s.other + others, 0);
    CHECK(item(wick_max(w, WICK_ALL_AXES, false)) == done);
    wick_workspace_free(&s.ws);
    wick_workspace_free(&ws);
    wick_plan_free(&reader);
    wick_plan_free(&writer);
    wick_context_free(&ctx);
}

/* ---- stopping a run ---------------------------------------------------------------------------------------------- */

static wick_status long_body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)in;
    wick_tensor *s = user, *y = s;
    for (int i = 0; i < 400; i++) y = wick_matmul(wick_tanh(y), s);
    wick_status status = wick_assign(s, y);
    out[0] = y;
    return status;
}
static void *cancel_soon(void *arg) {
    usleep(2000);
    wick_workspace_cancel(arg);
    return NULL;
}

TEST(a_run_stops_when_cancelled_or_late_and_commits_nothing) {
    wick_context *ctx = context();
    wick_tensor *s = wick_full(ctx, WICK_F32, WICK_DIMS(150, 150), 0.01);
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, long_body, s, 0, NULL, 1, NULL, &plan));
    REQUIRE(plan && wick_workspace_new(plan, &ws) == WICK_OK);
    wick_workspace_cancel(ws); /* before: the next run stops */
    CHECK_INT(wick_run(ws, NULL, NULL), WICK_ERR_CANCELLED);
    CHECK_STR_HAS(wick_workspace_error(ws), "cancelled");
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, cancel_soon, ws) == 0); /* during */
    wick_status status = wick_run(ws, NULL, NULL);
    pthread_join(thread, NULL);
    if (status == WICK_OK) status = wick_run(ws, NULL, NULL); /* it was faster than the other thread */
    CHECK_INT(status, WICK_ERR_CANCELLED);
    wick_workspace_deadline(ws, 1000);
    CHECK_INT(wick_run(ws, NULL, NULL), WICK_ERR_DEADLINE);
    CHECK_STR_HAS(wick_workspace_error(ws), "deadline");
    CHECK_INT(wick_run(ws, NULL, NULL), WICK_ERR_DEADLINE); /* each of the next runs */
    wick_workspace_deadline(ws, 0);
    CHECK(wick_workspace_offset(ws) <= 1);
    if (wick_workspace_offset(ws) == 0) CHECK(item(wick_max(s, WICK_ALL_AXES, false)) == (double)0.01f);
    CHECK_INT(wick_run(ws, NULL, NULL), WICK_OK);
    CHECK_STR_HAS(wick_workspace_error(ws), "");
    CHECK_INT(strlen(wick_workspace_error(ws)), 0);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* ---- a host's executor ------------------------------------------------------------------------------------------- */

typedef struct host {
    long regions, tasks;
} host;
static void host_parallel(void *user, void (*fn)(void *arg, int64_t task), void *arg, int64_t tasks) {
    host *h = user;
    h->regions++;
    h->tasks += tasks;
    for (int64_t i = tasks; i-- > 0;) fn(arg, i); /* backwards: no order is promised */
}

TEST(a_hosts_executor_runs_the_tasks_and_gives_the_same_bits) {
    host h = {0};
    wick_executor executor = {&h, 3, host_parallel};
    float results[2][4];
    for (int hosted = 0; hosted < 2; hosted++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .executor = hosted ? &executor : NULL});
        CHECK_INT(wick_context_threads(ctx), hosted ? 3 : 1);
        wick_tensor *x = wick_reshape(wick_arange(ctx, WICK_F32, 0, 0.001, 256 * 256), WICK_DIMS(256, 256));
        wick_tensor *y = wick_softmax(wick_tanh(wick_matmul(x, wick_transpose(x, 0, 1))), 1);
        CHECK_OK(ctx, wick_read(wick_slice(wick_sum(wick_mul(y, x), WICK_AXES(0), false), 0, 0, 4, 1), results[hosted],
                                sizeof results[0]));
        wick_context_free(&ctx);
    }
    CHECK(h.regions > 0 && h.tasks > h.regions);
    CHECK(!memcmp(results[0], results[1], sizeof results[0]));
}

/* The host cancels while the one kernel of a plan runs: its tasks that did not begin don't, and the next run is whole.
 */
static wick_workspace *to_cancel;
static void cancelling_parallel(void *user, void (*fn)(void *arg, int64_t task), void *arg, int64_t tasks) {
    (void)user;
    if (to_cancel) wick_workspace_cancel(to_cancel);
    for (int64_t i = 0; i < tasks; i++) fn(arg, i);
}
static wick_status one_kernel(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_exp(in[0]);
    return WICK_OK;
}
TEST(a_kernel_is_cancelled_between_its_tasks) {
    enum { N = 1 << 20 };
    const wick_executor executor = {NULL, 2, cancelling_parallel};
    wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .executor = &executor});
    float *x = calloc(N, sizeof *x), *y = calloc(N, sizeof *y);
    wick_plan *plan;
    const wick_spec spec = {"x", WICK_F32, 1, {N}};
    REQUIRE(x && y && wick_compile(ctx, one_kernel, NULL, 1, &spec, 1, NULL, &plan) == WICK_OK);
    CHECK_INT(wick_plan_get_info(plan).kernels, 1);
    wick_workspace *ws;
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    to_cancel = ws;
    CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){y}), WICK_ERR_CANCELLED);
    CHECK(y[0] == 0 && y[N - 1] == 0);
    to_cancel = NULL;
    CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
    CHECK(y[0] == 1 && y[N - 1] == 1);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    free(x), free(y);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
