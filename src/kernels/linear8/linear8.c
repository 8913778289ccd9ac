/* linear8.c: control flow of products with weights of 8 bits: how they are packed and how C is cut into tasks. */
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/linear8/linear8.h"

enum {
    LINEAR8_COLUMNS = 64,         /* of a task at least, where there are few rows */
    LINEAR8_PACK_TASK = 256 << 10 /* bytes that a task packs, about */
};

static const wick_linear8_kernel *const tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_linear8_kernel)};

static bool is_few(const wick_linear8 *p) { return p->f64 || p->m <= WICK_LINEAR8_FEW || !p->kernel->panel; }

int wick_linear8_rejected(const wick_linear8 *p, wick_rejected *out) {
    if (!p->tasks || (is_few(p) && !p->f64)) return 0;
    out[0] = (wick_rejected){"one pass over the weights for few rows",
                             p->f64 ? "x is f64, which goes element by element"
                                    : "there are more rows: panels of weights become f32"};
    return 1;
}

static int64_t panels_of_a_task(const wick_linear8 *p) {
    return 1 + LINEAR8_PACK_TASK / (WICK_LINEAR8_PANEL * (p->k + 1));
}

void wick_linear8_prepare(wick_linear8 *p, const wick_tuning *tuning) {
    p->kernel = tiers[wick_tier_current()];
    p->tasks = p->tasks_pack = 0;
    p->scratch = p->packed = 0;
    p->cols = p->n;
    p->panels.kc = wick_gemm_panels_block(p->k); /* what prints C needs it on every tier */
    if (!p->m || !p->n) return;
    const size_t scales = (size_t)(wick_linear8_blocks(p) * wick_linear8_padded(p));
    p->packed = wick_linear8_scales_at(p) + scales * (sizeof(float) + p->has_zeros);
    p->tasks_pack = wick_ceil_div(wick_ceil_div(p->n, WICK_LINEAR8_PANEL), panels_of_a_task(p));
    const double work = (double)p->m * (double)p->n * (double)(p->k + 8),
                 task = (double)wick_tuning_or_default(tuning)->gemm_task_work;
    const int64_t want = work >= WICK_GEMM_MAX_TASKS * task ? WICK_GEMM_MAX_TASKS : 1 + (int64_t)(work / task);
    if (is_few(p)) {
        p->cols = (int64_t)WICK_ALIGN_UP((size_t)wick_ceil_div(p->n, want), LINEAR8_COLUMNS);
        p->tasks = wick_ceil_div(p->n, p->cols);
        return;
    }
    p->panels = (wick_gemm_panels){.m = p->m, .n = p->n, .k = p->k};
    wick_gemm_panels_prepare(&p->panels, want);
    p->tasks = p->panels.tasks;
    p->scratch = p->panels.scratch;
}

const char *wick_linear8_name(const wick_linear8 *p) { return p->f64 ? "linear8_f64" : p->kernel->names[!is_few(p)]; }

static void pack_panel(const wick_linear8 *p, int64_t c0, const uint8_t *q, const float *scales, const uint8_t *zeros,
                       char *packed) {
    const int64_t blocks = wick_linear8_blocks(p), width = WICK_MIN(WICK_LINEAR8_PANEL, p->n - c0),
                  padded = wick_linear8_padded(p);
    const uint8_t flip = p->is_unsigned ? 128 : 0; /* x ^ 128 is x - 128 as i8 */
    uint8_t *to = (uint8_t *)packed + c0 * p->k;
    float *scale = (float *)(void *)(packed + wick_linear8_scales_at(p)) + c0;
    uint8_t *zero = (uint8_t *)(packed + wick_linear8_scales_at(p)) + blocks * padded * (int64_t)sizeof(float) + c0;
    for (int64_t g = 0; g < blocks; g++, scale += padded, zero += padded) {
        const uint8_t *from = q + c0 * p->q_row + g * p->q_block;
        const int64_t end = WICK_MIN(p->block, p->k - g * p->block);
        for (int64_t i = 0; i < end; i++, to += width)
            for (int64_t j = 0; j < width; j++) to[j] = from[j * p->q_row + i * p->q_col] ^ flip;
        for (int64_t j = 0; j < WICK_LINEAR8_PANEL; j++) {
            scale[j] = j < width ? scales[(c0 + j) * blocks + g] : 0;
            if (p->has_zeros) zero[j] = j < width ? zeros[(c0 + j) * blocks + g] ^ flip : 0;
        }
    }
    if (c0 + width == p->n) memset((uint8_t *)packed + p->n * p->k, 0, WICK_LINEAR8_PANEL);
}

void wick_linear8_pack(const wick_linear8 *p, int64_t begin, int64_t end, const void *q, const float *scales,
                       const void *zeros, void *packed) {
    const int64_t each = panels_of_a_task(p) * WICK_LINEAR8_PANEL;
    for (int64_t c = begin * each; c < WICK_MIN(p->n, end * each); c += WICK_LINEAR8_PANEL)
        pack_panel(p, c, q, scales, zeros, packed);
}

typedef struct made_of {
    const wick_linear8 *p;
    const wick_linear8_data *d;
} made_of;
static void make_panel(const void *of, int64_t c0, int64_t cols, int64_t p0, int64_t k, float *dst, int64_t dst_row) {
    const made_of *m = of;
    m->p->kernel->panel(m->p, m->d, c0, cols, p0, k, dst, dst_row);
}

static void run_f64(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t c1) {
    const int64_t padded = wick_linear8_padded(p);
    const double *bias = d->bias;
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = c0; j < c1; j++) {
            int64_t step;
            const int8_t *q = wick_linear8_column(p, d->q, j, &step);
            const double *a = (const double *)d->a + i * p->k;
            double sum = 0;
            for (int64_t at = 0; at < p->k; at++) {
                const int64_t g = at / p->block * padded + j;
                const float w = (float)(q[at * step] - (d->zeros ? d->zeros[g] : 0)) * d->scales[g];
                sum += a[at] * (double)w;
            }
            ((double *)d->c)[i * p->n + j] = bias ? sum + bias[j] : sum;
        }
}

void wick_linear8_run(const wick_linear8 *p, int64_t begin, int64_t end, const void *a, const void *packed,
                      const void *bias, void *c, void *scratch) {
    const char *scales = (const char *)packed + wick_linear8_scales_at(p);
    const size_t n_scales = (size_t)(wick_linear8_blocks(p) * wick_linear8_padded(p));
    const wick_linear8_data d = {.a = a,
                                 .bias = bias,
                                 .scales = (const float *)(const void *)scales,
                                 .q = packed,
                                 .zeros = p->has_zeros ? (const int8_t *)(scales + n_scales * sizeof(float)) : NULL,
                                 .c = c};
    const int64_t c0 = begin * p->cols, c1 = WICK_MIN(p->n, end * p->cols);
    if (p->f64)
        run_f64(p, &d, c0, c1);
    else if (is_few(p))
        p->kernel->few[p->kernel->panel ? p->m - 1 : 0](p, &d, c0, c1);
    else
        wick_gemm_panels_run(&p->panels, begin, end, a, bias, c, make_panel, &(made_of){p, &d}, scratch);
}
