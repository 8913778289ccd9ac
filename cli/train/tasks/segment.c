/* The class of each pixel. The network gives [n, classes, height, width], of the height and width of its picture; the
 * loss of a picture is the mean cross-entropy of its pixels, those of no class (255) apart. */
#include "places.h"
#include "task_draw.h"

#include "../evaluate.h"
#include "../metrics.h"
#include "../../report/chart.h"
#include "../../report/html.h"
#include "../../report/png.h"
#include "../../step.h"
#include "../../term/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static int count(evaluator *e, const void *target, int64_t n) {
    const classifier *c = e->c;
    const int64_t pixels = places_of(c);
    uint8_t *mask = step_buffer(pixels, sizeof *mask);
    if (!mask) return log_fail(CLI_FAILED, "out of memory");
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *labels = (const uint8_t *)target + i * pixels;
        places_take(c, e->logits + i * places_width(c), mask);
        if (e->count + i < EVALUATOR_SHOWN) memcpy(e->shown + (e->count + i) * pixels, mask, (size_t)pixels);
        places_count(e, labels, mask);
    }
    free(mask);
    return CLI_OK;
}

static int measure(const evaluator *e, evaluation *r) {
    const double right = places_sum(e);
    if (isnan(right))
        return log_fail(CLI_BAD_FILE, "no pixel of the masks is of a class: there is nothing to measure by");
    const class_scores mean = scores_macro(e->classes, e->c->classes);
    evaluation_add(r, "miou", "mIoU", mean.iou, true);
    evaluation_add(r, "pixel_accuracy", "pixel accuracy", right, true);
    evaluation_add(r, "mean_recall", "mean recall", mean.recall, true);
    evaluation_add(r, "mean_f1", "mean F1", mean.f1, true);
    return CLI_OK;
}

static void print(const evaluator *e) { places_print(e, "pixels"); }
static void print_json(const evaluator *e, json *j) { places_json(e, j, "pixels"); }

/* ---- one picture ------------------------------------------------------------------------------------------------- */

/* How much of the picture each class has, and how many of the pixels that somebody says something of are right. */
typedef struct seen {
    int64_t pixels[256], known, right;
} seen;

static bool look(const classifier *c, const float *p, const float *target, seen *s) {
    const int64_t n = places_of(c);
    uint8_t *mask = step_buffer(n, sizeof *mask);
    *s = (seen){0};
    if (!mask) return false;
    places_take(c, p, mask);
    for (int64_t i = 0; i < n; i++) {
        s->pixels[mask[i]]++;
        if (!target || target[i] == (float)PLACES_IGNORED) continue;
        s->known++;
        s->right += (float)mask[i] == target[i];
    }
    free(mask);
    return true;
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    seen s;
    if (!look(c, p, target, &s)) return;
    fputs(":", stdout);
    for (int64_t k = 0; k < c->classes; k++)
        if (s.pixels[k]) log_print(" %s %.1f %%", c->class_names[k], 100 * (double)s.pixels[k] / (double)places_of(c));
    if (s.known) printf(" (%.1f %% of the pixels right)", 100 * (double)s.right / (double)s.known);
    fputc('\n', stdout);
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    seen s;
    if (!look(c, p, target, &s)) return;
    json_open(j, "pixels", '{');
    for (int64_t k = 0; k < c->classes; k++) json_integer(j, c->class_names[k], s.pixels[k]);
    json_close(j, '}');
    if (s.known) json_real(j, "pixel_accuracy", (double)s.right / (double)s.known, 9);
}

/* RGB of a picture's mask, over the picture where there is one, [channels, height, width]; of another size than the
 * mask each pixel is as the nearest. */
static void paint(const classifier *c, const uint8_t *mask, const uint8_t *pixels, int64_t height, int64_t width_,
                  uint8_t *rgb) {
    const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1], n = height * width_;
    const int64_t channels = c->rank == 3 ? c->dims[0] : 1;
    uint8_t colours[256][3];
    for (int64_t k = 0; k < 256; k++) task_colour(c, k, colours[k]);
    for (int64_t i = 0; i < n; i++) {
        const int64_t y = (2 * (i / width_) + 1) * high / (2 * height),
                      x = (2 * (i % width_) + 1) * wide / (2 * width_);
        for (int k = 0; k < 3; k++) {
            const int colour = colours[mask[y * wide + x]][k];
            rgb[3 * i + k] = (uint8_t)(pixels ? (colour + pixels[(channels == 3 ? k : 0) * n + i] + 1) / 2 : colour);
        }
    }
}

