/* Linear algebra against PyTorch and NumPy (golden/linalg.safetensors, made by golden/make_linalg.py). */
#define GOLDEN_FILE  "linalg.safetensors"
#define GOLDEN_FLOOR 8
#include "ops/goldens.h"
#include "tensor/op.h"
#include "wick/linalg.h"
#include "wick/shape.h"
#include "wick/reduce.h"
#include "wick/signal.h"

/* ---- einsum ------------------------------------------------------------------------------------------------------ */

static char text[256];
static int n_operands;
static int64_t bound;
static wick_tensor *build_einsum(wick_tensor **in, const int64_t *attr) {
    (void)attr;
    return wick_einsum_within(text, n_operands, in, bound);
}

TEST(expressions_have_numpys_values_and_pytorchs_gradients) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    int cases = 0;
    for (bound = 0; bound < 2; bound++) { /* also under a bound that no order keeps */
        for (int i = 0;; i++, cases++) {
            char name[32], part[16];
            snprintf(name, sizeof name, "einsum.%d", i);
            array *a = find(name, "text");
            if (!a) break;
            snprintf(text, sizeof text, "%.*s", (int)a->dims[0], (const char *)a->data);
            for (n_operands = 0; snprintf(part, sizeof part, "in%d", n_operands), find(name, part);) n_operands++;
            check(ctx, name, build_einsum);
        }
    }
    CHECK(cases > 250);
    wick_context_free(&ctx);
}

/* Nodes called `name` below a pending one, and their arithmetic (a tree: einsum uses nothing twice here). */
static int count_nodes(const wick_node *node, const char *name, double *flops) {
    int n = !strcmp(node->op->name, name);
    if (n) *flops += wick_node_flops(node);
    for (int i = 0; i < node->n_in; i++) n += count_nodes(node->in[i]->node, name, flops);
    return n;
}

TEST(a_pair_summed_at_once_is_one_matrix_product_and_the_order_is_the_cheapest) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const struct {
        const char *text;
        int n;
        int64_t dims[4][5];
        int products;
        double flops;
    } cases[] = {
        {"bqhd,bkhd->bhqk", 2, {{2, 64, 4, 16}, {2, 32, 4, 16}}, 1, 2. * 2 * 64 * 32 * 4 * 16},
        {"ijkl,klij->", 2, {{3, 4, 5, 6}, {5, 6, 3, 4}}, 0, 0},
        {"ij,jk,kl->il", 3, {{2, 100}, {100, 100}, {100, 3}}, 2, 2. * 100 * 100 * 2 + 2. * 2 * 100 * 3},
        /* A ((B C) D) */
        {"ij,jk,kl,lm->im",
         4,
         {{100, 5}, {5, 100}, {100, 5}, {5, 100}},
         3,
         2. * (5 * 100 * 5 + 5 * 5 * 100 + 100 * 5 * 100)},
        {"abc,cbd->ad", 2, {{3, 4, 5}, {5, 4, 2}}, 1, 2. * 3 * 20 * 2},
        {"i,j->ij", 2, {{30}, {40}}, 1, 2. * 30 * 40},
        {"ij,j->ij", 2, {{30, 40}, {40}}, 0, 0},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        wick_tensor *x[4];
        for (int k = 0; k < cases[i].n; k++) {
            int rank = 0;
            while (cases[i].dims[k][rank]) rank++;
            x[k] = wick_ones(ctx, WICK_F32, rank, cases[i].dims[k]);
        }
        double flops = 0;
        wick_tensor *y = wick_einsum(cases[i].text, cases[i].n, x);
        REQUIRE(!y->error);
        CHECK_INT(count_nodes(y->value->node, "matmul", &flops), cases[i].products);
        CHECK_MSG(flops == cases[i].flops, "%s: %g", cases[i].text, flops);
    }
    /* (a b) c is cheapest, with 1 x 1000 elements in between; a (b c) needs 10 x 10. */
    wick_tensor *a = wick_ones(ctx, WICK_F32, WICK_DIMS(1, 10)), *b = wick_ones(ctx, WICK_F32, WICK_DIMS(10, 1000)),
                *c = wick_ones(ctx, WICK_F32, WICK_DIMS(1000, 10));
    double cheapest = 0, bounded = 0;
    count_nodes(wick_einsum("ij,jk,kl->il", WICK_TENSORS(a, b, c))->value->node, "matmul", &cheapest);
    count_nodes(wick_einsum_within("ij,jk,kl->il", WICK_TENSORS(a, b, c), 500)->value->node, "matmul", &bounded);
    CHECK(cheapest == 2. * (10 * 1000 + 1000 * 10) && bounded == 2. * (10 * 1000 * 10 + 10 * 10));
    wick_context_free(&ctx);
}

