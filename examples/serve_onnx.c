/* Serves an ONNX model from C: many threads, one plan, a workspace each. Inputs and outputs are buffers of the
 * program's own, which the plan reads and writes in place; a request allocates nothing.
 *
 *     serve_onnx MODEL.onnx [THREADS [REQUESTS]]
 *
 * Requests are random numbers (bytes and whole numbers: 0 and 1). What each is to give is computed before, by one
 * thread; any other bit is an error. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wick/wick.h>

enum { PORTS = 16, KINDS = 8 /* different requests */, MOST_THREADS = 256 };

static wick_plan *plan;
static wick_spec in[PORTS], out[PORTS];
static int n_in, n_out;
static void *requests[KINDS][PORTS], *answers[KINDS][PORTS];
static atomic_long next;
static long total;
static double *seconds; /* of each request */

typedef struct server {
    pthread_t thread;
    long served, wrong;
    char error[256];
} server;

static double now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Takes requests until there are no more. */
static void *serve(void *user) {
    server *s = user;
    wick_workspace *ws = NULL;
    void *y[PORTS] = {0};
    if (wick_workspace_new(plan, &ws)) return snprintf(s->error, sizeof s->error, "no workspace"), NULL;
    for (int i = 0; i < n_out; i++) y[i] = malloc(wick_spec_bytes(&out[i]) + 1);
    for (long k; !s->error[0] && (k = next++) < total; s->served++) {
        const double began = now();
        if (wick_run(ws, (const void *const *)requests[k % KINDS], y))
            snprintf(s->error, sizeof s->error, "%s", wick_workspace_error(ws));
        seconds[k] = now() - began;
        for (int i = 0; i < n_out; i++) s->wrong += memcmp(y[i], answers[k % KINDS][i], wick_spec_bytes(&out[i])) != 0;
    }
    for (int i = 0; i < n_out; i++) free(y[i]);
    wick_workspace_free(&ws);
    return NULL;
}

static void fill(void *data, const wick_spec *s, unsigned *seed) {
    unsigned char *bytes = data;
    float *floats = data;
    const size_t size = wick_spec_bytes(s), each = wick_dtype_size(s->dtype);
    for (size_t i = 0; i < size / (each ? each : 1); i++) {
        *seed = *seed * 1664525u + 1013904223u;
        if (s->dtype == WICK_F32) floats[i] = (float)(*seed >> 8) / 16777216.0f;
        else bytes[i * each] = *seed >> 31; /* 0 or 1, whatever the integer; the rest is zeros */
    }
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv) {
    const long n_threads = argc > 2 ? atol(argv[2]) : 4;
    wick_context *ctx = NULL;
    wick_onnx *model = NULL;
    wick_workspace *ws = NULL;
    static server servers[MOST_THREADS];
    total = argc > 3 ? atol(argv[3]) : 1000;
    if (argc < 2 || n_threads < 1 || n_threads > MOST_THREADS || total < 1)
        return printf("usage: serve_onnx MODEL.onnx [THREADS [REQUESTS]]\n"), 1;

    /* Requests are what runs side by side, so each is computed by one thread. */
    bool good =
        !wick_context_new(&(wick_context_options){.threads = 1}, &ctx) && !wick_onnx_open(ctx, argv[1], NULL, &model);
    n_in = good ? wick_onnx_inputs(model) : 0, n_out = good ? wick_onnx_outputs(model) : 0;
    good = good && n_in <= PORTS && n_out <= PORTS && (seconds = calloc((size_t)total, sizeof *seconds));
    for (int i = 0; good && i < n_in; i++) in[i] = wick_onnx_input_spec(model, i);
    good = good && !wick_onnx_compile(model, in, NULL, &plan) && !wick_workspace_new(plan, &ws);
    for (int i = 0; good && i < n_out; i++) out[i] = wick_plan_output(plan, i);
    unsigned seed = 1;
    for (int k = 0; good && k < KINDS; k++) {
        for (int i = 0; good && i < n_in; i++)
            if ((good = (requests[k][i] = calloc(1, wick_spec_bytes(&in[i]) + 1)) != NULL))
                fill(requests[k][i], &in[i], &seed);
        for (int i = 0; good && i < n_out; i++)
            good = (answers[k][i] = calloc(1, wick_spec_bytes(&out[i]) + 1)) != NULL;
        good = good && !wick_run(ws, (const void *const *)requests[k], answers[k]);
    }
    if (!good)
        printf("failed: %s\n", ws && *wick_workspace_error(ws) ? wick_workspace_error(ws)
                               : ctx                           ? wick_context_error(ctx)
                                                               : "no context");

    long started = 0, served = 0, wrong = 0;
    const double began = now();
    while (good && started < n_threads && !pthread_create(&servers[started].thread, NULL, serve, &servers[started]))
        started++;
    for (long i = 0; i < started; i++) {
        pthread_join(servers[i].thread, NULL);
        served += servers[i].served, wrong += servers[i].wrong;
        if (servers[i].error[0]) good = false, printf("failed: %s\n", servers[i].error);
    }
    const double took = now() - began;
    if (good) {
        qsort(seconds, (size_t)total, sizeof *seconds, by_value);
        printf("%ld requests on %ld threads: %.1f a second, p50 %.3f ms, p95 %.3f ms, %s\n", served, started,
               (double)served / took, 1e3 * seconds[total / 2], 1e3 * seconds[total * 95 / 100],
               wrong ? "WRONG" : "all equal to those of one thread");
        good = !wrong && served == total;
    }
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < PORTS; i++) free(requests[k][i]), free(answers[k][i]);
    free(seconds);
    wick_workspace_free(&ws), wick_plan_free(&plan), wick_onnx_free(&model), wick_context_free(&ctx);
    return !good;
}
