/* file_set.c: the files of a folder, an archive or a record file as a data set: bytes are fetched and decoded by
 * whoever asks. */
#include <pthread.h>
#include <stdio.h>

#include "data/formats/codecs.h"
#include "data/sets/dataset.h"
#include "data/sets/files.h"
#include "data/formats/resample.h"
#include "data/formats/wav.h"
#include "wick/datasets.h"

typedef enum kind { PICTURES, RECORDINGS, ARRAYS, BYTES } kind;
enum { MOST_RATES = 16 };

/* From a rate that some recordings have to the one that is wanted. */
typedef struct conversion {
    int64_t from;
    wick_resampler by;
    float *taps; /* made once, unless they are too many: then for each output */
} conversion;

typedef struct file_set {
    wick_allocator alloc;
    wick_files *files; /* of an archive: its names and classes alone */
    kind kind;
    int64_t count;
    int64_t dims[3];  /* of pictures: 3, height, width */
    int64_t least;    /* a side of theirs that is enough */
    size_t bytes;     /* of an array */
    uint64_t contents; /* bytes of all, in archives and record files */
    wick_codecs codecs;
    pthread_mutex_t loading; /* of the codecs' libraries */
    int32_t *labels;
    int64_t *lengths; /* of recordings and bytes */
    int64_t unmeasured; /* recordings that don't say how long they are */
    int64_t rate;     /* of recordings; 0: not all have the same */
    int64_t wanted;   /* what they become; 0: they stay as they are */
    conversion conversions[MOST_RATES];
    int n_conversions;
    /* Of archives and IDX: contents side by side, as they are. */
    uint8_t *kept;
    size_t kept_bytes, kept_cap;
    size_t *at; /* [count + 1] */
    size_t at_cap, labels_cap, lengths_cap;
    bool in_memory;
} file_set;

static wick_status bytes_of(const file_set *s, int64_t i, wick_file_bytes *b, wick_msg *msg) {
    if (!s->in_memory) return wick_files_bytes(s->files, i, &s->alloc, b, msg);
    b->own = NULL;
    b->room = 0;
    b->data = s->kept + s->at[i];
    b->size = s->at[i + 1] - s->at[i];
    snprintf(b->name, sizeof b->name, "%s: file %lld", wick_files_path(s->files), (long long)i);
    return WICK_OK;
}

static wick_status picture_of(file_set *s, const wick_file_bytes *b, wick_picture *p, wick_msg *msg) {
    pthread_mutex_lock(&s->loading);
    const wick_status status = wick_picture_header(&s->codecs, b->data, b->size, p, b->name, msg);
    pthread_mutex_unlock(&s->loading);
    if (status == WICK_OK) wick_picture_shrink(p, s->least);
    return status;
}

static const conversion *find_conversion(const file_set *s, int64_t from) {
    for (int k = 0; k < s->n_conversions; k++)
        if (s->conversions[k].from == from) return &s->conversions[k];
    return NULL;
}

static wick_status add_conversion(file_set *s, int64_t from, const char *name, wick_msg *msg) {
    if (from < WICK_LOWEST_RATE || from > WICK_HIGHEST_RATE)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: has %lld samples a second; what is resampled has %d to %d",
                            name, (long long)from, WICK_LOWEST_RATE, WICK_HIGHEST_RATE);
    if (s->n_conversions == MOST_RATES)
        return wick_msg_set(
            msg, WICK_ERR_UNSUPPORTED,
            "%s: has %lld samples a second, and others before it %d other rates: more are not resampled", name,
            (long long)from, MOST_RATES);
    conversion *c = &s->conversions[s->n_conversions];
    *c = (conversion){.from = from, .by = wick_resampler_of(from, s->wanted)};
    if (!(c->taps = wick_alloc(&s->alloc, wick_resampler_bytes(&c->by))))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    if (c->by.rows == c->by.down) wick_resampler_taps(&c->by, c->taps);
    s->n_conversions++;
    return WICK_OK;
}

