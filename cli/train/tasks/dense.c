/* A number for each pixel, such as how far away it is. The network gives [n, 1, height, width], of the height and width
 * of its picture; pixels of which nothing is known (NaN) count for nothing. The loss of a picture is the mean over its
 * pixels of |y - t| (mae), of squares up to 1 and magnitudes beyond (huber), or of squares (mse), of numbers that have
 * mean 0 and deviation 1 over the training; or of silog, where the network gives logarithms, with d = log y - log t of
 * pixels above 0,
 *
 *   mean(d^2) - 1/2 mean(d)^2
 *
 * (the scale-invariant error; Eigen, Puhrsch, Fergus 2014, arXiv 1406.2283, equation 4). Scores are theirs: mean
 * |y - t| / t, RMSE, and the share of pixels with max(y / t, t / y) below 1.25, over all pixels of all pictures. */
#include "dense.h"
#include "task_draw.h"

#include "../evaluate.h"
#include "../../report/png.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/wick.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double largest = 30; /* of exp's argument, either way: no overflow */

static bool is_log(const classifier *c) { return strcmp(c->loss, "silog") == 0; }
static int64_t width(const classifier *c) { return c->dims[c->rank - 2] * c->dims[c->rank - 1]; }

/* [n, 1, height, width] as [n, pixels] */
static wick_tensor *flat(const classifier *c, wick_tensor *y) {
    return wick_reshape(y, 2, (const int64_t[]){wick_tensor_dim(y, 0), width(c)});
}
static wick_tensor *in_units(classifier *c, wick_tensor *y) {
    return wick_add(wick_mul(y, classifier_state(c, STATE_TARGET_DEVIATION)), classifier_state(c, STATE_TARGET_MEAN));
}

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    const int64_t dims[] = {wick_tensor_dim(x, 0), c->dims[c->rank - 2], c->dims[c->rank - 1]};
    y = in_units(c, flat(c, y));
    if (is_log(c)) y = wick_exp(wick_clip(y, -largest, largest));
    return wick_reshape(y, 3, dims);
}

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    const int pixels[] = {1};
    wick_tensor *known, *loss, *t = flat(c, target), *none = wick_isnan(t);
    y = flat(c, y);
    if (is_log(c)) {
        t = wick_where(none, wick_like(t, 0), t);
        known = wick_gt(t, wick_like(t, 0));
        t = wick_log(wick_where(known, t, wick_like(t, 1)));
    } else {
        known = wick_logical_not(none);
        t = wick_div(wick_sub(t, classifier_state(c, STATE_TARGET_MEAN)), classifier_state(c, STATE_TARGET_DEVIATION));
        t = wick_where(known, t, wick_like(t, 0));
    }
    wick_tensor *there = wick_cast(known, WICK_F32), *count = wick_sum(there, 1, pixels, false),
                *n = wick_maximum(count, wick_like(count, 1));
    if (is_log(c)) {
        wick_tensor *d = wick_mul(there, wick_sub(in_units(c, y), t)),
                    *mean = wick_div(wick_sum(d, 1, pixels, false), n),
                    *square = wick_div(wick_sum(wick_square(d), 1, pixels, false), n);
        return wick_sub(square, wick_mul(wick_square(mean), wick_like(mean, 0.5)));
    }
    loss = strcmp(c->loss, "mae") == 0     ? wick_l1_loss(y, t, WICK_REDUCE_NONE)
           : strcmp(c->loss, "huber") == 0 ? wick_huber_loss(y, t, 1, WICK_REDUCE_NONE)
                                           : wick_mse_loss(y, t, WICK_REDUCE_NONE);
    return wick_div(wick_sum(wick_mul(loss, there), 1, pixels, false), n);
}

