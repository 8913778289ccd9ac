/* attention.c: softmax(scale q k^T + mask) v as one op, and its gradient as another; the same in plain ops. */
#include <math.h>

#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/attention.h"

/* Inputs of attention: q [B, H, Lq, D], k [B, Hkv, Lk, D], v [B, Hkv, Lk, Dv], then mask and seed as there are; of
 * attention_grad: the gradient of y, lse and delta behind v. */

static int mask_at(const wick_op *op) { return op == &wick_op_attention ? 3 : 6; }

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static wick_status infer_inputs(wick_infer *i) {
    const attention_attr *attr = i->attr;
    const wick_type *q = i->in[0], *k = i->in[1], *v = i->in[2];
    const int n = mask_at(i->op);
    if (i->n_in != n + (attr->masked != 0) + (attr->seeded != 0))
        return wick_infer_fail(i, WICK_ERR_INVALID, "has another number of inputs than its attributes say");
    for (int a = 0; a < i->n_in; a++) {
        const bool seed = attr->seeded && a == i->n_in - 1;
        if (seed ? i->in[a]->dtype != WICK_I64 : i->in[a]->dtype != q->dtype)
            return wick_infer_fail(i, WICK_ERR_DTYPE, seed ? "the seed must be i64" : "inputs have different dtypes");
        if (seed ? wick_type_count(i->in[a]) != 1 : i->in[a]->rank != (n == 6 && (a == 4 || a == 5) ? 3 : 4))
            return wick_infer_fail(i, WICK_ERR_SHAPE,
                                   seed ? "the seed must be one number"
                                        : "q, k and v must be [batch, heads, length, features]");
    }
    if (q->dtype != WICK_F32 && q->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs a float type");
    if (k->dims[0] != q->dims[0] || v->dims[0] != q->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "batches differ");
    if (k->dims[3] != q->dims[3])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "q has %lld features and k has %lld", (long long)q->dims[3],
                               (long long)k->dims[3]);
    if (v->dims[2] != k->dims[2])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "there are %lld keys and %lld values", (long long)k->dims[2],
                               (long long)v->dims[2]);
    if (k->dims[1] != v->dims[1] || (k->dims[1] == 0 ? q->dims[1] != 0 : q->dims[1] % k->dims[1] != 0))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld query heads cannot share %lld heads of keys and %lld of values",
                               (long long)q->dims[1], (long long)k->dims[1], (long long)v->dims[1]);
    const int64_t scores[4] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    for (int d = 0; attr->masked && d < 4; d++)
        if (i->in[n]->dims[d] != 1 && i->in[n]->dims[d] != scores[d])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "the mask does not broadcast to the scores [%lld,%lld,%lld,%lld]",
                                   (long long)scores[0], (long long)scores[1], (long long)scores[2],
                                   (long long)scores[3]);
    return WICK_OK;
}
static wick_status infer_attention(wick_infer *i) {
    WICK_TRY(infer_inputs(i));
    i->out[0] = *i->in[0];
    i->out[0].dims[3] = i->in[2]->dims[3];
    i->out[1] = *i->in[0];
    i->out[1].rank = 3;
    i->out[1].dims[3] = 0;
    return WICK_OK;
}
static wick_status infer_attention_grad(wick_infer *i) {
    WICK_TRY(infer_inputs(i));
    const wick_type *q = i->in[0], *gy = i->in[3];
    for (int d = 0; d < 3; d++)
        if (gy->dims[d] != q->dims[d] || i->in[4]->dims[d] != q->dims[d] || i->in[5]->dims[d] != q->dims[d])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "the gradient is not of the result's shape");
    if (gy->dims[3] != i->in[2]->dims[3])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the gradient is not of the result's shape");
    for (int k = 0; k < 3; k++) i->out[k] = *i->in[k];
    return WICK_OK;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

static int64_t run_attention(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_attention *x = args;
#define AT(i) (x->at[i] < 0 ? NULL : ptr[x->at[i]])
    const wick_attention_memory memory = {AT(0), AT(1), AT(2), AT(3),  AT(4),  AT(5), AT(6),
                                          AT(7), AT(8), AT(9), AT(10), AT(11), AT(12)};
#undef AT
    wick_attention_run(&x->a, x->stage, begin, end, &memory, scratch);
    return -1;
}

