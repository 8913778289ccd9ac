/* int8.c: products of 8-bit integers, of matrices and as convolutions, in 32 bits, floats or quantised again. */
#include <math.h>

#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/pointwise.h"
#include "wick/quantize.h"

static bool is_byte(const wick_type *t) { return t->dtype == WICK_U8 || t->dtype == WICK_I8; }

/* The number of optional input `which` among a node's inputs, or -1. */
static int input_of(const wick_int8_attr *a, int which) {
    int at = 2;
    if (!(a->has >> which & 1)) return -1;
    for (int k = 0; k < which; k++) at += a->has >> k & 1;
    return at;
}

static wick_status check_optional(wick_infer *i, const wick_int8_attr *a, int64_t columns) {
    static const char *const names[WICK_INT8_OPTIONAL] = {
        "the zero point of a",     "the zero point of b",          "the scale of a", "the scale of b",
        "the scale of the result", "the zero point of the result", "the bias"};
    const uint8_t dtypes[WICK_INT8_OPTIONAL] = {
        i->in[0]->dtype, i->in[1]->dtype, WICK_F32, WICK_F32, WICK_F32, a->result == WICK_INT8_I8 ? WICK_I8 : WICK_U8,
        WICK_I32};
    const int64_t scales = 1 << WICK_INT8_A_SCALE | 1 << WICK_INT8_B_SCALE, quantised = 1 << WICK_INT8_SCALE,
                  more = quantised | 1 << WICK_INT8_ZERO;
    const int64_t least = a->result == WICK_INT8_I32 ? 0 : a->result == WICK_INT8_F32 ? scales : scales | quantised;
    const int64_t most =
        3 | (a->result == WICK_INT8_I32 ? 0 : scales | 1 << WICK_INT8_BIAS | (a->result == WICK_INT8_F32 ? 0 : more));
    int n = 2;
    for (int k = 0; k < WICK_INT8_OPTIONAL; k++) n += a->has >> k & 1;
    if ((a->has & least) != least || (a->has & ~most) || n != i->n_in)
        return wick_infer_fail(i, WICK_ERR_INVALID,
                               "sums take zero points only, real results both scales, quantised ones also their own");
    for (int k = 0; k < WICK_INT8_OPTIONAL; k++) {
        const int at = input_of(a, k);
        if (at < 0) continue;
        const wick_type *t = i->in[at];
        const bool each = t->rank == 1 && t->dims[0] == columns &&
                          (k == WICK_INT8_B_ZERO || k == WICK_INT8_B_SCALE || k == WICK_INT8_BIAS);
        if (t->dtype != dtypes[k] && !(k == WICK_INT8_BIAS && t->dtype == WICK_F32))
            return wick_infer_fail(i, WICK_ERR_DTYPE, "%s must be %s", names[k],
                                   wick_dtype_name((wick_dtype)dtypes[k]));
        if (!each && (t->rank || k == WICK_INT8_BIAS))
            return wick_infer_fail(i, WICK_ERR_SHAPE, "%s must be %s", names[k],
                                   k == WICK_INT8_BIAS ? "one number a column" : "one number (of b: or one a column)");
    }
    return WICK_OK;
}

static wick_status infer(wick_infer *i, bool conv) {
    const wick_int8_attr *a = i->attr;
    static const wick_dtype dtypes[] = {WICK_I32, WICK_F32, WICK_U8, WICK_I8};
    if (!is_byte(i->in[0]) || !is_byte(i->in[1])) return wick_infer_fail(i, WICK_ERR_DTYPE, "takes u8 and i8");
    WICK_TRY(conv ? wick_infer_convolution(i, &a->conv, dtypes[a->result]) : wick_infer_product(i, dtypes[a->result]));
    return check_optional(i, a, i->out->dims[conv ? 1 : i->out->rank - 1]);
}
static wick_status infer_matmul(wick_infer *i) { return infer(i, false); }
static wick_status infer_conv(wick_infer *i) { return infer(i, true); }

