/* graph.h: layer 4. Whole graphs: collecting what a value needs, passes, order, lowering and memory. */
#ifndef WICK_GRAPH_GRAPH_H
#define WICK_GRAPH_GRAPH_H

#include "ops/ops.h"

/* ---- walk: what recorded values need ----------------------------------------------------------------------------- */

typedef struct wick_walk_item {
    wick_node *node;
    uint32_t next;
} wick_walk_item;

/* The pending nodes that a set of results needs, inputs first; the leaves they stand on, in order of first use; and the
 * bytes that tell whether two walks want the same plan. Numbers (ids) are given to every value met. */
typedef struct wick_walk {
    wick_node **nodes;
    size_t n_nodes, cap_nodes;
    wick_value **leaves; /* values in memory, or arguments of a function being compiled */
    size_t n_leaves, cap_leaves;
    wick_node **slots; /* nodes with run-time numbers */
    size_t n_slots, cap_slots;
    wick_walk_item *stack;
    size_t cap_stack;
    char *key;
    size_t n_key, cap_key;
    uint32_t n_values;
    bool traced; /* a function being compiled */
} wick_walk;

/* A result of a walk: a value to compute. leaf: the walk's leaf whose memory it takes over, or NULL. */
typedef struct wick_wanted {
    wick_value *value;
    wick_value *leaf;
} wick_wanted;

/* The walk is of a function being compiled: its states are leaves even if nobody reads them, and always taken over. */
#define WICK_WALK_TRACED 2
/* Fills w for the results and for effect nodes (kept even if nothing reads them). flags go into the key. A wanted leaf
 * that others still read is set to NULL, unless traced: its old value must stay. */
wick_status wick_walk_run(wick_context *ctx, wick_walk *w, size_t n, wick_wanted *wanted, size_t n_effects,
                          wick_node *const *effects, uint64_t flags);
void wick_walk_free(wick_context *ctx, wick_walk *w);
/* Copies what was walked into a graph in arena: outputs are the wanted values in order, leaf and slot nodes carry their
 * number in slot[0], others the number in the walk, counted from 1, in slot[1]. NULL: out of memory. */
wick_graph *wick_graph_from_walk(wick_context *ctx, wick_arena *arena, const wick_walk *w, size_t n,
                                 const wick_wanted *wanted);

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

wick_graph *wick_graph_new(wick_context *ctx, wick_arena *arena);
/* A copy of the node that reads `in` instead, appended to graph. NULL: out of memory. */
wick_node *wick_graph_copy_node(wick_graph *graph, const wick_node *node, wick_value *const *in);
/* Gives node, of graph or to be of it, copies of its regions in graph's arena. */
bool wick_graph_clone_regions(wick_graph *graph, wick_node *node);
/* What stands for v after replacements. */
static inline wick_value *wick_resolve(wick_value *v) {
    while (v->forward) v = v->forward;
    return v;
}
/* Numbers nodes (position) and values (id); returns the number of values. */
uint32_t wick_graph_number(wick_graph *graph);
/* "%3 f32[2,4] = matmul(%1, %2)" lines, regions indented; places: with "  @ net.c:12 fc1" behind. */
void wick_graph_print(wick_str *s, wick_graph *graph, bool places);
/* Checks every invariant a pass must keep; WICK_ERR_INTERNAL names the node and the rule. */
wick_status wick_graph_verify(wick_graph *graph, wick_msg *msg);
/* Replaces symbolic dims by extents (one per symbol, within its range) and infers all types again. */
wick_status wick_graph_bind(wick_graph *graph, const int64_t *extents, wick_msg *msg);

/* ---- passes: one file each; the pipeline is in pipeline.c -------------------------------------------------------- */

typedef struct wick_pass {
    const char *name, *doc;
    wick_status (*run)(wick_graph *graph, wick_msg *msg);
    bool required; /* runs even without optimisation */
} wick_pass;
extern const wick_pass wick_passes[];
extern const int wick_passes_count;

/* programs that run on what products make, part by part */
wick_status wick_pass_ride(wick_graph *graph, wick_msg *msg);
wick_status wick_pass_attention(wick_graph *graph, wick_msg *msg);   /* products and softmax that are attention */
wick_status wick_pass_precision(wick_graph *graph, wick_msg *msg);   /* products take and give bf16 or f16 */
/* The ops that stay in f32, names with commas between (NULL: none), as bits for that pass. WICK_ERR_INVALID, which
 * lists the possible names, where the pass narrows no op of some name. */
