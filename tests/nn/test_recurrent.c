/* RNN, LSTM and GRU against PyTorch (values and all gradients, f64) and ONNX Runtime (values, f32):
 * golden/recurrent.safetensors, made by golden/make_recurrent.py. The driver of ops has the rest: tiers, threads,
 * strides, gradients by differences. */
#include "io/safetensors.h"
#include "tensor/tensor.h"
#include "test.h"
#undef WICK_NO_SITES
#include "wick/nn.h"
#include "wick/sequence.h"

#define CHECK_OK(ctx, call) CHECK_MSG((call) == WICK_OK, "%s", wick_context_error(ctx))
typedef const wick_safetensors_tensor array;
static wick_safetensors file;

static bool open_file(void) {
    if (file.count) return true;
    wick_msg msg;
    const wick_status status =
        wick_safetensors_open(&file, WICK_SOURCE_DIR "/tests/golden/recurrent.safetensors", &msg);
    CHECK_MSG(status == WICK_OK, "%s", msg.text);
    return status == WICK_OK;
}
static array *find(const char *name, const char *part) {
    char full[288];
    snprintf(full, sizeof full, "%s/%s", name, part);
    return wick_safetensors_find(&file, full);
}
static wick_tensor *load(wick_context *ctx, const char *name, const char *part) {
    array *a = find(name, part);
    return a ? wick_from(ctx, a->dtype, a->rank, a->dims, a->data) : NULL;
}
static double number(wick_dtype dtype, const void *data, int64_t i) {
    return dtype == WICK_F64 ? ((const double *)data)[i] : ((const float *)data)[i];
}

/* The largest |a - b| / max(1, |b|). */
static void compare(const char *name, const char *part, wick_tensor *t, double tolerance) {
    array *g = find(name, part);
    const char *text = "";
    CHECK_MSG(g != NULL, "%s has no golden %s", name, part);
    CHECK_MSG(t && wick_tensor_error(t, &text) == WICK_OK, "%s, %s: %s", name, part, text);
    if (!g || !t || wick_tensor_error(t, NULL)) return;
    bool same = wick_tensor_dtype(t) == g->dtype && wick_tensor_rank(t) == g->rank;
    for (int i = 0; same && i < g->rank; i++) same = wick_tensor_dim(t, i) == g->dims[i];
    CHECK_MSG(same, "%s, %s: another shape or dtype", name, part);
    const void *data = NULL;
    const wick_status status = wick_data(t, &data);
    CHECK_MSG(status == WICK_OK, "%s, %s: %s", name, part, wick_context_error(wick_tensor_context(t)));
    for (int64_t i = 0; same && data && i < wick_tensor_count(t); i++) {
        double b = number(g->dtype, g->data, i), a = number(g->dtype, data, i), off = fabs(a - b) / fmax(1, fabs(b));
        CHECK_MSG(off <= tolerance, "%s, %s, element %lld: %.17g, not %.17g", name, part, (long long)i, a, b);
        if (!(off <= tolerance)) break;
    }
}

