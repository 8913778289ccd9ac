/* Elementwise kernels that run within the product before them: marked in the text, taken where they can be, and the
 * same bits with them and without. */
#include "graph/graphs.h"
#include "wick/pointwise.h"

TEST(programs_behind_products_are_marked) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(3, 5)),
                *w = wick_zeros(ctx, WICK_F32, WICK_DIMS(5, 2)), *r = wick_zeros(ctx, WICK_F32, WICK_DIMS(3, 2));
    wick_tensor *y = wick_matmul(x, w);
    FIXTURE_COLLECT(&b, wick_tanh(wick_add(wick_sigmoid(y), r)),
                    wick_mul(y, wick_random_uniform(ctx, WICK_F32, WICK_DIMS(2, 3, 2))), wick_neg(x));
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[5,2] = data()\n"
                    "%1 f32[3,2] = data()\n"
                    "%2 f32[3,5] = random_uniform()\n"
                    "%3 f32[3,2] = matmul(%2, %0)\n"
                    "%4 f32[3,2] = fused(%3, %1)\n"
                    "  %0 f32[3,2] = sigmoid(a)\n"
                    "  %1 f32[3,2] = add(%0, b)\n"
                    "  %2 f32[3,2] = tanh(%1)\n"
                    "  return %2\n"
                    "%5 f32[2,3,2] = random_uniform()\n"
                    "%6 f32[2,3,2] = mul(%3, %5)\n"
                    "%7 f32[3,5] = neg(%2)\n"
                    "return %4, %6, %7\n");
    fixture_pass(&b, wick_pass_ride);
    CHECK_GRAPH(&b, "%0 f32[5,2] = data()\n"
                    "%1 f32[3,2] = data()\n"
                    "%2 f32[3,5] = random_uniform()\n"
                    "%3 f32[3,2] = matmul(%2, %0)\n"
                    "%4 f32[3,2] = fused(%3, %1) rides\n"
                    "  %0 f32[3,2] = sigmoid(a)\n"
                    "  %1 f32[3,2] = add(%0, b)\n"
                    "  %2 f32[3,2] = tanh(%1)\n"
                    "  return %2\n"
                    "%5 f32[2,3,2] = random_uniform()\n"
                    "%6 f32[2,3,2] = mul(%3, %5)\n"
                    "%7 f32[3,5] = neg(%2)\n"
                    "return %4, %6, %7\n");
    fixture_close(&b);
}

static wick_status two_of_a_row(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    out[0] = wick_tanh(wick_matmul(in[0], in[1]));
    return WICK_OK;
}
static void hear_ride(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place;
    if (!strcmp(pass, "ride")) snprintf(user, 200, "%s", text);
}

TEST(a_program_rides_where_that_is_predicted_to_be_faster) {
    static const wick_spec in[2] = {{"x", WICK_F32, 2, {700, 64}}, {"w", WICK_F32, 2, {64, 200}}};
    for (int wins = 0; wins < 2; wins++) {
        char text[200] = "";
        /* parts of rows of 200, each of which begins the program anew */
        const wick_tuning table = {.cost_step_ns = wins ? 1000000 : 1, .cost_piece_ns = wins ? 1 : 100000};
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .tuning = &table});
        wick_plan *plan = NULL;
        CHECK_OK(ctx, wick_compile(ctx, two_of_a_row, NULL, 2, in, 1,
                                   &(wick_compile_options){.on_remark = hear_ride, .user = text}, &plan));
        CHECK_STR_HAS(text, wins ? "; predicted to save " : "not within gemm_");
        CHECK_STR_HAS(text, wins ? "taken as ride:1: within gemm_" : " us there, ");
        wick_plan_free(&plan);
        wick_context_free(&ctx);
    }
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

enum { EPILOGUES = 17, MOST_OUT = 3 };
typedef struct shape {
    const char *name;
    /* 0: a product of [a, k] and [k, n]; 1: of batches; 2: a convolution of [batch, c, h, w]; 3: its channels each on
     * its own; 4: so, of an image with its channels last */
    int kind;
    int64_t batch, m, k, n, side, kernel, stride;
    bool transposed, f64;
} shape;
typedef struct use {
    const shape *s;
    int epilogue;
    wick_tensor *w, *bias, *scale;
} use;

