/* random_tier.c: Philox words and the values made of them, for one tier.
 *
 * Words and uniform values are exact, hence the same in every tier; normal values go through log, sin and cos. */
#include "kernels/elementwise/math.h"
#include "kernels/random/random.h"

#if WICK_TIER_ID > 0 && defined(__x86_64__)
#include <immintrin.h>
#endif

#define RANDOM_CAT_(a, b) a##b
#define RANDOM_CAT(a, b)  RANDOM_CAT_(a, b)

#if WICK_TIER_ID == 0

static void words(const wick_random_blocks *k, uint64_t first, size_t blocks, uint32_t *out) {
    for (size_t b = 0; b < blocks; b++) {
        const uint64_t block = first + b;
        const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), k->counter2, k->counter3};
        wick_philox(counter, k->key, out + 4 * b);
    }
}

#else

/* A 64-bit lane holds one 32-bit word of one block's state; its upper half may hold anything. mul32 reads the lower
 * halves only, and a word that was xored moves on through mul32, so that nothing has to be masked until the end. */
#if WICK_TIER_ID == 3
enum { LANES = 8 };
typedef uint64_t vec __attribute__((vector_size(64)));
static inline vec mul32(vec a, vec b) { return (vec)_mm512_mul_epu32((__m512i)a, (__m512i)b); }
#elif WICK_TIER_ID == 2
enum { LANES = 4 };
typedef uint64_t vec __attribute__((vector_size(32)));
static inline vec mul32(vec a, vec b) { return (vec)_mm256_mul_epu32((__m256i)a, (__m256i)b); }
#else
enum { LANES = 2 };
typedef uint64_t vec __attribute__((vector_size(16)));
static inline vec mul32(vec a, vec b) {
#if defined(__x86_64__)
    return (vec)_mm_mul_epu32((__m128i)a, (__m128i)b);
#elif defined(WICK_NEON)
    return (vec)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
#else
    return (a & 0xffffffffu) * (b & 0xffffffffu);
#endif
}
#endif

/* Independent vectors in flight: a round is a chain of a multiplication and an exclusive or, the multiplier is
 * pipelined. */
enum { VECTORS = 4, GROUP = VECTORS * LANES };

static void words_group(const wick_random_blocks *k, uint64_t first, uint32_t *out) {
    const vec zero = {0}, m0 = zero + 0xD2511F53u, m1 = zero + 0xCD9E8D57u;
    vec c0[VECTORS], c1[VECTORS], c2[VECTORS], c3[VECTORS];
    for (int v = 0; v < VECTORS; v++) {
        for (int l = 0; l < LANES; l++) c0[v][l] = first + (uint64_t)(v * LANES + l);
        c1[v] = c0[v] >> 32;
        c2[v] = zero + k->counter2;
        c3[v] = zero + k->counter3;
    }
    uint32_t k0 = k->key[0], k1 = k->key[1];
    for (int round = 0; round < 10; round++) {
        for (int v = 0; v < VECTORS; v++) {
            const vec p0 = mul32(m0, c0[v]), p1 = mul32(m1, c2[v]);
            c0[v] = (p1 >> 32) ^ c1[v] ^ k0;
            c1[v] = p1;
            c2[v] = (p0 >> 32) ^ c3[v] ^ k1;
            c3[v] = p0;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int v = 0; v < VECTORS; v++) {
        const vec low = (c0[v] & 0xffffffffu) | c1[v] << 32, high = (c2[v] & 0xffffffffu) | c3[v] << 32;
        uint64_t pairs[2 * LANES]; /* little-endian: word 0 of a pair is the lower half */
        for (int l = 0; l < LANES; l++) {
            pairs[2 * l] = low[l];
            pairs[2 * l + 1] = high[l];
        }
        memcpy(out + 4 * v * LANES, pairs, sizeof pairs);
    }
}

static void words(const wick_random_blocks *k, uint64_t first, size_t blocks, uint32_t *out) {
    size_t b = 0;
    for (; b + GROUP <= blocks; b += GROUP) words_group(k, first + b, out + 4 * b);
    if (b < blocks) {
        uint32_t rest[4 * GROUP];
        words_group(k, first + b, rest);
        memcpy(out + 4 * b, rest, (blocks - b) * 4 * sizeof *out);
    }
}

#endif

/* Exact for x < 2^53: the halves of x become the low bits of 2^52 and of 2^84, which their sum then cancels. Unlike the
 * conversion of u64, every tier has these operations. */
static inline double real_of(uint64_t x) {
    const uint64_t low = (x & 0xffffffffu) | 0x4330000000000000u, high = (x >> 32) | 0x4530000000000000u;
    double a, b;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    return b - (0x1p84 + 0x1p52) + a;
}

static inline uint64_t pair_of(const uint32_t *words) { return words[0] | (uint64_t)words[1] << 32; }

static void uniform_f32(const uint32_t *restrict in, size_t count, float *restrict out) {
    for (size_t i = 0; i < count; i++) out[i] = (float)(int32_t)(in[i] >> 8) * 0x1p-24f;
}

static void uniform_f64(const uint32_t *restrict in, size_t count, double *restrict out) {
    for (size_t i = 0; i < count; i++) out[i] = real_of(pair_of(in + 2 * i) >> 11) * 0x1p-53;
}

/* Box and Muller, A note on the generation of random normal deviates, 1958: for u in (0, 1] and an angle t, sqrt(-2 ln
 * u) times (cos t, sin t) is a pair of independent normal numbers. u keeps all bits near 0, where the tail comes from:
 * the largest deviate is sqrt(2 ln 2^33) = 6.76 (f32), sqrt(2 ln 2^54) = 8.65 (f64). t is in [-pi, pi]. */
static void normal_f32(const uint32_t *restrict in, size_t count, float *restrict out) {
    for (size_t i = 0; i < count / 2; i++) {
        const float u = ((float)in[2 * i] + 0.5f) * 0x1p-32f;
        const float t = (float)(int32_t)in[2 * i + 1] * (float)(3.14159265358979323846 * 0x1p-31);
        const float r = wick_sqrt_f32(-2.0f * wick_log_f32(u));
        out[2 * i] = r * wick_cos_f32(t);
        out[2 * i + 1] = r * wick_sin_f32(t);
    }
}

static void normal_f64(const uint32_t *restrict in, size_t count, double *restrict out) {
    for (size_t i = 0; i < count / 2; i++) {
        const double u = (real_of(pair_of(in + 4 * i) >> 11) + 0.5) * 0x1p-53;
        const double t = (real_of(pair_of(in + 4 * i + 2) >> 11) - 0x1p52) * (3.14159265358979323846 * 0x1p-52);
        const double r = wick_sqrt_f64(-2.0 * wick_log_f64(u));
        out[2 * i] = r * wick_cos_f64(t);
        out[2 * i + 1] = r * wick_sin_f64(t);
    }
}

#if WICK_TIER_ID == 0
#define GAMMA_FIRST NULL
#else
#include "kernels/random/gamma_first.h"
#define GAMMA_FIRST gamma_first
#endif

const wick_random_table RANDOM_CAT(wick_random_table_, WICK_TIER_NAME) = {
    words, uniform_f32, uniform_f64, normal_f32, normal_f64, GAMMA_FIRST,
};
