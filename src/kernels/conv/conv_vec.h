/* conv_vec.h: convolutions of each channel on its own, of one type over the vectors of gemm_vec.h. Included by
 * conv_tier.c. */

/* Parts of vectors, since what lies behind the last channels may not be readable: with masks, or element by element. */
#if WICK_TIER_ID == 3
#define CONV_MASKED 1
typedef __mmask16 CONV_NAME(part);
GEMM_INLINE CONV_NAME(part) CONV_NAME(part_of)(int64_t width) { return (CONV_NAME(part))((1u << width) - 1); }
GEMM_INLINE CONV_NAME(vec) CONV_NAME(load_part)(const CONV_T *p, CONV_NAME(part) part) {
    return GEMM_BITS == 32 ? (CONV_NAME(vec))_mm512_maskz_loadu_ps(part, p)
                           : (CONV_NAME(vec))_mm512_maskz_loadu_pd((__mmask8)part, p);
}
GEMM_INLINE void CONV_NAME(store_part)(CONV_T *p, CONV_NAME(vec) v, CONV_NAME(part) part) {
    if (GEMM_BITS == 32)
        _mm512_mask_storeu_ps(p, part, (__m512)v);
    else
        _mm512_mask_storeu_pd(p, (__mmask8)part, (__m512d)v);
}
#elif WICK_TIER_ID == 2
#define CONV_MASKED 1
typedef __m256i CONV_NAME(part);
GEMM_INLINE CONV_NAME(part) CONV_NAME(part_of)(int64_t width) {
    return GEMM_BITS == 32
               ? _mm256_cmpgt_epi32(_mm256_set1_epi32((int)width), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
               : _mm256_cmpgt_epi64(_mm256_set1_epi64x(width), _mm256_setr_epi64x(0, 1, 2, 3));
}
GEMM_INLINE CONV_NAME(vec) CONV_NAME(load_part)(const CONV_T *p, CONV_NAME(part) part) {
    return GEMM_BITS == 32 ? (CONV_NAME(vec))_mm256_maskload_ps((const float *)(const void *)p, part)
                           : (CONV_NAME(vec))_mm256_maskload_pd((const double *)(const void *)p, part);
}
GEMM_INLINE void CONV_NAME(store_part)(CONV_T *p, CONV_NAME(vec) v, CONV_NAME(part) part) {
    if (GEMM_BITS == 32)
        _mm256_maskstore_ps((float *)(void *)p, part, (__m256)v);
    else
        _mm256_maskstore_pd((double *)(void *)p, part, (__m256d)v);
}
#else
#define CONV_MASKED 0
typedef int64_t CONV_NAME(part);
GEMM_INLINE CONV_NAME(part) CONV_NAME(part_of)(int64_t width) { return width; }
GEMM_INLINE CONV_NAME(vec) CONV_NAME(load_part)(const CONV_T *p, CONV_NAME(part) part) {
    CONV_T x[CONV_NAME(L)] = {0};
    for (int64_t i = 0; i < part; i++) x[i] = p[i];
    return CONV_NAME(load)(x);
}
GEMM_INLINE void CONV_NAME(store_part)(CONV_T *p, CONV_NAME(vec) v, CONV_NAME(part) part) {
    CONV_T x[CONV_NAME(L)];
    CONV_NAME(store)(x, v);
    for (int64_t i = 0; i < part; i++) p[i] = x[i];
}
#endif
/* Past the caches: a vector is a line, or two neighbours written one after the other are (stream_pixels), of which
 * nothing has to be read first. */
#if WICK_TIER_ID == 3
#define CONV_PAST 1
GEMM_INLINE void CONV_NAME(store_nontemporal)(CONV_T *p, CONV_NAME(vec) v) {
    if (GEMM_BITS == 32)
        _mm512_stream_ps((float *)(void *)p, (__m512)v);
    else
        _mm512_stream_pd((double *)(void *)p, (__m512d)v);
}
#elif WICK_TIER_ID == 2
#define CONV_PAST 1
GEMM_INLINE void CONV_NAME(store_nontemporal)(CONV_T *p, CONV_NAME(vec) v) {
    if (GEMM_BITS == 32)
        _mm256_stream_ps((float *)(void *)p, (__m256)v);
    else
        _mm256_stream_pd((double *)(void *)p, (__m256d)v);
}
#else
#define CONV_PAST 0
GEMM_INLINE void CONV_NAME(store_nontemporal)(CONV_T *p, CONV_NAME(vec) v) { CONV_NAME(store)(p, v); }
#endif
/* Half a vector: twice, or beside zeros. */
#if WICK_TIER_ID == 3
GEMM_INLINE CONV_NAME(vec) CONV_NAME(half_twice)(const CONV_T *p) {
    return (CONV_NAME(vec))_mm512_broadcast_f64x4(_mm256_loadu_pd((const double *)(const void *)p));
}
GEMM_INLINE CONV_NAME(vec) CONV_NAME(half_low)(const CONV_T *p) {
    return (CONV_NAME(vec))_mm512_insertf64x4(_mm512_setzero_pd(), _mm256_loadu_pd((const double *)(const void *)p), 0);
}
GEMM_INLINE CONV_NAME(vec) CONV_NAME(half_high)(const CONV_T *p) {
    return (CONV_NAME(vec))_mm512_insertf64x4(_mm512_setzero_pd(), _mm256_loadu_pd((const double *)(const void *)p), 1);
}
#else
GEMM_INLINE CONV_NAME(vec) CONV_NAME(halves)(const CONV_T *p, const bool low, const bool high) {
    enum { HALF = CONV_NAME(L) / 2 };
    CONV_T x[2 * HALF] = {0};
    for (int i = 0; i < HALF; i++) {
        if (low) x[i] = p[i];
        if (high) x[HALF + i] = p[i];
    }
    return CONV_NAME(load)(x);
}
GEMM_INLINE CONV_NAME(vec) CONV_NAME(half_twice)(const CONV_T *p) { return CONV_NAME(halves)(p, true, true); }
GEMM_INLINE CONV_NAME(vec) CONV_NAME(half_low)(const CONV_T *p) { return CONV_NAME(halves)(p, true, false); }
GEMM_INLINE CONV_NAME(vec) CONV_NAME(half_high)(const CONV_T *p) { return CONV_NAME(halves)(p, false, true); }
#endif
/* What several multiply-adds read stays in a register: compilers would make a load of each of them. */
#if WICK_TIER_ID >= 2
#define CONV_KEEP(v) __asm__("" : "+v"(v))
#else
#define CONV_KEEP(v) (void)0
#endif
#define CONV_LOAD(p)     (whole ? CONV_NAME(load)(p) : CONV_NAME(load_part)(p, part))
#define CONV_STORE(p, v) (whole ? CONV_NAME(store)(p, v) : CONV_NAME(store_part)(p, v, part))

/* So many pixels of one vector of channels; n is a constant at every call. width < L, where it isn't whole: the last
 * channels. */
GEMM_INLINE void CONV_NAME(pixels)(const wick_depthwise_run_of *r, int64_t first, int64_t channel, const int n,
                                   const bool whole, int64_t width) {
    const CONV_NAME(part) part = CONV_NAME(part_of)(width);
    CONV_T *dst = (CONV_T *)r->dst + first * r->dst_pixel + channel;
    const int64_t at = first * r->src_pixel + channel;
    CONV_NAME(vec) acc[8];
    GEMM_UNROLL
    for (int i = 0; i < n; i++) acc[i] = (CONV_NAME(vec)){0};
    for (int64_t t = 0; t < r->taps; t++) {
        const CONV_NAME(vec) wv = CONV_LOAD((const CONV_T *)r->w[t] + channel);
        const CONV_T *x = (const CONV_T *)r->src[t] + at;
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] = CONV_NAME(fma)(wv, CONV_LOAD(x + i * r->src_pixel), acc[i]);
    }
    if (r->bias) {
        const CONV_NAME(vec) b = CONV_LOAD((const CONV_T *)r->bias + channel);
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] += b;
    }
    GEMM_UNROLL
    for (int i = 0; i < n; i++) CONV_STORE(dst + i * r->dst_pixel, r->relu ? CONV_NAME(relu)(acc[i]) : acc[i]);
}

