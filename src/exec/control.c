/* control.c: scan, loop and if. The region of a node is a graph whose inputs are wick_op_input leaves by number:
 * states, rows, captured values. Lowering puts the region's steps between steps that jump: no step knows that it runs
 * more than once.
 *
 *     start: go on? else jump to end          counter { jump?, round, rounds }
 *     next:  x[t] -> rows, states -> history[t]
 *            the region's own steps
 *            rows -> y[t], new states -> states
 *            round + 1 < rounds, and the condition? then jump to next
 *     end:
 *
 * The gradient of a scan is a scan the other way: its states are the gradients of the states and, adding up, of the
 * captured values; its rows are the history, x and the gradients of y. */
#include "exec/control.h"

static wick_status infer_scan(wick_infer *i) {
    const control_attr *a = i->attr;
    if (i->n_in != wick_control_lead(a) + a->n_state + a->n_x + a->n_captured ||
        i->n_out != 2 * a->n_state + a->n_y + a->conditional)
        return wick_infer_fail(i, WICK_ERR_INVALID, "the numbers of inputs and results are not those of its region");
    if (a->conditional && !wick_is_flag(i->in[0], WICK_BOOL))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "the condition must be one bool, of 0 dims");
    if (a->counted && !wick_is_flag(i->in[0], WICK_I64))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "the count must be one i64, of 0 dims");
    for (int k = 0; k < a->n_state; k++)
        if (i->in[wick_control_lead(a) + k]->dtype != a->out[k].dtype ||
            !wick_same_dims(i->in[wick_control_lead(a) + k], &a->out[k]))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "state %d is not of the region's type", k);
    for (int k = 0; k < a->n_x; k++) {
        const wick_type *x = i->in[wick_control_lead(a) + a->n_state + k];
        if (x->rank < 1 || x->dims[0] != a->rounds)
            return wick_infer_fail(i, WICK_ERR_SHAPE, "x %d does not have %lld rows", k, (long long)a->rounds);
        if (wick_dtype_is_packed(x->dtype))
            return wick_infer_fail(i, WICK_ERR_DTYPE, "x %d is packed: it has no rows; cast it", k);
    }
    for (int k = 0; k < i->n_out; k++)
        if (k >= a->n_state && wick_dtype_is_packed(a->out[k].dtype))
            return wick_infer_fail(i, WICK_ERR_DTYPE, "result %d is packed: it has no rows; cast it", k);
    for (int k = 0; k < i->n_out; k++) {
        const uint16_t device = i->out[k].device;
        i->out[k] = a->out[k];
        i->out[k].device = device;
    }
    return WICK_OK;
}
static wick_status infer_if(wick_infer *i) {
    const control_attr *a = i->attr;
    if (i->n_in != 1 + a->n_captured || i->n_out != a->n_y)
        return wick_infer_fail(i, WICK_ERR_INVALID, "the numbers of inputs and results are not those of its regions");
    if (!wick_is_flag(i->in[0], WICK_BOOL))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "the condition must be one bool, of 0 dims");
    for (int k = 0; k < i->n_out; k++) {
        const uint16_t device = i->out[k].device;
        i->out[k] = a->out[k];
        i->out[k].device = device;
    }
    return WICK_OK;
}

wick_tensor *wick_control_param(wick_context *ctx, const wick_type *type, int64_t index) {
    wick_input_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = *type;
    attr.index = index;
    wick_tensor *t = wick_record(ctx, &wick_op_input, 0, NULL, &attr, sizeof attr);
    if (ctx->target && !t->error) t->value->node->slot[0] = (uint64_t)index;
    return t;
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static double flops_region(const wick_graph *region) {
    double sum = 0;
    for (size_t i = 0; i < region->n; i++)
        if (!(region->nodes[i]->op->flags & WICK_OP_LEAF)) sum += wick_node_flops(region->nodes[i]);
    return sum;
}
static double flops_scan(const wick_node *node) {
    return node->n_regions ? (double)((const control_attr *)node->attr)->rounds * flops_region(node->regions[0]) : 0;
}
static double flops_if(const wick_node *node) {
    return node->n_regions == 2 ? WICK_MAX(flops_region(node->regions[0]), flops_region(node->regions[1])) : 0;
}

static void print_scan(wick_str *s, const wick_node *node) {
    const control_attr *a = node->attr;
    wick_str_add(s, "rounds=%lld states=%d x=%d%s%s%s", (long long)a->rounds, (int)a->n_state, (int)a->n_x,
                 a->reverse ? " reverse" : "", a->conditional ? " while" : "", a->counted ? " counted" : "");
}
const wick_op wick_op_scan = {.name = "scan",
                              .doc = "a region again and again, over rows and states; while a condition holds",
                              .onnx = "Scan, Loop",
                              .torch = "while_loop",
                              .cost = "the region's, each round",
                              .min_in = 0,
                              .max_in = 255,
                              .flags = WICK_OP_MOVES | WICK_OP_WHOLE,
                              .infer = infer_scan,
                              .grad = wick_grad_scan,
                              .flops = flops_scan,
                              .lower = wick_lower_scan,
                              .print = print_scan};
const wick_op wick_op_if = {.name = "if",
                            .doc = "one of two regions",
                            .onnx = "If",
                            .torch = "cond",
                            .cost = "the dearer region's",
                            .min_in = 1,
                            .max_in = 255,
                            .flags = WICK_OP_MOVES | WICK_OP_WHOLE,
                            .infer = infer_if,
                            .grad = wick_grad_if,
                            .flops = flops_if,
                            .lower = wick_lower_if};
