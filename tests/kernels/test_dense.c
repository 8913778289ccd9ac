/* Factorizations in exactly as much memory as they ask for: factors multiply to the matrix, on every tier. */
#include <math.h>

#include "kernels/factor.h"
#include "test.h"

static double at(wick_ctype type, const void *x, int64_t i) {
    return type == WICK_CF64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}
static void set(wick_ctype type, void *x, int64_t i, double value) {
    if (type == WICK_CF64)
        ((double *)x)[i] = value;
    else
        ((float *)x)[i] = (float)value;
}
static void *random_numbers(wick_ctype type, int64_t count) {
    void *x = malloc((size_t)count * 8 + 1);
    for (int64_t i = 0; i < count; i++) set(type, x, i, test_rand_real(-1, 1));
    return x;
}
static void *some(int64_t count) { return malloc((size_t)count * 8 + 1); }
static void *memory_of(size_t need) { return aligned_alloc(64, WICK_ALIGN_UP(need + 1, 64)); }

/* The largest |sum over p of a[i, p] b[p, j] - c[i, j]|; strides are elements. */
static double off(wick_ctype type, int64_t m, int64_t n, int64_t k, const void *a, int64_t a_row, int64_t a_col,
                  const void *b, int64_t b_row, int64_t b_col, const void *c) {
    double worst = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t p = 0; p < k; p++)
                sum += at(type, a, i * a_row + p * a_col) * at(type, b, p * b_row + j * b_col);
            const double d = fabs(sum - at(type, c, i * n + j));
            worst = d > worst || isnan(d) ? d : worst;
        }
    return worst;
}

