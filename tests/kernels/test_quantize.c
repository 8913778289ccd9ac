/* Bytes by the range of all numbers: every tier against the formula, one rounding at a time, around every boundary and
 * in as many tasks as there are. */
#include <math.h>

#include "base/cpu.h"
#include "kernels/quantize/quantize_api.h"
#include "test.h"

enum { MOST = 70000 };
static float x[MOST];
static uint8_t got[MOST], want[MOST];

/* The formula of quantize_api.h. */
static void plain(int64_t n, float *scale, uint8_t *zero) {
    float low = 0, high = 0;
    for (int64_t i = 0; i < n; i++) low = fminf(low, x[i]), high = fmaxf(high, x[i]);
    *scale = low == high ? 1 : (high - low) / 255;
    const float at = nearbyintf((0 - low) / *scale), point = at != at ? at : fminf(fmaxf(at, 0), 255);
    *zero = point != point ? 0 : (uint8_t)point;
    for (int64_t i = 0; i < n; i++) {
        const float v = nearbyintf(x[i] / *scale) + point;
        want[i] = v != v || v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
    }
}

static void check(const char *what, int64_t n) {
    float scale, wanted_scale, partials[16];
    uint8_t zero, wanted_zero;
    wick_ranging r = {.n = n};
    plain(n, &wanted_scale, &wanted_zero);
    wick_ranging_prepare(&r);
    REQUIRE(r.partials <= sizeof partials);
    for (int whole = 0; whole < 2; whole++) {
        memset(got, 77, sizeof got);
        scale = -1, zero = 99;
        for (int stage = 0; stage < r.stages; stage++)
            for (int64_t t = r.tasks - 1; t >= 0; t -= whole ? r.tasks : 1) /* from the last to the first, or at once */
                wick_ranging_run(&r, stage, whole ? 0 : t, whole ? r.tasks : t + 1, x, got, &scale, &zero, partials);
        CHECK_MSG(memcmp(&scale, &wanted_scale, sizeof scale) == 0 && zero == wanted_zero,
                  "%s, %s, %lld: scale %a, zero %d, not %a, %d", wick_tier_name(wick_tier_current()), what,
                  (long long)n, (double)scale, zero, (double)wanted_scale, wanted_zero);
        int64_t wrong = -1;
        for (int64_t i = 0; i < n && wrong < 0; i++) wrong = got[i] != want[i] ? i : -1;
        CHECK_MSG(wrong < 0 && (n == MOST || got[n] == 77), "%s, %s, %lld: %a at %lld is %d, not %d",
                  wick_tier_name(wick_tier_current()), what, (long long)n, wrong < 0 ? 0 : (double)x[wrong],
                  (long long)wrong, wrong < 0 ? 0 : got[wrong], wrong < 0 ? 0 : want[wrong]);
    }
    test_count("arrays on a tier", 1);
}

#define EACH_TIER                                                                                                      \
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++)                                                                 \
        if (wick_tier_force((wick_tier)tier))

TEST(arrays_of_every_size_have_the_bytes_of_the_formula_on_every_tier) {
    static const int64_t sizes[] = {16383, 16384, 16385, 32767, 32768, 32769, 40000, 49152, 65537, MOST};
    for (int64_t i = 0; i < MOST; i++) x[i] = (float)test_rand_real(-3, 5);
    EACH_TIER {
        for (int64_t n = 0; n < 140; n++) check("a few", n);
        for (size_t k = 0; k < WICK_COUNTOF(sizes); k++) check("many", sizes[k]);
    }
    (void)wick_tier_force(wick_tier_best());
}

/* Quotients that are at the middle between two whole numbers, or a last place beside it: there a product with the
 * inverse of the scale is rounded otherwise. */
TEST(numbers_next_to_the_middle_between_two_are_rounded_as_their_quotient) {
    EACH_TIER {
        uint64_t seed = 5;
        for (int round = 0; round < 40; round++) {
            const float low = -(float)(round % 7) * 0.37f, high = 1 + 0.1f * (float)round, scale = (high - low) / 255;
            for (int64_t i = 0; i < 6000; i++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                float v = ((float)((int)(i % 255) + (int)(low / scale)) + 0.5f) * scale;
                for (uint64_t step = seed >> 60 & 3; step; step--) v = nextafterf(v, seed >> 40 & 1 ? 9.0f : -9.0f);
                x[i] = v < low ? low : v > high ? high : v;
            }
            x[0] = low, x[5999] = high;
            check("middles", 6000);
        }
    }
    (void)wick_tier_force(wick_tier_best());
}

TEST(nan_infinities_and_the_smallest_and_largest_numbers_are_what_the_formula_says) {
    static const float odd[] = {NAN,     INFINITY, -INFINITY, 0.0f,   -0.0f, 1e-45f,
                                -1e-45f, 3.4e38f,  -3.4e38f,  1e-38f, 7e-44f};
    enum { N = 200, COUNT = (int)WICK_COUNTOF(odd) };
    EACH_TIER {
        for (int kind = 0; kind < COUNT * COUNT; kind++)
            for (int among = 0; among < 3; among++) { /* nothing else, small numbers, ordinary ones */
                for (int i = 0; i < N; i++)
                    x[i] = i % 13 == 0   ? odd[kind / COUNT]
                           : i % 17 == 0 ? odd[kind % COUNT]
                           : among == 0  ? odd[kind % COUNT]
                                         : (float)test_rand_real(-1, 2) * (among == 1 ? 1e-43f : 1);
                check("odd ones", N);
            }
    }
    (void)wick_tier_force(wick_tier_best());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