static double flops(const wick_node *n) {
    const wick_type *a = &n->in[0]->type, *b = &n->in[1]->type;
    const double k =
        n->op == &wick_op_int8_conv ? (double)(wick_type_count(b) / b->dims[0]) : (double)a->dims[a->rank - 1];
    return (double)wick_type_count(&n->out[0].type) * 2.0 * k;
}

/* ---- lowering ---------------------------------------------------------------------------------------------------- */

_Static_assert(WICK_INT8_AT_BIAS == WICK_INT8_AT_A_ZERO + WICK_INT8_BIAS,
               "optional inputs are in the order that a node has them in");
static wick_int8_data data_of(const wick_step_int8 *m, void *const *ptr) {
    const void *p[WICK_INT8_REFS];
    for (int i = 0; i < WICK_INT8_REFS; i++) p[i] = m->at[i] ? ptr[m->at[i] - 1] : NULL;
    return (wick_int8_data){.a = p[WICK_INT8_AT_A],
                            .b = p[WICK_INT8_AT_B],
                            .a_zero = p[WICK_INT8_AT_A_ZERO],
                            .b_zero = p[WICK_INT8_AT_B_ZERO],
                            .a_scale = p[WICK_INT8_AT_A_SCALE],
                            .b_scale = p[WICK_INT8_AT_B_SCALE],
                            .c_scale = p[WICK_INT8_AT_SCALE],
                            .c_zero = p[WICK_INT8_AT_ZERO],
                            .bias = p[WICK_INT8_AT_BIAS],
                            .c = m->at[WICK_INT8_AT_C] ? ptr[m->at[WICK_INT8_AT_C] - 1] : NULL,
                            .packed = m->at[WICK_INT8_AT_PACKED] ? ptr[m->at[WICK_INT8_AT_PACKED] - 1] : NULL};
}
static int64_t offset(const wick_step_int8 *m, const int64_t *strides, int64_t n) {
    int64_t at = 0;
    for (int i = m->batch_rank - 1; i >= 0; i--) {
        at += n % m->batch[i] * strides[i];
        n /= m->batch[i];
    }
    return at;
}
static int64_t run_pack(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_int8 *m = args;
    wick_int8_data d = data_of(m, ptr);
    const char *b = d.b;
    const int64_t each = m->product.tasks_pack;
    for (int64_t t = begin; t < end; t++) {
        if (!m->product.conv && m->product.b_count > 1) d.b = b + offset(m, m->b, t / each);
        wick_int8_pack(&m->product, t / each, t % each, t % each + 1, &d, scratch);
    }
    return -1;
}
static int64_t run_main(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_int8 *m = args;
    const wick_int8_data all = data_of(m, ptr);
    const int64_t each = m->product.tasks;
    for (int64_t t = begin, n; t < end; t += n) {
        wick_int8_data d = all;
        const int64_t at = t / each;
        n = WICK_MIN(end - t, each - t % each);
        d.a = (const char *)all.a + (m->product.conv ? at * m->a_bytes : offset(m, m->a, at));
        d.c = (char *)all.c + at * m->c_bytes;
        if (!m->product.conv && m->product.b_count > 1) {
            if (m->product.packed) d.packed = (char *)all.packed + (size_t)at * m->product.packed;
            else d.b = (const char *)all.b + offset(m, m->b, at);
        }
        wick_int8_run(&m->product, t % each, t % each + n, &d, scratch);
    }
    return -1;
}

