/* Products by tiles (Intel AMX), whose kernels are compiled here over an emulation of the instructions: no CPU with AMX
 * has run them. */
#include <float.h>

#include "kernels/amx_emulated.h"
#include "test.h"
#include "wick/context.h"

/* ---- the instructions -------------------------------------------------------------------------------------------- */

TEST(emulated_bytes_are_exact_and_wrap) {
    uint8_t a[16][64], b[16][64];
    int32_t c[16][16];
    for (int signs = 0; signs < 4; signs++)
        for (int extreme = 0; extreme < 2; extreme++) {
            for (int i = 0; i < 16; i++)
                for (int j = 0; j < 64; j++) {
                    a[i][j] = extreme ? 0xff : (uint8_t)test_rand();
                    b[i][j] = extreme ? 0x80 : (uint8_t)test_rand();
                }
            static const int64_t zero[1] = {0};
            const wick_amx_block block = {.a = a,
                                          .b = b,
                                          .steps = 1,
                                          .a_row = 64,
                                          .b_row = 64,
                                          .products = 1,
                                          .a_part = zero,
                                          .b_part = zero,
                                          .c = c,
                                          .c_row = 64};
            amx_emulated.begin(16, 16);
            amx_emulated.block[WICK_AMX_UU + signs][0][0](&block);
            amx_emulated.end();
            for (int m = 0; m < 16; m++)
                for (int n = 0; n < 16; n++) {
                    int32_t sum = 0;
                    for (int p = 0; p < 64; p++)
                        sum += (signs & 2 ? (int8_t)a[m][p] : (int)a[m][p]) *
                               (signs & 1 ? (int8_t)b[p / 4][4 * n + p % 4] : (int)b[p / 4][4 * n + p % 4]);
                    CHECK_INT(c[m][n], sum);
                }
        }
}

static uint16_t half_of(float x) { /* of numbers that are bf16 */
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (uint16_t)(bits >> 16);
}
TEST(emulated_pairs_run_in_two_chains_and_flush_denormals) {
    uint16_t a[16][32] = {0}, b[16][32] = {0};
    float c[16][16];
    static const int64_t zero[1] = {0};
    const wick_amx_block block = {.a = a,
                                  .b = b,
                                  .steps = 1,
                                  .a_row = 64,
                                  .b_row = 64,
                                  .products = 1,
                                  .a_part = zero,
                                  .b_part = zero,
                                  .c = c,
                                  .c_row = 64};
    /* Row 0: 1 in both chains, then 2^-24, which each chain loses alone; if there were one chain, or none were rounded,
     * 2 + 2^-23 would come. */
    for (int p = 0; p < 4; p++) b[p / 2][p % 2] = half_of(1);
    a[0][0] = a[0][1] = half_of(1);
    a[0][2] = a[0][3] = half_of(0x1p-24f);
    /* Row 1: the least product that is normal; row 2: one below; row 3: a denormal operand. */
    a[1][0] = half_of(0x1p-63f), b[0][2] = half_of(0x1p-63f);
    a[2][0] = half_of(0x1p-64f);
    a[3][0] = 0x0040, b[0][4] = half_of(0x1p100f);
    /* Row 4: fused: (1 + 2^-7)^2 - (1 + 2^-6) = 2^-14 in one chain. */
    a[4][0] = a[4][2] = half_of(1 + 0x1p-7f);
    b[0][6] = half_of(1 + 0x1p-7f), b[1][6] = half_of(-1);
    amx_emulated.begin(16, 16);
    amx_emulated.block[WICK_AMX_BF16][0][0](&block);
    amx_emulated.end();
    CHECK(c[0][0] == 2);
    CHECK(c[1][1] == 0x1p-126f);
    CHECK(c[2][1] == 0);
    CHECK(c[3][2] == 0);
    CHECK(c[4][3] == 0x1p-7f + 0x1p-14f);
    CHECK(c[5][0] == 0);
}

/* ---- splitting --------------------------------------------------------------------------------------------------- */

