/* triangle.c: a triangle of matrices, its edge times a number: tril and triu, and what gradients of factorizations are
 * made of. */
#include "ops/factor.h"
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/shape.h"

static wick_status infer_triangle(wick_infer *i) {
    const triangle_attr *attr = i->attr;
    *i->out = *i->in[0];
    if (attr->diagonal != 1 && i->in[0]->dtype != WICK_F32 && i->in[0]->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats");
    if (i->in[0]->rank < 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs matrices");
    return WICK_OK;
}

static int64_t run_triangle(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_triangle *a = args;
    const size_t all = (size_t)a->n * a->elem;
    for (int64_t r = begin * a->per_task; r < WICK_MIN(end * a->per_task, a->rows); r++) {
        const int64_t edge = r % a->m + a->attr.k, cut = WICK_MAX(WICK_MIN(edge + !a->attr.upper, a->n), 0);
        const size_t left = (size_t)cut * a->elem;
        const char *from = (const char *)ptr[0] + (size_t)r * all;
        char *to = (char *)ptr[1] + (size_t)r * all;
        if (a->attr.upper) {
            memset(to, 0, left);
            memcpy(to + left, from + left, all - left);
        } else {
            memcpy(to, from, left);
            memset(to + left, 0, all - left);
        }
        if (a->attr.diagonal == 1 || edge < 0 || edge >= a->n) continue;
        if (a->attr.diagonal == 0)
            memset(to + (size_t)edge * a->elem, 0, a->elem);
        else if (a->elem == sizeof(double))
            ((double *)(void *)to)[edge] *= a->attr.diagonal;
        else
            ((float *)(void *)to)[edge] *= (float)a->attr.diagonal;
    }
    return -1;
}

enum { TASK_BYTES = 1 << 17 };
static wick_status lower_triangle(wick_lower *l, wick_node *node) {
    wick_operand in, out;
    WICK_TRY(wick_lower_in_contiguous(l, node, 0, &in));
    WICK_TRY(wick_lower_out(l, node, 0, &out));
    wick_step_triangle a;
    memset(&a, 0, sizeof a);
    memcpy(&a.attr, node->attr, sizeof a.attr);
    a.m = in.type->dims[in.type->rank - 2];
    a.n = in.type->dims[in.type->rank - 1];
    a.elem = wick_dtype_size((wick_dtype)in.type->dtype);
    a.rows = a.n ? wick_type_count(in.type) / a.n : 0;
    a.per_task = 1 + TASK_BYTES / (1 + a.n * (int64_t)a.elem);
    wick_step step = {.name = "triangle",
                      .kind = WICK_STEP_TRIANGLE,
                      .run = run_triangle,
                      .tasks = (a.rows + a.per_task - 1) / a.per_task,
                      .bytes = 2 * (double)wick_type_bytes(in.type)};
    return wick_lower_step(l, &step, &a, sizeof a, (wick_ref[]){wick_lower_ref(&in, false), wick_lower_ref(&out, true)},
                           2);
}

static void print_triangle(wick_str *s, const wick_node *node) {
    const triangle_attr *a = node->attr;
    wick_str_add(s, "%s k=%lld diagonal=%g", a->upper ? "upper" : "lower", (long long)a->k, a->diagonal);
}
wick_tensor *wick_triangle_of(wick_tensor *x, bool upper, int64_t k, double diagonal) {
    const triangle_attr attr = {upper, k, diagonal};
    return wick_record(NULL, &wick_op_triangle, 1, &x, &attr, sizeof attr);
}
static void grad_triangle(wick_gradient *g) {
    const triangle_attr *a = g->node->attr;
    g->gin[0] = wick_triangle_of(g->gout[0], a->upper, a->k, a->diagonal);
}
static void sample_triangle(wick_sample *s) {
    static const wick_dtype dtypes[] = {WICK_F64, WICK_F64, WICK_F32, WICK_I8, WICK_F16, WICK_I64};
    const wick_dtype d = dtypes[s->random() % WICK_COUNTOF(dtypes)];
    const bool plain = d != WICK_F64 && d != WICK_F32;
    const triangle_attr attr = {(int64_t)(s->random() % 2), wick_sample_int(s, -3, 3),
                                plain ? 1 : (double)(s->random() % 3) / 2};
    memcpy(s->attr, &attr, s->attr_size = sizeof attr);
    s->n_in = 1;
    s->in[0] = (wick_type){.dtype = (uint8_t)d,
                           .rank = 3,
                           .dims = {wick_sample_int(s, 0, 3), wick_sample_int(s, 1, 4), wick_sample_int(s, 0, 4)}};
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = d == WICK_F64;
}
const wick_op wick_op_triangle = {.name = "triangle",
                                  .doc = "a triangle of matrices, its edge times a number",
                                  .cost = "0",
                                  .min_in = 1,
                                  .max_in = 1,
                                  .n_out = 1,
                                  .flags = WICK_OP_MOVES,
                                  .infer = infer_triangle,
                                  .grad = grad_triangle,
                                  .flops = wick_no_flops,
                                  .lower = lower_triangle,
                                  .print = print_triangle,
                                  .sample = sample_triangle};

/* ---- public ------------------------------------------------------------------------------------------------------ */

static wick_tensor *triangle(const char *op, wick_tensor *x, int64_t k, bool upper) {
    if (!x || x->error) return x;
    if (wick_tensor_rank(x) < 2)
        return wick_poison(x->ctx, WICK_ERR_SHAPE, "%s(%s): needs two axes", op, wick_shown_of(x).text);
    return wick_triangle_of(x, upper, WICK_MAX(WICK_MIN(k, INT64_MAX / 4), -(INT64_MAX / 4)), 1);
}
wick_tensor *wick_tril(wick_tensor *x, int64_t k) { return triangle("tril", x, k, false); }
wick_tensor *wick_triu(wick_tensor *x, int64_t k) { return triangle("triu", x, k, true); }
