/* ops_trees.c: ensembles of trees (ai.onnx.ml), checked and laid out once as the tables of wick_tree_ensemble.
 *
 * What a file calls a node becomes a row of the table when the walk from the roots first meets it, so that children lie
 * behind their parents. A node that is met twice lies on a circle or in two trees, and is refused. */
#define WICK_NO_SITES
#include "io/onnx/import/ml.h"

#include <math.h>
#include <stdlib.h>

#include "wick/pointwise.h"
#include "wick/trees.h"

/* ---- layout ------------------------------------------------------------------------------------------------------ */

enum { MEMBER = 16, MOST_ROWS = 1 << 28 }; /* MEMBER: x is one of members; no mode of the tables, but a chain of them */

typedef struct source_node {
    int how;            /* WICK_TREE_*, or MEMBER */
    bool missing;       /* NaN is true */
    int64_t feature;    /* LEAF: how many entries */
    int64_t yes, no;    /* source nodes; ~i: the entry i as a leaf. LEAF: yes is the first entry */
    double split;
    size_t member, members; /* MEMBER: where in the list, how many */
    bool met;
} source_node;

typedef struct source {
    source_node *nodes;
    int64_t n;
    const int64_t *roots; /* as `yes` */
    int64_t n_roots;
    const double *members;
    int64_t entries;
    const int64_t *targets;
    const double *weights;
    int64_t n_targets;
    wick_dtype dtype; /* of the tables */
} source;

typedef struct layout {
    int32_t (*rows)[4];
    double *splits;
    int64_t n, cap;
} layout;

static bool add_row(onnx_call *c, layout *l, int how, int64_t feature, double split) {
    if (l->n >= l->cap) return wick_onnx_fail(c, WICK_ERR_FORMAT, "its trees have more nodes than were counted");
    l->rows[l->n][0] = how;
    l->rows[l->n][1] = (int32_t)feature;
    l->rows[l->n][2] = l->rows[l->n][3] = 0;
    l->splits[l->n++] = split;
    return true;
}

/* A subtree that waits for its place, which then goes to column `side` of so many rows. */
typedef struct waiting {
    int64_t at, row, rows;
    int side;
} waiting;

static bool lay_out_tree(onnx_call *c, const source *s, layout *l, waiting *stack, int64_t tree, int64_t columns) {
    size_t depth = 0;
    stack[depth++] = (waiting){.at = s->roots[tree]};
    while (depth) {
        const waiting w = stack[--depth];
        if (!wick_onnx_spend(c, 8 + (size_t)w.rows)) return false;
        for (int64_t i = 0; i < w.rows; i++) l->rows[w.row + i][w.side] = (int32_t)l->n;
        if (w.at < 0) { /* one entry */
            if (~w.at >= s->entries)
                return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld: leaf %lld does not exist", (long long)tree,
                                      (long long)~w.at);
            if (!add_row(c, l, WICK_TREE_LEAF, 1, 0)) return false;
            l->rows[l->n - 1][2] = (int32_t)~w.at;
            continue;
        }
        if (w.at >= s->n)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld: node %lld does not exist", (long long)tree,
                                  (long long)w.at);
        source_node *node = &s->nodes[w.at];
        if (node->met)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld: node %lld lies on a circle, or in two trees",
                                  (long long)tree, (long long)w.at);
        node->met = true;
        if (node->how == WICK_TREE_LEAF) {
            if (!add_row(c, l, WICK_TREE_LEAF, node->feature, 0)) return false;
            l->rows[l->n - 1][2] = (int32_t)node->yes;
            continue;
        }
        if (node->feature < 0 || node->feature >= columns)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld: node %lld asks for feature %lld of %lld",
                                  (long long)tree, (long long)w.at, (long long)node->feature, (long long)columns);
        const int64_t first = l->n, n = node->how != MEMBER ? 1 : node->members ? (int64_t)node->members : 1;
        for (int64_t i = 0; i < n; i++) {
            const int how = (node->how == MEMBER ? WICK_TREE_EQ : node->how) | (node->missing ? WICK_TREE_MISSING : 0);
            const double split = node->how != MEMBER ? node->split
                                 : node->members     ? s->members[node->member + (size_t)i]
                                                     : (double)NAN;
            if (!add_row(c, l, how, node->feature, split)) return false;
            if (i) l->rows[first + i - 1][3] = (int32_t)(first + i);
        }
        stack[depth++] = (waiting){.at = node->no, .row = first + n - 1, .rows = 1, .side = 3};
        stack[depth++] = (waiting){.at = node->yes, .row = first, .rows = n, .side = 2};
    }
    return true;
}