/* plain: by wick_scan_loop; then the gradients of the gradients' squares too, where the file has them. */
static void check_torch(wick_context *ctx, const char *name, bool plain) {
    /* cell, hidden, layers, bidirectional, batch_first, bias, relu, projection */
    const int64_t *attr = (const int64_t *)find(name, "attr")->data;
    wick_model *model = NULL;
    wick_scope *scope = wick_scope_open(ctx);
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
    wick_tensor *x = load(ctx, name, "x"), *h = NULL, *c = NULL, *y = NULL, *h0 = load(ctx, name, "h0"),
                *c0 = load(ctx, name, "c0");
    const wick_nn_rnn_options o = {.layers = attr[2],
                                   .bidirectional = attr[3],
                                   .batch_first = attr[4],
                                   .no_bias = !attr[5],
                                   .relu = attr[6],
                                   .h0 = h0,
                                   .c0 = c0,
                                   .lengths = load(ctx, name, "lengths"),
                                   .projection = attr[7],
                                   .plain = plain};
    /* the first makes the states, which then get their values by name, as from a state_dict */
    for (int pass = 0; pass < 2; pass++) {
        if (attr[0] == 0) y = wick_nn_rnn(model, "cell", x, attr[1], &o, &h);
        if (attr[0] == 1) y = wick_nn_lstm(model, "cell", x, attr[1], &o, &h, &c);
        if (attr[0] == 2) y = wick_nn_gru(model, "cell", x, attr[1], &o, &h);
        for (int i = 0; i < wick_model_count(model) && !pass; i++) {
            const wick_named state = wick_model_at(model, i);
            CHECK_MSG(find(name, state.name + 5) != NULL, "PyTorch's %s has no %s", name, state.name);
            if (find(name, state.name + 5)) CHECK_OK(ctx, wick_assign(state.tensor, load(ctx, name, state.name + 5)));
        }
        if (!pass) CHECK_OK(ctx, wick_eval(ctx, 0, NULL, NULL));
    }
    wick_tensor *loss = wick_sum(wick_mul(y, load(ctx, name, "ry")), WICK_ALL_AXES, false);
    loss = wick_add(loss, wick_sum(wick_mul(h, load(ctx, name, "rh")), WICK_ALL_AXES, false));
    if (c) loss = wick_add(loss, wick_sum(wick_mul(c, load(ctx, name, "rc")), WICK_ALL_AXES, false));
    wick_tensor *wrt[64], *grad[64], *twice[64] = {NULL}, *squares = NULL, *all[132];
    const char *parts[64];
    int n = 0, m = 0;
    for (int i = 0; i < wick_model_count(model); i++)
        wrt[n] = wick_model_at(model, i).tensor, parts[n++] = wick_model_at(model, i).name + 5;
    wrt[n] = x, parts[n++] = "x";
    if (h0) wrt[n] = h0, parts[n++] = "h0";
    if (c0) wrt[n] = c0, parts[n++] = "c0";
    wick_grad(loss, n, wrt, grad);
    if (plain && find(name, "grad2.x")) {
        for (int i = 0; i < n; i++) {
            wick_tensor *sum = wick_sum(wick_mul(grad[i], grad[i]), WICK_ALL_AXES, false);
            squares = squares ? wick_add(squares, sum) : sum;
        }
        wick_grad(squares, n, wrt, twice);
        for (int i = 0; i < n; i++) all[m++] = twice[i];
    }
    all[m++] = y, all[m++] = h;
    if (c) all[m++] = c;
    for (int i = 0; i < n; i++) all[m++] = grad[i];
    CHECK_OK(ctx, wick_eval(ctx, m, all, NULL));
    compare(name, "y", y, 1e-10);
    compare(name, "h_n", h, 1e-10);
    if (c) compare(name, "c_n", c, 1e-10);
    for (int i = 0; i < n; i++) {
        char part[96];
        snprintf(part, sizeof part, "grad.%s", parts[i]);
        compare(name, part, grad[i], 1e-10);
        snprintf(part, sizeof part, "grad2.%s", parts[i]);
        if (squares) compare(name, part, twice[i], 1e-9);
    }
    wick_model_free(&model);
    wick_scope_close(&scope);
}