static void CONV_NAME(values)(const wick_depthwise_run_of *r) {
    enum { L = CONV_NAME(L) };
    for (int64_t channel = 0; channel < r->channels; channel += L) {
        const int64_t width = WICK_MIN(L, r->channels - channel);
        int64_t p = 0;
        if (width == L) {
            for (; p + 8 <= r->pixels; p += 8) CONV_NAME(pixels)(r, p, channel, 8, true, L);
            if (p + 4 <= r->pixels) CONV_NAME(pixels)(r, p, channel, 4, true, L), p += 4;
            if (p + 2 <= r->pixels) CONV_NAME(pixels)(r, p, channel, 2, true, L), p += 2;
            if (p < r->pixels) CONV_NAME(pixels)(r, p, channel, 1, true, L), p++;
        }
        for (; CONV_MASKED && p + 8 <= r->pixels; p += 8) CONV_NAME(pixels)(r, p, channel, 8, false, width);
        for (; p < r->pixels; p++) CONV_NAME(pixels)(r, p, channel, 1, false, width);
    }
}

/* n pixels from `at` on; near: they read nothing outside. */
GEMM_INLINE void CONV_NAME(row_pixels)(const wick_depthwise_row_of *r, int64_t at, int64_t channel, const int n,
                                       const bool near, const bool whole, CONV_NAME(part) part) {
    const int64_t next = r->step * r->src_pixel, from = (r->lo + at * r->step) * r->src_pixel + channel,
                  tap = r->tap_at * r->src_pixel;
    CONV_NAME(vec) acc[8];
    GEMM_UNROLL
    for (int i = 0; i < n; i++) acc[i] = (CONV_NAME(vec)){0};
    for (int64_t y = 0; y < r->rows; y++) {
        const CONV_T *w = (const CONV_T *)r->w[y] + channel, *x = near ? (const CONV_T *)r->src[y] + from : NULL;
        const void *const *column = near ? NULL : r->columns + y * r->n_columns + at * r->step;
        for (int64_t t = 0; t < r->taps; t++, w += r->w_tap) {
            const CONV_NAME(vec) wv = CONV_LOAD(w);
            GEMM_UNROLL
            for (int i = 0; i < n; i++)
                acc[i] = CONV_NAME(fma)(
                    wv, CONV_LOAD(near ? x + i * next : (const CONV_T *)column[i * r->step] + channel), acc[i]);
            if (near)
                x += tap;
            else
                column += r->tap_at;
        }
    }
    if (r->bias) {
        const CONV_NAME(vec) b = CONV_LOAD((const CONV_T *)r->bias + channel);
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] += b;
    }
    CONV_T *dst = (CONV_T *)r->dst + at * r->dst_pixel + channel;
    GEMM_UNROLL
    for (int i = 0; i < n; i++) CONV_STORE(dst + i * r->dst_pixel, r->relu ? CONV_NAME(relu)(acc[i]) : acc[i]);
}

/* All channels of n pixels. */
GEMM_INLINE void CONV_NAME(row_block)(const wick_depthwise_row_of *r, int64_t at, const int n, const bool near) {
    enum { L = CONV_NAME(L) };
    const int64_t rest = r->channels % L, wholes = r->channels - rest;
    for (int64_t channel = 0; channel < wholes; channel += L)
        CONV_NAME(row_pixels)(r, at, channel, n, near, true, CONV_NAME(part_of)(rest));
    if (!rest) return;
    if (CONV_MASKED)
        CONV_NAME(row_pixels)(r, at, wholes, n, near, false, CONV_NAME(part_of)(rest));
    else
        for (int i = 0; i < n; i++) CONV_NAME(row_pixels)(r, at + i, wholes, 1, near, false, CONV_NAME(part_of)(rest));
}
#define CONV_BLOCK(n, near)                                                                                            \
    static __attribute__((noinline)) void CONV_NAME(row_##near##n)(const wick_depthwise_row_of *r, int64_t at) {       \
        CONV_NAME(row_block)(r, at, n, near);                                                                          \
    }
CONV_BLOCK(1, true)
CONV_BLOCK(2, true)
CONV_BLOCK(4, true)
CONV_BLOCK(8, true)
CONV_BLOCK(1, false)
CONV_BLOCK(2, false)
CONV_BLOCK(3, false)
CONV_BLOCK(4, false)
CONV_BLOCK(5, false)
CONV_BLOCK(6, false)
CONV_BLOCK(7, false)
CONV_BLOCK(8, false)
#undef CONV_BLOCK

