/* records_set.c: record files of a folder, SPLIT.wrec, as labelled images in memory: decoded by all threads of the
 * context. */
#include <stdio.h>
#include <unistd.h>

#include "data/sets/labelled.h"
#include "wick/datasets.h"

enum { PATH_BYTES = 4096 };

static bool path_of(char path[PATH_BYTES], const char *folder, const char *split) {
    const int n = snprintf(path, PATH_BYTES, "%s/%s.wrec", folder, split);
    return n > 0 && n < PATH_BYTES && access(path, R_OK) == 0;
}
static bool is_records_set(const char *folder, const char *split) {
    char path[PATH_BYTES];
    return path_of(path, folder, split);
}

typedef struct work {
    const wick_dataset *from;
    wick_labelled *to;
    bool *failed;
} work;
static wick_status decode(const work *w, int64_t i, wick_fault *fault) {
    return wick_dataset_get(w->from, i, (void *[WICK_DATASET_FIELDS]){w->to->pixels + i * w->to->sample_size}, fault);
}
static void decode_task(void *arg, int64_t i, int worker) {
    (void)worker;
    const work *w = arg;
    wick_fault fault;
    w->failed[i] = decode(w, i, &fault) != WICK_OK;
}

/* The message is that of the first that fails, at any number of threads: it is decoded once more. */
static wick_status decode_all(wick_context *ctx, work *w, const char *path, wick_msg *msg) {
    wick_labelled *d = w->to;
    w->failed = wick_calloc(&d->alloc, (size_t)d->count);
    if (!w->failed) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    wick_pool_run(ctx->pool, decode_task, w, d->count);
    wick_status status = WICK_OK;
    for (int64_t i = 0; i < d->count && status == WICK_OK; i++) {
        wick_fault fault;
        if (w->failed[i] && (status = decode(w, i, &fault)) != WICK_OK) wick_msg_set(msg, status, "%s", fault.text);
    }
    wick_release(&d->alloc, w->failed, (size_t)d->count);
    return status;
}

static wick_status fill(wick_context *ctx, wick_labelled *d, const wick_dataset *from, const char *path,
                        const wick_known_set *known, wick_msg *msg) {
    const wick_spec *image = wick_dataset_field(from, 0);
    const size_t each = wick_dataset_bytes(from, 0, 0);
    d->count = wick_dataset_count(from);
    d->classes = wick_dataset_classes(from);
    d->rank = image->rank;
    memcpy(d->dims, image->dims, sizeof d->dims);
    if (image->dtype != WICK_U8 || image->rank < 2 || !d->classes)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: holds no labelled images", path);
    if (d->classes > WICK_CLASSES_MAX || (known && d->classes != known->classes))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: has %lld classes; at most %lld can be", path,
                            (long long)d->classes, (long long)(known ? known->classes : WICK_CLASSES_MAX));
    d->sample_size = (int64_t)each;
    /* wick_dataset_of_files has seen to it that the file can hold as much. */
    if (each == SIZE_MAX || wick_mul_overflows(each, (size_t)d->count, &d->pixel_bytes) ||
        d->pixel_bytes > PTRDIFF_MAX || !(d->pixels = wick_alloc(&d->alloc, d->pixel_bytes))) {
        d->pixel_bytes = 0;
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %lld images of %zu bytes", path,
                            (long long)d->count, each);
    }
    WICK_TRY(wick_labelled_alloc_labels(d, msg));
    WICK_TRY(wick_labelled_alloc_names(d, known, msg));
    for (int64_t i = 0; i < d->count; i++) d->labels[i] = (uint16_t)wick_dataset_label(from, i);
    for (int64_t k = 0; k < d->classes && !known; k++)
        if (!(d->class_names[k] = wick_arena_strdup(&d->names, wick_dataset_class_name(from, k))))
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    return decode_all(ctx, &(work){from, d, NULL}, path, msg);
}

static wick_status read_records_set(wick_context *ctx, wick_labelled *d, const char *folder, const char *split,
                                    const wick_known_set *known, wick_msg *msg) {
    char path[PATH_BYTES];
    wick_dataset *from;
    if (!path_of(path, folder, split)) return wick_msg_set(msg, WICK_ERR_IO, "%s/%s.wrec: is gone", folder, split);
    wick_status status = wick_dataset_of_files(ctx, path, NULL, &from);
    if (status != WICK_OK) return wick_msg_set(msg, status, "%s", wick_context_error(ctx));
    status = fill(ctx, d, from, path, known, msg);
    wick_dataset_free(&from);
    return status;
}

const wick_set_kind wick_records_set = {is_records_set, read_records_set};
