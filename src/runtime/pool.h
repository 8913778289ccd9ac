/* pool.h: the thread pool. Workers sleep when idle, respect affinity and cgroup quota, and take tasks one by one;
 * a task's result must not depend on which thread runs it, so neither do a program's bits. */
#ifndef WICK_RUNTIME_POOL_H
#define WICK_RUNTIME_POOL_H

#include "base/base.h"
#include "wick/context.h"

typedef struct wick_pool wick_pool;

/* fn(arg, task, worker): worker is in [0, wick_pool_threads) and no two running tasks share one. */
typedef void (*wick_task_fn)(void *arg, int64_t task, int worker);

/* threads: 0 means wick_cpu_count(), -1 one less, but at least one. A pool of 1 starts no thread. host (or NULL)
 * supplies the threads instead and is copied; the pool then starts none. Threads start on first use, not here. */
wick_status wick_pool_new(wick_pool **out, int threads, const wick_executor *host, const wick_allocator *alloc);
void wick_pool_free(wick_pool **pool); /* null-safe; joins the workers */
int wick_pool_threads(const wick_pool *pool);
/* Before the first run: thread number i > 0 is to run on cpus[i % n] alone. Copied; false: out of memory. Nothing
 * happens where threads are the host's. */
bool wick_pool_pin(wick_pool *pool, const int *cpus, int n);
/* The errno with which the system refused to pin a thread that has started; 0: it did not. */
int wick_pool_pin_refused(const wick_pool *pool);

/* Before the first run: a thread takes tasks of another one's share where that thread isn't there, or has at least
 * `steal` left; and up to `chunk` at once. */
void wick_pool_tune(wick_pool *pool, int steal, int chunk);
/* Before the first run: shares are to follow the threads' speeds, by a clock in ns; NULL: the system's. false: out of
 * memory. Nothing happens where threads are the host's, or where there is one. */
bool wick_pool_balance(wick_pool *pool, uint64_t (*now)(void));
/* Whether somebody wants to know how long threads work: two looks at a clock by each thread in a region. On and off are
 * counted. */
void wick_pool_watch(wick_pool *pool, bool on);
/* false: threads are the host's, or there is none of that number. */
bool wick_pool_worker(const wick_pool *pool, int worker, wick_worker_stats *out);

/* Runs all tasks and returns when they are done. The caller works too. If the pool is already in use by another
 * thread (or this is called from inside a task), the caller runs every task itself.
 * Denormals are flushed in workers (wick_fp_enter); the caller's own control word is the caller's business.
 * Worker numbers: the pool's own workers are 1..threads-1, the caller is 0. A caller that finds the pool busy runs
 * everything as worker 0: per-worker scratch belongs to the caller's workspace, never to the pool. */
void wick_pool_run(wick_pool *pool, wick_task_fn fn, void *arg, int64_t tasks);

/* For tests: how many threads this pool has started, and how often a worker has gone to sleep. */
int wick_pool_started(const wick_pool *pool);

#endif
