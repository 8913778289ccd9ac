/* Scales and shifts behind products: what the pass makes of graphs, how far results may move, and that folded weights
 * follow their states. */
#include "graph/graphs.h"

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* As a compiled function would have it. */
#define COLLECT(b, ...)                                                                                                \
    do {                                                                                                               \
        FIXTURE_COLLECT(b, __VA_ARGS__);                                                                               \
        (b)->graph->compiled = true;                                                                                   \
    } while (0)

TEST(batch_norm_goes_into_the_convolution_before_it) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    wick_tensor *w = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 3, 3, 3)), *bias = VEC(ctx, 1, 2);
    wick_tensor *y = wick_conv(wick_neg(wick_random_uniform(ctx, WICK_F32, WICK_DIMS(1, 3, 5, 5))), w, bias, NULL);
    COLLECT(&b, wick_relu(wick_batch_norm(y, VEC(ctx, 1, 2), VEC(ctx, 3, 4), VEC(ctx, 5, 6), VEC(ctx, 7, 8), 1e-5)));
    fixture_pass(&b, wick_pass_fold_scale);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2,3,3,3] = data()\n"
                    "%1 f32[2] = data()\n"
                    "%2 f32[2] = data()\n"
                    "%3 f32[2] = data()\n"
                    "%4 f32[2] = data()\n"
                    "%5 f32[2] = data()\n"
                    "%6 f32[1,3,5,5] = random_uniform()\n"
                    "%7 f32[1,3,5,5] = neg(%6)\n"
                    "%8 f32[1,2,1,1] = reshape(%2) to=f32[1,2,1,1]\n"
                    "%9 f32[2] = reshape(%8) to=f32[2]\n"
                    "%10 f32[2] = sub(%1, %9)\n" /* bias - mean */
                    "%11 f32[1,2,1,1] = reshape(%3) to=f32[1,2,1,1]\n"
                    "%12 f32[] = constant() value=9.99999975e-06\n"
                    "%13 f32[1,2,1,1] = add(%11, %12)\n"
                    "%14 f32[1,2,1,1] = rsqrt(%13)\n"
                    "%15 f32[1,2,1,1] = reshape(%4) to=f32[1,2,1,1]\n"
                    "%16 f32[1,2,1,1] = mul(%14, %15)\n" /* the scale */
                    "%17 f32[2] = reshape(%16) to=f32[2]\n"
                    "%18 f32[2,1,1,1] = reshape(%17) to=f32[2,1,1,1]\n"
                    "%19 f32[2,3,3,3] = mul(%0, %18)\n"
                    "%20 f32[2] = reshape(%16) to=f32[2]\n"
                    "%21 f32[2] = mul(%10, %20)\n"
                    "%22 f32[1,2,1,1] = reshape(%5) to=f32[1,2,1,1]\n"
                    "%23 f32[2] = reshape(%22) to=f32[2]\n"
                    "%24 f32[2] = add(%21, %23)\n"
                    "%25 f32[1,2,3,3] = conv(%7, %19, %24)\n"
                    "%26 f32[1,2,3,3] = relu(%25)\n"
                    "return %26\n");
    fixture_close(&b);
}

