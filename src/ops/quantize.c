/* quantize.c: to 8-bit and 16-bit numbers and back. The nodes say what is meant, for the quantize pass to find; what it
 * leaves is written out as elementwise ops (expand_quantize), which fuse with their neighbours. To bytes by the range
 * of all numbers is a kernel of its own. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

/* Scale and zero point (or NULL) fit x along the axis. */
static wick_status check_scale(wick_infer *i, const wick_type *x, wick_dtype zero) {
    const wick_quantize_attr *a = i->attr;
    for (int k = 1; k < i->n_in; k++) {
        const wick_type *t = i->in[k];
        if (t->dtype != (k == 1 ? WICK_F32 : zero))
            return wick_infer_fail(i, WICK_ERR_DTYPE, "%s must be %s", k == 1 ? "the scale" : "the zero point",
                                   wick_dtype_name(k == 1 ? WICK_F32 : zero));
        if (t->rank == 0) continue;
        if (t->rank != 1 || a->axis < 0 || a->axis >= x->rank || t->dims[0] != x->dims[a->axis])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "%s must be one number, or one for each place of axis %lld",
                                   k == 1 ? "the scale" : "the zero point", (long long)a->axis);
    }
    return WICK_OK;
}

static wick_status infer_quantize(wick_infer *i) {
    const wick_quantize_attr *a = i->attr;
    *i->out = *i->in[0];
    i->out->dtype = (uint8_t)a->dtype;
    if (i->in[0]->dtype != WICK_F32) return wick_infer_fail(i, WICK_ERR_DTYPE, "takes f32");
    if (a->dtype != WICK_U8 && a->dtype != WICK_I8 && a->dtype != WICK_I16)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "makes u8, i8 or i16");
    return check_scale(i, i->in[0], (wick_dtype)a->dtype);
}
static wick_status infer_dequantize(wick_infer *i) {
    const uint8_t d = i->in[0]->dtype;
    *i->out = *i->in[0];
    i->out->dtype = WICK_F32;
    if (d != WICK_U8 && d != WICK_I8 && d != WICK_I16 && d != WICK_I32)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "takes u8, i8, i16 or i32");
    return check_scale(i, i->in[0], (wick_dtype)d);
}

/* p of one dim lies along the axis of x. */
static wick_tensor *along(wick_tensor *p, int rank, int64_t axis) {
    if (wick_tensor_rank(p) == 0) return p;
    int64_t dims[WICK_MAX_DIMS];
    for (int d = 0; d < rank; d++) dims[d] = d == axis ? wick_tensor_dim(p, 0) : 1;
    return wick_reshape(p, rank, dims);
}
wick_tensor *wick_quantize_written_out(const wick_node *node, wick_tensor *const *in) {
    const wick_quantize_attr *a = node->attr;
    const int rank = wick_tensor_rank(in[0]);
    wick_tensor *scale = along(in[1], rank, a->axis),
                *zero = node->n_in > 2 ? along(wick_cast(in[2], WICK_F32), rank, a->axis) : NULL;
    if (node->op == &wick_op_dequantize) {
        wick_tensor *x = wick_cast(in[0], WICK_F32);
        return wick_mul(zero ? wick_sub(x, zero) : x, scale);
    }
    wick_tensor *q = wick_round(wick_div(in[0], scale));
    if (zero) q = wick_add(q, zero);
    if (a->dtype == WICK_I16) q = wick_clip(q, -32768, 32767); /* ONNX does not say what a Cast makes of more */
    return wick_cast(q, (wick_dtype)a->dtype); /* saturates to 8 bits */
}

static void print_quantize(wick_str *s, const wick_node *node) {
    if (node->in[1]->type.rank) wick_str_add(s, "axis=%lld", (long long)((const wick_quantize_attr *)node->attr)->axis);
}

static void sample_any(wick_sample *s, uint8_t from, uint8_t to) {
    wick_quantize_attr a = {.dtype = to};
    wick_sample_dims(s, &s->in[0], 1, 4);
    s->in[0].dtype = from;
    a.axis = wick_sample_int(s, 0, s->in[0].rank - 1);
    s->n_in = wick_sample_int(s, 2, 3);
    const bool each = s->random() % 2;
    for (int k = 1; k < s->n_in; k++) {
        s->in[k] = (wick_type){.dtype = k == 1 ? WICK_F32 : from == WICK_F32 ? to : from, .rank = each};
        if (each) s->in[k].dims[0] = s->in[0].dims[a.axis];
    }
    const bool wide = s->in[0].dtype == WICK_U8 || to == WICK_U8;
    s->lo[0] = from == WICK_U8 ? 0 : -100, s->hi[0] = 100;
    s->lo[1] = 0.3, s->hi[1] = 2;
    s->lo[2] = wide ? 0 : -100, s->hi[2] = 100;
    memcpy(s->attr, &a, sizeof a);
    s->attr_size = sizeof a;
}
static void sample_quantize(wick_sample *s) {
    static const uint8_t dtypes[] = {WICK_U8, WICK_I8, WICK_I16};
    sample_any(s, WICK_F32, dtypes[s->random() % 3]);
}
static void sample_dequantize(wick_sample *s) {
    static const uint8_t dtypes[] = {WICK_U8, WICK_I8, WICK_I16, WICK_I32};
    sample_any(s, dtypes[s->random() % 4], WICK_F32);
}

const wick_op wick_op_quantize = {.name = "quantize",
                                  .doc = "to 8-bit or 16-bit numbers: round(x / scale) + zero",
                                  .onnx = "QuantizeLinear",
                                  .torch = "quantize_per_tensor, ..._per_channel",
                                  .cost = "3 n",
                                  .min_in = 2,
                                  .max_in = 3,
                                  .n_out = 1,
                                  .infer = infer_quantize,
                                  .print = print_quantize,
                                  .sample = sample_quantize};