/* What follows y, with a residual r of its shape; the second result, if any, is another reader of y or r. */
static wick_tensor *epilogue(int which, wick_tensor *y, wick_tensor *r, wick_tensor *scale) {
    switch (which) {
    case 0: return wick_clamp(y, wick_like(y, 0), wick_like(y, 6));
    case 1: return wick_sigmoid(y);
    case 2: return wick_tanh(y);
    case 3: return wick_silu(y);
    case 4: return wick_gelu(y);
    case 5: return wick_gelu_tanh(y);
    case 6: return wick_hardswish(y);
    case 7: return wick_hardsigmoid(y);
    case 8: return wick_leaky_relu(y, 0.01);
    case 9: return wick_elu(y, 1.5);
    case 10: return wick_add(y, r);
    case 11: return wick_relu(wick_add(y, r));
    case 12: return wick_add(r, wick_relu(y));
    case 13: return wick_mul(wick_silu(y), scale);
    case 14: return wick_add(wick_mul(y, wick_like(y, 0.5)), wick_mul(r, r));
    case 15: return wick_mul(wick_minimum(wick_maximum(y, r), scale), y);
    default: return wick_sub(wick_tanh(y), wick_mul(y, scale));
    }
}
static wick_status body(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const use *u = user;
    const shape *s = u->s;
    (void)ctx;
    wick_tensor *x = in[0];
    if (s->kind == 4)
        x = wick_add(x, wick_conv(x, wick_full(ctx, WICK_F32, WICK_DIMS(s->k, s->k, 1, 1), 0.01), NULL, NULL));
    wick_tensor *y = s->kind < 2 ? wick_matmul(in[0], s->transposed ? wick_transpose(u->w, 0, 1) : u->w)
                                 : wick_conv(x, u->w, u->bias,
                                             &(wick_conv_options){.stride = {s->stride, s->stride},
                                                                  .pad = {s->kernel / 2, s->kernel / 2},
                                                                  .groups = s->kind >= 3 ? s->k : 1});
    wick_tensor *r = in[1];
    /* in the plan's layout */
    if (s->kind >= 2 && u->epilogue % 2)
        r = wick_conv(in[1], wick_full(ctx, s->f64 ? WICK_F64 : WICK_F32, WICK_DIMS(s->n, 1, 1, 1), 0.5), NULL,
                      &(wick_conv_options){.groups = s->n});
    /* what the product reads too */
    if (wick_same_dims(&in[0]->value->type, &y->value->type) && u->epilogue % 3 == 1) r = in[0];
    wick_tensor *z = epilogue(u->epilogue, y, r, u->scale);
    out[0] = wick_sum(z, 1, (int[]){-1}, false); /* z itself is no result: it has the plan's layout */
    out[1] = s->kind >= 2 && u->epilogue % 8 != 2
                 ? wick_max_pool(z, &(wick_pool_options){.kernel = {2, 2}, .stride = {1, 1}})
                 : z;
    out[2] = u->epilogue % 5 == 3 ? wick_exp(y) : wick_neg(in[1]); /* y has another reader, or not */
    return WICK_OK;
}
static void count(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place;
    if (!strcmp(pass, "ride")) ((int *)user)[!strncmp(text, "taken", 5)]++;
}

