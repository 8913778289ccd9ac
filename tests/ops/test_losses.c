/* Losses against PyTorch's (golden/losses.safetensors, made by golden/make_losses.py), values and gradients, on every
 * tier. */
#define GOLDEN_FILE  "losses.safetensors"
#define GOLDEN_FLOOR 1
#include "ops/goldens.h"

enum {
    CROSS_ENTROPY,
    NLL,
    MULTI_MARGIN,
    MSE,
    L1,
    HUBER,
    SMOOTH_L1,
    BCE,
    BCE_LOGITS,
    MULTILABEL,
    FOCAL,
    KL_DIV,
    POISSON,
    GAUSSIAN,
    RANKING,
    HINGE,
    SOFT_MARGIN,
    COSINE,
    TRIPLET,
    DICE
}; /* KINDS of make_losses.py */
static double fraction(int64_t millionths) { return (double)millionths / 1e6; }

static wick_tensor *build(wick_tensor **in, const int64_t *attr) {
    const wick_reduction reduction = (wick_reduction)attr[1];
    const int64_t *a = attr + 2;
    const double f = fraction(a[0]);
    const wick_cross_entropy_options entropy = {reduction, f, a[3] ? in[2] : NULL, a[1], a[2]};
    wick_tensor *x = in[0], *t = in[1];
    switch (attr[0]) {
    case CROSS_ENTROPY: return wick_cross_entropy_with(x, t, &entropy);
    case NLL: return wick_nll_loss(x, t, &entropy);
    case MULTI_MARGIN: return wick_multi_margin_loss(x, t, (int)a[0], fraction(a[1]), a[2] ? in[2] : NULL, reduction);
    case MSE: return wick_mse_loss(x, t, reduction);
    case L1: return wick_l1_loss(x, t, reduction);
    case HUBER: return wick_huber_loss(x, t, f, reduction);
    case SMOOTH_L1: return wick_smooth_l1_loss(x, t, f, reduction);
    case BCE: return wick_binary_cross_entropy(x, t, a[0] ? in[2] : NULL, reduction);
    case BCE_LOGITS:
        return wick_binary_cross_entropy_logits(x, t, a[0] ? in[2] : NULL, a[1] ? in[2 + a[0]] : NULL, reduction);
    case MULTILABEL: return wick_multilabel_soft_margin_loss(x, t, a[0] ? in[2] : NULL, reduction);
    case FOCAL: return wick_focal_loss(x, t, f, fraction(a[1]), reduction);
    case KL_DIV: return wick_kl_div(x, t, a[0], reduction);
    case POISSON:
        return wick_poisson_nll_loss(x, t, &(wick_poisson_options){reduction, .plain_rate = a[0], .full = a[1]});
    case GAUSSIAN:
        return wick_gaussian_nll_loss(x, t, in[2], &(wick_gaussian_options){reduction, .eps = f, .full = a[1]});
    case RANKING: return wick_margin_ranking_loss(x, t, in[2], f, reduction);
    case HINGE: return wick_hinge_embedding_loss(x, t, f, reduction);
    case SOFT_MARGIN: return wick_soft_margin_loss(x, t, reduction);
    case COSINE: return wick_cosine_embedding_loss(x, t, in[2], f, reduction);
    case TRIPLET:
        return wick_triplet_margin_loss(
            x, t, in[2], &(wick_triplet_options){reduction, .margin = f, .p = fraction(a[1]), .swap = a[2]});
    default: return wick_dice_loss(x, t, f, reduction);
    }
}

TEST(values_and_gradients_agree_on_every_tier) {
    wick_context *ctx = golden_context();
    REQUIRE(ctx != NULL);
    CHECK(check_every_case(&ctx, build) > 400);
    wick_context_free(&ctx);
}
TEST(every_golden_was_compared) { check_all_compared(); }

/* ---- mistakes ---------------------------------------------------------------------------------------------------- */

static void refused(wick_tensor *t, wick_status status, const char *says, int line) {
    const char *text = "";
    wick_status is = wick_tensor_error(t, &text);
    CHECK_MSG(is == status && strstr(text, says), "line %d: %d, %s", line, (int)is, text);
}
#define REFUSED(status, t, says) refused(t, status, says, __LINE__)

