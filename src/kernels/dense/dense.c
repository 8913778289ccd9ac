/* dense.c: factorizations of dense matrices, one matrix a call. Blocks of BLOCK columns are factored by loops over
 * rows; what lies beyond is updated by matrix products (right-looking; Golub, Van Loan, Matrix Computations, 4th
 * ed., 3.2, 4.2). On tier ref a matrix is one block.
 *
 * Every function runs twice: without memory it only finds out how much it needs. */
#include "kernels/dense/dense.h"
#include "kernels/gemm/gemm_api.h"

enum { DENSE_BLOCK = 48, DENSE_COLUMNS = 192 }; /* of a panel; of a strip of what is beside it */

static const wick_dense_table *const dense_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_dense_table)};

typedef struct dense_run {
    wick_ctype type;
    const wick_dense_loops *loops;
    int64_t block;
    size_t at_product, need; /* bytes: the memory of products starts at at_product */
    char *memory;            /* NULL: measure only */
} dense_run;

static dense_run dense_begin(wick_ctype type, void *memory) {
    const wick_tier tier = wick_tier_current();
    return (dense_run){.type = type,
                       .loops = &dense_tiers[tier]->type[type == WICK_CF64],
                       .block = tier == WICK_TIER_REF ? INT64_MAX : DENSE_BLOCK,
                       .memory = memory};
}
/* Bytes of memory at the front, before the products'. */
static void *dense_take(dense_run *r, int64_t count) {
    void *at = r->memory ? r->memory + r->at_product : NULL;
    r->at_product += WICK_ALIGN_UP((size_t)count * wick_ctype_size(r->type), WICK_ALIGN);
    r->need = WICK_MAX(r->need, r->at_product);
    return at;
}
/* C += A B */
static void dense_product(dense_run *r, int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row, int64_t a_col,
                          const void *b, int64_t b_row, void *c, int64_t c_row) {
    if (m == 0 || n == 0 || k == 0) return;
    wick_gemm g = {.type = r->type,
                   .m = m,
                   .n = n,
                   .k = k,
                   .a_row = a_row,
                   .a_col = a_col,
                   .b_row = b_row,
                   .b_col = 1,
                   .c_row = c_row,
                   .accumulate = true};
    wick_gemm_prepare(&g, NULL); /* the same when memory is counted and when it is used */
    const size_t packed = WICK_ALIGN_UP(g.packed, WICK_ALIGN);
    r->need = WICK_MAX(r->need, r->at_product + packed + g.scratch);
    if (!r->memory) return;
    char *memory = r->memory + r->at_product;
    if (g.tasks_pack) wick_gemm_pack(&g, 0, g.tasks_pack, b, memory);
    wick_gemm_run(&g, 0, g.tasks, a, b, NULL, c, memory, memory + packed);
}

#define DENSE_T       float
#define DENSE_NAME(x) x##_f32
#define DENSE_SQRT    __builtin_sqrtf
#define DENSE_ABS     __builtin_fabsf
#include "kernels/dense/dense_body.h"
#include "kernels/dense/tridiagonal_body.h"
#include "kernels/dense/bidiagonal_body.h"
#undef DENSE_T
#undef DENSE_NAME
#undef DENSE_SQRT
#undef DENSE_ABS

#define DENSE_T       double
#define DENSE_NAME(x) x##_f64
#define DENSE_SQRT    __builtin_sqrt
#define DENSE_ABS     __builtin_fabs
#include "kernels/dense/dense_body.h"
#include "kernels/dense/tridiagonal_body.h"
#include "kernels/dense/bidiagonal_body.h"

#define DENSE_PICK(name, ...) (type == WICK_CF64 ? name##_f64(__VA_ARGS__) : name##_f32(__VA_ARGS__))

int64_t wick_factor_blocks(int64_t n) {
    return wick_tier_current() == WICK_TIER_REF ? n > 0 : (n + DENSE_BLOCK - 1) / DENSE_BLOCK;
}
int64_t wick_factor_strips(int64_t n, int64_t block, bool both_sides) {
    const int64_t wide = DENSE_BLOCK, blocks = wick_factor_blocks(n), before = both_sides ? block * wide : 0,
                  behind = block + 1 < blocks ? n - (block + 1) * wide : 0;
    return (before + DENSE_COLUMNS - 1) / DENSE_COLUMNS + (behind + DENSE_COLUMNS - 1) / DENSE_COLUMNS;
}
size_t wick_factor_shared(wick_ctype type, int64_t n) {
    const int64_t wide = wick_tier_current() == WICK_TIER_REF ? n : WICK_MIN(n, DENSE_BLOCK);
    return (size_t)(n + 2 * n * wide) * wick_ctype_size(type);
}

