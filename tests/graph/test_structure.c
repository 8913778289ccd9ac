/* What the IR can hold: regions, symbolic dims, nodes with several results. */
#include "graph/graphs.h"

static wick_node *input(fixture *b, wick_graph *g, int64_t index, wick_type type) {
    wick_input_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.type = type;
    attr.index = index;
    b->ctx->target = g;
    wick_node *n = wick_node_new(b->ctx, &wick_op_input, 0, NULL, 1, &type, &attr, sizeof attr);
    b->ctx->target = NULL;
    return n;
}
static void returns(fixture *b, wick_graph *g, wick_value *v) {
    g->outputs = wick_arena_alloc(&b->arena, sizeof *g->outputs);
    g->outputs[0] = v;
    g->n_outputs = 1;
}

/* ---- symbolic dims ----------------------------------------------------------------------------------------------- */

/* relu(x [batch, 3] w [3, 4]), then its mean over axis 1, for any batch in 1..64 */
static wick_graph *ranged(fixture *b) {
    fixture_open(b);
    wick_graph *g = b->graph = wick_graph_new(b->ctx, &b->arena);
    int64_t batch = wick_graph_symbol(g, "batch", 1, 64);
    CHECK(WICK_IS_SYMBOL(batch));
    CHECK_INT(WICK_SYMBOL_OF(batch), 0);
    wick_node *x = input(b, g, 0, (wick_type){.dims = {batch, 3}, .dtype = WICK_F32, .rank = 2});
    wick_node *w = input(b, g, 1, (wick_type){.dims = {3, 4}, .dtype = WICK_F32, .rank = 2});
    b->ctx->target = g;
    wick_tensor *hx = wick_tensor_new(b->ctx, &x->out[0]), *hw = wick_tensor_new(b->ctx, &w->out[0]);
    wick_tensor *y = wick_sum(wick_relu(wick_matmul(hx, hw)), WICK_AXES(1), false);
    b->ctx->target = NULL;
    CHECK_POISON(y, WICK_OK, "");
    if (y->value) returns(b, g, y->value);
    return g;
}

TEST(symbolic_dims_flow_through_shape_rules_and_print_by_name) {
    fixture b;
    wick_graph *g = ranged(&b);
    CHECK_GRAPH(&b, "batch in 1..64\n"
                    "%0 f32[batch,3] = input() index=0\n"
                    "%1 f32[3,4] = input() index=1\n"
                    "%2 f32[batch,4] = matmul(%0, %1)\n"
                    "%3 f32[batch,4] = relu(%2)\n"
                    "%4 f32[batch] = sum(%3) axes=1\n"
                    "return %4\n");
    CHECK_INT(wick_graph_verify(g, &b.msg), WICK_OK);
    CHECK(!wick_type_is_static(&g->nodes[4]->out[0].type));
    fixture_close(&b);
}

TEST(binding_symbols_gives_a_static_graph) {
    fixture b;
    wick_graph *g = ranged(&b);
    CHECK_INT(wick_graph_bind(g, (int64_t[]){17}, &b.msg), WICK_OK);
    CHECK_GRAPH(&b, "%0 f32[17,3] = input() index=0\n"
                    "%1 f32[3,4] = input() index=1\n"
                    "%2 f32[17,4] = matmul(%0, %1)\n"
                    "%3 f32[17,4] = relu(%2)\n"
                    "%4 f32[17] = sum(%3) axes=1\n"
                    "return %4\n");
    CHECK_INT(wick_graph_verify(g, &b.msg), WICK_OK);
    CHECK_INT(((const wick_input_attr *)g->nodes[0]->attr)->type.dims[0], 17);
    fixture_close(&b);
}

TEST(an_extent_outside_its_range_is_refused_by_name) {
    fixture b;
    wick_graph *g = ranged(&b);
    CHECK_INT(wick_graph_bind(g, (int64_t[]){65}, &b.msg), WICK_ERR_SHAPE);
    CHECK_STR_HAS(b.msg.text, "batch is 65, outside its range 1..64");
    CHECK_INT(wick_graph_bind(g, (int64_t[]){0}, &b.msg), WICK_ERR_SHAPE);
    CHECK_INT(WICK_SYMBOL_OF(g->nodes[2]->out[0].type.dims[0]), 0); /* unchanged */
    CHECK_INT(wick_graph_bind(g, (int64_t[]){1}, &b.msg), WICK_OK);
    fixture_close(&b);
}

TEST(different_symbols_do_not_broadcast_and_the_same_one_does) {
    fixture b;
    fixture_open(&b);
    wick_graph *g = b.graph = wick_graph_new(b.ctx, &b.arena);
    int64_t m = wick_graph_symbol(g, "m", 1, 8), n = wick_graph_symbol(g, "n", 1, 8);
    wick_node *x = input(&b, g, 0, (wick_type){.dims = {m}, .dtype = WICK_F32, .rank = 1});
    wick_node *y = input(&b, g, 1, (wick_type){.dims = {n}, .dtype = WICK_F32, .rank = 1});
    b.ctx->target = g;
    wick_tensor *hx = wick_tensor_new(b.ctx, &x->out[0]), *hy = wick_tensor_new(b.ctx, &y->out[0]);
    CHECK_POISON(wick_add(hx, hx), WICK_OK, "");
    CHECK_POISON(wick_add(hx, wick_constant(b.ctx, WICK_F32, 1)), WICK_OK, "");
    CHECK_POISON(wick_add(hx, hy), WICK_ERR_SHAPE, "add(f32[s0], f32[s1])");
    b.ctx->target = NULL;
    fixture_close(&b);
}

