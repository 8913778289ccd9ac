/* conv.h: the seam between the control flow of convolutions (conv.c) and the kernels of a tier (conv_tier.c). Products
 * are those of gemm.h; those of each channel on its own (depthwise.h) have none. */
#ifndef WICK_KERNELS_CONV_CONV_H
#define WICK_KERNELS_CONV_CONV_H

#include "kernels/conv/depthwise.h"
#include "kernels/conv/few_channels.h"
#include "kernels/conv/winograd.h"

/* Size of a task in multiply-adds, about: TASK_WORK is 20 to 30 us of one core with AVX-512. A convolution that has
 * fewer than TASKS tasks of that size is cut finer, into parts of the image, so that threads find in their own caches
 * what they made before. A part has at least PART multiply-adds, counting ELEMENT for each element read or written,
 * since it may come from another core's cache. Where weights are most of what is read, a part of the image has at least
 * LEAST_WORK, and a part of the output channels LEAST_PART. */
enum {
    WICK_CONV_TASK_WORK = 3200000,
    WICK_CONV_TASKS = 4,
    WICK_CONV_PART = 140000,
    WICK_CONV_ELEMENT = 8,
    WICK_CONV_LEAST_WORK = 580000,
    WICK_CONV_LEAST_PART = 80000
};

/* Parts of an image; a power of two, so that two threads have as much to do each. */
static inline int64_t wick_conv_parts(double work, double elements) {
    const double all = work + elements * WICK_CONV_ELEMENT;
    return all >= 2 * WICK_CONV_TASKS * WICK_CONV_PART ? WICK_CONV_TASKS : all >= 2 * WICK_CONV_PART ? 2 : 1;
}

/* One dim: output j reads tap number t, which is tap0 + t * tap_step in the kernel, at source coordinate lo + j * step
 * + t * tap_at, and lies at dst0 + j * dst_step. */
typedef struct wick_conv_axis {
    int64_t lo, step, count;
    int64_t taps, tap0, tap_step, tap_at;
    int64_t dst0, dst_step;
} wick_conv_axis;
wick_conv_axis wick_conv_axis_of(const wick_convolution *c, int d, int64_t phase);

typedef struct wick_conv_kernel {
    const char *names[5]; /* by what; forward and data by Winograd's algorithm */
    int elem;             /* bytes of an element */
    void (*values)(const wick_depthwise_run_of *r);
    void (*row)(const wick_depthwise_row_of *r);
    bool threes; /* row() has a way for three taps a row */
    void (*row_dots)(const wick_depthwise_row_of *r); /* with threes */
    void (*dots)(const wick_depthwise_run_of *r);
    const wick_winograd_kernels *winograd; /* f32 only; NULL: there are none */
    const wick_few_channels_kernels *few;           /* the same */
    /* The reference: output channels (for DATA input channels) [begin, end) of all images, or of the weights. Then the
     * rest is unused. */
    void (*direct)(const wick_convolution *c, int64_t begin, int64_t end, const void *a, const void *b,
                   const void *bias, void *dst);
} wick_conv_kernel;

typedef struct wick_conv_kernels {
    wick_conv_kernel type[2]; /* f32, f64 */
} wick_conv_kernels;

extern const wick_conv_kernels wick_conv_kernels_ref, wick_conv_kernels_base, wick_conv_kernels_avx2,
    wick_conv_kernels_avx512;

#endif
