/* sum.c: the sum of the leaves of all ranks. A rank adds up its own leaves as a binary counter counts: a vector for
 * each complete subtree that waits for its sibling.
 *
 *   leaves of rank 0 of 2      0   1   2   3         4   5   6   7      of rank 1
 *                               \ /     \ /           \ /     \ /
 *                               0-1     2-3           4-5     6-7
 *                                 \     /               \     /
 *                                  0-3                    4-7           sent by parts: part s to rank s,
 *                                     \                  /
 *                                      0-7 of one part                  who adds them, and sends the sum to all
 */
#include "dist/group.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void free_vectors(wick_group *g) {
    group_sum *s = &g->sum;
    for (int i = 0; i < s->n_vectors; i++) wick_release(&g->ctx->alloc, s->vectors[i], s->vector_bytes);
    s->n_vectors = 0;
}

void wick_group_sum_free(wick_group *g) {
    free_vectors(g);
    wick_release(&g->ctx->alloc, g->sum.parts, g->sum.parts_bytes);
    wick_release(&g->ctx->alloc, g->sum.parcels, g->sum.parcels_bytes);
    g->sum = (group_sum){0};
}

/* A block of at least so many bytes; what was in it is gone. */
static bool resize(wick_group *g, void **block, size_t *bytes, size_t need) {
    if (need <= *bytes) return true;
    wick_release(&g->ctx->alloc, *block, *bytes);
    *bytes = 0;
    *block = wick_alloc(&g->ctx->alloc, need);
    if (*block) *bytes = need;
    return *block != NULL;
}

bool wick_group_sum_room(wick_group *g, size_t parts, size_t parcels) {
    group_sum *s = &g->sum;
    return resize(g, (void **)&s->parts, &s->parts_bytes, parts) &&
           resize(g, (void **)&s->parcels, &s->parcels_bytes, parcels);
}

/* How many vectors the counter has at most while it adds the leaves. */
static int most_vectors(int first, int end) {
    tree_block blocks[BLOCKS_MAX];
    int most = 0, n = wick_tree_blocks(first, end, blocks);
    for (int i = 0; i < n; i++) {
        int within = 0; /* a block of 2^k leaves has up to k waiting, and itself */
        while (blocks[i].size >> within) within++;
        most = WICK_MAX(most, i + (within > 1 ? within - 1 : 1));
    }
    return most;
}

static int all_blocks(const wick_group *g) {
    tree_block blocks[BLOCKS_MAX];
    int n = 0;
    for (int r = 0; r < g->wire.size; r++)
        n += wick_tree_blocks(wick_group_first(g, g->sum.leaves, r), wick_group_first(g, g->sum.leaves, r + 1), blocks);
    return n;
}

/* Where rank r's part of the vector begins. */
static size_t part_begin(const wick_group *g, int r) { return wick_part_begin(g->sum.count, r, g->wire.size); }
static size_t part_size(const wick_group *g, int r) { return part_begin(g, r + 1) - part_begin(g, r); }

/* The most floats of it, or of one of its pieces, that this rank sums. */
static size_t most_part(const wick_group *g) {
    size_t most = part_size(g, g->wire.rank);
    for (int k = 0; k < g->pieces.n && g->sum.pieced; k++) {
        const wick_range *p = &g->pieces.list[k];
        most = WICK_MAX(most, wick_part_size(p->end - p->begin, g->wire.rank, g->wire.size));
    }
    return most;
}

static bool take_memory(wick_group *g) {
    group_sum *s = &g->sum;
    const size_t bytes = s->count * sizeof(float);
    const int vectors = s->flat ? 1 : most_vectors(s->first, s->end);
    if (bytes != s->vector_bytes) free_vectors(g);
    s->vector_bytes = bytes;
    while (s->n_vectors < vectors) {
        float *v = wick_alloc(&g->ctx->alloc, bytes);
        if (!v) return false;
        s->vectors[s->n_vectors++] = v;
    }
    if (s->flat) return wick_group_fast_memory(g);
    if (g->wire.size == 1) return true;
    /* lists of what comes in, what goes out to all others, sums too, and the blocks that are added at the end */
    const int all = all_blocks(g);
    const size_t own = (BLOCKS_MAX + 2) * (size_t)g->wire.size, n = (size_t)all;
    size_t parts;
    return !wick_mul_overflows(most_part(g) * sizeof(float), n, &parts) &&
           wick_group_sum_room(g, parts, (n + own) * sizeof(wick_parcel) + n * (sizeof(tree_block) + sizeof(float *)));
}

