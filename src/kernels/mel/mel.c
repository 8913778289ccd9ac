/* mel.c: the tier's kernels. */
#include "kernels/mel/mel.h"

static const wick_mel_table *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_mel_table)};

const wick_mel_table *wick_mel_kernels(void) { return tiers[wick_tier_current()]; }
