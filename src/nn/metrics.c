/* metrics.c: how good predictions are: expressions, scores from counts, and areas under curves. */
#include <math.h>
#include <stdlib.h>

#include "ops/ops.h"
#include "wick/metrics.h"
#include "wick/ops.h"

/* ---- expressions ------------------------------------------------------------------------------------------------- */

wick_tensor *wick_top_k_accuracy(wick_tensor *logits, wick_tensor *labels, int64_t k) {
    /* checks both */
    wick_tensor *own = wick_nll_loss(logits, labels, &(wick_cross_entropy_options){.reduction = WICK_REDUCE_NONE});
    if (!own || own->error) return own;
    if (wick_tensor_rank(logits) != 2)
        return wick_poison(logits->ctx, WICK_ERR_SHAPE, "top_k_accuracy: logits must be [N, C]");
    if (k < 1) return wick_poison(logits->ctx, WICK_ERR_INVALID, "top_k_accuracy: k must be at least 1");
    wick_tensor *x = wick_as(logits, wick_tensor_dtype(own)), *at = wick_unsqueeze(wick_as(labels, WICK_I64), 1);
    own = wick_unsqueeze(wick_neg(own), 1);
    wick_tensor *classes = wick_arange(logits->ctx, WICK_I64, 0, 1, wick_tensor_dim(x, 1));
    wick_tensor *not_below = wick_logical_not(wick_lt(x, own)), *not_at_most = wick_logical_not(wick_le(x, own));
    wick_tensor *above = wick_where(wick_lt(classes, at), not_below, not_at_most);
    above = wick_logical_and(above, wick_ne(classes, at));
    wick_tensor *rank = wick_sum(wick_as(above, WICK_I64), WICK_AXES(1), false);
    return wick_mean(wick_as(wick_lt(rank, wick_like(rank, (double)k)), wick_tensor_dtype(logits)), WICK_ALL_AXES,
                     false);
}

wick_tensor *wick_perplexity(wick_tensor *logits, wick_tensor *labels, const wick_cross_entropy_options *options) {
    wick_cross_entropy_options o = options ? *options : (wick_cross_entropy_options){0};
    o.reduction = WICK_REDUCE_MEAN;
    return wick_exp(wick_cross_entropy_with(logits, labels, &o));
}

