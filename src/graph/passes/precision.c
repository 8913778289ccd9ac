/* precision.c: mixed precision (Micikevicius et al. 2018). Of f32 graphs, products take their operands in bf16 or f16
 * and give such results; sums inside are f32, and so is everything else: what has no row below. Weights stay f32 and
 * are rounded where they are read, so an update smaller than a step of bf16 is not lost. It runs before gradients are
 * taken, which go back through the casts: the backward pass follows the same list.
 *
 * Casts are made once for each value, and a cast back and forth is none: between two products that only views part, the
 * value stays narrow. Casts to f32 are marked (WICK_SEGMENT_WIDENED): for gradients they are made again from the narrow
 * value, which is all that is kept. */
#include "graph/passes/rewrite.h"

/* How ops run. */
typedef enum how {
    WIDE,    /* in f32 */
    NARROW,  /* the op itself takes and gives the narrow type */
    ROUNDED, /* its kernels compute in f32: operands and the first result are rounded, which is the same */
    FOLLOWS  /* a view of what a product gave */
} how;
typedef struct row {
    const wick_op *op;
    how how;
    int operands; /* ROUNDED: inputs that are rounded; others (a bias, a mask) are f32 */
} row;

static const row list[] = {
    {&wick_op_matmul, NARROW, 2},       {&wick_op_conv, ROUNDED, 2},      {&wick_op_conv_data, ROUNDED, 2},
    {&wick_op_conv_weight, ROUNDED, 2}, {&wick_op_attention, ROUNDED, 3}, {&wick_op_reshape, FOLLOWS, 1},
    {&wick_op_permute, FOLLOWS, 1},     {&wick_op_slice, FOLLOWS, 1},
};

static const row *row_of(const wick_planning *planning, const wick_node *node) {
    static const row wide = {NULL, WIDE, 0};
    for (size_t i = 0; i < WICK_COUNTOF(list); i++)
        if (list[i].op == node->op && node->in[0]->type.dtype == WICK_F32 && !(planning->precision_wide >> i & 1))
            return &list[i];
    return &wide;
}

static wick_status refuse(const char *name, size_t length, wick_msg *msg) {
    char known[256];
    wick_str s = wick_str_on(known, sizeof known);
    for (size_t i = 0; i < WICK_COUNTOF(list); i++)
        if (list[i].how != FOLLOWS) wick_str_add(&s, " %s", list[i].op->name);
    return wick_msg_set(msg, WICK_ERR_INVALID, "mixed precision narrows no op '%.*s'; those that can stay wide:%s",
                        (int)WICK_MIN(length, 64), name, known);
}

wick_status wick_precision_wide(const char *names, uint32_t *bits, wick_msg *msg) {
    *bits = 0;
    while (names && *names) {
        const size_t length = strcspn(names, ",");
        uint32_t bit = 0;
        for (size_t i = 0; i < WICK_COUNTOF(list); i++)
            if (list[i].how != FOLLOWS && strlen(list[i].op->name) == length &&
                memcmp(list[i].op->name, names, length) == 0)
                bit = (uint32_t)1 << i;
        if (!bit) return refuse(names, length, msg);
        *bits |= bit;
        names += length + (names[length] == ',');
    }
    return WICK_OK;
}

/* A value of the new graph in the narrow type: v->grad, which autodiff alone uses otherwise, has it. */
static wick_value *narrow_of(const wick_value *v) { return v->grad ? v->grad->value : NULL; }

static wick_tensor *cast_to(wick_context *ctx, wick_value *v, wick_dtype dtype) {
    return wick_cast(wick_tensor_new(ctx, v), dtype);
}

static wick_tensor *narrowed(wick_graph *graph, wick_value *v) {
    if (!v->grad) {
        v->grad = cast_to(graph->ctx, v, graph->planning->precision);
        if (!v->grad->error) v->grad->value->node->segment = v->node->segment;
    }
    return v->grad;
}
/* x, of the narrow type, in f32. */
static wick_tensor *widened(wick_tensor *x) {
    wick_tensor *wide = wick_cast(x, WICK_F32);
    if (wide->error) return wide;
    wide->value->node->segment = WICK_SEGMENT_WIDENED;
    wide->value->grad = x;
    return wide;
}

/* Records what stands for node, and forwards its results. false: it stays as it is. */
static bool replace(wick_graph *graph, wick_node *node, const row *r) {
    wick_context *ctx = graph->ctx;
    const wick_dtype narrow = graph->planning->precision;
    enum { MOST = 8 };
    wick_tensor *in[MOST], *out[2];
    if (node->n_in > MOST || node->n_out > 2) return false;
    for (int k = 0; k < node->n_in; k++) {
        wick_value *v = node->in[k];
        if (k >= r->operands || v->type.dtype != WICK_F32) in[k] = wick_tensor_new(ctx, v);
        else if (r->how != ROUNDED) in[k] = narrowed(graph, v);
        else in[k] = v->node->segment == WICK_SEGMENT_WIDENED ? wick_tensor_new(ctx, v) : widened(narrowed(graph, v));
        if (in[k]->error) return false;
    }
    wick_record_n(ctx, node->op, node->n_in, in, node->attr, node->attr_size, node->n_out, out);
    if (out[0]->error) return false;
    out[0]->value->node->slot[0] = node->slot[0];
    out[0]->value->node->slot[1] = node->slot[1];
    out[0]->value->node->segment = node->segment;
    wick_tensor *rounded = r->how == ROUNDED ? wick_cast(out[0], narrow) : out[0], *wide = widened(rounded);
    if (rounded->error || wide->error) return false;
    rounded->value->node->segment = node->segment;
    node->out[0].forward = wide->value;
    for (int k = 1; k < node->n_out; k++) node->out[k].forward = out[k]->value;
    wick_remark(graph->planning, "precision", node, "%s: %s",
                r->how == FOLLOWS ? "a view of what is narrow" : "operands and results narrow, sums in f32",
                wick_dtype_name(narrow));
    return true;
}

static bool narrows(const wick_node *node, const row *r) {
    if (r->how == WIDE || node->n_regions) return false;
    return r->how != FOLLOWS || narrow_of(node->in[0]);
}

wick_status wick_pass_precision(wick_graph *graph, wick_msg *msg) {
    wick_context *ctx = graph->ctx;
    if (!graph->planning || !graph->planning->precision) return WICK_OK;
    wick_node **old = graph->nodes;
    const size_t n = graph->n;
    const char *site = wick_site();
    graph->nodes = NULL;
    graph->n = graph->cap = 0;
    wick_scope *scope = wick_scope_open(ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory choosing dtypes");
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < old[i]->n_out; k++) old[i]->out[k].grad = NULL;
    bool good = true;
    ctx->target = graph;
    for (size_t i = 0; i < n && good; i++) {
        wick_node *node = old[i];
        wick_resolve_inputs(node);
        const row *r = row_of(graph->planning, node);
        wick_here(node->site);
        if (!narrows(node, r) || !replace(graph, node, r)) good = wick_graph_push(graph, node);
    }
    ctx->target = NULL;
    for (size_t i = 0; i < graph->n; i++)
        for (int k = 0; k < graph->nodes[i]->n_out; k++) graph->nodes[i]->out[k].grad = NULL;
    wick_scope_close(&scope);
    wick_here(site);
    wick_resolve_outputs(graph);
    return good && !graph->failed ? WICK_OK : wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory choosing dtypes");
}
