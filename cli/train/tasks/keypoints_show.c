/* What --task keypoints shows: points as lines of text, JSON and a table, in pixels of the picture as its file has it;
 * drawn over it; and as a section of the report. */
#include "keypoints.h"
#include "task_draw.h"

#include "../evaluate.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../report/png.h"
#include "../../step.h"
#include "../../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A copy of points in the picture's own pixels, malloc'ed; NULL: out of memory, which has been said. */
static float *look(const classifier *c, const float *p) {
    const box_fit fit = task_fit(c);
    const size_t size = (size_t)(c->classes * POINT_WIDTH) * sizeof *p;
    float *at = malloc(size);
    if (!at) return log_fail(CLI_FAILED, "out of memory"), NULL;
    memcpy(at, p, size);
    box_fit_points(&fit, true, c->classes, POINT_WIDTH, at);
    return at;
}

void keypoints_show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    float *at = look(c, p), *is = target ? look(c, target) : NULL;
    double sum = 0;
    int64_t there = 0;
    for (int64_t k = 0; at && is && k < c->classes; k++) {
        const float *a = at + k * POINT_WIDTH, *b = is + k * POINT_WIDTH;
        if (b[2] == 0) continue;
        sum += hypot((double)(a[0] - b[0]), (double)(a[1] - b[1]));
        there++;
    }
    printf(": %lld points", (long long)c->classes);
    if (there) printf(", %.2f pixels from where they are, in the mean", sum / (double)there);
    printf("\n  %-16s  %8s  %8s  %6s\n", "point", "x", "y", "score");
    for (int64_t k = 0; at && k < c->classes; k++)
        log_print("  %-16s  %8.1f  %8.1f  %6.3f\n", c->class_names[k], (double)at[k * POINT_WIDTH],
                  (double)at[k * POINT_WIDTH + 1], (double)at[k * POINT_WIDTH + 2]);
    free(at), free(is);
}

static void json_points(const classifier *c, json *j, const char *key, const float *at, bool found) {
    json_open(j, key, '[');
    for (int64_t k = 0; at && k < c->classes; k++, at += POINT_WIDTH) {
        if (!found && at[2] == 0) continue;
        json_open(j, NULL, '{');
        json_text(j, "point", c->class_names[k]);
        json_real(j, "x", (double)at[0], 7);
        json_real(j, "y", (double)at[1], 7);
        if (found) json_real(j, "score", (double)at[2], 7);
        json_close(j, '}');
    }
    json_close(j, ']');
}

void keypoints_show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    const box_fit fit = task_fit(c);
    float *at = look(c, p), *is = target ? look(c, target) : NULL;
    json_integer(j, "height", fit.from[0]);
    json_integer(j, "width", fit.from[1]);
    json_points(c, j, "points", at, true);
    if (is) json_points(c, j, "there", is, false);
    free(at), free(is);
}

void keypoints_csv(const classifier *c) {
    char name[POINT_NAME + 2];
    fputs("path", stdout);
    for (int64_t k = 0; k < 2 * c->classes; k++) {
        snprintf(name, sizeof name, "%c%s", "xy"[k & 1], c -> class_names[k / 2]);
        fputc(',', stdout);
        task_cell(name);
    }
    fputc('\n', stdout);
}

void keypoints_show_csv(const classifier *c, const float *p, const char *name) {
    float *at = look(c, p);
    if (!at) return;
    task_cell(name);
    for (int64_t k = 0; k < c->classes; k++)
        printf(",%.7g,%.7g", (double)at[k * POINT_WIDTH], (double)at[k * POINT_WIDTH + 1]);
    fputc('\n', stdout);
    free(at);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void paint_dot(uint8_t *rgb, int64_t height, int64_t width, double x, double y, double radius,
                      const uint8_t colour[3]) {
    for (int64_t v = (int64_t)floor(y - radius); v <= (int64_t)ceil(y + radius); v++)
        for (int64_t u = (int64_t)floor(x - radius); u <= (int64_t)ceil(x + radius); u++)
            if (u >= 0 && v >= 0 && u < width && v < height &&
                hypot((double)u + 0.5 - x, (double)v + 0.5 - y) <= fmax(radius, 0.75))
                memcpy(rgb + 3 * (v * width + u), colour, 3);
}

static void svg_dots(FILE *out, const classifier *c, const float *at, double radius) {
    for (int64_t k = 0; k < c->classes; k++, at += POINT_WIDTH) {
        uint8_t rgb[3];
        if (at[2] <= 0) continue;
        task_colour(c, k % 8, rgb);
        fprintf(out, "<circle cx=\"%.6g\" cy=\"%.6g\" r=\"%.4g\" fill=\"#%02x%02x%02x\"", (double)at[0], (double)at[1],
                radius, rgb[0], rgb[1], rgb[2]);
        fputs(" stroke=\"#fff\" stroke-width=\"0.3\"><title>", out);
        html_text(out, c->class_names[k]);
        fputs("</title></circle>\n", out);
    }
}

static int draw_svg(const classifier *c, const float *at, const uint8_t *rgb, int64_t height, int64_t width,
                    const char *stem) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return log_fail(CLI_FAILED, "out of memory");
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %lld %lld\" width=\"%lld\" height=\"%lld\">\n"
            "<image width=\"%lld\" height=\"%lld\" href=\"",
            (long long)width, (long long)height, (long long)width, (long long)height, (long long)width,
            (long long)height);
    bool whole = png_data_uri(out, rgb, height, width, 3);
    fputs("\"/>\n", out);
    svg_dots(out, c, at, fmax(0.8, (double)(height < width ? height : width) / 80));
    fputs("</svg>\n", out);
    whole &= fclose(out) == 0;
    return task_save_text(c, stem, "-points.svg", text, size, whole);
}

