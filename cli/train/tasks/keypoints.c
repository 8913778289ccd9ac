/* Points in a picture, each by a heatmap. The network gives [n, points, rows, columns]; the softmax over a point's
 * cells is how likely it is at each, and its place the mean of theirs (integral regression, Sun et al. 2018, arXiv
 * 1711.08229; DSNT, Nibali et al. 2018, arXiv 1801.07372). The first column stands for the left edge of the picture and
 * the last one for the right edge, rows likewise, so that a point can be found anywhere in it.
 *
 * The loss of a picture is the mean over its points that are there of KL(q, p) + |m - t|: q is a Gaussian around the
 * true place t, one cell wide, over the cells; p the softmax, m its mean; the distance is in cells. */
#include "keypoints.h"

#include "../boxes/box_fit.h"
#include "../evaluate.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/wick.h"

#include <math.h>
#include <stdlib.h>

enum { WIDE = 1 /* the Gaussian, in cells */ };
const double POINT_SHARES[3] = {0.2, 0.1, 0.05};

static int64_t width(const classifier *c) { return c->classes * POINT_WIDTH; }

static wick_tensor *take(wick_tensor *x, int axis, int64_t first) { return wick_slice(x, axis, first, first + 1, 1); }

/* Pixels from one column to the next, and from one row. */
static double pitch(const classifier *c, int axis) {
    return (double)c->dims[axis ? 1 : 2] / (double)(c->grid[axis ? 0 : 1] - 1);
}

/* A constant [1, 1, cells]: in which column each is, or (axis 1) in which row. */
static wick_tensor *of_cells(const classifier *c, int axis) {
    const int64_t n = c->grid[0] * c->grid[1], dims[] = {1, 1, n};
    float *at = step_buffer(n, sizeof *at);
    if (!at) return wick_poison(c->ctx, WICK_ERR_NOMEM, "keypoints: out of memory");
    for (int64_t i = 0; i < n; i++) at[i] = (float)(axis ? i / c->grid[1] : i % c->grid[1]);
    wick_tensor *x = wick_from(c->ctx, WICK_F32, 3, dims, at);
    free(at);
    return x;
}

static wick_tensor *flat(const classifier *c, wick_tensor *y) {
    return wick_reshape(y, 3, (const int64_t[]){wick_tensor_dim(y, 0), c->classes, c->grid[0] * c->grid[1]});
}

/* The mean of p, [n, points, cells], in columns or rows: [n, points, 1]. */
static wick_tensor *mean_of(const classifier *c, wick_tensor *p, int axis) {
    return wick_sum(wick_mul(p, of_cells(c, axis)), 1, (const int[]){2}, true);
}

static wick_tensor *predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)x;
    wick_tensor *p = wick_softmax(flat(c, y), 2), *parts[POINT_WIDTH], *near = NULL;
    for (int axis = 0; axis < 2; axis++) {
        wick_tensor *mean = mean_of(c, p, axis), *away = wick_abs(wick_sub(of_cells(c, axis), mean)),
                    *is = wick_le(away, wick_like(away, 1.5));
        parts[axis] = wick_mul(mean, wick_like(mean, pitch(c, axis)));
        near = near ? wick_logical_and(near, is) : is;
    }
    /* how much of p is about the mean: three cells by three */
    parts[2] = wick_sum(wick_where(near, p, wick_like(p, 0)), 1, (const int[]){2}, true);
    return wick_concat(POINT_WIDTH, parts, 2);
}

static wick_tensor *rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    const int cells[] = {2}, points[] = {1};
    wick_tensor *log_p = wick_log_softmax(flat(c, y), 2), *p = wick_exp(log_p), *apart = NULL, *square = NULL,
                *there = take(target, 2, 2);
    for (int axis = 0; axis < 2; axis++) {
        wick_tensor *at = take(target, 2, axis), *low = wick_ge(at, wick_like(at, 0)),
                    *high = wick_le(at, wick_like(at, (double)c->dims[axis ? 1 : 2]));
        /* where the augmentation moved it out of the picture, it is not there */
        there = wick_mul(there, wick_cast(wick_logical_and(low, high), WICK_F32));
        at = wick_div(at, wick_like(at, pitch(c, axis)));
        wick_tensor *from_mean = wick_square(wick_sub(mean_of(c, p, axis), at)),
                    *from_cell = wick_square(wick_sub(of_cells(c, axis), at));
        apart = apart ? wick_add(apart, from_mean) : from_mean;
        square = square ? wick_add(square, from_cell) : from_cell;
    }
    wick_tensor *log_q = wick_log_softmax(wick_mul(square, wick_like(square, -0.5 / (WIDE * WIDE))), 2),
                *each = wick_sum(wick_mul(wick_exp(log_q), wick_sub(log_q, log_p)), 1, cells, true),
                /* without the small number the root has no gradient at 0 */
                    *distance = wick_sqrt(wick_add(apart, wick_like(apart, 1e-6)));
    there = wick_squeeze(there, 2);
    wick_tensor *loss = wick_mul(there, wick_squeeze(wick_add(each, distance), 2)),
                *count = wick_sum(there, 1, points, false);
    return wick_div(wick_sum(loss, 1, points, false), wick_maximum(count, wick_like(count, 1)));
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* The sides of the box around the points that are there; false: there are not two of them, or they are one place. */
static bool size_of(const float *target, int64_t n, double side[2]) {
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int64_t k = 0; k < n; k++, target += POINT_WIDTH)
        for (int axis = 0; axis < 2 && target[2] > 0; axis++)
            low[axis] = fminf(low[axis], target[axis]), high[axis] = fmaxf(high[axis], target[axis]);
    for (int axis = 0; axis < 2; axis++) side[axis] = (double)(high[axis] - low[axis]);
    return side[0] > 0 && side[1] > 0;
}

