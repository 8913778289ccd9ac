/* record.c: how an op becomes a node: poison is passed on, the op's own rule infers the results, errors name
 * everything. */
#include "kernels/kernels.h"
#include "tensor/op.h"

wick_status wick_infer_fail(wick_infer *i, wick_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    wick_msg msg;
    wick_msg_setv(&msg, status, fmt, args);
    va_end(args);
    size_t n = WICK_MIN(strlen(msg.text), sizeof i->text - 1);
    memcpy(i->text, msg.text, n);
    i->text[n] = 0;
    return status;
}

/* "matmul(f32[2,3], f32[4,5]): inner dims 3 and 4 differ" */
static wick_tensor *record_error(wick_context *ctx, const wick_infer *i, wick_status status) {
    char buffer[WICK_MSG_MAX];
    wick_str s = wick_str_on(buffer, sizeof buffer);
    wick_str_add(&s, "%s(", i->op->name);
    for (int k = 0; k < i->n_in; k++) {
        if (k == 6) {
            wick_str_add(&s, ", ...");
            break;
        }
        if (k) wick_str_add(&s, ", ");
        wick_type_print(&s, i->in[k]);
    }
    wick_str_add(&s, "): %s", i->text);
    return wick_poison(ctx, status, "%s", buffer);
}

/* Nothing computes in a dtype for storage, nor makes one: elements of those come from data, casts and moves. */
static wick_status takes(wick_infer *i, const wick_type *type) {
    if (!wick_dtype_is_stored(type->dtype) || i->op->flags & WICK_OP_LEAF) return WICK_OK;
    if (i->op->flags & WICK_OP_MOVES) {
        if (!wick_dtype_is_packed(type->dtype) || i->op->flags & WICK_OP_WHOLE) return WICK_OK;
        return wick_infer_fail(i, WICK_ERR_DTYPE, "%s is packed, %d to a byte: cast, to i8 or u8, to move its elements",
                               wick_dtype_name((wick_dtype)type->dtype), 8 / wick_dtype_bits((wick_dtype)type->dtype));
    }
    return wick_infer_fail(i, WICK_ERR_DTYPE, "%s is for storage: cast to compute",
                           wick_dtype_name((wick_dtype)type->dtype));
}

wick_status wick_infer_types(wick_infer *i) {
    if (i->n_in < i->op->min_in || (i->op->max_in != 255 && i->n_in > i->op->max_in))
        return wick_infer_fail(i, WICK_ERR_INVALID, "takes %d inputs, not %d", i->op->min_in, i->n_in);
    for (int k = 1; k < i->n_in; k++)
        if (i->in[k]->device != i->in[0]->device)
            return wick_infer_fail(i, WICK_ERR_INVALID, "inputs live on different devices; copy one of them first");
    for (int k = 0; k < i->n_in; k++) WICK_TRY(takes(i, i->in[k]));
    for (int k = 0; k < i->n_out; k++) {
        memset(&i->out[k], 0, sizeof i->out[k]);
        if (i->n_in) i->out[k].device = i->in[0]->device;
    }
    WICK_TRY(i->op->infer(i));
    for (int k = 0; k < i->n_out; k++) {
        WICK_TRY(takes(i, &i->out[k]));
        if (!wick_type_fits(&i->out[k])) return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    }
    return WICK_OK;
}

/* Within the limit that whoever records has set. */
static wick_status check_budget(wick_infer *i, size_t most) {
    for (int k = 0; k < i->n_out && most; k++)
        if (wick_type_is_static(&i->out[k]) && wick_type_bytes(&i->out[k]) > most)
            return wick_infer_fail(i, WICK_ERR_UNSUPPORTED,
                                   "the result would have %zu bytes, more than the limit of %zu",
                                   wick_type_bytes(&i->out[k]), most);
    return WICK_OK;
}

#define SMALL 16 /* inputs and results handled without allocation */

