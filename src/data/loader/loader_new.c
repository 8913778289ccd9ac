/* loader_new.c: a loader is made, all of its memory at once, and freed. */
#include "data/loader/loader_state.h"
#include "data/sets/stream.h"

#include <math.h>

/* Of a stream no sample has a number that it could be asked for by, or drawn by. */
static wick_status check_stream(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o, int slots) {
    if (!d->stream) return WICK_OK;
    const char *what = o->shuffle           ? "shuffle, which wick_stream_options has"
                       : o->weights         ? "weights"
                       : o->balanced        ? "balanced"
                       : o->buckets[0]      ? "buckets"
                       : o->on_fault == WICK_FAULT_SUBSTITUTE ? "WICK_FAULT_SUBSTITUTE"
                       : o->as_ready && wick_stream_ends(d->stream) ? "as_ready, unless its count is known"
                                            : NULL;
    if (what)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                 "loader: the samples of a stream come one after the other: there is no %s", what);
    const int64_t window = wick_stream_window(d->stream), ranks = WICK_MAX(o->ranks, 1);
    if (o->batch > window / slots / ranks)
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "loader: %d batches of %lld samples at once, times %lld ranks, are more than the stream's window, %lld",
            slots, (long long)o->batch, (long long)ranks, (long long)window);
    return WICK_OK;
}

static wick_status check(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o) {
    const int64_t count = d->source.count, ranks = WICK_MAX(o->ranks, 1);
    if (o->batch < 1) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: batch is %lld", (long long)o->batch);
    if (o->ranks < 0 || o->rank < 0 || o->rank >= ranks)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: rank %d of %d", o->rank, o->ranks);
    if (o->draws < 0 || (o->draws && !o->weights && !o->balanced))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %lld draws an epoch; they are for weights or balanced",
                                 (long long)o->draws);
    const int64_t total = o->draws ? o->draws : count, own = (total - o->rank + ranks - 1) / ranks;
    if (count < 1 || own < 1 || (o->drop_last && own < o->batch))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %lld samples make no batch of %lld",
                                 (long long)WICK_MAX(own, 0), (long long)o->batch);
    if (count > UINT32_MAX || total > UINT32_MAX)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "loader: %lld samples; at most 2^32 - 1",
                                 (long long)WICK_MAX(count, total));
    if (!(o->deviation >= 0 && o->mean - o->mean == 0 && o->deviation - o->deviation == 0))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: mean %g and deviation %g cannot normalise", o->mean,
                                 o->deviation);
    if (o->shuffle_buffer < 0 || (o->shuffle_buffer && (!o->shuffle || o->weights || o->balanced)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: a shuffle_buffer of %lld: it is for shuffle, without weights or balanced",
                                 (long long)o->shuffle_buffer);
    if (o->workers < 0 || o->workers > WICK_WORKERS_MAX || o->prefetch < 0 || o->prefetch > WICK_PREFETCH_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: %d workers and %d batches ahead; at most %d and %d",
                                 o->workers, o->prefetch, WICK_WORKERS_MAX, WICK_PREFETCH_MAX);
    if (!(o->latency >= 0) || isinf(o->latency) || (o->latency > 0 && (o->buckets[0] || o->as_ready)))
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "loader: a latency of %g s: batches that follow one have no buckets, and come in order", o->latency);
    if ((unsigned)o->on_fault > WICK_FAULT_SUBSTITUTE)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: on_fault is %d", (int)o->on_fault);
    for (int b = 1; b < WICK_BUCKETS && o->buckets[b]; b++)
        if (o->buckets[b] <= o->buckets[b - 1])
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: bucket %d ends at %lld, the one before at %lld", b,
                                     (long long)o->buckets[b], (long long)o->buckets[b - 1]);
    const wick_spec *f = wick_dataset_field(d, o->bucket_field);
    if (o->buckets[0] < 0 || !f || (o->buckets[0] && !wick_field_varies(f)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: buckets need a field whose first dim varies; field %d is none",
                                 o->bucket_field);
    return WICK_OK;
}

