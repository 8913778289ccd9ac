/* shards.c: archives in WebDataset's layout as a data set whose samples are asked for by number. A sample is a row of
 * cells, one for each field: where the file's bytes lie, in the mapping, a copy, or the file. */
#include "data/sets/shards.h"

#include <stdio.h>
#include <unistd.h>

#include "data/formats/wav.h"
#include "data/remote/remote.h"
#include "wick/datasets.h"

typedef wick_shard_cell cell;

typedef struct shards {
    wick_allocator alloc;
    wick_arena arena; /* names, and contents of packed archives */
    wick_map *maps;
    struct { int fd; const char *path; } *files; /* of shards that are read; else -1 */
    bool copy;
    wick_remote *remote; /* while they are opened */
    uint8_t *room; /* for what is looked at while they are opened */
    size_t room_cap;
    int n_maps;
    wick_shard_fields of;
    cell *cells;        /* [count, n] */
    const char **names; /* [count]: shard and key, for messages */
    size_t count, cells_cap, names_cap;
    int64_t classes, unmeasured;
    int64_t rate; /* of the recordings; 0: not all have the same */
} shards;

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static wick_status read_cell(const shards *s, const cell *c, void *to, wick_msg *msg) {
    return wick_read_at(s->files[c->shard].fd, c->offset, to, c->size, s->files[c->shard].path, msg);
}

