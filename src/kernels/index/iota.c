/* iota.c: 0, 1, 2 ... */
#include "kernels/index/index_api.h"

void wick_iota(bool wide, int64_t begin, int64_t end, void *dst) {
    int64_t *wide_dst = dst;
    int32_t *narrow_dst = dst;
    for (int64_t i = begin; i < end; i++) {
        if (wide)
            wide_dst[i] = i;
        else
            narrow_dst[i] = (int32_t)i;
    }
}
