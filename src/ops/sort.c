/* sort.c: sort, topk, kthvalue and medians along the last axis, quantiles; searchsorted, runs of equal elements, counts
 * of bins. */
#include <math.h>

#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/index.h"
#include "wick/ops.h"
#include "wick/reduce.h"
#include "wick/shape.h"
#include "wick/sort.h"

/* The dtype with kernels that has the order of d. */
static wick_dtype ordered(wick_dtype d) {
    static const wick_dtype in[WICK_CTYPE_COUNT] = {WICK_F32, WICK_F64, WICK_I32, WICK_I64, WICK_U64, WICK_I32};
    return in[wick_ctype_of(d)];
}
static bool is_ordered(wick_infer *i, int k) {
    const wick_dtype d = (wick_dtype)i->in[k]->dtype;
    if (ordered(d) == d) return true;
    wick_infer_fail(i, WICK_ERR_DTYPE, "not defined for %s; cast", wick_dtype_name(d));
    return false;
}
static int64_t rows_of(const wick_type *t) { /* but for the last axis */
    int64_t rows = 1;
    for (int i = 0; i + 1 < t->rank; i++) rows *= t->dims[i];
    return rows;
}

/* ---- sort, topk -------------------------------------------------------------------------------------------------- */

static wick_status infer_sort(wick_infer *i) {
    const sort_attr *attr = i->attr;
    const wick_type *x = i->in[0];
    if (!is_ordered(i, 0)) return WICK_ERR_DTYPE;
    if (x->rank == 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs an axis");
    i->out[0] = *x;
    if (attr->k > x->dims[x->rank - 1])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "there are no %lld elements along the axis, but %lld",
                               (long long)attr->k, (long long)x->dims[x->rank - 1]);
    if (attr->k >= 0) i->out[0].dims[x->rank - 1] = attr->k;
    i->out[1] = i->out[0];
    i->out[1].dtype = WICK_I64;
    return WICK_OK;
}
static int64_t run_sort(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_sort *a = args;
    wick_sort_run(&a->sort, a->stage, begin, end, ptr[0], ptr[1], ptr[2], ptr + 3, scratch);
    return -1;
}
static double flops_sort(const wick_node *node) { /* comparisons, had it been by comparing */
    const wick_type *t = &node->in[0]->type;
    const double n = (double)WICK_MAX(t->dims[t->rank - 1], 1);
    double bits = 1;
    for (double k = 2; k < n; k *= 2) bits++;
    return (double)wick_type_count(t) * bits;
}
static wick_status lower_sort(wick_lower *l, wick_node *node) {
    wick_operand in, out, index;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    WICK_TRY(wick_lower_out(l, node, 1, &index));
    const int last = in.type->rank - 1;
    wick_step_sort a = {.sort = {.type = wick_ctype_of((wick_dtype)in.type->dtype),
                                 .descending = ((const sort_attr *)node->attr)->descending,
                                 .rows = rows_of(in.type),
                                 .n = in.type->dims[last],
                                 .k = out.type->dims[last]}};
    wick_sort_prepare(&a.sort);
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, node, wick_sort_name(&a.sort), wick_sort_rejected(&a.sort, rejected), rejected);
    }
    wick_ref refs[5] = {wick_lower_ref(&in, false), wick_lower_ref(&out, true), wick_lower_ref(&index, true)};
    int n_refs = 3;
    for (int b = 0; b < 2 && a.sort.buffer; b++) {
        refs[n_refs] = (wick_ref){.write = true};
        WICK_TRY(wick_lower_temp(l, a.sort.buffer, &refs[n_refs++].buffer));
    }
    for (a.stage = 0; a.stage < a.sort.stages; a.stage++) {
        wick_step step = {
            .name = node->op->name,
            .kind = a.stage + 1 < a.sort.stages ? WICK_STEP_STAGE : WICK_STEP_SORT,
            .run = run_sort,
            .tasks = a.sort.tasks[a.stage],
            .scratch = a.sort.scratch,
            .flops = a.stage ? 0 : flops_sort(node),
            .bytes = (double)(wick_type_bytes(in.type) + wick_type_bytes(out.type) + wick_type_bytes(index.type))};
        WICK_TRY(wick_lower_step(l, &step, &a, sizeof a, refs, n_refs));
    }
    return WICK_OK;
}
/* The gradient of each element goes back to where it came from. */
static void grad_taken(wick_gradient *g) {
    if (!g->gout[0]) return;
    const wick_type *t = &g->node->in[0]->type;
    wick_tensor *index = g->out[1], *gy = g->gout[0];
    if (g->node->out[1].type.rank < t->rank) index = wick_unsqueeze(index, -1), gy = wick_unsqueeze(gy, -1);
    g->gin[0] = wick_put_along_axis(wick_expand(wick_like(gy, 0), t->rank, t->dims), -1, index, gy, WICK_PUT_SET);
}
static void print_sort(wick_str *s, const wick_node *node) {
    const sort_attr *a = node->attr;
    if (a->k >= 0) wick_str_add(s, "k=%lld ", (long long)a->k);
    wick_str_add(s, "%s", a->descending ? "falling" : "rising");
}
static void sample_order(wick_sample *s) {
    static const wick_dtype dtypes[] = {WICK_F64, WICK_F64, WICK_F32, WICK_I32, WICK_I64, WICK_U64};
    s->n_in = 1;
    s->in[0].dtype = (uint8_t)dtypes[s->random() % WICK_COUNTOF(dtypes)];
    wick_sample_dims(s, &s->in[0], 1, 3);
    s->lo[0] = s->in[0].dtype == WICK_U64 ? 0 : -9;
    s->hi[0] = 9;
    s->differentiable = s->in[0].dtype == WICK_F64;
}
static void sample_sort(wick_sample *s) {
    sample_order(s);
    sort_attr attr = {(int64_t)(s->random() & 1), -1};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
static void sample_topk(wick_sample *s) {
    sample_order(s);
    sort_attr attr = {(int64_t)(s->random() & 1), wick_sample_int(s, 0, (int)s->in[0].dims[s->in[0].rank - 1])};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
const wick_op wick_op_sort = {
    .name = "sort",
    .doc = "elements of the last axis in order, and the places they had; stable, NaN the largest",
    .torch = "sort",
    .cost = "m log2 k, k the extent",
    .min_in = 1,
    .max_in = 1,
    .n_out = 2,
    .infer = infer_sort,
    .grad = grad_taken,
    .flops = flops_sort,
    .lower = lower_sort,
    .print = print_sort,
    .sample = sample_sort};
const wick_op wick_op_topk = {.name = "topk",
                              .doc = "the first k of sort",
                              .onnx = "TopK",
                              .torch = "topk",
                              .cost = "m log2 k, k the extent",
                              .min_in = 1,
                              .max_in = 1,
                              .n_out = 2,
                              .infer = infer_sort,
                              .grad = grad_taken,
                              .flops = flops_sort,
                              .lower = lower_sort,
                              .print = print_sort,
                              .sample = sample_topk};

/* An op with values and places as results, over any axis and dtype; the axis stays, or goes. */
static wick_tensor *along(const wick_op *op, const char *name, wick_tensor *x, int axis, const void *attr,
                          size_t attr_size, bool stays, bool keepdims, wick_tensor **index) {
    wick_tensor *out[2] = {x, x};
    if (!wick_is_bad(x)) {
        const int rank = wick_tensor_rank(x), a = wick_axis(axis, rank);
        const wick_dtype d = wick_tensor_dtype(x), c = ordered(d);
        if (a < 0) {
            out[0] = out[1] = wick_poison(x->ctx, WICK_ERR_SHAPE, "%s(%s): axis %d does not exist", name,
                                          wick_shown_of(x).text, axis);
            if (index) *index = out[1];
            return out[0];
        }
        x = wick_as(x, c);
        if (a != rank - 1) x = stays ? wick_transpose(x, a, -1) : wick_move_axis(x, a, -1);
        wick_record_n(NULL, op, 1, &x, attr, attr_size, 2, out);
        for (int i = 0; i < 2 && !wick_is_bad(out[i]); i++) {
            if (stays && a != rank - 1) out[i] = wick_transpose(out[i], a, -1);
            if (!stays && keepdims) out[i] = wick_unsqueeze(out[i], a);
        }
        out[0] = wick_as(out[0], d);
    }
    if (index) *index = out[1];
    return out[0];
}

wick_tensor *wick_sort(wick_tensor *x, int axis, bool descending, wick_tensor **index) {
    sort_attr attr = {descending, -1};
    return along(&wick_op_sort, "sort", x, axis, &attr, sizeof attr, true, true, index);
}
wick_tensor *wick_argsort(wick_tensor *x, int axis, bool descending) {
    wick_tensor *index;
    wick_sort(x, axis, descending, &index);
    return index;
}
wick_tensor *wick_topk(wick_tensor *x, int64_t k, int axis, bool largest, wick_tensor **index) {
    sort_attr attr = {largest, k};
    if (!wick_is_bad(x) && k < 0)
        x = wick_poison(x->ctx, WICK_ERR_INVALID, "topk(%s): k is %lld", wick_shown_of(x).text, (long long)k);
    return along(&wick_op_topk, "topk", x, axis, &attr, sizeof attr, true, true, index);
}

/* ---- kthvalue, medians ------------------------------------------------------------------------------------------- */

static wick_status infer_kth(wick_infer *i) {
    const kth_attr *attr = i->attr;
    const wick_type *x = i->in[0];
    if (!is_ordered(i, 0)) return WICK_ERR_DTYPE;
    if (x->rank == 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs an axis");
    const int64_t n = x->dims[x->rank - 1];
    if (n == 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "the axis has no elements");
    if (attr->how == WICK_KTH && (attr->k < 1 || attr->k > n))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "element %lld of %lld; the first is 1", (long long)attr->k,
                               (long long)n);
    i->out[0] = *x;
    i->out[0].dims[--i->out[0].rank] = 0;
    i->out[1] = i->out[0];
    i->out[1].dtype = WICK_I64;
    return WICK_OK;
}
typedef struct kth_args {
    wick_ctype type;
    wick_kth how;
    int64_t k, n, rows, per_task;
} kth_args;
static int64_t run_kth(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const kth_args *a = args;
    wick_kth_rows(a->type, a->how, a->k, a->n, begin * a->per_task, WICK_MIN(end * a->per_task, a->rows), ptr[0],
                  ptr[1], ptr[2], scratch);
    return -1;
}
static wick_status lower_kth(wick_lower *l, wick_node *node) {
    const kth_attr *attr = node->attr;
    wick_operand in, out, index;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    WICK_TRY(wick_lower_out(l, node, 1, &index));
    kth_args a = {wick_ctype_of((wick_dtype)in.type->dtype), (wick_kth)attr->how, attr->k - 1,
                  in.type->dims[in.type->rank - 1],          rows_of(in.type),    1};
    a.per_task = WICK_MAX(1, 16384 / WICK_MAX(a.n, 1));
    wick_step step = {.name = node->op->name,
                      .run = run_kth,
                      .tasks = (a.rows + a.per_task - 1) / a.per_task,
                      .scratch = wick_kth_scratch(a.type, a.n),
                      .flops = wick_flops_per_input(node),
                      .bytes = (double)wick_type_bytes(in.type)};
    return wick_lower_step(
        l, &step, &a, sizeof a,
        (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true), wick_lower_ref(&index, true)}, 3);
}
static void print_kth(wick_str *s, const wick_node *node) {
    const kth_attr *a = node->attr;
    if (a->how == WICK_KTH)
        wick_str_add(s, "k=%lld", (long long)a->k);
    else
        wick_str_add(s, "%s", a->how == WICK_MEDIAN ? "median" : "nanmedian");
}
static void sample_kth(wick_sample *s) {
    sample_order(s);
    int64_t *n = &s->in[0].dims[s->in[0].rank - 1];
    *n += *n == 0;
    kth_attr attr = {wick_sample_int(s, WICK_KTH, WICK_NAN_MEDIAN), wick_sample_int(s, 1, (int)*n)};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
}
const wick_op wick_op_kthvalue = {.name = "kthvalue",
                                  .doc = "the k-th smallest of the last axis, or its lower median, and its place",
                                  .torch = "kthvalue",
                                  .cost = "m",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .n_out = 2,
                                  .infer = infer_kth,
                                  .grad = grad_taken,
                                  .flops = wick_flops_per_input,
                                  .lower = lower_kth,
                                  .print = print_kth,
                                  .sample = sample_kth};

wick_tensor *wick_kthvalue(wick_tensor *x, int64_t k, int axis, bool keepdims, wick_tensor **index) {
    kth_attr attr = {WICK_KTH, k};
    return along(&wick_op_kthvalue, "kthvalue", x, axis, &attr, sizeof attr, false, keepdims, index);
}
wick_tensor *wick_median(wick_tensor *x, int axis, bool keepdims, wick_tensor **index) {
    kth_attr attr = {WICK_MEDIAN, 0};
    return along(&wick_op_kthvalue, "median", x, axis, &attr, sizeof attr, false, keepdims, index);
}
wick_tensor *wick_nanmedian(wick_tensor *x, int axis, bool keepdims, wick_tensor **index) {
    kth_attr attr = {WICK_NAN_MEDIAN, 0};
    return along(&wick_op_kthvalue, "nanmedian", x, axis, &attr, sizeof attr, false, keepdims, index);
}

wick_tensor *wick_quantile(wick_tensor *x, double q, int axis, bool keepdims, wick_quantile_mode mode) {
    if (wick_is_bad(x)) return x;
    const int a = wick_axis(axis, wick_tensor_rank(x));
    const wick_dtype d = wick_tensor_dtype(x);
    if (a < 0 || wick_tensor_dims(x)[a] == 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "quantile(%s): axis %d does not exist, or has no elements",
                           wick_shown_of(x).text, axis);
    if (!(q >= 0 && q <= 1) || (unsigned)mode > WICK_QUANTILE_MIDPOINT)
        return wick_poison(x->ctx, WICK_ERR_INVALID, "quantile(%s): q is %g, the mode %d", wick_shown_of(x).text, q,
                           (int)mode);
    if (!wick_dtype_is_float(d))
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "quantile(%s): of a dtype that is not float; cast it",
                           wick_shown_of(x).text);
    const int64_t n = wick_tensor_dims(x)[a];
    const double at = q * (double)(n - 1), below = floor(at), part = at - below;
    int64_t low = (int64_t)below, high = WICK_MIN(low + (part > 0), n - 1);
    if (mode == WICK_QUANTILE_LOWER) high = low;
    if (mode == WICK_QUANTILE_HIGHER) low = high;
    if (mode == WICK_QUANTILE_NEAREST) low = high = part > 0.5 || (part == 0.5 && low % 2) ? high : low;
    const double weight = mode == WICK_QUANTILE_MIDPOINT ? 0.5 : part;
    wick_tensor *sorted = wick_sort(wick_as(x, ordered(d)), a, false, NULL), *last = wick_slice(sorted, a, n - 1, n, 1),
                *y = wick_slice(sorted, a, low, low + 1, 1);
    if (high != low) {
        /* from the nearer end, as PyTorch's lerp */
        wick_tensor *next = wick_slice(sorted, a, high, high + 1, 1), *step = wick_sub(next, y);
        y = weight < 0.5 ? wick_add(y, wick_mul(step, wick_like(y, weight)))
                         : wick_sub(next, wick_mul(step, wick_like(y, 1 - weight)));
    }
    y = wick_where(wick_ne(last, last), last, y);
    return wick_as(keepdims ? y : wick_squeeze(y, a), d);
}

