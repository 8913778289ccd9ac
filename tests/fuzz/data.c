/* data.c: files of data sets: gzip, tar, IDX. Most mutants are made anew, with at most one fault; the others are
 * changed in a field, and sums made right. */
#include <stdio.h>
#include <sys/stat.h>

#include "base/inflate.h"
#include "data/formats/gzip.h"
#include "data/formats/idx.h"
#include "data/formats/tar.h"
#include "fuzz.h"
#include "wick/datasets.h"

/* ---- gzip -------------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(gzip) {
    wick_gzip *g;
    wick_msg msg = {0};
    if (!wick_gzip_is(data, size) || wick_gzip_open(&g, data, size, "file", &msg) != WICK_OK) return 0;
    uint8_t buffer[2];
    wick_status status = size % 2 ? wick_gzip_read(g, buffer, sizeof buffer, &msg) : WICK_OK;
    if (status == WICK_OK) status = wick_gzip_drain(g, &msg);
    if (status == WICK_OK) status = wick_gzip_finish(g, &msg);
    FUZZ_PROMISE(status == WICK_OK || strstr(msg.text, "file"));
    wick_gzip_close(&g);
    return status == WICK_OK;
}

/* A member of a gzip file (RFC 1952) around these bytes: with any of the fields that a header may have, of stored
 * blocks or as zlib packs it. */
static void put_member(fuzz_buffer *b, const uint8_t *plain, size_t n, fuzz_random *r) {
    enum { CHECKED = 2, EXTRA = 4, NAME = 8, COMMENT = 16 };
    const size_t fault = fuzz_fault(r, 7), begin = b->n;
    const int flags = fuzz_chance(r, 60) ? 0 : (int)fuzz_below(r, 16) << 1;
    const uint32_t sum = wick_crc32(0, plain, n);
    fuzz_put(b, "\x1f\x8b", 2);
    fuzz_little(b, fault == 1 ? 7 : 8, 1);
    fuzz_little(b, (uint64_t)(flags | (fault == 2 ? 0xe0 : 0)), 1);
    fuzz_little(b, fuzz_next(r), 6);
    if (flags & EXTRA) fuzz_put(b, "\6\0AB\2\0xy", 8);
    if (flags & NAME) fuzz_put(b, "name", 5);
    if (flags & COMMENT) fuzz_put(b, "", 1);
    if (flags & CHECKED) fuzz_little(b, wick_crc32(0, b->at + begin, b->n - begin), 2);
    if (fuzz_chance(r, 50)) fuzz_deflate(b, WICK_Z_RAW, plain, n);
    else for (size_t at = 0, last = 0; !last;) { /* blocks may be empty */
        const size_t want = fuzz_below(r, 2 * n + 2), now = WICK_MIN(n - at, want);
        last = at + now == n;
        fuzz_little(b, last, 1), fuzz_little(b, now, 2), fuzz_little(b, fault == 3 ? now : ~now, 2);
        fuzz_put(b, plain + at, now);
        at += now;
    }
    fuzz_little(b, sum ^ (fault == 4), 4);
    fuzz_little(b, n + (fault == 5), 4);
    if (fault == 6) b->n -= 1 + fuzz_below(r, 9);
    if (fault == 7) fuzz_put(b, "xyz", fuzz_below(r, 4));
}
static size_t gzip_of(const uint8_t *plain, size_t n, uint8_t *to, size_t max, fuzz_random *r) {
    fuzz_buffer b = {to, 0, max, false};
    size_t cut = fuzz_chance(r, 30) ? fuzz_below(r, n + 1) : n;
    put_member(&b, plain, cut, r);
    if (cut < n) put_member(&b, plain + cut, n - cut, r);
    return b.full ? 0 : b.n;
}
/* What is inside, at most `most` bytes of it. */
static size_t gunzip(const uint8_t *data, size_t size, uint8_t *to, size_t most) {
    wick_gzip *g;
    wick_msg msg;
    size_t n = 0;
    if (!wick_gzip_is(data, size) || wick_gzip_open(&g, data, size, "", &msg) != WICK_OK) return 0;
    while (n < most && wick_gzip_read(g, to + n, 1, &msg) == WICK_OK) n++;
    wick_gzip_close(&g);
    return n;
}
/* The plain contents changed by fn. */
static size_t change_inside(uint8_t *data, size_t size, size_t max, fuzz_random *r,
                            size_t (*fn)(uint8_t *, size_t, size_t, fuzz_random *)) {
    static uint8_t plain[1 << 15], out[1 << 16];
    size_t n = gunzip(data, size, plain, sizeof plain / 2);
    if (!n) n = WICK_MIN(size, sizeof plain / 2), memcpy(plain, data, n); /* not packed, or damaged */
    n = fn ? fn(plain, n, sizeof plain, r) : fuzz_bytes(plain, n, sizeof plain);
    n = gzip_of(plain, n, out, WICK_MIN(max, sizeof out), r);
    if (n) memcpy(data, out, n);
    return n ? n : size;
}
FUZZ_MUTATOR(gzip) {
    return fuzz_chance(r, 15) ? fuzz_bytes(data, size, max) : change_inside(data, size, max, r, NULL);
}

