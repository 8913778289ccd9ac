/* cpu_count.c: how many CPUs, and how much memory, this process may use. A container often sees every CPU of its host,
 * yet is stopped for the rest of each period once its cgroup's quota is used up; threads beyond the quota only make
 * that worse. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

#include "base/cpu.h"
#include "wick/context.h"

enum { FILE_MAX = 16384, PATH_LEN = 8192 };

bool wick_text_of_file(const char *path, char *text, size_t cap) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    size_t len = 0;
    ssize_t n;
    while (len + 1 < cap && ((n = read(fd, text + len, cap - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
        if (n > 0) len += (size_t)n;
    close(fd);
    text[len] = 0;
    return len > 0;
}

/* Reads a small file of the cgroup folder dir. */
static bool read_in(const char *dir, const char *name, char *text, size_t cap) {
    char path[PATH_LEN + 64];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && wick_text_of_file(path, text, cap);
}

/* What one cgroup allows, if that is less than *limit; 0: no limit. v2: which of the two generations its files are of.
 */
typedef void lower_fn(const char *dir, bool v2, uint64_t *limit);

static void lower(uint64_t *limit, uint64_t to) {
    if (*limit == 0 || to < *limit) *limit = to;
}

/* CPU time in microseconds per period: v2 writes "150000 100000" or "max 100000" in one file, v1 has two
 * files, with -1 for none. */
static void lower_to_quota(const char *dir, bool v2, uint64_t *cpus) {
    char text[128];
    long long quota = -1, period = 0;
    if (v2) {
        if (!read_in(dir, "cpu.max", text, sizeof text) || sscanf(text, "%lld %lld", &quota, &period) != 2) return;
    } else {
        if (!read_in(dir, "cpu.cfs_quota_us", text, sizeof text)) return;
        quota = strtoll(text, NULL, 10);
        if (!read_in(dir, "cpu.cfs_period_us", text, sizeof text)) return;
        period = strtoll(text, NULL, 10);
    }
    if (quota <= 0 || period <= 0) return;
    long long n = quota / period + (quota % period != 0);
    if (n < INT_MAX) lower(cpus, (uint64_t)n);
}

/* Bytes; none is "max" in v2 and a number near 2^63, cut to whole pages, in v1. */
static void lower_to_memory(const char *dir, bool v2, uint64_t *bytes) {
    char text[128];
    unsigned long long n;
    if (!read_in(dir, v2 ? "memory.max" : "memory.limit_in_bytes", text, sizeof text) || sscanf(text, "%llu", &n) != 1)
        return;
    if (n > 0 && n < 1ull << 62) lower(bytes, n);
}

/* Bytes that one cgroup still gives: its limit less what it uses. Pages of files that nobody has looked at lately count
 * as used, and are given up as soon as somebody asks. At least 1. */
static void lower_to_left(const char *dir, bool v2, uint64_t *bytes) {
    char text[FILE_MAX];
    uint64_t limit = 0;
    unsigned long long used, idle = 0;
    lower_to_memory(dir, v2, &limit);
    if (!limit || !read_in(dir, v2 ? "memory.current" : "memory.usage_in_bytes", text, sizeof text) ||
        sscanf(text, "%llu", &used) != 1)
        return;
    if (read_in(dir, "memory.stat", text, sizeof text)) {
        const char *at = strstr(text, v2 ? "\ninactive_file " : "\ntotal_inactive_file ");
        if (at) (void)sscanf(at, "%*s %llu", &idle);
    }
    used -= WICK_MIN(idle, used);
    lower(bytes, limit > used ? limit - used : 1);
}

/* A cgroup is bound by its own quota and by each ancestor's. The path may not exist under the mount (a container
 * without its own cgroup namespace sees the host's path); the mount's root then is the container's own cgroup. */
