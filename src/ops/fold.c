/* fold.c: windows sliding over an axis, as a view; their sum back into the axis, its gradient; and im2col and col2im
 * made of the two. Values put to places of a plane, and max unpooling. */
#include "ops/ops.h"
#include "wick/image.h"

/* ---- sliding_window: [.., extent, ..] -> [.., count, .., size] --------------------------------------------------- */

static void window_type(const window_attr *a, const wick_type *x, wick_type *y) {
    *y = *x;
    y->dims[a->axis] = a->count;
    y->dims[y->rank++] = a->size;
}
static wick_status infer_window(wick_infer *i) {
    const window_attr *a = i->attr;
    const wick_type *x = i->in[0];
    if (a->axis >= x->rank || x->dims[a->axis] != a->extent)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the windows are over %lld elements of axis %d", (long long)a->extent,
                               (int)a->axis);
    if (x->rank == WICK_MAX_DIMS) return wick_infer_fail(i, WICK_ERR_SHAPE, "the result has too many dims");
    window_type(a, x, i->out);
    wick_type checked;
    if (!wick_type_make(&checked, (wick_dtype)x->dtype, i->out->rank, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}
static bool view_window(const wick_node *node, const wick_layout *in, wick_layout *out) {
    const window_attr *a = node->attr;
    *out = *in;
    out->strides[a->axis] = in->strides[a->axis] * a->step;
    out->strides[node->in[0]->type.rank] = in->strides[a->axis] * a->dilation;
    return true;
}
static void grad_window(wick_gradient *g) {
    /* half types add up in f32 */
    wick_tensor *gy = wick_tensor_dtype(g->gout[0]) == WICK_F64 ? g->gout[0] : wick_as(g->gout[0], WICK_F32);
    g->gin[0] = wick_record(NULL, &wick_op_window_sum, 1, &gy, g->node->attr, g->node->attr_size);
}
static void print_window(wick_str *s, const wick_node *node) {
    const window_attr *a = node->attr;
    wick_str_add(s, "axis=%d size=%lld step=%lld", (int)a->axis, (long long)a->size, (long long)a->step);
    if (a->dilation != 1) wick_str_add(s, " dilation=%lld", (long long)a->dilation);
}
static window_attr sample_attr(wick_sample *s, wick_type *x, wick_type *y) {
    window_attr a = {.axis = wick_sample_int(s, 0, 2),
                     .extent = wick_sample_int(s, 3, 9),
                     .size = wick_sample_int(s, 1, 2),
                     .step = wick_sample_int(s, 1, 3)};
    a.dilation = wick_sample_int(s, 1, 2);
    a.count = (a.extent - a.dilation * (a.size - 1) - 1) / a.step + 1;
    *x = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32,
                     .rank = 3,
                     .dims = {wick_sample_int(s, 1, 3), wick_sample_int(s, 0, 3), wick_sample_int(s, 1, 4)}};
    x->dims[a.axis] = a.extent;
    window_type(&a, x, y);
    s->n_in = 1;
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = x->dtype == WICK_F64;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    return a;
}
static void sample_window(wick_sample *s) {
    wick_type y;
    sample_attr(s, &s->in[0], &y);
}
const wick_op wick_op_sliding_window = {.name = "sliding_window",
                                        .doc = "windows over an axis, as a last axis",
                                        .torch = "Tensor.unfold",
                                        .min_in = 1,
                                        .max_in = 1,
                                        .n_out = 1,
                                        .flags = WICK_OP_VIEW | WICK_OP_MOVES,
                                        .infer = infer_window,
                                        .grad = grad_window,
                                        .flops = wick_no_flops,
                                        .view = view_window,
                                        .print = print_window,
                                        .sample = sample_window};

/* ---- window_sum: the other way round ----------------------------------------------------------------------------- */

