/* int4.c: weights of 4 bits in blocks along k: products with them, and what they stand for in f32. */
#include "ops/lowering/steps.h"
#include "ops/ops.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"
#include "wick/reduce.h"

enum { LEAST_BLOCK = 16 };

/* The weights are inputs `at` (q), at + 1 and, where there are zeros, at + 2. */
static wick_status check_weights(wick_infer *i, int at, int64_t k) {
    const wick_blocks_attr *a = i->attr;
    const wick_type *q = i->in[at], *scales = i->in[at + 1], *zeros = i->in[at + 2 < i->n_in ? at + 2 : 0];
    if (q->dtype != WICK_U8 || scales->dtype != WICK_F32 || (a->has & WICK_BLOCKS_ZEROS && zeros->dtype != WICK_U8))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "weights and zero points must be u8, scales f32");
    const int64_t block = q->rank == 3 ? 2 * q->dims[2] : 0;
    if (block < LEAST_BLOCK || (block & (block - 1)))
        return wick_infer_fail(i, WICK_ERR_SHAPE,
                               "weights must be [rows, blocks, bytes of a block], the bytes a power of 2 from %d on",
                               LEAST_BLOCK / 2);
    if (k < 0 || q->dims[1] != (k + block - 1) / block)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld blocks of %lld are not those of rows of %lld numbers",
                               (long long)q->dims[1], (long long)block, (long long)k);
    if (scales->rank != 2 || scales->dims[0] != q->dims[0] || scales->dims[1] != q->dims[1])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "there must be a scale for each block");
    if (a->has & WICK_BLOCKS_ZEROS &&
        (zeros->rank != 2 || zeros->dims[0] != q->dims[0] || zeros->dims[1] != (q->dims[1] + 1) / 2))
        return wick_infer_fail(i, WICK_ERR_SHAPE,
                               "there must be a zero point for each block, two a byte, rows of %lld bytes",
                               (long long)(q->dims[1] + 1) / 2);
    return WICK_OK;
}
static wick_status infer_linear(wick_infer *i) {
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "takes f32 and f64");
    if (x->rank < 1) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs rows of numbers");
    WICK_TRY(check_weights(i, 1, x->dims[x->rank - 1]));
    return wick_blocks_infer(i);
}
static wick_status infer_dequantize(wick_infer *i) {
    const wick_blocks_attr *a = i->attr;
    WICK_TRY(check_weights(i, 0, a->k));
    const uint8_t device = i->out->device;
    if (!wick_type_set(i->out, WICK_F32, 2, (int64_t[]){i->in[0]->dims[0], a->k}))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    i->out->device = device;
    return WICK_OK;
}

static double flops_dequantize(const wick_node *n) { return 2.0 * (double)wick_type_count(&n->out[0].type); }

static wick_tensor *as_floats(wick_tensor *q, wick_tensor *scales, wick_tensor *zeros, int64_t k) {
    return wick_dequantize_blocks(q, scales, zeros, k);
}
static void grad_linear(wick_gradient *g) { wick_blocks_grad(g, as_floats); }

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

enum { AT_C, AT_X, AT_REST, POINTERS = AT_REST + 4 };

