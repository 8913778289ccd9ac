/* shards.c: archives in WebDataset's layout as a data set. A sample is a row of cells, one for each field: where the file's bytes lie, in the mapping, a copy, or the file. */
#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "data/codecs.h"
#include "data/dataset.h"
#include "data/tar.h"
#include "data/wav.h"
#include "wick/datasets.h"

enum { SHARDS = 1 << 16, KINDS = 4, END = 32, CLASSES = 1 << 20 };
typedef enum kind { PICTURE, RECORDING, BYTES, LABEL } kind;

typedef struct cell {
    const uint8_t *data; /* NULL: to be read from */
    int shard;
    uint64_t offset;
    size_t size;
    int64_t length; /* of a recording: samples; of a label: its number */
} cell;

typedef struct shards {
    wick_allocator alloc;
    wick_arena arena; /* names, and contents of packed archives */
    wick_map *maps;
    struct { int fd; const char *path; } *files; /* of shards that are read; else -1 */
    bool copy;
    uint8_t *room; /* for what is looked at while they are opened */
    size_t room_cap;
    int n_maps, n;   /* n: fields */
    struct { char end[END]; kind kind; int64_t dims[3]; } field[WICK_DATASET_FIELDS];
    cell *cells;        /* [count, n] */
    const char **names; /* [count]: shard and key, for messages */
    size_t count, cells_cap, names_cap;
    int64_t classes;
    int64_t rate; /* of the recordings; 0: not all have the same */
    wick_codecs codecs;
    pthread_mutex_t loading;
} shards;

static kind kind_of(const char *end) {
    static const char *const pictures[] = {"jpg", "jpeg", "png", "bmp", "webp"};
    const char *last = strrchr(end, '.') ? strrchr(end, '.') + 1 : end;
    for (size_t i = 0; i < WICK_COUNTOF(pictures); i++)
        if (strcasecmp(last, pictures[i]) == 0) return PICTURE;
    return strcasecmp(last, "wav") == 0 ? RECORDING : strcasecmp(end, "cls") == 0 ? LABEL : BYTES;
}

static wick_status header_of(shards *s, const cell *c, wick_picture *p, const char *name, wick_msg *msg) {
    pthread_mutex_lock(&s->loading);
    const wick_status status = wick_picture_header(&s->codecs, c->data, c->size, p, name, msg);
    pthread_mutex_unlock(&s->loading);
    return status;
}

/* ---- asking -------------------------------------------------------------------------------------------------------------------------------------- */

static wick_status read_cell(const shards *s, const cell *c, void *to, wick_msg *msg) { return wick_read_at(s->files[c->shard].fd, c->offset, to, c->size, s->files[c->shard].path, msg); }

