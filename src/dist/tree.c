/* tree.c: the binary tree that vectors are summed along. Its shape depends on the number of leaves alone; who holds
 * which subtree only decides where its additions are done. */
#include "dist/group.h"

enum {
    TILE = 512,    /* floats that go through all of the tree's additions while they are in the first cache */
    TASK = 1 << 15 /* floats of a task of the pool: enough to be worth a thread */
};

int wick_tree_blocks(int first, int end, tree_block blocks[BLOCKS_MAX]) {
    int n = 0;
    while (first < end) {
        int size = 1;
        while (first % (2 * size) == 0 && first + 2 * size <= end) size *= 2;
        blocks[n++] = (tree_block){first, size};
        first += size;
    }
    return n;
}

static bool are_siblings(const tree_block *a, const tree_block *b) {
    return a->size == b->size && a->first % (2 * a->size) == 0 && a->first + a->size == b->first;
}

static void add(float *out, const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}

/* One tile: subtrees wait on a stack until their sibling is there. */
static void sum_tile(int n, const tree_block *blocks, const float *const *vectors, size_t at, float *out,
                     size_t count) {
    float tiles[TREE_DEPTH_MAX + 1][TILE];
    tree_block stack[TREE_DEPTH_MAX + 1];
    const float *values[TREE_DEPTH_MAX + 1];
    int depth = 0;
    for (int i = 0; i < n; i++) {
        stack[depth] = blocks[i];
        values[depth++] = vectors[i] + at;
        for (; depth > 1 && are_siblings(&stack[depth - 2], &stack[depth - 1]); depth--) {
            float *to = depth == 2 && i == n - 1 ? out + at : tiles[depth - 2];
            add(to, values[depth - 2], values[depth - 1], count);
            values[depth - 2] = to;
            stack[depth - 2].size *= 2;
        }
    }
    if (n == 1 && out + at != values[0]) memcpy(out + at, values[0], count * sizeof *out);
}

typedef struct sum_task {
    int n;
    const tree_block *blocks;
    const float *const *vectors;
    float *out;
    size_t count;
} sum_task;

static void run_task(void *arg, int64_t task, int worker) {
    (void)worker;
    const sum_task *t = arg;
    const size_t from = (size_t)task * TASK, to = WICK_MIN(from + TASK, t->count);
    for (size_t at = from; at < to; at += TILE)
        sum_tile(t->n, t->blocks, t->vectors, at, t->out, WICK_MIN((size_t)TILE, to - at));
}

void wick_tree_sum(wick_pool *pool, int n, const tree_block *blocks, const float *const *vectors, float *out,
                   size_t count) {
    sum_task t = {n, blocks, vectors, out, count};
    const uint64_t word = wick_fp_enter();
    const int64_t tasks = (int64_t)((count + TASK - 1) / TASK);
    for (int64_t i = 0; !pool && i < tasks; i++) run_task(&t, i, 0);
    if (pool) wick_pool_run(pool, run_task, &t, tasks);
    wick_fp_restore(word);
}
