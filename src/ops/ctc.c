/* ctc.c: connectionist temporal classification. The gradient is an op of its own, which does the forward sums again:
 * nothing is kept in between. */
#include "ops/ops.h"
#include "wick/sequence.h"

static wick_status infer_inputs(wick_infer *i) {
    const ctc_attr *a = i->attr;
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "log_probs must be f32 or f64; cast");
    for (int k = 1; k < 4; k++)
        if (i->in[k]->dtype != WICK_I64)
            return wick_infer_fail(i, WICK_ERR_DTYPE, "labels and lengths must be of integers");
    if (x->rank != 3) return wick_infer_fail(i, WICK_ERR_SHAPE, "log_probs must be [steps, samples, classes]");
    const int64_t batch = x->dims[1];
    if (i->in[1]->rank < 1 || i->in[1]->rank > 2 || (i->in[1]->rank == 2 && i->in[1]->dims[0] != batch))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "labels must be [samples, most] or, one after the other, [all]");
    for (int k = 2; k < 4; k++)
        if (i->in[k]->rank != 1 || i->in[k]->dims[0] != batch)
            return wick_infer_fail(i, WICK_ERR_SHAPE, "lengths must be [samples]");
    if (a->blank < 0 || a->blank >= x->dims[2])
        return wick_infer_fail(i, WICK_ERR_INVALID, "the blank %lld is no class", (long long)a->blank);
    return WICK_OK;
}
static wick_status infer_loss(wick_infer *i) {
    WICK_TRY(infer_inputs(i));
    const uint16_t device = i->out->device;
    wick_type_set(i->out, (wick_dtype)i->in[0]->dtype, 1, &i->in[0]->dims[1]);
    i->out->device = device;
    return WICK_OK;
}
static wick_status infer_grad(wick_infer *i) {
    WICK_TRY(infer_inputs(i));
    *i->out = *i->in[0];
    return WICK_OK;
}

typedef struct ctc_args {
    wick_ctc c;
    bool grad;
} ctc_args;
static int64_t run_ctc(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const ctc_args *a = args;
    return wick_ctc_run(&a->c, begin, end, ptr[0], ptr[1], ptr[2], ptr[3], a->grad ? NULL : ptr[4],
                        a->grad ? ptr[4] : NULL, scratch);
}
static double flops_ctc(const wick_node *node) {
    const wick_type *labels = &node->in[1]->type;
    const double most = (double)labels->dims[labels->rank - 1], passes = node->op == &wick_op_ctc_loss ? 1 : 2;
    return passes * 40 * (double)node->in[0]->type.dims[0] * (2 * most + 1) *
           (labels->rank == 2 ? (double)labels->dims[0] : 1);
}
static wick_status lower_ctc(wick_lower *l, wick_node *node) {
    const ctc_attr *attr = node->attr;
    wick_operand at[5];
    wick_ref refs[5];
    for (int i = 0; i < 4; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    WICK_TRY(wick_lower_out(l, node, 0, &at[4]));
    for (int i = 0; i < 5; i++) refs[i] = wick_lower_ref(&at[i], i == 4);
    const wick_type *x = at[0].type, *labels = at[1].type;
    ctc_args a;
    memset(&a, 0, sizeof a);
    a.grad = node->op == &wick_op_ctc_loss_grad;
    a.c = (wick_ctc){.type = wick_ctype_of((wick_dtype)x->dtype),
                     .steps = x->dims[0],
                     .batch = x->dims[1],
                     .classes = x->dims[2],
                     .blank = attr->blank,
                     .most = labels->rank == 2 ? labels->dims[1] : -1,
                     .room = labels->dims[labels->rank - 1],
                     .zero_infinity = attr->zero_infinity};
    wick_step step = {.name = node->op->name,
                      .run = run_ctc,
                      .tasks = a.c.batch,
                      .scratch = wick_ctc_scratch(&a.c),
                      .flops = flops_ctc(node),
                      .bytes = (double)wick_type_bytes(x) * (a.grad ? 2 : 1),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "sample %lld: a length is out of range, or a label is no class or the blank"};
    return wick_lower_step(l, &step, &a, sizeof a, refs, 5);
}
static void grad_ctc(wick_gradient *g) {
    wick_tensor *d = wick_record(NULL, &wick_op_ctc_loss_grad, 4, g->in, g->node->attr, g->node->attr_size);
    if (g->need[0]) g->gin[0] = wick_mul(d, wick_unsqueeze(g->gout[0], -1));
}
static void print_ctc(wick_str *s, const wick_node *node) {
    const ctc_attr *a = node->attr;
    wick_str_add(s, "blank=%lld%s", (long long)a->blank, a->zero_infinity ? " zero_infinity" : "");
}
static void sample_ctc(wick_sample *s) {
    const int64_t most = wick_sample_int(s, 1, 3), steps = wick_sample_int(s, 2 * (int)most + 2, 2 * (int)most + 4),
                  batch = wick_sample_int(s, 0, 4);
    s->n_in = 4;
    s->in[0] = (wick_type){
        .dtype = s->random() % 3 ? WICK_F64 : WICK_F32, .rank = 3, .dims = {steps, batch, wick_sample_int(s, 3, 5)}};
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 2, .dims = {batch, most}};
    s->in[2] = s->in[3] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {batch}};
    s->lo[0] = -3, s->hi[0] = -0.1;
    s->lo[1] = 1, s->hi[1] = 2;
    s->lo[2] = (double)steps - 1, s->hi[2] = (double)steps;
    s->lo[3] = 0, s->hi[3] = (double)most;
    const ctc_attr a = {0, (int64_t)(s->random() % 2)};
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    s->differentiable = s->in[0].dtype == WICK_F64;
}
const wick_op wick_op_ctc_loss = {.name = "ctc_loss",
                                  .doc = "-log of the probability of labels over all their alignments, a sample",
                                  .torch = "nn.functional.ctc_loss",
                                  .cost = "40 T (2 S + 1) a sample, S labels",
                                  .min_in = 4,
                                  .max_in = 4,
                                  .n_out = 1,
                                  .flags = WICK_OP_FAULTS | WICK_OP_ONCE,
                                  .infer = infer_loss,
                                  .grad = grad_ctc,
                                  .flops = flops_ctc,
                                  .lower = lower_ctc,
                                  .print = print_ctc,
                                  .sample = sample_ctc};