static wick_status decode(shards *s, const cell *c, int64_t i, int k, void *out, wick_msg *msg) {
    char name[600];
    wick_picture p;
    snprintf(name, sizeof name, "%.550s.%s", s->names[i], s->field[k].end);
    switch (s->field[k].kind) {
    case PICTURE:
        WICK_TRY(header_of(s, c, &p, name, msg));
        if (p.height != s->field[k].dims[1] || p.width != s->field[k].dims[2])
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: is %lld x %lld pixels; the first one is %lld x %lld", name, (long long)p.height, (long long)p.width, (long long)s->field[k].dims[1],
                                (long long)s->field[k].dims[2]);
        return wick_picture_decode(&s->codecs, c->data, c->size, &p, 3, out, name, msg);
    case RECORDING: return wick_wav_mono(c->data, c->size, out, c->length, name, msg);
    case LABEL: return *(int64_t *)out = c->length, WICK_OK;
    case BYTES: break;
    }
    if (c->size) memcpy(out, c->data, c->size);
    return WICK_OK;
}
/* Bytes go to where they are wanted, what is decoded to memory of its own first. */
static wick_status fetch(shards *s, int64_t i, int k, void *out, wick_msg *msg) {
    const cell *c = &s->cells[(size_t)i * (size_t)s->n + (size_t)k];
    const kind what = s->field[k].kind;
    if (c->data || what == LABEL || !c->size) return decode(s, c, i, k, out, msg);
    if (what == BYTES) return read_cell(s, c, out, msg);
    cell own = *c;
    uint8_t *room = wick_alloc(&s->alloc, c->size);
    if (!room) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", s->names[i], c->size);
    own.data = room;
    wick_status status = read_cell(s, c, room, msg);
    if (status == WICK_OK) status = decode(s, &own, i, k, out, msg);
    wick_release(&s->alloc, room, c->size);
    return status;
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    shards *s = user;
    for (int k = 0; k < s->n; k++) {
        wick_msg msg = {0};
        const wick_status status = out[k] ? fetch(s, i, k, out[k], &msg) : WICK_OK;
        if (status != WICK_OK) return wick_fault_set(fault, status, "%s", msg.text);
    }
    return WICK_OK;
}
static void ahead(void *user, const int64_t *indices, int64_t n) {
    const shards *s = user;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < s->n; k++) {
            const cell *c = &s->cells[(size_t)indices[i] * (size_t)s->n + (size_t)k];
            const bool plain = !c->data || s->maps[c->shard].data; /* else a copy of what was unpacked */
            if (plain && c->size && s->field[k].kind != LABEL) wick_read_ahead(s->files[c->shard].fd, s->maps[c->shard].data, c->offset, c->size);
        }
}
static int64_t length(void *user, int64_t i, int field) {
    const shards *s = user;
    return s->cells[(size_t)i * (size_t)s->n + (size_t)field].length;
}
static int64_t label(void *user, int64_t i) { return length(user, i, ((const shards *)user)->n - 1); }
static void release(void *user) {
    shards *s = user;
    const wick_allocator alloc = s->alloc;
    for (int i = 0; i < s->n_maps; i++) {
        wick_map_close(&s->maps[i]);
        if (s->files[i].fd >= 0) close(s->files[i].fd);
    }
    wick_release(&alloc, s->room, s->room_cap);
    wick_codecs_close(&s->codecs);
    pthread_mutex_destroy(&s->loading);
    wick_release(&alloc, s->cells, s->cells_cap * sizeof *s->cells);
    wick_release(&alloc, s->names, s->names_cap * sizeof *s->names);
    wick_arena_free(&s->arena);
    wick_release(&alloc, s, sizeof *s);
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------------------------ */

/* The sample that is being put together. */
typedef struct open_sample {
    char key[WICK_TAR_NAME_MAX];
    bool begun;
    int have; /* cells */
    struct { char end[END]; cell cell; } files[4 * WICK_DATASET_FIELDS];
} open_sample;

static wick_status no_memory(const char *path, wick_msg *msg) { return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path); }

/* What a cell that is to be read begins with, for as long as nothing else is looked at. */
static wick_status look(shards *s, const cell *c, cell *out, const char *path, wick_msg *msg) {
    *out = *c;
    if (c->data || !c->size) return WICK_OK;
    if (!wick_grow(&s->alloc, (void **)&s->room, &s->room_cap, c->size, 1)) return no_memory(path, msg);
    out->data = s->room;
    return read_cell(s, c, s->room, msg);
}

/* The first sample's files become the fields: by kind, and in their order. */
static wick_status choose(shards *s, const open_sample *o, const char *path, wick_msg *msg) {
    for (int what = 0; what < KINDS; what++)
        for (int i = 0; i < o->have; i++) {
            if ((int)kind_of(o->files[i].end) != what) continue;
            if (s->n == WICK_DATASET_FIELDS) return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %.200s: more than %d files in a sample", path, o->key, WICK_DATASET_FIELDS);
            memcpy(s->field[s->n].end, o->files[i].end, END);
            s->field[s->n].kind = (kind)what;
            if (what == PICTURE) {
                wick_picture p;
                cell c;
                WICK_TRY(look(s, &o->files[i].cell, &c, path, msg));
                WICK_TRY(header_of(s, &c, &p, path, msg));
                s->field[s->n].dims[0] = 3, s->field[s->n].dims[1] = p.height, s->field[s->n].dims[2] = p.width;
            }
            s->n++;
        }
    return WICK_OK;
}

/* At most 18 digits, with blanks around them. */
static bool read_class(const cell *c, int64_t *value) {
    size_t at = 0, digits = 0;
    *value = 0;
    while (at < c->size && strchr(" \t\r\n", c->data[at]) && c->data[at]) at++;
    for (; at < c->size && c->data[at] >= '0' && c->data[at] <= '9' && digits < 18; at++, digits++) *value = *value * 10 + (c->data[at] - '0');
    while (at < c->size && strchr(" \t\r\n", c->data[at]) && c->data[at]) at++;
    return digits && at == c->size && *value < CLASSES;
}

