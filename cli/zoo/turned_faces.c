/* Turned, scaled and moved copies of faces, with the landmarks that go with them: a table's numbers stay as they are
 * under wick train --transform, so the copies are made beforehand. */
#include "zoo.h"

#include "../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 512, SIDE = 512 };

/* From -1 to 1. */
static double draw(uint64_t *state) { return (double)(zoo_random(state) >> 11) * 0x1p-52 - 1; }

typedef struct turn {
    double c, s, x, y, mid; /* where point (u, v) goes: mid + [c -s; s c] ((u, v) - mid) + (x, y) */
} turn;

/* Bilinear; beyond the edges is what is at them. */
static unsigned char pixel(const uint8_t *p, int64_t h, int64_t w, double y, double x) {
    y = fmax(0, fmin((double)(h - 1), y)), x = fmax(0, fmin((double)(w - 1), x));
    const int64_t i = (int64_t)y, j = (int64_t)x, below = i + 1 < h ? i + 1 : i, right = j + 1 < w ? j + 1 : j;
    const double a = y - (double)i, b = x - (double)j;
    const double top = (1 - b) * p[i * w + j] + b * p[i * w + right],
                 bottom = (1 - b) * p[below * w + j] + b * p[below * w + right];
    return (unsigned char)((1 - a) * top + a * bottom + 0.5);
}

/* As PGM; the pixel that comes to (u, v) is looked up where it was. */
static int write_picture(zoo_prep *p, const wick_image *image, const turn *t, const char *path) {
    const int64_t *d = wick_image_dims(image), h = d[1], w = d[2];
    const double det = t->c * t->c + t->s * t->s;
    if (h > SIDE || w > SIDE) return log_fail(CLI_BAD_FILE, "%s: a face is larger than %d pixels", p->source, SIDE);
    char *bytes = malloc((size_t)(h * w) + 64);
    if (!bytes) return zoo_out_of_memory();
    const int head = snprintf(bytes, 64, "P5\n%lld %lld\n255\n", (long long)w, (long long)h);
    unsigned char *out = (unsigned char *)bytes + head;
    for (int64_t v = 0; v < h; v++)
        for (int64_t u = 0; u < w; u++) {
            const double x = (double)u - t->mid - t->x, y = (double)v - t->mid - t->y;
            out[v * w + u] = pixel(wick_image_pixels(image, 0), h, w, t->mid + (t->c * y - t->s * x) / det,
                                   t->mid + (t->c * x + t->s * y) / det);
        }
    const int code = zoo_put(path, bytes, (size_t)(head + h * w));
    free(bytes);
    return code;
}

int zoo_turn_face(zoo_prep *p, const char *line, int copy, uint64_t *state, FILE *table) {
    double at[MOST];
    int n = 0;
    char path[4200], name[96];
    const int length = (int)strcspn(line, ",");
    for (const char *s = line + length; *s == ',' && n < MOST;) {
        char *end;
        at[n++] = strtod(s + 1, &end);
        if (end == s + 1) break;
        s = end;
    }
    if (n < 2 || n % 2) return log_fail(CLI_BAD_FILE, "%s: a line of keypoints.csv has no pairs of numbers", p->source);
    const double angle = 20 * 3.14159265358979323846 / 180 * draw(state), scale = 1 + 0.15 * draw(state);
    wick_image *image;
    snprintf(path, sizeof path, "%s/%.*s", p->to, length, line);
    int code = zoo_checked(p, wick_image_open(p->ctx, path, 1, &image));
    if (code != CLI_OK) return code;
    const double side = (double)wick_image_dims(image)[2];
    const turn t = {scale * cos(angle), scale * sin(angle), 0.08 * side * draw(state), 0.08 * side * draw(state),
                    (side - 1) / 2};
    snprintf(name, sizeof name, "%.*s_%d.pgm", length - 4, line, copy); /* of .jpg */
    snprintf(path, sizeof path, "%s/%s", p->to, name);
    code = write_picture(p, image, &t, path);
    fputs(name, table);
    for (int i = 0; i + 1 < n; i += 2) {
        const double x = at[i] - t.mid, y = at[i + 1] - t.mid;
        fprintf(table, ",%.2f,%.2f", t.mid + t.x + t.c * x - t.s * y, t.mid + t.y + t.s * x + t.c * y);
    }
    fputc('\n', table);
    wick_image_free(&image);
    return code;
}