/* ---- tar --------------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(tar) {
    wick_tar t;
    wick_msg msg = {0};
    bool more;
    wick_status status = wick_tar_open(&t, data, size, "file", &msg);
    if (status != WICK_OK) return 0;
    int files = 0;
    while ((status = wick_tar_next(&t, &more, &msg)) == WICK_OK && more) {
        FUZZ_PROMISE(strlen(t.name) < WICK_TAR_NAME_MAX && t.size <= size * WICK_DEFLATE_RATIO_MAX);
        if (t.size > 1 << 20 || files++ % 3 == 2) continue; /* unread ones are passed over */
        uint8_t *to = malloc(t.size + 1);
        if (to && (status = wick_tar_read(&t, to, &msg)) == WICK_OK) fuzz_touch(to, t.size);
        free(to);
        if (status != WICK_OK) break;
    }
    FUZZ_PROMISE(status == WICK_OK || strstr(msg.text, "file"));
    wick_tar_close(&t);
    return status == WICK_OK;
}

enum { BLOCK = 512 };
static void sum_header(uint8_t *h) {
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += h[i];
    snprintf((char *)h + 148, 8, "%06o", sum);
}

static void put_header(fuzz_buffer *b, const char *name, char type, size_t size, size_t fault, fuzz_random *r) {
    static const char *const magics[] = {"ustar\00000", "ustar  \0", "\0\0\0\0\0\0\0\0"};
    uint8_t h[BLOCK] = {0};
    const size_t length = strlen(name);
    memcpy(h, name, WICK_MIN(length, (size_t)100)); /* all of the field: no zero behind it */
    memcpy(h + 100, "0000644\0000000000\0000000000", 24);
    snprintf((char *)h + 124, 13, fuzz_chance(r, 80) ? "%011zo" : "%10zo ", size);
    if (fuzz_chance(r, 15)) h[124] = 0x80, fuzz_big(&(fuzz_buffer){h + 125, 0, 11, false}, size, 11);
    memcpy(h + 136, "00000000000", 12);
    h[156] = (uint8_t)type;
    memcpy(h + 257, magics[fuzz_below(r, 3)], 8);
    if (fuzz_chance(r, 20)) memset(h + 345, 'p', 1 + fuzz_below(r, 155));
    if (fault == 1) h[fuzz_below(r, BLOCK)] ^= 0x80;
    if (fault == 2) snprintf((char *)h + 124, 13, "%012llo", (unsigned long long)fuzz_integer(r) & 0777777777777);
    if (fault == 3) h[124] = (uint8_t)fuzz_next(r);
    sum_header(h);
    if (fault == 4) h[148 + fuzz_below(r, 8)]++;
    fuzz_put(b, h, BLOCK);
}
static void put_blocks(fuzz_buffer *b, const void *data, size_t n) {
    static const uint8_t zeros[BLOCK];
    fuzz_put(b, data, n);
    fuzz_put(b, zeros, (size_t)-n % BLOCK);
}