/* Tables of the source, kept with the step: nodes, splits, roots, targets, weights. columns: of x. */
static bool lay_out(onnx_call *c, const source *s, int64_t columns, wick_tensor **kept) {
    size_t rows = 1;
    for (int64_t i = 0; i < s->n; i++) rows += 3 + s->nodes[i].members; /* the node, and leaves that it may have */
    rows += (size_t)s->n_roots;
    if (rows > MOST_ROWS || s->n_roots > INT32_MAX || s->entries > INT32_MAX || columns > INT32_MAX)
        return wick_onnx_fail(c, WICK_ERR_UNSUPPORTED, "its trees have more nodes than 2^28");
    for (int64_t i = 0; i < s->entries; i++)
        if (s->targets[i] < 0 || s->targets[i] >= s->n_targets)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "entry %lld adds to target %lld of %lld", (long long)i,
                                  (long long)s->targets[i], (long long)s->n_targets);
    layout l = {.cap = (int64_t)rows};
    l.rows = wick_onnx_alloc(c, rows, sizeof *l.rows);
    l.splits = l.rows ? wick_onnx_alloc(c, rows, sizeof *l.splits) : NULL;
    /* a met node leaves one more than it took */
    waiting *stack = l.splits ? wick_onnx_alloc(c, (size_t)s->n + 2, sizeof *stack) : NULL;
    int32_t *roots = stack ? wick_onnx_alloc(c, (size_t)s->n_roots + 1, sizeof *roots) : NULL,
            *targets = roots ? wick_onnx_alloc(c, (size_t)s->entries + 1, sizeof *targets) : NULL;
    if (!targets) return false;
    for (int64_t t = 0; t < s->n_roots; t++) {
        roots[t] = (int32_t)l.n;
        if (!lay_out_tree(c, s, &l, stack, t, columns)) return false;
    }
    for (int64_t i = 0; i < s->entries; i++) targets[i] = (int32_t)s->targets[i];
    kept[0] = wick_from(c->ctx, WICK_I32, 2, (int64_t[]){l.n, 4}, l.rows);
    kept[1] = wick_cast(wick_from(c->ctx, WICK_F64, 1, &l.n, l.splits), s->dtype);
    kept[2] = wick_from(c->ctx, WICK_I32, 1, &s->n_roots, roots);
    kept[3] = wick_from(c->ctx, WICK_I32, 1, &s->entries, targets);
    kept[4] = wick_cast(wick_from(c->ctx, WICK_F64, 1, &s->entries, s->weights), s->dtype);
    return wick_onnx_keep(c, 5, kept);
}

/* ---- what files say, in two ways --------------------------------------------------------------------------------- */

static bool same_length(onnx_call *c, const char *name, size_t n, size_t want) {
    return n == want || wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" has %zu entries, not %zu", name, n, want);
}
static const int64_t *integers(onnx_call *c, const char *name, size_t want) {
    int n;
    const int64_t *at = wick_onnx_ints(c, name, &n);
    if (!at && c->status == WICK_OK) wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"%s\" is not there", name);
    return at && same_length(c, name, (size_t)n, want) ? at : NULL;
}