static void take_strides(int64_t to[4], const wick_operand *at) {
    for (int d = 0; d < 4; d++) to[d] = at->type->dims[d] == 1 && d != 3 ? 0 : at->layout.strides[d];
}
/* As [B, L, H, D] in memory: heads beside each other, as the layers around have them, unless it is a result of the
 * plan. */
static wick_status out_heads_inside(wick_lower *l, const wick_node *node, int i, wick_operand *out) {
    const wick_value *v = &node->out[i];
    if (l->result[v->id] >= 0) return wick_lower_out(l, node, i, out);
    *out = (wick_operand){.type = &v->type};
    const int64_t *d = v->type.dims;
    out->layout = (wick_layout){.strides = {d[2] * d[1] * d[3], d[3], d[1] * d[3], 1}};
    WICK_TRY(wick_lower_temp(l, wick_type_bytes(&v->type), &out->buffer));
    l->operands[v->id] = *out;
    return WICK_OK;
}

/* so many products of q k^T's size and of w v's, 5 a score for the softmax */
static double flops_of(const wick_node *node, double products) {
    const attention_attr *attr = node->attr;
    const int64_t *q = node->in[0]->type.dims, *k = node->in[1]->type.dims;
    double seen = (double)q[2] * (double)k[2];
    if (attr->causal) { /* query i sees i + shift + 1 keys: the first see none, the last all */
        const double shift = (double)attr->shift, n = (double)q[2], none = fmin(n, fmax(0, -shift)),
                     all = fmin(n, fmax(none, (double)k[2] - shift));
        seen = (all - none) * ((none + all - 1) / 2 + shift + 1) + (n - all) * (double)k[2];
    }
    const double scores = (double)q[0] * (double)q[1] * seen;
    return scores * (products * (double)(q[3] + node->in[2]->type.dims[3]) + 5);
}
static double flops_attention(const wick_node *node) { return flops_of(node, 2); }
static double flops_attention_grad(const wick_node *node) { return flops_of(node, 5); }

