/* wick/loader.h: batches of a data set, made ahead by threads: in an order, with contents and from a place that do not
 * depend on how many threads there are. */
#ifndef WICK_LOADER_H
#define WICK_LOADER_H

#include "wick/dataset.h"
#include "wick/plan.h"
#include "wick/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WICK_BUCKETS = 32, WICK_PREFETCH_MAX = 60, WICK_WORKERS_MAX = 128 };

/* What happens to a sample that cannot be read. */
typedef enum wick_on_fault {
    /* the batch it is in is an error, which names the sample. The place stays before that batch */
    WICK_FAULT_STOP,
    WICK_FAULT_SKIP,      /* the batch is smaller by it */
    /* another sample takes its place, drawn by (seed, epoch, number); after 16 in vain it is an error */
    WICK_FAULT_SUBSTITUTE
} wick_on_fault;

/* What a field has that belongs to the picture in the first one: a transform does to it what it does to the picture, by
 * the same draws (wick_transform_points, _boxes, _mask). */
typedef enum wick_joint {
    WICK_JOINT_NONE,
    WICK_JOINT_POINTS, /* f32 [..., 2 or more]: x, y, and what stays as it is */
    WICK_JOINT_BOXES,  /* f32 [..., 4 or more]: x0, y0, x1, y1, and what stays as it is, such as a class */
    WICK_JOINT_MASK    /* u8 [H, W], which becomes [h, w]; what lies outside is pad */
} wick_joint;

typedef struct wick_loader_options {
    int64_t batch;          /* samples a batch; the last, smaller one is dropped when drop_last */
    bool shuffle, drop_last;
    uint64_t seed;          /* the order of epoch e is a function of (seed, e) */
    /* with shuffle: samples go in order through a buffer of so many, of which each that comes next is drawn, so that
     * reads stay near each other in shards and record files; 0: all of them */
    int64_t shuffle_buffer;

    /* A first field of u8 becomes f32, pixels (p / 255 - mean) / deviation; deviation 0 means 1. raw: it stays u8, and
     * nothing of this is given. */
    double mean, deviation;
    bool raw;
    /* Augmentation, of samples [..., height, width]: what happens to a sample is a function of (seed, epoch, its
     * number), whatever the batch. */
    bool flip;    /* mirror left and right with probability 1/2 */
    int64_t crop; /* pad with so many black pixels (0, before normalising) on all sides, then cut the size out at a
                   * random place; less than height and width */
    /* instead of mean, deviation, flip and crop; made for the first field, and outlives the loader */
    const wick_transform *transform;
    wick_joint joint[WICK_DATASET_FIELDS]; /* with a transform */
    /* Of joint points, f32 [points, 2 or more], those that are each other in a mirror, such as a left and a right hand:
     * of a sample that wick_transform_mirrors their rows are exchanged, whole. Each point is in one pair at most. The
     * pairs outlive the loader. */
    const int64_t (*pairs)[2];
    int64_t n_pairs;

    /* Which samples. */
    /* one for each sample, copied: an epoch is as many draws, with replacement, each sample as likely as its weight
     * says */
    const double *weights;
    bool balanced;         /* so that all classes are as likely, with replacement */
    int64_t draws;         /* an epoch with weights or balanced; 0: as many as there are samples */
    /* of so many loaders with the same options each gets its part: every place of the order falls to one. ranks 0 means
     * 1 */
    int rank, ranks;
    /* or of each batch only samples part_begin to part_end - 1 are made, for who shares every batch with other
     * processes. Batches are as they are without: count and samples name all of them, fields have all places, and those
     * outside of the part are not written. part_end 0: all. Not of a stream, with a transform that mixes samples, or
     * with WICK_FAULT_SKIP (WICK_ERR_UNSUPPORTED) */
    int64_t part_begin, part_end;

    /* Fields whose first dim varies: those of a batch are padded to its longest. */
    double pad[WICK_DATASET_FIELDS]; /* with this. Of a joint mask: what lies outside of the picture */
    int64_t buckets[WICK_BUCKETS]; /* ascending, 0 behind the last: a batch has samples of one bucket, those not longer
                                    * than it and longer than the one before, and is padded to it: as many shapes, and
                                    * plans, as buckets */
    int bucket_field;                /* whose length counts */

    /* How. No bit of a batch depends on it. */
    int workers;   /* threads; 0: the caller makes each batch when it asks for it */
    int prefetch;  /* batches made ahead; 0: 2, or one more than workers if that is more. Each takes its memory */
    bool as_ready; /* batches in the order they get ready */
    /* workers and prefetch (0: 8) are the most; how many are used follows what is measured, 8 batches at a time: where
     * the caller waited for more than 5 % of the time, one worker more, or, where there is none, one more batch ahead;
     * where it waited for less than 1 % twice in a row, with batches ready, one worker less, but not down to what it
     * waited with before. */
    bool adaptive;
    wick_on_fault on_fault;

    /* Batches that follow a latency: seconds that the caller takes with one, from its wick_loader_take to the next; 0:
     * all are of `batch`. What a batch holds then depends on time; the order of samples, what happens to each, and
     * places do not. The next ones that are given out are of wick_batch_follow's size, for which there is memory from
     * the beginning. Not with buckets or as_ready. */
    double latency;
} wick_loader_options;
typedef struct wick_loader wick_loader;

