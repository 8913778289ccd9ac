/* scatter_body.h: the body of wick_scatter_add_rows for one type; included once per type with SCATTER_T and
 * SCATTER_NAME. */
static int64_t SCATTER_NAME(int64_t begin, int64_t end, int64_t n, int64_t inner, int64_t count, const void *src,
                            const int64_t *index, void *dst) {
    int64_t bad = -1;
    for (int64_t o = begin; o < end; o++) {
        const SCATTER_T *from = (const SCATTER_T *)src + o * count * inner;
        SCATTER_T *to = (SCATTER_T *)dst + o * n * inner;
        for (int64_t i = 0; i < count; i++) {
            int64_t at = index[i] < 0 ? index[i] + n : index[i];
            if (WICK_UNLIKELY((uint64_t)at >= (uint64_t)n)) {
                if (bad < 0) bad = i;
                continue;
            }
            const SCATTER_T *restrict a = from + i * inner;
            SCATTER_T *restrict b = to + at * inner;
            for (int64_t l = 0; l < inner; l++) b[l] += a[l];
        }
    }
    return bad;
}
#undef SCATTER_T
#undef SCATTER_NAME
