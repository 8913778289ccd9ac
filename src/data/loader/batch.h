/* batch.h: the slots of a loader's ring, and what makes a sample in one of them. */
#ifndef WICK_DATA_BATCH_H
#define WICK_DATA_BATCH_H

#include "base/trace.h"
#include "data/loader/worker_pool.h"
#include "data/sets/dataset.h"
#include "base/time_histogram.h"
#include "data/loader/order.h"
#include "data/loader/transform.h"
#include "kernels/pixels/pixels.h"
#include "wick/loader.h"

typedef struct wick_slot {
    void *fields[WICK_DATASET_FIELDS];
    int64_t *lengths[WICK_DATASET_FIELDS]; /* [batch]; NULL where a field does not vary */
    int64_t padded[WICK_DATASET_FIELDS];
    int64_t *samples; /* [batch] */
    uint8_t *failed;  /* [batch] */
    int64_t epoch, place, n; /* its places are [place, place + n) */
    /* which of its n samples are made, and which of those were before they were asked for */
    int64_t from, to, made_from, made_to;
    uint64_t number;         /* of the batch, since the last seek */
    _Atomic uint64_t begun, ended; /* ns; begun 0: nobody has */
    _Atomic int64_t rest;          /* samples that nobody has made */
} wick_slot;

/* What a worker has for itself. */
typedef struct wick_worker_scratch {
    _Alignas(WICK_ALIGN) uint8_t *pixels; /* one sample's first field, as the data set has it */
    void *scratch;                        /* of the transform */
    uint8_t *masks;                       /* as the data set has them, one behind the other */
    float *kept;                          /* mixing: a sample, and behind it its class */
    wick_time_histogram get, transform, collate;
    uint64_t tick;     /* samples made */
    uint64_t every;    /* of how many one is timed: a power of two */
    _Atomic uint64_t substituted;
    wick_recorder *recorder; /* of what is made now; NULL: none */
    _Atomic uint64_t real, cpu; /* ns that it has made samples for, and has computed */
} wick_worker_scratch;

/* What samples are made by; constant while workers run. */
typedef struct wick_sample_pipeline {
    const wick_dataset *dataset;
    uint64_t seed;
    int n_fields;
    int64_t batch;
    wick_spec fields[WICK_DATASET_FIELDS]; /* of a sample as it is in a batch */
    size_t row_bytes[WICK_DATASET_FIELDS]; /* of a sample; where it varies, of one row */
    bool varies[WICK_DATASET_FIELDS];
    double pad[WICK_DATASET_FIELDS];
    wick_on_fault on_fault;
    bool pixels; /* the first field is pixels, and becomes numbers; or signal: it goes through the transform */
    bool signal;
    const wick_transform *transform; /* NULL: by what follows */
    bool mixes;      /* samples are mixed, and classes, the second field, with them: */
    int64_t classes; /* f32 [classes] */
    wick_joint joint[WICK_DATASET_FIELDS];
    const int64_t (*pairs)[2]; /* of joint points, n_pairs of them */
    int64_t n_pairs;
    size_t mask_bytes; /* of one */
    int n_masks;
    wick_pixel_map map;
    bool flip;
    int64_t crop;
    int64_t planes, height, width;
} wick_sample_pipeline;

/* dims[0] of a field of a sample as it is in a batch, where it varies there; -1: it cannot be told. */
int64_t wick_sample_length(const wick_sample_pipeline *m, int64_t sample, int k);
/* Sample i of the slot, or what stands for it. *fault says what is wrong with the sample itself. */
wick_status wick_make_sample(const wick_sample_pipeline *m, wick_worker_scratch *b, wick_slot *slot, int64_t i,
                             wick_fault *fault);
/* Mixup and cutmix of those samples of the slot that could be made, when all have been. */
void wick_mix_batch(const wick_sample_pipeline *m, wick_worker_scratch *b, wick_slot *slot);

#endif
