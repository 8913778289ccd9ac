/* cross_entropy.c: cross-entropy from logits, with class indices (one node) or class probabilities (a composition). */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

/* (logits [N, C], labels [N], weights [C] or nothing) -> losses [N], softmax [N, C]. */
static wick_status infer_cross_entropy(wick_infer *i) {
    const wick_type *x = i->in[0], *y = i->in[1];
    const target_attr *a = i->attr;
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "logits must be floats");
    if (y->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "labels must be integers");
    if (x->rank != 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "logits must be [N, C]");
    if (y->rank != 1 || y->dims[0] != x->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "labels must be [N], one a row of logits");
    if (!(a->smoothing >= 0 && a->smoothing <= 1))
        return wick_infer_fail(i, WICK_ERR_INVALID, "smoothing %g is not in [0, 1]", a->smoothing);
    if (i->n_in == 3) {
        const wick_type *w = i->in[2];
        if (w->dtype != x->dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "weights must have the logits' dtype");
        if (w->rank != 1 || w->dims[0] != x->dims[1])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "weights must be [C], one a class");
    }
    i->out[0] = *x;
    i->out[0].rank = 1;
    i->out[0].dims[1] = 0;
    i->out[1] = *x;
    return WICK_OK;
}
static int64_t run_cross_entropy(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_cross_entropy *s = args;
    const int64_t first = begin * s->per_task, last = WICK_MIN(end * s->per_task, s->rows);
    void *loss = ptr[2 + s->weighted], *probs = ptr[3 + s->weighted];
    const int64_t bad = wick_nll_rows(s->type, first, last, s->cols, ptr[0], ptr[1], loss, probs);
    if (!s->other) return bad;
    return wick_nll_targets_rows(s->type, first, last, s->cols, ptr[0], ptr[1], s->weighted ? ptr[2] : NULL,
                                 s->smoothing, s->ignores ? &s->ignored : NULL, loss, probs);
}
static int64_t bad_label(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    *extent = ((const wick_step_cross_entropy *)args)->cols;
    return ((const int64_t *)ptr[1])[at];
}
static double flops_cross_entropy(const wick_node *node) { return 6.0 * (double)wick_type_count(&node->in[0]->type); }
static wick_status lower_cross_entropy(wick_lower *l, wick_node *node) {
    const int n = node->n_in;
    wick_operand at[5];
    for (int i = 0; i < n; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_out(l, node, i, &at[n + i]));
    wick_ref refs[5];
    for (int i = 0; i < n + 2; i++) refs[i] = wick_lower_ref(&at[i], i >= n);
    int64_t cols = at[0].type->dims[1];
    const target_attr *target = node->attr;
    wick_step_cross_entropy a;
    memset(&a, 0, sizeof a);
    a = (wick_step_cross_entropy){.type = wick_ctype_of((wick_dtype)at[0].type->dtype),
                                  .rows = at[0].type->dims[0],
                                  .cols = cols,
                                  .per_task = WICK_MAX(1, 8192 / WICK_MAX(cols, 1)),
                                  .weighted = n == 3,
                                  .ignores = target->ignores != 0,
                                  .ignored = target->ignored,
                                  .smoothing = target->smoothing};
    a.other = a.weighted || a.ignores || a.smoothing != 0;
    wick_step step = {.name = "cross_entropy",
                      .kind = WICK_STEP_CROSS_ENTROPY,
                      .run = run_cross_entropy,
                      .tasks = (a.rows + a.per_task - 1) / a.per_task,
                      .flops = flops_cross_entropy(node),
                      .bytes = 2.0 * (double)wick_type_bytes(at[0].type),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "the label of row %lld is not a class: %lld of %lld",
                      .fault_at = bad_label};
    return wick_lower_step(l, &step, &a, sizeof a, refs, n + 2);
}
/* labels, with 0 in place of the ignored one; *keep is where they are not it, or NULL: everywhere. */
static wick_tensor *safe_labels(const target_attr *a, wick_tensor *labels, wick_tensor **keep) {
    *keep = NULL;
    if (!a->ignores) return labels;
    *keep = wick_ne(labels, wick_like(labels, (double)a->ignored));
    return wick_where(*keep, labels, wick_like(labels, 0));
}
/* d loss / d logits = (sum of q) softmax - q, per row, q being the target: see wick_nll_targets_rows. The softmax is a
 * plain value as a result of this op, so gradients of gradients go through its own rule. */
