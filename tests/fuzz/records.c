/* records.c: record files, and Zstandard's streams. Most mutants are made anew by the library, then changed in a field,
 * with the sums made right again, so that what lies opens. */
#include <stdio.h>

#include "data/formats/records.h"
#include "data/formats/squeeze.h"
#include "fuzz.h"

enum { BLOCK = WICK_RECORDS_BLOCK, ENTRY = WICK_RECORDS_ENTRY, MOST = 1 << 22 };

static int use(wick_context *ctx, const char *path, const wick_records_options *o) {
    static uint8_t to[MOST];
    wick_records *r;
    if (wick_records_open(ctx, path, o, &r) != WICK_OK) {
        FUZZ_PROMISE(!r && strstr(wick_context_error(ctx), path));
        return 0;
    }
    int good = 1;
    const int64_t n = wick_records_count(r);
    fuzz_touch(wick_records_meta(r), strlen(wick_records_meta(r)));
    FUZZ_PROMISE((wick_records_tail(r) == 0) == !*wick_records_tail_reason(r));
    for (int64_t i = 0; i < n && i < 200; i++) {
        wick_record_entry e;
        size_t size;
        const void *at;
        if (wick_records_at(r, i, &e) != WICK_OK) {
            FUZZ_PROMISE(strstr(wick_context_error(ctx), path) && e.size == 0 &&
                         wick_records_get(r, i, to, sizeof to, NULL) != WICK_OK);
            good = 0;
            continue;
        }
        FUZZ_PROMISE(e.size <= MOST && e.stored <= e.size);
        uint8_t *exact = malloc(e.size + !e.size); /* a byte beyond shows */
        const wick_status status = wick_records_get(r, i, exact, e.size, &size);
        FUZZ_PROMISE(size == e.size && (status == WICK_OK || strstr(wick_context_error(ctx), "record ")));
        if (status == WICK_OK) fuzz_touch(exact, size);
        else good = 0;
        if (wick_records_view(r, i, &at, &size) == WICK_OK)
            FUZZ_PROMISE(status == WICK_OK && size == e.size && (!size || !memcmp(at, exact, size)));
        free(exact);
    }
    FUZZ_PROMISE(wick_records_get(r, n, to, sizeof to, NULL) == WICK_ERR_INDEX);
    wick_records_free(&r);
    return good;
}

/* Read in every way, and added to: what was there stays, and what was added comes behind it. */
FUZZ_TARGET(records) {
    wick_context *ctx = fuzz_context();
    const char *path = fuzz_file("a.wrec", data, size);
    wick_records_writer *w;
    wick_records *r;
    const int good = use(ctx, path, &(wick_records_options){.max_record = MOST});
    FUZZ_PROMISE(use(ctx, path, &(wick_records_options){.max_record = MOST, .copy = true}) == good);
    use(ctx, path, &(wick_records_options){.max_record = MOST, .salvage = true});
    int64_t before = -1;
    if (wick_records_open(ctx, path, NULL, &r) == WICK_OK) before = wick_records_count(r);
    wick_records_free(&r);
    if (wick_records_append(ctx, path, 0, &w) != WICK_OK) {
        FUZZ_PROMISE(before < 0 || wick_context_status(ctx) != WICK_ERR_FORMAT);
        return good;
    }
    FUZZ_PROMISE(before >= 0 && wick_records_add(w, "added added added added added", 29, 7) == WICK_OK &&
                 wick_records_commit(&w) == WICK_OK);
    char last[32];
    FUZZ_PROMISE(wick_records_open(ctx, path, NULL, &r) == WICK_OK && wick_records_count(r) == before + 1 &&
                 !wick_records_tail(r));
    FUZZ_PROMISE(wick_records_get(r, before, last, sizeof last, NULL) == WICK_OK &&
                 !memcmp(last, "added added added added added", 29));
    wick_records_free(&r);
    return good;
}

static uint64_t get(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    while (bytes--) v = v << 8 | p[bytes];
    return v;
}
static void set(uint8_t *p, uint64_t v, int bytes) {
    for (; bytes--; v >>= 8) *p++ = (uint8_t)v;
}
static void seal(uint8_t *block) { set(block + 60, wick_crc32c(0, block, 60), 4); }
static size_t align(size_t n) { return WICK_ALIGN_UP(n, BLOCK); }

