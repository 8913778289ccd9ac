/* Attention written by hand: what is found, what isn't and why, and that results and gradients stay close. */
#include "graph/graphs.h"

enum { L = 8, D = 2 };

static wick_tensor *zeros(wick_context *ctx, int rank, const int64_t *dims) {
    return wick_zeros(ctx, WICK_F32, rank, dims);
}

TEST(products_and_a_softmax_become_attention) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    wick_tensor *q = zeros(ctx, WICK_DIMS(1, 2, 8, 4)), *k = zeros(ctx, WICK_DIMS(1, 2, 9, 4)),
                *v = zeros(ctx, WICK_DIMS(1, 2, 9, 3)), *mask = zeros(ctx, WICK_DIMS(8, 9));
    wick_tensor *s = wick_matmul(q, wick_transpose(k, -1, -2));
    FIXTURE_COLLECT(&b, wick_matmul(wick_softmax(wick_add(wick_div(s, wick_like(s, 2)), mask), -1), v));
    b.graph->compiled = true;
    fixture_pass(&b, wick_pass_attention);
    fixture_pass(&b, wick_pass_dce);
    fixture_pass(&b, wick_pass_simplify);
    CHECK_GRAPH(&b, "%0 f32[1,2,8,4] = data()\n"
                    "%1 f32[1,2,9,4] = data()\n"
                    "%2 f32[8,9] = data()\n"
                    "%3 f32[1,2,9,3] = data()\n"
                    "%4 f32[1,2,4,9] = permute(%1) axes=0,1,3,2\n"
                    "%5 f32[1,2,9,4] = permute(%4) axes=0,1,3,2\n"
                    "%6 f32[1,1,8,9] = reshape(%2) to=f32[1,1,8,9]\n"
                    "%7 f32[1,2,8,3], %8 f32[1,2,8] = attention(%0, %5, %3, %6) scale=0.5 mask\n"
                    "return %7\n");
    fixture_close(&b);
}

TEST(hidden_scores_become_a_mask) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    wick_tensor *q = zeros(ctx, WICK_DIMS(3, 8, 4)), *k = zeros(ctx, WICK_DIMS(3, 4, 8)),
                *v = zeros(ctx, WICK_DIMS(3, 8, 2)), *seen = wick_full(ctx, WICK_BOOL, WICK_DIMS(8, 8), 1);
    wick_tensor *s = wick_matmul(q, k);
    s = wick_where(seen, s, wick_like(s, -3.4e38));
    FIXTURE_COLLECT(&b, wick_matmul(wick_softmax(s, -1), v));
    b.graph->compiled = true;
    fixture_pass(&b, wick_pass_attention);
    fixture_pass(&b, wick_pass_dce);
    CHECK_INT(fixture_count(&b, "attention"), 1);
    CHECK_INT(fixture_count(&b, "softmax"), 0);
    CHECK_STR_HAS(fixture_text(&b), "scale=1 mask");
    fixture_close(&b);
}

/* ---- as functions ------------------------------------------------------------------------------------------------ */

enum { PLAIN, SCALED, ADDED, HIDDEN, SHOWN, BATCHES, MATRICES, NUMBERS, FORMS };
enum { WEIGHTS_READ = FORMS, FEW, LOW, TIMES, ALL };
static const char *const why[ALL] = {[WEIGHTS_READ] = "read by others",
                                     [FEW] = "so few queries",
                                     [LOW] = "not low enough",
                                     [TIMES] = "more than a number"};

typedef struct form {
    int what;
    bool gradient;
    int found, left;
    char text[256];
} form;

