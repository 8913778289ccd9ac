/* trees.h: ensembles of decision trees over tables. A node is four numbers and a split value:
 *
 *     test:  { how | missing, feature, node if true, node if false }   true where x[feature] <how> split
 *     leaf:  { 0,             entries, first entry,  -             }   adds weights[e] to result targets[e]
 *
 * Both next nodes lie behind their node, so that every walk ends. NaN passes no test but "!=", unless the node sends
 * what is missing to true. */
#ifndef WICK_KERNELS_TREES_H
#define WICK_KERNELS_TREES_H

#include "base/base.h"

enum {
    WICK_FOREST_LEAF,
    WICK_FOREST_LE,
    WICK_FOREST_LT,
    WICK_FOREST_GE,
    WICK_FOREST_GT,
    WICK_FOREST_EQ,
    WICK_FOREST_NE,
    WICK_FOREST_MISSING = 8
};
enum { WICK_FOREST_SUM, WICK_FOREST_MEAN, WICK_FOREST_MIN, WICK_FOREST_MAX };

typedef struct wick_forest {
    bool wide; /* x, splits, weights and results are f64, else f32 */
    int64_t rows, columns, nodes, trees, entries, targets;
    int64_t how; /* WICK_FOREST_SUM or another: what becomes of a target's entries */
} wick_forest;

/* Tasks are rows in groups; a group goes through tree after tree while that is in the cache. */
int64_t wick_forest_tasks(const wick_forest *f);
size_t wick_forest_scratch(const wick_forest *f);
/* x [rows, columns], nodes [nodes][4], roots [trees], targets and weights [entries], y [rows, targets]. Entries are
 * added in f64, in the order of the trees, and rounded once. Returns -1, or the tree in which a number is none that the
 * tables have. */
int64_t wick_forest_run(const wick_forest *f, int64_t begin, int64_t end, const void *x, const int32_t *nodes,
                        const void *splits, const int32_t *roots, const int32_t *targets, const void *weights, void *y,
                        void *scratch);

#endif
