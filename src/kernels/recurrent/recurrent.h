/* recurrent.h: what each tier of the recurrent cells offers to the loop in recurrent.c: one step of one sample,
 * elementwise. */
#ifndef WICK_KERNELS_RECURRENT_H
#define WICK_KERNELS_RECURRENT_H

#include "kernels/recurrent/recurrent_api.h"

/* Rows of one sample at one step, all of one type; the meaning of gates is that of recurrent_api.h. */
typedef struct wick_cell_row {
    int64_t n; /* units */
    const uint8_t *act;
    bool plain; /* no clip, no coupling, the usual activations; backward no peepholes, no gradients of saved rows */
    bool coupled;
    double clip;
    const void *x, *peephole, *bias;
    void *pre;  /* forward: h W'. backward: receives the gradient of it */
    void *h, *c; /* states, in place. backward: their gradients */
    void *side; /* GRU_RESET_FIRST: r h; backward its gradient */
    void *y, *gates;
    const void *c_prev, *h_prev, *gy, *ggates; /* backward */
    void *dx;
} wick_cell_row;
typedef void wick_cell_fn(const wick_cell_row *r);

/* By type and cell. after: what GRU_RESET_FIRST does when its second product is there. */
typedef struct wick_recurrent_table {
    wick_cell_fn *forward[2][WICK_CELL_COUNT], *backward[2][WICK_CELL_COUNT], *forward_after[2], *backward_after[2];
} wick_recurrent_table;

extern const wick_recurrent_table wick_recurrent_table_ref, wick_recurrent_table_base, wick_recurrent_table_avx2,
    wick_recurrent_table_avx512;

#endif
