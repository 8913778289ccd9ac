/* rows.c: picks the current tier's row kernels. */
#include "kernels/rows/rows.h"

static const struct {
    const wick_rows_table *rows;
    const wick_arg_table *arg;
} tiers[WICK_TIER_COUNT] = {
    [WICK_TIER_REF] = {&wick_rows_table_ref, &wick_arg_table_ref},
    [WICK_TIER_BASE] = {&wick_rows_table_base, &wick_arg_table_base},
#if defined(__x86_64__)
    [WICK_TIER_AVX2] = {&wick_rows_table_avx2, &wick_arg_table_avx2},
    [WICK_TIER_AVX512] = {&wick_rows_table_avx512, &wick_arg_table_avx512},
#endif
};

void wick_softmax_rows(wick_ctype type, bool log, int64_t begin, int64_t end, int64_t cols, const void *x, void *y) {
    tiers[wick_tier_current()].rows->softmax[type](log, begin, end, cols, x, y);
}

void wick_layer_norm_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, double eps, const void *x,
                          const void *weight, const void *bias, void *y, void *mean, void *rstd) {
    tiers[wick_tier_current()].rows->layer_norm[type](begin, end, cols, eps, x, weight, bias, y, mean, rstd);
}

int64_t wick_nll_rows(wick_ctype type, int64_t begin, int64_t end, int64_t cols, const void *x, const int64_t *label,
                      void *loss, void *probs) {
    return tiers[wick_tier_current()].rows->nll[type](begin, end, cols, x, label, loss, probs);
}

void wick_arg_reduce(wick_ctype type, bool largest, int64_t n, int64_t inner, int64_t outer_begin, int64_t outer_end,
                     const void *src, int64_t *dst) {
    tiers[wick_tier_current()].arg->reduce[type](largest, n, inner, outer_begin, outer_end, src, dst);
}