/* The classes of the pixels; without color in greys, from black to white. */
static bool paint_found(const classifier *c, const float *p, bool color, uint8_t *rgb) {
    const int64_t n = places_of(c);
    uint8_t *mask = step_buffer(n, 1), colour[3];
    if (!mask) return log_fail(CLI_FAILED, "out of memory"), false;
    places_take(c, p, mask);
    for (int64_t i = 0; i < n; i++) {
        task_colour(c, mask[i], colour);
        for (int k = 0; k < 3; k++)
            rgb[3 * i + k] = color              ? (uint8_t)((rgb[3 * i + k] + 2 * colour[k]) / 3)
                             : c->classes > 1 ? (uint8_t)(255 * mask[i] / (c->classes - 1))
                                                : 0;
    }
    free(mask);
    return true;
}

/* STEM-mask.png, whose pixels are numbers of classes with a palette, and STEM-overlay.png, the picture under it. */
static int draw(const classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width_,
                const char *stem) {
    const int64_t n = height * width_, high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1];
    uint8_t *mask = step_buffer(places_of(c), 1), *large = step_buffer(n, 1), *rgb = step_buffer(n, 3), palette[256][3];
    int code = mask && large && rgb ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    if (code == CLI_OK) {
        for (int64_t k = 0; k < 256; k++) task_colour(c, k, palette[k]);
        places_take(c, p, mask);
        for (int64_t i = 0; i < n; i++)
            large[i] = mask[(2 * (i / width_) + 1) * high / (2 * height) * wide +
                            (2 * (i % width_) + 1) * wide / (2 * width_)];
        paint(c, mask, pixels, height, width_, rgb);
        code = task_save_png(c, stem, "-mask.png", large, height, width_, 1, palette[0]);
    }
    if (code == CLI_OK) code = task_save_png(c, stem, "-overlay.png", rgb, height, width_, 3, NULL);
    free(mask);
    free(large);
    free(rgb);
    return code;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

/* The first pictures: as they are, what they are said to be, and what the network makes of them. */
static bool pictures(FILE *out, const evaluator *e) {
    const classifier *c = e->c;
    const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1], n = places_of(c);
    uint8_t *rgb = step_buffer(n, 3), *mask = step_buffer(n, 1);
    bool ok = rgb && mask;
    fputs("<h3>The first pictures</h3>\n<div "
          "style=\"display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:10px\">\n",
          out);
    for (int64_t i = 0; ok && i < e->count && i < EVALUATOR_SHOWN; i++) {
        const uint8_t *pixels = wick_dataset_sample(e->dataset, i);
        wick_fault fault;
        ok = wick_dataset_get(e->dataset, i, (void *[WICK_DATASET_FIELDS]){NULL, mask}, &fault) == WICK_OK;
        for (int64_t k = 0; ok && pixels && k < n; k++)
            for (int ch = 0; ch < 3; ch++) rgb[3 * k + ch] = pixels[(c->rank == 3 && c->dims[0] == 3 ? ch : 0) * n + k];
        if (ok && pixels) ok = task_figure(out, rgb, high, wide, "picture");
        if (ok) paint(c, mask, NULL, high, wide, rgb), ok = task_figure(out, rgb, high, wide, "mask");
        if (ok) paint(c, e->shown + i * n, NULL, high, wide, rgb), ok = task_figure(out, rgb, high, wide, "predicted");
    }
    fputs("</div>\n", out);
    free(rgb);
    free(mask);
    return ok;
}

static bool report(FILE *out, const evaluator *e) {
    fputs("<p>IoU is the intersection of what is of a class and what is taken for it, over their union.</p>\n", out);
    places_report(out, e, "pixels", task_colour);
    return pictures(out, e);
}

const task task_segment = {.kind = TASK_SEGMENT,
                           .name = "segment",
                           .learned = "a segmentation into %lld class%s",
                           .classes = true,
                           .output = "probabilities",
                           .doc = "of each class at each pixel, [N, classes, height, width]",
                           .loss = "cross-entropy of pixels",
                           .score = "miou",
                           .score_title = "mIoU",
                           .by_score = true,
                           .percent = true,
                           .predictions = places_predictions,
                           .rows = places_rows,
                           .width = places_width,
                           .count = count,
                           .measure = measure,
                           .print = print,
                           .print_json = print_json,
                           .show = show,
                           .show_json = show_json,
                           .paint = paint_found,
                           .draw = draw,
                           .report = report};