TEST(integers_keep_their_dtype_and_mistakes_point_at_the_text) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *a = wick_ones(ctx, WICK_I32, WICK_DIMS(2, 3)), *b = wick_ones(ctx, WICK_I32, WICK_DIMS(3, 4)),
                *u = wick_ones(ctx, WICK_U64, WICK_DIMS(3, 4));
    wick_tensor *product = wick_einsum("ij,jk->ik", WICK_TENSORS(a, b));
    double sum = 0;
    CHECK(wick_tensor_dtype(product) == WICK_I32 &&
          wick_item(wick_sum(product, WICK_ALL_AXES, false), &sum) == WICK_OK && sum == 24);
    CHECK(wick_tensor_dtype(wick_einsum("ij->j", WICK_TENSORS(a))) == WICK_I32);
    /* a bias and a ReLU stay: products of integers have no epilogue that would take them */
    wick_tensor *bias = wick_arange(ctx, WICK_I32, -4, 1, 4), *biased = wick_relu(wick_add(wick_matmul(a, b), bias));
    CHECK(wick_item(wick_sum(biased, WICK_ALL_AXES, false), &sum) == WICK_OK && sum == 2 * (0 + 0 + 1 + 2));
    wick_tensor *half = wick_einsum("ij,jk", WICK_TENSORS(wick_cast(a, WICK_F16), wick_cast(b, WICK_F16)));
    CHECK(wick_tensor_dtype(half) == WICK_F16);
    const refusal cases[] = {
        {wick_einsum("ij,jk->iz", WICK_TENSORS(a, b)),
         "einsum \"ij,jk->iz\": label 'z' of the result is in no operand, at character 9"},
        {wick_einsum("ij,jk->ii", WICK_TENSORS(a, b)), "label 'i' of the result is there twice, at character 9"},
        {wick_einsum("ij,ki->jk", WICK_TENSORS(a, b)),
         "label 'i' has extent 4 here and 2 before, at character 5 (\"i->jk\")"},
        {wick_einsum("ijk,jk", WICK_TENSORS(a, b)), "term 1 has 3 labels for a 2-d tensor, at character 1"},
        {wick_einsum("ij,j", WICK_TENSORS(a, b)), "term 2 has 1 labels for a 2-d tensor, at character 4"},
        {wick_einsum("ij", WICK_TENSORS(a, b)), "only 1 terms, at character 3 (\"end\")"},
        {wick_einsum("ij,jk,k", WICK_TENSORS(a, b)), "a term more than the 2 operands, at character 6"},
        {wick_einsum("i1,jk", WICK_TENSORS(a, b)), "'1' is no label: those are letters, at character 2"},
        {wick_einsum("i..,jk", WICK_TENSORS(a, b)), "an ellipsis has three dots, at character 2"},
        {wick_einsum("...i...,jk", WICK_TENSORS(a, b)), "a second ellipsis in one term, at character 5"},
        {wick_einsum("ij-jk", WICK_TENSORS(a, b)), "an arrow is \"->\", at character 3"},
        {wick_einsum("ij,jk->ik,", WICK_TENSORS(a, b)), "nothing may follow the result, at character 10"},
        {wick_einsum("ii", WICK_TENSORS(a)), "label 'i' is repeated for axes of 2 and 3, at character 2"},
        {wick_einsum("...,...", WICK_TENSORS(a, b)),
         "axes of an ellipsis do not broadcast: 3 here and 2 before, at character 5"},
        {wick_einsum("ij,jk", WICK_TENSORS(a, u)), "i32 and u64 have no common dtype"},
        {wick_einsum(NULL, WICK_TENSORS(a)), "the text is NULL"},
        {wick_einsum("ij,j", 2, (wick_tensor *[]){a, NULL}), "operand 2 is NULL"},
        {wick_einsum("i,j,k,l,m,n,o,p,q", 9, (wick_tensor *[]){a, a, a, a, a, a, a, a, a}), "term 1 has 1 labels"},
        {wick_dot(a, b), "dot(i32[2,3], i32[3,4]): needs two vectors"},
        {wick_tensordot(a, b, 3, NULL, NULL), "distinct axes of a 2-d and a 2-d tensor"},
        {wick_tensordot(a, b, 1, (int[]){0}, (int[]){0}), "axes 0 and 0 have extents 2 and 3"},
        {wick_matrix_power(a, 2), "square"},
        {wick_matrix_power(wick_ones(ctx, WICK_F32, WICK_DIMS(2, 2)), -1), "the power -1"},
        {wick_trace(wick_ones(ctx, WICK_F32, WICK_DIMS(2))), "trace: of a 1-d"},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    wick_context_free(&ctx);
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

BUILD(addmm, wick_addmm(in[0], in[1], in[2], 0.5, -2))
BUILD(addmm_row, wick_addmm(in[0], in[1], in[2], 1, 1))
BUILD(outer, wick_outer(in[0], in[1]))
BUILD(dot, wick_dot(in[0], in[1]))
BUILD(vdot, wick_vdot(in[0], in[1]))
BUILD(tensordot_2, wick_tensordot(in[0], in[1], 2, NULL, NULL))
BUILD(tensordot_0, wick_tensordot(in[0], in[1], 0, NULL, NULL))
BUILD(tensordot_lists, wick_tensordot(in[0], in[1], 2, (int[]){0, -1}, (int[]){1, 0}))
BUILD(kron, wick_kron(in[0], in[1]))
BUILD(power, wick_matrix_power(in[0], 5))
BUILD(power_0, wick_matrix_power(in[0], 0))
BUILD(trace, wick_trace(in[0]))
BUILD(matmul, wick_matmul(in[0], in[1]))

static const named_case products[] = {
    {"addmm", addmm},
    {"addmm.row", addmm_row},
    {"outer", outer},
    {"dot", dot},
    {"vdot", vdot},
    {"tensordot.2", tensordot_2},
    {"tensordot.0", tensordot_0},
    {"tensordot.lists", tensordot_lists},
    {"kron", kron},
    {"kron.ranks", kron},
    {"matrix_power", power},
    {"matrix_power.0", power_0},
    {"trace", trace},
    {"integers.torch.int8", matmul},
    {"integers.torch.uint8", matmul},
    {"integers.torch.int16", matmul},
    {"integers.torch.int32", matmul},
    {"integers.torch.int64", matmul},
    {"integers.bool", matmul},
};

TEST(products_have_the_right_values_and_gradients_on_every_tier) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (size_t i = 0; i < WICK_COUNTOF(products); i++) check_on_tiers(&ctx, products[i].name, products[i].build);
    wick_context_free(&ctx);
}

