/* narrow_tier.c: products of bf16 by dot products of pairs (AVX512_BF16), chosen within tier avx512 by feature bits.
 * The other tiers have none. */
#include "kernels/gemm/narrow.h"

#if WICK_TIER_ID == 3
#include <immintrin.h>

#define DOT_TARGET __attribute__((target("avx512bf16")))
#define DOT_INLINE DOT_TARGET static inline __attribute__((always_inline))
#ifdef __clang__
#define DOT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define DOT_UNROLL _Pragma("GCC unroll 32")
#endif
enum { DOT_MR = 14, DOT_NR = 32, DOT_LANES = 16, DOT_SUMS = 28 };

/* Neighbouring columns of two rows as pairs: numbers below 32 are of the first vector. */
static const uint16_t interleaved[2][32] = {{0, 32, 1, 33, 2,  34, 3,  35, 4,  36, 5,  37, 6,  38, 7,  39,
                                             8, 40, 9, 41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47},
                                            {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                             24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63}};

DOT_INLINE __m512i paired(__m256i even, __m256i odd) {
    return _mm512_or_si512(_mm512_cvtepu16_epi32(even), _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

/* The vectors of B of one pair of k; `odd` has a row behind it in place, or else zeros. */
DOT_INLINE void load_b(const wick_dot_tile *t, const char *b, const int vecs, const bool in_place, const bool odd,
                       __m512i *bv) {
    if (!in_place) {
        DOT_UNROLL
        for (int v = 0; v < vecs; v++) bv[v] = _mm512_loadu_si512(b + v / 2 * t->b_next + v % 2 * 64);
    } else if (vecs == 1) {
        bv[0] = paired(_mm256_loadu_si256((const void *)b),
                       odd ? _mm256_loadu_si256((const void *)(b + t->b_row)) : _mm256_setzero_si256());
    } else {
        const __m512i low = _mm512_loadu_si512(interleaved[0]), high = _mm512_loadu_si512(interleaved[1]);
        DOT_UNROLL
        for (int v = 0; v < vecs; v += 2) {
            const __m512i x = _mm512_loadu_si512(b + v * 32),
                          y = odd ? _mm512_loadu_si512(b + t->b_row + v * 32) : _mm512_setzero_si512();
            bv[v] = _mm512_permutex2var_epi16(x, low, y);
            bv[v + 1] = _mm512_permutex2var_epi16(x, high, y);
        }
    }
}

/* rows, vecs and in_place are constants at every call, so that the loops unroll and acc lives in registers. */
DOT_INLINE void dot_tile(const wick_dot_tile *t, const int rows, const int vecs, const bool in_place) {
    __m512 acc[DOT_SUMS];
    DOT_UNROLL
    for (int i = 0; i < rows * vecs; i++) acc[i] = _mm512_setzero_ps();
    const int64_t a_row = t->a_row, a_pair = t->a_pair, b_step = in_place ? 2 * t->b_row : DOT_NR * 4;
    const char *b = t->b, *a[(DOT_MR + 2) / 3]; /* one pointer for three rows */
    DOT_UNROLL
    for (int i = 0; i < (rows + 2) / 3; i++) a[i] = t->a + 3 * i * a_row;
    __m512i bv[8];
    for (int64_t p = t->pairs; p > 0; p--, b += b_step) {
        load_b(t, b, vecs, in_place, true, bv);
        DOT_UNROLL
        for (int i = 0; i < rows; i++) {
            int32_t pair;
            memcpy(&pair, a[i / 3] + (i % 3) * a_row, 4);
            const __m512i x = _mm512_set1_epi32(pair);
            DOT_UNROLL
            for (int v = 0; v < vecs; v++)
                acc[i * vecs + v] = _mm512_dpbf16_ps(acc[i * vecs + v], (__m512bh)x, (__m512bh)bv[v]);
        }
        DOT_UNROLL
        for (int i = 0; i < (rows + 2) / 3; i++) {
            a[i] += a_pair;
            __asm__("" : "+r"(a[i])); /* keeps the compiler from turning these few pointers into one per row */
        }
    }
    if (t->odd) {
        load_b(t, b, vecs, in_place, false, bv);
        DOT_UNROLL
        for (int i = 0; i < rows; i++) {
            uint16_t one;
            memcpy(&one, a[i / 3] + (i % 3) * a_row, 2);
            const __m512i x = _mm512_set1_epi32(one);
            DOT_UNROLL
            for (int v = 0; v < vecs; v++)
                acc[i * vecs + v] = _mm512_dpbf16_ps(acc[i * vecs + v], (__m512bh)x, (__m512bh)bv[v]);
        }
    }
    if (t->add) {
        DOT_UNROLL
        for (int i = 0; i < rows * vecs; i++)
            acc[i] = _mm512_add_ps(_mm512_loadu_ps(t->sums + i / vecs * t->sums_row + i % vecs * DOT_LANES), acc[i]);
    }
    DOT_UNROLL
    for (int i = 0; i < rows * vecs; i++)
        _mm512_storeu_ps(t->sums + i / vecs * t->sums_row + i % vecs * DOT_LANES, acc[i]);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

/* Rows are contiguous. */
DOT_INLINE void pack_rows(int64_t k, int64_t cols, const uint16_t *src, int64_t row, uint32_t *dst, int64_t dst_row) {
    const __m512i low = _mm512_loadu_si512(interleaved[0]), high = _mm512_loadu_si512(interleaved[1]);
    for (int64_t p = 0; p < k; p += 2, src += 2 * row, dst += dst_row) {
        const bool odd = p + 1 == k;
        int64_t j = 0;
        for (; j + 32 <= cols; j += 32) {
            const __m512i x = _mm512_loadu_si512(src + j),
                          y = odd ? _mm512_setzero_si512() : _mm512_loadu_si512(src + row + j);
            _mm512_storeu_si512(dst + j, _mm512_permutex2var_epi16(x, low, y));
            _mm512_storeu_si512(dst + j + 16, _mm512_permutex2var_epi16(x, high, y));
        }
        for (; j < cols; j += 16) {
            const __mmask16 there = (__mmask16)(cols - j >= 16 ? 0xffff : (1u << (cols - j)) - 1);
            const __m256i x = _mm256_maskz_loadu_epi16(there, src + j),
                          y = _mm256_maskz_loadu_epi16(odd ? 0 : there, src + row + j);
            _mm512_storeu_si512(dst + j, paired(x, y));
        }
    }
}

/* Columns are contiguous: four pairs of 16 columns at a time, transposed within 128-bit lanes. */
DOT_INLINE void pack_columns(int64_t k, int64_t cols, const uint16_t *src, int64_t col, uint32_t *dst,
                             int64_t dst_row) {
    const int64_t whole = k & ~(int64_t)7;
    for (int64_t p = 0; p < whole; p += 8) {
        __m512i x[4];
        DOT_UNROLL
        for (int q = 0; q < 4; q++) {
            const uint16_t *from = src + q * col + p;
            __m128i piece[4];
            DOT_UNROLL
            for (int i = 0; i < 4; i++)
                piece[i] = q + 4 * i < cols ? _mm_loadu_si128((const void *)(from + 4 * i * col)) : _mm_setzero_si128();
            const __m256i lo = _mm256_inserti128_si256(_mm256_castsi128_si256(piece[0]), piece[1], 1);
            const __m256i hi = _mm256_inserti128_si256(_mm256_castsi128_si256(piece[2]), piece[3], 1);
            x[q] = _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1);
        }
        const __m512i lo01 = _mm512_unpacklo_epi32(x[0], x[1]), lo23 = _mm512_unpacklo_epi32(x[2], x[3]);
        const __m512i hi01 = _mm512_unpackhi_epi32(x[0], x[1]), hi23 = _mm512_unpackhi_epi32(x[2], x[3]);
        /* Lane i has columns 4 i .. 4 i + 3: they are in order already. */
        uint32_t *to = dst + p / 2 * dst_row;
        _mm512_storeu_si512(to, _mm512_unpacklo_epi64(lo01, lo23));
        _mm512_storeu_si512(to + dst_row, _mm512_unpackhi_epi64(lo01, lo23));
        _mm512_storeu_si512(to + 2 * dst_row, _mm512_unpacklo_epi64(hi01, hi23));
        _mm512_storeu_si512(to + 3 * dst_row, _mm512_unpackhi_epi64(hi01, hi23));
    }
    for (int64_t p = whole; p < k; p += 2)
        for (int64_t j = 0; j < 16; j++)
            dst[p / 2 * dst_row + j] =
                j < cols ? src[j * col + p] | (p + 1 < k ? (uint32_t)src[j * col + p + 1] << 16 : 0) : 0;
}

DOT_TARGET static void pack(int64_t k, int64_t cols, const void *from, int64_t row, int64_t col, void *to,
                            int64_t dst_row) {
    const uint16_t *src = from;
    uint32_t *dst = to;
    if (col == 1) {
        pack_rows(k, cols, src, row, dst, dst_row);
    } else if (row == 1) {
        for (int64_t j = 0; j < cols; j += 16) {
            if (cols - j >= 16) pack_columns(k, 16, src + j * col, col, dst + j, dst_row);
            else pack_columns(k, cols - j, src + j * col, col, dst + j, dst_row);
        }
    } else {
        const int64_t padded = (cols + 15) & ~(int64_t)15;
        for (int64_t p = 0; p < k; p += 2)
            for (int64_t j = 0; j < padded; j++) {
                const uint16_t *at = src + p * row + j * col;
                dst[p / 2 * dst_row + j] = j < cols ? at[0] | (p + 1 < k ? (uint32_t)at[row] << 16 : 0) : 0;
            }
    }
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

DOT_INLINE __m512 widened(__m256i x) { return (__m512)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16); }

DOT_TARGET static void finish(const wick_dot_finish *f) {
    for (int64_t i = 0; i < f->rows; i++) {
        const float *sums = f->sums + i * f->sums_row;
        if (f->f32) {
            const float *bias = f->bias;
            float *c = (float *)f->c + i * f->c_row;
            for (int64_t j = 0; j < f->cols; j += 16) {
                const __mmask16 there = (__mmask16)(f->cols - j >= 16 ? 0xffff : (1u << (f->cols - j)) - 1);
                __m512 x = _mm512_loadu_ps(sums + j);
                if (f->bias_mode == 1) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(there, bias + j));
                if (f->bias_mode == 2) x = _mm512_add_ps(x, _mm512_set1_ps(bias[i]));
                if (f->relu)
                    x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ),
                                           _mm512_setzero_ps());
                _mm512_mask_storeu_ps(c + j, there, x);
            }
            continue;
        }
        const uint16_t *bias = f->bias;
        uint16_t *c = (uint16_t *)f->c + i * f->c_row;
        for (int64_t j = 0; j < f->cols; j += 16) {
            const __mmask16 there = (__mmask16)(f->cols - j >= 16 ? 0xffff : (1u << (f->cols - j)) - 1);
            __m512 x = _mm512_loadu_ps(sums + j);
            if (f->bias_mode) {
                const __m256i b =
                    f->bias_mode == 1 ? _mm256_maskz_loadu_epi16(there, bias + j) : _mm256_set1_epi16((short)bias[i]);
                x = _mm512_add_ps(widened((__m256i)_mm512_cvtneps_pbh(x)), widened(b));
            }
            if (f->relu)
                x = _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), _mm512_setzero_ps());
            _mm256_mask_storeu_epi16(c + j, there, (__m256i)_mm512_cvtneps_pbh(x));
        }
    }
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define DOT_ROWS(X, vecs, in_place)                                                                                    \
    X(1, vecs, in_place)                                                                                               \
    X(2, vecs, in_place) X(3, vecs, in_place) X(4, vecs, in_place) X(5, vecs, in_place) X(6, vecs, in_place)           \
        X(7, vecs, in_place) X(8, vecs, in_place) X(9, vecs, in_place) X(10, vecs, in_place) X(11, vecs, in_place)     \
            X(12, vecs, in_place) X(13, vecs, in_place) X(14, vecs, in_place)
