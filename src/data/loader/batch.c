/* batch.c: a sample into its place in a batch: read, made numbers of, padded. */
#include "data/loader/batch.h"

enum { TRIES = 16, QUICK_NS = 10000, QUICK_EVERY = 16 };

/* A word times n, shifted, is uniform in [0, n) to n / 2^32. */
static wick_status transform(const wick_sample_pipeline *m, wick_worker_scratch *b, const wick_slot *slot,
                             int64_t sample, const uint8_t *from, float *to, wick_fault *fault) {
    if (m->transform)
        return wick_transform_run(m->transform, m->seed, (uint64_t)slot->epoch, sample, from,
                                  m->signal ? wick_dataset_length(m->dataset, sample, 0) : 0, to, b->scratch, fault);
    wick_pixel_window w = {m->height, m->width, 0, 0, m->height, m->width, false, false};
    if (!m->flip && !m->crop) {
        wick_pixels_map(&m->map, m->planes * m->height * m->width, from, false, to);
        return WICK_OK;
    }
    const uint64_t range = 2 * (uint64_t)m->crop + 1;
    uint32_t word[4];
    wick_sample_words(m->seed, (uint64_t)slot->epoch, sample, 0, word);
    w.top = (int64_t)(word[0] * range >> 32) - m->crop;
    w.left = (int64_t)(word[1] * range >> 32) - m->crop;
    w.mirrored = m->flip && word[2] >> 31;
    for (int64_t c = 0, size = m->height * m->width; c < m->planes; c++)
        wick_pixels_window(&m->map, &w, from + c * size, to + c * size);
    return WICK_OK;
}

#define PAD(T)                                                           \
    do {                                                                 \
        T *at = (T *)to;                                                 \
        for (size_t k = 0; k < n; k++) at[k] = (T)value;                 \
    } while (0)
static void pad(wick_dtype dtype, double value, void *to, size_t n) {
    switch (dtype) {
    case WICK_F32: PAD(float); break;
    case WICK_F64: PAD(double); break;
    case WICK_I8: PAD(int8_t); break;
    case WICK_I16: PAD(int16_t); break;
    case WICK_I32: PAD(int32_t); break;
    case WICK_I64: PAD(int64_t); break;
    case WICK_U8: PAD(uint8_t); break;
    case WICK_U16: PAD(uint16_t); break;
    case WICK_U32: PAD(uint32_t); break;
    case WICK_U64: PAD(uint64_t); break;
    default: memset(to, 0, n * wick_dtype_size(dtype)); /* wick_loader_new takes no other value for it */
    }
}

static void *place_of(const wick_sample_pipeline *m, const wick_slot *slot, int k, int64_t i) {
    const size_t rows = m->varies[k] ? (size_t)slot->padded[k] : 1;
    return (char *)slot->fields[k] + (size_t)i * rows * m->row_bytes[k];
}

/* In a mirror a left hand is a right one. */
static void exchange(const wick_sample_pipeline *m, int64_t wide, float *points) {
    for (int64_t k = 0; k < m->n_pairs; k++) {
        float *a = points + m->pairs[k][0] * wide, *b = points + m->pairs[k][1] * wide;
        for (int64_t i = 0; i < wide; i++) {
            const float kept = a[i];
            a[i] = b[i], b[i] = kept;
        }
    }
}

