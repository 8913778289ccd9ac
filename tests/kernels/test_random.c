/* Random numbers: known answers of Philox, values that depend on their position alone, and their distribution. */
#include "kernels/random/random.h"
#include "test.h"

static const wick_random_key some_key = {0x0123456789abcdefu, 0xfedcba9876543210u, 0x1122334455667788u};

/* Runs `body` once for every tier that this CPU has, and ends with the best. */
#define EACH_TIER(t)                                                                                                   \
    for (wick_tier t = WICK_TIER_REF; t < WICK_TIER_COUNT; t++)                                                        \
        if (!wick_tier_force(t)) {                                                                                     \
        } else

static const wick_random_table *table_of(wick_tier t) {
    static const wick_random_table *const tables[WICK_TIER_COUNT] = {
        &wick_random_table_ref,
        &wick_random_table_base,
#ifdef WICK_HAS_AVX2
        [WICK_TIER_AVX2] = &wick_random_table_avx2,
#endif
#ifdef WICK_HAS_AVX512
        [WICK_TIER_AVX512] = &wick_random_table_avx512,
#endif
    };
    return tables[t];
}

/* The words of block b for a key, from the one-block function of base. */
static void block_of(const wick_random_key *key, uint64_t b, uint32_t out[4]) {
    const uint32_t counter[4] = {(uint32_t)b, (uint32_t)(b >> 32), (uint32_t)key->stream, (uint32_t)key->offset};
    const uint32_t k[2] = {(uint32_t)key->seed ^ (uint32_t)(key->stream >> 32),
                           (uint32_t)(key->seed >> 32) ^ (uint32_t)(key->offset >> 32)};
    wick_philox(counter, k, out);
}

/* From the known answers that come with Random123 (Salmon et al., 2011). */
TEST(philox_gives_the_known_answers_in_every_tier) {
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < WICK_COUNTOF(known); i++) {
        uint32_t out[4];
        wick_philox(known[i].counter, known[i].key, out);
        CHECK(!memcmp(out, known[i].answer, sizeof out));
        EACH_TIER(t) {
            const wick_random_blocks k = {{known[i].key[0], known[i].key[1]}, known[i].counter[2], known[i].counter[3]};
            memset(out, 0, sizeof out);
            table_of(t)->words(&k, known[i].counter[0] | (uint64_t)known[i].counter[1] << 32, 1, out);
            CHECK_MSG(!memcmp(out, known[i].answer, sizeof out), "%s, case %zu", wick_tier_name(t), i);
        }
    }
}

TEST(words_cross_the_carry_of_the_counter_in_every_tier) {
    enum { N = 77 };
    static const uint64_t starts[] = {0, 5, 0xffffffffu - 20, ~(uint64_t)0 - 30};
    const wick_random_blocks k = {{11, 22}, 33, 44};
    EACH_TIER(t) for (size_t s = 0; s < WICK_COUNTOF(starts); s++) {
        uint32_t out[4 * N + 1], want[4];
        out[4 * N] = 12345;
        table_of(t)->words(&k, starts[s], N, out);
        for (size_t b = 0; b < N; b++) {
            const uint64_t block = starts[s] + b;
            const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 33, 44};
            wick_philox(counter, k.key, want);
            CHECK_MSG(!memcmp(want, out + 4 * b, sizeof want), "%s, block %zu", wick_tier_name(t), b);
        }
        CHECK_INT(out[4 * N], 12345);
    }
}

TEST(uniform_is_made_of_the_words_of_its_position) {
    enum { N = 10007 };
    static float f[N];
    static double d[N];
    EACH_TIER(t) {
        wick_fill_uniform(WICK_CF32, &some_key, 0, N, f);
        wick_fill_uniform(WICK_CF64, &some_key, 0, N, d);
        for (int i = 0; i < N; i++) {
            uint32_t w[4];
            block_of(&some_key, (uint64_t)i / 4, w);
            CHECK(f[i] == (float)(w[i % 4] >> 8) * 0x1p-24f);
            block_of(&some_key, (uint64_t)i / 2, w);
            const uint64_t x = w[i % 2 * 2] | (uint64_t)w[i % 2 * 2 + 1] << 32;
            CHECK(d[i] == (double)(x >> 11) * 0x1p-53);
        }
    }
}

