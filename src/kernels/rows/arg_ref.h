/* arg_ref.h: argmax and argmin in plain C, the oracle; included once per type. */
static void ARG_NAME(reduce)(bool largest, int64_t n, int64_t inner, int64_t begin, int64_t end, const void *src,
                             int64_t *dst) {
    for (int64_t o = begin; o < end; o++)
        for (int64_t l = 0; l < inner; l++) {
            const ARG_T *x = (const ARG_T *)src + o * n * inner + l;
            int64_t at = 0;
            for (int64_t i = 1; i < n; i++) {
                const ARG_T v = x[i * inner], best = x[at * inner];
                if (!ARG_NAN(best) && (ARG_NAN(v) || (largest ? v > best : v < best))) at = i;
            }
            dst[o * inner + l] = at;
        }
}
