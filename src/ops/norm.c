/* norm.c: softmax, log-softmax, layer norm, RMS norm and batch norm; what is made of them is in norms.c. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

/* Rows per task: about 16 Ki elements, so that small products of rows stay one task. */
static int64_t rows_per_task(int64_t cols) { return WICK_MAX(1, 16384 / WICK_MAX(cols, 1)); }
static int64_t tasks_of(int64_t rows, int64_t per_task) { return (rows + per_task - 1) / per_task; }

static bool is_row_float(const wick_type *t) { return t->dtype == WICK_F32 || t->dtype == WICK_F64; }

/* Whether a result is so large that no cache would keep it. */
static bool is_far(const wick_lower *l, const wick_type *t) {
    return (int64_t)wick_type_bytes(t) >= l->ctx->tuning.stream_bytes;
}

/* ---- softmax over the last axis ---------------------------------------------------------------------------------- */

static wick_status infer_softmax(wick_infer *i) {
    *i->out = *i->in[0];
    if (!is_row_float(i->in[0])) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs a float type");
    if (i->in[0]->rank == 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs an axis");
    return WICK_OK;
}

static int64_t run_softmax(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_softmax *a = args;
    wick_softmax_rows(a->type, a->log, a->nontemporal, begin * a->per_task, WICK_MIN(end * a->per_task, a->rows),
                      a->cols, ptr[0], ptr[1]);
    return -1;
}
static double flops_softmax(const wick_node *node) { return 5.0 * (double)wick_type_count(&node->out[0].type); }
static wick_status lower_softmax(wick_lower *l, wick_node *node) {
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    int64_t n = wick_type_count(out.type), cols = out.type->dims[out.type->rank - 1];
    wick_step_softmax a = {wick_ctype_of((wick_dtype)out.type->dtype),
                           node->op == &wick_op_log_softmax,
                           is_far(l, out.type),
                           cols ? n / cols : 0,
                           cols,
                           rows_per_task(cols)};
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_SOFTMAX,
                      .run = run_softmax,
                      .tasks = tasks_of(a.rows, a.per_task),
                      .flops = flops_softmax(node),
                      .bytes = 2.0 * (double)wick_type_bytes(out.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true)},
                           2);
}
static void grad_softmax(wick_gradient *g) {
    wick_tensor *gy = wick_mul(g->gout[0], g->out[0]);
    g->gin[0] = wick_sub(gy, wick_mul(g->out[0], wick_sum(gy, WICK_AXES(-1), true)));
}
static void grad_log_softmax(wick_gradient *g) {
    g->gin[0] = wick_sub(g->gout[0], wick_mul(wick_exp(g->out[0]), wick_sum(g->gout[0], WICK_AXES(-1), true)));
}
static void sample_rows(wick_sample *s) {
    s->n_in = 1;
    s->in[0].dtype = s->random() % 2 ? WICK_F64 : WICK_F32;
    wick_sample_dims(s, &s->in[0], 1, 3);
    s->lo[0] = -4, s->hi[0] = 4;
    s->differentiable = s->in[0].dtype == WICK_F64;
}
const wick_op wick_op_softmax = {.name = "softmax",
                                 .doc = "exp(x) / sum(exp(x)) over the last axis",
                                 .onnx = "Softmax",
                                 .torch = "softmax",
                                 .cost = "5 n",
                                 .min_in = 1,
                                 .max_in = 1,
                                 .n_out = 1,
                                 .infer = infer_softmax,
                                 .grad = grad_softmax,
                                 .flops = flops_softmax,
                                 .lower = lower_softmax,
                                 .sample = sample_rows};
const wick_op wick_op_log_softmax = {.name = "log_softmax",
                                     .doc = "x - log(sum(exp(x))) over the last axis",
                                     .onnx = "LogSoftmax",
                                     .torch = "log_softmax",
                                     .cost = "5 n",
                                     .min_in = 1,
                                     .max_in = 1,
                                     .n_out = 1,
                                     .infer = infer_softmax,
                                     .grad = grad_log_softmax,
                                     .flops = flops_softmax,
                                     .lower = lower_softmax,
                                     .sample = sample_rows};