TEST(three_parts_hold_f32_exactly) {
    float x[32 * 16];
    uint32_t parts[3][16][16];
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 512; i++) {
            const float m = (float)test_rand_real(1, 2);
            x[i] = ldexpf(test_rand() & 1 ? m : -m, test_rand_int(-39, 57));
            if (round == 0) x[i] = (i & 1 ? -1.f : 1.f) * (1 + (float)i * 0x1p-23f);
            if (round == 1) x[i] = 2 - (float)(i + 1) * 0x1p-23f;
            /* halfway between two bf16 */
            if (round == 2) x[i] = 1 + (float)(i % 256) * 0x1p-8f + (float)(i / 256) * 0x1p-23f;
        }
        const wick_amx_range range = amx_emulated.split[2](1, x, 512, 16, 256, 1, parts, sizeof parts[0]);
        float largest = 0, smallest = INFINITY;
        for (int i = 0; i < 512; i++) {
            float sum = 0, at;
            for (int p = 2; p >= 0; p--) {
                const uint32_t pair = parts[p][i % 256 / 16][i % 16], bits = i < 256 ? pair << 16 : pair & 0xffff0000;
                memcpy(&at, &bits, 4);
                sum += at;
                CHECK_MSG(p == 0 || fabsf(at) <= fabsf(x[i]) * (p == 1 ? 0x1p-8f : 0x1p-16f), "part %d of %a is %a", p,
                          x[i], at);
            }
            CHECK_MSG(sum == x[i], "%a became %a", x[i], sum);
            largest = fmaxf(largest, fabsf(x[i]));
            smallest = fminf(smallest, fabsf(x[i]));
        }
        uint32_t bits[2];
        memcpy(bits, (float[]){largest, smallest}, sizeof bits);
        CHECK_INT(range.largest, bits[0]);
        CHECK_INT(range.smallest + 0x800000, bits[1]);
    }
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

typedef struct matrix {
    int64_t row, col, origin, count;
    float *at;
} matrix;
enum { ROWS, COLUMNS, PADDED, BACKWARDS, STRIDED, BROADCAST, LAYOUTS };

static matrix matrix_make(int layout, int64_t rows, int64_t cols) {
    static const int steps[LAYOUTS] = {[STRIDED] = 3};
    matrix m = {.row = cols, .col = 1};
    if (layout == COLUMNS) m.row = 1, m.col = rows;
    if (layout == PADDED) m.row = cols + 5;
    if (layout == BACKWARDS) m.row = -cols, m.origin = (rows - 1) * cols;
    if (layout == STRIDED) m.row = steps[STRIDED] * cols + 1, m.col = steps[STRIDED];
    if (layout == BROADCAST) m.row = 0;
    m.count = m.origin + (m.row > 0 ? (rows - 1) * m.row : 0) + (cols - 1) * m.col + 1;
    m.at = malloc((size_t)m.count * 4); /* exact: a sanitizer sees what is read beyond */
    if (!m.at) abort();
    return m;
}
static float *element(const matrix *m, int64_t i, int64_t j) { return m->at + m->origin + i * m->row + j * m->col; }

typedef enum numbers { NORMAL, POSITIVE, CANCELLING, WIDE, HUGE_ONES, TINY, VERY_WIDE, NUMBERS } numbers;
static const char *const number_names[NUMBERS] = {"normal",
                                                  "positive",
                                                  "cancelling",
                                                  "wide (2^-20..2^20)",
                                                  "near the largest",
                                                  "near the least",
                                                  "very wide (2^-60..2^60)"};
static double gauss(void) {
    double sum = -6;
    for (int i = 0; i < 12; i++) sum += test_rand_real(0, 1);
    return sum;
}
static float draw(numbers kind) {
    const double x = gauss();
    switch (kind) {
    case POSITIVE: return (float)test_rand_real(0, 1);
    case WIDE: return ldexpf((float)x, test_rand_int(-20, 20));
    case HUGE_ONES: return ldexpf((float)x, 60);
    case TINY: return ldexpf((float)x, -58); /* products down to the least normal number */
    case VERY_WIDE: return ldexpf((float)x, test_rand_int(-60, 60));
    default: return (float)x;
    }
}
/* Cancelling: B's second half repeats the first, A's is its negative but for a few bits. */
static void fill(matrix *a, matrix *b, int64_t m, int64_t n, int64_t k, numbers kind) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++) *element(a, i, p) = draw(kind);
    for (int64_t p = 0; p < k; p++)
        for (int64_t j = 0; j < n; j++) *element(b, p, j) = draw(kind);
    for (int64_t p = k / 2; kind == CANCELLING && p < k / 2 * 2; p++) {
        for (int64_t i = 0; i < m; i++)
            *element(a, i, p) = -*element(a, i, p - k / 2) * (1 + (float)test_rand_int(-4, 4) * 0x1p-23f);
        for (int64_t j = 0; j < n; j++) *element(b, p, j) = *element(b, p - k / 2, j);
    }
}

/* Runs what is prepared, tasks in an order of `seed`; scratch holds NaN before each. C, packed and scratch end with
 * guards. */