TEST(scales_go_into_linear_layers_and_transposed_convolutions) {
    fixture b;
    fixture_open(&b);
    wick_context *ctx = b.ctx;
    wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(4, 3)),
                *w = wick_ones(ctx, WICK_F32, WICK_DIMS(3, 2)), *half = wick_constant(ctx, WICK_F32, 0.5);
    wick_tensor *image = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(1, 4, 2, 2)),
                *kernel = wick_ones(ctx, WICK_F32, WICK_DIMS(4, 3, 2, 2));
    COLLECT(&b, wick_mul(wick_add(wick_matmul(x, w), VEC(ctx, 1, 2)), half),
            wick_mul(wick_conv_transpose(image, kernel, NULL, &(wick_conv_options){.groups = 2}),
                     wick_reshape(VEC(ctx, 1, 2, 3, 4, 5, 6), WICK_DIMS(6, 1, 1))));
    fixture_pass(&b, wick_pass_fold_scale);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[3,2] = data()\n"
                    "%1 f32[2] = data()\n"
                    "%2 f32[4,3,2,2] = data()\n"
                    "%3 f32[6] = data()\n"
                    "%4 f32[4,3] = random_uniform()\n"
                    "%5 f32[] = constant() value=0.5\n"
                    "%6 f32[1] = reshape(%5) to=f32[1]\n"
                    "%7 f32[2] = expand(%6) to=f32[2]\n"
                    "%8 f32[3,2] = mul(%0, %7)\n"
                    "%9 f32[1] = reshape(%5) to=f32[1]\n"
                    "%10 f32[2] = expand(%9) to=f32[2]\n"
                    "%11 f32[2] = mul(%1, %10)\n"
                    "%12 f32[4,2] = matmul(%4, %8)\n"
                    "%13 f32[4,2] = add(%12, %11)\n"
                    "%14 f32[1,4,2,2] = random_uniform()\n"
                    "%15 f32[6,1,1] = reshape(%3) to=f32[6,1,1]\n"
                    "%16 f32[6] = reshape(%15) to=f32[6]\n"
                    "%17 f32[2,2,3,4] = reshape(%2) to=f32[2,2,3,4]\n"
                    "%18 f32[2,1,3,1] = reshape(%16) to=f32[2,1,3,1]\n"
                    "%19 f32[2,2,3,4] = mul(%17, %18)\n"
                    "%20 f32[4,3,2,2] = reshape(%19) to=f32[4,3,2,2]\n"
                    "%21 f32[1,6,3,3] = conv_data(%14, %20) groups=2\n"
                    "return %13, %21\n");
    fixture_close(&b);
}

TEST(scales_stay_where_bits_or_others_need_them) {
    fixture b;
    for (int what = 0; what < 6; what++) {
        fixture_open(&b);
        wick_context *ctx = b.ctx;
        wick_tensor *x = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(4, 2)),
                    *w = wick_ones(ctx, WICK_F32, WICK_DIMS(2, 2)), *s = VEC(ctx, 1, 2), *g = NULL;
        if (what == 1) w = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(2, 2)); /* weights that change */
        if (what == 2) s = wick_random_uniform(ctx, WICK_F32, WICK_DIMS(2));
        if (what == 3) s = wick_reshape(VEC(ctx, 1, 2, 3, 4), WICK_DIMS(4, 1)); /* not by column */
        wick_tensor *p = wick_matmul(x, w), *y = wick_mul(p, s);
        if (what == 4) wick_grad(wick_sum(y, WICK_ALL_AXES, false), 1, &w, &g);
        wick_tensor *out[2] = {y, what == 4 ? g : what == 5 ? p : y};
        fixture_collect(&b, 2, out);
        b.graph->compiled = what != 0;
        fixture_pass(&b, wick_pass_expand_grad);
        fixture_pass(&b, wick_pass_dce);
        char before[sizeof b.text];
        memcpy(before, fixture_text(&b), sizeof before);
        fixture_pass(&b, wick_pass_fold_scale);
        CHECK_MSG(!strcmp(before, fixture_text(&b)), "%d: the graph became\n%s", what, b.text);
        fixture_close(&b);
    }
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

enum { PRODUCTS = 5, FORMS = 4 };
static const char *const product_names[PRODUCTS] = {"conv", "grouped conv", "transposed conv",
                                                    "grouped transposed conv", "linear"};
static const char *const form_names[FORMS] = {"batch norm", "mul and add", "sub and div", "norm of a norm"};

typedef struct net {
    int product, form;
    wick_dtype dtype;
    wick_tensor *w, *bias, *mean, *var, *weight, *shift;
} net;