/* ---- factorizations ---------------------------------------------------------------------------------------------- */

static wick_tensor *turned(wick_tensor *x) { return wick_transpose(x, -1, -2); }
static wick_tensor *slogdet(wick_tensor *x, int which) {
    wick_tensor *part[2];
    wick_slogdet(x, &part[0], &part[1]);
    return part[which];
}
static wick_tensor *qr(wick_tensor *x, bool complete, int which) {
    wick_tensor *part[2];
    wick_qr(x, complete, &part[0], &part[1]);
    return part[which];
}
static wick_tensor *symmetric(wick_tensor *x) { return wick_mul(wick_add(x, turned(x)), wick_like(x, 0.5)); }
/* values; or, with `function`, V sin(values) V'. */
static wick_tensor *eigh(wick_tensor *x, bool function) {
    wick_tensor *w, *v;
    wick_eigh(symmetric(x), &w, &v);
    return function ? wick_matmul(wick_mul(v, wick_unsqueeze(wick_sin(w), -2)), turned(v)) : w;
}
static wick_tensor *svd(wick_tensor *x, bool function) {
    wick_tensor *u, *s, *vt;
    wick_svd(x, false, &u, &s, &vt);
    return function ? wick_matmul(wick_mul(u, wick_unsqueeze(wick_sin(s), -2)), vt) : s;
}
static wick_tensor *gradient_of(wick_tensor *loss, wick_tensor *x) {
    wick_tensor *g;
    wick_grad(loss, 1, &x, &g);
    return g;
}
static wick_tensor *total(wick_tensor *x) { return wick_sum(x, WICK_ALL_AXES, false); }

BUILD(cholesky, wick_cholesky(in[0], false))
BUILD(cholesky_upper, wick_cholesky(in[0], true))
BUILD(cholesky_solve, wick_cholesky_solve(in[1], wick_cholesky(in[0], false), false))
BUILD(solve, wick_solve(in[0], in[1]))
BUILD(inverse, wick_inverse(in[0]))
BUILD(det, wick_det(in[0]))
BUILD(sign_of_det, slogdet(in[0], 0))
BUILD(log_of_det, slogdet(in[0], 1))
BUILD(inverse_twice, gradient_of(total(wick_square(wick_inverse(in[0]))), in[0]))
BUILD(solve_twice, gradient_of(total(wick_square(wick_solve(in[0], in[1]))), in[0]))
BUILD(cholesky_twice, gradient_of(total(wick_pow(wick_cholesky(in[0], false), wick_like(in[0], 3))), in[0]))
BUILD(det_twice, gradient_of(wick_sin(wick_det(in[0])), in[0]))
BUILD(triangular_batch, wick_solve_triangular(in[0], in[1], NULL))
BUILD(q_reduced, qr(in[0], false, 0))
BUILD(r_reduced, qr(in[0], false, 1))
BUILD(q_complete, qr(in[0], true, 0))
BUILD(r_complete, qr(in[0], true, 1))
BUILD(eigh_values, eigh(in[0], false))
BUILD(eigh_function, eigh(in[0], true))
BUILD(svd_values, svd(in[0], false))
BUILD(svd_function, svd(in[0], true))
BUILD(pinv, wick_pinv(in[0], 0))
BUILD(pinv_low, wick_pinv(in[0], 1e-5))
BUILD(rank_low, wick_matrix_rank(in[0], 1e-5))
BUILD(lstsq, wick_lstsq(in[0], in[1]))

static wick_triangular_options triangular_options;
static wick_tensor *triangular(wick_tensor **in, const int64_t *attr) {
    (void)attr;
    return wick_solve_triangular(in[0], in[1], &triangular_options);
}

/* By the start of a case's name, the longest first. */
static const struct {
    const char *start;
    build_fn build;
} factorizations[] = {
    {"cholesky.twice", cholesky_twice},
    {"cholesky.", cholesky},
    {"cholesky_upper.", cholesky_upper},
    {"cholesky_solve.", cholesky_solve},
    {"solve.twice", solve_twice},
    {"solve.", solve},
    {"inverse.twice", inverse_twice},
    {"inverse.", inverse},
    {"det.twice", det_twice},
    {"det.", det},
    {"slogdet.", log_of_det},
    {"sign.", sign_of_det},
    {"triangular.batch", triangular_batch},
    {"triangular.", triangular},
    {"eigh.values.", eigh_values},
    {"eigh.function.", eigh_function},
    {"svd.values.", svd_values},
    {"svd.function.", svd_function},
    {"pinv.low", pinv_low},
    {"pinv.", pinv},
    {"matrix_rank.low", rank_low},
    {"lstsq.", lstsq},
};
static build_fn build_of(const char *name) {
    if (!strncmp(name, "qr.", 3)) {
        const bool complete = strstr(name, "complete");
        const bool r = name[strlen(name) - 1] == '1';
        return complete ? r ? r_complete : q_complete : r ? r_reduced : q_reduced;
    }
    for (size_t i = 0; i < WICK_COUNTOF(factorizations); i++)
        if (!strncmp(name, factorizations[i].start, strlen(factorizations[i].start))) return factorizations[i].build;
    return NULL;
}