static wick_status infer_sum(wick_infer *i) {
    const window_attr *a = i->attr;
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64; cast");
    if (x->rank < 2 || a->axis >= x->rank - 1 || x->dims[a->axis] != a->count || x->dims[x->rank - 1] != a->size)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs %lld windows of %lld along axis %d", (long long)a->count,
                               (long long)a->size, (int)a->axis);
    *i->out = *x;
    i->out->dims[--i->out->rank] = 0;
    i->out->dims[a->axis] = a->extent;
    return WICK_OK;
}
typedef struct sum_args {
    wick_window_sum w;
    int64_t outer, per_task;
} sum_args;
static int64_t run_sum(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const sum_args *a = args;
    wick_window_sum_run(&a->w, begin * a->per_task, WICK_MIN(end * a->per_task, a->outer), ptr[0], ptr[1]);
    return -1;
}
static wick_status lower_sum(wick_lower *l, wick_node *node) {
    enum { TASK = 16384 };
    const window_attr *attr = node->attr;
    wick_operand x, y;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &x));
    WICK_TRY(wick_lower_out(l, node, 0, &y));
    sum_args a;
    memset(&a, 0, sizeof a);
    a.w = (wick_window_sum){
        wick_ctype_of((wick_dtype)x.type->dtype), attr->extent, attr->count, 1, attr->size, attr->step, attr->dilation};
    a.outer = 1;
    for (int d = 0; d < y.type->rank; d++)
        *(d < attr->axis ? &a.outer : &a.w.inner) *= d == attr->axis ? 1 : y.type->dims[d];
    a.per_task = 1 + TASK / WICK_MAX(attr->count * attr->size * a.w.inner, 1);
    wick_step step = {.name = "window_sum",
                      .run = run_sum,
                      .tasks = (a.outer + a.per_task - 1) / a.per_task,
                      .flops = wick_flops_per_input(node),
                      .bytes = (double)wick_type_bytes(x.type) + (double)wick_type_bytes(y.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&x, false), wick_lower_ref(&y, true)},
                           2);
}
static void grad_sum(wick_gradient *g) {
    g->gin[0] = wick_record(NULL, &wick_op_sliding_window, 1, &g->gout[0], g->node->attr, g->node->attr_size);
}
static void sample_sum(wick_sample *s) {
    wick_type x;
    sample_attr(s, &x, &s->in[0]);
}
const wick_op wick_op_window_sum = {.name = "window_sum",
                                    .doc = "windows over an axis added up where they came from",
                                    .cost = "m",
                                    .min_in = 1,
                                    .max_in = 1,
                                    .n_out = 1,
                                    .infer = infer_sum,
                                    .grad = grad_sum,
                                    .flops = wick_flops_per_input,
                                    .lower = lower_sum,
                                    .print = print_window,
                                    .sample = sample_sum};

/* ---- values and places of planes --------------------------------------------------------------------------------- */

