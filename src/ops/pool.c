/* pool.c: pooling over the last 1 to 3 dims of [N, C, dims]. The gradient of max_pool puts into the largest's place,
 * whose transpose picks from there; avg_pool's is its transpose. Each is another's gradient. */
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/image.h"

static int64_t outputs(const pool_attr *a, int d, int64_t in) {
    if (a->adaptive) return a->extent[d];
    const int64_t room = in + a->pad[d] + a->pad_end[d] - a->dilation[d] * (a->kernel[d] - 1) - 1;
    if (room < 0) return 0;
    int64_t n = (room + (a->ceil ? a->stride[d] - 1 : 0)) / a->stride[d] + 1;
    if (a->ceil && (n - 1) * a->stride[d] >= in + a->pad[d]) n--; /* the last window starts inside or before */
    return n;
}

static wick_status check_input(wick_infer *i, const wick_type *x) {
    const pool_attr *a = i->attr;
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats; cast");
    if (x->rank != a->rank + 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [N, C, %d dims]", (int)a->rank);
    for (int d = 0; d < a->rank; d++) {
        const int64_t in = x->dims[d + 2];
        if (WICK_IS_SYMBOL(in)) return wick_infer_fail(i, WICK_ERR_SHAPE, "only batch and channels may be symbolic");
        if (in < 1 || outputs(a, d, in) < 1)
            return wick_infer_fail(i, WICK_ERR_SHAPE, "a window of %lld does not fit into %lld padded by %lld",
                                   (long long)a->kernel[d], (long long)in, (long long)(a->pad[d] + a->pad_end[d]));
    }
    return WICK_OK;
}
static void pooled(const pool_attr *a, const wick_type *x, wick_type *y) {
    *y = *x;
    for (int d = 0; d < a->rank; d++) y->dims[d + 2] = outputs(a, d, x->dims[d + 2]);
}
static wick_status same(wick_infer *i, const wick_type *have, const wick_type *want) {
    if (have->dtype != want->dtype || !wick_same_dims(have, want))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the shapes do not belong to one pooling");
    return WICK_OK;
}

static wick_status infer_pool(wick_infer *i) { /* max_pool, avg_pool: x -> y */
    WICK_TRY(check_input(i, i->in[0]));
    pooled(i->attr, i->in[0], i->out);
    return WICK_OK;
}
static wick_status infer_index(wick_infer *i) { /* x -> places */
    WICK_TRY(infer_pool(i));
    i->out->dtype = WICK_I64;
    return WICK_OK;
}
static wick_status infer_pick(wick_infer *i) { /* x, v -> y */
    WICK_TRY(check_input(i, i->in[0]));
    WICK_TRY(same(i, i->in[1], i->in[0]));
    pooled(i->attr, i->in[0], i->out);
    return WICK_OK;
}
static wick_status infer_put(wick_infer *i) { /* x, y -> v */
    wick_type y;
    WICK_TRY(check_input(i, i->in[0]));
    pooled(i->attr, i->in[0], &y);
    WICK_TRY(same(i, i->in[1], &y));
    *i->out = *i->in[0];
    return WICK_OK;
}
/* Extents of x: in a plain pooling they are in the attributes; in an adaptive one those hold the outputs, and pad has
 * them. */
static const int64_t *input_extents(const pool_attr *a) { return a->adaptive ? a->pad : a->extent; }
static wick_status infer_share(wick_infer *i) { /* y -> v */
    const pool_attr *a = i->attr;
    wick_type y;
    *i->out = *i->in[0];
    if (i->in[0]->rank != a->rank + 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [N, C, %d dims]", (int)a->rank);
    for (int d = 0; d < a->rank; d++) i->out->dims[d + 2] = input_extents(a)[d];
    WICK_TRY(check_input(i, i->out));
    pooled(a, i->out, &y);
    return same(i, i->in[0], &y);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static wick_tensor *with(const wick_gradient *g, const wick_op *op, wick_tensor *a, wick_tensor *b) {
    return wick_record(NULL, op, b ? 2 : 1, (wick_tensor *[]){a, b}, g->node->attr, g->node->attr_size);
}
static void grad_max_pool(wick_gradient *g) { g->gin[0] = with(g, &wick_op_max_pool_put, g->in[0], g->gout[0]); }
static void grad_max_pool_put(wick_gradient *g) { g->gin[1] = with(g, &wick_op_max_pool_pick, g->in[0], g->gout[0]); }
static void grad_max_pool_pick(wick_gradient *g) { g->gin[1] = with(g, &wick_op_max_pool_put, g->in[0], g->gout[0]); }
static void grad_avg_pool(wick_gradient *g) {
    pool_attr a = *(const pool_attr *)g->node->attr;
    int64_t *extents = a.adaptive ? a.pad : a.extent;
    for (int d = 0; d < a.rank; d++) extents[d] = g->node->in[0]->type.dims[d + 2];
    g->gin[0] = wick_record(NULL, &wick_op_avg_pool_share, 1, &g->gout[0], &a, sizeof a);
}
static void grad_avg_pool_share(wick_gradient *g) {
    pool_attr a = *(const pool_attr *)g->node->attr;
    memset(a.adaptive ? a.pad : a.extent, 0, sizeof a.pad);
    g->gin[0] = wick_record(NULL, &wick_op_avg_pool, 1, &g->gout[0], &a, sizeof a);
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

#define POOL_RUN(name, call)                                                                                           \
    static int64_t run_##name(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {         \
        const wick_step_pool *p = args;                                                                                \
        const wick_windows *w = &p->windows;                                                                           \
        begin *= p->per_task;                                                                                          \
        end = WICK_MIN(p->planes, end * p->per_task);                                                                  \
        (void)scratch;                                                                                                 \
        call;                                                                                                          \
        return -1;                                                                                                     \
    }
POOL_RUN(max, wick_windows_max(w, begin, end, ptr[0], ptr[1], scratch))
POOL_RUN(index, wick_windows_index(w, begin, end, ptr[0], ptr[1]))
POOL_RUN(mean, wick_windows_mean(w, begin, end, ptr[0], ptr[1], scratch))
POOL_RUN(pick, wick_windows_pick(w, begin, end, ptr[0], ptr[1], ptr[2]))
POOL_RUN(put, wick_windows_put(w, begin, end, ptr[0], ptr[1], ptr[2]))
POOL_RUN(share, wick_windows_share(w, begin, end, ptr[0], ptr[1]))

/* Every output compares or adds each input of its window. */
static double flops_pool(const wick_node *n) {
    const pool_attr *a = n->attr;
    const bool from_y = n->op == &wick_op_avg_pool_share;
    const wick_type *y = from_y ? &n->in[0]->type : n->op == &wick_op_max_pool_put ? &n->in[1]->type : &n->out[0].type;
    const wick_type *x = from_y || n->op == &wick_op_max_pool_put ? &n->out[0].type : &n->in[0]->type;
    double window = 1;
    for (int d = 0; d < a->rank; d++)
        window *= a->adaptive ? (double)x->dims[d + 2] / (double)WICK_MAX(y->dims[d + 2], 1) : (double)a->kernel[d];
    return (double)wick_type_count(y) * window;
}

static wick_status lower_pool(wick_lower *l, wick_node *node) {
    enum { TASK = 65536 }; /* elements of a task, about */
    const pool_attr *a = node->attr;
    const bool from_y = node->op == &wick_op_avg_pool_share,
               pooling = node->op == &wick_op_max_pool || node->op == &wick_op_avg_pool;
    const wick_type *x = from_y ? &node->out[0].type : &node->in[0]->type;
    wick_step_pool p;
    memset(&p, 0, sizeof p);
    wick_windows *w = &p.windows;
    w->type = wick_ctype_of((wick_dtype)x->dtype);
    w->adaptive = a->adaptive;
    w->inside = a->inside;
    for (int d = 0; d < 3; d++) {
        const int at = d - (3 - (int)a->rank);
        w->in[d] = at < 0 ? 1 : x->dims[at + 2];
        w->out[d] = at < 0 ? 1 : outputs(a, at, x->dims[at + 2]);
        w->kernel[d] = at < 0 || a->adaptive ? 1 : a->kernel[at];
        w->stride[d] = at < 0 || a->adaptive ? 1 : a->stride[at];
        w->dilation[d] = at < 0 || a->adaptive ? 1 : a->dilation[at];
        w->pad[d] = at < 0 || a->adaptive ? 0 : a->pad[at];
        w->pad_end[d] = at < 0 || a->adaptive ? 0 : a->pad_end[at];
    }
    wick_operand at[3];
    /* channels last, as the inputs have them; in doubt too, when what comes to windows of whole images is shared */
    bool last = false;
    for (int k = 0; k < node->n_in; k++) {
        wick_layout layout;
        at[k] = wick_lower_in(l, node, k);
        wick_layout_channels_last(&layout, at[k].type);
        last |= from_y ? wick_layout_equal(&at[k].layout, &layout, at[k].type) : wick_lower_is_channels_last(&at[k]);
    }
    last &= node->op != &wick_op_max_pool_index;
    last &= x->dims[1] != 0; /* 0 means planes: here there are none */
    w->channels = last ? x->dims[1] : 0;
    p.planes = x->dims[0] * (last ? 1 : x->dims[1]);
    p.per_task = 1 + TASK / (w->in[0] * w->in[1] * w->in[2] * WICK_MAX(w->channels, 1));
    wick_ref refs[3];
    double bytes = 0;
    for (int k = 0; k < node->n_in; k++) {
        WICK_TRY((last ? wick_lower_in_channels_last : wick_lower_in_contiguous)(l, node, k, &at[k]));
        refs[k] = wick_lower_ref(&at[k], false);
        bytes += (double)wick_type_bytes(at[k].type);
    }
    WICK_TRY((last ? wick_lower_out_channels_last : wick_lower_out)(l, node, 0, &at[node->n_in]));
    refs[node->n_in] = wick_lower_ref(&at[node->n_in], true);
    bytes += (double)wick_type_bytes(&node->out[0].type);
    w->from_dram = bytes >= (double)l->ctx->tuning.stream_bytes;
    if (pooling && wick_remarks(l->planning)) {
        const bool max = node->op == &wick_op_max_pool;
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, node, wick_windows_name(w, max), wick_windows_rejected(w, max, rejected), rejected);
    }
    wick_step_fn run = node->op == &wick_op_max_pool        ? run_max
                       : node->op == &wick_op_max_pool_index ? run_index
                       : node->op == &wick_op_avg_pool      ? run_mean
                       : node->op == &wick_op_max_pool_pick ? run_pick
                       : node->op == &wick_op_max_pool_put  ? run_put
                                                            : run_share;
    wick_step step = {.name = pooling ? wick_windows_name(w, run == run_max) : node->op->name,
                      .run = run,
                      .kind = run == run_max     ? WICK_STEP_MAX_POOL
                              : run == run_mean  ? WICK_STEP_MEAN_POOL
                              : run == run_put   ? WICK_STEP_MAX_POOL_PUT
                              : run == run_share ? WICK_STEP_MEAN_POOL_SHARE
                                                 : WICK_STEP_OTHER,
                      .tasks = (p.planes + p.per_task - 1) / p.per_task,
                      .scratch = pooling ? wick_windows_scratch(w) : 0,
                      .flops = flops_pool(node),
                      .bytes = bytes};
    return wick_lower_step(l, &step, &p, sizeof p, refs, node->n_in + 1);
}

static void print_pool(wick_str *s, const wick_node *node) {
    const pool_attr *a = node->attr;
    const struct {
        const char *name;
        const int64_t *v, usual;
    } lists[] = {{"kernel", a->kernel, 0},
                 {"stride", a->stride, 0},
                 {"dilation", a->dilation, 1},
                 {"pad", a->pad, 0},
                 {"pad_end", a->pad_end, 0}};
    if (a->adaptive) wick_str_add(s, "adaptive");
    for (size_t k = 0; k < WICK_COUNTOF(lists) && !a->adaptive; k++) {
        bool usual = true;
        for (int d = 0; d < a->rank; d++) usual &= lists[k].v[d] == (k == 4 ? a->pad[d] : lists[k].usual);
        if (usual) continue;
        wick_str_add(s, "%s%s=", k ? " " : "", lists[k].name);
        for (int d = 0; d < a->rank; d++) wick_str_add(s, "%s%lld", d ? "," : "", (long long)lists[k].v[d]);
    }
    if (a->ceil) wick_str_add(s, " ceil");
    if (a->inside) wick_str_add(s, " inside");
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A random pooling: attr, and the types of x and y. */
static pool_attr sample_types(wick_sample *s, bool avg, wick_type *x, wick_type *y) {
    pool_attr a;
    memset(&a, 0, sizeof a);
    a.rank = wick_sample_int(s, 1, 3);
    a.adaptive = s->random() % 3 == 0;
    a.ceil = !a.adaptive && s->random() % 2;
    a.inside = avg && !a.adaptive && s->random() % 2;
    *x = (wick_type){.dtype = s->random() % 3 ? WICK_F64 : WICK_F32,
                     .rank = (uint8_t)(a.rank + 2),
                     .dims = {wick_sample_int(s, 0, 3), wick_sample_int(s, 1, 3)}};
    for (int d = 0; d < a.rank; d++) {
        const int64_t in = x->dims[d + 2] = wick_sample_int(s, 2, a.rank == 3 ? 4 : 8);
        if (a.adaptive) {
            a.extent[d] = wick_sample_int(s, 1, (int)in + 1);
            continue;
        }
        a.kernel[d] = wick_sample_int(s, 1, 2);
        a.stride[d] = wick_sample_int(s, 1, 3);
        a.dilation[d] = avg ? 1 : wick_sample_int(s, 1, a.kernel[d] == 1 ? 1 : (int)in - 1);
        a.pad[d] = wick_sample_int(s, 0, (int)a.kernel[d] / 2);
        a.pad_end[d] = wick_sample_int(s, 0, (int)a.kernel[d] - 1);
    }
    pooled(&a, x, y);
    s->attr_size = sizeof a;
    s->n_in = 1;
    for (int k = 0; k < 2; k++) s->lo[k] = -2, s->hi[k] = 2;
    s->differentiable = x->dtype == WICK_F64;
    return a;
}
static void sample_avg(wick_sample *s) {
    wick_type y;
    pool_attr a = sample_types(s, true, &s->in[0], &y);
    memcpy(s->attr, &a, sizeof a);
}
static void sample_max(wick_sample *s) {
    wick_type y;
    pool_attr a = sample_types(s, false, &s->in[0], &y);
    memcpy(s->attr, &a, sizeof a);
}
static void sample_pick(wick_sample *s) {
    sample_max(s);
    s->in[1] = s->in[0];
    s->n_in = 2;
}
static void sample_put(wick_sample *s) {
    pool_attr a = sample_types(s, false, &s->in[0], &s->in[1]);
    memcpy(s->attr, &a, sizeof a);
    s->n_in = 2;
}
static void sample_share(wick_sample *s) {
    wick_type x;
    pool_attr a = sample_types(s, true, &x, &s->in[0]);
    for (int d = 0; d < a.rank; d++) (a.adaptive ? a.pad : a.extent)[d] = x.dims[d + 2];
    memcpy(s->attr, &a, sizeof a);
}

#define POOL_OP(which, text, inputs, rule, onnx_, torch_)                                                              \
    const wick_op wick_op_##which = {.name = #which,                                                                   \
                                     .doc = text,                                                                      \
                                     .onnx = onnx_,                                                                    \
                                     .torch = torch_,                                                                  \
                                     .cost = "windows times their size",                                               \
                                     .min_in = inputs,                                                                 \
                                     .max_in = inputs,                                                                 \
                                     .n_out = 1,                                                                       \
                                     .infer = rule,                                                                    \
                                     .grad = grad_##which,                                                             \
                                     .flops = flops_pool,                                                              \
                                     .lower = lower_pool,                                                              \
                                     .print = print_pool,                                                              \
                                     .sample = sample_of_##which};
#define sample_of_max_pool       sample_max
#define sample_of_max_pool_pick  sample_pick
#define sample_of_max_pool_put   sample_put
#define sample_of_avg_pool       sample_avg
#define sample_of_avg_pool_share sample_share
POOL_OP(max_pool, "the largest of each window", 1, infer_pool, "MaxPool", "max_pool1d, max_pool2d, max_pool3d")
POOL_OP(max_pool_pick, "of a second tensor, what lies where the largest of each window of the first does", 2,
        infer_pick, "", "")
POOL_OP(max_pool_put, "gradient of max_pool: what comes to each window, at its largest", 2, infer_put, "", "")
POOL_OP(avg_pool, "the mean of each window", 1, infer_pool, "AveragePool", "nn.functional.avg_pool1d, ...2d, ...3d")
POOL_OP(avg_pool_share, "gradient of avg_pool: what comes to each window, shared", 1, infer_share, "", "")

const wick_op wick_op_max_pool_index = {.name = "max_pool_index",
                                        .doc = "where in its plane the largest of each window is",
                                        .cost = "window n",
                                        .min_in = 1,
                                        .max_in = 1,
                                        .n_out = 1,
                                        .infer = infer_index,
                                        .flops = flops_pool,
                                        .lower = lower_pool,
                                        .print = print_pool,
                                        .sample = sample_max};

/* ---- public ------------------------------------------------------------------------------------------------------ */

static wick_tensor *record_pool(const wick_op *op, wick_tensor *x, const pool_attr *a) {
    const wick_dtype d = wick_tensor_dtype(x);
    static const uint8_t exact[WICK_DTYPE_COUNT] = {[WICK_I8] = WICK_F32 + 1,
                                                    [WICK_U8] = WICK_F32 + 1,
                                                    [WICK_I16] = WICK_F32 + 1,
                                                    [WICK_U16] = WICK_F32 + 1,
                                                    /* the largest of integers that floats hold */
                                                    [WICK_I32] = WICK_F64 + 1,
                                                    [WICK_U32] = WICK_F64 + 1};
    const bool half = d == WICK_F16 || d == WICK_BF16,
               whole = (op == &wick_op_max_pool || op == &wick_op_max_pool_index) && exact[d];
    if (!half && !whole) return wick_record(NULL, op, 1, &x, a, sizeof *a);
    x = wick_as(x, half ? WICK_F32 : (wick_dtype)(exact[d] - 1)); /* computed in f32, rounded once */
    x = wick_record(NULL, op, 1, &x, a, sizeof *a);
    return op == &wick_op_max_pool_index ? x : wick_as(x, d);
}

static wick_tensor *pool(const wick_op *op, wick_tensor *x, const wick_pool_options *o) {
    pool_attr a;
    memset(&a, 0, sizeof a);
    if (!x || x->error) return wick_record(NULL, op, 1, &x, &a, sizeof a);
    if (!o)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: options are NULL: there is no kernel without them", op->name);
    a.rank = wick_tensor_rank(x) - 2;
    if (a.rank < 1 || a.rank > 3)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: needs [N, C, 1 to 3 dims], not %d dims", op->name,
                           (int)a.rank + 2);
    a.ceil = o->ceil_mode;
    a.inside = op == &wick_op_avg_pool && o->exclude_pad;
    for (int d = 0; d < 3; d++) {
        const int64_t k = o->kernel[d], stride = o->stride[d] ? o->stride[d] : k,
                      dilation = o->dilation[d] ? o->dilation[d] : 1;
        if (d >= a.rank) {
            if (k || o->stride[d] || o->dilation[d] || o->pad[d] || o->pad_end[d])
                return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: options for %d dims, but x [N, C, dims] has %d",
                                   op->name, d + 1, (int)a.rank);
            continue;
        }
        if (k < 1 || stride < 1 || dilation < 1 || k > INT32_MAX || stride > INT32_MAX || dilation > INT32_MAX)
            return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: kernel %lld, stride %lld, dilation %lld", op->name,
                               (long long)k, (long long)stride, (long long)dilation);
        if (o->pad[d] < 0 || o->pad[d] > k / 2)
            return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: padding of %lld is more than half of a window of %lld",
                               op->name, (long long)o->pad[d], (long long)k);
        const int64_t reach = dilation * (k - 1),
                      end = o->pad_end[d] < -o->pad[d] || o->pad_end[d] > INT32_MAX ? -1 : o->pad[d] + o->pad_end[d];
        if (end < 0 || (end > o->pad[d] && end > reach))
            return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: pad %lld and pad_end %lld: %s", op->name,
                               (long long)o->pad[d], (long long)o->pad_end[d],
                               end < 0 ? "no padding is negative" : "a window would lie in the padding");
        if (dilation != 1 && op == &wick_op_avg_pool)
            return wick_poison(x->ctx, WICK_ERR_INVALID, "avg_pool: has no dilation");
        a.kernel[d] = k;
        a.stride[d] = stride;
        a.dilation[d] = dilation;
        a.pad[d] = o->pad[d];
        a.pad_end[d] = end;
    }
    return record_pool(op, x, &a);
}
wick_tensor *wick_max_pool(wick_tensor *x, const wick_pool_options *options) {
    return pool(&wick_op_max_pool, x, options);
}
wick_tensor *wick_max_pool_indices(wick_tensor *x, const wick_pool_options *options) {
    return pool(&wick_op_max_pool_index, x, options);
}
wick_tensor *wick_avg_pool(wick_tensor *x, const wick_pool_options *options) {
    return pool(&wick_op_avg_pool, x, options);
}

