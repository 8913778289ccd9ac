#include "checklist.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wick/types.h"

static const char cpus[] = "/sys/devices/system/cpu";
enum { MOST_CPUS = 8192, TEXT = 16384 };
typedef struct patient {
    const char *root;
    check *c; /* that is being made */
} patient;

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* A whole small file, cut where it is longer; false: not readable, or empty. */
WICK_PRINTF(4, 5) static bool read_text(const patient *p, char *text, size_t size, const char *format, ...) {
    char path[1024];
    va_list args;
    va_start(args, format);
    int n = snprintf(path, sizeof path, "%s", p->root);
    if (n >= 0 && (size_t)n < sizeof path) n += vsnprintf(path + n, sizeof path - (size_t)n, format, args);
    va_end(args);
    FILE *f = n >= 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
    const size_t got = f ? fread(text, 1, size - 1, f) : 0;
    if (f) fclose(f);
    text[got] = '\0';
    return got > 0;
}
WICK_PRINTF(4, 5) static bool read_word(const patient *p, char *text, size_t size, const char *format, ...) {
    char path[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof path || !read_text(p, text, size, "%s", path)) return false;
    text[strcspn(text, " \t\n")] = '\0';
    return *text != '\0';
}
/* The whole number behind `key` at a line's beginning; false: there is none. */
static bool number_of(const char *text, const char *key, uint64_t *out) {
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *at = line + strlen(key) + strspn(line + strlen(key), " \t:=");
        if (!isdigit((unsigned char)*at)) continue;
        *out = strtoull(at, NULL, 10);
        return true;
    }
    return false;
}
/* How many numbers "0-3,8" has; 0: it is no list. */
static int count_list(const char *text) {
    int n = 0;
    while (isdigit((unsigned char)*text)) {
        char *end;
        const long from = strtol(text, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
        if (to < from || to - from >= MOST_CPUS) return 0;
        n += (int)(to - from) + 1;
        text = end + (*end == ',');
    }
    return n;
}

/* ---- what is found ----------------------------------------------------------------------------------------------- */

WICK_PRINTF(2, 3) static void good(patient *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->c->found, sizeof p->c->found, format, args);
    va_end(args);
    p->c->state = CHECK_GOOD;
}
/* After good or by itself: the fix. */
WICK_PRINTF(2, 3) static void bad(patient *p, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(p->c->fix, sizeof p->c->fix, format, args);
    va_end(args);
    p->c->state = CHECK_BAD;
}

/* The P-state drivers name "powersave" what follows the load; how much it does is their preference. */
static void governor(patient *p) {
    char name[32], driver[32], prefers[32];
    if (!read_word(p, name, sizeof name, "%s/cpu0/cpufreq/scaling_governor", cpus)) return;
    read_word(p, driver, sizeof driver, "%s/cpu0/cpufreq/scaling_driver", cpus);
    const bool pstate = strstr(driver, "pstate") != NULL;
    good(p, "%s%s%s", name, *driver ? " of " : "", driver);
    if (strcmp(name, "powersave") == 0 && !pstate)
        bad(p, "the CPU stays at its lowest frequency: cpupower frequency-set -g performance");
    else if (strcmp(name, "conservative") == 0)
        bad(p, "the CPU's frequency follows the load slowly: cpupower frequency-set -g performance");
    else if (pstate && read_word(p, prefers, sizeof prefers, "%s/cpu0/cpufreq/energy_performance_preference", cpus) &&
             strcmp(prefers, "power") == 0)
        bad(p, "the CPU prefers to save power: cpupower frequency-set -g performance, or write balance_performance to "
               "cpufreq/energy_performance_preference");
}

