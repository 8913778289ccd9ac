/* conv.c: convolutions over 1 to 3 dims. Three ops that are each other's gradients: from (x, w), from (y, w), from (x,
 * y). */
#include "kernels/packing.h"
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/ops.h"

/* "Convolution" as in networks: correlation. Formulas: Dumoulin, Visin 2016, "A guide to convolution arithmetic for
 * deep learning". */

/* Outputs along dim d, or below 1 when the kernel does not fit. */
static int64_t out_extent(const wick_conv_attr *a, int d, int64_t in, int64_t kernel) {
    int64_t reach, padded;
    if (wick_mul_overflows(kernel - 1, a->dilation[d], &reach) ||
        wick_add_overflows(in, a->pad[d] + a->pad_end[d], &padded))
        return 0;
    return padded - 1 < reach ? 0 : (padded - 1 - reach) / a->stride[d] + 1;
}

/* What the shapes of x, w and y have in common; the first that does not fit is named. Batches may be symbols, other
 * extents not. */
static wick_status check_shapes(wick_infer *i, const wick_conv_attr *a, const wick_type *x, const wick_type *w,
                                const wick_type *y) {
    const int rank = (int)a->rank;
    const wick_type *all[3] = {x, w, y};
    for (int k = 0; k < 3; k++) {
        if (all[k]->rank != rank + 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs tensors of one rank, 3 to 5");
        for (int d = k != 1; d < rank + 2; d++)
            if (WICK_IS_SYMBOL(all[k]->dims[d]))
                return wick_infer_fail(i, WICK_ERR_SHAPE, "only the batch may be symbolic");
    }
    if (w->dims[0] < 1 || w->dims[1] < 1) return wick_infer_fail(i, WICK_ERR_SHAPE, "there must be channels");
    if (x->dims[1] != w->dims[1] * a->groups)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld input channels, but the weights are for %lld groups of %lld",
                               (long long)x->dims[1], (long long)a->groups, (long long)w->dims[1]);
    if (w->dims[0] % a->groups || y->dims[1] != w->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "%lld output channels, but the weights are for %lld, in %lld groups",
                               (long long)y->dims[1], (long long)w->dims[0], (long long)a->groups);
    if (x->dims[0] != y->dims[0]) return wick_infer_fail(i, WICK_ERR_SHAPE, "the batches differ");
    for (int d = 0; d < rank; d++) {
        const int64_t kernel = w->dims[d + 2], n = kernel < 1 ? 0 : out_extent(a, d, x->dims[d + 2], kernel);
        if (n < 1)
            return wick_infer_fail(i, WICK_ERR_SHAPE,
                                   "a kernel of %lld with dilation %lld does not fit into %lld padded by %lld",
                                   (long long)kernel, (long long)a->dilation[d], (long long)x->dims[d + 2],
                                   (long long)(a->pad[d] + a->pad_end[d]));
        if (n != y->dims[d + 2])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "dim %d of the output is %lld, but these shapes make %lld", d + 2,
                                   (long long)y->dims[d + 2], (long long)n);
    }
    return WICK_OK;
}

static wick_status check_types(wick_infer *i) {
    const wick_conv_attr *a = i->attr;
    if (i->in[0]->dtype != i->in[1]->dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "inputs have different dtypes");
    if (i->in[0]->dtype != WICK_F32 && i->in[0]->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "there are convolutions of floats only; cast");
    if (i->in[0]->rank != a->rank + 2 || i->in[1]->rank != a->rank + 2)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [N, C, 1 to 3 dims] on both sides");
    *i->out = *i->in[0];
    return WICK_OK;
}

