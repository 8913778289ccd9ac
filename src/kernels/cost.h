/* cost.h: how long work takes: an overhead, and the longer of its arithmetic and of its bytes at the level that holds
 * them (Williams, Waterman, Patterson: Roofline, 2009). The numbers are those of tuning.c, which wick tune measures.
 * What is decided by them are ways to the same bits. */
#ifndef WICK_KERNELS_COST_H
#define WICK_KERNELS_COST_H

#include "kernels/kernels.h"
#include "kernels/tuning.h"

/* Families of kernels, each with a rate. */
typedef enum wick_rate {
    WICK_RATE_LIGHT,
    WICK_RATE_HEAVY,
    WICK_RATE_REDUCE,
    WICK_RATE_GEMM,
    WICK_RATE_CONV,
    WICK_RATE_WINOGRAD,
    WICK_RATE_DEPTHWISE,
    WICK_RATE_POOL,
    WICK_RATE_ROWS,
    WICK_RATE_ATTENTION,
    WICK_RATE_RECURRENT,
    WICK_RATE_INT8,
    WICK_RATE_OTHER,
    WICK_RATES
} wick_rate;

typedef struct wick_work {
    double ops[WICK_RATES];
    double overhead;   /* ns of its parts, besides the ops */
    double bytes;      /* that it moves, in the nearest level that holds them all */
    double far_bytes;  /* and that it reads from where all of a run's memory is: weights, inputs */
    double tasks;      /* that threads may share; below 2: none are woken */
} wick_work;

/* Of n elements by a program: `light` and `heavy` ops on each; registers in use. */
typedef struct wick_program_shape {
    double n;
    int light, heavy, registers;
    bool reduces;
    double results, cols; /* of a reduction: how many, and elements behind the last reduced dim */
} wick_program_shape;

/* a wick_ew or WICK_FUSED_CAST: an instruction or a few, not a division, root or polynomial */
bool wick_op_is_light(int ew);
void wick_work_program(wick_work *w, const wick_tuning *t, const wick_program_shape *p); /* adds to ops and overhead */
/* The time of a step. footprint: bytes of all that a run touches. */
double wick_work_ns(const wick_tuning *t, const wick_work *w, double footprint, int threads);
/* Of that the longer of its arithmetic and of its bytes, alone: what the rates allow at best. *memory: it is the bytes.
 */
double wick_work_floor_ns(const wick_tuning *t, const wick_work *w, double footprint, int threads, bool *memory);
/* The time to move bytes that lie among `around` others, on one thread. */
double wick_bytes_ns(const wick_tuning *t, double bytes, double around);

#endif
