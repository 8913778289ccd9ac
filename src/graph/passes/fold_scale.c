/* fold_scale.c: scales and shifts by channel behind a product go into its weights and its bias: batch norm in
 * inference, and the Mul and Add that exporters leave of one. Convolutions, transposed ones and products of matrices:
 *
 *   conv(x, w, b) * s        conv(x, w s, b s)
 *   conv(x, w, b) + t        conv(x, w, b + t)
 *   (x w + t) * s            x (w s) + t s           linear layers; transposed convolutions, which have no bias of
 *                            their own
 *
 * w, b, s and t must follow from constants and from states that the plan doesn't assign: w s is computed once in a
 * workspace, and again when such a state has changed (docs/plans.md). Only in compiled functions, and not where they
 * take gradients: training keeps its bits.
 *
 * Bits change: with u = 2^-24 (f32) and K products in a sum, either way is at most (K + 4) u (|s| sum |x w| + |s| |b -
 * mean| + |t|) from the exact result (Higham 2002, "Accuracy and Stability of Numerical Algorithms", section 3.1: a
 * sum's error, and a rounding for each factor and term behind). */
#include "graph/passes/rewrite.h"
#include "wick/ops.h"

/* A product, and what is added to it behind, or NULL. */
typedef struct scaled {
    const wick_node *product;
    wick_value *shift;
    int axis; /* of channels */
} scaled;

static bool is_row(const wick_node *node, wick_ew ew) {
    return node->op->flags & WICK_OP_ELEMENTWISE && node->op->ew == ew;
}

/* One number for each place of axis, or one for all. */
static bool is_by_channel(const wick_type *t, const wick_type *of, int axis) {
    if (t->dtype != of->dtype || t->rank > of->rank) return false;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 && (i + of->rank - t->rank != axis || t->dims[i] != of->dims[axis])) return false;
    return true;
}

static bool is_product(const wick_node *node, int *axis) {
    *axis = node->op == &wick_op_matmul ? node->out[0].type.rank - 1 : 1;
    return node->op == &wick_op_matmul || node->op == &wick_op_conv || node->op == &wick_op_conv_data;
}

/* v is a product, or one without a bias of its own plus a shift that nobody else reads. */
static bool find_scaled(const wick_graph *graph, const wick_value *v, scaled *s) {
    s->shift = NULL;
    s->product = v->node;
    if (is_product(v->node, &s->axis)) return true;
    for (int k = 0; k < 2 && is_row(v->node, WICK_EW_add); k++) {
        const wick_value *in = v->node->in[k];
        s->product = in->node;
        s->shift = v->node->in[1 - k];
        if (is_product(in->node, &s->axis) && in->node->op != &wick_op_conv && wick_type_equal(&in->type, &v->type) &&
            wick_is_fixed(graph, s->shift) && is_by_channel(&s->shift->type, &v->type, s->axis))
            return in->id == 1;
    }
    return false;
}

/* Why the product can't take a scale or a shift; NULL: it can. */
static const char *why_not(const wick_graph *graph, const scaled *s, const wick_value *v) {
    const wick_node *p = s->product;
    if (v->id != 1) return "what lies between is read by others too";
    if (v->type.dtype != WICK_F32 && v->type.dtype != WICK_F64) return "its dtype is rounded between";
    if (p->op == &wick_op_matmul && (p->n_in != 2 || p->in[1]->type.rank != 2))
        return "each product of the batch has a matrix of its own";
    if (!wick_is_fixed(graph, p->in[1])) return "the weights are no constants or states that stay as they are";
    return p->op == &wick_op_conv && p->n_in == 3 && !wick_is_fixed(graph, p->in[2])
               ? "the bias is no constant or state that stays as it is"
               : NULL;
}

/* ---- what is made ------------------------------------------------------------------------------------------------ */

static wick_tensor *handle(wick_graph *graph, wick_value *v) { return wick_tensor_new(graph->ctx, v); }
static wick_value *fixed(wick_graph *graph, wick_tensor *t) {
    if (!t || t->error) return NULL;
    t->value->node->mark = graph->ctx->walk;
    return t->value;
}

/* v as a row of n. */
static wick_tensor *row_of(wick_graph *graph, wick_value *v, int64_t n) {
    if (v->type.rank == 1 && v->type.dims[0] == n) return handle(graph, v);
    const bool one = wick_type_count(&v->type) == 1;
    wick_tensor *row = wick_reshape(handle(graph, v), 1, (const int64_t[]){one ? 1 : n});
    return one && n != 1 ? wick_expand(row, 1, &n) : row;
}

