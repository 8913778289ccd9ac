/* parts.c: sums of which each rank gets some ranges alone, and bytes of which each rank has a part, put together. What
 * is between the two halves of wick_group_finish, where ranks do something with their part. */
#include "dist/group.h"

static size_t floats_of(int n, const wick_range *ranges) {
    size_t floats = 0;
    for (int k = 0; k < n; k++) floats += ranges[k].end - ranges[k].begin;
    return floats;
}

/* Complete subtrees of the leaves of rank r. */
static int blocks_of(const wick_group *g, int r, tree_block *blocks) {
    return wick_tree_blocks(wick_group_first(g, g->sum.leaves, r), wick_group_first(g, g->sum.leaves, r + 1), blocks);
}

/* The lists of an exchange, in the sum's memory. */
typedef struct part_lists {
    int all; /* subtrees of all ranks */
    wick_parcel *in, *out;
    tree_block *blocks;    /* [all], ascending */
    const float **vectors; /* [all]: of each, this rank's ranges; of its own, the whole vector */
} part_lists;

static wick_status take_lists(wick_group *g, int n, const wick_range *mine, part_lists *lists) {
    tree_block blocks[BLOCKS_MAX];
    size_t all = 0, bytes, parcels, floats, words;
    for (int r = 0; r < g->wire.size; r++) all += (size_t)blocks_of(g, r, blocks);
    /* all of the others' for this rank, and this rank's for all others */
    const size_t messages = (all + (size_t)g->sum.n * (size_t)g->wire.size);
    if (wick_mul_overflows(messages, (size_t)n * sizeof(wick_parcel), &parcels) ||
        wick_add_overflows(parcels, all * (sizeof(tree_block) + sizeof(float *)), &bytes) ||
        wick_mul_overflows(floats_of(n, mine), sizeof(float), &floats) || wick_mul_overflows(floats, all, &words) ||
        !wick_group_sum_room(g, words, bytes))
        return wick_group_fail(g, WICK_ERR_NOMEM, "group_finish_parts: out of memory");
    lists->all = (int)all;
    lists->in = g->sum.parcels;
    lists->out = lists->in + all * (size_t)n;
    lists->vectors = (const float **)(lists->in + messages * (size_t)n);
    lists->blocks = (tree_block *)(lists->vectors + all);
    return WICK_OK;
}

/* Behind each other: this rank's ranges of every subtree that others have. */
static int list_in(wick_group *g, int n, const wick_range *mine, part_lists *lists) {
    float *at = g->sum.parts;
    int n_in = 0, b = 0;
    for (int r = 0; r < g->wire.size; r++) {
        const int more = blocks_of(g, r, lists->blocks + b);
        for (int i = 0; i < more; i++, b++) {
            lists->vectors[b] = r == g->wire.rank ? g->sum.vectors[i] : at;
            for (int k = 0; k < n && r != g->wire.rank; k++) {
                const size_t floats = mine[k].end - mine[k].begin;
                if (floats) lists->in[n_in++] = (wick_parcel){r, at, floats * sizeof *at};
                at += floats;
            }
        }
    }
    return n_in;
}

static int list_out(const wick_group *g, int n, const wick_range *ranges, part_lists *lists) {
    int n_out = 0;
    for (int k = 1; k < g->wire.size; k++) { /* beginning with the next rank: not all with the first */
        const int to = (g->wire.rank + k) % g->wire.size;
        const wick_range *theirs = ranges + (size_t)to * (size_t)n;
        for (int i = 0; i < g->sum.n; i++)
            for (int j = 0; j < n; j++)
                if (theirs[j].end > theirs[j].begin)
                    lists->out[n_out++] = (wick_parcel){to, g->sum.vectors[i] + theirs[j].begin,
                                                        (theirs[j].end - theirs[j].begin) * sizeof(float)};
    }
    return n_out;
}

/* Own subtrees are vectors as a whole, those of others begin with the first range. */
static void sum_ranges(wick_group *g, int n, const wick_range *mine, part_lists *lists, float *sum) {
    tree_block own[BLOCKS_MAX];
    int first = 0;
    for (int r = 0; r < g->wire.rank; r++) first += blocks_of(g, r, own);
    for (int k = 0; k < n; k++) {
        const size_t floats = mine[k].end - mine[k].begin;
        for (int i = 0; i < g->sum.n; i++) lists->vectors[first + i] = g->sum.vectors[i] + mine[k].begin;
        wick_tree_sum(g->ctx->pool, lists->all, lists->blocks, lists->vectors, sum, floats);
        for (int b = 0; b < lists->all; b++) lists->vectors[b] += floats;
        sum += floats;
    }
}