static void turbo(patient *p) {
    char off[16], on[16];
    const bool intel = read_word(p, off, sizeof off, "%s/intel_pstate/no_turbo", cpus),
               other = !intel && read_word(p, on, sizeof on, "%s/cpufreq/boost", cpus);
    if (!intel && !other) return;
    const bool is_off = intel ? strcmp(off, "1") == 0 : strcmp(on, "0") == 0;
    good(p, is_off ? "off" : "on");
    if (is_off)
        bad(p, "the CPU does not go beyond its base frequency: echo %s > %s/%s", intel ? "0" : "1", cpus,
            intel ? "intel_pstate/no_turbo" : "cpufreq/boost");
}

/* Cores: CPUs that are the first of the list of those that share theirs. */
static void smt(patient *p) {
    char text[256];
    if (!read_word(p, text, sizeof text, "%s/smt/active", cpus)) return;
    good(p, strcmp(text, "1") == 0 ? "on" : "off");
    if (strcmp(text, "1") != 0) return;
    int cores = 0, seen = 0;
    for (int i = 0; i < MOST_CPUS && i < seen + 64; i++) {
        if (!read_word(p, text, sizeof text, "%s/cpu%d/topology/thread_siblings_list", cpus, i)) continue;
        seen = i + 1;
        cores += atoi(text) == i;
    }
    if (cores)
        bad(p, "two hardware threads share a core's arithmetic: try --threads %d --pin scatter, one thread a core",
            cores);
    else
        bad(p, "two hardware threads share a core's arithmetic: try half as many --threads, with --pin scatter");
}

static void throttling(patient *p) {
    char text[64];
    uint64_t most = 0;
    bool told = false;
    for (int i = 0; i < MOST_CPUS; i++) {
        if (!read_word(p, text, sizeof text, "%s/cpu%d/thermal_throttle/core_throttle_count", cpus, i)) {
            if (i > 64) break;
            continue;
        }
        char *end;
        const uint64_t n = strtoull(text, &end, 10);
        if (end == text || *end) continue;
        told = true;
        most = n > most ? n : most;
    }
    if (!told) return;
    good(p, "%llu times since the start", (unsigned long long)most);
    if (most) bad(p, "a core was slowed down for its heat: clean or better the cooling, or lower the power limit");
}

static void thp(patient *p) {
    char text[128], *open, *close;
    if (!read_text(p, text, sizeof text, "/sys/kernel/mm/transparent_hugepage/enabled") ||
        !(open = strchr(text, '[')) || !(close = strchr(open, ']')))
        return;
    *close = '\0';
    good(p, "%s", open + 1);
    if (strcmp(open + 1, "never") == 0)
        bad(p, "transparent huge pages are off, and large networks a little slower: echo madvise > "
               "/sys/kernel/mm/transparent_hugepage/enabled");
}

static void hugetlb(patient *p) {
    char text[TEXT];
    uint64_t total, left, kilobytes = 2048;
    if (!read_text(p, text, sizeof text, "/proc/meminfo") || !number_of(text, "HugePages_Total", &total) ||
        !number_of(text, "HugePages_Free", &left))
        return;
    number_of(text, "Hugepagesize", &kilobytes);
    good(p, "%llu, %llu of them free", (unsigned long long)total, (unsigned long long)left);
    if (left)
        bad(p, "%.4g MB are set aside as huge pages that nobody uses, Wick neither: sysctl vm.nr_hugepages=%llu",
            (double)left * (double)kilobytes * 1024e-6, (unsigned long long)(total - left));
}

static void numa(patient *p) {
    char text[256];
    if (!read_word(p, text, sizeof text, "/sys/devices/system/node/has_memory") &&
        !read_word(p, text, sizeof text, "/sys/devices/system/node/online"))
        return;
    const int n = count_list(text);
    if (!n) return;
    good(p, "%d node%s", n, n == 1 ? "" : "s");
    if (n > 1)
        bad(p, "memory of another node is slower: try --pin compact --numa first-touch, or --numa interleave where all "
               "threads read the same weights");
}

