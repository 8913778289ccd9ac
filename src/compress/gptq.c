/* gptq.c: weights of 4 bits, where the rounding of one is made up for by those that are rounded after it (Frantar et
 * al. 2022, "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", algorithm 1):
 *
 *   H = sum of x x^T over the inputs x that were observed; U the upper Cholesky factor of (H + damping)^-1
 *   for each row k of W [K, N], in order: e = (w_k - rounded w_k) / U_kk, and from each later row j e U_kj is taken
 *
 * which is the least change of x W that the rows to come allow. Scales are those of wick_quantize_blocks, of the rows
 * as they are when a block begins. */
#define WICK_NO_SITES
#include "compress/quantizer.h"
#include "wick/linalg.h"
#include "wick/shape.h"

#include <math.h>

/* ---- what is observed -------------------------------------------------------------------------------------------- */

wick_status wick_quantizer_record_grams(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    wick_quantizer *q = user;
    reading r;
    replay p;
    wick_status status = wick_replay_floats(&p, q, &r, ctx, in);
    for (int pass = 0; status == WICK_OK && pass < 2; pass++) {
        int n = 0;
        for (size_t i = 0; i < r.s.graph->n; i++) {
            const wick_value *v = r.s.graph->nodes[i]->in ? r.s.graph->nodes[i]->in[0] : NULL;
            if (r.layer[i] < 0 || !q->layers[r.layer[i]].gram) continue;
            if (!pass) {
                wick_replay_need(&p, v);
                continue;
            }
            wick_tensor *x = wick_reshape(p.made[v->id], 2, (const int64_t[]){-1, q->layers[r.layer[i]].type.dims[0]});
            out[n++] = wick_matmul(wick_transpose(x, 0, 1), x);
        }
        if (!pass) status = wick_replay_run(&p);
    }
    wick_subject_free(&r.s);
    return status;
}

size_t wick_quantizer_gram_count(const wick_quantizer *q, const layer *l) {
    const gram_extents e = wick_quantizer_gram_extents(l);
    const int64_t k = e.k + !is_int4(q);
    return (size_t)(e.parts * k * k);
}

