/* Where in the second picture is what the first shows: a sample is both, one behind the other in the channels. The
 * network gives [n, 3, rows, columns] of a grid over the second. The softmax of the first channel says how likely the
 * middle of the box is in each cell, and the box's is the mean of the cells' (integral regression, Sun et al. 2018,
 * arXiv 1711.08229); by the same weights the other two say its width and height, exp(y) / 4 of the picture's. Boxes are
 * x0, y0, x1, y1, as shares of the width and height. The loss of a sample is
 *
 *   KL(q, p) + 2 (1 - GIoU)
 *
 * where q is a Gaussian around the true middle, one cell wide, over the cells, and GIoU that of the box with the true
 * one (Rezatofighi et al. 2019, arXiv 1902.09630). */
#include "task.h"
#include "task_draw.h"

#include "../evaluate.h"
#include "../../report/html.h"
#include "../../report/png.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/wick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDES = 4 };
static const double largest = 8; /* of exp's argument, either way: no overflow */

static int64_t width(const classifier *c) { return (void)c, SIDES; }
static wick_tensor *take(wick_tensor *x, int axis, int64_t first, int64_t n) {
    return wick_slice(x, axis, first, first + n, 1);
}
static wick_tensor *times(wick_tensor *x, double by) { return wick_mul(x, wick_like(x, by)); }

/* A constant [1, 2, cells]: x and y of the middle of each, in cells. */
static wick_tensor *middles(const classifier *c) {
    const int64_t n = c->grid[0] * c->grid[1], dims[] = {1, 2, n};
    float *at = step_buffer(2 * n, sizeof *at);
    if (!at) return wick_poison(c->ctx, WICK_ERR_NOMEM, "track: out of memory");
    for (int64_t i = 0; i < n; i++) at[i] = (float)(i % c->grid[1]) + 0.5F, at[n + i] = (float)(i / c->grid[1]) + 0.5F;
    wick_tensor *x = wick_from(c->ctx, WICK_F32, 3, dims, at);
    free(at);
    return x;
}
/* [1, 2]: columns and rows. */
static wick_tensor *extents(const classifier *c) {
    return wick_from(c->ctx, WICK_F32, 2, (const int64_t[]){1, 2},
                     (const float[]){(float)c->grid[1], (float)c->grid[0]});
}
static wick_tensor *flat(const classifier *c, wick_tensor *y) {
    return wick_reshape(y, 3, (const int64_t[]){wick_tensor_dim(y, 0), 3, c->grid[0] * c->grid[1]});
}

/* Corners of the box that a flat y says, [n, 2] each. */
static void corners(const classifier *c, wick_tensor *y, wick_tensor **low, wick_tensor **high) {
    const int cells[] = {2};
    wick_tensor *p = wick_softmax(take(y, 1, 0, 1), 2),
                *middle = wick_div(wick_sum(wick_mul(p, middles(c)), 1, cells, false), extents(c)),
                *size = wick_sum(wick_mul(p, take(y, 1, 1, 2)), 1, cells, false);
    size = times(wick_exp(wick_clip(size, -largest, largest)), 0.125); /* half of it */
    *low = wick_sub(middle, size), *high = wick_add(middle, size);
}

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)x;
    wick_tensor *parts[2];
    corners(c, flat(c, y), &parts[0], &parts[1]);
    return wick_clip(wick_concat(2, parts, 1), 0, 1);
}

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    const int one[] = {1}, last[] = {2};
    const int64_t n = wick_tensor_dim(y, 0), box[] = {n, SIDES}, point[] = {n, 2, 1};
    wick_tensor *low, *high, *its_low, *its_high, *t = wick_reshape(target, 2, box);
    y = flat(c, y);
    corners(c, y, &low, &high);
    its_low = take(t, 1, 0, 2), its_high = take(t, 1, 2, 2);
    wick_tensor *middle = wick_mul(times(wick_add(its_low, its_high), 0.5), extents(c)),
                *away = wick_square(wick_sub(middles(c), wick_reshape(middle, 3, point))),
                *log_q = wick_log_softmax(times(wick_sum(away, 1, one, true), -0.5), 2),
                *log_p = wick_log_softmax(take(y, 1, 0, 1), 2),
                *apart = wick_sum(wick_mul(wick_exp(log_q), wick_sub(log_q, log_p)), 1, last, false);
    wick_tensor *both = wick_relu(wick_sub(wick_minimum(high, its_high), wick_maximum(low, its_low))),
                *inside = wick_prod(both, 1, one, false),
                *area = wick_add(wick_prod(wick_sub(high, low), 1, one, false),
                                 wick_prod(wick_sub(its_high, its_low), 1, one, false)),
                *all = wick_sub(area, inside),
                *hull = wick_prod(wick_sub(wick_maximum(high, its_high), wick_minimum(low, its_low)), 1, one, false),
                *giou = wick_sub(wick_div(inside, all), wick_div(wick_sub(hull, all), hull));
    return wick_add(wick_reshape(apart, 1, &n), times(wick_sub(wick_like(giou, 1), giou), 2));
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static double overlap(const float *a, const float *b) {
    const double wide = (double)fminf(a[2], b[2]) - (double)fmaxf(a[0], b[0]),
                 high = (double)fminf(a[3], b[3]) - (double)fmaxf(a[1], b[1]),
                 inside = wide > 0 && high > 0 ? wide * high : 0,
                 all = (double)(a[2] - a[0]) * (double)(a[3] - a[1]) + (double)(b[2] - b[0]) * (double)(b[3] - b[1]);
    return inside / (all - inside);
}

