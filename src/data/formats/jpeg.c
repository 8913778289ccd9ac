/* jpeg.c: libjpeg-turbo's TurboJPEG interface, version 2 (libturbojpeg.so.0), declared by hand. */
#include <dlfcn.h>

#include "data/formats/codecs.h"
#include "base/library.h"

enum { PIXELS_RGB = 0, PIXELS_GREY = 6 };                                       /* enum TJPF */
enum { SPACE_GREY = 2, SPACE_CMYK = 3, SPACE_YCCK = 4 };                        /* enum TJCS */
/* TJFLAG_*: 500 scans; a bomb has thousands */
enum { ACCURATE_DCT = 4096, STOP_ON_WARNING = 8192, LIMIT_SCANS = 32768 };

typedef struct jpeg {
    void *handle;
    void *(*start)(void);
    int (*stop)(void *);
    int (*header)(void *, const unsigned char *data, unsigned long size, int *width, int *height, int *subsampling,
                  int *space);
    int (*decode)(void *, const unsigned char *data, unsigned long size, unsigned char *to, int width, int pitch,
                  int height, int format, int flags);
    char *(*error)(void *);
} jpeg;

static bool is_jpeg(const uint8_t *data, size_t size) { return size >= 3 && memcmp(data, "\xff\xd8\xff", 3) == 0; }

static void close_jpeg(void **library) {
    jpeg *j = *library;
    if (j->handle) dlclose(j->handle);
    wick_release(NULL, j, sizeof *j);
    *library = NULL;
}

static wick_status open_jpeg(void **library, const char *name, wick_msg *msg) {
    static const wick_library turbo = {"reading JPEG",
                                       "libjpeg-turbo (libturbojpeg.so.0; Debian: libturbojpeg0)",
                                       {"libturbojpeg.so.0", "libturbojpeg.so", "libturbojpeg.dylib"}};
    jpeg *j = *library = wick_calloc(NULL, sizeof *j);
    if (!j) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory", name);
    const wick_symbol symbols[] = {{"tjInitDecompress", &j->start},
                                   {"tjDestroy", &j->stop},
                                   {"tjDecompressHeader3", &j->header},
                                   {"tjDecompress2", &j->decode},
                                   {"tjGetErrorStr2", &j->error}};
    const wick_status status = wick_library_open(&j->handle, &turbo, WICK_COUNTOF(symbols), symbols, name, msg);
    if (status != WICK_OK) close_jpeg(library);
    return status;
}

static wick_status read_header(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                               wick_msg *msg) {
    const jpeg *j = library;
    /* libjpeg-turbo takes a file that ends before its frame for good, and writes none */
    int width = 0, height = 0, subsampling, space = SPACE_GREY;
    void *decoder = j->start();
    if (!decoder) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libjpeg-turbo", name);
    wick_status status = WICK_OK;
    if (j->header(decoder, data, size, &width, &height, &subsampling, &space) != 0)
        status = wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG: %s", name, j->error(decoder));
    else if (width < 1 || height < 1)
        status = wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG: it has no frame", name);
    else if (space == SPACE_CMYK || space == SPACE_YCCK)
        status =
            wick_msg_set(msg, WICK_ERR_UNSUPPORTED, "%s: a JPEG in CMYK, which has no one way to become RGB", name);
    else
        *p = (wick_picture){.codec = p->codec,
                            .channels = space == SPACE_GREY ? 1 : 3,
                            .height = height,
                            .width = width,
                            .stride = space == SPACE_GREY ? 1 : 3};
    j->stop(decoder);
    return status;
}

/* A warning is damage: libjpeg makes something up for what is missing. It decodes at the largest scale that fits p's
 * size, which is that of wick_picture_shrink. */
static wick_status decode_jpeg(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                               const char *name, wick_msg *msg) {
    const jpeg *j = library;
    void *decoder = j->start();
    if (!decoder) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory in libjpeg-turbo", name);
    wick_status status = WICK_OK;
    if (j->decode(decoder, data, size, out, (int)p->width, 0, (int)p->height,
                  p->channels == 1 ? PIXELS_GREY : PIXELS_RGB, ACCURATE_DCT | STOP_ON_WARNING | LIMIT_SCANS) != 0)
        status = wick_msg_set(msg, WICK_ERR_FORMAT, "%s: damaged JPEG: %s", name, j->error(decoder));
    j->stop(decoder);
    return status;
}

const wick_codec wick_codec_jpeg = {"JPEG",     WICK_PICTURE_RATIO_MAX, is_jpeg, open_jpeg, close_jpeg, read_header,
                                    decode_jpeg};