#define DOT_FEW(X, in_place)                                                                                           \
    X(1, 8, in_place) X(2, 8, in_place) X(3, 8, in_place) X(4, 4, in_place) X(5, 4, in_place) X(6, 4, in_place)
#define DOT_ALL(X, in_place) DOT_ROWS(X, 1, in_place) DOT_ROWS(X, 2, in_place)
#define DOT_TILE(rows, vecs, in_place)                                                                                 \
    DOT_TARGET static void dot_##rows##x##vecs##_##in_place(const wick_dot_tile *t) {                                  \
        dot_tile(t, rows, vecs, in_place);                                                                             \
    }
DOT_ALL(DOT_TILE, 0)
DOT_ALL(DOT_TILE, 1)
DOT_FEW(DOT_TILE, 0)
DOT_FEW(DOT_TILE, 1)
#undef DOT_TILE
#define DOT_TILE(rows, vecs, in_place) dot_##rows##x##vecs##_##in_place,
static wick_dot_tile_fn *const tiles_packed[] = {DOT_ALL(DOT_TILE, 0)}, *const tiles_in_place[] = {
                                                                            DOT_ALL(DOT_TILE, 1)};
static wick_dot_tile_fn *const few_packed[] = {DOT_FEW(DOT_TILE, 0)}, *const few_in_place[] = {DOT_FEW(DOT_TILE, 1)};

#define DOT_NAME(layout) "gemm_bf16_" layout "_14x32_avx512_dot"
const wick_dot_kernel wick_dot_kernel_avx512 = {
    .names = {DOT_NAME("nn"), DOT_NAME("nt"), DOT_NAME("ns"), DOT_NAME("tn"), DOT_NAME("tt"), DOT_NAME("ts"),
              DOT_NAME("sn"), DOT_NAME("st"), DOT_NAME("ss")},
    .lanes = DOT_LANES,
    .mr = DOT_MR,
    .nr = DOT_NR,
    .tiles = {tiles_packed, tiles_in_place},
    .few = {few_packed, few_in_place},
    .few_columns = {128, 128, 128, 64, 64, 64},
    .pack = pack,
    .finish = finish,
};
#else
extern const int wick_narrow_tier_has_no_dot_products;
#endif
