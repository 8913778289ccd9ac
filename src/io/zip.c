#include "io/zip.h"

#include <stdlib.h>

#include "base/inflate.h"
#include "io/json.h"

enum { LOCAL = 30, CENTRAL = 46, END = 22, END64 = 56, LOCATOR = 20, COMMENT_MAX = 65535 };
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1, UTF8 = 1 << 11 };
static const uint32_t local_magic = 0x04034b50, central_magic = 0x02014b50, end_magic = 0x06054b50,
                      end64_magic = 0x06064b50, locator_magic = 0x07064b50;

static uint64_t get(const uint8_t *at, int bytes) {
    uint64_t v = 0;
    for (int i = bytes - 1; i >= 0; i--) v = v << 8 | at[i];
    return v;
}
static void put(uint8_t *at, int bytes, uint64_t v) {
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> 8 * i);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *bytes;
    size_t size;
    const char *file;
    wick_msg *msg;
} reader;

static wick_status bad(const reader *r, size_t place, const char *what) {
    return wick_msg_set(r->msg, WICK_ERR_FORMAT, "%s: zip (byte %zu): %s", r->file, place, what);
}

static wick_status bad_entry(const char *file, wick_status status, const wick_zip_entry *e, const char *what,
                             wick_msg *msg) {
    char shown[WICK_JSON_SHOWN];
    return wick_msg_set(msg, status, "%s: zip entry \"%s\" (byte %zu): %s", file, wick_json_show(shown, e->name),
                        e->place, what);
}

typedef struct directory {
    uint64_t count, size, offset;
    size_t end; /* where it must have ended */
} directory;

/* The record at the end of the file, and where its numbers are too small, the longer one before it. */
static wick_status find_directory(const reader *r, directory *d) {
    if (r->size < END) return bad(r, 0, "too few bytes for an archive");
    size_t at = r->size - END;
    const size_t least = at > COMMENT_MAX ? at - COMMENT_MAX : 0;
    while (get(r->bytes + at, 4) != end_magic || get(r->bytes + at + 20, 2) != r->size - END - at) {
        if (at == least) return bad(r, r->size, "has no end of a central directory");
        at--;
    }
    const uint8_t *e = r->bytes + at;
    if (get(e + 4, 2) || get(e + 6, 2) || get(e + 8, 2) != get(e + 10, 2))
        return bad(r, at, "an archive in several parts");
    *d = (directory){get(e + 10, 2), get(e + 12, 4), get(e + 16, 4), at};
    if (d->count != 0xFFFF && d->size != 0xFFFFFFFF && d->offset != 0xFFFFFFFF) return WICK_OK;
    /* the numbers are what they say */
    if (at < LOCATOR || get(r->bytes + at - LOCATOR, 4) != locator_magic) return WICK_OK;
    const uint64_t end64 = get(r->bytes + at - LOCATOR + 8, 8);
    if (at < LOCATOR + END64 || end64 > at - LOCATOR - END64 || get(r->bytes + end64, 4) != end64_magic)
        return bad(r, at - LOCATOR, "its 64-bit end of the directory is not there");
    e = r->bytes + end64;
    if (get(e + 24, 8) != get(e + 32, 8) || get(e + 16, 4) || get(e + 20, 4))
        return bad(r, (size_t)end64, "an archive in several parts");
    *d = (directory){get(e + 32, 8), get(e + 40, 8), get(e + 48, 8), (size_t)end64};
    return WICK_OK;
}

/* Numbers of the 64-bit extra field, in place of those that are all ones. */
static wick_status read_extra(const reader *r, const uint8_t *extra, size_t n, uint64_t *size, uint64_t *packed,
                              uint64_t *offset, size_t place) {
    uint64_t *const wide[] = {size, packed, offset};
    for (size_t at = 0; at + 4 <= n;) {
        const size_t length = get(extra + at + 2, 2);
        if (length > n - at - 4) return bad(r, place, "an extra field is longer than all of them");
        size_t k = at + 4;
        for (int i = 0; get(extra + at, 2) == 1 && i < 3; i++) {
            if (*wide[i] != 0xFFFFFFFF) continue;
            if (k + 8 > at + 4 + length) return bad(r, place, "its 64-bit field is too short");
            *wide[i] = get(extra + k, 8);
            k += 8;
        }
        at += 4 + length;
    }
    return WICK_OK;
}

