/* factor.c: factorizations as ops: they compute, say what went wrong as a number, and have no gradients; linalg.c makes
 * the public functions of them. Matrices are the last two dims; one is a task. */
#include "kernels/factor.h"

#include "ops/factor.h"

static const wick_factor_attr *attr_of(const wick_node *node) { return node->attr; }

/* x is floats [..., m, n]. */
static wick_status check_matrices(wick_infer *i, int k, int64_t m, int64_t n) {
    const wick_type *x = i->in[k];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64) return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats");
    if (x->dtype != i->in[0]->dtype) return wick_infer_fail(i, WICK_ERR_DTYPE, "inputs have different dtypes");
    if (x->rank < 2 || x->dims[x->rank - 2] != m || x->dims[x->rank - 1] != n)
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs matrices of %lld x %lld", (long long)m, (long long)n);
    if (k && x->rank != i->in[0]->rank) return wick_infer_fail(i, WICK_ERR_SHAPE, "inputs have different leading dims");
    for (int d = 0; d + 2 < x->rank; d++)
        if (x->dims[d] != i->in[0]->dims[d])
            return wick_infer_fail(i, WICK_ERR_SHAPE, "inputs have different leading dims");
    return WICK_OK;
}
/* Result r: the leading dims of input 0 and these. */
static void set_out(wick_infer *i, int r, int dtype, int n, int64_t a, int64_t b) {
    const wick_type *x = i->in[0];
    const int64_t tail[2] = {a, b};
    wick_type *t = &i->out[r];
    t->dtype = (uint8_t)dtype;
    t->rank = (uint8_t)(x->rank - 2 + n);
    for (int d = 0; d < t->rank; d++) t->dims[d] = d < x->rank - 2 ? x->dims[d] : tail[d - (x->rank - 2)];
}

static wick_status infer_cholesky(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->n, a->n));
    set_out(i, 0, i->in[0]->dtype, 2, a->n, a->n);
    set_out(i, 1, WICK_I64, 0, 0, 0);
    return WICK_OK;
}
static wick_status infer_lu(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->n, a->n));
    set_out(i, 0, i->in[0]->dtype, 2, a->n, a->n);
    set_out(i, 1, WICK_I64, 1, a->n, 0);
    set_out(i, 2, i->in[0]->dtype, 0, 0, 0);
    set_out(i, 3, WICK_I64, 0, 0, 0);
    return WICK_OK;
}
static wick_status infer_lu_solve(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->n, a->n));
    const wick_type *lu = i->in[0], *pivot = i->in[1];
    bool fits = pivot->dtype == WICK_I64 && pivot->rank == lu->rank - 1;
    for (int d = 0; d < pivot->rank && fits; d++) fits = pivot->dims[d] == lu->dims[d];
    if (!fits) return wick_infer_fail(i, WICK_ERR_SHAPE, "the pivots are not those of lu");
    if (i->n_in == 3) WICK_TRY(check_matrices(i, 2, a->n, a->m));
    if (i->n_in == 2 && a->m != a->n) return wick_infer_fail(i, WICK_ERR_SHAPE, "the inverse is square");
    set_out(i, 0, lu->dtype, 2, a->n, a->m);
    return WICK_OK;
}
static wick_status infer_triangular_solve(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->n, a->n));
    WICK_TRY(check_matrices(i, 1, a->n, a->m));
    set_out(i, 0, i->in[0]->dtype, 2, a->n, a->m);
    return WICK_OK;
}
static wick_status infer_qr(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->m, a->n));
    const int64_t columns = a->flags & WICK_FACTOR_FULL ? a->m : WICK_MIN(a->m, a->n);
    set_out(i, 0, i->in[0]->dtype, 2, a->m, columns);
    set_out(i, 1, i->in[0]->dtype, 2, columns, a->n);
    return WICK_OK;
}
static wick_status infer_eigh(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->n, a->n));
    set_out(i, 0, i->in[0]->dtype, 1, a->n, 0);
    set_out(i, 1, i->in[0]->dtype, 2, a->n, a->n);
    return WICK_OK;
}
static wick_status infer_svd(wick_infer *i) {
    const wick_factor_attr *a = i->attr;
    WICK_TRY(check_matrices(i, 0, a->m, a->n));
    if (a->m < a->n) return wick_infer_fail(i, WICK_ERR_SHAPE, "of matrices that are wider than high");
    set_out(i, 0, i->in[0]->dtype, 2, a->m, a->m);
    set_out(i, 1, i->in[0]->dtype, 1, a->n, 0);
    set_out(i, 2, i->in[0]->dtype, 2, a->n, a->n);
    return WICK_OK;
}