static wick_int4_data data_of(const wick_step_int4 *a, void *const *ptr, int q) {
    return (wick_int4_data){.q = ptr[q],
                            .scales = ptr[q + 1],
                            .zeros = a->zeros ? ptr[a->zeros] : NULL,
                            .bias = a->bias ? ptr[a->bias] : NULL,
                            .c = ptr[AT_C]};
}
static int64_t run_linear(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_int4 *a = args;
    wick_int4_data d = data_of(a, ptr, AT_REST);
    d.a = ptr[AT_X];
    wick_int4_run(&a->product, begin, end, &d, scratch);
    return -1;
}
static int64_t run_dequantize(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_int4 *a = args;
    const wick_int4_data d = data_of(a, ptr, AT_X);
    wick_int4_dequantize(&a->product, begin * a->rows, WICK_MIN(a->product.n, end * a->rows), &d);
    return -1;
}
static wick_status lower(wick_lower *l, wick_node *node) {
    const wick_blocks_attr *attr = node->attr;
    const bool linear = node->op == &wick_op_int4_linear;
    wick_operand c, in;
    wick_ref refs[POINTERS];
    wick_step_int4 a;
    memset(&a, 0, sizeof a);
    double bytes = 0;
    for (int i = 0; i < node->n_in; i++) {
        WICK_TRY(wick_lower_in_contiguous(l, node, i, &in));
        refs[i + 1] = wick_lower_ref(&in, false);
        bytes += (double)wick_type_bytes(in.type);
    }
    WICK_TRY(wick_lower_out(l, node, 0, &c));
    refs[AT_C] = wick_lower_ref(&c, true);
    const wick_type *x = &node->in[0]->type, *q = &node->in[linear]->type;
    wick_int4 *p = &a.product;
    p->n = q->dims[0];
    p->block = 2 * q->dims[2];
    p->k = linear ? x->dims[x->rank - 1] : attr->k;
    p->m = 1;
    for (int d = 0; linear && d < x->rank - 1; d++) p->m *= x->dims[d];
    if (attr->has & WICK_BLOCKS_ZEROS) a.zeros = linear + 3;
    if (attr->has & WICK_BLOCKS_BIAS) a.bias = node->n_in;
    bytes += (double)wick_type_bytes(c.type);
    wick_step step = {
        .name = "dequantize_blocks", .run = run_dequantize, .flops = node->op->flops(node), .bytes = bytes};
    if (linear) {
        p->f64 = x->dtype == WICK_F64;
        wick_int4_prepare(p, &l->ctx->tuning);
        if (wick_remarks(l->planning)) {
            wick_rejected rejected[WICK_REJECTED];
            wick_lower_remark(l, node, wick_int4_name(p), wick_int4_rejected(p, rejected), rejected);
        }
        step.name = wick_int4_name(p);
        step.run = run_linear;
        step.kind = WICK_STEP_INT4;
        step.tasks = p->tasks;
        step.scratch = p->scratch;
    } else {
        a.rows = 1 + 65536 / (1 + p->k);
        step.tasks = (p->n + a.rows - 1) / a.rows;
    }
    return wick_lower_step(l, &step, &a, sizeof a, refs, node->n_in + 1);
}

