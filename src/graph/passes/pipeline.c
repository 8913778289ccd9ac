/* pipeline.c: the passes in order. A new pass is one file and one line here. */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "wick/registry.h"

const wick_pass wick_passes[] = {
    {"attention", "a product, a softmax and a product that are attention become that op", wick_pass_attention, false},
    {"precision", "where asked for: products take and give bf16 or f16", wick_pass_precision, true},
    {"expand_grad", "gradients become the nodes that compute them", wick_pass_expand_grad, true},
    {"dce", "what no output and no effect needs goes", wick_pass_dce, true},
    {"quantize", "products between dequantize and quantize nodes are done in integers", wick_pass_quantize, false},
    {"int8_weights", "weights that products dequantise stay in 8 bits", wick_pass_int8_weights, false},
    {"expand_quantize", "other quantize and dequantize nodes become elementwise ops", wick_pass_expand_quantize, true},
    {"simplify", "what changes no bit goes: x * 1, casts to the same dtype", wick_pass_simplify, false},
    {"spread", "transposed convolutions of one tap with large strides are products, written into zeros",
     wick_pass_spread, false},
    {"transpose", "the transpose of a product is the product of the transposes", wick_pass_transpose, false},
    {"fold", "elementwise ops of constants are computed", wick_pass_fold, false},
    {"simplify", "again, of what folding made", wick_pass_simplify, false},
    {"cse", "equal nodes become one", wick_pass_cse, false},
    {"dce", "again", wick_pass_dce, false},
    {"gather_first", "elementwise ops are done on the rows that are gathered, not on the whole table",
     wick_pass_gather_first, false},
    {"dce", "again", wick_pass_dce, false},
    {"int8_result", "products of 8-bit integers scale their sums and add a bias, where that follows them",
     wick_pass_int8_result, false},
    {"fold_scale",
     "scales and shifts by channel behind products, as of batch norm, go into weights and bias: not in training",
     wick_pass_fold_scale, false},
    {"dce", "again", wick_pass_dce, false},
    {"epilogue", "products and convolutions take along the bias and the ReLU behind them", wick_pass_epilogue, false},
    {"dce", "again", wick_pass_dce, false},
    {"merge", "small products of one input become one, and slices of it", wick_pass_merge, false},
    {"cse", "again, of weights that merging joined", wick_pass_cse, false},
    {"dce", "again", wick_pass_dce, false},
    {"checkpoint", "what gradients need of marked parts, or under a budget of memory, is made again instead of kept",
     wick_pass_checkpoint, false},
    {"rematerialise", "what is as cheap to make as to read is made for each reader", wick_pass_rematerialise, false},
    {"fuse", "elementwise ops of one shape, and the reduction at their end, become one kernel", wick_pass_fuse, false},
    {"ride", "elementwise kernels behind products and convolutions run on each part of the result while it is in cache",
     wick_pass_ride, false},
    {"schedule", "an order of little memory; states are written last", wick_pass_schedule, true},
};
const int wick_passes_count = (int)WICK_COUNTOF(wick_passes);
_Static_assert(WICK_COUNTOF(wick_passes) <= 64, "a bit each");

enum { PASS_WORK = 64 }; /* of a pass for each node, as a watch counts */

int wick_pass_count(void) { return wick_passes_count; }

wick_pass_info wick_pass_at(int i) {
    if (i < 0 || i >= wick_passes_count) return (wick_pass_info){0};
    return (wick_pass_info){wick_passes[i].name, wick_passes[i].doc, wick_passes[i].required};
}

/* Runs anywhere in the pipeline without optimisation, too. */
static bool is_required(const char *name) {
    for (int i = 0; i < wick_passes_count; i++)
        if (wick_passes[i].required && strcmp(wick_passes[i].name, name) == 0) return true;
    return false;
}

