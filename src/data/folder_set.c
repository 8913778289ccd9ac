/* folder_set.c: pictures in folders of classes as a data set that decodes each when it is asked for: what is in memory is a list of names. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/codecs.h"
#include "data/dataset.h"
#include "data/folder.h"

enum { CHANNELS = 3, MOST_CLASSES = 65536 };

/* What one call of `get` works with: the bytes of a file, and decoders of its own. As many as there were calls at once. */
typedef struct desk {
    struct desk *next;
    uint8_t *bytes;
    size_t cap;
    wick_codecs codecs;
} desk;

typedef struct folder_set {
    wick_allocator alloc;
    char path[WICK_PATH_BYTES];
    wick_folder list;
    uint16_t *labels;
    const char **classes; /* in the list's arena */
    size_t n_classes, class_cap;
    int64_t height, width;
    pthread_mutex_t lock; /* of desks */
    desk *desks;          /* that nobody uses */
} folder_set;

static desk *take_desk(folder_set *s) {
    pthread_mutex_lock(&s->lock);
    desk *d = s->desks;
    if (d) s->desks = d->next;
    pthread_mutex_unlock(&s->lock);
    return d ? d : wick_calloc(&s->alloc, sizeof *d);
}
static void give_desk(folder_set *s, desk *d) {
    pthread_mutex_lock(&s->lock);
    d->next = s->desks;
    s->desks = d;
    pthread_mutex_unlock(&s->lock);
}