static int measure(const evaluator *e, evaluation *r) {
    double sum = 0, half = 0, most = 0;
    for (int64_t i = 0; i < e->count; i++) {
        const double is = overlap(e->kept + SIDES * i, e->targets + SIDES * i);
        sum += is, half += is >= 0.5, most += is >= 0.75;
    }
    const double n = (double)e->count;
    evaluation_add(r, "iou", "mean IoU", sum / n, true);
    evaluation_add(r, "success50", "IoU at least 0.5", half / n, true);
    evaluation_add(r, "success75", "IoU at least 0.75", most / n, true);
    return CLI_OK;
}

static void print(const evaluator *e) { (void)e; }
static void print_json(const evaluator *e, json *j) { (void)e, (void)j; }

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

/* In pixels of the second picture, as its file has it where that is known. */
static void in_pixels(const classifier *c, const float *share, double box[SIDES]) {
    for (int k = 0; k < SIDES; k++) {
        const int axis = k % 2 ? 0 : 1;
        box[k] = (double)share[k] * (double)(c->picture[0] > 0 ? c->picture[axis] : c->dims[1 + axis]);
    }
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    double b[SIDES];
    (void)label;
    in_pixels(c, p, b);
    printf(": box %.1f %.1f %.1f %.1f", b[0], b[1], b[2], b[3]);
    if (target) printf(" (IoU %.3f)", overlap(p, target));
    fputc('\n', stdout);
}
static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    double b[SIDES];
    (void)label;
    in_pixels(c, p, b);
    json_open(j, "box", '[');
    for (int k = 0; k < SIDES; k++) json_real(j, NULL, b[k], 7);
    json_close(j, ']');
    if (target) json_real(j, "iou", overlap(p, target), 7);
}
static void csv(const classifier *c) {
    (void)c;
    puts("path,xmin,ymin,xmax,ymax");
}
static void show_csv(const classifier *c, const float *p, const char *name) {
    double b[SIDES];
    in_pixels(c, p, b);
    task_cell(name);
    printf(",%.7g,%.7g,%.7g,%.7g\n", b[0], b[1], b[2], b[3]);
}

static void paint_box(uint8_t *rgb, int64_t height, int64_t width_, const float *share, const uint8_t colour[3]) {
    const int64_t x0 = (int64_t)((double)share[0] * (double)(width_ - 1)),
                  x1 = (int64_t)((double)share[2] * (double)(width_ - 1)),
                  y0 = (int64_t)((double)share[1] * (double)(height - 1)),
                  y1 = (int64_t)((double)share[3] * (double)(height - 1));
    for (int64_t y = y0; y <= y1; y++)
        for (int64_t x = x0; x <= x1; x++)
            if ((x == x0 || x == x1 || y == y0 || y == y1) && x >= 0 && y >= 0 && x < width_ && y < height)
                memcpy(rgb + 3 * (y * width_ + x), colour, 3);
}
static const uint8_t found_in[] = {255, 60, 60}, true_in[] = {60, 255, 60};

/* STEM-box.png: the second picture with the box in it. */
static int draw(const classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width_,
                const char *stem) {
    uint8_t *rgb = step_buffer(height * width_, 3);
    if (!rgb) return log_fail(CLI_FAILED, "out of memory");
    task_rgb(pixels, c->dims[0] / 2, height, width_, rgb);
    paint_box(rgb, height, width_, p, found_in);
    const int code = task_save_png(c, stem, "-box.png", rgb, height, width_, 3, NULL);
    free(rgb);
    return code;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static bool report(FILE *out, const evaluator *e) {
    const classifier *c = e->c;
    const int64_t high = c->dims[1], wide = c->dims[2], channels = c->dims[0] / 2;
    uint8_t *rgb = step_buffer(high * wide, 3);
    bool ok = rgb != NULL;
    fputs("<p>IoU is the intersection of the box that is there and the one that is found, over their union.</p>\n"
          "<h3>The first pairs</h3>\n<div "
          "style=\"display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:10px\">\n",
          out);
    for (int64_t i = 0; ok && i < e->count && i < EVALUATOR_SHOWN; i++) {
        const uint8_t *pixels = wick_dataset_sample(e->dataset, i);
        char text[96];
        if (!pixels) break;
        task_rgb(pixels, channels, high, wide, rgb);
        ok = task_figure(out, rgb, high, wide, "what is looked for");
        task_rgb(pixels + channels * high * wide, channels, high, wide, rgb);
        paint_box(rgb, high, wide, e->targets + SIDES * i, true_in);
        paint_box(rgb, high, wide, e->kept + SIDES * i, found_in);
        snprintf(text, sizeof text, "green: where it is, red: where it is found, IoU %.3f",
                 overlap(e->kept + SIDES * i, e->targets + SIDES * i));
        ok = ok && task_figure(out, rgb, high, wide, text);
    }
    fputs("</div>\n", out);
    free(rgb);
    return ok;
}

const task task_track = {.kind = TASK_TRACK,
                         .name = "track",
                         .learned = "a tracker by %lld map%s",
                         .output = "box",
                         .doc = "[N, 4]: x0, y0, x1, y1, shares of the second picture's width and height",
                         .loss = "loss of places and boxes",
                         .score = "iou",
                         .score_title = "IoU",
                         .by_score = true,
                         .percent = true,
                         .predictions = predictions,
                         .rows = rows,
                         .width = width,
                         .measure = measure,
                         .print = print,
                         .print_json = print_json,
                         .show = show,
                         .show_json = show_json,
                         .csv = csv,
                         .show_csv = show_csv,
                         .draw = draw,
                         .report = report};
