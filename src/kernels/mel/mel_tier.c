/* mel_tier.c: plain loops, which the compiler makes vectors of. Sums are over numbers, lane by lane: their order is
 * that of the numbers on every tier; logarithms are those of math.h. */
#include "kernels/elementwise/math.h"
#include "kernels/mel/mel.h"

enum { LANES = WICK_MEL_LANES };

static void multiply(int64_t n, const float *restrict a, const float *restrict b, float *restrict out) {
    for (int64_t i = 0; i < n; i++) out[i] = a[i] * b[i];
}

static void power(int64_t n, int64_t lanes, const float *restrict spectra, float *restrict to) {
    if (lanes == LANES) {
        for (int64_t k = 0; k < n; k++)
            for (int64_t l = 0; l < LANES; l++) {
                const float *at = spectra + (l * n + k) * 2;
                to[k * LANES + l] = at[0] * at[0] + at[1] * at[1];
            }
        return;
    }
    for (int64_t l = 0; l < lanes; l++)
        for (int64_t k = 0; k < n; k++) {
            const float *at = spectra + (l * n + k) * 2;
            to[k * LANES + l] = at[0] * at[0] + at[1] * at[1];
        }
}

static void band(int64_t n, const float *restrict weights, const float *restrict from, float *restrict out) {
    float sum[LANES] = {0};
    for (int64_t k = 0; k < n; k++)
        for (int l = 0; l < LANES; l++) sum[l] += weights[k] * from[k * LANES + l];
    for (int l = 0; l < LANES; l++) out[l] = sum[l];
}

static void log_plus(int64_t n, float plus, float *restrict x) {
    for (int64_t i = 0; i < n; i++) x[i] = wick_log_f32(x[i] + plus);
}
static void log_of_at_least(int64_t n, float least, float by, float *restrict x) {
    for (int64_t i = 0; i < n; i++) x[i] = wick_log_f32(x[i] > least ? x[i] : least) * by;
}

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
const wick_mel_table PASTE(wick_mel_table_, WICK_TIER_NAME) = {multiply, power, band, log_plus, log_of_at_least};
