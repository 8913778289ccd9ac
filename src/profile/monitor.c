/* monitor.c: steps and what the process takes for them. Latencies are kept one by one, for exact quantiles; what the
 * system counts is looked at now and then, and told over the time since the oldest look of the window. */
#include "wick/monitor.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "codegen/text.h"
#include "profile/counters.h"
#include "profile/endpoint.h"
#include "profile/otlp.h"
#include "tensor/tensor.h"
#include "base/probe.h"

enum { WINDOW = 100, WINDOW_MAX = 1 << 20, LOOKS = 9, NAMES = 64, NAME_SIZE = 64 };

/* What the system had counted at one moment. */
typedef struct look {
    uint64_t at; /* ns */
    double user, system, io_wait;
    uint64_t minor, major, voluntary, other;
    double counted[COUNTER_KINDS];
} look;

struct wick_monitor {
    wick_monitor_options options;
    size_t bytes;                   /* of this block */
    endpoint *endpoint;             /* its thread reads what follows */
    pthread_mutex_t lock;           /* of what follows */
    uint64_t steps, samples, total; /* ns of all steps */
    uint64_t began;
    uint64_t made; /* by otlp_now */
    look looks[LOOKS]; /* a ring: at every eighth of a window */
    uint64_t n_looks;
    struct {
        char name[NAME_SIZE];
        double value;
    } own[NAMES];
    int n_own;
    counters counters;
    wick_msg msg;
    uint64_t *sorted; /* room for one window */
    struct {
        uint64_t ns;
        int64_t samples;
    } ring[];
};

/* ---- what the system tells --------------------------------------------------------------------------------------- */

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

/* Field 42 of /proc/self/stat, behind the name in brackets: ticks that it waited for disks, where the kernel counts
 * them. */
static double io_wait(void) {
    char text[1024];
    FILE *f = fopen("/proc/sys/kernel/task_delayacct", "r");
    int on = 0;
    if (f && fscanf(f, "%d", &on) != 1) on = 0;
    if (f) fclose(f);
    if (!on || !(f = fopen("/proc/self/stat", "r"))) return NAN;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 42; field++) at = strchr(at + 1, ' ');
    return at ? strtod(at, NULL) / (double)sysconf(_SC_CLK_TCK) : NAN;
}

static size_t resident(void) {
    unsigned long long whole, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%llu %llu", &whole, &pages) != 2) pages = 0;
    fclose(f);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static look look_now(const wick_monitor *m) {
    struct rusage use;
    look l = {.at = wick_now_ns(), .io_wait = io_wait()};
    if (getrusage(RUSAGE_SELF, &use) == 0) {
        l.user = seconds_of(use.ru_utime);
        l.system = seconds_of(use.ru_stime);
        l.minor = (uint64_t)use.ru_minflt;
        l.major = (uint64_t)use.ru_majflt;
        l.voluntary = (uint64_t)use.ru_nvcsw;
        l.other = (uint64_t)use.ru_nivcsw;
    }
    counters_read(&m->counters, l.counted);
    return l;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

wick_status wick_monitor_new(wick_context *ctx, const wick_monitor_options *options, wick_monitor **out) {
    static const wick_monitor_options defaults;
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "monitor_new: out is NULL");
    *out = NULL;
    if (!options) options = &defaults;
    const int window = options->window ? options->window : WINDOW;
    if (window < 0 || window > WINDOW_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "monitor: a window of %d steps: 1 to 2^20", window);
    const size_t bytes = sizeof(wick_monitor) + (size_t)window * sizeof *(*out)->ring;
    wick_monitor *m = wick_calloc(NULL, bytes);
    if (!m || !(m->sorted = wick_alloc(NULL, (size_t)window * sizeof *m->sorted))) {
        wick_release(NULL, m, bytes);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "monitor: out of memory");
    }
    m->made = otlp_now();
    pthread_mutex_init(&m->lock, NULL);
    m->bytes = bytes;
    m->options = *options;
    m->options.window = window;
    if (options->counters)
        counters_open(&m->counters);
    else
        snprintf(m->counters.why, sizeof m->counters.why, "not asked for");
    m->looks[m->n_looks++] = look_now(m);
    m->began = wick_now_ns();
    *out = m;
    return WICK_OK;
}

