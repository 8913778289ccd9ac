/* update.c: a part of a tensor at a place that is known when it runs is overwritten. */
#include "ops/ops.h"
#include "wick/index.h"

static wick_status infer_update(wick_infer *i) {
    const int64_t axis = ((const update_attr *)i->attr)->axis;
    const wick_type *x = i->in[0], *values = i->in[1];
    if (i->in[2]->dtype != WICK_I64) return wick_infer_fail(i, WICK_ERR_DTYPE, "start must be an integer");
    if (wick_type_count(i->in[2]) != 1) return wick_infer_fail(i, WICK_ERR_SHAPE, "start must be one number");
    if (x->dtype != values->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "x and values have different dtypes; cast");
    bool fits = x->rank == values->rank && x->rank > axis;
    for (int d = 0; d < x->rank && fits; d++)
        fits = d == axis ? values->dims[d] <= x->dims[d] : values->dims[d] == x->dims[d];
    if (!fits)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "values must have x's dims, and at most as many places in axis %d",
                               (int)axis);
    *i->out = *x;
    return WICK_OK;
}

typedef struct update_args {
    wick_copy copy;
    int64_t most, slice; /* the largest start; bytes from one place of the axis to the next */
} update_args;
static int64_t run_update(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const update_args *a = args;
    const int64_t start = *(const int64_t *)ptr[1];
    if (start < 0 || start > a->most) return WICK_MAX(start, 0);
    wick_copy_run(&a->copy, begin, end, ptr[0], (char *)ptr[2] + start * a->slice);
    return -1;
}

static int64_t bad_start(const void *args, void *const *ptr, int64_t at, int64_t *extent) {
    (void)at;
    *extent = ((const update_args *)args)->most;
    return *(const int64_t *)ptr[1];
}

/* Whether values can be written into x's memory: that of a state which the result becomes, with nobody reading the old
 * version any more, or of an intermediate that ends here. */
static bool in_place(const wick_lower *l, const wick_node *node, const wick_operand *x) {
    const int32_t result = l->result[node->out[0].id];
    const wick_buffer *b = &l->buffers[x->buffer];
    if (l->last_use[l->root[node->in[0]->id]] > node->position || !wick_layout_is_contiguous(&x->layout, x->type) ||
        x->layout.offset)
        return false;
    if (wick_type_bytes(x->type) != b->size) return false; /* a view of something larger */
    if (b->kind == WICK_BUFFER_TEMP) return result < 0;
    return b->kind == WICK_BUFFER_LEAF && ((const update_attr *)node->attr)->grows && result >= 0 &&
           l->results[result].leaf == (int32_t)b->index;
}

static wick_status lower_update(wick_lower *l, wick_node *node) {
    const int64_t axis = ((const update_attr *)node->attr)->axis;
    wick_operand x = wick_lower_in(l, node, 0), values = wick_lower_in(l, node, 1), start = wick_lower_in(l, node, 2),
                 out = x;
    if (in_place(l, node, &x))
        wick_lower_set(l, node, 0, x);
    else {
        WICK_TRY(wick_lower_out(l, node, 0, &out));
        WICK_TRY(wick_lower_copy(l, &x, &out));
    }
    update_args a;
    memset(&a, 0, sizeof a);
    a.copy.rank = values.type->rank;
    a.copy.src = a.copy.dst = (wick_dtype)values.type->dtype;
    for (int d = 0; d < a.copy.rank; d++) {
        a.copy.dims[d] = values.type->dims[d];
        a.copy.src_strides[d] = values.layout.strides[d];
        a.copy.dst_strides[d] = out.layout.strides[d];
    }
    a.most = x.type->dims[axis] - values.type->dims[axis];
    a.slice = out.layout.strides[axis] * (int64_t)wick_dtype_size(a.copy.dst);
    const wick_step step = {.name = "update_slice",
                            .run = run_update,
                            .tasks = wick_copy_tasks(&a.copy),
                            .bytes = 2.0 * (double)wick_type_bytes(values.type),
                            .fault = WICK_ERR_INDEX,
                            .fault_text =
                                "there is no room for the values at %lld: they begin at %lld, the last place is %lld",
                            .fault_at = bad_start};
    WICK_TRY(wick_lower_step(
        l, &step, &a, sizeof a,
        (wick_ref[]){wick_lower_ref(&values, false), wick_lower_ref(&start, false), wick_lower_ref(&out, true)}, 3));
    l->steps[l->n_steps - 1].commits = false; /* nobody sees it before start is moved */
    return WICK_OK;
}