#if GEMM_BITS == 32 /* f64 goes the way of other kernels, with the same bits */
/* Some outputs of three taps, as pointers: by row of the source its first column, the second and those that follow, and
 * the last, zeros where they are padding; and the elements from those of a line of outputs to those of the next. */
typedef struct CONV_NAME(three_columns) {
    const CONV_T *first[WICK_DEPTHWISE_ROWS], *second[WICK_DEPTHWISE_ROWS], *last[WICK_DEPTHWISE_ROWS];
    int64_t first_line, second_line, last_line;
} CONV_NAME(three_columns);
/* Rows whose weights stay in registers from line to line, where vectors of channels go one after the other: 3 x 3. */
enum { CONV_NAME(KEPT) = WICK_TIER_ID == 3 ? 3 : 0 };

/* What row y of the source adds to n outputs of a line: each column is read once, for all outputs that it is in. n,
 * step and flags are constants at every call, but for left and right. */
GEMM_INLINE void CONV_NAME(three_row)(CONV_NAME(vec) * acc, const CONV_NAME(vec) * w,
                                      const CONV_NAME(three_columns) * at, int64_t y, int64_t line, int64_t pixel,
                                      int64_t channel, const int n, const int step, const bool whole,
                                      CONV_NAME(part) part, const bool pairs, bool left, bool right) {
    const int columns = (n - 1) * step + 3;
    const CONV_T *first = at->first[y] + channel + line * at->first_line,
                 *second = at->second[y] + channel + line * at->second_line,
                 *last = at->last[y] + channel + line * at->last_line;
    GEMM_UNROLL
    for (int k = 0; k < columns; k++) {
        CONV_NAME(vec) v;
        if (pairs && k == 0 && left)
            v = CONV_NAME(half_high)(first);
        else if (pairs && k == columns - 1 && right)
            v = CONV_NAME(half_low)(last);
        else
            v = CONV_LOAD(k == 0 ? first : k == columns - 1 ? last : second + (k - 1) * pixel);
        CONV_KEEP(v);
        GEMM_UNROLL
        for (int i = 0; i < n; i++)
            if (k >= i * step && k < i * step + 3) acc[i] = CONV_NAME(fma)(w[k - i * step], v, acc[i]);
    }
}

/* Nontemporal stores of one vector of channels of n pixels, or of all pixels but the last. Where a vector is half a
 * cache line, the first half waits in `held` for the second one, if that is below `wholes` channels; held NULL: it does
 * not wait. Halves that are stored apart, with other lines between them, may reach memory as two writes, since the
 * core's other thread can take the write-combining buffer in which they would have met. */
GEMM_INLINE void CONV_NAME(stream_pixels)(CONV_T *dst, int64_t dst_pixel, const CONV_NAME(vec) * acc, const int n,
                                          bool all, int64_t channel, int64_t wholes, CONV_T *held) {
    enum { L = CONV_NAME(L) };
    const bool halves = WICK_TIER_ID == 2 && held, second = halves && channel / L % 2,
               waits = halves && !second && channel + 2 * L <= wholes;
    GEMM_UNROLL
    for (int i = 0; i < n; i++) {
        if (i == n - 1 && !all) break;
        if (waits) {
            CONV_NAME(store)(held + i * L, acc[i]);
            continue;
        }
        if (second) CONV_NAME(store_nontemporal)(dst + i * dst_pixel - L, CONV_NAME(load)(held + i * L));
        CONV_NAME(store_nontemporal)(dst + i * dst_pixel, acc[i]);
    }
}

/* One vector of channels of n outputs of a line. kept: the weights, or NULL; whether it is is a constant at every call.
 * pairs: outputs are two pixels of half a vector of channels, columns too, from every pixel on; of the first column
 * only the second pixel may be there, of the last the first. */
GEMM_INLINE void CONV_NAME(three_pixels)(const wick_depthwise_row_of *r, const CONV_NAME(three_columns) * at,
                                         int64_t line, CONV_T *dst, int64_t channel, const CONV_NAME(vec) * kept,
                                         const int n, const int step, const bool whole, CONV_NAME(part) part,
                                         const bool pairs, bool left, bool right) {
    const int64_t pixel = r->src_pixel, w_tap = r->w_tap, dst_pixel = (pairs ? 2 : 1) * r->dst_pixel;
    const bool relu = r->relu;
    CONV_NAME(vec) acc[8];
    /* into L2: it is a while until they are read */
    for (int64_t y = r->ahead ? WICK_MAX(r->rows - step, 0) : r->rows; y < r->rows; y++) {
        /* of a stride of 1 there is one line */
        const CONV_T *next = at->second[y] + channel + (step == 2 ? line * at->second_line : 0) + r->ahead;
        GEMM_UNROLL
        for (int k = 0; k < n * step; k++) __builtin_prefetch(next + k * pixel, 0, 2);
    }
    GEMM_UNROLL
    for (int i = 0; i < n; i++) acc[i] = (CONV_NAME(vec)){0};
    if (kept) {
        GEMM_UNROLL
        for (int y = 0; y < CONV_NAME(KEPT); y++)
            CONV_NAME(three_row)
            (acc, kept + 3 * y, at, y, line, pixel, channel, n, step, whole, part, pairs, left, right);
    } else {
        for (int64_t y = 0; y < r->rows; y++) {
            const CONV_T *w = (const CONV_T *)r->w[y] + channel;
            CONV_NAME(vec) wv[3];
            GEMM_UNROLL
            for (int t = 0; t < 3; t++) wv[t] = pairs ? CONV_NAME(half_twice)(w + t * w_tap) : CONV_LOAD(w + t * w_tap);
            CONV_NAME(three_row)(acc, wv, at, y, line, pixel, channel, n, step, whole, part, pairs, left, right);
        }
    }
    if (r->bias) {
        const CONV_NAME(vec) b = pairs ? CONV_NAME(half_twice)(r->bias) : CONV_LOAD((const CONV_T *)r->bias + channel);
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] += b;
    }
    if (relu) {
        GEMM_UNROLL
        for (int i = 0; i < n; i++) acc[i] = CONV_NAME(relu)(acc[i]);
    }
    dst += channel + line * r->dst_line;
    if (CONV_PAST && r->nontemporal && whole && !pairs) {
        const int64_t wholes = r->channels - r->channels % CONV_NAME(L);
        /* of several lines all pass by before the next vector */
        CONV_NAME(stream_pixels)(dst, dst_pixel, acc, n, true, channel, wholes, r->lines > 1 ? NULL : r->held);
        return;
    }
    GEMM_UNROLL
    for (int i = 0; i < n; i++) CONV_STORE(dst + i * dst_pixel, acc[i]);
}
/* The same of all lines. keep: weights, where they may be; a constant at every call. */
GEMM_INLINE void CONV_NAME(three_lines)(const wick_depthwise_row_of *r, const CONV_NAME(three_columns) * at,
                                        CONV_T *dst, int64_t channel, const int n, const int step, const bool whole,
                                        CONV_NAME(part) part, const bool pairs, const bool keep, bool left,
                                        bool right) {
    if (!keep || !CONV_NAME(KEPT) || r->rows != CONV_NAME(KEPT)) {
        for (int64_t line = 0; line < r->lines; line++)
            CONV_NAME(three_pixels)(r, at, line, dst, channel, NULL, n, step, whole, part, pairs, left, right);
        return;
    }
    CONV_NAME(vec) kept[9];
    GEMM_UNROLL
    for (int t = 0; t < 9; t++) {
        const CONV_T *w = (const CONV_T *)r->w[t / 3] + t % 3 * r->w_tap + channel;
        kept[t] = pairs ? CONV_NAME(half_twice)(w) : CONV_LOAD(w);
    }
    for (int64_t line = 0; line < r->lines; line++)
        CONV_NAME(three_pixels)(r, at, line, dst, channel, kept, n, step, whole, part, pairs, left, right);
}