/* The dataset must outlive the loader. Memory is allocated here, not later. A loader is not for a forked child.
 * WICK_ERR_INVALID, WICK_ERR_UNSUPPORTED (2^32 samples or more), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_new(wick_context *ctx, const wick_dataset *dataset,
                                                     const wick_loader_options *options, wick_loader **out);
/* Prompt, also with batches in work: it waits for the samples that are being read. Null-safe, nulls. */
WICK_API void wick_loader_free(wick_loader **loader);

/* A batch in the loader's memory, aligned to 64 bytes: its fields may be the inputs of wick_run as they are. It may be
 * written, too. */
typedef struct wick_batch {
    int64_t count;                                /* samples; 0: the epoch has ended */
    void *fields[WICK_DATASET_FIELDS];            /* [count, ...] as wick_loader_field says */
    int64_t padded[WICK_DATASET_FIELDS];          /* of fields whose first dim varies: that dim */
    const int64_t *lengths[WICK_DATASET_FIELDS];  /* and what each sample has of it, i64 [count]; else NULL */
    const int64_t *samples;                       /* [count]: their numbers */
} wick_batch;
/* The next batch, valid until the next call with this loader. At the end of an epoch count is 0, and the call after
 * that begins the next one. A failure is reported once for a batch, the first of its samples; what wick_loader_next and
 * the samples' maker say is the context's error. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_take(wick_loader *loader, wick_batch *batch);
/* Dtype and dims of field k of a batch of `batch`; of a dim that varies, -1. NULL outside. */
WICK_API const wick_spec *wick_loader_field(const wick_loader *loader, int field);
/* The same batch in the caller's memory: x (batch x first field) and y (batch x second one), each may be NULL. *count
 * (or NULL): how many samples, 0 at the end of the epoch and on a failure. For fields whose dims are fixed. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_next(wick_loader *loader, void *x, void *y, int64_t *count);
/* per epoch; with buckets and ranks, of this one; -1: of a stream, whose end is not known */
WICK_API int64_t wick_loader_batches(const wick_loader *loader);

/* The place, for checkpoints: the epoch and how many of its samples were handed out. With as_ready sample is where the
 * first batch begins that was not, and bit k of ahead says that the k-th batch from there was; otherwise ahead is 0. */