/* start + 0, 1 ... n - 1: where the values lie. */
static wick_tensor *places(wick_tensor *start, int64_t n) {
    return wick_add(wick_positions(start->ctx, WICK_I64, n), wick_reshape(start, 1, (const int64_t[]){1}));
}
static void grad_update(wick_gradient *g) {
    const update_attr *attr = g->node->attr;
    const wick_type *values = &g->node->in[1]->type;
    const update_attr fresh = {.axis = attr->axis};
    if (g->need[0]) {
        wick_tensor *zeros = wick_expand(wick_like(g->gout[0], 0), values->rank, values->dims);
        g->gin[0] = wick_record(NULL, &wick_op_update_slice, 3, (wick_tensor *[]){g->gout[0], zeros, g->in[2]}, &fresh,
                                sizeof fresh);
    }
    if (g->need[1]) g->gin[1] = wick_gather(g->gout[0], (int)attr->axis, places(g->in[2], values->dims[attr->axis]));
}

static void print_update(wick_str *s, const wick_node *node) {
    const update_attr *attr = node->attr;
    wick_str_add(s, "axis=%d%s", (int)attr->axis, attr->grows ? " grows" : "");
}
static void sample_update(wick_sample *s) {
    const bool exact = s->random() % 3;
    const int64_t most = wick_sample_int(s, 1, 4), n = wick_sample_int(s, 0, most - 1), rows = wick_sample_int(s, 0, 3),
                  cols = wick_sample_int(s, 1, 3);
    s->n_in = 3;
    s->in[0] = (wick_type){.dtype = exact ? WICK_F64 : WICK_U8, .rank = 3, .dims = {rows, most, cols}};
    s->in[1] = (wick_type){.dtype = exact ? WICK_F64 : WICK_U8, .rank = 3, .dims = {rows, n, cols}};
    s->in[2] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {1}};
    s->lo[0] = s->lo[1] = exact ? -2 : 0, s->hi[0] = s->hi[1] = 2;
    s->lo[2] = 0, s->hi[2] = (double)(most - n);
    const update_attr attr = {1, (int64_t)(s->random() & 1)};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->differentiable = exact;
}
const wick_op wick_op_update_slice = {.name = "update_slice",
                                      .doc =
                                          "x with values in place of its slices from a place that is known at run time",
                                      .cost = "0",
                                      .min_in = 3,
                                      .max_in = 3,
                                      .n_out = 1,
                                      .flags = WICK_OP_MOVES | WICK_OP_FAULTS,
                                      .infer = infer_update,
                                      .grad = grad_update,
                                      .flops = wick_no_flops,
                                      .lower = lower_update,
                                      .print = print_update,
                                      .sample = sample_update};

wick_tensor *wick_record_update(wick_tensor *x, wick_tensor *values, int axis, wick_tensor *start, bool grows) {
    update_attr attr = {.grows = grows};
    if (x && !x->error && (attr.axis = wick_axis(axis, wick_tensor_rank(x))) < 0)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "update_slice: axis %d of a %d-d tensor", axis, wick_tensor_rank(x));
    return wick_record(NULL, &wick_op_update_slice, 3, (wick_tensor *[]){x, values, wick_as_index(start)}, &attr,
                       sizeof attr);
}
wick_tensor *wick_update_slice(wick_tensor *x, wick_tensor *values, int axis, wick_tensor *start) {
    return wick_record_update(x, values, axis, start, false);
}
