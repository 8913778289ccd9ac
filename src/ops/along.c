/* along.c: take_along_axis and put_along_axis: an index of the shape of the result (of what is written); ravel_index;
 * iota. */
#include "kernels/index/along.h"
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/index.h"
#include "wick/ops.h"

static void print_along(wick_str *s, const wick_node *node) {
    static const char *const hows[] = {"set", "add", "mul", "max", "min"};
    const along_attr *attr = node->attr;
    wick_str_add(s, "axis=%d", (int)attr->axis);
    if (node->n_in == 3) wick_str_add(s, " how=%s", hows[attr->how]);
}

/* Index against data: the same rank, and no dim but the axis longer than the data's. */
static wick_status check_index(wick_infer *i, int64_t axis) {
    const wick_type *x = i->in[0], *index = i->in[1];
    if (index->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the index must be of integers");
    if (x->rank == 0 || index->rank != x->rank)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the index must have as many dims, at least one");
    for (int d = 0; d < x->rank; d++)
        if (d != axis && index->dims[d] > x->dims[d])
            return wick_infer_fail(i, WICK_ERR_SHAPE,
                                   "the index has more places than the data in axis %d, which is not the one indexed",
                                   d);
    return WICK_OK;
}

static int64_t run_along(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    return wick_along_run(args, begin, end, ptr[0], ptr[1], ptr[2]);
}
static int64_t bad_along(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    *extent = ((const wick_along *)args)->n;
    return wick_along_index(args, ptr[1], at);
}
wick_status wick_lower_along(wick_lower *l, wick_along *a, const char *name, double flops, const wick_operand *data,
                             const wick_operand *index, const wick_operand *other) {
    a->elem = wick_dtype_size((wick_dtype)data->type->dtype);
    a->type = wick_ctype_of((wick_dtype)data->type->dtype);
    wick_along_prepare(a);
    wick_step step = {.name = name,
                      .kind = WICK_STEP_ALONG,
                      .run = run_along,
                      .tasks = a->tasks,
                      .flops = flops,
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "index number %lld is %lld, outside the axis of %lld",
                      .fault_at = bad_along,
                      .bytes = (a->reads ? 2.0 : 3.0) * (double)wick_type_bytes(other->type) +
                               (double)wick_type_bytes(index->type)};
    return wick_lower_step(
        l, &step, a, sizeof *a,
        (wick_ref[]){wick_lower_ref(data, !a->reads), wick_lower_ref(index, false), wick_lower_ref(other, a->reads)},
        3);
}
/* Of an index of as many dims as data and other have. */
static wick_status along_step(wick_lower *l, wick_along *a, const char *name, double flops, const wick_operand *data,
                              const wick_operand *index, const wick_operand *other) {
    for (int d = 0; d < a->rank; d++)
        a->dim[d] = (wick_along_dim){.n = index->type->dims[d],
                                     .data = data->layout.strides[d],
                                     .index = index->layout.strides[d],
                                     .other = other->layout.strides[d]};
    a->n = data->type->dims[a->axis];
    return wick_lower_along(l, a, name, flops, data, index, other);
}

/* ---- take_along_axis --------------------------------------------------------------------------------------------- */

static wick_status infer_take(wick_infer *i) {
    const along_attr *attr = i->attr;
    WICK_TRY(check_index(i, attr->axis));
    *i->out = *i->in[1];
    i->out->dtype = i->in[0]->dtype;
    return WICK_OK;
}
static wick_status lower_take(wick_lower *l, wick_node *node) {
    wick_operand x = wick_lower_in(l, node, 0), index = wick_lower_in(l, node, 1), out;
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_along a = {.rank = out.type->rank, .axis = (int)((const along_attr *)node->attr)->axis, .reads = true};
    return along_step(l, &a, "take_along_axis", 0, &x, &index, &out);
}
static wick_tensor *zeros_of(wick_tensor *like, const wick_type *t) {
    return wick_expand(wick_like(like, 0), t->rank, t->dims);
}
static void grad_take(wick_gradient *g) {
    const wick_type *t = &g->node->in[0]->type;
    /* half types add up in f32; autodiff casts back */
    wick_tensor *gy = t->dtype == WICK_F64 ? g->gout[0] : wick_as(g->gout[0], WICK_F32);
    g->gin[0] = wick_put_along_axis(zeros_of(gy, t), (int)((const along_attr *)g->node->attr)->axis, g->in[1], gy,
                                    WICK_PUT_ADD);
}
static void sample_take(wick_sample *s) {
    s->n_in = 2;
    const int axis = wick_sample_int(s, 0, 2);
    s->in[0] = (wick_type){
        .dtype = s->random() % 3 ? WICK_F64 : WICK_I32, .rank = 3, .dims = {2, 3, wick_sample_int(s, 0, 3)}};
    s->in[0].dims[axis] = 4;
    s->in[1] = s->in[0];
    s->in[1].dtype = WICK_I64;
    s->in[1].dims[axis] = wick_sample_int(s, 0, 9);
    if (axis != 1 && s->random() % 3 == 0) s->in[1].dims[1] = 2; /* the first ones only */
    s->lo[0] = -2, s->hi[0] = 2;
    s->lo[1] = -4, s->hi[1] = 3;
    along_attr attr = {axis, 0};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = s->in[0].dtype == WICK_F64;
}
const wick_op wick_op_take_along_axis = {.name = "take_along_axis",
                                         .doc = "elements that an index of the result's shape names along an axis",
                                         .onnx = "GatherElements",
                                         .torch = "gather",
                                         .cost = "0",
                                         .min_in = 2,
                                         .max_in = 2,
                                         .n_out = 1,
                                         .flags = WICK_OP_FAULTS | WICK_OP_MOVES,
                                         .infer = infer_take,
                                         .grad = grad_take,
                                         .flops = wick_no_flops,
                                         .lower = lower_take,
                                         .print = print_along,
                                         .sample = sample_take};

static int64_t axis_of(wick_tensor *x, int axis) { return x && !x->error ? wick_axis(axis, wick_tensor_rank(x)) : 0; }

wick_tensor *wick_take_along_axis(wick_tensor *x, int axis, wick_tensor *index) {
    along_attr attr = {axis_of(x, axis), 0};
    if (attr.axis < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "take_along_axis: axis %d of a %d-d tensor", axis,
                           wick_tensor_rank(x));
    return wick_record(NULL, &wick_op_take_along_axis, 2, (wick_tensor *[]){x, wick_as_index(index)}, &attr,
                       sizeof attr);
}

/* ---- put_along_axis ---------------------------------------------------------------------------------------------- */

static bool computes(int dtype) { /* arithmetic without conversions */
    const wick_ctype c = wick_ctype_of((wick_dtype)dtype);
    return c != WICK_CBOOL && wick_ctype_size(c) == wick_dtype_size((wick_dtype)dtype);
}
static wick_status infer_put(wick_infer *i) {
    const along_attr *attr = i->attr;
    WICK_TRY(check_index(i, attr->axis));
    if (i->in[2]->dtype != i->in[0]->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "base and src have different dtypes");
    if (attr->how != WICK_PUT_SET && !computes(i->in[0]->dtype))
        return wick_infer_fail(i, WICK_ERR_DTYPE, "not defined for %s; cast",
                               wick_dtype_name((wick_dtype)i->in[0]->dtype));
    if (!wick_same_dims(i->in[1], i->in[2]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "src must have the shape of the index");
    *i->out = *i->in[0];
    return WICK_OK;
}
static double flops_put(const wick_node *node) {
    return ((const along_attr *)node->attr)->how == WICK_PUT_SET ? 0 : (double)wick_type_count(&node->in[2]->type);
}
static wick_status lower_put(wick_lower *l, wick_node *node) {
    const along_attr *attr = node->attr;
    wick_operand base = wick_lower_in(l, node, 0), index = wick_lower_in(l, node, 1), src = wick_lower_in(l, node, 2),
                 out;
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    WICK_TRY(wick_lower_copy(l, &base, &out));
    wick_along a = {.rank = out.type->rank, .axis = (int)attr->axis, .how = (uint8_t)attr->how};
    return along_step(l, &a, "put_along_axis", flops_put(node), &out, &index, &src);
}

/* Ties of max and min share, as PyTorch's scatter_reduce; where the last of several was kept, that one has the
 * gradient. */
static void grad_put(wick_gradient *g) {
    const along_attr *attr = g->node->attr;
    const int axis = (int)attr->axis;
    wick_tensor *base = g->in[0], *index = g->in[1], *src = g->in[2], *y = g->out[0], *gy = g->gout[0];
    wick_tensor *zero = wick_like(base, 0), *one = wick_like(base, 1);
    const wick_type *whole = &g->node->in[0]->type, *part = &g->node->in[2]->type;
    const wick_dtype d = (wick_dtype)whole->dtype;
    switch (attr->how) {
    case WICK_PUT_SET:
        if (g->need[0]) g->gin[0] = wick_put_along_axis(gy, axis, index, zeros_of(gy, part), WICK_PUT_SET);
        if (g->need[2]) {
            wick_tensor *at =
                wick_reshape(wick_positions(base->ctx, WICK_I64, wick_type_count(part)), part->rank, part->dims);
            wick_tensor *last = wick_put_along_axis(zeros_of(at, whole), axis, index, at, WICK_PUT_SET);
            g->gin[2] = wick_where(wick_eq(wick_take_along_axis(last, axis, index), at),
                                   wick_take_along_axis(gy, axis, index), zero);
        }
        break;
    case WICK_PUT_ADD:
        g->gin[0] = gy;
        if (g->need[2]) g->gin[2] = wick_take_along_axis(gy, axis, index);
        break;
    case WICK_PUT_MUL: { /* the product of the others: by division, but where a factor is 0 from the product without it
                          */
        wick_tensor *base0 = wick_eq(base, zero), *src0 = wick_eq(src, zero);
        if (g->need[0])
            g->gin[0] = wick_mul(
                gy, wick_put_along_axis(wick_expand(one, whole->rank, whole->dims), axis, index, src, WICK_PUT_MUL));
        if (g->need[2]) {
            wick_tensor *zeros =
                wick_put_along_axis(wick_cast(base0, d), axis, index, wick_cast(src0, d), WICK_PUT_ADD);
            wick_tensor *rest = wick_put_along_axis(wick_where(base0, one, base), axis, index,
                                                    wick_where(src0, one, src), WICK_PUT_MUL);
            wick_tensor *without = wick_div(wick_take_along_axis(rest, axis, index), wick_where(src0, one, src));
            wick_tensor *others0 = wick_sub(wick_take_along_axis(zeros, axis, index), wick_cast(src0, d));
            g->gin[2] =
                wick_mul(wick_take_along_axis(gy, axis, index), wick_where(wick_eq(others0, zero), without, zero));
        }
        break;
    }
    default: {
        wick_tensor *base_hit = wick_cast(wick_eq(base, y), d),
                    *src_hit = wick_cast(wick_eq(src, wick_take_along_axis(y, axis, index)), d);
        wick_tensor *share = wick_div(gy, wick_put_along_axis(base_hit, axis, index, src_hit, WICK_PUT_ADD));
        if (g->need[0]) g->gin[0] = wick_mul(base_hit, share);
        if (g->need[2]) g->gin[2] = wick_mul(src_hit, wick_take_along_axis(share, axis, index));
    }
    }
}
static void sample_put(wick_sample *s) {
    sample_take(s);
    s->n_in = 3;
    s->in[2] = s->in[1];
    s->in[2].dtype = s->in[0].dtype;
    s->lo[2] = -2, s->hi[2] = 2;
    along_attr attr;
    memcpy(&attr, s->attr, sizeof attr);
    attr.how = wick_sample_int(s, WICK_PUT_SET, WICK_PUT_MIN);
    memcpy(s->attr, &attr, sizeof attr);
}
const wick_op wick_op_put_along_axis = {
    .name = "put_along_axis",
    .doc = "writes, adds, multiplies or takes extremes where an index points along an axis, in its order",
    .onnx = "ScatterElements",
    .torch = "scatter_reduce",
    .cost = "elements of the index",
    .min_in = 3,
    .max_in = 3,
    .n_out = 1,
    .flags = WICK_OP_FAULTS | WICK_OP_MOVES,
    .infer = infer_put,
    .grad = grad_put,
    .flops = flops_put,
    .lower = lower_put,
    .print = print_along,
    .sample = sample_put};

wick_tensor *wick_put_along_axis(wick_tensor *base, int axis, wick_tensor *index, wick_tensor *src, wick_put how) {
    along_attr attr = {axis_of(base, axis), how};
    if (attr.axis < 0)
        return wick_poison(base->ctx, WICK_ERR_SHAPE, "put_along_axis: axis %d of a %d-d tensor", axis,
                           wick_tensor_rank(base));
    if (base && (unsigned)how > WICK_PUT_MEAN)
        return wick_poison(base->ctx, WICK_ERR_INVALID, "put_along_axis: there is no reduction %d", (int)how);
    index = wick_as_index(index);
    const wick_dtype d = base && !base->error ? wick_tensor_dtype(base) : WICK_F32;
    if (how != WICK_PUT_SET && !computes(d) && base && src && !base->error && !src->error &&
        wick_tensor_dtype(src) == d) {
        static const wick_dtype in[WICK_CTYPE_COUNT] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_I32};
        const wick_dtype c = in[wick_ctype_of(d)];
        return wick_as(wick_put_along_axis(wick_as(base, c), axis, index, wick_as(src, c), how), d);
    }
    if (how == WICK_PUT_MEAN) { /* base counts as one of the values; integers round down, as PyTorch's */
        attr.how = WICK_PUT_ADD;
        wick_tensor *sum =
            wick_record(NULL, &wick_op_put_along_axis, 3, (wick_tensor *[]){base, index, src}, &attr, sizeof attr);
        if (!sum || sum->error) return sum;
        wick_tensor *one = wick_like(base, 1);
        wick_tensor *count =
            wick_put_along_axis(wick_expand(one, wick_tensor_rank(base), wick_tensor_dims(base)), axis, index,
                                wick_expand(one, wick_tensor_rank(src), wick_tensor_dims(src)), WICK_PUT_ADD);
        return wick_mean_of(sum, count);
    }
    return wick_record(NULL, &wick_op_put_along_axis, 3, (wick_tensor *[]){base, index, src}, &attr, sizeof attr);
}

/* ---- ravel_index ------------------------------------------------------------------------------------------------- */

static wick_status infer_ravel(wick_infer *i) {
    const ravel_attr *attr = i->attr;
    const wick_type *index = i->in[0];
    if (index->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the index must be of integers");
    if (index->rank == 0 || index->dims[index->rank - 1] != attr->n)
        return wick_infer_fail(i, WICK_ERR_SHAPE,
                               "the last axis of the index must have %d places, one for each axis that is indexed",
                               (int)attr->n);
    *i->out = *index;
    i->out->dims[--i->out->rank] = 0;
    return WICK_OK;
}
enum { RAVEL_TASK = 16384 };
static int64_t run_ravel(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_ravel *a = args;
    return wick_ravel_index(a->n, a->dims, begin * RAVEL_TASK, WICK_MIN(end * RAVEL_TASK, a->count), ptr[0], ptr[1]);
}
static int64_t bad_ravel(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    const wick_step_ravel *a = args;
    *extent = a->dims[at % a->n];
    return ((const int64_t *)ptr[0])[at];
}
static wick_status lower_ravel(wick_lower *l, wick_node *node) {
    const ravel_attr *attr = node->attr;
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_step_ravel a = {.n = (int)attr->n, .count = wick_type_count(out.type)};
    memcpy(a.dims, attr->dims, sizeof a.dims);
    wick_step step = {.name = "ravel_index",
                      .kind = WICK_STEP_RAVEL,
                      .run = run_ravel,
                      .tasks = (a.count + RAVEL_TASK - 1) / RAVEL_TASK,
                      .bytes = (double)(wick_type_bytes(in.type) + wick_type_bytes(out.type)),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "index number %lld is %lld, outside its axis of %lld",
                      .fault_at = bad_ravel};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true)},
                           2);
}
static void print_ravel(wick_str *s, const wick_node *node) {
    const ravel_attr *attr = node->attr;
    for (int k = 0; k < attr->n; k++) wick_str_add(s, "%s%lld", k ? "," : "dims=", (long long)attr->dims[k]);
}
static void sample_ravel(wick_sample *s) {
    s->n_in = 1;
    s->in[0] = (wick_type){.dtype = WICK_I64, .rank = 2, .dims = {wick_sample_int(s, 0, 5), 1}};
    s->lo[0] = -3, s->hi[0] = 2;
    ravel_attr attr = {1, {3}};
    if (s->random() % 2) s->in[0].dims[1] = attr.n = 2, attr.dims[1] = 4;
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
const wick_op wick_op_ravel_index = {.name = "ravel_index",
                                     .doc = "tuples of indices as places in a row-major array",
                                     .cost = "0",
                                     .min_in = 1,
                                     .max_in = 1,
                                     .n_out = 1,
                                     .flags = WICK_OP_FAULTS,
                                     .infer = infer_ravel,
                                     .flops = wick_no_flops,
                                     .lower = lower_ravel,
                                     .print = print_ravel,
                                     .sample = sample_ravel};

wick_tensor *wick_ravel(wick_tensor *index, int n, const int64_t *dims) {
    ravel_attr attr = {.n = n};
    memcpy(attr.dims, dims, (size_t)n * sizeof *dims);
    index = wick_as_index(index);
    return wick_record(NULL, &wick_op_ravel_index, 1, &index, &attr, sizeof attr);
}

/* ---- iota -------------------------------------------------------------------------------------------------------- */

static wick_status infer_iota(wick_infer *i) {
    memcpy(i->out, i->attr, sizeof *i->out);
    return WICK_OK;
}
enum { IOTA_TASK = 65536 };
typedef struct iota_args {
    int64_t count;
    bool wide;
} iota_args;
static int64_t run_iota(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const iota_args *a = args;
    wick_iota(a->wide, begin * IOTA_TASK, WICK_MIN(end * IOTA_TASK, a->count), ptr[0]);
    return -1;
}
static wick_status lower_iota(wick_lower *l, wick_node *node) {
    wick_operand out;
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    iota_args a = {.count = wick_type_count(out.type), .wide = out.type->dtype == WICK_I64};
    wick_step step = {.name = "iota",
                      .run = run_iota,
                      .tasks = (a.count + IOTA_TASK - 1) / IOTA_TASK,
                      .bytes = (double)wick_type_bytes(out.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&out, true)}, 1);
}
static void sample_iota(wick_sample *s) {
    wick_type type;
    const int64_t n = wick_sample_int(s, 0, 9);
    wick_type_make(&type, s->random() % 2 ? WICK_I64 : WICK_I32, 1, &n);
    memcpy(s->attr, &type, s->attr_size = sizeof type);
}
const wick_op wick_op_iota = {.name = "iota",
                              .doc = "0, 1, 2 ...",
                              .torch = "arange",
                              .cost = "0",
                              .n_out = 1,
                              .infer = infer_iota,
                              .flops = wick_no_flops,
                              .lower = lower_iota,
                              .sample = sample_iota};

wick_tensor *wick_positions(wick_context *ctx, wick_dtype dtype, int64_t n) {
    wick_type type;
    if (!wick_type_make(&type, dtype, 1, &n))
        return wick_poison(ctx, WICK_ERR_SHAPE, "iota: there are no %lld positions", (long long)n);
    return wick_record(ctx, &wick_op_iota, 0, NULL, &type, sizeof type);
}
