/* gemm_api.h: matrix products, C = A B (+ C) for f32 and f64, C = A B for bf16 and f16.
 *
 * A is m x k with strides (a_row, a_col), B is k x n with (b_row, b_col), C is m x n with row stride c_row and column
 * stride 1. All transposes and views are strides. Stage 0 packs B into `packed` (tasks_pack tasks; 0 when B is used in
 * place), stage 1 computes tiles of C. Each element of C is one fixed order of FMAs (base tier: multiply, add) over k
 * in blocks of kc, whatever the tasks. k = 0 gives zeros (or C unchanged). */
#ifndef WICK_KERNELS_GEMM_API_H
#define WICK_KERNELS_GEMM_API_H

#include "kernels/sparse/sparse_api.h"
#include "kernels/tuning.h"
#include "kernels/types.h"

typedef struct wick_gemm {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row;
    bool accumulate; /* C += A B */
    /* C is square and symmetric, and what lies above its diagonal is not wanted: tiles that are all there are left out
     */
    bool lower;
    uint8_t precision; /* wick_f32_precision: which ways to multiply f32 may be taken */
    /* B is packed once, for many products: stage 0 always packs it (f16, and bf16 without dot products: never) */
    bool keep;
    /* B is the same in all of them: stage 0 packs it if it has to be packed at all, however few rows there are */
    bool b_constant;
    /* 0, or the dtype of A and B: WICK_BF16 or WICK_F16. Then type is WICK_CF32, in which sums are made; C and bias are
     * of result, that dtype or WICK_F32; and C is not accumulated. With a bias and a narrow result, A B is rounded to
     * it first: the same as two ops. */
    uint8_t narrow, result;
    /* epilogue, applied to the tile while it is in cache: C = act(A B + bias) */
    int8_t bias; /* 0 none, 1 a vector of n (per column), 2 a vector of m (per row) */
    bool relu;
    /* B is mostly zeros: wick_sparse_choose, before it is prepared. It then has one task of stage 0 */
    wick_sparse sparse;

    /* filled by wick_gemm_prepare */
    int64_t tasks_pack, tasks;
    size_t packed;  /* bytes shared by the stages */
    size_t scratch; /* bytes that each worker needs */
    int64_t kc, mc, nc;
    uint32_t how; /* which operands are packed or swapped: gemm.c's own */
    const struct wick_gemm_kernel *kernel;
    const struct wick_amx_kernel *amx; /* not NULL: by tiles, */
    uint8_t parts;                     /* of an f32 that became a sum of this many bf16 */
} wick_gemm;
/* Uses the current tier. tuning: kernels/tuning.h; it changes no bits, and the number of threads is not asked for. */
void wick_gemm_prepare(wick_gemm *g, const wick_tuning *tuning);
/* Before it is prepared: B's columns are contiguous, and a copy of B whose rows are, made once for many products, would
 * be faster and give the same bits. */
bool wick_gemm_wants_rows(const wick_gemm *g, const wick_tuning *tuning);
void wick_gemm_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed);
void wick_gemm_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                   void *c, const void *packed, void *scratch);
/* Of a prepared one: which rows and columns of C, first and end, a task makes. false: not told. */
bool wick_gemm_task_block(const wick_gemm *g, int64_t task, int64_t rows[2], int64_t cols[2]);
const char *wick_gemm_name(const wick_gemm *g); /* "gemm_f32_nt_14x32_avx512" */

/* Of a product prepared by this tuning: how many, into out. By the same tests as wick_gemm_prepare. */
int wick_gemm_rejected(const wick_gemm *g, const wick_tuning *tuning, wick_rejected *out);

/* Rows [begin, end) of C = A B for i32, i64 and u64, which wrap; A has any strides, B and C are contiguous. */
void wick_matmul_integers(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t k, int64_t a_row,
                          int64_t a_col, const void *a, const void *b, void *c);

#endif