/* TreeEnsemble: nodes and leaves by their places. */
static bool read_places(onnx_call *c, source *s) {
    onnx_list modes, splits, weights, members;
    int n, n_roots, n_leaves, n_missing;
    (void)wick_onnx_ints(c, "nodes_featureids", &n);
    const int64_t *roots = wick_onnx_ints(c, "tree_roots", &n_roots),
                  *targets = wick_onnx_ints(c, "leaf_targetids", &n_leaves);
    const int64_t *missing = wick_onnx_ints(c, "nodes_missing_value_tracks_true", &n_missing);
    if (!wick_onnx_list_attr(c, "nodes_modes", &modes) || !wick_onnx_list_attr(c, "nodes_splits", &splits) ||
        !wick_onnx_list_attr(c, "leaf_weights", &weights) || !wick_onnx_list_attr(c, "membership_values", &members))
        return false;
    const int64_t *on_true = integers(c, "nodes_truenodeids", (size_t)n),
                  *on_false = integers(c, "nodes_falsenodeids", (size_t)n);
    const int64_t *true_leaf = integers(c, "nodes_trueleafs", (size_t)n),
                  *false_leaf = integers(c, "nodes_falseleafs", (size_t)n);
    const int64_t *feature = integers(c, "nodes_featureids", (size_t)n);
    if (!on_true || !on_false || !true_leaf || !false_leaf || !feature ||
        !same_length(c, "nodes_modes", modes.n, (size_t)n) || !same_length(c, "nodes_splits", splits.n, (size_t)n) ||
        !same_length(c, "leaf_weights", weights.n, (size_t)n_leaves) ||
        (missing && n_missing && !same_length(c, "nodes_missing_value_tracks_true", (size_t)n_missing, (size_t)n)))
        return false;
    if ((n && (modes.kind != ONNX_LIST_INTS || splits.kind != ONNX_LIST_FLOATS)) ||
        (n_leaves && weights.kind != ONNX_LIST_FLOATS) || (members.n && members.kind != ONNX_LIST_FLOATS))
        return wick_onnx_fail(c, WICK_ERR_FORMAT,
                              "its modes are no integers, or its splits, weights or members no floats");
    static const uint8_t hows[] = {WICK_TREE_LE, WICK_TREE_LT, WICK_TREE_GE, WICK_TREE_GT,
                                   WICK_TREE_EQ, WICK_TREE_NE, MEMBER};
    s->nodes = wick_onnx_alloc(c, (size_t)n, sizeof *s->nodes);
    if (!s->nodes) return false;
    size_t at = 0; /* members of a node end with NaN */
    for (int i = 0; i < n; i++) {
        if (modes.ints[i] < 0 || modes.ints[i] > 6)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "node %d has mode %lld", i, (long long)modes.ints[i]);
        source_node *node = &s->nodes[i];
        *node = (source_node){.how = hows[modes.ints[i]],
                              .feature = feature[i],
                              .split = splits.floats[i],
                              .missing = n_missing && missing[i]};
        if (on_true[i] < 0 || on_false[i] < 0)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "node %d goes on to a node below 0", i);
        node->yes = true_leaf[i] ? ~on_true[i] : on_true[i];
        node->no = false_leaf[i] ? ~on_false[i] : on_false[i];
        if (node->how != MEMBER) continue;
        if (at >= members.n) return wick_onnx_fail(c, WICK_ERR_FORMAT, "node %d has no membership_values", i);
        node->member = at;
        while (at < members.n && !isnan(members.floats[at])) at++;
        node->members = at - node->member;
        at++;
    }
    for (int i = 0; i < n_roots; i++)
        if (roots[i] < 0) return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %d has a root below 0", i);
    *s = (source){.nodes = s->nodes,
                  .n = n,
                  .roots = roots,
                  .n_roots = n_roots,
                  .members = members.floats,
                  .entries = n_leaves,
                  .targets = targets,
                  .weights = weights.floats,
                  .n_targets = wick_onnx_int(c, "n_targets", 1)};
    return c->status == WICK_OK;
}