/* What is no class goes past the end, where scatter_add faults. */
static wick_tensor *is_class(wick_tensor *x, int64_t classes) {
    return wick_logical_and(wick_ge(x, wick_like(x, 0)), wick_lt(x, wick_like(x, (double)classes)));
}
wick_tensor *wick_confusion_matrix(wick_tensor *labels, wick_tensor *predictions, int64_t classes) {
    wick_tensor *in[2] = {labels, predictions};
    wick_context *ctx = labels ? labels->ctx : predictions ? predictions->ctx : NULL;
    for (int i = 0; i < 2; i++) {
        if (!in[i]) return ctx ? wick_poison(ctx, WICK_ERR_INVALID, "confusion_matrix: a tensor is NULL") : NULL;
        if (in[i]->error) return in[i];
        if (!wick_dtype_is_integer(wick_tensor_dtype(in[i])) && wick_tensor_dtype(in[i]) != WICK_BOOL)
            return wick_poison(ctx, WICK_ERR_DTYPE, "confusion_matrix: classes are integers, not %s",
                               wick_dtype_name(wick_tensor_dtype(in[i])));
    }
    if (!wick_same_dims(&labels->value->type, &predictions->value->type))
        return wick_poison(ctx, WICK_ERR_SHAPE, "confusion_matrix: labels and predictions must be of one shape");
    if (classes < 1 || classes > 1 << 15)
        return wick_poison(ctx, WICK_ERR_INVALID, "confusion_matrix: classes must be from 1 to 32768");
    const int64_t n = wick_tensor_count(labels), cells = classes * classes;
    for (int i = 0; i < 2; i++) in[i] = wick_reshape(wick_as(in[i], WICK_I64), 1, &n);
    wick_tensor *cell = wick_add(wick_mul(in[0], wick_like(in[0], (double)classes)), in[1]);
    wick_tensor *sound = wick_logical_and(is_class(in[0], classes), is_class(in[1], classes));
    cell = wick_where(sound, cell, wick_like(cell, (double)cells));
    wick_tensor *zero = wick_expand(wick_like(cell, 0), 1, &cells), *one = wick_expand(wick_like(cell, 1), 1, &n);
    return wick_reshape(wick_scatter_add(zero, 0, cell, one), 2, (const int64_t[]){classes, classes});
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
static void score(wick_class_score *s) {
    const double support = (double)s->support, predicted = (double)s->predicted, correct = (double)s->correct;
    s->precision = share(correct, predicted);
    s->recall = share(correct, support);
    s->f1 = share(2 * correct, support + predicted);
    s->iou = share(correct, support + predicted - correct);
}
wick_class_score wick_score_class(int64_t classes, const int64_t *confusion, int64_t c) {
    if (!confusion) return (wick_class_score){0};
    wick_class_score s = {.correct = confusion[c * classes + c]};
    for (int64_t k = 0; k < classes; k++) {
        s.support += confusion[c * classes + k];
        s.predicted += confusion[k * classes + c];
    }
    score(&s);
    return s;
}
wick_class_score wick_score_all(int64_t classes, const int64_t *confusion, wick_score_mean mean) {
    if (!confusion) return (wick_class_score){0};
    wick_class_score all = {0};
    double weights = 0, precision = 0, recall = 0, f1 = 0, iou = 0;
    for (int64_t c = 0; c < classes; c++) {
        const wick_class_score s = wick_score_class(classes, confusion, c);
        const double weight = mean == WICK_SCORE_WEIGHTED ? (double)s.support : s.support || s.predicted;
        all.support += s.support;
        all.predicted += s.predicted;
        all.correct += s.correct;
        weights += weight;
        precision += weight * s.precision;
        recall += weight * s.recall;
        f1 += weight * s.f1;
        iou += weight * s.iou;
    }
    score(&all);
    if (mean == WICK_SCORE_MICRO) return all;
    all.precision = share(precision, weights);
    all.recall = share(recall, weights);
    all.f1 = share(f1, weights);
    all.iou = share(iou, weights);
    return all;
}

/* ---- areas ------------------------------------------------------------------------------------------------------- */

typedef struct scored {
    double score;
    bool positive;
} scored;
static int by_falling_score(const void *a, const void *b) {
    const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return (x < y) - (x > y);
}

typedef struct areas {
    double roc, precision;
} areas;
/* Of n scores in falling order; equal ones are one threshold. */
static areas areas_under(const scored *s, int64_t n) {
    double positives = 0, negatives = 0, pairs = 0, precision = 0;
    for (int64_t i = 0; i < n;) {
        double more = 0, fewer = 0;
        for (const double at = s[i].score; i < n && s[i].score == at; i++) s[i].positive ? more++ : fewer++;
        pairs += fewer * (positives + 0.5 * more); /* counted from the negatives: those above, and half of the ties */
        positives += more;
        negatives += fewer;
        precision += more * positives / (positives + negatives);
    }
    return (areas){pairs / (positives * negatives), precision / positives};
}

/* One class against the rest: column c of scores [n, classes], positive where the label is `wanted`. */
static wick_status column_areas(wick_context *ctx, const char *op, const double *scores, const int64_t *labels,
                                int64_t n, int64_t classes, int64_t c, int64_t wanted, scored *room, areas *out) {
    int64_t positives = 0;
    for (int64_t i = 0; i < n; i++) {
        room[i] = (scored){scores[i * classes + c], labels[i] == wanted};
        if (isnan(room[i].score))
            return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: score %lld is NaN", op, (long long)(i * classes + c));
        positives += room[i].positive;
    }
    if (positives == 0 || positives == n)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "%s: %s are labelled %lld", op, positives ? "all" : "none",
                                 (long long)wanted);
    qsort(room, (size_t)n, sizeof *room, by_falling_score);
    *out = areas_under(room, n);
    return WICK_OK;
}

