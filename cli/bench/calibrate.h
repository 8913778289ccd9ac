/* calibrate.h: the numbers of the cost model (those of wick/tuning.h that are costs), measured on this machine. */
#ifndef WICK_CLI_CALIBRATE_H
#define WICK_CLI_CALIBRATE_H

#include "wick/tuning.h"

/* Sets the costs in *tuning, whose other numbers are used as they are. seconds: about, in all; 0: one run of each work,
 * which says nothing about the machine. *error: how far predictions of the works are off then, median of |predicted /
 * measured - 1|, and before. false: out of memory, or a run failed. */
bool calibrate(wick_tuning *tuning, int threads, double seconds, double *before, double *after);

#endif
