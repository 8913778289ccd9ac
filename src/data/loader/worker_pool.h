/* worker_pool.h: threads that fill the slots of a ring. A slot is given out as so many tasks; each thread has a deque
 * of ranges of tasks, takes some from the front of its oldest range, and where it has none, steals the rear half of
 * another thread's oldest one. Whoever gives out slots may also wait for them, and works while it waits. The runtime's
 * pool is for the steps of a plan, which the caller of the loader runs: a loader that shared it would take turns with
 * what it feeds. */
#ifndef WICK_DATA_WORKER_POOL_H
#define WICK_DATA_WORKER_POOL_H

#include "base/base.h"

enum { WICK_WORKER_POOL_SLOTS = 64, WICK_WORKER_POOL_THREADS = 256 };

typedef struct wick_worker_pool wick_worker_pool;
/* Does tasks [begin, end) of a slot. worker 0 is the caller's thread, others are 1..threads; no two calls at once have
 * the same. Should look at wick_worker_pool_halted between tasks, and may then leave the rest undone. */
typedef void (*wick_worker_pool_fn)(void *arg, int slot, int64_t begin, int64_t end, int worker);

/* threads 0: all is done by the caller, while it waits. Threads start at the first slot; where the system gives fewer,
 * those have more to do. alloc must stay. */
WICK_MUST_CHECK wick_status wick_worker_pool_new(wick_worker_pool **out, int threads, int slots, wick_worker_pool_fn fn,
                                                 void *arg, const wick_allocator *alloc);
void wick_worker_pool_free(wick_worker_pool **pool); /* null-safe, nulls; halts */
/* Gives out n >= 1 tasks of a slot that is not in work. */
void wick_worker_pool_give(wick_worker_pool *pool, int slot, int64_t n);
/* Works and waits until at least one of the slots of the mask is done; returns those that are. They must have been
 * given out. */
uint64_t wick_worker_pool_wait(wick_worker_pool *pool, uint64_t slots);
uint64_t wick_worker_pool_done(const wick_worker_pool *pool, uint64_t slots); /* those of the mask that are done now */
/* Forgets all tasks that nobody has begun, and waits for those that somebody has. */
void wick_worker_pool_halt(wick_worker_pool *pool);
bool wick_worker_pool_halted(const wick_worker_pool *pool);
/* Threads from this number on take no more tasks until it is larger again; what they have is stolen. From 1 to threads.
 */
void wick_worker_pool_allow(wick_worker_pool *pool, int threads);
/* Who takes tasks of its own range takes at least so many at once, while there are as many; 1 at first. */
void wick_worker_pool_at_once(wick_worker_pool *pool, int64_t tasks);
uint64_t wick_worker_pool_stolen(const wick_worker_pool *pool); /* ranges, so far */
size_t wick_worker_pool_bytes(const wick_worker_pool *pool);

#endif
