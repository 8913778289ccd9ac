#include "runtime/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cpu.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { TEXT_MAX = 16384 };

int wick_cpu_set_count(const wick_cpu_set *s) {
    int n = 0;
    for (size_t i = 0; i < WICK_COUNTOF(s->bits); i++) n += __builtin_popcountll(s->bits[i]);
    return n;
}

/* A number below WICK_CPUS_MAX; -1: none. */
static int number(const char **at) {
    int n = 0;
    if (**at < '0' || **at > '9') return -1;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if ((n = 10 * n + (**at - '0')) >= WICK_CPUS_MAX) return -1;
    return n;
}

bool wick_cpu_list_parse(const char *at, wick_cpu_set *out) {
    *out = (wick_cpu_set){{0}};
    while (*at && *at != '\n') {
        const int from = number(&at);
        int to = from;
        if (*at == '-') at++, to = number(&at);
        if (from < 0 || to < from) return false;
        for (int i = from; i <= to; i++) out->bits[i / 64] |= (uint64_t)1 << i % 64;
        if (*at == ',' && at[1] && at[1] != '\n')
            at++;
        else if (*at && *at != '\n')
            return false;
    }
    return true;
}

bool wick_cpu_set_allowed(wick_cpu_set *out) {
    *out = (wick_cpu_set){{0}};
#if defined(__linux__)
    return sched_getaffinity(0, sizeof out->bits, (cpu_set_t *)(void *)out->bits) == 0;
#else
    return false;
#endif
}

/* ---- /sys -------------------------------------------------------------------------------------------------------- */

WICK_PRINTF(3, 4) static bool read_list(const char *root, wick_cpu_set *out, const char *format, ...) {
    char path[512], text[TEXT_MAX];
    int n = snprintf(path, sizeof path, "%s", root);
    va_list args;
    va_start(args, format);
    if (n >= 0 && (size_t)n < sizeof path) n += vsnprintf(path + n, sizeof path - (size_t)n, format, args);
    va_end(args);
    *out = (wick_cpu_set){{0}};
    return n >= 0 && (size_t)n < sizeof path && wick_text_of_file(path, text, sizeof text) &&
           wick_cpu_list_parse(text, out);
}

/* The number in a CPU's topology folder; `otherwise` where there is none. */
static int read_place(const char *root, int cpu, const char *name, int otherwise) {
    char path[512], text[64], *end;
    const int n = snprintf(path, sizeof path, "%s/sys/devices/system/cpu/cpu%d/topology/%s", root, cpu, name);
    if (n < 0 || (size_t)n >= sizeof path || !wick_text_of_file(path, text, sizeof text)) return otherwise;
    const long value = strtol(text, &end, 10);
    return end != text && value >= 0 && value <= INT_MAX ? (int)value : otherwise;
}

bool wick_numa_nodes(const char *root, wick_cpu_set *out) {
    return read_list(root, out, "/sys/devices/system/node/has_memory") ||
           read_list(root, out, "/sys/devices/system/node/online");
}

void wick_numa_nodes_of(const char *root, const wick_cpu_set *cpus, wick_cpu_set *nodes) {
    wick_cpu_set all, its;
    *nodes = (wick_cpu_set){{0}};
    if (!wick_numa_nodes(root, &all)) return;
    for (int node = 0; node < WICK_CPUS_MAX; node++) {
        if (!wick_cpu_in(&all, node) || !read_list(root, &its, "/sys/devices/system/node/node%d/cpulist", node))
            continue;
        uint64_t both = 0;
        for (size_t i = 0; i < WICK_COUNTOF(its.bits); i++) both |= its.bits[i] & cpus->bits[i];
        if (both) nodes->bits[node / 64] |= (uint64_t)1 << node % 64;
    }
}

/* ---- the order --------------------------------------------------------------------------------------------------- */

typedef struct place {
    int cpu, node, package, core;
    int turn; /* which hardware thread of its core */
    int nth;  /* which core of its node */
} place;

