/* int8_tier.c: products of 8-bit integers for one tier; exact, so every tier gives the same. */
#include "kernels/int8/int8.h"
#include "kernels/neon.h"

#define INT8_STR_(x)    #x
#define INT8_STR(x)     INT8_STR_(x)
#define INT8_CAT_(a, b) a##b
#define INT8_CAT(a, b)  INT8_CAT_(a, b)

/* ---- pairs of i16 ------------------------------------------------------------------------------------------------ */

static int32_t row_pairs(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst) {
    int16_t *restrict to = dst;
    int32_t sum = 0;
    if (is_signed)
        for (int64_t p = 0; p < k; p++) sum += to[p] = ((const int8_t *)src)[p];
    else
        for (int64_t p = 0; p < k; p++) sum += to[p] = ((const uint8_t *)src)[p];
    for (int64_t p = k; p < padded; p++) to[p] = 0;
    return sum;
}

/* A panel from bytes that are moved by x ^ flip and are FROM then; T is what the tiles read. Contiguous rows go step by
 * step, contiguous columns one after the other. */
#define INT8_PACK(name, T, FROM, GROUP, NR, flip)                                                                      \
    static void name(int64_t k, int64_t cols, const uint8_t *src, int64_t row, int64_t col, void *dst,                 \
                     int32_t *restrict sums) {                                                                         \
        T *restrict to = dst;                                                                                          \
        const int64_t whole = (row == 1 || (cols == NR && col == 1)) ? k - k % GROUP : 0;                              \
        if (row == 1) {                                                                                                \
            for (int64_t j = 0; j < cols; j++) {                                                                       \
                const uint8_t *restrict from = src + j * col;                                                          \
                T *restrict at = to + j * GROUP;                                                                       \
                int32_t sum = 0;                                                                                       \
                for (int64_t p = 0; p < whole; p++) sum += (FROM)(from[p] ^ flip);                                     \
                for (int64_t p = 0; p < whole; p += GROUP, at += GROUP * NR)                                           \
                    for (int q = 0; q < GROUP; q++) at[q] = (T)(FROM)(from[p + q] ^ flip);                             \
                sums[j] = sum;                                                                                         \
            }                                                                                                          \
            for (int64_t j = cols; j < NR; j++) {                                                                      \
                for (int64_t p = 0; p < whole; p++) to[(p / GROUP * NR + j) * GROUP + p % GROUP] = 0;                  \
                sums[j] = 0;                                                                                           \
            }                                                                                                          \
        } else {                                                                                                       \
            for (int j = 0; j < NR; j++) sums[j] = 0;                                                                  \
            if (GROUP == 4 && INT8_WEAVES && whole) weave_fours(whole, src, row, NR, flip, (FROM)-1 < 0, to, sums);    \
            if (GROUP == 2 && INT8_WEAVES && whole) weave_twos(whole, src, row, NR, (FROM)-1 < 0, to, sums);           \
            for (int64_t p = INT8_WEAVES ? whole : 0; p < whole; p += GROUP) {                                         \
                const uint8_t *restrict from = src + p * row;                                                          \
                T *restrict at = to + p * NR;                                                                          \
                for (int j = 0; j < NR; j++)                                                                           \
                    for (int q = 0; q < GROUP; q++) {                                                                  \
                        const FROM x = (FROM)(from[q * row + j] ^ flip);                                               \
                        at[j * GROUP + q] = (T)x;                                                                      \
                        sums[j] += x;                                                                                  \
                    }                                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        for (int64_t p = whole; p < k; p += GROUP)                                                                     \
            for (int j = 0; j < NR; j++)                                                                               \
                for (int q = 0; q < GROUP; q++) {                                                                      \
                    const FROM x = j < cols && p + q < k ? (FROM)(src[(p + q) * row + j * col] ^ flip) : 0;            \
                    to[(p / GROUP * NR + j) * GROUP + q] = (T)x;                                                       \
                    sums[j] += x;                                                                                      \
                }                                                                                                      \
    }

#if WICK_TIER_ID == 0
/* The oracle: a tile is one row by one column. */
enum { PAIRS_MR = 1, PAIRS_NR = 1, INT8_VEC_BYTES = 4 };
static void tile_1x1(const wick_int8_tile *t) {
    const int16_t *a = t->a, *b = t->b;
    int32_t sum = *t->start;
    for (int64_t i = 0; i < t->pieces; i++)
        for (int64_t p = 0; p < 2 * t->steps; p++) sum += a[t->piece[i] / 2 + p] * *b++;
    *t->sums = sum;
}
static void dots_pairs(const wick_int8_dots *t) {
    for (int64_t x = 0; x < t->outputs; x++)
        for (int64_t c = 0; c < t->channels; c++) {
            int32_t sum = 0;
            for (int64_t k = 0; k < t->taps; k++) {
                const int16_t *v =
                                  (const int16_t *)(const void *)((const char *)t->v + t->tap[k] + x * t->step) + 2 * c,
                              *w = (const int16_t *)t->w + 2 * (k * t->channels + c);
                sum += v[0] * w[0] + v[1] * w[1];
            }
            t->sums[x * t->channels + c] = sum;
        }
}
static wick_int8_tile_fn *const tiles_pairs[] = {tile_1x1, tile_1x1};
#define INT8_TILE_TEXT "_"

#else

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define INT8_INLINE static inline __attribute__((always_inline))
#if WICK_TIER_ID >= 2
#define INT8_WEAVES 1
/* k rows of nr columns, k a multiple of 4, nr of 16: fours along k of each column side by side, and their sums. */
INT8_INLINE void weave_fours(int64_t k, const uint8_t *src, int64_t row, const int nr, const uint8_t flip,
                             const bool is_signed, void *dst, int32_t *sums) {
    __m128i *to = dst, sum[16];
    const __m128i flips = _mm_set1_epi8((char)flip), ones = _mm_set1_epi8(1);
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 4; j++) sum[j] = _mm_setzero_si128();
    for (int64_t p = 0; p < k; p += 4, src += 4 * row) {
        _Pragma("GCC unroll 2") for (int j = 0; j < nr / 4; j += 4) {
            __m128i x[4];
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) x[q] =
                _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(src + q * row + 4 * j)), flips);
            const __m128i a = _mm_unpacklo_epi8(x[0], x[1]), b = _mm_unpackhi_epi8(x[0], x[1]),
                          c = _mm_unpacklo_epi8(x[2], x[3]), d = _mm_unpackhi_epi8(x[2], x[3]);
            const __m128i out[4] = {_mm_unpacklo_epi16(a, c), _mm_unpackhi_epi16(a, c), _mm_unpacklo_epi16(b, d),
                                    _mm_unpackhi_epi16(b, d)};
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
                const __m128i twos = is_signed ? _mm_maddubs_epi16(ones, out[q]) : _mm_maddubs_epi16(out[q], ones);
                sum[j + q] = _mm_add_epi32(sum[j + q], _mm_madd_epi16(twos, _mm_set1_epi16(1)));
                _mm_storeu_si128(to++, out[q]);
            }
        }
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 4; j++)
        _mm_storeu_si128((__m128i *)(void *)(sums + 4 * j), sum[j]);
}
/* The same of pairs that are i16; k is even. */
INT8_INLINE void weave_twos(int64_t k, const uint8_t *src, int64_t row, const int nr, const bool is_signed, void *dst,
                            int32_t *sums) {
    __m256i *to = dst, sum[8];
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 8; j++) sum[j] = _mm256_setzero_si256();
    for (int64_t p = 0; p < k; p += 2, src += 2 * row) {
        _Pragma("GCC unroll 4") for (int j = 0; j < nr / 16; j++) {
            const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(src + 16 * j)),
                          y = _mm_loadu_si128((const __m128i *)(const void *)(src + row + 16 * j));
            const __m128i low = _mm_unpacklo_epi8(x, y), high = _mm_unpackhi_epi8(x, y);
            const __m256i out[2] = {is_signed ? _mm256_cvtepi8_epi16(low) : _mm256_cvtepu8_epi16(low),
                                    is_signed ? _mm256_cvtepi8_epi16(high) : _mm256_cvtepu8_epi16(high)};
            _Pragma("GCC unroll 2") for (int q = 0; q < 2; q++) {
                sum[2 * j + q] = _mm256_add_epi32(sum[2 * j + q], _mm256_madd_epi16(out[q], _mm256_set1_epi16(1)));
                _mm256_storeu_si256(to++, out[q]);
            }
        }
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 8; j++)
        _mm256_storeu_si256((__m256i *)(void *)(sums + 8 * j), sum[j]);
}
#endif
#ifdef __clang__
#define INT8_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INT8_UNROLL _Pragma("GCC unroll 32")
#endif
#define INT8_TILES_6(X, vecs) X(1, vecs) X(2, vecs) X(3, vecs) X(4, vecs) X(5, vecs) X(6, vecs)
#if WICK_TIER_ID == 3
#define INT8_TILES(X, vecs)                                                                                            \
    INT8_TILES_6(X, vecs) X(7, vecs) X(8, vecs) X(9, vecs) X(10, vecs) X(11, vecs) X(12, vecs) X(13, vecs) X(14, vecs)