static void run(const wick_gemm *g, const void *a, const void *b, const void *bias, void *c, int seed) {
    const size_t guard = 64;
    char *packed = aligned_alloc(64, WICK_ALIGN_UP(g->packed + guard, 64)),
         *scratch = aligned_alloc(64, WICK_ALIGN_UP(g->scratch + guard, 64));
    if (!packed || !scratch) abort();
    memset(packed, 0xff, g->packed + guard);
    for (int stage = 0; stage < 2; stage++) {
        const int64_t tasks = stage ? g->tasks : g->tasks_pack;
        for (int64_t i = 0; i < tasks; i++) {
            const int64_t t = seed ? tasks - 1 - i : i;
            memset(scratch, 0xff, g->scratch + guard);
            if (stage) wick_gemm_run(g, t, t + 1, a, b, bias, c, packed, scratch);
            else wick_gemm_pack(g, t, t + 1, b, packed);
            for (size_t w = 0; w < guard; w++)
                CHECK(scratch[g->scratch + w] == (char)0xff && packed[g->packed + w] == (char)0xff);
        }
    }
    CHECK(!amx_state.configured);
    free(packed);
    free(scratch);
}

/* The largest of |c - exact| / (|A||B|) in units of 2^-24. */
static double error_of(const wick_gemm *g, const matrix *a, const matrix *b, const float *c) {
    double most = 0;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = 0, size = 0;
            for (int64_t p = 0; p < g->k; p++) {
                const double x = (double)*element(a, i, p) * (double)*element(b, p, j);
                sum += x;
                size += fabs(x);
            }
            const double error = fabs((double)c[i * g->c_row + j] - sum);
            most = fmax(most, error == 0 ? 0 : error / fmax(size, 0x1p-126) * 0x1p24);
            if (!(error >= 0)) most = INFINITY;
        }
    return most;
}

#define EMULATED                       \
    for (int again_ = 1; again_; again_ = 0, wick_amx_use(NULL)) \
        if (wick_amx_use(&amx_emulated), 1)

static wick_gemm product_of(const matrix *a, const matrix *b, int64_t m, int64_t n, int64_t k,
                            wick_f32_precision precision) {
    return (wick_gemm){.type = WICK_CF32,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a_row = a->row,
                       .a_col = a->col,
                       .b_row = b->row,
                       .b_col = b->col,
                       .c_row = n,
                       .precision = (uint8_t)precision};
}

/* Bounds in units of 2^-24 of |A||B|: a part that is left out, and roundings of a chain. */
static double bound_of(wick_f32_precision precision, int64_t k) {
    const double sums = 4 + 0.5 * sqrt((double)k) + (double)k / 32;
    return precision == WICK_F32_SPLIT  ? sums
           : precision == WICK_F32_HIGH ? 0x1.8p-15 * 0x1p24 + sums
                                        : 0x1p-7 * 0x1p24;
}

TEST(every_small_shape_up_to_a_tile_plus_one) {
    static const int sizes[] = {1, 2, 15, 16, 17, 31, 32, 33};
    EMULATED for (size_t s = 0; s < WICK_COUNTOF(sizes) * WICK_COUNTOF(sizes) * WICK_COUNTOF(sizes); s++) {
        const int m = sizes[s % 8], n = sizes[s / 8 % 8], k = sizes[s / 64];
        matrix a = matrix_make((int)(s % LAYOUTS), m, k), b = matrix_make((int)(s / 5 % LAYOUTS), k, n);
        fill(&a, &b, m, n, k, NORMAL);
        wick_gemm g = product_of(&a, &b, m, n, k, WICK_F32_SPLIT);
        float *c = malloc((size_t)(m * n) * 4);
        wick_gemm_prepare(&g, NULL);
        CHECK(wick_tier_current() == WICK_TIER_REF || !strcmp(wick_gemm_name(&g), "gemm_f32_bf16x6_amx"));
        run(&g, a.at + a.origin, b.at + b.origin, NULL, c, 0);
        const double error = error_of(&g, &a, &b, c);
        CHECK_MSG(error <= bound_of(WICK_F32_SPLIT, k), "%d x %d x %d layouts %d, %d: error %g", m, n, k,
                  (int)(s % LAYOUTS), (int)(s / 5 % LAYOUTS), error);
        free(c);
        free(a.at);
        free(b.at);
    }
}

