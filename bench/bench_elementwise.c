/* bench_elementwise.c: one elementwise op as a compiled plan, f32 (and casts to and from f8), for bench/elementwise.py: a program that answers lines.
 *
 *   bench_elementwise THREADS
 *
 * reads "OP N REPEATS": runs OP over N elements so many times in a row and prints the microseconds of one run. "?" lists the ops. On one
 * thread time is the processor's, which other programs don't lengthen; on more, the clock's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "kernels/elementwise/table.h"
#include "wick/plan.h"
#include "wick/pointwise.h"

typedef wick_tensor *(*build_fn)(wick_tensor *const *in);
#define ARGS1 in[0]
#define ARGS2 in[0], in[1]
#define ARGS3 in[0], in[1], in[2]
#define BUILD(name, arity, ...) \
    static wick_tensor *build_##name(wick_tensor *const *in) { return wick_##name(ARGS##arity); }
WICK_EW_TABLE(BUILD)
static wick_tensor *build_leaky_relu(wick_tensor *const *in) { return wick_leaky_relu(in[0], 0.01); }
static wick_tensor *build_elu(wick_tensor *const *in) { return wick_elu(in[0], 1); }
static wick_tensor *build_clip(wick_tensor *const *in) { return wick_clip(in[0], 0.25, 0.75); }
static wick_tensor *build_hardshrink(wick_tensor *const *in) { return wick_hardshrink(in[0], 0.5); }
static wick_tensor *build_softshrink(wick_tensor *const *in) { return wick_softshrink(in[0], 0.5); }
static wick_tensor *build_nan_to_num(wick_tensor *const *in) { return wick_nan_to_num(in[0], 0, 1, -1); }
static wick_tensor *build_f32(wick_tensor *const *in) { return wick_cast(in[0], WICK_F32); }
static wick_tensor *build_e4m3fn(wick_tensor *const *in) { return wick_cast(in[0], WICK_F8_E4M3FN); }
static wick_tensor *build_e4m3fn_saturate(wick_tensor *const *in) { return wick_cast_saturate(in[0], WICK_F8_E4M3FN); }
static wick_tensor *build_e5m2(wick_tensor *const *in) { return wick_cast(in[0], WICK_F8_E5M2); }
#define ENTRY(name, arity, ...) {#name, arity, build_##name, WICK_F32},
static const struct {
    const char *name;
    int arity;
    build_fn build;
    wick_dtype dtype; /* of the inputs: f32, or f8 */
} ops[] = {WICK_EW_TABLE(ENTRY){"leaky_relu", 1, build_leaky_relu, WICK_F32},
           {"elu", 1, build_elu, WICK_F32},
           {"clip", 1, build_clip, WICK_F32},
           {"hardshrink", 1, build_hardshrink, WICK_F32},
           {"softshrink", 1, build_softshrink, WICK_F32},
           {"nan_to_num", 1, build_nan_to_num, WICK_F32},
           {"f32_to_e4m3fn", 1, build_e4m3fn, WICK_F32},
           {"f32_to_e4m3fn_saturate", 1, build_e4m3fn_saturate, WICK_F32},
           {"f32_to_e5m2", 1, build_e5m2, WICK_F32},
           {"e4m3fn_to_f32", 1, build_f32, WICK_F8_E4M3FN},
           {"e5m2_to_f32", 1, build_f32, WICK_F8_E5M2}};

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    out[0] = (*(const build_fn *)user)(in);
    return WICK_OK;
}

/* The plan of the last line, kept while lines ask for the same. */
static struct {
    int op;
    long long n;
    wick_plan *plan;
    wick_workspace *space;
    void *in[3], *out[1];
} now = {.op = -1};

static bool open_plan(wick_context *ctx, int op, long long n) {
    if (now.op == op && now.n == n) return true;
    wick_workspace_free(&now.space);
    wick_plan_free(&now.plan);
    wick_spec spec[3];
    for (int i = 0; i < 3; i++) {
        free(now.in[i]);
        now.in[i] = aligned_alloc(64, WICK_ALIGN_UP((size_t)n * 4, 64));
        if (!now.in[i]) return false;
        const bool f32 = ops[op].dtype == WICK_F32;
        for (long long k = 0; k < n && !f32; k++) ((uint8_t *)now.in[i])[k] = (uint8_t)(k * 37 % 120);
        for (long long k = 0; k < n && f32; k++) ((float *)now.in[i])[k] = (float)((uint64_t)(k + i) * 2654435761u % 1000003 + 1) / 1000005.0f;
        spec[i] = (wick_spec){.dtype = ops[op].dtype, .rank = 1, .dims = {n}};
    }
    free(now.out[0]);
    now.out[0] = aligned_alloc(64, WICK_ALIGN_UP((size_t)n * 4, 64));
    now.op = op, now.n = n;
    build_fn build = ops[op].build;
    return now.out[0] && wick_compile(ctx, record, &build, ops[op].arity, spec, 1, NULL, &now.plan) == WICK_OK &&
           wick_workspace_new(now.plan, &now.space) == WICK_OK;
}

int main(int argc, char **argv) {
    wick_context *ctx;
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    char line[128], name[64];
    long long n, repeats;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = threads})) return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == '?') {
            for (size_t i = 0; i < WICK_COUNTOF(ops); i++) printf("%s%s", ops[i].name, i + 1 < WICK_COUNTOF(ops) ? " " : "\n");
            continue;
        }
        int op = 0;
        if (sscanf(line, "%63s %lld %lld", name, &n, &repeats) != 3 || n < 1 || repeats < 1) return 2;
        while (op < (int)WICK_COUNTOF(ops) && strcmp(ops[op].name, name) != 0) op++;
        if (op == (int)WICK_COUNTOF(ops) || !open_plan(ctx, op, n)) {
            fprintf(stderr, "%s: %s\n", name, wick_context_error(ctx));
            return 1;
        }
        const double start = bench_us(threads == 1);
        for (long long i = 0; i < repeats; i++)
            if (wick_run(now.space, (const void *const *)now.in, now.out)) return fprintf(stderr, "%s\n", wick_workspace_error(now.space)), 1;
        printf("%.6g\n", (bench_us(threads == 1) - start) / (double)repeats);
    }
    now.n = 0;
    wick_workspace_free(&now.space);
    wick_plan_free(&now.plan);
    for (int i = 0; i < 3; i++) free(now.in[i]);
    free(now.out[0]);
    wick_context_free(&ctx);
    return 0;
}
