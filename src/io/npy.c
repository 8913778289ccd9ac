/* npy.c: NumPy's files of one array (numpy.org, "NEP 1" and numpy.lib.format): "\x93NUMPY", version, the length of a
 * header, the header as a Python dict, then the elements. Read in place where they lie as Wick has them. */
#define WICK_NO_SITES
#include "io/npy.h"
#include "wick/io.h"

static const struct {
    char kind, size;
    wick_dtype dtype;
} kinds[] = {{'f', '2', WICK_F16}, {'f', '4', WICK_F32}, {'f', '8', WICK_F64}, {'i', '1', WICK_I8},
             {'i', '2', WICK_I16}, {'i', '4', WICK_I32}, {'i', '8', WICK_I64}, {'u', '1', WICK_U8},
             {'u', '2', WICK_U16}, {'u', '4', WICK_U32}, {'u', '8', WICK_U64}, {'b', '1', WICK_BOOL}};

/* ---- the header -------------------------------------------------------------------------------------------------- */

typedef wick_npy_header header;

typedef struct parser {
    const char *at, *end;
} parser;

static void skip(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t')) p->at++;
}
static bool take(parser *p, char c) {
    skip(p);
    if (p->at == p->end || *p->at != c) return false;
    p->at++;
    return true;
}
static bool word(parser *p, const char *text) {
    const size_t n = strlen(text);
    skip(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n)) return false;
    p->at += n;
    return true;
}
/* 'text' in either kind of quotes, at most 15 bytes. */
static bool quoted(parser *p, char out[16]) {
    skip(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"')) return false;
    const char quote = *p->at++;
    size_t n = 0;
    while (p->at < p->end && *p->at != quote && n < 15) out[n++] = *p->at++;
    out[n] = 0;
    return take(p, quote);
}
static bool number(parser *p, int64_t *out) {
    skip(p);
    *out = 0;
    const char *first = p->at;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (wick_mul_overflows(*out, 10, out) || wick_add_overflows(*out, *p->at - '0', out)) return false;
    if (p->at < p->end && *p->at == 'L') p->at++; /* of Python 2 */
    return p->at > first;
}

/* "U12" or "S5": texts of so many characters, or bytes. */
static const char *read_width(const char *text, header *h) {
    parser p = {text + 1, text + strlen(text)};
    int64_t width;
    h->texts = text[0];
    h->dtype = WICK_U8;
    if (!number(&p, &width) || p.at != p.end || width < 1 || width > INT32_MAX / 4)
        return "descr is of texts without a length";
    h->width = (size_t)width * (text[0] == 'U' ? 4 : 1);
    return NULL;
}

static const char *read_descr(parser *p, header *h) {
    char text[16];
    if (!quoted(p, text)) return "descr is no text: arrays of records are not read";
    if (text[strcspn(text, "<>|=") ? 0 : 1] == 'O')
        return "descr is O: an array of Python objects is a pickle, which can run any code; save numbers";
    const bool order = strchr("<>|=", text[0]) && text[0];
    const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    h->swapped = text[0] == (little ? '>' : '<');
    if (order && (text[1] == 'U' || text[1] == 'S') && text[2]) return read_width(text + 1, h);
    if (!order || strlen(text) != 3) return "descr is no dtype that Wick has";
    for (size_t i = 0; i < WICK_COUNTOF(kinds); i++)
        if (kinds[i].kind == text[1] && kinds[i].size == text[2]) return h->dtype = kinds[i].dtype, NULL;
    return "descr is no dtype that Wick has";
}

static const char *read_shape(parser *p, header *h) {
    if (!take(p, '(')) return "shape is no tuple";
    while (!take(p, ')')) {
        if (h->rank == WICK_MAX_DIMS) return "shape has more than 8 dims";
        if (!number(p, &h->dims[h->rank++])) return "shape is not made of whole numbers";
        if (!take(p, ',')) return take(p, ')') ? NULL : "shape is no tuple";
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *read_header(parser *p, header *h) {
    unsigned seen = 0;
    if (!take(p, '{')) return "the header is no dict";
    while (!take(p, '}')) {
        char key[16];
        const char *bad = NULL;
        if (!quoted(p, key) || !take(p, ':')) return "the header is no dict";
        const int which = !strcmp(key, "descr") ? 0 : !strcmp(key, "fortran_order") ? 1 : !strcmp(key, "shape") ? 2 : 3;
        if (which == 3 || seen >> which & 1) return "the header has a key that it should not have, or twice";
        seen |= 1u << which;
        if (which == 0) bad = read_descr(p, h);
        if (which == 1 && !(h->fortran = word(p, "True")) && !word(p, "False"))
            bad = "fortran_order is neither True nor False";
        if (which == 2) bad = read_shape(p, h);
        if (bad) return bad;
        if (!take(p, ',')) {
            if (!take(p, '}')) return "the header is no dict";
            break;
        }
    }
    skip(p);
    return seen != 7         ? "the header lacks descr, fortran_order or shape"
           : p->at != p->end ? "something follows the header's dict"
                             : NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void drop_map(void *user) {
    wick_map *map = user;
    wick_map_close(map);
    wick_release(NULL, map, sizeof *map);
}

wick_status wick_npy_parse(const uint8_t *data, size_t have, size_t size, const char *name, wick_npy_header *h,
                           wick_msg *msg) {
    static const char magic[] = "\x93NUMPY";
    *h = (header){0};
    if (have < 10 || memcmp(data, magic, 6))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: not a .npy file: it does not begin with \\x93NUMPY", name);
    const int version = data[6];
    if (version < 1 || version > 3)
        return wick_msg_set(msg, WICK_ERR_VERSION, "%s: version (byte 6): %d.%d is not read", name, version, data[7]);
    const size_t first = version == 1 ? 10 : 12;
    if (have < first) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: the header's length (byte 8) is cut off", name);
    size_t length = (size_t)data[8] | (size_t)data[9] << 8;
    if (version > 1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > size - first)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: header (byte 8): %zu bytes long, but the file has %zu", name,
                            length, size);
    if (length > have - first)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: header (byte 8): %zu bytes long", name, length);
    parser p = {(const char *)data + first, (const char *)data + first + length};
    const char *bad = read_header(&p, h);
    if (bad)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: header (byte %zu): %s", name,
                            (size_t)(p.at - (const char *)data), bad);
    wick_type type;
    if (!wick_type_make(&type, h->dtype, h->rank, h->dims))
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: header (byte %zu): shape: the elements cannot be counted", name,
                            first);
    size_t bytes = wick_type_bytes(&type);
    if (h->texts && wick_mul_overflows(bytes, h->width, &bytes)) bytes = SIZE_MAX;
    h->offset = first + length;
    h->bytes = size - h->offset;
    if (bytes != h->bytes)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: %zu bytes of elements (from byte %zu), shape and dtype make %zu",
                            name, h->bytes, h->offset, bytes);
    return WICK_OK;
}