/* The means of both areas over the classes, or of class 1 alone. */
static wick_status mean_areas(const char *op, wick_tensor *scores, wick_tensor *labels, bool columns, areas *out) {
    *out = (areas){NAN, NAN};
    wick_context *ctx = scores ? scores->ctx : labels ? labels->ctx : NULL;
    if (!scores || !labels)
        return ctx ? wick_context_fail(ctx, WICK_ERR_INVALID, "%s: a tensor is NULL", op) : WICK_ERR_INVALID;
    const char *text;
    wick_status status = wick_tensor_error(scores->error ? scores : labels, &text);
    if (status != WICK_OK) return wick_context_fail(ctx, status, "%s: %s", op, text);
    const int rank = wick_tensor_rank(scores);
    const int64_t n = wick_tensor_dim(scores, 0), classes = rank == 2 ? wick_tensor_dim(scores, 1) : 1;
    if (!wick_dtype_is_float(wick_tensor_dtype(scores)) || wick_dtype_is_float(wick_tensor_dtype(labels)))
        return wick_context_fail(ctx, WICK_ERR_DTYPE, "%s: takes scores of floats and labels of integers", op);
    if (rank < 1 || rank > 1 + columns || wick_tensor_rank(labels) != 1 || wick_tensor_dim(labels, 0) != n)
        return wick_context_fail(ctx, WICK_ERR_SHAPE, "%s: takes scores [N]%s and labels [N]", op,
                                 columns ? " or [N, C]" : "");
    const size_t size = (size_t)n * sizeof(scored);
    wick_scope *scope = wick_scope_open(ctx);
    scored *room = wick_alloc(&ctx->alloc, size);
    const void *values = NULL, *wanted = NULL;
    status = scope && room ? WICK_OK : wick_context_fail(ctx, WICK_ERR_NOMEM, "%s: out of memory", op);
    if (status == WICK_OK) status = wick_data(wick_as(scores, WICK_F64), &values);
    if (status == WICK_OK) status = wick_data(wick_as(labels, WICK_I64), &wanted);
    areas sum = {0, 0};
    for (int64_t c = 0; c < classes && status == WICK_OK; c++) {
        areas a = {0, 0};
        status = column_areas(ctx, op, values, wanted, n, classes, c, rank == 2 ? c : 1, room, &a);
        sum.roc += a.roc;
        sum.precision += a.precision;
    }
    if (status == WICK_OK) *out = (areas){sum.roc / (double)classes, sum.precision / (double)classes};
    wick_release(&ctx->alloc, room, size);
    wick_scope_close(&scope);
    return status;
}

wick_status wick_roc_auc(wick_tensor *scores, wick_tensor *labels, double *auc) {
    if (!auc)
        return scores ? wick_context_fail(scores->ctx, WICK_ERR_INVALID, "roc_auc: auc is NULL") : WICK_ERR_INVALID;
    areas a;
    wick_status status = mean_areas("roc_auc", scores, labels, true, &a);
    *auc = a.roc;
    return status;
}
wick_status wick_average_precision(wick_tensor *scores, wick_tensor *labels, double *precision) {
    if (!precision)
        return scores ? wick_context_fail(scores->ctx, WICK_ERR_INVALID, "average_precision: precision is NULL")
                      : WICK_ERR_INVALID;
    areas a;
    wick_status status = mean_areas("average_precision", scores, labels, false, &a);
    *precision = a.precision;
    return status;
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

wick_status wick_edit_distance(wick_context *ctx, int64_t n_a, const int64_t *a, int64_t n_b, const int64_t *b,
                               int64_t *distance) {
    if (n_a > 0 && !a) return wick_context_fail(ctx, WICK_ERR_INVALID, "edit_distance: a is NULL");
    if (n_b > 0 && !b) return wick_context_fail(ctx, WICK_ERR_INVALID, "edit_distance: b is NULL");
    if (!distance) return wick_context_fail(ctx, WICK_ERR_INVALID, "edit_distance: distance is NULL");
    *distance = 0;
    if (n_a < 0 || n_b < 0)
        return wick_context_fail(ctx, WICK_ERR_INVALID, "edit_distance: of %lld and %lld labels", (long long)n_a,
                                 (long long)n_b);
    if (n_a < n_b) return wick_edit_distance(ctx, n_b, b, n_a, a, distance);
    size_t size;
    int64_t *row = wick_mul_overflows((size_t)n_b + 1, sizeof *row, &size) ? NULL : wick_alloc(&ctx->alloc, size);
    if (!row) return wick_context_fail(ctx, WICK_ERR_NOMEM, "edit_distance: out of memory");
    for (int64_t j = 0; j <= n_b; j++) row[j] = j;
    /* row[j]: the distance of the first i labels of a, then i + 1, and the first j of b */
    for (int64_t i = 0; i < n_a; i++) {
        int64_t diagonal = row[0]++;
        for (int64_t j = 1; j <= n_b; j++) {
            const int64_t changed = diagonal + (a[i] != b[j - 1]), one_less = WICK_MIN(row[j], row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = WICK_MIN(changed, one_less);
        }
    }
    *distance = row[n_b];
    wick_release(&ctx->alloc, row, size);
    return WICK_OK;
}