#define INT8_TILE_TEXT "_14x32_"
enum { INT8_MR = 14, INT8_VEC_BYTES = 64 };
#elif WICK_TIER_ID == 2
#define INT8_TILES     INT8_TILES_6
#define INT8_TILE_TEXT "_6x16_"
enum { INT8_MR = 6, INT8_VEC_BYTES = 32 };
#else
#define INT8_TILES     INT8_TILES_6
#define INT8_TILE_TEXT "_6x8_"
enum { INT8_MR = 6, INT8_VEC_BYTES = 16 };
#endif
enum { INT8_OUTPUTS = 8 }; /* side by side, if each channel is on its own */
enum { PAIRS_MR = INT8_MR, PAIRS_NR = INT8_VEC_BYTES / 2 };
typedef int32_t int8_sums __attribute__((vector_size(INT8_VEC_BYTES)));

/* PAIRS_DOT: two products of i16 to each sum. INT8_WEAVE: vectors unpacked within 16 bytes. */
#if WICK_TIER_ID == 3
#define PAIRS_DOT(sum, a, b)   ((sum) + (int8_sums)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#define INT8_WEAVE(what, a, b) ((int8_sums)_mm512_unpack##what((__m512i)(a), (__m512i)(b)))
#elif WICK_TIER_ID == 2
#define PAIRS_DOT(sum, a, b)   ((sum) + (int8_sums)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#define INT8_WEAVE(what, a, b) ((int8_sums)_mm256_unpack##what((__m256i)(a), (__m256i)(b)))
#elif defined(__SSE2__)
#define PAIRS_DOT(sum, a, b)   ((sum) + (int8_sums)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#define INT8_WEAVE(what, a, b) ((int8_sums)_mm_unpack##what((__m128i)(a), (__m128i)(b)))
#elif defined(WICK_NEON)
INT8_INLINE int8_sums pairs_dot(int8_sums sum, int8_sums a, int8_sums b) {
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return sum + (int8_sums)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
#define PAIRS_DOT              pairs_dot
#define neon_lo_epi8           vzip1q_s8
#define neon_hi_epi8           vzip2q_s8
#define neon_lo_epi16(a, b)    vzip1q_s16((int16x8_t)(a), (int16x8_t)(b))
#define neon_hi_epi16(a, b)    vzip2q_s16((int16x8_t)(a), (int16x8_t)(b))
#define INT8_WEAVE(what, a, b) ((int8_sums)neon_##what((int8x16_t)(a), (int8x16_t)(b)))
#else
#define PAIRS_DOT(sum, a, b) ((sum) + ((a) << 16 >> 16) * ((b) << 16 >> 16) + ((a) >> 16) * ((b) >> 16))
#endif

#define INT8_NAME(x) x##_pairs
#define INT8_TARGET
#define INT8_VEC int8_sums
#define INT8_DOT PAIRS_DOT
#include "kernels/int8/int8_tile.h"

#endif

/* ---- what becomes of sums ---------------------------------------------------------------------------------------- */

/* A vector of sums, one after the other in ref: x held to bounds (NaN becomes the lower one), and n bytes of what is
 * left. */
#if WICK_TIER_ID == 0
typedef int32_t int8_sums;
typedef float int8_reals;
#define INT8_REALS(x) ((float)(x))
#define INT8_BITS(x)  bits_of(x)
static int32_t bits_of(float x) {
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static float held(float x, float low, float high) {
    x = x > low ? x : low;
    return x < high ? x : high;
}
static void put_bytes(uint8_t *to, int32_t x, int64_t n) { *to = (uint8_t)(n ? x : 0); }
#else
typedef float int8_reals __attribute__((vector_size(INT8_VEC_BYTES)));
#define INT8_REALS(x) __builtin_convertvector(x, int8_reals)
#define INT8_BITS(x)  ((int8_sums)(x))
#if WICK_TIER_ID == 3
INT8_INLINE int8_reals held(int8_reals x, int8_reals low, int8_reals high) {
    return (int8_reals)_mm512_min_ps(_mm512_max_ps((__m512)x, (__m512)low), (__m512)high);
}
INT8_INLINE void put_bytes(uint8_t *to, int8_sums x, int64_t n) {
    const __m128i bytes = _mm512_cvtepi32_epi8((__m512i)x);
    if (n >= 16)
        _mm_storeu_si128((__m128i *)(void *)to, bytes);
    else if (n == 8)
        _mm_storel_epi64((__m128i *)(void *)to, bytes);
    else
        _mm_mask_storeu_epi8(to, (__mmask16)((1u << n) - 1), bytes);
}
#else
#if WICK_TIER_ID == 2
INT8_INLINE int8_reals held(int8_reals x, int8_reals low, int8_reals high) {
    return (int8_reals)_mm256_min_ps(_mm256_max_ps((__m256)x, (__m256)low), (__m256)high);
}
INT8_INLINE int64_t low_bytes(int8_sums x) {
    const __m256i y = _mm256_and_si256((__m256i)x, _mm256_set1_epi32(255));
    const __m128i twos = _mm_packs_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
    return _mm_cvtsi128_si64(_mm_packus_epi16(twos, twos));
}
#elif defined(__SSE2__)
INT8_INLINE int8_reals held(int8_reals x, int8_reals low, int8_reals high) {
    return (int8_reals)_mm_min_ps(_mm_max_ps((__m128)x, (__m128)low), (__m128)high);
}
INT8_INLINE int32_t low_bytes(int8_sums x) {
    const __m128i twos = _mm_packs_epi32(_mm_and_si128((__m128i)x, _mm_set1_epi32(255)), _mm_setzero_si128());
    return _mm_cvtsi128_si32(_mm_packus_epi16(twos, twos));
}
#elif defined(WICK_NEON)
INT8_INLINE int8_reals held(int8_reals x, int8_reals low, int8_reals high) {
    return (int8_reals)vminq_f32(vmaxnmq_f32((float32x4_t)x, (float32x4_t)low), (float32x4_t)high);
}
INT8_INLINE uint32_t low_bytes(int8_sums x) {
    const uint16x4_t twos = vmovn_u32((uint32x4_t)x);
    return vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(twos, twos))), 0);
}
#else
INT8_INLINE int8_reals held(int8_reals x, int8_reals low, int8_reals high) {
    for (int i = 0; i < INT8_VEC_BYTES / 4; i++) x[i] = x[i] > low[i] ? x[i] < high[i] ? x[i] : high[i] : low[i];
    return x;
}
INT8_INLINE uint32_t low_bytes(int8_sums x) {
    uint8_t bytes[4] = {(uint8_t)x[0], (uint8_t)x[1], (uint8_t)x[2], (uint8_t)x[3]};
    uint32_t four;
    memcpy(&four, bytes, sizeof four);
    return four;
}
#endif
INT8_INLINE void put_bytes(uint8_t *to, int8_sums x, int64_t n) {
    const uint64_t bytes = (uint64_t)low_bytes(x);
    if (n >= INT8_VEC_BYTES / 4)
        memcpy(to, &bytes, INT8_VEC_BYTES / 4);
    else
        for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)(bytes >> 8 * i);
}
#endif
#endif
typedef int8_sums int8_any __attribute__((aligned(4), may_alias));
typedef int8_reals int8_any_reals __attribute__((aligned(4), may_alias));
#define INT8_AT(p)       (*(const int8_any *)(const void *)(p))
#define INT8_REALS_AT(p) (*(const int8_any_reals *)(const void *)(p))

