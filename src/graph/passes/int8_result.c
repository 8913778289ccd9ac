/* int8_result.c: what is done to the sums of a product of 8-bit integers, as exporters of dynamic quantisation write it
 * (MatMulInteger or ConvInteger, Cast, Mul, Add), is done by the product on its tiles:
 *
 *   f32(sums) * scale            the product's real result; scale = a * b, b one number or one a column
 *   f32(sums) * scale + bias     the same, with a number for each column
 *
 * Only when nobody else reads what lies between. The arithmetic is the same, rounding by rounding. */
#include <math.h>

#include "graph/passes/rewrite.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

static bool is_row(const wick_node *n, int row) {
    return n->op->flags & WICK_OP_ELEMENTWISE && n->op->ew == (uint16_t)row;
}

/* One f32, or one for each column of a product's result of type t (output channel of a convolution) as it lies along
 * it. */
static bool is_number(const wick_value *v) { return v->type.dtype == WICK_F32 && wick_type_count(&v->type) == 1; }
static bool is_by_column(const wick_value *v, const wick_type *t, bool conv) {
    const int axis = conv ? 1 : t->rank - 1, first = t->rank - v->type.rank;
    if (v->type.dtype != WICK_F32 || first < 0 || first > axis) return false;
    for (int d = first; d < t->rank; d++)
        if (v->type.dims[d - first] != (d == axis ? t->dims[d] : 1)) return false;
    return true;
}

/* A product without scales whose sums, cast to f32, v is. Nobody else reads either. */
static const wick_node *product_in(const wick_value *v) {
    const wick_node *cast = v->node;
    if (v->id != 1 || v->type.dtype != WICK_F32 || cast->op != &wick_op_cast || cast->in[0]->id != 1) return NULL;
    const wick_node *product = cast->in[0]->node;
    if (product->op != &wick_op_int8_matmul && product->op != &wick_op_int8_conv) return NULL;
    return ((const wick_int8_attr *)product->attr)->result == WICK_INT8_I32 ? product : NULL;
}

/* A product, and by what its sums are multiplied: scale, or a times b, of which b may have a number for each column. */
typedef struct scaled {
    const wick_node *product;
    wick_value *a, *b; /* NULL: 1 */
} scaled;
/* b and a bias are packed with the weights: into weights that stay only what stays too, or they would be packed in each
 * run. */
static bool may_pack(const wick_graph *graph, const wick_node *product, const wick_value *v) {
    return !v || wick_is_fixed(graph, v) || !wick_is_fixed(graph, product->in[1]);
}

static void find_factors(const wick_graph *graph, wick_value *scale, const wick_type *t, bool conv, scaled *s) {
    s->a = NULL, s->b = scale;
    if (is_row(scale->node, WICK_EW_mul)) {
        wick_value *const *in = scale->node->in;
        /* the one that stays the same is packed with the weights */
        const int first = is_number(in[0]) && (!is_number(in[1]) || wick_is_fixed(graph, in[1])) ? 0 : 1;
        if (is_number(in[first]) && (is_number(in[1 - first]) || is_by_column(in[1 - first], t, conv)))
            s->a = in[first], s->b = in[1 - first];
    }
    if (is_number(scale) && !wick_is_fixed(graph, s->b)) s->a = scale, s->b = NULL;
}
static bool find_scaled(const wick_graph *graph, const wick_node *mul, scaled *s) {
    if (!is_row(mul, WICK_EW_mul)) return false;
    for (int k = 0; k < 2; k++) {
        if (!(s->product = product_in(mul->in[k]))) continue;
        const wick_type *t = &mul->out[0].type;
        wick_value *scale = mul->in[1 - k];
        const bool conv = s->product->op == &wick_op_int8_conv;
        if (!wick_type_equal(&mul->in[k]->type, t) || !(is_number(scale) || is_by_column(scale, t, conv))) continue;
        find_factors(graph, scale, t, conv, s);
        if (may_pack(graph, s->product, s->b)) return true;
    }
    return false;
}

static wick_tensor *as_number(wick_tensor *t) {
    return wick_tensor_rank(t) ? wick_reshape(t, WICK_SCALAR) : t;
}
static wick_tensor *as_vector(wick_tensor *t) {
    const int64_t n = wick_tensor_count(t);
    return wick_tensor_rank(t) == 1 ? t : wick_reshape(t, 1, &n);
}

static wick_node *with_result(wick_graph *graph, const scaled *s, wick_value *bias) {
    const wick_node *product = s->product;
    wick_context *ctx = graph->ctx;
    wick_int8_attr attr = *(const wick_int8_attr *)product->attr;
    wick_tensor *in[2 + WICK_INT8_OPTIONAL];
    wick_here(product->site);
    for (int k = 0; k < product->n_in; k++) in[k] = wick_tensor_new(ctx, product->in[k]);
    int n = product->n_in; /* two, and zero points, which come first */
    in[n++] = s->a ? as_number(wick_tensor_new(ctx, s->a)) : wick_constant(ctx, WICK_F32, 1);
    wick_tensor *b = s->b ? wick_tensor_new(ctx, s->b) : wick_constant(ctx, WICK_F32, 1);
    in[n++] = wick_tensor_count(b) == 1 ? as_number(b) : as_vector(b);
    if (bias) in[n++] = as_vector(wick_tensor_new(ctx, bias));
    attr.result = WICK_INT8_F32;
    attr.has |= (int64_t)1 << WICK_INT8_A_SCALE | (int64_t)1 << WICK_INT8_B_SCALE;
    if (bias) attr.has |= (int64_t)1 << WICK_INT8_BIAS;
    const wick_tensor *made = wick_record(NULL, product->op, n, in, &attr, sizeof attr);
    if (made->error) return graph->failed = true, NULL;
    wick_remark(graph->planning, "int8_result", product, "its sums are scaled%s within it",
                bias ? ", and the bias is added," : "");
    return made->value->node;
}

static wick_node *with_bias(wick_graph *graph, wick_node *add) {
    scaled s;
    if (!is_row(add, WICK_EW_add)) return NULL;
    for (int k = 0; k < 2; k++) {
        const wick_value *v = add->in[k];
        if (v->id != 1 || !wick_type_equal(&v->type, &add->out[0].type) || !find_scaled(graph, v->node, &s)) continue;
        wick_value *bias = add->in[1 - k];
        if (is_by_column(bias, &v->type, s.product->op == &wick_op_int8_conv) && may_pack(graph, s.product, bias))
            return with_result(graph, &s, bias);
    }
    return NULL;
}
static wick_node *without_bias(wick_graph *graph, wick_node *node) {
    scaled s;
    return find_scaled(graph, node, &s) ? with_result(graph, &s, NULL) : NULL;
}

wick_status wick_pass_int8_result(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++)
        any |= graph->nodes[i]->op == &wick_op_int8_matmul || graph->nodes[i]->op == &wick_op_int8_conv;
    if (!any) return WICK_OK;
    return wick_rewrite_in_turn(graph, 2, (wick_rule *const[]){with_bias, without_bias},
                                "scaling sums of products", msg);
}