static void lower_to_path(const char *mount, const char *path, bool v2, lower_fn *fn, uint64_t *limit) {
    char dir[PATH_LEN];
    int n = snprintf(dir, sizeof dir, "%s%s", mount, strstr(path, "..") ? "" : path);
    if (n < 0 || (size_t)n >= sizeof dir) return;
    size_t root = strlen(mount), len = (size_t)n;
    while (len > root && dir[len - 1] == '/') dir[--len] = 0;
    for (;;) {
        fn(dir, v2, limit);
        if (len <= root) return;
        while (len > root && dir[len - 1] != '/') len--;
        if (len > root) len--;
        dir[len] = 0;
    }
}

static bool list_has(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == 0)) return true;
    return false;
}

/* What the cgroups of this process allow of what a controller of v1 gives. */
static uint64_t cgroup_limit(const char *root, const char *controller, lower_fn *fn) {
    char text[FILE_MAX], mount[PATH_LEN / 2];
    uint64_t limit = 0;
    snprintf(mount, sizeof mount, "%s/proc/self/cgroup", root);
    if (!wick_text_of_file(mount, text, sizeof text)) return 0;
    /* Lines of "id:controllers:path"; v2 has no controllers. */
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        list++;
        bool v2 = *list == 0;
        if (!v2 && !list_has(list, controller)) continue;
        /* The usual mount points: v2 alone, v2 beside v1; v1 by controller, v1 by the whole list. */
        const char *const under[2] = {v2 ? "" : controller, v2 ? "unified" : list};
        for (int i = 0; i < 2; i++) {
            const char *slash = under[i][0] ? "/" : "";
            int n = snprintf(mount, sizeof mount, "%s/sys/fs/cgroup%s%s", root, slash, under[i]);
            if (n > 0 && (size_t)n < sizeof mount) lower_to_path(mount, path, v2, fn, &limit);
        }
    }
    return limit;
}

int wick_cgroup_cpus(const char *root) { return (int)cgroup_limit(root, "cpu", lower_to_quota); }
uint64_t wick_cgroup_memory(const char *root) { return cgroup_limit(root, "memory", lower_to_memory); }
uint64_t wick_cgroup_memory_left(const char *root) { return cgroup_limit(root, "memory", lower_to_left); }

/* What the process's own limit of addresses (ulimit -v) leaves; 0: no limit. */
static uint64_t addresses_left(void) {
    struct rlimit limit;
    char text[128];
    unsigned long long pages;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        !wick_text_of_file("/proc/self/statm", text, sizeof text) || sscanf(text, "%llu", &pages) != 1)
        return 0;
    const uint64_t used = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 1;
}

uint64_t wick_memory_left(const char *root) {
    char path[PATH_LEN], text[FILE_MAX];
    uint64_t left = 0;
    unsigned long long kb;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    const char *at = wick_text_of_file(path, text, sizeof text) ? strstr(text, "\nMemAvailable:") : NULL;
    if (at && sscanf(at, "%*s %llu", &kb) == 1) lower(&left, (uint64_t)kb * 1024);
    const uint64_t others[] = {wick_cgroup_memory_left(root), addresses_left()};
    for (size_t i = 0; i < WICK_COUNTOF(others); i++)
        if (others[i]) lower(&left, others[i]);
    return left;
}

static int online_cpus(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < INT_MAX ? (int)n : 1;
}

static int affinity_cpus(void) {
#if defined(__linux__)
    /* The kernel refuses a mask smaller than its own with EINVAL, and its size is not told. */
    for (int cpus = CPU_SETSIZE; cpus <= 1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE(cpus);
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0, e = errno;
        CPU_FREE(set);
        if (n > 0) return n;
        if (e != EINVAL) break;
    }
#endif
    return online_cpus();
}

wick_limits wick_limits_get(void) {
    return (wick_limits){online_cpus(), affinity_cpus(), wick_cgroup_cpus(""), wick_cgroup_memory("")};
}

int wick_cpu_count(void) {
    const wick_limits limits = wick_limits_get();
    return WICK_MAX(limits.quota > 0 ? WICK_MIN(limits.affinity, limits.quota) : limits.affinity, 1);
}
