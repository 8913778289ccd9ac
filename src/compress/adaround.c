/* adaround.c: weights of 4 bits that are rounded up or down as changes the results of their layer least (Nagel et al.
 * 2020, "Up or Down? Adaptive Rounding for Post-Training Quantization", eq. 21 to 25). With w / s = f + r, f whole and
 * r from 0 to below 1, the rounded weight is s (f + h(v)):
 *
 *   h(v) = clip(1.2 sigmoid(v) - 0.1, 0, 1)
 *   least (1 / n) tr(d^T H d) + l sum (1 - |2 h(v) - 1|^b),   d = w - s (f + h(v)), H the sum of x x^T over n inputs
 *
 * by Adam over v, which begins where h(v) = r. b falls from 20 to 2, and the second sum counts after the first fifth of
 * the steps. H says all that inputs say of d, so that no input is kept: what it takes doesn't grow with the images.
 * Here the first sum is over that of rounding to nearest, and l over the number of weights, so that neither depends on
 * the units of a layer. Scales are wick_quantize_blocks's. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "exec/exec.h"
#include "wick/quantize.h"

#include <math.h>

enum { STEPS = 500 };
static const double RATE = 0.02, WEIGHT = 0.5, FREE = 0.2;

typedef struct rounding {
    int64_t K, N, block, blocks;
    const float *w;
    const double *h;
    float *scale;                /* by [k, n] */
    float *floor_of, *v, *m, *u; /* Adam's moments of v */
    float *d, *hd;
    float *gram;
} rounding;

/* H d. */
static wick_status record_product(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_matmul(in[0], in[1]);
    return WICK_OK;
}

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }
static double up(double v) { return fmin(fmax(1.2 * sigmoid(v) - 0.1, 0), 1); }
static double held(const rounding *r, int64_t i, double h) {
    return fmin(fmax((double)r->floor_of[i] + h, -8), 7) * (double)r->scale[i];
}
/* d of weights that are rounded to nearest, or as v says. */
static void differences(const rounding *r, bool nearest) {
    for (int64_t i = 0; i < r->K * r->N; i++) {
        const double s = (double)r->scale[i], w = (double)r->w[i];
        const double h = !nearest ? up((double)r->v[i]) : s != 0 ? rint(w / s) - (double)r->floor_of[i] : 0;
        r->d[i] = (float)(w - held(r, i, h));
    }
}
static double error_of(const rounding *r) {
    double sum = 0;
    for (int64_t i = 0; i < r->K * r->N; i++) sum += (double)r->d[i] * (double)r->hd[i];
    return sum;
}
static void step(const rounding *r, int t, double unit) {
    const double part = (double)t / STEPS, regular = part < FREE ? 0 : WEIGHT,
                 b = 2 + 18 * (0.5 * (1 + cos(3.14159265358979323846 * fmax(0, (part - FREE) / (1 - FREE)))));
    const double bias1 = 1 - pow(0.9, t + 1), bias2 = 1 - pow(0.999, t + 1), n = (double)(r->K * r->N);
    for (int64_t i = 0; i < r->K * r->N; i++) {
        const double sig = sigmoid((double)r->v[i]), raw = 1.2 * sig - 0.1, h = fmin(fmax(raw, 0), 1);
        const double slope = raw > 0 && raw < 1 ? 1.2 * sig * (1 - sig) : 0, far = 2 * h - 1;
        const bool inside = (double)r->floor_of[i] + h > -8 && (double)r->floor_of[i] + h < 7;
        const double of_h = (inside ? -2 * (double)r->hd[i] * (double)r->scale[i] / unit * n : 0) -
                            regular * 2 * b * copysign(pow(fabs(far), b - 1), far);
        const double g = of_h * slope;
        r->m[i] = (float)(0.9 * (double)r->m[i] + 0.1 * g);
        r->u[i] = (float)(0.999 * (double)r->u[i] + 0.001 * g * g);
        r->v[i] -= (float)(RATE * ((double)r->m[i] / bias1) / (sqrt((double)r->u[i] / bias2) + 1e-8));
    }
}