typedef struct wick_loader_place {
    int64_t epoch, sample;
    uint64_t ahead;
} wick_loader_place;
WICK_API wick_loader_place wick_loader_position(const wick_loader *loader);
WICK_API WICK_MUST_CHECK wick_status wick_loader_return(wick_loader *loader, wick_loader_place place);
/* To that place, with no batch ahead of it. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_seek(wick_loader *loader, int64_t epoch, int64_t sample);

/* The size that follows a batch that took so many seconds: above the target 3/4 of it, rounded down, at least 1; below
 * half of it 5/4, rounded up, at most `most`; else the same. */
WICK_API int64_t wick_batch_follow(int64_t batch, double seconds, double target, int64_t most);
/* Samples in the batches that are given out from now on, 1 to the options' batch: for a host that has a latency, or a
 * budget, of its own. Batches that are ready stay as they are. WICK_ERR_INVALID: outside, or with buckets or as_ready.
 */
WICK_API WICK_MUST_CHECK wick_status wick_loader_set_batch(wick_loader *loader, int64_t batch);

/* As options.part_begin and part_end, of all batches that are handed over from now on, for who shares them by speed.
 * What batches that were made ahead lack is made when they are taken. end 0: all. Errors as of the options. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_set_part(wick_loader *loader, int64_t begin, int64_t end);

/* What batches are for: wick_compile's arguments. Extents of WICK_BATCH in the specs stand for the batch. */
typedef struct wick_loader_step {
    wick_function fn;
    void *user;
    int n_in;
    const wick_spec *in; /* what the loader hands over */
    int n_out;
    const wick_compile_options *options; /* may be NULL */
} wick_loader_step;
/* The largest batch, at most options->batch (0: any), with which the loader and a run of the step take no more than
 * `bytes` together: all that the loader allocates, where the inputs lie, and of the plan what wick_plan_max_batch
 * counts beside them. With that as `batch`, and a latency, batches follow the latency within the memory.
 * fit->next_bytes 0: one more is more than options->batch or the samples there are. WICK_ERR_NOMEM: one sample takes
 * more. */
WICK_API WICK_MUST_CHECK wick_status wick_loader_max_batch(wick_context *ctx, const wick_dataset *dataset,
                                                           const wick_loader_options *options,
                                                           const wick_loader_step *step, size_t bytes,
                                                           wick_batch_fit *fit);

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

typedef struct wick_loader_stats {
    /* Over the last 64 batches. */
    double samples_per_second, batches_per_second;
    double waiting;  /* part of the time that the caller waited for a batch, 0 to 1 */
    double full;     /* batches that were ready when it came, on average */
    /* Since the loader was made. Of quick samples one of 16 is timed and counts for all. */
    wick_timing get, transform, collate; /* of a sample: the data set's own, pixels to numbers, padding */
    wick_timing make;                    /* of a batch, from its first sample's beginning to its last one's end */
    wick_timing wait;                    /* of the caller, for a batch */
    /* stolen: ranges of samples that one worker took from another */
    uint64_t samples, batches, skipped, substituted, stolen;
    /* seconds of CPU time that went into batches, a second since the first one was asked for: CPUs in use */
    double cpu;
    /* part of the time of making samples in which the thread that made them did not compute, 0 to 1: it waited for a
     * disk, a lock or a CPU */
    double io_wait;
    size_t memory, memory_peak;        /* bytes of the loader's: batches, order, scratch */
    uint64_t cache_hits, cache_misses; /* of the data set's cache; zeros: it has none */
    size_t cache_bytes;
    /* copying a sample out of it; making one and copying it. Samples that are too large to be kept are not among them
     */
    wick_timing cache_hit, cache_miss;
    int workers, prefetch; /* in use */
    int64_t batch;         /* samples in those given out */
    int64_t at_once;       /* samples that a worker takes at once, at least: as many as are made in 20 us */
    /* samples_per_second x (1 - min(p95 of make / 1 s, 0.5)) x (1 - min(memory_peak / 2 GB, 0.5)) */
    double efficiency;
    char advice[256]; /* one sentence: who waits for whom */
} wick_loader_stats;
WICK_API void wick_loader_get_stats(const wick_loader *loader, wick_loader_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