size_t wick_cholesky_panel(wick_ctype type, int64_t n, double shift, int64_t block, const void *a, void *l,
                           int64_t *info, void *shared, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(cholesky_panel, &r, n, shift, block * DENSE_BLOCK, a, l, info, shared);
    return r.need;
}
size_t wick_cholesky_update(wick_ctype type, int64_t n, int64_t block, int64_t begin, int64_t end, void *l,
                            const int64_t *info, const void *shared, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(cholesky_update, &r, n, block * DENSE_BLOCK, begin, end, l, info, shared);
    return r.need;
}
size_t wick_cholesky_matrix(wick_ctype type, int64_t n, double shift, const void *a, void *l, int64_t *info,
                            void *memory) {
    const size_t shared = WICK_ALIGN_UP(wick_factor_shared(type, n), WICK_ALIGN);
    void *rest = memory ? (char *)memory + shared : NULL;
    size_t need = 0;
    if (memory) *info = 0;
    for (int64_t b = 0; b < wick_factor_blocks(n); b++) {
        const size_t panel = wick_cholesky_panel(type, n, shift, b, a, l, info, memory, rest);
        const size_t update =
            wick_cholesky_update(type, n, b, 0, wick_factor_strips(n, b, false), l, info, memory, rest);
        need = WICK_MAX(need, WICK_MAX(panel, update));
    }
    return shared + need;
}
size_t wick_lu_panel(wick_ctype type, int64_t n, double shift, int64_t block, const void *a, void *lu, int64_t *pivot,
                     void *sign, int64_t *info, void *shared, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(lu_panel, &r, n, shift, block * DENSE_BLOCK, a, lu, pivot, sign, info, shared);
    return r.need;
}
size_t wick_lu_update(wick_ctype type, int64_t n, int64_t block, int64_t begin, int64_t end, void *lu,
                      const int64_t *pivot, const void *shared, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(lu_update, &r, n, block * DENSE_BLOCK, begin, end, lu, pivot, shared);
    return r.need;
}
size_t wick_lu_matrix(wick_ctype type, int64_t n, double shift, const void *a, void *lu, int64_t *pivot, void *sign,
                      int64_t *info, void *memory) {
    const size_t shared = WICK_ALIGN_UP(wick_factor_shared(type, n), WICK_ALIGN);
    void *rest = memory ? (char *)memory + shared : NULL;
    size_t need = 0;
    if (memory && !n) {
        *info = 0;
        if (type == WICK_CF64)
            *(double *)sign = 1;
        else
            *(float *)sign = 1;
    }
    for (int64_t b = 0; b < wick_factor_blocks(n); b++) {
        const size_t panel = wick_lu_panel(type, n, shift, b, a, lu, pivot, sign, info, memory, rest);
        const size_t update = wick_lu_update(type, n, b, 0, wick_factor_strips(n, b, true), lu, pivot, memory, rest);
        need = WICK_MAX(need, WICK_MAX(panel, update));
    }
    return shared + need;
}
size_t wick_triangular_matrix(wick_ctype type, int64_t n, int64_t m, const wick_triangle *how, const void *a, void *b,
                              void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(triangular, &r, n, m, how, a, n, b);
    return r.need;
}
size_t wick_lu_solve_matrix(wick_ctype type, int64_t n, int64_t m, bool transposed, const void *lu,
                            const int64_t *pivot, void *b, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(lu_solve, &r, n, m, transposed, lu, pivot, b);
    return r.need;
}
size_t wick_qr_matrix(wick_ctype type, int64_t m, int64_t n, int64_t columns, double shift, const void *a, void *q,
                      void *r_, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(qr, &r, m, n, columns, shift, a, q, r_);
    return r.need;
}
size_t wick_eigh_matrix(wick_ctype type, int64_t n, const void *a, void *values, void *vectors, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(eigh, &r, n, a, values, vectors);
    return r.need;
}
size_t wick_svd_matrix(wick_ctype type, int64_t m, int64_t n, const void *a, void *u, void *s, void *vt, void *memory) {
    dense_run r = dense_begin(type, memory);
    DENSE_PICK(svd, &r, m, n, a, u, s, vt);
    return r.need;
}
