/* Profiles: what they count, and that they change nothing. */
#include <pthread.h>

#include "profile/net.h"

/* ---- counts ------------------------------------------------------------------------------------------------------ */

TEST(every_run_and_every_kernel_is_counted) {
    enum { RUNS = 1000 };
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 1));
    CHECK_INT(net_run(&n), WICK_OK); /* packs weights */
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.marks = 64}, &p) == WICK_OK);
    for (int i = 0; i < RUNS; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK_INT(info.runs, RUNS);
    CHECK_INT(info.skipped, 0);
    CHECK_INT(info.lost, 0);
    CHECK_INT(info.run_times.count, RUNS);
    uint64_t steps = 0;
    double seconds = 0;
    const int rows = wick_profile_rows(p, WICK_PROFILE_KERNELS);
    for (int i = 0; i < rows; i++) {
        const wick_profile_row r = wick_profile_row_at(p, WICK_PROFILE_KERNELS, i);
        CHECK_INT(r.time.count, RUNS);
        CHECK(r.time.min <= r.time.median && r.time.median <= r.time.p95 && r.time.p95 <= r.time.p99);
        CHECK(*r.ops && *r.line && *r.bound && r.ceiling > 0);
        steps += r.time.count;
        seconds += r.time.total;
    }
    CHECK(rows >= 3);
    CHECK_INT(info.steps, steps);
    CHECK(fabs(seconds - info.step) < 1e-9 * seconds);
    net_close(&n);
    CHECK_MSG(info.step > 0.95 * info.run && info.step <= info.run, "%g s of steps in %g s of runs", info.step,
              info.run);
    wick_profile_free(&p);
}

/* By another count of the same: the workspace's own. */
TEST(steps_take_the_time_of_the_run_on_one_thread) {
    enum { RUNS = 200 };
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 1));
    CHECK_INT(net_run(&n), WICK_OK);
    REQUIRE(wick_profile_start(n.ctx, NULL, &p) == WICK_OK);
    const uint64_t from = wick_now_ns();
    for (int i = 0; i < RUNS; i++) CHECK_INT(net_run(&n), WICK_OK);
    const double wall = (double)(wick_now_ns() - from) * 1e-9;
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK_MSG(info.step >= 0.95 * wall && info.step <= 1.001 * wall, "%g s of steps in %g s", info.step, wall);
    wick_profile_free(&p);
    net_close(&n);
}

TEST(results_have_the_same_bits) {
    for (int threads = 1; threads <= 2; threads++) {
        net n;
        wick_profile *p = NULL;
        REQUIRE(net_open(&n, threads));
        CHECK_INT(net_run(&n), WICK_OK);
        float *before = malloc(sizeof(float) * ROWS * WIDTH);
        memcpy(before, n.y, sizeof(float) * ROWS * WIDTH);
        memset(n.y, 0, sizeof(float) * ROWS * WIDTH);
        REQUIRE(wick_profile_start(n.ctx, NULL, &p) == WICK_OK);
        CHECK_INT(net_run(&n), WICK_OK);
        CHECK(!memcmp(before, n.y, sizeof(float) * ROWS * WIDTH));
        wick_profile_free(&p);
        free(before);
        net_close(&n);
    }
}

TEST(views_have_all_of_the_time) {
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 1));
    REQUIRE(wick_profile_start(n.ctx, NULL, &p) == WICK_OK);
    for (int i = 0; i < 50; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const double steps = wick_profile_get_info(p).step;
    for (int v = WICK_PROFILE_KERNELS; v <= WICK_PROFILE_LINES; v++) {
        double sum = 0;
        const int rows = wick_profile_rows(p, (wick_profile_view)v);
        for (int i = 0; i < rows; i++) sum += wick_profile_row_at(p, (wick_profile_view)v, i).time.total;
        CHECK_MSG(fabs(sum - steps) <= 1e-3 * steps, "view %d has %g s of %g", v, sum, steps);
    }
    /* three ops are one kernel, whose time is split */
    bool split = false;
    for (int i = 0; i < wick_profile_rows(p, WICK_PROFILE_OPS); i++) {
        const wick_profile_row r = wick_profile_row_at(p, WICK_PROFILE_OPS, i);
        if (strcmp(r.name, "tanh") == 0) split = r.time.total > 0 && r.estimated;
    }
    CHECK(split);
    CHECK_INT(wick_profile_rows(p, (wick_profile_view)7), 0);
    CHECK_STR_HAS(wick_profile_row_at(p, WICK_PROFILE_LINES, 0).name, "net.h:");
    wick_profile_free(&p);
    net_close(&n);
}

