/* fft_body.h: transforms over vectors for one type; included by fft_tier.c with FFT_T, FFT_BITS, FFT_NAME and, for
 * shuffles, FFT_LANES. */

typedef FFT_T FFT_NAME(vec) __attribute__((vector_size(FFT_BYTES)));
typedef FFT_T FFT_NAME(vecu) __attribute__((vector_size(FFT_BYTES), aligned(sizeof(FFT_T)), may_alias));
#define VEC FFT_NAME(vec)

FFT_INLINE VEC FFT_NAME(load)(const FFT_T *p) { return *(const FFT_NAME(vecu) *)p; }
FFT_INLINE void FFT_NAME(store)(FFT_T *p, VEC v) { *(FFT_NAME(vecu) *)p = v; }
FFT_INLINE VEC FFT_NAME(set1)(FFT_T x) { return x - (VEC){0}; } /* compilers fold it into a plain broadcast */
FFT_INLINE VEC FFT_NAME(fma)(VEC a, VEC b, VEC c) {
#ifdef FFT_FMA
    return FFT_FMA(a, b, c);
#else
    return a * b + c;
#endif
}

/* ---- small transforms: re[j], im[j] in place --------------------------------------------------------------------- */

typedef struct FFT_NAME(complexes) {
    VEC re[WICK_FFT_PRIME], im[WICK_FFT_PRIME];
} FFT_NAME(complexes);
#define C FFT_NAME(complexes)