static void grad_cross_entropy(wick_gradient *g) {
    if (!g->need[0]) return;
    const wick_type *t = &g->node->in[0]->type;
    const target_attr *a = g->node->attr;
    wick_tensor *p = g->out[1], *weight = g->n_in == 3 ? g->in[2] : NULL;
    if (g->gout[0] && !weight && !a->ignores && a->smoothing == 0) {
        wick_tensor *hot = wick_one_hot(g->in[1], t->dims[1], (wick_dtype)t->dtype);
        g->gin[0] = wick_mul(wick_sub(p, hot), wick_unsqueeze(g->gout[0], 1));
    } else if (g->gout[0]) {
        wick_tensor *keep, *label = safe_labels(a, g->in[1], &keep), *gy = g->gout[0];
        if (keep) gy = wick_where(keep, gy, wick_like(gy, 0));
        wick_tensor *hot = wick_one_hot(label, t->dims[1], (wick_dtype)t->dtype);
        wick_tensor *own = wick_like(gy, 1 - a->smoothing),
                    *everywhere = wick_like(gy, a->smoothing / (double)t->dims[1]);
        wick_tensor *total = wick_like(gy, a->smoothing);
        if (weight) {
            own = wick_mul(wick_gather(weight, 0, label), own);
            everywhere = wick_mul(weight, everywhere);
            total = wick_sum(everywhere, WICK_ALL_AXES, false);
        }
        wick_tensor *sum = wick_add(own, total);
        if (weight) own = wick_unsqueeze(own, 1), sum = wick_unsqueeze(sum, 1);
        wick_tensor *difference = wick_sub(wick_sub(wick_mul(p, sum), wick_mul(hot, own)), everywhere);
        g->gin[0] = wick_mul(difference, wick_unsqueeze(gy, 1));
    }
    if (g->gout[1]) {
        wick_tensor *gy = wick_mul(g->gout[1], p);
        wick_tensor *through = wick_sub(gy, wick_mul(p, wick_sum(gy, WICK_AXES(-1), true)));
        g->gin[0] = g->gin[0] ? wick_add(g->gin[0], through) : through;
    }
}
static void print_cross_entropy(wick_str *s, const wick_node *node) {
    const target_attr *a = node->attr;
    if (a->smoothing != 0) wick_str_add(s, "smoothing=%g", a->smoothing);
    if (a->ignores) wick_str_add(s, "%signored=%lld", a->smoothing != 0 ? " " : "", (long long)a->ignored);
}
static void sample_cross_entropy(wick_sample *s) {
    s->n_in = 2 + (s->random() % 4 == 0);
    s->in[0] = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32,
                           .rank = 2,
                           .dims = {wick_sample_int(s, 0, 6), wick_sample_int(s, 4, 11)}};
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {s->in[0].dims[0]}};
    s->in[2] = (wick_type){.dtype = s->in[0].dtype, .rank = 1, .dims = {s->in[0].dims[1]}};
    s->lo[0] = -3, s->hi[0] = 3;
    s->lo[1] = 0, s->hi[1] = 3;
    s->lo[2] = 0.5, s->hi[2] = 2;
    const target_attr a = {s->random() % 2 ? 0.2 : 0, s->random() % 3 == 0, wick_sample_int(s, 0, 3)};
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    s->differentiable = s->in[0].dtype == WICK_F64 && s->n_in == 2; /* weights have no gradient */
}
const wick_op wick_op_cross_entropy = {.name = "cross_entropy",
                                       .doc = "logsumexp(logits) - logits[label], a row; also the softmax",
                                       .onnx = "SoftmaxCrossEntropyLoss",
                                       .torch = "nn.functional.cross_entropy",
                                       .cost = "6 m",
                                       .min_in = 2,
                                       .max_in = 3,
                                       .n_out = 2,
                                       .flags = WICK_OP_FAULTS,
                                       .infer = infer_cross_entropy,
                                       .grad = grad_cross_entropy,
                                       .flops = flops_cross_entropy,
                                       .lower = lower_cross_entropy,
                                       .print = print_cross_entropy,
                                       .sample = sample_cross_entropy};