TEST(uniform_stays_below_one_and_reaches_zero) {
    const uint32_t ones[4] = {~0u, ~0u, ~0u, ~0u}, zeros[4] = {0, 0, 0, 0};
    EACH_TIER(t) {
        float f[4];
        double d[2];
        table_of(t)->uniform_f32(ones, 4, f);
        table_of(t)->uniform_f64(ones, 2, d);
        CHECK(f[0] == 1 - 0x1p-24f && d[0] == 1 - 0x1p-53);
        table_of(t)->uniform_f32(zeros, 4, f);
        table_of(t)->uniform_f64(zeros, 2, d);
        CHECK(f[0] == 0 && d[0] == 0);
    }
}

TEST(normal_is_finite_at_the_ends_of_its_words) {
    static const uint32_t words[][4] = {{~0u, ~0u, ~0u, ~0u},
                                        {0, 0, 0, 0},
                                        {0, ~0u, 0, ~0u},
                                        {~0u, 0, ~0u, 0},
                                        {0, 0, ~0u, ~0u},
                                        {~0u, ~0u, 0, 0},
                                        {1, 0x80000000u, 0, 0x7fffffffu},
                                        {0, 0, 0, 0x80000000u}};
    EACH_TIER(t) for (size_t i = 0; i < WICK_COUNTOF(words); i++) {
        float f[4];
        double d[2];
        table_of(t)->normal_f32(words[i], 4, f);
        table_of(t)->normal_f64(words[i], 2, d);
        for (int j = 0; j < 4; j++) CHECK_MSG(fabsf(f[j]) < 6.8f, "%s: %g", wick_tier_name(t), (double)f[j]);
        for (int j = 0; j < 2; j++) CHECK_MSG(fabs(d[j]) < 8.7, "%s: %g", wick_tier_name(t), d[j]);
    }
}

/* The pair that Box and Muller give, by libm in double. */
TEST(normal_agrees_with_libm) {
    enum { N = 4001 };
    static float f[N];
    static double d[N];
    EACH_TIER(t) {
        wick_fill_normal(WICK_CF32, &some_key, 0, N, f);
        wick_fill_normal(WICK_CF64, &some_key, 0, N, d);
        for (int i = 0; i < N; i++) {
            uint32_t w[4];
            block_of(&some_key, (uint64_t)i / 4, w);
            const int p = i % 4 / 2 * 2;
            const double u = ((double)w[p] + 0.5) * 0x1p-32, a = (double)(int32_t)w[p + 1] * (M_PI * 0x1p-31);
            const double want = sqrt(-2 * log(u)) * (i % 2 ? sin(a) : cos(a));
            CHECK_MSG(fabs(f[i] - want) < 3e-6, "%s f32 %d: %.9g, want %.9g", wick_tier_name(t), i, (double)f[i], want);
            block_of(&some_key, (uint64_t)i / 2, w);
            const uint64_t x = w[0] | (uint64_t)w[1] << 32, y = w[2] | (uint64_t)w[3] << 32;
            const double v = ((double)(x >> 11) + 0.5) * 0x1p-53, b = ((double)(y >> 11) - 0x1p52) * (M_PI * 0x1p-52);
            const double wide = sqrt(-2 * log(v)) * (i % 2 ? sin(b) : cos(b));
            CHECK_MSG(fabs(d[i] - wide) < 3e-15, "%s f64 %d: %.17g, want %.17g", wick_tier_name(t), i, d[i], wide);
        }
    }
}

