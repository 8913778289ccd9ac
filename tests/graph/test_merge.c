/* Products of one input: which become one, with the same bits; and that what is laid side by side follows its states.
 */
#include "graph/graphs.h"

TEST(small_products_of_one_input_become_one) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    ctx->tuning.cost_step_ns = 1000;
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(3, 5)),
                *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(5, 2)), *v = wick_zeros(ctx, WICK_F32, WICK_DIMS(4, 5));
    FIXTURE_COLLECT(&b, wick_neg(wick_relu(wick_add(wick_matmul(x, w), VEC(ctx, 1, 2)))),
                    wick_neg(wick_relu(wick_add(wick_matmul(x, wick_transpose(v, 0, 1)), VEC(ctx, 1, 2, 3, 4)))));
    b.graph->compiled = true;
    fixture_pass(&b, wick_pass_epilogue);
    fixture_pass(&b, wick_pass_dce);
    fixture_pass(&b, wick_pass_merge);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[5,2] = data()\n"
                    "%1 f32[2] = data()\n"
                    "%2 f32[4,5] = data()\n"
                    "%3 f32[4] = data()\n"
                    "%4 f32[5,4] = permute(%2) axes=1,0\n"
                    "%5 f32[3,5] = random_uniform()\n"
                    "%6 f32[5,6] = concat(%0, %4) axis=1\n"
                    "%7 f32[6] = concat(%1, %3) axis=0\n"
                    "%8 f32[3,6] = matmul(%5, %6, %7) relu\n"
                    "%9 f32[3,2] = slice(%8) axis=1 start=0 step=1 count=2\n"
                    "%10 f32[3,4] = slice(%8) axis=1 start=2 step=1 count=4\n"
                    "%11 f32[3,2] = neg(%9)\n"
                    "%12 f32[3,4] = neg(%10)\n"
                    "return %11, %12\n");
    fixture_close(&b);
}

TEST(products_stay_apart_where_that_is_predicted_to_be_faster) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    ctx->tuning.cost_step_ns = 1; /* and so there is nothing to save */
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(8, 5)),
                *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(5, 16)), *v = wick_ones(ctx, WICK_F32, WICK_DIMS(5, 16));
    FIXTURE_COLLECT(&b, wick_neg(wick_matmul(x, w)), wick_neg(wick_matmul(x, v)));
    b.graph->compiled = true;
    fixture_pass(&b, wick_pass_merge);
    CHECK_GRAPH(&b, "%0 f32[5,16] = data()\n"
                    "%1 f32[5,16] = data()\n"
                    "%2 f32[8,5] = random_uniform()\n"
                    "%3 f32[8,16] = matmul(%2, %0)\n"
                    "%4 f32[8,16] = neg(%3)\n"
                    "%5 f32[8,16] = matmul(%2, %1)\n"
                    "%6 f32[8,16] = neg(%5)\n"
                    "return %4, %6\n");
    fixture_close(&b);
}

typedef struct heads {
    wick_tensor *w[4], *b[4];
    int n;
    bool transposed, relu;
} heads;
static wick_status forward(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const heads *h = user;
    (void)ctx;
    for (int i = 0; i < h->n; i++) {
        out[i] = wick_matmul(in[0], h->transposed ? wick_transpose(h->w[i], 0, 1) : h->w[i]);
        if (h->b[i]) out[i] = wick_add(out[i], h->b[i]);
        if (h->relu) out[i] = wick_relu(out[i]);
        out[i] = wick_tanh(out[i]);
    }
    return WICK_OK;
}
static void count_merges(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place;
    if (!strcmp(pass, "merge")) ((int *)user)[!strncmp(text, "taken as merge:1: one product", 29)]++;
}

