/* along.h: what wick_along_run says of an index that is outside, looked at again. */
#ifndef WICK_KERNELS_INDEX_ALONG_H
#define WICK_KERNELS_INDEX_ALONG_H

#include "kernels/index/index_api.h"

/* The number at a position that wick_along_run has returned. */
int64_t wick_along_index(const wick_along *a, const int64_t *index, int64_t position);

#endif