static wick_status search(wick_quantizer *q, const rounding *r, bool *gains) {
    wick_plan *plan = NULL;
    wick_workspace *workspace = NULL;
    const wick_spec specs[] = {{.dtype = WICK_F32, .rank = 2, .dims = {r->K, r->K}},
                               {.dtype = WICK_F32, .rank = 2, .dims = {r->K, r->N}}};
    const void *in[] = {r->gram, r->d};
    void *out[] = {r->hd};
    wick_status status = wick_compile(q->ctx, record_product, NULL, 2, specs, 1, NULL, &plan);
    if (status == WICK_OK) status = wick_workspace_new(plan, &workspace);
    differences(r, true);
    if (status == WICK_OK) status = wick_run(workspace, in, out);
    const double unit = status == WICK_OK ? error_of(r) : 0;
    for (int t = 0; t < STEPS && status == WICK_OK && unit > 0; t++) {
        differences(r, false);
        status = wick_run(workspace, in, out);
        if (status == WICK_OK) step(r, t, unit);
    }
    /* as they are rounded in the end */
    for (int64_t i = 0; i < r->K * r->N; i++) r->v[i] = up((double)r->v[i]) >= 0.5 ? 1e3f : -1e3f;
    differences(r, false);
    if (status == WICK_OK) status = wick_run(workspace, in, out);
    *gains = status == WICK_OK && error_of(r) < unit;
    wick_workspace_free(&workspace);
    wick_plan_free(&plan);
    return status;
}

wick_status wick_quantizer_adaround(wick_quantizer *q, const layer *l, wick_tensor **made, wick_tensor **scales) {
    wick_context *ctx = q->ctx;
    rounding r = {.K = l->type.dims[0], .N = l->type.dims[1], .block = q->options.block, .w = l->weights, .h = l->gram};
    r.blocks = (r.K + r.block - 1) / r.block;
    const int64_t n = r.K * r.N;
    const size_t n_bytes = (size_t)(r.N * r.blocks * r.block / 2),
                 size = (size_t)(7 * n + r.K * r.K) * sizeof(float) + n_bytes;
    const void *data;
    wick_tensor *w = wick_transpose(wick_from(ctx, WICK_F32, 2, l->type.dims, l->weights), 0, 1), *block_scales,
                *nearest = wick_quantize_blocks(w, r.block, &block_scales, NULL);
    WICK_TRY(wick_eval(ctx, 2, (wick_tensor *[]){nearest, block_scales}, NULL));
    WICK_TRY(wick_data(block_scales, &data));
    float *memory = wick_calloc(&ctx->alloc, size);
    if (!memory) return out_of_memory(ctx);
    r.scale = memory, r.floor_of = r.scale + n, r.v = r.floor_of + n, r.m = r.v + n, r.u = r.m + n, r.d = r.u + n;
    r.hd = r.d + n, r.gram = r.hd + n;
    uint8_t *bytes = (uint8_t *)(r.gram + r.K * r.K);
    for (int64_t i = 0; i < r.K * r.K; i++) r.gram[i] = (float)r.h[i];
    for (int64_t i = 0; i < n; i++) {
        const float s = r.scale[i] = ((const float *)data)[i % r.N * r.blocks + i / r.N / r.block];
        const double steps = s != 0 ? (double)r.w[i] / (double)s : 0, rest = steps - floor(steps);
        r.floor_of[i] = (float)floor(steps);
        const double inner = (fmin(fmax(rest, 1e-4), 1 - 1e-4) + 0.1) / 1.2;
        r.v[i] = (float)log(inner / (1 - inner));
    }
    bool gains;
    const wick_status status = search(q, &r, &gains);
    memset(bytes, 0x88, n_bytes);
    for (int64_t i = 0; i < n && gains; i++) {
        const int64_t k = i / r.N, at = i % r.N * r.blocks * r.block + k;
        const int number = (int)fmin(fmax((double)r.floor_of[i] + (r.scale[i] != 0 && r.v[i] > 0 ? 1 : 0), -8), 7) + 8;
        bytes[at / 2] = (uint8_t)(at % 2 ? (bytes[at / 2] & 0x0F) | number << 4 : (bytes[at / 2] & 0xF0) | number);
    }
    *made = gains ? wick_from(ctx, WICK_U8, 3, (const int64_t[]){r.N, r.blocks, r.block / 2}, bytes) : nearest;
    *scales = block_scales;
    wick_release(&ctx->alloc, memory, size);
    return status;
}
