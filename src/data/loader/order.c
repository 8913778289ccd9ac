/* order.c: shuffling, weighted drawing, shards of ranks, and batches of samples of like length. */
#include "data/loader/order.h"

#include <math.h>

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

wick_words wick_words_of_epoch(uint64_t seed, uint64_t epoch) {
    return (wick_words){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                        .counter = {0, 0, (uint32_t)epoch, (uint32_t)(epoch >> 32)},
                        .used = 4};
}

uint32_t wick_word(wick_words *w) {
    if (w->used == 4) {
        wick_philox(w->counter, w->key, w->out);
        if (++w->counter[0] == 0) w->counter[1]++;
        w->used = 0;
    }
    return w->out[w->used++];
}

/* Lemire, "Fast random integer generation in an interval", 2019. */
uint32_t wick_word_below(wick_words *w, uint32_t n) {
    uint64_t product = (uint64_t)wick_word(w) * n;
    if ((uint32_t)product < n) {
        const uint32_t unfair = -n % n; /* 2^32 mod n: that many low parts would come once too often */
        while ((uint32_t)product < unfair) product = (uint64_t)wick_word(w) * n;
    }
    return (uint32_t)(product >> 32);
}

double wick_word_real(wick_words *w) {
    const uint64_t high = wick_word(w);
    return (double)((high << 32 | wick_word(w)) >> 11) * 0x1p-53;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static wick_status no_memory(wick_context *ctx, int64_t n) {
    return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for the order of %lld samples", (long long)n);
}

/* What the caller gives, or such that all classes weigh the same. */
static wick_status make_weights(wick_order *o, wick_context *ctx, const wick_dataset *d,
                                const wick_loader_options *options) {
    if (!options->weights && !options->balanced) return WICK_OK;
    const int64_t classes = wick_dataset_classes(d);
    if (!options->weights && !classes)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: to balance classes, samples need a class; those of this data set have none");
    o->up_to = wick_alloc(o->alloc, (size_t)o->samples * sizeof *o->up_to);
    int64_t *counts = options->weights ? NULL : wick_calloc(o->alloc, (size_t)classes * sizeof *counts);
    wick_status status = o->up_to && (counts || options->weights) ? WICK_OK : no_memory(ctx, o->samples);
    for (int64_t i = 0; status == WICK_OK && counts && i < o->samples; i++) {
        const int64_t label = wick_dataset_label(d, i);
        if (label >= 0 && label < classes) counts[label]++;
        else
            status = wick_context_fail(ctx, WICK_ERR_INVALID, "loader: sample %lld is of class %lld, of %lld",
                                       (long long)i, (long long)label, (long long)classes);
    }
    double sum = 0;
    for (int64_t i = 0; status == WICK_OK && i < o->samples; i++) {
        const double weight = options->weights ? options->weights[i] : 1 / (double)counts[wick_dataset_label(d, i)];
        if (!(weight >= 0 && weight - weight == 0))
            status = wick_context_fail(ctx, WICK_ERR_INVALID, "loader: the weight of sample %lld is %g", (long long)i,
                                       weight);
        o->up_to[i] = sum += weight;
    }
    if (status == WICK_OK && !(sum > 0 && sum - sum == 0))
        status = wick_context_fail(ctx, WICK_ERR_INVALID, "loader: the weights of all samples sum up to %g", sum);
    wick_release(o->alloc, counts, (size_t)classes * sizeof *counts);
    return status;
}

static wick_status make_buckets(wick_order *o, wick_context *ctx, const wick_dataset *d,
                                const wick_loader_options *options) {
    while (o->buckets < WICK_BUCKETS && options->buckets[o->buckets] > 0) o->buckets++;
    if (!o->buckets) return WICK_OK;
    o->most_batches = o->most / o->batch + o->buckets;
    o->bucket = wick_alloc(o->alloc, (size_t)o->samples);
    o->own = wick_alloc(o->alloc, (size_t)o->most * sizeof *o->own);
    o->sorted = wick_alloc(o->alloc, (size_t)o->most * sizeof *o->sorted);
    o->ends = wick_alloc(o->alloc, (size_t)o->most_batches * sizeof *o->ends);
    o->starts = wick_alloc(o->alloc, (size_t)o->most_batches * sizeof *o->starts);
    if (!o->bucket || !o->own || !o->sorted || !o->ends || !o->starts) return no_memory(ctx, o->samples);
    for (int64_t i = 0; i < o->samples; i++) {
        const int64_t length = wick_dataset_length(d, i, options->bucket_field);
        int b = 0;
        while (b < o->buckets && length > options->buckets[b]) b++;
        if (b == o->buckets)
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: sample %lld has length %lld; the last bucket ends at %lld", (long long)i,
                                     (long long)length, (long long)options->buckets[b - 1]);
        o->bucket[i] = (uint8_t)b;
    }
    return WICK_OK;
}

wick_status wick_order_new(wick_order *o, wick_context *ctx, const wick_dataset *d,
                           const wick_loader_options *options) {
    const int64_t ranks = WICK_MAX(options->ranks, 1);
    *o = (wick_order){.alloc = &ctx->alloc,
                      .seed = options->seed,
                      .shuffle = options->shuffle,
                      .drop_last = options->drop_last,
                      .buffer = options->shuffle_buffer,
                      .batch = options->batch,
                      .samples = d->source.count,
                      .rank = options->rank,
                      .ranks = ranks,
                      .epoch = -1};
    o->total = options->draws ? options->draws : o->samples;
    o->most = (o->total - o->rank + ranks - 1) / ranks;
    o->count = o->most;
    WICK_TRY(make_weights(o, ctx, d, options));
    if ((o->shuffle || o->up_to) && !(o->order = wick_alloc(o->alloc, (size_t)o->total * sizeof *o->order)))
        return no_memory(ctx, o->total);
    return make_buckets(o, ctx, d, options);
}

