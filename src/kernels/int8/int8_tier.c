/* int8_tier.c: products of 8-bit integers for one tier; exact, so every tier gives the same. */
#include "kernels/int8/int8.h"
#include "kernels/neon.h"

#define INT8_STR_(x)    #x
#define INT8_STR(x)     INT8_STR_(x)
#define INT8_CAT_(a, b) a##b
#define INT8_CAT(a, b)  INT8_CAT_(a, b)

/* ---- what all ways share ---------------------------------------------------------------------------------------------------------- */

/* cols and with_rows (sums of rows of A) are constants of whole panels, so that compilers unroll and leave products out. Rounded to nearest even by adding
 * and taking away 1.5 2^23; bounds are far below that. NaN becomes the lower bound. */
static inline __attribute__((always_inline)) void finish_rows(const wick_int8_finish *f, const int64_t cols, const bool with_rows) {
    const float round = 12582912.0f;
    const int32_t *restrict offset = f->offset, *restrict zero = f->zero;
    const float *restrict scale = f->scale, *restrict bias = f->bias;
    for (int64_t i = 0; i < f->rows; i++) {
        const int32_t *restrict s = f->sums + i * f->sums_row;
        const int32_t row = with_rows ? f->row_sums[i] : 0;
        if (f->result == WICK_INT8_I32) {
            int32_t *restrict c = (int32_t *)f->c + i * f->c_row;
            for (int64_t j = 0; j < cols; j++) c[j] = s[j] + offset[j] - (with_rows ? zero[j] * row : 0);
        } else if (f->result == WICK_INT8_F32) {
            float *restrict c = (float *)f->c + i * f->c_row;
            for (int64_t j = 0; j < cols; j++) c[j] = (float)(s[j] + offset[j] - (with_rows ? zero[j] * row : 0)) * scale[j] + bias[j];
        } else {
            uint8_t *restrict c = (uint8_t *)f->c + i * f->c_row;
            const float low = f->low, high = f->high;
            const int32_t point = f->point;
            for (int64_t j = 0; j < cols; j++) {
                float x = (float)(s[j] + offset[j] - (with_rows ? zero[j] * row : 0)) * scale[j];
                x = x > low ? x : low;
                x = x < high ? x : high;
                c[j] = (uint8_t)((int32_t)((x + round) - round) + point);
            }
        }
    }
}
/* ---- pairs of i16 ------------------------------------------------------------------------------------------------------------------- */

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

/* A panel from bytes that are moved by x ^ flip and are FROM then; T is what the tiles read. Contiguous rows go step by step, contiguous columns
 * one after the other. */
#define INT8_PACK(name, T, FROM, GROUP, NR, flip)                                                                                 \
    static void name(int64_t k, int64_t cols, const uint8_t *src, int64_t row, int64_t col, void *dst, int32_t *restrict sums) {   \
        T *restrict to = dst;                                                                                                      \
        const int64_t whole = (row == 1 || (cols == NR && col == 1)) ? k - k % GROUP : 0;                                          \
        if (row == 1) {                                                                                                            \
            for (int64_t j = 0; j < cols; j++) {                                                                                   \
                const uint8_t *restrict from = src + j * col;                                                                      \
                T *restrict at = to + j * GROUP;                                                                                   \
                int32_t sum = 0;                                                                                                   \
                for (int64_t p = 0; p < whole; p++) sum += (FROM)(from[p] ^ flip);                                                 \
                for (int64_t p = 0; p < whole; p += GROUP, at += GROUP * NR)                                                       \
                    for (int q = 0; q < GROUP; q++) at[q] = (T)(FROM)(from[p + q] ^ flip);                                         \
                sums[j] = sum;                                                                                                     \
            }                                                                                                                      \
            for (int64_t j = cols; j < NR; j++) {                                                                                  \
                for (int64_t p = 0; p < whole; p++) to[(p / GROUP * NR + j) * GROUP + p % GROUP] = 0;                              \
                sums[j] = 0;                                                                                                       \
            }                                                                                                                      \
        } else {                                                                                                                   \
            for (int j = 0; j < NR; j++) sums[j] = 0;                                                                              \
            if (GROUP == 4 && INT8_WEAVES && whole) weave_fours(whole, src, row, NR, flip, (FROM)-1 < 0, to, sums);                \
            if (GROUP == 2 && INT8_WEAVES && whole) weave_twos(whole, src, row, NR, (FROM)-1 < 0, to, sums);                       \
            for (int64_t p = INT8_WEAVES ? whole : 0; p < whole; p += GROUP) {                                                     \
                const uint8_t *restrict from = src + p * row;                                                                      \
                T *restrict at = to + p * NR;                                                                                      \
                for (int j = 0; j < NR; j++)                                                                                       \
                    for (int q = 0; q < GROUP; q++) {                                                                              \
                        const FROM x = (FROM)(from[q * row + j] ^ flip);                                                           \
                        at[j * GROUP + q] = (T)x;                                                                                  \
                        sums[j] += x;                                                                                              \
                    }                                                                                                              \
            }                                                                                                                      \
        }                                                                                                                          \
        for (int64_t p = whole; p < k; p += GROUP)                                                                                 \
            for (int j = 0; j < NR; j++)                                                                                           \
                for (int q = 0; q < GROUP; q++) {                                                                                  \
                    const FROM x = j < cols && p + q < k ? (FROM)(src[(p + q) * row + j * col] ^ flip) : 0;                        \
                    to[(p / GROUP * NR + j) * GROUP + q] = (T)x;                                                                   \
                    sums[j] += x;                                                                                                  \
                }                                                                                                                  \
    }

