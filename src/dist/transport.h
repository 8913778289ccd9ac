/* transport.h: what carries bytes between the ranks of a group. Everything that a group does (sum, broadcast, gather)
 * is made of exchanges: messages that go out and messages that come in, all under way at once. */
#ifndef WICK_DIST_TRANSPORT_H
#define WICK_DIST_TRANSPORT_H

#include "base/base.h"
#include "wick/dist.h"

/* One message. Messages of one pair of ranks arrive in the order of their list. Size 0 is a message too. */
typedef struct wick_parcel {
    int peer;
    void *data; /* of one that goes out only read */
    size_t size;
} wick_parcel;

/* What stands in front of every message: a rank that is at another call is found out by it. */
typedef struct wick_parcel_head {
    uint32_t op, sequence; /* wick_group_op; how many exchanges the group had before */
    uint64_t size;
} wick_parcel_head;

typedef struct wick_exchange {
    uint32_t op, sequence;
    const char *what; /* the call, for messages: "sum" */
    double timeout;   /* seconds without progress */
    int n_out, n_in;
    const wick_parcel *out, *in;
    bool patient; /* the thread sleeps between looks: another one of this process computes meanwhile */
    bool asking;  /* any message is an answer, also one of another call; for transports that have `reduce` */
} wick_exchange;

/* A sum by the transport's own means. */
typedef struct wick_wire_sum {
    const char *what; /* as in wick_exchange */
    double timeout;   /* seconds for a piece of it, at most 64 MiB */
    float *values;    /* of this rank; then of all, the same bits on each */
    size_t count;
} wick_wire_sum;

/* The table of functions of a transport. `self` is its own. */
typedef struct wick_transport {
    const char *name;
    /* Returns when all that comes in is here, and what goes out may be changed. On failure msg says which rank and why;
     * nothing is exchanged after that. */
    wick_status (*exchange)(void *self, const wick_exchange *x, wick_msg *msg);
    /* In an order of its own. NULL: it has no such. On failure the values may still be written to, until the process
     * ends. */
    wick_status (*reduce)(void *self, const wick_wire_sum *x, wick_msg *msg);
    /* Whether threads may take turns in calling exchange. NULL: they may. */
    bool (*any_thread)(const void *self);
    /* Frees self. broken: an exchange failed, so nobody is to be waited for. */
    void (*close)(void *self, bool broken);
} wick_transport;

/* An open end of one. */
typedef struct wick_wire {
    const wick_transport *transport;
    void *self;
    int rank, size;
} wick_wire;

/* The name of an op of a parcel's head, for messages. */
const char *wick_group_op_name(uint32_t op);
/* Whether a message is the one that is expected; else WICK_ERR_MISMATCH, which says what both ranks are at. */
wick_status wick_parcel_check(const wick_parcel_head *got, const wick_exchange *x, const wick_parcel *in,
                              wick_msg *msg);
/* "rank 3", "ranks 1, 2 and 5" of those whose flag is set. */
void wick_ranks_text(wick_str *text, const bool *of, int ranks);

/* ---- local.c: ranks of one machine over shared memory ------------------------------------------------------------ */

/* The seat of a host in this process. */
wick_status wick_local_open(wick_wire *wire, const wick_allocator *alloc, const wick_group_host *host, int rank,
                            wick_msg *msg);
/* The seat that the environment names: fds is the text of WICK_GROUP_FDS. */
wick_status wick_local_open_inherited(wick_wire *wire, const wick_allocator *alloc, int rank, int ranks,
                                      const char *fds, wick_msg *msg);

/* ---- mpi.c: an MPI library that is opened at run time ------------------------------------------------------------ */

/* launcher: the variable by which MPI was noticed; told: how many ranks the launcher says there are, or 0. */
wick_status wick_mpi_open(wick_wire *wire, const wick_allocator *alloc, const char *launcher, int told, wick_msg *msg);

#endif