/* Samples at the rate that is wanted; as they were decoded they are kept for as long as that takes. */
static wick_status resampled(const file_set *s, int64_t i, const wick_file_bytes *b, float *out, wick_msg *msg) {
    int64_t length, rate;
    size_t bytes;
    WICK_TRY(wick_wav_length(b->data, b->size, &length, &rate, b->name, msg));
    const conversion *c = find_conversion(s, rate);
    if (!c || wick_resampler_length(&c->by, length) != s->lengths[i])
        return wick_msg_set(msg, WICK_ERR_IO, "%s: has %lld samples, %lld a second: it was changed", b->name,
                            (long long)length, (long long)rate);
    if (rate == s->wanted) return wick_wav_mono(b->data, b->size, out, length, b->name, msg);
    /* taps of one output, which are written */
    const size_t own = c->by.rows == c->by.down ? 0 : (size_t)(2 * c->by.reach);
    float *x =
        wick_mul_overflows((size_t)length + own + 1, sizeof(float), &bytes) ? NULL : wick_alloc(&s->alloc, bytes);
    if (!x) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %lld samples", b->name, (long long)length);
    const wick_status status = wick_wav_mono(b->data, b->size, x, length, b->name, msg);
    if (status == WICK_OK) wick_resampler_run(&c->by, own ? x + length : c->taps, x, length, out, s->lengths[i]);
    wick_release(&s->alloc, x, bytes);
    return status;
}

static wick_status decode(file_set *s, int64_t i, const wick_file_bytes *b, void *out, wick_msg *msg) {
    wick_picture p;
    switch (s->kind) {
    case PICTURES:
        WICK_TRY(picture_of(s, b, &p, msg));
        if (!s->codecs.how.height && (p.height != s->dims[1] || p.width != s->dims[2]))
            return wick_msg_set(msg, WICK_ERR_SHAPE, "%s: is %lld x %lld pixels; the first one is %lld x %lld", b->name,
                                (long long)p.height, (long long)p.width, (long long)s->dims[1], (long long)s->dims[2]);
        return wick_picture_decode_to(&s->codecs, b->data, b->size, &p, s->dims[0], s->dims[1], s->dims[2], out,
                                      b->name, msg);
    case RECORDINGS:
        return s->wanted ? resampled(s, i, b, out, msg)
                         : wick_wav_mono(b->data, b->size, out, s->lengths[i], b->name, msg);
    case ARRAYS:
    case BYTES: break;
    }
    const size_t want = s->kind == ARRAYS ? s->bytes : (size_t)s->lengths[i];
    if (b->size != want)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: has %zu bytes where %zu should be", b->name, b->size, want);
    if (want) memcpy(out, b->data, want);
    return WICK_OK;
}

static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    file_set *s = user;
    wick_file_bytes b;
    wick_msg msg = {0};
    if (s->labels && out[1]) *(int64_t *)out[1] = s->labels[i];
    if (!out[0]) return WICK_OK;
    b.own = NULL;
    wick_status status = bytes_of(s, i, &b, &msg);
    if (status == WICK_OK) status = decode(s, i, &b, out[0], &msg);
    wick_release(&s->alloc, b.own, b.room);
    return status == WICK_OK ? WICK_OK : wick_fault_set(fault, status, "%s", msg.text);
}
static const void *at(void *user, int64_t i, int field) {
    const file_set *s = user;
    return field == 0 && s->in_memory && s->kind == ARRAYS ? s->kept + s->at[i] : NULL;
}
static void ahead(void *user, const int64_t *indices, int64_t n) {
    wick_files_ahead(((const file_set *)user)->files, indices, n);
}
static int64_t length(void *user, int64_t i, int field) {
    return field == 0 ? ((const file_set *)user)->lengths[i] : -1;
}
static int64_t label(void *user, int64_t i) { return ((const file_set *)user)->labels[i]; }
static const char *class_name(void *user, int64_t k) { return wick_files_class(((const file_set *)user)->files, k); }
static void release(void *user) {
    file_set *s = user;
    const wick_allocator alloc = s->alloc;
    wick_codecs_close(&s->codecs);
    pthread_mutex_destroy(&s->loading);
    wick_files_free(&s->files);
    for (int k = 0; k < s->n_conversions; k++)
        wick_release(&alloc, s->conversions[k].taps, wick_resampler_bytes(&s->conversions[k].by));
    wick_release(&alloc, s->kept, s->kept_cap);
    wick_release(&alloc, s->at, s->at_cap * sizeof *s->at);
    wick_release(&alloc, s->labels, s->labels_cap * sizeof *s->labels);
    wick_release(&alloc, s->lengths, s->lengths_cap * sizeof *s->lengths);
    wick_release(&alloc, s, sizeof *s);
}

