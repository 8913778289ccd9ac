/* loader.c: batches of a dataset in an order that is a function of (seed, epoch) alone, so that any place in it can be
 * found again without replaying what came before. */
#include "data/dataset.h"
#include "wick/loader.h"

struct wick_loader {
    wick_context *ctx;
    wick_allocator alloc;
    const wick_dataset *dataset;
    wick_loader_options options;
    int64_t count, sample_size; /* samples; pixels of each */
    int64_t height, width;      /* the last two dims, which augmentation moves */
    int64_t epoch, sample;      /* the place */
    int64_t order_epoch;        /* whose order is in `order`; -1: none */
    uint32_t *order;            /* count entries; NULL without shuffling */
    float pixel[256];           /* normalised */
};

/* ---- order ----------------------------------------------------------------------------------------------------------
 */

/* Words of Philox, block after block: counter {block low, block high, epoch low, epoch high}, key: the seed. */
typedef struct words {
    uint32_t key[2], counter[4], out[4];
    int used;
} words;

static uint32_t next_word(words *w) {
    if (w->used == 4) {
        wick_philox(w->counter, w->key, w->out);
        if (++w->counter[0] == 0) w->counter[1]++;
        w->used = 0;
    }
    return w->out[w->used++];
}

/* Uniform in [0, n), n >= 1, without bias: Lemire, "Fast random integer generation in an interval", 2019. */
static uint32_t below(words *w, uint32_t n) {
    uint64_t product = (uint64_t)next_word(w) * n;
    if ((uint32_t)product < n) {
        const uint32_t unfair = -n % n; /* 2^32 mod n: that many low parts would come once too often */
        while ((uint32_t)product < unfair) product = (uint64_t)next_word(w) * n;
    }
    return (uint32_t)(product >> 32);
}

/* Fisher and Yates, in Durstenfeld's form. */
static void make_order(wick_loader *l) {
    if (!l->order || l->order_epoch == l->epoch) return;
    const uint64_t seed = l->options.seed, epoch = (uint64_t)l->epoch;
    words w = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
               .counter = {0, 0, (uint32_t)epoch, (uint32_t)(epoch >> 32)},
               .used = 4};
    for (int64_t i = 0; i < l->count; i++) l->order[i] = (uint32_t)i;
    for (int64_t i = l->count - 1; i > 0; i--) {
        const uint32_t k = below(&w, (uint32_t)(i + 1)), swapped = l->order[i];
        l->order[i] = l->order[k];
        l->order[k] = swapped;
    }
    l->order_epoch = l->epoch;
}

/* ---- samples ----------------------------------------------------------------------------------------------------------------------------- */

/* Where a sample's pixels come from: output (y, x) is input (y + top, x + left), black outside; then rows are mirrored. */
typedef struct place {
    int64_t top, left;
    bool mirrored;
} place;

/* One block of Philox for each sample: counter {sample, 2^31, epoch low, epoch high}. That of the order never gets to 2^31 in its second word.
 * A word times n, shifted, is uniform in [0, n) to n / 2^32. */
static place draw_place(const wick_loader *l, int64_t sample) {
    const uint64_t seed = l->options.seed, epoch = (uint64_t)l->epoch, range = 2 * (uint64_t)l->options.crop + 1;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)sample, 1u << 31, (uint32_t)epoch, (uint32_t)(epoch >> 32)};
    uint32_t word[4];
    wick_philox(counter, key, word);
    return (place){.top = (int64_t)(word[0] * range >> 32) - l->options.crop,
                   .left = (int64_t)(word[1] * range >> 32) - l->options.crop,
                   .mirrored = l->options.flip && word[2] >> 31};
}

static void normalise_row(const wick_loader *l, const uint8_t *from, int64_t left, bool mirrored, float *to) {
    const int64_t width = l->width, begin = WICK_MAX(0, -left), end = WICK_MIN(width, width - left); /* outputs that have an input */
    const int64_t first = mirrored ? width - 1 : 0, step = mirrored ? -1 : 1;
    for (int64_t x = 0; x < begin; x++) to[first + step * x] = l->pixel[0];
    for (int64_t x = begin; x < end; x++) to[first + step * x] = l->pixel[from[x + left]];
    for (int64_t x = end; x < width; x++) to[first + step * x] = l->pixel[0];
}

