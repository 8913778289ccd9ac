/* gemm_vec.h: the few vector operations that tiles need and that the compilers' vector types cannot say: broadcast,
 * fused multiply-add, and transposing small blocks. Included once per type with GEMM_T, GEMM_BITS, GEMM_BITS_T and
 * GEMM_NAME defined; the tier comes from WICK_TIER_ID. GEMM_HALF: vectors of half the tier's length, of AVX-512 only.
 */
#undef GEMM_VEC_BYTES
#if GEMM_HALF
#define GEMM_VEC_BYTES (WICK_GEMM_VEC_BYTES / 2)
#else
#define GEMM_VEC_BYTES WICK_GEMM_VEC_BYTES
#endif
enum { GEMM_NAME(L) = GEMM_VEC_BYTES / (int)sizeof(GEMM_T), GEMM_NAME(QUAD) = 16 / (int)sizeof(GEMM_T) };
typedef GEMM_T GEMM_NAME(vec) __attribute__((vector_size(GEMM_VEC_BYTES)));
typedef GEMM_T GEMM_NAME(vecu) __attribute__((vector_size(GEMM_VEC_BYTES), aligned(sizeof(GEMM_T)), may_alias));

GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(load)(const GEMM_T *p) { return *(const GEMM_NAME(vecu) *)p; }
GEMM_INLINE void GEMM_NAME(store)(GEMM_T *p, GEMM_NAME(vec) v) { *(GEMM_NAME(vecu) *)p = v; }

#if WICK_TIER_ID == 3 && !GEMM_HALF
#if GEMM_BITS == 32
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(set1)(float x) { return _mm512_set1_ps(x); }
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) {
    return _mm512_fmadd_ps(a, b, c);
}
#else
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(set1)(double x) { return _mm512_set1_pd(x); }
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) {
    return _mm512_fmadd_pd(a, b, c);
}
#endif
#elif WICK_TIER_ID >= 2
#if GEMM_BITS == 32
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(set1)(float x) { return _mm256_set1_ps(x); }
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) {
    return _mm256_fmadd_ps(a, b, c);
}
#else
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(set1)(double x) { return _mm256_set1_pd(x); }
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) {
    return _mm256_fmadd_pd(a, b, c);
}
#endif
#elif defined(WICK_NEON)
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(set1)(GEMM_T x) { return x - (GEMM_NAME(vec)){0}; }
#if GEMM_BITS == 32
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) {
    return vfmaq_f32(c, a, b);
}
#else
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) {
    return vfmaq_f64(c, a, b);
}
#endif
#else
/* Subtracting +0 keeps every value, -0 and NaN included, so compilers fold it into a plain broadcast. */
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(set1)(GEMM_T x) { return x - (GEMM_NAME(vec)){0}; }
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(fma)(GEMM_NAME(vec) a, GEMM_NAME(vec) b, GEMM_NAME(vec) c) { return a * b + c; }
#endif

/* max(x, 0) in which NaN and -0 stay, as the table of elementwise ops says it: x < 0 ? 0 : x; the CPU's maximum is its
 * second operand where they are equal or one is NaN. */
GEMM_INLINE GEMM_NAME(vec) GEMM_NAME(relu)(GEMM_NAME(vec) x) {
#if WICK_TIER_ID == 3 && !GEMM_HALF
    return GEMM_BITS == 32 ? (GEMM_NAME(vec))_mm512_max_ps(_mm512_setzero_ps(), (__m512)x)
                           : (GEMM_NAME(vec))_mm512_max_pd(_mm512_setzero_pd(), (__m512d)x);
#elif WICK_TIER_ID >= 2
    return GEMM_BITS == 32 ? (GEMM_NAME(vec))_mm256_max_ps(_mm256_setzero_ps(), (__m256)x)
                           : (GEMM_NAME(vec))_mm256_max_pd(_mm256_setzero_pd(), (__m256d)x);
#else
    typedef GEMM_BITS_T bits __attribute__((vector_size(GEMM_VEC_BYTES)));
    return (GEMM_NAME(vec))((bits)x & ~(bits)(x < 0));
#endif
}

/* Transposing works on vectors of at most 32 bytes: shuffles of 64 bytes may cost twice as much. */
enum { GEMM_NAME(LT) = WICK_MIN(GEMM_VEC_BYTES, 32) / (int)sizeof(GEMM_T) };
typedef GEMM_T GEMM_NAME(tvec) __attribute__((vector_size(WICK_MIN(GEMM_VEC_BYTES, 32))));
typedef GEMM_T GEMM_NAME(tvecu)
    __attribute__((vector_size(WICK_MIN(GEMM_VEC_BYTES, 32)), aligned(sizeof(GEMM_T)), may_alias));