static wick_status close_sample(shards *s, open_sample *o, const char *path, wick_msg *msg) {
    if (!o->begun) return WICK_OK;
    if (!s->n) WICK_TRY(choose(s, o, path, msg));
    const size_t size = strlen(path) + strlen(o->key) + 3;
    char *name = wick_arena_alloc(&s->arena, size);
    if (!name || !wick_grow(&s->alloc, (void **)&s->cells, &s->cells_cap, (s->count + 1) * (size_t)s->n, sizeof *s->cells) ||
        !wick_grow(&s->alloc, (void **)&s->names, &s->names_cap, s->count + 1, sizeof *s->names))
        return no_memory(path, msg);
    snprintf(name, size, "%s: %s", path, o->key);
    for (int k = 0; k < s->n; k++) {
        cell *c = &s->cells[s->count * (size_t)s->n + (size_t)k];
        int i = 0;
        while (i < o->have && strcmp(o->files[i].end, s->field[k].end) != 0) i++;
        if (i == o->have) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: has no .%s, which the first sample has", name, s->field[k].end);
        *c = o->files[i].cell;
        c->length = (int64_t)c->size;
        cell seen = *c;
        if (s->field[k].kind == RECORDING || s->field[k].kind == LABEL) WICK_TRY(look(s, c, &seen, path, msg));
        if (s->field[k].kind == RECORDING) {
            int64_t rate;
            WICK_TRY(wick_wav_length(seen.data, c->size, &c->length, &rate, name, msg));
            s->rate = !s->count || rate == s->rate ? rate : 0;
        }
        if (s->field[k].kind == LABEL && !read_class(&seen, &c->length)) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: .cls is no number of a class, 0 to %d", name, CLASSES - 1);
        if (s->field[k].kind == LABEL) s->classes = WICK_MAX(s->classes, c->length + 1);
    }
    s->names[s->count++] = name;
    o->begun = false;
    o->have = 0;
    return WICK_OK;
}

static wick_status take_file(shards *s, open_sample *o, wick_tar *t, const char *path, wick_msg *msg) {
    const char *slash = strrchr(t->name, '/'), *base = slash ? slash + 1 : t->name, *dot = strchr(base, '.');
    if (!dot || dot == base || !dot[1] || strlen(dot + 1) >= END) return WICK_OK; /* passed over, as hidden files are */
    const size_t n = (size_t)(dot - t->name);
    if (!o->begun || strncmp(o->key, t->name, n) != 0 || o->key[n]) {
        WICK_TRY(close_sample(s, o, path, msg));
        memcpy(o->key, t->name, n);
        o->key[n] = 0;
        o->begun = true;
    }
    if (o->have == (int)WICK_COUNTOF(o->files)) return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: %.200s: more than %zu files in a sample", path, o->key, WICK_COUNTOF(o->files));
    for (int i = 0; i < o->have; i++)
        if (strcmp(o->files[i].end, dot + 1) == 0) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %.400s is there twice", path, t->name);
    cell *c = &o->files[o->have].cell;
    memset(o->files[o->have].end, 0, END);
    memcpy(o->files[o->have].end, dot + 1, strlen(dot + 1));
    *c = (cell){.size = t->size, .shard = s->n_maps - 1, .offset = t->source.offset};
    uint8_t *copy = NULL;
    if (!t->source.gzip && !t->source.zstd) c->data = t->size ? t->source.at : (const uint8_t *)""; /* in the mapping, and the reader sees that all of it is there; or NULL */
    else if (!(c->data = copy = wick_arena_alloc(&s->arena, t->size + !t->size))) return no_memory(path, msg);
    WICK_TRY(wick_tar_read(t, copy, msg));
    o->have++;
    return WICK_OK;
}

