/* gemm_ref.h: the oracle: three loops, in the order of operations that every tier keeps (with multiply and add where
 * the others may fuse). Compiled into gemm_tier.c for tier ref, once per type. */
static void GEMM_NAME(rows)(const wick_gemm *g, int64_t begin, int64_t end, const void *av, const void *bv,
                            const void *biasv, void *cv) {
    const GEMM_T *a = av, *b = bv, *bias = biasv;
    GEMM_T *c = cv;
    for (int64_t i = begin; i < end; i++) {
        for (int64_t j = 0; j < g->n; j++) {
            GEMM_T total = g->accumulate ? c[i * g->c_row + j] : 0;
            for (int64_t k0 = 0; k0 < g->k; k0 += g->kc) {
                GEMM_T sum = 0;
                for (int64_t p = k0; p < WICK_MIN(g->k, k0 + g->kc); p++)
                    sum += a[i * g->a_row + p * g->a_col] * b[p * g->b_row + j * g->b_col];
                total = total + sum;
            }
            if (g->bias) total += bias[g->bias == 1 ? j : i];
            if (g->relu) total = total < 0 ? 0 : total;
            c[i * g->c_row + j] = total;
        }
    }
}
