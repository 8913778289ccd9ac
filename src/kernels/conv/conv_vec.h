/* conv_vec.h: gathering, and convolutions of single channels, of one type over the vectors of gemm_vec.h. Included by conv_tier.c. */
typedef GEMM_BITS_T CONV_NAME(mask) __attribute__((vector_size(WICK_GEMM_VEC_BYTES)));

/* Lanes from `begin` on. */
GEMM_INLINE CONV_NAME(mask) CONV_NAME(from)(int begin) {
    CONV_NAME(mask) m;
    for (int i = 0; i < CONV_NAME(L); i++) m[i] = i >= begin ? -1 : 0;
    return m;
}
/* b where the mask is set, else a. */
GEMM_INLINE CONV_NAME(vec) CONV_NAME(select)(CONV_NAME(mask) m, CONV_NAME(vec) a, CONV_NAME(vec) b) {
    return (CONV_NAME(vec))(((CONV_NAME(mask))a & ~m) | ((CONV_NAME(mask))b & m));
}

/* n_runs is a constant at the calls that matter. */
GEMM_INLINE void CONV_NAME(gather_vec)(const wick_conv_vec *vec, int n_runs, int64_t n, const int64_t *offset, const CONV_T *src, CONV_T *dst, int64_t dst_k) {
    CONV_NAME(mask) mask[WICK_CONV_LANES];
    const CONV_T *from[WICK_CONV_LANES];
    for (int r = 0; r < n_runs; r++) {
        mask[r] = CONV_NAME(from)(vec->begin[r]);
        from[r] = src + vec->at[r];
    }
    for (int64_t k = 0; k < n; k++) {
        CONV_NAME(vec) v = CONV_NAME(load)(from[0] + offset[k]);
        for (int r = 1; r < n_runs; r++) v = CONV_NAME(select)(mask[r], v, CONV_NAME(load)(from[r] + offset[k]));
        CONV_NAME(store)(dst + k * dst_k, v);
    }
}

static void CONV_NAME(gather)(int64_t n_vecs, const wick_conv_vec *vecs, int64_t n, const int64_t *offset, const void *src, void *dst, int64_t dst_k) {
    for (int64_t v = 0; v < n_vecs; v++) {
        CONV_T *to = (CONV_T *)dst + v * CONV_NAME(L);
        switch (vecs[v].n) {
        case 1: CONV_NAME(gather_vec)(&vecs[v], 1, n, offset, src, to, dst_k); break;
        case 2: CONV_NAME(gather_vec)(&vecs[v], 2, n, offset, src, to, dst_k); break;
        case 3: CONV_NAME(gather_vec)(&vecs[v], 3, n, offset, src, to, dst_k); break;
        default: CONV_NAME(gather_vec)(&vecs[v], vecs[v].n, n, offset, src, to, dst_k); break;
        }
    }
}

GEMM_INLINE void CONV_NAME(plane_step)(int taps, const int64_t *offset, const CONV_T *w, const CONV_T *src, CONV_NAME(vec) *acc, const int vecs) {
    GEMM_UNROLL
    for (int v = 0; v < vecs; v++) acc[v] = (CONV_NAME(vec)){0};
    for (int t = 0; t < taps; t++) {
        const CONV_NAME(vec) wv = CONV_NAME(set1)(w[t]);
        GEMM_UNROLL
        for (int v = 0; v < vecs; v++) acc[v] = CONV_NAME(fma)(wv, CONV_NAME(load)(src + offset[t] + v * CONV_NAME(L)), acc[v]);
    }
}

static void CONV_NAME(plane)(int taps, const int64_t *offset, const void *w, const void *srcv, int64_t src_row, int64_t rows, int64_t width, const void *bias,
                             bool relu, void *dstv) {
    enum { L = CONV_NAME(L), STEP = 4 };
    const CONV_NAME(vec) b = CONV_NAME(set1)(bias ? *(const CONV_T *)bias : 0);
    for (int64_t r = 0; r < rows; r++) {
        const CONV_T *src = (const CONV_T *)srcv + r * src_row;
        CONV_T *dst = (CONV_T *)dstv + r * width;
        for (int64_t j = 0; j < width;) {
            CONV_NAME(vec) acc[STEP];
            int64_t n = WICK_MIN(width - j, STEP * L);
            switch ((n + L - 1) / L) {
            case 1: CONV_NAME(plane_step)(taps, offset, w, src + j, acc, 1); break;
            case 2: CONV_NAME(plane_step)(taps, offset, w, src + j, acc, 2); break;
            case 3: CONV_NAME(plane_step)(taps, offset, w, src + j, acc, 3); break;
            default: CONV_NAME(plane_step)(taps, offset, w, src + j, acc, STEP); break;
            }
            for (int v = 0; v * L < n; v++) {
                if (bias) acc[v] += b;
                if (relu) acc[v] = CONV_NAME(relu)(acc[v]);
                if (n - v * L >= L)
                    CONV_NAME(store)(dst + j + v * L, acc[v]);
                else
                    for (int i = 0; i < n - v * L; i++) dst[j + v * L + i] = acc[v][i];
            }
            j += n;
        }
    }
}

/* The sum of all lanes, halves first. */
static CONV_T CONV_NAME(total)(CONV_NAME(vec) v) {
    CONV_T x[CONV_NAME(L)];
    CONV_NAME(store)(x, v);
    for (int half = CONV_NAME(L) / 2; half; half /= 2)
        for (int i = 0; i < half; i++) x[i] += x[i + half];
    return x[0];
}

static void CONV_NAME(dots)(int taps, const int64_t *offset, const void *yv, const void *srcv, int64_t src_row, int64_t rows, int64_t width, void *sum) {
    enum { L = CONV_NAME(L), TAPS = 9 };
    const CONV_T *y = yv, *src = srcv;
    const int64_t whole = width / L * L;
    const CONV_NAME(mask) past = CONV_NAME(from)((int)(width - whole));
    for (int t0 = 0; t0 < taps; t0 += TAPS) {
        const int n = WICK_MIN(taps - t0, TAPS);
        CONV_NAME(vec) acc[TAPS];
        for (int t = 0; t < TAPS; t++) acc[t] = (CONV_NAME(vec)){0};
        for (int64_t r = 0; r < rows; r++) {
            const CONV_T *line = src + r * src_row, *yr = y + r * width;
            for (int64_t j = 0; j < whole; j += L) {
                const CONV_NAME(vec) yj = CONV_NAME(load)(yr + j);
                if (n == TAPS) {
                    GEMM_UNROLL
                    for (int t = 0; t < TAPS; t++) acc[t] = CONV_NAME(fma)(yj, CONV_NAME(load)(line + offset[t0 + t] + j), acc[t]);
                } else {
                    for (int t = 0; t < n; t++) acc[t] = CONV_NAME(fma)(yj, CONV_NAME(load)(line + offset[t0 + t] + j), acc[t]);
                }
            }
            if (whole < width) { /* lanes past the row count as 0 on both sides: what lies there may be anything */
                CONV_NAME(vec) yj = {0};
                for (int64_t j = whole; j < width; j++) yj[j - whole] = yr[j];
                for (int t = 0; t < n; t++)
                    acc[t] = CONV_NAME(fma)(yj, CONV_NAME(select)(past, CONV_NAME(load)(line + offset[t0 + t] + whole), (CONV_NAME(vec)){0}), acc[t]);
            }
        }
        for (int t = 0; t < n; t++) ((CONV_T *)sum)[t0 + t] += CONV_NAME(total)(acc[t]);
    }
}
