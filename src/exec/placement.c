/* placement.c: where a context's threads and memory are, and the pool that memory may come from. What the system
 * refuses is noted, and the context goes without. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"
#include "runtime/memory_pool.h"
#include "runtime/topology.h"

#if defined(__linux__)
#include <sched.h>
#endif

WICK_PRINTF(2, 3) static void note(wick_context *ctx, const char *format, ...) {
    const size_t before = strlen(ctx->note);
    char text[sizeof ctx->note / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (before + 2 >= sizeof ctx->note) return;
    snprintf(ctx->note + before, sizeof ctx->note - before, "%s%s", before ? "; " : "", text);
}

/* Those of both; how many there are. */
static int keep(wick_cpu_set *of, const wick_cpu_set *other) {
    for (size_t i = 0; i < WICK_COUNTOF(of->bits); i++) of->bits[i] &= other->bits[i];
    return wick_cpu_set_count(of);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

wick_status wick_place_memory(wick_context *ctx, const wick_placement *p) {
    static const char *const names[] = {"", "bind", "interleave", "first touch"};
    wick_cpu_set asked, there, cpus;
    if ((unsigned)p->numa > WICK_NUMA_FIRST_TOUCH) return WICK_ERR_INVALID;
    if (p->nodes && (!wick_cpu_list_parse(p->nodes, &asked) || !wick_cpu_set_count(&asked))) return WICK_ERR_INVALID;
    if (p->numa == WICK_NUMA_NONE) return WICK_OK;
    const char *name = names[p->numa];
    if (ctx->options.allocator) return note(ctx, "NUMA %s: the memory is the host's", name), WICK_OK;
    if (!wick_numa_nodes("", &there)) return note(ctx, "NUMA %s: this system does not tell its nodes", name), WICK_OK;
    if (!p->nodes) {
        if (wick_cpu_set_allowed(&cpus))
            wick_numa_nodes_of("", &cpus, &asked);
        else
            asked = there;
        if (!keep(&asked, &there)) asked = there;
    } else {
        const int wanted = wick_cpu_set_count(&asked), n = keep(&asked, &there);
        if (n < wanted) note(ctx, "NUMA %s: of nodes %s %d of %d have memory here", name, p->nodes, n, wanted);
        if (!n) return WICK_OK;
    }
    wick_numa_policy policy = {.below = ctx->own, .mode = p->numa, .nodes = asked};
    const int refused = wick_numa_try(&policy);
    if (refused) return note(ctx, "NUMA %s: the system refuses: %s", name, strerror(refused)), WICK_OK;
    ctx->numa = wick_alloc(&ctx->own, sizeof *ctx->numa);
    if (!ctx->numa) return WICK_ERR_NOMEM;
    *ctx->numa = policy;
    ctx->alloc = wick_numa_allocator(ctx->numa);
    return WICK_OK;
}

wick_status wick_place_pool(wick_context *ctx, const wick_memory_pool_options *options) {
    wick_memory_pool_options o;
    if (options && ctx->options.allocator) return WICK_ERR_INVALID;
    if (options)
        o = *options;
    else if (ctx->options.allocator || !wick_mempool_default(&o))
        return WICK_OK;
    const wick_status status = wick_mempool_new(&ctx->memory_pool, &o, ctx->numa);
    if (status == WICK_OK) ctx->alloc = wick_mempool_allocator(ctx->memory_pool);
    const int refused = status == WICK_OK ? wick_mempool_huge_refused(ctx->memory_pool) : 0;
    if (refused == EOPNOTSUPP)
        note(ctx, "huge pages: not of a pool that is bound to nodes, of which one may have none left: ordinary pages "
                  "are used");
    else if (refused)
        note(ctx, "huge pages: the system has too few (%s; sysctl vm.nr_hugepages keeps some): ordinary pages are used",
             strerror(refused));
    return status;
}
bool wick_memory_pool_get_info(const wick_context *ctx, wick_memory_pool_info *stats) {
    if (!stats) return false;
    *stats = (wick_memory_pool_info){0};
    if (ctx->memory_pool) wick_mempool_stats(ctx->memory_pool, stats);
    return ctx->memory_pool != NULL;
}
void wick_memory_pool_trim(wick_context *ctx) {
    if (ctx->memory_pool) wick_mempool_trim(ctx->memory_pool);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

/* Whether the system lets threads choose CPUs at all: the mask that there is, once more. 0, or an errno. */
static int try_pin(const wick_cpu_set *allowed) {
#if defined(__linux__)
    return sched_setaffinity(0, sizeof allowed->bits, (const cpu_set_t *)(const void *)allowed->bits) == 0 ? 0 : errno;
#else
    (void)allowed;
    return 0;
#endif
}

/* WICK_THREADS of the environment; 0: it is not set, or is no number of threads. */
static int told_threads(void) {
    const char *text = getenv("WICK_THREADS");
    char *end;
    const long n = text && *text ? strtol(text, &end, 10) : 0;
    return n > 0 && n <= WICK_THREADS_MAX && !*end ? (int)n : 0;
}

wick_status wick_place_threads(wick_context *ctx, const wick_placement *p, int threads) {
    const wick_executor *host = ctx->options.executor;
    wick_cpu_set allowed, asked = {{0}};
    int n = 0;
    if ((unsigned)p->pin > WICK_PIN_LIST) return WICK_ERR_INVALID;
    const bool list = p->pin == WICK_PIN_LIST;
    if (list && (!p->cpus || !wick_cpu_list_parse(p->cpus, &asked) || !wick_cpu_set_count(&asked)))
        return WICK_ERR_INVALID;
    const int wanted = list ? wick_cpu_set_count(&asked) : 0;
    if (p->pin == WICK_PIN_NONE) {
    } else if (host) {
        note(ctx, "threads are the host's, and not pinned");
    } else if (!wick_cpu_set_allowed(&allowed)) {
        note(ctx, "threads are not pinned: this system does not tell its CPUs");
    } else if (list && (n = keep(&asked, &allowed)) < wanted) {
        note(ctx, "of CPUs %s this process may use %d of %d%s", p->cpus, n, wanted,
             n ? "" : ": threads are not pinned");
    } else if (!list) {
        asked = allowed, n = 1;
    }
    if (list && n && !threads) threads = WICK_MIN(n, WICK_THREADS_MAX);
    if (!threads) threads = told_threads();
    const int refused = n ? try_pin(&allowed) : 0;
    if (refused) note(ctx, "threads are not pinned: the system refuses: %s", strerror(refused));
    if (p->balance && host) note(ctx, "threads are the host's, and their shares its own");
    WICK_TRY(wick_pool_new(&ctx->pool, threads, host, &ctx->alloc));
    wick_pool_tune(ctx->pool, (int)ctx->tuning.steal_tasks, (int)ctx->tuning.chunk_tasks);
    if (p->balance && !wick_pool_balance(ctx->pool, NULL)) return WICK_ERR_NOMEM;
    if (!n || refused) return WICK_OK;
    int *order = malloc(WICK_CPUS_MAX * sizeof *order);
    const bool pinned = order && wick_pool_pin(ctx->pool, order, wick_cpu_order("", &asked, p->pin, order));
    free(order);
    return pinned ? WICK_OK : WICK_ERR_NOMEM;
}

bool wick_context_worker(const wick_context *ctx, int worker, wick_worker_stats *out) {
    return out && wick_pool_worker(ctx->pool, worker, out);
}

const char *wick_context_placement_note(const wick_context *ctx) {
    if (!*ctx->note && wick_pool_pin_refused(ctx->pool)) return "the system refused to pin a thread";
    return ctx->note;
}