TEST(factorizations_have_pytorchs_values_and_gradients_on_every_tier) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    int cases = 0;
    for (size_t i = 0; i < file.count; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s", file.tensors[i].name);
        char *slash = strrchr(name, '/');
        if (!slash || strcmp(slash, "/out")) continue;
        *slash = 0;
        build_fn build = build_of(name);
        if (!build) continue;
        if (build == triangular) {
            const char *bits = name + strlen("triangular.");
            triangular_options = (wick_triangular_options){
                .upper = bits[0] == '1', .transposed = bits[1] == '1', .unit = bits[2] == '1', .right = bits[3] == '1'};
        }
        cases++;
        for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
            if (!wick_tier_force((wick_tier)tier)) continue;
            wick_context_free(&ctx); /* plans are of one tier */
            ctx = golden_context();
            /* f32 too where it is exact enough for the comparison; elsewhere conditions of matrices are in the way. */
            check_as(ctx, name, build, WICK_F64);
        }
        wick_tier_force(wick_tier_best());
    }
    CHECK(cases > 80);
    wick_context_free(&ctx);
}

/* The largest of |x|. */
static double largest(wick_tensor *x) {
    double value = NAN;
    CHECK(wick_item(wick_max(wick_abs(x), WICK_ALL_AXES, false), &value) == WICK_OK);
    return value;
}

/* A V = V diag(values), V orthonormal, values rising; to some units of the largest number. */
static void check_eigh(wick_tensor *a, double scale) {
    const int64_t n = wick_tensor_dim(a, -1);
    const wick_dtype d = wick_tensor_dtype(a);
    const double unit = (d == WICK_F64 ? 1e-15 : 5e-7) * (double)(n + 8);
    wick_tensor *w, *v, *one = wick_one_hot(wick_arange(wick_tensor_context(a), WICK_I64, 0, 1, n), n, d);
    wick_eigh(a, &w, &v);
    CHECK_MSG(largest(wick_sub(wick_matmul(a, v), wick_mul(v, wick_unsqueeze(w, -2)))) <= 10 * scale * unit,
              "A V of %lld", (long long)n);
    CHECK_MSG(largest(wick_sub(wick_matmul(turned(v), v), one)) < 10 * unit, "V' V of %lld", (long long)n);
    double falls = 1;
    wick_tensor *below = wick_lt(wick_slice(w, -1, 1, n, 1), wick_slice(w, -1, 0, n - 1, 1));
    CHECK(wick_item(wick_count_nonzero(below, WICK_ALL_AXES, false), &falls) == WICK_OK && falls == 0);
}

TEST(symmetric_eigenvalues_of_matrices_that_are_special) {
    enum { N = 40 };
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static double x[N * N];
    for (int kind = 0; kind < 8; kind++)
        for (int type = 0; type < 2; type++) {
            double scale = 1;
            for (int i = 0; i < N; i++)
                for (int j = 0; j <= i; j++) {
                    double a = 0;
                    if (kind == 1) a = i == j ? 3 : 0;                                         /* one eigenvalue */
                    if (kind == 2) a = i == j ? (double)(i * 7 % N) - 5 : 0;                   /* diagonal */
                    if (kind == 3) a = 1;                                                      /* of rank 1 */
                    if (kind == 4) a = i == j ? 2 : i == j + 1 ? -1 : 0;                       /* tridiagonal */
                    /* graded over 20 decades */
                    if (kind == 5) a = pow(10, -0.25 * (double)(i + j)) * (i == j ? 1 : 0.5);
                    if (kind == 6) a = test_rand_real(-1, 1) * (scale = type ? 1e200 : 1e30);  /* squares overflow */
                    if (kind == 7) a = (i < N / 2) == (j < N / 2) ? test_rand_real(-1, 1) : 0; /* two blocks */
                    x[i * N + j] = x[j * N + i] = a;
                }
            check_eigh(wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(N, N), x), type ? WICK_F64 : WICK_F32),
                       kind == 3 ? N : 3 * scale);
        }
    /* NaN and Inf are no numbers to have eigenvalues of, and end at once. */
    for (int i = 0; i < 2; i++) {
        wick_tensor *w, *v;
        double value = 0;
        wick_eigh(wick_full(ctx, WICK_F32, WICK_DIMS(300, 300), i ? NAN : INFINITY), &w, &v);
        CHECK(wick_item(wick_all(wick_isnan(w), WICK_ALL_AXES, false), &value) == WICK_OK && value == 1);
        CHECK(wick_item(wick_all(wick_isnan(v), WICK_ALL_AXES, false), &value) == WICK_OK && value == 1);
    }
    wick_context_free(&ctx);
}

/* U and V have orthonormal columns, U diag(s) V' is the matrix, and s falls to no less than 0; errors in units of the
 * dtype's, of the largest. */
