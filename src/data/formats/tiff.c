/* tiff.c: libtiff 4.5 or later (libtiff.so.6), declared by hand: its RGBA interface, which knows all of its
 * compressions. The first picture of a file. Earlier versions print errors. */
#include <dlfcn.h>
#include <stdio.h>

#include "data/formats/codecs.h"
#include "base/library.h"

typedef struct TIFF tiff_file;
typedef struct TIFFOpenOptions tiff_options;
enum { WIDTH = 256, HEIGHT = 257, PHOTOMETRIC = 262, ORIENTATION = 274, SAMPLES = 277, EXTRA = 338 }; /* TIFFTAG_* */
enum { BLACK_IS_ZERO = 1, NOT_MULTIPLIED = 2, TOP_LEFT = 1, MOST_BLOCK = 1 << 28 };

typedef int (*handler)(tiff_file *, void *user, const char *module, const char *format, va_list);
typedef struct tiff {
    void *handle;
    tiff_options *(*options)(void);
    void (*free_options)(tiff_options *);
    void (*set_most)(tiff_options *, int64_t bytes);
    void (*on_error)(tiff_options *, handler, void *user);
    void (*on_warning)(tiff_options *, handler, void *user);
    tiff_file *(*open)(const char *name, const char *mode, void *user, int64_t (*read)(void *, void *, int64_t),
                       int64_t (*write)(void *, void *, int64_t), uint64_t (*seek)(void *, uint64_t, int),
                       int (*close)(void *), uint64_t (*size)(void *), int (*map)(void *, void **, uint64_t *),
                       void (*unmap)(void *, void *, uint64_t), tiff_options *);
    void (*close)(tiff_file *);
    int (*get)(tiff_file *, uint32_t tag, ...);
    int (*get_defaulted)(tiff_file *, uint32_t tag, ...);
    int (*suits)(tiff_file *, char why[1024]);
    int (*decode)(tiff_file *, uint32_t width, uint32_t height, uint32_t *to, int orientation, int stop);
} tiff;

/* The file in memory, and the first error. */
typedef struct source {
    const uint8_t *data;
    uint64_t size, at;
    char why[200];
} source;

static bool is_tiff(const uint8_t *data, size_t size) {
    return size >= 8 && (memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0 ||
                         memcmp(data, "II+\0", 4) == 0 || memcmp(data, "MM\0+", 4) == 0);
}

static int64_t read_some(void *user, void *to, int64_t n) {
    source *s = user;
    const uint64_t left = s->at < s->size ? s->size - s->at : 0, take = n < 0 ? 0 : WICK_MIN((uint64_t)n, left);
    if (take) memcpy(to, s->data + s->at, (size_t)take);
    s->at += take;
    return (int64_t)take;
}
static int64_t write_none(void *user, void *from, int64_t n) { return (void)user, (void)from, (void)n, -1; }
static uint64_t seek(void *user, uint64_t to, int whence) {
    source *s = user;
    return s->at = whence == SEEK_SET ? to : whence == SEEK_CUR ? s->at + to : s->size + to;
}
static int close_none(void *user) { return (void)user, 0; }
static uint64_t size_of(void *user) { return ((source *)user)->size; }
static int map_none(void *user, void **base, uint64_t *size) { return (void)user, (void)base, (void)size, 0; }
static void unmap_none(void *user, void *base, uint64_t size) { (void)user, (void)base, (void)size; }

static int keep_error(tiff_file *file, void *user, const char *module, const char *format, va_list args) {
    source *s = user;
    (void)file, (void)module;
    if (!*s->why) vsnprintf(s->why, sizeof s->why, format, args);
    return 1; /* said */
}
static int pass_over(tiff_file *file, void *user, const char *module, const char *format, va_list args) {
    return (void)file, (void)user, (void)module, (void)format, (void)args, 1;
}

static void close_tiff(void **library) {
    tiff *t = *library;
    if (t->handle) dlclose(t->handle);
    wick_release(NULL, t, sizeof *t);
    *library = NULL;
}

static wick_status open_tiff(void **library, const char *name, wick_msg *msg) {
    static const wick_library libtiff = {"reading TIFF",
                                         "libtiff 4.5 (libtiff.so.6; Debian: libtiff6)",
                                         {"libtiff.so.6", "libtiff.so", "libtiff.dylib"}};
    tiff *t = *library = wick_calloc(NULL, sizeof *t);
    if (!t) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_symbol symbols[] = {{"TIFFOpenOptionsAlloc", &t->options},
                                   {"TIFFOpenOptionsFree", &t->free_options},
                                   {"TIFFOpenOptionsSetMaxSingleMemAlloc", &t->set_most},
                                   {"TIFFOpenOptionsSetErrorHandlerExtR", &t->on_error},
                                   {"TIFFOpenOptionsSetWarningHandlerExtR", &t->on_warning},
                                   {"TIFFClientOpenExt", &t->open},
                                   {"TIFFClose", &t->close},
                                   {"TIFFGetField", &t->get},
                                   {"TIFFGetFieldDefaulted", &t->get_defaulted},
                                   {"TIFFRGBAImageOK", &t->suits},
                                   {"TIFFReadRGBAImageOriented", &t->decode}};
    const wick_status status = wick_library_open(&t->handle, &libtiff, WICK_COUNTOF(symbols), symbols, name, msg);
    if (status != WICK_OK) close_tiff(library);
    return status;
}

