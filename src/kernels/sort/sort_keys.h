/* sort_keys.h: a number whose unsigned order is that of values: NaN the largest, -0 equal to 0. Generated C has these
 * functions, too (codegen/math_c.h). */
#ifndef WICK_KERNELS_SORT_KEYS_H
#define WICK_KERNELS_SORT_KEYS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t wick_sort_key_f32(float v) {
    uint32_t bits;
    v += 0.0f; /* -0 becomes 0 */
    memcpy(&bits, &v, sizeof bits);
    bits ^= (0 - (bits >> 31)) | 1u << 31; /* without a branch on signs, which no CPU foresees */
    return v != v ? UINT32_MAX : bits;
}
static inline uint64_t wick_sort_key_f64(double v) {
    uint64_t bits;
    v += 0.0;
    memcpy(&bits, &v, sizeof bits);
    bits ^= (0 - (bits >> 63)) | 1ull << 63;
    return v != v ? UINT64_MAX : bits;
}
static inline uint32_t wick_sort_key_i32(int32_t v) { return (uint32_t)v ^ 1u << 31; }
static inline uint64_t wick_sort_key_i64(int64_t v) { return (uint64_t)v ^ 1ull << 63; }
static inline uint64_t wick_sort_key_u64(uint64_t v) { return v; }

#endif
