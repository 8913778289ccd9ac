/* idx_set.c: sets of four IDX files, two for each split. */
#include <stdio.h>
#include <unistd.h>

#include "data/sets/labelled.h"
#include "data/formats/idx.h"

enum { PATH_BYTES = 1024 };

/* Names of files as LeCun's and Zalando's sets have them: train-images-idx3-ubyte. */
typedef struct set_part {
    const char *name;
    int rank; /* as those sets have it */
} set_part;
static const set_part part_images = {"images", 3}, part_labels = {"labels", 1};

/* The file of a part, plain or with ".gz"; "" when none can be read. The number after idx is that of the dims; the
 * usual one is tried first, then every other, since it is the header that counts. */
static bool find_file(char path[PATH_BYTES], const char *folder, const char *split, const set_part *p) {
    const char *prefix = strcmp(split, "test") == 0 ? "t10k" : split;
    for (int rank = 0; rank <= WICK_MAX_DIMS; rank++)
        for (int gz = 0; gz < 2; gz++) {
            const int n = snprintf(path, PATH_BYTES, "%s/%s-%s-idx%d-ubyte%s", folder, prefix, p->name,
                                   rank ? rank : p->rank, gz ? ".gz" : "");
            if (n > 0 && n < PATH_BYTES && access(path, R_OK) == 0) return true;
        }
    path[0] = 0;
    return false;
}

static bool is_idx_set(const char *folder, const char *split) {
    char path[PATH_BYTES];
    return find_file(path, folder, split, &part_images);
}

static wick_status take_images(wick_labelled *d, wick_idx *x, const char *images, wick_msg *msg) {
    if (x->dtype != WICK_U8 || x->rank < 2)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: images are u8 of 2 dims at least; this is %s of %d", images,
                            wick_dtype_name(x->dtype), x->rank);
    d->count = x->dims[0];
    d->rank = x->rank - 1;
    d->sample_size = 1;
    for (int i = 0; i < d->rank; i++) { /* without images the sizes of one are not bounded by the file */
        d->dims[i] = x->dims[i + 1];
        if (wick_mul_overflows(d->sample_size, d->dims[i], &d->sample_size))
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the size of an image does not fit 64 bits", images);
    }
    d->pixels = x->data;
    d->pixel_bytes = x->bytes;
    *x = (wick_idx){.alloc = x->alloc};
    return WICK_OK;
}

static wick_status take_labels(wick_labelled *d, const wick_idx *y, const char *labels, const char *images,
                               const wick_known_set *known, wick_msg *msg) {
    if (y->dtype != WICK_U8 || y->rank != 1)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: labels are u8 of 1 dim; this is %s of %d", labels,
                            wick_dtype_name(y->dtype), y->rank);
    if (d->count != y->dims[0])
        return wick_msg_set(msg, WICK_ERR_FORMAT, "labels and images differ in number: %lld in %s, %lld in %s",
                            (long long)y->dims[0], labels, (long long)d->count, images);
    WICK_TRY(wick_labelled_alloc_labels(d, msg));
    const uint8_t *label = y->data;
    for (int64_t i = 0; i < d->count; i++) {
        if (known && label[i] >= known->classes)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: label %lld is %d; %s has %lld classes", labels, (long long)i,
                                label[i], known->name, (long long)known->classes);
        d->labels[i] = label[i];
        d->classes = WICK_MAX(d->classes, (int64_t)label[i] + 1);
    }
    WICK_TRY(wick_labelled_alloc_names(d, known, msg));
    for (int64_t k = 0; !known && k < d->classes; k++) { /* a number is all there is to tell */
        char number[8];
        snprintf(number, sizeof number, "%d", (int)k);
        d->class_names[k] = wick_arena_strdup(&d->names, number);
        if (!d->class_names[k]) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", labels);
    }
    return WICK_OK;
}

static wick_status read_idx_set(wick_context *ctx, wick_labelled *d, const char *folder, const char *split,
                                const wick_known_set *known, wick_msg *msg) {
    (void)ctx;
    char images[PATH_BYTES], labels[PATH_BYTES];
    if (!find_file(images, folder, split, &part_images) || !find_file(labels, folder, split, &part_labels))
        return wick_msg_set(msg, WICK_ERR_IO, "no %s-labels-idx1-ubyte (any number after idx, plain or .gz) in \"%s\"",
                            strcmp(split, "test") == 0 ? "t10k" : split, folder);
    wick_idx x = {0}, y = {0};
    wick_status status = wick_idx_read(&x, images, &d->alloc, msg);
    if (status == WICK_OK) status = take_images(d, &x, images, msg);
    if (status == WICK_OK) status = wick_idx_read(&y, labels, &d->alloc, msg);
    if (status == WICK_OK) status = take_labels(d, &y, labels, images, known, msg);
    wick_idx_free(&x);
    wick_idx_free(&y);
    return status;
}

const wick_set_kind wick_idx_set = {is_idx_set, read_idx_set};