/* Fields that belong to the picture. */
static void join(const wick_sample_pipeline *m, wick_worker_scratch *b, const wick_slot *slot, int64_t i,
                 int64_t sample) {
    const uint8_t *mask = b->masks;
    for (int k = 1; k < m->n_fields; k++) {
        void *place = place_of(m, slot, k, i);
        const int64_t rows = m->varies[k] ? slot->lengths[k][i] : 1,
                      n = rows * (int64_t)(m->row_bytes[k] / sizeof(float));
        const uint64_t epoch = (uint64_t)slot->epoch;
        const int rank = m->fields[k].rank;
        const int64_t wide = rank ? m->fields[k].dims[rank - 1] : 1;
        if (m->joint[k] == WICK_JOINT_POINTS) {
            wick_transform_wide_points(m->transform, m->seed, epoch, sample, n / wide, wide, place);
            if (m->n_pairs && wick_transform_mirrors(m->transform, m->seed, epoch, sample)) exchange(m, wide, place);
        }
        if (m->joint[k] == WICK_JOINT_BOXES)
            wick_transform_wide_boxes(m->transform, m->seed, epoch, sample, n / wide, wide, place);
        if (m->joint[k] != WICK_JOINT_MASK) continue;
        wick_transform_mask(m->transform, m->seed, epoch, sample, mask, (uint8_t)m->pad[k], place);
        mask += m->mask_bytes;
    }
}

/* Spans of a sample, of times in ns up to now. */
static void record(const wick_worker_scratch *b, uint64_t start, uint64_t got, uint64_t made, uint64_t end) {
    wick_recorder *r = b->recorder;
    wick_track *track = wick_recorder_track(r);
    const uint64_t now = wick_recorder_ticks(r), times[] = {start, got, made, end};
    for (uint32_t k = 0; k < 3; k++) {
        if (times[k] == times[k + 1]) continue;
        const wick_mark mark = {.begin = now - (uint64_t)((double)(end - times[k]) / r->tick_ns),
                                .end = now - (uint64_t)((double)(end - times[k + 1]) / r->tick_ns),
                                .name = WICK_SPAN_GET + k,
                                .kind = WICK_MARK_SPAN};
        (void)wick_track_put(r, track, &mark);
    }
}

static wick_status make(const wick_sample_pipeline *m, wick_worker_scratch *b, wick_slot *slot, int64_t i,
                        int64_t sample, wick_fault *fault) {
    void *out[WICK_DATASET_FIELDS] = {NULL};
    const bool changes = m->pixels || m->signal;
    const bool timed = (b->tick++ & (b->every - 1)) == 0;
    const uint64_t start = timed ? wick_now_ns() : 0;
    uint8_t *mask = b->masks;
    for (int k = 0; k < m->n_fields; k++) {
        out[k] = place_of(m, slot, k, i);
        if (m->joint[k] == WICK_JOINT_MASK) out[k] = mask, mask += m->mask_bytes;
    }
    int64_t class = 0;
    if (m->mixes) out[1] = &class;
    const uint8_t *pixels = NULL;
    bool asks = true;
    if (changes) {
        pixels = wick_dataset_at(m->dataset, sample, 0);
        out[0] = pixels ? NULL : b->pixels;
        asks = !pixels || m->n_fields > 1;
        if (!pixels) pixels = b->pixels;
    }
    if (asks) WICK_TRY(wick_dataset_get(m->dataset, sample, out, fault));
    if (m->mixes) {
        float *target = place_of(m, slot, 1, i);
        if (class < 0 || class >= m->classes)
            return wick_fault_set(fault, WICK_ERR_INDEX, "class %lld is none of %lld, which mixup and cutmix need",
                                  (long long)class, (long long)m->classes);
        memset(target, 0, m->row_bytes[1]);
        target[class] = 1;
    }
    const uint64_t got = timed ? wick_now_ns() : 0;
    if (changes) WICK_TRY(transform(m, b, slot, sample, pixels, place_of(m, slot, 0, i), fault));
    if (m->transform) join(m, b, slot, i, sample);
    const uint64_t made = timed && changes ? wick_now_ns() : got;
    bool any = false;
    for (int k = 0; k < m->n_fields; k++) {
        if (!m->varies[k]) continue;
        const int64_t length = slot->lengths[k][i], rest = slot->padded[k] - length;
        const size_t row = m->row_bytes[k];
        any = true;
        pad(m->fields[k].dtype, m->pad[k], (char *)place_of(m, slot, k, i) + (size_t)length * row,
            (size_t)rest * (row / wick_dtype_size(m->fields[k].dtype)));
    }
    if (!timed) return WICK_OK;
    const uint64_t end = any ? wick_now_ns() : made;
    wick_time_histogram_add(&b->get, got - start, b->every);
    if (changes) wick_time_histogram_add(&b->transform, made - got, b->every);
    if (any) wick_time_histogram_add(&b->collate, end - made, b->every);
    b->every = end - start > QUICK_NS ? 1 : QUICK_EVERY;
    if (b->recorder) record(b, start, got, made, end);
    return WICK_OK;
}