typedef struct named {
    int64_t tree, node, place;
} named;
static int by_name(const void *a, const void *b, wick_watch *watch) {
    (void)watch;
    const named *x = a, *y = b;
    return x->tree != y->tree   ? (x->tree > y->tree) - (x->tree < y->tree)
           : x->node != y->node ? (x->node > y->node) - (x->node < y->node)
                                : 0;
}
static int by_number(const void *a, const void *b, wick_watch *watch) {
    (void)watch;
    return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}
static int is_name(const void *a, const void *b) { return by_name(a, b, NULL); }
static int64_t place_of(const named *names, size_t n, int64_t tree, int64_t node) {
    const named key = {tree, node, 0}, *found = n ? bsearch(&key, names, n, sizeof *names, is_name) : NULL;
    return found ? found->place : -1;
}

/* Nodes that name others, as they are listed. `by` finds them. */
typedef struct listed_nodes {
    size_t n;
    const int64_t *trees, *ids, *feature, *on_true, *on_false, *missing;
    onnx_list modes, splits;
    named *by;
    source_node *nodes;
    bool *child; /* of another */
} listed_nodes;

static bool read_nodes(onnx_call *c, const listed_nodes *l) {
    static const char *const modes_by_name[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                                "BRANCH_EQ",  "BRANCH_NEQ", "LEAF"};
    static const uint8_t hows[] = {WICK_TREE_LE, WICK_TREE_LT, WICK_TREE_GE,  WICK_TREE_GT,
                                   WICK_TREE_EQ, WICK_TREE_NE, WICK_TREE_LEAF};
    for (size_t i = 0; i < l->n; i++) {
        size_t m = 0;
        while (m < 7 && !wick_bytes_are((wick_bytes){l->modes.texts[i].at, l->modes.texts[i].size}, modes_by_name[m]))
            m++;
        if (m == 7)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "node %zu has mode \"%.*s\"", i,
                                  (int)WICK_MIN(l->modes.texts[i].size, (size_t)40), l->modes.texts[i].at);
        if (!wick_onnx_spend(c, 128)) return false;
        source_node *node = &l->nodes[i];
        *node = (source_node){.how = hows[m],
                              .feature = l->feature[i],
                              .split = l->splits.floats[i],
                              .missing = l->missing && l->missing[i]};
        if (node->how == WICK_TREE_LEAF) {
            node->feature = 0;
            continue;
        }
        node->yes = place_of(l->by, l->n, l->trees[i], l->on_true[i]);
        node->no = place_of(l->by, l->n, l->trees[i], l->on_false[i]);
        if (node->yes < 0 || node->no < 0)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld: node %lld goes on to a node that does not exist",
                                  (long long)l->trees[i], (long long)l->ids[i]);
        l->child[node->yes] = l->child[node->no] = true;
    }
    return true;
}

/* A tree's root is nobody's child: the node that is listed first, else the only test that is none. */
static bool find_roots(onnx_call *c, const listed_nodes *l, int64_t *roots, int64_t *n_roots) {
    const named *by = l->by;
    for (size_t i = 0, k; i < l->n; i = k) {
        int64_t first = by[i].place, root = -1;
        bool one = true;
        for (k = i; k < l->n && by[k].tree == by[i].tree; k++) {
            const int64_t at = by[k].place;
            first = WICK_MIN(first, at);
            if (l->child[at] || l->nodes[at].how == WICK_TREE_LEAF) continue;
            one = root < 0;
            root = at;
        }
        if (!l->child[first])
            root = first;
        else if (root < 0 || !one)
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld has no root: its nodes lie on circles",
                                  (long long)by[i].tree);
        roots[(*n_roots)++] = root;
    }
    return true;
}

/* TreeEnsembleClassifier and -Regressor: nodes by the numbers of their trees and their own; entries name their leaves.
 * The prefix is that of the entries' attributes, "class" or "target". */