/* "LENGTH KEY=VALUE\n", of which LENGTH is that of all of it. */
static size_t print_record(char *to, size_t room, const char *key, const char *value, bool wrong) {
    size_t n = strlen(key) + strlen(value) + 3, digits = 1;
    for (size_t k = 10; n + digits >= k; k *= 10) digits++;
    n += digits;
    return (size_t)snprintf(to, room, "%zu %s=%s\n", n + wrong, key, value);
}
static void put_pax(fuzz_buffer *b, char type, size_t size, size_t fault, fuzz_random *r) {
    static const char *const others[] = {"mtime", "uid", "GNU.sparse.major", "comment", "path", "size"};
    char text[1024], value[300];
    size_t n = 0;
    for (size_t k = fuzz_below(r, 4); k--;)
        n += print_record(text + n, sizeof text - n, others[fuzz_below(r, 4)], "1.5", false);
    if (fuzz_chance(r, 50)) {
        memset(value, fuzz_chance(r, 90) ? 'q' : '/', sizeof value);
        value[fault == 7 ? 0 : 1 + fuzz_below(r, 250)] = 0;
        n += print_record(text + n, sizeof text - n, "path", value, fault == 5);
    }
    if (fuzz_chance(r, 30)) {
        snprintf(value, sizeof value, "%zu", size);
        if (fault == 6) snprintf(value, sizeof value, "%llu", (unsigned long long)fuzz_integer(r));
        n += print_record(text + n, sizeof text - n, "size", value, false);
    }
    put_header(b, "PaxHeader", type, n, 0, r);
    put_blocks(b, text, n);
}

/* Files of all kinds, under names of all kinds; with a body, files of that. */
static size_t make_tar(const uint8_t *body, size_t n, uint8_t *to, size_t max, fuzz_random *r) {
    static const char kinds[] = "00007501";
    static const uint8_t bytes[BLOCK + 88];
    char name[300];
    fuzz_buffer b = {to, 0, max, false};
    const size_t files = body ? 1 + fuzz_below(r, 3) : fuzz_below(r, 5), fault = fuzz_fault(r, 10),
                 bad = fuzz_below(r, files);
    for (size_t i = 0; i < files; i++) {
        const size_t now = i == bad ? fault : 0, size = body                 ? n
                                                        : fuzz_chance(r, 30) ? 0
                                                                             : fuzz_below(r, sizeof bytes + 1);
        snprintf(name, sizeof name, "train/%c/%zu.png", (char)('a' + fuzz_below(r, 3)), i);
        if (!body && fuzz_chance(r, 25)) memset(name, 'n', sizeof name), name[1 + fuzz_below(r, sizeof name - 1)] = 0;
        const size_t length = strlen(name) + (fuzz_chance(r, 70) ? 1 : 0);
        if (fuzz_chance(r, 20) && (!body || fuzz_chance(r, 10)))
            put_pax(&b, fuzz_chance(r, 80) ? 'x' : 'g', size, now, r);
        if (fuzz_chance(r, 20)) {
            put_header(&b, "././@LongLink", fuzz_chance(r, 70) ? 'L' : 'K', now == 8 ? 0 : length, 0, r);
            if (now != 8) put_blocks(&b, name, length);
        }
        const char kind = kinds[fuzz_below(r, sizeof kinds - 1)];
        put_header(&b, name, kind == '7' && fuzz_chance(r, 50) ? 0 : kind, size, now, r);
        if (kind != '5' && kind != '1') put_blocks(&b, body ? body : bytes, size);
    }
    if (fault != 9) put_blocks(&b, "", 1);
    if (fuzz_chance(r, 70)) put_blocks(&b, "", 1);
    if (fault == 10 && b.n) b.n -= 1 + fuzz_below(r, b.n);
    return b.full ? 0 : b.n;
}