/* A vector of columns from j on, n of them. Whole vectors of sums and of what stands by columns are there, also behind
 * the last column. Rounded to nearest even by adding 1.5 2^23, in whose last bits the number then is; bounds are far
 * below that. */
static inline __attribute__((always_inline)) void finish_columns(const wick_int8_finish *f, int64_t j, const int64_t n,
                                                                 const wick_int8_result result, const bool with_rows) {
    enum { L = INT8_VEC_BYTES / 4 };
    const float magic = 12582912.0f;
    const int8_reals low = (int8_reals){0} + f->low, high = (int8_reals){0} + f->high;
    const int8_sums point = (int8_sums){0} + (f->point - 0x4b400000), offset = INT8_AT(f->offset + j);
    const int8_reals scale = INT8_REALS_AT(f->scale + j), bias = INT8_REALS_AT(f->bias + j);
    /* which stores of bytes could change, to a compiler */
    const int64_t size = result < WICK_INT8_U8 ? 4 : 1, rows = f->rows, s_row = f->sums_row, c_row = f->c_row * size;
    const int8_sums zero = INT8_AT((with_rows ? f->zero : f->offset) + j);
    const int32_t *s = f->sums + j, *by = f->row_sums;
    char *c = (char *)f->c + j * size;
    for (int64_t i = 0; i < rows; i++, s += s_row, c += c_row) {
        int8_sums x = INT8_AT(s) + offset;
        if (with_rows) x -= zero * ((int8_sums){0} + by[i]);
        if (result >= WICK_INT8_U8) {
            put_bytes((uint8_t *)c, INT8_BITS(held(INT8_REALS(x) * scale, low, high) + magic) + point, n);
            continue;
        }
        if (result == WICK_INT8_F32) x = INT8_BITS(INT8_REALS(x) * scale + bias);
        if (L == 1 || n >= L)
            *(int8_any *)(void *)c = x;
        else
            memcpy(c, &x, (size_t)n * 4);
    }
}
static inline __attribute__((always_inline)) void finish_rows(const wick_int8_finish *f, const wick_int8_result result,
                                                              const bool with_rows) {
    enum { L = INT8_VEC_BYTES / 4 };
    int64_t j = 0;
    for (; j + L <= f->cols; j += L) finish_columns(f, j, L, result, with_rows);
    if (j < f->cols) finish_columns(f, j, f->cols - j, result, with_rows);
}
static void finish(const wick_int8_finish *f) {
    const wick_int8_result result = f->result < WICK_INT8_U8 ? f->result : WICK_INT8_U8; /* bytes are bytes */
    if (result == WICK_INT8_U8)
        f->row_sums ? finish_rows(f, WICK_INT8_U8, true) : finish_rows(f, WICK_INT8_U8, false);
    else if (result == WICK_INT8_F32)
        f->row_sums ? finish_rows(f, WICK_INT8_F32, true) : finish_rows(f, WICK_INT8_F32, false);
    else
        f->row_sums ? finish_rows(f, WICK_INT8_I32, true) : finish_rows(f, WICK_INT8_I32, false);
}

