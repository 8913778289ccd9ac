/* profile.h: layer 6. What recorders found, by kernel; timelines; reports. */
#ifndef WICK_PROFILE_PROFILE_H
#define WICK_PROFILE_PROFILE_H

#include "base/time_histogram.h"
#include "base/trace.h"
#include "codegen/text.h"
#include "exec/exec.h"
#include "profile/timeline.h"
#include "wick/profile.h"

/* Part of a kernel's time that belongs to one op of one layer: all of it, or by the cost model. */
typedef struct profile_part {
    const char *op, *layer, *line; /* interned; layer and line "" where unknown */
    bool backward;
    double share;
} profile_part;

enum { PROFILE_RUN = -1, PROFILE_OWN = -2, PROFILE_NAMES = 256 };
/* A step of a plan, or the plan's run as a whole (step PROFILE_RUN), or a span of the program's own (PROFILE_OWN).
 * Numbers of rows are names of marks, above WICK_SPAN_NAMES.
 */
typedef struct profile_kernel {
    uint32_t plan; /* counted from 0 */
    int32_t step;
    const char *name, *text; /* of the kernel; and for a timeline: "conv res1.conv1" */
    char ops[96];
    const char *layer, *line;
    double flops, bytes;
    double floor_ns, predicted_ns;
    const char *bound;
    int n_parts; /* 0: it runs within another kernel */
    profile_part *parts;
    uint64_t count, total;                     /* ns, to the last one */
    uint64_t shared, shared_total, busy, tail; /* of runs that threads shared, ns: wall, and of all threads */
    wick_time_histogram *times;
} profile_kernel;

/* Of what a span is of. */
typedef struct profile_span {
    uint64_t count, total; /* ns */
    uint64_t callers;      /* of total, by threads that run plans */
    wick_time_histogram times;
} profile_span;

struct wick_profile {
    wick_context *ctx;
    wick_recorder recorder;
    wick_allocator alloc;
    wick_arena arena;
    timeline timeline;
    bool stopped;
    wick_status status; /* of the timeline */
    wick_msg msg;
    int most, n_plans;
    /* ns: when the first run began, 0: none has; of compiling, and of the profile's own work, until then */
    uint64_t first_run, ready, own_before;
    uint64_t stopped_at; /* ticks */
    int process;         /* children of a fork are not part of it */
    profile_kernel **kernels;
    size_t n_kernels, cap_kernels;
    profile_kernel *others;      /* of kernels beyond `most` */
    uint32_t own[PROFILE_NAMES]; /* numbers of the kernels that are spans of the program's own */
    int n_own;
    profile_span spans[WICK_SPAN_NAMES];
    wick_worker_stats *workers; /* of the context's threads: before; once it is stopped, what they did */
    const char **texts; /* interned */
    size_t n_texts, text_slots;
    wick_profile_row *rows[WICK_PROFILE_SPANS + 1];
    size_t n_rows[WICK_PROFILE_SPANS + 1];
};

/* The number of the first step of a plan for which there are no rows: from here on all are `others`. */
#define PROFILE_OTHERS ((uint32_t)1 << 31)

/* kernels.c. Under the recorder's lock: rows for a plan's steps; the number of the first one. */
uint32_t profile_add_plan(void *user, const void *plan);
/* The same for a span of the program's own. */
uint32_t profile_name(wick_profile *p, const char *name);
const char *profile_intern(wick_profile *p, const char *text, size_t n); /* "" where memory is out */
/* What a part is called where it goes by layer: its layer, or line, or op. */
static inline const char *profile_layer(const profile_part *q) {
    return *q->layer ? q->layer : *q->line ? q->line : q->op;
}
/* How many threads ran plans, at least 1. */
int profile_callers(const wick_profile *p);
double profile_wall(const wick_profile *p); /* seconds */
/* Brings the counts up to date. */
void profile_look(wick_profile *p);
/* flame.c, report.c */
void profile_folded(wick_profile *p, wick_text *out);
void profile_flame(wick_profile *p, wick_text *out);
void profile_report(wick_profile *p, wick_text *out);
void profile_json(wick_profile *p, wick_text *out);

#endif