/* 16 bytes of column `src` and, in the high half of a 32-byte vector, 16 bytes of what is `high` elements on. */
GEMM_INLINE GEMM_NAME(tvec) GEMM_NAME(load_pair)(const GEMM_T *src, int64_t high) {
#if WICK_TIER_ID > 1
    const __m128i lo = _mm_loadu_si128((const __m128i *)(const void *)src);
    const __m128i hi = _mm_loadu_si128((const __m128i *)(const void *)(src + high));
    return (GEMM_NAME(tvec))_mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1);
#else
    (void)high;
    return *(const GEMM_NAME(tvecu) *)src;
#endif
}

/* Within 128-bit lanes: interleaves 32-bit elements of the low or high half, or 64-bit halves. */
#undef GEMM_LO32
#undef GEMM_HI32
#undef GEMM_LO64
#undef GEMM_HI64
#if WICK_TIER_ID > 1 && GEMM_BITS == 32
#define GEMM_LO32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define GEMM_HI32(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define GEMM_LO64(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define GEMM_HI64(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#elif WICK_TIER_ID > 1
#define GEMM_LO64(a, b) __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define GEMM_HI64(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#elif GEMM_BITS == 32
#define GEMM_LO32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define GEMM_HI32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define GEMM_LO64(a, b) __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define GEMM_HI64(a, b) __builtin_shufflevector(a, b, 2, 3, 6, 7)
#else
#define GEMM_LO64(a, b) __builtin_shufflevector(a, b, 0, 2)
#define GEMM_HI64(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

GEMM_INLINE void GEMM_NAME(transpose_in_registers)(const GEMM_NAME(tvec) x[GEMM_NAME(QUAD)],
                                                   GEMM_NAME(tvec) y[GEMM_NAME(QUAD)]) {
#if GEMM_BITS == 32
    const GEMM_NAME(tvec) lo01 = GEMM_LO32(x[0], x[1]), lo23 = GEMM_LO32(x[2], x[3]);
    const GEMM_NAME(tvec) hi01 = GEMM_HI32(x[0], x[1]), hi23 = GEMM_HI32(x[2], x[3]);
    y[0] = GEMM_LO64(lo01, lo23);
    y[1] = GEMM_HI64(lo01, lo23);
    y[2] = GEMM_LO64(hi01, hi23);
    y[3] = GEMM_HI64(hi01, hi23);
#else
    y[0] = GEMM_LO64(x[0], x[1]);
    y[1] = GEMM_HI64(x[0], x[1]);
#endif
}
/* y[p][j] = src[j * col + p] for p < QUAD, j < QUAD, and the same of the columns from `second` on in the high half. */
GEMM_INLINE void GEMM_NAME(transpose)(const GEMM_T *src, int64_t col, int64_t second,
                                      GEMM_NAME(tvec) y[GEMM_NAME(QUAD)]) {
    GEMM_NAME(tvec) x[GEMM_NAME(QUAD)];
    GEMM_UNROLL
    for (int q = 0; q < GEMM_NAME(QUAD); q++) x[q] = GEMM_NAME(load_pair)(src + q * col, second * col);
    GEMM_NAME(transpose_in_registers)(x, y);
}
#if WICK_TIER_ID == 3 && GEMM_BITS == 32 && !GEMM_HALF
/* Of each four vectors the 4 x 4 elements in each 16 bytes are transposed: u[4 i + r] = element r of vectors 4 i to 4 i
 * + 3. n is a constant at every call. */
GEMM_INLINE void GEMM_NAME(transpose_quads)(__m512 *u, const int n) {
    GEMM_UNROLL
    for (int g = 0; g < n; g += 4) {
        const __m512d low = _mm512_castps_pd(_mm512_unpacklo_ps(u[g], u[g + 1])),
                      high = _mm512_castps_pd(_mm512_unpackhi_ps(u[g], u[g + 1]));
        const __m512d low2 = _mm512_castps_pd(_mm512_unpacklo_ps(u[g + 2], u[g + 3])),
                      high2 = _mm512_castps_pd(_mm512_unpackhi_ps(u[g + 2], u[g + 3]));
        u[g] = _mm512_castpd_ps(_mm512_unpacklo_pd(low, low2));
        u[g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low, low2));
        u[g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high, high2));
        u[g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high, high2));
    }
}
#endif
