/* ravel.c: tuples of indices become places in a row-major array, each checked against its extent. */
#include "kernels/index/index_api.h"

int64_t wick_ravel_index(int n, const int64_t *dims, int64_t begin, int64_t end, const int64_t *index, int64_t *dst) {
    int64_t first = -1;
    for (int64_t i = begin; i < end; i++) {
        int64_t at = 0;
        for (int k = 0; k < n; k++) {
            int64_t j = index[i * n + k];
            j += j < 0 ? dims[k] : 0;
            if (WICK_UNLIKELY((uint64_t)j >= (uint64_t)dims[k])) {
                if (first < 0) first = i * n + k;
                j = 0;
            }
            at = at * dims[k] + j;
        }
        dst[i] = at;
    }
    return first;
}
