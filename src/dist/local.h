/* local.h: the memory that the ranks of one machine share, and the seats of a host.
 *
 *   memfd:  [ head | slot of rank 0 | slot of rank 1 ... | ring 0 to 1 | ring 0 to 2 ... | ring 1 to 0 ... ]
 *
 * A ring carries the bytes of one rank to one other: its writer moves `head`, its reader `tail`. A rank that can
 * neither write nor read sleeps on the `bell` of its slot, a futex, which others ring when they moved something of its.
 */
#ifndef WICK_DIST_LOCAL_H
#define WICK_DIST_LOCAL_H

#include <stdatomic.h>

#include "dist/transport.h"

enum { LOCAL_RANKS_MAX = 128, LOCAL_VERSION = 1 };
#define LOCAL_MAGIC 0x6B636957u /* "Wick" */

/* Why a rank gave up. */
typedef enum local_reason { LOCAL_FINE, LOCAL_GONE, LOCAL_SILENT, LOCAL_MISMATCH } local_reason;

typedef struct local_slot {
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic uint32_t sleeping;
    _Atomic uint32_t taken;  /* 1: a process has opened the seat */
    _Atomic uint32_t closed; /* 1: it has left */
    _Atomic uint32_t blamed; /* 1 + the rank for which this one gave up */
    _Atomic uint32_t reason; /* with blamed: a local_reason */
    _Atomic uint64_t beat;   /* when it last looked around while it waited: wick_now_ns, one clock for the machine */
} local_slot;

typedef struct local_ring {
    _Alignas(64) _Atomic uint64_t head; /* bytes written so far */
    _Alignas(64) _Atomic uint64_t tail; /* bytes read */
    _Alignas(64) uint8_t data[];        /* ring_bytes */
} local_ring;

typedef struct local_head {
    uint32_t magic, version, ranks, ring_bytes; /* the last a power of two */
    _Alignas(64) local_slot slots[];
} local_head;

static inline size_t local_rings_at(uint32_t ranks) { return sizeof(local_head) + ranks * sizeof(local_slot); }
static inline size_t local_bytes(uint32_t ranks, uint32_t ring_bytes) {
    return local_rings_at(ranks) + (size_t)ranks * (ranks - 1) * (sizeof(local_ring) + ring_bytes);
}

struct wick_group_host {
    const wick_allocator *alloc;
    int ranks, memory; /* a descriptor */
    bool entered;      /* the descriptors are a group's */
    int pipes[][2];    /* of each rank: read end, write end */
};

#endif
