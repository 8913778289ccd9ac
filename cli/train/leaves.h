/* leaves.h: a step whose batch is cut into leaves (--leaves V). Each leaf runs the same plan on its own samples, which
 * gives gradients and changes nothing; one vector for each is summed along one binary tree over all leaves
 * (wick/dist.h); one more plan updates the weights from the sum. So the bits of a step depend on V, and not on which
 * rank ran which leaf. What one rank meets is in the sum, so all of them do the same.
 *
 * A batch of B samples has leaves of B / V. The last batch of an epoch, if it is smaller, fills leaves in order: full
 * ones, one of the rest, and empty ones. A leaf draws random numbers at offset step V + leaf. What a leaf adds to the
 * sum, f32 and in this order:
 *
 *   gradients   of all parameters, in the model's order, each row-major: of the leaf's mean loss; of an empty leaf 0
 *   buffers     the model's BUFFER states after the leaf, divided by V: every leaf starts from those before the step
 *   loss        of the leaf, a mean; of an empty leaf 0
 *   correct     samples whose class was found
 *   not finite  1 where the loss was NaN or Inf, else 0
 *   failed      1 where the leaf could not be run for another reason, else 0
 *   stop        1 in a rank's first leaf where that process was asked to stop, else 0
 *
 * Gradients and loss of the leaf of the rest count as much less as it has fewer samples than the first one. */
#ifndef WICK_CLI_LEAVES_H
#define WICK_CLI_LEAVES_H

#include "../step.h"
#include "leaf_pieces.h"
#include "leaf_shares.h"

#include "shards.h"

struct trainer;
struct trainer_loss;
struct trainer_result;

enum { LEAF_LOSS, LEAF_CORRECT, LEAF_NOT_FINITE, LEAF_FAILED, LEAF_STOP, LEAF_EXTRAS }; /* behind the buffers */

typedef struct leaf_cut {
    wick_group *group;  /* who runs them */
    bool fast;          /* not along the tree, but over this wire */
    wick_wire_type wire;
    int powersgd;       /* columns, where the wire is that */
    int64_t n;          /* in a batch, a power of two; 0: batches are not cut */
    int first, end;     /* those that this rank runs */
    int64_t size, rest; /* samples of a leaf, and of the one behind the last full one of an epoch; 0: none */
    shards shards;      /* of the update, where it is dealt out */
    step update;        /* the plan of the update; those of the gradients are the trainer's steps */
    int64_t gradients, buffers, count; /* numbers in a vector: of parameters, of buffers, in all */
    size_t row[2];                     /* bytes of a sample and of its label */
    float *vector, *sum;
    float *before;   /* the buffers, as they were before the step */
    leaf_shares shares; /* first and end move by it */
    bool stop;       /* some rank was asked to stop, and all of them know after the same step */
    bool elsewhere;  /* what failed did so on other ranks alone */
    leaf_pieces pieces; /* of the sum, which travel while the rest is computed */
    char error[512]; /* of the first leaf that failed, or of leaves_new */
} leaf_cut;

/* How batches are cut, and which leaves are this rank's. Before the loader is made. As leaves_new. */
wick_status leaves_cut(struct trainer *t, const struct trainer_loss *how);
/* The loader makes the samples of those alone. */
void leaves_part(const leaf_cut *v, wick_loader_options *loading);
/* Which of a batch of n samples are this rank's. */
void leaves_samples(const leaf_cut *v, int64_t n, int64_t *first, int64_t *end);
/* Compiles the plans. After the optimizer and the loader were made. Statuses; v->error has the text, or where it is
 * empty the context. */
wick_status leaves_new(struct trainer *t);
void leaves_free(leaf_cut *v);
/* How many outputs the plan of a leaf has beyond these: its gradients. */
int leaves_outputs(const struct trainer *t);
/* The end of the recording of a leaf: of out[0], its loss, and out[1]. `last`: of the leaf of the rest. */
wick_status leaves_record(const struct trainer *t, bool last, wick_tensor **out);
/* For shards.c: the buffers become numbers `at` and behind of a vector. */
wick_status leaves_assign_buffers(const struct trainer *t, wick_tensor *vector, int64_t at);
/* As trainer_step. */
wick_status leaves_step(struct trainer *t, int64_t number, int64_t n, struct trainer_result *result,
                        const char **error);
/* Runs this rank's leaves of a step with other plans, of a full leaf and of the rest, until one fails. */
wick_status leaves_replay(struct trainer *t, step plans[2], int64_t number, int64_t n, const char **error);

#endif
