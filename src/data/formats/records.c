/* records.c: reads record files, of which nothing is believed: every place is checked against the file's size, every
 * index by its checksum, and every record by its own before it is unpacked. */
#include "data/formats/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "data/formats/source.h"
#include "data/formats/squeeze.h"
#include "tensor/tensor.h" /* the context's allocator */

enum { RECORD_MOST = 256 << 20, CHUNK = 1 << 16 };

typedef struct part {
    int64_t first, count;      /* records */
    uint64_t begin, end, index; /* bytes of the file: of its data, and where its index begins */
} part;

struct wick_records {
    wick_context *ctx;
    wick_allocator alloc;
    wick_arena arena;
    const char *path;
    wick_map map; /* copy: its size alone */
    int fd;       /* copy; else -1 */
    size_t max_record;
    wick_records_header header;
    const char *meta;
    uint8_t *dictionary;
    part *parts;
    size_t n, cap;
    int64_t count;
    uint64_t end;
    char tail[160];
    wick_squeezer *squeezer;
};

const char *wick_compression_name(wick_compression c) {
    static const char *const names[] = {"none", "lz4", "zstd"};
    return (unsigned)c < WICK_COUNTOF(names) ? names[c] : "?";
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static uint32_t u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint64_t u64(const uint8_t *p) { return u32(p) | (uint64_t)u32(p + 4) << 32; }
static void put(uint8_t *p, uint64_t v, int bytes) {
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)(v >> 8 * i);
}
static void seal(uint8_t block[WICK_RECORDS_BLOCK]) { put(block + 60, wick_crc32c(0, block, 60), 4); }
static bool sealed(const uint8_t *block) { return u32(block + 60) == wick_crc32c(0, block, 60); }

void wick_records_header_write(const wick_records_header *h, uint8_t to[WICK_RECORDS_BLOCK]) {
    memset(to, 0, WICK_RECORDS_BLOCK);
    memcpy(to, WICK_RECORDS_MAGIC, 8);
    put(to + 8, h->version, 4), put(to + 12, h->compression, 4);
    put(to + 16, h->meta_size, 4), put(to + 20, h->meta_crc, 4);
    put(to + 24, h->dictionary_size, 4), put(to + 28, h->dictionary_crc, 4);
    put(to + 32, h->flags, 8);
    seal(to);
}
void wick_records_head_write(const wick_records_head *h, uint8_t to[WICK_RECORDS_BLOCK]) {
    memset(to, 0, WICK_RECORDS_BLOCK);
    memcpy(to, WICK_RECORDS_PART, 8);
    put(to + 8, h->offset, 8), put(to + 16, h->first, 8), put(to + 24, h->count, 8), put(to + 32, h->data, 8);
    put(to + 40, h->index_crc, 4);
    seal(to);
}
void wick_records_entry_write(const wick_record_entry *e, uint8_t to[WICK_RECORDS_ENTRY]) {
    put(to, e->offset, 8);
    put(to + 8, e->stored, 4), put(to + 12, e->size, 4), put(to + 16, e->crc, 4), put(to + 20, (uint32_t)e->label, 4);
}

/* n bytes of the file, which are known to be there: in the mapping, or read into `to`. */
static wick_status fetch(const wick_records *r, uint64_t at, size_t n, void *to, const uint8_t **out, wick_msg *msg) {
    *out = to;
    if (r->fd < 0) {
        *out = r->map.data + at;
        return WICK_OK;
    }
    return wick_read_at(r->fd, at, to, n, r->path, msg);
}

