/* scan.h: what each tier offers to scan.c. */
#ifndef WICK_KERNELS_SCAN_H
#define WICK_KERNELS_SCAN_H

#include "kernels/scan/scan_api.h"

enum { WICK_SCAN_COLUMNS = 64 }; /* of a block */

/* Lines [begin, end) of outer * inner, for f32 and f64. */
typedef struct wick_log_sum_table {
    void (*run[2])(const wick_scan *s, int64_t begin, int64_t end, const void *x, void *y);
} wick_log_sum_table;
/* Running extremes of lines [begin, end): chunks of rows, or blocks of columns where inner > 1. */
typedef struct wick_extremes_table {
    void (*run[WICK_CTYPE_COUNT])(const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x, void *y,
                                  int64_t *index, void *partials);
} wick_extremes_table;

extern const wick_log_sum_table wick_log_sum_table_ref, wick_log_sum_table_base, wick_log_sum_table_avx2,
    wick_log_sum_table_avx512;
extern const wick_extremes_table wick_extremes_table_ref, wick_extremes_table_base, wick_extremes_table_avx2,
    wick_extremes_table_avx512;

#endif