static void set_matrices(wick_step_int8 *m, const wick_operand *a, const wick_operand *b, const wick_type *tc) {
    wick_int8 *p = &m->product;
    const wick_type *ta = a->type, *tb = b->type;
    p->m = ta->dims[ta->rank - 2];
    p->k = ta->dims[ta->rank - 1];
    p->n = tb->dims[tb->rank - 1];
    p->a_row = a->layout.strides[ta->rank - 2];
    p->a_col = a->layout.strides[ta->rank - 1];
    p->b_row = b->layout.strides[tb->rank - 2];
    p->b_col = b->layout.strides[tb->rank - 1];
    m->batch_rank = tc->rank - 2;
    bool shared = true;
    p->batch = 1;
    for (int i = 0; i < m->batch_rank; i++) {
        const int ia = i - (tc->rank - ta->rank), ib = i - (tc->rank - tb->rank);
        m->batch[i] = tc->dims[i];
        m->a[i] = ia < 0 || ta->dims[ia] == 1 ? 0 : a->layout.strides[ia];
        m->b[i] = ib < 0 || tb->dims[ib] == 1 ? 0 : b->layout.strides[ib];
        shared &= m->b[i] == 0 || m->batch[i] <= 1;
        p->batch *= tc->dims[i];
    }
    /* one product */
    if (p->batch > 1 && shared && wick_layout_is_contiguous(&a->layout, ta) &&
        wick_type_count(ta) == p->batch * p->m * p->k) {
        p->m *= p->batch;
        p->a_row = p->k;
        p->a_col = 1;
        p->batch = 1;
        m->batch_rank = 0;
    }
    p->b_count = shared ? WICK_MIN(p->batch, 1) : p->batch;
}

static void set_conv(wick_step_int8 *m, const wick_conv_attr *attr, const wick_type *x, const wick_type *w,
                     const wick_type *y) {
    wick_int8 *p = &m->product;
    p->conv = true;
    p->batch = x->dims[0];
    p->groups = p->b_count = attr->groups;
    p->ci = w->dims[1];
    p->n = w->dims[0] / attr->groups;
    p->m = 1;
    p->k = p->ci;
    for (int d = 0; d < 3; d++) {
        const int at = d - (3 - (int)attr->rank);
        p->in[d] = at < 0 ? 1 : x->dims[at + 2];
        p->kernel_dims[d] = at < 0 ? 1 : w->dims[at + 2];
        p->out[d] = at < 0 ? 1 : y->dims[at + 2];
        p->stride[d] = at < 0 ? 1 : attr->stride[at];
        p->dilation[d] = at < 0 ? 1 : attr->dilation[at];
        p->pad[d] = at < 0 ? 0 : attr->pad[at];
        p->m *= p->out[d];
        p->k *= p->kernel_dims[d];
    }
    m->a_bytes = p->groups * p->ci * p->in[0] * p->in[1] * p->in[2];
}