TEST(threads_that_share_a_step_are_seen) {
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 2));
    REQUIRE(wick_profile_start(n.ctx, NULL, &p) == WICK_OK);
    for (int i = 0; i < 400; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    bool shared = false;
    const int rows = wick_profile_rows(p, WICK_PROFILE_KERNELS);
    for (int i = 0; i < rows; i++) {
        const wick_profile_row r = wick_profile_row_at(p, WICK_PROFILE_KERNELS, i);
        if (!r.shared) continue;
        shared = true;
        CHECK(r.busy > 0 && r.busy <= 2 * r.time.total * 1.001 && r.tail >= 0);
        CHECK(fabs(r.busy + r.idle - 2 * r.time.total) < 0.01 * r.time.total);
    }
    CHECK(shared);
    CHECK(wick_profile_get_info(p).tracks >= 2);
    /* what threads did since the profile began, and no longer changes */
    wick_worker_stats w[2], before, all;
    CHECK(wick_profile_worker(p, 0, &w[0]) && wick_profile_worker(p, 1, &w[1]) && !wick_profile_worker(p, 2, &all));
    CHECK(w[0].regions >= 400 && w[0].tasks + w[1].tasks >= 800 && w[0].seconds > 0);
    before = w[0];
    CHECK_INT(net_run(&n), WICK_OK);
    CHECK(wick_profile_worker(p, 0, &w[0]) && w[0].tasks == before.tasks);
    CHECK(wick_context_worker(n.ctx, 0, &all) && all.tasks > before.tasks);
    char text[1 << 15];
    REQUIRE(wick_profile_format(p, false, text, sizeof text) < sizeof text);
    CHECK_STR_HAS(text, "threads that shared kernels");
    wick_profile_free(&p);
    net_close(&n);
}

TEST(eval_is_recorded_as_compiled_functions_are) {
    wick_context *ctx = new_context(.threads = 1);
    wick_profile *p = NULL;
    REQUIRE(wick_profile_start(ctx, NULL, &p) == WICK_OK);
    for (int i = 0; i < 10; i++) {
        wick_scope *s = wick_scope_open(ctx);
        double v;
        const int64_t dims[] = {1000};
        CHECK_INT(wick_item(wick_sum(wick_full(ctx, WICK_F32, 1, dims, 2), WICK_ALL_AXES, false), &v), WICK_OK);
        CHECK(v == 2000);
        wick_scope_close(&s);
    }
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK_INT(info.runs, 10);
    CHECK(info.steps >= 10 && info.compile > 0 && info.record > 0);
    wick_profile_free(&p);
    wick_context_free(&ctx);
}