/* ---- the public functions ---------------------------------------------------------------------------------------- */

static wick_tensor *float_of(wick_tensor *x) {
    if (x && !x->error && (wick_tensor_dtype(x) == WICK_F16 || wick_tensor_dtype(x) == WICK_BF16))
        return wick_as(x, WICK_F32);
    return x;
}
/* [N, C, dims] -> [N dims, C]; [C] -> [1, C]. */
static wick_tensor *classes_last(wick_tensor *x) {
    if (!x || x->error || wick_tensor_rank(x) == 2) return x;
    const int rank = wick_tensor_rank(x);
    if (rank == 1) return wick_unsqueeze(x, 0);
    if (rank == 0) return x;
    int axes[WICK_MAX_DIMS] = {0};
    for (int i = 2; i < rank; i++) axes[i - 1] = i;
    axes[rank - 1] = 1;
    int64_t rows = wick_tensor_dim(x, 0);
    for (int i = 2; i < rank; i++) rows *= wick_tensor_dim(x, i);
    return wick_reshape(wick_permute(x, rank, axes), 2, (const int64_t[]){rows, wick_tensor_dim(x, 1)});
}
/* The shape of a loss for each place of logits: theirs without the classes. */
static int places(const wick_tensor *logits, int64_t *dims) {
    const int rank = wick_tensor_rank(logits);
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (i != (rank > 1)) dims[n++] = wick_tensor_dim(logits, i);
    return n;
}
/* The weights of the places that count, by which the mean divides; NULL: all count 1. */
static wick_tensor *share_of(const target_attr *a, wick_tensor *labels, wick_tensor *weight, wick_dtype dtype) {
    wick_tensor *keep, *label = safe_labels(a, labels, &keep), *share = keep ? wick_as(keep, dtype) : NULL;
    if (!weight) return share;
    wick_tensor *own = wick_gather(weight, 0, label);
    return share ? wick_mul(own, share) : own;
}
/* Losses in rows, as the options reduce them; dims are those of the labels. */
static wick_tensor *finish(wick_tensor *rows, const wick_cross_entropy_options *o, wick_tensor *share, int rank, int n,
                           const int64_t *dims) {
    if (rows->error) return rows;
    if (o->reduction == WICK_REDUCE_MEAN && share)
        return wick_div(wick_sum(rows, WICK_ALL_AXES, false), wick_sum(share, WICK_ALL_AXES, false));
    return wick_reduced(rank == 2 ? rows : wick_reshape(rows, n, dims), o->reduction, "cross_entropy");
}

/* Each row's logits at its label, 0 at ignored ones. A label that is no class is past the end of all, a fault. */
static wick_tensor *at_labels(const target_attr *a, wick_tensor *x, wick_tensor *labels) {
    const int64_t rows = wick_tensor_dim(x, 0), classes = wick_tensor_dim(x, 1);
    wick_tensor *keep, *label = safe_labels(a, labels, &keep);
    wick_tensor *begin = wick_arange(x->ctx, WICK_I64, 0, (double)classes, rows);
    wick_tensor *is_class =
        wick_logical_and(wick_ge(label, wick_like(label, 0)), wick_lt(label, wick_like(label, (double)classes)));
    wick_tensor *at = wick_where(is_class, wick_add(begin, label), wick_like(label, (double)(rows * classes)));
    wick_tensor *found = wick_gather(wick_reshape(x, 1, (const int64_t[]){rows * classes}), 0, at);
    return keep ? wick_where(keep, found, wick_like(found, 0)) : found;
}

/* Rows of class probabilities: - sum over c of w[c] ((1 - smoothing) q[c] + smoothing / C) log softmax[c]. */
static wick_tensor *by_probability(wick_tensor *logits, wick_tensor *target, const wick_cross_entropy_options *o) {
    const int64_t classes = wick_tensor_dim(logits, 1);
    wick_tensor *q = target, *log_p = wick_log_softmax(logits, 1);
    if (o->smoothing != 0)
        q = wick_add(wick_mul(q, wick_like(q, 1 - o->smoothing)), wick_like(q, o->smoothing / (double)classes));
    if (o->weight) q = wick_mul(q, o->weight);
    return wick_neg(wick_sum(wick_mul(q, log_p), WICK_AXES(1), false));
}

