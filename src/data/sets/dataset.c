/* dataset.c: the interface of data sets: checks what a maker supplies, and every number before the maker sees it. */
#include "data/sets/stream.h"

#include <math.h>
#include <stdio.h>

enum { MOST_CLASSES = 1 << 24 };

wick_status wick_fault_set(wick_fault *fault, wick_status status, const char *fmt, ...) {
    if (!fault) return status;
    wick_msg msg;
    va_list args;
    va_start(args, fmt);
    wick_msg_setv(&msg, status, fmt, args);
    va_end(args);
    wick_str text = wick_str_on(fault->text, sizeof fault->text);
    wick_str_add(&text, "%s", msg.text);
    return status;
}

int64_t wick_field_elements(const wick_spec *field, int first) {
    int64_t n = 1;
    for (int d = first; d < field->rank; d++)
        if (wick_mul_overflows(n, field->dims[d], &n)) return -1;
    return n;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static wick_status check_field(wick_context *ctx, const wick_dataset_source *s, int k) {
    const wick_spec *f = &s->fields[k];
    const char *name = f->name ? f->name : "";
    if (!*name) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: field %d has no name", k);
    for (int i = 0; i < k; i++)
        if (strcmp(name, s->fields[i].name) == 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: two fields are named \"%s\"", name);
    if (!wick_dtype_size(f->dtype))
        return wick_context_fail(ctx, WICK_ERR_DTYPE, "dataset: field \"%s\" is %s, whose elements have no addresses",
                                 name, wick_dtype_name(f->dtype));
    if (f->rank < 0 || f->rank > WICK_MAX_DIMS - 1) /* a batch has one more */
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: field \"%s\" has %d dims; 0 to %d can be batched",
                                 name, f->rank, WICK_MAX_DIMS - 1);
    for (int d = 0; d < f->rank; d++)
        if (f->dims[d] < -(d == 0 && s->length))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: field \"%s\": dim %d is %lld%s", name, d,
                                     (long long)f->dims[d],
                                     d == 0 && f->dims[d] == -1 ? ", and there is no `length`" : "");
    const int64_t elements = wick_field_elements(f, wick_field_varies(f));
    int64_t bytes;
    if (elements < 0 || wick_mul_overflows(elements, (int64_t)wick_dtype_size(f->dtype), &bytes))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: field \"%s\": its bytes do not fit 63 bits", name);
    return WICK_OK;
}

static wick_status number_classes(wick_dataset *d) {
    d->class_names = wick_arena_alloc(&d->names, (size_t)d->source.classes * sizeof *d->class_names);
    if (!d->class_names) return WICK_ERR_NOMEM;
    for (int64_t k = 0; k < d->source.classes; k++) {
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)k);
        if (!(d->class_names[k] = wick_arena_strdup(&d->names, number))) return WICK_ERR_NOMEM;
    }
    return WICK_OK;
}

wick_status wick_dataset_new(wick_context *ctx, const wick_dataset_source *source, wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_new: out is NULL");
    *out = NULL;
    if (!source || !source->get || source->count < 0)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: needs a source with a count and `get`");
    if (source->n_fields < 1 || source->n_fields > WICK_DATASET_FIELDS)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %d fields; a sample has 1 to %d", source->n_fields,
                                 WICK_DATASET_FIELDS);
    if (source->classes < 0 || source->classes > MOST_CLASSES || (source->classes && !source->label))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %lld classes%s", (long long)source->classes,
                                 source->label ? "" : ", and there is no `label`");
    for (int k = 0; k < source->n_fields; k++) WICK_TRY(check_field(ctx, source, k));
    wick_dataset *d = wick_calloc(&ctx->alloc, sizeof *d);
    if (!d) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    d->alloc = ctx->alloc;
    d->source = *source;
    wick_arena_init(&d->names, &d->alloc, 0);
    bool ok = true;
    for (int k = 0; k < source->n_fields; k++) {
        wick_spec *f = &d->source.fields[k];
        ok = ok && (f->name = wick_arena_strdup(&d->names, f->name));
        d->field_bytes[k] = (size_t)wick_field_elements(f, wick_field_varies(f)) * wick_dtype_size(f->dtype);
    }
    ok = ok && (!source->note || (d->source.note = wick_arena_strdup(&d->names, source->note)));
    if (ok && source->classes && !source->class_name) ok = number_classes(d) == WICK_OK;
    if (!ok) {
        d->source.free = NULL; /* it stays the caller's */
        wick_dataset_free(&d);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    }
    *out = d;
    return WICK_OK;
}