/* Half types are computed in f32; other axes are moved to the end and back. */
static wick_tensor *over_axis(const wick_op *op, wick_tensor *x, int axis) {
    if (!x || x->error) return wick_record(NULL, op, 1, &x, NULL, 0);
    int rank = wick_tensor_rank(x), a = wick_axis(axis, rank);
    if (a < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: axis %d of a %d-d tensor", op->name, axis, rank);
    wick_dtype d = wick_tensor_dtype(x);
    bool half = d == WICK_F16 || d == WICK_BF16;
    if (half) x = wick_as(x, WICK_F32);
    if (a != rank - 1) x = wick_transpose(x, a, -1);
    x = wick_record(NULL, op, 1, &x, NULL, 0);
    if (a != rank - 1 && !x->error) x = wick_transpose(x, a, -1);
    return half ? wick_as(x, d) : x;
}
wick_tensor *wick_softmax(wick_tensor *x, int axis) { return over_axis(&wick_op_softmax, x, axis); }
wick_tensor *wick_log_softmax(wick_tensor *x, int axis) { return over_axis(&wick_op_log_softmax, x, axis); }

/* ---- layer norm: (x[, weight, bias]) -> y, mean, rstd; RMS norm: (x[, weight]) -> y, rstd ------------------------ */

static wick_status infer_layer_norm(wick_infer *i) {
    const wick_type *x = i->in[0];
    if (!is_row_float(x)) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs a float type");
    if (x->rank == 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs an axis");
    int64_t cols = x->dims[x->rank - 1];
    for (int k = 1; k < i->n_in; k++) {
        if (i->in[k]->dtype != x->dtype)
            return wick_infer_fail(i, WICK_ERR_DTYPE, "weight and bias must have x's dtype");
        if (i->in[k]->rank != 1 || i->in[k]->dims[0] != cols)
            return wick_infer_fail(i, WICK_ERR_SHAPE, "weight and bias must have the extent %lld of the last axis",
                                   (long long)cols);
    }
    i->out[0] = *x;
    for (int k = 1; k < i->n_out; k++) {
        i->out[k] = *x;
        i->out[k].dims[x->rank - 1] = 1;
    }
    return WICK_OK;
}

static int64_t run_layer_norm(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_layer_norm *a = args;
    void *const *out = ptr + a->n_in;
    wick_layer_norm_rows(a->type, a->nontemporal, begin * a->per_task, WICK_MIN(end * a->per_task, a->rows), a->cols,
                         a->eps, ptr[0], a->n_in > 1 ? ptr[1] : NULL, a->n_in > 2 ? ptr[2] : NULL, out[0],
                         a->centred ? out[1] : NULL, out[1 + a->centred]);
    return -1;
}
static double flops_layer_norm(const wick_node *node) {
    return (node->n_out == 3 ? 8.0 : 5.0) * (double)wick_type_count(&node->out[0].type);
}
static wick_status lower_layer_norm(wick_lower *l, wick_node *node) {
    wick_operand at[6];
    wick_ref refs[6];
    int n = 0;
    for (int i = 0; i < node->n_in; i++, n++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[n]));
    for (int i = 0; i < node->n_out; i++, n++) WICK_TRY(wick_lower_out(l, node, i, &at[n]));
    for (int i = 0; i < n; i++) refs[i] = wick_lower_ref(&at[i], i >= node->n_in);
    int64_t count = wick_type_count(at[0].type), cols = at[0].type->dims[at[0].type->rank - 1];
    wick_step_layer_norm a = {wick_ctype_of((wick_dtype)at[0].type->dtype),
                              node->n_in,
                              node->n_out == 3,
                              is_far(l, at[0].type),
                              cols ? count / cols : 0,
                              cols,
                              rows_per_task(cols),
                              *(const double *)node->attr};
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_LAYER_NORM,
                      .run = run_layer_norm,
                      .tasks = tasks_of(a.rows, a.per_task),
                      .flops = flops_layer_norm(node),
                      .bytes = 2.0 * (double)wick_type_bytes(at[0].type)};
    return wick_lower_step(l, &step, &a, sizeof a, refs, n);
}
/* With n = (x - mean) rstd and h = gy w: dx = rstd (h - mean(h) - n mean(h n)). Gradients of gradients flow through the
 * results mean and rstd, whose own are 1 / cols and -rstd^2 n / cols. */