TEST(ranges_give_the_same_as_the_whole) {
    enum { N = 9013 };
    static const int64_t cuts[] = {0, 4, 8, 2048, 2052, 4096, 4100, 9012, N};
    static unsigned char whole[N * 8], parts[N * 8 + 8];
    EACH_TIER(t) for (int kind = 0; kind < 4; kind++) {
        const bool normal = kind & 1;
        const wick_ctype type = kind & 2 ? WICK_CF64 : WICK_CF32;
        void (*make)(wick_ctype, const wick_random_key *, int64_t, int64_t, void *) =
            normal ? wick_fill_normal : wick_fill_uniform;
        const size_t size = type == WICK_CF32 ? 4 : 8;
        make(type, &some_key, 0, N, whole);
        memset(parts, 0xa5, sizeof parts);
        for (size_t c = WICK_COUNTOF(cuts) - 1; c > 0; c--) make(type, &some_key, cuts[c - 1], cuts[c], parts);
        CHECK_MSG(!memcmp(whole, parts, N * size), "%s, type %d, normal %d", wick_tier_name(t), type, normal);
        CHECK_INT(parts[N * size], 0xa5);
        /* an end inside a block or a pair, and nothing at all */
        for (int64_t end = 4; end < 13; end++) {
            memset(parts, 0xa5, sizeof parts);
            make(type, &some_key, 4, end, parts);
            CHECK(!memcmp(whole + 4 * size, parts + 4 * size, (size_t)(end - 4) * size));
            CHECK(parts[4 * size - 1] == 0xa5 && parts[(size_t)end * size] == 0xa5);
        }
    }
}

TEST(every_part_of_the_key_matters) {
    const wick_random_key keys[] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {(uint64_t)1 << 32, 0, 0}};
    float a[64], b[64];
    for (size_t i = 0; i < WICK_COUNTOF(keys); i++)
        for (size_t j = 0; j < i; j++) {
            int same = 0;
            wick_fill_uniform(WICK_CF32, &keys[i], 0, 64, a);
            wick_fill_uniform(WICK_CF32, &keys[j], 0, 64, b);
            for (int k = 0; k < 64; k++) same += a[k] == b[k];
            CHECK_INT(same, 0);
        }
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean, variance and the Kolmogorov-Smirnov distance of n values against a distribution function. Bounds: five standard
 * deviations of each estimate; sqrt(n) D < 1.95 holds with probability 0.999, and the seed is fixed. */
static void check_distribution(const char *what, double *x, int n, double mean, double var, double kurt,
                               double (*cdf)(double)) {
    double sum = 0, sum2 = 0, lag = 0, far = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    for (int i = 0; i < n; i++) sum2 += (x[i] - mean) * (x[i] - mean);
    for (int i = 1; i < n; i++) lag += (x[i] - mean) * (x[i - 1] - mean);
    CHECK_MSG(fabs(sum / n - mean) < 5 * sqrt(var / n), "%s: mean %g", what, sum / n);
    CHECK_MSG(fabs(sum2 / n - var) < 5 * var * sqrt((kurt - 1) / n), "%s: variance %g", what, sum2 / n);
    CHECK_MSG(fabs(lag / n) < 5 * var / sqrt(n), "%s: covariance of neighbours %g", what, lag / n);
    qsort(x, (size_t)n, sizeof *x, by_value);
    for (int i = 0; i < n; i++) {
        const double p = cdf(x[i]);
        far = fmax(far, fmax(fabs(p - (double)i / n), fabs(p - (i + 1.0) / n)));
    }
    CHECK_MSG(far * sqrt(n) < 1.95, "%s: Kolmogorov-Smirnov %g", what, far * sqrt(n));
}

static double uniform_cdf(double x) { return x; }
static double normal_cdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }

TEST(values_are_distributed_as_promised) {
    enum { N = 200000 };
    static float f[N];
    static double d[N];
    EACH_TIER(t) {
        const wick_random_key key = {42, 7, 0};
        wick_fill_uniform(WICK_CF32, &key, 0, N, f);
        for (int i = 0; i < N; i++) d[i] = f[i];
        check_distribution("uniform f32", d, N, 0.5, 1.0 / 12, 1.8, uniform_cdf);
        wick_fill_uniform(WICK_CF64, &key, 0, N, d);
        check_distribution("uniform f64", d, N, 0.5, 1.0 / 12, 1.8, uniform_cdf);
        wick_fill_normal(WICK_CF32, &key, 0, N, f);
        for (int i = 0; i < N; i++) d[i] = f[i];
        check_distribution("normal f32", d, N, 0, 1, 3, normal_cdf);
        wick_fill_normal(WICK_CF64, &key, 0, N, d);
        check_distribution("normal f64", d, N, 0, 1, 3, normal_cdf);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
