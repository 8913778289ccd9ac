/* What --task detect shows: boxes as lines of text, JSON and a table, in pixels of the picture as its file has it;
 * drawn over it; and as a section of the report. */
#include "detect.h"
#include "task_draw.h"

#include "../boxes/box_fit.h"
#include "../evaluate.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../report/png.h"
#include "../../step.h"
#include "../../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_score(const void *a, const void *b) {
    const box_found *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->class > y->class) - (x->class < y->class);
}

/* What is found in one picture, the likeliest first, in its own pixels; *n -1: it failed, which has been said. */
static box_found *look(const classifier *c, const float *p, int64_t *n) {
    box_found *found;
    if (detect_select(c, p, 1, 0, c->least, c->overlap, &found, n) != CLI_OK) return *n = -1, free(found), NULL;
    const box_fit fit = task_fit(c);
    const float edge[2] = {(float)fit.from[1], (float)fit.from[0]};
    for (int64_t i = 0; i < *n; i++) {
        box_fit_points(&fit, true, 2, 2, found[i].at);
        for (int k = 0; k < 4; k++) found[i].at[k] = fminf(fmaxf(found[i].at[k], 0), edge[k & 1]);
    }
    if (*n) qsort(found, (size_t)*n, sizeof *found, by_score);
    return found;
}

/* How many boxes are there, and how many of them are found: of their class, with half of the union in common. */
static int64_t count_right(const classifier *c, const box_found *found, int64_t n, const float *target,
                           int64_t *there) {
    const box_fit fit = task_fit(c);
    int64_t right = 0;
    bool *taken = calloc((size_t)n + 1, sizeof *taken);
    *there = 0;
    for (int64_t k = 0; taken && k < c->boxes; k++, target += BOX_WIDTH) {
        float at[4];
        if (target[4] < 0) continue;
        ++*there;
        memcpy(at, target, sizeof at);
        box_fit_points(&fit, true, 2, 2, at);
        for (int64_t i = 0; i < n; i++) {
            if (taken[i] || found[i].class != (int)target[4] || box_overlap(found[i].at, at) < 0.5) continue;
            taken[i] = true, right++;
            break;
        }
    }
    free(taken);
    return right;
}

void detect_show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    int64_t n, there, wide = 5;
    box_found *found = look(c, p, &n);
    if (n < 0) return;
    printf(": %lld found", (long long)n);
    if (target) {
        const int64_t right = count_right(c, found, n, target, &there);
        printf(" (%lld of %lld that are there)", (long long)right, (long long)there);
    }
    fputc('\n', stdout);
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = (int64_t)strlen(c->class_names[found[i].class]);
        if (length > wide) wide = length;
    }
    if (n) printf("  %-*s  %6s  %8s  %8s  %8s  %8s\n", (int)wide, "class", "score", "left", "top", "right", "bottom");
    for (int64_t i = 0; i < n; i++)
        log_print("  %-*s  %6.3f  %8.1f  %8.1f  %8.1f  %8.1f\n", (int)wide, c->class_names[found[i].class],
                  (double)found[i].score, (double)found[i].at[0], (double)found[i].at[1], (double)found[i].at[2],
                  (double)found[i].at[3]);
    free(found);
}

static void json_box(const classifier *c, json *j, int class, const float *score, const float at[4]) {
    static const char *const sides[] = {"xmin", "ymin", "xmax", "ymax"};
    json_open(j, NULL, '{');
    json_text(j, "class", c->class_names[class]);
    if (score) json_real(j, "score", (double)*score, 7);
    for (int k = 0; k < 4; k++) json_real(j, sides[k], (double)at[k], 7);
    json_close(j, '}');
}

void detect_show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    int64_t n;
    box_found *found = look(c, p, &n);
    const box_fit fit = task_fit(c);
    json_integer(j, "height", fit.from[0]);
    json_integer(j, "width", fit.from[1]);
    json_open(j, "boxes", '[');
    for (int64_t i = 0; i < n; i++) json_box(c, j, found[i].class, &found[i].score, found[i].at);
    json_close(j, ']');
    if (target) json_open(j, "there", '[');
    for (int64_t k = 0; target && k < c->boxes; k++) {
        const float *box = target + k * BOX_WIDTH;
        float at[4];
        if (box[4] < 0) continue;
        memcpy(at, box, sizeof at);
        box_fit_points(&fit, true, 2, 2, at);
        json_box(c, j, (int)box[4], NULL, at);
    }
    if (target) json_close(j, ']');
    free(found);
}

void detect_csv(const classifier *c) {
    (void)c;
    puts("path,class,score,xmin,ymin,xmax,ymax");
}