enum { CONV_STRIPS = WICK_TIER_ID > 1 };
/* Three rows of three taps, n outputs of each line, whole vectors of channels: a strip down the lines, each line with
 * all channels. Reads of n pixels are then contiguous, which the prefetcher follows, and stay in L1 for the next line.
 * Going by one vector of channels at a time would instead meet stores a multiple of 4 KB from its loads. What a line
 * needs is in local variables, so that no store can alias it. from_dram: the next line's source is prefetched first,
 * all at once, and results may be stored nontemporally. n, step and from_dram are constants at every call. */
GEMM_INLINE void CONV_NAME(three_strip)(const wick_depthwise_row_of *r, int64_t at, int64_t channels, const int n,
                                        const int step, const bool from_dram) {
    const int64_t pixel = r->src_pixel, from = (r->lo + at * step) * pixel, w_tap = r->w_tap, dst_pixel = r->dst_pixel,
                  ahead = r->ahead;
    const bool left = r->left && at == 0, right = r->right && at + n == r->count, relu = r->relu,
               nontemporal = CONV_PAST && from_dram && r->nontemporal;
    const CONV_T *bias = (const CONV_T *)r->bias;
    for (int64_t line = 0; line < r->lines; line++) {
        const CONV_T *first[3], *second[3], *last[3], *w[3];
        CONV_T *dst = (CONV_T *)r->dst + at * dst_pixel + line * r->dst_line;
        GEMM_UNROLL
        for (int y = 0; y < 3; y++) {
            const CONV_T *x = (const CONV_T *)r->src[y] + from + line * r->src_line;
            w[y] = (const CONV_T *)r->w[y];
            first[y] = left ? (const CONV_T *)r->zeros : x;
            second[y] = x + pixel;
            last[y] = right ? (const CONV_T *)r->zeros : x + ((n - 1) * step + 2) * pixel;
        }
        for (int64_t channel = 0; channel < channels; channel += CONV_NAME(L)) {
            CONV_NAME(vec) acc[8];
            GEMM_UNROLL
            for (int y = from_dram ? 3 - step : 3; y < 3; y++) {
                GEMM_UNROLL
                for (int k = 0; k < n * step; k++) {
                    const CONV_T *next = second[y] + k * pixel + channel + ahead;
                    if (step == 2) __builtin_prefetch(next);
                    else __builtin_prefetch(next, 0, 2); /* a row's next one is far: into L2 */
                }
            }
            GEMM_UNROLL
            for (int i = 0; i < n; i++) acc[i] = (CONV_NAME(vec)){0};
            GEMM_UNROLL
            for (int y = 0; y < 3; y++) {
                CONV_NAME(vec) wv[3];
                GEMM_UNROLL
                for (int t = 0; t < 3; t++) wv[t] = CONV_NAME(load)(w[y] + t * w_tap + channel);
                GEMM_UNROLL
                for (int k = 0; k < (n - 1) * step + 3; k++) {
                    CONV_NAME(vec)
                    v = CONV_NAME(load)((k == 0                    ? first[y]
                                         : k == (n - 1) * step + 2 ? last[y]
                                                                   : second[y] + (k - 1) * pixel) +
                                        channel);
                    CONV_KEEP(v);
                    GEMM_UNROLL
                    for (int i = 0; i < n; i++)
                        if (k >= i * step && k < i * step + 3) acc[i] = CONV_NAME(fma)(wv[k - i * step], v, acc[i]);
                }
            }
            if (bias) {
                const CONV_NAME(vec) b = CONV_NAME(load)(bias + channel);
                GEMM_UNROLL
                for (int i = 0; i < n; i++) acc[i] += b;
            }
            if (relu) {
                GEMM_UNROLL
                for (int i = 0; i < n; i++) acc[i] = CONV_NAME(relu)(acc[i]);
            }
            if (nontemporal) {
                CONV_NAME(stream_pixels)(dst + channel, dst_pixel, acc, n, true, channel, channels, r->held);
                continue;
            }
            GEMM_UNROLL
            for (int i = 0; i < n; i++) CONV_NAME(store)(dst + i * dst_pixel + channel, acc[i]);
        }
    }
}

/* Most rows are in blocks of 7 or 8. */
#define CONV_STRIP(n, step, from_dram)                                                                                 \
    static __attribute__((noinline)) void CONV_NAME(strip_##n##_##step##_##from_dram)(const wick_depthwise_row_of *r,  \
                                                                                      int64_t at, int64_t channels) {  \
        if (CONV_STRIPS) CONV_NAME(three_strip)(r, at, channels, n, step, from_dram);                                  \
    }