static wick_status crc_of(const wick_records *r, uint64_t at, uint64_t n, uint32_t *crc, wick_msg *msg) {
    uint8_t chunk[CHUNK];
    const uint8_t *bytes;
    *crc = 0;
    for (uint64_t done = 0, now; done < n; done += now) {
        now = WICK_MIN(n - done, r->fd < 0 ? (uint64_t)1 << 30 : sizeof chunk);
        WICK_TRY(fetch(r, at + done, (size_t)now, chunk, &bytes, msg));
        *crc = wick_crc32c(*crc, bytes, (size_t)now);
    }
    return WICK_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static uint64_t align(uint64_t n) { return (n + WICK_RECORDS_BLOCK - 1) & ~(uint64_t)(WICK_RECORDS_BLOCK - 1); }

/* Meta or dictionary: bytes behind the header, kept with a zero behind them. */
static wick_status keep(wick_records *r, const char *what, uint64_t at, uint32_t size, uint32_t crc, uint8_t **out,
                        wick_msg *msg) {
    const uint8_t *bytes;
    uint8_t *to = *out = wick_arena_alloc(&r->arena, (size_t)size + 1);
    if (!to) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", r->path);
    WICK_TRY(fetch(r, at, size, to, &bytes, msg));
    if (bytes != to && size) memcpy(to, bytes, size);
    to[size] = 0;
    if (wick_crc32c(0, to, size) == crc) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %s (byte %llu): its checksum is wrong", r->path, what,
                        (unsigned long long)at);
}

static wick_status read_header(wick_records *r, wick_msg *msg) {
    uint8_t block[WICK_RECORDS_BLOCK], *meta;
    const uint8_t *b;
    wick_records_header *h = &r->header;
    if (r->map.size < sizeof block)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: not a record file: %zu bytes, less than its header", r->path,
                            r->map.size);
    WICK_TRY(fetch(r, 0, sizeof block, block, &b, msg));
    if (memcmp(b, WICK_RECORDS_MAGIC, 8) != 0)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: not a record file: its first bytes are others", r->path);
    if (!sealed(b)) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: header (byte 0): its checksum is wrong", r->path);
    *h =
        (wick_records_header){u32(b + 8), u32(b + 12), u32(b + 16), u32(b + 20), u32(b + 24), u32(b + 28), u64(b + 32)};
    if (h->version != WICK_RECORDS_VERSION || h->flags)
        return wick_msg_set(msg, WICK_ERR_VERSION, "%s: version (byte 8): %u%s; this Wick reads %d", r->path,
                            h->version, h->flags ? " with flags" : "", WICK_RECORDS_VERSION);
    if (h->compression > WICK_ZSTD)
        return wick_msg_set(msg, WICK_ERR_VERSION, "%s: compression (byte 12): %u is not known to this Wick", r->path,
                            h->compression);
    const uint64_t behind = (uint64_t)h->meta_size + h->dictionary_size;
    if (behind > r->map.size - sizeof block)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: meta and dictionary (byte 16): %llu bytes; the file has %zu",
                            r->path, (unsigned long long)behind, r->map.size - sizeof block);
    if (h->dictionary_size && h->compression != WICK_ZSTD)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: dictionary (byte 24): only Zstandard's files have one", r->path);
    WICK_TRY(keep(r, "meta", sizeof block, h->meta_size, h->meta_crc, &meta, msg));
    if (memchr(meta, 0, h->meta_size))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: meta (byte %zu): a zero in a text", r->path, sizeof block);
    r->meta = (char *)meta;
    r->end = align(sizeof block + behind);
    return keep(r, "dictionary", sizeof block + h->meta_size, h->dictionary_size, h->dictionary_crc, &r->dictionary,
                msg);
}

