/* mel.c: the tier's kernels. */
#include "kernels/mel/mel.h"

static const wick_mel_table *const tiers[WICK_TIER_COUNT] = {
    [WICK_TIER_REF] = &wick_mel_table_ref,
    [WICK_TIER_BASE] = &wick_mel_table_base,
#if defined(__x86_64__)
    [WICK_TIER_AVX2] = &wick_mel_table_avx2,
    [WICK_TIER_AVX512] = &wick_mel_table_avx512,
#endif
};

const wick_mel_table *wick_mel_kernels(void) { return tiers[wick_tier_current()]; }
