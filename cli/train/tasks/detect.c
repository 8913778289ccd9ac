/* Things in a picture: where each is, as a box, and what. The network gives [n, 5 + classes, rows, columns], a cell of
 * the grid for each place; there is no set of boxes to begin from (FCOS, Tian et al. 2019, arXiv 1904.01355; YOLOX, Ge
 * et al. 2021, arXiv 2107.08430). Of a cell whose middle is at (x, y), and which is (u, v) pixels wide and high:
 *
 *   y0       how likely it has a thing: sigmoid(y0 + log(p / (1 - p))), p = 0.01 being what is likely before anything
 *            is learned (Lin et al. 2017, arXiv 1708.02002)
 *   y1, y2   the middle of its box, (x + y1 u, y + y2 v)
 *   y3, y4   its width and height, u exp(y3), v exp(y4)
 *   y5 ...   how likely it is of each class: sigmoid; the score of a class is that times the first
 *
 * A cell is to find the box whose middle lies in it, or, where none does, the nearest one whose middle lies within a
 * cell's width and height of its own, and which it lies in. The loss of a picture, over how many cells have a box:
 *
 *   of all cells      |q - s|^2 BCE(s, q), s being the first sigmoid and q the overlap (IoU) of what is found with the
 *                     box, 0 without one (quality focal loss; Li et al. 2020, arXiv 2006.04388)
 *   of those with one 2 (1 - GIoU) (Rezatofighi et al. 2019, arXiv 1902.09630), and the sum of BCE over the classes */
#include "detect.h"

#include "../evaluate.h"
#include "../../step.h"
#include "../../term/log.h"

#include "wick/wick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CORNERS = 4, BEFORE = 5 /* numbers before those of the classes */ };
static const double prior = -4.59511985013459; /* log(p / (1 - p)) */
static const double largest = 8;               /* of exp's argument, either way: no overflow */

int64_t detect_cells(const classifier *c) { return c->grid[0] * c->grid[1]; }
int64_t detect_width(const classifier *c) { return (CORNERS + c->classes) * detect_cells(c); }

static wick_tensor *take(wick_tensor *x, int axis, int64_t first, int64_t n) {
    return wick_slice(x, axis, first, first + n, 1);
}
static wick_tensor *times(wick_tensor *x, double by) { return wick_mul(x, wick_like(x, by)); }

/* A constant [1, 2, cells] of what x and y of each cell are; or of what they all are, [1, 2, 1]. */
static wick_tensor *of_cells(const classifier *c, bool middles) {
    const int64_t rows = c->grid[0], columns = c->grid[1], n = middles ? rows * columns : 1, dims[] = {1, 2, n};
    const double wide = (double)c->dims[2] / (double)columns, high = (double)c->dims[1] / (double)rows;
    float *at = step_buffer(2 * n, sizeof *at);
    if (!at) return wick_poison(c->ctx, WICK_ERR_NOMEM, "detect: out of memory");
    for (int64_t i = 0; i < n; i++) {
        at[i] = (float)(middles ? wide * ((double)(i % columns) + 0.5) : wide);
        at[n + i] = (float)(middles ? high * ((double)(i / columns) + 0.5) : high);
    }
    wick_tensor *x = wick_from(c->ctx, WICK_F32, 3, dims, at);
    free(at);
    return x;
}

/* [n, 5 + classes, cells] */
static wick_tensor *flat(const classifier *c, wick_tensor *y) {
    return wick_reshape(y, 3, (const int64_t[]){wick_tensor_dim(y, 0), BEFORE + c->classes, detect_cells(c)});
}

/* Of the boxes that a flat y says the upper left corners, or the lower right ones: [n, 2, cells]. */
static wick_tensor *corner(const classifier *c, wick_tensor *y, double side) {
    wick_tensor *cell = of_cells(c, false), *middle = wick_add(of_cells(c, true), wick_mul(take(y, 1, 1, 2), cell)),
                *size = wick_mul(wick_exp(wick_clip(take(y, 1, 3, 2), -largest, largest)), cell);
    return wick_add(middle, times(size, side / 2));
}

static wick_tensor *presence(wick_tensor *y) {
    wick_tensor *x = take(y, 1, 0, 1);
    return wick_add(x, wick_like(x, prior));
}