bool keypoints_paint(const classifier *c, const float *p, bool color, uint8_t *rgb) {
    uint8_t colour[3] = {255, 255, 255};
    for (int64_t k = 0; k < c->classes; k++, p += POINT_WIDTH) {
        if (color) task_colour(c, k % 8, colour);
        paint_dot(rgb, c->dims[1], c->dims[2], (double)p[0], (double)p[1],
                  (double)(c->dims[1] < c->dims[2] ? c->dims[1] : c->dims[2]) / 80, colour);
    }
    return true;
}

/* STEM-points.png and STEM-points.svg: the picture with a dot for each point; in the second their names. */
int keypoints_draw(const classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width,
                   const char *stem) {
    const box_fit fit = task_fit(c);
    float *at = look(c, p);
    uint8_t *rgb = step_buffer(height * width, 3), colour[3];
    int code = !at ? CLI_FAILED : rgb ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        /* of a data set only what the network takes is there */
        if (fit.from[0] != height || fit.from[1] != width)
            memcpy(at, p, (size_t)(c->classes * POINT_WIDTH) * sizeof *at);
        task_rgb(pixels, c->dims[0], height, width, rgb);
        code = draw_svg(c, at, rgb, height, width, stem);
        for (int64_t k = 0; k < c->classes; k++) {
            task_colour(c, k % 8, colour);
            paint_dot(rgb, height, width, (double)at[k * POINT_WIDTH], (double)at[k * POINT_WIDTH + 1],
                      (double)(height < width ? height : width) / 80, colour);
        }
    }
    if (code == CLI_OK) code = task_save_png(c, stem, "-points.png", rgb, height, width, 3, NULL);
    free(at), free(rgb);
    return code;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void table(FILE *out, const classifier *c, const point_score *each) {
    fputs("<div class=\"card wide\"><table><thead><tr><th>point</th><th class=\"n\">PCK@0.2</th><th "
          "class=\"n\">PCK@0.1</th><th class=\"n\">PCK@0.05</th><th class=\"n\">NME</th><th "
          "class=\"n\">there</th></tr></thead><tbody>\n",
          out);
    for (int64_t k = 0; k < c->classes; k++) {
        const point_score *s = &each[k];
        chart_text text;
        if (!s->there) continue;
        fputs("<tr><td>", out);
        html_text(out, c->class_names[k]);
        fprintf(out,
                "</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%.2f" NBSP
                "%%</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%s</td></tr>\n",
                100 * s->pck[0], 100 * s->pck[1], 100 * s->pck[2], 100 * s->nme, text_count(text, s->there));
    }
    fputs("</tbody></table></div>\n", out);
}

static bool picture(FILE *out, const evaluator *e, const uint8_t *rgb, const float *at, const char *what) {
    const long long high = e->c->dims[1], wide = e->c->dims[2];
    fprintf(out,
            "<figure style=\"margin:0\"><svg viewBox=\"0 0 %lld %lld\" style=\"width:100%%\" role=\"img\" "
            "aria-label=\"%s\"><image width=\"%lld\" height=\"%lld\" href=\"",
            wide, high, what, wide, high);
    const bool ok = png_data_uri(out, rgb, high, wide, 3);
    fputs("\"/>\n", out);
    svg_dots(out, e->c, at, (double)(high < wide ? high : wide) / 80);
    fprintf(out, "</svg><figcaption class=\"note\">%s</figcaption></figure>\n", what);
    return ok;
}

static bool pair(FILE *out, const evaluator *e, const uint8_t *rgb, int64_t i) {
    const int64_t wide = e->c->classes * POINT_WIDTH;
    return picture(out, e, rgb, e->targets + i * wide, "what is there") &&
           picture(out, e, rgb, e->kept + i * wide, "what is found");
}

bool keypoints_report(FILE *out, const evaluator *e) {
    const classifier *c = e->c;
    point_score *each = calloc((size_t)c->classes, sizeof *each), all;
    bool ok = each && keypoints_score(e, each, &all) == CLI_OK;
    fputs("<p>PCK@0.2 is the share of points that are found within a fifth of the larger side of the box around the "
          "picture's points; NME the mean distance over the square root of that box's area.</p>\n",
          out);
    if (ok) table(out, c, each);
    free(each);
    return ok && task_report_pictures(out, e, pair);
}