static void check_svd(const char *what, wick_tensor *a, double scale) {
    wick_tensor *u, *s, *vt;
    wick_svd(a, false, &u, &s, &vt);
    const wick_dtype d = wick_tensor_dtype(a);
    const int64_t k = wick_tensor_dim(s, -1);
    const double unit = (d == WICK_F64 ? 0x1p-52 : 0x1p-23) * 8 * (double)(k + 8);
    wick_tensor *one = wick_eye(wick_tensor_context(a), d, k, k, 0);
    const double product = largest(wick_sub(wick_matmul(wick_mul(u, wick_unsqueeze(s, -2)), vt), a)),
                 left = largest(wick_sub(wick_matmul(turned(u), u), one));
    const double right = largest(wick_sub(wick_matmul(vt, turned(vt)), one));
    CHECK_MSG(product <= unit * scale && left <= unit && right <= unit, "%s: %g %g %g of %g", what,
              product / scale / unit, left / unit, right / unit, unit);
    double value = 1;
    CHECK(wick_item(wick_all(wick_ge(s, wick_like(s, 0)), WICK_ALL_AXES, false), &value) == WICK_OK && value == 1);
    if (k > 1)
        CHECK(wick_item(
                  wick_all(wick_ge(wick_slice(s, -1, 0, k - 1, 1), wick_slice(s, -1, 1, k, 1)), WICK_ALL_AXES, false),
                  &value) == WICK_OK &&
              value == 1);
}
TEST(singular_values_of_matrices_that_are_special) {
    enum { M = 50, N = 37, KINDS = 11 };
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    static double x[M * N];
    for (int kind = 0; kind < KINDS; kind++)
        for (int turn = 0; turn < 6; turn++) { /* both types; high, square and wide */
            double scale = 1;
            const int m = turn < 2 ? M : N, n = turn < 4 ? N : M, type = turn % 2;
            for (int i = 0; i < m; i++)
                for (int j = 0; j < n; j++) {
                    double a = 0; /* kind 0: all zeros */
                    if (kind == 1) a = i == j;
                    /* diagonal, one of them 0 */
                    if (kind == 2) a = i == j ? (double)(i * 7 % n) - 5 : 0;
                    if (kind == 3) a = 1;                                                          /* of rank 1 */
                    if (kind == 4) a = j == i ? 1 : j == i + 1 ? 2 : 0;                            /* bidiagonal */
                    /* graded over 20 decades */
                    if (kind == 5) a = pow(10, -0.25 * (double)(i + j)) * (i == j ? 1 : 0.5);
                    /* squares overflow */
                    if (kind == 6) a = test_rand_real(-1, 1) * (scale = type ? 1e200 : 1e30);
                    if (kind == 7) a = (i < m / 2) == (j < n / 2) ? test_rand_real(-1, 1) : 0;     /* two blocks */
                    /* squares are lost */
                    if (kind == 8) a = test_rand_real(-1, 1) * (scale = type ? 1e-200 : 1e-30);
                    /* nilpotent: zeros on the diagonal */
                    if (kind == 9) a = j == i + 1 ? 1 : 0;
                    if (kind == 10) a = (i % 3) * (double)(j % 5) + (i % 2) * (double)(j % 4 == 1); /* of rank 2 */
                    x[i * n + j] = a;
                }
            char what[32];
            snprintf(what, sizeof what, "kind %d, turn %d", kind, turn);
            check_svd(what, wick_cast(wick_from(ctx, WICK_F64, WICK_DIMS(m, n), x), type ? WICK_F64 : WICK_F32),
                      kind == 3    ? M
                      : kind == 10 ? 400
                                   : 10 * scale);
        }
    wick_context_free(&ctx);
    /* A high one needs no square matrix of its rows. */
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1, .max_memory = 4 << 20}, &ctx) == WICK_OK);
    check_svd("high", wick_random_normal(ctx, WICK_F32, WICK_DIMS(5000, 3)), 200);
    wick_context_free(&ctx);
}

