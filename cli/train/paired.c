#include "paired.h"

#include "metrics.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void paired_squares(const float *predicted, const float *targets, int64_t n, int64_t wide, double *each) {
    for (int64_t i = 0; i < n; i++) each[i] = 0;
    for (int64_t k = 0; k < wide; k++) {
        target_sums sums = {0};
        for (int64_t i = 0; i < n; i++)
            target_sums_add(&sums, (double)predicted[i * wide + k], (double)targets[i * wide + k]);
        for (int64_t i = 0; i < n && sums.spread > 0; i++) {
            const double error = (double)predicted[i * wide + k] - (double)targets[i * wide + k];
            each[i] += (1 - (double)n * error * error / sums.spread) / (double)wide;
        }
    }
}

double paired_root(const float *x, int64_t n, double *each) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    const double root = sqrt(sum / (double)n);
    for (int64_t i = 0; i < n; i++) each[i] = root > 0 ? ((double)x[i] / root + root) / 2 : 0;
    return root;
}

static int by_value(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}
static int64_t count_below(const float *sorted, int64_t n, float x, bool equal) {
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sorted[middle] < x || (equal && sorted[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
/* The share of n sorted numbers that are below x; of equal ones half. */
static double below(const float *sorted, int64_t n, float x) {
    return ((double)count_below(sorted, n, x, false) + (double)count_below(sorted, n, x, true)) / (2 * (double)n);
}

double paired_ranks(const float *normal, int64_t n, const float *odd, int64_t m, float *room, double *each) {
    double auc = 0;
    memcpy(room, normal, (size_t)n * sizeof *room);
    memcpy(room + n, odd, (size_t)m * sizeof *room);
    qsort(room, (size_t)n, sizeof *room, by_value);
    qsort(room + n, (size_t)m, sizeof *room, by_value);
    for (int64_t i = 0; i < n; i++) each[i] = 1 - below(room + n, m, normal[i]);
    for (int64_t i = 0; i < m; i++) auc += each[n + i] = below(room, n, odd[i]);
    return auc / (double)m;
}

double paired_variance(const double *before, const double *after, int64_t n, int64_t *known) {
    double sum = 0, square = 0;
    *known = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(before[i] - after[i])) sum += before[i] - after[i], ++*known;
    const double mean = sum / (double)*known;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(before[i] - after[i])) square += (before[i] - after[i] - mean) * (before[i] - after[i] - mean);
    return square / ((double)*known * ((double)*known - 1));
}

double paired_student(double freedom) {
    static const double few[] = {6.313751514675037, 2.9199855803537242, 2.3533634348018233};
    if (freedom < 3.5) return few[freedom < 1.5 ? 0 : freedom < 2.5 ? 1 : 2];
    const double z = 1.6448536269514722, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z, f = freedom;
    return z + (z3 + z) / (4 * f) + (5 * z5 + 16 * z3 + 3 * z) / (96 * f * f) +
           (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * f * f * f);
}