/* ---- adding own leaves ------------------------------------------------------------------------------------------- */

wick_status wick_group_check_leaves(wick_group *g, const char *call, int leaves) {
    if (leaves < 1 || leaves > WICK_LEAVES_MAX || (leaves & (leaves - 1)))
        return wick_group_fail(g, WICK_ERR_INVALID, "%s: %d leaves: a power of two from 1 to %d", call, leaves,
                               WICK_LEAVES_MAX);
    if (leaves < g->wire.size)
        return wick_group_fail(g, WICK_ERR_INVALID, "%s: %d leaves are too few for %d ranks: each needs one", call,
                               leaves, g->wire.size);
    return WICK_OK;
}

wick_status wick_group_leaves(wick_group *g, int leaves, int *first, int *end) {
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(wick_group_check_leaves(g, "group_leaves", leaves));
    if (!first || !end) return wick_group_fail(g, WICK_ERR_INVALID, "group_leaves: first or end is NULL");
    *first = wick_group_first(g, leaves, g->wire.rank);
    *end = wick_group_first(g, leaves, g->wire.rank + 1);
    return WICK_OK;
}

wick_status wick_group_begin(wick_group *g, int leaves, size_t count) {
    group_sum *s = &g->sum;
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(wick_group_check_leaves(g, "group_begin", leaves));
    s->begun = false;
    wick_group_forget_pieces(g);
    if (count > PTRDIFF_MAX / sizeof(float))
        return wick_group_fail(g, WICK_ERR_NOMEM, "group_begin: out of memory for vectors of %zu floats", count);
    if (g->fast.on && !wick_group_low_rank_fits(g, count))
        return wick_group_fail(g, WICK_ERR_INVALID,
                               "group_begin: a vector of %zu floats, where the matrices of wick_group_set_fast end "
                               "behind it",
                               count);
    s->leaves = leaves;
    s->flat = g->fast.on;
    s->first = wick_group_first(g, leaves, g->wire.rank);
    s->end = wick_group_first(g, leaves, g->wire.rank + 1);
    s->leaf = s->first;
    s->count = count;
    s->n = 0, s->filled = 0, s->piece = 0;
    s->pieced = g->pieces.n && g->pieces.count == count;
    if (!take_memory(g)) {
        wick_group_sum_free(g);
        return wick_group_fail(g, WICK_ERR_NOMEM, "group_begin: out of memory for vectors of %zu floats", count);
    }
    s->begun = true;
    return WICK_OK;
}

/* With how many of the stack the next leaf becomes one subtree: of leaf 4 k + 3, with those of 4 k + 2 and of 4 k. */
static int merges_of(const group_sum *s) {
    int merges = 0;
    if (s->flat) return s->n;
    tree_block last = {s->leaf, 1};
    while (merges < s->n && s->stack[s->n - 1 - merges].size == last.size &&
           last.first % (2 * last.size) == last.size) {
        last.first -= last.size;
        last.size *= 2;
        merges++;
    }
    return merges;
}

static void end_leaf(group_sum *s) {
    const int merges = merges_of(s);
    s->n -= merges;
    s->stack[s->n] = (tree_block){s->leaf + 1 - (1 << merges), 1 << merges};
    s->n++;
    s->leaf++;
    s->filled = 0;
    s->piece = 0;
}

/* n floats of the leaf's vector from `at` on. The vector of the lowest subtree that the leaf merges with gets the sum:
 * one pass over all of them. */
static void add_floats(wick_group *g, size_t at, const float *part, size_t n) {
    group_sum *s = &g->sum;
    const int merges = merges_of(s), low = s->n - merges;
    tree_block blocks[TREE_DEPTH_MAX + 1];
    const float *vectors[TREE_DEPTH_MAX + 1];
    for (int i = 0; i < merges; i++) {
        blocks[i] = s->flat ? (tree_block){0, 1} : s->stack[low + i];
        vectors[i] = s->vectors[low + i] + at;
    }
    blocks[merges] = (tree_block){s->flat ? merges : s->leaf, 1};
    vectors[merges] = part;
    wick_tree_sum(g->ctx->pool, merges + 1, blocks, vectors, s->vectors[low] + at, n);
    s->filled += n;
}

