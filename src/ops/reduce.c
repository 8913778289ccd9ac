/* reduce.c: sums and their kin over any axes, and the index of the largest. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

static void reduced_type(const wick_type *in, uint32_t axes, bool keepdims, wick_type *out) {
    *out = *in;
    memset(out->dims, 0, sizeof out->dims);
    int n = 0;
    for (int i = 0; i < in->rank; i++) {
        if (!(axes >> i & 1))
            out->dims[n++] = in->dims[i];
        else if (keepdims)
            out->dims[n++] = 1;
    }
    out->rank = (uint8_t)n;
}

static wick_status infer_reduce(wick_infer *i) {
    const wick_reduce_attr *attr = i->attr;
    reduced_type(i->in[0], attr->axes, attr->keepdims, i->out);
    if (i->in[0]->dtype == WICK_BOOL) return wick_infer_fail(i, WICK_ERR_DTYPE, "bool has no arithmetic; cast it");
    if (attr->red == WICK_RED_MAX || attr->red == WICK_RED_MIN)
        for (int k = 0; k < i->in[0]->rank; k++)
            if (attr->axes >> k & 1 && i->in[0]->dims[k] == 0)
                return wick_infer_fail(i, WICK_ERR_SHAPE, "the extreme of no elements, over axis %d, does not exist",
                                       k);
    return WICK_OK;
}

/* y or its gradient with the reduced axes back as extents of 1, so that it broadcasts against the input. */
static wick_tensor *with_axes(wick_tensor *y, const wick_node *node) {
    const wick_reduce_attr *attr = node->attr;
    wick_type t;
    reduced_type(&node->in[0]->type, attr->axes, true, &t);
    return attr->keepdims ? y : wick_reshape(y, t.rank, t.dims);
}
static wick_tensor *like_input(wick_tensor *y, const wick_node *node) {
    const wick_type *t = &node->in[0]->type;
    return wick_expand(with_axes(y, node), t->rank, t->dims);
}

static void grad_sum(wick_gradient *g) { g->gin[0] = like_input(g->gout[0], g->node); }
static void grad_mean(wick_gradient *g) {
    int64_t n = wick_type_count(&g->node->in[0]->type), results = wick_type_count(&g->node->out[0].type);
    wick_tensor *share =
        results ? wick_mul(g->gout[0], wick_like(g->gout[0], (double)results / (double)n)) : g->gout[0];
    g->gin[0] = like_input(share, g->node);
}
/* d prod / dx_i = product of the others. y / x where that is exact; where x is 0, the product of the rest comes from
 * counting zeros. */
static void grad_prod(wick_gradient *g) {
    wick_tensor *x = g->in[0], *zero = wick_eq(x, wick_like(x, 0));
    const wick_reduce_attr *attr = g->node->attr;
    int axes[WICK_MAX_DIMS], n = 0;
    for (int i = 0; i < g->node->in[0]->type.rank; i++)
        if (attr->axes >> i & 1) axes[n++] = i;
    if (!n) {
        g->gin[0] = g->gout[0];
        return;
    }
    wick_dtype d = wick_tensor_dtype(x);
    wick_tensor *zeros = wick_sum(wick_cast(zero, d), n, axes, true);
    wick_tensor *rest = wick_prod(wick_where(zero, wick_like(x, 1), x), n, axes, true);
    wick_tensor *at_zero = wick_where(wick_eq(zeros, wick_like(x, 1)), rest, wick_like(x, 0));
    wick_tensor *elsewhere = wick_where(wick_eq(zeros, wick_like(x, 0)),
                                        wick_div(rest, wick_where(zero, wick_like(x, 1), x)), wick_like(x, 0));
    g->gin[0] = wick_mul(with_axes(g->gout[0], g->node), wick_where(zero, at_zero, elsewhere));
}
/* Ties share the gradient evenly, as PyTorch's amax. */
static void grad_extreme(wick_gradient *g) {
    wick_tensor *x = g->in[0];
    wick_tensor *hit = wick_cast(wick_eq(x, with_axes(g->out[0], g->node)), wick_tensor_dtype(x));
    const wick_reduce_attr *attr = g->node->attr;
    int axes[WICK_MAX_DIMS], n = 0;
    for (int i = 0; i < g->node->in[0]->type.rank; i++)
        if (attr->axes >> i & 1) axes[n++] = i;
    wick_tensor *hits = n ? wick_sum(hit, n, axes, true) : hit;
    g->gin[0] = wick_mul(hit, wick_div(with_axes(g->gout[0], g->node), hits));
}

