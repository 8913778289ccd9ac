/* bench_attention.c: attention, forward and forward with backward, on one thread or more: time, and bytes of the plan.
 *
 *   bench_attention [THREADS]          the table: time at B1 H8 L1024 D64 and others, arena bytes for L = 512 .. 8192, the plain form beside it
 *   bench_attention THREADS B H L D    one shape, one line of milliseconds a round for bench/attention.py: forward, forward with backward
 *
 * f32, causal and not. Medians of 9 rounds. On one thread time is the processor's, which other programs don't lengthen; on more, the clock's. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "wick/attention.h"
#include "wick/plan.h"

typedef struct how {
    wick_attention_options options;
    bool backward;
} how;

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const how *h = user;
    out[0] = wick_attention(in[0], in[1], in[2], &h->options);
    if (h->backward) wick_grad(wick_sum(wick_mul(out[0], in[3]), WICK_ALL_AXES, false), 3, in, out + 1);
    return WICK_OK;
}

typedef struct run {
    wick_plan *plan;
    wick_workspace *space;
    void *in[4], *out[4];
} run;

static run open_run(wick_context *ctx, how *h, const int64_t dims[4]) {
    run r = {0};
    wick_spec specs[4];
    size_t count = 1;
    for (int d = 0; d < 4; d++) count *= (size_t)dims[d];
    for (int i = 0; i < 4; i++) {
        specs[i] = (wick_spec){.dtype = WICK_F32, .rank = 4};
        memcpy(specs[i].dims, dims, 4 * sizeof *dims);
        r.in[i] = aligned_alloc(64, WICK_ALIGN_UP(count * 4, 64));
        r.out[i] = aligned_alloc(64, WICK_ALIGN_UP(count * 4, 64));
        if (!r.in[i] || !r.out[i]) exit(1);
        for (size_t k = 0; k < count; k++) ((float *)r.in[i])[k] = (float)(k * 2654435761u % 1000003) / 500001.5f - 1;
    }
    if (wick_compile(ctx, record, h, 4, specs, h->backward ? 4 : 1, NULL, &r.plan) || wick_workspace_new(r.plan, &r.space)) {
        fprintf(stderr, "%s\n", wick_context_error(ctx));
        exit(1);
    }
    return r;
}
static void close_run(run *r) {
    wick_workspace_free(&r->space);
    wick_plan_free(&r->plan);
    for (int i = 0; i < 4; i++) free(r->in[i]), free(r->out[i]);
}

static bool one_thread;
static double once(run *r) {
    const double start = bench_us(one_thread);
    if (wick_run(r->space, (const void *const *)r->in, r->out)) {
        fprintf(stderr, "%s\n", wick_workspace_error(r->space));
        exit(1);
    }
    return (bench_us(one_thread) - start) * 1e-3;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(run *r) {
    double ms[9];
    once(r);
    for (int i = 0; i < 9; i++) ms[i] = once(r);
    qsort(ms, 9, sizeof *ms, by_value);
    return ms[4];
}

int main(int argc, char **argv) {
    wick_context *ctx;
    const int threads = argc > 1 ? atoi(argv[1]) : 1;
    one_thread = threads == 1;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = threads})) return 1;
    if (argc == 6) {
        const int64_t dims[4] = {atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5])};
        how h[4] = {{.backward = false}, {.backward = true}, {{.causal = true}, false}, {{.causal = true}, true}};
        run r[4];
        for (int k = 0; k < 4; k++) r[k] = open_run(ctx, &h[k], dims), once(&r[k]);
        setvbuf(stdout, NULL, _IOLBF, 0);
        for (int c; (c = getchar()) != EOF;) { /* a round for each line read */
            if (c == '\n') printf("%g %g %g %g\n", once(&r[0]), once(&r[1]), once(&r[2]), once(&r[3]));
        }
        for (int k = 0; k < 4; k++) close_run(&r[k]);
        wick_context_free(&ctx);
        return 0;
    }
    static const int64_t shapes[][4] = {{1, 8, 64, 64}, {1, 8, 256, 64}, {1, 8, 1024, 64}, {8, 4, 128, 32}, {1, 8, 1024, 128}, {1, 1, 2048, 64}};
    printf("%-26s %10s %10s %10s %10s  %s\n", "B H L D, f32", "forward", "GFLOP/s", "+ backward", "GFLOP/s", "ms; plain form behind");
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++)
        for (int causal = 0; causal < 2; causal++) {
            double ms[4], flops[4];
            for (int k = 0; k < 4; k++) {
                how h = {{.causal = causal, .plain = k > 1}, k & 1};
                run r = open_run(ctx, &h, shapes[i]);
                flops[k] = wick_plan_get_info(r.plan).flops;
                ms[k] = median(&r);
                close_run(&r);
            }
            printf("%lld %lld %5lld %4lld %-9s %10.3f %10.1f %10.3f %10.1f  %10.3f %10.3f\n", (long long)shapes[i][0], (long long)shapes[i][1], (long long)shapes[i][2],
                   (long long)shapes[i][3], causal ? "causal" : "", ms[0], flops[0] / ms[0] * 1e-6, ms[1], flops[1] / ms[1] * 1e-6, ms[2], ms[3]);
            fflush(stdout);
        }
    printf("\nbytes of arena and scratch, B1 H8 D64, forward with backward%-4s %14s %14s\n", "", "attention", "plain");
    for (int64_t length = 512; length <= 8192; length *= 2) {
        size_t bytes[2] = {0};
        for (int k = 0; k < 2 && !(k && length > 4096); k++) {
            how h = {{.plain = k}, true};
            const int64_t dims[4] = {1, 8, length, 64};
            run r = open_run(ctx, &h, dims);
            const wick_plan_info info = wick_plan_get_info(r.plan);
            bytes[k] = info.arena_bytes + info.scratch_bytes;
            close_run(&r);
        }
        printf("L = %-60lld %14zu %14zu\n", (long long)length, bytes[0], bytes[1]);
    }
    wick_context_free(&ctx);
    return 0;
}