void wick_quantizer_add_grams(wick_quantizer *q, int from) {
    for (int i = 0, n = from; i < q->n_layers; i++) {
        const layer *l = &q->layers[i];
        if (!l->gram) continue;
        const float *seen = q->seen[n++];
        for (size_t k = 0; k < wick_quantizer_gram_count(q, l); k++) l->gram[k] += (double)seen[k];
    }
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

wick_status wick_quantizer_factor(wick_context *ctx, double *h, int64_t k, double damping, const double **u) {
    double mean = 0, added = 0;
    for (int64_t i = 0; i < k; i++) mean += h[i * k + i] / (double)k;
    if (!isfinite(mean)) return WICK_ERR_INVALID;
    wick_status status = WICK_ERR_INVALID;
    for (; status == WICK_ERR_INVALID && damping < 1e3; damping *= 10) {
        const double by = mean > 0 ? damping * mean : 1;
        for (int64_t i = 0; i < k; i++) h[i * k + i] += by - added;
        added = by;
        wick_tensor *lower = wick_cholesky(wick_from(ctx, WICK_F64, 2, (const int64_t[]){k, k}, h), false);
        wick_tensor *inverse = wick_cholesky_solve(wick_eye(ctx, WICK_F64, k, k, 0), lower, false);
        const void *data = NULL;
        status = wick_data(wick_cholesky(inverse, true), &data);
        *u = data;
        for (int64_t i = 0; i < k && status == WICK_OK; i++)
            if (!((*u)[i * k + i] > 0) || !isfinite((*u)[i * k + i])) status = WICK_ERR_INVALID;
        if (status == WICK_ERR_INVALID) wick_context_clear_error(ctx);
    }
    return status;
}

/* Row `from` on, as far as the block goes: the number of largest magnitude of each column becomes 0 of 0..15. */
static void block_scales(const float *w, int64_t from, int64_t to, int64_t n, float *scale) {
    for (int64_t j = 0; j < n; j++) scale[j] = w[from * n + j];
    for (int64_t k = from + 1; k < to; k++)
        for (int64_t j = 0; j < n; j++)
            if (fabsf(w[k * n + j]) > fabsf(scale[j])) scale[j] = w[k * n + j];
    for (int64_t j = 0; j < n; j++) scale[j] /= -8;
}

static void round_rows(const layer *l, int64_t block, const double *u, float *w, float *scale, float *error,
                       uint8_t *bytes, float *scales) {
    const int64_t K = l->type.dims[0], N = l->type.dims[1], blocks = (K + block - 1) / block;
    for (int64_t k = 0; k < K; k++) {
        if (k % block == 0) {
            block_scales(w, k, WICK_MIN(k + block, K), N, scale);
            for (int64_t j = 0; j < N; j++) scales[j * blocks + k / block] = scale[j];
        }
        for (int64_t j = 0; j < N; j++) {
            const float value = w[k * N + j], steps = scale[j] != 0 ? rintf(value / scale[j]) + 8 : 8;
            const int held = (int)fminf(fmaxf(steps, 0), 15);
            bytes[(j * blocks * block + k) / 2] |= (uint8_t)(held << (k % 2 ? 4 : 0));
            error[j] = (value - (float)(held - 8) * scale[j]) / (float)u[k * K + k];
        }
        for (int64_t i = k + 1; i < K; i++) {
            const float part = (float)u[k * K + i];
            for (int64_t j = 0; j < N && part != 0; j++) w[i * N + j] -= part * error[j];
        }
    }
    /* what lies behind the last row of the last block is 0 */
    for (int64_t j = 0; j < N; j++)
        for (int64_t k = K; k < blocks * block; k++)
            bytes[(j * blocks * block + k) / 2] |= (uint8_t)(8 << (k % 2 ? 4 : 0));
}

wick_status wick_quantizer_gptq(wick_quantizer *q, const layer *l, wick_tensor **made, wick_tensor **scales) {
    wick_context *ctx = q->ctx;
    const int64_t K = l->type.dims[0], N = l->type.dims[1], block = q->options.block, blocks = (K + block - 1) / block;
    const double *u = NULL;
    *made = NULL;
    double *h = wick_alloc(&ctx->alloc, (size_t)(K * K) * sizeof *h);
    if (!h) return out_of_memory(ctx);
    memcpy(h, l->gram, (size_t)(K * K) * sizeof *h);
    const wick_status status = wick_quantizer_factor(ctx, h, K, 0.01, &u);
    wick_release(&ctx->alloc, h, (size_t)(K * K) * sizeof *h);
    if (status != WICK_OK) return status == WICK_ERR_INVALID ? WICK_OK : status; /* rounded as it is, then */
    const size_t n_bytes = (size_t)(N * blocks * block / 2), n_scales = (size_t)(N * blocks) * sizeof(float),
                 size = wick_type_bytes(&l->type) + n_bytes + n_scales + 2 * (size_t)N * sizeof(float);
    char *memory = wick_calloc(&ctx->alloc, size);
    if (!memory) return out_of_memory(ctx);
    float *w = (float *)memory, *scale = w + K * N, *error = scale + N, *all = error + N;
    uint8_t *bytes = (uint8_t *)all + n_scales;
    memcpy(w, l->weights, wick_type_bytes(&l->type));
    round_rows(l, block, u, w, scale, error, bytes, all);
    *made = wick_from(ctx, WICK_U8, 3, (const int64_t[]){N, blocks, block / 2}, bytes);
    *scales = wick_from(ctx, WICK_F32, 2, (const int64_t[]){N, blocks}, all);
    wick_release(&ctx->alloc, memory, size);
    return WICK_OK;
}
