/* integers.c: picks the current tier's products of integers. */
#include "kernels/gemm/integers.h"

static const wick_integers_table *const integers_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_integers_table)};

void wick_matmul_integers(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t k, int64_t a_row,
                          int64_t a_col, const void *a, const void *b, void *c) {
    const wick_integers_table *table = integers_tiers[wick_tier_current()];
    (type == WICK_CI32 ? table->of32 : table->of64)(begin, end, n, k, a_row, a_col, a, b, c);
}
