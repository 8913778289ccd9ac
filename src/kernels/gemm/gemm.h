/* gemm.h: the seam between the control flow of matrix products (gemm.c) and the kernels of a tier (gemm_tier.c).
 *
 *   C (m x n) is cut into tasks of mc x nc; a task walks blocks of kc, panels of nr columns, tiles of mr rows:
 *
 *     for each block of k:  for each panel of B (in place, or packed to [kc][nr]):  for each tile of A: tile kernel
 *
 * A tile kernel starts its accumulators at zero, runs one chain of multiply-adds per element over the block, and adds
 * what C holds from the blocks before. No element's arithmetic depends on the tile, the panel or the task that it falls
 * in. */
#ifndef WICK_KERNELS_GEMM_GEMM_H
#define WICK_KERNELS_GEMM_GEMM_H

#include "kernels/gemm/gemm_api.h"

/* One call of a tile kernel: C[rows x cols] from A[rows x k] and B[k x cols]. */
typedef struct wick_gemm_tile {
    int64_t k;
    const void *a; /* any strides */
    int64_t a_row, a_col;
    int64_t pieces;          /* tiles: A is this many pieces of k columns, */
    const int64_t *piece_at; /* so many elements behind a; B goes on from one to the next. NULL: one, at a */
    const void *b;           /* rows contiguous, without masks readable to a whole number of vectors */
    int64_t b_row;           /* gemv_columns, gemv_panels: the distance of columns, of panels */
    int64_t k_block;         /* gemv_columns: k is summed in blocks of this many */
    bool from_dram;          /* thin kernels: B is in no near cache; tiles: C is in none, and asked for first */
    void *c;
    int64_t c_row, c_col;
    const void *ahead;  /* tiles: what is wanted soon: a line of it is asked for with each step of k, */
    int64_t ahead_step; /* so many bytes on; NULL: nothing */
    int64_t cols;       /* columns that exist: the rest of the last vector is computed and dropped */
    const void *bias;   /* the tile's own part */
    int bias_mode;      /* as wick_gemm.bias */
    bool add;           /* C += */
    bool relu;
} wick_gemm_tile;

typedef void wick_gemm_tile_fn(const wick_gemm_tile *t);
/* dst[p][j] = src[p * row + j * col] for p < k, j < cols; dst rows are dst_row apart and padded with finite or copied
 * values to a whole number of vectors. */
typedef void wick_gemm_pack_fn(int64_t k, int64_t cols, const void *src, int64_t row, int64_t col, void *dst,
                               int64_t dst_row);

/* The reference computes whole rows instead of tiles. */
typedef void wick_gemm_rows_fn(const wick_gemm *g, int64_t begin, int64_t end, const void *a, const void *b,
                               const void *bias, void *c);

typedef struct wick_gemm_kernel {
    const char *names[9]; /* by layout of A, then of B: n (rows contiguous), t (columns contiguous), s (neither) */
    int elem;             /* bytes */
    int lanes;            /* elements of a vector */
    int mr, nr;           /* the largest tile; nr is a multiple of lanes */
    wick_gemm_tile_fn *const *tiles; /* [(vectors - 1) * mr + rows - 1] */
    wick_gemm_pack_fn *pack;
    bool masks; /* the last vector of tiles ends where the columns do, in B as in C */
    /* By rows - 1, up to WICK_GEMM_FEW_... and few_by_columns: B in place, whose rows (or columns, `columns` at least)
     * are contiguous, or which is packed; any number of columns. */
    int few_by_columns, columns;
    bool squares; /* gemv_columns read no line twice: it has no say which sets of L1 columns share */
    wick_gemm_tile_fn *const *gemv_rows, *const *gemv_panels, *const *gemv_columns;
    /* Of k = 1, without anything that follows; B's columns are neighbours. */
    void (*outer)(int64_t rows, int64_t cols, const void *a, int64_t a_row, const void *b, void *c, int64_t c_row);
    wick_gemm_rows_fn *rows; /* the reference only; then the tile fields are unused */
} wick_gemm_kernel;

/* f32, f64. half: tiles of f32 one vector wide, of half the tier's length, for products that would leave the other half
 * idle; elem is 0 where there are none. */
typedef struct wick_gemm_kernels {
    wick_gemm_kernel type[2], half;
} wick_gemm_kernels;

extern const wick_gemm_kernels wick_gemm_kernels_ref, wick_gemm_kernels_base, wick_gemm_kernels_avx2,
    wick_gemm_kernels_avx512;

/* Of the current tier. */
const wick_gemm_kernel *wick_gemm_kernel_of(wick_ctype type);
/* The same for products of so many columns, with the same bits: tiles only. */
const wick_gemm_kernel *wick_gemm_tiles_of(wick_ctype type, int64_t cols);
/* The height of tiles for an A with this row stride: rows so far apart that all of a tile's lines fall into one set of
 * an L1 cache take lower tiles. */
int64_t wick_gemm_tile_rows(const wick_gemm_kernel *q, int64_t a_row);
/* Whether a C of so many bytes is worth asking for while its sums are made. */
bool wick_gemm_c_is_far(int64_t bytes);

#endif
