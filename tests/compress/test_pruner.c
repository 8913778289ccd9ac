/* Structural pruning: what goes together, that zeroed channels can be removed from any network, statistics, sparsity.
 */
#include <math.h>
#include <stdlib.h>

#include "test.h"
#include "wick/wick.h"

static wick_context *ctx;
static wick_model *model;

static bool set_up(void) {
    return wick_context_new(&ctx, &(wick_context_options){.threads = 1, .seed = 3}) == WICK_OK &&
           wick_model_new(ctx, &model) == WICK_OK;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}

/* ---- random networks --------------------------------------------------------------------------------------------- */

/* [n, 3, 8, 8] -> [n, 5], of blocks that the seed draws: plain and residual convolutions with and without batch norm,
 * grouped and depthwise ones, squeeze-excite, branches that are joined, slices, and one of several heads. */
static uint64_t drawn, seed_of_net;
static int draw(int n) {
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (int)(drawn >> 33) % n;
}
static wick_tensor *conv(const char *name, wick_tensor *x, int64_t out, int64_t kernel, int groups) {
    char norm[40];
    x = wick_nn_conv(model, name, x, out, kernel,
                     &(wick_nn_conv_options){.pad = (int)kernel / 2, .groups = groups, .no_bias = draw(2)});
    snprintf(norm, sizeof norm, "%s_bn", name);
    return draw(2) ? wick_nn_batch_norm(model, norm, x) : x;
}
static wick_tensor *activation(wick_tensor *x) {
    switch (draw(4)) {
    case 0:
        return wick_relu(x);
    case 1:
        return wick_relu6(x);
    case 2:
        return wick_mul(x, wick_sigmoid(x));
    default:
        return x;
    }
}
static wick_tensor *block(wick_tensor *x, int number) {
    char a[32], b[32];
    const int64_t c = wick_tensor_dim(x, 1);
    snprintf(a, sizeof a, "a%d", number);
    snprintf(b, sizeof b, "b%d", number);
    switch (draw(8)) {
    case 0:
        return wick_add(x, conv(b, activation(conv(a, x, 4 + 2 * draw(5), 3, 1)), c, 3, 1));
    case 1:
        return conv(b, activation(conv(a, x, c, 3, (int)c)), 4 + 2 * draw(6), 1, 1); /* depthwise, pointwise */
    case 2:
        return c % 2 ? x : conv(a, x, 2 * (2 + draw(4)), 3, 2);
    case 3: { /* squeeze-excite */
        wick_tensor *s = wick_mean(x, WICK_AXES(2, 3), true);
        s = wick_sigmoid(wick_nn_conv(model, b, wick_relu(wick_nn_conv(model, a, s, 4, 1, NULL)), c, 1, NULL));
        return wick_mul(x, s);
    }
    case 4:
        return wick_concat(2, (wick_tensor *[]){conv(a, x, 3 + draw(5), 3, 1), draw(2) ? x : conv(b, x, 4, 1, 1)}, 1);
    case 5: { /* the first half through a convolution, the other as it is */
        wick_tensor *one = wick_slice(x, 1, 0, c / 2, 1), *rest = wick_slice(x, 1, c / 2, c, 1);
        return wick_concat(2, (wick_tensor *[]){conv(a, one, c / 2, 3, 1), rest}, 1);
    }
    case 6:
        return wick_max_pool(activation(conv(a, x, 4 + draw(8), 3, 1)),
                             &(wick_pool_options){.kernel = {2, 2}, .stride = {1, 1}});
    default:
        return activation(conv(a, x, 4 + 4 * draw(4), 3, 1));
    }
}
static wick_status random_network(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    drawn = seed_of_net;
    wick_tensor *x = activation(conv("stem", in[0], 4 + 4 * draw(3), 3, 1));
    const int blocks = 1 + draw(5);
    for (int i = 0; i < blocks; i++) x = block(x, i);
    x = wick_relu(conv("last", x, 8, 1, 1));
    switch (draw(4)) {
    case 0:
        x = wick_mean(x, WICK_AXES(2, 3), false);
        break;
    case 1:
        x = wick_flatten(x, 1);
        break; /* channels first */
    case 2:
        x = wick_flatten(wick_permute(x, 4, (int[]){0, 2, 3, 1}), 1);
        break; /* and last */
    default: { /* places as a sequence, heads */
        const int64_t n = wick_tensor_dim(x, 0), places = wick_tensor_dim(x, 2) * wick_tensor_dim(x, 3);
        x = wick_permute(wick_reshape(x, 3, (int64_t[]){n, 8, places}), 3, (int[]){0, 2, 1});
        wick_tensor *heads[3];
        static const char *const names[] = {"q", "k", "v"};
        for (int i = 0; i < 3; i++)
            heads[i] =
                wick_permute(wick_reshape(wick_nn_linear(model, names[i], x, 12), 4, (int64_t[]){n, places, 4, 3}), 4,
                             (int[]){0, 2, 1, 3});
        wick_tensor *scores = wick_softmax(wick_matmul(heads[0], wick_permute(heads[1], 4, (int[]){0, 1, 3, 2})), -1);
        x = wick_permute(wick_matmul(scores, heads[2]), 4, (int[]){0, 2, 1, 3});
        x = wick_mean(wick_nn_linear(model, "o", wick_reshape(x, 3, (int64_t[]){n, places, 12}), 6), WICK_AXES(1),
                      false);
    }
    }
    x = wick_relu(wick_nn_linear(model, "fc", x, 8 + draw(8)));
    out[0] = wick_nn_linear(model, "out", x, 5);
    return WICK_OK;
}