/* A file by the library: some parts, small records. 0: it has no room, or the compression is not on this machine. */
static size_t make_file(uint8_t *to, size_t max, fuzz_random *r) {
    static uint8_t bytes[4096], dictionary[300];
    char path[300], meta[64] = "";
    wick_context *ctx = fuzz_context();
    wick_records_writer *w;
    wick_map map;
    const wick_compression c = (wick_compression)fuzz_below(r, 3);
    snprintf(path, sizeof path, "%s/made.wrec", fuzz_folder());
    memset(dictionary, 'd', sizeof dictionary);
    if (fuzz_chance(r, 40)) snprintf(meta, sizeof meta, "kind %s\nclass a\n", fuzz_chance(r, 50) ? "files" : "array");
    wick_status status = wick_records_create(
        ctx, path,
        &(wick_records_write_options){.compression = c,
                                      .meta = meta,
                                      .dictionary = dictionary,
                                      .dictionary_bytes = c == WICK_ZSTD && fuzz_chance(r, 40) ? sizeof dictionary : 0},
        &w);
    for (size_t parts = 1 + fuzz_below(r, 3); parts-- && status == WICK_OK;) {
        for (size_t n = fuzz_below(r, 5); n-- && status == WICK_OK;) {
            const size_t size = fuzz_below(r, fuzz_chance(r, 10) ? sizeof bytes : 80), step = 1 + fuzz_below(r, 9);
            for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(fuzz_chance(r, 5) ? fuzz_next(r) : i / step);
            status = wick_records_add(w, bytes, size, (int32_t)fuzz_below(r, 4) - 1);
        }
        if (status == WICK_OK) status = wick_records_commit(&w);
        else wick_records_abort(&w);
        if (status == WICK_OK && parts) status = wick_records_append(ctx, path, 0, &w);
    }
    if (status != WICK_OK || wick_map_read(&map, path, NULL) != WICK_OK) return 0;
    const size_t n = map.size <= max ? map.size : 0;
    if (n) memcpy(to, map.data, n);
    wick_map_close(&map);
    return n;
}

FUZZ_MUTATOR(records) {
    const size_t made = fuzz_chance(r, 60) ? make_file(data, max, r) : 0;
    if (made) size = made;
    if (made && fuzz_chance(r, 25)) return size;
    if (size < 2 * BLOCK || fuzz_chance(r, 8)) return fuzz_bytes(data, size, max);
    /* The parts that can be found. */
    size_t at[16], n = 0;
    for (size_t p = align(BLOCK + (get(data + 16, 4) + get(data + 24, 4)) % size); p + BLOCK <= size && n < 16;) {
        if (memcmp(data + p, WICK_RECORDS_PART, 8) != 0) break;
        at[n++] = p;
        p += BLOCK + align((size_t)(get(data + p + 32, 8) % size)) +
             align((size_t)(get(data + p + 24, 8) % size) * ENTRY);
    }
    uint8_t *head = n ? data + at[fuzz_below(r, n)] : NULL;
    uint8_t *index = head ? head + BLOCK + align((size_t)get(head + 32, 8)) : NULL;
    const size_t entries = head ? (size_t)get(head + 24, 8) : 0;
    const bool whole =
        head && get(head + 32, 8) < size && entries < size && (size_t)(index - data) + entries * ENTRY <= size;
    switch (fuzz_below(r, 7)) {
    case 0: /* the header */
        set(data + FUZZ_PICK(r, ((const int[]){8, 12, 16, 20, 24, 28, 32})), (uint64_t)fuzz_integer(r), 4);
        seal(data);
        return size;
    case 1: /* a head */
        if (!head) break;
        set(head + FUZZ_PICK(r, ((const int[]){8, 16, 24, 32, 40})),
            fuzz_chance(r, 50) ? (uint64_t)fuzz_integer(r) : fuzz_below(r, 2 * size), fuzz_chance(r, 70) ? 8 : 4);
        seal(head);
        return size;
    case 2: /* cut, or zeros behind it */
        if (fuzz_chance(r, 50)) return size - 1 - fuzz_below(r, size - 1);
        if (max - size < 4 * BLOCK) break;
        memset(data + size, 0, 4 * BLOCK);
        return size + 1 + fuzz_below(r, 4 * BLOCK);
    case 3: /* an append without its head */
        if (!head) break;
        memset(head, 0, BLOCK);
        return size;
    case 4: { /* a record's bytes, with its sum made right: what the decompressor is given */
        if (!whole || !entries) break;
        uint8_t *e = index + fuzz_below(r, entries) * ENTRY;
        const uint64_t from = get(e, 8), stored = get(e + 8, 4);
        if (!stored || from > size || stored > size - from) break;
        for (size_t k = 1 + fuzz_below(r, 4); k--;) data[from + fuzz_below(r, (size_t)stored)] = (uint8_t)fuzz_next(r);
        set(e + 16, wick_crc32c(0, data + from, (size_t)stored), 4);
        break;
    }
    default: { /* an entry of the index */
        if (!whole || !entries) break;
        uint8_t *e = index + fuzz_below(r, entries) * ENTRY;
        static const int fields[][2] = {{0, 8}, {8, 4}, {12, 4}, {12, 4}, {16, 4}, {20, 4}};
        const int *f = fields[fuzz_below(r, WICK_COUNTOF(fields))];
        const uint64_t now = get(e + f[0], f[1]);
        set(e + f[0], fuzz_chance(r, 60) ? now + fuzz_below(r, 9) - 4 : (uint64_t)fuzz_integer(r), f[1]);
        const uint64_t from = get(e, 8), stored = get(e + 8, 4);
        if (f[0] < 12 && from <= size && stored <= size - from && fuzz_chance(r, 80))
            set(e + 16, wick_crc32c(0, data + from, (size_t)stored), 4);
        break;
    }
    }
    if (!whole) return fuzz_bytes(data, size, max);
    set(head + 40, wick_crc32c(0, index, entries * ENTRY), 4);
    seal(head);
    return size;
}