static wick_status lower(wick_lower *l, wick_node *node, bool conv) {
    const wick_int8_attr *attr = node->attr;
    const wick_type *tc = &node->out[0].type;
    wick_operand a, b, c;
    if (conv) {
        WICK_TRY(wick_lower_in_channels_last(l, node, 0, &a));
        WICK_TRY(wick_lower_in_contiguous(l, node, 1, &b));
    } else {
        a = wick_lower_in(l, node, 0);
        b = wick_lower_in(l, node, 1);
    }
    WICK_TRY(conv ? wick_lower_out_channels_last(l, node, 0, &c) : wick_lower_out(l, node, 0, &c));
    wick_step_int8 m;
    memset(&m, 0, sizeof m);
    wick_int8 *p = &m.product;
    if (conv) set_conv(&m, &attr->conv, a.type, b.type, tc);
    else set_matrices(&m, &a, &b, tc);
    wick_ref all[WICK_INT8_REFS] = {[WICK_INT8_AT_A] = wick_lower_ref(&a, false),
                                    [WICK_INT8_AT_B] = wick_lower_ref(&b, false),
                                    [WICK_INT8_AT_C] = wick_lower_ref(&c, true)};
    bool there[WICK_INT8_REFS] = {
        [WICK_INT8_AT_A] = true, [WICK_INT8_AT_B] = true, [WICK_INT8_AT_C] = true, [WICK_INT8_AT_PACKED] = true};
    for (int k = 0; k < WICK_INT8_OPTIONAL; k++) {
        const int at = input_of(attr, k);
        wick_operand o;
        if (at < 0) continue;
        WICK_TRY(wick_lower_in_contiguous(l, node, at, &o));
        all[WICK_INT8_AT_A_ZERO + k] = wick_lower_ref(&o, false);
        there[WICK_INT8_AT_A_ZERO + k] = true;
        if (k == WICK_INT8_B_ZERO) p->has_b_zero = true, p->b_zero_each = o.type->rank;
        if (k == WICK_INT8_B_SCALE) p->b_scale_each = o.type->rank;
        if (k == WICK_INT8_BIAS) p->has_bias = true, p->bias_is_f32 = o.type->dtype == WICK_F32;
    }
    p->a_signed = a.type->dtype == WICK_I8;
    p->b_signed = b.type->dtype == WICK_I8;
    p->result = (wick_int8_result)attr->result;
    p->low = attr->low;
    p->high = attr->high;
    p->keep = wick_lower_is_kept(l, node->in[1]);
    p->small = p->b_signed && wick_lower_bits(node->in[1]) <= 4;
    const int a_zero = input_of(attr, WICK_INT8_A_ZERO), b_zero = input_of(attr, WICK_INT8_B_ZERO);
    p->late_zero = a_zero >= 0 && !wick_lower_is_kept(l, node->in[a_zero]) &&
                   (b_zero < 0 || wick_lower_is_kept(l, node->in[b_zero]));
    const int a_scale = input_of(attr, WICK_INT8_A_SCALE), b_scale = input_of(attr, WICK_INT8_B_SCALE),
              bias = input_of(attr, WICK_INT8_BIAS);
    p->late_scale = a_scale >= 0 && !wick_lower_is_kept(l, node->in[a_scale]) &&
                    wick_lower_is_kept(l, node->in[b_scale]) &&
                    (bias < 0 || wick_lower_is_kept(l, node->in[bias]));
    wick_tensor *state;
    p->known = wick_lower_look(l, node->in[1], &b, &state);
    wick_int8_prepare(p, &l->ctx->tuning);
    wick_lower_looked(state);
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        wick_lower_remark(l, node, wick_int8_name(p), wick_int8_rejected(p, rejected), rejected);
    }
    m.c_bytes = p->m * p->n * (conv ? p->groups : 1) * (int64_t)wick_dtype_size((wick_dtype)tc->dtype);
    if (p->packed) WICK_TRY(wick_lower_temp(l, p->packed * (size_t)p->b_count, &all[WICK_INT8_AT_PACKED].buffer));
    for (int stage = 0; stage < 2; stage++) {
        wick_ref refs[WICK_INT8_REFS];
        int n = 0;
        all[WICK_INT8_AT_PACKED].write = stage == 0;
        for (int i = 0; i < WICK_INT8_REFS; i++) {
            const bool uses =
                there[i] && (i == WICK_INT8_AT_A || i == WICK_INT8_AT_C ? stage == 1
                             : i == WICK_INT8_AT_PACKED                 ? p->packed > 0
                             : (i == WICK_INT8_AT_A_ZERO && p->late_zero) ||
                                     (i == WICK_INT8_AT_A_SCALE && p->late_scale)
                                 ? stage == 1
                                 : !p->packed || stage == 0 || i == WICK_INT8_AT_A_ZERO);
            m.at[i] = uses ? n + 1 : 0;
            if (uses) refs[n++] = all[i];
        }
        const double moved = (double)(wick_type_bytes(a.type) + wick_type_bytes(b.type) + wick_type_bytes(tc)),
                     packed = (double)p->packed * (double)p->b_count;
        wick_step step = {.name = stage ? wick_int8_name(p) : "int8_pack",
                          .kind = stage ? WICK_STEP_INT8 : WICK_STEP_INT8_PACK,
                          .run = stage ? run_main : run_pack,
                          .tasks = stage ? p->tasks * p->batch : p->tasks_pack * p->b_count,
                          .scratch = stage ? p->scratch : p->scratch_pack,
                          .flops = stage ? flops(node) : 0,
                          .bytes = stage ? moved : 2 * packed,
                          .packs = stage == 0};
        if (step.tasks || stage) WICK_TRY(wick_lower_step(l, &step, &m, sizeof m, refs, n));
    }
    return WICK_OK;
}
static wick_status lower_matmul(wick_lower *l, wick_node *node) { return lower(l, node, false); }
static wick_status lower_conv(wick_lower *l, wick_node *node) { return lower(l, node, true); }

