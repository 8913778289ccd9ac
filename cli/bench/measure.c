#include "measure.h"

#include "ceilings.h"
#include "../step.h"
#include "../term/log.h"
#include "../tuned.h"

#include <stdlib.h>

#include "wick/plan.h"

enum { SIDE = 512, LARGE_SIDE = 1024 };
#define LONG_ENOUGH 0.08 /* seconds of repeated runs */

static wick_status product(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_matmul(in[0], in[0]);
    return WICK_OK;
}

static wick_status sum(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_add(in[0], in[0]);
    return WICK_OK;
}

/* Seconds of the fastest run of fn, whose one input and output are f32 of `spec`; 0: it failed. */
static double fastest(wick_function fn, const wick_spec *spec, int threads, wick_plan_info *info) {
    wick_context *ctx;
    wick_plan *plan = NULL;
    wick_workspace *workspace = NULL;
    double best = 0;
    int64_t count = 1;
    for (int i = 0; i < spec->rank; i++) count *= spec->dims[i];
    float *x = step_buffer(count, sizeof *x), *y = step_buffer(count, sizeof *y);
    wick_status status = wick_context_new(&(wick_context_options){.tuning = tuned(), .threads = threads}, &ctx);
    if (status == WICK_OK) status = x && y ? wick_compile(ctx, fn, NULL, 1, spec, 1, NULL, &plan) : WICK_ERR_NOMEM;
    if (status == WICK_OK) status = wick_workspace_new(plan, &workspace);
    if (status == WICK_OK) *info = wick_plan_get_info(plan);
    for (int64_t i = 0; status == WICK_OK && i < count; i++) x[i] = (float)(i % 7) * 0.125f;
    double began = 0, now = now_seconds();
    for (int run = 0; status == WICK_OK && (run < 3 || now - began < LONG_ENOUGH); run++) {
        double start = now;
        status = wick_run(workspace, (const void *[]){x}, (void *[]){y});
        now = now_seconds();
        if (run == 0)
            began = now; /* the first touches memory and wakes threads */
        else if (best == 0 || now - start < best)
            best = now - start;
    }
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
    free(x);
    free(y);
    return status == WICK_OK ? best : 0;
}

static double product_gflops(int64_t side, int threads) {
    wick_plan_info info;
    double seconds =
        fastest(product, &(wick_spec){.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {side, side}}, threads, &info);
    return seconds > 0 ? 1e-9 * info.flops / seconds : 0;
}

void measure_speeds(speeds *s, int threads, uint64_t memory) {
    *s = (speeds){0};
    for (int i = 0; i < wick_isa_count(); i++)
        if (wick_isa_at(i).chosen) s->peak = 1e-9 * ceiling_compute_rate(CEILING_F32, wick_isa_at(i).name, 1);
    s->product = product_gflops(SIDE, 1);
    /* Work for many threads, but no seconds of it where one is slow. */
    s->products = threads == 1 ? s->product : product_gflops(s->product * threads > 100 ? LARGE_SIDE : SIDE, threads);
    wick_plan_info info;
    wick_spec vector = {.name = "x", .dtype = WICK_F32, .rank = 1, .dims = {(int64_t)(memory / 2 / sizeof(float))}};
    double seconds = vector.dims[0] > 0 ? fastest(sum, &vector, threads, &info) : 0;
    if (seconds > 0) s->memory = 1e-9 * 2 * (double)vector.dims[0] * sizeof(float) / seconds;
}