wick_status wick_precision_wide(const char *names, uint32_t *bits, wick_msg *msg);
wick_status wick_pass_expand_grad(wick_graph *graph, wick_msg *msg); /* gradients become what they stand for */
wick_status wick_pass_quantize(wick_graph *graph, wick_msg *msg);    /* quantised float products become integer ones */
wick_status wick_pass_int8_weights(wick_graph *graph, wick_msg *msg);
wick_status wick_pass_int8_result(wick_graph *graph, wick_msg *msg);
wick_status wick_pass_spread(wick_graph *graph, wick_msg *msg);
/* other quantise and dequantise nodes become elementwise ops */
wick_status wick_pass_expand_quantize(wick_graph *graph, wick_msg *msg);
wick_status wick_pass_simplify(wick_graph *graph, wick_msg *msg);    /* x * 1, casts and views that change nothing */
wick_status wick_pass_transpose(wick_graph *graph, wick_msg *msg);   /* transposed products are computed transposed */
wick_status wick_pass_fold(wick_graph *graph, wick_msg *msg);        /* elementwise ops of constants */
wick_status wick_pass_cse(wick_graph *graph, wick_msg *msg);         /* equal nodes become one */
wick_status wick_pass_dce(wick_graph *graph, wick_msg *msg);         /* nodes that nothing needs go */
/* elementwise ops before a gather are done behind it */
wick_status wick_pass_gather_first(wick_graph *graph, wick_msg *msg);
/* scales and shifts behind products go into their weights */
wick_status wick_pass_fold_scale(wick_graph *graph, wick_msg *msg);
/* products take the bias and ReLU after them along */
wick_status wick_pass_epilogue(wick_graph *graph, wick_msg *msg);
wick_status wick_pass_merge(wick_graph *graph, wick_msg *msg);       /* small products of one input become one */
/* what gradients need is made again, instead of kept */
wick_status wick_pass_checkpoint(wick_graph *graph, wick_msg *msg);
/* what is cheap to make again is, for each reader */
wick_status wick_pass_rematerialise(wick_graph *graph, wick_msg *msg);
wick_status wick_pass_fuse(wick_graph *graph, wick_msg *msg);        /* elementwise groups, reductions at their end */
/* order for low peak memory; state is written last */
wick_status wick_pass_schedule(wick_graph *graph, wick_msg *msg);
/* Which of them run. All zero: all. */
typedef struct wick_pass_choice {
    bool required_only;
    uint64_t without; /* bit i: wick_passes[i] is left out, unless it is required */
    size_t memory_budget; /* as in wick_compile_options */
} wick_pass_choice;
/* Sets the bits of names with commas between; NULL: none. An unknown or required one is an error that lists those there
 * are. */
wick_status wick_passes_without(const char *names, uint64_t *bits, wick_msg *msg);
/* Verifies after each pass in debug builds and when WICK_VERIFY is set. */
wick_status wick_run_passes(wick_graph *graph, const wick_pass_choice *choice, wick_msg *msg);

/* ---- lowering and memory ----------------------------------------------------------------------------------------- */

/* leaf_layouts[i]: how leaf i lies in memory; its offset must be 0. */
wick_status wick_lower_graph(wick_lower *l, const wick_layout *leaf_layouts);
/* Emits the steps of a region where the steps of its node go. params: by number of its inputs; results: where its
 * outputs then lie. */
wick_status wick_lower_region(wick_lower *l, wick_graph *region, const wick_operand *params, wick_operand *results);
/* Finds the steps that give the same in each run. They have no effects, and all of their buffers stay: hold one value,
 * which is the same in each run. stays, by buffer, and same, by step: on entry what may be so, as far as the caller
 * knows; then what is. arena: for what it needs meanwhile. false: out of memory. */
bool wick_constant_steps(wick_arena *arena, const wick_step *steps, size_t n_steps, size_t n_buffers, bool *stays,
                         bool *same);
/* Gives every TEMP buffer its place. arena: bytes in all; live: the largest sum of buffers in use at once. */
wick_status wick_plan_memory(wick_lower *l, size_t *arena, size_t *live);

#endif
