/* tar.c: an archive is a row of blocks of 512 bytes: a header, the file's bytes filled up to whole blocks, the next
 * header; a block of zeros ends it. Headers of type L (GNU) and x (pax) describe the file that follows them. */
#include "data/formats/tar.h"

enum { BLOCK = 512, PAX_MAX = 1 << 16 };

/* offset and size of the fields of a header */
#define NAME     0, 100
#define SIZE     124, 12
#define CHECKSUM 148, 8
#define TYPE     156
#define MAGIC    257
#define PREFIX   345, 155

/* What a header, and the ones before it that describe it, say. */
typedef struct entry {
    char type;
    uint64_t size;
    bool named, sized; /* by a header of type L or x */
    uint64_t pax_size;
} entry;

static wick_status wrong(const wick_tar *t, wick_msg *msg, const char *what) {
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: tar header at byte %llu: %s", t->source.name,
                        (unsigned long long)(t->offset - BLOCK), what);
}

static wick_status take(wick_tar *t, void *to, uint64_t size, wick_msg *msg) {
    WICK_TRY(wick_source_read(&t->source, to, (size_t)size, msg));
    t->offset += size;
    return WICK_OK;
}

/* Octal digits, between blanks, ended by a blank or zero; or GNU's binary form, big-endian, marked by the highest bit.
 */
static bool read_number(const uint8_t *block, int offset, int size, uint64_t *value) {
    const uint8_t *p = block + offset, *end = p + size;
    *value = 0;
    if (*p & 0x80) {
        if (*p != 0x80) return false; /* negative, or beyond 88 bits */
        for (p++; p < end; p++) {
            if (*value >> 56) return false;
            *value = *value << 8 | *p;
        }
        return true;
    }
    while (p < end && *p == ' ') p++;
    for (; p < end && *p >= '0' && *p <= '7'; p++) *value = *value << 3 | (uint64_t)(*p - '0'); /* 36 bits at most */
    while (p < end && (*p == ' ' || *p == 0)) p++;
    return p == end;
}

/* The sum of all bytes, those of the field itself counted as blanks. Old programs took them for signed. */
static bool checksum_is_right(const uint8_t *block) {
    uint64_t want;
    int64_t sum = 0, signed_sum = 0;
    if (!read_number(block, CHECKSUM, &want)) return false;
    for (int i = 0; i < BLOCK; i++) {
        const uint8_t byte = i >= 148 && i < 156 ? ' ' : block[i];
        sum += byte;
        signed_sum += (int8_t)byte;
    }
    return want == (uint64_t)sum || want == (uint64_t)signed_sum;
}

static size_t field_length(const uint8_t *block, int offset, int size) {
    return strnlen((const char *)block + offset, (size_t)size);
}

/* The prefix is ustar's alone: GNU's own format, whose magic ends in a blank, has other things there. */
static void read_name(wick_tar *t, const uint8_t *block) {
    const size_t n = field_length(block, NAME),
                 p = memcmp(block + MAGIC, "ustar", 6) == 0 ? field_length(block, PREFIX) : 0;
    memcpy(t->name, block + 345, p);
    if (p) t->name[p] = '/';
    memcpy(t->name + p + (p > 0), block, n);
    t->name[p + (p > 0) + n] = 0;
}

/* Sizes are known to fit what the archive can yield before anything is read or allocated by them. */
static wick_status check_size(const wick_tar *t, uint64_t size, wick_msg *msg) {
    if (t->offset <= t->source.most && size <= t->source.most - t->offset) return WICK_OK;
    return wick_msg_set(msg, WICK_ERR_FORMAT,
                        "%s: tar header at byte %llu: promises %llu bytes; the archive cannot hold them",
                        t->source.name, (unsigned long long)(t->offset - BLOCK), (unsigned long long)size);
}

static uint64_t padding_of(uint64_t size) { return (BLOCK - size % BLOCK) % BLOCK; }

static wick_status read_long_name(wick_tar *t, entry *e, wick_msg *msg) {
    if (e->size == 0 || e->size >= WICK_TAR_NAME_MAX) return wrong(t, msg, "a name of 4096 bytes or more, or of none");
    WICK_TRY(take(t, t->name, e->size, msg));
    WICK_TRY(take(t, NULL, padding_of(e->size), msg));
    t->name[e->size] = 0; /* GNU's programs count a zero at its end, others don't */
    e->named = true;
    return WICK_OK;
}