static void print_reduce(wick_str *s, const wick_node *node) {
    const wick_reduce_attr *attr = node->attr;
    wick_str_add(s, "axes=");
    for (int i = 0, n = 0; i < node->in[0]->type.rank; i++)
        if (attr->axes >> i & 1) wick_str_add(s, "%s%d", n++ ? "," : "", i);
    if (attr->keepdims) wick_str_add(s, " keepdims");
}

static void sample_reduce(wick_sample *s, uint32_t red, uint32_t mean) {
    static const wick_dtype dtypes[] = {WICK_F64, WICK_F64, WICK_F32, WICK_I64};
    s->n_in = 1;
    s->in[0].dtype = (uint8_t)dtypes[s->random() % (mean ? 3 : 4)];
    wick_sample_dims(s, &s->in[0], 0, 4);
    wick_reduce_attr attr = {(uint32_t)(s->random() & ((1u << s->in[0].rank) - 1)), (uint32_t)(s->random() & 1), red,
                             mean};
    if (red == WICK_RED_MAX || red == WICK_RED_MIN)
        for (int i = 0; i < s->in[0].rank; i++) s->in[0].dims[i] += s->in[0].dims[i] == 0 && attr.axes >> i & 1;
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = s->in[0].dtype == WICK_F64;
}

#define REDUCE(name_, red_, mean_, grad_, doc_, onnx_, torch_)                                                         \
    static void sample_##name_(wick_sample *s) { sample_reduce(s, red_, mean_); }                                      \
    const wick_op wick_op_##name_ = {.name = #name_,                                                                   \
                                     .doc = doc_,                                                                      \
                                     .onnx = onnx_,                                                                    \
                                     .torch = torch_,                                                                  \
                                     .cost = "m",                                                                      \
                                     .min_in = 1,                                                                      \
                                     .max_in = 1,                                                                      \
                                     .n_out = 1,                                                                       \
                                     .flags = WICK_OP_REDUCE,                                                          \
                                     .infer = infer_reduce,                                                            \
                                     .grad = grad_,                                                                    \
                                     .flops = wick_flops_per_input,                                                    \
                                     .lower = wick_lower_reduce,                                                       \
                                     .print = print_reduce,                                                            \
                                     .sample = sample_##name_};
REDUCE(sum, WICK_RED_SUM, 0, grad_sum, "sum over axes", "ReduceSum", "sum")
REDUCE(mean, WICK_RED_SUM, 1, grad_mean, "mean over axes", "ReduceMean", "mean")
REDUCE(prod, WICK_RED_PROD, 0, grad_prod, "product over axes", "ReduceProd", "prod")
REDUCE(max, WICK_RED_MAX, 0, grad_extreme, "largest over axes; NaN if any is", "ReduceMax", "amax")
REDUCE(min, WICK_RED_MIN, 0, grad_extreme, "smallest over axes; NaN if any is", "ReduceMin", "amin")

/* n axes as bits; none means all. false: one is not an axis of x, or is named twice. */
static bool axis_bits(const wick_tensor *x, int n, const int *axes, uint32_t *bits) {
    int rank = wick_tensor_rank(x);
    *bits = n == 0 ? (1u << rank) - 1 : 0;
    if (n > 0 && !axes) return false;
    for (int i = 0; i < n; i++) {
        int a = wick_axis(axes[i], rank);
        if (a < 0 || *bits >> a & 1) return false;
        *bits |= 1u << a;
    }
    return true;
}

