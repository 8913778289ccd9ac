/* Export to ONNX: every architecture and every op is written, read back by Wick's own reader, and gives the same numbers. With WICK_EXPORT_OUT=DIR in
 * the environment what is written stays there, with inputs and outputs beside it, for scripts/check_export, which asks onnx.checker and ONNX Runtime. */
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
    return wick_context_new(&ctx, &(wick_context_options){.threads = 1, .seed = 3}) == WICK_OK && wick_model_new(ctx, &model) == WICK_OK;
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

/* ---- one case --------------------------------------------------------------------------------------------------------------- */

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
    const double low = given ? n->low[i] : whole ? 0 : -1, high = given ? n->high[i] : whole ? s.dtype == WICK_BOOL ? 1 : 3 : 1;
    const int64_t count = wick_type_count(&t);
    char *data = calloc((size_t)count + 1, wick_dtype_size(s.dtype));
    for (int64_t k = 0; k < count; k++) put(&t, data, k, whole ? (double)test_rand_int((int)low, (int)high) : test_rand_real(low, high));
    for (int64_t k = 0; k < count && n->rising == i + 1; k++) put(&t, data, k, low + (high - low) * (double)k / (double)count);
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
        const wick_status same = wick_onnx_value_compare(ctx, &got[i], &want, n->rtol ? n->rtol : 1e-4, n->atol ? n->atol : 1e-5);
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
        CHECK(wick_assign(s.tensor, positive ? wick_add(noise, wick_like(noise, 0.5)) : wick_sub(noise, wick_like(noise, 0.5))) == WICK_OK);
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

/* ---- architectures ------------------------------------------------------------------------------------------------------------ */

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
    const net n = {.name = name, .fn = zoo, .user = &network, .n_in = 1, .n_out = 1, .in = {{"image", WICK_F32, 4, {1, channels, size, size}}},
             .options = {.n_symbols = 1, .symbols = &batch, .outputs = (const char *[]){"logits"}}, .batch = 5};
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
    check_zoo("net_conv", "net:conv 8 3 same, bn, relu, maxpool 2, conv 8 3 stride 2 pad 1, gelu, avgpool 2, flatten, linear 32, layernorm, tanh, linear classes", 3, 16);
    check_zoo("net_residual", "net:conv 8 3 same, residual(conv 8 3 same, bn, relu, conv 8 3 same, bn), relu, globalpool, linear classes", 3, 12);
}

/* ---- sequences ------------------------------------------------------------------------------------------------------------------ */

static wick_status lstm(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = wick_nn_embedding(model, "embed", in[0], 20, 12, WICK_F32);
    x = wick_nn_lstm(model, "lstm", x, 16, &(wick_nn_rnn_options){.layers = 2, .h0 = in[1], .c0 = in[2]}, &out[1], &out[2]);
    out[0] = wick_nn_linear(model, "head", x, 20);
    return WICK_OK;
}
MODEL_TEST(an_lstm_of_letters_keeps_its_state) {
    const net n = {.name = "char_lstm", .fn = lstm, .n_in = 3, .n_out = 3, .in = {{"ids", WICK_I64, 2, {7, 2}}, {"h", WICK_F32, 3, {2, 2, 16}}, {"c", WICK_F32, 3, {2, 2, 16}}},
                   .high = {19}, .options = {.outputs = (const char *[]){"logits", "h_n", "c_n"}}};
    make_states(&n);
    check_net(&n);
}
static wick_status gru(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    wick_tensor *x = wick_nn_gru(model, "gru", in[0], 10, &(wick_nn_rnn_options){.layers = 2, .bidirectional = true, .batch_first = true, .lengths = in[1]}, NULL);
    out[0] = wick_log_softmax(wick_nn_linear(model, "head", x, 11), -1);
    return WICK_OK;
}
MODEL_TEST(a_gru_both_ways_with_lengths) {
    const net n = {.name = "gru", .fn = gru, .n_in = 2, .n_out = 1, .in = {{"x", WICK_F32, 3, {3, 6, 5}}, {"lengths", WICK_I64, 1, {3}}}, .low = {-1, 1}, .high = {1, 6}};
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
        x = wick_nn_decoder_layer(model, name, x, NULL, &(wick_nn_transformer_options){.feedforward = 64, .pre_norm = true, .gelu = true, .attention = {.heads = 4, .kv_heads = 2, .causal = true, .rotary = i}});
    }
    out[0] = wick_nn_tied_linear(model, "wte", wick_nn_layer_norm(model, "norm", x), 20);
    return WICK_OK;
}
MODEL_TEST(a_transformer_of_letters) {
    static const wick_onnx_symbol batch = {"N", 0, 0};
    net n = {.name = "char_transformer", .fn = gpt, .n_in = 1, .n_out = 1, .in = {{"ids", WICK_I64, 2, {2, 9}}}, .high = {19}, .options = {.n_symbols = 1, .symbols = &batch}, .batch = 3};
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
    const net n = {.name = "transformer", .fn = translator, .n_in = 2, .n_out = 1, .in = {{"source", WICK_F32, 3, {2, 7, 24}}, {"target", WICK_F32, 3, {2, 5, 24}}},
                   .options = {.n_symbols = 4, .symbols = open}};
    make_states(&n);
    check_net(&n);
}
static wick_status keyword(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)c, (void)user;
    const wick_mel_options mel = {.sample_rate = 8000, .stft = {.n_fft = 256, .hop = 80}, .n_mels = 32, .log = WICK_LOG_NATURAL};
    wick_tensor *x = wick_unsqueeze(wick_log_mel(in[0], &mel), 1);
    x = wick_relu(wick_nn_batch_norm(model, "norm", wick_nn_conv(model, "conv", x, 8, 3, &(wick_nn_conv_options){.same = true, .stride = 2})));
    out[0] = wick_nn_linear(model, "fc", wick_mean(x, 2, (int[]){2, 3}, false), 10);
    return WICK_OK;
}
MODEL_TEST(a_keyword_spotter_with_its_spectrum) {
    const net n = {.name = "keyword", .fn = keyword, .n_in = 1, .n_out = 1, .in = {{"sound", WICK_F32, 2, {2, 2000}}}, .atol = 1e-4};
    make_states(&n);
    check_net(&n);
}