/* ---- running: one matrix a task ---------------------------------------------------------------------------------- */

enum { CHOLESKY, LU, LU_SOLVE, TRIANGULAR_SOLVE, QR, EIGH, SVD };
typedef struct factor_args {
    wick_ctype type;
    int what, n_in;
    wick_factor_attr attr;
    int64_t each[7]; /* bytes of one matrix of each input and result */
} factor_args;

static wick_triangle triangle_of(const wick_factor_attr *a) {
    return (wick_triangle){.upper = a->flags & WICK_FACTOR_UPPER,
                           .unit = a->flags & WICK_FACTOR_UNIT,
                           .transposed = a->flags & WICK_FACTOR_TRANSPOSED};
}
/* p: inputs and results of one matrix. memory NULL: how much is needed? */
static size_t run_one(const factor_args *f, char *const *p, void *memory) {
    const wick_factor_attr *a = &f->attr;
    const wick_triangle triangle = triangle_of(a);
    char *const *out = p + f->n_in;
    switch (f->what) {
    case CHOLESKY:
        return wick_cholesky_matrix(f->type, a->n, a->shift, p[0], out[0], (int64_t *)(void *)out[1], memory);
    case LU:
        return wick_lu_matrix(f->type, a->n, a->shift, p[0], out[0], (int64_t *)(void *)out[1], out[2],
                              (int64_t *)(void *)out[3], memory);
    case LU_SOLVE:
        if (memory && f->n_in == 3) {
            memcpy(out[0], p[2], (size_t)f->each[3]);
        } else if (memory) {
            memset(out[0], 0, (size_t)f->each[2]);
            for (int64_t k = 0; k < a->n; k++) {
                if (f->type == WICK_CF64)
                    ((double *)(void *)out[0])[k * (a->n + 1)] = 1;
                else
                    ((float *)(void *)out[0])[k * (a->n + 1)] = 1;
            }
        }
        return wick_lu_solve_matrix(f->type, a->n, a->m, triangle.transposed, p[0], (const int64_t *)(const void *)p[1],
                                    out[0], memory);
    case TRIANGULAR_SOLVE:
        if (memory) memcpy(out[0], p[1], (size_t)f->each[2]);
        return wick_triangular_matrix(f->type, a->n, a->m, &triangle, p[0], out[0], memory);
    case QR:
        return wick_qr_matrix(f->type, a->m, a->n, a->flags & WICK_FACTOR_FULL ? a->m : WICK_MIN(a->m, a->n), a->shift,
                              p[0], out[0], out[1], memory);
    case EIGH: return wick_eigh_matrix(f->type, a->n, p[0], out[0], out[1], memory);
    default: return wick_svd_matrix(f->type, a->m, a->n, p[0], out[0], out[1], out[2], memory);
    }
}
static int64_t run_factor(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    const factor_args *f = args;
    char room[64], *p[7] = {NULL};
    for (int64_t t = begin; t < end; t++) {
        for (int k = 0; k < 7 && f->each[k] >= 0; k++) p[k] = (char *)ptr[k] + t * f->each[k];
        run_one(f, p, scratch ? scratch : room);
    }
    return -1;
}
static double flops_factor(const wick_node *node) {
    const wick_factor_attr *a = attr_of(node);
    const wick_type *x = &node->in[0]->type;
    double count = 1, n = (double)a->n, m = (double)a->m;
    for (int d = 0; d + 2 < x->rank; d++) count *= (double)x->dims[d];
    if (node->op == &wick_op_cholesky) return count * n * n * n / 3;
    if (node->op == &wick_op_lu) return count * 2 * n * n * n / 3;
    if (node->op == &wick_op_lu_solve) return count * 2 * n * n * m;
    if (node->op == &wick_op_triangular_solve) return count * n * n * m;
    if (node->op == &wick_op_qr) return count * 4 * m * n * n;
    return count * 60 * WICK_MAX(m, n) * n * n; /* ten sweeps */
}
/* One large matrix: blocks in turn, each a panel and then its strips, which are tasks. */
enum { SHARED_LEAST = 256 };
typedef struct block_args {
    factor_args f;
    int64_t block;
    bool update;
    int shared; /* its number among the pointers */
} block_args;
static size_t run_block(const block_args *b, void *const *p, int64_t begin, int64_t end, void *memory) {
    const wick_factor_attr *a = &b->f.attr;
    if (b->f.what == CHOLESKY)
        return b->update
                   ? wick_cholesky_update(b->f.type, a->n, b->block, begin, end, p[1], p[2], p[b->shared], memory)
                   : wick_cholesky_panel(b->f.type, a->n, a->shift, b->block, p[0], p[1], p[2], p[b->shared], memory);
    return b->update
               ? wick_lu_update(b->f.type, a->n, b->block, begin, end, p[1], p[2], p[b->shared], memory)
               : wick_lu_panel(b->f.type, a->n, a->shift, b->block, p[0], p[1], p[2], p[3], p[4], p[b->shared], memory);
}
static int64_t run_blocks(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    run_block(args, ptr, begin, end, scratch);
    return -1;
}
static wick_status lower_blocks(wick_lower *l, wick_node *node, const factor_args *f, wick_ref *refs, double bytes) {
    const int64_t n = f->attr.n, blocks = wick_factor_blocks(n);
    void *const nothing[7] = {NULL};
    block_args b = {.f = *f, .shared = node->n_in + node->n_out};
    refs[b.shared] = (wick_ref){.write = true};
    WICK_TRY(wick_lower_temp(l, wick_factor_shared(f->type, n), &refs[b.shared].buffer));
    for (b.block = 0; b.block < blocks; b.block++)
        for (int update = 0; update < 2; update++) {
            b.update = update;
            const int64_t tasks = update ? wick_factor_strips(n, b.block, f->what == LU) : 1;
            if (!tasks) continue;
            wick_step step = {.name = node->op->name,
                              .run = run_blocks,
                              .tasks = tasks,
                              .scratch = run_block(&b, nothing, 0, tasks, NULL) + WICK_ALIGN,
                              .flops = update ? 0 : flops_factor(node) / (double)blocks,
                              .bytes = update ? 0 : bytes / (double)blocks};
            WICK_TRY(wick_lower_step(l, &step, &b, sizeof b, refs, b.shared + 1));
        }
    return WICK_OK;
}
static wick_status lower_factor(wick_lower *l, wick_node *node) {
    static const wick_op *const ops[] = {&wick_op_cholesky, &wick_op_lu,   &wick_op_lu_solve, &wick_op_triangular_solve,
                                         &wick_op_qr,       &wick_op_eigh, &wick_op_svd};
    wick_operand at[7];
    wick_ref refs[7];
    const int n = node->n_in + node->n_out;
    factor_args f;
    memset(&f, 0, sizeof f);
    f.n_in = node->n_in;
    f.attr = *attr_of(node);
    while (ops[f.what] != node->op) f.what++;
    f.type = wick_ctype_of((wick_dtype)node->in[0]->type.dtype);
    int64_t count = 1;
    for (int d = 0; d + 2 < node->in[0]->type.rank; d++) count *= node->in[0]->type.dims[d];
    double bytes = 0;
    for (int k = 0; k < 7; k++) {
        f.each[k] = -1;
        if (k >= n) continue;
        if (k < node->n_in)
            WICK_TRY(wick_lower_in_contiguous(l, node, k, &at[k]));
        else
            WICK_TRY(wick_lower_out(l, node, k - node->n_in, &at[k]));
        refs[k] = wick_lower_ref(&at[k], k >= node->n_in);
        bytes += (double)wick_type_bytes(at[k].type);
        f.each[k] = count ? (int64_t)wick_type_bytes(at[k].type) / count : 0;
    }
    if (count == 1 && (f.what == CHOLESKY || f.what == LU) && f.attr.n >= SHARED_LEAST &&
        wick_factor_blocks(f.attr.n) > 1)
        return lower_blocks(l, node, &f, refs, bytes);
    char *const nothing[7] = {NULL};
    wick_step step = {.name = node->op->name,
                      .run = run_factor,
                      .tasks = count,
                      .scratch = run_one(&f, nothing, NULL) + WICK_ALIGN,
                      .flops = flops_factor(node),
                      .bytes = bytes};
    return wick_lower_step(l, &step, &f, sizeof f, refs, n);
}