static wick_tensor *by_channel(wick_tensor *v, int rank) {
    const int64_t dims[4] = {1, -1, 1, 1};
    return wick_reshape(v, rank, dims);
}
static wick_tensor *product_of(const net *n, wick_tensor *x, wick_tensor *w, wick_tensor *bias) {
    if (n->product == 4) return wick_add(wick_matmul(x, w), bias);
    const wick_conv_options o = {.groups = n->product % 2 ? 2 : 1, .stride = {2, 1}, .pad = {1, 0}};
    return n->product < 2 ? wick_conv(x, w, bias, &o) : wick_conv_transpose(x, w, bias, &o);
}
static wick_tensor *behind(const net *n, wick_tensor *y, wick_tensor *(*as)(wick_tensor *)) {
    const int rank = wick_tensor_rank(y);
    wick_tensor *mean = as(n->mean), *var = as(n->var), *weight = n->weight ? as(n->weight) : NULL,
                *shift = as(n->shift);
    switch (n->form) {
    case 0: return wick_batch_norm(y, mean, var, weight, shift, 1e-3);
    case 1: return wick_add(wick_mul(by_channel(weight, rank), y), by_channel(shift, rank));
    case 2: return wick_div(wick_sub(y, by_channel(mean, rank)), by_channel(var, rank));
    default: return wick_batch_norm(wick_batch_norm(y, mean, var, NULL, shift, 1e-3), shift, var, weight, mean, 1e-3);
    }
}
static wick_tensor *itself(wick_tensor *t) { return t; }
static wick_tensor *in_f64(wick_tensor *t) { return wick_cast(t, WICK_F64); }

static wick_status forward(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const net *n = user;
    (void)ctx;
    out[0] = behind(n, product_of(n, in[0], n->w, n->bias), itself);
    return WICK_OK;
}

static wick_tensor *drawn(wick_context *ctx, wick_dtype dtype, int rank, const int64_t *dims, double lo, double hi) {
    double data[1024];
    float single[1024];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    CHECK(n <= 1024);
    for (int64_t i = 0; i < n; i++) single[i] = (float)(data[i] = test_rand_real(lo, hi));
    return wick_from(ctx, dtype, rank, dims, dtype == WICK_F64 ? (void *)data : single);
}

/* Reads t as doubles; the number of elements. */
static int64_t read_all(wick_context *ctx, wick_tensor *t, double *to, int64_t room) {
    wick_tensor *d = wick_cast(t, WICK_F64);
    const int64_t n = wick_tensor_count(d);
    CHECK(n <= room);
    if (n > room) return 0;
    CHECK_OK(ctx, wick_read(d, to, (size_t)n * sizeof *to));
    return n;
}

/* Both ways against f64, within the bound that fold_scale.c states: each term's magnitude times (K + 4) u. Magnitudes:
 * everything positive, and sums for differences; two norms in a row scale all that is before them. */
