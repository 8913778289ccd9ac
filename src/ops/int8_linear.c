/* int8_linear.c: products of f32 with weights of 8 bits, which stay such. */
#include "ops/lowering/steps.h"
#include "ops/ops.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

static wick_status infer(wick_infer *i) {
    const wick_blocks_attr *a = i->attr;
    const wick_type *x = i->in[0], *q = i->in[1], *scales = i->in[2],
                    *zeros = a->has & WICK_BLOCKS_ZEROS ? i->in[3] : NULL;
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "takes f32 and f64");
    if ((q->dtype != WICK_I8 && q->dtype != WICK_U8) || scales->dtype != WICK_F32 ||
        (zeros && zeros->dtype != q->dtype))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "weights must be i8 or u8, zero points likewise, scales f32");
    if (x->rank < 1) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs rows of numbers");
    const int64_t k = x->dims[x->rank - 1];
    if (q->rank != 3 || (k && !q->dims[2]) || q->dims[1] != (k ? (k - 1) / q->dims[2] + 1 : 0))
        return wick_infer_fail(
            i, WICK_ERR_SHAPE,
            "weights must be [n, blocks, numbers of a block], with the blocks of rows of %lld numbers", (long long)k);
    for (int p = 2; p < 3 + (zeros != NULL); p++)
        if (i->in[p]->rank != 2 || i->in[p]->dims[0] != q->dims[0] || i->in[p]->dims[1] != q->dims[1])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "there must be a %s for each block",
                                   p == 2 ? "scale" : "zero point");
    return wick_blocks_infer(i);
}

/* What the weights stand for, [n, k]. */
static wick_tensor *as_floats(wick_tensor *q, wick_tensor *scales, wick_tensor *zeros, int64_t k) {
    const int64_t *dims = wick_tensor_dims(q);
    const int64_t each[] = {dims[0], dims[1], 1}, flat[] = {dims[0], dims[1] * dims[2]};
    wick_tensor *w = wick_cast(q, WICK_F32);
    if (zeros)
        w = wick_sub(w, wick_reshape(wick_cast(zeros, WICK_F32), 3, each));
    else if (wick_tensor_dtype(q) == WICK_U8)
        w = wick_sub(w, wick_like(w, 128));
    w = wick_reshape(wick_mul(w, wick_reshape(scales, 3, each)), 2, flat);
    return flat[1] == k ? w : wick_slice(w, 1, 0, k, 1);
}
static void grad(wick_gradient *g) { wick_blocks_grad(g, as_floats); }

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

enum { AT_C, AT_X, AT_PACKED, AT_Q = WICK_STEP_LINEAR8_Q, REFS = AT_Q + 4 };

static int64_t run_pack(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_linear8 *a = args;
    wick_linear8_pack(&a->product, begin, end, ptr[1], ptr[2], a->zeros ? ptr[3] : NULL, ptr[0]);
    return -1;
}
static int64_t run(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_linear8 *a = args;
    wick_linear8_run(&a->product, begin, end, ptr[AT_X], ptr[AT_PACKED], a->bias ? ptr[a->bias] : NULL, ptr[AT_C],
                     scratch);
    return -1;
}

/* Packs to refs[AT_PACKED], from the weights at refs[AT_Q]. */
static wick_status lower_packing(wick_lower *l, const wick_step_linear8 *a, wick_ref *refs) {
    const wick_linear8 *p = &a->product;
    WICK_TRY(wick_lower_temp(l, p->packed, &refs[AT_PACKED].buffer));
    wick_ref of[4] = {refs[AT_PACKED], refs[AT_Q], refs[AT_Q + 1], refs[AT_Q + 2]};
    of[0].write = true;
    /* what says how it is packed, and nothing else: plans share it */
    wick_step_linear8 packing;
    memset(&packing, 0, sizeof packing);
    packing.product = (wick_linear8){.n = p->n,
                                     .k = p->k,
                                     .block = p->block,
                                     .q_row = p->q_row,
                                     .q_block = p->q_block,
                                     .q_col = p->q_col,
                                     .is_unsigned = p->is_unsigned,
                                     .has_zeros = p->has_zeros};
    packing.zeros = a->zeros;
    const wick_step step = {.name = "linear8_pack",
                            .kind = WICK_STEP_PACK,
                            .packs = true,
                            .run = run_pack,
                            .tasks = p->tasks_pack,
                            .bytes = 2 * (double)p->packed};
    return wick_lower_step(l, &step, &packing, sizeof packing, of, 3 + p->has_zeros);
}