const wick_op wick_op_dequantize = {.name = "dequantize",
                                    .doc = "from 8-bit or 16-bit numbers: (q - zero) scale",
                                    .onnx = "DequantizeLinear",
                                    .torch = "dequantize",
                                    .cost = "2 n",
                                    .min_in = 2,
                                    .max_in = 3,
                                    .n_out = 1,
                                    .infer = infer_dequantize,
                                    .print = print_quantize,
                                    .sample = sample_dequantize};

/* ---- by the range of all numbers --------------------------------------------------------------------------------- */

static wick_status infer_ranging(wick_infer *i) {
    if (i->in[0]->dtype != WICK_F32) return wick_infer_fail(i, WICK_ERR_DTYPE, "takes f32");
    i->out[0] = *i->in[0];
    i->out[0].dtype = WICK_U8;
    i->out[1] = (wick_type){.dtype = WICK_F32};
    i->out[2] = (wick_type){.dtype = WICK_U8};
    return WICK_OK;
}

static int64_t run_ranging(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_ranging *a = args;
    wick_ranging_run(&a->ranging, a->stage, begin, end, ptr[0], ptr[1], ptr[2], ptr[3],
                     a->ranging.stages > 1 ? ptr[4] : NULL);
    return -1;
}
static wick_status lower_ranging(wick_lower *l, wick_node *node) {
    wick_operand x, out[3];
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &x));
    wick_ref refs[5] = {wick_lower_ref(&x, false)};
    int n_refs = 1;
    for (int k = 0; k < 3; k++) {
        WICK_TRY(wick_lower_out(l, node, k, &out[k]));
        refs[n_refs++] = wick_lower_ref(&out[k], true);
    }
    wick_step_ranging a = {.ranging = {.n = wick_type_count(x.type)}};
    wick_ranging_prepare(&a.ranging);
    if (a.ranging.stages > 1) {
        refs[n_refs] = (wick_ref){.write = true};
        WICK_TRY(wick_lower_temp(l, a.ranging.partials, &refs[n_refs++].buffer));
    }
    for (a.stage = 0; a.stage < a.ranging.stages; a.stage++) {
        const bool last = a.stage == a.ranging.stages - 1;
        const double read = (double)wick_type_bytes(x.type), written = (double)wick_type_bytes(out[0].type);
        wick_step step = {.name = last ? "quantize_dynamic" : "quantize_range",
                          .kind = last ? WICK_STEP_RANGING : WICK_STEP_STAGE,
                          .run = run_ranging,
                          .tasks = a.ranging.tasks,
                          .flops = last ? wick_flops_per_input(node) : 0,
                          .bytes = last ? read + written : read};
        WICK_TRY(wick_lower_step(l, &step, &a, sizeof a, refs, n_refs));
    }
    return WICK_OK;
}
static void sample_ranging(wick_sample *s) {
    wick_sample_dims(s, &s->in[0], 0, 4);
    s->in[0].dtype = WICK_F32;
    s->n_in = 1;
    s->lo[0] = -(double)(s->random() % 3), s->hi[0] = 3;
}

const wick_op wick_op_quantize_dynamic = {.name = "quantize_dynamic",
                                          .doc = "to u8 by a scale and a zero point that follow from the range",
                                          .onnx = "DynamicQuantizeLinear",
                                          .torch = "quantize_per_tensor_dynamic",
                                          .cost = "n",
                                          .min_in = 1,
                                          .max_in = 1,
                                          .n_out = 3,
                                          .infer = infer_ranging,
                                          .flops = wick_flops_per_input,
                                          .lower = lower_ranging,
                                          .sample = sample_ranging};

/* ---- public ------------------------------------------------------------------------------------------------------ */

wick_tensor *wick_widened(wick_tensor *x) {
    return x && !x->error && (wick_tensor_dtype(x) == WICK_F16 || wick_tensor_dtype(x) == WICK_BF16)
               ? wick_as(x, WICK_F32)
               : x;
}
static wick_tensor *record(const wick_op *op, wick_tensor *x, wick_tensor *scale, wick_tensor *zero, int axis,
                           wick_dtype dtype) {
    wick_tensor *in[3] = {x, scale, zero};
    wick_quantize_attr a = {.dtype = dtype};
    const int rank = x && !x->error ? wick_tensor_rank(x) : 0;
    if (scale && !scale->error && wick_tensor_rank(scale)) a.axis = wick_axis(axis, rank);
    return wick_record(NULL, op, zero ? 3 : 2, in, &a, sizeof a);
}
wick_tensor *wick_quantize(wick_tensor *x, wick_tensor *scale, wick_tensor *zero, int axis, wick_dtype dtype) {
    return record(&wick_op_quantize, wick_widened(x), scale, zero, axis, dtype);
}
wick_tensor *wick_dequantize(wick_tensor *q, wick_tensor *scale, wick_tensor *zero, int axis) {
    return record(&wick_op_dequantize, q, scale, zero, axis, WICK_F32);
}
wick_tensor *wick_quantize_dynamic(wick_tensor *x, wick_tensor **scale, wick_tensor **zero) {
    wick_tensor *in[1] = {wick_widened(x)}, *out[3] = {NULL, NULL, NULL};
    wick_record_n(NULL, &wick_op_quantize_dynamic, 1, in, NULL, 0, 3, out);
    if (scale) *scale = out[1];
    if (zero) *zero = out[2];
    return out[0];
}
