/* Networks as text: every layer of the table, shapes, names of states, gradients, and errors that point at the word. */
#include "test.h"
#include "wick/wick.h"

#define SETUP                                                                                                          \
    wick_context *ctx = NULL;                                                                                          \
    wick_model *model = NULL;                                                                                          \
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2, .seed = 3}, &ctx) == WICK_OK &&                     \
            wick_model_new(ctx, &model) == WICK_OK)
#define TEARDOWN                                                                                                       \
    wick_model_free(&model);                                                                                           \
    wick_context_free(&ctx)

static void check_shape(wick_tensor *y, int rank, const int64_t *dims) {
    const char *text = "";
    CHECK_MSG(wick_tensor_error(y, &text) == WICK_OK, "%s", text);
    CHECK_INT(wick_tensor_rank(y), rank);
    for (int i = 0; i < rank; i++) CHECK_INT(wick_tensor_dim(y, i), dims[i]);
}

TEST(layers_make_the_shapes_that_they_say) {
    static const struct {
        const char *net;
        int rank;
        int64_t dims[4];
    } cases[] = {
        {"conv 5 3", 4, {2, 5, 6, 4}},
        {"conv 5 3 pad 1 stride 2, relu", 4, {2, 5, 4, 3}},
        {"conv 6 3 same groups 2 dilation 2 nobias", 4, {2, 6, 8, 6}},
        {"dwconv 3 same stride 2", 4, {2, 4, 4, 3}},
        {"maxpool 2", 4, {2, 4, 4, 3}},
        {"avgpool 3 stride 1 pad 1", 4, {2, 4, 8, 6}},
        {"globalpool", 2, {2, 4}},
        {"flatten, linear 7", 2, {2, 7}},
        {"globalpool , linear classes", 2, {2, 10}},
        {"bn,gelu,silu,tanh,sigmoid,layernorm,dropout 0.5", 4, {2, 4, 8, 6}},
        {"residual(conv 4 3 same, bn, relu)", 4, {2, 4, 8, 6}},
        {"residual(conv 9 3 same stride 2, bn)", 4, {2, 9, 4, 3}},
        {"residual(residual(conv 4 1), conv 4 1)", 4, {2, 4, 8, 6}},
        {"twins(conv 3 3 same stride 2, bn)", 4, {2, 6, 4, 3}},
        {"twins(globalpool)", 2, {2, 4}},
        {"correlate", 4, {2, 8 * 6 + 2, 8, 6}},
        {"se 2", 4, {2, 4, 8, 6}},
        {"invres 4 3", 4, {2, 4, 8, 6}},
        {"invres 6 3 stride 2 expand 2", 4, {2, 6, 4, 3}},
        {"conv 5 1x3 stride 2x1 pad 0x1", 4, {2, 5, 4, 6}},
        {"dwconv 3x1 same stride 1x2, maxpool 2x1, avgpool 1x3", 4, {2, 4, 4, 1}},
        {"invres 6 1x3 stride 1x2", 4, {2, 6, 8, 3}},
        {"save a, globalpool, save b, from a, globalmaxpool, concat b", 2, {2, 8}},
        {"sequence, positions, attention 6, encoder 4 0.1 expand 2", 3, {2, 24, 8}},
        {"flatten, sequence 12, conv 3 3 causal dilation 4", 3, {2, 3, 16}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SETUP;
        wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 4, 8, 6));
        CHECK(wick_net_check(ctx, cases[i].net) == WICK_OK);
        check_shape(wick_net(model, cases[i].net, x, 10), cases[i].rank, cases[i].dims);
        TEARDOWN;
    }
}

TEST(states_are_named_by_kind_and_place) {
    SETUP;
    const char *net = "conv 4 3 same nobias, bn, residual(conv 8 3 same stride 2, bn, relu, conv 8 3 same), relu, conv "
                      "3 1, se 2, globalpool, linear classes";
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 1, 6, 6));
    static const char *const names[] = {
        "conv1.weight",  "bn1.weight",      "bn1.running_var",      "res1.conv1.weight",
        "res1.bn1.bias", "res1.conv2.bias", "res1.shortcut.weight", "res1.shortcut_bn.bias",
        "conv2.bias",    "se1.down.weight", "se1.up.bias",          "fc1.weight"};
    CHECK(wick_tensor_error(wick_net(model, net, x, 10), NULL) == WICK_OK);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CHECK_MSG(wick_model_find(model, names[i]) != NULL, "%s", names[i]);
    const int count = wick_model_count(model);
    CHECK(wick_tensor_error(wick_net(model, net, x, 10), NULL) == WICK_OK); /* found again */
    CHECK_INT(wick_model_count(model), count);
    CHECK(wick_model_find(model, "conv1.bias") == NULL);
    TEARDOWN;
}

