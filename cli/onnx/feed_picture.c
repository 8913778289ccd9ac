/* feed_picture.c: a picture as an input: resized, in the input's layout, and normalised as --scale, --mean and --std
 * say. */
#include "feed.h"
#include "numbers.h"
#include "ports.h"
#include "../term/log.h"

#include "wick/data.h"
#include "wick/ops.h"

#include <string.h>

/* Up to 3 numbers between commas, how many; 0: it is no such list. */
static int read_numbers(const char *text, double value[3]) {
    int n = 0;
    while (n < 3 && number_read(&text, &value[n])) {
        n++;
        if (!*text) return n;
        if (*text++ != ',') return 0;
    }
    return 0;
}

/* A tensor of 1 or `channels` numbers that broadcasts over [1, C, H, W]. */
static wick_status per_channel(wick_context *ctx, const char *option, const char *text, int64_t channels,
                               wick_tensor **out) {
    double value[3];
    float v[3];
    const int n = read_numbers(text, value);
    for (int i = 0; i < n; i++)
        if (value[i] == 0 && strcmp(option, "std") == 0)
            return wick_context_fail(ctx, WICK_ERR_INVALID, "--std %s: nothing can be divided by 0", text);
    if (!n || (n > 1 && n != channels))
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "--%s %s: one number, or one for each of %lld channel%s, with commas between", option,
                                 text, (long long)channels, plural(channels));
    for (int i = 0; i < n; i++) v[i] = (float)value[i];
    *out = wick_from(ctx, WICK_F32, 4, (int64_t[]){1, n, 1, 1}, v);
    return WICK_OK;
}

/* Where an input has its channels, rows and columns; -1: not. */
typedef struct layout {
    int c, h, w;
} layout;

static layout layout_of(const cli_options *o, const wick_onnx_port *p) {
    const int r = p->rank;
    if (r < 2 || r > 4) return (layout){1, 2, 3}; /* as of rank 4 */
    if (r == 2) return (layout){-1, 0, 1};
    const int first = r - 3, last = r - 1;
    const bool few_first = p->dims[first] == 1 || p->dims[first] == 3,
               few_last = p->dims[last] == 1 || p->dims[last] == 3;
    const bool hwc = strcmp(o->layout, "nhwc") == 0 || (strcmp(o->layout, "auto") == 0 && few_last && !few_first);
    return hwc ? (layout){last, first, first + 1} : (layout){first, first + 1, first + 2};
}

/* (pixel * scale - mean) / std, of the input's size, channels and layout. Pixels are 0 to 255. */
wick_status feed_picture(const cli_options *o, wick_context *ctx, const wick_onnx_port *p, const char *path,
                         wick_tensor **out) {
    wick_image *image = NULL, *sized = NULL;
    const layout at = layout_of(o, p);
    const bool known = p->rank >= 2 && p->rank <= 4;
    const int64_t channels = !known ? 3 : at.c < 0 ? 1 : p->dims[at.c] == 1 ? 1 : 3;
    if (known && at.c >= 0 && p->dims[at.c] >= 0 && p->dims[at.c] != channels) {
        char text[256];
        return wick_context_fail(ctx, WICK_ERR_INVALID,
                                 "%s: a picture has 1 or 3 channels, and the input %s is %s, whose axis %d would be "
                                 "theirs: --layout says another",
                                 path, p->name, port_type(p, text, sizeof text), at.c);
    }
    wick_tensor *mean, *deviation;
    double scale;
    const char *scale_text = o->of_run.scale;
    if (!number_read(&scale_text, &scale) || *scale_text)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "--scale %s is no number, as 1/255 is one", o->of_run.scale);
    wick_status status = per_channel(ctx, "mean", o->of_run.mean, channels, &mean);
    if (status == WICK_OK) status = per_channel(ctx, "std", o->of_run.std, channels, &deviation);
    if (status != WICK_OK) return status;
    status = wick_image_open(ctx, path, channels, &image);
    if (status != WICK_OK) return status;
    int64_t size[2] = {wick_image_dims(image)[1], wick_image_dims(image)[2]};
    for (int i = 0; i < 2 && known; i++) {
        const int d = i ? at.w : at.h;
        const bool open = p->dims[d] < 0;
        const int64_t extent = port_extent(o, p, d, 1);
        if (!open || extent != 1) size[i] = extent;
    }
    if (size[0] != wick_image_dims(image)[1] || size[1] != wick_image_dims(image)[2]) {
        log_note("%s: %lld x %lld is resized to %lld x %lld", path, (long long)wick_image_dims(image)[2],
                 (long long)wick_image_dims(image)[1], (long long)size[1], (long long)size[0]);
        status = wick_image_resize(ctx, image, size[0], size[1], &sized);
        wick_image_free(&image);
        if (status != WICK_OK) return status;
        image = sized;
    }
    char h[300], w[300];
    if (known && (port_extent(o, p, at.h, -1) < 0 || port_extent(o, p, at.w, -1) < 0))
        log_note("%s: %lld x %lld, as the input %s leaves that open; --dim %s=N and --dim %s=N resize it", path,
                 (long long)size[1], (long long)size[0], p->name, port_dim_name(p, at.w, w, sizeof w),
                 port_dim_name(p, at.h, h, sizeof h));
    wick_tensor *x =
        wick_from(ctx, WICK_U8, 4, (int64_t[]){1, channels, size[0], size[1]}, wick_image_pixels(image, 0));
    wick_image_free(&image);
    if (o->of_run.bgr) x = wick_flip(x, 1, (int[]){1});
    const bool scaled = scale != 1 || strcmp(o->of_run.mean, "0") != 0 || strcmp(o->of_run.std, "1") != 0;
    if (scaled)
        x = wick_div(wick_sub(wick_mul(wick_cast(x, WICK_F32), wick_constant(ctx, WICK_F32, scale)), mean), deviation);
    if (known && at.c == p->rank - 1) x = wick_permute(x, 4, (int[]){0, 2, 3, 1});
    if (p->rank == 3) x = wick_squeeze(x, 0);
    if (p->rank == 2) x = wick_reshape(x, 2, size);
    *out = x;
    char what[1024];
    bool rounded;
    snprintf(what, sizeof what, "%.900s%s", path,
             scaled                     ? ", as --scale, --mean and --std make it"
             : feed_dtype(p) == WICK_I8 ? " (--mean 128 makes bytes -128 to 127)"
                                        : "");
    return number_convert(ctx, p, what, out, &rounded);
}
