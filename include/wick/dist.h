/* wick/dist.h: a group of ranks: processes that train one model together, each with a part of every batch.
 *
 *   wick_group_open(ctx, NULL, &group);
 *   wick_group_leaves(group, 16, &first, &end);
 *   for (...) {
 *       wick_group_begin(group, 16, count);
 *       for (int leaf = first; leaf < end; leaf++) {
 *           ... gradients of that part of the batch ...
 *           wick_group_add(group, leaf, gradients);
 *       }
 *       wick_group_finish(group, sum);      // the same bits on every rank, with any number of ranks
 *   }
 *
 * A batch has V leaves, a power of two, and rank r of R computes leaves V r / R to V (r + 1) / R. The sum is that of
 * one binary tree over all V leaves, whoever computed them: so its bits do not depend on R. docs/cluster.md has the
 * transports, and how ranks are started. */
#ifndef WICK_DIST_H
#define WICK_DIST_H

#include "wick/context.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wick_group wick_group;
typedef struct wick_group_host wick_group_host;

enum { WICK_RANKS_MAX = 4096, WICK_LEAVES_MAX = 1 << 16 };

typedef struct wick_group_options {
    /* seconds without a byte from a rank that is waited for, after which it is taken for hung. 0: WICK_GROUP_TIMEOUT of
     * the environment, or 60 */
    double timeout;
    /* the same while the group opens, which waits for the last rank to start. 0: WICK_GROUP_START_TIMEOUT, or 300 */
    double start_timeout;
    const wick_group_host *host; /* this rank's seat is in this very process: a rank is a thread. NULL: see open */
    int rank;                    /* with host */
} wick_group_options;

/* Joins the group that this process was started for, and waits until all of its ranks have:
 *
 *   1. options->host
 *   2. WICK_RANK and WICK_RANKS of the environment, as `wick launch` sets them: ranks of this machine
 *   3. OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK or SLURM_PROCID, as mpirun and srun set them, where there is more than
 *      one rank: the MPI library is opened; WICK_MPI names its file where the right one isn't found
 *   4. else a group of one rank
 *
 * Ranks must have the same version of Wick and the same numerics (wick_context_numerics), on which bits depend. options
 * may be NULL. The context has the error, and must outlive the group. WICK_ERR_INVALID (the environment contradicts
 * itself), WICK_ERR_UNSUPPORTED (no MPI library, or one of another kind), WICK_ERR_MISMATCH (ranks differ),
 * WICK_ERR_DEADLINE (a rank did not come), WICK_ERR_IO (a rank is gone), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_group_open(wick_context *ctx, const wick_group_options *options,
                                                     wick_group **out);
/* Leaves the group: whoever waits for this rank afterwards gets an error that names it. Null-safe, nulls. */
WICK_API void wick_group_close(wick_group **group);
WICK_API int wick_group_rank(const wick_group *group); /* from 0 */
WICK_API int wick_group_size(const wick_group *group); /* how many ranks */
/* What carries its bytes: "none" (a group of one), "local", "Open MPI", "MPICH", "MPI"; static. */
WICK_API const char *wick_group_transport(const wick_group *group);
/* Bytes of messages that this rank has sent so far. What MPI sends for a sum of its own (WICK_WIRE_F32) isn't known to
 * Wick, and not in it. */
WICK_API uint64_t wick_group_sent(const wick_group *group);
/* Of the last call that failed; "" before. */
WICK_API const char *wick_group_error(const wick_group *group);

/* ---- what all ranks call in the same order ----------------------------------------------------------------------
 *
 * A rank that calls another function than the rest, or the same with other sizes, is an error on those that it meets.
 * No call waits for ever. WICK_ERR_DEADLINE: a rank did not answer in time; WICK_ERR_IO: a rank is gone; both name it.
 * WICK_ERR_MISMATCH: ranks are not at the same call. After any of them the group is broken: all later calls fail with
 * the same text, on this rank, and on the others as soon as they wait for it. WICK_ERR_INVALID and WICK_ERR_NOMEM break
 * nothing. A group is used by one thread at a time. */

/* The leaves of this rank: *first to *end - 1 of `leaves`, which is a power of two, at most WICK_LEAVES_MAX and not
 * below the number of ranks: else WICK_ERR_INVALID. Needs no other rank. */
