/* attention.c: attention that was written by hand, or by an exporter, becomes the op of that name, which keeps no
 * scores in memory:
 *
 *   matmul(softmax(scale q k^T + mask), v)            scale: numbers that multiply or divide the scores, or none
 *   matmul(softmax(where(seen, scale q k^T, -Inf)), v)     or a number so low that scores vanish beside it
 *
 * A number that is not known, as one among a model's weights, multiplies q instead of the scores. Of 2 to 4 dims,
 * before gradients are taken: these are the op's own then. In compiled functions only, since sums go in another order
 * (docs/numerics.md). A query that sees no key gets zeros, where softmax makes NaN. Few queries stay as they are: a
 * product and a softmax of little memory are faster (ops/attention.c). */
#include <math.h>

#include "graph/passes/rewrite.h"
#include "wick/ops.h"

enum { FACTORS = 4 };
typedef struct found {
    wick_value *factor[FACTORS]; /* one element each, not known: the scores are multiplied or divided by it */
    bool divides[FACTORS];
    int n_factors;
    wick_value *q, *kt, *v; /* kt: keys, turned */
    wick_value *mask;       /* added to the scores, or NULL; */
    wick_value *seen;       /* or bool: where a score counts, or where not */
    const wick_node *first; /* of the scores: their product */
    bool hidden;            /* of seen: true is not to be seen */
    double scale;
} found;

static bool is_row(const wick_node *node, wick_ew ew) {
    return node->op->flags & WICK_OP_ELEMENTWISE && node->op->ew == ew;
}

/* The number that v is everywhere. */
static bool number(const wick_value *v, double *x) {
    while (v->node->op == &wick_op_expand || v->node->op == &wick_op_reshape) v = v->node->in[0];
    if (v->node->op != &wick_op_constant) return false;
    const uint64_t bits = ((const wick_constant_attr *)v->node->attr)->bits;
    float f;
    memcpy(&f, &bits, sizeof f);
    if (v->type.dtype == WICK_F32) *x = (double)f;
    else memcpy(x, &bits, sizeof *x);
    return v->type.dtype == WICK_F32 || v->type.dtype == WICK_F64;
}

/* The one element that v is everywhere, or NULL. */
static wick_value *single(wick_value *v) {
    while (wick_type_count(&v->type) > 1 && (v->node->op == &wick_op_expand || v->node->op == &wick_op_reshape))
        v = v->node->in[0];
    return wick_type_count(&v->type) == 1 ? v : NULL;
}

/* Scores below 2^14 vanish beside it: s + x is x, as if x were there in place of s. */
static bool hides(const wick_value *v) {
    double x;
    return number(v, &x) && x <= (v->type.dtype == WICK_F32 ? -0x1p40 : -0x1p70);
}

/* NULL: these scores can be computed by the op; else why not. */
static const char *read_scores(const wick_value *s, found *f) {
    const wick_type *t = &s->type;
    for (int depth = 0; depth < 8; depth++) {
        const wick_node *n = s->node;
        double x;
        int k = 0;
        if (s->id != 1) return "the scores are read by others too";
        if (n->op == &wick_op_matmul) {
            f->q = n->in[0];
            f->kt = n->in[1];
            f->first = n;
            if (n->n_in != 2 || f->q->type.rank != t->rank || f->kt->type.rank != t->rank)
                return "q, k and v have other dims";
            for (int i = 0; i < t->rank - 2; i++)
                if (f->q->type.dims[i] != t->dims[i] || f->kt->type.dims[i] != t->dims[i])
                    return "q, k and v have other dims";
            return NULL;
        }
        const bool divides = is_row(n, WICK_EW_div);
        if (is_row(n, WICK_EW_mul) || divides) {
            while (k < (divides ? 1 : 2) && !(wick_type_equal(&n->in[k]->type, t) && single(n->in[1 - k]))) k++;
            if (k == (divides ? 1 : 2)) return "the scores are multiplied by more than a number";
            if (number(n->in[1 - k], &x)) {
                f->scale = divides ? f->scale / x : f->scale * x;
            } else {
                if (f->n_factors == FACTORS) return "too many numbers multiply the scores";
                f->factor[f->n_factors] = single(n->in[1 - k]);
                f->divides[f->n_factors++] = divides;
            }
            s = n->in[k];
            continue;
        }
        if (f->mask || f->seen) return "there are several masks";
        if (f->scale != 1 || f->n_factors) return "the mask is multiplied, too";
        if (is_row(n, WICK_EW_add)) {
            const bool first = wick_type_equal(&n->in[0]->type, t) &&
                               (n->in[0]->node->op == &wick_op_matmul || is_row(n->in[0]->node, WICK_EW_mul) ||
                                is_row(n->in[0]->node, WICK_EW_div)) &&
                               n->in[0]->id == 1;
            f->mask = n->in[first];
            s = n->in[!first];
        } else if (is_row(n, WICK_EW_where)) {
            f->hidden = hides(n->in[1]);
            if (!f->hidden && !hides(n->in[2])) return "what stands for hidden scores is not low enough to be as -Inf";
            f->seen = n->in[0];
            s = n->in[f->hidden ? 2 : 1];
        } else {
            return "the scores are no product";
        }
        if (!wick_type_equal(&s->type, t)) return "the scores are broadcast";
    }
    return "too much lies between";
}

