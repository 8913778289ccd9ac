/* balance.h: how fast the threads of a pool are, and which shares of tasks follow from that. Speeds are relative: their
 * mean is 1. Whoever calls has the tasks and the time of each thread in one region; no thread, no clock is in here. */
#ifndef WICK_RUNTIME_BALANCE_H
#define WICK_RUNTIME_BALANCE_H

#include <stdatomic.h>

#include "base/base.h"

enum { WICK_BALANCE_ONE = 1 << 16 }; /* a weight of the mean */

typedef struct wick_pace {
    uint64_t tasks, ns; /* in the region that is to be added; 0 tasks: it had no part in it */
    double speed;
    _Atomic uint32_t weight, shown; /* in WICK_BALANCE_ONE: the share that it has; the speed, for other threads */
} wick_pace;

typedef struct wick_balance {
    const wick_allocator *alloc;
    int n;
    wick_pace *pace;  /* of each thread */
    uint32_t *until;  /* n + 1 sums of the weights before */
    uint64_t changes; /* how often shares changed; 0: they are equal */
} wick_balance;

/* n threads of equal speed. false: out of memory. */
bool wick_balance_init(wick_balance *b, int n, const wick_allocator *alloc);
void wick_balance_free(wick_balance *b); /* also of zeros */
/* Takes what pace[].tasks and .ns say into account; whether shares changed. */
bool wick_balance_add(wick_balance *b);
/* The first task of share i, by the sums of weights of n threads. */
static inline uint64_t wick_balance_begin(const uint32_t *until, uint64_t n, uint64_t tasks, uint64_t i) {
    const uint64_t all = until[n]; /* below 2^27, so that no product is too large */
    return tasks / all * until[i] + tasks % all * until[i] / all;
}

#endif