CONV_STRIP(7, 1, false)
CONV_STRIP(8, 1, false)
CONV_STRIP(7, 2, false)
CONV_STRIP(8, 2, false)
CONV_STRIP(7, 2, true)
CONV_STRIP(8, 2, true)
#undef CONV_STRIP

/* All channels of n outputs of each line, from `at` on. */
GEMM_INLINE void CONV_NAME(three_block)(const wick_depthwise_row_of *r, int64_t at, const int n, const int step) {
    const int64_t rest = r->channels % CONV_NAME(L), wholes = r->channels - rest,
                  from = (r->lo + at * step) * r->src_pixel;
    const CONV_NAME(part) part = CONV_NAME(part_of)(rest);
    const bool left = r->left && at == 0, right = r->right && at + n == r->count;
    CONV_NAME(three_columns)
    columns = {.first_line = left ? 0 : r->src_line, .second_line = r->src_line, .last_line = right ? 0 : r->src_line};
    for (int64_t y = 0; y < r->rows; y++) {
        const CONV_T *x = (const CONV_T *)r->src[y];
        columns.first[y] = left ? (const CONV_T *)r->zeros : x + from;
        columns.second[y] = x + (from + r->src_pixel);
        columns.last[y] = right ? (const CONV_T *)r->zeros : x + (from + ((n - 1) * step + 2) * r->src_pixel);
    }
    CONV_T *dst = (CONV_T *)r->dst + at * r->dst_pixel;
    static void (*const strips[3][2])(const wick_depthwise_row_of *r, int64_t at,
                                      int64_t channels) = {{CONV_NAME(strip_7_1_false), CONV_NAME(strip_8_1_false)},
                                                           {CONV_NAME(strip_7_2_false), CONV_NAME(strip_8_2_false)},
                                                           {CONV_NAME(strip_7_2_true), CONV_NAME(strip_8_2_true)}};
    const bool from_dram = r->ahead || r->nontemporal,
               strip = CONV_STRIPS && n >= 7 && r->rows == 3 && !(step == 1 && from_dram);
    if (strip) strips[step == 2 ? 1 + from_dram : 0][n >= 7 ? n - 7 : 0](r, at, wholes);
    for (int64_t channel = strip ? wholes : 0; channel < wholes; channel += CONV_NAME(L))
        CONV_NAME(three_lines)(r, &columns, dst, channel, n, step, true, part, false, step == 1, false, false);
    if (rest && CONV_MASKED)
        CONV_NAME(three_lines)(r, &columns, dst, wholes, n, step, false, part, false, false, false, false);
    if (!rest || CONV_MASKED) return;
    for (int i = 0; i < n; i++) { /* one by one */
        CONV_NAME(three_columns) one = columns;
        for (int64_t y = 0; y < r->rows; y++) {
            one.second[y] = columns.second[y] + i * step * r->src_pixel;
            if (i > 0) one.first[y] = one.second[y] - r->src_pixel;
            if (i < n - 1) one.last[y] = one.second[y] + r->src_pixel;
        }
        if (i > 0) one.first_line = r->src_line;
        if (i < n - 1) one.last_line = r->src_line;
        CONV_NAME(three_lines)
        (r, &one, dst + i * r->dst_pixel, wholes, 1, step, false, part, false, false, false, false);
    }
}
#define CONV_THREE(n, step)                                                                                            \
    static __attribute__((noinline)) void CONV_NAME(three_##n##_##step)(const wick_depthwise_row_of *r, int64_t at) {  \
        CONV_NAME(three_block)(r, at, n, step);                                                                        \
    }
CONV_THREE(1, 1)
CONV_THREE(2, 1)
CONV_THREE(3, 1)
CONV_THREE(4, 1)
CONV_THREE(5, 1)
CONV_THREE(6, 1)
CONV_THREE(7, 1)
CONV_THREE(8, 1)
CONV_THREE(1, 2)
CONV_THREE(2, 2)
CONV_THREE(3, 2)
CONV_THREE(4, 2)
CONV_THREE(5, 2)
CONV_THREE(6, 2)
CONV_THREE(7, 2)
CONV_THREE(8, 2)
#undef CONV_THREE

/* n pairs of outputs from `at` on, an even number. */
GEMM_INLINE void CONV_NAME(three_pairs)(const wick_depthwise_row_of *r, int64_t at, const int n) {
    enum { HALF = CONV_NAME(L) / 2 };
    const int64_t from = (r->lo + at) * HALF;
    const bool left = r->left && at == 0, right = r->right && at + 2 * n == r->count;
    CONV_NAME(three_columns)
    columns = {.first_line = r->src_line, .second_line = r->src_line, .last_line = r->src_line};
    for (int64_t y = 0; y < r->rows; y++) {
        const CONV_T *x = (const CONV_T *)r->src[y];
        columns.first[y] = x + (left ? 0 : from);
        columns.second[y] = x + (from + HALF);
        columns.last[y] = x + (from + 2 * n * HALF);
    }
    CONV_NAME(three_lines)
    (r, &columns, (CONV_T *)r->dst + at * HALF, 0, n, 2, true, CONV_NAME(part_of)(0), true, true, left, right);
}
#define CONV_PAIRS(n)                                                                                                  \
    static __attribute__((noinline)) void CONV_NAME(three_pairs_##n)(const wick_depthwise_row_of *r, int64_t at) {     \
        CONV_NAME(three_pairs)(r, at, n);                                                                              \
    }
CONV_PAIRS(1)
CONV_PAIRS(2)
CONV_PAIRS(3)
CONV_PAIRS(4)
CONV_PAIRS(5)
CONV_PAIRS(6)
CONV_PAIRS(7)
CONV_PAIRS(8)
#undef CONV_PAIRS