static int by_place(const void *x, const void *y) {
    const place *a = x, *b = y;
    const int keys[][2] = {{a->node, b->node}, {a->package, b->package}, {a->core, b->core}, {a->cpu, b->cpu}};
    for (size_t i = 0; i < WICK_COUNTOF(keys); i++)
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}
static int by_turn(const void *x, const void *y) {
    const place *a = x, *b = y;
    const int keys[][2] = {{a->turn, b->turn}, {a->nth, b->nth}, {a->node, b->node}, {a->cpu, b->cpu}};
    for (size_t i = 0; i < WICK_COUNTOF(keys); i++)
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static void read_nodes(const char *root, place *at, int n) {
    wick_cpu_set nodes, its;
    if (!read_list(root, &nodes, "/sys/devices/system/node/online")) return; /* one node */
    for (int node = 0; node < WICK_CPUS_MAX; node++) {
        if (!wick_cpu_in(&nodes, node) || !read_list(root, &its, "/sys/devices/system/node/node%d/cpulist", node))
            continue;
        for (int i = 0; i < n; i++)
            if (wick_cpu_in(&its, at[i].cpu)) at[i].node = node;
    }
}

int wick_cpu_order(const char *root, const wick_cpu_set *allowed, wick_pin pin, int order[WICK_CPUS_MAX]) {
    int n = 0;
    place *at = calloc((size_t)WICK_MAX(wick_cpu_set_count(allowed), 1), sizeof *at);
    for (int cpu = 0; cpu < WICK_CPUS_MAX; cpu++) {
        if (!wick_cpu_in(allowed, cpu)) continue;
        order[n] = cpu;
        if (at)
            at[n] = (place){.cpu = cpu,
                            .package = read_place(root, cpu, "physical_package_id", 0),
                            .core = read_place(root, cpu, "core_id", cpu)};
        n++;
    }
    if (!at || pin == WICK_PIN_LIST) { /* by number; without memory too */
        free(at);
        return n;
    }
    read_nodes(root, at, n);
    qsort(at, (size_t)n, sizeof *at, by_place);
    for (int i = 1; i < n; i++) {
        const bool node = at[i].node == at[i - 1].node;
        const bool core = node && at[i].package == at[i - 1].package && at[i].core == at[i - 1].core;
        at[i].turn = core ? at[i - 1].turn + 1 : 0;
        at[i].nth = core ? at[i - 1].nth : node ? at[i - 1].nth + 1 : 0;
    }
    if (pin == WICK_PIN_SCATTER) qsort(at, (size_t)n, sizeof *at, by_turn);
    for (int i = 0; i < n; i++) order[i] = at[i].cpu;
    free(at);
    return n;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

#if defined(__linux__) && defined(SYS_mbind)
/* linux/mempolicy.h, which not every system has installed */
enum { POLICY_BIND = 2, POLICY_INTERLEAVE = 3, POLICY_LOCAL = 4, MOST_NODES = 1024 };

int wick_numa_apply(const wick_numa_policy *p, void *ptr, size_t size) {
    static const int modes[] = {[WICK_NUMA_BIND] = POLICY_BIND,
                                [WICK_NUMA_INTERLEAVE] = POLICY_INTERLEAVE,
                                [WICK_NUMA_FIRST_TOUCH] = POLICY_LOCAL};
    if (p->mode == WICK_NUMA_NONE) return 0;
    const bool local = p->mode == WICK_NUMA_FIRST_TOUCH;
    return syscall(SYS_mbind, ptr, size, modes[p->mode], local ? NULL : p->nodes.bits, local ? 0ul : MOST_NODES + 1ul,
                   0u) == 0
               ? 0
               : errno;
}

int wick_numa_try(const wick_numa_policy *p) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return errno;
    const int refused = wick_numa_apply(p, at, page);
    munmap(at, page);
    return refused;
}

enum { HUGE_PAGE = 2 << 20 };

/* Mapped with room to cut off, so that it begins at a huge page. */
static void *numa_alloc(void *user, size_t size, size_t align) {
    wick_numa_policy *p = user;
    if (size < WICK_NUMA_FROM) return p->below.alloc(p->below.user, size, align);
    if (size > PTRDIFF_MAX - 2 * (size_t)HUGE_PAGE) return NULL;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = WICK_ALIGN_UP(size, page), whole = bytes + HUGE_PAGE;
    char *from = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (from == MAP_FAILED) return NULL;
    char *at = from + (WICK_ALIGN_UP((uintptr_t)from, (uintptr_t)HUGE_PAGE) - (uintptr_t)from);
    if (at > from) munmap(from, (size_t)(at - from));
    if (from + whole > at + bytes) munmap(at + bytes, (size_t)(from + whole - (at + bytes)));
    (void)wick_numa_apply(p, at, bytes);
#ifdef MADV_HUGEPAGE
    if (size >= 2 * (size_t)HUGE_PAGE) (void)madvise(at, bytes, MADV_HUGEPAGE);
#endif
    return at;
}
static void numa_release(void *user, void *ptr, size_t size) {
    wick_numa_policy *p = user;
    if (size < WICK_NUMA_FROM)
        p->below.release(p->below.user, ptr, size);
    else
        munmap(ptr, WICK_ALIGN_UP(size, (size_t)sysconf(_SC_PAGESIZE)));
}
wick_allocator wick_numa_allocator(wick_numa_policy *p) { return (wick_allocator){p, numa_alloc, numa_release}; }
#else
int wick_numa_apply(const wick_numa_policy *p, void *ptr, size_t size) {
    (void)ptr, (void)size;
    return p->mode == WICK_NUMA_NONE ? 0 : ENOSYS;
}
int wick_numa_try(const wick_numa_policy *p) { return wick_numa_apply(p, NULL, 0); }
wick_allocator wick_numa_allocator(wick_numa_policy *p) { return p->below; }
#endif
