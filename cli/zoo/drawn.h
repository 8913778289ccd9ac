/* drawn.h: pictures that are put together of photos, for the sets that are drawn (V7, V10). */
#ifndef WICK_CLI_ZOO_DRAWN_H
#define WICK_CLI_ZOO_DRAWN_H

#include "zoo.h"

/* A photo, u8 [3, size, size], with the part of the set that it belongs to. */
typedef struct zoo_photo {
    uint8_t *pixels;
    int size, part, kind;
    char group[ZOO_GROUP];
} zoo_photo;
typedef struct zoo_photos {
    zoo_photo *list;
    int64_t n, room;
} zoo_photos;
/* What a file of `size` bytes shows, stretched to u8 [3, side, side]. An exit code; said. */
int zoo_square(const zoo_prep *p, const void *data, size_t size, const char *name, int side, uint8_t *to);
/* Adds it to a list, of the size that `as` says. An exit code; said. */
int zoo_add_photo(zoo_prep *p, const void *data, size_t size, const char *name, const zoo_photo *as, zoo_photos *to);
void zoo_free_photos(zoo_photos *s);
/* One of that part and kind at random; NULL: there is none. */
const zoo_photo *zoo_pick_photo(const zoo_photos *s, int part, int kind, uint64_t *state);
/* Its colour at a place in pixels, between pixels; behind an edge it begins again. 0 to 1 each. */
void zoo_photo_at(const zoo_photo *s, double x, double y, float rgb[3]);

/* What is drawn on: [size, size, 3], each 0 to 1. */
typedef struct zoo_canvas {
    float *at;
    int size;
} zoo_canvas;
/* A colour over what is there, by its opacity. Outside of the canvas nothing happens. */
void zoo_blend(zoo_canvas *c, int x, int y, const float rgb[3], double opacity);
/* Light and contrast as they come, and noise. */
void zoo_expose(zoo_canvas *c, uint64_t *state);
/* As a file, PPM. An exit code; said. */
int zoo_put_canvas(const zoo_canvas *c, const char *path);

/* Hue (0 to 1), saturation and value as red, green and blue (Smith 1978). */
void zoo_colour(double hue, double saturation, double value, float rgb[3]);

#endif