static void check_size(wick_ctype type, int64_t n) {
    const double unit = (type == WICK_CF64 ? 1e-15 : 5e-7) * (double)(n + 8);
    int64_t info = 7, *pivot = malloc((size_t)n * sizeof *pivot + 1);
    double sign;
    void *a = random_numbers(type, n * n), *l = some(n * n), *b = random_numbers(type, n * 5), *x = some(n * 5),
         *memory;
    memory = memory_of(wick_cholesky_matrix(type, n, (double)n, NULL, NULL, NULL, NULL));
    wick_cholesky_matrix(type, n, (double)n, a, l, &info, memory);
    free(memory);
    CHECK(info == 0);
    void *whole = some(n * n); /* symmetric, shifted */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            set(type, whole, i * n + j, at(type, a, i >= j ? i * n + j : j * n + i) + (i == j ? (double)n : 0));
    CHECK_MSG(off(type, n, n, n, l, n, 1, l, 1, n, whole) < 8 * unit, "Cholesky of %lld", (long long)n);
    /* Triangular systems with all of its forms: one with L is checked against L X. */
    for (int form = 0; form < 8; form++) {
        const wick_triangle how = {.upper = form & 1, .unit = form & 2, .transposed = form & 4};
        void *t = some(n * n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                set(type, t, i * n + j,
                    i == j                 ? (how.unit ? 1 : 2)
                    : (j > i) == how.upper ? at(type, a, i * n + j) / (double)n
                                           : 0);
        memcpy(x, b, (size_t)(n * 5) * wick_ctype_size(type));
        memory = memory_of(wick_triangular_matrix(type, n, 5, &how, NULL, NULL, NULL));
        wick_triangular_matrix(type, n, 5, &how, t, x, memory);
        free(memory);
        CHECK_MSG(off(type, n, 5, n, t, how.transposed ? 1 : n, how.transposed ? n : 1, x, 5, 1, b) < 4 * unit,
                  "triangle %d of %lld", form, (long long)n);
        free(t);
    }
    memory = memory_of(wick_lu_matrix(type, n, 0.5, NULL, NULL, NULL, NULL, NULL, NULL));
    wick_lu_matrix(type, n, 0.5, a, l, pivot, &sign, &info, memory);
    free(memory);
    CHECK(info == 0 && fabs(at(type, &sign, 0)) == 1);
    for (int64_t i = 0; i < n * n; i++) set(type, whole, i, at(type, a, i) + (i % (n + 1) == 0 ? 0.5 : 0));
    for (int transposed = 0; transposed < 2; transposed++) {
        memcpy(x, b, (size_t)(n * 5) * wick_ctype_size(type));
        memory = memory_of(wick_lu_solve_matrix(type, n, 5, transposed, NULL, NULL, NULL, NULL));
        wick_lu_solve_matrix(type, n, 5, transposed, l, pivot, x, memory);
        free(memory);
        double largest = 1;
        for (int64_t i = 0; i < n * 5; i++) largest = fmax(largest, fabs(at(type, x, i)));
        CHECK_MSG(off(type, n, 5, n, whole, transposed ? 1 : n, transposed ? n : 1, x, 5, 1, b) < 20 * largest * unit,
                  "LU of %lld, %d", (long long)n, transposed);
    }
    if (n <= 97) {
        const int64_t m = n + 3;
        void *high = random_numbers(type, m * n), *q = some(m * m), *r = some(m * n), *s = some(n);
        memory = memory_of(wick_qr_matrix(type, m, n, m, 0, NULL, NULL, NULL, NULL));
        wick_qr_matrix(type, m, n, m, 0, high, q, r, memory);
        free(memory);
        CHECK_MSG(off(type, m, n, m, q, m, 1, r, n, 1, high) < 20 * unit, "QR of %lld", (long long)n);
        memory = memory_of(wick_svd_matrix(type, m, n, NULL, NULL, NULL, NULL, NULL));
        wick_svd_matrix(type, m, n, high, q, s, r, memory);
        free(memory);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) set(type, q, i * m + j, at(type, q, i * m + j) * at(type, s, j));
        CHECK_MSG(off(type, m, n, n, q, m, 1, r, n, 1, high) < 20 * unit, "SVD of %lld", (long long)n);
        for (int64_t i = 0; i + 1 < n; i++) CHECK(at(type, s, i) >= at(type, s, i + 1));
        memory = memory_of(wick_eigh_matrix(type, n, NULL, NULL, NULL, NULL));
        wick_eigh_matrix(type, n, a, s, l, memory);
        free(memory);
        for (int64_t i = 0; i + 1 < n; i++) CHECK(at(type, s, i) <= at(type, s, i + 1));
        void *scaled = some(n * n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                set(type, whole, i * n + j, at(type, a, i >= j ? i * n + j : j * n + i));
                set(type, scaled, i * n + j, at(type, l, i * n + j) * at(type, s, j));
            }
        CHECK_MSG(off(type, n, n, n, whole, n, 1, l, n, 1, scaled) < 40 * unit, "eigenvectors of %lld", (long long)n);
        free(high), free(q), free(r), free(s), free(scaled);
    }
    free(a), free(l), free(b), free(x), free(whole), free(pivot);
}

TEST(factors_multiply_to_the_matrix) {
    static const int64_t sizes[] = {1, 2, 5, 16, 47, 48, 49, 60, 97, 150, 300};
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        for (size_t i = 0; i < WICK_COUNTOF(sizes); i++) {
            check_size(WICK_CF32, sizes[i]);
            check_size(WICK_CF64, sizes[i]);
        }
    }
    wick_tier_force(wick_tier_best());
}

TEST(what_has_no_factors_is_reported) {
    const double indefinite[4] = {1, 2, 2, 1}, singular[4] = {1, 2, 2, 4}, zero[4] = {0};
    double out[4], s[2], vt[4], sign;
    int64_t info = 0, pivot[2];
    char *memory = memory_of(4096);
    wick_cholesky_matrix(WICK_CF64, 2, 0, indefinite, out, &info, memory);
    CHECK(info == -2 && isnan(out[0]));
    wick_lu_matrix(WICK_CF64, 2, 0, singular, out, pivot, &sign, &info, memory);
    CHECK(info == -2 && pivot[0] == 1 && sign == -1);
    wick_svd_matrix(WICK_CF64, 2, 2, zero, out, s, vt, memory);
    CHECK(s[0] == 0 && s[1] == 0 && out[0] * out[3] - out[1] * out[2] == 1); /* still orthonormal */
    free(memory);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
