/* wick/monitor.h: how a program's steps go while it runs: latency, throughput, memory, CPUs, and what the CPUs count.
 *
 *   wick_monitor_new(ctx, NULL, &m);
 *   for (...) {
 *       ... a step ...
 *       wick_monitor_set(m, "loss", loss);
 *       wick_monitor_step(m, batch);
 *       if (step % 100 == 0) wick_monitor_write(m, "metrics.txt");
 *   }
 *
 * A step costs two system calls, about a microsecond. */
#ifndef WICK_MONITOR_H
#define WICK_MONITOR_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_monitor wick_monitor;

/* What the CPUs counted, of this process in user mode. A number is NaN where the machine does not count it. */
typedef struct wick_counters {
    double cycles, instructions, cache_references, cache_misses, branch_misses;
    const char
        *why; /* NULL: they count; else why all are NaN: "not asked for", "kernel.perf_event_paranoid is 3 ..." */
} wick_counters;

typedef struct wick_monitor_stats {
    uint64_t steps, samples; /* since the beginning */
    double seconds;          /* that those steps took */
    /* Of the last `window` steps; quantiles are exact */
    wick_timing latency;
    double steps_per_second, samples_per_second; /* by what those steps took: pauses are none of it */
    /* Of the process now: resident bytes; the most there were. 0: the system does not tell */
    size_t memory, memory_peak;
    /* Of about the last window, of all of the process's threads, over wall time, pauses too */
    double wall;         /* seconds */
    double cpu;          /* CPUs in use: seconds of user and system time, a second */
    double user, system; /* seconds */
    double io_wait;      /* seconds that its main thread waited for disks; NaN: the system does not tell */
    uint64_t minor_faults, major_faults;         /* pages: from memory, and from a disk */
    uint64_t voluntary_switches, other_switches; /* of threads: they waited; they were to make room */
    wick_counters counters;
} wick_monitor_stats;

/* A step that has just ended. */
typedef struct wick_monitor_step_info {
    uint64_t step; /* from 1 */
    int64_t samples;
    double seconds;
} wick_monitor_step_info;

typedef struct wick_monitor_options {
    int window;    /* steps that latency and rates are of; 0: 100. At most 2^20 */
    bool counters; /* count cycles and such too, of the threads that there are and those they start */
    /* called at the end of each step, by the thread that ends it; may call wick_monitor_get_stats. NULL: not called */
    void (*on_step)(void *user, wick_monitor *monitor, const wick_monitor_step_info *step);
    void *user;
} wick_monitor_options;

/* options may be NULL. The context has the error; it may be freed before the monitor. One thread at a time. */
WICK_API WICK_MUST_CHECK wick_status wick_monitor_new(wick_context *ctx, const wick_monitor_options *options,
                                                      wick_monitor **out);
WICK_API void wick_monitor_free(wick_monitor **monitor); /* null-safe, nulls */

/* A step begins: at once after the one before, unless this is called, as after a pause for evaluation. */
WICK_API void wick_monitor_begin(wick_monitor *monitor);
/* A step of so many samples has ended. */
WICK_API void wick_monitor_step(wick_monitor *monitor, int64_t samples);
/* A number of the program's own, such as "loss", that is written with the rest; the name is copied. Up to 64 names of
 * up to 63 bytes; false: there are more, or the name is longer. */
WICK_API bool wick_monitor_set(wick_monitor *monitor, const char *name, double value);
WICK_API void wick_monitor_get_stats(wick_monitor *monitor, wick_monitor_stats *stats);

/* All of it as OpenMetrics text (prometheus.io's exposition format 1.0.0), to a file that a collector reads; of a name
 * that ends in .prom as Prometheus' own text format (0.0.4), which node exporter's textfile collector and promtool
 * read; of one that ends in .otlp.jsonl as one of OpenTelemetry's MetricsData messages, as
 * its file exporter writes them. The file is replaced as a whole. WICK_ERR_IO; the text is wick_monitor_error's. */
WICK_API WICK_MUST_CHECK wick_status wick_monitor_write(wick_monitor *monitor, const char *path);
/* The same text over HTTP, as http://127.0.0.1:PORT/metrics, until the monitor is freed: for collectors on this machine
 * that ask. A thread of its own answers, and makes the text for each request. port 0: one that is free.
 * WICK_ERR_INVALID: no port; WICK_ERR_BUSY: it is served already; WICK_ERR_IO: in use, or not allowed. */
WICK_API WICK_MUST_CHECK wick_status wick_monitor_serve(wick_monitor *monitor, int port);
WICK_API int wick_monitor_port(const wick_monitor *monitor);          /* 0: it is not served */
WICK_API const char *wick_monitor_error(const wick_monitor *monitor); /* of the last call that failed */

#ifdef __cplusplus
}
#endif
#endif