WICK_API WICK_MUST_CHECK wick_status wick_group_leaves(wick_group *group, int leaves, int *first, int *end);

/* A sum of `leaves` vectors of count floats begins; of one that was not finished nothing remains. Takes the memory that
 * it needs, for at most 2 log2(leaves) + 1 vectors, and keeps it for the next sum. Needs no other rank, but
 * where pieces of the one before are under way: they end first. */
WICK_API WICK_MUST_CHECK wick_status wick_group_begin(wick_group *group, int leaves, size_t count);
/* The vector of a leaf of this rank, in ascending order of leaves. Read, not kept. Needs no other rank. */
WICK_API WICK_MUST_CHECK wick_status wick_group_add(wick_group *group, int leaf, const float *vector);
/* The same in pieces: the next n floats of that leaf's vector. Pieces may be of any size, other ones in each leaf; the
 * leaf is whole when there were count floats. */
WICK_API WICK_MUST_CHECK wick_status wick_group_add_part(wick_group *group, int leaf, const float *part, size_t n);
/* The sum of all leaves' vectors, the same bits on every rank: node (lo, hi) of the tree is node (lo, mid) + node (mid,
 * hi), one rounding of f32 each, subnormal numbers flushed to zero as in kernels. Of a NaN only that it is one is the
 * same. Each rank sums one of `ranks` parts of the vector and gathers the others: 2 (ranks - 1) / ranks x count floats
 * are sent by each rank, and more where leaves / ranks is no whole number. WICK_ERR_INVALID: leaves of this rank are
 * missing. */
WICK_API WICK_MUST_CHECK wick_status wick_group_finish(wick_group *group, float *sum);

/* A range of a vector's elements; end is past its last. */
typedef struct wick_range {
    size_t begin, end;
} wick_range;

/* Sums that travel while they are computed: the sums to come of as many floats as n pieces have together, which follow
 * each other in any order and leave nothing out, are exchanged piece by piece. A piece is under way as soon as it was
 * added of this rank's last leaf, by a thread of the group; wick_group_finish waits for the rest. Sums have the same
 * bits and as many bytes as else, in one exchange more for each piece but the first. Where others began MPI for one
 * thread alone (below MPI_THREAD_SERIALIZED), pieces go when the sum is finished. Sums without the promise
 * (wick_group_set_fast) are as else. n 0: no pieces, as at first. A call of all ranks, with the same pieces; it ends
 * the sum that was begun. While pieces are under way calls with a status but wick_group_add_piece wait for them;
 * wick_group_sent and wick_group_error are not for that time. WICK_ERR_INVALID (pieces that overlap, are empty, or
 * leave something out), WICK_ERR_MISMATCH (ranks gave others; pieces are as before), WICK_ERR_NOMEM. */
enum { WICK_PIECES_MAX = 1024 };
WICK_API WICK_MUST_CHECK wick_status wick_group_set_pieces(wick_group *group, int n, const wick_range *pieces);
/* The next piece, in their order, of that leaf's vector, which begins at `vector`: of it, only the piece is read. After
 * the last one the leaf is whole. A rank's last leaf is added so, or by wick_group_add; others in any way. What goes
 * wrong with a piece that is under way, a later call says, wick_group_finish at the latest. WICK_ERR_INVALID: leaf, or
 * a sum that has no pieces. */
WICK_API WICK_MUST_CHECK wick_status wick_group_add_piece(wick_group *group, int leaf, const float *vector);

