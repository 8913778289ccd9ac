/* wick/batch_size.h: how large batches should be: sizes are planned, counted, run and timed.
 *
 *   wick_batch_sizes sizes;
 *   wick_find_batch(ctx, make, NULL, user, &(wick_batch_search){.latency = 0.005}, &sizes);
 *   if (sizes.chosen >= 0) use(sizes.at[sizes.chosen].batch);
 *
 * `wick tune batch MODEL` does it for a model. */
#ifndef WICK_BATCH_SIZE_H
#define WICK_BATCH_SIZE_H

#include "wick/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WICK_BATCH_SIZES = 40 };

typedef struct wick_batch_result {
    int64_t batch;
    /* Of a run: arena, scratch of all threads, inputs, outputs, states, and what `beside` says; exact, and known before
     * anything runs */
    size_t bytes;
    double predicted; /* seconds, by the cost model */
    /* Measured; 0 where it was not run, since it takes too much memory, or is slower than the latency allows by the
     * model and by what smaller ones took */
    int64_t runs;
    double median, p95;        /* seconds of a run */
    double samples_per_second; /* by the median */
    double efficiency;         /* that, as a part of the best one's */
    bool fits;                 /* in the memory */
    bool in_time;              /* p95 is within the latency */
} wick_batch_result;

typedef struct wick_batch_search {
    int64_t least, most; /* of a sweep by twos, the last of them most: 1, 2, 4 ... 256; 0: these */
    /* of the memory that is available, and of what the context's max_memory leaves, which a run may take; 0: 0.9 */
    double memory_part;
    size_t memory;       /* instead: so many bytes; 0: by memory_part */
    double latency;      /* seconds that the 95th percentile of runs may take; 0: 0.01 */
    /* for each size; 0: 0.2. At least 5 runs, of slow ones as many as begin in ten times the seconds and 2 s; at most
     * 10,000. One more before them warms up */
    double seconds;
    /* Bytes that the program takes beside a run of such a batch, or between runs, by what the run takes: an evaluation
     * in the same memory, buffers of loaders. They count as the run's. user is wick_find_batch's. NULL: none */
    size_t (*beside)(void *user, int64_t batch, const wick_plan_info *run);
} wick_batch_search;

typedef struct wick_batch_sizes {
    int n;
    wick_batch_result at[WICK_BATCH_SIZES]; /* ascending */
    int chosen; /* of most samples a second among those that fit and are in time; -1: none is */
    /* Where more samples in a batch begin to bring little: the knee of samples a second over the logarithm of the batch
     * (Satopaa et al., Finding a Kneedle in a Haystack, 2011, sensitivity 1); -1: there is none */
    int knee;
    size_t memory; /* bytes that a run may take */
    /* What is often taken without measuring: the lesser of memory by the bytes of a sample, and twice the threads */
    int64_t by_formula;
} wick_batch_sizes;

/* make gives a plan for a batch of that many; drop (NULL: wick_plan_free) takes it back. Its inputs are random numbers
 * between -1 and 1 for floats and zeros for others; a plan that assigns states changes them. A failure of make or of a
 * run ends the search: the context has its error. search may be NULL. WICK_ERR_INVALID. */
WICK_API WICK_MUST_CHECK wick_status wick_find_batch(wick_context *ctx,
                                                     wick_status (*make)(void *user, int64_t batch, wick_plan **plan),
                                                     void (*drop)(void *user, wick_plan *plan), void *user,
                                                     const wick_batch_search *search, wick_batch_sizes *out);
/* The place of the knee of a concave, increasing curve of n points, x ascending; -1: there is none. */
WICK_API int wick_knee(int n, const double *x, const double *y);
/* Bytes that this process could still take: what the machine has free, and its cgroups leave; 0: not known. */
WICK_API size_t wick_memory_available(void);

#ifdef __cplusplus
}
#endif
#endif