/* A copy with the bytes of each element turned round. */
static wick_tensor *swapped(wick_context *ctx, const header *h, const int64_t *dims, const uint8_t *from,
                            size_t bytes) {
    const size_t size = wick_dtype_size(h->dtype);
    uint8_t *to = wick_alloc(NULL, bytes);
    if (!to) return wick_poison(ctx, WICK_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < bytes; i++) to[i] = from[i / size * size + size - 1 - i % size];
    wick_tensor *t = wick_from(ctx, h->dtype, h->rank, dims, to);
    wick_release(NULL, to, bytes);
    return t;
}

wick_tensor *wick_npy_tensor(wick_context *ctx, const wick_npy_header *h, const uint8_t *data, const char *name,
                             void (*release)(void *user), void *user) {
    int64_t dims[WICK_MAX_DIMS];
    int axes[WICK_MAX_DIMS];
    wick_tensor *t = NULL;
    for (int i = 0; i < h->rank; i++) {
        dims[i] = h->dims[h->fortran ? h->rank - 1 - i : i];
        axes[i] = h->fortran ? h->rank - 1 - i : i;
    }
    for (size_t i = 0; h->dtype == WICK_BOOL && i < h->bytes && !t; i++)
        if (data[i] > 1)
            t = wick_poison(ctx, WICK_ERR_FORMAT, "%s: a bool (byte %zu) is neither 0 nor 1", name, h->offset + i);
    const bool turned = h->swapped && wick_dtype_size(h->dtype) > 1,
               in_place = !turned && (uintptr_t)data % wick_dtype_size(h->dtype) == 0;
    if (!t && in_place) t = wick_wrap(ctx, h->dtype, h->rank, dims, NULL, data, release, user);
    else {
        if (!t) t = turned ? swapped(ctx, h, dims, data, h->bytes) : wick_from(ctx, h->dtype, h->rank, dims, data);
        release(user);
    }
    return h->fortran && h->rank > 1 ? wick_permute(t, h->rank, axes) : t;
}

/* A character of UCS-4 as UTF-8; 0: it is none. */
static size_t put_character(char *to, uint32_t c) {
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
    const size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = n; i-- > 1; c >>= 6) to[i] = (char)(0x80 | (c & 0x3F));
    to[0] = (char)(lead[n] | c);
    return n;
}