wick_status wick_loader_check_part(wick_context *ctx, const wick_dataset *d, const wick_loader_options *o) {
    const bool given = o->part_begin || o->part_end;
    if (!given) return WICK_OK;
    if (o->part_begin < 0 || o->part_end <= o->part_begin)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: samples %lld to %lld of each batch are no part of it",
                                 (long long)o->part_begin, (long long)o->part_end - 1);
    const char *what = d->stream                                            ? "a stream"
                       : o->transform && wick_transform_mixes(o->transform) ? "a transform that mixes samples"
                       : o->on_fault == WICK_FAULT_SKIP                     ? "WICK_FAULT_SKIP"
                                                                            : NULL;
    if (!what) return WICK_OK;
    return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "loader: parts of batches are not for %s", what);
}

static bool takes_pad(wick_dtype dtype, double value) {
    if (value == 0 || dtype == WICK_F32 || dtype == WICK_F64) return true;
    const bool is_signed = dtype >= WICK_I8 && dtype <= WICK_I64;
    if (!is_signed && !(dtype >= WICK_U8 && dtype <= WICK_U64)) return false;
    const double end = ldexp(1, wick_dtype_bits(dtype) - is_signed);
    return value == floor(value) && value < end && value >= (is_signed ? -end : 0);
}

/* What becomes of the first field. */
static wick_status set_pixels(wick_context *ctx, wick_sample_pipeline *m, const wick_loader_options *o) {
    const wick_spec *f = &m->fields[0];
    const bool asked = o->flip || o->crop || o->mean != 0 || o->deviation != 0 || o->transform;
    m->pixels = !o->raw && f->dtype == WICK_U8 && !m->varies[0];
    m->signal = !o->raw && f->dtype == WICK_F32 && o->transform;
    if (m->signal) {
        const wick_spec *in = wick_transform_input(o->transform);
        if (o->flip || o->crop || o->mean != 0 || o->deviation != 0)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "loader: a transform says all; mean, deviation, flip and crop are not given beside it");
        if (in->dtype != WICK_F32 || in->rank != f->rank ||
            memcmp(in->dims, f->dims, (size_t)f->rank * sizeof *f->dims) != 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: the transform is for other signals than \"%s\"",
                                     f->name);
        const char *name = f->name;
        m->transform = o->transform;
        m->fields[0] = *wick_transform_output(o->transform);
        m->fields[0].name = name;
        return WICK_OK;
    }
    if (asked && !m->pixels)
        return wick_context_fail(
            ctx, WICK_ERR_INVALID,
            "loader: mean, deviation, flip, crop and transform are for pixels, u8 of fixed dims; \"%s\" is %s%s",
            f->name, wick_dtype_name(f->dtype), o->raw ? ", and to be left raw" : "");
    if (!m->pixels) return WICK_OK;
    const int rank = f->rank;
    if (o->transform) {
        const wick_spec *in = wick_transform_input(o->transform);
        if (o->flip || o->crop || o->mean != 0 || o->deviation != 0)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "loader: a transform says all; mean, deviation, flip and crop are not given beside it");
        if (in->rank != rank || memcmp(in->dims, f->dims, (size_t)rank * sizeof *f->dims) != 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: the transform is for other pictures than \"%s\"",
                                     f->name);
        const char *name = f->name;
        m->transform = o->transform;
        m->fields[0] = *wick_transform_output(o->transform);
        m->fields[0].name = name;
        return WICK_OK;
    }
    m->height = rank < 2 ? 1 : f->dims[rank - 2];
    m->width = rank < 1 ? 1 : f->dims[rank - 1];
    if ((o->flip || o->crop) && (rank < 2 || m->height < 1 || m->width < 1))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: flip and crop are for samples of height and width; these have %d dim%s", rank,
                                 rank == 1 ? "" : "s");
    if (o->crop < 0 || (o->crop && o->crop >= WICK_MIN(m->height, m->width)))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: crop is %lld; for samples of %lld x %lld it is at least 0 and less than both",
                                 (long long)o->crop, (long long)m->height, (long long)m->width);
    m->planes = m->height && m->width ? (int64_t)m->row_bytes[0] / (m->height * m->width) : 0;
    m->flip = o->flip;
    m->crop = o->crop;
    wick_pixel_map_make(&m->map, o->mean, o->deviation > 0 ? o->deviation : 1);
    m->fields[0].dtype = WICK_F32;
    return WICK_OK;
}

