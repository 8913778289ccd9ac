/* tuning_caches.h: what the defaults are on a machine of other caches than this one's. */
#ifndef WICK_KERNELS_TUNING_CACHES_H
#define WICK_KERNELS_TUNING_CACHES_H

#include "base/cpu.h"
#include "wick/tuning.h"

wick_tuning wick_tuning_for(wick_tier tier, const wick_caches *caches);

#endif