wick_tensor *detect_predictions(classifier *c, wick_tensor *x, wick_tensor *y) {
    (void)x;
    y = flat(c, y);
    wick_tensor *parts[3], *score = wick_sigmoid(take(y, 1, BEFORE, c->classes));
    const float edges[] = {(float)c->dims[2], (float)c->dims[1]};
    wick_tensor *edge = wick_from(c->ctx, WICK_F32, 3, (const int64_t[]){1, 2, 1}, edges);
    for (int k = 0; k < 2; k++) {
        wick_tensor *at = corner(c, y, k ? 1 : -1);
        parts[k] = wick_minimum(wick_maximum(at, wick_like(at, 0)), edge); /* nothing is outside of the picture */
    }
    parts[2] = wick_mul(score, wick_sigmoid(presence(y)));
    return wick_concat(3, parts, 1);
}

/* ---- loss -------------------------------------------------------------------------------------------------------- */

/* Which box of target [n, M, 5] each cell is to find: *has, f32 [n, cells], and its numbers, [n, cells, 5]. */
static wick_tensor *assign(const classifier *c, wick_tensor *target, wick_tensor **has) {
    const int64_t n = wick_tensor_dim(target, 0), most = wick_tensor_dim(target, 1), cells = detect_cells(c);
    const int last[] = {3}, second[] = {2};
    wick_tensor *low = take(target, 2, 0, 2), *high = take(target, 2, 2, 2), *size = wick_sub(high, low),
                *middle = wick_add(low, times(size, 0.5)), *class = take(target, 2, CORNERS, 1);
    /* a box of which the augmentation left less than a pixel is none */
    wick_tensor *least = wick_min(size, 1, second, true),
                *there = wick_logical_and(wick_ge(least, wick_like(least, 1)), wick_ge(class, wick_like(class, 0)));
    there = wick_reshape(there, 3, (const int64_t[]){n, 1, most});
    /* [n, cells, M, 2] */
    wick_tensor *at = wick_reshape(wick_transpose(of_cells(c, true), 1, 2), 4, (const int64_t[]){1, cells, 1, 2}),
                *away = wick_abs(wick_sub(at, wick_unsqueeze(middle, 1))),
                *beyond = wick_sub(away, times(wick_unsqueeze(size, 1), 0.5)),
                *far = wick_div(away, wick_reshape(of_cells(c, false), 4, (const int64_t[]){1, 1, 1, 2}));
    far = wick_max(far, 1, last, false);
    beyond = wick_max(beyond, 1, last, false);
    wick_tensor *near = wick_logical_and(wick_le(far, wick_like(far, 1)), wick_le(beyond, wick_like(beyond, 0))),
                *may = wick_logical_and(wick_logical_or(wick_le(far, wick_like(far, 0.5)), near), there),
                *cost = wick_where(may, far, wick_like(far, 1e9)), *which,
                *lowest = wick_min_with_index(cost, 2, false, &which);
    *has = wick_cast(wick_lt(lowest, wick_like(lowest, 1e8)), WICK_F32);
    which = wick_expand(wick_unsqueeze(which, 2), 3, (const int64_t[]){n, cells, BOX_WIDTH});
    return wick_take_along_axis(target, 1, which);
}

typedef struct overlaps {
    wick_tensor *iou, *giou; /* [n, cells] */
} overlaps;

/* Of corners [n, 2, cells] each. Those found have an area. */
static overlaps overlap(wick_tensor *low, wick_tensor *high, wick_tensor *its_low, wick_tensor *its_high) {
    const int one[] = {1};
    wick_tensor *both = wick_relu(wick_sub(wick_minimum(high, its_high), wick_maximum(low, its_low))),
                *inside = wick_prod(both, 1, one, false),
                *area = wick_add(wick_prod(wick_sub(high, low), 1, one, false),
                                 wick_prod(wick_sub(its_high, its_low), 1, one, false)),
                *all = wick_sub(area, inside), *iou = wick_div(inside, all),
                *hull = wick_prod(wick_sub(wick_maximum(high, its_high), wick_minimum(low, its_low)), 1, one, false);
    return (overlaps){iou, wick_sub(iou, wick_div(wick_sub(hull, all), hull))};
}

static wick_tensor *sum_of_cells(wick_tensor *x) { return wick_sum(x, 1, (const int[]){1}, false); }

