/* profile.c: where the time of a training step goes, and which memory grows.   Usage: profile [FILE.pftrace] */
#include <stdio.h>
#include <stdlib.h>
#include <wick/wick.h>

enum { BATCH = 64, INPUTS = 784, CLASSES = 10, STEPS = 200 };
static wick_model *model;
static wick_optimizer *adam;

static wick_status train(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *h = wick_relu(wick_nn_linear(model, "fc1", in[0], 256));
    out[0] = wick_cross_entropy(wick_nn_linear(model, "fc2", h, CLASSES), in[1]);
    return wick_optimizer_step(adam, out[0]);
}

static void say(void *user, wick_monitor *monitor, const wick_monitor_step_info *step) {
    wick_monitor_stats s;
    if (step->step % 100) return;
    wick_monitor_get_stats(monitor, &s);
    printf("step %llu: p50 %.3g ms, p99 %.3g ms, %.0f samples/s, %.1f MB, %.2f CPUs\n", (unsigned long long)step->step,
           s.latency.median * 1e3, s.latency.p99 * 1e3, s.samples_per_second, (double)s.memory / 1e6, s.cpu);
    (void)user;
}
#define CHECK(call) if ((call) != WICK_OK) return fprintf(stderr, "%s\n", wick_context_error(ctx)), 1

int main(int argc, char **argv) {
    static float x[BATCH * INPUTS], loss;
    static int64_t y[BATCH];
    wick_context *ctx;
    wick_plan *plan;
    wick_workspace *work;
    wick_profile *profile;
    wick_monitor *monitor;
    for (int i = 0; i < BATCH * INPUTS; i++) x[i] = (float)(i * 37 % 101) / 101;
    for (int i = 0; i < BATCH; i++) y[i] = i % CLASSES;
    if (wick_context_new(&(wick_context_options){.track_memory = true}, &ctx)) return 1;
    CHECK(wick_profile_start(ctx, &(wick_profile_options){.timeline = argc > 1 ? argv[1] : NULL}, &profile));
    CHECK(wick_model_new(ctx, &model));
    CHECK(wick_optimizer_new(model, &(wick_optim_options){.kind = WICK_ADAM, .lr = 0.001}, &adam));
    const wick_spec specs[] = {{"x", WICK_F32, 2, {BATCH, INPUTS}}, {"y", WICK_I64, 1, {BATCH}}};
    CHECK(wick_compile(ctx, train, NULL, 2, specs, 1, NULL, &plan));
    CHECK(wick_workspace_new(plan, &work));
    CHECK(wick_monitor_new(ctx, &(wick_monitor_options){.on_step = say}, &monitor));
    CHECK(wick_memory_mark(ctx));
    for (int i = 0; i < STEPS; i++) {
        if (wick_run(work, (const void *[]){x, y}, (void *[]){&loss}))
            return fprintf(stderr, "%s\n", wick_workspace_error(work)), 1;
        wick_monitor_step(monitor, BATCH);
    }
    printf("loss %.4f; %d places have grown by 64 KiB or more\n", (double)loss, wick_memory_growth(ctx, 65536));
    if (wick_profile_stop(profile)) return fprintf(stderr, "%s\n", wick_profile_error(profile)), 1;

    wick_profile_finding found[WICK_BOTTLENECKS];
    for (int i = 0, n = wick_profile_findings(profile, 0, found); i < n; i++)
        printf("%s, %.0f %%: %s\n  try: %s\n", found[i].name, 100 * found[i].share, found[i].evidence, found[i].advice);
    for (int i = 0, n = wick_profile_rows(profile, WICK_PROFILE_LAYERS); i < n && i < 5; i++) {
        const wick_profile_row r = wick_profile_row_at(profile, WICK_PROFILE_LAYERS, i);
        printf("%5.1f %%  %-12s %6.1f us a time, %5.1f GFLOP/s, bound by %s\n", 100 * r.share, r.name,
               r.time.mean * 1e6, r.flops / r.time.total * 1e-9, r.bound);
    }
    wick_monitor_free(&monitor);
    wick_profile_free(&profile);
    wick_workspace_free(&work);
    wick_plan_free(&plan);
    wick_optimizer_free(&adam);
    wick_model_free(&model);
    wick_context_free(&ctx);
}
