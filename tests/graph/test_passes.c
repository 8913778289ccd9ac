/* Passes, each with the graph before and after it as text. */
#include "graph/graphs.h"

TEST(a_graph_prints_values_types_ops_and_attributes) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 3));
    FIXTURE_COLLECT(
        &b, wick_sum(wick_mul(wick_transpose(x, 0, 1), wick_constant(b.ctx, WICK_F32, 0.5)), WICK_AXES(1), true));
    CHECK_GRAPH(&b, "%0 f32[2,3] = data()\n"
                    "%1 f32[3,2] = permute(%0) axes=1,0\n"
                    "%2 f32[] = constant() value=0.5\n"
                    "%3 f32[3,2] = mul(%1, %2)\n"
                    "%4 f32[3,1] = sum(%3) axes=1 keepdims\n"
                    "return %4\n");
    fixture_close(&b);
}

TEST(simplify_takes_out_what_changes_nothing) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *y = wick_add(x, x);
    wick_tensor *z = wick_sub(wick_div(wick_mul(y, wick_like(y, 1)), wick_like(y, 1)), wick_like(y, 0));
    z = wick_reshape(wick_permute(wick_stop_gradient(z), 1, (int[]){0}), WICK_DIMS(2));
    FIXTURE_COLLECT(&b, wick_neg(z));
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = add(%0, %0)\n"
                    "%2 f32[] = constant() value=1\n"
                    "%3 f32[2] = mul(%1, %2)\n"
                    "%4 f32[] = constant() value=1\n"
                    "%5 f32[2] = div(%3, %4)\n"
                    "%6 f32[] = constant() value=0\n"
                    "%7 f32[2] = sub(%5, %6)\n"
                    "%8 f32[2] = stop_gradient(%7)\n"
                    "%9 f32[2] = permute(%8) axes=0\n"
                    "%10 f32[2] = reshape(%9) to=f32[2]\n"
                    "%11 f32[2] = neg(%10)\n"
                    "return %11\n");
    fixture_pass(&b, wick_pass_simplify);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = add(%0, %0)\n"
                    "%2 f32[2] = neg(%1)\n"
                    "return %2\n");
    fixture_close(&b);
}

/* x + 0 turns -0 into +0; x * 1 flushes a denormal that was given. */
TEST(simplify_keeps_what_changes_a_bit) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *y = wick_mul(x, wick_like(x, 1)), *z = wick_add(y, wick_like(y, 0));
    FIXTURE_COLLECT(&b, z);
    fixture_pass(&b, wick_pass_simplify);
    CHECK_INT(fixture_count(&b, "mul"), 1);
    CHECK_INT(fixture_count(&b, "add"), 1);
    fixture_close(&b);
}

TEST(simplify_looks_through_expands_that_broadcasting_makes_needless) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 3)), *r = VEC(b.ctx, 1, 2, 3);
    FIXTURE_COLLECT(&b, wick_add(x, wick_expand(r, WICK_DIMS(2, 3))));
    fixture_pass(&b, wick_pass_simplify);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2,3] = data()\n"
                    "%1 f32[3] = data()\n"
                    "%2 f32[2,3] = add(%0, %1)\n"
                    "return %2\n");
    fixture_close(&b);
}

TEST(fold_computes_ops_of_constants) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2),
                *c = wick_exp(wick_mul(wick_constant(b.ctx, WICK_F32, 2), wick_constant(b.ctx, WICK_F32, 0)));
    wick_tensor *whole = wick_neg(wick_expand(wick_cast(wick_constant(b.ctx, WICK_I32, 7), WICK_F32), WICK_DIMS(2)));
    FIXTURE_COLLECT(&b, wick_add(wick_mul(x, c), whole), wick_mul(x, wick_scalar(b.ctx, WICK_F32, 3)));
    fixture_pass(&b, wick_pass_fold);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[] = constant() value=1\n"
                    "%2 f32[2] = mul(%0, %1)\n"
                    "%3 f32[] = constant() value=-7\n"
                    "%4 f32[2] = expand(%3) to=f32[2]\n"
                    "%5 f32[2] = add(%2, %4)\n"
                    "%6 f32[] = slot()\n"
                    "%7 f32[2] = mul(%0, %6)\n"
                    "return %5, %7\n");
    fixture_close(&b);
}

TEST(fold_gives_the_bits_that_running_would) {
    static const double numbers[] = {0, -0.0, 1, -1.5, 0.1, 3, 1e30, 1e-40};
    for (int d = 0; d < 2; d++) {
        wick_dtype dtype = d ? WICK_F64 : WICK_F32;
        double out[2][8][5];
        for (int eager = 0; eager < 2; eager++) {
            wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .eager = eager});
            for (int i = 0; i < 8; i++) {
                wick_tensor *c = wick_constant(ctx, dtype, numbers[i]), *three = wick_constant(ctx, dtype, 3);
                wick_tensor *y[] = {wick_div(c, three), wick_tanh(c), wick_mul(c, c),
                                    wick_where(wick_gt(c, three), wick_exp(three), wick_sqrt(wick_abs(c))),
                                    wick_add(c, three)};
                for (int k = 0; k < 5; k++) out[eager][i][k] = item(y[k]);
            }
            wick_context_free(&ctx);
        }
        CHECK(!memcmp(out[0], out[1], sizeof out[0]));
    }
}