/* Whole rows of outputs, in strips of one width or the next, each down all lines. */
static void CONV_NAME(row_of_three)(const wick_depthwise_row_of *r) {
    enum { HALF = CONV_NAME(L) / 2 };
    static void (*const all[3][8])(const wick_depthwise_row_of *r, int64_t at) = {
        {CONV_NAME(three_1_1), CONV_NAME(three_2_1), CONV_NAME(three_3_1), CONV_NAME(three_4_1), CONV_NAME(three_5_1),
         CONV_NAME(three_6_1), CONV_NAME(three_7_1), CONV_NAME(three_8_1)},
        {CONV_NAME(three_1_2), CONV_NAME(three_2_2), CONV_NAME(three_3_2), CONV_NAME(three_4_2), CONV_NAME(three_5_2),
         CONV_NAME(three_6_2), CONV_NAME(three_7_2), CONV_NAME(three_8_2)},
        {CONV_NAME(three_pairs_1), CONV_NAME(three_pairs_2), CONV_NAME(three_pairs_3), CONV_NAME(three_pairs_4),
         CONV_NAME(three_pairs_5), CONV_NAME(three_pairs_6), CONV_NAME(three_pairs_7), CONV_NAME(three_pairs_8)}};
    const bool pairs = r->channels == HALF && r->src_pixel == HALF && r->dst_pixel == HALF && r->step == 1;
    int64_t at = 0;
    for (int64_t n; pairs && at + 2 <= r->count; at += 2 * n) {
        const int64_t left = (r->count - at) / 2, blocks = (left + 7) / 8;
        n = (left + blocks - 1) / blocks;
        all[2][n - 1](r, at);
    }
    for (int64_t n; at < r->count; at += n) {
        const int64_t left = r->count - at, blocks = (left + 7) / 8;
        n = (left + blocks - 1) / blocks;
        all[r->step - 1][n - 1](r, at);
    }
}

enum { BOTH_MOST = WICK_TIER_ID == 3 ? 7 : 4 }; /* columns that registers hold both outputs of */
/* Both outputs of a stride of 2 for each of n columns of the source, of one vector of channels. n is a constant at
 * every call. */
GEMM_INLINE void CONV_NAME(both_pixels)(const wick_depthwise_row_of *r, int64_t at, int64_t channel, const int n,
                                        const bool whole, CONV_NAME(part) part) {
    const int64_t pixel = r->src_pixel, dst_pixel = r->dst_pixel, rows = r->rows, from = at * pixel + channel;
    const bool right = r->right && 2 * (at + n) >= r->count;
    CONV_NAME(vec) acc[14];
    if (r->ahead && rows) {
        const CONV_T *next = (const CONV_T *)r->src[rows - 1] + from + r->ahead;
        GEMM_UNROLL
        for (int k = 0; k < n; k++) __builtin_prefetch(next + k * pixel, 0, 2);
    }
    GEMM_UNROLL
    for (int i = 0; i < 2 * n; i++) acc[i] = (CONV_NAME(vec)){0};
    for (int64_t y = 0; y < rows; y++) {
        const CONV_T *x = (const CONV_T *)r->src[y] + from, *w = (const CONV_T *)r->w[y] + channel,
                     *last = right ? (const CONV_T *)r->zeros + channel : x + n * pixel;
        const CONV_NAME(vec) near = CONV_LOAD(w), far = CONV_LOAD(w + r->w_tap),
                             even = CONV_LOAD((const CONV_T *)r->even[y] + channel);
        GEMM_UNROLL
        for (int k = 0; k <= n; k++) {
            CONV_NAME(vec) v = CONV_LOAD(k == n ? last : x + k * pixel);
            CONV_KEEP(v);
            if (k) acc[2 * k - 1] = CONV_NAME(fma)(far, v, acc[2 * k - 1]);
            if (k == n) break;
            acc[2 * k] = CONV_NAME(fma)(even, v, acc[2 * k]);
            acc[2 * k + 1] = CONV_NAME(fma)(near, v, acc[2 * k + 1]);
        }
    }
    CONV_T *dst = (CONV_T *)r->dst + 2 * at * dst_pixel + channel;
    /* the last one is there */
    const bool nontemporal = CONV_PAST && r->nontemporal && whole, odd = 2 * (at + n) <= r->count;
    if (nontemporal) {
        const int64_t wholes = r->channels - r->channels % CONV_NAME(L);
        CONV_NAME(stream_pixels)(dst, dst_pixel, acc, 2 * n, odd, channel, wholes, r->held);
        return;
    }
    GEMM_UNROLL
    for (int i = 0; i < 2 * n; i++) {
        if (i == 2 * n - 1 && !odd) break;
        CONV_STORE(dst + i * dst_pixel, acc[i]);
    }
}
#define CONV_BOTH(n)                                                                                                   \
    static __attribute__((noinline)) void CONV_NAME(both_##n)(const wick_depthwise_row_of *r, int64_t at) {            \
        enum { L = CONV_NAME(L) };                                                                                     \
        const int64_t rest = r->channels % L, wholes = r->channels - rest;                                             \
        for (int64_t channel = 0; channel < wholes; channel += L)                                                      \
            CONV_NAME(both_pixels)(r, at, channel, n, true, CONV_NAME(part_of)(0));                                    \
        for (int i = 0; rest && !CONV_MASKED && i < n; i++)                                                            \
            CONV_NAME(both_pixels)(r, at + i, wholes, 1, false, CONV_NAME(part_of)(rest));                             \
        if (rest && CONV_MASKED) CONV_NAME(both_pixels)(r, at, wholes, n, false, CONV_NAME(part_of)(rest));            \
    }
CONV_BOTH(1)
CONV_BOTH(2)
CONV_BOTH(3)
CONV_BOTH(4)
CONV_BOTH(7)
#undef CONV_BOTH
static void CONV_NAME(row_of_both)(const wick_depthwise_row_of *r) {
    static void (*const all[])(const wick_depthwise_row_of *r, int64_t at) = {CONV_NAME(both_1), CONV_NAME(both_2),
                                                                              CONV_NAME(both_3), CONV_NAME(both_4)};
    const int64_t columns = (r->count + 1) / 2;
    int64_t at = 0;
    for (; BOTH_MOST == 7 && at + BOTH_MOST <= columns; at += 7) CONV_NAME(both_7)(r, at);
    for (int64_t n; at < columns; at += n) {
        const int64_t left = columns - at, blocks = (left + 3) / 4;
        n = (left + blocks - 1) / blocks;
        all[n - 1](r, at);
    }
}

/* n outputs of one vector of channels, `rows` rows of three taps: sums go on from one call to the next, in the order of
 * outputs. Each column is read once for all outputs that it is in: by row of the source the first, the second and those
 * that follow, and the last. Where registers are many, the products of an output follow each other, since they are of
 * different sums; else those of a row. n, step and rows are constants at every call. */
