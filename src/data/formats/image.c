/* image.c: the pictures of a file: through their codecs, IDX by its reader. */
#include "base/kinds.h"
#include "data/formats/codecs.h"
#include "data/formats/gzip.h"
#include "data/formats/idx.h"
#include "tensor/tensor.h" /* the context's allocator */
#include "wick/data.h"

struct wick_image {
    wick_allocator alloc;
    int64_t count, dims[3], size; /* channels, height, width, and their product */
    uint8_t *pixels;
    size_t bytes;
};

static wick_status new_image(wick_image **out, const wick_allocator *alloc, int64_t count, const int64_t dims[3],
                             wick_msg *msg) {
    wick_image *m = wick_calloc(alloc, sizeof *m);
    *out = NULL;
    if (!m) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory");
    *m = (wick_image){
        .alloc = *alloc, .count = count, .dims = {dims[0], dims[1], dims[2]}, .size = dims[0] * dims[1] * dims[2]};
    if (!wick_mul_overflows((size_t)count, (size_t)m->size, &m->bytes) && m->bytes <= PTRDIFF_MAX)
        m->pixels = wick_alloc(alloc, m->bytes);
    *out = m;
    if (m->pixels) return WICK_OK;
    m->bytes = 0;
    wick_image_free(out);
    return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory: %lld pictures of %lld x %lld x %lld", (long long)count,
                        (long long)dims[0], (long long)dims[1], (long long)dims[2]);
}

void wick_image_free(wick_image **image) {
    wick_image *m = image ? *image : NULL;
    if (!m) return;
    *image = NULL;
    const wick_allocator alloc = m->alloc;
    wick_release(&alloc, m->pixels, m->bytes);
    wick_release(&alloc, m, sizeof *m);
}

int64_t wick_image_count(const wick_image *m) { return m->count; }
const int64_t *wick_image_dims(const wick_image *m) { return m->dims; }
const uint8_t *wick_image_pixels(const wick_image *m, int64_t i) {
    return i >= 0 && i < m->count ? m->pixels + i * m->size : NULL;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static wick_status from_idx(wick_image **out, const wick_idx *idx, const wick_allocator *alloc, int64_t channels,
                            const char *name, wick_msg *msg) {
    const int rank = idx->rank;
    const int64_t count = rank > 2 ? idx->dims[0] : 1, own = rank == 4 ? idx->dims[1] : 1;
    if (idx->dtype != WICK_U8 || rank < 2 || rank > 4 || (own != 1 && own != 3))
        return wick_msg_set(
            msg, WICK_ERR_FORMAT,
            "%s: pictures are u8 [H, W], [N, H, W], [N, 1, H, W] or [N, 3, H, W]; this is %s of %d dims", name,
            wick_dtype_name(idx->dtype), rank);
    if (!idx->bytes) return wick_msg_set(msg, WICK_ERR_FORMAT, "%s: holds no pictures", name);
    const int64_t dims[] = {channels ? channels : own, idx->dims[rank - 2], idx->dims[rank - 1]},
                  pixels = dims[1] * dims[2];
    WICK_TRY(new_image(out, alloc, count, dims, msg));
    for (int64_t i = 0; i < count; i++)
        wick_picture_planes((const uint8_t *)idx->data + i * own * pixels, 1, pixels, own,
                            (*out)->pixels + i * (*out)->size, dims[0], pixels);
    return WICK_OK;
}

static wick_status from_picture(wick_image **out, wick_codecs *codecs, const void *data, size_t size, const char *name,
                                const wick_allocator *alloc, int64_t channels, wick_msg *msg) {
    wick_picture p;
    WICK_TRY(wick_picture_header(codecs, data, size, &p, name, msg));
    const int64_t dims[] = {channels ? channels : p.channels, p.height, p.width};
    WICK_TRY(new_image(out, alloc, 1, dims, msg));
    const wick_status status = wick_picture_decode(codecs, data, size, &p, dims[0], (*out)->pixels, name, msg);
    if (status != WICK_OK) wick_image_free(out);
    return status;
}

static bool is_idx(const uint8_t *data, size_t size) {
    const wick_kind *kind = wick_kind_of(data, size);
    return wick_gzip_is(data, size) ||
           (size >= 4 && data[0] == 0 && data[1] == 0 && (!kind || strcmp(kind->format, "idx") == 0));
}

wick_status wick_image_decode(wick_context *ctx, const void *data, size_t size, const char *name, int64_t channels,
                              wick_image **out) {
    if (!data) return wick_context_fail(ctx, WICK_ERR_INVALID, "image_decode: data is NULL");
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "image_decode: out is NULL");
    wick_msg msg = {0};
    wick_status status;
    *out = NULL;
    if (!name) name = "a picture in memory";
    if (channels != 0 && channels != 1 && channels != 3)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "image: %lld channels; there are 1 (grey) and 3 (RGB)",
                                 (long long)channels);
    if (is_idx(data, size)) {
        wick_idx idx;
        status = wick_idx_parse(&idx, data, size, name, &ctx->alloc, &msg);
        if (status == WICK_OK) status = from_idx(out, &idx, &ctx->alloc, channels, name, &msg);
        wick_idx_free(&idx);
    } else {
        wick_codecs codecs = {.how = ctx->options.pictures};
        status = from_picture(out, &codecs, data, size, name, &ctx->alloc, channels, &msg);
        wick_codecs_close(&codecs);
    }
    return status == WICK_OK ? WICK_OK : wick_context_fail(ctx, status, "image: %s", msg.text);
}

