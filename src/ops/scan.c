/* scan.c: running sums, products and extremes along an axis. */
#include <math.h>

#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"
#include "wick/index.h"
#include "wick/reduce.h"

static bool is_extreme(const wick_op *op) { return op == &wick_op_cummax || op == &wick_op_cummin; }
static wick_scan_kind kind_of(const wick_op *op) {
    return op == &wick_op_cumsum         ? WICK_SCAN_SUM
           : op == &wick_op_cumprod      ? WICK_SCAN_PROD
           : op == &wick_op_logcumsumexp ? WICK_SCAN_LOG_SUM
           : op == &wick_op_cummax       ? WICK_SCAN_MAX
                                         : WICK_SCAN_MIN;
}

static wick_status infer_scan(wick_infer *i) {
    const wick_ctype c = wick_ctype_of((wick_dtype)i->in[0]->dtype);
    const bool own = wick_ctype_size(c) == wick_dtype_size((wick_dtype)i->in[0]->dtype) && c != WICK_CBOOL;
    const bool is_float = c == WICK_CF32 || c == WICK_CF64;
    if (i->in[0]->rank == 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs an axis");
    if (!own || (i->op == &wick_op_logcumsumexp ? !is_float : !is_extreme(i->op) && c == WICK_CI32))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "not defined for %s; cast",
                               wick_dtype_name((wick_dtype)i->in[0]->dtype));
    i->out[0] = *i->in[0];
    if (i->n_out > 1) i->out[1] = *i->in[0], i->out[1].dtype = WICK_I64;
    return WICK_OK;
}

static int64_t run_scan(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_scan *a = args;
    wick_scan_run(&a->scan, a->stage, begin, end, ptr[0], ptr[1], a->index ? ptr[2] : NULL,
                  a->scan.stages > 1 ? ptr[2 + a->index] : NULL);
    return -1;
}
static wick_status lower_scan(wick_lower *l, wick_node *node) {
    const scan_attr *attr = node->attr;
    wick_operand in, out, index;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_step_scan a = {.scan = {.type = wick_ctype_of((wick_dtype)in.type->dtype),
                                 .kind = kind_of(node->op),
                                 .exclusive = attr->exclusive,
                                 .reverse = attr->reverse,
                                 .outer = 1,
                                 .n = in.type->dims[attr->axis],
                                 .inner = 1},
                        .index = is_extreme(node->op)};
    if (a.index) WICK_TRY(wick_lower_out(l, node, 1, &index));
    for (int i = 0; i < in.type->rank; i++)
        *(i < attr->axis ? &a.scan.outer : &a.scan.inner) *= i == attr->axis ? 1 : in.type->dims[i];
    wick_scan_prepare(&a.scan);
    wick_ref refs[4] = {wick_lower_ref(&in, false), wick_lower_ref(&out, true)};
    int n_refs = 2;
    if (a.index) refs[n_refs++] = wick_lower_ref(&index, true);
    if (a.scan.stages > 1) {
        refs[n_refs] = (wick_ref){.write = true};
        WICK_TRY(wick_lower_temp(l, a.scan.partials, &refs[n_refs++].buffer));
    }
    for (a.stage = 0; a.stage < a.scan.stages; a.stage++) {
        const bool last = a.stage == a.scan.stages - 1;
        wick_step step = {.name = node->op->name,
                          .kind = last ? WICK_STEP_SCAN : WICK_STEP_STAGE,
                          .run = run_scan,
                          .tasks = a.scan.tasks[a.stage],
                          .flops = last ? wick_flops_per_input(node) : 0,
                          .bytes = last           ? 2.0 * (double)wick_type_bytes(in.type)
                                   : a.stage == 0 ? (double)wick_type_bytes(in.type)
                                                  : 0};
        WICK_TRY(wick_lower_step(l, &step, &a, sizeof a, refs, n_refs));
    }
    return WICK_OK;
}
static void print_scan(wick_str *s, const wick_node *node) {
    const scan_attr *a = node->attr;
    wick_str_add(s, "axis=%d%s%s", (int)a->axis, a->exclusive ? " exclusive" : "", a->reverse ? " reverse" : "");
}

