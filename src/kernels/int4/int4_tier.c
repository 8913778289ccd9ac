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
            const uint8_t *q = d->q + j * blocks * p->block / 2, *zeros = d->zeros ? d->zeros + j * ((blocks + 1) / 2) : NULL;
            const float *a = (const float *)d->a + i * p->k, *bias = d->bias;
            float total = 0;
            for (int64_t g = 0; g < blocks; g++) {
                const int zero = zeros ? wick_int4_at(zeros, g) : 8;
                float sum = 0;
                for (int64_t at = g * p->block; at < WICK_MIN(p->k, (g + 1) * p->block); at++) sum += a[at] * (float)(wick_int4_at(q, at) - zero);
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
INT4_INLINE table table_less(float zero) { return (table){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} - set1(zero); }
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
/* A chunk of several groups, whose lanes are neighbours: each lane's group, and where its zero point begins in as many words of bits. */
typedef struct groups_of {
    words to, by;
    int count;
} groups_of;
INT4_INLINE groups_of groups_of_block(int64_t block) { /* per lane block / 8 groups */
    groups_of g = {.count = (int)(8 * LANES / block)};
    words each;
    for (int j = 0; j < LANES; j++) each[j] = (uint32_t)j;
    g.to = each >> __builtin_ctzll((unsigned long long)block / 8);
    g.by = g.to << 2;
    return g;
}
/* out[j] = from[to[j]]; fewer than `there` are read. */
INT4_INLINE vec spread_scales(const float *from, int64_t there, const groups_of *g) {
#if WICK_TIER_ID == 3
    const __mmask8 read = (__mmask8)(there >= 8 ? 255 : (1 << there) - 1);
    return _mm512_permutexvar_ps((__m512i)g->to, _mm512_castps256_ps512(_mm256_maskz_loadu_ps(read, from)));
#elif WICK_TIER_ID == 2
    const __m128i read = _mm_cmpgt_epi32(_mm_set1_epi32((int)WICK_MIN(there, 4)), _mm_setr_epi32(0, 1, 2, 3));
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_maskload_ps(from, read)), (__m256i)g->to);
#else
    (void)g; /* two groups */
    const float first = from[0], second = there > 1 ? from[1] : 0;
    return (vec){first, first, second, second};
#endif
}
/* The same of zero points of 4 bits, from number `at` on of the row's `blocks`; `at` is even. */
INT4_INLINE vec spread_zeros(const uint8_t *zeros, int64_t at, int64_t blocks, const groups_of *g) {
#if WICK_TIER_ID >= 2
    uint32_t bits = 0;
    const int64_t bytes = WICK_MIN((blocks + 1 - at) / 2, g->count / 2);
    for (int64_t i = 0; i < bytes; i++) bits |= (uint32_t)zeros[at / 2 + i] << 8 * i;
    return look_up(table_less(0), ((words){0} + bits) >> g->by);
#else
    (void)blocks, (void)g;
    const float first = zeros[at / 2] & 15, second = zeros[at / 2] >> 4;
    return (vec){first, first, second, second};
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
    const __m128 z = _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1)), two = _mm_add_ps(z, _mm_movehl_ps(z, z));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
#else
    return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}

