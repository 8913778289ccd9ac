/* channel_gptq.c: weights of few bits with a scale for each channel, beside activations of 8 bits, by what the layer
 * took (gptq.c has those in blocks, and the source). Of a channel with weights w in floats and q in steps s, over all
 * places that its K numbers x were taken at:
 *
 *   E = (w - s q)^T H (w - s q),   H the sum of x x^T, of convolutions with what padding gives
 *   where the bias makes up for the mean of what changes: H less the outer product of sums over their number
 *
 * For each of some scales around that of least square error, GPTQ rounds one number after the other, those of the
 * largest mean square first; the scale of the least E counts. Then each number goes by whole steps to where E is least,
 * the others as they are, until none moves: E falls with each, so that it ends. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/ops.h"
#include "wick/shape.h"

#include <math.h>

enum { MOST_SWEEPS = 50 };
/* of the mean of H's diagonal: a convolution takes its numbers at so many places that H is known well */
static const double DAMPING = 0.001;
static const double SCALES[] = {1, 0.75, 0.8, 0.85, 0.9, 0.95, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4};

gram_extents wick_quantizer_gram_extents(const layer *l) {
    if (l->op != &wick_op_conv) return (gram_extents){.parts = 1, .k = l->type.dims[0]};
    return (gram_extents){.parts = WICK_MAX(l->parts, 1),
                          .k = wick_type_count(&l->type) / WICK_MAX(l->type.dims[0], 1)};
}

/* [parts, K, places] of a convolution: what each place takes, by one whose weights pick one number each. */
static wick_tensor *patches(const wick_node *node, const layer *l, wick_tensor *x) {
    const gram_extents e = wick_quantizer_gram_extents(l);
    int64_t dims[WICK_MAX_DIMS];
    wick_tensor *pick = wick_eye(x->ctx, WICK_F32, e.k, e.k, 0);
    pick = wick_expand(pick, 3, (const int64_t[]){e.parts, e.k, e.k});
    memcpy(dims, l->type.dims, sizeof dims);
    dims[0] = e.parts * e.k;
    wick_tensor *in[] = {x, wick_reshape(pick, l->type.rank, dims)};
    wick_tensor *taken = wick_record(NULL, node->op, 2, in, node->attr, node->attr_size);
    taken = wick_reshape(taken, 4, (const int64_t[]){node->in[0]->type.dims[0], e.parts, e.k, -1});
    taken = wick_permute(taken, 4, (const int[]){1, 2, 0, 3});
    return wick_reshape(taken, 3, (const int64_t[]){e.parts, e.k, -1});
}

wick_tensor *wick_quantizer_channel_gram(const wick_node *node, const layer *l, wick_tensor *x) {
    const gram_extents e = wick_quantizer_gram_extents(l);
    wick_tensor *taken = node->op == &wick_op_conv
                             ? patches(node, l, x)
                             : wick_reshape(wick_transpose(wick_reshape(x, 2, (const int64_t[]){-1, e.k}), 0, 1), 3,
                                            (const int64_t[]){1, e.k, -1});
    /* a row of ones, whose products are sums and their number */
    wick_tensor *ones = wick_expand(wick_like(taken, 1), 3, (const int64_t[]){e.parts, 1, wick_tensor_dim(taken, 2)});
    taken = wick_concat(2, (wick_tensor *[]){taken, ones}, 1);
    return wick_matmul(taken, wick_transpose(taken, 1, 2));
}

typedef struct rounding {
    int64_t k;
    const double *u; /* of gptq.c, and H, both in the order of rounding */
    double *h;
    int64_t *order;
    double *w, *hd; /* weights as they are rounded; H times what they differ by from the floats */
    double *q, *best;
    double most;
} rounding;