static wick_status lower_attention(wick_lower *l, wick_node *node) {
    const attention_attr *attr = node->attr;
    const bool back = node->op == &wick_op_attention_grad;
    const int n_mask = mask_at(node->op);
    wick_step_attention x;
    memset(&x, 0, sizeof x);
    for (int i = 0; i < 13; i++) x.at[i] = -1;
    wick_attention_job *a = &x.a;
    const wick_type *q = &node->in[0]->type, *k = &node->in[1]->type, *v = &node->in[2]->type;
    a->type = wick_ctype_of((wick_dtype)q->dtype);
    a->batch = q->dims[0], a->heads = q->dims[1], a->kv_heads = k->dims[1], a->queries = q->dims[2],
    a->keys = k->dims[2], a->dim = q->dims[3], a->value_dim = v->dims[3];
    a->masked = attr->masked, a->causal = attr->causal, a->shift = attr->shift, a->scale = attr->scale,
    a->dropout = attr->seeded ? attr->dropout : 0;
    wick_ref refs[13];
    int n = 0;
    double bytes = 0;
    int64_t *const strides[3] = {a->q, a->k, a->v};
    for (int i = 0; i < node->n_in; i++) {
        const int what = i < 3 ? i : i >= n_mask ? (attr->masked && i == n_mask ? 3 : 4) : i == 3 ? 7 : i == 4 ? 6 : 8;
        wick_operand in = wick_lower_in(l, node, i);
        if (what == 4 || what == 6 || what == 8) WICK_TRY(wick_lower_in_contiguous(l, node, i, &in));
        if (what < 3) take_strides(strides[what], &in);
        if (what == 7) take_strides(a->gy, &in);
        for (int d = 0; what == 3 && d < 4; d++) a->mask[d] = in.type->dims[d] == 1 ? 0 : in.layout.strides[d];
        bytes += (double)wick_type_bytes(in.type);
        x.at[what] = n;
        refs[n++] = wick_lower_ref(&in, false);
    }
    wick_operand out[3];
    for (int i = 0; i < (back ? 3 : 2); i++) {
        if (!back && i == 1)
            WICK_TRY(wick_lower_out(l, node, i, &out[i]));
        else
            WICK_TRY(out_heads_inside(l, node, i, &out[i]));
        bytes += (double)wick_type_bytes(out[i].type);
        int64_t *const to[3] = {back ? a->gq : a->y, a->gk, a->gv};
        if (back || i == 0) memcpy(to[i], out[i].layout.strides, sizeof a->y);
    }
    if (a->dim == 0) a->scale = 1; /* scores are 0 then */
    wick_attention_prepare(a);
    const bool parts = back && a->parts;
    wick_ref temp = {.write = true};
    if (parts) WICK_TRY(wick_lower_temp(l, a->parts, &temp.buffer));
    for (int i = 0; i < (back ? 3 : 2); i++) {
        if (parts && i == 0) {
            x.at[12] = n;
            refs[n++] = temp;
            continue;
        }
        x.at[(back ? 9 : 5) + i] = n;
        refs[n++] = wick_lower_ref(&out[i], true);
    }
    x.stage = back;
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, node, wick_attention_name(a, x.stage), wick_attention_rejected(a, x.stage, rejected),
                          rejected);
    }
    wick_step step = {.name = wick_attention_name(a, x.stage),
                      .kind = WICK_STEP_ATTENTION,
                      .run = run_attention,
                      .tasks = a->tasks[x.stage],
                      .scratch = a->scratch[x.stage],
                      .flops = node->op->flops(node),
                      .bytes = bytes + (parts ? (double)a->parts : 0)};
    WICK_TRY(wick_lower_step(l, &step, &x, sizeof x, refs, n));
    if (!parts) return WICK_OK;
    x.stage = 2;
    for (int i = 0; i < 13; i++) x.at[i] = i == 12 ? 0 : i == 9 ? 1 : -1;
    temp.write = false;
    wick_step sum = {.name = wick_attention_name(a, 2),
                     .kind = WICK_STEP_ATTENTION,
                     .run = run_attention,
                     .tasks = a->tasks[2],
                     .flops = (double)a->parts / (double)wick_dtype_size((wick_dtype)q->dtype),
                     .bytes = (double)a->parts + (double)wick_type_bytes(q)};
    return wick_lower_step(l, &sum, &x, sizeof x, (wick_ref[]){temp, wick_lower_ref(&out[0], true)}, 2);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* In plain ops, query heads that share keys are a dim of their own: [B, Hkv, group, L, D], keys [B, Hkv, 1, L, D]. */
static wick_tensor *grouped(wick_tensor *x, int64_t kv_heads) {
    if (!x || x->error) return x;
    const int64_t *d = wick_tensor_dims(x);
    const int64_t group = kv_heads ? d[1] / kv_heads : 1;
    const int rank = wick_tensor_rank(x) + 1;
    /* a mask may be the same for all heads */
    const int64_t heads = d[1] == 1 ? 1 : kv_heads, shared = d[1] == 1 ? 1 : group;
    return wick_reshape(x, rank, (int64_t[]){d[0], heads, shared, d[2], rank == 5 ? d[3] : 0});
}
static wick_tensor *ungrouped(wick_tensor *x) {
    if (!x || x->error) return x;
    const int64_t *d = wick_tensor_dims(x);
    const int rank = wick_tensor_rank(x) - 1;
    return wick_reshape(x, rank, (int64_t[]){d[0], d[1] * d[2], d[3], rank == 4 ? d[4] : 0});
}
/* What all query heads of a group gave to [B, Hkv, 1, L, D]. */
static wick_tensor *over_group(wick_tensor *x) { return wick_sum(x, WICK_AXES(2), false); }
static wick_tensor *transposed(wick_tensor *x) { return wick_transpose(x, -1, -2); }
static wick_tensor *times(wick_tensor *x, double by) { return wick_mul(x, wick_like(x, by)); }