void wick_dataset_free(wick_dataset **dataset) {
    wick_dataset *d = dataset ? *dataset : NULL;
    if (!d) return;
    *dataset = NULL;
    wick_allocator alloc = d->alloc;
    if (d->source.free) d->source.free(d->source.user);
    wick_release(&alloc, d->picked, (size_t)d->picked_cap * sizeof *d->picked);
    wick_arena_free(&d->names); /* whose allocator is d's */
    wick_release(&alloc, d, sizeof *d);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static bool inside(const wick_dataset *d, int64_t i) { return i >= 0 && i < d->source.count; }
static bool is_field(const wick_dataset *d, int field) { return field >= 0 && field < d->source.n_fields; }
static int64_t number(const wick_dataset *d, int64_t i) { return d->picked ? d->picked[i] : i; }

int64_t wick_dataset_count(const wick_dataset *d) {
    return d->stream && wick_stream_ends(d->stream) ? -1 : d->source.count;
}
const char *wick_dataset_note(const wick_dataset *d) { return d->source.note ? d->source.note : ""; }
int wick_dataset_fields(const wick_dataset *d) { return d->source.n_fields; }
const wick_spec *wick_dataset_field(const wick_dataset *d, int field) {
    return is_field(d, field) ? &d->source.fields[field] : NULL;
}
int64_t wick_dataset_classes(const wick_dataset *d) { return d->source.classes; }
int64_t wick_dataset_rate(const wick_dataset *d) { return d->source.rate; }
int wick_dataset_rank(const wick_dataset *d) { return d->source.fields[0].rank; }
const int64_t *wick_dataset_dims(const wick_dataset *d) { return d->source.fields[0].dims; }

int64_t wick_dataset_length(const wick_dataset *d, int64_t i, int field) {
    if (!inside(d, i) || !is_field(d, field) || !d->source.fields[field].rank) return -1;
    return wick_field_varies(&d->source.fields[field]) ? d->source.length(d->source.user, number(d, i), field)
                                                       : d->source.fields[field].dims[0];
}

size_t wick_dataset_bytes(const wick_dataset *d, int64_t i, int field) {
    if (!inside(d, i) || !is_field(d, field)) return SIZE_MAX;
    if (!wick_field_varies(&d->source.fields[field])) return d->field_bytes[field];
    const int64_t length = wick_dataset_length(d, i, field);
    size_t bytes;
    return length < 0 || wick_mul_overflows(d->field_bytes[field], (size_t)length, &bytes) ? SIZE_MAX : bytes;
}

wick_status wick_dataset_get(const wick_dataset *d, int64_t i, void *const *out, wick_fault *fault) {
    if (!out) return wick_fault_set(fault, WICK_ERR_INVALID, "dataset_get: out is NULL");
    if (!inside(d, i))
        return wick_fault_set(fault, WICK_ERR_INDEX, "sample %lld of %lld", (long long)i, (long long)d->source.count);
    wick_fault unread;
    return d->source.get(d->source.user, number(d, i), out, fault ? fault : &unread);
}

void wick_dataset_ahead(const wick_dataset *d, const int64_t *indices, int64_t n) {
    enum { SOME = 64 };
    int64_t some[SOME], m = 0;
    if (!d->source.ahead) return;
    for (int64_t i = 0; i < n; i++) {
        if (inside(d, indices[i])) some[m++] = number(d, indices[i]);
        if (m && (m == SOME || i + 1 == n)) d->source.ahead(d->source.user, some, m), m = 0;
    }
}

const void *wick_dataset_at(const wick_dataset *d, int64_t i, int field) {
    return inside(d, i) && is_field(d, field) && d->source.at ? d->source.at(d->source.user, number(d, i), field)
                                                              : NULL;
}

const uint8_t *wick_dataset_sample(const wick_dataset *d, int64_t i) {
    return d->source.fields[0].dtype == WICK_U8 ? wick_dataset_at(d, i, 0) : NULL;
}

int64_t wick_dataset_label(const wick_dataset *d, int64_t i) {
    return inside(d, i) && d->source.label ? d->source.label(d->source.user, number(d, i)) : -1;
}

const char *wick_dataset_class_name(const wick_dataset *d, int64_t label) {
    if (label < 0 || label >= d->source.classes) return "?";
    return d->class_names ? d->class_names[label] : d->source.class_name(d->source.user, label);
}

bool wick_dataset_cache(const wick_dataset *d, uint64_t *hits, uint64_t *misses, size_t *bytes) {
    uint64_t unwanted;
    size_t unwanted_bytes;
    if (!hits) hits = &unwanted;
    if (!misses) misses = &unwanted;
    if (!bytes) bytes = &unwanted_bytes;
    bool any = d->source.cache != NULL;
    *hits = *misses = 0;
    *bytes = 0;
    if (any) d->source.cache(d->source.user, hits, misses, bytes);
    for (int k = 0; k < d->n_parts; k++) {
        uint64_t h, m;
        size_t b;
        any |= wick_dataset_cache(d->parts[k], &h, &m, &b);
        *hits += h, *misses += m, *bytes += b;
    }
    return any;
}

int wick_dataset_cache_times(const wick_dataset *d, int n, int most, struct wick_time_histogram **meters[2]) {
    if (d->cached[0] && n < most) {
        for (int i = 0; i < 2; i++) meters[i][n] = d->cached[i];
        n++;
    }
    for (int k = 0; k < d->n_parts; k++) n = wick_dataset_cache_times(d->parts[k], n, most, meters);
    return n;
}

wick_status wick_dataset_by_number(wick_context *ctx, int n, const wick_dataset *const *sets) {
    for (int k = 0; k < n; k++)
        if (sets[k]->stream)
            return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED,
                                     "dataset: the samples of a stream come one after the other, and not by number: a "
                                     "loader takes them so, also through a map");
    return WICK_OK;
}