/* The whole file, into d->bytes; a few bytes more than it says show that it grew. */
static wick_status read_file(const folder_set *s, desk *d, const char *path, size_t *size, wick_msg *msg) {
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* O_NONBLOCK: a FIFO must not wait for its writer */
    if (fd < 0) return wick_msg_set(msg, errno == ENOMEM ? WICK_ERR_NOMEM : WICK_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    wick_status status = WICK_OK;
    *size = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) status = wick_msg_set(msg, WICK_ERR_IO, "%s: is no regular file", path);
    else if ((uint64_t)st.st_size >= PTRDIFF_MAX || !wick_grow(&s->alloc, (void **)&d->bytes, &d->cap, (size_t)st.st_size + 1, 1))
        status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %lld bytes", path, (long long)st.st_size);
    while (status == WICK_OK && *size < (size_t)st.st_size) {
        const ssize_t n = read(fd, d->bytes + *size, (size_t)st.st_size - *size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot read at %zu: %s", path, *size, strerror(errno));
        else if (n == 0) status = wick_msg_set(msg, WICK_ERR_IO, "%s: ends at %zu of %lld bytes: it became shorter while it was read", path, *size, (long long)st.st_size);
        else *size += (size_t)n;
    }
    close(fd);
    return status;
}

static wick_status load(folder_set *s, desk *d, int64_t index, uint8_t *pixels, wick_msg *msg) {
    char path[2 * WICK_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", s->path, s->list.files[index]);
    size_t size = 0;
    wick_picture p;
    WICK_TRY(read_file(s, d, path, &size, msg));
    WICK_TRY(wick_picture_header(&d->codecs, d->bytes, size, &p, path, msg));
    if (!pixels) { /* the first one, which says how large all are */
        s->height = p.height;
        s->width = p.width;
        return WICK_OK;
    }
    if (p.height != s->height || p.width != s->width)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: is %lld x %lld pixels; the first picture is %lld x %lld", path, (long long)p.height, (long long)p.width, (long long)s->height, (long long)s->width);
    return wick_picture_decode(&d->codecs, d->bytes, size, &p, CHANNELS, pixels, path, msg);
}

static wick_status get(void *user, int64_t index, void *const *out, wick_fault *fault) {
    folder_set *s = user;
    if (out[1]) *(int64_t *)out[1] = s->labels[index];
    if (!out[0]) return WICK_OK;
    desk *d = take_desk(s);
    if (!d) return wick_fault_set(fault, WICK_ERR_NOMEM, "%s: out of memory", s->list.files[index]);
    wick_msg msg;
    const wick_status status = load(s, d, index, out[0], &msg);
    give_desk(s, d);
    return status == WICK_OK ? WICK_OK : wick_fault_set(fault, status, "%s", msg.text);
}

static int64_t label(void *user, int64_t index) { return ((const folder_set *)user)->labels[index]; }
static const char *class_name(void *user, int64_t k) { return ((const folder_set *)user)->classes[k]; }

static void release(void *user) {
    folder_set *s = user;
    wick_allocator alloc = s->alloc;
    for (desk *d = s->desks, *next; d; d = next) {
        next = d->next;
        wick_codecs_close(&d->codecs);
        wick_release(&alloc, d->bytes, d->cap);
        wick_release(&alloc, d, sizeof *d);
    }
    wick_release(&alloc, s->labels, s->list.count * sizeof *s->labels);
    wick_release(&alloc, s->classes, s->class_cap * sizeof *s->classes);
    wick_folder_free(&s->list);
    pthread_mutex_destroy(&s->lock);
    wick_release(&alloc, s, sizeof *s);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Classes in the order of their names' bytes. Files of a class stand together, since their paths are sorted; but "a-b/1" stands before "a/1". */
static wick_status number_classes(folder_set *s, wick_msg *msg) {
    char name[WICK_PATH_BYTES];
    const wick_folder *f = &s->list;
    s->labels = wick_alloc(&s->alloc, f->count * sizeof *s->labels);
    if (!s->labels) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", s->path);
    for (size_t i = 0; i < f->count; i++) {
        const size_t length = strcspn(f->files[i], "/");
        if (i && strncmp(f->files[i], f->files[i - 1], length + 1) == 0) continue;
        memcpy(name, f->files[i], length);
        name[length] = 0;
        if (s->n_classes == MOST_CLASSES) return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: more than %d classes", s->path, MOST_CLASSES);
        if (!wick_grow(&s->alloc, (void **)&s->classes, &s->class_cap, s->n_classes + 1, sizeof *s->classes) || !(s->classes[s->n_classes] = wick_arena_strdup(&s->list.arena, name)))
            return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", s->path);
        s->n_classes++;
    }
    qsort(s->classes, s->n_classes, sizeof *s->classes, by_bytes);
    for (size_t i = 0; i < f->count; i++) {
        const size_t length = strcspn(f->files[i], "/");
        const char *key = name;
        memcpy(name, f->files[i], length);
        name[length] = 0;
        const char **found = bsearch(&key, s->classes, s->n_classes, sizeof *s->classes, by_bytes);
        s->labels[i] = (uint16_t)(found - s->classes);
    }
    return WICK_OK;
}

wick_status wick_dataset_of_folder(wick_context *ctx, const char *path, wick_dataset **out) {
    *out = NULL;
    if (!path || !*path || strlen(path) >= WICK_PATH_BYTES) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: no path, or one of more than %d bytes", WICK_PATH_BYTES - 1);
    folder_set *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    s->alloc = ctx->alloc;
    memcpy(s->path, path, strlen(path) + 1);
    pthread_mutex_init(&s->lock, NULL);
    wick_msg msg = {0};
    wick_status status = wick_folder_list(&s->list, path, &s->alloc, &msg);
    if (status != WICK_OK) s->list.alloc = &s->alloc, wick_arena_init(&s->list.arena, &s->alloc, 0); /* an empty one, to be freed */
    if (status == WICK_OK && !s->list.count) status = wick_msg_set(&msg, WICK_ERR_IO, "%s: holds no .jpg, .jpeg or .png in the folder of a class", path);
    if (status == WICK_OK) status = number_classes(s, &msg);
    desk *d = status == WICK_OK ? take_desk(s) : NULL;
    if (status == WICK_OK && !d) status = wick_msg_set(&msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (d) {
        status = load(s, d, 0, NULL, &msg);
        give_desk(s, d);
    }
    const wick_dataset_source source = {.count = (int64_t)s->list.count, .n_fields = 2, .fields = {{"image", WICK_U8, 3, {CHANNELS, s->height, s->width}}, {"label", WICK_I64, 0, {0}}}, .get = get,
                                        .label = label, .classes = (int64_t)s->n_classes, .class_name = class_name, .free = release, .user = s};
    if (status == WICK_OK) status = wick_dataset_new(ctx, &source, out);
    else (void)wick_context_fail(ctx, status, "dataset: %s", msg.text);
    if (status != WICK_OK) release(s);
    return status;
}
