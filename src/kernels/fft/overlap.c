/* overlap.c: frames of a row added up where they were, in order. Bound by memory, and sums have the same bits in every
 * tier. */
#include "kernels/fft/fft_api.h"

#define OVERLAP(T, name)                                                                                               \
    static void name(int64_t frames, int64_t n, int64_t hop, int64_t t, int64_t row, const void *xv, void *yv) {       \
        const T *x = (const T *)xv + row * frames * n;                                                                 \
        T *y = (T *)yv + row * t;                                                                                      \
        memset(y, 0, (size_t)t * sizeof *y);                                                                           \
        for (int64_t f = 0; f < frames; f++) {                                                                         \
            const T *restrict from = x + f * n;                                                                        \
            T *restrict to = y + f * hop;                                                                              \
            for (int64_t j = 0; j < n; j++) to[j] += from[j];                                                          \
        }                                                                                                              \
    }
OVERLAP(float, overlap_f32)
OVERLAP(double, overlap_f64)

void wick_overlap_add_row(wick_ctype type, int64_t frames, int64_t n, int64_t hop, int64_t t, int64_t row,
                          const void *x, void *y) {
    (type == WICK_CF64 ? overlap_f64 : overlap_f32)(frames, n, hop, t, row, x, y);
}