/* What belongs to the first field. */
static wick_status set_joint(wick_context *ctx, wick_sample_pipeline *m, const wick_dataset *d,
                             const wick_loader_options *o) {
    for (int k = 0; k < WICK_DATASET_FIELDS; k++) {
        const wick_joint joint = o->joint[k];
        if (!joint) continue;
        if ((unsigned)joint > WICK_JOINT_MASK || !k || k >= m->n_fields || !o->transform || m->signal)
            return wick_context_fail(
                ctx, WICK_ERR_INVALID,
                "loader: joint is for fields beside the picture, and needs a transform; field %d is none", k);
        wick_spec *f = &m->fields[k];
        const wick_spec *picture = wick_dataset_field(d, 0);
        m->joint[k] = joint;
        if (joint != WICK_JOINT_MASK) {
            const int64_t want = joint == WICK_JOINT_POINTS ? 2 : 4;
            if (f->dtype == WICK_F32 && f->rank > 0 && f->dims[f->rank - 1] >= want) continue;
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: %s are f32 [..., %lld or more]; \"%s\" is %s of %d dim%s",
                                     want == 2 ? "points" : "boxes", (long long)want, f->name,
                                     wick_dtype_name(f->dtype), f->rank, f->rank == 1 ? "" : "s");
        }
        const wick_spec *made = wick_transform_output(o->transform);
        if (f->dtype != WICK_U8 || f->rank != 2 ||
            memcmp(f->dims, picture->dims + picture->rank - 2, 2 * sizeof *f->dims) != 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: a mask is u8 of the picture's height and width; \"%s\" is not", f->name);
        m->mask_bytes = m->row_bytes[k];
        m->n_masks++;
        memcpy(f->dims, made->dims + made->rank - 2, 2 * sizeof *f->dims);
        m->row_bytes[k] = wick_spec_bytes(f);
    }
    return WICK_OK;
}

/* Points that are each other in a mirror. */
static wick_status set_pairs(wick_context *ctx, wick_sample_pipeline *m, const wick_loader_options *o) {
    int64_t points = INT64_MAX; /* of the field with the fewest */
    for (int k = 1; k < m->n_fields; k++)
        if (m->joint[k] == WICK_JOINT_POINTS)
            points = WICK_MIN(points, m->fields[k].rank == 2 && !m->varies[k] ? m->fields[k].dims[0] : 0);
    if (!o->n_pairs) return WICK_OK;
    if (o->n_pairs < 0 || !o->pairs || points < 1 || points == INT64_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: pairs are for a joint field of points, f32 [points, 2 or more]");
    for (int64_t i = 0; i < 2 * o->n_pairs; i++) {
        const int64_t at = o->pairs[i / 2][i % 2];
        bool again = false;
        for (int64_t j = 0; j < i; j++) again |= o->pairs[j / 2][j % 2] == at;
        if (at < 0 || at >= points || again)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: pair %lld: point %lld %s", (long long)(i / 2),
                                     (long long)at, again ? "is in a pair already" : "is not among the points");
    }
    m->pairs = o->pairs, m->n_pairs = o->n_pairs;
    return WICK_OK;
}