static void check_onnx(wick_context *ctx, const char *name) {
    /* cell, direction, reset_first, input_forget, 1000 clip, acts */
    const int64_t *attr = (const int64_t *)find(name, "attr")->data;
    wick_scope *scope = wick_scope_open(ctx);
    wick_rnn_options o = {.direction = (wick_rnn_direction)attr[1],
                          .reset_first = attr[2],
                          .input_forget = attr[3],
                          .clip = (double)attr[4] / 1000};
    for (int i = 0; i < 6; i++) o.acts[i / 3][i % 3] = (wick_rnn_act)attr[5 + i];
    const wick_rnn_inputs in = {load(ctx, name, "w_ih"), load(ctx, name, "w_hh"),     load(ctx, name, "b_ih"),
                                load(ctx, name, "b_hh"), load(ctx, name, "peephole"), load(ctx, name, "h0"),
                                load(ctx, name, "c0"),   load(ctx, name, "lengths")};
    wick_tensor *x = load(ctx, name, "x"), *h = NULL, *c = NULL;
    wick_tensor *y = attr[0] == 0   ? wick_rnn(x, &in, &o, &h)
                     : attr[0] == 1 ? wick_lstm(x, &in, &o, &h, &c)
                                    : wick_gru(x, &in, &o, &h);
    compare(name, "y", y, 2e-6);
    compare(name, "h_n", h, 2e-6);
    if (c) compare(name, "c_n", c, 2e-6);
    wick_scope_close(&scope);
}

static void check_all(bool onnx, bool plain) {
    wick_context *ctx = NULL;
    int cases = 0;
    REQUIRE(open_file());
    const wick_tier before = wick_tier_current();
    for (int tier = 0; tier < WICK_TIER_COUNT; tier++) {
        if (!wick_tier_force((wick_tier)tier)) continue;
        REQUIRE(wick_context_new(&(wick_context_options){.threads = 2}, &ctx) == WICK_OK);
        for (size_t i = 0; i < file.count; i++) {
            char name[160];
            snprintf(name, sizeof name, "%s", file.tensors[i].name);
            char *slash = strrchr(name, '/');
            if (!slash || strcmp(slash, "/attr") || onnx != !strncmp(name, "onnx.", 5)) continue;
            *slash = 0;
            if (onnx)
                check_onnx(ctx, name);
            else
                check_torch(ctx, name, plain);
            cases++;
        }
        wick_context_free(&ctx);
    }
    wick_tier_force(before);
    CHECK(cases >= (onnx ? 11 : 28));
}
TEST(values_and_gradients_are_pytorchs) { check_all(false, false); }
TEST(the_plain_loop_has_them_too_and_gradients_of_gradients) { check_all(false, true); }
TEST(peepholes_clips_couplings_and_activations_are_onnx_runtimes) { check_all(true, false); }

/* ---- errors ------------------------------------------------------------------------------------------------------ */

TEST(wrong_uses_say_what_is_wrong) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x = wick_zeros(ctx, WICK_F32, 3, (int64_t[]){4, 2, 3}),
                *w = wick_zeros(ctx, WICK_F32, 2, (int64_t[]){20, 3});
    wick_tensor *u = wick_zeros(ctx, WICK_F32, 2, (int64_t[]){20, 5}),
                *state = wick_zeros(ctx, WICK_F32, 3, (int64_t[]){1, 3, 5}), *h, *c;
    const char *text = "";
    const struct {
        wick_tensor *y;
        const char *says;
    } cases[] = {
        {wick_lstm(x, &(wick_rnn_inputs){.w_ih = w}, NULL, &h, &c), "lstm: needs w_ih and w_hh"},
        {wick_lstm(x, &(wick_rnn_inputs){.w_ih = u, .w_hh = u}, NULL, NULL, NULL), "w_ih is f32[1,20,5], not [1,20,3]"},
        {wick_gru(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u}, NULL, NULL), "w_ih is f32[1,20,3], not [1,15,3]"},
        {wick_lstm(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u, .h0 = state}, NULL, NULL, NULL),
         "h0 must be f32[1,2,5]"},
        {wick_lstm(w, &(wick_rnn_inputs){.w_ih = w, .w_hh = u}, NULL, NULL, NULL), "x has 2 dims"},
        {wick_rnn(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u, .c0 = state}, NULL, NULL),
         "c0 and peepholes are the LSTM's"},
        {wick_lstm(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u}, &(wick_rnn_options){.clip = -1}, NULL, NULL),
         "clip -1"},
    };
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        CHECK_MSG(wick_tensor_error(cases[i].y, &text) != WICK_OK, "case %zu was accepted", i);
        CHECK_STR_HAS(text, cases[i].says);
        CHECK_STR_HAS(text, "test_recurrent.c:");
    }
    wick_model *model = NULL;
    REQUIRE(wick_model_new(ctx, &model) == WICK_OK);
    CHECK(wick_tensor_error(wick_nn_gru(model, "g", x, 5, &(wick_nn_rnn_options){.projection = 2}, NULL), &text) ==
          WICK_ERR_INVALID);
    CHECK_STR_HAS(text, "a projection to 2; an LSTM's h can");
    CHECK(wick_tensor_error(wick_nn_lstm(model, "l", x, 5, &(wick_nn_rnn_options){.projection = 5}, NULL, NULL),
                            &text) == WICK_ERR_INVALID);
    wick_model_free(&model);
    wick_tensor *lengths = wick_from(ctx, WICK_I32, 1, (int64_t[]){2}, (int32_t[]){4, 5});
    wick_tensor *y = wick_lstm(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u, .lengths = lengths}, NULL, NULL, NULL);
    CHECK_INT(wick_eval(ctx, 1, &y, NULL), WICK_ERR_INDEX);
    CHECK_STR_HAS(wick_context_error(ctx), "the length of sample 1");
    wick_scope_close(&scope);
    wick_context_free(&ctx);
}

