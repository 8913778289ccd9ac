/* elements.h: elements of f32 and f64 arrays as doubles. */
#ifndef WICK_TESTS_ELEMENTS_H
#define WICK_TESTS_ELEMENTS_H

#include "kernels/kernels.h"

static inline double get(wick_ctype t, const void *p, int64_t i) {
    return t == WICK_CF64 ? ((const double *)p)[i] : (double)((const float *)p)[i];
}
static inline void set(wick_ctype t, void *p, int64_t i, double v) {
    if (t == WICK_CF64)
        ((double *)p)[i] = v;
    else
        ((float *)p)[i] = (float)v;
}
static inline int64_t product(const int64_t x[3]) { return x[0] * x[1] * x[2]; }

#endif
