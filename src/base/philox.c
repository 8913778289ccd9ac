/* philox.c: Philox for callers that call it now and then. */
#include "base/philox.h"

#include "base/base.h"

void wick_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    wick_philox_words(counter, key, out);
}
