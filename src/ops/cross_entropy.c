/* cross_entropy.c: cross-entropy from logits, with class indices (one node) or class probabilities (a composition). */
#include "ops/ops.h"
#include "wick/ops.h"

typedef struct target_attr {
    double smoothing;
    int64_t ignores, ignored; /* whether one label is ignored, and which */
} target_attr;

/* (logits [N, C], labels [N], weights [C] or nothing) -> losses [N], softmax [N, C]. */
static wick_status infer_cross_entropy(wick_infer *i) {
    const wick_type *x = i->in[0], *y = i->in[1];
    const target_attr *a = i->attr;
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "logits must be floats");
    if (y->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "labels must be integers");
    if (x->rank != 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "logits must be [N, C]");
    if (y->rank != 1 || y->dims[0] != x->dims[0]) return wick_infer_fail(i, WICK_ERR_SHAPE, "labels must be [N], one a row of logits");
    if (!(a->smoothing >= 0 && a->smoothing <= 1)) return wick_infer_fail(i, WICK_ERR_INVALID, "smoothing %g is not in [0, 1]", a->smoothing);
    if (i->n_in == 3) {
        const wick_type *w = i->in[2];
        if (w->dtype != x->dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "weights must have the logits' dtype");
        if (w->rank != 1 || w->dims[0] != x->dims[1]) return wick_infer_fail(i, WICK_ERR_SHAPE, "weights must be [C], one a class");
    }
    i->out[0] = *x;
    i->out[0].rank = 1;
    i->out[0].dims[1] = 0;
    i->out[1] = *x;
    return WICK_OK;
}
typedef struct loss_args {
    wick_ctype type;
    bool weighted;
    int64_t rows, cols, per_task;
    target_attr target;
} loss_args;
static int64_t run_cross_entropy(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const loss_args *a = args;
    const int64_t first = begin * a->per_task, last = WICK_MIN(end * a->per_task, a->rows);
    void *loss = ptr[2 + a->weighted], *probs = ptr[3 + a->weighted];
    const int64_t bad = wick_nll_rows(a->type, first, last, a->cols, ptr[0], ptr[1], loss, probs);
    if (!a->weighted && !a->target.ignores && a->target.smoothing == 0) return bad;
    return wick_nll_targets_rows(a->type, first, last, a->cols, ptr[0], ptr[1], a->weighted ? ptr[2] : NULL, a->target.smoothing,
                                 a->target.ignores ? &a->target.ignored : NULL, loss, probs);
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
    loss_args a;
    memset(&a, 0, sizeof a);
    a.type = wick_ctype_of((wick_dtype)at[0].type->dtype);
    a.weighted = n == 3;
    a.rows = at[0].type->dims[0];
    a.cols = cols;
    a.per_task = WICK_MAX(1, 8192 / WICK_MAX(cols, 1));
    a.target = *(const target_attr *)node->attr;
    wick_step step = {.name = "cross_entropy", .run = run_cross_entropy, .tasks = (a.rows + a.per_task - 1) / a.per_task, .flops = flops_cross_entropy(node),
                      .bytes = 2.0 * (double)wick_type_bytes(at[0].type), .fault = WICK_ERR_INDEX, .fault_text = "the label of row %lld is not a class"};
    return wick_lower_step(l, &step, &a, sizeof a, refs, n + 2);
}
/* labels, with 0 in place of the ignored one; *keep is where they are not it, or NULL: everywhere. */
static wick_tensor *safe_labels(const target_attr *a, wick_tensor *labels, wick_tensor **keep) {
    *keep = NULL;
    if (!a->ignores) return labels;
    *keep = wick_ne(labels, wick_like(labels, (double)a->ignored));
    return wick_where(*keep, labels, wick_like(labels, 0));
}
/* d loss / d logits = (sum of q) softmax - q, per row, q being the target: see wick_nll_targets_rows. The softmax is a plain value as a
 * result of this op, so gradients of gradients go through its own rule. */
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
        wick_tensor *own = wick_like(gy, 1 - a->smoothing), *everywhere = wick_like(gy, a->smoothing / (double)t->dims[1]);
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
    s->in[0] = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32, .rank = 2, .dims = {wick_sample_int(s, 0, 6), wick_sample_int(s, 4, 11)}};
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {s->in[0].dims[0]}};
    s->in[2] = (wick_type){.dtype = s->in[0].dtype, .rank = 1, .dims = {s->in[0].dims[1]}};
    s->lo[0] = -3, s->hi[0] = 3;
    s->lo[1] = 0, s->hi[1] = 3;
    s->lo[2] = 0.5, s->hi[2] = 2;
    const target_attr a = {s->random() % 2 ? 0.2 : 0, s->random() % 3 == 0, wick_sample_int(s, 0, 3)};
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    s->differentiable = s->in[0].dtype == WICK_F64 && s->n_in == 2; /* weights have no gradient */
}
const wick_op wick_op_cross_entropy = {.name = "cross_entropy", .doc = "logsumexp(logits) - logits[label], a row; also the softmax",
                                       .onnx = "SoftmaxCrossEntropyLoss", .torch = "nn.functional.cross_entropy", .cost = "6 m", .min_in = 2, .max_in = 3,
                                       .n_out = 2, .flags = WICK_OP_FAULTS, .infer = infer_cross_entropy, .grad = grad_cross_entropy,
                                       .flops = flops_cross_entropy, .lower = lower_cross_entropy, .print = print_cross_entropy, .sample = sample_cross_entropy};