static wick_status refuse(const char *name, size_t length, bool required, wick_msg *msg) {
    char list[512];
    wick_str s = wick_str_on(list, sizeof list);
    for (int i = 0; i < wick_passes_count; i++) {
        bool before = false;
        for (int k = 0; k < i; k++) before |= !strcmp(wick_passes[k].name, wick_passes[i].name);
        if (!before && !is_required(wick_passes[i].name)) wick_str_add(&s, " %s", wick_passes[i].name);
    }
    return wick_msg_set(msg, WICK_ERR_INVALID,
                        "%s '%.*s'; those that can be left out:%s, and of merge, fuse and ride one decision as fuse:3",
                        required ? "nothing runs without the pass" : "there is no pass", (int)WICK_MIN(length, 64),
                        name, list);
}

wick_status wick_passes_without(const char *names, uint64_t *bits, wick_msg *msg) {
    *bits = 0;
    while (names && *names) {
        const size_t length = strcspn(names, ",");
        wick_chooser pass;
        uint32_t number;
        bool found = wick_names_decision(names, &pass, &number), required = false;
        for (int i = 0; i < wick_passes_count; i++) {
            if (strlen(wick_passes[i].name) != length || memcmp(wick_passes[i].name, names, length) != 0) continue;
            *bits |= (uint64_t)1 << i;
            found = true;
            required |= is_required(wick_passes[i].name);
        }
        if (!found || required) return refuse(names, length, required, msg);
        names += length + (names[length] == ',');
    }
    return WICK_OK;
}

/* Hands the graph to who wants to see it, as text. */
static wick_status show(wick_graph *graph, const char *pass, wick_msg *msg) {
    const wick_compile_options *options = graph->planning ? graph->planning->options : NULL;
    const wick_allocator *alloc = &graph->ctx->alloc;
    for (size_t size = 4096 + 128 * graph->n; options && options->on_pass; size *= 4) { /* a line takes less, mostly */
        char *text = wick_alloc(alloc, size);
        if (!text) return wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory printing the graph");
        wick_str s = wick_str_on(text, size);
        wick_graph_print(&s, graph, true);
        if (!s.cut) options->on_pass(options->user, pass, text);
        wick_release(alloc, text, size);
        if (!s.cut) break;
    }
    return WICK_OK;
}

static wick_status run(wick_graph *graph, const wick_pass_choice *choice, bool inside, wick_msg *msg) {
#ifdef NDEBUG
    const char *asked = getenv("WICK_VERIFY");
    bool verify = asked && strcmp(asked, "1") == 0;
#else
    bool verify = true;
#endif
    if (!inside) WICK_TRY(show(graph, "", msg));
    for (int i = 0; i < wick_passes_count; i++) {
        if (!wick_passes[i].required && (choice->required_only || choice->without >> i & 1)) continue;
        wick_status status = wick_context_spend(graph->ctx, PASS_WORK * graph->n, msg);
        if (status == WICK_OK) status = wick_passes[i].run(graph, msg);
        /* a pass that the watch ended leaves half of its work */
        if (status == WICK_OK) status = wick_context_spend(graph->ctx, 0, msg);
        if (status == WICK_OK && graph->failed)
            status = wick_msg_set(msg, WICK_ERR_NOMEM, "out of memory rewriting the graph");
        if (status == WICK_OK && verify) {
            status = wick_graph_verify(graph, msg);
            if (status != WICK_OK) wick_msg_prefix(msg, "after %s: ", wick_passes[i].name);
        }
        WICK_TRY(status);
        if (!inside) WICK_TRY(show(graph, wick_passes[i].name, msg));
    }
    bool any = false;
    for (size_t i = 0; i < graph->n; i++) { /* bodies of loops and branches are graphs like any other */
        const wick_node *node = graph->nodes[i];
        for (int r = 0; r < node->n_regions && node->op != &wick_op_fused; r++) {
            node->regions[r]->planning = graph->planning;
            WICK_TRY(run(node->regions[r], choice, true, msg));
            any = true;
        }
    }
    return any && !inside ? show(graph, "regions", msg) : WICK_OK;
}

wick_status wick_run_passes(wick_graph *graph, const wick_pass_choice *choice, wick_msg *msg) {
    return run(graph, choice, false, msg);
}