int dense_standardise(classifier *c, const wick_dataset *d) {
    const int64_t n = width(c);
    float *t = step_buffer(n, sizeof *t);
    double sum = 0, squares = 0, count = 0;
    wick_fault fault = {0};
    int code = t ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    for (int round = 0; round < 2; round++)
        for (int64_t i = 0; i < wick_dataset_count(d) && code == CLI_OK; i++) {
            if (wick_dataset_get(d, i, (void *[WICK_DATASET_FIELDS]){NULL, t}, &fault) != WICK_OK)
                code = log_fail(CLI_BAD_FILE, "%s", fault.text);
            for (int64_t k = 0; k < n && code == CLI_OK; k++) {
                if (isnan(t[k]) || (is_log(c) && t[k] <= 0)) continue;
                const double v = is_log(c) ? log((double)t[k]) : (double)t[k];
                if (round)
                    squares += (v - sum / count) * (v - sum / count);
                else
                    sum += v, count++;
            }
        }
    free(t);
    if (code != CLI_OK) return code;
    if (count == 0)
        return log_fail(CLI_BAD_FILE, "%s: nothing is known of any pixel%s", c->data,
                        is_log(c) ? " above 0, which --loss silog learns from" : "");
    const float mean = (float)(sum / count), deviation = (float)sqrt(squares / count),
                scale = deviation > 1e-7F * fabsf(mean) && deviation >= FLT_MIN ? deviation : 1;
    wick_status status = wick_write(classifier_state(c, STATE_TARGET_MEAN), &mean, sizeof mean);
    if (status == WICK_OK) status = wick_write(classifier_state(c, STATE_TARGET_DEVIATION), &scale, sizeof scale);
    return status == WICK_OK ? CLI_OK : log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

typedef struct dense_log {
    dense_sums sums;
    float *shown; /* the maps of the first pictures */
} dense_log;

void dense_add(dense_sums *s, double p, double t) {
    if (isnan(t)) return;
    s->n++;
    s->abs += fabs(p - t);
    s->square += (p - t) * (p - t);
    if (t <= 0) return;
    s->positive++;
    s->relative += fabs(p - t) / t;
    const double off = p > 0 ? fmax(p / t, t / p) : INFINITY;
    for (int k = 0; k < 3; k++) s->close[k] += off < pow(1.25, k + 1);
}

static int begin(evaluator *e) {
    dense_log *l = e->own ? e->own : calloc(1, sizeof *l);
    e->own = l;
    if (l && !l->shown) l->shown = step_buffer(EVALUATOR_SHOWN * width(e->c), sizeof *l->shown);
    if (!l || !l->shown) return log_fail(CLI_FAILED, "out of memory");
    l->sums = (dense_sums){0};
    return CLI_OK;
}
static void drop(evaluator *e) {
    dense_log *l = e->own;
    free(l->shown);
    free(l);
    e->own = NULL;
}
static int count(evaluator *e, const void *target, int64_t n) {
    dense_log *l = e->own;
    const int64_t pixels = width(e->c);
    const float *t = target;
    for (int64_t i = 0; i < n * pixels; i++) dense_add(&l->sums, (double)e->logits[i], (double)t[i]);
    for (int64_t i = 0; i < n && e->count + i < EVALUATOR_SHOWN; i++)
        memcpy(l->shown + (e->count + i) * pixels, e->logits + i * pixels, (size_t)pixels * sizeof *l->shown);
    return CLI_OK;
}

static int measure(const evaluator *e, evaluation *r) {
    const dense_sums *s = &((const dense_log *)e->own)->sums;
    if (s->n == 0) return log_fail(CLI_BAD_FILE, "nothing is known of any pixel: there is nothing to measure by");
    evaluation_add(r, "mae", "MAE", s->abs / s->n, false);
    evaluation_add(r, "rmse", "RMSE", sqrt(s->square / s->n), false);
    if (s->positive == 0) return CLI_OK; /* ratios are of what is above 0 */
    evaluation_add(r, "abs_rel", "abs rel", s->relative / s->positive, false);
    evaluation_add(r, "delta1", "delta < 1.25", s->close[0] / s->positive, true);
    evaluation_add(r, "delta2", "delta < 1.25^2", s->close[1] / s->positive, true);
    evaluation_add(r, "delta3", "delta < 1.25^3", s->close[2] / s->positive, true);
    return CLI_OK;
}

static void print(const evaluator *e) {
    const dense_sums *s = &((const dense_log *)e->own)->sums;
    log_note("of %.0f pixels of which something is known; delta is the larger of y / t and t / y", s->n);
}
static void print_json(const evaluator *e, json *j) {
    json_integer(j, "pixels", (int64_t)((const dense_log *)e->own)->sums.n);
}

/* ---- one picture ------------------------------------------------------------------------------------------------- */

static void range_of(const float *v, int64_t n, float *low, float *high) {
    *low = INFINITY, *high = -INFINITY;
    for (int64_t i = 0; i < n; i++) *low = fminf(*low, v[i]), *high = fmaxf(*high, v[i]);
}
static double mean_of(const float *v, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)v[i];
    return sum / (double)n;
}
static dense_sums compare(const classifier *c, const float *p, const float *target) {
    dense_sums s = {0};
    for (int64_t i = 0; target && i < width(c); i++) dense_add(&s, (double)p[i], (double)target[i]);
    return s;
}

