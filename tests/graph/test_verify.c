/* The verifier refuses graphs that a wrong pass would leave: one broken graph for each of its rules. */
#include "graph/graphs.h"

/* %0 data, %1 exp, %2 add of both, returned. */
static wick_graph *sound(fixture *b) {
    fixture_open(b);
    wick_tensor *x = VEC(b->ctx, 1, 2);
    FIXTURE_COLLECT(b, wick_add(wick_exp(x), x));
    CHECK_INT(wick_graph_verify(b->graph, &b->msg), WICK_OK);
    return b->graph;
}
static void refused(fixture *b, const char *why) {
    CHECK_INT(wick_graph_verify(b->graph, &b->msg), WICK_ERR_INTERNAL);
    CHECK_STR_HAS(b->msg.text, why);
    fixture_close(b);
}

TEST(an_input_must_be_defined_before_its_reader) {
    fixture b;
    wick_graph *g = sound(&b);
    wick_node *swap = g->nodes[1];
    g->nodes[1] = g->nodes[2];
    g->nodes[2] = swap;
    refused(&b, "node 1 (add): an input is not defined before");

    g = sound(&b); /* a value of a node that is not in the graph */
    g->nodes[1] = g->nodes[2];
    g->n = 2;
    refused(&b, "not defined before");

    g = sound(&b); /* a value that was replaced */
    g->nodes[1]->out[0].forward = &g->nodes[0]->out[0];
    refused(&b, "node 2 (add): an input is not defined before");

    g = sound(&b);
    g->nodes[2]->in[0] = NULL;
    refused(&b, "not defined before");

    g = sound(&b); /* a result that the node does not have */
    wick_value *stray = wick_arena_alloc(&b.arena, sizeof *stray);
    *stray = g->nodes[1]->out[0];
    g->nodes[2]->in[0] = stray;
    refused(&b, "not defined before");
}

TEST(the_number_of_inputs_must_fit_the_op) {
    fixture b;
    wick_graph *g = sound(&b);
    g->nodes[2]->n_in = 1;
    refused(&b, "node 2 (add): the number of inputs");
}

TEST(the_number_of_results_must_fit_the_op) {
    fixture b;
    wick_graph *g = sound(&b);
    b.ctx->target = g;
    wick_type types[2] = {g->nodes[0]->out[0].type, g->nodes[0]->out[0].type};
    wick_node_new(b.ctx, &wick_ew_ops[WICK_EW_neg], 1, (wick_value *[]){&g->nodes[0]->out[0]}, 2, types, NULL, 0);
    b.ctx->target = NULL;
    refused(&b, "node 3 (neg): the number of results");
}

TEST(types_must_follow_from_the_ops_rule) {
    fixture b;
    wick_graph *g = sound(&b);
    g->nodes[2]->out[0].type.dims[0] = 3;
    refused(&b, "node 2 (add): a result's type is not the one its rule gives");
    g = sound(&b);
    g->nodes[1]->out[0].type.dtype = WICK_F64;
    refused(&b, "node 1 (exp): a result's type");
    g = sound(&b);
    g->nodes[0]->out[0].type.dtype = g->nodes[1]->out[0].type.dtype = WICK_BOOL;
    refused(&b, "its own shape rule refuses");
}

TEST(inputs_and_results_must_live_on_one_device) {
    fixture b;
    wick_graph *g = sound(&b);
    g->nodes[0]->out[0].type.device = 1;
    refused(&b, "device");
    g = sound(&b);
    for (int i = 0; i < 2; i++) g->nodes[i]->out[0].type.device = 1;
    refused(&b, "device"); /* the result claims to be elsewhere */
}

TEST(symbols_must_be_those_of_the_graph) {
    fixture b;
    wick_graph *g = sound(&b);
    for (int i = 0; i < 3; i++) g->nodes[i]->out[0].type.dims[0] = WICK_SYMBOL(0);
    refused(&b, "node 0 (data): a dim names a symbol");
}

TEST(nothing_that_can_fail_may_commit) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *i = wick_from(b.ctx, WICK_I64, WICK_DIMS(1), (int64_t[]){0});
    FIXTURE_COLLECT(&b, wick_gather(x, 0, i));
    b.graph->nodes[2]->phase = 1;
    refused(&b, "(gather): a node that can fail is in the commit phase");
}

TEST(nothing_may_read_what_was_committed) {
    fixture b;
    wick_graph *g = sound(&b);
    g->nodes[1]->phase = 1;
    refused(&b, "node 2 (add): a node reads a result of the commit phase");
}

TEST(outputs_must_be_values_of_the_graph) {
    fixture b;
    wick_graph *g = sound(&b);
    g->n = 2;
    refused(&b, "output 0 is not a value of the graph");
    g = sound(&b);
    g->outputs[0] = NULL;
    refused(&b, "output 0 is not a value");
}

TEST(a_graph_that_ran_out_of_memory_is_refused) {
    fixture b;
    wick_graph *g = sound(&b);
    g->failed = true;
    CHECK_INT(wick_graph_verify(g, &b.msg), WICK_ERR_NOMEM);
    fixture_close(&b);
}

/* ---- fused regions ----------------------------------------------------------------------------------------------- */

static wick_node *fused(fixture *b) {
    sound(b);
    fixture_pass(b, wick_pass_fuse);
    CHECK_INT(fixture_count(b, "fused"), 1);
    return b->graph->nodes[b->graph->n - 1];
}

TEST(a_fused_node_has_one_region_that_fits) {
    fixture b;
    fused(&b)->n_regions = 0;
    refused(&b, "one region");
    fused(&b)->regions[0]->n_inputs = 2;
    refused(&b, "do not fit");
    wick_node *n = fused(&b);
    n->regions[0]->n_outputs = 0;
    refused(&b, "do not fit");
}

TEST(a_fused_region_holds_elementwise_ops_only) {
    fixture b;
    wick_node *n = fused(&b);
    n->regions[0]->nodes[0]->op = &wick_op_softmax;
    refused(&b, "neither elementwise nor a final reduction");
}

TEST(regions_are_verified_too) {
    fixture b;
    wick_node *n = fused(&b);
    wick_node **body = n->regions[0]->nodes, *first = body[0];
    body[0] = body[1], body[1] = first;
    refused(&b, "not defined before");
}

TEST(the_pass_that_broke_a_graph_is_named) {
    fixture b;
    wick_graph *g = sound(&b);
    g->nodes[2]->out[0].type.dims[0] = 3;
    setenv("WICK_VERIFY", "1", 1);
    CHECK_INT(wick_run_passes(g, &(wick_pass_choice){0}, &b.msg), WICK_ERR_INTERNAL);
    CHECK_STR_HAS(b.msg.text, "after attention: node 2 (add)");
    unsetenv("WICK_VERIFY");
    fixture_close(&b);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
