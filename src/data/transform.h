/* transform.h: what the loader makes of its own options, and numbers of a sample. */
#ifndef WICK_DATA_TRANSFORM_H
#define WICK_DATA_TRANSFORM_H

#define WICK_NO_SITES
#include "base/base.h"
#include "tensor/tensor.h"
#include "wick/transform.h"

/* Block k of a sample's own random words: counter {sample, 2^31 + k, epoch low, epoch high}, key: the seed. The order's never get to 2^31 in the second word. Blocks from
 * WICK_BLOCK_SUBSTITUTE on are for samples that stand for others. */
enum { WICK_BLOCK_SUBSTITUTE = 1 << 20 };
void wick_sample_words(uint64_t seed, uint64_t epoch, int64_t sample, uint32_t block, uint32_t word[4]);
const wick_spec *wick_transform_input(const wick_transform *transform); /* what it was made for */

#endif
