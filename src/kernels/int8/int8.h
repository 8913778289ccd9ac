/* int8.h: the seam between the control flow of products of 8-bit integers (int8.c) and the kernels of a tier
 * (int8_tier.c).
 *
 *   A is taken row by row, in place or laid out in scratch; B is packed in stage 0, in panels of nr columns:
 *
 *     [panel][step][column][group]      a step is `group` neighbours along k, which one instruction multiplies and adds
 *
 *   quads   4 bytes of A, unsigned, by 4 of B, signed: vpdpbusd, which does not saturate. Other signs are moved by 128:
 *           x ^ 0x80
 *   pairs   2 i16 of each: vpmaddwd. Two products of bytes fit an i32
 *   bytes   4 bytes of A, unsigned, by 4 of B, signed, without VNNI: vpmaddubsw adds two products in an i16, where they
 *           fit if |b0| + |b1| <= 128, as 255 128 < 2^15. Of a step with a pair of weights that is larger, such pairs
 *           are split into two halves, whose second ones are a step of their own at the end of a panel. B is looked at
 *           first: where many steps would be split, pairs are faster
 *   tiles   4 bytes of each, of any sign, and 64 along k at once: gemm/amx.h. A and B as they are, k with zeros to 64
 *
 *   few    up to 4 rows by quads, or pairs, that are made in registers of B as it lies: nothing is packed
 *
 * Rows of convolutions are pixels that read lines of the image, laid out once with their padding, or where they lie:
 * what a pixel meets is `pieces` runs of neighbouring bytes, one for each line of taps, and k goes through them; a
 * piece ends with a step, whose weights are zero where the run has ended. (For AMX rows are gathered.) If each channel
 * is on its own, `group` lines of taps are woven into steps, [element][group], and the taps of a line are steps that
 * lie a pixel apart.
 *
 * Sums are i32 that wrap, so that every way gives the same bits. Zero points leave sums of columns of B, known after
 * packing, and sums of rows
 * of A:   sum (a - za)(b - zb) = sum a b - za sum b - zb sum a + k za zb. */
#ifndef WICK_KERNELS_INT8_INT8_H
#define WICK_KERNELS_INT8_INT8_H

#include "kernels/int8/int8_api.h"

/* Sums of a tile, each column's from start on; columns of one vector only where there are no more. */
typedef struct wick_int8_tile {
    int64_t pieces, steps; /* steps: of a piece */
    const int64_t *piece;  /* bytes from a to where each begins */
    const void *a;         /* rows of steps * group elements (quads: u8, pairs: i16) */
    int64_t a_row;         /* bytes */
    const void *b;
    const int32_t *start; /* by column */
    int32_t *sums;
    int64_t sums_row; /* elements */
    /* bytes: the second halves of split steps, [2]: piece, and bytes behind its beginning; their weights */
    int64_t splits;
    const int32_t *split;
    const void *split_b;
} wick_int8_tile;
typedef void wick_int8_tile_fn(const wick_int8_tile *t);

/* Sums become results; see wick_int8_result. */
typedef struct wick_int8_finish {
    int64_t rows, cols;
    const int32_t *sums;
    int64_t sums_row;
    const int32_t *row_sums;      /* of A, or NULL */
    const int32_t *offset, *zero; /* by column: added, and taken times the sum of the row */
    const float *scale, *bias;    /* by column; bias for F32 */
    wick_int8_result result;
    float low, high; /* U8, I8: bounds of what is rounded */
    int32_t point;   /* and their zero point */
    void *c;
    int64_t c_row; /* elements */
} wick_int8_finish;

/* sums[x][c] = the sum over taps of what is at v + x * step + tap (bytes), a step for each channel, times w[tap][c].
 * Channels: a multiple of a vector. */
typedef struct wick_int8_dots {
    int64_t outputs, channels, taps;
    const void *v, *w;
    const int64_t *tap;
    int64_t step;
    int32_t *sums;
} wick_int8_dots;

/* A few rows of A times B where it lies, rows of it contiguous: sums[rows][width] = A B for cols columns, up to width,
 * a multiple of 64. */