static wick_tensor *scan_with(const wick_op *op, wick_tensor *x, int axis, bool exclusive, bool reverse,
                              wick_tensor **index) {
    scan_attr attr = {0, exclusive, reverse};
    wick_tensor *out[2] = {NULL, NULL};
    const bool sums = op == &wick_op_cumsum || op == &wick_op_cumprod;
    const int n_out = is_extreme(op) ? 2 : 1;
    if (x && !x->error) {
        const wick_dtype d = wick_tensor_dtype(x);
        attr.axis = wick_axis(axis, wick_tensor_rank(x));
        if (attr.axis < 0) {
            out[0] = out[1] = wick_poison(x->ctx, WICK_ERR_SHAPE, "%s(%s): axis %d does not exist", op->name,
                                          wick_shown_of(x).text, axis);
            if (index) *index = out[1];
            return out[0];
        }
        static const wick_dtype in[WICK_CTYPE_COUNT] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_I32};
        wick_dtype c = in[wick_ctype_of(d)];
        if (sums && !wick_dtype_is_float(d)) c = d == WICK_U64 ? WICK_U64 : WICK_I64; /* integers add up in 64 bits */
        if (c != d) {
            wick_tensor *y = scan_with(op, wick_as(x, c), axis, exclusive, reverse, index);
            return sums && !wick_dtype_is_float(d) ? y : wick_as(y, d);
        }
    }
    wick_record_n(NULL, op, 1, &x, &attr, sizeof attr, n_out, out);
    if (index) *index = out[1];
    return out[0];
}
wick_tensor *wick_cumsum(wick_tensor *x, int axis) { return scan_with(&wick_op_cumsum, x, axis, false, false, NULL); }
wick_tensor *wick_cumsum_with(wick_tensor *x, int axis, bool exclusive, bool reverse) {
    return scan_with(&wick_op_cumsum, x, axis, exclusive, reverse, NULL);
}
wick_tensor *wick_cumprod(wick_tensor *x, int axis) { return scan_with(&wick_op_cumprod, x, axis, false, false, NULL); }
wick_tensor *wick_logcumsumexp(wick_tensor *x, int axis) {
    return scan_with(&wick_op_logcumsumexp, x, axis, false, false, NULL);
}
wick_tensor *wick_cummax(wick_tensor *x, int axis, wick_tensor **index) {
    return scan_with(&wick_op_cummax, x, axis, false, false, index);
}
wick_tensor *wick_cummin(wick_tensor *x, int axis, wick_tensor **index) {
    return scan_with(&wick_op_cummin, x, axis, false, false, index);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static void grad_cumsum(wick_gradient *g) {
    const scan_attr *a = g->node->attr;
    g->gin[0] = wick_cumsum_with(g->gout[0], (int)a->axis, a->exclusive, !a->reverse);
}
/* With s(v) the sums of v from each place on: dx = s(g y) / x. Where x is the first 0 of a line, the product without it
 * takes part; behind that nothing changes the result any more, and s(g y) is 0. */
static void grad_cumprod(wick_gradient *g) {
    const scan_attr *a = g->node->attr;
    const int axis = (int)a->axis;
    const bool ex = a->exclusive, rev = a->reverse;
    wick_tensor *x = g->in[0], *y = g->out[0], *gy = g->gout[0], *zero = wick_like(x, 0), *one = wick_like(x, 1);
    wick_tensor *is_zero = wick_eq(x, zero), *zeros = wick_cumsum_with(wick_cast(is_zero, WICK_I64), axis, false, rev);
    wick_tensor *first = wick_logical_and(is_zero, wick_eq(zeros, wick_like(zeros, 1)));
    wick_tensor *without = scan_with(&wick_op_cumprod, wick_where(first, one, x), axis, ex, rev, NULL);
    wick_tensor *others = wick_div(wick_cumsum_with(wick_mul(gy, y), axis, ex, !rev), wick_where(is_zero, one, x));
    wick_tensor *at_zero = wick_cumsum_with(wick_mul(gy, without), axis, ex, !rev);
    g->gin[0] = wick_where(first, at_zero, wick_where(is_zero, zero, others));
}
/* dx_i = sum over j >= i of g_j exp(x_i - y_j), for positive and negative g apart, by the logarithms of these sums. */
static void grad_logcumsumexp(wick_gradient *g) {
    const scan_attr *a = g->node->attr;
    wick_tensor *x = g->in[0], *y = g->out[0], *gy = g->gout[0], *zero = wick_like(x, 0);
    wick_tensor *part[2];
    for (int i = 0; i < 2; i++) {
        wick_tensor *size = i ? wick_neg(gy) : gy, *some = wick_gt(size, zero);
        wick_tensor *logs =
            wick_where(some, wick_sub(wick_log(wick_where(some, size, wick_like(x, 1))), y), wick_like(x, -INFINITY));
        part[i] = wick_exp(wick_add(x, scan_with(&wick_op_logcumsumexp, logs, (int)a->axis, false, !a->reverse, NULL)));
    }
    g->gin[0] = wick_sub(part[0], part[1]);
}
static void grad_extreme(wick_gradient *g) {
    const scan_attr *a = g->node->attr;
    if (!g->gout[0]) return;
    const wick_type *t = &g->node->in[0]->type;
    g->gin[0] = wick_put_along_axis(wick_expand(wick_like(g->gout[0], 0), t->rank, t->dims), (int)a->axis, g->out[1],
                                    g->gout[0], WICK_PUT_ADD);
}

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void sample_scan(wick_sample *s, wick_scan_kind kind) {
    static const wick_dtype dtypes[] = {WICK_F64, WICK_F64, WICK_F32, WICK_I64};
    const bool sums = kind == WICK_SCAN_SUM || kind == WICK_SCAN_PROD, extreme = kind >= WICK_SCAN_MAX;
    s->n_in = 1;
    s->in[0].dtype = (uint8_t)dtypes[s->random() % (kind == WICK_SCAN_LOG_SUM ? 3 : 4)];
    wick_sample_dims(s, &s->in[0], 1, 3);
    scan_attr attr = {wick_sample_int(s, 0, s->in[0].rank - 1), sums ? (int64_t)(s->random() & 1) : 0,
                      extreme ? 0 : (int64_t)(s->random() & 1)};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->lo[0] = kind == WICK_SCAN_PROD ? 0.5 : -2;
    s->hi[0] = kind == WICK_SCAN_PROD ? 1.25 : 2;
    s->differentiable = s->in[0].dtype == WICK_F64;
}
#define SCAN(name_, kind_, n_out_, grad_, doc_, onnx_)                                                                 \
    static void sample_##name_(wick_sample *s) { sample_scan(s, kind_); }                                              \
    const wick_op wick_op_##name_ = {.name = #name_,                                                                   \
                                     .doc = doc_,                                                                      \
                                     .onnx = onnx_,                                                                    \
                                     .torch = #name_,                                                                  \
                                     .cost = "n",                                                                      \
                                     .min_in = 1,                                                                      \
                                     .max_in = 1,                                                                      \
                                     .n_out = n_out_,                                                                  \
                                     .infer = infer_scan,                                                              \
                                     .grad = grad_,                                                                    \
                                     .flops = wick_flops_per_input,                                                    \
                                     .lower = lower_scan,                                                              \
                                     .print = print_scan,                                                              \
                                     .sample = sample_##name_};
SCAN(cumsum, WICK_SCAN_SUM, 1, grad_cumsum, "running sum along an axis", "CumSum")
SCAN(cumprod, WICK_SCAN_PROD, 1, grad_cumprod, "running product along an axis", "CumProd")
SCAN(logcumsumexp, WICK_SCAN_LOG_SUM, 1, grad_logcumsumexp,
     "logarithm of the running sum of exponentials along an axis", NULL)
SCAN(cummax, WICK_SCAN_MAX, 2, grad_extreme, "largest so far along an axis, and where; the last of equals", NULL)
SCAN(cummin, WICK_SCAN_MIN, 2, grad_extreme, "smallest so far along an axis, and where; the last of equals", NULL)
