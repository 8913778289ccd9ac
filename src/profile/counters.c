#include "profile/counters.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

#if defined(__linux__) && __has_include(<linux/perf_event.h>)
#include <linux/perf_event.h>
#include <sys/syscall.h>

static int open_one(uint64_t kind, int thread) {
    struct perf_event_attr a;
    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = PERF_TYPE_HARDWARE;
    a.config = kind;
    a.inherit = 1;
    a.exclude_kernel = 1; /* what an ordinary user may count */
    a.exclude_hv = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    return (int)syscall(SYS_perf_event_open, &a, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void explain(counters *c, int error) {
    char level[16] = "?";
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
    if (f) {
        if (!fgets(level, sizeof level, f)) level[0] = 0;
        fclose(f);
    }
    level[strcspn(level, "\n")] = 0;
    wick_str s = wick_str_on(c->why, sizeof c->why);
    if (error == EACCES || error == EPERM)
        wick_str_add(&s,
                     "not permitted: kernel.perf_event_paranoid is %s (2 or less lets a user count), or a sandbox "
                     "forbids it",
                     level);
    else if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        wick_str_add(&s, "this machine has no such counters, as virtual ones often have not");
    else
        wick_str_add(&s, "perf_event_open: %s", strerror(error));
}

void counters_open(counters *c) {
    static const uint64_t kinds[COUNTER_KINDS] = {PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
                                                  PERF_COUNT_HW_CACHE_REFERENCES, PERF_COUNT_HW_CACHE_MISSES,
                                                  PERF_COUNT_HW_BRANCH_MISSES};
    int any = 0, error = ENOENT;
    c->threads = 0;
    c->why[0] = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *e; tasks && (e = readdir(tasks)) && c->threads < COUNTER_THREADS;) {
        const int thread = atoi(e->d_name);
        if (thread <= 0) continue;
        for (int k = 0; k < COUNTER_KINDS; k++) {
            c->fd[c->threads][k] = open_one(kinds[k], thread);
            if (c->fd[c->threads][k] >= 0)
                any++;
            else if (errno != ESRCH)
                error = errno;
        }
        c->threads++;
    }
    if (tasks) closedir(tasks);
    if (!any) explain(c, error);
}

void counters_close(counters *c) {
    for (int t = 0; t < c->threads; t++)
        for (int k = 0; k < COUNTER_KINDS; k++)
            if (c->fd[t][k] >= 0) close(c->fd[t][k]);
    c->threads = 0;
}

void counters_read(const counters *c, double out[COUNTER_KINDS]) {
    for (int k = 0; k < COUNTER_KINDS; k++) {
        out[k] = NAN;
        for (int t = 0; t < c->threads; t++) {
            uint64_t v[3]; /* count, time enabled, time running */
            if (c->fd[t][k] < 0 || read(c->fd[t][k], v, sizeof v) != (ssize_t)sizeof v) continue;
            const double scaled = v[2] ? (double)v[0] * ((double)v[1] / (double)v[2]) : 0;
            out[k] = (isnan(out[k]) ? 0 : out[k]) + scaled;
        }
    }
}

#else

void counters_open(counters *c) {
    c->threads = 0;
    snprintf(c->why, sizeof c->why, "this system has no perf_event_open");
}
void counters_close(counters *c) { (void)c; }
void counters_read(const counters *c, double out[COUNTER_KINDS]) {
    (void)c;
    for (int k = 0; k < COUNTER_KINDS; k++) out[k] = NAN;
}

#endif