enum { WICK_INT8_FEW = 4 };
typedef struct wick_int8_sweep {
    int64_t k, cols;
    const uint8_t *a;      /* rows as `row` lays them out */
    int64_t a_row, padded; /* a_row: bytes */
    const uint8_t *b;
    int64_t b_row;
    uint8_t flip;            /* bytes of B are moved by this: x ^ flip */
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
    wick_int8_tile_fn *const *wide;  /* bytes: of weights as they are, of any size, slower; else NULL */
    /* k bytes (signed or not) as the tiles read them, with zeros to `padded` elements; returns their sum. */
    int32_t (*row)(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst);
    /* A panel: dst[step][nr][group], zeros where there is nothing; src[p * row + j * col]. sums[nr] of the columns. */
    void (*pack)(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst,
                 int32_t *sums);
    void (*finish)(const wick_int8_finish *f);
    wick_int8_sweep_fn *const *few; /* [rows - 1]; NULL: none */
    int lanes;                      /* channels of a vector */
    /* dst[i][group] = lines[group][i], elements as `row` lays them out. Up to 64 bytes behind lines are read, up to 256
     * behind dst written. */
    void (*weave)(int64_t n, const void *const *lines, void *dst);
    void (*dots)(const wick_int8_dots *t);
} wick_int8_kernel;

typedef struct wick_int8_table {
    /* group 0: the tier has none. amx has no tiles of its own: they are wick_amx_kernel's */
    wick_int8_kernel plain, vnni, amx, bytes;
} wick_int8_table;
/* What stands beside a packed B: by column, and for all. */
typedef struct int8_columns {
    int32_t *offset, *zero;
    float *scale, *bias, *bounds; /* bounds: low, high */
    int32_t *point;
} int8_columns;
/* Of n columns; where it begins is in memory or scratch that is packed to. */
size_t wick_int8_columns_bytes(int64_t n);
int8_columns wick_int8_columns_at(const wick_int8 *p, void *packed, int64_t n);
/* Columns [channel, channel + n) of all, at place j: what is added to sums of k numbers, where B as stored has these
 * sums. */
void wick_int8_set_columns(const wick_int8 *p, const wick_int8_data *d, const int8_columns *to, int64_t j,
                           int64_t channel, int64_t n, const int32_t *sums);
void wick_int8_set_bounds(const wick_int8 *p, const wick_int8_data *d, const int8_columns *to);
/* If a_zero comes late: what is packed has sums in the place of offsets; if a_scale does, scales of B. Reserves scratch
 * for `width` columns; columns [first, first + n) as finishing wants them, in their places. Otherwise nothing, and what
 * is packed. */
void wick_int8_reserve_late(wick_int8 *p, size_t *at, int64_t width);
int8_columns wick_int8_late_columns(const wick_int8 *p, const wick_int8_data *d, int8_columns packed, int64_t width,
                                    int64_t first, int64_t n, char *scratch);
static inline int32_t wick_int8_byte(const void *p, bool is_signed, int64_t i) {
    return !p ? 0 : is_signed ? ((const int8_t *)p)[i] : ((const uint8_t *)p)[i];
}

/* int8_split.c: steps whose weights are split, of the kernel `bytes`. */
enum { WICK_INT8_UNSPLIT = -1 }; /* a panel that there is no room to split */
/* How many steps of p->known would be split: of all, and at most of a panel. False: of more than it is worth. */
bool wick_int8_count_splits(const wick_int8 *p, int64_t *most);
/* Reserves room at *at, in what is packed. */
void wick_int8_reserve_splits(wick_int8 *p, size_t *at, int64_t panels);
void wick_int8_split_panel(const wick_int8 *p, char *packed, int64_t panel);
/* The tiles of a panel; fills in its split steps. */
wick_int8_tile_fn *const *wick_int8_tiles_of(const wick_int8 *p, const char *packed, int64_t panel,
                                             wick_int8_tile *tile);

/* int8_conv.c: convolutions by lines. */
void wick_int8_conv_prepare(wick_int8 *p, const wick_tuning *tuning);
void wick_int8_pack_depthwise(const wick_int8 *p, const wick_int8_data *d);
void wick_int8_run_depthwise(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, char *scratch);
void wick_int8_run_lines(const wick_int8 *p, int64_t begin, int64_t end, const wick_int8_data *d, char *scratch);

extern const wick_int8_table wick_int8_table_ref, wick_int8_table_base, wick_int8_table_avx2, wick_int8_table_avx512;

#endif
