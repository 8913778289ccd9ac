/* random_api.h: random numbers.
 *
 * Element i comes from Philox(counter = {i/4 low, i/4 high, stream low, offset low}, key = seed ^ high halves): a
 * function of its position alone, so any range can be made by anyone. An f64 element takes two words: i/2 in place of
 * i/4. uniform is in [0, 1), 24 bits (f32) or 53 (f64); normal is Box-Muller on pairs. */
#ifndef WICK_KERNELS_RANDOM_API_H
#define WICK_KERNELS_RANDOM_API_H

#include "kernels/types.h"

typedef struct wick_random_key {
    uint64_t seed, stream, offset;
} wick_random_key;
void wick_fill_uniform(wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end, void *dst);
void wick_fill_normal(wick_ctype type, const wick_random_key *key, int64_t begin, int64_t end, void *dst);
/* dst points at element 0 in both. Only begin..end are written; begin is a multiple of 4. */
/* all 64: two words, low first */
void wick_fill_bits(const wick_random_key *key, int64_t begin, int64_t end, uint64_t *dst);

/* Element i is a function of bits[i], 64 random bits, and of its parameters. alpha = 0 gives 0, below NaN. */
void wick_draw_gamma(wick_ctype type, int64_t begin, int64_t end, const void *alpha, const uint64_t *bits, void *dst);
/* Normal numbers within [low, high]; low <= high, deviation > 0. */
void wick_draw_truncated(wick_ctype type, double mean, double deviation, double low, double high, int64_t begin,
                         int64_t end, const uint64_t *bits, void *dst);
/* [low, low + range) */
void wick_draw_integers(int64_t low, uint64_t range, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst);
/* a row each of 0 .. n - 1 */
void wick_draw_permutations(int64_t n, int64_t begin, int64_t end, const uint64_t *bits, int64_t *dst);
/* `count` of n for each of the rows, with a chance as their weights: by uniform numbers in [0, 1), as many as results
 * (choices), or one for each weight (distinct: none twice, in the order drawn). scratch: n doubles. Returns -1, or the
 * first row that has a weight below 0, NaN or Inf, or too few above 0: its results are 0. */
int64_t wick_draw_choices(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                          const double *uniform, int64_t *dst, double *scratch);
int64_t wick_draw_distinct(wick_ctype type, int64_t begin, int64_t end, int64_t n, int64_t count, const void *weights,
                           const double *uniform, int64_t *dst, double *scratch);

#endif