static void steal(patient *p) {
    char text[512];
    unsigned long long t[8];
    if (!read_text(p, text, sizeof text, "/proc/stat") || sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t,
                                                                 t + 1, t + 2, t + 3, t + 4, t + 5, t + 6, t + 7) != 8)
        return;
    double all = 0;
    for (int i = 0; i < 8; i++) all += (double)t[i];
    const double used = all - (double)t[3] - (double)t[4], part = used > 0 ? (double)t[7] / used : 0;
    good(p, "%.2g %% of the time that CPUs were wanted", 100 * part);
    if (part > 0.01)
        bad(p, "the host of this virtual machine gave its CPUs to others: ask for CPUs of its own, or another host");
}

/* One of the files: what must not be above `most` percent of the last minute. */
static double pressure(const patient *p, const char *name) {
    char text[256], *at;
    if (!read_text(p, text, sizeof text, "/proc/pressure/%s", name) || strncmp(text, "some ", 5) != 0 ||
        !(at = strstr(text, "avg60=")))
        return -1;
    return strtod(at + 6, NULL);
}
static void psi(patient *p) {
    const double cpu = pressure(p, "cpu"), memory = pressure(p, "memory"), io = pressure(p, "io");
    if (cpu < 0 && memory < 0 && io < 0) return;
    good(p, "cpu %.3g %%, memory %.3g %%, io %.3g %% of the last minute", cpu < 0 ? 0 : cpu, memory < 0 ? 0 : memory,
         io < 0 ? 0 : io);
    if (memory > 1)
        bad(p, "programs waited for memory: a smaller --batch, --memory-budget, or fewer programs beside this one");
    else if (io > 10)
        bad(p, "programs waited for disks: wick data pack makes one file of many, and --workers reads ahead");
    else if (cpu > 10)
        bad(p, "programs waited for a CPU: end others, or use fewer --threads");
}

/* Columns are CPUs; rows that begin with a number are devices. */
static void irq(patient *p) {
    char *text = malloc(1 << 20);
    static double by_cpu[MOST_CPUS];
    double all = 0, most = 0;
    int n = 0, busiest = 0;
    if (!text || !read_text(p, text, 1 << 20, "/proc/interrupts")) {
        free(text);
        return;
    }
    memset(by_cpu, 0, sizeof by_cpu);
    char *rest = NULL, *line = strtok_r(text, "\n", &rest);
    for (char *at = line; at && (at = strstr(at, "CPU")) && n < MOST_CPUS; at += 3) n++;
    while ((line = strtok_r(NULL, "\n", &rest))) {
        char *at = line + strspn(line, " ");
        if (!isdigit((unsigned char)*at) || !(at = strchr(at, ':'))) continue;
        at++;
        for (int i = 0; i < n; i++) {
            char *end;
            const double k = strtod(at, &end);
            if (end == at) break;
            by_cpu[i] += k, all += k;
            at = end;
        }
    }
    free(text);
    if (!n) return;
    for (int i = 0; i < n; i++)
        if (by_cpu[i] > most) most = by_cpu[i], busiest = i;
    good(p, "%.3g of devices, %.0f %% of them on CPU %d", all, all > 0 ? 100 * most / all : 0, busiest);
    if (n >= 4 && all > 1e6 && most > 0.8 * all)
        bad(p, "one CPU serves all devices: start irqbalance, or keep threads off it: --pin with a list without %d",
            busiest);
}

