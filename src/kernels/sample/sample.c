/* sample.c: picks the current tier's kernels over taps. */
#include "kernels/sample/sample.h"

static const wick_taps_table *const taps_tables[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_taps_table)};
static const wick_taps_table *table(void) { return taps_tables[wick_tier_current()]; }

void wick_taps_sum(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index,
                   const void *weight, void *y) {
    table()->sum[t->type == WICK_CF64](t, begin, end, x, index, weight, y);
}
void wick_taps_put(const wick_taps *t, int64_t begin, int64_t end, const void *y, const int64_t *index,
                   const void *weight, void *x) {
    table()->put[t->type == WICK_CF64](t, begin, end, y, index, weight, x);
}
void wick_taps_dot(const wick_taps *t, int64_t begin, int64_t end, const void *x, const int64_t *index, const void *y,
                   void *weight) {
    table()->dot[t->type == WICK_CF64](t, begin, end, x, index, y, weight);
}
