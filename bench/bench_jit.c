/* bench_jit: chains of 10 elementwise ops, and programs that end in a reduction, with machine code and without, in turn
 * in one process, on CPU time of one thread. Columns: the program, elements, microseconds a run without and with, their
 * ratio; under `callgrind` (an argument) one run of each, for valgrind --toggle-collect=wick_run; `sums` or `chains`
 * (an argument): those alone. */
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

/* Reductions of x, y, z [rows, cols], a number of each row m [rows, 1] and a vector v [cols], over the last dim, the
 * first, or all. */
static wick_tensor *square_of_product(wick_tensor *const *t) {
    return wick_square(wick_add(wick_mul(t[0], t[1]), t[2]));
}
static wick_tensor *product(wick_tensor *const *t) { return wick_mul(t[0], t[1]); }
static wick_tensor *gelu(wick_tensor *const *t) { return wick_gelu(t[0]); }
static wick_tensor *tanh_times(wick_tensor *const *t) { return wick_mul(wick_tanh(t[0]), t[1]); }
static wick_tensor *erf_times(wick_tensor *const *t) { return wick_mul(wick_erf(t[0]), t[1]); }
static wick_tensor *centred_square(wick_tensor *const *t) { return wick_square(wick_sub(t[0], t[3])); }
static wick_tensor *norm_gradient(wick_tensor *const *t) {
    return wick_mul(wick_mul(t[1], wick_sub(t[0], t[3])), t[3]);
}
static wick_tensor *scaled(wick_tensor *const *t) { return wick_mul(wick_mul(t[0], t[4]), t[1]); }
static wick_tensor *distance(wick_tensor *const *t) { return wick_abs(wick_sub(t[0], t[1])); }
enum { SUM, MEAN, MAX };
static const struct sum {
    const char *name;
    wick_tensor *(*of)(wick_tensor *const *t);
    int end;
} sums[] = {
    {"sum (x*y+z)^2", square_of_product, SUM}, {"sum x*y", product, SUM},        {"mean gelu(x)", gelu, MEAN},
    {"sum tanh(x)*y", tanh_times, SUM},        {"sum erf(x)*y", erf_times, SUM}, {"mean (x-m)^2", centred_square, MEAN},
    {"sum y*(x-m)*m", norm_gradient, SUM},     {"sum x*v*y", scaled, SUM},       {"max |x-y|", distance, MAX}};
typedef struct sum_of {
    const struct sum *sum;
    int axis; /* -1: all */
} sum_of;
static char note[256]; /* what the JIT said */
static void on_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)user, (void)node, (void)place;
    if (!strcmp(pass, "jit")) snprintf(note, sizeof note, "%s", text);
}
static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const sum_of *s = user;
    wick_tensor *value = s->sum->of(in);
    const int n = s->axis >= 0;
    out[0] = s->sum->end == SUM    ? wick_sum(value, n, &s->axis, false)
             : s->sum->end == MEAN ? wick_mean(value, n, &s->axis, false)
                                   : wick_max(value, n, &s->axis, false);
    return WICK_OK;
}
static int make_sum(side *s, wick_jit_mode mode, sum_of what, int64_t rows, int64_t cols) {
    const wick_spec full = {.dtype = WICK_F32, .rank = 2, .dims = {rows, cols}};
    const wick_spec in[5] = {full,
                             full,
                             full,
                             {.dtype = WICK_F32, .rank = 2, .dims = {rows, 1}},
                             {.dtype = WICK_F32, .rank = 1, .dims = {cols}}};
    s->kernel = NULL;
    if (wick_context_new(&(wick_context_options){.threads = 1, .jit = mode}, &s->ctx)) return 1;
    if (wick_compile(s->ctx, record, &what, 5, in, 1, &(wick_compile_options){.on_remark = on_remark}, &s->plan) ||
        wick_workspace_new(s->plan, &s->ws))
        return fprintf(stderr, "%s\n", wick_context_error(s->ctx)), 1;
    return 0;
}
static int make(side *s, wick_jit_mode mode, const char *expression, int64_t n) {
    const wick_spec in[2] = {{.dtype = WICK_F32, .rank = 1, .dims = {n}}, {.dtype = WICK_F32, .rank = 1, .dims = {n}}};
    if (wick_context_new(&(wick_context_options){.threads = 1, .jit = mode}, &s->ctx)) return 1;
    if (wick_kernel_from_expr(s->ctx, expression, &s->kernel) ||
        wick_kernel_compile(s->kernel, wick_kernel_inputs(s->kernel), in, NULL, &s->plan) ||
        wick_workspace_new(s->plan, &s->ws))
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
        if (wick_run(s->ws, (const void *[]){x, y, x, y, y}, (void *[]){out})) return -1;
    return (cpu() - start) / times;
}
/* Prints the row, and drops both sides. */
static void race(side *s, const char *name, int64_t n, const float *x, const float *y, float *out, int once) {
    double best[2] = {1e9, 1e9};
    const int times = once ? 1 : (int)(n < 100000 ? 20000000 / n : 1);
    for (int round = 0; round < (once ? 1 : 9); round++)
        for (int m = 0; m < 2; m++) {
            const double t = run(&s[m], x, y, out, times);
            if (t < best[m]) best[m] = t;
        }
    printf("%-28s %10lld %12.2f %12.2f %7.2f%s%s\n", name, (long long)n, best[0] * 1e6, best[1] * 1e6,
           best[0] / best[1], strncmp(note, "one loop", 8) ? "  " : "", strncmp(note, "one loop", 8) ? note : "");
    note[0] = 0;
    fflush(stdout);
    drop(&s[0]), drop(&s[1]);
}

int main(int argc, char **argv) {
    const int once = argc > 1 && !strcmp(argv[1], "callgrind"), only_sums = argc > 1 && !strcmp(argv[1], "sums"),
              only_chains = argc > 1 && !strcmp(argv[1], "chains");
    static const struct {
        int64_t n, cols;
    } sizes[] = {{1024, 256}, {65536, 512}, {16777216, 4096}};
    printf("%-28s %10s %12s %12s %7s\n", "program", "elements", "without us", "with us", "ratio");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes - (size_t)once; k++) {
        const int64_t n = sizes[k].n, cols = sizes[k].cols;
        float *x = malloc((size_t)n * 4), *y = malloc((size_t)n * 4), *out = malloc((size_t)n * 4);
        if (!x || !y || !out) return 1;
        for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 977) / 300 - 1.5f, y[i] = (float)(i % 613) / 200 - 1.5f;
        side s[2];
        for (size_t c = 0; c < sizeof chains / sizeof *chains && !only_sums; c++) {
            if (make(&s[0], WICK_JIT_OFF, chains[c].expression, n) ||
                make(&s[1], WICK_JIT_WAIT, chains[c].expression, n))
                return 1;
            race(s, chains[c].name, n, x, y, out, once);
        }
        for (size_t c = 0; c < sizeof sums / sizeof *sums && !only_chains; c++)
            for (int axis = 1; axis >= -1; axis--) {
                char name[64];
                snprintf(name, sizeof name, "%s, %s", sums[c].name, axis == 1 ? "rows" : axis == 0 ? "columns" : "all");
                const sum_of what = {&sums[c], axis};
                if (make_sum(&s[0], WICK_JIT_OFF, what, n / cols, cols) ||
                    make_sum(&s[1], WICK_JIT_WAIT, what, n / cols, cols))
                    return 1;
                race(s, name, n, x, y, out, once);
            }
        free(x), free(y), free(out);
    }
    return 0;
}
