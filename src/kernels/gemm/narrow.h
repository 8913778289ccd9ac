/* narrow.h: the seam of products of bf16 and f16 (narrow.c): their control flow, and dot products of pairs of bf16
 * (narrow_tier.c).
 *
 *   wide   A and B become f32 panels while they are packed, block by block; the tiles are those of f32
 *   sweep  up to 4 rows of A, and B by rows: it becomes f32 in registers, as it lies in memory, and sums wait in L1
 *   dot    panels of pairs of bf16, [pair][column][2]: vdpbf16ps multiplies and adds two of each at once
 *
 * Of bf16 both take the second of each pair first, as vdpbf16ps does: c = fma(a[2p], b[2p], fma(a[2p + 1], b[2p + 1],
 * c)), each rounded to nearest even, denormals flushed (Intel SDM vol. 2, VDPBF16PS): one chain, so that the bits of a
 * tier do not depend on who has that instruction. */
#ifndef WICK_KERNELS_GEMM_NARROW_H
#define WICK_KERNELS_GEMM_NARROW_H

#include "kernels/gemm/gemm.h"

/* sums[rows][columns of the tile] (+)= A B. Distances in bytes. */
typedef struct wick_dot_tile {
    int64_t pairs;
    bool odd; /* A has one element more, and B what `in place` says or zeros beside it */
    const char *a;
    int64_t a_row, a_pair;
    const char *b;
    int64_t b_row;  /* in place: of rows of B */
    int64_t b_next; /* packed: of panels of two vectors */
    float *sums;
    int64_t sums_row; /* elements */
    bool add;
} wick_dot_tile;
typedef void wick_dot_tile_fn(const wick_dot_tile *t);

/* Sums become results: rounded, plus a bias, rounded again, without what is below 0. */
typedef struct wick_dot_finish {
    int64_t rows, cols;
    const float *sums;
    int64_t sums_row;
    const void *bias;
    int bias_mode; /* as wick_gemm.bias */
    bool relu, f32; /* f32: C and bias are, else bf16 */
    void *c;
    int64_t c_row;
} wick_dot_finish;

enum { WICK_DOT_FEW = 6 };
typedef struct wick_dot_kernel {
    const char *names[9];              /* as wick_gemm_kernel's */
    int lanes, mr, nr;                 /* a panel is nr = 2 lanes columns */
    wick_dot_tile_fn *const *tiles[2]; /* B packed, in place: [(vectors - 1) * mr + rows - 1] */
    /* up to WICK_DOT_FEW rows, by few_columns[rows - 1]: enough sums at once that their chains overlap */
    wick_dot_tile_fn *const *few[2];
    int few_columns[WICK_DOT_FEW];
    /* dst[p][j] = pair p of column j, for p < (k + 1) / 2, zeros beyond k and to whole vectors of columns; dst_row in
     * pairs. */
    wick_gemm_pack_fn *pack;
    void (*finish)(const wick_dot_finish *f);
} wick_dot_kernel;

extern const wick_dot_kernel wick_dot_kernel_avx512; /* no other tier has one */

/* sums[rows][cols] += A B for up to so many rows of B, one after the other. cols to whole vectors of sums. */
enum { WICK_SWEEP_STEPS = 8, WICK_SWEEP_ROWS = 4 };
typedef struct wick_narrow_sweep {
    int steps;
    const uint16_t *b[WICK_SWEEP_STEPS];
    const float *a; /* [rows][WICK_SWEEP_STEPS] */
    int64_t ahead;  /* elements to what is read next, to be asked for */
    int64_t cols;
    float *sums;
    int64_t sums_row;
} wick_narrow_sweep;
typedef void wick_narrow_sweep_fn(const wick_narrow_sweep *t);
/* rows of bf16, of f16 */
extern wick_narrow_sweep_fn *const wick_narrow_sweeps_avx2[2 * WICK_SWEEP_ROWS],
    *const wick_narrow_sweeps_avx512[2 * WICK_SWEEP_ROWS];

/* What gemm.c hands over where wick_gemm.narrow says so. */
void wick_narrow_prepare(wick_gemm *g, const wick_tuning *tuning);
void wick_narrow_pack(const wick_gemm *g, int64_t begin, int64_t end, const void *b, void *packed);
void wick_narrow_run(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b, const void *bias,
                     void *c, const void *packed, void *scratch);
const char *wick_narrow_name(const wick_gemm *g);
int wick_narrow_rejected(const wick_gemm *g, wick_rejected *out);

#endif
