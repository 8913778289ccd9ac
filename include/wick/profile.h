/* wick/profile.h: where the time of runs goes. While a profile is on, every run of a compiled function, of a session
 * and of wick_eval in its context is recorded step by step, and so are the threads that share steps and a loader's
 * workers:
 *
 *   wick_profile *p;
 *   wick_profile_start(ctx, &(wick_profile_options){.timeline = "run.pftrace"}, &p);
 *   ... wick_run(ws, in, out); ...
 *   wick_profile_stop(p);
 *   wick_profile_write(p, "run.svg");          // a flame graph
 *   for (int i = 0; i < wick_profile_rows(p, WICK_PROFILE_LAYERS); i++)
 *       show(wick_profile_row_at(p, WICK_PROFILE_LAYERS, i));
 *   wick_profile_free(&p);
 *
 * Results have the same bits. Without a profile a run pays one look at a flag, and its steps nothing; with one, a step
 * takes one reading of a clock more (the CPU's time-stamp counter where the system trusts it, else clock_gettime).
 * docs/profiling.md has recipes. */
#ifndef WICK_PROFILE_H
#define WICK_PROFILE_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_profile wick_profile;

typedef struct wick_profile_options {
    /* A file that gets each run, step and span as it happens: NAME.json as Chrome's trace events, NAME.html as a page
     * that shows those in a browser and fetches nothing, NAME.otlp.jsonl as OpenTelemetry's spans, a message a line
     * (its file exporter's form, which collectors read), any other name as Perfetto's TrackEvent packets
     * (ui.perfetto.dev opens these and NAME.json). What was written is readable wherever the file ends: a process that
     * is killed loses less than a second of it. A file that is there is replaced if it is a profile;
     * anything else is WICK_ERR_INVALID. NULL: none */
    const char *timeline;
    size_t timeline_bytes; /* spans beyond are dropped, and counted; 0: 1 GiB */
    size_t marks;          /* that a thread holds before they are looked at, of 56 bytes; 0: 4096. At most 2^24 */
    /* The part of the time that recording may take: where it would take more, some runs are not recorded, and counted
     * as skipped. 0.005 is half a percent; 0: every run is recorded */
    double overhead;
    /* Of several processes with one timeline: which one of how many this is, at most 4096; ranks 0: it is alone. Rank 0
     * starts first, then the others with the same name, and each is a process of its own there, "wick, rank 2". The
     * file is shared by the ranks of a machine, and has what they write until each ends, in any order; rank 0 waits up
     * to 3 s for the others to end before it does. WICK_ERR_IO: it is on a network's file system. Other files of a
     * profile are of its own process alone. */
    int rank, ranks;
    /* What is 0 in the timeline: the ns of CLOCK_MONOTONIC of this machine. wick_group_clock tells how far those of
     * machines are apart. 0: when the profile starts. Not of .otlp.jsonl, whose times are the calendar's */
    uint64_t zero;
    int kernels; /* of all plans; what runs beyond them is one row, "others"; 0: 4096 */
    /* Another clock, in ns, for tests and hosts that have one; called by any thread. NULL: the system's */
    uint64_t (*clock)(void *user);
    void *clock_user;
} wick_profile_options;

/* Begins to record what is done in ctx. A context has one profile at a time: WICK_ERR_BUSY. By the context's thread;
 * runs may be in progress, and are recorded from their next one on. On failure *out is NULL and the context has the
 * error. options may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_profile_start(wick_context *ctx, const wick_profile_options *options,
                                                        wick_profile **out);
/* Ends it: waits until no run is being recorded, and completes the timeline. WICK_ERR_IO: that could not be written
 * whole; what there is stays readable. Once; later calls give the same. */
WICK_API wick_status wick_profile_stop(wick_profile *profile);
/* Before its context. Stops it. Null-safe, nulls. */
WICK_API void wick_profile_free(wick_profile **profile);
/* Of the last call that failed; "" before. */
WICK_API const char *wick_profile_error(const wick_profile *profile);

/* A span of the program's own, from begin to the end that follows, on the calling thread: in the timeline, and a row of
 * WICK_PROFILE_SPANS. Spans may lie within each other, to a depth of 16. Nothing happens where ctx is not profiled; up
 * to 256 names are told apart. */
WICK_API void wick_profile_begin(wick_context *ctx, const char *name);
WICK_API void wick_profile_end(wick_context *ctx);

/* ---- what was found ---------------------------------------------------------------------------------------------- */

/* Seconds from start to stop, or to now. What follows is of what has been recorded and looked at: all of it once the
 * profile is stopped. */