/* One header's field, with the sum made right again; or a file more. */
static size_t change_tar(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    static const char types[] = "005LxgKD12";
    static const char *const sizes[] = {"00000000000", "00000000001", "00000000777", "00000001000",
                                        "00000001001", "77777777777", "-0000000001", "        10 "};
    static const char *const pax[] = {"12 path=a/b\n", "10 size=1\n", "27 size=99999999999999999999\n",  "99 path=x\n",
                                      "5 a=\n",        "0 a=b\n",     "30 path=0123456789012345678901\n"};
    const size_t made = fuzz_chance(r, 65) ? make_tar(NULL, 0, data, max, r) : 0;
    if (made) return made;
    if (size < BLOCK) return fuzz_bytes(data, size, max);
    uint8_t *h = data + BLOCK * fuzz_below(r, size / BLOCK);
    switch (fuzz_below(r, 7)) {
    case 0: h[156] = (uint8_t)types[fuzz_below(r, sizeof types - 1)]; break;
    case 1: memcpy(h + 124, sizes[fuzz_below(r, WICK_COUNTOF(sizes))], 12); break;
    case 2: h[124] = 0x80, fuzz_big(&(fuzz_buffer){h + 125, 0, 11, false}, (uint64_t)fuzz_integer(r), 11); break;
    case 3: memset(h + (fuzz_chance(r, 50) ? 0 : 345), 'a', 100); break;
    case 4: { /* a pax header with its records in front of this one */
        const char *text = pax[fuzz_below(r, WICK_COUNTOF(pax))];
        if (size + 2 * BLOCK > max) break;
        memmove(h + 2 * BLOCK, h, size - (size_t)(h - data));
        size += 2 * BLOCK;
        h[156] = fuzz_chance(r, 70) ? 'x' : 'L';
        snprintf((char *)h + 124, 12, "%011o", (unsigned)strlen(text));
        memset(h + BLOCK, 0, BLOCK);
        memcpy(h + BLOCK, text, strlen(text));
        break;
    }
    case 5: h[fuzz_below(r, BLOCK)] ^= (uint8_t)(1u << fuzz_below(r, 8)); break;
    default: return fuzz_chance(r, 50) ? size - BLOCK * fuzz_below(r, size / BLOCK) : fuzz_bytes(data, size, max);
    }
    sum_header(h);
    return size;
}
FUZZ_MUTATOR(tar) {
    return wick_gzip_is(data, size) ? change_inside(data, size, max, r, change_tar) : change_tar(data, size, max, r);
}

/* ---- sets of pictures in an archive ------------------------------------------------------------------------------ */

FUZZ_TARGET(dataset) {
    enum { LARGE = 1 << 22 };
    static char folder[300];
    wick_context *ctx = fuzz_context();
    wick_dataset *d;
    if (!*folder) {
        snprintf(folder, sizeof folder, "%s/set", fuzz_folder());
        if (mkdir(folder, 0700) != 0) abort();
    }
    fuzz_file("set/train.tar", data, size);
    if (wick_dataset_open(ctx, folder, "train", &d) != WICK_OK) {
        FUZZ_PROMISE(strstr(wick_context_error(ctx), folder));
        return 0;
    }
    const int64_t n = wick_dataset_count(d), classes = wick_dataset_classes(d), *dims = wick_dataset_dims(d);
    size_t pixels = 1;
    double mean, deviation;
    for (int i = 0; i < wick_dataset_rank(d); i++) pixels *= (size_t)dims[i];
    for (int64_t i = 0; i < n; i++) {
        FUZZ_PROMISE(wick_dataset_label(d, i) >= 0 && wick_dataset_label(d, i) < classes);
        fuzz_touch(wick_dataset_sample(d, i), pixels);
    }
    for (int64_t i = 0; i < classes; i++) FUZZ_PROMISE(*wick_dataset_class_name(d, i));
    if (n && pixels < LARGE) FUZZ_PROMISE(wick_dataset_moments(ctx, d, &mean, &deviation) == WICK_OK);
    FUZZ_PROMISE(wick_dataset_limit(ctx, d, 2) == WICK_OK && wick_dataset_count(d) == (n < 2 ? n : 2));
    wick_dataset_free(&d);
    return 1;
}
static size_t change_set(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    static uint8_t picture[1 << 12];
    const size_t n = fuzz_chance(r, 90) ? fuzz_make_png(picture, sizeof picture, r) : 0,
                 made = n ? make_tar(picture, n, data, max, r) : 0;
    return made ? made : change_tar(data, size, max, r);
}
FUZZ_MUTATOR(dataset) {
    return wick_gzip_is(data, size) ? change_inside(data, size, max, r, change_set) : change_set(data, size, max, r);
}

/* ---- WebDataset's shards ----------------------------------------------------------------------------------------- */

