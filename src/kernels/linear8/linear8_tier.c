/* linear8_tier.c: products with weights of 8 bits for one tier. */
#include "kernels/linear8/linear8.h"
#include "kernels/neon.h"

#define LINEAR8_STR_(x)    #x
#define LINEAR8_STR(x)     LINEAR8_STR_(x)
#define LINEAR8_CAT_(a, b) a##b
#define LINEAR8_CAT(a, b)  LINEAR8_CAT_(a, b)

#if WICK_TIER_ID == 0

static void columns(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t c1) {
    const int64_t blocks = wick_linear8_blocks(p), padded = wick_linear8_padded(p);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = c0; j < c1; j++) {
            int64_t step;
            const int8_t *q = wick_linear8_column(p, d->q, j, &step);
            const float *a = (const float *)d->a + i * p->k, *bias = d->bias;
            float total = 0;
            for (int64_t g = 0; g < blocks; g++) {
                const int zero = d->zeros ? d->zeros[g * padded + j] : 0;
                const int64_t end = WICK_MIN(p->k, (g + 1) * p->block);
                for (int64_t k0 = g * p->block; k0 < end; k0 += WICK_LINEAR8_SPAN) {
                    float sum = 0;
                    for (int64_t at = k0; at < WICK_MIN(end, k0 + WICK_LINEAR8_SPAN); at++)
                        sum += a[at] * (float)(q[at * step] - zero);
                    total += sum * d->scales[g * padded + j];
                }
            }
            ((float *)d->c)[i * p->n + j] = bias ? total + bias[j] : total;
        }
}
static wick_linear8_few_fn *const few_kernels[] = {columns};
#define LINEAR8_PANEL_FN NULL

#else

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define LINEAR8_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define LINEAR8_UNROLL _Pragma("clang loop unroll(full)")
#else
#define LINEAR8_UNROLL _Pragma("GCC unroll 16")
#endif
enum { LANES = WICK_TIER_ID == 3 ? 16 : WICK_TIER_ID == 2 ? 8 : 4, VECTORS = WICK_LINEAR8_PANEL / LANES };
#if defined(WICK_NEON) || WICK_TIER_ID == 3
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif
enum { MOST_PANELS = 4, AHEAD = 1024 /* bytes of a panel that are asked for ahead */ };
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vecu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

/* a * b + c; 16 bytes as f32. */
#if WICK_TIER_ID == 3
LINEAR8_INLINE vec fma_of(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
LINEAR8_INLINE void load(const int8_t *from, vec *to) {
    to[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)from)));
}
#elif WICK_TIER_ID == 2
LINEAR8_INLINE vec fma_of(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
LINEAR8_INLINE void load(const int8_t *from, vec *to) {
    for (int v = 0; v < VECTORS; v++)
        to[v] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(from + v * LANES))));
}
#elif defined(WICK_NEON)
LINEAR8_INLINE vec fma_of(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
LINEAR8_INLINE void load(const int8_t *from, vec *to) {
    const int8x16_t q = vld1q_s8(from);
    const int16x8_t low = vmovl_s8(vget_low_s8(q)), high = vmovl_s8(vget_high_s8(q));
    to[0] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(low)));
    to[1] = vcvtq_f32_s32(vmovl_s16(vget_high_s16(low)));
    to[2] = vcvtq_f32_s32(vmovl_s16(vget_low_s16(high)));
    to[3] = vcvtq_f32_s32(vmovl_s16(vget_high_s16(high)));
}
#else
LINEAR8_INLINE vec fma_of(vec a, vec b, vec c) { return a * b + c; }
LINEAR8_INLINE void load(const int8_t *from, vec *to) {
#if defined(__x86_64__)
    const __m128i q = _mm_loadu_si128((const void *)from);
    const __m128i low = _mm_unpacklo_epi8(q, q), high = _mm_unpackhi_epi8(q, q);
    to[0] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(low, low), 24));
    to[1] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(low, low), 24));
    to[2] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(high, high), 24));
    to[3] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(high, high), 24));
