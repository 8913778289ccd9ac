/* loss.c: cross-entropy from logits, and the mean squared error. */
#include "ops/ops.h"
#include "wick/ops.h"

/* (logits [N, C], labels [N]) -> losses [N], softmax [N, C]. */
static wick_status infer_cross_entropy(wick_infer *i) {
    const wick_type *x = i->in[0], *y = i->in[1];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "logits must be floats");
    if (y->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "labels must be integers");
    if (x->rank != 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "logits must be [N, C]");
    if (y->rank != 1 || y->dims[0] != x->dims[0]) return wick_infer_fail(i, WICK_ERR_SHAPE, "labels must be [N], one a row of logits");
    i->out[0] = *x;
    i->out[0].rank = 1;
    i->out[0].dims[1] = 0;
    i->out[1] = *x;
    return WICK_OK;
}
typedef struct loss_args {
    wick_ctype type;
    int64_t rows, cols, per_task;
} loss_args;
static int64_t run_cross_entropy(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const loss_args *a = args;
    return wick_nll_rows(a->type, begin * a->per_task, WICK_MIN(end * a->per_task, a->rows), a->cols, ptr[0], ptr[1], ptr[2], ptr[3]);
}
static double flops_cross_entropy(const wick_node *node) { return 6.0 * (double)wick_type_count(&node->in[0]->type); }
static wick_status lower_cross_entropy(wick_lower *l, wick_node *node) {
    wick_operand at[4];
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_out(l, node, i, &at[2 + i]));
    wick_ref refs[4];
    for (int i = 0; i < 4; i++) refs[i] = wick_lower_ref(&at[i], i >= 2);
    int64_t cols = at[0].type->dims[1];
    loss_args a = {wick_ctype_of((wick_dtype)at[0].type->dtype), at[0].type->dims[0], cols, WICK_MAX(1, 8192 / WICK_MAX(cols, 1))};
    wick_step step = {.name = "cross_entropy", .run = run_cross_entropy, .tasks = (a.rows + a.per_task - 1) / a.per_task, .flops = flops_cross_entropy(node),
                      .bytes = 2.0 * (double)wick_type_bytes(at[0].type), .fault = WICK_ERR_INDEX, .fault_text = "the label of row %lld is not a class"};
    return wick_lower_step(l, &step, &a, sizeof a, refs, 4);
}
/* d loss / d logits = softmax - one_hot(label), per row. The softmax is written as a function of the logits when it must itself
 * be differentiated; as a result of this op it is a plain value, so gradients of gradients take the rebuilt one. */
static void grad_cross_entropy(wick_gradient *g) {
    if (!g->need[0]) return;
    const wick_type *t = &g->node->in[0]->type;
    wick_tensor *hot = wick_one_hot(g->in[1], t->dims[1], (wick_dtype)t->dtype);
    if (g->gout[0]) g->gin[0] = wick_mul(wick_sub(g->out[1], hot), wick_unsqueeze(g->gout[0], 1));
    if (g->gout[1]) {
        wick_tensor *gy = wick_mul(g->gout[1], g->out[1]);
        wick_tensor *through = wick_sub(gy, wick_mul(g->out[1], wick_sum(gy, WICK_AXES(-1), true)));
        g->gin[0] = g->gin[0] ? wick_add(g->gin[0], through) : through;
    }
}
static void sample_cross_entropy(wick_sample *s) {
    s->n_in = 2;
    s->in[0] = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32, .rank = 2, .dims = {wick_sample_int(s, 0, 6), wick_sample_int(s, 4, 11)}};
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {s->in[0].dims[0]}};
    s->lo[0] = -3, s->hi[0] = 3;
    s->lo[1] = 0, s->hi[1] = 3;
    s->differentiable = s->in[0].dtype == WICK_F64;
}
const wick_op wick_op_cross_entropy = {.name = "cross_entropy", .doc = "logsumexp(logits) - logits[label], a row; also the softmax",
                                       .onnx = "SoftmaxCrossEntropyLoss", .torch = "nn.functional.cross_entropy", .cost = "6 m", .min_in = 2, .max_in = 2,
                                       .n_out = 2, .flags = WICK_OP_FAULTS, .infer = infer_cross_entropy, .grad = grad_cross_entropy,
                                       .flops = flops_cross_entropy, .lower = lower_cross_entropy, .sample = sample_cross_entropy};

wick_tensor *wick_cross_entropy_rows(wick_tensor *logits, wick_tensor *labels) {
    if (labels && !labels->error && wick_dtype_is_integer(wick_tensor_dtype(labels))) labels = wick_as(labels, WICK_I64);
    if (logits && !logits->error && (wick_tensor_dtype(logits) == WICK_F16 || wick_tensor_dtype(logits) == WICK_BF16)) logits = wick_as(logits, WICK_F32);
    wick_tensor *out[2];
    wick_record_n(NULL, &wick_op_cross_entropy, 2, (wick_tensor *[]){logits, labels}, NULL, 0, 2, out);
    return out[0];
}
wick_tensor *wick_cross_entropy(wick_tensor *logits, wick_tensor *labels) {
    return wick_mean(wick_cross_entropy_rows(logits, labels), WICK_ALL_AXES, false);
}
wick_tensor *wick_mse(wick_tensor *prediction, wick_tensor *target) {
    return wick_mean(wick_square(wick_sub(prediction, target)), WICK_ALL_AXES, false);
}