static void grad_layer_norm(wick_gradient *g) {
    wick_tensor *x = g->in[0], *gy = g->gout[0], *mean = g->out[1], *rstd = g->out[2],
                *n = wick_mul(wick_sub(x, mean), rstd);
    if (g->need[0]) {
        wick_tensor *share = wick_like(x, 1 / (double)wick_tensor_dim(x, -1)), *parts[3] = {NULL};
        if (gy) {
            wick_tensor *h = g->n_in > 1 ? wick_mul(gy, g->in[1]) : gy;
            parts[0] = wick_mul(rstd, wick_sub(wick_sub(h, wick_mean(h, WICK_AXES(-1), true)),
                                               wick_mul(n, wick_mean(wick_mul(h, n), WICK_AXES(-1), true))));
        }
        if (g->gout[1]) parts[1] = wick_expand(wick_mul(g->gout[1], share), wick_tensor_rank(x), wick_tensor_dims(x));
        if (g->gout[2]) parts[2] = wick_neg(wick_mul(wick_mul(g->gout[2], wick_mul(wick_square(rstd), share)), n));
        for (int i = 0; i < 3; i++)
            if (parts[i]) g->gin[0] = g->gin[0] ? wick_add(g->gin[0], parts[i]) : parts[i];
    }
    if (g->n_in > 1 && g->need[1] && gy) g->gin[1] = wick_mul(gy, n);
    if (g->n_in > 2 && g->need[2]) g->gin[2] = gy;
}
static void sample_layer_norm(wick_sample *s) {
    s->n_in = wick_sample_int(s, 1, 3);
    s->in[0] = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32,
                           .rank = 2,
                           .dims = {wick_sample_int(s, 0, 4), wick_sample_int(s, 2, 7)}};
    for (int i = 1; i < 3; i++) s->in[i] = (wick_type){.dtype = s->in[0].dtype, .rank = 1, .dims = {s->in[0].dims[1]}};
    for (int i = 0; i < 3; i++) s->lo[i] = -2, s->hi[i] = 2;
    double eps = 1e-2;
    memcpy(s->attr, &eps, s->attr_size = sizeof eps);
    s->differentiable = s->in[0].dtype == WICK_F64;
}
static void print_eps(wick_str *s, const wick_node *node) { wick_str_add(s, "eps=%g", *(const double *)node->attr); }
const wick_op wick_op_layer_norm = {
    .name = "layer_norm",
    .doc = "(x - mean) / sqrt(var + eps) * weight + bias over the last axis; also mean and 1/std",
    .onnx = "LayerNormalization",
    .torch = "nn.functional.layer_norm",
    .cost = "8 n",
    .min_in = 1,
    .max_in = 3,
    .n_out = 3,
    .infer = infer_layer_norm,
    .grad = grad_layer_norm,
    .flops = flops_layer_norm,
    .lower = lower_layer_norm,
    .print = print_eps,
    .sample = sample_layer_norm};

wick_tensor *wick_layer_norm(wick_tensor *x, wick_tensor *weight, wick_tensor *bias, double eps) {
    if (!weight && bias) { /* the op's optional inputs come in order */
        wick_tensor *plain = wick_layer_norm(x, NULL, NULL, eps);
        return wick_add(plain, bias);
    }
    wick_dtype dtype = x && !x->error ? wick_tensor_dtype(x) : WICK_F32;
    if (dtype == WICK_F16 || dtype == WICK_BF16) /* computed in f32, rounded once */
        return wick_as(wick_layer_norm(wick_as(x, WICK_F32), weight ? wick_as(weight, WICK_F32) : NULL,
                                       bias ? wick_as(bias, WICK_F32) : NULL, eps),
                       dtype);
    wick_tensor *in[3] = {x, weight, bias}, *out[3];
    wick_record_n(NULL, &wick_op_layer_norm, 1 + (weight != NULL) + (bias != NULL), in, &eps, sizeof eps, 3, out);
    return out[0];
}

