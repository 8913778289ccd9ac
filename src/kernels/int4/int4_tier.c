/* int4_tier.c: products with weights of 4 bits for one tier. */
#include "kernels/int4/int4.h"
#include "kernels/neon.h"

#define INT4_STR_(x)    #x
#define INT4_STR(x)     INT4_STR_(x)
#define INT4_CAT_(a, b) a##b
#define INT4_CAT(a, b)  INT4_CAT_(a, b)

#if WICK_TIER_ID == 0

static void columns(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1) {
    const int64_t blocks = wick_int4_blocks(p);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = c0; j < c1; j++) {
            const uint8_t *q = d->q + j * blocks * p->block / 2,
                          *zeros = d->zeros ? d->zeros + j * ((blocks + 1) / 2) : NULL;
            const float *a = (const float *)d->a + i * p->k, *bias = d->bias;
            float total = 0;
            for (int64_t g = 0; g < blocks; g++) {
                const int zero = zeros ? wick_int4_at(zeros, g) : 8;
                float sum = 0;
                for (int64_t at = g * p->block; at < WICK_MIN(p->k, (g + 1) * p->block); at++)
                    sum += a[at] * (float)(wick_int4_at(q, at) - zero);
                total += sum * d->scales[j * blocks + g];
            }
            ((float *)d->c)[i * p->n + j] = bias ? total + bias[j] : total;
        }
}
#define INT4_FIELDS .lanes = 1, .columns = columns

#else

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define INT4_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define INT4_UNROLL _Pragma("clang loop unroll(full)")
#else
#define INT4_UNROLL _Pragma("GCC unroll 16")
#endif
enum { LANES = WICK_TIER_ID == 3 ? 16 : WICK_TIER_ID == 2 ? 8 : 4, CHUNK = 8 * LANES };
/* Columns that share what is read of A, and how many bytes ahead weights are asked for. */
enum { COLUMNS = WICK_TIER_ID == 3 ? 4 : 1, AHEAD = 2048 };
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vecu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(4 * LANES)));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

/* The number in the lowest 4 bits of each lane, less what its weights have for zero. */
#if WICK_TIER_ID == 3
INT4_INLINE vec fma_of(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
INT4_INLINE vec set1(float x) { return _mm512_set1_ps(x); }
typedef vec table; /* by number: what is taken */
INT4_INLINE table table_less(float zero) {
    return (table){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} - set1(zero);
}
INT4_INLINE vec look_up(table t, words w) { return _mm512_permutexvar_ps((__m512i)w, t); }
#else
#if WICK_TIER_ID == 2
INT4_INLINE vec fma_of(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
#elif defined(WICK_NEON)
INT4_INLINE vec fma_of(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
#else
INT4_INLINE vec fma_of(vec a, vec b, vec c) { return a * b + c; }
#endif
INT4_INLINE vec set1(float x) { return x - (vec){0}; }
typedef vec table; /* the zero */
INT4_INLINE table table_less(float zero) { return set1(zero); }
INT4_INLINE vec look_up(table t, words w) { return __builtin_convertvector((ints)(w & 15), vec) - t; }
#endif

INT4_INLINE words load_words(const void *from) {
    words w;
    memcpy(&w, from, sizeof w);
    return w;
}
/* per lanes of a group each: out[j] = from[j / per]; fewer than `there` are read. */
INT4_INLINE vec spread_scales(const float *from, int64_t there, const int per) {
    if (per == LANES) return set1(*from);
#if WICK_TIER_ID == 3
    const __m512i to = per == 2 ? _mm512_set_epi32(7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0)
                       : per == 4 ? _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0)
                                  : _mm512_set_epi32(1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0);
    const __mmask8 read = (__mmask8)(there >= LANES / per ? (1 << LANES / per) - 1 : (1 << there) - 1);
    return _mm512_permutexvar_ps(to, _mm512_castps256_ps512(_mm256_maskz_loadu_ps(read, from)));
#else
    vec out;
    INT4_UNROLL
    for (int j = 0; j < LANES; j++) out[j] = j / per < there ? from[j / per] : 0;
    return out;
#endif
}
/* The same of zero points of 4 bits, from number g on of the row's `blocks`. */
INT4_INLINE vec spread_zeros(const uint8_t *zeros, int64_t g, int64_t blocks, const int per) {
    if (per == LANES) return set1((float)wick_int4_at(zeros, g));
    uint32_t bits = 0; /* g is even: LANES / per groups, 2, 4 or 8 */
    const int64_t bytes = WICK_MIN((blocks + 1 - g) / 2, LANES / per / 2);
    for (int64_t i = 0; i < bytes; i++) bits |= (uint32_t)zeros[g / 2 + i] << 8 * i;
#if WICK_TIER_ID == 3
    static const uint8_t shifts[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const __m512i by = _mm512_slli_epi32(
        _mm512_srli_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)shifts)), per == 2   ? 1
                                                                                       : per == 4 ? 2
                                                                                                  : 3),
        2);
    return look_up(table_less(0), (words)_mm512_srlv_epi32(_mm512_set1_epi32((int)bits), by));
