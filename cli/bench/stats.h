/* stats.h: what a set of times tells. */
#ifndef WICK_CLI_BENCH_STATS_H
#define WICK_CLI_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times in the order they were taken, and sorted once stats_sort was called. Zeroed, it is empty. */
typedef struct samples {
    double *at, *sorted;
    int64_t n;
    size_t room;
} samples;

bool samples_add(samples *s, double value); /* false: out of memory */
void samples_free(samples *s);
void samples_sort(samples *s);

/* Of sorted values, by the nearest rank; 0 of none. */
double stats_quantile(const samples *s, double q);
/* The interval that holds the median with 95 %, from the order of the values alone: ranks n/2 -+ 0.98 sqrt(n) (Conover,
 * Practical Nonparametric Statistics, section 3.2). */
void stats_median_interval(const samples *s, double *low, double *high);
/* Median of the absolute differences from the median. */
double stats_mad(const samples *s);
/* Median of a by median of b, and its 95 % interval by the bootstrap: both are drawn again, 1000 times; always the same
 * draws. */
double stats_ratio(const samples *a, const samples *b, double *low, double *high);
/* Probability of a difference in rank at least as large as between a and b if both came from one distribution: the
 * Mann-Whitney U test, by the normal approximation with corrections for ties and continuity (Conover, section 5.1). 1
 * where there are too few to tell. */
double stats_same(const samples *a, const samples *b);

#endif
