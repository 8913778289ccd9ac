/* nonzero.c: the places of a mask that are true, in order. */
#include "kernels/kernels.h"

int64_t wick_count_true(int64_t count, const uint8_t *mask) {
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) n += mask[i] != 0;
    return n;
}

int64_t wick_nonzero_places(int rank, const int64_t *dims, const uint8_t *mask, int64_t size, int64_t *dst) {
    int64_t total = 1, found = 0;
    for (int d = 0; d < rank; d++) total *= dims[d];
    for (int64_t i = 0; i < total; i++) {
        if (!mask[i]) continue;
        if (found++ >= size) continue;
        int64_t left = i;
        for (int d = rank - 1; d >= 0; d--) {
            dst[d] = left % dims[d];
            left /= dims[d];
        }
        dst += rank;
    }
    return found;
}