#if WICK_TIER_ID == 0
/* The oracle: a tile is one row by one column. */
enum { PAIRS_MR = 1, PAIRS_NR = 1 };
static void tile_1x1(const wick_int8_tile *t) {
    const int16_t *a = t->a, *b = t->b;
    int32_t sum = *t->start;
    for (int64_t p = 0; p < 2 * t->steps; p++) sum += a[p] * b[p];
    *t->sums = sum;
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
INT8_INLINE void weave_fours(int64_t k, const uint8_t *src, int64_t row, const int nr, const uint8_t flip, const bool is_signed, void *dst, int32_t *sums) {
    __m128i *to = dst, sum[16];
    const __m128i flips = _mm_set1_epi8((char)flip), ones = _mm_set1_epi8(1);
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 4; j++) sum[j] = _mm_setzero_si128();
    for (int64_t p = 0; p < k; p += 4, src += 4 * row) {
        _Pragma("GCC unroll 2") for (int j = 0; j < nr / 4; j += 4) {
            __m128i x[4];
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) x[q] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(src + q * row + 4 * j)), flips);
            const __m128i a = _mm_unpacklo_epi8(x[0], x[1]), b = _mm_unpackhi_epi8(x[0], x[1]), c = _mm_unpacklo_epi8(x[2], x[3]), d = _mm_unpackhi_epi8(x[2], x[3]);
            const __m128i out[4] = {_mm_unpacklo_epi16(a, c), _mm_unpackhi_epi16(a, c), _mm_unpacklo_epi16(b, d), _mm_unpackhi_epi16(b, d)};
            _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) {
                const __m128i twos = is_signed ? _mm_maddubs_epi16(ones, out[q]) : _mm_maddubs_epi16(out[q], ones);
                sum[j + q] = _mm_add_epi32(sum[j + q], _mm_madd_epi16(twos, _mm_set1_epi16(1)));
                _mm_storeu_si128(to++, out[q]);
            }
        }
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 4; j++) _mm_storeu_si128((__m128i *)(void *)(sums + 4 * j), sum[j]);
}
/* The same of pairs that are i16; k is even. */
INT8_INLINE void weave_twos(int64_t k, const uint8_t *src, int64_t row, const int nr, const bool is_signed, void *dst, int32_t *sums) {
    __m256i *to = dst, sum[8];
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 8; j++) sum[j] = _mm256_setzero_si256();
    for (int64_t p = 0; p < k; p += 2, src += 2 * row) {
        _Pragma("GCC unroll 4") for (int j = 0; j < nr / 16; j++) {
            const __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(src + 16 * j)), y = _mm_loadu_si128((const __m128i *)(const void *)(src + row + 16 * j));
            const __m128i low = _mm_unpacklo_epi8(x, y), high = _mm_unpackhi_epi8(x, y);
            const __m256i out[2] = {is_signed ? _mm256_cvtepi8_epi16(low) : _mm256_cvtepu8_epi16(low), is_signed ? _mm256_cvtepi8_epi16(high) : _mm256_cvtepu8_epi16(high)};
            _Pragma("GCC unroll 2") for (int q = 0; q < 2; q++) {
                sum[2 * j + q] = _mm256_add_epi32(sum[2 * j + q], _mm256_madd_epi16(out[q], _mm256_set1_epi16(1)));
                _mm256_storeu_si256(to++, out[q]);
            }
        }
    }
    _Pragma("GCC unroll 8") for (int j = 0; j < nr / 8; j++) _mm256_storeu_si256((__m256i *)(void *)(sums + 8 * j), sum[j]);
}
#endif
#ifdef __clang__
#define INT8_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INT8_UNROLL _Pragma("GCC unroll 32")
#endif
#define INT8_TILES_6(X, vecs) X(1, vecs) X(2, vecs) X(3, vecs) X(4, vecs) X(5, vecs) X(6, vecs)
#if WICK_TIER_ID == 3
#define INT8_TILES(X, vecs) \
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
enum { PAIRS_MR = INT8_MR, PAIRS_NR = INT8_VEC_BYTES / 2 };
typedef int32_t int8_sums __attribute__((vector_size(INT8_VEC_BYTES)));