TEST(cse_makes_equal_nodes_one) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *y = VEC(b.ctx, 1, 2);
    wick_tensor *p = wick_add(wick_exp(x), wick_exp(x)), *q = wick_sub(wick_exp(x), wick_exp(y));
    FIXTURE_COLLECT(&b, p, q, wick_sum(x, WICK_ALL_AXES, false), wick_sum(x, WICK_ALL_AXES, true));
    fixture_pass(&b, wick_pass_cse);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = data()\n"
                    "%2 f32[2] = exp(%0)\n"
                    "%3 f32[2] = add(%2, %2)\n"
                    "%4 f32[2] = exp(%1)\n"
                    "%5 f32[2] = sub(%2, %4)\n"
                    "%6 f32[] = sum(%0) axes=0\n"
                    "%7 f32[1] = sum(%0) axes=0 keepdims\n"
                    "return %3, %5, %6, %7\n");
    fixture_close(&b);
}

TEST(cse_leaves_random_nodes_slots_and_effects_alone) {
    fixture b;
    fixture_open(&b);
    wick_tensor *u = wick_random_uniform(b.ctx, WICK_F32, WICK_DIMS(2)),
                *v = wick_random_uniform(b.ctx, WICK_F32, WICK_DIMS(2));
    wick_tensor *s = wick_scalar(b.ctx, WICK_F32, 2), *t = wick_scalar(b.ctx, WICK_F32, 2);
    FIXTURE_COLLECT(&b, wick_sub(u, v), wick_sub(s, t));
    fixture_pass(&b, wick_pass_cse);
    fixture_pass(&b, wick_pass_fold);
    CHECK_INT(fixture_count(&b, "random_uniform"), 2);
    CHECK_INT(fixture_count(&b, "slot"), 2);
    fixture_close(&b);
}

TEST(dce_drops_what_nothing_needs_and_keeps_effects) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2);
    CHECK_OK(b.ctx, wick_check_finite(wick_log(x)));
    wick_tensor *unused = wick_exp(wick_sin(x)), *y = wick_neg(x);
    wick_wanted wanted[2] = {{unused->value, NULL}, {y->value, NULL}};
    wick_node *effect = b.ctx->frame->effects[0].node;
    CHECK_OK(b.ctx, wick_walk_run(b.ctx, b.ctx->reached, 2, wanted, 1, &effect, 0));
    b.graph = wick_graph_from_walk(b.ctx, &b.arena, b.ctx->reached, 2, wanted);
    b.graph->outputs[0] = b.graph->outputs[1];
    b.graph->n_outputs = 1;
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = neg(%0)\n"
                    "%2 f32[2] = log(%0)\n"
                    "%3 f32[2] = check_finite(%2)\n"
                    "return %1\n");
    fixture_close(&b);
}

TEST(expand_grad_writes_the_gradient_out) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *loss = wick_sum(wick_exp(x), WICK_ALL_AXES, false), *g;
    wick_grad(loss, 1, &x, &g);
    FIXTURE_COLLECT(&b, g);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = exp(%0)\n"
                    "%2 f32[] = sum(%1) axes=0\n"
                    "%3 f32[2] = grad(%2, %0)\n"
                    "return %3\n");
    fixture_pass(&b, wick_pass_expand_grad);
    CHECK_INT(fixture_count(&b, "grad"), 0);
    fixture_pass(&b, wick_pass_dce);
    fixture_pass(&b, wick_pass_simplify);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = exp(%0)\n"
                    "%2 f32[] = constant() value=1\n"
                    "%3 f32[1] = reshape(%2) to=f32[1]\n"
                    "%4 f32[2] = mul(%3, %1)\n" /* broadcasts by itself */
                    "return %4\n");
    fixture_close(&b);
}