TEST(everything_around_a_product) {
    EMULATED for (int i = 0; i < 120; i++) {
        const int64_t m = test_rand_int(1, 90), n = test_rand_int(1, 90), k = test_rand_int(1, 300);
        const wick_f32_precision precision = (wick_f32_precision)(1 + i % 3);
        matrix a = matrix_make(test_rand_int(0, LAYOUTS - 1), m, k),
               b = matrix_make(test_rand_int(0, LAYOUTS - 1), k, n);
        fill(&a, &b, m, n, k, NORMAL);
        wick_gemm g = product_of(&a, &b, m, n, k, precision), plain = g;
        g.c_row = n + test_rand_int(0, 5);
        g.accumulate = test_rand() & 1, g.bias = (int8_t)test_rand_int(0, 2), g.relu = test_rand() & 1,
        g.keep = test_rand() & 1;
        float *c = malloc((size_t)(m * g.c_row) * 4), *again = malloc((size_t)(m * g.c_row) * 4),
              *ab = malloc((size_t)(m * n) * 4), bias[90];
        for (int64_t j = 0; j < m * g.c_row; j++) again[j] = c[j] = (float)gauss();
        for (int j = 0; j < 90; j++) bias[j] = (float)gauss();
        float *before = malloc((size_t)(m * g.c_row) * 4);
        memcpy(before, c, (size_t)(m * g.c_row) * 4);
        wick_gemm_prepare(&g, NULL);
        wick_gemm_prepare(&plain, NULL);
        CHECK_INT(g.tasks_pack > 0, g.keep && wick_tier_current() != WICK_TIER_REF);
        run(&g, a.at + a.origin, b.at + b.origin, g.bias ? bias : NULL, c, 0);
        run(&g, a.at + a.origin, b.at + b.origin, g.bias ? bias : NULL, again, 1);
        CHECK(!memcmp(c, again, (size_t)(m * g.c_row) * 4));
        run(&plain, a.at + a.origin, b.at + b.origin, NULL, ab, 0);
        const double error = error_of(&plain, &a, &b, ab);
        CHECK_MSG(error <= bound_of(precision, k), "precision %d k %d: error %g", precision, (int)k, error);
        for (int64_t r = 0; r < m; r++)
            for (int64_t j = 0; j < g.c_row; j++) {
                const float got = c[r * g.c_row + j], was = before[r * g.c_row + j];
                if (j >= n) {
                    CHECK(got == was);
                    continue;
                }
                double x = (double)ab[r * n + j] + (g.accumulate ? (double)was : 0) +
                           (g.bias ? (double)bias[g.bias == 1 ? j : r] : 0);
                if (g.relu && x < 0) x = 0;
                CHECK_MSG(fabs((double)got - x) <= 1e-5 * (fabs(x) + 20), "c[%d,%d] = %g, expected %g", (int)r, (int)j,
                          (double)got, x);
            }
        free(before);
        free(c);
        free(again);
        free(ab);
        free(a.at);
        free(b.at);
    }
}

/* Powers of two change no bit, as long as nothing over- or underflows: panels are scaled where that would happen. */
TEST(scaled_operands_give_scaled_results) {
    static const int moves[][2] = {{90, -90},   {-100, 100}, {100, -60},  {-60, 100}, {60, 60}, {-60, -60},
                                   {120, -100}, {-120, 60},  {-120, 120}, {-110, 0},  {118, 0}};
    enum { M = 40, N = 24, K = 150 };
    matrix a = matrix_make(ROWS, M, K), b = matrix_make(COLUMNS, K, N), x = matrix_make(ROWS, M, K),
           y = matrix_make(COLUMNS, K, N);
    fill(&a, &b, M, N, K, NORMAL);
    for (int64_t i = 0; i < a.count; i++) a.at[i] = copysignf(fmaxf(fabsf(a.at[i]), 0x1p-6f), a.at[i]);
    for (int64_t i = 0; i < b.count; i++) b.at[i] = copysignf(fmaxf(fabsf(b.at[i]), 0x1p-6f), b.at[i]);
    float c[M * N], d[M * N];
    EMULATED for (size_t i = 0; i < WICK_COUNTOF(moves); i++) {
        wick_gemm g = product_of(&a, &b, M, N, K, WICK_F32_SPLIT);
        wick_gemm_prepare(&g, NULL);
        if (!g.amx) continue;
        run(&g, a.at, b.at, NULL, c, 0);
        for (int64_t j = 0; j < a.count; j++) x.at[j] = ldexpf(a.at[j], moves[i][0]);
        for (int64_t j = 0; j < b.count; j++) y.at[j] = ldexpf(b.at[j], moves[i][1]);
        run(&g, x.at, y.at, NULL, d, 0);
        for (int j = 0; j < M * N; j++)
            CHECK_MSG(d[j] == ldexpf(c[j], moves[i][0] + moves[i][1]), "2^%d, 2^%d: %a, expected %a 2^%d", moves[i][0],
                      moves[i][1], d[j], c[j], moves[i][0] + moves[i][1]);
    }
    free(a.at), free(b.at), free(x.at), free(y.at);
}