static void check_case(wick_context *ctx, net *n, wick_tensor *x, int64_t terms) {
    enum { ROOM = 2048 };
    static double exact[ROOM], most[ROOM], got[ROOM];
    wick_scope *scope = wick_scope_open(ctx);
    wick_tensor *y = behind(n, product_of(n, in_f64(x), in_f64(n->w), in_f64(n->bias)), in_f64);
    const int64_t count = read_all(ctx, y, exact, ROOM);
    net positive = *n;
    wick_tensor **all[] = {&positive.bias, &positive.mean, &positive.weight, &positive.shift};
    for (int i = 0; i < 4; i++) *all[i] = wick_abs(*all[i]);
    positive.mean = wick_neg(positive.mean); /* y - mean: a sum */
    if (n->form == 3) positive.shift = wick_neg(positive.shift);
    wick_tensor *magnitude = product_of(&positive, in_f64(wick_abs(x)), in_f64(wick_abs(n->w)), in_f64(positive.bias));
    if (n->form == 3) { /* |y - mean| s + |shift|, then again */
        wick_tensor *v = wick_abs(behind(
            &(net){.form = 0, .mean = positive.mean, .var = n->var, .shift = wick_abs(n->shift)}, magnitude, in_f64));
        magnitude = behind(&(net){.form = 0,
                                  .mean = wick_neg(wick_abs(n->shift)),
                                  .var = n->var,
                                  .weight = positive.weight,
                                  .shift = wick_abs(n->mean)},
                           v, in_f64);
    } else
        magnitude = behind(&positive, magnitude, in_f64);
    read_all(ctx, magnitude, most, ROOM);
    wick_spec in = {.name = "x", .dtype = n->dtype, .rank = wick_tensor_rank(x)};
    memcpy(in.dims, wick_tensor_dims(x), (size_t)in.rank * sizeof *in.dims);
    const double u = n->dtype == WICK_F64 ? 0x1p-53 : 0x1p-24, roundings = (double)terms + (n->form == 3 ? 12 : 8);
    for (int folded = 0; folded < 2; folded++) {
        wick_plan *plan = NULL;
        wick_workspace *ws = NULL;
        CHECK_OK(ctx, wick_compile(ctx, forward, n, 1, &in, 1,
                                   &(wick_compile_options){.without = folded ? NULL : "fold_scale"}, &plan));
        CHECK_INT(wick_workspace_new(plan, &ws), WICK_OK);
        static char data[8 * ROOM], out[8 * ROOM];
        CHECK_OK(ctx, wick_read(x, data, wick_spec_bytes(&in)));
        const void *xs[] = {data};
        for (int round = 0; round < 2; round++)
            CHECK_MSG(wick_run(ws, xs, (void *[]){out}) == WICK_OK, "%s", wick_workspace_error(ws));
        for (int64_t i = 0; i < count; i++)
            got[i] = n->dtype == WICK_F64 ? ((double *)(void *)out)[i] : (double)((float *)(void *)out)[i];
        double worst = 0;
        for (int64_t i = 0; i < count; i++) worst = fmax(worst, fabs(got[i] - exact[i]) / (u * most[i]));
        CHECK_MSG(worst <= roundings, "%s, %s, %s, %s: %g units, not %g", product_names[n->product],
                  form_names[n->form], wick_dtype_name(n->dtype), folded ? "folded" : "as it is", worst, roundings);
        wick_workspace_free(&ws);
        wick_plan_free(&plan);
    }
    wick_scope_close(&scope);
}

TEST(folded_results_are_as_close_to_the_exact_ones_as_stated) {
    wick_context *ctx = context();
    for (int round = 0; round < 20 * PRODUCTS * FORMS; round++) {
        wick_scope *scope = wick_scope_open(ctx);
        net n = {.product = round % PRODUCTS,
                 .form = round / PRODUCTS % FORMS,
                 .dtype = test_rand_int(0, 2) ? WICK_F32 : WICK_F64};
        const int groups = n.product % 2 ? 2 : 1;
        const int64_t in = groups * test_rand_int(1, 3), out = groups * test_rand_int(1, 3),
                      batch = test_rand_int(1, 2);
        const bool linear = n.product == 4, data = n.product == 2 || n.product == 3;
        const int64_t x_dims[4] = {batch, in, linear ? 1 : test_rand_int(3, 6), linear ? 1 : test_rand_int(3, 5)};
        const int64_t w_dims[4] = {linear || data ? in : out, linear ? out : (data ? out : in) / groups,
                                   test_rand_int(2, 3), test_rand_int(1, 3)};
        wick_tensor *x = drawn(ctx, n.dtype, linear ? 2 : 4, x_dims, -1, 1);
        n.w = drawn(ctx, n.dtype, linear ? 2 : 4, w_dims, -1, 1);
        n.bias = drawn(ctx, n.dtype, 1, &out, -2, 2);
        n.mean = drawn(ctx, n.dtype, 1, &out, -2, 2);
        n.var = drawn(ctx, n.dtype, 1, &out, 0.01, 4);
        n.weight = drawn(ctx, n.dtype, 1, &out, -2, 2);
        n.shift = drawn(ctx, n.dtype, 1, &out, -2, 2);
        check_case(ctx, &n, x, linear ? in : (data ? w_dims[0] : w_dims[1]) * w_dims[2] * w_dims[3]);
        wick_scope_close(&scope);
    }
    test_count("products with folded scales against f64, within the bound", 20 * PRODUCTS * FORMS);
    wick_context_free(&ctx);
}

