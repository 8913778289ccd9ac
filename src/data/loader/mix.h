/* mix.h: mixup and cutmix, which end a list of transforms: samples of a batch mixed with each other, and their classes
 * with them. */
#ifndef WICK_DATA_MIX_H
#define WICK_DATA_MIX_H

#include "data/loader/transform.h"

enum { WICK_MIXUP, WICK_CUTMIX, WICK_MIXES };

typedef struct wick_mixing {
    double alpha[WICK_MIXES], chance[WICK_MIXES]; /* alpha 0: it is not in the list */
} wick_mixing;

/* Where in the text mixup and cutmix begin; its length: nowhere. */
size_t wick_mixing_find(const char *text);
/* Reads from there on. Else *at is where it is wrong, and the result why. */
const char *wick_mixing_read(const char *text, wick_mixing *m, const char **at);
static inline bool wick_mixing_any(const wick_mixing *m) {
    return m->alpha[WICK_MIXUP] > 0 || m->alpha[WICK_CUTMIX] > 0;
}
wick_mix wick_mixing_draw(const wick_mixing *m, const wick_draws *d, int64_t height, int64_t width);

#endif