TEST(merged_products_have_the_same_bits_and_follow_their_states) {
    wick_context *ctx = context();
    enum { ROOM = 40 * 300 };
    static float x[ROOM], data[256 * 64], y[2][4][ROOM];
    static const struct {
        int64_t m, k, n;
        int heads;
        bool taken;
    } cases[] = {{1, 64, 32, 3, true},   {4, 20, 7, 4, false},  {40, 30, 4, 3, true},
                 {40, 30, 16, 3, false}, {5, 64, 16, 2, false}, {1, 256, 64, 3, true},
                 {4, 256, 64, 3, false}, {3, 0, 4, 2, false},   {0, 5, 4, 2, true}};
    for (size_t c = 0; c < WICK_COUNTOF(cases); c++)
        for (int transposed = 0; transposed < 2; transposed++) {
            wick_scope *scope = wick_scope_open(ctx);
            const int64_t m = cases[c].m, k = cases[c].k, n = cases[c].n;
            heads h = {.n = cases[c].heads, .transposed = transposed, .relu = c % 2};
            fill_random(x, m * k, -1, 1);
            for (int i = 0; i < h.n; i++) {
                fill_random(data, k * n, -1, 1);
                h.w[i] = wick_from(ctx, WICK_F32, 2, transposed ? (int64_t[]){n, k} : (int64_t[]){k, n}, data);
                fill_random(data, n, -1, 1);
                h.b[i] = c % 3 ? wick_from(ctx, WICK_F32, 1, &n, data) : NULL;
            }
            const wick_spec in = {"x", WICK_F32, 2, {m, k}};
            wick_plan *plan[2] = {NULL, NULL};
            wick_workspace *ws[2] = {NULL, NULL};
            int said[2] = {0, 0};
            for (int p = 0; p < 2; p++) {
                CHECK_OK(ctx, wick_compile(ctx, forward, &h, 1, &in, h.n,
                                           &(wick_compile_options){
                                               .without = p ? "merge" : NULL, .on_remark = count_merges, .user = said},
                                           &plan[p]));
                REQUIRE(plan[p] != NULL);
                CHECK_INT(wick_workspace_new(plan[p], &ws[p]), WICK_OK);
            }
            CHECK_MSG(said[1] == cases[c].taken && said[0] == !cases[c].taken, "case %d: %d taken, %d not", (int)c,
                      said[1], said[0]);
            for (int change = 0; change < 4; change++) {
                fill_random(data, k * n, -1, 1);
                if (change == 2) CHECK_OK(ctx, wick_write(h.w[1], data, (size_t)(k * n) * sizeof(float)));
                if (change == 3 && h.b[0]) CHECK_OK(ctx, wick_write(h.b[0], data + 1, (size_t)n * sizeof(float)));
                for (int p = 0; p < 2; p++)
                    CHECK_MSG(wick_run(ws[p], (const void *[]){x}, (void *[]){y[p][0], y[p][1], y[p][2], y[p][3]}) ==
                                  WICK_OK,
                              "%s", wick_workspace_error(ws[p]));
                for (int i = 0; i < h.n; i++)
                    CHECK_MSG(!memcmp(y[0][i], y[1][i], (size_t)(m * n) * sizeof(float)),
                              "case %d, change %d: product %d differs", (int)c, change, i);
            }
            if (cases[c].taken && m > 0 && k > 0) { /* laid side by side once, also where the matrices are turned */
                wick_workspace_profile(ws[0], true);
                CHECK_INT(wick_run(ws[0], (const void *[]){x}, (void *[]){y[0][0], y[0][1], y[0][2], y[0][3]}),
                          WICK_OK);
                uint64_t ran = 0, runs;
                for (int i = 0; i < wick_plan_get_info(plan[0]).kernels; i++) {
                    wick_workspace_kernel_ns(ws[0], i, &runs);
                    ran += runs * !strcmp(wick_plan_kernel_at(plan[0], i).ops, "concat");
                }
                CHECK_INT(ran, 0);
            }
            for (int p = 0; p < 2; p++) wick_workspace_free(&ws[p]), wick_plan_free(&plan[p]);
            wick_scope_close(&scope);
        }
    test_count("sets of products merged and not, to the bit", 2 * (int)WICK_COUNTOF(cases));
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