/* The gradient of exp(x) + sin(x) x, its terms recorded in one order or the other, as compilers evaluate arguments. */
static void sum_rule(void *user, wick_tensor *g, wick_tensor *y, int n, wick_tensor *const *xs, wick_tensor **gx) {
    (void)y, (void)n;
    wick_tensor *term[3];
    for (int k = 0; k < 3; k++) {
        const int i = *(const bool *)user ? 2 - k : k;
        term[i] = i == 0 ? wick_exp(xs[0]) : i == 1 ? wick_sin(xs[0]) : wick_mul(xs[0], wick_cos(xs[0]));
    }
    gx[0] = wick_mul(g, wick_add(wick_add(term[0], term[1]), term[2]));
}
TEST(gradients_are_written_out_in_one_order_whatever_order_a_rule_records_in) {
    char first[8192] = "";
    for (int way = 0; way < 2; way++) {
        fixture b;
        fixture_open(&b);
        bool transposed = way;
        wick_tensor *x = VEC(b.ctx, 1, 2), *y = wick_add(wick_exp(x), wick_mul(wick_sin(x), x)), *g;
        wick_grad(wick_sum(wick_custom_gradient(y, 1, &x, sum_rule, &transposed), WICK_ALL_AXES, false), 1, &x, &g);
        fixture_collect(&b, 1, &g);
        fixture_pass(&b, wick_pass_expand_grad);
        fixture_pass(&b, wick_pass_dce);
        CHECK_INT(fixture_count(&b, "cos"), 1);
        if (!way) snprintf(first, sizeof first, "%s", fixture_text(&b));
        CHECK_GRAPH(&b, first);
        fixture_close(&b);
    }
}

TEST(fuse_joins_elementwise_nodes_and_the_reduction_at_their_end) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 3)), *y = VEC(b.ctx, 1, 2, 3);
    FIXTURE_COLLECT(&b, wick_sum(wick_mul(wick_exp(x), y), WICK_AXES(1), false));
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[2,3] = data()\n"
                    "%1 f32[3] = data()\n"
                    "%2 f32[2] = fused(%0, %1)\n"
                    "  %0 f32[2,3] = exp(a)\n"
                    "  %1 f32[2,3] = mul(%0, b)\n"
                    "  %2 f32[2] = sum(%1) axes=1\n"
                    "  return %2\n"
                    "return %2\n");
    fixture_close(&b);
}

TEST(fuse_gives_a_group_several_results) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *e = wick_exp(x), *n = wick_neg(e);
    FIXTURE_COLLECT(&b, e, n);
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2], %2 f32[2] = fused(%0)\n"
                    "  %0 f32[2] = exp(a)\n"
                    "  %1 f32[2] = neg(%0)\n"
                    "  return %0, %1\n"
                    "return %1, %2\n");
    fixture_close(&b);
}

TEST(fuse_keeps_the_terms_of_a_sum_with_the_sum) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *e = wick_exp(x), *s = wick_sum(wick_square(e), WICK_ALL_AXES, false);
    FIXTURE_COLLECT(&b, e, s); /* e is seen from outside: its squares are not */
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = exp(%0)\n"
                    "%2 f32[] = fused(%1)\n"
                    "  %0 f32[2] = square(a)\n"
                    "  %1 f32[] = sum(%0) axes=0\n"
                    "  return %1\n"
                    "return %1, %2\n");
    fixture_close(&b);
}

/* The product of what is stored anyway waits with its reader for the sum; bools are stored, which takes less than to
 * read e again. */
TEST(fuse_makes_where_it_is_read_what_would_be_stored_to_wait) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 4)), *row = VEC(b.ctx, 1, 2, 3, 4), *e = wick_exp(x),
                *s = wick_sum(e, WICK_AXES(0), true);
    FIXTURE_COLLECT(&b, wick_add(wick_mul(e, row), s), wick_where(wick_gt(e, row), s, s));
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[2,4] = data()\n"
                    "%1 f32[4] = data()\n"
                    "%2 f32[2,4], %3 bool[2,4] = fused(%0, %1)\n"
                    "  %0 f32[2,4] = exp(a)\n"
                    "  %1 bool[2,4] = gt(%0, b)\n"
                    "  return %0, %1\n"
                    "%4 f32[1,4] = sum(%2) axes=0 keepdims\n"
                    "%5 f32[2,4] = fused(%2, %1, %4)\n"
                    "  %0 f32[2,4] = mul(a, b)\n"
                    "  %1 f32[2,4] = add(%0, c)\n"
                    "  return %1\n"
                    "%6 f32[2,4] = where(%3, %4, %4)\n"
                    "return %5, %6\n");
    fixture_close(&b);
}