static uint64_t runs_of(const wick_plan *p, const wick_workspace *ws, bool products) {
    uint64_t sum = 0, runs;
    for (int i = 0; i < wick_plan_get_info(p).kernels; i++) {
        const wick_plan_kernel k = wick_plan_kernel_at(p, i);
        wick_workspace_kernel_ns(ws, i, &runs);
        if (products == (!strncmp(k.name, "conv_", 5) && strcmp(k.name, "conv_pack"))) sum += runs;
    }
    return sum;
}

TEST(folded_weights_are_made_once_and_follow_their_states) {
    wick_context *ctx = context();
    enum { X = 2 * 4 * 4, Y = 3 * 2 * 2 };
    net n = {.dtype = WICK_F32};
    n.w = drawn(ctx, WICK_F32, WICK_DIMS(3, 2, 3, 3), -1, 1);
    wick_tensor **vectors[] = {&n.bias, &n.mean, &n.var, &n.weight, &n.shift};
    for (int i = 0; i < 5; i++) *vectors[i] = drawn(ctx, WICK_F32, WICK_DIMS(3), 0.5, 2);
    float x[X], y[Y], again[Y];
    fill_random(x, X, -1, 1);
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {1, 2, 4, 4}};
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, forward, &n, 1, &in, 1, NULL, &plan));
    REQUIRE(plan != NULL);
    CHECK_INT(wick_workspace_new(plan, &ws), WICK_OK);
    wick_workspace_profile(ws, true);
    uint64_t made = 0;
    for (int change = -1; change < 6; change++) { /* each state in turn; then none */
        if (change >= 0 && change < 5) CHECK_OK(ctx, wick_write(*vectors[change], (float[]){1.5f, 0.75f, 3}, 12));
        const uint64_t before = runs_of(plan, ws, false);
        CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){y}), WICK_OK);
        const uint64_t after = runs_of(plan, ws, false) - before;
        if (change < 0) made = after;
        CHECK_MSG(change == 5 ? after < made : after == made && made > 0,
                  "change %d: %llu kernels ran besides the product, %llu at first", change, (unsigned long long)after,
                  (unsigned long long)made);
        CHECK_INT(wick_run(ws, (const void *[]){x}, (void *[]){again}), WICK_OK);
        CHECK(!memcmp(y, again, sizeof y));
        wick_scope *scope = wick_scope_open(ctx);
        wick_tensor *t = wick_from(ctx, WICK_F32, WICK_DIMS(1, 2, 4, 4), x), *out = NULL;
        CHECK_OK(ctx, forward(ctx, &t, &out, &n));
        CHECK_OK(ctx, wick_read(out, again, sizeof again));
        for (int i = 0; i < Y; i++)
            CHECK_MSG(fabsf(y[i] - again[i]) <= 2e-6f * (fabsf(again[i]) + 20), "change %d: %g, not %g", change,
                      (double)y[i], (double)again[i]);
        wick_scope_close(&scope);
    }
    CHECK_INT(runs_of(plan, ws, true), 14);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

static void count_remark(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place;
    if (!strcmp(pass, "fold_scale")) ((int *)user)[!!strstr(text, "taken into")]++;
}

TEST(remarks_say_what_was_folded_and_what_not) {
    wick_context *ctx = context();
    net n = {.dtype = WICK_F32};
    n.w = drawn(ctx, WICK_F32, WICK_DIMS(3, 2, 3, 3), -1, 1);
    wick_tensor **vectors[] = {&n.bias, &n.mean, &n.var, &n.weight, &n.shift};
    for (int i = 0; i < 5; i++) *vectors[i] = drawn(ctx, WICK_F32, WICK_DIMS(3), 0.5, 2);
    const wick_spec in = {.name = "x", .dtype = WICK_F32, .rank = 4, .dims = {1, 2, 4, 4}};
    int said[2] = {0, 0};
    wick_plan *plan = NULL;
    CHECK_OK(ctx, wick_compile(ctx, forward, &n, 1, &in, 1,
                               &(wick_compile_options){.on_remark = count_remark, .user = said}, &plan));
    CHECK_INT(said[1], 3);
    CHECK_INT(said[0], 0);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
