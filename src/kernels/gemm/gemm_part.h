/* gemm_part.h: parts of vectors, and the short ones that transposing makes. Included by gemm_tier.c once per type. */
/* The first n elements of a vector, 0 < n <= L: with masks, which are a register's worth only where GEMM_MASKED is 1;
 * without, by a copy. */
#if WICK_TIER_ID == 3
#define GEMM_MASKED 1
#if GEMM_HALF
typedef __mmask8 GEMM_NAME(mask);
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_mask)(GEMM_NAME(mask) m, const GEMM_T *p) {
    return _mm256_maskz_loadu_ps(m, p);
}
GEMM_INLINE void GEMM_NAME(store_mask)(GEMM_T *p, GEMM_NAME(mask) m, GEMM_NAME(vec) v) {
    _mm256_mask_storeu_ps(p, m, v);
}
#elif GEMM_BITS == 32
typedef __mmask16 GEMM_NAME(mask);
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_mask)(GEMM_NAME(mask) m, const GEMM_T *p) {
    return _mm512_maskz_loadu_ps(m, p);
}
GEMM_INLINE void GEMM_NAME(store_mask)(GEMM_T *p, GEMM_NAME(mask) m, GEMM_NAME(vec) v) {
    _mm512_mask_storeu_ps(p, m, v);
}
#else
typedef __mmask8 GEMM_NAME(mask);
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_mask)(GEMM_NAME(mask) m, const GEMM_T *p) {
    return _mm512_maskz_loadu_pd(m, p);
}
GEMM_INLINE void GEMM_NAME(store_mask)(GEMM_T *p, GEMM_NAME(mask) m, GEMM_NAME(vec) v) {
    _mm512_mask_storeu_pd(p, m, v);
}
#endif
GEMM_INLINE GEMM_NAME(mask) GEMM_NAME(mask_of)(int64_t n) {
    return (GEMM_NAME(mask))(n <= 0 ? 0 : n >= GEMM_NAME(L) ? -1 : (1 << n) - 1);
}
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_part)(const GEMM_T *p, int64_t n) {
    return GEMM_NAME(load_mask)(GEMM_NAME(mask_of)(n), p);
}
GEMM_INLINE void GEMM_NAME(store_part)(GEMM_T *p, int64_t n, GEMM_NAME(vec) v) {
    GEMM_NAME(store_mask)(p, GEMM_NAME(mask_of)(n), v);
}
#else
#define GEMM_MASKED 0
typedef int GEMM_NAME(mask);
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_mask)(GEMM_NAME(mask) m, const GEMM_T *p) {
    (void)m;
    return GEMM_NAME(load)(p);
}
GEMM_INLINE void GEMM_NAME(store_mask)(GEMM_T *p, GEMM_NAME(mask) m, GEMM_NAME(vec) v) {
    (void)m;
    GEMM_NAME(store)(p, v);
}
GEMM_INLINE GEMM_NAME(mask) GEMM_NAME(mask_of)(int64_t n) { return n > 0; }
#if WICK_TIER_ID == 2
/* Ones for the first n of a vector's elements, in the upper bits that such loads and stores go by. */
GEMM_INLINE __m256i GEMM_NAME(first_of)(int64_t n) {
    static const int32_t there[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    return _mm256_loadu_si256((const __m256i *)(const void *)(there + 8 - n * (GEMM_BITS / 32)));
}
#if GEMM_BITS == 32
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_part)(const GEMM_T *p, int64_t n) {
    return _mm256_maskload_ps(p, GEMM_NAME(first_of)(n));
}
GEMM_INLINE void GEMM_NAME(store_part)(GEMM_T *p, int64_t n, GEMM_NAME(vec) v) {
    _mm256_maskstore_ps(p, GEMM_NAME(first_of)(n), v);
}
#else
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_part)(const GEMM_T *p, int64_t n) {
    return _mm256_maskload_pd(p, GEMM_NAME(first_of)(n));
}
GEMM_INLINE void GEMM_NAME(store_part)(GEMM_T *p, int64_t n, GEMM_NAME(vec) v) {
    _mm256_maskstore_pd(p, GEMM_NAME(first_of)(n), v);
}
#endif
#else
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load_part)(const GEMM_T *p, int64_t n) {
    GEMM_T whole[GEMM_NAME(L)] = {0};
    for (int64_t j = 0; j < n; j++) whole[j] = p[j];
    return GEMM_NAME(load)(whole);
}
GEMM_INLINE void GEMM_NAME(store_part)(GEMM_T *p, int64_t n, GEMM_NAME(vec) v) {
    for (int64_t j = 0; j < n; j++) p[j] = v[j];
}
#endif
#endif

/* transpose() with three addresses for all columns: src, their distance in bytes, and three times that. */
GEMM_INLINE void GEMM_NAME(transpose_few)(const char *src, int64_t bytes, int64_t three,
                                          GEMM_NAME(tvec) y[GEMM_NAME(QUAD)]) {
    enum { Q = GEMM_NAME(QUAD) };
    GEMM_NAME(tvec) x[Q];
    const char *high = src + Q * bytes;
    GEMM_HIDE(high);
    GEMM_UNROLL
    for (int q = 0; q < Q; q++) {
        const int64_t at = q == 3 ? three : q * bytes;
#if WICK_TIER_ID > 1
        const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)(src + at)),
                      hi = _mm_loadu_si128((const __m128i *)(const void *)(high + at));
        x[q] = (GEMM_NAME(tvec))_mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1);
#else
        x[q] = *(const GEMM_NAME(tvecu) *)(const void *)(src + at);
#endif
    }
    GEMM_NAME(transpose_in_registers)(x, y);
}

/* Of vectors as wide as what is transposed. */
#if WICK_TIER_ID == 3 && GEMM_BITS == 32
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(short_set1)(GEMM_T x) { return _mm256_set1_ps(x); }
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(short_fma)(GEMM_NAME(tvec) a, GEMM_NAME(tvec) b, GEMM_NAME(tvec) c) {
    return _mm256_fmadd_ps(a, b, c);
}
#elif WICK_TIER_ID == 3
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(short_set1)(GEMM_T x) { return _mm256_set1_pd(x); }
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(short_fma)(GEMM_NAME(tvec) a, GEMM_NAME(tvec) b, GEMM_NAME(tvec) c) {
    return _mm256_fmadd_pd(a, b, c);
}
#else
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(short_set1)(GEMM_T x) { return GEMM_NAME(set1)(x); }
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(short_fma)(GEMM_NAME(tvec) a, GEMM_NAME(tvec) b, GEMM_NAME(tvec) c) {
    return GEMM_NAME(fma)(a, b, c);
}
#endif