wick_tensor *detect_rows(classifier *c, wick_tensor *x, wick_tensor *y, wick_tensor *target) {
    (void)x;
    y = flat(c, y);
    wick_tensor *has, *box = assign(c, target, &has), *turned = wick_transpose(box, 1, 2);
    const overlaps o = overlap(corner(c, y, -1), corner(c, y, 1), take(turned, 1, 0, 2), take(turned, 1, 2, 2));
    wick_tensor *cells = sum_of_cells(has), *by = wick_maximum(cells, wick_like(cells, 1));

    wick_tensor *quality = wick_stop_gradient(wick_mul(has, o.iou)), *logit = wick_squeeze(presence(y), 1),
                *plain = wick_binary_cross_entropy_logits(logit, quality, NULL, NULL, WICK_REDUCE_NONE),
                *off = wick_square(wick_sub(quality, wick_sigmoid(logit))), *presences = wick_mul(off, plain);

    wick_tensor *places = times(wick_mul(has, wick_sub(wick_like(o.giou, 1), o.giou)), 2);

    wick_tensor *class = wick_squeeze(take(box, 2, CORNERS, 1), 2),
                *known = wick_cast(wick_relu(class), WICK_I64), /* -1 where there is none */
                    *wanted = wick_one_hot(known, c->classes, WICK_F32),
                *given = wick_transpose(take(y, 1, BEFORE, c->classes), 1, 2),
                *each = wick_binary_cross_entropy_logits(given, wanted, NULL, NULL, WICK_REDUCE_NONE),
                *classes = wick_mul(has, wick_sum(each, 1, (const int[]){2}, false));
    return wick_div(sum_of_cells(wick_add(presences, wick_add(places, classes))), by);
}

/* ---- one of those that overlap ----------------------------------------------------------------------------------- */

static int read_selected(const classifier *c, const float *p, int64_t n, int64_t first, const int64_t *which,
                         int64_t most, box_found **found, int64_t *n_found) {
    const int64_t cells = detect_cells(c), width = detect_width(c);
    int64_t count = 0;
    for (int64_t i = 0; i < n * c->classes * most; i++) count += which[i] >= 0;
    *found = malloc((size_t)(count + 1) * sizeof **found);
    if (!*found) return log_fail(CLI_FAILED, "out of memory");
    for (int64_t i = 0; i < n * c->classes * most; i++) {
        const int64_t cell = which[i], class = i / most % c->classes, sample = i / most / c->classes;
        if (cell < 0) continue;
        const float *at = p + sample * width + cell;
        (*found)[(*n_found)++] = (box_found){.picture = first + sample,
                                             .class = (int)class,
                                             .score = at[(CORNERS + class) * cells],
                                             .at = {at[0], at[cells], at[2 * cells], at[3 * cells]}};
    }
    return CLI_OK;
}

int detect_select(const classifier *c, const float *p, int64_t n, int64_t first, double least, double overlap_,
                  box_found **found, int64_t *n_found) {
    const int64_t cells = detect_cells(c), dims[] = {n, CORNERS + c->classes, cells},
                  most = cells < BOX_MOST_FOUND ? cells : BOX_MOST_FOUND, count = n * c->classes * most;
    const wick_nms_options options = {.most = most, .overlap = overlap_, .by_score = true, .score = least};
    int64_t *which = step_buffer(count, sizeof *which);
    wick_scope *scope = which ? wick_scope_open(c->ctx) : NULL;
    *found = NULL, *n_found = 0;
    if (!scope) return free(which), log_fail(CLI_FAILED, "out of memory");
    wick_here(NULL);
    wick_tensor *all = wick_from(c->ctx, WICK_F32, 3, dims, p), *boxes = wick_transpose(take(all, 1, 0, CORNERS), 1, 2),
                *selected = wick_nms_padded(boxes, take(all, 1, CORNERS, c->classes), &options, NULL);
    const wick_status status = wick_read(selected, which, (size_t)count * sizeof *which);
    int code = status == WICK_OK ? read_selected(c, p, n, first, which, most, found, n_found)
                                 : log_fail(CLI_FAILED, "%s", log_why(c->ctx, status));
    wick_scope_close(&scope);
    free(which);
    return code;
}

const task task_detect = {.kind = TASK_DETECT,
                          .name = "detect",
                          .learned = "a detector of %lld class%s",
                          .classes = true,
                          .output = "detections",
                          .doc =
                              "[N, 4 + classes, cells]: of each cell of the grid the box x0, y0, x1, y1 in pixels of "
                              "the input, and the score of each class; boxes that overlap are for "
                              "NonMaxSuppression",
                          .loss = "loss of cells and boxes",
                          .score = "map50",
                          .score_title = "mAP50",
                          .by_score = true,
                          .percent = true,
                          .predictions = detect_predictions,
                          .rows = detect_rows,
                          .width = detect_width,
                          .count = detect_count,
                          .begin = detect_begin,
                          .drop = detect_drop,
                          .measure = detect_measure,
                          .print = detect_print,
                          .print_json = detect_print_json,
                          .show = detect_show,
                          .show_json = detect_show_json,
                          .csv = detect_csv,
                          .show_csv = detect_show_csv,
                          .paint = detect_paint,
                          .draw = detect_draw,
                          .report = detect_report};
