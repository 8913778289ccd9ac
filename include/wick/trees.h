/* wick/trees.h: ensembles of decision trees: random forests, boosted trees. */
#ifndef WICK_TREES_H
#define WICK_TREES_H

#include "wick/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the first number of a node says: a leaf, or how x[feature] is compared with the node's split; with
 * WICK_TREE_MISSING added, NaN is true. */
enum {
    WICK_TREE_LEAF,
    WICK_TREE_LE,
    WICK_TREE_LT,
    WICK_TREE_GE,
    WICK_TREE_GT,
    WICK_TREE_EQ,
    WICK_TREE_NE,
    WICK_TREE_MISSING = 8
};
/* What becomes of the weights that a row's leaves have for a target; 0 where it has none. */
typedef enum wick_tree_sum {
    WICK_TREES_SUM,
    WICK_TREES_MEAN /* over all trees */,
    WICK_TREES_MIN,
    WICK_TREES_MAX
} wick_tree_sum;

/* All trees of an ensemble, in tables. */
typedef struct wick_tree_tables {
    wick_tensor *nodes;   /* i32 [n, 4]: tests { how, feature, node if true, node if false }, both behind their node in
                             the table, so that every walk   ends; leaves { WICK_TREE_LEAF, entries, first entry, 0 } */
    wick_tensor *splits;  /* [n], of x's dtype; unread for leaves */
    wick_tensor *roots;   /* i32 [trees] */
    wick_tensor *targets; /* i32 [entries]: which result an entry adds to */
    wick_tensor *weights; /* [entries], of x's dtype: what it adds */
    int64_t n_targets;
    wick_tree_sum sum;
} wick_tree_tables;
/* x [N, features] through every tree (Breiman, Friedman, Olshen, Stone 1984): [N, n_targets]. f32 or f64; entries are
 * added in f64 in the order of the trees. A number in the tables that leads nowhere is a run-time error
 * (WICK_ERR_INDEX). No gradient flows: results are constant almost everywhere. */
WICK_API wick_tensor *wick_tree_ensemble(wick_tensor *x, const wick_tree_tables *tables);

#ifdef __cplusplus
}
#endif

#ifndef WICK_NO_SITES
#define wick_tree_ensemble(...) WICK_TENSOR_HERE(wick_tree_ensemble(__VA_ARGS__))
#endif
#endif
