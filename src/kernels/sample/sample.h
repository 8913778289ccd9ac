/* sample.h: what each tier of the kernels over taps offers to the dispatch in sample.c; the meaning is that of
 * sample_api.h. */
#ifndef WICK_KERNELS_SAMPLE_H
#define WICK_KERNELS_SAMPLE_H

#include "kernels/sample/sample_api.h"

typedef struct wick_taps_table {
    void (*sum[2])(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index,
                   const void *weight, void *y);
    void (*put[2])(const wick_taps *t, int64_t begin, int64_t end, const void *y, const int64_t *index,
                   const void *weight, void *x);
    void (*dot[2])(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index, const void *y,
                   void *weight);
} wick_taps_table;

extern const wick_taps_table wick_taps_table_ref, wick_taps_table_base, wick_taps_table_avx2, wick_taps_table_avx512;

#endif
