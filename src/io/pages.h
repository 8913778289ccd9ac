/* pages.h: pages of mapped files that nobody writes: one that goes comes again, with the same bytes, when it is read.
 */
#ifndef WICK_IO_PAGES_H
#define WICK_IO_PAGES_H

#include "base/base.h"
#include "wick/weights.h"

/* Of [at, at + n), with what shares their pages; 0, or the errno that the system refused with. */
int wick_pages_advise(const uint8_t *at, size_t n, wick_weights_use use);
/* Adds the bytes of [at, at + n) that are in this process's memory; false: the system does not tell. */
bool wick_pages_count(const uint8_t *at, size_t n, size_t *resident);

#endif
