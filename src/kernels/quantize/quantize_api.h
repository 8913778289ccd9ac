/* quantize_api.h: f32 numbers as bytes by their own range, as ONNX's DynamicQuantizeLinear has it.
 *
 *     low = min(x, 0), high = max(x, 0), without NaN      scale = (high - low) / 255, or 1 where they are equal
 *     zero = round(-low / scale) held to 0..255           q = round(x / scale) + zero held to 0..255; of NaN 0
 *
 * in f32, each step rounded, to whole numbers half to even. Of several stages the first finds what each task's part
 * ranges over; partials: bytes that they share. */
#ifndef WICK_KERNELS_QUANTIZE_API_H
#define WICK_KERNELS_QUANTIZE_API_H

#include "kernels/types.h"

typedef struct wick_ranging {
    int64_t n;

    /* filled by wick_ranging_prepare */
    int stages;
    int64_t tasks, part; /* of each stage; elements of one */
    size_t partials;
} wick_ranging;
void wick_ranging_prepare(wick_ranging *r);
/* The last stage's tasks [begin, end) write their parts of q; the first of all writes scale and zero. */
void wick_ranging_run(const wick_ranging *r, int stage, int64_t begin, int64_t end, const float *x, uint8_t *q,
                      float *scale, uint8_t *zero, float *partials);

#endif