static void print_factor(wick_str *s, const wick_node *node) {
    static const char *const names[] = {"upper", "unit", "transposed", "full"};
    const wick_factor_attr *a = attr_of(node);
    for (int k = 0, n = 0; k < 4; k++)
        if (a->flags >> k & 1) wick_str_add(s, "%s%s", n++ ? " " : "", names[k]);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static wick_factor_attr begin_sample(wick_sample *s, int64_t m, int64_t n, int64_t flags, double shift) {
    const wick_factor_attr a = {m, n, flags, shift};
    memcpy(s->attr, &a, s->attr_size = sizeof a);
    s->n_in = 1;
    for (int k = 0; k < 3; k++) s->lo[k] = -2, s->hi[k] = 2;
    return a;
}
static wick_type matrices(wick_dtype d, int64_t batch, int64_t m, int64_t n) {
    return (wick_type){.dtype = (uint8_t)d, .rank = 3, .dims = {batch, m, n}};
}
static void sample_square(wick_sample *s, double shift) {
    const int64_t n = wick_sample_int(s, 1, 5);
    begin_sample(s, n, n, 0, shift);
    s->in[0] = matrices(s->random() % 2 ? WICK_F64 : WICK_F32, wick_sample_int(s, 0, 3), n, n);
}
static void sample_cholesky(wick_sample *s) { sample_square(s, 16); } /* more than a row sums to: positive */
static void sample_lu(wick_sample *s) { sample_square(s, 16); }
static void sample_eigh(wick_sample *s) { sample_square(s, 0); }
static void sample_lu_solve(wick_sample *s) {
    const int64_t n = wick_sample_int(s, 1, 5), batch = wick_sample_int(s, 0, 3);
    const bool inverse = s->random() % 3 == 0;
    const wick_factor_attr a =
        begin_sample(s, inverse ? n : wick_sample_int(s, 1, 4), n, s->random() % 2 ? WICK_FACTOR_TRANSPOSED : 0, 0);
    const wick_dtype d = s->random() % 2 ? WICK_F64 : WICK_F32;
    s->n_in = inverse ? 2 : 3;
    s->in[0] = matrices(d, batch, n, n);
    s->lo[0] = 0.5;
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 2, .dims = {batch, n}};
    s->lo[1] = 0, s->hi[1] = 0;
    if (!inverse) s->in[2] = matrices(d, batch, n, a.m);
}
static void sample_triangular_solve(wick_sample *s) {
    const int64_t n = wick_sample_int(s, 1, 5), m = wick_sample_int(s, 1, 4), batch = wick_sample_int(s, 0, 3);
    const wick_dtype d = s->random() % 3 ? WICK_F64 : WICK_F32;
    begin_sample(s, m, n, (int64_t)(s->random() % 8), 0);
    s->n_in = 2;
    s->in[0] = matrices(d, batch, n, n);
    s->in[1] = matrices(d, batch, n, m);
    s->lo[0] = 0.5, s->hi[0] = 1;
    s->differentiable = d == WICK_F64;
}
static void sample_qr(wick_sample *s) {
    const int64_t m = wick_sample_int(s, 1, 5), n = wick_sample_int(s, 1, 5);
    begin_sample(s, m, n, s->random() % 2 ? WICK_FACTOR_FULL : 0, 0);
    s->in[0] = matrices(s->random() % 2 ? WICK_F64 : WICK_F32, wick_sample_int(s, 0, 3), m, n);
}
static void sample_svd(wick_sample *s) {
    const int64_t n = wick_sample_int(s, 1, 4), m = n + wick_sample_int(s, 0, 2);
    begin_sample(s, m, n, 0, 0);
    s->in[0] = matrices(s->random() % 2 ? WICK_F64 : WICK_F32, wick_sample_int(s, 0, 3), m, n);
}