/* Classes become numbers that can be mixed. */
static wick_status set_mixing(wick_context *ctx, wick_sample_pipeline *m, const wick_dataset *d) {
    wick_spec *f = &m->fields[1];
    m->mixes = m->transform && wick_transform_mixes(m->transform);
    if (!m->mixes) return WICK_OK;
    m->classes = wick_dataset_classes(d);
    if (m->n_fields < 2 || f->dtype != WICK_I64 || f->rank != 0 || m->classes < 1)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: mixup and cutmix mix classes too: they need a data set with classes, whose "
                                 "second field is i64 and says which a sample is of");
    for (int k = 0; k < m->n_fields; k++)
        if (m->joint[k])
            return wick_context_fail(ctx, WICK_ERR_INVALID,
                                     "loader: mixup and cutmix mix classes, not points, boxes or masks: \"%s\"",
                                     m->fields[k].name);
    f->dtype = WICK_F32;
    f->rank = 1;
    f->dims[0] = m->classes;
    m->row_bytes[1] = wick_spec_bytes(f);
    return WICK_OK;
}

/* Room for the longest sample as it is, and as it becomes. */
static wick_status set_signal(wick_loader *l, wick_context *ctx, const wick_dataset *d) {
    wick_sample_pipeline *m = &l->pipeline;
    int64_t rows = m->varies[0] ? 1 : wick_dataset_field(d, 0)->dims[0];
    if (m->varies[0] && d->stream) rows = wick_stream_longest(d->stream, 0);
    for (int64_t i = 0; m->varies[0] && !d->stream && i < d->source.count; i++)
        rows = WICK_MAX(rows, wick_dataset_length(d, i, 0));
    l->scratch = wick_transform_scratch(m->transform, rows);
    const bool varied = m->varies[0];
    m->varies[0] = wick_field_varies(&m->fields[0]);
    const int64_t row = wick_field_elements(&m->fields[0], m->varies[0] ? 1 : 0);
    if (!l->scratch || row < 1 || (varied && wick_mul_overflows(l->pixel_bytes, (size_t)rows, &l->pixel_bytes)) ||
        wick_mul_overflows((size_t)row, sizeof(float), &m->row_bytes[0]))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "loader: samples of \"%s\" of up to %lld rows are too long for the transform",
                                 m->fields[0].name, (long long)rows);
    return WICK_OK;
}

static wick_status set_fields(wick_loader *l, wick_context *ctx, const wick_dataset *d, const wick_loader_options *o) {
    wick_sample_pipeline *m = &l->pipeline;
    *m = (wick_sample_pipeline){
        .dataset = d, .seed = o->seed, .n_fields = wick_dataset_fields(d), .batch = o->batch, .on_fault = o->on_fault};
    for (int k = 0; k < m->n_fields; k++) {
        m->fields[k] = *wick_dataset_field(d, k);
        m->varies[k] = wick_field_varies(&m->fields[k]);
        m->row_bytes[k] = d->field_bytes[k];
        m->pad[k] = o->pad[k];
        if (!takes_pad(m->fields[k].dtype, o->pad[k]))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: field \"%s\", %s, cannot be padded with %g",
                                     m->fields[k].name, wick_dtype_name(m->fields[k].dtype), o->pad[k]);
    }
    WICK_TRY(set_pixels(ctx, m, o));
    l->pixel_bytes = m->row_bytes[0];
    if (m->pixels && m->transform) l->scratch = wick_transform_scratch(m->transform, 0);
    if (m->signal) WICK_TRY(set_signal(l, ctx, d));
    if (m->pixels) {
        size_t bytes;
        if (wick_mul_overflows((size_t)wick_field_elements(&m->fields[0], 0), sizeof(float), &bytes))
            return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for a sample of \"%s\"",
                                     m->fields[0].name);
        m->row_bytes[0] = bytes;
    }
    WICK_TRY(set_joint(ctx, m, d, o));
    WICK_TRY(set_pairs(ctx, m, o));
    WICK_TRY(set_mixing(ctx, m, d));
    for (int k = 0; k < m->n_fields; k++) {
        int64_t rows = 1;
        if (m->varies[k] && d->stream)
            rows = k == 0 && m->signal ? wick_transform_rows(m->transform, wick_stream_longest(d->stream, 0))
                                       : wick_stream_longest(d->stream, k);
        for (int64_t i = 0; m->varies[k] && !d->stream && i < d->source.count; i++) {
            const int64_t length = wick_sample_length(m, i, k);
            if (length < 0)
                return wick_context_fail(ctx, WICK_ERR_INVALID,
                                         "loader: the length of sample %lld in \"%s\" cannot be told", (long long)i,
                                         m->fields[k].name);
            rows = WICK_MAX(rows, length);
        }
        if (o->buckets[0] && k == o->bucket_field)
            for (int b = 0; b < WICK_BUCKETS && o->buckets[b]; b++) rows = WICK_MAX(rows, o->buckets[b]);
        l->longest[k] = rows;
        size_t bytes;
        if (wick_mul_overflows(m->row_bytes[k], (size_t)(m->varies[k] ? rows : 1), &bytes) ||
            wick_mul_overflows(bytes, (size_t)o->batch, &l->slot_bytes[k]) || l->slot_bytes[k] > PTRDIFF_MAX)
            return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for %lld samples of \"%s\"",
                                     (long long)o->batch, m->fields[k].name);
        wick_spec *f = &l->batch_fields[k];
        *f = m->fields[k];
        f->rank = m->fields[k].rank + 1;
        f->dims[0] = o->batch;
        memcpy(f->dims + 1, m->fields[k].dims, sizeof *f->dims * (size_t)m->fields[k].rank);
    }
    return WICK_OK;
}