/* Rounds r->w into r->q by steps s; E, damped. */
static double round_in_turn(const rounding *r, double s) {
    double sum = 0;
    for (int64_t i = 0; i < r->k; i++) {
        const double *u = r->u + i * r->k;
        r->q[i] = fmin(fmax(rint(r->w[i] / s), -r->most), r->most);
        const double error = (r->w[i] - r->q[i] * s) / u[i];
        sum += error * error;
        for (int64_t j = i + 1; j < r->k; j++) r->w[j] -= error * u[j];
    }
    return sum;
}
/* Moves each number to where E is least. w are the floats. */
static void settle(const rounding *r, double s) {
    for (int64_t j = 0; j < r->k; j++) r->hd[j] = 0;
    for (int64_t i = 0; i < r->k; i++)
        for (int64_t j = 0; j < r->k; j++) r->hd[j] += r->h[i * r->k + j] * (r->w[i] - s * r->best[i]);
    bool moved = true;
    for (int sweep = 0; moved && sweep < MOST_SWEEPS; sweep++) {
        moved = false;
        for (int64_t i = 0; i < r->k; i++) {
            const double *h = r->h + i * r->k, steps = rint(r->hd[i] / (h[i] * s)),
                         to = fmin(fmax(r->best[i] + steps, -r->most), r->most), by = to - r->best[i];
            /* what E changes by */
            if (by == 0 || !(by * s * (by * s * h[i] - 2 * r->hd[i]) < 0)) continue;
            for (int64_t j = 0; j < r->k; j++) r->hd[j] -= h[j] * by * s;
            r->best[i] = to;
            moved = true;
        }
    }
}

/* H of a part in the order of rounding, largest mean squares first; damped as its factor is. */
static wick_status order_part(wick_quantizer *q, const layer *l, int64_t part, bool centred, rounding *r) {
    const int64_t k = r->k, wide = k + 1;
    const double *gram = l->gram + part * wide * wide, *sums = gram + k * wide, n = sums[k];
    for (int64_t i = 0; i < k; i++) {
        int64_t at = i;
        const double own = gram[i * wide + i];
        for (; at > 0 && gram[r->order[at - 1] * wide + r->order[at - 1]] < own; at--) r->order[at] = r->order[at - 1];
        r->order[at] = i;
    }
    for (int64_t i = 0; i < k; i++)
        for (int64_t j = 0; j < k; j++) {
            const int64_t a = r->order[i], b = r->order[j];
            r->h[i * k + j] = gram[a * wide + b] - (centred && n > 0 ? sums[a] * sums[b] / n : 0);
        }
    return wick_quantizer_factor(q->ctx, r->h, k, DAMPING, &r->u);
}

static void round_channel(const layer *l, int64_t c, double lowest, const rounding *r, float *scale, int8_t *bytes) {
    const float first = *scale;
    double least = INFINITY;
    for (size_t t = 0; t < WICK_COUNTOF(SCALES); t++) {
        const float s = first * (float)SCALES[t];
        if (t && (double)s < lowest) continue;
        for (int64_t i = 0; i < r->k; i++) r->w[i] = (double)l->weights[wick_quantizer_place(l, c, r->order[i])];
        const double error = round_in_turn(r, (double)s);
        if (t && !(error < least)) continue;
        least = error, *scale = s;
        memcpy(r->best, r->q, (size_t)r->k * sizeof *r->q);
    }
    for (int64_t i = 0; i < r->k; i++) r->w[i] = (double)l->weights[wick_quantizer_place(l, c, r->order[i])];
    settle(r, (double)*scale);
    for (int64_t i = 0; i < r->k; i++) bytes[wick_quantizer_place(l, c, r->order[i])] = (int8_t)r->best[i];
}

wick_status wick_quantizer_round_channels(wick_quantizer *q, const layer *l, float *scale, int8_t *bytes, bool *done) {
    wick_context *ctx = q->ctx;
    const gram_extents e = wick_quantizer_gram_extents(l);
    const int64_t channels = l->type.dims[l->axis], each = channels / e.parts;
    const size_t size = (size_t)(e.k * e.k + 5 * e.k + 1) * sizeof(double);
    double *memory = wick_alloc(&ctx->alloc, size);
    *done = false;
    if (!memory) return out_of_memory(ctx);
    rounding r = {.k = e.k, .h = memory, .most = most_weight(l)};
    r.w = r.h + e.k * e.k, r.hd = r.w + e.k, r.q = r.hd + e.k, r.best = r.q + e.k;
    r.order = (int64_t *)(r.best + e.k);
    wick_status status = WICK_OK;
    for (int64_t part = 0; part < e.parts && status == WICK_OK; part++) {
        wick_scope *scope = wick_scope_open(ctx);
        status = scope ? order_part(q, l, part, wick_quantizer_corrects(q, l), &r) : out_of_memory(ctx);
        for (int64_t c = part * each; c < (part + 1) * each && status == WICK_OK; c++)
            round_channel(l, c, fmax(wick_quantizer_least_scale(q, l, c), 0x1p-120), &r, &scale[c], bytes);
        wick_scope_close(&scope);
    }
    wick_release(&ctx->alloc, memory, size);
    *done = status == WICK_OK;
    return status == WICK_ERR_INVALID ? WICK_OK : status; /* rounded to nearest, then */
}