static bool is_put(const wick_op *op) { return op == &wick_op_plane_put; }
/* (values, index) -> planes; (planes, index) -> values. index has the values' shape. */
static wick_status infer_plane(wick_infer *i) {
    const plane_attr *a = i->attr;
    wick_type plane = *i->in[1];
    if (i->in[1]->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the places must be i64");
    if (plane.rank <= a->rank)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs axes before the %d of a plane", (int)a->rank);
    for (int d = 0; d < a->rank; d++) plane.dims[plane.rank - (int)a->rank + d] = a->extent[d];
    if (!wick_same_dims(i->in[0], is_put(i->op) ? i->in[1] : &plane))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "values and places have different shapes");
    *i->out = is_put(i->op) ? plane : *i->in[1];
    i->out->dtype = i->in[0]->dtype;
    wick_type checked;
    if (!wick_type_make(&checked, (wick_dtype)i->out->dtype, i->out->rank, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}
typedef struct plane_args {
    size_t elem;
    int64_t planes, per_task, n, extent;
} plane_args;
static int64_t run_put(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const plane_args *a = args;
    return wick_plane_put(a->elem, begin * a->per_task, WICK_MIN(end * a->per_task, a->planes), a->n, a->extent, ptr[0],
                          ptr[1], ptr[2]);
}
static int64_t run_take(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const plane_args *a = args;
    return wick_plane_take(a->elem, begin * a->per_task, WICK_MIN(end * a->per_task, a->planes), a->n, a->extent,
                           ptr[0], ptr[1], ptr[2], scratch);
}
static int64_t bad_place(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    *extent = ((const plane_args *)args)->extent;
    return ((const int64_t *)ptr[1])[at];
}
static wick_status lower_plane(wick_lower *l, wick_node *node) {
    const plane_attr *attr = node->attr;
    wick_operand at[3];
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    WICK_TRY(wick_lower_out(l, node, 0, &at[2]));
    plane_args a = {.elem = wick_dtype_size((wick_dtype)at[0].type->dtype), .planes = 1, .n = 1, .extent = 1};
    for (int d = 0; d < at[1].type->rank; d++)
        *(d < at[1].type->rank - attr->rank ? &a.planes : &a.n) *= at[1].type->dims[d];
    for (int d = 0; d < attr->rank; d++) a.extent *= attr->extent[d];
    a.per_task = 1 + 16384 / WICK_MAX(a.n + a.extent, 1);
    wick_step step = {.name = node->op->name,
                      .run = is_put(node->op) ? run_put : run_take,
                      .tasks = (a.planes + a.per_task - 1) / a.per_task,
                      .scratch = is_put(node->op) ? 0 : (size_t)a.extent * sizeof(int64_t),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "place number %lld is outside its plane: %lld of %lld",
                      .fault_at = bad_place,
                      .bytes = (double)wick_type_bytes(at[0].type) + (double)wick_type_bytes(at[1].type) +
                               (double)wick_type_bytes(at[2].type)};
    return wick_lower_step(
        l, &step, &a, sizeof a,
        (wick_ref[]){wick_lower_ref(&at[0], false), wick_lower_ref(&at[1], false), wick_lower_ref(&at[2], true)}, 3);
}
static void grad_plane(wick_gradient *g) {
    const wick_op *other = is_put(g->node->op) ? &wick_op_plane_take : &wick_op_plane_put;
    if (g->need[0])
        g->gin[0] =
            wick_record(NULL, other, 2, (wick_tensor *[]){g->gout[0], g->in[1]}, g->node->attr, g->node->attr_size);
}
static void print_plane(wick_str *s, const wick_node *node) {
    const plane_attr *a = node->attr;
    for (int d = 0; d < a->rank; d++) wick_str_add(s, "%s%lld", d ? "," : "plane=", (long long)a->extent[d]);
}
static void sample_plane(wick_sample *s, bool put) {
    plane_attr a;
    memset(&a, 0, sizeof a);
    a.rank = 2;
    a.extent[0] = wick_sample_int(s, 1, 4), a.extent[1] = wick_sample_int(s, 2, 4);
    s->n_in = 2;
    s->in[1] = (wick_type){.dtype = WICK_I64,
                           .rank = 4,
                           .dims = {wick_sample_int(s, 0, 3), wick_sample_int(s, 1, 3), wick_sample_int(s, 1, 3),
                                    wick_sample_int(s, 1, 2)}};
    s->in[0] = s->in[1];
    s->in[0].dtype = s->random() % 3 ? WICK_F64 : WICK_F16;
    if (!put) s->in[0].dims[2] = a.extent[0], s->in[0].dims[3] = a.extent[1];
    s->lo[0] = -2, s->hi[0] = 2;
    s->lo[1] = 0, s->hi[1] = (double)(a.extent[0] * a.extent[1] - 1);
    s->differentiable = s->in[0].dtype == WICK_F64;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
}
static void sample_put(wick_sample *s) { sample_plane(s, true); }
static void sample_take(wick_sample *s) { sample_plane(s, false); }
const wick_op wick_op_plane_put = {.name = "plane_put",
                                   .doc = "values at places of planes of zeros; the last of those with one place",
                                   .onnx = "MaxUnpool",
                                   .torch = "nn.functional.max_unpool2d",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .n_out = 1,
                                   .flags = WICK_OP_FAULTS,
                                   .infer = infer_plane,
                                   .grad = grad_plane,
                                   .flops = wick_no_flops,
                                   .lower = lower_plane,
                                   .print = print_plane,
                                   .sample = sample_put};
const wick_op wick_op_plane_take = {.name = "plane_take",
                                    .doc = "gradient of plane_put: what is at the place of each value that is there",
                                    .min_in = 2,
                                    .max_in = 2,
                                    .n_out = 1,
                                    .flags = WICK_OP_FAULTS,
                                    .infer = infer_plane,
                                    .grad = grad_plane,
                                    .flops = wick_no_flops,
                                    .lower = lower_plane,
                                    .print = print_plane,
                                    .sample = sample_take};

wick_tensor *wick_max_unpool(wick_tensor *x, wick_tensor *indices, const int64_t *size) {
    plane_attr a;
    memset(&a, 0, sizeof a);
    if (x && !x->error) {
        a.rank = wick_tensor_rank(x) - 2;
        if (a.rank < 1 || a.rank > 3 || !size)
            return wick_poison(x->ctx, WICK_ERR_SHAPE,
                               "max_unpool: needs [N, C, 1 to 3 dims], not %d dims, and a size for each",
                               (int)a.rank + 2);
        for (int d = 0; d < a.rank; d++) {
            a.extent[d] = size[d];
            if (size[d] < 1 || size[d] > INT32_MAX)
                return wick_poison(x->ctx, WICK_ERR_SHAPE, "max_unpool: a size of %lld", (long long)size[d]);
        }
    }
    if (indices && !indices->error && wick_dtype_is_integer(wick_tensor_dtype(indices)))
        indices = wick_as(indices, WICK_I64);
    return wick_record(NULL, &wick_op_plane_put, 2, (wick_tensor *[]){x, indices}, &a, sizeof a);
}

/* ---- public: windows --------------------------------------------------------------------------------------------- */

wick_tensor *wick_sliding_window(wick_tensor *x, int axis, int64_t size, int64_t step, int64_t dilation) {
    if (!x || x->error) return x;
    const int rank = wick_tensor_rank(x), at = wick_axis(axis, rank);
    if (at < 0) return wick_poison(x->ctx, WICK_ERR_SHAPE, "sliding_window: axis %d of a %d-d tensor", axis, rank);
    const int64_t extent = wick_tensor_dim(x, at);
    if (size < 1 || step < 1 || dilation < 1 || size > INT32_MAX || dilation > INT32_MAX)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "sliding_window: size %lld, step %lld, dilation %lld",
                           (long long)size, (long long)step, (long long)dilation);
    const int64_t room = extent - dilation * (size - 1) - 1;
    if (room < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE,
                           "sliding_window: a window of %lld with dilation %lld does not fit into %lld",
                           (long long)size, (long long)dilation, (long long)extent);
    window_attr a = {at, extent, room / step + 1, size, step, dilation};
    return wick_record(NULL, &wick_op_sliding_window, 1, &x, &a, sizeof a);
}

/* The options with their defaults, and how many windows there are in each dim; NULL, or what to return. */
static wick_tensor *windows_of(const char *op, wick_context *ctx, int rank, const int64_t *dims,
                               const wick_unfold_options *o, wick_unfold_options *full, int64_t *count) {
    if (!o) return wick_poison(ctx, WICK_ERR_INVALID, "%s: options are NULL: there is no kernel without them", op);
    *full = *o;
    for (int d = 0; d < 3; d++) {
        int64_t *stride = &full->stride[d], *dilation = &full->dilation[d];
        if (d >= rank && (o->kernel[d] || *stride || *dilation || o->pad[d]))
            return wick_poison(ctx, WICK_ERR_INVALID, "%s: options for %d dims, but there are %d", op, d + 1, rank);
        if (d >= rank) continue;
        if (!*stride) *stride = 1;
        if (!*dilation) *dilation = 1;
        if (o->kernel[d] < 1 || *stride < 1 || *dilation < 1 || o->pad[d] < 0 || o->kernel[d] > INT32_MAX ||
            *dilation > INT32_MAX || o->pad[d] > INT32_MAX)
            return wick_poison(ctx, WICK_ERR_INVALID, "%s: kernel %lld, stride %lld, dilation %lld, pad %lld", op,
                               (long long)o->kernel[d], (long long)*stride, (long long)*dilation, (long long)o->pad[d]);
        const int64_t room = dims[d] + 2 * o->pad[d] - *dilation * (o->kernel[d] - 1) - 1;
        if (dims[d] < 1 || dims[d] > INT32_MAX || room < 0)
            return wick_poison(ctx, WICK_ERR_SHAPE,
                               "%s: a kernel of %lld with dilation %lld does not fit into %lld padded by %lld", op,
                               (long long)o->kernel[d], (long long)*dilation, (long long)dims[d], (long long)o->pad[d]);
        count[d] = room / *stride + 1;
    }
    return NULL;
}

wick_tensor *wick_unfold(wick_tensor *x, const wick_unfold_options *options) {
    if (!x || x->error) return x;
    const int rank = wick_tensor_rank(x) - 2;
    wick_unfold_options o;
    int64_t count[3], before[5] = {0}, dims[3], places = 1;
    if (rank < 1 || rank > 3)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "unfold: needs [N, C, 1 to 3 dims], not %d dims", rank + 2);
    dims[0] = wick_tensor_dim(x, 0), dims[1] = wick_tensor_dim(x, 1);
    wick_tensor *refused = windows_of("unfold", x->ctx, rank, wick_tensor_dims(x) + 2, options, &o, count);
    if (refused) return refused;
    int axes[8] = {0, 1};
    for (int d = 0; d < rank; d++) before[2 + d] = o.pad[d];
    x = wick_pad(x, rank + 2, before, NULL, 0);
    for (int d = 0; d < rank; d++) { /* [N, C, counts, kernels] */
        x = wick_sliding_window(x, 2 + d, o.kernel[d], o.stride[d], o.dilation[d]);
        axes[2 + d] = 2 + rank + d;
        axes[2 + rank + d] = 2 + d;
        dims[1] *= o.kernel[d];
        places *= count[d];
    }
    dims[2] = places;
    return wick_reshape(wick_permute(x, 2 + 2 * rank, axes), 3, dims);
}

