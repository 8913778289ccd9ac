/* halves.h: f16 and bf16 by integer arithmetic: no control word changes a bit. Also read as text, for printed C
 * (codegen/math_c.h), whose compiler makes vectors of a choice between floats only where it is one of bits: by masks.
 */
#ifndef WICK_KERNELS_CONVERT_HALVES_H
#define WICK_KERNELS_CONVERT_HALVES_H

#include "kernels/elementwise/math.h"

/* Normal numbers: move the fields and rebias. Denormals: the fraction as a whole number times 2^-24, normal in f32.
 * NaN comes out quiet with its payload, as VCVTPH2PS does. */
WICK_MATH float wick_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, body = h & 0x7fffu;
    uint32_t normal = (body << 13) + 0x38000000u;
    uint32_t tiny = wick_bits_f32((float)(int32_t)body * 0x1p-24f);
    uint32_t special = (body << 13) | 0x7f800000u | (body > 0x7c00u ? 0x400000u : 0);
    uint32_t less = 0u - (uint32_t)(body < 0x400u), r = (tiny & less) | (normal & ~less);
    uint32_t top = 0u - (uint32_t)(body >= 0x7c00u);
    return wick_from_bits_f32((special & top) | (r & ~top) | sign);
}
/* Round to nearest even. Normal results: add half of the last place minus one, plus one if odd, to the bits. Denormal
 * ones: adding 1/2 leaves the number in units of 2^-24 in the low bits, rounded by the addition; inputs below 2^-26,
 * among them all that a thread may flush, give 0 anyhow. */
WICK_MATH uint16_t wick_f16_from_f32(float x) {
    uint32_t u = wick_bits_f32(x), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13;
    uint32_t small = wick_bits_f32(wick_from_bits_f32(a) + 0.5f) - 0x3f000000u;
    uint32_t less = 0u - (uint32_t)(a < 0x38800000u), r = (small & less) | (normal & ~less);
    r = a >= 0x477ff000u ? 0x7c00u : r; /* 65520 and above round to Inf */
    r = a > 0x7f800000u ? 0x7e00u | ((a >> 13) & 0x1ffu) : r;
    return (uint16_t)(r | sign);
}

/* bf16 is the upper half of f32; rounding to nearest even carries into the exponent, and into Inf, as it should. */
WICK_MATH float wick_bf16_to_f32(uint16_t h) { return wick_from_bits_f32((uint32_t)h << 16); }
WICK_MATH uint16_t wick_bf16_of_bits(uint32_t u) {
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16, quiet = (u >> 16) | 0x40u;
    return (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}
WICK_MATH uint16_t wick_bf16_from_f32(float x) { return wick_bf16_of_bits(wick_bits_f32(x)); }

#endif
