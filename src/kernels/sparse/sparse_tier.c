/* sparse_tier.c: products with sparse weights for one tier. */
#include "kernels/sparse/sparse.h"
#include "kernels/neon.h"

#define SPARSE_STR_(x)    #x
#define SPARSE_STR(x)     SPARSE_STR_(x)
#define SPARSE_CAT_(a, b) a##b
#define SPARSE_CAT(a, b)  SPARSE_CAT_(a, b)

#if WICK_TIER_ID == 0

enum { LANES = 1, VECTORS = 4, COLUMNS = 4, WINDOW = 256 };

static void few_rows(const wick_sparse_few *t, int rows) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < t->there; j++) {
            float total = 0;
            for (int64_t b = 0; b < t->blocks; b++) {
                float sum = 0;
                for (int32_t s = t->starts[b]; s < t->starts[b + 1]; s++)
                    sum +=
                        t->x[i * t->x_row + t->offsets[s] + t->places[s * COLUMNS + j]] * t->weights[s * COLUMNS + j];
                total = total + sum;
            }
            if (t->bias) total += t->bias[j];
            t->c[i * t->c_row + j] = t->relu && total < 0 ? 0 : total;
        }
}

static void end_sum(const wick_sparse_panel *t, int64_t j, float total, float *to) {
    if (t->bias) total += t->bias[j];
    *to = t->relu && total < 0 ? 0 : total;
}
static void panel_of(const wick_sparse_panel *t, int vectors) {
    for (int64_t j = t->begin; j < t->end; j++)
        for (int i = 0; i < vectors; i++) {
            float total = 0;
            for (int64_t b = 0; b < t->blocks; b++) {
                float sum = 0;
                for (int32_t s = t->starts[j * t->blocks + b]; s < t->starts[j * t->blocks + b + 1]; s++)
                    sum += t->weights[s] * t->x[t->places[s] * vectors + i];
                total = total + sum;
            }
            end_sum(t, j, total, &t->sums[(j - t->begin) * vectors + i]);
        }
}
static void whole_of(const wick_sparse_panel *t, int vectors) {
    for (int64_t j = t->begin; j < t->end; j++)
        for (int i = 0; i < vectors; i++) {
            float total = 0;
            for (int64_t k0 = 0; k0 < t->k; k0 += t->block) {
                float sum = 0;
                for (int64_t p = k0; p < WICK_MIN(t->k, k0 + t->block); p++)
                    sum += t->b[p * t->b_row + j * t->b_col] * t->x[p * vectors + i];
                total = total + sum;
            }
            end_sum(t, j, total, &t->sums[(j - t->begin) * vectors + i]);
        }
}
static bool is_finite(const float *x, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0)) return false;
    return true;
}

#else

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#define SPARSE_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define SPARSE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SPARSE_UNROLL _Pragma("GCC unroll 16")
#endif
enum {
    LANES = WICK_TIER_ID == 3   ? 16
            : WICK_TIER_ID == 2 ? 8
                                : 4,
    VECTORS = WICK_TIER_ID == 3 ? 4 : 8,
    GROUPS = 4, /* vectors of columns that go side by side: their chains overlap */
    COLUMNS = GROUPS * LANES,
    WINDOW = WICK_TIER_ID >= 2 ? 2 * LANES : 256
};
typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vecu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t ints __attribute__((vector_size(4 * LANES)));

