/* state.c: states as runs see them: memory of their own, going back. */
#include "exec/exec.h"

static wick_status copy_into(wick_context *ctx, const wick_value *v, wick_array **out, wick_msg *msg) {
    wick_array *a = wick_array_contiguous(ctx, &v->type);
    if (!a) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory for %zu bytes of state", wick_type_bytes(&v->type));
    wick_copy c;
    memset(&c, 0, sizeof c);
    c.rank = v->type.rank;
    c.src = c.dst = (wick_dtype)v->type.dtype;
    memcpy(c.dims, v->type.dims, sizeof c.dims);
    memcpy(c.src_strides, v->array->layout.strides, sizeof c.src_strides);
    memcpy(c.dst_strides, a->layout.strides, sizeof c.dst_strides);
    wick_copy_run(&c, 0, wick_copy_tasks(&c), wick_array_data(v->array, &v->type), a->storage->data);
    *out = a;
    return WICK_OK;
}

wick_status wick_state_own(wick_tensor *state, wick_msg *msg) {
    wick_context *ctx = state->ctx;
    wick_value *v = state->value;
    if (!v->array) return wick_msg_set(msg, WICK_ERR_INVALID, "a state has a pending assignment: call wick_eval first");
    bool awaited = v->readers > 0 || v->handles > 1;
    if (!awaited && wick_array_is_unique(v->array) && !v->array->layout.offset &&
        wick_layout_is_contiguous(&v->array->layout, &v->type))
        return WICK_OK;
    wick_array *copy = NULL;
    WICK_TRY(copy_into(ctx, v, &copy, msg));
    if (!awaited) {
        wick_array_unref(v->array);
        v->array = copy;
        return WICK_OK;
    }
    /* Someone still wants the old value: it keeps its node, and the state moves to a new one. */
    wick_graph *target = ctx->target;
    ctx->target = NULL;
    wick_node *node = wick_node_new(ctx, &wick_op_data, 0, NULL, 1, &v->type, NULL, 0);
    ctx->target = target;
    if (!node) {
        wick_array_unref(copy);
        return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory for a state");
    }
    node->out[0].array = copy;
    node->cell = state;
    v->node->cell = NULL;
    wick_tensor_set_value(state, &node->out[0]);
    return WICK_OK;
}

void wick_frame_revert(wick_context *ctx, wick_frame *frame) {
    for (size_t i = frame->n_effects; i-- > 0;) {
        wick_effect *e = &frame->effects[i];
        if (e->view) {
            wick_node_ref(e->shown->node);
            wick_tensor_set_value(e->view, e->shown);
        }
        if (!e->state || e->state->value != &e->node->out[0]) continue;
        wick_value *old = e->node->in[0];
        wick_node_ref(old->node);
        e->node->cell = NULL;
        old->node->cell = e->state;
        wick_tensor_set_value(e->state, old);
    }
    wick_frame_clear(ctx, frame);
}
