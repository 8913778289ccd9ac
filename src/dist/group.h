/* group.h: what the files of a group share. */
#ifndef WICK_DIST_GROUP_H
#define WICK_DIST_GROUP_H

#include "wick/dist.h"

#include "dist/transport.h"
#include "tensor/tensor.h"

typedef enum wick_group_op {
    WICK_GROUP_OPEN = 1,
    WICK_GROUP_SUM,
    WICK_GROUP_COLLECT, /* the second half of a sum: its parts to all */
    WICK_GROUP_PARTS,
    WICK_GROUP_PARTS_COLLECT,
    WICK_GROUP_BROADCAST,
    WICK_GROUP_GATHER,
    WICK_GROUP_BARRIER,
    WICK_GROUP_AGREE,
    WICK_GROUP_OPS
} wick_group_op;

enum { TREE_DEPTH_MAX = 17 /* of WICK_LEAVES_MAX leaves, the root too */, BLOCKS_MAX = 2 * TREE_DEPTH_MAX };

/* A complete subtree: the leaves first to first + size - 1, where size is a power of two that divides first. */
typedef struct tree_block {
    int first, size;
} tree_block;

/* The sum that is being made (sum.c). */
typedef struct group_sum {
    bool begun;
    int leaves, first, end; /* of all ranks; of this one */
    size_t count;
    int leaf;                     /* the next one of this rank */
    size_t filled;                /* elements of it that were added */
    tree_block stack[BLOCKS_MAX]; /* subtrees that are whole, or are being filled, in ascending order */
    float *vectors[BLOCKS_MAX];   /* of them; those behind n are free */
    int n, merges;                /* the leaf under way merges with that many of the stack */
    size_t vector_bytes;          /* of each */
    int n_vectors;
    float *parts; /* what others have of this rank's part of the vector */
    size_t parts_bytes;
    wick_parcel *parcels;
    size_t parcels_bytes;
} group_sum;

struct wick_group {
    wick_context *ctx;
    wick_wire wire; /* transport NULL: a group of one */
    double timeout, start_timeout;
    uint32_t sequence;
    bool opening, broken;
    wick_msg msg;
    group_sum sum;
};

/* Sets the group's error. */
wick_status wick_group_fail(wick_group *g, wick_status status, const char *fmt, ...) WICK_PRINTF(3, 4);
/* One exchange; what fails breaks the group. */
wick_status wick_group_exchange(wick_group *g, wick_group_op op, int n_out, const wick_parcel *out, int n_in,
                                const wick_parcel *in);
/* WICK_OK, or the error that broke the group, again. */
wick_status wick_group_usable(wick_group *g);

/* The complete subtrees that leaves first to end - 1 are made of, the fewest, in ascending order: at most
 * 2 log2(leaves). */
int wick_tree_blocks(int first, int end, tree_block blocks[BLOCKS_MAX]);
static inline int wick_tree_first(int leaves, int rank, int ranks) { return (int)((int64_t)leaves * rank / ranks); }
/* out[i] = the sum over the tree of the vectors of n blocks that follow each other and make up one complete subtree. No
 * result is in the way of an operand but the same element of it. */
void wick_tree_sum(wick_pool *pool, int n, const tree_block *blocks, const float *const *vectors, float *out,
                   size_t count);
void wick_group_sum_free(wick_group *g);
/* That all leaves of this rank were added; the sum that was begun is done with. */
wick_status wick_group_sum_complete(wick_group *g, const char *call);
/* At least so many bytes of the sum's `parts` and `parcels`; what was in them is gone. */
bool wick_group_sum_room(wick_group *g, size_t parts, size_t parcels);

#endif