#else
    for (int v = 0; v < VECTORS; v++)
        for (int j = 0; j < LANES; j++) to[v][j] = (float)from[v * LANES + j];
#endif
}
#endif
LINEAR8_INLINE vec set1(float x) { return x - (vec){0}; }

/* `panels` of them from column c on, of the rows of A: `step` bytes apart along k, what is beyond their columns is
 * computed and dropped. */
LINEAR8_INLINE void few_columns(const wick_linear8 *p, const wick_linear8_data *d, int64_t c, int64_t row, int64_t step,
                                const int rows, const int panels, const bool with_zeros) {
    const int vectors = panels * VECTORS;
    const int64_t blocks = wick_linear8_blocks(p), padded = wick_linear8_padded(p), panel = WICK_LINEAR8_PANEL * p->k;
    const float *a = (const float *)d->a + row * p->k, *scales = d->scales + c, *bias = d->bias;
    const int8_t *q = d->q + c * p->k, *zeros = with_zeros ? d->zeros + c : NULL;
    vec sums[WICK_LINEAR8_FEW * MOST_PANELS * VECTORS];
    LINEAR8_UNROLL
    for (int i = 0; i < rows * vectors; i++) sums[i] = (vec){0};
    for (int64_t g = 0; g < blocks; g++, scales += padded) {
        const int64_t end = WICK_MIN(p->k, (g + 1) * p->block);
        vec zero[MOST_PANELS * VECTORS];
        LINEAR8_UNROLL
        for (int n = 0; n < panels && with_zeros; n++)
            load(zeros + g * padded + n * WICK_LINEAR8_PANEL, zero + n * VECTORS);
        for (int64_t k0 = g * p->block; k0 < end; k0 += WICK_LINEAR8_SPAN) {
            const int64_t k1 = WICK_MIN(end, k0 + WICK_LINEAR8_SPAN);
            vec acc[WICK_LINEAR8_FEW * MOST_PANELS * VECTORS];
            LINEAR8_UNROLL
            for (int i = 0; i < rows * vectors; i++) acc[i] = (vec){0};
            for (int64_t at = k0; at < k1; at++, q += step) {
                LINEAR8_UNROLL
                for (int n = 0; n < panels; n++) {
                    vec w[VECTORS];
                    load(q + n * panel, w);
                    LINEAR8_UNROLL
                    for (int v = 0; v < VECTORS; v++) {
                        if (with_zeros) w[v] -= zero[n * VECTORS + v];
                        LINEAR8_UNROLL
                        for (int i = 0; i < rows; i++)
                            acc[i * vectors + n * VECTORS + v] =
                                fma_of(set1(a[i * p->k + at]), w[v], acc[i * vectors + n * VECTORS + v]);
                    }
                }
            }
            LINEAR8_UNROLL
            for (int i = 0; i < rows * vectors; i++)
                sums[i] = fma_of(acc[i], *(const vecu *)(scales + i % vectors * LANES), sums[i]);
        }
    }
    const int64_t there = WICK_MIN(p->n - c, panels * WICK_LINEAR8_PANEL);
    LINEAR8_UNROLL
    for (int i = 0; i < rows; i++) {
        float to[MOST_PANELS * WICK_LINEAR8_PANEL], *at = (float *)d->c + (row + i) * p->n + c;
        memcpy(to, sums + i * vectors, (size_t)panels * WICK_LINEAR8_PANEL * sizeof *to);
        for (int64_t j = 0; j < there; j++) at[j] = bias ? to[j] + bias[c + j] : to[j];
    }
}
/* The last panels that are taken at once overlap those before; a panel of fewer columns is taken alone. */
LINEAR8_INLINE void few_rows(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t c1, int64_t row,
                             const int rows, const bool with_zeros) {
    /* sums of half of the registers at most */
    const int most = WICK_MAX(REGISTERS / 2 / (rows * VECTORS), 1), panels = WICK_MIN(most, MOST_PANELS);
    const int64_t wide = panels * WICK_LINEAR8_PANEL, whole = c1 - (c1 - c0) % WICK_LINEAR8_PANEL;
    int64_t c = c0;
    if (whole - c0 >= wide)
        for (; c < whole; c += wide)
            few_columns(p, d, WICK_MIN(c, whole - wide), row, WICK_LINEAR8_PANEL, rows, panels, with_zeros);
    for (c = WICK_MIN(c, whole); c < c1; c += WICK_LINEAR8_PANEL)
        few_columns(p, d, c, row, WICK_MIN(WICK_LINEAR8_PANEL, c1 - c), rows, 1, with_zeros);
}
LINEAR8_INLINE void few(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t c1, const int rows) {
    const int most = WICK_MAX(REGISTERS / 2 / VECTORS, 1), at_once = WICK_MIN(rows, most);
    LINEAR8_UNROLL
    for (int i = 0; i < rows; i += at_once) {
        if (d->zeros)
            few_rows(p, d, c0, c1, i, WICK_MIN(at_once, rows - i), true);
        else
            few_rows(p, d, c0, c1, i, WICK_MIN(at_once, rows - i), false);
    }
}
#define LINEAR8_ROWS(X) X(1) X(2) X(3) X(4)
#define LINEAR8_KERNEL(n)                                                                                              \
    static void few_##n(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t c1) {                   \
        few(p, d, c0, c1, n);                                                                                          \
    }