/* ---- the public functions ---------------------------------------------------------------------------------------------------------- */

static wick_tensor *float_of(wick_tensor *x) {
    if (x && !x->error && (wick_tensor_dtype(x) == WICK_F16 || wick_tensor_dtype(x) == WICK_BF16)) return wick_as(x, WICK_F32);
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
static wick_tensor *reduced(wick_tensor *losses, wick_reduction reduction, wick_tensor *share) {
    if (reduction == WICK_REDUCE_NONE) return losses;
    if (reduction == WICK_REDUCE_MEAN && !share) return wick_mean(losses, WICK_ALL_AXES, false);
    wick_tensor *sum = wick_sum(losses, WICK_ALL_AXES, false);
    return share ? wick_div(sum, share) : sum;
}

/* Rows of class indices. *share: by what the sum is divided for the mean, or NULL: by their number. */
static wick_tensor *by_index(wick_tensor *logits, wick_tensor *labels, const wick_cross_entropy_options *o, wick_tensor **share) {
    target_attr a = {o->smoothing, o->ignore, o->ignore ? o->ignore_index : 0};
    wick_tensor *out[2], *keep;
    wick_record_n(NULL, &wick_op_cross_entropy, o->weight ? 3 : 2, (wick_tensor *[]){logits, labels, o->weight}, &a, sizeof a, 2, out);
    *share = NULL;
    if (out[0]->error || o->reduction != WICK_REDUCE_MEAN || (!o->weight && !o->ignore)) return out[0];
    wick_tensor *label = safe_labels(&a, labels, &keep), *counted = keep ? wick_as(keep, wick_tensor_dtype(out[0])) : NULL;
    if (o->weight) {
        wick_tensor *own = wick_gather(o->weight, 0, label);
        counted = counted ? wick_mul(own, counted) : own;
    }
    *share = wick_sum(counted, WICK_ALL_AXES, false);
    return out[0];
}

/* Rows of class probabilities: - sum over c of w[c] ((1 - smoothing) q[c] + smoothing / C) log softmax[c]. */
static wick_tensor *by_probability(wick_tensor *logits, wick_tensor *target, const wick_cross_entropy_options *o) {
    const int64_t classes = wick_tensor_dim(logits, 1);
    wick_tensor *q = target, *log_p = wick_log_softmax(logits, 1);
    if (o->smoothing != 0) q = wick_add(wick_mul(q, wick_like(q, 1 - o->smoothing)), wick_like(q, o->smoothing / (double)classes));
    if (o->weight) q = wick_mul(q, o->weight);
    return wick_neg(wick_sum(wick_mul(q, log_p), WICK_AXES(1), false));
}

wick_tensor *wick_cross_entropy_with(wick_tensor *logits, wick_tensor *target, const wick_cross_entropy_options *options) {
    wick_cross_entropy_options o = options ? *options : (wick_cross_entropy_options){0};
    if (!logits || !target || logits->error || target->error) {
        wick_tensor *out[2];
        const target_attr none = {0};
        wick_record_n(NULL, &wick_op_cross_entropy, 2, (wick_tensor *[]){logits, target}, &none, sizeof none, 2, out);
        return out[0];
    }
    if ((unsigned)o.reduction > WICK_REDUCE_NONE) return wick_poison(logits->ctx, WICK_ERR_INVALID, "cross_entropy: no such reduction");
    int64_t dims[WICK_MAX_DIMS];
    const int rank = wick_tensor_rank(logits), n = places(logits, dims);
    const bool probabilities = wick_dtype_is_float(wick_tensor_dtype(target)) && wick_tensor_rank(target) == rank && rank > 0;
    /* Labels may be given for places in dims, as they are in a picture; of plain rows the op itself says what is wrong. */
    bool fits = wick_tensor_rank(target) == n;
    for (int i = 0; i < n && fits; i++) fits = wick_tensor_dim(target, i) == dims[i];
    if (rank != 2 && !probabilities && !fits)
        return wick_poison(logits->ctx, WICK_ERR_SHAPE, "cross_entropy: logits of %d dims, [N, C, ...], take labels [N, ...] of the same extents; these have %d dims",
                           rank, wick_tensor_rank(target));
    wick_tensor *x = float_of(classes_last(logits)), *losses, *share = NULL;
    if (o.weight) o.weight = o.weight->error ? o.weight : wick_as(o.weight, wick_tensor_dtype(x));
    if (probabilities) {
        if (o.ignore) return wick_poison(logits->ctx, WICK_ERR_INVALID, "cross_entropy: a target of probabilities has no label to ignore");
        if (!(o.smoothing >= 0 && o.smoothing <= 1))
            return wick_poison(logits->ctx, WICK_ERR_INVALID, "cross_entropy: smoothing %g is not in [0, 1]", o.smoothing);
        for (int i = 0; i < rank; i++)
            if (wick_tensor_dim(target, i) != wick_tensor_dim(logits, i))
                return wick_poison(logits->ctx, WICK_ERR_SHAPE, "cross_entropy: a target of probabilities has the shape of the logits; extent %d is %lld and %lld", i,
                                   (long long)wick_tensor_dim(target, i), (long long)wick_tensor_dim(logits, i));
        losses = by_probability(x, wick_as(classes_last(target), wick_tensor_dtype(x)), &o);
    } else {
        wick_tensor *labels = wick_dtype_is_integer(wick_tensor_dtype(target)) ? wick_as(target, WICK_I64) : target;
        if (rank != 2) labels = wick_reshape(labels, 1, (const int64_t[]){wick_tensor_count(labels)});
        losses = by_index(x, labels, &o, &share);
    }
    if (o.reduction == WICK_REDUCE_NONE) return rank == 2 || losses->error ? losses : wick_reshape(losses, n, dims);
    return reduced(losses, o.reduction, share);
}

wick_tensor *wick_cross_entropy_rows(wick_tensor *logits, wick_tensor *labels) {
    return wick_cross_entropy_with(logits, labels, &(wick_cross_entropy_options){.reduction = WICK_REDUCE_NONE});
}
wick_tensor *wick_cross_entropy(wick_tensor *logits, wick_tensor *labels) { return wick_cross_entropy_with(logits, labels, NULL); }