/* ---- lines woven into steps -------------------------------------------------------------------------------------- */

#ifdef INT8_WEAVE
/* Unpacking goes lane by lane of 16 bytes. So that it leaves elements in order, lane l gets number j of its 4 (quads)
 * or 2 (pairs) parts from part number j * lanes + l. */
enum { INT8_LANES = INT8_VEC_BYTES / 16 };
#define INT8_FROM(i, n)                                                                                                \
    ((i) / (4 / (n)) % (n)*INT8_LANES * (4 / (n)) + (i) / 4 * (4 / (n)) + (i) % (4 / (n))) /* n parts in a lane */
#define INT8_FROM_4(i, n) INT8_FROM(i, n), INT8_FROM((i) + 1, n), INT8_FROM((i) + 2, n), INT8_FROM((i) + 3, n)
#if WICK_TIER_ID == 3
#define INT8_SPREAD(x, n)                                                                                              \
    ((int8_sums)_mm512_permutexvar_epi32(                                                                              \
        (__m512i)(int8_sums){INT8_FROM_4(0, n), INT8_FROM_4(4, n), INT8_FROM_4(8, n), INT8_FROM_4(12, n)},             \
        (__m512i)(x)))
#elif WICK_TIER_ID == 2
#define INT8_SPREAD(x, n)                                                                                              \
    ((int8_sums)_mm256_permutevar8x32_epi32((__m256i)(x), (__m256i)(int8_sums){INT8_FROM_4(0, n), INT8_FROM_4(4, n)}))
