/* trees_body.h: rows through trees; included for every TREES_T. */

static bool TREES_NAME(passes)(int32_t how, TREES_T v, TREES_T split) {
    if (v != v && how & WICK_FOREST_MISSING) return true;
    switch (how & ~WICK_FOREST_MISSING) {
    case WICK_FOREST_LE: return v <= split;
    case WICK_FOREST_LT: return v < split;
    case WICK_FOREST_GE: return v >= split;
    case WICK_FOREST_GT: return v > split;
    case WICK_FOREST_EQ: return v == split;
    default: return v != split;
    }
}

/* The leaf that a row ends in, or -1: a node, or a feature, that is not there. */
static int64_t TREES_NAME(leaf)(const wick_forest *f, const TREES_T *x, const int32_t (*nodes)[4],
                                const TREES_T *splits, int64_t at) {
    if ((uint64_t)at >= (uint64_t)f->nodes) return -1;
    while (nodes[at][0] != WICK_FOREST_LEAF) {
        const int32_t *node = nodes[at];
        if ((uint64_t)node[1] >= (uint64_t)f->columns) return -1;
        const TREES_T v = x[node[1]];
        const bool yes = node[0] == WICK_FOREST_LE ? v <= splits[at] : TREES_NAME(passes)(node[0], v, splits[at]);
        const int64_t next = node[yes ? 2 : 3];
        if (next <= at || next >= f->nodes) return -1;
        at = next;
    }
    return at;
}

/* The same for several rows in step, since each waits for memory; a row that has arrived stays. False: some row went
 * nowhere. */
static bool TREES_NAME(leaves)(const wick_forest *f, const TREES_T *x, const int32_t (*nodes)[4], const TREES_T *splits,
                               int64_t root, int64_t at[TOGETHER]) {
    bool moving = true, bad = (uint64_t)root >= (uint64_t)f->nodes;
    for (int k = 0; k < TOGETHER; k++) at[k] = root;
    while (moving && !bad) {
        moving = false;
        for (int k = 0; k < TOGETHER; k++) {
            const int32_t *node = nodes[at[k]];
            const bool test = node[0] != WICK_FOREST_LEAF;
            const int64_t feature = test ? node[1] : 0;
            if ((uint64_t)feature >= (uint64_t)f->columns) return false;
            const TREES_T v = x[k * f->columns + feature];
            const bool yes =
                !test || node[0] == WICK_FOREST_LE ? v <= splits[at[k]] : TREES_NAME(passes)(node[0], v, splits[at[k]]);
            const int64_t next = test ? node[yes ? 2 : 3] : at[k];
            bad |= test & ((next <= at[k]) | (next >= f->nodes));
            moving |= test;
            at[k] = bad ? root : next;
        }
    }
    return !bad;
}

static int64_t TREES_NAME(walk)(const wick_forest *f, int64_t first, int64_t last, const TREES_T *x,
                                const void *node_table, const TREES_T *splits, const int32_t *roots,
                                const int32_t *targets, const TREES_T *weights, TREES_T *y, void *scratch) {
    const int32_t(*nodes)[4] = (const int32_t(*)[4])node_table;
    const int64_t rows = last - first, numbers = rows * f->targets;
    double *sums = scratch;
    uint8_t *seen = (uint8_t *)(sums + numbers);
    int64_t together[TOGETHER] = {0};
    const int64_t grouped = f->columns > 0 ? rows / TOGETHER * TOGETHER : 0;
    memset(sums, 0, (size_t)numbers * sizeof *sums);
    memset(seen, 0, (size_t)numbers);
    for (int64_t t = 0; t < f->trees; t++)
        for (int64_t r = 0; r < rows; r++) {
            if (r < grouped && r % TOGETHER == 0 &&
                !TREES_NAME(leaves)(f, x + (first + r) * f->columns, nodes, splits, roots[t], together))
                return t;
            const int64_t leaf = r < grouped
                                     ? together[r % TOGETHER]
                                     : TREES_NAME(leaf)(f, x + (first + r) * f->columns, nodes, splits, roots[t]);
            if (leaf < 0) return t;
            const int64_t n = nodes[leaf][1], from = nodes[leaf][2];
            if (n < 0 || from < 0 || n > f->entries - from) return t;
            for (int64_t e = from; e < from + n; e++) {
                if ((uint64_t)targets[e] >= (uint64_t)f->targets) return t;
                const int64_t at = r * f->targets + targets[e];
                const double w = (double)weights[e];
                if (f->how == WICK_FOREST_MIN) sums[at] = !seen[at] || w < sums[at] ? w : sums[at];
                else if (f->how == WICK_FOREST_MAX) sums[at] = !seen[at] || w > sums[at] ? w : sums[at];
                else sums[at] += w;
                seen[at] = 1;
            }
        }
    const double by = f->how == WICK_FOREST_MEAN && f->trees ? (double)f->trees : 1;
    for (int64_t i = 0; i < numbers; i++) y[first * f->targets + i] = (TREES_T)(sums[i] / by);
    return -1;
}
#undef TREES_T
#undef TREES_NAME
