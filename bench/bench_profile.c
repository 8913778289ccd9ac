/* bench_profile.c: what watching costs. Usage: bench_profile [rounds [spans]]
 *
 *   runs     of six products of 4 x 4, by a context that isn't watched, one whose profile records every run, and one
 *            whose profile may take half a percent (.overhead = 0.005), in turn
 *   tracker  a step that is recorded anew each time (a network of two layers: forward, gradients, update), by a context
 *            with track_memory and one without, in turn, for three widths
 *   spans    so many runs and kernels go through a ring of 65,536 marks (3.7 MB) into a timeline of at most half of
 *            them: what the process grew by, and what was dropped
 *
 * Ratios are medians over rounds of the pairs' ratios; with them the quarters below and above. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "wick/memory.h"
#include "wick/profile.h"
#include "wick/wick.h"

enum { MOST_ROUNDS = 2001, PRODUCTS = 6, SIDE = 4, RUNS = 4000, STEPS = 200, MOST_WIDTH = 64 };
static double ratios[MOST_ROUNDS];
static int rounds = 301;

/* ns of CPU of this thread, which is all that runs: other programs beside it take none of them */
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(wick_context *ctx, wick_status status) {
    if (status == WICK_OK) return;
    fprintf(stderr, "%s: %s\n", wick_status_name(status), wick_context_error(ctx));
    exit(1);
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static void show(const char *what, double ns) {
    qsort(ratios, (size_t)rounds, sizeof *ratios, by_value);
    printf("%-28s %8.3f us  %.4f times  (%.4f to %.4f)\n", what, ns * 1e-3, ratios[rounds / 2], ratios[rounds / 4],
           ratios[3 * rounds / 4]);
    fflush(stdout);
}

/* ---- runs of a plan ---------------------------------------------------------------------------------------------- */

typedef struct runner {
    wick_context *ctx;
    wick_plan *plan;
    wick_workspace *ws;
} runner;

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = in[0];
    for (int i = 0; i < PRODUCTS; i++) out[0] = wick_matmul(out[0], in[0]);
    return WICK_OK;
}
static void runner_open(runner *r) {
    if (wick_context_new(&(wick_context_options){.threads = 1}, &r->ctx) != WICK_OK) exit(1);
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {SIDE, SIDE}};
    fail(r->ctx, wick_compile(r->ctx, record, NULL, 1, &in, 1, NULL, &r->plan));
    fail(r->ctx, wick_workspace_new(r->plan, &r->ws));
}
static void runner_close(runner *r) {
    wick_workspace_free(&r->ws);
    wick_plan_free(&r->plan);
    wick_context_free(&r->ctx);
}
/* ns of one of n runs */
static double runner_time(runner *r, int n) {
    static const float x[SIDE * SIDE] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static float y[SIDE * SIDE];
    const double from = now();
    for (int i = 0; i < n; i++) fail(r->ctx, wick_run(r->ws, (const void *[]){x}, (void *[]){y}));
    return (now() - from) / n;
}

static void bench_runs(void) {
    static const double overheads[] = {0.005, 0};
    for (int k = 0; k < 2; k++) {
        runner plain, watched;
        wick_profile *p = NULL;
        runner_open(&plain), runner_open(&watched);
        fail(watched.ctx, wick_profile_start(watched.ctx, &(wick_profile_options){.overhead = overheads[k]}, &p));
        runner_time(&plain, RUNS), runner_time(&watched, RUNS);
        double ns = 0;
        for (int i = 0; i < rounds; i++) { /* who is first takes turns */
            const double first = runner_time(i & 1 ? &watched : &plain, RUNS),
                         second = runner_time(i & 1 ? &plain : &watched, RUNS);
            ratios[i] = i & 1 ? first / second : second / first;
            ns = WICK_MIN(i ? ns : 1e18, WICK_MIN(first, second));
        }
        fail(watched.ctx, wick_profile_stop(p));
        show(k ? "run, all recorded" : "run, at most 0.5 %", ns);
        wick_profile_free(&p);
        runner_close(&plain), runner_close(&watched);
    }
}

/* ---- the tracker ------------------------------------------------------------------------------------------------- */

typedef struct recorder {
    wick_context *ctx;
    wick_tensor *x, *w1, *w2;
} recorder;

