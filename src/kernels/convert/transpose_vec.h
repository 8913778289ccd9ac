/* transpose_vec.h: transpositions in registers. Included by convert_tier.c. dst[i * d_step + k] = src[i + k * s_step].
 *
 * A block is n rows by as many columns as fill a vector, where 16 bytes have n elements: a vector takes 16 bytes each
 * of several columns, n steps apart, and log2 n rounds of interleaving turn n vectors into n rows. Rows are written in
 * whole vectors: with the widest ones, in whole lines. What is left at the edges goes in narrower blocks, then one by
 * one. */

#define TRANSPOSE_ONE(bits)                                                                                            \
    static void transpose_one_##bits(const uint##bits##_t *s, int64_t s_step, uint##bits##_t *d, int64_t d_step,       \
                                     int64_t rows, int64_t cols) {                                                     \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            for (int64_t k = 0; k < cols; k++) d[i * d_step + k] = s[i + k * s_step];                                  \
    }
TRANSPOSE_ONE(8)
TRANSPOSE_ONE(16)
TRANSPOSE_ONE(32)
TRANSPOSE_ONE(64)

#if defined(__x86_64__) && WICK_TIER_ID > 0

#ifdef __clang__
#define TRANSPOSE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TRANSPOSE_UNROLL _Pragma("GCC unroll 16")
#endif
#define TRANSPOSE_INLINE static inline __attribute__((always_inline))

/* Vectors of 16 bytes, and the widest of the tier; step: bytes from one group of n columns to the next. */
TRANSPOSE_INLINE __m128i transpose_load_16(const uint8_t *p, int64_t step) {
    (void)step;
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
#define transpose_store_16(p, v)  _mm_storeu_si128((__m128i *)(void *)(p), v)
#define transpose_stream_16(p, v) transpose_store_16(p, v)
#define TRANSPOSE_16              __m128i, _mm_, 16
#if defined(__AVX512F__)
TRANSPOSE_INLINE __m512i transpose_load_64(const uint8_t *p, int64_t step) {
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)p));
    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const __m128i *)(const void *)(p + step)));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * step)));
    return _mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const __m128i *)(const void *)(p + 3 * step)));
}
#define transpose_store_64(p, v)  _mm512_storeu_si512(p, v)
#define transpose_stream_64(p, v) _mm512_stream_si512((__m512i *)(void *)(p), v)
#define TRANSPOSE_WIDE            __m512i, _mm512_, 64
#define TRANSPOSE_BYTES           64
#elif defined(__AVX2__)
TRANSPOSE_INLINE __m256i transpose_load_32(const uint8_t *p, int64_t step) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)p)),
                                   _mm_loadu_si128((const __m128i *)(const void *)(p + step)), 1);
}
#define transpose_store_32(p, v)  _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define transpose_stream_32(p, v) transpose_store_32(p, v)
#define TRANSPOSE_WIDE            __m256i, _mm256_, 32
#define TRANSPOSE_BYTES           32
#else
#define TRANSPOSE_WIDE  TRANSPOSE_16
#define TRANSPOSE_BYTES 16
#endif

/* n x n elements in each 16 bytes of n vectors: a round puts what is n / 2 vectors apart side by side. */
#define TRANSPOSE_BLOCK_(name, bits, n, log, unpack, V, P, bytes)                                                      \
    TRANSPOSE_INLINE void name(const uint##bits##_t *s, int64_t s_step, uint##bits##_t *d, int64_t d_step,             \
                               const bool nontemporal) {                                                               \
        V x[n], y[n];                                                                                                  \
        TRANSPOSE_UNROLL for (int j = 0; j < n; j++) x[j] =                                                            \
            transpose_load_##bytes((const uint8_t *)(s + j * s_step), n * s_step * (bits / 8));                        \
        TRANSPOSE_UNROLL for (int round = 0; round < log; round++) {                                                   \
            TRANSPOSE_UNROLL for (int i = 0; i < n / 2; i++) {                                                         \
                y[2 * i] = P##unpacklo_##unpack(x[i], x[i + n / 2]);                                                   \
                y[2 * i + 1] = P##unpackhi_##unpack(x[i], x[i + n / 2]);                                               \
            }                                                                                                          \
            TRANSPOSE_UNROLL for (int i = 0; i < n; i++) x[i] = y[i];                                                  \
        }                                                                                                              \
        TRANSPOSE_UNROLL for (int j = 0; j < n; j++) if (nontemporal) transpose_stream_##bytes(d + j * d_step, x[j]);  \
        else transpose_store_##bytes(d + j * d_step, x[j]);                                                            \
    }