/* PAIRS_DOT: two products of i16 to each sum. INT8_WEAVE: vectors unpacked within 16 bytes. */
#if WICK_TIER_ID == 3
#define PAIRS_DOT(sum, a, b) ((sum) + (int8_sums)_mm512_madd_epi16((__m512i)(a), (__m512i)(b)))
#define INT8_WEAVE(what, a, b) ((int8_sums)_mm512_unpack##what((__m512i)(a), (__m512i)(b)))
#elif WICK_TIER_ID == 2
#define PAIRS_DOT(sum, a, b) ((sum) + (int8_sums)_mm256_madd_epi16((__m256i)(a), (__m256i)(b)))
#define INT8_WEAVE(what, a, b) ((int8_sums)_mm256_unpack##what((__m256i)(a), (__m256i)(b)))
#elif defined(__SSE2__)
#define PAIRS_DOT(sum, a, b) ((sum) + (int8_sums)_mm_madd_epi16((__m128i)(a), (__m128i)(b)))
#define INT8_WEAVE(what, a, b) ((int8_sums)_mm_unpack##what((__m128i)(a), (__m128i)(b)))
#elif defined(WICK_NEON)
INT8_INLINE int8_sums pairs_dot(int8_sums sum, int8_sums a, int8_sums b) {
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return sum + (int8_sums)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}
#define PAIRS_DOT pairs_dot
#define neon_lo_epi8 vzip1q_s8
#define neon_hi_epi8 vzip2q_s8
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

#ifndef INT8_WEAVES
#define INT8_WEAVES 0
#define weave_fours(...) ((void)0)
#define weave_twos(...) ((void)0)
#endif

static void finish(const wick_int8_finish *f) {
    if (f->row_sums) finish_rows(f, f->cols, true);
    else if (f->cols == PAIRS_NR) finish_rows(f, PAIRS_NR, false);
    else finish_rows(f, f->cols, false);
}

INT8_PACK(pack_pairs_u8, int16_t, uint8_t, 2, PAIRS_NR, 0)
INT8_PACK(pack_pairs_i8, int16_t, int8_t, 2, PAIRS_NR, 0)
static void pack_pairs(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst, int32_t *sums) {
    (is_signed ? pack_pairs_i8 : pack_pairs_u8)(k, cols, src, row, col, dst, sums);
}

/* ---- quads of bytes ----------------------------------------------------------------------------------------------------------------- */

#if WICK_TIER_ID == 3
#define QUADS_TARGET __attribute__((target("avx512vnni")))
#define QUADS_DOT(sum, a, b) ((int8_sums)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b)))
#define INT8_HAS_QUADS
#elif WICK_TIER_ID == 2 && (!defined(__clang__) || __clang_major__ >= 12)
#define QUADS_TARGET __attribute__((target("avxvnni")))
#define QUADS_DOT(sum, a, b) ((int8_sums)_mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(a), (__m256i)(b)))
#define INT8_HAS_QUADS
#endif

