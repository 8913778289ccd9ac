/* Products with sparse weights: every tier against the dense product of the same tier, bit by bit, and against sums in
 * f64. */
#include "kernels/kernels.h"
#include "test.h"

static wick_tier tier_saved;
#define FOR_TIERS(t)                                                                                                   \
    tier_saved = wick_tier_current();                                                                                  \
    for (int t = WICK_TIER_REF; t < WICK_TIER_COUNT || !wick_tier_force(tier_saved); t++)                              \
        if (wick_tier_force((wick_tier)t))

/* A product [m, k] by [k, n] with so many percent of zeros, all in blocks of their own. */
typedef struct problem {
    wick_gemm g;
    float *a, *b, *bias, *c;
} problem;

static void *memory(size_t bytes) {
    void *at = aligned_alloc(64, WICK_ALIGN_UP(bytes + 64, 64));
    if (!at) abort();
    memset(at, 0xFF, WICK_ALIGN_UP(bytes + 64, 64)); /* NaN: what nobody wrote must not matter */
    return at;
}
/* turned: A's columns are contiguous; columns: B's are. */
static problem problem_make(int64_t m, int64_t n, int64_t k, int zeros, bool turned, bool columns) {
    problem p = {.g = {.type = WICK_CF32,
                       .m = m,
                       .n = n,
                       .k = k,
                       .a_row = turned ? 1 : k,
                       .a_col = turned ? m : 1,
                       .b_row = columns ? 1 : n,
                       .b_col = columns ? k : 1,
                       .c_row = n + 3,
                       .b_constant = true,
                       .bias = (int8_t)(test_rand() & 1),
                       .relu = test_rand() & 1}};
    p.a = memory((size_t)(m * k) * 4);
    p.b = memory((size_t)(n * k) * 4);
    p.bias = memory((size_t)n * 4);
    p.c = memory((size_t)(m * (n + 3)) * 4);
    for (int64_t i = 0; i < m * k; i++) p.a[i] = (float)test_rand_real(-2, 2);
    for (int64_t i = 0; i < n * k; i++)
        p.b[i] = test_rand_int(0, 99) < zeros ? (test_rand() & 1 ? 0.0f : -0.0f) : (float)test_rand_real(-2, 2);
    for (int64_t i = 0; i < n; i++) p.bias[i] = (float)test_rand_real(-2, 2);
    return p;
}
static void problem_free(problem *p) {
    free(p->a);
    free(p->b);
    free(p->bias);
    free(p->c);
}

/* A prepared product with what was packed; tasks from the last to the first. Returns C without its gaps. */
static float *results(problem *p, const void *packed) {
    const wick_gemm *g = &p->g;
    char *scratch = memory(g->scratch);
    memset(p->c, 0xFF, (size_t)(g->m * g->c_row) * 4);
    for (int64_t t = g->tasks; t-- > 0;) {
        memset(scratch, 0xFF, g->scratch);
        wick_gemm_run(g, t, t + 1, p->a, p->b, g->bias ? p->bias : NULL, p->c, packed, scratch);
    }
    float *out = memory((size_t)(g->m * g->n) * 4);
    for (int64_t i = 0; i < g->m; i++) {
        memcpy(out + i * g->n, p->c + i * g->c_row, (size_t)g->n * 4);
        for (int64_t j = g->n; j < g->c_row && i + 1 < g->m; j++)
            CHECK_MSG(p->c[i * g->c_row + j] != p->c[i * g->c_row + j], "wrote between rows of C");
    }
    free(scratch);
    return out;
}
static void *packed_of(problem *p) {
    char *packed = memory(p->g.packed);
    for (int64_t t = 0; t < p->g.tasks_pack; t++) wick_gemm_pack(&p->g, t, t + 1, p->b, packed);
    CHECK_MSG((uint8_t)packed[p->g.packed] == 0xFF, "%s wrote behind what is packed", wick_gemm_name(&p->g));
    return packed;
}
static float *dense(problem *p) {
    const wick_gemm was = p->g;
    p->g.sparse = (wick_sparse){0};
    wick_gemm_prepare(&p->g, NULL);
    void *packed = packed_of(p);
    float *out = results(p, packed);
    free(packed);
    p->g = was;
    return out;
}