/* Whether query i sees key j <= i + shift: bool [Lq, Lk]. */
static wick_tensor *seen_by(wick_context *ctx, int64_t queries, int64_t keys, int64_t shift) {
    wick_tensor *last = wick_positions(ctx, WICK_I64, queries);
    if (shift) last = wick_add(last, wick_like(last, (double)shift));
    return wick_le(wick_positions(ctx, WICK_I64, keys), wick_unsqueeze(last, 1));
}
/* scale q k^T + mask: [B, Hkv, group, Lq, Lk], of grouped q, k and mask. */
static wick_tensor *scores_of(const attention_attr *attr, wick_tensor *q, wick_tensor *k, wick_tensor *mask) {
    wick_tensor *s = times(wick_matmul(q, transposed(k)), attr->scale);
    if (mask) s = wick_add(s, mask);
    if (attr->causal && s && !s->error)
        s = wick_where(seen_by(s->ctx, wick_tensor_dim(s, -2), wick_tensor_dim(s, -1), attr->shift), s,
                       wick_like(s, -INFINITY));
    return s;
}

static void grad_attention(wick_gradient *g) {
    const attention_attr *attr = g->node->attr;
    wick_tensor *y = g->out[0], *lse = g->out[1],
                *gy = g->gout[0] ? g->gout[0] : wick_expand(wick_like(y, 0), 4, wick_tensor_dims(y));
    wick_tensor *delta = wick_sum(wick_mul(gy, y), WICK_AXES(-1), false),
                *in[8] = {g->in[0], g->in[1], g->in[2], gy, lse}, *out[3];
    if (g->gout[1]) delta = wick_sub(delta, g->gout[1]); /* d lse / d score is the weight */
    in[5] = delta;
    for (int i = 3; i < g->n_in; i++) in[i + 3] = g->in[i];
    wick_record_n(NULL, &wick_op_attention_grad, g->n_in + 3, in, attr, sizeof *attr, 3, out);
    for (int i = 0; i < 3; i++) g->gin[i] = out[i];
    if (!attr->masked || !g->need[3]) return;
    if (attr->seeded) {
        g->gin[3] = wick_poison(y->ctx, WICK_ERR_INVALID,
                                "attention: the gradient of a mask is not there with dropout; use the plain form");
        return;
    }
    const int64_t kv = wick_tensor_dim(g->in[1], 1); /* the gradient of the scores: as large as they are */
    wick_tensor *p =
        wick_exp(wick_sub(scores_of(attr, grouped(g->in[0], kv), grouped(g->in[1], kv), grouped(g->in[3], kv)),
                          wick_unsqueeze(grouped(lse, kv), -1)));
    wick_tensor *gp = wick_matmul(grouped(gy, kv), transposed(grouped(g->in[2], kv)));
    g->gin[3] = ungrouped(wick_mul(p, wick_sub(gp, wick_unsqueeze(grouped(delta, kv), -1))));
}

/* Of (gq, gk, gv) = (scale D k, scale D^T q, P^T gy) with P = exp(scores - lse), D = P (gy v^T - delta), when a, b and
 * c arrive for them: with E = scale (a k^T + q b^T), H = E P, W = E (gy v^T - delta) + gy c^T and S = W P the gradients
 * are, for
 *   q: scale (D b + S k)   k: scale (D^T a + S^T q)   v: H^T gy   gy: H v + P c
 *   lse: - sum S   delta: - sum H   mask: S
 * (sums over keys). All in plain ops: gradients of gradients hold the weights. */
