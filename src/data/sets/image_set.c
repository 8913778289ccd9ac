/* image_set.c: sets of pictures in folders or archives, a folder a class. Two walks: the first finds the classes and
 * counts, so that the pixels get one block of the right size; the second reads some hundred files at a time and decodes
 * them with all threads. */
#include <stdlib.h>

#include "data/formats/codecs.h"
#include "data/sets/labelled.h"
#include "data/sets/walk.h"

enum { PART_FILES = 512, PART_BYTES = 16 << 20, CHANNELS = 3 };

/* ---- the first walk ---------------------------------------------------------------------------------------------- */

typedef struct survey {
    wick_labelled *d;
    const wick_known_set *known;
    const char **names; /* sorted */
    size_t count, cap;
    int64_t files;
    uint64_t bytes; /* of the files */
} survey;

/* Where the name is among the sorted ones, or where it belongs. */
static bool find_class(const char *const *names, size_t count, const char *name, size_t *at) {
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        const int order = strcmp(name, names[middle]);
        if (order == 0) {
            *at = middle;
            return true;
        }
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    *at = low;
    return false;
}

static wick_status add_class(survey *s, const wick_walk *w, wick_msg *msg) {
    size_t at;
    if (find_class(s->names, s->count, w->class_name, &at)) return WICK_OK;
    if (s->known)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %s has no class \"%s\"", w->name, s->known->name, w->class_name);
    if (s->count == WICK_CLASSES_MAX)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: more than %d classes", w->name, WICK_CLASSES_MAX);
    const char *name = wick_arena_strdup(&s->d->names, w->class_name);
    if (!name || !wick_grow(&s->d->alloc, (void **)&s->names, &s->cap, s->count + 1, sizeof *s->names))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", w->name);
    memmove(s->names + at + 1, s->names + at, (s->count - at) * sizeof *s->names);
    s->names[at] = name;
    s->count++;
    return WICK_OK;
}

static wick_status survey_split(survey *s, wick_walk *w, const char *folder, const char *split, bool count,
                                wick_msg *msg) {
    bool more = true;
    WICK_TRY(wick_walk_open(w, folder, split, &s->d->alloc, msg));
    wick_status status = WICK_OK;
    while (status == WICK_OK) {
        status = wick_walk_next(w, &more, msg);
        if (status != WICK_OK || !more) break;
        status = add_class(s, w, msg);
        s->files += count;
        if (count) s->bytes += w->size;
    }
    wick_walk_close(w);
    return status;
}

/* ---- the second walk --------------------------------------------------------------------------------------------- */

/* Some files that are decoded together: each one's name and bytes, one after another. */
typedef struct part {
    wick_labelled *d;
    wick_codecs codecs;
    int64_t first; /* sample of files[0] */
    int n;
    struct { size_t name, at, size; wick_picture picture; } files[PART_FILES];
    bool failed[PART_FILES];
    char *bytes;
    size_t used, cap;
} part;

static wick_status decode(const part *p, int i, wick_msg *msg) {
    return wick_picture_decode_to(&p->codecs, p->bytes + p->files[i].at, p->files[i].size, &p->files[i].picture,
                                  CHANNELS, p->d->dims[1], p->d->dims[2],
                                  p->d->pixels + (p->first + i) * p->d->sample_size, p->bytes + p->files[i].name, msg);
}

static void decode_task(void *arg, int64_t task, int worker) {
    (void)worker;
    part *p = arg;
    p->failed[task] = decode(p, (int)task, NULL) != WICK_OK;
}

/* The message is that of the first file that fails, at any number of threads: it is decoded once more. */
static wick_status flush(part *p, wick_pool *pool, wick_msg *msg) {
    wick_pool_run(pool, decode_task, p, p->n);
    for (int i = 0; i < p->n; i++)
        if (p->failed[i]) {
            const wick_status again = decode(p, i, msg);
            if (again != WICK_OK) return again;
        }
    p->first += p->n;
    p->n = 0;
    p->used = 0;
    return WICK_OK;
}

/* All pictures have the size that is asked for, or that of the first: then the block for their pixels must be in
 * proportion to the files. */
static wick_status alloc_pixels(wick_labelled *d, const wick_picture *picture, const wick_pictures *how,
                                const wick_walk *w, uint64_t file_bytes, wick_msg *msg) {
    d->rank = 3;
    d->dims[0] = CHANNELS;
    d->dims[1] = how->height ? how->height : picture->height;
    d->dims[2] = how->height ? how->width : picture->width;
    d->sample_size = CHANNELS * d->dims[1] * d->dims[2];
    uint64_t bytes;
    if (wick_mul_overflows((uint64_t)d->count, (uint64_t)d->sample_size, &bytes) || bytes > PTRDIFF_MAX ||
        (!how->height && bytes / WICK_PICTURE_RATIO_MAX > file_bytes))
        return wick_msg_set(
            msg, WICK_ERR_FORMAT, "%s: %lld pictures of %lld x %lld are more than %llu bytes of files can hold",
            w->path, (long long)d->count, (long long)d->dims[1], (long long)d->dims[2], (unsigned long long)file_bytes);
    d->pixels = wick_alloc(&d->alloc, (size_t)bytes);
    if (!d->pixels)
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %llu bytes", w->path, (unsigned long long)bytes);
    d->pixel_bytes = (size_t)bytes;
    return WICK_OK;
}

