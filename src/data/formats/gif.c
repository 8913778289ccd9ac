/* gif.c: the first picture of a GIF (GIF89a Specification, CompuServe 1990), read here. What shows through, and the
 * screen around it, is white.
 *
 *   "GIF89a"  width  height  flags (0x80: a palette of 2 << (flags & 7) colors follows)  background  aspect
 *   blocks: 0x21 label, parts | 0x2c left top width height flags [palette] bits, parts | 0x3b, the end
 *   parts: a length, so many bytes; the last one has the length 0. The picture's are codes of LZW */
#include "data/formats/codecs.h"

enum { CODES = 4096, HEAD = 13, DESCRIPTOR = 9, PALETTE = 0x80, INTERLACED = 0x40 };

typedef struct gif {
    int64_t width, height;              /* of the screen */
    int64_t left, top, columns, rows;   /* of the picture */
    const uint8_t *palette;
    uint32_t colors;
    int clear;                          /* the color that shows through; -1: none */
    bool interlaced;
    size_t codes;                       /* where the bits of a code are told, and the parts behind */
} gif;

static int64_t u16(const uint8_t *p) { return p[0] | p[1] << 8; }
static bool is_gif(const uint8_t *data, size_t size) {
    return size >= 6 && (memcmp(data, "GIF87a", 6) == 0 || memcmp(data, "GIF89a", 6) == 0);
}

static wick_status cut_off(const char *name, size_t at, wick_msg *msg) {
    return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: it is cut off at byte %zu", name, at);
}

static bool take_palette(gif *g, const uint8_t *data, size_t size, size_t *at, uint8_t flags) {
    if (!(flags & PALETTE)) return true;
    g->colors = 2u << (flags & 7);
    g->palette = data + *at;
    if (size - *at < 3 * (size_t)g->colors) return false;
    *at += 3 * (size_t)g->colors;
    return true;
}

static wick_status read_gif(const uint8_t *data, size_t size, gif *g, const char *name, wick_msg *msg) {
    if (size < HEAD) return cut_off(name, size, msg);
    *g = (gif){.width = u16(data + 6), .height = u16(data + 8), .clear = -1};
    size_t at = HEAD;
    if (!take_palette(g, data, size, &at, data[10])) return cut_off(name, size, msg);
    while (at < size && data[at] == 0x21) {
        if (size - at >= 8 && data[at + 1] == 0xf9 && data[at + 2] == 4)
            g->clear = data[at + 3] & 1 ? data[at + 6] : -1;
        for (at += 2; at < size && data[at]; at += 1 + (size_t)data[at]) continue;
        if (at >= size) return cut_off(name, size, msg);
        at++;
    }
    if (at >= size || data[at] != 0x2c)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: no picture at byte %zu", name, at);
    if (size - ++at < DESCRIPTOR) return cut_off(name, size, msg);
    const uint8_t *d = data + at;
    g->left = u16(d), g->top = u16(d + 2), g->columns = u16(d + 4), g->rows = u16(d + 6),
    g->interlaced = d[8] & INTERLACED;
    at += DESCRIPTOR;
    if (!take_palette(g, data, size, &at, d[8])) return cut_off(name, size, msg);
    if (!g->palette) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: it has no colors", name);
    g->width = WICK_MAX(g->width, g->left + g->columns),
    g->height = WICK_MAX(g->height, g->top + g->rows); /* as others take one that is larger than its screen */
    g->codes = at;
    if (at >= size) return cut_off(name, size, msg);
    return data[at] >= 1 && data[at] <= 8
               ? WICK_OK
               : wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: codes of %u bits", name, data[at]);
}

static wick_status open_gif(void **library, const char *name, wick_msg *msg) {
    (void)library, (void)name, (void)msg;
    return WICK_OK;
}
static void close_gif(void **library) { *library = NULL; }

static wick_status gif_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                              wick_msg *msg) {
    gif g;
    (void)library;
    WICK_TRY(read_gif(data, size, &g, name, msg));
    *p = (wick_picture){.codec = p->codec, .channels = 3, .height = g.height, .width = g.width, .stride = 3};
    return WICK_OK;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const uint8_t *data;
    size_t size, at, left; /* left: bytes of this part */
    uint32_t bits;
    int n;
} reader;