#else
    vec out;
    INT4_UNROLL
    for (int j = 0; j < LANES; j++) out[j] = (float)(bits >> 4 * (j / per) & 15);
    return out;
#endif
}

/* Halves are added until one number is left. */
INT4_INLINE float sum_of(vec x) {
#if WICK_TIER_ID >= 2
#if WICK_TIER_ID == 3
    const __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
#else
    const __m256 y = x;
#endif
    const __m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1)),
                 two = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
    return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}

/* `columns` neighbouring columns from j on of the rows of C from c_at on. per: lanes of a group; LANES: a chunk has one
 * group. */
INT4_INLINE void few_columns(const wick_int4 *p, const wick_int4_data *d, int64_t j, const float *a, float *c_at,
                             const int columns, const int rows, const int per, const bool with_zeros) {
    const int64_t blocks = wick_int4_blocks(p), bytes = blocks * p->block / 2, chunks = (p->k + CHUNK - 1) / CHUNK,
                  a_row = chunks * CHUNK, row = (blocks + 1) / 2;
    /* chunks of a group */
    const int shift = per == LANES ? __builtin_ctzll((unsigned long long)p->block) - __builtin_ctz(CHUNK) : 0;
    const table values = table_less(with_zeros ? 0 : 8);
    const uint8_t *q = d->q + j * bytes, *zeros = with_zeros ? d->zeros + j * row : NULL;
    const float *scales = d->scales + j * blocks, *bias = d->bias;
    vec sums[WICK_INT4_FEW * COLUMNS];
    INT4_UNROLL
    for (int i = 0; i < rows * columns; i++) sums[i] = (vec){0};
    for (int64_t c = 0; c < chunks; c++, a += CHUNK, q += CHUNK / 2) {
        const int64_t g = per == LANES ? c >> shift : c * (LANES / per), rest = bytes - c * (CHUNK / 2);
        words w[COLUMNS];
        vec scale[COLUMNS], zero[COLUMNS], acc[WICK_INT4_FEW * COLUMNS];
        INT4_UNROLL
        for (int n = 0; n < columns; n++) {
            w[n] = (words){0};
            if (rest >= CHUNK / 2) w[n] = load_words(q + n * bytes);
            else memcpy(&w[n], q + n * bytes, (size_t)rest);
            __builtin_prefetch(q + n * bytes + AHEAD);
            scale[n] = spread_scales(scales + n * blocks + g, blocks - g, per);
            zero[n] = with_zeros ? spread_zeros(zeros + n * row, g, blocks, per) : (vec){0};
        }
        INT4_UNROLL
        for (int s = 0; s < 8; s++) {
            vec v[COLUMNS];
            INT4_UNROLL
            for (int n = 0; n < columns; n++) {
                v[n] = look_up(values, w[n] >> 4 * s);
                if (with_zeros) v[n] -= zero[n];
            }
            INT4_UNROLL
            for (int i = 0; i < rows; i++) {
                const vec x = *(const vecu *)(a + i * a_row + s * LANES);
                INT4_UNROLL
                for (int n = 0; n < columns; n++)
                    acc[i * columns + n] = s ? fma_of(x, v[n], acc[i * columns + n]) : x * v[n];
            }
        }
        INT4_UNROLL
        for (int i = 0; i < rows * columns; i++) sums[i] = fma_of(acc[i], scale[i % columns], sums[i]);
    }
    INT4_UNROLL
    for (int i = 0; i < rows * columns; i++) {
        const float sum = sum_of(sums[i]);
        c_at[i / columns * p->n + j + i % columns] = bias ? sum + bias[j + i % columns] : sum;
    }
}
/* The last columns that are taken at once overlap those before. */
INT4_INLINE void few(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes,
                     float *c_at, const int columns, const int rows, const int per, const bool with_zeros) {
    for (int64_t j = c0; j < c1; j += columns)
        few_columns(p, d, WICK_MIN(j, c1 - columns), lanes, c_at, columns, rows, per, with_zeros);
}
INT4_INLINE void few_at_once(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes,
                             float *c_at, const int columns, const int rows) {
    const int per = p->block >= CHUNK ? LANES : (int)(p->block / 8);
#define FEW(per)                                                                                                       \
    (d->zeros ? few(p, d, c0, c1, lanes, c_at, columns, rows, per, true)                                               \
              : few(p, d, c0, c1, lanes, c_at, columns, rows, per, false))
    if (per == LANES) FEW(LANES);
    else if (per == 2) FEW(2);
#if WICK_TIER_ID >= 2
    else if (per == 4) FEW(4);
#endif
#if WICK_TIER_ID == 3
    else FEW(8);
#endif
#undef FEW
}
#if WICK_TIER_ID == 3
/* Fewer columns than are taken at once: one after the other, row by row. */
static __attribute__((noinline)) void one_by_one(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1,
                                                 const float *lanes, const int rows) {
    const int64_t a_row = (p->k + CHUNK - 1) / CHUNK * CHUNK;
    for (int i = 0; i < rows; i++) few_at_once(p, d, c0, c1, lanes + i * a_row, (float *)d->c + i * p->n, 1, 1);
}
#endif
INT4_INLINE void few_rows(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes,
                          const int rows) {
    const int columns = rows > 2 ? COLUMNS : WICK_MIN(COLUMNS, 2);
#if WICK_TIER_ID == 3
    if (c1 - c0 < columns) {
        one_by_one(p, d, c0, c1, lanes, rows);
        return;
    }
#endif
    few_at_once(p, d, c0, c1, lanes, d->c, columns, rows);
}
#define INT4_ROWS(X) X(1) X(2) X(3) X(4)
#define INT4_KERNEL(n)                                                                                                 \
    static void few_##n(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes) {     \
        few_rows(p, d, c0, c1, lanes, n);                                                                              \
    }
