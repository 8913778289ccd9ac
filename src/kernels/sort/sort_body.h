/* sort_body.h: sorting of packed elements SORT_E for one width; included once per width. SORT_KEY(e) is the key, of
 * SORT_BITS bits, SORT_LESS(a, b) the order of a before b. All of it is stable in the order that elements come in. */

/* a has runs of `run` elements in order; pairs of them are merged into b. */
static void SORT_NAME(merge_pass)(const SORT_E *a, SORT_E *b, int64_t n, int64_t run) {
    for (int64_t lo = 0; lo < n; lo += 2 * run) {
        const int64_t mid = WICK_MIN(n, lo + run), hi = WICK_MIN(n, lo + 2 * run);
        int64_t i = lo, j = mid, k = lo;
        while (i < mid && j < hi) {
            const bool right = SORT_LESS(a[j], a[i]);
            b[k++] = right ? a[j] : a[i];
            j += right;
            i += !right;
        }
        while (i < mid) b[k++] = a[i++];
        while (j < hi) b[k++] = a[j++];
    }
}

/* Short lists: runs of 8 by insertion, then merged. */
static void SORT_NAME(merge_sort)(SORT_E *a, SORT_E *other, int64_t n) {
    enum { RUN = 8 };
    for (int64_t lo = 0; lo < n; lo += RUN)
        for (int64_t i = lo + 1; i < WICK_MIN(n, lo + RUN); i++) {
            const SORT_E e = a[i];
            int64_t j = i;
            for (; j > lo && SORT_LESS(e, a[j - 1]); j--) a[j] = a[j - 1];
            a[j] = e;
        }
    SORT_E *from = a, *to = other;
    for (int64_t run = RUN; run < n; run *= 2) {
        SORT_NAME(merge_pass)(from, to, n, run);
        SORT_E *was = from;
        from = to;
        to = was;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

/* Least significant digit first; digits that all elements share are passed over. n < 2^32; count: passes of 2^digit. */
static inline __attribute__((always_inline)) void SORT_NAME(radix_sort)(SORT_E *a, SORT_E *other, int64_t n,
                                                                        const int digit, uint32_t *count) {
    const int bins = 1 << digit, passes = (SORT_BITS + digit - 1) / digit;
    memset(count, 0, (size_t)(passes * bins) * sizeof *count);
    for (int64_t i = 0; i < n; i++)
        for (int p = 0; p < passes; p++) count[p * bins + (int)(SORT_KEY(a[i]) >> (p * digit) & (bins - 1))]++;
    SORT_E *from = a, *to = other;
    for (int p = 0; p < passes; p++) {
        uint32_t *at = count + p * bins, sum = 0;
        if (at[SORT_KEY(from[0]) >> (p * digit) & (bins - 1)] == (uint32_t)n) continue;
        for (int b = 0; b < bins; b++) {
            const uint32_t here = at[b];
            at[b] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < n; i++) to[at[SORT_KEY(from[i]) >> (p * digit) & (bins - 1)]++] = from[i];
        SORT_E *was = from;
        from = to;
        to = was;
    }
    if (from != a) memcpy(a, from, (size_t)n * sizeof *a);
}

static void SORT_NAME(sort)(SORT_E *a, SORT_E *other, int64_t n) {
    uint32_t count[(SORT_BITS + 10) / 11 * 2048];
    if (n < 2 * SORT_BITS)
        SORT_NAME(merge_sort)(a, other, n);
    else if (n < 4096)
        SORT_NAME(radix_sort)(a, other, n, 8, count);
    else
        SORT_NAME(radix_sort)(a, other, n, 11, count);
}

/* Of the merge of a[0..n) and b[0..m), elements [begin, end) into to: where a merge of k elements has come to in a is
 * found by bisection (Odeh et al., Merge Path, 2012). */
static int64_t SORT_NAME(split)(const SORT_E *a, int64_t n, const SORT_E *b, int64_t m, int64_t k) {
    int64_t lo = WICK_MAX(0, k - m), hi = WICK_MIN(k, n);
    while (lo < hi) {
        const int64_t i = lo + (hi - lo) / 2; /* i of a, k - i of b: too few of a where b's last goes after a[i] */
        if (SORT_LESS(b[k - i - 1], a[i]))
            hi = i;
        else
            lo = i + 1;
    }
    return lo;
}
static void SORT_NAME(merge_part)(const SORT_E *a, int64_t n, const SORT_E *b, int64_t m, int64_t begin, int64_t end,
                                  SORT_E *to) {
    int64_t i = SORT_NAME(split)(a, n, b, m, begin), j = begin - i;
    for (int64_t k = begin, steps; k < end; k += steps) {
        /* so many without either coming to its end, and without a jump that would be mispredicted half of the time */
        steps = WICK_MIN(end - k, WICK_MIN(n - i, m - j));
        if (steps == 0) {
            memcpy(to, i < n ? a + i : b + j, (size_t)(end - k) * sizeof *to);
            return;
        }
        for (const SORT_E *stop = to + steps; to < stop; to++) {
            const bool right = SORT_LESS(b[j], a[i]);
            *to = *(right ? b + j : a + i);
            j += right;
            i += !right;
        }
    }
}

/* The element that would stand at place k: digit by digit from the top, only what shares the digits so far is looked at
 * further. a is overwritten; n < 2^32. */
static inline __attribute__((always_inline)) SORT_E SORT_NAME(select_by)(SORT_E *a, int64_t n, int64_t k,
                                                                         const int digit) {
    uint32_t count[2048];
    const int bins = 1 << digit;
    for (int shift = (SORT_BITS - 1) / digit * digit; shift >= 0 && n > 1; shift -= digit) {
        memset(count, 0, (size_t)bins * sizeof *count);
        for (int64_t i = 0; i < n; i++) count[SORT_KEY(a[i]) >> shift & (bins - 1)]++;
        int bin = 0;
        while (k >= count[bin]) k -= count[bin++];
        if (count[bin] == n) continue;
        int64_t kept = 0;
        for (int64_t i = 0; i < n; i++) {
            const SORT_E e = a[i];
            a[kept] = e;
            kept += (int)(SORT_KEY(e) >> shift & (bins - 1)) == bin;
        }
        n = kept;
    }
    return a[k];
}
static SORT_E SORT_NAME(select)(SORT_E *a, int64_t n, int64_t k) {
    return n < 4096 ? SORT_NAME(select_by)(a, n, k, 8) : SORT_NAME(select_by)(a, n, k, 11);
}
#undef SORT_E
#undef SORT_KEY
#undef SORT_BITS
#undef SORT_LESS
#undef SORT_NAME