enum { MOST = 4 };
static float x[MOST * 3 * 8 * 8];
static wick_spec spec_of(int64_t n) {
    return (wick_spec){.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {n, 3, 8, 8}};
}
static void draw_input(void) {
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = (float)test_rand_real(-2, 2);
}
static bool run(wick_function fn, void *user, int64_t n, float *out) {
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    const wick_spec spec = spec_of(n);
    const void *in = x;
    void *to = out;
    const bool good = wick_compile(ctx, fn, user, 1, &spec, 1, NULL, &plan) == WICK_OK &&
                      wick_workspace_new(plan, &ws) == WICK_OK && wick_run(ws, &in, &to) == WICK_OK;
    CHECK_MSG(good, "net %llu: %s", (unsigned long long)seed_of_net, wick_context_error(ctx));
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    return good;
}
static bool make_network(void) { /* with statistics */
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y, *in = wick_random_normal(ctx, WICK_F32, WICK_DIMS(4, 3, 8, 8));
    wick_model_set_training(model, true);
    const bool good = random_network(ctx, &in, &y, NULL) == WICK_OK && wick_eval(ctx, 1, &y, NULL) == WICK_OK;
    CHECK_MSG(good, "net %llu: %s", (unsigned long long)seed_of_net, wick_context_error(ctx));
    wick_scope_close(&scope);
    wick_model_set_training(model, false);
    return good;
}
static int64_t numbers(wick_model *m) {
    int64_t n = 0;
    for (int i = 0; i < wick_model_count(m); i++) n += wick_tensor_count(wick_model_at(m, i).tensor);
    return n;
}

TEST(removing_zeroed_channels_changes_no_output_of_random_networks) {
    const char *more = getenv("WICK_PRUNED_NETWORKS");
    const int nets = more ? atoi(more) : 200;
    int64_t before = 0, after = 0;
    for (int i = 0; i < nets; i++) {
        seed_of_net = (uint64_t)i * 0x9E3779B97F4A7C15u + 11;
        REQUIRE(set_up() && make_network());
        wick_pruner *p = NULL;
        const wick_spec spec = spec_of(2);
        const wick_pruning how = {.ratio = 0.1 + 0.8 * i / nets,
                                  .global = i % 2,
                                  .multiple = 1 + i % 3,
                                  .importance = i % 5 ? WICK_IMPORTANCE_L2 : WICK_IMPORTANCE_L1};
        float want[MOST * 5], got[MOST * 5];
        bool good = wick_pruner_new(ctx, model, random_network, NULL, 1, &spec, 1, &p) == WICK_OK &&
                    wick_pruner_cut(p, &how) == WICK_OK && wick_pruner_zero(p) == WICK_OK;
        CHECK_MSG(good, "net %d: %s", i, wick_context_error(ctx));
        draw_input();
        for (int64_t n = 1; n <= MOST && good; n *= 4) { /* other batches than the specs say, too */
            good = run(random_network, NULL, n, want) && run(wick_pruner_apply, p, n, got);
            for (int k = 0; k < n * 5 && good; k++) {
                const double d = fabs((double)want[k] - (double)got[k]), scale = fmax(1, fabs((double)want[k]));
                CHECK_MSG(d <= 1e-5 * scale, "net %d: %g instead of %g", i, (double)got[k], (double)want[k]);
            }
        }
        if (good) before += numbers(model), after += numbers(wick_pruner_model(p));
        wick_pruner_free(&p);
        tear_down();
    }
    CHECK_MSG(after < before * 3 / 4, "only %lld of %lld numbers are removed", (long long)(before - after),
              (long long)before);
}
int main(int argc, char **argv) { return test_main(argc, argv); }