LINEAR8_ROWS(LINEAR8_KERNEL)
#undef LINEAR8_KERNEL
#define LINEAR8_KERNEL(n) few_##n,
static wick_linear8_few_fn *const few_kernels[WICK_LINEAR8_FEW] = {LINEAR8_ROWS(LINEAR8_KERNEL)};
#undef LINEAR8_KERNEL

/* Panels of tiles begin at whole vectors, which may be within a panel of bytes: both begin at multiples of LANES. */
LINEAR8_INLINE void panel_of(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t cols, int64_t p0,
                             int64_t k, float *dst, int64_t dst_row, const bool with_zeros) {
    const int64_t padded = wick_linear8_padded(p);
    for (int64_t j = 0; j < cols;) {
        const int64_t c = c0 + j, within = c % WICK_LINEAR8_PANEL;
        int64_t step;
        const int8_t *q = wick_linear8_column(p, d->q, c - within, &step) + p0 * step;
        const int64_t vectors = WICK_MIN((WICK_LINEAR8_PANEL - within) / LANES, (cols - j + LANES - 1) / LANES),
                      first = within / LANES;
        for (int64_t at = p0, end; at < p0 + k; at = end) {
            const int64_t g = at / p->block;
            vec scale[VECTORS], zero[VECTORS], w[VECTORS];
            memcpy(scale, d->scales + g * padded + c - within, sizeof scale);
            if (with_zeros) load(d->zeros + g * padded + c - within, zero);
            end = WICK_MIN(p0 + k, (g + 1) * p->block);
            float *to = dst + (at - p0) * dst_row + j;
            for (int64_t i = at; i < end; i++, q += step, to += dst_row) {
                load(q, w);
                LINEAR8_UNROLL
                for (int v = 0; v < VECTORS; v++)
                    if (v >= first && v < first + vectors)
                        *(vecu *)(to + (v - first) * LANES) = (with_zeros ? w[v] - zero[v] : w[v]) * scale[v];
            }
        }
        j += vectors * LANES;
    }
}
static void panel(const wick_linear8 *p, const wick_linear8_data *d, int64_t c0, int64_t cols, int64_t p0, int64_t k,
                  float *dst, int64_t dst_row) {
    if (d->zeros)
        panel_of(p, d, c0, cols, p0, k, dst, dst_row, true);
    else
        panel_of(p, d, c0, cols, p0, k, dst, dst_row, false);
}
#define LINEAR8_PANEL_FN panel

#endif

const wick_linear8_kernel LINEAR8_CAT(wick_linear8_kernel_, WICK_TIER_NAME) = {
    .names = {"linear8_few_" LINEAR8_STR(WICK_TIER_NAME), "linear8_" LINEAR8_STR(WICK_TIER_NAME)},
    .few = few_kernels,
    .panel = LINEAR8_PANEL_FN};