void wick_order_free(wick_order *o) {
    if (!o->alloc) return;
    wick_release(o->alloc, o->order, (size_t)o->total * sizeof *o->order);
    wick_release(o->alloc, o->up_to, (size_t)o->samples * sizeof *o->up_to);
    wick_release(o->alloc, o->bucket, (size_t)o->samples);
    wick_release(o->alloc, o->own, (size_t)o->most * sizeof *o->own);
    wick_release(o->alloc, o->sorted, (size_t)o->most * sizeof *o->sorted);
    wick_release(o->alloc, o->ends, (size_t)o->most_batches * sizeof *o->ends);
    wick_release(o->alloc, o->starts, (size_t)o->most_batches * sizeof *o->starts);
    *o = (wick_order){0};
}

size_t wick_order_bytes(const wick_order *o) {
    return (o->order ? (size_t)o->total * sizeof *o->order : 0) +
           (o->up_to ? (size_t)o->samples * sizeof *o->up_to : 0) +
           (o->buckets ? (size_t)o->samples + 2 * (size_t)o->most * sizeof *o->own +
                             2 * (size_t)o->most_batches * sizeof *o->ends
                       : 0);
}

/* ---- an epoch ---------------------------------------------------------------------------------------------------- */

/* The first sample whose sum of weights is above x. */
static uint32_t find(const wick_order *o, double x) {
    int64_t low = 0, high = o->samples - 1;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (o->up_to[middle] > x) high = middle;
        else low = middle + 1;
    }
    return (uint32_t)low;
}

static uint32_t place_of_all(const wick_order *o, int64_t i) {
    const int64_t g = i * o->ranks + o->rank;
    return o->order ? o->order[g] : (uint32_t)g;
}

/* Samples of like length side by side, in the order they had; cut into batches; and these, where all is shuffled, in an
 * order of their own. */
static void sort_by_length(wick_order *o, wick_words *w) {
    int64_t at[WICK_BUCKETS + 1] = {0}, begin[WICK_BUCKETS];
    for (int64_t i = 0; i < o->most; i++) at[o->bucket[place_of_all(o, i)] + 1]++;
    for (int b = 0; b < o->buckets; b++) begin[b] = at[b], at[b + 1] += at[b];
    for (int64_t i = 0; i < o->most; i++) {
        const uint32_t sample = place_of_all(o, i);
        o->sorted[begin[o->bucket[sample]]++] = sample;
    }
    o->batches = 0;
    for (int b = 0; b < o->buckets; b++)
        for (int64_t from = at[b]; from < at[b + 1]; from += o->batch)
            if (at[b + 1] - from >= o->batch || !o->drop_last) o->starts[o->batches++] = from;
    for (int64_t i = o->batches - 1; o->shuffle && i > 0; i--) {
        const int64_t k = wick_word_below(w, (uint32_t)(i + 1)), swapped = o->starts[i];
        o->starts[i] = o->starts[k];
        o->starts[k] = swapped;
    }
    o->count = 0;
    for (int64_t i = 0; i < o->batches; i++) {
        const int64_t from = o->starts[i];
        const int64_t n = WICK_MIN(o->batch, at[o->bucket[o->sorted[from]] + 1] - from);
        memcpy(o->own + o->count, o->sorted + from, (size_t)n * sizeof *o->own);
        o->ends[i] = o->count += n;
    }
}

void wick_order_make(wick_order *o, int64_t epoch) {
    if (o->epoch == epoch) return;
    wick_words w = wick_words_of_epoch(o->seed, (uint64_t)epoch);
    if (o->up_to) {
        for (int64_t i = 0; i < o->total; i++) o->order[i] = find(o, wick_word_real(&w) * o->up_to[o->samples - 1]);
    } else if (o->shuffle) {
        /* Fisher and Yates, in Durstenfeld's form; with a buffer forwards: it is what lies in [i, i + buffer) */
        for (int64_t i = 0; i < o->total; i++) o->order[i] = (uint32_t)i;
        for (int64_t i = 0; o->buffer && i + 1 < o->total; i++) {
            const int64_t k = i + wick_word_below(&w, (uint32_t)WICK_MIN(o->buffer, o->total - i)),
                          swapped = o->order[i];
            o->order[i] = o->order[k];
            o->order[k] = (uint32_t)swapped;
        }
        for (int64_t i = o->total - 1; !o->buffer && i > 0; i--) {
            const uint32_t k = wick_word_below(&w, (uint32_t)(i + 1)), swapped = o->order[i];
            o->order[i] = o->order[k];
            o->order[k] = swapped;
        }
    }
    if (o->buckets) sort_by_length(o, &w);
    o->epoch = epoch;
}

int64_t wick_order_at(const wick_order *o, int64_t place) {
    return o->buckets ? o->own[place] : place_of_all(o, place);
}

int64_t wick_order_end(const wick_order *o, int64_t place) {
    if (!o->buckets) {
        const int64_t n = WICK_MIN(o->count - place, o->batch);
        return o->drop_last && n < o->batch ? place : place + n;
    }
    int64_t low = 0, high = o->batches; /* the first batch that ends behind it */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (o->ends[middle] > place) high = middle;
        else low = middle + 1;
    }
    return low == o->batches ? place : o->ends[low];
}

int64_t wick_order_batches(const wick_order *o) {
    if (o->buckets) return o->batches;
    return o->count / o->batch + (!o->drop_last && o->count % o->batch != 0);
}