/* The part at r->end. *more false: there is none, r->tail says why if bytes are left. Damage is an error. */
static wick_status read_part(wick_records *r, bool *more, wick_msg *msg) {
    static const uint8_t zeros[WICK_RECORDS_BLOCK];
    uint8_t block[WICK_RECORDS_BLOCK];
    const uint8_t *b;
    const uint64_t at = r->end, left = at < r->map.size ? r->map.size - at : 0;
    const unsigned long long place = at;
    uint64_t index_bytes, size;
    uint32_t crc;
    *more = false;
    if (!left) return WICK_OK;
    WICK_TRY(fetch(r, at, (size_t)WICK_MIN(left, sizeof block), block, &b, msg));
    if (memcmp(b, zeros, (size_t)WICK_MIN(left, sizeof block)) == 0) {
        snprintf(r->tail, sizeof r->tail, "part %zu (byte %llu): %llu bytes of an append that did not finish", r->n,
                 place, (unsigned long long)left);
        return WICK_OK;
    }
    if (left < sizeof block)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: part %zu (byte %llu): cut off: %llu bytes of its head", r->path,
                            r->n, place, (unsigned long long)left);
    if (memcmp(b, WICK_RECORDS_PART, 8) != 0 || !sealed(b))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: part %zu (byte %llu): its head is damaged", r->path, r->n,
                            place);
    const wick_records_head h = {u64(b + 8), u64(b + 16), u64(b + 24), u64(b + 32), u32(b + 40)};
    if (h.offset != at || h.first != (uint64_t)r->count)
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: part %zu (byte %llu): its head is of another place: byte %llu, record %llu", r->path,
                            r->n, place, (unsigned long long)h.offset, (unsigned long long)h.first);
    const uint64_t room = left - sizeof block; /* both sums below are at most that, so nothing overflows */
    if (h.data > room || wick_mul_overflows(h.count, (uint64_t)WICK_RECORDS_ENTRY, &index_bytes) ||
        index_bytes > room || align(h.data) + align(index_bytes) > room)
        return wick_msg_set(
            msg, WICK_ERR_FORMAT,
            "%s: part %zu (byte %llu): cut off: promises %llu bytes of data and %llu records; %llu bytes are left",
            r->path, r->n, place, (unsigned long long)h.data, (unsigned long long)h.count, (unsigned long long)room);
    const uint64_t index = at + sizeof block + align(h.data);
    WICK_TRY(crc_of(r, index, index_bytes, &crc, msg));
    if (crc != h.index_crc)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: index of part %zu (byte %llu): its checksum is wrong", r->path,
                            r->n, (unsigned long long)index);
    if (!wick_grow(&r->alloc, (void **)&r->parts, &r->cap, r->n + 1, sizeof *r->parts))
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", r->path);
    size = sizeof block + h.data;
    r->parts[r->n++] = (part){r->count, (int64_t)h.count, at + sizeof block, at + size, index};
    r->count += (int64_t)h.count; /* all indices are in the file: no sum of them overflows */
    r->end = index + align(index_bytes);
    *more = true;
    return WICK_OK;
}

static wick_status read_all(wick_records *r, bool salvage, wick_msg *msg) {
    bool more = true;
    wick_msg why = {0};
    WICK_TRY(read_header(r, msg));
    while (more) {
        const wick_status status = read_part(r, &more, &why);
        if (status == WICK_OK) continue;
        if (status == WICK_ERR_FORMAT && salvage) {
            snprintf(r->tail, sizeof r->tail, "%.*s", (int)sizeof r->tail - 1, why.text + strlen(r->path) + 2);
            break;
        }
        if (status != WICK_ERR_FORMAT || !r->count) return wick_msg_set(msg, status, "%s", why.text);
        return wick_msg_set(msg, status, "%s; records 0 to %lld before it are whole, and can be salvaged", why.text,
                            (long long)r->count - 1);
    }
    if (r->header.compression == WICK_STORED) return WICK_OK;
    return wick_squeezer_open(&r->squeezer,
                              &(wick_squeezer_options){.compression = (wick_compression)r->header.compression,
                                                       .dictionary = r->dictionary,
                                                       .dictionary_bytes = r->header.dictionary_size},
                              r->path, msg);
}

wick_status wick_records_parse(wick_context *ctx, wick_map *map, const char *path, const wick_records_options *options,
                               wick_records **out, wick_msg *msg) {
    wick_records *r = *out = wick_calloc(&ctx->alloc, sizeof *r);
    if (!r) {
        wick_map_close(map);
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    }
    r->ctx = ctx;
    r->alloc = ctx->alloc;
    wick_arena_init(&r->arena, &r->alloc, 0);
    r->map = *map;
    r->fd = -1;
    r->max_record = options && options->max_record ? options->max_record : RECORD_MOST;
    *map = (wick_map){0};
    wick_status status = WICK_OK;
    if (!(r->path = wick_arena_strdup(&r->arena, path)))
        status = wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    if (status == WICK_OK && options && options->copy) {
        do r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        while (r->fd < 0 && errno == EINTR);
        if (r->fd < 0) status = wick_msg_set(msg, WICK_ERR_IO, "%s: cannot open: %s", path, strerror(errno));
    }
    if (status == WICK_OK) status = read_all(r, options && options->salvage, msg);
    if (status != WICK_OK) wick_records_free(out);
    return status;
}