/* That it is the leaf's turn. */
static wick_status check_leaf(wick_group *g, int leaf) {
    const group_sum *s = &g->sum;
    if (!s->begun) return wick_group_fail(g, WICK_ERR_INVALID, "group_add: no sum was begun");
    if (s->leaf == s->end)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_add: leaf %d: all leaves of rank %d, %d to %d, were added",
                               leaf, g->wire.rank, s->first, s->end - 1);
    if (leaf != s->leaf)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_add: leaf %d, where leaf %d of rank %d's %d to %d is next",
                               leaf, s->leaf, g->wire.rank, s->first, s->end - 1);
    return WICK_OK;
}

wick_status wick_group_add_part(wick_group *g, int leaf, const float *part, size_t n) {
    group_sum *s = &g->sum;
    WICK_TRY(wick_group_usable(g));
    WICK_TRY(check_leaf(g, leaf));
    if (s->pieced && s->leaf == s->end - 1 && n < s->count)
        return wick_group_fail(g, WICK_ERR_INVALID,
                               "group_add: leaf %d: the last leaf of a rank is added by pieces, or as a whole", leaf);
    if (s->piece)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_add: leaf %d: pieces of it were added already", leaf);
    if (n > s->count - s->filled)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_add: leaf %d: %zu floats are too many: %zu of %zu are left",
                               leaf, n, s->count - s->filled, s->count);
    if (!part && n) return wick_group_fail(g, WICK_ERR_INVALID, "group_add: leaf %d: vector is NULL", leaf);
    for (int k = 0; s->pieced && s->leaf == s->end - 1 && k < g->pieces.n; k++)
        WICK_TRY(wick_group_add_piece(g, leaf, part));
    if (s->leaf != leaf) return WICK_OK; /* piece by piece */
    if (n) add_floats(g, s->filled, part, n);
    if (s->filled == s->count) end_leaf(s);
    return WICK_OK;
}

wick_status wick_group_add(wick_group *g, int leaf, const float *vector) {
    WICK_TRY(wick_group_usable(g));
    if (g->sum.filled)
        return wick_group_fail(g, WICK_ERR_INVALID, "group_add: leaf %d: %zu of its %zu floats were added already",
                               leaf, g->sum.filled, g->sum.count);
    return wick_group_add_part(g, leaf, vector, g->sum.count);
}

wick_status wick_group_add_piece(wick_group *g, int leaf, const float *vector) {
    group_sum *s = &g->sum;
    if (!wick_group_pieces_travel(g)) WICK_TRY(wick_group_usable(g));
    if (!s->begun || s->leaf == s->end || s->leaf != leaf || !s->pieced || !vector || (s->filled && !s->piece)) {
        WICK_TRY(wick_group_usable(g)); /* none is under way behind it */
        WICK_TRY(check_leaf(g, leaf));
        if (!vector) return wick_group_fail(g, WICK_ERR_INVALID, "group_add_piece: leaf %d: vector is NULL", leaf);
        return wick_group_fail(g, WICK_ERR_INVALID, "group_add_piece: leaf %d: %s", leaf,
                               s->pieced ? "part of it was added by wick_group_add_part"
                                         : "the sum is of another length than the pieces of wick_group_set_pieces");
    }
    const wick_range *p = &g->pieces.list[s->piece];
    add_floats(g, p->begin, vector + p->begin, p->end - p->begin);
    const int k = s->piece++;
    if (s->leaf == s->end - 1 && g->wire.size > 1 && !s->flat) wick_group_send_piece(g, k);
    if (s->piece == g->pieces.n) end_leaf(s);
    return WICK_OK;
}

/* ---- the exchange ------------------------------------------------------------------------------------------------ */

/* The lists of an exchange, in the sum's memory. */
typedef struct sum_lists {
    wick_parcel *in, *out;
    int n_in, n_out, n; /* n: blocks of all ranks */
    tree_block *blocks; /* in ascending order */
    const float **vectors; /* of each, this rank's part of a range */
} sum_lists;

static sum_lists empty_lists(const wick_group *g) {
    const size_t all = (size_t)all_blocks(g), ranks = (size_t)g->wire.size;
    wick_parcel *in = g->sum.parcels, *out = in + all + ranks;
    const float **vectors = (const float **)(out + (BLOCKS_MAX + 1) * ranks);
    return (sum_lists){.in = in, .out = out, .blocks = (tree_block *)(vectors + all), .vectors = vectors};
}

