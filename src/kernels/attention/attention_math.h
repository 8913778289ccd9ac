/* attention_math.h: the numbers of dropout in attention. */
#ifndef WICK_KERNELS_ATTENTION_MATH_H
#define WICK_KERNELS_ATTENTION_MATH_H

#include "base/philox.h"
#include "kernels/elementwise/math.h"

/* Places at to at + 3, a multiple of four, of dropout's stream: uniform numbers of 24 bits, as wick_attention_draw
 * makes them. */
WICK_MATH void wick_attention_uniforms(int64_t seed, int64_t at, float four[4]) {
    const uint64_t block = (uint64_t)at / 4;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)((uint64_t)seed >> 32)},
                   counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    uint32_t w[4];
    wick_philox_words(counter, key, w);
    for (int k = 0; k < 4; k++) four[k] = (float)(int32_t)(w[k] >> 8) * 0x1p-24f;
}

#endif