/* Read from front to back: every sample up to the end, each once. */
static void read_stream(wick_context *ctx, const char *path) {
    wick_dataset *d;
    static union { uint8_t bytes[1 << 16]; double align; } rows[WICK_DATASET_FIELDS];
    if (wick_dataset_of_shard_stream(
            ctx, 1, &path, &(wick_shard_stream_options){.stream = {.window = 4}, .most = 1 << 14, .longest = 1 << 12},
            &d) != WICK_OK) {
        FUZZ_PROMISE(!d && strstr(wick_context_error(ctx), path));
        return;
    }
    for (int64_t i = 0; i < 100; i++) {
        void *out[WICK_DATASET_FIELDS] = {NULL};
        wick_fault fault = {""};
        for (int k = 0; k < wick_dataset_fields(d); k++)
            if (wick_dataset_bytes(d, i, k) <= sizeof rows[k]) out[k] = rows[k].bytes;
        const wick_status status = wick_dataset_get(d, i, out, &fault);
        if (status == WICK_ERR_INDEX && strstr(fault.text, "the stream ended")) break;
        FUZZ_PROMISE(status == WICK_OK || strstr(fault.text, path));
        FUZZ_PROMISE(wick_dataset_get(d, i, out, &fault) != WICK_OK);
    }
    wick_dataset_free(&d);
}

FUZZ_TARGET(webdataset) {
    enum { LARGE = 1 << 22 };
    wick_context *ctx = fuzz_context();
    wick_dataset *d;
    const char *path = fuzz_file("s.tar", data, size);
    read_stream(ctx, path);
    if (wick_dataset_of_shards(ctx, 1, &path, &d) != WICK_OK) {
        FUZZ_PROMISE(!d && strstr(wick_context_error(ctx), path));
        return 0;
    }
    int good = 1;
    for (int64_t i = 0; i < wick_dataset_count(d) && i < 100; i++) {
        void *out[WICK_DATASET_FIELDS] = {NULL};
        wick_fault fault = {""};
        bool large = false;
        for (int k = 0; k < wick_dataset_fields(d); k++) {
            const size_t bytes = wick_dataset_bytes(d, i, k);
            large |= bytes > LARGE;
            if (bytes <= LARGE) out[k] = malloc(bytes + !bytes);
        }
        const wick_status status = large ? WICK_OK : wick_dataset_get(d, i, out, &fault);
        FUZZ_PROMISE(status == WICK_OK || strstr(fault.text, path));
        good &= status == WICK_OK;
        for (int k = 0; k < wick_dataset_fields(d); k++) {
            if (status == WICK_OK && out[k]) fuzz_touch(out[k], wick_dataset_bytes(d, i, k));
            free(out[k]);
        }
        if (wick_dataset_classes(d))
            FUZZ_PROMISE(wick_dataset_label(d, i) >= 0 && wick_dataset_label(d, i) < wick_dataset_classes(d));
    }
    wick_dataset_free(&d);
    return good;
}