/* With n = x rstd and h = gy w: dx = rstd (h - n mean(h n)); that of rstd is -rstd^2 n / cols. */
static void grad_rms_norm(wick_gradient *g) {
    wick_tensor *x = g->in[0], *gy = g->gout[0], *rstd = g->out[1], *n = wick_mul(x, rstd), *parts[2] = {NULL};
    if (g->need[0]) {
        if (gy) {
            wick_tensor *h = g->n_in > 1 ? wick_mul(gy, g->in[1]) : gy;
            parts[0] = wick_mul(rstd, wick_sub(h, wick_mul(n, wick_mean(wick_mul(h, n), WICK_AXES(-1), true))));
        }
        if (g->gout[1])
            parts[1] = wick_neg(wick_mul(
                wick_mul(g->gout[1], wick_mul(wick_square(rstd), wick_like(x, 1 / (double)wick_tensor_dim(x, -1)))),
                n));
        for (int i = 0; i < 2; i++)
            if (parts[i]) g->gin[0] = g->gin[0] ? wick_add(g->gin[0], parts[i]) : parts[i];
    }
    if (g->n_in > 1 && g->need[1] && gy) g->gin[1] = wick_mul(gy, n);
}
static void sample_rms_norm(wick_sample *s) {
    sample_layer_norm(s);
    s->n_in = WICK_MIN(s->n_in, 2);
}
const wick_op wick_op_rms_norm = {
    .name = "rms_norm",
    .doc = "x / sqrt(mean(x^2) + eps) * weight over the last axis; also 1/sqrt(mean(x^2) + eps)",
    .onnx = "RMSNormalization",
    .torch = "nn.functional.rms_norm",
    .cost = "5 n",
    .min_in = 1,
    .max_in = 2,
    .n_out = 2,
    .infer = infer_layer_norm,
    .grad = grad_rms_norm,
    .flops = flops_layer_norm,
    .lower = lower_layer_norm,
    .print = print_eps,
    .sample = sample_rms_norm};

wick_tensor *wick_rms_norm(wick_tensor *x, wick_tensor *weight, double eps) {
    wick_dtype dtype = x && !x->error ? wick_tensor_dtype(x) : WICK_F32;
    if (dtype == WICK_F16 || dtype == WICK_BF16)
        return wick_as(wick_rms_norm(wick_as(x, WICK_F32), weight ? wick_as(weight, WICK_F32) : NULL, eps), dtype);
    wick_tensor *in[2] = {x, weight}, *out[2];
    wick_record_n(NULL, &wick_op_rms_norm, 1 + (weight != NULL), in, &eps, sizeof eps, 2, out);
    return out[0];
}

/* ---- batch norm: an expression; what it needs is fused ----------------------------------------------------------- */

wick_tensor *wick_batch_norm(wick_tensor *x, wick_tensor *mean, wick_tensor *var, wick_tensor *weight,
                             wick_tensor *bias, double eps) {
    if (!x || x->error) return x;
    int rank = wick_tensor_rank(x);
    if (rank < 2) return wick_poison(x->ctx, WICK_ERR_SHAPE, "batch_norm: x has %d dims; it needs [N, C, ...]", rank);
    int64_t dims[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) dims[i] = 1;
    dims[1] = wick_tensor_dims(x)[1];
    wick_tensor **vectors[4] = {&mean, &var, &weight, &bias};
    for (int i = 0; i < 4; i++)
        if (*vectors[i]) *vectors[i] = wick_reshape(*vectors[i], rank, dims);
    wick_tensor *scale = wick_rsqrt(wick_add(var, wick_like(var, eps)));
    if (weight) scale = wick_mul(scale, weight);
    wick_tensor *y = wick_mul(wick_sub(x, mean), scale);
    return bias ? wick_add(y, bias) : y;
}
