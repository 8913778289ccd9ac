/* hqq.c: weights of 4 bits by scales that fit most of a block's numbers well and leave out the few that are far off
 * (Badri and Shaji 2023, "Half-Quadratic Quantization of Large Machine Learning Models"): the least sum of |w - s q|^p,
 * p = 0.7, by turns of
 *
 *   e = shrink(w - s q, b), shrink(x, b) = sign(x) max(0, |x| - |x|^(p - 1) / b)      what is left out
 *   s = sum of (w - e) q / sum of q^2                                                  least squares of the rest
 *   q = round(w / s), held to -8..7
 *
 * with b growing. They solve for the zero point, a real number; those of the format here are whole, and it has none
 * where it is symmetric, so that the scale is what is solved for. The turn of the least sum counts, the first being
 * wick_quantize_blocks's. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/quantize.h"

#include <math.h>

enum { TURNS = 20 };
static const double P = 0.7, FIRST_B = 10, GROWTH = 1.01;

static double steps_of(double w, double scale) { return fmin(fmax(scale != 0 ? rint(w / scale) : 0, -8), 7); }

/* The best scale of n weights that are `stride` apart. */
static float best_scale(const float *w, int64_t n, int64_t stride, double *relative) {
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (fabs((double)w[i * stride]) > fabs(most)) most = (double)w[i * stride];
    const double unit = most / -8;
    double scale = 1, best = 1, least = INFINITY, b = FIRST_B;
    if (most == 0) return 0;
    for (int64_t i = 0; i < n; i++) relative[i] = (double)w[i * stride] / unit; /* in steps, which b is for */
    for (int turn = 0; turn <= TURNS && scale > 0; turn++, b *= GROWTH) {
        double sum = 0, up = 0, down = 0;
        for (int64_t i = 0; i < n; i++) {
            const double q = steps_of(relative[i], scale), x = relative[i] - scale * q, size = fabs(x);
            const double left = size > 0 ? copysign(fmax(0, size - pow(size, P - 1) / b), x) : 0;
            sum += pow(size, P), up += (relative[i] - left) * q, down += q * q;
        }
        if (sum < least) least = sum, best = scale;
        scale = down > 0 ? up / down : 0;
    }
    return (float)(best * unit);
}

wick_status wick_quantizer_hqq(wick_quantizer *q, const layer *l, wick_tensor **made, wick_tensor **scales) {
    wick_context *ctx = q->ctx;
    const int64_t K = l->type.dims[0], N = l->type.dims[1], block = q->options.block, blocks = (K + block - 1) / block;
    const size_t n_bytes = (size_t)(N * blocks * block / 2), n_scales = (size_t)(N * blocks) * sizeof(float),
                 size = (size_t)block * sizeof(double) + n_scales + n_bytes + 1;
    char *memory = wick_alloc(&ctx->alloc, size);
    if (!memory) return out_of_memory(ctx);
    double *relative = (double *)memory;
    float *scale = (float *)(relative + block);
    uint8_t *bytes = (uint8_t *)scale + n_scales;
    memset(bytes, 0x88, n_bytes);
    for (int64_t j = 0; j < N; j++)
        for (int64_t b = 0; b < blocks; b++) {
            const int64_t from = b * block, n = WICK_MIN(block, K - from);
            const float s = scale[j * blocks + b] = best_scale(l->weights + from * N + j, n, N, relative);
            for (int64_t k = 0; k < n; k++) {
                const int held = (int)steps_of((double)l->weights[(from + k) * N + j], (double)s) + 8;
                uint8_t *byte = &bytes[((j * blocks + b) * block + k) / 2];
                *byte = (uint8_t)(k % 2 ? (*byte & 0x0F) | held << 4 : (*byte & 0xF0) | held);
            }
        }
    *made = wick_from(ctx, WICK_U8, 3, (const int64_t[]){N, blocks, block / 2}, bytes);
    *scales = wick_from(ctx, WICK_F32, 2, (const int64_t[]){N, blocks}, scale);
    wick_release(&ctx->alloc, memory, size);
    return WICK_OK;
}
