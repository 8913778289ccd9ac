/* jpeg2000.c: OpenJPEG 2 (libopenjp2.so.7), declared by hand. The header is read here before the library takes memory
 * by it: boxes of JP2 (ISO 15444-1, annex I) and the SIZ marker (A.5.1), whose size, tiles and components must be in
 * proportion to the file. */
#include <dlfcn.h>
#include <stdio.h>

#include "data/formats/codecs.h"
#include "base/library.h"

enum { CODESTREAM = 0, BOXES = 2 };                                            /* OPJ_CODEC_J2K, OPJ_CODEC_JP2 */
enum { SYCC = 3, EYCC = 4, CMYK = 5 };                                         /* OPJ_CLRSPC_* */
enum { PARAMETERS = 1 << 14, CHUNK = 1 << 16, SIZ = 42, TILE_PART = 14, MOST_COMPONENTS = 4, MOST_BITS = 16 };

typedef struct component { /* opj_image_comp_t */
    uint32_t dx, dy, w, h, x0, y0, prec, bpp, sgnd, resno_decoded, factor;
    int32_t *data;
    uint16_t alpha;
} component;
typedef struct image { /* opj_image_t */
    uint32_t x0, y0, x1, y1, numcomps;
    int color_space;
    component *comps;
    uint8_t *icc;
    uint32_t icc_length;
} image;
typedef struct codec codec;
typedef struct stream stream;

typedef struct jp2 {
    void *handle;
    codec *(*start)(int format);
    void (*stop)(codec *);
    void (*defaults)(void *parameters);
    int (*setup)(codec *, void *parameters);
    int (*on_error)(codec *, void (*)(const char *, void *), void *user);
    stream *(*stream)(size_t chunk, int is_input);
    void (*close)(stream *);
    void (*set_read)(stream *, size_t (*)(void *to, size_t n, void *user));
    void (*set_skip)(stream *, int64_t (*)(int64_t n, void *user));
    void (*set_seek)(stream *, int (*)(int64_t to, void *user));
    void (*set_user)(stream *, void *user, void (*)(void *));
    void (*set_length)(stream *, uint64_t);
    int (*header)(stream *, codec *, image **);
    int (*decode)(codec *, stream *, image *);
    int (*finish)(codec *, stream *);
    void (*free)(image *);
} jp2;

static bool is_boxes(const uint8_t *data, size_t size) {
    return size >= 12 && memcmp(data, "\0\0\0\x0cjP  \r\n\x87\n", 12) == 0;
}
static bool is_jp2(const uint8_t *data, size_t size) {
    return is_boxes(data, size) || (size >= 4 && memcmp(data, "\xff\x4f\xff\x51", 4) == 0);
}

static void close_jp2(void **library) {
    jp2 *j = *library;
    if (j->handle) dlclose(j->handle);
    wick_release(NULL, j, sizeof *j);
    *library = NULL;
}

static wick_status open_jp2(void **library, const char *name, wick_msg *msg) {
    static const wick_library openjpeg = {"reading JPEG 2000",
                                          "OpenJPEG (libopenjp2.so.7; Debian: libopenjp2-7)",
                                          {"libopenjp2.so.7", "libopenjp2.so", "libopenjp2.dylib"}};
    jp2 *j = *library = wick_calloc(NULL, sizeof *j);
    if (!j) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_symbol symbols[] = {{"opj_create_decompress", &j->start},
                                   {"opj_destroy_codec", &j->stop},
                                   {"opj_set_default_decoder_parameters", &j->defaults},
                                   {"opj_setup_decoder", &j->setup},
                                   {"opj_set_error_handler", &j->on_error},
                                   {"opj_stream_create", &j->stream},
                                   {"opj_stream_destroy", &j->close},
                                   {"opj_stream_set_read_function", &j->set_read},
                                   {"opj_stream_set_skip_function", &j->set_skip},
                                   {"opj_stream_set_seek_function", &j->set_seek},
                                   {"opj_stream_set_user_data", &j->set_user},
                                   {"opj_stream_set_user_data_length", &j->set_length},
                                   {"opj_read_header", &j->header},
                                   {"opj_decode", &j->decode},
                                   {"opj_end_decompress", &j->finish},
                                   {"opj_image_destroy", &j->free}};
    const wick_status status = wick_library_open(&j->handle, &openjpeg, WICK_COUNTOF(symbols), symbols, name, msg);
    if (status != WICK_OK) close_jp2(library);
    return status;
}

