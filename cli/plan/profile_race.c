/* Races take turns, so that what slows the machine slows both, and the median of the ratios decides. */
#include "profile_race.h"
#include "../context.h"
#include "../term/log.h"

#include "wick/batch_size.h"
#include "wick/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 41, LEAST_ROUNDS = 5, CANDIDATES = 2 };
#define SECONDS 0.4  /* of a race, unless LEAST_ROUNDS take longer */
#define WINS    1.05 /* times as fast, from which on it is advised */

typedef struct race {
    int threads;
    double speed; /* times that of what was profiled; 0: it was not run */
} race;

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_ratio(const bound *was, const bound *other) {
    double ratio[ROUNDS];
    int n = 0;
    for (int i = 0; i < 2; i++) /* packs weights, wakes threads */
        if (bound_run(other) < 0 || bound_run(was) < 0) return 0;
    for (const double from = now_seconds(); n < ROUNDS && (n < LEAST_ROUNDS || now_seconds() - from < SECONDS); n++) {
        const bool first = n % 2;
        double mine = first ? bound_run(other) : -1;
        const double old = bound_run(was);
        if (!first) mine = bound_run(other);
        if (mine <= 0 || old < 0) return 0;
        ratio[n] = old / mine;
    }
    qsort(ratio, (size_t)n, sizeof *ratio, by_size);
    return ratio[n / 2];
}

/* A race needs what was profiled once more, beside it. */
static bool has_room(const bound *was, char *why, size_t size) {
    const wick_plan_info *i = &was->info;
    const size_t bytes = i->arena_bytes + i->scratch_bytes + i->input_bytes + i->output_bytes + i->state_bytes,
                 left = wick_memory_available();
    if (!left || (double)bytes <= 0.9 * (double)left) return true;
    snprintf(why, size, "it takes %.4g MB once more, and %.4g MB are left", (double)bytes * 1e-6, (double)left * 1e-6);
    return false;
}

static double run_with(const bound *was, int threads) {
    char why[512];
    cli_options o = *was->p->o;
    wick_context *ctx = NULL;
    planned p = {0};
    bound b = {0};
    double speed = 0;
    o.threads = threads;
    o.recording.memory_files.n = 0;
    o.quiet = true; /* what is to be said has been; standard output is the profile's */
    o.json = false;
    log_setup(&o);
    log_catch(why, sizeof why);
    const bool opened =
        has_room(was, why, sizeof why) && cli_context(&ctx, &o, (wick_context_options){.jit = WICK_JIT_WAIT}) == CLI_OK;
    if (opened && planned_open(&p, &o, ctx) == CLI_OK) {
        if (bound_open(&b, &p) == CLI_OK) speed = median_ratio(was, &b);
        bound_close(&b);
    }
    planned_free(&p);
    wick_context_free(&ctx);
    log_catch(NULL, 0);
    log_setup(was->p->o);
    if (speed <= 0 && *why) log_note("note: advice about --threads %d could not be raced: %s", threads, why);
    return speed;
}

/* Which numbers of threads may help against a finding. */
static int candidates(wick_bottleneck kind, int threads, int cpus, race out[CANDIDATES]) {
    int n = 0;
    if ((kind == WICK_BOUND_COMPUTE || kind == WICK_BOUND_MEMORY) && threads < cpus) out[n++] = (race){cpus, 0};
    if (kind != WICK_BOUND_SYNC || threads < 2) return n;
    if (threads > cpus) out[n++] = (race){cpus, 0};
    else if (threads > 2) out[n++] = (race){threads / 2, 0};
    if (threads <= cpus || cpus > 1) out[n++] = (race){1, 0};
    return n;
}

static void tell(wick_profile *profile, wick_bottleneck kind, const race *r, int n) {
    const race *best = &r[0];
    char text[384];
    for (int i = 1; i < n; i++)
        if (r[i].speed > best->speed) best = &r[i];
    if (best->speed <= 0) return;
    if (best->speed >= WINS)
        snprintf(text, sizeof text, "--threads %d: %.2f times as fast, raced", best->threads, best->speed);
    else if (kind == WICK_BOUND_SYNC)
        snprintf(text, sizeof text,
                 "larger batches (--batch, or --dim of an ONNX file); fewer threads are no faster: raced, --threads %d "
                 "has %.2f times the speed",
                 best->threads, best->speed);
    else
        snprintf(text, sizeof text,
                 "fewer bits (wick quantize), or a smaller network; more threads are no faster: raced, --threads %d "
                 "has %.2f times the speed",
                 best->threads, best->speed);
    wick_profile_set_advice(profile, kind, text);
}

void profile_race(wick_profile *profile, const bound *b) {
    wick_profile_finding found[WICK_BOTTLENECKS];
    const int n = wick_profile_findings(profile, 0, found), threads = wick_context_threads(b->p->ctx);
    const wick_limits l = wick_limits_get();
    const int cpus = l.quota > 0 && l.quota < l.affinity ? l.quota : l.affinity;
    for (int i = 0; i < n; i++) {
        race r[CANDIDATES];
        const int m = candidates(found[i].kind, threads, cpus, r);
        for (int k = 0; k < m; k++) r[k].speed = run_with(b, r[k].threads);
        if (m) tell(profile, found[i].kind, r, m);
    }
}
