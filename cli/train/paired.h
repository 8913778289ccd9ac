/* paired.h: how sure a difference between two models is that judged the same samples. Each score is made a mean over
 * the samples, of numbers that can be subtracted in pairs. */
#ifndef WICK_CLI_PAIRED_H
#define WICK_CLI_PAIRED_H

#include <stdint.h>

/* R2 is the mean over the targets of 1 - sum of squared errors / sum of squares around the mean, and so the mean over n
 * samples of each[]. predicted, targets: [n, wide]. A target that is one number throughout has no part. */
void paired_squares(const float *predicted, const float *targets, int64_t n, int64_t wide, double *each);
/* The root of the mean of n numbers from 0 on; each[] has it as its mean, and what a sample adds to it to first order.
 */
double paired_root(const float *x, int64_t n, double *each);
/* AUC: the chance that one of m odd scores is above one of n normal ones, ties counting half. each[n + m] has of each
 * normal one the share of odd ones that are above, and of each odd one that of normal ones below; the mean of both is
 * the AUC, whose variance is the sum of both means' (DeLong, DeLong and Clarke-Pearson 1988, equations 4 to 6). room:
 * n + m numbers. */
double paired_ranks(const float *normal, int64_t n, const float *odd, int64_t m, float *room, double *each);
/* The variance of the mean of before[i] - after[i], of those that are no NaN, of which there are *known. */
double paired_variance(const double *before, const double *after, int64_t n, int64_t *known);
/* The 95 % quantile of Student's t of a whole number of degrees of freedom, of few by table, from 4 on within 0.1 %
 * (Abramowitz and Stegun 1964, 26.7.5). */
double paired_student(double freedom);

#endif