static void show(const classifier *c, const float *p, const float *target, int64_t label) {
    (void)label;
    float low, high;
    char unit[SOURCE_UNIT];
    const dense_sums s = compare(c, p, target);
    range_of(p, width(c), &low, &high);
    log_print(": %s from %.4g to %.4g%s, mean %.4g", c->class_names[0], (double)low, (double)high,
              source_map_unit(c->coding, unit), mean_of(p, width(c)));
    if (s.n > 0) printf(" (off by %.4g in the mean)", s.abs / s.n);
    fputc('\n', stdout);
}

static void show_json(const classifier *c, const float *p, const float *target, int64_t label, json *j) {
    (void)label;
    float low, high;
    const dense_sums s = compare(c, p, target);
    range_of(p, width(c), &low, &high);
    json_real(j, "least", (double)low, 7);
    json_real(j, "most", (double)high, 7);
    json_real(j, "mean", mean_of(p, width(c)), 7);
    if (s.n > 0) json_real(j, "mae", s.abs / s.n, 7);
    if (s.positive > 0) json_real(j, "delta1", s.close[0] / s.positive, 7);
}

/* From dark blue over green to yellow, each lighter than the one before; grey: not known. */
static void colour_of(double share, uint8_t rgb[3]) {
    static const uint8_t stops[][3] = {{28, 16, 68}, {38, 78, 140}, {32, 144, 140}, {122, 201, 90}, {250, 230, 50}};
    const double at = 4 * fmin(1, fmax(0, share));
    const int k = at < 3 ? (int)at : 3;
    for (int i = 0; i < 3; i++)
        rgb[i] = isnan(share) ? 128 : (uint8_t)(stops[k][i] + (at - k) * (stops[k + 1][i] - stops[k][i]) + 0.5);
}
/* A map [high, wide] as colours of a picture of that height and width. */
static void paint(const classifier *c, const float *v, float low, float top, int64_t height, int64_t width_,
                  uint8_t *rgb) {
    const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1];
    for (int64_t i = 0; i < height * width_; i++) {
        const int64_t y = (2 * (i / width_) + 1) * high / (2 * height),
                      x = (2 * (i % width_) + 1) * wide / (2 * width_);
        colour_of(top > low ? (double)(v[y * wide + x] - low) / (double)(top - low) : 0, rgb + 3 * i);
    }
}