/* NULL: *msg says why. s must stay where it is until t->close. */
static tiff_file *begin(const tiff *t, source *s, const char *name, wick_msg *msg) {
    tiff_options *o = t->options();
    tiff_file *file = NULL;
    if (o) {
        t->set_most(o, MOST_BLOCK);
        t->on_error(o, keep_error, s);
        t->on_warning(o, pass_over, NULL);
        file = t->open("TIFF", "rm", s, read_some, write_none, seek, close_none, size_of, map_none, unmap_none, o);
        t->free_options(o);
    }
    if (file) *s->why = 0; /* a tag that says nothing is no damage */
    else (void)wick_msg_set(msg, *s->why || o ? WICK_ERR_FORMAT : WICK_ERR_NOMEM, "%s: damaged TIFF: %s", name, s->why);
    return file;
}

static wick_status tiff_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                               wick_msg *msg) {
    const tiff *t = library;
    source s = {.data = data, .size = size};
    uint32_t width = 0, height = 0;
    uint16_t photometric = 0, samples = 1;
    char why[1024] = "";
    tiff_file *file = begin(t, &s, name, msg);
    if (!file) return WICK_ERR_FORMAT;
    wick_status status = WICK_OK;
    if (!t->get(file, WIDTH, &width) || !t->get(file, HEIGHT, &height))
        status = wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged TIFF: it has no size", name);
    else if (!t->suits(file, why))
        status = wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a TIFF that is not read: %.300s", name, why);
    else {
        (void)t->get_defaulted(file, SAMPLES, &samples);
        const bool grey = t->get(file, PHOTOMETRIC, &photometric) && photometric <= BLACK_IS_ZERO && samples <= 2;
        *p = (wick_picture){.codec = p->codec, .channels = grey ? 1 : 3, .height = height, .width = width, .stride = 4};
    }
    t->close(file);
    return status;
}

/* Grey whose alpha libtiff hands on as it is: it multiplies that of colors alone. */
static bool is_plain_grey(const tiff *t, tiff_file *file) {
    uint16_t photometric = 0, samples = 1, n = 0, *kinds = NULL;
    (void)t->get_defaulted(file, SAMPLES, &samples);
    return t->get(file, PHOTOMETRIC, &photometric) && photometric <= BLACK_IS_ZERO && samples == 2 &&
           t->get(file, EXTRA, &n, &kinds) && n == 1 && kinds[0] == NOT_MULTIPLIED;
}

/* Rows as they are stored: asking for the orientation that the file has turns nothing. Alpha comes multiplied in. */
static wick_status decode_tiff(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                               const char *name, wick_msg *msg) {
    const tiff *t = library;
    source s = {.data = data, .size = size};
    uint16_t orientation = TOP_LEFT;
    tiff_file *file = begin(t, &s, name, msg);
    if (!file) return WICK_ERR_FORMAT;
    (void)t->get_defaulted(file, ORIENTATION, &orientation);
    const size_t pixels = (size_t)(p->height * p->width);
    const bool plain = is_plain_grey(t, file);
    uint32_t *raster = (uint32_t *)(void *)out; /* as wick_picture_decode takes memory, it is aligned */
    const bool whole = t->decode(file, (uint32_t)p->width, (uint32_t)p->height, raster, orientation, 1) && !*s.why;
    t->close(file);
    if (!whole)
        return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged TIFF: %s", name,
                            *s.why ? s.why : "it cannot be decoded");
    for (size_t i = 0; i < pixels; i++, out += 4) {
        const uint32_t v = raster[i], alpha = v >> 24;
        for (int c = 0; c < 3; c++) {
            const uint32_t x = v >> 8 * c & 255;
            out[c] = (uint8_t)WICK_MIN((plain ? (x * alpha + 127) / 255 : x) + 255 - alpha, 255u);
        }
        out[3] = 255;
    }
    return WICK_OK;
}

const wick_codec wick_codec_tiff = {"TIFF", 0, is_tiff, open_tiff, close_tiff, tiff_header, decode_tiff};
