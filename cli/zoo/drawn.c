/* Pictures that are put together of photos: reading those, drawing over them, and writing what comes of it. */
#include "drawn.h"

#include "sounds.h"

#include "../term/log.h"

#include "wick/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void zoo_colour(double hue, double saturation, double value, float rgb[3]) {
    static const double from[3] = {5, 3, 1};
    for (int k = 0; k < 3; k++) {
        const double at = fmod(from[k] + 6 * hue, 6);
        rgb[k] = (float)(value * (1 - saturation * fmax(0, fmin(1, fmin(at, 4 - at)))));
    }
}

int zoo_square(const zoo_prep *p, const void *data, size_t size, const char *name, int side, uint8_t *to) {
    wick_image *whole = NULL, *image = NULL;
    int code = zoo_checked(p, wick_image_decode(p->ctx, data, size, name, 3, &whole));
    if (code == CLI_OK) code = zoo_checked(p, wick_image_resize(p->ctx, whole, side, side, &image));
    if (code == CLI_OK) memcpy(to, wick_image_pixels(image, 0), 3 * (size_t)side * (size_t)side);
    wick_image_free(&whole), wick_image_free(&image);
    return code;
}

int zoo_add_photo(zoo_prep *p, const void *data, size_t size, const char *name, const zoo_photo *as, zoo_photos *to) {
    if (to->n == to->room) {
        const int64_t room = to->room ? 2 * to->room : 64;
        void *list = realloc(to->list, (size_t)room * sizeof *to->list);
        if (!list) return zoo_out_of_memory();
        to->list = list, to->room = room;
    }
    uint8_t *pixels = malloc(3 * (size_t)as->size * (size_t)as->size);
    if (!pixels) return zoo_out_of_memory();
    const int code = zoo_square(p, data, size, name, as->size, pixels);
    if (code != CLI_OK) return free(pixels), code;
    to->list[to->n] = *as;
    to->list[to->n++].pixels = pixels;
    return CLI_OK;
}
void zoo_free_photos(zoo_photos *s) {
    for (int64_t i = 0; i < s->n; i++) free(s->list[i].pixels);
    free(s->list);
    *s = (zoo_photos){0};
}

const zoo_photo *zoo_pick_photo(const zoo_photos *s, int part, int kind, uint64_t *state) {
    int64_t fit = 0;
    for (int64_t i = 0; i < s->n; i++) fit += s->list[i].part == part && s->list[i].kind == kind;
    int64_t k = fit ? zoo_below(state, fit) : -1;
    for (int64_t i = 0; i < s->n; i++)
        if (s->list[i].part == part && s->list[i].kind == kind && k-- == 0) return &s->list[i];
    return NULL;
}

void zoo_photo_at(const zoo_photo *s, double x, double y, float rgb[3]) {
    const int n = s->size;
    x -= n * floor(x / n), y -= n * floor(y / n);
    const int x0 = (int)x % n, y0 = (int)y % n, x1 = (x0 + 1) % n, y1 = (y0 + 1) % n;
    const float u = (float)(x - floor(x)), v = (float)(y - floor(y));
    for (int k = 0; k < 3; k++) {
        const uint8_t *at = s->pixels + (ptrdiff_t)k * n * n;
        const float above = (float)at[y0 * n + x0] * (1 - u) + (float)at[y0 * n + x1] * u,
                    below = (float)at[y1 * n + x0] * (1 - u) + (float)at[y1 * n + x1] * u;
        rgb[k] = (above * (1 - v) + below * v) / 255;
    }
}

void zoo_blend(zoo_canvas *c, int x, int y, const float rgb[3], double opacity) {
    if (x < 0 || y < 0 || x >= c->size || y >= c->size || opacity <= 0) return;
    float *to = c->at + 3 * ((ptrdiff_t)y * c->size + x);
    const float share = (float)fmin(opacity, 1);
    for (int k = 0; k < 3; k++) to[k] += share * (rgb[k] - to[k]);
}

void zoo_expose(zoo_canvas *c, uint64_t *state) {
    const double contrast = zoo_between(state, 0.8, 1.2), light = zoo_between(state, -0.08, 0.08),
                 grain = zoo_between(state, 0, 0.03);
    double cast[3];
    for (int k = 0; k < 3; k++) cast[k] = zoo_between(state, 0.93, 1.07);
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)c->size * c->size; i++) {
        const double noise = zoo_uniform(state) + zoo_uniform(state) + zoo_uniform(state) - 1.5; /* deviation 0.5 */
        c->at[i] = (float)((((double)c->at[i] - 0.5) * contrast + 0.5 + light) * cast[i % 3] + 2 * grain * noise);
    }
}

int zoo_put_canvas(const zoo_canvas *c, const char *path) {
    const size_t n = 3 * (size_t)c->size * (size_t)c->size;
    uint8_t *file = malloc(n + 32);
    if (!file) return zoo_out_of_memory();
    const size_t head = (size_t)snprintf((char *)file, 32, "P6\n%d %d\n255\n", c->size, c->size);
    for (size_t i = 0; i < n; i++) file[head + i] = (uint8_t)(fmin(fmax((double)c->at[i], 0), 1) * 255 + 0.5);
    const int code = zoo_put(path, file, head + n);
    free(file);
    return code;
}
