/* crc32c.c: CRC-32C, polynomial 0x1EDC6F41 (Castagnoli), bit-reflected 0x82F63B78, initial value and final xor ~0, as
 * in RFC 3720 B.4, by the CPU's instruction where present; and CRC-32 of zip and gzip, polynomial 0x04C11DB7,
 * bit-reflected 0xEDB88320, with the same ends (RFC 1952, section 8). Without an instruction: eight tables, one per
 * byte of a 64-bit step (Kounavis and Berry, "A Systematic Approach to Building High Performance Software-Based CRC
 * Generators", 2005). */
#include <pthread.h>

#include "base/base.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_instruction;
static uint32_t castagnoli[8][256], zip[8][256]; /* [k][b]: the CRC of byte b followed by k zero bytes */

static void make(uint32_t table[8][256], uint32_t polynomial) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t c = b;
        for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ (c & 1 ? polynomial : 0);
        table[0][b] = c;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++) table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

static void init(void) {
    make(castagnoli, 0x82F63B78u);
    make(zip, 0xEDB88320u);
#if defined(__x86_64__)
    unsigned a, b, c, d;
    has_instruction = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_SSE4_2);
#elif defined(__ARM_FEATURE_CRC32)
    has_instruction = true;
#endif
}

static uint32_t by_table(uint32_t table[8][256], uint32_t crc, const uint8_t *p, size_t n) {
    for (; n >= 8; p += 8, n -= 8) {
        uint32_t lo = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = table[7][lo & 255] ^ table[6][lo >> 8 & 255] ^ table[5][lo >> 16 & 255] ^ table[4][lo >> 24] ^
              table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; n; p++, n--) crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t n) {
    uint64_t wide = crc, v;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&v, p, 8);
        wide = _mm_crc32_u64(wide, v);
    }
    crc = (uint32_t)wide;
    for (; n; p++, n--) crc = _mm_crc32_u8(crc, *p);
    return crc;
}
#elif defined(__ARM_FEATURE_CRC32)
static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t n) {
    uint64_t v;
    for (; n >= 8; p += 8, n -= 8) {
        memcpy(&v, p, 8);
        crc = __crc32cd(crc, v);
    }
    for (; n; p++, n--) crc = __crc32cb(crc, *p);
    return crc;
}
#else
static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t n) { return by_table(castagnoli, crc, p, n); }
#endif

uint32_t wick_crc32c(uint32_t crc, const void *data, size_t size) {
    pthread_once(&once, init);
    bool plain = !has_instruction || wick_tier_current() == WICK_TIER_REF;
    return ~(plain ? by_table(castagnoli, ~crc, data, size) : by_instruction(~crc, data, size));
}

uint32_t wick_crc32(uint32_t crc, const void *data, size_t size) {
    pthread_once(&once, init);
    return ~by_table(zip, ~crc, data, size);
}