/* ---- Zstandard's streams ----------------------------------------------------------------------------------------- */

FUZZ_TARGET(zstd) {
    wick_zstd *z;
    wick_msg msg = {0};
    if (!wick_zstd_is(data, size) || wick_zstd_open(&z, data, size, "file", &msg) != WICK_OK) return 0;
    uint8_t *buffer = malloc(1000);
    wick_status status = size % 2 ? wick_zstd_read(z, buffer, size % 1000, &msg) : WICK_OK;
    if (status == WICK_OK) status = wick_zstd_drain(z, &msg);
    if (status == WICK_OK) status = wick_zstd_finish(z, &msg);
    FUZZ_PROMISE(status == WICK_OK || strstr(msg.text, "file"));
    wick_zstd_close(&z);
    free(buffer);
    return status == WICK_OK;
}

/* One or two frames of bytes that pack well, and sometimes one that is skipped (RFC 8878, 3.1.2). */
FUZZ_MUTATOR(zstd) {
    static uint8_t plain[2000], packed[4000];
    wick_squeezer *s;
    fuzz_buffer b = {data, 0, max, false};
    if (fuzz_chance(r, 40) ||
        wick_squeezer_open(
            &s, &(wick_squeezer_options){.compression = WICK_ZSTD, .write = true, .level = 1 + (int)fuzz_below(r, 19)},
            "", NULL) != WICK_OK)
        return fuzz_bytes(data, size, max);
    for (size_t frames = 1 + fuzz_below(r, 2); frames--;) {
        size_t n = fuzz_below(r, sizeof plain), now, step = 1 + fuzz_below(r, 50);
        for (size_t i = 0; i < n; i++) plain[i] = (uint8_t)(fuzz_chance(r, 3) ? fuzz_next(r) : i / step);
        if (wick_squeezer_pack(s, plain, n, packed, sizeof packed, &now, "", NULL) == WICK_OK)
            fuzz_put(&b, packed, now);
        if (fuzz_chance(r, 20)) fuzz_put(&b, "\x52\x2a\x4d\x18\3\0\0\0abc", 11);
    }
    wick_squeezer_close(&s);
    if (b.full || !b.n) return size;
    return fuzz_chance(r, 50) ? fuzz_bytes(data, b.n, max) : b.n;
}
