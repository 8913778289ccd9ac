/* resample.h: what each tier of the resampling kernels offers to the dispatch in resample.c; the meaning is that of
 * resample_api.h. */
#ifndef WICK_KERNELS_RESAMPLE_H
#define WICK_KERNELS_RESAMPLE_H

#include "kernels/resample/resample_api.h"

typedef void wick_resample_fn(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y);
typedef struct wick_resample_table {
    wick_resample_fn *run[2]; /* f32, f64 */
} wick_resample_table;

extern const wick_resample_table wick_resample_table_ref, wick_resample_table_base, wick_resample_table_avx2,
    wick_resample_table_avx512;

#endif
