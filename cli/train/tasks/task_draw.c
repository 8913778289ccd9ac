#include "task_draw.h"

#include "../classifier.h"
#include "../evaluate.h"
#include "../../report/png.h"
#include "../../term/log.h"

#include <stdlib.h>
#include <string.h>

void task_colour(const classifier *c, int64_t k, uint8_t rgb[3]) {
    static const uint32_t first[] = {0x4477AA, 0xEE6677, 0x228833, 0xCCBB44, 0x66CCEE, 0xAA3377, 0xBBBBBB, 0x882255};
    unsigned named;
    uint32_t colour = k < 8 ? first[k] : 0;
    for (int64_t bits = k, shift = 7; k >= 8 && bits; bits >>= 3, shift--)
        colour |= (uint32_t)((bits & 1) << (16 + shift) | (bits >> 1 & 1) << (8 + shift) | (bits >> 2 & 1) << shift);
    if (k < c->classes && c->class_names[k][0] == '#' && strlen(c->class_names[k]) == 7 &&
        sscanf(c->class_names[k], "#%6x", &named) == 1)
        colour = named;
    if (k == 255 /* no class */) colour = 0;
    for (int i = 0; i < 3; i++) rgb[i] = (uint8_t)(colour >> (16 - 8 * i));
}

int task_save_png(const classifier *c, const char *stem, const char *end, const uint8_t *pixels, int64_t height,
                  int64_t width, int channels, const uint8_t *palette) {
    char path[4096];
    size_t size;
    if ((size_t)snprintf(path, sizeof path, "%s%s", stem, end) >= sizeof path)
        return log_fail(CLI_USAGE, "%s: the name is too long", stem);
    uint8_t *png = png_encode(pixels, height, width, channels, palette, &size);
    if (!png) return log_fail(CLI_FAILED, "%s: out of memory", path);
    const wick_status status = wick_file_write(c->ctx, path, png, size);
    free(png);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
}

int task_save_text(const classifier *c, const char *stem, const char *end, char *text, size_t size, bool whole) {
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s%s", stem, end) >= sizeof path) {
        free(text);
        return log_fail(CLI_USAGE, "%s: the name is too long", stem);
    }
    const wick_status status = whole ? wick_file_write(c->ctx, path, text, size) : WICK_ERR_NOMEM;
    free(text);
    if (!whole) return log_fail(CLI_FAILED, "%s: out of memory", path);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
}

void task_rgb(const uint8_t *pixels, int64_t channels, int64_t height, int64_t width, uint8_t *rgb) {
    const int64_t n = height * width;
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) rgb[3 * i + k] = pixels[(channels == 3 ? k : 0) * n + i];
}

box_fit task_fit(const classifier *c) {
    const bool known = c->picture[0] > 0;
    return box_fit_of(c->letterbox, known ? c->picture[0] : c->dims[1], known ? c->picture[1] : c->dims[2], c->dims[1],
                      c->dims[2]);
}

void task_cell(const char *text) {
    const bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) fputc('"', stdout);
    for (; *text; text++) {
        if (*text == '"') fputc('"', stdout);
        fputc(*text, stdout);
    }
    if (quoted) fputc('"', stdout);
}

bool task_figure(FILE *out, const uint8_t *rgb, int64_t height, int64_t width, const char *what) {
    fprintf(out, "<figure style=\"margin:0\"><img style=\"width:100%%;image-rendering:pixelated\" alt=\"%s\" src=\"",
            what);
    const bool ok = png_data_uri(out, rgb, height, width, 3);
    fprintf(out, "\"><figcaption class=\"note\">%s</figcaption></figure>\n", what);
    return ok;
}

bool task_report_pictures(FILE *out, const evaluator *e,
                          bool (*pair)(FILE *out, const evaluator *e, const uint8_t *rgb, int64_t i)) {
    const int64_t *dims = e->c->dims; /* channels, height, width */
    uint8_t *rgb = step_buffer(dims[1] * dims[2], 3);
    bool ok = rgb != NULL;
    fputs("<h3>The first pictures</h3>\n<div "
          "style=\"display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:10px\">\n",
          out);
    for (int64_t i = 0; ok && i < e->count && i < EVALUATOR_SHOWN; i++) {
        const uint8_t *pixels = wick_dataset_sample(e->dataset, i);
        if (!pixels) continue;
        task_rgb(pixels, dims[0], dims[1], dims[2], rgb);
        ok = pair(out, e, rgb, i);
    }
    fputs("</div>\n", out);
    free(rgb);
    return ok;
}
