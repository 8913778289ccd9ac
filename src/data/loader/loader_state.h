/* loader_state.h: what a loader is, for the files that make it (loader_new.c) and run it (loader.c). */
#ifndef WICK_DATA_LOADER_STATE_H
#define WICK_DATA_LOADER_STATE_H

#include "data/loader/batch.h"
#include "data/loader/pace.h"
#include "data/loader/window.h"

struct wick_loader {
    wick_context *ctx;
    wick_allocator alloc;
    wick_sample_pipeline pipeline;
    wick_order order;
    wick_spec batch_fields[WICK_DATASET_FIELDS]; /* [batch, ...] */
    wick_loader_options options;
    int64_t epoch;
    int64_t next;    /* the first place that no slot was given */
    uint64_t number; /* of the batch there */
    uint64_t skip;   /* bit k: batch k was handed over before the loader came to this place */
    int depth;       /* slots */
    wick_pace pace;
    wick_slot *slots;
    uint64_t busy; /* bit of each slot that is in work or ready */
    int held;      /* the slot that the caller has; -1: none */
    size_t slot_bytes[WICK_DATASET_FIELDS];
    int64_t longest[WICK_DATASET_FIELDS];
    wick_worker_pool *pool;
    wick_worker_scratch *scratches; /* [1 + workers] */
    /* [depth]: the first sample of a slot that failed */
    struct { wick_status status; int64_t i; wick_fault fault; } *faults;
    _Atomic int fault_lock; /* of faults; held for a copy */
    wick_time_histogram *make, *wait;
    uint64_t handed; /* when the caller got its batch */
    uint64_t began;  /* when it asked for the first one; 0: it has not */
    struct { uint64_t real, samples; } seen; /* ns of workers and samples, when at_once was last set */
    int64_t at_once;                         /* samples that a worker takes at once, at least */
    bool over;   /* the stream ended: this epoch has no more batches */
    bool looked; /* at how many blocks the process had read from disks */
    long blocks;
    wick_rate_window window;
    uint64_t samples, batches, skipped;
    size_t memory;
    size_t pixel_bytes; /* of the first field of a sample that is changed, as the data set has it: of the longest */
    size_t scratch;     /* of the transform, for it */
};

/* Whether the options' part of each batch can be made. */
wick_status wick_loader_check_part(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o);
/* What workers run: arg is the loader, number a slot's; samples begin to end of it. */
void wick_loader_tasks(void *arg, int number, int64_t begin, int64_t end, int worker);
/* The pace follows what the caller waited for, where it is to; as wick_pace_follow. */
void wick_loader_waited(wick_loader *l, uint64_t now, uint64_t waited, int full, int given);
/* The next batch is that of the epoch at `place`; bit k of ahead: batch k behind it was handed over. */
void wick_loader_begin(wick_loader *l, int64_t epoch, int64_t place, uint64_t ahead);

#endif