static wick_status forward(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const form *f = user;
    wick_tensor *q = in[0], *k = in[1], *v = in[2], *mask = in[3];
    if (f->what == BATCHES || f->what == MATRICES)
        for (int i = 0; i < 3; i++) {
            wick_tensor **t[] = {&q, &k, &v};
            *t[i] = f->what == BATCHES ? wick_reshape(in[i], WICK_DIMS(4, L, D))
                                       : wick_slice(wick_reshape(in[i], WICK_DIMS(4 * L, D)), 0, 0, L, 1);
        }
    if (f->what == FEW) q = wick_slice(q, 2, 0, 3, 1);
    wick_tensor *s = wick_matmul(q, wick_transpose(k, -1, -2)), *rows = wick_arange(ctx, WICK_F32, 0, 1, L);
    if (f->what != PLAIN) s = wick_mul(wick_constant(ctx, WICK_F32, 0.7), s);
    if (f->what == NUMBERS) { /* that are not known, one of them broadcast by itself */
        wick_tensor *one = wick_reshape(wick_slice(wick_reshape(mask, WICK_DIMS(2 * L)), 0, 3, 4, 1), WICK_DIMS(1));
        wick_tensor *two = wick_reshape(wick_slice(wick_reshape(mask, WICK_DIMS(2 * L)), 0, 5, 6, 1), WICK_SCALAR);
        s = wick_mul(one, wick_div(s, wick_expand(wick_add(two, wick_like(two, 3)), 4, wick_tensor_dims(s))));
    }
    if (f->what == ADDED) s = wick_add(wick_reshape(mask, WICK_DIMS(2, 1, 1, L)), s);
    if (f->what == TIMES) s = wick_mul(s, wick_reshape(mask, WICK_DIMS(2, 1, 1, L)));
    wick_tensor *later = wick_gt(rows, wick_reshape(rows, WICK_DIMS(L, 1)));
    if (f->what == HIDDEN) s = wick_where(later, wick_like(s, -INFINITY), s);
    if (f->what == SHOWN || f->what == LOW)
        s = wick_where(wick_logical_not(later), s, wick_like(s, f->what == LOW ? -1e4 : -1e30));
    wick_tensor *p = wick_softmax(s, -1), *y = wick_matmul(p, v);
    out[0] = y;
    out[1] = f->what == WEIGHTS_READ ? p : wick_neg(y);
    if (!f->gradient) return out[2] = out[3] = out[4] = wick_neg(y), WICK_OK;
    wick_tensor *weights = wick_sin(
        wick_reshape(wick_arange(ctx, WICK_F32, 0, 1, wick_tensor_count(y)), wick_tensor_rank(y), wick_tensor_dims(y)));
    wick_tensor *const wrt[3] = {q, k, v};
    wick_grad(wick_sum(wick_mul(y, weights), WICK_ALL_AXES, false), 3, wrt, out + 2);
    return WICK_OK;
}

static void note(void *user, const char *pass, const char *node, const char *place, const char *text) {
    form *f = user;
    (void)node, (void)place;
    if (strcmp(pass, "attention")) return;
    const bool found = strstr(text, "is the op") != NULL;
    f->found += found;
    f->left += !found;
    snprintf(f->text, sizeof f->text, "%s", text);
}

TEST(what_is_found_gives_the_same_values_and_gradients) {
    wick_context *ctx = context();
    enum { IN = 2 * 2 * L * D, OUT = 2 * 2 * L * L };
    static float x[4][IN], y[2][5][OUT];
    for (int i = 0; i < 4; i++) fill_random(x[i], IN, -1, 1);
    const wick_spec in[4] = {{"q", WICK_F32, 4, {2, 2, L, D}},
                             {"k", WICK_F32, 4, {2, 2, L, D}},
                             {"v", WICK_F32, 4, {2, 2, L, D}},
                             {"mask", WICK_F32, 2, {2, L}}};
    int cases = 0;
    for (int what = 0; what < ALL; what++)
        for (int gradient = 0; gradient < (what < FORMS ? 2 : 1); gradient++) {
            int64_t count[5];
            for (int by_hand = 0; by_hand < 2; by_hand++) {
                form f = {.what = what, .gradient = gradient};
                const wick_compile_options options = {
                    .without = by_hand ? "attention" : NULL, .on_remark = note, .user = &f};
                wick_plan *plan = NULL;
                wick_workspace *ws = NULL;
                CHECK_OK(ctx, wick_compile(ctx, forward, &f, 4, in, 5, &options, &plan));
                REQUIRE(plan != NULL);
                CHECK_INT(wick_workspace_new(plan, &ws), WICK_OK);
                CHECK_MSG(wick_run(ws, (const void *[]){x[0], x[1], x[2], x[3]},
                                   (void *[]){y[by_hand][0], y[by_hand][1], y[by_hand][2], y[by_hand][3],
                                              y[by_hand][4]}) == WICK_OK,
                          "%s", wick_workspace_error(ws));
                CHECK_MSG(f.found == (!by_hand && what < FORMS), "form %d: found %d times, left %d: %s", what, f.found,
                          f.left, f.text);
                if (!by_hand && what >= FORMS) CHECK_STR_HAS(f.text, why[what]);
                for (int i = 0; i < 5; i++) {
                    const wick_spec out = wick_plan_output(plan, i);
                    count[i] = (int64_t)(wick_spec_bytes(&out) / sizeof(float));
                }
                wick_workspace_free(&ws);
                wick_plan_free(&plan);
            }
            for (int i = 0; i < 5; i++)
                for (int64_t k = 0; k < count[i]; k++)
                    CHECK_MSG(fabsf(y[0][i][k] - y[1][i][k]) <= 2e-6f, "form %d, result %d: %g, by hand %g", what, i,
                              (double)y[0][i][k], (double)y[1][i][k]);
            cases++;
        }
    test_count("forms of attention by hand against the op", cases);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
