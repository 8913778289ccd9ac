/* Hash, CRC-32C and Philox. */
#include "base/base.h"
#include "test.h"

static int by_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int64_t count_equal(uint64_t *h, size_t n) {
    int64_t equal = 0;
    qsort(h, n, sizeof *h, by_u64);
    for (size_t i = 1; i < n; i++) equal += h[i] == h[i - 1];
    return equal;
}

TEST(hash_reads_exactly_its_bytes) {
    for (size_t n = 0; n < 300; n++) {
        uint8_t *at = malloc(n + 1), *copy = malloc(n + 17); /* exact blocks, so that ASan sees a byte too far */
        REQUIRE(at && copy);
        for (size_t i = 0; i < n; i++) at[i] = (uint8_t)test_rand();
        at[n] = 1;
        memcpy(copy + 16, at, n + 1);
        const uint64_t h = wick_hash(at, n, 7);
        at[n] = 2;
        CHECK(wick_hash(at, n, 7) == h);
        CHECK_MSG(wick_hash(copy + 16, n, 7) == h, "alignment matters at %zu", n);
        CHECK(wick_hash(at, n, 8) != h);
        for (size_t i = 0; i < n; i++) {
            at[i] ^= (uint8_t)(1 << i % 8);
            CHECK_MSG(wick_hash(at, n, 7) != h, "byte %zu of %zu does not count", i, n);
            at[i] ^= (uint8_t)(1 << i % 8);
        }
        free(at);
        free(copy);
    }
    CHECK(wick_hash(NULL, 0, 1) != wick_hash(NULL, 0, 2));
}

TEST(hash_of_zeros_depends_on_length) {
    static const uint8_t zero[1000];
    uint64_t h[1001];
    for (size_t n = 0; n <= 1000; n++) h[n] = wick_hash(zero, n, 0);
    CHECK_INT(count_equal(h, 1001), 0);
}

TEST(hash_of_small_integers_is_spread) {
    enum { N = 200000 };
    uint64_t *h = malloc(N * sizeof *h);
    static int64_t bucket[1024];
    REQUIRE(h != NULL);
    memset(bucket, 0, sizeof bucket);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t key[3] = {i % 100, i / 100, 0}; /* like dims: small numbers, mostly zero bytes */
        h[i] = wick_hash(key, sizeof key, 0);
        bucket[h[i] % 1024]++;
    }
    double chi2 = 0, mean = N / 1024.0;
    for (int i = 0; i < 1024; i++) chi2 += ((double)bucket[i] - mean) * ((double)bucket[i] - mean) / mean;
    CHECK_MSG(chi2 > 800 && chi2 < 1250, "chi2 = %g for 1023 degrees of freedom", chi2);
    CHECK_INT(count_equal(h, N), 0);
    free(h);
}

TEST(one_input_bit_flips_half_of_the_hash) {
    static const size_t sizes[] = {1, 3, 4, 7, 8, 15, 16, 17, 32, 64, 65, 130, 200};
    for (size_t s = 0; s < WICK_COUNTOF(sizes); s++) {
        uint8_t at[200];
        int64_t flips = 0, trials = 0;
        while (trials < 2000) {
            for (size_t i = 0; i < sizes[s]; i++) at[i] = (uint8_t)test_rand();
            const uint64_t h = wick_hash(at, sizes[s], 0);
            at[test_rand() % sizes[s]] ^= (uint8_t)(1 << test_rand() % 8);
            flips += __builtin_popcountll(h ^ wick_hash(at, sizes[s], 0));
            trials++;
        }
        const double share = (double)flips / (64.0 * (double)trials);
        CHECK_MSG(share > 0.49 && share < 0.51, "%zu bytes: %.3f of the bits flip", sizes[s], share);
    }
}

/* RFC 3720 B.4 and the check value of the CRC catalogue. */
TEST(crc32c_known_answers) {
    uint8_t at[32];
    const wick_tier was = wick_tier_current();
    for (int plain = 0; plain < 2; plain++) {
        CHECK(wick_tier_force(plain ? WICK_TIER_REF : wick_tier_best()));
        CHECK_INT(wick_crc32c(0, "123456789", 9), 0xE3069283u);
        CHECK_INT(wick_crc32c(0, NULL, 0), 0);
        memset(at, 0, 32);
        CHECK_INT(wick_crc32c(0, at, 32), 0x8A9136AAu);
        memset(at, 0xFF, 32);
        CHECK_INT(wick_crc32c(0, at, 32), 0x62A8AB43u);
        for (int i = 0; i < 32; i++) at[i] = (uint8_t)i;
        CHECK_INT(wick_crc32c(0, at, 32), 0x46DD794Eu);
    }
    wick_tier_force(was);
}

TEST(crc32c_instruction_and_table_agree_in_any_pieces) {
    static uint8_t at[1000];
    const wick_tier was = wick_tier_current();
    for (size_t i = 0; i < sizeof at; i++) at[i] = (uint8_t)test_rand();
    for (size_t n = 0; n < sizeof at; n += 1 + n / 9) {
        wick_tier_force(wick_tier_best());
        const uint32_t whole = wick_crc32c(0, at + n % 7, n);
        for (size_t cut = 0; cut <= n; cut += 1 + n / 5)
            CHECK(wick_crc32c(wick_crc32c(0, at + n % 7, cut), at + n % 7 + cut, n - cut) == whole);
        wick_tier_force(WICK_TIER_REF);
        CHECK(wick_crc32c(0, at + n % 7, n) == whole);
    }
    wick_tier_force(was);
}

TEST(crc32_known_answers_in_any_pieces) { /* of the CRC catalogue; and bit by bit, as RFC 1952 defines it */
    static uint8_t at[300];
    CHECK_INT(wick_crc32(0, "123456789", 9), 0xCBF43926u);
    CHECK_INT(wick_crc32(0, NULL, 0), 0);
    for (size_t i = 0; i < sizeof at; i++) at[i] = (uint8_t)test_rand();
    for (size_t n = 0; n < sizeof at; n += 1 + n / 9) {
        uint32_t want = ~0u;
        for (size_t i = 0; i < n; i++) {
            want ^= at[i];
            for (int bit = 0; bit < 8; bit++) want = want >> 1 ^ (want & 1 ? 0xEDB88320u : 0);
        }
        for (size_t cut = 0; cut <= n; cut += 1 + n / 5)
            CHECK(wick_crc32(wick_crc32(0, at, cut), at + cut, n - cut) == ~want);
    }
}

/* The known-answer vectors that the authors publish with their code (Random123, kat_vectors). */
TEST(philox_known_answers) {
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < WICK_COUNTOF(kat); i++) {
        uint32_t out[4];
        wick_philox(kat[i].counter, kat[i].key, out);
        CHECK_MSG(memcmp(out, kat[i].out, sizeof out) == 0, "vector %zu: %08x %08x %08x %08x", i, out[0], out[1],
                  out[2], out[3]);
        uint32_t alias[4]; /* out may be the counter itself */
        memcpy(alias, kat[i].counter, sizeof alias);
        wick_philox(alias, kat[i].key, alias);
        CHECK(memcmp(alias, out, sizeof out) == 0);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
