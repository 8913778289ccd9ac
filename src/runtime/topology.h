/* topology.h: which CPUs lie near each other, from Linux's /sys, and in which order threads are put on them. */
#ifndef WICK_RUNTIME_TOPOLOGY_H
#define WICK_RUNTIME_TOPOLOGY_H

#include "base/base.h"
#include "wick/context.h"

enum { WICK_CPUS_MAX = 8192 }; /* as many as Linux can have */

/* CPUs, or NUMA nodes, by number. */
typedef struct wick_cpu_set {
    uint64_t bits[WICK_CPUS_MAX / 64];
} wick_cpu_set;
static inline bool wick_cpu_in(const wick_cpu_set *s, int i) { return s->bits[i / 64] >> i % 64 & 1; }
int wick_cpu_set_count(const wick_cpu_set *s);

/* "0-3,8"; false: it is no such list, or has a number of WICK_CPUS_MAX or more. An empty text is an empty list. */
bool wick_cpu_list_parse(const char *text, wick_cpu_set *out);
/* The CPUs that this thread may run on; false: the system does not tell. */
bool wick_cpu_set_allowed(wick_cpu_set *out);
/* The NUMA nodes that have memory; false: the system does not tell. root is put before /sys. */
bool wick_numa_nodes(const char *root, wick_cpu_set *out);
/* The nodes of these CPUs. */
void wick_numa_nodes_of(const char *root, const wick_cpu_set *cpus, wick_cpu_set *nodes);

/* Puts the CPUs of `allowed` in the order that threads get them; how many. order has room for all of them.
 * Compact: node by node, package by package, core by core, the hardware threads of a core one after the other.
 * Scatter: one node after the other in turn, each core once before any core's second hardware thread. */
int wick_cpu_order(const char *root, const wick_cpu_set *allowed, wick_pin pin, int order[WICK_CPUS_MAX]);

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Says on which nodes the pages of large blocks are to be. */
typedef struct wick_numa_policy {
    wick_allocator below; /* smaller blocks come from it */
    wick_numa mode;
    wick_cpu_set nodes; /* of bind and interleave */
} wick_numa_policy;
enum { WICK_NUMA_FROM = 1 << 20 }; /* bytes of a block that has pages, and a policy, of its own */

/* 0, or the errno of the system's refusal. ptr is at a page's beginning, and nothing else lies in the last page. */
int wick_numa_apply(const wick_numa_policy *policy, void *ptr, size_t size);
/* 0, or the errno with which the system refuses the policy for a page. */
int wick_numa_try(const wick_numa_policy *policy);
/* Blocks of WICK_NUMA_FROM bytes and more are mapped, with the policy; one that the system refuses later goes without.
 */
wick_allocator wick_numa_allocator(wick_numa_policy *policy);

#endif