wick_tensor *wick_fold(wick_tensor *x, int rank, const int64_t *size, const wick_unfold_options *options) {
    if (!x || x->error) return x;
    wick_context *ctx = x->ctx;
    wick_unfold_options o;
    int64_t count[3], dims[8], window = 1, places = 1;
    if (rank < 1 || rank > 3 || !size)
        return wick_poison(ctx, WICK_ERR_SHAPE, "fold: to %d dims; 1 to 3, and a size for each", rank);
    wick_tensor *refused = windows_of("fold", ctx, rank, size, options, &o, count);
    if (refused) return refused;
    for (int d = 0; d < rank; d++) window *= o.kernel[d], places *= count[d];
    if (wick_tensor_rank(x) != 3 || wick_tensor_dim(x, 1) % window || wick_tensor_dim(x, 2) != places)
        return wick_poison(ctx, WICK_ERR_SHAPE, "fold: x must be [N, C times %lld, %lld]", (long long)window,
                           (long long)places);
    const wick_dtype dtype = wick_tensor_dtype(x);
    if (!wick_dtype_is_float(dtype))
        return wick_poison(ctx, WICK_ERR_DTYPE, "fold: x is %s; it needs floats: cast", wick_dtype_name(dtype));
    dims[0] = wick_tensor_dim(x, 0), dims[1] = wick_tensor_dim(x, 1) / window;
    for (int d = 0; d < rank; d++) dims[2 + d] = o.kernel[d], dims[2 + rank + d] = count[d];
    wick_tensor *y = wick_reshape(dtype == WICK_F64 ? x : wick_as(x, WICK_F32), 2 + 2 * rank, dims);
    /* [N, C, kernel .., count .., folded ..]: the innermost that is left is moved to the end and added up */
    for (int d = rank - 1; d >= 0; d--) {
        const int from = 2 + d, n = wick_tensor_rank(y);
        int axes[8], k = 0;
        for (int i = 0; i < n; i++)
            if (i != from) axes[k++] = i;
        axes[k] = from;
        const int at = 2 + d + d; /* of its counts, now that one axis before is gone */
        window_attr a = {at, size[d] + 2 * o.pad[d], count[d], o.kernel[d], o.stride[d], o.dilation[d]};
        y = wick_permute(y, n, axes);
        y = wick_record(NULL, &wick_op_window_sum, 1, &y, &a, sizeof a);
        if (y->error) return y;
    }
    int64_t before[5] = {0};
    for (int d = 0; d < rank; d++) before[2 + d] = -o.pad[d];
    return wick_as(wick_pad(y, rank + 2, before, NULL, 0), dtype);
}