wick_status wick_group_finish_parts(wick_group *g, int n, const wick_range *ranges, float *sum) {
    part_lists lists = {0};
    WICK_TRY(wick_group_usable(g));
    if (n < 0 || (n && !ranges))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_finish_parts: %d ranges at NULL", n);
    for (int i = 0; i < n * g->wire.size; i++)
        if (ranges[i].begin > ranges[i].end || ranges[i].end > g->sum.count)
            return wick_group_fail(g, WICK_ERR_INVALID,
                                   "group_finish_parts: range %d of rank %d is %zu to %zu of %zu floats", i % n, i / n,
                                   ranges[i].begin, ranges[i].end, g->sum.count);
    const wick_range *mine = n ? ranges + (size_t)n * (size_t)g->wire.rank : NULL;
    if (!sum && floats_of(n, mine)) return wick_group_fail(g, WICK_ERR_INVALID, "group_finish_parts: sum is NULL");
    if (g->sum.flat)
        return wick_group_fail(g, WICK_ERR_UNSUPPORTED,
                               "group_finish_parts: parts are of sums along the tree, not of wick_group_set_fast's");
    if (g->sum.pieced)
        return wick_group_fail(g, WICK_ERR_UNSUPPORTED,
                               "group_finish_parts: sums of wick_group_set_pieces go to all ranks");
    WICK_TRY(wick_group_sum_complete(g, "group_finish_parts"));
    if (g->sum.count == 0) return WICK_OK;
    WICK_TRY(take_lists(g, n, mine, &lists));
    const int n_in = list_in(g, n, mine, &lists), n_out = list_out(g, n, ranges, &lists);
    WICK_TRY(wick_group_exchange(g, WICK_GROUP_PARTS, n_out, lists.out, n_in, lists.in));
    sum_ranges(g, n, mine, &lists, sum);
    return WICK_OK;
}

static wick_status check_collect(wick_group *g, int root, const size_t *begin, const void *mine, const void *all) {
    const int me = g->wire.rank, ranks = g->wire.size;
    if (root < -1 || root >= ranks)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_collect: root %d: ranks are 0 to %d, and -1 is all of them",
                               root, ranks - 1);
    if (!begin) return wick_group_fail(g, WICK_ERR_INVALID, "group_collect: begin is NULL");
    for (int r = 0; r < ranks; r++)
        if (begin[r] > begin[r + 1])
            return wick_group_fail(g, WICK_ERR_INVALID, "group_collect: the part of rank %d ends before it begins", r);
    if ((!mine && begin[me + 1] > begin[me]) || (!all && (root < 0 || root == me) && begin[ranks] > begin[0]))
        return wick_group_fail(g, WICK_ERR_INVALID, "group_collect: mine or all is NULL");
    return WICK_OK;
}

wick_status wick_group_collect(wick_group *g, int root, const size_t *begin, const void *mine, void *all) {
    const int me = g->wire.rank, ranks = g->wire.size;
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(check_collect(g, root, begin, mine, all));
    const size_t bytes = 2 * (size_t)ranks * sizeof(wick_parcel), size = begin[me + 1] - begin[me];
    const bool gets = root < 0 || root == me;
    uint8_t *at = all;
    if (gets && size && at + begin[me] != mine) memmove(at + begin[me], mine, size);
    if (ranks == 1) return WICK_OK;
    wick_parcel *in = wick_alloc(&g->ctx->alloc, bytes), *out = in + ranks;
    if (!in) return wick_group_fail(g, WICK_ERR_NOMEM, "group_collect: out of memory");
    int n_in = 0, n_out = 0;
    for (int k = 1; k < ranks; k++) {
        const int r = (me + k) % ranks;
        const size_t theirs = begin[r + 1] - begin[r];
        if (size && (root < 0 || root == r)) out[n_out++] = (wick_parcel){r, (void *)(uintptr_t)mine, size};
        if (theirs && gets) in[n_in++] = (wick_parcel){r, at + begin[r], theirs};
    }
    const wick_status status = wick_group_exchange(g, WICK_GROUP_PARTS_COLLECT, n_out, out, n_in, in);
    wick_release(&g->ctx->alloc, in, bytes);
    return status;
}