/* ---- gradient of the one that is a function of its inputs like any other ----------------------------------------- */

wick_tensor *wick_factor_record(const wick_op *op, int n_in, wick_tensor *const *in, int64_t m, int64_t n,
                                int64_t flags) {
    const wick_factor_attr attr = {m, n, flags, 0};
    return wick_record(NULL, op, n_in, in, &attr, sizeof attr);
}
/* T X = B: gB = T^-T gX, gT the triangle of -gB X'; of T' X = B: gB = T^-1 gX, -X gB'. */
static void grad_triangular_solve(wick_gradient *g) {
    const wick_factor_attr *a = attr_of(g->node);
    wick_tensor *x = g->out[0];
    wick_tensor *gb = wick_factor_record(&wick_op_triangular_solve, 2, (wick_tensor *[]){g->in[0], g->gout[0]}, a->m,
                                         a->n, a->flags ^ WICK_FACTOR_TRANSPOSED);
    g->gin[1] = gb;
    if (!g->need[0]) return;
    wick_tensor *product = a->flags & WICK_FACTOR_TRANSPOSED ? wick_matmul(x, wick_transpose(gb, -1, -2))
                                                             : wick_matmul(gb, wick_transpose(x, -1, -2));
    g->gin[0] =
        wick_triangle_of(wick_neg(product), a->flags & WICK_FACTOR_UPPER, 0, a->flags & WICK_FACTOR_UNIT ? 0 : 1);
}