/* Counts what the loader holds. */
static void *get_memory(wick_loader *l, size_t bytes) {
    const wick_tag was = wick_tag_set(WICK_TAG_DATA);
    void *p = wick_calloc(&l->alloc, bytes);
    wick_tag_set(was);
    if (p) l->memory += bytes;
    return p;
}

static bool make_slots(wick_loader *l) {
    const wick_sample_pipeline *m = &l->pipeline;
    const int threads = l->options.workers + 1;
    l->slots = get_memory(l, (size_t)l->depth * sizeof *l->slots);
    l->faults = get_memory(l, (size_t)l->depth * sizeof *l->faults);
    l->scratches = get_memory(l, (size_t)threads * sizeof *l->scratches);
    l->make = get_memory(l, sizeof *l->make);
    l->wait = get_memory(l, sizeof *l->wait);
    if (!l->slots || !l->faults || !l->scratches || !l->make || !l->wait) return false;
    for (int i = 0; i < threads; i++) {
        l->scratches[i].every = 1;
        if ((m->pixels || m->signal) && !(l->scratches[i].pixels = get_memory(l, l->pixel_bytes))) return false;
        if (l->scratch && !(l->scratches[i].scratch = get_memory(l, l->scratch))) return false;
        if (m->mixes && !(l->scratches[i].kept = get_memory(l, m->row_bytes[0] + m->row_bytes[1]))) return false;
        if (m->n_masks && !(l->scratches[i].masks = get_memory(l, (size_t)m->n_masks * m->mask_bytes))) return false;
    }
    for (int i = 0; i < l->depth; i++) {
        wick_slot *s = &l->slots[i];
        s->samples = get_memory(l, (size_t)m->batch * sizeof *s->samples);
        s->failed = get_memory(l, (size_t)m->batch);
        if (!s->samples || !s->failed) return false;
        for (int k = 0; k < m->n_fields; k++) {
            if (!(s->fields[k] = get_memory(l, l->slot_bytes[k]))) return false;
            if (m->varies[k] && !(s->lengths[k] = get_memory(l, (size_t)m->batch * sizeof *s->lengths[k])))
                return false;
        }
    }
    return true;
}

