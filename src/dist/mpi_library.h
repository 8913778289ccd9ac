/* mpi_library.h: the MPI libraries that Wick can call, opened at run time. Their functions are the standard's; what
 * differs is how handles and constants look in memory:
 *
 *   Open MPI      handles are addresses of the library's own variables
 *   MPICH         handles are ints, as in Intel MPI, MVAPICH and Cray MPI (the MPICH ABI initiative)
 *   MPI ABI       handles are pointers of fixed values (MPI 5.0, chapter 20) */
#ifndef WICK_DIST_MPI_LIBRARY_H
#define WICK_DIST_MPI_LIBRARY_H

#include "base/base.h"

typedef enum mpi_call {
    MPI_CALL_VERSION,
    MPI_CALL_INITIALIZED,
    MPI_CALL_FINALIZED,
    MPI_CALL_INIT,
    MPI_CALL_LEVEL,
    MPI_CALL_FINALIZE,
    MPI_CALL_RANK,
    MPI_CALL_SIZE,
    MPI_CALL_DUP,
    MPI_CALL_FREE,
    MPI_CALL_HANDLER,
    MPI_CALL_ISEND,
    MPI_CALL_IRECV,
    MPI_CALL_TEST,
    MPI_CALL_ALLREDUCE,
    MPI_CALL_CANCEL,
    MPI_CALL_COUNT_OF,
    MPI_CALL_CLASS,
    MPI_CALL_TEXT,
    MPI_CALLS
} mpi_call;

typedef union mpi_handle {
    void *address;
    int number;
} mpi_handle;

/* Room for any library's MPI_Status, of which the tag is read. */
typedef struct mpi_status {
    int words[16];
} mpi_status;

typedef struct mpi_library {
    const char *name; /* "Open MPI", "MPICH", "MPI": static */
    bool ints;        /* handles are ints */
    mpi_handle world, byte, single, plus, errors_return; /* single: float; plus: its sum */
    void *in_place;
    int any_tag, serialized /* level of threads */, truncated /* error class */, tag_word /* of a status */;
    void *functions[MPI_CALLS];
} mpi_library;

/* launcher: the variable of the environment by which MPI was noticed. WICK_MPI names a file, else the process may have
 * a library already, else those are tried that such a launcher is of. A library stays open. WICK_ERR_UNSUPPORTED says
 * what is missing, and which package has it. */
wick_status mpi_library_open(mpi_library *m, const char *launcher, wick_msg *msg);

/* The standard's functions of that name, on bytes. All but the first return an error code, 0 for success. */
int mpi_flag(const mpi_library *m, mpi_call initialized_or_finalized); /* the flag; -1: refused */
int mpi_init(const mpi_library *m);
bool mpi_takes_turns(const mpi_library *m); /* threads may, in calling it */
int mpi_finalize(const mpi_library *m);
int mpi_rank(const mpi_library *m, mpi_handle comm, int *rank);
int mpi_size(const mpi_library *m, mpi_handle comm, int *size);
int mpi_dup(const mpi_library *m, mpi_handle comm, mpi_handle *out);
int mpi_free(const mpi_library *m, mpi_handle *comm);
int mpi_return_errors(const mpi_library *m, mpi_handle comm);
int mpi_isend(const mpi_library *m, const void *data, int n, int to, int tag, mpi_handle comm, mpi_handle *request);
int mpi_irecv(const mpi_library *m, void *data, int n, int from, int tag, mpi_handle comm, mpi_handle *request);
int mpi_test(const mpi_library *m, mpi_handle *request, int *done, mpi_status *status);
/* All ranks' sum of n floats, in place of this rank's. */
int mpi_sum(const mpi_library *m, float *values, int n, mpi_handle comm, mpi_handle *request);
int mpi_cancel(const mpi_library *m, mpi_handle *request);
int mpi_count(const mpi_library *m, const mpi_status *status, int *bytes);
int mpi_error_class(const mpi_library *m, int code);
/* The library's text of an error code. */
void mpi_error_text(const mpi_library *m, int code, char *text, size_t size);

#endif
