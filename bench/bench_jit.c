/* bench_jit: chains of 10 elementwise ops with machine code and without, in turn in one process, on CPU time of one thread; and how long a plan takes to be made.
 * Columns: the chain, elements, microseconds a run without and with, their ratio; under `callgrind` (an argument) one run of each, for valgrind --toggle-collect=wick_run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wick/wick.h>

static double cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static const struct {
    const char *name, *expression;
} chains[] = {
    {"arithmetic", "relu(((x + 1.5) * 0.5 - x) * x + 0.25) * 3 - abs(x) * x"},
    {"two arrays", "(((x + y) * 0.5 - x) * y + x) * (x - y) + y * 2 - x"},
    {"with tanh", "tanh(((x + 1.5) * 0.5 - x) * x + 0.25) * 3 - abs(x) * x"},
    {"with erf", "erf(((x + 1.5) * 0.5 - x) * x + 0.25) * 3 - abs(x) * x"},
    {"sum of squares", "square((x - y) * 0.5 + relu(x) * y) * 2 + abs(x - 1) - y * 3"},
};
typedef struct side {
    wick_context *ctx;
    wick_kernel *kernel;
    wick_plan *plan;
    wick_workspace *ws;
} side;
static int make(side *s, wick_jit_mode mode, const char *expression, int64_t n) {
    const wick_spec in[2] = {{.dtype = WICK_F32, .rank = 1, .dims = {n}}, {.dtype = WICK_F32, .rank = 1, .dims = {n}}};
    if (wick_context_new(&s->ctx, &(wick_context_options){.threads = 1, .jit = mode})) return 1;
    if (wick_kernel_from_expr(s->ctx, expression, &s->kernel) || wick_kernel_compile(s->kernel, wick_kernel_inputs(s->kernel), in, NULL, &s->plan) || wick_workspace_new(s->plan, &s->ws))
        return fprintf(stderr, "%s\n", wick_context_error(s->ctx)), 1;
    return 0;
}
static void drop(side *s) {
    wick_workspace_free(&s->ws);
    wick_plan_free(&s->plan);
    wick_kernel_free(&s->kernel);
    wick_context_free(&s->ctx);
}
static double run(side *s, const float *x, const float *y, float *out, int times) {
    const double start = cpu();
    for (int i = 0; i < times; i++)
        if (wick_run(s->ws, (const void *[]){x, y}, (void *[]){out})) return -1;
    return (cpu() - start) / times;
}

int main(int argc, char **argv) {
    const int once = argc > 1 && !strcmp(argv[1], "callgrind");
    static const int64_t sizes[] = {1024, 65536, 16777216};
    printf("%-16s %10s %12s %12s %7s\n", "chain", "elements", "without us", "with us", "ratio");
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes - (size_t)once; k++) {
            const int64_t n = sizes[k];
            float *x = malloc((size_t)n * 4), *y = malloc((size_t)n * 4), *out = malloc((size_t)n * 4);
            side s[2];
            if (!x || !y || !out || make(&s[0], WICK_JIT_OFF, chains[c].expression, n) || make(&s[1], WICK_JIT_WAIT, chains[c].expression, n)) return 1;
            for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 977) / 300 - 1.5f, y[i] = (float)(i % 613) / 200 - 1.5f;
            double best[2] = {1e9, 1e9};
            const int times = once ? 1 : (int)(n < 100000 ? 20000000 / n : 1);
            for (int round = 0; round < (once ? 1 : 9); round++)
                for (int m = 0; m < 2; m++) {
                    const double t = run(&s[m], x, y, out, times);
                    if (t < best[m]) best[m] = t;
                }
            printf("%-16s %10lld %12.2f %12.2f %7.2f\n", chains[c].name, (long long)n, best[0] * 1e6, best[1] * 1e6, best[0] / best[1]);
            fflush(stdout);
            drop(&s[0]), drop(&s[1]);
            free(x), free(y), free(out);
        }
    return 0;
}
