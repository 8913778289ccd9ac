/* int4.c: control flow of products with weights of 4 bits: how C is cut into tasks, and what becomes f32 when. */
#include "kernels/gemm/gemm_tuning.h"
#include "kernels/int4/int4.h"
#include "kernels/tuning.h"

/* Columns of a task at least, where there are few rows. */
enum { INT4_COLUMNS = 64 };

static const wick_int4_kernel *const int4_tiers[WICK_TIER_COUNT] = {WICK_TIER_ENTRIES(&wick_int4_kernel)};

static int64_t lanes_of_a_row(const wick_int4 *p) { return (int64_t)WICK_ALIGN_UP(p->k, 8 * p->kernel->lanes); }

/* Why one pass over the weights is not taken; NULL: it is. */
static const char *few_refused(const wick_int4 *p) {
    if (p->f64) return "x is f64, which goes element by element";
    return p->m <= WICK_INT4_FEW ? NULL : "there are more rows: panels of weights become f32";
}

int wick_int4_rejected(const wick_int4 *p, wick_rejected *out) {
    if (p->kernel->columns || !p->tasks || !few_refused(p)) return 0;
    out[0] = (wick_rejected){"one pass over the weights for few rows", few_refused(p)};
    return 1;
}

void wick_int4_prepare(wick_int4 *p, const wick_tuning *tuning) {
    p->kernel = int4_tiers[wick_tier_current()];
    p->tasks = 0;
    p->scratch = 0;
    p->cols = p->n;
    /* As f32 weights are cut, so that many rows have the bits of such. */
    p->kc = wick_gemm_panels_block(p->k);
    if (!p->m || !p->n) return;
    const double work = (double)p->m * (double)p->n * (double)(p->k + 8),
                 task = (double)wick_tuning_or_default(tuning)->gemm_task_work;
    int64_t want = work >= WICK_GEMM_MAX_TASKS * task ? WICK_GEMM_MAX_TASKS : 1 + (int64_t)(work / task);
    if (p->f64 || p->kernel->columns || !few_refused(p)) {
        p->cols = WICK_MAX(wick_ceil_div(p->n, want), WICK_MIN(p->n, INT4_COLUMNS));
        p->tasks = wick_ceil_div(p->n, p->cols);
        if (!p->f64 && !p->kernel->columns) p->scratch = (size_t)(p->m * lanes_of_a_row(p)) * sizeof(float);
        return;
    }
    p->panels = (wick_gemm_panels){.m = p->m, .n = p->n, .k = p->k};
    wick_gemm_panels_prepare(&p->panels, want);
    p->tasks = p->panels.tasks;
    p->scratch = p->panels.scratch;
}

const char *wick_int4_name(const wick_int4 *p) { return p->f64 ? "int4_f64" : p->kernel->names[p->m > WICK_INT4_FEW]; }

static void lay_out(const wick_int4 *p, const float *a, float *lanes) {
    const int64_t width = p->kernel->lanes, padded = lanes_of_a_row(p);
    for (int64_t i = 0; i < p->m; i++, lanes += padded) {
        const float *from = a + i * p->k;
        int64_t at = 0;
        for (; at + 8 * width <= p->k; at += 8 * width)
            for (int64_t s = 0; s < 8; s++)
                for (int64_t j = 0; j < width; j++) lanes[at + s * width + j] = from[at + 8 * j + s];
        for (int64_t s = 0; s < 8 && at < padded; s++)
            for (int64_t j = 0; j < width; j++)
                lanes[at + s * width + j] = at + 8 * j + s < p->k ? from[at + 8 * j + s] : 0;
    }
}

static void run_f64(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1) {
    const int64_t blocks = wick_int4_blocks(p);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = c0; j < c1; j++) {
            const uint8_t *q = d->q + j * blocks * p->block / 2,
                          *zeros = d->zeros ? d->zeros + j * ((blocks + 1) / 2) : NULL;
            const double *a = (const double *)d->a + i * p->k, *bias = d->bias;
            double sum = 0;
            for (int64_t at = 0; at < p->k; at++) {
                const float w = (float)(wick_int4_at(q, at) - (zeros ? wick_int4_at(zeros, at / p->block) : 8)) *
                                d->scales[j * blocks + at / p->block];
                sum += a[at] * (double)w;
            }
            ((double *)d->c)[i * p->n + j] = bias ? sum + bias[j] : sum;
        }
}

typedef struct made_of {
    const wick_int4 *p;
    const wick_int4_data *d;
} made_of;
static void make_panel(const void *of, int64_t c0, int64_t cols, int64_t p0, int64_t k, float *dst, int64_t dst_row) {
    const made_of *m = of;
    m->p->kernel->panel(m->p, m->d, c0, cols, p0, k, dst, dst_row);
}

void wick_int4_run(const wick_int4 *p, int64_t begin, int64_t end, const wick_int4_data *d, void *scratch) {
    if (p->f64) {
        run_f64(p, d, begin * p->cols, WICK_MIN(p->n, end * p->cols));
        return;
    }
    if (p->kernel->columns || !few_refused(p)) {
        const int64_t c0 = begin * p->cols, c1 = WICK_MIN(p->n, end * p->cols);
        if (p->kernel->columns) {
            p->kernel->columns(p, d, c0, c1);
            return;
        }
        lay_out(p, d->a, scratch);
        p->kernel->few[p->m - 1](p, d, c0, c1, scratch);
        return;
    }
    wick_gemm_panels_run(&p->panels, begin, end, d->a, d->bias, d->c, make_panel, &(made_of){p, d}, scratch);
}

void wick_int4_dequantize(const wick_int4 *p, int64_t begin, int64_t end, const wick_int4_data *d) {
    const int64_t blocks = wick_int4_blocks(p);
    for (int64_t row = begin; row < end; row++) {
        const uint8_t *q = d->q + row * blocks * p->block / 2,
                      *zeros = d->zeros ? d->zeros + row * ((blocks + 1) / 2) : NULL;
        float *to = (float *)d->c + row * p->k;
        for (int64_t g = 0; g < blocks; g++) {
            const float scale = d->scales[row * blocks + g];
            const int zero = zeros ? wick_int4_at(zeros, g) : 8;
            for (int64_t i = g * p->block; i < WICK_MIN(p->k, (g + 1) * p->block); i++)
                to[i] = (float)(wick_int4_at(q, i) - zero) * scale;
        }
    }
}
