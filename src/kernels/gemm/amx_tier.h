/* amx_tier.h: whether this compiler makes AMX instructions, for amx_tier.c and for who chooses it. */
#ifndef WICK_KERNELS_GEMM_AMX_TIER_H
#define WICK_KERNELS_GEMM_AMX_TIER_H

#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<amxbf16intrin.h>) || __has_include(<amxintrin.h>) /* GCC 11, clang 12 */
#define WICK_HAS_AMX
extern const struct wick_amx_kernel wick_amx_kernel_avx512;
#endif
#endif

#if defined(WICK_HAS_AMX) && defined(WICK_TIER_ID) && WICK_TIER_ID == 3 && !defined(WICK_AMX_TIER)
#define WICK_AMX_TIER wick_amx_kernel_avx512 /* what amx_tier.c makes; nothing otherwise */
#endif

#endif