static wick_tensor *adaptive(const wick_op *op, wick_tensor *x, const int64_t *out) {
    pool_attr a;
    memset(&a, 0, sizeof a);
    if (!x || x->error) return wick_record(NULL, op, 1, &x, &a, sizeof a);
    a.rank = wick_tensor_rank(x) - 2;
    a.adaptive = 1;
    if (a.rank < 1 || a.rank > 3)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s: needs [N, C, 1 to 3 dims], not %d dims", op->name,
                           (int)a.rank + 2);
    for (int d = 0; d < a.rank; d++) {
        a.extent[d] = out ? out[d] : 1;
        if (a.extent[d] < 1 || a.extent[d] > INT32_MAX)
            return wick_poison(x->ctx, WICK_ERR_INVALID, "%s: %lld outputs", op->name, (long long)a.extent[d]);
    }
    return record_pool(op, x, &a);
}
wick_tensor *wick_adaptive_max_pool(wick_tensor *x, const int64_t *out) { return adaptive(&wick_op_max_pool, x, out); }
wick_tensor *wick_adaptive_max_pool_indices(wick_tensor *x, const int64_t *out) {
    return adaptive(&wick_op_max_pool_index, x, out);
}
wick_tensor *wick_adaptive_avg_pool(wick_tensor *x, const int64_t *out) { return adaptive(&wick_op_avg_pool, x, out); }