static wick_tensor *reduce(const wick_op *op, wick_tensor *x, int n, const int *axes, bool keepdims, uint32_t red,
                           uint32_t mean) {
    wick_reduce_attr attr = {0, keepdims, red, mean};
    if (x && !x->error) {
        int d = wick_tensor_dtype(x);
        if (d == WICK_BOOL && (red == WICK_RED_MAX || red == WICK_RED_MIN))
            return wick_as(reduce(op, wick_as(x, WICK_U8), n, axes, keepdims, red, mean), WICK_BOOL);
        if (mean && !wick_dtype_is_float(d))
            return wick_poison(x->ctx, WICK_ERR_DTYPE, "mean: of %s; cast to a float type first",
                               wick_dtype_name((wick_dtype)d));
        /* Sums and products of integers are taken in 64 bits. */
        if ((red == WICK_RED_SUM || red == WICK_RED_PROD) && (wick_dtype_is_integer(d) || d == WICK_BOOL))
            x = wick_as(x, d == WICK_U64 ? WICK_U64 : WICK_I64);
        if (!x->error && !axis_bits(x, n, axes, &attr.axes))
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: the axes must be distinct axes of a %d-d tensor", op->name,
                               wick_tensor_rank(x));
    }
    return wick_record(NULL, op, 1, &x, &attr, sizeof attr);
}

wick_tensor *wick_sum(wick_tensor *x, int n, const int *axes, bool keepdims) {
    return reduce(&wick_op_sum, x, n, axes, keepdims, WICK_RED_SUM, 0);
}
wick_tensor *wick_mean(wick_tensor *x, int n, const int *axes, bool keepdims) {
    return reduce(&wick_op_mean, x, n, axes, keepdims, WICK_RED_SUM, 1);
}
wick_tensor *wick_prod(wick_tensor *x, int n, const int *axes, bool keepdims) {
    return reduce(&wick_op_prod, x, n, axes, keepdims, WICK_RED_PROD, 0);
}
wick_tensor *wick_max(wick_tensor *x, int n, const int *axes, bool keepdims) {
    return reduce(&wick_op_max, x, n, axes, keepdims, WICK_RED_MAX, 0);
}
wick_tensor *wick_min(wick_tensor *x, int n, const int *axes, bool keepdims) {
    return reduce(&wick_op_min, x, n, axes, keepdims, WICK_RED_MIN, 0);
}

wick_tensor *wick_var(wick_tensor *x, int n, const int *axes, double correction, bool keepdims) {
    wick_tensor *d = wick_sub(x, wick_mean(x, n, axes, true));
    wick_tensor *var = wick_mean(wick_square(d), n, axes, keepdims);
    if (!var || var->error || correction == 0) return var;
    double count = (double)wick_tensor_count(x) / (double)WICK_MAX(wick_tensor_count(var), 1);
    return wick_mul(var, wick_like(var, count / (count > correction ? count - correction : 0)));
}

wick_tensor *wick_sum_to(wick_tensor *g, const wick_type *x) {
    if (!g || g->error || wick_same_dims(&g->value->type, x)) return g;
    const wick_type *t = &g->value->type;
    int axes[WICK_MAX_DIMS], n = 0, lead = t->rank - x->rank;
    for (int i = 0; i < t->rank; i++)
        if (i < lead || (x->dims[i - lead] == 1 && t->dims[i] != 1)) axes[n++] = i;
    if (n) g = wick_sum(g, n, axes, true);
    return wick_reshape(g, x->rank, x->dims);
}

/* ---- argmax, argmin ---------------------------------------------------------------------------------------------- */

static wick_status infer_arg(wick_infer *i) {
    const arg_attr *attr = i->attr;
    reduced_type(i->in[0], 1u << attr->axis, attr->keepdims, i->out);
    i->out->dtype = WICK_I64;
    wick_ctype c = wick_ctype_of((wick_dtype)i->in[0]->dtype); /* wick_argmax casts to a type with kernels */
    if (c == WICK_CBOOL || wick_ctype_size(c) != wick_dtype_size((wick_dtype)i->in[0]->dtype))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "not defined for %s; cast",
                               wick_dtype_name((wick_dtype)i->in[0]->dtype));
    if (i->in[0]->dims[attr->axis] == 0)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "axis %d has no elements", (int)attr->axis);
    return WICK_OK;
}