/* One record of a pax header, "LENGTH KEY=VALUE\n", of which only path and size matter here. */
static bool read_record(wick_tar *t, entry *e, const char *at, size_t left, size_t *length) {
    size_t digits = 0;
    *length = 0;
    for (; digits < left && digits < 6 && at[digits] >= '0' && at[digits] <= '9'; digits++)
        *length = *length * 10 + (size_t)(at[digits] - '0');
    if (!digits || *length > left || *length < digits + 3 || at[digits] != ' ' || at[*length - 1] != '\n') return false;
    const char *key = at + digits + 1, *end = at + *length - 1, *equals = memchr(key, '=', (size_t)(end - key));
    if (!equals) return false;
    const size_t key_size = (size_t)(equals - key), size = (size_t)(end - equals - 1);
    if (key_size == 4 && memcmp(key, "path", 4) == 0) {
        if (size == 0 || size >= WICK_TAR_NAME_MAX || memchr(equals + 1, 0, size)) return false;
        memcpy(t->name, equals + 1, size);
        t->name[size] = 0;
        e->named = true;
    } else if (key_size == 4 && memcmp(key, "size", 4) == 0) {
        e->pax_size = 0;
        for (const char *p = equals + 1; p < end; p++)
            if (*p < '0' || *p > '9' || wick_mul_overflows(e->pax_size, (uint64_t)10, &e->pax_size) ||
                wick_add_overflows(e->pax_size, (uint64_t)(*p - '0'), &e->pax_size))
                return false;
        e->sized = true;
    }
    return true;
}

static wick_status read_pax(wick_tar *t, entry *e, wick_msg *msg) {
    if (e->size > PAX_MAX) return wrong(t, msg, "a pax header of more than 64 KiB");
    char *text = wick_alloc(NULL, (size_t)e->size);
    if (!text) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", t->source.name);
    wick_status status = take(t, text, e->size, msg);
    if (status == WICK_OK) status = take(t, NULL, padding_of(e->size), msg);
    size_t length = 0;
    for (size_t at = 0; status == WICK_OK && at < e->size; at += length)
        if (!read_record(t, e, text + at, (size_t)e->size - at, &length))
            status = wrong(t, msg, "damaged pax records before it");
    wick_release(NULL, text, (size_t)e->size);
    return status;
}

static wick_status skip(wick_tar *t, wick_msg *msg) {
    WICK_TRY(take(t, NULL, t->left, msg));
    WICK_TRY(take(t, NULL, t->padding, msg));
    t->left = t->padding = 0;
    return WICK_OK;
}

wick_status wick_tar_open(wick_tar *t, const void *data, size_t size, const char *name, wick_msg *msg) {
    *t = (wick_tar){0};
    return wick_source_open(&t->source, data, size, name, msg);
}

void wick_tar_open_file(wick_tar *t, int fd, size_t size, const char *name) {
    *t = (wick_tar){0};
    wick_source_open_file(&t->source, fd, size, name);
}

wick_status wick_tar_next(wick_tar *t, bool *more, wick_msg *msg) {
    static const uint8_t zeros[BLOCK];
    uint8_t block[BLOCK];
    entry e = {0};
    *more = false;
    for (;;) {
        WICK_TRY(skip(t, msg));
        WICK_TRY(take(t, block, BLOCK, msg));
        if (memcmp(block, zeros, BLOCK) == 0) return wick_source_drain(&t->source, msg);
        if (!checksum_is_right(block))
            return wrong(t, msg, t->offset == BLOCK ? "not a tar archive" : "its checksum is wrong");
        e.type = (char)block[TYPE];
        if (!read_number(block, SIZE, &e.size)) return wrong(t, msg, "its size is no number");
        if (e.type == 'L' || e.type == 'x') {
            WICK_TRY(check_size(t, e.size, msg));
            WICK_TRY(e.type == 'L' ? read_long_name(t, &e, msg) : read_pax(t, &e, msg));
            continue;
        }
        /* for all files, or a link's target: nothing that matters here */
        const bool aside = e.type == 'g' || e.type == 'K';
        if (e.sized && !aside) e.size = e.pax_size;
        if (e.type >= '1' && e.type <= '6') e.size = 0; /* links, devices, folders, pipes have no bytes here */
        WICK_TRY(check_size(t, e.size, msg));
        t->left = e.size;
        t->padding = padding_of(e.size);
        if (e.type == 0 || e.type == '0' || e.type == '7') break;
        if (!aside) e = (entry){0};
    }
    if (!e.named) read_name(t, block);
    t->size = (size_t)e.size;
    *more = true;
    return WICK_OK;
}

wick_status wick_tar_read(wick_tar *t, void *to, wick_msg *msg) {
    WICK_TRY(take(t, to, t->left, msg));
    t->left = 0;
    return WICK_OK;
}

void wick_tar_close(wick_tar *t) { wick_source_close(&t->source); }