wick_status wick_records_open(wick_context *ctx, const char *path, const wick_records_options *options,
                              wick_records **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "records_open: out is NULL");
    wick_map map;
    wick_msg msg = {0};
    *out = NULL;
    wick_status status = wick_map_open(&map, path, &msg);
    if (status == WICK_OK) status = wick_records_parse(ctx, &map, path, options, out, &msg);
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "records: %s", msg.text);
}

void wick_records_free(wick_records **slot) {
    wick_records *r = slot ? *slot : NULL;
    if (!r) return;
    *slot = NULL;
    wick_squeezer_close(&r->squeezer);
    if (r->fd >= 0) close(r->fd);
    wick_map_close(&r->map);
    const wick_allocator alloc = r->alloc;
    wick_release(&alloc, r->parts, r->cap * sizeof *r->parts);
    wick_arena_free(&r->arena);
    wick_release(&alloc, r, sizeof *r);
}

int64_t wick_records_count(const wick_records *r) { return r->count; }
wick_compression wick_records_compression(const wick_records *r) { return (wick_compression)r->header.compression; }
const char *wick_records_meta(const wick_records *r) { return r->meta; }
size_t wick_records_dictionary(const wick_records *r) { return r->header.dictionary_size; }
const void *wick_records_dictionary_bytes(const wick_records *r) { return r->dictionary; }
int64_t wick_records_parts(const wick_records *r) { return (int64_t)r->n; }
uint64_t wick_records_end(const wick_records *r) { return r->end; }
uint64_t wick_records_tail(const wick_records *r) { return r->end < r->map.size ? r->map.size - r->end : 0; }
const char *wick_records_tail_reason(const wick_records *r) { return r->tail; }

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const part *part_of(const wick_records *r, int64_t i) {
    size_t low = 0, high = r->n;
    while (high - low > 1) { /* empty parts share their first record with the next */
        const size_t middle = (low + high) / 2;
        if (r->parts[middle].first <= i) low = middle;
        else high = middle;
    }
    return &r->parts[low];
}

static wick_status wrong(const wick_records *r, int64_t i, uint64_t at, wick_msg *msg, const char *what) {
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: record %lld (byte %llu): %s", r->path, (long long)i,
                        (unsigned long long)at, what);
}

wick_status wick_records_find(const wick_records *r, int64_t i, wick_record_entry *out, wick_msg *msg) {
    uint8_t entry[WICK_RECORDS_ENTRY];
    const uint8_t *e;
    *out = (wick_record_entry){.label = -1};
    if (i < 0 || i >= r->count)
        return wick_msg_set(msg, WICK_ERR_INDEX, "%s: record %lld: there are %lld", r->path, (long long)i,
                            (long long)r->count);
    const part *p = part_of(r, i);
    const uint64_t at = p->index + (uint64_t)(i - p->first) * WICK_RECORDS_ENTRY;
    WICK_TRY(fetch(r, at, sizeof entry, entry, &e, msg));
    const wick_record_entry record = {u64(e), u32(e + 8), u32(e + 12), u32(e + 16), (int32_t)u32(e + 20)};
    if (record.offset < p->begin || record.offset > p->end || record.stored > p->end - record.offset)
        return wrong(r, i, at, msg, "its index entry names bytes outside of its part");
    if (record.stored > record.size || (r->header.compression == WICK_STORED && record.stored != record.size) ||
        record.size > wick_squeezer_most((wick_compression)r->header.compression, record.stored))
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: record %lld (byte %llu): its index entry promises %u bytes, which %u cannot hold",
                            r->path, (long long)i, (unsigned long long)at, record.size, record.stored);
    if (record.size > r->max_record)
        return wick_msg_set(msg, WICK_ERR_FORMAT,
                            "%s: record %lld (byte %llu): promises %u bytes; at most %zu are taken", r->path,
                            (long long)i, (unsigned long long)at, record.size, r->max_record);
    *out = record;
    return WICK_OK;
}