static bool read_names(onnx_call *c, const char *prefix, source *s) {
    static const char *const parts[] = {"treeids", "nodeids", "ids", "weights"};
    char names[4][24];
    for (int i = 0; i < 4; i++) {
        wick_str text = wick_str_on(names[i], sizeof names[i]);
        wick_str_add(&text, "%s_%s", prefix, parts[i]);
    }
    int count, n_entries, n_missing;
    const int64_t *trees = wick_onnx_ints(c, "nodes_treeids", &count),
                  *entry_trees = wick_onnx_ints(c, names[0], &n_entries);
    const int64_t *missing = wick_onnx_ints(c, "nodes_missing_value_tracks_true", &n_missing);
    const size_t n = (size_t)count;
    const int64_t *ids = integers(c, "nodes_nodeids", n), *feature = integers(c, "nodes_featureids", n);
    const int64_t *on_true = integers(c, "nodes_truenodeids", n), *on_false = integers(c, "nodes_falsenodeids", n);
    const int64_t *entry_nodes = integers(c, names[1], (size_t)n_entries),
                  *targets = integers(c, names[2], (size_t)n_entries);
    onnx_list modes, splits, weights;
    if (!ids || !feature || !on_true || !on_false || !entry_nodes || !targets ||
        !wick_onnx_list_attr(c, "nodes_modes", &modes) || !wick_onnx_numbers(c, "nodes_values", &splits) ||
        !wick_onnx_numbers(c, names[3], &weights) || !same_length(c, "nodes_modes", modes.n, n) ||
        !same_length(c, "nodes_values", splits.n, n) || !same_length(c, names[3], weights.n, (size_t)n_entries) ||
        (n_missing && !same_length(c, "nodes_missing_value_tracks_true", (size_t)n_missing, n)))
        return false;
    if (n && modes.kind != ONNX_LIST_STRINGS)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "attribute \"nodes_modes\" is no list of strings");
    named *by = wick_onnx_alloc(c, n, sizeof *by);
    s->nodes = by ? wick_onnx_alloc(c, n, sizeof *s->nodes) : NULL;
    bool *child = s->nodes ? wick_onnx_alloc(c, n, sizeof *child) : NULL;
    int64_t *roots = child ? wick_onnx_alloc(c, n, sizeof *roots) : NULL, n_roots = 0;
    if (!roots) return false;
    for (size_t i = 0; i < n; i++) by[i] = (named){trees[i], ids[i], (int64_t)i};
    if (!wick_onnx_sort(c, by, n, sizeof *by, by_name)) return false;
    for (size_t i = 1; i < n; i++)
        if (!by_name(&by[i - 1], &by[i], NULL))
            return wick_onnx_fail(c, WICK_ERR_FORMAT, "tree %lld has node %lld twice", (long long)by[i].tree,
                                  (long long)by[i].node);
    const listed_nodes listed = {.n = n,
                                 .trees = trees,
                                 .ids = ids,
                                 .feature = feature,
                                 .on_true = on_true,
                                 .on_false = on_false,
                                 .missing = n_missing ? missing : NULL,
                                 .modes = modes,
                                 .splits = splits,
                                 .by = by,
                                 .nodes = s->nodes,
                                 .child = child};
    if (!read_nodes(c, &listed) || !find_roots(c, &listed, roots, &n_roots)) return false;
    if (!wick_onnx_sort(c, roots, (size_t)n_roots, sizeof *roots, by_number)) return false;
    /* Entries, leaf by leaf. */
    named *entries = wick_onnx_alloc(c, (size_t)n_entries, sizeof *entries);
    int64_t *sorted_targets = entries ? wick_onnx_alloc(c, (size_t)n_entries, sizeof *sorted_targets) : NULL;
    double *sorted_weights = sorted_targets ? wick_onnx_alloc(c, (size_t)n_entries, sizeof *sorted_weights) : NULL;
    if (!sorted_weights) return false;
    for (int i = 0; i < n_entries; i++) entries[i] = (named){entry_trees[i], entry_nodes[i], i};
    if (!wick_onnx_sort(c, entries, (size_t)n_entries, sizeof *entries, by_name)) return false;
    for (int i = 0; i < n_entries; i++) {
        if (!wick_onnx_spend(c, 64)) return false;
        const int64_t at = place_of(by, n, entries[i].tree, entries[i].node);
        if (at < 0)
            return wick_onnx_fail(c, WICK_ERR_FORMAT,
                                  "attribute \"%s\" names node %lld of tree %lld, which does not exist", names[1],
                                  (long long)entries[i].node, (long long)entries[i].tree);
        sorted_targets[i] = targets[entries[i].place];
        sorted_weights[i] = weights.floats[entries[i].place];
        if (s->nodes[at].how != WICK_TREE_LEAF) continue; /* never reached */
        if (!s->nodes[at].feature++) s->nodes[at].yes = i;
    }
    *s = (source){.nodes = s->nodes,
                  .n = (int64_t)n,
                  .roots = roots,
                  .n_roots = n_roots,
                  .entries = n_entries,
                  .targets = sorted_targets,
                  .weights = sorted_weights,
                  .n_targets = s->n_targets};
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* What the trees give for x [N, F], or for one row [F]. */
static wick_tensor *run_trees(onnx_call *c, wick_tensor *x, const char *prefix, int64_t n_targets, wick_tree_sum sum) {
    if (wick_tensor_rank(x) == 1) x = wick_unsqueeze(x, 0);
    if (wick_tensor_rank(x) != 2)
        return wick_onnx_fail(c, WICK_ERR_SHAPE, "X has %d dims, not 2", wick_tensor_rank(x)), NULL;
    if (n_targets < 1 || n_targets > 1 << 24)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "%lld targets", (long long)n_targets), NULL;
    if (!wick_onnx_is_float(x)) x = wick_cast(x, WICK_F64); /* integers are compared with splits as they are */
    const wick_dtype dtype = wick_tensor_dtype(x) == WICK_F64 ? WICK_F64 : WICK_F32;
    wick_tensor *tables[5];
    if (!wick_onnx_kept(c, 5, tables) || wick_tensor_dtype(tables[1]) != dtype) {
        source s = {.n_targets = n_targets};
        if (!(prefix ? read_names(c, prefix, &s) : read_places(c, &s))) return NULL;
        s.dtype = dtype;
        if (!lay_out(c, &s, wick_tensor_dim(x, 1), tables)) return NULL;
    }
    return wick_tree_ensemble(wick_cast(x, dtype), &(wick_tree_tables){.nodes = tables[0],
                                                                       .splits = tables[1],
                                                                       .roots = tables[2],
                                                                       .targets = tables[3],
                                                                       .weights = tables[4],
                                                                       .n_targets = n_targets,
                                                                       .sum = sum});
}