/* This rank's part of the range of all blocks comes in, its own is where it is; others' parts go out. */
static void list_parts(wick_group *g, wick_range range, sum_lists *l) {
    group_sum *s = &g->sum;
    const int me = g->wire.rank, ranks = g->wire.size;
    const size_t count = range.end - range.begin, size = wick_part_size(count, me, ranks);
    float *at = s->parts;
    tree_block own[BLOCKS_MAX];
    const int n_own = wick_tree_blocks(s->first, s->end, own);
    for (int r = 0; r < ranks; r++) {
        const int more = wick_tree_blocks(wick_group_first(g, s->leaves, r), wick_group_first(g, s->leaves, r + 1),
                                          l->blocks + l->n);
        for (int i = 0; i < more; i++, l->n++) {
            l->vectors[l->n] = r == me ? s->vectors[i] + range.begin + wick_part_begin(count, me, ranks) : at;
            if (r == me || !size) continue;
            l->in[l->n_in++] = (wick_parcel){r, at, size * sizeof *at};
            at += size;
        }
    }
    for (int k = 1; k < ranks; k++) { /* beginning with the next rank: not all with the first */
        const int to = (me + k) % ranks;
        const size_t theirs = wick_part_size(count, to, ranks);
        for (int i = 0; i < n_own && theirs; i++)
            l->out[l->n_out++] = (wick_parcel){to, s->vectors[i] + range.begin + wick_part_begin(count, to, ranks),
                                               theirs * sizeof(float)};
    }
}

/* This rank's part of a range's sum goes to all, theirs come in. */
static void list_sums(wick_group *g, wick_range range, float *sum, sum_lists *l) {
    const int me = g->wire.rank, ranks = g->wire.size;
    const size_t count = range.end - range.begin, mine = wick_part_size(count, me, ranks);
    float *part = sum + range.begin + wick_part_begin(count, me, ranks);
    for (int k = 1; k < ranks; k++) {
        const int r = (me + k) % ranks;
        const size_t size = wick_part_size(count, r, ranks);
        if (mine) l->out[l->n_out++] = (wick_parcel){r, part, mine * sizeof(float)};
        if (size)
            l->in[l->n_in++] =
                (wick_parcel){r, sum + range.begin + wick_part_begin(count, r, ranks), size * sizeof(float)};
    }
}

wick_status wick_group_sum_round(wick_group *g, wick_pool *pool, wick_range summed, wick_range range, float *sum) {
    sum_lists l = empty_lists(g);
    const int me = g->wire.rank, ranks = g->wire.size;
    const size_t count = range.end - range.begin;
    list_sums(g, summed, sum, &l);
    if (count) list_parts(g, range, &l);
    g->patient = !pool; /* a courier's: the rank's own thread has the processor */
    const wick_status status =
        wick_group_exchange(g, count ? WICK_GROUP_SUM : WICK_GROUP_COLLECT, l.n_out, l.out, l.n_in, l.in);
    g->patient = false;
    if (status == WICK_OK && count)
        wick_tree_sum(pool, l.n, l.blocks, l.vectors, sum + range.begin + wick_part_begin(count, me, ranks),
                      wick_part_size(count, me, ranks));
    return status;
}

wick_status wick_group_sum_complete(wick_group *g, const char *call) {
    group_sum *s = &g->sum;
    if (!s->begun) return wick_group_fail(g, WICK_ERR_INVALID, "%s: no sum was begun", call);
    if (s->count == 0) s->leaf = s->end; /* vectors of nothing need not be added */
    if (s->leaf < s->end)
        return wick_group_fail(g, WICK_ERR_INVALID, "%s: leaf %d of rank %d's %d to %d was not added%s", call, s->leaf,
                               g->wire.rank, s->first, s->end - 1, s->filled ? " as a whole" : "");
    s->begun = false;
    return WICK_OK;
}

wick_status wick_group_finish(wick_group *g, float *sum) {
    group_sum *s = &g->sum;
    WICK_TRY(wick_group_usable(g));
    if (s->begun && !sum && s->count) return wick_group_fail(g, WICK_ERR_INVALID, "group_finish: sum is NULL");
    WICK_TRY(wick_group_sum_complete(g, "group_finish"));
    if (s->flat) return wick_group_fast_finish(g, sum);
    if (g->wire.size > 1 && !s->pieced) {
        const wick_range all = {0, s->count}, nothing = {0};
        WICK_TRY(wick_group_sum_round(g, g->ctx->pool, nothing, all, sum));
        return wick_group_sum_round(g, g->ctx->pool, all, nothing, sum);
    }
    if (g->wire.size > 1) WICK_TRY(wick_group_finish_pieces(g));
    if (s->count) memcpy(sum, s->vectors[0], s->count * sizeof *sum);
    return WICK_OK;
}