/* -1: there are no more. */
static int next_code(reader *r, int width) {
    while (r->n < width) {
        if (!r->left) {
            if (r->at >= r->size || !(r->left = r->data[r->at++])) return -1;
            if (r->left > r->size - r->at) return -1;
        }
        r->bits |= (uint32_t)r->data[r->at++] << r->n;
        r->n += 8, r->left--;
    }
    const int code = (int)(r->bits & ((1u << width) - 1));
    r->bits >>= width, r->n -= width;
    return code;
}

/* A code stands for what an earlier one stands for, and one color more. */
typedef struct lzw {
    uint16_t before[CODES];
    uint8_t color[CODES], first[CODES], chain[CODES];
    int next, width, least; /* least: bits of a color */
    int last;               /* the code before; -1: none */
} lzw;

static void clear(lzw *z) {
    const int colors = 1 << z->least;
    for (int i = 0; i < colors; i++) z->color[i] = z->first[i] = (uint8_t)i;
    z->next = colors + 2, z->width = z->least + 1, z->last = -1;
}

/* The colors of a code, the last one first, in z->chain; how many, 0: there is no such code yet. */
static int expand(lzw *z, int code) {
    const int end = (1 << z->least) + 1;
    int n = 0, c = code;
    if (code > z->next || (code == z->next && z->last < 0) || code == end) return 0;
    if (code == z->next) z->chain[n++] = z->first[z->last], c = z->last; /* the one that is made now */
    for (; c > end && n < CODES; c = z->before[c]) z->chain[n++] = z->color[c];
    if (n == CODES) return 0;
    z->chain[n++] = (uint8_t)c;
    if (z->last >= 0 && z->next < CODES) {
        z->before[z->next] = (uint16_t)z->last, z->color[z->next] = (uint8_t)c, z->first[z->next] = z->first[z->last];
        if (++z->next == 1 << z->width && z->width < 12) z->width++;
    }
    z->last = code;
    return n;
}

/* The row that comes as the i-th: of interlaced pictures every 8th from 0, then from 4, every 4th from 2, every 2nd
 * from 1. */
static int64_t row_of(const gif *g, int64_t i) {
    static const int from[] = {0, 4, 2, 1}, by[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4 && g->interlaced; pass++) {
        const int64_t n = g->rows > from[pass] ? (g->rows - from[pass] + by[pass] - 1) / by[pass] : 0;
        if (i < n) return from[pass] + i * by[pass];
        i -= n;
    }
    return i;
}

static wick_status draw(const gif *g, lzw *z, const uint8_t *data, size_t size, uint8_t *out, const char *name,
                        wick_msg *msg) {
    reader r = {.data = data, .size = size, .at = g->codes + 1};
    const int64_t pixels = g->rows * g->columns;
    z->least = data[g->codes];
    clear(z);
    for (int64_t done = 0; done < pixels;) {
        const int code = next_code(&r, z->width);
        if (code < 0 || code == (1 << z->least) + 1)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: %lld pixels of %lld", name, (long long)done,
                                (long long)pixels);
        if (code == 1 << z->least) {
            clear(z);
            continue;
        }
        int n = expand(z, code);
        if (!n)
            return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: a code that stands for nothing before byte %zu",
                                name, r.at);
        while (n && done < pixels) {
            const uint8_t color = z->chain[--n];
            uint8_t *to = out + 3 * ((g->top + row_of(g, done / g->columns)) * g->width + g->left + done % g->columns);
            if (color >= g->colors)
                return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged GIF: color %u of %u", name, color, g->colors);
            if (color != g->clear) memcpy(to, g->palette + 3 * (size_t)color, 3);
            done++;
        }
    }
    return WICK_OK;
}

static wick_status decode_gif(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                              const char *name, wick_msg *msg) {
    gif g;
    (void)library;
    WICK_TRY(read_gif(data, size, &g, name, msg));
    if (g.height != p->height || g.width != p->width)
        return wick_msg_set(msg, WICK_ERR_INTERNAL, "%s: another picture than its header's", name);
    memset(out, 255, (size_t)(3 * g.height * g.width));
    lzw *z = wick_calloc(NULL, sizeof *z);
    if (!z) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_status status = draw(&g, z, data, size, out, name, msg);
    wick_release(NULL, z, sizeof *z);
    return status;
}

const wick_codec wick_codec_gif = {"GIF", WICK_PICTURE_RATIO_MAX, is_gif, open_gif, close_gif, gif_header, decode_gif};