FFT_INLINE void FFT_NAME(two)(VEC *ar, VEC *ai, VEC *br, VEC *bi) {
    const VEC r = *ar - *br, i = *ai - *bi;
    *ar += *br;
    *ai += *bi;
    *br = r;
    *bi = i;
}
/* Of the numbers at a, b, c, d: results in the places a, c, b, d (bit-reversed). */
FFT_INLINE void FFT_NAME(four)(C *x, int a, int b, int c, int d) {
    FFT_NAME(two)(&x->re[a], &x->im[a], &x->re[c], &x->im[c]);
    FFT_NAME(two)(&x->re[b], &x->im[b], &x->re[d], &x->im[d]);
    FFT_NAME(two)(&x->re[a], &x->im[a], &x->re[b], &x->im[b]);
    const VEC r = x->im[d], i = -x->re[d]; /* times -i */
    x->re[d] = r, x->im[d] = i;
    FFT_NAME(two)(&x->re[c], &x->im[c], &x->re[d], &x->im[d]);
}
FFT_INLINE void FFT_NAME(swap)(C *x, int a, int b) {
    const VEC r = x->re[a], i = x->im[a];
    x->re[a] = x->re[b], x->im[a] = x->im[b];
    x->re[b] = r, x->im[b] = i;
}
FFT_INLINE void FFT_NAME(eight)(C *x) {
    const VEC h = FFT_NAME(set1)((FFT_T)0x1.6a09e667f3bcdp-1);
    FFT_UNROLL
    for (int j = 0; j < 4; j++) FFT_NAME(two)(&x->re[j], &x->im[j], &x->re[j + 4], &x->im[j + 4]);
    const VEC r5 = (x->re[5] + x->im[5]) * h, i5 = (x->im[5] - x->re[5]) * h;
    const VEC r7 = (x->im[7] - x->re[7]) * h, i7 = -(x->re[7] + x->im[7]) * h;
    const VEC r6 = x->im[6], i6 = -x->re[6];
    x->re[5] = r5, x->im[5] = i5;
    x->re[6] = r6, x->im[6] = i6;
    x->re[7] = r7, x->im[7] = i7;
    FFT_NAME(four)(x, 0, 1, 2, 3); /* results 0 2 4 6 in the places 0 2 1 3 */
    FFT_NAME(four)(x, 4, 5, 6, 7);
    const C y = *x;
    static const int from[8] = {0, 4, 2, 6, 1, 5, 3, 7};
    FFT_UNROLL
    for (int k = 0; k < 8; k++) x->re[k] = y.re[from[k]], x->im[k] = y.im[from[k]];
}
FFT_INLINE void FFT_NAME(three)(C *x) {
    const VEC half = FFT_NAME(set1)((FFT_T)-0.5), s = FFT_NAME(set1)((FFT_T)0x1.bb67ae8584caap-1);
    const VEC tr = x->re[1] + x->re[2], ti = x->im[1] + x->im[2], dr = (x->re[1] - x->re[2]) * s,
              di = (x->im[1] - x->im[2]) * s;
    const VEC mr = FFT_NAME(fma)(tr, half, x->re[0]), mi = FFT_NAME(fma)(ti, half, x->im[0]);
    x->re[0] += tr, x->im[0] += ti;
    x->re[1] = mr + di, x->im[1] = mi - dr;
    x->re[2] = mr - di, x->im[2] = mi + dr;
}
/* Any odd radix, with its roots' cosines and (negative) sines. */
FFT_INLINE void FFT_NAME(odd)(C *x, const int r, const FFT_T *cosines, const FFT_T *sines) {
    C y;
    y.re[0] = x->re[0], y.im[0] = x->im[0];
    for (int j = 1; j <= r / 2; j++) {
        FFT_NAME(two)(&x->re[j], &x->im[j], &x->re[r - j], &x->im[r - j]); /* sums, differences */
        y.re[0] += x->re[j], y.im[0] += x->im[j];
    }
    for (int k = 1; k <= r / 2; k++) {
        VEC ar = x->re[0], ai = x->im[0], br = {0}, bi = {0};
        for (int j = 1, at = k; j <= r / 2; j++, at = at + k >= r ? at + k - r : at + k) {
            const VEC c = FFT_NAME(set1)(cosines[at]), s = FFT_NAME(set1)(sines[at]);
            ar = FFT_NAME(fma)(x->re[j], c, ar), ai = FFT_NAME(fma)(x->im[j], c, ai);
            br = FFT_NAME(fma)(x->re[r - j], s, br), bi = FFT_NAME(fma)(x->im[r - j], s, bi);
        }
        y.re[k] = ar - bi, y.im[k] = ai + br;
        y.re[r - k] = ar + bi, y.im[r - k] = ai - br;
    }
    for (int k = 0; k < r; k++) x->re[k] = y.re[k], x->im[k] = y.im[k];
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* One pass of Stockham's autosort: numbers p + m j of x become r p + k of y, times w^(p k). Numbers are `run` elements
 * each; x_run is their distance in x. */
FFT_INLINE void FFT_NAME(pass)(const int r, int64_t m, int64_t run, int64_t x_run, const FFT_T *xr, const FFT_T *xi,
                               FFT_T *yr, FFT_T *yi, const FFT_T *twiddles) {
    enum { L = FFT_LANES };
    const FFT_T *roots = twiddles + 2 * m * (r - 1);
    for (int64_t p = 0; p < m; p++, twiddles += 2 * (r - 1)) {
        for (int64_t q = 0; q < run; q += L) {
            C a;
            const int64_t from = p * x_run + q, to = p * r * run + q;
            FFT_UNROLL
            for (int j = 0; j < r; j++)
                a.re[j] = FFT_NAME(load)(xr + from + j * m * x_run),
                a.im[j] = FFT_NAME(load)(xi + from + j * m * x_run);
            if (r == 2) {
                FFT_NAME(two)(&a.re[0], &a.im[0], &a.re[1], &a.im[1]);
            } else if (r == 4) {
                FFT_NAME(four)(&a, 0, 1, 2, 3);
                FFT_NAME(swap)(&a, 1, 2);
            } else if (r == 8) {
                FFT_NAME(eight)(&a);
            } else if (r == 3) {
                FFT_NAME(three)(&a);
            } else {
                FFT_NAME(odd)(&a, r, roots, roots + r);
            }
            if (p) {
                FFT_UNROLL
                for (int k = 1; k < r; k++) {
                    const VEC wr = FFT_NAME(set1)(twiddles[2 * k - 2]), wi = FFT_NAME(set1)(twiddles[2 * k - 1]),
                              re = a.re[k];
                    a.re[k] = FFT_NAME(fma)(re, wr, -(a.im[k] * wi));
                    a.im[k] = FFT_NAME(fma)(re, wi, a.im[k] * wr);
                }
            }
            FFT_UNROLL
            for (int k = 0; k < r; k++)
                FFT_NAME(store)(yr + to + k * run, a.re[k]), FFT_NAME(store)(yi + to + k * run, a.im[k]);
        }
    }
}
#define FFT_PASS(r)                                                                                                    \
    static void FFT_NAME(pass_##r)(int64_t m, int64_t run, int64_t x_run, const FFT_T *xr, const FFT_T *xi, FFT_T *yr, \
                                   FFT_T *yi, const FFT_T *w) {                                                        \
        FFT_NAME(pass)(r, m, run, x_run, xr, xi, yr, yi, w);                                                           \
    }
FFT_PASS(2)
FFT_PASS(3)
FFT_PASS(4)
FFT_PASS(5)
FFT_PASS(7)
FFT_PASS(8)
FFT_PASS(11)
FFT_PASS(13)
#undef FFT_PASS
typedef void FFT_NAME(pass_fn)(int64_t m, int64_t run, int64_t x_run, const FFT_T *xr, const FFT_T *xi, FFT_T *yr,
                               FFT_T *yi, const FFT_T *w);
static FFT_NAME(pass_fn) *const FFT_NAME(passes)[WICK_FFT_PRIME + 1] = {
    [2] = FFT_NAME(pass_2), [3] = FFT_NAME(pass_3), [4] = FFT_NAME(pass_4),   [5] = FFT_NAME(pass_5),
    [7] = FFT_NAME(pass_7), [8] = FFT_NAME(pass_8), [11] = FFT_NAME(pass_11), [13] = FFT_NAME(pass_13),
};

typedef struct FFT_NAME(split) {
    FFT_T *re, *im;
} FFT_NAME(split);
#define SPLIT FFT_NAME(split)

/* Transforms p->block columns of x, whose rows are x_row apart, through a and b; returns which of the two has the
 * result. */
static SPLIT FFT_NAME(columns)(const wick_fft_passes *p, const FFT_T *table, SPLIT x, int64_t x_row, SPLIT a, SPLIT b) {
    const FFT_T *w = table + p->twiddles;
    int64_t run = p->block, n = p->n;
    if (!p->n_radix) { /* of one row */
        for (int64_t q = 0; q < run; q++) a.re[q] = x.re[q], a.im[q] = x.im[q];
        return a;
    }
    for (int i = 0; i < p->n_radix; i++) {
        const int64_t r = p->radix[i], m = n / r;
        FFT_NAME(passes)[r](m, run, i ? run : x_row, x.re, x.im, a.re, a.im, w);
        w += 2 * (m * (r - 1) + r);
        n = m;
        run *= r;
        x = a;
        a = b, b = x;
    }
    return x;
}

/* ---- moving data ------------------------------------------------------------------------------------------------- */

/* Transposes L x L elements: log2(L) times row i is zipped with row i + L/2. */
FFT_INLINE void FFT_NAME(transpose_tile)(VEC *v) {
    enum { L = FFT_LANES };
    FFT_UNROLL
    for (int round = 1; round < L; round *= 2) {
        VEC t[L];
        FFT_UNROLL
        for (int i = 0; i < L / 2; i++) {
            t[2 * i] = FFT_SHUFFLE(v[i], v[i + L / 2], FFT_ZIP_LOW);
            t[2 * i + 1] = FFT_SHUFFLE(v[i], v[i + L / 2], FFT_ZIP_HIGH);
        }
        FFT_UNROLL
        for (int i = 0; i < L; i++) v[i] = t[i];
    }
}
/* dst[j][i] = src[i][j] for whole tiles: rows and cols are multiples of L. */
static void FFT_NAME(transpose)(int64_t rows, int64_t cols, const FFT_T *src, int64_t src_row, FFT_T *dst,
                                int64_t dst_row) {
    enum { L = FFT_LANES };
    for (int64_t j = 0; j < cols; j += L)
        for (int64_t i = 0; i < rows; i += L) {
            VEC v[L];
            FFT_UNROLL
            for (int k = 0; k < L; k++) v[k] = FFT_NAME(load)(src + (i + k) * src_row + j);
            FFT_NAME(transpose_tile)(v);
            FFT_UNROLL
            for (int k = 0; k < L; k++) FFT_NAME(store)(dst + (j + k) * dst_row + i, v[k]);
        }
}
/* L rows of n pairs, row apart, become columns: number j of row l at j L + l. n is a multiple of L. */
static void FFT_NAME(split_rows)(int64_t n, const FFT_T *x, int64_t row, FFT_T *re, FFT_T *im) {
    enum { L = FFT_LANES };
    for (int64_t j = 0; j < n; j += L)
        for (int part = 0; part < 2; part++) { /* in turn, so that a tile stays in registers */
            VEC v[L];
            FFT_UNROLL
            for (int l = 0; l < L; l++) {
                const VEC a = FFT_NAME(load)(x + l * row + 2 * j), b = FFT_NAME(load)(x + l * row + 2 * j + L);
                v[l] = part ? FFT_SHUFFLE(a, b, FFT_ODD) : FFT_SHUFFLE(a, b, FFT_EVEN);
            }
            FFT_NAME(transpose_tile)(v);
            FFT_UNROLL
            for (int k = 0; k < L; k++) FFT_NAME(store)((part ? im : re) + (j + k) * L, v[k]);
        }
}
static void FFT_NAME(split_pairs)(int64_t n, const FFT_T *x, FFT_T *re, FFT_T *im) {
    enum { L = FFT_LANES };
    int64_t j = 0;
    for (; j + L <= n; j += L) {
        const VEC a = FFT_NAME(load)(x + 2 * j), b = FFT_NAME(load)(x + 2 * j + L);
        FFT_NAME(store)(re + j, FFT_SHUFFLE(a, b, FFT_EVEN));
        FFT_NAME(store)(im + j, FFT_SHUFFLE(a, b, FFT_ODD));
    }
    for (; j < n; j++) re[j] = x[2 * j], im[j] = x[2 * j + 1];
}
static void FFT_NAME(join_pairs)(int64_t n, const FFT_T *re, const FFT_T *im, FFT_T scale, FFT_T *y) {
    enum { L = FFT_LANES };
    const VEC s = FFT_NAME(set1)(scale);
    int64_t j = 0;
    for (; j + L <= n; j += L) {
        const VEC a = FFT_NAME(load)(re + j) * s, b = FFT_NAME(load)(im + j) * s;
        FFT_NAME(store)(y + 2 * j, FFT_SHUFFLE(a, b, FFT_ZIP_LOW));
        FFT_NAME(store)(y + 2 * j + L, FFT_SHUFFLE(a, b, FFT_ZIP_HIGH));
    }
    for (; j < n; j++) y[2 * j] = re[j] * scale, y[2 * j + 1] = im[j] * scale;
}

/* The way back from columns to L rows of pairs. */
static void FFT_NAME(join_rows)(int64_t n, const FFT_T *re, const FFT_T *im, FFT_T scale, FFT_T *y, int64_t row) {
    enum { L = FFT_LANES };
    const VEC s = FFT_NAME(set1)(scale);
    for (int64_t j = 0; j < n; j += L) {
        VEC v[L], first[L];
        for (int part = 0; part < 2; part++) {
            FFT_UNROLL
            for (int k = 0; k < L; k++) v[k] = FFT_NAME(load)((part ? im : re) + (j + k) * L) * s;
            FFT_NAME(transpose_tile)(v);
            FFT_UNROLL
            for (int l = 0; l < L && !part; l++) first[l] = v[l];
        }
        FFT_UNROLL
        for (int l = 0; l < L; l++) {
            FFT_NAME(store)(y + l * row + 2 * j, FFT_SHUFFLE(first[l], v[l], FFT_ZIP_LOW));
            FFT_NAME(store)(y + l * row + 2 * j + L, FFT_SHUFFLE(first[l], v[l], FFT_ZIP_HIGH));
        }
    }
}

/* With n = core, X the transform of 2 n real numbers and Z that of them in pairs as complex ones, w = exp(-pi i / n):
 *   X[k] = E + w^k O, E = (Z[k] + conj Z[n - k]) / 2, O = (Z[k] - conj Z[n - k]) / 2i, for 0 < k < n; X[0] and X[n] are
 *   re +- im of Z[0]. */
static void FFT_NAME(untangle)(const wick_fourier *f, const FFT_T *table, const FFT_T *re, const FFT_T *im, FFT_T *y) {
    enum { L = FFT_LANES };
    const int64_t n = f->core;
    const FFT_T *cosines = table + f->at_untangle, *sines = cosines + n + 1, scale = (FFT_T)f->scale,
                half = (FFT_T)(0.5 * f->scale * f->inner);
    const VEC h = FFT_NAME(set1)(half);
    int64_t k = 1;
    for (; k + L <= n; k += L) {
        const VEC a = FFT_NAME(load)(re + k), b = FFT_NAME(load)(im + k);
        const VEC cr = FFT_NAME(load)(re + n - k - L + 1), dr = FFT_NAME(load)(im + n - k - L + 1);
        const VEC c = FFT_SHUFFLE(cr, cr, FFT_BACK), d = FFT_SHUFFLE(dr, dr, FFT_BACK);
        const VEC wr = FFT_NAME(load)(cosines + k), wi = FFT_NAME(load)(sines + k), o_re = b + d, o_im = c - a;
        const VEC x = (FFT_NAME(fma)(o_re, wr, -(o_im * wi)) + (a + c)) * h,
                  z = (FFT_NAME(fma)(o_re, wi, o_im * wr) + (b - d)) * h;
        FFT_NAME(store)(y + 2 * k, FFT_SHUFFLE(x, z, FFT_ZIP_LOW));
        FFT_NAME(store)(y + 2 * k + L, FFT_SHUFFLE(x, z, FFT_ZIP_HIGH));
    }
    for (; k < n; k++) {
        const FFT_T a = re[k], b = im[k], c = re[n - k], d = im[n - k], wr = cosines[k], wi = sines[k], o_re = b + d,
                    o_im = c - a;
        y[2 * k] = (o_re * wr - o_im * wi + (a + c)) * half;
        y[2 * k + 1] = (o_re * wi + o_im * wr + (b - d)) * half;
    }
    y[0] = (re[0] + im[0]) * scale, y[1] = 0;
    y[2 * n] = (re[0] - im[0]) * scale, y[2 * n + 1] = 0;
}
/* The way back: Z[k] = (X[k] + conj X[n - k]) + i conj(w^k) (X[k] - conj X[n - k]). */
static void FFT_NAME(tangle)(const wick_fourier *f, const FFT_T *table, const FFT_T *x, FFT_T *re, FFT_T *im) {
    enum { L = FFT_LANES };
    const int64_t n = f->core;
    const FFT_T *cosines = table + f->at_untangle, *sines = cosines + n + 1, inner = (FFT_T)f->inner;
    const VEC scale = FFT_NAME(set1)(inner);
    int64_t k = 1;
    for (; k + L <= n; k += L) {
        const VEC x0 = FFT_NAME(load)(x + 2 * k), x1 = FFT_NAME(load)(x + 2 * k + L);
        const VEC y0 = FFT_NAME(load)(x + 2 * (n - k - L + 1)), y1 = FFT_NAME(load)(x + 2 * (n - k - L + 1) + L);
        const VEC a = FFT_SHUFFLE(x0, x1, FFT_EVEN) * scale, b = FFT_SHUFFLE(x0, x1, FFT_ODD) * scale;
        const VEC cr = FFT_SHUFFLE(y0, y1, FFT_EVEN), dr = FFT_SHUFFLE(y0, y1, FFT_ODD);
        const VEC c = FFT_SHUFFLE(cr, cr, FFT_BACK) * scale, d = FFT_SHUFFLE(dr, dr, FFT_BACK) * scale;
        const VEC wr = FFT_NAME(load)(cosines + k), wi = FFT_NAME(load)(sines + k), u = a - c, v = b + d;
        FFT_NAME(store)(re + k, (a + c) - FFT_NAME(fma)(v, wr, -(u * wi)));
        FFT_NAME(store)(im + k, (b - d) + FFT_NAME(fma)(u, wr, v * wi));
    }
    for (; k < n; k++) {
        const FFT_T a = x[2 * k] * inner, b = x[2 * k + 1] * inner, c = x[2 * (n - k)] * inner,
                    d = x[2 * (n - k) + 1] * inner;
        const FFT_T wr = cosines[k], wi = sines[k], u = a - c, v = b + d;
        re[k] = (a + c) - (v * wr - u * wi);
        im[k] = (b - d) + (u * wr + v * wi);
    }
    re[0] = x[0] + x[2 * n];
    im[0] = x[0] - x[2 * n];
}

/* ---- rows: what is transformed of one, and what becomes of that -------------------------------------------------- */

static void FFT_NAME(load_row)(const wick_fourier *f, const FFT_T *table, int64_t row, const void *xv, SPLIT to) {
    const int64_t n = f->n, half = n / 2 + 1;
    const FFT_T *x = xv;
    if (f->what == WICK_FFT_COMPLEX) {
        FFT_NAME(split_pairs)(n, x + row * 2 * n, f->inverse ? to.im : to.re, f->inverse ? to.re : to.im);
    } else if (f->what == WICK_FFT_REAL && f->core != n) {
        FFT_NAME(split_pairs)(f->core, x + row * n, to.re, to.im);
    } else if (f->what == WICK_FFT_REAL) {
        memcpy(to.re, x + row * n, (size_t)n * sizeof *x);
        memset(to.im, 0, (size_t)n * sizeof *x);
    } else if (f->core != n) {
        FFT_NAME(tangle)(f, table, x + row * 2 * half, to.im, to.re); /* exchanged: the inverse */
    } else {
        const FFT_T inner = (FFT_T)f->inner;
        x += row * 2 * half;
        to.im[0] = x[0], to.re[0] = 0;
        for (int64_t k = 1; k < half; k++) {
            to.im[k] = to.im[n - k] = x[2 * k] * inner;
            to.re[k] = x[2 * k + 1] * inner;
            to.re[n - k] = -to.re[k];
        }
    }
}
static void FFT_NAME(store_row)(const wick_fourier *f, const FFT_T *table, int64_t row, SPLIT from, void *yv) {
    const int64_t n = f->n, half = n / 2 + 1;
    const FFT_T scale = (FFT_T)f->scale, inner = (FFT_T)(f->scale * f->inner);
    FFT_T *y = yv;
    if (f->what == WICK_FFT_COMPLEX) {
        FFT_NAME(join_pairs)(n, f->inverse ? from.im : from.re, f->inverse ? from.re : from.im, scale, y + row * 2 * n);
    } else if (f->what == WICK_FFT_REAL && f->core != n) {
        FFT_NAME(untangle)(f, table, from.re, from.im, y + row * 2 * half);
    } else if (f->what == WICK_FFT_REAL) {
        y += row * 2 * half;
        y[0] = from.re[0] * scale, y[1] = 0;
        for (int64_t k = 1; k < half; k++) y[2 * k] = from.re[k] * inner, y[2 * k + 1] = from.im[k] * inner;
    } else if (f->core != n) {
        FFT_NAME(join_pairs)(f->core, from.im, from.re, scale, y + row * n);
    } else {
        for (int64_t k = 0; k < n; k++) y[row * n + k] = from.im[k] * scale;
    }
}

/* Transforms the f->size numbers of x in two steps; returns where the result is: in x, or, unless `keep`, in a or b.
 * With size = n1 n2, j = n2 j1 + j2 and k = k1 + n1 k2: columns of n1, times w^(k1 j2) and transposed, columns of n2.
 */
static SPLIT FFT_NAME(two_steps)(const wick_fourier *f, const FFT_T *table, SPLIT x, SPLIT y, SPLIT a, SPLIT b,
                                 bool keep) {
    enum { L = FFT_LANES };
    const wick_fft_passes *first = &f->passes[0], *second = &f->passes[1];
    const int64_t n1 = first->n, n2 = second->n, rows = (n1 + L - 1) / L * L, cols = (n2 + L - 1) / L * L;
    const FFT_T *middle = table + f->at_middle;
    for (int64_t c = 0; c < cols; c += first->block) {
        c = WICK_MIN(c, cols - first->block); /* the last block overlaps the one before */
        SPLIT t = FFT_NAME(columns)(first, table, (SPLIT){x.re + c, x.im + c}, n2, a, b);
        for (int64_t k = 1; k < n1; k++) {
            FFT_T *re = t.re + k * first->block, *im = t.im + k * first->block;
            const FFT_T *w = middle + k * cols + c;
            for (int64_t q = 0; q < first->block; q += L) {
                const VEC u = FFT_NAME(load)(re + q), v = FFT_NAME(load)(im + q), wr = FFT_NAME(load)(w + q),
                          wi = FFT_NAME(load)(w + n1 * cols + q);
                FFT_NAME(store)(re + q, FFT_NAME(fma)(u, wr, -(v * wi)));
                FFT_NAME(store)(im + q, FFT_NAME(fma)(u, wi, v * wr));
            }
        }
        FFT_NAME(transpose)(rows, first->block, t.re, first->block, y.re + c * rows, rows);
        FFT_NAME(transpose)(rows, first->block, t.im, first->block, y.im + c * rows, rows);
    }
    for (int64_t c = 0; c < rows; c += second->block) {
        c = WICK_MIN(c, rows - second->block);
        SPLIT t = FFT_NAME(columns)(second, table, (SPLIT){y.re + c, y.im + c}, rows, a, b);
        if (second->block == n1 && !keep) return t; /* all of it, without gaps */
        const size_t count = (size_t)WICK_MIN(second->block, n1 - c) * sizeof(FFT_T);
        for (int64_t k = 0; k < n2; k++) {
            memcpy(x.re + k * n1 + c, t.re + k * second->block, count);
            memcpy(x.im + k * n1 + c, t.im + k * second->block, count);
        }
    }
    return x;
}

static void FFT_NAME(multiply)(int64_t n, SPLIT x, const FFT_T *w, int64_t w_im) {
    for (int64_t j = 0; j < n; j++) {
        const FFT_T re = x.re[j], im = x.im[j], wr = w[j], wi = w[w_im + j];
        x.re[j] = re * wr - im * wi;
        x.im[j] = re * wi + im * wr;
    }
}

/* Bluestein: in x, with room y. */
static SPLIT FFT_NAME(convolve)(const wick_fourier *f, const FFT_T *table, SPLIT x, SPLIT y, SPLIT a, SPLIT b) {
    const int64_t n = f->core, m = f->size;
    FFT_NAME(multiply)(n, x, table + f->at_chirp, n);
    memset(x.re + n, 0, (size_t)(m - n) * sizeof(FFT_T));
    memset(x.im + n, 0, (size_t)(m - n) * sizeof(FFT_T));
    FFT_NAME(two_steps)(f, table, x, y, a, b, true);
    FFT_NAME(multiply)(m, x, table + f->at_filter, m);
    /* inverse; the filter has 1 / m */
    const SPLIT t = FFT_NAME(two_steps)(f, table, (SPLIT){x.im, x.re}, (SPLIT){y.im, y.re}, a, b, false);
    FFT_NAME(multiply)(n, (SPLIT){t.im, t.re}, table + f->at_chirp, n);
    return (SPLIT){t.im, t.re};
}

/* Columns [at, at + L) of x number `outer`, as far as there are any: pairs side by side are lanes as they come. */
static void FFT_NAME(column_block)(const wick_fourier *f, const FFT_T *table, int64_t outer, int64_t at, const FFT_T *x,
                                   FFT_T *y, SPLIT in, SPLIT a, SPLIT b) {
    enum { L = FFT_LANES };
    const int64_t columns = f->columns, count = WICK_MIN(L, columns - at);
    const FFT_T scale = (FFT_T)f->scale;
    SPLIT to = f->inverse ? (SPLIT){in.im, in.re} : in;
    x += 2 * (outer * f->n * columns + at), y += 2 * (outer * f->n * columns + at);
    if (count < L) memset(in.re, 0, (size_t)(f->n * L) * sizeof *x), memset(in.im, 0, (size_t)(f->n * L) * sizeof *x);
    for (int64_t j = 0; j < f->n; j++) FFT_NAME(split_pairs)(count, x + 2 * j * columns, to.re + j * L, to.im + j * L);
    const SPLIT t = FFT_NAME(columns)(&f->passes[0], table, in, L, a, b);
    to = f->inverse ? (SPLIT){t.im, t.re} : t;
    for (int64_t k = 0; k < f->n; k++)
        FFT_NAME(join_pairs)(count, to.re + k * L, to.im + k * L, scale, y + 2 * k * columns);
}

static void FFT_NAME(run)(const wick_fourier *f, int64_t begin, int64_t end, const void *xv, void *yv,
                          const void *tablev, void *scratch) {
    enum { L = FFT_LANES };
    const FFT_T *table = tablev;
    FFT_T *at = scratch;
    const SPLIT x = {at, at + f->cap}, y = {at + 2 * f->cap, at + 3 * f->cap};
    at += 4 * f->cap;
    const SPLIT a = {at, at + f->cap_block}, b = {at + 2 * f->cap_block, at + 3 * f->cap_block};
    if (!f->batch) {
        for (int64_t row = begin; row < end; row++) {
            FFT_NAME(load_row)(f, table, row, xv, x);
            const SPLIT t = f->size == f->core ? FFT_NAME(two_steps)(f, table, x, y, a, b, false)
                                               : FFT_NAME(convolve)(f, table, x, y, a, b);
            FFT_NAME(store_row)(f, table, row, t, yv);
        }
        return;
    }
    if (f->columns) {
        const int64_t blocks = (f->columns + L - 1) / L;
        for (int64_t place = begin; place < end; place += L)
            FFT_NAME(column_block)(f, table, place / L / blocks, place / L % blocks * L, xv, yv, y, a, b);
        return;
    }
    const int64_t wide = (f->size + L - 1) / L * L;
    for (int64_t row = begin; row < end; row += L) {
        const bool whole = f->size % L == 0 && row + L <= end &&
                           (f->what == WICK_FFT_COMPLEX || (f->what == WICK_FFT_REAL && f->core != f->n));
        const bool exchanged = f->what == WICK_FFT_COMPLEX && f->inverse;
        if (whole)
            FFT_NAME(split_rows)
            (f->size, (const FFT_T *)xv + row * 2 * f->size, 2 * f->size, exchanged ? y.im : y.re,
             exchanged ? y.re : y.im);
        for (int l = 0; l < L && !whole; l++) {
            const SPLIT to = {x.re + l * wide, x.im + l * wide};
            if (row + l < end) {
                FFT_NAME(load_row)(f, table, row + l, xv, to);
            } else {
                memset(to.re, 0, (size_t)wide * sizeof(FFT_T));
                memset(to.im, 0, (size_t)wide * sizeof(FFT_T));
            }
        }
        if (!whole) FFT_NAME(transpose)(L, wide, x.re, wide, y.re, L);
        if (!whole) FFT_NAME(transpose)(L, wide, x.im, wide, y.im, L);
        const SPLIT t = FFT_NAME(columns)(&f->passes[0], table, y, L, a, b);
        if (whole && f->what == WICK_FFT_COMPLEX) {
            FFT_NAME(join_rows)
            (f->size, exchanged ? t.im : t.re, exchanged ? t.re : t.im, (FFT_T)f->scale,
             (FFT_T *)yv + row * 2 * f->size, 2 * f->size);
            continue;
        }
        FFT_NAME(transpose)(wide, L, t.re, L, x.re, wide);
        FFT_NAME(transpose)(wide, L, t.im, L, x.im, wide);
        for (int l = 0; l < L && row + l < end; l++)
            FFT_NAME(store_row)(f, table, row + l, (SPLIT){x.re + l * wide, x.im + l * wide}, yv);
    }
}
#undef VEC
#undef C
#undef SPLIT
