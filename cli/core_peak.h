/* core_peak.h: what one core can do at best, as the yardstick of measured speeds. */
#ifndef WICK_CLI_CORE_PEAK_H
#define WICK_CLI_CORE_PEAK_H

/* Billions of f32 operations a second in chains of multiply-adds that stay in registers, with the instructions of a tier ("avx512"); a
 * multiply-add counts as two. Takes some milliseconds. The CPU must have the tier. */
double core_peak_gflops(const char *tier);

#endif