static void tree_ensemble(onnx_call *c) {
    static const wick_tree_sum sums[] = {WICK_TREES_MEAN, WICK_TREES_SUM, WICK_TREES_MIN, WICK_TREES_MAX};
    wick_tensor *x = wick_onnx_tensor(c, 0);
    const int64_t how = wick_onnx_int(c, "aggregate_function", 1), post = wick_onnx_int(c, "post_transform", 0);
    if (!x || c->status != WICK_OK) return;
    if (how < 0 || how > 3 || post < 0 || post > 4) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "aggregate_function %lld, post_transform %lld", (long long)how,
                       (long long)post);
        return;
    }
    static const onnx_post posts[] = {ONNX_POST_NONE, ONNX_POST_SOFTMAX, ONNX_POST_LOGISTIC, ONNX_POST_SOFTMAX_ZERO,
                                      ONNX_POST_PROBIT};
    wick_tensor *y = run_trees(c, x, NULL, wick_onnx_int(c, "n_targets", 1), sums[how]);
    if (y) wick_onnx_set(c, 0, wick_cast(wick_onnx_post_transform(y, posts[post]), wick_tensor_dtype(x)));
}

/* Base values, one for each target or one for all; NULL: none. */
static bool base_values(onnx_call *c, int64_t n, wick_tensor *like, wick_tensor **out) {
    onnx_list base;
    *out = NULL;
    if (!wick_onnx_numbers(c, "base_values", &base)) return false;
    if (!base.n) return true;
    if ((int64_t)base.n != n && base.n != 1)
        return wick_onnx_fail(c, WICK_ERR_FORMAT, "%zu base_values for %lld targets", base.n, (long long)n);
    *out = wick_onnx_list_tensor(c, &base, wick_tensor_dtype(like), 1, &(int64_t){(int64_t)base.n});
    return true;
}