/* NULL: no memory, or (*bad) no Unicode. */
static const char *take_text(wick_arena *arena, const header *h, const uint8_t *at, bool *bad) {
    const bool big = h->swapped == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    char *text = wick_arena_alloc(arena, h->width + 1);
    size_t n = 0;
    for (size_t i = 0; text && i < h->width; i += h->texts == 'U' ? 4 : 1) {
        uint32_t c = at[i];
        if (h->texts == 'U')
            c = big ? (uint32_t)at[i] << 24 | (uint32_t)at[i + 1] << 16 | (uint32_t)at[i + 2] << 8 | at[i + 3]
                    : (uint32_t)at[i + 3] << 24 | (uint32_t)at[i + 2] << 16 | (uint32_t)at[i + 1] << 8 | at[i];
        if (!c) break;
        const size_t bytes = h->texts == 'U' ? put_character(text + n, c) : (text[n] = (char)c, 1);
        if (!bytes) return *bad = true, NULL;
        n += bytes;
    }
    if (text) text[n] = 0;
    return text;
}

wick_status wick_npy_texts(wick_arena *arena, const wick_npy_header *h, const uint8_t *data, const char *name,
                           const char ***out, size_t *n, wick_msg *msg) {
    *n = h->bytes / h->width;
    *out = wick_arena_alloc(arena, (*n + 1) * sizeof **out);
    bool bad = false;
    for (size_t i = 0; *out && i < *n; i++) {
        if (!((*out)[i] = take_text(arena, h, data + i * h->width, &bad)) && !bad) *out = NULL;
        if (bad)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: text %zu (byte %zu) is not Unicode", name, i,
                                h->offset + i * h->width);
    }
    return *out ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
}

wick_tensor *wick_npy_read(wick_context *ctx, const char *path) {
    wick_msg msg = {0};
    header h;
    wick_map *map = wick_calloc(NULL, sizeof *map);
    if (!map) return wick_poison(ctx, WICK_ERR_NOMEM, "out of memory");
    wick_status status = wick_map_open(map, path, &msg);
    if (status == WICK_OK) status = wick_npy_parse(map->data, map->size, map->size, path, &h, &msg);
    if (status == WICK_OK && h.texts)
        status = wick_msg_set(&msg, WICK_ERR_UNSUPPORTED, "%s: is an array of texts, not of numbers", path);
    if (status == WICK_OK) return wick_npy_tensor(ctx, &h, map->data + h.offset, path, drop_map, map);
    drop_map(map);
    return wick_poison(ctx, status, "%s", msg.text);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

size_t wick_npy_make_header_of(char text[WICK_NPY_HEADER], const char *descr, int rank, const int64_t *dims) {
    wick_str s = wick_str_on(text + 10, WICK_NPY_HEADER - 10);
    wick_str_add(&s, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int i = 0; i < rank; i++) wick_str_add(&s, "%s%lld", i ? ", " : "", (long long)dims[i]);
    wick_str_add(&s, rank == 1 ? ",), }" : "), }");
    while ((s.len + 11) % 64) wick_str_add(&s, " "); /* elements begin at a multiple of 64 */
    wick_str_add(&s, "\n");
    const uint8_t head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (uint8_t)s.len, (uint8_t)(s.len >> 8)};
    memcpy(text, head, sizeof head);
    return s.len + sizeof head;
}

size_t wick_npy_make_header(char text[WICK_NPY_HEADER], wick_dtype dtype, int rank, const int64_t *dims) {
    char descr[4] = {0};
    for (size_t i = 0; i < WICK_COUNTOF(kinds); i++)
        if (kinds[i].dtype == dtype) {
            const bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
            descr[0] = kinds[i].size == '1' ? '|'
                       : little             ? '<'
                                            : '>',
            descr[1] = kinds[i].kind, descr[2] = kinds[i].size;
        }
    return descr[0] ? wick_npy_make_header_of(text, descr, rank, dims) : 0;
}

wick_status wick_npy_write(wick_context *ctx, const char *path, wick_tensor *x) {
    if (!x) return wick_context_fail(ctx, WICK_ERR_INVALID, "npy_write: x is NULL");
    const void *data;
    if (!path) return wick_context_fail(ctx, WICK_ERR_INVALID, "no path given to write");
    WICK_TRY(wick_data(x, &data));
    char head[WICK_NPY_HEADER];
    const size_t n = wick_npy_make_header(head, wick_tensor_dtype(x), wick_tensor_rank(x), wick_tensor_dims(x));
    if (!n)
        return wick_context_fail(ctx, WICK_ERR_UNSUPPORTED, "%s: NumPy's files have no %s: cast it", path,
                                 wick_dtype_name(wick_tensor_dtype(x)));
    wick_msg msg = {0};
    wick_writer *w;
    wick_status status = wick_writer_open(&w, path, &msg);
    if (status == WICK_OK) status = wick_writer_write(w, head, n, &msg);
    if (status == WICK_OK) status = wick_writer_write(w, data, wick_type_bytes(&x->value->type), &msg);
    if (status == WICK_OK) status = wick_writer_commit(&w, &msg);
    if (w) wick_writer_abort(&w);
    return status == WICK_OK ? status : wick_context_fail(ctx, status, "%s", msg.text);
}