/* Samples of the same files, with at most one fault. */
static size_t make_shard(uint8_t *to, size_t max, fuzz_random *r) {
    static const char *const ends[] = {"png", "cls", "json", "wav", "seg.png", "txt"}, *const numbers[] = {
                                                                                           "0",           "1",  "2\n",
                                                                                           "12",          "-1", "x",
                                                                                           "99999999999", ""};
    static uint8_t picture[1 << 12], sound[64];
    const size_t n = fuzz_make_png(picture, sizeof picture, r), samples = 1 + fuzz_below(r, 4),
                 fault = fuzz_fault(r, 6), bad = fuzz_below(r, samples), frames = fuzz_below(r, 8);
    const unsigned have = 1 + (unsigned)fuzz_below(r, 63);
    fuzz_buffer b = {to, 0, max, false}, s = {sound, 0, sizeof sound, false};
    fuzz_put(&s, "RIFF", 4), fuzz_little(&s, 36 + 2 * frames, 4), fuzz_put(&s, "WAVEfmt ", 8), fuzz_little(&s, 16, 4),
        fuzz_little(&s, 1, 2), fuzz_little(&s, 1, 2), fuzz_little(&s, 8000, 4);
    fuzz_little(&s, 16000, 4), fuzz_little(&s, 2, 2), fuzz_little(&s, 16, 2), fuzz_put(&s, "data", 4),
        fuzz_little(&s, 2 * frames, 4), fuzz_fill(&s, 2 * frames, r);
    if (s.full || !n) return 0;
    for (size_t i = 0; i < samples; i++)
        for (size_t k = 0; k < WICK_COUNTOF(ends); k++) {
            char name[64];
            const bool wrong = i == bad && fault;
            if (!(have >> k & 1) || (wrong && fault == 1)) continue; /* one that lacks a file */
            const char *number = wrong && fault == 2 ? FUZZ_PICK(r, numbers) : numbers[fuzz_below(r, 4)];
            snprintf(name, sizeof name, "%s%zu.%s", wrong && fault == 3 ? "d.e/." : "d/",
                     wrong && fault == 4 ? i / 2 : i, ends[k]);
            const void *what = k == 1             ? (const void *)number
                               : k == 3           ? (const void *)sound
                               : k == 2 || k == 5 ? (const void *)"{}"
                                                  : (const void *)picture;
            const size_t size = k == 1 ? strlen(number) : k == 3 ? s.n : k == 2 || k == 5 ? 2 : n;
            put_header(&b, name, '0', wrong && fault == 5 ? size / 2 : size, 0, r);
            put_blocks(&b, what, wrong && fault == 5 ? size / 2 : size);
        }
    put_blocks(&b, "", 1), put_blocks(&b, "", 1);
    if (fault == 6 && b.n) b.n -= 1 + fuzz_below(r, b.n);
    return b.full ? 0 : b.n;
}
static size_t change_shard(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    const size_t made = fuzz_chance(r, 80) ? make_shard(data, max, r) : 0;
    return made ? made : change_tar(data, size, max, r);
}
FUZZ_MUTATOR(webdataset) {
    return wick_gzip_is(data, size) ? change_inside(data, size, max, r, change_shard)
                                    : change_shard(data, size, max, r);
}

/* ---- IDX --------------------------------------------------------------------------------------------------------- */

FUZZ_TARGET(idx) {
    wick_idx idx;
    wick_msg msg = {0};
    const bool good = wick_idx_parse(&idx, data, size, "file", NULL, &msg) == WICK_OK;
    if (good) {
        FUZZ_PROMISE(idx.rank >= 1 && idx.rank <= WICK_MAX_DIMS);
        fuzz_touch(idx.data, idx.bytes);
    } else FUZZ_PROMISE(strstr(msg.text, "file"));
    wick_idx_free(&idx);
    return good;
}
static size_t change_idx(uint8_t *data, size_t size, size_t max, fuzz_random *r) {
    static const uint8_t types[] = {8, 9, 11, 12, 13, 14, 0, 10};
    static const uint8_t widths[] = {1, 1, 2, 4, 4, 8, 1, 1};
    if (fuzz_chance(r, 10) || max < 64) return fuzz_bytes(data, size, max);
    const size_t fault = fuzz_fault(r, 5), type = fuzz_below(r, fault == 1 ? 8 : 6),
                 rank = fault == 2 ? fuzz_below(r, 10) : 1 + fuzz_below(r, 8);
    data[0] = data[1] = 0, data[2] = types[type], data[3] = (uint8_t)rank;
    size_t bytes = widths[type];
    for (size_t i = 0; i < rank; i++) {
        const uint64_t extent = fault == 3 && i == rank - 1 ? (uint64_t)fuzz_integer(r) & UINT32_MAX
                                : !fuzz_below(r, 30)        ? 0
                                : bytes * 6 < max - 64      ? 1 + fuzz_below(r, 5)
                                                            : 1;
        fuzz_big(&(fuzz_buffer){data + 4 + 4 * i, 0, 4, false}, extent, 4);
        bytes *= WICK_MIN(extent, 64);
    }
    const size_t now = 4 + 4 * rank + bytes + (fault == 4) - (fault == 5 && bytes);
    if (now > max) return size;
    for (size_t i = WICK_MAX(size, 4 + 4 * rank); i < now; i++) data[i] = (uint8_t)i;
    return now;
}
FUZZ_MUTATOR(idx) {
    return wick_gzip_is(data, size) ? change_inside(data, size, max, r, change_idx) : change_idx(data, size, max, r);
}