void detect_show_csv(const classifier *c, const float *p, const char *name) {
    int64_t n;
    box_found *found = look(c, p, &n);
    for (int64_t i = 0; i < n + (n == 0); i++) {
        task_cell(name);
        if (!n) { /* the picture is there, without a box */
            puts(",,,,,,");
            break;
        }
        fputc(',', stdout);
        task_cell(c->class_names[found[i].class]);
        printf(",%.7g,%.7g,%.7g,%.7g,%.7g\n", (double)found[i].score, (double)found[i].at[0], (double)found[i].at[1],
               (double)found[i].at[2], (double)found[i].at[3]);
    }
    free(found);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void paint_frame(uint8_t *rgb, int64_t height, int64_t width, const float at[4], int64_t thick,
                        const uint8_t colour[3]) {
    const int64_t x0 = llroundf(at[0]), y0 = llroundf(at[1]), x1 = llroundf(at[2]), y1 = llroundf(at[3]);
    for (int64_t y = y0 < 0 ? 0 : y0; y < y1 && y < height; y++)
        for (int64_t x = x0 < 0 ? 0 : x0; x < x1 && x < width; x++)
            if (x < x0 + thick || x >= x1 - thick || y < y0 + thick || y >= y1 - thick)
                memcpy(rgb + 3 * (y * width + x), colour, 3);
}

static int64_t thickness(int64_t height, int64_t width) {
    const int64_t side = height < width ? height : width;
    return side / 300 + 1;
}

static void svg_box(FILE *out, const classifier *c, int class, float score, const float at[4], double line,
                    const char *dashed) {
    uint8_t rgb[3];
    task_colour(c, class, rgb);
    fprintf(out,
            "<rect x=\"%.6g\" y=\"%.6g\" width=\"%.6g\" height=\"%.6g\" fill=\"none\" stroke=\"#%02x%02x%02x\" "
            "stroke-width=\"%.3g\"%s><title>",
            (double)at[0], (double)at[1], (double)(at[2] - at[0]), (double)(at[3] - at[1]), rgb[0], rgb[1], rgb[2],
            line, dashed);
    html_text(out, c->class_names[class]);
    if (score >= 0) fprintf(out, " %.2f", (double)score);
    fputs("</title></rect>\n", out);
}

/* The picture as a drawing that can be scaled, with the names beside the boxes. */
static int draw_svg(const classifier *c, const box_found *found, int64_t n, const uint8_t *rgb, int64_t height,
                    int64_t width, const char *stem) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return log_fail(CLI_FAILED, "out of memory");
    const double line = (double)(height < width ? height : width) / 250;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %lld %lld\" width=\"%lld\" height=\"%lld\" "
            "font-family=\"sans-serif\" font-size=\"%.3g\">\n<image width=\"%lld\" height=\"%lld\" href=\"",
            (long long)width, (long long)height, (long long)width, (long long)height, 6 * line, (long long)width,
            (long long)height);
    bool whole = png_data_uri(out, rgb, height, width, 3);
    fputs("\"/>\n", out);
    for (int64_t i = n - 1; i >= 0; i--) { /* the likeliest on top */
        const float *at = found[i].at;
        uint8_t colour[3];
        task_colour(c, found[i].class, colour);
        svg_box(out, c, found[i].class, found[i].score, at, line, "");
        fprintf(out,
                "<text x=\"%.6g\" y=\"%.6g\" fill=\"#%02x%02x%02x\" stroke=\"#fff\" stroke-width=\"%.3g\" "
                "paint-order=\"stroke\">",
                (double)at[0] + line, fmax((double)at[1] - line, 6 * line), colour[0], colour[1], colour[2], line);
        html_text(out, c->class_names[found[i].class]);
        fprintf(out, " %.2f</text>\n", (double)found[i].score);
    }
    fputs("</svg>\n", out);
    whole &= fclose(out) == 0;
    return task_save_text(c, stem, "-boxes.svg", text, size, whole);
}

bool detect_paint(const classifier *c, const float *p, bool color, uint8_t *rgb) {
    int64_t n;
    box_found *found = look(c, p, &n);
    const box_fit fit = task_fit(c);
    uint8_t colour[3] = {255, 255, 255};
    for (int64_t i = n - 1; i >= 0; i--) { /* the likeliest on top */
        box_fit_points(&fit, false, 2, 2, found[i].at);
        if (color) task_colour(c, found[i].class, colour);
        paint_frame(rgb, c->dims[1], c->dims[2], found[i].at, 1, colour);
    }
    free(found);
    return n >= 0;
}