INT4_ROWS(INT4_KERNEL)
#undef INT4_KERNEL
#define INT4_KERNEL(n) few_##n,
static wick_int4_few_fn *const few_kernels[WICK_INT4_FEW] = {INT4_ROWS(INT4_KERNEL)};
#undef INT4_KERNEL

/* Lanes are columns: a word of each, and its 8 numbers are 8 rows of the panel. */
static void panel(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t cols, int64_t p0, int64_t k,
                  float *dst, int64_t dst_row) {
    const int64_t blocks = wick_int4_blocks(p), bytes = blocks * p->block / 2, row = (blocks + 1) / 2;
    for (int64_t j = 0; j < cols; j += LANES) {
        const int64_t n = WICK_MIN(LANES, cols - j), c = c0 + j;
        const table values = table_less(0);
        words w = {0};
        vec scale = {0}, zero = set1(8);
        float *to = dst + j;
        for (int64_t at = p0; at < p0 + k; at += 8) {
            if (at == p0 || at % p->block == 0) {
                const int64_t g = at / p->block;
                for (int64_t i = 0; i < n; i++) {
                    scale[i] = d->scales[(c + i) * blocks + g];
                    if (d->zeros) zero[i] = (float)wick_int4_at(d->zeros + (c + i) * row, g);
                }
            }
            uint32_t each[LANES] = {0};
            const uint8_t *q = d->q + c * bytes + at / 2;
            for (int64_t i = 0; i < n; i++) memcpy(&each[i], q + i * bytes, 4);
            memcpy(&w, each, sizeof w);
            const int64_t numbers = WICK_MIN(8, p0 + k - at);
            for (int64_t s = 0; s < numbers; s++, to += dst_row, w >>= 4)
                *(vecu *)to = (look_up(values, w) - zero) * scale;
        }
    }
}
#define INT4_FIELDS .lanes = LANES, .few = few_kernels, .panel = panel

#endif

const wick_int4_kernel INT4_CAT(wick_int4_kernel_, WICK_TIER_NAME) = {
    .names = {"int4_few_" INT4_STR(WICK_TIER_NAME), "int4_" INT4_STR(WICK_TIER_NAME)}, INT4_FIELDS};
