/* rows_api.h: kernels over rows: x is rows x cols, contiguous; f32 or f64; a range of rows. nontemporal: y is written
 * by non-temporal stores, where it is aligned and a row fits L1. */
#ifndef WICK_KERNELS_ROWS_API_H
#define WICK_KERNELS_ROWS_API_H

#include "kernels/types.h"

void wick_softmax_rows(wick_ctype type, bool log, bool nontemporal, int64_t begin, int64_t end, int64_t cols,
                       const void *x, void *y);
/* (x - mean) * rstd * weight + bias; weight, bias (cols, or NULL); mean and rstd (one per row) are written.
 * Variance is the biased one, in two passes over the row; rstd = 1 / sqrt(var + eps). mean NULL: nothing is subtracted,
 * and the variance is the mean of the squares: RMS norm. */
void wick_layer_norm_rows(wick_ctype type, bool nontemporal, int64_t begin, int64_t end, int64_t cols, double eps,
                          const void *x, const void *weight, const void *bias, void *y, void *mean, void *rstd);
/* loss[r] = logsumexp(x[r]) - x[r][label[r]]; probs (NULL or rows x cols) gets softmax(x). labels are i64.
 * Returns -1, or the first row whose label is outside [0, cols): that row's outputs are then 0. */
int64_t wick_nll_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x, const int64_t *label,
                      void *loss, void *probs);
/* After wick_nll_rows on the same rows: loss[r] becomes the sum over c of q[c] (logsumexp(x[r]) - x[r][c]), where q[c]
 * = (1 - smoothing) w[c] at the label and smoothing / cols w[c] everywhere; weight w: cols, or NULL for ones. Rows
 * whose label is *ignored (or NULL) get zeros. Returns -1, or the first row whose label is neither a class nor that. */
int64_t wick_nll_targets_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x,
                              const int64_t *label, const void *weight, double smoothing, const int64_t *ignored,
                              void *loss, void *probs);

/* argmax, argmin over the middle of [outer, n, inner], contiguous input, i64 output; first of ties; NaN wins */
void wick_arg_reduce(wick_ctype type, bool largest, int64_t n, int64_t inner, int64_t outer_begin, int64_t outer_end,
                     const void *src, int64_t *dst);

#endif