TEST(mistakes_are_named) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3)), *images = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 4));
    wick_tensor *labels = wick_zeros(ctx, WICK_I64, WICK_DIMS(2)), *w = wick_ones(ctx, WICK_F32, WICK_DIMS(2));
    typedef wick_cross_entropy_options options;
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, labels, &(options){.smoothing = 1.5}), "smoothing 1.5");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, x, &(options){.smoothing = NAN}), "smoothing nan");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, labels, &(options){.reduction = (wick_reduction)5}),
            "reduction");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy_with(x, x, &(options){.ignore = true}), "no label to ignore");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy_with(x, labels, &(options){.weight = w}), "weights must be [C]");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(images, labels), "[N, ...]");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(x, wick_ones(ctx, WICK_F32, WICK_DIMS(2, 4))), "extent 1 is 4 and 3");
    REFUSED(WICK_ERR_SHAPE, wick_cross_entropy(wick_scalar(ctx, WICK_F32, 1), labels), "logits");
    REFUSED(WICK_ERR_INVALID, wick_cross_entropy(x, NULL), "NULL");
    REFUSED(WICK_ERR_INVALID, wick_nll_loss(x, labels, &(options){.smoothing = 0.1}), "no smoothing");
    REFUSED(WICK_ERR_DTYPE, wick_nll_loss(x, x, NULL), "labels must be integers");
    REFUSED(WICK_ERR_SHAPE, wick_nll_loss(x, labels, &(options){.weight = w}), "weights must be [3]");
    REFUSED(WICK_ERR_SHAPE, wick_multi_margin_loss(images, labels, 1, 1, NULL, WICK_REDUCE_MEAN), "[N, ...]");
    REFUSED(WICK_ERR_INVALID, wick_multi_margin_loss(x, labels, 3, 1, NULL, WICK_REDUCE_MEAN), "p is 1 or 2, not 3");
    REFUSED(WICK_ERR_INVALID, wick_l1_loss(NULL, x, WICK_REDUCE_MEAN), "tensor 0 is NULL");
    REFUSED(WICK_ERR_INVALID, wick_l1_loss(x, x, WICK_REDUCTIONS), "l1_loss: no such reduction");
    REFUSED(WICK_ERR_DTYPE, wick_l1_loss(labels, labels, WICK_REDUCE_MEAN), "l1_loss: takes floats, not i64");
    REFUSED(WICK_ERR_SHAPE, wick_l1_loss(x, images, WICK_REDUCE_MEAN), "sub(f32[2,3], f32[2,3,4])");
    REFUSED(WICK_ERR_INVALID, wick_huber_loss(x, x, 0, WICK_REDUCE_MEAN), "delta 0");
    REFUSED(WICK_ERR_INVALID, wick_smooth_l1_loss(x, x, -1, WICK_REDUCE_MEAN), "beta -1");
    REFUSED(WICK_ERR_SHAPE, wick_binary_cross_entropy(x, images, NULL, WICK_REDUCE_MEAN), "one shape");
    REFUSED(WICK_ERR_INVALID, wick_triplet_margin_loss(x, x, x, &(wick_triplet_options){.margin = -1}), "margin and p");
    REFUSED(WICK_ERR_SHAPE, wick_dice_loss(x, x, 1, WICK_REDUCE_MEAN), "2 dims");
    REFUSED(WICK_ERR_SHAPE,
            wick_mse_loss(wick_scalar(ctx, WICK_F32, 1), wick_scalar(ctx, WICK_F32, 2), WICK_REDUCE_BATCH_MEAN),
            "no batch");
    CHECK(wick_l1_loss(NULL, NULL, WICK_REDUCE_MEAN) == NULL);
    wick_context_free(&ctx);
}

TEST(a_label_that_is_no_class_is_named_unless_it_is_the_ignored_one) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    const int64_t values[4] = {0, -100, 1, 3};
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(4, 3)),
                *labels = wick_from(ctx, WICK_I64, WICK_DIMS(4), values);
    double loss;
    CHECK_INT(wick_item(wick_cross_entropy(x, labels), &loss), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "row 1");
    wick_cross_entropy_options o = {.ignore = true, .ignore_index = -100};
    CHECK_INT(wick_item(wick_cross_entropy_with(x, labels, &o), &loss), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "row 3");
    CHECK_INT(wick_item(wick_nll_loss(x, labels, NULL), &loss), WICK_ERR_INDEX);
    CHECK_INT(wick_item(wick_nll_loss(x, labels, &o), &loss), WICK_ERR_INDEX);
    CHECK_INT(wick_item(wick_nll_loss(x, wick_slice(labels, 0, 0, 3, 1), &o), &loss), WICK_ERR_SHAPE);
    CHECK_INT(wick_item(wick_nll_loss(wick_slice(x, 0, 0, 3, 1), wick_slice(labels, 0, 0, 3, 1), &o), &loss), WICK_OK);
    CHECK(loss == -1);
    wick_context_free(&ctx);
}