/* What a step may look up, and the numbers of one vector of columns. */
#if WICK_TIER_ID == 3
SPARSE_INLINE vec fma_of(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
SPARSE_INLINE vec set1(float x) { return _mm512_set1_ps(x); }
typedef struct table {
    vec low, high;
} table;
SPARSE_INLINE table table_at(const float *x) { return (table){*(const vecu *)x, *(const vecu *)(x + LANES)}; }
typedef __m512i picks;
SPARSE_INLINE picks picks_at(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p)); }
SPARSE_INLINE vec look_up(table t, picks p) { return _mm512_permutex2var_ps(t.low, p, t.high); }
#elif WICK_TIER_ID == 2
SPARSE_INLINE vec fma_of(vec a, vec b, vec c) { return _mm256_fmadd_ps(a, b, c); }
SPARSE_INLINE vec set1(float x) { return _mm256_set1_ps(x); }
typedef struct table {
    vec low, high;
} table;
SPARSE_INLINE table table_at(const float *x) { return (table){*(const vecu *)x, *(const vecu *)(x + LANES)}; }
typedef __m256i picks;
SPARSE_INLINE picks picks_at(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)); }
SPARSE_INLINE vec look_up(table t, picks p) { /* a permutation goes by the low three bits, the fourth chooses */
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t.low, p), _mm256_permutevar8x32_ps(t.high, p),
                            _mm256_castsi256_ps(_mm256_slli_epi32(p, 28)));
}
#else
#ifdef WICK_NEON
SPARSE_INLINE vec fma_of(vec a, vec b, vec c) { return vfmaq_f32(c, a, b); }
#else
SPARSE_INLINE vec fma_of(vec a, vec b, vec c) { return a * b + c; }
#endif
SPARSE_INLINE vec set1(float x) { return (vec){x, x, x, x}; }
typedef const float *table;
SPARSE_INLINE table table_at(const float *x) { return x; }
typedef const uint8_t *picks;
SPARSE_INLINE picks picks_at(const uint8_t *p) { return p; }
SPARSE_INLINE vec look_up(table t, picks p) { return (vec){t[p[0]], t[p[1]], t[p[2]], t[p[3]]}; }
#endif

SPARSE_INLINE vec not_below_0(vec x) { return (vec)(~(ints)(x < (vec){0}) & (ints)x); } /* NaN stays */

SPARSE_INLINE void few_rows(const wick_sparse_few *t, const int rows) {
    vec total[WICK_SPARSE_FEW * GROUPS] = {{0}}, acc[WICK_SPARSE_FEW * GROUPS];
    for (int64_t b = 0; b < t->blocks; b++) {
        SPARSE_UNROLL
        for (int i = 0; i < rows * GROUPS; i++) acc[i] = (vec){0};
        const int32_t end = t->starts[b + 1];
        for (int32_t s = t->starts[b]; s < end; s++) {
            const uint8_t *places = t->places + (size_t)s * COLUMNS;
            const float *weights = t->weights + (size_t)s * COLUMNS;
            table x[WICK_SPARSE_FEW];
            SPARSE_UNROLL
            for (int i = 0; i < rows; i++) x[i] = table_at(t->x + i * t->x_row + t->offsets[s]);
            SPARSE_UNROLL
            for (int g = 0; g < GROUPS; g++) {
                const picks p = picks_at(places + g * LANES);
                const vec w = *(const vecu *)(weights + g * LANES);
                SPARSE_UNROLL
                for (int i = 0; i < rows; i++) acc[i * GROUPS + g] = fma_of(look_up(x[i], p), w, acc[i * GROUPS + g]);
            }
        }
        SPARSE_UNROLL
        for (int i = 0; i < rows * GROUPS; i++) total[i] += acc[i];
    }
    float bias[COLUMNS] = {0}, part[COLUMNS];
    const bool whole = t->there == COLUMNS;
    if (t->bias && !whole) memcpy(bias, t->bias, (size_t)t->there * sizeof *bias);
    const float *of_bias = t->bias && whole ? t->bias : bias;
    SPARSE_UNROLL
    for (int i = 0; i < rows; i++) {
        float *to = whole ? t->c + i * t->c_row : part;
        SPARSE_UNROLL
        for (int g = 0; g < GROUPS; g++) {
            vec sum = total[i * GROUPS + g];
            if (t->bias) sum += *(const vecu *)(of_bias + g * LANES);
            *(vecu *)(to + g * LANES) = t->relu ? not_below_0(sum) : sum;
        }
        if (!whole) memcpy(t->c + i * t->c_row, part, (size_t)t->there * sizeof *part);
    }
}