void wick_monitor_free(wick_monitor **monitor) {
    wick_monitor *m = monitor ? *monitor : NULL;
    if (!m) return;
    *monitor = NULL;
    endpoint_close(&m->endpoint);
    pthread_mutex_destroy(&m->lock);
    counters_close(&m->counters);
    wick_release(NULL, m->sorted, (size_t)m->options.window * sizeof *m->sorted);
    wick_release(NULL, m, m->bytes);
}

void wick_monitor_begin(wick_monitor *m) {
    pthread_mutex_lock(&m->lock);
    m->began = wick_now_ns();
    pthread_mutex_unlock(&m->lock);
}

void wick_monitor_step(wick_monitor *m, int64_t samples) {
    pthread_mutex_lock(&m->lock);
    const uint64_t now = wick_now_ns(), ns = now - m->began, window = (uint64_t)m->options.window;
    m->ring[m->steps % window].ns = ns;
    m->ring[m->steps % window].samples = samples;
    m->steps++;
    m->samples += (uint64_t)WICK_MAX(samples, 0);
    m->total += ns;
    m->began = now;
    if (m->steps % WICK_MAX(window / (LOOKS - 1), 1) == 0) m->looks[m->n_looks++ % LOOKS] = look_now(m);
    pthread_mutex_unlock(&m->lock);
    WICK_PROBE3("step", m->steps, samples, ns);
    if (m->options.on_step)
        m->options.on_step(
            m->options.user, m,
            &(wick_monitor_step_info){.step = m->steps, .samples = samples, .seconds = (double)ns * 1e-9});
}

bool wick_monitor_set(wick_monitor *m, const char *name, double value) {
    if (!name || !*name || strlen(name) >= NAME_SIZE) return false;
    pthread_mutex_lock(&m->lock);
    int i = 0;
    while (i < m->n_own && strcmp(m->own[i].name, name) != 0) i++;
    if (i == m->n_own && i < NAMES) memcpy(m->own[m->n_own++].name, name, strlen(name) + 1);
    if (i < NAMES) m->own[i].value = value;
    pthread_mutex_unlock(&m->lock);
    return i < NAMES;
}

/* ---- what there is to tell --------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* By the nearest rank. */
static double quantile(const uint64_t *sorted, uint64_t n, double q) {
    const uint64_t rank = (uint64_t)ceil(q * (double)n);
    return (double)sorted[WICK_MAX(rank, 1) - 1] * 1e-9;
}

static void take_latency(wick_monitor *m, wick_monitor_stats *s) {
    const uint64_t n = WICK_MIN(m->steps, (uint64_t)m->options.window);
    if (!n) return;
    uint64_t sum = 0;
    int64_t samples = 0;
    for (uint64_t i = 0; i < n; i++) {
        m->sorted[i] = m->ring[i].ns;
        sum += m->ring[i].ns;
        samples += m->ring[i].samples;
    }
    qsort(m->sorted, n, sizeof *m->sorted, by_number);
    const double seconds = (double)WICK_MAX(sum, 1) * 1e-9;
    s->latency = (wick_timing){.count = n,
                               .total = (double)sum * 1e-9,
                               .min = (double)m->sorted[0] * 1e-9,
                               .max = (double)m->sorted[n - 1] * 1e-9,
                               .mean = (double)sum * 1e-9 / (double)n,
                               .median = quantile(m->sorted, n, 0.5),
                               .p95 = quantile(m->sorted, n, 0.95),
                               .p99 = quantile(m->sorted, n, 0.99)};
    s->steps_per_second = (double)n / seconds;
    s->samples_per_second = (double)samples / seconds;
}