wick_status wick_infer_convolution(wick_infer *i, const wick_conv_attr *a, wick_dtype dtype) {
    const wick_type *x = i->in[0], *w = i->in[1];
    if (x->rank != a->rank + 2 || w->rank != a->rank + 2)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs [N, C, 1 to 3 dims] on both sides");
    *i->out = *x;
    i->out->dtype = (uint8_t)dtype;
    i->out->dims[1] = w->dims[0];
    for (int d = 0; d < a->rank; d++)
        i->out->dims[d + 2] = w->dims[d + 2] < 1 ? 0 : out_extent(a, d, x->dims[d + 2], w->dims[d + 2]);
    return check_shapes(i, a, x, w, i->out);
}

static wick_status infer_conv(wick_infer *i) {
    WICK_TRY(check_types(i));
    const wick_type *x = i->in[0], *w = i->in[1];
    if (i->n_in == 3 && (i->in[2]->rank != 1 || i->in[2]->dims[0] != w->dims[0] || i->in[2]->dtype != x->dtype))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the bias must be of the same dtype, one number an output channel");
    return wick_infer_convolution(i, i->attr, (wick_dtype)x->dtype);
}
static wick_status infer_conv_data(wick_infer *i) {
    const wick_conv_attr *a = i->attr;
    WICK_TRY(check_types(i));
    i->out->dims[1] = i->in[1]->dims[1] * a->groups;
    for (int d = 0; d < a->rank; d++) i->out->dims[d + 2] = a->extent[d];
    return check_shapes(i, a, i->out, i->in[1], i->in[0]);
}
static wick_status infer_conv_weight(wick_infer *i) {
    const wick_conv_attr *a = i->attr;
    WICK_TRY(check_types(i));
    i->out->dims[0] = i->in[1]->dims[1];
    i->out->dims[1] = i->in[0]->dims[1] / a->groups;
    for (int d = 0; d < a->rank; d++) i->out->dims[d + 2] = a->extent[d];
    return check_shapes(i, a, i->in[0], i->out, i->in[1]);
}