wick_status wick_image_open(wick_context *ctx, const char *path, int64_t channels, wick_image **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "image_open: out is NULL");
    wick_map map;
    wick_msg msg;
    *out = NULL;
    wick_status status = wick_map_read(&map, path, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "image: %s", msg.text);
    status = wick_image_decode(ctx, map.data, map.size, path, channels, out);
    wick_map_close(&map);
    return status;
}

/* ---- another size ------------------------------------------------------------------------------------------------ */

/* The inputs that an output along one dim is made of: first..last, and their weights by the formula in wick/data.h. */
typedef struct window {
    int64_t first, last;
    double center, scale;
} window;

static window window_of(int64_t o, int64_t from, int64_t to) {
    const double ratio = (double)from / (double)to, scale = WICK_MAX(1.0, ratio), center = ((double)o + 0.5) * ratio;
    const int64_t first = (int64_t)(center - scale), last = (int64_t)(center + scale);
    return (window){WICK_MAX(first, 0), WICK_MIN(last, from - 1), center, scale};
}

static double weight(const window *w, int64_t i) {
    const double distance = (double)i + 0.5 - w->center, weight = 1 - (distance < 0 ? -distance : distance) / w->scale;
    return WICK_MAX(weight, 0);
}

/* One dim of [outer, from, inner] becomes `to` long. The input is bytes or, where those are NULL, values; the output
 * goes to means, or rounded. */
static void resize_dim(const uint8_t *bytes, const double *values, int64_t outer, int64_t from, int64_t inner,
                       int64_t to, double *means, uint8_t *rounded) {
    for (int64_t o = 0; o < outer * to; o++) {
        const window w = window_of(o % to, from, to);
        for (int64_t k = 0; k < inner; k++) {
            double sum = 0, weights = 0;
            for (int64_t i = w.first; i <= w.last; i++) {
                const int64_t at = (o / to * from + i) * inner + k;
                sum += weight(&w, i) * (bytes ? bytes[at] : values[at]);
                weights += weight(&w, i);
            }
            if (means)
                means[o * inner + k] = sum / weights;
            else
                rounded[o * inner + k] = (uint8_t)(sum / weights + 0.5);
        }
    }
}

/* Whichever of the dims leaves less between the two comes first: at most sqrt(input pixels * output pixels) means, so
 * that a row of 2^26 pixels costs no more than a square of them. */
static bool rows_first(const int64_t from[2], const int64_t to[2]) { return to[0] * from[1] <= from[0] * to[1]; }

