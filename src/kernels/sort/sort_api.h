/* sort_api.h: sorting along rows of n, contiguous, of all types but bool. NaN is the largest, -0 equals 0, equal
 * elements keep their order. */
#ifndef WICK_KERNELS_SORT_API_H
#define WICK_KERNELS_SORT_API_H

#include "kernels/types.h"

/* The first k of each row in order: values and their places, both [rows, k]. Stages are run one after the other;
 * buffers: two of `buffer` bytes each, shared by all tasks. */
typedef struct wick_sorting {
    wick_ctype type;
    bool descending;
    int64_t rows, n, k;

    /* filled by wick_sort_prepare */
    int stages;
    int64_t tasks[64];
    size_t buffer, scratch;
    int64_t chunks, rows_per_task;
    int mode;
    bool wide;
} wick_sorting;
void wick_sort_prepare(wick_sorting *s);
const char *wick_sort_name(const wick_sorting *s);
int wick_sort_rejected(const wick_sorting *s, wick_rejected *out);
void wick_sort_run(const wick_sorting *s, int stage, int64_t begin, int64_t end, const void *x, void *values,
                   int64_t *index, void *const *buffers, void *scratch);
/* What would stand at place k (0 the smallest) of each row, and the first place it is at among equals in order; or the
 * lower median: of a row with NaN that, or of its numbers. */
typedef enum wick_kth { WICK_KTH, WICK_MEDIAN, WICK_NAN_MEDIAN } wick_kth;
size_t wick_kth_scratch(wick_ctype type, int64_t n); /* bytes that each worker needs */
void wick_kth_rows(wick_ctype type, wick_kth how, int64_t k, int64_t n, int64_t begin, int64_t end, const void *x,
                   void *values, int64_t *index, void *scratch);
/* dst[i] = how many of the n sorted are below values[i], or (right) not above it. */
void wick_search_sorted(wick_ctype type, bool right, int64_t n, const void *sorted, int64_t count, const void *values,
                        int64_t *dst);
/* Runs of equal neighbours in x: their values and lengths (zeros after the last), and inverse[order[i]] = the run of
 * x[i]. Returns how many. */
int64_t wick_equal_runs(wick_ctype type, int64_t n, const void *x, const int64_t *order, void *values, int64_t *inverse,
                        int64_t *counts);
/* dst[b] = how many x are b, i64; or with weights (of type f32 or f64) the sum of theirs, f64. Others than [0, bins)
 * are passed over. */
void wick_count_bins(wick_ctype type, int64_t n, const int64_t *x, const void *weights, int64_t bins, void *dst);
/* Bins [begin, end) of the sum of parts; as i64 (counts), or of type. */
void wick_add_bins(wick_ctype type, bool counts, int64_t parts, int64_t bins, int64_t begin, int64_t end,
                   const void *partial, void *dst);

#endif