/* Whether target has the shape that labels of these logits have. */
static bool are_places(const wick_tensor *target, int n, const int64_t *dims) {
    bool fits = wick_tensor_rank(target) == n;
    for (int i = 0; i < n && fits; i++) fits = wick_tensor_dim(target, i) == dims[i];
    return fits;
}
static wick_tensor *misplaced(const char *op, const wick_tensor *logits, const wick_tensor *target) {
    return wick_poison(
        logits->ctx, WICK_ERR_SHAPE,
        "%s: logits of %d dims, [N, C, ...], take labels [N, ...] of the same extents; these have %d dims", op,
        wick_tensor_rank(logits), wick_tensor_rank(target));
}

wick_tensor *wick_cross_entropy_with(wick_tensor *logits, wick_tensor *target,
                                     const wick_cross_entropy_options *options) {
    wick_cross_entropy_options o = options ? *options : (wick_cross_entropy_options){0};
    wick_tensor *out[2];
    target_attr a = {o.smoothing, o.ignore, o.ignore ? o.ignore_index : 0};
    if (!logits || !target || logits->error || target->error) {
        wick_record_n(NULL, &wick_op_cross_entropy, 2, (wick_tensor *[]){logits, target}, &a, sizeof a, 2, out);
        return out[0];
    }
    int64_t dims[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(logits), n = places(logits, dims);
    const bool probabilities =
        wick_dtype_is_float(wick_tensor_dtype(target)) && wick_tensor_rank(target) == rank && rank > 0;
    /* of rows the op says it */
    if (rank != 2 && !probabilities && !are_places(target, n, dims)) return misplaced("cross_entropy", logits, target);
    wick_tensor *x = float_of(classes_last(logits));
    if (o.weight && !o.weight->error) o.weight = wick_as(o.weight, wick_tensor_dtype(x));
    if (!probabilities) {
        wick_tensor *labels = wick_dtype_is_integer(wick_tensor_dtype(target)) ? wick_as(target, WICK_I64) : target;
        if (rank != 2) labels = wick_reshape(labels, 1, (const int64_t[]){wick_tensor_count(labels)});
        wick_record_n(NULL, &wick_op_cross_entropy, o.weight ? 3 : 2, (wick_tensor *[]){x, labels, o.weight}, &a,
                      sizeof a, 2, out);
        const bool shared = o.reduction == WICK_REDUCE_MEAN && !out[0]->error;
        return finish(out[0], &o, shared ? share_of(&a, labels, o.weight, wick_tensor_dtype(out[0])) : NULL, rank, n,
                      dims);
    }
    if (o.ignore)
        return wick_poison(logits->ctx, WICK_ERR_INVALID,
                           "cross_entropy: a target of probabilities has no label to ignore");
    if (!(o.smoothing >= 0 && o.smoothing <= 1))
        return wick_poison(logits->ctx, WICK_ERR_INVALID, "cross_entropy: smoothing %g is not in [0, 1]", o.smoothing);
    for (int i = 0; i < rank; i++)
        if (wick_tensor_dim(target, i) != wick_tensor_dim(logits, i))
            return wick_poison(
                logits->ctx, WICK_ERR_SHAPE,
                "cross_entropy: a target of probabilities has the shape of the logits; extent %d is %lld and %lld", i,
                (long long)wick_tensor_dim(target, i), (long long)wick_tensor_dim(logits, i));
    return finish(by_probability(x, wick_as(classes_last(target), wick_tensor_dtype(x)), &o), &o, NULL, rank, n, dims);
}

/* What nll_loss and multi_margin_loss take: rows of floats, and i64 labels. NULL where they are sound, else the poison.
 */
static wick_tensor *rows_and_labels(const char *op, wick_tensor **x, wick_tensor **labels, wick_tensor **weight) {
    wick_context *ctx = *x ? (*x)->ctx : *labels ? (*labels)->ctx : NULL;
    if (!*x || !*labels) return ctx ? wick_poison(ctx, WICK_ERR_INVALID, "%s: a tensor is NULL", op) : NULL;
    if ((*x)->error || (*labels)->error) return (*x)->error ? *x : *labels;
    if (*weight && (*weight)->error) return *weight;
    int64_t dims[WICK_MAX_DIMS];
    if (!wick_dtype_is_float(wick_tensor_dtype(*x)))
        return wick_poison(ctx, WICK_ERR_DTYPE, "%s: takes floats, not %s", op, wick_dtype_name(wick_tensor_dtype(*x)));
    if (!wick_dtype_is_integer(wick_tensor_dtype(*labels)))
        return wick_poison(ctx, WICK_ERR_DTYPE, "%s: labels must be integers", op);
    if (!wick_tensor_rank(*x) || !are_places(*labels, places(*x, dims), dims)) return misplaced(op, *x, *labels);
    *labels = wick_reshape(wick_as(*labels, WICK_I64), 1, (const int64_t[]){wick_tensor_count(*labels)});
    *x = float_of(classes_last(*x));
    if (*weight) *weight = wick_as(*weight, wick_tensor_dtype(*x));
    if (*weight && (wick_tensor_rank(*weight) != 1 || wick_tensor_dim(*weight, 0) != wick_tensor_dim(*x, 1)))
        return wick_poison(ctx, WICK_ERR_SHAPE, "%s: weights must be [%lld], one a class", op,
                           (long long)wick_tensor_dim(*x, 1));
    return NULL;
}

wick_tensor *wick_nll_loss(wick_tensor *log_p, wick_tensor *labels, const wick_cross_entropy_options *options) {
    wick_cross_entropy_options o = options ? *options : (wick_cross_entropy_options){0};
    wick_tensor *x = log_p, *wrong = rows_and_labels("nll_loss", &x, &labels, &o.weight);
    if (wrong || !x) return wrong;
    if (o.smoothing != 0)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "nll_loss: has no smoothing; wick_cross_entropy_with has");
    int64_t dims[WICK_MAX_DIMS];
    const int n = places(log_p, dims);
    const target_attr a = {0, o.ignore, o.ignore ? o.ignore_index : 0};
    wick_tensor *share = o.weight || o.ignore ? share_of(&a, labels, o.weight, wick_tensor_dtype(x)) : NULL,
                *rows = wick_neg(at_labels(&a, x, labels));
    return finish(o.weight ? wick_mul(rows, share) : rows, &o, share, wick_tensor_rank(log_p), n, dims);
}

