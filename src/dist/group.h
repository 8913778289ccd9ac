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
    bool begun, flat; /* flat: no tree: one vector gets all leaves (fast.c) */
    int leaves, first, end; /* of all ranks; of this one */
    size_t count;
    int leaf;                     /* the next one of this rank */
    size_t filled;                /* elements of it that were added */
    tree_block stack[BLOCKS_MAX]; /* subtrees that are whole, or are being filled, in ascending order */
    float *vectors[BLOCKS_MAX];   /* of them; those behind n are free */
    int n, merges;                /* the leaf under way merges with that many of the stack */
    size_t vector_bytes;          /* of each */
    int n_vectors;
    bool pieced; /* it goes by the group's pieces */
    int piece;   /* of the leaf under way, the next one */
    float *parts; /* what others have of this rank's part of the vector */
    size_t parts_bytes;
    wick_parcel *parcels;
    size_t parcels_bytes;
} group_sum;

/* What wick_group_set_fast asked for (fast.c). */
typedef struct group_fast {
    bool on;
    wick_wire_type wire;
    size_t exact;    /* floats at the end of a vector that go in f32 */
    float *lost;     /* bf16: what rounding took away, of as many floats as go in bf16 */
    uint16_t *words; /* those floats in bf16 */
    size_t lost_bytes, words_bytes;
    /* powersgd (low_rank.c): of so many columns; P and what is in no matrix, Q, and the next Q, behind each other */
    int rank, n_matrices;
    wick_group_matrix *matrices;
    float *factors;
    size_t factors_bytes, first, q, planned; /* floats of the first and of Q; the vector's, 0: there is no memory */
    uint64_t sums;
    size_t key; /* 1 + the length of the context's numerics key without this; 0: it was never changed */
} group_fast;
/* Who computes which leaves, and how fast (shares.c). */
typedef struct rank_speed {
    double seconds, leaves;
} rank_speed;
typedef struct group_shares {
    int leaves;                /* of so many; 0: shares are even */
    int *first, *next;         /* [size + 1]: rank r has leaves first[r] to first[r + 1] - 1; and what may follow */
    int *now;                  /* [size + 1]: the shares that a look finds, which are even where first has none */
    rank_speed *speeds, *told; /* [size]: what is known of each rank; what it told in a look */
    double *leaf;              /* [size]: seconds for one leaf; 0: not known */
    rank_speed own;            /* of this rank, since the last look */
    int steps;                 /* since then */
    bool begun;                /* the first step is over */
} group_shares;

/* What wick_group_set_pieces asked for (pieces.c). */
typedef struct group_pieces {
    int n; /* 0: sums are exchanged when they are finished */
    wick_range *list;
    size_t count; /* of all together */
    struct courier *courier; /* NULL: none was needed */
} group_pieces;

struct wick_group {
    wick_context *ctx;
    wick_wire wire; /* transport NULL: a group of one */
    double timeout, start_timeout;
    uint32_t sequence;
    uint64_t sent; /* bytes */
    bool opening, broken;
    bool patient; /* of the exchange under way */
    wick_msg msg;
    group_sum sum;
    group_fast fast;
    group_shares shares;
    group_pieces pieces;
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
/* out[i] = the sum over the tree of the vectors of n blocks that follow each other and make up one complete subtree. No
 * result is in the way of an operand but the same element of it. pool NULL: by this thread alone. */
void wick_tree_sum(wick_pool *pool, int n, const tree_block *blocks, const float *const *vectors, float *out,
                   size_t count);
void wick_group_sum_free(wick_group *g);
/* That all leaves of this rank were added; the sum that was begun is done with. */
wick_status wick_group_sum_complete(wick_group *g, const char *call);
/* At least so many bytes of the sum's `parts` and `parcels`; what was in them is gone. */
bool wick_group_sum_room(wick_group *g, size_t parts, size_t parcels);

/* One exchange: the parts of a range's sum, which ranks have, go to all; and of another range each gets its part of all
 * subtrees, and sums it. Either may be empty. Sums are at their places in `sum`, which may be this rank's first vector.
 * pool NULL: by this thread alone. */
wick_status wick_group_sum_round(wick_group *g, wick_pool *pool, wick_range summed, wick_range range, float *sum);

/* pieces.c: piece k of this rank's subtrees is whole; it travels from now on, or when the sum is finished. */
void wick_group_send_piece(wick_group *g, int k);
/* Until all pieces that were sent are sums; none is under way then. */
void wick_group_await_pieces(wick_group *g);
/* A sum begins: none was sent. */
void wick_group_forget_pieces(wick_group *g);
/* Whether pieces are under way: only they may use the group then. */
bool wick_group_pieces_travel(const wick_group *g);
/* Those of a sum, into the first vector. */
wick_status wick_group_finish_pieces(wick_group *g);
void wick_group_pieces_free(wick_group *g);

enum { PART_ALIGN = 16 /* floats: parts begin at cache lines */ };
/* Where rank r's part of a vector of count floats begins. */
static inline size_t wick_part_begin(size_t count, int r, int ranks) {
    const size_t lines = (count + PART_ALIGN - 1) / PART_ALIGN, n = (size_t)ranks, at = (size_t)r;
    return WICK_MIN((lines / n * at + lines % n * at / n) * PART_ALIGN, count);
}
static inline size_t wick_part_size(size_t count, int r, int ranks) {
    return wick_part_begin(count, r + 1, ranks) - wick_part_begin(count, r, ranks);
}

/* fast.c, of a sum that is flat: its memory beside one vector; and from that vector to all ranks' sum. */
bool wick_group_fast_memory(wick_group *g);
wick_status wick_group_fast_finish(wick_group *g, float *sum);
void wick_group_fast_free(wick_group *g);
/* By parts, the same bits on all ranks; there is room in the sum's `parts` and `parcels`. */
wick_status wick_group_sum_floats(wick_group *g, float *values, size_t count);
/* low_rank.c, of the wire powersgd: options; memory of a sum that begins; its first vector becomes the sum of all. */
wick_status wick_group_low_rank_check(wick_group *g, const wick_group_fast *options);
bool wick_group_low_rank_fits(const wick_group *g, size_t count); /* matrices in a vector of so many floats */
bool wick_group_low_rank_memory(wick_group *g);
wick_status wick_group_low_rank_finish(wick_group *g);
void wick_group_low_rank_free(wick_group *g);
wick_status wick_group_check_leaves(wick_group *g, const char *call, int leaves);
/* The first leaf of a rank; of rank `size`, their number. */
static inline int wick_group_first(const wick_group *g, int leaves, int rank) {
    return g->shares.leaves == leaves ? g->shares.first[rank] : (int)((int64_t)leaves * rank / g->wire.size);
}
void wick_group_shares_free(wick_group *g);

#endif
