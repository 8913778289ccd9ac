/* Export to ONNX: every architecture and every op is written, read back by Wick's own reader, and gives the same
 * numbers. With WICK_EXPORT_OUT=DIR in the environment what is written stays there, with inputs and outputs beside it,
 * for scripts/check_export, which asks onnx.checker and ONNX Runtime. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops/driver.h"
#include "wick/wick.h"

enum { MOST_PORTS = 8 };
static char folder[512];
static wick_context *ctx;
static wick_model *model;

static bool set_up(void) {
    if (!folder[0]) {
        static char temporary[] = "/tmp/wick-export-XXXXXX";
        const char *out = getenv("WICK_EXPORT_OUT");
        if (out) snprintf(folder, sizeof folder, "%.400s", out), mkdir(folder, 0777);
        else if (!mkdtemp(temporary)) return false;
        else snprintf(folder, sizeof folder, "%s", temporary);
    }
    return wick_context_new(&(wick_context_options){.threads = 1, .seed = 3}, &ctx) == WICK_OK &&
           wick_model_new(ctx, &model) == WICK_OK;
}
static void tear_down(void) {
    wick_model_free(&model);
    wick_context_free(&ctx);
}
#define MODEL_TEST(id)                        \
    static void in_##id(void);                \
    TEST(id) {                                \
        REQUIRE(set_up());                    \
        wick_scope *scope = wick_scope_open(ctx); \
        in_##id();                            \
        wick_scope_close(&scope);             \
        tear_down();                          \
    }                                         \
    static void in_##id(void)

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct net {
    const char *name;
    wick_function fn;
    void *user;
    int n_in, n_out;
    wick_spec in[MOST_PORTS];
    double low[MOST_PORTS], high[MOST_PORTS]; /* of inputs; both 0: -1 to 1, of integers 0 to 3 */
    double rtol, atol;
    wick_onnx_save_options options;
    int rising; /* input with rising numbers, counted from 1 */
    int64_t batch; /* for the symbol, when run; 0: as in the spec */
} net;

static wick_tensor *drawn(const net *n, int i) {
    wick_type t;
    wick_spec s = n->in[i];
    for (int k = 0; n->batch && k < n->options.n_symbols; k++)
        if (n->options.symbols[k].input == i) s.dims[n->options.symbols[k].axis] = n->batch;
    if (!wick_type_make(&t, s.dtype, s.rank, s.dims)) return NULL;
    const bool whole = !wick_dtype_is_float(s.dtype), given = n->low[i] != 0 || n->high[i] != 0;
    const double low = given   ? n->low[i]
                       : whole ? 0
                               : -1,
                 high = given   ? n->high[i]
                        : whole ? s.dtype == WICK_BOOL ? 1 : 3
                                : 1;
    const int64_t count = wick_type_count(&t);
    char *data = calloc((size_t)count + 1, wick_dtype_size(s.dtype));
    for (int64_t k = 0; k < count; k++)
        put(&t, data, k, whole ? (double)test_rand_int((int)low, (int)high) : test_rand_real(low, high));
    for (int64_t k = 0; k < count && n->rising == i + 1; k++)
        put(&t, data, k, low + (high - low) * (double)k / (double)count);
    wick_tensor *x = wick_from(ctx, s.dtype, s.rank, s.dims, data);
    free(data);
    return x;
}

/* Written, read back, the same: with its inputs and outputs in folder/NAME. */
static bool check_net(const net *n) {
    char path[1024], at[1100];
    wick_tensor *in[MOST_PORTS], *out[MOST_PORTS] = {0};
    wick_onnx *onnx = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, n->name);
    mkdir(path, 0777);
    snprintf(at, sizeof at, "%s/model.onnx", path);
    wick_status status = wick_onnx_save(model, n->fn, n->user, n->n_in, n->in, n->n_out, at, &n->options);
    CHECK_MSG(status == WICK_OK, "%s: %s", n->name, wick_context_error(ctx));
    if (status != WICK_OK) return false;
    wick_model_set_training(model, false);
    for (int i = 0; i < n->n_in; i++) in[i] = drawn(n, i);
    status = n->fn(ctx, in, out, n->user);
    if (status == WICK_OK) status = wick_eval(ctx, n->n_out, out, NULL);
    CHECK_MSG(status == WICK_OK, "%s: %s", n->name, wick_context_error(ctx));
    status = wick_onnx_open(ctx, at, NULL, &onnx);
    CHECK_MSG(status == WICK_OK, "%s: %s", n->name, wick_context_error(ctx));
    if (!onnx) return false;
    CHECK_MSG(!*wick_onnx_unsupported(onnx), "%s: %s", n->name, wick_onnx_unsupported(onnx));
    CHECK_INT(wick_onnx_outputs(onnx), n->n_out);
    wick_onnx_value values[MOST_PORTS] = {0}, got[MOST_PORTS] = {0};
    for (int k = 0; k < wick_onnx_inputs(onnx); k++) {
        int i = 0;
        while (i < n->n_in && strcmp(n->in[i].name, wick_onnx_input(onnx, k).name)) i++;
        values[k] = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = in[i]};
    }
    status = wick_onnx_apply(onnx, values, got);
    CHECK_MSG(status == WICK_OK, "%s: %s", n->name, wick_context_error(ctx));
    for (int i = 0; i < n->n_out && status == WICK_OK; i++) {
        const wick_onnx_value want = {.kind = WICK_VALUE_TENSOR, .tensor = out[i]};
        const wick_status same =
            wick_onnx_value_compare(ctx, &got[i], &want, n->rtol ? n->rtol : 1e-4, n->atol ? n->atol : 1e-5);
        CHECK_MSG(same == WICK_OK, "%s, output %d: %s", n->name, i, wick_context_error(ctx));
    }
    status = WICK_OK;
    for (int i = 0; i < n->n_in + n->n_out && status == WICK_OK; i++) {
        if (i < n->n_in) snprintf(at, sizeof at, "%s/%s.npy", path, n->in[i].name);
        else snprintf(at, sizeof at, "%s/output_%d.npy", path, i - n->n_in);
        status = wick_npy_write(ctx, at, i < n->n_in ? in[i] : out[i - n->n_in]);
        CHECK_MSG(status == WICK_OK || status == WICK_ERR_UNSUPPORTED, "%s", wick_context_error(ctx));
    }
    if (status != WICK_OK) { /* a dtype that NumPy lacks: nothing for others to look at */
        wick_context_clear_error(ctx);
        snprintf(at, sizeof at, "%s/model.onnx", path);
        remove(at);
    }
    wick_onnx_free(&onnx);
    return true;
}

