/* int8.h: the seam between the control flow of products of 8-bit integers (int8.c) and the kernels of a tier (int8_tier.c).
 *
 *   A is taken row by row, in place or laid out in scratch; B is packed in stage 0, in panels of nr columns:
 *
 *     [panel][step][column][group]      a step is `group` neighbours along k, which one instruction multiplies and adds
 *
 *   quads   4 bytes of A, unsigned, by 4 of B, signed: vpdpbusd, which does not saturate. Other signs are moved by 128: x ^ 0x80
 *   pairs   2 i16 of each: vpmaddwd. Two products of bytes fit an i32
 *   tiles   4 bytes of each, of any sign, and 64 along k at once: gemm/amx.h. A and B as they are, k with zeros to 64
 *
 *   few    up to 4 rows by quads, or pairs, that are made in registers of B as it lies: nothing is packed
 *
 * Sums are i32 that wrap, so that every way gives the same bits. Zero points leave sums of columns of B, known after packing, and sums of rows
 * of A:   sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + k za zb. */
#ifndef WICK_KERNELS_INT8_INT8_H
#define WICK_KERNELS_INT8_INT8_H

#include "kernels/kernels.h"

/* Sums of a tile, each column's from start on; columns of one vector only where there are no more. */
typedef struct wick_int8_tile {
    int64_t steps;
    const void *a; /* rows of steps * group elements (quads: u8, pairs: i16) */
    int64_t a_row; /* bytes */
    const void *b;
    const int32_t *start; /* by column */
    int32_t *sums;
    int64_t sums_row; /* elements */
} wick_int8_tile;
typedef void wick_int8_tile_fn(const wick_int8_tile *t);

/* Sums become results; see wick_int8_result. */
typedef struct wick_int8_finish {
    int64_t rows, cols;
    const int32_t *sums;
    int64_t sums_row;
    const int32_t *row_sums; /* of A, or NULL */
    const int32_t *offset, *zero; /* by column: added, and taken times the sum of the row */
    const float *scale, *bias;    /* by column; bias for F32 */
    wick_int8_result result;
    float low, high; /* U8, I8: bounds of what is rounded */
    int32_t point;   /* and their zero point */
    void *c;
    int64_t c_row; /* elements */
} wick_int8_finish;

/* A few rows of A times B where it lies, rows of it contiguous: sums[rows][width] = A B for cols columns, up to width, a multiple of 64. */
enum { WICK_INT8_FEW = 4 };
typedef struct wick_int8_sweep {
    int64_t k, cols;
    const uint8_t *a; /* rows as `row` lays them out */
    int64_t a_row, padded; /* a_row: bytes */
    const uint8_t *b;
    int64_t b_row;
    uint8_t flip; /* bytes of B are moved by this: x ^ flip */
    int32_t *sums, *columns; /* columns: the sums of B's columns; NULL: not wanted */
    int64_t width;
} wick_int8_sweep;
typedef void wick_int8_sweep_fn(const wick_int8_sweep *t);

typedef struct wick_int8_kernel {
    const char *names[2]; /* matrices, convolutions */
    int group, elem;      /* of a step; bytes of an element as the tiles read it */
    int along;            /* k is padded to a multiple of this */
    bool any_sign;        /* bytes are multiplied as they are, signed or not */
    int mr, nr;
    wick_int8_tile_fn *const *tiles; /* [(vectors - 1) * mr + rows - 1] */
    /* k bytes (signed or not) as the tiles read them, with zeros to `padded` elements; returns their sum. */
    int32_t (*row)(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst);
    /* A panel: dst[step][nr][group], zeros where there is nothing; src[p * row + j * col]. sums[nr] of the columns. */
    void (*pack)(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst, int32_t *sums);
    void (*finish)(const wick_int8_finish *f);
    wick_int8_sweep_fn *const *few; /* [rows - 1]; NULL: none */
    /* sums[c] = sum over t of x[t][c] w[t][c]: x bytes, w i32. */
    void (*channels)(int64_t channels, int64_t taps, bool is_signed, const void *const *x, const int32_t *w, int32_t *sums);
} wick_int8_kernel;

typedef struct wick_int8_table {
    wick_int8_kernel plain, vnni, amx; /* group 0: the tier has none. amx has no tiles of its own: they are wick_amx_kernel's */
} wick_int8_table;
extern const wick_int8_table wick_int8_table_ref, wick_int8_table_base, wick_int8_table_avx2, wick_int8_table_avx512;

#endif
