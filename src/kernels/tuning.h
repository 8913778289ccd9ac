/* tuning.h: what wick/tuning.h lets a context choose, as kernels see it while their work is laid out. */
#ifndef WICK_KERNELS_TUNING_H
#define WICK_KERNELS_TUNING_H

#include "base/base.h"
#include "wick/tuning.h"

/* Every field set and within its range; tuning may be NULL. */
wick_tuning wick_tuning_whole(const wick_tuning *tuning);

/* What this thread lays work out by: the defaults, or what was entered. Whoever makes a plan enters its context's and
 * afterwards what was there before. Kernels look only when they prepare: what runs is what was prepared. */
const wick_tuning *wick_tuning_now(void);
const wick_tuning *wick_tuning_enter(const wick_tuning *whole);

#endif
