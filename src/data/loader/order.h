/* order.h: which sample stands where in an epoch: a function of (seed, epoch) alone, so that any place can be found
 * again without replaying what came before. */
#ifndef WICK_DATA_ORDER_H
#define WICK_DATA_ORDER_H

#include "data/sets/dataset.h"
#include "wick/loader.h"

/* Words of Philox, block after block: counter {block, block's upper half, epoch low, epoch high}, key: the seed. The
 * order's blocks stay below 2^31 in their upper half; those of sample i are {i, 2^31 + block, epoch low, epoch high}.
 */
typedef struct wick_words {
    uint32_t key[2], counter[4], out[4];
    int used;
} wick_words;
wick_words wick_words_of_epoch(uint64_t seed, uint64_t epoch);
uint32_t wick_word(wick_words *w);
uint32_t wick_word_below(wick_words *w, uint32_t n); /* uniform in [0, n), n >= 1, without bias */
double wick_word_real(wick_words *w);                /* uniform in [0, 1), 53 bits */

typedef struct wick_order {
    const wick_allocator *alloc;
    uint64_t seed;
    bool shuffle, drop_last;
    int64_t buffer;          /* samples that the next one is drawn from; 0: all that are left */
    int64_t batch, samples;  /* of the data set */
    int64_t total;           /* places of all ranks together */
    int64_t rank, ranks;
    int64_t count;           /* places of this rank, of the epoch made last */
    int64_t epoch;           /* that one; -1: none */
    uint32_t *order;         /* [total]; NULL: 0, 1, 2, ... */
    double *up_to;           /* [samples]: weights summed up; NULL: each sample once */
    int buckets;             /* 0: batches are cut off as they come */
    uint8_t *bucket;         /* [samples] */
    uint32_t *own, *sorted;  /* [most places of this rank] */
    int64_t *ends, *starts;  /* [most batches]: where batches end in `own`, and where they begin in `sorted` */
    int64_t most, most_batches, batches;
} wick_order;

/* options have been checked. Failures are the context's. */
WICK_MUST_CHECK wick_status wick_order_new(wick_order *o, wick_context *ctx, const wick_dataset *dataset,
                                           const wick_loader_options *options);
void wick_order_free(wick_order *o);
size_t wick_order_bytes(const wick_order *o);
void wick_order_make(wick_order *o, int64_t epoch); /* allocates nothing */
int64_t wick_order_at(const wick_order *o, int64_t place); /* the sample, place in [0, count) */
/* Where the batch that begins at `place` ends; `place` itself: there is none. */
int64_t wick_order_end(const wick_order *o, int64_t place);
int64_t wick_order_batches(const wick_order *o);

#endif
