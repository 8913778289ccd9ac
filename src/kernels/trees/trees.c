/* trees.c: ensembles of decision trees. Reads at places that the data choose: one version in plain C serves every tier.
 */
#include "kernels/types.h"
#include "kernels/trees/trees.h"

/* rows of a task, fewer where results are many; rows in step */
enum { GROUP = 64, GROUP_NUMBERS = 1 << 13, TOGETHER = 8 };

static int64_t rows_of_task(const wick_forest *f) {
    const int64_t room = GROUP_NUMBERS / WICK_MAX(f->targets, 1);
    return room > GROUP ? GROUP : room > 1 ? room : 1;
}
int64_t wick_forest_tasks(const wick_forest *f) { return (f->rows + rows_of_task(f) - 1) / rows_of_task(f); }
/* Sums, then whether a target has any entry. */
size_t wick_forest_scratch(const wick_forest *f) {
    return (size_t)(rows_of_task(f) * f->targets) * (sizeof(double) + 1);
}

#define TREES_T       float
#define TREES_NAME(x) x##_f32
#include "kernels/trees/trees_body.h"
#define TREES_T       double
#define TREES_NAME(x) x##_f64
#include "kernels/trees/trees_body.h"

int64_t wick_forest_run(const wick_forest *f, int64_t begin, int64_t end, const void *x, const int32_t *nodes,
                        const void *splits, const int32_t *roots, const int32_t *targets, const void *weights, void *y,
                        void *scratch) {
    const int64_t each = rows_of_task(f);
    for (int64_t task = begin; task < end; task++) {
        const int64_t first = task * each, last = WICK_MIN(first + each, f->rows);
        const int64_t bad = f->wide ? walk_f64(f, first, last, x, nodes, splits, roots, targets, weights, y, scratch)
                                    : walk_f32(f, first, last, x, nodes, splits, roots, targets, weights, y, scratch);
        if (bad >= 0) return bad;
    }
    return -1;
}