/* Running means and variances, gains and biases that are not all 0 or 1. */
static void shake_states(void) {
    for (int i = 0; i < wick_model_count(model); i++) {
        const wick_named s = wick_model_at(model, i);
        if (wick_tensor_dtype(s.tensor) != WICK_F32 || wick_tensor_rank(s.tensor) != 1) continue;
        wick_tensor *noise = wick_random_uniform(ctx, WICK_F32, 1, wick_tensor_dims(s.tensor));
        const bool positive = strstr(s.name, "var") || strstr(s.name, "weight");
        CHECK(wick_assign(s.tensor, positive ? wick_add(noise, wick_like(noise, 0.5))
                                             : wick_sub(noise, wick_like(noise, 0.5))) == WICK_OK);
    }
    CHECK(wick_eval(ctx, 0, NULL, NULL) == WICK_OK);
}
/* Makes the states, by recording once. */
static void make_states(const net *n) {
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *in[MOST_PORTS], *out[MOST_PORTS] = {0};
    for (int i = 0; i < n->n_in; i++) in[i] = drawn(n, i);
    wick_model_set_training(model, false);
    CHECK_MSG(n->fn(ctx, in, out, n->user) == WICK_OK, "%s: %s", n->name, wick_context_error(ctx));
    wick_scope_close(&scope);
    shake_states();
}

/* ---- architectures ----------------------------------------------------------------------------------------------- */

static wick_status zoo(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    out[0] = wick_zoo_build(user, model, in[0], 10);
    return WICK_OK;
}
static void check_zoo(const char *name, const char *text, int64_t channels, int64_t size) {
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    wick_network network;
    const bool found = wick_zoo_find(ctx, text, &network) == WICK_OK;
    CHECK_MSG(found, "%s", wick_context_error(ctx));
    REQUIRE(found);
    static const wick_onnx_symbol batch = {"N", 0, 0};
    const net n = {.name = name,
                   .fn = zoo,
                   .user = &network,
                   .n_in = 1,
                   .n_out = 1,
                   .in = {{"image", WICK_F32, 4, {1, channels, size, size}}},
                   .options = {.n_symbols = 1, .symbols = &batch, .outputs = (const char *[]){"logits"}},
                   .batch = 5};
    make_states(&n);
    check_net(&n);
    wick_scope_close(&scope);
    tear_down();
}
TEST(every_architecture_by_name_gives_the_same_numbers) {
    for (int i = 0; i < wick_zoo_count(); i++) {
        const wick_architecture *a = wick_zoo_at(i);
        if (strcmp(a->name, "net") == 0) continue;
        const bool small = strcmp(a->name, "mlp") == 0 || strcmp(a->name, "lenet") == 0;
        check_zoo(a->name, a->name, small ? 1 : 3, small ? 28 : 32);
    }
}
TEST(networks_as_text_give_the_same_numbers) {
    check_zoo("net_conv",
              "net:conv 8 3 same, bn, relu, maxpool 2, conv 8 3 stride 2 pad 1, gelu, avgpool 2, flatten, linear 32, "
              "layernorm, tanh, linear classes",
              3, 16);
    check_zoo(
        "net_residual",
        "net:conv 8 3 same, residual(conv 8 3 same, bn, relu, conv 8 3 same, bn), relu, globalpool, linear classes", 3,
        12);
}