/* From the last to the first, each with the one before it, which is as it was; the first with what was kept of the
 * last. */
void wick_mix_batch(const wick_sample_pipeline *m, wick_worker_scratch *b, wick_slot *slot) {
    const uint64_t start = wick_now_ns();
    const int64_t n = wick_field_elements(&m->fields[0], 0);
    int64_t i = slot->n - 1, before, some = 1;
    while (i > 0 && slot->failed[i]) i--;
    memcpy(b->kept, place_of(m, slot, 0, i), m->row_bytes[0]);
    memcpy(b->kept + n, place_of(m, slot, 1, i), m->row_bytes[1]);
    for (const int64_t last = i; i >= 0; i = before) {
        before = i - 1;
        while (before >= 0 && slot->failed[before]) before--;
        if (before < 0 && i == last) break; /* it is alone */
        const wick_mix mix = wick_transform_mix(m->transform, m->seed, (uint64_t)slot->epoch, slot->samples[i]);
        wick_mix_samples(&mix, &m->fields[0], before < 0 ? b->kept : place_of(m, slot, 0, before),
                         place_of(m, slot, 0, i));
        wick_mix_numbers(&mix, m->classes, before < 0 ? b->kept + n : place_of(m, slot, 1, before),
                         place_of(m, slot, 1, i));
        some++;
    }
    wick_time_histogram_add(&b->collate, (wick_now_ns() - start) / (uint64_t)some, (uint64_t)some);
}

int64_t wick_sample_length(const wick_sample_pipeline *m, int64_t sample, int k) {
    const int64_t length = wick_dataset_length(m->dataset, sample, k);
    return k == 0 && m->signal && length >= 0 ? wick_transform_rows(m->transform, length) : length;
}

/* Whether another sample can stand in this one's place: where lengths vary it must be as long at most. */
static bool fits(const wick_sample_pipeline *m, wick_slot *slot, int64_t i, int64_t sample) {
    int64_t lengths[WICK_DATASET_FIELDS];
    for (int k = 0; k < m->n_fields; k++) {
        lengths[k] = m->varies[k] ? wick_sample_length(m, sample, k) : 0;
        if (m->varies[k] && (lengths[k] < 0 || lengths[k] > slot->padded[k])) return false;
    }
    for (int k = 0; k < m->n_fields; k++)
        if (m->varies[k]) slot->lengths[k][i] = lengths[k];
    return true;
}

wick_status wick_make_sample(const wick_sample_pipeline *m, wick_worker_scratch *b, wick_slot *slot, int64_t i,
                             wick_fault *fault) {
    const int64_t sample = slot->samples[i];
    wick_status status = make(m, b, slot, i, sample, fault);
    if (status == WICK_OK || m->on_fault != WICK_FAULT_SUBSTITUTE) return status;
    for (uint32_t t = 0; t < TRIES; t++) {
        uint32_t word[4];
        wick_sample_words(m->seed, (uint64_t)slot->epoch, sample, WICK_BLOCK_SUBSTITUTE + t, word);
        const int64_t other = (int64_t)((uint64_t)word[0] * (uint64_t)wick_dataset_count(m->dataset) >> 32);
        wick_fault again;
        if (!fits(m, slot, i, other) || make(m, b, slot, i, other, &again) != WICK_OK) continue;
        slot->samples[i] = other;
        atomic_fetch_add_explicit(&b->substituted, 1, memory_order_relaxed);
        return WICK_OK;
    }
    return status;
}