#ifdef INT8_HAS_QUADS
#define INT8_NAME(x) x##_quads
#define INT8_TARGET QUADS_TARGET
#define INT8_VEC int8_sums
#define INT8_DOT QUADS_DOT
#include "kernels/int8/int8_tile.h"
QUADS_TARGET static int32_t row_quads(int64_t k, int64_t padded, bool is_signed, const void *src, void *dst) {
    typedef int32_t loose __attribute__((vector_size(INT8_VEC_BYTES), aligned(1), may_alias));
    const uint8_t *from = src, flip = is_signed ? 0x80 : 0;
    const int8_sums flips = (int8_sums){0} + (int32_t)(flip * 0x01010101u), ones = (int8_sums){0} + 0x01010101;
    int8_sums sums = {0};
    uint8_t *to = dst;
    int64_t p = 0;
    for (; p + INT8_VEC_BYTES <= k; p += INT8_VEC_BYTES) {
        const int8_sums x = *(const loose *)(const void *)(from + p) ^ flips;
        *(loose *)(void *)(to + p) = x;
        sums = QUADS_DOT(sums, x, ones);
    }
    int32_t sum = 0;
    for (int i = 0; i < INT8_VEC_BYTES / 4; i++) sum += sums[i];
    for (; p < k; p++) sum += to[p] = from[p] ^ flip;
    memset(to + k, 0, (size_t)(padded - k));
    return sum;
}
INT8_PACK(pack_quads_u8, int8_t, int8_t, 4, PAIRS_NR, 0x80)
INT8_PACK(pack_quads_i8, int8_t, int8_t, 4, PAIRS_NR, 0)
static void pack_quads(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst, int32_t *sums) {
    (is_signed ? pack_quads_i8 : pack_quads_u8)(k, cols, src, row, col, dst, sums);
}
#endif

/* ---- a few rows ----------------------------------------------------------------------------------------------------------------------- */

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
#define SWEEP_DOT PAIRS_DOT
#include "kernels/int8/int8_sweep.h"

#ifdef INT8_HAS_QUADS
#define SWEEP_NAME(x) x##_quads
#define SWEEP_TARGET QUADS_TARGET
#define SWEEP_GROUP 4
#define SWEEP_DOT QUADS_DOT
#include "kernels/int8/int8_sweep.h"
#endif
#endif

/* ---- tiles: fours of bytes as they are ------------------------------------------------------------------------------------------------ */

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
static void pack_tiles(int64_t k, int64_t cols, bool is_signed, const void *src, int64_t row, int64_t col, void *dst, int32_t *sums) {
    (is_signed ? pack_tiles_i8 : pack_tiles_u8)(k, cols, src, row, col, dst, sums);
}
#endif

/* ---- each channel on its own ---------------------------------------------------------------------------------------------------------- */

#define INT8_REST(T, name)                                                                                                        \
    static void name(int64_t channels, int64_t c0, int64_t taps, const void *const *x, const int32_t *w, int32_t *restrict sums) { \
        for (int64_t c = c0; c < channels; c++) sums[c] = 0;                                                                       \
        for (int64_t t = 0; t < taps; t++)                                                                                         \
            for (int64_t c = c0; c < channels; c++) sums[c] += ((const T *)x[t])[c] * w[t * channels + c];                         \
    }
INT8_REST(uint8_t, rest_u8)
INT8_REST(int8_t, rest_i8)

#if WICK_TIER_ID == 0
static void channels(int64_t n, int64_t taps, bool is_signed, const void *const *x, const int32_t *w, int32_t *sums) {
    (is_signed ? rest_i8 : rest_u8)(n, 0, taps, x, w, sums);
}
#else
/* As many bytes as a vector has sums, widened; compilers take __builtin_convertvector apart, byte by byte. */
#if WICK_TIER_ID == 3
#define WIDEN_U8(p) ((int8_sums)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#define WIDEN_I8(p) ((int8_sums)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p))))
#elif WICK_TIER_ID == 2
#define WIDEN_U8(p) ((int8_sums)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p))))
#define WIDEN_I8(p) ((int8_sums)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p))))
#elif defined(WICK_NEON)
INT8_INLINE uint8x8_t four_bytes(const void *p) {
    uint32_t four;
    memcpy(&four, p, 4);
    return (uint8x8_t)vdup_n_u32(four);
}
#define WIDEN_U8(p) ((int8_sums)vmovl_u16(vget_low_u16(vmovl_u8(four_bytes(p)))))
#define WIDEN_I8(p) ((int8_sums)vmovl_s16(vget_low_s16(vmovl_s8((int8x8_t)four_bytes(p)))))
#else
#define WIDEN_U8(p) ((int8_sums){(p)[0], (p)[1], (p)[2], (p)[3]})
#define WIDEN_I8(p) WIDEN_U8(p)
#endif
#if WICK_TIER_ID == 3
typedef int32_t int8_half __attribute__((vector_size(32)));
#define WIDEN_HALF_U8(p) ((int8_half)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p))))
#define WIDEN_HALF_I8(p) ((int8_half)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p))))
#endif

