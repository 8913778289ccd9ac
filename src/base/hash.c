/* hash.c: the 64-bit hash of plan keys and tables. In-process only: its values depend on byte order and may change
 * between versions, so they are never written to a file.
 *
 * The mixer is the folded multiply: the 128-bit product of two words, its halves xored. Long input runs through four
 * independent lanes of 16 bytes, which keep the multiplier busy; the last 1 to 64 bytes are read as blocks of 16 that
 * may overlap, so no length needs a loop over bytes. */
#include "base/base.h"

/* Odd constants with about half their bits set: the fractions of the square roots of 2, 3, 5, 7, 11, made odd. */
static const uint64_t K[5] = {0x6A09E667F3BCC909u, 0xBB67AE8584CAA73Bu, 0x3C6EF372FE94F82Bu, 0xA54FF53A5F1D36F1u,
                              0x510E527FADE682D1u};

static inline uint64_t fold(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    u128 p = (u128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
#else /* the same product from 32-bit halves */
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    uint64_t mid = (ll >> 32) + (uint32_t)lh + (uint32_t)hl;
    return (a * b) ^ (ah * bh + (lh >> 32) + (hl >> 32) + (mid >> 32));
#endif
}

static inline uint64_t load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

static inline uint64_t load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static inline uint64_t mix16(const uint8_t *p, uint64_t key, uint64_t h) {
    return fold(load64(p) ^ key, load64(p + 8) ^ h);
}

static inline uint64_t join4(uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return fold(a ^ K[1], b ^ K[2]) ^ fold(c ^ K[3], d ^ K[4]);
}

uint64_t wick_hash(const void *data, size_t size, uint64_t seed) {
    const uint8_t *p = data;
    size_t left = size;
    uint64_t h = fold(seed ^ K[0], K[1] ^ size);

    if (left > 64) {
        uint64_t h1 = h ^ K[1], h2 = h ^ K[2], h3 = h ^ K[3];
        do {
            h = mix16(p, K[1], h);
            h1 = mix16(p + 16, K[2], h1);
            h2 = mix16(p + 32, K[3], h2);
            h3 = mix16(p + 48, K[4], h3);
            p += 64, left -= 64;
        } while (left > 64);
        h = join4(h, h1, h2, h3);
    }
    if (left > 32) {
        const uint8_t *end = p + left;
        h = join4(mix16(p, K[1], h), mix16(p + 16, K[2], h), mix16(end - 32, K[3], h), mix16(end - 16, K[4], h));
    } else if (left > 16) {
        h = fold(mix16(p, K[1], h) ^ K[3], mix16(p + left - 16, K[2], h) ^ K[4]);
    } else {
        uint64_t a = 0, b = 0;
        if (left >= 8)
            a = load64(p), b = load64(p + left - 8);
        else if (left >= 4)
            a = load32(p), b = load32(p + left - 4);
        else if (left)
            a = (uint64_t)p[0] << 16 | (uint64_t)p[left / 2] << 8 | p[left - 1];
        h = fold(a ^ K[3], b ^ h);
    }
    return fold(h ^ K[4], size ^ K[1]);
}