/* Sums of wide rows to columns begin their program anew on each part of a row. */
TEST(fuse_leaves_apart_what_is_predicted_to_be_faster_so) {
    for (int wins = 0; wins < 2; wins++) {
        fixture b;
        fixture_open(&b);
        b.ctx->tuning.cost_piece_ns = wins ? 1 : 100000;
        wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(8, 1024));
        FIXTURE_COLLECT(&b, wick_sum(wick_square(x), WICK_AXES(0), false));
        fixture_pass(&b, wick_pass_fuse);
        CHECK_GRAPH(&b, wins ? "%0 f32[8,1024] = data()\n"
                               "%1 f32[1024] = fused(%0)\n"
                               "  %0 f32[8,1024] = square(a)\n"
                               "  %1 f32[1024] = sum(%0) axes=0\n"
                               "  return %1\n"
                               "return %1\n"
                             : "%0 f32[8,1024] = data()\n"
                               "%1 f32[8,1024] = square(%0)\n"
                               "%2 f32[1024] = sum(%1) axes=0\n"
                               "return %2\n");
        fixture_close(&b);
    }
}
/* A program of many registers works on small blocks, each of which begins every op. */
TEST(fuse_takes_elementwise_ops_where_that_is_predicted_to_be_faster) {
    for (int wins = 0; wins < 2; wins++) {
        fixture b;
        fixture_open(&b);
        b.ctx->tuning.cost_block_ns = wins ? 1 : 100000;
        b.ctx->tuning.cost_step_ns = 1;
        FIXTURE_COLLECT(&b, wick_exp(wick_sqrt(wick_ones(b.ctx, WICK_F32, WICK_DIMS(8, 1024)))));
        fixture_pass(&b, wick_pass_fuse);
        CHECK_INT(fixture_count(&b, "fused"), wins);
        CHECK_INT(fixture_count(&b, "exp"), !wins);
        fixture_close(&b);
    }
}
/* What makes two results on the way moves more than a cache holds, and one op after the other would as well. */
TEST(fuse_goes_on_where_only_all_of_it_fits_into_a_cache) {
    fixture b;
    fixture_open(&b);
    b.ctx->tuning.cost_l2_bytes = 512 << 10;
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(65536)), *y = wick_ones(b.ctx, WICK_F32, WICK_DIMS(65536));
    FIXTURE_COLLECT(&b, wick_huber_loss(x, y, 1, WICK_REDUCE_MEAN));
    fixture_pass(&b, wick_pass_fuse);
    CHECK_INT(fixture_count(&b, "fused"), 1);
    CHECK_INT(fixture_count(&b, "sub") + fixture_count(&b, "abs") + fixture_count(&b, "lt"), 0);
    fixture_close(&b);
}

/* What a batch norm does: x - mean is wanted by its variance, its values and its gradient. */
TEST(rematerialise_makes_cheap_values_again_for_each_reader) {
    fixture b;
    fixture_open(&b);
    b.ctx->tuning.cost_light_rate = 60000; /* as where vectors are wide: making it again wins */
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 4096)), *m = VEC(b.ctx, 1), *d = wick_sub(x, m);
    FIXTURE_COLLECT(&b, wick_sum(d, WICK_ALL_AXES, false), wick_exp(d), wick_neg(d));
    fixture_pass(&b, wick_pass_rematerialise);
    CHECK_GRAPH(&b, "%0 f32[2,4096] = data()\n"
                    "%1 f32[1] = data()\n"
                    "%2 f32[2,4096] = sub(%0, %1)\n"
                    "%3 f32[2,4096] = sub(%0, %1)\n"
                    "%4 f32[2,4096] = sub(%0, %1)\n"
                    "%5 f32[] = sum(%3) axes=0,1\n"
                    "%6 f32[2,4096] = exp(%4)\n"
                    "%7 f32[2,4096] = neg(%2)\n"
                    "return %5, %6, %7\n");
    fixture_pass(&b, wick_pass_fuse); /* two that come together are one again */
    fixture_close(&b);
}

TEST(rematerialise_stores_what_is_predicted_to_be_faster_so) {
    for (int wins = 0; wins < 2; wins++) {
        fixture b;
        fixture_open(&b);
        b.ctx->tuning.cost_light_rate = wins ? 100000000 : 1;
        wick_tensor *d = wick_sub(wick_ones(b.ctx, WICK_F32, WICK_DIMS(2, 4096)), VEC(b.ctx, 1));
        FIXTURE_COLLECT(&b, wick_exp(d), wick_sum(d, WICK_ALL_AXES, false));
        fixture_pass(&b, wick_pass_rematerialise);
        CHECK_INT(fixture_count(&b, "sub"), wins ? 2 : 1);
        fixture_close(&b);
    }
}

TEST(rematerialise_leaves_what_must_be_stored_or_costs_more) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_F32, WICK_DIMS(64, 64)), *m = VEC(b.ctx, 1), *small = VEC(b.ctx, 1, 2);
    wick_tensor *two = wick_mul(x, wick_from(b.ctx, WICK_F32, WICK_DIMS(64, 64), (float[4096]){1}));
    wick_tensor *dear = wick_exp(x), *product = wick_add(x, m), *chain = wick_mul(wick_exp(wick_sub(x, m)), m),
                *little = wick_neg(small), *out = wick_neg(x);
    wick_tensor *pairs[6] = {two, dear, product, chain, little, out}, *results[13];
    for (int i = 0; i < 6; i++) {
        results[2 * i] = wick_sqrt(pairs[i]);
        results[2 * i + 1] = i == 2 ? wick_matmul(pairs[i], pairs[i]) : wick_log(pairs[i]);
    }
    results[12] = out; /* a result itself */
    fixture_collect(&b, 13, results);
    const size_t before = b.graph->n;
    fixture_pass(&b, wick_pass_rematerialise);
    CHECK_INT(b.graph->n, before);
    fixture_close(&b);
}

