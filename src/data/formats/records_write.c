/* records_write.c: writes record files. A part is zeros where its head belongs, the records, the index; its head comes
 * last, over the zeros, once all of that is on the disk. */
#include "data/formats/records.h"
#include "data/formats/squeeze.h"
#include "tensor/tensor.h" /* the context's allocator */

/* Samples that a dictionary is made of, as a multiple of its size: zdict.h recommends about a hundred. */
enum { SAMPLES = 100, DICTIONARY_MOST = 16 << 20 };

struct wick_records_writer {
    wick_context *ctx;
    wick_allocator alloc;
    wick_arena arena;
    const char *path;
    wick_writer *file;
    wick_records_header header;
    const char *meta;
    const void *dictionary;
    int level;
    wick_squeezer *squeezer;
    uint64_t at, part; /* bytes of the file so far, and where this part begins */
    int64_t first;     /* record of this part */
    uint8_t *index;
    size_t count, index_cap; /* entries */
    uint8_t *room;           /* for a packed record */
    size_t room_cap;
    bool failed;
    size_t train;   /* bytes of the dictionary that is still to be made; then records wait here, each with its label */
    uint8_t *waiting;
    size_t waiting_bytes, waiting_cap;
    size_t *sizes;
    int32_t *labels;
    size_t n_waiting, sizes_cap, labels_cap;
};

static wick_status no_memory(const wick_records_writer *w, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", w->path);
}

static wick_status write(wick_records_writer *w, const void *data, size_t size, wick_msg *msg) {
    w->at += size;
    return wick_writer_write(w->file, data, size, msg);
}
static wick_status pad(wick_records_writer *w, wick_msg *msg) {
    static const uint8_t zeros[WICK_RECORDS_BLOCK];
    return write(w, zeros, (size_t)-w->at % WICK_RECORDS_BLOCK, msg);
}

static void release(wick_records_writer *w) {
    const wick_allocator alloc = w->alloc;
    wick_writer_abort(&w->file);
    wick_squeezer_close(&w->squeezer);
    wick_release(&alloc, w->index, w->index_cap * WICK_RECORDS_ENTRY);
    wick_release(&alloc, w->room, w->room_cap);
    wick_release(&alloc, w->waiting, w->waiting_cap);
    wick_release(&alloc, w->sizes, w->sizes_cap * sizeof *w->sizes);
    wick_release(&alloc, w->labels, w->labels_cap * sizeof *w->labels);
    wick_arena_free(&w->arena);
    wick_release(&alloc, w, sizeof *w);
}

static wick_records_writer *new_writer(wick_context *ctx, const char *path) {
    wick_records_writer *w = wick_calloc(&ctx->alloc, sizeof *w);
    if (!w) return NULL;
    w->ctx = ctx;
    w->alloc = ctx->alloc;
    wick_arena_init(&w->arena, &w->alloc, 0);
    if ((w->path = wick_arena_strdup(&w->arena, path ? path : ""))) return w;
    release(w);
    return NULL;
}

/* The zeros that the head of a new part will replace. */
static wick_status begin_part(wick_records_writer *w, wick_msg *msg) {
    static const uint8_t zeros[WICK_RECORDS_BLOCK];
    w->part = w->at;
    if (w->header.compression != WICK_STORED)
        WICK_TRY(wick_squeezer_open(&w->squeezer,
                                    &(wick_squeezer_options){.compression = (wick_compression)w->header.compression,
                                                             .write = true,
                                                             .level = w->level,
                                                             .dictionary = w->dictionary,
                                                             .dictionary_bytes = w->header.dictionary_size},
                                    w->path, msg));
    return write(w, zeros, sizeof zeros, msg);
}

/* Everything before the first part; the dictionary is known. */
static wick_status begin_file(wick_records_writer *w, wick_msg *msg) {
    uint8_t block[WICK_RECORDS_BLOCK];
    w->header.version = WICK_RECORDS_VERSION;
    w->header.meta_size = (uint32_t)strlen(w->meta);
    w->header.meta_crc = wick_crc32c(0, w->meta, w->header.meta_size);
    w->header.dictionary_crc = wick_crc32c(0, w->dictionary, w->header.dictionary_size);
    wick_records_header_write(&w->header, block);
    WICK_TRY(write(w, block, sizeof block, msg));
    WICK_TRY(write(w, w->meta, w->header.meta_size, msg));
    if (w->header.dictionary_size) WICK_TRY(write(w, w->dictionary, w->header.dictionary_size, msg));
    WICK_TRY(pad(w, msg));
    return begin_part(w, msg);
}