/* ---- the header -------------------------------------------------------------------------------------------------- */

static uint64_t big(const uint8_t *p, int bytes) {
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v = v << 8 | p[i];
    return v;
}

/* Where the codestream begins; size: there is none. Boxes: a length with the head's 8 bytes (1: 8 more bytes have it;
 * 0: up to the end), a name. */
static size_t find_codestream(const uint8_t *data, size_t size) {
    if (!is_boxes(data, size)) return 0;
    for (size_t at = 0; size - at >= 8;) {
        const bool is_long = big(data + at, 4) == 1 && size - at >= 16;
        const uint64_t head = is_long ? 16 : 8, said = is_long ? big(data + at + 8, 8) : big(data + at, 4),
                       length = said ? said : size - at;
        if (memcmp(data + at + 4, "jp2c", 4) == 0) return at + (size_t)head;
        if (length < head || length > size - at) return size;
        at += (size_t)length;
    }
    return size;
}

static wick_status jp2_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                              wick_msg *msg) {
    (void)library;
    const size_t at = find_codestream(data, size);
    const uint8_t *s = data + at;
    if (size - at < SIZ || memcmp(s, "\xff\x4f\xff\x51", 4) != 0)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG 2000: no codestream at byte %zu", name, at);
    const int64_t x1 = (int64_t)big(s + 8, 4), y1 = (int64_t)big(s + 12, 4), x0 = (int64_t)big(s + 16, 4),
                  y0 = (int64_t)big(s + 20, 4);
    const int64_t tile[2] = {(int64_t)big(s + 24, 4), (int64_t)big(s + 28, 4)},
                  from[2] = {(int64_t)big(s + 32, 4), (int64_t)big(s + 36, 4)};
    const uint64_t n = big(s + 40, 2);
    if (!n || n > MOST_COMPONENTS)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a JPEG 2000 picture of %llu components; 1 to %d are read",
                            name, (unsigned long long)n, MOST_COMPONENTS);
    if (size - at < SIZ + 3 * n || x1 <= x0 || y1 <= y0 || !tile[0] || !tile[1] || from[0] > x0 || from[1] > y0)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG 2000: its size or its tiles are none", name);
    const int64_t across = (x1 - from[0] + tile[0] - 1) / tile[0], down = (y1 - from[1] + tile[1] - 1) / tile[1];
    if ((uint64_t)across > (size / TILE_PART + 1) / (uint64_t)down)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG 2000: more tiles than its %zu bytes can hold", name,
                            size);
    const int64_t dx = s[SIZ + 1], dy = s[SIZ + 2];
    if (!dx || !dy)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG 2000: a component without a spacing", name);
    *p = (wick_picture){.codec = p->codec,
                        .channels = n <= 2 ? 1 : 3,
                        .height = (y1 + dy - 1) / dy - (y0 + dy - 1) / dy,
                        .width = (x1 + dx - 1) / dx - (x0 + dx - 1) / dx,
                        .stride = 4};
    return WICK_OK;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

typedef struct source {
    const uint8_t *data;
    size_t size, at;
    char why[200];
} source;

static size_t read_some(void *to, size_t n, void *user) {
    source *s = user;
    const size_t take = WICK_MIN(n, s->size - s->at);
    if (!take) return (size_t)-1; /* the end */
    memcpy(to, s->data + s->at, take);
    s->at += take;
    return take;
}
static int seek(int64_t to, void *user) {
    source *s = user;
    if (to < 0 || (uint64_t)to > s->size) return 0;
    s->at = (size_t)to;
    return 1;
}
static int64_t skip(int64_t n, void *user) {
    source *s = user;
    const int64_t left = (int64_t)(s->size - s->at), by = n > left ? left : n < -(int64_t)s->at ? -(int64_t)s->at : n;
    s->at = (size_t)((int64_t)s->at + by);
    return by || !n ? by : -1;
}
static void keep_error(const char *text, void *user) {
    source *s = user;
    if (*s->why) return;
    snprintf(s->why, sizeof s->why, "%s", text);
    s->why[strcspn(s->why, "\n")] = 0;
}