TEST(advice_that_was_tried_replaces_that_of_rules) {
    net n;
    wick_profile *p = NULL;
    wick_profile_finding found[WICK_BOTTLENECKS], again[WICK_BOTTLENECKS];
    REQUIRE(net_open(&n, 1));
    REQUIRE(wick_profile_start(n.ctx, NULL, &p) == WICK_OK);
    for (int i = 0; i < 20; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const int k = wick_profile_findings(p, 1e-6, found);
    REQUIRE(k >= 2);
    char longer[1000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = 0;
    wick_profile_set_advice(p, found[0].kind, "raced: no faster");
    wick_profile_set_advice(p, found[1].kind, longer);
    wick_profile_set_advice(p, (wick_bottleneck)77, "nobody's");
    CHECK_INT(wick_profile_findings(p, 1e-6, again), k);
    CHECK(!strcmp(again[0].advice, "raced: no faster") && !strcmp(again[0].evidence, found[0].evidence));
    CHECK_INT(strlen(again[1].advice), sizeof again[1].advice - 1);
    wick_profile_set_advice(p, found[0].kind, NULL);
    wick_profile_set_advice(p, found[1].kind, NULL);
    CHECK_INT(wick_profile_findings(p, 1e-6, again), k);
    for (int i = 0; i < k; i++) CHECK(!strcmp(again[i].advice, found[i].advice));
    wick_profile_free(&p);
    net_close(&n);
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static uint64_t fake_now, fake_step, fake_state = 1;
static uint64_t fake_clock(void *user) {
    (void)user;
    return fake_now += fake_step;
}
/* 1 us to 1 ms, log-uniform: readings differ by known times */
static uint64_t drawn[200000];
static size_t n_drawn;
static uint64_t drawing_clock(void *user) {
    (void)user;
    fake_state = fake_state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t ns = (uint64_t)(1000 * exp((double)(fake_state >> 40) / (1 << 24) * log(1000)));
    drawn[n_drawn++ % 200000] = ns;
    return fake_now += ns;
}
static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static wick_status record_one(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_exp(in[0]);
    return WICK_OK;
}

TEST(quantiles_are_within_3_percent) {
    enum { RUNS = 20000 };
    wick_context *ctx = new_context(.threads = 1);
    const wick_spec in = {.dtype = WICK_F32, .rank = 1, .dims = {4}};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_profile *p = NULL;
    float x[4] = {0};
    REQUIRE(wick_compile(ctx, record_one, NULL, 1, &in, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    fake_now = 0, n_drawn = 0;
    REQUIRE(wick_profile_start(ctx, &(wick_profile_options){.clock = drawing_clock}, &p) == WICK_OK);
    uint64_t *steps = malloc(RUNS * sizeof *steps);
    for (int i = 0; i < RUNS; i++) {
        const size_t before = n_drawn;
        CHECK_INT(wick_run(ws, (const void *[]){x}, NULL), WICK_OK);
        /* two more of the first one, which lists the plan's kernels */
        steps[i] = drawn[(before + (i ? 1 : 3)) % 200000]; /* readings: the run's begin, the step's end, the run's */
    }
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    REQUIRE(wick_profile_rows(p, WICK_PROFILE_KERNELS) == 1);
    const wick_timing t = wick_profile_row_at(p, WICK_PROFILE_KERNELS, 0).time;
    qsort(steps, RUNS, sizeof *steps, by_number);
    uint64_t sum = 0;
    for (int i = 0; i < RUNS; i++) sum += steps[i];
    CHECK_INT(t.count, RUNS);
    CHECK_INT(llround(t.total * 1e9), sum);
    CHECK_INT(llround(t.min * 1e9), steps[0]);
    CHECK_INT(llround(t.max * 1e9), steps[RUNS - 1]);
    const double exact[] = {(double)steps[RUNS / 2], (double)steps[RUNS * 95 / 100], (double)steps[RUNS * 99 / 100]},
                 found[] = {t.median, t.p95, t.p99};
    for (int i = 0; i < 3; i++)
        CHECK_MSG(fabs(found[i] * 1e9 / exact[i] - 1) < 0.033, "%g instead of %g", found[i] * 1e9, exact[i]);
    free(steps);
    wick_profile_free(&p);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

/* Every so often it goes back by more than a run takes, and once forward by an hour. */
static uint64_t readings;
static uint64_t stepping_clock(void *user) {
    (void)user;
    fake_now += ++readings == 700 ? (uint64_t)3600 * 1000000000 : 10;
    if (readings % 37 == 0) fake_now -= WICK_MIN(fake_now, 100000);
    return fake_now;
}
TEST(a_clock_that_is_set_back_makes_no_time_negative) {
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 1));
    fake_now = 1000000, readings = 0;
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.clock = stepping_clock}, &p) == WICK_OK);
    for (int i = 0; i < 300; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK_INT(info.runs, 300);
    CHECK_INT(info.run_times.count, 300);
    CHECK(readings > 700 && info.run >= 0 && info.run <= 3600 + 1e-8 * (double)readings);
    CHECK(info.step >= 0 && info.step <= 3600 + 1e-8 * (double)readings);
    CHECK(info.run_times.min >= 0 && info.run_times.max <= 3601 && info.self >= 0 && info.self < 3601);
    for (int v = WICK_PROFILE_KERNELS; v <= WICK_PROFILE_LINES; v++)
        for (int i = 0; i < wick_profile_rows(p, (wick_profile_view)v); i++) {
            const wick_timing t = wick_profile_row_at(p, (wick_profile_view)v, i).time;
            CHECK(t.count % 300 == 0 && t.min >= 0 && t.max <= 3601 && t.total >= 0 && t.total <= 3601);
        }
    wick_profile_finding found[WICK_BOTTLENECKS];
    for (int i = 0, k = wick_profile_findings(p, 0, found); i < k; i++)
        CHECK_MSG(found[i].share >= 0 && found[i].share <= 1, "%s: %g", found[i].name, found[i].share);
    wick_profile_free(&p);
    net_close(&n);
}

TEST(overhead_is_bounded_by_leaving_runs_out) {
    net n;
    wick_profile *p = NULL;
    REQUIRE(net_open(&n, 1));
    fake_now = 0, fake_step = 10; /* a reading takes 10 ns; a run about 50 to 100 */
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.overhead = 0.01, .clock = fake_clock}, &p) == WICK_OK);
    for (int i = 0; i < 5000; i++) CHECK_INT(net_run(&n), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK_INT(info.runs + info.skipped, 5000);
    CHECK_MSG(info.runs >= 1 && info.runs < 50, "%llu runs were recorded", (unsigned long long)info.runs);
    CHECK_INT(info.run_times.count, info.runs);
    wick_profile_free(&p);
    net_close(&n);
}

