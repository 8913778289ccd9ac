/* The zoo: names and numbers are read or refused with a reason; built networks have the promised shapes. */
#include <math.h>

#include "context.h"
#include "test.h"
#include "wick/wick.h"

TEST(the_list_is_complete_and_bounded) {
    CHECK(wick_zoo_count() >= 1);
    for (int i = 0; i < wick_zoo_count(); i++) {
        const wick_architecture *a = wick_zoo_at(i);
        CHECK(a && a->name && a->form && a->doc && a->build);
    }
    CHECK(wick_zoo_at(-1) == NULL && wick_zoo_at(wick_zoo_count()) == NULL);
}

TEST(texts_are_read) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    wick_network n;
    CHECK(wick_zoo_find(ctx, "mlp", &n) == WICK_OK && n.n_widths == 2 && n.widths[0] == 512 && n.widths[1] == 256 &&
          n.dropout == 0);
    CHECK(wick_zoo_find(ctx, "mlp:256,128", &n) == WICK_OK && n.n_widths == 2 && n.widths[0] == 256 &&
          n.widths[1] == 128);
    CHECK(wick_zoo_find(ctx, "mlp:7", &n) == WICK_OK && n.n_widths == 1 && n.widths[0] == 7);
    CHECK(wick_zoo_find(ctx, "mlp:64,dropout=0.25", &n) == WICK_OK && n.n_widths == 1 && n.dropout == 0.25);
    CHECK(wick_zoo_find(ctx, "mlp,dropout=.5", &n) == WICK_OK && n.n_widths == 2 && n.dropout == 0.5);
    CHECK(wick_zoo_find(ctx, "mlp:dropout=0", &n) == WICK_OK && n.dropout == 0);
    wick_context_free(&ctx);
}

TEST(mistakes_are_named) {
    wick_context *ctx = new_context(.threads = 1);
    REQUIRE(ctx != NULL);
    const char *const bad[] = {"",
                               "cnm",
                               "mlp2",
                               "ml",
                               "mlp:",
                               "mlp:12,",
                               "mlp:,3",
                               "mlp:0",
                               "mlp:-4",
                               "mlp:+4",
                               "mlp: 4",
                               "mlp:3x",
                               "mlp:99999999999999999999",
                               "mlp:16777217",
                               "mlp:8,dropout=",
                               "mlp:8,dropout=1",
                               "mlp:8,dropout=-0.1",
                               "mlp:8,dropout=nan",
                               "mlp:8,dropout=0.2x",
                               "mlp:8,drop=0.2",
                               "mlp:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        wick_network n;
        CHECK_MSG(wick_zoo_find(ctx, bad[i], &n) == WICK_ERR_INVALID, "\"%s\"", bad[i]);
        CHECK_STR_HAS(wick_context_error(ctx), "mlp[:WIDTH,...]");
    }
    CHECK(wick_zoo_find(ctx, NULL, &(wick_network){0}) == WICK_ERR_INVALID);
    wick_network n;
    CHECK(wick_zoo_find(ctx, "net:conv 8", &n) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "net: at the end");
    CHECK(wick_zoo_find(ctx, "net", &n) == WICK_ERR_INVALID);
    CHECK(wick_zoo_find(ctx, "lenet:5", &n) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "more than it takes");
    wick_context_free(&ctx);
}

TEST(an_mlp_flattens_samples_and_has_its_layers) {
    wick_context *ctx = new_context(.threads = 1);
    wick_model *model;
    wick_network n;
    REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
    REQUIRE(wick_zoo_find(ctx, "mlp:6,5,dropout=0.5", &n) == WICK_OK);
    wick_tensor *y = wick_zoo_build(&n, model, wick_ones(ctx, WICK_F32, WICK_DIMS(3, 4, 2)), 10);
    CHECK(wick_tensor_rank(y) == 2 && wick_tensor_dim(y, 0) == 3 && wick_tensor_dim(y, 1) == 10);
    CHECK_INT(wick_model_count(model), 6);
    wick_tensor *w = wick_model_find(model, "fc1.weight");
    CHECK(w && wick_tensor_dim(w, 0) == 6 && wick_tensor_dim(w, 1) == 8);
    CHECK(wick_model_find(model, "fc2.weight") && wick_model_find(model, "fc3.bias"));
    CHECK(wick_eval(ctx, 1, &y, NULL) == WICK_OK);
    /* evaluation draws nothing: the same bits twice */
    float a[30], b[30];
    wick_model_set_training(model, false);
    for (int i = 0; i < 2; i++)
        CHECK(wick_read(wick_zoo_build(&n, model, wick_ones(ctx, WICK_F32, WICK_DIMS(3, 8)), 10), i ? b : a,
                        sizeof a) == WICK_OK);
    CHECK(memcmp(a, b, sizeof a) == 0);
    CHECK(wick_tensor_error(wick_zoo_build(&n, model, wick_ones(ctx, WICK_F32, WICK_DIMS(3, 9)), 10), NULL) ==
          WICK_ERR_SHAPE);
    CHECK(wick_tensor_error(wick_zoo_build(&n, model, wick_ones(ctx, WICK_F32, WICK_DIMS(3)), 10), NULL) != WICK_OK);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(every_architecture_takes_images_of_usual_sizes) {
    for (int i = 0; i < wick_zoo_count(); i++)
        for (int colour = 0; colour < 2; colour++) {
            wick_context *ctx = new_context(.threads = 1);
            wick_model *model = NULL;
            REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
            wick_network n;
            const char *name = wick_zoo_at(i)->name, *text = "";
            REQUIRE(wick_zoo_find(ctx, strcmp(name, "net") ? name : "net:flatten, linear classes", &n) == WICK_OK);
            wick_tensor *x = colour ? wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 32, 32))
                                    : wick_ones(ctx, WICK_F32, WICK_DIMS(2, 28, 28));
            wick_tensor *y = wick_zoo_build(&n, model, x, 7);
            CHECK_MSG(wick_tensor_error(y, &text) == WICK_OK, "%s: %s", name, text);
            const bool pixels = strcmp(name, "unet") == 0; /* which has a class for each */
            CHECK(wick_tensor_rank(y) == (pixels ? 4 : 2) && wick_tensor_dim(y, 0) == 2 && wick_tensor_dim(y, 1) == 7);
            double sum = 0;
            CHECK_MSG(wick_item(wick_sum(y, WICK_ALL_AXES, false), &sum) == WICK_OK && isfinite(sum), "%s: %s", name,
                      wick_context_error(ctx));
            wick_model_free(&model);
            wick_context_free(&ctx);
        }
}

TEST(a_model_with_a_limit_holds_no_more_numbers) {
    wick_context *ctx = new_context(.threads = 1);
    wick_model *model = NULL;
    REQUIRE(ctx != NULL && wick_model_new(ctx, &model) == WICK_OK);
    wick_model_set_limit(model, 20);
    const char *text = "";
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(1, 4));
    CHECK(wick_tensor_error(wick_net(model, "linear 4", x, 10), NULL) == WICK_OK); /* 4 * 4 + 4 */
    CHECK(wick_tensor_error(wick_net(model, "linear 4, linear 16777216", x, 10), &text) == WICK_ERR_MISMATCH);
    CHECK_STR_HAS(text, "more than the 20 numbers");
    wick_model_free(&model);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
