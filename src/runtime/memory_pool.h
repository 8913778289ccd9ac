/* memory_pool.h: a pool of memory with a maximum. Addresses for all of it are reserved at once, which takes no memory;
 * pages come from the system when they are first written, and go back when too much lies free.
 *
 *   0        free block            top            high          capacity           max
 *   [ used ][ free ][ used ][ used ]   was written   never touched   no access yet   ]
 *
 * Blocks lie one behind the other from the beginning to `top`. Free ones are in lists by size, 16 for each power of
 * two; the first list whose blocks are all large enough gives one, whose rest is a free block again (TLSF: Masmano,
 * Ripoll, Crespo, Real, "TLSF: a new dynamic memory allocator for real-time systems", ECRTS 2004). Neighbours that are
 * free become one at once. Without a free block that fits, top moves up; where it would pass the capacity, that grows.
 */
#ifndef WICK_RUNTIME_MEMORY_POOL_H
#define WICK_RUNTIME_MEMORY_POOL_H

#include "runtime/topology.h"
#include "wick/memory.h"

typedef struct wick_mempool wick_mempool;

/* WICK_ERR_INVALID: options that wick_memory_pool_options does not allow. WICK_ERR_NOMEM: no such range of addresses.
 * policy (or NULL) says on which nodes its pages are; a refusal is ignored, as it has been tried. */
wick_status wick_mempool_new(wick_mempool **out, const wick_memory_pool_options *options,
                             const wick_numa_policy *policy);
void wick_mempool_free(wick_mempool **pool); /* null-safe; with all that is in it */
/* From any thread. */
wick_allocator wick_mempool_allocator(wick_mempool *pool);
void wick_mempool_stats(wick_mempool *pool, wick_memory_pool_info *stats);
void wick_mempool_trim(wick_mempool *pool);
/* The errno with which the system refused the first huge pages that options asked for; 0: it did not. */
int wick_mempool_huge_refused(const wick_mempool *pool);
/* Why it gave nothing the last time; "" where it always did. */
const char *wick_mempool_refusal(const wick_mempool *pool);
/* The default that wick_memory_pool_set_default has set; false: none. */
bool wick_mempool_default(wick_memory_pool_options *out);

#endif