/* The entry's header where its data are, which has to say the same. `limit`: where data must have ended. */
static wick_status read_local(const reader *r, wick_zip_entry *e, uint64_t offset, uint64_t packed, size_t name,
                              uint64_t method, size_t limit) {
    if (offset > limit || limit - offset < LOCAL || get(r->bytes + offset, 4) != local_magic)
        return bad_entry(r->file, WICK_ERR_FORMAT, e, "its data are not where the directory says", r->msg);
    const uint8_t *l = r->bytes + offset;
    const size_t names = get(l + 26, 2), head = LOCAL + names + get(l + 28, 2), room = limit - (size_t)offset;
    if (names != name || head > room || memcmp(l + LOCAL, e->name, name) != 0 || get(l + 8, 2) != method)
        return bad_entry(r->file, WICK_ERR_FORMAT, e, "is another one where its data are", r->msg);
    if (packed > room - head)
        return bad_entry(r->file, WICK_ERR_FORMAT, e, "its data reach beyond the directory's begin", r->msg);
    e->place = (size_t)offset;
    e->data = l + head;
    e->packed = (size_t)packed;
    return WICK_OK;
}

static wick_status read_entry(const reader *r, wick_arena *arena, wick_zip_entry *e, size_t *at, size_t end,
                              size_t begin) {
    if (end - *at < CENTRAL || get(r->bytes + *at, 4) != central_magic) return bad(r, *at, "no entry of the directory");
    const uint8_t *c = r->bytes + *at;
    const size_t name = get(c + 28, 2), extra = get(c + 30, 2), comment = get(c + 32, 2);
    if (name + extra + comment > end - *at - CENTRAL)
        return bad(r, *at, "an entry of the directory reaches beyond its end");
    const uint64_t flags = get(c + 8, 2), method = get(c + 10, 2);
    uint64_t packed = get(c + 20, 4), size = get(c + 24, 4), offset = get(c + 42, 4);
    WICK_TRY(read_extra(r, c + CENTRAL + name, extra, &size, &packed, &offset, *at));
    char *text = wick_arena_alloc(arena, name + 1);
    if (!text) return wick_msg_set(r->msg, WICK_ERR_NOMEM, "%s: out of memory", r->file);
    memcpy(text, c + CENTRAL, name);
    text[name] = 0;
    *e = (wick_zip_entry){.name = text, .deflated = method == DEFLATED, .crc = (uint32_t)get(c + 16, 4), .place = *at};
    if (!name || memchr(text, 0, name)) return bad(r, *at, "a name is empty, or no text");
    if (flags & ENCRYPTED) return bad_entry(r->file, WICK_ERR_UNSUPPORTED, e, "is encrypted", r->msg);
    if (method != STORED && method != DEFLATED)
        return bad_entry(r->file, WICK_ERR_UNSUPPORTED, e, "is neither stored nor deflated", r->msg);
    if (packed > r->size || size > PTRDIFF_MAX ||
        (method == STORED ? size != packed : size / WICK_DEFLATE_RATIO_MAX > packed))
        return bad_entry(r->file, WICK_ERR_FORMAT, e, "would be larger than its bytes can stand for", r->msg);
    e->size = (size_t)size;
    WICK_TRY(read_local(r, e, offset, packed, name, method, begin));
    *at += CENTRAL + name + extra + comment;
    return WICK_OK;
}

static int by_place(const void *a, const void *b) {
    const wick_zip_entry *x = *(const wick_zip_entry *const *)a, *y = *(const wick_zip_entry *const *)b;
    return (x->place > y->place) - (x->place < y->place);
}
static int by_name(const void *a, const void *b) {
    return strcmp((*(const wick_zip_entry *const *)a)->name, (*(const wick_zip_entry *const *)b)->name);
}