typedef struct wick_profile_info {
    double wall;
    uint64_t runs, skipped;  /* recorded; left out for options.overhead */
    uint64_t steps;          /* kernels that ran */
    uint64_t spans, dropped; /* of the timeline: written; not written, for want of room or for an error */
    uint64_t lost;           /* marks of threads for which there was no memory */
    int threads;             /* of the context */
    int tracks;              /* threads that were seen */
    /* Seconds of threads that run plans, which together with what the program does besides make wall: in runs, and of
     * these in steps; making plans; recording and finding plans in wick_eval; waiting for batches; looking at marks */
    double startup; /* until the first run began, and making plans after that */
    double run, step, compile, record, wait, self;
    double make;           /* of a loader's workers (or of the caller, within wait), making samples */
    wick_timing run_times; /* of a run */
    const char *clock;     /* "tsc", "clock_gettime" or "host" */
    double mark_seconds;   /* that recording a step takes, about */
} wick_profile_info;
WICK_API wick_profile_info wick_profile_get_info(const wick_profile *profile);

/* What rows are of. Ops, layers and lines share the time of a kernel that computes several: by the cost model
 * (wick/tuning.h), which is then said to be estimated. */
typedef enum wick_profile_view {
    WICK_PROFILE_KERNELS, /* the steps of plans */
    WICK_PROFILE_OPS,     /* "conv", "relu"; of a gradient "conv, backward" */
    WICK_PROFILE_LAYERS,  /* "res1.conv1", Conv "node name"; what has no name, by its line, or its op */
    WICK_PROFILE_LINES,   /* "net.c:12", as they recorded ops */
    WICK_PROFILE_SPANS    /* what is no step: runs as a whole, compile, wait for a batch ... */
} wick_profile_view;

typedef struct wick_profile_row {
    const char *name;         /* as above; of a kernel: "conv_f32_avx2". These texts live as long as the profile */
    const char *ops;          /* kernels: what it computes, "conv relu"; else "" */
    const char *layer, *line; /* kernels; "" where unknown */
    wick_timing time; /* of one run of the kernel; of other views, of the kernels' runs as far as they are its */
    double share;     /* part of the time of all runs, 0 to 1; of spans, of the wall time of threads that run plans */
    double flops, bytes; /* of all of them together */
    /* Part of the speed that the cost model has as this machine's ceiling for it (rates of wick tune, or defaults): the
     * longer of arithmetic and bytes, without overhead, by the time it took. 0: not known */
    double ceiling;
    const char *bound; /* by what: "arithmetic", "memory", or "overhead" where that is most of the predicted time */
    bool estimated;    /* some of its time is a part of a kernel's, by the cost model */
    /* Of runs that threads shared: seconds of wall time, times threads, in which they worked; and in which they did
     * not, of that waiting at the end for the last one. The rest is waking up */
    double busy, idle, tail;
    uint64_t shared; /* runs that threads shared */
} wick_profile_row;
/* What thread number `worker` of the context did from start to stop, or to now; its speed and share as they are then
 * (wick/context.h). false, and zeros: there is none of that number, or threads are the host's. */
WICK_API bool wick_profile_worker(const wick_profile *profile, int worker, wick_worker_stats *out);
/* Rows of a view, those of most time first, as it was when wick_profile_rows was last called for it. */
WICK_API int wick_profile_rows(wick_profile *profile, wick_profile_view view);
WICK_API wick_profile_row wick_profile_row_at(const wick_profile *profile, wick_profile_view view, int i);

/* What takes a part of the wall time that is worth a look. */
typedef enum wick_bottleneck {
    WICK_BOUND_COMPUTE,
    WICK_BOUND_MEMORY, /* bandwidth */
    WICK_BOUND_SYNC,   /* threads wait for each other, or are woken for too little */
    WICK_BOUND_DATA,   /* the program waits for batches */
    WICK_BOUND_STARTUP /* plans are made */
} wick_bottleneck;
typedef struct wick_profile_finding {
    wick_bottleneck kind;
    const char *name;   /* "compute", "memory bandwidth", "synchronisation", "data", "start-up" */
    double share;       /* of the wall time of threads that run plans */
    char where[128];    /* the layer or line that has most of it; "" where it is none's */
    char evidence[384]; /* a sentence with the figures */
    char advice[384];   /* what to change, by the name of the option */
} wick_profile_finding;
enum { WICK_BOTTLENECKS = 5 };
/* Findings of `threshold` (0: 0.1) of the wall time or more, largest first; how many. */
WICK_API int wick_profile_findings(wick_profile *profile, double threshold, wick_profile_finding out[WICK_BOTTLENECKS]);

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Writes what was found, by the end of the name: .svg a flame graph that needs nothing else, .folded its stacks, one a
 * line with nanoseconds ("main;run;conv1;conv 1234"), .txt the tables, .json all of it. Stacks, in ns, sum to the
 * time that threads that run plans spent in runs, compiling, recording and waiting. The file is replaced as a whole; as
 * of options.timeline only a profile is. */
WICK_API WICK_MUST_CHECK wick_status wick_profile_write(wick_profile *profile, const char *path);
/* Before hours of work: whether wick_profile_write, or a timeline, could have that name. WICK_ERR_INVALID: by its
 * ending or by what is there; the context has the error. */
WICK_API WICK_MUST_CHECK wick_status wick_profile_may_write(wick_context *ctx, const char *path, bool timeline);
/* The text of .txt or .json; works like snprintf. Of a profile that is on it changes from call to call. */
WICK_API size_t wick_profile_format(wick_profile *profile, bool json, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
