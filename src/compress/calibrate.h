/* calibrate.h: what is known of an activation after any number of batches, in memory that doesn't grow. */
#ifndef WICK_COMPRESS_CALIBRATE_H
#define WICK_COMPRESS_CALIBRATE_H

#include "base/base.h"
#include "wick/compress.h"

/* A histogram with 0 between two bins: bin i counts numbers in [(i - SIDE) 2^exponent, (i - SIDE + 1) 2^exponent). A
 * larger number joins bins in pairs until it fits. So the counts follow from the numbers, whatever their order. */
enum { WICK_CALIBRATOR_SIDE = 2048, WICK_CALIBRATOR_BINS = 2 * WICK_CALIBRATOR_SIDE };
typedef struct wick_calibrator {
    int64_t n;     /* numbers; 0: none yet, and nothing below is set */
    int64_t zeros; /* of these, which are 0: a ReLU's result has many */
    double low, high;
    double moving_low, moving_high;
    int exponent;
    int64_t count[WICK_CALIBRATOR_BINS];
} wick_calibrator;

/* false: one of the numbers is not finite, and none is counted. */
bool wick_calibrator_fits(const float *x, int64_t n);
/* Numbers of one batch, which fit. momentum: of the moving averages. */
void wick_calibrator_add(wick_calibrator *c, const float *x, int64_t n, double momentum);
/* The range that 256 levels are to cover, with 0 in it. c has numbers. */
void wick_calibrator_range(const wick_calibrator *c, wick_calibration how, double percentile, double *low,
                           double *high);
#endif
