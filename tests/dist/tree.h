/* tree.h: vectors of leaves, and their sum by the definition of the tree, the slow way. */
#ifndef WICK_TESTS_TREE_H
#define WICK_TESTS_TREE_H

#include <stdlib.h>

#include "test.h"

/* Numbers of many magnitudes, whose sum depends on the order in which they are added. */
static inline void fill_leaf(float *v, size_t n, int leaf, int step) {
    uint64_t x = (uint64_t)leaf * 0x9E3779B97F4A7C15u + (uint64_t)step * 77 + 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        v[i] = ldexpf((float)((int64_t)(x >> 40) - (1 << 23)), (int)(x >> 33 & 15) - 30);
    }
}

/* node (lo, hi) = node (lo, mid) + node (mid, hi) */
static inline void tree_of_leaves(float *out, size_t n, int lo, int hi, int step) {
    if (hi - lo == 1) {
        fill_leaf(out, n, lo, step);
        return;
    }
    float *right = malloc((n + 1) * sizeof *right);
    tree_of_leaves(out, n, lo, lo + (hi - lo) / 2, step);
    tree_of_leaves(right, n, lo + (hi - lo) / 2, hi, step);
    for (size_t i = 0; i < n; i++) {
        const volatile float sum = out[i] + right[i];
        out[i] = sum;
    }
    free(right);
}

#endif