/* A sample of a component that may be coarser than the picture, as 0 to 255. */
static uint8_t sample(const component *c, int64_t x, int64_t y, int64_t width, int64_t height) {
    const int64_t most = ((int64_t)1 << c->prec) - 1, at = y * c->h / height * c->w + x * c->w / width;
    int64_t v = c->data[at] + (c->sgnd ? (int64_t)1 << (c->prec - 1) : 0);
    v = WICK_MAX(WICK_MIN(v, most), 0);
    return (uint8_t)((v * 255 + most / 2) / most);
}

/* ITU-R BT.601, as JPEG has it. */
static void from_ycc(uint8_t *rgb) {
    const double y = rgb[0], cb = rgb[1] - 128.0, cr = rgb[2] - 128.0,
                 v[3] = {y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb};
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(v[c] < 0 ? 0 : v[c] > 255 ? 255 : v[c] + 0.5);
}

static wick_status take_pixels(const image *m, const wick_picture *p, uint8_t *out, const char *name, wick_msg *msg) {
    if (!m->numcomps || m->numcomps > MOST_COMPONENTS || m->comps[0].w != p->width || m->comps[0].h != p->height ||
        (m->numcomps <= 2) != (p->channels == 1))
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED,
                            "%s: a JPEG 2000 picture of another size or other components than its codestream says",
                            name);
    if (m->color_space == CMYK || m->color_space == EYCC)
        return wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a JPEG 2000 picture in CMYK or e-YCC", name);
    for (uint32_t i = 0; i < m->numcomps; i++) {
        const component *c = &m->comps[i];
        if (!c->data || !c->w || !c->h || !c->prec || c->prec > MOST_BITS)
            return wick_msg_set(msg, WICK_ERR_UNSUPPORTED,
                                "%s: a JPEG 2000 picture with samples of %u bits; 1 to %d are read", name, c->prec,
                                MOST_BITS);
    }
    const bool coarse = m->numcomps >= 3 && (m->comps[1].w < m->comps[0].w ||
                                             m->comps[1].h < m->comps[0].h); /* only colors beside a brightness are */
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++, out += 4) {
            for (int c = 0; c < 3; c++) out[c] = sample(&m->comps[m->numcomps <= 2 ? 0 : c], x, y, p->width, p->height);
            out[3] = m->numcomps % 2 ? 255 : sample(&m->comps[m->numcomps - 1], x, y, p->width, p->height);
            if (m->numcomps >= 3 && (m->color_space == SYCC || coarse)) from_ycc(out);
        }
    return WICK_OK;
}

static wick_status run(const jp2 *j, codec *decoder, stream *in, void *parameters, source *s, const wick_picture *p,
                       uint8_t *out, const char *name, wick_msg *msg) {
    image *m = NULL;
    j->set_read(in, read_some), j->set_skip(in, skip), j->set_seek(in, seek);
    j->set_user(in, s, NULL), j->set_length(in, s->size);
    j->defaults(parameters);
    const bool whole = j->on_error(decoder, keep_error, s) && j->setup(decoder, parameters) &&
                       j->header(in, decoder, &m) && j->decode(decoder, in, m) && j->finish(decoder, in);
    const wick_status status = whole && !*s->why ? take_pixels(m, p, out, name, msg)
                                                 : wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG 2000: %s", name,
                                                                *s->why ? s->why : "it cannot be decoded");
    if (m) j->free(m);
    return status;
}

static wick_status decode_jp2(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                              const char *name, wick_msg *msg) {
    const jp2 *j = library;
    source s = {.data = data, .size = size};
    codec *decoder = j->start(is_boxes(data, size) ? BOXES : CODESTREAM);
    stream *in = decoder ? j->stream(CHUNK, 1) : NULL;
    void *parameters = in ? wick_calloc(NULL, PARAMETERS)
                          : NULL; /* opj_dparameters_t, of which nothing is known here but that it is smaller */
    const wick_status status = parameters ? run(j, decoder, in, parameters, &s, p, out, name, msg)
                                          : wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in OpenJPEG", name);
    wick_release(NULL, parameters, PARAMETERS);
    if (in) j->close(in);
    if (decoder) j->stop(decoder);
    if (status == WICK_OK) wick_picture_flatten(out, (size_t)(p->height * p->width));
    return status;
}

const wick_codec wick_codec_jpeg2000 = {"JPEG 2000", 0, is_jp2, open_jp2, close_jp2, jp2_header, decode_jp2};