static void tree_regressor(onnx_call *c) {
    static const char *const names[] = {"SUM", "AVERAGE", "MIN", "MAX"};
    wick_tensor *x = wick_onnx_tensor(c, 0), *base;
    const wick_bytes how = wick_onnx_text(c, "aggregate_function", "SUM");
    const int64_t n = wick_onnx_int(c, "n_targets", 1);
    onnx_post post;
    int sum = 0;
    while (sum < 4 && !wick_bytes_are(how, names[sum])) sum++;
    if (sum == 4)
        wick_onnx_fail(c, WICK_ERR_FORMAT, "aggregate_function \"%.*s\"", (int)WICK_MIN(how.size, (size_t)40), how.at);
    if (!x || !wick_onnx_post(c, &post)) return;
    wick_tensor *y = run_trees(c, x, "target", n, (wick_tree_sum)sum);
    if (!y || !base_values(c, n, y, &base)) return;
    if (base) y = wick_add(y, base);
    wick_onnx_set(c, 0, wick_cast(wick_onnx_post_transform(y, post), WICK_F32));
}

static bool all_are(const onnx_list *l, int64_t value) {
    for (size_t i = 0; i < l->n; i++)
        if (l->ints[i] != value) return false;
    return true;
}

/* Of two classes a file may give the score of one only: its weights then tell whether that is a probability, or lies
 * around 0. */
static void tree_classifier(onnx_call *c) {
    wick_tensor *x = wick_onnx_tensor(c, 0), *base;
    onnx_list labels, ids, weights;
    onnx_post post;
    if (!x || !wick_onnx_post(c, &post) || !wick_onnx_class_labels(c, &labels) ||
        !wick_onnx_list_attr(c, "class_ids", &ids) || !wick_onnx_numbers(c, "class_weights", &weights))
        return;
    if (ids.n && ids.kind != ONNX_LIST_INTS) {
        wick_onnx_fail(c, WICK_ERR_FORMAT, "class_ids are no integers");
        return;
    }
    const int64_t n = (int64_t)labels.n;
    const bool single = n == 2 && ids.n && all_are(&ids, ids.ints[0]);
    bool positive = true;
    for (size_t i = 0; i < weights.n; i++) positive &= weights.floats[i] >= 0;
    wick_tensor *y = run_trees(c, x, "class", n, WICK_TREES_SUM);
    if (!y) return;
    if (!base_values(c, n, y, &base)) return;
    wick_tensor *one = NULL, *scores; /* one: the score that the label hangs on, where there is one only */
    if (single && ids.ints[0] == 0) {
        one = wick_slice(y, 1, 0, 1, 1);
        if (base) one = wick_add(one, wick_slice(base, 0, wick_tensor_count(base) - 1, wick_tensor_count(base), 1));
        scores = wick_onnx_second_class(one, positive, post);
    } else {
        if (base) y = wick_add(y, base);
        if (single) one = wick_slice(y, 1, 1, 2, 1);
        scores = wick_onnx_post_transform(y, post);
    }
    wick_onnx_set_labels(c, &labels,
                         one ? wick_cast(wick_squeeze(wick_gt(one, wick_like(one, positive ? 0.5 : 0)), 1), WICK_I64)
                             : wick_argmax(y, 1, false));
    wick_onnx_set(c, 1, wick_cast(scores, WICK_F32));
}

static const onnx_op ops[] = {
    {"TreeEnsemble", 5, 0, tree_ensemble, {0}},
    {"TreeEnsembleClassifier", 1, 0, tree_classifier, {0}},
    {"TreeEnsembleRegressor", 1, 0, tree_regressor, {0}},
};
const onnx_family wick_onnx_trees = {"ai.onnx.ml", ops, WICK_COUNTOF(ops)};