static kind kind_of(const wick_files *f, const uint8_t *data, size_t size) {
    if (wick_files_array(f)) return ARRAYS;
    if (size >= 12 && memcmp(data, "RIFF", 4) == 0 && memcmp(data + 8, "WAVE", 4) == 0) return RECORDINGS;
    return wick_picture_is(data, size) ? PICTURES : BYTES;
}

/* What the first file tells of all. */
static wick_status begin(file_set *s, const wick_file_bytes *b, wick_msg *msg) {
    wick_picture p;
    s->kind = kind_of(s->files, b->data, b->size);
    if (s->kind == PICTURES) {
        WICK_TRY(picture_of(s, b, &p, msg));
        s->dims[0] = 3, s->dims[1] = p.height, s->dims[2] = p.width;
        if (s->codecs.how.height) s->dims[1] = s->codecs.how.height, s->dims[2] = s->codecs.how.width;
    }
    if (s->kind == ARRAYS) s->bytes = wick_spec_bytes(wick_files_array(s->files));
    return WICK_OK;
}

static wick_status note(file_set *s, int64_t i, const wick_file_bytes *b, wick_msg *msg) {
    if (i == 0) WICK_TRY(begin(s, b, msg));
    s->labels[i] = (int32_t)b->label;
    if (wick_files_classes(s->files) && b->label < 0)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: is in no class, where others are", b->name);
    s->lengths[i] = (int64_t)b->size;
    s->contents += b->size;
    if (s->kind != RECORDINGS) return WICK_OK;
    int64_t rate;
    WICK_TRY(wick_wav_length(b->data, b->size, &s->lengths[i], &rate, b->name, msg));
    s->unmeasured += wick_wav_unmeasured(b->data, b->size);
    if (s->wanted) {
        if (!find_conversion(s, rate)) WICK_TRY(add_conversion(s, rate, b->name, msg));
        s->lengths[i] = wick_resampler_length(&find_conversion(s, rate)->by, s->lengths[i]);
        if (s->lengths[i] < 0)
            return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: is too long to be resampled", b->name);
        rate = s->wanted;
    }
    s->rate = !i || rate == s->rate ? rate : 0;
    return WICK_OK;
}

/* Archives and IDX: everything is read, once. */
static wick_status keep_all(file_set *s, wick_msg *msg) {
    wick_file_bytes b;
    wick_file file;
    bool more = true;
    s->in_memory = true;
    for (int64_t i = 0; i < s->count && more; i++) {
        WICK_TRY(wick_files_take(s->files, &file, &more, msg));
        if (!more)
            return wick_msg_set(msg, WICK_ERR_IO, "%s: was changed while it was read", wick_files_path(s->files));
        if (!wick_grow(&s->alloc, (void **)&s->kept, &s->kept_cap, s->kept_bytes + file.size, 1))
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", wick_files_path(s->files));
        if (file.size) memcpy(s->kept + s->kept_bytes, file.data, file.size);
        s->at[i] = s->kept_bytes;
        s->at[i + 1] = s->kept_bytes += file.size;
        b.data = file.data, b.size = file.size, b.label = file.label;
        snprintf(b.name, sizeof b.name, "%s: %s", wick_files_path(s->files), file.name);
        WICK_TRY(note(s, i, &b, msg));
    }
    return WICK_OK;
}

/* Folders and record files: the first tells the kind. Of pictures and arrays the others' labels are enough, which names
 * or the index say; the rest is looked at for its length. */
static wick_status survey(file_set *s, wick_msg *msg) {
    for (int64_t i = 0; i < s->count; i++) {
        wick_file_bytes b;
        b.own = NULL;
        if (i && (s->kind == PICTURES || s->kind == ARRAYS)) {
            WICK_TRY(wick_files_label(s->files, i, &b.label, &b.size, msg));
            s->contents += b.size;
            if (s->kind == ARRAYS && b.size != s->bytes)
                return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: record %lld: has %zu bytes where %zu should be",
                                    wick_files_path(s->files), (long long)i, b.size, s->bytes);
            s->labels[i] = (int32_t)b.label;
            if (wick_files_classes(s->files) && b.label < 0)
                return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: number %lld is in no class, where others are",
                                    wick_files_path(s->files), (long long)i);
            continue;
        }
        wick_status status = wick_files_bytes(s->files, i, &s->alloc, &b, msg);
        if (status == WICK_OK) status = note(s, i, &b, msg);
        wick_release(&s->alloc, b.own, b.room);
        if (status != WICK_OK) return status;
    }
    return WICK_OK;
}