/* ---- searchsorted ------------------------------------------------------------------------------------------------ */

static wick_status infer_search(wick_infer *i) {
    const wick_type *sorted = i->in[0], *values = i->in[1];
    if (!is_ordered(i, 0)) return WICK_ERR_DTYPE;
    if (sorted->dtype != values->dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "inputs have different dtypes");
    bool good = sorted->rank == 1 || (sorted->rank > 1 && sorted->rank == values->rank);
    for (int d = 0; good && d + 1 < sorted->rank; d++) good = sorted->dims[d] == values->dims[d];
    if (!good)
        return wick_infer_fail(i, WICK_ERR_SHAPE,
                               "sorted must be a vector, or differ from the values in the last axis only");
    *i->out = *values;
    i->out->dtype = WICK_I64;
    return WICK_OK;
}
typedef struct search_args {
    wick_ctype type;
    bool right;
    int64_t n, m, blocks, rows, elem; /* rows of m values, each in blocks */
} search_args;
enum { SEARCH_TASK = 4096 };
static int64_t run_search(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const search_args *a = args;
    const int64_t per_task = WICK_MAX(1, SEARCH_TASK / WICK_MAX(a->m, 1)); /* blocks */
    for (int64_t b = begin * per_task; b < WICK_MIN(end * per_task, a->rows * a->blocks); b++) {
        const int64_t r = b / a->blocks, at = b % a->blocks * SEARCH_TASK;
        wick_search_sorted(a->type, a->right, a->n, (const char *)ptr[0] + r * a->n * a->elem,
                           WICK_MIN(SEARCH_TASK, a->m - at), (const char *)ptr[1] + (r * a->m + at) * a->elem,
                           (int64_t *)ptr[2] + r * a->m + at);
    }
    return -1;
}
static double flops_search(const wick_node *node) {
    const wick_type *sorted = &node->in[0]->type;
    double bits = 1;
    for (double k = 2; k < (double)sorted->dims[sorted->rank - 1]; k *= 2) bits++;
    return (double)wick_type_count(&node->in[1]->type) * bits;
}
static wick_status lower_search(wick_lower *l, wick_node *node) {
    wick_operand sorted, values, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &sorted));
    WICK_TRY(wick_lower_in_contiguous(l, node, 1, &values));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    search_args a = {.type = wick_ctype_of((wick_dtype)sorted.type->dtype),
                     .right = *(const int64_t *)node->attr,
                     .n = sorted.type->dims[sorted.type->rank - 1],
                     .rows = rows_of(sorted.type),
                     .elem = (int64_t)wick_dtype_size((wick_dtype)sorted.type->dtype)};
    const int64_t count = wick_type_count(values.type);
    a.m = sorted.type->rank == 1 ? count : values.type->dims[values.type->rank - 1];
    a.blocks = (a.m + SEARCH_TASK - 1) / SEARCH_TASK;
    const int64_t per_task = WICK_MAX(1, SEARCH_TASK / WICK_MAX(a.m, 1));
    wick_step step = {
        .name = "searchsorted",
        .run = run_search,
        .tasks = (a.rows * a.blocks + per_task - 1) / per_task,
        .flops = flops_search(node),
        .bytes = (double)(wick_type_bytes(sorted.type) + wick_type_bytes(values.type) + wick_type_bytes(out.type))};
    return wick_lower_step(
        l, &step, &a, sizeof a,
        (wick_ref[]){wick_lower_ref(&sorted, false), wick_lower_ref(&values, false), wick_lower_ref(&out, true)}, 3);
}
static void print_search(wick_str *s, const wick_node *node) {
    wick_str_add(s, "%s", *(const int64_t *)node->attr ? "right" : "left");
}
static void sample_search(wick_sample *s) { /* what is not sorted has an answer as well: that of the bisection */
    s->n_in = 2;
    const bool rows = s->random() % 2;
    s->in[0] = (wick_type){.dtype = s->random() % 2 ? WICK_F32 : WICK_I64,
                           .rank = rows ? 2 : 1,
                           .dims = {3, rows ? wick_sample_int(s, 0, 5) : 0}};
    s->in[1] = (wick_type){.dtype = s->in[0].dtype, .rank = 2, .dims = {3, wick_sample_int(s, 0, 5)}};
    for (int i = 0; i < 2; i++) s->lo[i] = -4, s->hi[i] = 4;
    const int64_t right = (int64_t)(s->random() & 1);
    memcpy(s->attr, &right, s->attr_size = sizeof right);
}
const wick_op wick_op_searchsorted = {.name = "searchsorted",
                                      .doc = "where values go into a rising last axis",
                                      .torch = "searchsorted",
                                      .cost = "n log2 k, k the sorted extent",
                                      .min_in = 2,
                                      .max_in = 2,
                                      .n_out = 1,
                                      .infer = infer_search,
                                      .flops = flops_search,
                                      .lower = lower_search,
                                      .print = print_search,
                                      .sample = sample_search};