void wick_records_ahead(const wick_records *r, const int64_t *records, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        wick_record_entry e;
        wick_msg msg;
        if (wick_records_find(r, records[k], &e, &msg) == WICK_OK && e.stored)
            wick_read_ahead(r->fd, r->fd < 0 ? r->map.data : NULL, e.offset, e.stored);
    }
}

wick_status wick_records_read(const wick_records *r, int64_t i, void *to, size_t room, size_t *size, wick_msg *msg) {
    wick_record_entry e;
    const uint8_t *stored;
    if (size) *size = 0;
    WICK_TRY(wick_records_find(r, i, &e, msg));
    if (size) *size = e.size;
    if (e.size > room)
        return wick_msg_set(msg, WICK_ERR_INVALID, "%s: record %lld has %u bytes; there is room for %zu", r->path,
                            (long long)i, e.size, room);
    const bool plain = e.stored == e.size;
    void *copy = plain || r->fd < 0 ? NULL : wick_alloc(&r->alloc, e.stored);
    if (!plain && r->fd >= 0 && !copy)
        return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %u bytes", r->path, e.stored);
    wick_status status = fetch(r, e.offset, e.stored, plain ? to : copy, &stored, msg);
    if (status == WICK_OK && wick_crc32c(0, stored, e.stored) != e.crc)
        status = wrong(r, i, e.offset, msg, "its checksum is wrong");
    if (status == WICK_OK && !plain) {
        wick_msg why = {0};
        status = wick_squeezer_unpack(r->squeezer, stored, e.stored, to, e.size, "", &why);
        if (status == WICK_ERR_FORMAT) wrong(r, i, e.offset, msg, why.text + strlen(": "));
        else if (status != WICK_OK) wick_msg_set(msg, status, "%s%s", r->path, why.text);
    } else if (status == WICK_OK && stored != to && e.size) {
        memcpy(to, stored, e.size);
    }
    wick_release(&r->alloc, copy, e.stored);
    return status;
}

static wick_status give(const wick_records *r, wick_status status, const wick_msg *msg) {
    return status == WICK_OK ? WICK_OK : wick_context_fail(r->ctx, status, "records: %s", msg->text);
}
wick_status wick_records_at(const wick_records *r, int64_t i, wick_record_entry *out) {
    if (!out) return wick_context_fail(r->ctx, WICK_ERR_INVALID, "records_at: out is NULL");
    wick_msg msg = {0};
    const wick_status status = wick_records_find(r, i, out, &msg);
    return give(r, status, &msg);
}
wick_status wick_records_get(const wick_records *r, int64_t i, void *to, size_t room, size_t *size) {
    if (room && !to) return wick_context_fail(r->ctx, WICK_ERR_INVALID, "records_get: to is NULL");
    wick_msg msg = {0};
    const wick_status status = wick_records_read(r, i, to, room, size, &msg);
    return give(r, status, &msg);
}
wick_status wick_records_view(const wick_records *r, int64_t i, const void **data, size_t *size) {
    if (!data || !size) return wick_context_fail(r->ctx, WICK_ERR_INVALID, "records_view: data or size is NULL");
    wick_msg msg = {0};
    wick_record_entry e;
    *data = NULL;
    *size = 0;
    wick_status status = wick_records_find(r, i, &e, &msg);
    if (status == WICK_OK && (r->fd >= 0 || e.stored != e.size))
        status = wick_msg_set(&msg, WICK_ERR_UNSUPPORTED, "%s: record %lld %s: it can only be copied", r->path,
                              (long long)i, r->fd >= 0 ? "is not in a mapping" : "is compressed");
    if (status == WICK_OK && wick_crc32c(0, r->map.data + e.offset, e.stored) != e.crc)
        status = wrong(r, i, e.offset, &msg, "its checksum is wrong");
    if (status == WICK_OK) *data = r->map.data + e.offset, *size = e.size;
    return give(r, status, &msg);
}
