/* leaf_pieces.h: sums that travel while the last leaf of a rank computes its gradients (--sums early). The vector of a
 * leaf (leaves.h) is cut into pieces, from the last gradients, which the backward pass has first, to the first ones,
 * and what is behind the gradients; a piece goes when the plan has written all of it. */
#ifndef WICK_CLI_LEAF_PIECES_H
#define WICK_CLI_LEAF_PIECES_H

#include "../step.h"

#include "wick/dist.h"

struct trainer;
struct leaf_cut;

enum { LEAF_PIECES_MOST = 32 };

typedef struct leaf_pieces {
    bool on;
    int n, added; /* pieces; of the leaf under way */
    int *left;    /* [n - 1]: gradients of each that the plan has not written */
    int *whole;   /* [n - 1]: how many there are */
    int *of;      /* [gradients]: the piece of each */
    int n_gradients, leaf;
    int64_t *at; /* [gradients + 1]: where each begins in the vector */
    void **outputs;
    wick_status status; /* of adding a piece */
} leaf_pieces;

/* As leaves_new; after the plans of leaves and the vector were made. All ranks cut as rank 0 does. */
wick_status leaf_pieces_new(struct trainer *t);
void leaf_pieces_free(leaf_pieces *p);
/* The outputs of a leaf's plan, into its vector. */
void *const *leaf_pieces_outputs(struct leaf_cut *v, int64_t *correct);
/* A run of the plan adds pieces of that leaf as they are written, if it is this rank's last; -1: no more. */
void leaf_pieces_watch(struct leaf_cut *v, const step *plan, int leaf);
/* In place of wick_group_add: what was not added while it ran. */
wick_status leaf_pieces_add(struct leaf_cut *v, int leaf);

#endif