/* No bytes are of two entries, and no name is there twice. */
static wick_status check_entries(const reader *r, const wick_zip_entry *entries, size_t n) {
    const wick_zip_entry **sorted = wick_alloc(NULL, n * sizeof *sorted);
    if (!sorted) return wick_msg_set(r->msg, WICK_ERR_NOMEM, "%s: out of memory", r->file);
    wick_status status = WICK_OK;
    for (size_t i = 0; i < n; i++) sorted[i] = &entries[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_place);
    for (size_t i = 1; i < n && status == WICK_OK; i++)
        if (sorted[i - 1]->data + sorted[i - 1]->packed > r->bytes + sorted[i]->place)
            status = bad_entry(r->file, WICK_ERR_FORMAT, sorted[i], "lies within another", r->msg);
    if (n) qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 1; i < n && status == WICK_OK; i++)
        if (!strcmp(sorted[i - 1]->name, sorted[i]->name))
            status = bad_entry(r->file, WICK_ERR_FORMAT, sorted[i], "is there twice", r->msg);
    wick_release(NULL, sorted, n * sizeof *sorted);
    return status;
}

wick_status wick_zip_parse(wick_arena *arena, const uint8_t *bytes, size_t size, const char *file,
                           wick_zip_entry **entries, size_t *count, wick_msg *msg) {
    const reader r = {bytes, size, file, msg};
    directory d = {0};
    *count = 0;
    WICK_TRY(find_directory(&r, &d));
    if (d.offset > d.end || d.size != d.end - d.offset || d.count > d.size / CENTRAL)
        return bad(&r, d.end, "its directory is not where it says");
    *entries = wick_arena_zalloc(arena, ((size_t)d.count + 1) * sizeof **entries);
    if (!*entries) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", file);
    size_t at = (size_t)d.offset;
    for (size_t i = 0; i < d.count; i++) WICK_TRY(read_entry(&r, arena, &(*entries)[i], &at, d.end, (size_t)d.offset));
    if (at != d.end) return bad(&r, at, "the directory has more bytes than entries");
    *count = (size_t)d.count;
    return check_entries(&r, *entries, *count);
}

wick_status wick_zip_check(const wick_zip_entry *e, const char *file, wick_msg *msg) {
    return wick_crc32(0, e->data, e->packed) == e->crc
               ? WICK_OK
               : bad_entry(file, WICK_ERR_FORMAT, e, "its checksum is another: damaged", msg);
}

static wick_status inflate_entry(wick_inflate *z, const wick_zip_entry *e, const char *file, uint8_t *to, size_t n,
                                 wick_msg *msg) {
    enum { MOST = 1 << 30 };
    wick_zstream *s = &z->stream;
    size_t in = 0, out = 0;
    int code = WICK_Z_OK;
    uint8_t more;
    while (code == WICK_Z_OK) { /* to the end of the stream, if all is asked for */
        if (!s->avail_in) {
            s->next_in = e->data + in;
            s->avail_in = (unsigned)WICK_MIN(e->packed - in, (size_t)MOST);
            in += s->avail_in;
        }
        if (out == n && n < e->size) return WICK_OK;
        const unsigned room = out == n ? 1 : (unsigned)WICK_MIN(n - out, (size_t)MOST);
        s->next_out = out == n ? &more : to + out;
        s->avail_out = room;
        code = z->inflate(s, WICK_Z_NO_FLUSH);
        if (out == n && !s->avail_out) return bad_entry(file, WICK_ERR_FORMAT, e, "is longer than it says", msg);
        if (out < n) out += room - s->avail_out;
    }
    if (code == WICK_Z_MEM_ERROR) return bad_entry(file, WICK_ERR_NOMEM, e, "out of memory in zlib", msg);
    if (code != WICK_Z_STREAM_END && code != WICK_Z_BUF_ERROR)
        return bad_entry(file, WICK_ERR_FORMAT, e, s->msg ? s->msg : "damaged deflate data", msg);
    if (code != WICK_Z_STREAM_END || out < n)
        return bad_entry(file, WICK_ERR_FORMAT, e, "its deflate data end too early", msg);
    if (n == e->size && (s->avail_in || in < e->packed))
        return bad_entry(file, WICK_ERR_FORMAT, e, "has bytes behind its deflate data", msg);
    return WICK_OK;
}