static wick_status add_file(part *p, wick_walk *w, uint64_t file_bytes, wick_msg *msg) {
    wick_labelled *d = p->d;
    const size_t name_size = strlen(w->name) + 1;
    size_t need, label;
    if (wick_add_overflows(p->used + name_size, w->size, &need) ||
        !wick_grow(&d->alloc, (void **)&p->bytes, &p->cap, need, 1))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", w->name, w->size);
    if (p->first + p->n == d->count || !find_class(d->class_names, (size_t)d->classes, w->class_name, &label))
        return wick_msg_set(msg, WICK_ERR_IO, "%s: changed while it was read", w->path);
    wick_picture *picture = &p->files[p->n].picture;
    p->files[p->n].name = p->used;
    p->files[p->n].at = p->used + name_size;
    p->files[p->n].size = w->size;
    memcpy(p->bytes + p->used, w->name, name_size);
    WICK_TRY(wick_walk_read(w, p->bytes + p->used + name_size, msg));
    WICK_TRY(wick_picture_header(&p->codecs, p->bytes + p->used + name_size, w->size, picture, w->name, msg));
    const wick_pictures *how = &p->codecs.how;
    if (!d->pixels) WICK_TRY(alloc_pixels(d, picture, how, w, file_bytes, msg));
    d->resized += picture->height != d->dims[1] || picture->width != d->dims[2];
    if (how->height) wick_picture_shrink(picture, 2 * WICK_MAX(how->height, how->width));
    else if (picture->height != d->dims[1] || picture->width != d->dims[2])
        return wick_msg_set(msg, WICK_ERR_SHAPE, "%s: is %lld x %lld pixels; the pictures before it are %lld x %lld",
                            w->name, (long long)picture->height, (long long)picture->width, (long long)d->dims[1],
                            (long long)d->dims[2]);
    d->labels[p->first + p->n] = (uint16_t)label;
    p->used = need;
    p->n++;
    return WICK_OK;
}

static wick_status read_split(part *p, wick_walk *w, uint64_t file_bytes, wick_pool *pool, wick_msg *msg) {
    for (;;) {
        bool more;
        WICK_TRY(wick_walk_next(w, &more, msg));
        if (!more) break;
        WICK_TRY(add_file(p, w, file_bytes, msg));
        if (p->n == PART_FILES || p->used >= PART_BYTES) WICK_TRY(flush(p, pool, msg));
    }
    WICK_TRY(flush(p, pool, msg));
    return p->first == p->d->count ? WICK_OK : wick_msg_set(msg, WICK_ERR_IO, "%s: changed while it was read", w->path);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* The classes that are known, or those of both splits: a class without test images must not renumber those after it. */
static wick_status survey_set(survey *s, wick_walk *w, const char *folder, const char *split, wick_msg *msg) {
    wick_labelled *d = s->d;
    if (s->known) {
        d->classes = s->known->classes;
        WICK_TRY(wick_labelled_alloc_names(d, s->known, msg));
        s->names = d->class_names;
        s->count = (size_t)d->classes;
    }
    WICK_TRY(survey_split(s, w, folder, split, true, msg));
    if (s->files == 0)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: holds no picture in the folder of a class", w->path);
    if (!s->known) {
        WICK_TRY(survey_split(s, w, folder, strcmp(split, "test") == 0 ? "train" : "test", false, msg));
        d->classes = (int64_t)s->count;
        WICK_TRY(wick_labelled_alloc_names(d, NULL, msg));
        memcpy(d->class_names, s->names, s->count * sizeof *s->names);
    }
    d->count = s->files;
    return wick_labelled_alloc_labels(d, msg);
}

static wick_status read_image_set(wick_context *ctx, wick_labelled *d, const char *folder, const char *split,
                                  const wick_known_set *known, wick_msg *msg) {
    wick_walk *w = wick_calloc(&d->alloc, sizeof *w);
    part *p = wick_calloc(&d->alloc, sizeof *p);
    survey s = {.d = d, .known = known};
    wick_status status =
        w && p ? survey_set(&s, w, folder, split, msg) : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", folder);
    if (!known) wick_release(&d->alloc, s.names, s.cap * sizeof *s.names);
    if (status == WICK_OK) {
        p->d = d;
        p->codecs.how = ctx->options.pictures;
        status = wick_walk_open(w, folder, split, &d->alloc, msg);
        if (status == WICK_OK) {
            status = read_split(p, w, s.bytes, ctx->pool, msg);
            wick_walk_close(w);
        }
        wick_codecs_close(&p->codecs);
        wick_release(&d->alloc, p->bytes, p->cap);
    }
    wick_release(&d->alloc, p, sizeof *p);
    wick_release(&d->alloc, w, sizeof *w);
    return status;
}

const wick_set_kind wick_image_set = {wick_walk_exists, read_image_set};
