/* calibrate.c: from numbers to the range that 256 levels cover. */
#include "compress/calibrate.h"

#include <math.h>
#include <string.h>

enum { SIDE = WICK_CALIBRATOR_SIDE, BINS = WICK_CALIBRATOR_BINS, LEVELS = 256 };

/* ---- counting ---------------------------------------------------------------------------------------------------- */

bool wick_calibrator_fits(const float *x, int64_t n) {
    bool fits = true;
    for (int64_t i = 0; i < n; i++) fits = fits && isfinite(x[i]);
    return fits;
}

/* Bins in pairs, until there is one for a number of this magnitude. */
static void widen(wick_calibrator *c, double most) {
    int exponent;
    if (most == 0) return;
    (void)frexp(most, &exponent);
    exponent -= 11; /* most < 2^exponent, which is SIDE 2^(exponent - 11) */
    _Static_assert(SIDE == 1 << 11, "the line above");
    if (exponent <= c->exponent) return;
    for (; c->exponent < exponent && c->n; c->exponent++) {
        int64_t joined[BINS] = {0};
        for (int i = 0; i < BINS; i++) joined[SIDE / 2 + i / 2] += c->count[i];
        memcpy(c->count, joined, sizeof joined);
    }
    c->exponent = exponent;
}

void wick_calibrator_add(wick_calibrator *c, const float *x, int64_t n, double momentum) {
    if (n <= 0) return;
    float low = x[0], high = x[0];
    for (int64_t i = 1; i < n; i++) low = x[i] < low ? x[i] : low, high = x[i] > high ? x[i] : high;
    if (!c->n) {
        memset(c, 0, sizeof *c);
        c->low = c->moving_low = (double)low, c->high = c->moving_high = (double)high;
        c->exponent = -200; /* finer than any float */
    } else {
        c->low = fmin(c->low, (double)low), c->high = fmax(c->high, (double)high);
        c->moving_low = momentum * c->moving_low + (1 - momentum) * (double)low;
        c->moving_high = momentum * c->moving_high + (1 - momentum) * (double)high;
    }
    widen(c, fmax(fabs((double)low), fabs((double)high)));
    const double bins = ldexp(1, -c->exponent);
    for (int64_t i = 0; i < n; i++) {
        c->count[SIDE + (int)floor((double)x[i] * bins)]++;
        c->zeros += x[i] == 0;
    }
    c->n += n;
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* The least range that leaves out at most the share 1 - percentile / 100 of the numbers, half of it on each side. */
static void by_percentile(const wick_calibrator *c, double percentile, double *low, double *high) {
    const double width = ldexp(1, c->exponent), out = (1 - percentile / 100) / 2 * (double)c->n;
    int first = 0, last = BINS - 1;
    for (double sum = (double)c->count[0]; first < last && sum <= out; sum += (double)c->count[first]) first++;
    for (double sum = (double)c->count[BINS - 1]; last > first && sum <= out; sum += (double)c->count[last]) last--;
    *low = fmax(*low, (first - SIDE) * width);
    *high = fmin(*high, (last - SIDE + 1) * width);
}

/* The sum of the squares that rounding to 256 levels from low to high changes, each bin's numbers being in its middle.
 */
static double square_error(const wick_calibrator *c, double low, double high) {
    const double width = ldexp(1, c->exponent), scale = (high - low) / (LEVELS - 1);
    double sum = 0;
    for (int i = 0; i < BINS; i++) {
        if (!c->count[i]) continue;
        const double x = (i - SIDE + 0.5) * width, held = fmin(fmax(x, low), high);
        const double error = low + rint((held - low) / scale) * scale - x;
        sum += (double)c->count[i] * error * error;
    }
    return sum;
}

/* How much is lost when the counts of bins [first, end) are represented by 256 levels: the Kullback-Leibler divergence
 * of the quantised distribution from the true one. In the quantised one a level's counts are spread evenly over its
 * bins that are not empty; in the true one, counts outside of the range are added to the outermost bins. Zeros are not
 * counted, since a level is exactly 0. */
static double divergence(const wick_calibrator *c, int first, int end) {
    double total = 0, sum = 0, out[2] = {0};
    for (int i = 0; i < BINS; i++) {
        const double count = (double)(c->count[i] - (i == SIDE ? c->zeros : 0));
        total += count;
        if (i < first) out[0] += count;
        if (i >= end) out[1] += count;
    }
    const int64_t n = end - first;
    for (int level = 0; level < LEVELS && total > 0; level++) {
        const int from = first + (int)(level * n / LEVELS), to = first + (int)((level + 1) * n / LEVELS);
        double mass = 0, used = 0;
        for (int i = from; i < to; i++) {
            const double count = (double)(c->count[i] - (i == SIDE ? c->zeros : 0));
            mass += count, used += count > 0;
        }
        for (int i = from; i < to; i++) {
            const double count = (double)(c->count[i] - (i == SIDE ? c->zeros : 0));
            const double p = (count + (i == first ? out[0] : 0) + (i == end - 1 ? out[1] : 0)) / total;
            /* a bin that only has what lay outside: as if one number in its level */
            const double q = (count > 0 ? mass / used : 1) / (total - out[0] - out[1] + 1);
            if (p > 0) sum += p * log(p / q);
        }
    }
    return sum;
}

/* Numbers are held to a largest magnitude, where that is best. */
static void by_search(const wick_calibrator *c, wick_calibration how, double *low, double *high) {
    enum { STEPS = 100, FEWEST = 5 };
    const double least = *low, most = *high, bins = ldexp(1, -c->exponent);
    double best = INFINITY;
    for (int step = STEPS; step >= FEWEST; step--) {
        const double limit = fmax(-least, most) * step / STEPS, lo = fmax(least, -limit), hi = fmin(most, limit);
        const int first = SIDE + (int)floor(lo * bins), end = SIDE + (int)ceil(hi * bins);
        if (how == WICK_CALIBRATE_ENTROPY && end - first < LEVELS) break; /* bins are no finer than levels */
        const double loss =
            how == WICK_CALIBRATE_MSE ? square_error(c, lo, hi) : divergence(c, first, WICK_MIN(end, BINS));
        if (loss < best) best = loss, *low = lo, *high = hi;
    }
}

void wick_calibrator_range(const wick_calibrator *c, wick_calibration how, double percentile, double *low,
                           double *high) {
    const bool moving = how == WICK_CALIBRATE_MOVING;
    *low = fmin(moving ? c->moving_low : c->low, 0);
    *high = fmax(moving ? c->moving_high : c->high, 0);
    if (*low >= *high) return; /* nothing but zeros */
    if (how == WICK_CALIBRATE_PERCENTILE) by_percentile(c, percentile, low, high);
    if (how == WICK_CALIBRATE_ENTROPY || how == WICK_CALIBRATE_MSE) by_search(c, how, low, high);
    *low = fmin(*low, 0), *high = fmax(*high, 0);
}