wick_status wick_dataset_limit(wick_context *ctx, wick_dataset *d, int64_t most) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_limit: dataset is NULL");
    const int64_t count = d->source.count;
    WICK_TRY(wick_dataset_by_number(ctx, 1, (const wick_dataset *[]){d}));
    if (most < 0 || most >= count) return WICK_OK;
    if (!d->picked) {
        d->picked = wick_alloc(&d->alloc, (size_t)most * sizeof *d->picked);
        if (!d->picked)
            return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory for the numbers of %lld samples",
                                     (long long)most);
        d->picked_cap = most;
    }
    const bool again = most < d->picked_cap; /* draws are among what was kept before; none is in front of i */
    for (int64_t i = 0; i < most; i++) {
        /* Drawn, since a fixed stride may meet one class again and again. The end of a stretch is the start of the
         * next. */
        uint32_t draw[4];
        wick_philox((const uint32_t[4]){(uint32_t)i, (uint32_t)(i >> 32)}, (const uint32_t[2]){0}, draw);
        const double part = (double)count / (double)most, end = (double)(i + 1) * part;
        const int64_t from =
            WICK_MAX(i, WICK_MIN((int64_t)end - 1, (int64_t)((double)i * part + draw[0] * 0x1p-32 * part)));
        d->picked[i] = again ? d->picked[from] : from;
    }
    d->source.count = most;
    return WICK_OK;
}

/* ---- moments: sums of whole numbers, exact, whatever the order --------------------------------------------------- */

typedef struct sums {
    uint64_t sum, squares;
} sums;

static void add_pixels(sums *s, const uint8_t *pixels, size_t n) {
    const size_t chunk = 1 << 16; /* 255^2 * 2^16 < 2^32 */
    for (size_t begin = 0; begin < n; begin += chunk) {
        const size_t end = WICK_MIN(n, begin + chunk);
        uint32_t part = 0, part_squares = 0;
        for (size_t i = begin; i < end; i++) {
            part += pixels[i];
            part_squares += (uint32_t)pixels[i] * pixels[i];
        }
        s->sum += part;
        s->squares += part_squares;
    }
}

wick_status wick_dataset_moments(wick_context *ctx, const wick_dataset *d, double *mean, double *deviation) {
    if (!d) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_moments: dataset is NULL");
    if (!mean) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_moments: mean is NULL");
    if (!deviation) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_moments: deviation is NULL");
    *mean = *deviation = 0;
    WICK_TRY(wick_dataset_by_number(ctx, 1, &d));
    const wick_spec *f = &d->source.fields[0];
    if (f->dtype != WICK_U8)
        return wick_context_fail(ctx, WICK_ERR_DTYPE, "dataset: \"%s\" is %s; moments are of u8", f->name,
                                 wick_dtype_name(f->dtype));
    sums s = {0, 0};
    double count = 0;
    uint8_t *own = NULL;
    size_t cap = 0;
    wick_status status = WICK_OK;
    for (int64_t i = 0; status == WICK_OK && i < d->source.count; i++) {
        const size_t n = wick_dataset_bytes(d, i, 0);
        const uint8_t *pixels = wick_dataset_sample(d, i);
        wick_fault fault = {""};
        if (n == SIZE_MAX) status = wick_fault_set(&fault, WICK_ERR_INVALID, "its length cannot be told");
        else if (!pixels && !wick_grow(&d->alloc, (void **)&own, &cap, n, 1))
            status = wick_fault_set(&fault, WICK_ERR_NOMEM, "out of memory: %zu bytes", n);
        else if (!pixels) status = wick_dataset_get(d, i, (void *[WICK_DATASET_FIELDS]){own}, &fault);
        if (status == WICK_OK) add_pixels(&s, pixels ? pixels : own, n), count += (double)n;
        else (void)wick_context_fail(ctx, status, "dataset: sample %lld: %s", (long long)i, fault.text);
    }
    wick_release(&d->alloc, own, cap);
    if (status != WICK_OK) return status;
    count = count > 0 ? count : 1;
    const double m = (double)s.sum / count;
    *mean = m / 255;
    *deviation = sqrt(fmax(0, (double)s.squares / count - m * m)) / 255;
    return WICK_OK;
}