#define TRANSPOSE_BLOCK(...) TRANSPOSE_BLOCK_(__VA_ARGS__)
#define TRANSPOSE_BLOCKS(bits, n, log, unpack)                                     \
    TRANSPOSE_BLOCK(transpose_narrow_##bits, bits, n, log, unpack, TRANSPOSE_16)   \
    TRANSPOSE_BLOCK(transpose_wide_##bits, bits, n, log, unpack, TRANSPOSE_WIDE)
TRANSPOSE_BLOCKS(8, 16, 4, epi8)
TRANSPOSE_BLOCKS(16, 8, 3, epi16)
TRANSPOSE_BLOCKS(32, 4, 2, epi32)
TRANSPOSE_BLOCKS(64, 2, 1, epi64)

#ifdef __AVX512F__
/* 16 x 16: whole lines are read and written, whatever sets of a cache they share: each once, which the compiler must
 * not do twice. Few addresses reach all of them, or they would be fetched from the stack. */
#define TRANSPOSE_HIDE(x) __asm__("" : "+r"(x))
TRANSPOSE_INLINE void transpose_lines_32(const uint32_t *s, int64_t s_step, uint32_t *d, int64_t d_step,
                                         const bool nontemporal) {
    __m512i t[16];
    int64_t step = s_step, three = 3 * s_step;
    TRANSPOSE_HIDE(step);
    TRANSPOSE_HIDE(three);
    TRANSPOSE_UNROLL for (int g = 0; g < 16; g += 4, s += 4 * step) {
        TRANSPOSE_HIDE(s);
        __m512i x[4] = {_mm512_loadu_si512(s), _mm512_loadu_si512(s + step), _mm512_loadu_si512(s + 2 * step),
                        _mm512_loadu_si512(s + three)};
        __asm__("" : "+v"(x[0]), "+v"(x[1]), "+v"(x[2]), "+v"(x[3]));
        const __m512i a = _mm512_unpacklo_epi32(x[0], x[2]), b = _mm512_unpackhi_epi32(x[0], x[2]);
        const __m512i c = _mm512_unpacklo_epi32(x[1], x[3]), e = _mm512_unpackhi_epi32(x[1], x[3]);
        t[g] = _mm512_unpacklo_epi32(a, c);
        t[g + 1] = _mm512_unpackhi_epi32(a, c);
        t[g + 2] = _mm512_unpacklo_epi32(b, e);
        t[g + 3] = _mm512_unpackhi_epi32(b, e);
    }
    int64_t four = 4 * d_step, twelve = 12 * d_step;
    TRANSPOSE_HIDE(four);
    TRANSPOSE_HIDE(twelve);
    /* t[g + r] has columns g .. g + 3 of rows r, 4 + r, 8 + r, 12 + r */
    TRANSPOSE_UNROLL for (int r = 0; r < 4; r++, d += d_step) {
        TRANSPOSE_HIDE(d);
        const __m512i a = _mm512_shuffle_i32x4(t[r], t[4 + r], 0x88), b = _mm512_shuffle_i32x4(t[r], t[4 + r], 0xdd);
        const __m512i c = _mm512_shuffle_i32x4(t[8 + r], t[12 + r], 0x88),
                      e = _mm512_shuffle_i32x4(t[8 + r], t[12 + r], 0xdd);
        const __m512i out[4] = {_mm512_shuffle_i32x4(a, c, 0x88), _mm512_shuffle_i32x4(b, e, 0x88),
                                _mm512_shuffle_i32x4(a, c, 0xdd), _mm512_shuffle_i32x4(b, e, 0xdd)};
        TRANSPOSE_UNROLL for (int q = 0; q < 4; q++) {
            uint32_t *const to = d + (q == 3 ? twelve : q * four);
            if (nontemporal)
                _mm512_stream_si512((__m512i *)(void *)to, out[q]);
            else
                _mm512_storeu_si512(to, out[q]);
        }
    }
}
#define TRANSPOSE_LINES 16
#else
#define TRANSPOSE_LINES 0
#define transpose_lines_32(s, s_step, d, d_step, nontemporal) ((void)0)
#endif

/* Three columns side by side, as of colours: whole vectors of rows become three vectors. Returns how many rows that
 * was. */
#if defined(__AVX512F__)
static int64_t transpose_threes_32(const uint32_t *s, int64_t s_step, uint32_t *d, int64_t rows) {
    /* Element i of vector v is column (16 v + i) % 3 of row (16 v + i) / 3: first of columns 0 and 1 (numbers from 16
     * on), then with column 2. */
    _Alignas(64) int32_t two[3][16], three[3][16];
    for (int i = 0; i < 48; i++) {
        two[i / 16][i % 16] = i % 3 == 1 ? 16 + i / 3 : i / 3;
        three[i / 16][i % 16] = i % 3 == 2 ? 16 + i / 3 : i % 16;
    }
    int64_t i = 0;
    for (; i + 16 <= rows; i += 16) {
        const __m512i x = _mm512_loadu_si512(s + i), y = _mm512_loadu_si512(s + i + s_step),
                      z = _mm512_loadu_si512(s + i + 2 * s_step);
        TRANSPOSE_UNROLL for (int v = 0; v < 3; v++) _mm512_storeu_si512(
            d + 3 * i + 16 * v, _mm512_permutex2var_epi32(_mm512_permutex2var_epi32(x, _mm512_load_si512(two[v]), y),
                                                          _mm512_load_si512(three[v]), z));
    }
    return i;
}
#else
static int64_t transpose_threes_32(const uint32_t *s, int64_t s_step, uint32_t *d, int64_t rows) {
    typedef uint32_t four __attribute__((vector_size(16)));
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        four x, y, z;
        memcpy(&x, s + i, sizeof x), memcpy(&y, s + i + s_step, sizeof y), memcpy(&z, s + i + 2 * s_step, sizeof z);
        const four low = __builtin_shufflevector(x, y, 0, 4, 1, 5), high = __builtin_shufflevector(x, y, 2, 6, 3, 7);
        const four out[3] = {__builtin_shufflevector(low, z, 0, 1, 4, 2),
                             __builtin_shufflevector(__builtin_shufflevector(low, z, 3, 5, 3, 5), high, 0, 1, 4, 5),
                             __builtin_shufflevector(high, z, 6, 2, 3, 7)};
        memcpy(d + 3 * i, out, sizeof out);
    }
    return i;
}
#endif

/* The same of bytes: byte i of vector v is column (16 v + i) % 3 of row (16 v + i) / 3. */
#ifdef __SSSE3__
#define TRANSPOSE_3(v, c, i)    (16 * v + i) % 3 == c ? (16 * v + i) / 3 : 0x80
#define TRANSPOSE_3X4(v, c, i)                                                                                         \
    TRANSPOSE_3(v, c, i), TRANSPOSE_3(v, c, i + 1), TRANSPOSE_3(v, c, i + 2), TRANSPOSE_3(v, c, i + 3)
#define TRANSPOSE_3X16(v, c)                                                                                           \
    { TRANSPOSE_3X4(v, c, 0), TRANSPOSE_3X4(v, c, 4), TRANSPOSE_3X4(v, c, 8), TRANSPOSE_3X4(v, c, 12) }
static int64_t transpose_threes_8(const uint8_t *s, int64_t s_step, uint8_t *d, int64_t rows) {
    static const uint8_t from[3][3][16] = {{TRANSPOSE_3X16(0, 0), TRANSPOSE_3X16(0, 1), TRANSPOSE_3X16(0, 2)},
                                           {TRANSPOSE_3X16(1, 0), TRANSPOSE_3X16(1, 1), TRANSPOSE_3X16(1, 2)},
                                           {TRANSPOSE_3X16(2, 0), TRANSPOSE_3X16(2, 1), TRANSPOSE_3X16(2, 2)}};
    int64_t i = 0;
    for (; i + 16 <= rows; i += 16) {
        __m128i x[3];
        TRANSPOSE_UNROLL for (int c = 0; c < 3; c++) x[c] = transpose_load_16(s + i + c * s_step, 0);
        TRANSPOSE_UNROLL for (int v = 0; v < 3; v++) {
            __m128i y = _mm_setzero_si128();
            TRANSPOSE_UNROLL for (int c = 0; c < 3; c++) y =
                _mm_or_si128(y, _mm_shuffle_epi8(x[c], transpose_load_16(from[v][c], 0)));
            transpose_store_16(d + 3 * i + 16 * v, y);
        }
    }
    return i;
}
#else
static int64_t transpose_threes_8(const uint8_t *s, int64_t s_step, uint8_t *d, int64_t rows) {
    (void)s, (void)s_step, (void)d, (void)rows;
    return 0;
}
#endif

/* Neighbouring blocks of rows read one line of each column. */
#define TRANSPOSE_(bits, n, lines, nontemporal)                                                                        \
    for (; k + wide <= cols; k += wide) {                                                                              \
        int64_t i = 0;                                                                                                 \
        if (lines)                                                                                                     \
            for (; i + lines <= rows; i += lines)                                                                      \
                transpose_lines_32((const uint32_t *)s + i + k * s_step, s_step, (uint32_t *)d + i * d_step + k,       \
                                   d_step, nontemporal);                                                               \
        for (; i + n <= rows; i += n)                                                                                  \
            transpose_wide_##bits(s + i + k * s_step, s_step, d + i * d_step + k, d_step, nontemporal);                \
        transpose_one_##bits(s + i + k * s_step, s_step, d + i * d_step + k, d_step, rows - i, wide);                  \
    }
#define TRANSPOSE(bits, n, lines)                                                                                      \
    static void transpose_##bits(const uint##bits##_t *s, int64_t s_step, uint##bits##_t *d, int64_t d_step,           \
                                 int64_t rows, int64_t cols, bool nontemporal) {                                       \
        const int64_t wide = TRANSPOSE_BYTES * 8 / bits;                                                               \
        if ((bits == 32 || bits == 8) && cols == 3 && d_step == 3) {                                                   \
            const int64_t done = bits == 8 ? transpose_threes_8((const uint8_t *)s, s_step, (uint8_t *)d, rows)        \
                                           : transpose_threes_32((const uint32_t *)s, s_step, (uint32_t *)d, rows);    \
            s += done, d += 3 * done, rows -= done;                                                                    \
        }                                                                                                              \
        int64_t k = 0;                                                                                                 \
        if (nontemporal && TRANSPOSE_BYTES == 64 && ((uintptr_t)d | (uintptr_t)(d_step * (bits / 8))) % 64 == 0) {     \
            TRANSPOSE_(bits, n, lines, true)                                                                           \
        } else {                                                                                                       \
            TRANSPOSE_(bits, n, lines, false)                                                                          \
        }                                                                                                              \
        for (; k + n <= cols; k += n) {                                                                                \
            int64_t i = 0;                                                                                             \
            for (; i + n <= rows; i += n)                                                                              \
                transpose_narrow_##bits(s + i + k * s_step, s_step, d + i * d_step + k, d_step, false);                \
            transpose_one_##bits(s + i + k * s_step, s_step, d + i * d_step + k, d_step, rows - i, n);                 \
        }                                                                                                              \
        transpose_one_##bits(s + k * s_step, s_step, d + k, d_step, rows, cols - k);                                   \
    }
