/* frames.c: overlapping pieces of an axis, and their sum where they were: each the other's gradient. */
#include "ops/ops.h"
#include "wick/ops.h"
#include "wick/signal.h"

static wick_status infer_frames(wick_infer *i) {
    const frames_attr *attr = i->attr;
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats");
    if (x->rank < 1 || x->rank == WICK_MAX_DIMS) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs 1 to 7 dims");
    if (attr->n < 1 || attr->hop < 1)
        return wick_infer_fail(i, WICK_ERR_INVALID, "frames of %lld, %lld apart", (long long)attr->n,
                               (long long)attr->hop);
    const int64_t t = x->dims[x->rank - 1];
    if (t < attr->n)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "frames of %lld do not fit into %lld", (long long)attr->n,
                               (long long)t);
    *i->out = *x;
    i->out->dims[x->rank - 1] = (t - attr->n) / attr->hop + 1;
    i->out->dims[i->out->rank++] = attr->n;
    return WICK_OK;
}
/* n is the result's extent, which may be longer than the frames reach */
static wick_status infer_overlap_add(wick_infer *i) {
    const frames_attr *attr = i->attr;
    const wick_type *x = i->in[0];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats");
    if (x->rank < 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [..., frames, n]");
    const int64_t frames = x->dims[x->rank - 2], n = x->dims[x->rank - 1];
    int64_t reach;
    if (frames < 1 || attr->hop < 1 || wick_mul_overflows(frames - 1, attr->hop, &reach) ||
        wick_add_overflows(reach, n, &reach) || reach > attr->n)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld frames of %lld, %lld apart, do not fit into %lld",
                               (long long)frames, (long long)n, (long long)attr->hop, (long long)attr->n);
    *i->out = *x;
    i->out->dims[--i->out->rank] = 0;
    i->out->dims[i->out->rank - 1] = attr->n;
    return WICK_OK;
}

typedef struct frames_args {
    wick_ctype type;
    int64_t rows, frames, n, hop, t, per_task;
} frames_args;
static int64_t run_frames(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const frames_args *a = args;
    const int64_t elem = (int64_t)wick_ctype_size(a->type);
    for (int64_t f = begin * a->per_task; f < WICK_MIN(end * a->per_task, a->rows * a->frames); f++) {
        const int64_t from = f / a->frames * a->t + f % a->frames * a->hop;
        memcpy((char *)ptr[1] + f * a->n * elem, (const char *)ptr[0] + from * elem, (size_t)(a->n * elem));
    }
    return -1;
}
/* A task is a row: frames add up in order. */
static int64_t run_overlap_add(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const frames_args *a = args;
    for (int64_t row = begin; row < end; row++)
        wick_overlap_add_row(a->type, a->frames, a->n, a->hop, a->t, row, ptr[0], ptr[1]);
    return -1;
}
static wick_status lower_frames(wick_lower *l, wick_node *node) {
    const frames_attr *attr = node->attr;
    const bool add = node->op == &wick_op_overlap_add;
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    const wick_type *framed = add ? in.type : out.type, *flat = add ? out.type : in.type;
    frames_args a = {.type = wick_ctype_of((wick_dtype)in.type->dtype),
                     .rows = 1,
                     .frames = framed->dims[framed->rank - 2],
                     .n = framed->dims[framed->rank - 1],
                     .hop = attr->hop,
                     .t = flat->dims[flat->rank - 1]};
    for (int i = 0; i + 1 < flat->rank; i++) a.rows *= flat->dims[i];
    a.per_task = 1 + 16384 / WICK_MAX(a.n, 1);
    wick_step step = {.name = node->op->name,
                      .run = add ? run_overlap_add : run_frames,
                      .tasks = add ? a.rows : (a.rows * a.frames + a.per_task - 1) / a.per_task,
                      .flops = add ? (double)wick_type_count(in.type) : 0,
                      .bytes = (double)(wick_type_bytes(in.type) + wick_type_bytes(out.type))};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true)},
                           2);
}
static wick_tensor *record(const wick_op *op, wick_tensor *x, int64_t n, int64_t hop) {
    const frames_attr attr = {n, hop};
    return wick_record(NULL, op, 1, &x, &attr, sizeof attr);
}
static void grad_frames(wick_gradient *g) {
    const frames_attr *a = g->node->attr;
    g->gin[0] = record(&wick_op_overlap_add, g->gout[0], wick_tensor_dim(g->in[0], -1), a->hop);
}
static void grad_overlap_add(wick_gradient *g) {
    const frames_attr *a = g->node->attr;
    const int64_t frames = wick_tensor_dim(g->in[0], -2), n = wick_tensor_dim(g->in[0], -1),
                  reach = (frames - 1) * a->hop + n;
    wick_tensor *gy = a->n > reach ? wick_slice(g->gout[0], -1, 0, reach, 1) : g->gout[0];
    g->gin[0] = record(&wick_op_frames, gy, n, a->hop);
}
static double flops_frames(const wick_node *node) {
    return node->op == &wick_op_frames ? 0 : (double)wick_type_count(&node->in[0]->type);
}
static void print_frames(wick_str *s, const wick_node *node) {
    const frames_attr *a = node->attr;
    wick_str_add(s, "n=%lld hop=%lld", (long long)a->n, (long long)a->hop);
}
static void sample(wick_sample *s, bool add) {
    s->n_in = 1;
    const wick_dtype d = s->random() % 3 ? WICK_F64 : WICK_F32;
    const int64_t n = wick_sample_int(s, 1, 6), hop = wick_sample_int(s, 1, 4), frames = wick_sample_int(s, 1, 5),
                  t = (frames - 1) * hop + n + wick_sample_int(s, 0, 2);
    const frames_attr attr = {add ? t : n, hop};
    s->in[0] = (wick_type){.dtype = (uint8_t)d, .rank = 2, .dims = {wick_sample_int(s, 0, 4), t}};
    if (add) s->in[0] = (wick_type){.dtype = (uint8_t)d, .rank = 3, .dims = {wick_sample_int(s, 0, 4), frames, n}};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = d == WICK_F64;
}
static void sample_frames(wick_sample *s) { sample(s, false); }
static void sample_overlap_add(wick_sample *s) { sample(s, true); }