static wick_status create(wick_records_writer *w, const char *path, const wick_records_write_options *o,
                          wick_msg *msg) {
    const size_t size = o->meta ? strlen(o->meta) : 0;
    if ((unsigned)o->compression > WICK_ZSTD)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: compression %d", w->path, (int)o->compression);
    if (o->compression != WICK_ZSTD && (o->dictionary_bytes || o->train_dictionary))
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: only Zstandard takes a dictionary", w->path);
    if (o->dictionary_bytes > DICTIONARY_MOST || o->train_dictionary > DICTIONARY_MOST || size > UINT32_MAX)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: a dictionary has at most 16 MiB, and meta 4 GiB", w->path);
    w->header.compression = o->compression;
    w->header.dictionary_size = (uint32_t)o->dictionary_bytes;
    w->level = o->level;
    w->train = o->dictionary_bytes ? 0 : o->train_dictionary;
    char *meta = wick_arena_alloc(&w->arena, size + 1);
    void *dictionary = wick_arena_alloc(&w->arena, WICK_MAX(o->dictionary_bytes, o->train_dictionary) + 1);
    if (!meta || !dictionary) return no_memory(w, msg);
    if (size) memcpy(meta, o->meta, size);
    meta[size] = 0;
    if (o->dictionary_bytes) memcpy(dictionary, o->dictionary, o->dictionary_bytes);
    w->meta = meta;
    w->dictionary = dictionary;
    WICK_TRY(wick_writer_open(&w->file, path, msg));
    return w->train ? WICK_OK : begin_file(w, msg);
}

static wick_status append(wick_records_writer *w, const char *path, int level, wick_msg *msg) {
    wick_map map;
    wick_records *r;
    WICK_TRY(wick_writer_extend(&w->file, path, &map, msg));
    WICK_TRY(wick_records_parse(w->ctx, &map, path, NULL, &r, msg));
    w->header.compression = wick_records_compression(r);
    w->header.dictionary_size = (uint32_t)wick_records_dictionary(r);
    w->first = wick_records_count(r);
    w->at = wick_records_end(r);
    w->level = level;
    void *dictionary = wick_arena_alloc(&w->arena, w->header.dictionary_size + 1);
    if (dictionary && w->header.dictionary_size)
        memcpy(dictionary, wick_records_dictionary_bytes(r), w->header.dictionary_size);
    w->dictionary = dictionary;
    wick_records_free(&r);
    if (!dictionary) return no_memory(w, msg);
    WICK_TRY(wick_writer_keep(w->file, w->at, msg));
    return begin_part(w, msg);
}

static wick_status open_by(wick_context *ctx, const char *path, const wick_records_write_options *o, int level,
                           wick_records_writer **out) {
    static const wick_records_write_options none;
    wick_msg msg = {0};
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "records: out is NULL");
    wick_records_writer *w = *out = new_writer(ctx, path);
    if (!w) return wick_context_fail(ctx, WICK_ERR_NOMEM, "records: out of memory");
    const wick_status status = level < 0 ? create(w, path, o ? o : &none, &msg) : append(w, path, level, &msg);
    if (status == WICK_OK) return WICK_OK;
    wick_records_abort(out);
    return wick_context_fail(ctx, status, "records: %s", msg.text);
}

wick_status wick_records_create(wick_context *ctx, const char *path, const wick_records_write_options *options,
                                wick_records_writer **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "records_create: out is NULL");
    return open_by(ctx, path, options, -1, out);
}
wick_status wick_records_append(wick_context *ctx, const char *path, int level, wick_records_writer **out) {
    return open_by(ctx, path, NULL, WICK_MAX(level, 0), out);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Packed into w->room, where that makes it smaller. */
static wick_status pack(wick_records_writer *w, const void **data, size_t *size, wick_msg *msg) {
    const size_t bound = wick_squeezer_bound(w->squeezer, *size);
    size_t packed;
    if (!bound)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: record %lld: %zu bytes are more than its compression takes",
                            w->path, (long long)wick_records_added(w), *size);
    if (!wick_grow(&w->alloc, (void **)&w->room, &w->room_cap, bound, 1)) return no_memory(w, msg);
    WICK_TRY(wick_squeezer_pack(w->squeezer, *data, *size, w->room, w->room_cap, &packed, w->path, msg));
    if (packed < *size) *data = w->room, *size = packed;
    return WICK_OK;
}

static wick_status add(wick_records_writer *w, const void *data, size_t size, int32_t label, wick_msg *msg) {
    wick_record_entry e = {.offset = w->at, .size = (uint32_t)size, .label = label};
    if (w->squeezer && size) WICK_TRY(pack(w, &data, &size, msg));
    e.stored = (uint32_t)size;
    e.crc = wick_crc32c(0, data, size);
    if (!wick_grow(&w->alloc, (void **)&w->index, &w->index_cap, w->count + 1, WICK_RECORDS_ENTRY))
        return no_memory(w, msg);
    wick_records_entry_write(&e, w->index + w->count * WICK_RECORDS_ENTRY);
    WICK_TRY(write(w, data, size, msg));
    w->count++;
    return WICK_OK;
}