wick_status wick_loader_new(wick_context *ctx, const wick_dataset *dataset, const wick_loader_options *options,
                            wick_loader **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader_new: out is NULL");
    *out = NULL;
    if (!dataset || !options) return wick_context_fail(ctx, WICK_ERR_INVALID, "loader: needs a dataset and options");
    WICK_TRY(check(ctx, dataset, options));
    WICK_TRY(wick_loader_check_part(ctx, dataset, options));
    wick_loader *l = wick_calloc(&ctx->alloc, sizeof *l);
    if (!l) return wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory");
    l->ctx = ctx;
    l->alloc = ctx->alloc;
    l->options = *options;
    /* no slot needs room for more */
    l->options.batch = WICK_MIN(options->batch, options->draws ? options->draws : dataset->source.count);
    l->options.weights = NULL; /* the order has them */
    if (!options->part_end) l->options.part_end = INT64_MAX;
    l->held = -1;
    const int ahead = options->prefetch   ? options->prefetch
                      : options->adaptive ? 8
                                          : WICK_MIN(WICK_PREFETCH_MAX, WICK_MAX(2, options->workers + 1));
    l->depth = options->workers ? ahead + 1 : 1; /* and the one that the caller has */
    l->pace = (wick_pace){.workers = options->adaptive ? WICK_MIN(options->workers, 1) : options->workers,
                          .most_workers = options->workers,
                          .ahead = options->adaptive ? WICK_MIN(ahead, 2) : ahead,
                          .most_ahead = l->depth - 1};
    wick_loader_options o = l->options;
    o.weights = options->weights;
    wick_status status = check_stream(ctx, dataset, &o, l->depth);
    if (status == WICK_OK) status = set_fields(l, ctx, dataset, &o);
    if (status == WICK_OK) status = wick_order_new(&l->order, ctx, dataset, &o);
    if (status == WICK_OK && !make_slots(l))
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for %d batches of %lld samples",
                                   l->depth, (long long)l->options.batch);
    if (status == WICK_OK &&
        wick_worker_pool_new(&l->pool, options->workers, l->depth, wick_loader_tasks, l, &l->alloc) != WICK_OK)
        status = wick_context_fail(ctx, WICK_ERR_NOMEM, "loader: out of memory for %d workers", options->workers);
    if (status != WICK_OK) {
        wick_loader_free(&l);
        return status;
    }
    l->memory += sizeof *l + wick_order_bytes(&l->order) + wick_worker_pool_bytes(l->pool);
    if (options->adaptive && options->workers) wick_worker_pool_allow(l->pool, l->pace.workers);
    wick_loader_begin(l, 0, 0, 0);
    *out = l;
    return WICK_OK;
}

void wick_loader_free(wick_loader **loader) {
    wick_loader *l = loader ? *loader : NULL;
    if (!l) return;
    *loader = NULL;
    wick_allocator alloc = l->alloc;
    wick_worker_pool_free(&l->pool);
    for (int i = 0; l->slots && i < l->depth; i++) {
        wick_slot *s = &l->slots[i];
        wick_release(&alloc, s->samples, (size_t)l->pipeline.batch * sizeof *s->samples);
        wick_release(&alloc, s->failed, (size_t)l->pipeline.batch);
        for (int k = 0; k < l->pipeline.n_fields; k++) {
            wick_release(&alloc, s->fields[k], l->slot_bytes[k]);
            wick_release(&alloc, s->lengths[k], (size_t)l->pipeline.batch * sizeof *s->lengths[k]);
        }
    }
    for (int i = 0; l->scratches && i <= l->options.workers; i++) {
        wick_release(&alloc, l->scratches[i].pixels, l->pixel_bytes);
        wick_release(&alloc, l->scratches[i].scratch, l->scratch);
        wick_release(&alloc, l->scratches[i].kept, l->pipeline.row_bytes[0] + l->pipeline.row_bytes[1]);
        wick_release(&alloc, l->scratches[i].masks, (size_t)l->pipeline.n_masks * l->pipeline.mask_bytes);
    }
    wick_release(&alloc, l->scratches, (size_t)(l->options.workers + 1) * sizeof *l->scratches);
    wick_release(&alloc, l->slots, (size_t)l->depth * sizeof *l->slots);
    wick_release(&alloc, l->faults, (size_t)l->depth * sizeof *l->faults);
    wick_release(&alloc, l->make, sizeof *l->make);
    wick_release(&alloc, l->wait, sizeof *l->wait);
    wick_order_free(&l->order);
    wick_release(&alloc, l, sizeof *l);
}
