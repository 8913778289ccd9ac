/* resample_api.h: weighted sums along an axis: x is [outer, in, inner], y is [outer, out, inner], contiguous.
 *
 * y[n, o] = sum over k in [start[o], start[o + 1]) of weight[k] x[n, index[k]], in order; of nothing it is fill. copy:
 * of any elements, `elem` bytes each; the first tap is copied, weights are not looked at. Both run the rows [begin,
 * end) of outer * out. */
#ifndef WICK_KERNELS_RESAMPLE_API_H
#define WICK_KERNELS_RESAMPLE_API_H

#include "kernels/types.h"

typedef struct wick_resample {
    wick_ctype type; /* WICK_CF32 or WICK_CF64; of the weights too */
    size_t elem;     /* copy only */
    int64_t outer, in, out, inner;
    int64_t uniform; /* taps of every output; 0: they differ */
    const int32_t *start, *index;
    const void *weight;
    double fill;
    uint64_t fill_bits; /* copy: as it is in memory */
} wick_resample;
void wick_resample_run(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y);
void wick_resample_copy(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y);

#endif