/* op, mul or div, of the weights and v, by their result's channels. */
static wick_tensor *scaled_weights(wick_graph *graph, const scaled *s, const wick_node *op, wick_value *v) {
    const wick_node *p = s->product;
    wick_tensor *by = row_of(graph, v, p->out[0].type.dims[s->axis]), *w = handle(graph, p->in[1]);
    const wick_type *t = &p->in[1]->type;
    const wick_op *ew = op->op;
    if (p->op == &wick_op_matmul) return wick_record(NULL, ew, 2, (wick_tensor *[]){w, by}, NULL, 0);
    const int64_t groups = ((const wick_conv_attr *)p->attr)->groups,
                  taps = wick_type_count(t) / (t->dims[0] * t->dims[1]);
    int64_t dims[WICK_MAX_DIMS] = {1, 1, 1, 1, 1, 1, 1, 1};
    /* [groups co, ci, taps]: channels of the result are those of (group, ci) */
    if (p->op == &wick_op_conv_data && groups > 1) {
        w = wick_reshape(w, 4, (const int64_t[]){groups, t->dims[0] / groups, t->dims[1], taps});
        by = wick_reshape(by, 4, (const int64_t[]){groups, 1, t->dims[1], 1});
        return wick_reshape(wick_record(NULL, ew, 2, (wick_tensor *[]){w, by}, NULL, 0), t->rank, t->dims);
    }
    dims[p->op == &wick_op_conv ? 0 : 1] = -1;
    return wick_record(NULL, ew, 2, (wick_tensor *[]){w, wick_reshape(by, t->rank, dims)}, NULL, 0);
}

/* The product with other weights (NULL: its own) and bias (NULL: none). */
static wick_node *product_of(wick_graph *graph, const wick_node *p, wick_value *weights, wick_value *bias,
                             uint32_t readers) {
    wick_value *in[3] = {p->in[0], weights ? weights : p->in[1], bias};
    wick_node *made =
        wick_node_new(graph->ctx, p->op, 2 + (bias != NULL), in, 1, &p->out[0].type, p->attr, p->attr_size);
    if (!made) return NULL;
    made->site = p->site;
    made->out[0].id = readers;
    return made;
}

/* What node, that computes product (op) v, becomes; NULL: out of memory. */
static wick_node *taken(wick_graph *graph, const wick_node *node, const scaled *s, wick_value *v) {
    const wick_node *p = s->product;
    const int64_t channels = p->out[0].type.dims[s->axis];
    const bool conv = p->op == &wick_op_conv, multiplies = is_row(node, WICK_EW_mul) || is_row(node, WICK_EW_div);
    wick_value *weights = NULL, *old = conv ? (p->n_in == 3 ? p->in[2] : NULL) : s->shift, *shift = NULL;
    wick_here(node->site);
    if (multiplies && !(weights = fixed(graph, scaled_weights(graph, s, node, v)))) return NULL;
    if (old || !multiplies) {
        wick_tensor *by = p->op == &wick_op_conv_data ? handle(graph, v) : row_of(graph, v, channels);
        if (old)
            by = wick_record(
                NULL, node->op, 2,
                (wick_tensor *[]){p->op == &wick_op_conv_data ? handle(graph, old) : row_of(graph, old, channels), by},
                NULL, 0);
        else if (is_row(node, WICK_EW_sub)) by = wick_neg(by);
        if (!(shift = fixed(graph, by))) return NULL;
    }
    if (conv) return product_of(graph, p, weights, shift, node->out[0].id);
    wick_node *made = product_of(graph, p, weights, NULL, shift ? 1 : node->out[0].id);
    if (!made || !shift) return made;
    wick_value *in[2] = {&made->out[0], shift};
    wick_node *add = wick_node_new(graph->ctx, &wick_ew_ops[WICK_EW_add], 2, in, 1, &node->out[0].type, NULL, 0);
    if (!add) return NULL;
    add->site = node->site;
    add->out[0].id = node->out[0].id;
    return add;
}

static wick_node *rule(wick_graph *graph, wick_node *node) {
    wick_note_fixed(graph, node);
    const bool swaps = is_row(node, WICK_EW_add) || is_row(node, WICK_EW_mul);
    if (node->mark == graph->ctx->walk || (!swaps && !is_row(node, WICK_EW_sub) && !is_row(node, WICK_EW_div)))
        return NULL;
    for (int k = 0; k < (swaps ? 2 : 1); k++) {
        scaled s;
        wick_value *v = node->in[1 - k], *at = node->in[k];
        if (!wick_type_equal(&at->type, &node->out[0].type) || !wick_is_fixed(graph, v) ||
            !find_scaled(graph, at, &s) || !is_by_channel(&v->type, &at->type, s.axis) || at->type.dims[s.axis] < 1)
            continue;
        const bool adds = is_row(node, WICK_EW_add),
                   multiplies = is_row(node, WICK_EW_mul) || is_row(node, WICK_EW_div);
        /* the form it is to have */
        if (adds && !s.shift &&
            (s.product->op == &wick_op_conv_data || (s.product->op == &wick_op_matmul && v->type.rank == 1)))
            return NULL;
        const char *why = why_not(graph, &s, at);
        if (why) {
            wick_remark(graph->planning, "fold_scale", node, "not into the %s before it: %s", s.product->op->name, why);
            return NULL;
        }
        wick_node *made = taken(graph, node, &s, v);
        if (!made) graph->failed = true;
        else
            wick_remark(graph->planning, "fold_scale", node, "taken into the %s of the %s before it",
                        multiplies ? "weights" : "bias", s.product->op->name);
        return made;
    }
    return NULL;
}

wick_status wick_pass_fold_scale(wick_graph *graph, wick_msg *msg) {
    if (!graph->compiled || graph->differentiated) return WICK_OK;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory folding scales");
    ++graph->ctx->walk;
    wick_count_readers(graph);
    const wick_status status = wick_rewrite(graph, rule, msg);
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