TEST(the_batch_mean_and_16_bit_floats) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1.5f, 0, 3, 4, 7, 6};
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(2, 3), a), *t = wick_from(ctx, WICK_F32, WICK_DIMS(2, 3), b);
    double loss;
    CHECK(wick_item(wick_l1_loss(x, t, WICK_REDUCE_BATCH_MEAN), &loss) == WICK_OK && loss == 4.5 / 2);
    wick_tensor *half = wick_l1_loss(wick_cast(x, WICK_F16), wick_cast(t, WICK_I64), WICK_REDUCE_SUM);
    CHECK_INT(wick_tensor_dtype(half), WICK_F32);
    CHECK(wick_item(half, &loss) == WICK_OK && loss == 4);
    wick_context_free(&ctx);
}

TEST(views_give_what_copies_give_and_nan_stays) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 1}, &ctx) == WICK_OK);
    float a[60], b[60], copies[2][60];
    const int64_t labels[10] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
    for (int i = 0; i < 60; i++) a[i] = (float)((i * 37) % 23) / 9 - 1, b[i] = (float)((i * 11) % 17) / 20;
    /* 5 of them, backwards */
    wick_tensor *x[2], *t[2], *y = wick_slice(wick_from(ctx, WICK_I64, WICK_DIMS(10), labels), 0, -1, INT64_MIN, -2);
    /* [5, 3] out of [6, 10], transposed, each second row and column */
    x[0] = wick_slice(wick_slice(wick_transpose(wick_from(ctx, WICK_F32, WICK_DIMS(6, 10), a), 0, 1), 0, 0, 10, 2), 1,
                      5, INT64_MIN, -2);
    t[0] = wick_slice(wick_slice(wick_transpose(wick_from(ctx, WICK_F32, WICK_DIMS(6, 10), b), 0, 1), 0, 0, 10, 2), 1,
                      5, INT64_MIN, -2);
    REQUIRE(wick_read(x[0], copies[0], 60) == WICK_OK && wick_read(t[0], copies[1], 60) == WICK_OK);
    x[1] = wick_from(ctx, WICK_F32, WICK_DIMS(5, 3), copies[0]);
    t[1] = wick_from(ctx, WICK_F32, WICK_DIMS(5, 3), copies[1]);
    double loss[2][8];
    for (int k = 0; k < 2; k++) {
        const wick_cross_entropy_options smooth = {.smoothing = 0.1};
        wick_tensor *all[8] = {wick_cross_entropy_with(x[k], y, &smooth),
                               wick_cross_entropy_with(x[k], t[k], &smooth),
                               wick_nll_loss(x[k], y, NULL),
                               wick_multi_margin_loss(x[k], y, 1, 1, NULL, WICK_REDUCE_MEAN),
                               wick_huber_loss(x[k], t[k], 0.4, WICK_REDUCE_SUM),
                               wick_binary_cross_entropy_logits(x[k], t[k], NULL, NULL, WICK_REDUCE_MEAN),
                               wick_kl_div(x[k], t[k], false, WICK_REDUCE_SUM),
                               wick_triplet_margin_loss(x[k], t[k], x[1 - k], NULL)};
        for (int i = 0; i < 8; i++)
            CHECK_MSG(wick_item(all[i], &loss[k][i]) == WICK_OK, "%d: %s", i, wick_context_error(ctx));
    }
    for (int i = 0; i < 8; i++)
        CHECK_MSG(loss[0][i] == loss[1][i], "loss %d: %.9g of views, %.9g of copies", i, loss[0][i], loss[1][i]);
    a[7] = NAN;
    wick_tensor *bad = wick_from(ctx, WICK_F32, WICK_DIMS(5, 3), a);
    wick_tensor * not [] = {wick_cross_entropy_with(bad, y, &(wick_cross_entropy_options){.smoothing = 0.1}),
                            wick_l1_loss(bad, t[1], WICK_REDUCE_MEAN),
                            wick_huber_loss(bad, t[1], 1, WICK_REDUCE_MEAN),
                            wick_soft_margin_loss(bad, t[1], WICK_REDUCE_MEAN),
                            wick_hinge_embedding_loss(bad, t[1], 1, WICK_REDUCE_MEAN),
                            wick_focal_loss(bad, t[1], 0.25, 2, WICK_REDUCE_MEAN)};
    for (size_t i = 0; i < sizeof not / sizeof *not; i++)
        CHECK_MSG(wick_item(not [i], &loss[0][0]) == WICK_OK && isnan(loss[0][0]), "loss %d of NaN is %g", (int)i,
                  loss[0][0]);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