static void grad_attention_grad(wick_gradient *g) {
    const attention_attr *attr = g->node->attr;
    if (attr->seeded) {
        for (int i = 0; i < 6; i++)
            g->gin[i] = wick_poison(g->in[0]->ctx, WICK_ERR_INVALID,
                                    "attention: gradients of gradients are not there with dropout; use the plain form");
        return;
    }
    const int64_t kv = wick_tensor_dim(g->in[1], 1);
    wick_tensor *q = grouped(g->in[0], kv), *k = grouped(g->in[1], kv), *v = grouped(g->in[2], kv),
                *gy = grouped(g->in[3], kv);
    wick_tensor *lse = wick_unsqueeze(grouped(g->in[4], kv), -1), *delta = wick_unsqueeze(grouped(g->in[5], kv), -1);
    wick_tensor *a = g->gout[0] ? grouped(g->gout[0], kv) : NULL, *b = g->gout[1] ? grouped(g->gout[1], kv) : NULL,
                *c = g->gout[2] ? grouped(g->gout[2], kv) : NULL;
    wick_tensor *p = wick_exp(wick_sub(scores_of(attr, q, k, attr->masked ? grouped(g->in[6], kv) : NULL), lse));
    wick_tensor *inner = wick_sub(wick_matmul(gy, transposed(v)), delta), *d = wick_mul(p, inner), *e = NULL, *w = NULL,
                *h = NULL, *gq = NULL, *gk = NULL, *ggy = NULL;
#define PLUS(to, x) ((to) = (to) ? wick_add(to, x) : (x))
    if (a) PLUS(e, wick_matmul(a, transposed(k)));
    if (b) PLUS(e, wick_matmul(q, transposed(b)));
    if (e) e = times(e, attr->scale), h = wick_mul(e, p), PLUS(w, wick_mul(e, inner));
    if (c) PLUS(w, wick_matmul(gy, transposed(c)));
    wick_tensor *s = wick_mul(w, p);
    if (a) PLUS(gk, wick_matmul(transposed(d), a));
    if (b) PLUS(gq, wick_matmul(d, b));
    g->gin[0] = ungrouped(times(PLUS(gq, wick_matmul(s, k)), attr->scale));
    g->gin[1] = over_group(times(PLUS(gk, wick_matmul(transposed(s), q)), attr->scale));
    if (h)
        g->gin[2] = over_group(wick_matmul(transposed(h), gy)), PLUS(ggy, wick_matmul(h, v)),
        g->gin[5] = ungrouped(wick_neg(wick_sum(h, WICK_AXES(-1), false)));
    if (c) PLUS(ggy, wick_matmul(p, c));
    g->gin[3] = ungrouped(ggy);
    g->gin[4] = ungrouped(wick_neg(wick_sum(s, WICK_AXES(-1), false)));
    if (attr->masked) g->gin[6] = ungrouped(s);
#undef PLUS
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void print_attention(wick_str *s, const wick_node *node) {
    const attention_attr *attr = node->attr;
    wick_str_add(s, "scale=%g", attr->scale);
    if (attr->causal) wick_str_add(s, " causal=%lld", (long long)attr->shift);
    if (attr->masked) wick_str_add(s, " mask");
    if (attr->seeded) wick_str_add(s, " dropout=%g", attr->dropout);
}
static void sample_of(wick_sample *s, bool back) {
    const bool seeded = !back && s->random() % 4 == 0, masked = s->random() % 2, causal = s->random() % 2;
    const int64_t b = wick_sample_int(s, 1, 2), kv = wick_sample_int(s, 1, 2), h = kv * wick_sample_int(s, 1, 2),
                  lq = wick_sample_int(s, 0, 5), lk = wick_sample_int(s, 0, 6), d = wick_sample_int(s, 1, 4),
                  dv = wick_sample_int(s, 1, 5);
    attention_attr attr = {.scale = 0.7,
                           .causal = causal,
                           .shift = causal ? wick_sample_int(s, back ? -1 : 0, 2) : 0,
                           .masked = masked,
                           .seeded = seeded,
                           .dropout = seeded ? 0.3 : 0};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    const wick_dtype dtype = s->random() % 3 ? WICK_F64 : WICK_F32;
    const int64_t dims[7][4] = {{b, h, lq, d},
                                {b, kv, lk, d},
                                {b, kv, lk, dv},
                                {b, h, lq, dv},
                                {b, h, lq},
                                {b, h, lq},
                                {s->random() % 2 ? b : 1, h, s->random() % 2 ? lq : 1, lk}};
    for (int i = 0; i < 7; i++) {
        if ((i >= 3 && i < 6 && !back) || (i == 6 && !masked)) continue;
        const int lse = i == 4;
        s->in[s->n_in] = (wick_type){.dtype = (uint8_t)dtype, .rank = i == 4 || i == 5 ? 3 : 4};
        memcpy(s->in[s->n_in].dims, dims[i], sizeof dims[i]);
        s->lo[s->n_in] = lse ? 1 : -1.5, s->hi[s->n_in++] = lse ? 3 : 1.5;
    }
    if (seeded)
        s->in[s->n_in] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {1}}, s->lo[s->n_in] = 0,
        s->hi[s->n_in++] = 1000;
    s->differentiable = dtype == WICK_F64 && !seeded && (back || lk > 0); /* where no key is seen lse is Inf */
}
static void sample_attention(wick_sample *s) {
    s->n_in = 0;
    sample_of(s, false);
    /* the gradient of a mask is not there with dropout */
    if (((attention_attr *)(void *)s->attr)->seeded && ((attention_attr *)(void *)s->attr)->masked) {
        s->in[3] = s->in[4], s->lo[3] = s->lo[4], s->hi[3] = s->hi[4];
        s->n_in = 4;
        ((attention_attr *)(void *)s->attr)->masked = 0;
    }
}
static void sample_attention_grad(wick_sample *s) {
    s->n_in = 0;
    sample_of(s, true);
}
const wick_op wick_op_attention = {.name = "attention",
                                   .doc = "softmax(scale q k^T + mask) v, and log(sum(exp(scores))), tile by tile",
                                   .torch = "nn.functional.scaled_dot_product_attention",
                                   .onnx = "Attention",
                                   .cost = "2 scores (D + Dv) + 5 scores",
                                   .min_in = 3,
                                   .max_in = 5,
                                   .n_out = 2,
                                   .infer = infer_attention,
                                   .grad = grad_attention,
                                   .flops = flops_attention,
                                   .lower = lower_attention,
                                   .print = print_attention,
                                   .sample = sample_attention};