/* Mapped; or, to be read, as an open file where it is plain, and as a copy of all its bytes where it is packed. */
static wick_status open_shard(shards *s, wick_map *map, wick_tar *t, const char *path, wick_msg *msg) {
    uint8_t begin[4] = {0};
    size_t size;
    int *fd = &s->files[s->n_maps].fd;
    *fd = -1;
    if (!s->copy) WICK_TRY(wick_map_open(map, path, msg));
    s->n_maps++;
    if (!s->copy) return wick_tar_open(t, map->data, map->size, path, msg);
    if (!(s->files[s->n_maps - 1].path = wick_arena_strdup(&s->arena, path))) return no_memory(path, msg);
    WICK_TRY(wick_file_open(fd, &size, path, msg));
    WICK_TRY(wick_read_at(*fd, 0, begin, WICK_MIN(size, sizeof begin), path, msg));
    if (!wick_gzip_is(begin, sizeof begin) && !wick_zstd_is(begin, sizeof begin)) return wick_tar_open_file(t, *fd, size, path), WICK_OK;
    WICK_TRY(wick_map_read(map, path, msg));
    return wick_tar_open(t, map->data, map->size, path, msg);
}

static wick_status read_shard(shards *s, wick_map *map, open_sample *o, wick_tar *t, const char *path, wick_msg *msg) {
    WICK_TRY(open_shard(s, map, t, path, msg));
    bool more = true, packed = t->source.gzip || t->source.zstd;
    wick_status status = WICK_OK;
    while (status == WICK_OK && (status = wick_tar_next(t, &more, msg)) == WICK_OK && more) status = take_file(s, o, t, path, msg);
    wick_tar_close(t);
    if (status == WICK_OK) status = close_sample(s, o, path, msg);
    if (packed) wick_map_close(map); /* its contents are copied */
    return status;
}

static wick_status make(wick_context *ctx, shards *s, wick_dataset **out) {
    wick_dataset_source source = {.count = (int64_t)s->count, .rate = s->rate, .n_fields = s->n, .get = get, .ahead = ahead, .length = length, .free = release, .user = s};
    for (int k = 0; k < s->n; k++) {
        const kind what = s->field[k].kind;
        source.fields[k] = (wick_spec){what == LABEL ? "label" : s->field[k].end, what == LABEL ? WICK_I64 : what == RECORDING ? WICK_F32 : WICK_U8, what == LABEL ? 0 : what == PICTURE ? 3 : 1, {-1}};
        if (what == PICTURE) memcpy(source.fields[k].dims, s->field[k].dims, sizeof s->field[k].dims);
    }
    if (s->n && s->field[s->n - 1].kind == LABEL) source.label = label, source.classes = s->classes;
    return wick_dataset_new(ctx, &source, out);
}

wick_status wick_dataset_of_shards(wick_context *ctx, int n, const char *const *paths, wick_dataset **out) { return wick_dataset_of_shards_with(ctx, n, paths, NULL, out); }
wick_status wick_dataset_of_shards_with(wick_context *ctx, int n, const char *const *paths, const wick_shards_options *options, wick_dataset **out) {
    wick_msg msg = {0};
    *out = NULL;
    if (n < 1 || n > SHARDS) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %d shards; there are 1 to %d", n, SHARDS);
    shards *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    s->alloc = ctx->alloc;
    wick_arena_init(&s->arena, &s->alloc, 0);
    pthread_mutex_init(&s->loading, NULL);
    open_sample *o = wick_calloc(&s->alloc, sizeof *o);
    wick_tar *t = wick_calloc(&s->alloc, sizeof *t);
    s->copy = options && options->copy;
    s->maps = wick_arena_zalloc(&s->arena, (size_t)n * sizeof *s->maps);
    s->files = wick_arena_zalloc(&s->arena, (size_t)n * sizeof *s->files);
    wick_status status = o && t && s->maps && s->files ? WICK_OK : no_memory(paths[0], &msg);
    for (int i = 0; i < n && status == WICK_OK; i++) status = read_shard(s, &s->maps[i], o, t, paths[i], &msg);
    if (status == WICK_OK && !s->count) status = wick_msg_set(&msg, WICK_ERR_FORMAT, "%s: holds no sample", paths[0]);
    wick_release(&s->alloc, o, sizeof *o);
    wick_release(&s->alloc, t, sizeof *t);
    if (status != WICK_OK) (void)wick_context_fail(ctx, status, "dataset: %s", msg.text);
    else status = make(ctx, s, out);
    if (status != WICK_OK) release(s);
    return status;
}