/* As wick_group_finish, but each rank gets n ranges of the sum alone, with the same bits (reduce-scatter): rank r those
 * at ranges[r * n] and behind, which may overlap others, or be empty. All ranks give the same ranges. `sum` gets this
 * rank's, one behind another. Ranks send what others get, and no more: of n equal parts (ranks - 1) / ranks x count
 * floats each. WICK_ERR_INVALID: a range that is not in the vector; WICK_ERR_UNSUPPORTED: a sum without the promise
 * (wick_group_set_fast), or by pieces; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_group_finish_parts(wick_group *group, int n, const wick_range *ranges,
                                                             float *sum);
/* Parts of all ranks, of any sizes, to rank `root`, or with root -1 to all (all-gather): `all` gets rank r's at bytes
 * begin[r] to begin[r + 1] - 1; mine may be this rank's place there. begin has ranks + 1 numbers, and is the same on
 * all ranks, as root is. `all` is not written on other ranks than the root, and may be NULL there. WICK_ERR_INVALID: a
 * root that is no rank, a part that ends before it begins; WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_group_collect(wick_group *group, int root, const size_t *begin,
                                                        const void *mine, void *all);

/* ---- sums without the promise ------------------------------------------------------------------------------------
 *
 * For speed: bits that depend on the number of ranks and on the transport, which the numerics key of the context says
 * (wick_context_numerics ends in ";sum=fast;wire=bf16;ranks=3;over=local" until the group is closed). All ranks still
 * get the same bits. A rank adds its leaves in their order into one vector, instead of log2(leaves), and one vector of
 * each rank is summed. */

typedef enum wick_wire_type {
    WICK_WIRE_F32, /* by the transport's all-reduce (of MPI: MPI_Iallreduce), else in the order of ranks */
    WICK_WIRE_BF16, /* half the bytes: vectors, and their sums, are rounded to nearest even before they are sent; they
                       are summed in f32. What rounding took away is added to the next vector (error feedback) */
    /* matrices of the vector as products of two of few columns (PowerSGD: Vogels, Karimireddy, Jaggi, NeurIPS 2019):
     * rank (rows + cols) floats of each in place of rows x cols; all else in f32. What is lost is added to the next
     * vector, and the factors begin with those of the sum before */
    WICK_WIRE_POWERSGD
} wick_wire_type;

/* A row-major matrix in a vector, from float `begin` on. */
typedef struct wick_group_matrix {
    size_t begin;
    int64_t rows, cols;
} wick_group_matrix;
enum { WICK_POWERSGD_RANK_MAX = 64 };

typedef struct wick_group_fast {
    wick_wire_type wire;
    size_t exact; /* so many floats at the end of each vector go in f32 whatever the wire is: counts, flags */
    /* of powersgd, which doesn't ask for `exact`: columns, 1 to WICK_POWERSGD_RANK_MAX, and matrices in ascending
     * order, none in another; they are copied. A matrix of fewer rows or columns has as many columns of its factors */
    int rank, n_matrices;
    const wick_group_matrix *matrices;
} wick_group_fast;

/* How all sums to come are made; options NULL: along the tree again. A call of all ranks, with the same options. With a
 * wire of bf16 a rank keeps two vectors more, of 4 and of 2 bytes a float; one of them has what was lost, which is
 * nothing at first, and again after a sum of another count; with powersgd it is 4 bytes a float of matrices and the
 * factors. Sums of a shorter vector than the matrices need are WICK_ERR_INVALID. WICK_ERR_MISMATCH: ranks ask for
 * different modes; WICK_ERR_INVALID (wire, rank, matrices), WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_group_set_fast(wick_group *group, const wick_group_fast *options);

/* Which leaves are whose. Rank r has leaves first[r] to first[r + 1] - 1 of the sums of so many leaves that begin from
 * now on: first has ranks + 1 numbers, from 0 to `leaves`, each above the one before. NULL: even shares, as at first.
 * Sums of another number of leaves have even shares. A sum that is under way is dropped. All ranks call it with the
 * same numbers, which is checked. Sums have the same bits. WICK_ERR_INVALID: no such shares; WICK_ERR_MISMATCH: ranks
 * gave others, and shares are as before. */
WICK_API WICK_MUST_CHECK wick_status wick_group_set_shares(wick_group *group, int leaves, const int *first);
/* The shares of sums of so many leaves: first has room for ranks + 1 numbers. Needs no other rank. */
WICK_API WICK_MUST_CHECK wick_status wick_group_shares(wick_group *group, int leaves, int *first);