const wick_op wick_op_attention_grad = {.name = "attention_grad",
                                        .doc = "gradients of attention for q, k and v, from the log of the sums",
                                        .cost = "5 scores (D + Dv) + 5 scores",
                                        .min_in = 6,
                                        .max_in = 8,
                                        .n_out = 3,
                                        .infer = infer_attention_grad,
                                        .grad = grad_attention_grad,
                                        .flops = flops_attention_grad,
                                        .lower = lower_attention,
                                        .print = print_attention,
                                        .sample = sample_attention_grad};

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* As plain ops, of grouped tensors. */
static wick_tensor *plain_attention(const attention_attr *attr, wick_tensor *q, wick_tensor *k, wick_tensor *v,
                                    wick_tensor *mask) {
    wick_tensor *s = scores_of(attr, q, k, mask);
    if (!s || s->error) return s;
    if (wick_tensor_dim(s, -1) == 0) return wick_matmul(s, v); /* zeros */
    wick_tensor *blind = NULL; /* queries that see nothing */
    if (mask || (attr->causal && attr->shift < 0)) {
        blind = wick_eq(wick_max(s, WICK_AXES(-1), true), wick_like(s, -INFINITY));
        s = wick_where(blind, wick_like(s, 0), s);
    }
    wick_tensor *p = wick_softmax(s, -1);
    if (blind) p = wick_where(blind, wick_like(p, 0), p);
    if (attr->dropout > 0) p = wick_dropout(p, attr->dropout);
    return wick_matmul(p, v);
}

/* [..., L, D] as [batch, heads, L, D] with the leading dims of `lead`, of which the last is heads; heads of x stay as
 * they are. */
static wick_tensor *four_dims(wick_tensor *x, const wick_type *lead, bool is_mask) {
    if (!x || x->error) return x;
    const int lead_rank = lead->rank;
    while (x && !x->error && wick_tensor_rank(x) < lead_rank + 2) x = wick_unsqueeze(x, 0);
    if (!x || x->error) return x;
    const int64_t *d = wick_tensor_dims(x);
    int64_t dims[WICK_MAX_DIMS];
    bool same = true;
    for (int i = 0; i < lead_rank + 2; i++) {
        dims[i] = i < lead_rank - 1 ? lead->dims[i] : d[i];
        same &= dims[i] == d[i];
    }
    /* a mask of one batch broadcasts in the op */
    if (!same && !(is_mask && lead_rank == 2)) x = wick_expand(x, lead_rank + 2, dims);
    if (lead_rank == 1) return wick_unsqueeze(x, 0);
    if (lead_rank == 0) return wick_unsqueeze(wick_unsqueeze(x, 0), 0);
    if (lead_rank == 2) return x;
    int64_t batch = 1;
    for (int i = 0; i < lead_rank - 1; i++) batch *= dims[i];
    return wick_reshape(x, 4, (int64_t[]){batch, dims[lead_rank - 1], dims[lead_rank], dims[lead_rank + 1]});
}

