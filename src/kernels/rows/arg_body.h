/* arg_body.h: argmax and argmin for one type; included once per type. NaN beats numbers, the first of equals wins. */

/* Whether v takes the place of best, which came before it. */
static inline __attribute__((always_inline)) bool ARG_NAME(beats)(bool largest, ARG_T v, ARG_T best) {
    return (!ARG_NAN(best)) & ((largest ? v > best : v < best) | ARG_NAN(v));
}

/* Contiguous x: asks first, a block at a time, whether any beats the best so far. Records are rare, so that the search
 * for the place seldom runs past the first block. */
static inline __attribute__((always_inline)) int64_t ARG_NAME(of_row)(bool largest, int64_t n, const ARG_T *x) {
    enum { BLOCK = 128 };
    ARG_T best = x[0];
    int64_t at = 0;
    for (int64_t begin = 0; begin < n; begin += BLOCK) {
        const int64_t end = WICK_MIN(n, begin + BLOCK);
        if (end - begin == BLOCK) {
            ARG_FLAG any = 0;
            for (int64_t i = begin; i < begin + BLOCK; i++)
                any |= (ARG_FLAG)((largest ? x[i] > best : x[i] < best) | ARG_NAN(x[i]));
            if (!any) continue;
        }
        for (int64_t i = begin; i < end; i++) {
            if (WICK_LIKELY(!ARG_NAME(beats)(largest, x[i], best))) continue; /* a jump, not a chain of selects */
            best = x[i];
            at = i;
        }
        if (ARG_NAN(best)) break;
    }
    return at;
}

/* The middle of [n, inner]: `inner` searches side by side, as many as stay in registers and L1. */
static inline __attribute__((always_inline)) void ARG_NAME(of_columns)(bool largest, int64_t n, int64_t inner,
                                                                       const ARG_T *x, int64_t *dst) {
    enum { BLOCK = 256 };
    for (int64_t begin = 0; begin < inner; begin += BLOCK) {
        const int64_t width = WICK_MIN(inner - begin, BLOCK);
        ARG_T best[BLOCK];
        int64_t *restrict at = dst + begin;
        for (int64_t l = 0; l < width; l++) best[l] = x[begin + l], at[l] = 0;
        for (int64_t i = 1; i < n; i++) {
            const ARG_T *restrict v = x + i * inner + begin;
            for (int64_t l = 0; l < width; l++) {
                const bool better = ARG_NAME(beats)(largest, v[l], best[l]);
                best[l] = better ? v[l] : best[l];
                at[l] = better ? i : at[l];
            }
        }
    }
}

static void ARG_NAME(reduce)(bool largest, int64_t n, int64_t inner, int64_t begin, int64_t end, const void *src,
                             int64_t *dst) {
    const ARG_T *x = (const ARG_T *)src;
    for (int64_t o = begin; o < end; o++) {
        if (inner == 1)
            dst[o] = largest ? ARG_NAME(of_row)(true, n, x + o * n) : ARG_NAME(of_row)(false, n, x + o * n);
        else if (largest)
            ARG_NAME(of_columns)(true, n, inner, x + o * n * inner, dst + o * inner);
        else
            ARG_NAME(of_columns)(false, n, inner, x + o * n * inner, dst + o * inner);
    }
}