/* Bytes go to where they are wanted, what is decoded to memory of its own first. */
static wick_status fetch(shards *s, int64_t i, int k, void *out, wick_msg *msg) {
    const cell *c = &s->cells[(size_t)i * (size_t)s->of.n + (size_t)k];
    const wick_shard_kind what = s->of.field[k].kind;
    if (c->data || what == WICK_SHARD_LABEL || !c->size) return wick_shard_decode(&s->of, k, c, out, s->names[i], msg);
    if (what == WICK_SHARD_BYTES) return read_cell(s, c, out, msg);
    cell own = *c;
    uint8_t *room = wick_alloc(&s->alloc, c->size);
    if (!room) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", s->names[i], c->size);
    own.data = room;
    wick_status status = read_cell(s, c, room, msg);
    if (status == WICK_OK) status = wick_shard_decode(&s->of, k, &own, out, s->names[i], msg);
    wick_release(&s->alloc, room, c->size);
    return status;
}
static wick_status get(void *user, int64_t i, void *const *out, wick_fault *fault) {
    shards *s = user;
    for (int k = 0; k < s->of.n; k++) {
        wick_msg msg = {0};
        const wick_status status = out[k] ? fetch(s, i, k, out[k], &msg) : WICK_OK;
        if (status != WICK_OK) return wick_fault_set(fault, status, "%s", msg.text);
    }
    return WICK_OK;
}
static void ahead(void *user, const int64_t *indices, int64_t n) {
    const shards *s = user;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < s->of.n; k++) {
            const cell *c = &s->cells[(size_t)indices[i] * (size_t)s->of.n + (size_t)k];
            const bool plain = !c->data || s->maps[c->shard].data; /* else a copy of what was unpacked */
            if (plain && c->size && s->of.field[k].kind != WICK_SHARD_LABEL)
                wick_read_ahead(s->files[c->shard].fd, s->maps[c->shard].data, c->offset, c->size);
        }
}
static int64_t length(void *user, int64_t i, int field) {
    const shards *s = user;
    return s->cells[(size_t)i * (size_t)s->of.n + (size_t)field].length;
}
static int64_t label(void *user, int64_t i) { return length(user, i, ((const shards *)user)->of.n - 1); }
static void release(void *user) {
    shards *s = user;
    const wick_allocator alloc = s->alloc;
    for (int i = 0; i < s->n_maps; i++) {
        wick_map_close(&s->maps[i]);
        if (s->files[i].fd >= 0) close(s->files[i].fd);
    }
    wick_release(&alloc, s->room, s->room_cap);
    wick_shard_fields_free(&s->of);
    wick_release(&alloc, s->cells, s->cells_cap * sizeof *s->cells);
    wick_release(&alloc, s->names, s->names_cap * sizeof *s->names);
    wick_arena_free(&s->arena);
    wick_release(&alloc, s, sizeof *s);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static wick_status no_memory(const char *path, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
}

/* What a cell that is to be read begins with, for as long as nothing else is looked at. */
static wick_status look(void *user, const cell *c, cell *out, const char *path, wick_msg *msg) {
    shards *s = user;
    *out = *c;
    if (c->data || !c->size) return WICK_OK;
    if (!wick_grow(&s->alloc, (void **)&s->room, &s->room_cap, c->size, 1)) return no_memory(path, msg);
    out->data = s->room;
    return read_cell(s, c, s->room, msg);
}

static wick_status close_sample(shards *s, wick_shard_sample *o, const char *path, wick_msg *msg) {
    if (!o->begun) return WICK_OK;
    if (!s->of.n) WICK_TRY(wick_shard_choose(&s->of, o, look, s, path, msg));
    const size_t size = strlen(path) + strlen(o->key) + 3, n = (size_t)s->of.n;
    char *name = wick_arena_alloc(&s->arena, size);
    if (!name || !wick_grow(&s->alloc, (void **)&s->cells, &s->cells_cap, (s->count + 1) * n, sizeof *s->cells) ||
        !wick_grow(&s->alloc, (void **)&s->names, &s->names_cap, s->count + 1, sizeof *s->names))
        return no_memory(path, msg);
    snprintf(name, size, "%s: %s", path, o->key);
    for (int k = 0; k < s->of.n; k++) {
        const cell *found = wick_shard_find(&s->of, o, k, name, msg);
        const wick_shard_kind what = s->of.field[k].kind;
        if (!found) return WICK_ERR_FORMAT;
        cell seen = *found;
        int64_t rate = 0;
        if (what == WICK_SHARD_RECORDING || what == WICK_SHARD_LABEL) WICK_TRY(look(s, found, &seen, path, msg));
        WICK_TRY(wick_shard_measure(&s->of, k, &seen, &rate, name, msg));
        if (what == WICK_SHARD_RECORDING) s->unmeasured += wick_wav_unmeasured(seen.data, seen.size);
        if (what == WICK_SHARD_RECORDING) s->rate = !s->count || rate == s->rate ? rate : 0;
        if (what == WICK_SHARD_LABEL) s->classes = WICK_MAX(s->classes, seen.length + 1);
        cell *c = &s->cells[s->count * n + (size_t)k];
        *c = *found;
        c->length = seen.length;
    }
    s->names[s->count++] = name;
    o->begun = false;
    return WICK_OK;
}

static wick_status take_file(shards *s, wick_shard_sample *o, wick_tar *t, const char *path, wick_msg *msg) {
    const char *end;
    size_t key;
    if (!wick_shard_split(t->name, &key, &end)) return WICK_OK;
    if (!wick_shard_same(o, t->name, key)) {
        WICK_TRY(close_sample(s, o, path, msg));
        wick_shard_begin(o, t->name, key);
    }
    cell c = {.size = t->size, .shard = s->n_maps - 1, .offset = t->source.offset};
    uint8_t *copy = NULL;
    /* in the mapping, and the reader sees that all of it is there; or NULL */
    if (!t->source.gzip && !t->source.zstd) c.data = t->size ? t->source.at : (const uint8_t *)"";
    else if (!(c.data = copy = wick_arena_alloc(&s->arena, t->size + !t->size))) return no_memory(path, msg);
    WICK_TRY(wick_shard_add(o, end, &c, path, msg));
    return wick_tar_read(t, copy, msg);
}

/* Mapped; or, to be read, as an open file where it is plain, and as a copy of all its bytes where it is packed. */
static wick_status open_shard(shards *s, wick_map *map, wick_tar *t, const char *path, wick_msg *msg) {
    uint8_t begin[4] = {0};
    size_t size;
    int *fd = &s->files[s->n_maps].fd;
    *fd = -1;
    if (!s->copy) WICK_TRY(wick_remote_map(s->remote, map, path, msg));
    s->n_maps++;
    if (!s->copy) return wick_tar_open(t, map->data, map->size, path, msg);
    if (!(s->files[s->n_maps - 1].path = wick_arena_strdup(&s->arena, path))) return no_memory(path, msg);
    WICK_TRY(wick_remote_file(s->remote, fd, &size, path, msg));
    WICK_TRY(wick_read_at(*fd, 0, begin, WICK_MIN(size, sizeof begin), path, msg));
    if (!wick_gzip_is(begin, sizeof begin) && !wick_zstd_is(begin, sizeof begin))
        return wick_tar_open_file(t, *fd, size, path), WICK_OK;
    WICK_TRY(wick_remote_is_url(path) ? wick_map_descriptor(map, *fd, path, msg) : wick_map_read(map, path, msg));
    return wick_tar_open(t, map->data, map->size, path, msg);
}

static wick_status read_shard(shards *s, wick_map *map, wick_shard_sample *o, wick_tar *t, const char *path,
                              wick_msg *msg) {
    WICK_TRY(open_shard(s, map, t, path, msg));
    bool more = true, packed = t->source.gzip || t->source.zstd;
    wick_status status = WICK_OK;
    while (status == WICK_OK && (status = wick_tar_next(t, &more, msg)) == WICK_OK && more)
        status = take_file(s, o, t, path, msg);
    wick_tar_close(t);
    if (status == WICK_OK) status = close_sample(s, o, path, msg);
    if (packed) wick_map_close(map); /* its contents are copied */
    return status;
}

static wick_status make(wick_context *ctx, shards *s, wick_dataset **out) {
    wick_dataset_source source = {.count = (int64_t)s->count,
                                  .rate = s->rate,
                                  .n_fields = s->of.n,
                                  .get = get,
                                  .ahead = ahead,
                                  .length = length,
                                  .free = release,
                                  .user = s};
    char note[200];
    if (s->unmeasured) {
        snprintf(note, sizeof note, WICK_UNMEASURED, (long long)s->unmeasured, (long long)s->count);
        source.note = note;
    }
    wick_shard_specs(&s->of, source.fields);
    if (s->of.n && s->of.field[s->of.n - 1].kind == WICK_SHARD_LABEL) source.label = label, source.classes = s->classes;
    return wick_dataset_new(ctx, &source, out);
}

wick_status wick_dataset_of_shards(wick_context *ctx, int n, const char *const *paths, wick_dataset **out) {
    return wick_dataset_of_shards_with(ctx, n, paths, NULL, out);
}
wick_status wick_dataset_of_shards_with(wick_context *ctx, int n, const char *const *paths,
                                        const wick_shards_options *options, wick_dataset **out) {
    if (n > 0 && !paths) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_shards: paths is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset_of_shards: out is NULL");
    wick_msg msg = {0};
    *out = NULL;
    if (n < 1 || n > WICK_SHARDS_MAX)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: %d shards; there are 1 to %d", n, WICK_SHARDS_MAX);
    for (int i = 0; i < n; i++)
        if (!paths[i]) return wick_context_fail(ctx, WICK_ERR_INVALID, "dataset: shard %d is NULL", i);
    shards *s = wick_calloc(&ctx->alloc, sizeof *s);
    if (!s) return wick_context_fail(ctx, WICK_ERR_NOMEM, "dataset: out of memory");
    s->alloc = ctx->alloc;
    wick_arena_init(&s->arena, &s->alloc, 0);
    wick_shard_fields_init(&s->of);
    s->of.codecs.how = ctx->options.pictures;
    wick_shard_sample *o = wick_calloc(&s->alloc, sizeof *o);
    wick_tar *t = wick_calloc(&s->alloc, sizeof *t);
    s->copy = options && options->copy;
    s->maps = wick_arena_zalloc(&s->arena, (size_t)n * sizeof *s->maps);
    s->files = wick_arena_zalloc(&s->arena, (size_t)n * sizeof *s->files);
    wick_remote *own = NULL;
    wick_status status = o && t && s->maps && s->files ? WICK_OK : no_memory(paths[0], &msg);
    if (status == WICK_OK)
        status = wick_remote_for(ctx, n, paths, options ? options->remote : NULL, &s->remote, &own, &msg);
    for (int i = 0; i < n && status == WICK_OK; i++) status = read_shard(s, &s->maps[i], o, t, paths[i], &msg);
    if (status == WICK_OK && !s->count) status = wick_msg_set(&msg, WICK_ERR_FORMAT, "%s: holds no sample", paths[0]);
    wick_remote_free(&own);
    wick_release(&s->alloc, o, sizeof *o);
    wick_release(&s->alloc, t, sizeof *t);
    if (status != WICK_OK) (void)wick_context_fail(ctx, status, "dataset: %s", msg.text);
    else status = make(ctx, s, out);
    if (status != WICK_OK) release(s);
    return status;
}