static void add(point_score *s, double distance, double larger, double mean) {
    s->there++;
    for (int i = 0; i < 3; i++) s->pck[i] += distance <= POINT_SHARES[i] * larger;
    s->nme += distance / mean;
}
static void close_score(point_score *s) {
    const double by = s->there ? (double)s->there : NAN;
    for (int i = 0; i < 3; i++) s->pck[i] /= by;
    s->nme /= by;
}

int keypoints_score(const evaluator *e, point_score *each, point_score *all) {
    const classifier *c = e->c;
    const int64_t n = c->classes, wide = width(c);
    float *p = step_buffer(wide, sizeof *p), *y = step_buffer(wide, sizeof *y);
    int code = p && y ? CLI_OK : log_fail(CLI_FAILED, "out of memory");
    wick_fault fault = {0};
    *all = (point_score){0};
    for (int64_t k = 0; each && k < n; k++) each[k] = (point_score){0};
    for (int64_t i = 0; i < e->count && code == CLI_OK; i++) {
        int64_t size[2];
        double side[2];
        if (wick_dataset_get(e->dataset, i, (void *[WICK_DATASET_FIELDS]){NULL, NULL, size}, &fault) != WICK_OK)
            code = log_fail(CLI_BAD_FILE, "%s", fault.text);
        if (code != CLI_OK) break;
        const box_fit fit = box_fit_of(c->letterbox, size[0], size[1], c->dims[1], c->dims[2]);
        for (int64_t k = 0; k < wide; k++) p[k] = e->kept[i * wide + k], y[k] = e->targets[i * wide + k];
        box_fit_points(&fit, true, n, POINT_WIDTH, p);
        box_fit_points(&fit, true, n, POINT_WIDTH, y);
        if (!size_of(y, n, side)) continue;
        for (int64_t k = 0; k < n; k++) {
            const float *a = p + k * POINT_WIDTH, *b = y + k * POINT_WIDTH;
            if (b[2] == 0) continue;
            const double distance = hypot((double)a[0] - (double)b[0], (double)a[1] - (double)b[1]),
                         larger = fmax(side[0], side[1]), mean = sqrt(side[0] * side[1]);
            add(all, distance, larger, mean);
            if (each) add(&each[k], distance, larger, mean);
        }
    }
    close_score(all);
    for (int64_t k = 0; each && k < n; k++) close_score(&each[k]);
    free(p), free(y);
    if (code == CLI_OK && !all->there)
        return log_fail(CLI_BAD_FILE, "no picture has two points that are there: there is nothing to measure by");
    return code;
}

static int measure(const evaluator *e, evaluation *r) {
    point_score all;
    const int code = keypoints_score(e, NULL, &all);
    if (code != CLI_OK) return code;
    evaluation_add(r, "pck20", "PCK@0.2", all.pck[0], true);
    evaluation_add(r, "pck10", "PCK@0.1", all.pck[1], true);
    evaluation_add(r, "pck05", "PCK@0.05", all.pck[2], true);
    evaluation_add(r, "nme", "NME", all.nme, true);
    return CLI_OK;
}

static void print(const evaluator *e) {
    const classifier *c = e->c;
    point_score *each = calloc((size_t)c->classes, sizeof *each), all;
    if (each && keypoints_score(e, each, &all) == CLI_OK) {
        printf("\n%-16s  %9s  %9s  %9s  %9s  %8s\n", "point", "PCK@0.2", "PCK@0.1", "PCK@0.05", "NME", "there");
        for (int64_t k = 0; k < c->classes; k++) {
            const point_score *s = &each[k];
            if (!s->there) continue; /* it has no score */
            log_print("%-16s  %7.2f %%  %7.2f %%  %7.2f %%  %7.2f %%  %8lld\n", c->class_names[k], 100 * s->pck[0],
                      100 * s->pck[1], 100 * s->pck[2], 100 * s->nme, (long long)s->there);
        }
    }
    free(each);
}

static void print_json(const evaluator *e, json *j) {
    const classifier *c = e->c;
    point_score *each = calloc((size_t)c->classes, sizeof *each), all;
    json_open(j, "points", '[');
    const bool scored = each && keypoints_score(e, each, &all) == CLI_OK;
    for (int64_t k = 0; scored && k < c->classes; k++) {
        json_open(j, NULL, '{');
        json_text(j, "name", c->class_names[k]);
        json_integer(j, "there", each[k].there);
        json_real(j, "pck20", each[k].pck[0], 9);
        json_real(j, "pck10", each[k].pck[1], 9);
        json_real(j, "pck05", each[k].pck[2], 9);
        json_real(j, "nme", each[k].nme, 9);
        json_close(j, '}');
    }
    json_close(j, ']');
    free(each);
}

const task task_keypoints = {.kind = TASK_KEYPOINTS,
                             .name = "keypoints",
                             .learned = "a finder of %lld point%s",
                             .output = "points",
                             .doc =
                                 "[N, points, 3]: x and y in pixels of the input, and how much of the heatmap is there",
                             .loss = "loss of heatmaps and places",
                             .score = "pck20",
                             .score_title = "PCK@0.2",
                             .by_score = true,
                             .percent = true,
                             .predictions = predictions,
                             .rows = rows,
                             .width = width,
                             .measure = measure,
                             .print = print,
                             .print_json = print_json,
                             .show = keypoints_show,
                             .show_json = keypoints_show_json,
                             .csv = keypoints_csv,
                             .show_csv = keypoints_show_csv,
                             .paint = keypoints_paint,
                             .draw = keypoints_draw,
                             .report = keypoints_report};