TEST(epilogue_adds_no_bias_behind_a_relu) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_zeros(b.ctx, WICK_F32, WICK_DIMS(2, 3)), *w = wick_zeros(b.ctx, WICK_F32, WICK_DIMS(3, 2));
    FIXTURE_COLLECT(&b, wick_add(wick_relu(wick_matmul(x, w)), VEC(b.ctx, 1, 2)));
    fixture_pass(&b, wick_pass_epilogue);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 f32[2,3] = data()\n"
                    "%1 f32[3,2] = data()\n"
                    "%2 f32[2] = data()\n"
                    "%3 f32[2,2] = matmul(%0, %1) relu\n"
                    "%4 f32[2,2] = add(%3, %2)\n"
                    "return %4\n");
    fixture_close(&b);
}

/* y needs a sum of e, so it cannot run with e: the group would wait for itself. */
TEST(fuse_never_makes_a_cycle) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *e = wick_exp(x), *y = wick_div(e, wick_sum(e, WICK_ALL_AXES, false));
    FIXTURE_COLLECT(&b, y);
    fixture_pass(&b, wick_pass_fuse);
    CHECK_GRAPH(&b, "%0 f32[2] = data()\n"
                    "%1 f32[2] = exp(%0)\n"
                    "%2 f32[] = sum(%1) axes=0\n"
                    "%3 f32[2] = div(%1, %2)\n"
                    "return %3\n");
    fixture_close(&b);
}

TEST(fuse_does_not_look_through_values_that_a_store_rounds) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = VEC(b.ctx, 1, 2), *h = wick_cast(wick_exp(x), WICK_F16), *y = wick_exp(wick_cast(h, WICK_F32));
    FIXTURE_COLLECT(&b, y);
    fixture_pass(&b, wick_pass_fuse);
    CHECK_INT(fixture_count(&b, "fused"), 2); /* exp with the cast to f16; the cast back with exp */
    fixture_close(&b);
}

/* Random expression graphs: however they are rewritten, values stay to the bit. */
TEST(transpose_turns_products_and_what_widens_them) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_BF16, WICK_DIMS(4, 3)), *a = wick_ones(b.ctx, WICK_BF16, WICK_DIMS(3, 2));
    wick_tensor *read_twice = wick_matmul(x, wick_neg(a));
    FIXTURE_COLLECT(&b, wick_transpose(wick_matmul(x, a), 0, 1),
                    wick_transpose(wick_cast(wick_matmul(x, wick_abs(a)), WICK_F32), 0, 1),
                    wick_transpose(wick_cast(read_twice, WICK_F32), 0, 1), wick_abs(read_twice));
    fixture_pass(&b, wick_pass_transpose);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 bf16[4,3] = data()\n"
                    "%1 bf16[3,2] = data()\n"
                    "%2 bf16[2,3] = permute(%1) axes=1,0\n"
                    "%3 bf16[3,4] = permute(%0) axes=1,0\n"
                    "%4 bf16[2,4] = matmul(%2, %3)\n"
                    "%5 bf16[3,2] = abs(%1)\n"
                    "%6 bf16[2,3] = permute(%5) axes=1,0\n"
                    "%7 bf16[3,4] = permute(%0) axes=1,0\n"
                    "%8 bf16[2,4] = matmul(%6, %7)\n"
                    "%9 f32[2,4] = cast(%8) to=f32\n"
                    "%10 bf16[3,2] = neg(%1)\n"
                    "%11 bf16[4,2] = matmul(%0, %10)\n"
                    "%12 f32[4,2] = cast(%11) to=f32\n"
                    "%13 f32[2,4] = permute(%12) axes=1,0\n"
                    "%14 bf16[4,2] = abs(%11)\n"
                    "return %4, %9, %13, %14\n");
    fixture_close(&b);
}

