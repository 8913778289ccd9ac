/* rows.c: picks the current tier's row kernels. */
#include "kernels/rows/rows.h"

static const wick_rows_table *const rows_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_rows_table)};
static const wick_arg_table *const arg_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_arg_table)};

void wick_softmax_rows(wick_ctype type, bool log, bool nontemporal, int64_t begin, int64_t end, int64_t cols,
                       const void *x, void *y) {
    rows_tiers[wick_tier_current()]->softmax[type](log, nontemporal, begin, end, cols, x, y);
}

void wick_layer_norm_rows(wick_ctype type, bool nontemporal, int64_t begin, int64_t end, int64_t cols, double eps,
                          const void *x, const void *weight, const void *bias, void *y, void *mean, void *rstd) {
    rows_tiers[wick_tier_current()]->layer_norm[type](nontemporal, begin, end, cols, eps, x, weight, bias, y, mean,
                                                      rstd);
}

int64_t wick_nll_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x, const int64_t *label,
                      void *loss, void *probs) {
    return rows_tiers[wick_tier_current()]->nll[type](begin, end, cols, x, label, loss, probs);
}

void wick_arg_reduce(wick_ctype type, bool largest, int64_t n, int64_t inner, int64_t outer_begin, int64_t outer_end,
                     const void *src, int64_t *dst) {
    arg_tiers[wick_tier_current()]->reduce[type](largest, n, inner, outer_begin, outer_end, src, dst);
}