/* x as [batch, heads, a, b], where the product has so many dims: of 3, the first is the batch. */
static wick_tensor *four_dims(wick_tensor *x, int of) {
    const int rank = wick_tensor_rank(x);
    int64_t dims[4] = {1, 1, 1, 1};
    if (rank == 4) return x;
    for (int i = 0; i < rank; i++) dims[of == 3 && rank - i == 3 ? 0 : 4 - rank + i] = wick_tensor_dim(x, i);
    return wick_reshape(x, 4, dims);
}

static wick_node *attention(wick_graph *graph, const wick_node *product, const found *f) {
    wick_context *ctx = graph->ctx;
    wick_tensor *in[4] = {wick_tensor_new(ctx, f->q), wick_transpose(wick_tensor_new(ctx, f->kt), -1, -2),
                          wick_tensor_new(ctx, f->v), NULL},
                *out[2];
    for (int i = 0; i < f->n_factors; i++) {
        wick_tensor *by = wick_reshape(wick_tensor_new(ctx, f->factor[i]), WICK_SCALAR);
        in[0] = f->divides[i] ? wick_div(in[0], by) : wick_mul(in[0], by);
    }
    attention_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.scale = f->scale;
    attr.masked = f->mask || f->seen;
    if (f->seen) {
        wick_tensor *zero = wick_constant(ctx, (wick_dtype)f->q->type.dtype, 0),
                    *low = wick_constant(ctx, (wick_dtype)f->q->type.dtype, -INFINITY);
        in[3] = wick_where(wick_tensor_new(ctx, f->seen), f->hidden ? low : zero, f->hidden ? zero : low);
    } else if (f->mask)
        in[3] = wick_tensor_new(ctx, f->mask);
    for (int i = 0; i < 3 + attr.masked; i++) in[i] = four_dims(in[i], product->out[0].type.rank);
    wick_record_n(NULL, &wick_op_attention, 3 + attr.masked, in, &attr, sizeof attr, 2, out);
    const wick_tensor *y = product->out[0].type.rank == 4
                               ? out[0]
                               : wick_reshape(out[0], product->out[0].type.rank, product->out[0].type.dims);
    if (y->error) graph->failed = true; /* of memory: the types are right */
    return y->error ? NULL : y->value->node;
}

static wick_node *rule(wick_graph *graph, wick_node *node) {
    if (node->op != &wick_op_matmul || node->n_in != 2 || node->in[0]->node->op != &wick_op_softmax) return NULL;
    const wick_type *p = &node->in[0]->type, *v = &node->in[1]->type;
    found f = {.v = node->in[1], .scale = 1};
    const char *why = NULL;
    if (node->in[0]->id != 1) why = "the weights are read by others too";
    else if (p->rank < 2 || p->rank > 4 || v->rank != p->rank) why = "q, k and v have other dims";
    else why = read_scores(node->in[0]->node->in[0], &f);
    for (int i = 0; !why && i < p->rank - 2; i++)
        if (v->dims[i] != p->dims[i]) why = "q, k and v have other dims";
    if (!why && p->dims[p->rank - 2] <= WICK_ATTENTION_FEW_QUERIES) why = "so few queries are faster as products";
    if (!why && (p->dims[p->rank - 1] < 1 || f.q->type.dims[p->rank - 1] < 1)) why = "there is nothing to see";
    const wick_type *mask = f.mask ? &f.mask->type : f.seen ? &f.seen->type : NULL;
    for (int i = 0; !why && mask && i < mask->rank; i++)
        if (mask->rank > p->rank || (mask->dims[i] != 1 && mask->dims[i] != p->dims[i + p->rank - mask->rank]))
            why = "the mask makes the scores larger";
    if (why) {
        wick_remark(graph->planning, "attention", node, "not taken as attention: %s", why);
        return NULL;
    }
    wick_here(node->site);
    wick_node *made = attention(graph, node, &f);
    if (made)
        wick_remark(graph->planning, "attention", node, "softmax(%g q k^T%s) v is the op attention", f.scale,
                    f.mask   ? " + mask"
                    : f.seen ? ", masked"
                             : "");
    return made;
}

wick_status wick_pass_attention(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++) any |= graph->nodes[i]->op == &wick_op_softmax;
    if (!any || !graph->compiled) return WICK_OK;
    const char *site = wick_site();
    wick_scope *scope = wick_scope_open(graph->ctx);
    if (!scope) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory looking for attention");
    wick_count_readers(graph);
    const wick_status status = wick_rewrite(graph, rule, msg);
    wick_scope_close(&scope);
    wick_here(site);
    return status;
}