/* Inf and NaN reach the elements that depend on them and no others, as with multiply-adds; so do numbers too far apart
 * for one panel. */
TEST(inf_nan_and_extremes_go_by_multiply_adds) {
    enum { M = 37, N = 50, K = 140 };
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, FLT_MAX, 1e-37f};
    float c[M * N], d[M * N];
    EMULATED for (size_t s = 0; s < 2 * WICK_COUNTOF(odd); s++) {
        matrix a = matrix_make(s % 3 ? ROWS : COLUMNS, M, K), b = matrix_make(s % 2 ? ROWS : COLUMNS, K, N);
        fill(&a, &b, M, N, K, POSITIVE);
        const int64_t at = test_rand_int(0, K - 1), where = test_rand_int(0, N < M ? N - 1 : M - 1);
        if (s % 2) *element(&a, where, at) = odd[s / 2];
        else *element(&b, at, where) = odd[s / 2];
        if (s / 2 == 5) *element(&b, (at + 1) % K, 3) = 1e30f, *element(&a, 3, (at + 1) % K) = 1e30f;
        wick_gemm g = product_of(&a, &b, M, N, K, WICK_F32_SPLIT),
                  plain = product_of(&a, &b, M, N, K, WICK_F32_HIGHEST);
        g.keep = s & 1;
        wick_gemm_prepare(&g, NULL);
        wick_gemm_prepare(&plain, NULL);
        run(&g, a.at + a.origin, b.at + b.origin, NULL, c, 0);
        run(&plain, a.at + a.origin, b.at + b.origin, NULL, d, 0);
        for (int i = 0; i < M * N; i++) {
            CHECK_MSG(isnan(c[i]) == isnan(d[i]) && isinf(c[i]) == isinf(d[i]), "case %d: %g, multiply-adds give %g",
                      (int)s, (double)c[i], (double)d[i]);
            if (isfinite(d[i]))
                CHECK_MSG(fabsf(c[i] - d[i]) <= 1e-5f * fabsf(d[i]), "case %d: %g, multiply-adds give %g", (int)s,
                          (double)c[i], (double)d[i]);
            else CHECK(isnan(d[i]) || c[i] == d[i]);
        }
        free(a.at), free(b.at);
    }
}

/* The promise under which f32 may go this way: docs/numerics.md has the table (WICK_AMX_TABLE=1 prints it). */
TEST(six_products_are_within_the_error_of_multiply_adds) {
    static const int shapes[][3] = {{48, 48, 64}, {48, 48, 512}, {33, 40, 2048}};
    const char *print = getenv("WICK_AMX_TABLE");
    const wick_tier was = wick_tier_current();
    if (print) printf("| numbers | k | multiply-adds | six products | three | one |\n|---|---|---|---|---|---|\n");
    const uint64_t word = wick_fp_enter();
    for (int kind = 0; kind < NUMBERS; kind++)
        for (size_t s = 0; s < WICK_COUNTOF(shapes); s++) {
            const int64_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
            double error[4] = {0};
            for (int round = 0; round < 3; round++) {
                matrix a = matrix_make(ROWS, m, k), b = matrix_make(ROWS, k, n);
                fill(&a, &b, m, n, k, (numbers)kind);
                float *c = malloc((size_t)(m * n) * 4);
                for (int precision = 0; precision < 4; precision++) {
                    wick_amx_use(precision ? &amx_emulated : NULL);
                    wick_gemm g = product_of(&a, &b, m, n, k, (wick_f32_precision)precision);
                    wick_gemm_prepare(&g, NULL);
                    run(&g, a.at, b.at, NULL, c, 0);
                    error[precision] = fmax(error[precision], error_of(&g, &a, &b, c));
                }
                free(c);
                free(a.at), free(b.at);
            }
            wick_amx_use(NULL);
            if (print)
                printf("| %s | %d | %.2f | %.2f | %.0f | %.0f |\n", number_names[kind], (int)k, error[0], error[1],
                       error[2], error[3]);
            CHECK_MSG(error[1] <= error[0] * 1.25 + 0.5, "%s, k %d: %g, multiply-adds %g", number_names[kind], (int)k,
                      error[1], error[0]);
            CHECK(error[2] <= bound_of(WICK_F32_HIGH, k));
            CHECK(error[3] <= bound_of(WICK_F32_MEDIUM, k));
        }
    wick_fp_restore(word);
    wick_tier_force(was);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
