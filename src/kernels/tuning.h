/* tuning.h: what wick/tuning.h lets a context choose, as kernels see it while their work is laid out. */
#ifndef WICK_KERNELS_TUNING_H
#define WICK_KERNELS_TUNING_H

#include "base/base.h"
#include "wick/tuning.h"

/* Every field set and within its range; tuning may be NULL. */
wick_tuning wick_tuning_whole(const wick_tuning *tuning);

/* What functions named _prepare lay work out by: tuning, of which every field is set, or for NULL the defaults of the
 * current tier. They look at it and keep no pointer: what runs is what was prepared. */
const wick_tuning *wick_tuning_or_default(const wick_tuning *tuning);

#endif