/* `columns` neighbouring columns from j on of the rows of C from c on. one: a chunk is of one group. */
INT4_INLINE void few_columns(const wick_int4 *p, const wick_int4_data *d, int64_t j, const float *a, float *c_at, const int columns, const int rows, const bool one, const bool with_zeros) {
    const int64_t blocks = wick_int4_blocks(p), bytes = blocks * p->block / 2, chunks = (p->k + CHUNK - 1) / CHUNK, a_row = chunks * CHUNK, row = (blocks + 1) / 2;
    const int shift = one ? __builtin_ctzll((unsigned long long)p->block) - __builtin_ctz(CHUNK) : 0; /* chunks of a group */
    groups_of groups = {0};
    if (!one) groups = groups_of_block(p->block);
    const table values = table_less(with_zeros ? 0 : 8);
    const uint8_t *q = d->q + j * bytes, *zeros = with_zeros ? d->zeros + j * row : NULL;
    const float *scales = d->scales + j * blocks, *bias = d->bias;
    vec sums[WICK_INT4_FEW * COLUMNS];
    INT4_UNROLL
    for (int i = 0; i < rows * columns; i++) sums[i] = (vec){0};
    for (int64_t c = 0; c < chunks; c++, a += CHUNK, q += CHUNK / 2) {
        const int64_t g = one ? c >> shift : c * groups.count, rest = bytes - c * (CHUNK / 2);
        words w[COLUMNS];
        vec scale[COLUMNS], zero[COLUMNS], acc[WICK_INT4_FEW * COLUMNS];
        INT4_UNROLL
        for (int n = 0; n < columns; n++) {
            w[n] = (words){0};
            if (rest >= CHUNK / 2) w[n] = load_words(q + n * bytes);
            else memcpy(&w[n], q + n * bytes, (size_t)rest);
            __builtin_prefetch(q + n * bytes + AHEAD);
            scale[n] = one ? set1(scales[n * blocks + g]) : spread_scales(scales + n * blocks + g, blocks - g, &groups);
            zero[n] = (vec){0};
            if (with_zeros) zero[n] = one ? set1((float)wick_int4_at(zeros + n * row, g)) : spread_zeros(zeros + n * row, g, blocks, &groups);
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
                for (int n = 0; n < columns; n++) acc[i * columns + n] = s ? fma_of(x, v[n], acc[i * columns + n]) : x * v[n];
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
/* One column, row by row: tasks of fewer columns than are taken at once. */
static __attribute__((noinline)) void one_column(const wick_int4 *p, const wick_int4_data *d, int64_t j, const float *lanes, const int rows) {
    const int64_t a_row = (p->k + CHUNK - 1) / CHUNK * CHUNK;
    for (int i = 0; i < rows; i++) {
        const float *a = lanes + i * a_row;
        float *c = (float *)d->c + i * p->n;
        if (p->block < CHUNK) d->zeros ? few_columns(p, d, j, a, c, 1, 1, false, true) : few_columns(p, d, j, a, c, 1, 1, false, false);
        else d->zeros ? few_columns(p, d, j, a, c, 1, 1, true, true) : few_columns(p, d, j, a, c, 1, 1, true, false);
    }
}
/* The last columns that are taken at once overlap those before. */
INT4_INLINE void few(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes, const int rows, const bool one, const bool with_zeros) {
    const int columns = rows > 2 ? COLUMNS : WICK_MIN(COLUMNS, 2);
    for (int64_t j = c0; j < c1; j += columns) few_columns(p, d, WICK_MIN(j, c1 - columns), lanes, d->c, columns, rows, one, with_zeros);
}
INT4_INLINE void few_rows(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes, const int rows) {
    if (COLUMNS > 1 && c1 - c0 < (rows > 2 ? COLUMNS : WICK_MIN(COLUMNS, 2)))
        for (int64_t j = c0; j < c1; j++) one_column(p, d, j, lanes, rows);
    else if (p->block < CHUNK) d->zeros ? few(p, d, c0, c1, lanes, rows, false, true) : few(p, d, c0, c1, lanes, rows, false, false);
    else d->zeros ? few(p, d, c0, c1, lanes, rows, true, true) : few(p, d, c0, c1, lanes, rows, true, false);
}
#define INT4_ROWS(X) X(1) X(2) X(3) X(4)
#define INT4_KERNEL(n) \
    static void few_##n(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t c1, const float *lanes) { few_rows(p, d, c0, c1, lanes, n); }
INT4_ROWS(INT4_KERNEL)
#undef INT4_KERNEL
#define INT4_KERNEL(n) few_##n,
static wick_int4_few_fn *const few_kernels[WICK_INT4_FEW] = {INT4_ROWS(INT4_KERNEL)};
#undef INT4_KERNEL

/* Lanes are columns: a word of each, and its 8 numbers are 8 rows of the panel. */
static void panel(const wick_int4 *p, const wick_int4_data *d, int64_t c0, int64_t cols, int64_t p0, int64_t k, float *dst, int64_t dst_row) {
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
            for (int64_t s = 0; s < numbers; s++, to += dst_row, w >>= 4) *(vecu *)to = (look_up(values, w) - zero) * scale;
        }
    }
}
#define INT4_FIELDS .lanes = LANES, .few = few_kernels, .panel = panel

#endif

const wick_int4_kernel INT4_CAT(wick_int4_kernel_, WICK_TIER_NAME) = {
    .names = {"int4_few_" INT4_STR(WICK_TIER_NAME), "int4_" INT4_STR(WICK_TIER_NAME)}, INT4_FIELDS};