#define FACTOR(name_, outs_, ins_, most_, grad_, torch_, cost_, doc_)                                                  \
    const wick_op wick_op_##name_ = {.name = #name_,                                                                   \
                                     .doc = doc_,                                                                      \
                                     .torch = torch_,                                                                  \
                                     .cost = cost_,                                                                    \
                                     .min_in = ins_,                                                                   \
                                     .max_in = most_,                                                                  \
                                     .n_out = outs_,                                                                   \
                                     .flags = WICK_OP_SPREADS,                                                         \
                                     .infer = infer_##name_,                                                           \
                                     .grad = grad_,                                                                    \
                                     .flops = flops_factor,                                                            \
                                     .lower = lower_factor,                                                            \
                                     .print = print_factor,                                                            \
                                     .sample = sample_##name_};
FACTOR(cholesky, 2, 1, 1, NULL, "linalg.cholesky_ex", "1/3 n k, k rows of a matrix",
       "lower triangular factor, and whether there is one")
FACTOR(lu, 4, 1, 1, NULL, "linalg.lu_factor_ex", "2/3 n k, k rows of a matrix",
       "triangular factors with partial pivoting, pivots, the permutation's sign, and whether it is regular")
FACTOR(lu_solve, 1, 2, 3, NULL, "linalg.lu_solve", "2 n k, k rows of a matrix",
       "solves by the factors of lu, or inverts")
