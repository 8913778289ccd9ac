/* CTC: losses and gradients against PyTorch (golden/ctc.txt, made by golden/make_ctc.py), and losses and decoding
 * against all paths of small cases written down one by one. */
#include "base/base.h"
#include "golden/golden.h"
#include "tensor/tensor.h"
#undef WICK_NO_SITES
#include "wick/nn.h"
#include "wick/sequence.h"

#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))

static const golden *part(const golden *all, const char *name, const char *what) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", name, what);
    const golden *g = golden_find(all, full);
    CHECK_MSG(g != NULL, "no golden %s", full);
    return g;
}
static wick_tensor *floats(wick_context *ctx, const golden *g) {
    return wick_from(ctx, WICK_F64, g->rank, g->dims, g->values);
}
static wick_tensor *integers(wick_context *ctx, const golden *g) { return wick_cast(floats(ctx, g), WICK_I32); }

static void check(const golden *g, wick_tensor *t, double tolerance) {
    double *v = calloc((size_t)g->count + 1, sizeof *v);
    CHECK_OK(wick_tensor_context(t), wick_read(t, v, (size_t)g->count * sizeof *v));
    for (int64_t i = 0; i < g->count; i++)
        CHECK_MSG(fabs(v[i] - g->values[i]) <= tolerance * fmax(1, fabs(g->values[i])), "%s, %lld: %.17g, not %.17g",
                  g->name, (long long)i, v[i], g->values[i]);
    free(v);
}

TEST(losses_and_gradients_are_pytorchs) {
    static const char *const names[] = {"plain", "lengths", "flat", "blank", "repeats", "impossible", "long"};
    wick_context *ctx = NULL;
    golden *all = golden_load("ctc.txt");
    REQUIRE(all && wick_context_new(&(wick_context_options){.threads = 3}, &ctx) == WICK_OK);
    for (size_t i = 0; i < WICK_COUNTOF(names); i++) {
        const char *name = names[i];
        wick_scope *scope = wick_scope_open(ctx);
        const double *attr = part(all, name, "attr")->values;
        wick_ctc_options o = {.blank = (int64_t)attr[0], .zero_infinity = attr[1] != 0, .reduction = WICK_REDUCE_NONE};
        wick_tensor *x = floats(ctx, part(all, name, "x")), *labels = integers(ctx, part(all, name, "labels")), *grad;
        wick_tensor *lengths = integers(ctx, part(all, name, "lengths")),
                    *counts = integers(ctx, part(all, name, "counts"));
        wick_tensor *log_probs = wick_log_softmax(x, -1), *loss = wick_ctc_loss(log_probs, labels, lengths, counts, &o);
        o.reduction = WICK_REDUCE_MEAN;
        wick_tensor *mean = wick_ctc_loss(log_probs, labels, lengths, counts, &o);
        wick_grad(wick_sum(wick_mul(loss, floats(ctx, part(all, name, "r"))), WICK_ALL_AXES, false), 1, &x, &grad);
        CHECK_OK(ctx, wick_eval(ctx, 3, (wick_tensor *[]){loss, mean, grad}, NULL));
        check(part(all, name, "loss"), loss, 1e-11);
        check(part(all, name, "mean"), mean, 1e-11);
        check(part(all, name, "grad"), grad, 1e-10);
        wick_scope_close(&scope);
    }
    golden_free(all);
    wick_context_free(&ctx);
}

/* ---- every path -------------------------------------------------------------------------------------------------- */

enum { C = 3, T = 5, PATHS = 243, MOST = T };

/* What a path of labels says: repeats and blanks (0) dropped; as a number in base 3. */
static int collapse(const int *path, int64_t *labels) {
    int n = 0;
    for (int t = 0; t < T; t++)
        if (path[t] && (t == 0 || path[t] != path[t - 1])) labels[n++] = path[t];
    return n;
}
static int code(const int64_t *labels, int n) {
    int v = 0;
    for (int i = n; i-- > 0;) v = v * C + (int)labels[i];
    return v;
}