#else
#define INT8_SPREAD(x, n) (x)
#endif
#define INT8_LINE(q, n) INT8_SPREAD(INT8_BYTES_AT((const char *)lines[q] + i), n)
typedef int8_sums int8_bytes __attribute__((aligned(1), may_alias));
#define INT8_BYTES_AT(p) (*(const int8_bytes *)(const void *)(p))
static void weave_pairs(int64_t n, const void *const *lines, void *dst) {
    int8_any *to = dst;
    for (int64_t i = 0; i < 2 * n; i += INT8_VEC_BYTES, to += 2) {
        const int8_sums x = INT8_LINE(0, 2), y = INT8_LINE(1, 2);
        to[0] = INT8_WEAVE(lo_epi16, x, y);
        to[1] = INT8_WEAVE(hi_epi16, x, y);
    }
}
#if WICK_TIER_ID >= 2
static void weave_quads(int64_t n, const void *const *lines, void *dst) {
    int8_any *to = dst;
    for (int64_t i = 0; i < n; i += INT8_VEC_BYTES, to += 4) {
        const int8_sums x = INT8_LINE(0, 4), y = INT8_LINE(1, 4), z = INT8_LINE(2, 4), u = INT8_LINE(3, 4);
        const int8_sums a = INT8_WEAVE(lo_epi8, x, y), b = INT8_WEAVE(hi_epi8, x, y), c = INT8_WEAVE(lo_epi8, z, u),
                        d = INT8_WEAVE(hi_epi8, z, u);
        to[0] = INT8_WEAVE(lo_epi16, a, c);
        to[1] = INT8_WEAVE(hi_epi16, a, c);
        to[2] = INT8_WEAVE(lo_epi16, b, d);
        to[3] = INT8_WEAVE(hi_epi16, b, d);
    }
}
#endif
#else
static void weave_pairs(int64_t n, const void *const *lines, void *dst) {
    int16_t *to = dst;
    for (int64_t i = 0; i < n; i++)
        for (int q = 0; q < 2; q++) *to++ = ((const int16_t *)lines[q])[i];
}
#endif