static void record(wick_context *ctx, const wick_op *op, int n_in, wick_tensor *const *in, const void *attr,
                   size_t attr_size, uint64_t slot0, uint64_t slot1, int n_out, wick_tensor **out) {
    for (int k = 0; k < n_in && !ctx; k++) ctx = in[k] ? in[k]->ctx : NULL;
    if (!ctx) { /* every input is NULL: nothing is known, not even a context */
        for (int k = 0; k < n_out; k++) out[k] = NULL;
        return;
    }
    const wick_tensor *bad = NULL;
    for (int k = 0; k < n_in && !bad; k++) {
        if (!in[k])
            bad = wick_poison(ctx, WICK_ERR_INVALID, "%s: argument %d is NULL", op->name, k + 1);
        else if (in[k]->error)
            bad = in[k];
        else if (in[k]->ctx != ctx) {
            bad = wick_poison(ctx, WICK_ERR_INVALID, "%s: inputs belong to different contexts", op->name);
        }
    }
    if (bad) {
        for (int k = 0; k < n_out; k++) out[k] = wick_poison_like(ctx, bad->error);
        return;
    }

    wick_value *small_values[SMALL], **values = small_values;
    const wick_type *small_in[SMALL], **types_in = small_in;
    wick_type small_out[2], *types_out = small_out;
    void *heap = NULL;
    size_t heap_size = 0;
    if (n_in > SMALL || n_out > 2) {
        size_t at_types = (size_t)n_in * sizeof *values, at_out = at_types + (size_t)n_in * sizeof *types_in;
        heap_size = at_out + (size_t)n_out * sizeof *types_out;
        heap = wick_alloc(&ctx->alloc, heap_size);
        if (!heap) {
            for (int k = 0; k < n_out; k++) out[k] = &ctx->nomem;
            return;
        }
        values = heap;
        types_in = (const wick_type **)((char *)heap + at_types);
        types_out = (wick_type *)((char *)heap + at_out);
    }
    for (int k = 0; k < n_in; k++) {
        values[k] = in[k]->value;
        types_in[k] = &in[k]->value->type;
    }

    wick_infer i;
    i.op = op, i.n_in = n_in, i.n_out = n_out, i.in = types_in, i.attr = attr, i.out = types_out;
    wick_status status = wick_infer_types(&i);
    if (status == WICK_OK) status = check_budget(&i, ctx->result_max);
    wick_node *node = NULL;
    if (status != WICK_OK) {
        wick_tensor *poison = record_error(ctx, &i, status);
        out[0] = poison;
        for (int k = 1; k < n_out; k++) out[k] = wick_poison_like(ctx, poison->error);
    } else if (!(node = wick_node_new(ctx, op, n_in, values, n_out, types_out, attr, attr_size))) {
        for (int k = 0; k < n_out; k++) out[k] = &ctx->nomem;
    } else {
        node->slot[0] = slot0;
        node->slot[1] = slot1;
        for (int k = 0; k < n_out; k++) {
            wick_node_ref(node);
            out[k] = wick_tensor_new(ctx, &node->out[k]);
        }
        wick_node_unref(ctx, node);
    }
    if (heap) wick_release(&ctx->alloc, heap, heap_size);
    /* Long loops stay bounded. What older steps left unevaluated does not count: a loop that evaluates is never
     * interrupted between a loss and its gradient. A failure is not lost: it is kept in the context, and the work stays
     * pending. */
    if (WICK_UNLIKELY(ctx->nodes_recorded - ctx->recorded_at_eval >= ctx->options.max_pending) && node &&
        !ctx->target && !ctx->frame->trace && !ctx->evaluating)
        (void)!ctx->eval_pending(ctx);
}

void wick_record_n(wick_context *ctx, const wick_op *op, int n_in, wick_tensor *const *in, const void *attr,
                   size_t attr_size, int n_out, wick_tensor **out) {
    record(ctx, op, n_in, in, attr, attr_size, 0, 0, n_out, out);
}

wick_tensor *wick_record(wick_context *ctx, const wick_op *op, int n_in, wick_tensor *const *in, const void *attr,
                         size_t attr_size) {
    wick_tensor *out;
    record(ctx, op, n_in, in, attr, attr_size, 0, 0, 1, &out);
    return out;
}

wick_tensor *wick_record_slots(wick_context *ctx, const wick_op *op, const void *attr, size_t attr_size, uint64_t slot0,
                               uint64_t slot1) {
    wick_tensor *out;
    record(ctx, op, 0, NULL, attr, attr_size, slot0, slot1, 1, &out);
    return out;
}