/* STEM-boxes.png, the picture with frames, and STEM-boxes.svg, where the names stand beside them. */
int detect_draw(const classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width,
                const char *stem) {
    int64_t n;
    box_found *found = look(c, p, &n);
    uint8_t *rgb = step_buffer(height * width, 3), colour[3];
    const box_fit fit = task_fit(c);
    int code = n < 0 ? CLI_FAILED : rgb ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        /* of a data set only what the network takes is there */
        const bool whole = fit.from[0] == height && fit.from[1] == width;
        for (int64_t i = 0; i < n && !whole; i++) box_fit_points(&fit, false, 2, 2, found[i].at);
        task_rgb(pixels, c->dims[0], height, width, rgb);
        code = draw_svg(c, found, n, rgb, height, width, stem);
        for (int64_t i = n - 1; i >= 0; i--) {
            task_colour(c, found[i].class, colour);
            paint_frame(rgb, height, width, found[i].at, thickness(height, width), colour);
        }
    }
    if (code == CLI_OK) code = task_save_png(c, stem, "-boxes.png", rgb, height, width, 3, NULL);
    free(found);
    free(rgb);
    return code;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static void table(FILE *out, const evaluator *e) {
    const detect_log *l = e->own;
    fputs("<div class=\"card wide\"><table><thead><tr><th>class</th><th class=\"n\">AP50</th><th "
          "class=\"n\">AP50:95</th><th class=\"n\">AP75</th><th class=\"n\">recall</th><th "
          "class=\"n\">boxes</th></tr></thead><tbody>\n",
          out);
    for (int64_t k = 0; k < e->c->classes; k++) {
        const box_score *s = &l->each[k];
        uint8_t rgb[3];
        chart_text text;
        if (!s->there) continue;
        task_colour(e->c, k, rgb);
        fprintf(out,
                "<tr><td><span style=\"display:inline-block;width:.8em;height:.8em;background:#%02x%02x%02x\"></span> ",
                rgb[0], rgb[1], rgb[2]);
        html_text(out, e->c->class_names[k]);
        fprintf(out,
                "</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%.2f" NBSP
                "%%</td><td class=\"n\">%.2f" NBSP "%%</td><td class=\"n\">%s</td></tr>\n",
                100 * s->ap50, 100 * s->ap, 100 * s->ap75, 100 * s->recall, text_count(text, s->there));
    }
    fputs("</tbody></table></div>\n", out);
}

/* Precision over recall of the three classes with the most boxes. */
static void curves(FILE *out, const evaluator *e) {
    enum { SHOWN = 3 };
    static const char *const styles[SHOWN] = {"a", "b", "c"};
    const detect_log *l = e->own;
    double x[BOX_RECALLS], y[SHOWN][BOX_RECALLS];
    chart_line lines[SHOWN];
    int64_t shown[SHOWN];
    int n = 0;
    for (int i = 0; i < BOX_RECALLS; i++) x[i] = i;
    for (; n < SHOWN; n++) {
        int64_t best = -1;
        for (int64_t k = 0; k < e->c->classes; k++) {
            bool is = l->each[k].there > 0;
            for (int i = 0; i < n; i++) is &= shown[i] != k;
            if (is && (best < 0 || l->each[k].there > l->each[best].there)) best = k;
        }
        if (best < 0) break;
        shown[n] = best;
        for (int i = 0; i < BOX_RECALLS; i++) y[n][i] = 100 * l->each[best].precision[i];
        lines[n] =
            (chart_line){.name = e->c->class_names[best], .style = styles[n], .x = x, .y = y[n], .n = BOX_RECALLS};
    }
    fputs("<figure class=\"card\"><h3>Precision by recall, at IoU 0.5</h3>\n", out);
    chart_draw(out, &(chart){.id = "precision",
                             .title = "Precision by recall",
                             .description = "Of the classes with the most boxes.",
                             .x_name = "recall, %",
                             .unit = NBSP "%",
                             .width = 520,
                             .height = 220,
                             .from_zero = true,
                             .n = n,
                             .lines = lines});
    fputs("</figure>\n", out);
}

static bool picture(FILE *out, const evaluator *e, const uint8_t *rgb, int64_t i, bool found, const char *what) {
    const classifier *c = e->c;
    const detect_log *l = e->own;
    const long long high = c->dims[1], wide = c->dims[2];
    const double line = (double)(high < wide ? high : wide) / 120;
    fprintf(out,
            "<figure style=\"margin:0\"><svg viewBox=\"0 0 %lld %lld\" style=\"width:100%%\" role=\"img\" "
            "aria-label=\"%s\"><image width=\"%lld\" height=\"%lld\" href=\"",
            wide, high, what, wide, high);
    const bool ok = png_data_uri(out, rgb, high, wide, 3);
    fputs("\"/>\n", out);
    for (int64_t k = 0; k < l->n_truth && !found; k++)
        if (l->truth[k].picture == i) svg_box(out, c, l->truth[k].class, -1, l->truth[k].at, line, "");
    for (int64_t k = 0; k < l->n_found && found; k++)
        if (l->found[k].picture == i && (double)l->found[k].score >= c->least)
            svg_box(out, c, l->found[k].class, l->found[k].score, l->found[k].at, line, "");
    fprintf(out, "</svg><figcaption class=\"note\">%s</figcaption></figure>\n", what);
    return ok;
}

static bool pair(FILE *out, const evaluator *e, const uint8_t *rgb, int64_t i) {
    return picture(out, e, rgb, i, false, "what is there") && picture(out, e, rgb, i, true, "what is found");
}

bool detect_report(FILE *out, const evaluator *e) {
    fputs("<p>A box is found where one of its class overlaps it by more than a share (IoU) of their union. AP50 is the "
          "average precision at one half, AP50:95 the mean of those at 0.5, 0.55 ... 0.95.</p>\n",
          out);
    table(out, e);
    curves(out, e);
    return task_report_pictures(out, e, pair);
}
