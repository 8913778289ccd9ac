/* Transposed convolutions of one tap that become products written into zeros: the bits of the convolution itself. */
#include "graph/graphs.h"
#include "wick/wick.h"

typedef struct spread_case {
    int rank; /* of the image */
    int64_t batch, from, to, groups, extent[3], kernel[3], stride[3], output_pad[3], pad[3];
    bool spreads;
} spread_case;
static const spread_case cases[] = {
    {2, 2, 6, 10, 1, {5, 7}, {1, 1}, {4, 3}, {0}, {0}, true},
    {2, 1, 32, 33, 1, {16, 16}, {1, 1}, {3, 3}, {2, 1}, {0}, true},
    {2, 1, 8, 6, 2, {4, 1}, {1, 1}, {9, 1}, {5, 0}, {0}, true},
    {2, 1, 1300, 8, 1, {3, 3}, {1, 1}, {3, 3}, {0}, {0}, true}, /* channels of several blocks */
    {1, 3, 40, 5, 1, {9}, {1}, {11}, {3}, {0}, true},
    {3, 1, 3, 4, 1, {2, 3, 2}, {1, 1, 1}, {3, 1, 4}, {0}, {0}, true},
    {2, 1, 6, 10, 1, {5, 7}, {1, 1}, {2, 4}, {0}, {0}, false}, /* too few zeros */
    {2, 1, 6, 10, 1, {5, 7}, {1, 2}, {4, 3}, {0}, {0}, false}, /* two taps */
    {2, 1, 6, 10, 1, {5, 7}, {1, 1}, {4, 4}, {0}, {1, 1}, false}, /* which padding cuts off */
};
typedef struct spread {
    const spread_case *c;
    wick_tensor *w, *bias;
    int taken;
} spread;

static wick_status record(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    const spread *s = user;
    wick_conv_options o = {.groups = s->c->groups};
    (void)ctx;
    for (int d = 0; d < s->c->rank; d++)
        o.stride[d] = s->c->stride[d], o.output_pad[d] = s->c->output_pad[d], o.pad[d] = o.pad_end[d] = s->c->pad[d];
    out[0] = wick_conv_transpose(in[0], s->w, s->bias, &o);
    return WICK_OK;
}
static void count(void *user, const char *pass, const char *node, const char *place, const char *text) {
    (void)node, (void)place, (void)text;
    ((spread *)user)->taken += !strcmp(pass, "spread");
}

TEST(products_written_into_zeros_have_the_bits_of_the_convolution) {
    enum { MOST = 1 << 17 };
    static float x[MOST], got[2][MOST];
    wick_context *ctx;
    REQUIRE(wick_context_new(&(wick_context_options){.threads = 2}, &ctx) == WICK_OK);
    for (int i = 0; i < MOST; i++) x[i] = (float)test_rand_real(-1, 1);
    for (size_t at = 0; at < 2 * WICK_COUNTOF(cases); at++) {
        const spread_case *c = &cases[at / 2];
        wick_scope *scope = wick_scope_open(ctx);
        int64_t w[5] = {c->from, c->to / c->groups}, n = c->batch * c->to;
        wick_spec in = {.dtype = WICK_F32, .rank = c->rank + 2, .dims = {c->batch, c->from}};
        for (int d = 0; d < c->rank; d++) {
            in.dims[d + 2] = c->extent[d], w[d + 2] = c->kernel[d];
            n *= (c->extent[d] - 1) * c->stride[d] + c->kernel[d] + c->output_pad[d] - 2 * c->pad[d];
        }
        REQUIRE(n <= MOST);
        spread s = {.c = c,
                    .w = wick_from(ctx, WICK_F32, c->rank + 2, w, x + 77),
                    .bias = at % 2 ? wick_from(ctx, WICK_F32, 1, &c->to, x + 5) : NULL};
        for (int k = 0; k < 2; k++) {
            wick_plan *plan = NULL;
            wick_workspace *space = NULL;
            const wick_compile_options o = {.on_remark = count, .user = &s, .without = k ? "spread" : NULL};
            CHECK_OK(ctx, wick_compile(ctx, record, &s, 1, &in, 1, &o, &plan));
            REQUIRE(plan && wick_workspace_new(plan, &space) == WICK_OK);
            CHECK_INT(s.taken, c->spreads);
            CHECK_OK(ctx, wick_run(space, (const void *[]){x}, (void *[]){got[k]}));
            wick_workspace_free(&space);
            wick_plan_free(&plan);
        }
        CHECK_MSG(!memcmp(got[0], got[1], (size_t)n * sizeof(float)), "case %d: other bits", (int)at / 2);
        wick_scope_close(&scope);
    }
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
