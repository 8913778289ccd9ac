/* Bands of spectra: every tier against the plain C, around every boundary. */
#include "kernels/mel/mel.h"
#include "test.h"

enum { LANES = WICK_MEL_LANES, MOST = 70 };

TEST(all_tiers_give_what_the_plain_c_gives) {
    static float a[MOST * LANES * 2], b[MOST * LANES * 2], want[MOST * LANES + 1], got[MOST * LANES + 1];
    for (int i = 0; i < MOST * LANES * 2; i++) a[i] = (float)test_rand_real(-2, 2), b[i] = (float)test_rand_real(0, 1);
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        const wick_mel_table *k = wick_mel_kernels(), *ref = &wick_mel_table_ref;
        for (int n = 0; n < MOST; n++) {
            got[n] = want[n] = -77;
            k->multiply(n, a, b, got), ref->multiply(n, a, b, want);
            CHECK(memcmp(got, want, (size_t)(n + 1) * sizeof *got) == 0);
            for (int lanes = 0; lanes <= LANES; lanes++) {
                for (int i = 0; i <= n * LANES; i++) got[i] = want[i] = -77; /* other lanes, and what is behind, stay */
                k->power(n, lanes, a, got), ref->power(n, lanes, a, want);
                CHECK(memcmp(got, want, (size_t)(n * LANES + 1) * sizeof *got) == 0);
                for (int i = 0; i < n * LANES; i++) {
                    const float *at = a + ((i % LANES) * n + i / LANES) * 2;
                    CHECK(got[i] == (i % LANES < lanes ? at[0] * at[0] + at[1] * at[1] : -77));
                }
            }
            k->band(n, b, a, got), ref->band(n, b, a, want);
            CHECK(memcmp(got, want, LANES * sizeof *got) == 0);
            memcpy(got, b, (size_t)n * sizeof *got), got[n] = -77;
            k->log(n, 1e-6f, got);
            for (int i = 0; i < n; i++)
                CHECK(fabs((double)got[i] - log((double)b[i] + 1e-6)) < 2e-6 * fmax(1, fabs(log((double)b[i] + 1e-6))));
            CHECK(got[n] == -77);
            memcpy(got, b, (size_t)n * sizeof *got);
            k->log_of_at_least(n, 0.25f, 4, got);
            for (int i = 0; i < n; i++) CHECK(fabs((double)got[i] - 4 * log(fmax(0.25, (double)b[i]))) < 2e-6);
            test_count("rows of bands on a tier", 1);
        }
    }
    (void)wick_tier_force(wick_tier_best());
}

int main(int argc, char **argv) { return test_main(argc, argv); }
