/* scan_api.h: running sums, products and extremes over the middle of [outer, n, inner], contiguous. */
#ifndef WICK_KERNELS_SCAN_API_H
#define WICK_KERNELS_SCAN_API_H

#include "kernels/types.h"

/* SUM and PROD: f32 (accumulated in f64), f64, i64, u64. Rows longer than a chunk (of extremes too) are taken in
 * chunks, in an order that n fixes: stage 0 makes the chunks' totals, stage 1 what stands before each, stage 2 the
 * result; partials: bytes shared by the stages. LOG_SUM: the logarithm of the running sum of exponentials; MAX and MIN:
 * the five arithmetic types, with places (the last of equals); NaN stays. */
typedef enum wick_scan_kind {
    WICK_SCAN_SUM,
    WICK_SCAN_PROD,
    WICK_SCAN_LOG_SUM,
    WICK_SCAN_MAX,
    WICK_SCAN_MIN
} wick_scan_kind;
typedef struct wick_scan {
    wick_ctype type;
    wick_scan_kind kind;
    bool exclusive; /* SUM, PROD: of what stands before */
    bool reverse;   /* from the end */
    int64_t outer, n, inner;

    /* filled by wick_scan_prepare */
    int stages;
    int64_t tasks[3];
    size_t partials;
    int64_t chunk, chunks, per_task;
} wick_scan;
void wick_scan_prepare(wick_scan *s);
/* index: of MAX and MIN */
void wick_scan_run(const wick_scan *s, int stage, int64_t begin, int64_t end, const void *x, void *y, int64_t *index,
                   void *partials);

#endif