/* The folder of this process's CPU controller, whose cpu.stat it reads. */
static bool read_cgroup(const patient *p, char *stat, size_t size) {
    char text[TEXT], *rest = NULL;
    if (!read_text(p, text, sizeof text, "/proc/self/cgroup")) return false;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path || strstr(path, "..")) continue;
        *path++ = '\0', list++;
        if (*list && strcmp(list, "cpu") != 0 && strcmp(list, "cpu,cpuacct") != 0) continue;
        const char *under = *list ? "/cpu" : "";
        if (strcmp(path, "/") == 0) path++;
        if (read_text(p, stat, size, "/sys/fs/cgroup%s%s/cpu.stat", under, path) ||
            read_text(p, stat, size, "/sys/fs/cgroup%s/cpu.stat", under))
            return true;
    }
    return false;
}
static void quota(patient *p) {
    char stat[2048];
    uint64_t periods, stopped;
    if (!read_cgroup(p, stat, sizeof stat) || !number_of(stat, "nr_periods", &periods) ||
        !number_of(stat, "nr_throttled", &stopped))
        return;
    good(p, "stopped in %llu of %llu periods", (unsigned long long)stopped, (unsigned long long)periods);
    if (stopped && (double)stopped > 0.01 * (double)periods)
        bad(p,
            "the cgroup's quota was used up, and all threads stopped: raise it (docker run --cpus, systemd CPUQuota=), "
            "or use fewer --threads");
}

/* The soft limit in the line that begins with `name`; 2^64 - 1: unlimited, or not told. */
static uint64_t limit_of(const char *text, const char *name) {
    uint64_t n;
    return number_of(text, name, &n) ? n : UINT64_MAX;
}
static void ulimits(patient *p) {
    char text[TEXT];
    if (!read_text(p, text, sizeof text, "/proc/self/limits")) return;
    const uint64_t files = limit_of(text, "Max open files"), space = limit_of(text, "Max address space"),
                   data = limit_of(text, "Max data size"), tasks = limit_of(text, "Max processes"),
                   time = limit_of(text, "Max cpu time");
    good(p, "none in the way");
    if (space != UINT64_MAX || data != UINT64_MAX) {
        good(p, "%.4g MB of addresses", (double)(space < data ? space : data) * 1e-6);
        bad(p, "large files and --memory-pool need addresses: ulimit -v unlimited; ulimit -d unlimited");
    } else if (files < 1024) {
        good(p, "%llu open files", (unsigned long long)files);
        bad(p, "data sets of many files and --workers need more: ulimit -n 4096");
    } else if (tasks < 256) {
        good(p, "%llu threads of this user", (unsigned long long)tasks);
        bad(p, "--threads and --workers may get fewer than they ask for: ulimit -u 4096");
    } else if (time != UINT64_MAX) {
        good(p, "%llu s of CPU time", (unsigned long long)time);
        bad(p, "a long training would be ended: ulimit -t unlimited");
    }
}

static void affinity(patient *p) {
    char text[TEXT], online[256], allowed[256] = "";
    if (!read_word(p, online, sizeof online, "%s/online", cpus) ||
        !read_text(p, text, sizeof text, "/proc/self/status"))
        return;
    const char *at = strstr(text, "\nCpus_allowed_list:");
    if (!at || sscanf(at + strlen("\nCpus_allowed_list:"), " %255s", allowed) != 1) return;
    const int all = count_list(online), n = count_list(allowed);
    if (!all || !n) return;
    good(p, "%d of %d CPUs", n, all);
    if (n < all)
        bad(p,
            "the affinity mask leaves %d of %d CPUs to this process: taskset -c %.60s, or see the cpuset or batch "
            "system",
            n, all, online);
}

int checklist(const char *root, check checks[CHECKS_MAX]) {
    static const struct {
        const char *name;
        void (*look)(patient *p);
    } all[] = {{"governor", governor}, {"turbo", turbo},     {"smt", smt},      {"throttling", throttling},
               {"thp", thp},           {"hugetlb", hugetlb}, {"numa", numa},    {"affinity", affinity},
               {"quota", quota},       {"steal", steal},     {"pressure", psi}, {"interrupts", irq},
               {"ulimits", ulimits}};
    const int n = (int)(sizeof all / sizeof *all);
    patient p = {.root = root};
    for (int i = 0; i < n; i++) {
        p.c = &checks[i];
        *p.c = (check){.name = all[i].name};
        all[i].look(&p);
    }
    return n;
}