static void recorder_open(recorder *r, int64_t width, bool track) {
    if (wick_context_new(&(wick_context_options){.threads = 1, .seed = 1, .track_memory = track}, &r->ctx)) exit(1);
    static float numbers[MOST_WIDTH * MOST_WIDTH];
    for (int i = 0; i < MOST_WIDTH * MOST_WIDTH; i++) numbers[i] = (float)(i % 17 - 8) * 0.01f;
    r->x = wick_from(r->ctx, WICK_F32, WICK_DIMS(width, width), numbers);
    r->w1 = wick_from(r->ctx, WICK_F32, WICK_DIMS(width, width), numbers);
    r->w2 = wick_from(r->ctx, WICK_F32, WICK_DIMS(width, width), numbers);
}
static double recorder_time(recorder *r, int n) {
    const double from = now();
    for (int i = 0; i < n; i++) {
        wick_scope *scope = wick_scope_open(r->ctx);
        wick_tensor *w[] = {r->w1, r->w2}, *g[2];
        wick_tensor *loss =
            wick_mean(wick_square(wick_matmul(wick_relu(wick_matmul(r->x, r->w1)), r->w2)), WICK_ALL_AXES, false);
        wick_grad(loss, 2, w, g);
        for (int k = 0; k < 2; k++)
            fail(r->ctx, wick_assign(w[k], wick_sub(w[k], wick_mul(g[k], wick_like(g[k], 1e-6)))));
        fail(r->ctx, wick_eval(r->ctx, 3, (wick_tensor *[]){loss, r->w1, r->w2}, NULL));
        wick_scope_close(&scope);
    }
    return (now() - from) / n;
}

static void bench_tracker(void) {
    static const int64_t widths[] = {4, 32, MOST_WIDTH};
    for (int k = 0; k < 3; k++) {
        recorder plain, tracked;
        recorder_open(&plain, widths[k], false), recorder_open(&tracked, widths[k], true);
        recorder_time(&plain, STEPS), recorder_time(&tracked, STEPS);
        double ns = 0;
        for (int i = 0; i < rounds; i++) {
            const double first = recorder_time(i & 1 ? &tracked : &plain, STEPS),
                         second = recorder_time(i & 1 ? &plain : &tracked, STEPS);
            ratios[i] = i & 1 ? first / second : second / first;
            ns = WICK_MIN(i ? ns : 1e18, WICK_MIN(first, second));
        }
        char name[64];
        snprintf(name, sizeof name, "step of width %lld, tracked", (long long)widths[k]);
        show(name, ns);
        wick_context_free(&plain.ctx), wick_context_free(&tracked.ctx);
    }
}

/* ---- many spans -------------------------------------------------------------------------------------------------- */

static size_t resident(void) {
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*s %zu", &pages) != 1) pages = 0;
    if (f) fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void bench_spans(long spans) {
    char path[] = "/tmp/bench_profile-XXXXXX.pftrace";
    const int file = mkstemps(path, 8);
    if (file < 0) return;
    close(file);
    remove(path);
    runner r;
    wick_profile *p = NULL;
    runner_open(&r);
    runner_time(&r, 100);
    const size_t before = resident();
    fail(r.ctx,
         wick_profile_start(
             r.ctx, &(wick_profile_options){.timeline = path, .marks = 65536, .timeline_bytes = (size_t)spans * 16},
             &p));
    size_t most = 0;
    const long runs = spans / (PRODUCTS + 1);
    for (long i = 0; i < runs; i += RUNS) {
        runner_time(&r, (int)WICK_MIN(runs - i, RUNS));
        const size_t now = resident();
        most = WICK_MAX(most, now > before ? now - before : 0);
    }
    fail(r.ctx, wick_profile_stop(p));
    const wick_profile_info info = wick_profile_get_info(p);
    FILE *f = fopen(path, "rb");
    long size = 0;
    if (f && fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    if (f) fclose(f);
    printf("%llu runs, %llu kernels: %llu spans in a file of %.4g MB, %.3g bytes each, %llu dropped and counted; the "
           "process grew by %.3g MB\n",
           (unsigned long long)info.runs, (unsigned long long)info.steps, (unsigned long long)info.spans,
           (double)size * 1e-6, (double)size / (double)info.spans, (unsigned long long)info.dropped,
           (double)most * 1e-6);
    wick_profile_free(&p);
    runner_close(&r);
    remove(path);
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? atoi(argv[1]) : rounds;
    const long spans = argc > 2 ? atol(argv[2]) : 10000000;
    if (rounds < 1 || rounds > MOST_ROUNDS || spans < 1) return fprintf(stderr, "rounds: 1 to %d\n", MOST_ROUNDS), 1;
    bench_runs();
    bench_tracker();
    bench_spans(spans);
    return 0;
}