static wick_status activations(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *slope = wick_model_state(model, "slope", WICK_ROLE_PARAM, WICK_F32, 1, (int64_t[]){3},
                                          wick_init_constant(0.3)),
                *x = in[0];
    x = wick_leaky_relu(wick_prelu(x, wick_reshape(slope, 3, (int64_t[]){3, 1, 1})), 0.1);
    x = wick_add(wick_elu(x, 1.5), wick_celu(x, 0.5));
    out[0] = wick_add(wick_clip(x, -0.5, 2), wick_gelu(x));
    return WICK_OK;
}
MODEL_TEST(activations_have_their_names) {
    net n = {.name = "activations",
             .fn = activations,
             .n_in = 1,
             .n_out = 1,
             .in = {{"x", WICK_F32, 4, {2, 3, 4, 4}}},
             .options = {.opset = 20},
             .low = {-3},
             .high = {3}};
    static const char *const want[] = {"PRelu", "LeakyRelu", "Elu", "Celu", "Add", "Clip", "Gelu"};
    char path[1024];
    wick_onnx *onnx = NULL;
    make_states(&n);
    REQUIRE(check_net(&n));
    snprintf(path, sizeof path, "%s/activations/model.onnx", folder);
    REQUIRE(wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK);
    for (size_t i = 0; i < WICK_COUNTOF(want); i++) {
        bool found = false;
        for (int k = 0; k < wick_onnx_get_info(onnx).ops; k++)
            found |= strcmp(wick_onnx_op_at(onnx, k).name, want[i]) == 0;
        CHECK_MSG(found, "%s", want[i]);
    }
    CHECK_INT(wick_onnx_get_info(onnx).nodes, 9); /* and Reshape or Unsqueeze of the slope, and the last Add */
    wick_onnx_free(&onnx);
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

static wick_status lstm(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = wick_nn_embedding(model, "embed", in[0], 20, 12, WICK_F32);
    x = wick_nn_lstm(model, "lstm", x, 16, &(wick_nn_rnn_options){.layers = 2, .h0 = in[1], .c0 = in[2]}, &out[1],
                     &out[2]);
    out[0] = wick_nn_linear(model, "head", x, 20);
    return WICK_OK;
}
MODEL_TEST(an_lstm_of_letters_keeps_its_state) {
    const net n = {.name = "char_lstm",
                   .fn = lstm,
                   .n_in = 3,
                   .n_out = 3,
                   .in = {{"ids", WICK_I64, 2, {7, 2}}, {"h", WICK_F32, 3, {2, 2, 16}}, {"c", WICK_F32, 3, {2, 2, 16}}},
                   .high = {19},
                   .options = {.outputs = (const char *[]){"logits", "h_n", "c_n"}}};
    make_states(&n);
    check_net(&n);
}
/* The last two ONNX Runtime has no Where for. */
static const wick_dtype whole_numbers[] = {WICK_I8,  WICK_U8,  WICK_I16, WICK_U16,
                                           WICK_I32, WICK_I64, WICK_U32, WICK_U64};
typedef struct cast_case {
    bool infinite; /* Inf and NaN */
    int outputs;
} cast_case;
static wick_status casts(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c;
    const cast_case *of = user;
    wick_tensor *x = of->infinite ? wick_div(in[0], wick_like(in[0], 0)) : in[0];
    for (int i = 0; i < of->outputs; i++) out[i] = wick_cast(x, whole_numbers[i]);
    return WICK_OK;
}
MODEL_TEST(floats_beyond_integers_saturate) {
    static const double most[] = {300, 70000, 3e9, 5e9, 1e19, 4e19};
    static cast_case cases[] = {{false, 6}, {true, 6}, {false, 8}, {true, 8}};
    for (size_t i = 0; i < WICK_COUNTOF(most); i++)
        for (size_t k = 0; k < 2 * WICK_COUNTOF(cases); k++) {
            cast_case *of = &cases[k / 2];
            char name[40];
            snprintf(name, sizeof name, "saturate_%zu_%zu", i, k);
            check_net(&(net){.name = name,
                             .fn = casts,
                             .user = of,
                             .n_in = 1,
                             .n_out = of->outputs,
                             .in = {{"x", k % 2 ? WICK_F64 : WICK_F32, 1, {16}}},
                             .low = {-most[i]},
                             .high = {most[i]},
                             .rising = 1});
        }
}
static wick_status gru(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = wick_nn_gru(
        model, "gru", in[0], 10,
        &(wick_nn_rnn_options){.layers = 2, .bidirectional = true, .batch_first = true, .lengths = in[1]}, NULL);
    out[0] = wick_log_softmax(wick_nn_linear(model, "head", x, 11), -1);
    return WICK_OK;
}
MODEL_TEST(a_gru_both_ways_with_lengths) {
    const net n = {.name = "gru",
                   .fn = gru,
                   .n_in = 2,
                   .n_out = 1,
                   .in = {{"x", WICK_F32, 3, {3, 6, 5}}, {"lengths", WICK_I64, 1, {3}}},
                   .low = {-1, 1},
                   .high = {1, 6}};
    make_states(&n);
    check_net(&n);
}
static wick_status rnn(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_nn_rnn(model, "rnn", in[0], 10, &(wick_nn_rnn_options){.relu = true, .no_bias = true}, &out[1]);
    return WICK_OK;
}
MODEL_TEST(a_plain_rnn) {
    const net n = {.name = "rnn", .fn = rnn, .n_in = 1, .n_out = 2, .in = {{"x", WICK_F32, 3, {6, 3, 5}}}};
    make_states(&n);
    check_net(&n);
}
static wick_status gpt(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = wick_nn_positions(model, "wpe", wick_nn_embedding(model, "wte", in[0], 20, 32, WICK_F32), 16);
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", i);
        x = wick_nn_decoder_layer(
            model, name, x, NULL,
            &(wick_nn_transformer_options){.feedforward = 64,
                                           .pre_norm = true,
                                           .gelu = true,
                                           .attention = {.heads = 4, .kv_heads = 2, .causal = true, .rotary = i}});
    }
    out[0] = wick_nn_tied_linear(model, "wte", wick_nn_layer_norm(model, "norm", x), 20);
    return WICK_OK;
}
MODEL_TEST(a_transformer_of_letters) {
    static const wick_onnx_symbol batch = {"N", 0, 0};
    net n = {.name = "char_transformer",
             .fn = gpt,
             .n_in = 1,
             .n_out = 1,
             .in = {{"ids", WICK_I64, 2, {2, 9}}},
             .high = {19},
             .options = {.n_symbols = 1, .symbols = &batch},
             .batch = 3};
    make_states(&n);
    check_net(&n);
    n.name = "char_transformer_13";
    n.options.opset = 13;
    check_net(&n);
}
static wick_status translator(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    const wick_nn_transformer_options o = {.feedforward = 48, .final_norm = true, .attention = {.heads = 4}};
    out[0] = wick_nn_decoder(model, "decoder", in[1], wick_nn_encoder(model, "encoder", in[0], 2, &o), 2, &o);
    return WICK_OK;
}
MODEL_TEST(an_encoder_and_a_decoder_of_open_lengths) {
    static const wick_onnx_symbol open[] = {{"N", 0, 0}, {"N", 1, 0}, {"L", 0, 1}, {"S", 1, 1}};
    const net n = {.name = "transformer",
                   .fn = translator,
                   .n_in = 2,
                   .n_out = 1,
                   .in = {{"source", WICK_F32, 3, {2, 7, 24}}, {"target", WICK_F32, 3, {2, 5, 24}}},
                   .options = {.n_symbols = 4, .symbols = open}};
    make_states(&n);
    check_net(&n);
}
static wick_status keyword(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    const wick_mel_options mel = {
        .sample_rate = 8000, .stft = {.n_fft = 256, .hop = 80}, .n_mels = 32, .log = WICK_LOG_NATURAL};
    wick_tensor *x = wick_unsqueeze(wick_log_mel(in[0], &mel), 1);
    x = wick_relu(wick_nn_batch_norm(
        model, "norm", wick_nn_conv(model, "conv", x, 8, 3, &(wick_nn_conv_options){.same = true, .stride = 2})));
    out[0] = wick_nn_linear(model, "fc", wick_mean(x, 2, (int[]){2, 3}, false), 10);
    return WICK_OK;
}
MODEL_TEST(a_keyword_spotter_with_its_spectrum) {
    const net n = {.name = "keyword",
                   .fn = keyword,
                   .n_in = 1,
                   .n_out = 1,
                   .in = {{"sound", WICK_F32, 2, {2, 2000}}},
                   .atol = 1e-4};
    make_states(&n);
    check_net(&n);
}

