/* Ranges of activations: what was counted is the same in any order and in parts, and ranges are what sorting all
 * numbers, or trying all clips on them, gives. */
#include "compress/calibrate.h"
#include "test.h"

enum { N = 20000 };
static float x[N];
static wick_calibrator a, b;

static double normal(void) {
    double sum = 0;
    for (int i = 0; i < 12; i++) sum += test_rand_real(-0.5, 0.5);
    return sum;
}
/* 0: near normal; 1: the same behind a ReLU; 2: with a heavy tail; 3: below 0 alone; 4: tiny */
static void draw(int kind) {
    for (int i = 0; i < N; i++) {
        const double v = normal();
        x[i] = (float)(kind == 1   ? v > 0 ? v : 0
                       : kind == 2 ? v * exp(1.2 * normal())
                       : kind == 3 ? -fabs(v) - 0.01
                       : kind == 4 ? v * 1e-30
                                   : v);
    }
}
enum { KINDS = 5 };

TEST(counts_do_not_depend_on_order_or_parts) {
    for (int kind = 0; kind < KINDS; kind++) {
        draw(kind);
        a.n = b.n = 0;
        wick_calibrator_add(&a, x, N, 0.9);
        for (int at = N; at > 0;) {
            const int n = test_rand_int(1, at < 700 ? at : 700);
            at -= n;
            wick_calibrator_add(&b, x + at, n, 0.9);
        }
        CHECK(a.n == N && b.n == N && a.low == b.low && a.high == b.high && a.exponent == b.exponent);
        CHECK(a.zeros == b.zeros && memcmp(a.count, b.count, sizeof a.count) == 0);
        int64_t sum = 0;
        for (int i = 0; i < WICK_CALIBRATOR_BINS; i++) sum += a.count[i];
        CHECK_INT(sum, N);
    }
}

static int compare(const void *p, const void *q) {
    const float u = *(const float *)p, v = *(const float *)q;
    return (u > v) - (u < v);
}
TEST(percentiles_are_those_of_the_sorted_numbers) {
    for (int kind = 0; kind < KINDS; kind++) {
        draw(kind);
        a.n = 0;
        wick_calibrator_add(&a, x, N, 0.9);
        qsort(x, N, sizeof *x, compare);
        static const double percentile[] = {100, 99.9, 99, 90};
        for (int k = 0; k < 4; k++) {
            double low, high;
            wick_calibrator_range(&a, WICK_CALIBRATE_PERCENTILE, percentile[k], &low, &high);
            const int out = (int)((1 - percentile[k] / 100) / 2 * N);
            const double width = ldexp(1, a.exponent),
                         want[2] = {fmin((double)x[out], 0), fmax((double)x[N - 1 - out], 0)};
            CHECK_MSG(fabs(low - want[0]) <= width && fabs(high - want[1]) <= width, "%d, %g: %g %g, not %g %g", kind,
                      percentile[k], low, high, want[0], want[1]);
        }
    }
}

/* The mean square that 256 levels change. */
static double error_of(double low, double high) {
    const double scale = (high - low) / 255;
    double sum = 0;
    for (int i = 0; i < N; i++) {
        const double v = fmin(fmax((double)x[i], low), high), d = low + rint((v - low) / scale) * scale - (double)x[i];
        sum += d * d;
    }
    return sum / N;
}
TEST(the_least_square_error_is_that_of_trying_all_clips) {
    for (int kind = 0; kind < KINDS; kind++) {
        draw(kind);
        a.n = 0;
        wick_calibrator_add(&a, x, N, 0.9);
        double low, high, best = INFINITY;
        wick_calibrator_range(&a, WICK_CALIBRATE_MSE, 0, &low, &high);
        const double least = fmin(a.low, 0), most = fmax(a.high, 0);
        for (int step = 5; step <= 100; step++) {
            const double limit = fmax(-least, most) * step / 100;
            best = fmin(best, error_of(fmax(least, -limit), fmin(most, limit)));
        }
        CHECK_MSG(error_of(low, high) <= 1.05 * best, "%d: %g, %g would be %g", kind, high, error_of(low, high), best);
        CHECK(low <= 0 && high >= 0 && low >= least && high <= most);
    }
}
/* A few numbers far out cost the others little with a clip, and much without. */
TEST(clips_leave_out_what_is_far_out) {
    draw(0);
    for (int i = 0; i < 3; i++) x[i * 100] = 100;
    a.n = 0;
    wick_calibrator_add(&a, x, N, 0.9);
    for (int how = WICK_CALIBRATE_MINMAX; how <= WICK_CALIBRATE_MSE; how++) {
        double low, high;
        wick_calibrator_range(&a, (wick_calibration)how, 99.9, &low, &high);
        const bool whole = how == WICK_CALIBRATE_MINMAX || how == WICK_CALIBRATE_MOVING || how == WICK_CALIBRATE_MSE;
        CHECK_MSG(whole ? high > 50 : high < 30 && high > 2, "%d: %g", how, high);
    }
}
TEST(moving_averages_follow_the_batches) {
    a.n = 0;
    for (int i = 0; i < 3; i++) wick_calibrator_add(&a, (float[]){-1.0f - (float)i, 2 + (float)i}, 2, 0.75);
    double low, high;
    wick_calibrator_range(&a, WICK_CALIBRATE_MOVING, 0, &low, &high);
    CHECK(low == ((-1 * 0.75 - 2 * 0.25) * 0.75 - 3 * 0.25) && high == ((2 * 0.75 + 3 * 0.25) * 0.75 + 4 * 0.25));
}
TEST(zeros_alone_and_none_are_ranges_too) {
    const float zeros[5] = {0};
    for (int how = WICK_CALIBRATE_MINMAX; how <= WICK_CALIBRATE_MSE; how++) {
        double low, high;
        a.n = 0;
        wick_calibrator_add(&a, zeros, 0, 0.9);
        CHECK_INT(a.n, 0);
        wick_calibrator_add(&a, zeros, 5, 0.9);
        wick_calibrator_range(&a, (wick_calibration)how, 99, &low, &high);
        CHECK(low == 0 && high == 0);
        wick_calibrator_add(&a, (float[]){3, 3, 3}, 3, 0.9); /* the first bins were none */
        wick_calibrator_range(&a, (wick_calibration)how, 100, &low, &high);
        CHECK_MSG(low == 0 && high > 0 && high <= 3.01, "%d: %g %g", how, low, high);
    }
}
TEST(what_is_not_finite_does_not_fit) {
    CHECK(wick_calibrator_fits((float[]){0, -1e38f, 1e-44f}, 3) && wick_calibrator_fits(NULL, 0));
    CHECK(!wick_calibrator_fits((float[]){0, NAN}, 2) && !wick_calibrator_fits((float[]){-INFINITY, 0}, 2));
}

int main(int argc, char **argv) { return test_main(argc, argv); }