TEST(a_graph_with_symbols_of_which_two_meet_in_one_op_binds_both) {
    fixture b;
    fixture_open(&b);
    wick_graph *g = b.graph = wick_graph_new(b.ctx, &b.arena);
    int64_t m = wick_graph_symbol(g, "m", 1, 8), k = wick_graph_symbol(g, "k", 2, 8);
    wick_node *x = input(&b, g, 0, (wick_type){.dims = {m, k}, .dtype = WICK_F32, .rank = 2});
    wick_node *y = input(&b, g, 1, (wick_type){.dims = {k, 5}, .dtype = WICK_F32, .rank = 2});
    b.ctx->target = g;
    wick_tensor *p = wick_matmul(wick_tensor_new(b.ctx, &x->out[0]), wick_tensor_new(b.ctx, &y->out[0]));
    b.ctx->target = NULL;
    CHECK_POISON(p, WICK_OK, "");
    returns(&b, g, p->value);
    CHECK_INT(wick_graph_verify(g, &b.msg), WICK_OK);
    CHECK_INT(wick_graph_bind(g, (int64_t[]){3, 4}, &b.msg), WICK_OK);
    CHECK_STR_HAS(fixture_text(&b), "f32[3,5] = matmul(%0, %1)");
    fixture_close(&b);
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

TEST(a_region_has_parameters_nodes_and_results_of_its_own) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *y = VEC(b.ctx, 3, 4);
    FIXTURE_COLLECT(&b, wick_mul(wick_add(x, y), wick_exp(wick_add(x, y))));
    fixture_pass(&b, wick_pass_cse);
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = data()\n"
                    "%2 f32[2] = fused(%0, %1)\n"
                    "  %0 f32[2] = add(a, b)\n"
                    "  %1 f32[2] = exp(%0)\n"
                    "  %2 f32[2] = mul(%0, %1)\n"
                    "  return %2\n"
                    "return %2\n");
    const wick_node *fused = b.graph->nodes[2];
    CHECK_INT(fused->n_regions, 1);
    CHECK_INT(fused->regions[0]->n_inputs, 2);
    wick_graph *g = wick_graph_new(b.ctx, &b.arena); /* a copied node keeps its regions */
    wick_value *in[2] = {fused->in[0], fused->in[1]};
    const wick_node *copy = wick_graph_copy_node(g, fused, in);
    REQUIRE(copy != NULL);
    CHECK(copy->regions == fused->regions && copy->n_regions == 1);
    fixture_close(&b);
}

/* ---- several results --------------------------------------------------------------------------------------------- */

TEST(results_of_one_node_are_values_of_their_own) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *y = VEC(ctx, 3, 4), *g[2];
    wick_grad(wick_sum(wick_mul(wick_square(x), y), WICK_ALL_AXES, false), 2, (wick_tensor *[]){x, y}, g);
    CHECK(g[0]->value->node == g[1]->value->node);
    CHECK_INT(g[0]->value->node->n_out, 2);
    CHECK_INT(g[1]->value->index, 1);
    CHECK_OK(ctx, wick_eval(ctx, 1, &g[0], NULL)); /* both are computed, once */
    CHECK(wick_tensor_ready(g[1]));
    uint64_t evals = wick_context_get_stats(ctx).evals;
    CHECK_OK(ctx, wick_eval(ctx, 1, &g[1], NULL));
    CHECK_INT(wick_context_get_stats(ctx).evals, (long long)evals);
    CHECK_VALUES(g[0], 6, 16);
    CHECK_VALUES(g[1], 1, 4);
    wick_context_free(&ctx);
}

TEST(a_node_with_one_result_freed_still_computes_the_other) {
    wick_context *ctx = context();
    wick_tensor *x = VEC(ctx, 1, 2), *y = VEC(ctx, 3, 4), *g[2];
    wick_grad(wick_sum(wick_mul(wick_square(x), y), WICK_ALL_AXES, false), 2, (wick_tensor *[]){x, y}, g);
    wick_tensor_free(&g[0]);
    CHECK_VALUES(wick_neg(g[1]), -1, -4);
    CHECK_VALUES(g[1], 1, 4);
    wick_context_free(&ctx);
}

/* Seventy gradients at once: more than fits the small lists. */
TEST(a_node_may_have_many_results) {
    wick_context *ctx = context();
    enum { N = 70 };
    wick_tensor *x[N], *g[N], *loss = NULL;
    for (int i = 0; i < N; i++) {
        x[i] = wick_full(ctx, WICK_F64, WICK_SCALAR, i);
        wick_tensor *term = wick_square(x[i]);
        loss = loss ? wick_add(loss, term) : term;
    }
    wick_grad(loss, N, x, g);
    CHECK_OK(ctx, wick_eval(ctx, N, g, NULL));
    for (int i = 0; i < N; i++) CHECK(item(g[i]) == 2 * i);
    wick_context_free(&ctx);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
