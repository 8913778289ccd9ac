/* findings.c: what most of the wall time goes into, and what to change about it.
 *
 * The wall time of the threads that run plans is divided into runs, planning, waits for batches, and the rest of the
 * program. The time of a run is divided among its kernels. While threads share a kernel, the time in which they idle is
 * synchronisation; the rest is compute or memory bandwidth, whichever is the kernel's ceiling in the cost model. A
 * kernel that is mostly overhead counts as synchronisation where threads share it, and as neither elsewhere. */
#include "profile/profile.h"

#include <stdio.h>

static const char *const names[] = {"compute", "memory bandwidth", "synchronisation", "data", "start-up"};

typedef struct cause {
    double seconds;
    double most; /* of one layer */
    const char *where;
    double where_seconds, where_ceiling, where_rate;
} cause;

static void note(cause *c, double seconds, const wick_profile_row *r) {
    c->seconds += seconds;
    if (seconds <= c->most) return;
    c->most = seconds;
    c->where = r->name;
    c->where_seconds = r->time.total;
    c->where_ceiling = r->ceiling;
    c->where_rate = r->time.total > 0 ? r->flops / r->time.total : 0;
}

/* What threads did not use of a row's wall time. */
static double waited(const wick_profile_row *r, int threads) { return threads > 1 ? r->idle / threads : 0; }

static void look_at_layers(wick_profile *p, cause *causes, int threads) {
    const int n = wick_profile_rows(p, WICK_PROFILE_LAYERS);
    for (int i = 0; i < n; i++) {
        const wick_profile_row r = wick_profile_row_at(p, WICK_PROFILE_LAYERS, i);
        const double sync = WICK_MIN(waited(&r, threads), r.time.total), work = r.time.total - sync;
        note(&causes[WICK_BOUND_SYNC], sync, &r);
        if (strcmp(r.bound, "arithmetic") == 0) note(&causes[WICK_BOUND_COMPUTE], work, &r);
        if (strcmp(r.bound, "memory") == 0) note(&causes[WICK_BOUND_MEMORY], work, &r);
        if (strcmp(r.bound, "overhead") == 0 && r.shared) note(&causes[WICK_BOUND_SYNC], work, &r);
    }
}

static void explain(const wick_profile *p, const wick_profile_info *info, const cause *c, wick_profile_finding *f) {
    wick_str evidence = wick_str_on(f->evidence, sizeof f->evidence), advice = wick_str_on(f->advice, sizeof f->advice);
    const int cpus = wick_cpu_count();
    if (c->where) snprintf(f->where, sizeof f->where, "%s", c->where);
    switch (f->kind) {
    case WICK_BOUND_COMPUTE:
    case WICK_BOUND_MEMORY:
        wick_str_add(&evidence,
                     "%.4g s of %.4g s in kernels whose ceiling is %s; %s has %.3g s of it, at %.0f %% of that ceiling "
                     "and %.3g GFLOP/s",
                     c->seconds, info->wall, f->kind == WICK_BOUND_COMPUTE ? "arithmetic" : "memory", f->where, c->most,
                     100 * c->where_ceiling, c->where_rate * 1e-9);
        if (info->threads < cpus)
            wick_str_add(&advice, "more threads: --threads %d, which this process may use, instead of %d", cpus,
                         info->threads);
        else if (c->where_ceiling < 0.4)
            wick_str_add(&advice,
                         "wick tune fits sizes of tasks to this machine; wick explain says which kernel %s "
                         "got and why none of the others",
                         f->where);
        else if (f->kind == WICK_BOUND_COMPUTE)
            wick_str_add(&advice,
                         "it computes about as fast as this machine can: fewer bits (wick quantize), or a "
                         "smaller %s, are what is left",
                         f->where);
        else
            wick_str_add(&advice,
                         "fewer bytes: a smaller batch that stays in cache (--batch), or weights of fewer bits "
                         "(wick quantize)");
        return;
    case WICK_BOUND_SYNC:
        wick_str_add(&evidence,
                     "threads had nothing to do for %.4g s of %.4g s of wall time on each of %d threads; most "
                     "in %s",
                     c->seconds, info->wall, info->threads, f->where);
        wick_str_add(
            &advice,
            info->threads > cpus ? "fewer threads: --threads %d, as this process may use; there are "
                                   "more now"
            : info->threads > 2
                ? "larger batches (--batch, or --dim of an ONNX file), or fewer threads: --threads %d"
                : "larger batches (--batch, or --dim of an ONNX file), or --threads 1; wick tune measures from "
                  "which size on threads pay",
            info->threads > cpus ? cpus : info->threads / 2);
        return;
    case WICK_BOUND_DATA:
        wick_str_add(&evidence, "the program waited %.4g s of %.4g s for batches, which took %.4g s to make",
                     c->seconds, info->wall, info->make);
        wick_str_add(&advice,
                     "more threads that make batches: --workers %d (wick_loader_options.workers), or a cheaper "
                     "--transform",
                     WICK_MAX(cpus, 2));
        return;
    case WICK_BOUND_STARTUP:
        wick_str_add(
            &evidence,
            "%.4g s of %.4g s went by before the first run, or into plans that were made later; %llu plan%s took "
            "%.4g s to make",
            c->seconds, info->wall, (unsigned long long)p->spans[WICK_SPAN_COMPILE].count,
            p->spans[WICK_SPAN_COMPILE].count == 1 ? "" : "s", info->compile);
        if (info->compile * 2 > c->seconds)
            wick_str_add(&advice,
                         "compile once and run often (wick_compile); shapes that change make new plans: a range "
                         "of --dim, or buckets of the loader, make fewer");
        else
            wick_str_add(&advice,
                         "longer runs, or quicker opening of data and models: wick data pack makes one file of "
                         "many pictures, decoded once");
        return;
    }
}

void wick_profile_set_advice(wick_profile *p, wick_bottleneck kind, const char *text) {
    if ((unsigned)kind >= WICK_BOTTLENECKS) return;
    snprintf(p->advice[kind], sizeof p->advice[kind], "%s", text ? text : "");
}

int wick_profile_findings(wick_profile *p, double threshold, wick_profile_finding out[WICK_BOTTLENECKS]) {
    if (!out) return 0;
    cause causes[WICK_BOTTLENECKS] = {0};
    const wick_profile_info info = wick_profile_get_info(p);
    const double wall = info.wall * profile_callers(p);
    look_at_layers(p, causes, info.threads);
    causes[WICK_BOUND_DATA].seconds = info.wait;
    causes[WICK_BOUND_STARTUP].seconds = info.startup;
    int n = 0;
    for (int i = 0; i < WICK_BOTTLENECKS; i++) {
        const double share = wall > 0 ? WICK_MIN(causes[i].seconds / wall, 1) : 0; /* a clock may be set back */
        if (share <= 0 || share < (threshold > 0 ? threshold : 0.1) - 1e-9) continue;
        int at = n++;
        for (; at > 0 && out[at - 1].share < share; at--) out[at] = out[at - 1];
        memset(&out[at], 0, sizeof out[at]);
        out[at].kind = (wick_bottleneck)i;
        out[at].name = names[i];
        out[at].share = share;
        explain(p, &info, &causes[i], &out[at]);
        if (*p->advice[i]) memcpy(out[at].advice, p->advice[i], sizeof out[at].advice);
    }
    return n;
}