static bool are_equal(const float *a, const float *b, int64_t n) { /* NaN is NaN */
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], 4) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
    return true;
}

static problem random_problem(int zeros) {
    static const int64_t rows[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 49, 63, 64, 65, 100, 196, 300};
    return problem_make(rows[test_rand() % WICK_COUNTOF(rows)], test_rand_int(64, 150),
                        test_rand() % 4 ? test_rand_int(64, 300) : test_rand_int(500, 1200), zeros, test_rand() & 1,
                        test_rand() & 1);
}

TEST(bits_are_those_of_the_dense_product) {
    FOR_TIERS(tier) {
        int taken = 0;
        for (int round = 0; round < 60; round++) {
            problem p = random_problem(test_rand_int(70, 100));
            const char *why = wick_sparse_choose(&p.g, p.b, 0);
            CHECK((why != NULL) == (p.g.sparse.room == 0));
            if (!why) {
                wick_gemm_prepare(&p.g, NULL);
                CHECK_STR_HAS(wick_gemm_name(&p.g), "sparse");
                CHECK_STR_HAS(wick_gemm_name(&p.g), wick_tier_name((wick_tier)tier));
                void *packed = packed_of(&p);
                float *got = results(&p, packed), *want = dense(&p);
                CHECK_MSG(are_equal(got, want, p.g.m * p.g.n), "%s, m %d n %d k %d", wick_gemm_name(&p.g), (int)p.g.m,
                          (int)p.g.n, (int)p.g.k);
                free(got);
                free(want);
                free(packed);
                taken++;
            }
            problem_free(&p);
        }
        CHECK_MSG(taken > 20, "%d of 60 products of tier %d were sparse", taken, tier);
    }
}

/* |c - exact| <= (k + 4) u (|A||B| + |bias|): Higham, Accuracy and Stability, section 3.5. */
TEST(sums_are_near_those_in_f64) {
    FOR_TIERS(tier) {
        for (int round = 0; round < 12; round++) {
            problem p = random_problem(90);
            if (wick_sparse_choose(&p.g, p.b, 0)) {
                problem_free(&p);
                continue;
            }
            wick_gemm_prepare(&p.g, NULL);
            const wick_gemm *g = &p.g;
            void *packed = packed_of(&p);
            float *got = results(&p, packed);
            for (int64_t i = 0; i < g->m; i++)
                for (int64_t j = 0; j < g->n; j++) {
                    double sum = g->bias ? (double)p.bias[j] : 0, size = fabs(sum);
                    for (int64_t q = 0; q < g->k; q++) {
                        const double x =
                            (double)p.a[i * g->a_row + q * g->a_col] * (double)p.b[q * g->b_row + j * g->b_col];
                        sum += x;
                        size += fabs(x);
                    }
                    if (g->relu && sum < 0) sum = 0;
                    const double off = fabs((double)got[i * g->n + j] - sum);
                    CHECK_MSG(off <= (double)(g->k + 4) * 0x1p-24 * size, "%s: off by %g", wick_gemm_name(g), off);
                }
            free(got);
            free(packed);
            problem_free(&p);
        }
    }
}