TEST(random_graphs_keep_their_bits_through_all_passes) {
    for (int round = 0; round < 150; round++) {
        float results[2][3][12];
        for (int eager = 0; eager < 2; eager++) {
            test_seed = 0x1234567 + (uint64_t)round * 7919;
            wick_context *ctx = context_with(&(wick_context_options){.threads = 2, .eager = eager});
            wick_tensor *pool[40];
            float data[12];
            int n = 0;
            for (; n < 3; n++) {
                fill_random(data, 12, -2, 2);
                pool[n] = n < 2 ? wick_from(ctx, WICK_F32, WICK_DIMS(3, 4), data)
                                : wick_from(ctx, WICK_F32, WICK_DIMS(4), data);
            }
            for (int i = 0; i < 30; i++, n++) {
                wick_tensor *p = pool[test_rand_int(0, n - 1)], *q = pool[test_rand_int(0, n - 1)];
                switch (test_rand_int(0, 9)) {
                case 0: pool[n] = wick_add(p, q); break;
                case 1: pool[n] = wick_mul(p, q); break;
                case 2: pool[n] = wick_tanh(p); break;
                case 3: pool[n] = wick_sub(p, wick_mean(q, WICK_ALL_AXES, false)); break;
                case 4: pool[n] = wick_add(p, wick_sum(q, WICK_AXES(-1), true)); break;
                case 5: pool[n] = wick_where(wick_gt(p, q), p, wick_neg(q)); break;
                case 6: pool[n] = wick_slice(p, -1, 3, INT64_MIN, -1); break;
                case 7: pool[n] = wick_softmax(p, -1); break;
                case 8: pool[n] = wick_mul(p, wick_constant(ctx, WICK_F32, test_rand_int(-1, 2))); break;
                default: pool[n] = wick_div(wick_tanh(p), wick_add(wick_square(q), wick_like(q, 1))); break;
                }
                if (wick_tensor_rank(pool[n]) > 2 || wick_tensor_count(pool[n]) > 12) pool[n] = p;
            }
            wick_tensor *loss = wick_sum(wick_tanh(wick_add(pool[n - 1], wick_add(pool[n - 2], pool[0]))),
                                         WICK_ALL_AXES, false),
                        *g;
            wick_grad(loss, 1, pool, &g);
            wick_tensor *out[3] = {wick_expand(loss, WICK_DIMS(12)), wick_flatten(g, 0),
                                   wick_flatten(wick_add(pool[n - 3], pool[0]), 0)};
            CHECK_OK(ctx, wick_eval(ctx, 3, out, NULL));
            for (int k = 0; k < 3; k++) CHECK_OK(ctx, wick_read(out[k], results[eager][k], sizeof results[eager][k]));
            wick_context_free(&ctx);
        }
        for (int k = 0; k < 3; k++)
            CHECK_MSG(!memcmp(results[0][k], results[1][k], sizeof results[0][k]), "round %d, output %d", round, k);
    }
}

/* ---- quantisation ------------------------------------------------------------------------------------------------ */

static wick_tensor *number(wick_context *ctx, wick_dtype d, double x) { return wick_constant(ctx, d, x); }

TEST(quantize_makes_an_integer_convolution_with_its_bias_and_bounds) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_U8, WICK_DIMS(1, 3, 4, 4)),
                *w = wick_ones(b.ctx, WICK_I8, WICK_DIMS(2, 3, 3, 3)), *bias = VEC(b.ctx, 1, 2);
    wick_tensor *fx = wick_dequantize(x, number(b.ctx, WICK_F32, 0.5), number(b.ctx, WICK_U8, 7), 0),
                *fw = wick_dequantize(w, VEC(b.ctx, 1, 2), number(b.ctx, WICK_I8, 0), 0);
    wick_tensor *y = wick_clip(wick_conv(fx, fw, bias, &(wick_conv_options){.pad = {1, 1}}), 0, 6);
    FIXTURE_COLLECT(&b, wick_quantize(y, number(b.ctx, WICK_F32, 0.25), number(b.ctx, WICK_U8, 3), 0, WICK_U8));
    CHECK_INT(fixture_count(&b, "conv"), 1);
    CHECK_INT(fixture_count(&b, "dequantize"), 2);
    fixture_pass(&b, wick_pass_quantize);
    CHECK_GRAPH(&b, "%0 u8[1,3,4,4] = data()\n"
                    "%1 i8[2,3,3,3] = data()\n"
                    "%2 f32[2] = data()\n"
                    "%3 f32[2] = data()\n"
                    "%4 f32[] = constant() value=0.5\n"
                    "%5 u8[] = constant() value=7\n"
                    "%6 f32[] = constant() value=0.25\n"
                    "%7 u8[] = constant() value=3\n"
                    "%8 u8[1,2,4,4] = int8_conv(%0, %1, %5, %4, %2, %6, %7, %3) a_zero a_scale b_scale scale zero bias "
                    "low=0 high=6 pad=1,1\n"
                    "return %8\n");
    fixture_close(&b);
}