void wick_monitor_get_stats(wick_monitor *m, wick_monitor_stats *s) {
    if (!s) return;
    memset(s, 0, sizeof *s);
    pthread_mutex_lock(&m->lock);
    const look now = look_now(m), *from = &m->looks[m->n_looks < LOOKS ? 0 : m->n_looks % LOOKS];
    struct rusage use;
    s->steps = m->steps;
    s->samples = m->samples;
    s->seconds = (double)m->total * 1e-9;
    take_latency(m, s);
    s->memory = resident();
    if (getrusage(RUSAGE_SELF, &use) == 0) s->memory_peak = WICK_MAX((size_t)use.ru_maxrss * 1024, s->memory);
    s->wall = (double)(now.at - from->at) * 1e-9;
    s->user = now.user - from->user;
    s->system = now.system - from->system;
    s->cpu = s->wall > 0 ? (s->user + s->system) / s->wall : 0;
    s->io_wait = now.io_wait - from->io_wait;
    s->minor_faults = now.minor - from->minor;
    s->major_faults = now.major - from->major;
    s->voluntary_switches = now.voluntary - from->voluntary;
    s->other_switches = now.other - from->other;
    double *const to[COUNTER_KINDS] = {&s->counters.cycles, &s->counters.instructions, &s->counters.cache_references,
                                       &s->counters.cache_misses, &s->counters.branch_misses};
    for (int k = 0; k < COUNTER_KINDS; k++) *to[k] = now.counted[k] - from->counted[k];
    s->counters.why = *m->counters.why ? m->counters.why : NULL;
    pthread_mutex_unlock(&m->lock);
}

/* ---- OpenMetrics ------------------------------------------------------------------------------------------------- */

/* And, with prom, Prometheus' own text: there what is said of a counter has its _total, too, and there are no units. */
static void number(wick_text *out, double v) {
    if (isnan(v))
        wick_text_add(out, "NaN\n");
    else if (isinf(v))
        wick_text_add(out, v > 0 ? "+Inf\n" : "-Inf\n");
    else
        wick_text_add(out, "%.17g\n", v);
}

static void head(wick_text *out, bool prom, const char *name, const char *type, const char *unit, const char *help) {
    const char *end = prom && strcmp(type, "counter") == 0 ? "_total" : "";
    wick_text_add(out, "# TYPE wick_%s%s %s\n", name, end, type);
    if (*unit && !prom) wick_text_add(out, "# UNIT wick_%s %s\n", name, unit);
    wick_text_add(out, "# HELP wick_%s%s %s\n", name, end, help);
}

static void summary(wick_text *out, bool prom, const wick_monitor_stats *s) {
    const struct {
        const char *q;
        double v;
    } rows[] = {{"0.5", s->latency.median}, {"0.95", s->latency.p95}, {"0.99", s->latency.p99}};
    head(out, prom, "step_seconds", "summary", "seconds", "How long steps take, quantiles of the last ones.");
    for (size_t i = 0; i < WICK_COUNTOF(rows); i++) {
        wick_text_add(out, "wick_step_seconds{quantile=\"%s\"} ", rows[i].q);
        number(out, s->latency.count ? rows[i].v : NAN);
    }
    wick_text_add(out, "wick_step_seconds_count %llu\nwick_step_seconds_sum ", (unsigned long long)s->steps);
    number(out, s->seconds);
}

/* Names of the program's own are values of a label: they can't meet those of others. */
static void own_gauges(wick_monitor *m, bool prom, wick_text *out) {
    pthread_mutex_lock(&m->lock);
    if (m->n_own) head(out, prom, "value", "gauge", "", "Numbers of the program's own.");
    for (int i = 0; i < m->n_own; i++) {
        wick_text_add(out, "wick_value{name=\"");
        for (const char *c = m->own[i].name; *c; c++) {
            if (*c == '"' || *c == '\\')
                wick_text_add(out, "\\%c", *c);
            else if (*c == '\n')
                wick_text_add(out, "\\n");
            else
                wick_text_bytes(out, c, 1);
        }
        wick_text_add(out, "\"} ");
        number(out, m->own[i].value);
    }
    pthread_mutex_unlock(&m->lock);
}

