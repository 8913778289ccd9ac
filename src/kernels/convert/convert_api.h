/* convert_api.h: copies between dtypes and strides. */
#ifndef WICK_KERNELS_CONVERT_API_H
#define WICK_KERNELS_CONVERT_API_H

#include "kernels/types.h"

/* Converts and copies between any dtypes and strides; runs [begin, end) of wick_copy_tasks(). Same conversion rules as
 * WICK_FUSED_CAST between ctypes and as storing to memory. Packed dtypes are contiguous, and so is what they are
 * converted from or to; the rest of the last byte is zeroed. */
typedef struct wick_copy {
    int rank;
    int64_t dims[WICK_MAX_DIMS], src_strides[WICK_MAX_DIMS], dst_strides[WICK_MAX_DIMS];
    wick_dtype src, dst;
} wick_copy;
int64_t wick_copy_tasks(const wick_copy *c);
const char *wick_copy_name(const wick_copy *c);
int wick_copy_rejected(const wick_copy *c, wick_rejected *out);
void wick_copy_run(const wick_copy *c, int64_t begin, int64_t end, const void *src, void *dst);

#endif