TEST(what_rides_has_the_bits_of_what_does_not_on_any_number_of_threads) {
    static const shape shapes[] = {
        {"a matrix", 0, 1, 70, 33, 50, 0, 0, 0, false, false},
        {"many tasks", 0, 1, 700, 64, 200, 0, 0, 0, true, false},
        {"a row", 0, 1, 1, 300, 129, 0, 0, 0, true, false},
        {"few columns", 0, 1, 900, 200, 5, 0, 0, 0, false, false},
        {"batches", 1, 5, 40, 30, 40, 0, 0, 0, false, true},
        {"k = 1", 0, 1, 40, 1, 100, 0, 0, 0, false, false},
        {"3 x 3", 2, 2, 0, 16, 32, 30, 3, 1, false, false},
        {"1 x 1", 2, 3, 0, 40, 40, 14, 1, 1, false, false},
        {"few channels", 2, 1, 0, 3, 8, 40, 7, 2, false, false},
        {"Winograd", 2, 1, 0, 64, 64, 28, 3, 1, false, false},
        {"each on its own", 3, 2, 0, 24, 24, 23, 3, 1, false, false},
        {"strided", 3, 1, 0, 40, 40, 15, 5, 2, false, true},
        {"each on its own, past L2", 4, 1, 0, 64, 64, 49, 3, 1, false, false},
    };
    const wick_tuning wins = {.cost_step_ns = 1000000}; /* so that all ride that can */
    wick_context *contexts[2] = {context_with(&(wick_context_options){.threads = 1, .tuning = &wins}),
                                 context_with(&(wick_context_options){.threads = 3, .tuning = &wins})};
    int taken = 0, uses = 0, told[WICK_COUNTOF(shapes)] = {0};
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++)
        for (int e = 0; e < EPILOGUES; e++) {
            const shape *s = &shapes[i];
            const wick_dtype dtype = s->f64 ? WICK_F64 : WICK_F32;
            const size_t elem = s->f64 ? 8 : 4;
            const int64_t out = s->kind < 2 ? 0 : (s->side + 2 * (s->kernel / 2) - s->kernel) / s->stride + 1;
            const wick_spec in[2] = {s->kind == 0   ? (wick_spec){"x", dtype, 2, {s->m, s->k}}
                                     : s->kind == 1 ? (wick_spec){"x", dtype, 3, {s->batch, s->m, s->k}}
                                                    : (wick_spec){"x", dtype, 4, {s->batch, s->k, s->side, s->side}},
                                     s->kind == 0   ? (wick_spec){"r", dtype, 2, {s->m, s->n}}
                                     : s->kind == 1 ? (wick_spec){"r", dtype, 3, {s->batch, s->m, s->n}}
                                                    : (wick_spec){"r", dtype, 4, {s->batch, s->n, out, out}}};
            int64_t sizes[2] = {1, 1};
            for (int k = 0; k < 2; k++)
                for (int d = 0; d < in[k].rank; d++) sizes[k] *= in[k].dims[d];
            void *data[2] = {calloc((size_t)sizes[0], elem), calloc((size_t)sizes[1], elem)}, *got[4][MOST_OUT];
            for (int k = 0; k < 2; k++)
                for (int64_t j = 0; j < sizes[k]; j++)
                    if (s->f64) ((double *)data[k])[j] = test_rand_real(-3, 3);
                    else ((float *)data[k])[j] = (float)test_rand_real(-3, 3);
            const size_t room = (size_t)sizes[1] * elem;
            for (int run = 0; run < 4; run++) {
                for (int k = 0; k < MOST_OUT; k++) got[run][k] = calloc(room + 1, 1);
                wick_context *ctx = contexts[run % 2];
                wick_scope *scope = wick_scope_open(ctx);
                const int64_t inner = s->kind >= 3 ? 1 : s->k,
                              per = s->kind < 2 ? s->k * s->n : s->n * inner * s->kernel * s->kernel;
                float *weights = calloc((size_t)(per + 2 * s->n), sizeof *weights);
                for (int64_t j = 0; j < per + 2 * s->n; j++)
                    weights[j] = (float)((j * 7919 + 13 * (int64_t)e) % 101 - 50) / 60;
                use u = {.s = s, .epilogue = e};
                u.w = s->kind < 2
                          ? wick_from(ctx, WICK_F32, 2,
                                      s->transposed ? (int64_t[]){s->n, s->k} : (int64_t[]){s->k, s->n}, weights)
                          : wick_from(ctx, WICK_F32, 4, (int64_t[]){s->n, inner, s->kernel, s->kernel}, weights);
                u.bias = e % 3 ? wick_from(ctx, WICK_F32, 1, &s->n, weights + per) : NULL;
                u.scale = wick_from(ctx, WICK_F32, s->kind < 2 ? 1 : 3, s->kind < 2 ? &s->n : (int64_t[]){s->n, 1, 1},
                                    weights + per + s->n);
                if (s->f64) {
                    u.w = wick_cast(u.w, dtype), u.scale = wick_cast(u.scale, dtype);
                    if (u.bias) u.bias = wick_cast(u.bias, dtype);
                    CHECK_OK(ctx, wick_eval(ctx, 3, (wick_tensor *[]){u.w, u.scale, u.bias ? u.bias : u.scale}, NULL));
                }
                wick_plan *plan = NULL;
                wick_workspace *ws = NULL;
                int said[2] = {0, 0};
                CHECK_OK(ctx, wick_compile(ctx, body, &u, 2, in, MOST_OUT,
                                           &(wick_compile_options){
                                               .without = run < 2 ? NULL : "ride", .on_remark = count, .user = said},
                                           &plan));
                REQUIRE(plan != NULL);
                CHECK_INT(wick_workspace_new(plan, &ws), WICK_OK);
                for (int again = 0; again < 2; again++)
                    CHECK_MSG(wick_run(ws, (const void *[]){data[0], data[1]}, got[run]) == WICK_OK, "%s",
                              wick_workspace_error(ws));
                if (run == 0) taken += said[1], told[i] += said[1];
                if (run >= 2) CHECK_INT(said[0] + said[1], 0);
                for (int k = 0; run && k < MOST_OUT; k++)
                    CHECK_MSG(!memcmp(got[0][k], got[run][k], room), "%s, epilogue %d, result %d: %s differs", s->name,
                              e, k, run == 1 ? "on three threads it" : "what rides");
                wick_workspace_free(&ws);
                wick_plan_free(&plan);
                wick_scope_close(&scope);
                free(weights);
            }
            for (int run = 0; run < 4; run++)
                for (int k = 0; k < MOST_OUT; k++) free(got[run][k]);
            free(data[0]);
            free(data[1]);
            uses++;
        }
    /* where planes of many channels are turned by blocks, what a task makes lies apart; of an image with its channels
     * last what has a residual, which has not, goes alone */
    for (size_t i = 0; i < WICK_COUNTOF(shapes); i++)
        CHECK_MSG(shapes[i].f64 && shapes[i].kind == 3 ? !told[i] : told[i] > (shapes[i].kind == 4 ? 5 : EPILOGUES / 2),
                  "%s: %d of %d ride", shapes[i].name, told[i], EPILOGUES);
    test_count("products with what follows them, riding and not, to the bit", uses);
    test_count("of them riding", taken);
    for (int i = 0; i < 2; i++) wick_context_free(&contexts[i]);
}