GEMM_INLINE void CONV_NAME(three_dots)(CONV_NAME(vec) * acc, const CONV_T *const *first, const CONV_T *const *second,
                                       const CONV_T *const *last, int64_t pixel, const CONV_T *y, int64_t y_pixel,
                                       const int n, const int step, const int rows, const bool whole,
                                       CONV_NAME(part) part) {
    enum { BY_OUTPUT = WICK_TIER_ID == 3 };
    const int columns = (n - 1) * step + 3;
    CONV_NAME(vec) v[3][17], yv[8];
    GEMM_UNROLL
    for (int outer = 0; outer < (BY_OUTPUT ? n : rows); outer++) {
        GEMM_UNROLL
        for (int inner = 0; inner < (BY_OUTPUT ? rows : n); inner++) {
            const int i = BY_OUTPUT ? outer : inner, r = BY_OUTPUT ? inner : outer;
            if (r == 0) {
                yv[i] = CONV_LOAD(y + i * y_pixel);
                CONV_KEEP(yv[i]);
            }
            GEMM_UNROLL
            for (int t = 0; t < 3; t++) {
                const int k = i * step + t;
                if (i == 0 || t >= 3 - step) { /* the first output that it is in */
                    v[r][k] = CONV_LOAD(k == 0 ? first[r] : k == columns - 1 ? last[r] : second[r] + (k - 1) * pixel);
                    CONV_KEEP(v[r][k]);
                }
                acc[3 * r + t] = CONV_NAME(fma)(yv[i], v[r][k], acc[3 * r + t]);
            }
        }
    }
}

/* Outputs [from, to) for rows [top, top + rows) of taps, one vector of channels. */
GEMM_INLINE void CONV_NAME(three_dots_row)(const wick_depthwise_row_of *r, int64_t from, int64_t to, int64_t top,
                                           int64_t channel, const int rows, const int step, const bool whole,
                                           CONV_NAME(part) part) {
    const int64_t pixel = r->src_pixel, y_pixel = r->dst_pixel, count = r->count;
    const CONV_T *zeros = (const CONV_T *)r->zeros + channel;
    CONV_T *line = (CONV_T *)r->line + channel;
    CONV_NAME(vec) acc[9];
    GEMM_UNROLL
    for (int k = 0; k < 3 * rows; k++) acc[k] = from ? CONV_LOAD(line + k * r->channels) : (CONV_NAME(vec)){0};
    for (int64_t at = from, n; at < to; at += n) {
        n = to - at >= 8 ? 8 : to - at >= 4 ? 4 : to - at >= 2 ? 2 : 1;
        const CONV_T *first[3], *second[3], *last[3], *y = (const CONV_T *)r->dst + at * y_pixel + channel;
        GEMM_UNROLL
        for (int k = 0; k < rows; k++) {
            const CONV_T *x = (const CONV_T *)r->src[top + k] + (r->lo + at * step) * pixel + channel;
            first[k] = r->left && at == 0 ? zeros : x;
            second[k] = x + pixel;
            last[k] = r->right && at + n == count ? zeros : x + ((n - 1) * step + 2) * pixel;
        }
#define CONV_DOTS(n) CONV_NAME(three_dots)(acc, first, second, last, pixel, y, y_pixel, n, step, rows, whole, part)
        if (n == 8)
            CONV_DOTS(8);
        else if (n == 4)
            CONV_DOTS(4);
        else if (n == 2)
            CONV_DOTS(2);
        else
            CONV_DOTS(1);
#undef CONV_DOTS
    }
    GEMM_UNROLL
    for (int k = 0; k < 3 * rows; k++) {
        CONV_T *sum = (CONV_T *)(uintptr_t)r->w[top + k / 3] + k % 3 * r->w_tap + channel;
        if (to == count)
            CONV_STORE(sum, CONV_LOAD(sum) + acc[k]);
        else
            CONV_STORE(line + k * r->channels, acc[k]);
    }
}
/* Prefetches n pixels from memory, a part of them with each vector of channels. `together`: all channels are
 * contiguous, and lines are asked for in memory order, which the hardware prefetcher continues. */
GEMM_INLINE void CONV_NAME(ask)(const CONV_T *at, int64_t pixel, int64_t n, int64_t channel, bool together) {
    enum { L = CONV_NAME(L), LINE = 64 / sizeof(CONV_T) };
    for (int64_t k = 0; together && k < n * L; k += LINE) __builtin_prefetch(at + n * channel + k, 0, 3);
    for (int64_t k = 0; !together && k < n; k++) __builtin_prefetch(at + k * pixel + channel, 0, 3);
}

/* Sources in L3 or memory are read in blocks of a few outputs, so that reads stay close together; the row's sums wait
 * in L1. Sources in memory are prefetched AHEAD / step pixels in advance. */
GEMM_INLINE void CONV_NAME(three_dots_rows)(const wick_depthwise_row_of *r, int64_t top, const int rows,
                                            const int step) {
    enum { L = CONV_NAME(L), BLOCK = 8, AHEAD = 16 };
    const int64_t rest = r->channels % L, wholes = r->channels - rest, x_pixel = r->src_pixel, y_pixel = r->dst_pixel;
    for (int64_t from = 0, to; from < r->count; from = to) {
        to = r->from_dram ? WICK_MIN(from + BLOCK / step, r->count) : r->count;
        for (int64_t channel = 0; channel < wholes; channel += L) {
            for (int k = WICK_MAX(rows - step, 0); r->ahead && k < rows; k++)
                CONV_NAME(ask)
                ((const CONV_T *)r->src[top + k] + (from * step + AHEAD / step) * x_pixel, x_pixel, (to - from) * step,
                 channel, x_pixel == r->channels);
            if (r->ahead)
                CONV_NAME(ask)
                ((const CONV_T *)r->dst + (from + AHEAD / step) * y_pixel, y_pixel, to - from, channel,
                 y_pixel == r->channels);
            CONV_NAME(three_dots_row)(r, from, to, top, channel, rows, step, true, CONV_NAME(part_of)(0));
        }
        if (rest) CONV_NAME(three_dots_row)(r, from, to, top, wholes, rows, step, false, CONV_NAME(part_of)(rest));
    }
}
static void CONV_NAME(row_dots)(const wick_depthwise_row_of *r) {
    int64_t top = 0;
    for (; top + 3 <= r->rows; top += 3) {
        if (r->step == 1)
            CONV_NAME(three_dots_rows)(r, top, 3, 1);
        else
            CONV_NAME(three_dots_rows)(r, top, 3, 2);
    }
    for (; top < r->rows; top++) {
        if (r->step == 1)
            CONV_NAME(three_dots_rows)(r, top, 1, 1);
        else
            CONV_NAME(three_dots_rows)(r, top, 1, 2);
    }
}
#endif

