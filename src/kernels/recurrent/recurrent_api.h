/* recurrent_api.h: recurrent cells of f32 and f64.
 *
 * The time loop of a layer, forward or backward. What every step gets from its input (x W' + b) is given as x; the loop
 * adds h W'. With G gates of H units and S saved rows of H:
 *
 *   RNN     G 1: h = act0(a)                                                                            S 0
 *   LSTM    G 4, i f g o: c = f c + i g, h = o act2(c); i, f, o by act0, g by act1; peepholes i, f, o   S 4: i f g o
 *   GRU     G 3, r z n: n = act1(x + r (h W' + bias)), h = (1 - z) n + z h; r, z by act0
 *                                                                                             S 4: r z n, h W' + bias
 *   GRU_RESET_FIRST     n = act1(x + (r h) W')                                                          S 4: r z n, r h
 *
 * Sequences are rows of [directions, width]; step t of sample b is row t * step + b * row. Directions and blocks of
 * samples are tasks, each with a time loop of its own: no step waits for another task. Stage 0 packs the weights, stage
 * 1 runs. */
#ifndef WICK_KERNELS_RECURRENT_API_H
#define WICK_KERNELS_RECURRENT_API_H

#include "kernels/gemm/gemm_api.h"

typedef enum wick_cell {
    WICK_CELL_RNN,
    WICK_CELL_LSTM,
    WICK_CELL_GRU,
    WICK_CELL_GRU_RESET_FIRST,
    WICK_CELL_COUNT
} wick_cell;
enum {
    WICK_CELL_SIGMOID,
    WICK_CELL_TANH,
    WICK_CELL_RELU,
    WICK_CELL_HARD_SIGMOID,
    WICK_CELL_SOFTSIGN,
    WICK_CELL_IDENTITY,
    WICK_CELL_ACTS
};
typedef struct wick_recurrent {
    wick_ctype type; /* WICK_CF32 or WICK_CF64 */
    wick_cell cell;
    bool backward, coupled; /* coupled: f = 1 - i */
    int64_t steps, batch, hidden, directions;
    bool reverse[2];            /* by direction: time runs from the end */
    uint8_t act[2][4];          /* by direction */
    double clip;                /* of what goes into act (not of c), to +-clip; 0: none */
    int64_t x_step, x_row;      /* of x, in elements; its rows are contiguous */
    int64_t step, row;          /* of all other sequences, in rows */

    /* filled by wick_recurrent_prepare */
    int64_t tasks_pack, tasks, block, blocks, pack_split; /* samples of a block */
    size_t packed, scratch;
    size_t packed_each[2];
    int64_t h_stride, g_stride;
    int products;
    wick_gemm product[2][2]; /* by product, for whole blocks and for the last */
} wick_recurrent;
/* NULL: not wanted, or zero. Results of the forward run are inputs of the backward one */
typedef struct wick_recurrent_data {
    const void *x, *w, *h0, *c0; /* w [directions, G H, H]; h0, c0 [directions, batch, H] */
    const void *peephole;        /* [directions, 3 H]: i, f, o */
    const void *bias;            /* GRU: [directions, H] */
    const int64_t *lengths;      /* steps of each sample, 0 to steps. After them results are 0 and states stay */
    void *y, *h, *c;             /* h, c: states after the last step */
    void *gates, *c_prev, *h_prev; /* saved; the states that each step started from. RNN: gates is y */
    const void *gy, *gh, *gc, *ggates, *gc_prev, *gh_prev; /* gradients of the results */
    void *dx, *dh0, *dc0;
    void *dside; /* GRU: the gradient of h W' + bias, [directions, 3 H]; it differs from dx in n */
    void *packed;
} wick_recurrent_data;
int wick_cell_gates(wick_cell cell);
void wick_recurrent_prepare(wick_recurrent *r, const wick_tuning *tuning); /* kernels/tuning.h */
/* Of its products, and of the rows between them; peephole, ggates: whether the data will have them. */
const char *wick_recurrent_name(const wick_recurrent *r);
int wick_recurrent_rejected(const wick_recurrent *r, const wick_tuning *tuning, bool peephole, bool ggates,
                            wick_rejected *out);
void wick_recurrent_pack(const wick_recurrent *r, int64_t begin, int64_t end, const void *w, void *packed);
void wick_recurrent_run(const wick_recurrent *r, int64_t begin, int64_t end, const wick_recurrent_data *d,
                        void *scratch);

#endif