/* ---- packing ----------------------------------------------------------------------------------------------------- */

#ifndef INT8_WEAVES
#define INT8_WEAVES      0
#define weave_fours(...) ((void)0)
#define weave_twos(...)  ((void)0)
#endif

INT8_PACK(pack_pairs_u8, int16_t, uint8_t, 2, PAIRS_NR, 0)
INT8_PACK(pack_pairs_i8, int16_t, int8_t, 2, PAIRS_NR, 0)
static void pack_pairs(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst,
                       int32_t *sums) {
    (is_signed ? pack_pairs_i8 : pack_pairs_u8)(k, cols, src, row, col, dst, sums);
}

/* ---- quads of bytes ---------------------------------------------------------------------------------------------- */

#if WICK_TIER_ID == 3
#define QUADS_TARGET         __attribute__((target("avx512vnni")))
#define QUADS_DOT(sum, a, b) ((int8_sums)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b)))
#define INT8_HAS_QUADS
#elif WICK_TIER_ID == 2 && (!defined(__clang__) || __clang_major__ >= 12)
#define QUADS_TARGET         __attribute__((target("avxvnni")))
#define QUADS_DOT(sum, a, b) ((int8_sums)_mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(a), (__m256i)(b)))
#define INT8_HAS_QUADS
#endif

