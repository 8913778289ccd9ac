/* planes.c: values put to places of a plane and taken from there; windows that slid over an axis put back. Bound by
 * memory: one version serves every tier. */
#include "kernels/index/index_api.h"

static inline bool is_inside(int64_t at, int64_t extent) { return (uint64_t)at < (uint64_t)extent; }

int64_t wick_plane_put(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t extent, const void *x,
                       const int64_t *index, void *y) {
    int64_t bad = -1;
    for (int64_t p = begin; p < end; p++) {
        const char *from = (const char *)x + (size_t)(p * n) * elem;
        char *to = (char *)y + (size_t)(p * extent) * elem;
        const int64_t *at = index + p * n;
        memset(to, 0, (size_t)extent * elem);
        for (int64_t i = 0; i < n; i++) {
            if (is_inside(at[i], extent))
                memcpy(to + (size_t)at[i] * elem, from + (size_t)i * elem, elem);
            else if (bad < 0)
                bad = p * n + i;
        }
    }
    return bad;
}

int64_t wick_plane_take(size_t elem, int64_t begin, int64_t end, int64_t n, int64_t extent, const void *y,
                        const int64_t *index, void *x, int64_t *scratch) {
    int64_t bad = -1;
    for (int64_t p = begin; p < end; p++) {
        const char *from = (const char *)y + (size_t)(p * extent) * elem;
        char *to = (char *)x + (size_t)(p * n) * elem;
        const int64_t *at = index + p * n;
        for (int64_t i = 0; i < n; i++) /* who was there last; what is not in the index is not read either */
            if (is_inside(at[i], extent)) scratch[at[i]] = i;
        for (int64_t i = 0; i < n; i++) {
            if (is_inside(at[i], extent) && scratch[at[i]] == i)
                memcpy(to + (size_t)i * elem, from + (size_t)at[i] * elem, elem);
            else
                memset(to + (size_t)i * elem, 0, elem);
            if (!is_inside(at[i], extent) && bad < 0) bad = p * n + i;
        }
    }
    return bad;
}

#define SUM_RUN(T)                                                                                                     \
    for (int64_t o = begin; o < end; o++) {                                                                            \
        const T *from = (const T *)x + o * w->count * w->inner * w->size;                                              \
        T *to = (T *)y + o * w->extent * w->inner;                                                                     \
        memset(to, 0, (size_t)(w->extent * w->inner) * sizeof(T));                                                     \
        for (int64_t c = 0; c < w->count; c++)                                                                         \
            for (int64_t i = 0; i < w->inner; i++, from += w->size)                                                    \
                for (int64_t k = 0; k < w->size; k++) to[(c * w->step + k * w->dilation) * w->inner + i] += from[k];   \
    }
void wick_window_sum_run(const wick_window_sum *w, int64_t begin, int64_t end, const void *x, void *y) {
    if (w->type == WICK_CF64) {
        SUM_RUN(double)
    } else {
        SUM_RUN(float)
    }
}
