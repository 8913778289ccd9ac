/* Losses against PyTorch's (golden/losses.safetensors, made by golden/make_losses.py), values and gradients, on every tier. */
#define GOLDEN_FILE  "losses.safetensors"
#define GOLDEN_FLOOR 1
#include "ops/goldens.h"

enum { CROSS_ENTROPY }; /* KINDS of make_losses.py */
static double fraction(int64_t millionths) { return (double)millionths / 1e6; }

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    const wick_reduction reduction = (wick_reduction)attr[1];
    const int64_t *a = attr + 2;
    wick_cross_entropy_options entropy = {reduction, fraction(a[0]), a[3] ? in[2] : NULL, a[1], a[2]};
    switch (attr[0]) {
    default: return wick_cross_entropy_with(in[0], in[1], &entropy);
    }
}

TEST(values_and_gradients_agree_on_every_tier) {
    wick_context *ctx = new_context();
    REQUIRE(ctx != NULL);
    int cases = 0;
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        for (size_t i = 0; i < file.count; i++) {
            const char *slash = strchr(file.tensors[i].name, '/');
            if (strcmp(slash, "/attr") != 0) continue;
            char name[128];
            snprintf(name, sizeof name, "%.*s", (int)(slash - file.tensors[i].name), file.tensors[i].name);
            check(ctx, name, build);
            cases++;
        }
    }
    wick_tier_force(wick_tier_best());
    printf("  %d cases\n", cases);
    wick_context_free(&ctx);
}
TEST(every_golden_was_compared) { check_all_compared(); }

/* ---- mistakes -------------------------------------------------------------------------------------------------------------------------- */

static void refused(wick_tensor *t, wick_status status, const char *says, int line) {
    const char *text = "";
    wick_status is = wick_tensor_error(t, &text);
    CHECK_MSG(is == status && strstr(text, says), "line %d: %d, %s", line, (int)is, text);
}
#define REFUSED(status, t, says) refused(t, status, says, __LINE__)

TEST(mistakes_are_named) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&ctx, &(wick_context_options){.threads = 1}) == WICK_OK);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)), *images = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 4));
    wick_tensor *labels = wick_zeros(ctx, WICK_I64, WICK_DIMS(2)), *w = wick_ones(ctx, WICK_F32, WICK_DIMS(2));
    typedef wick_cross_entropy_options options;
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, labels, &(options){.smoothing = 1.5}), "smoothing 1.5");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, x, &(options){.smoothing = NAN}), "smoothing nan");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, labels, &(options){.reduction = (wick_reduction)5}), "reduction");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, x, &(options){.ignore = true}), "no label to ignore");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy_with(x, labels, &(options){.weight = w}), "weights must be [C]");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(images, labels), "[N, ...]");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(x, wick_ones(ctx, WICK_F32, WICK_DIMS(2, 4))), "extent 1 is 4 and 3");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(wick_scalar(ctx, WICK_F32, 1), labels), "logits");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy(x, NULL), "NULL");
    wick_context_free(&ctx);
}

TEST(a_label_that_is_no_class_is_named_unless_it_is_the_ignored_one) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&ctx, &(wick_context_options){.threads = 1}) == WICK_OK);
    const int64_t values[4] = {0, -100, 1, 3};
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(4, 3)), *labels = wick_from(ctx, WICK_I64, WICK_DIMS(4), values);
    double loss;
    CHECK_INT(wick_item(wick_cross_entropy(x, labels), &loss), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "row 1");
    wick_cross_entropy_options o = {.ignore = true, .ignore_index = -100};
    CHECK_INT(wick_item(wick_cross_entropy_with(x, labels, &o), &loss), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "row 3");
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