#ifdef INT8_HAS_QUADS
#define INT8_NAME(x) x##_quads
#define INT8_TARGET  QUADS_TARGET
#define INT8_VEC     int8_sums
#define INT8_DOT     QUADS_DOT
#include "kernels/int8/int8_tile.h"
QUADS_TARGET static int32_t row_quads(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst) {
    typedef int32_t loose __attribute__((vector_size(INT8_VEC_BYTES), aligned(1), may_alias));
    const uint8_t *from = src, flip = is_signed ? 0x80 : 0;
    const int8_sums flips = (int8_sums){0} + (int32_t)(flip * 0x01010101u), ones = (int8_sums){0} + 0x01010101;
    int8_sums sums[4] = {{0}}; /* each waits for itself only */
    uint8_t *to = dst;
    int64_t p = 0;
    for (; p + 4 * INT8_VEC_BYTES <= k; p += 4 * INT8_VEC_BYTES) {
        INT8_UNROLL
        for (int i = 0; i < 4; i++) {
            const int8_sums x = *(const loose *)(const void *)(from + p + i * INT8_VEC_BYTES) ^ flips;
            *(loose *)(void *)(to + p + i * INT8_VEC_BYTES) = x;
            sums[i] = QUADS_DOT(sums[i], x, ones);
        }
    }
    for (; p + INT8_VEC_BYTES <= k; p += INT8_VEC_BYTES) {
        const int8_sums x = *(const loose *)(const void *)(from + p) ^ flips;
        *(loose *)(void *)(to + p) = x;
        sums[0] = QUADS_DOT(sums[0], x, ones);
    }
    const int8_sums all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    int32_t sum = 0;
    for (int i = 0; i < INT8_VEC_BYTES / 4; i++) sum += all[i];
    for (; p < k; p++) sum += to[p] = from[p] ^ flip;
    memset(to + k, 0, (size_t)(padded - k));
    return sum;
}
INT8_PACK(pack_quads_u8, int8_t, int8_t, 4, PAIRS_NR, 0x80)
INT8_PACK(pack_quads_i8, int8_t, int8_t, 4, PAIRS_NR, 0)
static void pack_quads(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst,
                       int32_t *sums) {
    (is_signed ? pack_quads_i8 : pack_quads_u8)(k, cols, src, row, col, dst, sums);
}
#endif

/* ---- fours of bytes by sums of 16 bits --------------------------------------------------------------------------- */

#if WICK_TIER_ID == 2
#define INT8_HAS_BYTES
#define BYTES_DOT(sum, a, b)                                                                                           \
    ((sum) + (int8_sums)_mm256_madd_epi16(_mm256_maddubs_epi16((__m256i)(a), (__m256i)(b)), _mm256_set1_epi16(1)))
/* Of weights of any size: A in two halves, of at most 127 and 128. 2 128 128 fits as a negative number, and no weight
 * is 128. */
INT8_INLINE int8_sums wide_dot(int8_sums sum, int8_sums a, int8_sums b) {
    const __m256i half = _mm256_and_si256(_mm256_srli_epi16((__m256i)a, 1), _mm256_set1_epi8(127));
    return BYTES_DOT(BYTES_DOT(sum, half, b), _mm256_sub_epi8((__m256i)a, half), b);
}
#define INT8_NAME(x) x##_bytes
#define INT8_TARGET
#define INT8_VEC int8_sums
#define INT8_DOT BYTES_DOT
#define INT8_SPLITS
#define INT8_NO_DOTS
#include "kernels/int8/int8_tile.h"
#define INT8_NAME(x) x##_wide
#define INT8_TARGET
#define INT8_VEC int8_sums
#define INT8_DOT wide_dot
#define INT8_NO_DOTS
#include "kernels/int8/int8_tile.h"
static int32_t row_bytes(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst) {
    const uint8_t *restrict from = src, flip = is_signed ? 0x80 : 0;
    uint8_t *restrict to = dst;
    __m256i sums = _mm256_setzero_si256(), flips = _mm256_set1_epi8((char)flip);
    int64_t p = 0;
    for (; p + 32 <= k; p += 32) {
        const __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(from + p)), flips);
        _mm256_storeu_si256((__m256i *)(void *)(to + p), x);
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(x, _mm256_setzero_si256()));
    }
    int64_t four[4];
    memcpy(four, &sums, sizeof four);
    int32_t sum = (int32_t)(four[0] + four[1] + four[2] + four[3]);
    for (; p < k; p++) sum += to[p] = from[p] ^ flip;
    memset(to + k, 0, (size_t)(padded - k));
    return sum;
}
INT8_PACK(pack_bytes_u8, int8_t, int8_t, 4, PAIRS_NR, 0x80)
INT8_PACK(pack_bytes_i8, int8_t, int8_t, 4, PAIRS_NR, 0)
static void pack_bytes(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst,
                       int32_t *sums) {
    (is_signed ? pack_bytes_i8 : pack_bytes_u8)(k, cols, src, row, col, dst, sums);
}
#endif

/* ---- a few rows -------------------------------------------------------------------------------------------------- */

#ifdef INT8_WEAVE
typedef int32_t int8_loose __attribute__((vector_size(INT8_VEC_BYTES), aligned(1), may_alias));
enum { SWEEP_STEPS = 8 }; /* rows of B at once */