static void resize_plane(const uint8_t *plane, const int64_t from[2], double *means, uint8_t *out,
                         const int64_t to[2]) {
    if (rows_first(from, to)) {
        resize_dim(plane, NULL, 1, from[0], from[1], to[0], means, NULL);
        resize_dim(NULL, means, to[0], from[1], 1, to[1], NULL, out);
    } else {
        resize_dim(plane, NULL, from[0], from[1], 1, to[1], means, NULL);
        resize_dim(NULL, means, 1, from[0], to[1], to[0], NULL, out);
    }
}

wick_status wick_picture_resize(const uint8_t *planes, int64_t channels, const int64_t from[2], uint8_t *out,
                                const int64_t to[2], const char *name, wick_msg *msg) {
    const size_t bytes = (size_t)(rows_first(from, to) ? to[0] * from[1] : from[0] * to[1]) * sizeof(double);
    double *means = wick_alloc(NULL, bytes);
    if (!means) return wick_msg_set(msg, WICK_ERR_NOMEM, "%s: out of memory: %zu bytes", name, bytes);
    for (int64_t c = 0; c < channels; c++)
        resize_plane(planes + c * from[0] * from[1], from, means, out + c * to[0] * to[1], to);
    wick_release(NULL, means, bytes);
    return WICK_OK;
}

wick_status wick_image_resize(wick_context *ctx, const wick_image *image, int64_t height, int64_t width,
                              wick_image **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "image_resize: out is NULL");
    *out = NULL;
    if (height < 1 || width < 1 || height > WICK_PICTURE_PIXELS_MAX / width)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "image: no size: %lld x %lld pixels; at most %lld together",
                                 (long long)height, (long long)width, (long long)WICK_PICTURE_PIXELS_MAX);
    const int64_t dims[] = {image->dims[0], height, width}, *from = image->dims + 1, *to = dims + 1;
    const size_t bytes = (size_t)(rows_first(from, to) ? to[0] * from[1] : from[0] * to[1]) * sizeof(double);
    wick_msg msg;
    const wick_status status = new_image(out, &ctx->alloc, image->count, dims, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "image: %s", msg.text);
    double *means = wick_alloc(&ctx->alloc, bytes);
    if (!means) {
        wick_image_free(out);
        return wick_context_fail(ctx, WICK_ERR_NOMEM, "image: out of memory: %zu bytes", bytes);
    }
    const int64_t planes = image->count * dims[0];
    for (int64_t k = 0; k < planes; k++)
        resize_plane(image->pixels + k * from[0] * from[1], from, means, (*out)->pixels + k * height * width, to);
    wick_release(&ctx->alloc, means, bytes);
    return WICK_OK;
}

wick_status wick_image_crop(wick_context *ctx, const wick_image *image, int64_t top, int64_t left, int64_t height,
                            int64_t width, wick_image **out) {
    if (!out) return wick_context_fail(ctx, WICK_ERR_INVALID, "image_crop: out is NULL");
    *out = NULL;
    if (!image) return wick_context_fail(ctx, WICK_ERR_INVALID, "image_crop: image is NULL");
    const int64_t *d = image->dims;
    if (top < 0 || left < 0 || height < 1 || width < 1 || top >= d[1] || left >= d[2] || height > d[1] - top ||
        width > d[2] - left)
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "image_crop: %lld x %lld pixels from %lld, %lld on are not within %lld x %lld",
                                 (long long)height, (long long)width, (long long)top, (long long)left, (long long)d[1],
                                 (long long)d[2]);
    wick_msg msg;
    const wick_status status = new_image(out, &ctx->alloc, image->count, (int64_t[]){d[0], height, width}, &msg);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "image: %s", msg.text);
    uint8_t *to = (*out)->pixels;
    for (int64_t plane = 0; plane < image->count * d[0]; plane++)
        for (int64_t y = top; y < top + height; y++, to += width)
            memcpy(to, image->pixels + (plane * d[1] + y) * d[2] + left, (size_t)width);
    return WICK_OK;
}
