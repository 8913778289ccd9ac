/* panels.c: control flow of products whose B becomes f32 panel by panel. */
#include "kernels/gemm/panels.h"
#include "kernels/gemm/gemm_tuning.h"

int64_t wick_gemm_panels_block(int64_t k) {
    return k ? WICK_ALIGN_UP(wick_ceil_div(k, wick_ceil_div(k, WICK_GEMM_KC)), 8) : 8;
}

void wick_gemm_panels_prepare(wick_gemm_panels *p, int64_t want) {
    p->tiles = wick_gemm_kernel_of(WICK_CF32);
    p->kc = wick_gemm_panels_block(p->k);
    const int64_t nr = p->tiles->nr, panels = wick_ceil_div(p->n, nr);
    /* tasks below one another make the same panels */
    int64_t across = WICK_MIN(panels, want),
            down = WICK_MIN(wick_ceil_div(want, across), wick_ceil_div(p->m, 4 * p->tiles->mr));
    across = WICK_MAX(across, wick_ceil_div(p->n, WICK_GEMM_NC));
    p->cols = wick_ceil_div(wick_ceil_div(p->n, across), nr) * nr;
    p->rows = wick_ceil_div(p->m, down);
    p->tasks = wick_ceil_div(p->n, p->cols) * wick_ceil_div(p->m, p->rows);
    p->scratch = (size_t)(WICK_MIN(p->kc, p->k) * nr) * sizeof(float);
}

typedef struct panels_data {
    const float *a, *bias;
    float *c, *panel;
    wick_gemm_panel_fn *make;
    const void *of;
} panels_data;

/* Rows [r0, r1) by columns [c0, c1). */
static void run_task(const wick_gemm_panels *p, const panels_data *d, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
    const wick_gemm_kernel *q = p->tiles;
    const int64_t tiles = wick_ceil_div(r1 - r0, wick_gemm_tile_rows(q, p->k)), height = (r1 - r0) / tiles,
                  taller = (r1 - r0) % tiles;
    int64_t k0 = 0;
    do { /* once for k = 0 */
        const int64_t k = WICK_MIN(p->kc, p->k - k0);
        const bool last = k0 + k >= p->k;
        for (int64_t col = c0; col < c1; col += q->nr) {
            const int64_t cols = WICK_MIN(q->nr, c1 - col);
            d->make(d->of, col, cols, k0, k, d->panel, q->nr);
            wick_gemm_tile t = {.k = k,
                                .a_row = p->k,
                                .a_col = 1,
                                .b = d->panel,
                                .b_row = q->nr,
                                .c_row = p->n,
                                .c_col = 1,
                                .cols = cols,
                                .add = k0 > 0,
                                .bias = d->bias ? d->bias + col : NULL,
                                .bias_mode = d->bias && last,
                                .from_dram = wick_gemm_c_is_far(p->m * p->n * (int64_t)sizeof(float))};
            wick_gemm_tile_fn *const *const by_rows =
                q->tiles + (cols <= q->lanes ? 0 : wick_ceil_div(cols, q->lanes) - 1) * q->mr - 1;
            for (int64_t i = 0, row = r0, rows; i < tiles; i++, row += rows) {
                rows = height + (i < taller);
                t.a = d->a + row * p->k + k0;
                t.c = d->c + row * p->n + col;
                by_rows[rows](&t);
            }
        }
        k0 += k;
    } while (k0 < p->k);
}

void wick_gemm_panels_run(const wick_gemm_panels *p, int64_t begin, int64_t end, const float *a, const float *bias,
                          float *c, wick_gemm_panel_fn *make, const void *of, float *panel) {
    const panels_data d = {a, bias, c, panel, make, of};
    const int64_t across = wick_ceil_div(p->n, p->cols);
    for (int64_t t = begin; t < end; t++) {
        const int64_t r0 = t / across * p->rows, c0 = t % across * p->cols;
        run_task(p, &d, r0, WICK_MIN(p->m, r0 + p->rows), c0, WICK_MIN(p->n, c0 + p->cols));
    }
}