/* ---- loops and branches ------------------------------------------------------------------------------------------ */

static wick_tensor *outer; /* what bodies capture */
static wick_status decay(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_tanh(wick_add(wick_mul(in[0], outer), in[1]));
    out[1] = wick_mul(out[0], in[1]);
    return WICK_OK;
}
static wick_status scans(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    outer = wick_exp(in[2]);
    for (int k = 0; k < 2; k++)
        wick_scan_loop(
            c, decay, NULL,
            &(wick_scan_options){.n_state = 1, .n_x = 1, .n_y = 1, .state = &in[0], .x = &in[1], .reverse = k},
            out + 2 * k);
    return WICK_OK;
}
MODEL_TEST(scans_both_ways) {
    const net n = {.name = "scan",
                   .fn = scans,
                   .n_in = 3,
                   .n_out = 4,
                   .in = {{"s", WICK_F32, 1, {3}}, {"x", WICK_F32, 2, {5, 3}}, {"w", WICK_F32, 1, {3}}}};
    check_net(&n);
}
static wick_status halve(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[1] = wick_mul(in[0], wick_like(in[0], 0.5));
    out[2] = wick_sum(out[1], WICK_ALL_AXES, false);
    out[0] = wick_gt(out[2], wick_like(out[2], 1));
    return WICK_OK;
}
static wick_status loops(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_while_loop(c, NULL, halve, NULL, &(wick_scan_options){.n_state = 1, .n_y = 1, .state = &in[0], .rounds = 8},
                    out, &out[2]);
    return WICK_OK;
}
MODEL_TEST(a_loop_with_a_condition) {
    const net n = {
        .name = "loop", .fn = loops, .n_in = 1, .n_out = 3, .in = {{"s", WICK_F32, 1, {3}}}, .low = {1}, .high = {4}};
    check_net(&n);
}
static wick_status then_part(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)in, (void)user;
    out[0] = wick_exp(outer);
    return WICK_OK;
}
static wick_status else_part(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)in, (void)user;
    out[0] = outer;
    return WICK_OK;
}
static wick_status branches(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *sum = wick_sum(in[0], WICK_ALL_AXES, false);
    outer = wick_neg(in[0]);
    for (int k = 0; k < 2; k++)
        wick_if(c, k ? wick_gt(sum, wick_like(sum, 100)) : wick_lt(sum, wick_like(sum, 100)), then_part, else_part,
                NULL, 1, &out[k]);
    return WICK_OK;
}
MODEL_TEST(branches_of_a_condition) {
    const net n = {.name = "if", .fn = branches, .n_in = 1, .n_out = 2, .in = {{"x", WICK_F32, 1, {3}}}};
    check_net(&n);
}

/* Boxes of a detector, and counts: sizes are fixed, and what is in them the values decide. */
static wick_status detections(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    const wick_nms_options options = {.most = 7, .overlap = 0.2, .by_score = true, .score = 0.3, .center = true};
    out[0] = wick_nms_padded(in[0], in[1], &options, &out[1]);
    return WICK_OK;
}
MODEL_TEST(boxes_that_overlap_are_left_out) {
    const net n = {.name = "detections",
                   .fn = detections,
                   .n_in = 2,
                   .n_out = 2,
                   .in = {{"boxes", WICK_F32, 3, {2, 40, 4}}, {"scores", WICK_F32, 3, {2, 3, 40}}},
                   .low = {0.1, 0},
                   .high = {1, 1}};
    check_net(&n);
}
/* Values whose places nobody asks for: TopK has to name them all the same (scripts/check_export). */
static wick_status ranks(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_sort(in[0], 1, true, NULL);
    out[1] = wick_kthvalue(in[0], 3, 0, false, NULL);
    out[2] = wick_quantile(in[0], 0.3, 1, true, WICK_QUANTILE_LINEAR);
    return WICK_OK;
}
MODEL_TEST(values_by_rank_without_their_places) {
    const net n = {.name = "ranks",
                   .fn = ranks,
                   .n_in = 1,
                   .n_out = 3,
                   .in = {{"x", WICK_F32, 2, {5, 7}}},
                   .low = {-1},
                   .high = {1}};
    check_net(&n);
}
static wick_status counts(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    out[0] = wick_unique_padded(in[0], &out[1], &out[2], &out[3]);
    out[4] = wick_bincount_fixed(in[0], NULL, 5);
    out[5] = wick_nonzero_padded(wick_gt(in[0], wick_constant(c, WICK_I64, 1)), 20, -1, &out[6]);
    return WICK_OK;
}
MODEL_TEST(counts_of_an_open_extent) {
    static const wick_onnx_symbol open = {"N", 0, 0};
    net n = {.name = "counts",
             .fn = counts,
             .n_in = 1,
             .n_out = 7,
             .in = {{"x", WICK_I64, 1, {6}}},
             .low = {-2},
             .high = {6},
             .options = {.n_symbols = 1, .symbols = &open},
             .batch = 33};
    check_net(&n);
    n.name = "counts_of_one", n.batch = 1;
    check_net(&n);
}
static wick_status special(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_lgamma(in[0]), out[1] = wick_digamma(in[0]), out[2] = wick_erfinv(in[1]);
    return WICK_OK;
}
MODEL_TEST(special_functions_are_as_exact_as_f32_is) {
    net n = {.name = "special",
             .fn = special,
             .n_in = 2,
             .n_out = 3,
             .in = {{"x", WICK_F32, 1, {500}}, {"p", WICK_F32, 1, {500}}},
             .low = {-9, -1},
             .high = {30, 1}};
    check_net(&n);
    n.name = "special_of_whole_numbers"; /* poles, and where the inverse ends */
    n.low[0] = -3, n.high[0] = 3, n.rising = 1, n.in[0].dims[0] = 6, n.low[1] = -1, n.high[1] = -1;
    check_net(&n);
    const wick_spec wide[2] = {{"x", WICK_F64, 1, {3}}, {"p", WICK_F64, 1, {3}}};
    char path[1024];
    snprintf(path, sizeof path, "%s/none.onnx", folder);
    CHECK(wick_onnx_save(model, special, NULL, 2, wide, 3, path, NULL) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "lgamma: of f64");
    wick_context_clear_error(ctx);
}