/* STEM-map.npy, f32 [height, width] of what the network takes, and STEM-map.png, as large as the picture. */
static int draw(const classifier *c, const float *p, const uint8_t *pixels, int64_t height, int64_t width_,
                const char *stem) {
    (void)pixels;
    char path[4096];
    float low, high;
    uint8_t *rgb = step_buffer(height * width_, 3);
    wick_scope *scope = rgb ? wick_scope_open(c->ctx) : NULL;
    if (!scope) return free(rgb), log_fail(CLI_FAILED, "out of memory");
    int code = (size_t)snprintf(path, sizeof path, "%s-map.npy", stem) < sizeof path
                   ? CLI_OK
                   : log_fail(CLI_USAGE, "%s: the name is too long", stem);
    if (code == CLI_OK) {
        wick_here(NULL);
        const wick_status status =
            wick_npy_write(c->ctx, path, wick_from(c->ctx, WICK_F32, 2, c->dims + c->rank - 2, p));
        if (status != WICK_OK) code = log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
    }
    wick_scope_close(&scope);
    range_of(p, width(c), &low, &high);
    paint(c, p, low, high, height, width_, rgb);
    if (code == CLI_OK) code = task_save_png(c, stem, "-map.png", rgb, height, width_, 3, NULL);
    free(rgb);
    return code;
}

/* ---- report ------------------------------------------------------------------------------------------------------ */

static bool report(FILE *out, const evaluator *e) {
    const classifier *c = e->c;
    const dense_log *l = e->own;
    const int64_t high = c->dims[c->rank - 2], wide = c->dims[c->rank - 1], n = width(c);
    uint8_t *rgb = step_buffer(n, 3);
    float *map = step_buffer(n, sizeof *map), low, top;
    char unit[SOURCE_UNIT], scale[96];
    bool ok = rgb && map;
    fputs("<p>delta is the larger of what is predicted over what is there, and the other way round; a share of pixels "
          "has one below 1.25, its square, its cube.</p>\n<h3>The first pictures</h3>\n<div "
          "style=\"display:grid;grid-template-columns:repeat(3,minmax(0,1fr));gap:10px\">\n",
          out);
    for (int64_t i = 0; ok && i < e->count && i < EVALUATOR_SHOWN; i++) {
        const uint8_t *pixels = wick_dataset_sample(e->dataset, i);
        wick_fault fault;
        ok = wick_dataset_get(e->dataset, i, (void *[WICK_DATASET_FIELDS]){NULL, map}, &fault) == WICK_OK;
        if (!ok || !pixels) break;
        task_rgb(pixels, c->rank == 3 ? c->dims[0] : 1, high, wide, rgb);
        ok = task_figure(out, rgb, high, wide, "picture");
        range_of(map, n, &low, &top);
        if (isinf(low)) range_of(l->shown + i * n, n, &low, &top);
        snprintf(scale, sizeof scale, "map: dark %.3g, light %.3g%s", (double)low, (double)top,
                 source_map_unit(c->coding, unit));
        paint(c, map, low, top, high, wide, rgb);
        ok = ok && task_figure(out, rgb, high, wide, scale);
        paint(c, l->shown + i * n, low, top, high, wide, rgb);
        ok = ok && task_figure(out, rgb, high, wide, "predicted, on the same scale");
    }
    fputs("</div>\n", out);
    free(rgb);
    free(map);
    return ok;
}

const task task_dense = {.kind = TASK_DENSE,
                         .name = "dense",
                         .learned = "%lld number%s for each pixel",
                         .output = "map",
                         .doc = "a number for each pixel, [N, height, width]",
                         .loss = "error of pixels, mean over pictures",
                         .score = "mae",
                         .score_title = "MAE",
                         .lower = true,
                         .predictions = predictions,
                         .rows = rows,
                         .width = width,
                         .count = count,
                         .begin = begin,
                         .drop = drop,
                         .measure = measure,
                         .print = print,
                         .print_json = print_json,
                         .show = show,
                         .show_json = show_json,
                         .draw = draw,
                         .report = report};
