/* bench_record.c: what define-by-run costs a node: recording, then walking, looking the plan up and binding. The
 * tensors have no elements, so that no kernel runs and all of an eval is overhead. Prints ns a node, median of many
 * steps. */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "wick/wick.h"

#define NODES 400
#define STEPS 501

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(void) {
    wick_context *ctx;
    if (wick_context_new(NULL, &ctx)) return 1;
    wick_tensor *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(0, 8)), *m = wick_zeros(ctx, WICK_F32, WICK_DIMS(8, 8));
    static double record[STEPS], eval[STEPS];
    for (int step = 0; step < STEPS; step++) {
        wick_scope *scope = wick_scope_open(ctx);
        uint64_t t0 = wick_now_ns();
        wick_tensor *x = w;
        for (int i = 0; i < NODES; i += 4) { /* a mix: product, broadcast with a run-time number, activation, view */
            x = wick_matmul(x, m);
            x = wick_mul(x, wick_scalar(ctx, WICK_F32, step));
            x = wick_relu(x);
        }
        uint64_t t1 = wick_now_ns();
        if (wick_eval(ctx, 1, &x, NULL)) return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1;
        wick_scope_close(&scope);
        uint64_t t2 = wick_now_ns();
        record[step] = (double)(t1 - t0) / NODES;
        eval[step] = (double)(t2 - t1) / NODES;
    }
    qsort(record, STEPS, sizeof *record, by_value);
    qsort(eval, STEPS, sizeof *eval, by_value);
    printf("record %.0f ns, look up and free %.0f ns: %.0f ns a node; %llu plans\n", record[STEPS / 2], eval[STEPS / 2],
           record[STEPS / 2] + eval[STEPS / 2], (unsigned long long)wick_context_get_stats(ctx).plans_built);
    wick_context_free(&ctx);
    return 0;
}