static void print(wick_str *s, const wick_node *node) {
    const wick_blocks_attr *a = node->attr;
    wick_str_add(s, "block=%lld%s%s", (long long)(2 * node->in[node->op == &wick_op_int4_linear]->type.dims[2]),
                 a->has & WICK_BLOCKS_ZEROS ? " zeros" : "", a->has & WICK_BLOCKS_BIAS ? " bias" : "");
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static void sample(wick_sample *s, bool linear) {
    static const int64_t blocks[] = {16, 32, 64, 128, 256};
    uint8_t dtype = WICK_F32;
    wick_blocks_attr a = {.has = wick_sample_int(s, 0, linear ? 3 : 1), .k = wick_sample_int(s, 0, 600)};
    const int64_t n = wick_sample_int(s, 0, 40), block = blocks[s->random() % WICK_COUNTOF(blocks)],
                  count = (a.k + block - 1) / block;
    if (linear) {
        const int64_t m = wick_sample_int(s, 0, 20);
        s->differentiable = s->random() % 2;
        dtype = s->differentiable ? WICK_F64 : WICK_F32;
        s->in[s->n_in] = s->random() % 2 ? (wick_type){.dtype = dtype, .rank = 2, .dims = {m, a.k}}
                                         : (wick_type){.dtype = dtype, .rank = 1, .dims = {a.k}};
        s->lo[s->n_in] = -1, s->hi[s->n_in++] = 1;
        a.k = 0;
    }
    s->in[s->n_in] = (wick_type){.dtype = WICK_U8, .rank = 3, .dims = {n, count, block / 2}};
    s->hi[s->n_in++] = 255;
    s->in[s->n_in] = (wick_type){.dtype = WICK_F32, .rank = 2, .dims = {n, count}};
    s->lo[s->n_in] = 0.002, s->hi[s->n_in++] = 0.02; /* results of about 1 */
    if (a.has & WICK_BLOCKS_ZEROS)
        s->in[s->n_in] = (wick_type){.dtype = WICK_U8, .rank = 2, .dims = {n, (count + 1) / 2}}, s->hi[s->n_in++] = 255;
    if (a.has & WICK_BLOCKS_BIAS)
        s->in[s->n_in] = (wick_type){.dtype = dtype, .rank = 1, .dims = {n}}, s->lo[s->n_in] = -2, s->hi[s->n_in++] = 2;
    memcpy(s->attr, &a, sizeof a);
    s->attr_size = sizeof a;
}
static void sample_linear(wick_sample *s) { sample(s, true); }
static void sample_dequantize(wick_sample *s) { sample(s, false); }

const wick_op wick_op_int4_linear = {.name = "int4_linear",
                                     .doc = "x w^T of weights of 4 bits in blocks",
                                     .onnx = "com.microsoft MatMulNBits",
                                     .cost = "2 n k, k the shared extent",
                                     .min_in = 3,
                                     .max_in = 5,
                                     .n_out = 1,
                                     .infer = infer_linear,
                                     .grad = grad_linear,
                                     .flops = wick_blocks_flops,
                                     .lower = lower,
                                     .print = print,
                                     .sample = sample_linear};
const wick_op wick_op_dequantize_blocks = {.name = "dequantize_blocks",
                                           .doc = "from weights of 4 bits in blocks: (q - zero) scale",
                                           .cost = "2 n",
                                           .min_in = 2,
                                           .max_in = 3,
                                           .n_out = 1,
                                           .infer = infer_dequantize,
                                           .flops = flops_dequantize,
                                           .lower = lower,
                                           .print = print,
                                           .sample = sample_dequantize};

/* ---- public ------------------------------------------------------------------------------------------------------ */

wick_tensor *wick_int4_linear(wick_tensor *x, wick_tensor *q, wick_tensor *scales, wick_tensor *zeros,
                              wick_tensor *bias) {
    return wick_blocks_linear(&wick_op_int4_linear, x, q, scales, zeros, bias);
}
wick_tensor *wick_dequantize_blocks(wick_tensor *q, wick_tensor *scales, wick_tensor *zeros, int64_t k) {
    wick_tensor *in[3] = {q, scales, zeros};
    const wick_blocks_attr a = {.has = zeros ? WICK_BLOCKS_ZEROS : 0, .k = k};
    return wick_record(NULL, &wick_op_dequantize_blocks, zeros ? 3 : 2, in, &a, sizeof a);
}

/* [rows, an even number] of 0..15 in f32, two a byte. */
static wick_tensor *packed(wick_tensor *x) {
    const int64_t rows = wick_tensor_dim(x, 0), pairs = wick_tensor_dim(x, 1) / 2;
    x = wick_reshape(x, 3, (int64_t[]){rows, pairs, 2});
    wick_tensor *low = wick_squeeze(wick_slice(x, 2, 0, 1, 1), 2), *high = wick_squeeze(wick_slice(x, 2, 1, 2, 1), 2);
    return wick_cast(wick_add(low, wick_mul(high, wick_like(high, 16))), WICK_U8);
}
wick_tensor *wick_quantize_blocks(wick_tensor *w, int64_t block, wick_tensor **scales, wick_tensor **zeros) {
    w = wick_widened(w);
    if (w && !w->error && (wick_tensor_dtype(w) != WICK_F32 || wick_tensor_rank(w) != 2))
        w = wick_poison(w->ctx, WICK_ERR_SHAPE, "quantize_blocks(%s): takes a matrix of f32", wick_shown_of(w).text);
    if (w && !w->error && (block < LEAST_BLOCK || (block & (block - 1)) || block > INT32_MAX))
        w = wick_poison(w->ctx, WICK_ERR_INVALID,
                        "quantize_blocks(%s): blocks of %lld; it must be a power of 2 from %d on",
                        wick_shown_of(w).text, (long long)block, LEAST_BLOCK);
    if (w && !w->error && !scales)
        w = wick_poison(w->ctx, WICK_ERR_INVALID, "quantize_blocks(%s): scales is NULL", wick_shown_of(w).text);
    if (!w || w->error) {
        if (zeros) *zeros = w;
        if (scales) *scales = w;
        return w;
    }
    const int64_t n = wick_tensor_dim(w, 0), k = wick_tensor_dim(w, 1), blocks = (k + block - 1) / block;
    w = wick_reshape(wick_pad(w, 2, (int64_t[]){0, 0}, (int64_t[]){0, blocks * block - k}, 0), 3,
                     (int64_t[]){n, blocks, block});
    const int last[] = {2};
    wick_tensor *zero = wick_constant(w->ctx, WICK_F32, 0), *high = wick_maximum(wick_max(w, 1, last, true), zero),
                *low = wick_minimum(wick_min(w, 1, last, true), zero);
    wick_tensor *scale = zeros ? wick_div(wick_sub(high, low), wick_like(high, 15))
                               : wick_div(wick_where(wick_ge(high, wick_neg(low)), high, low), wick_like(high, -8));
    wick_tensor *by = wick_where(wick_eq(scale, zero), wick_like(scale, 1), scale),
                *point = zeros ? wick_round(wick_div(wick_neg(low), by)) : wick_like(high, 8);
    wick_tensor *q = wick_minimum(wick_maximum(wick_add(wick_round(wick_div(w, by)), point), zero),
                                  wick_constant(w->ctx, WICK_F32, 15));
    *scales = wick_reshape(scale, 2, (int64_t[]){n, blocks});
    if (zeros)
        *zeros = packed(wick_pad(wick_reshape(point, 2, (int64_t[]){n, blocks}), 2, (int64_t[]){0, 0},
                                 (int64_t[]){0, blocks % 2}, 0));
    return wick_reshape(packed(wick_reshape(q, 2, (int64_t[]){n, blocks * block})), 3,
                        (int64_t[]){n, blocks, block / 2});
}