wick_status wick_zip_read(const wick_zip_entry *e, const char *file, uint8_t *to, size_t n, wick_msg *msg) {
    if (n > e->size) return bad_entry(file, WICK_ERR_FORMAT, e, "is cut off", msg);
    wick_status status = WICK_OK;
    if (!e->deflated) {
        if (n) memcpy(to, e->data, n);
    } else {
        wick_inflate z;
        status = wick_inflate_start(&z, WICK_Z_RAW, "reading deflated arrays", file, msg);
        if (status == WICK_OK) status = inflate_entry(&z, e, file, to, n, msg);
        wick_inflate_stop(&z);
    }
    if (status == WICK_OK && n == e->size && wick_crc32(0, to, n) != e->crc)
        status = bad_entry(file, WICK_ERR_FORMAT, e, "its checksum is another: damaged", msg);
    return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum { EXTRA64 = 4 + 24, PADDING = 4 + 2 };
static const int date = 1 << 5 | 1; /* 1 January 1980, the first there is: the same input gives the same file */

typedef struct planned {
    uint64_t offset;
    size_t packed;
    uint32_t crc;
    bool deflated;
} planned;

/* What is packed is no longer than what it stands for. */
static bool is_wide(const wick_zip_piece *p, uint64_t offset) {
    return p->head_bytes + p->bytes >= 0xFFFFFFFF || offset >= 0xFFFFFFFF;
}

/* What both headers of an entry share, from "version needed" on: 26 bytes. */
static void put_common(uint8_t *at, const wick_zip_piece *p, const planned *plan, size_t extra) {
    const bool wide = is_wide(p, plan->offset);
    bool ascii = true;
    for (const char *c = p->name; *c; c++) ascii = ascii && !(*c & 0x80);
    const uint64_t size = p->head_bytes + p->bytes;
    put(at, 2, wide ? 45 : 20);
    put(at + 2, 2, ascii ? 0 : UTF8);
    put(at + 4, 2, plan->deflated ? DEFLATED : STORED);
    put(at + 6, 2, 0);
    put(at + 8, 2, (uint64_t)date);
    put(at + 10, 4, plan->crc);
    put(at + 14, 4, wide ? 0xFFFFFFFF : plan->packed);
    put(at + 18, 4, wide ? 0xFFFFFFFF : size);
    put(at + 22, 2, strlen(p->name));
    put(at + 24, 2, extra);
}
static void put_wide(uint8_t at[EXTRA64], const wick_zip_piece *p, const planned *plan, bool central) {
    put(at, 2, 1);
    put(at + 2, 2, central ? 24 : 16);
    put(at + 4, 8, p->head_bytes + p->bytes);
    put(at + 12, 8, plan->packed);
    put(at + 20, 8, plan->offset);
}

static wick_status write_local(wick_writer *w, const wick_zip_piece *p, const planned *plan, uint64_t *at,
                               wick_msg *msg) {
    static const uint8_t zeros[64];
    uint8_t head[LOCAL], wide[EXTRA64], pad[PADDING];
    const size_t name = strlen(p->name);
    const size_t widened = is_wide(p, *at) ? EXTRA64 - 8 : 0, before = LOCAL + name + widened + PADDING,
                 padding = (size_t)(-(*at + before) % 64);
    put(head, 4, local_magic);
    put_common(head + 4, p, plan, widened + PADDING + padding);
    put_wide(wide, p, plan, false);
    put(pad, 2, 0xD935); /* alignment of stored entries, as Android's tools write it */
    put(pad + 2, 2, 2 + padding);
    put(pad + 4, 2, 64);
    WICK_TRY(wick_writer_write(w, head, sizeof head, msg));
    WICK_TRY(wick_writer_write(w, p->name, name, msg));
    WICK_TRY(wick_writer_write(w, wide, widened, msg));
    WICK_TRY(wick_writer_write(w, pad, sizeof pad, msg));
    WICK_TRY(wick_writer_write(w, zeros, padding, msg));
    *at += before + padding + plan->packed;
    return WICK_OK;
}

/* The header says how long the packed bytes are, so they are made before it. */
static wick_status write_piece(wick_writer *w, const wick_zip_piece *p, bool deflate, const char *path, planned *plan,
                               uint64_t *at, wick_msg *msg) {
    const wick_bytes both[] = {{p->head, p->head_bytes}, {p->data, p->bytes}};
    const size_t size = p->head_bytes + p->bytes;
    uint8_t *packed = NULL;
    size_t room = 0, n = size;
    *plan = (planned){.offset = *at, .crc = wick_crc32(wick_crc32(0, p->head, p->head_bytes), p->data, p->bytes)};
    if (deflate) WICK_TRY(wick_deflate(WICK_Z_RAW, both, 2, &packed, &n, &room, "writing deflated arrays", path, msg));
    plan->deflated = n < size;
    plan->packed = plan->deflated ? n : size;
    wick_status status = write_local(w, p, plan, at, msg);
    if (status == WICK_OK && plan->deflated) status = wick_writer_write(w, packed, n, msg);
    for (int i = 0; i < 2 && status == WICK_OK && !plan->deflated; i++)
        status = wick_writer_write(w, both[i].at, both[i].n, msg);
    wick_release(NULL, packed, room);
    return status;
}

static wick_status write_central(wick_writer *w, const wick_zip_piece *p, const planned *plan, uint64_t *at,
                                 wick_msg *msg) {
    uint8_t head[CENTRAL] = {0}, wide[EXTRA64];
    const size_t name = strlen(p->name), widened = is_wide(p, plan->offset) ? EXTRA64 : 0;
    put(head, 4, central_magic);
    put(head + 4, 2, 45);
    put_common(head + 6, p, plan, widened);
    put(head + 42, 4, widened ? 0xFFFFFFFF : plan->offset);
    put_wide(wide, p, plan, true);
    WICK_TRY(wick_writer_write(w, head, sizeof head, msg));
    WICK_TRY(wick_writer_write(w, p->name, name, msg));
    WICK_TRY(wick_writer_write(w, wide, widened, msg));
    *at += sizeof head + name + widened;
    return WICK_OK;
}

static wick_status write_end(wick_writer *w, uint64_t count, uint64_t begin, uint64_t end, wick_msg *msg) {
    uint8_t e[END64 + LOCATOR + END] = {0}, *locator = e + END64, *last = locator + LOCATOR;
    const bool wide = count >= 0xFFFF || begin >= 0xFFFFFFFF || end - begin >= 0xFFFFFFFF;
    put(e, 4, end64_magic);
    put(e + 4, 8, END64 - 12);
    put(e + 12, 2, 45);
    put(e + 14, 2, 45);
    put(e + 24, 8, count);
    put(e + 32, 8, count);
    put(e + 40, 8, end - begin);
    put(e + 48, 8, begin);
    put(locator, 4, locator_magic);
    put(locator + 8, 8, end);
    put(locator + 16, 4, 1);
    put(last, 4, end_magic);
    put(last + 8, 2, wide ? 0xFFFF : count);
    put(last + 10, 2, wide ? 0xFFFF : count);
    put(last + 12, 4, wide ? 0xFFFFFFFF : end - begin);
    put(last + 16, 4, wide ? 0xFFFFFFFF : begin);
    return wide ? wick_writer_write(w, e, sizeof e, msg) : wick_writer_write(w, last, END, msg);
}

wick_status wick_zip_write(const char *path, const wick_zip_piece *pieces, size_t count, bool deflate, wick_msg *msg) {
    uint64_t at = 0;
    for (size_t i = 0; i < count; i++)
        if (strlen(pieces[i].name) > 0xFFFF - 64 || !*pieces[i].name)
            return wick_msg_set(msg, WICK_ERR_INVALID, "%s: a name is empty or too long", path);
    planned *plan = wick_calloc(NULL, (count + 1) * sizeof *plan);
    if (!plan) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", path);
    wick_writer *w = NULL;
    wick_status status = wick_writer_open(&w, path, msg);
    for (size_t i = 0; i < count && status == WICK_OK; i++)
        status = write_piece(w, &pieces[i], deflate, path, &plan[i], &at, msg);
    const uint64_t begin = at;
    for (size_t i = 0; i < count && status == WICK_OK; i++) status = write_central(w, &pieces[i], &plan[i], &at, msg);
    if (status == WICK_OK) status = write_end(w, count, begin, at, msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, msg);
    else wick_writer_abort(&w);
    wick_release(NULL, plan, (count + 1) * sizeof *plan);
    return status;
}