TRANSPOSE(8, 16, 0)
TRANSPOSE(16, 8, 0)
TRANSPOSE(32, 4, TRANSPOSE_LINES)
TRANSPOSE(64, 2, 0)

#else

/* By squares, so that lines of both sides are met again while they are near. */
#define TRANSPOSE(bits)                                                                                                \
    static void transpose_##bits(const uint##bits##_t *s, int64_t s_step, uint##bits##_t *d, int64_t d_step,           \
                                 int64_t rows, int64_t cols, bool nontemporal) {                                       \
        enum { SIDE = 16 };                                                                                            \
        (void)nontemporal;                                                                                             \
        for (int64_t i = 0; i < rows; i += SIDE)                                                                       \
            for (int64_t k = 0; k < cols; k += SIDE)                                                                   \
                transpose_one_##bits(s + i + k * s_step, s_step, d + i * d_step + k, d_step, WICK_MIN(SIDE, rows - i), \
                                     WICK_MIN(SIDE, cols - k));                                                        \
    }
TRANSPOSE(8)
TRANSPOSE(16)
TRANSPOSE(32)
TRANSPOSE(64)

#endif

static void transpose(int elem, const void *src, int64_t s_step, void *dst, int64_t d_step, int64_t rows, int64_t cols,
                      bool nontemporal) {
    switch (elem) {
    case 1:
        transpose_8(src, s_step, dst, d_step, rows, cols, nontemporal);
        break;
    case 2:
        transpose_16(src, s_step, dst, d_step, rows, cols, nontemporal);
        break;
    case 4:
        transpose_32(src, s_step, dst, d_step, rows, cols, nontemporal);
        break;
    default:
        transpose_64(src, s_step, dst, d_step, rows, cols, nontemporal);
        break;
    }
}
