/* codecs.h: decoders of pictures, one file each: JPEG by libjpeg-turbo, PNG by libspng, WebP by libwebp, TIFF by
 * libtiff, JPEG 2000 by OpenJPEG, loaded when they are needed; BMP, PNM and GIF by readers of our own. */
#ifndef WICK_DATA_CODECS_H
#define WICK_DATA_CODECS_H

#include "base/base.h"
#include "wick/context.h" /* wick_pictures */

/* Pictures beyond this are refused before anything is allocated for them. */
#define WICK_PICTURE_PIXELS_MAX ((int64_t)1 << 26)
/* Bytes of decoded RGBA that a byte of a file can stand for, of codecs that have a bound: deflate's best
 * (WICK_DEFLATE_RATIO_MAX) at 8 pixels a byte. JPEG's is lower: a bit for each block of 8 x 8, which is shared by 16
 * pixels at the coarsest subsampling: 1024 pixels in 18 bits, and 2 scans' ends. */
#define WICK_PICTURE_RATIO_MAX (4 * 8 * 1032)

typedef struct wick_codec wick_codec;
/* What the header of a picture says. */
typedef struct wick_picture {
    const wick_codec *codec;
    int64_t channels, height, width; /* 1: grey, 3: RGB */
    int stride;                      /* bytes of a pixel as `decode` writes it: 1 grey, 3 RGB, 4 RGBA */
    int turn;                        /* by EXIF's numbers from what is stored to these extents; 0 or 1: not at all */
} wick_picture;

struct wick_codec {
    const char *format;
    int64_t ratio; /* WICK_PICTURE_RATIO_MAX; 0: a blank picture of any size is a few bytes (G4, JPEG 2000, WebP) */
    bool (*is)(const uint8_t *data, size_t size);
    wick_status (*open)(void **library, const char *name, wick_msg *msg);
    void (*close)(void **library);
    /* Fills in all but the codec; the budget is not its business. */
    wick_status (*header)(void *library, const uint8_t *data, size_t size, wick_picture *p, const char *name,
                          wick_msg *msg);
    /* height x width pixels of p->stride bytes. A damaged or cut file is an error. May be called by many threads at
     * once. */
    wick_status (*decode)(void *library, const uint8_t *data, size_t size, const wick_picture *p, uint8_t *out,
                          const char *name, wick_msg *msg);
};
extern const wick_codec wick_codec_jpeg, wick_codec_png, wick_codec_bmp, wick_codec_webp, wick_codec_gif,
    wick_codec_pnm, wick_codec_tiff, wick_codec_jpeg2000;

/* The libraries that were needed so far; zero: none. */
enum { WICK_CODECS = 8 };
typedef struct wick_codecs {
    void *library[WICK_CODECS];
    wick_pictures how;
} wick_codecs;

/* Whether the bytes begin as a format's do that is read. */
bool wick_picture_is(const void *data, size_t size);
/* Whether a name ends as pictures' do, in any case: .jpg .jpeg .png .bmp .webp .gif .tif .tiff .pbm .pgm .ppm .pnm .jp2
 * .j2k */
bool wick_picture_named(const char *name);
/* How the file says that it is to be turned, 1 to 8 as EXIF has it: 2 mirrored, 3 by half a turn, 4 upside down, 5
 * mirrored and 8, 6 clockwise, 7 mirrored and 6, 8 the other way. */
int wick_picture_orientation(const uint8_t *data, size_t size);
/* Pixels of `stride` bytes, [height, width] as they are stored, turned by such a number. */
void wick_picture_turn(const uint8_t *from, int64_t height, int64_t width, int64_t stride, int turn, uint8_t *to);

/* Recognises the format, loads its library, reads the header. A picture whose size is over the budget, or more than the
 * file can hold, is refused. WICK_ERR_FORMAT, WICK_ERR_UNSUPPORTED, WICK_ERR_NOMEM; `name` stands in messages. */
WICK_MUST_CHECK wick_status wick_picture_header(wick_codecs *codecs, const void *data, size_t size, wick_picture *p,
                                                const char *name, wick_msg *msg);
/* A size that is decoded instead: of a JPEG the smallest of 1/8, 1/4 and 1/2 whose sides are at least so long, if there
 * is one. Others stay whole. 0: as it is. */
void wick_picture_shrink(wick_picture *p, int64_t least);
/* out: u8 [channels, height, width]; channels 1 or 3. Threads may share codecs. */
WICK_MUST_CHECK wick_status wick_picture_decode(const wick_codecs *codecs, const void *data, size_t size,
                                                const wick_picture *p, int64_t channels, uint8_t *out, const char *name,
                                                wick_msg *msg);
/* The same resized to [channels, height, width], where p is of another size. */
WICK_MUST_CHECK wick_status wick_picture_decode_to(const wick_codecs *codecs, const void *data, size_t size,
                                                   const wick_picture *p, int64_t channels, int64_t height,
                                                   int64_t width, uint8_t *out, const char *name, wick_msg *msg);
/* Planes [channels, height, width] of one size to another: image.c has the formula. */
WICK_MUST_CHECK wick_status wick_picture_resize(const uint8_t *planes, int64_t channels, const int64_t from[2],
                                                uint8_t *out, const int64_t to[2], const char *name, wick_msg *msg);
#define WICK_RESIZED "%lld of its %lld pictures had another size and were resized to %lld x %lld" /* height x width */
/* RGBA: what shines through is put on white, as on a page. */
void wick_picture_flatten(uint8_t *rgba, size_t pixels);
void wick_codecs_close(wick_codecs *codecs);

/* Pixels whose bytes are `stride` apart, channels `plane` apart, to [to, pixels]. RGB becomes grey as 0.299 R + 0.587 G
 * + 0.114 B, rounded (ITU-R BT.601, what JPEG calls Y); grey becomes RGB by repeating it. */
void wick_picture_planes(const uint8_t *from, int64_t stride, int64_t plane, int64_t channels, uint8_t *to,
                         int64_t to_channels, int64_t pixels);

#endif
