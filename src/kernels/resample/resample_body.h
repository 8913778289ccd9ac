/* resample_body.h: weighted sums of neighbours along an axis, for one type; included once per type with RESAMPLE_T and
 * RESAMPLE_NAME. A sum goes from the first tap to the last, by products and additions alone: the same bits on every
 * tier. */

/* Rows of n elements; to is not one of the others. Four taps at a time, so that `to` is written once or seldom. */
static void RESAMPLE_NAME(row)(int64_t taps, const int32_t *index, const RESAMPLE_T *weight, int64_t n,
                               const RESAMPLE_T *from, RESAMPLE_T *restrict to) {
    const RESAMPLE_T *a = from + index[0] * n;
    const RESAMPLE_T u = weight[0];
    int64_t k = 1;
    if (taps == 1) {
        for (int64_t i = 0; i < n; i++) to[i] = u * a[i];
        return;
    }
    const RESAMPLE_T *b = from + index[1] * n, v = weight[1];
    if (taps == 2) {
        for (int64_t i = 0; i < n; i++) to[i] = u * a[i] + v * b[i];
        return;
    }
    const RESAMPLE_T *c = from + index[2] * n, w = weight[2];
    for (int64_t i = 0; i < n; i++) to[i] = u * a[i] + v * b[i] + w * c[i];
    for (k = 3; k + 3 < taps; k += 4) {
        const RESAMPLE_T *p = from + index[k] * n, *q = from + index[k + 1] * n, *r = from + index[k + 2] * n,
                         *s = from + index[k + 3] * n;
        const RESAMPLE_T e = weight[k], f = weight[k + 1], g = weight[k + 2], h = weight[k + 3];
        for (int64_t i = 0; i < n; i++) to[i] = to[i] + e * p[i] + f * q[i] + g * r[i] + h * s[i];
    }
    for (; k < taps; k++) {
        const RESAMPLE_T *p = from + index[k] * n, e = weight[k];
        for (int64_t i = 0; i < n; i++) to[i] += e * p[i];
    }
}

/* Outputs [begin, end) of one line of single elements. */
static void RESAMPLE_NAME(line)(const wick_resample *r, int64_t begin, int64_t end, const RESAMPLE_T *restrict from,
                                RESAMPLE_T *restrict to) {
    const RESAMPLE_T *weight = r->weight;
    const int32_t *index = r->index;
    if (r->uniform == 2) {
        for (int64_t o = begin; o < end; o++)
            to[o] = weight[2 * o] * from[index[2 * o]] + weight[2 * o + 1] * from[index[2 * o + 1]];
        return;
    }
    if (r->uniform == 4) {
        for (int64_t o = begin; o < end; o++) {
            const RESAMPLE_T *w = weight + 4 * o;
            const int32_t *i = index + 4 * o;
            to[o] = w[0] * from[i[0]] + w[1] * from[i[1]] + w[2] * from[i[2]] + w[3] * from[i[3]];
        }
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        int64_t k = r->start[o];
        RESAMPLE_T sum = k < r->start[o + 1] ? weight[k] * from[index[k]] : (RESAMPLE_T)r->fill;
        for (k++; k < r->start[o + 1]; k++) sum += weight[k] * from[index[k]];
        to[o] = sum;
    }
}

static void RESAMPLE_NAME(resample)(const wick_resample *r, int64_t begin, int64_t end, const void *x, void *y) {
    for (int64_t at = begin; at < end;) {
        const int64_t outer = at / r->out, o = at - outer * r->out;
        const RESAMPLE_T *from = (const RESAMPLE_T *)x + outer * r->in * r->inner;
        if (r->inner == 1) {
            const int64_t stop = WICK_MIN(r->out, o + end - at);
            RESAMPLE_NAME(line)(r, o, stop, from, (RESAMPLE_T *)y + outer * r->out);
            at += stop - o;
            continue;
        }
        RESAMPLE_T *to = (RESAMPLE_T *)y + at++ * r->inner;
        const int64_t k = r->start[o], taps = r->start[o + 1] - k;
        if (taps)
            RESAMPLE_NAME(row)(taps, r->index + k, (const RESAMPLE_T *)r->weight + k, r->inner, from, to);
        else
            for (int64_t i = 0; i < r->inner; i++) to[i] = (RESAMPLE_T)r->fill;
    }
}
#undef RESAMPLE_T
#undef RESAMPLE_NAME