static void print(wick_str *s, const wick_node *node) {
    static const char *const names[] = {"a_zero", "b_zero", "a_scale", "b_scale", "scale", "zero", "bias"};
    const wick_int8_attr *a = node->attr;
    const char *space = "";
    for (int k = 0; k < WICK_INT8_OPTIONAL; k++)
        if (a->has >> k & 1) wick_str_add(s, "%s%s", space, names[k]), space = " ";
    if (a->low > -INFINITY) wick_str_add(s, "%slow=%g", space, a->low), space = " ";
    if (a->high < INFINITY) wick_str_add(s, "%shigh=%g", space, a->high), space = " ";
    if (node->op == &wick_op_int8_conv && node->out[0].type.rank > 2) {
        const struct {
            const char *name;
            const int64_t *v, usual;
        } lists[] = {{"stride", a->conv.stride, 1},
                     {"dilation", a->conv.dilation, 1},
                     {"pad", a->conv.pad, 0},
                     {"pad_end", a->conv.pad_end, 0}};
        for (size_t k = 0; k < WICK_COUNTOF(lists); k++) {
            bool usual = true;
            for (int d = 0; d < a->conv.rank; d++) usual &= lists[k].v[d] == (k == 3 ? a->conv.pad[d] : lists[k].usual);
            if (usual) continue;
            wick_str_add(s, "%s%s=", space, lists[k].name);
            for (int d = 0; d < a->conv.rank; d++) wick_str_add(s, "%s%lld", d ? "," : "", (long long)lists[k].v[d]);
            space = " ";
        }
        if (a->conv.groups != 1) wick_str_add(s, "%sgroups=%lld", space, (long long)a->conv.groups);
    }
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static void sample_optional(wick_sample *s, wick_int8_attr *a, int64_t columns) {
    const uint8_t of_c = a->result == WICK_INT8_I8 ? WICK_I8 : WICK_U8;
    const uint8_t dtypes[WICK_INT8_OPTIONAL] = {
        s->in[0].dtype, s->in[1].dtype, WICK_F32, WICK_F32, WICK_F32, of_c, s->random() % 2 ? WICK_I32 : WICK_F32};
    a->low = s->random() % 3 ? -INFINITY : 0;
    a->high = s->random() % 3 ? INFINITY : 6;
    if (a->result < WICK_INT8_U8) a->low = -INFINITY, a->high = INFINITY;
    for (int k = 0; k < WICK_INT8_OPTIONAL; k++) {
        const bool scale = k == WICK_INT8_A_SCALE || k == WICK_INT8_B_SCALE || k == WICK_INT8_SCALE,
                   quantised = a->result >= WICK_INT8_U8;
        bool there = s->random() % 2;
        if (scale) there = k == WICK_INT8_SCALE ? quantised : a->result != WICK_INT8_I32;
        if (k == WICK_INT8_ZERO) there &= quantised;
        if (k == WICK_INT8_BIAS) there &= a->result != WICK_INT8_I32;
        if (!there || s->n_in == 8) continue;
        a->has |= (int64_t)1 << k;
        wick_type *t = &s->in[s->n_in];
        *t = (wick_type){.dtype = dtypes[k]};
        if (k == WICK_INT8_BIAS || ((k == WICK_INT8_B_SCALE || k == WICK_INT8_B_ZERO) && s->random() % 2))
            t->rank = 1, t->dims[0] = columns;
        s->lo[s->n_in] = scale ? 0.01 : dtypes[k] == WICK_U8 ? 0 : -100;
        s->hi[s->n_in++] = scale ? 0.3 : 100;
    }
    memcpy(s->attr, a, sizeof *a);
    s->attr_size = sizeof *a;
}
static void sample_start(wick_sample *s, wick_int8_attr *a) {
    memset(a, 0, sizeof *a);
    a->result = wick_sample_int(s, 0, 3);
    s->n_in = 2;
    for (int k = 0; k < 2; k++) {
        s->in[k].dtype = s->random() % 2 ? WICK_U8 : WICK_I8;
        s->lo[k] = s->in[k].dtype == WICK_U8 ? 0 : -128;
        s->hi[k] = s->in[k].dtype == WICK_U8 ? 255 : 127;
    }
}
static void set_type(wick_type *t, int rank, const int64_t *dims) {
    t->rank = (uint8_t)rank;
    for (int d = 0; d < rank; d++) t->dims[d] = dims[d];
}
static void sample_matmul(wick_sample *s) {
    wick_int8_attr a;
    sample_start(s, &a);
    const int64_t m = wick_sample_int(s, 0, 15), k = wick_sample_int(s, 0, 20), n = wick_sample_int(s, 1, 40),
                  batch = wick_sample_int(s, 1, 3), kind = wick_sample_int(s, 0, 3);
    set_type(&s->in[0], kind & 1 ? 4 : 2, kind & 1 ? (const int64_t[]){2, 1, m, k} : (const int64_t[]){m, k});
    set_type(&s->in[1], kind & 2 ? 3 : 2, kind & 2 ? (const int64_t[]){batch, k, n} : (const int64_t[]){k, n});
    sample_optional(s, &a, n);
}
static void sample_conv(wick_sample *s) {
    wick_int8_attr a;
    sample_start(s, &a);
    wick_conv_attr *c = &a.conv;
    c->rank = wick_sample_int(s, 1, 3);
    c->groups = wick_sample_int(s, 1, 3);
    const bool deep = s->random() % 3 == 0;
    const int64_t ci = deep ? 1 : wick_sample_int(s, 1, 5), co = (deep ? 1 : wick_sample_int(s, 1, 20)) * c->groups,
                  batch = s->random() % 8 ? wick_sample_int(s, 1, 2) : 0;
    int64_t x[5] = {batch, ci * c->groups}, w[5] = {co, ci};
    for (int d = 0; d < c->rank; d++) {
        c->stride[d] = wick_sample_int(s, 1, 3);
        c->dilation[d] = wick_sample_int(s, 1, 2);
        c->pad[d] = wick_sample_int(s, 0, 2);
        c->pad_end[d] = wick_sample_int(s, 0, 2);
        w[d + 2] = wick_sample_int(s, 1, 3);
        x[d + 2] = wick_sample_int(s, 0, 4) + (w[d + 2] - 1) * c->dilation[d] + 1;
    }
    set_type(&s->in[0], (int)c->rank + 2, x);
    set_type(&s->in[1], (int)c->rank + 2, w);
    sample_optional(s, &a, co);
}

const wick_op wick_op_int8_matmul = {.name = "int8_matmul",
                                     .doc = "matrix product of 8-bit integers",
                                     .onnx = "MatMulInteger, QLinearMatMul",
                                     .torch = "_int_mm",
                                     .cost = "2 n k, k the shared extent",
                                     .min_in = 2,
                                     .max_in = 9,
                                     .n_out = 1,
                                     .infer = infer_matmul,
                                     .flops = flops,
                                     .lower = lower_matmul,
                                     .print = print,
                                     .sample = sample_matmul};
const wick_op wick_op_int8_conv = {.name = "int8_conv",
                                   .doc = "convolution of 8-bit integers",
                                   .onnx = "ConvInteger, QLinearConv",
                                   .torch = "ops.quantized.conv2d",
                                   .cost = "2 n (channels / groups) taps",
                                   .min_in = 2,
                                   .max_in = 9,
                                   .n_out = 1,
                                   .infer = infer_conv,
                                   .flops = flops,
                                   .lower = lower_conv,
                                   .print = print,
                                   .sample = sample_conv};

/* ---- public ------------------------------------------------------------------------------------------------------ */

/* The inputs and what they say; in has room for 2 + WICK_INT8_OPTIONAL. */
static int gather_inputs(wick_tensor *a, wick_tensor *b, const wick_int8_options *o, wick_int8_attr *attr,
                         wick_tensor **in) {
    static const wick_int8_options plain;
    if (!o) o = &plain;
    wick_tensor *const optional[WICK_INT8_OPTIONAL] = {o->a_zero, o->b_zero, o->a_scale, o->b_scale,
                                                       o->scale,  o->zero,   o->bias};
    int n = 2;
    in[0] = a;
    in[1] = b;
    for (int k = 0; k < WICK_INT8_OPTIONAL; k++) {
        if (!optional[k]) continue;
        attr->has |= (int64_t)1 << k;
        in[n++] = wick_tensor_error(optional[k], NULL) || wick_tensor_rank(optional[k]) != 1 ||
                          wick_tensor_count(optional[k]) != 1 || k == WICK_INT8_BIAS
                      ? optional[k]
                      : wick_reshape(optional[k], WICK_SCALAR);
    }
    const wick_dtype dtype = o->zero && !o->zero->error ? wick_tensor_dtype(o->zero) : o->dtype;
    attr->result = o->scale                   ? dtype == WICK_I8 ? WICK_INT8_I8 : WICK_INT8_U8
                   : o->a_scale || o->b_scale ? WICK_INT8_F32
                                              : WICK_INT8_I32;
    const bool bounded = o->scale && o->low != o->high;
    attr->low = bounded ? o->low : -INFINITY;
    attr->high = bounded ? o->high : INFINITY;
    return n;
}

wick_tensor *wick_int8_matmul(wick_tensor *a, wick_tensor *b, const wick_int8_options *options) {
    wick_tensor *in[2 + WICK_INT8_OPTIONAL];
    wick_int8_attr attr;
    memset(&attr, 0, sizeof attr);
    const int ra = a && !a->error ? wick_tensor_rank(a) : 2, rb = b && !b->error ? wick_tensor_rank(b) : 2;
    const int n =
        gather_inputs(ra == 1 ? wick_unsqueeze(a, 0) : a, rb == 1 ? wick_unsqueeze(b, 1) : b, options, &attr, in);
    wick_tensor *c = wick_record(NULL, &wick_op_int8_matmul, n, in, &attr, sizeof attr);
    if (c && !c->error && ra == 1) c = wick_squeeze(c, -2);
    if (c && !c->error && rb == 1) c = wick_squeeze(c, -1);
    return c;
}

wick_tensor *wick_int8_conv(wick_tensor *x, wick_tensor *w, const wick_conv_options *conv,
                            const wick_int8_options *options) {
    wick_tensor *in[2 + WICK_INT8_OPTIONAL];
    wick_int8_attr attr;
    memset(&attr, 0, sizeof attr);
    if (x && !x->error) {
        wick_tensor *poison = wick_conv_attr_of(x->ctx, "int8_conv", conv, wick_tensor_rank(x), &attr.conv);
        if (poison) return poison;
    }
    const int n = gather_inputs(x, w, options, &attr, in);
    return wick_record(NULL, &wick_op_int8_conv, n, in, &attr, sizeof attr);
}
