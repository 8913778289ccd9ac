#include "box_fit.h"

#include <math.h>
#include <string.h>

box_fit box_fit_of(bool letterbox, int64_t height, int64_t width, int64_t to_height, int64_t to_width) {
    box_fit fit = {.from = {height, width}, .to = {to_height, to_width}, .inner = {to_height, to_width}};
    if (!letterbox) return fit;
    const double scale = fmin((double)to_height / (double)height, (double)to_width / (double)width);
    for (int k = 0; k < 2; k++) {
        const int64_t side = llround((double)fit.from[k] * scale);
        fit.inner[k] = side < 1 ? 1 : side > fit.to[k] ? fit.to[k] : side;
        fit.before[k] = (fit.to[k] - fit.inner[k]) / 2;
    }
    return fit;
}

void box_fit_points(const box_fit *fit, bool back, int64_t n, int64_t stride, float *points) {
    for (int64_t i = 0; i < n; i++, points += stride)
        for (int k = 0; k < 2; k++) {
            const int side = 1 - k; /* x is along the width */
            const double scale = (double)fit->inner[side] / (double)fit->from[side], at = (double)points[k];
            points[k] =
                (float)(back ? (at - (double)fit->before[side]) / scale : at * scale + (double)fit->before[side]);
        }
}

wick_status box_fit_picture(wick_context *ctx, const wick_image *image, int64_t i, const box_fit *fit,
                            uint8_t *pixels) {
    const int64_t channels = wick_image_dims(image)[0], high = fit->to[0], wide = fit->to[1];
    const bool same = fit->inner[0] == fit->from[0] && fit->inner[1] == fit->from[1];
    wick_image *resized = NULL;
    if (!same) {
        const wick_status status = wick_image_resize(ctx, image, fit->inner[0], fit->inner[1], &resized);
        if (status != WICK_OK) return status;
    }
    const uint8_t *from = wick_image_pixels(same ? image : resized, i);
    memset(pixels, BOX_FIT_GREY, (size_t)(channels * high * wide));
    for (int64_t c = 0; c < channels; c++)
        for (int64_t y = 0; y < fit->inner[0]; y++)
            memcpy(pixels + (c * high + fit->before[0] + y) * wide + fit->before[1],
                   from + (c * fit->inner[0] + y) * fit->inner[1], (size_t)fit->inner[1]);
    wick_image_free(&resized);
    return WICK_OK;
}