/* What waited becomes the dictionary, if there is enough of it, and then records. */
static wick_status end_waiting(wick_records_writer *w, wick_msg *msg) {
    size_t size = w->train;
    w->train = 0;
    wick_status status =
        wick_zstd_train((void *)(uintptr_t)w->dictionary, &size, w->waiting, w->sizes, w->n_waiting, w->path, msg);
    if (status == WICK_OK) w->header.dictionary_size = (uint32_t)size;
    else if (status != WICK_ERR_INVALID) return status;
    WICK_TRY(begin_file(w, msg));
    for (size_t i = 0, at = 0; i < w->n_waiting; at += w->sizes[i++])
        WICK_TRY(add(w, w->waiting + at, w->sizes[i], w->labels[i], msg));
    wick_release(&w->alloc, w->waiting, w->waiting_cap);
    w->waiting = NULL;
    w->waiting_cap = w->waiting_bytes = w->n_waiting = 0;
    return WICK_OK;
}

static wick_status wait(wick_records_writer *w, const void *data, size_t size, int32_t label, wick_msg *msg) {
    if (!wick_grow(&w->alloc, (void **)&w->waiting, &w->waiting_cap, w->waiting_bytes + size, 1) ||
        !wick_grow(&w->alloc, (void **)&w->sizes, &w->sizes_cap, w->n_waiting + 1, sizeof *w->sizes) ||
        !wick_grow(&w->alloc, (void **)&w->labels, &w->labels_cap, w->n_waiting + 1, sizeof *w->labels))
        return no_memory(w, msg);
    if (size) memcpy(w->waiting + w->waiting_bytes, data, size);
    w->waiting_bytes += size;
    w->sizes[w->n_waiting] = size;
    w->labels[w->n_waiting++] = label;
    return w->waiting_bytes / SAMPLES >= w->train ? end_waiting(w, msg) : WICK_OK;
}

int64_t wick_records_added(const wick_records_writer *w) { return (int64_t)(w->count + w->n_waiting); }
uint64_t wick_records_written(const wick_records_writer *w) { return w->at; }

wick_status wick_records_add(wick_records_writer *w, const void *data, size_t size, int32_t label) {
    if (size && !data) return wick_context_fail(w->ctx, WICK_ERR_INVALID, "records_add: data is NULL");
    wick_msg msg = {0};
    if (w->failed)
        return wick_context_fail(w->ctx, WICK_ERR_INVALID,
                                 "records: %s: an earlier record failed: the file can only be given up", w->path);
    if (size > UINT32_MAX)
        return wick_context_fail(w->ctx, WICK_ERR_INVALID,
                                 "records: %s: a record of %zu bytes; one has less than 4 GiB", w->path, size);
    const wick_status status = w->train ? wait(w, data, size, label, &msg) : add(w, data, size, label, &msg);
    if (status == WICK_OK) return WICK_OK;
    w->failed = status != WICK_ERR_INVALID;
    return wick_context_fail(w->ctx, status, "records: %s", msg.text);
}

static wick_status finish(wick_records_writer *w, wick_msg *msg) {
    uint8_t head[WICK_RECORDS_BLOCK];
    if (w->train) WICK_TRY(end_waiting(w, msg));
    const wick_records_head h = {w->part, (uint64_t)w->first, w->count, w->at - w->part - sizeof head,
                                 wick_crc32c(0, w->index, w->count * WICK_RECORDS_ENTRY)};
    WICK_TRY(pad(w, msg));
    WICK_TRY(write(w, w->index, w->count * WICK_RECORDS_ENTRY, msg));
    WICK_TRY(pad(w, msg));
    wick_records_head_write(&h, head);
    WICK_TRY(wick_writer_patch(w->file, w->part, head, sizeof head, msg));
    return wick_writer_commit(&w->file, msg);
}

wick_status wick_records_commit(wick_records_writer **slot) {
    if (!slot || !*slot) return WICK_ERR_INVALID;
    wick_records_writer *w = *slot;
    wick_msg msg = {0};
    *slot = NULL;
    wick_context *ctx = w->ctx;
    wick_status status = w->failed
                             ? wick_msg_set(&msg, WICK_ERR_INVALID, "%s: a record failed: nothing is written", w->path)
                             : finish(w, &msg);
    release(w);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "records: %s", msg.text);
}

void wick_records_abort(wick_records_writer **slot) {
    wick_records_writer *w = slot ? *slot : NULL;
    if (!w) return;
    *slot = NULL;
    release(w);
}