typedef struct net_case {
    wick_model *model;
    const char *net;
} net_case;
static wick_tensor *net_function(wick_context *ctx, wick_tensor *const *x, void *user) {
    const net_case *c = user;
    (void)ctx;
    wick_tensor *y = wick_net(c->model, c->net, x[0], 3);
    wick_tensor *r = wick_reshape(wick_arange(ctx, WICK_F64, -1, 0.37, wick_tensor_count(y)), wick_tensor_rank(y),
                                  wick_tensor_dims(y));
    return wick_sum(wick_mul(y, wick_sin(r)), WICK_ALL_AXES, false);
}

TEST(gradients_agree_with_central_differences) {
    static const char *const nets[] = {
        "conv 3 3 stride 2 pad 1, tanh, flatten, linear classes",
        "dwconv 3 same, silu, conv 4 2 groups 2 dilation 2, avgpool 2, globalpool, linear classes",
        ("conv 4 3 same, bn, gelu, residual(conv 4 3 same nobias, bn, sigmoid), maxpool 2, flatten, linear 5, "
         "layernorm, tanh, linear classes"),
        "residual(conv 6 3 same stride 2, bn), se 2, globalpool, linear classes",
        "twins(conv 3 3 same, tanh, avgpool 2), correlate, conv 4 1, tanh, globalpool, linear classes",
        "invres 2 3 expand 2, invres 3 3 stride 2 expand 3, globalpool, linear classes",
        ("conv 3 3 same, tanh, save a, avgpool 2, save b, conv 2 1, silu, upsample b, concat b, upsample a smooth, "
         "concat a, "
         "conv classes 1, flatten, linear classes"),
    };
    for (size_t k = 0; k < sizeof nets / sizeof *nets; k++) {
        SETUP;
        double data[2 * 2 * 6 * 5];
        for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = test_rand_real(-2, 2);
        wick_tensor *x[64] = {wick_from(ctx, WICK_F64, WICK_DIMS(2, 2, 6, 5), data)};
        net_case c = {model, nets[k]};
        (void)net_function(ctx, x, &c); /* makes the states */
        int n = 1;
        for (int i = 0; i < wick_model_count(model) && n < 64; i++)
            if (wick_model_at(model, i).role == WICK_ROLE_PARAM) x[n++] = wick_model_at(model, i).tensor;
        wick_gradcheck_report report;
        wick_status status = wick_gradcheck(ctx, net_function, &c, n, x, 0, 2e-6, &report);
        CHECK_MSG(status == WICK_OK, "%s: %s", nets[k], wick_context_error(ctx));
        TEARDOWN;
    }
}

/* Extents that no power of two divides, in a network that halves them three times. */
TEST(unet_has_a_class_for_each_pixel) {
    SETUP;
    wick_network unet;
    CHECK_INT(wick_zoo_find(ctx, "unet", &unet), WICK_OK);
    wick_tensor *y = wick_zoo_build(&unet, model, wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 19, 27)), 5);
    CHECK_INT(wick_tensor_error(y, NULL), WICK_OK);
    CHECK_INT(wick_tensor_rank(y), 4);
    CHECK_INT(wick_tensor_dim(y, 1), 5);
    CHECK_INT(wick_tensor_dim(y, 2), 19);
    CHECK_INT(wick_tensor_dim(y, 3), 27);
    TEARDOWN;
}

/* By hand: each pixel again, or between neighbours a quarter of the way; what was saved goes first. */
TEST(upsampling_and_skips_by_hand) {
    SETUP;
    const float row[3] = {0, 4, 8}, twice[6] = {0, 0, 4, 4, 8, 8}, smooth[6] = {0, 1, 3, 5, 7, 8};
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(1, 1, 3), row);
    float got[12];
    CHECK_INT(wick_read(wick_net(model, "upsample 2", x, 1), got, sizeof twice), WICK_OK);
    for (int i = 0; i < 6; i++) CHECK(got[i] == twice[i]);
    CHECK_INT(wick_read(wick_net(model, "upsample 2 smooth", x, 1), got, sizeof smooth), WICK_OK);
    for (int i = 0; i < 6; i++) CHECK(fabsf(got[i] - smooth[i]) < 1e-6F);
    CHECK_INT(wick_read(wick_net(model, "save a, relu, upsample 3, maxpool 3, add a", x, 1), got, sizeof row), WICK_OK);
    for (int i = 0; i < 3; i++) CHECK(got[i] == 2 * row[i]);
    CHECK_INT(wick_read(wick_net(model, "save a, maxpool 3, upsample a, save b, concat a", x, 1), got, 2 * sizeof row),
              WICK_OK);
    for (int i = 0; i < 3; i++) CHECK(got[i] == row[i] && got[3 + i] == 8);
    TEARDOWN;
}

