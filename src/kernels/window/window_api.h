/* window_api.h: pooling of f32 and f64: contiguous planes, or images with channels last, of three dims
 * (leading ones 1).
 *
 * Output o of a dim looks at inputs o * stride - pad + k * dilation, k < kernel, those that exist; adaptive: at
 * [floor(o * in / out), ceil((o + 1) * in / out)). NaN is the largest. Each function runs planes or images [begin,
 * end). */
#ifndef WICK_KERNELS_WINDOW_API_H
#define WICK_KERNELS_WINDOW_API_H

#include "kernels/types.h"

typedef struct wick_windows {
    wick_ctype type;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pad[3], pad_end[3];
    bool adaptive;
    bool inside;      /* averages are over inputs that exist, not over padding too */
    bool from_dram;   /* images come from memory: the next are asked for */
    int64_t channels; /* of images that have them last; 0: planes of one */
} wick_windows;
size_t wick_windows_scratch(const wick_windows *w); /* bytes that each worker needs, for max and mean */
void wick_windows_max(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch);
void wick_windows_mean(const wick_windows *w, int64_t begin, int64_t end, const void *x, void *y, void *scratch);
/* With i the first of the largest in a window of x (the last NaN): y = v[i], and v[i] += y over zeros. */
void wick_windows_pick(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *v, void *y);
/* on this tier: y is written to v, and not added to zeros: the sign of a zero stays */
bool wick_windows_put_copies(const wick_windows *w);
void wick_windows_put(const wick_windows *w, int64_t begin, int64_t end, const void *x, const void *y, void *v);
/* y = i, in its plane; planes only; -1: none */
void wick_windows_index(const wick_windows *w, int64_t begin, int64_t end, const void *x, int64_t *y);
/* The transpose of mean: every input gets the sum of y / count of its windows. */
void wick_windows_share(const wick_windows *w, int64_t begin, int64_t end, const void *y, void *v);
const char *wick_windows_name(const wick_windows *w, bool max);
int wick_windows_rejected(const wick_windows *w, bool max, wick_rejected *out);

#endif
