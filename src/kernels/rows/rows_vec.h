/* rows_vec.h: the vectors that the row kernels are written over, and sums over a row; included once per type with
 * ROWS_T, ROWS_BITS and ROWS_NAME defined. + - * are those of the compilers' vector types; what these cannot say is
 * here. */
#undef ROWS_MM
#if WICK_TIER_ID == 3
#define ROWS_BYTES  64
#define ROWS_MM(op) ROWS_CAT(_mm512_##op##_p, ROWS_SUFFIX)
#elif WICK_TIER_ID == 2
#define ROWS_BYTES  32
#define ROWS_MM(op) ROWS_CAT(_mm256_##op##_p, ROWS_SUFFIX)
#else
#define ROWS_BYTES 16
#if defined(__x86_64__)
#define ROWS_MM(op) ROWS_CAT(_mm_##op##_p, ROWS_SUFFIX)
#endif
#endif
#undef ROWS_SUFFIX
#undef ROWS_MASK
#undef ROWS_INT
#if ROWS_BITS == 32
#define ROWS_SUFFIX s
#define ROWS_MASK   __mmask16
#define ROWS_INT    int32_t
#else
#define ROWS_SUFFIX d
#define ROWS_MASK   __mmask8
#define ROWS_INT    int64_t
#endif

/* L elements make a vector; sums and maxima run over ACC of them, that is 16 lanes or more. */
enum { ROWS_NAME(L) = ROWS_BYTES * 8 / ROWS_BITS, ROWS_NAME(ACC) = ROWS_NAME(L) < 4 ? 8 : 4 };
/* A row is summed in chunks of so many elements, lane by lane, and the chunks in double: the error stays that of a
 * chunk. */
enum { ROWS_NAME(CHUNK) = 1024 };

typedef ROWS_T ROWS_NAME(vec) __attribute__((vector_size(ROWS_BYTES)));
typedef ROWS_T ROWS_NAME(vecu) __attribute__((vector_size(ROWS_BYTES), aligned(sizeof(ROWS_T)), may_alias));

ROWS_INLINE ROWS_NAME(vec) ROWS_NAME(load)(const ROWS_T *p) { return *(const ROWS_NAME(vecu) *)p; }
ROWS_INLINE void ROWS_NAME(store)(ROWS_T *p, ROWS_NAME(vec) v) { *(ROWS_NAME(vecu) *)p = v; }
/* Past the caches; p is aligned. */
ROWS_INLINE void ROWS_NAME(store_nontemporal)(ROWS_T *p, ROWS_NAME(vec) v) {
#if WICK_TIER_ID > 1
    ROWS_MM(stream)(p, v);
#else
    ROWS_NAME(store)(p, v);
#endif
}
/* Rows go step by step, so many elements of them together: they stay in L1. From memory the next ones are asked for
 * meanwhile, since what a step computes leaves memory idle otherwise. */
enum { ROWS_NAME(IN_L1) = 4096 };
/* Whether rows of y may be written by nontemporal stores. */
ROWS_INLINE bool ROWS_NAME(may_pass)(const ROWS_T *y, int64_t cols) {
    return cols <= ROWS_NAME(IN_L1) && ((uintptr_t)y | ((size_t)cols * sizeof *y)) % ROWS_BYTES == 0;
}
/* Subtracting +0 keeps every value, -0 and NaN included, so compilers fold it into a plain broadcast. */
ROWS_INLINE ROWS_NAME(vec) ROWS_NAME(set1)(ROWS_T x) { return x - (ROWS_NAME(vec)){0}; }

/* The larger; b where a is NaN. */
ROWS_INLINE ROWS_NAME(vec) ROWS_NAME(max)(ROWS_NAME(vec) a, ROWS_NAME(vec) b) {
#ifdef ROWS_MM
    return ROWS_MM(max)(a, b);
#else
    typedef ROWS_INT bits __attribute__((vector_size(ROWS_BYTES)));
    const bits larger = a > b;
    return (ROWS_NAME(vec))((larger & (bits)a) | (~larger & (bits)b));
#endif
}

#if WICK_TIER_ID == 2
/* All ones in the first n lanes: a window that slides over this. */
static const ROWS_INT ROWS_NAME(window)[2 * ROWS_NAME(L)] = {
    -1, -1, -1, -1,
#if ROWS_BITS == 32
    -1, -1, -1, -1,
#endif
};
ROWS_INLINE __m256i ROWS_NAME(first)(int64_t n) {
    return _mm256_loadu_si256((const __m256i *)(const void *)(ROWS_NAME(window) + ROWS_NAME(L) - n));
}
#endif