FACTOR(triangular_solve, 1, 2, 2, grad_triangular_solve, "linalg.solve_triangular", "n k, k rows of a matrix",
       "solves with a triangular matrix")
FACTOR(qr, 2, 1, 1, NULL, "linalg.qr", "4 m k, k columns of a matrix", "orthonormal and upper triangular factor")
FACTOR(eigh, 2, 1, 1, NULL, "linalg.eigh", "60 m k, k rows of a matrix",
       "eigenvalues and eigenvectors of symmetric matrices")
FACTOR(svd, 3, 1, 1, NULL, "linalg.svd", "60 m k, k columns of a matrix",
       "singular values and vectors of matrices that are not wide")

/* ---- the check: a factorization that failed is a fault of the run ------------------------------------------------ */

static wick_status infer_check(wick_infer *i) {
    *i->out = *i->in[0];
    if (!wick_dtype_is_float(i->in[0]->dtype) || i->in[1]->dtype != WICK_I64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs floats and integers");
    return WICK_OK;
}
static int64_t run_check(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    (void)begin, (void)end, (void)scratch;
    const int64_t *info = ptr[0];
    for (int64_t i = 0; i < *(const int64_t *)args; i++)
        if (info[i] < 0) return i;
    return -1;
}
static wick_status lower_check(wick_lower *l, wick_node *node) {
    wick_operand info;
    WICK_TRY(wick_lower_in_contiguous(l, node, 1, &info));
    wick_lower_set(l, node, 0, wick_lower_in(l, node, 0));
    const int64_t count = wick_type_count(info.type);
    wick_step step = {.name = "check_factor",
                      .run = run_check,
                      .tasks = 1,
                      .bytes = (double)wick_type_bytes(info.type),
                      .fault = WICK_ERR_INVALID,
                      .fault_text = *(const int64_t *)node->attr ? "matrix number %lld is not positive definite"
                                                                 : "matrix number %lld is singular"};
    return wick_lower_step(l, &step, &count, sizeof count, (wick_ref[]){wick_lower_ref(&info, false)}, 1);
}
static void grad_check(wick_gradient *g) { g->gin[0] = g->gout[0]; }
static void sample_check(wick_sample *s) {
    s->n_in = 2;
    const int64_t positive = 1;
    memcpy(s->attr, &positive, s->attr_size = sizeof positive);
    s->in[0] =
        (wick_type){.dtype = s->random() % 2 ? WICK_F64 : WICK_F32, .rank = 2, .dims = {wick_sample_int(s, 0, 3), 2}};
    s->in[1] = (wick_type){.dtype = WICK_I64, .rank = 1, .dims = {3}};
    s->lo[0] = -2, s->hi[0] = 2;
    s->differentiable = s->in[0].dtype == WICK_F64;
}
const wick_op wick_op_check_factor = {.name = "check_factor",
                                      .doc = "what a factorization gave; fails the run where there was none",
                                      .cost = "0",
                                      .min_in = 2,
                                      .max_in = 2,
                                      .n_out = 1,
                                      .flags = WICK_OP_FAULTS,
                                      .infer = infer_check,
                                      .grad = grad_check,
                                      .flops = wick_no_flops,
                                      .lower = lower_check,
                                      .sample = sample_check};
wick_tensor *wick_check_factor(wick_tensor *x, wick_tensor *info, bool positive) {
    const int64_t attr = positive;
    return wick_record(NULL, &wick_op_check_factor, 2, (wick_tensor *[]){x, info}, &attr, sizeof attr);
}
