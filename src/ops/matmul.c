/* matmul.c: matrix products: batches broadcast, and transposed or sliced operands are used where they lie. */
#include "kernels/packing.h"
#include "ops/ops.h"
#include "ops/lowering/steps.h"
#include "wick/linalg.h"
#include "wick/ops.h"

wick_status wick_infer_product(wick_infer *i, wick_dtype dtype) {
    const wick_type *a = i->in[0], *b = i->in[1];
    if (a->rank < 2 || b->rank < 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs matrices");
    int64_t ka = a->dims[a->rank - 1], kb = b->dims[b->rank - 2];
    if (ka != kb)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "inner dims %lld and %lld differ", (long long)ka, (long long)kb);
    wick_type batch = *a, with = *b;
    batch.rank = (uint8_t)(a->rank - 2);
    with.rank = (uint8_t)(b->rank - 2);
    if (!wick_broadcast(&batch, &with)) return wick_infer_fail(i, WICK_ERR_SHAPE, "leading dims do not broadcast");
    batch.dims[batch.rank] = a->dims[a->rank - 2];
    batch.dims[batch.rank + 1] = b->dims[b->rank - 1];
    batch.rank = (uint8_t)(batch.rank + 2);
    wick_type out;
    if (!wick_type_set(&out, dtype, batch.rank, batch.dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    out.device = a->device;
    *i->out = out;
    return WICK_OK;
}

static wick_status infer_matmul(wick_infer *i) { /* inputs have 2 dims or more: wick_matmul sees to it */
    const wick_type *a = i->in[0], *b = i->in[1];
    if (a->rank < 2 || b->rank < 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs matrices");
    if (a->dtype != b->dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "inputs have different dtypes");
    if (!wick_dtype_is_float(a->dtype) && a->dtype != WICK_I32 && a->dtype != WICK_I64 && a->dtype != WICK_U64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "%s has no products; cast", wick_dtype_name((wick_dtype)a->dtype));
    WICK_TRY(wick_infer_product(i, (wick_dtype)a->dtype));
    if (i->n_in == 3 &&
        (i->in[2]->rank != 1 || i->in[2]->dims[0] != i->out->dims[i->out->rank - 1] || i->in[2]->dtype != a->dtype))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the bias is not a row of the result");
    return WICK_OK;
}

static double flops_matmul(const wick_node *node) {
    const wick_type *a = &node->in[0]->type;
    return (double)wick_type_count(&node->out[0].type) * (2.0 * (double)a->dims[a->rank - 1] + (node->n_in == 3));
}

/* [..., m, n] as [all rows, n]. */
static wick_tensor *all_rows(wick_tensor *x) {
    const int64_t cols = wick_tensor_dim(x, -1);
    int64_t rows = 1;
    for (int i = 0; i < wick_tensor_rank(x) - 1; i++) rows *= wick_tensor_dim(x, i);
    return wick_reshape(x, 2, (const int64_t[]){rows, cols});
}
static void grad_matmul(wick_gradient *g) {
    /* a matrix for the whole batch: one product, not a sum of many */
    if (g->need[1] && wick_tensor_rank(g->in[0]) > 2 && wick_tensor_rank(g->in[1]) == 2) {
        g->gin[1] = wick_matmul(wick_transpose(all_rows(g->in[0]), 0, 1), all_rows(g->gout[0]));
        if (g->need[0]) g->gin[0] = wick_matmul(g->gout[0], wick_transpose(g->in[1], -1, -2));
        return;
    }
    if (g->need[0]) g->gin[0] = wick_matmul(g->gout[0], wick_transpose(g->in[1], -1, -2));
    if (g->need[1]) g->gin[1] = wick_matmul(wick_transpose(g->in[0], -1, -2), g->gout[0]);
}

/* Byte offsets of product number n of the batch. */
static void batch_offsets(const wick_step_gemm *m, int64_t n, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (int i = m->batch_rank - 1; i >= 0; i--) {
        int64_t at = n % m->batch[i];
        n /= m->batch[i];
        *a += at * m->a[i];
        *b += at * m->b[i];
    }
}

static int64_t run_pack(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_gemm *m = args;
    while (begin < end) {
        int64_t n = begin / m->gemm.tasks_pack, t = begin % m->gemm.tasks_pack, a, b;
        int64_t t_end = WICK_MIN(m->gemm.tasks_pack, t + end - begin);
        batch_offsets(m, n, &a, &b);
        wick_gemm_pack(&m->gemm, t, t_end, (const char *)ptr[0] + b, (char *)ptr[1] + n * m->packed);
        begin += t_end - t;
    }
    return -1;
}

static int64_t run_gemm(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const wick_step_gemm *m = args;
    while (begin < end) {
        int64_t n = begin / m->gemm.tasks, t = begin % m->gemm.tasks, a, b;
        int64_t t_end = m->epilogue.program ? t + 1 : WICK_MIN(m->gemm.tasks, t + end - begin);
        batch_offsets(m, n, &a, &b);
        char *packed = m->gemm.tasks_pack ? (char *)ptr[3] + n * m->packed : NULL;
        wick_gemm_run(&m->gemm, t, t_end, (const char *)ptr[0] + a, (const char *)ptr[1] + b,
                      m->bias ? ptr[m->bias] : NULL, (char *)ptr[2] + n * m->c, packed, scratch);
        int64_t rows[2], cols[2];
        if (m->epilogue.program && wick_gemm_task_block(&m->gemm, t, rows, cols)) {
            const int64_t at = (n * m->gemm.m + rows[0]) * m->gemm.n + cols[0], width = cols[1] - cols[0];
            if (width == m->gemm.n)
                wick_epilogue_run(&m->epilogue, at, 1, 0, (rows[1] - rows[0]) * width, ptr, scratch);
            else
                wick_epilogue_run(&m->epilogue, at, rows[1] - rows[0], m->gemm.n, width, ptr, scratch);
        }
        begin += t_end - t;
    }
    return -1;
}

/* ---- of a matrix with its own transpose -------------------------------------------------------------------------- */

/* C = A A^T is symmetric to the last bit, since products commute: half is computed, and half copied. */
enum { SYMMETRIC_FROM = 64, MIRROR_ROWS = 32, MIRROR_TILE = 16 };
static bool is_with_itself(const wick_gemm *g, const wick_operand *a, const wick_operand *b, const wick_step_gemm *m) {
    if (g->m != g->n || g->n < SYMMETRIC_FROM || g->bias || g->relu || a->buffer != b->buffer ||
        a->layout.offset != b->layout.offset || g->a_row != g->b_col || g->a_col != g->b_row)
        return false;
    for (int i = 0; i < m->batch_rank; i++)
        if (m->a[i] != m->b[i]) return false;
    return true;
}
#define MIRROR(T, c, n, row)                                                                                           \
    for (int64_t left = 0; left <= (row); left += MIRROR_TILE)                                                         \
        for (int64_t i = (row); i < WICK_MIN((row) + MIRROR_TILE, n); i++)                                             \
            for (int64_t j = left; j < WICK_MIN(left + MIRROR_TILE, i); j++)                                           \
    ((T *)(c))[j * (n) + i] = ((const T *)(c))[i * (n) + j]
static int64_t run_mirror(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_gemm *m = args;
    const int64_t n = m->gemm.n, per_product = (n + MIRROR_ROWS - 1) / MIRROR_ROWS;
    for (int64_t t = begin; t < end; t++) {
        char *c = (char *)ptr[0] + t / per_product * m->c;
        const int64_t first = t % per_product * MIRROR_ROWS;
        for (int64_t row = first; row < WICK_MIN(first + MIRROR_ROWS, n); row += MIRROR_TILE) {
            if (m->gemm.type == WICK_CF64)
                MIRROR(double, c, n, row);
            else
                MIRROR(float, c, n, row);
        }
    }
    return -1;
}

/* ---- of integers: exact, and the same wherever it is cut --------------------------------------------------------- */

static int64_t run_integers(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)scratch;
    const wick_step_integers *m = args;
    for (int64_t t = begin; t < end; t++) {
        const int64_t product = t / m->per_product, row = t % m->per_product * m->rows;
        int64_t a, b;
        batch_offsets(&m->at, product, &a, &b);
        wick_matmul_integers(m->type, row, WICK_MIN(m->m, row + m->rows), m->n, m->k, m->a_row, m->a_col,
                             (const char *)ptr[0] + a, (const char *)ptr[1] + b, (char *)ptr[2] + product * m->at.c);
    }
    return -1;
}
static wick_status lower_integers(wick_lower *l, wick_node *node) {
    wick_operand a = wick_lower_in(l, node, 0), b, c;
    WICK_TRY(wick_lower_in_contiguous(l, node, 1, &b));
    WICK_TRY(wick_lower_out(l, node, 0, &c));
    const wick_type *ta = a.type, *tb = b.type, *tc = c.type;
    const int64_t elem = (int64_t)wick_dtype_size((wick_dtype)tc->dtype);
    wick_step_integers m;
    memset(&m, 0, sizeof m);
    m.type = wick_ctype_of((wick_dtype)tc->dtype);
    m.m = ta->dims[ta->rank - 2];
    m.k = ta->dims[ta->rank - 1];
    m.n = tb->dims[tb->rank - 1];
    m.a_row = a.layout.strides[ta->rank - 2];
    m.a_col = a.layout.strides[ta->rank - 1];
    m.rows = 1 + 65536 / (1 + m.n * m.k);
    m.per_product = (m.m + m.rows - 1) / m.rows;
    m.at.c = m.m * m.n * elem;
    m.at.batch_rank = tc->rank - 2;
    int64_t batch = 1;
    for (int i = 0; i < m.at.batch_rank; i++) {
        int ia = i - (tc->rank - ta->rank), ib = i - (tc->rank - tb->rank);
        m.at.batch[i] = tc->dims[i];
        m.at.a[i] = ia < 0 || ta->dims[ia] == 1 ? 0 : a.layout.strides[ia] * elem;
        m.at.b[i] = ib < 0 || tb->dims[ib] == 1 ? 0 : b.layout.strides[ib] * elem;
        batch *= tc->dims[i];
    }
    wick_step step = {.name = "matmul_integers",
                      .kind = WICK_STEP_INTEGERS,
                      .run = run_integers,
                      .tasks = wick_type_count(tc) ? m.per_product * batch : 0,
                      .flops = flops_matmul(node),
                      .bytes = (double)(wick_type_bytes(ta) + wick_type_bytes(tb) + wick_type_bytes(tc))};
    return wick_lower_step(l, &step, &m, sizeof m,
                           (wick_ref[]){wick_lower_ref(&a, false), wick_lower_ref(&b, false), wick_lower_ref(&c, true)},
                           3);
}

/* Whether a batch of products can be one product: B is shared, and the rows of all matrices A are at one stride, which
 * may be negative. Returns how many rows there are, and the stride. */
static bool rows_of_all(const wick_step_gemm *m, int64_t elem, int64_t *rows, int64_t *step) {
    *rows = m->gemm.m;
    *step = m->gemm.a_row; /* that of a dim of 1 says nothing */
    for (int i = m->batch_rank - 1; i >= 0; i--) {
        if (m->batch[i] == 1) continue;
        const int64_t stride = m->a[i] / elem;
        if (*rows == 1)
            *step = stride;
        else if (stride != *rows * *step)
            return false;
        *rows *= m->batch[i];
    }
    return *step != 0;
}

/* The product of a node, or of a batch: m, from the operands' types and layouts. Returns whether all products of the
 * batch have one B; *batch: how many there are. */
static bool describe_matmul(wick_lower *l, wick_node *node, const wick_operand *a, const wick_operand *b,
                            wick_step_gemm *m, int64_t *batch) {
    const wick_type *ta = a->type, *tb = b->type, *tc = &node->out[0].type;
    const int64_t elem = (int64_t)wick_dtype_size((wick_dtype)tc->dtype);
    memset(m, 0, sizeof *m);
    wick_gemm *g = &m->gemm;
    g->type = wick_ctype_of((wick_dtype)tc->dtype);
    if (tc->dtype == WICK_F16 || tc->dtype == WICK_BF16) {
        g->narrow = g->result = tc->dtype;
        g->keep = wick_lower_is_kept(l, node->in[1]);
    }
    g->m = ta->dims[ta->rank - 2];
    g->k = ta->dims[ta->rank - 1];
    g->n = tb->dims[tb->rank - 1];
    g->a_row = a->layout.strides[ta->rank - 2];
    g->a_col = a->layout.strides[ta->rank - 1];
    g->b_row = b->layout.strides[tb->rank - 2];
    g->b_col = b->layout.strides[tb->rank - 1];
    g->c_row = g->n;
    m->batch_rank = tc->rank - 2;
    *batch = 1;
    bool shared = true;
    for (int i = 0; i < m->batch_rank; i++) {
        int ia = i - (tc->rank - ta->rank), ib = i - (tc->rank - tb->rank);
        m->batch[i] = tc->dims[i];
        m->a[i] = ia < 0 || ta->dims[ia] == 1 ? 0 : a->layout.strides[ia] * elem;
        m->b[i] = ib < 0 || tb->dims[ib] == 1 ? 0 : b->layout.strides[ib] * elem;
        shared &= m->b[i] == 0 || m->batch[i] <= 1;
        *batch *= tc->dims[i];
    }
    int64_t rows, step;
    if (m->batch_rank && shared && *batch > 1 && rows_of_all(m, elem, &rows, &step)) {
        g->m = rows;
        g->a_row = step;
        *batch = 1;
        m->batch_rank = 0;
    }
    return shared;
}

/* A step that packs B at ref b to a buffer of its own, *packed. */
static wick_status lower_packing(wick_lower *l, const wick_step_gemm *m, bool shared, int64_t batch, int64_t elem,
                                 const wick_ref *b, wick_ref *packed) {
    const wick_gemm *g = &m->gemm;
    const size_t bytes = shared ? g->packed : (size_t)(m->packed * batch);
    WICK_TRY(wick_lower_temp(l, bytes, &packed->buffer));
    packed->write = true;
    wick_step pack = {.name = "gemm_pack",
                      .kind = WICK_STEP_PACK,
                      .packs = true,
                      .run = run_pack,
                      .tasks = g->tasks_pack * (shared ? 1 : batch),
                      .scratch = g->scratch,
                      .bytes = (double)bytes + (double)(g->k * g->n * elem) * (double)(shared ? 1 : batch)};
    wick_step_gemm packing;
    memset(&packing, 0, sizeof packing);
    packing.gemm = m->gemm;
    packing.packed = m->packed;
    wick_gemm_keep_packing(&packing.gemm);
    if (!shared) {
        packing.batch_rank = m->batch_rank;
        memcpy(packing.batch, m->batch, sizeof m->batch);
        memcpy(packing.b, m->b, sizeof m->b);
    }
    WICK_TRY(wick_lower_step(l, &pack, &packing, sizeof packing, (wick_ref[]){*b, *packed}, 2));
    packed->write = false;
    return WICK_OK;
}

/* The steps of a prepared product: one that packs B, if it is packed for all, and the product. refs: A, B, C, and the
 * bias if it has one. Of a sparse one the arithmetic is that of what is not zero. */
static wick_status lower_product(wick_lower *l, wick_step_gemm *m, bool shared, int64_t batch, int64_t elem,
                                 double flops, double bytes, wick_ref refs[5]) {
    const wick_gemm *g = &m->gemm;
    const wick_ref bias = refs[3];
    int n_refs = 3;
    if (g->tasks_pack && batch && g->tasks) {
        WICK_TRY(lower_packing(l, m, shared, batch, elem, &refs[1], &refs[3]));
        n_refs = 4;
    }
    if (g->bias) {
        refs[n_refs] = bias;
        m->bias = n_refs++;
    }
    if (g->sparse.kernel) {
        const double all = (double)(g->k * g->n * elem);
        flops = (double)g->m * (2 * (double)g->sparse.nonzeros + (g->bias ? (double)g->n : 0));
        bytes += (double)g->packed - all;
    }
    const wick_step step = {.name = wick_gemm_name(g),
                            .kind = WICK_STEP_GEMM,
                            .run = run_gemm,
                            .tasks = g->tasks * batch,
                            .scratch = g->scratch,
                            .flops = flops,
                            .bytes = bytes};
    return wick_lower_step(l, &step, m, sizeof *m, refs, n_refs);
}

wick_status wick_lower_sparse_rows(wick_lower *l, const wick_gemm *rows, wick_ref refs[5]) {
    wick_step_gemm m;
    memset(&m, 0, sizeof m);
    m.gemm = *rows;
    m.gemm.b_constant = true;
    wick_gemm_prepare(&m.gemm, &l->ctx->tuning);
    m.c = rows->m * rows->n * (int64_t)sizeof(float);
    WICK_TRY(lower_product(l, &m, true, 1, sizeof(float), 0,
                           (double)(rows->m * (rows->k + rows->n) + rows->k * rows->n) * sizeof(float), refs));
    if (wick_remarks(l->planning)) wick_lower_remark(l, l->node, wick_gemm_name(&m.gemm), 0, NULL);
    return WICK_OK;
}

static wick_status lower_matmul(wick_lower *l, wick_node *node) {
    if (!wick_dtype_is_float(node->out[0].type.dtype)) return lower_integers(l, node);
    wick_operand a = wick_lower_in(l, node, 0), b = wick_lower_in(l, node, 1), c;
    const wick_type *ta = a.type, *tb = b.type, *tc = &node->out[0].type;
    const int64_t elem = (int64_t)wick_dtype_size((wick_dtype)tc->dtype);
    WICK_TRY(wick_lower_out(l, node, 0, &c));
    wick_step_gemm m;
    int64_t batch;
    const bool shared = describe_matmul(l, node, &a, &b, &m, &batch);
    wick_gemm *g = &m.gemm;
    const char *const dense = m.batch_rank || tb->rank != 2 ? "each product of the batch has a matrix of its own"
                                                            : wick_lower_sparse(l, node->in[1], 0, 1, 0, g);
    g->b_constant = !g->narrow && (wick_lower_is_kept(l, node->in[1]) || !dense);
    if (dense && m.batch_rank == 0 && tb->rank == 2 && wick_lower_is_kept(l, node->in[1]) &&
        wick_gemm_wants_rows(g, &l->ctx->tuning)) {
        WICK_TRY(wick_lower_in_contiguous(l, node, 1, &b));
        g->b_row = g->n;
        g->b_col = 1;
    }
    wick_operand bias;
    if (node->n_in == 3) {
        WICK_TRY(wick_lower_in_contiguous(l, node, 2, &bias));
        g->bias = 1;
    }
    g->relu = ((const wick_matmul_attr *)node->attr)->relu;
    g->lower = !g->narrow && is_with_itself(g, &a, &b, &m);
    g->precision = (uint8_t)l->ctx->options.f32_precision;
    wick_gemm_prepare(g, &l->ctx->tuning);
    if (!g->b_constant) wick_gemm_pack_in_tasks(g, &l->ctx->tuning);
    m.c = g->m * g->n * elem;
    m.packed = shared ? 0 : (int64_t)WICK_ALIGN_UP(g->packed, WICK_ALIGN);
    wick_ref refs[5] = {wick_lower_ref(&a, false), wick_lower_ref(&b, false), wick_lower_ref(&c, true)};
    if (node->n_in == 3) refs[3] = wick_lower_ref(&bias, false);
    WICK_TRY(lower_product(l, &m, shared, batch, elem, flops_matmul(node),
                           (double)(wick_type_bytes(ta) + wick_type_bytes(tb) + wick_type_bytes(tc)), refs));
    if (wick_remarks(l->planning)) {
        wick_rejected rejected[WICK_REJECTED];
        int n = wick_gemm_rejected(g, &l->ctx->tuning, rejected);
        if (dense) rejected[n++] = (wick_rejected){"sparse", dense};
        wick_lower_remark(l, node, wick_gemm_name(g), n, rejected);
    }
    if (!g->lower) return WICK_OK;
    wick_step mirror = {.name = "matmul_mirror",
                        .kind = WICK_STEP_MIRROR,
                        .run = run_mirror,
                        .tasks = (g->n + MIRROR_ROWS - 1) / MIRROR_ROWS * batch,
                        .bytes = (double)wick_type_bytes(tc)};
    return wick_lower_step(l, &mirror, &m, sizeof m, &refs[2], 1);
}

static void print_matmul(wick_str *s, const wick_node *node) {
    if (((const wick_matmul_attr *)node->attr)->relu) wick_str_add(s, "relu");
}
static void sample_matmul(wick_sample *s) {
    s->attr_size = sizeof(wick_matmul_attr); /* zero: no ReLU */
    memset(s->attr, 0, s->attr_size);
    s->n_in = 2;
    static const wick_dtype dtypes[] = {WICK_F64,  WICK_F64, WICK_F64, WICK_F64, WICK_F32, WICK_F32,
                                        WICK_BF16, WICK_F16, WICK_I32, WICK_I64, WICK_U64};
    wick_dtype d = dtypes[s->random() % WICK_COUNTOF(dtypes)];
    int64_t m = wick_sample_int(s, 0, 5), k = wick_sample_int(s, 0, 6), n = wick_sample_int(s, 1, 20),
            batch = wick_sample_int(s, 1, 3);
    s->in[0] = (wick_type){.dtype = (uint8_t)d, .rank = 2, .dims = {m, k}};
    s->in[1] = (wick_type){.dtype = (uint8_t)d, .rank = 2, .dims = {k, n}};
    uint64_t kind = s->random() % 4;
    if (kind & 1) s->in[0] = (wick_type){.dtype = (uint8_t)d, .rank = 4, .dims = {2, 1, m, k}};
    if (kind & 2) s->in[1] = (wick_type){.dtype = (uint8_t)d, .rank = 3, .dims = {batch, k, n}};
    for (int i = 0; i < 2; i++) s->lo[i] = d == WICK_U64 ? 0 : -2, s->hi[i] = 2;
    s->differentiable = d == WICK_F64;
}

const wick_op wick_op_matmul = {.name = "matmul",
                                .doc = "matrix product; leading dims broadcast",
                                .onnx = "MatMul",
                                .torch = "matmul",
                                .cost = "2 n k, k the shared extent; with a bias n more",
                                .min_in = 2,
                                .max_in = 3,
                                .n_out = 1,
                                .infer = infer_matmul,
                                .grad = grad_matmul,
                                .flops = flops_matmul,
                                .lower = lower_matmul,
                                .print = print_matmul,
                                .sample = sample_matmul};

wick_tensor *wick_matmul(wick_tensor *a, wick_tensor *b) {
    static const wick_matmul_attr plain;
    if (!wick_promote_pair(&a, &b, "matmul")) return wick_record(NULL, &wick_op_matmul, 1, &a, &plain, sizeof plain);
    int ra = wick_tensor_rank(a), rb = wick_tensor_rank(b);
    wick_dtype d = wick_tensor_dtype(a);
    /* Narrow integers are computed in wider ones and wrapped, which comes to the same; of bools: is any pair true? */
    static const uint8_t computes[WICK_DTYPE_COUNT] = {
        [WICK_I8] = WICK_I32 + 1,  [WICK_I16] = WICK_I32 + 1, [WICK_U8] = WICK_I32 + 1,
        [WICK_U16] = WICK_I32 + 1, [WICK_U32] = WICK_U64 + 1, [WICK_BOOL] = WICK_I64 + 1};
    const bool other = computes[d] != 0;
    if (ra == 0 || rb == 0) return wick_record(NULL, &wick_op_matmul, 2, (wick_tensor *[]){a, b}, &plain, sizeof plain);
    wick_tensor *in[2] = {ra == 1 ? wick_unsqueeze(a, 0) : a, rb == 1 ? wick_unsqueeze(b, 1) : b};
    for (int i = 0; other && i < 2; i++) in[i] = wick_as(in[i], (wick_dtype)(computes[d] - 1));
    wick_tensor *c = wick_record(NULL, &wick_op_matmul, 2, in, &plain, sizeof plain);
    if (c && !c->error && ra == 1) c = wick_squeeze(c, -2);
    if (c && !c->error && rb == 1) c = wick_squeeze(c, -1);
    return other ? wick_as(c, d) : c;
}

wick_tensor *wick_linear(wick_tensor *x, wick_tensor *w, wick_tensor *b) {
    wick_tensor *y = wick_matmul(x, wick_transpose(w, -1, -2));
    return b ? wick_add(y, b) : y;
}

wick_tensor *wick_matrix_power(wick_tensor *a, int64_t n) {
    if (!a || a->error) return a;
    const int rank = wick_tensor_rank(a);
    if (rank < 2 || wick_tensor_dim(a, -1) != wick_tensor_dim(a, -2))
        return wick_poison(a->ctx, WICK_ERR_SHAPE, "matrix_power: needs square matrices");
    if (n < 0)
        return wick_poison(a->ctx, WICK_ERR_INVALID, "matrix_power: the power %lld; take wick_inverse first",
                           (long long)n);
    wick_tensor *power = NULL;
    for (wick_tensor *square = a; n; n >>= 1) {
        if (n & 1) power = power ? wick_matmul(power, square) : square;
        if (n > 1) square = wick_matmul(square, square);
    }
    if (power) return power;
    wick_tensor *index = wick_arange(a->ctx, WICK_I64, 0, 1, wick_tensor_dim(a, -1));
    power = wick_one_hot(index, wick_tensor_dim(a, -1), wick_tensor_dtype(a));
    return wick_expand(power, rank, wick_tensor_dims(a));
}