static void normalise(const wick_loader *l, int64_t sample, float *to) {
    const uint8_t *pixels = wick_dataset_sample(l->dataset, sample);
    if (!l->options.flip && !l->options.crop) {
        for (int64_t k = 0; k < l->sample_size; k++) to[k] = l->pixel[pixels[k]];
        return;
    }
    const place p = draw_place(l, sample);
    for (int64_t row = 0; row < l->sample_size / l->width; row++) { /* of all planes */
        const int64_t y = row % l->height + p.top;
        const bool inside = y >= 0 && y < l->height;
        normalise_row(l, inside ? pixels + (row + p.top) * l->width : NULL, inside ? p.left : l->width, p.mirrored, to + row * l->width);
    }
}

/* ---- making
 * ------------------------------------------------------------------------------------------------------------ */

wick_status wick_loader_new(wick_context *ctx, const wick_dataset *dataset, const wick_loader_options *options,
                            wick_loader **out) {
    *out = NULL;
    if (!dataset || !options) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: needs a dataset and options");
    const wick_loader_options o = *options;
    const int64_t count = wick_dataset_count(dataset);
    if (o.batch < 1) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: batch is %lld", (long long)o.batch);
    if (count < 1 || (o.drop_last && count < o.batch))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %lld samples make no batch of %lld", (long long)count,
                                 (long long)o.batch);
    if (count > UINT32_MAX)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "loader: %lld samples; at most 2^32 - 1", (long long)count);
    if (!(o.deviation >= 0 && o.mean - o.mean == 0 && o.deviation - o.deviation == 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: mean %g and deviation %g cannot normalise", o.mean,
                                 o.deviation);
    const int rank = wick_dataset_rank(dataset);
    const int64_t height = rank < 2 ? 0 : wick_dataset_dims(dataset)[rank - 2], width = rank < 2 ? 0 : wick_dataset_dims(dataset)[rank - 1];
    if ((o.flip || o.crop) && (height < 1 || width < 1))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: flip and crop are for samples of height and width; these have %d dim%s", rank,
                                 rank == 1 ? "" : "s");
    if (o.crop < 0 || (o.crop && o.crop >= WICK_MIN(height, width)))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: crop is %lld; for samples of %lld x %lld it is at least 0 and less than both",
                                 (long long)o.crop, (long long)height, (long long)width);

    wick_loader *l = wick_calloc(&ctx->alloc, sizeof *l);
    if (!l) return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory");
    l->ctx = ctx;
    l->alloc = ctx->alloc;
    l->dataset = dataset;
    l->options = o;
    l->count = count;
    l->sample_size = wick_field_elements(wick_dataset_field(dataset, 0), 0);
    l->height = height;
    l->width = width;
    l->order_epoch = -1;
    if (o.shuffle && !(l->order = wick_alloc(&l->alloc, (size_t)count * sizeof *l->order))) {
        wick_loader_free(&l);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for the order of %lld samples",
                                 (long long)count);
    }
    const double deviation = o.deviation > 0 ? o.deviation : 1;
    for (int p = 0; p < 256; p++) l->pixel[p] = (float)((p / 255.0 - o.mean) / deviation);
    *out = l;
    return WICK_OK;
}

void wick_loader_free(wick_loader **loader) {
    wick_loader *l = loader ? *loader : NULL;
    if (!l) return;
    *loader = NULL;
    wick_allocator alloc = l->alloc;
    wick_release(&alloc, l->order, (size_t)l->count * sizeof *l->order);
    wick_release(&alloc, l, sizeof *l);
}

/* ---- batches
 * ------------------------------------------------------------------------------------------------------------- */

int64_t wick_loader_next(wick_loader *l, float *x, int64_t *y) {
    const int64_t left = l->count - l->sample, n = WICK_MIN(left, l->options.batch);
    if (n == 0 || (l->options.drop_last && n < l->options.batch)) {
        l->epoch++;
        l->sample = 0;
        return 0;
    }
    make_order(l);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = l->order ? l->order[l->sample + i] : l->sample + i;
        normalise(l, at, x);
        x += l->sample_size;
        y[i] = wick_dataset_label(l->dataset, at);
    }
    l->sample += n;
    return n;
}

int64_t wick_loader_batches(const wick_loader *l) {
    return l->count / l->options.batch + (!l->options.drop_last && l->count % l->options.batch != 0);
}

void wick_loader_position(const wick_loader *l, int64_t *epoch, int64_t *sample) {
    *epoch = l->epoch;
    *sample = l->sample;
}

wick_status wick_loader_seek(wick_loader *l, int64_t epoch, int64_t sample) {
    if (epoch < 0 || sample < 0 || sample > l->count)
        return wick_context_fail(l->ctx, WICK_ERR_INVALID,
                                 "loader: epoch %lld, sample %lld is no place among %lld samples", (long long)epoch,
                                 (long long)sample, (long long)l->count);
    l->epoch = epoch;
    l->sample = sample;
    return WICK_OK;
}