wick_tensor *wick_searchsorted(wick_tensor *sorted, wick_tensor *values, bool right) {
    const int64_t attr = right;
    wick_tensor *in[2] = {sorted, values};
    if (!wick_is_bad(sorted) && !wick_is_bad(values) && wick_promote_pair(&in[0], &in[1], "searchsorted")) {
        const wick_dtype c = ordered(wick_tensor_dtype(in[0]));
        in[0] = wick_as(in[0], c), in[1] = wick_as(in[1], c);
    }
    return wick_record(NULL, &wick_op_searchsorted, 2, in, &attr, sizeof attr);
}

/* ---- runs of equal elements -------------------------------------------------------------------------------------- */

static wick_status infer_runs(wick_infer *i) {
    const wick_type *x = i->in[0], *order = i->in[1];
    if (!is_ordered(i, 0)) return WICK_ERR_DTYPE;
    if (order->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "the order must be of i64");
    if (x->rank != 1 || !wick_same_dims(x, order))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "takes two vectors of one extent");
    i->out[0] = *x;
    i->out[1] = i->out[2] = *order;
    i->out[3] = (wick_type){.dtype = WICK_I64, .device = x->device};
    return WICK_OK;
}
static int64_t run_runs(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    const search_args *a = args;
    const int64_t *order = ptr[1];
    memset(ptr[3], 0, (size_t)a->n * sizeof *order); /* an order need not name every place */
    for (int64_t i = 0; i < a->n; i++)
        if ((uint64_t)order[i] >= (uint64_t)a->n) return i;
    *(int64_t *)ptr[5] = wick_equal_runs(a->type, a->n, ptr[0], order, ptr[2], ptr[3], ptr[4]);
    return -1;
}
static int64_t bad_order(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    *extent = ((const search_args *)args)->n;
    return ((const int64_t *)ptr[1])[at];
}
static wick_status lower_runs(wick_lower *l, wick_node *node) {
    wick_operand at[6];
    wick_ref refs[6];
    for (int i = 0; i < 2; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    for (int i = 0; i < 4; i++) WICK_TRY(wick_lower_out(l, node, i, &at[2 + i]));
    for (int i = 0; i < 6; i++) refs[i] = wick_lower_ref(&at[i], i >= 2);
    search_args a = {.type = wick_ctype_of((wick_dtype)at[0].type->dtype), .n = at[0].type->dims[0]};
    wick_step step = {.name = "equal_runs",
                      .run = run_runs,
                      .tasks = 1,
                      .bytes = 2.0 * (double)wick_type_bytes(at[0].type) + 3.0 * (double)wick_type_bytes(at[1].type),
                      .fault = WICK_ERR_INDEX,
                      .fault_text = "number %lld of the order is %lld, outside the vector of %lld",
                      .fault_at = bad_order};
    return wick_lower_step(l, &step, &a, sizeof a, refs, 6);
}
static void sample_runs(wick_sample *s) {
    s->n_in = 2;
    s->in[0] = (wick_type){.dtype = s->random() % 2 ? WICK_F32 : WICK_I64,
                           .rank = 1,
                           .dims = {s->random() % 4 ? wick_sample_int(s, 2, 5) : 0}};
    s->in[1] = s->in[0];
    s->in[1].dtype = WICK_I64;
    s->lo[0] = 0, s->hi[0] = 2;
    s->lo[1] = s->hi[1] = 0;
}
const wick_op wick_op_equal_runs = {
    .name = "equal_runs",
    .doc = "one of each run of equal neighbours, which run each belongs to, their lengths, how many there are",
    .torch = "unique_consecutive",
    .cost = "0",
    .min_in = 2,
    .max_in = 2,
    .n_out = 4,
    .flags = WICK_OP_FAULTS,
    .infer = infer_runs,
    .flops = wick_no_flops,
    .lower = lower_runs,
    .sample = sample_runs};

/* Sorted or not; all results, padded. */
static void runs_of(wick_tensor *x, bool sorts, wick_tensor **out) {
    const wick_dtype d = wick_tensor_dtype(x);
    const int rank = wick_tensor_rank(x);
    wick_tensor *flat = wick_as(wick_flatten(x, 0), ordered(d)), *in[2] = {flat, NULL};
    if (sorts)
        in[0] = wick_sort(flat, 0, false, &in[1]);
    else
        in[1] = wick_positions(x->ctx, WICK_I64, wick_tensor_count(x));
    wick_record_n(NULL, &wick_op_equal_runs, 2, in, NULL, 0, 4, out);
    if (wick_is_bad(out[0])) return;
    out[0] = wick_as(out[0], d);
    out[1] = wick_reshape(out[1], rank, wick_tensor_dims(x));
}
static wick_tensor *poisoned(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts) {
    if (inverse) *inverse = x;
    if (counts) *counts = x;
    return x;
}
static wick_tensor *distinct(wick_tensor *x, const char *op, bool sorts, wick_tensor **inverse, wick_tensor **counts) {
    if (wick_is_bad(x)) return poisoned(x, inverse, counts);
    wick_tensor *bad = wick_needs_value(x, op,
                                        sorts ? "wick_unique_padded" : "wick_ne of neighbours and wick_nonzero_padded"),
                *out[4];
    if (bad) return poisoned(bad, inverse, counts);
    double number = 0;
    runs_of(x, sorts, out);
    wick_status status = WICK_OK;
    for (int i = 0; i < 4 && !status; i++)
        if (wick_is_bad(out[i])) return poisoned(out[i], inverse, counts);
    status = wick_eval(x->ctx, 4, out, NULL);
    if (!status) status = wick_item(out[3], &number);
    if (status) return poisoned(wick_poison(x->ctx, status, "%s", wick_context_error(x->ctx)), inverse, counts);
    if (inverse) *inverse = out[1];
    if (counts) *counts = wick_slice(out[2], 0, 0, (int64_t)number, 1);
    return wick_slice(out[0], 0, 0, (int64_t)number, 1);
}
wick_tensor *wick_unique(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts) {
    return distinct(x, "unique", true, inverse, counts);
}
wick_tensor *wick_unique_consecutive(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts) {
    return distinct(x, "unique_consecutive", false, inverse, counts);
}
wick_tensor *wick_unique_padded(wick_tensor *x, wick_tensor **inverse, wick_tensor **counts, wick_tensor **number) {
    wick_tensor *out[4] = {x, x, x, x};
    if (!wick_is_bad(x)) runs_of(x, true, out);
    if (inverse) *inverse = out[1];
    if (counts) *counts = out[2];
    if (number) *number = out[3];
    return out[0];
}

/* ---- distinct slices: by the ranks of their elements, of pairs of ranks, and so on up to a rank for each slice ----
 */

/* k [n, m]: how many different ones are below each in its column, i64. */
static wick_tensor *ranks_of(wick_tensor *k) {
    const int64_t n = wick_tensor_dim(k, 0), m = wick_tensor_dim(k, 1);
    wick_tensor *order, *sorted = wick_sort(k, 0, false, &order);
    wick_tensor *step =
        wick_cast(wick_ne(wick_slice(sorted, 0, 1, n, 1), wick_slice(sorted, 0, 0, n - 1, 1)), WICK_I64);
    wick_tensor *zero = wick_scalar(k->ctx, WICK_I64, 0);
    wick_tensor *rank = wick_cumsum(wick_concat(2, (wick_tensor *[]){wick_expand(zero, WICK_DIMS(1, m)), step}, 0), 0);
    return wick_put_along_axis(wick_expand(zero, WICK_DIMS(n, m)), 0, order, rank, WICK_PUT_SET);
}
wick_tensor *wick_unique_axis_padded(wick_tensor *x, int axis, wick_tensor **inverse, wick_tensor **counts,
                                     wick_tensor **number) {
    wick_tensor *y = x;
    const int rank = wick_is_bad(x) ? 0 : wick_tensor_rank(x), a = wick_is_bad(x) ? 0 : wick_axis(axis, rank);
    const int64_t all = wick_is_bad(x) ? 0 : wick_tensor_count(x), n = all && a >= 0 ? wick_tensor_dim(x, a) : 0;
    if (!wick_is_bad(x) && (a < 0 || !all || n > (int64_t)1 << 31)) /* pairs of ranks fit into i64 */
        y = wick_poison(x->ctx, WICK_ERR_SHAPE, "unique_axis(%s): %s %d", wick_shown_of(x).text,
                        a < 0  ? "there is no axis"
                        : !all ? "there are no elements along axis"
                               : "there are too many places in axis",
                        axis);
    if (wick_is_bad(y)) {
        if (number) *number = y;
        return poisoned(y, inverse, counts);
    }
    const wick_dtype d = wick_tensor_dtype(x);
    wick_tensor *k = ranks_of(wick_reshape(wick_move_axis(wick_as(x, ordered(d)), a, 0), WICK_DIMS(n, all / n)));
    while (!wick_is_bad(k) && wick_tensor_dim(k, 1) > 1) {
        const int64_t m = wick_tensor_dim(k, 1);
        wick_tensor *pairs =
            wick_add(wick_mul(wick_slice(k, 1, 0, m - 1, 2), wick_like(k, (double)n)), wick_slice(k, 1, 1, m, 2));
        if (m % 2) pairs = wick_concat(2, (wick_tensor *[]){pairs, wick_slice(k, 1, m - 1, m, 1)}, 1);
        k = ranks_of(pairs);
    }
    k = wick_reshape(k, WICK_DIMS(n));
    if (wick_is_bad(k)) {
        if (number) *number = k;
        return poisoned(k, inverse, counts);
    }
    wick_tensor *places = wick_positions(x->ctx, WICK_I64, n), *last = wick_like(k, (double)n - 1);
    wick_tensor *first = wick_put_along_axis(wick_expand(last, WICK_DIMS(n)), 0, k, places, WICK_PUT_MIN);
    wick_tensor *count = wick_bincount_fixed(k, NULL, n), *is_there = wick_gt(count, wick_like(count, 0));
    int64_t along[WICK_MAX_DIMS];
    for (int i = 0; i < rank; i++) along[i] = i == a ? n : 1;
    if (inverse) *inverse = k;
    if (counts) *counts = count;
    if (number) *number = wick_sum(wick_cast(is_there, WICK_I64), WICK_ALL_AXES, false);
    return wick_where(wick_reshape(is_there, rank, along), wick_gather(x, a, first), wick_like(x, 0));
}
wick_tensor *wick_unique_axis(wick_tensor *x, int axis, wick_tensor **inverse, wick_tensor **counts) {
    if (wick_is_bad(x)) return poisoned(x, inverse, counts);
    wick_tensor *bad = wick_needs_value(x, "unique_axis", "wick_unique_axis_padded"), *out[4];
    if (bad) return poisoned(bad, inverse, counts);
    out[0] = wick_unique_axis_padded(x, axis, &out[1], &out[2], &out[3]);
    double number = 0;
    if (wick_is_bad(out[0])) return poisoned(out[0], inverse, counts);
    wick_status status = wick_eval(x->ctx, 4, out, NULL);
    if (!status) status = wick_item(out[3], &number);
    if (status) return poisoned(wick_poison(x->ctx, status, "%s", wick_context_error(x->ctx)), inverse, counts);
    if (inverse) *inverse = out[1];
    if (counts) *counts = wick_slice(out[2], 0, 0, (int64_t)number, 1);
    return wick_slice(out[0], axis, 0, (int64_t)number, 1);
}

/* ---- counts of bins ---------------------------------------------------------------------------------------------- */

static wick_status infer_bins(wick_infer *i) {
    const int64_t bins = *(const int64_t *)i->attr;
    if (i->in[0]->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "takes i64");
    if (i->n_in > 1 && i->in[1]->dtype != WICK_F32 && i->in[1]->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "the weights must be f32 or f64");
    if (i->n_in > 1 && !wick_same_dims(i->in[0], i->in[1]))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the weights must have the shape of what is counted");
    if (bins < 0) return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld bins", (long long)bins);
    i->out->dtype = i->n_in > 1 ? i->in[1]->dtype : WICK_I64;
    i->out->rank = 1;
    i->out->dims[0] = bins;
    return WICK_OK;
}
enum { BINS_TASK = 65536, BINS_PARTS = 64, BINS_SHARE = 8 };
typedef struct bins_args {
    wick_ctype type;
    bool weighted;
    int64_t n, bins, parts, size;
} bins_args;
static int64_t run_bins(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const bins_args *a = args;
    for (int64_t p = begin; p < end; p++) {
        const int64_t at = p * a->size;
        const char *weights = a->weighted ? (const char *)ptr[3] + (size_t)at * wick_ctype_size(a->type) : NULL;
        wick_count_bins(a->type, WICK_MAX(0, WICK_MIN(a->size, a->n - at)), (const int64_t *)ptr[0] + at, weights,
                        a->bins, (char *)ptr[1] + p * a->bins * 8);
    }
    return -1;
}
static int64_t run_add_bins(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const bins_args *a = args;
    wick_add_bins(a->type, !a->weighted, a->parts, a->bins, begin * 1024, WICK_MIN(end * 1024, a->bins), ptr[1],
                  ptr[2]);
    return -1;
}
static wick_status lower_bins(wick_lower *l, wick_node *node) {
    wick_operand in, weights, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    if (node->n_in > 1) WICK_TRY(wick_lower_in_contiguous(l, node, 1, &weights));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    bins_args a = {.type = node->n_in > 1 ? wick_ctype_of((wick_dtype)weights.type->dtype) : WICK_CI64,
                   .weighted = node->n_in > 1,
                   .n = wick_type_count(in.type),
                   .bins = out.type->dims[0]};
    /* Parts have bins of their own, where these are few beside what they count; one part has those of the result, if
     * they are as wide. */
    a.size = WICK_MAX(WICK_MAX(BINS_TASK, a.bins < INT64_MAX / BINS_SHARE ? a.bins * BINS_SHARE : a.bins),
                      (a.n + BINS_PARTS - 1) / BINS_PARTS);
    a.parts = WICK_MAX(1, (a.n - 1) / a.size + 1);
    const bool direct = a.parts == 1 && a.type != WICK_CF32;
    wick_ref refs[4] = {wick_lower_ref(&in, false), wick_lower_ref(&out, true), wick_lower_ref(&out, true)};
    if (!direct) {
        refs[1] = (wick_ref){.write = true};
        WICK_TRY(wick_lower_temp(l, (size_t)(a.parts * a.bins) * 8, &refs[1].buffer));
    }
    if (a.weighted) refs[3] = wick_lower_ref(&weights, false);
    const int n_refs = 3 + a.weighted;
    wick_step count = {.name = "bincount",
                       .run = run_bins,
                       .tasks = a.parts,
                       .flops = (double)a.n,
                       .bytes = (double)wick_type_bytes(in.type)};
    if (direct) return wick_lower_step(l, &count, &a, sizeof a, refs, n_refs);
    wick_step add = {.name = "bincount",
                     .run = run_add_bins,
                     .tasks = (a.bins + 1023) / 1024,
                     .bytes = (double)wick_type_bytes(out.type)};
    WICK_TRY(wick_lower_step(l, &count, &a, sizeof a, refs, n_refs));
    return wick_lower_step(l, &add, &a, sizeof a, refs, n_refs);
}
static void grad_bins(wick_gradient *g) { /* a weight goes to one bin, or to none */
    if (g->n_in < 2 || !g->need[1]) return;
    wick_tensor *x = g->in[0], *bins = wick_like(x, (double)*(const int64_t *)g->node->attr), *zero = wick_like(x, 0);
    wick_tensor *inside = wick_logical_and(wick_ge(x, zero), wick_lt(x, bins));
    if (g->node->out[0].type.dims[0] == 0) {
        g->gin[1] = wick_expand(wick_like(g->in[1], 0), wick_tensor_rank(x), wick_tensor_dims(x));
        return;
    }
    g->gin[1] = wick_where(inside, wick_gather(g->gout[0], 0, wick_where(inside, x, zero)), wick_like(g->gout[0], 0));
}
static void print_bins(wick_str *s, const wick_node *node) {
    wick_str_add(s, "bins=%lld", (long long)*(const int64_t *)node->attr);
}
static void sample_bins(wick_sample *s) {
    s->n_in = wick_sample_int(s, 1, 2);
    s->in[0].dtype = WICK_I64;
    wick_sample_dims(s, &s->in[0], 0, 2);
    s->in[1] = s->in[0];
    s->in[1].dtype = s->random() % 3 ? WICK_F64 : WICK_F32;
    s->lo[0] = -1, s->hi[0] = 5;
    s->lo[1] = -2, s->hi[1] = 2;
    const int64_t bins = wick_sample_int(s, 0, 5);
    memcpy(s->attr, &bins, s->attr_size = sizeof bins);
    s->differentiable = s->n_in == 2 && s->in[1].dtype == WICK_F64;
    if (s->n_in == 1) memset(&s->in[1], 0, sizeof s->in[1]);
}
const wick_op wick_op_bincount = {.name = "bincount",
                                  .doc = "how many integers are 0, 1, 2 ..., or the sum of their weights",
                                  .torch = "bincount",
                                  .cost = "m",
                                  .min_in = 1,
                                  .max_in = 2,
                                  .n_out = 1,
                                  .infer = infer_bins,
                                  .grad = grad_bins,
                                  .flops = wick_flops_per_input,
                                  .lower = lower_bins,
                                  .print = print_bins,
                                  .sample = sample_bins};

wick_tensor *wick_bincount_fixed(wick_tensor *x, wick_tensor *weights, int64_t bins) {
    wick_tensor *in[2] = {wick_as_index(x), weights};
    if (wick_is_bad(weights) || (wick_tensor_dtype(weights) != WICK_F16 && wick_tensor_dtype(weights) != WICK_BF16))
        return wick_record(NULL, &wick_op_bincount, weights ? 2 : 1, in, &bins, sizeof bins);
    in[1] = wick_as(weights, WICK_F32);
    return wick_as(wick_record(NULL, &wick_op_bincount, 2, in, &bins, sizeof bins), wick_tensor_dtype(weights));
}

wick_tensor *wick_bincount(wick_tensor *x, wick_tensor *weights, int64_t least) {
    if (wick_is_bad(x) || (weights && weights->error)) return wick_is_bad(x) ? x : weights;
    wick_tensor *bad = wick_needs_value(x, "bincount", "wick_bincount_fixed");
    if (bad) return bad;
    if (!wick_dtype_is_integer(wick_tensor_dtype(x)) || least < 0)
        return wick_poison(x->ctx, WICK_ERR_DTYPE, "bincount(%s): takes integers, and at least %lld bins",
                           wick_shown_of(x).text, (long long)least);
    int64_t bins = least;
    if (wick_tensor_count(x)) {
        wick_tensor *index = wick_as_index(x),
                    *ends[2] = {wick_min(index, WICK_ALL_AXES, false), wick_max(index, WICK_ALL_AXES, false)};
        double low = 0, high = 0;
        wick_status status = wick_eval(x->ctx, 2, ends, NULL);
        if (!status) status = wick_item(ends[0], &low);
        if (!status) status = wick_item(ends[1], &high);
        if (status) return wick_poison(x->ctx, status, "%s", wick_context_error(x->ctx));
        if (low < 0 || high > 0x1p40)
            return wick_poison(x->ctx, WICK_ERR_INVALID, "bincount(%s): %.0f cannot be counted", wick_shown_of(x).text,
                               low < 0 ? low : high);
        bins = WICK_MAX(bins, (int64_t)high + 1);
    }
    return wick_bincount_fixed(x, weights, bins);
}

wick_tensor *wick_histogram_edges(wick_tensor *x, wick_tensor *edges, wick_tensor *weights) {
    if (wick_is_bad(x) || wick_is_bad(edges)) return wick_is_bad(x) ? x : edges;
    if (wick_tensor_rank(edges) != 1 || wick_tensor_count(edges) < 2 ||
        wick_tensor_dtype(edges) != wick_tensor_dtype(x))
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "histogram(%s, %s): the edges must be at least 2, of x's dtype",
                           wick_shown_of(x).text, wick_shown_of(edges).text);
    const int64_t bins = wick_tensor_count(edges) - 1;
    wick_tensor *at = wick_searchsorted(edges, x, true), *last = wick_slice(edges, 0, bins, bins + 1, 1);
    if (wick_is_bad(at)) return at;
    wick_tensor *one = wick_like(at, 1), *end = wick_eq(x, wick_reshape(last, 0, NULL));
    /* below the first edge: -1 */
    return wick_bincount_fixed(wick_sub(wick_where(end, wick_like(at, (double)bins), at), one), weights, bins);
}

wick_tensor *wick_histogram(wick_tensor *x, int64_t bins, double low, double high, wick_tensor *weights,
                            wick_tensor **edges) {
    if (!wick_is_bad(x) && !wick_dtype_is_float(wick_tensor_dtype(x))) x = wick_as(x, WICK_F64);
    wick_tensor *at = x;
    if (!wick_is_bad(x) && (bins < 1 || !(low < high)))
        at = wick_poison(x->ctx, WICK_ERR_INVALID,
                         "histogram(%s): %lld bins from %g to %g; takes at least one bin, low below high",
                         wick_shown_of(x).text, (long long)bins, low, high);
    else if (!wick_is_bad(x))
        at = wick_linspace(x->ctx, wick_tensor_dtype(x), low, high, bins + 1);
    if (edges) *edges = at;
    return wick_is_bad(at) ? at : wick_histogram_edges(x, at, weights);
}