/* ---- conversions ------------------------------------------------------------------------------------------------- */

static wick_status residual_net(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const int ending = *(const int *)user;
    const int64_t channels = wick_tensor_dim(in[0], 1);
    wick_tensor *x = in[0];
    for (int i = 0; i < 4; i++) {
        wick_tensor *y = wick_conv(x, wick_full(ctx, WICK_F32, WICK_DIMS(16, i ? 16 : channels, 3, 3), 0.01 * (i + 1)),
                                   NULL, &(wick_conv_options){.pad = {1, 1}});
        x = wick_relu(i ? wick_add(y, x) : y);
        if (i == 1) x = wick_max_pool(x, &(wick_pool_options){.kernel = {2, 2}, .stride = {2, 2}});
    }
    if (ending == 3)
        x = wick_conv(x, wick_full(ctx, WICK_F32, WICK_DIMS(16, 16, 3, 3), 0.1), NULL,
                      &(wick_conv_options){.pad = {1, 1}});
    if (ending == 2)
        x = wick_conv(x, wick_full(ctx, WICK_F32, WICK_DIMS(16, 1, 3, 3), 0.1), NULL,
                      &(wick_conv_options){.pad = {1, 1}, .groups = 16});
    out[0] = ending ? x : wick_mean(x, 2, (int[]){2, 3}, false);
    return WICK_OK;
}

TEST(images_are_laid_out_anew_once_on_the_way_in_and_out) {
    static const struct {
        int64_t channels;
        /* ending: 0 a mean by channel, 1 the image, which its last kernel writes as planes, as do 2 convolutions of
         * each channel on its own, but not 3 others */
        int ending, conversions;
    } cases[] = {{3, 0, 1}, {1, 0, 0}, {3, 1, 1}, {1, 1, 0}, {1, 2, 0}, {3, 3, 2}};
    wick_context *ctx = context();
    for (size_t i = 0; i < WICK_COUNTOF(cases); i++) {
        wick_scope *scope = wick_scope_open(ctx);
        wick_plan *plan = NULL;
        int ending = cases[i].ending;
        const wick_spec in = {"x", WICK_F32, 4, {1, cases[i].channels, 16, 16}};
        CHECK_OK(ctx, wick_compile(ctx, residual_net, &ending, 1, &in, 1, NULL, &plan));
        REQUIRE(plan != NULL);
        const wick_plan_info info = wick_plan_get_info(plan);
        CHECK_MSG(info.conversions == cases[i].conversions, "case %d: %d conversions", (int)i, info.conversions);
        CHECK((info.conversion_bytes > 0) == (cases[i].conversions > 0));
        if (i == 0) CHECK_INT((int64_t)info.conversion_bytes, 2 * 3 * 16 * 16 * 4);
        wick_plan_free(&plan);
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
