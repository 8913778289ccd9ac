/* Outputs that are told as soon as they have their values. */
#include "exec/exec.h"
#include "tensor/tensors.h"
#include "wick/ops.h"
#include "wick/plan.h"

enum { N = 6, SIZE = 64 };

/* Each is a product with the one before. */
static wick_status chain(wick_context *ctx, wick_tensor *const *in, wick_tensor **out, void *user) {
    (void)ctx, (void)user;
    wick_tensor *x = in[0];
    for (int k = 0; k < N; k++) out[N - 1 - k] = x = wick_matmul(x, in[1]);
    return WICK_OK;
}

typedef struct heard {
    int n, order[2 * N];
    float *const *outputs;
    float seen[2 * N]; /* the first number when it was told */
} heard;

static void note(void *user, int output) {
    heard *h = user;
    h->seen[h->n] = h->outputs[output][0];
    h->order[h->n++] = output;
}

TEST(outputs_are_told_in_the_order_in_which_they_are_done_with_their_values) {
    wick_context *ctx = context();
    const wick_spec in[2] = {{.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {SIZE, SIZE}},
                             {.name = "w", .dtype = WICK_F32, .rank = 2, .dims = {SIZE, SIZE}}};
    static float x[SIZE * SIZE], w[SIZE * SIZE], values[N][SIZE * SIZE];
    float *outputs[N];
    void *out[N];
    for (int i = 0; i < SIZE * SIZE; i++) x[i] = 1, w[i] = (i % (SIZE + 1) == 0) * 2; /* 2 I */
    for (int k = 0; k < N; k++) out[k] = outputs[k] = values[k];
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, chain, NULL, 2, in, N, NULL, &plan));
    CHECK_OK(ctx, wick_workspace_new(plan, &ws));
    /* the last product reads the one before, so both are done behind it */
    static const int order[N] = {5, 4, 3, 2, 0, 1};
    double last = 0, ns;
    for (int i = 0; i < N; i++) {
        CHECK(wick_plan_done_output(plan, i, &ns) == order[i] && ns >= last);
        last = ns;
    }
    CHECK(wick_plan_done_output(plan, N, NULL) == -1 && wick_plan_done_output(plan, -1, NULL) == -1);
    heard h = {.outputs = outputs};
    wick_workspace_on_output(ws, note, &h);
    CHECK(wick_run(ws, (const void *[]){x, w}, out) == WICK_OK);
    CHECK(h.n == N);
    for (int i = 0; i < N; i++) CHECK(h.order[i] == order[i] && h.seen[i] == ldexpf(1, N - order[i]));
    wick_workspace_on_output(ws, NULL, NULL);
    CHECK(wick_run(ws, (const void *[]){x, w}, out) == WICK_OK && h.n == N);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

typedef struct stop {
    wick_workspace *ws;
    int n;
} stop;
static void cancel_at_second(void *user, int output) {
    (void)output;
    stop *s = user;
    if (++s->n == 2) wick_workspace_cancel(s->ws);
}

TEST(a_run_that_fails_tells_those_that_were_done) {
    wick_context *ctx = context();
    const wick_spec in[2] = {{.name = "x", .dtype = WICK_F32, .rank = 2, .dims = {SIZE, SIZE}},
                             {.name = "w", .dtype = WICK_F32, .rank = 2, .dims = {SIZE, SIZE}}};
    static float x[SIZE * SIZE], w[SIZE * SIZE];
    wick_plan *plan = NULL;
    wick_workspace *ws = NULL;
    CHECK_OK(ctx, wick_compile(ctx, chain, NULL, 2, in, N, NULL, &plan));
    CHECK_OK(ctx, wick_workspace_new(plan, &ws));
    stop s = {.ws = ws};
    wick_workspace_on_output(ws, cancel_at_second, &s);
    CHECK(wick_run(ws, (const void *[]){x, w}, NULL) == WICK_ERR_CANCELLED && s.n == 2);
    wick_workspace_free(&ws);
    wick_plan_free(&plan);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