SPARSE_INLINE void end_sums(const wick_sparse_panel *t, int64_t j, vec *total, const int vectors) {
    float *to = t->sums + (j - t->begin) * vectors * LANES;
    SPARSE_UNROLL
    for (int v = 0; v < vectors; v++) {
        if (t->bias) total[v] += set1(t->bias[j]);
        if (t->relu) total[v] = not_below_0(total[v]);
        *(vecu *)(to + v * LANES) = total[v];
    }
}
SPARSE_INLINE void panel_of(const wick_sparse_panel *t, const int vectors) {
    for (int64_t j = t->begin; j < t->end; j++) {
        const int32_t *starts = t->starts + j * t->blocks;
        vec total[WICK_SPARSE_VECTORS], acc[WICK_SPARSE_VECTORS];
        SPARSE_UNROLL
        for (int v = 0; v < vectors; v++) total[v] = (vec){0};
        for (int64_t b = 0; b < t->blocks; b++) {
            SPARSE_UNROLL
            for (int v = 0; v < vectors; v++) acc[v] = (vec){0};
            for (int32_t s = starts[b]; s < starts[b + 1]; s++) {
                const float *x = t->x + (size_t)t->places[s] * (size_t)(vectors * LANES);
                const vec w = set1(t->weights[s]);
                SPARSE_UNROLL
                for (int v = 0; v < vectors; v++) acc[v] = fma_of(w, *(const vecu *)(x + v * LANES), acc[v]);
            }
            SPARSE_UNROLL
            for (int v = 0; v < vectors; v++) total[v] += acc[v];
        }
        end_sums(t, j, total, vectors);
    }
}
SPARSE_INLINE void whole_of(const wick_sparse_panel *t, const int vectors) {
    for (int64_t j = t->begin; j < t->end; j++) {
        const float *b = t->b + j * t->b_col, *x = t->x;
        vec total[WICK_SPARSE_VECTORS], acc[WICK_SPARSE_VECTORS];
        SPARSE_UNROLL
        for (int v = 0; v < vectors; v++) total[v] = (vec){0};
        for (int64_t k0 = 0; k0 < t->k; k0 += t->block) {
            SPARSE_UNROLL
            for (int v = 0; v < vectors; v++) acc[v] = (vec){0};
            for (int64_t p = k0; p < WICK_MIN(t->k, k0 + t->block); p++, b += t->b_row, x += vectors * LANES) {
                const vec w = set1(*b);
                SPARSE_UNROLL
                for (int v = 0; v < vectors; v++) acc[v] = fma_of(w, *(const vecu *)(x + v * LANES), acc[v]);
            }
            SPARSE_UNROLL
            for (int v = 0; v < vectors; v++) total[v] += acc[v];
        }
        end_sums(t, j, total, vectors);
    }
}
static bool is_finite(const float *x, int64_t n) { /* Inf and NaN times 0 are NaN */
    vec seen[2] = {{0}, {0}};
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        seen[0] += *(const vecu *)(x + i) * (vec){0};
        seen[1] += *(const vecu *)(x + i + LANES) * (vec){0};
    }
    if (i < n) seen[0] += *(const vecu *)(x + i) * (vec){0};
    seen[0] += seen[1];
    float all = 0;
    for (int j = 0; j < LANES; j++) all += seen[0][j];
    return all == 0;
}

#endif

#define SPARSE_ROWS(X) X(1) X(2) X(3) X(4)
#if WICK_TIER_ID == 0 || WICK_TIER_ID == 3
#define SPARSE_PANELS(X) X(1) X(2) X(3) X(4)
#else
#define SPARSE_PANELS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#endif
#define SPARSE_FEW(n)                                                                                                  \
    static void few_##n(const wick_sparse_few *t) { few_rows(t, n); }
SPARSE_ROWS(SPARSE_FEW)
#define SPARSE_PANEL(n)                                                                                                \
    static void panel_##n(const wick_sparse_panel *t) { panel_of(t, n); }                                              \
    static void whole_##n(const wick_sparse_panel *t) { whole_of(t, n); }
SPARSE_PANELS(SPARSE_PANEL)
#define SPARSE_FEW_ROW(n)   few_##n,
#define SPARSE_PANEL_ROW(n) panel_##n,
#define SPARSE_WHOLE_ROW(n) whole_##n,
static wick_sparse_few_fn *const few_kernels[WICK_SPARSE_FEW] = {SPARSE_ROWS(SPARSE_FEW_ROW)};
static wick_sparse_panel_fn *const panel_kernels[VECTORS] = {SPARSE_PANELS(SPARSE_PANEL_ROW)};
static wick_sparse_panel_fn *const whole_kernels[VECTORS] = {SPARSE_PANELS(SPARSE_WHOLE_ROW)};

const wick_sparse_kernel SPARSE_CAT(wick_sparse_kernel_, WICK_TIER_NAME) = {
    .names = {"sparse_panel_" SPARSE_STR(WICK_TIER_NAME), "sparse_few_" SPARSE_STR(WICK_TIER_NAME)},
    .lanes = LANES,
    .vectors = VECTORS,
    .columns = COLUMNS,
    .window = WINDOW,
    .few = few_kernels,
    .panel = panel_kernels,
    .whole = whole_kernels,
    .finite = is_finite};