/* ---- the detector ------------------------------------------------------------------------------------------------ */

static wick_status waits(wick_context *ctx, wick_profile *p, uint64_t run, uint64_t other) {
    (void)ctx;
    wick_mark m = {.name = WICK_SPAN_WAIT, .kind = WICK_MARK_SPAN, .begin = 0, .end = other};
    (void)wick_track_put(&p->recorder, wick_recorder_track(&p->recorder), &m);
    fake_now = run;
    return WICK_OK;
}
TEST(a_finding_is_one_from_10_percent_on) {
    for (uint64_t percent = 9; percent <= 10; percent++) {
        wick_context *ctx = new_context(.threads = 1);
        wick_profile *p = NULL;
        wick_profile_finding found[WICK_BOTTLENECKS];
        fake_now = 0, fake_step = 0;
        REQUIRE(wick_profile_start(ctx, &(wick_profile_options){.clock = fake_clock}, &p) == WICK_OK);
        CHECK_INT(waits(ctx, p, 1000000, percent * 10000), WICK_OK);
        CHECK_INT(wick_profile_stop(p), WICK_OK);
        const int n = wick_profile_findings(p, 0, found);
        CHECK_INT(n, percent >= 10);
        if (n) CHECK(found[0].kind == WICK_BOUND_DATA && fabs(found[0].share - 0.1) < 1e-6);
        if (n) CHECK_STR_HAS(found[0].advice, "--workers");
        CHECK_INT(wick_profile_findings(p, 0.05, found), 1);
        wick_profile_free(&p);
        wick_context_free(&ctx);
    }
}

typedef struct bound_case {
    wick_bottleneck kind;
    int64_t n;
} bound_case;
static wick_status record_bound(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const bound_case *c = user;
    out[0] = c->kind == WICK_BOUND_COMPUTE ? wick_matmul(in[0], in[0]) : wick_add(in[0], in[0]);
    return WICK_OK;
}
TEST(programs_get_the_verdict_that_they_were_built_for) {
    static const bound_case cases[] = {{WICK_BOUND_COMPUTE, 512}, {WICK_BOUND_MEMORY, 3000}, {WICK_BOUND_STARTUP, 64}};
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const bound_case *c = &cases[i];
        wick_context *ctx = new_context(.threads = 1);
        const wick_spec in = {.dtype = WICK_F32, .rank = 2, .dims = {c->n, c->n}};
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        wick_profile *p = NULL;
        float *x = wick_buffer_new(ctx, wick_spec_bytes(&in)), *y = wick_buffer_new(ctx, wick_spec_bytes(&in));
        memset(x, 0, wick_spec_bytes(&in));
        if (c->kind == WICK_BOUND_STARTUP) REQUIRE(wick_profile_start(ctx, NULL, &p) == WICK_OK);
        REQUIRE(wick_compile(ctx, record_bound, (void *)(uintptr_t)c, 1, &in, 1, NULL, &plan) == WICK_OK);
        REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
        if (!p) REQUIRE(wick_profile_start(ctx, NULL, &p) == WICK_OK);
        for (int k = 0; k < (c->kind == WICK_BOUND_STARTUP ? 1 : 20); k++)
            CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
        CHECK_INT(wick_profile_stop(p), WICK_OK);
        wick_profile_finding found[WICK_BOTTLENECKS];
        const int n = wick_profile_findings(p, 0, found);
        CHECK_MSG(n >= 1 && found[0].kind == c->kind, "case %zu: %d findings, %s first", i, n,
                  n ? found[0].name : "none");
        if (n) CHECK(*found[0].evidence && *found[0].advice);
        wick_profile_free(&p);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
        wick_buffer_free(ctx, x, wick_spec_bytes(&in));
        wick_buffer_free(ctx, y, wick_spec_bytes(&in));
        wick_context_free(&ctx);
    }
}

