/* sparse_weights.c: whether a product's weights have so many zeros that it goes by what is not zero. That changes its
 * time alone (kernels/sparse/sparse_api.h): weights may have other zeros when the plan runs. */
#include "ops/ops.h"
#include "ops/lowering/lower.h"

enum { DEEP = 8 }; /* nodes between weights and what is made of them, as the scales of a batch norm */

/* Is v the same in each run? */
static bool stays(const wick_lower *l, const wick_value *v, int deep) {
    const wick_node *node = v->node;
    if (wick_lower_is_kept(l, v)) return true;
    bool same = deep > 0 && node->n_in > 0 && !(node->op->flags & (WICK_OP_EFFECT | WICK_OP_RANDOM | WICK_OP_FAULTS));
    for (int k = 0; k < node->n_in && same; k++) same = stays(l, node->in[k], deep - 1);
    return same;
}

/* An operand of a node that multiplies or divides by others: where it is zero, so is the result. NULL: there is none.
 */
static const wick_value *scaled_of(const wick_value *v) {
    const wick_node *node = v->node;
    if (!(node->op->flags & WICK_OP_ELEMENTWISE) || (node->op->ew != WICK_EW_mul && node->op->ew != WICK_EW_div))
        return NULL;
    for (int k = 0; k < (node->op->ew == WICK_EW_mul ? 2 : 1); k++)
        if (wick_type_equal(&node->in[k]->type, &v->type)) return node->in[k];
    return NULL;
}
static const wick_value *weights_of(const wick_value *v) {
    const wick_node *node = v->node;
    if (node->op != &wick_op_fused) return scaled_of(v);
    const wick_graph *body = node->regions[0];
    const wick_value *in = scaled_of(body->outputs[v - node->out]);
    return in && in->node->op == &wick_op_input ? node->in[in->node->slot[0]] : NULL;
}

/* Where an operand's own data lie, contiguous or as the operand has them, or NULL; `size` bytes an element. */
static const void *data_of(const wick_lower *l, const wick_operand *at, size_t size, wick_tensor **state) {
    const int64_t offset = at->layout.offset * (int64_t)size;
    const wick_buffer *b = &l->buffers[at->buffer];
    *state = NULL;
    if (b->kind == WICK_BUFFER_CONST) return (const char *)b->data + offset;
    if (b->kind != WICK_BUFFER_LEAF || !l->leaves) return NULL;
    const wick_value *leaf = l->leaves[b->index];
    const wick_array *array = leaf->array;
    /* memory of the caller's may change in each run */
    if (!array || !array->storage->version || !wick_layout_is_contiguous(&array->layout, &leaf->type)) return NULL;
    *state = leaf->node->cell;
    return (const char *)wick_array_data(array, &leaf->type) + offset;
}

const void *wick_lower_look(const wick_lower *l, const wick_value *v, const wick_operand *at, wick_tensor **state) {
    *state = NULL;
    const void *data =
        wick_lower_is_kept(l, v) ? data_of(l, at, wick_dtype_size((wick_dtype)v->type.dtype), state) : NULL;
    return data && *state && !wick_state_lock(*state, false) ? (*state = NULL, NULL) : data;
}
void wick_lower_looked(wick_tensor *state) {
    if (state) wick_state_unlock(state, false);
}

const char *wick_lower_sparse(wick_lower *l, const wick_value *v, int k_axis, int n_axis, int64_t block, wick_gemm *g) {
    static const char unknown[] = "the weights are not known while it is planned";
    if (v->type.dtype != WICK_F32) return "weights are not f32";
    if (!l->keeps || !stays(l, v, DEEP)) return unknown;
    const wick_value *from = v;
    const wick_operand *at = &l->operands[v->id];
    wick_tensor *state;
    const float *data = data_of(l, at, sizeof *data, &state);
    if (!data && (from = weights_of(v)) != NULL)
        at = &l->operands[from->id], data = data_of(l, at, sizeof *data, &state);
    if (!data) return unknown;
    if (state && !wick_state_lock(state, false)) return unknown;
    wick_gemm as_they_lie = *g;
    as_they_lie.b_row = at->layout.strides[k_axis];
    as_they_lie.b_col = at->layout.strides[n_axis];
    const char *why = wick_sparse_choose(&as_they_lie, data, block);
    if (state) wick_state_unlock(state, false);
    g->sparse = as_they_lie.sparse;
    return why;
}