int monitor_metrics(const wick_monitor_stats *s, monitor_metric out[MONITOR_METRICS]) {
    const monitor_metric all[] = {
        {"steps", "", "Steps so far.", (double)s->steps, true},
        {"samples", "", "Samples so far.", (double)s->samples, true},
        {"samples_per_second", "", "Of the last steps.", s->samples_per_second, false},
        {"memory_bytes", "bytes", "Resident.", (double)s->memory, false},
        {"memory_peak_bytes", "bytes", "The most that was resident.", (double)s->memory_peak, false},
        {"cpus", "", "CPUs in use, of late.", s->cpu, false},
        {"io_wait_seconds", "seconds", "Waiting for disks, of late.", s->io_wait, false},
        {"minor_faults", "", "Pages, of late.", (double)s->minor_faults, false},
        {"major_faults", "", "Pages from a disk, of late.", (double)s->major_faults, false},
        {"voluntary_switches", "", "Threads that waited, of late.", (double)s->voluntary_switches, false},
        {"involuntary_switches", "", "Threads that made room, of late.", (double)s->other_switches, false},
        {"cycles", "", "Of CPUs in user mode, of late.", s->counters.cycles, false},
        {"instructions", "", "Of late.", s->counters.instructions, false},
        {"cache_references", "", "Of late.", s->counters.cache_references, false},
        {"cache_misses", "", "Of late.", s->counters.cache_misses, false},
        {"branch_misses", "", "Of late.", s->counters.branch_misses, false}};
    _Static_assert(WICK_COUNTOF(all) == MONITOR_METRICS, "all of them");
    int n = 0;
    for (int i = 0; i < MONITOR_METRICS; i++)
        if (!isnan(all[i].value)) out[n++] = all[i]; /* the others are not known */
    return n;
}

static void print_text(wick_monitor *m, bool prom, wick_text *out) {
    wick_monitor_stats s;
    monitor_metric metrics[MONITOR_METRICS];
    wick_monitor_get_stats(m, &s);
    const int n = monitor_metrics(&s, metrics);
    for (int i = 0; i < n; i++) {
        const monitor_metric *x = &metrics[i];
        head(out, prom, x->name, x->counter ? "counter" : "gauge", x->unit, x->help);
        wick_text_add(out, "wick_%s%s ", x->name, x->counter ? "_total" : "");
        number(out, x->value);
    }
    summary(out, prom, &s);
    own_gauges(m, prom, out);
    if (!prom) wick_text_add(out, "# EOF\n");
}
static void write_text(void *monitor, wick_text *out) { print_text(monitor, false, out); }

static bool ends_with(const char *path, const char *end) {
    const size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

static void write_otlp(wick_monitor *m, wick_text *out) {
    wick_monitor_stats s;
    wick_monitor_get_stats(m, &s);
    otlp_metrics_begin(out, &s, m->made);
    pthread_mutex_lock(&m->lock);
    for (int i = 0; i < m->n_own; i++) otlp_metrics_own(out, m->own[i].name, m->own[i].value, i == 0);
    const bool own = m->n_own > 0;
    pthread_mutex_unlock(&m->lock);
    otlp_metrics_end(out, own);
}

wick_status wick_monitor_write(wick_monitor *m, const char *path) {
    wick_text out = {0};
    wick_writer *w = NULL;
    if (!path) return wick_msg_set(&m->msg, WICK_ERR_INVALID, "monitor_write: path is NULL");
    if (ends_with(path, ".otlp.jsonl")) write_otlp(m, &out);
    else print_text(m, ends_with(path, ".prom"), &out);
    wick_status status = out.failed ? wick_msg_set(&m->msg, WICK_ERR_NOMEM, "%s: out of memory", path)
                                    : wick_writer_open(&w, path, &m->msg);
    if (status == WICK_OK) status = wick_writer_write(w, out.at, out.len, &m->msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, &m->msg);
    wick_writer_abort(&w);
    wick_text_free(&out);
    return status;
}

wick_status wick_monitor_serve(wick_monitor *m, int port) {
    if (m->endpoint)
        return wick_msg_set(&m->msg, WICK_ERR_BUSY, "monitor_serve: it is served at port %d",
                            endpoint_port(m->endpoint));
    return endpoint_open(&m->endpoint, port, write_text, m, &m->msg);
}
int wick_monitor_port(const wick_monitor *m) { return m->endpoint ? endpoint_port(m->endpoint) : 0; }

const char *wick_monitor_error(const wick_monitor *m) { return m->msg.text; }