TEST(quantize_makes_an_integer_product_with_a_row_and_relu_or_a_real_result) {
    fixture b;
    fixture_open(&b);
    wick_tensor *x = wick_ones(b.ctx, WICK_I8, WICK_DIMS(4, 3)), *w = wick_ones(b.ctx, WICK_I8, WICK_DIMS(2, 3)),
                *s = number(b.ctx, WICK_F32, 0.5);
    wick_tensor *fx = wick_dequantize(x, s, NULL, 0), *fw = wick_dequantize(w, VEC(b.ctx, 1, 2), NULL, 0);
    wick_tensor *y = wick_relu(wick_add(wick_matmul(fx, wick_transpose(fw, 0, 1)), VEC(b.ctx, 3, 4)));
    FIXTURE_COLLECT(&b, wick_quantize(y, s, NULL, 0, WICK_I8),
                    wick_matmul(fx, wick_dequantize(wick_reshape(w, WICK_DIMS(3, 2)), s, NULL, 0)));
    fixture_pass(&b, wick_pass_quantize);
    CHECK_GRAPH(&b, "%0 i8[4,3] = data()\n"
                    "%1 i8[2,3] = data()\n"
                    "%2 f32[2] = data()\n"
                    "%3 f32[2] = data()\n"
                    "%4 f32[] = constant() value=0.5\n"
                    "%5 i8[3,2] = permute(%1) axes=1,0\n"
                    "%6 i8[4,2] = int8_matmul(%0, %5, %4, %2, %4, %3) a_scale b_scale scale bias low=0\n"
                    "%7 i8[3,2] = reshape(%1) to=i8[3,2]\n"
                    "%8 f32[4,2] = int8_matmul(%0, %7, %4, %4) a_scale b_scale\n"
                    "return %6, %8\n");
    fixture_close(&b);
}

TEST(quantize_moves_bytes_where_both_sides_have_one_scale) {
    fixture b;
    fixture_open(&b);
    wick_tensor *q = wick_ones(b.ctx, WICK_U8, WICK_DIMS(2, 6)), *s = number(b.ctx, WICK_F32, 0.5),
                *z = number(b.ctx, WICK_U8, 3);
    wick_tensor *same_s = number(b.ctx, WICK_F32, 0.5), *other = number(b.ctx, WICK_F32, 0.25);
    wick_tensor *f = wick_dequantize(q, s, z, 0), *moved = wick_transpose(wick_reshape(f, WICK_DIMS(3, 4)), 0, 1),
                *joined = wick_concat(2, (wick_tensor *[]){f, f}, 0);
    FIXTURE_COLLECT(&b, wick_quantize(moved, same_s, z, 0, WICK_U8), wick_quantize(joined, s, z, 0, WICK_U8),
                    wick_quantize(wick_reshape(f, WICK_DIMS(12)), other, z, 0, WICK_U8),
                    wick_neg(wick_quantize(f, s, z, 0, WICK_U8)));
    fixture_pass(&b, wick_pass_quantize);
    CHECK_GRAPH(&b, "%0 u8[2,6] = data()\n"
                    "%1 f32[] = constant() value=0.5\n"
                    "%2 u8[] = constant() value=3\n"
                    "%3 f32[2,6] = dequantize(%0, %1, %2)\n"
                    "%4 u8[3,4] = reshape(%0) to=u8[3,4]\n"
                    "%5 u8[4,3] = permute(%4) axes=1,0\n"
                    "%6 u8[4,6] = concat(%0, %0) axis=0\n"
                    "%7 f32[12] = reshape(%3) to=f32[12]\n"
                    "%8 f32[] = constant() value=0.25\n"
                    "%9 u8[12] = quantize(%7, %8, %2)\n"
                    "%10 u8[2,6] = neg(%0)\n"
                    "return %5, %6, %9, %10\n");
    fixture_close(&b);
}

/* Only where one scale above 0 is on both sides. */
TEST(quantize_pools_bytes_without_their_scale) {
    fixture b;
    fixture_open(&b);
    const wick_pool_options o = {.kernel = {2}};
    wick_tensor *q = wick_ones(b.ctx, WICK_U8, WICK_DIMS(1, 2, 6)), *s = number(b.ctx, WICK_F32, 0.5),
                *z = number(b.ctx, WICK_U8, 3), *negative = number(b.ctx, WICK_F32, -0.5);
    wick_tensor *f = wick_dequantize(q, s, z, 0), *transposed = wick_dequantize(q, negative, z, 0);
    FIXTURE_COLLECT(&b, wick_quantize(wick_max_pool(f, &o), s, z, 0, WICK_U8),
                    wick_quantize(wick_max_pool(transposed, &o), negative, z, 0, WICK_U8),
                    wick_quantize(wick_max_pool(f, &o), negative, z, 0, WICK_U8));
    fixture_pass(&b, wick_pass_quantize);
    CHECK_INT(fixture_count(&b, "quantize"), 2);
    CHECK_INT(fixture_count(&b, "max_pool"), 3);
    fixture_close(&b);
}

/* To the bit, and the numbers that only bytes have. */
TEST(pooled_bytes_are_those_that_floats_give) {
    fixture b;
    fixture_open(&b);
    uint8_t bytes[2 * 3 * 64];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37 + i / 7);
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const wick_dtype d = is_signed ? WICK_I8 : WICK_U8;
        const wick_pool_options o = {.kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1}};
        wick_tensor *q = wick_from(b.ctx, d, WICK_DIMS(2, 3, 8, 8), bytes), *s = number(b.ctx, WICK_F32, 0.013),
                    *z = number(b.ctx, d, 7);
        wick_tensor *x = wick_dequantize(q, s, z, 0), *pooled = wick_max_pool(x, &o),
                    *want = wick_max_pool(wick_cast(q, WICK_F32), &o);
        double differ = -1;
        CHECK_INT(wick_item(wick_count_nonzero(wick_ne(wick_cast(wick_quantize(pooled, s, z, 0, d), WICK_F32), want),
                                               WICK_ALL_AXES, false),
                            &differ),
                  WICK_OK);
        CHECK(differ == 0);
    }
    fixture_close(&b);
}

