#include "picture.h"

#include <string.h>

/* xterm's greys are 232 (almost black) to 255 (almost white). */
static int grey(int pixel) { return 232 + pixel * 23 / 255; }

bool picture_shape(int rank, const int64_t *dims, int64_t shape[3]) {
    if (rank != 2 && (rank != 3 || (dims[0] != 1 && dims[0] != 3))) return false;
    shape[0] = rank == 3 ? dims[0] : 1;
    memcpy(shape + 1, dims + rank - 2, 2 * sizeof *dims);
    return true;
}

/* BT.601 */
static int luma(const uint8_t *p, int64_t plane) {
    return plane ? (299 * p[0] + 587 * p[plane] + 114 * p[2 * plane] + 500) / 1000 : p[0];
}

/* plane: bytes between red, green and blue; 0: grey. below is NULL under the last of an odd number of rows. */
static void half_blocks(FILE *out, const uint8_t *above, const uint8_t *below, int64_t plane) {
    if (plane)
        fprintf(out, "\x1b[38;2;%d;%d;%d;48;2;%d;%d;%dm", above[0], above[plane], above[2 * plane],
                below ? below[0] : 0, below ? below[plane] : 0, below ? below[2 * plane] : 0);
    else
        fprintf(out, "\x1b[38;5;%d;48;5;%dm", grey(*above), grey(below ? *below : 0));
    fputs("\xE2\x96\x80", out); /* U+2580, upper half */
}

void picture_print(FILE *out, const uint8_t *pixels, const int64_t shape[3], bool color) {
    static const char shades[] = " .:-=+*#%@";
    const int64_t height = shape[1], width = shape[2], plane = shape[0] == 3 ? height * width : 0;
    for (int64_t y = 0; y < height; y += 2) {
        const uint8_t *top = pixels + y * width, *bottom = y + 1 < height ? top + width : NULL;
        int64_t end = width;
        if (!color) /* no spaces at the end of a line */
            while (end > 0 && luma(top + end - 1, plane) + (bottom ? luma(bottom + end - 1, plane) : 0) < 51) end--;
        for (int64_t x = 0; x < end; x++) {
            if (color) half_blocks(out, top + x, bottom ? bottom + x : NULL, plane);
            else fputc(shades[(luma(top + x, plane) + (bottom ? luma(bottom + x, plane) : 0)) * 10 / 511], out);
        }
        fputs(color ? "\x1b[0m\n" : "\n", out);
    }
}

void picture_bar(FILE *out, double value, int width, bool color) {
    double cells = value >= 0 && value <= 1 ? value * width : 0; /* NaN has no bar */
    int whole = (int)cells, eighths = (int)((cells - whole) * 8);
    for (int i = 0; i < whole; i++) fputs(color ? "\xE2\x96\x88" : "#", out); /* U+2588, full block */
    if (color && eighths > 0) fprintf(out, "\xE2\x96%c", 0x90 - eighths);     /* U+2589 (7/8) to U+258F (1/8) */
}