/* The first n < L elements; the other lanes keep `rest`. */
ROWS_INLINE ROWS_NAME(vec) ROWS_NAME(load_part)(const ROWS_T *p, int64_t n, ROWS_NAME(vec) rest) {
#if WICK_TIER_ID == 3
    return ROWS_MM(mask_loadu)(rest, (ROWS_MASK)((1u << n) - 1), p);
#elif WICK_TIER_ID == 2
    const __m256i mask = ROWS_NAME(first)(n);
    return ROWS_MM(blendv)(rest, ROWS_MM(maskload)(p, mask), (ROWS_NAME(vec))mask);
#else
    for (int64_t l = 0; l < n; l++) rest[l] = p[l];
    return rest;
#endif
}

ROWS_INLINE void ROWS_NAME(store_part)(ROWS_T *p, int64_t n, ROWS_NAME(vec) v) {
#if WICK_TIER_ID == 3
    ROWS_MM(mask_storeu)(p, (ROWS_MASK)((1u << n) - 1), v);
#elif WICK_TIER_ID == 2
    ROWS_MM(maskstore)(p, ROWS_NAME(first)(n), v);
#else
    for (int64_t l = 0; l < n; l++) p[l] = v[l];
#endif
}

/* Lane l meets lane l ^ h, for h = L / 2, L / 4 ... 1: afterwards every lane holds the whole. */
#undef ROWS_FOLD
#define ROWS_SWAP(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#if ROWS_BYTES * 8 / ROWS_BITS == 16
#define ROWS_FOLD(op, v)                                                                                               \
    v = op(v, ROWS_SWAP(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)),                                     \
    v = op(v, ROWS_SWAP(v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)),                                     \
    v = op(v, ROWS_SWAP(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)),                                     \
    v = op(v, ROWS_SWAP(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14))
#elif ROWS_BYTES * 8 / ROWS_BITS == 8
#define ROWS_FOLD(op, v)                                                                                               \
    v = op(v, ROWS_SWAP(v, 4, 5, 6, 7, 0, 1, 2, 3)), v = op(v, ROWS_SWAP(v, 2, 3, 0, 1, 6, 7, 4, 5)),                  \
    v = op(v, ROWS_SWAP(v, 1, 0, 3, 2, 5, 4, 7, 6))
#elif ROWS_BYTES * 8 / ROWS_BITS == 4
#define ROWS_FOLD(op, v) v = op(v, ROWS_SWAP(v, 2, 3, 0, 1)), v = op(v, ROWS_SWAP(v, 1, 0, 3, 2))
#else
#define ROWS_FOLD(op, v) v = op(v, ROWS_SWAP(v, 1, 0))
#endif

/* The tree that combines accumulators: the far half onto the near half, until one lane is left. */
ROWS_INLINE ROWS_NAME(vec) ROWS_NAME(add)(ROWS_NAME(vec) a, ROWS_NAME(vec) b) { return a + b; }
ROWS_INLINE ROWS_T ROWS_NAME(fold_add)(ROWS_NAME(vec) acc[ROWS_NAME(ACC)]) {
    for (int h = ROWS_NAME(ACC) / 2; h > 0; h /= 2)
        for (int v = 0; v < h; v++) acc[v] += acc[v + h];
    ROWS_FOLD(ROWS_NAME(add), acc[0]);
    return acc[0][0];
}

ROWS_INLINE ROWS_T ROWS_NAME(fold_max)(ROWS_NAME(vec) acc[ROWS_NAME(ACC)]) {
    for (int h = ROWS_NAME(ACC) / 2; h > 0; h /= 2)
        for (int v = 0; v < h; v++) acc[v] = ROWS_NAME(max)(acc[v], acc[v + h]);
    ROWS_FOLD(ROWS_NAME(max), acc[0]);
    return acc[0][0];
}

/* The sum of n elements, or of the squares of their distances from mean. */
ROWS_INLINE double ROWS_NAME(sum)(const ROWS_T *x, int64_t n, bool squares, ROWS_T mean) {
    enum { L = ROWS_NAME(L), ACC = ROWS_NAME(ACC) };
    const ROWS_NAME(vec) shift = ROWS_NAME(set1)(mean);
    double total = 0;
    for (int64_t begin = 0; begin < n; begin += ROWS_NAME(CHUNK)) {
        const int64_t end = WICK_MIN(n, begin + ROWS_NAME(CHUNK));
        int64_t i = begin;
        ROWS_NAME(vec) acc[ACC] = {0};
        for (; i + L * ACC <= end; i += L * ACC)
            for (int v = 0; v < ACC; v++) {
                const ROWS_NAME(vec) d = ROWS_NAME(load)(x + i + v * L) - shift;
                acc[v] += squares ? d * d : d;
            }
        for (int v = 0; v < ACC; v++, i += L) { /* constant bounds keep acc in registers */
            if (i >= end) break;
            const ROWS_NAME(vec) a =
                i + L <= end ? ROWS_NAME(load)(x + i) : ROWS_NAME(load_part)(x + i, end - i, shift);
            acc[v] += squares ? (a - shift) * (a - shift) : a - shift;
        }
        total += (double)ROWS_NAME(fold_add)(acc);
    }
    return total;
}
