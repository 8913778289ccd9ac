/* quantize.c: float products between dequantise and quantise nodes become products of 8-bit integers:
 *
 *   quantize(clip(conv(dequantize(x), dequantize(w)) + bias))   one int8_conv or int8_matmul with a quantised result
 *   conv(dequantize(x), dequantize(w))                          one with a real result
 *   quantize(move(dequantize(q))), both with the same scale     move(q); nothing at all without a move between
 *   quantize(max_pool(dequantize(q))), likewise                 max_pool(q), in floats that are whole numbers: no scale
 *                                                               moves the largest
 *
 * Of activations of 16 bits, q = 256 high + low with bytes high (i8) and low (u8), a product is 256 times that of high
 * plus that of low, two products of bytes whose sums fit 32 bits, in f64.
 *
 * Sums are then exact, where floats round; the scales are taken together before they meet the sum, and the bias is
 * rounded to whole steps of the sum. A quantised result may differ by one step where the real one lies near the middle
 * between two; real results differ by rounding (docs/numerics.md). */
#include <math.h>

#include "graph/passes/rewrite.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

/* Dequantised bytes, by one scale or by one for each place of axis; the zero point NULL where it is 0. */
typedef struct bytes {
    wick_value *q, *scale, *zero;
    int64_t axis; /* -1: one scale */
} bytes;

static bool dequantised(const wick_value *v, bytes *b) {
    const wick_node *n = v->node;
    if (n->op != &wick_op_dequantize || n->in[0]->type.dtype == WICK_I32) return false;
    *b = (bytes){.q = n->in[0], .scale = n->in[1], .axis = -1};
    if (n->n_in > 2 && !wick_is_constant(n->in[2], 0)) b->zero = n->in[2];
    if (b->scale->type.rank || (b->zero && b->zero->type.rank)) b->axis = ((const wick_quantize_attr *)n->attr)->axis;
    return true;
}

/* A matrix, perhaps seen through a swap of its last two dims. */
static bool dequantised_matrix(const wick_value *v, bytes *b, const wick_node **swap) {
    *swap = NULL;
    if (v->node->op == &wick_op_permute && v->type.rank == 2 && ((const int64_t *)v->node->attr)[0] == 1) {
        *swap = v->node;
        v = v->node->in[0];
    }
    if (!dequantised(v, b)) return false;
    if (*swap && b->axis >= 0) b->axis = 1 - b->axis;
    return true;
}

