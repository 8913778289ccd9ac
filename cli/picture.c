#include "picture.h"

/* xterm's greys are 232 (almost black) to 255 (almost white). */
static int grey(int pixel) { return 232 + pixel * 23 / 255; }

void picture_print(FILE *out, const uint8_t *pixels, int64_t height, int64_t width, bool color) {
    static const char shades[] = " .:-=+*#%@";
    for (int64_t y = 0; y < height; y += 2) {
        const uint8_t *top = pixels + y * width, *bottom = y + 1 < height ? top + width : NULL;
        int64_t end = width;
        if (!color) /* no spaces at the end of a line */
            while (end > 0 && top[end - 1] + (bottom ? bottom[end - 1] : 0) < 51) end--;
        for (int64_t x = 0; x < end; x++) {
            int below = bottom ? bottom[x] : 0;
            if (color)
                fprintf(out, "\x1b[38;5;%d;48;5;%dm\xE2\x96\x80", grey(top[x]), grey(below)); /* U+2580, upper half */
            else
                fputc(shades[(top[x] + below) * 10 / 511], out);
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