/* Half of it is computed, and copied: the bits of the product with a transpose that lies elsewhere. */
TEST(a_matrix_times_its_own_transpose_has_the_bits_of_any_product) {
    static const int64_t sizes[][2] = {{63, 5}, {64, 1}, {65, 70}, {97, 600}, {200, 33}, {513, 40}};
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (int type = 0; type < 2; type++)
        for (size_t i = 0; i < WICK_COUNTOF(sizes); i++) {
            wick_scope *scope = wick_scope_open(ctx);
            const int64_t n = sizes[i][0], k = sizes[i][1];
            const wick_dtype d = type ? WICK_F64 : WICK_F32;
            wick_tensor *a = wick_random_normal(ctx, d, WICK_DIMS(2, n, k)),
                        *b = wick_random_normal(ctx, d, WICK_DIMS(2, k, n));
            CHECK(wick_eval(ctx, 2, (wick_tensor *[]){a, b}, NULL) == WICK_OK);
            wick_tensor *other = wick_add(turned(a), wick_constant(ctx, d, 0)),
                        *across = wick_add(turned(b), wick_constant(ctx, d, 0));
            CHECK(wick_eval(ctx, 2, (wick_tensor *[]){other, across}, NULL) == WICK_OK);
            CHECK_MSG(largest(wick_sub(wick_matmul(a, turned(a)), wick_matmul(a, other))) == 0, "%d by %d", (int)n,
                      (int)k);
            CHECK_MSG(largest(wick_sub(wick_matmul(turned(b), b), wick_matmul(across, b))) == 0, "%d by %d, turned",
                      (int)n, (int)k);
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

TEST(factors_multiply_to_the_matrix_at_any_size_and_type) {
    static const int64_t sizes[] = {1, 2, 3, 16, 47, 48, 49, 96, 97, 130, 200};
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    for (int type = 0; type < 2; type++)
        for (size_t i = 0; i < WICK_COUNTOF(sizes); i++) {
            wick_scope *scope = wick_scope_open(ctx);
            const int64_t n = sizes[i];
            const wick_dtype d = type ? WICK_F64 : WICK_F32;
            const double unit = (type ? 1e-15 : 5e-7) * (double)(n + 8);
            wick_tensor *a = wick_random_normal(ctx, d, WICK_DIMS(2, n, n)),
                        *b = wick_random_normal(ctx, d, WICK_DIMS(2, n, 7));
            CHECK(wick_eval(ctx, 2, (wick_tensor *[]){a, b}, NULL) == WICK_OK);
            wick_tensor *positive =
                wick_add(wick_matmul(a, turned(a)), wick_mul(wick_one_hot(wick_arange(ctx, WICK_I64, 0, 1, n), n, d),
                                                             wick_constant(ctx, d, (double)n)));
            wick_tensor *l = wick_cholesky(positive, false), *u = wick_cholesky(positive, true);
            CHECK(largest(wick_sub(wick_matmul(l, turned(l)), positive)) < 8 * (double)n * unit);
            CHECK(largest(wick_sub(u, turned(l))) == 0);
            CHECK(largest(wick_sub(wick_matmul(positive, wick_cholesky_solve(b, l, false)), b)) < 100 * unit);
            CHECK(largest(wick_sub(wick_matmul(positive, wick_cholesky_solve(b, u, true)), b)) < 100 * unit);
            CHECK(largest(wick_sub(wick_matmul(positive, wick_solve(positive, b)), b)) < 100 * unit);
            wick_tensor *x = wick_solve(a, b);
            CHECK(largest(wick_sub(wick_matmul(a, x), b)) < 20 * (1 + largest(x)) * unit);
            if (n <= 130) {
                wick_tensor *q, *r, *s, *vt, *high = wick_slice(a, -1, 0, (n + 1) / 2, 1);
                for (int complete = 0; complete < 2; complete++) {
                    wick_qr(high, complete, &q, &r);
                    CHECK(largest(wick_sub(wick_matmul(q, r), high)) < 20 * unit);
                    CHECK(largest(wick_sub(wick_matmul(turned(q), q),
                                           wick_one_hot(wick_arange(ctx, WICK_I64, 0, 1, wick_tensor_dim(q, -1)),
                                                        wick_tensor_dim(q, -1), d))) < 8 * unit);
                }
                for (int full = 0; full < 2; full++) {
                    wick_svd(full ? turned(high) : high, full, &u, &s, &vt);
                    const int64_t k = wick_tensor_dim(s, -1);
                    wick_tensor *product = wick_matmul(wick_mul(wick_slice(u, -1, 0, k, 1), wick_unsqueeze(s, -2)),
                                                       wick_slice(vt, -2, 0, k, 1));
                    CHECK(largest(wick_sub(product, full ? turned(high) : high)) < 20 * unit);
                    CHECK(largest(wick_sub(wick_matmul(vt, turned(vt)),
                                           wick_one_hot(wick_arange(ctx, WICK_I64, 0, 1, wick_tensor_dim(vt, -2)),
                                                        wick_tensor_dim(vt, -2), d))) < 20 * unit);
                }
            }
            check_eigh(symmetric(a), 4);
            wick_scope_close(&scope);
        }
    wick_context_free(&ctx);
}

/* Blocks of one matrix are shared by threads; matrices of a batch are not: both have the same bits, and so has any
 * number of threads. */
TEST(a_large_matrix_has_the_same_factors_alone_in_a_batch_and_with_more_threads) {
    wick_context *ctx[2];
    for (int i = 0; i < 2; i++)
        REQUIRE(wick_context_new(&(wick_context_options){.threads = i ? 3 : 1}, &ctx[i]) == WICK_OK);
    static const int64_t sizes[] = {256, 431};
    for (size_t c = 0; c < 2 * WICK_COUNTOF(sizes); c++) {
        const int64_t n = sizes[c / 2];
        const wick_dtype dtype = c % 2 ? WICK_F64 : WICK_F32;
        const size_t bytes = (size_t)(n * n) * wick_dtype_size(dtype);
        void *bits[2][2];
        for (int i = 0; i < 2; i++) {
            wick_scope *scope = wick_scope_open(ctx[i]);
            wick_tensor *at = wick_reshape(wick_arange(ctx[i], WICK_F64, 0, 1, n * n), WICK_DIMS(n, n)),
                        *a = wick_cast(wick_sin(wick_mul(at, at)), dtype);
            wick_tensor *spd = wick_add(wick_matmul(a, wick_transpose(a, 0, 1)),
                                        wick_mul(wick_eye(ctx[i], dtype, n, n, 0), wick_scalar(ctx[i], dtype, 1))),
                        *two[] = {a, spd};
            REQUIRE(wick_eval(ctx[i], 2, two, NULL) == WICK_OK);
            for (int k = 0; k < 2; k++) {
                wick_tensor *m = k ? spd : a, *b = wick_expand(m, WICK_DIMS(2, n, n));
                wick_tensor *alone = k ? wick_cholesky(m, false) : wick_inverse(m),
                            *batch = k ? wick_cholesky(b, false) : wick_inverse(b);
                bits[i][k] = malloc(bytes);
                char *both = malloc(2 * bytes);
                REQUIRE(wick_read(alone, bits[i][k], bytes) == WICK_OK && wick_read(batch, both, 2 * bytes) == WICK_OK);
                CHECK_MSG(!memcmp(bits[i][k], both, bytes) && !memcmp(bits[i][k], both + bytes, bytes),
                          "%s of %lld: other bits in a batch", k ? "cholesky" : "inverse", (long long)n);
                if (i)
                    CHECK_MSG(!memcmp(bits[0][k], bits[1][k], bytes), "%s of %lld: other bits with more threads",
                              k ? "cholesky" : "inverse", (long long)n);
                free(both);
            }
            wick_scope_close(&scope);
        }
        for (int i = 0; i < 4; i++) free(bits[i / 2][i % 2]);
    }
    for (int i = 0; i < 2; i++) wick_context_free(&ctx[i]);
}

TEST(general_eigenvalues_come_from_lapack_or_its_absence_is_said) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *a = wick_random_normal(ctx, WICK_F64, WICK_DIMS(3, 12, 12)), *w, *v;
    wick_eig(a, &w, &v);
    const char *is = "";
    if (wick_tensor_error(w, &is) == WICK_ERR_UNSUPPORTED) {
        CHECK_STR_HAS(is, "needs LAPACK");
        wick_context_free(&ctx);
        SKIP("no LAPACK");
    }
    wick_tensor *left = wick_complex(wick_matmul(a, wick_real(v)), wick_matmul(a, wick_imag(v)));
    CHECK(largest(wick_sub(left, wick_complex_mul(v, wick_unsqueeze(w, -3)))) < 1e-12);
    CHECK(largest(wick_sub(wick_sum(wick_complex_abs2(v), WICK_AXES(-2), false), wick_constant(ctx, WICK_F64, 1))) <
          1e-12);
    CHECK(largest(wick_sub(wick_sum(wick_real(w), WICK_AXES(-1), false), wick_trace(a))) < 1e-12 &&
          largest(wick_sum(wick_imag(w), WICK_AXES(-1), false)) == 0);
    wick_eig(wick_full(ctx, WICK_F32, WICK_DIMS(2, 2), NAN), &w, &v);
    double value = 0;
    CHECK(wick_tensor_dtype(w) == WICK_F32 && wick_item(wick_sum(w, WICK_ALL_AXES, false), &value) == WICK_OK &&
          isnan(value));
    wick_eig(wick_zeros(ctx, WICK_F64, WICK_DIMS(2, 0, 0)), &w, &v);
    CHECK(wick_tensor_rank(v) == 4 && wick_tensor_count(v) == 0);
    wick_eig(wick_zeros(ctx, WICK_F64, WICK_DIMS(2, 3)), &w, &v);
    CHECK(wick_tensor_error(v, &is) == WICK_ERR_SHAPE);
    CHECK_STR_HAS(is, "eig(f64[2,3]): needs square matrices");
    wick_context_free(&ctx);
}

/* What does not depend on phases: of a pending matrix, values, magnitudes of vectors' elements, and a product of one
 * with another's conjugate, squared. */
static wick_tensor *eig_loss(wick_context *ctx, wick_tensor *x) {
    wick_tensor *w, *v;
    wick_eig(wick_add(x, wick_mul(x, wick_like(x, 0.5))), &w, &v);
    const int64_t count = wick_tensor_count(v) / 2;
    wick_tensor *values = wick_mul(wick_reshape(w, WICK_DIMS(wick_tensor_count(w))),
                                   wick_sin(wick_arange(ctx, WICK_F64, 0.3, 0.7, wick_tensor_count(w))));
    wick_tensor *sizes = wick_mul(wick_reshape(wick_complex_abs2(v), WICK_DIMS(count)),
                                  wick_sin(wick_arange(ctx, WICK_F64, 0.1, 0.9, count)));
    wick_tensor *first = wick_slice(v, -2, 0, 1, 1), *second = wick_slice(v, -2, 3, 4, 1),
                *dot = wick_sum(wick_complex_mul(first, wick_complex_conj(second)), WICK_AXES(-3), false);
    return wick_add(wick_add(wick_sum(values, WICK_ALL_AXES, false), wick_sum(sizes, WICK_ALL_AXES, false)),
                    wick_sum(wick_complex_abs2(dot), WICK_ALL_AXES, false));
}
TEST(general_eigenvalues_have_gradients) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *x = wick_random_normal(ctx, WICK_F64, WICK_DIMS(2, 5, 5)), *g, *gg;
    REQUIRE(wick_eval(ctx, 1, &x, NULL) == WICK_OK);
    wick_tensor *loss = eig_loss(ctx, x);
    if (wick_tensor_error(loss, NULL) == WICK_ERR_UNSUPPORTED) {
        wick_context_free(&ctx);
        SKIP("no LAPACK");
    }
    double was[50], at[50], slope[50], sides[2];
    wick_grad(loss, 1, &x, &g);
    REQUIRE(wick_read(g, slope, sizeof slope) == WICK_OK && wick_read(x, was, sizeof was) == WICK_OK);
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 2; k++) {
            memcpy(at, was, sizeof at);
            at[i] += k ? 1e-6 : -1e-6;
            REQUIRE(wick_item(eig_loss(ctx, wick_from(ctx, WICK_F64, WICK_DIMS(2, 5, 5), at)), &sides[k]) == WICK_OK);
        }
        const double numeric = (sides[1] - sides[0]) / 2e-6;
        CHECK_MSG(fabs(slope[i] - numeric) <= 1e-6 * fmax(1, fabs(numeric)), "element %d: %.12g, by differences %.12g",
                  i, slope[i], numeric);
    }
    wick_grad(eig_loss(ctx, x), 1, &x, &g);
    wick_grad(wick_sum(wick_square(g), WICK_ALL_AXES, false), 1, &x, &gg);
    double value = 0;
    CHECK_MSG(wick_item(wick_sum(gg, WICK_ALL_AXES, false), &value) == WICK_OK && value == value && value != 0, "%s",
              wick_context_error(ctx));
    /* Equal eigenvalues have no share, so that what there is of a gradient is finite. */
    wick_tensor *eye = wick_eye(ctx, WICK_F64, 3, 3, 0), *w, *v;
    REQUIRE(wick_eval(ctx, 1, &eye, NULL) == WICK_OK);
    wick_eig(eye, &w, &v);
    wick_grad(wick_sum(wick_real(w), WICK_ALL_AXES, false), 1, &eye, &g);
    CHECK(wick_item(wick_sum(g, WICK_ALL_AXES, false), &value) == WICK_OK && fabs(value - 3) < 1e-12);
    wick_context_free(&ctx);
}