static bool same_number(const wick_value *a, const wick_value *b) {
    if (a == b) return true;
    if (!a || !b || a->node->op != &wick_op_constant || b->node->op != &wick_op_constant ||
        !wick_type_equal(&a->type, &b->type))
        return false;
    return ((const wick_constant_attr *)a->node->attr)->bits == ((const wick_constant_attr *)b->node->attr)->bits;
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct product {
    const wick_node *node; /* conv or matmul */
    bytes a, b;
    const wick_node *swap; /* of b */
    wick_value *bias;      /* or NULL */
    double low, high;
} product;

/* Activations of 16 bits without a zero point, weights without one, and sums of at most 255 * 128 a product. */
static bool fits_halves(const wick_node *n, const product *p) {
    const wick_type *w = &n->in[1]->type;
    int64_t summed = n->op == &wick_op_conv ? 1 : w->rank < 2 ? w->dims[0] : w->dims[w->rank - 2];
    for (int d = 1; d < w->rank && n->op == &wick_op_conv; d++) summed *= w->dims[d];
    return !p->a.zero && !p->b.zero && p->b.q->type.dtype == WICK_I8 && summed <= INT32_MAX / (255 * 128);
}

static bool is_product(const wick_node *n, product *p) {
    if (n->op != &wick_op_conv && n->op != &wick_op_matmul) return false;
    const bool conv = n->op == &wick_op_conv;
    if (conv ? ((const wick_conv_attr *)n->attr)->relu != 0 : n->n_in != 2 || ((const wick_matmul_attr *)n->attr)->relu)
        return false;
    p->node = n;
    p->swap = NULL;
    if (!dequantised(n->in[0], &p->a) || p->a.axis >= 0) return false;
    if (conv ? !dequantised(n->in[1], &p->b) : !dequantised_matrix(n->in[1], &p->b, &p->swap)) return false;
    if (p->b.q->type.dtype == WICK_I16 || (p->a.q->type.dtype == WICK_I16 && !fits_halves(n, p))) return false;
    p->bias = conv && n->n_in > 2 ? n->in[2] : NULL;
    return p->b.axis < 0 || p->b.axis == (conv ? 0 : n->in[1]->type.rank - 1);
}

static bool is_row(const wick_op *op) { return op->flags & WICK_OP_ELEMENTWISE; }

/* The number that v is everywhere; false: it is none, or not finite. */
static bool number(const wick_value *v, double *x) {
    if (v->node->op != &wick_op_constant || v->type.dtype != WICK_F32) return false;
    const uint32_t bits = (uint32_t)((const wick_constant_attr *)v->node->attr)->bits;
    float f;
    memcpy(&f, &bits, sizeof f);
    *x = (double)f;
    return isfinite(f);
}

/* What v, read by its quantise node only, is: bounds around a product and its bias. */
static bool find_product(const wick_value *v, product *p) {
    p->low = -INFINITY;
    p->high = INFINITY;
    for (int depth = 0; depth < 4 && v->id == 1; depth++) {
        const wick_node *n = v->node;
        double x, most;
        if (is_product(n, p)) return p->low <= p->high;
        if (!is_row(n->op) || !wick_type_equal(&n->in[0]->type, &v->type)) return false;
        if (n->op->ew == WICK_EW_relu) p->low = WICK_MAX(p->low, 0);
        else if (n->op->ew == WICK_EW_relu6) p->low = WICK_MAX(p->low, 0), p->high = WICK_MIN(p->high, 6);
        else if (n->op->ew == WICK_EW_maximum && number(n->in[1], &x)) p->low = WICK_MAX(p->low, x);
        else if (n->op->ew == WICK_EW_minimum && number(n->in[1], &x)) p->high = WICK_MIN(p->high, x);
        else if (n->op->ew == WICK_EW_clamp && number(n->in[1], &x) && number(n->in[2], &most))
            p->low = WICK_MAX(p->low, x), p->high = WICK_MIN(p->high, most);
        else break;
        v = n->in[0];
    }
    const wick_node *add = v->node; /* of a matrix product and a row */
    if (v->id != 1 || !is_row(add->op) || add->op->ew != WICK_EW_add) return false;
    for (int k = 0; k < 2; k++) {
        wick_value *bias = add->in[1 - k];
        if (add->in[k]->id != 1 || add->in[k]->node->op != &wick_op_matmul ||
            !wick_type_equal(&add->in[k]->type, &v->type))
            continue;
        if (bias->type.rank != 1 || bias->type.dims[0] != v->type.dims[v->type.rank - 1] ||
            !is_product(add->in[k]->node, p))
            continue;
        p->bias = bias;
        return p->low <= p->high;
    }
    return false;
}

/* A number for each channel of the product's result, in f64, to go along with it. */
static wick_tensor *by_channel(const wick_node *n, wick_tensor *t) {
    t = wick_cast(t, WICK_F64);
    if (wick_tensor_rank(t) == 0 || n->op != &wick_op_conv) return t;
    int64_t dims[WICK_MAX_DIMS];
    const int rank = n->out[0].type.rank - 1;
    for (int d = 0; d < rank; d++) dims[d] = d ? 1 : wick_tensor_dim(t, 0);
    return wick_reshape(t, rank, dims);
}
/* The sums of bytes with the weights, in f64. */
static wick_tensor *sums_of(wick_context *ctx, const product *p, wick_tensor *half) {
    wick_tensor *in[2] = {half, wick_tensor_new(ctx, p->b.q)};
    if (p->swap) in[1] = wick_record(NULL, &wick_op_permute, 1, &in[1], p->swap->attr, p->swap->attr_size);
    wick_int8_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.result = WICK_INT8_I32;
    attr.low = -INFINITY, attr.high = INFINITY;
    const bool conv = p->node->op == &wick_op_conv;
    if (conv) attr.conv = *(const wick_conv_attr *)p->node->attr;
    return wick_cast(wick_record(NULL, conv ? &wick_op_int8_conv : &wick_op_int8_matmul, 2, in, &attr, sizeof attr),
                     WICK_F64);
}
/* Of activations of 16 bits; quantise NULL: of a real result. Scales and bias are taken in f64 and rounded once. */
static wick_node *halves_product(wick_graph *graph, const product *p, const wick_node *quantise) {
    wick_context *ctx = graph->ctx;
    wick_here(p->node->site);
    wick_tensor *q = wick_cast(wick_tensor_new(ctx, p->a.q), WICK_I32),
                *high = sums_of(ctx, p, wick_cast(wick_right_shift(q, wick_like(q, 8)), WICK_I8)),
                *low = sums_of(ctx, p, wick_cast(wick_bitwise_and(q, wick_like(q, 255)), WICK_U8));
    wick_tensor *unit = wick_mul(wick_cast(wick_tensor_new(ctx, p->a.scale), WICK_F64),
                                 by_channel(p->node, wick_tensor_new(ctx, p->b.scale)));
    wick_tensor *y = wick_mul(wick_add(wick_mul(high, wick_like(high, 256)), low), unit);
    if (p->bias) y = wick_add(y, by_channel(p->node, wick_tensor_new(ctx, p->bias)));
    if (!quantise) {
        y = wick_cast(y, WICK_F32);
        return y->error ? NULL : y->value->node;
    }
    if (p->low > -INFINITY) y = wick_maximum(y, wick_like(y, p->low));
    if (p->high < INFINITY) y = wick_minimum(y, wick_like(y, p->high));
    const wick_dtype dtype = (wick_dtype)quantise->out[0].type.dtype;
    y = wick_round(wick_div(y, wick_cast(wick_tensor_new(ctx, quantise->in[1]), WICK_F64)));
    if (quantise->n_in > 2) y = wick_add(y, wick_cast(wick_tensor_new(ctx, quantise->in[2]), WICK_F64));
    const double least = dtype == WICK_U8 ? 0 : dtype == WICK_I8 ? -128 : -32768,
                 most = dtype == WICK_U8 ? 255 : dtype == WICK_I8 ? 127 : 32767;
    y = wick_cast(wick_clip(y, least, most), dtype);
    return y->error ? NULL : y->value->node;
}

/* The integer op; quantise NULL: of a real result. */
static wick_node *integer_product(wick_graph *graph, const product *p, const wick_node *quantise) {
    wick_context *ctx = graph->ctx;
    if (p->a.q->type.dtype == WICK_I16) return halves_product(graph, p, quantise);
    wick_value *values[2 + WICK_INT8_OPTIONAL] = {p->a.q, p->b.q, p->a.zero, p->b.zero, p->a.scale, p->b.scale};
    wick_tensor *in[2 + WICK_INT8_OPTIONAL];
    wick_int8_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.result = !quantise ? WICK_INT8_F32 : quantise->out[0].type.dtype == WICK_I8 ? WICK_INT8_I8 : WICK_INT8_U8;
    attr.low = quantise ? p->low : -INFINITY;
    attr.high = quantise ? p->high : INFINITY;
    if (quantise) {
        values[2 + WICK_INT8_SCALE] = quantise->in[1];
        if (quantise->n_in > 2 && !wick_is_constant(quantise->in[2], 0)) values[2 + WICK_INT8_ZERO] = quantise->in[2];
    }
    values[2 + WICK_INT8_BIAS] = p->bias;
    int n = 0;
    for (int k = 0; k < 2 + WICK_INT8_OPTIONAL; k++) {
        if (!values[k]) continue;
        if (k >= 2) attr.has |= (int64_t)1 << (k - 2);
        in[n] = wick_tensor_new(ctx, values[k]);
        if (k == 1 && p->swap)
            in[n] = wick_record(NULL, &wick_op_permute, 1, &in[n], p->swap->attr, p->swap->attr_size);
        n++;
    }
    const bool conv = p->node->op == &wick_op_conv;
    if (conv) attr.conv = *(const wick_conv_attr *)p->node->attr;
    wick_here(p->node->site);
    const wick_tensor *made =
        wick_record(NULL, conv ? &wick_op_int8_conv : &wick_op_int8_matmul, n, in, &attr, sizeof attr);
    return made->error ? NULL : made->value->node;
}

/* ---- moves ------------------------------------------------------------------------------------------------------- */

enum { MOST_MOVES = 8, MOST_JOINED = 64 };

static bool is_move(const wick_node *n) {
    return n->n_in == 1 && (n->op == &wick_op_reshape || n->op == &wick_op_permute || n->op == &wick_op_slice ||
                            n->op == &wick_op_expand);
}

/* v is dequantised as `quantise` quantises. */
static bool undone(const wick_value *v, const wick_node *quantise, bytes *b) {
    wick_value *zero = quantise->n_in > 2 && !wick_is_constant(quantise->in[2], 0) ? quantise->in[2] : NULL;
    return dequantised(v, b) && b->axis < 0 && !quantise->in[1]->type.rank &&
           b->q->type.dtype == quantise->out[0].type.dtype && same_number(b->scale, quantise->in[1]) &&
           (b->zero == zero || same_number(b->zero, zero));
}

static wick_node *moved_bytes(wick_graph *graph, const wick_node *quantise) {
    const wick_node *moves[MOST_MOVES];
    const wick_value *v = quantise->in[0];
    wick_tensor *in[MOST_JOINED];
    bytes b;
    int n = 0;
    while (n < MOST_MOVES && v->id == 1 && is_move(v->node)) moves[n++] = v->node, v = v->node->in[0];
    const wick_node *join =
        v->id == 1 && v->node->op == &wick_op_concat && v->node->n_in <= MOST_JOINED ? v->node : NULL;
    if (!join && !undone(v, quantise, &b)) return NULL;
    for (int k = 0; join && k < join->n_in; k++)
        if (!undone(join->in[k], quantise, &b)) return NULL;
    if (!join && !n) return b.q == &b.q->node->out[0] ? b.q->node : NULL;
    for (int k = 0; k < (join ? join->n_in : 1); k++) {
        (void)undone(join ? join->in[k] : v, quantise, &b);
        in[k] = wick_tensor_new(graph->ctx, b.q);
    }
    wick_here(quantise->site);
    wick_tensor *t = join ? wick_record(NULL, join->op, join->n_in, in, join->attr, join->attr_size) : in[0];
    while (n--) t = wick_record(NULL, moves[n]->op, 1, &t, moves[n]->attr, moves[n]->attr_size);
    return t->error ? NULL : t->value->node;
}

static wick_node *pooled_bytes(wick_graph *graph, const wick_node *quantise) {
    const wick_value *v = quantise->in[0];
    bytes b;
    double scale;
    if (v->id != 1 || v->node->op != &wick_op_max_pool || !undone(v->node->in[0], quantise, &b) ||
        !number(quantise->in[1], &scale) || scale <= 0)
        return NULL;
    wick_here(quantise->site);
    wick_tensor *t = wick_cast(wick_tensor_new(graph->ctx, b.q), WICK_F32);
    t = wick_record(NULL, &wick_op_max_pool, 1, &t, v->node->attr, v->node->attr_size);
    t = wick_cast(wick_cast(t, WICK_I32), (wick_dtype)b.q->type.dtype);
    return t->error ? NULL : t->value->node;
}

/* ---- ---- */

static wick_node *with_quantised_result(wick_graph *graph, wick_node *node) {
    product p;
    if (node->op != &wick_op_quantize) return NULL;
    wick_node *made = moved_bytes(graph, node);
    if (!made) made = pooled_bytes(graph, node);
    if (made) return made;
    if (node->in[1]->type.rank || !find_product(node->in[0], &p)) return NULL;
    /* of bytes that become 16 bits the real result is quantised */
    if (p.a.q->type.dtype != WICK_I16 && node->out[0].type.dtype == WICK_I16) return NULL;
    return integer_product(graph, &p, node);
}
static wick_node *with_real_result(wick_graph *graph, wick_node *node) {
    product p;
    return node->out[0].id && is_product(node, &p) ? integer_product(graph, &p, NULL) : NULL;
}

wick_status wick_pass_quantize(wick_graph *graph, wick_msg *msg) {
    bool any = false;
    for (size_t i = 0; i < graph->n; i++) any |= graph->nodes[i]->op == &wick_op_dequantize;
    if (!any) return WICK_OK;
    return wick_rewrite_in_turn(graph, 2, (wick_rule *const[]){with_quantised_result, with_real_result},
                                "taking quantised products together", msg);
}