TEST(a_gradient_of_the_gradient_is_refused_not_zero) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *x = wick_ones(ctx, WICK_F32, 3, (int64_t[]){4, 2, 3}),
                *w = wick_ones(ctx, WICK_F32, 2, (int64_t[]){5, 3}),
                *u = wick_ones(ctx, WICK_F32, 2, (int64_t[]){5, 5});
    wick_tensor *g, *gg, *y = wick_rnn(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u}, NULL, NULL);
    wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &x, &g);
    wick_grad(wick_sum(wick_mul(g, g), WICK_ALL_AXES, false), 1, &x, &gg);
    CHECK_INT(wick_eval(ctx, 1, &gg, NULL), WICK_ERR_UNSUPPORTED);
    CHECK_STR_HAS(
        wick_context_error(ctx),
        "rnn_grad, itself a gradient, has none (the loop back through rnn; plain layers (wick_nn_rnn_options) have");
    wick_scope_close(&scope);
    wick_context_free(&ctx);
}

static wick_status layer_for_plan(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *model) {
    (void)ctx;
    out[0] = wick_nn_lstm(model, "l", in[0], 32, NULL, NULL, NULL);
    return WICK_OK;
}
TEST(without_a_gradient_nothing_is_saved) {
    wick_context *ctx = NULL;
    wick_plan *plan = NULL;
    wick_model *model = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK && wick_model_new(ctx, &model) == WICK_OK);
    const wick_spec spec = {"x", WICK_F32, 3, {100, 8, 32}};
    CHECK_OK(ctx, wick_compile(ctx, layer_for_plan, model, 1, &spec, 1, NULL, &plan));
    /* what the inputs of all steps give; besides only packed weights */
    const size_t gates = 100 * 8 * 4 * 32 * sizeof(float);
    if (plan)
        CHECK_MSG(wick_plan_get_info(plan).arena_bytes < gates + 64 * 1024, "%zu bytes",
                  wick_plan_get_info(plan).arena_bytes);
    wick_plan_free(&plan);
    wick_model_free(&model);
    wick_context_free(&ctx);
}

