/* Linear algebra against PyTorch and NumPy (golden/linalg.safetensors, made by golden/make_linalg.py). */
#define GOLDEN_FILE  "linalg.safetensors"
#define GOLDEN_FLOOR 8
#include "ops/goldens.h"
#include "tensor/op.h"
#include "wick/linalg.h"

/* ---- einsum --------------------------------------------------------------------------------------------------------------------- */

static char text[256];
static int n_operands;
static int64_t bound;
static wick_tensor *build_einsum(wick_tensor **in, const int64_t *attr) {
    (void)attr;
    return wick_einsum_within(text, n_operands, in, bound);
}

TEST(expressions_have_numpys_values_and_pytorchs_gradients) {
    wick_context *ctx = new_context();
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
    wick_context *ctx = new_context();
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
        {"ij,jk,kl,lm->im", 4, {{100, 5}, {5, 100}, {100, 5}, {5, 100}}, 3, 2. * (5 * 100 * 5 + 5 * 5 * 100 + 100 * 5 * 100)}, /* A ((B C) D) */
        {"abc,cbd->ad", 2, {{3, 4, 5}, {5, 4, 2}}, 1, 2. * 3 * 20 * 2},
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
    wick_tensor *a = wick_ones(ctx, WICK_F32, WICK_DIMS(1, 10)), *b = wick_ones(ctx, WICK_F32, WICK_DIMS(10, 1000)), *c = wick_ones(ctx, WICK_F32, WICK_DIMS(1000, 10));
    double cheapest = 0, bounded = 0;
    count_nodes(wick_einsum("ij,jk,kl->il", WICK_TENSORS(a, b, c))->value->node, "matmul", &cheapest);
    count_nodes(wick_einsum_within("ij,jk,kl->il", WICK_TENSORS(a, b, c), 500)->value->node, "matmul", &bounded);
    CHECK(cheapest == 2. * (10 * 1000 + 1000 * 10) && bounded == 2. * (10 * 1000 * 10 + 10 * 10));
    wick_context_free(&ctx);
}

TEST(integers_keep_their_dtype_and_mistakes_point_at_the_text) {
    wick_context *ctx = new_context();
    REQUIRE(ctx != NULL);
    wick_tensor *a = wick_ones(ctx, WICK_I32, WICK_DIMS(2, 3)), *b = wick_ones(ctx, WICK_I32, WICK_DIMS(3, 4)), *u = wick_ones(ctx, WICK_U64, WICK_DIMS(3, 4));
    wick_tensor *product = wick_einsum("ij,jk->ik", WICK_TENSORS(a, b));
    double sum = 0;
    CHECK(wick_tensor_dtype(product) == WICK_I32 && wick_item(wick_sum(product, WICK_ALL_AXES, false), &sum) == WICK_OK && sum == 24);
    CHECK(wick_tensor_dtype(wick_einsum("ij->j", WICK_TENSORS(a))) == WICK_I32);
    wick_tensor *half = wick_einsum("ij,jk", WICK_TENSORS(wick_cast(a, WICK_F16), wick_cast(b, WICK_F16)));
    CHECK(wick_tensor_dtype(half) == WICK_F16);
    const struct {
        wick_tensor *t;
        const char *says;
    } cases[] = {
        {wick_einsum("ij,jk->iz", WICK_TENSORS(a, b)), "einsum \"ij,jk->iz\": label 'z' of the result is in no operand, at character 9"},
        {wick_einsum("ij,jk->ii", WICK_TENSORS(a, b)), "label 'i' of the result is there twice, at character 9"},
        {wick_einsum("ij,ki->jk", WICK_TENSORS(a, b)), "label 'i' has extent 4 here and 2 before, at character 5 (\"i->jk\")"},
        {wick_einsum("ijk,jk", WICK_TENSORS(a, b)), "term 1 has 3 labels for a 2-d tensor, at character 1"},
        {wick_einsum("ij,j", WICK_TENSORS(a, b)), "term 2 has 1 labels for a 2-d tensor, at character 4"},
        {wick_einsum("ij", WICK_TENSORS(a, b)), "only 1 terms, at character 3 (\"end\")"},
        {wick_einsum("ij,jk,k", WICK_TENSORS(a, b)), "a term more than the 2 operands, at character 6"},
        {wick_einsum("i1,jk", WICK_TENSORS(a, b)), "'1' is no label: those are letters, at character 2"},
        {wick_einsum("i..,jk", WICK_TENSORS(a, b)), "an ellipsis has three dots, at character 2"},
        {wick_einsum("...i...,jk", WICK_TENSORS(a, b)), "a second ellipsis in one term, at character 5"},
        {wick_einsum("ij-jk", WICK_TENSORS(a, b)), "an arrow is \"->\", at character 3"},
        {wick_einsum("ij,jk->ik,", WICK_TENSORS(a, b)), "nothing may follow the result, at character 10"},
        {wick_einsum("ij,jk->...", WICK_TENSORS(a, b)), "an ellipsis in the result only, at character 8"},
        {wick_einsum("ii", WICK_TENSORS(a)), "label 'i' is repeated for axes of 2 and 3, at character 2"},
        {wick_einsum("...,...", WICK_TENSORS(a, b)), "axes of an ellipsis do not broadcast: 3 here and 2 before, at character 5"},
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
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        const char *is = "";
        CHECK_MSG(wick_tensor_error(cases[i].t, &is) && strstr(is, cases[i].says), "case %d: \"%s\" lacks \"%s\"", (int)i, is, cases[i].says);
    }
    wick_context_free(&ctx);
}

/* ---- products ------------------------------------------------------------------------------------------------------------------- */

#define BUILD(name, expr)                                                  \
    static wick_tensor *name(wick_tensor **in, const int64_t *attr) {      \
        (void)attr;                                                        \
        return expr;                                                       \
    }
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

static const struct {
    const char *name;
    build_fn build;
} products[] = {
    {"addmm", addmm}, {"addmm.row", addmm_row}, {"outer", outer}, {"dot", dot}, {"vdot", vdot}, {"tensordot.2", tensordot_2}, {"tensordot.0", tensordot_0},
    {"tensordot.lists", tensordot_lists}, {"kron", kron}, {"kron.ranks", kron}, {"matrix_power", power}, {"matrix_power.0", power_0}, {"trace", trace},
    {"integers.torch.int8", matmul}, {"integers.torch.uint8", matmul}, {"integers.torch.int16", matmul}, {"integers.torch.int32", matmul},
    {"integers.torch.int64", matmul}, {"integers.bool", matmul},
};

TEST(products_have_the_right_values_and_gradients_on_every_tier) {
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        wick_context *ctx = new_context();
        REQUIRE(ctx != NULL);
        for (size_t i = 0; i < WICK_COUNTOF(products); i++) check(ctx, products[i].name, products[i].build);
        wick_context_free(&ctx);
    }
    wick_tier_force(wick_tier_best());
}

TEST(every_golden_was_compared) { check_all_compared(); }

int main(int argc, char **argv) { return test_main(argc, argv); }