/* Pixels of half a vector of channels, side by side: two of them at a time, as one of twice the channels. Returns the
 * first of [begin, end) that is left. */
static int64_t CONV_NAME(row_of_pairs)(const wick_depthwise_row_of *r) {
    enum { L = CONV_NAME(L), HALF = L / 2, TAPS = 32 };
    if (r->channels != HALF || r->src_pixel != HALF || r->dst_pixel != HALF || r->step != 1 ||
        r->rows * r->taps > TAPS || r->end - r->begin < 8)
        return r->begin;
    CONV_T w[TAPS * L], bias[L];
    const void *rows[TAPS];
    for (int64_t y = 0; y < r->rows; y++) {
        rows[y] = w + y * r->taps * L;
        for (int64_t t = 0; t < r->taps; t++)
            for (int half = 0; half < 2; half++)
                memcpy(w + (y * r->taps + t) * L + half * HALF, (const CONV_T *)r->w[y] + t * r->w_tap,
                       HALF * sizeof(CONV_T));
    }
    for (int half = 0; r->bias && half < 2; half++) memcpy(bias + half * HALF, r->bias, HALF * sizeof(CONV_T));
    wick_depthwise_row_of q = *r;
    q.lo += r->begin;
    q.step = 2;
    q.w = rows;
    q.w_tap = q.channels = q.dst_pixel = L;
    q.bias = r->bias ? bias : NULL;
    q.dst = (CONV_T *)r->dst + r->begin * HALF;
    const int64_t pairs = (r->end - r->begin) / 2;
    int64_t p = 0;
    for (; p + 8 <= pairs; p += 8) CONV_NAME(row_true8)(&q, p);
    if (p + 4 <= pairs) CONV_NAME(row_true4)(&q, p), p += 4;
    if (p + 2 <= pairs) CONV_NAME(row_true2)(&q, p), p += 2;
    if (p < pairs) CONV_NAME(row_true1)(&q, p);
    return r->begin + 2 * pairs;
}

static void CONV_NAME(row)(const wick_depthwise_row_of *r) {
    static void (*const all[])(const wick_depthwise_row_of *r, int64_t at) = {
        CONV_NAME(row_false1), CONV_NAME(row_false2), CONV_NAME(row_false3), CONV_NAME(row_false4),
        CONV_NAME(row_false5), CONV_NAME(row_false6), CONV_NAME(row_false7), CONV_NAME(row_false8)};
#if GEMM_BITS == 32
    if (r->three || r->even) {
        (r->three ? CONV_NAME(row_of_three) : CONV_NAME(row_of_both))(r);
        return;
    }
#endif
    if (r->count <= 8) {
        if (r->count) all[r->count - 1](r, 0);
        return;
    }
    for (int64_t p = 0; p < r->begin; p++) CONV_NAME(row_false1)(r, p);
    int64_t p = CONV_NAME(row_of_pairs)(r);
    for (; p + 8 <= r->end; p += 8) CONV_NAME(row_true8)(r, p);
    if (p + 4 <= r->end) CONV_NAME(row_true4)(r, p), p += 4;
    if (p + 2 <= r->end) CONV_NAME(row_true2)(r, p), p += 2;
    if (p < r->end) CONV_NAME(row_true1)(r, p);
    for (p = r->end; p < r->count; p++) CONV_NAME(row_false1)(r, p);
}

/* Taps [first, first + n) of one vector of channels; n is a constant where it matters. */
GEMM_INLINE void CONV_NAME(dots_of)(const wick_depthwise_run_of *r, int64_t first, int64_t channel, const int n,
                                    const bool whole, int64_t width) {
    const CONV_NAME(part) part = CONV_NAME(part_of)(width);
    const CONV_T *y = (const CONV_T *)r->y + channel, *x[9];
    CONV_T *line = (CONV_T *)r->line + first * r->line_step + channel;
    CONV_NAME(vec) acc[9];
    GEMM_UNROLL
    for (int t = 0; t < n; t++) {
        x[t] = (const CONV_T *)r->src[first + t] + channel;
        acc[t] = r->first ? (CONV_NAME(vec)){0} : CONV_LOAD(line + t * r->line_step);
    }
    for (int64_t p = 0, at = 0; p < r->pixels; p++, at += r->src_pixel, y += r->y_pixel) {
        const CONV_NAME(vec) yv = CONV_LOAD(y);
        GEMM_UNROLL
        for (int t = 0; t < n; t++) acc[t] = CONV_NAME(fma)(yv, CONV_LOAD(x[t] + at), acc[t]);
    }
    GEMM_UNROLL
    for (int t = 0; t < n; t++) {
        CONV_T *sum = (CONV_T *)r->sum[first + t] + channel;
        if (r->last)
            CONV_STORE(sum, CONV_LOAD(sum) + acc[t]);
        else
            CONV_STORE(line + t * r->line_step, acc[t]);
    }
}

static void CONV_NAME(dots)(const wick_depthwise_run_of *r) {
    enum { L = CONV_NAME(L) };
    for (int64_t channel = 0; channel < r->channels; channel += L) {
        const int64_t width = WICK_MIN(L, r->channels - channel);
        int64_t t = 0;
        if (width == L) {
            for (; t + 9 <= r->taps; t += 9) CONV_NAME(dots_of)(r, t, channel, 9, true, L);
            if (t + 6 <= r->taps) CONV_NAME(dots_of)(r, t, channel, 6, true, L), t += 6;
            if (t + 3 <= r->taps) CONV_NAME(dots_of)(r, t, channel, 3, true, L), t += 3;
            for (; t < r->taps; t++) CONV_NAME(dots_of)(r, t, channel, 1, true, L);
        }
        for (; CONV_MASKED && t + 3 <= r->taps; t += 3) CONV_NAME(dots_of)(r, t, channel, 3, false, width);
        for (; t < r->taps; t++) CONV_NAME(dots_of)(r, t, channel, 1, false, width);
    }
}
#undef CONV_LOAD
#undef CONV_STORE
#undef CONV_MASKED