/* ---- files, and what is refused ---------------------------------------------------------------------------------- */

static wick_status dense(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_nn_linear(model, "fc2", wick_relu(wick_nn_linear(model, "fc1", in[0], 8)), 4);
    return WICK_OK;
}
MODEL_TEST(weights_go_to_a_safetensors_file_beside_the_model) {
    net n = {.name = "external",
             .fn = dense,
             .n_in = 1,
             .n_out = 1,
             .in = {{"x", WICK_F32, 2, {2, 6}}},
             .options = {.weights = "net.safetensors"}};
    char path[1024];
    wick_checkpoint *file = NULL;
    make_states(&n);
    REQUIRE(check_net(&n));
    snprintf(path, sizeof path, "%s/external/net.safetensors", folder);
    CHECK_MSG(wick_checkpoint_open(ctx, path, &file) == WICK_OK, "%s", wick_context_error(ctx));
    if (file) {
        CHECK_INT(wick_checkpoint_count(file), 4);
        wick_model *other = NULL;
        CHECK(wick_model_new(ctx, &other) == WICK_OK);
        wick_checkpoint_free(&file);
        wick_model_free(&other);
    }
    FILE *weights = fopen(path, "r+b");
    REQUIRE(weights && fseek(weights, -3, SEEK_END) == 0);
    const int byte = fgetc(weights);
    REQUIRE(fseek(weights, -3, SEEK_END) == 0 && fputc(byte ^ 1, weights) != EOF && fclose(weights) == 0);
    wick_onnx *onnx = NULL;
    snprintf(path, sizeof path, "%s/external/model.onnx", folder);
    CHECK_INT(wick_onnx_open(ctx, path, NULL, &onnx), WICK_ERR_FORMAT);
    CHECK_STR_HAS(wick_context_error(ctx), "its checksum is");
    wick_onnx_free(&onnx);
    n.options.weights = "../net.safetensors";
    snprintf(path, sizeof path, "%s/external/model.onnx", folder);
    CHECK(wick_onnx_save(model, dense, NULL, 1, n.in, 1, path, &n.options) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "not the name of a file beside");
}
MODEL_TEST(names_of_parameters_inputs_and_outputs_are_kept) {
    const net n = {.name = "names",
                   .fn = dense,
                   .n_in = 1,
                   .n_out = 1,
                   .in = {{"x", WICK_F32, 2, {2, 6}}},
                   .options = {.outputs = (const char *[]){"fc1.weight"}, .doc = "a test", .graph = "two layers"}};
    char path[1024];
    wick_onnx *onnx = NULL;
    make_states(&n);
    snprintf(path, sizeof path, "%s/names.onnx", folder);
    CHECK_MSG(wick_onnx_save(model, dense, NULL, 1, n.in, 1, path, &n.options) == WICK_OK, "%s",
              wick_context_error(ctx));
    CHECK(wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK);
    REQUIRE(onnx != NULL);
    CHECK(wick_model_find(wick_onnx_model(onnx), "fc1.bias") && wick_model_find(wick_onnx_model(onnx), "fc2.weight"));
    CHECK(!wick_model_find(wick_onnx_model(onnx), "fc1.weight")); /* the output has that name */
    CHECK(strcmp(wick_onnx_output(onnx, 0).name, "fc1.weight") == 0 &&
          strcmp(wick_onnx_get_info(onnx).graph, "two layers") == 0);
    CHECK_INT(wick_onnx_get_info(onnx).opset, 18);
    CHECK_INT(wick_onnx_get_info(onnx).nodes, 3); /* Gemm, Relu, Gemm */
    wick_onnx_free(&onnx);
}
static wick_status lacking(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_here(WICK_PLACE);
    out[0] =
        wick_add(wick_nextafter(in[0], wick_neg(in[0])),
                 wick_mul(wick_polygamma(in[0], in[0]), wick_cast(wick_mean(in[0], WICK_ALL_AXES, false), WICK_F32)));
    return WICK_OK;
}
static wick_status assigns(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *count = wick_model_state(model, "count", WICK_ROLE_BUFFER, WICK_F32, 0, NULL, wick_init_constant(0));
    out[0] = wick_add(in[0], count);
    return wick_assign(count, wick_add(count, wick_constant(c, WICK_F32, 1)));
}
/* Does so for one extent alone. */
static wick_status assigns_at_33(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    if (wick_tensor_dim(in[0], 0) == 33) return assigns(c, in, out, user);
    out[0] = wick_neg(in[0]);
    return WICK_OK;
}
/* As many ops as the extent is long, up to 32; of 13 it is twice as much. */
static wick_status other_at_13(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    const int64_t n = wick_tensor_dim(in[0], 0);
    out[0] = wick_neg(in[0]);
    for (int64_t i = 0; i < n && n <= 32; i++) out[0] = wick_neg(wick_neg(out[0]));
    if (n == 13) out[0] = wick_add(out[0], out[0]);
    return WICK_OK;
}
static wick_status follows(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    out[0] = wick_mul(in[0], wick_constant(c, WICK_F32, 1.0 / (double)wick_tensor_dim(in[0], 0)));
    return WICK_OK;
}
MODEL_TEST(what_onnx_cannot_say_is_refused_by_name_and_line) {
    char path[1024];
    const wick_spec x = {"x", WICK_F32, 1, {4}};
    const wick_onnx_symbol open = {"N", 0, 0}, nowhere = {"N", 0, 1};
    snprintf(path, sizeof path, "%s/refused.onnx", folder);
    remove(path);
    CHECK(wick_onnx_save(model, lacking, NULL, 1, &x, 1, path, NULL) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "nextafter at ");
    CHECK_STR_HAS(wick_context_error(ctx), "polygamma at ");
    CHECK_STR_HAS(wick_context_error(ctx), "test_onnx_export.c:");
    CHECK(wick_onnx_save(model, assigns, NULL, 1, &x, 1, path, NULL) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "assigns states");
    CHECK(wick_onnx_save(model, follows, NULL, 1, &x, 1, path,
                         &(wick_onnx_save_options){.n_symbols = 1, .symbols = &open}) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "a number depends on N (axis 0 of x)");
    CHECK(wick_onnx_save(model, assigns_at_33, NULL, 1, &x, 1, path,
                         &(wick_onnx_save_options){.n_symbols = 1, .symbols = &open}) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "assigns states");
    CHECK(wick_onnx_save(model, other_at_13, NULL, 1, &(wick_spec){"x", WICK_F32, 1, {100}}, 1, path,
                         &(wick_onnx_save_options){.n_symbols = 1, .symbols = &open}) == WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(wick_context_error(ctx), "for N = 13 (axis 0 of x) the function records other ops");
    CHECK(wick_onnx_save(model, follows, NULL, 1, &x, 1, path,
                         &(wick_onnx_save_options){.n_symbols = 1, .symbols = &nowhere}) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "axis 1 of input 0");
    CHECK(wick_onnx_save(model, follows, NULL, 1, &x, 1, path, &(wick_onnx_save_options){.opset = 12}) ==
          WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "opset 12; from 13 to 28");
    CHECK(wick_onnx_save(model, follows, NULL, 1, &x, 1, path,
                         &(wick_onnx_save_options){.outputs = (const char *[]){"x"}}) == WICK_ERR_INVALID);
    CHECK_STR_HAS(wick_context_error(ctx), "are called \"x\"");
    CHECK(wick_onnx_save(model, follows, NULL, 1, &x, 1, "/nowhere/at/all.onnx", NULL) == WICK_ERR_IO);
    CHECK(access(path, F_OK) != 0);
    wick_context_clear_error(ctx);
}

/* ---- models that were opened ------------------------------------------------------------------------------------- */

/* Reads FOLDER/WHAT_i.npy, or FOLDER/test_data_set_0/WHAT_i.pb. */
static bool read_value(wick_onnx *onnx, const wick_onnx_port *port, const char *from, const char *what, int i,
                       wick_onnx_value *out) {
    char at[1200];
    snprintf(at, sizeof at, "%s/%s_%d.npy", from, what, i);
    if (access(at, R_OK) == 0) {
        *out = (wick_onnx_value){.kind = WICK_VALUE_TENSOR, .tensor = wick_npy_read(ctx, at)};
        return wick_tensor_error(out->tensor, NULL) == WICK_OK;
    }
    snprintf(at, sizeof at, "%s/test_data_set_0/%s_%d.pb", from, what, i);
    return access(at, R_OK) == 0 && wick_onnx_read_value(onnx, port, at, out) == WICK_OK &&
           out->kind == WICK_VALUE_TENSOR;
}
typedef struct elsewhere {
    const char *name;
    int open;                 /* extents of its inputs that stay so */
    /* whose axis gets the number that it has in the data: the graph is none for others; or NULL */
    const char *input;
    int axis;
} elsewhere;

/* The model, written again, gives what it gave. */
static void write_again(const elsewhere *row, int opset) {
    const char *models = getenv("WICK_MODELS"), *name = row->name;
    int open = 0;
    char from[600], at[1400], to[1200];
    wick_onnx *first = NULL, *second = NULL;
    wick_onnx_value in[MOST_PORTS] = {0}, want[MOST_PORTS] = {0}, got[MOST_PORTS] = {0};
    wick_spec specs[MOST_PORTS];
    snprintf(from, sizeof from, "%.200s/%s", models && *models ? models : "../shared/models", name);
    snprintf(at, sizeof at, "%s/model.onnx", from);
    if (access(at, R_OK) != 0) SKIP("no models");
    REQUIRE(set_up());
    wick_scope *scope = wick_scope_open(ctx);
    bool good = wick_onnx_open(ctx, at, NULL, &first) == WICK_OK;
    for (int i = 0; good && i < wick_onnx_inputs(first); i++) /* a condition stands on the sampling rate */
        if (strcmp(wick_onnx_input(first, i).name, "sr") == 0)
            good = wick_onnx_fix_input(first, i, wick_constant(ctx, WICK_I64, 16000)) == WICK_OK;
    good = good && wick_onnx_inputs(first) <= MOST_PORTS && wick_onnx_outputs(first) <= MOST_PORTS;
    for (int i = 0; good && i < wick_onnx_inputs(first); i++) {
        const wick_onnx_port port = wick_onnx_input(first, i);
        good = read_value(first, &port, from, "input", i, &in[i]);
        if (!good) break;
        specs[i] = (wick_spec){NULL, wick_tensor_dtype(in[i].tensor), wick_tensor_rank(in[i].tensor), {0}};
        memcpy(specs[i].dims, wick_tensor_dims(in[i].tensor), sizeof specs[i].dims);
    }
    CHECK_MSG(good, "%s: %s", name, wick_context_error(ctx));
    snprintf(to, sizeof to, "%s/again_%s_%d", folder, strrchr(name, '/') + 1, opset);
    mkdir(to, 0777);
    snprintf(at, sizeof at, "%s/model.onnx", to);
    const wick_onnx_save_options options = {.opset = opset};
    for (int i = 0; good && i < wick_onnx_inputs(first); i++) {
        const wick_onnx_port port = wick_onnx_input(first, i);
        for (int d = 0; d < specs[i].rank; d++)
            if (port.dims[d] < 0 && !(row->input && strcmp(row->input, port.name) == 0 && row->axis == d))
                specs[i].dims[d] = -1;
    }
    wick_status status = good ? wick_onnx_resave(first, row->input ? specs : NULL, at, &options) : WICK_ERR_INVALID;
    CHECK_MSG(status == WICK_OK, "%s: %s", name, wick_context_error(ctx));
    if (status == WICK_OK) status = wick_onnx_apply(first, in, want);
    if (status == WICK_OK) status = wick_onnx_open(ctx, at, NULL, &second);
    if (status == WICK_OK) status = wick_onnx_apply(second, in, got);
    CHECK_MSG(status == WICK_OK, "%s: %s", name, wick_context_error(ctx));
    for (int i = 0; status == WICK_OK && i < wick_onnx_inputs(second); i++)
        for (int d = 0; d < wick_onnx_input(second, i).rank; d++) open += wick_onnx_input(second, i).dims[d] < 0;
    if (status == WICK_OK) CHECK_MSG(open == row->open, "%s: %d extents are open", name, open);
    for (int i = 0; status == WICK_OK && i < wick_onnx_outputs(first); i++) {
        const wick_status same = wick_onnx_value_compare(ctx, &got[i], &want[i], 1e-3, 1e-5);
        CHECK_MSG(same == WICK_OK, "%s: %s", name, wick_context_error(ctx));
        snprintf(at, sizeof at, "%s/output_%d.npy", to, i);
        CHECK(wick_npy_write(ctx, at, want[i].tensor) == WICK_OK);
    }
    for (int i = 0; status == WICK_OK && i < wick_onnx_inputs(first); i++) {
        snprintf(at, sizeof at, "%s/%s.npy", to, wick_onnx_input(first, i).name);
        CHECK(wick_npy_write(ctx, at, in[i].tensor) == WICK_OK);
    }
    wick_onnx_free(&first);
    wick_onnx_free(&second);
    wick_scope_close(&scope);
    tear_down();
}
TEST(models_from_elsewhere_are_written_again) {
    static const elsewhere rows[] = {
        {"bench/lenet", 0, NULL, 0},
        {"bench/mnist_cnn", 0, NULL, 0},
        {"bench/resnet8", 0, NULL, 0},
        {"bench/dscnn", 0, NULL, 0},
        {"bench/mobilenetv1_025", 0, NULL, 0},
        {"bench/autoencoder", 0, NULL, 0},
        {"onnx/mnist-8", 0, NULL, 0},
        {"onnx/mnist-opt", 0, NULL, 0},
        {"onnx/espcn_x3", 0, NULL, 0},
        {"onnx/dtln_1", 0, NULL, 0},
        {"onnx/ppocr_cls", 3, NULL, 0},
        {"onnx/ppocr_v4_det", 3, NULL, 0},
        {"onnx/ultraface_version-RFB-320", 0, NULL, 0},
        {"onnx/ultraface_version-RFB-320_simplified", 0, NULL, 0},
        {"onnx/ultraface_version-RFB-320_without_postprocessing", 0, NULL, 0},
        {"onnx/magika_standard_v3_3", 1, NULL, 0},
        {"onnx/dnsmos_bak_ovr", 1, NULL, 0},
        {"onnx/dnsmos_sig_bak_ovr", 1, NULL, 0},
        {"onnx/silero_vad_16k_op15", 2, "input", 1}, /* 576 samples; the batch, which the file names */
        {"onnx/silero_vad_v6", 2, "input", 1},       /* the batch, which it doesn't name */
        {"onnx/silero_vad_openvino_16k", 0, NULL, 0},
    };
    for (size_t i = 0; i < WICK_COUNTOF(rows) && !test_skipped; i++) write_again(&rows[i], 0);
    if (!test_skipped) write_again(&rows[2], 13), write_again(&rows[2], 24);
}

static wick_status both(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    out[0] = wick_concat(2, in, 0);
    return WICK_OK;
}
/* Names of dims that differ far behind are two, and stay whole. */
MODEL_TEST(long_names_of_dims_stay) {
    char path[1024], names[2][201] = {{0}};
    wick_onnx *onnx = NULL;
    for (int i = 0; i < 2; i++) memset(names[i], 'n', 200), names[i][199] = (char)('0' + i);
    const wick_spec in[2] = {{"a", WICK_F32, 1, {4}}, {"b", WICK_F32, 1, {5}}};
    const wick_onnx_symbol symbols[2] = {{names[0], 0, 0}, {names[1], 1, 0}};
    const wick_onnx_save_options options = {.n_symbols = 2, .symbols = symbols};
    /* saved, and saved again twice: with the dims of the file, and with those of specs */
    for (int again = 0; again < 3; again++) {
        const wick_spec open[2] = {{NULL, WICK_F32, 1, {-1}}, {NULL, WICK_F32, 1, {-1}}};
        snprintf(path, sizeof path, "%s/names_%d.onnx", folder, again);
        wick_status status = again ? wick_onnx_resave(onnx, again == 2 ? open : NULL, path, NULL)
                                   : wick_onnx_save(model, both, NULL, 2, in, 1, path, &options);
        CHECK_MSG(status == WICK_OK, "%s", wick_context_error(ctx));
        wick_onnx_free(&onnx);
        REQUIRE(wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK);
        for (int i = 0; i < 2; i++) {
            const wick_onnx_port port = wick_onnx_input(onnx, i);
            CHECK(port.dims[0] < 0 && port.dim_names[0] && strcmp(port.dim_names[0], names[i]) == 0);
        }
    }
    const wick_spec one_open[2] = {{NULL, WICK_F32, 1, {-1}}, {NULL, WICK_F32, 1, {7}}};
    CHECK(wick_onnx_resave(onnx, one_open, path, NULL) == WICK_OK);
    wick_onnx_free(&onnx);
    REQUIRE(wick_onnx_open(ctx, path, NULL, &onnx) == WICK_OK);
    CHECK(wick_onnx_input(onnx, 0).dims[0] < 0 && wick_onnx_input(onnx, 1).dims[0] == 7);
    wick_onnx_free(&onnx);
}

/* ---- every op ---------------------------------------------------------------------------------------------------- */

static use *the_use;
static int the_outputs;
static wick_status one_op(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *all[MAX_OUT];
    wick_here(WICK_PLACE);
    wick_record_n(c, the_use->op, the_use->sample.n_in, in, the_use->sample.attr, the_use->sample.attr_size,
                  the_use->op->n_out, all);
    for (int i = 0; i < the_outputs; i++) out[i] = all[i];
    return WICK_OK;
}
/* Ops that export does not know: what ONNX has nothing for, gradients, and what trains. */
static bool exports(const char *name) {
    static const char *const none[] = {"nextafter",
                                       "polygamma",
                                       "gamma_slope",
                                       "conv_weight",
                                       "max_pool_pick",
                                       "max_pool_put",
                                       "avg_pool_share",
                                       "plane_take",
                                       "resample_back",
                                       "taps_put",
                                       "taps_dot",
                                       "roi_align_put",
                                       "cholesky",
                                       "lu",
                                       "lu_solve",
                                       "triangular_solve",
                                       "qr",
                                       "eigh",
                                       "svd",
                                       "check_factor",
                                       "rnn_grad",
                                       "lstm_grad",
                                       "gru_grad",
                                       "ctc_loss",
                                       "ctc_loss_grad",
                                       "attention_grad",
                                       "random_bits",
                                       "random_truncated",
                                       "random_integers",
                                       "gamma_draw",
                                       "permutation",
                                       "multinomial",
                                       "tree_ensemble"};
    for (size_t i = 0; i < WICK_COUNTOF(none); i++)
        if (strcmp(none[i], name) == 0) return false;
    return true;
}
TEST(every_op_that_onnx_has_gives_the_same_numbers) {
    REQUIRE(set_up());
    int written = 0, all = 0;
    FOR_EACH_OP(op) {
        all++;
        written += exports(op->name);
        for (int k = 0; k < 4; k++) {
            use u;
            wick_scope *scope = wick_scope_open(ctx);
            char name[128], ports[MAX_IN][16];
            net n = {.name = name,
                     .fn = one_op,
                     .atol = strncmp(op->name, "int8", 4) ? 0 : 1,
                     .options = {.opset = k == 3   ? 13
                                          : k == 2 ? op == &wick_op_bit_cast ? 26 : 22
                                                   : 0}};
            int tries = 0;
            bool empty;
            do { /* something to compare */
                use_draw(&u, op);
                empty = false;
                for (int i = 0; i < u.sample.n_in; i++) empty |= wick_type_count(&u.sample.in[i]) == 0;
            } while (empty && ++tries < 50);
            snprintf(name, sizeof name, "op_%s_%d", op->name, k);
            n.rising = op == &wick_op_searchsorted;
            /* ONNX has it of 16 bits from opset 21 on */
            if (op == &wick_op_dequantize && wick_dtype_size(u.sample.in[0].dtype) == 2 && n.options.opset < 21)
                n.options.opset = 21;
            if (op == &wick_op_attention) { /* without dropout */
                while (u.sample.n_in > 3 && u.sample.in[u.sample.n_in - 1].dtype == WICK_I64) use_draw(&u, op);
            }
            the_use = &u;
            while (op == &wick_op_kthvalue && ((const kth_attr *)u.sample.attr)->how == WICK_NAN_MEDIAN)
                use_draw(&u, op);
            /* what gradients need is left out */
            const bool one = op == &wick_op_cummax || op == &wick_op_cummin || op == &wick_op_cross_entropy;
            the_outputs = n.n_out = op == &wick_op_lstm                        ? 3
                                    : op == &wick_op_rnn || op == &wick_op_gru ? 2
                                    : one                                      ? 1
                                                                               : op->n_out;
            n.n_in = u.sample.n_in;
            for (int i = 0; i < n.n_in; i++) {
                wick_type *t = &u.sample.in[i];
                if (t->dtype == WICK_F64 && op != &wick_op_bit_cast) t->dtype = WICK_F32;
                snprintf(ports[i], sizeof ports[i], "x%d", i);
                n.in[i] = (wick_spec){ports[i], (wick_dtype)t->dtype, t->rank, {0}};
                memcpy(n.in[i].dims, t->dims, sizeof t->dims);
                n.low[i] = u.sample.lo[i], n.high[i] = u.sample.hi[i];
            }
            if (op == &wick_op_equal_runs) n.high[1] = 0.5; /* place 0: within any vector */
            if (exports(op->name)) {
                char path[1024];
                snprintf(path, sizeof path, "%s/unused.onnx", folder);
                const wick_status status = wick_onnx_save(model, one_op, NULL, n.n_in, n.in, n.n_out, path, &n.options);
                /* too new */
                if (status == WICK_ERR_UNSUPPORTED &&
                    (strstr(wick_context_error(ctx), "on it has") || strstr(wick_context_error(ctx), "later opset") ||
                     strstr(wick_context_error(ctx), "several sizes")))
                    wick_context_clear_error(ctx);
                else if (op->flags & WICK_OP_RANDOM)
                    CHECK_MSG(status == WICK_OK, "%s: %s", op->name,
                              wick_context_error(ctx)); /* other numbers each time */
                else check_net(&n);
            } else {
                char path[1024];
                snprintf(path, sizeof path, "%s/unused.onnx", folder);
                CHECK_MSG(wick_onnx_save(model, one_op, NULL, n.n_in, n.in, n.n_out, path, &n.options) != WICK_OK,
                          "%s is exported after all", op->name);
                CHECK_STR_HAS(wick_context_error(ctx), op->name);
                wick_context_clear_error(ctx);
            }
            wick_scope_close(&scope);
        }
    }
    printf("  %d of %d ops\n", written, all);
    test_count("ops exported", written);
    tear_down();
}

int main(int argc, char **argv) { return test_main(argc, argv); }