typedef struct wick_share_options {
    int steps;   /* from look to look; 0: 8 */
    double gain; /* leaves move where the slowest rank then takes less by such a part or more; 0: 0.05 */
    double keep; /* how much what was known counts in a look, beside what is new, below 1; 0: 0.5 */
} wick_share_options;
typedef struct wick_share_report {
    int moved;           /* leaves that have another rank now; 0: none, as in most steps */
    int slowest, fastest; /* ranks that take most and least seconds for a leaf */
    /* [ranks]: seconds of each rank for a leaf; 0: not known. The group's; until the next call */
    const double *seconds;
} wick_share_report;
/* Shares that follow how fast ranks are. After each step all ranks call it, with the seconds that the leaves of this
 * rank took, without waiting for others; not after a step some of whose leaves had less work. Seconds per leaf are an
 * exponentially weighted mean over looks; the first step, in which much is slower, is left out. In a look ranks tell
 * each other 16 bytes; then leaves move as a whole by wick_group_set_shares, where the slowest rank's leaves are
 * expected to take less by options->gain: to the shares with which the longest of all ranks is the shortest. Each rank
 * keeps a leaf. options may be NULL, and are the same on all ranks. WICK_ERR_INVALID: seconds below 0 or NaN, options;
 * WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_group_balance(wick_group *group, int leaves, double seconds,
                                                        const wick_share_options *options, wick_share_report *report);

/* The bytes of rank `root` to all. */
WICK_API WICK_MUST_CHECK wick_status wick_group_broadcast(wick_group *group, int root, void *data, size_t size);
/* `size` bytes of every rank, to all: `all` has room for ranks x size bytes, and gets them in the order of ranks. */
WICK_API WICK_MUST_CHECK wick_status wick_group_gather(wick_group *group, const void *mine, size_t size, void *all);
/* How many ns CLOCK_MONOTONIC of this rank is ahead of that of rank 0, and by how many that may be wrong at most: as
 * NTP does by the times of eight messages each way. 0 where it may be 0, as on one machine. Clocks of machines drift
 * apart by some us a second. error may be NULL. */
WICK_API WICK_MUST_CHECK wick_status wick_group_clock(wick_group *group, int64_t *ahead, int64_t *error);
/* Returns when all ranks have called it. */
WICK_API WICK_MUST_CHECK wick_status wick_group_barrier(wick_group *group);
/* That all ranks have the same bytes here, by a hash of 128 bits; bytes that are text of up to 63 characters are shown
 * in the error. WICK_ERR_MISMATCH on all ranks: "batch differs: 32 on rank 0, 64 on ranks 1 to 3". The group stays
 * whole. */
WICK_API WICK_MUST_CHECK wick_status wick_group_agree(wick_group *group, const char *field, const void *data,
                                                      size_t size);

/* ---- starting ranks on this machine ------------------------------------------------------------------------------
 *
 * What `wick launch` does, for programs that start their ranks themselves:
 *
 *   wick_group_host_new(ctx, ranks, &host);
 *   for (int rank = 0; rank < ranks; rank++)
 *       if ((pid[rank] = fork()) == 0) {
 *           if (wick_group_host_enter(host, rank) == WICK_OK) execvp(...);   // or wick_group_open
 *           _exit(127);
 *       }
 *   wick_group_host_free(&host);      // or nobody would see that a rank is gone
 */

/* Shared memory for what ranks send each other, 64 MiB at most, and a pipe for each rank by which the others see that
 * it is gone: two descriptors for each, closed on exec but in a seat that was entered. WICK_ERR_INVALID (ranks),
 * WICK_ERR_NOMEM, WICK_ERR_IO (descriptors, or memory that the system refused), WICK_ERR_UNSUPPORTED (not Linux). */
WICK_API WICK_MUST_CHECK wick_status wick_group_host_new(wick_context *ctx, int ranks, wick_group_host **out);
/* In a new process, a fork of the host's: sets WICK_RANK, WICK_RANKS and WICK_GROUP_FDS, and keeps the descriptors of
 * that rank alone, for wick_group_open of this process or of the program that it becomes. After that the host can only
 * be freed. WICK_ERR_INVALID (rank), WICK_ERR_IO, WICK_ERR_NOMEM. */
WICK_API WICK_MUST_CHECK wick_status wick_group_host_enter(wick_group_host *host, int rank);
WICK_API void wick_group_host_free(wick_group_host **host); /* null-safe, nulls */

#ifdef __cplusplus
}
#endif
#endif