#define INT8_CHANNELS(SUMS, WIDEN, T, name, vecs)                                                                            \
    static int64_t name(int64_t channels, int64_t c0, int64_t taps, const void *const *x, const int32_t *w, int32_t *sums) {  \
        enum { L = (int)(sizeof(SUMS) / 4) };                                                                                 \
        typedef SUMS loose __attribute__((aligned(4), may_alias));                                                            \
        for (; c0 + (vecs) * L <= channels; c0 += (vecs) * L) {                                                               \
            SUMS acc[vecs];                                                                                                   \
            const int32_t *by = w + c0;                                                                                       \
            INT8_UNROLL                                                                                                       \
            for (int v = 0; v < (vecs); v++) acc[v] = (SUMS){0};                                                              \
            for (int64_t t = 0; t < taps; t++, by += channels) {                                                              \
                const T *from = (const T *)x[t] + c0;                                                                         \
                INT8_UNROLL                                                                                                   \
                for (int v = 0; v < (vecs); v++) acc[v] += WIDEN(from + v * L) * *(const loose *)(by + v * L);                \
            }                                                                                                                 \
            INT8_UNROLL                                                                                                       \
            for (int v = 0; v < (vecs); v++) *(loose *)(sums + c0 + v * L) = acc[v];                                          \
        }                                                                                                                     \
        return c0;                                                                                                            \
    }
/* Four vectors of channels, then one, then half a one, then the rest. */
INT8_CHANNELS(int8_sums, WIDEN_U8, uint8_t, channels_u8_4, 4)
INT8_CHANNELS(int8_sums, WIDEN_U8, uint8_t, channels_u8_1, 1)
INT8_CHANNELS(int8_sums, WIDEN_I8, int8_t, channels_i8_4, 4)
INT8_CHANNELS(int8_sums, WIDEN_I8, int8_t, channels_i8_1, 1)
#if WICK_TIER_ID == 3
INT8_CHANNELS(int8_half, WIDEN_HALF_U8, uint8_t, channels_u8_half, 1)
INT8_CHANNELS(int8_half, WIDEN_HALF_I8, int8_t, channels_i8_half, 1)
#endif
static void channels(int64_t n, int64_t taps, bool is_signed, const void *const *x, const int32_t *w, int32_t *sums) {
    int64_t c = (is_signed ? channels_i8_4 : channels_u8_4)(n, 0, taps, x, w, sums);
    c = (is_signed ? channels_i8_1 : channels_u8_1)(n, c, taps, x, w, sums);
#if WICK_TIER_ID == 3
    c = (is_signed ? channels_i8_half : channels_u8_half)(n, c, taps, x, w, sums);
#endif
    (is_signed ? rest_i8 : rest_u8)(n, c, taps, x, w, sums);
}
#endif

#define INT8_NAMES(what) {"matmul_int8" INT8_TILE_TEXT INT8_STR(WICK_TIER_NAME) what, "conv_int8" INT8_TILE_TEXT INT8_STR(WICK_TIER_NAME) what}
const wick_int8_table INT8_CAT(wick_int8_table_, WICK_TIER_NAME) = {
    .plain = {.names = INT8_NAMES(""), .group = 2, .along = 2, .elem = 2, .mr = PAIRS_MR, .nr = PAIRS_NR, .tiles = tiles_pairs, .row = row_pairs, .pack = pack_pairs,
              .finish = finish, .channels = channels,
#ifdef INT8_WEAVE
              .few = few_pairs,
#endif
    },
#ifdef INT8_HAS_QUADS
    .vnni = {.names = INT8_NAMES("_vnni"), .group = 4, .along = 4, .elem = 1, .mr = INT8_MR, .nr = PAIRS_NR, .tiles = tiles_quads, .row = row_quads, .pack = pack_quads,
             .finish = finish, .few = few_quads, .channels = channels},
#endif
#if WICK_TIER_ID != 0
    .amx = {.names = {"matmul_int8_amx", "conv_int8_amx"}, .group = 4, .along = 64, .any_sign = true, .elem = 1, .mr = 32, .nr = TILES_NR, .row = row_tiles,
            .pack = pack_tiles, .finish = finish, .channels = channels},
#endif
};
