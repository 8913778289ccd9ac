/* neon.h: whether the file is compiled for the vectors of AArch64: 32 registers of 16 bytes, fused multiply-adds,
 * instructions that round and that convert halves, in every such CPU. There the base tier fuses, as avx2 does; ref
 * doesn't. */
#ifndef WICK_KERNELS_NEON_H
#define WICK_KERNELS_NEON_H

#if defined(__aarch64__) && defined(WICK_TIER_ID) && WICK_TIER_ID > 0
#include <arm_neon.h>
#define WICK_NEON 1
#endif

#endif
