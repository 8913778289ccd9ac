/* dataset.c: finding the four files of a set, and reading the two of a split. */
#include "data/dataset.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "data/idx.h"

enum { PATH_BYTES = 1024 };

/* ---- the sets that are known by name
 * ------------------------------------------------------------------------------------ */

static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
/* Xiao, Rasul, Vollgraf 2017, "Labels". */
static const char *const garments[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                       "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
typedef struct known_set {
    const char *name;
    int64_t classes;
    const char *const *class_names;
} known_set;
static const known_set known_sets[] = {{"mnist", 10, digits}, {"fashion-mnist", 10, garments}};

/* Names of files as LeCun's and Zalando's sets have them: train-images-idx3-ubyte. */
static const struct { const char *split, *prefix; } splits[] = {{"train", "train"}, {"test", "t10k"}};
typedef struct set_part {
    const char *name;
    int rank; /* as those sets have it */
} set_part;
static const set_part part_images = {"images", 3}, part_labels = {"labels", 1};

struct wick_dataset {
    wick_allocator alloc;
    wick_idx images, labels;
    int64_t sample_size, classes;
    const known_set *known;   /* NULL: a folder, whose classes are numbers */
    char class_names[256][4]; /* then: "0" .. "255" */
};

/* ---- finding
 * ---------------------------------------------------------------------------------------------------------------- */

/* The file of a part, plain or with ".gz"; "" when none can be read. The number after idx is that of the dims; the
 * usual one is tried first, then every other, since it is the header that counts. */
static void find_file(char path[PATH_BYTES], const char *folder, const char *prefix, const set_part *p) {
    for (int rank = 0; rank <= WICK_MAX_DIMS; rank++)
        for (int gz = 0; gz < 2; gz++) {
            const int n = snprintf(path, PATH_BYTES, "%s/%s-%s-idx%d-ubyte%s", folder, prefix, p->name,
                                   rank ? rank : p->rank, gz ? ".gz" : "");
            if (n > 0 && n < PATH_BYTES && access(path, R_OK) == 0) return;
        }
    path[0] = 0;
}

/* The folder of a named set: the first candidate that has the split's images; "" when none has. searched lists them
 * all. */
static void find_folder(char folder[PATH_BYTES], const char *name, const char *prefix, wick_str *searched) {
    const char *home = getenv("WICK_DATA");
    const char *const bases[] = {home && *home ? home : NULL, "/usr/share/datasets"};
    char file[PATH_BYTES];
    for (size_t i = 0; i < WICK_COUNTOF(bases); i++) {
        if (!bases[i]) continue;
        const int n = snprintf(folder, PATH_BYTES, "%s/%s", bases[i], name);
        if (n < 0 || n >= PATH_BYTES) continue;
        wick_str_add(searched, "%s%s", searched->len ? ", " : "", folder);
        find_file(file, folder, prefix, &part_images);
        if (*file) return;
    }
    folder[0] = 0;
}

static const known_set *find_known(const char *name) {
    for (size_t i = 0; i < WICK_COUNTOF(known_sets); i++)
        if (strcmp(known_sets[i].name, name) == 0) return &known_sets[i];
    return NULL;
}

const char *wick_dataset_known(int i) { return (unsigned)i < WICK_COUNTOF(known_sets) ? known_sets[i].name : NULL; }

bool wick_dataset_find(const char *name, char *folder, size_t size) {
    char found[PATH_BYTES] = "", list[WICK_MSG_MAX / 2];
    wick_str searched = wick_str_on(list, sizeof list);
    if (name && find_known(name)) find_folder(found, name, splits[0].prefix, &searched);
    const int n = snprintf(folder, size, "%s", found);
    if (*found && n >= 0 && (size_t)n < size) return true;
    if (size > 0) *folder = 0;
    return false;
}

static wick_status no_file(wick_context *ctx, const char *folder, const char *prefix, const set_part *p) {
    char names[128];
    wick_str s = wick_str_on(names, sizeof names);
    for (size_t i = 0; i < WICK_COUNTOF(known_sets); i++) wick_str_add(&s, "%s%s", i ? ", " : "", known_sets[i].name);
    return wick_context_fail(ctx, WICK_ERR_IO,
                             "dataset: no %s-%s-idx%d-ubyte (any number after idx, plain or .gz) in \"%s\"; sets known "
                             "by name: %s",
                             prefix, p->name, p->rank, folder, names);
}

/* ---- reading
 * ------------------------------------------------------------------------------------------------------------------ */

static wick_status check(wick_context *ctx, wick_dataset *d, const char *images, const char *labels) {
    const wick_idx *x = &d->images, *y = &d->labels;
    if (x->dtype != WICK_U8 || x->rank < 2)
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "dataset: %s: images are u8 of 2 dims at least; this is %s of %d", images,
                                 wick_dtype_name(x->dtype), x->rank);
    if (y->dtype != WICK_U8 || y->rank != 1)
        return wick_context_fail(ctx, WICK_ERR_FORMAT, "dataset: %s: labels are u8 of 1 dim; this is %s of %d", labels,
                                 wick_dtype_name(y->dtype), y->rank);
    if (x->dims[0] != y->dims[0])
        return wick_context_fail(ctx, WICK_ERR_FORMAT,
                                 "dataset: labels and images differ in number: %lld in %s, %lld in %s",
                                 (long long)y->dims[0], labels, (long long)x->dims[0], images);
    d->sample_size = 1;
    for (int i = 1; i < x->rank; i++) /* without images the sizes of one are not bounded by the file */
        if (wick_mul_overflows(d->sample_size, x->dims[i], &d->sample_size))
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "dataset: %s: the size of an image does not fit 64 bits",
                                     images);
    const uint8_t *label = y->data;
    for (int64_t i = 0; i < y->dims[0]; i++) {
        if (d->known && label[i] >= d->known->classes)
            return wick_context_fail(ctx, WICK_ERR_FORMAT, "dataset: %s: label %lld is %d; %s has %lld classes", labels,
                                     (long long)i, label[i], d->known->name, (long long)d->known->classes);
        d->classes = WICK_MAX(d->classes, (int64_t)label[i] + 1);
    }
    if (d->known) d->classes = d->known->classes;
    return WICK_OK;
}

