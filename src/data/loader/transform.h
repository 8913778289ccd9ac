/* transform.h: what the loader makes of its own options, and numbers of a sample. */
#ifndef WICK_DATA_TRANSFORM_H
#define WICK_DATA_TRANSFORM_H

#define WICK_NO_SITES
#include "base/base.h"
#include "tensor/tensor.h"
#include "wick/transform.h"

/* Block k of a sample's own random words: counter {sample, 2^31 + k, epoch low, epoch high}, key: the seed. The order's
 * never get to 2^31 in the second word. Blocks from WICK_BLOCK_SUBSTITUTE on are for samples that stand for others,
 * those from WICK_BLOCK_MIX on for mixing. */
enum { WICK_BLOCK_MIX = 1 << 19, WICK_BLOCK_SUBSTITUTE = 1 << 20 };
void wick_sample_words(uint64_t seed, uint64_t epoch, int64_t sample, uint32_t block, uint32_t word[4]);
/* As wick_transform_points and _boxes, of rows of `width` numbers, of which those behind the place stay. */
void wick_transform_wide_points(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample,
                                int64_t n, int64_t width, float *points);
void wick_transform_wide_boxes(const wick_transform *transform, uint64_t seed, uint64_t epoch, int64_t sample,
                               int64_t n, int64_t width, float *boxes);
const wick_spec *wick_transform_input(const wick_transform *transform); /* what it was made for */

/* ---- lists ------------------------------------------------------------------------------------------------------- */

enum { WICK_TRANSFORM_STEPS = 16, WICK_TRANSFORM_NUMBERS = 8, WICK_TRANSFORM_SIDE = 1 << 15 };

typedef struct wick_transform_form {
    const char *name;
    bool sized;      /* HxW comes first */
    int least, most; /* numbers behind it */
} wick_transform_form;
typedef struct wick_transform_step {
    int kind; /* of the forms */
    int64_t height, width;
    int n;
    double number[WICK_TRANSFORM_NUMBERS];
} wick_transform_step;
/* NAME, NAME=SIZE, NAME=NUMBERS or NAME=SIZE:NUMBERS; *at is behind it then, at a comma or the end. Form number
 * `listed` takes M:M/S:S; its height is how many stand before the slash. */
bool wick_transform_read(const char **at, const wick_transform_form *forms, int n, int listed, wick_transform_step *s);
wick_status wick_transform_wrong(wick_context *ctx, const char *text, const char *at, const char *why);

/* ---- draws ------------------------------------------------------------------------------------------------------- */

typedef struct wick_draws {
    uint64_t seed, epoch;
    int64_t sample;
} wick_draws;
static inline void wick_draw(const wick_draws *d, uint32_t block, uint32_t word[4]) {
    wick_sample_words(d->seed, d->epoch, d->sample, block, word);
}
/* Blocks of step i begin here, and there are 16 of them; block 0 is that of crop and flip. */
static inline uint32_t wick_draw_block(int i) { return (uint32_t)(i + 1) * 16; }
static inline double wick_draw_between(uint32_t word, double low, double high) {
    return low + (word + 0.5) * 0x1p-32 * (high - low);
}
/* Uniform in [0, n) to n / 2^32. */
static inline int64_t wick_draw_below(uint32_t word, int64_t n) {
    return (int64_t)((uint64_t)word * (uint64_t)n >> 32);
}

#endif