static void sample_ctc_grad(wick_sample *s) {
    sample_ctc(s);
    s->differentiable = false;
}
const wick_op wick_op_ctc_loss_grad = {.name = "ctc_loss_grad",
                                       .doc = "the gradient of ctc_loss",
                                       .cost = "twice that of ctc_loss",
                                       .min_in = 4,
                                       .max_in = 4,
                                       .n_out = 1,
                                       .flags = WICK_OP_FAULTS | WICK_OP_ONCE,
                                       .infer = infer_grad,
                                       .flops = flops_ctc,
                                       .lower = lower_ctc,
                                       .print = print_ctc,
                                       .sample = sample_ctc_grad};

wick_tensor *wick_ctc_loss(wick_tensor *log_probs, wick_tensor *labels, wick_tensor *input_lengths,
                           wick_tensor *label_lengths, const wick_ctc_options *options) {
    static const wick_ctc_options defaults;
    const wick_ctc_options *o = options ? options : &defaults;
    const ctc_attr a = {o->blank, o->zero_infinity};
    if (!log_probs || log_probs->error) return log_probs;
    const wick_dtype dtype = wick_tensor_dtype(log_probs);
    if ((unsigned)o->reduction > WICK_REDUCE_NONE)
        return wick_poison(log_probs->ctx, WICK_ERR_INVALID, "ctc_loss: no such reduction: %d", (int)o->reduction);
    if (dtype == WICK_F16 || dtype == WICK_BF16) log_probs = wick_as(log_probs, WICK_F32);
    wick_tensor *in[4] = {log_probs, labels, input_lengths, label_lengths};
    for (int i = 1; i < 4; i++)
        if (in[i] && !in[i]->error && wick_dtype_is_integer(wick_tensor_dtype(in[i]))) in[i] = wick_as(in[i], WICK_I64);
    wick_tensor *loss = wick_record(NULL, &wick_op_ctc_loss, 4, in, &a, sizeof a);
    if (o->reduction == WICK_REDUCE_SUM) loss = wick_sum(loss, WICK_ALL_AXES, false);
    if (o->reduction == WICK_REDUCE_MEAN && loss && !loss->error) { /* of the losses per label */
        wick_tensor *count = wick_maximum(in[3], wick_like(in[3], 1));
        loss = wick_mean(wick_div(loss, wick_as(count, wick_tensor_dtype(loss))), WICK_ALL_AXES, false);
    }
    return dtype == WICK_F16 || dtype == WICK_BF16 ? wick_as(loss, dtype) : loss;
}