static wick_status open_split(wick_context *ctx, wick_dataset *d, const char *folder, const char *prefix) {
    char images[PATH_BYTES], labels[PATH_BYTES];
    find_file(images, folder, prefix, &part_images);
    if (!*images) return no_file(ctx, folder, prefix, &part_images);
    find_file(labels, folder, prefix, &part_labels);
    if (!*labels) return no_file(ctx, folder, prefix, &part_labels);
    wick_msg msg;
    wick_status status = wick_idx_read(&d->images, images, &d->alloc, &msg);
    if (status == WICK_OK) status = wick_idx_read(&d->labels, labels, &d->alloc, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "dataset: %s", msg.text);
    return check(ctx, d, images, labels);
}

wick_status wick_dataset_open(wick_context *ctx, const char *name, const char *split, wick_dataset **out) {
    *out = NULL;
    if (!name || !*name) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: no name");
    size_t k = 0;
    while (k < WICK_COUNTOF(splits) && !(split && strcmp(splits[k].split, split) == 0)) k++;
    if (k == WICK_COUNTOF(splits))
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: split \"%s\" is neither \"train\" nor \"test\"",
                                 split ? split : "");

    char folder[PATH_BYTES], list[WICK_MSG_MAX / 2];
    const known_set *known = find_known(name);
    if (known) {
        wick_str searched = wick_str_on(list, sizeof list);
        find_folder(folder, name, splits[k].prefix, &searched);
        if (!*folder)
            return wick_context_fail(
                ctx, WICK_ERR_IO, "dataset: %s is in none of: %s; set WICK_DATA to the folder that has it", name, list);
        name = folder;
    }
    wick_dataset *d = wick_calloc(&ctx->alloc, sizeof *d);
    if (!d) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    d->alloc = ctx->alloc;
    d->known = known;
    for (int i = 0; i < 256; i++) snprintf(d->class_names[i], sizeof d->class_names[i], "%d", i & 255);
    wick_status status = open_split(ctx, d, name, splits[k].prefix);
    if (status != WICK_OK)
        wick_dataset_free(&d);
    else
        *out = d;
    return status;
}

void wick_dataset_free(wick_dataset **dataset) {
    wick_dataset *d = dataset ? *dataset : NULL;
    if (!d) return;
    *dataset = NULL;
    wick_idx_free(&d->images);
    wick_idx_free(&d->labels);
    wick_allocator alloc = d->alloc;
    wick_release(&alloc, d, sizeof *d);
}

/* ---- asking
 * --------------------------------------------------------------------------------------------------------------------
 */

int64_t wick_dataset_count(const wick_dataset *d) { return d->labels.dims[0]; }
int wick_dataset_rank(const wick_dataset *d) { return d->images.rank - 1; }
const int64_t *wick_dataset_dims(const wick_dataset *d) { return d->images.dims + 1; }
int64_t wick_dataset_classes(const wick_dataset *d) { return d->classes; }
int64_t wick_dataset_sample_size(const wick_dataset *d) { return d->sample_size; }

const char *wick_dataset_class_name(const wick_dataset *d, int64_t label) {
    if (label < 0 || label >= d->classes) return "?";
    return d->known ? d->known->class_names[label] : d->class_names[label];
}

const uint8_t *wick_dataset_sample(const wick_dataset *d, int64_t i) {
    return i >= 0 && i < wick_dataset_count(d) ? (const uint8_t *)d->images.data + i * d->sample_size : NULL;
}

int64_t wick_dataset_label(const wick_dataset *d, int64_t i) {
    return i >= 0 && i < wick_dataset_count(d) ? ((const uint8_t *)d->labels.data)[i] : -1;
}

/* Sums of whole numbers: exact, whatever the order. */
void wick_dataset_moments(const wick_dataset *d, double *mean, double *deviation) {
    const uint8_t *pixels = d->images.data;
    const int64_t n = wick_dataset_count(d) * d->sample_size, chunk = 1 << 16; /* 255^2 * 2^16 < 2^32 */
    uint64_t sum = 0, squares = 0;
    for (int64_t begin = 0; begin < n; begin += chunk) {
        const int64_t end = WICK_MIN(n, begin + chunk);
        uint32_t part = 0, part_squares = 0;
        for (int64_t i = begin; i < end; i++) {
            part += pixels[i];
            part_squares += (uint32_t)pixels[i] * pixels[i];
        }
        sum += part;
        squares += part_squares;
    }
    const double count = (double)WICK_MAX(n, 1), m = (double)sum / count, s = (double)squares / count;
    *mean = m / 255;
    *deviation = sqrt(fmax(0, s - m * m)) / 255;
}