TEST(the_loss_and_a_wide_beam_see_every_path) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    for (int round = 0; round < 40; round++) {
        float log_probs[T * C];
        double sum[PATHS] = {0};
        for (int t = 0; t < T; t++) {
            double p[C], all = 0;
            for (int k = 0; k < C; k++) all += p[k] = test_rand_real(0.01, 1);
            for (int k = 0; k < C; k++) log_probs[t * C + k] = (float)log(p[k] / all);
        }
        for (int i = 0; i < PATHS; i++) {
            int path[T], rest = i;
            double p = 0;
            int64_t labels[MOST];
            for (int t = 0; t < T; t++, rest /= C) p += (double)log_probs[t * C + (path[t] = rest % C)];
            const int n = collapse(path, labels);
            sum[code(labels, n)] += exp(p);
        }
        int best = 0;
        for (int i = 1; i < PATHS; i++)
            if (sum[i] > sum[best]) best = i;
        int64_t labels[MOST], count = -1, first;
        double score = 0;
        CHECK_OK(ctx, wick_ctc_beam(ctx, T, C, log_probs, 0, 500, labels, &count, &score));
        CHECK_INT(code(labels, (int)count), best);
        CHECK_MSG(fabs(score - log(sum[best])) < 1e-6, "%g, not %g", score, log(sum[best]));

        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *x = wick_from(ctx, WICK_F32, 3, (int64_t[]){T, 1, C}, log_probs), *loss;
        wick_tensor *lengths = wick_from(ctx, WICK_I64, 1, (int64_t[]){1}, (int64_t[]){T}),
                    *counts = wick_from(ctx, WICK_I64, 1, (int64_t[]){1}, &count);
        const wick_ctc_options o = {.reduction = WICK_REDUCE_SUM};
        double value;
        CHECK_OK(ctx, wick_item(loss = wick_ctc_loss(x, wick_from(ctx, WICK_I64, 2, (int64_t[]){1, count}, labels),
                                                     lengths, counts, &o),
                                &value));
        CHECK_MSG(fabs(value + log(sum[best])) < 1e-5, "%g, not %g", value, -log(sum[best]));
        wick_scope_close(&scope);

        int path[T], n;
        for (int t = 0; t < T; t++)
            for (int k = path[t] = 0; k < C; k++)
                if (log_probs[t * C + k] > log_probs[t * C + path[t]]) path[t] = k;
        n = collapse(path, labels);
        first = code(labels, n);
        CHECK_INT(wick_ctc_greedy(T, C, log_probs, 0, labels), n);
        CHECK_INT(code(labels, n), first);
    }
    wick_context_free(&ctx);
}

TEST(a_narrow_beam_returns_to_prefixes_that_it_had_left) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    for (int round = 0; round < 200; round++) {
        float log_probs[20 * 4];
        int64_t labels[20], count;
        double wide, narrow;
        for (int i = 0; i < 80; i++) log_probs[i] = (float)test_rand_real(-6, 0);
        CHECK_OK(ctx, wick_ctc_beam(ctx, 20, 4, log_probs, 3, 2, labels, &count, &narrow));
        CHECK(count >= 0 && count <= 20);
        CHECK_OK(ctx, wick_ctc_beam(ctx, 20, 4, log_probs, 3, 200, labels, &count, &wide));
        CHECK(narrow <= wide + 1e-9);
    }
    wick_context_free(&ctx);
}

TEST(wrong_uses_say_what_is_wrong) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, 3, (int64_t[]){4, 2, 3}),
                *ones = wick_ones(ctx, WICK_I64, 1, (int64_t[]){2});
    wick_tensor *labels = wick_from(ctx, WICK_I64, 2, (int64_t[]){2, 1}, (int64_t[]){1, 3}),
                *blanks = wick_zeros(ctx, WICK_I64, 2, (int64_t[]){2, 1});
    const char *text = "";
    wick_tensor *y = wick_ctc_loss(x, labels, ones, ones, &(wick_ctc_options){.blank = 3});
    CHECK_INT(wick_tensor_error(y, &text), WICK_ERR_INVALID);
    CHECK_STR_HAS(text, "the blank 3 is no class");
    CHECK_STR_HAS(text, "test_ctc.c:");
    y = wick_ctc_loss(x, labels, wick_ones(ctx, WICK_I64, 1, (int64_t[]){3}), ones, NULL);
    CHECK_INT(wick_tensor_error(y, &text), WICK_ERR_SHAPE);
    CHECK_STR_HAS(text, "lengths must be [samples]");
    wick_tensor *const wrong[3] = {
        wick_ctc_loss(x, labels, ones, ones, NULL), wick_ctc_loss(x, blanks, ones, ones, NULL),
        wick_ctc_loss(x, blanks, wick_full(ctx, WICK_I64, 1, (int64_t[]){2}, 5), ones, NULL)};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(wick_eval(ctx, 1, &wrong[i], NULL), WICK_ERR_INDEX);
        CHECK_STR_HAS(wick_context_error(ctx), i ? "sample 0" : "sample 1");
    }
    int64_t out[1], count;
    CHECK_INT(wick_ctc_beam(ctx, 1, 3, (float[]){0, 0, 0}, 7, 0, out, &count, NULL), WICK_ERR_INVALID);
    wick_scope_close(&scope);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
