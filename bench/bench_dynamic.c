/* bench_dynamic.c: what shapes and plans of a dynamic function cost, for a graph of 1,000 ops (products of [batch, 16] and [16, 16], activations, sums) and one of 16: recording it for one
 * batch, which infers every shape; finding the expressions; evaluating them for another batch; a bind that finds its plan, of the same extents and of others; one that makes it. CPU
 * time of one thread, medians. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "wick/wick.h"

enum { MOST = 2000, ROUNDS = 51 };

static wick_tensor *weights;
static int ops;

static wick_status chain(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0];
    for (int i = 0; i < ops; i++) x = i % 3 == 0 ? wick_matmul(x, weights) : i % 3 == 1 ? wick_tanh(x) : wick_add(x, in[0]);
    out[0] = x;
    return WICK_OK;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}
static void stop(const char *what) {
    fprintf(stderr, "bench_dynamic: %s\n", what);
    exit(1);
}

static void measure(wick_context *ctx, int n) {
    static double t[ROUNDS];
    static wick_spec specs[MOST];
    ops = n;
    const wick_dim batch = {"batch", 1, 100000, 0};
    const wick_dynamic_input x = {"x", WICK_F32, 2, {"batch", "16"}};
    wick_dynamic *d;
    wick_shapes *s;
    wick_runner *r;
    for (int i = 0; i < ROUNDS; i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *in = wick_zeros(ctx, WICK_F32, 2, (int64_t[]){i + 1, 16}), *out;
        const double from = now();
        (void)!chain(ctx, &in, &out, NULL);
        t[i] = now() - from;
        wick_scope_close(&scope);
    }
    printf("%4d ops: record %.3g us", n, median(t, ROUNDS) / 1e3);
    if (wick_dynamic_new(ctx, chain, NULL, 1, &batch, 1, &x, 1, NULL, &d)) stop(wick_context_error(ctx));
    for (int i = 0; i < 5; i++) {
        const double from = now();
        if (wick_dynamic_find_shapes(d, &s)) stop(wick_context_error(ctx));
        t[i] = now() - from;
        if (i < 4) wick_shapes_free(&s);
    }
    printf(", find expressions %.3g us (%d recordings)", median(t, 5) / 1e3, wick_shapes_recordings(s));
    if (wick_shapes_count(s) > MOST) stop("more shapes than expected");
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        for (int64_t k = 0; k < 20; k++)
            if (wick_shapes_eval(s, &(int64_t){1 + i * 20 + k}, specs)) stop("shapes");
        t[i] = (now() - from) / 20;
    }
    printf(", evaluate %d shapes %.3g us", wick_shapes_count(s), median(t, ROUNDS) / 1e3);
    if (wick_runner_new(d, &r)) stop("no runner");
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        if (wick_runner_bind(r, &(wick_spec){"x", WICK_F32, 2, {i + 1, 16}})) stop(wick_runner_error(r));
        t[i] = now() - from;
    }
    printf("; a miss %.3g us", median(t, ROUNDS) / 1e3);
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        for (int k = 0; k < 1000; k++)
            if (wick_runner_bind(r, &(wick_spec){"x", WICK_F32, 2, {1 + k % 40, 16}})) stop(wick_runner_error(r));
        t[i] = (now() - from) / 1000;
    }
    printf(", a hit %.3g ns", median(t, ROUNDS));
    for (int i = 0; i < ROUNDS; i++) {
        const double from = now();
        for (int k = 0; k < 1000; k++)
            if (wick_runner_bind(r, &(wick_spec){"x", WICK_F32, 2, {7, 16}})) stop(wick_runner_error(r));
        t[i] = (now() - from) / 1000;
    }
    printf(", of the same extents %.3g ns\n", median(t, ROUNDS));
    wick_runner_free(&r);
    wick_shapes_free(&s);
    wick_dynamic_free(&d);
}

int main(void) {
    wick_context *ctx;
    if (wick_context_new(&ctx, &(wick_context_options){.threads = 1})) return 1;
    weights = wick_full(ctx, WICK_F32, 2, (int64_t[]){16, 16}, 0.1);
    if (wick_eval(ctx, 1, &weights, NULL)) return 1;
    measure(ctx, 16);
    measure(ctx, 1000);
    wick_context_free(&ctx);
    return 0;
}