/* A host whose second thread never comes: half of what it has is not used. */
static void one_of_two(void *user, void (*fn)(void *arg, int64_t task), void *arg, int64_t tasks) {
    (void)user;
    for (int64_t i = 0; i < tasks; i++) fn(arg, i);
}
TEST(threads_without_work_are_synchronisation) {
    const wick_executor host = {.threads = 2, .parallel = one_of_two};
    wick_context *ctx = new_context(.executor = &host);
    const bound_case c = {WICK_BOUND_COMPUTE, 512};
    const wick_spec in = {.dtype = WICK_F32, .rank = 2, .dims = {c.n, c.n}};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    wick_profile *p = NULL;
    float *x = wick_buffer_new(ctx, wick_spec_bytes(&in));
    memset(x, 0, wick_spec_bytes(&in));
    REQUIRE(wick_compile(ctx, record_bound, (void *)(uintptr_t)&c, 1, &in, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    REQUIRE(wick_profile_start(ctx, NULL, &p) == WICK_OK);
    for (int k = 0; k < 20; k++) CHECK_INT(wick_run(ws, (const void *[]){x}, NULL), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    wick_profile_finding found[WICK_BOTTLENECKS];
    const int n = wick_profile_findings(p, 0, found);
    double sync = 0;
    for (int i = 0; i < n; i++)
        if (found[i].kind == WICK_BOUND_SYNC) {
            sync = found[i].share;
            CHECK_STR_HAS(found[i].advice, "--threads");
        }
    CHECK_MSG(sync > 0.4 && sync < 0.51, "synchronisation is %g of the time", sync);
    wick_profile_free(&p);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_buffer_free(ctx, x, wick_spec_bytes(&in));
    wick_context_free(&ctx);
}

static wick_status slow_get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    (void)user, (void)fault;
    usleep(200);
    if (out[0]) memset(out[0], (int)i, 64 * sizeof(float));
    return WICK_OK;
}
TEST(slow_samples_are_data) {
    wick_context *ctx = new_context(.threads = 1);
    const wick_dataset_source source = {.count = 320,
                                        .n_fields = 1,
                                        .fields = {{.name = "x", .dtype = WICK_F32, .rank = 1, .dims = {64}}},
                                        .get = slow_get};
    wick_dataset *d = NULL;
    wick_loader *l = NULL;
    wick_profile *p = NULL;
    wick_profile_finding found[WICK_BOTTLENECKS];
    REQUIRE(wick_dataset_new(ctx, &source, &d) == WICK_OK);
    REQUIRE(wick_loader_new(ctx, d, &(wick_loader_options){.batch = 32}, &l) == WICK_OK);
    const wick_spec in = {.dtype = WICK_F32, .rank = 1, .dims = {32 * 64}};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    REQUIRE(wick_compile(ctx, record_one, NULL, 1, &in, 1, NULL, &plan) == WICK_OK);
    REQUIRE(wick_workspace_new(plan, &ws) == WICK_OK);
    REQUIRE(wick_profile_start(ctx, NULL, &p) == WICK_OK);
    wick_batch b;
    while (wick_loader_take(l, &b) == WICK_OK && b.count)
        CHECK_INT(wick_run(ws, (const void *[]){b.fields[0]}, NULL), WICK_OK);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const int n = wick_profile_findings(p, 0, found);
    CHECK(n >= 1 && found[0].kind == WICK_BOUND_DATA && found[0].share > 0.5);
    if (n) CHECK_STR_HAS(found[0].evidence, "waited");
    wick_profile_free(&p);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_loader_free(&l);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static void *run_many(void *at) {
    net *n = at;
    wick_workspace *ws = NULL;
    float *y = malloc(sizeof(float) * ROWS * WIDTH);
    if (wick_workspace_new(n->plan, &ws) != WICK_OK) return NULL;
    for (int i = 0; i < 300; i++)
        if (wick_run(ws, (const void *[]){n->x}, (void *[]){y}) != WICK_OK) break;
    wick_workspace_free(&ws);
    free(y);
    return at;
}
TEST(threads_that_run_one_plan_are_all_counted) {
    net n;
    wick_profile *p = NULL;
    pthread_t threads[3];
    REQUIRE(net_open(&n, 2));
    REQUIRE(wick_profile_start(n.ctx, &(wick_profile_options){.timeline = path_of("t.pftrace"), .marks = 64}, &p) ==
            WICK_OK);
    for (int i = 0; i < 3; i++) REQUIRE(!pthread_create(&threads[i], NULL, run_many, &n));
    for (int i = 0; i < 3; i++) {
        void *good = NULL;
        pthread_join(threads[i], &good);
        CHECK(good);
    }
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    CHECK_INT(wick_profile_get_info(p).runs, 900);
    CHECK_INT(wick_profile_get_info(p).run_times.count, 900);
    wick_profile_free(&p);
    net_close(&n);
}
TEST(a_profile_may_end_while_others_run) {
    net n;
    pthread_t thread;
    REQUIRE(net_open(&n, 1));
    REQUIRE(!pthread_create(&thread, NULL, run_many, &n));
    for (int i = 0; i < 20; i++) {
        wick_profile *p = NULL;
        CHECK_INT(wick_profile_start(n.ctx, &(wick_profile_options){.marks = 64}, &p), WICK_OK);
        usleep(500);
        wick_profile_free(&p);
    }
    pthread_join(thread, NULL);
    net_close(&n);
}

TEST(samples_that_a_loader_makes_are_spans) {
    enum { SAMPLES = 640 };
    wick_context *ctx = new_context(.threads = 1);
    static uint8_t pixels[SAMPLES * 64];
    static int64_t labels[SAMPLES];
    const wick_spec fields[2] = {{.name = "x", .dtype = WICK_U8, .rank = 2, .dims = {8, 8}},
                                 {.name = "y", .dtype = WICK_I64, .rank = 0}};
    const void *const data[2] = {pixels, labels};
    wick_dataset *d = NULL;
    wick_loader *l = NULL;
    wick_profile *p = NULL;
    REQUIRE(wick_dataset_of_arrays(ctx, SAMPLES, 2, fields, data, -1, 0, &d) == WICK_OK);
    REQUIRE(wick_loader_new(ctx, d, &(wick_loader_options){.batch = 64, .workers = 2}, &l) == WICK_OK);
    REQUIRE(wick_profile_start(ctx, &(wick_profile_options){.timeline = path_of("l.json")}, &p) == WICK_OK);
    wick_batch b;
    int batches = 0;
    /* while the caller sleeps, workers make what comes next */
    while (wick_loader_take(l, &b) == WICK_OK && b.count) batches++, usleep(5000);
    CHECK_INT(batches, 10);
    wick_loader_free(&l);
    CHECK_INT(wick_profile_stop(p), WICK_OK);
    const wick_profile_info info = wick_profile_get_info(p);
    CHECK(info.wait > 0 && info.make > 0);
    CHECK_INT(p->spans[WICK_SPAN_WAIT].count, batches + 1);
    CHECK(p->spans[WICK_SPAN_MAKE].count >= 10 && p->spans[WICK_SPAN_GET].count >= 2);
    size_t size;
    char *text = read_all(path_of("l.json"), &size);
    REQUIRE(text);
    CHECK_STR_HAS(text, "wick-load-");
    free(text);
    wick_profile_free(&p);
    wick_dataset_free(&d);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return run_in_folder(argc, argv); }