static wick_status make(wick_context *ctx, file_set *s, wick_dataset **out) {
    wick_msg msg = {0};
    const char *form = wick_files_form(s->files);
    const size_t n = (size_t)(s->count = wick_files_count(s->files));
    if (!n)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "dataset: %s: holds no file%s", wick_files_path(s->files),
                                 wick_files_passed(s->files) ? " of a kind that is taken" : "");
    if (!wick_grow(&s->alloc, (void **)&s->labels, &s->labels_cap, n, sizeof *s->labels) ||
        !wick_grow(&s->alloc, (void **)&s->lengths, &s->lengths_cap, n, sizeof *s->lengths) ||
        !wick_grow(&s->alloc, (void **)&s->at, &s->at_cap, n + 1, sizeof *s->at))
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory for %zu files", n);
    const bool in_one_file = wick_files_records(s->files) != NULL;
    const wick_status status = !strcmp(form, "tar") || !strcmp(form, "idx") ? keep_all(s, &msg) : survey(s, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "dataset: %s", msg.text);
    /* Whoever takes memory for all of them must be able to trust the first one's size. */
    if (s->kind == PICTURES && !s->codecs.how.height && (in_one_file || s->in_memory) &&
        (uint64_t)(s->dims[1] * s->dims[2]) * 4 / WICK_PICTURE_RATIO_MAX > s->contents / n)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "dataset: %s: %zu pictures of %lld x %lld are more than %llu bytes can hold",
                                 wick_files_path(s->files), n, (long long)s->dims[1], (long long)s->dims[2],
                                 (unsigned long long)s->contents);
    const int64_t classes = wick_files_classes(s->files);
    wick_dataset_source source = {.count = s->count,
                                  .rate = s->rate,
                                  .n_fields = classes ? 2 : 1,
                                  .get = get,
                                  .at = at,
                                  .ahead = in_one_file ? ahead : NULL,
                                  .classes = classes,
                                  .label = classes ? label : NULL,
                                  .class_name = class_name,
                                  .free = release,
                                  .user = s};
    char note[200];
    if (s->unmeasured) {
        snprintf(note, sizeof note, WICK_UNMEASURED, (long long)s->unmeasured, (long long)s->count);
        source.note = note;
    }
    if (s->kind == PICTURES && s->codecs.how.height) {
        snprintf(note, sizeof note, "its pictures are made %lld x %lld where they have another size",
                 (long long)s->dims[1], (long long)s->dims[2]);
        source.note = note;
    }
    static const char *const names[] = {"image", "audio", "", "bytes"};
    if (s->kind == ARRAYS) source.fields[0] = *wick_files_array(s->files);
    else
        source.fields[0] =
            (wick_spec){names[s->kind], s->kind == RECORDINGS ? WICK_F32 : WICK_U8, s->kind == PICTURES ? 3 : 1, {-1}};
    if (s->kind == PICTURES) memcpy(source.fields[0].dims, s->dims, sizeof s->dims);
    else if (s->kind != ARRAYS) source.length = length;
    source.fields[1] = (wick_spec){"label", WICK_I64, 0, {0}};
    if (!classes)
        wick_release(&s->alloc, s->labels, s->labels_cap * sizeof *s->labels), s->labels = NULL, s->labels_cap = 0;
    return wick_dataset_new(ctx, &source, out);
}

wick_status wick_dataset_of_files(wick_context *ctx, const char *path, const wick_files_options *options,
                                  wick_dataset **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_files: out is NULL");
    *out = NULL;
    file_set *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    s->alloc = ctx->alloc;
    s->wanted = options ? options->rate : 0;
    s->least = options ? options->least : 0;
    s->codecs.how = ctx->options.pictures;
    if (!s->least && s->codecs.how.height) s->least = 2 * WICK_MAX(s->codecs.how.height, s->codecs.how.width);
    pthread_mutex_init(&s->loading, NULL);
    wick_status status = WICK_OK;
    if (s->wanted && (s->wanted < WICK_LOWEST_RATE || s->wanted > WICK_HIGHEST_RATE))
        status = wick_context_fail(ctx, WICK_ERR_INVALID,
                                   "dataset: recordings of %lld samples a second; they may become %d to %d",
                                   (long long)s->wanted, WICK_LOWEST_RATE, WICK_HIGHEST_RATE);
    if (status == WICK_OK) status = wick_files_open(ctx, path, options, &s->files);
    if (status == WICK_OK) status = make(ctx, s, out);
    if (status != WICK_OK) release(s);
    return status;
}
