/* blocks.c: what products with weights in blocks, of 4 and of 8 bits, have in common. */
#include "ops/ops.h"
#include "wick/pointwise.h"

wick_status wick_blocks_infer(wick_infer *i) {
    const wick_blocks_attr *a = i->attr;
    const wick_type *x = i->in[0], *q = i->in[1], *bias = i->in[i->n_in - 1];
    if (a->has & WICK_BLOCKS_BIAS && (bias->dtype != x->dtype || bias->rank != 1 || bias->dims[0] != q->dims[0]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the bias is not %s[%lld]", wick_dtype_name((wick_dtype)x->dtype),
                               (long long)q->dims[0]);
    int64_t dims[WICK_MAX_DIMS];
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = q->dims[0];
    const uint8_t device = i->out->device;
    if (!wick_type_set(i->out, (wick_dtype)x->dtype, x->rank, dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    i->out->device = device;
    return WICK_OK;
}

double wick_blocks_flops(const wick_node *n) {
    const wick_type *x = &n->in[0]->type;
    return (double)wick_type_count(&n->out[0].type) * 2.0 * (double)x->dims[x->rank - 1];
}

void wick_blocks_grad(wick_gradient *g, wick_blocks_floats *floats) {
    const int64_t has = ((const wick_blocks_attr *)g->node->attr)->has;
    if (!g->gout[0]) return;
    if (g->need[0]) {
        wick_tensor *w =
            floats(g->in[1], g->in[2], has & WICK_BLOCKS_ZEROS ? g->in[3] : NULL, wick_tensor_dim(g->in[0], -1));
        g->gin[0] = wick_matmul(g->gout[0], wick_as(w, wick_tensor_dtype(g->in[0])));
    }
    if (has & WICK_BLOCKS_BIAS && g->need[g->n_in - 1]) g->gin[g->n_in - 1] = g->gout[0];
}

wick_tensor *wick_blocks_linear(const wick_op *op, wick_tensor *x, wick_tensor *q, wick_tensor *scales,
                                wick_tensor *zeros, wick_tensor *bias) {
    wick_tensor *in[5] = {wick_widened(x), q, scales};
    int n = 3;
    const wick_blocks_attr a = {.has = (zeros ? WICK_BLOCKS_ZEROS : 0) | (bias ? WICK_BLOCKS_BIAS : 0)};
    if (zeros) in[n++] = zeros;
    if (bias) in[n++] = bias;
    return wick_record(NULL, op, n, in, &a, sizeof a);
}
