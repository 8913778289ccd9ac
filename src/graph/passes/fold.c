/* fold.c: elementwise ops of constants are computed now, by the kernels that would run them later: the same bits. */
#include "graph/passes/rewrite.h"

/* The number that every element of v is, looking through views; NULL when there is none. */
static const wick_constant_attr *uniform(const wick_value *v) {
    while (v->node->op->flags & WICK_OP_VIEW && v->node->op != &wick_op_bit_cast) v = v->node->in[0];
    return v->node->op == &wick_op_constant ? v->node->attr : NULL;
}

static bool compute(wick_graph *graph, const wick_node *node, const wick_constant_attr *const *in, uint64_t *bits) {
    wick_fused f;
    memset(&f, 0, sizeof f);
    f.n_in = node->n_in;
    f.n_out = f.n_instr = 1;
    f.scale = 1;
    f.n_reg = f.n_in + 1;
    for (int i = 0; i < f.n_in; i++) f.in[i].dtype = in[i]->type.dtype, f.in[i].reg = (uint8_t)i;
    f.out[0].dtype = node->out[0].type.dtype;
    f.out[0].reg = f.instr[0].dst = (uint8_t)f.n_in;
    f.instr[0].op = node->op->ew;
    f.instr[0].type = (uint8_t)wick_ctype_of((wick_dtype)in[f.n_in - 1]->type.dtype);
    f.instr[0].to = (uint8_t)wick_ctype_of((wick_dtype)f.out[0].dtype);
    for (int i = 0; i < f.n_in; i++) f.instr[0].src[i] = (uint8_t)i;
    wick_fused_prepare(&f, &graph->ctx->tuning);
    const size_t size = f.scratch + WICK_ALIGN;
    char *scratch = wick_alloc(&graph->ctx->alloc, size); /* too much for the stack of a small thread */
    *bits = 0;
    if (!scratch) {
        graph->failed = true;
        return false;
    }
    void *ptr[4];
    for (int i = 0; i < f.n_in; i++) ptr[i] = (void *)(uintptr_t)&in[i]->bits;
    ptr[f.n_in] = bits;
    uint64_t word = wick_fp_enter(); /* as in a run: denormals are flushed */
    wick_fused_run(&f, 0, 0, f.tasks, ptr, NULL, scratch);
    wick_fp_restore(word);
    wick_release(&graph->ctx->alloc, scratch, size);
    return true;
}

static wick_node *fold(wick_graph *graph, wick_node *node) {
    const wick_constant_attr *in[3];
    if (!wick_node_fuses(node)) return NULL;
    for (int i = 0; i < node->n_in; i++)
        if (!(in[i] = uniform(node->in[i]))) return NULL;
    wick_constant_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type.dtype = node->out[0].type.dtype;
    if (!compute(graph, node, in, &attr.bits)) return NULL;
    wick_type t = attr.type;
    wick_node *number = wick_node_new(graph->ctx, &wick_op_constant, 0, NULL, 1, &t, &attr, sizeof attr);
    if (number && node->out[0].type.rank) { /* the shape stays, as a view */
        wick_type shape = node->out[0].type;
        number = wick_node_new(graph->ctx, &wick_op_expand, 1, (wick_value *[]){&number->out[0]}, 1, &shape, &shape,
                               sizeof shape);
    }
    return number;
}

wick_status wick_pass_fold(wick_graph *graph, wick_msg *msg) { return wick_rewrite(graph, fold, msg); }
