/* nonzero.c: the places of a mask that are true, in order. */
#include "kernels/index/index_api.h"

int64_t wick_count_true(int64_t count, const uint8_t *mask) {
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) n += mask[i] != 0;
    return n;
}

/* Neighbours [from, to) of one row, whose other coordinates are at. Each is written where the next place belongs, which
 * then moves on or not: no jump depends on the mask, but for eight at once that are not true. Returns how many places
 * there are with these, of which `size` are kept. */
static inline __attribute__((always_inline)) int64_t places_of_row(const int rank, const int64_t *at,
                                                                   const uint8_t *mask, int64_t from, int64_t to,
                                                                   int64_t n, int64_t size, int64_t *dst) {
    enum { BLOCK = 8 };
    for (int64_t i = from; i < to;) {
        const int64_t count = WICK_MIN(BLOCK, to - i);
        uint64_t any = 1;
        if (count == BLOCK) memcpy(&any, mask + i, sizeof any);
        for (int64_t k = i; any && k < i + count; k++) {
            if (n < size) {
                for (int d = 0; d + 1 < rank; d++) dst[n * rank + d] = at[d];
                dst[n * rank + rank - 1] = k;
            }
            n += mask[k] != 0;
        }
        i += count;
    }
    return n;
}

int64_t wick_nonzero_places(int rank, const int64_t *dims, const uint8_t *mask, int64_t begin, int64_t end,
                            int64_t size, int64_t *dst) {
    if (rank == 0) return wick_count_true(end - begin, mask + begin);
    if (rank == 1) return places_of_row(1, NULL, mask, begin, end, 0, size, dst);
    int64_t at[WICK_MAX_DIMS], n = 0, left = begin;
    const int64_t cols = dims[rank - 1];
    for (int d = rank - 1; d >= 0; d--) {
        at[d] = dims[d] ? left % dims[d] : 0;
        left /= WICK_MAX(dims[d], 1);
    }
    for (int64_t i = begin; i < end;) {
        const int64_t from = at[rank - 1], to = WICK_MIN(cols, from + end - i);
        n = rank == 2 ? places_of_row(2, at, mask + i - from, from, to, n, size, dst)
                      : places_of_row(rank, at, mask + i - from, from, to, n, size, dst);
        i += to - from;
        at[rank - 1] = 0;
        for (int d = rank - 2; d >= 0 && ++at[d] == dims[d]; d--) at[d] = 0;
    }
    return n;
}