wick_tensor *wick_multi_margin_loss(wick_tensor *logits, wick_tensor *labels, int p, double margin, wick_tensor *weight,
                                    wick_reduction reduction) {
    static const target_attr none = {0};
    wick_tensor *x = logits, *wrong = rows_and_labels("multi_margin_loss", &x, &labels, &weight);
    if (wrong || !x) return wrong;
    if (wick_tensor_rank(logits) > 2)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "multi_margin_loss: logits must be [N, C] or [C]");
    if (p != 1 && p != 2) return wick_poison(x->ctx, WICK_ERR_INVALID, "multi_margin_loss: p is 1 or 2, not %d", p);
    const int64_t classes = wick_tensor_dim(x, 1);
    wick_tensor *own = wick_unsqueeze(at_labels(&none, x, labels), 1),
                *right = wick_one_hot(labels, classes, WICK_BOOL);
    wick_tensor *short_of = wick_relu(wick_add(wick_sub(x, own), wick_like(x, margin)));
    if (p == 2) short_of = wick_square(short_of);
    wick_tensor *loss = wick_mean(wick_where(right, wick_like(x, 0), short_of), WICK_AXES(1), false);
    if (weight) loss = wick_mul(loss, wick_gather(weight, 0, labels));
    return wick_reduced(wick_tensor_rank(logits) == 2 ? loss : wick_reshape(loss, 0, NULL), reduction,
                        "multi_margin_loss");
}

wick_tensor *wick_cross_entropy_rows(wick_tensor *logits, wick_tensor *labels) {
    return wick_cross_entropy_with(logits, labels, &(wick_cross_entropy_options){.reduction = WICK_REDUCE_NONE});
}
wick_tensor *wick_cross_entropy(wick_tensor *logits, wick_tensor *labels) {
    return wick_cross_entropy_with(logits, labels, NULL);
}