TEST(matrices_without_factors_are_named_at_run_time) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    const double bad[] = {4, 0, 0, 4, 1, 2, 2, 1}; /* the second has a negative eigenvalue */
    wick_tensor *a = wick_from(ctx, WICK_F64, WICK_DIMS(2, 2, 2), bad), *l = wick_cholesky(a, false);
    CHECK(wick_eval(ctx, 1, &l, NULL) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "matrix number 1 is not positive definite");
    CHECK_STR_HAS(wick_context_error(ctx), "test_linalg.c:");
    wick_tensor *ones = wick_ones(ctx, WICK_F64, WICK_DIMS(3, 3)),
                *x = wick_solve(ones, wick_ones(ctx, WICK_F64, WICK_DIMS(3))), *y = wick_inverse(ones), *sign, *log;
    CHECK(wick_eval(ctx, 1, &x, NULL) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "matrix number 0 is singular");
    CHECK(wick_eval(ctx, 1, &y, NULL) == WICK_ERR_INVALID);
    wick_slogdet(ones, &sign, &log);
    double value = 1;
    CHECK(wick_item(sign, &value) == WICK_OK && value == 0 && wick_item(log, &value) == WICK_OK && value == -INFINITY);
    /* NaN is no such matrix: it goes through. */
    wick_tensor *nan = wick_cholesky(wick_full(ctx, WICK_F64, WICK_DIMS(3, 3), NAN), false);
    CHECK(wick_item(wick_sum(nan, WICK_ALL_AXES, false), &value) == WICK_OK && isnan(value));
    wick_context_free(&ctx);
}