/* The columns of a block in order. */
static void put_in_order(int32_t *sums, int64_t width) {
    enum { V = INT8_VEC_BYTES / 4 };
    int32_t was[4 * V];
    for (int64_t j = 0; j < width; j += 4 * V) {
        memcpy(was, sums + j, sizeof was);
        for (int lane = 0; lane < V / 4; lane++)
            for (int v = 0; v < 4; v++) memcpy(sums + j + 16 * lane + 4 * v, was + v * V + 4 * lane, 16);
    }
}

#define SWEEP_NAME(x) x##_pairs
#define SWEEP_TARGET
#define SWEEP_GROUP 2
#define SWEEP_DOT   PAIRS_DOT
#include "kernels/int8/int8_sweep.h"

#ifdef INT8_HAS_QUADS
#define SWEEP_NAME(x) x##_quads
#define SWEEP_TARGET  QUADS_TARGET
#define SWEEP_GROUP   4
#define SWEEP_DOT     QUADS_DOT
#include "kernels/int8/int8_sweep.h"
#endif
#endif

/* ---- tiles: fours of bytes as they are --------------------------------------------------------------------------- */

#if WICK_TIER_ID != 0
enum { TILES_NR = 32 };
static int32_t row_tiles(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst) {
    int32_t sum = 0;
    if (is_signed)
        for (int64_t p = 0; p < k; p++) sum += ((const int8_t *)src)[p];
    else
        for (int64_t p = 0; p < k; p++) sum += ((const uint8_t *)src)[p];
    memcpy(dst, src, (size_t)k);
    memset((char *)dst + k, 0, (size_t)(padded - k));
    return sum;
}
INT8_PACK(pack_tiles_u8, uint8_t, uint8_t, 4, TILES_NR, 0)
INT8_PACK(pack_tiles_i8, int8_t, int8_t, 4, TILES_NR, 0)
static void pack_tiles(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst,
                       int32_t *sums) {
    (is_signed ? pack_tiles_i8 : pack_tiles_u8)(k, cols, src, row, col, dst, sums);
}
#endif

#define INT8_NAMES(what)                                                                                               \
    {                                                                                                                  \
        "matmul_int8" INT8_TILE_TEXT INT8_STR(WICK_TIER_NAME) what,                                                    \
            "conv_int8" INT8_TILE_TEXT INT8_STR(WICK_TIER_NAME) what                                                   \
    }
const wick_int8_table INT8_CAT(wick_int8_table_, WICK_TIER_NAME) = {
    .plain =
        {
            .names = INT8_NAMES(""),
            .group = 2,
            .along = 2,
            .elem = 2,
            .mr = PAIRS_MR,
            .nr = PAIRS_NR,
            .tiles = tiles_pairs,
            .row = row_pairs,
            .pack = pack_pairs,
            .finish = finish,
            .lanes = INT8_VEC_BYTES / 4,
            .weave = weave_pairs,
            .dots = dots_pairs,
#ifdef INT8_WEAVE
            .few = few_pairs,
#endif
        },
#ifdef INT8_HAS_QUADS
    .vnni = {.names = INT8_NAMES("_vnni"),
             .group = 4,
             .along = 4,
             .elem = 1,
             .mr = INT8_MR,
             .nr = PAIRS_NR,
             .tiles = tiles_quads,
             .row = row_quads,
             .pack = pack_quads,
             .finish = finish,
             .few = few_quads,
             .lanes = INT8_VEC_BYTES / 4,
             .weave = weave_quads,
             .dots = dots_quads},
#endif
#ifdef INT8_HAS_BYTES
    .bytes = {.names = INT8_NAMES("_bytes"),
              .group = 4,
              .along = 4,
              .elem = 1,
              .mr = INT8_MR,
              .nr = PAIRS_NR,
              .tiles = tiles_bytes,
              .wide = tiles_wide,
              .row = row_bytes,
              .pack = pack_bytes,
              .finish = finish,
              .lanes = INT8_VEC_BYTES / 4},
#endif
#if WICK_TIER_ID != 0
    .amx = {.names = {"matmul_int8_amx", "conv_int8_amx"},
            .group = 4,
            .along = 64,
            .any_sign = true,
            .elem = 1,
            .mr = 32,
            .nr = TILES_NR,
            .row = row_tiles,
            .pack = pack_tiles,
            .finish = finish},
#endif
};