/* lead: the leading dims that q, k and v share. Returns NULL; or what is wrong with them. */
static wick_tensor *share_lead(wick_tensor *const in[3], const wick_attention_options *o, wick_type *lead) {
    wick_context *ctx = in[0]->ctx;
    for (int i = 0; i < 3; i++) {
        const int rank = wick_tensor_rank(in[i]);
        if (rank < 2)
            return wick_poison(ctx, WICK_ERR_SHAPE,
                               "attention: argument %d has %d dims; it needs [..., length, features]", i + 1, rank);
        wick_type own = in[i]->value->type;
        own.rank = (uint8_t)(rank - 2);
        if (o->grouped && own.rank) { /* heads do not broadcast: the op checks that they divide */
            own.dims[own.rank - 1] = 1;
            if (rank != wick_tensor_rank(in[0]))
                return wick_poison(ctx, WICK_ERR_SHAPE, "attention: grouped heads need q, k and v of one rank");
        }
        if (!wick_broadcast(lead, &own)) {
            char text[3][96];
            for (int t = 0; t < 3; t++) {
                wick_str s = wick_str_on(text[t], sizeof text[t]);
                wick_type_print(&s, &in[t]->value->type);
            }
            return wick_poison(ctx, WICK_ERR_SHAPE, "attention(%s, %s, %s): leading dims do not broadcast%s", text[0],
                               text[1], text[2],
                               o->grouped ? "" : "; heads of keys that several of q share need the option grouped");
        }
    }
    if (o->grouped && lead->rank) lead->dims[lead->rank - 1] = wick_tensor_dim(in[0], -3);
    return NULL;
}

/* A mask as numbers that are added to scores, of four dims. */
static wick_tensor *added_mask(wick_context *ctx, wick_tensor *mask, const wick_type *lead, wick_dtype computed) {
    if (mask->error) return mask;
    if (wick_tensor_dtype(mask) == WICK_BOOL) {
        wick_tensor *zero = wick_constant(ctx, computed, 0);
        mask = wick_where(mask, zero, wick_like(zero, -INFINITY));
    } else if (!wick_dtype_is_float(wick_tensor_dtype(mask)))
        return wick_poison(ctx, WICK_ERR_DTYPE, "attention: a mask of %s; it is bool or of floats",
                           wick_dtype_name(wick_tensor_dtype(mask)));
    mask = wick_as(mask, computed);
    if (wick_tensor_rank(mask) > lead->rank + 2)
        return wick_poison(ctx, WICK_ERR_SHAPE, "attention: the mask has %d dims, more than the scores' %d",
                           wick_tensor_rank(mask), lead->rank + 2);
    return four_dims(mask, lead, true);
}

/* q, k or v of four dims: batch, heads, length, features. */
static wick_tensor *with_heads(wick_tensor *x, const wick_type *lead, bool grouped, wick_dtype computed) {
    x = wick_as(x, computed);
    /* heads of 1 broadcast: expanded by a stride of 0 */
    if (!grouped && lead->rank && wick_tensor_rank(x) >= 2) {
        while (!x->error && wick_tensor_rank(x) < lead->rank + 2) x = wick_unsqueeze(x, 0);
        int64_t dims[WICK_MAX_DIMS];
        memcpy(dims, wick_tensor_dims(x), (size_t)wick_tensor_rank(x) * sizeof *dims);
        if (dims[lead->rank - 1] != lead->dims[lead->rank - 1]) {
            dims[lead->rank - 1] = lead->dims[lead->rank - 1];
            x = wick_expand(x, lead->rank + 2, dims);
        }
    }
    return four_dims(x, lead, false);
}