TEST(what_does_not_fit_a_factorization_is_refused_by_name) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    wick_tensor *a = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)), *s = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 3)),
                *v = wick_ones(ctx, WICK_F32, WICK_DIMS(4)), *q, *r;
    wick_tensor *batch = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 3));
    wick_qr(v, false, &q, &r);
    const refusal cases[] = {
        {wick_cholesky(a, false), "cholesky(f32[2,3]): needs square matrices"},
        {wick_inverse(v), "inverse(f32[4]): needs matrices"},
        {wick_det(a), "det(f32[2,3])"},
        {wick_solve(s, v), "solve(f32[3,3], f32[4]): the right side does not fit"},
        {wick_solve(batch, wick_ones(ctx, WICK_F32, WICK_DIMS(3, 3, 1))), "solve(f32[2,3,3], f32[3,3,1])"},
        {wick_solve_triangular(s, a, NULL), "solve_triangular(f32[3,3], f32[2,3]): the right side"},
        {wick_solve_triangular(batch, wick_ones(ctx, WICK_F32, WICK_DIMS(3, 3, 1)), NULL),
         "leading dims do not broadcast"},
        {q, "qr(f32[4]): needs matrices"},
        {r, "qr(f32[4]): needs matrices"},
        {wick_lstsq(a, v), "lstsq(f32[4]): needs matrices"},
        {wick_lstsq(a, s), "lstsq(f32[2,3], f32[3,3]): the right side"},
        {wick_pinv(v, 0), "pinv(f32[4])"},
    };
    check_refusals(cases, WICK_COUNTOF(cases));
    CHECK(wick_tensor_dtype(wick_inverse(wick_cast(s, WICK_F16))) == WICK_F16 &&
          wick_tensor_dtype(wick_det(wick_cast(s, WICK_I32))) == WICK_F32);
    wick_context_free(&ctx);
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