TEST(half_types_are_computed_in_f32) {
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    wick_scope *scope = wick_scope_open(ctx);
    const int64_t H = 5;
    wick_tensor *x = wick_cast(wick_random_normal(ctx, WICK_F32, 3, (int64_t[]){4, 2, 3}), WICK_BF16), *h;
    wick_tensor *w = wick_cast(wick_random_normal(ctx, WICK_F32, 2, (int64_t[]){3 * H, 3}), WICK_BF16),
                *u = wick_cast(wick_random_normal(ctx, WICK_F32, 2, (int64_t[]){3 * H, H}), WICK_BF16);
    wick_tensor *y = wick_gru(x, &(wick_rnn_inputs){.w_ih = w, .w_hh = u}, NULL, &h);
    wick_tensor *as_f32 =
        wick_gru(wick_cast(x, WICK_F32),
                 &(wick_rnn_inputs){.w_ih = wick_cast(w, WICK_F32), .w_hh = wick_cast(u, WICK_F32)}, NULL, NULL);
    wick_tensor *far =
        wick_max(wick_abs(wick_sub(wick_cast(y, WICK_F32), wick_cast(wick_cast(as_f32, WICK_BF16), WICK_F32))),
                 WICK_ALL_AXES, false);
    double worst = 1;
    CHECK_INT(wick_tensor_dtype(y), WICK_BF16);
    CHECK_INT(wick_tensor_dtype(h), WICK_BF16);
    CHECK_OK(ctx, wick_item(far, &worst));
    CHECK(worst == 0);
    wick_scope_close(&scope);
    wick_context_free(&ctx);
}

/* A clip that nothing reaches takes the way of any functions, unit by unit; the usual ones go by vectors, the last
 * units too. */
static void compare_ways(wick_context *ctx, int cell, int64_t H, wick_dtype dtype) {
    static const int64_t gates[] = {1, 4, 4, 3, 3};
    const int64_t G = gates[cell] * H, T = 4, B = 2, I = 3;
    const wick_rnn_inputs in = {
        .w_ih = wick_random_normal(ctx, dtype, 3, (int64_t[]){2, G, I}),
        .w_hh = wick_random_normal(ctx, dtype, 3, (int64_t[]){2, G, H}),
        .b_hh = wick_random_normal(ctx, dtype, 2, (int64_t[]){2, G}),
        .peephole = cell == 2 ? wick_random_normal(ctx, dtype, 2, (int64_t[]){2, 3 * H}) : NULL,
    };
    wick_tensor *x = wick_random_normal(ctx, dtype, 3, (int64_t[]){T, B, I}), *y[2], *last[2];
    double y_bytes[2][2 * 4 * 2 * 40], last_bytes[2][2 * 2 * 40];
    for (int way = 0; way < 2; way++) {
        const wick_rnn_options o = {
            .direction = WICK_RNN_BIDIRECTIONAL, .reset_first = cell == 4, .clip = way ? 1e30 : 0};
        y[way] = cell == 0   ? wick_rnn(x, &in, &o, &last[way])
                 : cell <= 2 ? wick_lstm(x, &in, &o, NULL, &last[way])
                             : wick_gru(x, &in, &o, &last[way]);
        const size_t elem = wick_dtype_size(dtype);
        CHECK_OK(ctx, wick_read(y[way], y_bytes[way], (size_t)(T * B * 2 * H) * elem));
        CHECK_OK(ctx, wick_read(last[way], last_bytes[way], (size_t)(2 * B * H) * elem));
        if (!way) continue;
        CHECK_MSG(!memcmp(y_bytes[0], y_bytes[1], (size_t)(T * B * 2 * H) * elem) &&
                      !memcmp(last_bytes[0], last_bytes[1], (size_t)(2 * B * H) * elem),
                  "cell %d of %d units, %s", cell, (int)H, wick_dtype_name(dtype));
    }
}
TEST(units_that_fill_no_vector_have_the_bits_of_the_way_unit_by_unit) {
    static const int64_t units[] = {1, 7, 8, 9, 15, 16, 17, 25, 31, 33, 40};
    wick_context *ctx = NULL;
    REQUIRE(wick_context_new(NULL, &ctx) == WICK_OK);
    for (int cell = 0; cell < 5; cell++)
        for (size_t i = 0; i < WICK_COUNTOF(units); i++)
            for (int f64 = 0; f64 < 2; f64++) {
                wick_scope *scope = wick_scope_open(ctx);
                compare_ways(ctx, cell, units[i], f64 ? WICK_F64 : WICK_F32);
                wick_scope_close(&scope);
            }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