/* Types of x, w, y by the op. */
static void types_of(const wick_node *n, const wick_type *t[3]) {
    const wick_type *out = &n->out[0].type, *a = &n->in[0]->type, *b = &n->in[1]->type;
    t[0] = n->op == &wick_op_conv_data ? out : a;
    t[1] = n->op == &wick_op_conv_weight ? out : b;
    t[2] = n->op == &wick_op_conv ? out : n->op == &wick_op_conv_data ? a : b;
}
static double flops_conv(const wick_node *n) { /* products that padding makes zero are counted */
    const wick_type *t[3];
    types_of(n, t);
    return 2.0 * (double)wick_type_count(t[2]) * (double)(wick_type_count(t[1]) / t[1]->dims[0]) +
           (n->n_in == 3 ? (double)wick_type_count(t[2]) : 0);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static wick_tensor *record_like(const wick_gradient *g, const wick_op *op, wick_tensor *a, wick_tensor *b,
                                const wick_type *extents) {
    wick_conv_attr attr = *(const wick_conv_attr *)g->node->attr;
    memset(attr.extent, 0, sizeof attr.extent);
    for (int d = 0; extents && d < attr.rank; d++) attr.extent[d] = extents->dims[d + 2];
    return wick_record(NULL, op, 2, (wick_tensor *[]){a, b}, &attr, sizeof attr);
}
static void grad_conv(wick_gradient *g) {
    if (g->need[0]) g->gin[0] = record_like(g, &wick_op_conv_data, g->gout[0], g->in[1], &g->node->in[0]->type);
    if (g->need[1]) g->gin[1] = record_like(g, &wick_op_conv_weight, g->in[0], g->gout[0], &g->node->in[1]->type);
    if (g->n_in == 3 && g->need[2]) {
        static const int axes[] = {0, 2, 3, 4};
        g->gin[2] = wick_sum(g->gout[0], wick_tensor_rank(g->gout[0]) - 1, axes, false);
    }
}
static void grad_conv_data(wick_gradient *g) {
    if (g->need[0]) g->gin[0] = record_like(g, &wick_op_conv, g->gout[0], g->in[1], NULL);
    if (g->need[1]) g->gin[1] = record_like(g, &wick_op_conv_weight, g->gout[0], g->in[0], &g->node->in[1]->type);
}
static void grad_conv_weight(wick_gradient *g) {
    if (g->need[0]) g->gin[0] = record_like(g, &wick_op_conv_data, g->in[1], g->gout[0], &g->node->in[0]->type);
    if (g->need[1]) g->gin[1] = record_like(g, &wick_op_conv, g->in[0], g->gout[0], NULL);
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

static int64_t run_stage(const wick_step_conv *a, int stage, void *const *ptr, int64_t begin, int64_t end,
                         void *scratch) {
    void *p[WICK_STEP_CONV_REFS];
    for (int i = 0; i < WICK_STEP_CONV_REFS; i++) p[i] = a->at[i] ? ptr[a->at[i] - 1] : NULL;
    for (int64_t stop; begin < end; begin = stop) { /* with an epilogue task by task */
        stop = a->epilogue.program ? begin + 1 : end;
        wick_conv_run(&a->conv, stage, begin, stop, p[WICK_STEP_CONV_A], p[WICK_STEP_CONV_B], p[WICK_STEP_CONV_BIAS],
                      p[WICK_STEP_CONV_DST], p[WICK_STEP_CONV_SHARED], scratch);
        const int64_t channels = a->conv.groups * a->conv.co, per_task = a->conv.per_task;
        for (int64_t unit = begin * per_task; a->epilogue.program && unit < WICK_MIN(a->conv.units, stop * per_task);
             unit++) {
            int64_t first, count;
            wick_conv_unit_pixels(&a->conv, unit, &first, &count);
            wick_epilogue_run(&a->epilogue, first * channels, 1, 0, count * channels, ptr, scratch);
        }
    }
    return -1;
}
static int64_t run_pack(const void *a, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    return run_stage(a, 0, ptr, begin, end, scratch);
}
static int64_t run_main(const void *a, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    return run_stage(a, 1, ptr, begin, end, scratch);
}
static int64_t run_sum(const void *a, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    return run_stage(a, 2, ptr, begin, end, scratch);
}

/* An image as it lies, where kernels take it so, else with its channels last. */
static wick_status in_image(wick_lower *l, const wick_node *node, int i, bool planes, wick_operand *out,
                            bool *is_planes) {
    *out = wick_lower_in(l, node, i);
    wick_layout last;
    wick_layout_channels_last(&last, out->type);
    *is_planes = planes && wick_layout_is_contiguous(&out->layout, out->type) &&
                 !wick_layout_equal(&out->layout, &last, out->type);
    return *is_planes ? WICK_OK : wick_lower_in_channels_last(l, node, i, out);
}
/* Whether what comes out is better row-major: a result of the plan. */
static bool is_result(const wick_lower *l, const wick_node *node) {
    const int32_t r = l->result[node->out[0].id];
    return r >= 0 && l->results[r].leaf < 0;
}

/* The pixels that a convolution of one tap reads, with channels last: with strides a copy of them. */
static wick_status in_pixels(wick_lower *l, wick_node *node, wick_operand *out) {
    const wick_conv_attr *attr = node->attr;
    const wick_type *y = &node->out[0].type;
    bool all = true;
    for (int d = 0; d < attr->rank; d++) all &= attr->stride[d] == 1;
    if (all) return wick_lower_in_channels_last(l, node, 0, out);
    wick_operand from = wick_lower_in(l, node, 0);
    wick_type *type = wick_arena_alloc(l->arena, sizeof *type);
    if (!type) return wick_msg_set(l->msg, WICK_ERR_NOMEM, "out of memory while planning");
    *type = *from.type;
    for (int d = 0; d < attr->rank; d++) {
        type->dims[d + 2] = y->dims[d + 2];
        from.layout.strides[d + 2] *= attr->stride[d];
    }
    from.type = out->type = type;
    wick_layout_channels_last(&out->layout, type);
    WICK_TRY(wick_lower_temp(l, wick_type_bytes(type), &out->buffer));
    return wick_lower_copy(l, &from, out);
}

/* A convolution of one tap with sparse weights is a product: rows are pixels. *dense says why it isn't one; else it is
 * lowered. Sums go by the blocks of convolutions. */
static wick_status lower_sparse(wick_lower *l, wick_node *node, const char **dense) {
    const wick_conv_attr *attr = node->attr;
    const wick_type *x = &node->in[0]->type, *w = &node->in[1]->type, *y = &node->out[0].type;
    *dense = "it is no product of all pixels with weights";
    if (node->op != &wick_op_conv || attr->groups != 1) return WICK_OK;
    for (int d = 0; d < attr->rank; d++)
        if (w->dims[d + 2] != 1 || attr->pad[d] || attr->pad_end[d]) return WICK_OK;
    wick_gemm g;
    memset(&g, 0, sizeof g);
    g.type = wick_ctype_of((wick_dtype)x->dtype);
    g.k = w->dims[1];
    g.n = g.c_row = w->dims[0];
    g.m = g.n ? wick_type_count(y) / g.n : 0;
    g.a_row = g.b_col = g.k;
    g.a_col = g.b_row = 1;
    g.bias = node->n_in == 3;
    g.relu = attr->relu;
    *dense = wick_lower_sparse(l, node->in[1], 1, 0, WICK_SPARSE_CONV_BLOCK, &g);
    if (*dense) return WICK_OK;
    wick_operand a, b, c, bias;
    WICK_TRY(in_pixels(l, node, &a));
    WICK_TRY(wick_lower_in_contiguous(l, node, 1, &b));
    WICK_TRY(wick_lower_out_channels_last(l, node, 0, &c));
    wick_ref refs[5] = {wick_lower_ref(&a, false), wick_lower_ref(&b, false), wick_lower_ref(&c, true)};
    if (g.bias) {
        WICK_TRY(wick_lower_in_contiguous(l, node, 2, &bias));
        refs[3] = wick_lower_ref(&bias, false);
    }
    return wick_lower_sparse_rows(l, &g, refs);
}

static wick_status lower_conv(wick_lower *l, wick_node *node) {
    const char *dense;
    WICK_TRY(lower_sparse(l, node, &dense));
    if (!dense) return WICK_OK;
    const wick_conv_attr *attr = node->attr;
    const wick_type *t[3];
    types_of(node, t);
    wick_operand a, b, c, bias;
    const bool weight = node->op == &wick_op_conv_weight; /* made from two images; otherwise it is input 1 */
    wick_step_conv m;
    memset(&m, 0, sizeof m);
    wick_convolution *k = &m.conv;
    k->type = wick_ctype_of((wick_dtype)t[0]->dtype);
    k->what = node->op == &wick_op_conv        ? WICK_CONV_FORWARD
              : node->op == &wick_op_conv_data ? WICK_CONV_DATA
                                               : WICK_CONV_WEIGHT;
    k->batch = t[0]->dims[0];
    k->groups = attr->groups;
    k->ci = t[1]->dims[1];
    k->co = t[1]->dims[0] / attr->groups;
    for (int d = 0; d < 3; d++) {
        const int at = d - (3 - (int)attr->rank);
        k->in[d] = at < 0 ? 1 : t[0]->dims[at + 2];
        k->kernel[d] = at < 0 ? 1 : t[1]->dims[at + 2];
        k->out[d] = at < 0 ? 1 : t[2]->dims[at + 2];
        k->stride[d] = at < 0 ? 1 : attr->stride[at];
        k->dilation[d] = at < 0 ? 1 : attr->dilation[at];
        k->pad[d] = at < 0 ? 0 : attr->pad[at];
    }
    k->bias = node->n_in == 3;
    k->relu = attr->relu;
    const bool planes = wick_conv_takes_planes(k, 1);
    WICK_TRY(in_image(l, node, 0, wick_conv_takes_planes(k, 0), &a, &k->planes[0]));
    WICK_TRY(weight ? in_image(l, node, 1, planes, &b, &k->planes[1]) : wick_lower_in_contiguous(l, node, 1, &b));
    if (weight || (planes && is_result(l, node))) {
        WICK_TRY(wick_lower_out(l, node, 0, &c));
        k->planes[1] |= !weight;
    } else {
        WICK_TRY(wick_lower_out_channels_last(l, node, 0, &c));
    }
    wick_conv_prepare(k, &l->ctx->tuning);
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        int n = wick_conv_rejected(k, &l->ctx->tuning, rejected);
        if (node->op == &wick_op_conv && k->groups == 1) rejected[n++] = (wick_rejected){"sparse", dense};
        wick_lower_remark(l, node, wick_conv_name(k), n, rejected);
    }
    wick_ref all[WICK_STEP_CONV_REFS] = {[WICK_STEP_CONV_A] = wick_lower_ref(&a, false),
                                         [WICK_STEP_CONV_B] = wick_lower_ref(&b, false),
                                         [WICK_STEP_CONV_DST] = wick_lower_ref(&c, true)};
    if (k->bias) {
        WICK_TRY(wick_lower_in_contiguous(l, node, 2, &bias));
        all[WICK_STEP_CONV_BIAS] = wick_lower_ref(&bias, false);
    }
    if (k->shared) WICK_TRY(wick_lower_temp(l, k->shared, &all[WICK_STEP_CONV_SHARED].buffer));
    static const wick_step_fn run[3] = {run_pack, run_main, run_sum};
    static const char *const names[3] = {"conv_pack", NULL, "conv_sum"};
    const double moved = (double)(wick_type_bytes(t[0]) + wick_type_bytes(t[1]) + wick_type_bytes(t[2]));
    /* The output is written by the last stage; what the stages share by each but the last. */
    const int last = k->tasks[2] ? 2 : 1;
    for (int stage = 0; stage < 3; stage++) {
        if (!k->tasks[stage]) continue;
        wick_step step = {.name = stage == 1 ? wick_conv_name(k) : names[stage],
                          .run = run[stage],
                          .tasks = k->tasks[stage],
                          .kind = stage == 0   ? WICK_STEP_PACK
                                  : stage == 1 ? WICK_STEP_CONV
                                               : WICK_STEP_CONV_SUM,
                          .scratch = stage == 1 ? k->scratch : 0,
                          .packs = stage == 0,
                          .flops = stage == 1 ? flops_conv(node) : 0,
                          .bytes = stage == 1 ? moved : 2 * (double)k->shared};
        const bool uses[WICK_STEP_CONV_REFS] = {stage == 1, stage < 2, stage == 1 && k->bias, stage == last,
                                                k->shared > 0};
        wick_ref refs[WICK_STEP_CONV_REFS];
        int n_refs = 0;
        all[WICK_STEP_CONV_SHARED].write = stage < last;
        for (int i = 0; i < WICK_STEP_CONV_REFS; i++) {
            m.at[i] = uses[i] ? n_refs + 1 : 0;
            if (uses[i]) refs[n_refs++] = all[i];
        }
        wick_step_conv args = m;
        if (stage == 0) wick_conv_keep_packing(&args.conv);
        WICK_TRY(wick_lower_step(l, &step, &args, sizeof args, refs, n_refs));
    }
    return WICK_OK;
}

static void print_conv(wick_str *s, const wick_node *node) {
    const wick_conv_attr *a = node->attr;
    const struct {
        const char *name;
        const int64_t *v, usual;
    } lists[] = {
        {"stride", a->stride, 1}, {"dilation", a->dilation, 1}, {"pad", a->pad, 0}, {"pad_end", a->pad_end, 0}};
    const char *space = "";
    for (size_t k = 0; k < WICK_COUNTOF(lists); k++) {
        bool usual = true;
        for (int d = 0; d < a->rank; d++) usual &= lists[k].v[d] == (k == 3 ? a->pad[d] : lists[k].usual);
        if (usual) continue;
        wick_str_add(s, "%s%s=", space, lists[k].name);
        for (int d = 0; d < a->rank; d++) wick_str_add(s, "%s%lld", d ? "," : "", (long long)lists[k].v[d]);
        space = " ";
    }
    if (a->groups != 1) wick_str_add(s, "%sgroups=%lld", space, (long long)a->groups), space = " ";
    if (a->relu) wick_str_add(s, "%srelu", space);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A random convolution: attr, and the types of x, w and y. */
static void sample_shapes(wick_sample *s, wick_type t[3]) {
    wick_conv_attr a;
    memset(&a, 0, sizeof a);
    a.rank = wick_sample_int(s, 1, 3);
    a.groups = s->random() % 3 ? 1 : 2;
    const uint8_t dtype = s->random() % 3 ? WICK_F64 : WICK_F32;
    const int64_t ci = wick_sample_int(s, 1, 3), co = wick_sample_int(s, 1, 3) * a.groups,
                  batch = s->random() % 8 ? wick_sample_int(s, 1, 2) : 0;
    for (int k = 0; k < 3; k++) t[k] = (wick_type){.dtype = dtype, .rank = (uint8_t)(a.rank + 2)};
    t[0].dims[0] = t[2].dims[0] = batch;
    t[0].dims[1] = ci * a.groups;
    t[1].dims[0] = t[2].dims[1] = co;
    t[1].dims[1] = ci;
    for (int d = 0; d < a.rank; d++) {
        const int64_t kernel = wick_sample_int(s, 1, 3), most = a.rank == 3 ? 4 : 7;
        a.stride[d] = wick_sample_int(s, 1, 3);
        a.dilation[d] = wick_sample_int(s, 1, 2);
        a.pad[d] = wick_sample_int(s, 0, 3);
        a.pad_end[d] = wick_sample_int(s, 0, 2);
        int64_t in = wick_sample_int(s, 1, (int)most);
        while (out_extent(&a, d, in, kernel) < 1) in++;
        t[0].dims[d + 2] = in;
        t[1].dims[d + 2] = kernel;
        t[2].dims[d + 2] = out_extent(&a, d, in, kernel);
    }
    memcpy(s->attr, &a, sizeof a);
    s->attr_size = sizeof a;
    s->n_in = 2;
    for (int k = 0; k < 3; k++) s->lo[k] = -2, s->hi[k] = 2;
    s->differentiable = dtype == WICK_F64;
}
static void sample_extents(wick_sample *s, const wick_type *t) {
    wick_conv_attr a;
    memcpy(&a, s->attr, sizeof a);
    for (int d = 0; d < a.rank; d++) a.extent[d] = t->dims[d + 2];
    memcpy(s->attr, &a, sizeof a);
}
static void sample_conv(wick_sample *s) {
    wick_type t[3];
    sample_shapes(s, t);
    s->in[0] = t[0];
    s->in[1] = t[1];
    if (s->random() % 2) {
        s->in[2] = (wick_type){.dtype = t[0].dtype, .rank = 1, .dims = {t[1].dims[0]}};
        s->n_in = 3;
    }
}
static void sample_conv_data(wick_sample *s) {
    wick_type t[3];
    sample_shapes(s, t);
    sample_extents(s, &t[0]);
    s->in[0] = t[2];
    s->in[1] = t[1];
}
static void sample_conv_weight(wick_sample *s) {
    wick_type t[3];
    sample_shapes(s, t);
    sample_extents(s, &t[1]);
    s->in[0] = t[0];
    s->in[1] = t[2];
}

const wick_op wick_op_conv = {.name = "conv",
                              .doc = "convolution over 1 to 3 dims",
                              .onnx = "Conv",
                              .torch = "conv1d, conv2d, conv3d",
                              .cost = "2 n (channels / groups) taps; with a bias n more",
                              .min_in = 2,
                              .max_in = 3,
                              .n_out = 1,
                              .infer = infer_conv,
                              .grad = grad_conv,
                              .flops = flops_conv,
                              .lower = lower_conv,
                              .print = print_conv,
                              .sample = sample_conv};
const wick_op wick_op_conv_data = {.name = "conv_data",
                                   .doc = "transposed convolution: a convolution's gradient of its input",
                                   .onnx = "ConvTranspose",
                                   .torch = "conv_transpose1d, ...2d, ...3d",
                                   .cost = "the convolution's",
                                   .min_in = 2,
                                   .max_in = 2,
                                   .n_out = 1,
                                   .infer = infer_conv_data,
                                   .grad = grad_conv_data,
                                   .flops = flops_conv,
                                   .lower = lower_conv,
                                   .print = print_conv,
                                   .sample = sample_conv_data};
const wick_op wick_op_conv_weight = {.name = "conv_weight",
                                     .doc = "a convolution's gradient of its weights",
                                     .torch = "nn.grad.conv2d_weight",
                                     .cost = "the convolution's",
                                     .min_in = 2,
                                     .max_in = 2,
                                     .n_out = 1,
                                     .infer = infer_conv_weight,
                                     .grad = grad_conv_weight,
                                     .flops = flops_conv,
                                     .lower = lower_conv,
                                     .print = print_conv,
                                     .sample = sample_conv_weight};

/* ---- public ------------------------------------------------------------------------------------------------------ */

/* The gradient of the input is a convolution for each place that a stride passes over. */
enum { CONV_STRIDE = 1024 };

wick_tensor *wick_conv_attr_of(wick_context *ctx, const char *op, const wick_conv_options *o, int rank,
                               wick_conv_attr *a) {
    static const wick_conv_options plain;
    if (!o) o = &plain;
    memset(a, 0, sizeof *a);
    a->rank = rank - 2;
    a->groups = o->groups ? o->groups : 1;
    if (a->rank < 1 || a->rank > 3)
        return wick_poison(ctx, WICK_ERR_SHAPE, "%s: needs [N, C, 1 to 3 dims], not %d dims", op, rank);
    if (a->groups < 1) return wick_poison(ctx, WICK_ERR_INVALID, "%s: %lld groups", op, (long long)a->groups);
    for (int d = 0; d < 3; d++) {
        const int64_t stride = o->stride[d] ? o->stride[d] : 1, dilation = o->dilation[d] ? o->dilation[d] : 1,
                      end = o->pad[d] + o->pad_end[d];
        if (d >= a->rank && (stride != 1 || dilation != 1 || o->pad[d] || o->pad_end[d] || o->output_pad[d]))
            return wick_poison(ctx, WICK_ERR_INVALID, "%s: options for %d dims, but x [N, C, dims] has %lld", op, d + 1,
                               (long long)a->rank);
        if (stride < 1 || dilation < 1 || stride > CONV_STRIDE || dilation > INT32_MAX)
            return wick_poison(ctx, WICK_ERR_INVALID, "%s: stride %lld, dilation %lld; strides are 1 to %d", op,
                               (long long)stride, (long long)dilation, CONV_STRIDE);
        if (o->pad[d] < 0 || o->pad[d] > INT32_MAX || o->pad_end[d] < -o->pad[d] || o->pad_end[d] > INT32_MAX)
            return wick_poison(ctx, WICK_ERR_INVALID, "%s: padding of %lld and %lld", op, (long long)o->pad[d],
                               (long long)end);
        if (d >= a->rank) continue;
        a->stride[d] = stride;
        a->dilation[d] = dilation;
        a->pad[d] = o->pad[d];
        a->pad_end[d] = end;
    }
    return NULL;
}

/* f16 and bf16 are computed in f32 and rounded once. */
static wick_tensor *record_conv(const wick_op *op, wick_tensor *x, wick_tensor *w, wick_tensor *bias,
                                const wick_conv_attr *a) {
    const wick_dtype d = wick_tensor_dtype(x);
    const bool half = d == WICK_F16 || d == WICK_BF16;
    wick_tensor *in[3] = {x, w, bias};
    if (half && bias && !bias->error && wick_tensor_dtype(bias) != d)
        return wick_poison(x->ctx, WICK_ERR_DTYPE,
                           "%s: the bias must be of the same dtype, one number an output channel", op->name);
    for (int k = 0; k < 3; k++)
        if (half && in[k]) in[k] = wick_as(in[k], WICK_F32);
    wick_tensor *y = wick_record(NULL, op, bias ? 3 : 2, in, a, sizeof *a);
    return half ? wick_as(y, d) : y;
}

wick_tensor *wick_conv(wick_tensor *x, wick_tensor *w, wick_tensor *bias, const wick_conv_options *options) {
    wick_conv_attr a;
    if (!wick_promote_pair(&x, &w, "conv")) return wick_record(NULL, &wick_op_conv, 1, &x, NULL, 0);
    wick_tensor *poison = wick_conv_attr_of(x->ctx, "conv", options, wick_tensor_rank(x), &a);
    if (poison) return poison;
    for (int d = 0; options && d < 3; d++)
        if (options->output_pad[d])
            return wick_poison(x->ctx, WICK_ERR_INVALID, "conv: output_pad is of transposed convolutions");
    return record_conv(&wick_op_conv, x, w, bias, &a);
}

wick_tensor *wick_conv_transpose(wick_tensor *x, wick_tensor *w, wick_tensor *bias, const wick_conv_options *options) {
    wick_conv_attr a;
    if (!wick_promote_pair(&x, &w, "conv_transpose")) return wick_record(NULL, &wick_op_conv_data, 1, &x, NULL, 0);
    wick_tensor *poison = wick_conv_attr_of(x->ctx, "conv_transpose", options, wick_tensor_rank(x), &a);
    if (poison) return poison;
    for (int d = 0; d < a.rank && wick_tensor_rank(w) == a.rank + 2; d++) {
        const int64_t more = options ? options->output_pad[d] : 0, n = wick_tensor_dims(x)[d + 2],
                      kernel = wick_tensor_dims(w)[d + 2];
        if (more < 0 || more >= a.stride[d])
            return wick_poison(x->ctx, WICK_ERR_INVALID, "conv_transpose: output_pad %lld needs a larger stride",
                               (long long)more);
        if (n < 1 || kernel < 1 || n > INT32_MAX || kernel > INT32_MAX)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "conv_transpose: dim %d of x is %lld, of the kernel %lld", d + 2,
                               (long long)n, (long long)kernel);
        a.extent[d] = (n - 1) * a.stride[d] - a.pad[d] - a.pad_end[d] + a.dilation[d] * (kernel - 1) + more + 1;
        if (a.extent[d] < 1)
            return wick_poison(x->ctx, WICK_ERR_SHAPE, "conv_transpose: the padding leaves nothing of dim %d", d + 2);
    }
    wick_tensor *y = record_conv(&wick_op_conv_data, x, w, NULL, &a);
    if (!bias || !y || y->error) return y;
    if (bias->error) return bias;
    if (wick_tensor_rank(bias) != 1 || wick_tensor_dim(bias, 0) != wick_tensor_dim(y, 1) ||
        wick_tensor_dtype(bias) != wick_tensor_dtype(y))
        return wick_poison(x->ctx, WICK_ERR_SHAPE,
                           "conv_transpose: the bias must be %s[%lld], one number an output channel",
                           wick_dtype_name(wick_tensor_dtype(y)), (long long)wick_tensor_dim(y, 1));
    return wick_add(y, wick_reshape(bias, (int)a.rank + 1, (const int64_t[]){-1, 1, 1, 1}));
}
