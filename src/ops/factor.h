/* factor.h: factorizations as ops, for the functions of linalg.c. */
#ifndef WICK_OPS_FACTOR_H
#define WICK_OPS_FACTOR_H

#include "ops/ops.h"
#include "wick/ops.h"

enum { WICK_FACTOR_UPPER = 1, WICK_FACTOR_UNIT = 2, WICK_FACTOR_TRANSPOSED = 4, WICK_FACTOR_FULL = 8 };
typedef struct wick_factor_attr {
    /* extents of the matrices: m rows and n columns of what is factored; n equations for m right sides */
    int64_t m, n;
    int64_t flags; /* solves: which triangle, and how; full: QR with all m columns of Q */
    double shift;  /* cholesky, lu: added to the diagonal first. Samples stay away from what has no factors with it */
} wick_factor_attr;

/* Of an op with one result. */
wick_tensor *wick_factor_record(const wick_op *op, int n_in, wick_tensor *const *in, int64_t m, int64_t n,
                                int64_t flags);
/* One triangle of matrices, whose edge, diagonal k, is multiplied by a number. */
wick_tensor *wick_triangle_of(wick_tensor *x, bool upper, int64_t k, double diagonal);
/* x; the run fails where info is negative. */
wick_tensor *wick_check_factor(wick_tensor *x, wick_tensor *info, bool positive);

#endif
