/* taps_body.h: weighted sums of rows by index, once per type. Sums go in the order of the taps, by products and
 * additions alone: the same bits on every tier. */
/* y, or nothing when first, plus `n` products of rows, in order; four at once, so that y is written seldom. */
static inline void TAPS_NAME(add)(int64_t c, bool first, int n, const TAPS_T *const *from, const TAPS_T *u,
                                  TAPS_T *restrict y) {
    if (n == 4) {
        const TAPS_T *p = from[0], *q = from[1], *r = from[2], *s = from[3], e = u[0], f = u[1], g = u[2], h = u[3];
        if (first)
            for (int64_t i = 0; i < c; i++) y[i] = e * p[i] + f * q[i] + g * r[i] + h * s[i];
        else
            for (int64_t i = 0; i < c; i++) y[i] = y[i] + e * p[i] + f * q[i] + g * r[i] + h * s[i];
        return;
    }
    for (int k = 0; k < n; k++) {
        const TAPS_T *p = from[k], e = u[k];
        if (first && k == 0)
            for (int64_t i = 0; i < c; i++) y[i] = e * p[i];
        else
            for (int64_t i = 0; i < c; i++) y[i] += e * p[i];
    }
}
static void TAPS_NAME(sum)(const wick_taps *t, int64_t begin, int64_t end, const void *xv, const int64_t *index,
                           const void *weight, void *yv) {
    const int64_t c = t->channels;
    for (int64_t r = begin; r < end; r++) {
        const int64_t image = r / t->rows, first = image * t->rows * (t->taps - 1) + r; /* tap k is at first + k rows */
        const TAPS_T *x = (const TAPS_T *)xv + image * t->places * c, *from[4];
        TAPS_T *y = (TAPS_T *)yv + r * c, u[4];
        bool empty = true;
        int have = 0;
        for (int64_t k = first; k < first + t->taps * t->rows; k += t->rows) {
            if ((uint64_t)index[k] >= (uint64_t)t->places) continue;
            from[have] = x + index[k] * c, u[have++] = ((const TAPS_T *)weight)[k];
            if (have < 4) continue;
            TAPS_NAME(add)(c, empty, have, from, u, y);
            empty = false;
            have = 0;
        }
        if (have) TAPS_NAME(add)(c, empty, have, from, u, y);
        else if (empty) memset(y, 0, (size_t)c * sizeof *y);
    }
}

/* Units are parts of the places of an image: each looks at all taps and takes those that fall into it, in their order.
 */
static void TAPS_NAME(put)(const wick_taps *t, int64_t begin, int64_t end, const void *yv, const int64_t *index,
                           const void *weight, void *xv) {
    const int64_t c = t->channels, each = (t->places + t->parts - 1) / t->parts;
    for (int64_t unit = begin; unit < end; unit++) {
        const int64_t image = unit / t->parts, low = WICK_MIN(t->places, unit % t->parts * each),
                      high = WICK_MIN(t->places, low + each);
        TAPS_T *x = (TAPS_T *)xv + image * t->places * c;
        memset(x + low * c, 0, (size_t)((high - low) * c) * sizeof *x);
        for (int64_t r = image * t->rows; r < (image + 1) * t->rows; r++) {
            const TAPS_T *restrict y = (const TAPS_T *)yv + r * c;
            const int64_t first = image * t->rows * (t->taps - 1) + r;
            for (int64_t k = first; k < first + t->taps * t->rows; k += t->rows) {
                if (index[k] < low || index[k] >= high) continue;
                TAPS_T *restrict to = x + index[k] * c;
                const TAPS_T u = ((const TAPS_T *)weight)[k];
                for (int64_t i = 0; i < c; i++) to[i] += u * y[i];
            }
        }
    }
}

static void TAPS_NAME(dot)(const wick_taps *t, int64_t begin, int64_t end, const void *xv, const int64_t *index,
                           const void *yv, void *weight) {
    const int64_t c = t->channels;
    for (int64_t r = begin; r < end; r++) {
        const int64_t image = r / t->rows, first = image * t->rows * (t->taps - 1) + r;
        const TAPS_T *x = (const TAPS_T *)xv + image * t->places * c, *y = (const TAPS_T *)yv + r * c;
        for (int64_t k = first; k < first + t->taps * t->rows; k += t->rows) {
            const int64_t at = index[k];
            double sum[4] = {0};
            if ((uint64_t)at < (uint64_t)t->places) {
                const TAPS_T *from = x + at * c;
                int64_t i = 0;
                for (; i + 3 < c; i += 4)
                    for (int j = 0; j < 4; j++) sum[j] += (double)from[i + j] * (double)y[i + j];
                for (; i < c; i++) sum[0] += (double)from[i] * (double)y[i];
            }
            ((TAPS_T *)weight)[k] = (TAPS_T)((sum[0] + sum[1]) + (sum[2] + sum[3]));
        }
    }
}
#undef TAPS_T
#undef TAPS_NAME