/* By ops that store the scores; ins: q, k, v, and the mask if there is one. */
static wick_tensor *checked_plain(const attention_attr *attr, int n, wick_tensor *const *ins) {
    wick_infer check = {.op = &wick_op_attention, .n_in = n, .attr = attr};
    const wick_type *types[4];
    wick_type results[2];
    for (int i = 0; i < n; i++) {
        if (!ins[i] || ins[i]->error) return ins[i];
        types[i] = &ins[i]->value->type;
    }
    check.in = types, check.out = results;
    if (infer_attention(&check)) return wick_poison(ins[0]->ctx, WICK_ERR_SHAPE, "attention: %s", check.text);
    const int64_t kv = wick_tensor_dim(ins[1], 1);
    return ungrouped(plain_attention(attr, grouped(ins[0], kv), grouped(ins[1], kv), grouped(ins[2], kv),
                                     attr->masked ? grouped(ins[3], kv) : NULL));
}

wick_tensor *wick_attention(wick_tensor *q, wick_tensor *k, wick_tensor *v, const wick_attention_options *options) {
    static const wick_attention_options none;
    const wick_attention_options *o = options ? options : &none;
    if (!wick_promote_pair(&q, &k, "attention")) return q;
    if (!wick_promote_pair(&q, &v, "attention")) return q;
    k = wick_as(k, wick_tensor_dtype(q));
    wick_context *ctx = q->ctx;
    const wick_dtype dtype = wick_tensor_dtype(q);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "attention: of %s; it needs floats", wick_dtype_name(dtype));
    if (!(o->dropout >= 0 && o->dropout < 1))
        return wick_poison(ctx, WICK_ERR_INVALID, "attention: dropout %g is not in [0, 1)", o->dropout);
    if (!isfinite(o->scale)) return wick_poison(ctx, WICK_ERR_INVALID, "attention: scale %g is not finite", o->scale);
    if (o->causal && o->causal_end)
        return wick_poison(ctx, WICK_ERR_INVALID, "attention: causal and causal_end exclude each other");
    wick_tensor *in[3] = {q, k, v}, *mask = o->mask;
    wick_type lead = {.rank = 0};
    wick_tensor *wrong = share_lead(in, o, &lead);
    if (wrong) return wrong;
    const wick_dtype computed = dtype == WICK_F64 ? WICK_F64 : WICK_F32;
    if (mask) mask = added_mask(ctx, mask, &lead, computed);
    if (mask && mask->error) return mask;
    for (int i = 0; i < 3; i++) in[i] = with_heads(in[i], &lead, o->grouped, computed);
    if (in[0]->error || in[1]->error || in[2]->error) return in[0]->error ? in[0] : in[1]->error ? in[1] : in[2];
    const int64_t queries = wick_tensor_dim(in[0], 2), keys = wick_tensor_dim(in[1], 2),
                  dim = wick_tensor_dim(in[0], 3);
    attention_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.scale = o->scale != 0 ? o->scale : dim ? 1 / sqrt((double)dim) : 1;
    attr.dropout = o->dropout;
    attr.causal = o->causal || o->causal_end;
    attr.shift = o->causal_end ? keys - queries : 0;
    attr.masked = mask != NULL;
    const bool plain = o->plain || queries <= WICK_ATTENTION_FEW_QUERIES;
    attr.seeded = !plain && o->dropout > 0;
    wick_tensor *ins[5] = {in[0], in[1], in[2]}, *out[2];
    int n = 3;
    if (mask) ins[n++] = mask;
    if (attr.seeded) { /* 53 bits, drawn anew in every run */
        wick_tensor *u = wick_random_uniform(ctx, WICK_F64, WICK_DIMS(1));
        ins[n++] = wick_cast(wick_mul(u, wick_like(u, 0x1p53)), WICK_I64);
    }
    wick_tensor *y;
    if (plain) {
        y = checked_plain(&attr, n, ins);
    } else {
        wick_record_n(NULL, &wick_op_attention, n, ins, &attr, sizeof attr, 2, out);
        y = out[0];
    }
    if (!y || y->error) return y;
    if (lead.rank != 2) {
        int64_t dims[WICK_MAX_DIMS];
        memcpy(dims, lead.dims, lead.rank * sizeof *dims);
        dims[lead.rank] = queries;
        dims[lead.rank + 1] = wick_tensor_dim(y, 3);
        y = wick_reshape(y, lead.rank + 2, dims);
    }
    return wick_as(y, dtype);
}