TEST(expand_quantize_writes_out_what_is_left) {
    fixture b;
    fixture_open(&b);
    wick_tensor *q = wick_ones(b.ctx, WICK_U8, WICK_DIMS(2, 3)), *z = wick_ones(b.ctx, WICK_U8, WICK_DIMS(2));
    FIXTURE_COLLECT(&b, wick_quantize(wick_exp(wick_dequantize(q, VEC(b.ctx, 1, 2), z, 0)),
                                      number(b.ctx, WICK_F32, 0.5), NULL, 0, WICK_I8));
    fixture_pass(&b, wick_pass_expand_quantize);
    fixture_pass(&b, wick_pass_dce);
    CHECK_GRAPH(&b, "%0 u8[2,3] = data()\n"
                    "%1 f32[2] = data()\n"
                    "%2 u8[2] = data()\n"
                    "%3 f32[2,1] = reshape(%1) to=f32[2,1]\n"
                    "%4 f32[2] = cast(%2) to=f32\n"
                    "%5 f32[2,1] = reshape(%4) to=f32[2,1]\n"
                    "%6 f32[2,3] = cast(%0) to=f32\n"
                    "%7 f32[2,3] = sub(%6, %5)\n"
                    "%8 f32[2,3] = mul(%7, %3)\n"
                    "%9 f32[2,3] = exp(%8)\n"
                    "%10 f32[] = constant() value=0.5\n"
                    "%11 f32[2,3] = div(%9, %10)\n"
                    "%12 f32[2,3] = round(%11)\n"
                    "%13 i32[2,3] = cast(%12) to=i32\n"
                    "%14 i32[] = constant() value=-128\n"
                    "%15 i32[2,3] = maximum(%13, %14)\n"
                    "%16 i32[] = constant() value=127\n"
                    "%17 i32[2,3] = minimum(%15, %16)\n"
                    "%18 i8[2,3] = cast(%17) to=i8\n"
                    "return %18\n");
    fixture_close(&b);
}

/* A network quantised, with the passes and without: no more than a step apart. */
TEST(integers_differ_from_floats_by_a_step_at_most) {
    int8_t out[2][1 * 8 * 6 * 6];
    float real[2][10];
    for (int plain = 0; plain < 2; plain++) {
        wick_context *ctx = context_with(&(wick_context_options){.threads = 1, .seed = 3, .eager = plain});
        wick_tensor *x = wick_cast(
            wick_mul(wick_random_normal(ctx, WICK_F32, WICK_DIMS(1, 4, 6, 6)), number(ctx, WICK_F32, 40)), WICK_I8);
        wick_tensor *w = wick_cast(
            wick_mul(wick_random_normal(ctx, WICK_F32, WICK_DIMS(8, 4, 3, 3)), number(ctx, WICK_F32, 40)), WICK_I8);
        wick_tensor *v = wick_cast(
            wick_mul(wick_random_normal(ctx, WICK_F32, WICK_DIMS(288, 10)), number(ctx, WICK_F32, 40)), WICK_I8);
        wick_tensor *s = number(ctx, WICK_F32, 0.02), *z = number(ctx, WICK_I8, -3), *big = number(ctx, WICK_F32, 0.11);
        wick_tensor *y = wick_relu(wick_conv(wick_dequantize(x, s, z, 0), wick_dequantize(w, s, NULL, 0), NULL,
                                             &(wick_conv_options){.pad = {1, 1}}));
        wick_tensor *q = wick_quantize(y, big, z, 0, WICK_I8),
                    *f = wick_matmul(wick_reshape(wick_dequantize(q, big, z, 0), WICK_DIMS(1, 288)),
                                     wick_dequantize(v, s, NULL, 0));
        CHECK_OK(ctx, wick_read(q, out[plain], sizeof out[plain]));
        CHECK_OK(ctx, wick_read(f, real[plain], sizeof real[plain]));
        wick_context_free(&ctx);
    }
    int steps = 0, moved = 0;
    for (size_t i = 0; i < sizeof out[0]; i++) {
        const int far = abs(out[0][i] - out[1][i]);
        steps = WICK_MAX(steps, far);
        moved += out[0][i] != -3;
    }
    CHECK_MSG(steps <= 1, "%d steps", steps);
    CHECK(moved > 50);
    for (int i = 0; i < 10; i++)
        CHECK_MSG(fabsf(real[0][i] - real[1][i]) < 2, "%g, %g", (double)real[0][i], (double)real[1][i]);
}

int main(int argc, char **argv) { return test_main(argc, argv); }