/* By hand: rows of the matrix, those of one place added up, 0 being nothing; the largest of each channel. */
TEST(tokens_become_channels) {
    SETUP;
    const float rows[8] = {9, 9, 1, 10, 2, 20, 3, 30}, tokens[6] = {1, 2, 0, 3, 0, 0};
    wick_tensor *x = wick_from(ctx, WICK_F32, WICK_DIMS(1, 2, 3), tokens), *one = wick_slice(x, 1, 0, 1, 1);
    float got[6];
    (void)wick_net(model, "embed 4 2", x, 1); /* makes the states */
    CHECK_INT(wick_write(wick_model_at(model, 0).tensor, rows, sizeof rows), WICK_OK);
    CHECK_INT(wick_read(wick_net(model, "embed 4 2", x, 1), got, sizeof got), WICK_OK);
    const float both[6] = {4, 2, 0, 40, 20, 0};
    for (int i = 0; i < 6; i++) CHECK(got[i] == both[i]);
    CHECK_INT(wick_read(wick_net(model, "embed 4 2, globalmaxpool", wick_reshape(one, 2, (const int64_t[]){1, 3}), 1),
                        got, 2 * sizeof *got),
              WICK_OK);
    CHECK(got[0] == 2 && got[1] == 20);
    wick_tensor *y = wick_net(model, "embed 4 2, lstm 3 both, gru 5", x, 1);
    CHECK_INT(wick_tensor_error(y, NULL), WICK_OK);
    CHECK(wick_tensor_dim(y, 1) == 5 && wick_tensor_dim(y, 2) == 3);
    const char *text = "";
    CHECK_INT(wick_tensor_error(wick_net(model, "embed tokens 2", x, 1), &text), WICK_ERR_INVALID);
    CHECK_MSG(strstr(text, "how many tokens there are"), "%s", text);
    CHECK_INT(wick_tensor_error(wick_net(model, "embed 4 2, embed 4 2, flatten, embed 4 2, lstm 2", x, 1), &text),
              WICK_ERR_SHAPE);
    TEARDOWN;
}