/* ---- every op ---------------------------------------------------------------------------------------------------------------------- */

static use *the_use;
static int the_outputs;
static wick_status one_op(wick_context *c, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)user;
    wick_tensor *all[MAX_OUT];
    wick_here(WICK_PLACE);
    wick_record_n(c, the_use->op, the_use->sample.n_in, in, the_use->sample.attr, the_use->sample.attr_size, the_use->op->n_out, all);
    for (int i = 0; i < the_outputs; i++) out[i] = all[i];
    return WICK_OK;
}
/* Ops that export does not know: what ONNX has nothing for, gradients, and what trains. */
static bool exports(const char *name) {
    static const char *const none[] = {
        "nextafter", "erfinv", "lgamma", "digamma", "polygamma", "gamma_slope", "cumprod", "cummax", "cummin", "conv_weight", "max_pool_pick", "max_pool_put",
        "avg_pool_share", "max_pool_index", "plane_put", "plane_take", "window_sum", "resample_back", "taps", "taps_put", "taps_dot", "roi_align",
        "roi_align_put", "roi_align_max", "nms", "nonzero", "kthvalue", "equal_runs", "bincount", "cholesky", "lu", "lu_solve", "triangular_solve", "qr", "eigh",
        "svd", "check_factor", "rnn_grad", "lstm_grad", "gru_grad", "ctc_loss", "ctc_loss_grad", "attention_grad",
        "random_uniform", "random_normal", "random_bits", "random_truncated", "random_integers", "gamma_draw", "permutation", "multinomial", "cross_entropy", "bit_cast"};
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
            net n = {.name = name, .fn = one_op, .options = {.opset = k == 3 ? 13 : k == 2 ? 22 : 0}};
            int tries = 0;
            bool empty;
            do { /* something to compare */
                use_draw(&u, op);
                empty = false;
                for (int i = 0; i < u.sample.n_in; i++) empty |= wick_type_count(&u.sample.in[i]) == 0;
            } while (empty && ++tries < 50);
            snprintf(name, sizeof name, "op_%s_%d", op->name, k);
            n.rising = op == &wick_op_searchsorted;
            if (op == &wick_op_attention) { /* without dropout */
                while (u.sample.n_in > 3 && u.sample.in[u.sample.n_in - 1].dtype == WICK_I64) use_draw(&u, op);
            }
            the_use = &u;
            the_outputs = n.n_out = op == &wick_op_lstm ? 3 : op == &wick_op_rnn || op == &wick_op_gru ? 2 : op->n_out;
            n.n_in = u.sample.n_in;
            for (int i = 0; i < n.n_in; i++) {
                wick_type *t = &u.sample.in[i];
                if (t->dtype == WICK_F64) t->dtype = WICK_F32;
                snprintf(ports[i], sizeof ports[i], "x%d", i);
                n.in[i] = (wick_spec){ports[i], (wick_dtype)t->dtype, t->rank, {0}};
                memcpy(n.in[i].dims, t->dims, sizeof t->dims);
                n.low[i] = u.sample.lo[i], n.high[i] = u.sample.hi[i];
            }
            if (exports(op->name)) {
                char path[1024];
                snprintf(path, sizeof path, "%s/unused.onnx", folder);
                const wick_status status = wick_onnx_save(model, one_op, NULL, n.n_in, n.in, n.n_out, path, &n.options);
                if (status == WICK_ERR_UNSUPPORTED && (strstr(wick_context_error(ctx), "on it has") || strstr(wick_context_error(ctx), "later opset"))) wick_context_clear_error(ctx); /* too new */
                else check_net(&n);
            } else {
                char path[1024];
                snprintf(path, sizeof path, "%s/unused.onnx", folder);
                CHECK_MSG(wick_onnx_save(model, one_op, NULL, n.n_in, n.in, n.n_out, path, &n.options) != WICK_OK, "%s is exported after all", op->name);
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
