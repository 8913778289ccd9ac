/* index_api.h: reads and writes by index, places of planes, sliding windows put back, rows joined.
 *
 * Elements are opaque, `elem` bytes each. Negative indices count from the end. Returns -1, or the position in `index`
 * of the first one outside [-n, n), whose elements are then left zero (gather) or skipped (scatter). */
#ifndef WICK_KERNELS_INDEX_API_H
#define WICK_KERNELS_INDEX_API_H

#include "kernels/types.h"

/* dst[o][i][inner] = src[o][index[i]][inner] for o in [begin, end): src is [outer, n, inner], index has count entries.
 * nontemporal: dst is part of more than caches keep. */
int64_t wick_gather_rows(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count,
                         const void *src, const int64_t *index, void *dst, bool nontemporal);
/* The same of slices of `size` bytes, from one row of them; `more` indices follow these `count`, and what they name is
 * asked for. */
int64_t wick_gather_some(size_t size, int64_t n, int64_t count, int64_t more, const void *src, const int64_t *index,
                         void *dst);

/* An index of the shape of what is read or written, but for the extent of the data along the axis: with i a position in
 * it and i' the same with index[i] along the axis, reads are other[i] = data[i'], writes data[i'] = how(data[i'],
 * other[i]) in the order of the axis. All have strides of their own. SET takes any elements of 1, 2, 4 or 8 bytes, the
 * others the five arithmetic types; NaN wins max and min. */
enum { WICK_ALONG_SET, WICK_ALONG_ADD, WICK_ALONG_MUL, WICK_ALONG_MAX, WICK_ALONG_MIN };
typedef struct wick_along_dim {
    int64_t n, data, index, other; /* extent of the index, strides */
    /* stride in the row-major order of the index, without dims that it is the same along: filled by prepare */
    int64_t place;
} wick_along_dim;
typedef struct wick_along {
    int rank, axis; /* rank >= 1; the dim `axis` has the data's stride along it */
    int64_t n;      /* extent of the data along the axis */
    wick_along_dim dim[WICK_MAX_DIMS];
    size_t elem;
    wick_ctype type; /* of writes other than SET */
    uint8_t how;
    bool reads;

    /* filled by wick_along_prepare, which also merges dims */
    int64_t tasks, units, units_per_task, inner_block, inner_blocks, axis_block, axis_blocks;
    int64_t place_block, place_blocks; /* a task writes so many places of the axis */
    wick_along_dim along, inner;
} wick_along;
void wick_along_prepare(wick_along *a);
/* Returns -1, or the row-major position in the index of the first one outside [-n, n): zero is read there, nothing
 * written. */
int64_t wick_along_run(const wick_along *a, int64_t begin, int64_t end, void *data, const int64_t *index, void *other);
/* dst[i] = the place of index[i][0..n) in a row-major array of extents dims, for i in [begin, end). Returns -1, or the
 * position in index of the first one out of range. */
int64_t wick_ravel_index(int n, const int64_t *dims, int64_t begin, int64_t end, const int64_t *index, int64_t *dst);
int64_t wick_count_true(int64_t count, const uint8_t *mask);
/* The places of those that are true among elements [begin, end) of a row-major mask, rank numbers each, in order: the
 * first `size`. Returns how many there are in all. */
int64_t wick_nonzero_places(int rank, const int64_t *dims, const uint8_t *mask, int64_t begin, int64_t end,
                            int64_t size, int64_t *dst);
/* Row i of dst is row i of each part, one after the other: rows of part k have bytes[k], step[k] bytes apart. Rows
 * [begin, end) of dst, which lie together, or as many of them as are a block, each block_step bytes after the last. */
enum { WICK_JOIN_PARTS = 8 };
typedef struct wick_join {
    int n;
    int64_t rows, width, bytes[WICK_JOIN_PARTS], step[WICK_JOIN_PARTS]; /* width: the sum of bytes */
    int64_t block, block_step;                                          /* 0: all rows lie together */
} wick_join;
void wick_join_rows(const wick_join *j, int64_t begin, int64_t end, const void *const *parts, void *dst);
/* dst[i] = i for i in [begin, end), as i32 or i64. */
void wick_iota(bool wide, int64_t begin, int64_t end, void *dst);

/* Sliding windows put back: y[o, c step + k dilation, i] += x[o, c, i, k] over zeros, in the order of c, then k; o in
 * [begin, end). x is [outer, count, inner, size], y is [outer, extent, inner]. */
typedef struct wick_window_sum {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    int64_t extent, count, inner, size, step, dilation;
} wick_window_sum;
void wick_window_sum_run(const wick_window_sum *w, int64_t begin, int64_t end, const void *x, void *y);
/* Planes of n values with a place each in planes of `extent`, planes [begin, end). put: y[index] = x, the last of those
 * with one place; zeros elsewhere. take: x = y[index] for those that put kept, 0 for the others; scratch: extent int64.
 * Returns -1, or the first place outside. */
int64_t wick_plane_put(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t extent, const void *x,
                       const int64_t *index, void *y);
int64_t wick_plane_take(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t extent, const void *y,
                        const int64_t *index, void *x, int64_t *scratch);

#endif