TEST(errors_point_at_the_word) {
    static const struct {
        const char *net, *says;
    } cases[] = {
        {"", "at the end: a layer belongs here"},
        {"conv 32 3,", "at the end: a layer belongs here"},
        {"conv 32 3, cnov 3", "column 12, \"cnov\": is no layer; there are conv, dwconv"},
        {"conv 32", "at the end: a number belongs here; the form is: conv CHANNELS KERNEL"},
        {"conv 0 3", "column 6, \"0\": a number"},
        {"conv 32 3.5", "column 9, \"3.5\""},
        {"conv -1 3", "column 6, \"-1\""},
        {"conv 99999999999999999999 3", "column 6"},
        {"conv 32 3 strides 2", "column 11, \"strides\": does not belong here"},
        {"conv 32 3 stride", "at the end: a whole number from 1 on belongs after \"stride\""},
        {"conv 32 3 stride 0", "\"0\": a whole number from 1 on belongs after \"stride\""},
        {"conv 32 3 pad x", "\"x\": a whole number belongs after \"pad\""},
        {"conv 32 3 stride 2 stride 2", "column 20, \"stride\": is given twice"},
        {"conv 32 3 pad 1 same", "exclude each other"},
        {"relu 3", "column 6, \"3\": does not belong here"},
        {"relu relu", "column 6, \"relu\""},
        {"dropout 1", "column 9, \"1\": a probability"},
        {"dropout .", "column 9, \".\": a probability"},
        {"dropout", "at the end: a probability"},
        {"linear many", "column 8, \"many\""},
        {"residual relu", "column 10, \"relu\": \"(\""},
        {"residual(relu", "at the end: \")\""},
        {"residual()", "column 10, \")\": a layer"},
        {"residual(relu) relu", "column 16, \"relu\": \",\""},
        {"relu)", "column 5, \")\""},
        {"relu(relu)", "column 5, \"(\": this layer has no layers inside"},
        {"embed tokens", "at the end: a number belongs here; the form is: embed"},
        {"embed 5 tokens", "column 9, \"tokens\": a number"},
        {"lstm 5 smooth", "column 8, \"smooth\": does not belong here"},
        {"save", "at the end: a name belongs here"},
        {"save 3", "column 6, \"3\": a name begins with a letter"},
        {"save abcdefghijklmnopqrstuvwx", "is too long for a name"},
        {"save a, relu, save a", "column 20, \"a\": is saved already"},
        {"save a, concat b", "column 16, \"b\": nothing was saved by this name before"},
        {"add a, save a", "column 5, \"a\": nothing was saved"},
        {"upsample a", "column 10, \"a\": nothing was saved"},
        {"upsample", "at the end: a number belongs here; the form is: upsample N"},
        {"upsample 0", "column 10, \"0\": a number"},
        {"upsample 2 same", "column 12, \"same\": does not belong here"},
        {"upsample 2 smooth smooth", "is given twice"},
        {"conv 3 classes", "column 8, \"classes\": a number"},
        {"conv 3 1x", "column 8, \"1x\": a number"},
        {"conv 3 x3", "column 8, \"x3\": a number"},
        {"conv 3 1x2x3x4", "column 8, \"1x2x3x4\": a number"},
        {"conv 3 3x0", "column 8, \"3x0\": a number"},
        {"conv 3 3 stride 1x", "\"1x\": a whole number from 1 on belongs after \"stride\""},
        {"conv 3 3 causal same", "pad, same and causal exclude each other"},
        {"conv 3 3 causal stride 2", "causal layers have no stride"},
        {"sequence 0", "column 10, \"0\": a number"},
        {"encoder 4 1.5", "\"1.5\": a probability"},
        {"encoder", "at the end: a number belongs here; the form is: encoder HEADS"},
        {"from a", "column 6, \"a\": nothing was saved"},
        {"residual(residual(residual(residual(residual(residual(residual(residual(residual(relu)))))))))",
         "nested too deeply"},
    };
    SETUP;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(wick_net_check(ctx, cases[i].net), WICK_ERR_INVALID);
        CHECK_MSG(strstr(wick_context_error(ctx), cases[i].says), "\"%s\": \"%s\" lacks \"%s\"", cases[i].net,
                  wick_context_error(ctx), cases[i].says);
    }
    CHECK_INT(wick_net_check(ctx, NULL), WICK_ERR_INVALID);
    char many[6000] = "relu";
    for (int i = 0; i < 300; i++) strcat(many, ", relu");
    CHECK_INT(wick_net_check(ctx, many), WICK_ERR_INVALID);
    /* What only the shapes say comes from the layer. */
    wick_tensor *x = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 1, 6, 6));
    const char *text = "";
    CHECK_INT(wick_tensor_error(wick_net(model, "conv 4 9", x, 10), &text), WICK_ERR_SHAPE);
    CHECK_MSG(strstr(text, "does not fit"), "%s", text);
    CHECK_INT(wick_tensor_error(wick_net(model, "flatten, conv 4 3", x, 10), &text), WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_net(model, "columns, maxpool 1x2", x, 10), &text), WICK_ERR_SHAPE);
    CHECK_MSG(strstr(text, "the kernel has 2 extents, and samples here have 1 dims"), "%s", text);
    CHECK_INT(wick_tensor_error(wick_net(model, "attention 2", x, 10), &text), WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_net(model, "cnov", x, 10), &text), WICK_ERR_INVALID);
    CHECK_INT(wick_tensor_error(wick_net(model, "save half, maxpool 2, concat half", x, 10), &text), WICK_ERR_SHAPE);
    CHECK_MSG(strstr(text, "half: the extents there and here differ: \"upsample half\""), "%s", text);
    CHECK_INT(
        wick_tensor_error(wick_net(model, "save a, conv 2 1, add a, conv 2 1, save b, conv 3 1, add b", x, 10), &text),
        WICK_ERR_SHAPE);
    CHECK_INT(wick_tensor_error(wick_net(model, "flatten, upsample 2", x, 10), &text), WICK_ERR_SHAPE);
    /* Blocks in the deepest of residuals: each makes names of its own. */
    const char *deep =
        "residual(residual(residual(residual(residual(residual(residual(residual(se 4, invres 1 3))))))))";
    CHECK_INT(wick_tensor_error(wick_net(model, deep, x, 10), &text), WICK_OK);
    TEARDOWN;
}

TEST(every_layer_has_a_form_and_a_line) {
    CHECK(wick_net_layers() >= 15);
    for (int i = 0; i < wick_net_layers(); i++) CHECK(*wick_net_layer_form(i) && *wick_net_layer_doc(i));
    CHECK(wick_net_layer_form(-1) == NULL && wick_net_layer_doc(wick_net_layers()) == NULL);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