static int64_t run_arg(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_arg *a = args;
    wick_arg_reduce(a->type, a->largest, a->n, a->inner, begin * a->per_task, WICK_MIN(end * a->per_task, a->outer),
                    ptr[0], ptr[1]);
    return -1;
}
static wick_status lower_arg(wick_lower *l, wick_node *node) {
    const arg_attr *attr = node->attr;
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    wick_step_arg a = {
        wick_ctype_of((wick_dtype)in.type->dtype), node->op == &wick_op_argmax, in.type->dims[attr->axis], 1, 1, 1};
    for (int i = 0; i < in.type->rank; i++)
        *(i < attr->axis ? &a.outer : i > attr->axis ? &a.inner : &a.n) *= i == attr->axis ? 1 : in.type->dims[i];
    a.per_task = WICK_MAX(1, 32768 / WICK_MAX(a.n * a.inner, 1));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_ref refs[2] = {wick_lower_ref(&in, false), wick_lower_ref(&out, true)};
    wick_step step = {.name = node->op->name,
                      .kind = WICK_STEP_ARG,
                      .run = run_arg,
                      .tasks = (a.outer + a.per_task - 1) / a.per_task,
                      .flops = (double)wick_type_count(in.type),
                      .bytes = (double)(wick_type_bytes(in.type) + wick_type_bytes(out.type))};
    if (wick_type_count(out.type) == 0) step.tasks = 0;
    return wick_lower_step(l, &step, &a, sizeof a, refs, 2);
}
static void sample_arg(wick_sample *s) {
    s->n_in = 1;
    s->in[0].dtype = s->random() % 2 ? WICK_F32 : WICK_I64;
    wick_sample_dims(s, &s->in[0], 1, 4);
    arg_attr attr = {wick_sample_int(s, 0, s->in[0].rank - 1), (int64_t)(s->random() & 1)};
    s->in[0].dims[attr.axis] += s->in[0].dims[attr.axis] == 0;
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->lo[0] = -5, s->hi[0] = 5;
}
static void print_arg(wick_str *s, const wick_node *node) {
    wick_str_add(s, "axis=%d", (int)((const arg_attr *)node->attr)->axis);
}
const wick_op wick_op_argmax = {.name = "argmax",
                                .doc = "index of the largest along an axis; the first of equals; NaN counts as largest",
                                .onnx = "ArgMax",
                                .torch = "argmax",
                                .cost = "m",
                                .min_in = 1,
                                .max_in = 1,
                                .n_out = 1,
                                .infer = infer_arg,
                                .flops = wick_flops_per_input,
                                .lower = lower_arg,
                                .print = print_arg,
                                .sample = sample_arg};
const wick_op wick_op_argmin = {.name = "argmin",
                                .doc =
                                    "index of the smallest along an axis; the first of equals; NaN counts as smallest",
                                .onnx = "ArgMin",
                                .torch = "argmin",
                                .cost = "m",
                                .min_in = 1,
                                .max_in = 1,
                                .n_out = 1,
                                .infer = infer_arg,
                                .flops = wick_flops_per_input,
                                .lower = lower_arg,
                                .print = print_arg,
                                .sample = sample_arg};

static wick_tensor *arg(const wick_op *op, wick_tensor *x, int axis, bool keepdims) {
    arg_attr attr = {0, keepdims};
    if (x && !x->error) {
        attr.axis = wick_axis(axis, wick_tensor_rank(x));
        if (attr.axis < 0)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: axis %d of a %d-d tensor", op->name, axis,
                               wick_tensor_rank(x));
        static const uint8_t computes[WICK_DTYPE_COUNT] = {
            [WICK_F16] = WICK_F32 + 1, [WICK_BF16] = WICK_F32 + 1, [WICK_I8] = WICK_I32 + 1,
            [WICK_I16] = WICK_I32 + 1, [WICK_U8] = WICK_I32 + 1,   [WICK_U16] = WICK_I32 + 1,
            [WICK_U32] = WICK_U64 + 1, [WICK_BOOL] = WICK_I32 + 1};
        wick_dtype d = wick_tensor_dtype(x);
        if (computes[d]) x = wick_as(x, (wick_dtype)(computes[d] - 1));
    }
    return wick_record(NULL, op, 1, &x, &attr, sizeof attr);
}
wick_tensor *wick_argmax(wick_tensor *x, int axis, bool keepdims) { return arg(&wick_op_argmax, x, axis, keepdims); }
wick_tensor *wick_argmin(wick_tensor *x, int axis, bool keepdims) { return arg(&wick_op_argmin, x, axis, keepdims); }