TEST(inf_and_nan_meet_zeros_as_in_the_dense_product) {
    static const int64_t rows[] = {1, 3, 40, 130};
    FOR_TIERS(tier) {
        for (int round = 0; round < 12; round++) {
            problem p = problem_make(rows[round % 4], 96, 640, 95, round & 1, round & 2);
            const float odd = round % 3 ? INFINITY : NAN;
            for (int i = 0; i <= round % 2; i++) p.a[test_rand() % (uint64_t)(p.g.m * p.g.k)] = odd;
            REQUIRE(wick_sparse_choose(&p.g, p.b, 0) == NULL);
            wick_gemm_prepare(&p.g, NULL);
            void *packed = packed_of(&p);
            float *got = results(&p, packed), *want = dense(&p);
            CHECK_MSG(are_equal(got, want, p.g.m * p.g.n), "%s, round %d", wick_gemm_name(&p.g), round);
            free(got);
            free(want);
            free(packed);
            problem_free(&p);
        }
    }
}

/* A state that another plan trains may get other zeros, or none. */
TEST(other_weights_than_those_that_were_looked_at_give_their_own_product) {
    static const int64_t rows[] = {1, 4, 70};
    FOR_TIERS(tier) {
        for (int round = 0; round < 9; round++) {
            problem p = problem_make(rows[round % 3], 100, 200, 90, false, round & 1);
            REQUIRE(wick_sparse_choose(&p.g, p.b, 0) == NULL);
            wick_gemm_prepare(&p.g, NULL);
            const int zeros = round < 3 ? 0 : round < 6 ? 91 : 100;
            for (int64_t i = 0; i < p.g.n * p.g.k; i++)
                p.b[i] = test_rand_int(0, 99) < zeros ? 0 : (float)test_rand_real(-2, 2);
            void *packed = packed_of(&p);
            float *got = results(&p, packed), *want = dense(&p);
            CHECK_MSG(are_equal(got, want, p.g.m * p.g.n), "%s, %d %% of zeros", wick_gemm_name(&p.g), zeros);
            free(got);
            free(want);
            free(packed);
            problem_free(&p);
        }
    }
}

TEST(dense_weights_and_small_ones_stay_dense_and_say_why) {
    static const struct {
        int64_t m, n, k;
        int zeros;
        const char *why;
    } cases[] = {{1, 128, 128, 30, "less than half"},
                 {5, 65, 128, 55, "too few of the weights"},
                 {64, 32, 128, 95, "small"},
                 {0, 128, 128, 95, "small"}};
    FOR_TIERS(tier) {
        (void)tier;
        for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
            problem p = problem_make(cases[i].m, cases[i].n, cases[i].k, cases[i].zeros, false, false);
            const char *why = wick_sparse_choose(&p.g, p.b, 0);
            CHECK_STR_HAS(why ? why : "", cases[i].why);
            CHECK_INT(p.g.sparse.room, 0);
            problem_free(&p);
        }
        problem p = problem_make(8, 128, 128, 95, false, false);
        p.g.accumulate = true;
        CHECK(wick_sparse_choose(&p.g, p.b, 0) != NULL);
        p.g.accumulate = false;
        p.g.narrow = WICK_BF16;
        CHECK(wick_sparse_choose(&p.g, p.b, 0) != NULL);
        problem_free(&p);
    }
}

TEST(tasks_make_blocks_that_cover_c_once) {
    for (int round = 0; round < 40; round++) {
        problem p =
            problem_make(test_rand_int(1, 3000), test_rand_int(64, 700), test_rand_int(64, 200), 90, false, true);
        if (!wick_sparse_choose(&p.g, p.b, 0)) {
            wick_gemm_prepare(&p.g, NULL);
            int64_t elements = 0;
            for (int64_t t = 0; t < p.g.tasks; t++) {
                int64_t rows[2], cols[2];
                REQUIRE(wick_gemm_task_block(&p.g, t, rows, cols));
                CHECK(rows[0] >= 0 && rows[1] <= p.g.m && cols[0] >= 0 && cols[1] <= p.g.n);
                elements += (rows[1] - rows[0]) * (cols[1] - cols[0]);
            }
            CHECK_INT(elements, p.g.m * p.g.n);
        }
        problem_free(&p);
    }
}

int main(int argc, char **argv) { return test_main(argc, argv); }