static wick_status lower(wick_lower *l, wick_node *node) {
    const wick_blocks_attr *attr = node->attr;
    const wick_type *x = &node->in[0]->type, *q = &node->in[1]->type;
    wick_ref refs[REFS];
    wick_step_linear8 a;
    memset(&a, 0, sizeof a);
    memset(refs, 0, sizeof refs);
    wick_linear8 *p = &a.product;
    wick_operand c, in;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    refs[AT_X] = wick_lower_ref(&in, false);
    in = wick_lower_in(l, node, 1);
    refs[AT_Q] = wick_lower_ref(&in, false);
    p->q_row = in.layout.strides[0], p->q_block = in.layout.strides[1], p->q_col = in.layout.strides[2];
    int n_refs = AT_Q + 1;
    for (int i = 2; i < node->n_in; i++) {
        WICK_TRY(wick_lower_in_contiguous(l, node, i, &in));
        refs[n_refs++] = wick_lower_ref(&in, false);
    }
    WICK_TRY(wick_lower_out(l, node, 0, &c));
    refs[AT_C] = wick_lower_ref(&c, true);
    p->n = q->dims[0];
    p->block = q->dims[2];
    p->k = x->dims[x->rank - 1];
    p->m = 1;
    for (int d = 0; d < x->rank - 1; d++) p->m *= x->dims[d];
    p->is_unsigned = q->dtype == WICK_U8;
    p->f64 = x->dtype == WICK_F64;
    p->has_zeros = attr->has & WICK_BLOCKS_ZEROS;
    if (p->has_zeros) a.zeros = AT_Q + 2;
    if (attr->has & WICK_BLOCKS_BIAS) a.bias = n_refs - 1;
    wick_linear8_prepare(p, &l->ctx->tuning);
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, node, wick_linear8_name(p), wick_linear8_rejected(p, rejected), rejected);
    }
    if (p->packed)
        WICK_TRY(lower_packing(l, &a, refs));
    else
        refs[AT_PACKED] = refs[AT_Q]; /* nothing is computed */
    const wick_step step = {.name = wick_linear8_name(p),
                            .kind = WICK_STEP_LINEAR8,
                            .run = run,
                            .tasks = p->tasks,
                            .scratch = p->scratch,
                            .flops = wick_blocks_flops(node),
                            .bytes = (double)p->packed + (double)wick_type_bytes(x) + (double)wick_type_bytes(c.type)};
    return wick_lower_step(l, &step, &a, sizeof a, refs, n_refs);
}

static void print(wick_str *s, const wick_node *node) {
    const wick_blocks_attr *a = node->attr;
    const int64_t *q = node->in[1]->type.dims;
    wick_str_add(s, "block=%lld%s%s", (long long)q[2], a->has & WICK_BLOCKS_ZEROS ? " zeros" : "",
                 a->has & WICK_BLOCKS_BIAS ? " bias" : "");
}

static void sample(wick_sample *s) {
    wick_blocks_attr a = {.has = wick_sample_int(s, 0, 3)};
    const int64_t m = wick_sample_int(s, 0, 20), n = wick_sample_int(s, 0, 70), k = wick_sample_int(s, 0, 600),
                  block = s->random() % 2 ? WICK_MAX(k, 1) : wick_sample_int(s, 1, 100),
                  blocks = (k + block - 1) / block;
    s->differentiable = s->random() % 2;
    const uint8_t dtype = s->random() % 2 ? WICK_I8 : WICK_U8, real = s->differentiable ? WICK_F64 : WICK_F32;
    const int low = dtype == WICK_U8 ? 0 : -128;
    s->in[0] = s->random() % 2 ? (wick_type){.dtype = real, .rank = 2, .dims = {m, k}}
                               : (wick_type){.dtype = real, .rank = 1, .dims = {k}};
    s->in[1] = (wick_type){.dtype = dtype, .rank = 3, .dims = {n, blocks, block}};
    s->in[2] = (wick_type){.dtype = WICK_F32, .rank = 2, .dims = {n, blocks}};
    s->lo[0] = -1, s->hi[0] = 1;
    s->lo[1] = low, s->hi[1] = low + 255;
    s->lo[2] = 0.0002, s->hi[2] = 0.002; /* results of about 1 */
    s->n_in = 3;
    if (a.has & WICK_BLOCKS_ZEROS)
        s->in[s->n_in] = (wick_type){.dtype = dtype, .rank = 2, .dims = {n, blocks}}, s->lo[s->n_in] = low,
        s->hi[s->n_in++] = low + 255;
    if (a.has & WICK_BLOCKS_BIAS)
        s->in[s->n_in] = (wick_type){.dtype = real, .rank = 1, .dims = {n}}, s->lo[s->n_in] = -2, s->hi[s->n_in++] = 2;
    memcpy(s->attr, &a, sizeof a);
    s->attr_size = sizeof a;
}

const wick_op wick_op_int8_linear = {.name = "int8_linear",
                                     .doc = "x w^T of weights of 8 bits, x real",
                                     .onnx = "com.microsoft MatMulNBits; DequantizeLinear, MatMul",
                                     .cost = "2 n k, k the shared extent",
                                     .min_in = 3,
                                     .max_in = 5,
                                     .n_out = 1,
                                     .infer = infer,
                                     .grad = grad,
                                     .flops = wick_blocks_flops,
                                     .lower = lower,
                                     .print = print,
                                     .sample = sample};

wick_tensor *wick_int8_linear(wick_tensor *x, wick_tensor *q, wick_tensor *scales, wick_tensor *zeros,
                              wick_tensor *bias) {
    return wick_blocks_linear(&wick_op_int8_linear, x, q, scales, zeros, bias);
}
