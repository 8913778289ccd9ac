/* Weights that are mostly zeros: plans go by what is not zero, with the bits of plans that don't. */
#include "tensor/tensors.h"

enum { BATCH = 2, CI = 600, CO = 128, HW = 5, CLASSES = 80, X = BATCH * CI * HW * HW, Y = BATCH * CLASSES };

/* conv 1 x 1, scale and shift by channel, SiLU, mean over pixels, linear, ReLU */
typedef struct net {
    wick_tensor *conv, *scale, *shift, *weight, *bias;
    bool scaled;
    int stride; /* of the convolution */
} net;

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx;
    const net *n = user;
    wick_tensor *h = wick_conv(in[0], n->conv, NULL, &(wick_conv_options){.stride = {n->stride, n->stride}});
    if (n->scaled) h = wick_add(wick_mul(h, n->scale), n->shift);
    h = wick_mul(h, wick_sigmoid(h)); /* rides on what each task of the convolution makes */
    h = wick_mean(h, WICK_AXES(2, 3), false);
    out[0] = wick_relu(wick_linear(h, n->weight, n->bias));
    return WICK_OK;
}

static void fill(float *to, int n, int zeros) {
    for (int i = 0; i < n; i++) to[i] = test_rand_int(0, 99) < zeros ? 0 : (float)test_rand_real(-1, 1);
}
static wick_tensor *state(wick_context *ctx, int rank, const int64_t *dims, int zeros) {
    static float data[CI * CO];
    int64_t n = 1;
    for (int i = 0; i < rank; i++) n *= dims[i];
    fill(data, (int)n, zeros);
    return wick_from(ctx, WICK_F32, rank, dims, data);
}
static net net_make(wick_context *ctx, int zeros) {
    return (net){.conv = state(ctx, WICK_DIMS(CO, CI, 1, 1), zeros),
                 .scale = state(ctx, WICK_DIMS(1, CO, 1, 1), 0),
                 .shift = state(ctx, WICK_DIMS(1, CO, 1, 1), 0),
                 .weight = state(ctx, WICK_DIMS(CLASSES, CO), zeros),
                 .bias = state(ctx, WICK_DIMS(CLASSES), 0)};
}
static void net_write(wick_context *ctx, const net *n, int zeros) {
    static float conv[CI * CO], weight[CLASSES * CO];
    fill(conv, CI * CO, zeros);
    fill(weight, CLASSES * CO, zeros);
    CHECK_OK(ctx, wick_write(n->conv, conv, sizeof conv));
    CHECK_OK(ctx, wick_write(n->weight, weight, sizeof weight));
}

typedef struct compiled {
    wick_plan *plan;
    wick_workspace *space;
    int sparse; /* kernels */
} compiled;
static compiled compile(wick_context *ctx, const net *n) {
    compiled c = {0};
    static const wick_spec x = {"x", WICK_F32, 4, {BATCH, CI, HW, HW}};
    static char text[1 << 14];
    CHECK_OK(ctx, wick_compile(ctx, record, (void *)(uintptr_t)n, 1, &x, 1, NULL, &c.plan));
    if (!c.plan) return c;
    CHECK(wick_workspace_new(c.plan, &c.space) == WICK_OK);
    wick_plan_format(c.plan, text, sizeof text);
    static const char *const names[] = {"sparse_few_", "sparse_panel_"};
    for (int i = 0; i < 2; i++)
        for (const char *at = text; (at = strstr(at, names[i])) != NULL; at++) c.sparse++;
    return c;
}
static void run(const compiled *c, const float *x, float *y) {
    CHECK_MSG(wick_run(c->space, (const void *[]){x}, (void *[]){y}) == WICK_OK, "%s", wick_workspace_error(c->space));
}
static void compiled_free(compiled *c) {
    wick_workspace_free(&c->space);
    wick_plan_free(&c->plan);
}

static void same_bits(bool scaled, int threads, int stride) {
    wick_context *ctx = context_with(&(wick_context_options){.threads = threads});
    net n = net_make(ctx, 0);
    n.scaled = scaled;
    n.stride = stride;
    float x[X], dense[Y], sparse[Y];
    fill(x, X, 20);
    compiled before = compile(ctx, &n);
    CHECK_INT(before.sparse, 0);
    net_write(ctx, &n, 93);
    compiled after = compile(ctx, &n);
    CHECK_INT(after.sparse, 2);
    for (int round = 0; round < 4; round++) {
        run(&before, x, dense);
        run(&after, x, sparse);
        CHECK_MSG(!memcmp(dense, sparse, sizeof dense), "round %d, %d threads", round, threads);
        /* other zeros, then none, then an Inf among what they meet */
        if (round < 2)
            net_write(ctx, &n, round ? 0 : 93);
        else
            x[7] = INFINITY;
    }
    compiled_free(&before);
    compiled_free(&after);
    wick_context_free(&ctx);
}

TEST(plans_by_what_is_not_zero_have_the_bits_of_dense_ones) {
    for (int threads = 1; threads < 4; threads++) same_bits(false, threads, 1);
}
TEST(weights_that_a_scale_by_channel_goes_into_are_sparse_too) { same_bits(true, 1, 1); }
TEST(convolutions_with_strides_are_sparse_too) {
    for (int stride = 2; stride <= 4; stride++) same_bits(stride == 3, stride - 1, stride);
}

TEST(a_plan_that_trains_the_weights_is_dense) {
    wick_context *ctx = context();
    net n = net_make(ctx, 95);
    wick_tensor *x = state(ctx, WICK_DIMS(4, CO), 0);
    wick_tensor *y = wick_matmul(x, wick_transpose(n.weight, 0, 1));
    CHECK_OK(ctx, wick_eval(ctx, 1, &y, NULL)); /* what is recorded anew in each step is dense as well */
    compiled c = compile(ctx, &n);
    CHECK_INT(c.sparse, 2);
    compiled_free(&c);
    wick_context_free(&ctx);
}

static int remarks;
static void listen(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)user, (void)node, (void)place;
    remarks += !strcmp(pass, "kernel") && strstr(text, "not sparse: ") != NULL;
}
TEST(remarks_say_why_a_product_is_dense) {
    wick_context *ctx = context();
    net n = net_make(ctx, 20);
    wick_plan *plan = NULL;
    remarks = 0;
    CHECK_OK(ctx, wick_compile(ctx, record, &n, 1, &(wick_spec){"x", WICK_F32, 4, {BATCH, CI, HW, HW}}, 1,
                               &(wick_compile_options){.on_remark = listen}, &plan));
    CHECK_INT(remarks, 2);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