const wick_op wick_op_frames = {.name = "frames",
                                .doc = "overlapping pieces of the last axis",
                                .torch = "Tensor.unfold",
                                .cost = "0",
                                .min_in = 1,
                                .max_in = 1,
                                .n_out = 1,
                                .infer = infer_frames,
                                .grad = grad_frames,
                                .flops = flops_frames,
                                .lower = lower_frames,
                                .print = print_frames,
                                .sample = sample_frames};
const wick_op wick_op_overlap_add = {.name = "overlap_add",
                                     .doc = "frames added up where they were",
                                     .cost = "m",
                                     .min_in = 1,
                                     .max_in = 1,
                                     .n_out = 1,
                                     .infer = infer_overlap_add,
                                     .grad = grad_overlap_add,
                                     .flops = flops_frames,
                                     .lower = lower_frames,
                                     .print = print_frames,
                                     .sample = sample_overlap_add};

static bool is_half(const wick_tensor *x) {
    return wick_tensor_dtype(x) == WICK_F16 || wick_tensor_dtype(x) == WICK_BF16;
}
wick_tensor *wick_frames(wick_tensor *x, int64_t n, int64_t hop) {
    if (x && !x->error && is_half(x)) return wick_as(wick_frames(wick_as(x, WICK_F32), n, hop), wick_tensor_dtype(x));
    return record(&wick_op_frames, x, n, hop);
}
wick_tensor *wick_overlap_add(wick_tensor *x, int64_t hop) {
    if (x && !x->error && is_half(x)) return wick_as(wick_overlap_add(wick_as(x, WICK_F32), hop), wick_tensor_dtype(x));
    const bool framed = x && !x->error && wick_tensor_rank(x) > 1;
    return record(&wick_op_overlap_add, x, framed ? (wick_tensor_dim(x, -2) - 1) * hop + wick_tensor_dim(x, -1) : 0,
                  hop);
}
