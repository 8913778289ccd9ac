/* trees.c: ensembles of decision trees over tables. */
#include "kernels/trees/trees.h"
#include "ops/ops.h"
#include "wick/trees.h"

_Static_assert((int)WICK_TREE_NE == WICK_FOREST_NE && (int)WICK_TREE_MISSING == WICK_FOREST_MISSING &&
                   (int)WICK_TREES_MAX == WICK_FOREST_MAX,
               "one numbering");

typedef struct trees_attr {
    int64_t targets, how;
} trees_attr;

enum { X, NODES, SPLITS, ROOTS, TARGETS, WEIGHTS, INPUTS };

/* (x [N, F], nodes [n, 4], splits [n], roots [trees], targets [entries], weights [entries]) -> [N, targets]. */
static wick_status infer_trees(wick_infer *i) {
    const trees_attr *a = i->attr;
    const wick_type *x = i->in[X];
    if (x->dtype != WICK_F32 && x->dtype != WICK_F64)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "needs f32 or f64; cast");
    if (i->in[SPLITS]->dtype != x->dtype || i->in[WEIGHTS]->dtype != x->dtype)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "splits and weights must have the dtype of x");
    if (i->in[NODES]->dtype != WICK_I32 || i->in[ROOTS]->dtype != WICK_I32 || i->in[TARGETS]->dtype != WICK_I32)
        return wick_infer_fail(i, WICK_ERR_DTYPE, "nodes, roots and targets must be i32");
    if (x->rank != 2) return wick_infer_fail(i, WICK_ERR_SHAPE, "needs x [N, features]");
    if (i->in[NODES]->rank != 2 || i->in[NODES]->dims[1] != 4 || i->in[SPLITS]->rank != 1 ||
        i->in[SPLITS]->dims[0] != i->in[NODES]->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs nodes [n, 4] and splits [n]");
    if (i->in[ROOTS]->rank != 1 || i->in[TARGETS]->rank != 1 || i->in[WEIGHTS]->rank != 1 ||
        i->in[WEIGHTS]->dims[0] != i->in[TARGETS]->dims[0])
        return wick_infer_fail(i, WICK_ERR_SHAPE, "needs roots [trees], and targets and weights [entries]");
    *i->out = *x;
    i->out->dims[1] = a->targets;
    wick_type checked;
    if (!wick_type_make(&checked, (wick_dtype)x->dtype, 2, i->out->dims))
        return wick_infer_fail(i, WICK_ERR_SHAPE, "the result is too large");
    return WICK_OK;
}
static int64_t run_trees(const void *args, void *const *ptr, int64_t begin, int64_t end, void *scratch) {
    return wick_forest_run(args, begin, end, ptr[X], ptr[NODES], ptr[SPLITS], ptr[ROOTS], ptr[TARGETS], ptr[WEIGHTS],
                           ptr[INPUTS], scratch);
}
/* A comparison for each level of trees that are as deep as a balanced one. */
static double flops_trees(const wick_node *node) {
    const double trees = (double)node->in[ROOTS]->type.dims[0], nodes = (double)node->in[NODES]->type.dims[0];
    double depth = 1;
    for (double each = trees > 0 ? nodes / trees : 0; each > 2; each /= 2) depth++;
    return (double)node->in[X]->type.dims[0] * trees * depth;
}
static wick_status lower_trees(wick_lower *l, wick_node *node) {
    const trees_attr *attr = node->attr;
    wick_operand at[INPUTS + 1];
    wick_ref refs[INPUTS + 1];
    for (int i = 0; i < INPUTS; i++) WICK_TRY(wick_lower_in_contiguous(l, node, i, &at[i]));
    WICK_TRY(wick_lower_out(l, node, 0, &at[INPUTS]));
    for (int i = 0; i <= INPUTS; i++) refs[i] = wick_lower_ref(&at[i], i == INPUTS);
    wick_forest f;
    memset(&f, 0, sizeof f);
    f.wide = at[X].type->dtype == WICK_F64;
    f.rows = at[X].type->dims[0], f.columns = at[X].type->dims[1], f.nodes = at[NODES].type->dims[0],
    f.trees = at[ROOTS].type->dims[0];
    f.entries = at[TARGETS].type->dims[0], f.targets = attr->targets, f.how = attr->how;
    const wick_step step = {.name = "tree_ensemble",
                            .kind = WICK_STEP_TREES,
                            .run = run_trees,
                            .tasks = wick_forest_tasks(&f),
                            .scratch = wick_forest_scratch(&f),
                            .flops = flops_trees(node),
                            .bytes = (double)wick_type_bytes(at[X].type) + 20.0 * (double)f.nodes +
                                     (double)wick_type_bytes(at[INPUTS].type),
                            .fault = WICK_ERR_INDEX,
                            .fault_text = "tree %lld has a node, feature, entry or target that its tables do not have"};
    return wick_lower_step(l, &step, &f, sizeof f, refs, INPUTS + 1);
}
static void print_trees(wick_str *s, const wick_node *node) {
    static const char *const names[] = {"", " mean", " min", " max"};
    const trees_attr *a = node->attr;
    wick_str_add(s, "targets=%lld%s", (long long)a->targets, names[a->how]);
}
/* Random tables lead nowhere: there are nodes and entries, but no trees. tests/ops/test_trees.c has some. */
static void sample_trees(wick_sample *s) {
    const trees_attr a = {.targets = wick_sample_int(s, 1, 4), .how = wick_sample_int(s, 0, 3)};
    const uint8_t dtype = s->random() % 2 ? WICK_F64 : WICK_F32;
    const int64_t nodes = wick_sample_int(s, 1, 3), entries = wick_sample_int(s, 0, 3);
    s->n_in = INPUTS;
    s->in[X] = (wick_type){.dtype = dtype, .rank = 2, .dims = {wick_sample_int(s, 0, 70), wick_sample_int(s, 1, 4)}};
    s->in[NODES] = (wick_type){.dtype = WICK_I32, .rank = 2, .dims = {nodes, 4}};
    s->in[SPLITS] = (wick_type){.dtype = dtype, .rank = 1, .dims = {nodes}};
    s->in[ROOTS] = (wick_type){.dtype = WICK_I32, .rank = 1, .dims = {0}};
    s->in[TARGETS] = (wick_type){.dtype = WICK_I32, .rank = 1, .dims = {entries}};
    s->in[WEIGHTS] = (wick_type){.dtype = dtype, .rank = 1, .dims = {entries}};
    s->lo[X] = s->lo[SPLITS] = s->lo[WEIGHTS] = -1, s->hi[X] = s->hi[SPLITS] = s->hi[WEIGHTS] = 1;
    memcpy(s->attr, &a, s->attr_size = sizeof a);
}
const wick_op wick_op_tree_ensemble = {
    .name = "tree_ensemble",
    .doc = "rows through decision trees over tables; entries of the leaves that they reach, by target",
    .onnx = "TreeEnsemble",
    .cost = "rows trees log2(nodes / trees)",
    .min_in = INPUTS,
    .max_in = INPUTS,
    .n_out = 1,
    .flags = WICK_OP_FAULTS,
    .infer = infer_trees,
    .flops = flops_trees,
    .lower = lower_trees,
    .print = print_trees,
    .sample = sample_trees};

wick_tensor *wick_tree_ensemble(wick_tensor *x, const wick_tree_tables *t) {
    if (!t) return x ? wick_poison(x->ctx, WICK_ERR_INVALID, "tree_ensemble: tables are NULL") : NULL;
    wick_tensor *in[INPUTS] = {x, t->nodes, t->splits, t->roots, t->targets, t->weights};
    const trees_attr a = {t->n_targets, (int64_t)t->sum};
    if (x && !x->error && (a.targets < 0 || a.targets > INT32_MAX || a.how < 0 || a.how > WICK_TREES_MAX))
        return wick_poison(x->ctx, WICK_ERR_INVALID, "tree_ensemble: %lld targets, sum %lld", (long long)a.targets,
                           (long long)a.how);
    return wick_record(NULL, &wick_op_tree_ensemble, INPUTS, in, &a, sizeof a);
}
