/* random.h: what each tier of the random kernels offers to the dispatch in random.c.
 *
 * Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011) makes 4 words from
 * a 128-bit counter. Words 0 and 1 of the counter are the number of the block, words 2 and 3 are fixed by the key. */
#ifndef WICK_KERNELS_RANDOM_H
#define WICK_KERNELS_RANDOM_H

#include "kernels/random/random_api.h"

/* What the blocks of one wick_random_key share. */
typedef struct wick_random_blocks {
    uint32_t key[2];
    uint32_t counter2, counter3;
} wick_random_blocks;

/* Elements whose first try of a gamma number is made at once; kinds of Philox streams that elements draw from. */
enum { WICK_GAMMA_GROUP = 64, WICK_GAMMA_STREAM = 1, WICK_TRUNCATED_STREAM, WICK_PERMUTATION_STREAM };

typedef struct wick_random_table {
    /* out[4 b + w] = word w of block (first + b), for b in [0, blocks); block numbers wrap at 2^64. */
    void (*words)(const wick_random_blocks *k, uint64_t first, size_t blocks, uint32_t *out);
    /* count values from words: one word each (f32), or two, low word first (f64). */
    void (*uniform_f32)(const uint32_t *words, size_t count, float *out);
    void (*uniform_f64)(const uint32_t *words, size_t count, double *out);
    /* count is even. */
    void (*normal_f32)(const uint32_t *words, size_t count, float *out);
    void (*normal_f64)(const uint32_t *words, size_t count, double *out);
    /* First tries of n <= WICK_GAMMA_GROUP gamma numbers of shapes alpha, and whether each is one. NULL: there is no
     * such kernel. */
    void (*gamma_first)(size_t n, const double *alpha, const uint64_t *bits, double *out, uint64_t *taken);
} wick_random_table;

const wick_random_table *wick_random_kernels(void); /* of the current tier */

extern const wick_random_table wick_random_table_ref, wick_random_table_base, wick_random_table_avx2,
    wick_random_table_avx512;

#endif
